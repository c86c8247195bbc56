//! The transfer function of sRGB, IEC 61966-2-1: codes to linear light by table, and linear light to
//! the nearest code.
//!
//! The nearest code of `x` is the number of thresholds up to `x`, where a threshold is the linear
//! light halfway between two codes, as encoded values. It is found without a search: a chord of
//! the curve gives a guess that is right or one too small, and one threshold decides. All functions
//! are those of `base::num`, so codes are the same on every machine.

use std::sync::LazyLock;

use millstream_base::num;

/// Linear light of an encoded value, 0 to 1.
pub(super) fn decoded(x: f64) -> f64 {
    if x <= 0.040_45 { x / 12.92 } else { num::pow((x + 0.055) / 1.055, 2.4) }
}

/// The encoded value of linear light, 0 to 1.
fn encoded(x: f64) -> f64 {
    if x <= 0.003_130_8 { x * 12.92 } else { 1.055 * num::pow(x, 1.0 / 2.4) - 0.055 }
}

/// The linear light of each code from 0 to `top`, under any curve.
pub(super) fn table(top: u16, curve: impl Fn(f64) -> f64) -> Vec<f32> {
    (0..=top).map(|code| curve(f64::from(code) / f64::from(top)) as f32).collect()
}

/// The number of low bits of an `f32` that do not select a chord: 128 chords per octave.
const SHIFT: u32 = 16;

/// The least value with a chord of its own; below it the code is 0.
const LEAST: f32 = 1.0 / (1 << 21) as f32;

/// Finds the nearest code of linear light.
pub(super) struct Encoder {
    /// A chord for each range of values whose high bits agree, as value at zero and slope.
    chords: Box<[[f32; 2]]>,
    /// The least value of each code from 1; the one after the last code is infinite.
    thresholds: Box<[f32]>,
}

impl Encoder {
    fn new(top: u16) -> Self {
        let scale = f64::from(top);
        let threshold = |code: u16| {
            let exact = decoded((f64::from(code) - 0.5) / scale);
            let near = exact as f32;
            if f64::from(near) < exact { near.next_up() } else { near }
        };
        let chord = |high: u32| {
            let [from, to] = [high, high + 1].map(|high| f64::from(f32::from_bits(high << SHIFT)));
            let [low, high] = [from, to].map(|x| scale * encoded(x));
            let slope = (high - low) / (to - from);
            // The guess may be too small by a part of a code, and never too large.
            [(low - slope * from + 0.45) as f32, slope as f32]
        };
        let (first, last) = (LEAST.to_bits() >> SHIFT, 1_f32.to_bits() >> SHIFT);
        let end = [[f32::from(top) + 0.45, 0.0]];
        Self {
            chords: (first..last).map(chord).chain(end).collect(),
            thresholds: (1..=top).map(threshold).chain([f32::INFINITY]).collect(),
        }
    }

    /// The nearest code of linear light, which is clamped to 0 to 1; 0 for NaN.
    #[inline(always)]
    pub(super) fn code(&self, x: f32) -> u32 {
        // The comparisons are false for NaN.
        let x = if x > LEAST { x } else { LEAST };
        let x = if x < 1.0 { x } else { 1.0 };
        let [start, slope] = self.chords[((x.to_bits() - LEAST.to_bits()) >> SHIFT) as usize];
        let guess = (start + slope * x) as u32;
        guess + u32::from(x >= self.thresholds[guess as usize])
    }
}

pub(super) static TO_8: LazyLock<Encoder> = LazyLock::new(|| Encoder::new(u8::MAX.into()));
pub(super) static TO_16: LazyLock<Encoder> = LazyLock::new(|| Encoder::new(u16::MAX));

#[cfg(test)]
mod tests {
    use super::*;

    /// The nearest code by the definition.
    fn nearest(x: f32, top: u16) -> u32 {
        (encoded(f64::from(x).clamp(0.0, 1.0)) * f64::from(top)).round() as u32
    }

    #[test]
    fn codes_are_the_nearest_ones() {
        for (encoder, top) in [(&TO_8, 255_u16), (&TO_16, 65_535)] {
            let mut last = 0;
            // Every 97th value, and all around the thresholds.
            let wide = (0..1_f32.to_bits() + 1000).step_by(97).map(f32::from_bits);
            let near = encoder.thresholds.iter().filter(|x| x.is_finite()).flat_map(|x| {
                (-3..=3).map(|by| f32::from_bits(x.to_bits().wrapping_add_signed(by)))
            });
            for x in wide {
                let code = encoder.code(x);
                assert!(code >= last, "{x}");
                last = code;
                assert!(code.abs_diff(nearest(x, top)) == 0 || near_tie(x, top), "{x}");
            }
            assert_eq!(last, u32::from(top));
            for x in near {
                assert!(encoder.code(x) == nearest(x, top) || near_tie(x, top), "{x}");
            }
        }
    }

    /// Whether the two pieces of the curve, which do not meet exactly, or the rounding of the
    /// definition leave the code open.
    fn near_tie(x: f32, top: u16) -> bool {
        let code = encoded(f64::from(x)) * f64::from(top);
        (code - code.floor() - 0.5).abs() < 1e-4
    }

    #[test]
    fn guesses_are_at_most_one_too_small() {
        for (encoder, top) in [(&TO_8, 255_u16), (&TO_16, 65_535)] {
            for (i, threshold) in encoder.thresholds[..usize::from(top)].iter().enumerate() {
                assert_eq!(encoder.code(*threshold), i as u32 + 1);
                assert_eq!(encoder.code(threshold.next_down()), i as u32);
            }
            for x in [0.0, -1.0, f32::NAN, f32::NEG_INFINITY, f32::MIN_POSITIVE] {
                assert_eq!(encoder.code(x), 0);
            }
            for x in [1.0, 1.5, f32::INFINITY] {
                assert_eq!(encoder.code(x), u32::from(top));
            }
        }
    }

    #[test]
    fn known_codes() {
        // Middle gray, and the values of the standard's two pieces.
        assert_eq!(TO_8.code(0.18), 118);
        assert_eq!(TO_8.code(0.5), 188);
        assert_eq!(TO_16.code(0.5), 48_192);
        let table = table(255, decoded);
        assert!((table[188] - 0.502_886_5).abs() < 1e-6);
        assert!((table[10] - 0.003_035_27).abs() < 1e-8);
        for code in 0..=255 {
            assert_eq!(TO_8.code(table[code as usize]), code);
        }
    }
}
