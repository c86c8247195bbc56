//! Why a file could not be read or written, with the place in the file and the next step.

use std::fmt;
use std::io;

use millstream_base::Type;

use crate::format::Format;
use crate::until::Ended;

/// A place in a data file: the file, and line or row and column where they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The file as the caller named it.
    pub file: String,
    /// Which part of it.
    pub part: Part,
    /// The column.
    pub column: Option<String>,
}

/// A part of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// A line of text, from 1; the line of names counts.
    Line(u64),
    /// A row of a file without lines that matter, from 1.
    Row(u64),
}

impl Spot {
    /// The whole file.
    pub fn file(file: &str) -> Self {
        Self { file: file.to_owned(), part: Part::Whole, column: None }
    }

    /// A line of the file, from 1.
    pub fn line(file: &str, line: u64) -> Self {
        Self { part: Part::Line(line), ..Self::file(file) }
    }

    /// The line on which byte `at` of the file's bytes stands.
    pub(crate) fn line_of_byte(file: &str, bytes: &[u8], at: usize) -> Self {
        Self::line(file, bytes[..at].split(|byte| *byte == b'\n').count() as u64)
    }

    /// A row of the file, from 1.
    pub fn row(file: &str, row: u64) -> Self {
        Self { part: Part::Row(row), ..Self::file(file) }
    }

