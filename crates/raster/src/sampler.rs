//! Colors of an image at points of the scene, one by one or many at a time.

use millstream_base::Image;
use millstream_base::num::floor;
use millstream_base::width::Width;

use crate::place::{Affine, Filter};
use crate::region::Edge;

/// Points that are placed in one loop.
const BLOCK: usize = 64;

/// The colors of an image at points of the scene.
#[derive(Debug)]
pub struct Sampler<'i> {
    channels: &'i [f32],
    n_channels: usize,
    size: [usize; 2],
    /// From the scene to pixels, counted from the lower left corner of the image; `None` if the view
    /// of the image is a line or a point.
    pub(crate) to_pixels: Option<Affine>,
    pub(crate) filter: Filter,
    edge: Edge,
    /// The channel that tells how much of a point is covered by an image without alpha, if what
    /// lies beyond is transparent.
    coverage: Option<usize>,
}

impl<'i> Sampler<'i> {
    /// The colors of an image, which is transparent beyond a clear edge.
    pub fn new(image: &'i Image, filter: Filter, edge: Edge) -> Self {
        let gets_alpha = edge == Edge::Clear && !image.has_alpha();
        let coverage = gets_alpha.then(|| image.n_channels());
        Self { coverage, ..Self::of_channels(image, filter, edge) }
    }

    /// The channels of an image, which are 0 beyond a clear edge.
    pub(crate) fn of_channels(image: &'i Image, filter: Filter, edge: Edge) -> Self {
        let [x, y, ..] = image.view().crop.map(f64::from);
        let to_view = Affine::of(&image.view().transform).inverse();
        let to_pixels = to_view.map(|it| Affine([1.0, 0.0, -x, 0.0, 1.0, -y]).after(&it));
        Self {
            channels: image.channels(),
            n_channels: image.n_channels(),
            size: [image.width(), image.height()],
            to_pixels,
            filter,
            edge,
            coverage: None,
        }
    }

    /// The number of channels at a point: those of the image, and alpha if what lies beyond is
    /// transparent.
    pub fn n_channels(&self) -> usize {
        self.n_channels + usize::from(self.coverage.is_some())
    }

    /// The channels at a point of the scene; those from [`n_channels`](Self::n_channels) on are 0.
    pub fn at(&self, point: [f64; 2]) -> [f32; 4] {
        match &self.to_pixels {
            Some(to_pixels) => self.at_pixel(to_pixels.at(point)),
            None => [0.0; 4],
        }
    }

    /// Whether each pixel is the nearest one to the center of a pixel of another grid, given by the
    /// centers of its lowest row and of its leftmost column. False where columns or rows of pixels
    /// are not parallel to the axes of the scene; the other grid must be.
    pub fn has_centers(
        &self,
        row: impl ExactSizeIterator<Item = [f64; 2]>,
        column: impl ExactSizeIterator<Item = [f64; 2]>,
    ) -> bool {
        let Some(to_pixels) = &self.to_pixels else { return false };
        let [_, b, _, d, ..] = to_pixels.0;
        let is_at = |axis: usize| {
            move |(i, center): (usize, [f64; 2])| floor(to_pixels.at(center)[axis]) == i as f64
        };
        [row.len(), column.len()] == self.size
            && b == 0.0
            && d == 0.0
            && row.enumerate().all(is_at(0))
            && column.enumerate().all(is_at(1))
    }

    /// The channels at a point in pixels from the lower left corner of the image.
    pub(crate) fn at_pixel(&self, [x, y]: [f64; 2]) -> [f32; 4] {
        // Positions far outside are as good as any other outside, and all integers in between are
        // exact. What is not a number is outside.
        const FAR: f64 = (1_u64 << 52) as f64;
        if !(x.abs() < FAR && y.abs() < FAR) {
            return [0.0; 4];
        }
        let (mut channels, is_covered) = match self.filter {
            Filter::Nearest => return self.pixel(floor(x) as i64, floor(y) as i64),
            Filter::Linear => (
                blend([x, y], LINEAR, linear, |x, y| self.pixel(x, y)),
                self.is_blend_inside(&[x], &[y], LINEAR, 2),
            ),
            Filter::Cubic => (
                blend([x, y], CUBIC, cubic, |x, y| self.pixel(x, y)),
                self.is_blend_inside(&[x], &[y], CUBIC, 4),
            ),
        };
        // The sum of the weights is rounded.
        if let Some(coverage) = self.coverage.filter(|_| is_covered) {
            channels[coverage] = 1.0;
        }
        channels
    }

    #[inline]
    fn pixel(&self, x: i64, y: i64) -> [f32; 4] {
        let mut pixel = [0.0; 4];
        let [width, height] = self.size;
        if let (Some(x), Some(y)) = (self.edge.index(x, width), self.edge.index(y, height)) {
            let at = (y * width + x) * self.n_channels;
            let channels = &self.channels[at..at + self.n_channels];
            pixel[..channels.len()].copy_from_slice(channels);
            if let Some(coverage) = self.coverage {
                pixel[coverage] = 1.0;
            }
        }
        pixel
    }

