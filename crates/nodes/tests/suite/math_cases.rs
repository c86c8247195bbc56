//! Cases of the math family.

use crate::cases::check;

/// All tables, for the test that no node is forgotten.
pub(crate) const ALL: &[&str] =
    &[WAVES, SAFE, ARITHMETIC, REMAINDERS, RANGES, POWERS, TRIGONOMETRY];

const ARITHMETIC: &str = "
    math.add f32: 1.5 2 = 3.5
    math.add f32: -0.0 0.0 = 0.0
    math.add f32: -0.0 -0.0 = -0.0
    math.add f32: inf -inf = nan
    math.add f64: 0.1 0.2 = 0.30000000000000004
    math.add i32: 2147483647 1 = -2147483648
    math.add i64: 9223372036854775807 1 = -9223372036854775808
    math.add vec3: [1,2,3] [10,20,30] = [11,22,33]
    math.subtract f32: 1 0.75 = 0.25
    math.subtract f32: inf inf = nan
    math.subtract f32: -0.0 0.0 = -0.0
    math.subtract i32: -2147483648 1 = 2147483647
    math.multiply f32: 1.5 -2 = -3
    math.multiply f32: 0 inf = nan
    math.multiply f32: -1 0 = -0.0
    math.multiply i32: 65536 65536 = 0
    math.multiply vec2: [2,3] [4,5] = [8,15]
    math.multiply_add f32: 2 3 4 = 10
    math.multiply_add i32: 2147483647 2 3 = 1
    math.multiply_add f32: 1.0000001 1.0000001 -1.0000002 = 0
    math.fma f32: 1.0000001 1.0000001 -1.0000002 = 1.4210855e-14
    math.fma f64: 2 3 4 = 10
    math.fma f32: inf 0 1 = nan
    math.square f32: -3 = 9
    math.square i32: 65536 = 0
    math.square f32: 1e30 = inf
    math.divide f32: 7 2 = 3.5
    math.divide f32: 1 0 = inf
    math.divide f32: 1 -0.0 = -inf
    math.divide f32: 0 0 = nan
    math.divide i32: -7 2 = -3
    math.divide i32: 7 0 = 0
    math.divide i32: -2147483648 -1 = -2147483648
    math.divide i64: -9223372036854775808 -1 = -9223372036854775808
    math.safe_divide f32: 7 2 = 3.5
    math.safe_divide f32: nan 0 = 0
    math.safe_divide f32: -7 -0.0 = 0.0
    math.safe_divide i32: 7 0 = 0
    math.safe_divide vec2: [1,1] [0,4] = [0,0.25]
    math.reciprocal f32: 4 = 0.25
    math.reciprocal f32: -0.0 = -inf
    math.reciprocal f64: -inf = -0.0
    math.negate f32: 0 = -0.0
    math.negate i32: -2147483648 = -2147483648
    math.negate vec2: [1,-2] = [-1,2]
    math.absolute f32: -0.0 = 0.0
    math.absolute f32: -inf = inf
    math.absolute i32: -2147483648 = -2147483648
    math.absolute i64: -5 = 5
    math.sign f32: -3 = -1
    math.sign f32: -0.0 = -0.0
    math.sign f32: nan = nan
    math.sign i32: 7 = 1
    math.sign i64: -7 = -1
    math.copy_sign f32: 3 -0.0 = -3
    math.copy_sign f32: -3 2 = 3
    math.copy_sign f32: -3 nan = 3
";

