//! Blurs along the axes: Gaussian and box.

use millstream_base::image::Image;
use millstream_base::num;

use crate::crew::{Cancelled, Crew};
use crate::mean::Mean;
use crate::passes::two_passes;
use crate::region::{Edge, size};
use crate::taps::Taps;

/// Radius of a Gaussian in standard deviations; less than 0.3 % of its integral lies beyond.
const DEVIATIONS: f32 = 3.0;

/// A Gaussian blur.
///
/// The weights are samples of the Gaussian at the pixels up to `ceil(3 sigma)`, divided by their
/// sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian {
    /// Standard deviations in x and y in pixels. A direction whose deviation is not above 0 is not
    /// blurred.
    pub sigma: [f32; 2],
    /// What lies beyond the image.
    pub edge: Edge,
}

impl Gaussian {
    /// The blur that reaches this far, in pixels: a standard deviation is a third of the radius.
    pub fn of_radius(radius: [f32; 2], edge: Edge) -> Self {
        Self { sigma: radius.map(|radius| radius / DEVIATIONS), edge }
    }

    /// How far beyond the region of its result the blur reads, in pixels in x and y.
    pub fn reach(&self) -> [i32; 2] {
        self.sigma.map(|sigma| whole_reach(DEVIATIONS * sigma))
    }

    /// The blurred image in the region `crop`.
    ///
    /// # Errors
    /// If cancelled.
    pub fn apply(
        &self,
        image: &Image,
        crop: [i32; 4],
        crew: &Crew<'_>,
    ) -> Result<Image, Cancelled> {
        let [along_x, along_y] = [0, 1].map(|axis| {
            let n_source = size(image.view().crop)[axis];
            let radius = self.reach()[axis].min(i32::try_from(n_source).unwrap_or(i32::MAX));
            let first = i64::from(crop[axis]) - i64::from(image.view().crop[axis]);
            Taps::uniform(
                gaussian_weights(f64::from(self.sigma[axis]), radius),
                first - i64::from(radius),
                size(crop)[axis],
            )
        });
        let view = image.view().with_crop(crop);
        two_passes(image, view, [self.edge; 2], [&along_x, &along_y], crew)
    }
}

/// The number of whole pixels that a radius touches; 0 for NaN.
fn whole_reach(radius: f32) -> i32 {
    // The conversion saturates; no image is large enough to need more.
    ((radius.max(0.0)).ceil() as i32).min(1 << 28)
}

/// The weights of a Gaussian from `-radius` to `radius`.
fn gaussian_weights(sigma: f64, radius: i32) -> Vec<f32> {
    let raw = |k: i32| {
        let x = f64::from(k) / sigma;
        if k == 0 { 1.0 } else { num::exp(-0.5 * x * x) }
    };
    let half: Vec<f64> = (1..=radius).map(raw).collect();
    let sum = 1.0 + 2.0 * half.iter().rev().sum::<f64>();
    let scaled = |weight: &f64| (weight / sum) as f32;
    half.iter().rev().chain([&1.0]).chain(&half).map(scaled).collect()
}

/// A box blur: the mean of the pixels within a distance in x and y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxBlur {
    /// Distances in x and y in pixels. The fractional part is the weight of the outermost pixels.
    pub radius: [f32; 2],
    /// What lies beyond the image.
    pub edge: Edge,
}

impl BoxBlur {
    /// How far beyond the region of its result the blur reads, in pixels in x and y.
    pub fn reach(&self) -> [i32; 2] {
        self.radius.map(whole_reach)
    }

    /// The blurred image in the region `crop`.
    ///
    /// # Errors
    /// If cancelled.
    pub fn apply(
        &self,
        image: &Image,
        crop: [i32; 4],
        crew: &Crew<'_>,
    ) -> Result<Image, Cancelled> {
        let [along_x, along_y] = [0, 1].map(|axis| {
            let n_source = size(image.view().crop)[axis];
            let max = f64::from(i32::try_from(n_source).unwrap_or(i32::MAX));
            let radius = f64::from(self.radius[axis]).max(0.0).min(max);
            let first = i64::from(crop[axis]) - i64::from(image.view().crop[axis]);
            Mean { radius: radius as usize, fraction: radius.fract() as f32, first }
        });
        let view = image.view().with_crop(crop);
        two_passes(image, view, [self.edge; 2], [&along_x, &along_y], crew)
    }
}
