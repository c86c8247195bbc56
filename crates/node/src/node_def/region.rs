//! What a node does with the requested region of a view.
//!
//! A picture larger than memory is evaluated region by region. That gives the same pixels only if
//! each node with an image or a view at an input says how it uses the region: from these
//! declarations follows whether an image is known to cover the requested region. A node that says
//! nothing, such as one that runs a group many times, is given whole images.

/// How the result of a node in one region of a view depends on the rest of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegionUse {
    /// Nothing is known: it may read all of its images, and any part of a view.
    #[default]
    Unknown,
    /// It does not: each pixel of its result depends on the same pixel of its images.
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
    /// Its first outputs, this many, are the same for all regions of a view; the others are not.
    OfView(u32),
}
