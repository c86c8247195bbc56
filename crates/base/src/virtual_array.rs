//! Virtual arrays: anything that looks like an array of one type.
//!
//! A kernel reads its inputs through virtual arrays, so that a uniform value, a value of another
//! axis or a counter need not be written out. Loops over a mask look at the variant once for each
//! stretch, not for each element: [`VirtualArray::for_each`], [`VirtualArray::map_into`] and
//! [`VirtualArray::zip_into`] have plain loops for spans and single values.
//!
//! Reading out of bounds is a mistake of the engine, never of a document; it panics.

mod kernels;
#[cfg(test)]
mod tests;

use std::{fmt, ops::Range};

/// An array of `T` that may be stored, shared or computed.
///
/// ```
/// use millstream_base::{Mask, virtual_array::VirtualArray};
///
/// let rows = VirtualArray::stretched(&[10, 20], 3, 6);
/// let columns = VirtualArray::repeated(&[1, 2, 3], 6);
/// let mut sums = [0; 6];
/// rows.zip_into(&columns, &Mask::full(6), &mut sums, |row, column| row + column);
/// assert_eq!(sums, [11, 12, 13, 21, 22, 23]);
/// ```
#[derive(Clone)]
pub struct VirtualArray<'a, T> {
    source: Source<'a, T>,
    len: usize,
}

/// Where the elements come from. An `offset` is what slicing has cut off at the front.
#[derive(Clone)]
enum Source<'a, T> {
    Span(&'a [T]),
    Single(T),
    /// Element `i` is `span[(offset + i) / inner % span.len()]`.
    Tiled {
        span: &'a [T],
        inner: usize,
        offset: usize,
    },
    /// Always counted from the original start, so that a slice has the same bits as the whole.
    Range {
        start: T,
        step: T,
        at: fn(&T, &T, usize) -> T,
        /// The elements of a range of indices, written over what the buffer holds.
        block: fn(&T, &T, Range<usize>, &mut Vec<T>),
        offset: usize,
    },
    Indexed {
        span: &'a [T],
        indices: &'a [u32],
    },
    Function {
        function: &'a (dyn Fn(usize) -> T + Sync),
        offset: usize,
    },
}

/// Numbers that can count: the element types of [`VirtualArray::range`].
pub trait Ramp: Clone {
    /// `start + i * step`; integers wrap, floats round after the product and after the sum.
    fn ramp(start: &Self, step: &Self, i: usize) -> Self;
}

impl Ramp for i32 {
    fn ramp(start: &Self, step: &Self, i: usize) -> Self {
        start.wrapping_add(step.wrapping_mul(i as Self))
    }
}

impl Ramp for i64 {
    fn ramp(start: &Self, step: &Self, i: usize) -> Self {
        start.wrapping_add(step.wrapping_mul(i as Self))
    }
}

impl Ramp for f32 {
    fn ramp(start: &Self, step: &Self, i: usize) -> Self {
        start + step * i as Self
    }
}

impl Ramp for f64 {
    fn ramp(start: &Self, step: &Self, i: usize) -> Self {
        start + step * i as Self
    }
}

fn ramp_block<T: Ramp>(start: &T, step: &T, range: Range<usize>, block: &mut Vec<T>) {
    block.clear();
    block.extend(range.map(|i| T::ramp(start, step, i)));
}

impl<'a, T: Clone> VirtualArray<'a, T> {
    /// The elements of a slice.
    pub const fn span(span: &'a [T]) -> Self {
        Self { source: Source::Span(span), len: span.len() }
    }

    /// The same value `len` times.
    pub const fn single(value: T, len: usize) -> Self {
        Self { source: Source::Single(value), len }
    }

    /// The slice over and over: element `i` is `span[i % span.len()]`.
    ///
    /// # Panics
    /// If the slice is empty and `len` is not 0.
    pub fn repeated(span: &'a [T], len: usize) -> Self {
        Self::broadcast(span, 1, len)
    }

    /// Each element of the slice `factor` times: element `i` is `span[i / factor]`.
    ///
    /// # Panics
    /// If `len` is more than `factor` times the length of the slice.
    pub fn stretched(span: &'a [T], factor: usize, len: usize) -> Self {
        assert!(
            len <= span.len().saturating_mul(factor),
            "{} elements stretched {factor} times make an array of {len}",
            span.len()
        );
        Self::broadcast(span, factor, len)
    }

    /// The slice along one axis of a row-major space: element `i` is
    /// `span[i / inner % span.len()]`, where `inner` is the extent of all axes inside.
    ///
    /// # Panics
    /// If `len` is not 0, but the slice is empty or `inner` is 0.
    pub fn broadcast(span: &'a [T], inner: usize, len: usize) -> Self {
        assert!(
            len == 0 || (!span.is_empty() && inner > 0),
            "{} elements, each {inner} times, make an array of {len}",
            span.len()
        );
        if inner == 1 && len <= span.len() {
            return Self::span(&span[..len]);
        }
        Self { source: Source::Tiled { span, inner, offset: 0 }, len }
    }

    /// The numbers `start`, `start + step`, `start + 2 * step` and so on.
    pub fn range(start: T, step: T, len: usize) -> Self
    where
        T: Ramp,
    {
        Self {
            source: Source::Range { start, step, at: T::ramp, block: ramp_block, offset: 0 },
            len,
        }
    }

