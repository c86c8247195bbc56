//! Color spaces of pictures: the meaning of codes in linear light with BT.709 primaries.
//!
//! A space is a curve per channel and a matrix. Profiles of that kind (nearly all RGB and gray
//! ones) are applied here, in `f64` until the tables are built, so that pixels are the same on
//! every machine. Profiles with lookup tables are not applied, and the caller is informed.

use std::sync::{Arc, LazyLock};

use millstream_base::num;
use moxcms::{ColorDateTime, ColorProfile, DataColorSpace, ProfileText, ToneReprCurve};

use super::transfer;

/// The x and y chromaticity of a color.
pub(super) type Xy = [f64; 2];

type Matrix = [[f64; 3]; 3];

/// Red, green and blue of sRGB and BT.709, and their white point.
pub(super) const BT709: [Xy; 4] = [[0.64, 0.33], [0.3, 0.6], [0.15, 0.06], [0.3127, 0.329]];

/// The colorants of sRGB, adapted to the white point of profiles, in the columns that its profile
/// lists.
const BT709_IN_PROFILES: Matrix = [
    [0.436_065_67, 0.385_147_09, 0.143_066_41],
    [0.222_488_40, 0.716_873_17, 0.060_607_91],
    [0.013_916_02, 0.097_076_42, 0.714_096_07],
];

/// Cone responses from XYZ (Bradford).
const BRADFORD: Matrix =
    [[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]];

/// A curve from an encoded value from 0 to 1 to linear light, in which white is 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Curve {
    Srgb,
    Linear,
    Power(f64),
    /// The perceptual quantizer of SMPTE ST 2084, up to 10,000 cd/m2. White has 203 cd/m2, as in
    /// ITU-R BT.2408.
    Perceptual,
    /// Values at equal distances, with linear interpolation between them.
    Sampled(Vec<u16>),
    /// g, a, b, c, d, e and f: (a x + b)^g + e from x = d on, c x + f below; ICC.1:2022, 10.18.
    Parametric([f64; 7]),
}

impl Curve {
    fn at(&self, x: f64) -> f64 {
        match self {
            Self::Srgb => transfer::decoded(x),
            Self::Linear => x,
            Self::Power(exponent) => num::pow(x, *exponent),
            Self::Perceptual => {
                let root = num::pow(x, 1.0 / 78.843_75);
                let ratio = (root - 0.835_937_5).max(0.0) / (18.851_562_5 - 18.6875 * root);
                num::pow(ratio, 1.0 / 0.159_301_757_812_5) * (10_000.0 / 203.0)
            }
            Self::Sampled(samples) => {
                let last = samples.len() - 1;
                let place = x * last as f64;
                let i = (place as usize).min(last.saturating_sub(1));
                let [low, high] = [i, (i + 1).min(last)].map(|i| f64::from(samples[i]) / 65_535.0);
                low + (high - low) * (place - i as f64)
            }
            Self::Parametric([g, a, b, c, d, e, f]) => {
                if x >= *d {
                    num::pow(a * x + b, *g) + e
                } else {
                    c * x + f
                }
            }
        }
    }

    fn of_profile(curve: &ToneReprCurve) -> Option<Self> {
        Some(match curve {
            ToneReprCurve::Lut(samples) => match samples[..] {
                [] => Self::Linear,
                [gamma] => Self::Power(f64::from(gamma) / 256.0),
                _ => Self::Sampled(samples.clone()),
            },
            ToneReprCurve::Parametric(numbers) => {
                let numbers: Vec<f64> = numbers.iter().map(|x| f64::from(*x)).collect();
                let all = match numbers[..] {
                    [g] => return Some(Self::Power(g)),
                    [g, a, b] => [g, a, b, 0.0, -b / a, 0.0, 0.0],
                    [g, a, b, c] => [g, a, b, 0.0, -b / a, c, c],
                    [g, a, b, c, d] => [g, a, b, c, d, 0.0, 0.0],
                    [g, a, b, c, d, e, f] => [g, a, b, c, d, e, f],
                    _ => return None,
                };
                Self::Parametric(all)
            }
        })
    }

