//! Blurs along the axes: Gaussian and box.

use std::ops::Range;

use fearless_simd::{Simd, SimdBase};
use millstream_base::image::Image;
use millstream_base::num;

use crate::crew::{Cancelled, Crew};
use crate::lanes::{Block, LANES};
use crate::passes::{Pass, two_passes};
use crate::region::{Edge, size};
use crate::taps::Taps;
use crate::width::{OverVectors, Width};

/// Radius of a Gaussian in standard deviations; less than 0.3 % of its integral lie beyond.
const DEVIATIONS: f32 = 3.0;

/// A Gaussian blur.
///
/// The weights are samples of the Gaussian at the pixels up to `ceil(3 sigma)`, divided by their
/// sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian {
    /// Standard deviations in x and y in pixels. Nothing is blurred where one is not above 0.
    pub sigma: [f32; 2],
    /// What lies beyond the image.
    pub edge: Edge,
}

impl Gaussian {
    /// The blur whose reach are these radii, in pixels: a third of them are its deviations.
    pub fn of_radius(radius: [f32; 2], edge: Edge) -> Self {
        Self { sigma: radius.map(|radius| radius / DEVIATIONS), edge }
    }

    /// The number of pixels in x and y that the blur looks beyond the region of its result.
    pub fn reach(&self) -> [i32; 2] {
        self.sigma.map(|sigma| whole_reach(DEVIATIONS * sigma))
    }

    /// The blurred image in the region `crop`.
    ///
    /// # Errors
    /// If it is cancelled.
    pub fn apply(
        &self,
        image: &Image,
        crop: [i32; 4],
        crew: &Crew<'_>,
    ) -> Result<Image, Cancelled> {
        let [along_x, along_y] = [0, 1].map(|axis| {
            let n_source = size(image.view().crop)[axis];
            let radius = self.reach()[axis].min(i32::try_from(n_source).unwrap_or(i32::MAX));
            let first = i64::from(crop[axis]) - i64::from(image.view().crop[axis]);
            Taps::uniform(
                gaussian_weights(f64::from(self.sigma[axis]), radius),
                first - i64::from(radius),
                size(crop)[axis],
            )
        });
        let view = image.view().with_crop(crop);
        two_passes(image, view, [self.edge; 2], [&along_x, &along_y], crew)
    }
}

/// The number of whole pixels that a radius touches; 0 for NaN.
fn whole_reach(radius: f32) -> i32 {
    // The conversion saturates; further images cannot reach.
    ((radius.max(0.0)).ceil() as i32).min(1 << 28)
}

/// The weights of a Gaussian from `-radius` to `radius`.
fn gaussian_weights(sigma: f64, radius: i32) -> Vec<f32> {
    let raw = |k: i32| {
        let x = f64::from(k) / sigma;
        if k == 0 { 1.0 } else { num::exp(-0.5 * x * x) }
    };
    let half: Vec<f64> = (1..=radius).map(raw).collect();
    let sum = 1.0 + 2.0 * half.iter().rev().sum::<f64>();
    let scaled = |weight: &f64| (weight / sum) as f32;
    half.iter().rev().chain([&1.0]).chain(&half).map(scaled).collect()
}

/// A box blur: the mean of the pixels within a distance in x and y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxBlur {
    /// Distances in x and y in pixels. A fraction is the weight of the outermost pixels.
    pub radius: [f32; 2],
    /// What lies beyond the image.
    pub edge: Edge,
}

impl BoxBlur {
    /// The number of pixels in x and y that the blur looks beyond the region of its result.
    pub fn reach(&self) -> [i32; 2] {
        self.radius.map(whole_reach)
    }

    /// The blurred image in the region `crop`.
    ///
    /// # Errors
    /// If it is cancelled.
    pub fn apply(
        &self,
        image: &Image,
        crop: [i32; 4],
        crew: &Crew<'_>,
    ) -> Result<Image, Cancelled> {
        let [along_x, along_y] = [0, 1].map(|axis| {
            let n_source = size(image.view().crop)[axis];
            let most = f64::from(i32::try_from(n_source).unwrap_or(i32::MAX));
            let radius = f64::from(self.radius[axis]).max(0.0).min(most);
            let first = i64::from(crop[axis]) - i64::from(image.view().crop[axis]);
            Mean { radius: radius as usize, fraction: radius.fract() as f32, first }
        });
        let view = image.view().with_crop(crop);
        two_passes(image, view, [self.edge; 2], [&along_x, &along_y], crew)
    }
}

