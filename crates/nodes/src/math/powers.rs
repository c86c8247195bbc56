//! Powers, roots, exponentials and logarithms.

use millstream_node::{Law, Registry};

use crate::shape::{FLOATS, of_one_type};

pub(super) fn register(registry: &mut Registry) {
    powers(registry);
    exponentials(registry);
    logarithms(registry);
}

fn powers(registry: &mut Registry) {
    registry.register(
        of_one_type(
            "math.power",
            "base to the power of exponent",
            FLOATS,
            &[("base", 1.0, "what is multiplied"), ("exponent", 2.0, "how often")],
        )
        .details(
            "1 if the exponent is 0 or the base is 1, even where the other is NaN. NaN for a \
             negative base with an exponent that is not whole. 0 to a negative power is infinite. \
             For whole numbers see `integer.power`.",
        )
        .source("pow of IEEE 754-2019, 9.2")
        .law(Law::RightNeutral(1.0))
        .lanewise(|_, x| x[0].pow(x[1])),
    );
    registry.register(
        of_one_type("math.sqrt", "The square root", FLOATS, &[("x", 0.0, "the number")])
            .details("Correctly rounded. NaN below zero; of -0 it is -0.")
            .lanewise(|_, x| x[0].sqrt()),
    );
    registry.register(
        of_one_type("math.inverse_sqrt", "1 / sqrt(x)", FLOATS, &[("x", 1.0, "the number")])
            .details("Rounded twice. Infinite at zero, with its sign; NaN below.")
            .lanewise(|_, x| 1 / x[0].sqrt()),
    );
    registry.register(
        of_one_type("math.cbrt", "The cube root", FLOATS, &[("x", 0.0, "the number")])
            .details("Of a negative number it is negative.")
            .lanewise(|_, x| x[0].cbrt()),
    );
    registry.register(
        of_one_type(
            "math.hypot",
            "Sqrt(x^2 + y^2) without overflow on the way",
            FLOATS,
            &[("x", 0.0, "one short side"), ("y", 0.0, "the other")],
        )
        .details("Infinite if a side is, even where the other is NaN.")
        .lanewise(|_, x| x[0].hypot(x[1])),
    );
}

fn exponentials(registry: &mut Registry) {
    let x = [("x", 0.0, "the exponent")];
    registry.register(
        of_one_type("math.exp", "e to the power x", FLOATS, &x)
            .details("Overflows to infinity, underflows to 0.")
            .lanewise(|_, x| x[0].exp()),
    );
    registry.register(
        of_one_type("math.exp2", "2 to the power x", FLOATS, &x)
            .details("Overflows to infinity, underflows to 0.")
            .lanewise(|_, x| x[0].exp2()),
    );
    registry.register(
        of_one_type("math.exp_m1", "e to the power x, minus 1", FLOATS, &x)
            .details("Accurate near zero, where `math.exp` minus 1 is not. -1 at minus infinity.")
            .lanewise(|_, x| x[0].exp_m1()),
    );
}

fn logarithms(registry: &mut Registry) {
    let x = [("x", 1.0, "the number")];
    let edges = "Minus infinity at zero, NaN below.";
    registry.register(
        of_one_type("math.ln", "The natural logarithm", FLOATS, &x)
            .details(edges)
            .lanewise(|_, x| x[0].ln()),
    );
    registry.register(
        of_one_type("math.log2", "The logarithm to base 2", FLOATS, &x)
            .details(edges)
            .lanewise(|_, x| x[0].log2()),
    );
    registry.register(
        of_one_type("math.log10", "The logarithm to base 10", FLOATS, &x)
            .details(edges)
            .lanewise(|_, x| x[0].log10()),
    );
    registry.register(
        of_one_type("math.ln_1p", "The natural logarithm of 1 + x", FLOATS, &[("x", 0.0, "x")])
            .details(
                "Accurate near zero, where `math.ln` of 1 + x is not. Minus infinity at -1, NaN \
                 below.",
            )
            .lanewise(|_, x| x[0].ln_1p()),
    );
    registry.register(
        of_one_type(
            "math.log",
            "The logarithm to any base",
            FLOATS,
            &[("x", 1.0, "the number"), ("base", 10.0, "the base")],
        )
        .details(
            "ln(x) / ln(base), each rounded: for bases 2 and 10 `math.log2` and `math.log10` are \
             exact on powers of the base. NaN if one is negative; base 1 divides by zero.",
        )
        .lanewise(|_, x| x[0].ln() / x[1].ln()),
    );
}
