//! Resizing of images.

use millstream_base::footprint::Footprint;
use millstream_base::image::Image;
use millstream_base::num;

use crate::crew::fresh;
use crate::crew::{Cancelled, Crew};
use crate::passes::{finished, two_passes};
use crate::region::{Edge, size};
use crate::taps::Taps;

/// How pixels of a resized image are computed from those of the source.
///
/// Where an image is reduced, the kernels are widened by the same factor, so that every pixel
/// counts and fine patterns do not turn into coarse ones (antialiasing). Weights are normalized;
/// those of pixels beyond the image are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    /// The pixel at the center of the new one, unchanged.
    Nearest,
    /// The pixels covered by the new one, by area.
    Area,
    /// Linear interpolation: a triangle of radius 1.
    Bilinear,
    /// The cubic through the pixels of Catmull and Rom: `B = 0`, `C = 1/2`, radius 2.
    #[default]
    CatmullRom,
    /// The smoother cubic of Mitchell and Netravali ("Reconstruction Filters in Computer Graphics",
    /// 1988): `B = C = 1/3`, radius 2.
    Mitchell,
    /// `sinc(x) sinc(x / 3)`, radius 3.
    Lanczos3,
}

impl Kernel {
    /// The distance in pixels from which weights are 0, where an image is not reduced.
    fn radius(self) -> f64 {
        match self {
            Self::Nearest | Self::Area => 0.5,
            Self::Bilinear => 1.0,
            Self::CatmullRom | Self::Mitchell => 2.0,
            Self::Lanczos3 => 3.0,
        }
    }

    /// The weight at a distance.
    fn weight(self, x: f64) -> f64 {
        let x = x.abs();
        if x >= self.radius() {
            return 0.0;
        }
        match self {
            Self::Nearest | Self::Area => 1.0,
            Self::Bilinear => 1.0 - x,
            Self::CatmullRom => cubic(0.0, 0.5, x),
            Self::Mitchell => cubic(1.0 / 3.0, 1.0 / 3.0, x),
            Self::Lanczos3 => sinc(x) * sinc(x / 3.0),
        }
    }
}

/// The cubics of Mitchell and Netravali, for distances below 2.
fn cubic(b: f64, c: f64, x: f64) -> f64 {
    let terms = if x < 1.0 {
        [12.0 - 9.0 * b - 6.0 * c, -18.0 + 12.0 * b + 6.0 * c, 0.0, 6.0 - 2.0 * b]
    } else {
        [-b - 6.0 * c, 6.0 * b + 30.0 * c, -12.0 * b - 48.0 * c, 8.0 * b + 24.0 * c]
    };
    terms.iter().fold(0.0, |sum, term| sum * x + term) / 6.0
}

fn sinc(x: f64) -> f64 {
    let angle = std::f64::consts::PI * x;
    if angle == 0.0 { 1.0 } else { num::sin(angle) / angle }
}

/// An image with another number of pixels that shows the same part of the scene.
///
/// It is computed from the whole view of an image, `[0, 0, width, height]` of its resolution. To
/// resize another region, first give the image a view of that size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resize {
    /// Width and height of the whole result in pixels.
    pub size: [i32; 2],
    /// How its pixels are computed.
    pub kernel: Kernel,
}

impl Resize {
    /// The region of an image with this resolution that is needed for the region `crop` of the
    /// result.
    pub fn needed(&self, resolution: [i32; 2], crop: [i32; 4]) -> [i32; 4] {
        let [(x, end_x), (y, end_y)] = [0, 1].map(|axis| {
            if crop[axis] >= crop[axis + 2] {
                return (0, 0);
            }
            let axis_of = Axis::new(resolution[axis], self.size[axis], self.kernel);
            let (start, _) = axis_of.range(i64::from(crop[axis]));
            let (_, end) = axis_of.range(i64::from(crop[axis + 2]) - 1);
            (start as i32, end as i32)
        });
        [x, y, end_x, end_y]
    }

    /// The resized image in the region `crop` of the whole result; pixels outside the result equal
    /// those at its edge.
    ///
    /// # Errors
    /// If cancelled.
    pub fn apply(
        &self,
        image: &Image,
        crop: [i32; 4],
        crew: &Crew<'_>,
    ) -> Result<Image, Cancelled> {
        let view = self.view(image.view(), crop);
        if self.kernel == Kernel::Nearest {
            return self.nearest(image, view, crew);
        }
        let [along_x, along_y] = [0, 1].map(|axis| {
            let resolution = image.view().resolution[axis];
            let axis_of = Axis::new(resolution, self.size[axis], self.kernel);
            axis_of.taps(crop[axis], crop[axis + 2], image.view().crop[axis])
        });
        two_passes(image, view, [Edge::Extend; 2], [&along_x, &along_y], crew)
    }

