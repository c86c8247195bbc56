//! Running a function on the cells that do not fail.
//!
//! A function tells the lowest cell at which it fails. So the cells before that one do not fail; they
//! are computed in a run of their own, and the next run begins after the failing cell. The number of
//! cells of a run follows the distance between failing cells, so that a cell is part of a few runs. A
//! run has columns of its own cells only.

use millstream_base::id::Id;
use millstream_base::map::Map;
use millstream_base::{Column, Mask};
use millstream_node::function::Output;
use millstream_node::unsettled::Rounds;
use millstream_node::{Argument, Data, Failure, Function, Instance};
use smallvec::SmallVec;

use super::{Cells, Demand, Mode, Place, Stop, Walk};
use crate::kernel::{Crew, call};
use crate::shape::{CellMap, ShapeId};
use crate::store::Bad;

/// Number of cells of the first run.
const FIRST: usize = 64;

/// Number of columns that are joined at a time.
const JOINED: usize = 1 << 10;

/// The function of a task, with its operands.
pub(super) struct Called<'c> {
    pub(super) instance: &'c Instance,
    pub(super) function: &'c dyn Function,
    pub(super) places: &'c [Place],
}

/// The results of runs on successive cells, for each output that is read.
struct Results(Vec<Option<Pieces>>);

/// A column in pieces. Many small ones are joined to a larger one.
#[derive(Default)]
struct Pieces {
    large: Vec<Column>,
    small: Vec<Column>,
}

impl Pieces {
    fn push(&mut self, piece: Column) {
        self.small.push(piece);
        if self.small.len() == JOINED {
            let small = std::mem::take(&mut self.small);
            self.large.extend(joined(&small));
        }
    }

    fn joined(mut self) -> Option<Column> {
        self.large.append(&mut self.small);
        joined(&self.large)
    }
}

fn joined(pieces: &[Column]) -> Option<Column> {
    Column::concat(pieces.first()?.ty(), pieces)
}

