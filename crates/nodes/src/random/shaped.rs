//! Random numbers of further distributions: heavy tails, angles, failures before successes, and
//! normal numbers between two bounds.

use std::f64::consts::{PI, TAU};

use millstream_base::{Type, num};
use millstream_node::{NodeDef, Registry};

use super::rejection::{Draws, MAX_TRIES, drawing, gamma_of, poisson_of};
use super::{SOURCE, Stream, drawn};

pub(super) fn register(registry: &mut Registry) {
    registry.register(student_t());
    registry.register(von_mises());
    registry.register(negative_binomial());
    registry.register(truncated_normal());
}

/// From here on the degrees of freedom, or the concentration, have no visible effect.
const PLENTY: f64 = 1e12;

fn student_t_of(freedom: f64, draws: &mut Draws) -> f64 {
    if freedom.is_nan() || freedom <= 0.0 {
        return f64::NAN;
    }
    let normal = draws.normal();
    if freedom > PLENTY {
        return normal;
    }
    normal * num::sqrt(freedom * 0.5 / gamma_of(freedom * 0.5, draws))
}

fn student_t() -> NodeDef {
    let def = NodeDef::new(
        "random.student_t",
        "A random number with Student's t-distribution, which has heavy tails",
    )
    .details(
        "Student's t times `scale` plus `middle`: a normal number divided by the square root \
             of chi-squared per degree of freedom. One degree of freedom is `random.cauchy`, many \
             approach `random.normal`. The mean is `middle` for a freedom above 1, the variance \
             scale^2 * freedom / (freedom - 2) for a freedom above 2. NaN unless the freedom is \
             above 0; far below 1 some numbers are infinite.",
    )
    .input_or("freedom", Type::F64, 4.0, "degrees of freedom, above 0; may have a fraction")
    .input_or("middle", Type::F64, 0.0, "median of the distribution")
    .input_or("scale", Type::F64, 1.0, "");
    let def = drawn(def)
        .source(format!(
            "Student, \"The probable error of a mean\", 1908, applied to numbers like \
             `random.gamma`; {SOURCE}"
        ))
        .output("value", Type::F64, "");
    def.function(drawing::<(f64, f64, f64), _>(
        Stream::StudentT,
        |draws, (freedom, middle, scale)| middle + scale * student_t_of(freedom, draws),
    ))
}

/// The angle from -pi to pi in the same direction.
fn wrapped(angle: f64) -> f64 {
    num::rem_euclid(angle + PI, TAU) - PI
}

/// An angle around 0, from -pi to pi.
fn von_mises_of(concentration: f64, draws: &mut Draws) -> f64 {
    let k = concentration.max(0.0);
    if concentration.is_nan() {
        return f64::NAN;
    } else if k < 1e-8 {
        return TAU * draws.unit() - PI;
    } else if k > 1e6 {
        return wrapped(draws.normal() / num::sqrt(k));
    }
    // The cosine is drawn by rejection from a wrapped Cauchy distribution with the best `s`.
    let s = if k < 1e-4 {
        1.0 / k + k
    } else {
        let r = 1.0 + num::sqrt(1.0 + 4.0 * k * k);
        let rho = (r - num::sqrt(2.0 * r)) / (2.0 * k);
        (1.0 + rho * rho) / (2.0 * rho)
    };
    for _ in 0..MAX_TRIES {
        let z = num::cos(PI * draws.unit());
        let cosine = (1.0 + s * z) / (s + z);
        let y = k * (s - cosine);
        let v = draws.unit();
        if y * (2.0 - y) > v || num::ln(y / v) + 1.0 >= y {
            let angle = num::acos(cosine.clamp(-1.0, 1.0));
            return if draws.unit() < 0.5 { -angle } else { angle };
        }
    }
    0.0
}

