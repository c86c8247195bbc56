//! Functions that stay finite where the plain ones are undefined.

use millstream_form::Val;
use millstream_node::Registry;

use crate::shape::{FLOATS, of_one_type};

pub(super) fn register(registry: &mut Registry) {
    roots(registry);
    powers(registry);
    inverse(registry);
}

fn roots(registry: &mut Registry) {
    let x = [("x", 0.0, "number")];
    registry.register_all([
        of_one_type("math.safe_sqrt", "The square root, or 0 for negative numbers", FLOATS, &x)
            .details("Equals `math.sqrt` for positive numbers and +0 otherwise, also for NaN.")
            .lanewise(|_, x| x[0].max(0.0).sqrt()),
        of_one_type(
            "math.safe_inverse_sqrt",
            "1 / sqrt(x), or 0 for zero and negative numbers",
            FLOATS,
            &[("x", 1.0, "number")],
        )
        .details("Equals `math.inverse_sqrt` for positive numbers and 0 otherwise, also for NaN.")
        .lanewise(|_, x| x[0].gt(0.0).select(1 / x[0].sqrt(), 0)),
        of_one_type(
            "math.safe_reciprocal",
            "1 / x, or 0 if x is 0",
            FLOATS,
            &[("x", 1.0, "divisor")],
        )
        .lanewise(|_, x| x[0].eq(0.0).select(0, 1 / x[0])),
        of_one_type(
            "math.root",
            "The root of x of a given degree",
            FLOATS,
            &[("x", 1.0, "number"), ("degree", 2.0, "2 for the square root, 3 for the cube root")],
        )
        .details(
            "x raised to the power 1 / degree; for a negative x and an odd whole degree it is the \
             negative root. NaN for a negative x and any other degree; 1 for degree 0 and x = 1. \
             `math.sqrt` and `math.cbrt` are more accurate.",
        )
        .lanewise(|_, x| {
            let (x, degree) = (x[0], x[1]);
            let size = x.abs().pow(1 / degree);
            let odd = (degree.rem_euclid(2.0)).eq(1.0);
            let negative = odd.select(-size, x.like(f64::NAN));
            x.lt(0.0).select(negative, size)
        }),
    ]);
}

fn powers(registry: &mut Registry) {
    registry.register_all([
        of_one_type(
            "math.safe_power",
            "base raised to the power of exponent, or 0 if that is not finite",
            FLOATS,
            &[("base", 1.0, "base of the power"), ("exponent", 2.0, "exponent")],
        )
        .details(
            "Equals `math.power`, except that it is 0 where that has no finite value: for a \
             negative base with a fractional exponent, for 0 raised to a negative power, and on \
             overflow.",
        )
        .lanewise(|_, x| {
            let power = x[0].pow(x[1]);
            power.is_finite().select(power, 0)
        }),
        of_one_type(
            "math.safe_ln",
            "The natural logarithm, or 0 for zero and negative numbers",
            FLOATS,
            &[("x", 1.0, "number")],
        )
        .details("Equals `math.ln` for positive numbers and 0 otherwise, also for NaN.")
        .lanewise(|_, x| x[0].gt(0.0).select(x[0].ln(), 0)),
        of_one_type(
            "math.safe_log",
            "The logarithm to a given base, or 0 if that is undefined",
            FLOATS,
            &[("x", 1.0, "number"), ("base", 10.0, "base")],
        )
        .details(
            "Equals `math.log` if x and the base are positive and the base is not 1; 0 otherwise.",
        )
        .lanewise(|_, x| {
            let (x, base) = (x[0], x[1]);
            let fits = x.gt(0.0).and(base.gt(0.0)).and(base.ne(1.0));
            fits.select(x.ln() / base.ln(), 0)
        }),
        of_one_type("math.exp10", "10 raised to the power x", FLOATS, &[("x", 0.0, "exponent")])
            .details("Equals `math.power` with base 10. Overflows to infinity, underflows to 0.")
            .lanewise(|_, x| x[0].like(10.0).pow(x[0])),
        of_one_type(
            "math.safe_modulo",
            "The remainder of the truncated division a / b, or 0 if b is 0",
            FLOATS,
            &[("a", 0.0, "dividend"), ("b", 1.0, "divisor")],
        )
        .details("Equals `math.modulo` if b is not 0.")
        .lanewise(|_, x| x[1].eq(0.0).select(0, x[0] % x[1])),
    ]);
}

fn clamped(x: Val<'_>) -> Val<'_> {
    x.clamp(-1.0, 1.0)
}

fn inverse(registry: &mut Registry) {
    let x = [("x", 0.0, "number, clamped to -1 to 1")];
    let edges = "A number outside -1 to 1 counts as the nearest of these bounds, NaN as -1.";
    registry.register_all([
        of_one_type("math.safe_asin", "The arcsine of x clamped to -1 to 1", FLOATS, &x)
            .details(edges)
            .lanewise(|_, x| clamped(x[0]).asin()),
        of_one_type("math.safe_acos", "The arccosine of x clamped to -1 to 1", FLOATS, &x)
            .details(edges)
            .lanewise(|_, x| clamped(x[0]).acos()),
        of_one_type(
            "math.sinc",
            "sin(x) / x, or 1 if x is 0",
            FLOATS,
            &[("x", 0.0, "angle in radians")],
        )
        .details("0 for infinities.")
        .lanewise(|_, x| {
            let plain = x[0].eq(0.0).select(1, x[0].sin() / x[0]);
            (x[0].is_finite().or(x[0].is_nan())).select(plain, 0)
        }),
    ]);
}
