//! Sums, products, quotients, remainders, signs.

use millstream_form::Val;
use millstream_node::{Law, Registry};

use crate::shape::{FLOATS, NUMBERS, of_one_type};

const BY_ZERO: &str = "An integer divided by zero gives 0; the least integer divided by -1 gives \
    itself.";

pub(super) fn register(registry: &mut Registry) {
    sums(registry);
    products(registry);
    quotients(registry);
    remainders(registry);
    signs(registry);
}

fn sums(registry: &mut Registry) {
    registry.register_all([
        of_one_type(
            "math.add",
            "a + b",
            NUMBERS,
            &[("a", 0.0, "first summand"), ("b", 0.0, "second summand")],
        )
        .details("Integers wrap around. -0 + 0 is +0.")
        .law(Law::RightNeutral(-0.0))
        .law(Law::LeftNeutral(-0.0))
        .lanewise(|_, x| x[0] + x[1]),
        of_one_type(
            "math.subtract",
            "a - b",
            NUMBERS,
            &[("a", 0.0, "minuend"), ("b", 0.0, "subtrahend")],
        )
        .details("Integers wrap around. x - x is +0, or NaN if x is infinite.")
        .law(Law::RightNeutral(0.0))
        .lanewise(|_, x| x[0] - x[1]),
    ]);
}

fn products(registry: &mut Registry) {
    registry.register_all([
        of_one_type(
            "math.multiply",
            "a * b",
            NUMBERS,
            &[("a", 1.0, "first factor"), ("b", 1.0, "second factor")],
        )
        .details("Integers wrap around. 0 times infinity is NaN.")
        .law(Law::RightNeutral(1.0))
        .law(Law::LeftNeutral(1.0))
        .lanewise(|_, x| x[0] * x[1]),
        of_one_type(
            "math.multiply_add",
            "a * b + c, with the product and the sum rounded separately",
            NUMBERS,
            &[("a", 1.0, "first factor"), ("b", 1.0, "second factor"), ("c", 0.0, "summand")],
        )
        .details(
            "The result has the same bits as `math.multiply` followed by `math.add`; `math.fma` \
             rounds only once. Integers wrap around.",
        )
        .lanewise(|_, x| x[0] * x[1] + x[2]),
        of_one_type(
            "math.fma",
            "a * b + c, rounded only once (fused multiply-add)",
            FLOATS,
            &[("a", 1.0, "first factor"), ("b", 1.0, "second factor"), ("c", 0.0, "summand")],
        )
        .details(
            "Slow on processors without a fused multiply-add instruction. `math.multiply_add` \
             rounds twice.",
        )
        .source("fusedMultiplyAdd of IEEE 754-2019, 5.4.1")
        .lanewise(|_, x| x[0].fma(x[1], x[2])),
        of_one_type("math.square", "x * x", NUMBERS, &[("x", 0.0, "number to square")])
            .details("Integers wrap around.")
            .lanewise(|_, x| x[0] * x[0]),
    ]);
}

/// The quotient, or 0 if the divisor is 0.
pub fn safe_divide<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    b.eq(0).select(0, a / b)
}

fn quotients(registry: &mut Registry) {
    registry.register_all([
        of_one_type(
            "math.divide",
            "a / b",
            NUMBERS,
            &[("a", 0.0, "dividend"), ("b", 1.0, "divisor")],
        )
        .details(format!(
            "Integers truncate toward zero; `integer.divide_floor` and related nodes round \
             differently. {BY_ZERO} A float divided by zero is infinite, with the product of the \
             signs, and 0 / 0 is NaN; `math.safe_divide` gives 0 instead.",
        ))
        .law(Law::RightNeutral(1.0))
        .lanewise(|_, x| x[0] / x[1]),
        of_one_type(
            "math.safe_divide",
            "a / b, or 0 if b is 0",
            NUMBERS,
            &[("a", 0.0, "dividend"), ("b", 1.0, "divisor")],
        )
        .details(
            "The result is +0 if b is +0 or -0, even if a is NaN. Integers truncate toward zero.",
        )
        .law(Law::RightNeutral(1.0))
        .lanewise(|_, x| safe_divide(x[0], x[1])),
        of_one_type("math.reciprocal", "1 / x", FLOATS, &[("x", 1.0, "divisor")])
            .details("Infinite for zero and zero for infinity, with the sign of x.")
            .lanewise(|_, x| 1 / x[0]),
    ]);
}

/// The remainder with the sign of `b`; a zero is +0.
pub(crate) fn floored_modulo<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    let rest = a % b;
    let other_side = rest.lt(0).ne(b.lt(0));
    rest.eq(0).select(0, other_side.select(rest + b, rest))
}

fn remainders(registry: &mut Registry) {
    registry.register_all([
        of_one_type(
            "math.modulo",
            "The remainder of the truncated division a / b, with the sign of a",
            NUMBERS,
            &[("a", 0.0, "dividend"), ("b", 1.0, "divisor")],
        )
        .details(
            "a - truncate(a / b) * b, computed exactly. Division by zero gives 0 for integers and \
             NaN for floats. An infinite a gives NaN, an infinite b gives a.",
        )
        .lanewise(|_, x| x[0] % x[1]),
        of_one_type(
            "math.floored_modulo",
            "The remainder of the floored division a / b, with the sign of b",
            NUMBERS,
            &[("a", 0.0, "dividend"), ("b", 1.0, "divisor")],
        )
        .details(
            "It repeats with period b, for negative numbers too; a zero is +0. If a is tiny and of \
             the opposite sign, the result may round to b itself. Division by zero gives 0 for \
             integers and NaN for floats. An infinite a gives NaN; an infinite b gives a, or b if \
             the signs differ.",
        )
        .lanewise(|_, x| floored_modulo(x[0], x[1])),
        of_one_type(
            "math.euclidean_modulo",
            "The Euclidean remainder of a / b, which is never negative",
            NUMBERS,
            &[("a", 0.0, "dividend"), ("b", 1.0, "divisor")],
        )
        .details(
            "At least +0 and less than |b|; the sign of b does not matter. For a tiny negative a \
             the result may round to |b| itself. Division by zero gives 0 for integers and NaN for \
             floats.",
        )
        .lanewise(|_, x| x[0].rem_euclid(x[1])),
    ]);
}

fn signs(registry: &mut Registry) {
    registry.register_all([
        of_one_type("math.negate", "-x", NUMBERS, &[("x", 0.0, "number to negate")])
            .details("The negative of 0 is -0 for floats. The least integer does not change.")
            .law(Law::Involution)
            .lanewise(|_, x| -x[0]),
        of_one_type("math.absolute", "The absolute value of x", NUMBERS, &[("x", 0.0, "number")])
            .details(
                "The least integer does not change, because its absolute value does not fit the \
                 type.",
            )
            .law(Law::Projection)
            .lanewise(|_, x| x[0].abs()),
        of_one_type("math.sign", "The sign of x: -1, 0 or 1", NUMBERS, &[("x", 0.0, "number")])
            .details("Float zeros and NaN are returned unchanged.")
            .law(Law::Projection)
            .lanewise(|_, x| x[0].sign()),
        of_one_type(
            "math.copy_sign",
            "The magnitude of a with the sign of b",
            FLOATS,
            &[("a", 0.0, "number with the magnitude"), ("b", 1.0, "number with the sign")],
        )
        .details("The sign of -0 is negative, that of NaN positive.")
        .lanewise(|_, x| x[0].copysign(x[1])),
    ]);
}
