//! Footprints: views with their size in pixels; making and separating them, and requesting parts of
//! them.
//!
//! `context.footprint` reads the requested view, and `context.with_footprint` requests another one.

use millstream_base::{Footprint, Mat4, Type};
use millstream_node::signature::Default;
use millstream_node::{Call, NodeDef, RegionUse, Registry};

use crate::cells::{Cells, function, put_property};

/// Adds the family.
pub fn register(registry: &mut Registry) {
    registry.register_type(Type::of::<Footprint>());
    registry.register(make());
    registry.register(separate());
    registry.register(crop());
    registry.register(grow());
    registry.register(pixel_size());
}

fn make() -> NodeDef {
    NodeDef::new("footprint.make", "A view of a given size in pixels")
        .details(
            "All of its pixels are requested. The transform maps points in pixels, measured from \
             the lower left corner of the view, to points of the scene. Sizes below 0 count as 0.",
        )
        .input_or("width", Type::I32, 1.0, "width of the view, in pixels")
        .input_or("height", Type::I32, 1.0, "height of the view, in pixels")
        .input_or(
            "transform",
            Type::MAT4,
            Default::Value(Mat4::default().into()),
            "transform from pixels to the scene",
        )
        .output("value", Type::of::<Footprint>(), "the view")
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = Cells::new(call);
                let (width, height) = (call.input::<i32>(0), call.input::<i32>(1));
                let transform = call.input::<Mat4>(2);
                cells.fill(call, |i| {
                    let view = Footprint::of_size(width.get(i), height.get(i));
                    Ok(Footprint { transform: transform.get(i), ..view })
                })?;
                cells.put(call);
                Ok(())
            }))
        })
}

/// The parts of a footprint, with their descriptions in the manual.
const PARTS: [(&str, &str); 6] = [
    ("width", "width of the view, in pixels"),
    ("height", "height of the view, in pixels"),
    ("min_x", "first requested column of pixels, counted from the left edge of the view"),
    ("min_y", "first requested row of pixels, counted from the lower edge of the view"),
    ("max_x", "the column after the last requested one"),
    ("max_y", "the row after the last requested one"),
];

fn separate() -> NodeDef {
    let def =
        NodeDef::new("footprint.separate", "The size, requested region and transform of a view")
            .region_use(|_| RegionUse::OfView(3))
            .input_or("footprint", Type::of::<Footprint>(), Default::Zero, "")
            .output("transform", Type::MAT4, "transform from pixels to the scene");
    PARTS.iter().fold(def, |def, (name, about)| def.output(*name, Type::I32, *about)).function(
        |call: &mut Call<'_>| {
            put_property(call, 0, |view: Footprint| Ok(view.transform))?;
            put_property(call, 1, |view: Footprint| Ok(view.resolution[0]))?;
            put_property(call, 2, |view: Footprint| Ok(view.resolution[1]))?;
            (0..4).try_for_each(|k| put_property(call, 3 + k, |view: Footprint| Ok(view.crop[k])))
        },
    )
}

fn crop() -> NodeDef {
    let def = NodeDef::new("footprint.crop", "Requests another region of a view")
        .details(
            "The region may extend beyond the view. It is empty if its end is before its start.",
        )
        .input_or("footprint", Type::of::<Footprint>(), Default::Zero, "");
    let inputs = PARTS[2..].iter();
    inputs
        .fold(def, |def, (name, about)| def.input_or(*name, Type::I32, 0.0, *about))
        .output("value", Type::of::<Footprint>(), "the view with that region requested")
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = Cells::new(call);
                let views = call.input::<Footprint>(0);
                let bounds = [1, 2, 3, 4].map(|k| call.input::<i32>(k));
                cells.fill(call, |i| {
                    let [x, y, end_x, end_y] = bounds.each_ref().map(|bound| bound.get(i));
                    let crop = [x, y, end_x.max(x), end_y.max(y)];
                    Ok(Footprint { crop, ..views.get(i) })
                })?;
                cells.put(call);
                Ok(())
            }))
        })
}

fn grow() -> NodeDef {
    NodeDef::new("footprint.grow", "Requests a larger region of a view")
        .details(
            "The requested region grows on all sides, also beyond the view; a filter that reads \
             the surroundings of a pixel needs this. A negative number shrinks the region, down to \
             nothing.",
        )
        .input_or("footprint", Type::of::<Footprint>(), Default::Zero, "")
        .input_or("by", Type::I32, 1.0, "pixels added on each side")
        .output("value", Type::of::<Footprint>(), "")
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = Cells::new(call);
                let (views, by) = (call.input::<Footprint>(0), call.input::<i32>(1));
                cells.fill(call, |i| {
                    let by = by.get(i);
                    Ok(views.get(i).grown([by, by]))
                })?;
                cells.put(call);
                Ok(())
            }))
        })
}

fn pixel_size() -> NodeDef {
    NodeDef::new("footprint.pixel_size", "The size of a pixel in the scene")
        .details(
            "The square root of the area that a pixel covers in the scene, seen along z: the \
             softness of smooth edges, or the least detail that is visible.",
        )
        .region_use(|_| RegionUse::OfView(1))
        .input_or("footprint", Type::of::<Footprint>(), Default::Zero, "")
        .output("value", Type::F32, "length in units of the scene")
        .function(|call: &mut Call<'_>| {
            put_property(call, 0, |view: Footprint| Ok(view.pixel_size()))
        })
}
