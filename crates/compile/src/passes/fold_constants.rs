//! Compute nodes that depend only on constants.
//!
//! Requires: types equal along links. Establishes: no static node without scopes has only constant
//! inputs, unless its kernel fails or its result is large or has no text form. A node whose kernel
//! fails stays, so that the failure is reported on demand. Kernels run with tighter limits than in
//! evaluations. Cost: one sweep.

use millstream_base::diagnostics::Diagnostics;
use millstream_base::map::Map;
use millstream_base::types::Kind;
use millstream_base::{Limits, Mask, Type, Value, catch_panic};
use millstream_form::Form;
use millstream_ir::{Graph, NodeId, ZoneBody};
use millstream_node::zone::Mode;
use millstream_node::{Argument, Call, Class, Data, Instance, Kernel};
use millstream_node::{function::Output, function::SharedFunction};

use super::folded::Folded;
use super::sweep::{Rule, sweep};
use super::{Changed, PassContext};
use crate::analyses::own_class;

/// The maximum size of a folded constant, in bytes.
const MAX_BYTES: usize = 1 << 16;

/// Fold constants.
///
/// # Errors
/// If the graph has a cycle.
pub fn fold_constants(graph: &mut Graph, cx: &PassContext<'_>) -> Result<Changed, Diagnostics> {
    sweep(graph, cx, &[Rule::Fold])
}

/// Runs kernels on constants.
pub(super) struct Folder<'a> {
    limits: Limits,
    folded: Option<&'a Folded>,
    params: Vec<u64>,
    results: Vec<u64>,
    scratch: Vec<u64>,
}

impl<'a> Folder<'a> {
    pub(super) fn new(limits: &Limits, folded: Option<&'a Folded>) -> Self {
        let limits = Limits {
            list_length: limits.list_length.min(1 << 14),
            repeat_count: limits.repeat_count.min(1 << 14),
            image_pixels: limits.image_pixels.min(1 << 14),
            bytes: limits.bytes.min(1 << 20),
            ..limits.clone()
        };
        Self { limits, folded, params: Vec::new(), results: Vec::new(), scratch: Vec::new() }
    }

    /// The outputs of a node, if its inputs are constant and it can be computed.
    pub(super) fn fold(&mut self, graph: &Graph, id: NodeId) -> Option<Vec<Value>> {
        let instance = graph.instance_of(id)?;
        let links = graph.inputs_of(id);
        if !links.iter().all(|link| graph.constant_of(link.node).is_some())
            || own_class(instance) != Class::Static
            || instance.has_scopes()
            || !instance.outputs.iter().all(|slot| has_text(slot.ty))
        {
            return None;
        }
        let inputs = links.iter().filter_map(|link| graph.constant_of(link.node));
        let values = match &instance.kernel {
            Kernel::Form(form) => self.run_form(form, instance, inputs),
            Kernel::Function(_) if !is_worth_folding(instance) => None,
            Kernel::Function(function) => match self.folded {
                Some(folded) => {
                    let inputs: Vec<Value> = inputs.cloned().collect();
                    folded.or_run(instance, &inputs, || {
                        self.run_function(function, instance, inputs.iter())
                    })
                }
                None => self.run_function(function, instance, inputs),
            },
            // A read is not constant; the others are simplified instead.
            Kernel::Read { .. } | Kernel::Pass | Kernel::Choose | Kernel::ReadState(_) => None,
        }?;
        let fit = values
            .iter()
            .zip(&instance.outputs)
            .all(|(value, slot)| value.ty() == slot.ty && value.bytes() <= MAX_BYTES);
        fit.then_some(values)
    }

    fn run_form<'v>(
        &mut self,
        form: &Form,
        instance: &Instance,
        inputs: impl Iterator<Item = &'v Value>,
    ) -> Option<Vec<Value>> {
        self.params.clear();
        for value in inputs {
            let (_, n) = value.ty().lanes()?;
            self.params.extend((0..n as usize).filter_map(|i| value.lane(i)));
        }
        if self.params.len() < form.params.len() {
            return None;
        }
        self.results.clear();
        self.results.resize(form.results.len(), 0);
        form.run_scalar(&self.params, &mut self.results, &mut self.scratch);
        let mut rest = self.results.as_slice();
        let mut values = Vec::with_capacity(instance.outputs.len());
        for slot in &instance.outputs {
            let (_, n) = slot.ty.lanes()?;
            let (lanes, others) = rest.split_at_checked(n as usize)?;
            values.push(Value::from_lanes(slot.ty, lanes)?);
            rest = others;
        }
        Some(values)
    }

    fn run_function<'v>(
        &self,
        function: &SharedFunction,
        instance: &Instance,
        inputs: impl Iterator<Item = &'v Value>,
    ) -> Option<Vec<Value>> {
        let inputs: Vec<Data> = inputs.map(|value| Data::One(value.clone())).collect();
        let mut arguments: Vec<Argument<'_>> =
            inputs.iter().map(|data| Argument::shared(data, Map::Single)).collect();
        let mut outputs: Vec<Output> =
            instance.outputs.iter().map(|_| Output::Wanted(None)).collect();
        let mask = Mask::full(1);
        let mut limits = self.limits.clone();
        if let Some(body) = ZoneBody::of(instance) {
            let n_runs = MAX_ROUND_STEPS / body.plan.steps.len().max(1);
            match body.course.mode {
                Mode::Items { .. } => limits.list_length = limits.list_length.min(n_runs),
                Mode::Rounds { .. } | Mode::Ticks { .. } => limits.repeat_count = n_runs,
            }
        }
        let mut call = Call::new(&mask, 1, &limits, &mut arguments, &mut outputs);
        // A failure, including a panic in a function of the embedding program, is reported with its
        // place and context when an evaluation encounters it.
        catch_panic(|| function.call(&mut call)).ok()?.ok()?;
        let (_, unsettled) = call.into_rest();
        if !unsettled.is_empty() {
            // The node remains, so that evaluations report it.
            return None;
        }
        let values = outputs.iter().map(|output| match output {
            Output::Done(data) => Some(data.get(0)),
            Output::Ignored | Output::Wanted(_) => None,
        });
        values.collect()
    }
}

/// The maximum number of steps in all rounds of a folded repeat.
const MAX_ROUND_STEPS: usize = 1 << 16;

/// Whether the cost of calling the function is bounded. The rounds of nested repeats multiply.
fn is_worth_folding(instance: &Instance) -> bool {
    let Some(body) = ZoneBody::of(instance) else { return true };
    let mut instances = body.plan.instances.as_slice().iter();
    instances.all(|inner| ZoneBody::of(inner).is_none() && !inner.has_scopes())
}

/// Whether constants of the type can be printed and parsed.
fn has_text(ty: Type) -> bool {
    match ty.kind() {
        Kind::Lanes(..) | Kind::String => true,
        Kind::List(element) => has_text(element),
        Kind::Opaque => false,
    }
}
