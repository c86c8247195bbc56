//! Text with commas or tabs between cells.
//!
//! The first line names the columns; names and numbers may have spaces around them, text keeps
//! its own. A vector is several columns named by component, `p.x,p.y,p.z`; written columns always
//! are, read ones may also be `p_x,p_y,p_z` in any order if a vector is asked for. Numbers are
//! decimal, `nan`, `inf` or `-inf`; truths are `true` and `false`. An empty cell is the empty text
//! in a column of text, a NaN in a column of floats (or one of numbers or truths whose type is not
//! asked for), and an error in any other. A column in which some number has leading zeros, `0012`,
//! is text unless a type is asked for. Lists have no form.

use std::io::Write;

use ::csv::{ByteRecord, ReaderBuilder, WriterBuilder};
use millstream_base::literal::form_of;
use millstream_base::types::Kind;
use millstream_base::{Column, Lane, Type};

use crate::builder::{Budget, Builder};
use crate::encoder::{ColumnSpec, Encoder, cannot_write};
use crate::error::{IoError, Spot, quoted};
use crate::format::Format;
use crate::guess::Guess;
use crate::options::Wanted;
use crate::plan::{Fields, Naming, Target, components};
use crate::scalar::{Misfit, parse_lane, print_lane};
use crate::table::Table;

mod blocks;

pub(crate) use blocks::CsvBlocks;

const NAMING: Naming = Naming {
    separators: &['.', '_'],
    automatic: '.',
    customs: &[],
    whole_vectors: false,
    main: None,
};

const LISTS: &str = "jsonl, parquet and arrow hold lists";

/// Reads the wanted columns; the text is read twice if types are to be found out.
pub(crate) fn read(
    file: &str,
    format: Format,
    bytes: &[u8],
    wanted: Wanted<'_>,
    budget: &Budget,
) -> Result<Table, IoError> {
    let mut rows = Rows::open(file, format, bytes)?;
    let names = rows.names()?;
    let guesses = if wanted.has_all_types() {
        vec![Guess::Float; names.len()]
    } else {
        let guesses = rows.guess(&names, budget)?;
        rows = Rows::open(file, format, bytes)?;
        rows.names()?;
        guesses
    };
    let is_number = |field: usize| matches!(guesses[field], Guess::Int { .. } | Guess::Float);
    let n_main = names.len();
    let fields = Fields { file, names: &names, n_main, is_number: &is_number, naming: &NAMING };
    let targets = fields.plan(wanted)?;
    let mut builders = Vec::with_capacity(targets.len());
    for target in &targets {
        let guess = || guesses[target.fields[0]].ty().unwrap_or(Type::STRING);
        builders.push(builder_for(file, &target.name, target.ty.unwrap_or_else(guess))?);
    }
    let mut n_rows = 0;
    while let Some(line) = rows.next(names.len())? {
        n_rows += 1;
        if n_rows % 4096 == 0 {
            budget.check(&builders, || Spot::line(file, line))?;
        }
        for (target, builder) in targets.iter().zip(&mut builders) {
            rows.push(target, builder, &names, line)?;
        }
    }
    budget.check_rows(n_rows, || Spot::file(file))?;
    budget.check(&builders, || Spot::file(file))?;
    let mut table = Table::new(file);
    for (target, builder) in targets.iter().zip(builders) {
        table.insert(&target.name, builder.finish())?;
    }
    Ok(table)
}

fn builder_for(file: &str, name: &str, ty: Type) -> Result<Builder, IoError> {
    let builder = match ty.kind() {
        Kind::Lanes(..) | Kind::String => Builder::new(ty),
        Kind::List(_) | Kind::Opaque => None,
    };
    builder.ok_or_else(|| IoError::OtherType {
        spot: Spot::file(file).column(name),
        ty,
        found: "one number or text per row".into(),
        hint: "lists are read from json".into(),
    })
}

/// Where in a cell a byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Start,
    Plain,
    Quoted,
    /// Behind a quote that closes, unless another one follows.
    Closed,
}

