//! The cells of outputs that do not fail, if others do.
//!
//! A demand that contains a failing cell fails as a whole, and tells only the lowest cell at which
//! the kernel failed. So an output is demanded in parts: a part that fails is divided into halves
//! without the cells known to fail, until the parts are computed. As all demands of a walk share
//! the store, a cell is computed once, and has the value that it has in a demand for all cells. Each
//! output has a walk of its own: a node may fail in cells that only another output needs.

use std::rc::Rc;

use millstream_base::{Column, Mask, Type};
use millstream_ir::answer::{EvalError, NodeFailure, Partial, RunLog, Series};
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::request::{Bound, Request};
use millstream_node::Data;

use super::{Cells, Demand, Mode, Place, Walk};
use crate::store::State;

/// Maximal number of demands for an output. Cells that are left then count as missing.
const MAX_DEMANDS: usize = 1 << 14;

/// The walk in which outputs are demanded in parts. Buffers are not reused: a step that failed may
/// be demanded again, and then reads its inputs again.
struct InParts;

impl Mode for InParts {
    const KEEPS_RESULTS: bool = true;
}

/// The cells that are sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sought {
    /// All that do not fail.
    All,
    /// Those before the lowest one that fails.
    UpToLowest,
}

/// The cells of some outputs that do not fail.
#[derive(Debug)]
pub(crate) struct PartialOutputs {
    /// One for each output of the request, with no cell missing if none fails; `None` if all do.
    pub(crate) outputs: Vec<Option<Partial>>,
    /// The nodes that failed in any part, each at its lowest cell.
    pub(crate) failures: Vec<NodeFailure>,
    pub(crate) log: RunLog,
}

/// Evaluates the cells that do not fail of the outputs of a request that was bound to the plan;
/// `is_over` says whether the call that it is a part of is cancelled.
pub(crate) fn evaluate_partial(
    plan: &Plan,
    (request, bound): (&Request, &Bound),
    sought: Sought,
    is_over: Option<&(dyn Fn() -> bool + Sync)>,
) -> Result<PartialOutputs, EvalError> {
    let outputs = Vec::with_capacity(bound.outputs.len());
    let mut found = PartialOutputs { outputs, failures: Vec::new(), log: RunLog::default() };
    for position in &bound.outputs {
        let output = &plan.outputs[*position];
        let mut walk = Walk::new(plan, request, bound, InParts).within(is_over);
        found.outputs.push(walk.partial(output.source, output.ty, bound, sought)?);
        found.failures.append(&mut walk.failures);
        found.log.add(walk.told());
    }
    Ok(found)
}

