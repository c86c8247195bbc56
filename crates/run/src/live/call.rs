//! Calls: nodes that run an instance of a node type on values of any type, and may fail.
//!
//! A call with several outputs has a node that runs and one more node for each output, so that
//! users of an output run only if that output changes. An output without readers is not computed;
//! if it is read later, the call runs again.

use std::sync::Arc;
use std::time::Instant;

use millstream_base::map::Map;
use millstream_base::same::Same;
use millstream_base::{Column, Lane, Mask, Type, Value};
use millstream_node::function::Output;
use millstream_node::gather::Gather;
use millstream_node::unsettled::Rounds;
use millstream_node::{Argument, Data, Failure, Function, Instance, Kernel};
use millstream_node::{instance::InputSlot, instance::OutputSlot};
use smallvec::SmallVec;

use super::node::Flags;
use super::readers::StoredReaders;
use super::special::Special;
use super::within::Within;
use super::{LiveGraph, NodeNumber, lane_of_number};
use crate::kernel::{Crew, call};
use crate::lanes::push_lanes;

/// Runs an instance of a node type.
pub(super) struct Call {
    pub(super) instance: Arc<Instance>,
    pub(super) inputs: Box<[u32]>,
    /// The stamps of the inputs at the last run on columns or by blocks; none after a failure.
    pub(super) seen: SmallVec<[u64; 4]>,
    /// The partial results of blocks at the last run, if it folds a column by blocks.
    pub(super) partials: Option<Column>,
    /// The readers of the items of its list, if some have changed.
    pub(super) readers: Option<StoredReaders>,
    /// The outputs, if there are several.
    pub(super) outputs: Option<Box<Outputs>>,
}

/// The outputs of a call that has several.
pub(super) struct Outputs {
    /// The node of each.
    pub(super) nodes: SmallVec<[u32; 4]>,
    /// The value of each; `None` if it was not computed.
    pub(super) values: SmallVec<[Option<Data>; 4]>,
}

/// Passes on an output of a call.
pub(super) struct OneOutput {
    pub(super) of: [u32; 1],
    pub(super) position: u32,
}

impl Call {
    /// Whether some inputs are lists of the values of all elements; then one more input is the
    /// number of elements.
    pub(super) fn gathers(&self) -> bool {
        self.inputs.len() > self.instance.inputs.len()
    }

    /// Drops what belongs to its inputs.
    pub(super) fn clear(&mut self) {
        (self.inputs, self.outputs) = (Box::default(), None);
        (self.partials, self.readers) = (None, None);
    }

    /// Takes over the outputs of another call that does the same.
    pub(super) fn take_over(&mut self, other: &mut Self) {
        self.seen = std::mem::take(&mut other.seen);
        self.partials = other.partials.take();
        if let (Some(outputs), Some(others)) = (&mut self.outputs, &mut other.outputs) {
            std::mem::swap(&mut outputs.values, &mut others.values);
        }
    }
}

/// The results of a call.
pub(super) type Results = SmallVec<[Option<Data>; 4]>;

impl LiveGraph {
    /// A node that runs an instance, and the nodes of its outputs if there are several.
    pub(super) fn call_of_values(
        &mut self,
        instance: &Arc<Instance>,
        inputs: &[NodeNumber],
    ) -> NodeNumber {
        self.has_calls = true;
        let inputs = inputs.iter().map(|input| input.0).collect();
        let (made_by, seen) = (Arc::clone(instance), SmallVec::new());
        let call =
            Call { instance: made_by, inputs, seen, partials: None, readers: None, outputs: None };
        if let [output] = &instance.outputs[..] {
            return NodeNumber(self.special_of(Special::Call(call), output.ty));
        }
        let call = self.special(Special::Call(call), Lane::I64);
        let mut nodes = SmallVec::with_capacity(instance.outputs.len());
        for (position, output) in instance.outputs.iter().enumerate() {
            let one = OneOutput { of: [call], position: position as u32 };
            nodes.push(self.special_of(Special::Output(one), output.ty));
        }
        let values = SmallVec::from_elem(None, nodes.len());
        if let Some(made) = self.call_mut(call) {
            made.outputs = Some(Box::new(Outputs { nodes, values }));
        }
        NodeNumber(call)
    }

    /// A special node with values of a type.
    pub(super) fn special_of(&mut self, special: Special, ty: Type) -> u32 {
        match lane_of_number(ty).filter(|_| !self.holds_columns()) {
            Some(lane) => self.special(special, lane),
            None => {
                let node = self.special(special, Lane::I64);
                self.put_in_box(node, None);
                node
            }
        }
    }

    /// Replaces the instance of a call by one that does the same but words its failures
    /// differently.
    ///
    /// # Panics
    /// If the instance does not do the same.
    pub fn reword(&mut self, of: NodeNumber, instance: &Arc<Instance>) {
        if let Some(call) = self.call_at(of.0)
            && !Arc::ptr_eq(&call.instance, instance)
        {
            assert!(call.instance.does_same(instance), "the new instance of a call does the same");
            if let Some(call) = self.call_mut(of.0) {
                call.instance = Arc::clone(instance);
            }
        }
    }

