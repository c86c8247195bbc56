//! Jpeg, with the crate `image`: whole pictures of 8 bits.
//!
//! Its decoder fills missing data with gray, so completeness is checked here.

use std::io::Write;

use ::image::codecs::jpeg::{JpegDecoder, JpegEncoder};
use ::image::{ExtendedColorType, ImageEncoder};

use super::canvas::{Decoded, Reading};
use super::color::linear_profile;
use super::pixels::{encoded, without_alpha};
use super::rows::{Rows, Stop};
use super::webp::{decode, failed, failure, room};
use super::{PictureSpec, Transfer};
use crate::error::IoError;
use crate::format::Stream;

const QUALITY: u8 = 90;

pub(super) fn read(
    stream: Box<dyn Stream + '_>,
    reading: &Reading<'_>,
) -> Result<Decoded, IoError> {
    let bytes = reading.meter.read_all(stream, 0, reading.file)?;
    let Frame { width, height, n_components } = frame(&bytes).ok_or_else(|| reading.cut_off())?;
    // The decoder allocates before it reports a size.
    reading.canvas(width, height, n_components.clamp(1, 3))?;
    let mut notes = Vec::new();
    if n_components == 4 {
        notes.push("CMYK was converted without regard to its inks".into());
    }
    let decoder = JpegDecoder::new(std::io::Cursor::new(bytes));
    decode(decoder.map_err(|error| failure(error, reading))?, reading, notes)
}

/// The size of a picture, from its header.
struct Frame {
    width: usize,
    height: usize,
    n_components: usize,
}

/// The frame of a file with all parts up to the end marker; `None` if it is cut off.
///
/// A file is a sequence of markers: `ff`, a type, and for most types a length and that many bytes.
/// The codes of pixels follow a scan marker; there, `ff` is followed by `00` or a restart number.
fn frame(bytes: &[u8]) -> Option<Frame> {
    const START: u8 = 0xd8;
    const END: u8 = 0xd9;
    const SCAN: u8 = 0xda;
    let mut frame = None;
    let mut at = 0;
    loop {
        // There may be bytes to skip between markers, and between `ff` and the type.
        at += bytes.get(at..)?.iter().position(|byte| *byte == 0xff)?;
        at += bytes.get(at..)?.iter().position(|byte| *byte != 0xff)?;
        let kind = bytes[at];
        at += 1;
        match kind {
            END => return frame,
            0 | 1 | 0xd0..=START => continue,
            _ => {}
        }
        let length = usize::from(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        let segment = bytes.get(at + 2..at + length.max(2))?;
        // All types of frames; the others in this range are tables.
        if matches!(kind, 0xc0..=0xcf) && !matches!(kind, 0xc4 | 0xc8 | 0xcc) {
            let [_, h1, h0, w1, w0, n] = *segment.first_chunk()?;
            let [width, height] = [[w1, w0], [h1, h0]].map(|x| u16::from_be_bytes(x).into());
            frame = Some(Frame { width, height, n_components: n.into() });
        }
        at += length.max(2);
        if kind == SCAN && frame.is_none() {
            return None;
        }
    }
}

pub(super) fn write<W: Write + ?Sized>(
    out: &mut W,
    spec: &PictureSpec,
    rows: &mut Rows<'_>,
) -> Result<(), Stop> {
    let settled = spec.settled()?;
    let (n, has_alpha) = (spec.n_channels, spec.n_channels.is_multiple_of(2));
    let n_colors = n - usize::from(has_alpha);
    let opaque = PictureSpec { n_channels: n_colors, ..*spec };
    let mut codes = room(spec.width * spec.height * n_colors)?;
    while let Some(mut values) = rows.next()? {
        if has_alpha {
            values = without_alpha(&values, n).map_err(|(at, alpha)| {
                let (x, y) =
                    (at % spec.width, codes.len() / n_colors / spec.width + at / spec.width);
                Stop::Refused {
                    problem: format!(
                        "cannot be written: the pixel in column {x} of row {y} from the top has \
                         alpha {alpha}, but jpeg has no alpha"
                    ),
                    hint: "composite the image over a background, or write png, webp, tiff or exr"
                        .into(),
                }
            })?;
        }
        for bytes in encoded(&values, &opaque, settled, u16::to_ne_bytes) {
            codes.extend_from_slice(&bytes);
        }
    }
    let color = if n_colors == 1 { ExtendedColorType::L8 } else { ExtendedColorType::Rgb8 };
    let mut encoder = JpegEncoder::new_with_quality(out, QUALITY);
    if settled.1 == Transfer::Linear {
        encoder.set_icc_profile(linear_profile()).map_err(Stop::other)?;
    }
    encoder.encode(&codes, spec.width as u32, spec.height as u32, color).map_err(failed)
}
