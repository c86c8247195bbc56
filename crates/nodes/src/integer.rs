//! Operations that only integers have: rounded quotients, divisors, bits.
//!
//! Arithmetic shared with floats is in the math family. Nothing here fails: arithmetic wraps
//! around, and division by zero gives 0.

mod patterns;

use millstream_base::{Lane, Type};
use millstream_form::Val;
use millstream_node::{Law, NodeDef, Registry};

use crate::math::floored_modulo;
use crate::shape::{INTEGERS, Input, inputs_of_one_type, of_one_type};

/// Adds the family.
pub fn register(registry: &mut Registry) {
    quotients(registry);
    remainders(registry);
    divisors(registry);
    bitwise(registry);
    shifts(registry);
    counts(registry);
    fields(registry);
    patterns::register(registry);
}

const QUOTIENT: [Input; 2] = [("a", 0.0, "dividend"), ("b", 1.0, "divisor")];
const BY_ZERO: &str = "Division by 0 gives 0; the least integer divided by -1 gives itself.";

/// The remainder of a quotient, and whether the exact quotient is negative.
fn rest_and_sign<'b>(a: Val<'b>, b: Val<'b>) -> (Val<'b>, Val<'b>) {
    let rest = a % b;
    (rest.ne(0), rest.lt(0).ne(b.lt(0)))
}

fn divide_floor<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    let (inexact, negative) = rest_and_sign(a, b);
    a / b - (inexact & negative).convert(a.lane())
}

fn divide_ceil<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    let (inexact, negative) = rest_and_sign(a, b);
    a / b + (inexact & !negative).convert(a.lane())
}

fn divide_round<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    let (inexact, negative) = rest_and_sign(a, b);
    // Negated magnitudes can represent the least integer too: |rest| >= |b| - |rest|.
    let (rest, divisor) = (-(a % b).abs(), -b.abs());
    let away = inexact & rest.le(divisor - rest);
    let towards = negative.select(a.like(-1), a.like(1));
    a / b + away.select(towards, 0)
}

fn quotients(registry: &mut Registry) {
    registry.register_all([
        of_one_type("integer.divide", "a / b, truncated toward zero", INTEGERS, &QUOTIENT)
            .details(format!("{BY_ZERO} The same as `math.divide` on integers."))
            .law(Law::RightNeutral(1.0))
            .lanewise(|_, x| x[0] / x[1]),
        of_one_type("integer.divide_floor", "a / b, rounded down", INTEGERS, &QUOTIENT)
            .details(format!("{BY_ZERO} The quotient that belongs to `math.floored_modulo`."))
            .law(Law::RightNeutral(1.0))
            .lanewise(|_, x| divide_floor(x[0], x[1])),
        of_one_type("integer.divide_ceil", "a / b, rounded up", INTEGERS, &QUOTIENT)
            .details(format!("{BY_ZERO} The number of groups of size b needed to hold a items."))
            .law(Law::RightNeutral(1.0))
            .lanewise(|_, x| divide_ceil(x[0], x[1])),
        of_one_type(
            "integer.divide_round",
            "a / b, rounded to nearest, ties away from zero",
            INTEGERS,
            &QUOTIENT,
        )
        .details(BY_ZERO)
        .law(Law::RightNeutral(1.0))
        .lanewise(|_, x| divide_round(x[0], x[1])),
    ]);
}

fn remainders(registry: &mut Registry) {
    registry.register_all([
        of_one_type(
            "integer.modulo",
            "The remainder of the truncated division a / b, with the sign of a",
            INTEGERS,
            &QUOTIENT,
        )
        .details("Division by 0 gives 0. The same as `math.modulo` on integers.")
        .lanewise(|_, x| x[0] % x[1]),
        of_one_type(
            "integer.floored_modulo",
            "The remainder of the floored division a / b, with the sign of b",
            INTEGERS,
            &QUOTIENT,
        )
        .details("Division by 0 gives 0. The same as `math.floored_modulo` on integers.")
        .lanewise(|_, x| floored_modulo(x[0], x[1])),
    ]);
}

/// The number of divisions that Euclid's algorithm needs for every pair, including one that puts
/// the greater number first. By Lamé's theorem n divisions require a number of at least the
/// Fibonacci number F(n + 2); F(47) is above 2^31 and F(93) above 2^63.
fn euclid_steps(lane: Lane) -> usize {
    match lane {
        Lane::I32 => 45,
        Lane::I64 => 91,
        Lane::Bool | Lane::F32 | Lane::F64 => panic!("only integers have divisors"),
    }
}

/// The greatest common divisor of two integers; 0 of two zeros.
pub fn gcd<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    // Negated magnitudes can represent the least integer too.
    let (mut greater, mut less) = (-a.abs(), -b.abs());
    for _ in 0..euclid_steps(a.lane()) {
        let rest = greater % less;
        greater = less.eq(0).select(greater, less);
        less = rest;
    }
    -greater
}

