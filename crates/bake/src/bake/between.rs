//! Results between state and outputs, in documents with state.
//!
//! A result that reads the state of a tick, and that outputs read, is stored where computing it
//! takes long. So outputs that differ by view, or that changed, do not compute it again. Results
//! above the next state of a node are not stored: the state is.

use std::sync::Arc;

use millstream_base::id::SideTable;
use millstream_ir::answer::Answer;
use millstream_ir::plan::{Plan, StepSource};
use millstream_ir::request::{LogDetail, Request};
use millstream_ir::state_reads::StateReads;
use millstream_ir::states::{States, is_state};
use millstream_ir::unsettled::{Mark, Unsettled, Via};
use millstream_run::{Varying, varying_steps};

use super::LookUp;
use crate::contexts::contexts;
use crate::cuts::{COMPUTED, Cuts, Way, cut_of, name};
use crate::key::Key;
use crate::keys::MARK;
use crate::stored::{self, Stored};

/// The results between state and outputs that may be stored.
pub(super) struct Between {
    cuts: Cuts,
    /// Whether each of them differs between frames.
    varies: Vec<bool>,
    /// Whether each of them is stored; known once a frame has been measured.
    is_stored: Option<Vec<bool>>,
    /// The last value of each of them that was read.
    last: Vec<Option<(Key, Stored)>>,
}

impl Between {
    /// The candidates of a bake with state; none if state is inside scopes, or nothing is stored.
    pub(super) fn new(look_up: &LookUp<'_, '_>) -> Self {
        let (plan, reads) = (look_up.plan(), &look_up.keys.reads);
        let is_off = look_up.cache.limit() == 0 && look_up.cache.is_empty();
        let is_inside = reads.nodes.iter().any(|node| node.writer.is_some());
        let cuts = if is_off || is_inside {
            Cuts::none(plan)
        } else {
            let next = plan.outputs.iter().filter(|output| is_state(&output.name));
            let next = next.map(|output| output.source.step);
            let mut is_next = SideTable::for_arena(&plan.steps, false);
            next.clone().for_each(|step| is_next[step] = true);
            let is_above = plan.steps_upstream_of(next);
            Cuts::between(plan, &look_up.bake.cheap, (&is_above, is_next))
        };
        let varying = varying_steps(plan, look_up.bake.request(), Varying::Ticks);
        let varies = cuts.sources.iter().map(|source| varying[source.step]).collect();
        let last = vec![None; cuts.sources.len()];
        let is_stored = cuts.sources.is_empty().then(Vec::new);
        Self { cuts, varies, is_stored, last }
    }

    /// The results to publish.
    pub(super) fn published(&self) -> Vec<(StepSource, Arc<str>)> {
        self.cuts.named(COMPUTED, 0..self.cuts.sources.len())
    }

    /// The results to read and to compute for the missing outputs of a frame.
    pub(super) fn way(&self, look_up: &mut LookUp<'_, '_>, tick: usize, missing: &[usize]) -> Way {
        if self.cuts.sources.is_empty() {
            return Way::default();
        }
        let mut is_known = vec![false; self.cuts.sources.len()];
        for (cut, source) in self.cuts.sources.iter().enumerate() {
            if self.is_stored.as_ref().is_none_or(|is_stored| is_stored[cut]) {
                let key = look_up.keys.key(*source, tick);
                is_known[cut] = key.is_some_and(|key| look_up.cache.contains(key));
            }
        }
        let outputs = look_up.outputs();
        let wanted: Vec<StepSource> = missing.iter().map(|it| outputs[*it].source).collect();
        let arms = look_up.keys.arms(tick);
        let mut way = self.cuts.way(look_up.plan(), &wanted, arms, &is_known);
        if let Some(is_stored) = &self.is_stored {
            way.computed.retain(|cut| is_stored[*cut]);
        }
        way
    }

