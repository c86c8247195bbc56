//! The rows of a text file as columns, from pieces of the file.
//!
//! A piece is parsed as if it were the whole file; its last record, which may continue in the next
//! piece, is left until that is read.

use std::io::Read as _;

use millstream_base::Type;
use millstream_base::types::Kind;

use super::Dialect;
use super::rows::Rows;
use crate::builder::TableBuilder;
use crate::error::{IoError, Spot};
use crate::fields::{Fields, Naming, Target};
use crate::format::{Blocks, Source, Stream};
use crate::guess::Seen;
use crate::meter::Meter;
use crate::options::Wanted;
use crate::table::{ColumnSpec, Table};

/// The number of bytes read at once.
const PIECE: usize = 1 << 20;

/// The bytes of a file, a piece at a time.
struct Pieces<'a> {
    file: String,
    dialect: &'static Dialect,
    stream: Box<dyn Stream + 'a>,
    buffer: Vec<u8>,
    /// Lines before the buffer.
    n_lines: u64,
    at_end: bool,
    meter: Meter,
}

/// A function that is called with a record and its line.
type OnRecord<'f> = dyn FnMut(&Rows<'_>, u64) -> Result<(), IoError> + 'f;

impl<'a> Pieces<'a> {
    /// Opens a file and reads the names of its columns.
    fn open(
        dialect: &'static Dialect,
        source: &Source<'a>,
        meter: &Meter,
    ) -> Result<(Self, Vec<String>), IoError> {
        let mut pieces = Self {
            file: source.file.clone(),
            dialect,
            stream: source.open()?,
            buffer: Vec::new(),
            n_lines: 0,
            at_end: false,
            meter: meter.clone(),
        };
        pieces.fill()?;
        if pieces.buffer.starts_with(b"\xef\xbb\xbf") {
            pieces.buffer.drain(..3);
        }
        while !pieces.at_end && pieces.buffer.iter().all(u8::is_ascii_whitespace) {
            pieces.fill()?;
        }
        if pieces.buffer.iter().all(u8::is_ascii_whitespace) {
            let reason = "it is empty, but the first line must name the columns";
            return Err(dialect.format.syntax(Spot::file(&source.file), reason));
        }
        let mut names = Vec::new();
        pieces.records(1, &mut |rows, line| {
            names = rows.names(line)?;
            Ok(())
        })?;
        Ok((pieces, names))
    }

    fn spot(&self) -> Spot {
        Spot::line(&self.file, self.n_lines + 1)
    }

    /// Reads a piece, or several if a record is longer than one.
    fn fill(&mut self) -> Result<(), IoError> {
        self.meter.look(|| self.spot())?;
        let most = PIECE.max(self.buffer.len());
        let read = (&mut self.stream).take(most as u64).read_to_end(&mut self.buffer);
        let n = read.map_err(IoError::reading(&self.file))?;
        self.at_end = n < most;
        self.meter.check_bytes(self.buffer.len(), || self.spot())
    }

    /// Calls `on_record` for up to `n` records and returns how many there were.
    fn records(&mut self, n: usize, on_record: &mut OnRecord<'_>) -> Result<usize, IoError> {
        let mut n_done = 0;
        loop {
            let mut n_taken = 0;
            let mut rows = Rows::new(&self.file, self.dialect, &self.buffer, self.n_lines);
            while n_done < n {
                let Some(line) = rows.advance()? else { break };
                let end = rows.end();
                if end >= self.buffer.len() && !self.at_end {
                    break;
                }
                rows.check_closed(line)?;
                on_record(&rows, line)?;
                n_taken = end;
                n_done += 1;
            }
            let taken = &self.buffer[..n_taken];
            self.n_lines += taken.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
            self.buffer.drain(..n_taken);
            if n_done == n || self.at_end {
                return Ok(n_done);
            }
            self.fill()?;
        }
    }
}

/// Rows of a file as columns.
struct TextBlocks<'a> {
    pieces: Pieces<'a>,
    names: Vec<String>,
    targets: Vec<Target>,
    columns: Vec<ColumnSpec>,
}

/// Opens a file; it is read once beforehand if types have to be inferred.
pub(super) fn open<'a>(
    dialect: &'static Dialect,
    source: &Source<'a>,
    wanted: Wanted<'_>,
    meter: &Meter,
) -> Result<Box<dyn Blocks + 'a>, IoError> {
    let (pieces, names) = Pieces::open(dialect, source, meter)?;
    let mut seen = vec![Seen::default(); names.len()];
    let has_all_types = wanted.has_all_types();
    if !has_all_types {
        let (mut pieces, _) = Pieces::open(dialect, source, meter)?;
        pieces.records(usize::MAX, &mut |rows, line| {
            meter.work(64 * names.len(), || rows.spot(line))?;
            rows.check_length(names.len(), line)?;
            rows.see(&names, line, &mut seen)
        })?;
    }
    let is_number = |field: usize| has_all_types || seen[field].is_number();
    let fields =
        Fields { is_number: &is_number, ..Fields::new(&source.file, &names, &Naming::PARTS) };
    let targets = fields.plan(wanted)?;
    let mut columns = Vec::new();
    for target in &targets {
        let guess = || seen[target.fields[0]].ty().unwrap_or(Type::STRING);
        let ty = target.ty.unwrap_or_else(guess);
        if let Kind::List(_) | Kind::Opaque = ty.kind() {
            let spot = Spot::file(&source.file).column(&target.name);
            let hint = "lists can be read from json, parquet and arrow";
            return Err(IoError::other_type(spot, ty, "one number or string per row", hint));
        }
        columns.push(ColumnSpec::new(&target.name, ty));
    }
    Ok(Box::new(TextBlocks { pieces, names, targets, columns }))
}

impl Blocks for TextBlocks<'_> {
    fn columns(&self) -> Vec<ColumnSpec> {
        self.columns.clone()
    }

    fn next(&mut self, n_rows: usize) -> Result<Option<Table>, IoError> {
        let (names, targets) = (&self.names, &self.targets);
        let meter = self.pieces.meter.clone();
        let mut table = TableBuilder::new(&self.pieces.file, &self.columns);
        let n_done = self.pieces.records(n_rows, &mut |rows, line| {
            rows.check_length(names.len(), line)?;
            for (target, builder) in targets.iter().zip(&mut table.columns) {
                rows.push(target, builder, names, line)?;
            }
            table.pushed(targets.len(), &meter, || rows.spot(line))
        })?;
        if n_done == 0 { Ok(None) } else { table.finish(&meter).map(Some) }
    }
}
