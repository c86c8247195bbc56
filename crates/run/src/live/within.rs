//! The limits of waves: bytes, a deadline, cancellation.

use std::fmt;
use std::sync::Arc;

use millstream_base::Limits;
use millstream_ir::answer::EvalError;
use millstream_ir::{Done, Watch};

use super::LiveGraph;
use super::node::Flags;

/// The limits of a wave.
#[derive(Clone)]
pub struct Within {
    /// Limits of functions. `bytes` also limits the values that one evaluation makes, together.
    pub limits: Limits,
    /// Maximal size of all values of the graph together, in bytes. A value that switches pass on
    /// counts once.
    pub bytes: usize,
    /// The watch, which is checked before each node that does more than compute numbers, after
    /// every few thousand nodes of numbers, by slow functions, and at the end.
    pub(super) watch: Option<Arc<Watch<'static>>>,
    /// The number of runs in all waves before the evaluation that is watched.
    pub(super) n_before: u64,
}

impl Default for Within {
    fn default() -> Self {
        let limits = Limits::default();
        let bytes = limits.bytes;
        Self::new(limits, bytes)
    }
}

/// Number of nodes of numbers that run between two checks of the watch.
const RUNS: u64 = 1 << 11;

impl Within {
    /// Limits without a watch.
    pub fn new(limits: Limits, bytes: usize) -> Self {
        Self { limits, bytes, watch: None, n_before: 0 }
    }

    /// The same limits with a watch, which counts runs from `n_before` on.
    #[must_use]
    pub fn watched(self, watch: Watch<'static>, n_before: u64) -> Self {
        let watch = watch.has_ends().then(|| Arc::new(watch));
        Self { watch, n_before, ..self }
    }

    /// Whether a watch may end the wave.
    pub fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// The number of runs at which the watch is checked next, after `n_runs`.
    #[inline(always)]
    pub(super) fn next_look(&self, n_runs: u64) -> u64 {
        self.watch.as_ref().map_or(u64::MAX, |_| n_runs + RUNS)
    }

    /// The reason why a wave must stop, if there is one.
    pub(super) fn over(&self, n_runs: u64) -> Option<EvalError> {
        self.watch.as_ref()?.ended(Done::of_runs(n_runs - self.n_before))
    }
}

impl fmt::Debug for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Within").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl LiveGraph {
    /// Updates everything that is observed, within limits. Nodes that failed under other limits are
    /// tried again.
    ///
    /// # Errors
    /// If the wave was stopped, or values need too many bytes. The next wave continues from there.
    pub fn settle_within(&mut self, within: Within) -> Result<(), EvalError> {
        if within.limits != self.within.limits {
            self.try_failed_again();
        }
        self.within = within;
        if let Some(error) = self.within.over(self.n_runs) {
            // No wave has begun, so sources may still be set back.
            self.within.watch = None;
            return Err(error);
        }
        self.boxes.count(true);
        self.settle();
        self.boxes.count(false);
        self.end_within()
    }

    /// [`commit`](Self::commit) within limits.
    ///
    /// # Errors
    /// As [`settle_within`](Self::settle_within).
    ///
    /// # Panics
    /// If a callback does.
    pub(crate) fn commit_within(&mut self, within: Within) -> Result<(), EvalError> {
        self.within = within;
        self.commit().expect("nobody is called back");
        self.end_within()
    }

    fn end_within(&mut self) -> Result<(), EvalError> {
        let over = self.stopped.take().or_else(|| self.over());
        self.within.watch = None;
        over.map_or(Ok(()), Err)
    }

    /// Whether some node does more than operations on numbers, so that limits matter.
    pub fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Whether the wave must stop between nodes. `next` becomes the number of runs at the next
    /// check.
    #[cold]
    pub(super) fn is_stopped_between(&mut self, next: &mut u64) -> bool {
        self.stopped = self.stopped.take().or_else(|| self.within.over(self.n_runs));
        *next = self.n_runs + RUNS;
        self.stopped.is_some()
    }

    /// The reason why the wave must stop, if there is one.
    fn over(&self) -> Option<EvalError> {
        let (made, kept) = (self.within.limits.bytes, self.within.bytes);
        if self.boxes.bytes_made() > made {
            return Some(EvalError::Bytes { limit: made });
        }
        if self.boxes.bytes() > kept {
            return Some(EvalError::Bytes { limit: kept });
        }
        self.within.over(self.n_runs)
    }

    /// Whether the wave must stop before a node runs.
    pub(super) fn is_stopped_at(&mut self, at: usize) -> bool {
        self.stopped = self.over();
        if self.stopped.is_some() {
            self.mark(at as u32);
            self.is_rewound = true;
        }
        self.stopped.is_some()
    }

    /// Records for which dirty nodes a stopped wave has lost the values of their last run: all for
    /// which they are not held.
    #[cold]
    pub(super) fn note_overtaken(&mut self) {
        for position in self.dirty.all() {
            let node = self.order.node_at(position);
            let at = node as u32;
            let is_new = self.nodes[node].flags.has(Flags::NEW);
            if !is_new && !self.nodes[node].is_source() && !self.is_held(at) {
                self.overtaken.insert(at);
                self.nodes[node].flags.set(Flags::CAREFUL);
            }
        }
    }
}
