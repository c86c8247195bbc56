//! What a node does with the requested region of a view.
//!
//! A picture that is larger than memory is evaluated region by region. Most nodes give for each region
//! what they give there for the whole; those that do not say so. Whether an image is known to cover
//! the requested region follows from what the nodes around it say.

/// How what a node gives in one region of a view depends on the rest of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegionUse {
    /// It does not.
    #[default]
    Part,
    /// It looks at the whole of its images.
    Whole,
    /// It looks at the whole of the image at its first input, unless the second one is the position
    /// of the pixel that is computed.
    AtPosition,
    /// It looks at the pixel that is computed, in the image at its first input.
    AtPixel,
    /// It gives an image of the view at its last input.
    Covers,
    /// It gives the image at its first input, placed on the view at the last.
    Places,
    /// It gives the view of the image at its first input.
    ViewOf,
    /// It gives a view that is asked for in the place of the requested one, region by region.
    Asks,
    /// It gives the positions of pixels.
    Positions,
}
