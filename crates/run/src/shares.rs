//! The shares of the members of a fused region in its time.
//!
//! Steps that run as one form cannot be timed separately. So each member runs alone, in its own
//! form, on a sample of the elements with their values, and the time of the region is divided in
//! proportion.

use std::time::{Duration, Instant};

use millstream_base::map::Map;
use millstream_base::{Column, Mask};
use millstream_form::{ColumnScratch, LaneInput, LaneOutput, run_columns};
use millstream_ir::Loop;
use millstream_ir::plan::{Plan, StepId, StepSource};
use rustc_hash::FxHashMap;

use crate::fuse::{Fused, Member, fold_alone, fuse, width};
use crate::lanes::{lane_slice_mut, push_inputs};

/// The number of elements of a sample, at least if there are many members.
const SAMPLE: usize = 1024;
const LEAST: usize = 64;

/// The number of elements of all members together.
const TOTAL: usize = 1 << 22;

/// The number of runs of each member; the shortest time counts.
const RUNS: usize = 3;

/// Values of some elements.
pub(crate) struct Sample<'p> {
    plan: &'p Plan,
    cells: Vec<usize>,
    known: FxHashMap<StepSource, Column>,
    scratch: ColumnScratch,
}

impl<'p> Sample<'p> {
    /// A sample of elements from the whole mask, for this number of members. Elements of a small
    /// mask are taken several times, so that the cost of calls is small compared with the work.
    pub(crate) fn of(plan: &'p Plan, mask: &Mask, n_members: usize) -> Self {
        let n = (TOTAL / n_members.max(1)).clamp(LEAST, SAMPLE);
        let cells =
            (0..n).filter_map(|i| mask.nth((i as u128 * mask.len() as u128 / n as u128) as usize));
        let (known, scratch) = (FxHashMap::default(), ColumnScratch::default());
        Self { plan, cells: cells.collect(), known, scratch }
    }

    /// Sets the values of a source; the map gives the entry of each element.
    pub(crate) fn give(&mut self, source: StepSource, column: &Column, map: Map<'_>) {
        let column = match map {
            Map::Single => column.gather([0].into_iter()),
            _ => column.gather(self.cells.iter().map(|cell| map.entry(*cell))),
        };
        self.known.insert(source, column);
    }

    /// The seconds that a member takes alone; its sources are known.
    pub(crate) fn seconds_of(&mut self, member: Member) -> f64 {
        let fused = fuse(self.plan, &[member], |_, _| true);
        let (seconds, columns) = self.run(&fused);
        for (output, column) in fused.outputs.iter().zip(columns) {
            let source = StepSource { step: member.step, output: output.output };
            self.known.insert(source, column);
        }
        seconds
    }

    /// The seconds that the step that folds the list of a loop takes alone.
    pub(crate) fn seconds_of_fold(&mut self, folded: &Loop, n_rounds: usize) -> f64 {
        let (seconds, _) = self.run(&fold_alone(self.plan, folded, n_rounds));
        seconds
    }

    /// Runs a form on the sample. Returns the shortest time, and the outputs.
    fn run(&mut self, fused: &Fused) -> (f64, Vec<Column>) {
        let n = self.cells.len();
        let new = |ty: millstream_base::Type| Column::filled(&ty.default_value(), n);
        let mut columns: Vec<Column> = fused.outputs.iter().map(|output| new(output.ty)).collect();
        let mut inputs: Vec<LaneInput<'_>> = Vec::new();
        for source in &fused.inputs {
            // A source that no member of the region needs is not in the sample.
            let Some(column) = self.known.get(source) else { return (0.0, columns) };
            let map = if column.len() == 1 && n > 1 { Map::Single } else { Map::Each };
            push_inputs(&mut inputs, column, map);
        }
        let mut outputs: Vec<LaneOutput<'_>> = Vec::with_capacity(columns.len());
        for ((column, output), first) in
            columns.iter_mut().zip(&fused.outputs).zip(&fused.first_results)
        {
            let (lanes, width) = (lane_slice_mut(column), width(output.ty));
            outputs.push(LaneOutput { lanes, first: *first, width, offset: 0, stride: width });
        }
        let mask = Mask::full(n);
        let mut shortest = f64::INFINITY;
        for _ in 0..RUNS {
            let started = Instant::now();
            run_columns(&fused.form, &inputs, &mut outputs, &mask, &mut self.scratch);
            shortest = shortest.min(started.elapsed().as_secs_f64());
        }
        drop(outputs);
        (shortest, columns)
    }
}

/// The shares of a time in proportion to weights; equal shares if all are 0.
pub(crate) fn shared(
    time: Duration,
    weights: &[(StepId, f64)],
) -> impl Iterator<Item = (StepId, Duration)> + '_ {
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let equal = 1.0 / weights.len().max(1) as f64;
    let ratio = move |weight: f64| if total > 0.0 { weight / total } else { equal };
    weights.iter().map(move |(step, weight)| (*step, time.mul_f64(ratio(*weight))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_base::id::Id;

    #[test]
    fn a_time_is_shared_in_proportion() {
        let step = StepId::from_index;
        let all = |weights: &[(StepId, f64)]| {
            let parts = shared(Duration::from_nanos(900), weights);
            parts.map(|(_, part)| part.as_nanos()).collect::<Vec<_>>()
        };
        assert_eq!(all(&[(step(0), 2.0), (step(1), 1.0)]), [600, 300]);
        assert_eq!(all(&[(step(0), 0.0), (step(1), 0.0)]), [450, 450], "nothing better is known");
        assert!(all(&[]).is_empty());
    }
}
