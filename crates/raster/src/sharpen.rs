//! Sharpening with a blurred image.

use millstream_base::image::Image;

use crate::blur::Gaussian;
use crate::crew::fresh;
use crate::crew::{Cancelled, Crew};
use crate::passes::finished;
use crate::region::Edge;
use crate::rows::Rows;

/// An unsharp mask: adds to each channel its difference from a Gaussian blur.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharpen {
    /// Standard deviations of the blur in x and y in pixels.
    pub sigma: [f32; 2],
    /// The factor of the added difference.
    pub amount: f32,
    /// Smaller differences, in the unit of the channels, are left alone.
    pub threshold: f32,
    /// What lies beyond the image.
    pub edge: Edge,
}

impl Sharpen {
    /// How far beyond the region of its result sharpening reads, in pixels in x and y.
    pub fn reach(&self) -> [i32; 2] {
        self.blur().reach()
    }

    fn blur(&self) -> Gaussian {
        Gaussian { sigma: self.sigma, edge: self.edge }
    }

    /// The sharpened image in the region `crop`.
    ///
    /// # Errors
    /// If cancelled.
    pub fn apply(
        &self,
        image: &Image,
        crop: [i32; 4],
        crew: &Crew<'_>,
    ) -> Result<Image, Cancelled> {
        let blurred = self.blur().apply(image, crop, crew)?;
        let stride = (blurred.width() * blurred.n_channels()).max(1);
        let mut values = fresh(blurred.channels().len());
        let source = Rows::new(image, self.edge);
        let columns = i64::from(crop[0])..i64::from(crop[2]);
        let rows = values.chunks_mut(stride).zip(blurred.channels().chunks(stride));
        let rows = rows.zip(i64::from(crop[1])..).collect();
        crew.each(rows, Vec::<f32>::new, |((out, blurred), y), row, pace| {
            pace.work(stride)?;
            source.read(y, columns.clone(), row);
            for ((to, from), blurred) in out.iter_mut().zip(row).zip(blurred) {
                let difference = *from - blurred;
                let is_noise = difference.abs() < self.threshold;
                *to = *from + if is_noise { 0.0 } else { self.amount * difference };
            }
            Ok(())
        })?;
        Ok(finished(blurred.view().clone(), blurred.n_channels(), values))
    }
}
