//! Statistics of channels: extremes, mean, deviation, histogram.

use millstream_base::image::Image;

use crate::crew::{Cancelled, Crew};

/// Pixels whose values are summed first; changing it changes results.
const BLOCK: usize = 1024;

/// Partial sums of a block, each of every n-th value.
const SUMS: usize = 8;

/// Statistics of the values of a channel, without NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// Number of values that are not NaN.
    pub count: u64,
    /// The minimum; NaN if there are no values.
    pub min: f32,
    /// The maximum; NaN if there are no values.
    pub max: f32,
    /// The mean; NaN if there are no values.
    pub mean: f64,
    /// The population standard deviation (divided by the number of values, not one less).
    pub deviation: f64,
}

/// The statistics of each channel of an image.
///
/// Values are summed in `f64` in an order that depends only on the number of pixels.
///
/// # Errors
/// If cancelled.
pub fn statistics(image: &Image, crew: &Crew<'_>) -> Result<Vec<Statistics>, Cancelled> {
    (0..image.n_channels()).map(|channel| of_channel(image, channel, crew)).collect()
}

fn of_channel(image: &Image, channel: usize, crew: &Crew<'_>) -> Result<Statistics, Cancelled> {
    let ranges = per_block(image, channel, crew, |values| {
        let start = (0_u64, f32::INFINITY, f32::NEG_INFINITY);
        values.iter().filter(|value| !value.is_nan()).fold(start, |(n, min, max), value| {
            let min = if *value < min { *value } else { min };
            (n + 1, min, if *value > max { *value } else { max })
        })
    })?;
    let start = (0, f32::INFINITY, f32::NEG_INFINITY);
    let (count, min, max) = ranges
        .into_iter()
        .fold(start, |(n, min, max), block| (n + block.0, min.min(block.1), max.max(block.2)));
    if count == 0 {
        let (min, max) = (f32::NAN, f32::NAN);
        return Ok(Statistics { count, min, max, mean: f64::NAN, deviation: f64::NAN });
    }
    // -0 and 0 are equal, and either may have been found; adding 0 makes both 0.
    let (min, max) = (min + 0.0, max + 0.0);
    let sum = sum_of(image, channel, crew, |value| value)?;
    let mean = sum / count as f64;
    let squares = sum_of(image, channel, crew, |value| (value - mean) * (value - mean))?;
    Ok(Statistics { count, min, max, mean, deviation: (squares / count as f64).sqrt() })
}

/// The sum of a function of a channel's values, without NaN.
fn sum_of(
    image: &Image,
    channel: usize,
    crew: &Crew<'_>,
    of: impl Fn(f64) -> f64 + Sync,
) -> Result<f64, Cancelled> {
    let mut sums = per_block(image, channel, crew, |values| {
        let mut sums = [0.0; SUMS];
        for values in values.chunks(SUMS) {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += if value.is_nan() { 0.0 } else { of(f64::from(*value)) };
            }
        }
        in_pairs(&mut sums)
    })?;
    Ok(in_pairs(&mut sums))
}

/// Pairwise summation.
fn in_pairs(values: &mut [f64]) -> f64 {
    let mut n = values.len();
    while n > 1 {
        for i in 0..n / 2 {
            values[i] = values[2 * i] + values[2 * i + 1];
        }
        if n % 2 == 1 {
            values[n / 2] = values[n - 1];
        }
        n = n.div_ceil(2);
    }
    values.first().copied().unwrap_or(0.0)
}

/// Maps each block of a channel's values, in order.
fn per_block<T: Clone + Default + Send>(
    image: &Image,
    channel: usize,
    crew: &Crew<'_>,
    of: impl Fn(&[f32]) -> T + Sync,
) -> Result<Vec<T>, Cancelled> {
    let n_channels = image.n_channels();
    let blocks = image.channels().chunks(BLOCK * n_channels);
    let mut results = vec![T::default(); blocks.len()];
    let items = results.iter_mut().zip(blocks).collect();
    crew.each(items, Vec::new, |(result, block), values, pace| {
        pace.work(block.len())?;
        values.clear();
        values.extend(block.iter().skip(channel).step_by(n_channels).copied());
        *result = of(values);
        Ok(())
    })?;
    Ok(results)
}

/// How many values of a channel fall into each bin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Number of values in each bin. A bin includes its lower bound, and the last one also its
    /// upper bound.
    pub bins: Vec<u64>,
    /// Number of values below the first bin.
    pub below: u64,
    /// Number of values above the last bin.
    pub above: u64,
    /// Number of NaN values.
    pub nan: u64,
}

