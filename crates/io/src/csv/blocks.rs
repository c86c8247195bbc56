//! Text with commas or tabs between cells, in pieces.
//!
//! A piece of the file is parsed as if it were all of it; the last record, which may go on in the
//! next piece, is left for then.

use std::fs::File;
use std::io::Read as _;

use millstream_base::Type;

use super::{NAMING, Rows, builder_for, filled};
use crate::blocks::Blocks;
use crate::builder::{Budget, Builder};
use crate::encoder::ColumnSpec;
use crate::error::{IoError, Spot};
use crate::format::Format;
use crate::guess::Guess;
use crate::options::Wanted;
use crate::plan::{Fields, Target};
use crate::table::Table;

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// The bytes of a file, a piece at a time.
struct Pieces {
    file: String,
    format: Format,
    source: File,
    buffer: Vec<u8>,
    /// Lines before the buffer.
    n_lines: u64,
    at_end: bool,
    budget: Budget,
}

/// What to do with a record: take it, or leave it for later.
type OnRecord<'f> = dyn FnMut(&Rows<'_>, u64) -> Result<(), IoError> + 'f;

impl Pieces {
    fn open(file: &str, format: Format, source: File, budget: &Budget) -> Result<Self, IoError> {
        let (file, buffer) = (file.to_owned(), Vec::new());
        let budget = budget.clone();
        let mut pieces = Self { file, format, source, buffer, n_lines: 0, at_end: false, budget };
        pieces.fill()?;
        if pieces.buffer.starts_with(b"\xef\xbb\xbf") {
            pieces.buffer.drain(..3);
        }
        while !pieces.at_end && pieces.buffer.iter().all(u8::is_ascii_whitespace) {
            pieces.fill()?;
        }
        // An empty file is refused with the same words as one that is read at once.
        Rows::open(&pieces.file, format, &pieces.buffer)?;
        Ok(pieces)
    }

    fn fill(&mut self) -> Result<(), IoError> {
        self.budget.go_on(|| Spot::line(&self.file, self.n_lines + 1))?;
        let mut piece = Vec::with_capacity(PIECE);
        let read = (&mut self.source).take(PIECE as u64).read_to_end(&mut piece);
        let n = read.map_err(|source| IoError::Read { file: self.file.clone(), source })?;
        self.at_end = n < PIECE;
        if self.buffer.is_empty() {
            self.buffer = piece;
        } else {
            self.buffer.extend_from_slice(&piece);
        }
        self.budget.check_bytes(self.buffer.len(), || Spot::line(&self.file, self.n_lines + 1))
    }

    /// Calls `on_record` for up to `n` records and returns how many there were.
    fn records(&mut self, n: usize, on_record: &mut OnRecord<'_>) -> Result<usize, IoError> {
        let mut n_done = 0;
        loop {
            let mut n_taken = 0;
            let mut rows = Rows::part(&self.file, self.format, &self.buffer, self.n_lines);
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
            self.n_lines += taken.split(|byte| *byte == b'\n').count() as u64 - 1;
            self.buffer.drain(..n_taken);
            if n_done == n || self.at_end {
                return Ok(n_done);
            }
            self.fill()?;
        }
    }

    fn names(&mut self) -> Result<Vec<String>, IoError> {
        let mut names = Vec::new();
        self.records(1, &mut |rows, line| {
            names = rows.names_at(line)?;
            Ok(())
        })?;
        Ok(names)
    }
}

/// Rows of a file as columns.
pub(crate) struct CsvBlocks {
    pieces: Pieces,
    names: Vec<String>,
    columns: Vec<(Target, Type)>,
}

impl CsvBlocks {
    /// Opens a file, with `open` once more if types have to be found out.
    pub(crate) fn open(
        file: &str,
        format: Format,
        open: &dyn Fn() -> Result<File, IoError>,
        wanted: Wanted<'_>,
        budget: &Budget,
    ) -> Result<Self, IoError> {
        let mut pieces = Pieces::open(file, format, open()?, budget)?;
        let names = pieces.names()?;
        let mut guesses = vec![Guess::Float; names.len()];
        if !wanted.has_all_types() {
            let mut pieces = Pieces::open(file, format, open()?, budget)?;
            pieces.names()?;
            let mut found = vec![(Guess::Unknown, false); names.len()];
            pieces.records(usize::MAX, &mut |rows, line| {
                rows.check_length(names.len(), line)?;
                rows.guess_row(&names, line, &mut found)
            })?;
            guesses = found.into_iter().map(filled).collect();
        }
        let is_number = |field: usize| matches!(guesses[field], Guess::Int { .. } | Guess::Float);
        let n_main = names.len();
        let fields = Fields { file, names: &names, n_main, is_number: &is_number, naming: &NAMING };
        let mut columns = Vec::new();
        for target in fields.plan(wanted)? {
            let guess = || guesses[target.fields[0]].ty().unwrap_or(Type::STRING);
            let ty = target.ty.unwrap_or_else(guess);
            builder_for(file, &target.name, ty)?;
            columns.push((target, ty));
        }
        Ok(Self { pieces, names, columns })
    }
}

impl Blocks for CsvBlocks {
    fn columns(&self) -> Vec<ColumnSpec> {
        self.columns.iter().map(|(target, ty)| ColumnSpec::new(&target.name, *ty)).collect()
    }

    fn n_rows(&self) -> Option<u64> {
        None
    }

    fn next(&mut self, n_rows: usize) -> Result<Option<Table>, IoError> {
        let file = self.pieces.file.clone();
        let budget = self.pieces.budget.clone();
        let builder = |(target, ty): &(Target, Type)| builder_for(&file, &target.name, *ty);
        let mut builders = self.columns.iter().map(builder).collect::<Result<Vec<_>, _>>()?;
        let (names, columns) = (&self.names, &self.columns);
        let mut n_done = 0_usize;
        self.pieces.records(n_rows, &mut |rows, line| {
            rows.check_length(names.len(), line)?;
            for ((target, _), builder) in columns.iter().zip(&mut builders) {
                rows.push(target, builder, names, line)?;
            }
            n_done += 1;
            if n_done.is_multiple_of(4096) {
                budget.check(&builders, || Spot::line(&file, line))?;
            }
            Ok(())
        })?;
        budget.check(&builders, || Spot::file(&file))?;
        if n_done == 0 {
            return Ok(None);
        }
        let mut table = Table::new(&file);
        for ((target, _), builder) in columns.iter().zip(builders) {
            table.insert(&target.name, Builder::finish(builder))?;
        }
        Ok(Some(table))
    }
}
