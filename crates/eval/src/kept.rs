//! What the evaluators of this crate keep with a plan.

use millstream_ir::Plan;

use crate::chunked::Regions;
use crate::list::Lists;

/// Fused forms, lists and costs; each evaluator has its part.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) regions: Regions,
    pub(crate) lists: Lists,
}

impl Kept {
    /// What is kept with a plan.
    pub(crate) fn of(plan: &Plan) -> &Self {
        plan.notes.get_or_make(Self::default).expect("only this crate takes notes")
    }
}
