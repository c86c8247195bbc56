//! Png, with the crate `png`, row by row in both directions.

use std::io::Write;
use std::thread::scope;

use ::png::{
    BitDepth, ColorType, Compression, Decoder, DecodingError, Encoder, EncodingError, Info, Limits,
    ScaledFloat, SourceChromaticities, SrgbRenderingIntent, Transformations,
};
use image::metadata::Orientation;

use super::canvas::{Canvas, Decoded, Reading};
use super::color::{BT709, ColorSpace, Curve, Xy};
use super::pixels::{Decoding, encode_here};
use super::rows::{Rows, Stop};
use super::{Depth, PictureSpec, Transfer};
use crate::error::IoError;
use crate::format::Stream;

/// The bytes that the decoder may take for anything besides a few rows, such as profiles and
/// strings.
const MAX_METADATA: usize = 64 << 20;

pub(super) fn read(
    stream: Box<dyn Stream + '_>,
    reading: &Reading<'_>,
) -> Result<Decoded, IoError> {
    let broken = |error| failure(error, reading);
    let mut decoder = Decoder::new_with_limits(stream, Limits { bytes: MAX_METADATA });
    // Palettes become colors, transparency keys become alpha, and fewer than 8 bits become 8.
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    let info = decoder.read_header_info().map_err(broken)?;
    let (width, height) = (info.width as usize, info.height as usize);
    // Later chunks may add channels.
    reading.canvas(width, height, info.color_type.samples())?;
    decoder.set_limits(Limits { bytes: MAX_METADATA + 64 * width });
    let mut png = decoder.read_info().map_err(broken)?;
    let (color, bits) = png.output_color_type();
    let n_channels = color.samples();
    let mut canvas = reading.canvas(width, height, n_channels)?;
    let mut notes = Vec::new();
    let space = space(png.info(), n_channels < 3, reading, &mut notes);
    if png.info().animation_control.is_some() {
        notes.push("it is an animation, of which this is the first picture".into());
    }
    let depth = if bits == BitDepth::Sixteen { Depth::Sixteen } else { Depth::Eight };
    let top = if depth == Depth::Sixteen { u16::MAX } else { u8::MAX.into() };
    let decoding = Decoding::new(&space, n_channels, top);
    let mut codes = Vec::new();
    let mut put = |canvas: &mut Canvas, y: usize, bytes: &[u8]| {
        let row = canvas.row(y);
        if depth == Depth::Sixteen {
            codes.clear();
            codes.extend(bytes.as_chunks().0.iter().map(|pair| u16::from_be_bytes(*pair)));
            decoding.row(&codes, row);
        } else {
            decoding.row(bytes, row);
        }
        reading.meter.work(row.len(), || crate::error::Spot::file(reading.file))
    };
    if png.info().interlaced {
        let size = png.output_buffer_size().ok_or_else(|| reading.broken("it is too large"))?;
        reading.check_beside(&canvas, size)?;
        let mut all = vec![0; size];
        let frame = png.next_frame(&mut all).map_err(broken)?;
        for (y, bytes) in all.chunks_exact(frame.line_size).take(height).enumerate() {
            put(&mut canvas, y, bytes)?;
        }
    } else {
        for y in 0..height {
            let row = png.next_row().map_err(broken)?.ok_or_else(|| reading.cut_off())?;
            put(&mut canvas, y, row.data())?;
        }
    }
    // Descriptions of the picture may follow it.
    png.finish().map_err(broken)?;
    let exif = png.info().exif_metadata.as_deref();
    let orientation = exif.and_then(Orientation::from_exif_chunk);
    let orientation = orientation.unwrap_or(Orientation::NoTransforms);
    Ok(Decoded { canvas, depth, space, orientation, notes })
}

fn failure(error: DecodingError, reading: &Reading<'_>) -> IoError {
    match error {
        DecodingError::IoError(error) => reading.io(error),
        DecodingError::LimitsExceeded => {
            reading.broken("its chunks other than pixels are too long")
        }
        error => reading.broken(error),
    }
}

