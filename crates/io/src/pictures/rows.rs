//! Rows of a picture, pulled by the writers.

use std::io::{self, Seek, Write};
use std::ops::Range;
use std::thread::available_parallelism;

use millstream_base::Image;
use millstream_base::value::one_nan::make_one_nan;

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

type Pull<'a> = &'a mut dyn FnMut(Range<usize>) -> Result<Part<'a>, Stop>;

/// Some rows of a picture, from the top.
pub(super) enum Part<'a> {
    Values(Vec<f32>),
    /// These rows of an image, counted from the top.
    OfImage(&'a Image, Range<usize>),
}

impl Part<'_> {
    /// One or more rows in each slice.
    pub(super) fn slices(&self) -> impl Iterator<Item = &[f32]> {
        let (values, rows) = match self {
            Self::Values(values) => (Some(&values[..]), None),
            Self::OfImage(image, rows) => (None, Some((image, rows))),
        };
        let of_image = rows.into_iter().flat_map(|(image, rows)| {
            let rows = rows.clone();
            rows.map(|row| image.row_from_top(row))
        });
        values.into_iter().chain(of_image)
    }

    fn into_values(self) -> Vec<f32> {
        match self {
            Self::Values(values) => values,
            Self::OfImage(image, rows) => {
                let length = image.width() * image.n_channels();
                let mut values = Vec::with_capacity(rows.len() * length);
                rows.for_each(|row| values.extend_from_slice(image.row_from_top(row)));
                values
            }
        }
    }
}

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

    /// The next rows, a multiple of [`UNIT`] except at the end; `None` after the last. All NaNs have
    /// the same bits.
    pub(super) fn next(&mut self) -> Result<Option<Vec<f32>>, Stop> {
        let Some(part) = self.next_part()? else { return Ok(None) };
        let mut values = part.into_values();
        make_one_nan(&mut values);
        Ok(Some(values))
    }

    /// The same rows as they are, which are not copied if they are those of an image.
    pub(super) fn next_part(&mut self) -> Result<Option<Part<'a>>, Stop> {
        let range = self.next..self.height.min(self.next + self.n_at_once);
        if range.is_empty() {
            return Ok(None);
        }
        let part = (self.pull)(range.clone())?;
        let n_values: usize = part.slices().map(<[f32]>::len).sum();
        assert_eq!(n_values, range.len() * self.length, "channels of the rows {range:?}");
        self.next = range.end;
        Ok(Some(part))
    }
}
