//! Reading memory ahead of its use.

use std::hint::black_box;

/// The number of things whose memory is read ahead together.
pub const AHEAD: usize = 64;

/// Reads memory that is used soon. In one short loop such reads overlap; among other work, each
/// would be waited for.
#[inline]
pub fn read_ahead<T>(reads: impl Iterator<Item = T>) {
    reads.for_each(|read| {
        black_box(read);
    });
}
