//! Facts about picture files as seen from outside.

use super::*;

fn ramp(width: usize, height: usize, n: usize) -> Image {
    let alpha = n.is_multiple_of(2);
    let mut values = Vec::new();
    for i in 0..width * height {
        let a = if alpha { (i % 7 + 1) as f32 / 7.0 } else { 1.0 };
        for channel in 0..n {
            let is_alpha = alpha && channel == n - 1;
            let x = ((i * 13 + channel * 29) % 101) as f32 / 100.0;
            values.push(if is_alpha { a } else { x * a });
        }
    }
    let view = millstream_base::Footprint::of_size(width as i32, height as i32);
    Image::from_channels(view, n, values).expect("fits")
}

fn back(bytes: &[u8], format: PictureFormat) -> ReadPicture {
    read_picture_bytes("file", bytes, format, &Limits::default(), &Budget::default())
        .expect("reads")
}

#[test]
fn what_is_written_reads_back() {
    for format in PictureFormat::ALL {
        for depth in format.depths() {
            for n in 1..=4 {
                let image = ramp(37, 21, n);
                let options = PictureOptions { depth: Some(*depth), transfer: None };
                let bytes = match image_bytes(format, options, &image) {
                    Ok(bytes) => bytes,
                    Err(error) => {
                        assert!(format == PictureFormat::Jpeg && n % 2 == 0, "{format} {error}");
                        continue;
                    }
                };
                let read = back(&bytes, format);
                assert_eq!(read.depth, *depth);
                assert_eq!(read.notes, Vec::<String>::new(), "{format} {depth} {n}");
                let off = if read.image.n_channels() == n {
                    let pairs = read.image.channels().iter().zip(image.channels());
                    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
                } else {
                    0.0
                };
                println!("{format} {depth} {n}: {} bytes, off by {off}", bytes.len());
                let again = image_bytes(format, options, &read.image).expect("writes");
                if format != PictureFormat::Jpeg {
                    assert_eq!(back(&again, format).image, read.image, "{format} {depth} {n}");
                }
            }
        }
    }
}