    /// The curve as a named one, if it equals it within the rounding of profiles.
    fn named(self) -> Option<Self> {
        let points = || (0..=64).map(|i| f64::from(i) / 64.0);
        let is = |other: &Self| points().all(|x| (self.at(x) - other.at(x)).abs() < 1e-3);
        if points().any(|x| !self.at(x).is_finite()) {
            return None;
        }
        Some([Self::Srgb, Self::Linear].into_iter().find(is).unwrap_or(self))
    }
}

/// The meaning of the channels of a picture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ColorSpace {
    /// The name for people.
    pub(super) name: String,
    /// The curves of red, green and blue, or three times that of gray.
    curves: [Curve; 3],
    /// From the primaries of the space to those of BT.709, unless they are the same.
    matrix: Option<[[f32; 3]; 3]>,
    /// Whether codes have the narrow range of video, in which black and white are 16 and 235 of the
    /// codes of 8 bits. Alpha always has the full range.
    is_narrow: bool,
}

/// A table for each color channel, from codes to linear light.
pub(super) type Tables = [Arc<[f32]>; 3];

static SRGB_8: LazyLock<Arc<[f32]>> =
    LazyLock::new(|| transfer::table(u8::MAX.into(), transfer::decoded).into());
static SRGB_16: LazyLock<Arc<[f32]>> =
    LazyLock::new(|| transfer::table(u16::MAX, transfer::decoded).into());

impl ColorSpace {
    pub(super) fn srgb() -> Self {
        Self {
            name: "sRGB".into(),
            curves: [const { Curve::Srgb }; 3],
            matrix: None,
            is_narrow: false,
        }
    }

    pub(super) fn linear() -> Self {
        Self {
            name: "linear BT.709".into(),
            curves: [const { Curve::Linear }; 3],
            matrix: None,
            is_narrow: false,
        }
    }

    /// The space with this curve, primaries and white point, if they span one.
    pub(super) fn of_primaries(name: &str, curve: Curve, primaries: [Xy; 4]) -> Option<Self> {
        let to_bt709 = || {
            let white = |of: [Xy; 4]| xyz(of[3]);
            let cones = |of| times(&BRADFORD, white(of));
            let (from, to) = (cones(primaries), cones(BT709));
            let mut scale = [[0.0; 3]; 3];
            (0..3).for_each(|i| scale[i][i] = to[i] / from[i]);
            let adapted = product(&inverse(&BRADFORD)?, &product(&scale, &BRADFORD));
            let to_xyz = product(&adapted, &colorants(primaries)?);
            Some(product(&inverse(&colorants(BT709)?)?, &to_xyz))
        };
        let curve = curve.named()?;
        Some(Self {
            name: name.into(),
            curves: [curve.clone(), curve.clone(), curve],
            matrix: shortened(&to_bt709()?)?,
            is_narrow: false,
        })
    }

    /// The space of a profile.
    ///
    /// # Errors
    /// If it does not consist of curves and a matrix: its name, and why it is not applied.
    pub(super) fn of_profile(bytes: &[u8], is_gray: bool) -> Result<Self, String> {
        let profile = ColorProfile::new_from_slice(bytes)
            .map_err(|_| "a color profile that cannot be read".to_owned())?;
        let name = name_of(&profile);
        let lost = |why: &str| format!("the color profile `{name}`, {why}");
        let kind = match profile.color_space {
            DataColorSpace::Gray if !is_gray => return Err(lost("which is for gray")),
            DataColorSpace::Rgb | DataColorSpace::Gray => profile.color_space,
            DataColorSpace::Cmyk => return Err(lost("which is for CMYK")),
            _ => return Err(lost("which is for channels of another kind")),
        };
        let curves = if kind == DataColorSpace::Gray {
            [&profile.gray_trc; 3]
        } else {
            [&profile.red_trc, &profile.green_trc, &profile.blue_trc]
        };
        let curve = |curve: &Option<ToneReprCurve>| Curve::of_profile(curve.as_ref()?)?.named();
        let [Some(red), Some(green), Some(blue)] = curves.map(curve) else {
            return Err(lost("which consists of lookup tables"));
        };
        // Equal channels give gray in any space whose channels share a curve.
        let matrix = if is_gray && red == green && green == blue {
            None
        } else if is_gray {
            return Err(lost("which is for colors"));
        } else {
            let columns = [profile.red_colorant, profile.green_colorant, profile.blue_colorant];
            let to_xyz = transposed(&columns.map(|color| [color.x, color.y, color.z]));
            let from_xyz = inverse(&BT709_IN_PROFILES).expect("its columns are independent");
            let is_whole = inverse(&to_xyz).is_some();
            let matrix = is_whole.then(|| shortened(&product(&from_xyz, &to_xyz))).flatten();
            matrix.ok_or_else(|| lost("whose primaries are not colors"))?
        };
        Ok(Self { name, curves: [red, green, blue], matrix, is_narrow: false })
    }

