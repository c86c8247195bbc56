//! Tiff. The crate `tiff` parses files and writes directories; strips are compressed here, on all
//! cores, because the crate itself only compresses whole pictures.

use std::io::ErrorKind::UnexpectedEof;
use std::io::{SeekFrom, Write as _};

use ::tiff::decoder::{Decoder, Limits, TiffCodingUnit};
use ::tiff::encoder::{Rational, TiffEncoder, TiffKind, TiffKindBig, TiffKindStandard};
use ::tiff::tags::{
    CompressionMethod, ExtraSamples, PhotometricInterpretation, Predictor, SampleFormat, Tag,
};
use ::tiff::{ColorType, TiffError};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use half::f16;
use image::metadata::Orientation;

use super::canvas::{Canvas, Decoded, Reading};
use super::color::{ColorSpace, linear_profile};
use super::pixels::{Code, Decoding, convert, encode, premultiply};
use super::rows::{Rows, Stop, UNIT, WriteSeek};
use super::spread::spread;
use super::{Depth, PictureSpec, Transfer};
use crate::error::{IoError, Spot};
use crate::format::Stream;
use crate::guard::CONTRADICTION;

/// The maximum amount by which tiles may be wider than the picture.
const WIDEST_TILE: u32 = 1 << 16;

/// The type of a file's samples.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sample {
    /// Integers of 1, 2 or 4 bits.
    Bits(u8),
    U8,
    U16,
    U32,
    F16,
    F32,
    F64,
}

/// How the samples of a pixel become channels.
#[derive(Clone, Copy)]
struct Layout {
    sample: Sample,
    /// The number of decoded samples per pixel.
    n_samples: usize,
    /// The number of channels per pixel.
    n_channels: usize,
    is_cmyk: bool,
    /// Whether alpha is premultiplied.
    is_associated: bool,
}

pub(super) fn read(
    mut stream: Box<dyn Stream + '_>,
    reading: &Reading<'_>,
) -> Result<Decoded, IoError> {
    let broken = |error| failure(error, reading);
    let length = stream.seek(SeekFrom::End(0)).map_err(|error| reading.io(error))?;
    stream.rewind().map_err(|error| reading.io(error))?;
    let mut tiff = Decoder::new(stream).map_err(broken)?;
    let (width, height) = tiff.dimensions().map_err(broken)?;
    let mut notes = Vec::new();
    let layout = layout(&mut tiff, reading, &mut notes)?;
    let mut canvas = reading.canvas(width as usize, height as usize, layout.n_channels)?;
    let n_bits = u64::from(width) * u64::from(height) * layout.n_bits();
    if most_expansion(&mut tiff).is_some_and(|most| n_bits / 8 > length.saturating_mul(most)) {
        return Err(reading.cut_off());
    }
    let (tile_width, tile_height) = tiff.chunk_dimensions();
    if tile_width > width.saturating_mul(2).max(WIDEST_TILE) {
        return Err(reading.broken("its tiles are wider than the picture"));
    }
    let mut limits = Limits::default();
    limits.decoding_buffer_size = reading.limits.bytes;
    limits.intermediate_buffer_size = reading.limits.bytes;
    tiff = tiff.with_limits(limits);
    let is_gray = layout.n_channels < 3;
    let profile = tiff.find_tag(Tag::IccProfile).map_err(broken)?;
    let profile =
        profile.map(::tiff::decoder::ifd::Value::into_u8_vec).transpose().map_err(broken)?;
    let space = space(profile.as_deref(), &layout, is_gray, reading, &mut notes);
    let orientation = tiff.find_tag_unsigned::<u8>(Tag::Orientation).map_err(broken)?;
    let orientation =
        orientation.and_then(Orientation::from_exif).unwrap_or(Orientation::NoTransforms);
    let mut tile = Tile::new(&layout, &space);
    let across = width.div_ceil(tile_width);
    let n_tiles = across * height.div_ceil(tile_height);
    let is_lzw = compression(&mut tiff) == CompressionMethod::LZW;
    for i in 0..n_tiles {
        reading.look()?;
        let (at_x, at_y) = ((i % across) * tile_width, (i / across) * tile_height);
        let (w, h) = (tile_width.min(width - at_x), tile_height.min(height - at_y));
        // The decoder may need more bytes than there are to skip the padding of such a tile.
        let is_skipped = is_lzw && w < tile_width;
        let of_tile = |error| match error {
            TiffError::IoError(error) if is_skipped && error.kind() == UnexpectedEof => {
                reading.unsupported("tiles compressed with LZW that reach beyond the picture")
            }
            error => failure(error, reading),
        };
        let unit = TiffCodingUnit(i);
        let buffer = tiff.image_coding_unit_layout(unit).map_err(broken)?;
        let stride = buffer.row_stride.map_or(0, usize::from);
        let planes = if buffer.planes == 1 {
            tile.make_room(buffer.complete_len, reading)?;
            tiff.read_coding_unit_bytes(unit, &mut tile.bytes).map_err(of_tile)?;
            None
        } else {
            Some(tile.read_planes(&mut tiff, (i, n_tiles), reading, &of_tile)?)
        };
        for y in 0..h as usize {
            let n = layout.n_channels;
            let row = &mut canvas.row(at_y as usize + y)[at_x as usize * n..];
            let row = &mut row[..w as usize * n];
            tile.row(y * stride, planes, row).ok_or_else(|| reading.broken(CONTRADICTION))?;
        }
    }
    if tiff.more_images() {
        notes.push("it holds more pictures, of which this is the first".into());
    }
    finish(&mut canvas, &layout, &space);
    let depth = match layout.sample {
        Sample::Bits(_) | Sample::U8 => Depth::Eight,
        Sample::U16 => Depth::Sixteen,
        Sample::U32 | Sample::F16 | Sample::F32 | Sample::F64 => Depth::Float,
    };
    Ok(Decoded { canvas, depth, space, orientation, notes })
}

