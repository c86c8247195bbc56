//! The maximum over windows along an axis.

use std::ops::Range;

use fearless_simd::{Simd, SimdBase};

use crate::lanes::{Block, LANES};
use crate::passes::Pass;
use crate::rank::Rank;
use millstream_base::width::{OverVectors, Width};

/// The maximum of the numbers within a radius, along an axis.
///
/// After van Herk ("A fast algorithm for local minimum and maximum filters on rectangular and
/// octagonal kernels", 1992) and Gil and Werman: the positions are divided into pieces as long as a
/// window. A window consists of the end of one piece and the beginning of the next, and the maxima
/// of all ends and beginnings are found in one pass each, so the cost does not depend on the
/// radius.
pub(super) struct WindowMaximum {
    pub(super) radius: usize,
    /// The position of the source at the middle of the first window.
    pub(super) first: i64,
}

impl<const REVERSED: bool> Pass<Rank<REVERSED>> for WindowMaximum {
    fn needs(&self, outputs: Range<usize>) -> Range<i64> {
        let (first, radius) = (self.first, self.radius as i64);
        first + outputs.start as i64 - radius..first + outputs.end as i64 + radius
    }

    fn run(
        &self,
        width: Width,
        from: &[Block<Rank<REVERSED>>],
        _start: i64,
        outputs: Range<usize>,
        to: &mut [Block<Rank<REVERSED>>],
    ) {
        let n_window = 2 * self.radius + 1;
        width.run_vectors(Windows { n_window, from, to: &mut to[..outputs.len()] });
    }

    fn worthwhile(&self) -> usize {
        4 * self.radius
    }
}

struct Windows<'a, const REVERSED: bool> {
    n_window: usize,
    from: &'a [Block<Rank<REVERSED>>],
    to: &'a mut [Block<Rank<REVERSED>>],
}

impl<const REVERSED: bool> OverVectors for Windows<'_, REVERSED> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let n = self.n_window;
        let mut ends = vec![Block::<Rank<REVERSED>>::default(); n];
        for (piece, to) in self.to.chunks_mut(n).enumerate() {
            // The last window ends within the source, so each piece has all of its ends.
            let from = &self.from[piece * n..];
            let (piece, next) = from.split_at(n);
            for lane in (0..LANES).step_by(2 * S::i32s::LEN) {
                ends_of_piece(simd, lane, piece, &mut ends);
                let mut so_far = [S::i32s::splat(simd, Rank::<REVERSED>::LOWEST.0); 2];
                store::<S, REVERSED>(&mut to[0], lane, load(simd, &ends[0], lane));
                for ((to, end), next) in to[1..].iter_mut().zip(&ends[1..]).zip(next) {
                    so_far = greater::<S>(so_far, load(simd, next, lane));
                    store::<S, REVERSED>(to, lane, greater::<S>(so_far, load(simd, end, lane)));
                }
            }
        }
    }
}

/// For each position in a piece, the maximum from there to its end.
#[inline(always)]
fn ends_of_piece<S: Simd, const REVERSED: bool>(
    simd: S,
    lane: usize,
    piece: &[Block<Rank<REVERSED>>],
    ends: &mut [Block<Rank<REVERSED>>],
) {
    let mut so_far = [S::i32s::splat(simd, Rank::<REVERSED>::LOWEST.0); 2];
    for (from, end) in piece.iter().zip(ends).rev() {
        so_far = greater::<S>(so_far, load(simd, from, lane));
        store::<S, REVERSED>(end, lane, so_far);
    }
}

#[inline(always)]
fn greater<S: Simd>([a, b]: [S::i32s; 2], [c, d]: [S::i32s; 2]) -> [S::i32s; 2] {
    [a.max(c), b.max(d)]
}

#[inline(always)]
fn load<S: Simd, const REVERSED: bool>(
    simd: S,
    block: &Block<Rank<REVERSED>>,
    lane: usize,
) -> [S::i32s; 2] {
    let lanes: &[i32] = bytemuck::cast_slice(&block.0[lane..lane + 2 * S::i32s::LEN]);
    let (low, high) = lanes.split_at(S::i32s::LEN);
    [S::i32s::from_slice(simd, low), S::i32s::from_slice(simd, high)]
}

#[inline(always)]
fn store<S: Simd, const REVERSED: bool>(
    block: &mut Block<Rank<REVERSED>>,
    lane: usize,
    [low, high]: [S::i32s; 2],
) {
    let lanes = &mut block.0[lane..lane + 2 * S::i32s::LEN];
    let (to_low, to_high) = bytemuck::cast_slice_mut(lanes).split_at_mut(S::i32s::LEN);
    low.store_slice(to_low);
    high.store_slice(to_high);
}
