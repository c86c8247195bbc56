//! Regions of pixels, and what lies beyond the pixels of an image.

use millstream_base::num::floor;

/// What lies beyond the pixels of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edge {
    /// The nearest pixel.
    #[default]
    Extend,
    /// Zeros: transparent black, if the image has or gets alpha.
    Clear,
    /// The image, repeated.
    Wrap,
    /// The image, reflected with its outermost pixels twice: `b a | a b c | c b`.
    Mirror,
}

impl Edge {
    /// Maps any position to one of `n`; `None` for zeros.
    pub(crate) fn index(self, at: i64, n: usize) -> Option<usize> {
        let length = n as i64;
        if n == 0 || (0..length).contains(&at) {
            return (n > 0).then_some(at as usize);
        }
        match self {
            Self::Extend => Some(at.clamp(0, length - 1) as usize),
            Self::Clear => None,
            Self::Wrap => Some(at.rem_euclid(length) as usize),
            Self::Mirror => {
                let at = at.rem_euclid(2 * length);
                Some(at.min(2 * length - 1 - at) as usize)
            }
        }
    }
}

/// Whole numbers below 2^52 on a line of `n` pixels, many at a time. NaN remains NaN.
impl Edge {
    /// Brings positions into the first period of an image that repeats.
    #[inline(always)]
    pub(crate) fn into_period(self, at: &mut [f64], n: usize) {
        let period = match self {
            Self::Extend | Self::Clear => return,
            Self::Wrap => n as f64,
            Self::Mirror => 2.0 * n as f64,
        };
        let per_pixel = 1.0 / period;
        for at in at {
            // The product is rounded, so the number of periods may be wrong by one.
            let rest = *at - period * floor(*at * per_pixel);
            let rest = if rest < 0.0 { rest + period } else { rest };
            *at = if rest >= period { rest - period } else { rest };
        }
    }

    /// Maps positions to those of pixels, as [`index`](Self::index); what is beyond a clear edge
    /// remains there.
    #[inline(always)]
    pub(crate) fn into_pixels(self, at: &mut [f64], n: usize) {
        self.into_period(at, n);
        let last = n as f64 - 1.0;
        match self {
            Self::Clear | Self::Wrap => {}
            Self::Extend if n == 0 => {}
            Self::Extend => at.iter_mut().for_each(|at| *at = at.clamp(0.0, last)),
            Self::Mirror => at.iter_mut().for_each(|at| *at = at.min(2.0 * last + 1.0 - *at)),
        }
    }
}

/// The pixels that a filter needs for the region `crop` of its result, within `bounds`, the
/// existing pixels.
///
/// `reach` is how far the filter reads in x and y. Filtering an image of just these pixels gives
/// the same bits in `crop` as filtering all existing ones. In general they are the region grown by
/// `reach` and clipped to `bounds`; pixels far outside need those at the edge, and a repeated image
/// is needed over its whole width or height.
pub fn needed(crop: [i32; 4], reach: [i32; 2], bounds: [i32; 4], edge: Edge) -> [i32; 4] {
    let [(x, end_x), (y, end_y)] = [0, 1].map(|axis| {
        let (start, end) = (i64::from(crop[axis]), i64::from(crop[axis + 2]));
        let (low, high) = (i64::from(bounds[axis]), i64::from(bounds[axis + 2]));
        let reach = i64::from(reach[axis].max(0));
        if start >= end || low >= high {
            return (low as i32, low as i32);
        }
        let (from, to) = (start - reach, end + reach);
        if matches!(edge, Edge::Wrap | Edge::Mirror) && (from < low || to > high) {
            return (low as i32, high as i32);
        }
        // Filters are limited to the length of their input, so a partial input must be at least
        // this long.
        let least = (reach.max(1)).min(high - low);
        let to_cut = to.clamp(low + least, high);
        let from_cut = from.clamp(low, high - least);
        (from_cut as i32, to_cut as i32)
    });
    [x, y, end_x, end_y]
}

/// Width and height of a region.
pub(crate) fn size(crop: [i32; 4]) -> [usize; 2] {
    let [x, y, end_x, end_y] = crop.map(i64::from);
    [end_x - x, end_y - y].map(|length| length.max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_beyond_an_image() {
        let at = |edge: Edge| (-4..7).map(|at| edge.index(at, 3)).collect::<Vec<_>>();
        let some = |at: [usize; 11]| at.map(Some).to_vec();
        assert_eq!(at(Edge::Extend), some([0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2]));
        assert_eq!(at(Edge::Wrap), some([2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]));
        assert_eq!(at(Edge::Mirror), some([2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0]));
        let cleared = at(Edge::Clear);
        assert_eq!(cleared[3..8], [None, Some(0), Some(1), Some(2), None]);
        for edge in [Edge::Extend, Edge::Clear, Edge::Wrap, Edge::Mirror] {
            assert_eq!(edge.index(0, 0), None, "there is nothing to extend");
            assert!(edge.index(i64::from(i32::MIN), 5).is_none_or(|at| at < 5));
        }
    }

    #[test]
    fn needed_pixels_lie_within_those_that_exist() {
        let bounds = [0, 0, 100, 50];
        let needed = |crop, reach, edge| needed(crop, reach, bounds, edge);
        assert_eq!(needed([10, 10, 20, 20], [3, 4], Edge::Extend), [7, 6, 23, 24]);
        assert_eq!(needed([0, 10, 20, 50], [3, 4], Edge::Clear), [0, 6, 23, 50]);
        assert_eq!(needed([0, 10, 20, 20], [3, 4], Edge::Wrap), [0, 6, 100, 24]);
        assert_eq!(needed([110, 10, 120, 20], [3, 0], Edge::Extend), [97, 10, 100, 20]);
        assert_eq!(needed([-9, 10, -5, 20], [3, 0], Edge::Extend), [0, 10, 3, 20]);
        assert_eq!(needed([5, 5, 6, 6], [i32::MAX, 0], Edge::Extend), [0, 5, 100, 6]);
        assert_eq!(needed([5, 5, 5, 6], [3, 0], Edge::Extend), [0, 5, 0, 6]);
    }
}