    /// Whether some of these results differ between frames.
    pub(super) fn any_varies(&self, cuts: &[usize]) -> bool {
        cuts.iter().any(|cut| self.varies[*cut])
    }

    /// Whether outputs, or results to compute for them, read state other than through the results
    /// that are given: as the state before a tick, or as the given state after it.
    pub(super) fn reads_state(
        &self,
        look_up: &LookUp<'_, '_>,
        (missing, computed): (&[usize], &[usize]),
        (given, states): (&[usize], &[StepSource]),
    ) -> bool {
        let plan = look_up.plan();
        let mut is_seen = SideTable::for_arena(&plan.steps, false);
        let outputs = missing.iter().map(|output| look_up.outputs()[*output].source);
        let computed = computed.iter().map(|cut| self.cuts.sources[*cut]);
        let mut ahead: Vec<StepSource> = outputs.chain(computed).collect();
        while let Some(source) = ahead.pop() {
            if states.contains(&source) {
                return true;
            }
            let is_given = given.iter().any(|cut| self.cuts.sources[*cut] == source);
            if is_given || std::mem::replace(&mut is_seen[source.step], true) {
                continue;
            }
            if look_up.keys.reads.read_at(source.step).is_some() {
                return true;
            }
            ahead.extend(plan.inputs_of(&plan.steps[source.step]));
        }
        false
    }

    /// The stored values of these results in a tick; `None` if one cannot be read.
    pub(super) fn read(
        &mut self,
        look_up: &mut LookUp<'_, '_>,
        tick: usize,
        cuts: &[usize],
    ) -> Option<Vec<Stored>> {
        let mut all = Vec::with_capacity(cuts.len());
        for cut in cuts {
            let key = look_up.keys.key(self.cuts.sources[*cut], tick)?;
            if self.last[*cut].as_ref().is_none_or(|(known, _)| *known != key) {
                self.last[*cut] = Some((key, stored::read(look_up.cache, key)?));
            }
            all.extend(self.last[*cut].as_ref().map(|(_, stored)| stored.clone()));
        }
        Some(all)
    }

    /// The marks of results that were read.
    pub(super) fn marks<'b>(
        &'b self,
        cuts: &'b [usize],
        values: &'b [Stored],
    ) -> impl Iterator<Item = Mark> + 'b {
        cuts.iter().zip(values).flat_map(|(cut, stored)| {
            let via = Via::Step(self.cuts.sources[*cut].step);
            let mark = move |it: &Unsettled| Mark { unsettled: it.clone(), via, moment: None };
            stored.unsettled.iter().map(mark)
        })
    }

    /// The request with the results to compute, of the first frame with times.
    pub(super) fn asked(&self, way: &Way, request: Request) -> Request {
        let log = if self.is_stored.is_none() { LogDetail::Times } else { LogDetail::Off };
        let ask = |request: Request, cut: &usize| request.optional_output(name(COMPUTED, *cut));
        way.computed.iter().fold(request.with_log(log), ask)
    }

    /// Takes the computed results out of an answer, whose log starts with `n_given` other entries, and
    /// stores those that are worth it. Those that depend on a failed state are not stored.
    pub(super) fn taken(
        &mut self,
        look_up: &mut LookUp<'_, '_>,
        (tick, way, n_given): (usize, &Way, usize),
        answer: &mut Answer,
        (marks, has_failed): (&[Mark], FailedState<'_>),
    ) {
        let (results, others): (Vec<_>, Vec<_>) = std::mem::take(&mut answer.outputs)
            .into_iter()
            .partition(|output| cut_of(&output.name).is_some());
        answer.outputs = others;
        if self.is_stored.is_none() {
            let most = look_up.cache.limit() / 2 / look_up.bake.frames().len() as u64;
            let measured = (&*answer, &results[..], n_given);
            let gain = look_up.bake.gain;
            self.is_stored = Some(self.cuts.measured(look_up.plan(), way, measured, (gain, most)));
        }
        let is_stored = self.is_stored.as_deref().unwrap_or_default();
        for result in results {
            let (Some(cut), Some(series)) = (cut_of(&result.name), result.value) else { continue };
            let source = self.cuts.sources[cut];
            if !is_stored[cut]
                || !stored::is_by_element(&series)
                || has_failed(&look_up.keys.depends(source.step))
            {
                continue;
            }
            if let Some(key) = look_up.keys.key(source, tick) {
                let unsettled = look_up.marks_in(source.step, tick, marks);
                stored::write(look_up.cache, key, &Stored { series, unsettled });
            }
        }
    }
}

