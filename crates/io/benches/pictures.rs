//! Time of reading and writing pictures of 4096x4096 pixels, compared with the underlying crates on
//! ready-made codes. The difference is the conversion to and from linear light, and the vertical
//! flip.
//!
//! Run with `cargo bench -p millstream-io --bench pictures`. The crate `exr` runs on one thread
//! here, whereas our own blocks are spread over the cores.

use std::io::Cursor;
use std::sync::LazyLock;

use divan::Bencher;
use exr::prelude::{ReadChannels, ReadLayers, WritableImage};
use millstream_base::{Budget, Footprint, Image, Limits};
use millstream_io::pictures::{
    Depth, PictureFormat, PictureOptions, Transfer, image_bytes, read_picture_bytes,
};

fn main() {
    divan::main();
}

const SIDE: usize = 4096;

/// Clouds with some grain, as rendered pictures have it.
fn image(n: usize) -> Image {
    let mut state = 7_u32;
    let mut values = Vec::with_capacity(SIDE * SIDE * n);
    for y in 0..SIDE {
        for x in 0..SIDE {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let grain = (state >> 24) as f32 / 256.0 * 0.004;
            let [u, v] = [x as f32 / 310.0, y as f32 / 170.0];
            let alpha =
                if n.is_multiple_of(2) { 0.5 + 0.5 * (u * v * 0.1).sin().abs() } else { 1.0 };
            for channel in 0..n {
                let light = 0.5 + 0.49 * (u + v * channel as f32).sin() * v.cos() + grain;
                let is_alpha = n.is_multiple_of(2) && channel == n - 1;
                values.push(if is_alpha { alpha } else { light * alpha });
            }
        }
    }
    Image::from_channels(Footprint::of_size(SIDE as i32, SIDE as i32), n, values).expect("it fits")
}

static IMAGES: LazyLock<[Image; 2]> = LazyLock::new(|| [image(3), image(4)]);

const PNGS: [(Depth, usize); 4] =
    [(Depth::Eight, 3), (Depth::Eight, 4), (Depth::Sixteen, 3), (Depth::Sixteen, 4)];
const FLOATS: [(Depth, usize); 2] = [(Depth::Sixteen, 4), (Depth::Float, 4)];

fn file(format: PictureFormat, (depth, n): (Depth, usize)) -> Vec<u8> {
    let options = PictureOptions { depth: Some(depth), transfer: None };
    image_bytes(format, options, &IMAGES[n - 3]).expect("writes")
}

fn write(bencher: Bencher<'_, '_>, format: PictureFormat, case: (Depth, usize)) {
    let _ = &*IMAGES;
    bencher.bench(|| file(format, case));
}

fn read(bencher: Bencher<'_, '_>, format: PictureFormat, case: (Depth, usize)) {
    let (bytes, limits) = (file(format, case), Limits::default());
    bencher.bench(|| {
        read_picture_bytes("file", &bytes, (format, Transfer::Srgb), &limits, &Budget::default())
            .ok()
    });
}

#[divan::bench(args = PNGS, sample_count = 3)]
fn png_write(bencher: Bencher<'_, '_>, case: (Depth, usize)) {
    write(bencher, PictureFormat::Png, case);
}

#[divan::bench(args = PNGS, sample_count = 3)]
fn png_write_bare(bencher: Bencher<'_, '_>, case: (Depth, usize)) {
    let (codes, color, depth) = png_codes(&file(PictureFormat::Png, case));
    bencher.bench(|| {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, SIDE as u32, SIDE as u32);
        encoder.set_color(color);
        encoder.set_depth(depth);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header().expect("writes");
        writer.write_image_data(&codes).expect("writes");
        writer.finish().expect("writes");
        bytes
    });
}

#[divan::bench(args = PNGS, sample_count = 3)]
fn png_read(bencher: Bencher<'_, '_>, case: (Depth, usize)) {
    read(bencher, PictureFormat::Png, case);
}

#[divan::bench(args = PNGS, sample_count = 3)]
fn png_read_bare(bencher: Bencher<'_, '_>, case: (Depth, usize)) {
    let bytes = file(PictureFormat::Png, case);
    bencher.bench(|| png_codes(&bytes));
}

fn png_codes(bytes: &[u8]) -> (Vec<u8>, png::ColorType, png::BitDepth) {
    let decoder = png::Decoder::new(Cursor::new(bytes));
    let mut reader = decoder.read_info().expect("reads");
    let mut codes = vec![0; reader.output_buffer_size().expect("it fits")];
    let info = reader.next_frame(&mut codes).expect("reads");
    (codes, info.color_type, info.bit_depth)
}

#[divan::bench(args = FLOATS, sample_count = 3)]
fn exr_write(bencher: Bencher<'_, '_>, case: (Depth, usize)) {
    write(bencher, PictureFormat::Exr, case);
}

#[divan::bench(args = FLOATS, sample_count = 3)]
fn exr_write_bare(bencher: Bencher<'_, '_>, case: (Depth, usize)) {
    let bytes = file(PictureFormat::Exr, case);
    let image = exr_planes(&bytes);
    bencher.bench(|| {
        let mut bytes = Cursor::new(Vec::new());
        image.write().to_buffered(&mut bytes).expect("writes");
        bytes
    });
}

#[divan::bench(args = FLOATS, sample_count = 3)]
fn exr_read(bencher: Bencher<'_, '_>, case: (Depth, usize)) {
    read(bencher, PictureFormat::Exr, case);
}

#[divan::bench(args = FLOATS, sample_count = 3)]
fn exr_read_bare(bencher: Bencher<'_, '_>, case: (Depth, usize)) {
    let bytes = file(PictureFormat::Exr, case);
    bencher.bench(|| exr_planes(&bytes));
}

fn exr_planes(bytes: &[u8]) -> exr::prelude::FlatImage {
    exr::prelude::read()
        .no_deep_data()
        .largest_resolution_level()
        .all_channels()
        .all_layers()
        .all_attributes()
        .from_buffered(Cursor::new(bytes))
        .expect("reads")
}

#[divan::bench(args = PNGS, sample_count = 3)]
fn tiff_write(bencher: Bencher<'_, '_>, case: (Depth, usize)) {
    write(bencher, PictureFormat::Tiff, case);
}

#[divan::bench(args = PNGS, sample_count = 3)]
fn tiff_read(bencher: Bencher<'_, '_>, case: (Depth, usize)) {
    read(bencher, PictureFormat::Tiff, case);
}

#[divan::bench(sample_count = 3)]
fn jpeg_write(bencher: Bencher<'_, '_>) {
    write(bencher, PictureFormat::Jpeg, (Depth::Eight, 3));
}

#[divan::bench(sample_count = 3)]
fn jpeg_read(bencher: Bencher<'_, '_>) {
    read(bencher, PictureFormat::Jpeg, (Depth::Eight, 3));
}

#[divan::bench(sample_count = 3)]
fn webp_write(bencher: Bencher<'_, '_>) {
    write(bencher, PictureFormat::WebP, (Depth::Eight, 4));
}

#[divan::bench(sample_count = 3)]
fn webp_read(bencher: Bencher<'_, '_>) {
    read(bencher, PictureFormat::WebP, (Depth::Eight, 4));
}
