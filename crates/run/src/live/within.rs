//! What waves may use, and whether somebody still waits for what they compute.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use millstream_base::Limits;
use millstream_ir::answer::EvalError;
use millstream_ir::progress::{Done, Pace, Progress};

use super::LiveGraph;
use super::node::Flags;

/// Says why nobody waits for a wave any more, if so; is told how many nodes ran, over all waves.
type Watch = Arc<dyn Fn(u64) -> Option<EvalError> + Send + Sync>;

/// What a wave may use.
#[derive(Clone)]
pub struct Within {
    /// Limits of what functions make. All values that one evaluation makes may hold its `bytes`.
    pub limits: Limits,
    /// Bytes that all values that are kept may hold together, those of evaluations before as well;
    /// those that switches give on count once.
    pub bytes: usize,
    /// Is asked before each node that is more than numbers, every few thousand of those that are
    /// numbers, by functions that take long, and in the end.
    pub watch: Option<Watch>,
}

impl Default for Within {
    fn default() -> Self {
        let limits = Limits::default();
        Self { bytes: limits.bytes, limits, watch: None }
    }
}

/// So many nodes of numbers run between two looks at the clock.
const RUNS: u64 = 1 << 11;

impl Within {
    /// The same until somebody raises the flag, the time is past, or who follows the progress ends
    /// it. Progress is counted from `n_before`, the runs of waves before, out of `n_steps`.
    #[must_use]
    pub fn until(
        self,
        cancel: Option<&Arc<AtomicBool>>,
        deadline: Option<Instant>,
        progress: Option<&Progress>,
        (n_steps, n_before): (u64, u64),
    ) -> Self {
        if cancel.is_none() && deadline.is_none() && progress.is_none() {
            return self;
        }
        let (cancel, progress) = (cancel.cloned(), progress.cloned());
        let pace = Pace::new();
        let look = move |n_runs: u64| {
            if let Some(error) = EvalError::ended(cancel.as_deref(), deadline) {
                return Some(error);
            }
            let progress = progress.as_ref()?;
            if !pace.is_due(progress) {
                return None;
            }
            let mut done = Done::default();
            done.runs = n_runs - n_before;
            (done.steps, done.elements, done.ticks) = (n_steps, done.runs, 1);
            progress.tell(&done).is_break().then_some(EvalError::Cancelled)
        };
        // What is over stays so, whatever becomes of the flag: a function that was ended by it did
        // not fail.
        let over: OnceLock<EvalError> = OnceLock::new();
        let watch = move |n_runs: u64| match over.get() {
            Some(error) => Some(error.clone()),
            None => look(n_runs).map(|error| over.get_or_init(|| error).clone()),
        };
        Self { watch: Some(Arc::new(watch)), ..self }
    }

    /// How many nodes may have run when somebody is asked, if `n_runs` have.
    pub(super) fn next_look(&self, n_runs: u64) -> u64 {
        self.watch.as_ref().map_or(u64::MAX, |_| n_runs + RUNS)
    }

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
        if let Some(error) = self.within.over(self.n_runs) {
            // What was set may be taken back as long as nobody read it.
            self.within.watch = None;
            return Err(error);
        }
        self.boxes.count(true);
        self.settle();
        self.boxes.count(false);
        self.end_within()
    }

    /// [`commit`](Self::commit) within bounds.
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

    /// Whether some node is more than operations on numbers, so that it matters what a wave may use.
    pub fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Whether the wave ends between nodes; `next` is how many ran when that is asked again.
    #[cold]
    pub(super) fn is_stopped_between(&mut self, next: &mut u64) -> bool {
        self.stopped = self.stopped.take().or_else(|| self.within.over(self.n_runs));
        *next = self.n_runs + RUNS;
        self.stopped.is_some()
    }

    /// Why the wave may not go on, if so.
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

    /// Whether the wave ends before a node runs.
    pub(super) fn is_stopped_at(&mut self, at: usize) -> bool {
        self.stopped = self.over();
        if self.stopped.is_some() {
            self.mark(at as u32);
            self.is_rewound = true;
        }
        self.stopped.is_some()
    }

    /// After a wave that was ended, nobody knows what dirty nodes read at their last run, but for
    /// those for which that is held.
    #[cold]
    pub(super) fn run_dirty_anew(&mut self) {
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
