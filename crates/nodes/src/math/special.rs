//! The error function and the gamma function.

use millstream_node::Registry;

use crate::shape::{FLOATS, Input, of_one_type};

/// Where the methods come from; the figures of accuracy are measured with mpmath.
const ERF_SOURCE: &str = "M. Shepherd, J. Laframboise, \"Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in \
     0 <= x < infinity\", Math. Comp. 36, 1981, with coefficients of our own";
const GAMMA_SOURCE: &str = "Stirling's formula with a polynomial in the place of its series, and Euler's \
     reflection formula; NIST Digital Library of Mathematical Functions, 5.5 and 5.11";

pub(super) fn register(registry: &mut Registry) {
    let x: [Input; 1] = [("x", 0.0, "the number")];
    registry.register(
        of_one_type("math.erf", "The error function", FLOATS, &x)
            .details(
                "2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x: -1 to 1, of -x the opposite. \
                 (1 + erf(x / sqrt(2))) / 2 of normally distributed numbers are below x deviations.",
            )
            .source(ERF_SOURCE)
            .lanewise(|_, x| x[0].erf()),
    );
    registry.register(
        of_one_type("math.erfc", "1 minus the error function", FLOATS, &x)
            .details(
                "Accurate where `math.erf` is nearly 1: 0 to 2, and above 0 up to x = 27 in `f64`, 10 in `f32`.",
            )
            .source(ERF_SOURCE)
            .lanewise(|_, x| x[0].erfc()),
    );
    let x: [Input; 1] = [("x", 1.0, "the number")];
    registry.register(
        of_one_type("math.gamma", "The gamma function", FLOATS, &x)
            .details(
                "The factorial of x - 1, also between whole numbers; whole where x is, as far as 2^50. Infinite at \
                 zero, with its sign, and above 171.6 in `f64`, 35.04 in `f32`; NaN at negative whole numbers and \
                 minus infinity.",
            )
            .source(GAMMA_SOURCE)
            .lanewise(|_, x| x[0].gamma()),
    );
    registry.register(
        of_one_type("math.ln_gamma", "The logarithm of the gamma function", FLOATS, &x)
            .details(
                "Of its magnitude, natural; goes on where `math.gamma` overflows. Infinite at zero, at negative \
                 whole numbers and at both infinities. Below \
                 zero errors are up to 2.8 ULP of 1, or of the result if that is greater, in `f64`.",
            )
            .source(GAMMA_SOURCE)
            .lanewise(|_, x| x[0].ln_gamma()),
    );
}
