//! What a node does with the requested region of a view.
//!
//! A picture larger than memory is evaluated region by region. For most nodes the result in a
//! region is that part of the whole result; the others declare how they differ. From these
//! declarations follows whether an image is known to cover the requested region.

/// How the result of a node in one region of a view depends on the rest of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegionUse {
    /// It does not.
    #[default]
    Part,
    /// It reads all of its images.
    Whole,
    /// It reads all of the image at its first input, unless the second input is the position of the
    /// computed pixel.
    AtPosition,
    /// It reads the computed pixel of the image at its first input.
    AtPixel,
    /// It returns an image of the view at its last input.
    Covers,
    /// It returns the image at its first input, placed on the view at the last.
    Places,
    /// It returns the view of the image at its first input.
    ViewOf,
    /// It returns a view that is evaluated instead of the requested one, region by region.
    Asks,
    /// It returns the positions of pixels.
    Positions,
}
