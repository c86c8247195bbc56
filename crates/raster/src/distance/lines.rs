//! The nearest pixel on the other side along rows, of those that are nearest along columns.

use fearless_simd::{Select, Simd, SimdBase, SimdMask};

use super::columns::STRIP;
use crate::crew::{Cancelled, Crew};
use millstream_base::width::{OverVectors, Width};

/// Columns on each side that are searched one after the other.
const NEAR: i32 = 64;

/// Numbers beside those of a row, so that vectors lie within.
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
    /// The greatest distance.
    pub(super) limit: f32,
    /// Whole pixels of distance that count.
    pub(super) most: i32,
}

/// Buffers of a thread.
#[derive(Default)]
struct Room {
    /// For each column, distance along it, positive outside.
    nearest: Vec<i32>,
    /// The squares of the distances to the nearest pixels inside and outside; 0 for those.
    squares: [Vec<i32>; 2],
    /// The squares of the results.
    best: Vec<i32>,
    envelope: Vec<Piece>,
}

impl Lines<'_> {
    /// Sets the distances of all rows.
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
        let far = (self.most + 1) * (self.most + 1);
        for (squares, side) in room.squares.iter_mut().zip([1, -1]) {
            squares.clear();
            squares.resize(MARGIN, far);
            let square = |run: &i32| if run * side > 0 { run * run } else { 0 };
            squares.extend(room.nearest.iter().map(square));
            squares.resize(squares.len() + MARGIN + LEAST, far);
        }
        room.best.clear();
        room.best.resize(out.len().next_multiple_of(LEAST), far);
        let mut is_done = true;
        let most = self.most.min(NEAR);
        width.run_vectors(Near {
            squares: [&room.squares[0], &room.squares[1]],
            first: MARGIN + self.first,
            most,
            best: &mut room.best,
            is_done: &mut is_done,
        });
        if !is_done && self.most > NEAR {
            self.envelopes(room, out.len());
        }
        let limit = self.limit;
        let sides = &room.nearest[self.first..];
        width.run_vectors(Finish { best: &room.best, sides, limit, out });
    }

    /// Sets the squares of a row with far pixels.
    fn envelopes(&self, room: &mut Room, width: usize) {
        for (squares, side) in room.squares.iter().zip([1, -1]) {
            let squares = &squares[MARGIN..MARGIN + self.n_columns];
            envelope(squares, (self.most + 1) * (self.most + 1), &mut room.envelope);
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

/// The columns from `start` on, up to the next piece, that are nearest to a column's pixel.
#[derive(Clone, Copy, Debug)]
struct Piece {
    column: usize,
    start: i64,
}

/// The lower envelope of the parabolas over all columns whose square is below `far`.
fn envelope(squares: &[i32], far: i32, pieces: &mut Vec<Piece>) {
    pieces.clear();
    for (column, square) in squares.iter().enumerate() {
        if *square >= far {
            continue;
        }
        let start = loop {
            let Some(last) = pieces.last() else { break 0 };
            // The first place at which the new parabola is the lower one.
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

/// The number of results that every vector length divides.
const LEAST: usize = 16;

/// Searches columns at growing distances, as long as they may be nearer than what was found.
struct Near<'a> {
    squares: [&'a [i32]; 2],
    /// The place of the first result.
    first: usize,
    most: i32,
    best: &'a mut [i32],
    /// Whether nothing farther may be nearer.
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
            // Of each pixel one of the two squares is 0: the one of its own side.
            let (is_outside, is_inside) = (inside.simd_gt(zero), outside.simd_gt(zero));
            let found = if !is_inside.any_true() {
                nearest(simd, self.squares[0], at, inside, self.most)
            } else if !is_outside.any_true() {
                nearest(simd, self.squares[1], at, outside, self.most)
            } else {
                let to_inside = nearest(simd, self.squares[0], at, inside, self.most);
                let to_outside = nearest(simd, self.squares[1], at, outside, self.most);
                is_outside.select(to_inside, to_outside)
            };
            let near = S::i32s::splat(simd, self.most * self.most);
            *self.is_done &= !found.simd_gt(near).any_true();
            found.store_slice(best);
        }
    }
}

#[inline(always)]
fn nearest<S: Simd>(simd: S, squares: &[i32], at: usize, mut best: S::i32s, most: i32) -> S::i32s {
    let n = S::i32s::LEN;
    for d in 1..=most {
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

/// Makes distances of squares.
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