impl<M: Mode> Walk<'_, M> {
    /// Computes those demanded cells of the task at `top` that do not fail, after its function failed
    /// at one of them.
    pub(super) fn run_on_good_cells(&mut self, top: usize, of: &Called<'_>) -> Result<(), Stop> {
        let demand = self.stack[top].demand.clone();
        let Some(rest) = self.without_bad(top, &demand)? else { return Ok(()) };
        let Cells { shape, ref mask } = *rest;
        let cells: Vec<u32> = mask.iter().map(|cell| cell as u32).collect();
        let used = self.used_outputs[self.stack[top].step.index()];
        let is_read = |k: usize| used & 1 << k.min(63) != 0;
        let outputs = 0..of.instance.outputs.len();
        let mut results = Results(outputs.map(|k| is_read(k).then(Pieces::default)).collect());
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        let (mut at, mut n_next, mut fails_at) = (0, FIRST, None);
        let mut unsettled = Rounds::new();
        let maps = self.maps(shape, of.places)?;
        let moments = self.moments(of.instance, shape);
        while at < cells.len() {
            self.check_budget().map_err(Stop::All)?;
            if fails_at == Some(at) {
                bad.push(cells[at]);
                at += 1;
                continue;
            }
            let run = &cells[at..cells.len().min(at + n_next)];
            match self.run_on(of, (&maps, &moments), run, &mut results)? {
                Ok(rounds) => {
                    for (key, n) in rounds {
                        let most = unsettled.entry(key).or_default();
                        *most = n.max(*most);
                    }
                    good.extend_from_slice(run);
                    at += run.len();
                    n_next = run.len() * 2;
                }
                Err(Failure { element: Some(0), .. }) => {
                    fails_at = Some(at);
                    n_next = (n_next / 2).max(1);
                }
                Err(Failure { element: Some(n_good), .. }) if n_good < run.len() => {
                    fails_at = Some(at + n_good);
                    n_next = n_good;
                }
                Err(failure) => return self.fail(top, failure, None),
            }
        }
        self.note_unsettled(self.stack[top].step, unsettled);
        self.keep_good(top, of, shape, (good, bad), results)
    }

    /// Runs the function on these cells.
    fn run_on(
        &mut self,
        of: &Called<'_>,
        (maps, moments): (&[CellMap], &[usize]),
        cells: &[u32],
        results: &mut Results,
    ) -> Result<Result<Rounds, Failure>, Stop> {
        let mut outputs: SmallVec<[Output; 2]> = SmallVec::new();
        outputs.extend(results.0.iter().map(|pieces| match pieces {
            Some(_) => Output::Wanted(None),
            None => Output::Ignored,
        }));
        let table = |(place, map): (&Place, &CellMap)| -> Vec<u32> {
            match self.read(*place).0 {
                Data::One(_) => Vec::new(),
                Data::Many(_) => {
                    let map = map.as_map();
                    cells.iter().map(|cell| map.entry(*cell as usize) as u32).collect()
                }
            }
        };
        let tables: SmallVec<[Vec<u32>; 4]> = of.places.iter().zip(maps).map(table).collect();
        let first = |start: &usize| cells.partition_point(|cell| (*cell as usize) < *start);
        let moments: Vec<usize> = moments.iter().map(first).collect();
        let (result, rounds) = {
            let read = of.places.iter().zip(&tables);
            let mut arguments: Vec<Argument<'_>> = read
                .map(|(place, table)| Argument::shared(self.read(*place).0, Map::Table(table)))
                .collect();
            let clock = &self.clock;
            let is_over = || clock.check().is_err();
            let crew: Crew<'_> = (self.mode.n_threads(), &is_over, clock.flag());
            let mask = Mask::full(cells.len());
            let elements = (&mask, cells.len(), &moments[..]);
            let function = of.function;
            let (result, _, rounds) =
                call(function, elements, self.limits, crew, &mut arguments, &mut outputs);
            (result, rounds)
        };
        self.clock.look_next();
        if let Err(failure) = result {
            // A function that was interrupted did not fail.
            self.clock.check().map_err(Stop::All)?;
            return Ok(Err(failure));
        }
        for (k, (pieces, output)) in results.0.iter_mut().zip(outputs).enumerate() {
            match (pieces, output) {
                (None, _) => {}
                (Some(pieces), Output::Done(Data::Many(column))) => pieces.push(column),
                (Some(pieces), Output::Done(Data::One(value))) => {
                    pieces.push(Column::filled(&value, cells.len()));
                }
                (Some(_), Output::Ignored | Output::Wanted(_)) => return Ok(Err(lacks_output(k))),
            }
        }
        Ok(Ok(rounds))
    }

    /// Stores the results at the good cells, and that the bad ones fail.
    fn keep_good(
        &mut self,
        top: usize,
        of: &Called<'_>,
        shape: ShapeId,
        (good, bad): (Vec<u32>, Vec<u32>),
        results: Results,
    ) -> Result<(), Stop> {
        let ascending = |cells| Mask::from_indices(cells).expect("the cells of a mask ascend");
        if !bad.is_empty() {
            let cells = ascending(bad);
            self.remember(self.stack[top].slot, Some(Bad { shape, cells }))?;
        }
        if good.is_empty() {
            return Ok(());
        }
        let n_cells = self.shapes.n_cells(shape)?;
        let mut entries = vec![0; n_cells];
        for (entry, cell) in good.iter().enumerate() {
            entries[*cell as usize] = entry;
        }
        let good = ascending(good);
        self.stack[top].demand = Demand::part(shape, good.clone());
        let mut outputs = Vec::with_capacity(results.0.len());
        for (k, pieces) in results.0.into_iter().enumerate() {
            outputs.push(match pieces.and_then(Pieces::joined) {
                None => None,
                Some(new) => {
                    let mut column =
                        self.output_column(top, k, of.instance.outputs[k].ty, n_cells)?;
                    column.overwrite(&good, &new, |cell| entries[cell]);
                    Some(Data::Many(column))
                }
            });
        }
        self.store_result(top, outputs, shape)
    }
}

/// The failure of a function that does not set output `k`.
pub(super) fn lacks_output(k: usize) -> Failure {
    Failure::whole(format!("the node type gives no output {k}"))
}
