//! Plans of single numbers as live graphs.
//!
//! A step of one operation becomes a node of that operation, a longer form a node that runs it, a
//! choice a switch; inputs and features of the request become sources.

use millstream_base::feature::Aspect;
use millstream_base::id::{Id, SideTable};
use millstream_base::{Lane, Type, Value};
use millstream_ir::InputId;
use millstream_ir::answer::{
    Answer, EvalError, Fate, LogEntry, OutputAnswer, RunLog, RunReason, Series, SkipReason,
};
use millstream_ir::plan::{Plan, Step, StepId, StepOp};
use millstream_ir::request::{Bound, LogDetail, Request};
use millstream_kernel::{Data, Instance, Kernel};

use crate::lazy::operation_of;
use crate::live::{LiveGraph, NodeNumber};

/// A plan as a live graph.
pub(super) struct Numbers {
    graph: LiveGraph,
    /// The node of each step that an output reads.
    nodes: SideTable<StepId, Option<NodeNumber>>,
    /// The source of each input that is read.
    inputs: SideTable<InputId, Option<NodeNumber>>,
    /// The source of each need that is read.
    features: Vec<Option<NodeNumber>>,
    /// The outputs that are observed.
    observed: Vec<usize>,
    /// Steps that ran some time.
    has_run: SideTable<StepId, bool>,
}

impl std::fmt::Debug for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Numbers").field("nodes", &self.graph.len()).finish_non_exhaustive()
    }
}

/// The lane of a type of numbers.
fn lane(ty: Type) -> Option<Lane> {
    ty.lanes().filter(|(_, n)| *n == 1).map(|(lane, _)| lane)
}

fn bits(data: &Data) -> Option<u64> {
    match data {
        Data::One(value) => lane(value.ty()).and_then(|_| value.lane(0)),
        Data::Many(_) => None,
    }
}

impl Numbers {
    /// Whether a request has one cell only.
    pub(super) fn fits(bound: &Bound) -> bool {
        bound.times.is_none() && bound.count.is_none()
    }

    /// The plan as a live graph, if all its steps compute single numbers in the context of the
    /// request.
    pub(super) fn new(plan: &Plan, bound: &Bound) -> Option<Self> {
        let mut numbers = Self {
            graph: LiveGraph::new(),
            nodes: SideTable::for_arena(&plan.steps, None),
            inputs: SideTable::for_arena(&plan.inputs, None),
            features: vec![None; plan.needs.len()],
            observed: Vec::new(),
            has_run: SideTable::for_arena(&plan.steps, false),
        };
        for (id, step) in plan.steps.iter() {
            let node = match step.op {
                StepOp::Const(constant) => {
                    let data = &plan.constants[constant];
                    numbers.graph.source_of(lane(data.ty())?, bits(data)?)
                }
                StepOp::Input(input) => {
                    let data = &bound.inputs[input.index()].data;
                    let node = numbers.graph.source_of(lane(data.ty())?, bits(data)?);
                    numbers.inputs[input] = Some(node);
                    node
                }
                StepOp::Call(instance) => {
                    numbers.call(plan, bound, step, &plan.instances[instance])?
                }
            };
            numbers.nodes[id] = Some(node);
        }
        Some(numbers)
    }

    fn call(
        &mut self,
        plan: &Plan,
        bound: &Bound,
        step: &Step,
        instance: &Instance,
    ) -> Option<NodeNumber> {
        let [output] = &instance.outputs[..] else { return None };
        if instance.has_scopes() || instance.class >= millstream_kernel::Class::Stateful {
            return None;
        }
        let to = lane(output.ty)?;
        let inputs: Option<Vec<NodeNumber>> =
            plan.inputs_of(step).iter().map(|link| self.nodes[link.step]).collect();
        let inputs = inputs?;
        match &instance.kernel {
            Kernel::Form(form) => Some(match operation_of(instance) {
                Some((op, of, to, operands)) => {
                    let operands: Vec<NodeNumber> =
                        operands.iter().map(|i| inputs[*i as usize]).collect();
                    self.graph.operation_of(op, of, to, &operands)
                }
                None => self.graph.form(form, &inputs, to),
            }),
            Kernel::Choose => {
                let by_number = instance.inputs[0].ty == Type::I32;
                Some(self.graph.choice_of(inputs[0], by_number, &inputs[1..], to))
            }
            Kernel::Read { feature, level: 0, aspect: Aspect::Value } => {
                let need = millstream_base::feature::Need {
                    feature: feature.clone(),
                    level: 0,
                    aspect: Aspect::Value,
                };
                let bit = plan.needs.find(&need)? as usize;
                let data = &bound.features[bit].as_ref()?.data;
                if self.features[bit].is_none() {
                    let source = self.graph.source_of(lane(data.ty())?, bits(data)?);
                    self.features[bit] = Some(source);
                }
                self.features[bit]
            }
            Kernel::Read { .. } | Kernel::Function(_) | Kernel::Pass => None,
        }
    }

