//! Walking a mask by segment, by run, by element and by chunk.

use std::{iter::FusedIterator, ops::Range, slice, sync::Arc};

use super::{Mask, Repr, View, build::Cut};

/// A part of a mask that a plain loop can walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Consecutive indices, at least one.
    Range(Range<usize>),
    /// Strictly ascending indices, at least one.
    Indices(&'a [u32]),
}

impl Segment<'_> {
    /// Number of elements, at least one.
    #[expect(clippy::len_without_is_empty, reason = "a segment is never empty")]
    pub fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::Indices(indices) => indices.len(),
        }
    }
}

/// The segments of a mask, ascending.
#[derive(Clone)]
pub struct Segments<'a> {
    view: Option<&'a View>,
    /// The remaining stored segments, or the range itself.
    from: u32,
    to: u32,
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    fn next(&mut self) -> Option<Segment<'a>> {
        if self.from >= self.to {
            return None;
        }
        let Some(view) = self.view else {
            let range = self.from as usize..self.to as usize;
            self.from = self.to;
            return Some(Segment::Range(range));
        };
        let cut = view.storage.cut(self.from as usize, view.lo, view.hi);
        self.from += 1;
        Some(match cut {
            Cut::Range(range) => Segment::Range(range.start as usize..range.end as usize),
            Cut::Indices(indices) => Segment::Indices(indices),
        })
    }
}

impl FusedIterator for Segments<'_> {}

/// The elements of a mask, ascending.
#[derive(Clone)]
pub struct Iter<'a> {
    segments: Segments<'a>,
    range: Range<usize>,
    indices: slice::Iter<'a, u32>,
    /// Number of remaining elements.
    len: usize,
}

impl Iterator for Iter<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        loop {
            let next = self.range.next().or_else(|| self.indices.next().map(|&i| i as usize));
            if next.is_some() {
                self.len -= 1;
                return next;
            }
            match self.segments.next()? {
                Segment::Range(range) => self.range = range,
                Segment::Indices(indices) => self.indices = indices.iter(),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }

    fn fold<B, F: FnMut(B, usize) -> B>(self, init: B, mut f: F) -> B {
        let mut acc = self.range.fold(init, &mut f);
        acc = self.indices.fold(acc, |acc, &i| f(acc, i as usize));
        for segment in self.segments {
            acc = match segment {
                Segment::Range(range) => range.fold(acc, &mut f),
                Segment::Indices(indices) => indices.iter().fold(acc, |acc, &i| f(acc, i as usize)),
            };
        }
        acc
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl FusedIterator for Iter<'_> {}

/// Maximal runs of neighbors, ascending.
pub(super) struct Runs<'a> {
    segments: Segments<'a>,
    indices: &'a [u32],
    /// A run that has been read but may be adjacent to the next one.
    pending: Option<Range<u32>>,
}

impl<'a> Runs<'a> {
    pub(super) fn new(mask: &'a Mask) -> Self {
        Self { segments: mask.segments(), indices: &[], pending: None }
    }

    /// The next run within one segment.
    fn next_piece(&mut self) -> Option<Range<u32>> {
        if self.indices.is_empty() {
            match self.segments.next()? {
                Segment::Range(range) => return Some(range.start as u32..range.end as u32),
                Segment::Indices(indices) => self.indices = indices,
            }
        }
        let start = self.indices[0];
        let len = self.indices.windows(2).take_while(|pair| pair[0] + 1 == pair[1]).count() + 1;
        self.indices = &self.indices[len..];
        Some(start..start + len as u32)
    }
}

impl Iterator for Runs<'_> {
    type Item = Range<u32>;

    fn next(&mut self) -> Option<Range<u32>> {
        let mut run = self.pending.take().or_else(|| self.next_piece())?;
        while let Some(next) = self.next_piece() {
            if next.start != run.end {
                self.pending = Some(next);
                break;
            }
            run.end = next.end;
        }
        Some(run)
    }
}

/// The slices of a mask of a maximum length.
pub struct Chunks {
    rest: Mask,
    size: usize,
}

impl Iterator for Chunks {
    type Item = Mask;

    fn next(&mut self) -> Option<Mask> {
        let len = self.rest.len();
        if len == 0 {
            return None;
        }
        let cut = self.size.min(len);
        let chunk = self.rest.slice(0..cut);
        self.rest = self.rest.slice(cut..len);
        Some(chunk)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let n_chunks = self.rest.len().div_ceil(self.size);
        (n_chunks, Some(n_chunks))
    }
}

impl ExactSizeIterator for Chunks {}

impl FusedIterator for Chunks {}

impl Mask {
    /// The segments, ascending; kernels loop over these.
    pub fn segments(&self) -> Segments<'_> {
        match &self.repr {
            Repr::Range { start, end } => Segments { view: None, from: *start, to: *end },
            Repr::View(view) => Segments { view: Some(view), from: view.seg_lo, to: view.seg_hi },
        }
    }

    /// The elements, ascending.
    pub fn iter(&self) -> Iter<'_> {
        let (segments, indices) = (self.segments(), [].iter());
        Iter { segments, range: 0..0, indices, len: self.len() }
    }

    /// Calls `f` with every element in ascending order, in one plain loop per segment.
    #[inline]
    pub fn for_each(&self, mut f: impl FnMut(usize)) {
        for segment in self.segments() {
            match segment {
                Segment::Range(range) => range.for_each(&mut f),
                Segment::Indices(indices) => indices.iter().for_each(|&i| f(i as usize)),
            }
        }
    }

    /// Slices of `size` elements in ascending order; the last one may be shorter.
    ///
    /// # Panics
    /// If `size` is 0.
    pub fn chunks(&self, size: usize) -> Chunks {
        assert!(size > 0, "a chunk has at least one element");
        Chunks { rest: self.clone(), size }
    }

    /// Whether both are the same slice of the same storage, and therefore equal.
    pub(super) fn is_same_view(&self, other: &Self) -> bool {
        match (&self.repr, &other.repr) {
            (Repr::View(a), Repr::View(b)) => {
                Arc::ptr_eq(&a.storage, &b.storage) && (a.lo, a.hi) == (b.lo, b.hi)
            }
            (Repr::Range { start: s, end: e }, Repr::Range { start, end }) => {
                (s, e) == (start, end)
            }
            (Repr::Range { .. }, Repr::View(_)) | (Repr::View(_), Repr::Range { .. }) => false,
        }
    }
}

impl<'a> IntoIterator for &'a Mask {
    type Item = usize;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}
