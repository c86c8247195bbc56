//! Evaluation of plans of single values in live graphs.

use std::sync::Arc;

use millstream_base::Limits;
use millstream_base::id::Id;
use millstream_ir::answer::{
    Answer, EvalError, Fate, LogEntry, OutputAnswer, RunLog, RunReason, Series, SkipReason,
};
use millstream_ir::plan::{Plan, Step, StepId, StepOp};
use millstream_ir::request::{Bound, LogDetail, Request};
use millstream_ir::unsettled::Mark;
use millstream_ir::{NodeFailure, Watch, ZoneBody};
use millstream_node::{Data, Kernel};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::live::{LiveProgram, NodeNumber, NotNumbers, Propagation, Shown, Within};

/// A live graph that answers requests.
#[derive(Debug)]
pub(super) struct Singles {
    live: LiveProgram,
    propagation: Propagation,
    /// The outputs that are observed; in mixed propagation the first of them is pushed.
    observed: Vec<usize>,
    /// The nodes that had never run, if runs are recorded for the log of the next answer.
    logging: Option<FxHashSet<NodeNumber>>,
    /// The steps that read features.
    reads: Vec<StepId>,
    /// The steps with repeats that may not settle.
    zones: Vec<StepId>,
    shown: Shown,
}

impl Singles {
    /// Whether a request has only one cell.
    pub(super) fn fits(bound: &Bound) -> bool {
        bound.is_single()
    }

    /// The plan as a live graph, of numbers only or of any values.
    ///
    /// # Errors
    /// If it cannot be one.
    pub(super) fn new(
        plan: &Plan,
        propagation: Propagation,
        of_numbers: bool,
    ) -> Result<Self, NotNumbers> {
        let mut live =
            if of_numbers { LiveProgram::new(plan)? } else { LiveProgram::of_values(plan)? };
        live.graph().set_propagation(propagation);
        let reads = plan.steps.iter().filter(|(_, step)| match step.op {
            StepOp::Call(instance) => {
                matches!(plan.instances[instance].kernel, Kernel::Read { .. })
            }
            StepOp::Const(_) | StepOp::Input(_) => false,
        });
        let reads = reads.map(|(step, _)| step).collect();
        let (observed, shown) = (Vec::new(), Shown::default());
        let zones = plan.steps.iter().filter(|(_, step)| match step.op {
            StepOp::Call(instance) => {
                ZoneBody::of(&plan.instances[instance]).is_some_and(|body| body.may_be_unsettled)
            }
            StepOp::Const(_) | StepOp::Input(_) => false,
        });
        let zones = zones.map(|(step, _)| step).collect();
        Ok(Self { live, propagation, observed, logging: None, reads, zones, shown })
    }

    /// Passes on the inputs of a request; changes travel if the propagation says so.
    ///
    /// # Errors
    /// If the budget of the request is exhausted.
    pub(super) fn commit(
        &mut self,
        plan: &Plan,
        request: &Request,
        bound: &Bound,
    ) -> Result<(), EvalError> {
        request.budget.check()?;
        let features = bound.features.iter().map(|data| data.as_ref().map(|data| &data.data));
        self.live.set_all(bound.inputs.iter().map(|data| &data.data), features);
        self.observe(plan, &bound.outputs);
        if request.log != LogDetail::Off && self.logging.is_none() {
            let nodes = plan.steps.ids().map(|step| self.live.node(step));
            let graph = self.live.graph_ref();
            self.logging = Some(nodes.filter(|node| graph.is_new(*node)).collect());
            self.live.graph().start_journal(request.log == LogDetail::Times);
        }
        let within = self.within(plan, request, bound);
        self.live.graph().commit_within(within)
    }

    /// The limits of the request on a wave.
    fn within(&mut self, plan: &Plan, request: &Request, bound: &Bound) -> Within {
        let within = Within::new(request.limits.clone(), Limits::default().bytes);
        within.watched(Watch::of(plan, request, bound), self.live.graph().n_runs())
    }

    /// Updates the requested outputs and returns the answer.
    pub(super) fn answer(
        &mut self,
        plan: &Plan,
        request: &Request,
        bound: &Bound,
    ) -> Result<Answer, EvalError> {
        self.commit(plan, request, bound)?;
        let within = self.within(plan, request, bound);
        self.live.graph().settle_within(within)?;
        let asked =
            bound.outputs.iter().map(|output| self.live.output_node(plan.outputs[*output].source));
        self.live.graph_ref().check_bytes(asked, request.limits.bytes)?;
        let mut outputs = Vec::with_capacity(bound.outputs.len());
        for position in &bound.outputs {
            let output = &plan.outputs[*position];
            let value = self.live.value(output.source, output.ty);
            let value = value.map(|value| Series { data: Data::One(value), axes: Vec::new() });
            let name = Arc::clone(&output.name);
            outputs.push(OutputAnswer { name, ty: output.ty, value, partial: None });
        }
        let failures = self.failures(plan);
        let unsettled = self.unsettled(plan);
        let mut entries = Vec::new();
        if let Some(new) = self.logging.take() {
            if request.log != LogDetail::Off {
                entries = self.log(plan, &new);
            }
            self.live.graph().stop_journal();
        } else {
            let graph = self.live.graph_ref();
            let reads = self.reads.iter().map(|step| self.live.node(*step));
            self.shown.note(graph, reads.filter(|node| graph.is_live(*node)));
        }
        let log = RunLog::of(entries);
        let mut answer = Answer::of_one_cell(outputs, failures, log);
        answer.unsettled = unsettled;
        Ok(answer)
    }

