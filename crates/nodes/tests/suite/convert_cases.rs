//! Cases of the convert family.

use crate::cases::check;

/// All tables, for the test that no node is forgotten.
pub(crate) const ALL: &[&str] = &[NUMBERS, BITS];

const NUMBERS: &str = "
    convert.to_bool f32: -0.0 = false
    convert.to_bool f32: nan = true
    convert.to_bool i32: -3 = true
    convert.to_bool bool: true = true
    convert.to_i32 f32: 2.7 = 2
    convert.to_i32 f32: -2.7 = -2
    convert.to_i32 f32: nan = 0
    convert.to_i32 f32: 1e10 = 2147483647
    convert.to_i32 f64: -inf = -2147483648
    convert.to_i32 bool: true = 1
    convert.to_i32 i64: 3000000000 = 2147483647
    convert.to_i32 i64: -3000000000 = -2147483648
    convert.to_i32 i64: -7 = -7
    convert.to_i32{\"mode\":\"round\"} f32: 2.5 = 3
    convert.to_i32{\"mode\":\"round_even\"} f32: 2.5 = 2
    convert.to_i32{\"mode\":\"floor\"} f32: -2.5 = -3
    convert.to_i32{\"mode\":\"ceil\"} f64: 2.1 = 3
    convert.to_i64 i32: -7 = -7
    convert.to_i64 f64: 1e300 = 9223372036854775807
    convert.to_i64 f64: 9007199254740993 = 9007199254740992
    convert.to_i64{\"mode\":\"floor\"} f64: -0.5 = -1
    convert.to_f32 f64: 0.1 = 0.1
    convert.to_f32 f64: 1e300 = inf
    convert.to_f32 i32: 16777217 = 16777216
    convert.to_f32 bool: true = 1
    convert.to_f64 f32: 0.1 = 0.10000000149011612
    convert.to_f64 i64: 9007199254740993 = 9007199254740992
    convert.to_f64 i32: -2147483648 = -2147483648
";

const BITS: &str = "
    convert.f32_bits: 1 = 1065353216
    convert.f32_bits: -0.0 = -2147483648
    convert.f32_bits: nan = 2143289344
    convert.f64_bits: 1 = 4607182418800017408
    convert.f64_bits: nan = 9221120237041090560
    convert.f32_from_bits: 1065353216 = 1
    convert.f32_from_bits: -8388608 = -inf
    convert.f32_from_bits: -1 = nan
    convert.f64_from_bits: 4607182418800017408 = 1
    convert.f64_from_bits: 1 = 5e-324
";

#[test]
fn conversions_have_known_values() {
    check(NUMBERS);
}

#[test]
fn floats_have_known_bits() {
    check(BITS);
}
