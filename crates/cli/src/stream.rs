//! `run --save` in blocks: columns are read, evaluated and written some rows at a time, so that
//! tables may be larger than memory.
//!
//! This is possible if no output depends on all elements at once. `index` continues from block to
//! block, so the result is bit for bit that of a single evaluation.

use std::sync::Arc;

use millstream::evaluate::{NodeFailure, OutputAnswer, Partial};
use millstream::{
    Answer, Column, Evaluator, Feature, Given, Mask, Program, Request, RequestAxis, RequestError,
};
use millstream_io::{ColumnSpec, TableReader};

use crate::gaps::{self, Lack, is_lost};
use crate::interrupt;
use crate::mesh;
use crate::outcome::{Exit, Message, Stop};
use crate::place::{Target, stop};
use crate::progress::Progress;
use crate::range;
use crate::request::refused;
use crate::run::report_nodes;
use crate::save::saved;
use crate::tables::Coordinates;

/// An input and the file that holds its values.
pub(crate) struct Source {
    pub(crate) input: String,
    pub(crate) reader: TableReader,
}

/// A run that is evaluated block by block.
pub(crate) struct Stream<'a> {
    pub(crate) program: &'a Program,
    /// The request without the columns.
    pub(crate) request: Request,
    /// Positions of the outputs.
    pub(crate) outputs: Vec<usize>,
    pub(crate) sources: Vec<Source>,
    /// Rows per block.
    pub(crate) n_block: usize,
    /// Whether the file notes at its start that rows may lack values.
    pub(crate) has_gaps: bool,
}

/// What failed in the blocks so far.
struct Failed {
    /// The nodes, each with its first failure.
    nodes: Vec<NodeFailure>,
    /// How much each output lacks.
    lacks: Vec<(Arc<str>, Lack)>,
}

impl Stream<'_> {
    /// Reads, evaluates and writes; the file is changed only if some output has a value in some row.
    /// `None` if the file has to note at its start that rows lack values, or is a mesh whose rows
    /// do, which leaves out outputs that lack all of them.
    pub(crate) fn run(
        mut self,
        evaluator: &mut dyn Evaluator,
        target: &Target,
    ) -> Result<Option<Exit>, Stop> {
        let plan = self.program.plan();
        let outputs = self.outputs.iter().map(|output| &plan.outputs[*output]);
        let mut specs: Vec<ColumnSpec> =
            outputs.map(|output| ColumnSpec::new(&output.name, output.ty)).collect();
        if target.is_mesh() {
            mesh::rename(&mut specs);
        }
        let mut writer = target.writer(specs.clone(), None, Vec::new(), self.has_gaps)?;
        let lacks = specs.iter().map(|spec| (spec.name.as_str().into(), Lack::default()));
        let mut failed = Failed { nodes: Vec::new(), lacks: lacks.collect() };
        let progress = Progress::start(self.sources[0].reader.n_rows());
        let mut evaluate = self.program.in_blocks(evaluator);
        let mut n_done = 0_usize;
        loop {
            interrupt::go_on(&self.request.budget)?;
            let (n_rows, columns) = self.block(n_done)?;
            if n_rows == 0 && n_done > 0 {
                break;
            }
            let request = self.request_for(n_done, n_rows, columns)?;
            let mut answer = evaluate(&request).map_err(|error| refused(&error))?;
            let lacks_rows = answer.outputs.iter().any(|output| output.value.is_none());
            let is_noted = self.has_gaps || !target.notes_gaps();
            if lacks_rows && (target.is_mesh() || !is_noted) {
                return Ok(None);
            }
            shift(&mut answer, n_done);
            let is_over = answer.failures.iter().any(|failure| failure.cell.is_empty());
            failed.add(&mut answer);
            if is_over && answer.outputs.iter().all(is_lost) {
                // All rows fail.
                break;
            }
            let rows = answer.outputs.iter().map(|output| rows_of(output, &answer, n_rows));
            let (block, missing): (Vec<Column>, Vec<Mask>) = rows.unzip();
            for (spec, missing) in specs.iter().zip(&missing) {
                if let Err(refusal) = gaps::refuse(target, spec, missing.len()) {
                    drop(progress);
                    failed.report();
                    return Err(refusal);
                }
            }
            gaps::write_rows(&mut writer, target, &block, &missing)?;
            n_done += n_rows;
            progress.rows(n_done as u64);
            if n_rows < self.n_block {
                break;
            }
        }
        drop(progress);
        failed.report();
        if failed.lacks.iter().all(|(_, lack)| lack.is_whole()) {
            gaps::report_unwritten(target);
            return Ok(Some(Exit::Failed));
        }
        writer.finish().map_err(|error| stop(&error))?;
        saved(target, n_done, None);
        Ok(Some(if failed.nodes.is_empty() { Exit::Done } else { Exit::Failed }))
    }

    /// The next rows of all inputs, whose lengths must agree.
    fn block(&mut self, n_done: usize) -> Result<(usize, Vec<(String, Column)>), Stop> {
        let mut columns: Vec<(String, Column)> = Vec::new();
        for source in &mut self.sources {
            let column = next(source, self.n_block)?;
            if n_done == 0 {
                range::warn(
                    self.program,
                    &source.input,
                    &Given::Along(RequestAxis::Index, column.clone()),
                );
            }
            columns.push((source.input.clone(), column));
        }
        let n_rows = columns[0].1.len();
        if columns.iter().all(|(_, column)| column.len() == n_rows) {
            return Ok((n_rows, columns));
        }
        // Like a single evaluation, the message gives the lengths of the whole columns.
        let mut lengths = Vec::new();
        for (source, (_, column)) in self.sources.iter_mut().zip(columns) {
            let mut length = n_done + column.len();
            let mut last = column.len();
            while last == self.n_block {
                last = next(source, self.n_block)?.len();
                length += last;
            }
            lengths.push(length);
        }
        let other = lengths.iter().position(|length| *length != lengths[0]).unwrap_or(0);
        let error = RequestError::Length {
            name: self.sources[other].input.clone(),
            axis: "index",
            found: lengths[other],
            expected: lengths[0],
            because: format!("`{}`", self.sources[0].input),
        };
        Err(Stop::all(Exit::Wrong, vec![Message::of(&error)]))
    }

    /// The request for a block.
    fn request_for(
        &self,
        n_done: usize,
        n_rows: usize,
        columns: Vec<(String, Column)>,
    ) -> Result<Request, Stop> {
        let mut request = self.request.clone();
        for (name, column) in columns {
            request = request.column(name, column);
        }
        let plan = self.program.plan();
        if plan.required().any(|need| need.feature == Feature::Index) {
            let (Ok(start), Ok(_)) = (i32::try_from(n_done), i32::try_from(n_done + n_rows)) else {
                let text = format!("`index` counts up to {}, but there are more rows", i32::MAX);
                return Err(Stop::new(Exit::Failed, text, None));
            };
            let index: Column = (0..n_rows as i32).map(|i| start + i).collect();
            request = request.feature(Feature::Index, Given::Along(RequestAxis::Index, index));
        }
        Ok(request)
    }
}