    /// The same place, in this column.
    pub fn column(self, column: &str) -> Self {
        Self { column: Some(column.to_owned()), ..self }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.file)?;
        match self.part {
            Part::Whole => {}
            Part::Line(line) => write!(f, " line {line}")?,
            Part::Row(row) => write!(f, " row {row}")?,
        }
        match &self.column {
            Some(column) => write!(f, " column `{column}`"),
            None => Ok(()),
        }
    }
}

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum IoError {
    /// The extension of the file names no format.
    #[error("`{file}` has no extension that names a format")]
    #[diagnostic(code(io::unknown_format), help("name the format or use one of: {known}"))]
    UnknownFormat {
        /// The file.
        file: String,
        /// The formats.
        known: String,
    },
    /// The format was left out of this build.
    #[error("`{file}`: this build cannot read or write {format}")]
    #[diagnostic(code(io::not_built), help("build it with the feature `arrow`"))]
    NotBuilt {
        /// The file.
        file: String,
        /// Its format.
        format: Format,
    },
    /// The operating system could not read the file.
    #[error("cannot read `{file}`: {source}")]
    #[diagnostic(code(io::read), help("{}", hint_of(source)))]
    Read {
        /// The file.
        file: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The operating system could not write the file.
    #[error("cannot write `{file}`: {source}")]
    #[diagnostic(
        code(io::write),
        help("nothing was left under this name that was not there before")
    )]
    Write {
        /// The file.
        file: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file or what it holds is beyond a limit.
    #[error("{spot} has more than {limit} {what}")]
    #[diagnostic(
        code(io::limit),
        help("raise `{name}` in the limits if the file is meant to be so large")
    )]
    Limit {
        /// Where the limit was hit.
        spot: Spot,
        /// What was counted.
        what: &'static str,
        /// How much is allowed.
        limit: usize,
        /// The field of `Limits`.
        name: &'static str,
    },
    /// Nobody waits any more for what is read.
    #[error("reading {spot} {why}")]
    #[diagnostic(code(io::ended), help("{}", match why {
        Ended::Cancelled => "read it again",
        Ended::Deadline => "give it more time, or read less",
    }))]
    Ended {
        /// How far it was read.
        spot: Spot,
        /// Whether it was cancelled or took too long.
        why: Ended,
    },
    /// Text that is not UTF-8.
    #[error("{spot} is not valid UTF-8")]
    #[diagnostic(code(io::encoding), help("save the file as UTF-8"))]
    Encoding {
        /// Where the first such byte stands.
        spot: Spot,
    },
    /// The file does not follow its format.
    #[error("{spot} is not valid {format}: {reason}")]
    #[diagnostic(code(io::syntax), help("{}", format.form()))]
    Syntax {
        /// Where.
        spot: Spot,
        /// The format that was expected.
        format: Format,
        /// What is wrong.
        reason: String,
    },
    /// The file ends before what its header promises, or goes on after it.
    #[error("{spot} should hold {expected} of data and holds {found}")]
    #[diagnostic(
        code(io::length),
        help(
            "the file is cut off, has more behind its end, or was written by two programs at once"
        )
    )]
    Length {
        /// The file.
        spot: Spot,
        /// What the header promises.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The file is valid and holds what columns cannot.
    #[error("{spot} holds {what}, which cannot be read")]
    #[diagnostic(code(io::unsupported), help("{hint}"))]
    Unsupported {
        /// Where.
        spot: Spot,
        /// What it holds.
        what: String,
        /// The next step.
        hint: String,
    },
    /// A row with another number of cells than there are names.
    #[error("{spot} has {found} cells where the line of names has {expected}")]
    #[diagnostic(code(io::ragged_row), help("a comma inside a cell must be in quotes: \"a, b\""))]
    RaggedRow {
        /// The line.
        spot: Spot,
        /// Number of names.
        expected: usize,
        /// Number of cells.
        found: usize,
    },
    /// The line of names is missing.
    #[error("{spot} starts with numbers instead of the names of the columns")]
    #[diagnostic(code(io::no_names), help("write the names above: x,y,z"))]
    NoNames {
        /// The first line.
        spot: Spot,
    },
    /// Two columns of one name.
    #[error("{spot} stands there twice")]
    #[diagnostic(code(io::duplicate_column), help("give each column a name of its own"))]
    DuplicateColumn {
        /// The column.
        spot: Spot,
    },
    /// There is no column of this name.
    #[error("`{file}` has no column `{name}`")]
    #[diagnostic(code(io::missing_column), help("{hint}"))]
    MissingColumn {
        /// The file.
        file: String,
        /// The name that was asked for.
        name: String,
        /// The nearest name, or all of them.
        hint: String,
    },
    /// The caller named no column, and there are several.
    #[error("`{file}` has several columns and none called `{name}`")]
    #[diagnostic(code(io::choose_column), help("name one of them: {known}"))]
    ChooseColumn {
        /// The file.
        file: String,
        /// The name that would have been taken.
        name: String,
        /// The columns.
        known: String,
    },
    /// A cell that its column needs is not there.
    #[error("{spot} is empty where {ty} is needed")]
    #[diagnostic(
        code(io::missing_cell),
        help("{}", in_place_of_nothing("empty cells", *ty))
    )]
    MissingCell {
        /// The cell.
        spot: Spot,
        /// The type of the column.
        ty: Type,
    },
    /// A value that its column needs is null.
    #[error("{spot} is null where {ty} is needed")]
    #[diagnostic(
        code(io::null),
        help("{}", in_place_of_nothing("nulls", *ty))
    )]
    Null {
        /// The cell.
        spot: Spot,
        /// The type of the column.
        ty: Type,
    },
    /// A cell that is not of its column's type.
    #[error("{spot}: {found} is no {ty}")]
    #[diagnostic(code(io::not_of_type), help("{ty} is written as {form}"))]
    NotOfType {
        /// The cell.
        spot: Spot,
        /// The type of the column.
        ty: Type,
        /// The cell's text, shortened.
        found: String,
        /// How the type is written.
        form: String,
    },
    /// A number that its column's type cannot hold.
    #[error("{spot}: {found} does not fit {ty}")]
    #[diagnostic(
        code(io::out_of_range),
        help("read the column as a wider type, or write \"inf\" where infinity is meant")
    )]
    OutOfRange {
        /// The cell.
        spot: Spot,
        /// The type of the column.
        ty: Type,
        /// The number.
        found: String,
    },
    /// A column of the file cannot become one of the type that was asked for.
    #[error("{spot} holds {found} and cannot be read as {ty}")]
    #[diagnostic(code(io::other_type), help("{hint}"))]
    OtherType {
        /// The column.
        spot: Spot,
        /// The type that was asked for.
        ty: Type,
        /// What the file holds.
        found: String,
        /// The next step.
        hint: String,
    },
    /// Columns of one table differ in length.
    #[error("in `{file}` the column `{first}` has {n_first} rows and `{second}` has {n_second}")]
    #[diagnostic(
        code(io::column_lengths),
        help("the columns of one table have one length; read them one by one")
    )]
    Lengths {
        /// The file.
        file: String,
        /// A column.
        first: String,
        /// Its rows.
        n_first: usize,
        /// A column of another length.
        second: String,
        /// Its rows.
        n_second: usize,
    },
    /// The format has no form for this column.
    #[error("`{file}`: {format} cannot hold the column `{column}` of type {ty}")]
    #[diagnostic(code(io::cannot_write), help("{hint}"))]
    CannotWrite {
        /// The file.
        file: String,
        /// Its format.
        format: Format,
        /// The column.
        column: String,
        /// Its type.
        ty: Type,
        /// The next step.
        hint: String,
    },
    /// The format is not one that is written.
    #[error("`{file}`: {format} files are only read")]
    #[diagnostic(code(io::only_read), help("write vertices to ply or obj"))]
    OnlyRead {
        /// The file.
        file: String,
        /// Its format.
        format: Format,
    },
    /// The format cannot hold these columns together.
    #[error("`{file}`: {format} cannot hold these columns: {columns}")]
    #[diagnostic(code(io::cannot_write_table), help("{hint}"))]
    CannotWriteTable {
        /// The file.
        file: String,
        /// Its format.
        format: Format,
        /// The columns.
        columns: String,
        /// The next step.
        hint: String,
    },
    /// The caller's blocks do not match the columns it announced.
    #[error("`{file}`: a block of rows does not match the columns that were begun: {reason}")]
    #[diagnostic(
        code(io::wrong_block),
        help("give a column per column that was begun, of its type, all of one length")
    )]
    WrongBlock {
        /// The file.
        file: String,
        /// What differs.
        reason: String,
    },
}

/// The next step after the operating system refused to read.
fn hint_of(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "look at the path; it starts at the current directory",
        io::ErrorKind::PermissionDenied => "ask for the right to read it",
        io::ErrorKind::IsADirectory => "name a file in it",
        _ => "look at the file and the device it is on",
    }
}

/// Text for a message, shortened and in quotes.
pub(crate) fn quoted(text: &str) -> String {
    let is_long = text.chars().count() > 40;
    let shown = text.chars().take(if is_long { 37 } else { 40 });
    // Quotes stay as they are: those around are others.
    let shown = shown.map(|c| match c {
        '\'' | '"' => c.to_string(),
        c => c.escape_debug().to_string(),
    });
    format!("`{}{}`", shown.collect::<String>(), if is_long { "..." } else { "" })
}

/// What to do about a value that is not there.
fn in_place_of_nothing(what: &str, ty: Type) -> String {
    if ty.element().is_some() {
        return "a list without items is written as such, [] in JSON; fill it in the file".into();
    }
    format!(
        "{what} are read as \"\" in text and as nan in floats; read the column as one of these, or fill it"
    )
}
