//! The common part of all readers: checks before decoding, and the pixels.

use std::fmt::Display;
use std::io;

use image::metadata::Orientation;
use millstream_base::pages::{in_huge_pages, room_in_huge_pages};
use millstream_base::{Footprint, Image, Limits};

use super::color::ColorSpace;
use super::{Depth, PictureFormat, ReadPicture, Transfer};
use crate::error::{IoError, Spot};
use crate::format::BINARY_FORM;
use crate::meter::Meter;

/// A picture being read.
pub(super) struct Reading<'a> {
    /// The name of the file in messages.
    pub(super) file: &'a str,
    pub(super) format: PictureFormat,
    /// The meaning of integers, unless the file states it.
    pub(super) untagged: Transfer,
    pub(super) limits: &'a Limits,
    pub(super) meter: Meter,
}

impl Reading<'_> {
    /// The color space of a file of integers that does not state one.
    pub(super) fn untagged(&self) -> ColorSpace {
        match self.untagged {
            Transfer::Srgb => ColorSpace::srgb(),
            Transfer::Linear => ColorSpace::linear(),
        }
    }

    fn spot(&self) -> Spot {
        Spot::file(self.file)
    }

    /// The error for a malformed file.
    pub(super) fn broken(&self, reason: impl Display) -> IoError {
        let (spot, format, reason) = (self.spot(), self.format.name(), reason.to_string());
        IoError::Syntax { spot, format, reason, form: BINARY_FORM }
    }

    /// The error for a file that ends too early.
    pub(super) fn cut_off(&self) -> IoError {
        self.broken("it ends before its picture does")
    }

    /// The error for a valid file of an unsupported kind.
    pub(super) fn unsupported(&self, what: impl Into<String>) -> IoError {
        IoError::unsupported(self.spot(), what, self.plainer())
    }

    /// The error for a valid file that a decoder refuses, with its message.
    pub(super) fn refused(&self, why: impl Display) -> IoError {
        let problem = format!("cannot be read: {why}");
        IoError::Content { spot: self.spot(), problem, hint: self.plainer() }
    }

    fn plainer(&self) -> String {
        format!("open it in an image editor and save it as plain {}", self.format)
    }

    /// The error for a stream that cannot be read.
    pub(super) fn io(&self, error: io::Error) -> IoError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.cut_off(),
            // Decoders report broken data with these kinds.
            io::ErrorKind::Other | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                self.broken(error)
            }
            _ => IoError::reading(self.file)(error),
        }
    }

    /// Checks that the picture is still wanted.
    pub(super) fn look(&self) -> Result<(), IoError> {
        self.meter.look(|| self.spot())
    }

    /// Checks the size stated by a file before decoding, and allocates the pixels.
    pub(super) fn canvas(
        &self,
        width: usize,
        height: usize,
        n_channels: usize,
    ) -> Result<Canvas, IoError> {
        if width == 0 || height == 0 {
            return Err(IoError::Content {
                spot: self.spot(),
                problem: format!("is a picture of {width}x{height} pixels"),
                hint: "save a picture with at least one pixel".into(),
            });
        }
        let most = self.limits.image_pixels;
        let n_pixels = width.checked_mul(height).filter(|n| *n <= most);
        // Footprints count pixels in `i32`.
        let fits = i32::try_from(width.max(height)).is_ok();
        let Some(n_pixels) = n_pixels.filter(|_| fits) else {
            let (spot, limit) = (self.spot(), &Limits::IMAGE_PIXELS);
            return Err(IoError::Limit { spot, what: "pixels", most, limit });
        };
        let n_bytes = n_pixels.saturating_mul(n_channels * size_of::<f32>());
        self.meter.check_bytes(n_bytes, || self.spot())?;
        // Zeros that have not been written take no memory.
        let mut values = vec![0.0; n_pixels * n_channels];
        in_huge_pages(&mut values);
        Ok(Canvas { width, height, n_channels, values })
    }

    /// Checks that the pixels and this many bytes beside them may be in memory at the same time.
    pub(super) fn check_beside(&self, canvas: &Canvas, n_bytes: usize) -> Result<(), IoError> {
        let n_bytes = n_bytes.saturating_add(size_of_val(&canvas.values[..]));
        self.meter.check_bytes(n_bytes, || self.spot())
    }
}