/// The histogram of each channel of an image, in `n_bins` bins of equal width from `low` to `high`.
///
/// If `low` is not below `high`, or there are no bins, the bins stay empty: all values are below or
/// above.
///
/// # Errors
/// If cancelled.
pub fn histogram(
    image: &Image,
    [low, high]: [f32; 2],
    n_bins: usize,
    crew: &Crew<'_>,
) -> Result<Vec<Histogram>, Cancelled> {
    let n_channels = image.n_channels();
    let empty = || Histogram { bins: vec![0; n_bins], ..Histogram::default() };
    let mut histograms: Vec<Histogram> = (0..n_channels).map(|_| empty()).collect();
    let (start, end) = (f64::from(low), f64::from(high));
    let scale = n_bins as f64 / (end - start);
    let mut pace = crew.pace();
    for block in image.channels().chunks(BLOCK * n_channels) {
        pace.work(block.len())?;
        for pixel in block.chunks_exact(n_channels) {
            for (value, histogram) in pixel.iter().zip(&mut histograms) {
                if value.is_nan() {
                    histogram.nan += 1;
                } else if *value > high {
                    histogram.above += 1;
                } else if let Some(last) =
                    n_bins.checked_sub(1).filter(|_| *value >= low && low < high)
                {
                    let bin = ((f64::from(*value) - start) * scale) as usize;
                    histogram.bins[bin.min(last)] += 1;
                } else {
                    histogram.below += 1;
                }
            }
        }
    }
    Ok(histograms)
}

#[cfg(test)]
mod tests {
    use millstream_base::footprint::Footprint;

    use super::*;

    fn image(width: i32, n_channels: usize, values: Vec<f32>) -> Image {
        let height = values.len() as i32 / n_channels as i32 / width;
        Image::from_channels(Footprint::of_size(width, height), n_channels, values)
            .expect("it fits")
    }

    #[test]
    fn statistics_of_few_values() {
        let image = image(2, 2, vec![1.0, f32::NAN, 2.0, f32::NAN, 4.0, f32::NAN, 5.0, -3.0]);
        let found = statistics(&image, &Crew::alone()).expect("nobody cancels");
        let expected =
            Statistics { count: 4, min: 1.0, max: 5.0, mean: 3.0, deviation: 2.5_f64.sqrt() };
        assert_eq!(found[0], expected);
        let one = Statistics { count: 1, min: -3.0, max: -3.0, mean: -3.0, deviation: 0.0 };
        assert_eq!(found[1], one);
        let none = statistics(&Image::default(), &Crew::alone()).expect("nobody cancels");
        assert_eq!(none.len(), 4);
        assert!(none.iter().all(|none| none.count == 0 && none.min.is_nan() && none.mean.is_nan()));
    }

    #[test]
    fn sums_are_the_same_on_any_number_of_threads() {
        let values: Vec<f32> = (0..30_000).map(|i| ((i * 7919) % 1013) as f32 * 0.1).collect();
        let image = image(100, 3, values.clone());
        let alone = statistics(&image, &Crew::alone()).expect("nobody cancels");
        let several = statistics(&image, &Crew::new(5, None)).expect("nobody cancels");
        assert_eq!(alone, several);
        for (channel, found) in alone.iter().enumerate() {
            let values = || values.iter().skip(channel).step_by(3).map(|x| f64::from(*x));
            let mean = values().sum::<f64>() / 10_000.0;
            let squares = values().map(|x| (x - mean) * (x - mean)).sum::<f64>();
            assert!((found.mean - mean).abs() < 1e-10);
            assert!((found.deviation - (squares / 10_000.0).sqrt()).abs() < 1e-10);
        }
    }

    #[test]
    fn histograms_count_every_value_once() {
        let inf = f32::INFINITY;
        let image = image(9, 1, vec![-0.1, 0.0, 0.24, 0.25, 0.5, 1.0, 1.1, f32::NAN, inf]);
        let of = |range, n| histogram(&image, range, n, &Crew::alone()).expect("nobody cancels");
        let expected = Histogram { bins: vec![2, 1, 1, 1], below: 1, above: 2, nan: 1 };
        assert_eq!(of([0.0, 1.0], 4), [expected]);
        for (range, n) in [([0.0, 1.0], 0), ([1.0, 1.0], 3), ([1.0, 0.0], 3), ([f32::NAN; 2], 2)] {
            let found = &of(range, n)[0];
            assert_eq!(found.bins, vec![0; n]);
            assert_eq!(found.below + found.above + found.nan, 9);
        }
        let wide = &of([-inf, inf], 3)[0];
        assert_eq!(wide.bins.iter().sum::<u64>() + wide.nan, 9);
    }
}
