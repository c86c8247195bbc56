//! Erosion and dilation, and their combinations.
//!
//! A NaN counts only where there is nothing else.

mod disc;
mod square;

use millstream_base::footprint::Footprint;
use millstream_base::image::Image;

use crate::crew::{Cancelled, Crew};
use crate::passes::two_passes;
use crate::rank::Rank;
use crate::region::{Edge, size};
use disc::Disc;
use square::WindowMaximum;

/// The neighborhood of a pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// The pixels whose distance in x and in y is at most the radius.
    Square,
    /// The pixels whose distance is at most the radius.
    #[default]
    Disc,
}

/// What is computed from a neighborhood, channel by channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The maximum value.
    Dilate,
    /// The least value.
    Erode,
    /// Erosion followed by dilation: removes bright parts that the neighborhood does not fit into.
    Open,
    /// Dilation followed by erosion: removes dark parts that the neighborhood does not fit into.
    Close,
}

/// An operation of mathematical morphology on each channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Morphology {
    /// The operation.
    pub operation: Operation,
    /// The neighborhood.
    pub shape: Shape,
    /// Its radius in pixels; a square reaches over whole pixels. Nothing changes if it is below 1.
    pub radius: f32,
    /// What lies beyond the image.
    pub edge: Edge,
}

impl Morphology {
    /// The whole pixels in the radius; NaN is 0.
    fn whole(self) -> i32 {
        self.radius.max(0.0) as i32
    }

    /// How far beyond the region of its result the operation reads, in pixels in x and y.
    pub fn reach(&self) -> [i32; 2] {
        let radius = self.whole();
        match self.operation {
            Operation::Dilate | Operation::Erode => [radius; 2],
            Operation::Open | Operation::Close => [radius.saturating_mul(2); 2],
        }
    }

    /// The result in the region `crop`.
    ///
    /// # Errors
    /// If cancelled.
    pub fn apply(
        &self,
        image: &Image,
        crop: [i32; 4],
        crew: &Crew<'_>,
    ) -> Result<Image, Cancelled> {
        let grown = || self.middle(image.view(), crop);
        match self.operation {
            Operation::Dilate => self.maximum::<false>(image, crop, crew),
            Operation::Erode => self.maximum::<true>(image, crop, crew),
            Operation::Open => {
                let eroded = self.maximum::<true>(image, grown(), crew)?;
                self.maximum::<false>(&eroded, crop, crew)
            }
            Operation::Close => {
                let dilated = self.maximum::<false>(image, grown(), crew)?;
                self.maximum::<true>(&dilated, crop, crew)
            }
        }
    }

    /// The region of the first of two steps: what the second one needs, extended beyond the image
    /// where the second step itself would extend the result of the first.
    fn middle(self, view: &Footprint, crop: [i32; 4]) -> [i32; 4] {
        let radius = self.whole();
        crate::region::needed(crop, [radius; 2], view.crop, self.edge)
    }

    fn maximum<const REVERSED: bool>(
        self,
        image: &Image,
        crop: [i32; 4],
        crew: &Crew<'_>,
    ) -> Result<Image, Cancelled> {
        let from = image.view().crop;
        // Nothing new lies farther than the length of the image.
        let radii = [0, 1].map(|axis| (self.whole() as usize).min(size(from)[axis]));
        let view = image.view().with_crop(crop);
        if self.shape == Shape::Disc && self.whole() > 0 {
            let disc = Disc::new(f64::from(self.radius).powi(2) as u64, radii);
            return disc.maximum::<REVERSED>(image, self.edge, view, crew);
        }
        let [along_x, along_y] = [0, 1].map(|axis| WindowMaximum {
            radius: radii[axis],
            first: i64::from(crop[axis]) - i64::from(from[axis]),
        });
        two_passes::<Rank<REVERSED>>(image, view, [self.edge; 2], [&along_x, &along_y], crew)
    }
}
