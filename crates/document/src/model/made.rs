//! Nodes that come from formulas that call groups.

use std::sync::Arc;

use super::Input;

/// How a node comes from a formula that calls groups.
#[derive(Clone, Debug, PartialEq)]
pub enum Made {
    /// The node of the formula itself, which reads other nodes in place of its calls, and has
    /// inputs that the formula does not mention.
    Rest {
        /// The names of the inputs that the formula mentions, as it is written.
        mentioned: Vec<Arc<str>>,
    },
    /// The node of a muted formula, which passes on its first input.
    Passing {
        /// Its other inputs.
        unread: Vec<Input>,
    },
    /// A node that stands for a part of the formula.
    Part(Part),
}

/// A part of a formula: a call of a group, or an argument of such a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The name of the formula's node.
    pub formula: Arc<str>,
    /// The name of the called group.
    pub group: Arc<str>,
    /// The number of the call among those of this group in the formula.
    pub number: u32,
    /// The position of the argument; `None` for the call itself.
    pub argument: Option<u32>,
    /// The arguments of the call that are given to no input.
    pub wrong: Vec<(WrongArgument, Input)>,
}

/// Why an argument of a call is given to no input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrongArgument {
    /// It has no name, and there are fewer inputs than its position.
    Extra(usize),
    /// It has no name, and follows one with a name.
    Unnamed,
    /// It has no value.
    Empty,
    /// It is a second one for this input.
    Again(Arc<str>),
}
