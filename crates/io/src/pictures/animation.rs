//! Animations: many pictures of equal size in a file, as gif, animated png or animated webp.
//!
//! Codes have 8 bits and are sRGB with straight alpha. Png and webp lose nothing else. Gif has 256
//! colors per picture, and its pixels are either opaque or transparent. An animation loops forever.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write};
use std::path::Path;

use ::image::ExtendedColorType;
use ::image::codecs::webp::WebPEncoder;
use millstream_base::Image;

use super::pixels::encoded;
use super::{Depth, PictureFormat, PictureSpec, Transfer};
use crate::error::IoError;
use crate::temporary::TemporaryFile;

/// A format of animations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnimationFormat {
    /// Gif.
    Gif,
    /// Animated png.
    Png,
    /// Animated webp, lossless.
    WebP,
}

impl AnimationFormat {
    /// The format named by the extension of a file, if it is one for animations, or for pictures
    /// that may be animated.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match &*extension {
            "gif" => Some(Self::Gif),
            "png" | "apng" => Some(Self::Png),
            "webp" => Some(Self::WebP),
            _ => None,
        }
    }

    /// The maximum width and height.
    const fn longest_side(self) -> usize {
        match self {
            Self::Gif => u16::MAX as usize,
            Self::Png => i32::MAX as usize,
            Self::WebP => 1 << 14,
        }
    }
}

impl fmt::Display for AnimationFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gif => "gif",
            Self::Png => "animated png",
            Self::WebP => "animated webp",
        })
    }
}

type Out = BufWriter<File>;

/// Writes an animation picture by picture, under a temporary name until it is complete.
pub struct AnimationWriter {
    file: String,
    format: AnimationFormat,
    frames_per_second: f64,
    n_frames: usize,
    n_written: usize,
    /// The number of repetitions requested before the first picture.
    n_missed: usize,
    temporary: TemporaryFile,
    started: Option<Started>,
}

/// An animation whose size is known.
struct Started {
    size: [usize; 2],
    /// The codes of the last picture.
    last: Vec<u8>,
    encoder: Encoder,
}

enum Encoder {
    Gif(gif::Encoder<Out>),
    Png(Box<::png::Writer<Out>>),
    WebP(Out),
}

