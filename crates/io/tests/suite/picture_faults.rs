//! Faulty files give a message that names the file; never a panic, and never more memory or time
//! than the bytes warrant.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use miette::Diagnostic as _;
use millstream_base::{Budget, Image, Limits};
use millstream_io::IoError;
use millstream_io::pictures::{
    Depth, PictureFormat, PictureOptions, PictureSpec, Transfer, image_bytes, read_picture,
    read_picture_bytes, write_picture_to,
};

use crate::corrupt::hush;
use crate::pictures::{depth, image, png, read};

fn sample(n: usize) -> Image {
    let values =
        (0..19 * 23 * n).map(|i| if i % n == n - 1 { 1.0 } else { (i % 50) as f32 / 50.0 });
    image(19, 23, n, values.collect())
}

/// Files of every format, depth and number of channels.
fn samples() -> Vec<(PictureFormat, Vec<u8>)> {
    let mut samples = Vec::new();
    for format in PictureFormat::ALL {
        for of in format.depths() {
            for n in 1..=4 {
                samples
                    .push((format, image_bytes(format, depth(*of), &sample(n)).expect("writes")));
            }
        }
    }
    let linear = PictureOptions { depth: Some(Depth::Eight), transfer: Some(Transfer::Linear) };
    for format in
        [PictureFormat::Png, PictureFormat::Jpeg, PictureFormat::Tiff, PictureFormat::WebP]
    {
        samples.push((format, image_bytes(format, linear, &sample(3)).expect("writes")));
    }
    samples
}

/// Reads with little memory; the caller checks how it ends.
fn read_small(bytes: &[u8], format: PictureFormat) -> Result<(), Box<IoError>> {
    let limits = Limits { image_pixels: 1 << 16, bytes: 1 << 24, ..Limits::default() };
    let picture =
        read_picture_bytes("file", bytes, (format, Transfer::Srgb), &limits, &Budget::default())?;
    assert!(picture.image.width() * picture.image.height() <= 1 << 16);
    Ok(())
}

#[test]
fn truncated_files_are_refused() {
    hush();
    for (format, bytes) in samples() {
        for end in 0..bytes.len() {
            let error = match read_small(&bytes[..end], format) {
                Err(error) => error.to_string(),
                // The last bytes may be padding.
                Ok(()) => {
                    assert!(end + 2 > bytes.len(), "{format}: {end} of {}", bytes.len());
                    continue;
                }
            };
            assert!(error.starts_with("`file` "), "{format} {end}: {error}");
        }
    }
}

#[test]
fn changed_bytes_do_not_panic() {
    hush();
    for (format, bytes) in samples() {
        for at in 0..bytes.len().min(700) {
            for byte in [0, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x80] {
                let mut changed = bytes.clone();
                changed[at] = byte;
                if let Err(error) = read_small(&changed, format) {
                    assert!(error.to_string().starts_with("`file` "), "{format} {at}: {error}");
                }
            }
        }
    }
}

