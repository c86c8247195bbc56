//! Tests of the elementary functions against the standard library where that is exact.

use super::*;

/// Values at which rounding, signs and special cases change.
const EDGES: [f64; 24] = [
    0.0,
    0.25,
    0.499_999_999_999_999_94,
    0.5,
    0.75,
    1.0,
    1.5,
    2.0,
    2.5,
    3.5,
    8_388_607.5,
    8_388_608.0,
    16_777_215.0,
    16_777_217.0,
    4_503_599_627_370_495.5,
    4_503_599_627_370_496.0,
    9_007_199_254_740_991.0,
    9_007_199_254_740_993.0,
    f64::MIN_POSITIVE,
    5e-324,
    1e-40,
    f64::MAX,
    f64::INFINITY,
    f64::NAN,
];

fn same64(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn same32(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn rounds_like_std64(x: f64) {
    assert!(same64(floor(x), x.floor()), "floor {x:?} gives {:?}", floor(x));
    assert!(same64(ceil(x), x.ceil()), "ceil {x:?} gives {:?}", ceil(x));
    assert!(same64(trunc(x), x.trunc()), "trunc {x:?} gives {:?}", trunc(x));
    assert!(same64(round(x), x.round()), "round {x:?} gives {:?}", round(x));
    assert!(same64(round_even(x), x.round_ties_even()), "round_even {x:?}");
}

fn rounds_like_std32(x: f32) {
    assert!(same32(floor(x), x.floor()), "floor {x:?} gives {:?}", floor(x));
    assert!(same32(ceil(x), x.ceil()), "ceil {x:?} gives {:?}", ceil(x));
    assert!(same32(trunc(x), x.trunc()), "trunc {x:?} gives {:?}", trunc(x));
    assert!(same32(round(x), x.round()), "round {x:?} gives {:?}", round(x));
    assert!(same32(round_even(x), x.round_ties_even()), "round_even {x:?}");
}

#[test]
fn roundings_agree_with_the_standard_library_on_edges() {
    for x in EDGES {
        for x in [x, -x, x.next_up(), x.next_down(), -x.next_up(), -x.next_down()] {
            rounds_like_std64(x);
            rounds_like_std32(x as f32);
        }
    }
}

#[test]
fn roundings_agree_with_the_standard_library_over_the_range() {
    for step in 0..1_000_000_u32 {
        rounds_like_std32(f32::from_bits(step.wrapping_mul(4_294_961)));
        rounds_like_std64(f64::from_bits(u64::from(step).wrapping_mul(18_446_744_073_709_551)));
    }
}

#[test]
fn min_and_max_prefer_numbers_and_order_zeros() {
    for (x, y) in [(0.0_f64, -0.0_f64), (-0.0, 0.0)] {
        assert!(same64(min(x, y), -0.0));
        assert!(same64(max(x, y), 0.0));
    }
    assert_eq!(min(f32::NAN, 3.0), 3.0);
    assert_eq!(min(3.0, f32::NAN), 3.0);
    assert_eq!(max(f64::NAN, -3.0), -3.0);
    assert_eq!(max(-3.0, f64::NAN), -3.0);
    assert!(min(f64::NAN, f64::NAN).is_nan() && max(f64::NAN, f64::NAN).is_nan());
    assert_eq!(min(-2.0, f64::NEG_INFINITY), f64::NEG_INFINITY);
    assert_eq!(max(-2.0_f32, -1.0), -1.0);
}

#[test]
fn min_and_max_commute_on_edges() {
    let values = || EDGES.into_iter().flat_map(|x| [x, -x]);
    for x in values() {
        for y in values() {
            assert!(same64(min(x, y), min(y, x)), "min {x:?} {y:?}");
            assert!(same64(max(x, y), max(y, x)), "max {x:?} {y:?}");
            assert!(same32(min(x as f32, y as f32), min(y as f32, x as f32)));
        }
    }
}

#[test]
fn fma_rounds_once() {
    let x = 1.0 + f64::EPSILON;
    assert_eq!(fma(x, x, -(1.0 + 2.0 * f64::EPSILON)), f64::EPSILON * f64::EPSILON);
    assert_eq!(fma(2.0_f32, 3.0, 4.0), 10.0);
}

#[test]
fn remainders_have_their_signs() {
    assert_eq!(rem(-7.0_f64, 3.0), -1.0);
    assert_eq!(rem_euclid(-7.0_f64, 3.0), 2.0);
    assert_eq!(rem_euclid(-7.0_f64, -3.0), 2.0);
    assert_eq!(rem_euclid(-1e-30_f64, 3.0), 3.0);
    assert!(rem(1.0_f32, 0.0).is_nan() && rem_euclid(1.0_f32, 0.0).is_nan());
}

#[test]
fn sign_keeps_zeros_and_nan() {
    assert!(same64(sign(-0.0), -0.0));
    assert!(sign(f64::NAN).is_nan());
    assert_eq!(sign(-5e-324), -1.0);
    assert_eq!(sign(f32::INFINITY), 1.0);
}

#[test]
fn fraction_is_measured_from_below() {
    assert_eq!(fract(-0.25_f64), 0.75);
    assert_eq!(fract(2.5_f32), 0.5);
    assert_eq!(fract(-1e-30_f64), 1.0);
    assert!(fract(f64::INFINITY).is_nan());
}

#[test]
fn elementary_functions_are_near_the_platforms() {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-13 * b.abs().max(1e-300);
    for x in [0.1, 0.7, 0.99, 1e-9, 0.5] {
        assert!(near(sin(x), x.sin()) && near(cos(x), x.cos()) && near(tan(x), x.tan()));
        assert!(near(asin(x), x.asin()) && near(acos(x), x.acos()) && near(atan(x), x.atan()));
        assert!(near(sinh(x), x.sinh()) && near(cosh(x), x.cosh()) && near(tanh(x), x.tanh()));
        assert!(near(asinh(x), x.asinh()) && near(atanh(x), x.atanh()));
        assert!(near(acosh(2.0 + x), (2.0 + x).acosh()));
        assert!(near(exp(x), x.exp()) && near(exp2(x), x.exp2()) && near(exp_m1(x), x.exp_m1()));
        assert!(near(ln(x), x.ln()) && near(log2(x), x.log2()) && near(log10(x), x.log10()));
        assert!(near(ln_1p(x), x.ln_1p()) && near(cbrt(x), x.cbrt()));
        assert!(near(pow(x, 2.3), x.powf(2.3)) && near(hypot(x, 3.0), x.hypot(3.0)));
        assert!(near(atan2(x, -2.0), x.atan2(-2.0)));
    }
}

/// Results on one machine, which every other machine must reproduce.
#[test]
fn bits_are_the_same_everywhere() {
    assert_eq!(sin(1e22_f64).to_bits(), (-0.852_200_849_767_188_8_f64).to_bits());
    assert_eq!(exp(1.0_f64).to_bits(), std::f64::consts::E.to_bits());
    assert_eq!(sin(0.5_f32).to_bits(), 0.479_425_55_f32.to_bits());
}

/// Computes NaNs by operations that the compiler sees, for which it may substitute its own NaN.
macro_rules! canonical_nans {
    ($float:ident, $wide:ident) => {{
        let [zero, one, inf, nan] =
            std::hint::black_box([0.0, 1.0, $float::INFINITY, -$float::NAN]);
        let found = [
            $float::canonical(nan),
            $float::canonical(-nan),
            $float::canonical((-one).sqrt()),
            $float::canonical(zero / zero),
            $float::canonical(zero * inf),
            $float::canonical(inf - inf),
            $float::canonical(-(inf - inf)),
            $float::canonical(nan + one),
            $float::canonical(one - nan),
            $float::canonical(nan * zero),
            $float::canonical(nan as $wide as $float),
            $float::canonical(sin(inf)),
            $float::canonical(ln(-one)),
            $float::canonical(rem(one, zero)),
        ];
        for (k, found) in found.into_iter().enumerate() {
            assert_eq!(found.to_bits(), $float::NAN.to_bits(), "{k}");
        }
        for number in [zero, -zero, one, inf, -inf, $float::MIN_POSITIVE] {
            assert_eq!($float::canonical(number).to_bits(), number.to_bits());
        }
    }};
}

/// Must hold with optimization: this crate is optimized in tests as well.
#[test]
fn every_nan_has_one_canonical_form() {
    canonical_nans!(f32, f64);
    canonical_nans!(f64, f64);
    assert_eq!((f32::NAN.to_bits(), f64::NAN.to_bits()), (0x7fc0_0000, 0x7ff8_0000_0000_0000));
}
