//! Color spaces, orientation and the kinds of pixels that other programs write.

use std::io::Cursor;

use image::metadata::Orientation;
use image::{DynamicImage, ImageBuffer, ImageEncoder as _};
use millstream_io::pictures::{Depth, PictureFormat, PictureOptions, ReadPicture, image_bytes};
use moxcms::ColorProfile;
use png::{BitDepth, ColorType, Info, ScaledFloat, SourceChromaticities};

use crate::pictures::{self as suite, png as png_file, read};

/// One orange pixel.
const ORANGE: [u16; 3] = [230, 120, 40];

fn orange(tell: impl FnOnce(&mut Info<'_>)) -> ReadPicture {
    let file = png_file([1, 1], ColorType::Rgb, &ORANGE, BitDepth::Eight, tell);
    read(&file, PictureFormat::Png).expect("reads")
}

fn near(picture: &ReadPicture, expected: [f32; 3]) {
    for (is, expected) in picture.image.channels().iter().zip(expected) {
        assert!((is - expected).abs() < 2e-3, "{:?} {expected:?}", picture.image.channels());
    }
}

fn decoded(code: u16) -> f32 {
    let x = f32::from(code) / 255.0;
    if x <= 0.040_45 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
}

/// Orange of Display P3 in BT.709, by the matrix of CSS Color 4.
fn orange_of_p3() -> [f32; 3] {
    let [r, g, b] = ORANGE.map(decoded);
    [
        1.224_94 * r - 0.224_94 * g,
        -0.042_06 * r + 1.042_06 * g,
        -0.019_64 * r - 0.078_64 * g + 1.098_28 * b,
    ]
}

#[test]
fn profiles_are_applied_in_every_format_that_has_them() {
    let profile = ColorProfile::new_display_p3().encode().expect("encodes");
    let codes = ORANGE.map(|code| code as u8);
    let with_png = png_file([1, 1], ColorType::Rgb, &ORANGE, BitDepth::Eight, |info| {
        info.icc_profile = Some(profile.clone().into());
    });
    let mut with_webp = Vec::new();
    let mut encoder = image::codecs::webp::WebPEncoder::new_lossless(&mut with_webp);
    encoder.set_icc_profile(profile.clone()).expect("webp has profiles");
    encoder.write_image(&codes, 1, 1, image::ExtendedColorType::Rgb8).expect("writes");
    let mut with_jpeg = Vec::new();
    let mut encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut with_jpeg, 100);
    encoder.set_icc_profile(profile.clone()).expect("jpeg has profiles");
    encoder.write_image(&codes, 1, 1, image::ExtendedColorType::Rgb8).expect("writes");
    let with_tiff = tiff_file::<tiff::encoder::colortype::RGB8>([1, 1], &codes, |directory| {
        directory.write_tag(tiff::tags::Tag::IccProfile, &profile[..]).expect("writes");
    });
    for (format, bytes) in [
        (PictureFormat::Png, with_png),
        (PictureFormat::WebP, with_webp),
        (PictureFormat::Tiff, with_tiff),
        (PictureFormat::Jpeg, with_jpeg),
    ] {
        let picture = read(&bytes, format).expect("reads");
        assert!(picture.color_space.contains("P3"), "{format} {}", picture.color_space);
        assert!(picture.notes[0].starts_with("colors were converted from"), "{:?}", picture.notes);
        if format != PictureFormat::Jpeg {
            near(&picture, orange_of_p3());
        }
    }
}

#[test]
fn color_statements_of_a_png_are_honored() {
    let srgb = ORANGE.map(decoded);
    near(&orange(|_| {}), srgb);
    let power = orange(|info| info.source_gamma = Some(ScaledFloat::from_scaled(55_556)));
    near(&power, ORANGE.map(|code| (f32::from(code) / 255.0).powf(1.8)));
    assert_eq!(power.color_space, "gamma 0.55556 with custom primaries");
    // Many programs write this instead of sRGB.
    let usual = orange(|info| info.source_gamma = Some(ScaledFloat::from_scaled(45_455)));
    assert_eq!(usual.color_space, "sRGB");
    near(&usual, srgb);
    let p3 = orange(|info| {
        info.source_gamma = Some(ScaledFloat::from_scaled(45_455));
        info.source_chromaticities = Some(SourceChromaticities::new(
            (0.3127, 0.329),
            (0.68, 0.32),
            (0.265, 0.69),
            (0.15, 0.06),
        ));
    });
    near(&p3, orange_of_p3());
    assert_eq!(p3.notes.len(), 1, "{:?}", p3.notes);
    let flat = orange(|info| {
        info.source_chromaticities =
            Some(SourceChromaticities::new((0.3, 0.3), (0.3, 0.3), (0.3, 0.3), (0.3, 0.3)));
    });
    near(&flat, srgb);
    assert!(flat.notes[0].ends_with("colors were read as sRGB"), "{:?}", flat.notes);
}