    /// Element `i` is `span[indices[i]]`. Indices are checked when they are used.
    pub const fn indexed(span: &'a [T], indices: &'a [u32]) -> Self {
        Self { source: Source::Indexed { span, indices }, len: indices.len() }
    }

    /// Element `i` is `function(i)`, called each time that it is read.
    pub fn function(function: &'a (dyn Fn(usize) -> T + Sync), len: usize) -> Self {
        Self { source: Source::Function { function, offset: 0 }, len }
    }

    /// How many elements there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One element.
    ///
    /// # Panics
    /// If `i` is not below the length, or an index of an indexed array is beyond its span.
    #[inline]
    pub fn get(&self, i: usize) -> T {
        self.with(i, T::clone)
    }

    /// One element where it is stored; `None` if it is computed.
    ///
    /// # Panics
    /// As [`Self::get`].
    #[inline]
    pub fn get_ref(&self, i: usize) -> Option<&T> {
        self.check_index(i);
        match &self.source {
            Source::Span(span) => Some(&span[i]),
            Source::Single(value) => Some(value),
            Source::Tiled { span, inner, offset } => Some(&span[(offset + i) / inner % span.len()]),
            Source::Indexed { span, indices } => Some(indexed(span, indices[i])),
            Source::Range { .. } | Source::Function { .. } => None,
        }
    }

    /// Call `f` with one element, stored or computed.
    ///
    /// # Panics
    /// As [`Self::get`].
    #[inline]
    pub fn with<R>(&self, i: usize, f: impl FnOnce(&T) -> R) -> R {
        match (self.get_ref(i), &self.source) {
            (Some(value), _) => f(value),
            (None, Source::Range { start, step, at, offset, .. }) => {
                f(&at(start, step, offset + i))
            }
            (None, Source::Function { function, offset }) => f(&function(offset + i)),
            (
                None,
                Source::Span(_) | Source::Single(_) | Source::Tiled { .. } | Source::Indexed { .. },
            ) => {
                unreachable!("elements of these variants are stored")
            }
        }
    }

    /// The elements, first to last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + '_ {
        (0..self.len).map(|i| self.get(i))
    }

    /// Some of the elements, as an array from 0. O(1).
    ///
    /// # Panics
    /// If the range does not lie within `0..len`.
    pub fn slice(&self, range: Range<usize>) -> Self {
        assert!(
            range.start <= range.end && range.end <= self.len,
            "slice {range:?} is within the array's length {}",
            self.len
        );
        let (cut, len) = (range.start, range.len());
        let mut source = self.source.clone();
        match &mut source {
            Source::Span(span) => *span = &span[range],
            Source::Indexed { indices, .. } => *indices = &indices[range],
            Source::Tiled { offset, .. }
            | Source::Range { offset, .. }
            | Source::Function { offset, .. } => *offset += cut,
            Source::Single(_) => {}
        }
        Self { source, len }
    }

    /// The elements as one slice, if they lie like that in memory.
    pub fn as_span(&self) -> Option<&'a [T]> {
        match &self.source {
            Source::Span(span) => Some(span),
            Source::Tiled { span, inner: 1, offset } if !span.is_empty() => {
                let start = offset % span.len();
                span.get(start..start + self.len)
            }
            Source::Single(_)
            | Source::Tiled { .. }
            | Source::Range { .. }
            | Source::Indexed { .. }
            | Source::Function { .. } => None,
        }
    }

    /// The one stored value that all elements are, if the variant shows that they are the same.
    ///
    /// An empty array has none, whatever its variant.
    pub fn as_single(&self) -> Option<&T> {
        if self.len == 0 {
            return None;
        }
        match &self.source {
            Source::Single(value) | Source::Span([value]) | Source::Tiled { span: [value], .. } => {
                Some(value)
            }
            Source::Tiled { inner, offset, .. } if offset % inner + self.len <= *inner => {
                self.get_ref(0)
            }
            Source::Span(_)
            | Source::Tiled { .. }
            | Source::Range { .. }
            | Source::Indexed { .. }
            | Source::Function { .. } => None,
        }
    }

    #[inline]
    fn check_index(&self, i: usize) {
        assert!(i < self.len, "element {i} is within the array's length {}", self.len);
    }
}

#[inline]
fn indexed<T>(span: &[T], index: u32) -> &T {
    let len = span.len();
    span.get(index as usize).unwrap_or_else(|| panic!("index {index} is within the span's {len}"))
}

/// Prints the variant and the length, and the elements where they are stored.
impl<T: fmt::Debug + Clone> fmt::Debug for VirtualArray<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.len;
        match &self.source {
            Source::Span(span) => write!(f, "span {span:?}"),
            Source::Single(value) => write!(f, "single {value:?} * {len}"),
            Source::Tiled { span, inner, offset } => {
                write!(f, "tiled {span:?} / {inner} + {offset} * {len}")
            }
            Source::Range { start, step, offset, .. } => {
                write!(f, "range {start:?} by {step:?} + {offset} * {len}")
            }
            Source::Indexed { span, indices } => write!(f, "indexed {span:?} at {indices:?}"),
            Source::Function { offset, .. } => write!(f, "function + {offset} * {len}"),
        }
    }
}
