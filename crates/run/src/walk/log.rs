//! The log of a walk: the runs of steps, and their times.
//!
//! The clock is read after each turn of the walk, so all the time between two turns belongs to the
//! step that was advanced.

use std::time::Duration;

use millstream_base::id::Id;
use millstream_ir::answer::{Fate, LogEntry, RunLog, RunReason, SkipReason, Timing};
use millstream_ir::plan::{StepId, StepOp};
use millstream_node::Class;

use super::{Mode, Walk};

impl<M: Mode> Walk<'_, M> {
    /// Why a step runs whose results are not stored.
    #[inline]
    fn reason_without_results(&self, step: StepId) -> RunReason {
        if M::KEEPS_RESULTS
            && let (Some(_), StepOp::Call(id)) = (&self.log, self.plan.steps[step].op)
        {
            match self.plan.instances[id].class {
                Class::Stateful => return RunReason::Stateful,
                Class::Volatile => return RunReason::Volatile,
                Class::Static | Class::UserInput | Class::Contextual => {}
            }
        }
        RunReason::First
    }

    /// Records that a step ran.
    #[inline]
    pub(crate) fn log_run(&mut self, step: StepId, elements: usize, bytes: usize) {
        self.clock.ran = self.clock.ran.and(1, elements);
        let reason = self.reason_without_results(step);
        if let Some(entry) = self.log_entry(step) {
            entry.fate = Fate::Ran(reason);
            entry.runs += 1;
            entry.elements += elements as u64;
            entry.bytes += bytes as u64;
        }
    }

    /// Assigns the time since the last lap to the step of the task at `top`.
    #[inline]
    pub(crate) fn lap_of_task(&mut self, top: usize) {
        if self.laps.is_some() {
            let step = self.stack[top].step;
            self.lap(step);
        }
    }

    /// Assigns the time since the last lap to a step.
    pub(crate) fn lap(&mut self, step: StepId) {
        if let Some(laps) = &mut self.laps {
            let time = laps.take();
            self.log_time(step, time, Timing::Clock);
        }
    }

    /// Adds to the time of a step.
    pub(crate) fn log_time(&mut self, step: StepId, time: Duration, timing: Timing) {
        if let Some(entry) = self.log_entry(step) {
            entry.time += time;
            entry.timing = entry.timing.max(timing);
        }
    }

    /// The log that the request wants.
    pub(super) fn told(&mut self) -> RunLog {
        let mut log = RunLog::of(self.log.take().unwrap_or_default());
        if let Some(laps) = &self.laps {
            log.measuring = laps.measuring;
            laps.scale(&mut log);
        }
        log
    }

    /// Whether the request wants a log.
    pub(crate) fn is_logged(&self) -> bool {
        self.log.is_some()
    }

    pub(crate) fn log_entry(&mut self, step: StepId) -> Option<&mut LogEntry> {
        self.log.as_mut().map(|log| &mut log[step.index()])
    }

    pub(crate) fn log_failed_input(&mut self, step: StepId) {
        if let Some(entry) = self.log_entry(step)
            && entry.runs == 0
        {
            entry.fate = Fate::Skipped(SkipReason::InputFailed);
        }
    }
}
