//! Long runs as jobs for other threads.
//!
//! A run that is worth a job takes its operands along and is recorded as pending. Its step counts
//! as not computed until another step demands or reads it, and then waits. To avoid waiting, blocks
//! postpone members that need a pending result (`row`).

use std::sync::Arc;
use std::time::Duration;

use millstream_base::id::Id;
use millstream_base::{Column, Limits, Mask};
use millstream_ir::answer::Timing;
use millstream_ir::graph::InstanceId;
use millstream_ir::plan::StepId;
use millstream_node::function::Output;
use millstream_node::{Data, Instance, Kernel};
use rustc_hash::FxHashMap;

use super::jobs::{Computed, Finished, Input, Job, Jobs, Kind, Pool};
use super::listed::Listed;
use crate::costs::Costs;
use crate::shape::ShapeId;
use crate::store::SlotId;
use crate::walk::{Place, Run, Stop, Task, Walk};

/// The threads that may do jobs, and the runs that are worth a job.
pub(super) struct Workers<'a> {
    pub(super) pool: &'a Pool,
    /// The number of threads without that of the caller.
    pub(super) n_others: usize,
    /// The time from which a run is worth a job.
    pub(super) worth: Duration,
    pub(super) costs: &'a Costs,
    /// Maximal number of elements of a run; unknown if there are loops.
    pub(super) most_elements: Option<usize>,
}

/// The jobs of an evaluation.
pub(super) struct Deferral<'a> {
    workers: Workers<'a>,
    /// Created with the first job.
    jobs: Option<Jobs>,
    limits: Arc<Limits>,
    pending: FxHashMap<SlotId, Pending>,
}

/// A run on another thread.
struct Pending {
    task: Task,
    /// The operands, whose buffers belong to the run until it is done.
    places: Vec<Place>,
    /// The operands that the kernel may write into.
    taken: Vec<Place>,
    mask: Mask,
    n_cells: usize,
    shape: ShapeId,
}

impl<'a> Deferral<'a> {
    pub(super) fn new(workers: Workers<'a>, limits: &Limits) -> Self {
        let limits = Arc::new(limits.clone());
        Self { workers, jobs: None, limits, pending: FxHashMap::default() }
    }

    /// Whether a slot waits for a job.
    pub(super) fn is_pending(&self, slot: SlotId) -> bool {
        self.pending.contains_key(&slot)
    }
}

impl Walk<'_, Listed<'_>> {
    /// Makes a job of a run that is worth it. A run that stays here is timed if its cost should be
    /// recorded.
    pub(super) fn defer(
        &mut self,
        top: usize,
        instance: &Instance,
        places: &[Place],
    ) -> Result<Run, Stop> {
        let id = self.instance_id(self.stack[top].step);
        let deferral = self.mode.deferral.as_ref().expect("only evaluations with jobs defer");
        let Workers { costs, worth, most_elements, n_others, .. } = deferral.workers;
        let n_pending = deferral.pending.len();
        let is_short = |elements: usize| {
            let expected = costs.expect(id, instance, elements);
            expected < worth && !costs.is_worth_a_look(id, instance, expected)
        };
        let single = |place: &Place| matches!(self.read(*place).0, Data::One(_));
        match instance.kernel {
            Kernel::Form(_) | Kernel::Function(_) if most_elements.is_some_and(is_short) => {
                return Ok(Run::Here);
            }
            // On single values a form is fast.
            Kernel::Form(_) if places.iter().all(single) => return Ok(Run::Here),
            Kernel::Form(_) | Kernel::Function(_) => {}
            Kernel::Read { .. } | Kernel::Pass | Kernel::Choose | Kernel::ReadState(_) => {
                return Ok(Run::Here);
            }
        }
        let (shape, n_cells, mask) = self.extent(top, places)?;
        let expected = costs.expect(id, instance, mask.len());
        // If the others have enough to do, this thread works like them.
        if expected < worth || n_pending >= 2 * n_others || !self.is_member(top) {
            let looks = costs.is_worth_a_look(id, instance, expected);
            return Ok(if looks { Run::Timed(mask.len()) } else { Run::Here });
        }
        self.hand_out(top, id, instance, places, (shape, n_cells, mask))?;
        Ok(Run::Elsewhere)
    }

