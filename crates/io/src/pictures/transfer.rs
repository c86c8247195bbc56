//! The transfer function of sRGB, IEC 61966-2-1: codes to linear light by table, and linear light
//! to the nearest code.
//!
//! The nearest code of `x` is the number of thresholds up to `x`, where a threshold is the linear
//! light of the encoded value halfway between two codes. It is found without a search, from the
//! range of values that share the high bits of `x`. With 8 bits, there is at most one threshold in
//! such a range. With 16 bits, a chord of the curve gives a guess that is right or one too small,
//! and one threshold decides. All functions come from `base::num`, so codes are the same on every
//! machine.

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

/// The number of low bits of an `f32` that do not select a range: there are 128 ranges per octave.
const SHIFT: u32 = 16;

/// The least value with a range of its own, for both numbers of bits; below it, the code is 0.
const SMALLEST: f32 = 1.0 / (1 << 21) as f32;

/// The ranges by the bits of their ends, except the one that starts with 1.
fn ranges() -> impl Iterator<Item = [f32; 2]> {
    let of = |high: u32| f32::from_bits(high << SHIFT);
    (SMALLEST.to_bits() >> SHIFT..1_f32.to_bits() >> SHIFT)
        .map(move |high| [of(high), of(high + 1)])
}

/// The length of tables by range: a power of 2, so that an index is masked rather than checked, and
/// loops become SIMD.
const N_RANGES: usize = 1 << 12;

/// A table by range, filled up with the last entry.
struct ByRange<T>(Box<[T; N_RANGES]>);

impl<T: Copy> ByRange<T> {
    fn new(entries: &[T]) -> Self {
        let last = entries.len() - 1;
        Self(Box::new(std::array::from_fn(|i| entries[i.min(last)])))
    }
}

/// The index of the range of a value clamped to `SMALLEST` to 1, and the clamped value.
#[inline(always)]
fn range(x: f32) -> (usize, f32) {
    // The comparisons are false for NaN.
    let x = if x > SMALLEST { x } else { SMALLEST };
    let x = if x < 1.0 { x } else { 1.0 };
    ((x.to_bits().wrapping_sub(SMALLEST.to_bits()) >> SHIFT) as usize % N_RANGES, x)
}

/// The least value of each code from 1 to `top`.
fn thresholds(top: u16) -> impl Iterator<Item = f32> {
    (1..=top).map(move |code| {
        let exact = decoded((f64::from(code) - 0.5) / f64::from(top));
        let near = exact as f32;
        if f64::from(near) < exact { near.next_up() } else { near }
    })
}

/// Finds the nearest 8-bit code of linear light.
pub(super) struct To8 {
    /// For each range, the code at its start, and in the low bits those of the least value with the
    /// code after that, which are [`NO_LOW_BITS`] if there is none in the range.
    steps: ByRange<u32>,
}

/// The low bits of a value that do not select its range.
const LOW_BITS: u32 = (1 << SHIFT) - 1;

/// More than the low bits of any value.
const NO_LOW_BITS: u32 = LOW_BITS + 1;

impl To8 {
    fn new() -> Self {
        let all: Vec<f32> = thresholds(u8::MAX.into()).chain([f32::INFINITY]).collect();
        let step = |[start, end]: [f32; 2]| {
            let code = all.partition_point(|threshold| *threshold <= start);
            let next = all[code];
            let low_bits = if next < end { next.to_bits() & LOW_BITS } else { NO_LOW_BITS };
            (code as u32) << (SHIFT + 1) | low_bits
        };
        let steps: Vec<u32> = ranges().chain([[1.0, 1.0]]).map(step).collect();
        Self { steps: ByRange::new(&steps) }
    }

    /// The nearest code of linear light, clamped to 0 to 1; 0 for NaN.
    #[inline(always)]
    pub(super) fn code(&self, x: f32) -> u8 {
        let (i, x) = range(x);
        let step = self.steps.0[i];
        let is_next = x.to_bits() & LOW_BITS >= step & (LOW_BITS | NO_LOW_BITS);
        ((step >> (SHIFT + 1)) + u32::from(is_next)) as u8
    }
}

/// Finds the nearest 16-bit code of linear light.
pub(super) struct To16 {
    /// A chord per range: its value at zero.
    starts: ByRange<f32>,
    slopes: ByRange<f32>,
    /// The least value of each code from 1; the one after the last code is infinite.
    thresholds: Box<[f32; 1 << 16]>,
}

