//! Files of the 64-bit variant.

use std::io::Cursor;

use millstream_base::{Budget, Limits};

use super::*;
use crate::pictures::rows::Part;
use crate::pictures::{PictureFormat, read_picture_bytes};

#[test]
fn files_with_offsets_of_64_bits_read_back() {
    let format = PictureFormat::Tiff;
    let spec = PictureSpec::new(format, [300, 70], 4).depth(Some(Depth::Float));
    let values: Vec<f32> = (0..300 * 70 * 4).map(|i| i as f32).collect();
    let mut pull = |rows: std::ops::Range<usize>| {
        Ok(Part::Values(values[rows.start * 1200..rows.end * 1200].to_vec()))
    };
    let mut bytes = Cursor::new(Vec::new());
    let out: &mut dyn WriteSeek = &mut bytes;
    let tiff = TiffEncoder::<_, TiffKindBig>::new_generic(out).expect("writes");
    write_kind(tiff, &spec, &mut Rows::new(&spec, &mut pull)).expect("writes");
    let bytes = bytes.into_inner();
    assert_eq!(bytes[2], 43, "the mark of a BigTIFF");
    let read = read_picture_bytes(
        "file",
        &bytes,
        (format, Transfer::Srgb),
        &Limits::default(),
        &Budget::default(),
    );
    let image = read.expect("reads").image;
    assert_eq!(image.channels()[69 * 1200..], values[..1200]);
}

#[test]
fn packed_bits_are_codes() {
    assert_eq!([0, 1, 7].map(|i| packed(&[0b1000_0001], i, 1)), [255, 0, 255]);
    assert_eq!([0, 1, 2, 3].map(|i| packed(&[0b0001_1011], i, 2)), [0, 85, 170, 255]);
    assert_eq!([0, 1, 2].map(|i| packed(&[0xf0, 0x80], i, 4)), [255, 0, 136]);
}
