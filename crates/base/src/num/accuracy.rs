//! Tests of the accuracy of the elementary functions against `libm` and known values.
//!
//! The example `accuracy` measures the same over every `f32`.

use super::*;

/// The distance of a result from the exact value, in ULP of `f32`.
fn ulps_f32(found: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if found.is_nan() || nearest.is_nan() {
        return if found.is_nan() && nearest.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if nearest.is_infinite() || found.is_infinite() || exact == 0.0 {
        return if found.to_bits() == nearest.to_bits() { 0.0 } else { f64::INFINITY };
    }
    let exponent = (((exact.to_bits() >> 52) & 0x7FF) as i32 - 1023).max(-126);
    (f64::from(found) - exact).abs() * 2.0_f64.powi(23 - exponent)
}

/// Number of `f64` values from one to the other.
fn steps_f64(found: f64, reference: f64) -> u64 {
    if found.is_nan() || reference.is_nan() {
        return if found.is_nan() && reference.is_nan() { 0 } else { u64::MAX };
    }
    (found.to_bits() as i64).wrapping_sub(reference.to_bits() as i64).unsigned_abs()
}

/// Every 40,009th `f32` and those around changes of the exponent, of both signs.
fn every_f32(mut f: impl FnMut(f32)) {
    (0..=u32::MAX).step_by(40_009).for_each(|bits| f(f32::from_bits(bits)));
    for exponent in 0..=510_u32 {
        for near in 0..64 {
            f(f32::from_bits((exponent << 23).wrapping_add(near).wrapping_sub(32)));
        }
    }
}

/// A small random number generator: multiplicative congruential, using the upper bits.
struct Dice(u64);

impl Dice {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0 ^ self.0 >> 29
    }

    fn float(&mut self) -> f64 {
        let unit = (self.bits() >> 11) as f64 / 4_503_599_627_370_496.0 - 1.0;
        match self.bits() >> 40 & 7 {
            0 | 1 => f64::from_bits(self.bits()),
            2 => unit * 1000.0,
            3 | 4 => unit * 8.0,
            5 | 6 => unit,
            _ => 1.0 + unit * 1e-2,
        }
    }
}

const EDGES: [f64; 18] = [
    0.0,
    5e-324,
    1e-310,
    f64::MIN_POSITIVE,
    1e-300,
    1e-9,
    0.5,
    1.0,
    1.5,
    2.0,
    3.0,
    709.78,
    745.1,
    1e20,
    9_007_199_254_740_993.0,
    1e300,
    f64::MAX,
    f64::INFINITY,
];

fn edges() -> impl Iterator<Item = f64> {
    EDGES.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN])
}

fn check_one(
    name: &str,
    of_f32: fn(f32) -> f32,
    of_f64: fn(f64) -> f64,
    reference: fn(f64) -> f64,
    ulps: f64,
    steps: u64,
) {
    every_f32(|x| {
        let error = ulps_f32(of_f32(x), reference(f64::from(x)));
        assert!(error < ulps, "{name}({x:?}) gives {:?}, {error} ULP off", of_f32(x));
    });
    let mut dice = Dice(7);
    let random = (0..200_000).map(|_| dice.float());
    for x in random.chain(edges()) {
        let (found, wanted) = (of_f64(x), reference(x));
        assert!(steps_f64(found, wanted) <= steps, "{name}({x:?}) gives {found:?}, not {wanted:?}");
    }
}

