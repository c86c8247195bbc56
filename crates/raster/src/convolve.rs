//! Weighted sums of the pixels around each pixel.

use fearless_simd::{Simd, SimdBase};
use millstream_base::image::Image;

use crate::crew::{Cancelled, Crew};
use crate::passes::{finished, fresh};
use crate::region::Edge;
use crate::rows::Rows;
use millstream_base::width::{OverVectors, Width};

/// Channels of a row computed at a time.
const TILE: usize = 1024;

/// Rows are divided into pieces of this many numbers: as many as the accumulators of the widest
/// vectors hold.
const PIECE: usize = 64;

/// Weights of the pixels around a pixel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    /// Offsets in x and y with their weights, in summation order.
    taps: Vec<([i32; 2], f32)>,
}

impl Weights {
    /// The weights of a rectangle of pixels, row by row from the bottom, like images; `None` if
    /// their number does not fit. The center is at `[width / 2, height / 2]`, rounded down.
    ///
    /// The kernel is not flipped: this is a correlation, not a convolution in the mathematical
    /// sense. Pixels with weight 0 are not read.
    pub fn of_rectangle(width: usize, height: usize, weights: &[f32]) -> Option<Self> {
        if width.checked_mul(height) != Some(weights.len()) || i32::try_from(weights.len()).is_err()
        {
            return None;
        }
        let at = |i: usize| [(i % width), (i / width)].map(|at| at as i32);
        let middle = [width / 2, height / 2].map(|at| at as i32);
        let offset = |i: usize| [at(i)[0] - middle[0], at(i)[1] - middle[1]];
        let taps = weights.iter().enumerate().map(|(i, weight)| (offset(i), *weight));
        Some(Self::of_offsets(taps))
    }

    /// Weights of pixels at offsets in x and y.
    pub(crate) fn of_offsets(taps: impl IntoIterator<Item = ([i32; 2], f32)>) -> Self {
        Self { taps: taps.into_iter().filter(|(_, weight)| *weight != 0.0).collect() }
    }

    /// The weights scaled to a sum of 1, unless their sum is 0.
    pub fn normalized(mut self) -> Self {
        let sum: f64 = self.taps.iter().map(|(_, weight)| f64::from(*weight)).sum();
        if sum != 0.0 {
            for (_, weight) in &mut self.taps {
                *weight = (f64::from(*weight) / sum) as f32;
            }
        }
        self
    }

    /// Offsets in x and y with their weights, in summation order.
    #[cfg(test)]
    pub(crate) fn taps(&self) -> &[([i32; 2], f32)] {
        &self.taps
    }

    fn reach(&self) -> [i32; 2] {
        let farthest = |axis: usize| {
            let offsets = self.taps.iter().map(|(offset, _)| offset[axis].saturating_abs());
            offsets.max().unwrap_or(0)
        };
        [0, 1].map(farthest)
    }
}

/// A weighted sum of the pixels around each pixel, channel by channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Convolve {
    /// The weights.
    pub weights: Weights,
    /// What lies beyond the image.
    pub edge: Edge,
}

impl Convolve {
    /// How far beyond the region of its result the sum reads, in pixels in x and y.
    pub fn reach(&self) -> [i32; 2] {
        self.weights.reach()
    }

    /// The sums in the region `crop`.
    ///
    /// # Errors
    /// If cancelled.
    pub fn apply(
        &self,
        image: &Image,
        crop: [i32; 4],
        crew: &Crew<'_>,
    ) -> Result<Image, Cancelled> {
        let n_channels = image.n_channels();
        let view = image.view().with_crop(crop);
        let [width, height] = view.size();
        let stride = width * n_channels;
        let mut values = fresh(stride * height);
        let source = Rows::new(image, self.edge);
        let [reach_x, reach_y] = self.reach().map(i64::from);
        let n_band = (2 * reach_y as usize).clamp(16, 512);
        let bands = values.chunks_mut((n_band * stride).max(1)).enumerate().collect();
        let [x, y] = [0, 1].map(|axis| i64::from(crop[axis]));
        let n_tile = (TILE / n_channels).max(2 * reach_x as usize).min(width.max(1));
        crew.each(bands, Room::default, |(band, out), room, pace| {
            let (first, n_rows) = (y + (band * n_band) as i64, out.len() / stride);
            for start in (0..width).step_by(n_tile) {
                let n = n_tile.min(width - start);
                let left = x + start as i64;
                let columns = left - reach_x..left + n as i64 + reach_x;
                // Whole pieces are computed even at the ends of rows, where buffers are padded.
                let n_values = n * n_channels;
                let pitch = n_values.next_multiple_of(PIECE) + 2 * reach_x as usize * n_channels;
                room.source.clear();
                for row in first - reach_y..first + n_rows as i64 + reach_y {
                    pace.work(pitch)?;
                    source.read(row, columns.clone(), &mut room.row);
                    room.source.extend_from_slice(&room.row);
                    let end = room.source.len().next_multiple_of(pitch);
                    room.source.resize(end, 0.0);
                }
                self.tile(pitch, n_channels, room);
                room.sums.resize(n_values.next_multiple_of(PIECE), 0.0);
                for (row, out) in out.chunks_mut(stride).enumerate() {
                    pace.work(n_values * self.weights.taps.len().div_ceil(16))?;
                    let from = &room.source[row * pitch..];
                    sums(crew.width(), from, &room.taps, &mut room.sums);
                    out[start * n_channels..][..n_values].copy_from_slice(&room.sums[..n_values]);
                }
            }
            Ok(())
        })?;
        Ok(finished(view, n_channels, values))
    }

    /// Converts the weights for the rows of a tile, which are `pitch` numbers apart.
    fn tile(&self, pitch: usize, n_channels: usize, room: &mut Room) {
        let reach = self.reach();
        room.taps.clear();
        room.taps.extend(self.weights.taps.iter().map(|(offset, weight)| {
            let [x, y] = [0, 1].map(|axis| (offset[axis] + reach[axis]) as usize);
            (y * pitch + x * n_channels, *weight)
        }));
    }
}

/// Buffers of one thread.
#[derive(Default)]
struct Room {
    row: Vec<f32>,
    /// The rows of a tile and its surroundings.
    source: Vec<f32>,
    /// For each weight, the offset of its number from the one at the lower left.
    taps: Vec<(usize, f32)>,
    sums: Vec<f32>,
}

fn sums(width: Width, from: &[f32], taps: &[(usize, f32)], to: &mut [f32]) {
    width.run_vectors(Sums { from, taps, to });
}

struct Sums<'a> {
    from: &'a [f32],
    taps: &'a [(usize, f32)],
    to: &'a mut [f32],
}

impl OverVectors for Sums<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let n = S::f32s::LEN;
        for (piece, to) in self.to.chunks_exact_mut(4 * n).enumerate() {
            let mut sums = [S::f32s::splat(simd, 0.0); 4];
            for (at, weight) in self.taps {
                let from = &self.from[at + piece * 4 * n..][..4 * n];
                let weight = S::f32s::splat(simd, *weight);
                for (sum, from) in sums.iter_mut().zip(from.chunks_exact(n)) {
                    *sum += S::f32s::from_slice(simd, from) * weight;
                }
            }
            for (sum, to) in sums.iter().zip(to.chunks_exact_mut(n)) {
                sum.store_slice(to);
            }
        }
    }
}
