//! The nearest pixel on the other side along rows, given the nearest along columns.

use fearless_simd::{Select, Simd, SimdBase, SimdMask};

use super::columns::STRIP;
use crate::crew::{Cancelled, Crew};
use millstream_base::width::{OverVectors, Width};

/// Columns on each side that are searched one by one.
const NEAR: i32 = 64;

/// Padding beside the numbers of a row, so that vectors stay within the buffer.
const MARGIN: usize = NEAR as usize + 16;

/// The search along rows.
pub(super) struct Lines<'a> {
    /// Distances along columns; see [`Columns::search`](super::columns::Columns::search).
    pub(super) nearest: &'a [i16],
    /// Columns that were searched.
    pub(super) n_columns: usize,
    pub(super) n_rows: usize,
    /// The first column of the result.
    pub(super) first: usize,
    /// The maximum distance.
    pub(super) limit: f32,
    /// The distance in whole pixels up to which to search.
    pub(super) max: i32,
}

/// Buffers of one thread.
#[derive(Default)]
struct Room {
    /// For each column, the distance along it, positive outside.
    nearest: Vec<i32>,
    /// The squared distances to the nearest pixels inside and outside; 0 for those pixels
    /// themselves.
    squares: [Vec<i32>; 2],
    /// The squared results.
    best: Vec<i32>,
    envelope: Vec<Piece>,
}

impl Lines<'_> {
    /// Computes the distances of all rows.
    pub(super) fn search(
        &self,
        width: usize,
        values: &mut [f32],
        crew: &Crew<'_>,
    ) -> Result<(), Cancelled> {
        /// Rows that a thread takes at a time.
        const BAND: usize = 16;
        let bands = values.chunks_mut(BAND * width).enumerate().collect();
        crew.each(bands, Room::default, |(band, out), room, pace| {
            for (row, out) in out.chunks_mut(width).enumerate() {
                pace.work(32 * self.n_columns)?;
                self.line(band * BAND + row, out, room, crew.width());
            }
            Ok(())
        })
    }

    fn line(&self, row: usize, out: &mut [f32], room: &mut Room, width: Width) {
        room.nearest.clear();
        for strip in 0..self.n_columns.div_ceil(STRIP) {
            let at = (strip * self.n_rows + row) * STRIP;
            room.nearest.extend(self.nearest[at..at + STRIP].iter().map(|run| i32::from(*run)));
        }
        room.nearest.truncate(self.n_columns);
        let far = (self.max + 1) * (self.max + 1);
        for (squares, side) in room.squares.iter_mut().zip([1, -1]) {
            squares.clear();
            squares.resize(MARGIN, far);
            let square = |run: &i32| if run * side > 0 { run * run } else { 0 };
            squares.extend(room.nearest.iter().map(square));
            squares.resize(squares.len() + MARGIN + VECTOR_MULTIPLE, far);
        }
        room.best.clear();
        room.best.resize(out.len().next_multiple_of(VECTOR_MULTIPLE), far);
        let mut is_done = true;
        let max = self.max.min(NEAR);
        width.run_vectors(Near {
            squares: [&room.squares[0], &room.squares[1]],
            first: MARGIN + self.first,
            max,
            best: &mut room.best,
            is_done: &mut is_done,
        });
        if !is_done && self.max > NEAR {
            self.envelopes(room, out.len());
        }
        let limit = self.limit;
        let sides = &room.nearest[self.first..];
        width.run_vectors(Finish { best: &room.best, sides, limit, out });
    }

    /// Computes the squares of a row with far pixels.
    fn envelopes(&self, room: &mut Room, width: usize) {
        for (squares, side) in room.squares.iter().zip([1, -1]) {
            let squares = &squares[MARGIN..MARGIN + self.n_columns];
            envelope(squares, (self.max + 1) * (self.max + 1), &mut room.envelope);
            let mut piece = 0;
            for x in 0..width {
                let at = (self.first + x) as i64;
                while room.envelope.get(piece + 1).is_some_and(|next| next.start <= at) {
                    piece += 1;
                }
                let Some(best) = room.envelope.get(piece) else { break };
                if room.nearest[self.first + x] * side > 0 {
                    let distance = at - best.column as i64;
                    let square = distance * distance + i64::from(squares[best.column]);
                    room.best[x] = i32::try_from(square).unwrap_or(i32::MAX);
                }
            }
        }
    }
}

