//! Reductions of lists of known length as forms: the same tree, over values of a form.

use std::sync::Arc;

use millstream_form::Val;
use millstream_node::{Call, Failure, Function, Kernel};

use super::tree;

type Combine = for<'b> fn(Val<'b>, Val<'b>) -> Val<'b>;
type Finish = for<'b> fn(Val<'b>, usize) -> Val<'b>;

/// The kernel that runs `call`, and for a list of known length folds the items by `combine`, lane
/// by lane in the order of the tree. `finish` gets the result and the number of items.
pub(super) fn folding(
    call: impl Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync + 'static,
    combine: Combine,
    finish: Finish,
) -> Kernel {
    Kernel::Function(Arc::new(Folding { call, combine, finish }))
}

struct Folding<F> {
    call: F,
    combine: Combine,
    finish: Finish,
}

impl<F: Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync> Function for Folding<F> {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        (self.call)(call)
    }

    fn unrolled<'b>(&self, items: &[Vec<Val<'b>>]) -> Option<Vec<Val<'b>>> {
        let n_lanes = items.first()?.len();
        let lane = |lane: usize| {
            let of_items: Vec<Val<'b>> = items.iter().map(|item| item[lane]).collect();
            Some((self.finish)(tree::fold(&of_items, self.combine)?, items.len()))
        };
        (0..n_lanes).map(lane).collect()
    }
}