fn von_mises() -> NodeDef {
    let def = NodeDef::new("random.von_mises", "A random angle with the von Mises distribution")
        .details(
            "The density at an angle a is proportional to e^(concentration * cos(a - middle)). For \
             a concentration of 0 or less all angles are equally likely; for large ones the \
             standard deviation is about 1 / sqrt(concentration).",
        )
        .input_or("middle", Type::F64, 0.0, "most likely angle in radians")
        .input_or("concentration", Type::F64, 4.0, "concentration around the middle, at least 0");
    let def = drawn(def)
        .source(format!(
            "D. Best, N. Fisher, \"Efficient simulation of the von Mises distribution\", 1979; \
             {SOURCE}"
        ))
        .output("value", Type::F64, "angle in radians, -pi to pi");
    def.function(drawing::<(f64, f64), _>(Stream::VonMises, |draws, (middle, concentration)| {
        wrapped(middle + von_mises_of(concentration, draws))
    }))
}

fn negative_binomial_of(successes: f64, p: f64, draws: &mut Draws) -> i32 {
    let p = p.min(1.0);
    if successes.is_nan() || successes <= 0.0 || p.is_nan() {
        return 0;
    }
    // A Poisson number whose mean is itself drawn.
    let mean = if p <= 0.0 { f64::INFINITY } else { gamma_of(successes, draws) * ((1.0 - p) / p) };
    poisson_of(mean, draws)
}

fn negative_binomial() -> NodeDef {
    let def = NodeDef::new(
        "random.negative_binomial",
        "The number of failures before several successes",
    )
    .details(
        "This is the negative binomial distribution. The mean is successes * (1 - probability) \
             / probability, the variance the mean / probability. One success is \
             `random.geometric`. 0 if no successes are required, if the probability is 1 or more, \
             and for NaN. Means are at most 1e9, which is also the mean for a probability of 0 or \
             less.",
    )
    .input_or("successes", Type::F64, 3.0, "required number of successes, may have a fraction")
    .input_or("probability", Type::F64, 0.5, "probability of success of each trial");
    let def = drawn(def)
        .source(format!(
            "a number like `random.poisson` whose mean is drawn like `random.gamma`; {SOURCE}"
        ))
        .output("value", Type::I32, "number of failures");
    def.function(drawing::<(f64, f64), _>(Stream::NegativeBinomial, |draws, (successes, p)| {
        negative_binomial_of(successes, p, draws)
    }))
}

/// A normal number between ordered bounds, in standard deviations from the mean.
fn between_of(a: f64, b: f64, draws: &mut Draws) -> f64 {
    if b <= 0.0 && a < b {
        return -between_of(-b, -a, draws);
    }
    // Beyond this, the difference of all numbers from the bound is below the precision.
    if a >= b || a > 1e8 {
        return a;
    }
    let is_around = a < 0.0;
    let root = num::sqrt(a * a + 4.0);
    // Proposals are drawn from the normal distribution itself, an exponential or a uniform one.
    let narrow = if is_around {
        num::sqrt(TAU)
    } else {
        2.0 / (a + root) * num::exp(0.5 + (a * a - a * root) * 0.25)
    };
    let rate = (a + root) * 0.5;
    for _ in 0..MAX_TRIES {
        if b - a <= narrow {
            let x = a + (b - a) * draws.unit();
            let peak = if is_around { 0.0 } else { a };
            if num::ln(draws.unit()) <= (peak - x) * (peak + x) * 0.5 {
                return x;
            }
        } else if is_around {
            let x = draws.normal();
            if a <= x && x <= b {
                return x;
            }
        } else {
            let x = a - num::ln(draws.unit()) / rate;
            if x <= b && num::ln(draws.unit()) <= (x - rate) * (rate - x) * 0.5 {
                return x;
            }
        }
    }
    if is_around { 0.0 } else { a }
}

fn truncated_normal_of(mean: f64, deviation: f64, ends: [f64; 2], draws: &mut Draws) -> f64 {
    let (min, max) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
    if mean.is_nan() || deviation.is_nan() || ends[0].is_nan() || ends[1].is_nan() {
        return f64::NAN;
    }
    if deviation <= 0.0 || min == max {
        return mean.clamp(min, max);
    }
    let between = between_of((min - mean) / deviation, (max - mean) / deviation, draws);
    let drawn = mean + deviation * between;
    // With an infinite mean or deviation, distances to the bounds are undefined.
    if drawn.is_nan() { mean.clamp(min, max) } else { drawn.clamp(min, max) }
}