    /// The space of a profile; sRGB with a note if it cannot be applied.
    pub(super) fn of_profile_or_srgb(bytes: &[u8], is_gray: bool, notes: &mut Vec<String>) -> Self {
        Self::of_profile(bytes, is_gray).unwrap_or_else(|profile| {
            notes.push(format!("{profile}, was not applied; colors were read as sRGB"));
            Self::srgb()
        })
    }

    /// The space with these ITU-T H.273 code points for primaries and transfer; `None` for
    /// others, such as those whose white depends on the screen.
    pub(super) fn of_code_points(primaries: u8, transfer: u8) -> Option<Self> {
        let white = BT709[3];
        let (name, primaries) = match primaries {
            1 => ("BT.709", BT709),
            5 => ("BT.601 PAL", [[0.64, 0.33], [0.29, 0.6], [0.15, 0.06], white]),
            6 | 7 => ("BT.601 NTSC", [[0.63, 0.34], [0.31, 0.595], [0.155, 0.07], white]),
            9 => ("BT.2020", [[0.708, 0.292], [0.17, 0.797], [0.131, 0.046], white]),
            11 => ("DCI P3", [[0.68, 0.32], [0.265, 0.69], [0.15, 0.06], [0.314, 0.351]]),
            12 => ("Display P3", [[0.68, 0.32], [0.265, 0.69], [0.15, 0.06], white]),
            _ => return None,
        };
        let (suffix, curve) = match transfer {
            1 | 6 | 14 | 15 => {
                let [slope, offset] = [1.0 / 4.5, 0.099];
                let [a, b] = [1.0 / (1.0 + offset), offset / (1.0 + offset)];
                let curve = Curve::Parametric([1.0 / 0.45, a, b, slope, 0.081, 0.0, 0.0]);
                (" of cameras", curve)
            }
            4 => (" with gamma 2.2", Curve::Power(2.2)),
            5 => (" with gamma 2.8", Curve::Power(2.8)),
            8 => (", linear", Curve::Linear),
            13 => ("", Curve::Srgb),
            16 => (" PQ", Curve::Perceptual),
            _ => return None,
        };
        let space = Self::of_primaries(&format!("{name}{suffix}"), curve, primaries)?;
        Some(if space.is_srgb() { Self::srgb() } else { space })
    }

    /// The same space with codes of the narrow range of video.
    pub(super) fn of_narrow_range(self) -> Self {
        Self { is_narrow: true, ..self }
    }

    /// Whether codes have the meaning of sRGB, whatever the name.
    pub(super) fn is_srgb(&self) -> bool {
        !self.is_narrow && self.matrix.is_none() && self.curves == Self::srgb().curves
    }

    /// Whether numbers are proportional to light.
    pub(super) fn is_linear(&self) -> bool {
        self.curves == Self::linear().curves
    }