    /// The node of an output of a node that [`call`](Self::call) made; `None` if there is none.
    pub fn output(&self, of: NodeNumber, position: usize) -> Option<NodeNumber> {
        let outputs = self.call_at(of.0).and_then(|call| call.outputs.as_ref());
        match outputs {
            Some(outputs) => outputs.nodes.get(position).map(|node| NodeNumber(*node)),
            None => (position == 0).then_some(of),
        }
    }

    /// The call whose output a node passes on; for other nodes, the node itself.
    pub fn call_behind(&self, of: NodeNumber) -> NodeNumber {
        match self.special_at(of.0) {
            Some(Special::Output(output)) => NodeNumber(output.of[0]),
            Some(_) | None => of,
        }
    }

    fn call_at(&self, node: u32) -> Option<&Call> {
        match self.special_at(node)? {
            Special::Call(call) => Some(call),
            Special::Choice(_) | Special::Form(_) | Special::Output(_) => None,
        }
    }

    fn call_mut(&mut self, node: u32) -> Option<&mut Call> {
        match &mut self.specials[self.nodes[node as usize].inputs[0] as usize] {
            Special::Call(call) => Some(call),
            Special::Choice(_) | Special::Form(_) | Special::Output(_) => None,
        }
    }

    /// The nodes of the outputs of a call that has several; none for other nodes.
    pub(super) fn outputs_of(&self, node: u32) -> SmallVec<[u32; 4]> {
        let outputs = self.call_at(node).and_then(|call| call.outputs.as_ref());
        outputs.map(|outputs| outputs.nodes.clone()).unwrap_or_default()
    }

    /// Whether a node is read or observed.
    pub(super) fn is_read(&self, node: u32) -> bool {
        let node = &self.nodes[node as usize];
        node.flags.has(Flags::OBSERVED) || !self.users.of(node).is_empty()
    }

    /// Runs a call.
    pub(super) fn run_call(&mut self, at: usize, index: usize) {
        if self.is_stopped_at(at) {
            return;
        }
        let Special::Call(call) = &self.specials[index] else { return };
        if let Some(n) = self.n_elements(call) {
            return self.run_call_on_columns(at, index, n);
        }
        if self.run_by_blocks(at, index)
            || self.copy_changed_items(at, index)
            || self.make_changed_items(at, index)
        {
            return;
        }
        let Special::Call(call) = &self.specials[index] else { return };
        let result = match &call.instance.kernel {
            Kernel::Form(form) => {
                let mut params: SmallVec<[u64; 16]> = SmallVec::new();
                for input in &call.inputs {
                    let node = &self.nodes[*input as usize];
                    match self.boxes.of(node) {
                        Some(Data::One(value)) => push_lanes(value, &mut params),
                        Some(Data::Many(_)) => panic!("columns are read for each element"),
                        None => params.push(node.value),
                    }
                }
                let mut results: SmallVec<[u64; 16]> = SmallVec::from_elem(0, form.results.len());
                form.run_scalar(&params, &mut results, &mut self.boxes.scratch.registers);
                Ok(of_lanes(&call.instance, &results))
            }
            Kernel::Function(function) => {
                let (read, wanted) = (self.read(call), self.outputs_wanted(call));
                let (instance, function) = (Arc::clone(&call.instance), Arc::clone(function));
                self.called(at, (&instance, &*function), read, &wanted, 1)
            }
            Kernel::Pass => Ok(self.read(call).into_iter().take(1).map(Some).collect()),
            Kernel::Read { .. } | Kernel::Choose | Kernel::ReadState(_) => {
                panic!("no call is made of these kernels")
            }
        };
        if result.is_err() && self.is_stopped_at(at) {
            // A call that was interrupted did not fail.
            return;
        }
        self.ran(at);
        let Special::Call(call) = &self.specials[index] else { return };
        let stamps = if result.is_ok()
            && self.holds_columns()
            && matches!(call.gather(), Some(Gather::Copies(_) | Gather::Items(_)))
        {
            self.stamps_of(call)
        } else {
            SmallVec::new()
        };
        let Special::Call(call) = &mut self.specials[index] else { return };
        call.saw(stamps);
        match result {
            Ok(results) => self.give(at, index, results),
            Err(failure) => self.fail(at, failure),
        }
    }

    /// The results of a function for `n` elements, or earlier ones for the same data.
    pub(super) fn called(
        &mut self,
        at: usize,
        (instance, function): (&Arc<Instance>, &dyn Function),
        read: SmallVec<[Data; 4]>,
        wanted: &[bool],
        n: usize,
    ) -> Result<Results, Failure> {
        let limits = &self.within.limits;
        if !self.recall.is_empty()
            && let Some(results) = self.recall.find(instance, &read, wanted, limits)
        {
            self.note_unsettled(at, Rounds::new());
            return Ok(results);
        }
        let started = Instant::now();
        let (result, unsettled) =
            run_function(function, (&read, n), wanted, &self.within, self.n_runs);
        let cost = started.elapsed();
        self.note_unsettled(at, unsettled);
        let limits = &self.within.limits;
        if let Ok(results) = &result {
            self.recall.note(instance, read, results, limits, cost);
        }
        result
    }

