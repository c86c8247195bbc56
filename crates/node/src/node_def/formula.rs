//! What a formula in a setting says before the types of its inputs are known.

use std::ops::Range;
use std::sync::Arc;

use super::NodeDef;
use crate::settings::Settings;

/// The content of a formula.
#[derive(Clone, Debug)]
pub struct Formula {
    /// A text that formulas share if they differ at most in spaces and in the names of inputs.
    pub structure: String,
    /// The node types that it calls.
    pub calls: Vec<FormulaCall>,
    /// What each of its terms is computed from, each after those terms; the last one is the whole
    /// formula.
    pub terms: Vec<FormulaTerm>,
    /// The bytes of each term in the text.
    pub ranges: Vec<Range<usize>>,
    /// The conditions of choices that are computed from inputs and are truth values, whatever the
    /// types of the inputs are. They call no node types.
    pub tests: Vec<FormulaTest>,
}

/// A condition that a formula computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormulaTest {
    /// The bytes of the text, without negations before it.
    pub text: Range<usize>,
    /// The inputs, ascending.
    pub inputs: Vec<u32>,
    /// Those that must be truth values for the condition to be one.
    pub truths: Vec<u32>,
}

/// What a term of a formula is computed from: an input, or other terms, by position.
#[derive(Clone, Debug)]
pub enum FormulaTerm {
    /// An input.
    Input(u32),
    /// A truth value.
    Truth(bool),
    /// A number, and the integer as which it is written.
    Number(f64, Option<i64>),
    /// Whether a term is false.
    Not(u32),
    /// A function of two truth values, see [`Truth::Table`].
    Table(u8, [u32; 2]),
    /// A comparison of two terms, see [`Truth::Compare`].
    Compare(u8, [u32; 2]),
    /// A call of a node type, with the names of inputs and the arguments.
    Call(Arc<str>, Vec<(Option<Arc<str>>, u32)>),
    /// One of two terms, of which only that one is computed.
    Choose {
        /// The condition.
        condition: u32,
        /// The term if the condition is false, and if it is true.
        arms: [u32; 2],
    },
    /// A truth value that is computed from these terms.
    Test(Vec<u32>),
    /// All of these terms.
    Of(Vec<u32>),
}

impl Formula {
    /// The input, and how often it is negated, if the formula is nothing else.
    pub fn negations(&self) -> Option<(u32, u32)> {
        match self.stem(self.terms.len().checked_sub(1)? as u32) {
            (FormulaTerm::Input(input), n) => Some((*input, n)),
            _ => None,
        }
    }

    /// The truth value of the formula, if it says nothing else.
    pub fn constant(&self) -> Option<bool> {
        self.truths(&|_| None).pop()?
    }

    /// The inputs that are conditions, or truth values from which conditions are computed.
    pub fn conditions(&self) -> Vec<u32> {
        let mut inputs: Vec<u32> = Vec::new();
        let mut is_seen = vec![false; self.terms.len()];
        let mut stack: Vec<u32> = Vec::new();
        for term in &self.terms {
            if let FormulaTerm::Choose { condition, .. } = term {
                stack.push(*condition);
            }
            while let Some(at) = stack.pop() {
                if std::mem::replace(&mut is_seen[at as usize], true) {
                    continue;
                }
                match &self.terms[at as usize] {
                    FormulaTerm::Input(input) if !inputs.contains(input) => inputs.push(*input),
                    FormulaTerm::Not(of) => stack.push(*of),
                    FormulaTerm::Table(_, of) | FormulaTerm::Compare(_, of) => {
                        stack.extend(of.iter().rev());
                    }
                    FormulaTerm::Choose { condition, arms } => {
                        stack.extend(arms);
                        stack.push(*condition);
                    }
                    FormulaTerm::Input(_)
                    | FormulaTerm::Truth(_)
                    | FormulaTerm::Number(..)
                    | FormulaTerm::Call(..)
                    | FormulaTerm::Test(_)
                    | FormulaTerm::Of(_) => {}
                }
            }
        }
        inputs
    }

    /// Whether the value depends on each of `n_inputs` inputs, if some have a known truth value.
    pub fn needs(&self, n_inputs: usize, known: &dyn Fn(u32) -> Option<bool>) -> Vec<bool> {
        let truths = self.truths(known);
        let mut needed = vec![false; n_inputs];
        let mut is_seen = vec![false; self.terms.len()];
        let mut stack: Vec<u32> = (self.terms.len() as u32).checked_sub(1).into_iter().collect();
        while let Some(term) = stack.pop() {
            if std::mem::replace(&mut is_seen[term as usize], true) {
                continue;
            }
            match &self.terms[term as usize] {
                FormulaTerm::Input(input) => needed[*input as usize] = true,
                FormulaTerm::Truth(_) | FormulaTerm::Number(..) => {}
                FormulaTerm::Not(of) => stack.push(*of),
                FormulaTerm::Table(_, of) | FormulaTerm::Compare(_, of) => stack.extend(of),
                FormulaTerm::Call(_, args) => stack.extend(args.iter().map(|(_, arg)| *arg)),
                FormulaTerm::Test(terms) | FormulaTerm::Of(terms) => stack.extend(terms),
                FormulaTerm::Choose { condition, arms } => {
                    stack.push(*condition);
                    match truths[*condition as usize] {
                        Some(value) => stack.push(arms[usize::from(value)]),
                        None => stack.extend(arms),
                    }
                }
            }
        }
        needed
    }

