//! The cells of outputs that do not fail, if others do.
//!
//! In other walks a demand that contains a failing cell fails as a whole. This walk leaves such cells
//! out: a function that fails at some cells runs on the others (`good_cells`), and a step that lacks
//! cells of an input starts again with the cells that are left. So one demand computes all cells that
//! do not fail, each as part of a few runs, however many fail. Each output has a walk of its own: a
//! node may fail in cells that only another output needs.

use std::rc::Rc;

use millstream_base::{Column, Mask, Type};
use millstream_ir::answer::{
    Answer, EvalError, Evaluator, NodeFailure, OutputAnswer, Partial, RunLog, Series,
};
use millstream_ir::element_states::Calls;
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::request::{Bound, Chosen, Request, RequestAxis};
use millstream_node::Data;

use super::{Cells, Demand, Mode, Place, Progress, Stop, Walk};
use crate::store::State;

/// The walk that leaves out cells that fail. Buffers are not reused: a step that lacks cells starts
/// again, and then reads its inputs again.
struct LeavingOut {
    sought: Sought,
    /// Whether the results would have taken more bytes than allowed.
    ran_out: bool,
}

impl LeavingOut {
    fn new(sought: Sought) -> Self {
        Self { sought, ran_out: false }
    }
}

impl Mode for LeavingOut {
    const KEEPS_RESULTS: bool = true;

    fn advance(walk: &mut Walk<'_, Self>, top: usize) -> Result<Option<Progress>, Stop> {
        if !walk.mode.leaves_out() {
            return Ok(None);
        }
        let progress = walk.advance(top)?;
        if matches!(progress, Progress::Done) && walk.starts_again(top)? {
            return Ok(Some(Progress::Waiting));
        }
        Ok(Some(progress))
    }

    fn leaves_out(&self) -> bool {
        self.sought == Sought::All
    }
}

/// The cells that are sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sought {
    /// All that do not fail.
    All,
    /// Those before the lowest one that fails.
    UpToLowest,
}

/// The cells of some outputs that do not fail.
#[derive(Debug, Default)]
pub(crate) struct PartialOutputs {
    /// One for each output of the request, with no cell missing if none fails; `None` if all do.
    pub(crate) outputs: Vec<Option<Partial>>,
    /// The nodes that failed, each at its lowest cell.
    pub(crate) failures: Vec<NodeFailure>,
}

/// Evaluates the cells before the lowest one that fails, of the outputs of a request that was bound
/// to the plan; `is_over` says whether the call that it is a part of is cancelled.
pub(crate) fn evaluate_up_to_lowest(
    plan: &Plan,
    (request, bound): (&Request, &Bound),
    is_over: Option<&(dyn Fn() -> bool + Sync)>,
) -> Result<PartialOutputs, EvalError> {
    let mut found = PartialOutputs::default();
    for position in &bound.outputs {
        let output = &plan.outputs[*position];
        let mode = LeavingOut::new(Sought::UpToLowest);
        let mut walk = Walk::new(plan, request, bound, mode).within(is_over);
        found.outputs.push(walk.partial(output.source, output.ty, bound)?);
        found.failures.append(&mut walk.failures);
    }
    Ok(found)
}

/// The elements of a request at which no output fails.
pub(crate) struct GoodElements {
    pub(crate) good: Mask,
    /// The outputs: one value, or an entry for each element, of which those of good ones matter.
    pub(crate) outputs: Vec<Data>,
    /// Whether elements were not tried, because the results would have taken more bytes than allowed.
    pub(crate) ran_out: bool,
}