fn compression(tiff: &mut Decoder<Box<dyn Stream + '_>>) -> CompressionMethod {
    let method = tiff.find_tag_unsigned::<u16>(Tag::Compression).ok().flatten();
    CompressionMethod::from_u16_exhaustive(method.unwrap_or(1))
}

/// The maximum number of bytes of pixels that a byte of the file stands for; `None` for a
/// compression without a maximum.
fn most_expansion(tiff: &mut Decoder<Box<dyn Stream + '_>>) -> Option<u64> {
    match compression(tiff) {
        CompressionMethod::None => Some(1),
        // A count and a byte stand for up to 128 bytes.
        CompressionMethod::PackBits => Some(64),
        // A code of at least 9 bits stands for a string of at most 4096 bytes.
        CompressionMethod::LZW => Some(4096),
        // A match of 258 bytes takes at least 2 bits.
        CompressionMethod::Deflate | CompressionMethod::OldDeflate => Some(1032),
        _ => None,
    }
}

fn failure(error: TiffError, reading: &Reading<'_>) -> IoError {
    match error {
        TiffError::IoError(error) => reading.io(error),
        TiffError::UnsupportedError(what) => reading.refused(what),
        error => reading.broken(error),
    }
}

/// The storage of pixels, if it is supported.
fn layout<'a>(
    tiff: &mut Decoder<Box<dyn Stream + 'a>>,
    reading: &Reading<'_>,
    notes: &mut Vec<String>,
) -> Result<Layout, IoError> {
    let broken = |error| failure(error, reading);
    let color = tiff.colortype().map_err(broken)?;
    let format = tiff.find_tag_unsigned_vec::<u16>(Tag::SampleFormat).map_err(broken)?;
    let format = format.and_then(|all| all.first().copied()).unwrap_or(1);
    let sample = match (SampleFormat::from_u16_exhaustive(format), color.bit_depth()) {
        (SampleFormat::Uint, bits @ (1 | 2 | 4)) => Sample::Bits(bits),
        (SampleFormat::Uint, 8) => Sample::U8,
        (SampleFormat::Uint, 16) => Sample::U16,
        (SampleFormat::Uint, 32) => Sample::U32,
        (SampleFormat::IEEEFP, 16) => Sample::F16,
        (SampleFormat::IEEEFP, 32) => Sample::F32,
        (SampleFormat::IEEEFP, 64) => Sample::F64,
        (format, bits) => {
            return Err(reading.unsupported(format!("samples of {bits} bits and type {format:?}")));
        }
    };
    let n_samples = usize::from(color.num_samples());
    let extra = tiff.find_tag_unsigned_vec::<u16>(Tag::ExtraSamples).map_err(broken)?;
    let extra = extra.unwrap_or_default();
    let first = extra.first().and_then(|kind| ExtraSamples::from_u16(*kind));
    let is_alpha =
        matches!(first, Some(ExtraSamples::AssociatedAlpha | ExtraSamples::UnassociatedAlpha));
    let (n_channels, is_cmyk) = match color {
        ColorType::Gray(_) => (1, false),
        ColorType::Multiband { .. } if n_samples == extra.len() + 1 => {
            (1 + usize::from(is_alpha), false)
        }
        ColorType::RGB(_) => (3, false),
        ColorType::RGBA(_) => (4, false),
        ColorType::CMYK(8 | 16) => (3, true),
        color => return Err(reading.unsupported(format!("pixels of type {color:?}"))),
    };
    let n_stored = tiff.find_tag_unsigned::<u16>(Tag::SamplesPerPixel).map_err(broken)?;
    let n_stored = usize::from(n_stored.unwrap_or(1));
    let predictor = tiff.find_tag_unsigned::<u16>(Tag::Predictor).map_err(broken)?;
    if n_stored != n_samples && predictor.is_some_and(|kind| kind != 1) {
        // The decoder drops samples before it adds up differences.
        return Err(reading.unsupported("differences of more channels than colors and alpha"));
    }
    if n_stored != n_channels && !is_cmyk {
        notes.push(format!("{n_channels} of its {n_stored} channels were read"));
    }
    if is_cmyk {
        notes.push("CMYK was converted without regard to its inks".into());
    }
    let is_associated = first == Some(ExtraSamples::AssociatedAlpha) && n_channels % 2 == 0;
    Ok(Layout { sample, n_samples, n_channels, is_cmyk, is_associated })
}