    /// Notes which repeats did not settle in a run of a node.
    pub(super) fn note_unsettled(&mut self, at: usize, rounds: Rounds) {
        if !rounds.is_empty() {
            self.unsettled.insert(at as u32, rounds);
        } else if !self.unsettled.is_empty() {
            self.unsettled.remove(&(at as u32));
        }
    }

    /// The repeats that did not settle in the last run of a node.
    pub(crate) fn unsettled(&self, node: NodeNumber) -> Option<&Rounds> {
        self.unsettled.get(&node.0)
    }

    /// Which outputs of a call are read.
    pub(super) fn outputs_wanted(&self, call: &Call) -> SmallVec<[bool; 4]> {
        match &call.outputs {
            None => SmallVec::from_elem(true, 1),
            Some(outputs) => outputs.nodes.iter().map(|node| self.is_read(*node)).collect(),
        }
    }

    /// The values that a call reads.
    pub(super) fn read(&self, call: &Call) -> SmallVec<[Data; 4]> {
        let value = |(input, slot): (&u32, &InputSlot)| {
            let node = &self.nodes[*input as usize];
            let data = self.boxes.of(node).cloned().unwrap_or_else(|| {
                let value = Value::from_lanes(slot.ty, &[node.value]);
                Data::One(value.expect("a value without a place is a number"))
            });
            if slot.gathers() { self.gathered(call, data) } else { data }
        };
        call.inputs.iter().zip(&call.instance.inputs).map(value).collect()
    }

    /// Stores the results of a call.
    pub(super) fn give(&mut self, at: usize, index: usize, results: Results) {
        let Special::Call(call) = &mut self.specials[index] else { return };
        let Some(outputs) = &mut call.outputs else {
            let value = results.into_iter().flatten().next().expect("one output is always wanted");
            return self.change_data(at, value);
        };
        let mut differs = false;
        for (known, now) in outputs.values.iter_mut().zip(results) {
            // An output that is not computed now may have been computed before, from other inputs.
            differs |= match (&*known, &now) {
                (Some(known), Some(now)) => !known.same(now),
                (None, None) => false,
                (Some(_), None) | (None, Some(_)) => true,
            };
            *known = now;
        }
        let stamp = self.nodes[at].value;
        self.change(at, if differs { stamp.wrapping_add(1) } else { stamp });
    }

    /// Passes on an output of a call. If it was not computed, the call runs again.
    pub(super) fn pass_output_on(&mut self, at: usize, index: usize) {
        let Special::Output(one) = &self.specials[index] else { return };
        let ([of], position) = (one.of, one.position as usize);
        let outputs = self.call_at(of).and_then(|call| call.outputs.as_ref());
        match outputs.and_then(|outputs| outputs.values[position].clone()) {
            Some(data) => self.change_data(at, data),
            None => {
                self.nodes[of as usize].flags.set(Flags::NEW);
                self.mark(of);
                self.mark(at as u32);
            }
        }
    }
}

/// The outputs of an instance, from their lanes.
fn of_lanes(instance: &Instance, lanes: &[u64]) -> Results {
    let mut rest = lanes;
    let value = |output: &OutputSlot| {
        let (lanes, others) = rest.split_at(output.ty.lanes().map_or(0, |(_, n)| n as usize));
        rest = others;
        Value::from_lanes(output.ty, lanes).map(Data::One)
    };
    instance.outputs.iter().map(value).collect()
}

/// Calls a function for `n` elements. Returns also the repeats that did not settle.
pub(super) fn run_function(
    function: &dyn Function,
    (read, n): (&[Data], usize),
    wanted: &[bool],
    within: &Within,
    n_runs: u64,
) -> (Result<Results, Failure>, Rounds) {
    let is_single = read.iter().all(|data| matches!(data, Data::One(_)));
    let of = |is_wanted: &bool| if *is_wanted { Output::Wanted(None) } else { Output::Ignored };
    let mut outputs: SmallVec<[Output; 4]> = wanted.iter().map(of).collect();
    let mask = Mask::full(n);
    let is_over = || within.over(n_runs).is_some();
    let (done, unsettled) = {
        let mut arguments: Vec<Argument<'_>> =
            read.iter().map(|data| Argument::shared(data, Map::Each)).collect();
        let flag = within.watch.as_ref().and_then(|watch| watch.flag());
        let crew: Crew<'_> = (1, &is_over, flag);
        let limits = &within.limits;
        let elements = (&mask, n, &[][..]);
        let (done, _, unsettled) =
            call(function, elements, limits, crew, &mut arguments, &mut outputs);
        (done, unsettled)
    };
    let value = |(k, output): (usize, Output)| match output {
        Output::Ignored => Ok(None),
        Output::Wanted(_) => Err(Failure::whole(format!("the node type gives no output {k}"))),
        Output::Done(Data::Many(column)) if is_single => Ok(Some(Data::One(column.get(0)))),
        Output::Done(data) => Ok(Some(data)),
    };
    let results = done.and_then(|()| outputs.into_iter().enumerate().map(value).collect());
    (results, unsettled)
}
