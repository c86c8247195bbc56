//! The animations of bakes, decoded again and compared with the pictures of the same frames.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use image::AnimationDecoder as _;
use image::codecs::webp::WebPDecoder;

use crate::bake::{counts, folder};
use crate::file;

const SIZE: [usize; 2] = [40, 30];

/// The frames of an animation: codes of red, green, blue and alpha, and the time it is shown in
/// seconds.
type Frames = Vec<(Vec<u8>, f64)>;

fn open(path: &Path) -> BufReader<File> {
    BufReader::new(File::open(path).expect("it was baked"))
}

fn of_gif(path: &Path) -> Frames {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(open(path)).expect("it is a gif");
    assert_eq!([decoder.width(), decoder.height()].map(usize::from), SIZE);
    let mut frames = Vec::new();
    while let Some(frame) = decoder.read_next_frame().expect("it can be decoded") {
        assert_eq!([frame.width, frame.height].map(usize::from), SIZE);
        frames.push((frame.buffer.to_vec(), f64::from(frame.delay) / 100.0));
    }
    assert!(matches!(decoder.repeat(), gif::Repeat::Infinite));
    frames
}

fn of_apng(path: &Path) -> Frames {
    let mut reader = png::Decoder::new(open(path)).read_info().expect("it is a png");
    let info = reader.info();
    assert_eq!([info.width, info.height].map(|side| side as usize), SIZE);
    let control = info.animation_control.expect("it is an animation");
    assert_eq!(control.num_plays, 0, "it loops forever");
    let mut codes = vec![0; reader.output_buffer_size().expect("it is small")];
    let frames = (0..control.num_frames).map(|_| {
        reader.next_frame(&mut codes).expect("it can be decoded");
        let frame = reader.info().frame_control.expect("it has a delay");
        (codes.clone(), f64::from(frame.delay_num) / f64::from(frame.delay_den))
    });
    frames.collect()
}

fn of_webp(path: &Path) -> Frames {
    let frames = WebPDecoder::new(open(path)).expect("it is a webp").into_frames();
    let frames = frames.collect_frames().expect("it can be decoded");
    let frames = frames.into_iter().map(|frame| {
        let (over, under) = frame.delay().numer_denom_ms();
        let buffer = frame.into_buffer();
        assert_eq!([buffer.width(), buffer.height()].map(|side| side as usize), SIZE);
        (buffer.into_raw(), f64::from(over) / f64::from(under) / 1e3)
    });
    frames.collect()
}

/// The codes of a picture with 8 bits per channel, with alpha.
fn of_png(path: &Path) -> Vec<u8> {
    let mut reader = png::Decoder::new(open(path)).read_info().expect("it is a png");
    let mut codes = vec![0; reader.output_buffer_size().expect("it is small")];
    let info = reader.next_frame(&mut codes).expect("it can be decoded");
    assert_eq!(info.bit_depth, png::BitDepth::Eight);
    match info.color_type {
        png::ColorType::Rgba => codes,
        png::ColorType::Rgb => codes.chunks(3).flat_map(|c| [c[0], c[1], c[2], 255]).collect(),
        other => panic!("{other:?}"),
    }
}

/// Bakes animations and pictures of the same frames; the codes of the pictures.
fn baked(name: &str, document: &str, more: &[&str]) -> (std::path::PathBuf, Vec<Vec<u8>>) {
    let folder = folder(name);
    let graph = file(&format!("{name}.mill"), document);
    let saves = ["a.gif", "a.apng", "a.webp", "p.##.png"];
    let saves = saves.iter().flat_map(|name| ["--save", name]);
    let args = [&[&*graph, "--size", "40x30", "--depth", "8"], more].concat();
    let (ran, _) = counts(&args.into_iter().chain(saves).collect::<Vec<_>>(), &folder);
    let numbers = (0..100).map(|frame| folder.join(format!("p.{frame:02}.png")));
    let pictures: Vec<Vec<u8>> =
        numbers.filter(|path| path.exists()).map(|it| of_png(&it)).collect();
    assert_eq!(pictures.len() as u64, ran);
    (folder, pictures)
}

/// The difference of two pictures per channel, on average.
fn difference(a: &[u8], b: &[u8]) -> f64 {
    let off = a.iter().zip(b).map(|(a, b)| f64::from(a.abs_diff(*b)));
    off.sum::<f64>() / a.len() as f64
}

