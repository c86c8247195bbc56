//! Filters as plain loops over pixels, in `f64`.

use millstream_base::footprint::Footprint;
use millstream_base::image::Image;
use millstream_raster::region::Edge;
use millstream_raster::resize::Kernel;

/// Values from 0 to 1, and some NaNs and infinities.
pub(crate) fn values(n: usize, seed: u32, with_special: bool) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let value = |bits: u32| match bits % 50 {
        0 if with_special => f32::NAN,
        1 if with_special => f32::INFINITY,
        2 if with_special => -0.0,
        _ => bits as f32 / (1 << 24) as f32,
    };
    (0..n).map(|_| value(next())).collect()
}

/// The channels of a pixel of the image.
pub(crate) fn pixel(image: &Image, x: i32, y: i32) -> &[f32] {
    let [left, bottom, ..] = image.view().crop;
    let at = (y - bottom) as usize * image.width() + (x - left) as usize;
    &image.channels()[at * image.n_channels()..][..image.n_channels()]
}

/// Maps any position to one in `low..high`.
fn inside(at: i64, low: i64, high: i64, edge: Edge) -> Option<i64> {
    let n = high - low;
    match edge {
        _ if (low..high).contains(&at) => Some(at),
        Edge::Extend => Some(at.max(low).min(high - 1)),
        Edge::Clear => None,
        Edge::Wrap => Some(low + (at - low).rem_euclid(n)),
        Edge::Mirror => {
            let at = (at - low).rem_euclid(2 * n);
            Some(low + if at < n { at } else { 2 * n - 1 - at })
        }
    }
}

/// A channel of the image or of what lies beyond it.
fn at(image: &Image, x: i64, y: i64, channel: usize, edge: Edge) -> f32 {
    let [left, bottom, right, top] = image.view().crop.map(i64::from);
    let (x, y) = (inside(x, left, right, edge), inside(y, bottom, top, edge));
    let (Some(x), Some(y)) = (x, y) else { return 0.0 };
    pixel(image, x as i32, y as i32)[channel]
}

fn of_pixels(
    image: &Image,
    view: Footprint,
    n_channels: usize,
    value: impl Fn(i64, i64, usize) -> f32,
) -> Image {
    let [left, bottom, right, top] = view.crop.map(i64::from);
    let _ = image;
    let mut values = Vec::new();
    for y in bottom..top {
        for x in left..right {
            values.extend((0..n_channels).map(|channel| value(x, y, channel)));
        }
    }
    Image::from_channels(view, n_channels, values).expect("the number fits")
}

/// Separable weighted sums: first of pixels at offsets in y, then of these sums at offsets in x.
fn separable(image: &Image, crop: [i32; 4], weights: &[Vec<(i64, f64)>; 2], edge: Edge) -> Image {
    of_pixels(image, image.view().with_crop(crop), image.n_channels(), |x, y, channel| {
        let along_y = |x: i64| {
            let term =
                |(dy, weight): &(i64, f64)| f64::from(at(image, x, y + dy, channel, edge)) * weight;
            weights[1].iter().map(term).sum::<f64>()
        };
        weights[0].iter().map(|(dx, weight)| along_y(x + dx) * weight).sum::<f64>() as f32
    })
}

fn sizes(image: &Image) -> [f64; 2] {
    [image.width() as f64, image.height() as f64]
}

pub(crate) fn gaussian(image: &Image, crop: [i32; 4], sigma: [f32; 2], edge: Edge) -> Image {
    let weights = [0, 1].map(|axis| {
        let sigma = f64::from(sigma[axis]).max(0.0);
        let radius = f64::from((3.0 * sigma as f32).ceil()).min(sizes(image)[axis]) as i64;
        let weight = |k: i64| if k == 0 { 1.0 } else { (-0.5 * (k as f64 / sigma).powi(2)).exp() };
        let sum: f64 = (-radius..=radius).map(weight).sum();
        (-radius..=radius).map(|k| (k, weight(k) / sum)).collect()
    });
    separable(image, crop, &weights, edge)
}

pub(crate) fn mean(image: &Image, crop: [i32; 4], radius: [f32; 2], edge: Edge) -> Image {
    let weights = [0, 1].map(|axis| {
        let radius = f64::from(radius[axis]).max(0.0).min(sizes(image)[axis]);
        let (whole, fraction) = (radius.floor() as i64, radius.fract() as f32);
        let reach = if fraction > 0.0 { whole + 1 } else { whole };
        let weight = |k: i64| if k.abs() <= whole { 1.0 } else { f64::from(fraction) };
        let sum: f64 = (-reach..=reach).map(weight).sum();
        (-reach..=reach).map(|k| (k, weight(k) / sum)).collect()
    });
    separable(image, crop, &weights, edge)
}

