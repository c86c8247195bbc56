//! Picture files: png, jpeg, exr, tiff and webp as images in linear light, and back.
//!
//! Rows of an [`Image`] start at the lower edge; those of files, and the rows that
//! [`write_picture`] pulls, start at the top. Codes of 8 and 16 bits are sRGB with straight alpha
//! unless the file says otherwise; floats are linear light. A picture larger than memory is written
//! by pulling its rows, a few at a time.

use std::convert::Infallible;
use std::fmt;
use std::io::{self, BufWriter, Cursor, Write};
use std::ops::Range;
use std::path::Path;

use millstream_base::{Budget, Image, Limits};

use crate::error::{IoError, Spot};
use crate::format::{Place, Source};
use crate::guard::{CONTRADICTION, caught};
use crate::meter::Meter;
use crate::temporary::TemporaryFile;
use crate::writer::device;

mod animation;
mod canvas;
mod color;
mod content;
mod exr;
mod jpeg;
mod pixels;
mod png;
mod rows;
mod spread;
mod tiff;
mod transfer;
mod webp;

pub use animation::{AnimationFormat, AnimationWriter};

use canvas::Reading;
use rows::{Part, Rows, Stop, WriteSeek};

/// A format of picture files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PictureFormat {
    /// Lossless, 8 or 16 bits.
    Png,
    /// Lossy, 8 bits, without alpha.
    Jpeg,
    /// Linear light as floats of 16 or 32 bits.
    Exr,
    /// Lossless, 8 or 16 bits or floats.
    Tiff,
    /// 8 bits; read with or without loss, written lossless.
    WebP,
}

/// How the channels of a file are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Depth {
    /// Integers of 8 bits.
    Eight,
    /// 16 bits: integers, or floats in exr.
    Sixteen,
    /// Floats of 32 bits.
    Float,
}

/// The meaning of a file's numbers in terms of light.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transfer {
    /// The sRGB curve: equal steps look about equal.
    Srgb,
    /// Proportional to light.
    Linear,
}

/// How to write a picture, where its format leaves a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PictureOptions {
    /// The storage of channels; by default 8 bits in png, jpeg and webp, 16 in tiff, and floats of
    /// 32 bits in exr.
    pub depth: Option<Depth>,
    /// The meaning of numbers; by default sRGB for integers and linear light for floats. A file of
    /// linear integers says so.
    pub transfer: Option<Transfer>,
}

/// A picture to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureSpec {
    /// The format.
    pub format: PictureFormat,
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Number of channels: gray, gray and alpha, red green blue, or these and alpha.
    pub n_channels: usize,
    /// The options.
    pub options: PictureOptions,
}

/// A picture that was read.
#[derive(Clone, Debug)]
pub struct ReadPicture {
    /// The pixels, over a view of their number.
    pub image: Image,
    /// The storage of channels; a depth not listed here is given as the next larger one.
    pub depth: Depth,
    /// The color space of the file, by name.
    pub color_space: String,
    /// Notes for the user: conversions, and parts of the file that are not in the image.
    pub notes: Vec<String>,
}

/// Why a picture was not written.
#[derive(Debug)]
pub enum PictureFailure<E> {
    /// The file could not be written, or its format cannot hold the picture.
    Io(Box<IoError>),
    /// The rows could not be computed.
    Rows(E),
}

impl<E> From<IoError> for PictureFailure<E> {
    fn from(error: IoError) -> Self {
        Self::Io(Box::new(error))
    }
}

impl<E: fmt::Display> fmt::Display for PictureFailure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Rows(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error> std::error::Error for PictureFailure<E> {}

impl PictureFormat {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Png, Self::Jpeg, Self::Exr, Self::Tiff, Self::WebP];

    /// The name, which is also an extension.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Exr => "exr",
            Self::Tiff => "tiff",
            Self::WebP => "webp",
        }
    }

    /// The extensions, starting with the name.
    pub fn extensions(self) -> impl Iterator<Item = &'static str> + Clone {
        let others: &[&str] = match self {
            Self::Jpeg => &["jpg"],
            Self::Tiff => &["tif"],
            Self::Png | Self::Exr | Self::WebP => &[],
        };
        std::iter::once(self.name()).chain(others.iter().copied())
    }

    /// The format with this name or other extension, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        let is_named = |format: &Self| format.extensions().any(|x| x.eq_ignore_ascii_case(name));
        Self::ALL.into_iter().find(is_named)
    }

    /// The format named by the extension of a file.
    ///
    /// # Errors
    /// If there is no extension, or it does not belong to any format.
    pub fn of_path(path: &Path) -> Result<Self, IoError> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.and_then(Self::from_name).ok_or_else(|| IoError::UnknownFormat {
            file: path.display().to_string(),
            known: Self::ALL.into_iter().flat_map(Self::extensions).collect::<Vec<_>>().join(", "),
        })
    }

    /// The depths that the format can hold, the default first.
    pub const fn depths(self) -> &'static [Depth] {
        match self {
            Self::Png => &[Depth::Eight, Depth::Sixteen],
            Self::Jpeg | Self::WebP => &[Depth::Eight],
            Self::Exr => &[Depth::Float, Depth::Sixteen],
            Self::Tiff => &[Depth::Sixteen, Depth::Eight, Depth::Float],
        }
    }

    /// The maximum width and height.
    const fn longest_side(self) -> usize {
        match self {
            Self::Png | Self::Exr => i32::MAX as usize,
            Self::Jpeg => u16::MAX as usize,
            Self::Tiff => u32::MAX as usize,
            Self::WebP => 1 << 14,
        }
    }
}

