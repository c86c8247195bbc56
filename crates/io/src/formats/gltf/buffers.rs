//! The bytes of buffers: embedded in the document, in the binary file, or in external files.

use std::path::{Component, Path, PathBuf};

use ::gltf::Document;
use ::gltf::buffer::Source;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::syntax;
use crate::error::{IoError, Spot, quoted};
use crate::format::Content;
use crate::meter::Meter;

/// Reads all buffers of a document.
pub(super) fn read(
    content: &Content<'_>,
    document: &Document,
    mut blob: Option<Vec<u8>>,
    meter: &Meter,
) -> Result<Vec<Vec<u8>>, IoError> {
    let file = content.file;
    let mut buffers = Vec::new();
    let mut total = 0_usize;
    for buffer in document.buffers() {
        let bytes = match buffer.source() {
            Source::Bin => blob.take().ok_or_else(|| syntax(file, "it has no binary chunk"))?,
            Source::Uri(uri) => match uri.strip_prefix("data:") {
                Some(data) => embedded(file, data)?,
                None => beside(content, uri, meter)?,
            },
        };
        if bytes.len() < buffer.length() {
            return Err(IoError::Length {
                spot: Spot::file(file),
                expected: format!("{} bytes in a buffer", buffer.length()),
                found: bytes.len().to_string(),
            });
        }
        total = total.saturating_add(bytes.len());
        meter.check_bytes(total, || Spot::file(file))?;
        buffers.push(bytes);
    }
    Ok(buffers)
}

/// The bytes of a `data:` URI, of which `data` is the rest.
fn embedded(file: &str, data: &str) -> Result<Vec<u8>, IoError> {
    let Some((_, text)) = data.split_once(";base64,") else {
        return Err(syntax(file, "one of its buffers is not in base64"));
    };
    STANDARD.decode(text).map_err(|error| syntax(file, format!("one of its buffers: {error}")))
}

fn beside(content: &Content<'_>, uri: &str, meter: &Meter) -> Result<Vec<u8>, IoError> {
    let refused = |hint| {
        let what = format!("the URI {}", quoted(uri));
        IoError::unsupported(Spot::file(content.file), what, hint)
    };
    let relative = decoded(uri).filter(|path| is_below(path));
    let relative = relative
        .ok_or_else(|| refused("buffers are only read from the directory of the document"))?;
    let directory = content.path.and_then(Path::parent);
    let Some(directory) = directory else {
        return Err(refused("read the document from a file, or embed its buffers"));
    };
    let target = directory.join(&relative);
    let name = target.display().to_string();
    let failed = IoError::reading(&name);
    // Links may not lead outside the directory either.
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let real = target.canonicalize().map_err(&failed)?;
    if !real.starts_with(directory.canonicalize().map_err(&failed)?) {
        return Err(refused("buffers are only read from the directory of the document"));
    }
    meter.read_file(&real, &name)
}

/// The path in a URI, with `%20` and the like decoded.
fn decoded(uri: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(uri.len());
    let mut rest = uri.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

fn is_below(path: &Path) -> bool {
    let text = path.to_string_lossy();
    !text.contains([':', '\\', '\0'])
        && path.components().all(|part| match part {
            Component::Normal(_) | Component::CurDir => true,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_the_directory_are_accepted() {
        let is_taken = |uri| decoded(uri).is_some_and(|path| is_below(&path));
        assert!(is_taken("a%20b.bin") && is_taken("./x/y.bin"));
        for uri in ["../a", "/etc/passwd", "http://a/b", "x/%2e%2e/%2e%2e/y", "C:\\a", "%zz", "%4"]
        {
            assert!(!is_taken(uri), "{uri}");
        }
    }
}
