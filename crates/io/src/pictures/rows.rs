//! Rows of a picture, pulled by the writers.

use std::io::{self, Seek, Write};
use std::ops::Range;
use std::thread::available_parallelism;

use super::PictureSpec;

/// A file that is being written.
pub(super) trait WriteSeek: Write + Seek {}

impl<T: Write + Seek> WriteSeek for T {}

/// Why a writer stopped; the caller adds the file name.
#[derive(Debug)]
pub(super) enum Stop {
    /// The operating system refused.
    Io(io::Error),
    /// The format cannot hold the picture.
    Refused { problem: String, hint: String },
    /// The rows could not be computed; the caller has the error.
    Rows,
}

impl Stop {
    /// The error for a failure of an encoder rather than of the operating system.
    pub(super) fn other(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Io(io::Error::other(error))
    }
}

/// The approximate number of values pulled at once for each core, few enough for its caches.
const PULLED: usize = 1 << 18;

/// Rows are pulled in multiples of this number, which block sizes of the compressed formats divide.
pub(super) const UNIT: usize = 32;

type Pull<'a> = &'a mut dyn FnMut(Range<usize>) -> Result<Vec<f32>, Stop>;

/// The rows of a picture from the top.
pub(super) struct Rows<'a> {
    pull: Pull<'a>,
    next: usize,
    height: usize,
    length: usize,
    n_at_once: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn new(spec: &PictureSpec, pull: Pull<'a>) -> Self {
        let length = spec.width * spec.n_channels;
        let mut rows = Self { pull, next: 0, height: spec.height, length, n_at_once: UNIT };
        rows.pull_at_once(available_parallelism().map_or(1, usize::from) * PULLED);
        rows
    }

    /// Pulls about so many values at once from here on.
    pub(super) fn pull_at_once(&mut self, n_values: usize) {
        self.n_at_once = (n_values / self.length / UNIT * UNIT).max(UNIT);
    }

    /// The next rows, a multiple of [`UNIT`] except at the end; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<Vec<f32>>, Stop> {
        let range = self.next..self.height.min(self.next + self.n_at_once);
        if range.is_empty() {
            return Ok(None);
        }
        let rows = (self.pull)(range.clone())?;
        assert_eq!(rows.len(), range.len() * self.length, "channels of the rows {range:?}");
        self.next = range.end;
        Ok(Some(rows))
    }
}