#[test]
fn content_of_another_format_is_named() {
    let files: Vec<(PictureFormat, Vec<u8>)> = PictureFormat::ALL
        .into_iter()
        .map(|format| {
            (format, image_bytes(format, PictureOptions::default(), &sample(3)).expect("writes"))
        })
        .collect();
    for (is, bytes) in &files {
        for (expected, _) in files.iter().filter(|(other, _)| other != is) {
            let error = read(bytes, *expected).expect_err("another format");
            assert_eq!(error.to_string(), format!("`file` holds {is}, not {expected}"));
            let help = error.help().expect("there is one").to_string();
            assert_eq!(help, format!("name the format, {is}, or rename the file"));
        }
    }
    let error = read(b"GIF89a\x01\0", PictureFormat::Png).expect_err("gif");
    assert_eq!(error.to_string(), "`file` holds gif, not png");
    let help = error.help().expect("there is one").to_string();
    assert_eq!(help, "save it as one of: png, jpeg, exr, tiff, webp");
    for format in PictureFormat::ALL {
        let error = read(b"", format).expect_err("nothing");
        assert_eq!(error.to_string(), "`file` is empty");
        let error = read(b"once upon a time there was a text", format).expect_err("a text");
        let expected = format!("`file` is not valid {format}: it does not start like such a file");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn sizes_are_checked_before_pixels() {
    // Headers that claim much, and nothing after them.
    let limits = Limits { image_pixels: 1000, ..Limits::default() };
    for format in PictureFormat::ALL {
        let bytes =
            image_bytes(format, PictureOptions::default(), &image(40, 30, 3, vec![0.5; 3600]));
        let bytes = bytes.expect("writes");
        let error = read_picture_bytes(
            "file",
            &bytes,
            (format, Transfer::Srgb),
            &limits,
            &Budget::default(),
        );
        let error = error.expect_err("1200 pixels");
        assert_eq!(error.to_string(), "`file` has more than 1000 pixels", "{format}");
        let help = error.help().expect("there is one").to_string();
        assert!(help.contains("`image_pixels`"), "{help}");
        let few = Limits { bytes: 3000, ..Limits::default() };
        let error =
            read_picture_bytes("file", &bytes, (format, Transfer::Srgb), &few, &Budget::default());
        assert_eq!(error.expect_err("14400 bytes").to_string(), "`file` has more than 3000 bytes");
    }
}

/// A png whose header states a size, with the pixels of another.
fn png_of_size(width: u32, height: u32) -> Vec<u8> {
    let mut file = png([1, 1], ::png::ColorType::Rgba, &[9; 4], ::png::BitDepth::Eight, |_| {});
    file[16..20].copy_from_slice(&width.to_be_bytes());
    file[20..24].copy_from_slice(&height.to_be_bytes());
    let sum = crate::picture_color::crc32(&file[12..29]);
    file[29..33].copy_from_slice(&sum.to_be_bytes());
    file
}

#[test]
fn bombs_and_pictures_without_pixels() {
    for [width, height] in [[1 << 30, 1 << 30], [i32::MAX as u32, 1], [1_000_000, 1_000_000]] {
        let error = read(&png_of_size(width, height), PictureFormat::Png).expect_err("a bomb");
        assert_eq!(error.to_string(), "`file` has more than 268435456 pixels");
    }
    // Within the limit, but the pixels are missing.
    let error = read(&png_of_size(16_000, 16_000), PictureFormat::Png).expect_err("a lie");
    assert!(error.to_string().starts_with("`file` is not valid png: "), "{error}");
    for size in [[0, 5], [5, 0]] {
        let [width, height] = size;
        let error = read(&png_of_size(width, height), PictureFormat::Png).expect_err("nothing");
        assert!(error.to_string().starts_with("`file` is "), "{error}");
    }
}

/// An uncompressed or Deflate tiff of this many pixels, four floats each, in one strip, of which
/// nearly everything is missing.
fn tiff_of_size(side: u32, compression: u32) -> Vec<u8> {
    let tags: [(u16, u16, u32, u32); 11] = [
        (256, 4, 1, side),
        (257, 4, 1, side),
        (258, 3, 4, 200),
        (259, 3, 1, compression),
        (262, 3, 1, 2),
        (273, 4, 1, 300),
        (277, 3, 1, 4),
        (278, 4, 1, side),
        (279, 4, 1, u32::MAX),
        (338, 3, 1, 2),
        (339, 3, 4, 208),
    ];
    let mut file = b"II*\0\x08\0\0\0\x0b\0".to_vec();
    for (tag, kind, count, value) in tags {
        file.extend([tag.to_le_bytes(), kind.to_le_bytes()].concat());
        file.extend([count.to_le_bytes(), value.to_le_bytes()].concat());
    }
    file.resize(200, 0);
    file.extend([32_u16, 32, 32, 32, 3, 3, 3, 3].map(u16::to_le_bytes).concat());
    file.resize(1000, 0);
    file
}

#[test]
fn a_tiff_that_claims_more_pixels_than_its_bytes_can_hold_is_refused_at_once() {
    for compression in [1, 5, 8, 32946] {
        let file = tiff_of_size(16_000, compression);
        let told = read(&file, PictureFormat::Tiff).expect_err("a lie").to_string();
        // Before it takes 4 GB for the strip.
        assert_eq!(told, "`file` is not valid tiff: it ends before its picture does");
    }
    assert!(read(&tiff_of_size(6, 1), PictureFormat::Tiff).is_ok());
}

/// A tiff of 20x24 pixels with a plane for each of three channels, in tiles of 16x16, by hand: no
/// crate writes such files. The code of a pixel is `60 * channel + 2 * column + row`.
fn tiff_of_planes() -> Vec<u8> {
    const N_TILES: u32 = 3 * 2 * 2;
    let (lengths_at, offsets_at, tiles_at) = (208, 208 + 4 * N_TILES, 208 + 8 * N_TILES);
    let tags: [(u16, u16, u32, u32); 12] = [
        (256, 4, 1, 20),
        (257, 4, 1, 24),
        (258, 3, 3, 200),
        (259, 3, 1, 1),
        (262, 3, 1, 2),
        (277, 3, 1, 3),
        (284, 3, 1, 2),
        (322, 4, 1, 16),
        (323, 4, 1, 16),
        (324, 4, N_TILES, offsets_at),
        (325, 4, N_TILES, lengths_at),
        (339, 3, 1, 1),
    ];
    let mut file = b"II*\0\x08\0\0\0\x0c\0".to_vec();
    for (tag, kind, count, value) in tags {
        file.extend([tag.to_le_bytes(), kind.to_le_bytes()].concat());
        file.extend([count.to_le_bytes(), value.to_le_bytes()].concat());
    }
    file.resize(200, 0);
    file.extend([8_u16; 3].map(u16::to_le_bytes).concat());
    file.resize(208, 0);
    file.extend((0..N_TILES).flat_map(|_| 256_u32.to_le_bytes()));
    file.extend((0..N_TILES).flat_map(|tile| (tiles_at + 256 * tile).to_le_bytes()));
    for tile in 0..N_TILES {
        let (channel, down, across) = (tile / 4, tile / 2 % 2, tile % 2);
        for i in 0..256 {
            let (x, y) = (16 * across + i % 16, 16 * down + i / 16);
            file.push(if x < 20 && y < 24 { (60 * channel + 2 * x + y) as u8 } else { 255 });
        }
    }
    file
}

#[test]
fn tiffs_with_tiles_of_planes_are_read() {
    let picture = read(&tiff_of_planes(), PictureFormat::Tiff).expect("it is valid");
    let again = image_bytes(PictureFormat::Png, depth(Depth::Eight), &picture.image);
    let codes = crate::pictures::codes(&again.expect("writes"));
    assert_eq!(codes.len(), 20 * 24 * 3);
    for (i, code) in codes.iter().enumerate() {
        let (channel, x, y) = (i % 3, i / 3 % 20, i / 60);
        assert_eq!(usize::from(*code), 60 * channel + 2 * x + y, "{channel} {x} {y}");
    }
}

#[test]
fn bytes_beside_the_image_count_as_well() {
    // Whether it is read; otherwise it is refused because of its size.
    let fits = |file: &[u8], format, bytes| {
        let limits = Limits { bytes, ..Limits::default() };
        let how = (format, Transfer::Srgb);
        match read_picture_bytes("file", file, how, &limits, &Budget::default()) {
            Ok(_) => true,
            Err(IoError::Limit { .. }) => false,
            Err(error) => panic!("{error}"),
        }
    };
    let colors = image(64, 64, 3, vec![0.5; 64 * 64 * 3]);
    let (of_image, of_codes) = (64 * 64 * 3 * 4, 64 * 64 * 3);
    for format in [PictureFormat::WebP, PictureFormat::Jpeg] {
        let file = image_bytes(format, PictureOptions::default(), &colors).expect("writes");
        assert!(!fits(&file, format, of_image + of_codes - 1), "{format}");
        assert!(fits(&file, format, of_image + of_codes + file.len()), "{format}");
    }
    // All codes of an interlaced png are decoded at once, those of others row by row.
    let codes = vec![0_u16; 64 * 64 * 3];
    let mut file = png([64, 64], png::ColorType::Rgb, &codes, png::BitDepth::Eight, |_| {});
    assert!(fits(&file, PictureFormat::Png, of_image));
    // The last byte of the header, before its checksum.
    file[28] = 1;
    let sum = crate::picture_color::crc32(&file[12..29]);
    file[29..33].copy_from_slice(&sum.to_be_bytes());
    assert!(!fits(&file, PictureFormat::Png, of_image + of_codes - 1));
}

#[test]
fn reading_ends_with_its_budget() {
    let budget = Budget::until(&Arc::new(AtomicBool::new(true)));
    for (format, bytes) in samples() {
        let read = read_picture_bytes(
            "file",
            &bytes,
            (format, Transfer::Srgb),
            &Limits::default(),
            &budget,
        );
        let error = read.expect_err("cancelled");
        assert!(matches!(error, IoError::Ended { .. }), "{format}: {error}");
    }
}

#[test]
fn unreadable_files() {
    let read = |name: &str| {
        read_picture(name.as_ref(), (None, Transfer::Srgb), &Limits::default(), &Budget::default())
            .expect_err("no picture")
    };
    assert!(read("nowhere/a.png").to_string().starts_with("cannot read `nowhere/a.png`: "));
    assert_eq!(read("a.gif").to_string(), "`a.gif` has no extension that names a format");
    let help = read("a").help().expect("there is one").to_string();
    assert_eq!(help, "name the format or use one of: png, jpeg, jpg, exr, tiff, tif, webp");
    let folder = std::env::temp_dir().join(format!("millstream-folder-{}.png", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let error = read(folder.to_str().expect("is text"));
    assert!(matches!(error, IoError::Read { .. }), "{error}");
    std::fs::remove_dir(&folder).expect("it is there");
}

#[test]
fn unsupported_pictures_are_refused() {
    let refused = |format, width, height, n_channels, options| {
        let spec = PictureSpec { format, width, height, n_channels, options };
        let mut bytes = Vec::new();
        let failed = write_picture_to("file", &mut bytes, &spec, &mut |_| Err(()));
        assert!(bytes.is_empty());
        match failed {
            Err(millstream_io::pictures::PictureFailure::Io(error)) => {
                assert!(error.help().is_some(), "{error}");
                error.to_string()
            }
            other => panic!("{other:?}"),
        }
    };
    let usual = PictureOptions::default();
    for format in PictureFormat::ALL {
        for [width, height] in [[0, 1], [1, 0]] {
            let error = refused(format, width, height, 1, usual);
            let size = format!("{width}x{height}");
            assert_eq!(error, format!("`file` cannot be written with {size} pixels"));
        }
        let error = refused(format, 1, 1, 5, usual);
        assert_eq!(error, "`file` cannot be written with 5 channels");
    }
    let error = refused(PictureFormat::Jpeg, 70_000, 1, 1, usual);
    let expected = "`file` cannot be written: jpeg holds at most 65535 pixels per side, but this \
                    is 70000x1";
    assert_eq!(error, expected);
    assert!(refused(PictureFormat::WebP, 1, 16_385, 1, usual).contains("16384 pixels per side"));
    let error = refused(PictureFormat::Jpeg, 1, 1, 1, depth(Depth::Sixteen));
    assert_eq!(error, "`file` cannot be written: jpeg does not support 16 bits");
    let error = refused(PictureFormat::Png, 1, 1, 1, depth(Depth::Float));
    assert_eq!(error, "`file` cannot be written: png does not support floats of 32 bits");
}

#[test]
fn jpeg_takes_opaque_pixels_only() {
    let mut values = vec![1.0; 4 * 4 * 4];
    let opaque = image(4, 4, 4, values.clone());
    let bytes = image_bytes(PictureFormat::Jpeg, PictureOptions::default(), &opaque);
    assert_eq!(
        read(&bytes.expect("writes"), PictureFormat::Jpeg).expect("reads").image.n_channels(),
        3
    );
    // Column 1 of the lowest row.
    values[7] = 0.5;
    let clear = image(4, 4, 4, values);
    let error = image_bytes(PictureFormat::Jpeg, PictureOptions::default(), &clear);
    let error = error.expect_err("alpha");
    assert_eq!(
        error.to_string(),
        "`jpeg in memory` cannot be written: the pixel in column 1 of row 3 from the top has alpha \
         0.5, but jpeg has no alpha"
    );
    let help = error.help().expect("there is one").to_string();
    assert_eq!(help, "composite the image over a background, or write png, webp, tiff or exr");
}
