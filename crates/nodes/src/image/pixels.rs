//! Pixels as elements: the loop over the pixels of a region, and the image made from its values.
//!
//! A node that computes an image pixel by pixel is a network: a loop over the pixels, in which any
//! nodes compute one pixel, and a node that makes an image of the list. So pixels are computed like
//! any other elements: in fused regions, on threads, and only where they are needed.

use std::sync::Arc;

use millstream_base::{Feature, Footprint, Image, Lane, Limits, Type};
use millstream_form::{FormBuilder, Val};
use millstream_node::{
    Among, Call, Failure, Kernel, Network, NodeDef, PartSource, RegionUse, Registry, ScopeRule,
    SocketType,
};

use super::weave::{Made, Weave, input};
use crate::cells::{Cells, function, put_property};
use crate::shape::form_by_settings;

const T: SocketType = SocketType::Generic(0);

/// The types of pixels; colors come first, because literals are colors unless stated otherwise.
const PIXELS: Among = Among::These(&[Type::F32, Type::VEC2, Type::VEC3, Type::COLOR]);

/// The node types from which loops over pixels are made.
#[derive(Clone)]
pub(super) struct PixelLoop {
    footprint: Arc<NodeDef>,
    index: Arc<NodeDef>,
    with_position: Arc<NodeDef>,
    region: Arc<NodeDef>,
    pub(super) place: Arc<NodeDef>,
    with_index: Arc<NodeDef>,
    premultiply: Arc<NodeDef>,
    gather: Arc<NodeDef>,
}

impl PixelLoop {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let known = |name: &str| Arc::clone(registry.get(name).expect("the node type exists"));
        let (footprint, index) = (known("context.footprint"), known("context.index"));
        let (with_position, premultiply) =
            (known("context.with_position"), known("color.premultiply"));
        Self {
            footprint,
            index,
            with_position,
            premultiply,
            region: registry.register_part(region()),
            place: registry.register_part(place()),
            with_index: registry.register_part(with_index()),
            gather: registry.register_part(gather()),
        }
    }

    /// The node that reads the requested view.
    pub(super) fn view(&self, weave: &mut Weave) -> PartSource {
        weave.part("view", &self.footprint, &[], &[]).into()
    }

    /// The image of a source's values at the pixels of a view. The source sees the position and the
    /// index of its pixel; colors are premultiplied.
    pub(super) fn image(
        &self,
        weave: &mut Weave,
        (ty, value): (Type, PartSource),
        view: PartSource,
    ) -> PartSource {
        let region = self.region(weave, view);
        let number = self.number(weave);
        let of_region = [1, 2, 3, 4].map(|k| region.output(k));
        let [left, lower, width, full_width] = of_region;
        let place = [number, left, lower, width, region.output(5)];
        let position = weave.part("position", &self.place, &[], &place).into();
        let indexed = [value, left, lower, width, full_width];
        let indexed = weave.part("index", &self.with_index, &[ty], &indexed).into();
        let pixel = weave.part("field", &self.with_position, &[ty], &[indexed, position]).into();
        let pixel = self.premultiplied(weave, (ty, pixel));
        self.gathered(weave, (ty, pixel), region, view)
    }

    /// The values with which a loop runs over the pixels of a view.
    pub(super) fn region(&self, weave: &mut Weave, view: PartSource) -> Made {
        weave.part("region", &self.region, &[], &[view])
    }

    /// The number of the pixel in a loop, counted within the region.
    pub(super) fn number(&self, weave: &mut Weave) -> PartSource {
        weave.part("number", &self.index, &[], &[]).into()
    }

    /// A pixel in the form in which images store it.
    pub(super) fn premultiplied(
        &self,
        weave: &mut Weave,
        (ty, pixel): (Type, PartSource),
    ) -> PartSource {
        if ty == Type::COLOR {
            return weave.part("premultiplied", &self.premultiply, &[], &[pixel]).into();
        }
        pixel
    }

    /// The image of a value that is computed for each pixel of a region.
    pub(super) fn gathered(
        &self,
        weave: &mut Weave,
        (ty, pixel): (Type, PartSource),
        region: Made,
        view: PartSource,
    ) -> PartSource {
        weave.part("", &self.gather, &[ty], &[pixel, region.output(0), view]).into()
    }
}

pub(super) fn from_field(pixels: PixelLoop) -> NodeDef {
    let network = move |ty: Type| -> Network {
        let mut weave = Weave::default();
        let view = pixels.view(&mut weave);
        let image = pixels.image(&mut weave, (ty, input(0)), view);
        weave.outputs(&[image])
    };
    NodeDef::new("image.from_field", "An image of a field's values at each pixel")
        .details(
            "Evaluates `field` at the center of each pixel of the requested view. There, \
             `context.position` is the center, and `context.index` is the number of the pixel, row \
             by row from the lower left corner of the view. Numbers give gray, `vec2` gives gray \
             and alpha, `vec3` red, green and blue, and colors also alpha, with which the image is \
             premultiplied; all in linear light. Only the pixels of the requested region are \
             computed.",
        )
        .generic("T", PIXELS)
        .input("field", T, "value at each pixel")
        .output("value", Type::of::<Image>(), "")
        .network(move |parts| Ok(network(parts.generics[0])))
}