fn lcm<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    (a / gcd(a, b) * b).abs()
}

/// `base` to the power of `exponent`, wrapping; the result for a negative exponent is truncated.
pub fn power<'b>(base: Val<'b>, exponent: Val<'b>) -> Val<'b> {
    let n_bits = (8 * base.lane().size() - 1) as i32;
    let (mut result, mut square) = (base.like(1), base);
    for bit in 0..n_bits {
        let set = (exponent.ushr(bit) & 1).ne(0);
        result = set.select(result * square, result);
        square = square * square;
    }
    let odd = (exponent & 1).ne(0);
    let reciprocal = base.eq(-1) & !odd | base.eq(1);
    let reciprocal = reciprocal.select(base.like(1), (base.eq(-1) & odd).select(base, 0));
    exponent.lt(0).select(reciprocal, result)
}

fn divisors(registry: &mut Registry) {
    let ab = [("a", 0.0, "first number"), ("b", 0.0, "second number")];
    registry.register_all([
        of_one_type("integer.gcd", "The greatest common divisor of a and b", INTEGERS, &ab)
            .details(
                "Never negative, with one exception: where the result is 2^31 (2^63 for `i64`) it \
                 wraps around to the least integer. gcd(x, 0) is |x|.",
            )
            .source("Euclid, Elements VII.2")
            .lanewise(|_, x| gcd(x[0], x[1]))
            .commutes(),
        of_one_type("integer.lcm", "The least common multiple of a and b", INTEGERS, &ab)
            .details("|a / gcd(a, b) * b|, wrapping around; 0 if a or b is 0.")
            .lanewise(|_, x| lcm(x[0], x[1]))
            .commutes(),
    ]);
    let inputs = [("base", 1.0, "base of the power"), ("exponent", 2.0, "exponent")];
    registry.register(
        of_one_type("integer.power", "base to the power of exponent", INTEGERS, &inputs)
            .details(
                "Wraps around. x to the power 0 is 1, for x = 0 too. A negative exponent gives the \
                 truncated reciprocal: 1 or -1 for the bases 1 and -1, and 0 for all others, \
                 including 0.",
            )
            .law(Law::RightNeutral(1.0))
            .lanewise(|_, x| power(x[0], x[1])),
    );
}

fn bitwise(registry: &mut Registry) {
    let ab = [("a", 0.0, "first number"), ("b", 0.0, "second number")];
    registry.register_all([
        of_one_type("integer.and", "Bitwise AND: the bits set in both numbers", INTEGERS, &ab)
            .law(Law::SameInputs)
            .law(Law::LeftNeutral(-1.0))
            .law(Law::RightNeutral(-1.0))
            .lanewise(|_, x| x[0] & x[1]),
        of_one_type("integer.or", "Bitwise OR: the bits set in at least one number", INTEGERS, &ab)
            .law(Law::SameInputs)
            .law(Law::LeftNeutral(0.0))
            .law(Law::RightNeutral(0.0))
            .lanewise(|_, x| x[0] | x[1]),
        of_one_type(
            "integer.xor",
            "Bitwise XOR: the bits set in exactly one number",
            INTEGERS,
            &ab,
        )
        .law(Law::LeftNeutral(0.0))
        .law(Law::RightNeutral(0.0))
        .lanewise(|_, x| x[0] ^ x[1]),
        of_one_type(
            "integer.not",
            "Bitwise NOT: x with all bits flipped",
            INTEGERS,
            &[("x", 0.0, "the number")],
        )
        .details("-x - 1.")
        .law(Law::Involution)
        .lanewise(|_, x| !x[0]),
    ]);
}

fn rotate_left<'b>(x: Val<'b>, by: Val<'b>) -> Val<'b> {
    x.shl(by) | x.ushr(-by)
}

fn shifts(registry: &mut Registry) {
    let inputs = [("x", 0.0, "the number"), ("by", 1.0, "number of bit positions")];
    let modulo = "The number of positions is taken modulo the width, so -1 means width - 1.";
    let mut shift = |name, summary, lane: for<'b> fn(Val<'b>, Val<'b>) -> Val<'b>| {
        registry.register(
            of_one_type(name, summary, INTEGERS, &inputs)
                .details(modulo)
                .law(Law::RightNeutral(0.0))
                .lanewise(move |_, x| lane(x[0], x[1])),
        );
    };
    shift("integer.shift_left", "x with its bits shifted left, filled with zeros", |x, by| {
        x.shl(by)
    });
    shift(
        "integer.shift_right",
        "x with its bits shifted right, filled with the sign bit",
        |x, by| x.shr(by),
    );
    shift(
        "integer.shift_right_logical",
        "x with its bits shifted right, filled with zeros",
        |x, by| x.ushr(by),
    );
    shift("integer.rotate_left", "x with its bits rotated left", rotate_left);
    shift("integer.rotate_right", "x with its bits rotated right", |x, by| rotate_left(x, -by));
}