impl AnimationWriter {
    /// Starts an animation of `n_frames` pictures.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(
        path: &Path,
        format: AnimationFormat,
        frames_per_second: f64,
        n_frames: usize,
    ) -> Result<Self, IoError> {
        let file = path.display().to_string();
        let failed = |source| IoError::Write { file: file.clone(), source };
        let temporary = TemporaryFile::beside(path).map_err(failed)?;
        Ok(Self {
            file,
            format,
            frames_per_second,
            n_frames,
            n_written: 0,
            n_missed: 0,
            temporary,
            started: None,
        })
    }

    /// Adds a picture.
    ///
    /// # Errors
    /// If its size differs from that of the first, the format cannot hold it, or writing fails.
    pub fn push(&mut self, image: &Image) -> Result<(), IoError> {
        let size = [image.width(), image.height()];
        if self.started.is_none() {
            self.check(size)?;
            let encoder = self.encoder(size);
            let encoder = encoder.map_err(|source| self.failed(source))?;
            self.started = Some(Started { size, last: Vec::new(), encoder });
        }
        let started = self.started.as_mut().expect("the animation was started above");
        if started.size != size {
            let [[w, h], [width, height]] = [size, started.size];
            return Err(IoError::Content {
                spot: crate::error::Spot::file(&self.file),
                problem: format!(
                    "has pictures of {width}x{height} pixels, but the next one is {w}x{h}"
                ),
                hint: "give all pictures the same size, for example with --size".into(),
            });
        }
        started.last = codes(image);
        for _ in 0..std::mem::take(&mut self.n_missed) {
            self.repeat()?;
        }
        self.repeat()
    }

    /// Adds the last picture once more, or, before there is one, the first picture once more.
    ///
    /// # Errors
    /// If writing fails.
    pub fn repeat(&mut self) -> Result<(), IoError> {
        // Rounded for each picture, so that errors do not accumulate.
        let at = |n: usize, unit: f64| (n as f64 * unit / self.frames_per_second).round();
        let n = self.n_written;
        let lasts = |unit: f64| (at(n + 1, unit) - at(n, unit)).max(1.0);
        let (hundredths, milliseconds) = (lasts(100.0), lasts(1000.0));
        let Some(Started { size: [width, height], last, encoder }) = &mut self.started else {
            self.n_missed += 1;
            return Ok(());
        };
        let (width, height) = (*width, *height);
        let written = match encoder {
            Encoder::Gif(encoder) => {
                let mut codes = last.clone();
                let (w, h) = (width as u16, height as u16);
                let mut frame = gif::Frame::from_rgba_speed(w, h, &mut codes, 10);
                frame.delay = hundredths.min(f64::from(u16::MAX)) as u16;
                frame.dispose = gif::DisposalMethod::Background;
                encoder.write_frame(&frame).map_err(io::Error::other)
            }
            Encoder::Png(writer) => writer.write_image_data(last).map_err(io::Error::other),
            Encoder::WebP(out) => write_webp_frame(out, last, [width, height], milliseconds as u32),
        };
        self.n_written += 1;
        written.map_err(|source| self.failed(source))
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// If there are no pictures, fewer than announced, or writing fails.
    pub fn finish(mut self) -> Result<(), IoError> {
        let Some(Started { encoder, .. }) = self.started.take() else {
            return Err(IoError::Content {
                spot: crate::error::Spot::file(&self.file),
                problem: "would have no picture".into(),
                hint: "at least one frame must not fail".into(),
            });
        };
        let finished = match encoder {
            Encoder::Gif(encoder) => {
                encoder.into_inner().map_err(io::Error::other).and_then(|mut out| out.flush())
            }
            Encoder::Png(writer) => writer.finish().map_err(io::Error::other),
            Encoder::WebP(mut out) => out.flush().and_then(|()| {
                let mut file = out.get_ref();
                let length = file.stream_position()?;
                file.seek(SeekFrom::Start(4))?;
                file.write_all(&(length as u32 - 8).to_le_bytes())
            }),
        };
        let file = self.file;
        let failed = |source| IoError::Write { file, source };
        finished.and_then(|()| self.temporary.keep()).map_err(failed)
    }

    fn failed(&self, source: io::Error) -> IoError {
        IoError::Write { file: self.file.clone(), source }
    }

    fn check(&self, [width, height]: [usize; 2]) -> Result<(), IoError> {
        let most = self.format.longest_side();
        if (1..=most).contains(&width) && (1..=most).contains(&height) {
            return Ok(());
        }
        Err(IoError::Content {
            spot: crate::error::Spot::file(&self.file),
            problem: format!("cannot hold pictures of {width}x{height} pixels as {}", self.format),
            hint: format!("use pictures of 1 to {most} pixels in each direction"),
        })
    }

    fn encoder(&self, [width, height]: [usize; 2]) -> io::Result<Encoder> {
        let mut out = BufWriter::with_capacity(1 << 16, self.temporary.out.get_ref().try_clone()?);
        Ok(match self.format {
            AnimationFormat::Gif => {
                let encoder = gif::Encoder::new(out, width as u16, height as u16, &[]);
                let mut encoder = encoder.map_err(io::Error::other)?;
                encoder.set_repeat(gif::Repeat::Infinite).map_err(io::Error::other)?;
                Encoder::Gif(encoder)
            }
            AnimationFormat::Png => {
                let mut encoder = ::png::Encoder::new(out, width as u32, height as u32);
                encoder.set_color(::png::ColorType::Rgba);
                encoder.set_depth(::png::BitDepth::Eight);
                encoder.set_compression(::png::Compression::Fast);
                encoder.set_source_srgb(::png::SrgbRenderingIntent::RelativeColorimetric);
                let n = self.n_frames.max(1) as u32;
                encoder.set_animated(n, 0).map_err(io::Error::other)?;
                let (over, under) = fraction(self.frames_per_second);
                encoder.set_frame_delay(over, under).map_err(io::Error::other)?;
                Encoder::Png(Box::new(encoder.write_header().map_err(io::Error::other)?))
            }
            AnimationFormat::WebP => {
                write_webp_start(&mut out, [width, height])?;
                Encoder::WebP(out)
            }
        })
    }
}

/// The time of a picture in seconds as a fraction.
fn fraction(frames_per_second: f64) -> (u16, u16) {
    let most = f64::from(u16::MAX);
    let scales = [1.0, 1000.0, 100.0, 10.0];
    let is_whole = |scale: &&f64| {
        let scaled = frames_per_second * **scale;
        (1.0..=most).contains(&scaled) && (scaled - scaled.round()).abs() < 1e-9 * scaled
    };
    let scale = scales.iter().find(is_whole).copied().unwrap_or(1.0);
    (scale as u16, (frames_per_second * scale).round().clamp(1.0, most) as u16)
}

