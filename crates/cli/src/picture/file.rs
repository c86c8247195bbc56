//! The locations of pictures: `FILE` or `FORMAT:FILE`, in which `-` is standard input or output, and
//! before either `linear:`.

use std::path::Path;

use millstream::values::Image;
use millstream_io::Budget;
use millstream_io::pictures::{PictureFormat, Transfer, read_picture, read_picture_bytes};

use crate::outcome::{Exit, Stop};
use crate::piped;
use crate::place::unnamed;
use crate::terminal::eprint;

/// The prefix of files whose integers are linear light.
const LINEAR: &str = "linear";

/// The location of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PictureFile<'a> {
    pub(crate) path: &'a Path,
    /// The format, if it is named explicitly.
    pub(crate) format: Option<PictureFormat>,
    /// Whether integers are linear light, where a file that is read does not state otherwise.
    pub(crate) is_linear: bool,
}

impl<'a> PictureFile<'a> {
    /// Parses a location. Prefixes may stand in any order, and end where a file exists under the
    /// rest of the text.
    pub(crate) fn of(text: &'a str) -> Self {
        let mut of = Self { path: Path::new(text), format: None, is_linear: false };
        while !of.path.exists()
            && let Some((prefix, file)) = of.path.to_str().and_then(|text| text.split_once(':'))
            && !file.is_empty()
        {
            match PictureFormat::from_name(prefix) {
                Some(format) if of.format.is_none() => of.format = Some(format),
                None if prefix == LINEAR && !of.is_linear => of.is_linear = true,
                Some(_) | None => break,
            }
            of.path = Path::new(file);
        }
        of
    }

    /// Whether the location has a prefix.
    pub(crate) fn has_prefix(&self) -> bool {
        self.format.is_some() || self.is_linear
    }

    /// Reads an image.
    pub(crate) fn read(&self, limits: &millstream::Limits, until: &Budget) -> Result<Image, Stop> {
        let untagged = if self.is_linear { Transfer::Linear } else { Transfer::Srgb };
        let name = piped::name_of(self.path);
        let picture = if piped::is_stdin(self.path) {
            let format = self.format.ok_or_else(|| unnamed("input", "@png:-"))?;
            let bytes = piped::data(self.path, limits, until)?;
            read_picture_bytes(&name, bytes, (format, untagged), limits, until)
        } else {
            read_picture(self.path, (self.format, untagged), limits, until)
        };
        let picture = picture.map_err(|error| Stop::data(Exit::Wrong, &error))?;
        for note in &picture.notes {
            eprint(&format!("{name}: {note}\n"));
        }
        Ok(picture.image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_and_the_encoding_precede_the_file() {
        let of = |text| {
            let PictureFile { path, format, is_linear } = PictureFile::of(text);
            (path.to_str().expect("it is text"), format, is_linear)
        };
        assert_eq!(of("a.png"), ("a.png", None, false));
        assert_eq!(of("PNG:a.jpg"), ("a.jpg", Some(PictureFormat::Png), false));
        assert_eq!(of("linear:a.png"), ("a.png", None, true));
        assert_eq!(of("linear:tif:-"), ("-", Some(PictureFormat::Tiff), true));
        assert_eq!(of("exr:linear:C:\\a"), ("C:\\a", Some(PictureFormat::Exr), true));
        assert_eq!(of("png:"), ("png:", None, false));
        assert_eq!(of("png:jpeg:a"), ("jpeg:a", Some(PictureFormat::Png), false));
        assert_eq!(of("csv:a.png"), ("csv:a.png", None, false));
    }
}
