//! Scopes: how a socket changes the context in which its source is evaluated.

use std::sync::Arc;

use millstream_base::{Feature, Type};

use millstream_form::Form;

/// One change of the context for the source of a socket. The rule names other inputs of the node by
/// their position in the instance; those are evaluated in the node's own context.
#[derive(Clone, Debug)]
pub enum ScopeRule {
    /// Level 0 of the feature becomes the value of input `value`; the old level 0 becomes level 1.
    Inject {
        /// The feature.
        feature: Feature,
        /// The input with the value.
        value: u16,
    },
    /// Opens an axis: the source is evaluated for each of `count` cells, in which level 0 of the
    /// feature is 0, 1, 2... The node receives a list per cell of its own axes.
    Each {
        /// The feature, of type `i32`.
        feature: Feature,
        /// The input with the number of cells, an `i32`; negative counts as 0.
        count: u16,
    },
    /// Level 0 of the feature becomes `form(old lanes, lanes of args)`. Has no effect unless the
    /// source needs the feature.
    Modify {
        /// The feature.
        feature: Feature,
        /// Takes the lanes of the old value and those of each argument; returns the new lanes.
        form: Arc<Form>,
        /// The inputs that are the arguments.
        args: Vec<u16>,
    },
    /// Evaluates the source along the axis that the injector of (feature, level), or the request,
    /// opened: for all cells of the axis, or with extent 1 if there is none. The node receives a
    /// list per cell of its remaining axes. A feature of type `i32` is the number of the cell; any
    /// other keeps its values along the axis.
    Along {
        /// The feature.
        feature: Feature,
        /// The level: the number of injectors to skip on the way out.
        level: u32,
    },
}

impl ScopeRule {
    /// Whether the node receives a list of the source's values.
    pub fn gathers(&self) -> bool {
        match self {
            Self::Each { .. } | Self::Along { .. } => true,
            Self::Inject { .. } | Self::Modify { .. } => false,
        }
    }

    /// Whether the rule sets the feature at this level to the number of the cell along its axis.
    pub fn counts_along(&self, at: u32) -> bool {
        match self {
            Self::Along { feature, level } => *level == at && feature.ty() == Type::I32,
            Self::Inject { .. } | Self::Each { .. } | Self::Modify { .. } => false,
        }
    }

    /// The inputs whose values the rule takes. `is_active` tells whether the source needs the
    /// changed feature; otherwise only the extent of a loop is taken.
    pub fn uses(&self, is_active: bool) -> &[u16] {
        match self {
            Self::Each { count, .. } => std::slice::from_ref(count),
            Self::Inject { value, .. } if is_active => std::slice::from_ref(value),
            Self::Modify { args, .. } if is_active => args,
            Self::Inject { .. } | Self::Modify { .. } | Self::Along { .. } => &[],
        }
    }

    /// The rule with other positions of the inputs that it names.
    pub(crate) fn moved(&self, to: impl Fn(u16) -> u16) -> Self {
        match self.clone() {
            Self::Inject { feature, value } => Self::Inject { feature, value: to(value) },
            Self::Each { feature, count } => Self::Each { feature, count: to(count) },
            Self::Modify { feature, form, args } => {
                Self::Modify { feature, form, args: args.into_iter().map(to).collect() }
            }
            Self::Along { feature, level } => Self::Along { feature, level },
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
