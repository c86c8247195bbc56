//! The records of a text file, and the cells in them.

use std::io::{Chain, Read as _};

use ::csv::{ByteRecord, ReaderBuilder};
use millstream_base::Lane;
use millstream_base::literal::form_of;
use millstream_base::types::Type;

use super::Dialect;
use crate::builder::Builder;
use crate::error::{IoError, Spot, quoted};
use crate::fields::Target;
use crate::guess::Seen;
use crate::scalar::{Misfit, missing_lane, parse_lane};

/// The position of a byte within a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Start,
    Plain,
    Quoted,
    /// After a closing quote, unless another quote follows.
    Closed,
}

/// The records of a part of a text file, one at a time.
pub(super) struct Rows<'a> {
    file: &'a str,
    dialect: &'static Dialect,
    bytes: &'a [u8],
    reader: ::csv::Reader<Chain<&'static [u8], &'a [u8]>>,
    /// A line break that the reader gets before these bytes, so that it does not mistake the start
    /// of the first cell for a byte order mark.
    n_before: usize,
    record: ByteRecord,
    /// Lines of the file before these bytes.
    n_lines: u64,
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        file: &'a str,
        dialect: &'static Dialect,
        bytes: &'a [u8],
        n_lines: u64,
    ) -> Self {
        let mut reader = ReaderBuilder::new();
        let reader = reader.delimiter(dialect.separator).has_headers(false).flexible(true);
        let before: &[u8] = if bytes.starts_with(b"\xef\xbb\xbf") { b"\n" } else { b"" };
        let reader = reader.from_reader(before.chain(bytes));
        let (n_before, record) = (before.len(), ByteRecord::new());
        Self { file, dialect, bytes, reader, n_before, record, n_lines }
    }

    /// The bytes up to the end of the current record.
    pub(super) fn end(&self) -> usize {
        self.reader.position().byte() as usize - self.n_before
    }

    /// The byte and the line at which the reader locates the current record.
    fn start(&self) -> Option<(usize, u64)> {
        let start = self.record.position()?;
        // The first record is located before the inserted line break.
        let is_first = start.byte() == 0;
        let n_lines = if is_first { 0 } else { self.n_before as u64 };
        Some(((start.byte() as usize).saturating_sub(self.n_before), start.line() - n_lines))
    }

    pub(super) fn spot(&self, line: u64) -> Spot {
        Spot::line(self.file, line)
    }

    /// Refuses a last record that ends within a quoted cell: the file was cut off, or a quote is
    /// missing and the cell swallowed the rest.
    pub(super) fn check_closed(&self, line: u64) -> Result<(), IoError> {
        if self.end() < self.bytes.len() {
            return Ok(());
        }
        let start = self.start().map_or(0, |(byte, _)| byte);
        let text = self.bytes.get(start..).unwrap_or(&[]);
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
                (_, byte) if *byte == self.dialect.separator => Cell::Start,
                _ => Cell::Plain,
            };
        }
        if cell != Cell::Quoted {
            return Ok(());
        }
        let reason = "a cell starts with a quote but does not end with one";
        Err(self.dialect.format.syntax(self.spot(last_quoted), reason))
    }

    /// The names in the current record.
    pub(super) fn names(&self, line: u64) -> Result<Vec<String>, IoError> {
        let mut names: Vec<String> = Vec::with_capacity(self.record.len());
        let mut seen = std::collections::HashSet::new();
        for i in 0..self.record.len() {
            let name = self.cell(i, line, "")?.trim();
            if !seen.insert(name.to_owned()) {
                return Err(IoError::DuplicateColumn { spot: self.spot(line).column(name) });
            }
            names.push(name.to_owned());
        }
        let is_number =
            |name: &String| name.bytes().any(|b| b.is_ascii_digit()) && name.parse::<f64>().is_ok();
        if names.iter().all(is_number) {
            return Err(IoError::Content {
                spot: self.spot(line),
                problem: "has numbers where the column names should be".into(),
                hint: "add a first line with the names: x,y,z".into(),
            });
        }
        Ok(names)
    }

    /// Moves to the next record and returns its line.
    pub(super) fn advance(&mut self) -> Result<Option<u64>, IoError> {
        let more = self.reader.read_byte_record(&mut self.record);
        let more = more.map_err(|error| {
            self.dialect.format.syntax(Spot::file(self.file), error.to_string())
        })?;
        Ok(more.then(|| self.line()))
    }

    /// The line on which the current record starts; the reader locates it before blank lines.
    fn line(&self) -> u64 {
        let Some((start, line)) = self.start() else { return 0 };
        let text = self.bytes.get(start..).unwrap_or(&[]);
        let blank = text.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        self.n_lines + line + blank.filter(|byte| **byte == b'\n').count() as u64
    }

    /// Checks that the current record has a cell for each name.
    pub(super) fn check_length(&self, n_names: usize, line: u64) -> Result<(), IoError> {
        let n = self.record.len();
        if n == n_names {
            return Ok(());
        }
        let cells = if n == 1 { "cell" } else { "cells" };
        Err(IoError::Content {
            spot: self.spot(line),
            problem: format!("has {n} {cells}, but the first line has {n_names}"),
            hint: "a separator inside a cell must be in quotes: \"a, b\"".into(),
        })
    }

    fn cell(&self, i: usize, line: u64, name: &str) -> Result<&str, IoError> {
        std::str::from_utf8(&self.record[i]).map_err(|_| {
            let spot = self.spot(line);
            IoError::Encoding { spot: if name.is_empty() { spot } else { spot.column(name) } }
        })
    }

    /// Adds the cells of the current record to the values seen in each column.
    pub(super) fn see(
        &self,
        names: &[String],
        line: u64,
        seen: &mut [Seen],
    ) -> Result<(), IoError> {
        for (i, (seen, name)) in seen.iter_mut().zip(names).enumerate() {
            seen.add_text(self.cell(i, line, name)?.trim());
        }
        Ok(())
    }

    /// Appends the cells of the current record that belong to a column.
    pub(super) fn push(
        &self,
        target: &Target,
        builder: &mut Builder,
        names: &[String],
        line: u64,
    ) -> Result<(), IoError> {
        let Some((lane, _)) = builder.ty().lanes() else {
            let field = target.fields[0];
            builder.push_text(self.cell(field, line, &names[field])?);
            return Ok(());
        };
        for &field in &target.fields {
            let text = self.cell(field, line, &names[field])?.trim();
            builder.push_bits(self.lane(text, lane, line, &names[field])?);
        }
        builder.push_alpha(target.fields.len());
        Ok(())
    }

    fn lane(&self, text: &str, lane: Lane, line: u64, name: &str) -> Result<u64, IoError> {
        let spot = || self.spot(line).column(name);
        if text.is_empty() {
            let missing =
                || IoError::MissingCell { spot: spot(), absence: "empty", ty: Type::of_lane(lane) };
            return missing_lane(lane).ok_or_else(missing);
        }
        parse_lane(text, lane).map_err(|misfit| match misfit {
            Misfit::Shape => {
                let ty = Type::of_lane(lane);
                let form = form_of(ty) + &self.other_separator(name);
                IoError::NotOfType { spot: spot(), ty, found: quoted(text), form }
            }
            Misfit::Range => misfit.error(spot(), lane, quoted(text)),
        })
    }

    /// A hint if the only name looks like several names with another separator.
    fn other_separator(&self, name: &str) -> String {
        let signs = [(b',', "commas"), (b'\t', "tabs"), (b';', "semicolons"), (b'|', "bars")];
        let Dialect { separator, separators, format } = *self.dialect;
        let is_other = |(sign, _): &&(u8, _)| *sign != separator && name.as_bytes().contains(sign);
        let other = signs.iter().find(is_other).filter(|_| self.record.len() == 1);
        let Some((_, other)) = other else { return String::new() };
        let hint = if *other == "tabs" { "; read the file as tsv" } else { "" };
        let format = format.name;
        format!(
            "; {format} files have {separators} between cells, but this one seems to have \
             {other}{hint}"
        )
    }
}
