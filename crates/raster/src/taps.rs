//! Weighted sums along an axis.

use std::ops::Range;

use fearless_simd::{Simd, SimdBase};

use crate::lanes::{Block, LANES};
use crate::passes::Pass;
use millstream_base::width::{OverVectors, Width};

/// Outputs summed together; each number read is used for all of them.
const GROUP: usize = 4;

/// For each output along an axis, the source positions that it is computed from, and their weights.
#[derive(Clone, Debug)]
pub(crate) struct Taps {
    weights: Vec<f32>,
    outputs: Vec<Tap>,
}

#[derive(Clone, Copy, Debug)]
struct Tap {
    /// The source position that the first weight belongs to.
    first: i64,
    /// Its weights, as a range of all weights.
    weights: (usize, usize),
}

impl Taps {
    /// The same weights for each of `n` outputs, the first of which begins at the position `first`.
    pub(crate) fn uniform(weights: Vec<f32>, first: i64, n: usize) -> Self {
        let n_weights = weights.len();
        let outputs = (0..n as i64).map(|i| Tap { first: first + i, weights: (0, n_weights) });
        Self { outputs: outputs.collect(), weights }
    }

    /// No outputs; add them with [`push`](Self::push).
    pub(crate) fn new() -> Self {
        Self { weights: Vec::new(), outputs: Vec::new() }
    }

    /// Appends an output computed from the positions from `first` on.
    pub(crate) fn push(&mut self, first: i64, weights: impl IntoIterator<Item = f32>) {
        let start = self.weights.len();
        self.weights.extend(weights);
        self.outputs.push(Tap { first, weights: (start, self.weights.len()) });
    }

    fn of(&self, tap: Tap) -> &[f32] {
        &self.weights[tap.weights.0..tap.weights.1]
    }
}

impl Pass<f32> for Taps {
    fn needs(&self, outputs: Range<usize>) -> Range<i64> {
        let outputs = &self.outputs[outputs];
        let start = outputs.iter().map(|tap| tap.first).min().unwrap_or(0);
        let end = outputs.iter().map(|tap| tap.first + self.of(*tap).len() as i64).max();
        start..end.unwrap_or(start)
    }

    fn run(
        &self,
        width: Width,
        from: &[Block<f32>],
        start: i64,
        outputs: Range<usize>,
        to: &mut [Block<f32>],
    ) {
        width.run_vectors(Sums { taps: self, from, start, outputs: &self.outputs[outputs], to });
    }

    fn worthwhile(&self) -> usize {
        let max = self.outputs.iter().map(|tap| tap.weights.1 - tap.weights.0).max();
        max.unwrap_or(0) / 2
    }
}

struct Sums<'a> {
    taps: &'a Taps,
    from: &'a [Block<f32>],
    /// The position of the first block.
    start: i64,
    outputs: &'a [Tap],
    to: &'a mut [Block<f32>],
}

impl OverVectors for Sums<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let source = |tap: Tap| {
            let at = (tap.first - self.start) as usize;
            let weights = &self.taps.weights[tap.weights.0..tap.weights.1];
            (at, weights)
        };
        let (groups, rest) = self.outputs.as_chunks::<GROUP>();
        let (to, to_rest) = self.to[..self.outputs.len()].as_chunks_mut::<GROUP>();
        for (taps, to) in groups.iter().zip(to) {
            sum_group(simd, self.from, taps.map(source), to);
        }
        for (tap, to) in rest.iter().zip(to_rest) {
            sum_group(simd, self.from, [source(*tap)], std::array::from_mut(to));
        }
    }
}

/// The sums of `N` outputs, each in the order of its weights.
#[inline(always)]
fn sum_group<S: Simd, const N: usize>(
    simd: S,
    from: &[Block<f32>],
    taps: [(usize, &[f32]); N],
    to: &mut [Block<f32>; N],
) {
    // The positions that all outputs share; before and after them are those that only some have.
    let start = taps.iter().map(|(at, _)| *at).max().unwrap_or(0);
    let end = taps.iter().map(|(at, weights)| at + weights.len()).min().unwrap_or(0).max(start);
    let parts = taps.map(|(at, weights)| {
        let (before, rest) = weights.split_at((start - at).min(weights.len()));
        let (middle, after) = rest.split_at((end - start).min(rest.len()));
        (&from[at..at + before.len()], before, middle, after)
    });
    // Without shared positions, all weights of an output lie before or after.
    let middle = &from[start..end];
    let two = 2 * S::f32s::LEN;
    for lane in (0..LANES).step_by(two) {
        let mut sums = [[S::f32s::splat(simd, 0.0); 2]; N];
        for (sums, (blocks, before, ..)) in sums.iter_mut().zip(&parts) {
            for (block, weight) in blocks.iter().zip(*before) {
                add(simd, sums, &block.0[lane..lane + two], *weight);
            }
        }
        for (k, block) in middle.iter().enumerate() {
            let [low, high] = load(simd, &block.0[lane..lane + two]);
            for (sums, (_, _, weights, _)) in sums.iter_mut().zip(&parts) {
                let weight = S::f32s::splat(simd, weights[k]);
                sums[0] += low * weight;
                sums[1] += high * weight;
            }
        }
        for (sums, (_, _, _, after)) in sums.iter_mut().zip(&parts) {
            for (block, weight) in from[end..].iter().zip(*after) {
                add(simd, sums, &block.0[lane..lane + two], *weight);
            }
        }
        for (to, [low, high]) in to.iter_mut().zip(sums) {
            let to = &mut to.0[lane..lane + two];
            low.store_slice(&mut to[..S::f32s::LEN]);
            high.store_slice(&mut to[S::f32s::LEN..]);
        }
    }
}

#[inline(always)]
fn load<S: Simd>(simd: S, lanes: &[f32]) -> [S::f32s; 2] {
    let (low, high) = lanes.split_at(S::f32s::LEN);
    [S::f32s::from_slice(simd, low), S::f32s::from_slice(simd, high)]
}

#[inline(always)]
fn add<S: Simd>(simd: S, sums: &mut [S::f32s; 2], lanes: &[f32], weight: f32) {
    let [low, high] = load(simd, lanes);
    let weight = S::f32s::splat(simd, weight);
    sums[0] += low * weight;
    sums[1] += high * weight;
}
