//! Means of windows along an axis.

use std::ops::Range;

use fearless_simd::{Simd, SimdBase};

use crate::lanes::{Block, LANES};
use crate::passes::Pass;
use millstream_base::width::{OverVectors, Width};

/// Means of windows along an axis.
///
/// Sums of 4, 16, 64... neighbors are computed in turn, each from four of the previous level, and a
/// window is the sum of the parts given by its length in base 4. So the cost grows with the
/// logarithm of the length, and the order of each sum depends only on the length.
pub(crate) struct Mean {
    /// Whole pixels on each side.
    pub(crate) radius: usize,
    /// Weight of one more pixel on each side.
    pub(crate) fraction: f32,
    /// The position of the source at the middle of the first window.
    pub(crate) first: i64,
}

impl Mean {
    /// Pixels on each side.
    fn reach(&self) -> usize {
        self.radius + usize::from(self.fraction > 0.0)
    }
}

impl Pass<f32> for Mean {
    fn needs(&self, outputs: Range<usize>) -> Range<i64> {
        let (first, reach) = (self.first, self.reach() as i64);
        first + outputs.start as i64 - reach..first + outputs.end as i64 + reach
    }

    fn run(
        &self,
        width: Width,
        from: &[Block<f32>],
        _start: i64,
        outputs: Range<usize>,
        to: &mut [Block<f32>],
    ) {
        width.run_vectors(Windows { mean: self, from, to: &mut to[..outputs.len()] });
    }

    fn worthwhile(&self) -> usize {
        8 * self.reach()
    }
}

/// A part of a window: a sum of as many neighbors as its level combines.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// 0 for single numbers, 1 for sums of 4, 2 for sums of 16...
    level: usize,
    /// The offset in the window.
    at: usize,
}

/// The parts of a window of `n` numbers, largest first, and the number of levels above single
/// numbers.
fn parts(n: usize) -> (Vec<Part>, usize) {
    let n_levels = (n.max(1).ilog2() / 2) as usize;
    let (mut parts, mut at) = (Vec::new(), 0);
    for level in (0..=n_levels).rev() {
        let length = 1 << (2 * level);
        while n - at >= length {
            parts.push(Part { level, at });
            at += length;
        }
    }
    (parts, n_levels)
}

struct Windows<'a> {
    mean: &'a Mean,
    from: &'a [Block<f32>],
    to: &'a mut [Block<f32>],
}

impl OverVectors for Windows<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (reach, fraction) = (self.mean.reach(), self.mean.fraction);
        let n_window = 2 * self.mean.radius + 1;
        let skipped = reach - self.mean.radius;
        let (parts, n_levels) = parts(n_window);
        let scale = (1.0 / (n_window as f64 + 2.0 * f64::from(fraction))) as f32;
        // The outputs of one chunk; all their sums stay in the cache.
        let n_chunk = (4 * reach).max(64);
        let n_sums = n_chunk + n_window - 1;
        let mut sums = vec![Block::<f32>::default(); n_levels * n_sums];
        for (chunk, to) in self.to.chunks_mut(n_chunk).enumerate() {
            let from = &self.from[chunk * n_chunk..][..to.len() + 2 * reach];
            let inner = &from[skipped..from.len() - skipped];
            for level in 0..n_levels {
                let (before, rest) = sums.split_at_mut(level * n_sums);
                let below = if level == 0 { inner } else { &before[(level - 1) * n_sums..] };
                let step = 1 << (2 * level);
                // Incomplete sums use whatever is there; their results are not used.
                let n = inner.len().saturating_sub(4 * step - 1);
                four(simd, &below[..n + 3 * step], step, &mut rest[..n]);
            }
            let sources = |part: &Part| {
                let of_level = match part.level {
                    0 => inner,
                    level => &sums[(level - 1) * n_sums..],
                };
                &of_level[part.at..][..to.len()]
            };
            // A window of `n` has at most three parts per level.
            let parts: Vec<&[Block<f32>]> = parts.iter().map(sources).collect();
            let last = &from[from.len() - to.len()..];
            let ends = (skipped > 0).then_some(Ends { first: from, last, weight: fraction });
            total(simd, &parts, ends.as_ref(), scale, to);
        }
    }
}

/// Sums of four numbers that are `step` apart.
#[inline(always)]
fn four<S: Simd>(simd: S, from: &[Block<f32>], step: usize, to: &mut [Block<f32>]) {
    let [b, c, d] = [1, 2, 3].map(|i| &from[i * step..]);
    for ((((to, a), b), c), d) in to.iter_mut().zip(from).zip(b).zip(c).zip(d) {
        for lane in (0..LANES).step_by(S::f32s::LEN) {
            let lanes = lane..lane + S::f32s::LEN;
            let [a, b, c, d] = [a, b, c, d].map(|v| S::f32s::from_slice(simd, &v.0[lanes.clone()]));
            ((a + b) + (c + d)).store_slice(&mut to.0[lanes]);
        }
    }
}

/// The numbers at both ends of windows, which are weighted.
struct Ends<'a> {
    first: &'a [Block<f32>],
    last: &'a [Block<f32>],
    weight: f32,
}

/// The scaled sums of parts and of the weighted ends.
#[inline(always)]
fn total<S: Simd>(
    simd: S,
    parts: &[&[Block<f32>]],
    ends: Option<&Ends<'_>>,
    scale: f32,
    to: &mut [Block<f32>],
) {
    let two = 2 * S::f32s::LEN;
    for (i, to) in to.iter_mut().enumerate() {
        for lane in (0..LANES).step_by(two) {
            let load = |block: &Block<f32>| {
                let (low, high) = block.0[lane..lane + two].split_at(S::f32s::LEN);
                [S::f32s::from_slice(simd, low), S::f32s::from_slice(simd, high)]
            };
            let mut sum = [S::f32s::splat(simd, 0.0); 2];
            for part in parts {
                let [low, high] = load(&part[i]);
                sum = [sum[0] + low, sum[1] + high];
            }
            if let Some(ends) = ends {
                let ([a, b], [c, d]) = (load(&ends.first[i]), load(&ends.last[i]));
                sum = [sum[0] + (a + c) * ends.weight, sum[1] + (b + d) * ends.weight];
            }
            let (low, high) = to.0[lane..lane + two].split_at_mut(S::f32s::LEN);
            (sum[0] * scale).store_slice(low);
            (sum[1] * scale).store_slice(high);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fill_a_window() {
        for n in 1..300 {
            let (parts, n_levels) = parts(n);
            let mut at = 0;
            for part in &parts {
                assert_eq!(part.at, at);
                assert!(part.level <= n_levels);
                at += 1 << (2 * part.level);
            }
            assert_eq!(at, n);
            assert!(parts.len() <= 3 * (n_levels + 1));
        }
    }
}