    /// The tables for codes from 0 to `top`.
    pub(super) fn tables(&self, top: u16) -> Tables {
        let table = |curve: &Curve| match (curve, top) {
            (curve, top) if self.is_narrow => {
                // Codes of more bits end in zeros: 16 and 219 are multiplied by a power of 2.
                let unit = f64::from(top.div_ceil(2)) * 2.0 / 256.0;
                let full = |x: f64| (x * f64::from(top) / unit - 16.0) / 219.0;
                transfer::table(top, |x| curve.at(full(x).clamp(0.0, 1.0))).into()
            }
            (Curve::Srgb, 0xff) => Arc::clone(&SRGB_8),
            (Curve::Srgb, 0xffff) => Arc::clone(&SRGB_16),
            (curve, top) => transfer::table(top, |x| curve.at(x)).into(),
        };
        let [red, green, blue] = &self.curves;
        let first = table(red);
        let like_first = |curve| if curve == red { Arc::clone(&first) } else { table(curve) };
        [Arc::clone(&first), like_first(green), like_first(blue)]
    }

    /// From linear light of the space to that of BT.709, unless it is the same.
    pub(super) fn matrix(&self) -> Option<[[f32; 3]; 3]> {
        self.matrix
    }
}

/// A profile that declares codes as linear light with BT.709 primaries.
pub(super) fn linear_profile() -> Vec<u8> {
    // The current day would make files differ.
    let day = ColorDateTime {
        year: 2026,
        month: 1,
        day_of_the_month: 1,
        hours: 0,
        minutes: 0,
        seconds: 0,
    };
    let linear = || Some(ToneReprCurve::Lut(Vec::new()));
    let name = "linear BT.709".to_owned();
    let text = moxcms::LocalizableString::new("en".into(), "US".into(), name);
    let mut profile = ColorProfile::new_srgb();
    profile.red_trc = linear();
    profile.green_trc = linear();
    profile.blue_trc = linear();
    profile.cicp = None;
    profile.description = Some(ProfileText::Localizable(vec![text]));
    profile.creation_date_time = day;
    profile.encode().expect("it consists of parts that can be encoded")
}

fn name_of(profile: &ColorProfile) -> String {
    let name = match &profile.description {
        Some(ProfileText::PlainString(text)) => text.clone(),
        Some(ProfileText::Localizable(texts)) => {
            texts.first().map(|text| text.value.clone()).unwrap_or_default()
        }
        Some(ProfileText::Description(text)) => text.ascii_string.clone(),
        None => String::new(),
    };
    let name: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
    if name.trim().is_empty() { "without a name".into() } else { name.trim().into() }
}

/// XYZ of a color of luminance 1.
fn xyz([x, y]: Xy) -> [f64; 3] {
    [x / y, 1.0, (1.0 - x - y) / y]
}

/// XYZ of the primaries, in columns, scaled so that their sum is white.
fn colorants(primaries: [Xy; 4]) -> Option<Matrix> {
    let [red, green, blue, white] = primaries.map(xyz);
    let columns = transposed(&[red, green, blue]);
    let scale = times(&inverse(&columns)?, white);
    Some(columns.map(|row| [0, 1, 2].map(|i| row[i] * scale[i])))
}

fn transposed(m: &Matrix) -> Matrix {
    [0, 1, 2].map(|i| [m[0][i], m[1][i], m[2][i]])
}

fn times(m: &Matrix, v: [f64; 3]) -> [f64; 3] {
    m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    transposed(&transposed(b).map(|column| times(a, column)))
}

/// The inverse, unless the columns are nearly coplanar or contain NaN.
fn inverse(m: &Matrix) -> Option<Matrix> {
    let minor = |i: usize, j: usize| {
        let (rows, columns) = ([(i + 1) % 3, (i + 2) % 3], [(j + 1) % 3, (j + 2) % 3]);
        m[rows[0]][columns[0]] * m[rows[1]][columns[1]]
            - m[rows[0]][columns[1]] * m[rows[1]][columns[0]]
    };
    let det = (0..3).map(|j| m[0][j] * minor(0, j)).sum::<f64>();
    let is_well = det.is_finite() && det.abs() > 1e-6;
    is_well.then(|| [0, 1, 2].map(|i| [0, 1, 2].map(|j| minor(j, i) / det)))
}

