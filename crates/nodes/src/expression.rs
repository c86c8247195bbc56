//! `math.expression`: a formula in text form, whose free names are the inputs of the node.
//!
//! [`parse`] turns the text into terms in postfix order. These determine the sockets; together with
//! the types of the inputs, they determine the network that replaces the node in graphs.

mod calls;
mod functions;
mod hints;
mod islands;
mod library;
mod network;
mod parse;
#[cfg(test)]
mod tests;
mod token;
#[cfg(test)]
mod tree_tests;
mod typing;

use std::ops::Range;
use std::sync::Arc;

use millstream_base::Type;
use millstream_node::node_def::formula::{FormulaFault, FormulaSetting};
use millstream_node::settings::SettingError;
use millstream_node::{
    Among, Formula, FormulaCall, FormulaTerm, FormulaTest, NodeDef, Registry, SettingKind,
    Signature, SocketType, Truth,
};
use smallvec::{SmallVec, smallvec};

use functions::{CONSTANTS, FUNCTIONS, Typing};
use library::Library;
use token::Number;

/// Adds the node type. Expressions can call the node types registered so far.
pub fn register(registry: &mut Registry) {
    let library = Arc::new(Library::new(registry));
    let of_sockets = Arc::clone(&library);
    registry.register(
        NodeDef::new(NAME, SUMMARY)
            .details(details())
            .reserves(functions::reserved())
            .setting("text", SettingKind::Text, None, "formula, such as `2 * x + 1`")
            .formula(FormulaSetting {
                name: TEXT,
                read: |text| Some(parse(text).ok()?.formula()),
                choosing: &["?", "if", "switch"],
                group_calls: calls::group_calls,
                fault_in_call: |text, name| {
                    let SyntaxError { message, range, hint, .. } = calls::fault(text, name)?;
                    Some(FormulaFault { message, range, hint })
                },
            })
            .sockets_by_settings(move |settings| {
                Ok(signature(&parsed(settings.text(TEXT), &of_sockets)?))
            })
            .shared_network(move |parts| {
                let expression = parsed(parts.settings.text(TEXT), &library)?;
                library.network(expression, parts.generics).map_err(refused)
            }),
    );
}

/// Lets expressions call the node types that were registered after them. Does nothing if the
/// registry has no expressions, or those of another library.
pub fn call_new_types(registry: &mut Registry) {
    if registry.get(NAME).is_some_and(|def| def.manual.summary == SUMMARY) {
        register(registry);
    }
}

pub(crate) const NAME: &str = "math.expression";
const SUMMARY: &str = "Evaluates a formula written as text";
const TEXT: &str = "text";

/// The node type that chooses as `c ? a : b` does.
const SWITCH: &str = "control.switch";

/// A parsed formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// Each term after its operands; the last one is the whole formula.
    terms: Vec<Term>,
    /// The byte range of each term in the text.
    ranges: Vec<Range<usize>>,
    inputs: Vec<Arc<str>>,
    /// The names of the node types that are called.
    nodes: Vec<Arc<str>>,
}

impl Expression {
    /// The names of the inputs, in order of first appearance.
    pub fn inputs(&self) -> &[Arc<str>] {
        &self.inputs
    }

