//! Functions that read items of a list at known positions.

use super::{Call, Failure};

/// How the result of a function follows from the items of its first input, one list. Where few
/// items change, only what reads them is computed again.
#[derive(Clone, Copy)]
pub enum Gather<'f> {
    /// An element is computed from a few items and from that element of the other inputs.
    Elements(&'f dyn ItemsRead),
    /// The result is a list of copies of items.
    Copies(&'f dyn ItemsRead),
}

/// The positions at which a function reads its first input. They depend on the number of its items
/// and on the other inputs, not on the values of the items.
pub trait ItemsRead: Send + Sync {
    /// Calls `visit` with each element of the result, or with the position of each item of the list
    /// that is the result, and with each item that is read for it.
    ///
    /// # Errors
    /// If the function fails.
    fn items_read(
        &self,
        call: &Call<'_>,
        visit: &mut dyn FnMut(usize, usize),
    ) -> Result<(), Failure>;
}
