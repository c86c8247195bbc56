//! Cuts: intermediate results that are stored too, so that after a change only the results below it
//! are computed.
//!
//! Whether a result is worth storing is measured: storing it costs time per byte, and saves the
//! time of computing it, unless a result above it already saves that.

use std::time::Duration;

use millstream_base::id::{Id, SideTable};
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_node::Kernel;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cheap::Cheap;
use crate::contexts::contexts;
use crate::trace::Arms;

/// The maximum number of results to look up per frame.
const MAX_CUTS: usize = 128;

/// The time to store a result and read it back.
const FIXED: Duration = Duration::from_micros(100);

/// The additional time per byte: memory, checksums and the file system at about a gigabyte a
/// second, twice.
const NANOSECONDS_A_BYTE: f64 = 3.0;

/// A result is stored if computing it takes this many times longer.
pub(crate) const GAIN: u32 = 2;

/// The results of a plan that may be stored, in the order of its steps.
pub(crate) struct Cuts {
    pub(crate) sources: Vec<StepSource>,
    by_source: FxHashMap<StepSource, usize>,
}

/// The work for a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Way {
    /// The stored results to read.
    pub(crate) given: Vec<usize>,
    /// The results to compute.
    pub(crate) computed: Vec<usize>,
}

impl Cuts {
    /// No candidates.
    pub(crate) fn none() -> Self {
        Self { sources: Vec::new(), by_source: FxHashMap::default() }
    }

    /// The candidates: expensive results that are read only in the context of the request.
    pub(crate) fn new(plan: &Plan, cheap: &Cheap) -> Self {
        let (is_read, is_affected) = contexts(plan);
        let mut sources = Vec::new();
        let mut known = FxHashSet::default();
        for (_, step) in plan.steps.iter().filter(|(id, _)| is_read[*id]) {
            for link in plan.inputs_of(step) {
                let StepOp::Call(call) = plan.steps[link.step].op else { continue };
                let is_work = match plan.instances[call].kernel {
                    Kernel::Form(_) | Kernel::Function(_) => true,
                    Kernel::Pass | Kernel::Choose => plan.instances[call].has_scopes(),
                    Kernel::Read { .. } | Kernel::ReadState(_) => false,
                };
                let is_candidate = is_work
                    && is_read[link.step]
                    && !is_affected[link.step]
                    && !cheap.is_cheap[link.step];
                if is_candidate && known.insert(*link) {
                    sources.push(*link);
                }
            }
        }
        sources.sort_unstable_by_key(|source| (source.step.index(), source.output));
        if sources.len() > MAX_CUTS {
            let n = sources.len();
            sources = (0..MAX_CUTS).map(|i| sources[(i + 1) * n / MAX_CUTS - 1]).collect();
        }
        let by_source = sources.iter().enumerate().map(|(i, source)| (*source, i)).collect();
        Self { sources, by_source }
    }

    /// The work for some results, given the arms that choices take and the stored candidates.
    pub(crate) fn way(
        &self,
        plan: &Plan,
        wanted: &[StepSource],
        arms: &Arms,
        is_known: &[bool],
    ) -> Way {
        let mut way = Way::default();
        let mut is_seen = SideTable::for_arena(&plan.steps, false);
        let mut is_met = vec![false; self.sources.len()];
        let mut ahead: Vec<StepSource> = wanted.to_vec();
        while let Some(source) = ahead.pop() {
            if let Some(cut) = self.by_source.get(&source).copied() {
                if !std::mem::replace(&mut is_met[cut], true) {
                    let list = if is_known[cut] { &mut way.given } else { &mut way.computed };
                    list.push(cut);
                }
                if is_known[cut] {
                    continue;
                }
            }
            if std::mem::replace(&mut is_seen[source.step], true) {
                continue;
            }
            let links = plan.inputs_of(&plan.steps[source.step]);
            match arms.get(&source.step) {
                Some(arm) => ahead.push(links[*arm]),
                None => ahead.extend(links),
            }
        }
        way.given.sort_unstable();
        way.computed.sort_unstable();
        way
    }

    /// The candidates worth storing, given the time of each step and the size of each candidate in
    /// a frame: those that take `gain` times longer to compute than to store, with a total of at
    /// most `most_bytes`.
    pub(crate) fn worth(
        &self,
        plan: &Plan,
        mut gain: u32,
        time_of: &dyn Fn(StepId) -> Duration,
        bytes_of: &dyn Fn(usize) -> Option<u64>,
        most_bytes: u64,
    ) -> Vec<bool> {
        loop {
            let mut is_stored = vec![false; self.sources.len()];
            let mut total = 0_u64;
            for (cut, source) in self.sources.iter().enumerate() {
                let Some(bytes) = bytes_of(cut) else { continue };
                let nanoseconds = bytes as f64 * NANOSECONDS_A_BYTE;
                let cost = FIXED + Duration::from_nanos(nanoseconds as u64);
                if self.time_above(plan, *source, time_of, &is_stored) >= cost * gain {
                    is_stored[cut] = true;
                    total = total.saturating_add(bytes);
                }
            }
            if total <= most_bytes {
                return is_stored;
            }
            let Some(next) = gain.max(1).checked_mul(2) else {
                return vec![false; self.sources.len()];
            };
            gain = next;
        }
    }

    /// The time of the steps above a result, except those above a stored one.
    fn time_above(
        &self,
        plan: &Plan,
        source: StepSource,
        time_of: &dyn Fn(StepId) -> Duration,
        is_stored: &[bool],
    ) -> Duration {
        let mut is_seen = SideTable::for_arena(&plan.steps, false);
        let mut ahead = vec![source];
        let mut time = Duration::ZERO;
        while let Some(source) = ahead.pop() {
            if self.by_source.get(&source).is_some_and(|cut| is_stored[*cut])
                || std::mem::replace(&mut is_seen[source.step], true)
            {
                continue;
            }
            time += time_of(source.step);
            ahead.extend(plan.inputs_of(&plan.steps[source.step]));
        }
        time
    }
}