    /// Calls `put` with the position of each point, the channels there, of which the image has `N`,
    /// and the alpha that an image without alpha has there. The bits are those of [`at`](Self::at).
    ///
    /// # Panics
    /// If the image has another number of channels.
    pub fn each<const N: usize, P: Copy>(
        &self,
        points: &[P],
        xy: impl Fn(P) -> [f64; 2],
        mut put: impl FnMut(usize, [f32; N], f32),
    ) {
        assert_eq!(self.n_channels, N, "the image has that many channels");
        let alpha_of = |channels: &[f32; 4]| self.coverage.map_or(1.0, |at| channels[at]);
        let Some(to_pixels) = &self.to_pixels else {
            let alpha = alpha_of(&[0.0; 4]);
            return (0..points.len()).for_each(|i| put(i, [0.0; N], alpha));
        };
        Width::widest().run(
            #[inline(always)]
            || {
                for (block, points) in points.chunks(BLOCK).enumerate() {
                    let (mut x, mut y) = ([0.0; BLOCK], [0.0; BLOCK]);
                    for (i, point) in points.iter().enumerate() {
                        [x[i], y[i]] = to_pixels.at(xy(*point));
                    }
                    let (x, y) = (&x[..points.len()], &y[..points.len()]);
                    let first = block * BLOCK;
                    let mut put_inside = |i: usize, channels| put(first + i, channels, 1.0);
                    let is_inside = match self.filter {
                        Filter::Nearest => self.nearest_inside(x, y, &mut put_inside),
                        Filter::Linear => self.blend_inside(x, y, LINEAR, linear, &mut put_inside),
                        Filter::Cubic => self.blend_inside(x, y, CUBIC, cubic, &mut put_inside),
                    };
                    if !is_inside {
                        for (i, (x, y)) in x.iter().zip(y).enumerate() {
                            let channels = self.at_pixel([*x, *y]);
                            let alpha = alpha_of(&channels);
                            put(first + i, std::array::from_fn(|k| channels[k]), alpha);
                        }
                    }
                }
            },
        );
    }

    /// Whether all points lie at least `before` pixels above the lower and left edges and more than
    /// `after` pixels below the others.
    #[inline(always)]
    fn is_inside(&self, x: &[f64], y: &[f64], before: f64, after: f64) -> bool {
        let [width, height] = self.size.map(|n| n as f64 - after);
        let is_inside = |at: &[f64], n: f64| {
            // Counted, so that the loop has no branches.
            at.iter().map(|at| u32::from(!(before..n).contains(at))).sum::<u32>() == 0
        };
        is_inside(x, width) && is_inside(y, height)
    }

    /// Whether all pixels that are blended at these points, `n` in each direction and the first one
    /// at this offset, lie within the image.
    #[inline(always)]
    fn is_blend_inside(&self, x: &[f64], y: &[f64], first: i64, n: usize) -> bool {
        let before = -first as f64;
        self.is_inside(x, y, before + 0.5, n as f64 - before - 1.5)
    }

    /// Gives the pixels of points that all lie within the image; false if one does not.
    #[inline(always)]
    fn nearest_inside<const N: usize>(
        &self,
        x: &[f64],
        y: &[f64],
        put: &mut impl FnMut(usize, [f32; N]),
    ) -> bool {
        if !self.is_inside(x, y, 0.0, 0.0) {
            return false;
        }
        let width = self.size[0] as i32;
        let mut number = [0_i32; BLOCK];
        for (number, (x, y)) in number.iter_mut().zip(x.iter().zip(y)) {
            *number = (*y as i32).wrapping_mul(width).wrapping_add(*x as i32);
        }
        let (pixels, _) = self.channels.as_chunks::<N>();
        for (i, number) in number[..x.len()].iter().enumerate() {
            put(i, pixels[*number as u32 as usize]);
        }
        true
    }

    /// Blends pixels around points for which all of these lie within the image; false if one does
    /// not.
    #[inline(always)]
    fn blend_inside<const N: usize, const M: usize>(
        &self,
        x: &[f64],
        y: &[f64],
        first: i64,
        weights: impl Fn(f32) -> [f32; M],
        put: &mut impl FnMut(usize, [f32; N]),
    ) -> bool {
        if !self.is_blend_inside(x, y, first, M) {
            return false;
        }
        let (pixels, _) = self.channels.as_chunks::<N>();
        let pixel = |x: i64, y: i64| pixels[y as usize * self.size[0] + x as usize];
        for (i, (x, y)) in x.iter().zip(y).enumerate() {
            put(i, blend([*x, *y], first, &weights, pixel));
        }
        true
    }
}

