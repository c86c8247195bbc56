//! Data locations: a file or standard stream, its format, and a column in it.
//!
//! The syntax is `FILE`, `FILE:COLUMN`, `FORMAT:FILE` or `FORMAT:FILE:COLUMN`. The file `-` is
//! standard input or output; it has no extension, so it needs a format.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use millstream_io::{ColumnSpec, Faces, Format, IoError, TableWriter, WriteOptions};

use crate::outcome::{Exit, Stop};
use crate::piped;

/// The name of standard output in messages.
pub(crate) const STDOUT: &str = "standard output";

/// The location of input data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    pub(crate) file: &'a str,
    /// The format, if it is named explicitly.
    pub(crate) format: Option<Format>,
    pub(crate) column: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// Parses a location. The part after the last colon is a column and the part before the first
    /// colon a format, unless a file exists under the whole name.
    pub(crate) fn of(text: &'a str) -> Self {
        let table = Self::of_table(text);
        match table.file.rsplit_once(':') {
            Some((file, column))
                if !column.is_empty()
                    && !column.contains(['/', '\\'])
                    && !Path::new(text).exists() =>
            {
                Self { file, column: Some(column), ..table }
            }
            Some(_) | None => table,
        }
    }

    /// Like [`Place::of`] without a column: colons after the format belong to the file name.
    pub(crate) fn of_table(text: &'a str) -> Self {
        let (format, file) = split_format(text);
        Self { file, format, column: None }
    }

    pub(crate) fn path(&self) -> &'a Path {
        Path::new(self.file)
    }

    pub(crate) fn is_stdin(&self) -> bool {
        piped::is_stdin(self.path())
    }

    /// Whether the location is a stream, which can be read only once.
    pub(crate) fn is_piped(&self) -> bool {
        piped::is_piped(self.path())
    }

    /// The format of a stream, which must be named for standard input.
    pub(crate) fn format_of_stream(&self) -> Result<Format, Stop> {
        match self.format {
            Some(format) => Ok(format),
            None if self.is_stdin() => Err(unnamed("input", "@csv:-")),
            None => Format::of_path(self.path()).map_err(|error| Stop::data(Exit::Wrong, &error)),
        }
    }
}

/// Splits off a format before the file name.
fn split_format(text: &str) -> (Option<Format>, &str) {
    let named = text.split_once(':').filter(|(_, file)| !file.is_empty());
    match named.and_then(|(name, file)| Some((Format::from_name(name)?, file))) {
        Some((format, file)) if !Path::new(text).exists() => (Some(format), file),
        Some(_) | None => (None, text),
    }
}

/// The error for a standard stream whose format is not named.
pub(crate) fn unnamed(stream: &str, example: &str) -> Stop {
    let help = Some(format!("name it before a colon: {example}"));
    Stop::new(Exit::Usage, format!("standard {stream} has no extension that names a format"), help)
}

/// The destination of outputs.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    format: Option<Format>,
    /// `None` for standard output.
    path: Option<PathBuf>,
}

impl Target {
    /// The target of `--save`. A target without a format and a file that is also read are refused
    /// before anything is computed.
    pub(crate) fn of(path: &Path, sources: &[&Path]) -> Result<Self, Stop> {
        let (format, path) = match path.to_str().map(split_format) {
            Some((format, file)) => (format, Path::new(file)),
            None => (None, path),
        };
        if path == Path::new("-") {
            let format = format.ok_or_else(|| unnamed("output", "csv:-"))?;
            return Ok(Self { format: Some(format), path: None });
        }
        if format.is_none() {
            Format::of_path(path).map_err(|error| stop(&error))?;
        }
        refuse_source(path, sources)?;
        Ok(Self { format, path: Some(path.to_owned()) })
    }

    /// Whether the format is for meshes, whose rows are vertices.
    pub(crate) fn is_mesh(&self) -> bool {
        self.format().is_some_and(Format::is_mesh)
    }

    /// Whether the format is for arrays, which have axes and no columns.
    pub(crate) fn is_array(&self) -> bool {
        self.format() == Some(Format::NPY)
    }

    /// Whether a file notes at its start that rows may lack values.
    pub(crate) fn notes_gaps(&self) -> bool {
        self.format().is_some_and(|format| ["parquet", "arrow"].contains(&format.name()))
    }

    fn format(&self) -> Option<Format> {
        self.format.or_else(|| Format::of_path(self.path.as_ref()?).ok())
    }

    pub(crate) fn is_stdout(&self) -> bool {
        self.path.is_none()
    }

