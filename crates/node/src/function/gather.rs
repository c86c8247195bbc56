//! Functions that read items of lists at known positions.

use std::ops::Range;

use millstream_base::Column;

use super::{Call, Failure};

/// How the result of a function follows from the items of lists. Where few items change, only what
/// reads them is computed again.
#[derive(Clone, Copy)]
pub enum Gather<'f> {
    /// An element is computed from a few items and from that element of the other inputs.
    Elements(&'f dyn ItemsRead),
    /// The result is a list of copies of items.
    Copies(&'f dyn ItemsRead),
    /// The result is a list, and each of its items is computed from a few items of the inputs.
    Items(&'f dyn ItemsMade),
}

/// The positions at which a function reads a list. They depend on the number of its items and on
/// the other inputs, not on the values of the items.
pub trait ItemsRead: Send + Sync {
    /// The input that is the list.
    fn list(&self) -> usize {
        0
    }

    /// Calls `visit` with each element in the mask of the call, or with the position of each item of
    /// the list that is the result, and with the position of each item that is read for it, in the
    /// list of that element.
    ///
    /// # Errors
    /// If the function fails.
    fn items_read(
        &self,
        call: &Call<'_>,
        visit: &mut dyn FnMut(usize, usize),
    ) -> Result<(), Failure>;
}

/// How a function computes single items of its result, one list. All inputs are single values.
pub trait ItemsMade: Send + Sync {
    /// Calls `visit` with the positions in the result of all items that are computed from an item
    /// of an input; an input that is no list is its own only item. Returns false if more of the
    /// result may depend on it, or so much that it is faster to compute the whole result.
    fn readers_of(
        &self,
        call: &Call<'_>,
        input: usize,
        item: usize,
        visit: &mut dyn FnMut(Range<usize>),
    ) -> bool;

    /// The positions of all items that are read, if [`readers_of`](Self::readers_of) does not know
    /// those of a list.
    fn items_read(&self) -> Option<&dyn ItemsRead> {
        None
    }

    /// The items of the result at these positions, which are in order.
    ///
    /// # Errors
    /// If the function fails.
    fn items_at(&self, call: &Call<'_>, at: &[u32]) -> Result<Column, Failure>;
}