/// Checks the pictures of an animation within a tolerance, and its delays.
fn check(name: &str, frames: &Frames, pictures: &[Vec<u8>], most: f64, delays: (f64, f64)) {
    assert_eq!(frames.len(), pictures.len(), "{name}");
    let (each, unit) = delays;
    for (i, ((codes, delay), picture)) in frames.iter().zip(pictures).enumerate() {
        assert_eq!(codes.len(), SIZE[0] * SIZE[1] * 4, "{name}");
        let mean = difference(codes, picture);
        assert!(mean <= most, "{name}: picture {i} differs by {mean} of 255 on average");
        assert!((delay - each).abs() <= unit, "{name}: picture {i} is shown for {delay} s");
    }
    let total: f64 = frames.iter().map(|(_, delay)| delay).sum();
    let expected = each * frames.len() as f64;
    assert!((total - expected).abs() <= unit, "{name}: {total} s instead of {expected} s");
}

/// Colors that change smoothly, with a transparent corner if `alpha` is a field.
fn colors(alpha: &str) -> String {
    format!(
        "t = convert.to_f32(context.time())\n\
         p = context.position()\n\
         wave = math.sin(p.x / 9 + t * 8) / 2 + 0.5\n\
         output c: color = color.combine(wave, p.y / 30, t, {alpha})\n"
    )
}

#[test]
fn animations_hold_the_pictures_of_their_frames() {
    let args = ["--frames", "1..7", "--every", "2"];
    let (folder, pictures) = baked("bake-decoded", &colors("1"), &args);
    // 24 frames per second, every second one.
    let each = 1.0 / 12.0;
    assert!(pictures.windows(2).all(|pair| pair[0] != pair[1]), "the pictures move");
    // Gif has 256 colors per picture, and these have more.
    let gif = of_gif(&folder.join("a.gif"));
    check("gif", &gif, &pictures, 8.0, (each, 0.01));
    for (i, (codes, _)) in gif.iter().enumerate() {
        let colors: BTreeSet<&[u8]> = codes.chunks(4).collect();
        assert!(colors.len() <= 256 && colors.len() > 100, "{}", colors.len());
        let nearest = |k: &usize| (difference(codes, &pictures[*k]) * 1e3) as u64;
        assert_eq!((0..pictures.len()).min_by_key(nearest), Some(i));
    }
    check("apng", &of_apng(&folder.join("a.apng")), &pictures, 0.0, (each, 1e-9));
    check("webp", &of_webp(&folder.join("a.webp")), &pictures, 0.0, (each, 0.001));
}

#[test]
fn transparent_pixels_and_few_colors_are_exact_in_all_animations() {
    // Four colors, and a part that moves and is transparent.
    let document = "t = convert.to_i32(context.tick())\n\
         p = context.position()\n\
         x = p.x < convert.to_f32(4 * t) ? 1.0 : 0.0\n\
         y = p.y < 15 ? 1.0 : 0.0\n\
         output c: color = color.combine(y, 1 - y, 1, 1 - x)\n";
    let (folder, pictures) = baked("bake-transparent", document, &["--frames", "1..5"]);
    let each = 1.0 / 24.0;
    let clear = |codes: &mut Vec<u8>| {
        for pixel in codes.chunks_mut(4).filter(|pixel| pixel[3] == 0) {
            pixel.copy_from_slice(&[0; 4]);
        }
    };
    let mut cleared = pictures.clone();
    cleared.iter_mut().for_each(clear);
    assert!(cleared[0].chunks(4).any(|pixel| pixel[3] == 0), "something is transparent");
    let mut gif = of_gif(&folder.join("a.gif"));
    for (codes, _) in &mut gif {
        clear(codes);
    }
    check("gif", &gif, &cleared, 0.0, (each, 0.01));
    check("apng", &of_apng(&folder.join("a.apng")), &pictures, 0.0, (each, 1e-9));
    check("webp", &of_webp(&folder.join("a.webp")), &pictures, 0.0, (each, 0.001));
}

#[test]
fn a_frame_that_fails_shows_the_picture_next_to_it() {
    let document = "k = convert.to_i32(context.tick())\n\
         x = list.get(list.of(several [0.25, 0.5, 0.75]), index: k * (k - 1))\n\
         output picture: image = image.from_field(color.combine(x, x, x) + context.position().x * 0)\n";
    let folder = folder("bake-gaps");
    let graph = file("bake-gaps.mill", document);
    let saves = ["--save", "a.gif", "--save", "a.apng", "--save", "a.webp", "--save", "p.##.png"];
    // Frames -1, 0, 1, 2 and 3 ask for the items 2, 0, 0, 2 and 6.
    let shown = folder.display().to_string();
    for (frames, n) in [("2..4", 3), ("-2..0", 3)] {
        let bake = ["bake", &*graph, "--frames", frames, "--size", "40x30", "-o", &shown];
        assert_eq!(crate::code(&[&bake[..], &saves].concat()), Some(3));
        let all = [
            of_gif(&folder.join("a.gif")),
            of_apng(&folder.join("a.apng")),
            of_webp(&folder.join("a.webp")),
        ];
        assert_eq!(all.map(|frames| frames.len()), [n; 3], "{frames}");
    }
}