fn truncated_normal() -> NodeDef {
    let def = NodeDef::new(
        "random.truncated_normal",
        "A normally distributed random number between two bounds",
    )
    .details(
        "Drawn like `random.normal`, restricted to numbers between the bounds, which may be \
             infinite or swapped. It takes no longer if such numbers are unlikely. If the \
             deviation is not above 0, the result is the mean clamped to the bounds; NaN if an \
             input is NaN.",
    )
    .input_or("mean", Type::F64, 0.0, "mean without bounds")
    .input_or("deviation", Type::F64, 1.0, "standard deviation without bounds")
    .input_or("min", Type::F64, -1.0, "first bound")
    .input_or("max", Type::F64, 1.0, "second bound");
    let def = drawn(def)
        .source(format!("C. Robert, \"Simulation of truncated normal variables\", 1995; {SOURCE}"))
        .output("value", Type::F64, "number between the bounds");
    def.function(drawing::<(f64, f64, f64, f64), _>(
        Stream::TruncatedNormal,
        |draws, (mean, deviation, min, max)| {
            truncated_normal_of(mean, deviation, [min, max], draws)
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: i32 = 20_000;

    fn many(stream: Stream, draw: impl Fn(&mut Draws) -> f64) -> Vec<f64> {
        (0..N).map(|id| draw(&mut Draws::new(id, 3, stream))).collect()
    }

    /// Checks the fractions of numbers below some bounds against a distribution, by Kolmogorov's
    /// bound: for 20,000 numbers a difference above 0.0138 has a probability of 1 in 1000.
    fn fits(mut numbers: Vec<f64>, below: impl Fn(f64) -> f64) {
        numbers.sort_by(f64::total_cmp);
        let n = numbers.len() as f64;
        let off = |(i, x): (usize, &f64)| (below(*x) - (i as f64 + 0.5) / n).abs();
        let worst = numbers.iter().enumerate().map(off).fold(0.0, f64::max);
        assert!(worst < 0.0138, "{worst}");
    }

    /// The fraction of a normal distribution below a number.
    fn normal_below(x: f64) -> f64 {
        0.5 * num::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
    }

    #[test]
    fn student_t_has_its_distribution() {
        let of = |freedom: f64| many(Stream::StudentT, |draws| student_t_of(freedom, draws));
        // Closed forms of the distribution function for 1, 2 and 4 degrees of freedom.
        fits(of(1.0), |x| 0.5 + num::atan(x) / PI);
        fits(of(2.0), |x| 0.5 + x / (2.0 * num::sqrt(2.0 + x * x)));
        fits(of(4.0), |x| {
            let t = x / num::sqrt(1.0 + x * x * 0.25);
            0.5 + 0.375 * t * (1.0 - t * t / 12.0)
        });
        fits(of(1e9), normal_below);
        fits(of(f64::INFINITY), normal_below);
        let at = |freedom| student_t_of(freedom, &mut Draws::new(0, 0, Stream::StudentT));
        assert!(at(0.0).is_nan() && at(-1.0).is_nan() && at(f64::NAN).is_nan());
        assert!(!at(1e-3).is_nan());
    }

    #[test]
    fn angles_are_concentrated_as_stated() {
        // I1(k) / I0(k) and I2(k) / I0(k) from scipy are the mean cosines of the angle and of twice
        // the angle.
        for (k, first, second) in [
            (0.0, 0.0, 0.0),
            (1e-5, 5e-6, 0.0),
            (0.5, 0.242_499_612_580_921_9, 0.030_001_549_676_312_34),
            (4.0, 0.863_522_614_253_555_8, 0.568_238_692_873_222),
            (50.0, 0.989_948_967_350_383_4, 0.960_402_041_305_984_6),
            (1e5, 0.999_994_999_987_499_9, 0.999_980_000_099_999_8),
            (1e7, 0.999_999_949_999_998_8, 0.999_999_800_000_01),
        ] {
            let angles = many(Stream::VonMises, |draws| von_mises_of(k, draws));
            assert!(angles.iter().all(|a| (-PI..=PI).contains(a)));
            let mean = |times: f64, f: fn(f64) -> f64| {
                angles.iter().map(|a| f(times * a)).sum::<f64>() / f64::from(N)
            };
            // Five standard errors of the mean of a cosine, whose variance is at most that of the
            // angle.
            let bound = 5.0 * num::sqrt(0.5_f64.min(2.0 / k.max(1e-9)) / f64::from(N));
            assert!((mean(1.0, num::cos) - first).abs() < bound, "{k}");
            assert!((mean(2.0, num::cos) - second).abs() < 2.0 * bound, "{k}");
            assert!(mean(1.0, num::sin).abs() < bound, "{k}");
        }
        assert!(von_mises_of(f64::NAN, &mut Draws::new(0, 0, Stream::VonMises)).is_nan());
        assert_eq!(wrapped(1.5 * PI), -0.5 * PI);
    }

    #[test]
    fn failures_before_several_successes_are_counted() {
        for (n, p) in [(1.0, 0.5), (3.0, 0.25), (2.5, 0.9), (40.0, 0.02)] {
            let counts = many(Stream::NegativeBinomial, |draws| {
                f64::from(negative_binomial_of(n, p, draws))
            });
            let (mean, variance) = (n * (1.0 - p) / p, n * (1.0 - p) / (p * p));
            let found = counts.iter().sum::<f64>() / f64::from(N);
            let spread =
                counts.iter().map(|x| (x - found) * (x - found)).sum::<f64>() / f64::from(N);
            assert!((found - mean).abs() < 5.0 * num::sqrt(variance / f64::from(N)), "{n} {p}");
            assert!((spread / variance - 1.0).abs() < 0.08, "{n} {p}: {spread}, not {variance}");
            // The probability of no failure is p^n.
            let none = counts.iter().filter(|x| **x == 0.0).count() as f64 / f64::from(N);
            assert!((none - num::pow(p, n)).abs() < 0.018, "{n} {p}");
        }
        let at = |n, p| negative_binomial_of(n, p, &mut Draws::new(0, 0, Stream::NegativeBinomial));
        assert_eq!(
            [at(0.0, 0.5), at(-1.0, 0.5), at(f64::NAN, 0.5), at(3.0, 1.0), at(3.0, 7.0)],
            [0; 5]
        );
        assert_eq!(at(3.0, f64::NAN), 0);
        assert!(at(3.0, 0.0) > 900_000_000 && at(f64::INFINITY, 0.5) > 900_000_000);
    }

    #[test]
    fn normal_numbers_between_bounds_have_the_truncated_distribution() {
        let infinite = f64::INFINITY;
        for (a, b) in [
            (-1.0, 1.0),
            (-0.5, 5.0),
            (-infinite, infinite),
            (0.0, infinite),
            (1.5, 1.75),
            (2.0, infinite),
            (-infinite, -3.0),
            (-4.0, -0.25),
            (6.0, 6.5),
        ] {
            let numbers = many(Stream::TruncatedNormal, |draws| {
                truncated_normal_of(10.0, 2.0, [10.0 + 2.0 * b, 10.0 + 2.0 * a], draws)
            });
            // Computed from the upper tails where these are small, so that nothing cancels.
            let side = if a > 0.0 { -1.0 } else { 1.0 };
            let (low, high) = (normal_below(side * a), normal_below(side * b));
            fits(numbers, |x| (normal_below(side * (x - 10.0) * 0.5) - low) / (high - low));
        }
        let at = |mean: f64, deviation: f64, ends| {
            truncated_normal_of(
                mean,
                deviation,
                ends,
                &mut Draws::new(0, 0, Stream::TruncatedNormal),
            )
        };
        assert_eq!(at(0.0, 1.0, [3.0, 3.0]), 3.0);
        assert_eq!([at(9.0, 0.0, [0.0, 1.0]), at(0.5, -1.0, [0.0, 1.0])], [1.0, 0.5]);
        assert!(at(f64::NAN, 1.0, [0.0, 1.0]).is_nan() && at(0.0, 1.0, [0.0, f64::NAN]).is_nan());
        for far in [30.0, 1e6, 1e150, f64::MAX] {
            let found = at(0.0, 1.0, [far, infinite]);
            assert!(found >= far && found < far * 1.1 + 1.0, "{found}");
            assert!(at(0.0, 1.0, [-far, -infinite]).is_sign_negative());
        }
        assert!((0.0..=1.0).contains(&at(infinite, 1.0, [0.0, 1.0])));
    }
}