    fn hand_out(
        &mut self,
        top: usize,
        id: InstanceId,
        instance: &Instance,
        places: &[Place],
        (shape, n_cells, mask): (ShapeId, usize, Mask),
    ) -> Result<(), Stop> {
        let maps = self.maps(shape, places)?;
        let used = self.used_outputs[self.stack[top].step.index()];
        let mut taken = Vec::new();
        let mut inputs = Vec::with_capacity(places.len());
        for ((place, map), slot) in places.iter().zip(maps).zip(&instance.inputs) {
            let owned = if slot.mutable { self.take_last(top, *place) } else { None };
            let is_owned = owned.is_some();
            taken.extend(is_owned.then_some(*place));
            let data = owned.unwrap_or_else(|| self.read(*place).0.clone());
            inputs.push(Input { data, map, is_owned });
        }
        let is_used = |k: usize| used & 1 << k.min(63) != 0;
        let kind = if matches!(instance.kernel, Kernel::Form(_)) {
            let mut columns: Vec<Option<Column>> = Vec::with_capacity(instance.outputs.len());
            for (k, output) in instance.outputs.iter().enumerate() {
                let column = is_used(k).then(|| self.output_column(top, k, output.ty, n_cells));
                columns.push(column.transpose()?);
            }
            Kind::Form(columns)
        } else {
            let mut outputs = Vec::with_capacity(instance.outputs.len());
            for (k, output) in instance.outputs.iter().enumerate() {
                let buffer = is_used(k).then(|| self.buffers.take_for(output.ty));
                outputs.push(buffer.map_or(Output::Ignored, Output::Wanted));
            }
            Kind::Function(outputs)
        };
        let Task { step, frame, slot, phase, turn, ref demand } = self.stack[top];
        let task = Task { step, frame, slot, phase, turn, demand: demand.clone() };
        let places = places.to_vec();
        let pending = Pending { task, places, taken, mask: mask.clone(), n_cells, shape };
        let moments = self.moments(&self.plan.instances[id], shape);
        let deferral = self.mode.deferral.as_mut().expect("only evaluations with jobs defer");
        deferral.pending.insert(slot, pending);
        let limits = Arc::clone(&deferral.limits);
        let instance = Arc::clone(&self.plan.instances[id]);
        let budget = self.request.budget.clone();
        let job = Job { slot, instance, inputs, kind, mask, n_cells, moments, limits, budget };
        let Workers { pool, n_others, .. } = deferral.workers;
        deferral.jobs.get_or_insert_with(Jobs::new).push(job, pool, n_others);
        self.clock.look_next();
        Ok(())
    }

    /// Waits until no job works on a slot.
    #[inline]
    pub(super) fn wait_for(&mut self, slot: SlotId) -> Result<(), Stop> {
        while self.mode.deferral.as_ref().is_some_and(|deferral| deferral.is_pending(slot)) {
            self.wait_for_any()?;
        }
        Ok(())
    }

    /// Waits until some job is done, doing one in the meantime, or until a timeout.
    pub(super) fn wait_for_any(&mut self) -> Result<(), Stop> {
        self.lap_of_last();
        let jobs = self.mode.deferral.as_ref().and_then(|deferral| deferral.jobs.as_ref());
        let finished = jobs.and_then(Jobs::next);
        let is_own = finished.as_ref().is_some_and(|finished| finished.by_caller);
        if let Some(laps) = self.laps.as_mut().filter(|_| !is_own) {
            laps.waited();
        }
        if let Some(finished) = finished {
            self.take_in(finished)?;
        }
        self.clock.check().map_err(Stop::All)
    }

    /// Assigns the time since the last lap to the task on top.
    fn lap_of_last(&mut self) {
        if let Some(last) = self.stack.len().checked_sub(1) {
            self.lap_of_task(last);
        }
    }

    /// Stores the results of the jobs that have finished.
    pub(super) fn take_in_finished(&mut self) -> Result<(), Stop> {
        loop {
            let jobs = self.mode.deferral.as_ref().and_then(|deferral| deferral.jobs.as_ref());
            let Some(finished) = jobs.and_then(Jobs::try_next) else { return Ok(()) };
            self.take_in(finished)?;
        }
    }

    fn take_in(&mut self, finished: Finished) -> Result<(), Stop> {
        let Finished { slot, computed, took, by_caller } = finished;
        let deferral = self.mode.deferral.as_mut().expect("jobs are those of the deferral");
        let pending = deferral.pending.remove(&slot).expect("a job was noted as pending");
        let Pending { task, places, taken, mask, n_cells, shape } = pending;
        let step = task.step;
        self.stack.push(task);
        let top = self.stack.len() - 1;
        let stored = match computed {
            Computed::Form(columns) => {
                let outputs = columns.into_iter().map(|column| column.map(Data::Many)).collect();
                self.store_result(top, outputs, shape)
            }
            Computed::Function(result, outputs, unsettled) => {
                self.note_unsettled(step, unsettled);
                self.finish_function(top, (result, outputs), &taken, &mask, n_cells, shape)
            }
            Computed::Ended(error) => Err(Stop::All(self.clock.end(error))),
        };
        self.release_all(top, &places);
        self.stack.truncate(top);
        self.note_cost(step, mask.len(), took);
        self.lap(step);
        if let Some(laps) = self.laps.as_mut().filter(|_| !by_caller) {
            laps.worked_elsewhere(took);
            self.log_time(step, took, Timing::Clock);
        }
        stored
    }

    /// Records the cost of a run.
    pub(super) fn note_cost(&self, step: StepId, elements: usize, took: Duration) {
        let id = self.instance_id(step);
        if let Some(deferral) = &self.mode.deferral {
            deferral.workers.costs.note(id, elements, took);
        }
    }
}