/// Red, green, blue and alpha of all pixels from the upper left corner.
fn codes(image: &Image) -> Vec<u8> {
    let (n, size) = (image.n_channels(), [image.width(), image.height()]);
    let spec = PictureSpec::new(PictureFormat::Png, size, n);
    let mut codes = Vec::with_capacity(size[0] * size[1] * 4);
    for row in 0..image.height() {
        let row = image.row_from_top(row);
        for bytes in encoded(row, &spec, (Depth::Eight, Transfer::Srgb), u16::to_ne_bytes) {
            for pixel in bytes.chunks_exact(n) {
                codes.extend_from_slice(&match *pixel {
                    [gray] => [gray, gray, gray, u8::MAX],
                    [gray, alpha] => [gray, gray, gray, alpha],
                    [red, green, blue] => [red, green, blue, u8::MAX],
                    [red, green, blue, alpha, ..] => [red, green, blue, alpha],
                    [] => unreachable!("pixels have channels"),
                });
            }
        }
    }
    codes
}

/// A number as three bytes.
fn three(n: usize) -> [u8; 3] {
    let [a, b, c, ..] = (n as u32).to_le_bytes();
    [a, b, c]
}

/// Writes the header of an animated webp; the length of the file is filled in at the end.
fn write_webp_start(out: &mut Out, [width, height]: [usize; 2]) -> io::Result<()> {
    const ANIMATION_WITH_ALPHA: u8 = 0x12;
    out.write_all(b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0")?;
    out.write_all(&[ANIMATION_WITH_ALPHA, 0, 0, 0])?;
    out.write_all(&three(width - 1))?;
    out.write_all(&three(height - 1))?;
    // A transparent background, and endless repetition.
    out.write_all(b"ANIM\x06\0\0\0\0\0\0\0\0\0")
}

/// Writes one picture of an animated webp, which replaces the previous one completely.
fn write_webp_frame(
    out: &mut Out,
    codes: &[u8],
    [width, height]: [usize; 2],
    milliseconds: u32,
) -> io::Result<()> {
    const NO_BLENDING: u8 = 2;
    let mut still = Vec::new();
    let encoder = WebPEncoder::new_lossless(&mut still);
    let encoded = encoder.encode(codes, width as u32, height as u32, ExtendedColorType::Rgba8);
    encoded.map_err(io::Error::other)?;
    let pixels = chunk(&still, *b"VP8L");
    let pixels = pixels.ok_or_else(|| io::Error::other("the encoder gave no pixels"))?;
    let length = 16 + pixels.len();
    out.write_all(b"ANMF")?;
    out.write_all(&(length as u32).to_le_bytes())?;
    out.write_all(&[0; 6])?;
    out.write_all(&three(width - 1))?;
    out.write_all(&three(height - 1))?;
    out.write_all(&three(milliseconds.min((1 << 24) - 1) as usize))?;
    out.write_all(&[NO_BLENDING])?;
    out.write_all(pixels)
}

/// A chunk of a webp file, with its header and padding.
fn chunk(file: &[u8], name: [u8; 4]) -> Option<&[u8]> {
    let mut rest = file.get(12..)?;
    loop {
        let length = u32::from_le_bytes(rest.get(4..8)?.try_into().ok()?) as usize;
        let length = 8 + length + length % 2;
        let (chunk, after) = rest.split_at_checked(length)?;
        if chunk[..4] == name {
            return Some(chunk);
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::image::AnimationDecoder as _;
    use millstream_base::Footprint;

    fn images() -> Vec<Image> {
        let image = |i: usize| {
            let values = (0..12).map(|at| if at == i { 1.0 } else { 0.0 });
            let values = values.flat_map(|x| [x, 0.0, 1.0 - x, 1.0]).collect();
            Image::from_channels(Footprint::of_size(4, 3), 4, values).expect("it fits")
        };
        (0..5).map(image).collect()
    }

    fn written(name: &str, format: AnimationFormat) -> Vec<u8> {
        let name = format!("millstream-io-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut writer = AnimationWriter::create(&path, format, 12.0, 6).expect("it starts");
        for image in &images() {
            writer.push(image).expect("it is written");
        }
        writer.repeat().expect("it is written");
        writer.finish().expect("it is complete");
        let bytes = std::fs::read(&path).expect("it is there");
        std::fs::remove_file(&path).expect("it can be removed");
        bytes
    }

    fn check(frames: ::image::Frames<'_>, milliseconds: f64) {
        let frames = frames.collect_frames().expect("it can be decoded");
        let mut expected: Vec<Vec<u8>> = images().iter().map(codes).collect();
        expected.push(expected[4].clone());
        assert_eq!(frames.len(), 6);
        let mut total = 0.0;
        for (frame, expected) in frames.iter().zip(expected) {
            assert_eq!(frame.buffer().as_raw(), &expected);
            let (over, under) = frame.delay().numer_denom_ms();
            total += f64::from(over) / f64::from(under);
        }
        assert!((total - milliseconds).abs() < 1e-3, "{total}");
    }

    #[test]
    fn an_animated_webp_reads_back() {
        let bytes = written("a.webp", AnimationFormat::WebP);
        let decoder = ::image::codecs::webp::WebPDecoder::new(io::Cursor::new(bytes));
        check(decoder.expect("it is a webp").into_frames(), 500.0);
    }

    #[test]
    fn an_animated_png_reads_back() {
        let bytes = written("a.png", AnimationFormat::Png);
        let decoder = ::png::Decoder::new(io::Cursor::new(bytes));
        let mut reader = decoder.read_info().expect("it is a png");
        let control = reader.info().animation_control.expect("it is an animation");
        assert_eq!((control.num_frames, control.num_plays), (6, 0));
        let mut expected: Vec<Vec<u8>> = images().iter().map(codes).collect();
        expected.push(expected[4].clone());
        let mut pixels = vec![0; reader.output_buffer_size().expect("it is small")];
        for expected in expected {
            reader.next_frame(&mut pixels).expect("there is a picture");
            assert_eq!(pixels, expected);
            let frame = reader.info().frame_control.expect("it says how long it is seen");
            assert_eq!((frame.delay_num, frame.delay_den), (1, 12));
        }
    }

    #[test]
    fn a_gif_reads_back() {
        let bytes = written("a.gif", AnimationFormat::Gif);
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(&bytes[..]).expect("it is a gif");
        let mut expected: Vec<Vec<u8>> = images().iter().map(codes).collect();
        expected.push(expected[4].clone());
        let (mut n, mut hundredths) = (0, 0);
        while let Some(frame) = decoder.read_next_frame().expect("it can be decoded") {
            assert_eq!(&*frame.buffer, &*expected[n]);
            (n, hundredths) = (n + 1, hundredths + frame.delay);
        }
        assert_eq!((n, hundredths), (6, 50));
    }

    #[test]
    fn repetitions_before_the_first_picture_show_it() {
        let name = format!("millstream-io-{}-missed.png", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut writer =
            AnimationWriter::create(&path, AnimationFormat::Png, 24.0, 4).expect("it starts");
        writer.repeat().expect("it is noted");
        writer.repeat().expect("it is noted");
        for image in &images()[..2] {
            writer.push(image).expect("it is written");
        }
        writer.finish().expect("there are as many pictures as announced");
        let bytes = std::fs::read(&path).expect("it is there");
        std::fs::remove_file(&path).expect("it can be removed");
        let decoder = ::png::Decoder::new(io::Cursor::new(bytes));
        let mut reader = decoder.read_info().expect("it is a png");
        let mut pixels = vec![0; reader.output_buffer_size().expect("it is small")];
        for expected in [0, 0, 0, 1] {
            reader.next_frame(&mut pixels).expect("there is a picture");
            assert_eq!(pixels, codes(&images()[expected]));
        }
    }

    #[test]
    fn a_picture_of_another_size_is_refused() {
        let name = format!("millstream-io-{}-sizes.gif", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut writer =
            AnimationWriter::create(&path, AnimationFormat::Gif, 24.0, 2).expect("it starts");
        writer.push(&images()[0]).expect("it is written");
        let other = Image::from_channels(Footprint::of_size(1, 1), 1, vec![0.5]);
        let error = writer.push(&other.expect("it fits")).expect_err("it has another size");
        assert!(error.to_string().contains("4x3 pixels, but the next one is 1x1"), "{error}");
        drop(writer);
        assert!(!path.exists());
    }

    #[test]
    fn frame_durations_are_fractions() {
        assert_eq!(fraction(24.0), (1, 24));
        assert_eq!(fraction(29.97), (1000, 29970));
        assert_eq!(fraction(2.4), (1000, 2400));
        assert_eq!(fraction(0.5), (1000, 500));
    }
}