/// The records of a text, one at a time.
struct Rows<'a> {
    file: &'a str,
    format: Format,
    bytes: &'a [u8],
    reader: ::csv::Reader<&'a [u8]>,
    record: ByteRecord,
    /// Lines of the file before these bytes.
    n_lines: u64,
}

impl<'a> Rows<'a> {
    fn open(file: &'a str, format: Format, bytes: &'a [u8]) -> Result<Self, IoError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.iter().all(u8::is_ascii_whitespace) {
            let reason = "it is empty; the first line names the columns".into();
            return Err(IoError::Syntax { spot: Spot::file(file), format, reason });
        }
        Ok(Self::part(file, format, bytes, 0))
    }

    /// The records of a part of a text, so many lines below its start.
    fn part(file: &'a str, format: Format, bytes: &'a [u8], n_lines: u64) -> Self {
        let mut reader = ReaderBuilder::new();
        let reader = reader.delimiter(separator(format)).has_headers(false).flexible(true);
        let reader = reader.from_reader(bytes);
        Self { file, format, bytes, reader, record: ByteRecord::new(), n_lines }
    }

    /// Bytes up to the end of the current record.
    fn end(&self) -> usize {
        self.reader.position().byte() as usize
    }

    /// The names of the columns, from the first line.
    fn names(&mut self) -> Result<Vec<String>, IoError> {
        let line = self.advance()?.unwrap_or(1);
        self.check_closed(line)?;
        self.names_at(line)
    }

    /// Refuses a last record that ends within a quoted cell: the text was cut off, or a quote is
    /// missing and the cell has swallowed all that follows.
    fn check_closed(&self, line: u64) -> Result<(), IoError> {
        if self.end() < self.bytes.len() {
            return Ok(());
        }
        let start = self.record.position().map_or(0, |start| start.byte() as usize);
        let text = self.bytes.get(start..).unwrap_or(&[]);
        let separator = separator(self.format);
        let mut cell = Cell::Start;
        let mut last_quoted = line;
        let mut here = line;
        for byte in text.iter().skip_while(|byte| matches!(byte, b'\r' | b'\n')) {
            here += u64::from(*byte == b'\n');
            cell = match (cell, byte) {
                (Cell::Quoted, b'"') => Cell::Closed,
                (Cell::Quoted, _) => Cell::Quoted,
                (Cell::Start | Cell::Closed, b'"') => {
                    // Two quotes within a quoted cell stand for one.
                    last_quoted = if cell == Cell::Start { here } else { last_quoted };
                    Cell::Quoted
                }
                (_, b'\r' | b'\n') => Cell::Start,
                (_, byte) if *byte == separator => Cell::Start,
                _ => Cell::Plain,
            };
        }
        if cell != Cell::Quoted {
            return Ok(());
        }
        let spot = Spot::line(self.file, last_quoted);
        let reason = "a cell that begins with a quote is not closed with one".into();
        Err(IoError::Syntax { spot, format: self.format, reason })
    }

    /// The names in the current record.
    fn names_at(&self, line: u64) -> Result<Vec<String>, IoError> {
        let mut names: Vec<String> = Vec::with_capacity(self.record.len());
        let mut seen = std::collections::HashSet::new();
        for i in 0..self.record.len() {
            let name = self.cell(i, line, "")?.trim();
            if !seen.insert(name.to_owned()) {
                let spot = Spot::line(self.file, line).column(name);
                return Err(IoError::DuplicateColumn { spot });
            }
            names.push(name.to_owned());
        }
        let is_number =
            |name: &String| name.bytes().any(|b| b.is_ascii_digit()) && name.parse::<f64>().is_ok();
        if names.iter().all(is_number) {
            return Err(IoError::NoNames { spot: Spot::line(self.file, line) });
        }
        Ok(names)
    }

    /// Moves to the next record and returns its line.
    fn advance(&mut self) -> Result<Option<u64>, IoError> {
        let more = self.reader.read_byte_record(&mut self.record).map_err(|error| {
            let reason = error.to_string();
            IoError::Syntax { spot: Spot::file(self.file), format: self.format, reason }
        })?;
        Ok(more.then(|| self.line()))
    }

    /// The line on which the current record starts; the reader places it before blank lines.
    fn line(&self) -> u64 {
        let Some(start) = self.record.position() else { return 0 };
        let text = self.bytes.get(start.byte() as usize..).unwrap_or(&[]);
        let blank = text.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        self.n_lines + start.line() + blank.filter(|byte| **byte == b'\n').count() as u64
    }

    /// Moves to the next record, which must have a cell for each name.
    fn next(&mut self, n_names: usize) -> Result<Option<u64>, IoError> {
        let line = self.advance()?;
        if let Some(line) = line {
            self.check_closed(line)?;
            self.check_length(n_names, line)?;
        }
        Ok(line)
    }

    fn check_length(&self, n_names: usize, line: u64) -> Result<(), IoError> {
        if self.record.len() == n_names {
            return Ok(());
        }
        let spot = Spot::line(self.file, line);
        Err(IoError::RaggedRow { spot, expected: n_names, found: self.record.len() })
    }

    fn cell(&self, i: usize, line: u64, name: &str) -> Result<&str, IoError> {
        std::str::from_utf8(&self.record[i]).map_err(|_| {
            let spot = Spot::line(self.file, line);
            IoError::Encoding { spot: if name.is_empty() { spot } else { spot.column(name) } }
        })
    }

    /// The narrowest types that hold all cells of each column.
    fn guess(&mut self, names: &[String], budget: &Budget) -> Result<Vec<Guess>, IoError> {
        let mut guesses = vec![(Guess::Unknown, false); names.len()];
        let mut n_rows = 0;
        while let Some(line) = self.next(names.len())? {
            n_rows += 1;
            budget.check_rows(n_rows, || Spot::line(self.file, line))?;
            if n_rows.is_multiple_of(4096) {
                budget.go_on(|| Spot::line(self.file, line))?;
            }
            self.guess_row(names, line, &mut guesses)?;
        }
        Ok(guesses.into_iter().map(filled).collect())
    }

    /// Takes the cells of the current record into account: guesses, and whether there are gaps.
    fn guess_row(
        &self,
        names: &[String],
        line: u64,
        guesses: &mut [(Guess, bool)],
    ) -> Result<(), IoError> {
        for (i, (guess, has_gaps)) in guesses.iter_mut().enumerate() {
            let text = self.cell(i, line, &names[i])?.trim();
            *has_gaps |= text.is_empty();
            if *guess != Guess::Text {
                *guess = std::mem::take(guess).and_text(Guess::of_text(text));
            }
        }
        Ok(())
    }

    /// Appends the cells of the current record that belong to a column.
    fn push(
        &self,
        target: &Target,
        builder: &mut Builder,
        names: &[String],
        line: u64,
    ) -> Result<(), IoError> {
        let Some((lane, n)) = builder.ty().lanes() else {
            let field = target.fields[0];
            builder.push_text(self.cell(field, line, &names[field])?);
            return Ok(());
        };
        for &field in &target.fields {
            let text = self.cell(field, line, &names[field])?.trim();
            builder.push_bits(self.lane(text, lane, line, &names[field])?);
        }
        for _ in target.fields.len()..usize::from(n) {
            // Only the alpha of a color may be left out.
            builder.push_bits(u64::from(1.0_f32.to_bits()));
        }
        Ok(())
    }

    /// What to say if the only name looks like several that something else separates.
    fn other_separator(&self, name: &str) -> String {
        let by = [(b',', "commas"), (b'\t', "tabs"), (b';', "semicolons"), (b'|', "bars")];
        let ours = separator(self.format);
        let is_other = |(sign, _): &&(u8, _)| *sign != ours && name.as_bytes().contains(sign);
        let other = by.iter().find(is_other).filter(|_| self.record.len() == 1);
        let Some((_, other)) = other else { return String::new() };
        let what = if ours == b',' { "commas" } else { "tabs" };
        let hint = if *other == "tabs" { "; give the file as tsv" } else { "" };
        format!(
            "; {} files have {what} between cells, this one seems to have {other}{hint}",
            self.format
        )
    }

    fn lane(&self, text: &str, lane: Lane, line: u64, name: &str) -> Result<u64, IoError> {
        let ty = Type::of_lane(lane);
        let spot = || Spot::line(self.file, line).column(name);
        if text.is_empty() {
            return match lane {
                Lane::F32 => Ok(u64::from(f32::NAN.to_bits())),
                Lane::F64 => Ok(f64::NAN.to_bits()),
                Lane::Bool | Lane::I32 | Lane::I64 => {
                    Err(IoError::MissingCell { spot: spot(), ty })
                }
            };
        }
        parse_lane(text, lane).map_err(|misfit| match misfit {
            Misfit::Shape => {
                let form = form_of(ty) + &self.other_separator(name);
                IoError::NotOfType { spot: spot(), ty, found: quoted(text), form }
            }
            Misfit::Range => IoError::OutOfRange { spot: spot(), ty, found: quoted(text) },
        })
    }
}

