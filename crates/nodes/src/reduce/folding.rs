//! Kernels that fold a list by the tree: each block of its items to a partial result, and the
//! partial results to one.

use std::marker::PhantomData;

use millstream_base::{Column, Value, ValueType};
use millstream_form::Val;
use millstream_node::blockwise::Blockwise;
use millstream_node::{Call, Failure, Function};

use super::{nothing, tree};
use crate::each::{Items, try_each};

/// The operation that joins two items in a form, lane by lane.
type Join = for<'b> fn(Val<'b>, Val<'b>) -> Val<'b>;
/// The result in a form, from the joined items and their number.
type Finish = for<'b> fn(Val<'b>, usize) -> Val<'b>;

/// The same reduction as a form, for a list of known length.
pub(super) type AsForm = (Join, Finish);

/// The steps of a reduction of a list.
pub(super) trait Steps: Copy + Send + Sync + 'static {
    /// The type of the items.
    type Item: ValueType;
    /// The type of partial results.
    type Part: ValueType + Copy;
    /// The type of the result.
    type Result: ValueType;

    /// The partial result of one block, which has at least one item.
    fn block(self, items: &[Self::Item]) -> Self::Part;

    /// Joins the partial results of a part of the list and of the part after it.
    fn join(self, a: Self::Part, b: Self::Part) -> Self::Part;

    /// The result, from the partial result of the whole list and the number of its items, or the
    /// name of what an empty list lacks.
    fn finish(self, all: Option<Self::Part>, n: usize) -> Result<Self::Result, &'static str>;
}

/// Steps that are closures, for items of type `T`.
#[derive(Clone, Copy)]
pub(super) struct By<T, Block, JoinParts, Finished> {
    pub(super) block: Block,
    pub(super) join: JoinParts,
    pub(super) finish: Finished,
    pub(super) items: PhantomData<fn(T)>,
}

impl<T, P, R, Block, JoinParts, Finished> Steps for By<T, Block, JoinParts, Finished>
where
    T: ValueType + Copy,
    P: ValueType + Copy,
    R: ValueType,
    Block: Fn(&[T]) -> P + Copy + Send + Sync + 'static,
    JoinParts: Fn(P, P) -> P + Copy + Send + Sync + 'static,
    Finished: Fn(Option<P>, usize) -> Result<R, &'static str> + Copy + Send + Sync + 'static,
{
    type Item = T;
    type Part = P;
    type Result = R;

    fn block(self, items: &[T]) -> P {
        (self.block)(items)
    }

    fn join(self, a: P, b: P) -> P {
        (self.join)(a, b)
    }

    fn finish(self, all: Option<P>, n: usize) -> Result<R, &'static str> {
        (self.finish)(all, n)
    }
}

/// A reduction, as a function.
pub(super) struct Folding<S> {
    pub(super) steps: S,
    pub(super) as_form: Option<AsForm>,
}

impl<S: Steps> Function for Folding<S> {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        let steps = self.steps;
        try_each::<(Items<S::Item>,), S::Result>(move |element, (items,)| {
            let folded =
                tree::fold_blocks(items, |items| steps.block(items), |a, b| steps.join(a, b));
            steps.finish(folded, items.len()).map_err(|what| nothing(element.i, what))
        })(call)
    }

    fn unrolled<'b>(&self, items: &[Vec<Val<'b>>]) -> Option<Vec<Val<'b>>> {
        let (join, finish) = self.as_form?;
        let n_lanes = items.first()?.len();
        let lane = |lane: usize| {
            let of_items: Vec<Val<'b>> = items.iter().map(|item| item[lane]).collect();
            Some(finish(tree::fold(&of_items, join)?, items.len()))
        };
        (0..n_lanes).map(lane).collect()
    }

    fn blockwise(&self) -> Option<&dyn Blockwise> {
        Some(self)
    }
}

impl<S: Steps> Blockwise for Folding<S> {
    fn block_len(&self) -> usize {
        tree::BLOCK
    }

    fn partials(&self, items: &Column, blocks: &[u32]) -> Column {
        let items = items.as_slice::<S::Item>().expect("the items have the signature's type");
        let partial = |block: &u32| {
            let first = *block as usize * tree::BLOCK;
            self.steps.block(&items[first..items.len().min(first + tree::BLOCK)])
        };
        Column::from_vec(blocks.iter().map(partial).collect::<Vec<S::Part>>())
    }

    fn result(&self, partials: &Column, n_items: usize) -> Result<Value, Failure> {
        let parts = partials.as_slice().expect("they are partial results of this function");
        let joined = tree::join(parts.iter().copied(), |a, b| self.steps.join(a, b));
        match self.steps.finish(joined, n_items) {
            Ok(result) => Ok(result.into_value()),
            Err(what) => Err(nothing(0, what)),
        }
    }
}
