//! The file formats and how a file says which one it is.

use std::fmt;
use std::path::Path;

use crate::error::IoError;

/// A file format for columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Comma-separated text with a line of names above.
    Csv,
    /// The same with tabs in the place of commas.
    Tsv,
    /// An array of objects, an array of values, or an object of arrays.
    Json,
    /// An object or value on each line.
    JsonLines,
    /// One array of numbers.
    Npy,
    /// Vertices of a Wavefront mesh.
    Obj,
    /// Attributes of a polygon file.
    Ply,
    /// Columns in row groups, compressed.
    Parquet,
    /// Batches of columns as they are in memory, as a file or a stream.
    Arrow,
    /// Vertices of a glTF mesh, as text or binary.
    Gltf,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 10] = [
        Self::Csv,
        Self::Tsv,
        Self::Json,
        Self::JsonLines,
        Self::Npy,
        Self::Obj,
        Self::Ply,
        Self::Parquet,
        Self::Arrow,
        Self::Gltf,
    ];

    /// The name, which is also the usual extension.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Json => "json",
            Self::JsonLines => "jsonl",
            Self::Npy => "npy",
            Self::Obj => "obj",
            Self::Ply => "ply",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Gltf => "gltf",
        }
    }

    /// What a file of the format looks like, for people whose file does not.
    pub(crate) const fn form(self) -> &'static str {
        match self {
            Self::Csv => {
                "the first line has the names of the columns, every other one as many cells, and commas stand between them"
            }
            Self::Tsv => {
                "the first line has the names of the columns, every other one as many cells, and tabs stand between them"
            }
            Self::Json => {
                "a table is written [{\"x\": 1}, {\"x\": 2}], {\"x\": [1, 2]} or, for one column, [1, 2]; a file with a row on each line is called .jsonl"
            }
            Self::JsonLines => "every line is a row, written {\"x\": 1} or, for one column, 1",
            Self::Npy => "write the file with numpy.save(file, array)",
            Self::Obj => {
                "the lines are `v x y z`, `vn x y z`, `vt u v` and `f 1/1/1 2/2/2 3/3/3`, indices from 1"
            }
            Self::Ply => {
                "the header counts elements and lists their properties; a row per element follows `end_header`"
            }
            Self::Parquet | Self::Arrow | Self::Gltf => {
                "the file may be cut off or of another format than its extension says; write it again"
            }
        }
    }

    /// Other extensions of the format.
    const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Csv | Self::Json | Self::Npy | Self::Obj | Self::Ply => &[],
            Self::Tsv => &["tab"],
            Self::JsonLines => &["ndjson"],
            Self::Parquet => &["pq"],
            Self::Arrow => &["arrows", "feather", "ipc"],
            Self::Gltf => &["glb"],
        }
    }

    /// Whether rows are read as they are asked for, so that a file need not fit into memory.
    pub const fn is_read_in_blocks(self) -> bool {
        match self {
            Self::Csv | Self::Tsv | Self::JsonLines | Self::Npy | Self::Parquet | Self::Arrow => {
                true
            }
            Self::Json | Self::Obj | Self::Ply | Self::Gltf => false,
        }
    }

    /// The format with this name or other extension, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        let is = |other: &&str| other.eq_ignore_ascii_case(name);
        Self::ALL.into_iter().find(|format| is(&format.name()) || format.aliases().iter().any(is))
    }

    /// Whether this build can read and write it: parquet and arrow take the feature `arrow`.
    pub const fn is_built(self) -> bool {
        match self {
            Self::Parquet | Self::Arrow => cfg!(feature = "arrow"),
            Self::Csv
            | Self::Tsv
            | Self::Json
            | Self::JsonLines
            | Self::Npy
            | Self::Obj
            | Self::Ply
            | Self::Gltf => true,
        }
    }

    /// The format that the extension of a file names.
    ///
    /// # Errors
    /// If there is no extension or it is of none of the formats.
    pub fn of_path(path: &Path) -> Result<Self, IoError> {
        Self::of_extension(path, |_| true)
    }

    /// The format that the extension of a file names which is written.
    ///
    /// # Errors
    /// As [`Format::of_path`]; formats that are only read are not among those it tells.
    pub fn of_written_path(path: &Path) -> Result<Self, IoError> {
        Self::of_extension(path, |format| format != Self::Gltf)
    }

    fn of_extension(path: &Path, is_told: impl Fn(Self) -> bool) -> Result<Self, IoError> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.and_then(Self::from_name).ok_or_else(|| {
            let told = Self::ALL.into_iter().filter(|format| is_told(*format));
            let names = told
                .flat_map(|format| std::iter::once(format.name()).chain(format.aliases().to_vec()));
            IoError::UnknownFormat {
                file: path.display().to_string(),
                known: names.collect::<Vec<_>>().join(", "),
            }
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
        assert_eq!(Format::of_path(Path::new("a/b.Glb")).expect("known"), Format::Gltf);
        let error = Format::of_path(Path::new("a/b.xlsx")).expect_err("unknown");
        assert_eq!(error.to_string(), "`a/b.xlsx` has no extension that names a format");
    }
}
