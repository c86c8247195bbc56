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