const REMAINDERS: &str = "
    math.modulo f32: 7 3 = 1
    math.modulo f32: -7 3 = -1
    math.modulo f32: 7 -3 = 1
    math.modulo f32: 7 0 = nan
    math.modulo f32: inf 3 = nan
    math.modulo f32: 7 inf = 7
    math.modulo i32: -7 3 = -1
    math.modulo i32: 7 0 = 0
    math.modulo i32: -2147483648 -1 = 0
    math.floored_modulo f32: 7 3 = 1
    math.floored_modulo f32: -7 3 = 2
    math.floored_modulo f32: 7 -3 = -2
    math.floored_modulo f32: -7 -3 = -1
    math.floored_modulo f32: -1 1 = 0.0
    math.floored_modulo f32: -0.0 1 = 0.0
    math.floored_modulo f32: 6 -3 = 0.0
    math.floored_modulo vec2: [-6,-7] [3,3] = [0.0,2.0]
    math.floored_modulo f32: 5 0 = nan
    math.floored_modulo f32: nan -3 = nan
    math.floored_modulo f32: -5 inf = inf
    math.floored_modulo i32: -7 3 = 2
    math.floored_modulo i32: 7 -3 = -2
    math.floored_modulo i32: 6 -3 = 0
    math.floored_modulo i32: -7 0 = 0
    math.floored_modulo i32: -2147483648 -1 = 0
    math.floored_modulo i64: 9223372036854775807 -9223372036854775808 = -1
    math.euclidean_modulo f32: -7 3 = 2
    math.euclidean_modulo f32: -7 -3 = 2
    math.euclidean_modulo f32: 7 -3 = 1
    math.euclidean_modulo f32: -6 3 = 0.0
    math.euclidean_modulo f32: nan 3 = nan
    math.euclidean_modulo i32: -7 -3 = 2
    math.euclidean_modulo i32: 5 0 = 0
    math.euclidean_modulo f64: -1e-30 1 = 1
";

const RANGES: &str = "
    math.minimum f32: 1 2 = 1
    math.minimum f32: nan 2 = 2
    math.minimum f32: 2 nan = 2
    math.minimum f32: nan nan = nan
    math.minimum f32: 0.0 -0.0 = -0.0
    math.minimum i32: -5 3 = -5
    math.minimum vec2: [1,4] [2,3] = [1,3]
    math.maximum f32: 1 2 = 2
    math.maximum f32: nan -inf = -inf
    math.maximum f32: -0.0 0.0 = 0.0
    math.maximum i64: -5 3 = 3
    math.smooth_minimum f32: 1 5 1 = 1
    math.smooth_minimum f64: 2 2 6 = 1
    math.smooth_minimum f32: 2 2 0 = 2
    math.smooth_minimum f32: 2 3 -1 = 2
    math.smooth_minimum f32: 2 3 nan = 2
    math.smooth_minimum f32: inf inf 1 = inf
    math.smooth_maximum f32: 1 5 1 = 5
    math.smooth_maximum f64: 2 2 6 = 3
    math.smooth_maximum f32: 2 3 0 = 3
    math.floor f32: -1.5 = -2
    math.floor f32: -0.0 = -0.0
    math.floor f32: inf = inf
    math.floor f64: 4503599627370495.5 = 4503599627370495
    math.ceil f32: -0.5 = -0.0
    math.ceil f32: 1.2 = 2
    math.round f32: 2.5 = 3
    math.round f32: -2.5 = -3
    math.round f32: 0.49999997 = 0
    math.round f64: 0.49999999999999994 = 0
    math.round f32: nan = nan
    math.round_even f32: 2.5 = 2
    math.round_even f32: 3.5 = 4
    math.round_even f32: -0.5 = -0.0
    math.truncate f32: -1.9 = -1
    math.truncate f32: 1.9 = 1
    math.truncate vec2: [0.5,-0.5] = [0,-0.0]
    math.fraction f32: 2.25 = 0.25
    math.fraction f32: -0.25 = 0.75
    math.fraction f32: -1e-10 = 1
    math.fraction f32: inf = nan
    math.step f32: 0.5 0.5 = 1
    math.step f32: 0.5 0.4 = 0
    math.step f32: 0.5 nan = 0
    math.step i32: 3 5 = 1
    math.snap f32: 7 5 0 = 5
    math.snap f32: 7.5 5 0 = 10
    math.snap f32: -7.5 5 0 = -10
    math.snap f32: 7 5 1 = 6
    math.snap f32: 7 0 1 = 7
    math.wrap f32: 5 0 4 = 1
    math.wrap f32: -1 0 4 = 3
    math.wrap f32: 4 0 4 = 0
    math.wrap f32: 2.5 0 4 = 2.5
    math.wrap f32: 5 4 0 = 1
    math.wrap f32: 5 3 3 = 3
    math.wrap f32: inf 0 1 = nan
    math.wrap i32: 7 1 4 = 1
    math.wrap i32: -1 0 3 = 2
    math.wrap i32: 5 2 2 = 2
    math.ping_pong f32: 0.5 1 = 0.5
    math.ping_pong f32: 1 1 = 1
    math.ping_pong f32: 1.5 1 = 0.5
    math.ping_pong f32: 2 1 = 0
    math.ping_pong f32: -0.5 1 = 0.5
    math.ping_pong f32: 3 -2 = 1
    math.ping_pong f32: 3 0 = 0
    math.ping_pong f32: inf 1 = nan
    math.ping_pong f32: -0.001 30000 = 0.001
    math.ping_pong f32: -1 3e38 = 1
    math.ping_pong f32: 3.2e38 3e38 ~ 2.8e38
    math.ping_pong f64: -1 1e16 = 1
