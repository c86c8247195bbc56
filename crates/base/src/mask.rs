//! Masks: the elements of an axis that are to be computed.
//!
//! A mask is a sorted set of element indices. Indices are below [`Mask::MAX_EXTENT`], so an index
//! and the end of a range both fit into a `u32`. A range is two numbers and never allocates. Any
//! other mask is a view of a shared, immutable list of segments, each a range or a slice of one
//! index buffer. A run of 32 or more neighbors is stored as a range, so a nearly full mask has few
//! segments. Cloning and slicing share the storage.
//!
//! Submodules: `build` builds storage from ascending runs, `iterate` walks masks by segment, run
//! and element, `algebra` has the set operations, and `project` maps masks between axes.

mod algebra;
mod build;
mod iterate;
mod project;
#[cfg(test)]
mod tests;

use std::{cmp::Ordering, fmt, ops::Range, sync::Arc};

use thiserror::Error;

use build::{MaskBuilder, Storage};
use iterate::Runs;
pub use iterate::{Chunks, Iter, Segment, Segments};

/// A sorted set of element indices: those to compute, or those already computed.
///
/// Equality, order and hash depend only on the set, not on its representation. Masks are ordered as
/// their index sequences, like `BTreeSet`.
///
/// ```
/// use millstream_base::Mask;
///
/// let odd = Mask::from_predicate(&Mask::full(10), |i| i % 2 == 1);
/// assert_eq!(format!("{:?}", odd.union(&Mask::range(0..4))), "{0..4, 5, 7, 9}");
/// assert_eq!(odd.slice(1..3), Mask::from_indices(vec![3, 5])?);
/// # Ok::<(), millstream_base::mask::MaskError>(())
/// ```
#[derive(Clone)]
pub struct Mask {
    repr: Repr,
}

/// The representation of a mask.
#[derive(Clone)]
enum Repr {
    /// The indices `start..end`; the empty mask is `0..0`.
    Range { start: u32, end: u32 },
    /// A nonempty part of shared segments.
    View(View),
}

/// The elements of a storage with ordinals `lo..hi`.
#[derive(Clone)]
struct View {
    storage: Arc<Storage>,
    /// The ordinals in the storage.
    lo: u32,
    hi: u32,
    /// The segments that hold these ordinals; the first and the last may be cut off.
    seg_lo: u32,
    seg_hi: u32,
}

/// Why a list of indices is not a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MaskError {
    /// An index is not greater than the previous one.
    #[error("index {index} at place {place} does not come after the index before it")]
    NotAscending {
        /// The position in the list.
        place: usize,
        /// The offending index.
        index: u32,
    },
    /// The index is not below [`Mask::MAX_EXTENT`].
    #[error("index {index} is beyond the largest possible one, {}", Mask::MAX_EXTENT - 1)]
    TooLarge {
        /// The offending index.
        index: u32,
    },
}

impl Mask {
    /// The exclusive upper bound of all indices.
    pub const MAX_EXTENT: usize = u32::MAX as usize;

    /// The empty mask.
    pub const fn empty() -> Self {
        Self { repr: Repr::Range { start: 0, end: 0 } }
    }

    /// The first `n` elements.
    ///
    /// # Panics
    /// If `n` is above [`Self::MAX_EXTENT`].
    pub fn full(n: usize) -> Self {
        Self::range(0..n)
    }

    /// The elements of a range; the empty mask if the range is empty or reversed.
    ///
    /// # Panics
    /// If its end is above [`Self::MAX_EXTENT`].
    pub fn range(range: Range<usize>) -> Self {
        if range.is_empty() {
            return Self::empty();
        }
        assert!(range.end <= Self::MAX_EXTENT, "mask indices fit in u32, but {range:?} does not");
        Self::from_u32_range(range.start as u32, range.end as u32)
    }

    /// The elements of a strictly ascending list.
    ///
    /// # Errors
    /// If the list is not strictly ascending or an index is not below [`Self::MAX_EXTENT`].
    pub fn from_indices(indices: Vec<u32>) -> Result<Self, MaskError> {
        for (before, pair) in indices.windows(2).enumerate() {
            if pair[0] >= pair[1] {
                return Err(MaskError::NotAscending { place: before + 1, index: pair[1] });
            }
        }
        match indices.last() {
            Some(&index) if index as usize >= Self::MAX_EXTENT => {
                Err(MaskError::TooLarge { index })
            }
            Some(_) | None => Ok(build::from_ascending(indices)),
        }
    }