    /// What it says before the types of its inputs are known.
    fn formula(&self) -> Formula {
        let call = |(at, term): (usize, &Term)| {
            let Term::Node(node, _) = term else { return None };
            let inputs = self.inputs_of(TermId(at as u32));
            Some(FormulaCall { node: Arc::clone(&self.nodes[*node as usize]), inputs })
        };
        let calls = self.terms.iter().enumerate().filter_map(call).collect();
        let structure = format!("{:?} {:?}", self.terms, self.nodes);
        let of = |term: &Term| FormulaTerm::Of(term.operands().map(|term| term.0).collect());
        let term = |term: &Term| match term {
            Term::Input(input) => FormulaTerm::Input(*input),
            Term::Truth(value) => FormulaTerm::Truth(*value),
            Term::Unary(Unary::Not, of) => FormulaTerm::Not(of.0),
            Term::Number(number) => FormulaTerm::Number(number.value, number.whole()),
            Term::Choose(condition, yes, no) => {
                FormulaTerm::Choose { condition: condition.0, arms: [no.0, yes.0] }
            }
            Term::Binary(binary, a, b) => match binary.truth() {
                Some(Truth::Table(table)) => FormulaTerm::Table(table, [a.0, b.0]),
                Some(Truth::Compare(outcomes)) => FormulaTerm::Compare(outcomes, [a.0, b.0]),
                None => of(term),
            },
            Term::Node(node, args) => {
                let node = &self.nodes[*node as usize];
                let call = || {
                    let args = args.iter().map(|(name, arg)| (name.clone(), arg.0));
                    FormulaTerm::Call(Arc::clone(node), args.collect())
                };
                (**node == *SWITCH).then(|| switched(args)).flatten().unwrap_or_else(call)
            }
            Term::Call(..) if term.is_test() => {
                FormulaTerm::Test(term.operands().map(|term| term.0).collect())
            }
            other => of(other),
        };
        let terms: Vec<FormulaTerm> = self.terms.iter().map(term).collect();
        let ranges = self.ranges.clone();
        let mut formula = Formula { structure, calls, terms, ranges, tests: Vec::new() };
        formula.tests = self.tests(&formula);
        formula
    }

    /// The conditions among these terms that are computed and are truth values.
    fn tests(&self, formula: &Formula) -> Vec<FormulaTest> {
        let terms = &formula.terms;
        let mut tests: Vec<FormulaTest> = Vec::new();
        for term in terms {
            let FormulaTerm::Choose { condition, .. } = term else { continue };
            let mut at = *condition;
            while let FormulaTerm::Not(of) = &terms[at as usize] {
                at = *of;
            }
            let is_input = matches!(terms[at as usize], FormulaTerm::Input(_));
            let Some(truths) = formula.truths_of(at, &|_| false).filter(|_| !is_input) else {
                continue;
            };
            let (text, inputs) = (self.ranges[at as usize].clone(), self.inputs_of(TermId(at)));
            let test = FormulaTest { text, inputs, truths };
            if !test.inputs.is_empty() && !self.calls_nodes(at) && !tests.contains(&test) {
                tests.push(test);
            }
        }
        tests
    }

    /// Whether a term is computed by calls of node types.
    fn calls_nodes(&self, at: u32) -> bool {
        let mut stack = vec![TermId(at)];
        while let Some(TermId(at)) = stack.pop() {
            let term = &self.terms[at as usize];
            if matches!(term, Term::Node(..)) {
                return true;
            }
            stack.extend(term.operands());
        }
        false
    }

    /// The inputs that a term reads, ascending.
    fn inputs_of(&self, term: TermId) -> Vec<u32> {
        let (mut inputs, mut stack) = (Vec::new(), vec![term]);
        while let Some(TermId(at)) = stack.pop() {
            let term = &self.terms[at as usize];
            if let Term::Input(input) = term {
                inputs.push(*input);
            }
            stack.extend(term.operands());
        }
        inputs.sort_unstable();
        inputs.dedup();
        inputs
    }

    /// Whether the value is a truth value, whatever the types of the inputs are.
    fn is_truth(&self) -> bool {
        match self.terms.last().expect("an expression has a term") {
            Term::Truth(_) | Term::Unary(Unary::Not, _) => true,
            Term::Binary(binary, ..) => binary.truth().is_some(),
            term @ Term::Call(..) => term.is_test(),
            Term::Number(_)
            | Term::Input(_)
            | Term::Unary(Unary::Negate, _)
            | Term::Choose(..)
            | Term::Node(..)
            | Term::Member(..) => false,
        }
    }
}

/// Why a text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// The problem.
    pub message: String,
    /// The byte range of the text in which the problem is.
    pub range: Range<usize>,
    /// The next step for the author.
    pub hint: Option<String>,
    /// The function that there is not, or whose arguments are wrong.
    function: Option<Box<str>>,
}

