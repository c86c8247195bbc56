//! Resampling of images to the pixels of another view.

use millstream_base::same::Same;
use millstream_base::{Footprint, Image, Mat4};

use crate::region::Edge;
use crate::rows::Rows;
use crate::sampler::Sampler;

/// How a color between pixels is interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The nearest pixel.
    Nearest,
    /// Linear between the four nearest pixels.
    Linear,
    /// Cubic through the sixteen nearest pixels (Catmull and Rom).
    Cubic,
}

/// An affine map of the plane: `(x, y)` maps to `(a x + b y + c, d x + e y + f)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine(pub [f64; 6]);

impl Affine {
    /// The effect of a matrix on the points of the plane `z = 0`, seen along `z`.
    pub fn of(matrix: &Mat4) -> Self {
        let m = &matrix.0;
        Self([m[0], m[1], m[3], m[4], m[5], m[7]].map(f64::from))
    }

    /// The image of a point.
    pub fn at(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let [a, b, c, d, e, f] = self.0;
        [a * x + b * y + c, d * x + e * y + f]
    }

    /// The composition that applies `first`, then this map.
    pub fn after(&self, first: &Self) -> Self {
        let ([a, b, _, d, e, _], [p, q, _, s, t, _]) = (self.0, first.0);
        let [c, f] = self.at([first.0[2], first.0[5]]);
        Self([a * p + b * s, a * q + b * t, c, d * p + e * s, d * q + e * t, f])
    }

    /// The inverse; `None` if the map is singular.
    pub fn inverse(&self) -> Option<Self> {
        let [a, b, c, d, e, f] = self.0;
        let area = a * e - b * d;
        let back = [e, -b, b * f - e * c, -d, a, d * c - a * f].map(|x| x / area);
        back.iter().all(|x| x.is_finite()).then_some(Self(back))
    }

    /// The greater of the lengths of a unit step in x and in y.
    fn stretch(&self) -> f64 {
        let [a, b, _, d, e, _] = self.0;
        (a * a + d * d).max(b * b + e * e).sqrt()
    }
}

/// The maximum number of samples per pixel and direction when an image is reduced.
const MAX_SAMPLES: f64 = 32.0;

/// How far a stretch may be from a whole number by rounding.
const ROUNDING: f64 = 1e-4;

/// The image resampled to the requested pixels of a view. On the same grid, pixels are copied;
/// otherwise they are interpolated, or averaged where several fall into one. If the continuation is
/// clear, an image without alpha gets it, whether or not anything beyond the image is requested.
///
/// `work` is called with the number of pixels that follow.
///
/// # Errors
/// The first error of `work`.
pub fn place<E>(
    image: &Image,
    view: &Footprint,
    (filter, edge): (Filter, Edge),
    work: impl FnMut(usize) -> Result<(), E>,
) -> Result<Image, E> {
    if image.view() == view {
        return Ok(if edge == Edge::Clear { image.clone().with_alpha() } else { image.clone() });
    }
    let sampler = Sampler::new(image, filter, edge);
    placed(image, view, (&sampler, edge), work)
}

/// As [`place`], but with the channels of the image, which are 0 beyond a clear edge.
///
/// # Errors
/// The first error of `work`.
pub fn place_channels<E>(
    image: &Image,
    view: &Footprint,
    (filter, edge): (Filter, Edge),
    work: impl FnMut(usize) -> Result<(), E>,
) -> Result<Image, E> {
    if image.view() == view {
        return Ok(image.clone());
    }
    let sampler = Sampler::of_channels(image, filter, edge);
    placed(image, view, (&sampler, edge), work)
}