pub(crate) fn extreme(
    image: &Image,
    crop: [i32; 4],
    radius: f32,
    disc: bool,
    least: bool,
    edge: Edge,
) -> Image {
    let cut = sizes(image).map(|size| (radius as i64).min(size as i64));
    let squared = f64::from(radius).powi(2);
    of_pixels(image, image.view().with_crop(crop), image.n_channels(), |x, y, channel| {
        let mut best = f32::NAN;
        for dy in -cut[1]..=cut[1] {
            for dx in -cut[0]..=cut[0] {
                if disc && (dx * dx + dy * dy) as f64 > squared {
                    continue;
                }
                let value = at(image, x + dx, y + dy, channel, edge);
                // The standard functions ignore NaN if the other operand is a number.
                best = if least { best.min(value) } else { best.max(value) };
            }
        }
        best
    })
}

pub(crate) fn distance(image: &Image, threshold: f32, limit: f32) -> Image {
    let limit = if limit > 0.0 { limit.min(32_000.0) } else { 0.0 };
    let channel = 2.min(image.n_channels() - 1);
    let [left, bottom, right, top] = image.view().crop.map(i64::from);
    of_pixels(image, image.view().clone(), 1, |x, y, _| {
        let is_inside = |x: i64, y: i64| pixel(image, x as i32, y as i32)[channel] > threshold;
        let this = is_inside(x, y);
        let mut nearest = f64::INFINITY;
        for v in bottom..top {
            for u in left..right {
                if is_inside(u, v) != this {
                    nearest = nearest.min((((u - x).pow(2) + (v - y).pow(2)) as f64).sqrt());
                }
            }
        }
        let distance = (nearest - 0.5).min(f64::from(limit)) as f32;
        if this { -distance } else { distance }
    })
}

fn weight(kernel: Kernel, x: f64) -> f64 {
    let x = x.abs();
    let sinc = |x: f64| {
        let angle = std::f64::consts::PI * x;
        if x == 0.0 { 1.0 } else { angle.sin() / angle }
    };
    match kernel {
        Kernel::Nearest | Kernel::Area => 0.0,
        Kernel::Bilinear => (1.0 - x).max(0.0),
        Kernel::CatmullRom if x < 1.0 => 1.5 * x * x * x - 2.5 * x * x + 1.0,
        Kernel::CatmullRom if x < 2.0 => -0.5 * x * x * x + 2.5 * x * x - 4.0 * x + 2.0,
        Kernel::Mitchell if x < 1.0 => (21.0 * x * x * x - 36.0 * x * x + 16.0) / 18.0,
        Kernel::Mitchell if x < 2.0 => (-7.0 * x * x * x + 36.0 * x * x - 60.0 * x + 32.0) / 18.0,
        Kernel::Lanczos3 if x < 3.0 => sinc(x) * sinc(x / 3.0),
        Kernel::CatmullRom | Kernel::Mitchell | Kernel::Lanczos3 => 0.0,
    }
}

/// The resized image, computed with a weight for every pair of old and new pixel.
pub(crate) fn resize(image: &Image, size: [i32; 2], kernel: Kernel) -> Image {
    let source = [image.width(), image.height()];
    let weights = |axis: usize, i: i64| -> Vec<f64> {
        let (n, ratio) = (source[axis], source[axis] as f64 / f64::from(size[axis]));
        let center = (i as f64 + 0.5) * ratio;
        let raw: Vec<f64> = (0..n)
            .map(|j| {
                let j = j as f64;
                match kernel {
                    Kernel::Nearest => {
                        let nearest = (2 * i + 1) * n as i64 / (2 * i64::from(size[axis]));
                        f64::from(u8::from(nearest == j as i64))
                    }
                    Kernel::Area => {
                        let (start, end) = (i as f64 * ratio, (i as f64 + 1.0) * ratio);
                        (end.min(j + 1.0) - start.max(j)).max(0.0)
                    }
                    _ => weight(kernel, (j + 0.5 - center) / ratio.max(1.0)),
                }
            })
            .collect();
        let sum: f64 = raw.iter().sum();
        let scaled = |weight: f64| if weight.abs() < 1e-9 * sum { 0.0 } else { weight / sum };
        raw.into_iter().map(scaled).collect()
    };
    let mut transform = image.view().transform;
    for axis in 0..2 {
        transform.0[5 * axis] *= source[axis] as f32 / size[axis] as f32;
    }
    let view = Footprint { transform, resolution: size, crop: [0, 0, size[0], size[1]] };
    of_pixels(image, view, image.n_channels(), |x, y, channel| {
        let (wx, wy) = (weights(0, x), weights(1, y));
        let mut sum = 0.0;
        for (i, wx) in wx.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
            for (j, wy) in wy.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
                sum += wx * wy * f64::from(pixel(image, i as i32, j as i32)[channel]);
            }
        }
        sum as f32
    })
}
