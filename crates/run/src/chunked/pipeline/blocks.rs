//! Running a pipeline: its parts one after another on each block, and blocks on several threads.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use millstream_base::derived::Derivation;
use millstream_base::map::Map;
use millstream_base::{Column, Limits, Mask, Type};
use millstream_form::{ColumnScratch, Form, LaneInput, LaneOutput, run_columns};
use millstream_ir::plan::StepId;
use millstream_node::function::Output;
use millstream_node::{Argument, Data, Failure, Function};

use super::{BLOCK, Between};
use crate::fuse::{Fused, FusedOutput, width};
use crate::kernel::{self, call};
use crate::lanes::{lane_slice_mut, push_inputs};
use crate::spread::{Crew, cut_outputs, piece_of, shift, threads_for};

/// The cost of a function on one element, in the unit of the cost of forms: some nanoseconds.
const FUNCTION_COST: usize = 256;

/// Everything that threads share.
pub(super) struct Pipeline<'p> {
    pub(super) parts: Vec<Part<'p>>,
    /// The types of the columns between parts.
    pub(super) types: Vec<Type>,
    pub(super) limits: &'p Limits,
}

/// Steps that run together on a block. The numbers of results are those of columns between parts.
pub(super) enum Part<'p> {
    /// Several forms as one. That of the last part has no results here: it writes to the columns of
    /// the last step.
    Form {
        fused: Arc<Fused>,
        operands: Vec<Operand>,
        results: Vec<usize>,
    },
    Function {
        function: &'p dyn Function,
        operands: Vec<Operand>,
        result: usize,
    },
}

/// An operand of a part.
pub(super) enum Operand {
    /// The column of this number between parts.
    Between(usize),
    /// One value, or a column with an entry for each cell or a single one.
    Outside { data: Data, is_each: bool },
}

/// The threads of a run, whether it is over after a number of cells, and the flag that cancels it.
type Threads<'r> = (&'r mut Crew, &'r (dyn Fn(usize) -> bool + Sync), Option<&'r AtomicBool>);

/// A block of cells with the places for its results.
type Block<'b> = (Range<usize>, Vec<LaneOutput<'b>>);

impl Operand {
    /// The operand of a form: a single value is a column of one entry.
    pub(super) fn with_column(self) -> Self {
        match self {
            Self::Outside { data: Data::One(value), .. } => {
                Self::Outside { data: Data::Many(Column::filled(&value, 1)), is_each: false }
            }
            other => other,
        }
    }

    /// The entries for a block, if the operand is a column from outside with an entry for each cell.
    fn part(&self, block: &Range<usize>) -> Option<Data> {
        let Self::Outside { data: Data::Many(column), is_each: true } = self else { return None };
        let part = match column.derivation() {
            Some(Derivation::Range(range)) => {
                let first = range.start + block.start as i32;
                Column::range(first..first + block.len() as i32)
            }
            Some(Derivation::Color(_)) | None => column.slice(block.clone()),
        };
        Some(Data::Many(part))
    }
}