/// The pixels of a picture, row by row from the lower edge.
pub(super) struct Canvas {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) n_channels: usize,
    pub(super) values: Vec<f32>,
}

impl Canvas {
    /// A row by its number from the top.
    pub(super) fn row(&mut self, from_top: usize) -> &mut [f32] {
        let length = self.width * self.n_channels;
        let start = (self.height - 1 - from_top) * length;
        &mut self.values[start..start + length]
    }
}

/// A decoded picture.
pub(super) struct Decoded {
    pub(super) canvas: Canvas,
    pub(super) depth: Depth,
    pub(super) space: ColorSpace,
    pub(super) orientation: Orientation,
    pub(super) notes: Vec<String>,
}

impl Decoded {
    /// The image, oriented as stated by the file.
    pub(super) fn finish(self, reading: &Reading<'_>) -> Result<ReadPicture, IoError> {
        let Self { canvas, depth, space, orientation, mut notes } = self;
        if space.matrix().is_some() {
            notes.insert(0, format!("colors were converted from {}", space.name));
        }
        if orientation != Orientation::NoTransforms {
            notes.push(format!("{}, as stated by the file", name_of(orientation)));
            reading.check_beside(&canvas, size_of_val(&canvas.values[..]))?;
        }
        let canvas = turned(canvas, orientation);
        reading.look()?;
        let view = Footprint::of_size(canvas.width as i32, canvas.height as i32);
        let image = Image::from_channels(view, canvas.n_channels, canvas.values);
        let image = image.expect("the canvas has the size and the channels of an image");
        Ok(ReadPicture { image, depth, color_space: space.name, notes })
    }
}

fn name_of(orientation: Orientation) -> &'static str {
    match orientation {
        Orientation::NoTransforms => "unchanged",
        Orientation::Rotate90 => "rotated by 90 degrees clockwise",
        Orientation::Rotate180 => "rotated by 180 degrees",
        Orientation::Rotate270 => "rotated by 90 degrees counterclockwise",
        Orientation::FlipHorizontal => "mirrored left to right",
        Orientation::FlipVertical => "mirrored top to bottom",
        Orientation::Rotate90FlipH => "rotated by 90 degrees clockwise and mirrored left to right",
        Orientation::Rotate270FlipH => {
            "rotated by 90 degrees counterclockwise and mirrored left to right"
        }
    }
}

/// The picture in its intended orientation.
fn turned(canvas: Canvas, orientation: Orientation) -> Canvas {
    let Canvas { width, height, n_channels: n, values } = canvas;
    // The source position of the pixel at (x, y), with rows from the lower edge.
    let (right, top) = (width - 1, height - 1);
    let from: &dyn Fn(usize, usize) -> (usize, usize) = match orientation {
        Orientation::NoTransforms => return Canvas { width, height, n_channels: n, values },
        Orientation::FlipHorizontal => &|x, y| (right - x, y),
        Orientation::FlipVertical => &|x, y| (x, top - y),
        Orientation::Rotate180 => &|x, y| (right - x, top - y),
        Orientation::Rotate90 => &|x, y| (right - y, x),
        Orientation::Rotate270 => &|x, y| (y, top - x),
        Orientation::Rotate90FlipH => &|x, y| (right - y, top - x),
        Orientation::Rotate270FlipH => &|x, y| (y, x),
    };
    let is_on_its_side = matches!(
        orientation,
        Orientation::Rotate90
            | Orientation::Rotate270
            | Orientation::Rotate90FlipH
            | Orientation::Rotate270FlipH
    );
    let [width, height, pitch] =
        if is_on_its_side { [height, width, width] } else { [width, height, width] };
    let mut result = room_in_huge_pages(values.len());
    for y in 0..height {
        for x in 0..width {
            let (from_x, from_y) = from(x, y);
            let start = (from_y * pitch + from_x) * n;
            result.extend_from_slice(&values[start..start + n]);
        }
    }
    Canvas { width, height, n_channels: n, values: result }
}