    /// The truth values of the terms, as far as they follow from those of inputs.
    fn truths(&self, known: &dyn Fn(u32) -> Option<bool>) -> Vec<Option<bool>> {
        let mut truths: Vec<Option<bool>> = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let truth = |at: &u32| truths[*at as usize];
            let of_table = |table: u8, [a, b]: [Option<bool>; 2]| {
                let fits = |known: Option<bool>, value| known.is_none_or(|known| known == value);
                let both = |at: u8| fits(a, at & 1 == 1) && fits(b, at & 2 == 2);
                let mut values = (0..4).filter(|at| both(*at)).map(|at| table >> at & 1 == 1);
                let first = values.next()?;
                values.all(|value| value == first).then_some(first)
            };
            truths.push(match term {
                FormulaTerm::Truth(value) => Some(*value),
                FormulaTerm::Input(input) => known(*input),
                FormulaTerm::Not(of) => truth(of).map(|value| !value),
                FormulaTerm::Table(table, [a, b]) => of_table(*table, [truth(a), truth(b)]),
                FormulaTerm::Compare(outcomes, [a, b]) => match (truth(a), truth(b)) {
                    (Some(a), Some(b)) => Some(outcomes >> (a.cmp(&b) as i8 + 1) & 1 == 1),
                    _ => None,
                },
                // Numbers may be chosen, too: only whole choices of truth values are one.
                FormulaTerm::Choose { condition, arms: [no, yes] } => match truth(condition) {
                    Some(value) => truth(if value { yes } else { no }),
                    None => truth(no).filter(|_| truth(no) == truth(yes)),
                },
                FormulaTerm::Number(..)
                | FormulaTerm::Call(..)
                | FormulaTerm::Test(_)
                | FormulaTerm::Of(_) => None,
            });
        }
        truths
    }

    /// The whole formula.
    pub fn last(&self) -> u32 {
        (self.terms.len() as u32).saturating_sub(1)
    }

    /// The inputs that must be truth values for a term to be one, given which node types give one;
    /// `None` if it is none.
    pub fn truths_of(&self, term: u32, gives_truth: &dyn Fn(&str) -> bool) -> Option<Vec<u32>> {
        let (mut truths, mut stack) = (Vec::new(), vec![term]);
        while let Some(at) = stack.pop() {
            match self.terms.get(at as usize)? {
                FormulaTerm::Choose { arms, .. } => stack.extend(arms),
                FormulaTerm::Input(input) => truths.push(*input),
                FormulaTerm::Truth(_)
                | FormulaTerm::Not(_)
                | FormulaTerm::Table(..)
                | FormulaTerm::Compare(..)
                | FormulaTerm::Test(_) => {}
                FormulaTerm::Call(name, _) if gives_truth(name) => {}
                FormulaTerm::Number(..) | FormulaTerm::Call(..) | FormulaTerm::Of(_) => {
                    return None;
                }
            }
        }
        Some(truths)
    }

    /// A term without its negations, and their number.
    fn stem(&self, term: u32) -> (&FormulaTerm, u32) {
        let (mut term, mut n) = (&self.terms[term as usize], 0);
        while let FormulaTerm::Not(of) = term {
            (term, n) = (&self.terms[*of as usize], n + 1);
        }
        (term, n)
    }
}

/// How the truth value that a node gives follows from its first two inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// From truth values `a` and `b`: bit `a + 2 b` of the table.
    Table(u8),
    /// From a comparison of `a` and `b`: bit 0 if `a` is less, 1 if both are equal, 2 if `a` is
    /// greater, and 3 if one of them is NaN or vectors differ.
    Compare(u8),
}

/// A call of a node type in a formula.
#[derive(Clone, Debug)]
pub struct FormulaCall {
    /// The name of the node type.
    pub node: Arc<str>,
    /// The positions of the inputs on which the arguments depend.
    pub inputs: Vec<u32>,
}

/// A call of a group in the text of a formula.
#[derive(Clone, Debug)]
pub struct GroupCall {
    /// The bytes of the name.
    pub group: Range<usize>,
    /// The bytes of the call, without what is chosen of it.
    pub whole: Range<usize>,
    /// The arguments.
    pub args: Vec<GroupArgument>,
    /// The bytes of the name after the call and a point: of an output, or of components.
    pub output: Option<Range<usize>>,
}

/// An argument of a call of a group.
#[derive(Clone, Debug)]
pub struct GroupArgument {
    /// The bytes of the name of the input, if it is not given by position.
    pub name: Option<Range<usize>>,
    /// The bytes of the value, which is a formula.
    pub value: Range<usize>,
}

/// Finds the calls of groups in a text, given whether a name is that of a group.
pub type FindGroupCalls = fn(&str, &dyn Fn(&str) -> bool) -> Vec<GroupCall>;

/// How a setting with a formula is read.
#[derive(Clone)]
pub struct FormulaSetting {
    /// The name of the setting.
    pub name: &'static str,
    /// Reads a formula; `None` if the text is none.
    pub read: fn(&str) -> Option<Formula>,
    /// A formula whose text has none of these parts does not choose.
    pub choosing: &'static [&'static str],
    /// Finds the outermost calls of groups, which are the names that the second argument accepts
    /// and no function has.
    pub group_calls: FindGroupCalls,
    /// The fault in the brackets of a call, given the bytes of the name that is called.
    pub fault_in_call: fn(&str, Range<usize>) -> Option<FormulaFault>,
}

/// A fault in a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormulaFault {
    /// The problem.
    pub message: String,
    /// The bytes of the text in which the problem is.
    pub range: Range<usize>,
    /// The next step for the author.
    pub hint: Option<String>,
}

impl NodeDef {
    /// Declares that a setting holds a formula.
    pub fn formula(mut self, setting: FormulaSetting) -> Self {
        self.formula = Some(setting);
        self
    }

    /// The formula in the settings, if the node type has one.
    pub fn formula_in(&self, settings: &Settings) -> Option<Formula> {
        let FormulaSetting { name, read, .. } = self.formula.as_ref()?;
        read(settings.text(name))
    }
}
