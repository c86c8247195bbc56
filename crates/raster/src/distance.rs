//! Exact distances from the outline of a mask.

mod columns;
mod lines;

use millstream_base::image::Image;

use crate::crew::fresh;
use crate::crew::{Cancelled, Crew};
use crate::passes::finished;
use crate::region::{needed, size};
use columns::{Columns, STRIP};
use lines::Lines;

/// The maximum distance in pixels, for squared distances to fit into 32 bits.
const MAX_DISTANCE: f32 = 32_000.0;

/// The Euclidean distance of each pixel from the outline of a mask, in pixels; negative inside.
///
/// A pixel is inside if a channel is above a threshold; NaN is not. The distance is the one from
/// the center of the pixel to the nearest center on the other side, minus half a pixel: a straight
/// vertical or horizontal outline is thus at 0, between the pixels. Pixels beyond the image equal
/// those at its edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// The channel that is compared; the last one if the image has fewer.
    pub channel: usize,
    /// A pixel is inside if its channel is above this.
    pub threshold: f32,
    /// Distances are clamped to this, in pixels. At most 32,000.
    pub limit: f32,
}

impl Distance {
    /// How far beyond the region of its result the distance reads, in pixels in x and y.
    pub fn reach(&self) -> [i32; 2] {
        [(self.limit() + 0.5).ceil() as i32; 2]
    }

    fn limit(&self) -> f32 {
        if self.limit > 0.0 { self.limit.min(MAX_DISTANCE) } else { 0.0 }
    }

    /// The distances in the region `crop`, an image of one channel.
    ///
    /// First, columns are searched for the nearest pixel on the other side above and below; then
    /// rows, using the squares of these distances (after Meijster, Roerdink and Hesselink, "A
    /// general algorithm for computing distance transforms in linear time", 2000). The squares are
    /// integers, so the order of the search does not matter.
    ///
    /// # Errors
    /// If cancelled.
    pub fn apply(
        &self,
        image: &Image,
        crop: [i32; 4],
        crew: &Crew<'_>,
    ) -> Result<Image, Cancelled> {
        let view = image.view().with_crop(crop);
        let [width, height] = view.size();
        let mut values = fresh(width * height);
        let [reach, _] = self.reach();
        if image.channels().is_empty() {
            values.fill(self.limit());
        } else if !values.is_empty() {
            // Pixels beyond the image are never nearer than those at its edge.
            let within = needed(crop, [reach; 2], image.view().crop, crate::region::Edge::Extend);
            let region = hull(crop, within, reach);
            let [x, ..] = region;
            let columns = Columns { image, distance: self, max: reach, region, crop };
            let n_columns = size(region)[0];
            let mut nearest = vec![0; n_columns.next_multiple_of(STRIP) * height];
            columns.search(&mut nearest, crew)?;
            let first = (i64::from(crop[0]) - i64::from(x)) as usize;
            let limit = self.limit();
            let lines =
                Lines { nearest: &nearest, n_columns, n_rows: height, first, limit, max: reach };
            lines.search(width, &mut values, crew)?;
        }
        Ok(finished(view, 1, values))
    }
}

/// The region of a crop and the pixels it needs; if the crop lies beside the image, only the part
/// of the gap within reach.
fn hull(crop: [i32; 4], within: [i32; 4], reach: i32) -> [i32; 4] {
    let start = |i: usize| crop[i].min(within[i]).max(crop[i].saturating_sub(reach));
    let end = |i: usize| crop[i].max(within[i]).min(crop[i].saturating_add(reach));
    [start(0), start(1), end(2), end(3)]
}
