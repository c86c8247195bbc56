//! Cases of the integer, boolean and compare families; integers are also checked against plain
//! Rust.

use millstream_base::{Type, Value};
use proptest::prelude::*;

use crate::cases::check;
use crate::run::{instance, run, settings};

/// All tables, for the test that no node is forgotten.
pub(crate) const ALL: &[&str] = &[PATTERNS, FIELDS, QUOTIENTS, DIVISORS, BITS, BOOLEAN, COMPARE];

const QUOTIENTS: &str = "
    integer.divide i32: -7 2 = -3
    integer.divide i32: 7 0 = 0
    integer.divide i64: -9223372036854775808 -1 = -9223372036854775808
    integer.divide_floor i32: -7 2 = -4
    integer.divide_floor i32: 7 -2 = -4
    integer.divide_floor i32: 7 2 = 3
    integer.divide_floor i32: -8 2 = -4
    integer.divide_floor i32: -7 0 = 0
    integer.divide_floor i32: -2147483648 -1 = -2147483648
    integer.divide_floor i32: -2147483648 2147483647 = -2
    integer.divide_ceil i32: 7 2 = 4
    integer.divide_ceil i32: -7 2 = -3
    integer.divide_ceil i32: -7 -2 = 4
    integer.divide_ceil i32: 8 2 = 4
    integer.divide_ceil i64: 7 0 = 0
    integer.divide_round i32: 7 2 = 4
    integer.divide_round i32: -7 2 = -4
    integer.divide_round i32: 5 3 = 2
    integer.divide_round i32: 4 3 = 1
    integer.divide_round i32: -5 -3 = 2
    integer.divide_round i32: 5 0 = 0
    integer.divide_round i32: 1073741824 -2147483648 = -1
    integer.divide_round i32: 1073741823 -2147483648 = 0
    integer.divide_round i64: 9223372036854775807 2 = 4611686018427387904
    integer.modulo i32: -7 3 = -1
    integer.modulo i64: 7 0 = 0
    integer.floored_modulo i32: -7 3 = 2
    integer.floored_modulo i64: 7 -3 = -2
    integer.floored_modulo i32: 7 0 = 0
";

const DIVISORS: &str = "
    integer.gcd i32: 12 18 = 6
    integer.gcd i32: -12 18 = 6
    integer.gcd i32: 0 0 = 0
    integer.gcd i32: 0 -5 = 5
    integer.gcd i32: 17 5 = 1
    integer.gcd i32: 1134903170 1836311903 = 1
    integer.gcd i32: 1836311903 1134903170 = 1
    integer.gcd i32: -2147483648 6 = 2
    integer.gcd i32: -2147483648 0 = -2147483648
    integer.gcd i64: 4660046610375530309 7540113804746346429 = 1
    integer.gcd i64: -9223372036854775808 -9223372036854775808 = -9223372036854775808
    integer.lcm i32: 4 6 = 12
    integer.lcm i32: -4 6 = 12
    integer.lcm i32: 0 6 = 0
    integer.lcm i32: 0 0 = 0
    integer.lcm i64: 4294967296 3 = 12884901888
    integer.power i32: 3 4 = 81
    integer.power i32: -3 3 = -27
    integer.power i32: 0 0 = 1
    integer.power i32: 2 31 = -2147483648
    integer.power i32: 2 32 = 0
    integer.power i32: 3 2147483647 = -1431655765
    integer.power i32: 2 -1 = 0
    integer.power i32: 1 -5 = 1
    integer.power i32: -1 -5 = -1
    integer.power i32: -1 -4 = 1
    integer.power i32: 0 -1 = 0
    integer.power i64: 3 39 = 4052555153018976267
    integer.power i64: -1 9223372036854775807 = -1
";