";

const POWERS: &str = "
    math.power f32: 2 10 = 1024
    math.power f32: 0 0 = 1
    math.power f32: nan 0 = 1
    math.power f32: 1 nan = 1
    math.power f32: -2 0.5 = nan
    math.power f32: -2 3 = -8
    math.power f32: 0 -1 = inf
    math.power f64: 2 0.5 ~ 1.4142135623730951
    math.sqrt f32: 2 = 1.4142135
    math.sqrt f64: 2 = 1.4142135623730951
    math.sqrt f32: -0.0 = -0.0
    math.sqrt f32: -1 = nan
    math.sqrt vec3: [1,4,9] = [1,2,3]
    math.inverse_sqrt f32: 4 = 0.5
    math.inverse_sqrt f32: -0.0 = -inf
    math.inverse_sqrt f32: -4 = nan
    math.cbrt f32: -27 = -3
    math.cbrt f64: 2 ~ 1.2599210498948732
    math.erf f32: -0.0 = -0.0
    math.erf f64: 0.5 ~ 0.52049987781304654
    math.erf f64: 1 ~ 0.84270079294971487
    math.erf f32: 2.5 ~ 0.99959305
    math.erf vec2: [1,-1] ~ [0.84270079,-0.84270079]
    math.erf f64: inf = 1
    math.erf f64: -inf = -1
    math.erf f64: nan = nan
    math.erfc f64: 0 = 1
    math.erfc f64: 0.5 ~ 0.47950012218695346
    math.erfc f64: 3 ~ 2.2090496998585441e-05
    math.erfc f32: 10 ~ 2.0884875e-45
    math.erfc f64: 26 ~ 5.6631924088561428e-296
    math.erfc f64: inf = 0
    math.erfc f64: -inf = 2
    math.erfc f64: nan = nan
    math.gamma f64: 1 = 1
    math.gamma f64: 5 = 24
    math.gamma f32: 13 = 479001600
    math.gamma f64: 0.5 ~ 1.7724538509055159
    math.gamma f64: 4.7 ~ 15.431411600047436
    math.gamma f64: -1.5 ~ 2.3632718012073544
    math.gamma f64: -20.25 ~ -8.5690326638851275e-19
    math.gamma f64: 0 = inf
    math.gamma f64: -0.0 = -inf
    math.gamma f64: -3 = nan
    math.gamma f64: 172 = inf
    math.gamma f64: -inf = nan
    math.gamma f32: nan = nan
    math.ln_gamma f64: 1 = 0
    math.ln_gamma f64: 2 = 0
    math.ln_gamma f64: 0.5 ~ 0.57236494292470009
    math.ln_gamma f64: 1.5 ~ -0.12078223763524522
    math.ln_gamma f64: -2.5 ~ -0.056243716497674054
    math.ln_gamma f64: 100 ~ 359.13420536957540
    math.ln_gamma f64: 1e10 ~ 220258509288.81058
    math.ln_gamma f64: 0 = inf
    math.ln_gamma f64: -3 = inf
    math.ln_gamma f64: -inf = inf
    math.ln_gamma f32: nan = nan
    math.hypot f32: 3 4 = 5
    math.hypot f32: 3e30 4e30 ~ 5e30
    math.hypot f32: nan -inf = inf
    math.exp f32: 0 = 1
    math.exp f32: 1 ~ 2.7182817
    math.exp f64: 1 ~ 2.718281828459045
    math.exp f32: 100 = inf
    math.exp f32: -inf = 0
    math.exp2 f32: 10 = 1024
    math.exp2 f32: -1 = 0.5
    math.exp2 f64: 0.5 ~ 1.4142135623730951
    math.exp_m1 f64: 1e-10 ~ 1.00000000005e-10
    math.exp_m1 f32: -inf = -1
    math.exp_m1 f32: -0.0 = -0.0
    math.ln f32: 1 = 0
    math.ln f64: 10 ~ 2.302585092994046
    math.ln f32: 0 = -inf
    math.ln f32: -1 = nan
    math.ln f32: inf = inf
    math.log2 f32: 8 = 3
    math.log2 f64: 1024 = 10
    math.log2 f32: -0.0 = -inf
    math.log10 f32: 1000 = 3
    math.log10 f64: 1e-5 ~ -5
    math.log10 f32: -1 = nan
    math.ln_1p f64: 1e-10 ~ 9.9999999995e-11
    math.ln_1p f32: -1 = -inf
    math.ln_1p f32: -2 = nan
    math.log f64: 81 3 ~ 4
    math.log f32: 100 10 ~ 2
    math.log f32: -1 10 = nan
    math.log f32: 2 1 = inf
