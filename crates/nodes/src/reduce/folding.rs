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

/// A reduction of items of type `T`.
pub(super) struct Folding<T, Block, JoinParts, Finished> {
    /// The partial result of one block, which has at least one item.
    pub(super) block: Block,
    /// Joins the partial results of a part of the list and of the part after it.
    pub(super) join: JoinParts,
    /// The result, from the partial result of the whole list and the number of its items, or the
    /// name of what an empty list lacks.
    pub(super) finish: Finished,
    pub(super) as_form: Option<AsForm>,
    pub(super) items: PhantomData<fn(T)>,
}

impl<T, P, R, Block, JoinParts, Finished> Function for Folding<T, Block, JoinParts, Finished>
where
    T: ValueType,
    P: ValueType + Copy,
    R: ValueType,
    Block: Fn(&[T]) -> P + Copy + Send + Sync + 'static,
    JoinParts: Fn(P, P) -> P + Copy + Send + Sync + 'static,
    Finished: Fn(Option<P>, usize) -> Result<R, &'static str> + Copy + Send + Sync + 'static,
{
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        let (block, join, finish) = (self.block, self.join, self.finish);
        try_each::<(Items<T>,), R>(move |element, (items,)| {
            let folded = tree::fold_blocks(items, block, join);
            finish(folded, items.len()).map_err(|what| nothing(element.i, what))
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

impl<T, P, R, Block, JoinParts, Finished> Blockwise for Folding<T, Block, JoinParts, Finished>
where
    T: ValueType,
    P: ValueType + Copy,
    R: ValueType,
    Block: Fn(&[T]) -> P + Copy + Send + Sync + 'static,
    JoinParts: Fn(P, P) -> P + Copy + Send + Sync + 'static,
    Finished: Fn(Option<P>, usize) -> Result<R, &'static str> + Copy + Send + Sync + 'static,
{
    fn block_len(&self) -> usize {
        tree::BLOCK
    }

    fn partials(&self, items: &Column, blocks: &[u32]) -> Column {
        let items = items.as_slice::<T>().expect("the items have the signature's type");
        let partial = |block: &u32| {
            let first = *block as usize * tree::BLOCK;
            (self.block)(&items[first..items.len().min(first + tree::BLOCK)])
        };
        Column::from_vec(blocks.iter().map(partial).collect::<Vec<P>>())
    }

    fn result(&self, partials: &Column, n_items: usize) -> Result<Value, Failure> {
        let parts = partials.as_slice::<P>().expect("they are partial results of this function");
        let joined = tree::join(parts.iter().copied(), self.join);
        match (self.finish)(joined, n_items) {
            Ok(result) => Ok(result.into_value()),
            Err(what) => Err(nothing(0, what)),
        }
    }
}