const BITS: &str = "
    integer.and i32: 12 10 = 8
    integer.or i32: 12 10 = 14
    integer.xor i32: 12 10 = 6
    integer.xor i64: -1 1 = -2
    integer.not i32: 0 = -1
    integer.not i64: 5 = -6
    integer.shift_left i32: 1 4 = 16
    integer.shift_left i32: 1 32 = 1
    integer.shift_left i32: 1 -1 = -2147483648
    integer.shift_right i32: -16 2 = -4
    integer.shift_right i64: -1 63 = -1
    integer.shift_right_logical i32: -1 28 = 15
    integer.shift_right_logical i64: -1 63 = 1
    integer.rotate_left i32: -2147483648 1 = 1
    integer.rotate_left i32: 5 0 = 5
    integer.rotate_left i64: 1 65 = 2
    integer.rotate_right i32: 1 1 = -2147483648
    integer.rotate_right i64: 1 -1 = 2
    integer.count_ones i32: -1 = 32
    integer.count_ones i64: -1 = 64
    integer.count_ones i32: 0 = 0
    integer.leading_zeros i32: 0 = 32
    integer.leading_zeros i32: 1 = 31
    integer.leading_zeros i64: -1 = 0
    integer.trailing_zeros i32: 8 = 3
    integer.trailing_zeros i64: 0 = 64
    integer.is_power_of_two i32: 64 = true
    integer.is_power_of_two i32: 65 = false
    integer.is_power_of_two i32: 0 = false
    integer.is_power_of_two i32: -2147483648 = false
    integer.is_power_of_two i64: 4611686018427387904 = true
";

const BOOLEAN: &str = "
    boolean.and: true false = false
    boolean.and: true true = true
    boolean.or: true false = true
    boolean.or: false false = false
    boolean.xor: true true = false
    boolean.xor: true false = true
    boolean.nand: true true = false
    boolean.nand: false true = true
    boolean.nor: false false = true
    boolean.nor: false true = false
    boolean.xnor: true true = true
    boolean.xnor: true false = false
    boolean.imply: true false = false
    boolean.imply: false false = true
    boolean.imply: true true = true
    boolean.not: true = false
    boolean.not: false = true
";

const COMPARE: &str = "
    compare.equal f32: -0.0 0.0 = true
    compare.equal f32: nan nan = false
    compare.equal bool: true true = true
    compare.equal i64: 9007199254740993 9007199254740992 = false
    compare.equal vec3: [1,2,3] [1,2,3] = true
    compare.equal vec3: [1,2,3] [1,2,4] = false
    compare.equal color: [1,0,0.5,1] [1,-0.0,0.5,1] = true
    compare.equal color: [1,0,0.5,1] [1,0,0.5,0.5] = false
    compare.near color: [1,0,0,1] [1,0,0.5,1] [0.25,0.25,0.25,0.25] = false
    compare.not_equal color: [1,0,0.5,1] [1,0,0.5,0.5] = true
    compare.near color: [1,0,0.5,1] [1,0,0.75,1] [0.25,0.25,0.25,0.25] = true
    compare.equal quat: [1,0,0,0] [-1,0,0,0] = false
    compare.equal mat4: [1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1] [1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1] = true
    compare.not_equal f32: nan nan = true
    compare.not_equal vec2: [1,2] [1,3] = true
    compare.not_equal vec2: [1,2] [1,2] = false
    compare.near f32: 1 1.0000005 0.000001 = true
    compare.near f32: 1 1.1 0.01 = false
    compare.near f32: inf inf 0 = true
    compare.near f32: inf -inf 1 = false
    compare.near f32: nan nan 1 = false
    compare.near vec2: [1,2] [1,2.5] [0.1,0.6] = true
    compare.less f32: 1 2 = true
    compare.less f32: nan 2 = false
    compare.less f32: -0.0 0.0 = false
    compare.less i32: -1 0 = true
    compare.less_equal f32: 2 2 = true
    compare.less_equal f32: 2 nan = false
    compare.greater i64: 3 2 = true
    compare.greater f32: inf 1e38 = true
    compare.greater_equal f32: 2 2 = true
    compare.greater_equal f32: nan nan = false
    compare.between f32: 1 0 1 = true
    compare.between f32: 1.1 0 1 = false
    compare.between i32: 5 6 4 = false
    compare.between f32: nan 0 1 = false
    compare.is_nan f32: nan = true
    compare.is_nan f64: inf = false
    compare.is_nan vec2: [0,1] = false
    compare.is_finite f32: 3e38 = true
    compare.is_finite f32: -inf = false
    compare.is_finite f64: nan = false
    compare.is_finite vec3: [0,1,2] = true
    compare.is_infinite f32: -inf = true
    compare.is_infinite f32: nan = false
    compare.is_infinite f64: 1e308 = false