impl fmt::Display for PictureFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Srgb => "sRGB",
            Self::Linear => "linear light",
        })
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eight => "8 bits",
            Self::Sixteen => "16 bits",
            Self::Float => "floats of 32 bits",
        })
    }
}

/// Reads a picture from a file in this format, or the one that the extension names; `untagged` is
/// the meaning of integers if the file does not state it.
///
/// Gray stays gray, and a picture without alpha stays without. A rotation stated by the file is
/// applied. Colors in another space than sRGB are converted if the file describes it sufficiently;
/// otherwise `notes` say so.
///
/// # Errors
/// If the file cannot be read, belongs to another format, is malformed, or has no pixels or more
/// than the limits allow.
pub fn read_picture(
    path: &Path,
    (format, untagged): (Option<PictureFormat>, Transfer),
    limits: &Limits,
    budget: &Budget,
) -> Result<ReadPicture, IoError> {
    let format = format.map_or_else(|| PictureFormat::of_path(path), Ok)?;
    let file = path.display().to_string();
    let meter = Meter::new(limits, budget);
    let reading = Reading { file: &file, format, untagged, limits, meter };
    let at = std::fs::metadata(path).map_err(IoError::reading(&file))?;
    if at.is_file() {
        let length = usize::try_from(at.len()).unwrap_or(usize::MAX);
        reading.meter.check_bytes(length, || Spot::file(&file))?;
        let source = Source { file: file.clone(), place: Place::Path(path.to_owned()) };
        return read(&source, &reading);
    }
    let bytes = reading.meter.read_file(path, &file)?;
    read(&Source { file: file.clone(), place: Place::Memory(&bytes) }, &reading)
}

/// Reads a picture from the bytes of a file, called `file` in messages; `untagged` is the meaning of
/// integers if the file does not state it.
///
/// # Errors
/// See [`read_picture`].
pub fn read_picture_bytes(
    file: &str,
    bytes: &[u8],
    (format, untagged): (PictureFormat, Transfer),
    limits: &Limits,
    budget: &Budget,
) -> Result<ReadPicture, IoError> {
    let meter = Meter::new(limits, budget);
    let reading = Reading { file, format, untagged, limits, meter };
    read(&Source { file: file.to_owned(), place: Place::Memory(bytes) }, &reading)
}

fn read(source: &Source<'_>, reading: &Reading<'_>) -> Result<ReadPicture, IoError> {
    let mut stream = source.open()?;
    let start = stream.fill_buf().map_err(IoError::reading(reading.file))?;
    content::check(start, reading)?;
    let decoded = caught(|| match reading.format {
        PictureFormat::Png => png::read(stream, reading),
        PictureFormat::Jpeg => jpeg::read(stream, reading),
        PictureFormat::Exr => exr::read(stream, reading),
        PictureFormat::Tiff => tiff::read(stream, reading),
        PictureFormat::WebP => webp::read(stream, reading),
    });
    let decoded = decoded.unwrap_or_else(|| Err(reading.broken(CONTRADICTION)));
    // A decoder that is stopped by the budget reports broken data.
    reading.look()?;
    decoded?.finish(reading)
}

/// Writes a picture to a file by pulling its rows from the top, one range at a time.
///
/// `rows` returns the channels of the pixels in these rows side by side, in linear light and
/// premultiplied. Png, exr and tiff hold only a few rows in memory; jpeg and webp hold the whole
/// picture as bytes. A range has about two million values, but at least 32 rows; a caller whose
/// rows are cheaper in larger groups can compute larger groups and return them in parts. The file
/// gets its name when it is complete. Png is compressed with its fast method, exr with PIZ, tiff
/// with deflate; jpeg is written with quality 90 and full color resolution.
///
/// # Errors
/// If `rows` fails, the format cannot hold the picture, or writing fails; the file is then
/// unchanged.
///
/// # Panics
/// If `rows` returns the wrong number of channels.
pub fn write_picture<E>(
    path: &Path,
    spec: &PictureSpec,
    rows: &mut dyn FnMut(Range<usize>) -> Result<Vec<f32>, E>,
) -> Result<(), PictureFailure<E>> {
    write_parts(path, spec, |range| rows(range).map(Part::Values))
}

