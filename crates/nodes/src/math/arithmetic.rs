//! Sums, products, quotients, remainders, signs.

use millstream_form::Val;
use millstream_node::{Law, Registry};

use crate::shape::{FLOATS, NUMBERS, of_one_type};

const BY_ZERO: &str = "An integer divided by zero gives 0, and the least integer divided by -1 \
    itself.";

pub(super) fn register(registry: &mut Registry) {
    sums(registry);
    products(registry);
    quotients(registry);
    remainders(registry);
    signs(registry);
}

fn sums(registry: &mut Registry) {
    registry.register(
        of_one_type(
            "math.add",
            "a + b",
            NUMBERS,
            &[("a", 0.0, "the first summand"), ("b", 0.0, "the second summand")],
        )
        .details("Integers wrap around. -0 + 0 is +0.")
        .law(Law::RightNeutral(-0.0))
        .law(Law::LeftNeutral(-0.0))
        .lanewise(|_, x| x[0] + x[1]),
    );
    registry.register(
        of_one_type(
            "math.subtract",
            "a - b",
            NUMBERS,
            &[("a", 0.0, "what is taken from"), ("b", 0.0, "what is taken away")],
        )
        .details("Integers wrap around. x - x is +0, but NaN for an infinity.")
        .law(Law::RightNeutral(0.0))
        .lanewise(|_, x| x[0] - x[1]),
    );
}

fn products(registry: &mut Registry) {
    registry.register(
        of_one_type(
            "math.multiply",
            "a * b",
            NUMBERS,
            &[("a", 1.0, "the first factor"), ("b", 1.0, "the second factor")],
        )
        .details("Integers wrap around. 0 times an infinity is NaN.")
        .law(Law::RightNeutral(1.0))
        .law(Law::LeftNeutral(1.0))
        .lanewise(|_, x| x[0] * x[1]),
    );
    registry.register(
        of_one_type(
            "math.multiply_add",
            "a * b + c, rounding the product and the sum",
            NUMBERS,
            &[
                ("a", 1.0, "the first factor"),
                ("b", 1.0, "the second factor"),
                ("c", 0.0, "the summand"),
            ],
        )
        .details(
            "The same bits as `math.multiply` followed by `math.add`; `math.fma` rounds once. \
             Integers wrap around.",
        )
        .lanewise(|_, x| x[0] * x[1] + x[2]),
    );
    registry.register(
        of_one_type(
            "math.fma",
            "a * b + c, rounded once",
            FLOATS,
            &[
                ("a", 1.0, "the first factor"),
                ("b", 1.0, "the second factor"),
                ("c", 0.0, "the summand"),
            ],
        )
        .details("Slow on machines without the instruction. `math.multiply_add` rounds twice.")
        .source("fusedMultiplyAdd of IEEE 754-2019, 5.4.1")
        .lanewise(|_, x| x[0].fma(x[1], x[2])),
    );
    registry.register(
        of_one_type("math.square", "x * x", NUMBERS, &[("x", 0.0, "the number")])
            .details("Integers wrap around.")
            .lanewise(|_, x| x[0] * x[0]),
    );
}

/// The quotient, or 0 where the divisor is 0.
pub fn safe_divide<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    b.eq(0).select(0, a / b)
}

