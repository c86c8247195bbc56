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
}

/// What a term of a formula is computed from: an input, or other terms, by position.
#[derive(Clone, Debug)]
pub enum FormulaTerm {
    /// An input.
    Input(u32),
    /// A truth value.
    Truth(bool),
    /// Whether a term is false.
    Not(u32),
    /// One of two terms, of which only that one is computed.
    Choose {
        /// The condition.
        condition: u32,
        /// The term if the condition is false, and if it is true.
        arms: [u32; 2],
    },
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
        self.truth(self.terms.len().checked_sub(1)? as u32, &|_| None)
    }

    /// The inputs that are conditions, perhaps negated.
    pub fn conditions(&self) -> Vec<u32> {
        let mut inputs: Vec<u32> = Vec::new();
        for term in &self.terms {
            if let FormulaTerm::Choose { condition, .. } = term
                && let (FormulaTerm::Input(input), _) = self.stem(*condition)
                && !inputs.contains(input)
            {
                inputs.push(*input);
            }
        }
        inputs
    }

    /// Whether the value depends on each of `n_inputs` inputs, if some have a known truth value.
    pub fn needs(&self, n_inputs: usize, known: &dyn Fn(u32) -> Option<bool>) -> Vec<bool> {
        let mut needed = vec![false; n_inputs];
        let mut is_seen = vec![false; self.terms.len()];
        let mut stack: Vec<u32> = (self.terms.len() as u32).checked_sub(1).into_iter().collect();
        while let Some(term) = stack.pop() {
            if std::mem::replace(&mut is_seen[term as usize], true) {
                continue;
            }
            match &self.terms[term as usize] {
                FormulaTerm::Input(input) => needed[*input as usize] = true,
                FormulaTerm::Truth(_) => {}
                FormulaTerm::Not(of) => stack.push(*of),
                FormulaTerm::Of(terms) => stack.extend(terms),
                FormulaTerm::Choose { condition, arms } => {
                    stack.push(*condition);
                    match self.truth(*condition, known) {
                        Some(value) => stack.push(arms[usize::from(value)]),
                        None => stack.extend(arms),
                    }
                }
            }
        }
        needed
    }

    /// The truth value of a term that is an input or a constant, perhaps negated.
    fn truth(&self, term: u32, known: &dyn Fn(u32) -> Option<bool>) -> Option<bool> {
        let (stem, n) = self.stem(term);
        let value = match stem {
            FormulaTerm::Truth(value) => *value,
            FormulaTerm::Input(input) => known(*input)?,
            FormulaTerm::Not(_) | FormulaTerm::Choose { .. } | FormulaTerm::Of(_) => return None,
        };
        Some(value != (n % 2 == 1))
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
