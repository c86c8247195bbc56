//! Weighted sums of the pixels around each pixel.

use std::ops::Range;

use fearless_simd::{Simd, SimdBase};
use millstream_base::image::Image;

use crate::crew::{Cancelled, Crew, Pace};
use crate::passes::finished;
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
        let mut values = crew.memory(stride * height);
        let source = Rows::new(image, self.edge);
        let reach_y = i64::from(self.reach()[1]);
        let n_band = (2 * reach_y as usize).clamp(16, 512);
        let bands = values.chunks_mut((n_band * stride).max(1)).enumerate().collect();
        let inside = Inside::new(self, image, crop);
        crew.each(bands, Room::default, |(band, out), room, pace| {
            let rows = (band * n_band) as i64..(band * n_band + out.len() / stride) as i64;
            let columns = inside.columns(&rows);
            self.copied(
                (&source, n_channels),
                (crop, &rows),
                0..columns.start,
                out,
                room,
                (crew, pace),
            )?;
            for (row, out) in rows.clone().zip(out.chunks_mut(stride)) {
                pace.work(columns.len() * n_channels * self.weights.taps.len().div_ceil(16))?;
                inside.row(crew.width(), row, &columns, out);
            }
            self.copied(
                (&source, n_channels),
                (crop, &rows),
                columns.end..width,
                out,
                room,
                (crew, pace),
            )
        })?;
        Ok(finished(view, n_channels, values))
    }

    /// The sums for some columns of a band of rows, out of tiles that the pixels are copied into, also
    /// those beyond the image.
    fn copied(
        &self,
        (source, n_channels): (&Rows<'_>, usize),
        (crop, rows): ([i32; 4], &Range<i64>),
        columns: Range<usize>,
        out: &mut [f32],
        room: &mut Room,
        (crew, pace): (&Crew<'_>, &mut Pace<'_>),
    ) -> Result<(), Cancelled> {
        let [reach_x, reach_y] = self.reach().map(i64::from);
        let [x, y] = [0, 1].map(|axis| i64::from(crop[axis]));
        let stride = (i64::from(crop[2]) - x) as usize * n_channels;
        let n_tile = (TILE / n_channels).max(2 * reach_x as usize).min(columns.len().max(1));
        for start in columns.clone().step_by(n_tile) {
            let n = n_tile.min(columns.end - start);
            let left = x + start as i64;
            let read = left - reach_x..left + n as i64 + reach_x;
            // Whole pieces are computed even at the ends of rows, where buffers are padded.
            let n_values = n * n_channels;
            let pitch = n_values.next_multiple_of(PIECE) + 2 * reach_x as usize * n_channels;
            room.source.clear();
            for row in y + rows.start - reach_y..y + rows.end + reach_y {
                pace.work(pitch)?;
                source.read(row, read.clone(), &mut room.row);
                room.source.extend_from_slice(&room.row);
                let end = room.source.len().next_multiple_of(pitch);
                room.source.resize(end, 0.0);
            }
            self.place(pitch, n_channels, &mut room.taps);
            room.sums.resize(n_values.next_multiple_of(PIECE), 0.0);
            for (row, out) in out.chunks_mut(stride).enumerate() {
                pace.work(n_values * self.weights.taps.len().div_ceil(16))?;
                let from = &room.source[row * pitch..];
                sums(crew.width(), from, &room.taps, &mut room.sums);
                out[start * n_channels..][..n_values].copy_from_slice(&room.sums[..n_values]);
            }
        }
        Ok(())
    }

    /// Converts the weights for rows that are `pitch` numbers apart.
    fn place(&self, pitch: usize, n_channels: usize, taps: &mut Vec<(usize, f32)>) {
        let reach = self.reach();
        taps.clear();
        taps.extend(self.weights.taps.iter().map(|(offset, weight)| {
            let [x, y] = [0, 1].map(|axis| (offset[axis] + reach[axis]) as usize);
            (y * pitch + x * n_channels, *weight)
        }));
    }
}

/// The pixels of the result whose sums need no pixel beyond the image, so that these are read where
/// they lie.
struct Inside<'i> {
    channels: &'i [f32],
    n_channels: usize,
    /// Numbers in a row of the image.
    pitch: usize,
    taps: Vec<(usize, f32)>,
    /// Columns and rows of the result, which count from its lower left corner.
    columns: Range<i64>,
    rows: Range<i64>,
    /// The place in the image of the pixel that the first weight of the first pixel would be for.
    first: [i64; 2],
}

impl<'i> Inside<'i> {
    fn new(convolve: &Convolve, image: &'i Image, crop: [i32; 4]) -> Self {
        let n_channels = image.n_channels();
        let pitch = image.width() * n_channels;
        let mut taps = Vec::new();
        convolve.place(pitch, n_channels, &mut taps);
        let reach = convolve.reach().map(i64::from);
        let (crop, bounds) = (crop.map(i64::from), image.view().crop.map(i64::from));
        let range = |axis: usize| {
            let start = (bounds[axis] + reach[axis]).max(crop[axis]);
            let end = (bounds[axis + 2] - reach[axis]).min(crop[axis + 2]);
            start - crop[axis]..end.max(start) - crop[axis]
        };
        let first = [0, 1].map(|axis| crop[axis] - bounds[axis] - reach[axis]);
        let channels = image.channels();
        Self { channels, n_channels, pitch, taps, columns: range(0), rows: range(1), first }
    }

    /// The columns of a band of rows that are read where they lie: a multiple of pieces.
    fn columns(&self, rows: &Range<i64>) -> Range<usize> {
        if rows.start < self.rows.start || rows.end > self.rows.end {
            return 0..0;
        }
        let start = self.columns.start as usize;
        let n = (self.columns.end - self.columns.start) as usize / PIECE * PIECE;
        if n == 0 { 0..0 } else { start..start + n }
    }

    /// The sums of these columns of a row of the result.
    fn row(&self, width: Width, row: i64, columns: &Range<usize>, out: &mut [f32]) {
        if columns.is_empty() {
            return;
        }
        let [x, y] =
            [columns.start as i64 + self.first[0], row + self.first[1]].map(|at| at as usize);
        let from = &self.channels[y * self.pitch + x * self.n_channels..];
        let out = &mut out[columns.start * self.n_channels..columns.end * self.n_channels];
        sums(width, from, &self.taps, out);
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
