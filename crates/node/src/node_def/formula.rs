//! What a formula in a setting says before the types of its inputs are known.

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

/// Reads the formula in the settings; `None` if there is none.
pub(super) type ReadFormula = dyn Fn(&Settings) -> Option<Formula> + Send + Sync;

impl NodeDef {
    /// Declares that a setting holds a formula, which `read` reads.
    pub fn formula(
        mut self,
        read: impl Fn(&Settings) -> Option<Formula> + Send + Sync + 'static,
    ) -> Self {
        self.formula = Some(Arc::new(read));
        self
    }

    /// The formula in the settings, if the node type has one.
    pub fn formula_in(&self, settings: &Settings) -> Option<Formula> {
        self.formula.as_ref().and_then(|read| read(settings))
    }
}