impl Pipeline<'_> {
    /// A new column between parts for an output of a step.
    pub(super) fn column(
        &mut self,
        source: (StepId, u32),
        ty: Type,
        between: &mut Between,
    ) -> usize {
        let number = self.types.len();
        between.insert(source, number);
        self.types.push(ty);
        number
    }

    /// The form of the last part.
    pub(super) fn last(&self) -> Arc<Fused> {
        match self.parts.last() {
            Some(Part::Form { fused, .. }) => Arc::clone(fused),
            Some(Part::Function { .. }) | None => panic!("a pipeline ends with a form"),
        }
    }

    /// Computes all cells; false if a function failed or the evaluation is over.
    pub(super) fn run(
        &self,
        n_cells: usize,
        mut outputs: Vec<LaneOutput<'_>>,
        (crew, is_over, flag): Threads<'_>,
    ) -> bool {
        let forms = self.parts.iter().filter_map(|part| match part {
            Part::Form { fused, .. } => Some(&fused.form),
            Part::Function { .. } => None,
        });
        let length = forms.clone().map(piece_of).min().map_or(BLOCK, |piece| piece.min(BLOCK));
        let length = crew.piece.unwrap_or(length).max(1);
        let blocks = (0..n_cells).step_by(length).map(|start| {
            let block = start..n_cells.min(start + length);
            let outputs = cut_outputs(&mut outputs, 0, block.len());
            (block, outputs)
        });
        let blocks: Vec<Block<'_>> = blocks.collect();
        let cost = forms.map(Form::cost).sum::<usize>() + FUNCTION_COST * self.types.len();
        let threads = if crew.piece.is_some() {
            blocks.len()
        } else {
            threads_for(n_cells.saturating_mul(cost))
        };
        let queue = Mutex::new(blocks.into_iter());
        let (over, n_done) = (AtomicBool::new(false), AtomicUsize::new(0));
        crew.work(threads, |scratch| {
            let empty = |ty: &Type| Data::Many(Column::empty(*ty));
            let mut columns: Vec<Data> = self.types.iter().map(empty).collect();
            loop {
                let next = queue.lock().expect("no holder of the queue panics").next();
                let Some((block, outputs)) = next else { return };
                let is_over =
                    || over.load(Ordering::Relaxed) || is_over(n_done.load(Ordering::Relaxed));
                let n = block.len();
                let ran = !is_over() && {
                    let work = (&mut columns[..], &mut *scratch);
                    self.run_block((block, outputs), work, (1, &is_over, flag)).is_ok()
                };
                if !ran {
                    over.store(true, Ordering::Relaxed);
                    return;
                }
                n_done.fetch_add(n, Ordering::Relaxed);
            }
        });
        !over.load(Ordering::Relaxed)
    }

    /// Computes the cells of a block.
    fn run_block(
        &self,
        (block, mut outputs): Block<'_>,
        (columns, scratch): (&mut [Data], &mut ColumnScratch),
        callers: kernel::Crew<'_>,
    ) -> Result<(), Failure> {
        let mask = Mask::full(block.len());
        for part in &self.parts {
            match part {
                Part::Form { fused, operands, results } if results.is_empty() => {
                    let inputs = inputs(operands, columns, block.start);
                    run_columns(&fused.form, &inputs, &mut outputs, &mask, scratch);
                }
                Part::Form { fused, operands, results } => {
                    let own = results.iter().map(|k| {
                        let old = std::mem::replace(&mut columns[*k], nothing());
                        of_length(old, self.types[*k], block.len())
                    });
                    let mut own: Vec<Column> = own.collect();
                    let inputs = inputs(operands, columns, block.start);
                    let mut outputs = lane_outputs(&mut own, fused);
                    run_columns(&fused.form, &inputs, &mut outputs, &mask, scratch);
                    for (k, column) in results.iter().zip(own) {
                        columns[*k] = Data::Many(column);
                    }
                }
                Part::Function { function, operands, result } => {
                    let Data::Many(old) = std::mem::replace(&mut columns[*result], nothing())
                    else {
                        panic!("there are columns between parts")
                    };
                    let parts: Vec<Option<Data>> =
                        operands.iter().map(|operand| operand.part(&block)).collect();
                    let arguments =
                        operands.iter().zip(&parts).map(|(operand, part)| match (operand, part) {
                            (_, Some(part)) => Argument::shared(part, Map::Each),
                            (Operand::Between(k), None) => {
                                Argument::shared(&columns[*k], Map::Each)
                            }
                            (Operand::Outside { data, .. }, None) => {
                                Argument::shared(data, Map::Single)
                            }
                        });
                    let mut arguments: Vec<Argument<'_>> = arguments.collect();
                    let mut outputs = [Output::Wanted(Some(old))];
                    let elements = (&mask, block.len(), &[][..]);
                    call(*function, elements, self.limits, callers, &mut arguments, &mut outputs)
                        .0?;
                    let [Output::Done(data)] = outputs else {
                        return Err(Failure::whole("the output was not set"));
                    };
                    columns[*result] = match data {
                        Data::One(value) => Data::Many(Column::filled(&value, block.len())),
                        Data::Many(column) => Data::Many(column),
                    };
                }
            }
        }
        Ok(())
    }
}

/// The data of a column between parts while it is computed.
fn nothing() -> Data {
    Data::One(false.into())
}

/// A column of `n` elements with arbitrary contents, in the memory of an old one if it fits.
fn of_length(old: Data, ty: Type, n: usize) -> Column {
    match old {
        Data::Many(column) if column.len() == n => column,
        Data::One(_) | Data::Many(_) => Column::filled(&ty.default_value(), n),
    }
}

/// The inputs of a form for the block that starts at a cell.
fn inputs<'c>(operands: &'c [Operand], columns: &'c [Data], start: usize) -> Vec<LaneInput<'c>> {
    let mut inputs: Vec<LaneInput<'c>> = Vec::new();
    for operand in operands {
        let first = inputs.len();
        let (data, map) = match operand {
            Operand::Between(k) => (&columns[*k], Map::Each),
            Operand::Outside { data, is_each: true } => (data, Map::Each),
            Operand::Outside { data, is_each: false } => (data, Map::Single),
        };
        let Data::Many(column) = data else { panic!("operands of forms are columns") };
        push_inputs(&mut inputs, column, map);
        if let Operand::Outside { .. } = operand {
            inputs[first..].iter_mut().for_each(|input| *input = shift(input, start));
        }
    }
    inputs
}

/// The places of the results of a form.
pub(super) fn lane_outputs<'c>(columns: &'c mut [Column], fused: &Fused) -> Vec<LaneOutput<'c>> {
    let outputs = columns.iter_mut().zip(&fused.outputs).zip(&fused.first_results);
    let place = |((column, output), first): ((&'c mut Column, &FusedOutput), &usize)| {
        let (lanes, width) = (lane_slice_mut(column), width(output.ty));
        LaneOutput { lanes, first: *first, width, offset: 0, stride: width }
    };
    outputs.map(place).collect()
}