fn write_parts<'a, E>(
    path: &Path,
    spec: &PictureSpec,
    rows: impl FnMut(Range<usize>) -> Result<Part<'a>, E>,
) -> Result<(), PictureFailure<E>> {
    let file = path.display().to_string();
    let failed = |source| IoError::Write { file: file.clone(), source };
    if let Some(device) = device(path).map_err(failed)? {
        return write_parts_to(&file, &mut BufWriter::new(device), spec, rows);
    }
    spec.settled().map_err(|stop| stop.of(&file))?;
    let mut temporary = TemporaryFile::beside(path).map_err(failed)?;
    pulled(&file, spec, rows, |rows| write(&mut temporary.out, spec, rows))?;
    Ok(temporary.keep().map_err(failed)?)
}

/// Writes a picture to a stream, called `name` in messages, like [`write_picture`]. Exr and tiff
/// are first built in memory.
///
/// # Errors
/// See [`write_picture`].
///
/// # Panics
/// See [`write_picture`].
pub fn write_picture_to<E>(
    name: &str,
    out: &mut dyn Write,
    spec: &PictureSpec,
    rows: &mut dyn FnMut(Range<usize>) -> Result<Vec<f32>, E>,
) -> Result<(), PictureFailure<E>> {
    write_parts_to(name, out, spec, |range| rows(range).map(Part::Values))
}

fn write_parts_to<'a, E>(
    name: &str,
    out: &mut dyn Write,
    spec: &PictureSpec,
    rows: impl FnMut(Range<usize>) -> Result<Part<'a>, E>,
) -> Result<(), PictureFailure<E>> {
    let mut memory = Cursor::new(Vec::new());
    pulled(name, spec, rows, |rows| match spec.format {
        PictureFormat::Exr | PictureFormat::Tiff => {
            write(&mut memory, spec, rows)?;
            Ok(out.write_all(memory.get_ref())?)
        }
        PictureFormat::Png => png::write(out, spec, rows),
        PictureFormat::Jpeg => jpeg::write(out, spec, rows),
        PictureFormat::WebP => webp::write(out, spec, rows),
    })?;
    let flushed = out.flush();
    Ok(flushed.map_err(|source| IoError::Write { file: name.to_owned(), source })?)
}

fn write(out: &mut dyn WriteSeek, spec: &PictureSpec, rows: &mut Rows<'_>) -> Result<(), Stop> {
    match spec.format {
        PictureFormat::Png => png::write(out, spec, rows),
        PictureFormat::Jpeg => jpeg::write(out, spec, rows),
        PictureFormat::Exr => exr::write(out, spec, rows),
        PictureFormat::Tiff => tiff::write(out, spec, rows),
        PictureFormat::WebP => webp::write(out, spec, rows),
    }
}

/// Calls a writer with rows, and preserves the error of their producer.
fn pulled<'a, E>(
    file: &str,
    spec: &PictureSpec,
    mut rows: impl FnMut(Range<usize>) -> Result<Part<'a>, E>,
    write: impl FnOnce(&mut Rows<'_>) -> Result<(), Stop>,
) -> Result<(), PictureFailure<E>> {
    spec.settled().map_err(|stop| stop.of(file))?;
    let mut failure = None;
    let mut pull = |range| {
        rows(range).map_err(|error| {
            failure = Some(error);
            Stop::Rows
        })
    };
    let written = write(&mut Rows::new(spec, &mut pull));
    match (written, failure) {
        (_, Some(error)) => Err(PictureFailure::Rows(error)),
        (written, None) => Ok(written.map_err(|stop| stop.of(file))?),
    }
}

/// Writes an image to a file in this format, or the one that the extension names.
///
/// # Errors
/// If the extension names no format, the format cannot hold the image, or writing fails; the file
/// is then unchanged.
pub fn write_image(
    path: &Path,
    format: Option<PictureFormat>,
    options: PictureOptions,
    image: &Image,
) -> Result<(), IoError> {
    let format = format.map_or_else(|| PictureFormat::of_path(path), Ok)?;
    let spec = PictureSpec::of_image(format, options, image);
    only_io(write_parts(path, &spec, |range| Ok(Part::OfImage(image, range))))
}