/// The columns from `start` to the next piece, for which the pixel of `column` is nearest.
#[derive(Clone, Copy, Debug)]
struct Piece {
    column: usize,
    start: i64,
}

/// The lower envelope of the parabolas of all columns whose square is below `far`.
fn envelope(squares: &[i32], far: i32, pieces: &mut Vec<Piece>) {
    pieces.clear();
    for (column, square) in squares.iter().enumerate() {
        if *square >= far {
            continue;
        }
        let start = loop {
            let Some(last) = pieces.last() else { break 0 };
            // The first position at which the new parabola is the lower one.
            let (i, u) = (last.column as i64, column as i64);
            let rise = u * u - i * i + i64::from(*square) - i64::from(squares[last.column]);
            let start = rise.div_euclid(2 * (u - i)) + 1;
            if start > last.start || pieces.len() == 1 && start > 0 {
                break start;
            }
            pieces.pop();
        };
        if start < squares.len() as i64 {
            pieces.push(Piece { column, start });
        }
    }
}

/// A multiple of every vector length; the number of results is padded to it.
const VECTOR_MULTIPLE: usize = 16;

/// Searches columns at increasing distances while they may be nearer than the best so far.
struct Near<'a> {
    squares: [&'a [i32]; 2],
    /// The position of the first result.
    first: usize,
    max: i32,
    best: &'a mut [i32],
    /// Set once nothing farther can be nearer.
    is_done: &'a mut bool,
}

impl OverVectors for Near<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let n = S::i32s::LEN;
        for (i, best) in self.best.chunks_exact_mut(n).enumerate() {
            let at = self.first + i * n;
            let [inside, outside] =
                self.squares.map(|squares| S::i32s::from_slice(simd, &squares[at..at + n]));
            let zero = S::i32s::splat(simd, 0);
            // One of the two squares of each pixel is 0: the one of its own side.
            let (is_outside, is_inside) = (inside.simd_gt(zero), outside.simd_gt(zero));
            let found = if !is_inside.any_true() {
                nearest(simd, self.squares[0], at, inside, self.max)
            } else if !is_outside.any_true() {
                nearest(simd, self.squares[1], at, outside, self.max)
            } else {
                let to_inside = nearest(simd, self.squares[0], at, inside, self.max);
                let to_outside = nearest(simd, self.squares[1], at, outside, self.max);
                is_outside.select(to_inside, to_outside)
            };
            let near = S::i32s::splat(simd, self.max * self.max);
            *self.is_done &= !found.simd_gt(near).any_true();
            found.store_slice(best);
        }
    }
}

#[inline(always)]
fn nearest<S: Simd>(simd: S, squares: &[i32], at: usize, mut best: S::i32s, max: i32) -> S::i32s {
    let n = S::i32s::LEN;
    for d in 1..=max {
        let square = S::i32s::splat(simd, d * d);
        if !best.simd_gt(square).any_true() {
            break;
        }
        let before = S::i32s::from_slice(simd, &squares[at - d as usize..][..n]);
        let after = S::i32s::from_slice(simd, &squares[at + d as usize..][..n]);
        best = best.min(before.min(after) + square);
    }
    best
}

/// Converts squares to distances.
struct Finish<'a> {
    best: &'a [i32],
    /// Positive outside.
    sides: &'a [i32],
    limit: f32,
    out: &'a mut [f32],
}

impl OverVectors for Finish<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for ((to, best), side) in self.out.iter_mut().zip(self.best).zip(self.sides) {
            let distance = (*best as f32).sqrt() - 0.5;
            let distance = if distance < self.limit { distance } else { self.limit };
            *to = if *side > 0 { distance } else { -distance };
        }
    }
}
