//! Coordinates of colors in other color spaces.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use super::{Three, color_input, three, with_alpha};
use crate::shape::{choices, form_by_settings};

pub(super) fn register(registry: &mut Registry) {
    registry.register(convert());
}

choices! {
    /// The meaning of the three channels of a color.
    pub(crate) enum Space {
        Linear = "linear": "linear light with BT.709 primaries, as everywhere else",
        Srgb = "srgb": "red, green and blue encoded as sRGB",
        Hsv = "hsv": "hue (0 to 1 is a full turn), saturation and value of the linear channels",
        Hsl = "hsl": "hue, saturation and lightness of the linear channels",
        SrgbHsv = "srgb_hsv": "hue, saturation and value of the sRGB channels",
        SrgbHsl = "srgb_hsl": "hue, saturation and lightness of the sRGB channels, as in CSS",
        Xyz = "xyz": "CIE XYZ; white has Y = 1",
        Lab = "lab": "CIE L*a*b* with the white point D65; L* from 0 to 100",
        Lch = "lch": "L*, chroma and hue (0 to 1 is a full turn) of L*a*b*",
        Oklab = "oklab": "Oklab: lightness from 0 to 1, a, b",
        Oklch = "oklch": "lightness, chroma and hue (0 to 1 is a full turn) of Oklab",
        Xyy = "xyy":
            "chromaticity x and y and the Y of CIE XYZ; black has the chromaticity of white",
        Luv = "luv": "CIE L*u*v* with the white point D65; L* from 0 to 100",
        DisplayP3 = "display_p3": "linear light with the primaries of Display P3",
        Rec2020 = "rec2020": "linear light with the primaries of BT.2020",
        Acescg = "acescg":
            "linear light with the AP1 primaries of ACES, adapted to its white point",
        Ycbcr = "ycbcr":
            "luma and color differences of the sRGB channels, by BT.709; differences from -0.5 to \
             0.5",
    }
}