/// `acosh` of [`libm`], but NaN below 1, where `libm` gives numbers.
fn acosh_reference(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

macro_rules! accurate {
    ($($test:ident $name:ident $reference:path, $ulps:literal, $steps:literal;)*) => {$(
        #[test]
        fn $test() {
            check_one(stringify!($name), $name, $name, $reference, $ulps, $steps);
        }
    )*};
}

accurate! {
    sin_is_near_the_reference sin libm::sin, 0.65, 1;
    cos_is_near_the_reference cos libm::cos, 0.65, 1;
    tan_is_near_the_reference tan libm::tan, 0.52, 2;
    asin_is_near_the_reference asin libm::asin, 0.52, 1;
    acos_is_near_the_reference acos libm::acos, 0.52, 1;
    atan_is_near_the_reference atan libm::atan, 0.52, 1;
    sinh_is_near_the_reference sinh libm::sinh, 0.52, 2;
    cosh_is_near_the_reference cosh libm::cosh, 0.52, 1;
    tanh_is_near_the_reference tanh libm::tanh, 0.52, 3;
    asinh_is_near_the_reference asinh libm::asinh, 0.52, 2;
    acosh_is_near_the_reference acosh acosh_reference, 0.52, 2;
    atanh_is_near_the_reference atanh libm::atanh, 0.52, 2;
    exp_is_near_the_reference exp libm::exp, 0.92, 1;
    exp2_is_near_the_reference exp2 libm::exp2, 0.52, 1;
    exp_m1_is_near_the_reference exp_m1 libm::expm1, 0.52, 1;
    ln_is_near_the_reference ln libm::log, 0.92, 1;
    ln_1p_is_near_the_reference ln_1p libm::log1p, 0.52, 1;
    log2_is_near_the_reference log2 libm::log2, 0.52, 1;
    log10_is_near_the_reference log10 libm::log10, 0.52, 1;
    cbrt_is_near_the_reference cbrt libm::cbrt, 0.52, 1;
}

/// `ln_gamma` for positive arguments: below zero the logarithm crosses zero between floats.
fn ln_gamma_above_zero<T: Float>(x: T) -> T {
    if x < T::ZERO { T::NAN } else { ln_gamma(x) }
}

/// Like [`ln_gamma_above_zero`], from `libm`.
fn ln_gamma_reference(x: f64) -> f64 {
    if x < 0.0 { f64::NAN } else { libm::lgamma(x) }
}

#[test]
fn special_functions_are_near_the_reference() {
    check_one("erf", erf, erf, libm::erf, 0.52, 3);
    check_one("erfc", erfc, erfc, libm::erfc, 0.52, 5);
    check_one("gamma", gamma, gamma, libm::tgamma, 0.52, 40);
    let (of_f32, of_f64) = (ln_gamma_above_zero::<f32>, ln_gamma_above_zero::<f64>);
    check_one("ln_gamma", of_f32, of_f64, ln_gamma_reference, 0.52, 6);
}

/// Values computed with mpmath; only the last digits may differ.
#[test]
fn special_functions_have_known_values() {
    let near = |found: f64, wanted: f64, steps: u64| {
        assert!(steps_f64(found, wanted) <= steps, "{found:?}, not {wanted:?}");
    };
    near(erfc(0.818_666_162_513_525), 0.246_958_402_952_499_3, 4);
    // Here `libm` is 9 ULP off.
    near(gamma(-0.655_192_920_766_663_8), -3.947_020_661_579_215, 4);
    near(erfc(27.2), 1e-323, 0);
    near(gamma(-170.5), -3.312_739_521_538_607e-308, 4);
    near(gamma(171.6), 1.585_896_909_667_256_5e308, 2);
    near(ln_gamma(0.951_169_513_398_472_2), 0.030_195_076_752_158_65, 4);
    near(ln_gamma(2.5e305), 1.755_511_860_237_645_3e308, 2);
    near(ln_gamma(2.559_983_327_851_638_3e305), f64::MAX, 2);
    assert_eq!(ln_gamma(2.559_983_327_851_638_3e305_f64.next_up()), f64::INFINITY);
    for (n, factorial) in (1..19).scan(1.0, |product, n| {
        let before = *product;
        *product *= f64::from(n);
        Some((n, before))
    }) {
        assert_eq!(gamma(f64::from(n)), factorial, "{n}");
    }
    let rises = (1..400).map(|i| f64::from(i) * 0.01).map(|x| (erf(x), erfc(x)));
    assert!(rises.clone().zip(rises.skip(1)).all(|(a, b)| a.0 <= b.0 && a.1 >= b.1));
}

/// A function, its reference, an argument, and the stated bound.
type Worst = (fn(f32) -> f32, fn(f64) -> f64, f32, f64);

/// The arguments at which the example `accuracy` found the largest errors among all `f32` (for
/// `pow` among random ones), with the bounds that the documentation states.
#[test]
fn the_worst_arguments_are_within_the_stated_bounds() {
    let of_one: [Worst; 6] = [
        (sin, libm::sin, 0.007_808_547_5, 0.6),
        (exp, libm::exp, 27.407_72, 0.92),
        (ln, libm::log, 0.705_924, 0.85),
        (exp2, libm::exp2, -0.348_270_15, 0.501),
        (log2, libm::log2, 0.917_092_74, 0.512),
        (log10, libm::log10, 0.930_946_3, 0.512),
    ];
    for (ours, reference, x, bound) in of_one {
        let error = ulps_f32(ours(x), reference(f64::from(x)));
        assert!(error > bound - 0.011 && error < bound, "{error} ULP at {x:?}, stated {bound}");
    }
    let (x, y) = (5.442_958_f32, 0.220_993_f32);
    let error = ulps_f32(pow(x, y), libm::pow(f64::from(x), f64::from(y)));
    assert!(error < 0.501, "{error} ULP at {x:?} to the power {y:?}");
}

fn check_two(
    name: &str,
    of_f32: fn(f32, f32) -> f32,
    of_f64: fn(f64, f64) -> f64,
    reference: fn(f64, f64) -> f64,
    steps: u64,
) {
    let mut dice = Dice(11);
    let random = (0..500_000).map(|_| (dice.float(), dice.float()));
    for (x, y) in edges().flat_map(|x| edges().map(move |y| (x, y))).chain(random) {
        let (found, wanted) = (of_f64(x, y), reference(x, y));
        let near = steps_f64(found, wanted) <= steps;
        assert!(near, "{name}({x:?}, {y:?}) gives {found:?}, not {wanted:?}");
        let (x, y) = (x as f32, y as f32);
        let error = ulps_f32(of_f32(x, y), reference(f64::from(x), f64::from(y)));
        assert!(error < 0.52, "{name}({x:?}, {y:?}) gives {:?}, {error} ULP off", of_f32(x, y));
    }
}

#[test]
fn functions_of_two_arguments_are_near_the_reference() {
    check_two("pow", pow, pow, libm::pow, 1);
    check_two("atan2", atan2, atan2, libm::atan2, 2);
    check_two("hypot", hypot, hypot, libm::hypot, 1);
    check_two("rem", rem, rem, libm::fmod, 0);
}

#[test]
fn powers_of_negative_numbers_near_the_reference() {
    let mut dice = Dice(13);
    for _ in 0..200_000 {
        let (x, n) = (dice.float(), (dice.bits() % 41) as f64 - 20.0);
        assert!(steps_f64(pow(x, n), libm::pow(x, n)) <= 1, "{x:?} to the power {n}");
    }
}

#[test]
fn fma_of_f32_rounds_once() {
    let mut dice = Dice(17);
    for _ in 0..1_000_000 {
        let [x, y] = [0, 1].map(|_| f32::from_bits(dice.bits() as u32));
        let product = -(x * y);
        let near = f32::from_bits(product.to_bits().wrapping_add(dice.bits() as u32 % 5));
        for z in [f32::from_bits(dice.bits() as u32), near] {
            let (found, wanted) = (fma(x, y, z), libm::fmaf(x, y, z));
            let same = found.to_bits() == wanted.to_bits() || (found.is_nan() && wanted.is_nan());
            assert!(same, "fma({x:?}, {y:?}, {z:?}) gives {found:?}, not {wanted:?}");
        }
    }
}

#[test]
fn whole_powers_of_two_are_exact() {
    for n in -1074..1024 {
        let power = exp2(f64::from(n));
        assert_eq!(log2(power), f64::from(n));
        assert_eq!(power, pow(2.0, f64::from(n)));
    }
    assert_eq!(cbrt(27.0_f64), 3.0);
    assert_eq!(hypot(3.0_f64, 4.0), 5.0);
    assert_eq!(log10(1000.0_f32), 3.0);
}

#[test]
fn large_angles_are_reduced_exactly() {
    assert_eq!(sin(1e22_f64), -0.852_200_849_767_188_8);
    assert_eq!(cos(1e22_f64), 0.523_214_785_395_139);
    // The `f64` nearest to a multiple of pi / 2.
    let x = 6_381_956_970_095_103.0 * 2.0_f64.powi(797);
    assert_eq!(cos(x), -4.687_165_924_254_628e-19);
    assert_eq!(sin(x), 1.0);
}