/// Writes an image to a stream, called `name` in messages.
///
/// # Errors
/// See [`write_image`].
pub fn write_image_to(
    name: &str,
    out: &mut dyn Write,
    format: PictureFormat,
    options: PictureOptions,
    image: &Image,
) -> Result<(), IoError> {
    let spec = PictureSpec::of_image(format, options, image);
    only_io(write_parts_to(name, out, &spec, |range| Ok(Part::OfImage(image, range))))
}

/// The bytes of a file that holds an image.
///
/// # Errors
/// If the format cannot hold the image.
pub fn image_bytes(
    format: PictureFormat,
    options: PictureOptions,
    image: &Image,
) -> Result<Vec<u8>, IoError> {
    let mut bytes = Vec::new();
    write_image_to(&format!("{format} in memory"), &mut bytes, format, options, image)?;
    Ok(bytes)
}

fn only_io(written: Result<(), PictureFailure<Infallible>>) -> Result<(), IoError> {
    written.map_err(|failure| match failure {
        PictureFailure::Io(error) => *error,
        PictureFailure::Rows(never) => match never {},
    })
}

impl PictureSpec {
    /// A picture of this width and height with 1 to 4 channels, with the default options of its
    /// format.
    pub fn new(format: PictureFormat, [width, height]: [usize; 2], n_channels: usize) -> Self {
        Self { format, width, height, n_channels, options: PictureOptions::default() }
    }

    /// The picture of an image.
    pub fn of_image(format: PictureFormat, options: PictureOptions, image: &Image) -> Self {
        let size = [image.width(), image.height()];
        Self { options, ..Self::new(format, size, image.n_channels()) }
    }

    /// The same picture with this depth; `None` for the default.
    pub fn depth(mut self, depth: Option<Depth>) -> Self {
        self.options.depth = depth;
        self
    }

    /// The same picture with this meaning of numbers; `None` for the default.
    pub fn transfer(mut self, transfer: Option<Transfer>) -> Self {
        self.options.transfer = transfer;
        self
    }

    /// The storage of channels, for people: `8 bits, sRGB`.
    pub fn about(&self) -> String {
        let depth = self.options.depth.unwrap_or(self.format.depths()[0]);
        let depth = match (self.format, depth) {
            (PictureFormat::Exr, Depth::Sixteen) => "floats of 16 bits".into(),
            (_, depth) => depth.to_string(),
        };
        format!("{depth}, {}", self.options.transfer.unwrap_or(self.usual_transfer()))
    }

    fn usual_transfer(&self) -> Transfer {
        if self.is_float() { Transfer::Linear } else { Transfer::Srgb }
    }

    fn is_float(&self) -> bool {
        self.format == PictureFormat::Exr || self.options.depth == Some(Depth::Float)
    }

    /// The depth and the meaning of numbers, if the format can hold the picture.
    fn settled(&self) -> Result<(Depth, Transfer), Stop> {
        let Self { format, width, height, n_channels, options } = *self;
        let refused = |problem: String, hint: String| Err(Stop::Refused { problem, hint });
        if !(1..=4).contains(&n_channels) {
            let problem = format!("cannot be written with {n_channels} channels");
            return refused(problem, "use 1 to 4 channels per pixel".into());
        }
        if width == 0 || height == 0 {
            let problem = format!("cannot be written with {width}x{height} pixels");
            return refused(problem, "make width and height at least 1".into());
        }
        let most = format.longest_side();
        if width.max(height) > most {
            let problem = format!(
                "cannot be written: {format} holds at most {most} pixels per side, but this is \
                 {width}x{height}"
            );
            return refused(problem, "write png, tiff or exr, or make it smaller".into());
        }
        let depth = options.depth.unwrap_or(format.depths()[0]);
        if !format.depths().contains(&depth) {
            let known = format.depths().iter().map(ToString::to_string).collect::<Vec<_>>();
            let problem = format!("cannot be written: {format} does not support {depth}");
            return refused(problem, format!("{format} supports {}", known.join(" or ")));
        }
        let transfer = options.transfer.unwrap_or(self.usual_transfer());
        if self.is_float() && transfer == Transfer::Srgb {
            let problem = format!("cannot be written: floats in {format} are linear light");
            return refused(problem, "leave out the encoding, or write integers".into());
        }
        Ok((depth, transfer))
    }
}

impl Stop {
    /// The error for this file.
    fn of(self, file: &str) -> IoError {
        match self {
            Self::Io(source) => IoError::Write { file: file.to_owned(), source },
            Self::Refused { problem, hint } => {
                IoError::Content { spot: Spot::file(file), problem, hint }
            }
            Self::Rows => unreachable!("the error of the rows is reported instead of this one"),
        }
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

#[cfg(test)]
mod tests;