impl Failed {
    /// Adds what failed in a block, and takes the failures out of its answer.
    fn add(&mut self, answer: &mut Answer) {
        for failure in std::mem::take(&mut answer.failures) {
            if !self.nodes.iter().any(|known| known.path == failure.path) {
                self.nodes.push(failure);
            }
        }
        for ((_, lack), output) in self.lacks.iter_mut().zip(&answer.outputs) {
            lack.add(Lack::of(output, answer));
        }
    }

    fn report(&self) {
        report_nodes(self.nodes.iter(), &Coordinates::default());
        self.lacks.iter().for_each(|(name, lack)| lack.report(name));
    }
}

/// The rows of an output in a block, and those that have no value.
fn rows_of(output: &OutputAnswer, answer: &Answer, n_rows: usize) -> (Column, Mask) {
    match (output.known(), &output.partial) {
        (Some(series), None) => (answer.full_column(series), Mask::empty()),
        (Some(series), Some(partial)) => {
            let missing = answer.missing_over(partial, &RequestAxis::ALL);
            (answer.full_column(series), missing)
        }
        (None, _) => (Column::filled(&Partial::filler(output.ty), n_rows), Mask::full(n_rows)),
    }
}

fn next(source: &mut Source, n_rows: usize) -> Result<Column, Stop> {
    let ty = source.reader.columns().first().map(|column| column.ty);
    let block = source.reader.next_block(n_rows).map_err(|e| Stop::data(Exit::Wrong, &e))?;
    let column = block.and_then(|block| block.into_columns().into_iter().next());
    Ok(match column {
        Some((_, column)) => column,
        None => Column::empty(ty.expect("one column was requested, so there is one")),
    })
}

/// Makes the positions of failed elements count from the start of the table.
fn shift(answer: &mut Answer, n_done: usize) {
    for (axis, position) in answer.failures.iter_mut().flat_map(|failure| &mut failure.cell) {
        if *axis == "index" {
            *position += n_done;
        }
    }
}
