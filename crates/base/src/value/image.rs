//! Images: rectangles of pixels, and the view of the scene that they cover.

use std::hash::{Hash, Hasher};

use crate::footprint::Footprint;
use crate::same::Same;
use crate::value::column::Column;
use crate::value::types::Type;
use crate::value_type;
use crate::vector::{Color, Vec2, Vec3};

/// A rectangle of pixels in linear light, with 1 to 4 channels of `f32`.
///
/// The pixels are a column of `f32` (gray), `vec2` (gray and alpha), `vec3` (red, green, blue) or
/// `color` (with alpha), so a list of such values becomes an image, and vice versa, without a copy.
/// Where there is alpha, the other channels are premultiplied by it.
///
/// The rectangle is the requested region (`crop`) of a view. Rows are stored from the bottom up,
/// the pixels of a row from left to right.
#[derive(Clone, Debug)]
pub struct Image {
    view: Footprint,
    pixels: Column,
}

value_type!(Image, "image", eq);

/// The types of pixels with 1, 2, 3 and 4 channels.
pub const PIXEL_TYPES: [Type; 4] = [Type::F32, Type::VEC2, Type::VEC3, Type::COLOR];

impl Image {
    /// An image of these pixels, which cover the requested region of a view; `None` if their number
    /// or type does not fit.
    pub fn new(view: Footprint, pixels: Column) -> Option<Self> {
        let fits = PIXEL_TYPES.contains(&pixels.ty()) && view.n_pixels() == Some(pixels.len());
        fits.then_some(Self { view, pixels })
    }

    /// An image of these channels, interleaved; `None` if their number does not fit.
    pub fn from_channels(view: Footprint, n_channels: usize, values: Vec<f32>) -> Option<Self> {
        // The cast fails if the last pixel is incomplete.
        fn cast<T: bytemuck::Pod>(values: Vec<f32>) -> Option<Vec<T>> {
            let cast = bytemuck::try_cast_slice_box(values.into_boxed_slice());
            cast.ok().map(<[T]>::into_vec)
        }
        let pixels = match n_channels {
            1 => Column::from_vec(values),
            2 => Column::from_vec(cast::<Vec2>(values)?),
            3 => Column::from_vec(cast::<Vec3>(values)?),
            4 => Column::from_vec(cast::<Color>(values)?),
            _ => return None,
        };
        Self::new(view, pixels)
    }

    /// The view; the image covers its requested region.
    pub fn view(&self) -> &Footprint {
        &self.view
    }

    /// The same pixels in another view; `None` if its region has a different size.
    pub fn with_view(self, view: Footprint) -> Option<Self> {
        (view.size() == self.view.size()).then_some(Self { view, ..self })
    }

    /// Width in pixels.
    pub fn width(&self) -> usize {
        self.view.size()[0]
    }

    /// Height in pixels.
    pub fn height(&self) -> usize {
        self.view.size()[1]
    }

    /// Number of channels, 1 to 4.
    pub fn n_channels(&self) -> usize {
        self.pixels.ty().lanes().map_or(1, |(_, n)| usize::from(n))
    }

    /// Whether the last channel is alpha.
    pub fn has_alpha(&self) -> bool {
        matches!(self.n_channels(), 2 | 4)
    }

    /// The image with an alpha channel, which is 1 if the image had none.
    pub fn with_alpha(self) -> Self {
        let n = self.n_channels();
        if self.has_alpha() {
            return self;
        }
        let mut values = Vec::with_capacity(self.pixels.len() * (n + 1));
        for pixel in self.channels().chunks_exact(n) {
            values.extend_from_slice(pixel);
            values.push(1.0);
        }
        Self::from_channels(self.view, n + 1, values).expect("there is an alpha for each pixel")
    }

    /// The pixels, row by row from the bottom.
    pub fn pixels(&self) -> &Column {
        &self.pixels
    }

    /// The pixels, row by row from the lower edge.
    pub fn into_pixels(self) -> Column {
        self.pixels
    }

    /// The channels of all pixels, interleaved.
    pub fn channels(&self) -> &[f32] {
        self.pixels.as_f32_lanes().expect("pixels are made of f32")
    }

    /// The channels of a row counted from the top, as in files.
    pub fn row_from_top(&self, row: usize) -> &[f32] {
        let length = self.width() * self.n_channels();
        &self.channels()[(self.height() - 1 - row) * length..][..length]
    }

    /// Size of the pixels in bytes.
    pub fn bytes(&self) -> usize {
        self.pixels.bytes()
    }
}

impl Default for Image {
    /// An image without pixels.
    fn default() -> Self {
        Self { view: Footprint::of_size(0, 0), pixels: Column::empty(Type::COLOR) }
    }
}

impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        self.view == other.view && self.pixels.same(&other.pixels)
    }
}

impl Eq for Image {}

impl Hash for Image {
    /// Hashes the view and a regular sample of the pixels: equal images have equal hashes, and
    /// hashing a large one does not read all of it.
    fn hash<H: Hasher>(&self, state: &mut H) {
        const MAX_HASHED: usize = 256;
        self.view.hash(state);
        let step = self.pixels.len().div_ceil(MAX_HASHED).max(1);
        (0..self.pixels.len()).step_by(step).for_each(|i| self.pixels.feed_at(i, state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_and_channels_are_one_buffer() {
        let values: Vec<f32> = (0..24).map(|i| i as f32).collect();
        let at = values.as_ptr();
        let image = Image::from_channels(Footprint::of_size(2, 3), 4, values).expect("it fits");
        assert_eq!((image.width(), image.height(), image.n_channels()), (2, 3, 4));
        assert_eq!(image.channels().as_ptr(), at);
        let again = Image::new(image.view().clone(), image.pixels().clone()).expect("it fits");
        assert_eq!(again, image);
    }

    #[test]
    fn what_does_not_fit_is_no_image() {
        let view = || Footprint::of_size(2, 2);
        assert!(Image::from_channels(view(), 3, vec![0.0; 13]).is_none());
        assert!(Image::from_channels(view(), 3, vec![0.0; 15]).is_none());
        assert!(Image::from_channels(view(), 5, vec![0.0; 20]).is_none());
        assert!(Image::new(view(), Column::from_vec(vec![0_i32; 4])).is_none());
        let image = Image::from_channels(view(), 1, vec![0.0; 4]).expect("it fits");
        assert!(image.clone().with_view(Footprint::of_size(4, 1)).is_none());
        let moved = Footprint { crop: [-1, 5, 1, 7], ..view() };
        assert!(image.with_view(moved).is_some());
    }
}
