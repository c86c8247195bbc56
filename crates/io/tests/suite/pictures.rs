//! Written pictures read back, to the same bits in lossless formats.

use std::convert::Infallible;
use std::io::Cursor;

use millstream_base::{Budget, Footprint, Image, Limits};
use millstream_io::IoError;
use millstream_io::pictures::{
    Depth, PictureFailure, PictureFormat, PictureOptions, PictureSpec, ReadPicture, Transfer,
    image_bytes, read_picture, read_picture_bytes, write_image, write_picture,
};
use proptest::prelude::*;

pub(crate) fn image(width: usize, height: usize, n: usize, values: Vec<f32>) -> Image {
    let view = Footprint::of_size(width as i32, height as i32);
    Image::from_channels(view, n, values).expect("the channels are those of the pixels")
}

pub(crate) fn read(bytes: &[u8], format: PictureFormat) -> Result<ReadPicture, Box<IoError>> {
    Ok(read_picture_bytes(
        "file",
        bytes,
        (format, Transfer::Srgb),
        &Limits::default(),
        &Budget::default(),
    )?)
}

pub(crate) fn depth(depth: Depth) -> PictureOptions {
    PictureOptions { depth: Some(depth), transfer: None }
}

/// Every lossless format and depth.
fn lossless() -> impl Iterator<Item = (PictureFormat, Depth)> + Clone {
    let all = PictureFormat::ALL.into_iter().filter(|format| *format != PictureFormat::Jpeg);
    all.flat_map(|format| format.depths().iter().map(move |depth| (format, *depth)))
}