    /// The view of the result: its pixels are larger in proportion as they are fewer.
    fn view(&self, source: &Footprint, crop: [i32; 4]) -> Footprint {
        let mut transform = source.transform;
        for axis in 0..2 {
            let factor = f64::from(source.resolution[axis]) / f64::from(self.size[axis].max(1));
            let column = transform.0.iter_mut().skip(axis).step_by(4);
            column.for_each(|x| *x = (f64::from(*x) * factor) as f32);
        }
        Footprint { transform, resolution: self.size.map(|n| n.max(0)), crop }
    }

    fn nearest(&self, image: &Image, view: Footprint, crew: &Crew<'_>) -> Result<Image, Cancelled> {
        let [columns, rows] = [0, 1].map(|axis| {
            let resolution = image.view().resolution[axis];
            let axis_of = Axis::new(resolution, self.size[axis], self.kernel);
            let n = size(image.view().crop)[axis];
            let first = i64::from(image.view().crop[axis]);
            let source = |at: i32| Edge::Extend.index(axis_of.range(i64::from(at)).0 - first, n);
            (view.crop[axis]..view.crop[axis + 2]).map(source).collect::<Vec<_>>()
        });
        let n_channels = image.n_channels();
        let (from, stride) = (image.channels(), image.width() * n_channels);
        let mut values = fresh(columns.len() * rows.len() * n_channels);
        let n_row = (columns.len() * n_channels).max(1);
        let items: Vec<_> = values.chunks_mut(n_row).zip(&rows).collect();
        crew.each(
            items,
            || (),
            |(to, row), (), pace| {
                pace.work(to.len())?;
                let Some(row) = row else { return Ok(()) };
                let row = &from[row * stride..][..stride];
                for (to, column) in to.chunks_exact_mut(n_channels).zip(&columns) {
                    if let Some(column) = column {
                        to.copy_from_slice(&row[column * n_channels..][..n_channels]);
                    }
                }
                Ok(())
            },
        )?;
        Ok(finished(view, n_channels, values))
    }
}

/// One axis of a resize: which source pixels each new pixel is computed from.
struct Axis {
    n_source: i64,
    n_result: i64,
    kernel: Kernel,
}

impl Axis {
    fn new(n_source: i32, n_result: i32, kernel: Kernel) -> Self {
        Self { n_source: n_source.max(1).into(), n_result: n_result.max(1).into(), kernel }
    }

    /// Pixels of the source per pixel of the result.
    fn ratio(&self) -> f64 {
        self.n_source as f64 / self.n_result as f64
    }

    /// The center of a new pixel, in source pixels, whose centers are at integers.
    fn center(&self, at: i64) -> f64 {
        ((2 * at + 1) * self.n_source) as f64 / (2 * self.n_result) as f64 - 0.5
    }

    /// The first source pixel with a weight, and one past the last.
    fn range(&self, at: i64) -> (i64, i64) {
        let at = at.clamp(0, self.n_result - 1);
        let (start, end) = match self.kernel {
            Kernel::Nearest => {
                let nearest = (2 * at + 1) * self.n_source / (2 * self.n_result);
                (nearest, nearest + 1)
            }
            Kernel::Area => {
                let start = at * self.n_source;
                let end = start + self.n_source;
                (start / self.n_result, (end + self.n_result - 1) / self.n_result)
            }
            _ => {
                let reach = self.kernel.radius() * self.ratio().max(1.0);
                let center = self.center(at);
                ((center - reach).floor() as i64 + 1, (center + reach).ceil() as i64)
            }
        };
        (start.max(0), end.min(self.n_source))
    }

    /// The weights of the pixels in [`range`](Self::range).
    fn weights(&self, at: i64) -> Vec<f64> {
        let at = at.clamp(0, self.n_result - 1);
        let (start, end) = self.range(at);
        let weight = |j: i64| {
            if self.kernel == Kernel::Area {
                // Lengths are integers in units of a pixel divided by the number of new ones.
                let (from, to) = (at * self.n_source, (at + 1) * self.n_source);
                let (low, high) = (j * self.n_result, (j + 1) * self.n_result);
                return (to.min(high) - from.max(low)) as f64;
            }
            self.kernel.weight((j as f64 - self.center(at)) / self.ratio().max(1.0))
        };
        let weights: Vec<f64> = (start..end).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect()
    }

    /// The weights of the new pixels from `start` to `end`, for an image that begins with the pixel
    /// `first`.
    fn taps(&self, start: i32, end: i32, first: i32) -> Taps {
        /// Anything smaller is a rounding error of 0.
        const NEGLIGIBLE: f64 = 1e-9;
        let mut taps = Taps::new();
        for at in i64::from(start)..i64::from(end) {
            let weights = self.weights(at);
            let used = |weight: &f64| weight.abs() > NEGLIGIBLE;
            let skipped = weights.iter().position(used).unwrap_or(0);
            let n = weights.iter().rposition(used).map_or(0, |last| last + 1);
            let position = self.range(at).0 + skipped as i64 - i64::from(first);
            taps.push(position, weights[skipped..n].iter().map(|weight| *weight as f32));
        }
        taps
    }
}
