//! Functions that stay finite where the plain ones have no value.

use millstream_form::Val;
use millstream_node::Registry;

use crate::shape::{FLOATS, of_one_type};

pub(super) fn register(registry: &mut Registry) {
    roots(registry);
    powers(registry);
    inverse(registry);
}

fn roots(registry: &mut Registry) {
    let x = [("x", 0.0, "the number")];
    registry.register(
        of_one_type("math.safe_sqrt", "The square root, or 0 below zero", FLOATS, &x)
            .details("As `math.sqrt` above zero, +0 elsewhere. NaN gives 0.")
            .lanewise(|_, x| x[0].max(0.0).sqrt()),
    );
    registry.register(
        of_one_type(
            "math.safe_inverse_sqrt",
            "1 / sqrt(x), or 0 at zero and below",
            FLOATS,
            &[("x", 1.0, "the number")],
        )
        .details("As `math.inverse_sqrt` above zero, 0 elsewhere. NaN gives 0.")
        .lanewise(|_, x| x[0].gt(0.0).select(1 / x[0].sqrt(), 0)),
    );
    registry.register(
        of_one_type(
            "math.safe_reciprocal",
            "1 / x, or 0 where x is 0",
            FLOATS,
            &[("x", 1.0, "the number")],
        )
        .lanewise(|_, x| x[0].eq(0.0).select(0, 1 / x[0])),
    );
    registry.register(
        of_one_type("math.root", "The root of any degree", FLOATS, &[
            ("x", 1.0, "the number"),
            ("degree", 2.0, "2 for the square root, 3 for the cube root"),
        ])
        .details(
            "x to the power of 1 / degree, but of a negative x and an odd whole degree the negative root. \
             NaN for a negative x and any other degree; 1 for degree 0 and x = 1. `math.sqrt` and \
             `math.cbrt` round better.",
        )
        .lanewise(|_, x| {
            let (x, degree) = (x[0], x[1]);
            let size = x.abs().pow(1 / degree);
            let odd = (degree.rem_euclid(2.0)).eq(1.0);
            let negative = odd.select(-size, x.like(f64::NAN));
            x.lt(0.0).select(negative, size)
        }),
    );
}

fn powers(registry: &mut Registry) {
    registry.register(
        of_one_type("math.safe_power", "base to the power of exponent, or 0", FLOATS, &[
            ("base", 1.0, "what is multiplied"),
            ("exponent", 2.0, "how often"),
        ])
        .details(
            "As `math.power`, but 0 where that has no finite value: for a negative base with an exponent \
             that is not whole, for 0 to a negative power, where it overflows.",
        )
        .lanewise(|_, x| {
            let power = x[0].pow(x[1]);
            power.is_finite().select(power, 0)
        }),
    );
    registry.register(
        of_one_type(
            "math.safe_ln",
            "The natural logarithm, or 0 at zero and below",
            FLOATS,
            &[("x", 1.0, "the number")],
        )
        .details("As `math.ln` above zero, 0 elsewhere. NaN gives 0.")
        .lanewise(|_, x| x[0].gt(0.0).select(x[0].ln(), 0)),
    );
    registry.register(
        of_one_type(
            "math.safe_log",
            "The logarithm to any base, or 0",
            FLOATS,
            &[("x", 1.0, "the number"), ("base", 10.0, "the base")],
        )
        .details(
            "As `math.log` where x and base are above zero and the base is not 1, 0 elsewhere.",
        )
        .lanewise(|_, x| {
            let (x, base) = (x[0], x[1]);
            let fits = x.gt(0.0).and(base.gt(0.0)).and(base.ne(1.0));
            fits.select(x.ln() / base.ln(), 0)
        }),
    );
    registry.register(
        of_one_type("math.exp10", "10 to the power x", FLOATS, &[("x", 0.0, "the exponent")])
            .details("`math.power` of 10. Overflows to infinity, underflows to 0.")
            .lanewise(|_, x| x[0].like(10.0).pow(x[0])),
    );
    registry.register(
        of_one_type(
            "math.safe_modulo",
            "Remainder of a / b truncated, or 0 where b is 0",
            FLOATS,
            &[("a", 0.0, "what is divided"), ("b", 1.0, "the divisor")],
        )
        .details("As `math.modulo` where b is not 0.")
        .lanewise(|_, x| x[1].eq(0.0).select(0, x[0] % x[1])),
    );
}

fn clamped(x: Val<'_>) -> Val<'_> {
    x.clamp(-1.0, 1.0)
}

fn inverse(registry: &mut Registry) {
    let x = [("x", 0.0, "the number")];
    let edges = "A number outside of -1 to 1 counts as the nearer of them, NaN as -1.";
    registry.register(
        of_one_type("math.safe_asin", "The angle with this sine, clamped", FLOATS, &x)
            .details(edges)
            .lanewise(|_, x| clamped(x[0]).asin()),
    );
    registry.register(
        of_one_type("math.safe_acos", "The angle with this cosine, clamped", FLOATS, &x)
            .details(edges)
            .lanewise(|_, x| clamped(x[0]).acos()),
    );
    registry.register(
        of_one_type(
            "math.sinc",
            "sin(x) / x, 1 at zero",
            FLOATS,
            &[("x", 0.0, "an angle in radians")],
        )
        .details("0 at infinities.")
        .lanewise(|_, x| {
            let plain = x[0].eq(0.0).select(1, x[0].sin() / x[0]);
            (x[0].is_finite().or(x[0].is_nan())).select(plain, 0)
        }),
    );
}