impl Space {
    /// Converts linear light to the coordinates of this space.
    pub(crate) fn of_linear(self, c: Three<'_>) -> Three<'_> {
        match self {
            Self::Linear => c,
            Self::Srgb => c.map(encoded),
            Self::Hsv => to_hsv(c),
            Self::Hsl => to_hsl(c),
            Self::SrgbHsv => to_hsv(c.map(encoded)),
            Self::SrgbHsl => to_hsl(c.map(encoded)),
            Self::Xyz => times(&rgb_to_xyz(), c),
            Self::Lab => to_lab(times(&rgb_to_xyz(), c)),
            Self::Lch => to_polar(Self::Lab.of_linear(c), 0.0015),
            Self::Oklab => times(&CONES_TO_OKLAB, times(&RGB_TO_CONES, c).map(Val::cbrt)),
            Self::Oklch => to_polar(Self::Oklab.of_linear(c), 4e-6),
            Self::Xyy => to_xyy(times(&rgb_to_xyz(), c)),
            Self::Luv => to_luv(times(&rgb_to_xyz(), c)),
            Self::DisplayP3 => {
                times(&product(&inverse(&primaries_to_xyz(&P3, WHITE)), &rgb_to_xyz()), c)
            }
            Self::Rec2020 => {
                times(&product(&inverse(&primaries_to_xyz(&REC2020, WHITE)), &rgb_to_xyz()), c)
            }
            Self::Acescg => times(&rgb_to_acescg(), c),
            Self::Ycbcr => times(&LUMA, c.map(encoded)),
        }
    }

    /// Converts coordinates of this space to linear light.
    pub(crate) fn to_linear(self, c: Three<'_>) -> Three<'_> {
        match self {
            Self::Linear => c,
            Self::Srgb => c.map(decoded),
            Self::Hsv => from_hsv(c),
            Self::Hsl => from_hsl(c),
            Self::SrgbHsv => from_hsv(c).map(decoded),
            Self::SrgbHsl => from_hsl(c).map(decoded),
            Self::Xyz => times(&inverse(&rgb_to_xyz()), c),
            Self::Lab => Self::Xyz.to_linear(from_lab(c)),
            Self::Lch => Self::Lab.to_linear(from_polar(c)),
            Self::Oklab => {
                let cones = times(&inverse(&CONES_TO_OKLAB), c).map(|x| x * x * x);
                times(&inverse(&RGB_TO_CONES), cones)
            }
            Self::Oklch => Self::Oklab.to_linear(from_polar(c)),
            Self::Xyy => Self::Xyz.to_linear(from_xyy(c)),
            Self::Luv => Self::Xyz.to_linear(from_luv(c)),
            Self::DisplayP3 => {
                times(&product(&inverse(&rgb_to_xyz()), &primaries_to_xyz(&P3, WHITE)), c)
            }
            Self::Rec2020 => {
                times(&product(&inverse(&rgb_to_xyz()), &primaries_to_xyz(&REC2020, WHITE)), c)
            }
            Self::Acescg => times(&inverse(&rgb_to_acescg()), c),
            Self::Ycbcr => times(&inverse(&LUMA), c).map(decoded),
        }
    }
}

/// Linear light from an sRGB channel.
pub(super) fn decoded(x: Val<'_>) -> Val<'_> {
    let curve = ((x + 0.055) / 1.055).pow(2.4);
    x.le(0.040_45).select(x / 12.92, curve)
}

/// The sRGB channel of linear light.
pub(super) fn encoded(x: Val<'_>) -> Val<'_> {
    let curve = x.pow(1.0 / 2.4) * 1.055 - 0.055;
    x.le(0.003_130_8).select(x * 12.92, curve)
}

/// The hue, 0 to 1; 0 for gray. `c` is the greatest minus the least channel.
fn hue<'b>([r, g, b]: Three<'b>, greatest: Val<'b>, c: Val<'b>) -> Val<'b> {
    let of_red = (g - b) / c;
    let of_green = (b - r) / c + 2.0;
    let of_blue = (r - g) / c + 4.0;
    let sixths = greatest.eq(r).select(of_red, greatest.eq(g).select(of_green, of_blue));
    c.eq(0.0).select(0.0, (sixths * (1.0 / 6.0)).fract())
}

pub(super) fn to_hsv(c: Three<'_>) -> Three<'_> {
    let greatest = c[0].max(c[1]).max(c[2]);
    let range = greatest - c[0].min(c[1]).min(c[2]);
    let saturation = greatest.eq(0.0).select(0.0, range / greatest);
    [hue(c, greatest, range), saturation, greatest]
}

pub(super) fn from_hsv([h, s, v]: Three<'_>) -> Three<'_> {
    [5.0, 3.0, 1.0].map(|n: f64| {
        let k = (h + n / 6.0).fract() * 6.0;
        v - v * s * k.min(4.0 - k).clamp(0.0, 1.0)
    })
}

fn to_hsl(c: Three<'_>) -> Three<'_> {
    let (greatest, least) = (c[0].max(c[1]).max(c[2]), c[0].min(c[1]).min(c[2]));
    let (range, sum) = (greatest - least, greatest + least);
    // 1 - |2 l - 1|, without the loss of precision near black.
    let most = sum.min(2.0 - sum);
    let is_grey = range.eq(0.0) | most.eq(0.0);
    [hue(c, greatest, range), is_grey.select(0.0, range / most), sum * 0.5]
}

fn from_hsl([h, s, l]: Three<'_>) -> Three<'_> {
    let a = s * l.min(1.0 - l);
    [0.0, 8.0, 4.0].map(|n: f64| {
        let k = (h + n / 12.0).fract() * 12.0;
        l - a * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0)
    })
}

/// Lightness, chroma and hue. A color whose chroma is at most `grey` has no hue, as in CSS.
fn to_polar([l, a, b]: Three<'_>, grey: f64) -> Three<'_> {
    let chroma = a.hypot(b);
    let hue = (b.atan2(a) * (0.5 / std::f64::consts::PI)).fract();
    [l, chroma, chroma.le(grey).select(0.0, hue)]
}

fn from_polar([l, c, h]: Three<'_>) -> Three<'_> {
    let angle = h * (2.0 * std::f64::consts::PI);
    [l, c * angle.cos(), c * angle.sin()]
}

/// 6 / 29: the threshold below which L*a*b* replaces the cube root by a straight line.
const DELTA: f64 = 6.0 / 29.0;

fn to_lab(xyz: Three<'_>) -> Three<'_> {
    let white = white();
    let f = |i: usize| {
        let t = xyz[i] / white[i];
        let line = t * (1.0 / (3.0 * DELTA * DELTA)) + 4.0 / 29.0;
        t.gt(DELTA * DELTA * DELTA).select(t.cbrt(), line)
    };
    let [x, y, z] = [f(0), f(1), f(2)];
    [y * 116.0 - 16.0, (x - y) * 500.0, (y - z) * 200.0]
}

fn from_lab([l, a, b]: Three<'_>) -> Three<'_> {
    let white = white();
    let y = (l + 16.0) * (1.0 / 116.0);
    let cubes = [y + a * (1.0 / 500.0), y, y - b * (1.0 / 200.0)]
        .map(|t| t.gt(DELTA).select(t * t * t, (t - 4.0 / 29.0) * (3.0 * DELTA * DELTA)));
    [cubes[0] * white[0], cubes[1] * white[1], cubes[2] * white[2]]
}

fn to_xyy([x, y, z]: Three<'_>) -> Three<'_> {
    let sum = x + y + z;
    let black = sum.eq(0.0);
    [black.select(WHITE.0, x / sum), black.select(WHITE.1, y / sum), y]
}

fn from_xyy([x, y, light]: Three<'_>) -> Three<'_> {
    let none = y.eq(0.0);
    let factor = none.select(0.0, light / y);
    [x * factor, light, factor * (x.like(1.0) - x - y)]
}

/// The threshold below which L*u*v* is linear, and the slope there.
const DARK: f64 = DELTA * DELTA * DELTA;
const STEEP: f64 = 24389.0 / 27.0;

/// The chromaticity of white, the origin of L*u*v*.
fn white_uv() -> (f64, f64) {
    let [x, y, z] = white();
    let sum = x + 15.0 * y + 3.0 * z;
    (4.0 * x / sum, 9.0 * y / sum)
}

fn to_luv([x, y, z]: Three<'_>) -> Three<'_> {
    let l = y.gt(DARK).select(y.cbrt() * 116.0 - 16.0, y * STEEP);
    let sum = x + y * 15.0 + z * 3.0;
    let (u, v) = white_uv();
    let none = sum.eq(0.0);
    let chromaticities = [(x * 4.0, u), (y * 9.0, v)];
    let [u, v] = chromaticities.map(|(x, white)| none.select(0.0, l * 13.0 * (x / sum - white)));
    [l, u, v]
}

fn from_luv([l, u, v]: Three<'_>) -> Three<'_> {
    let (white_u, white_v) = white_uv();
    let none = l.eq(0.0);
    let (u, v) = (u / (l * 13.0) + white_u, v / (l * 13.0) + white_v);
    let root = (l + 16.0) / 116.0;
    let y = l.gt(8.0).select(root * root * root, l / STEEP);
    let x = y * u * 9.0 / (v * 4.0);
    let z = y * (u.like(12.0) - u * 3.0 - v * 20.0) / (v * 4.0);
    [none.select(0.0, x), none.select(0.0, y), none.select(0.0, z)]
}

type Matrix = [[f64; 3]; 3];

/// The responses of three cones to linear light, and Oklab from their cube roots.
const RGB_TO_CONES: Matrix = [
    [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
    [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
    [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
];
const CONES_TO_OKLAB: Matrix = [
    [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
    [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
    [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
];

/// Luma of BT.709, and the differences of blue and red from it, scaled to -0.5 to 0.5.
const LUMA: Matrix = [
    [0.2126, 0.7152, 0.0722],
    [-0.2126 / 1.8556, -0.7152 / 1.8556, 0.9278 / 1.8556],
    [0.7874 / 1.5748, -0.7152 / 1.5748, -0.0722 / 1.5748],
];

/// The cone responses to XYZ, which Bradford's adaptation scales.
pub(super) const BRADFORD: Matrix =
    [[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]];

const P3: [(f64, f64); 3] = [(0.680, 0.320), (0.265, 0.690), (0.150, 0.060)];
const REC2020: [(f64, f64); 3] = [(0.708, 0.292), (0.170, 0.797), (0.131, 0.046)];
const AP1: [(f64, f64); 3] = [(0.713, 0.293), (0.165, 0.830), (0.128, 0.044)];
const ACES_WHITE: (f64, f64) = (0.32168, 0.33767);

/// Chromaticities of the primaries and of white; the XYZ coordinates of a chromaticity with Y = 1.
const PRIMARIES: [(f64, f64); 3] = [(0.64, 0.33), (0.30, 0.60), (0.15, 0.06)];
const WHITE: (f64, f64) = (0.3127, 0.3290);

fn place((x, y): (f64, f64)) -> [f64; 3] {
    [x / y, 1.0, (1.0 - x - y) / y]
}

fn white() -> [f64; 3] {
    place(WHITE)
}

pub(super) fn rgb_to_xyz() -> Matrix {
    primaries_to_xyz(&PRIMARIES, WHITE)
}

/// The matrix whose columns are the primaries, scaled so that their sum is white.
fn primaries_to_xyz(primaries: &[(f64, f64); 3], white: (f64, f64)) -> Matrix {
    let columns = primaries.map(place);
    let plain: Matrix = [0, 1, 2].map(|row| [0, 1, 2].map(|column| columns[column][row]));
    let strengths = applied(&inverse(&plain), place(white));
    plain.map(|row| [0, 1, 2].map(|column| row[column] * strengths[column]))
}

/// The matrix to `ACEScg`, including the adaptation from one white point to the other.
fn rgb_to_acescg() -> Matrix {
    let (from, to) = (applied(&BRADFORD, white()), applied(&BRADFORD, place(ACES_WHITE)));
    let mut scaled = BRADFORD;
    for (i, row) in scaled.iter_mut().enumerate() {
        *row = row.map(|x| x * to[i] / from[i]);
    }
    let adapted = product(&inverse(&BRADFORD), &product(&scaled, &rgb_to_xyz()));
    product(&inverse(&primaries_to_xyz(&AP1, ACES_WHITE)), &adapted)
}

fn applied(m: &Matrix, x: [f64; 3]) -> [f64; 3] {
    m.map(|row| (0..3).map(|i| row[i] * x[i]).sum())
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    a.map(|row| [0, 1, 2].map(|column| (0..3).map(|k| row[k] * b[k][column]).sum()))
}

pub(super) fn inverse(m: &Matrix) -> Matrix {
    let cofactor = |row: usize, column: usize| {
        let at = |i: usize, j: usize| m[(row + i) % 3][(column + j) % 3];
        at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1)
    };
    let determinant: f64 = (0..3).map(|column| m[0][column] * cofactor(0, column)).sum();
    [0, 1, 2].map(|row| [0, 1, 2].map(|column| cofactor(column, row) / determinant))
}

pub(super) fn times<'b>(m: &Matrix, c: Three<'b>) -> Three<'b> {
    m.map(|row| c[0] * row[0] + c[1] * row[1] + c[2] * row[2])
}

/// Converts XYZ coordinates to linear light.
pub(super) fn from_xyz(xyz: Three<'_>) -> Three<'_> {
    Space::Xyz.to_linear(xyz)
}

fn convert() -> NodeDef {
    let def = NodeDef::new("color.convert", "Converts a color from one color space to another")
        .details(
            "Alpha does not change. The result is a color whose channels have another meaning: \
             read them with `color.separate`, and convert back to `linear` before other nodes use \
             them as light. Colors outside the gamut of the other space have coordinates outside 0 \
             to 1; nothing is clamped. Gray has hue 0. A hue from 0 to 1 is a full turn and \
             repeats. From linear light of 0 to 1 to Oklab the error is at most 2e-6.",
        )
        .source(
            "IEC 61966-2-1 (sRGB), BT.709 (primaries and white), CIE 15 (XYZ, L*a*b*), Smith, \
             \"Color gamut transform pairs\", 1978 (HSV), CSS Color Module Level 4 (HSL), B. \
             Ottosson, \"A perceptual color space for image processing\", 2020 (Oklab), SMPTE EG \
             432-1 (P3), BT.2020, SMPTE ST 2065-1 and S-2014-004 (ACES), CIE 159 (Bradford)",
        )
        .choice("from", Space::ALL, "linear", "color space of the input")
        .choice("to", Space::ALL, "oklab", "color space of the output");
    color_input(def, "color", "").output("value", Type::COLOR, "").kernel(form_by_settings(
        |settings, inputs| {
            let named = |name| Space::named(settings.text(name));
            let (from, to) = (named("from"), named("to"));
            let color = &inputs[0];
            let channels =
                if from == to { three(color) } else { to.of_linear(from.to_linear(three(color))) };
            vec![with_alpha(channels, color[3])]
        },
    ))
}
