//! The table of file formats.
//!
//! A format is a row here and a definition in its file or folder. The row gives [`Format`] a
//! constant; everything else follows from the definition.

use std::path::Path;

use crate::error::IoError;
use crate::format::Format;

pub mod arrow;
pub mod csv;
pub mod gltf;
pub mod json;
pub mod npy;
pub mod obj;
pub mod parquet;
pub mod ply;

macro_rules! formats {
    ($($help:literal $constant:ident = $definition:path;)+) => {
        impl Format {
            $(
                #[doc = $help]
                pub const $constant: Self = Self(&$definition);
            )+

            /// All formats.
            pub const ALL: [Self; [$(stringify!($constant)),+].len()] = [$(Self::$constant,)+];
        }
    };
}

formats! {
    "Comma-separated text with a line of names at the top." CSV = csv::CSV;
    "The same with tabs instead of commas." TSV = csv::TSV;
    "An array of objects, an array of values, or an object of arrays." JSON = json::JSON;
    "An object or value on each line." JSON_LINES = json::JSON_LINES;
    "One array of numbers." NPY = npy::NPY;
    "Vertices of a Wavefront mesh." OBJ = obj::OBJ;
    "Attributes of a polygon file." PLY = ply::PLY;
    "Columns in row groups, compressed." PARQUET = parquet::PARQUET;
    "Batches of columns as they are in memory, as a file or a stream." ARROW = arrow::ARROW;
    "Vertices of a glTF mesh, as text or binary." GLTF = gltf::GLTF;
}

impl Format {
    /// The format with this name or other extension, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        let is_named = |format: &Self| format.extensions().any(|x| x.eq_ignore_ascii_case(name));
        Self::ALL.into_iter().find(is_named)
    }

    /// Whether it is a mesh format, with faces between the rows.
    pub fn is_mesh(self) -> bool {
        [Self::OBJ, Self::PLY, Self::GLTF].contains(&self)
    }

    /// The format named by the extension of a file.
    ///
    /// # Errors
    /// If there is no extension, or it does not belong to any format.
    pub fn of_path(path: &Path) -> Result<Self, IoError> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.and_then(Self::from_name).ok_or_else(|| {
            let known = Self::ALL.into_iter().flat_map(Self::extensions).collect::<Vec<_>>();
            IoError::UnknownFormat { file: path.display().to_string(), known: known.join(", ") }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_names_the_format_in_any_case() {
        assert_eq!(Format::of_path(Path::new("a/b.PLY")).expect("known"), Format::PLY);
        assert_eq!(Format::of_path(Path::new("a/b.Glb")).expect("known"), Format::GLTF);
        let error = Format::of_path(Path::new("a/b.xlsx")).expect_err("unknown");
        assert_eq!(error.to_string(), "`a/b.xlsx` has no extension that names a format");
    }

    #[test]
    fn no_two_formats_share_an_extension() {
        let mut all: Vec<&str> =
            Format::ALL.iter().flat_map(|format| format.extensions()).collect();
        let n = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n);
    }

    #[test]
    fn the_manual_has_a_row_for_each_format() {
        let manual = include_str!("../../../docs/data.md");
        for format in Format::ALL {
            let extensions = format.extensions().collect::<Vec<_>>().join(", ");
            let row = format!("| `{format}` | {extensions} | yes |");
            assert!(manual.contains(&row), "write a row into it: {row}");
        }
    }
}
