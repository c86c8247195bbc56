//! What waves may use, and whether somebody still waits for what they compute.

use std::fmt;
use std::sync::Arc;

use millstream_base::Limits;
use millstream_ir::answer::EvalError;

use super::LiveGraph;
use super::node::Flags;

/// Says why nobody waits for a wave any more, if so; is told how many nodes ran, over all waves.
type Watch = Arc<dyn Fn(u64) -> Option<EvalError> + Send + Sync>;

/// What a wave may use. Waves of numbers alone take so little that nobody asks.
#[derive(Clone)]
pub struct Within {
    /// Limits of what functions make.
    pub limits: Limits,
    /// Bytes that all values together may hold; those that switches give on count once.
    pub bytes: usize,
    /// Is asked before each node that is more than numbers, and by functions that take long.
    pub watch: Option<Watch>,
}

impl Default for Within {
    fn default() -> Self {
        let limits = Limits::default();
        Self { bytes: limits.bytes, limits, watch: None }
    }
}

impl Within {
    pub(super) fn over(&self, n_runs: u64) -> Option<EvalError> {
        self.watch.as_ref()?(n_runs)
    }
}

impl fmt::Debug for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Within").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl LiveGraph {
    /// Brings everything that is observed up to date, within bounds. What failed for other limits
    /// is tried again.
    ///
    /// # Errors
    /// If nobody waits any more, or values need too many bytes. What was not computed is computed
    /// the next time.
    pub fn settle_within(&mut self, within: Within) -> Result<(), EvalError> {
        if within.limits != self.within.limits {
            self.try_failed_again();
        }
        self.within = within;
        self.settle();
        self.within.watch = None;
        self.stopped.take().map_or(Ok(()), Err)
    }

    /// Whether some node is more than operations on numbers, so that it matters what a wave may use.
    pub fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Whether the wave ends before a node runs.
    pub(super) fn is_stopped_at(&mut self, at: usize) -> bool {
        let limit = self.within.bytes;
        let is_full = self.boxes.bytes() > limit;
        self.stopped =
            if is_full { Some(EvalError::Bytes { limit }) } else { self.within.over(self.n_runs) };
        if self.stopped.is_some() {
            self.mark(at as u32);
            self.is_rewound = true;
        }
        self.stopped.is_some()
    }

    /// After a wave that was ended, nobody knows what dirty nodes read at their last run.
    #[cold]
    pub(super) fn run_dirty_anew(&mut self) {
        for position in self.dirty.all() {
            let node = self.order.node_at(position);
            if !self.nodes[node].is_source() {
                self.nodes[node].flags.set(Flags::NEW);
            }
        }
    }
}
