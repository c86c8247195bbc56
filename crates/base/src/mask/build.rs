//! The shared storage of masks, and how it is built from ascending runs.

use std::{ops::Range, sync::Arc};

use super::{Mask, Repr, View};

/// Shorter runs are stored as indices. A range takes the space of three indices, and moving to the
/// next segment costs the time of a few elements.
pub(super) const MIN_RANGE: u32 = 32;

/// Segments in ascending order. A run of `MIN_RANGE` or more is always one range segment.
#[derive(Debug)]
pub(super) struct Storage {
    segments: Box<[StoredSegment]>,
    /// The indices of all non-range segments, in order.
    indices: Box<[u32]>,
    /// Number of elements in all segments.
    len: u32,
}

#[derive(Clone, Copy, Debug)]
struct StoredSegment {
    /// Number of elements before the segment.
    ordinal: u32,
    /// The first index.
    first: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Consecutive indices.
    Range,
    /// The position of the first index in the index buffer.
    Indices(u32),
}

/// Part of a segment, with its ends as `u32`.
pub(super) enum Cut<'a> {
    Range(Range<u32>),
    Indices(&'a [u32]),
}

impl Storage {
    /// The segment that holds this ordinal: `from` or a later one.
    ///
    /// Gallops from `from`, so nearby segments are found quickly.
    pub(super) fn segment_of(&self, from: usize, ordinal: u32) -> usize {
        let rest = &self.segments[from..];
        let mut step = 1;
        while step < rest.len() && rest[step].ordinal <= ordinal {
            step *= 2;
        }
        let (near, far) = (step / 2, rest.len().min(step + 1));
        let after = rest[near..far].partition_point(|segment| segment.ordinal <= ordinal);
        from + near + after - 1
    }

    /// The first ordinal in these segments whose index is at least `index`.
    pub(super) fn ordinal_of(&self, segments: Range<usize>, index: usize) -> u32 {
        let within = &self.segments[segments.clone()];
        let after = within.partition_point(|segment| segment.first as usize <= index);
        if after == 0 {
            return self.ordinal_at(segments.start);
        }
        let at = segments.start + after - 1;
        let segment = self.segments[at];
        let end = self.ordinal_at(at + 1);
        let inside = match segment.kind {
            Kind::Range => index - segment.first as usize,
            Kind::Indices(offset) => {
                let offset = offset as usize;
                self.indices[offset..offset + (end - segment.ordinal) as usize]
                    .partition_point(|&other| (other as usize) < index)
            }
        };
        segment.ordinal + inside.min((end - segment.ordinal) as usize) as u32
    }

    /// The ordinal at which a segment starts; the total length for the end of the segments.
    fn ordinal_at(&self, segment: usize) -> u32 {
        self.segments.get(segment).map_or(self.len, |segment| segment.ordinal)
    }

    /// The index with this ordinal.
    pub(super) fn index_at(&self, ordinal: u32) -> u32 {
        let after = self.segments.partition_point(|segment| segment.ordinal <= ordinal);
        self.index_in(after - 1, ordinal)
    }

    /// The index with this ordinal, which lies in the given segment.
    pub(super) fn index_in(&self, segment: usize, ordinal: u32) -> u32 {
        let StoredSegment { ordinal: start, first, kind } = self.segments[segment];
        match kind {
            Kind::Range => first + (ordinal - start),
            Kind::Indices(offset) => self.indices[(offset + (ordinal - start)) as usize],
        }
    }

    /// The index with this ordinal if the given segment, in which it lies, is a range.
    pub(super) fn range_start(&self, segment: usize, ordinal: u32) -> Option<u32> {
        match self.segments[segment].kind {
            Kind::Range => Some(self.index_in(segment, ordinal)),
            Kind::Indices(_) => None,
        }
    }

    /// The nonempty part of a segment with ordinals in `lo..hi`.
    pub(super) fn cut(&self, at: usize, lo: u32, hi: u32) -> Cut<'_> {
        let segment = self.segments[at];
        let lo = lo.max(segment.ordinal) - segment.ordinal;
        let hi = hi.min(self.ordinal_at(at + 1)) - segment.ordinal;
        match segment.kind {
            Kind::Range => Cut::Range(segment.first + lo..segment.first + hi),
            Kind::Indices(offset) => {
                Cut::Indices(&self.indices[(offset + lo) as usize..(offset + hi) as usize])
            }
        }
    }
}

/// Collects ascending indices and runs into a mask.
#[derive(Default)]
pub(super) struct MaskBuilder {
    segments: Vec<StoredSegment>,
    indices: Vec<u32>,
    /// Number of elements in finished runs.
    len: u32,
    /// Whether the last finished segment accepts more indices.
    open: bool,
    /// The start of the run that may still grow.
    start: u32,
    end: u32,
}

impl MaskBuilder {
    /// Appends an index greater than all previous ones.
    #[inline]
    pub(super) fn push(&mut self, index: u32) {
        if index != self.end || self.start == self.end {
            self.finish_run();
            self.start = index;
        }
        self.end = index + 1;
    }

    /// Appends the indices `start..end`; `start` is not below the start of the previous run.
    #[inline]
    pub(super) fn push_run(&mut self, start: u32, end: u32) {
        if start >= end {
            return;
        }
        if self.start < self.end && start <= self.end {
            self.end = self.end.max(end);
            return;
        }
        self.finish_run();
        (self.start, self.end) = (start, end);
    }

    #[inline]
    fn finish_run(&mut self) {
        let (start, end) = (self.start, self.end);
        if start == end {
            return;
        }
        let is_range = end - start >= MIN_RANGE;
        if is_range || !self.open {
            let kind =
                if is_range { Kind::Range } else { Kind::Indices(self.indices.len() as u32) };
            self.segments.push(StoredSegment { ordinal: self.len, first: start, kind });
            self.open = !is_range;
        }
        if !is_range {
            self.indices.extend(start..end);
        }
        self.len += end - start;
    }

    pub(super) fn finish(mut self) -> Mask {
        if self.len == 0 {
            return Mask::from_u32_range(self.start, self.end);
        }
        self.finish_run();
        let storage = Storage {
            segments: self.segments.into_boxed_slice(),
            indices: self.indices.into_boxed_slice(),
            len: self.len,
        };
        let (lo, hi, seg_lo, seg_hi) = (0, self.len, 0, storage.segments.len() as u32);
        Mask { repr: Repr::View(View { storage: Arc::new(storage), lo, hi, seg_lo, seg_hi }) }
    }
}

/// The mask of strictly ascending indices. Reuses their buffer if there are no long runs.
pub(super) fn from_ascending(indices: Vec<u32>) -> Mask {
    let reach = MIN_RANGE as usize - 1;
    let has_range = indices.windows(reach + 1).any(|run| run[reach] - run[0] == reach as u32);
    let mut builder = MaskBuilder::default();
    let is_range = match (indices.first(), indices.last()) {
        (Some(first), Some(last)) => (last - first) as usize + 1 == indices.len(),
        (_, _) => true,
    };
    if has_range || is_range {
        for index in indices {
            builder.push(index);
        }
        return builder.finish();
    }
    let segment = StoredSegment { ordinal: 0, first: indices[0], kind: Kind::Indices(0) };
    let len = indices.len() as u32;
    let storage =
        Storage { segments: Box::new([segment]), indices: indices.into_boxed_slice(), len };
    let view = View { storage: Arc::new(storage), lo: 0, hi: len, seg_lo: 0, seg_hi: 1 };
    Mask { repr: Repr::View(view) }
}
