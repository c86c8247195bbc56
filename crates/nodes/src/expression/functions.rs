//! The functions and constants of expressions, and the node types that compute them.

use std::sync::LazyLock;

use millstream_base::Type;
use rustc_hash::FxHashMap;

/// A function that can be called in an expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    pub(super) name: &'static str,
    /// The node type that computes it.
    pub(super) node: &'static str,
    /// The minimum and maximum number of arguments.
    pub(super) arity: (usize, usize),
    pub(super) typing: Typing,
}

/// How the types of the arguments and the result are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typing {
    /// Arguments and result have the same type.
    Alike(Takes),
    /// Like [`Alike`](Self::Alike) with all numbers, but for any number of arguments: the node
    /// combines two.
    Folded,
    /// Like [`Alike`](Self::Alike) with floats, but the last argument is a single number.
    Mixed,
    /// The arguments are floats or vectors, the result is a truth value.
    Test,
    /// The sockets of the node determine the types, in order.
    Sockets,
    /// Converts the argument to this type.
    Conversion(Type),
    /// Combines numbers, or vectors that hold several, into a value of this type.
    Components(Type),
}

/// The numbers that a function accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// Integers stay integers.
    Numbers,
    /// Integers become floats.
    Floats,
}

impl Function {
    /// Whether an input may have the same name as the function.
    pub(super) fn leaves_name(&self) -> bool {
        match self.typing {
            Typing::Alike(_) | Typing::Folded | Typing::Mixed | Typing::Test => false,
            Typing::Sockets | Typing::Conversion(_) | Typing::Components(_) => true,
        }
    }
}

/// As many arguments as fit into the text.
const MANY: usize = usize::MAX;

const fn row(
    name: &'static str,
    node: &'static str,
    arity: (usize, usize),
    typing: Typing,
) -> Function {
    Function { name, node, arity, typing }
}

const fn number(name: &'static str, node: &'static str, n_args: usize) -> Function {
    row(name, node, (n_args, n_args), Typing::Alike(Takes::Numbers))
}

const fn float(name: &'static str, node: &'static str, n_args: usize) -> Function {
    row(name, node, (n_args, n_args), Typing::Alike(Takes::Floats))
}

const fn test(name: &'static str, node: &'static str) -> Function {
    row(name, node, (1, 1), Typing::Test)
}

const fn sockets(name: &'static str, node: &'static str, n_args: usize) -> Function {
    row(name, node, (n_args, n_args), Typing::Sockets)
}

const fn conversion(name: &'static str, node: &'static str, ty: Type) -> Function {
    row(name, node, (1, 1), Typing::Conversion(ty))
}

const fn components(name: &'static str, node: &'static str, most: usize, ty: Type) -> Function {
    row(name, node, (1, most), Typing::Components(ty))
}

