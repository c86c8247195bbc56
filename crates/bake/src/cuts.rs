//! Cuts: intermediate results that are stored too, so that after a change only the results below it
//! are computed.
//!
//! Whether a result is worth storing is measured: storing it costs time per byte, and saves the
//! time of computing it, unless a result above it already saves that.

use std::sync::Arc;
use std::time::Duration;

use millstream_base::id::{Id, SideTable};
use millstream_ir::answer::{Answer, OutputAnswer};
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_node::Kernel;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cheap::Cheap;
use crate::contexts::contexts;
use crate::keys::MARK;
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

/// The kinds of names: results that a plan is given, and those that it publishes.
pub(crate) const GIVEN: char = 'g';
pub(crate) const COMPUTED: char = 'c';

/// The name under which a plan is given a result, or publishes it.
pub(crate) fn name(kind: char, cut: usize) -> String {
    format!("{MARK}{kind}{cut}")
}

/// The result that is published under a name.
pub(crate) fn cut_of(name: &str) -> Option<usize> {
    name.strip_prefix(MARK)?.strip_prefix(COMPUTED)?.parse().ok()
}

/// The results of a plan that may be stored, in the order of its steps.
pub(crate) struct Cuts {
    pub(crate) sources: Vec<StepSource>,
    by_source: FxHashMap<StepSource, usize>,
    /// The steps whose results are stored in another way.
    is_stored: SideTable<StepId, bool>,
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
    pub(crate) fn none(plan: &Plan) -> Self {
        let is_stored = SideTable::for_arena(&plan.steps, false);
        Self { sources: Vec::new(), by_source: FxHashMap::default(), is_stored }
    }

    /// The candidates: expensive results that are read only in the context of the request.
    pub(crate) fn new(plan: &Plan, cheap: &Cheap) -> Self {
        let none = SideTable::for_arena(&plan.steps, false);
        Self::between(plan, cheap, (&none, none.clone()))
    }

    /// The candidates that are read by a step outside `is_above`, except for the results of the steps
    /// in `is_stored`, which are stored in another way.
    pub(crate) fn between(
        plan: &Plan,
        cheap: &Cheap,
        (is_above, is_stored): (&SideTable<StepId, bool>, SideTable<StepId, bool>),
    ) -> Self {
        let (is_read, is_affected) = contexts(plan);
        let mut sources = Vec::new();
        let mut known = FxHashSet::default();
        for (_, step) in plan.steps.iter().filter(|(id, _)| is_read[*id] && !is_above[*id]) {
            for link in plan.inputs_of(step).iter().filter(|link| !is_stored[link.step]) {
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
        Self { sources, by_source, is_stored }
    }

    /// The results to publish, or to give, under names of this kind.
    pub(crate) fn named(
        &self,
        kind: char,
        cuts: impl IntoIterator<Item = usize>,
    ) -> Vec<(StepSource, Arc<str>)> {
        let named = |cut: usize| (self.sources[cut], name(kind, cut).into());
        cuts.into_iter().map(named).collect()
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
            if self.is_stored[source.step] || std::mem::replace(&mut is_seen[source.step], true) {
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

    /// The candidates worth storing, given the answer for one frame and the published results in it. The
    /// log starts with `n_given` entries of inputs that the plan does not have.
    pub(crate) fn measured(
        &self,
        plan: &Plan,
        way: &Way,
        (answer, results, n_given): (&Answer, &[OutputAnswer], usize),
        (gain, most_bytes): (u32, u64),
    ) -> Vec<bool> {
        let entries = &answer.log.entries;
        let time_of = |step: StepId| {
            entries.get(n_given + step.index()).map_or(Duration::ZERO, |entry| entry.time)
        };
        let bytes_of = |cut: usize| {
            way.computed.contains(&cut).then(|| {
                let name = name(COMPUTED, cut);
                let result = results.iter().find(|it| *it.name == *name);
                let known =
                    result.and_then(|it| it.value.as_ref()).map(|it| it.data.bytes() as u64);
                let step = self.sources[cut].step;
                known
                    .unwrap_or_else(|| entries.get(n_given + step.index()).map_or(0, |it| it.bytes))
            })
        };
        let mut is_stored = self.worth(plan, gain, &time_of, &bytes_of, most_bytes);
        for cut in &way.given {
            // It was worth storing in an earlier bake.
            is_stored[*cut] = true;
        }
        is_stored
    }

    /// The candidates worth storing, given the time of each step and the size of each candidate in
    /// a frame: those that take `gain` times longer to compute than to store, with a total of at
    /// most `most_bytes`.
    fn worth(
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
                || self.is_stored[source.step]
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
