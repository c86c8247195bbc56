//! Dithering: few levels per channel, with patterns in place of the values between them.

use millstream_base::image::Image;

use crate::crew::fresh;
use crate::crew::{Cancelled, Crew};
use crate::passes::finished;

/// Thresholds that repeat over the plane.
///
/// After Bayer ("An optimum method for two-level rendition of continuous-tone pictures", 1973): the
/// thresholds in every part of a matrix are spread as evenly as those of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bayer {
    /// 2 by 2 pixels.
    Two,
    /// 4 by 4 pixels.
    Four,
    /// 8 by 8 pixels.
    #[default]
    Eight,
    /// 16 by 16 pixels.
    Sixteen,
}

impl Bayer {
    /// The base-2 logarithm of the size.
    fn n_bits(self) -> u32 {
        match self {
            Self::Two => 1,
            Self::Four => 2,
            Self::Eight => 3,
            Self::Sixteen => 4,
        }
    }

    /// The threshold of a pixel, between 0 and 1.
    fn threshold(self, x: i32, y: i32) -> f32 {
        let n_bits = self.n_bits();
        // The bits of x ^ y and of y alternate, lowest first.
        let rank = (0..n_bits).fold(0, |rank, bit| {
            let (x, y) = (x >> bit & 1, y >> bit & 1);
            rank << 2 | (x ^ y) << 1 | y
        });
        (rank as f32 + 0.5) / (1 << (2 * n_bits)) as f32
    }
}

/// Rounds each channel up if its distance above a level exceeds the threshold of the pixel,
/// otherwise down.
///
/// The levels divide 0 to 1 evenly. Values outside are clamped, and NaN is 0. The minimum is two
/// levels. Thresholds belong to pixels of the view, so each region of an image looks as in the
/// whole. All channels of a pixel share a threshold, so none exceeds alpha.
///
/// # Errors
/// If cancelled.
pub fn ordered(
    image: &Image,
    levels: u32,
    matrix: Bayer,
    crew: &Crew<'_>,
) -> Result<Image, Cancelled> {
    let n_channels = image.n_channels();
    let stride = (image.width() * n_channels).max(1);
    let steps = steps(levels);
    let [left, bottom, ..] = image.view().crop;
    let mut values = fresh(image.channels().len());
    let rows = values.chunks_mut(stride).zip(image.channels().chunks(stride));
    let rows = rows.zip(bottom..).collect();
    crew.each(
        rows,
        || (),
        |((out, from), y), (), pace| {
            pace.work(stride)?;
            let period = 1 << matrix.n_bits();
            let thresholds: Vec<f32> =
                (0..period).map(|i| matrix.threshold(left.wrapping_add(i), y)).collect();
            let pixels = out.chunks_exact_mut(n_channels).zip(from.chunks_exact(n_channels));
            for ((out, from), threshold) in pixels.zip(thresholds.iter().cycle()) {
                for (to, value) in out.iter_mut().zip(from) {
                    *to = (unit(*value) * steps + threshold).floor().min(steps) / steps;
                }
            }
            Ok(())
        },
    )?;
    Ok(finished(image.view().clone(), n_channels, values))
}

/// Rounds each channel and distributes the error to the following pixels, after Floyd and Steinberg
/// ("An adaptive algorithm for spatial grey scale", 1976): 7/16 to the right, 3/16, 5/16 and 1/16
/// to the three above.
///
/// Levels are those of [`ordered`]; color stays at or below alpha. Rows are computed from the bottom
/// up, each from left to right. So every pixel depends on all previous ones, and **the result
/// depends on the region**: pass the whole image. This runs on one thread.
///
/// # Errors
/// If cancelled.
pub fn diffused(image: &Image, levels: u32, crew: &Crew<'_>) -> Result<Image, Cancelled> {
    let n_channels = image.n_channels();
    let (stride, has_alpha) = (image.width() * n_channels, image.has_alpha());
    let steps = steps(levels);
    let mut values = fresh(image.channels().len());
    // Errors passed on to a row, with one extra pixel at both ends.
    let mut errors = [vec![0.0_f32; stride + 2 * n_channels], vec![0.0; stride + 2 * n_channels]];
    let mut pace = crew.pace();
    let rows = values.chunks_mut(stride.max(1)).zip(image.channels().chunks(stride.max(1)));
    for (out, from) in rows {
        pace.work(8 * stride)?;
        let [row, above] = &mut errors;
        above.fill(0.0);
        for start in (0..stride).step_by(n_channels) {
            // The color of a pixel is not above its alpha, which comes last.
            let mut most = steps;
            for i in (start..start + n_channels).rev() {
                let at = i + n_channels;
                let wanted = unit(from[i]) * steps + row[at];
                let level = (wanted + 0.5).floor().clamp(0.0, most);
                let error = (wanted - level) * (1.0 / 16.0);
                row[at + n_channels] += error * 7.0;
                above[i] += error * 3.0;
                above[at] += error * 5.0;
                above[at + n_channels] += error;
                out[i] = level / steps;
                if has_alpha && i + 1 == start + n_channels {
                    most = level;
                }
            }
        }
        errors.swap(0, 1);
    }
    Ok(finished(image.view().clone(), n_channels, values))
}