    /// The positions at which the slice is true.
    ///
    /// # Panics
    /// If the slice is longer than [`Self::MAX_EXTENT`].
    pub fn from_bools(bools: &[bool]) -> Self {
        Self::from_predicate(&Self::full(bools.len()), |i| bools[i])
    }

    /// The elements of `universe` for which the predicate holds. The predicate is called once per
    /// element, in ascending order.
    pub fn from_predicate(universe: &Self, mut predicate: impl FnMut(usize) -> bool) -> Self {
        let mut builder = MaskBuilder::default();
        universe.for_each(|i| {
            if predicate(i) {
                builder.push(i as u32);
            }
        });
        builder.finish()
    }

    /// The elements for which the predicate holds and those for which it does not.
    pub fn partition(&self, bools: impl Fn(usize) -> bool) -> (Self, Self) {
        let (mut yes, mut no) = (MaskBuilder::default(), MaskBuilder::default());
        self.for_each(|i| {
            let side = if bools(i) { &mut yes } else { &mut no };
            side.push(i as u32);
        });
        (yes.finish(), no.finish())
    }

    /// Number of elements. O(1).
    pub fn len(&self) -> usize {
        match &self.repr {
            Repr::Range { start, end } => (end - start) as usize,
            Repr::View(view) => (view.hi - view.lo) as usize,
        }
    }

    /// Whether the mask is empty. O(1).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The smallest range that holds every element, `None` for the empty mask. O(1).
    pub fn bounds(&self) -> Option<Range<usize>> {
        match &self.repr {
            Repr::Range { start, end } => (start < end).then_some(*start as usize..*end as usize),
            Repr::View(view) => Some(view.first() as usize..view.last() as usize + 1),
        }
    }

    /// The elements as a range if they have no gaps; `0..0` for the empty mask. O(1).
    pub fn as_range(&self) -> Option<Range<usize>> {
        match self.bounds() {
            Some(bounds) => (bounds.len() == self.len()).then_some(bounds),
            None => Some(0..0),
        }
    }

    /// Whether the element is in the mask. O(log n).
    pub fn contains(&self, index: usize) -> bool {
        match &self.repr {
            Repr::Range { start, end } => (*start as usize..*end as usize).contains(&index),
            Repr::View(view) => {
                let ordinal = view.rank(index);
                ordinal < view.hi && view.storage.index_at(ordinal) as usize == index
            }
        }
    }

    /// Number of elements below `index`: the ordinal it has or would have. O(log n).
    pub fn rank(&self, index: usize) -> usize {
        match &self.repr {
            Repr::Range { start, end } => {
                index.clamp(*start as usize, *end as usize) - *start as usize
            }
            Repr::View(view) => (view.rank(index) - view.lo) as usize,
        }
    }

    /// The element with this ordinal; `None` past the end. O(log n).
    pub fn nth(&self, ordinal: usize) -> Option<usize> {
        if ordinal >= self.len() {
            return None;
        }
        match &self.repr {
            Repr::Range { start, .. } => Some(*start as usize + ordinal),
            Repr::View(view) => Some(view.storage.index_at(view.lo + ordinal as u32) as usize),
        }
    }

    /// The elements whose ordinals (positions in ascending order) are in the range.
    ///
    /// Shares the storage. Finding the cut costs the logarithm of its distance from the front in
    /// segments, so cutting a mask into chunks from front to back costs O(1) per chunk.
    ///
    /// # Panics
    /// If the range does not lie within `0..len`.
    pub fn slice(&self, ordinals: Range<usize>) -> Self {
        assert!(
            ordinals.start <= ordinals.end && ordinals.end <= self.len(),
            "ordinals {ordinals:?} are within the mask's length {}",
            self.len()
        );
        if ordinals.is_empty() {
            return Self::empty();
        }
        let (from, to) = (ordinals.start as u32, ordinals.end as u32);
        match &self.repr {
            Repr::Range { start, .. } => Self::from_u32_range(start + from, start + to),
            Repr::View(view) => view.slice(view.lo + from, view.lo + to),
        }
    }

    /// The elements within a range of indices. Shares the storage; O(log n).
    pub fn within(&self, indices: Range<usize>) -> Self {
        let (from, to) = (self.rank(indices.start), self.rank(indices.end));
        self.slice(from..to.max(from))
    }