/// The matrix in single precision, or none if it is the identity within the rounding of profiles;
/// the outer `None` if it contains unusable numbers.
#[expect(clippy::option_option, reason = "no matrix needed and no matrix possible differ")]
fn shortened(m: &Matrix) -> Option<Option<[[f32; 3]; 3]>> {
    let all = || m.iter().flatten();
    if all().any(|x| x.is_nan() || x.abs() > 1e3) {
        return None;
    }
    let is_one = |(i, x): (usize, &f64)| (x - f64::from(u8::from(i % 4 == 0))).abs() < 2e-3;
    Some((!all().enumerate().all(is_one)).then(|| m.map(|row| row.map(|x| x as f32))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_of_curves_and_a_matrix_are_applied() {
        let read = |profile: ColorProfile| {
            let bytes = profile.encode().expect("encodes");
            ColorSpace::of_profile(&bytes, false).expect("has curves and a matrix")
        };
        let srgb = read(ColorProfile::new_srgb());
        assert!(srgb.is_srgb(), "{srgb:?}");
        assert!(srgb.name.contains("sRGB"), "{}", srgb.name);
        let p3 = read(ColorProfile::new_display_p3());
        assert!(!p3.is_srgb());
        // Red of Display P3 in BT.709, as published with CSS Color 4.
        let matrix = p3.matrix().expect("its primaries are wider");
        for (is, is_to_be) in
            [(matrix[0][0], 1.2249), (matrix[1][0], -0.0420), (matrix[2][0], -0.0196)]
        {
            assert!((is - is_to_be).abs() < 2e-3, "{matrix:?}");
        }
        let adobe = read(ColorProfile::new_adobe_rgb());
        assert!(matches!(adobe.curves[0], Curve::Power(_)), "{adobe:?}");
        let by_primaries = ColorSpace::of_primaries(
            "Display P3",
            Curve::Srgb,
            [[0.68, 0.32], [0.265, 0.69], [0.15, 0.06], BT709[3]],
        );
        let other = by_primaries.expect("it is one").matrix().expect("they are wider");
        for (a, b) in matrix.iter().flatten().zip(other.iter().flatten()) {
            assert!((a - b).abs() < 1e-3, "{matrix:?} {other:?}");
        }
    }

    #[test]
    fn other_profiles_are_named() {
        let of = |profile: ColorProfile, is_gray| {
            ColorSpace::of_profile(&profile.encode().expect("encodes"), is_gray).map(|_| ())
        };
        let gray = ColorProfile::new_gray_with_gamma(2.2);
        assert!(of(gray.clone(), true).is_ok());
        let error = of(gray, false).expect_err("a picture of colors");
        assert!(error.ends_with("which is for gray"), "{error}");
        assert!(of(ColorProfile::new_display_p3(), true).is_ok());
        let mut uneven = ColorProfile::new_display_p3();
        uneven.red_trc = Some(ToneReprCurve::Lut(vec![512]));
        assert!(of(uneven.clone(), false).is_ok());
        let error = of(uneven, true).expect_err("a gray picture");
        assert!(error.contains("P3") && error.ends_with("which is for colors"), "{error}");
        assert!(ColorSpace::of_profile(b"no profile", false).is_err());
    }

    #[test]
    fn the_linear_profile_is_linear_and_deterministic() {
        let space = ColorSpace::of_profile(&linear_profile(), false).expect("it is one");
        assert_eq!(space, ColorSpace::linear());
        assert_eq!(linear_profile(), linear_profile());
    }

    #[test]
    fn collinear_primaries_span_no_space() {
        let flat = [[0.2, 0.2], [0.3, 0.3], [0.4, 0.4], BT709[3]];
        assert_eq!(ColorSpace::of_primaries("flat", Curve::Linear, flat), None);
        let none = [[0.0; 2]; 4];
        assert_eq!(ColorSpace::of_primaries("none", Curve::Linear, none), None);
        let nan = Curve::Power(f64::NAN);
        assert_eq!(ColorSpace::of_primaries("nan", nan, BT709), None);
    }
}