impl Walk<'_, InParts> {
    /// The cells of an output that do not fail; `None` if all do.
    fn partial(
        &mut self,
        source: StepSource,
        ty: Type,
        bound: &Bound,
        sought: Sought,
    ) -> Result<Option<Partial>, EvalError> {
        let StepOp::Call(_) = self.plan.steps[source.step].op else { return Ok(None) };
        let cells = match self.demand(source, bound)? {
            Demand::Part(cells) => cells,
            Demand::Full => match self.all_cells(source.step)? {
                Some(cells) => cells,
                None => return Ok(None),
            },
        };
        let n_untried = self.try_parts(source, &cells, sought)?;
        let place = self.place(source, self.root);
        let missing = match self.computed_among(place, &cells) {
            Some(done) => cells.mask.difference(&done),
            None => return Ok(None),
        };
        if missing.len() == cells.mask.len() {
            return Ok(None);
        }
        // A cell may have been computed for another output.
        let n_untried = n_untried.min(missing.len());
        let (data, shape) = self.read(place);
        let data = data.clone();
        let Ok(map) = self.shapes.map(cells.shape, shape) else { return Ok(None) };
        let places: Vec<usize> = cells.mask.iter().map(|cell| map.as_map().entry(cell)).collect();
        let mut column = match &data {
            Data::One(value) => Column::filled(value, places.len()),
            Data::Many(column) => column.gather(places.into_iter()),
        };
        let missing = Mask::from_predicate(&Mask::full(cells.mask.len()), {
            let mut ahead = missing.iter().map(|cell| cells.mask.rank(cell)).peekable();
            move |position| ahead.next_if_eq(&position).is_some()
        });
        column.overwrite(&missing, &Column::filled(&Partial::filler(ty), 1), |_| 0);
        let series = Series { data: Data::Many(column), axes: self.axes(cells.shape) };
        Ok(Some(Partial { series, missing, n_untried }))
    }

    /// All cells of a step in the context of the request; `None` if they cannot be found.
    fn all_cells(&mut self, step: StepId) -> Result<Option<Rc<Cells>>, EvalError> {
        let Some(shape) = self.shape_in_root(step)? else { return Ok(None) };
        let n_cells = self.shapes.n_cells(shape).ok();
        Ok(n_cells.map(|n| Rc::new(Cells { shape, mask: Mask::full(n) })))
    }

    /// Demands these cells part by part, until each one sought is computed or known to fail. Returns
    /// the number of cells that were not tried.
    fn try_parts(
        &mut self,
        source: StepSource,
        cells: &Cells,
        sought: Sought,
    ) -> Result<usize, EvalError> {
        // The lowest part is the last one.
        let mut ahead = vec![cells.mask.clone()];
        let (mut n_left, mut n_untried) = (MAX_DEMANDS, 0);
        let mut lowest_bad = usize::MAX;
        while let Some(asked) = ahead.pop() {
            let part = self.without_bad(source, cells, &asked);
            lowest_bad = lowest_bad.min(first_of(&asked.difference(&part)));
            if part.is_empty() {
                continue;
            }
            if n_left == 0 || sought == Sought::UpToLowest && first_of(&part) > lowest_bad {
                n_untried += part.len();
                continue;
            }
            n_left -= 1;
            let demand = Demand::part(cells.shape, part.clone());
            match self.is_computed(source, &demand) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(EvalError::Bytes { .. } | EvalError::Memory { .. }) => {
                    self.stack.clear();
                    self.pending.clear();
                    (n_left, n_untried) = (0, n_untried + part.len());
                    continue;
                }
                Err(error) => return Err(error),
            }
            let rest = self.without_bad(source, cells, &part);
            lowest_bad = lowest_bad.min(first_of(&part.difference(&rest)));
            if rest.len() == 1 && part.len() == 1 {
                // It fails for a reason that is not told by cells.
                lowest_bad = lowest_bad.min(first_of(&part));
                continue;
            }
            let half = rest.len() / 2;
            ahead.push(rest.slice(half..rest.len()));
            ahead.push(rest.slice(0..half));
        }
        Ok(n_untried)
    }

    /// Whether a demand on an output is computed, after trying it.
    fn is_computed(&mut self, source: StepSource, demand: &Demand) -> Result<bool, EvalError> {
        let root = self.root;
        self.ask(source, root, demand.clone());
        self.work()?;
        if self.bytes > self.limits.bytes {
            return Err(EvalError::Bytes { limit: self.limits.bytes });
        }
        let place = self.place(source, root);
        Ok(!self.has_failed(place, demand).unwrap_or(true))
    }

    /// A part of the cells of an output, without those known to fail.
    fn without_bad(&mut self, source: StepSource, cells: &Cells, part: &Mask) -> Mask {
        let home = self.home(source.step, self.root);
        let Some(slot) = self.store.find(source.step, home) else { return part.clone() };
        if self.store.state(slot) == State::Failed {
            return Mask::empty();
        }
        let Some(bad) = self.store.rest(slot).bad.clone() else { return part.clone() };
        match self.shapes.project(bad.shape, &bad.cells, cells.shape) {
            Ok(bad) => part.difference(&bad),
            Err(_) => part.clone(),
        }
    }

    /// Those of some cells that are computed; `None` if none is.
    fn computed_among(&mut self, place: Place, cells: &Cells) -> Option<Mask> {
        let Place::Slot(slot, _) = place else { return None };
        match self.store.state(slot) {
            State::Full => Some(cells.mask.clone()),
            State::Empty | State::Failed | State::Released => None,
            State::Partial => {
                let shape = self.store.rest(slot).shape;
                let done = self.store.rest(slot).done.as_deref()?.clone();
                let done = self.shapes.project(shape, &done, cells.shape).ok()?;
                Some(done.intersect(&cells.mask))
            }
        }
    }
}

fn first_of(mask: &Mask) -> usize {
    mask.iter().next().unwrap_or(usize::MAX)
}
