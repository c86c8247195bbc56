//! Webp, with the crate `image`: whole pictures, because its blocks refer to all previous ones.

use std::io::Write;

use ::image::codecs::webp::{WebPDecoder, WebPEncoder};
use ::image::{ExtendedColorType, ImageDecoder, ImageEncoder, ImageError};

use super::canvas::{Decoded, Reading};
use super::color::{ColorSpace, linear_profile};
use super::pixels::{Decoding, encoded};
use super::rows::{Rows, Stop};
use super::{Depth, PictureSpec, Transfer};
use crate::error::IoError;
use crate::format::Stream;

pub(super) fn read(
    stream: Box<dyn Stream + '_>,
    reading: &Reading<'_>,
) -> Result<Decoded, IoError> {
    let decoder = WebPDecoder::new(stream).map_err(|error| failure(error, reading))?;
    let mut notes = Vec::new();
    if decoder.has_animation() {
        notes.push("it is an animation, of which this is the first picture".into());
    }
    decode(decoder, reading, notes)
}

/// Reads a picture of 8 bits that `image` decodes.
pub(super) fn decode(
    mut decoder: impl ImageDecoder,
    reading: &Reading<'_>,
    mut notes: Vec<String>,
) -> Result<Decoded, IoError> {
    let broken = |error| failure(error, reading);
    let (width, height) = decoder.dimensions();
    let (width, height) = (width as usize, height as usize);
    let color = decoder.color_type();
    let n_channels = usize::from(color.channel_count());
    if usize::from(color.bytes_per_pixel()) != n_channels {
        return Err(reading.unsupported(format!("pixels of type {color:?}")));
    }
    let mut canvas = reading.canvas(width, height, n_channels)?;
    let space = match decoder.icc_profile().map_err(broken)? {
        Some(profile) => ColorSpace::of_profile_or_srgb(&profile, n_channels < 3, &mut notes),
        None => reading.untagged(),
    };
    let orientation = decoder.orientation().map_err(broken)?;
    let n_codes = width * height * n_channels;
    reading.check_beside(&canvas, n_codes)?;
    let mut codes = vec![0; n_codes];
    decoder.read_image(&mut codes).map_err(broken)?;
    reading.look()?;
    let decoding = Decoding::new(&space, n_channels, u8::MAX.into());
    for (y, row) in codes.chunks_exact(width * n_channels).enumerate() {
        decoding.row(row, canvas.row(y));
    }
    Ok(Decoded { canvas, depth: Depth::Eight, space, orientation, notes })
}

pub(super) fn failure(error: ImageError, reading: &Reading<'_>) -> IoError {
    match error {
        ImageError::IoError(error) => reading.io(error),
        ImageError::Unsupported(what) => reading.refused(what),
        error => reading.broken(error),
    }
}

pub(super) fn write<W: Write + ?Sized>(
    out: &mut W,
    spec: &PictureSpec,
    rows: &mut Rows<'_>,
) -> Result<(), Stop> {
    let settled = spec.settled()?;
    let mut codes = room(spec.width * spec.height * spec.n_channels)?;
    while let Some(values) = rows.next()? {
        for bytes in encoded(&values, spec, settled, u16::to_ne_bytes) {
            codes.extend_from_slice(&bytes);
        }
    }
    let color = match spec.n_channels {
        1 => ExtendedColorType::L8,
        2 => ExtendedColorType::La8,
        3 => ExtendedColorType::Rgb8,
        _ => ExtendedColorType::Rgba8,
    };
    let mut encoder = WebPEncoder::new_lossless(out);
    if settled.1 == Transfer::Linear {
        encoder.set_icc_profile(linear_profile()).map_err(Stop::other)?;
    }
    let (width, height) = (spec.width as u32, spec.height as u32);
    encoder.write_image(&codes, width, height, color).map_err(failed)
}

/// Memory for the codes of a whole picture.
pub(super) fn room(n: usize) -> Result<Vec<u8>, Stop> {
    let mut room = Vec::new();
    room.try_reserve_exact(n).map_err(|_| Stop::Refused {
        problem: "cannot be written: it does not fit into memory".into(),
        hint: "write png, tiff or exr, which hold only a few rows in memory at a time".into(),
    })?;
    Ok(room)
}

pub(super) fn failed(error: ImageError) -> Stop {
    match error {
        ImageError::IoError(error) => Stop::Io(error),
        error => Stop::other(error),
    }
}