    /// The name for messages.
    pub(crate) fn name(&self) -> String {
        self.path.as_ref().map_or_else(|| STDOUT.to_owned(), |path| path.display().to_string())
    }

    /// Refuses columns that the format cannot hold, before there are any rows.
    pub(crate) fn check(&self, columns: &[ColumnSpec], axes: Vec<usize>) -> Result<(), Stop> {
        let Some(format) = self.format() else { return Ok(()) };
        let options = WriteOptions { axes, ..WriteOptions::default() };
        let checked = TableWriter::check(&self.name(), format, options, columns);
        checked.map_err(|error| stop(&error))
    }

    /// A writer for these columns, with faces between their rows, or with rows that are the cells
    /// of axes of these extents; `has_gaps` says whether rows lack values.
    pub(crate) fn writer(
        &self,
        columns: Vec<ColumnSpec>,
        faces: Option<Arc<Faces>>,
        axes: Vec<usize>,
        has_gaps: bool,
    ) -> Result<TableWriter, Stop> {
        self.writer_with(columns, WriteOptions { faces, axes, has_gaps, ..WriteOptions::default() })
    }

    /// A writer for these columns.
    pub(crate) fn writer_with(
        &self,
        columns: Vec<ColumnSpec>,
        options: WriteOptions,
    ) -> Result<TableWriter, Stop> {
        let writer = match (&self.path, self.format) {
            (Some(path), format) => TableWriter::create(path, format, options, columns),
            (None, Some(format)) => {
                let out = Box::new(BufWriter::with_capacity(1 << 16, io::stdout()));
                TableWriter::to_stream(STDOUT, out, format, options, columns)
            }
            (None, None) => unreachable!("the format of standard output is named"),
        };
        writer.map_err(|error| stop(&error))
    }
}

/// Refuses to write a file that is also read.
pub(crate) fn refuse_source(path: &Path, sources: &[&Path]) -> Result<(), Stop> {
    // A file that does not exist cannot be a source.
    let Ok(target) = path.canonicalize() else { return Ok(()) };
    let is_target = |source: &&&Path| source.canonicalize().is_ok_and(|source| source == target);
    let Some(source) = sources.iter().find(is_target) else { return Ok(()) };
    let text = format!("`{}` is an input of this run and is not overwritten", source.display());
    Err(Stop::new(Exit::Usage, text, Some("save under another name".into())))
}

/// The error for something that could not be written.
pub(crate) fn stop(error: &IoError) -> Stop {
    match error {
        IoError::UnknownFormat { .. } | IoError::NotBuilt { .. } => Stop::data(Exit::Usage, error),
        IoError::CannotWrite { .. }
        | IoError::CannotWriteTable { .. }
        | IoError::WrongFaces { .. }
        | IoError::DuplicateColumn { .. } => Stop::data(Exit::Usage, error).misfit(),
        IoError::Content { .. } => Stop::data(Exit::Failed, error).misfit(),
        // The reader of the pipe has gone.
        IoError::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
            io::Error::from(io::ErrorKind::BrokenPipe).into()
        }
        _ => Stop::data(Exit::Failed, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> (Option<Format>, &str, Option<&str>) {
        let place = Place::of(text);
        (place.format, place.file, place.column)
    }

    #[test]
    fn a_column_follows_the_last_colon_and_a_format_precedes_the_first() {
        assert_eq!(split("a.csv:p"), (None, "a.csv", Some("p")));
        assert_eq!(split("a.csv"), (None, "a.csv", None));
        assert_eq!(split("C:\\a.csv"), (None, "C:\\a.csv", None));
        assert_eq!(split("csv:-"), (Some(Format::CSV), "-", None));
        assert_eq!(split("TSV:-:p"), (Some(Format::TSV), "-", Some("p")));
        assert_eq!(split("jsonl:a.log:p"), (Some(Format::JSON_LINES), "a.log", Some("p")));
        assert_eq!(split("arrow:C:\\a"), (Some(Format::ARROW), "C:\\a", None));
        assert_eq!(split("xlsx:p"), (None, "xlsx", Some("p")));
        assert_eq!(split("csv:"), (None, "csv:", None));
    }

    #[test]
    fn a_standard_stream_needs_a_format() {
        assert!(Place::of("-").format_of_stream().is_err());
        assert!(Place::of("csv:-").format_of_stream().is_ok());
        assert!(Target::of(Path::new("-"), &[]).is_err());
        assert!(Target::of(Path::new("csv:-"), &[]).is_ok_and(|target| target.is_stdout()));
    }
}