/// All functions except those in [`SPECIAL`], sorted by name.
pub(super) const FUNCTIONS: &[Function] = &[
    number("abs", "math.absolute", 1),
    float("acos", "math.acos", 1),
    float("acosh", "math.acosh", 1),
    float("asin", "math.asin", 1),
    float("asinh", "math.asinh", 1),
    float("atan", "math.atan", 1),
    float("atan2", "math.atan2", 2),
    float("atanh", "math.atanh", 1),
    conversion("bool", "convert.to_bool", Type::BOOL),
    float("cbrt", "math.cbrt", 1),
    float("ceil", "math.ceil", 1),
    number("clamp", "mix.clamp", 3),
    components("color", "color.combine", 4, Type::COLOR),
    float("copysign", "math.copy_sign", 2),
    float("cos", "math.cos", 1),
    float("cosh", "math.cosh", 1),
    sockets("cross", "vector.cross", 2),
    float("degrees", "math.degrees", 1),
    sockets("distance", "vector.distance", 2),
    sockets("dot", "vector.dot", 2),
    float("erf", "math.erf", 1),
    float("erfc", "math.erfc", 1),
    float("exp", "math.exp", 1),
    float("exp2", "math.exp2", 1),
    float("exp_m1", "math.exp_m1", 1),
    conversion("f32", "convert.to_f32", Type::F32),
    conversion("f64", "convert.to_f64", Type::F64),
    float("floor", "math.floor", 1),
    float("fma", "math.fma", 3),
    number("fmod", "math.modulo", 2),
    float("fract", "math.fraction", 1),
    float("gamma", "math.gamma", 1),
    float("hypot", "math.hypot", 2),
    conversion("i32", "convert.to_i32", Type::I32),
    conversion("i64", "convert.to_i64", Type::I64),
    float("inverse_mix", "mix.inverse_mix", 3),
    float("inverse_sqrt", "math.inverse_sqrt", 1),
    test("is_finite", "compare.is_finite"),
    test("is_infinite", "compare.is_infinite"),
    test("is_nan", "compare.is_nan"),
    sockets("length", "vector.length", 1),
    row("lerp", "mix.mix", (3, 3), Typing::Mixed),
    float("ln", "math.ln", 1),
    float("ln_1p", "math.ln_1p", 1),
    float("ln_gamma", "math.ln_gamma", 1),
    // With one argument, the natural logarithm.
    row("log", "math.log", (1, 2), Typing::Alike(Takes::Floats)),
    float("log10", "math.log10", 1),
    float("log2", "math.log2", 1),
    sockets("luminance", "color.luminance", 1),
    row("max", "math.maximum", (2, MANY), Typing::Folded),
    row("min", "math.minimum", (2, MANY), Typing::Folded),
    row("mix", "mix.mix", (3, 3), Typing::Mixed),
    number("mod", "math.floored_modulo", 2),
    sockets("normalize", "vector.normalize", 1),
    float("ping_pong", "math.ping_pong", 2),
    sockets("project", "vector.project", 2),
    float("radians", "math.radians", 1),
    float("reciprocal", "math.reciprocal", 1),
    sockets("reflect", "vector.reflect", 2),
    float("round", "math.round", 1),
    float("round_even", "math.round_even", 1),
    number("safe_divide", "math.safe_divide", 2),
    number("sign", "math.sign", 1),
    float("sin", "math.sin", 1),
    float("sinh", "math.sinh", 1),
    float("smooth_max", "math.smooth_maximum", 3),
    float("smooth_min", "math.smooth_minimum", 3),
    float("smootherstep", "mix.smootherstep", 3),
    float("smoothstep", "mix.smoothstep", 3),
    float("snap", "math.snap", 2),
    float("sqrt", "math.sqrt", 1),
    number("square", "math.square", 1),
    number("step", "math.step", 2),
    float("tan", "math.tan", 1),
    float("tanh", "math.tanh", 1),
    float("trunc", "math.truncate", 1),
    components("vec2", "vector.combine_vec2", 2, Type::VEC2),
    components("vec3", "vector.combine_vec3", 3, Type::VEC3),
    components("vec4", "vector.combine_vec4", 4, Type::VEC4),
    number("wrap", "math.wrap", 3),
];

/// Functions missing from the table because they are also operators, with their number of
/// arguments.
pub(super) const SPECIAL: &[(&str, usize)] = &[("if", 3), ("pow", 2)];

/// The position of a function in [`FUNCTIONS`].
pub(super) fn find(name: &str) -> Option<usize> {
    POSITIONS.get(name).copied()
}

/// The positions of functions by their names.
static POSITIONS: LazyLock<FxHashMap<&'static str, usize>> =
    LazyLock::new(|| (0..).zip(FUNCTIONS).map(|(at, function)| (function.name, at)).collect());

/// The names of all functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|f| f.name).chain(SPECIAL.iter().map(|(name, _)| *name))
}

/// Whether no input can have this name, because a function has it.
pub(super) fn is_taken(name: &str) -> bool {
    let taken = find(name).is_some_and(|function| !FUNCTIONS[function].leaves_name());
    taken || SPECIAL.iter().any(|(special, _)| *special == name)
}

/// The words that cannot be inputs.
pub(super) fn reserved() -> impl Iterator<Item = &'static str> {
    let words = ["true", "false", "and", "or", "not"];
    let constants = CONSTANTS.iter().map(|(name, _)| *name);
    constants.chain(names().filter(|name| is_taken(name))).chain(words)
}

/// The named constants.
pub(super) const CONSTANTS: &[(&str, f64)] = &[
    ("pi", std::f64::consts::PI),
    ("tau", std::f64::consts::TAU),
    ("e", std::f64::consts::E),
    ("inf", f64::INFINITY),
    ("nan", f64::NAN),
];