fn quotients(registry: &mut Registry) {
    registry.register(
        of_one_type(
            "math.divide",
            "a / b",
            NUMBERS,
            &[("a", 0.0, "what is divided"), ("b", 1.0, "the divisor")],
        )
        .details(format!(
            "Integers truncate towards zero; `integer.divide_floor` and its kin round otherwise. \
             {BY_ZERO} A float divided by zero is infinite, with the signs multiplied, and 0 / 0 \
             is NaN; `math.safe_divide` gives 0 instead.",
        ))
        .law(Law::RightNeutral(1.0))
        .lanewise(|_, x| x[0] / x[1]),
    );
    registry.register(
        of_one_type(
            "math.safe_divide",
            "a / b, or 0 where b is 0",
            NUMBERS,
            &[("a", 0.0, "what is divided"), ("b", 1.0, "the divisor")],
        )
        .details("+0 wherever b is +0 or -0, even if a is NaN. Integers truncate towards zero.")
        .law(Law::RightNeutral(1.0))
        .lanewise(|_, x| safe_divide(x[0], x[1])),
    );
    registry.register(
        of_one_type("math.reciprocal", "1 / x", FLOATS, &[("x", 1.0, "the number")])
            .details("Of a zero it is infinite, of an infinity zero, with the sign of x.")
            .lanewise(|_, x| 1 / x[0]),
    );
}

/// The remainder that has the sign of `b`; a zero is +0.
pub(crate) fn floored_modulo<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    let rest = a % b;
    let other_side = rest.lt(0).ne(b.lt(0));
    rest.eq(0).select(0, other_side.select(rest + b, rest))
}

fn remainders(registry: &mut Registry) {
    registry.register(
        of_one_type(
            "math.modulo",
            "Remainder of a / b truncated, with the sign of a",
            NUMBERS,
            &[("a", 0.0, "what is divided"), ("b", 1.0, "the divisor")],
        )
        .details(
            "a - truncate(a / b) * b without rounding. By zero an integer gives 0 and a float NaN; \
             an infinite a gives NaN, an infinite b gives a.",
        )
        .lanewise(|_, x| x[0] % x[1]),
    );
    registry.register(
        of_one_type(
            "math.floored_modulo",
            "Remainder of a / b rounded down, with the sign of b",
            NUMBERS,
            &[("a", 0.0, "what is divided"), ("b", 1.0, "the divisor")],
        )
        .details(
            "Repeats every b also below zero; a zero is +0. A float that is slightly on the other side of zero \
             than b may round to b itself. By zero an integer gives 0 and a float NaN; an infinite \
             a gives NaN, an infinite b gives a or, where the signs differ, b.",
        )
        .lanewise(|_, x| floored_modulo(x[0], x[1])),
    );
    registry.register(
        of_one_type(
            "math.euclidean_modulo",
            "Remainder of a / b that is never negative",
            NUMBERS,
            &[("a", 0.0, "what is divided"), ("b", 1.0, "the divisor")],
        )
        .details(
            "At least +0 and less than the magnitude of b, whose sign does not matter. A tiny \
             negative float may round to the magnitude of b itself. By zero an integer gives 0 and \
             a float NaN.",
        )
        .lanewise(|_, x| x[0].rem_euclid(x[1])),
    );
}

fn signs(registry: &mut Registry) {
    registry.register(
        of_one_type("math.negate", "-x", NUMBERS, &[("x", 0.0, "the number")])
            .details("Of zero it is -0. The least integer stays as it is.")
            .law(Law::Involution)
            .lanewise(|_, x| -x[0]),
    );
    registry.register(
        of_one_type("math.absolute", "x without its sign", NUMBERS, &[("x", 0.0, "the number")])
            .details("The least integer, whose opposite does not fit, stays as it is.")
            .law(Law::Projection)
            .lanewise(|_, x| x[0].abs()),
    );
    registry.register(
        of_one_type("math.sign", "-1, 0 or 1", NUMBERS, &[("x", 0.0, "the number")])
            .details("Both float zeros and NaN are given as they are.")
            .law(Law::Projection)
            .lanewise(|_, x| x[0].sign()),
    );
    registry.register(
        of_one_type(
            "math.copy_sign",
            "The magnitude of a with the sign of b",
            FLOATS,
            &[("a", 0.0, "gives the magnitude"), ("b", 1.0, "gives the sign")],
        )
        .details("-0 has a negative sign, NaN a positive one.")
        .lanewise(|_, x| x[0].copysign(x[1])),
    );
}
