//! Facts about the table of picture formats.

use super::*;

#[test]
fn the_extension_names_the_format_in_any_case() {
    let of = |path: &str| PictureFormat::of_path(Path::new(path));
    assert_eq!(of("a/b.JPG").expect("known"), PictureFormat::Jpeg);
    assert_eq!(of("a/b.tif").expect("known"), PictureFormat::Tiff);
    for format in PictureFormat::ALL {
        for extension in format.extensions() {
            assert_eq!(PictureFormat::from_name(extension), Some(format));
        }
    }
    assert!(of("png").is_err());
}

#[test]
fn no_format_of_tables_shares_an_extension() {
    for format in PictureFormat::ALL {
        for extension in format.extensions() {
            assert_eq!(crate::Format::from_name(extension), None, "{extension}");
        }
    }
}

#[test]
fn the_manual_has_a_row_for_each_format() {
    let manual = include_str!("../../../../docs/data.md");
    for format in PictureFormat::ALL {
        let extensions = format.extensions().collect::<Vec<_>>().join(", ");
        let depths = format.depths().iter().map(ToString::to_string).collect::<Vec<_>>();
        let row = format!("| `{format}` | {extensions} | {} |", depths.join(", "));
        assert!(manual.contains(&row), "write a row into it: {row}");
    }
}

#[test]
fn rows_of_an_image_are_written_as_rows_that_are_pulled() {
    let format = PictureFormat::Png;
    for n in 1..=4 {
        let [width, height] = [37, 50];
        let values = (0..width * height * n).map(|i| (i as f32 * 0.37).sin().abs()).collect();
        let view = millstream_base::Footprint::of_size(width as i32, height as i32);
        let image = Image::from_channels(view, n, values).expect("it fits");
        for depth in format.depths() {
            let options = PictureOptions { depth: Some(*depth), transfer: None };
            let whole = image_bytes(format, options, &image).expect("writes");
            let spec = PictureSpec::of_image(format, options, &image);
            let mut pulled = Vec::new();
            let mut rows = |range: Range<usize>| -> Result<Vec<f32>, Infallible> {
                Ok(range.flat_map(|row| image.row_from_top(row).to_vec()).collect())
            };
            write_picture_to("file", &mut pulled, &spec, &mut rows).expect("writes");
            assert_eq!(whole, pulled, "{n} channels, {depth}");
        }
    }
}