/// The color space: that of the profile; else sRGB for integers, linear light for floats.
fn space(
    profile: Option<&[u8]>,
    layout: &Layout,
    is_gray: bool,
    reading: &Reading<'_>,
    notes: &mut Vec<String>,
) -> ColorSpace {
    match (layout.sample.is_float(), profile) {
        (true, None) => ColorSpace::linear(),
        (false, None) => reading.untagged(),
        // The inks were converted to colors without it.
        (false, Some(_)) if layout.is_cmyk => ColorSpace::srgb(),
        (false, Some(profile)) => ColorSpace::of_profile_or_srgb(profile, is_gray, notes),
        (true, Some(profile)) => match ColorSpace::of_profile(profile, is_gray) {
            Ok(space) if space.is_linear() => space,
            Ok(ColorSpace { name, .. }) => {
                notes.push(format!(
                    "the color profile `{name}` was not applied to floats, which were read as \
                     linear BT.709"
                ));
                ColorSpace::linear()
            }
            Err(profile) => {
                notes
                    .push(format!("{profile}, was not applied; floats were read as linear BT.709"));
                ColorSpace::linear()
            }
        },
    }
}

/// The remaining conversions once all floats are decoded.
fn finish(canvas: &mut Canvas, layout: &Layout, space: &ColorSpace) {
    if !layout.sample.is_float() {
        return;
    }
    if !layout.is_associated {
        premultiply(layout.n_channels, &mut canvas.values);
    }
    if let Some(matrix) = space.matrix() {
        convert(&matrix, layout.n_channels, &mut canvas.values);
    }
}

impl Layout {
    /// The number of bits per pixel.
    fn n_bits(self) -> u64 {
        let bits = match self.sample {
            Sample::Bits(bits) => u64::from(bits),
            sample => 8 * sample.n_bytes() as u64,
        };
        bits * self.n_samples as u64
    }
}

