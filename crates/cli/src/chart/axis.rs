//! Axes: ranges that cover all numbers, and tick labels in the usual notation.

use std::ops::Range;

/// Larger numbers are not drawn: differences between them would overflow.
const MAX_MAGNITUDE: f64 = 1e300;

/// An axis: the name and unit of its quantity, and its scale.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
}

/// The arrangement of numbers along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Logarithmic. Numbers that are not positive are left out.
    Log,
    /// From the minimum to the maximum with a margin; starts at zero if that is near.
    Values,
    /// From the minimum to the maximum.
    Tight,
}

impl Axis {
    /// A logarithmic axis.
    pub(crate) fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log }
    }

    pub(crate) fn is_log(&self) -> bool {
        self.scale == Scale::Log
    }

    pub(crate) fn can_show(&self, at: f64) -> bool {
        is_shown(at) && (!self.is_log() || at > 0.0)
    }

    /// The range that covers all numbers; `None` without numbers.
    pub(crate) fn range(&self, numbers: impl Iterator<Item = f64>) -> Option<Range<f64>> {
        let (min, max) = extent(numbers)?;
        if self.is_log() {
            // Whole powers of ten, unless all numbers lie between two of them.
            let (low, high) = (10_f64.powf(min.log10().floor()), 10_f64.powf(max.log10().ceil()));
            return Some(if low < high { low..high } else { min / 2.0..max * 2.0 });
        }
        let (low, high) = apart(min, max);
        let margin = (high - low) * 0.04;
        // Equal numbers are shown in the middle.
        let is_same = low < min && max < high;
        Some(match self.scale {
            _ if is_same => low..high,
            Scale::Values if min >= 0.0 && min < max / 2.0 => 0.0..high + margin,
            Scale::Tight => low..high,
            Scale::Log | Scale::Values => low - margin..high + margin,
        })
    }
}

/// Whether a number can be drawn.
pub(super) fn is_shown(x: f64) -> bool {
    x.abs() <= MAX_MAGNITUDE
}

/// The minimum and maximum of the numbers that can be drawn.
pub(super) fn extent(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    numbers.filter(|x| is_shown(*x)).fold(None, |extent: Option<(f64, f64)>, x| {
        let (min, max) = extent.unwrap_or((x, x));
        Some((min.min(x), max.max(x)))
    })
}

/// Widens a range until there are numbers between its ends for ticks.
pub(super) fn apart(min: f64, max: f64) -> (f64, f64) {
    let largest = min.abs().max(max.abs());
    if max - min > largest * 1e-9 && max - min > 1e-290 {
        return (min, max);
    }
    let half = if largest > 1e-280 { largest * 0.5 } else { 1.0 };
    (min - half, max + half)
}

/// Tick labels for a range: `0.05`, `20`, `50k`, `3M`, `2e-6`.
pub(super) fn labels(range: &Range<f64>) -> impl Fn(f64) -> String + use<> {
    let largest = range.start.abs().max(range.end.abs());
    let (by, unit) = match largest {
        // Years are not abbreviated.
        1e-3..1e4 => (1.0, ""),
        1e4..1e6 => (1e3, "k"),
        1e6..1e9 => (1e6, "M"),
        _ => (1.0, "e"),
    };
    let span = range.end - range.start;
    // Enough digits to tell steps apart, but not their rounding errors.
    let digits_of =
        move |scale: f64| (2.0 - (span / scale).log10()).clamp(0.0, 9.0).ceil() as usize;
    move |x: f64| {
        if x.abs() < span * 1e-9 {
            return "0".into();
        }
        if unit == "e" {
            let power = x.abs().log10().floor();
            let mantissa = x / 10_f64.powf(power);
            return format!("{}e{power}", short(mantissa, digits_of(10_f64.powf(power))));
        }
        format!("{}{unit}", short(x / by, digits_of(by)))
    }
}

fn short(x: f64, n_digits: usize) -> String {
    let rounded = format!("{x:.n_digits$}");
    if !rounded.contains('.') {
        return rounded;
    }
    rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_and_steps_stay_distinct() {
        let label = |range: Range<f64>, x: f64| labels(&range)(x);
        assert_eq!(label(0.0..0.5, 0.1 + 0.2), "0.3");
        assert_eq!(label(0.0..0.06, 0.05), "0.05");
        assert_eq!(label(-20.0..20.0, 20.0), "20");
        assert_eq!(label(0.0..6e4, 5e4), "50k");
        assert_eq!(label(-2e3..3e4, -1.5e3), "-1.5k");
        assert_eq!(label(0.0..4e6, 3e6), "3M");
        assert_eq!(label(0.0..4e-6, 2e-6), "2e-6");
        assert_eq!(label(0.0..4e12, 2e12), "2e12");
        assert_eq!(label(1000.0..1000.1, 1000.02), "1000.02");
        assert_eq!(label(-1.0..1.0, 1e-17), "0");
    }

    #[test]
    fn ranges_start_at_zero_if_that_is_near() {
        let range = |scale, numbers: [f64; 2]| {
            Axis { label: String::new(), scale }.range(numbers.into_iter()).expect("numbers")
        };
        assert_eq!(range(Scale::Values, [10.0, 100.0]).start, 0.0);
        assert_eq!(range(Scale::Values, [90.0, 100.0]), 89.6..100.4);
        assert_eq!(range(Scale::Tight, [90.0, 100.0]), 90.0..100.0);
        assert_eq!(range(Scale::Tight, [3.0, 3.0]), 1.5..4.5);
    }
}