/// The guess for a column, with or without gaps.
fn filled((guess, has_gaps): (Guess, bool)) -> Guess {
    if has_gaps { guess.with_gaps() } else { guess }
}

/// What stands between cells.
fn separator(format: Format) -> u8 {
    if format == Format::Tsv { b'\t' } else { b',' }
}

/// Writes text with commas or tabs between cells.
#[derive(Debug)]
pub(crate) struct CsvEncoder {
    format: Format,
}

impl CsvEncoder {
    pub(crate) fn new(format: Format) -> Self {
        Self { format }
    }

    fn writer<'w>(&self, out: &'w mut dyn Write) -> ::csv::Writer<&'w mut dyn Write> {
        WriterBuilder::new().delimiter(separator(self.format)).from_writer(out)
    }
}

impl Encoder for CsvEncoder {
    fn begin(
        &mut self,
        file: &str,
        columns: &[ColumnSpec],
        out: &mut dyn Write,
    ) -> Result<(), IoError> {
        let mut header = Vec::new();
        for column in columns {
            match column.ty.kind() {
                Kind::Lanes(_, 1) | Kind::String => header.push(column.name.clone()),
                Kind::Lanes(..) => header.extend(
                    components(column.ty).iter().map(|part| format!("{}.{part}", column.name)),
                ),
                Kind::List(_) => {
                    return Err(cannot_write(file, self.format, column, LISTS));
                }
                Kind::Opaque => {
                    let hint = "only types with a text form can be written";
                    return Err(cannot_write(file, self.format, column, hint));
                }
            }
        }
        let mut writer = self.writer(out);
        let written = writer.write_record(&header).map_err(std::io::Error::from);
        written.and_then(|()| writer.flush()).map_err(|source| write_error(file, source))
    }

    fn rows(&mut self, file: &str, block: &[Column], out: &mut dyn Write) -> Result<(), IoError> {
        write_rows(block, self.writer(out)).map_err(|source| write_error(file, source))
    }
}

fn write_error(file: &str, source: std::io::Error) -> IoError {
    IoError::Write { file: file.to_owned(), source }
}

fn write_rows(
    block: &[Column],
    mut writer: ::csv::Writer<&mut dyn Write>,
) -> Result<(), std::io::Error> {
    let mut text = String::new();
    for row in 0..block.first().map_or(0, Column::len) {
        for column in block {
            if let Some(texts) = column.as_slice::<std::sync::Arc<str>>() {
                writer.write_field(texts[row].as_bytes())?;
                continue;
            }
            let value = column.get(row);
            let (lane, n) = column.ty().lanes().expect("other types were refused at the start");
            for i in 0..usize::from(n) {
                text.clear();
                print_lane(value.lane(i).expect("the value has its lanes"), lane, &mut text);
                writer.write_field(&text)?;
            }
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()
}

#[cfg(test)]
mod tests;