/// Evaluates the elements at which no output fails, for a request that has no other axis; else like
/// [`evaluate_up_to_lowest`]. An output is evaluated at the elements at which those before it do not
/// fail.
pub(crate) fn evaluate_good(
    plan: &Plan,
    (request, bound): (&Request, &Bound),
    is_over: Option<&(dyn Fn() -> bool + Sync)>,
) -> Result<GoodElements, EvalError> {
    let n = bound.count.unwrap_or(1);
    let (mut good, mut outputs) = (Mask::full(n), Vec::with_capacity(bound.outputs.len()));
    let mut walk = Walk::new(plan, request, bound, LeavingOut::new(Sought::All)).within(is_over);
    let mut some = bound.clone();
    for position in &bound.outputs {
        let output = &plan.outputs[*position];
        let mut data = Data::One(Partial::filler(output.ty));
        some.chosen = (good.len() < n).then(|| Chosen::Masked(good.clone()));
        let found =
            if good.is_empty() { None } else { walk.partial(output.source, output.ty, &some)? };
        match found {
            None => good = Mask::empty(),
            Some(Partial {
                series: Series { data: Data::Many(column), axes }, missing, ..
            }) if axes.contains(&RequestAxis::Index) => {
                let mut entries = vec![0; n];
                good.iter().enumerate().for_each(|(entry, element)| entries[element] = entry);
                let is_whole = column.len() == n;
                let whole = || column.gather(entries.into_iter());
                data = Data::Many(if is_whole { column.clone() } else { whole() });
                let mut rank = 0..good.len();
                let is_known = |_| rank.next().is_none_or(|rank| !missing.contains(rank));
                good =
                    if missing.is_empty() { good } else { Mask::from_predicate(&good, is_known) };
            }
            Some(Partial { series, missing, .. }) => {
                data = Data::One(series.data.get(0));
                good = if missing.is_empty() { good } else { Mask::empty() };
            }
        }
        outputs.push(data);
    }
    Ok(GoodElements { good, outputs, ran_out: walk.mode.ran_out })
}

/// The evaluator of outputs of which some cells fail: they have the others.
#[derive(Debug, Default)]
pub(crate) struct GoodCells {
    /// Whether the last evaluation ended before all cells were tried, because the results would have
    /// taken more bytes than allowed.
    pub(crate) ran_out: bool,
}

impl Evaluator for GoodCells {
    fn name(&self) -> &'static str {
        "good cells"
    }

    fn evaluate_bound(
        &mut self,
        plan: &Plan,
        request: &Request,
        bound: &Bound,
    ) -> Result<Answer, EvalError> {
        self.ran_out = false;
        let mut answer = Answer {
            outputs: Vec::with_capacity(bound.outputs.len() + bound.optional.len()),
            failures: Vec::new(),
            unsettled: Vec::new(),
            log: RunLog::default(),
            calls: Calls::default(),
            times: bound.times,
            views: bound.views,
            count: bound.masked().map(Mask::len).or(bound.count),
        };
        let mut optional = vec![None; bound.optional.len()];
        for position in &bound.outputs {
            let output = &plan.outputs[*position];
            let mut walk = Walk::new(plan, request, bound, LeavingOut::new(Sought::All));
            let found = walk.partial(output.source, output.ty, bound)?;
            self.ran_out |= walk.mode.ran_out;
            let (value, partial) = match found {
                Some(Partial { series, missing, .. }) if missing.is_empty() => (Some(series), None),
                found => (None, found.map(Box::new)),
            };
            let name = std::sync::Arc::clone(&output.name);
            answer.outputs.push(OutputAnswer { name, ty: output.ty, value, partial });
            for (value, position) in optional.iter_mut().zip(&bound.optional) {
                let source = plan.outputs[*position].source;
                *value = value.take().or_else(|| walk.computed(source, bound));
            }
            add_failures(&mut answer.failures, std::mem::take(&mut walk.failures));
            answer.unsettled.append(&mut walk.unsettled);
            answer.log.add(walk.told());
        }
        for (value, position) in optional.into_iter().zip(&bound.optional) {
            let output = &plan.outputs[*position];
            let name = std::sync::Arc::clone(&output.name);
            answer.outputs.push(OutputAnswer { name, ty: output.ty, value, partial: None });
        }
        Ok(answer)
    }
}

/// Adds failures of further cells: each node once, with the lowest cell.
pub(crate) fn add_failures(known: &mut Vec<NodeFailure>, more: Vec<NodeFailure>) {
    for failure in more {
        match known.iter_mut().find(|known| known.path == failure.path) {
            Some(known) if failure.cell < known.cell => *known = failure,
            Some(_) => {}
            None => known.push(failure),
        }
    }
    known.sort_by(|a, b| a.path.cmp(&b.path));
}

