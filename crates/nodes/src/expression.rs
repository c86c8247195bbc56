//! `math.expression`: a formula as text, whose free names are the inputs of the node.
//!
//! [`parse`] turns the text into terms in postfix order. These determine the sockets and types of
//! the node, and one kernel form.

mod functions;
mod lower;
mod parse;
#[cfg(test)]
mod tests;
mod token;

use std::ops::Range;
use std::sync::Arc;

use millstream_base::Type;
use millstream_form::{FormBuilder, Val};
use millstream_node::settings::SettingError;
use millstream_node::{Kernel, NodeDef, Registry, SettingKind, Signature};

use crate::shape::{T, sockets_of};
use functions::{CONSTANTS, Kind};
use token::Number;

/// Adds the node type.
pub fn register(registry: &mut Registry) {
    registry.register(
        NodeDef::new("math.expression", "Evaluates a formula written as text")
            .details(details())
            .setting("text", SettingKind::Text, None, "formula, such as `2 * x + 1`")
            .sockets_by_settings(|settings| Ok(signature(&checked(settings.text(TEXT))?)))
            .kernel(|parts| {
                let expression = checked(parts.settings.text(TEXT))?;
                let (lane, _) = parts.generics[0].lanes().expect("the inputs are numbers");
                if lane.is_integer() && expression.n_computed_powers() > MAX_INTEGER_POWERS {
                    return Err(too_many_powers());
                }
                let b = FormBuilder::new();
                let inputs: Vec<Val<'_>> =
                    expression.inputs.iter().map(|_| b.param(lane)).collect();
                let result = expression.lower(&b, lane, &inputs);
                let result = match expression.kind() {
                    Kind::Number => result.convert(lane),
                    Kind::Truth => result,
                };
                Ok(Kernel::Form(Arc::new(b.finish(&[result]).simplify())))
            }),
    );
}

const TEXT: &str = "text";

/// The largest number of integer powers with a computed exponent in one expression.
const MAX_INTEGER_POWERS: usize = 200;

fn too_many_powers() -> SettingError {
    SettingError::Refused {
        name: TEXT.into(),
        message: format!("more than {MAX_INTEGER_POWERS} integer powers with computed exponents"),
        range: None,
        hint: Some("split the formula into several nodes, or compute with floats".into()),
    }
}

/// A parsed formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// Each term after its operands; the last one is the whole formula.
    terms: Vec<Term>,
    inputs: Vec<Arc<str>>,
}

impl Expression {
    /// The names of the inputs, in order of first appearance.
    pub fn inputs(&self) -> &[Arc<str>] {
        &self.inputs
    }
}

/// Why a text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// What is wrong.
    pub message: String,
    /// The byte range of the text in which the problem is.
    pub range: Range<usize>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl SyntaxError {
    fn new(message: impl Into<String>, range: Range<usize>) -> Self {
        Self { message: message.into(), range, hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Parses the text of a `math.expression`.
///
/// # Errors
/// The first place where the text is not an expression. Text of any kind and length is either
/// parsed or refused, with bounded time and memory.
pub fn parse(text: &str) -> Result<Expression, SyntaxError> {
    parse::parse(text)
}

/// The position of a term among the terms of its expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TermId(u32);

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Number(Number),
    Truth(bool),
    Input(u32),
    Unary(Unary, TermId),
    Binary(Binary, TermId, TermId),
    /// The second term if the first is true, else the third.
    Choose(TermId, TermId, TermId),
    /// A function of the table with its arguments.
    Call(u16, Vec<TermId>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unary {
    Negate,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Binary {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
}

fn checked(text: &str) -> Result<Expression, SettingError> {
    parse(text).map_err(|error| SettingError::Refused {
        name: TEXT.into(),
        message: error.message,
        range: Some((error.range.start, error.range.end)),
        hint: error.hint,
    })
}

fn signature(expression: &Expression) -> Signature {
    let ty = match expression.kind() {
        Kind::Number => T,
        Kind::Truth => Type::BOOL.into(),
    };
    let sockets = NodeDef::new("", "").generic("T", expression.among());
    let sockets =
        expression.inputs.iter().fold(sockets, |def, name| def.input(name.to_string(), T, ""));
    sockets_of(&sockets.output("value", ty, ""))
}

fn details() -> String {
    let constants: Vec<&str> = CONSTANTS.iter().map(|(name, _)| *name).collect();
    let mut functions: Vec<&str> = functions::names().collect();
    functions.sort_unstable();
    format!(
        "Free names in the text are inputs, in order of first appearance; names of functions and \
         constants cannot be inputs.\n\n\
         Operators, from weakest to strongest: `c ? a : b`; `||`; `&&`; `==` `!=`; `<` `<=` `>` \
         `>=`; `+` `-`; `*` `/` `%`; `-x` `!x`; `x ^ y`, also written `x ** y`, which is \
         right-associative and binds more strongly than a minus before it: -x^2 is -(x^2). \
         Comparisons cannot be chained. Conditions are truth values, or numbers, which are true if \
         they are not 0; truth values count as 0 or 1 in arithmetic. Both sides of `&&`, `||` and \
         `?:` are computed.\n\n\
         All inputs have one type, which is also the type of the result, except that a formula \
         whose value is true or false gives a `bool`. With integers, `/` truncates, and so does a \
         power with a negative exponent. A number with a point or exponent, or a function that \
         needs floats, makes the whole formula compute with floats. `%` has the sign of the first \
         operand, as `fmod` does; `mod` has the sign of the second. `x ^ 2`, `x ^ 3` and `x ^ 4` \
         are products. `log` of one argument is the natural logarithm. Angles are in radians.\n\n\
         Constants: {}, true, false.\n\n\
         Functions: {}.",
        constants.join(", "),
        functions.join(", "),
    )
}