    /// The mask with `offset` added to every element. O(1) for a range, otherwise linear.
    ///
    /// # Panics
    /// If an element would leave `0..MAX_EXTENT`.
    pub fn shift(&self, offset: isize) -> Self {
        let Some(bounds) = self.bounds() else { return Self::empty() };
        let fits = bounds.start.checked_add_signed(offset).is_some()
            && bounds.end.checked_add_signed(offset).is_some_and(|end| end <= Self::MAX_EXTENT);
        assert!(fits, "a mask within {bounds:?} shifted by {offset} stays within u32");
        // Wrapping is exact, since the sums were checked to fit.
        let moved = |index: u32| index.wrapping_add(offset as u32);
        let mut builder = MaskBuilder::default();
        for run in self.runs() {
            builder.push_run(moved(run.start), moved(run.end));
        }
        builder.finish()
    }

    /// Maximal runs of neighbors, ascending. Linear in segments and scattered indices.
    fn runs(&self) -> Runs<'_> {
        Runs::new(self)
    }

    const fn from_u32_range(start: u32, end: u32) -> Self {
        if start < end { Self { repr: Repr::Range { start, end } } } else { Self::empty() }
    }
}

impl View {
    fn first(&self) -> u32 {
        self.storage.index_in(self.seg_lo as usize, self.lo)
    }

    fn last(&self) -> u32 {
        self.storage.index_in(self.seg_hi as usize - 1, self.hi - 1)
    }

    /// The first ordinal of the storage in `lo..hi` whose index is at least `index`, or `hi`.
    fn rank(&self, index: usize) -> u32 {
        let segments = self.seg_lo as usize..self.seg_hi as usize;
        self.storage.ordinal_of(segments, index).clamp(self.lo, self.hi)
    }

    /// The ordinals `lo..hi` of the storage; at least one.
    fn slice(&self, lo: u32, hi: u32) -> Mask {
        let from = self.seg_lo as usize;
        let seg_lo = self.storage.segment_of(from, lo);
        let seg_hi = self.storage.segment_of(seg_lo, hi - 1) + 1;
        if seg_lo + 1 == seg_hi
            && let Some(start) = self.storage.range_start(seg_lo, lo)
        {
            return Mask::from_u32_range(start, start + (hi - lo));
        }
        let (seg_lo, seg_hi) = (seg_lo as u32, seg_hi as u32);
        let storage = Arc::clone(&self.storage);
        Mask { repr: Repr::View(Self { storage, lo, hi, seg_lo, seg_hi }) }
    }
}

impl Default for Mask {
    fn default() -> Self {
        Self::empty()
    }
}

impl PartialEq for Mask {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.bounds() == other.bounds()
            && (self.is_same_view(other) || self.runs().eq(other.runs()))
    }
}

impl Eq for Mask {}

impl PartialOrd for Mask {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Mask {
    fn cmp(&self, other: &Self) -> Ordering {
        let (mut ours, mut theirs) = (self.runs(), other.runs());
        loop {
            let (a, b) = match (ours.next(), theirs.next()) {
                (Some(a), Some(b)) => (a, b),
                (a, b) => return a.is_some().cmp(&b.is_some()),
            };
            if a.start != b.start {
                return a.start.cmp(&b.start);
            }
            // Of two runs with the same start, the longer one continues with the smaller index,
            // unless the shorter one was the last of its mask.
            match a.end.cmp(&b.end) {
                Ordering::Equal => {}
                Ordering::Less if ours.next().is_some() => return Ordering::Greater,
                Ordering::Greater if theirs.next().is_some() => return Ordering::Less,
                prefix => return prefix,
            }
        }
    }
}

impl std::hash::Hash for Mask {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        for run in self.runs() {
            run.hash(state);
        }
    }
}

/// Prints as `{0..5, 9, 12}`; elements after the first 64 parts are only counted.
impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_RUNS: usize = 64;
        let (mut separator, mut printed) = ("", 0);
        f.write_str("{")?;
        for run in self.runs().take(MAX_RUNS) {
            match run.len() {
                1 => write!(f, "{separator}{}", run.start)?,
                2 => write!(f, "{separator}{}, {}", run.start, run.start + 1)?,
                _ => write!(f, "{separator}{}..{}", run.start, run.end)?,
            }
            (separator, printed) = (", ", printed + run.len());
        }
        match self.len() - printed {
            0 => f.write_str("}"),
            rest => write!(f, ", and {rest} more}}"),
        }
    }
}