    /// Brings the outputs asked for up to date.
    pub(super) fn answer(
        &mut self,
        plan: &Plan,
        request: &Request,
        bound: &Bound,
    ) -> Result<Answer, EvalError> {
        if request.cancel.as_ref().is_some_and(|c| c.load(std::sync::atomic::Ordering::Relaxed)) {
            return Err(EvalError::Cancelled);
        }
        if request.deadline.is_some_and(|deadline| std::time::Instant::now() > deadline) {
            return Err(EvalError::Deadline);
        }
        for (id, node) in self.inputs.iter() {
            if let (Some(node), Some(bits)) = (node, bits(&bound.inputs[id.index()].data)) {
                self.graph.set_number(*node, bits);
            }
        }
        for (node, given) in self.features.iter().zip(&bound.features) {
            if let (Some(node), Some(given)) = (node, given)
                && let Some(bits) = bits(&given.data)
            {
                self.graph.set_number(*node, bits);
            }
        }
        self.observe(plan, &bound.outputs);
        let is_logged = request.log != LogDetail::Off;
        if is_logged {
            self.graph.start_journal();
        }
        self.graph.settle();
        let mut outputs = Vec::with_capacity(bound.outputs.len());
        for position in &bound.outputs {
            let output = &plan.outputs[*position];
            let node = self.nodes[output.source.step].expect("each step has a node");
            let bits = self.graph.number(node);
            let value = Value::from_lanes(output.ty, &[bits]).expect("outputs are numbers");
            let value = Some(Series { data: Data::One(value), axes: Vec::new() });
            let name = std::sync::Arc::clone(&output.name);
            outputs.push(OutputAnswer { name, ty: output.ty, value });
        }
        let entries = if is_logged { self.log(plan) } else { Vec::new() };
        self.graph.stop_journal();
        Ok(Answer {
            outputs,
            failures: Vec::new(),
            log: RunLog { entries },
            times: None,
            count: None,
        })
    }

    /// Observes these outputs and no others.
    fn observe(&mut self, plan: &Plan, outputs: &[usize]) {
        if self.observed == outputs {
            return;
        }
        let node = |numbers: &Self, output: &usize| {
            numbers.nodes[plan.outputs[*output].source.step].expect("each step has a node")
        };
        for output in outputs {
            self.graph.observe_number(node(self, output), true);
        }
        let kept: Vec<NodeNumber> = outputs.iter().map(|output| node(self, output)).collect();
        for output in std::mem::take(&mut self.observed) {
            let node = node(self, &output);
            if !kept.contains(&node) {
                self.graph.observe_number(node, false);
            }
        }
        self.observed = outputs.to_vec();
    }

    fn log(&mut self, plan: &Plan) -> Vec<LogEntry> {
        let mut runs = vec![0_u32; self.graph.len() + 1];
        for node in self.graph.journal() {
            runs[*node as usize] += 1;
        }
        let mut entries: Vec<LogEntry> = Vec::with_capacity(plan.steps.len());
        for (id, step) in plan.steps.iter() {
            let node = self.nodes[id].expect("each step has a node");
            let n = runs[node.index()];
            let is_call = matches!(step.op, StepOp::Call(_));
            let fate = if n > 0 {
                let had_run = std::mem::replace(&mut self.has_run[id], true);
                Fate::Ran(if had_run { RunReason::InputChanged } else { RunReason::First })
            } else if is_call && self.has_run[id] && self.graph.is_live(node) {
                let links = plan.inputs_of(step).iter();
                let mut ran =
                    links.map(|link| matches!(entries[link.step.index()].fate, Fate::Ran(_)));
                let is_cut_off = ran.any(|ran| ran);
                Fate::Skipped(if is_cut_off { SkipReason::CutOff } else { SkipReason::Cached })
            } else {
                Fate::Skipped(SkipReason::NotNeeded)
            };
            let (elements, time) = (u64::from(n), std::time::Duration::ZERO);
            entries.push(LogEntry { fate, runs: n, elements, bytes: 0, time });
        }
        entries
    }
}
