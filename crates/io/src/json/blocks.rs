//! JSON Lines block by block.
//!
//! The lines of a block become the text of an array, which is read as a file of its own would be, with
//! places counted from the beginning of the file. Types that are not asked for are found out in a walk over
//! the file before.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};

use millstream_base::Type;

use super::lines::{check_line, of_lines};
use super::walk::{Shape, Walk, shape_of};
use super::{Guesses, builder_for, table_of};
use crate::blocks::Blocks;
use crate::builder::Budget;
use crate::encoder::ColumnSpec;
use crate::error::{IoError, Spot};
use crate::options::Wanted;
use crate::plan::{Fields, Target};
use crate::table::Table;

/// Lines that are looked at together to find types out.
const N_LINES: usize = 4096;

/// The lines of a file.
struct Lines {
    file: String,
    source: BufReader<File>,
    /// Lines and rows that were read.
    n_lines: u64,
    n_rows: u64,
    budget: Budget,
}

/// Some rows as the text of an array.
struct Batch {
    text: String,
    n_rows: usize,
    /// The first line and row.
    begins: (u64, u64),
}

impl Lines {
    fn new(file: &str, source: File, budget: &Budget) -> Self {
        let source = BufReader::with_capacity(1 << 16, source);
        Self { file: file.to_owned(), source, n_lines: 0, n_rows: 0, budget: budget.clone() }
    }

    /// Up to so many rows.
    fn batch(&mut self, n_rows: usize) -> Result<Batch, IoError> {
        let begins = (self.n_lines + 1, self.n_rows + 1);
        let mut batch = Batch { text: String::from("["), n_rows: 0, begins };
        let mut line = Vec::new();
        while batch.n_rows < n_rows && self.read_line(&mut line, batch.text.len())? {
            let number = self.n_lines;
            let bytes = if number == 1 {
                line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line)
            } else {
                &line
            };
            let text = std::str::from_utf8(bytes)
                .map_err(|_| IoError::Encoding { spot: Spot::line(&self.file, number) })?;
            // Line breaks stay, for the places in messages.
            if number > begins.0 {
                batch.text.push('\n');
            }
            let text = text.trim_end_matches(['\n', '\r']);
            if text.trim().is_empty() {
                continue;
            }
            check_line(&self.file, number, text)?;
            if batch.n_rows > 0 {
                batch.text.push(',');
            }
            batch.text.push_str(text);
            batch.n_rows += 1;
        }
        batch.text.push(']');
        self.n_rows += batch.n_rows as u64;
        Ok(batch)
    }

    /// The next line; false if there is none. A line that with `n_before` bytes is beyond the limit is an
    /// error and not read to its end.
    fn read_line(&mut self, line: &mut Vec<u8>, n_before: usize) -> Result<bool, IoError> {
        line.clear();
        let most = (self.budget.n_bytes() as u64).saturating_add(1);
        if self.n_lines.is_multiple_of(4096) {
            self.budget.go_on(|| Spot::line(&self.file, self.n_lines + 1))?;
        }
        let read = (&mut self.source).take(most).read_until(b'\n', line);
        let n = read.map_err(|source| IoError::Read { file: self.file.clone(), source })?;
        if n == 0 {
            return Ok(false);
        }
        self.n_lines += 1;
        let n_bytes = line.len().saturating_add(n_before);
        self.budget.check_bytes(n_bytes, || Spot::line(&self.file, self.n_lines))?;
        Ok(true)
    }
}

/// The keys of all rows, in the order in which they come first.
fn keys_of(mut lines: Lines) -> Result<Vec<String>, IoError> {
    let (mut keys, mut known) = (Vec::new(), HashSet::new());
    loop {
        let batch = lines.batch(N_LINES)?;
        if batch.n_rows == 0 {
            return Ok(keys);
        }
        if let Shape::Rows(names) =
            shape_of(&lines.file, &batch.text, &lines.budget).map_err(of_lines)?
        {
            keys.extend(names.into_iter().filter(|name| known.insert(name.clone())));
        }
    }
}

/// Rows of a file as columns.
pub(crate) struct LineBlocks {
    lines: Lines,
    shape: Shape,
    names: Vec<String>,
    targets: Vec<Target>,
    types: Vec<Type>,
}

impl LineBlocks {
    /// Opens a file, each time that it is walked over anew; `None` if there is no row.
    pub(crate) fn open(
        file: &str,
        open: &dyn Fn() -> Result<File, IoError>,
        wanted: Wanted<'_>,
        budget: &Budget,
    ) -> Result<Option<Self>, IoError> {
        let first = Lines::new(file, open()?, budget).batch(1)?;
        let shape = match shape_of(file, &first.text, budget).map_err(of_lines)? {
            Shape::Nothing => return Ok(None),
            shape => shape,
        };
        let mut names = shape.names();
        let is_there = |name: &str| names.iter().any(|known| known == name);
        let has_all = match wanted {
            Wanted::All => false,
            Wanted::Named(columns) => columns.keys().all(|name| is_there(name)),
            Wanted::One(choice) => is_there(choice.column.unwrap_or(choice.otherwise)),
        };
        if matches!(shape, Shape::Rows(_)) && !has_all {
            names = keys_of(Lines::new(file, open()?, budget))?;
        }
        let fields = Fields::whole(file, &names);
        let targets = fields.plan(wanted)?;
        let mut blocks = Self {
            lines: Lines::new(file, open()?, budget),
            shape,
            names,
            targets,
            types: Vec::new(),
        };
        let mut guesses = Guesses::new(blocks.targets.len());
        if blocks.targets.iter().any(|target| target.ty.is_none()) {
            let mut lines = Lines::new(file, open()?, budget);
            loop {
                let batch = lines.batch(N_LINES)?;
                if batch.n_rows == 0 {
                    break;
                }
                guesses.add(&blocks.walk(&batch), |_| Ok(())).map_err(of_lines)?;
            }
        }
        blocks.types = guesses.types(file, &blocks.targets)?;
        for (target, ty) in blocks.targets.iter().zip(&blocks.types) {
            builder_for(file, &target.name, *ty)?;
        }
        Ok(Some(blocks))
    }

    fn walk<'a>(&'a self, batch: &'a Batch) -> Walk<'a> {
        Walk {
            file: &self.lines.file,
            text: &batch.text,
            shape: &self.shape,
            names: &self.names,
            targets: &self.targets,
            begins: batch.begins,
            budget: &self.lines.budget,
        }
    }
}

impl Blocks for LineBlocks {
    fn columns(&self) -> Vec<ColumnSpec> {
        let columns = self.targets.iter().zip(&self.types);
        columns.map(|(target, ty)| ColumnSpec::new(&target.name, *ty)).collect()
    }

    fn n_rows(&self) -> Option<u64> {
        None
    }

    fn next(&mut self, n_rows: usize) -> Result<Option<Table>, IoError> {
        let batch = self.lines.batch(n_rows)?;
        if batch.n_rows == 0 {
            return Ok(None);
        }
        let table = table_of(&self.walk(&batch), &self.types, &self.lines.budget);
        table.map(Some).map_err(of_lines)
    }
}