/// The values with which a loop runs over the pixels of a view.
fn region() -> NodeDef {
    let def = NodeDef::new("image.region", "The requested region of a view")
        .region_use(|_| RegionUse::Part)
        .input("view", Type::of::<Footprint>(), "the view")
        .output("count", Type::I32, "number of pixels")
        .output("left", Type::I32, "first column")
        .output("lower", Type::I32, "first row")
        .output("width", Type::I32, "number of columns")
        .output("full_width", Type::I32, "number of columns of the view")
        .output("transform", Type::MAT4, "from pixels to the scene");
    def.function(|call: &mut Call<'_>| {
        let limits = call.limits();
        put_property(call, 0, |view| n_pixels(&view, limits).map(|n| n as i32))?;
        put_property(call, 1, |view: Footprint| Ok(view.crop[0]))?;
        put_property(call, 2, |view: Footprint| Ok(view.crop[1]))?;
        put_property(call, 3, |view: Footprint| Ok(view.size()[0] as i32))?;
        put_property(call, 4, |view: Footprint| Ok(view.resolution[0]))?;
        put_property(call, 5, |view: Footprint| Ok(view.transform))
    })
}

/// The number of pixels that a view requests.
pub(super) fn n_pixels(view: &Footprint, limits: &Limits) -> Result<usize, Failure> {
    let [width, height] = view.size();
    let most = limits.image_pixels.min(i32::MAX as usize);
    let n = width.saturating_mul(height);
    if n > most {
        let what = format!("pixels in an image of {width} by {height}");
        return Err(Failure::limit(&what, n, most, "image_pixels"));
    }
    Ok(n)
}

/// Column and row of a pixel of a region, counted within the view.
///
/// The quotient is exact: pixel numbers are below 2^31, so the rounding of the product stays below
/// half the distance to its next integer.
fn column_and_row<'b>(number: Val<'b>, region: &[Val<'b>; 3]) -> [Val<'b>; 2] {
    let [left, lower, width] = *region;
    let per_row = width.convert(Lane::F64).like(1.0) / width.convert(Lane::F64);
    let row = ((number.convert(Lane::F64) + 0.5) * per_row).convert(Lane::I32);
    [number - row * width + left, row + lower]
}

fn place() -> NodeDef {
    NodeDef::new("image.place_of_pixel", "The center of a pixel in the scene")
        .region_use(|_| RegionUse::Positions)
        .input("number", Type::I32, "number of the pixel in the region")
        .input("left", Type::I32, "first column of the region")
        .input("lower", Type::I32, "first row of the region")
        .input("width", Type::I32, "number of columns of the region")
        .input("transform", Type::MAT4, "from pixels to the scene")
        .output("value", Type::VEC3, "")
        .kernel(form_by_settings(|_, x| {
            let place = column_and_row(x[0][0], &[x[1][0], x[2][0], x[3][0]]);
            let [column, row] = place.map(|it| it.convert(Lane::F32) + 0.5);
            let m = &x[4];
            vec![(0..3).map(|k| m[4 * k] * column + m[4 * k + 1] * row + m[4 * k + 3]).collect()]
        }))
}

fn with_index() -> NodeDef {
    let b = FormBuilder::new();
    let params: Vec<Val<'_>> = (0..5).map(|_| b.param(Lane::I32)).collect();
    let region = [params[1], params[2], params[3]];
    let [column, row] = column_and_row(params[0], &region);
    let form = Arc::new(b.finish(&[row * params[4] + column]));
    let rule = ScopeRule::Modify { feature: Feature::Index, form, args: vec![1, 2, 3, 4] };
    NodeDef::new("image.with_index_of_pixel", "Counts pixels of the view instead of the region")
        .generic("T", Among::Any)
        .input("value", T, "evaluated with that index")
        .scope(rule)
        .input("left", Type::I32, "first column of the region")
        .input("lower", Type::I32, "first row of the region")
        .input("width", Type::I32, "number of columns of the region")
        .input("full_width", Type::I32, "number of columns of the view")
        .output("value", T, "")
        .kernel(|_| Ok(Kernel::Pass))
}

fn gather() -> NodeDef {
    NodeDef::new("image.of_pixels", "The image of a list of pixels")
        .region_use(|_| RegionUse::Covers)
        .generic("T", PIXELS)
        .input("pixel", T, "computed for each pixel of the region")
        .scope(ScopeRule::Each { feature: Feature::Index, count: 1 })
        .input("count", Type::I32, "number of pixels")
        .input("view", Type::of::<Footprint>(), "the view")
        .output("value", Type::of::<Image>(), "")
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = Cells::<Image>::new(call);
                let (lists, views) = (call.lists(0), call.input::<Footprint>(2));
                cells.fill(call, |i| {
                    let (view, pixels) = (views.get(i), lists.list(i));
                    Ok(Image::new(view, pixels).expect("there is an item for each pixel"))
                })?;
                cells.put(call);
                Ok(())
            }))
        })
}