/// Means of windows along an axis.
///
/// Sums of 2, 4, 8... neighbors are made in turn, and a window is the sum of those that its length
/// in binary consists of. So the effort grows with the logarithm of the length, and each sum has an
/// order that depends on nothing but the length.
struct Mean {
    /// Whole pixels on each side.
    radius: usize,
    /// Weight of one more pixel on each side.
    fraction: f32,
    /// The position of the source at the middle of the first window.
    first: i64,
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
        outputs: Range<usize>,
        to: &mut [Block<f32>],
    ) {
        width.run(Windows { mean: self, from, to: &mut to[..outputs.len()] });
    }

    fn worthwhile(&self) -> usize {
        4 * self.reach()
    }
}

struct Windows<'a> {
    mean: &'a Mean,
    from: &'a [Block<f32>],
    to: &'a mut [Block<f32>],
}

impl OverVectors for Windows<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (reach, radius) = (self.mean.reach(), self.mean.radius);
        let n_window = 2 * radius + 1;
        let scale = (1.0 / (n_window as f64 + 2.0 * f64::from(self.mean.fraction))) as f32;
        // Outputs at a time, so that all sums of them stay in the cache.
        let n_chunk = (2 * reach).max(96);
        let mut sums = Vec::with_capacity(n_chunk + 2 * reach);
        for (chunk, to) in self.to.chunks_mut(n_chunk).enumerate() {
            let from = &self.from[chunk * n_chunk..][..to.len() + 2 * reach];
            sums.clear();
            sums.extend_from_slice(&from[reach - radius..from.len() - (reach - radius)]);
            if reach > radius {
                ends(simd, from, self.mean.fraction, to);
            } else {
                to.fill(Block::default());
            }
            let (mut at, mut n) = (0, 1);
            loop {
                if n_window & n != 0 {
                    accumulate(simd, &sums[at..], to);
                    at += n;
                }
                if 2 * n > n_window {
                    break;
                }
                double(simd, &mut sums, n);
                n *= 2;
            }
            for to in to {
                each_vector(simd, |lane| {
                    let v = S::f32s::from_slice(simd, &to.0[lane..lane + S::f32s::LEN]);
                    (v * scale).store_slice(&mut to.0[lane..lane + S::f32s::LEN]);
                });
            }
        }
    }
}

#[inline(always)]
fn each_vector<S: Simd>(_: S, mut each: impl FnMut(usize)) {
    for lane in (0..LANES).step_by(S::f32s::LEN) {
        each(lane);
    }
}

/// Sets outputs to the weighted sum of the first and last number of their windows.
#[inline(always)]
fn ends<S: Simd>(simd: S, from: &[Block<f32>], weight: f32, to: &mut [Block<f32>]) {
    let last = &from[from.len() - to.len()..];
    for ((to, first), last) in to.iter_mut().zip(from).zip(last) {
        each_vector(simd, |lane| {
            let lanes = lane..lane + S::f32s::LEN;
            let first = S::f32s::from_slice(simd, &first.0[lanes.clone()]);
            let last = S::f32s::from_slice(simd, &last.0[lanes.clone()]);
            ((first + last) * weight).store_slice(&mut to.0[lanes]);
        });
    }
}

/// Adds sums to outputs.
#[inline(always)]
fn accumulate<S: Simd>(simd: S, sums: &[Block<f32>], to: &mut [Block<f32>]) {
    for (to, sum) in to.iter_mut().zip(sums) {
        each_vector(simd, |lane| {
            let lanes = lane..lane + S::f32s::LEN;
            let sum = S::f32s::from_slice(simd, &sum.0[lanes.clone()]);
            let so_far = S::f32s::from_slice(simd, &to.0[lanes.clone()]);
            (so_far + sum).store_slice(&mut to.0[lanes]);
        });
    }
}

/// Turns sums of `n` neighbors into sums of twice as many, where there are as many.
#[inline(always)]
fn double<S: Simd>(simd: S, sums: &mut [Block<f32>], n: usize) {
    for i in 0..sums.len().saturating_sub(n) {
        let next = sums[i + n];
        let sum = &mut sums[i];
        each_vector(simd, |lane| {
            let lanes = lane..lane + S::f32s::LEN;
            let next = S::f32s::from_slice(simd, &next.0[lanes.clone()]);
            let this = S::f32s::from_slice(simd, &sum.0[lanes.clone()]);
            (this + next).store_slice(&mut sum.0[lanes]);
        });
    }
}
