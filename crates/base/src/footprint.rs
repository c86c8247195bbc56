//! The footprint: the requested view, which nodes read as the context feature `footprint`.

use std::hash::{Hash, Hasher};

use crate::same::Same;
use crate::value_type;
use crate::vector::Mat4;

/// A view: its place in the scene, its number of pixels, and the pixels that are requested.
///
/// The requested pixels may lie outside the view: a blur requests more of its input than is
/// requested of it.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// Maps points of the view, in pixels from its lower left corner, to points of the scene.
    pub transform: Mat4,
    /// Width and height of the view in pixels.
    pub resolution: [i32; 2],
    /// The requested pixels, counted from the lower left corner of the view: least x and y, then
    /// greatest x and y, which are excluded.
    pub crop: [i32; 4],
}

value_type!(Footprint, "footprint", eq);

impl Footprint {
    /// The whole of a view of `width` by `height` pixels, each the size of one unit of the scene.
    pub fn of_size(width: i32, height: i32) -> Self {
        let (width, height) = (width.max(0), height.max(0));
        Self {
            transform: Mat4::default(),
            resolution: [width, height],
            crop: [0, 0, width, height],
        }
    }
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
