//! Fonts, and strings as outlines.

use std::sync::{Arc, LazyLock};

use millstream_base::value_type;
use ttf_parser::gpos::{PairAdjustment, PositioningSubtable};
use ttf_parser::opentype_layout::Script;
use ttf_parser::{Face, GlyphId, OutlineBuilder, Tag};

use crate::shape::choices;

/// A font: the bytes of a TrueType or OpenType file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Font {
    bytes: Arc<[u8]>,
}

value_type!(Font, "font", eq);

impl Font {
    /// The file of the built-in font: a subset of `DejaVu Sans`, whose license is next to it.
    pub const BUILT_IN: &[u8] = include_bytes!("../../fonts/DejaVuSans-subset.ttf");

    /// The font of a file, or the first one of a collection.
    ///
    /// # Errors
    /// A description of the problem, if this is not such a file.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Result<Self, String> {
        let font = Self { bytes: bytes.into() };
        font.face()?;
        Ok(font)
    }

    /// The font that is built in.
    pub fn built_in() -> Self {
        static FONT: LazyLock<Font> = LazyLock::new(|| Font { bytes: Font::BUILT_IN.into() });
        FONT.clone()
    }

    /// Whether the font can draw a letter.
    pub fn has_glyph(&self, letter: char) -> bool {
        self.face().is_ok_and(|face| face.glyph_index(letter).is_some())
    }

    fn face(&self) -> Result<Face<'_>, String> {
        Face::parse(&self.bytes, 0).map_err(|error| format!("it is not a font: {error}"))
    }
}

impl Default for Font {
    fn default() -> Self {
        Self::built_in()
    }
}

choices! {
    /// The alignment of lines.
    pub(super) enum Align {
        Left = "left": "lines start at the origin",
        Center = "center": "the middle of each line is at the origin",
        Right = "right": "lines end at the origin",
    }
}

/// The maximum distance between a curve and the line segments that replace it, as a fraction of the
/// size.
const TOLERANCE: f32 = 1.0 / 8192.0;

/// The width of a tab in spaces.
const TAB: f32 = 4.0;

/// The maximum number of line segments that replace a curve.
const MAX_PIECES: f32 = 64.0;

/// The closed outlines of a string of size 1 that starts at the origin.
///
/// # Errors
/// A character for which the font has no glyph.
pub(super) fn contours(
    font: &Font,
    text: &str,
    align: Align,
    line_spacing: f32,
) -> Result<Vec<Vec<[f32; 2]>>, char> {
    let face = font.face().expect("fonts are validated when they are read");
    let unit = 1.0 / f32::from(face.units_per_em());
    let (ascender, descender) = (f32::from(face.ascender()), f32::from(face.descender()));
    let line_height = (ascender - descender + f32::from(face.line_gap())) * unit * line_spacing;
    let mut drawn = Drawn { unit, ..Drawn::default() };
    let mut y = 0.0;
    for line in text.split('\n') {
        let first = drawn.contours.len();
        let width = drawn.line(&face, line.strip_suffix('\r').unwrap_or(line), y)?;
        let left = match align {
            Align::Left => 0.0,
            Align::Center => -0.5 * width,
            Align::Right => -width,
        };
        for corner in drawn.contours[first..].iter_mut().flatten() {
            corner[0] += left;
        }
        y -= line_height;
    }
    Ok(drawn.contours)
}

/// Outlines under construction.
#[derive(Default)]
struct Drawn {
    contours: Vec<Vec<[f32; 2]>>,
    corners: Vec<[f32; 2]>,
    /// The start of the current glyph.
    origin: [f32; 2],
    /// The size of a font unit.
    unit: f32,
}

impl Drawn {
    /// Draws a line of text, and returns its width.
    fn line(&mut self, face: &Face<'_>, line: &str, y: f32) -> Result<f32, char> {
        let advance = |glyph| face.glyph_hor_advance(glyph).map_or(0.0, f32::from);
        let mut before: Option<GlyphId> = None;
        let mut x = 0.0;
        for letter in line.chars() {
            if letter == '\t' {
                x += face.glyph_index(' ').map_or(0.0, advance) * TAB;
                before = None;
                continue;
            }
            let glyph = face.glyph_index(letter).ok_or(letter)?;
            x += before.map_or(0.0, |before| f32::from(kerning(face, before, glyph)));
            self.origin = [x * self.unit, y];
            face.outline_glyph(glyph, self);
            x += advance(glyph);
            before = Some(glyph);
        }
        Ok(x * self.unit)
    }

    fn place(&self, x: f32, y: f32) -> [f32; 2] {
        [self.origin[0] + x * self.unit, self.origin[1] + y * self.unit]
    }

    /// The most recently drawn corner.
    fn here(&self) -> [f32; 2] {
        self.corners.last().copied().unwrap_or(self.origin)
    }

    /// Replaces a curve, whose second differences have this length, by line segments.
    fn curve(&mut self, bend: f32, at: impl Fn(f32) -> [f32; 2]) {
        // The middle of one of n segments is off by the bend over 4 n^2.
        let n = (bend / (4.0 * TOLERANCE)).sqrt().ceil().clamp(1.0, MAX_PIECES);
        self.corners.extend((1..=n as u16).map(|i| at(f32::from(i) / n)));
    }
}

