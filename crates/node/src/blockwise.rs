//! Functions whose result follows from partial results of blocks of a list.

use millstream_base::{Column, Value};

use crate::failure::Failure;

/// A function of one list with one output. The list is cut into blocks of equal length from its
/// start; each block has a partial result that does not depend on the other blocks, and the result
/// follows from all partial results. Where few items change, only their blocks are computed again.
pub trait Blockwise: Send + Sync {
    /// The number of items of a block; the last block of a list may have fewer.
    fn block_len(&self) -> usize;

    /// The partial results of these blocks of `items`, in the order of `blocks`.
    fn partials(&self, items: &Column, blocks: &[u32]) -> Column;

    /// The result for a list of `n_items` items with these partial results, one for each block in
    /// order. It has the same bits as that of [`Function::call`](crate::Function::call).
    ///
    /// # Errors
    /// If the function fails for the list.
    fn result(&self, partials: &Column, n_items: usize) -> Result<Value, Failure>;
}