/// The number of steps between levels.
fn steps(levels: u32) -> f32 {
    // More levels than this cannot be distinguished in `f32`.
    levels.clamp(2, 1 << 24) as f32 - 1.0
}

/// The value clamped to 0 to 1; NaN is 0.
fn unit(value: f32) -> f32 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use millstream_base::footprint::Footprint;

    use super::*;

    #[test]
    fn thresholds_are_those_of_bayer() {
        let rank = |x, y| (Bayer::Four.threshold(x, y) * 16.0 - 0.5) as i32;
        let rows: [[i32; 4]; 4] =
            std::array::from_fn(|y| std::array::from_fn(|x| rank(x as i32, y as i32)));
        assert_eq!(rows, [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]);
        assert_eq!(Bayer::Sixteen.threshold(-1, -1), Bayer::Sixteen.threshold(15, 15));
    }

    #[test]
    fn diffused_color_stays_below_alpha() {
        let mut state = 7_u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        let values: Vec<f32> = (0..31 * 23)
            .flat_map(|_| {
                let alpha = random();
                [alpha * random(), alpha * random(), alpha * random(), alpha]
            })
            .collect();
        let sum = |values: &[f32], k: usize| values.iter().skip(k).step_by(4).sum::<f32>();
        let image = Image::from_channels(Footprint::of_size(31, 23), 4, values).expect("it fits");
        let diffused = diffused(&image, 2, &Crew::alone()).expect("nobody cancels");
        for pixel in diffused.channels().chunks(4) {
            assert!(pixel.iter().all(|x| *x <= pixel[3]), "{pixel:?}");
        }
        for k in 0..4 {
            let (before, after) = (sum(image.channels(), k), sum(diffused.channels(), k));
            assert!((before - after).abs() < 0.05 * before + 10.0, "{k}: {before} {after}");
        }
    }

    fn gray(crop: [i32; 4], values: impl Fn(i32, i32) -> f32) -> Image {
        let rows = (crop[1]..crop[3]).flat_map(|y| (crop[0]..crop[2]).map(move |x| (x, y)));
        let values = rows.map(|(x, y)| values(x, y)).collect();
        Image::from_channels(Footprint::of_size(64, 64).with_crop(crop), 1, values)
            .expect("it fits")
    }

    fn mean(image: &Image) -> f32 {
        image.channels().iter().sum::<f32>() / image.channels().len() as f32
    }

    #[test]
    fn few_levels_keep_the_mean() {
        for value in [0.0, 0.1, 0.3, 0.5, 0.77, 1.0] {
            let image = gray([0, 0, 64, 64], |_, _| value);
            for levels in [2, 3, 5, 256] {
                let ordered = ordered(&image, levels, Bayer::Sixteen, &Crew::alone());
                let ordered = ordered.expect("nobody cancels");
                assert!((mean(&ordered) - value).abs() < 0.003, "{value} {levels}");
                let diffused = diffused(&image, levels, &Crew::alone()).expect("nobody cancels");
                assert!((mean(&diffused) - value).abs() < 0.02, "{value} {levels}");
                for x in ordered.channels().iter().chain(diffused.channels()) {
                    let level = x * (levels - 1) as f32;
                    assert!((level - level.round()).abs() < 1e-4, "{level}");
                }
            }
        }
    }

    #[test]
    fn ordered_patterns_belong_to_the_view() {
        let value = |x: i32, y: i32| (x * 7 + y * 3) as f32 / 640.0;
        let of = |crop| {
            ordered(&gray(crop, value), 3, Bayer::Eight, &Crew::alone()).expect("nobody cancels")
        };
        let whole = of([0, 0, 64, 64]);
        let part = of([5, 3, 20, 17]);
        for y in 0..14 {
            let row = &whole.channels()[(y + 3) * 64 + 5..][..15];
            assert_eq!(row, &part.channels()[y * 15..][..15]);
        }
    }

    #[test]
    fn out_of_range_values_are_clamped_to_levels() {
        let values = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 7.0, -7.0];
        let image = gray([0, 0, 5, 1], |x, _| values[x as usize]);
        let expected = [0.0, 1.0, 0.0, 1.0, 0.0];
        let done = ordered(&image, 0, Bayer::Two, &Crew::alone()).expect("nobody cancels");
        assert_eq!(done.channels(), expected);
        assert_eq!(
            diffused(&image, 2, &Crew::alone()).expect("nobody cancels").channels(),
            expected
        );
        let empty = gray([0, 0, 0, 9], |_, _| 0.0);
        assert_eq!(ordered(&empty, 2, Bayer::Two, &Crew::alone()), Ok(empty.clone()));
        assert_eq!(diffused(&empty, 2, &Crew::alone()), Ok(empty));
    }
}