impl Sample {
    fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    fn n_bytes(self) -> usize {
        match self {
            Self::Bits(_) | Self::U8 => 1,
            Self::U16 | Self::F16 => 2,
            Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// A decoded tile or strip.
struct Tile<'a> {
    layout: &'a Layout,
    decoding: Decoding,
    bytes: Vec<u8>,
    /// The bytes of one row, with the samples of a pixel side by side.
    row: Vec<u8>,
    narrow: Vec<u8>,
    wide: Vec<u16>,
}

impl<'a> Tile<'a> {
    fn new(layout: &'a Layout, space: &ColorSpace) -> Self {
        let is_narrow = matches!(layout.sample, Sample::Bits(_) | Sample::U8);
        let top = if is_narrow { u8::MAX.into() } else { u16::MAX };
        let decoding = Decoding::new(space, layout.n_channels, top);
        let (bytes, row, narrow, wide) = Default::default();
        Self { layout, decoding, bytes, row, narrow, wide }
    }

    /// Makes room for this many bytes.
    fn make_room(&mut self, n_bytes: usize, reading: &Reading<'_>) -> Result<(), IoError> {
        reading.meter.check_bytes(n_bytes, || Spot::file(reading.file))?;
        self.bytes.resize(n_bytes, 0);
        Ok(())
    }

    /// Reads a tile of each plane, by its number among the tiles of a plane. Returns the number of
    /// bytes from one plane to the next.
    fn read_planes(
        &mut self,
        tiff: &mut Decoder<Box<dyn Stream + '_>>,
        (tile, n_tiles): (u32, u32),
        reading: &Reading<'_>,
        failure: &dyn Fn(TiffError) -> IoError,
    ) -> Result<usize, IoError> {
        // The decoder pads the last tiles of the first plane only, so each plane is read by itself.
        let tiles = (0..self.layout.n_samples as u32).map(|plane| tile + plane * n_tiles);
        let lengths: Vec<usize> = tiles
            .clone()
            .map(|tile| Ok(tiff.image_chunk_buffer_layout(tile).map_err(failure)?.complete_len))
            .collect::<Result<_, IoError>>()?;
        let plane = lengths.iter().copied().max().unwrap_or(0);
        self.make_room(lengths.len().saturating_mul(plane), reading)?;
        for (tile, (at, length)) in tiles.zip(lengths.into_iter().enumerate()) {
            let bytes = &mut self.bytes[at * plane..at * plane + length];
            tiff.read_chunk_bytes(tile, bytes).map_err(failure)?;
        }
        Ok(plane)
    }

    /// Decodes the row that starts at a byte; with planes, which are this many bytes apart, at that
    /// byte of each plane. `None` if it does not exist.
    fn row(&mut self, start: usize, planes: Option<usize>, row: &mut [f32]) -> Option<()> {
        let Layout { sample, n_samples, n_channels, .. } = *self.layout;
        let (size, width) = (sample.n_bytes(), row.len() / n_channels);
        let Some(plane) = planes else {
            let length = match sample {
                Sample::Bits(bits) => (width * n_samples * usize::from(bits)).div_ceil(8),
                _ => width * n_samples * size,
            };
            self.row.clear();
            self.row.extend_from_slice(self.bytes.get(start..start + length)?);
            self.decode(row);
            return Some(());
        };
        if matches!(sample, Sample::Bits(_)) {
            return None;
        }
        self.row.resize(width * n_samples * size, 0);
        for i in 0..n_samples {
            let start = start + i * plane;
            let from = self.bytes.get(start..start + width * size)?.chunks_exact(size);
            let to = self.row.chunks_exact_mut(size).skip(i).step_by(n_samples);
            to.zip(from).for_each(|(to, from)| to.copy_from_slice(from));
        }
        self.decode(row);
        Some(())
    }

    fn decode(&mut self, row: &mut [f32]) {
        let Layout { sample, n_samples, n_channels, .. } = *self.layout;
        let bytes = &self.row;
        match sample {
            Sample::Bits(bits) => {
                let n = row.len() / n_channels * n_samples;
                self.narrow.clear();
                self.narrow.extend((0..n).map(|i| packed(bytes, i, bits)));
                self.codes_8(row);
            }
            Sample::U8 => {
                self.narrow.clear();
                self.narrow.extend_from_slice(bytes);
                self.codes_8(row);
            }
            Sample::U16 => {
                self.wide.clear();
                self.wide.extend(bytes.as_chunks().0.iter().map(|x| u16::from_ne_bytes(*x)));
                self.codes_16(row);
            }
            Sample::U32 => {
                self.wide.clear();
                let words = bytes.as_chunks().0.iter();
                self.wide.extend(words.map(|x| (u32::from_ne_bytes(*x) >> 16) as u16));
                self.codes_16(row);
            }
            Sample::F16 => floats(bytes, self.layout, row, |x| f16::from_ne_bytes(x).to_f32()),
            Sample::F32 => floats(bytes, self.layout, row, f32::from_ne_bytes),
            Sample::F64 => floats(bytes, self.layout, row, |x| f64::from_ne_bytes(x) as f32),
        }
    }

    fn codes_8(&mut self, row: &mut [f32]) {
        settle(&mut self.narrow, self.layout);
        self.decoding.row(&self.narrow, row);
    }

    fn codes_16(&mut self, row: &mut [f32]) {
        settle(&mut self.wide, self.layout);
        self.decoding.row(&self.wide, row);
    }
}

/// A packed number at a position, as an 8-bit code.
fn packed(bytes: &[u8], i: usize, bits: u8) -> u8 {
    let per_byte = usize::from(8 / bits);
    let shift = 8 - bits as usize * (i % per_byte + 1);
    let top = u8::MAX >> (8 - bits);
    (bytes[i / per_byte] >> shift & top) * (u8::MAX / top)
}

/// Converts the codes of samples to those of channels, with straight alpha.
fn settle<C: Code>(codes: &mut Vec<C>, layout: &Layout) {
    let (n, top) = (layout.n_channels, u32::from(C::TOP));
    let code = |code: C| code.index() as u32;
    if layout.is_cmyk {
        let without =
            |ink: C, black: C| C::of(((top - code(ink)) * (top - code(black)) + top / 2) / top);
        let pixels = codes.chunks_exact(layout.n_samples);
        *codes = pixels.flat_map(|p| [0, 1, 2].map(|i| without(p[i], p[3]))).collect();
    } else if layout.n_samples > n {
        *codes = codes.chunks_exact(layout.n_samples).flat_map(|p| p[..n].to_vec()).collect();
    }
    if layout.is_associated {
        for pixel in codes.chunks_exact_mut(n) {
            let (alpha, others) = pixel.split_last_mut().expect("it has channels");
            let alpha = code(*alpha).max(1);
            for x in others {
                *x = C::of(((code(*x) * top + alpha / 2) / alpha).min(top));
            }
        }
    }
}

fn floats<const N: usize>(
    bytes: &[u8],
    layout: &Layout,
    row: &mut [f32],
    of: impl Fn([u8; N]) -> f32,
) {
    let samples = bytes.as_chunks::<N>().0.chunks_exact(layout.n_samples);
    for (pixel, samples) in row.chunks_exact_mut(layout.n_channels).zip(samples) {
        pixel.iter_mut().zip(samples).for_each(|(value, bytes)| *value = of(*bytes));
    }
}

/// The number of bytes from which on the file is a `BigTIFF` with 64-bit offsets; compression may
/// lengthen data.
const BIG: u64 = 3_900_000_000;

pub(super) fn write(
    out: &mut dyn WriteSeek,
    spec: &PictureSpec,
    rows: &mut Rows<'_>,
) -> Result<(), Stop> {
    let (depth, _) = spec.settled()?;
    let row_bytes = (spec.width * spec.n_channels * n_bytes(depth)) as u64;
    if row_bytes.saturating_mul(spec.height as u64) < BIG {
        let tiff = TiffEncoder::<_, TiffKindStandard>::new_generic(out);
        write_kind(tiff.map_err(failed)?, spec, rows)
    } else {
        let tiff = TiffEncoder::<_, TiffKindBig>::new_generic(out);
        write_kind(tiff.map_err(failed)?, spec, rows)
    }
}

fn n_bytes(depth: Depth) -> usize {
    match depth {
        Depth::Eight => 1,
        Depth::Sixteen => 2,
        Depth::Float => 4,
    }
}

fn write_kind<K: TiffKind>(
    mut tiff: TiffEncoder<&mut dyn WriteSeek, K>,
    spec: &PictureSpec,
    rows: &mut Rows<'_>,
) -> Result<(), Stop> {
    let (depth, transfer) = spec.settled()?;
    let (n, length) = (spec.n_channels, spec.width * spec.n_channels);
    // Strips of about a quarter of a megabyte whose rows divide the unit in which rows are pulled.
    let fitting = ((256 << 10) / (length * n_bytes(depth))).clamp(1, UNIT);
    let n_rows = 1 << fitting.ilog2();
    let mut directory = tiff.image_directory().map_err(failed)?;
    let (mut offsets, mut counts) = (Vec::new(), Vec::new());
    while let Some(values) = rows.next()? {
        let strips: Vec<&[f32]> = values.chunks(n_rows * length).collect();
        let compressed = spread(strips, |strip| {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&differences(strip, spec, depth, transfer))?;
            encoder.finish()
        });
        for strip in compressed {
            let strip = strip.expect("compressing does not panic")?;
            let offset = directory.write_data(&strip[..]).map_err(failed)?;
            offsets.push(K::convert_offset(offset).map_err(failed)?);
            counts.push(K::convert_offset(strip.len() as u64).map_err(failed)?);
        }
    }
    let is_float = depth == Depth::Float;
    let format = if is_float { SampleFormat::IEEEFP } else { SampleFormat::Uint };
    let predictor = if is_float { Predictor::FloatingPoint } else { Predictor::Horizontal };
    let color =
        if n < 3 { PhotometricInterpretation::BlackIsZero } else { PhotometricInterpretation::RGB };
    let mut tags = || {
        directory.write_tag(Tag::ImageWidth, spec.width as u32)?;
        directory.write_tag(Tag::ImageLength, spec.height as u32)?;
        directory.write_tag(Tag::BitsPerSample, &vec![8 * n_bytes(depth) as u16; n][..])?;
        directory.write_tag(Tag::Compression, CompressionMethod::Deflate.to_u16())?;
        directory.write_tag(Tag::PhotometricInterpretation, color.to_u16())?;
        directory.write_tag(Tag::StripOffsets, K::convert_slice(&offsets))?;
        directory.write_tag(Tag::SamplesPerPixel, n as u16)?;
        directory.write_tag(Tag::RowsPerStrip, n_rows as u32)?;
        directory.write_tag(Tag::StripByteCounts, K::convert_slice(&counts))?;
        directory.write_tag(Tag::XResolution, Rational { n: 1, d: 1 })?;
        directory.write_tag(Tag::YResolution, Rational { n: 1, d: 1 })?;
        directory.write_tag(Tag::ResolutionUnit, 1_u16)?;
        directory.write_tag(Tag::Predictor, predictor.to_u16())?;
        directory.write_tag(Tag::SampleFormat, &vec![format.to_u16(); n][..])?;
        if n.is_multiple_of(2) {
            let straight = ExtraSamples::UnassociatedAlpha;
            let alpha = if is_float { ExtraSamples::AssociatedAlpha } else { straight };
            directory.write_tag(Tag::ExtraSamples, alpha.to_u16())?;
        }
        if transfer == Transfer::Linear && !is_float {
            directory.write_tag(Tag::IccProfile, &linear_profile()[..])?;
        }
        Ok(())
    };
    tags().map_err(failed)?;
    directory.finish().map_err(failed)
}

fn failed(error: TiffError) -> Stop {
    match error {
        TiffError::IoError(error) => Stop::Io(error),
        error => Stop::other(error),
    }
}

/// The bytes of some rows as differences, which compress better: for integers, between adjacent
/// codes of a channel; for floats byte by byte, with the highest bytes of a row before the lower
/// ones.
fn differences(rows: &[f32], spec: &PictureSpec, depth: Depth, transfer: Transfer) -> Vec<u8> {
    let (n, length) = (spec.n_channels, spec.width * spec.n_channels);
    match depth {
        Depth::Eight => {
            let mut codes: Vec<u8> = Vec::new();
            encode(rows, n, transfer, &mut codes);
            for row in codes.chunks_exact_mut(length) {
                (n..length).rev().for_each(|i| row[i] = row[i].wrapping_sub(row[i - n]));
            }
            codes
        }
        Depth::Sixteen => {
            let mut codes: Vec<u16> = Vec::new();
            encode(rows, n, transfer, &mut codes);
            for row in codes.chunks_exact_mut(length) {
                (n..length).rev().for_each(|i| row[i] = row[i].wrapping_sub(row[i - n]));
            }
            bytemuck::cast_slice(&codes).to_vec()
        }
        Depth::Float => {
            let mut bytes = vec![0; rows.len() * 4];
            for (row, values) in bytes.chunks_exact_mut(length * 4).zip(rows.chunks_exact(length)) {
                for (i, value) in values.iter().enumerate() {
                    for (plane, byte) in value.to_be_bytes().into_iter().enumerate() {
                        row[plane * length + i] = byte;
                    }
                }
                (n..row.len()).rev().for_each(|i| row[i] = row[i].wrapping_sub(row[i - n]));
            }
            bytes
        }
    }
}

#[cfg(test)]
mod tests;
