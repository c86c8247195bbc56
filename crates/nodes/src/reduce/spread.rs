//! Standard deviations of numbers of any magnitude.

use millstream_base::num;

/// Whether no square that contributes to a variance of `f64` overflowed or lost bits.
pub(crate) fn is_safe(variance: f64) -> bool {
    (1e-280..=f64::MAX).contains(&variance)
}

/// The same for `f32`.
pub(super) fn is_safe_f32(variance: f32) -> bool {
    (1e-30..=f32::MAX).contains(&variance)
}

/// The standard deviation (over n) of numbers whose squares may exceed the range of `f64`; NaN for
/// no numbers or if one is not finite.
pub(crate) fn deviation(items: impl Iterator<Item = f64> + Clone) -> f64 {
    let (mut n, mut greatest) = (0.0, 0.0_f64);
    for x in items.clone() {
        if !x.is_finite() {
            return f64::NAN;
        }
        n += 1.0;
        greatest = greatest.max(x.abs());
    }
    // The greatest number is scaled to about 1, in two steps because the factor may overflow.
    let exponent = match (greatest.to_bits() >> 52) as i32 {
        0 => -1074,
        biased => biased - 1023,
    };
    let steps = [-exponent / 2, -exponent - -exponent / 2].map(power_of_two);
    let scaled = items.map(|x| x * steps[0] * steps[1]);
    let mean = scaled.clone().sum::<f64>() / n;
    let variance = scaled.map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    num::sqrt(variance) / steps[0] / steps[1]
}

/// Two to the power of an exponent that gives a normal number.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::deviation;

    #[test]
    fn numbers_of_any_magnitude_have_a_deviation() {
        for (items, wanted) in [
            (&[1e200, 2e200][..], 5e199),
            (&[1e-200, 3e-200], 1e-200),
            (&[-f64::MAX, f64::MAX], f64::MAX),
            (&[5e-324, 15e-324], 5e-324),
            (&[0.0, 0.0], 0.0),
            (&[3.0, 4.0, 5.0, 6.0], 1.25_f64.sqrt()),
        ] {
            let found = deviation(items.iter().copied());
            assert!((found - wanted).abs() <= 1e-15 * wanted, "{found}, not {wanted}");
        }
        let equal = deviation([1e300; 7].into_iter());
        assert!(equal <= 1e285, "{equal}");
        assert!(deviation(std::iter::empty()).is_nan());
        assert!(deviation([1.0, f64::INFINITY].into_iter()).is_nan());
    }
}
