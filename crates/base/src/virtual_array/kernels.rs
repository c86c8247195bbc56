//! Loops over the masked elements of virtual arrays, specialised for spans and single values.

use std::ops::Range;

use super::{Source, VirtualArray, indexed};
use crate::mask::{Mask, Segment};

/// How many elements of a range array are computed in one go, into a buffer that stays in L1.
const MAX_BLOCK: usize = 1024;

/// Neighbours that one plain loop can read.
enum Piece<'a, T> {
    Span(&'a [T]),
    /// The same value this many times.
    Single(&'a T, usize),
}

impl<T: Clone> VirtualArray<'_, T> {
    /// Call `f` with every masked element and its index, ascending.
    ///
    /// # Panics
    /// If the mask reaches beyond the length.
    #[inline]
    pub fn for_each(&self, mask: &Mask, mut f: impl FnMut(usize, &T)) {
        self.for_each_piece(mask, |start, piece| match piece {
            Piece::Span(span) => span.iter().enumerate().for_each(|(k, x)| f(start + k, x)),
            Piece::Single(x, n) => (start..start + n).for_each(|i| f(i, x)),
        });
    }

    /// The masked elements one after the other, without gaps.
    ///
    /// # Panics
    /// If the mask reaches beyond the length.
    pub fn materialize(&self, mask: &Mask) -> Vec<T> {
        let mut elements = Vec::with_capacity(mask.len());
        self.for_each_piece(mask, |_, piece| match piece {
            Piece::Span(span) => elements.extend_from_slice(span),
            Piece::Single(x, 1) => elements.push(x.clone()),
            Piece::Single(x, n) => elements.resize(elements.len() + n, x.clone()),
        });
        elements
    }

    /// Write the masked elements to the same places of `out` and leave the rest of it alone.
    ///
    /// # Panics
    /// If the mask reaches beyond the length of either.
    pub fn copy_into(&self, mask: &Mask, out: &mut [T]) {
        check_mask(mask, out.len());
        self.for_each_piece(mask, |start, piece| match piece {
            Piece::Span(span) => out[start..start + span.len()].clone_from_slice(span),
            Piece::Single(x, 1) => out[start].clone_from(x),
            Piece::Single(x, n) => out[start..start + n].fill(x.clone()),
        });
    }

    /// Write `f` of the masked elements to the same places of `out`; leaves the rest alone.
    ///
    /// # Panics
    /// If the mask reaches beyond the length of either.
    #[inline]
    pub fn map_into<O>(&self, mask: &Mask, out: &mut [O], mut f: impl FnMut(&T) -> O) {
        check_mask(mask, out.len());
        self.for_each_piece(mask, |start, piece| match piece {
            Piece::Span(span) => {
                let places = &mut out[start..start + span.len()];
                places.iter_mut().zip(span).for_each(|(place, x)| *place = f(x));
            }
            Piece::Single(x, n) => {
                out[start..start + n].iter_mut().for_each(|place| *place = f(x));
            }
        });
    }

    /// Write `f` of the masked elements of both arrays to the same places of `out`; leaves the
    /// rest alone.
    ///
    /// # Panics
    /// If the mask reaches beyond the length of any of the three.
    pub fn zip_into<U: Clone, O>(
        &self,
        other: &VirtualArray<'_, U>,
        mask: &Mask,
        out: &mut [O],
        f: impl FnMut(&T, &U) -> O,
    ) {
        for len in [self.len, other.len, out.len()] {
            check_mask(mask, len);
        }
        match (Reader::of(self), Reader::of(other)) {
            (Reader::Span(a), Reader::Span(b)) => zip_loop(&a, &b, mask, out, f),
            (Reader::Span(a), Reader::Single(b)) => zip_loop(&a, &One(b), mask, out, f),
            (Reader::Single(a), Reader::Span(b)) => zip_loop(&One(a), &b, mask, out, f),
            (Reader::Single(a), Reader::Single(b)) => zip_loop(&One(a), &One(b), mask, out, f),
            (Reader::Any, _) | (_, Reader::Any) => {
                zip_loop(&Any::of(self), &Any::of(other), mask, out, f);
            }
        }
    }

    /// Call `f` with the masked elements as pieces, ascending.
    #[inline]
    fn for_each_piece(&self, mask: &Mask, mut f: impl FnMut(usize, Piece<'_, T>)) {
        check_mask(mask, self.len);
        for segment in mask.segments() {
            match segment {
                Segment::Range(range) => self.pieces_of_range(range, &mut f),
                Segment::Indices(indices) => match Reader::of(self) {
                    Reader::Span(span) => {
                        for &i in indices {
                            f(i as usize, Piece::Single(&span[i as usize], 1));
                        }
                    }
                    Reader::Single(x) => {
                        for &i in indices {
                            f(i as usize, Piece::Single(x, 1));
                        }
                    }
                    Reader::Any => {
                        for &i in indices {
                            self.with(i as usize, |x| f(i as usize, Piece::Single(x, 1)));
                        }
                    }
                },
            }
        }
    }

    /// Call `f` with the elements of a range, which lies within the length, as pieces.
    #[inline]
    fn pieces_of_range(&self, range: Range<usize>, f: &mut impl FnMut(usize, Piece<'_, T>)) {
        match &self.source {
            Source::Span(span) => f(range.start, Piece::Span(&span[range])),
            Source::Single(x) => f(range.start, Piece::Single(x, range.len())),
            Source::Tiled { span, inner, offset } => {
                let mut start = range.start;
                while start < range.end {
                    let (place, rest) = (offset + start, range.end - start);
                    let at = place / inner % span.len();
                    let (piece, len) = if *inner == 1 {
                        let len = rest.min(span.len() - at);
                        (Piece::Span(&span[at..at + len]), len)
                    } else {
                        let len = rest.min(inner - place % inner);
                        (Piece::Single(&span[at], len), len)
                    };
                    f(start, piece);
                    start += len;
                }
            }
            Source::Range { start, step, block, offset, .. } => {
                let mut elements = Vec::with_capacity(range.len().min(MAX_BLOCK));
                for from in range.clone().step_by(MAX_BLOCK) {
                    let to = range.end.min(from + MAX_BLOCK);
                    block(start, step, offset + from..offset + to, &mut elements);
                    f(from, Piece::Span(&elements));
                }
            }
            Source::Indexed { span, indices } => {
                for i in range {
                    f(i, Piece::Single(indexed(span, indices[i]), 1));
                }
            }
            Source::Function { function, offset } => {
                for i in range {
                    f(i, Piece::Single(&function(offset + i), 1));
                }
            }
        }
    }
}

fn check_mask(mask: &Mask, len: usize) {
    if let Some(bounds) = mask.bounds() {
        assert!(bounds.end <= len, "a mask within {bounds:?} is within the array's length {len}");
    }
}

/// How a binary loop reads one side.
enum Reader<'a, T> {
    Span(&'a [T]),
    Single(&'a T),
    Any,
}

impl<'a, T: Clone> Reader<'a, T> {
    fn of(array: &'a VirtualArray<'_, T>) -> Self {
        match (array.as_span(), array.as_single()) {
            (Some(span), _) => Self::Span(span),
            (None, Some(value)) => Self::Single(value),
            (None, None) => Self::Any,
        }
    }
}

/// One side of a binary loop; each implementor makes a loop of its own.
trait Elements<T>: Sized {
    /// The elements of a range, counted from 0.
    fn cut(&self, range: &Range<usize>) -> Self;

    fn read<R>(&self, i: usize, f: impl FnOnce(&T) -> R) -> R;
}

impl<T> Elements<T> for &[T] {
    #[inline]
    fn cut(&self, range: &Range<usize>) -> Self {
        &self[range.start..range.end]
    }

    #[inline]
    fn read<R>(&self, i: usize, f: impl FnOnce(&T) -> R) -> R {
        f(&self[i])
    }
}

struct One<'a, T>(&'a T);

impl<T> Elements<T> for One<'_, T> {
    #[inline]
    fn cut(&self, _range: &Range<usize>) -> Self {
        Self(self.0)
    }

    #[inline]
    fn read<R>(&self, _i: usize, f: impl FnOnce(&T) -> R) -> R {
        f(self.0)
    }
}

/// Any variant, with the index at which its part starts.
struct Any<'a, 'b, T> {
    array: &'a VirtualArray<'b, T>,
    start: usize,
}

impl<'a, 'b, T> Any<'a, 'b, T> {
    fn of(array: &'a VirtualArray<'b, T>) -> Self {
        Self { array, start: 0 }
    }
}

impl<T: Clone> Elements<T> for Any<'_, '_, T> {
    #[inline]
    fn cut(&self, range: &Range<usize>) -> Self {
        Self { array: self.array, start: self.start + range.start }
    }

    #[inline]
    fn read<R>(&self, i: usize, f: impl FnOnce(&T) -> R) -> R {
        self.array.with(self.start + i, f)
    }
}

fn zip_loop<T, U, O>(
    a: &impl Elements<T>,
    b: &impl Elements<U>,
    mask: &Mask,
    out: &mut [O],
    mut f: impl FnMut(&T, &U) -> O,
) {
    for segment in mask.segments() {
        match segment {
            Segment::Range(range) => {
                let (a, b) = (a.cut(&range), b.cut(&range));
                for (k, place) in out[range].iter_mut().enumerate() {
                    *place = a.read(k, |x| b.read(k, |y| f(x, y)));
                }
            }
            Segment::Indices(indices) => {
                for i in indices.iter().map(|&i| i as usize) {
                    out[i] = a.read(i, |x| b.read(i, |y| f(x, y)));
                }
            }
        }
    }
}
