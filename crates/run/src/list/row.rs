//! The members of a block that must still run, and their order.
//!
//! Without jobs that is the order of the list. With jobs (`deferred`) a member that needs the
//! result of a job is postponed until the result exists, and others run before it. Members that
//! call other blocks keep their order, so blocks are called with the same masks in the same order
//! whatever the threads do.

use std::collections::VecDeque;
use std::ops::Range;

use millstream_ir::plan::StepId;
use rustc_hash::FxHashMap;

use super::listed::Listed;
use crate::blocks::BlockOf;
use crate::frame::FrameId;
use crate::uses::{Use, uses};
use crate::walk::{Stop, Walk};

/// Members of a block, as positions in the list.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// Members that were not visited.
    rest: Range<usize>,
    /// Members that were postponed and can run now.
    ready: VecDeque<usize>,
    /// For each member that is a job or was postponed, the members that wait for it.
    late: FxHashMap<StepId, Vec<usize>>,
    /// For each postponed member the number of members that it waits for.
    waits: FxHashMap<usize, usize>,
    /// Members that are jobs.
    jobs: Vec<StepId>,
    /// The member that was returned last.
    last: Option<usize>,
    /// The last member that calls other blocks.
    last_caller: Option<StepId>,
}

impl Row {
    pub(super) fn new(members: Range<usize>) -> Self {
        Self { rest: members, ..Self::default() }
    }

    /// Records that a member is computed.
    fn done(&mut self, step: StepId) {
        for waiting in self.late.remove(&step).unwrap_or_default() {
            let left = self.waits.get_mut(&waiting).expect("members that wait are counted");
            *left -= 1;
            if *left == 0 {
                self.waits.remove(&waiting);
                self.ready.push_back(waiting);
            }
        }
    }
}

impl Walk<'_, Listed<'_>> {
    /// The next member to run in a context; `None` when all are computed.
    #[inline]
    pub(super) fn next_of(&mut self, row: &mut Row, frame: FrameId) -> Result<Option<usize>, Stop> {
        if self.mode.deferral.is_none() {
            return Ok(row.rest.next());
        }
        self.next_with_jobs(row, frame)
    }

    fn next_with_jobs(&mut self, row: &mut Row, frame: FrameId) -> Result<Option<usize>, Stop> {
        let blocks = self.mode.blocks;
        self.take_in_finished()?;
        if let Some(last) = row.last.take() {
            let step = blocks.steps[last];
            if self.is_job(step, frame) {
                row.late.entry(step).or_default();
                row.jobs.push(step);
            } else if !row.late.is_empty() {
                row.done(step);
            }
        }
        loop {
            for i in (0..row.jobs.len()).rev() {
                if !self.is_job(row.jobs[i], frame) {
                    let step = row.jobs.swap_remove(i);
                    row.done(step);
                }
            }
            if let Some(next) = row.ready.pop_front() {
                row.last = Some(next);
                return Ok(Some(next));
            }
            if let Some(next) = row.rest.next() {
                if row.late.is_empty() || self.can_run(row, next) {
                    row.last = Some(next);
                    return Ok(Some(next));
                }
            } else if row.jobs.is_empty() {
                return Ok(None);
            } else {
                self.wait_for_any()?;
            }
        }
    }

    /// Whether a job computes a step.
    fn is_job(&mut self, step: StepId, frame: FrameId) -> bool {
        let home = self.home(step, frame);
        let slot = self.store.find(step, home);
        let deferral = self.mode.deferral.as_ref();
        slot.is_some_and(|slot| deferral.is_some_and(|deferral| deferral.is_pending(slot)))
    }

    /// Whether everything a member reads in its block exists; else the member is postponed.
    fn can_run(&self, row: &mut Row, member: usize) -> bool {
        let blocks = self.mode.blocks;
        let step = blocks.steps[member];
        let own = blocks.block_of(step);
        let mut n_waits = 0;
        let mut calls = false;
        for (source, kind) in uses(self.plan, &self.plan.steps[step]) {
            let of = blocks.block_of(source.step);
            calls |= kind != Use::Strict || (of != own && of != BlockOf::Main);
            if let Some(waiting) = row.late.get_mut(&source.step) {
                waiting.push(member);
                n_waits += 1;
            }
        }
        if calls {
            let before = row.last_caller.replace(step);
            if let Some(waiting) = before.and_then(|before| row.late.get_mut(&before)) {
                waiting.push(member);
                n_waits += 1;
            }
        }
        if n_waits > 0 {
            row.waits.insert(member, n_waits);
            row.late.insert(step, Vec::new());
        }
        n_waits == 0
    }
}