    /// The marks of the results that are needed, also if they were computed earlier.
    fn unsettled(&self, plan: &Plan) -> Vec<Mark> {
        let graph = self.live.graph_ref();
        let mut marks = Vec::new();
        for step in self.zones.iter().copied() {
            let node = self.live.node(step);
            if let Some(rounds) = graph.unsettled(node).filter(|_| graph.is_live(node)) {
                marks.extend(Mark::of_step(plan, step, rounds.clone()));
            }
        }
        marks
    }

    /// The failures, ordered by path.
    fn failures(&mut self, plan: &Plan) -> Vec<NodeFailure> {
        let failed: FxHashMap<NodeNumber, _> = self.live.graph().failures().into_iter().collect();
        if failed.is_empty() {
            return Vec::new();
        }
        let failure = |(id, step): (StepId, &Step)| {
            let why = failed.get(&self.live.node(id))?;
            let (path, cell) =
                (plan.paths.get(step.path).clone(), why.item_coordinates().collect());
            let (message, help) = (why.message.clone(), why.help.clone());
            Some(NodeFailure { path, message, help, cell, replayed: None })
        };
        let mut failures: Vec<NodeFailure> = plan.steps.iter().filter_map(failure).collect();
        failures.sort_by(|a, b| a.path.cmp(&b.path));
        failures
    }

    /// Lets failed nodes run again when they are demanded, although their inputs are unchanged.
    pub(super) fn try_failed_again(&mut self) {
        self.live.graph().try_failed_again();
    }

    /// Observes these outputs and no others.
    fn observe(&mut self, plan: &Plan, outputs: &[usize]) {
        if self.observed == outputs {
            return;
        }
        let node =
            |live: &LiveProgram, output: &usize| live.output_node(plan.outputs[*output].source);
        let wanted: Vec<NodeNumber> =
            outputs.iter().map(|output| node(&self.live, output)).collect();
        for node in &wanted {
            self.live.graph().observe_number(*node, true);
        }
        if self.propagation == Propagation::Mixed {
            let pushed = self.observed.first().map(|output| node(&self.live, output));
            for (node, is_pushed) in [(pushed, false), (wanted.first().copied(), true)] {
                if let Some(node) = node {
                    self.live.graph().push_number(node, is_pushed);
                }
            }
        }
        for output in std::mem::take(&mut self.observed) {
            let node = node(&self.live, &output);
            if !wanted.contains(&node) {
                self.live.graph().observe_number(node, false);
            }
        }
        self.observed = outputs.to_vec();
    }

    fn log(&mut self, plan: &Plan, new: &FxHashSet<NodeNumber>) -> Vec<LogEntry> {
        let nodes: Vec<NodeNumber> = plan.steps.ids().map(|step| self.live.node(step)).collect();
        let demanded: FxHashSet<NodeNumber> =
            self.live.graph().demanded(nodes.iter().copied()).into_iter().collect();
        let graph = self.live.graph_ref();
        let mut runs = vec![0_u32; graph.len() + 1];
        for node in graph.journal() {
            runs[*node as usize] += 1;
        }
        let mut reads = self.reads.iter().peekable();
        let mut entries: Vec<LogEntry> = Vec::with_capacity(plan.steps.len());
        for ((id, step), node) in plan.steps.iter().zip(nodes) {
            let mut n = runs[node.index()];
            let is_demanded = demanded.contains(&node);
            let fate = if reads.next_if_eq(&&id).is_some() {
                let fate = self.shown.fate(graph, node, is_demanded);
                n = u32::from(matches!(fate, Fate::Ran(_)));
                fate
            } else if n > 0 {
                let is_new = new.contains(&node);
                Fate::Ran(if is_new { RunReason::First } else { RunReason::InputChanged })
            } else if is_demanded && graph.lacks_input(node) {
                Fate::Skipped(SkipReason::InputFailed)
            } else if is_demanded && graph.has_failed(node) {
                Fate::Skipped(SkipReason::Failed)
            } else if is_demanded && matches!(step.op, StepOp::Call(_)) {
                let mut links = plan.inputs_of(step).iter();
                let ran = |step: StepId| match entries.get(step.index()) {
                    Some(LogEntry { fate: Fate::Ran(_), .. }) => true,
                    Some(_) | None => false,
                };
                let is_cut_off = links.any(|link| ran(link.step));
                Fate::Skipped(if is_cut_off { SkipReason::CutOff } else { SkipReason::Cached })
            } else {
                Fate::Skipped(SkipReason::NotNeeded)
            };
            let (elements, time) = (u64::from(n), graph.time_of(node));
            entries.push(LogEntry { fate, runs: n, elements, time, ..LogEntry::NOT_NEEDED });
        }
        let reads = self.reads.iter().map(|step| self.live.node(*step));
        self.shown.note(graph, reads.filter(|node| demanded.contains(node)));
        entries
    }
}