";

const TRIGONOMETRY: &str = "
    math.sin f32: 1 ~ 0.84147096
    math.sin f64: 1 ~ 0.8414709848078965
    math.sin f32: -0.0 = -0.0
    math.sin f32: inf = nan
    math.sin f64: 1e22 ~ -0.8522008497671888
    math.sin vec2: [0,1] ~ [0,0.84147096]
    math.cos f32: 0 = 1
    math.cos f64: 1 ~ 0.5403023058681398
    math.cos f64: 1e22 ~ 0.5232147853951389
    math.cos f32: -inf = nan
    math.tan f64: 1 ~ 1.5574077246549023
    math.tan f32: 0.7853982 ~ 1
    math.asin f32: 1 = 1.5707964
    math.asin f32: 1.1 = nan
    math.asin f64: 0.5 ~ 0.5235987755982989
    math.acos f32: 1 = 0
    math.acos f64: -1 = 3.141592653589793
    math.acos f32: -1.1 = nan
    math.atan f32: inf ~ 1.5707964
    math.atan f64: 1 = 0.7853981633974483
    math.atan2 f64: 1 1 = 0.7853981633974483
    math.atan2 f32: 0 -1 = 3.1415927
    math.atan2 f32: -0.0 -1 = -3.1415927
    math.atan2 f32: 0 0 = 0
    math.atan2 f32: -0.0 0 = -0.0
    math.atan2 f32: 0 -0.0 = 3.1415927
    math.sinh f64: 1 ~ 1.1752011936438014
    math.sinh f32: -inf = -inf
    math.cosh f64: 1 ~ 1.543080634815244
    math.cosh f32: 0 = 1
    math.cosh f32: 1000 = inf
    math.tanh f64: 1 ~ 0.7615941559557649
    math.tanh f32: -inf = -1
    math.asinh f64: 1 ~ 0.881373587019543
    math.asinh f32: -inf = -inf
    math.acosh f64: 2 ~ 1.3169578969248166
    math.acosh f32: 1 = 0
    math.acosh f32: 0.5 = nan
    math.atanh f64: 0.5 ~ 0.5493061443340549
    math.atanh f32: 1 = inf
    math.atanh f32: 2 = nan
    math.degrees f32: 3.1415927 = 180
    math.degrees f64: 1 ~ 57.29577951308232
    math.radians f64: 180 = 3.141592653589793
    math.radians f32: 90 = 1.5707964
    math.pi: - = 3.1415927
    math.pi{\"type\":\"f64\"}: - = 3.141592653589793
    math.tau: - = 6.2831855
    math.tau{\"type\":\"f64\"}: - = 6.283185307179586
    math.e: - = 2.7182817
    math.e{\"type\":\"f64\"}: - = 2.718281828459045
";

#[test]
fn arithmetic_has_known_values() {
    check(ARITHMETIC);
}

#[test]
fn remainders_have_known_values() {
    check(REMAINDERS);
}

#[test]
fn ranges_have_known_values() {
    check(RANGES);
}

#[test]
fn powers_have_known_values() {
    check(POWERS);
}

#[test]
fn trigonometry_has_known_values() {
    check(TRIGONOMETRY);
}

const SAFE: &str = "
    math.safe_sqrt f32: 9 = 3
    math.safe_sqrt f32: -9 = 0
    math.safe_sqrt f64: nan = 0
    math.safe_sqrt vec2: [4,-4] = [2,0]
    math.safe_inverse_sqrt f32: 4 = 0.5
    math.safe_inverse_sqrt f32: 0 = 0
    math.safe_inverse_sqrt f32: -4 = 0
    math.safe_reciprocal f32: 4 = 0.25
    math.safe_reciprocal f32: -0.0 = 0
    math.root f32: 8 3 ~ 2
    math.root f32: -8 3 ~ -2
    math.root f32: -8 2 = nan
    math.root f64: 16 4 ~ 2
    math.safe_power f32: 2 10 ~ 1024
    math.safe_power f32: -2 0.5 = 0
    math.safe_power f32: 0 -1 = 0
    math.safe_power f32: 10 50 = 0
    math.safe_ln f32: 1 = 0
    math.safe_ln f32: 0 = 0
    math.safe_ln f32: -1 = 0
    math.safe_ln f64: nan = 0
    math.safe_log f32: 1000 10 ~ 3
    math.safe_log f32: -1 10 = 0
    math.safe_log f32: 5 1 = 0
    math.safe_log f32: 5 0 = 0
    math.exp10 f64: 3 ~ 1000
    math.exp10 f32: 50 = inf
    math.safe_modulo f32: 7 3 = 1
    math.safe_modulo f32: 7 0 = 0
    math.safe_asin f32: 2 ~ 1.5707964
    math.safe_asin f32: -2 ~ -1.5707964
    math.safe_acos f32: 7 = 0
    math.safe_acos f64: -7 ~ 3.141592653589793
    math.sinc f32: 0 = 1
    math.sinc f32: -0.0 = 1
    math.sinc f32: inf = 0
    math.sinc f64: 1 ~ 0.8414709848078965
";

#[test]
fn safe_functions_stay_finite() {
    check(SAFE);
}

const WAVES: &str = "
    math.wave f32: 0.25 ~ 1
    math.wave f32: -0.25 ~ -1
    math.wave f32: inf = nan
    math.wave f32: -0.00000001 ~ -0.00000006283185307
    math.wave f32: -0.000002 ~ -0.00001256637061
    math.wave{\"shape\":\"triangle\"} f32: -0.0000000001 1 = 1
    math.wave{\"shape\":\"square\"} f32: -0.0000000001 1 = 1
    math.wave f64: 1000000.125 ~ 0.7071067811865475
    math.wave{\"shape\":\"triangle\"} f32: 0.25 0.5 = 0
    math.wave{\"shape\":\"triangle\"} f32: 0.5 0.5 = 1
    math.wave{\"shape\":\"triangle\"} f32: 0 0.5 = -1
    math.wave{\"shape\":\"triangle\"} f32: 0.25 0 = 0.5
    math.wave{\"shape\":\"triangle\"} f32: 0.25 7 = -0.5
    math.wave{\"shape\":\"square\"} f32: 0.25 0.5 = 1
    math.wave{\"shape\":\"square\"} f32: -0.25 0.5 = -1
    math.wave{\"shape\":\"square\"} f32: 0.5 0.5 = -1
    math.wave{\"shape\":\"square\"} f32: 0 0 = -1
    math.wave{\"shape\":\"square\"} f32: inf 0.5 = nan
    math.wave{\"shape\":\"sawtooth\"} f32: 2.75 = 0.5
    math.sigmoid f32: 0 = 0.5
    math.sigmoid f32: inf = 1
    math.sigmoid f32: -inf = 0
    math.sigmoid f32: -90 ~ 8.19401e-40
    math.sigmoid f32: 90 = 1
    math.sigmoid f32: nan = nan
    math.sigmoid f64: -740 = 4.2e-322
    math.sigmoid f64: 1 ~ 0.7310585786300049
    math.middle f32: 3 1 2 = 2
    math.middle f32: 1 1 7 = 1
    math.middle f32: nan 1 7 = 1
    math.middle f64: 1 nan 7 = 1
    math.middle vec2: [1,2] [2,3] [3,1] = [2,2]
";

#[test]
fn waves_have_known_values() {
    check(WAVES);
}
