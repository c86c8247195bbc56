//! The graph without Rust types, for plans and documents, whose types are known only at run time.

use std::sync::Arc;

use millstream_base::feature::Aspect;
use millstream_base::{Feature, Lane, Type, Value};
use millstream_form::{Form, Op};
use millstream_node::{Class, Instance, Kernel, ScopeRule};
use smallvec::SmallVec;

use super::node::{Flags, NONE, Node, canonical};
use super::special::{Special, Whole};
use super::{Handle, LiveGraph, Selector};
use crate::one_op::operation_of;

/// The number of a node of a live graph of any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeNumber(pub(super) u32);

impl NodeNumber {
    /// The number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl<T> From<Handle<T>> for NodeNumber {
    fn from(handle: Handle<T>) -> Self {
        Self(handle.node)
    }
}

/// The lane of a type of single numbers.
pub fn lane_of_number(ty: Type) -> Option<Lane> {
    ty.lanes().filter(|(_, n)| *n == 1).map(|(lane, _)| lane)
}

/// The bits of a single number; `None` for other values.
pub fn number_bits(value: &Value) -> Option<u64> {
    lane_of_number(value.ty()).and_then(|_| value.lane(0))
}

impl LiveGraph {
    /// The inputs of an instance that its node reads, in order: some may not be needed, and some
    /// may be needed twice.
    pub fn inputs_needed(&self, instance: &Instance) -> SmallVec<[u16; 4]> {
        match operation_of(instance).filter(|_| !self.holds_columns()) {
            Some((.., operands)) => operands.iter().map(|i| u16::from(*i)).collect(),
            None => (0..instance.inputs.len() as u16).collect(),
        }
    }

    /// A node that runs an instance of a node type; `inputs` has a node for each input that is
    /// [needed](Self::inputs_needed), and for one that [gathers](gathers_elements) one more. If there are several outputs, each has a node of its own, see
    /// [`output`](Self::output).
    ///
    /// # Errors
    /// The property of the instance that a live graph does not support.
    pub fn call(
        &mut self,
        instance: &Arc<Instance>,
        inputs: &[NodeNumber],
    ) -> Result<NodeNumber, &'static str> {
        if is_of_numbers(instance) && !self.holds_columns() {
            return self.call_of_numbers(instance, inputs);
        }
        if !(self.holds_columns() && gathers_elements(instance)) {
            is_plain(instance)?;
        }
        match &instance.kernel {
            Kernel::Choose if self.holds_columns() => self.select_of(picks(instance), inputs),
            Kernel::Choose => {
                let inputs: SmallVec<[u32; 4]> = inputs.iter().map(|input| input.0).collect();
                let arms = inputs[1..].iter().copied();
                let node = self.switch_of(inputs[0], picks(instance), arms, Lane::I64);
                self.put_in_box(node, None);
                Ok(NodeNumber(node))
            }
            Kernel::Form(_) | Kernel::Function(_) | Kernel::Pass => {
                Ok(self.call_of_values(instance, inputs))
            }
            Kernel::Read { .. } => Err("it reads an extent, or the context outside a scope"),
            Kernel::ReadState(_) => Err("it gives a state for each element"),
        }
    }

    /// A node that runs an instance on single numbers.
    ///
    /// # Errors
    /// The property of the instance that a graph of numbers does not support.
    pub(super) fn call_of_numbers(
        &mut self,
        instance: &Instance,
        inputs: &[NodeNumber],
    ) -> Result<NodeNumber, &'static str> {
        let to = result_lane(instance)?;
        match &instance.kernel {
            Kernel::Form(form) => Ok(match operation_of(instance) {
                Some((op, of, to, _)) => {
                    self.operation_of(op, of, to, inputs.iter().map(|input| input.0))
                }
                None => self.form(form, inputs, to),
            }),
            Kernel::Choose => {
                let arms = inputs[1..].iter().map(|arm| arm.0);
                Ok(NodeNumber(self.switch_of(inputs[0].0, picks(instance), arms, to)))
            }
            Kernel::Read { .. } => Err("it reads an extent, or the context outside a scope"),
            Kernel::Function(_) => Err("it is a function over columns"),
            // Without scopes, it passes its input on.
            Kernel::Pass => Ok(self.operation_of(Op::Convert, to, to, [inputs[0].0].into_iter())),
            Kernel::ReadState(_) => Err("it gives a state for each element"),
        }
    }

    /// [Observes](Self::observe) a node, or ends that.
    pub fn observe_number(&mut self, node: NodeNumber, is_observed: bool) {
        self.set_observed(node.0, is_observed);
    }

    /// A source with these initial bits.
    pub fn source_of(&mut self, lane: Lane, bits: u64) -> NodeNumber {
        let mut flags = Flags::new(0, lane);
        flags.clear(Flags::NEW);
        flags.set(Flags::SPECIAL);
        let (value, inputs) = (canonical(flags, bits), [NONE, 0, 0]);
        NodeNumber(self.push(Node { value, inputs, users: [NONE; 2], code: 0, flags }))
    }

    pub(crate) fn operation_of(
        &mut self,
        op: Op,
        of: Lane,
        to: Lane,
        operands: impl ExactSizeIterator<Item = u32>,
    ) -> NodeNumber {
        let mut inputs = [0; 3];
        let code = self.code(op, of, to);
        let flags = Flags::new(operands.len(), to);
        for (input, operand) in inputs.iter_mut().zip(operands) {
            *input = operand;
        }
        NodeNumber(self.linked(Node { value: 0, inputs, users: [NONE; 2], code, flags }))
    }

    /// A node that runs a form with one result, on numbers.
    pub(crate) fn form(
        &mut self,
        form: &Arc<Form>,
        inputs: &[NodeNumber],
        lane: Lane,
    ) -> NodeNumber {
        let inputs = inputs.iter().map(|input| input.0).collect();
        let form = Whole { form: Arc::clone(form), inputs };
        NodeNumber(self.special(Special::Form(form), lane))
    }

    /// The bits of a node that is observed and settled.
    pub fn number(&self, node: NodeNumber) -> u64 {
        self.nodes[node.index()].value
    }

    /// Whether a node is set from outside.
    pub fn is_source(&self, node: NodeNumber) -> bool {
        self.nodes[node.index()].is_source()
    }

    /// The lane of a node's value.
    pub fn lane(&self, node: NodeNumber) -> Lane {
        self.nodes[node.index()].flags.lane()
    }

    /// Whether a node was never computed.
    pub fn is_new(&self, node: NodeNumber) -> bool {
        self.nodes[node.index()].flags.has(Flags::NEW)
    }

    /// The nodes that ran since the journal was started, in order.
    pub fn journal_numbers(&self) -> impl Iterator<Item = NodeNumber> {
        self.journal().iter().map(|node| NodeNumber(*node))
    }

    /// Whether a node was never computed, or not since an input changed.
    pub fn is_pending(&self, NodeNumber(node): NodeNumber) -> bool {
        self.nodes[node as usize].flags.has(Flags::NEW | Flags::PARKED)
            || self.dirty.has(self.order.position(node))
    }

    /// Whether a node was observed in the last wave, or always read by one that was, for all
    /// choices of arms.
    pub fn is_live(&self, node: NodeNumber) -> bool {
        self.nodes[node.index()].flags.has(Flags::LIVE)
    }

    /// Ends the journal.
    pub fn stop_journal(&mut self) {
        (self.journal, self.times) = (None, None);
    }
}

