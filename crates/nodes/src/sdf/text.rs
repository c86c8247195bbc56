//! Strings as shapes.

use std::sync::Arc;

use millstream_base::{Type, Vec2, Vec3};
use millstream_node::{Call, Data, Failure, NodeDef, Registry, Signature};

use super::font::{Align, Font, contours};
use super::nearest::{Outlines, Work};
use super::{point, shape};
use crate::cells::{at, function};
use crate::shape::sockets_of;

pub(super) fn register(registry: &mut Registry) {
    registry.register_type(Type::of::<Font>());
    registry.register(text());
}

/// Positions that are measured at once.
const BLOCK: usize = 1 << 14;

/// Units of work per position, about the nanoseconds that it takes.
const PER_POSITION: usize = 32;

/// Units of work per line segment of an outline.
const PER_PIECE: usize = 32;

/// The maximum number of letters; each has about a hundred segments.
const MAX_LETTERS: usize = 1 << 16;

fn text() -> NodeDef {
    NodeDef::new("sdf.text", "The distance from the letters of a string")
        .details(
            "The baseline of the first line passes through the origin; further lines follow below. \
             The built-in font is DejaVu Sans with Latin, Greek and Cyrillic letters, digits and \
             symbols. With `own_font` there is an input for another TrueType or OpenType font; on \
             the command line, `--in NAME=@FILE.ttf`. Pairs of letters are kerned by the font. \
             Letters are placed from left to right; scripts whose letters change their shape or \
             direction are not shaped. A tab is four spaces wide. Fails for a string with a letter \
             that the font lacks.\n\nWhere outlines overlap, a point is inside if any of them \
             winds around it, and an outline inside another one still affects the distance. Curves \
             are approximated to within 1/8000 of the size. A string without outlines is \
             infinitely far away, as is any string if the size is not above 0 or infinite.",
        )
        .choice("align", Align::ALL, "left", "alignment of lines")
        .flag("own_font", false, "use a custom font; adds an input `font`")
        .sockets_by_settings(|settings| Ok(sockets(settings.flag("own_font"))))
        .kernel(|parts| {
            let align = Align::named(parts.settings.text("align"));
            Ok(function(move |call| fill(call, align)))
        })
}

fn sockets(own_font: bool) -> Signature {
    let def = shape("", "").input("text", Type::STRING, "the string; line breaks separate lines");
    let def = def.input_or("size", Type::F32, 1.0, "height of a line without spacing (the em)");
    let def = point(def, "origin", [0.0; 2], "start of the baseline of the first line");
    let spacing = "line spacing, relative to that of the font";
    let def = def.input_or("line_spacing", Type::F32, 1.0, spacing);
    let def = if own_font { def.input("font", Type::of::<Font>(), "the font") } else { def };
    sockets_of(&def)
}

/// The outlines of a string, with the inputs they were made from.
struct Made {
    text: Arc<str>,
    line_spacing: f32,
    font: Font,
    outlines: Outlines,
}

impl Made {
    fn is_of(&self, text: &str, line_spacing: f32, font: &Font) -> bool {
        *self.text == *text
            && self.line_spacing.to_bits() == line_spacing.to_bits()
            && self.font == *font
    }
}

/// Sets the output to the distance of each position from the letters of its string.
///
/// Consecutive positions with the same outlines are measured together.
fn fill(call: &mut Call<'_>, align: Align) -> Result<(), Failure> {
    let is_uniform = call.is_uniform();
    let mut values: Vec<f32> = if is_uniform { Vec::new() } else { call.buffer(0) };
    let (positions, texts) = (call.input::<Vec3>(0), call.input::<Arc<str>>(1));
    let (sizes, origins) = (call.input::<f32>(2), call.input::<Vec2>(3));
    let spacings = call.input::<f32>(4);
    let fonts = (call.n_inputs() > 5).then(|| call.input::<Font>(5));
    let is_one = |i: usize| matches!(call.argument(i).data(), Data::One(_));
    let is_shared = is_one(1) && is_one(4) && (call.n_inputs() <= 5 || is_one(5));
    let mut pace = call.pace();
    let mut made: Option<Made> = None;
    let mut work = Work::default();
    let mut block = Block::default();
    let elements = call.mask().iter().take(if is_uniform { 1 } else { usize::MAX });
    for i in elements {
        if block.elements.len() == BLOCK {
            pace.work(BLOCK * PER_POSITION)?;
            block.measure(made.as_ref(), &mut values, is_uniform, &mut work);
        }
        if made.is_none() || !is_shared {
            let (text, line_spacing) = (texts.get(i), spacings.get(i));
            let font = fonts.as_ref().map_or_else(Font::built_in, |fonts| fonts.get(i));
            if !made.as_ref().is_some_and(|made| made.is_of(&text, line_spacing, &font)) {
                block.measure(made.as_ref(), &mut values, is_uniform, &mut work);
                let outlines = outlines(&text, align, line_spacing, &font);
                let outlines = outlines.map_err(|failure| at(failure, i))?;
                pace.work(outlines.n_pieces() * PER_PIECE)?;
                made = Some(Made { text, line_spacing, font, outlines });
            }
        }
        let (Vec3([x, y, _]), Vec2([left, lower]), size) =
            (positions.get(i), origins.get(i), sizes.get(i));
        block.elements.push(i);
        block.points.push([(x - left) / size, (y - lower) / size]);
        block.sizes.push(size);
    }
    block.measure(made.as_ref(), &mut values, is_uniform, &mut work);
    if is_uniform {
        call.set_one(0, values.pop().unwrap_or(f32::INFINITY));
    } else {
        call.set(0, values);
    }
    Ok(())
}

/// Positions to be measured together.
#[derive(Default)]
struct Block {
    elements: Vec<usize>,
    /// Relative to the origin, in units of the size.
    points: Vec<[f32; 2]>,
    sizes: Vec<f32>,
    distances: Vec<f32>,
}

impl Block {
    /// Measures the positions and starts the next block.
    fn measure(
        &mut self,
        made: Option<&Made>,
        values: &mut Vec<f32>,
        is_uniform: bool,
        work: &mut Work,
    ) {
        let Some(Made { outlines, .. }) = made else { return };
        self.distances.resize(self.points.len(), 0.0);
        outlines.measure(&self.points, &mut self.distances, work);
        for ((i, distance), size) in self.elements.iter().zip(&self.distances).zip(&self.sizes) {
            let is_there = *size > 0.0 && size.is_finite();
            let distance = if is_there { distance * size } else { f32::INFINITY };
            if is_uniform {
                values.push(distance);
            } else {
                values[*i] = distance;
            }
        }
        self.elements.clear();
        self.points.clear();
        self.sizes.clear();
    }
}

fn outlines(text: &str, align: Align, line_spacing: f32, font: &Font) -> Result<Outlines, Failure> {
    let n = text.chars().count();
    if n > MAX_LETTERS {
        let text = format!("the string has {n} letters, but the limit for shapes is {MAX_LETTERS}");
        return Err(Failure::whole(text).with_help("draw only a part of the string"));
    }
    let contours = contours(font, text, align, line_spacing).map_err(|letter| {
        let code = u32::from(letter);
        let text = format!("the font has no glyph for `{}` (U+{code:04X})", letter.escape_debug());
        Failure::whole(text).with_help(if *font == Font::built_in() {
            "the built-in font has Latin, Greek and Cyrillic letters; \
             set `own_font` to use another one"
        } else {
            "use a font that has it, or leave the letter out"
        })
    })?;
    Ok(Outlines::new(&contours))
}
