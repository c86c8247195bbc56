//! The file formats and how a file says which one it is.

use std::fmt;
use std::path::Path;

use crate::error::IoError;

/// A file format for columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Comma-separated text with a line of names above.
    Csv,
    /// An array of objects, an array of values, or an object of arrays.
    Json,
    /// One array of numbers.
    Npy,
    /// Vertices of a Wavefront mesh.
    Obj,
    /// Attributes of a polygon file.
    Ply,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Csv, Self::Json, Self::Npy, Self::Obj, Self::Ply];

    /// The name, which is also the usual extension.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Npy => "npy",
            Self::Obj => "obj",
            Self::Ply => "ply",
        }
    }

    /// The format with this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(name))
    }

    /// The format that the extension of a file names.
    ///
    /// # Errors
    /// If there is no extension or it is of none of the formats.
    pub fn of_path(path: &Path) -> Result<Self, IoError> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.and_then(Self::from_name).ok_or_else(|| IoError::UnknownFormat {
            file: path.display().to_string(),
            known: Self::ALL.map(Self::name).join(", "),
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_names_the_format_in_any_case() {
        assert_eq!(Format::of_path(Path::new("a/b.PLY")).expect("known"), Format::Ply);
        let error = Format::of_path(Path::new("a/b.xlsx")).expect_err("unknown");
        assert_eq!(error.to_string(), "`a/b.xlsx` has no extension that names a format");
    }
}
