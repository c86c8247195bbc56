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
        if !(x.abs() < FAR && y.abs() < FAR) {
            return [0.0; 4];
        }
        match self.filter {
            Filter::Nearest => {
                let [column, row] = [(x, 0), (y, 1)].map(|(at, k)| self.index(floor(at) as i64, k));
                self.pixel(column, row)
            }
            Filter::Linear => self.blended([x, y], LINEAR, linear),
            Filter::Cubic => self.blended([x, y], CUBIC, cubic),
        }
    }

    /// The channels of pixels blended around a point, with the first pixel at this offset.
    #[inline(always)]
    fn blended<const M: usize>(
        &self,
        point: [f64; 2],
        first: i64,
        weights: impl Fn(f32) -> [f32; M],
    ) -> [f32; 4] {
        let [x, y] = point.map(|at| floor(at - 0.5));
        let [of_x, of_y] =
            [(point[0], x), (point[1], y)].map(|(at, before)| weights((at - 0.5 - before) as f32));
        let [columns, rows]: [[Option<usize>; M]; 2] = [(x, 0), (y, 1)].map(|(before, k)| {
            std::array::from_fn(|i| self.index(before as i64 + first + i as i64, k))
        });
        let mut channels = blend([of_x, of_y], |i, j| self.pixel(columns[i], rows[j]));
        // The sum of the weights is rounded.
        if let Some(coverage) = self.coverage
            && columns.iter().chain(&rows).all(Option::is_some)
        {
            channels[coverage] = 1.0;
        }
        channels
    }

    /// The column (0) or row (1) of pixels for a position in this direction.
    #[inline(always)]
    fn index(&self, at: i64, direction: usize) -> Option<usize> {
        self.edge.index(at, self.size[direction])
    }

    #[inline]
    fn pixel(&self, column: Option<usize>, row: Option<usize>) -> [f32; 4] {
        let mut pixel = [0.0; 4];
        if let (Some(column), Some(row)) = (column, row) {
            let at = (row * self.size[0] + column) * self.n_channels;
            let channels = &self.channels[at..at + self.n_channels];
            pixel[..channels.len()].copy_from_slice(channels);
            if let Some(coverage) = self.coverage {
                pixel[coverage] = 1.0;
            }
        }
        pixel
    }

    /// Sets each of `out` to the color that `color` makes of the channels at a point, of which the
    /// image has `N`, and of the alpha that an image without alpha has there. The bits are those of
    /// [`at`](Self::at).
    ///
    /// # Panics
    /// If the image has another number of channels.
    pub fn each<const N: usize, P: Copy, C>(
        &self,
        points: &[P],
        out: &mut [C],
        xy: impl Fn(P) -> [f64; 2],
        color: impl Fn([f32; N], f32) -> C,
    ) {
        assert_eq!(self.n_channels, N, "the image has that many channels");
        let Some(to_pixels) = &self.to_pixels else {
            let alpha = self.alpha_of(&[0.0; 4]);
            return out.iter_mut().for_each(|out| *out = color([0.0; N], alpha));
        };
        Width::widest().run(
            #[inline(always)]
            || {
                for (out, points) in out.chunks_mut(BLOCK).zip(points.chunks(BLOCK)) {
                    let (mut x, mut y) = ([0.0; BLOCK], [0.0; BLOCK]);
                    for ((x, y), point) in x.iter_mut().zip(&mut y).zip(points) {
                        [*x, *y] = to_pixels.at(xy(*point));
                    }
                    let at = [&x[..points.len()], &y[..points.len()]];
                    match self.filter {
                        Filter::Nearest => self.nearest_of_block(at, out, &color),
                        Filter::Linear => self.blends_of_block(at, (LINEAR, linear), out, &color),
                        Filter::Cubic => self.blends_of_block(at, (CUBIC, cubic), out, &color),
                    }
                }
            },
        );
    }

    /// The alpha that an image without alpha has where it has these channels.
    fn alpha_of(&self, channels: &[f32; 4]) -> f32 {
        self.coverage.map_or(1.0, |at| channels[at])
    }

    /// The nearest pixel of each point.
    #[inline(always)]
    fn nearest_of_block<const N: usize, C>(
        &self,
        at: [&[f64]; 2],
        out: &mut [C],
        color: &impl Fn([f32; N], f32) -> C,
    ) {
        let n = out.len();
        let [x, y] = at.map(|at| &at[..n]);
        let (mut numbers, is_inside) = self.numbers(n, 1, |i| [floor(x[i]), floor(y[i])]);
        if !is_inside {
            let mut places = [[0.0; BLOCK]; 2];
            for (k, places) in places.iter_mut().enumerate() {
                for (place, at) in places.iter_mut().zip(at[k]) {
                    *place = if at.abs() < FAR { floor(*at) } else { f64::NAN };
                }
                self.edge.into_pixels(&mut places[..n], self.size[k]);
            }
            (numbers, _) = self.numbers(n, 1, |i| [places[0][i], places[1][i]]);
        }
        let (pixels, _) = self.channels.as_chunks::<N>();
        let with_numbers = out.iter_mut().zip(&numbers);
        if is_inside {
            return with_numbers
                .for_each(|(out, number)| *out = color(pixels[*number as usize], 1.0));
        }
        let outside = self.alpha_of(&[0.0; 4]);
        for (out, number) in with_numbers {
            *out = match *number {
                OUTSIDE => color([0.0; N], outside),
                number => color(pixels[number as usize], 1.0),
            };
        }
    }

    /// The blend of pixels around each point, with the first pixel at an offset and weights.
    #[inline(always)]
    fn blends_of_block<const N: usize, const M: usize, C>(
        &self,
        at: [&[f64]; 2],
        (first, weights): (i64, impl Fn(f32) -> [f32; M]),
        out: &mut [C],
        color: &impl Fn([f32; N], f32) -> C,
    ) {
        let n = out.len();
        let (mut places, mut between) = ([[0.0; BLOCK]; 2], [[0.0_f32; BLOCK]; 2]);
        for (k, places) in places.iter_mut().enumerate() {
            let with_between = places.iter_mut().zip(&mut between[k]);
            for ((place, between), at) in with_between.zip(at[k]) {
                let before = if at.abs() < FAR { floor(*at - 0.5) } else { f64::NAN };
                *between = (*at - 0.5 - before) as f32;
                *place = before + first as f64;
            }
        }
        let (mut numbers, is_inside) = self.numbers(n, M, |i| [places[0][i], places[1][i]]);
        if !is_inside {
            for (k, places) in places.iter_mut().enumerate() {
                self.edge.into_period(&mut places[..n], self.size[k]);
            }
            (numbers, _) = self.numbers(n, M, |i| [places[0][i], places[1][i]]);
        }
        let (pixels, _) = self.channels.as_chunks::<N>();
        for (i, (out, number)) in out.iter_mut().zip(&numbers).enumerate() {
            *out = if *number == OUTSIDE {
                let channels = self.at_pixel([at[0][i], at[1][i]]);
                color(std::array::from_fn(|k| channels[k]), self.alpha_of(&channels))
            } else {
                let weights = [weights(between[0][i]), weights(between[1][i])];
                let row = |j| &pixels[*number as usize + j * self.size[0]..][..M];
                let rows: [&[[f32; N]]; M] = std::array::from_fn(row);
                color(blend(weights, |i, j| rows[j][i]), 1.0)
            };
        }
    }

    /// The numbers of pixels at `n` columns and rows, and whether all squares of `side` pixels with
    /// them at the lower left lie within the image; those that do not have no number.
    #[inline(always)]
    fn numbers(
        &self,
        n: usize,
        side: usize,
        place: impl Fn(usize) -> [f64; 2],
    ) -> ([u64; BLOCK], bool) {
        // The last bits of a whole number plus this are the number.
        const SHIFT: f64 = (1_u64 << 52) as f64;
        const LAST_BITS: u64 = (1 << 52) - 1;
        let mut numbers = [OUTSIDE; BLOCK];
        let per_row = self.size[0] as f64;
        let [most_x, most_y] = self.size.map(|n| n as f64 - side as f64);
        let mut n_outside = 0;
        for (i, number) in numbers[..n].iter_mut().enumerate() {
            let [x, y] = place(i);
            let is_inside = (0.0..=most_x).contains(&x) && (0.0..=most_y).contains(&y);
            let inside = (y * per_row + x + SHIFT).to_bits() & LAST_BITS;
            *number = if is_inside { inside } else { OUTSIDE };
            n_outside += u32::from(!is_inside);
        }
        (numbers, n_outside == 0)
    }
}