fn counts(registry: &mut Registry) {
    let count = |name, summary| {
        NodeDef::new(name, summary)
            .generic("T", INTEGERS)
            .input_or("x", crate::shape::T, 0.0, "the number")
            .output("value", Type::I32, "")
    };
    registry.register_all([
        count("integer.count_ones", "The number of bits that are set")
            .lanewise(|_, x| x[0].count_ones().convert(Lane::I32)),
        count("integer.leading_zeros", "The number of zeros above the highest set bit")
            .details("For 0 it is the width, 32 or 64; for negative numbers it is 0.")
            .lanewise(|_, x| x[0].leading_zeros().convert(Lane::I32)),
        count("integer.trailing_zeros", "The number of zeros below the lowest set bit")
            .details("For 0 it is the width, 32 or 64.")
            .lanewise(|_, x| x[0].trailing_zeros().convert(Lane::I32)),
    ]);
    let x = [("x", 0.0, "the number")];
    registry.register(
        inputs_of_one_type("integer.is_power_of_two", "Whether x is a power of two", INTEGERS, &x)
            .details("True for 1, 2, 4 and so on; false for 0 and negative numbers.")
            .output("value", Type::BOOL, "")
            .lanewise(|_, x| x[0].gt(0) & (x[0] & (x[0] - 1)).eq(0)),
    );
}

fn fields(registry: &mut Registry) {
    let at = [("x", 0.0, "the number"), ("bit", 0.0, "index of the bit; 0 is the lowest")];
    let modulo = "The index of the bit is taken modulo the width.";
    registry.register_all([
        inputs_of_one_type("integer.test_bit", "Whether a bit of x is set", INTEGERS, &at)
            .details(modulo)
            .output("value", Type::BOOL, "")
            .form(|_, x| vec![vec![(x[0][0].ushr(x[1][0]) & 1).ne(0)]]),
        of_one_type("integer.set_bit", "x with a bit set", INTEGERS, &at)
            .details(modulo)
            .lanewise(|_, x| x[0] | x[0].like(1).shl(x[1])),
        of_one_type("integer.clear_bit", "x with a bit cleared", INTEGERS, &at)
            .details(modulo)
            .lanewise(|_, x| x[0] & !x[0].like(1).shl(x[1])),
        of_one_type("integer.flip_bit", "x with a bit flipped", INTEGERS, &at)
            .details(modulo)
            .lanewise(|_, x| x[0] ^ x[0].like(1).shl(x[1])),
        of_one_type(
            "integer.extract_bits",
            "A range of bits of x as a number",
            INTEGERS,
            &[
                ("x", 0.0, "the number"),
                ("first", 0.0, "index of the lowest bit, 0 to the width - 1"),
                ("count", 8.0, "number of bits"),
            ],
        )
        .details("Not negative unless all bits are taken. A count of 0 or less gives 0.")
        .lanewise(|_, x| {
            let (width, _) = width(x[0]);
            let mask = x[0].like(1).shl(x[2]) - 1;
            let mask = x[2].ge(width).select(-1, mask);
            x[2].le(0).select(0, x[0].ushr(x[1]) & mask)
        }),
    ]);
    let x = [("x", 0.0, "the number")];
    registry.register_all([
        of_one_type("integer.log2", "The index of the highest set bit", INTEGERS, &x)
            .details("The logarithm to base 2, rounded down; -1 for zero and negative numbers.")
            .lanewise(|_, x| {
                let (_, highest) = width(x[0]);
                x[0].le(0).select(-1, highest - x[0].leading_zeros())
            }),
        of_one_type(
            "integer.next_power_of_two",
            "The least power of two that is at least x",
            INTEGERS,
            &x,
        )
        .details("1 for x up to 1; 0 if the power does not fit the type.")
        .lanewise(|_, x| {
            let (_, highest) = width(x[0]);
            let above = highest - (x[0] - 1).leading_zeros() + 1;
            let power = x[0].like(1).shl(above);
            let power = above.ge(x[0].like(highest)).select(0, power);
            x[0].le(1).select(1, power)
        }),
    ]);
}

/// The number of bits of a lane, and the index of its highest bit.
fn width(x: Val<'_>) -> (i32, i32) {
    match x.lane() {
        Lane::I64 => (64, 63),
        Lane::Bool | Lane::I32 | Lane::F32 | Lane::F64 => (32, 31),
    }
}