impl Walk<'_, LeavingOut> {
    /// The sought cells of an output that do not fail; `None` if there are none.
    fn partial(
        &mut self,
        source: StepSource,
        ty: Type,
        bound: &Bound,
    ) -> Result<Option<Partial>, EvalError> {
        if !matches!(self.plan.steps[source.step].op, StepOp::Call(_)) {
            let place = self.place(source, self.root);
            let (data, shape) = self.read(place);
            let (data, axes) = (data.clone(), self.axes(shape));
            let (missing, n_untried) = (Mask::empty(), 0);
            return Ok(Some(Partial { series: Series { data, axes }, missing, n_untried }));
        }
        let cells = match self.demand(source, bound)? {
            Demand::Part(cells) => cells,
            Demand::Full => match self.all_cells(source.step)? {
                Some(cells) => cells,
                None => return Ok(None),
            },
        };
        let n_untried = self.compute(source, &cells)?;
        let place = self.place(source, self.root);
        let missing = match self.computed_among(place, &cells) {
            Some(done) => cells.mask.difference(&done),
            None => return Ok(None),
        };
        if missing.len() == cells.mask.len() {
            return Ok(None);
        }
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
        Ok(Some(Partial { series, n_untried: n_untried.min(missing.len()), missing }))
    }

    /// All cells of a step in the context of the request; `None` if they cannot be found.
    fn all_cells(&mut self, step: StepId) -> Result<Option<Rc<Cells>>, EvalError> {
        let Some(shape) = self.shape_in_root(step)? else { return Ok(None) };
        let n_cells = self.shapes.n_cells(shape).ok();
        Ok(n_cells.map(|n| Rc::new(Cells { shape, mask: Mask::full(n) })))
    }

    /// Demands these cells until each one sought is computed or known to fail. Returns the number of
    /// cells that were not tried.
    fn compute(&mut self, source: StepSource, cells: &Cells) -> Result<usize, EvalError> {
        let mut asked = cells.mask.clone();
        while !asked.is_empty() {
            let demand = Demand::part(cells.shape, asked.clone());
            match self.is_computed(source, &demand) {
                Ok(true) => break,
                Ok(false) => {}
                Err(EvalError::Bytes { .. } | EvalError::Memory { .. }) => {
                    self.stack.clear();
                    self.pending.clear();
                    self.mode.ran_out = true;
                    return Ok(self.without_known(source, cells, &asked).len());
                }
                Err(error) => return Err(error),
            }
            let rest = self.without_known(source, cells, &asked);
            let rest = match self.mode.sought {
                Sought::All => rest,
                Sought::UpToLowest => {
                    asked.difference(&rest).bounds().map_or(rest, |bad| asked.within(0..bad.start))
                }
            };
            if rest.len() == asked.len() {
                // They fail for a reason that is not told by cells.
                break;
            }
            asked = rest;
        }
        Ok(0)
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
    fn without_known(&mut self, source: StepSource, cells: &Cells, part: &Mask) -> Mask {
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

    /// Whether the task at `top`, which is done, starts again: it has met cells that fail, and others
    /// that it was asked for are left.
    fn starts_again(&mut self, top: usize) -> Result<bool, Stop> {
        let slot = self.stack[top].slot;
        if self.stack[top].phase == 0
            || self.store.is_done(slot)
            || self.store.rest(slot).bad.is_none()
        {
            return Ok(false);
        }
        let demand = self.stack[top].demand.clone();
        let Some(rest) = self.without_bad(top, &demand)? else { return Ok(false) };
        if let Demand::Part(before) = &demand
            && before.mask.len() == rest.mask.len()
        {
            return Ok(false);
        }
        if self.store.state(slot) == State::Partial
            && self.store.rest(slot).done.as_deref().is_some_and(|done| done.covers(&rest.mask))
        {
            return Ok(false);
        }
        self.stack[top].demand = Demand::Part(rest);
        self.stack[top].phase = 0;
        Ok(true)
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
