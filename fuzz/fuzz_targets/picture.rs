//! Any bytes as a picture of any format: reading never panics or takes unbounded memory, and an image
//! that was read is written and reads back as the same one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millstream::Limits;
use millstream_io::Budget;
use millstream_io::pictures::{
    PictureFormat, PictureOptions, Transfer, image_bytes, read_picture_bytes,
};

fuzz_target!(init: {
    // Panics of decoders are caught and become errors; any other panic ends the run.
    let end = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !millstream_io::is_decoding() {
            end(info);
        }
    }));
}, |input: (u8, &[u8])| {
    let (which, bytes) = input;
    let format = PictureFormat::ALL[which as usize % PictureFormat::ALL.len()];
    let limits = Limits { image_pixels: 1 << 16, bytes: 50_000_000, ..Limits::default() };
    let read = |bytes: &[u8], format| {
        read_picture_bytes("file", bytes, (format, Transfer::Srgb), &limits, &Budget::default())
    };
    match read(bytes, format) {
        Ok(picture) => {
            assert!(picture.image.width() * picture.image.height() <= limits.image_pixels);
            // Floats keep all that was read.
            let exr = PictureFormat::Exr;
            let written = image_bytes(exr, PictureOptions::default(), &picture.image);
            let again = read(&written.expect("any image can be written"), exr);
            assert_eq!(again.expect("it was just written").image, picture.image);
        }
        Err(error) => assert!(error.to_string().contains("file"), "{error}"),
    }
});