";

#[test]
fn quotients_have_known_values() {
    check(QUOTIENTS);
}

#[test]
fn divisors_have_known_values() {
    check(DIVISORS);
}

#[test]
fn bits_have_known_values() {
    check(BITS);
}

#[test]
fn logic_has_its_truth_tables() {
    check(BOOLEAN);
}

#[test]
fn comparisons_have_known_values() {
    check(COMPARE);
}

/// The result of an integer node on `i64`.
fn of_i64(name: &str, inputs: &[i64]) -> i64 {
    let registry = millstream_nodes::registry();
    let def = registry.get(name).unwrap();
    let instance = instance(def, settings(def, &serde_json::Map::new()), vec![Type::I64]);
    let inputs: Vec<Value> = inputs.iter().map(|x| Value::I64(*x)).collect();
    run(&instance, &inputs)[0].get().unwrap()
}

/// Numbers of all magnitudes.
fn integer() -> impl Strategy<Value = i64> {
    (any::<i64>(), 0_u32..64).prop_map(|(x, shift)| x >> shift)
}

fn euclid(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { euclid(b, a % b) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn quotients_are_those_of_wide_arithmetic(a in integer(), b in integer()) {
        prop_assume!(b != 0);
        let (x, y) = (i128::from(a), i128::from(b));
        let floor = x.div_euclid(y) - i128::from(y < 0 && x.rem_euclid(y) != 0);
        prop_assert_eq!(of_i64("integer.divide_floor", &[a, b]), floor as i64);
        let ceil = floor + i128::from(x % y != 0);
        prop_assert_eq!(of_i64("integer.divide_ceil", &[a, b]), ceil as i64);
        let magnitude = (2 * x.abs() + y.abs()) / (2 * y.abs());
        let round = if (x < 0) == (y < 0) { magnitude } else { -magnitude };
        prop_assert_eq!(of_i64("integer.divide_round", &[a, b]), round as i64);
        prop_assert_eq!(of_i64("integer.floored_modulo", &[a, b]), (x - floor * y) as i64);
    }

    #[test]
    fn divisors_are_those_of_euclid(a in integer(), b in integer()) {
        let gcd = euclid(a.into(), b.into());
        prop_assert_eq!(of_i64("integer.gcd", &[a, b]), gcd as i64);
        let lcm = if gcd == 0 { 0 } else { i128::from(a) / gcd * i128::from(b) };
        prop_assert_eq!(of_i64("integer.lcm", &[a, b]), (lcm as i64).wrapping_abs());
    }

    #[test]
    fn roots_are_rounded_down(x in integer()) {
        prop_assert_eq!(of_i64("integer.square_root", &[x]), if x < 0 { 0 } else { x.isqrt() });
    }

    #[test]
    fn bits_are_rearranged_one_by_one(a in any::<i64>(), b in any::<i64>()) {
        prop_assert_eq!(of_i64("integer.reverse_bits", &[a]), a.reverse_bits());
        let both = of_i64("integer.interleave_bits", &[a, b]);
        for i in 0..32 {
            prop_assert_eq!((both >> (2 * i)) & 1, (a >> i) & 1);
            prop_assert_eq!((both >> (2 * i + 1)) & 1, (b >> i) & 1);
        }
        prop_assert_eq!(of_i64("integer.separate_bits", &[both]), a & 0xffff_ffff);
    }

    #[test]
    fn inserted_bits_are_extracted(x in any::<i64>(), bits in any::<i64>(), first in 0_i64..64, count in 0_i64..66) {
        let count = count.min(64 - first);
        let with = of_i64("integer.insert_bits", &[x, bits, first, count]);
        let mask = if count == 64 { -1 } else { (1_i64 << count).wrapping_sub(1) };
        prop_assert_eq!(of_i64("integer.extract_bits", &[with, first, count]), bits & mask);
        prop_assert_eq!(with & !(mask << first), x & !(mask << first));
    }

    #[test]
    fn powers_wrap(base in integer(), exponent in 0_u32..) {
        let wanted = base.wrapping_pow(exponent);
        prop_assert_eq!(of_i64("integer.power", &[base, exponent.into()]), wanted);
    }
}

const FIELDS: &str = "
    integer.test_bit i32: 5 0 = true
    integer.test_bit i32: 5 1 = false
    integer.test_bit i32: -1 31 = true
    integer.test_bit i64: 4294967296 32 = true
    integer.set_bit i32: 5 1 = 7
    integer.set_bit i32: 0 31 = -2147483648
    integer.set_bit i64: 0 40 = 1099511627776
    integer.clear_bit i32: 7 1 = 5
    integer.clear_bit i64: -1 0 = -2
    integer.flip_bit i32: 5 0 = 4
    integer.flip_bit i32: 5 1 = 7
    integer.extract_bits i32: 6699 4 8 = 162
    integer.extract_bits i32: -1 0 32 = -1
    integer.extract_bits i32: -1 28 8 = 15
    integer.extract_bits i32: 99 3 0 = 0
    integer.extract_bits i32: 99 3 -2 = 0
    integer.extract_bits i64: -1 0 63 = 9223372036854775807
    integer.log2 i32: 1 = 0
    integer.log2 i32: 255 = 7
    integer.log2 i32: 256 = 8
    integer.log2 i32: 0 = -1
    integer.log2 i32: -5 = -1
    integer.log2 i64: 9223372036854775807 = 62
    integer.next_power_of_two i32: 0 = 1
    integer.next_power_of_two i32: 1 = 1
    integer.next_power_of_two i32: 5 = 8
    integer.next_power_of_two i32: 8 = 8
    integer.next_power_of_two i32: 1073741825 = 0
    integer.next_power_of_two i32: -7 = 1
    integer.next_power_of_two i64: 1073741825 = 2147483648
";

#[test]
fn bits_are_read_and_written_by_index() {
    check(FIELDS);
}

const PATTERNS: &str = "
    integer.square_root i32: 24 = 4
    integer.square_root i32: 25 = 5
    integer.square_root i32: 2147483647 = 46340
    integer.square_root i32: -1 = 0
    integer.square_root i64: 9223372036854775807 = 3037000499
    integer.square_root i64: 9223372030926249000 = 3037000498
    integer.square_root i64: 9223372030926249001 = 3037000499
    integer.reverse_bits i32: 1 = -2147483648
    integer.reverse_bits i32: 6 = 1610612736
    integer.reverse_bits i64: 2 = 4611686018427387904
    integer.insert_bits i32: -1 0 4 8 = -4081
    integer.insert_bits i32: 7 9 0 32 = 9
    integer.insert_bits i32: 7 9 0 0 = 7
    integer.insert_bits i32: 7 9 0 -5 = 7
    integer.interleave_bits i32: 65535 0 = 1431655765
    integer.interleave_bits i32: 3 5 = 39
    integer.interleave_bits i32: 65536 -1 = -1431655766
    integer.separate_bits i32: 39 = 3 5
    integer.separate_bits i32: -1 = 65535 65535
    integer.separate_bits i64: -1 = 4294967295 4294967295
";

#[test]
fn patterns_of_bits_have_known_values() {
    check(PATTERNS);
}
