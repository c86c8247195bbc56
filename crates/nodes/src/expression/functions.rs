//! The functions and constants of expressions.

use std::sync::LazyLock;

use millstream_base::Lane;
use millstream_form::{Op, Val};

use crate::{math, mix};

/// A function that can be called in an expression.
#[derive(Clone, Copy)]
pub(super) struct Function {
    pub(super) name: &'static str,
    /// Smallest and largest number of arguments.
    pub(super) arity: (usize, usize),
    /// The type of its arguments.
    pub(super) takes: Takes,
    /// The type of its result.
    pub(super) gives: Kind,
    /// The definition.
    apply: Apply,
}

/// What a function computes.
#[derive(Clone, Copy)]
enum Apply {
    /// An operation on the arguments.
    Operation(Op),
    /// An expression in as many arguments as the arity allows.
    Composed(for<'b> fn(&[Val<'b>]) -> Val<'b>),
}

impl Function {
    /// The value for these arguments, all of one lane that the function takes.
    pub(super) fn apply<'b>(&self, args: &[Val<'b>]) -> Val<'b> {
        match self.apply {
            Apply::Operation(op) => {
                let to = op.result_lane(args[0].lane());
                args[0].builder().emit(op, to.expect("the function takes the lane"), args)
            }
            Apply::Composed(apply) => apply(args),
        }
    }
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
    Function {
        name,
        arity,
        takes: Takes::Numbers,
        gives: Kind::Number,
        apply: Apply::Composed(apply),
    }
}

const fn float(
    name: &'static str,
    n_args: usize,
    apply: for<'b> fn(&[Val<'b>]) -> Val<'b>,
) -> Function {
    Function {
        name,
        arity: (n_args, n_args),
        takes: Takes::Floats,
        gives: Kind::Number,
        apply: Apply::Composed(apply),
    }
}

const fn test(name: &'static str, apply: for<'b> fn(&[Val<'b>]) -> Val<'b>) -> Function {
    Function {
        name,
        arity: (1, 1),
        takes: Takes::Floats,
        gives: Kind::Truth,
        apply: Apply::Composed(apply),
    }
}

fn fold<'b>(x: &[Val<'b>], join: fn(Val<'b>, Val<'b>) -> Val<'b>) -> Val<'b> {
    x.iter().copied().reduce(join).expect("the function takes at least one argument")
}

/// Functions of more than one operation.
const COMPOSED: &[Function] = &[
    number("clamp", (3, 3), |x| mix::clamp(x[0], x[1], x[2])),
    float("degrees", 1, |x| math::degrees(x[0])),
    number("fmod", (2, 2), |x| x[0] % x[1]),
    float("inverse_mix", 3, |x| mix::inverse_mix(x[0], x[1], x[2])),
    float("inverse_sqrt", 1, |x| 1 / x[0].sqrt()),
    test("is_infinite", |x| x[0].abs().eq(f64::INFINITY)),
    float("lerp", 3, |x| mix::mix(x[0], x[1], x[2])),
    Function {
        name: "log",
        arity: (1, 2),
        takes: Takes::Floats,
        gives: Kind::Number,
        apply: Apply::Composed(|x| if x.len() == 1 { x[0].ln() } else { x[0].ln() / x[1].ln() }),
    },
    number("max", (2, MANY), |x| fold(x, |a, b| a.max(b))),
    number("min", (2, MANY), |x| fold(x, |a, b| a.min(b))),
    float("mix", 3, |x| mix::mix(x[0], x[1], x[2])),
    number("mod", (2, 2), |x| math::floored_modulo(x[0], x[1])),
    float("ping_pong", 2, |x| math::ping_pong(x[0], x[1])),
    float("radians", 1, |x| math::radians(x[0])),
    float("reciprocal", 1, |x| 1 / x[0]),
    number("safe_divide", (2, 2), |x| math::safe_divide(x[0], x[1])),
    float("smooth_max", 3, |x| math::smooth_maximum(x[0], x[1], x[2])),
    float("smooth_min", 3, |x| math::smooth_minimum(x[0], x[1], x[2])),
    float("smootherstep", 3, |x| mix::smootherstep(x[0], x[1], x[2])),
    float("smoothstep", 3, |x| mix::smoothstep(x[0], x[1], x[2])),
    float("snap", 2, |x| math::snap(x[0], x[1], x[0].like(0))),
    number("square", (1, 1), |x| x[0] * x[0]),
    number("step", (2, 2), |x| math::step(x[0], x[1])),
    number("wrap", (3, 3), |x| math::wrap(x[0], x[1], x[2])),
];

/// The functions that are one operation each, by the names in the table of operations.
fn operations() -> impl Iterator<Item = Function> {
    Op::COMPUTING.iter().filter_map(|op| {
        let name =
            op.function().filter(|name| SPECIAL.iter().all(|(special, _)| special != name))?;
        let is_test = op.result_lane(Lane::F32) == Some(Lane::Bool);
        Some(Function {
            name,
            arity: (op.arity(), op.arity()),
            takes: if op.takes(Lane::I32) { Takes::Numbers } else { Takes::Floats },
            gives: if is_test { Kind::Truth } else { Kind::Number },
            apply: Apply::Operation(*op),
        })
    })
}

/// All functions but those in [`SPECIAL`], sorted by name.
pub(super) static FUNCTIONS: LazyLock<Vec<Function>> = LazyLock::new(|| {
    let mut functions: Vec<Function> = COMPOSED.iter().copied().chain(operations()).collect();
    functions.sort_unstable_by_key(|function| function.name);
    functions
});

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
