//! Why a file could not be read or written, with the position in the file and the next step.

use std::fmt;
use std::io;

use millstream_base::literal::form_of;
use millstream_base::{Ended, Limit, Type};

/// A position in a data file: the file, and line or row and column if known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The file as the caller named it.
    pub file: String,
    /// The part of the file.
    pub part: Part,
    /// The column.
    pub column: Option<String>,
}

/// A part of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// A line of text, from 1, counting the line of names.
    Line(u64),
    /// A row of a file without meaningful lines, from 1.
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

    /// The line of byte `at` of the file.
    pub(crate) fn line_of_byte(file: &str, bytes: &[u8], at: usize) -> Self {
        Self::line(file, bytes[..at].split(|byte| *byte == b'\n').count() as u64)
    }

    /// A row of the file, from 1.
    pub fn row(file: &str, row: u64) -> Self {
        Self { part: Part::Row(row), ..Self::file(file) }
    }

    /// The same position, in this column.
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
    /// The extension of the file does not name a format.
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
    #[diagnostic(code(io::not_built), help("build it with the feature `{feature}`"))]
    NotBuilt {
        /// The file.
        file: String,
        /// Its format.
        format: &'static str,
        /// The feature of the build that is missing.
        feature: &'static str,
    },
    /// The operating system could not read the file.
    #[error("cannot read `{file}`: {source}")]
    #[diagnostic(code(io::read), help("{}", hint_of(source)))]
    Read {
        /// The file.
        file: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The operating system could not write the file.
    #[error("cannot write `{file}`: {source}")]
    #[diagnostic(
        code(io::write),
        help("the previous file, if any, is unchanged; check the directory and its free space")
    )]
    Write {
        /// The file.
        file: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file or its content exceeds a limit.
    #[error("{spot} has more than {most} {what}")]
    #[diagnostic(
        code(io::limit),
        help("raise `{}` in the limits if the file is intended to be this large", limit.name)
    )]
    Limit {
        /// The place where the limit was exceeded.
        spot: Spot,
        /// The kind of thing that was counted.
        what: &'static str,
        /// The limit's value.
        most: usize,
        /// The limit.
        limit: &'static Limit,
    },
    /// Reading was cancelled, or the deadline has passed.
    #[error("reading {spot} {why}")]
    #[diagnostic(code(io::ended), help("{}", match why {
        Ended::Cancelled => "read it again",
        Ended::Deadline => "allow more time, or read less",
    }))]
    Ended {
        /// The position that was reached.
        spot: Spot,
        /// The reason.
        why: Ended,
    },
    /// Text that is not UTF-8.
    #[error("{spot} is not valid UTF-8")]
    #[diagnostic(code(io::encoding), help("save the file as UTF-8"))]
    Encoding {
        /// The position of the first such byte.
        spot: Spot,
    },
    /// The file does not follow its format.
    #[error("{spot} is not valid {format}: {reason}")]
    #[diagnostic(code(io::syntax), help("{form}"))]
    Syntax {
        /// The position.
        spot: Spot,
        /// The format that was expected.
        format: &'static str,
        /// The rule that the file breaks.
        reason: String,
        /// The form of valid files.
        form: &'static str,
    },
    /// The file breaks a rule of its format that needs its own wording.
    #[error("{spot} {problem}")]
    #[diagnostic(code(io::content), help("{hint}"))]
    Content {
        /// The position.
        spot: Spot,
        /// The problem, as the rest of a sentence about the position.
        problem: String,
        /// The next step.
        hint: String,
    },
    /// The file ends before or after the end announced by its header.
    #[error("{spot} should hold {expected} of data, but holds {found}")]
    #[diagnostic(
        code(io::length),
        help(
            "the file is cut off, has extra data at its end, or was written by two programs at once"
        )
    )]
    Length {
        /// The file.
        spot: Spot,
        /// The amount announced by the header.
        expected: String,
        /// The actual amount.
        found: String,
    },
    /// The file is valid but holds data that columns cannot hold.
    #[error("{spot} holds {what}, which cannot be read")]
    #[diagnostic(code(io::unsupported), help("{hint}"))]
    Unsupported {
        /// The position.
        spot: Spot,
        /// The data.
        what: String,
        /// The next step.
        hint: String,
    },
    /// Two columns have the same name.
    #[error("{spot} occurs twice")]
    #[diagnostic(code(io::duplicate_column), help("give each column a different name"))]
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
        /// The requested name.
        name: String,
        /// The nearest name, or all of them.
        hint: String,
    },
    /// The caller named no column, but there are several.
    #[error("`{file}` has several columns, but none called `{name}`")]
    #[diagnostic(code(io::choose_column), help("name one of them: {known}"))]
    ChooseColumn {
        /// The file.
        file: String,
        /// The name that would have been used.
        name: String,
        /// The columns.
        known: String,
    },
    /// A cell without a value, in a column whose type has none for missing values.
    #[error("{spot} is {absence} where {ty} is needed")]
    #[diagnostic(code(io::missing_cell), help("{}", in_place_of_nothing(*ty)))]
    MissingCell {
        /// The cell.
        spot: Spot,
        /// The notation of the format for a missing value: `empty` or `null`.
        absence: &'static str,
        /// The type of the column.
        ty: Type,
    },
    /// A cell that does not have its column's type.
    #[error("{spot}: {found} is not a valid {ty}")]
    #[diagnostic(code(io::not_of_type), help("{ty} is written as {form}"))]
    NotOfType {
        /// The cell.
        spot: Spot,
        /// The type of the column.
        ty: Type,
        /// The cell's content, shortened.
        found: String,
        /// The notation of the type.
        form: String,
    },
    /// A number that the type of its column cannot hold.
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
    /// A column of the file cannot be read as the requested type.
    #[error("{spot} holds {found} and cannot be read as {ty}")]
    #[diagnostic(code(io::other_type), help("{hint}"))]
    OtherType {
        /// The column.
        spot: Spot,
        /// The requested type.
        ty: Type,
        /// The data in the file.
        found: String,
        /// The next step.
        hint: String,
    },
    /// Columns of a table differ in length.
    #[error("in `{file}` the column `{first}` has {n_first} rows, but `{second}` has {n_second}")]
    #[diagnostic(
        code(io::column_lengths),
        help("the columns of a table must have the same length; read them one by one")
    )]
    Lengths {
        /// The file.
        file: String,
        /// A column.
        first: String,
        /// Its number of rows.
        n_first: usize,
        /// A column of another length.
        second: String,
        /// Its number of rows.
        n_second: usize,
    },
    /// The format cannot hold a column of this type or name.
    #[error("`{file}`: {format} cannot hold the column `{column}` of type {ty}")]
    #[diagnostic(code(io::cannot_write), help("{hint}"))]
    CannotWrite {
        /// The file.
        file: String,
        /// Its format.
        format: &'static str,
        /// The column.
        column: String,
        /// Its type.
        ty: Type,
        /// The next step.
        hint: String,
    },
    /// The format cannot hold these columns together.
    #[error("`{file}`: {format} cannot hold these columns: {columns}")]
    #[diagnostic(code(io::cannot_write_table), help("{hint}"))]
    CannotWriteTable {
        /// The file.
        file: String,
        /// Its format.
        format: &'static str,
        /// The columns.
        columns: String,
        /// The next step.
        hint: String,
    },
    /// A face has a corner that is no row of the table.
    #[error("`{file}`: the faces do not fit the vertices")]
    #[diagnostic(code(io::wrong_faces), help("{reason}"))]
    WrongFaces {
        /// The file.
        file: String,
        /// The first such face, and the rows.
        reason: String,
    },
    /// A block does not match the columns of the writer.
    #[error("`{file}`: a block of rows does not match the columns of the file: {reason}")]
    #[diagnostic(
        code(io::wrong_block),
        help("pass one column for each column of the file, with its type, all of the same length")
    )]
    WrongBlock {
        /// The file.
        file: String,
        /// The difference.
        reason: String,
    },
}