impl SyntaxError {
    fn new(message: impl Into<String>, range: Range<usize>) -> Self {
        Self { message: message.into(), range, hint: None, function: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Parses the text of a `math.expression`.
///
/// # Errors
/// The first position at which the text is not an expression. Text of any kind and length is either
/// parsed or refused in bounded time and memory.
pub fn parse(text: &str) -> Result<Expression, SyntaxError> {
    parse::parse(text)
}

/// An argument of a call, optionally with the name of the input.
type Argument = (Option<Arc<str>>, TermId);

/// The choice that a call of a switch makes; `None` if it leaves out an argument.
fn switched(args: &[Argument]) -> Option<FormulaTerm> {
    let given = |at: usize, name: &str| {
        let mut args = args.iter().enumerate();
        let is_it = |(k, (given, _)): &(usize, &Argument)| match given {
            Some(given) => **given == *name,
            None => *k == at,
        };
        args.find(is_it).map(|(_, (_, term))| term.0)
    };
    let (condition, no, yes) = (given(0, "condition")?, given(1, "false")?, given(2, "true")?);
    Some(FormulaTerm::Choose { condition, arms: [no, yes] })
}

/// The position of a term among the terms of its expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct TermId(u32);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// A call of a node type by name, with arguments by position or by input name.
    Node(u32, Vec<Argument>),
    /// Components of a vector, or an output of a node.
    Member(TermId, Arc<str>),
}

impl Term {
    /// Whether it is a function of the table that gives a truth value.
    fn is_test(&self) -> bool {
        let Self::Call(function, _) = self else { return false };
        match FUNCTIONS[*function as usize].typing {
            Typing::Test => true,
            Typing::Conversion(ty) => ty == Type::BOOL,
            Typing::Alike(_)
            | Typing::Folded
            | Typing::Mixed
            | Typing::Components(_)
            | Typing::Sockets => false,
        }
    }

    /// The terms that it is computed from.
    fn operands(&self) -> impl Iterator<Item = TermId> {
        let operands: SmallVec<[TermId; 4]> = match self {
            Self::Number(_) | Self::Truth(_) | Self::Input(_) => SmallVec::new(),
            Self::Unary(_, x) | Self::Member(x, _) => smallvec![*x],
            Self::Binary(_, x, y) => smallvec![*x, *y],
            Self::Choose(condition, yes, no) => smallvec![*condition, *yes, *no],
            Self::Call(_, args) => args.iter().copied().collect(),
            Self::Node(_, args) => args.iter().map(|(_, arg)| *arg).collect(),
        };
        operands.into_iter()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Unary {
    Negate,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

impl Binary {
    /// How the result follows from the operands, if it is a truth value.
    fn truth(self) -> Option<Truth> {
        Some(match self {
            Self::Or => Truth::Table(0b1110),
            Self::And => Truth::Table(0b1000),
            Self::Equal => Truth::Compare(0b0010),
            Self::NotEqual => Truth::Compare(0b1101),
            Self::Less => Truth::Compare(0b0001),
            Self::LessEqual => Truth::Compare(0b0011),
            Self::Greater => Truth::Compare(0b0100),
            Self::GreaterEqual => Truth::Compare(0b0110),
            Self::Add
            | Self::Subtract
            | Self::Multiply
            | Self::Divide
            | Self::Modulo
            | Self::Power => return None,
        })
    }

    fn is_comparison(self) -> bool {
        matches!(self.truth(), Some(Truth::Compare(_)))
    }

    fn is_equality(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual)
    }
}

/// The parsed text of a node.
fn parsed(text: &str, library: &Library) -> Result<Expression, SettingError> {
    parse(text).map_err(|error| {
        let better = error.function.as_deref().and_then(|name| {
            let near = || library.near(name).map(|near| format!("did you mean `{near}`?"));
            hints::usage(name, library).or_else(near)
        });
        refused(SyntaxError { hint: better.or(error.hint), ..error })
    })
}

fn refused(error: SyntaxError) -> SettingError {
    SettingError::Refused {
        name: TEXT.into(),
        message: error.message,
        range: Some((error.range.start, error.range.end)),
        hint: error.hint,
    }
}

/// Each input has its own type, which determines the type of the value.
fn signature(expression: &Expression) -> Signature {
    let ty = if expression.is_truth() { Type::BOOL.into() } else { SocketType::Made };
    let sockets = expression.inputs.iter().zip(0..).fold(NodeDef::new("", ""), |def, (name, g)| {
        let def = def.generic("T", Among::Own);
        def.input(name.to_string(), SocketType::Generic(g), "")
    });
    let sockets = sockets.output("value", ty, "").into_fixed_signature();
    sockets.expect("the sockets do not depend on settings")
}

fn details() -> String {
    let constants: Vec<&str> = CONSTANTS.iter().map(|(name, _)| *name).collect();
    let mut functions: Vec<&str> = functions::names().collect();
    functions.sort_unstable();
    format!(
        "Free names in the text are inputs, in order of first appearance; names of constants and \
         of numeric functions cannot be inputs. The formula becomes nodes that replace the node, \
         one for each operator and function: `e/1`, `e/2` and so on for a node `e`, in the order \
         of computation. Repeated terms are computed once, and of `c ? a : b` only the selected \
         value is computed; both sides of `&&` and `||` are. Links may form a cycle through `c ? a : b` \
         and calls of `control.switch` as through that node, if the condition is a truth value that \
         does not depend on them.\n\n\
         Operators, from weakest to strongest: `c ? a : b`; `||`; `&&`; `==` `!=`; `<` `<=` `>` \
         `>=`; `+` `-`; `*` `/` `%`; `-x` `!x`; `x ^ y`, also written `x ** y`, which is \
         right-associative and binds more strongly than a minus before it: -x^2 is -(x^2). \
         Comparisons cannot be chained, and give truth values. Conditions are truth values, or \
         numbers, which are true if they are not 0; truth values count as 0 or 1 in arithmetic. \
         `%` has the sign of the first operand, as `fmod` does; `mod` has the sign of the second. \
         `x ^ 2`, `x ^ 3` and `x ^ 4` are products. `log` of one argument is the natural \
         logarithm. Angles are in radians.\n\n\
         Each input has the type of its source. Numbers that are combined with each other have \
         one type, the narrowest that can hold the inputs among them: `i32`, `i64` (with floats \
         `f64`), `f32`, `f64`. Integers stay integers: `/` truncates, and so does a power with a \
         negative exponent. They become floats if they are combined with a number that is written \
         with a point or exponent, or passed to a function that needs floats. The operands of a \
         comparison may have another type than the result, and so may a condition. Numbers that \
         are not combined with integers are floats if they are multiplied or divided: `n > 0 ? 1 / 2 \
         : 1` is 0.5 or 1 for an integer `n`, and `n > 0 ? 1 : 2` is an integer. Vectors hold `f32`: a wider number that becomes a part or a factor of one is \
         narrowed, which `check` notes unless the formula says `f32(a)`.\n\n\
         Vectors are combined component by component, and a number is repeated: `2 * v + w`, \
         `max(v, 0)`, `c ? v : w`. `==` holds if all components are equal. `v.x` is a component; \
         `v.zyx` and `v.xy` are vectors of components, with the letters x, y, z, w or r, g, b, a. \
         `vec3(a, b, c)` and `vec3(v.xy, c)` have these components, and `vec3(a)` repeats one. A \
         color counts as the `vec3` of its channels; `c.a` is its alpha, and `color(r, g, b, a)` \
         is a color.\n\n\
         A node type, including one of an embedding program, is called by its name, with its \
         default settings, and with its inputs by position or by name: `noise.perlin(p, seed: \
         3)`. One of several outputs is selected after a dot: `vector.to_polar(v).angle`. A group \
         of the document is called the same way, `soften(x, by: 2)`; such a call is evaluated as a \
         node.\n\n\
         Constants: {}, true, false.\n\n\
         Functions: {}.",
        constants.join(", "),
        functions.join(", "),
    )
}
