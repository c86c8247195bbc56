//! What the evaluators of this crate keep with a plan.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream_ir::Plan;

use crate::auto::Size;
use crate::chunked::Regions;
use crate::costs::Costs;
use crate::list::Lists;
use crate::trials::Trials;

/// Fused forms, lists and costs; each evaluator has its part.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) regions: Regions,
    pub(crate) lists: Lists,
    pub(crate) token: PlanToken,
    costs: OnceLock<Costs>,
    size: OnceLock<Size>,
    /// What the evaluators took that `auto` chooses from.
    pub(crate) evaluators: Trials<4>,
    /// What evaluations alone and with jobs took.
    pub(crate) company: Trials<2>,
}

/// Tells plans apart, also from those that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanToken(u64);

impl Default for PlanToken {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Kept {
    /// What is kept with a plan.
    pub(crate) fn of(plan: &Plan) -> &Self {
        plan.notes.get_or_make(Self::default).expect("only this crate takes notes")
    }

    /// What runs of its instances cost.
    pub(crate) fn costs(&self, plan: &Plan) -> &Costs {
        self.costs.get_or_init(|| Costs::new(plan))
    }

    /// What its steps amount to.
    pub(crate) fn size(&self, plan: &Plan) -> Size {
        *self.size.get_or_init(|| Size::of(plan))
    }
}