impl OutlineBuilder for Drawn {
    fn move_to(&mut self, x: f32, y: f32) {
        self.corners = vec![self.place(x, y)];
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.corners.push(self.place(x, y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (a, b, c) = (self.here(), self.place(x1, y1), self.place(x, y));
        self.curve(bend(a, b, c), |t| {
            let s = 1.0 - t;
            [0, 1].map(|k| s * s * a[k] + 2.0 * s * t * b[k] + t * t * c[k])
        });
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (a, b) = (self.here(), self.place(x1, y1));
        let (c, d) = (self.place(x2, y2), self.place(x, y));
        // The second derivative is at most 6 times the greater difference; for a parabola it is
        // twice the difference.
        let bend = 3.0 * bend(a, b, c).max(bend(b, c, d));
        self.curve(bend, |t| {
            let s = 1.0 - t;
            let (sides, middle) = ([s * s * s, t * t * t], [3.0 * s * s * t, 3.0 * s * t * t]);
            [0, 1].map(|k| sides[0] * a[k] + middle[0] * b[k] + middle[1] * c[k] + sides[1] * d[k])
        });
    }

    fn close(&mut self) {
        // The last corner of most glyphs repeats the first.
        if self.corners.len() > 1 && self.corners.first() == self.corners.last() {
            self.corners.pop();
        }
        self.contours.push(std::mem::take(&mut self.corners));
    }
}

/// The length of a second difference.
fn bend(a: [f32; 2], b: [f32; 2], c: [f32; 2]) -> f32 {
    let [x, y] = [0, 1].map(|k| a[k] - 2.0 * b[k] + c[k]);
    (x * x + y * y).sqrt()
}

/// The additional distance between two letters, in font units.
fn kerning(face: &Face<'_>, left: GlyphId, right: GlyphId) -> i16 {
    of_features(face, left, right).or_else(|| of_table(face, left, right)).unwrap_or(0)
}

/// The kerning by the feature `kern`; `None` if the font does not have it.
///
/// A feature may differ by script. The first script that moves the two letters counts: Latin, then
/// the others in the order of the font. All its lookups apply, one after the other.
fn of_features(face: &Face<'_>, left: GlyphId, right: GlyphId) -> Option<i16> {
    let table = face.tables().gpos?;
    let (kern, latin) = (Tag::from_bytes(b"kern"), Tag::from_bytes(b"latn"));
    let adjustment = |lookup: u16| {
        let subtables = table.lookups.get(lookup)?.subtables;
        subtables.into_iter::<PositioningSubtable<'_>>().find_map(|subtable| match subtable {
            PositioningSubtable::Pair(pair) => of_pair(pair, left, right),
            _ => None,
        })
    };
    let of_script = |script: Script<'_>| {
        let features = script.default_language?.feature_indices.into_iter();
        let features = features.filter_map(|index| table.features.get(index));
        let mut kerns = features.filter(|feature| feature.tag == kern).peekable();
        kerns.peek()?;
        let lookups = kerns.flat_map(|feature| feature.lookup_indices);
        Some(lookups.filter_map(adjustment).fold(0, i16::saturating_add))
    };
    let of_scripts = table.scripts.find(latin).into_iter().chain(table.scripts);
    let mut of_scripts = of_scripts.filter_map(of_script).peekable();
    of_scripts.peek()?;
    Some(of_scripts.find(|moved| *moved != 0).unwrap_or(0))
}

fn of_pair(pair: PairAdjustment<'_>, left: GlyphId, right: GlyphId) -> Option<i16> {
    let covered = pair.coverage().get(left)?;
    let first = match pair {
        PairAdjustment::Format1 { sets, .. } => sets.get(covered)?.get(right)?.0,
        PairAdjustment::Format2 { classes, matrix, .. } => {
            matrix.get((classes.0.get(left), classes.1.get(right)))?.0
        }
    };
    Some(first.x_advance)
}

/// The kerning by the table of old fonts.
fn of_table(face: &Face<'_>, left: GlyphId, right: GlyphId) -> Option<i16> {
    let subtables = face.tables().kern?.subtables.into_iter();
    subtables
        .filter(|subtable| subtable.horizontal && !subtable.variable)
        .find_map(|subtable| subtable.glyphs_kerning(left, right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_kerned_by_the_feature_of_their_script() {
        // Advances with HarfBuzz, less those of the letters alone. The first feature `kern` of one
        // of the fonts is that of other scripts and moves nothing.
        let by_script = include_bytes!("../../fonts/DejaVuSans-kerned-by-script.ttf");
        for bytes in [Font::BUILT_IN, by_script] {
            let font = Font::new(bytes).expect("it is a font");
            let face = font.face().expect("it is a font");
            let glyph = |letter: char| face.glyph_index(letter).expect("the font has it");
            let moved = |pair: [char; 2]| kerning(&face, glyph(pair[0]), glyph(pair[1]));
            let pairs = [['A', 'V'], ['V', 'A'], ['A', 'T'], ['T', 'o'], ['o', 'V']];
            assert_eq!(pairs.map(moved), [-131, -131, -159, -348, 0]);
        }
    }
}
