//! Prefetching memory before its use.

use std::hint::black_box;

/// Number of items whose memory is prefetched together.
pub const AHEAD: usize = 64;

/// Reads memory that is about to be used. In one short loop such reads overlap; interleaved with
/// other work, each would stall.
#[inline]
pub fn read_ahead<T>(reads: impl Iterator<Item = T>) {
    reads.for_each(|read| {
        black_box(read);
    });
}
