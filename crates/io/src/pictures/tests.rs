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
