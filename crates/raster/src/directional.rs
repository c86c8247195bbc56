//! Blur along a line.

use std::collections::BTreeMap;

use millstream_base::image::Image;
use millstream_base::num;

use crate::convolve::{Convolve, Weights};
use crate::crew::{Cancelled, Crew};
use crate::region::{Edge, size};

/// A blur along a line, like motion blur: the mean of the linearly interpolated image along a line
/// through the center of each pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Directional {
    /// Length of the line in pixels. The image is not blurred if it is not above 0.
    pub length: f32,
    /// Angle of the line in radians, counterclockwise from the x axis.
    pub angle_rad: f32,
    /// What lies beyond the image.
    pub edge: Edge,
}

impl Directional {
    /// How far beyond the region of its result the blur reads, in pixels in x and y.
    pub fn reach(&self) -> [i32; 2] {
        self.half().map(|half| (half.abs().ceil() as i32).min(1 << 28))
    }

    /// Half of the line, as a vector.
    fn half(&self) -> [f64; 2] {
        let angle = f64::from(self.angle_rad);
        let angle = if angle.is_finite() { angle } else { 0.0 };
        let half = 0.5 * f64::from(self.length.max(0.0));
        [num::cos(angle) * half, num::sin(angle) * half].map(|part| {
            // A line along an axis must stay on it despite rounding.
            if part.abs() < 1e-9 * half.max(1.0) { 0.0 } else { part.clamp(-1e9, 1e9) }
        })
    }

    /// The blurred image in the region `crop`. A line longer than the image is cut.
    ///
    /// # Errors
    /// If cancelled.
    pub fn apply(
        &self,
        image: &Image,
        crop: [i32; 4],
        crew: &Crew<'_>,
    ) -> Result<Image, Cancelled> {
        let (size, reach) = (size(image.view().crop), self.reach());
        let fits = |axis: usize| (size[axis] as f64 / f64::from(reach[axis].max(1))).min(1.0);
        let cut = fits(0).min(fits(1));
        let weights = weights(self.half().map(|half| half * cut));
        Convolve { weights, edge: self.edge }.apply(image, crop, crew)
    }
}

/// Weights of the pixels around a line that extends by `half` to both sides of 0.
fn weights(half: [f64; 2]) -> Weights {
    let length = 2.0 * (half[0] * half[0] + half[1] * half[1]).sqrt();
    // Steps of at most half a pixel.
    let n = (2.0 * length).ceil().max(1.0) as i32;
    let mut sums: BTreeMap<[i32; 2], f64> = BTreeMap::new();
    for i in 0..n {
        let t = f64::from(2 * i + 1 - n) / f64::from(n);
        let at = half.map(|half| half * t);
        let whole = at.map(f64::floor);
        let part = [at[0] - whole[0], at[1] - whole[1]];
        for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let along = |part: f64, d: i32| if d == 0 { 1.0 - part } else { part };
            let weight = along(part[0], dx) * along(part[1], dy);
            let offset = [whole[1] as i32 + dy, whole[0] as i32 + dx];
            *sums.entry(offset).or_default() += weight / f64::from(n);
        }
    }
    Weights::of_offsets(sums.into_iter().map(|([y, x], weight)| ([x, y], weight as f32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_weight_the_pixels_they_cross() {
        assert_eq!(weights([0.0; 2]), Weights::of_offsets([([0, 0], 1.0)]));
        let [end, inner, middle] = [1.0_f32 / 24.0, 7.0 / 24.0, 1.0 / 3.0];
        let expected = [(-2, end), (-1, inner), (0, middle), (1, inner), (2, end)];
        let found = weights([1.5, 0.0]);
        for (x, weight) in expected {
            let near = |([at, y], found): &([i32; 2], f32)| {
                *at == x && *y == 0 && (found - weight).abs() < 1e-6
            };
            assert!(found.taps().iter().any(near), "{found:?}");
        }
        assert_eq!(found.taps().len(), expected.len());
        let long = Directional { length: 1e30, angle_rad: 0.3, edge: Edge::Extend };
        assert!(long.reach()[0] > 1 << 27);
        let none = Directional { length: f32::NAN, angle_rad: f32::INFINITY, edge: Edge::Extend };
        assert_eq!(none.reach(), [0, 0]);
    }
}
