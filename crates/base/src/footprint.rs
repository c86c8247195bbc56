//! The footprint: the requested view, which nodes read as the context feature `footprint`.

use std::hash::{Hash, Hasher};

use crate::same::Same;
use crate::value_type;
use crate::vector::Mat4;

/// A view: its transform to the scene, its size in pixels, and the requested pixels.
///
/// The requested pixels may lie outside the view: a blur requests more of its input than is
/// requested of the blur.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// Maps points of the view, in pixels from its lower left corner, to the scene.
    pub transform: Mat4,
    /// Width and height of the view in pixels.
    pub resolution: [i32; 2],
    /// The requested pixels relative to the lower left corner of the view: minimum x and y
    /// (inclusive), then maximum x and y (exclusive).
    pub crop: [i32; 4],
}

value_type!(Footprint, "footprint", eq);

impl Footprint {
    /// A whole view of `width` by `height` pixels, each one scene unit in size.
    pub fn of_size(width: i32, height: i32) -> Self {
        let (width, height) = (width.max(0), height.max(0));
        Self {
            transform: Mat4::default(),
            resolution: [width, height],
            crop: [0, 0, width, height],
        }
    }

    /// The same rectangle of the scene with `by` times fewer pixels in each direction, rounded up.
    pub fn reduced(&self, by: i32) -> Self {
        let by = by.max(1);
        let mut transform = self.transform;
        for row in transform.0.chunks_exact_mut(4) {
            row[..2].iter_mut().for_each(|step| *step *= by as f32);
        }
        let up = |x: i32| x.div_euclid(by) + i32::from(x.rem_euclid(by) != 0);
        let [x, y, end_x, end_y] = self.crop;
        Self {
            transform,
            resolution: self.resolution.map(up),
            crop: [x.div_euclid(by), y.div_euclid(by), up(end_x), up(end_y)],
        }
    }

    /// Width and height of the requested region in pixels.
    pub fn size(&self) -> [usize; 2] {
        let [x, y, end_x, end_y] = self.crop.map(i64::from);
        [end_x - x, end_y - y].map(|length| length.max(0) as usize)
    }

    /// Number of requested pixels; `None` if it does not fit into a `usize`.
    pub fn n_pixels(&self) -> Option<usize> {
        let [width, height] = self.size();
        width.checked_mul(height)
    }

    /// The square root of the scene area that a pixel covers, seen along z.
    pub fn pixel_size(&self) -> f32 {
        let m = &self.transform.0;
        let [a, b, d, e] = [m[0], m[1], m[4], m[5]].map(f64::from);
        (a * e - b * d).abs().sqrt() as f32
    }

    /// The same view with another requested region.
    pub fn with_crop(&self, crop: [i32; 4]) -> Self {
        Self { crop, ..self.clone() }
    }

    /// The view with its requested region grown by `by` pixels on each side. A negative `by`
    /// shrinks it, at most to an empty region in its middle.
    pub fn grown(&self, by: [i32; 2]) -> Self {
        let [x, y, end_x, end_y] = self.crop;
        let ((x, end_x), (y, end_y)) = (grown(x, end_x, by[0]), grown(y, end_y, by[1]));
        self.with_crop([x, y, end_x, end_y])
    }

    /// Whether this region contains the region of the other view, on the same grid.
    pub fn contains(&self, other: &Self) -> bool {
        let ([x, y, end_x, end_y], other_crop) = (self.crop, other.crop);
        self.transform.same(&other.transform)
            && x <= other_crop[0]
            && y <= other_crop[1]
            && other_crop[2] <= end_x
            && other_crop[3] <= end_y
    }
}

/// The range extended by `by` on both sides; an empty range in the middle if nothing remains.
fn grown(start: i32, end: i32, by: i32) -> (i32, i32) {
    let (from, to) = (start.saturating_sub(by), end.saturating_add(by));
    if from <= to {
        return (from, to);
    }
    let middle = i32::midpoint(start, end);
    (middle, middle)
}

impl Default for Footprint {
    /// A view of one pixel.
    fn default() -> Self {
        Self::of_size(1, 1)
    }
}

impl PartialEq for Footprint {
    fn eq(&self, other: &Self) -> bool {
        self.transform.same(&other.transform)
            && self.resolution == other.resolution
            && self.crop == other.crop
    }
}

impl Eq for Footprint {}

impl Hash for Footprint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.transform.feed(state);
        self.resolution.hash(state);
        self.crop.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_pixels_cover_the_same_rectangle() {
        let view = Footprint::of_size(5, 4).with_crop([-1, 0, 5, 3]).reduced(2);
        assert_eq!((view.resolution, view.crop), ([3, 2], [-1, 0, 3, 2]));
        assert_eq!((view.transform.0[0], view.transform.0[5], view.transform.0[10]), (2., 2., 1.));
        assert_eq!(Footprint::of_size(5, 4).reduced(1), Footprint::of_size(5, 4));
    }

    #[test]
    fn ranges_grow_and_shrink_to_nothing() {
        assert_eq!(grown(2, 6, 3), (-1, 9));
        assert_eq!(grown(2, 6, -1), (3, 5));
        assert_eq!(grown(2, 6, -2), (4, 4));
        assert_eq!(grown(2, 6, -3), (4, 4));
        assert_eq!(grown(i32::MIN, i32::MAX, 1), (i32::MIN, i32::MAX));
        assert_eq!(grown(i32::MIN, i32::MAX, i32::MIN), (0, 0));
    }

    #[test]
    fn footprints_are_equal_by_bits() {
        let view = || Footprint::of_size(4, 4);
        let mut other = view();
        assert_eq!(view(), other);
        other.transform.0[0] = -0.0;
        let mut zero = view();
        zero.transform.0[0] = 0.0;
        assert_ne!(zero, other);
    }
}