/// The image that a sampler sees at the requested pixels of a view.
fn placed<E>(
    image: &Image,
    view: &Footprint,
    (sampler, edge): (&Sampler<'_>, Edge),
    mut work: impl FnMut(usize) -> Result<(), E>,
) -> Result<Image, E> {
    let [width, height] = view.size();
    let n = sampler.n_channels();
    let mut values = Vec::with_capacity(width * height * n);
    if image.view().transform.same(&view.transform) {
        let [left, lower, right, upper] = view.crop.map(i64::from);
        let (rows, mut row) = (Rows::new(image, edge), Vec::<f32>::new());
        for y in lower..upper {
            work(width)?;
            rows.read(y, left..right.max(left), &mut row);
            if n == image.n_channels() {
                values.extend_from_slice(&row);
                continue;
            }
            let [min_x, min_y, max_x, max_y] = image.view().crop.map(i64::from);
            let is_row = (min_y..max_y).contains(&y);
            for (x, pixel) in (left..).zip(row.chunks_exact(n - 1)) {
                values.extend_from_slice(pixel);
                values.push(if is_row && (min_x..max_x).contains(&x) { 1.0 } else { 0.0 });
            }
        }
    } else {
        let to_scene = Affine::of(&view.transform);
        let to_pixels = sampler.to_pixels.unwrap_or(Affine([0.0; 6])).after(&to_scene);
        let stretch = to_pixels.stretch();
        let is_mean = sampler.filter != Filter::Nearest && stretch > 1.0 + ROUNDING;
        let samples = Samples::of(if is_mean { stretch } else { 1.0 });
        let [left, lower, ..] = view.crop.map(f64::from);
        for y in 0..height {
            work(width * samples.n * samples.n)?;
            for x in 0..width {
                let corner = [left + x as f64, lower + y as f64];
                let pixel = average(sampler, &to_pixels, corner, samples);
                values.extend_from_slice(&pixel[..n]);
            }
        }
    }
    Ok(Image::from_channels(view.clone(), n, values).expect("all pixels were computed"))
}

/// The samples of a pixel in one direction.
#[derive(Clone, Copy)]
struct Samples {
    n: usize,
    /// The distances, in pixels, of the first sample from the border and of neighbors.
    first: f64,
    step: f64,
}

impl Samples {
    /// The samples where this many pixels of the image fall into one. Together with interpolation,
    /// which reaches half a pixel of the image further, they cover the pixel.
    fn of(stretch: f64) -> Self {
        let stretch = stretch.clamp(1.0, MAX_SAMPLES);
        let n = (stretch - ROUNDING).ceil().max(1.0);
        let span = if n > 1.0 { 1.0 - 1.0 / stretch } else { 0.0 };
        Self { n: n as usize, first: 0.5 - span / 2.0, step: span / (n - 1.0).max(1.0) }
    }

    fn at(self, i: usize) -> f64 {
        self.first + i as f64 * self.step
    }
}

/// The mean of the samples of the pixel with this lower left corner.
fn average(
    sampler: &Sampler<'_>,
    to_pixels: &Affine,
    corner: [f64; 2],
    samples: Samples,
) -> [f32; 4] {
    let mut sum = [0.0; 4];
    for j in 0..samples.n {
        for i in 0..samples.n {
            let at = [corner[0] + samples.at(i), corner[1] + samples.at(j)];
            let sample = sampler.at_pixel(to_pixels.at(at));
            (0..4).for_each(|k| sum[k] += sample[k]);
        }
    }
    let n_all = (samples.n * samples.n) as f32;
    sum.map(|x| x / n_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(width: i32, height: i32) -> Image {
        let n = (width * height) as usize;
        let values = (0..n).map(|i| i as f32).collect();
        Image::from_channels(Footprint::of_size(width, height), 1, values).expect("it fits")
    }

    fn values(image: &Image, view: &Footprint, filter: Filter, edge: Edge) -> Vec<f32> {
        let work = |_| Ok::<(), ()>(());
        place(image, view, (filter, edge), work).expect("nothing fails").channels().to_vec()
    }

    #[test]
    fn a_stretch_next_to_a_whole_number_gives_nearly_the_same() {
        let channels = (0..81).map(|i| (i * 37 % 11) as f32).collect();
        let image = Image::from_channels(Footprint::of_size(9, 9), 1, channels).expect("it fits");
        let scaled = |scale: f64| {
            let mut view = Footprint::of_size(4, 4);
            (view.transform.0[0], view.transform.0[5]) = (scale as f32, scale as f32);
            values(&image, &view, Filter::Linear, Edge::Extend)
        };
        for (whole, near) in [(1.0, 1.0 - 1e-6), (1.0, 1.0 + 1e-6), (1.0, 1.0005), (2.0, 2.000_01)]
        {
            let pairs = scaled(whole).into_iter().zip(scaled(near));
            let most = pairs.fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()));
            assert!(most < 0.03, "{near}: {most}");
        }
    }

    #[test]
    fn samples_of_a_whole_stretch_are_the_middles_of_equal_parts() {
        for n in [1, 2, 3, 32] {
            let samples = Samples::of(n as f64);
            assert_eq!(samples.n, n);
            for i in 0..n {
                assert!((samples.at(i) - (i as f64 + 0.5) / n as f64).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn pixels_of_the_same_grid_are_copied() {
        let image = counted(3, 2);
        let view = image.view().with_crop([-2, -1, 5, 1]);
        let row = |edge| values(&image, &view, Filter::Linear, edge);
        let zero = [0.0; 7];
        let channels = |edge| {
            let work = |_| Ok::<(), ()>(());
            place_channels(&image, &view, (Filter::Linear, edge), work).expect("nothing fails")
        };
        let clear = [zero, [0., 0., 0., 1., 2., 0., 0.]].concat();
        assert_eq!(channels(Edge::Clear).channels(), clear);
        let alpha = [zero, [0., 0., 1., 1., 1., 0., 0.]].concat();
        let with_alpha: Vec<f32> = clear.into_iter().zip(alpha).flat_map(|(x, a)| [x, a]).collect();
        assert_eq!(row(Edge::Clear), with_alpha);
        assert_eq!(row(Edge::Extend), [[0., 0., 0., 1., 2., 2., 2.]; 2].concat());
        let wrapped = [[4., 5., 3., 4., 5., 3., 4.], [1., 2., 0., 1., 2., 0., 1.]];
        assert_eq!(row(Edge::Wrap), wrapped.concat());
        assert_eq!(row(Edge::Mirror), [[1., 0., 0., 1., 2., 2., 1.]; 2].concat());
    }

    #[test]
    fn an_opaque_image_is_transparent_beyond_a_clear_edge_and_opaque_inside() {
        let image = counted(8, 8);
        for filter in [Filter::Nearest, Filter::Linear, Filter::Cubic] {
            let mut view = Footprint::of_size(20, 20);
            (view.transform.0[0], view.transform.0[1]) = (0.7, 0.1);
            (view.transform.0[5], view.transform.0[7]) = (0.9, -4.0);
            let whole = values(&image, &view, filter, Edge::Clear);
            let alphas: Vec<f32> = whole.chunks(2).map(|pixel| pixel[1]).collect();
            assert_eq!(alphas[0], 0.0);
            let reach = if filter == Filter::Cubic { 2.0 } else { 1.0 };
            let n_inside = alphas.iter().filter(|alpha| **alpha == 1.0).count();
            let least = (8.0 - 2.0 * reach) / 0.7 * ((8.0 - 2.0 * reach) / 0.9) * 0.8;
            assert!(n_inside as f64 > least, "{filter:?}: {n_inside} of {least}");
            // A region in which nothing beyond the image is seen has the same channels.
            let part = values(&image, &view.with_crop([4, 8, 7, 10]), filter, Edge::Clear);
            assert!(part.len() == 12 && part.chunks(2).all(|pixel| pixel[1] == 1.0), "{part:?}");
        }
        let whole = values(&image, image.view(), Filter::Linear, Edge::Clear);
        assert!(whole.len() == 128 && whole.chunks(2).all(|pixel| pixel[1] == 1.0));
    }

    #[test]
    fn half_of_the_resolution_averages() {
        let image = counted(4, 2);
        let mut view = Footprint::of_size(2, 1);
        (view.transform.0[0], view.transform.0[5]) = (2.0, 2.0);
        assert_eq!(values(&image, &view, Filter::Linear, Edge::Extend), [2.5, 4.5]);
        assert_eq!(values(&image, &view, Filter::Nearest, Edge::Extend), [5.0, 7.0]);
    }

    #[test]
    fn a_map_and_its_inverse() {
        let map = Affine([2.0, 1.0, 3.0, -1.0, 4.0, 5.0]);
        let back = map.inverse().expect("it is invertible");
        let there = back.after(&map);
        let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        assert!(there.0.iter().zip(identity).all(|(a, b)| (a - b).abs() < 1e-12));
        assert_eq!(Affine([1.0, 2.0, 0.0, 2.0, 4.0, 0.0]).inverse(), None);
    }
}
