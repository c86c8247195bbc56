//! Scopes: how a socket changes the context in which its input is evaluated.

use std::sync::Arc;

use millstream_base::{Feature, Type};

use millstream_form::Form;

/// One change of the context for what is linked to a socket. Other inputs of the node are named by
/// their position among the instance's inputs and are evaluated in the node's own context.
#[derive(Clone, Debug)]
pub enum ScopeRule {
    /// Level 0 of the feature becomes the value of input `value`; what was level 0 becomes level 1.
    Inject {
        /// The feature.
        feature: Feature,
        /// The input whose value it gets.
        value: u16,
    },
    /// Opens an axis: the input is evaluated for each of `count` cells, in which level 0 of the
    /// feature is 0, 1, 2... The node receives a list per cell of its own axes.
    Each {
        /// The feature, of type `i32`.
        feature: Feature,
        /// The input that says how many cells, an `i32`; negative counts as 0.
        count: u16,
    },
    /// Level 0 of the feature becomes `form(old lanes, lanes of args)`. Needed only where something
    /// upstream needs the feature.
    Modify {
        /// The feature.
        feature: Feature,
        /// Takes the lanes of the old value, then the lanes of each argument; gives the new lanes.
        form: Arc<Form>,
        /// The inputs that are the arguments.
        args: Vec<u16>,
    },
    /// Evaluates the input along the axis that the injector of (feature, level), or the request,
    /// opened: for all its cells, extent 1 if there is none. The node receives a list per cell of
    /// its remaining axes. A feature of type `i32` is the number of the cell there; any other keeps
    /// the values that it has along the axis.
    Along {
        /// The feature.
        feature: Feature,
        /// How many injectors out.
        level: u32,
    },
}

impl ScopeRule {
    /// Whether the node receives a list of what was linked.
    pub fn gathers(&self) -> bool {
        match self {
            Self::Each { .. } | Self::Along { .. } => true,
            Self::Inject { .. } | Self::Modify { .. } => false,
        }
    }

    /// Whether it says what the feature is at this level, for an axis that it runs along: that is so
    /// for features that count cells.
    pub fn counts_along(&self, at: u32) -> bool {
        match self {
            Self::Along { feature, level } => *level == at && feature.ty() == Type::I32,
            Self::Inject { .. } | Self::Each { .. } | Self::Modify { .. } => false,
        }
    }

    /// The inputs whose values it takes, where `is_active` says whether anything inside needs what it
    /// changes. Only the extent of a loop is asked for in any case.
    pub fn uses(&self, is_active: bool) -> &[u16] {
        match self {
            Self::Each { count, .. } => std::slice::from_ref(count),
            Self::Inject { value, .. } if is_active => std::slice::from_ref(value),
            Self::Modify { args, .. } if is_active => args,
            Self::Inject { .. } | Self::Modify { .. } | Self::Along { .. } => &[],
        }
    }

    /// The feature that changes.
    pub fn feature(&self) -> &Feature {
        match self {
            Self::Inject { feature, .. }
            | Self::Each { feature, .. }
            | Self::Modify { feature, .. }
            | Self::Along { feature, .. } => feature,
        }
    }
}