/// The function by which the first input of an instance picks an arm.
fn picks(choice: &Instance) -> fn(u64, usize) -> usize {
    let by_number = choice.inputs[0].ty == Type::I32;
    if by_number { <i32 as Selector>::arm } else { <bool as Selector>::arm }
}

/// Checks that an instance reads its inputs in its own context, and has no state.
fn is_plain(instance: &Instance) -> Result<(), &'static str> {
    if instance.has_scopes() {
        return Err("it changes the context of an input");
    }
    if instance.class >= Class::Stateful {
        return Err("it keeps state or reads a device");
    }
    Ok(())
}

/// The lane of the result of an instance, if its sockets permit a node of numbers.
pub(super) fn result_lane(instance: &Instance) -> Result<Lane, &'static str> {
    let [output] = &instance.outputs[..] else { return Err("it has several outputs") };
    is_plain(instance)?;
    lane_of_number(output.ty).ok_or(NOT_A_NUMBER)
}

/// Whether an instance only takes and returns single numbers.
fn is_of_numbers(instance: &Instance) -> bool {
    let kernel = match &instance.kernel {
        Kernel::Form(_) | Kernel::Choose | Kernel::Pass => true,
        Kernel::Read { .. } | Kernel::Function(_) | Kernel::ReadState(_) => false,
    };
    kernel
        && result_lane(instance).is_ok()
        && instance.inputs.iter().all(|input| lane_of_number(input.ty).is_some())
}

/// Whether an instance changes the context only by gathering the elements of the request, so that
/// in a graph that holds columns it reads lists. Its node reads the number of elements after its
/// inputs.
pub fn gathers_elements(instance: &Instance) -> bool {
    let is_index = |rule: &ScopeRule| matches!(rule, ScopeRule::Along { feature, level: 0 } if *feature == Feature::Index);
    let mut inputs = instance.inputs.iter();
    matches!(instance.kernel, Kernel::Function(_))
        && instance.class < Class::Stateful
        && instance.has_scopes()
        && inputs.all(|input| input.scope.len() <= 1 && input.scope.iter().all(is_index))
}

/// Whether an instance gives the number of elements of the request.
pub fn counts_elements(instance: &Instance) -> bool {
    let Kernel::Read { feature, level: 0, aspect: Aspect::Extent } = &instance.kernel else {
        return false;
    };
    *feature == Feature::Index
}

/// Whether an instance can be a node of a live graph, provided that the features that it reads
/// exist.
pub fn can_be_live(instance: &Instance) -> bool {
    let kernel = match &instance.kernel {
        Kernel::Form(_) | Kernel::Choose | Kernel::Pass | Kernel::Function(_) => true,
        Kernel::Read { level, aspect, .. } => *level == 0 && *aspect == Aspect::Value,
        Kernel::ReadState(_) => false,
    };
    kernel && is_plain(instance).is_ok()
}

pub(super) const NOT_A_NUMBER: &str = "its value is not a single number";