impl To16 {
    fn new() -> Self {
        let top = f64::from(u16::MAX);
        // The guess may be too small by a fraction of a code, but never too large.
        let chord = |[from, to]: [f32; 2]| {
            let [from, to] = [from, to].map(f64::from);
            let [low, high] = [from, to].map(|x| top * encoded(x));
            let slope = (high - low) / (to - from);
            ((low - slope * from + 0.45) as f32, slope as f32)
        };
        let chords = ranges().map(chord).chain([(top as f32 + 0.45, 0.0)]);
        let (starts, slopes): (Vec<f32>, Vec<f32>) = chords.unzip();
        let all: Vec<f32> = thresholds(u16::MAX).chain([f32::INFINITY]).collect();
        Self {
            starts: ByRange::new(&starts),
            slopes: ByRange::new(&slopes),
            thresholds: Box::new(std::array::from_fn(|code| all[code])),
        }
    }

    /// The nearest code of linear light, clamped to 0 to 1; 0 for NaN.
    #[inline(always)]
    pub(super) fn code(&self, x: f32) -> u16 {
        let (i, x) = range(x);
        // At most 65535, and whole numbers with a sign are faster to convert to.
        let guess = (self.starts.0[i] + self.slopes.0[i] * x) as i32 as u32 & 0xffff;
        (guess + u32::from(x >= self.thresholds[guess as usize])) as u16
    }
}

pub(super) static TO_8: LazyLock<To8> = LazyLock::new(To8::new);
pub(super) static TO_16: LazyLock<To16> = LazyLock::new(To16::new);

#[cfg(test)]
mod tests {
    use super::*;

    type Code = fn(f32) -> u16;

    const BOTH: [(Code, u16); 2] = [(|x| TO_8.code(x).into(), 255), (|x| TO_16.code(x), 65_535)];

    /// The nearest code by definition.
    fn nearest(x: f32, top: u16) -> u16 {
        (encoded(f64::from(x).clamp(0.0, 1.0)) * f64::from(top)).round() as u16
    }

    /// Whether the two pieces of the curve, which do not join exactly, or the rounding of the
    /// definition leave the code undecided.
    fn is_tie(x: f32, top: u16) -> bool {
        let code = encoded(f64::from(x)) * f64::from(top);
        (code - code.floor() - 0.5).abs() < 1e-4
    }

    #[test]
    fn codes_are_the_nearest_ones() {
        for (code, top) in BOTH {
            let mut last = 0;
            for x in (0..1_f32.to_bits() + 1000).step_by(97).map(f32::from_bits) {
                let is = code(x);
                assert!(is >= last, "{x}");
                last = is;
                assert!(is == nearest(x, top) || is_tie(x, top), "{x}");
            }
            assert_eq!(last, top);
        }
    }

    #[test]
    fn codes_change_at_the_thresholds() {
        for (code, top) in BOTH {
            for (i, threshold) in thresholds(top).enumerate() {
                assert_eq!(usize::from(code(threshold)), i + 1);
                assert_eq!(usize::from(code(threshold.next_down())), i);
            }
            for x in [0.0, -1.0, f32::NAN, f32::NEG_INFINITY, f32::MIN_POSITIVE] {
                assert_eq!(code(x), 0);
            }
            for x in [1.0, 1.5, f32::INFINITY] {
                assert_eq!(code(x), top);
            }
        }
    }

    #[test]
    fn no_range_contains_the_start_of_two_8_bit_codes() {
        let all: Vec<f32> = thresholds(255).collect();
        for [start, end] in ranges() {
            assert!(all.iter().filter(|x| **x > start && **x < end).count() < 2, "{start}");
        }
    }

    #[test]
    fn known_codes() {
        // Middle gray, and half of the light.
        assert_eq!(TO_8.code(0.18), 118);
        assert_eq!(TO_8.code(0.5), 188);
        assert_eq!(TO_16.code(0.5), 48_192);
        let table = table(255, decoded);
        assert!((table[188] - 0.502_886_5).abs() < 1e-6);
        assert!((table[10] - 0.003_035_27).abs() < 1e-8);
        for code in 0..=255 {
            assert_eq!(TO_8.code(table[usize::from(code)]), code);
        }
    }
}
