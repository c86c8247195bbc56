//! The nearest pixel on the other side above and below each pixel.

use millstream_base::image::Image;

use super::Distance;
use crate::crew::{Cancelled, Crew};
use crate::region::{Edge, size};
use millstream_base::width::{OverVectors, Width};

/// Columns searched side by side.
pub(super) const STRIP: usize = 64;

/// The search along columns.
pub(super) struct Columns<'a> {
    pub(super) image: &'a Image,
    pub(super) distance: &'a Distance,
    /// Greater distances are not distinguished: they are stored as this plus one.
    pub(super) max: i32,
    /// The pixels to search in.
    pub(super) region: [i32; 4],
    /// The pixels to compute distances for.
    pub(super) crop: [i32; 4],
}

impl Columns<'_> {
    /// Sets the distances of the pixels in the region's columns and the crop's rows: positive
    /// outside, negative inside. They are stored strip by strip, and row by row within a strip.
    pub(super) fn search(&self, nearest: &mut [i16], crew: &Crew<'_>) -> Result<(), Cancelled> {
        let n_rows = size(self.crop)[1];
        let strips = nearest.chunks_mut(STRIP * n_rows).enumerate().collect();
        crew.each(
            strips,
            || (),
            |(strip, out), (), pace| {
                let (out, _) = out.as_chunks_mut::<STRIP>();
                let sources = self.sources(strip);
                let (first, last) = (self.region[1], self.region[3]);
                let mut runs = [0; STRIP];
                for y in first..last {
                    pace.work(STRIP)?;
                    self.row(y, &sources, &mut runs, crew.width());
                    if let Some(out) = self.row_of(y, out) {
                        *out = runs;
                    }
                }
                runs = [0; STRIP];
                for y in (first..last).rev() {
                    pace.work(STRIP)?;
                    self.row(y, &sources, &mut runs, crew.width());
                    if let Some(out) = self.row_of(y, out) {
                        for (to, run) in out.iter_mut().zip(runs) {
                            *to = if run.abs() < to.abs() { run } else { *to };
                        }
                    }
                }
                Ok(())
            },
        )
    }

    /// The row of the result at `y`, if there is one.
    fn row_of<'a>(&self, y: i32, out: &'a mut [[i16; STRIP]]) -> Option<&'a mut [i16; STRIP]> {
        let row = i64::from(y) - i64::from(self.crop[1]);
        out.get_mut(usize::try_from(row).ok()?)
    }

    /// The offsets of a strip's columns in a row of the image, in channels.
    fn sources(&self, strip: usize) -> [usize; STRIP] {
        let n_channels = self.image.n_channels();
        let channel = self.distance.channel.min(n_channels - 1);
        let first = i64::from(self.region[0]) - i64::from(self.image.view().crop[0]);
        std::array::from_fn(|i| {
            let at = first + (strip * STRIP + i) as i64;
            let column = Edge::Extend.index(at, self.image.width()).unwrap_or(0);
            column * n_channels + channel
        })
    }

    /// Continues runs of pixels on one side by a row.
    fn row(&self, y: i32, sources: &[usize; STRIP], runs: &mut [i16; STRIP], width: Width) {
        let at = i64::from(y) - i64::from(self.image.view().crop[1]);
        let row = Edge::Extend.index(at, self.image.height()).unwrap_or(0);
        let stride = self.image.width() * self.image.n_channels();
        let row = &self.image.channels()[row * stride..][..stride];
        let mut values = [0.0; STRIP];
        for (value, source) in values.iter_mut().zip(sources) {
            *value = row[*source];
        }
        let max = self.max as i16 + 1;
        width.run_vectors(Continue {
            values: &values,
            threshold: self.distance.threshold,
            max,
            runs,
        });
    }
}

/// Continues runs by a pixel each. A run is the distance to the last pixel on the other side,
/// negative inside; 0 means that none has begun.
struct Continue<'a> {
    values: &'a [f32; STRIP],
    threshold: f32,
    max: i16,
    runs: &'a mut [i16; STRIP],
}

impl OverVectors for Continue<'_> {
    #[inline(always)]
    fn run<S: fearless_simd::Simd>(self, _: S) {
        for (run, value) in self.runs.iter_mut().zip(self.values) {
            let sign = if *value > self.threshold { -1 } else { 1 };
            // Positive while the pixel is on the same side as the previous one.
            let so_far = *run * sign;
            let longer = if so_far < self.max { so_far + 1 } else { self.max };
            let longer = if so_far < 0 { 1 } else { longer };
            *run = sign * if so_far == 0 { self.max } else { longer };
        }
    }
}