/// The next step after the operating system refused to read.
fn hint_of(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "check the path, which is relative to the current directory",
        io::ErrorKind::PermissionDenied => "ask for permission to read it",
        io::ErrorKind::IsADirectory => "name a file inside it",
        _ => "check the file and its device",
    }
}

/// Text for a message, shortened and quoted.
pub(crate) fn quoted(text: &str) -> String {
    let is_long = text.chars().count() > 40;
    let shown = text.chars().take(if is_long { 37 } else { 40 });
    // Double quotes need no escapes inside backticks.
    let shown = shown.map(|c| match c {
        '\'' | '"' => c.to_string(),
        c => c.escape_debug().to_string(),
    });
    format!("`{}{}`", shown.collect::<String>(), if is_long { "..." } else { "" })
}

/// The next step for a cell without a value.
fn in_place_of_nothing(ty: Type) -> String {
    if ty.element().is_some() {
        return "write a list without items as [], or fill it in the file".into();
    }
    "a missing value is \"\" in a column of strings and nan in a column of floats; read the column \
     as one of these, or fill the gap in the file"
        .into()
}

impl IoError {
    /// The error for a file that the operating system could not read.
    pub(crate) fn reading(file: &str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Read { file: file.to_owned(), source }
    }

    /// The error for a value that is not of its column's type.
    pub(crate) fn not_of_type(spot: Spot, ty: Type, found: String) -> Self {
        Self::NotOfType { spot, ty, found, form: form_of(ty) }
    }

    /// The error for a file that is valid but holds data that columns cannot hold.
    pub(crate) fn unsupported(
        spot: Spot,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::Unsupported { spot, what: what.into(), hint: hint.into() }
    }

    /// The error for a column of the file that cannot be read as the requested type.
    pub(crate) fn other_type(
        spot: Spot,
        ty: Type,
        found: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::OtherType { spot, ty, found: found.into(), hint: hint.into() }
    }
}
