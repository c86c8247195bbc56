//! Reductions of columns: partial results of blocks of elements, of which only those are computed
//! again whose elements changed.

use millstream_base::{Column, Mask, Value};
use millstream_node::{Data, Kernel};
use smallvec::smallvec;

use super::LiveGraph;
use super::call::Call;
use super::node::Flags;
use super::special::Special;

/// Shorter columns are folded as a whole, which takes no longer.
const FEWEST_BLOCKS: usize = 3;

impl LiveGraph {
    /// Runs a call that folds a column by blocks; false if it does not, or if the column is short.
    pub(super) fn run_by_blocks(&mut self, at: usize, index: usize) -> bool {
        let Special::Call(call) = &self.specials[index] else { return false };
        let Kernel::Function(function) = &call.instance.kernel else { return false };
        let Some(blockwise) = function.blockwise() else { return false };
        let Some(column) = self.folded_column(call) else { return false };
        let n_blocks = column.len().div_ceil(blockwise.block_len());
        if n_blocks < FEWEST_BLOCKS {
            return false;
        }
        let stamps = self.stamps_of(call);
        let known = call.partials.as_ref().filter(|known| known.len() == n_blocks);
        let some = known.and_then(|_| self.blocks_to_run(at, call, blockwise.block_len()));
        let partials = match (known, some) {
            (Some(known), Some(blocks)) => {
                let new = blockwise.partials(column, &blocks);
                let mut partials = known.clone();
                let mask = Mask::from_indices(blocks).expect("the blocks are in order");
                partials.overwrite(&mask, &new, |i| mask.rank(i));
                partials
            }
            _ => blockwise.partials(column, &(0..n_blocks as u32).collect::<Vec<u32>>()),
        };
        let result = blockwise.result(&partials, column.len());
        self.ran(at);
        let Special::Call(call) = &mut self.specials[index] else { return true };
        (call.seen, call.partials) = (stamps, Some(partials));
        match result {
            Ok(value) => self.give(at, index, smallvec![Some(Data::One(value))]),
            Err(failure) => self.fail(at, failure),
        }
        true
    }

    /// The column or list that a call folds, if it reads nothing else.
    fn folded_column(&self, call: &Call) -> Option<&Column> {
        // The last input is the number of elements.
        match &call.inputs[..] {
            [items, _] if call.gathers() => match self.boxes.of(&self.nodes[*items as usize]) {
                Some(Data::Many(column)) => Some(column),
                Some(Data::One(_)) | None => None,
            },
            // In a graph of numbers no changes are recorded.
            [list] if self.holds_columns() => match self.boxes.of(&self.nodes[*list as usize]) {
                Some(Data::One(Value::List(items))) => Some(items),
                Some(Data::One(_) | Data::Many(_)) | None => None,
            },
            _ => None,
        }
    }

    /// The blocks in which elements changed since the call last ran, if only these did.
    fn blocks_to_run(&self, at: usize, call: &Call, block_len: usize) -> Option<Vec<u32>> {
        if self.nodes[at].flags.has(Flags::NEW) {
            return None;
        }
        let (items, seen) = (call.inputs.first()?, call.seen.first()?);
        let stamp = self.nodes[*items as usize].value;
        if stamp == *seen {
            return Some(Vec::new());
        }
        let changed = self.boxes.changes.get(items)?.between(*seen, stamp)?;
        let mut blocks: Vec<u32> = changed.iter().map(|i| i / block_len as u32).collect();
        blocks.dedup();
        Some(blocks)
    }
}