#[test]
fn code_points_take_precedence_and_unknown_ones_are_reported() {
    // The crate cannot write this chunk.
    let in_range = |codes: [u16; 3], primaries, transfer, is_full| {
        let mut file = png_file([1, 1], ColorType::Rgb, &codes, BitDepth::Eight, |_| {});
        let mut chunk = b"cICP".to_vec();
        chunk.extend([primaries, transfer, 0, is_full]);
        let sum = crc32(&chunk);
        let mut whole = 4_u32.to_be_bytes().to_vec();
        whole.extend(chunk);
        whole.extend(sum.to_be_bytes());
        // After the signature and the header.
        file.splice(33..33, whole);
        read(&file, PictureFormat::Png).expect("reads")
    };
    let of = |codes, primaries, transfer| in_range(codes, primaries, transfer, 1);
    let with = |primaries, transfer| of(ORANGE, primaries, transfer);
    near(&with(12, 13), orange_of_p3());
    assert_eq!(with(1, 13).color_space, "sRGB");
    near(&with(1, 8), ORANGE.map(|code| f32::from(code) / 255.0));
    // By the formulas of SMPTE ST 2084; 58 % is about white.
    near(&of([128; 3], 9, 16), [0.46342; 3]);
    near(&of([148; 3], 9, 16), [0.99716; 3]);
    assert_eq!(of([148; 3], 9, 16).color_space, "BT.2020 PQ");
    let unknown = with(9, 18);
    assert_eq!(
        unknown.notes,
        ["the color space with the code points 9 and 18 is unknown; colors were read as sRGB"]
    );
    // In the narrow range of video, black is 16 and white is 235; codes beyond these are clamped.
    let narrow = in_range([16, 235, 126], 1, 13, 0);
    near(&narrow, [0.0, 1.0, (((126.0 - 16.0) / 219.0 + 0.055_f32) / 1.055).powf(2.4)]);
    assert_eq!(narrow.notes, ["its codes of the narrow range of video were converted"]);
    near(&in_range([3, 255, 16], 1, 13, 0), [0.0, 1.0, 0.0]);
    near(&in_range([235; 3], 9, 13, 0), [1.0; 3]);
}

pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32| if sum & 1 == 1 { 0xedb8_8320 ^ (sum >> 1) } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum)))
}

#[test]
fn unapplied_profiles_are_named() {
    let gray = ColorProfile::new_gray_with_gamma(2.2).encode().expect("encodes");
    let picture = orange(|info| info.icc_profile = Some(gray.into()));
    let [note] = &picture.notes[..] else { panic!("{:?}", picture.notes) };
    assert!(note.starts_with("the color profile `"), "{note}");
    assert!(
        note.ends_with("which is for gray, was not applied; colors were read as sRGB"),
        "{note}"
    );
    let picture = orange(|info| info.icc_profile = Some(vec![1; 200].into()));
    let note = "a color profile that cannot be read, was not applied; colors were read as sRGB";
    assert_eq!(picture.notes, [note]);
    near(&picture, ORANGE.map(decoded));
}

#[test]
fn orientation_is_applied() {
    let exif = |code: u8| {
        let mut exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
        exif.extend([code, 0, 0, 0, 0, 0, 0, 0]);
        exif
    };
    let codes: Vec<u16> = (0..6).map(|i| i * 40).collect();
    for code in 1..=8 {
        let by_image = |codes: Vec<u8>| {
            let mut picture =
                DynamicImage::ImageLuma8(ImageBuffer::from_raw(3, 2, codes).expect("six codes"));
            picture.apply_orientation(Orientation::from_exif(code).expect("1 to 8"));
            picture.into_luma8()
        };
        let expected = by_image(codes.iter().map(|code| *code as u8).collect());
        let with_png = png_file([3, 2], ColorType::Grayscale, &codes, BitDepth::Eight, |info| {
            info.exif_metadata = Some(exif(code).into());
        });
        let narrow: Vec<u8> = codes.iter().map(|code| *code as u8).collect();
        let with_tiff =
            tiff_file::<tiff::encoder::colortype::Gray8>([3, 2], &narrow, |directory| {
                directory.write_tag(tiff::tags::Tag::Orientation, u16::from(code)).expect("writes");
            });
        for (format, file) in [(PictureFormat::Png, with_png), (PictureFormat::Tiff, with_tiff)] {
            let picture = read(&file, format).expect("reads");
            assert_eq!(picture.notes.len(), usize::from(code > 1), "{:?}", picture.notes);
            let bytes = image_bytes(PictureFormat::Png, PictureOptions::default(), &picture.image);
            assert_eq!(picture.image.width() as u32, expected.width());
            assert_eq!(suite::codes(&bytes.expect("writes")), *expected.as_raw(), "{code}");
        }
        let mut with_jpeg = Vec::new();
        let mut encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut with_jpeg, 100);
        encoder.set_exif_metadata(exif(code)).expect("jpeg has it");
        encoder.write_image(&narrow, 3, 2, image::ExtendedColorType::L8).expect("writes");
        let picture = read(&with_jpeg, PictureFormat::Jpeg).expect("reads");
        assert_eq!(picture.image.width() as u32, expected.width());
        for (i, expected) in expected.as_raw().iter().enumerate() {
            let (width, height) = (picture.image.width(), picture.image.height());
            let at = (height - 1 - i / width) * width + i % width;
            let is = picture.image.channels()[at];
            assert!((is - decoded(u16::from(*expected))).abs() < 0.02, "{code} {i} {is}");
        }
    }
}

