//! Slopes of images: edges, and normals of height maps.

use std::ops::Range;

use millstream_base::image::Image;

use crate::crew::fresh;
use crate::crew::{Cancelled, Crew, Pace};
use crate::passes::finished;
use crate::region::Edge;
use crate::rows::Rows;

/// The measure of a slope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// Its magnitude, which is not negative.
    #[default]
    Magnitude,
    /// Its x component: positive where values increase to the right.
    X,
    /// Its y component: positive where values increase upward.
    Y,
}

/// The slope of each channel by the Sobel operator: differences of the neighbors on both sides, of
/// which those in the same row or column count twice, divided by 8 pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sobel {
    /// The measure.
    pub measure: Measure,
    /// The size of a pixel in the unit of the slopes.
    pub pixel: f32,
    /// What lies beyond the image.
    pub edge: Edge,
}

impl Sobel {
    /// How far beyond the region of its result the operator reads, in pixels in x and y.
    pub fn reach(&self) -> [i32; 2] {
        [1, 1]
    }

    /// The slopes in the region `crop`.
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
        let per_pixel = 1.0 / self.pixel;
        let scaled = |slope: [f32; 2]| slope.map(|slope| slope * per_pixel);
        let measure = |[x, y]: [f32; 2]| match self.measure {
            Measure::Magnitude => (x * x + y * y).sqrt(),
            Measure::X => x,
            Measure::Y => y,
        };
        over_rows(image, self.edge, crop, n_channels, crew, |rows, n, out| {
            for (i, to) in out.iter_mut().enumerate() {
                *to = measure(scaled(slope(rows, i, n)));
            }
        })
    }
}

/// How a normal is encoded in the channels of a pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Scaled to 0 to 1, as in picture files: straight up is `[0.5, 0.5, 1]`.
    #[default]
    Unit,
    /// Unscaled, -1 to 1: straight up is `[0, 0, 1]`.
    Signed,
}

/// The normals of a height map, the first channel of an image; the slopes are those of [`Sobel`].
///
/// x points right, y up and z to the viewer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normals {
    /// The height, in pixels, of a difference of 1 in the image.
    pub strength: f32,
    /// How normals are encoded.
    pub encoding: Encoding,
    /// What lies beyond the image.
    pub edge: Edge,
}

impl Normals {
    /// How far beyond the region of their result normals read, in pixels in x and y.
    pub fn reach(&self) -> [i32; 2] {
        [1, 1]
    }

    /// The normals in the region `crop`, an image of three channels.
    ///
    /// # Errors
    /// If cancelled.
    pub fn apply(
        &self,
        image: &Image,
        crop: [i32; 4],
        crew: &Crew<'_>,
    ) -> Result<Image, Cancelled> {
        over_rows(image, self.edge, crop, 3, crew, |rows, n, out| {
            for (i, to) in out.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                let [x, y] = slope(rows, i * n, n).map(|slope| -slope * self.strength);
                let length = (x * x + y * y + 1.0).sqrt();
                let normal = [x / length, y / length, 1.0 / length];
                *to = match self.encoding {
                    Encoding::Unit => normal.map(|part| part * 0.5 + 0.5),
                    Encoding::Signed => normal,
                };
            }
        })
    }
}

/// The slope at an index of the middle one of three rows, each with one extra pixel of `n` channels
/// on both sides.
#[inline(always)]
fn slope([below, row, above]: [&[f32]; 3], i: usize, n: usize) -> [f32; 2] {
    let (left, right) = (i, i + 2 * n);
    let x = (below[right] - below[left]) + (above[right] - above[left]);
    let x = x + 2.0 * (row[right] - row[left]);
    let y = (above[left] - below[left]) + (above[right] - below[right]);
    let y = y + 2.0 * (above[i + n] - below[i + n]);
    [x * 0.125, y * 0.125]
}

/// An image whose rows are computed from three rows each, with one extra pixel on both sides, and
/// their number of channels.
fn over_rows(
    image: &Image,
    edge: Edge,
    crop: [i32; 4],
    n_channels: usize,
    crew: &Crew<'_>,
    make: impl Fn([&[f32]; 3], usize, &mut [f32]) + Sync,
) -> Result<Image, Cancelled> {
    /// Rows that a thread takes at a time.
    const BAND: usize = 32;
    let view = image.view().with_crop(crop);
    let [width, height] = view.size();
    let stride = width * n_channels;
    let mut values = fresh(stride * height);
    let source = Rows::new(image, edge);
    let columns: Range<i64> = i64::from(crop[0]) - 1..i64::from(crop[2]) + 1;
    let bands = values.chunks_mut((BAND * stride).max(1)).enumerate().collect();
    let room = || [const { Vec::new() }; 3];
    let band = |(band, out): (usize, &mut [f32]), rows: &mut [Vec<f32>; 3], pace: &mut Pace<'_>| {
        let first = i64::from(crop[1]) + (band * BAND) as i64;
        for (y, row) in (first - 1..).zip(rows.iter_mut()) {
            source.read(y, columns.clone(), row);
        }
        for (y, out) in (first..).zip(out.chunks_mut(stride)) {
            pace.work(stride)?;
            let [below, row, above] = &*rows;
            make([below, row, above], image.n_channels(), out);
            rows.rotate_left(1);
            source.read(y + 2, columns.clone(), &mut rows[2]);
        }
        Ok(())
    };
    crew.each(bands, room, band)?;
    Ok(finished(view, n_channels, values))
}