/// A png with these codes, by the crate `png` alone.
pub(crate) fn png(
    [width, height]: [u32; 2],
    color: png::ColorType,
    codes: &[u16],
    bits: png::BitDepth,
    tell: impl FnOnce(&mut png::Info<'_>),
) -> Vec<u8> {
    let mut info = png::Info::with_size(width, height);
    info.color_type = color;
    info.bit_depth = bits;
    tell(&mut info);
    let mut bytes = Vec::new();
    let mut writer =
        png::Encoder::with_info(&mut bytes, info).expect("valid").write_header().expect("writes");
    let codes: Vec<u8> = match bits {
        png::BitDepth::Sixteen => codes.iter().flat_map(|code| code.to_be_bytes()).collect(),
        _ => codes.iter().map(|code| *code as u8).collect(),
    };
    writer.write_image_data(&codes).expect("writes");
    writer.finish().expect("writes");
    bytes
}

/// The codes of a png, by the crate `png` alone.
pub(crate) fn codes(bytes: &[u8]) -> Vec<u8> {
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().expect("reads");
    let mut codes = vec![0; reader.output_buffer_size().expect("small")];
    reader.next_frame(&mut codes).expect("reads");
    codes
}

#[test]
fn all_codes_read_back() {
    // Each pair of a gray code and an alpha, and each code of 16 bits.
    let pairs: Vec<u16> = (0..=255).flat_map(|a| (0..=255).flat_map(move |x| [x, a])).collect();
    let wide: Vec<u16> = (0..=u16::MAX).collect();
    let files = [
        png([256, 256], png::ColorType::GrayscaleAlpha, &pairs, png::BitDepth::Eight, |_| {}),
        png([256, 256], png::ColorType::Grayscale, &wide, png::BitDepth::Sixteen, |_| {}),
        png([128, 128], png::ColorType::Rgba, &wide, png::BitDepth::Sixteen, |_| {}),
    ];
    for file in &files {
        let picture = read(file, PictureFormat::Png).expect("reads");
        for format in [PictureFormat::Png, PictureFormat::Tiff] {
            let bytes = image_bytes(format, depth(picture.depth), &picture.image).expect("writes");
            let again = read(&bytes, format).expect("reads");
            assert_eq!(again.image, picture.image);
            assert_eq!(again.depth, picture.depth);
        }
        let again = image_bytes(PictureFormat::Png, depth(picture.depth), &picture.image);
        let (before, after) = (codes(file), codes(&again.expect("writes")));
        let size = if picture.depth == Depth::Sixteen { 2 } else { 1 };
        let n = picture.image.n_channels() * size;
        for (before, after) in before.chunks(n).zip(after.chunks(n)) {
            let is_seen = n == size || before[n - size..].iter().any(|byte| *byte > 0);
            let is_same = if is_seen { before == after } else { after.iter().all(|x| *x == 0) };
            assert!(is_same, "{before:?} {after:?}");
        }
    }
}

#[test]
fn floats_read_back_bit_for_bit() {
    let special =
        [0.0, -0.0, 1.0, -3.5, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE, 1e-45];
    let values: Vec<f32> = (0..48 * 50 * 4)
        .map(|i: u32| match special.get(i as usize % 97) {
            Some(value) => *value,
            None => f32::from_bits(i.wrapping_mul(2_654_435_761) & 0xff7f_ffff),
        })
        .filter(|x| !x.is_nan())
        .collect();
    for n in 1..=4 {
        let image =
            image(8, values.len() / 8 / n, n, values[..values.len() / 8 / n * 8 * n].to_vec());
        for format in [PictureFormat::Exr, PictureFormat::Tiff] {
            let bytes = image_bytes(format, depth(Depth::Float), &image).expect("writes");
            let again = read(&bytes, format).expect("reads");
            assert_eq!(again.image, image, "{format} {n}");
            assert_eq!(again.color_space, "linear BT.709");
        }
    }
}

#[test]
fn all_half_floats_read_back() {
    let halves = (0..=u16::MAX).map(|bits| half::f16::from_bits(bits).to_f32());
    let values: Vec<f32> = halves.filter(|x| !x.is_nan()).collect();
    let image = image(values.len(), 1, 1, values);
    let bytes = image_bytes(PictureFormat::Exr, depth(Depth::Sixteen), &image).expect("writes");
    let again = read(&bytes, PictureFormat::Exr).expect("reads");
    assert_eq!((again.image, again.depth), (image, Depth::Sixteen));
}

#[test]
fn known_colors() {
    let codes = [0, 255, 128, 10];
    let file = png([4, 1], png::ColorType::Grayscale, &codes, png::BitDepth::Eight, |_| {});
    let picture = read(&file, PictureFormat::Png).expect("reads");
    // IEC 61966-2-1 for these codes.
    let expected = [0.0, 1.0, 0.215_860_53, 0.003_035_27];
    for (value, expected) in picture.image.channels().iter().zip(expected) {
        assert!((value - expected).abs() < 1e-7, "{value} {expected}");
    }
    assert_eq!((picture.color_space.as_str(), picture.notes.len()), ("sRGB", 0));
    // Codes beyond the ends, and NaN.
    let image = image(6, 1, 1, vec![-1.0, 2.0, f32::NAN, f32::INFINITY, 0.5, 0.18]);
    let bytes = image_bytes(PictureFormat::Png, PictureOptions::default(), &image).expect("writes");
    assert_eq!(self::codes(&bytes), [0, 255, 0, 255, 188, 118]);
}

#[test]
fn the_first_row_of_a_file_is_the_last_of_an_image() {
    let two_rows = image(1, 2, 1, vec![0.0, 1.0]);
    for format in PictureFormat::ALL {
        let bytes = image_bytes(format, PictureOptions::default(), &two_rows).expect("writes");
        let again = read(&bytes, format).expect("reads").image;
        assert!(
            again.channels()[0] < 0.1 && again.channels()[again.n_channels()] > 0.9,
            "{format}"
        );
    }
    let bytes = image_bytes(PictureFormat::Png, PictureOptions::default(), &two_rows);
    assert_eq!(codes(&bytes.expect("writes")), [255, 0]);
}

#[test]
fn integers_may_be_linear() {
    let image = image(4, 1, 3, (0..12).map(|i| i as f32 / 15.0).collect());
    for (format, depth) in lossless() {
        let options = PictureOptions { depth: Some(depth), transfer: Some(Transfer::Linear) };
        let bytes = image_bytes(format, options, &image).expect("writes");
        let again = read(&bytes, format).expect("reads");
        assert_eq!(again.color_space, "linear BT.709", "{format} {depth}");
        let top = match depth {
            Depth::Eight => 255.0,
            Depth::Sixteen => 2048.0,
            Depth::Float => f32::INFINITY,
        };
        for (is, was) in again.image.channels().iter().zip(image.channels()) {
            assert!((is - was).abs() <= 0.5 / top + 1e-7, "{format} {depth}: {is} {was}");
        }
    }
    let options = PictureOptions { depth: None, transfer: Some(Transfer::Srgb) };
    let error = image_bytes(PictureFormat::Exr, options, &image).expect_err("exr is linear");
    assert_eq!(
        error.to_string(),
        "`exr in memory` cannot be written: floats in exr are linear light"
    );
}

#[test]
fn rows_are_pulled_a_few_at_a_time() {
    let (width, height) = (70_000, 100);
    let value = |x: usize, y: usize| ((x * 7 + y * 31) % 256) as f32 / 255.0;
    let folder = std::env::temp_dir().join(format!("millstream-rows-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for format in [PictureFormat::Png, PictureFormat::Exr, PictureFormat::Tiff] {
        let path = folder.join(format!("wide.{format}"));
        let spec = PictureSpec::new(format, [width, height], 1).transfer(Some(Transfer::Linear));
        let mut ends = Vec::new();
        write_picture(&path, &spec, &mut |rows| {
            assert_eq!(rows.start, ends.last().copied().unwrap_or(0));
            ends.push(rows.end);
            Ok::<_, Infallible>(rows.flat_map(|y| (0..width).map(move |x| value(x, y))).collect())
        })
        .expect("writes");
        assert_eq!(ends.last(), Some(&height));
        assert!(ends.len() > 2, "{ends:?}");
        let again =
            read_picture(&path, (None, Transfer::Srgb), &Limits::default(), &Budget::default());
        let again = again.expect("reads").image;
        for y in (0..height).step_by(9) {
            for x in (0..width).step_by(1009) {
                let is = again.channels()[(height - 1 - y) * width + x];
                assert!((is - value(x, y)).abs() < 1e-4, "{format} {x} {y}");
            }
        }
    }
    std::fs::remove_dir_all(&folder).expect("it is there");
}

#[test]
fn failures_leave_the_file_unchanged() {
    let folder = std::env::temp_dir().join(format!("millstream-kept-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for format in PictureFormat::ALL {
        let path = folder.join(format!("picture.{format}"));
        std::fs::write(&path, "before").expect("writes");
        let options = PictureOptions::default();
        let spec = PictureSpec::new(format, [9, 3], 3);
        let failed = write_picture(&path, &spec, &mut |_| Err("no rows"));
        assert!(matches!(failed, Err(PictureFailure::Rows("no rows"))), "{format}");
        assert_eq!(std::fs::read(&path).expect("reads"), b"before");
        let whole = image(2, 2, 1, vec![0.5; 4]);
        write_image(&path, None, options, &whole).expect("writes");
        assert!(
            read_picture(&path, (None, Transfer::Srgb), &Limits::default(), &Budget::default())
                .is_ok()
        );
    }
    assert_eq!(std::fs::read_dir(&folder).expect("reads").count(), PictureFormat::ALL.len());
    std::fs::remove_dir_all(&folder).expect("it is there");
}

#[test]
fn a_picture_describes_its_storage() {
    let about = |format, depth| PictureSpec::new(format, [1, 1], 1).depth(depth).about();
    assert_eq!(about(PictureFormat::Png, None), "8 bits, sRGB");
    assert_eq!(about(PictureFormat::Tiff, Some(Depth::Float)), "floats of 32 bits, linear light");
    assert_eq!(about(PictureFormat::Exr, None), "floats of 32 bits, linear light");
    assert_eq!(about(PictureFormat::Exr, Some(Depth::Sixteen)), "floats of 16 bits, linear light");
}

#[test]
fn the_same_image_gives_the_same_bytes() {
    let image = image(64, 33, 4, (0..64 * 33 * 4).map(|i| (i % 89) as f32 / 88.0).collect());
    for (format, depth) in lossless() {
        let bytes = || image_bytes(format, self::depth(depth), &image).expect("writes");
        assert_eq!(bytes(), bytes(), "{format} {depth}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pictures_of_any_size_come_back(
        width in 1_usize..70,
        height in 1_usize..70,
        n in 1_usize..=4,
        seed: u32,
    ) {
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        let mut values = Vec::new();
        for _ in 0..width * height {
            let alpha = if n % 2 == 0 { random().max(0.01) } else { 1.0 };
            let n_colors = n - usize::from(n % 2 == 0);
            values.extend((0..n_colors).map(|_| random() * alpha));
            values.extend((n_colors < n).then_some(alpha));
        }
        let image = image(width, height, n, values);
        for (format, depth) in lossless() {
            let options = self::depth(depth);
            let bytes = image_bytes(format, options, &image).expect("writes");
            let once = read(&bytes, format).expect("reads");
            prop_assert_eq!(once.image.width(), width);
            prop_assert_eq!(once.image.height(), height);
            prop_assert_eq!(once.depth, depth);
            // Webp has no gray.
            let n_read = if format == PictureFormat::WebP { n.max(4 - n % 2) } else { n };
            prop_assert_eq!(once.image.n_channels(), n_read);
            if depth == Depth::Float {
                prop_assert_eq!(&once.image, &image);
            }
            let again = image_bytes(format, options, &once.image).expect("writes");
            prop_assert_eq!(read(&again, format).expect("reads").image, once.image);
        }
        if n % 2 == 1 {
            let bytes = image_bytes(PictureFormat::Jpeg, PictureOptions::default(), &image);
            let once = read(&bytes.expect("writes"), PictureFormat::Jpeg).expect("reads").image;
            prop_assert_eq!((once.width(), once.height(), once.n_channels()), (width, height, n));
        }
    }
}

#[test]
fn every_nan_is_written_with_the_same_bits() {
    for (format, bits) in lossless() {
        let written = |nan: u32| {
            let values = vec![f32::from_bits(nan), 1.0, 0.5, f32::from_bits(nan)];
            image_bytes(format, depth(bits), &image(2, 2, 1, values)).expect("writes")
        };
        let usual = written(0x7fc0_0000);
        for nan in [0xffc0_0000, 0x7fc1_2345, 0x7f80_0001] {
            assert_eq!(written(nan), usual, "{format} {bits} {nan:x}");
        }
    }
}
