//! The error function and the gamma function.

use millstream_node::Registry;

use crate::shape::{FLOATS, Input, of_one_type};

/// Sources of the methods; the stated accuracies were measured with mpmath.
const ERF_SOURCE: &str = "M. Shepherd, J. Laframboise, \"Chebyshev approximation of (1 + 2x) \
                          exp(x^2) erfc x in 0 <= x < infinity\", Math. Comp. 36, 1981, with \
                          coefficients of our own";
const GAMMA_SOURCE: &str = "Stirling's formula with a polynomial in place of its series, and \
    Euler's reflection formula; NIST Digital Library of Mathematical Functions, 5.5 and 5.11";

pub(super) fn register(registry: &mut Registry) {
    let x: [Input; 1] = [("x", 0.0, "number")];
    registry.register_all([
        of_one_type("math.erf", "The error function", FLOATS, &x)
            .details(
                "2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x; between -1 and 1, and \
                 odd. Of normally distributed numbers, a fraction of (1 + erf(x / sqrt(2))) / 2 is \
                 below x standard deviations.",
            )
            .source(ERF_SOURCE)
            .lanewise(|_, x| x[0].erf()),
        of_one_type("math.erfc", "The complementary error function, 1 - erf(x)", FLOATS, &x)
            .details(
                "Accurate also where `math.erf` is nearly 1. Between 0 and 2, and positive up to x \
                 = 27 in `f64` and x = 10 in `f32`.",
            )
            .source(ERF_SOURCE)
            .lanewise(|_, x| x[0].erfc()),
    ]);
    let x: [Input; 1] = [("x", 1.0, "number")];
    registry.register_all([
        of_one_type("math.gamma", "The gamma function", FLOATS, &x)
            .details(
                "The factorial of x - 1, extended to all real numbers; exact for whole x up to \
                 results of 2^50. Infinite at zero, with its sign, and above 171.6 in `f64`, 35.04 \
                 in `f32`; NaN for negative whole numbers and minus infinity.",
            )
            .source(GAMMA_SOURCE)
            .lanewise(|_, x| x[0].gamma()),
        of_one_type("math.ln_gamma", "The logarithm of the gamma function", FLOATS, &x)
            .details(
                "The natural logarithm of |gamma(x)|, which stays finite where `math.gamma` \
                 overflows. Infinite at zero, at negative whole numbers and at both infinities. In \
                 `f64`, errors for negative x are up to 2.8 ULP of 1 or of the result, whichever \
                 is greater.",
            )
            .source(GAMMA_SOURCE)
            .lanewise(|_, x| x[0].ln_gamma()),
    ]);
}