/// Whether one of these nodes with state failed.
pub(super) type FailedState<'a> = &'a dyn Fn(&[bool]) -> bool;

/// A result of a step that also computes the next state of a node.
pub(super) struct Beside {
    pub(super) node: usize,
    pub(super) source: StepSource,
    /// The name of a variable of the node, which no author can write.
    pub(super) name: Arc<str>,
}

/// The outputs of a plan, computed from the state after the tick and from results between.
pub(super) struct After {
    /// The plan in which these are given.
    pub(super) plan: Plan,
    /// The states by name, each with the input that gives it.
    states: Vec<(Arc<str>, Arc<str>)>,
    /// The sources of the states.
    pub(super) state_sources: Vec<StepSource>,
    /// The inputs that give the results between.
    results: Vec<Arc<str>>,
}

impl After {
    /// The outputs of a plan that depend on the state of these nodes, given these results; `None` if
    /// one of these nodes is inside scopes, or nothing is given.
    pub(super) fn new(
        plan: &Plan,
        (reads, beside): (&StateReads<'_>, &[Beside]),
        kept: &[bool],
        (between, cuts): (&Between, &[usize]),
    ) -> Option<Self> {
        if reads.is_inside(kept) || !kept.contains(&true) && cuts.is_empty() {
            return None;
        }
        // The dot marks an input as state, which differs from tick to tick.
        let name = |at: usize| -> Arc<str> { format!("{MARK}.{at}").into() };
        let of_cut = |(at, cut): (usize, &usize)| (between.cuts.sources[*cut], name(at));
        let mut given: Vec<(StepSource, Arc<str>)> = cuts.iter().enumerate().map(of_cut).collect();
        let results = given.iter().map(|(_, name)| Arc::clone(name)).collect();
        let mut states = Vec::new();
        // In another context, a result is not the state.
        let (_, is_affected) = contexts(plan);
        let nodes = reads.nodes.iter().zip(kept).filter(|(_, kept)| **kept);
        let next = nodes.flat_map(|(node, _)| &node.outputs).map(|output| {
            let output = &plan.outputs[*output];
            (&output.name, output.source)
        });
        for (state, source) in next.chain(beside.iter().map(|it| (&it.name, it.source))) {
            if !is_affected[source.step] && given.iter().all(|(known, _)| *known != source) {
                let name = name(given.len());
                states.push((Arc::clone(state), Arc::clone(&name)));
                given.push((source, name));
            }
        }
        let state_sources = given[cuts.len()..].iter().map(|(source, _)| *source).collect();
        let plan = plan.spliced(&given, &between.published());
        Some(Self { plan, states, state_sources, results })
    }

    /// The number of inputs that the plan has in addition.
    pub(super) fn n_given(&self) -> usize {
        self.states.len() + self.results.len()
    }

    /// The request with that state and these results; `None` if a part of the state is missing.
    pub(super) fn given_to(
        &self,
        states: Option<&States>,
        results: &[Stored],
        mut request: Request,
    ) -> Option<Request> {
        for (input, stored) in self.results.iter().zip(results) {
            let given = stored::given(stored.series.data.clone());
            request = request.given(input.to_string(), given);
        }
        let Some(states) = states else { return Some(request) };
        for (state, input) in &self.states {
            let given = stored::given(states.value(state)?.clone());
            request = request.given(input.to_string(), given);
        }
        Some(request)
    }
}