/// The color space: the first one stated among code points, a profile, sRGB, and gamma with
/// primaries.
fn space(
    info: &Info<'_>,
    is_gray: bool,
    reading: &Reading<'_>,
    notes: &mut Vec<String>,
) -> ColorSpace {
    if let Some(cicp) = info.coding_independent_code_points {
        let [primaries, transfer] = [cicp.color_primaries, cicp.transfer_function];
        let space = ColorSpace::of_code_points(primaries, transfer).unwrap_or_else(|| {
            notes.push(format!(
                "the color space with the code points {primaries} and {transfer} is unknown; \
                 colors were read as sRGB"
            ));
            ColorSpace::srgb()
        });
        if cicp.is_video_full_range_image {
            return space;
        }
        notes.push("its codes of the narrow range of video were converted".into());
        return space.of_narrow_range();
    }
    if let Some(profile) = &info.icc_profile {
        return ColorSpace::of_profile_or_srgb(profile, is_gray, notes);
    }
    if info.srgb.is_some() {
        return ColorSpace::srgb();
    }
    if info.gama_chunk.is_none() && info.chrm_chunk.is_none() {
        return reading.untagged();
    }
    let gamma = info.gama_chunk.map(|gamma| f64::from(gamma.into_scaled()) / 100_000.0);
    // Programs that do not state sRGB by name write an exponent of 1/2.2 for it.
    let curve = match gamma {
        None | Some(0.454..0.456) => Curve::Srgb,
        Some(gamma) => Curve::Power(1.0 / gamma),
    };
    let primaries = info.chrm_chunk.map_or(BT709, |at| {
        [at.red, at.green, at.blue, at.white]
            .map(|(x, y)| -> Xy { [x, y].map(|x| f64::from(x.into_scaled()) / 100_000.0) })
    });
    let name = match gamma {
        Some(gamma) => format!("gamma {gamma} with custom primaries"),
        None => "custom primaries".into(),
    };
    match ColorSpace::of_primaries(&name, curve, primaries) {
        Some(space) if space.is_srgb() => ColorSpace::srgb(),
        Some(space) if space.matrix().is_none() && gamma == Some(1.0) => ColorSpace::linear(),
        Some(space) => space,
        None => {
            notes.push(format!("{name} do not span a color space; colors were read as sRGB"));
            ColorSpace::srgb()
        }
    }
}

pub(super) fn write<W: Write + ?Sized>(
    out: &mut W,
    spec: &PictureSpec,
    rows: &mut Rows<'_>,
) -> Result<(), Stop> {
    let (depth, transfer) = spec.settled()?;
    let mut encoder = Encoder::new(out, spec.width as u32, spec.height as u32);
    encoder.set_color(match spec.n_channels {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        _ => ColorType::Rgba,
    });
    let is_wide = depth == Depth::Sixteen;
    encoder.set_depth(if is_wide { BitDepth::Sixteen } else { BitDepth::Eight });
    encoder.set_compression(Compression::Fast);
    match transfer {
        Transfer::Srgb => encoder.set_source_srgb(SrgbRenderingIntent::RelativeColorimetric),
        Transfer::Linear => {
            let [red, green, blue, white] = BT709.map(|xy| {
                let [x, y] = xy.map(|x| ScaledFloat::from_scaled((x * 100_000.0).round() as u32));
                (x, y)
            });
            encoder.set_source_gamma(ScaledFloat::from_scaled(100_000));
            encoder.set_source_chromaticities(SourceChromaticities { white, red, green, blue });
        }
    }
    let mut writer = encoder.write_header().map_err(failed)?;
    let mut stream = writer.stream_writer_with_size(1 << 16).map_err(failed)?;
    scope(|scope| {
        let (mut codes, mut written) = (Vec::new(), Vec::new());
        // Rows are converted while those before are compressed, which takes longer.
        while let Some(part) = rows.next_part()? {
            let mut next = std::mem::take(&mut written);
            let converted = scope.spawn(move || {
                let (n, kind) = (spec.n_channels, (depth, transfer));
                encode_here(part.slices(), n, kind, u16::to_be_bytes, &mut next);
                next
            });
            stream.write_all(&codes)?;
            written = std::mem::replace(
                &mut codes,
                converted.join().expect("making codes does not panic"),
            );
        }
        Ok::<(), Stop>(stream.write_all(&codes)?)
    })?;
    stream.finish().map_err(failed)?;
    writer.finish().map_err(failed)
}

fn failed(error: EncodingError) -> Stop {
    match error {
        EncodingError::IoError(error) => Stop::Io(error),
        error => Stop::other(error),
    }
}