fn tiff_file<C: tiff::encoder::colortype::ColorType>(
    [width, height]: [u32; 2],
    samples: &[C::Inner],
    tell: impl FnOnce(
        &mut tiff::encoder::DirectoryEncoder<
            '_,
            &mut Cursor<Vec<u8>>,
            tiff::encoder::TiffKindStandard,
        >,
    ),
) -> Vec<u8>
where
    [C::Inner]: tiff::encoder::TiffValue,
{
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = tiff::encoder::TiffEncoder::new(&mut bytes).expect("writes");
    let mut picture = encoder.new_image::<C>(width, height).expect("valid");
    tell(picture.encoder());
    picture.write_data(samples).expect("writes");
    bytes.into_inner()
}

#[test]
fn palettes_keys_and_few_bits_become_channels() {
    let indexed = png_file([2, 1], ColorType::Indexed, &[0, 1], BitDepth::Eight, |info| {
        info.palette = Some(vec![255, 0, 0, 0, 0, 255].into());
        info.trns = Some(vec![255, 0].into());
    });
    let picture = read(&indexed, PictureFormat::Png).expect("reads");
    assert_eq!(picture.image.channels(), [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    let key = png_file([2, 1], ColorType::Grayscale, &[7, 255], BitDepth::Eight, |info| {
        info.trns = Some(vec![0, 7].into());
    });
    let picture = read(&key, PictureFormat::Png).expect("reads");
    assert_eq!(picture.image.channels(), [0.0, 0.0, 1.0, 1.0]);
    let bits = png_file([3, 1], ColorType::Grayscale, &[0b1010_0000], BitDepth::One, |_| {});
    let picture = read(&bits, PictureFormat::Png).expect("reads");
    assert_eq!(picture.image.channels(), [1.0, 0.0, 1.0]);
}

#[test]
fn samples_of_other_tiffs() {
    use tiff::encoder::colortype::{CMYK8, Gray32, Gray64Float, RGB16, RGBA8};
    use tiff::tags::{ExtraSamples, Tag};
    let read = |bytes: &[u8]| read(bytes, PictureFormat::Tiff).expect("reads");
    let cmyk = read(&tiff_file::<CMYK8>([2, 1], &[0, 255, 255, 0, 0, 0, 0, 255], |_| {}));
    assert_eq!(cmyk.image.channels(), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(cmyk.notes, ["CMYK was converted without regard to its inks"]);
    let wide = read(&tiff_file::<Gray32>([2, 1], &[0, u32::MAX], |_| {}));
    assert_eq!(wide.image.channels(), [0.0, 1.0]);
    let double = read(&tiff_file::<Gray64Float>([2, 1], &[0.25, 1e300], |_| {}));
    assert_eq!(double.image.channels(), [0.25, f32::INFINITY]);
    assert_eq!((double.depth, double.color_space.as_str()), (Depth::Float, "linear BT.709"));
    let plain = read(&tiff_file::<RGB16>([1, 1], &[0, 65_535, 0], |_| {}));
    assert_eq!(plain.image.channels(), [0.0, 1.0, 0.0]);
    // Alpha by which the colors were multiplied before encoding.
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = tiff::encoder::TiffEncoder::new(&mut bytes).expect("writes");
    let mut picture = encoder.new_image::<tiff::encoder::colortype::RGB8>(1, 1).expect("valid");
    picture.extra_samples(&[ExtraSamples::AssociatedAlpha]).expect("valid");
    picture.write_data(&[128, 64, 0, 128]).expect("writes");
    let associated = read(&bytes.into_inner());
    let alpha = 128.0 / 255.0;
    let expected = [alpha, decoded(128) * alpha, 0.0, alpha];
    for (is, expected) in associated.image.channels().iter().zip(expected) {
        assert!((is - expected).abs() < 2e-3, "{:?}", associated.image.channels());
    }
    // Without the tag, a fourth channel is read as straight alpha.
    let straight = read(&tiff_file::<RGBA8>([1, 1], &[255, 255, 255, 0], |directory| {
        directory.write_tag(Tag::Software, "another program").expect("writes");
    }));
    assert_eq!(straight.image.channels(), [0.0; 4]);
}

#[test]
fn layers_and_channels_of_exr() {
    use exr::prelude::*;
    let channel = |name: &str, value: f32| AnyChannel::new(name, FlatSamples::F32(vec![value; 4]));
    let layer = |name: &str, encoding, channels: Vec<AnyChannel<FlatSamples>>| {
        let attributes = LayerAttributes::named(name);
        Layer::new((2, 2), attributes, encoding, AnyChannels::sort(channels.into()))
    };
    let bytes = |layers: Vec<Layer<AnyChannels<FlatSamples>>>, tell: fn(&mut ImageAttributes)| {
        let mut attributes = ImageAttributes::new(IntegerBounds::from_dimensions((2, 2)));
        tell(&mut attributes);
        let image = Image { attributes, layer_data: Layers::from(layers) };
        let mut bytes = Cursor::new(Vec::new());
        image.write().to_buffered(&mut bytes).expect("writes");
        bytes.into_inner()
    };
    let read = |bytes: &[u8]| suite::read(bytes, PictureFormat::Exr).expect("reads");
    let rgb = || vec![channel("R", 1.0), channel("G", 0.5), channel("B", 0.25)];
    for encoding in [
        Encoding::UNCOMPRESSED,
        Encoding::FAST_LOSSLESS,
        Encoding::SMALL_LOSSLESS,
        Encoding::SMALL_FAST_LOSSLESS,
    ] {
        let picture = read(&bytes(vec![layer("main", encoding, rgb())], |_| {}));
        assert_eq!(&picture.image.channels()[..3], [1.0, 0.5, 0.25]);
        assert!(picture.notes.is_empty(), "{:?}", picture.notes);
    }
    let mut many = rgb();
    many.extend([channel("Z", 9.0), channel("glow.R", 7.0), channel("A", 0.5)]);
    let depth = layer("depth", Encoding::UNCOMPRESSED, vec![channel("Y", 3.0)]);
    let picture = read(&bytes(vec![layer("main", Encoding::UNCOMPRESSED, many), depth], |_| {}));
    assert_eq!(&picture.image.channels()[..4], [1.0, 0.5, 0.25, 0.5]);
    assert_eq!(picture.notes, ["the channels Z, glow.R, depth.Y were left out"]);
    // Many layers take no longer than many channels.
    let mut many: Vec<_> = (0..3000).map(|i| channel(&format!("light{i}.X"), 0.0)).collect();
    many.extend(
        rgb()
            .into_iter()
            .map(|of| AnyChannel { name: format!("light.{}", of.name).as_str().into(), ..of }),
    );
    let picture = read(&bytes(vec![layer("main", Encoding::UNCOMPRESSED, many)], |_| {}));
    assert_eq!(&picture.image.channels()[..3], [1.0, 0.5, 0.25]);
    assert!(picture.notes[0].contains(", ... were left out"), "{:?}", picture.notes);
    let only = layer("depth", Encoding::FAST_LOSSLESS, vec![channel("Z", 3.0)]);
    let picture = read(&bytes(vec![only], |_| {}));
    assert_eq!(picture.image.channels(), [3.0; 4]);
    assert_eq!(picture.notes, ["the channel `Z` was read as gray"]);
    let named = rgb()
        .into_iter()
        .map(|of| AnyChannel { name: format!("view.{}", of.name).as_str().into(), ..of });
    let named = layer("main", Encoding::UNCOMPRESSED, named.collect());
    assert_eq!(&read(&bytes(vec![named], |_| {})).image.channels()[..3], [1.0, 0.5, 0.25]);
    let wide = read(&bytes(vec![layer("main", Encoding::UNCOMPRESSED, rgb())], |attributes| {
        attributes.chromaticities = Some(attribute::Chromaticities {
            red: Vec2(0.708, 0.292),
            green: Vec2(0.17, 0.797),
            blue: Vec2(0.131, 0.046),
            white: Vec2(0.3127, 0.329),
        });
    }));
    // The matrix from BT.2020 to BT.709 in BT.2087.
    near(
        &wide,
        [
            1.6605 - 0.5876 * 0.5 - 0.0728 * 0.25,
            -0.1246 + 1.1329 * 0.5 - 0.0083 * 0.25,
            -0.0182 - 0.1006 * 0.5 + 1.1187 * 0.25,
        ],
    );
    assert_eq!(wide.notes, ["colors were converted from primaries of its own"]);
}
