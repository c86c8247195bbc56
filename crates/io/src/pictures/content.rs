//! The format of a file, recognized by its first bytes.

use super::PictureFormat;
use super::canvas::Reading;
use crate::error::{IoError, Spot};

/// The first bytes of formats, with `?` for any byte, and whether the format can be read.
const STARTS: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"\x76\x2f\x31\x01", "exr"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"II+\0", "tiff"),
    (b"MM\0+", "tiff"),
    (b"RIFF????WEBP", "webp"),
    (b"GIF8", "gif"),
    (b"BM????\0\0\0\0", "bmp"),
    (b"\0\0\x01\0", "ico"),
    (b"DDS ", "dds"),
    (b"8BPS", "psd"),
    (b"qoif", "qoi"),
    (b"#?RADIANCE", "hdr"),
    (b"\xff\x0a", "jpeg xl"),
    (b"\0\0\0\x0cJXL ", "jpeg xl"),
    (b"\0\0\0\x0cjP  ", "jpeg 2000"),
    (b"\xff\x4f\xff\x51", "jpeg 2000"),
    (b"????ftypavif", "avif"),
    (b"????ftypavis", "avif"),
    (b"????ftyphei", "heic"),
    (b"????ftypmif1", "heic"),
    (b"%PDF", "pdf"),
    (b"<svg", "svg"),
    (b"<?xml", "xml"),
    (b"<!DOCTYPE", "html"),
    (b"<!doctype", "html"),
    (b"<html", "html"),
    (b"P?\n", "netpbm"),
    (b"PK\x03\x04", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\x93NUMPY", "npy"),
    (b"glTF", "gltf"),
    (b"ply\n", "ply"),
    (b"version https://git-lfs", "a Git LFS pointer instead of the file"),
];

fn starts_with(bytes: &[u8], start: &[u8]) -> bool {
    bytes.len() >= start.len()
        && bytes.iter().zip(start).all(|(byte, of)| *of == b'?' || byte == of)
}

/// Checks that a file looks like the expected format.
///
/// # Errors
/// If it is empty, or starts like a file of another format.
pub(super) fn check(start: &[u8], reading: &Reading<'_>) -> Result<(), IoError> {
    let content = |problem: String, hint: String| IoError::Content {
        spot: Spot::file(reading.file),
        problem,
        hint,
    };
    if start.is_empty() {
        let hint = "the program that wrote it did not finish; write it again".into();
        return Err(content("is empty".into(), hint));
    }
    let format = reading.format;
    let found = STARTS.iter().find(|(bytes, _)| starts_with(start, bytes)).map(|(_, name)| *name);
    match found {
        Some(name) if name == format.name() => Ok(()),
        Some(name) => {
            let hint = match PictureFormat::from_name(name) {
                Some(other) => format!("name the format, {other}, or rename the file"),
                None => {
                    let known = PictureFormat::ALL.map(PictureFormat::name).join(", ");
                    format!("save it as one of: {known}")
                }
            };
            Err(content(format!("holds {name}, not {format}"), hint))
        }
        None => Err(reading.broken("it does not start like such a file")),
    }
}
