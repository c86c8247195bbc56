//! Powers, roots, exponentials and logarithms.

use millstream_node::{Law, Registry};

use crate::shape::{FLOATS, of_one_type};

pub(super) fn register(registry: &mut Registry) {
    powers(registry);
    exponentials(registry);
    logarithms(registry);
}

fn powers(registry: &mut Registry) {
    registry.register_all([
        of_one_type(
            "math.power",
            "base raised to the power of exponent",
            FLOATS,
            &[("base", 1.0, "base of the power"), ("exponent", 2.0, "exponent")],
        )
        .details(
            "1 if the exponent is 0 or the base is 1, even if the other is NaN. NaN for a negative \
             base with a fractional exponent. 0 raised to a negative power is infinite. For \
             integers see `integer.power`.",
        )
        .source("pow of IEEE 754-2019, 9.2")
        .law(Law::RightNeutral(1.0))
        .lanewise(|_, x| x[0].pow(x[1])),
        of_one_type("math.sqrt", "The square root", FLOATS, &[("x", 0.0, "number")])
            .details("Correctly rounded. NaN for negative numbers; -0 for -0.")
            .lanewise(|_, x| x[0].sqrt()),
        of_one_type("math.inverse_sqrt", "1 / sqrt(x)", FLOATS, &[("x", 1.0, "number")])
            .details("Rounded twice. Infinite for zero, with its sign; NaN for negative numbers.")
            .lanewise(|_, x| 1 / x[0].sqrt()),
        of_one_type("math.cbrt", "The cube root", FLOATS, &[("x", 0.0, "number")])
            .details("Negative for negative numbers.")
            .lanewise(|_, x| x[0].cbrt()),
        of_one_type(
            "math.hypot",
            "The hypotenuse sqrt(x^2 + y^2), without intermediate overflow",
            FLOATS,
            &[("x", 0.0, "one leg"), ("y", 0.0, "other leg")],
        )
        .details("Infinite if one leg is infinite, even if the other is NaN.")
        .lanewise(|_, x| x[0].hypot(x[1])),
    ]);
}

fn exponentials(registry: &mut Registry) {
    let x = [("x", 0.0, "exponent")];
    registry.register_all([
        of_one_type("math.exp", "e raised to the power x", FLOATS, &x)
            .details("Overflows to infinity, underflows to 0.")
            .lanewise(|_, x| x[0].exp()),
        of_one_type("math.exp2", "2 raised to the power x", FLOATS, &x)
            .details("Overflows to infinity, underflows to 0.")
            .lanewise(|_, x| x[0].exp2()),
        of_one_type("math.exp_m1", "e raised to the power x, minus 1", FLOATS, &x)
            .details("Accurate near zero, unlike `math.exp` minus 1. -1 for minus infinity.")
            .lanewise(|_, x| x[0].exp_m1()),
    ]);
}

fn logarithms(registry: &mut Registry) {
    let x = [("x", 1.0, "number")];
    let edges = "Minus infinity for zero, NaN for negative numbers.";
    registry.register_all([
        of_one_type("math.ln", "The natural logarithm", FLOATS, &x)
            .details(edges)
            .lanewise(|_, x| x[0].ln()),
        of_one_type("math.log2", "The logarithm to base 2", FLOATS, &x)
            .details(edges)
            .lanewise(|_, x| x[0].log2()),
        of_one_type("math.log10", "The logarithm to base 10", FLOATS, &x)
            .details(edges)
            .lanewise(|_, x| x[0].log10()),
        of_one_type("math.ln_1p", "The natural logarithm of 1 + x", FLOATS, &[("x", 0.0, "x")])
            .details(
                "Accurate near zero, unlike `math.ln` of 1 + x. Minus infinity for -1, NaN below.",
            )
            .lanewise(|_, x| x[0].ln_1p()),
        of_one_type(
            "math.log",
            "The logarithm to a given base",
            FLOATS,
            &[("x", 1.0, "number"), ("base", 10.0, "base")],
        )
        .details(
            "ln(x) / ln(base), each rounded. For bases 2 and 10, `math.log2` and `math.log10` are \
             exact for powers of the base. NaN if x or the base is negative; base 1 divides by \
             zero.",
        )
        .lanewise(|_, x| x[0].ln() / x[1].ln()),
    ]);
}