/// The sum of the pixels around a point with these weights, which depend on the distance from the
/// center of the pixel before it; `first` is the offset of the first pixel from that one.
#[inline(always)]
fn blend<const N: usize, const M: usize>(
    point: [f64; 2],
    first: i64,
    weights: impl Fn(f32) -> [f32; M],
    pixel: impl Fn(i64, i64) -> [f32; N],
) -> [f32; N] {
    let [(x, of_x), (y, of_y)] = point.map(|at| {
        let before = floor(at - 0.5);
        (before as i64 + first, weights((at - 0.5 - before) as f32))
    });
    let mut sum = [0.0; N];
    for (j, wy) in of_y.into_iter().enumerate() {
        let mut row = [0.0; N];
        for (i, wx) in of_x.into_iter().enumerate() {
            let pixel = pixel(x + i as i64, y + j as i64);
            (0..N).for_each(|k| row[k] += wx * pixel[k]);
        }
        (0..N).for_each(|k| sum[k] += wy * row[k]);
    }
    sum
}

/// The offset of the first pixel of linear interpolation.
const LINEAR: i64 = 0;

/// The offset of the first pixel of cubic interpolation.
const CUBIC: i64 = -1;

#[inline(always)]
fn linear(t: f32) -> [f32; 2] {
    [1.0 - t, t]
}

/// Keys, "Cubic Convolution Interpolation for Digital Image Processing", 1981.
#[inline(always)]
fn cubic(t: f32) -> [f32; 4] {
    let (t2, t3) = (t * t, t * t * t);
    [
        (-t3 + 2.0 * t2 - t) * 0.5,
        (3.0 * t3 - 5.0 * t2 + 2.0) * 0.5,
        (-3.0 * t3 + 4.0 * t2 + t) * 0.5,
        (t3 - t2) * 0.5,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_base::Footprint;

    #[test]
    fn filters_go_through_the_centers_of_pixels() {
        let values = (0..25).map(|i| i as f32).collect();
        let image = Image::from_channels(Footprint::of_size(5, 5), 1, values).expect("it fits");
        for filter in [Filter::Nearest, Filter::Linear, Filter::Cubic] {
            let sampler = Sampler::new(&image, filter, Edge::Extend);
            assert_eq!(sampler.at([2.5, 3.5]), [17.0, 0.0, 0.0, 0.0]);
        }
        for filter in [Filter::Linear, Filter::Cubic] {
            let sampler = Sampler::new(&image, filter, Edge::Extend);
            assert_eq!(sampler.at([2.75, 2.25])[0], 12.25 - 1.25);
        }
        let strange = [f64::NAN, f64::INFINITY, 1e300];
        let sampler = Sampler::new(&image, Filter::Cubic, Edge::Extend);
        assert!(strange.iter().all(|x| sampler.at([*x, 0.0]) == [0.0; 4]));
    }

    #[test]
    fn many_points_have_the_bits_of_one() {
        let mut state = 7_u32;
        let mut next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8) / f64::from(1 << 24)
        };
        let mut view = Footprint::of_size(19, 13).with_crop([2, 1, 16, 12]);
        (view.transform.0[0], view.transform.0[1], view.transform.0[3]) = (0.7, 0.2, -3.0);
        let n = view.n_pixels().expect("it is small");
        let inside: Vec<[f64; 2]> =
            (0..500).map(|_| [1.0 + 3.0 * next(), 4.0 + 2.0 * next()]).collect();
        let around: Vec<[f64; 2]> =
            (0..500).map(|_| [40.0 * next() - 20.0, 40.0 * next() - 20.0]).collect();
        let strange = vec![[f64::NAN, 1.0], [f64::INFINITY, 1.0], [1e300, -1e300], [1e11, 3.0]];
        let points = [inside, around, strange].concat();
        let values: Vec<f32> = (0..3 * n).map(|_| next() as f32 - 0.5).collect();
        let image = Image::from_channels(view, 3, values).expect("it fits");
        for filter in [Filter::Nearest, Filter::Linear, Filter::Cubic] {
            for edge in [Edge::Extend, Edge::Clear, Edge::Wrap, Edge::Mirror] {
                let sampler = Sampler::new(&image, filter, edge);
                let (mut bits, mut seen) = (Vec::new(), 0);
                sampler.each::<3, _>(
                    &points,
                    |point| point,
                    |i, [r, g, b], alpha| {
                        assert_eq!(i, seen, "in order");
                        seen += 1;
                        bits.push([r, g, b, alpha].map(f32::to_bits));
                    },
                );
                let single = |point: &[f64; 2]| {
                    let [r, g, b, alpha] = sampler.at(*point);
                    let alpha = if sampler.n_channels() == 4 { alpha } else { 1.0 };
                    [r, g, b, alpha].map(f32::to_bits)
                };
                assert_eq!(bits, points.iter().map(single).collect::<Vec<_>>());
            }
        }
    }
}
