//! The functions and constants of expressions.

use millstream_form::Val;

use crate::{math, mix};

/// A function that can be called in an expression.
pub(super) struct Function {
    pub(super) name: &'static str,
    /// Smallest and largest number of arguments.
    pub(super) arity: (usize, usize),
    /// The type of its arguments.
    pub(super) takes: Takes,
    /// The type of its result.
    pub(super) gives: Kind,
    /// The definition, for each number of arguments that `arity` allows.
    pub(super) apply: for<'b> fn(&[Val<'b>]) -> Val<'b>,
}

/// The numbers that a function accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// Integers stay integers.
    Numbers,
    /// The whole expression computes with floats.
    Floats,
}

/// The type of a term. Numbers and truth values are converted to each other where needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Truth,
}

/// Any number of arguments that fits in the text.
const MANY: usize = usize::MAX;

const fn number(
    name: &'static str,
    arity: (usize, usize),
    apply: for<'b> fn(&[Val<'b>]) -> Val<'b>,
) -> Function {
    Function { name, arity, takes: Takes::Numbers, gives: Kind::Number, apply }
}

const fn float(
    name: &'static str,
    n_args: usize,
    apply: for<'b> fn(&[Val<'b>]) -> Val<'b>,
) -> Function {
    Function { name, arity: (n_args, n_args), takes: Takes::Floats, gives: Kind::Number, apply }
}

const fn test(name: &'static str, apply: for<'b> fn(&[Val<'b>]) -> Val<'b>) -> Function {
    Function { name, arity: (1, 1), takes: Takes::Floats, gives: Kind::Truth, apply }
}

fn fold<'b>(x: &[Val<'b>], join: fn(Val<'b>, Val<'b>) -> Val<'b>) -> Val<'b> {
    x.iter().copied().reduce(join).expect("the function takes at least one argument")
}

/// All functions but `if` and `pow`, sorted by name.
pub(super) const FUNCTIONS: &[Function] = &[
    number("abs", (1, 1), |x| x[0].abs()),
    float("acos", 1, |x| x[0].acos()),
    float("acosh", 1, |x| x[0].acosh()),
    float("asin", 1, |x| x[0].asin()),
    float("asinh", 1, |x| x[0].asinh()),
    float("atan", 1, |x| x[0].atan()),
    float("atan2", 2, |x| x[0].atan2(x[1])),
    float("atanh", 1, |x| x[0].atanh()),
    float("cbrt", 1, |x| x[0].cbrt()),
    float("ceil", 1, |x| x[0].ceil()),
    number("clamp", (3, 3), |x| mix::clamp(x[0], x[1], x[2])),
    float("copysign", 2, |x| x[0].copysign(x[1])),
    float("cos", 1, |x| x[0].cos()),
    float("cosh", 1, |x| x[0].cosh()),
    float("degrees", 1, |x| math::degrees(x[0])),
    float("erf", 1, |x| x[0].erf()),
    float("erfc", 1, |x| x[0].erfc()),
    float("exp", 1, |x| x[0].exp()),
    float("exp2", 1, |x| x[0].exp2()),
    float("exp_m1", 1, |x| x[0].exp_m1()),
    float("floor", 1, |x| x[0].floor()),
    float("fma", 3, |x| x[0].fma(x[1], x[2])),
    number("fmod", (2, 2), |x| x[0] % x[1]),
    float("fract", 1, |x| x[0].fract()),
    float("gamma", 1, |x| x[0].gamma()),
    float("hypot", 2, |x| x[0].hypot(x[1])),
    float("inverse_mix", 3, |x| mix::inverse_mix(x[0], x[1], x[2])),
    float("inverse_sqrt", 1, |x| 1 / x[0].sqrt()),
    test("is_finite", |x| x[0].is_finite()),
    test("is_infinite", |x| x[0].abs().eq(f64::INFINITY)),
    test("is_nan", |x| x[0].is_nan()),
    float("lerp", 3, |x| mix::mix(x[0], x[1], x[2])),
    float("ln", 1, |x| x[0].ln()),
    float("ln_1p", 1, |x| x[0].ln_1p()),
    float("ln_gamma", 1, |x| x[0].ln_gamma()),
    Function {
        name: "log",
        arity: (1, 2),
        takes: Takes::Floats,
        gives: Kind::Number,
        apply: |x| if x.len() == 1 { x[0].ln() } else { x[0].ln() / x[1].ln() },
    },
    float("log10", 1, |x| x[0].log10()),
    float("log2", 1, |x| x[0].log2()),
    number("max", (2, MANY), |x| fold(x, |a, b| a.max(b))),
    number("min", (2, MANY), |x| fold(x, |a, b| a.min(b))),
    float("mix", 3, |x| mix::mix(x[0], x[1], x[2])),
    number("mod", (2, 2), |x| math::floored_modulo(x[0], x[1])),
    float("ping_pong", 2, |x| math::ping_pong(x[0], x[1])),
    float("radians", 1, |x| math::radians(x[0])),
    float("reciprocal", 1, |x| 1 / x[0]),
    float("round", 1, |x| x[0].round()),
    float("round_even", 1, |x| x[0].round_even()),
    number("safe_divide", (2, 2), |x| math::safe_divide(x[0], x[1])),
    number("sign", (1, 1), |x| x[0].sign()),
    float("sin", 1, |x| x[0].sin()),
    float("sinh", 1, |x| x[0].sinh()),
    float("smooth_max", 3, |x| math::smooth_maximum(x[0], x[1], x[2])),
    float("smooth_min", 3, |x| math::smooth_minimum(x[0], x[1], x[2])),
    float("smootherstep", 3, |x| mix::smootherstep(x[0], x[1], x[2])),
    float("smoothstep", 3, |x| mix::smoothstep(x[0], x[1], x[2])),
    float("snap", 2, |x| math::snap(x[0], x[1], x[0].like(0))),
    float("sqrt", 1, |x| x[0].sqrt()),
    number("square", (1, 1), |x| x[0] * x[0]),
    number("step", (2, 2), |x| math::step(x[0], x[1])),
    float("tan", 1, |x| x[0].tan()),
    float("tanh", 1, |x| x[0].tanh()),
    float("trunc", 1, |x| x[0].trunc()),
    number("wrap", (3, 3), |x| math::wrap(x[0], x[1], x[2])),
];

/// Functions that are not in the table because they depend on the form of their arguments, with
/// their numbers of arguments.
pub(super) const SPECIAL: &[(&str, usize)] = &[("if", 3), ("pow", 2)];

/// The position of a function in [`FUNCTIONS`].
pub(super) fn find(name: &str) -> Option<usize> {
    FUNCTIONS.binary_search_by(|function| function.name.cmp(name)).ok()
}

/// The names of all functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|f| f.name).chain(SPECIAL.iter().map(|(name, _)| *name))
}

/// The named constants.
pub(super) const CONSTANTS: &[(&str, f64)] = &[
    ("pi", std::f64::consts::PI),
    ("tau", std::f64::consts::TAU),
    ("e", std::f64::consts::E),
    ("inf", f64::INFINITY),
    ("nan", f64::NAN),
];