/// The number of a pixel that the image lacks.
const OUTSIDE: u64 = u64::MAX;

/// Positions from here on are as good as any other outside; all whole numbers below are exact. What
/// is not a number is outside.
const FAR: f64 = (1_u64 << 52) as f64;

/// The sum of pixels with these weights in x and y; `pixel` takes a column and a row among them.
#[inline(always)]
fn blend<const N: usize, const M: usize>(
    [of_x, of_y]: [[f32; M]; 2],
    pixel: impl Fn(usize, usize) -> [f32; N],
) -> [f32; N] {
    let mut sum = [0.0; N];
    for (j, wy) in of_y.into_iter().enumerate() {
        let mut row = [0.0; N];
        for (i, wx) in of_x.into_iter().enumerate() {
            let pixel = pixel(i, j);
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

    /// Numbers from 0 to 1.
    fn drawn() -> impl FnMut() -> f64 {
        let mut state = 7_u32;
        move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8) / f64::from(1 << 24)
        }
    }

    /// The bits of the channels and of the alpha at each point.
    fn bits_of_each<const N: usize>(sampler: &Sampler<'_>, points: &[[f64; 2]]) -> Vec<[u32; 4]> {
        let mut bits = vec![[0; 4]; points.len()];
        sampler.each(
            points,
            &mut bits,
            |point| point,
            |channels: [f32; N], alpha| {
                let mut all = [0.0; 4];
                all[..N].copy_from_slice(&channels);
                if N % 2 == 1 {
                    all[N] = alpha;
                }
                all.map(f32::to_bits)
            },
        );
        bits
    }

    /// Checks that points sampled together have the bits that each has by itself.
    fn check_points<const N: usize>(view: &Footprint, points: &[[f64; 2]]) {
        let (n, mut next) = (view.n_pixels().expect("it is small"), drawn());
        let values: Vec<f32> = (0..N * n).map(|_| next() as f32 - 0.5).collect();
        let image = Image::from_channels(view.clone(), N, values).expect("it fits");
        for filter in [Filter::Nearest, Filter::Linear, Filter::Cubic] {
            for edge in [Edge::Extend, Edge::Clear, Edge::Wrap, Edge::Mirror] {
                let sampler = Sampler::new(&image, filter, edge);
                let single = |point: &[f64; 2]| {
                    let mut all = sampler.at(*point);
                    if N % 2 == 1 && sampler.n_channels() == N {
                        all[N] = 1.0;
                    }
                    all.map(f32::to_bits)
                };
                let single: Vec<[u32; 4]> = points.iter().map(single).collect();
                assert_eq!(bits_of_each::<N>(&sampler, points), single, "{filter:?}, {edge:?}");
            }
        }
    }

    #[test]
    fn many_points_have_the_bits_of_one() {
        let mut next = drawn();
        let mut tilted = Footprint::of_size(19, 13).with_crop([2, 1, 16, 12]);
        (tilted.transform.0[0], tilted.transform.0[1], tilted.transform.0[3]) = (0.7, 0.2, -3.0);
        let views = [tilted, Footprint::of_size(19, 13), Footprint::of_size(1, 3)];
        let mut points: Vec<[f64; 2]> =
            (0..500).map(|_| [1.0 + 3.0 * next(), 4.0 + 2.0 * next()]).collect();
        for size in [40.0, 400.0, 1e9, 1e15, 1e16] {
            points.extend((0..200).map(|_| [size * (next() - 0.5), size * (next() - 0.5)]));
        }
        // Edges of pixels and of the image, and the numbers next to them.
        for i in -80..80 {
            let edge = f64::from(i) * 0.5;
            let near = [edge, edge.next_up(), edge.next_down(), edge * 19.0, edge * 13.0];
            points.extend(near.iter().map(|x| [*x, 3.25]));
            points.extend(near.iter().map(|y| [5.75, *y]));
        }
        let far = (1_u64 << 52) as f64;
        let strange = [f64::NAN, f64::INFINITY, 1e300, -1e300, 1e11, far, -far, far - 0.5, -0.0];
        points.extend(strange.iter().flat_map(|x| [[*x, 1.0], [1.0, *x], [*x, *x]]));
        for view in &views {
            check_points::<1>(view, &points);
            check_points::<2>(view, &points);
            check_points::<3>(view, &points);
            check_points::<4>(view, &points);
        }
    }
}
