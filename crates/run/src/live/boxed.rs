//! Nodes whose values are not numbers.
//!
//! Such a value is stored beside the nodes. The node itself holds a stamp, a number that changes
//! whenever the value changes, so that waves compare, hold and pass on only numbers. A value that
//! equals the previous one keeps the stamp. For nodes that did not run while a value changed
//! several times, values are held with their stamps, because an old value may return.

use millstream_base::same::Same;
use millstream_base::{Lane, Type, Value};
use millstream_ir::EvalError;
use millstream_node::Data;
use rustc_hash::{FxHashMap, FxHashSet};

use super::choice::Choice;
use super::columns::{Changed, changed};
use super::node::{Flags, Node};
use super::special::Special;
use super::{LiveGraph, NodeNumber, lane_of_number, number_bits};
use crate::kernel::Scratch;

/// The values of a graph that are not numbers.
#[derive(Default)]
pub(super) struct Boxes {
    /// The value at each place; `None` if it was never computed.
    values: Vec<Option<Data>>,
    /// The size in bytes that was counted for each place; a value may grow later.
    counted: Vec<usize>,
    free: Vec<u32>,
    last_stamp: u64,
    /// The stamps and values before the last wave, of sources that were set since.
    pub(super) before: FxHashMap<u32, (u64, Data)>,
    /// The old value of the node whose users are being marked.
    pub(super) replaced: Option<Data>,
    bytes: usize,
    /// The values that the last evaluation with limits made.
    made: Made,
    /// The last change of a column in which few elements changed, by node.
    pub(super) changes: FxHashMap<u32, Changed>,
    /// Whether every node has a place, so that it may hold a column.
    pub(super) hold_all: bool,
    /// Scratch memory of forms.
    pub(super) scratch: Scratch,
}

/// The values that one evaluation made.
#[derive(Default)]
struct Made {
    /// Whether an evaluation is in progress.
    is_counted: bool,
    bytes: usize,
    /// The nodes whose values hold bytes.
    nodes: FxHashSet<u32>,
}

/// The boxed values that a node read at its last run, in the order of the inputs.
pub(super) type HeldValues = Box<[Option<Data>]>;

impl Boxes {
    /// The value of a node; `None` if it is a number, or was never computed.
    #[inline]
    pub(super) fn of(&self, node: &Node) -> Option<&Data> {
        self.values[place(node)?].as_ref()
    }

    /// Bytes of all values except those that choices pass on.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of the values that were made since [`count`](Self::count).
    pub(super) fn bytes_made(&self) -> usize {
        self.made.bytes
    }

    /// Starts or stops counting the values that are made.
    pub(super) fn count(&mut self, is_counted: bool) {
        if is_counted {
            self.made = Made::default();
        }
        self.made.is_counted = is_counted;
    }

    /// Counts a value that replaces another one of a node.
    fn note(&mut self, node: u32, value: &Data, old: usize) {
        let bytes = value.bytes();
        if !self.made.is_counted || bytes == 0 {
            return;
        }
        self.made.bytes += bytes;
        if !self.made.nodes.insert(node) {
            // The node ran twice.
            self.made.bytes -= old.min(self.made.bytes);
        }
    }

    pub(super) fn stamp(&mut self) -> u64 {
        self.last_stamp += 1;
        self.last_stamp
    }

    /// Makes new stamps differ from those of other boxes.
    pub(super) fn stamps_follow(&mut self, others: &Self) {
        self.last_stamp = self.last_stamp.max(others.last_stamp);
    }

    /// Whether the value of a node is not a number.
    pub(super) fn has_place(&self, node: &Node) -> bool {
        place(node).is_some_and(|place| place < self.values.len())
    }

    /// Takes over the value of a node from other boxes.
    pub(super) fn take_over(&mut self, node: &Node, others: &Self, of: &Node, counts: bool) {
        if let Some(place) = place(node) {
            self.replace(place, others.of(of).cloned(), counts);
        }
    }

    /// Takes the data of a node out of its place.
    pub(super) fn take(&mut self, node: &Node) -> Option<(usize, Data)> {
        let place = place(node)?;
        Some((place, self.values[place].take()?))
    }

    /// Puts data back into the place of a node.
    pub(super) fn put(&mut self, node: u32, place: usize, data: Data) {
        self.note(node, &data, self.counted[place]);
        self.replace(place, Some(data), true);
    }

    /// Compares a source with its data before the last wave, and records the elements that changed
    /// if there are few.
    pub(super) fn note_change(&mut self, source: u32, node: &Node) {
        let Some((from, before)) = self.before.get(&source) else { return };
        let Some(now) = self.of(node) else { return };
        let changed = changed(Some(before), now, (*from, node.value));
        self.record(source, changed);
    }

    /// Records the change of a node, or that too much changed.
    pub(super) fn record(&mut self, node: u32, changed: Option<Changed>) {
        match changed {
            Some(changed) => drop(self.changes.insert(node, changed)),
            None if self.changes.is_empty() => {}
            None => drop(self.changes.remove(&node)),
        }
    }

    /// Makes a place for a value.
    fn make(&mut self, value: Option<Data>) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.values[at as usize] = value;
                at
            }
            None => {
                self.values.push(value);
                self.counted.push(0);
                self.values.len() as u32 - 1
            }
        }
    }

    fn replace(&mut self, place: usize, value: Option<Data>, counts: bool) -> Option<Data> {
        let bytes = value.as_ref().filter(|_| counts).map_or(0, Data::bytes);
        self.bytes += bytes;
        self.bytes -= std::mem::replace(&mut self.counted[place], bytes);
        std::mem::replace(&mut self.values[place], value)
    }
}

/// The place of a value that is not a number.
#[inline]
fn place(node: &Node) -> Option<usize> {
    match node.inputs[2] {
        0 => None,
        at if node.flags.has(Flags::SPECIAL) => Some(at as usize - 1),
        _ => None,
    }
}

impl LiveGraph {
    /// A source with this initial value.
    pub fn source_of_value(&mut self, value: &Value) -> NodeNumber {
        if !self.boxes.hold_all
            && let (Some(lane), Some(bits)) = (lane_of_number(value.ty()), number_bits(value))
        {
            return self.source_of(lane, bits);
        }
        let stamp = self.boxes.stamp();
        let node = self.source_of(Lane::I64, stamp);
        self.put_in_box(node.0, Some(Data::One(value.clone())));
        node
    }

    /// Gives a new node a place for a value that is not a number.
    pub(super) fn put_in_box(&mut self, node: u32, value: Option<Data>) {
        let place = self.boxes.make(None);
        self.nodes[node as usize].inputs[2] = place + 1;
        self.boxes.replace(place as usize, value, true);
    }

    /// Whether the data of a node are its own: a switch passes on those of another node.
    pub(super) fn counts_bytes(&self, node: u32) -> bool {
        self.choice_at(node).is_none_or(Choice::is_select)
    }

    /// Drops the value of a node that is removed.
    pub(super) fn empty_box(&mut self, node: u32) {
        if let Some(place) = place(&self.nodes[node as usize]) {
            let counts = self.counts_bytes(node);
            self.boxes.replace(place, None, counts);
            self.nodes[node as usize].inputs[2] = 0;
            self.boxes.free.push(place as u32);
            self.boxes.before.remove(&node);
            self.boxes.changes.remove(&node);
        }
    }

    /// Size of a node's value outside the node, in bytes.
    pub fn bytes_of(&self, node: NodeNumber) -> usize {
        self.boxes.of(&self.nodes[node.index()]).map_or(0, Data::bytes)
    }

    /// Checks that the values of these nodes, together with those that the last evaluation [within
    /// limits](Self::settle_within) made, take at most this many bytes.
    ///
    /// # Errors
    /// If they take more.
    pub fn check_bytes(
        &self,
        nodes: impl IntoIterator<Item = NodeNumber>,
        limit: usize,
    ) -> Result<(), EvalError> {
        let mut counted: FxHashSet<u32> = FxHashSet::default();
        let besides = nodes.into_iter().map(|node| match self.bytes_of(node) {
            0 => 0,
            bytes => {
                let node = self.giver(node.0);
                let is_counted = self.boxes.made.nodes.contains(&node) || !counted.insert(node);
                if is_counted { 0 } else { bytes }
            }
        });
        let bytes = besides.fold(self.boxes.bytes_made(), usize::saturating_add);
        if bytes > limit { Err(EvalError::Bytes { limit }) } else { Ok(()) }
    }

    /// Bytes of all values that are not numbers.
    pub fn bytes_of_values(&self) -> usize {
        self.boxes.bytes()
    }

    /// The node whose value a node passes on, through any number of switches.
    fn giver(&self, mut node: u32) -> u32 {
        while let Some(arm) = self.choice_at(node).and_then(Choice::arm_taken) {
            node = arm;
        }
        node
    }

    /// Sets a source to a value of its type.
    ///
    /// # Panics
    /// If the node is not a source.
    pub fn set_value(&mut self, source: NodeNumber, value: &Value) {
        if place(&self.nodes[source.index()]).is_none() {
            let bits = number_bits(value).expect("the value has the type of the source");
            return self.set_bits(source.0, bits);
        }
        self.set_data(source, &Data::One(value.clone()));
    }

    /// Sets a source of a graph that [holds columns](Self::hold_columns) to a value or a column of
    /// its type.
    ///
    /// # Panics
    /// If the node is not a source.
    pub fn set_data(&mut self, NodeNumber(source): NodeNumber, data: &Data) {
        let node = &self.nodes[source as usize];
        let place = place(node).expect("sources of graphs with columns have places");
        let (is_pending, stamp) = (node.inputs[1] != 0, node.value);
        if self.boxes.of(node).is_some_and(|now| now.same(data)) {
            return;
        }
        let before = self.boxes.before.get(&source).filter(|_| is_pending);
        let back = before.filter(|(_, before)| before.same(data)).map(|(stamp, _)| *stamp);
        let now = back.unwrap_or_else(|| self.boxes.stamp());
        let old = self.boxes.replace(place, Some(data.clone()), true);
        if let (false, Some(old)) = (is_pending, old) {
            self.boxes.before.insert(source, (stamp, old));
        }
        self.set_bits(source, now);
    }

    /// The value or column of a node that is observed and settled; `None` if it failed.
    ///
    /// # Panics
    /// If the node is a number of another lane than that of `ty`.
    pub fn data(&self, of: NodeNumber, ty: Type) -> Option<Data> {
        let node = &self.nodes[of.index()];
        if self.failed.contains_key(&of.0) {
            None
        } else if place(node).is_some() {
            self.boxes.of(node).cloned()
        } else {
            assert_eq!(lane_of_number(ty), Some(node.flags.lane()), "numbers are read as they are");
            Value::from_lanes(ty, &[node.value]).map(Data::One)
        }
    }

    /// The one value of a node that is observed and settled; `None` if it failed.
    ///
    /// # Panics
    /// As [`data`](Self::data), or if the node holds a column.
    pub fn value(&self, of: NodeNumber, ty: Type) -> Option<Value> {
        self.data(of, ty).map(|data| match data {
            Data::One(value) => value,
            Data::Many(_) => panic!("the value of a node is one"),
        })
    }

    /// Whether a source or a call has values of a type.
    pub fn gives(&self, of: NodeNumber, ty: Type) -> bool {
        let node = &self.nodes[of.index()];
        if place(node).is_none() {
            return lane_of_number(ty) == Some(node.flags.lane());
        }
        if node.is_source() {
            return self.boxes.of(node).is_some_and(|data| data.ty() == ty);
        }
        match &self.specials[node.inputs[0] as usize] {
            Special::Call(call) => call.instance.outputs.first().is_some_and(|out| out.ty == ty),
            Special::Choice(_) | Special::Form(_) | Special::Output(_) => false,
        }
    }

    /// Stores the data that a node computed, a number or not.
    pub(super) fn change_data(&mut self, at: usize, data: Data) {
        let node = &self.nodes[at];
        let Some(place) = place(node) else {
            let Data::One(value) = &data else { panic!("a node of numbers gives one") };
            let bits = number_bits(value).expect("a value without a place is a number");
            return self.change(at, bits);
        };
        let is_new = node.flags.has(Flags::NEW);
        if !is_new && self.boxes.of(node).is_some_and(|now| now.same(&data)) {
            if let Data::Many(column) = data {
                self.buffers.give(column);
            }
            return;
        }
        let counts = self.counts_bytes(at as u32);
        if counts {
            self.boxes.note(at as u32, &data, self.boxes.counted[place]);
        }
        let (from, stamp) = (self.nodes[at].value, self.boxes.stamp());
        if self.boxes.hold_all {
            let of = &self.boxes.values[place];
            let changed = changed(of.as_ref(), &data, (from, stamp));
            self.boxes.record(at as u32, changed);
        }
        self.boxes.replaced = self.boxes.replace(place, Some(data), counts);
        self.change(at, stamp);
        if let Some(Data::Many(column)) = self.boxes.replaced.take() {
            self.buffers.give(column);
        }
    }

    /// The boxed values that a node read at its last run. `changed` is the node that just changed.
    pub(super) fn values_read(&self, at: u32, changed: Option<u32>) -> Option<HeldValues> {
        let inputs = self.inputs_of(at);
        if inputs.iter().all(|input| place(&self.nodes[*input as usize]).is_none()) {
            return None;
        }
        let last = |input: &u32| {
            let node = &self.nodes[*input as usize];
            let is_changed = changed == Some(*input);
            if node.is_source() && (is_changed || node.inputs[1] != 0) {
                // Unknown if elements of it were set: then the node runs again.
                return self.boxes.before.get(input).map(|(_, value)| value.clone());
            }
            let replaced = self.boxes.replaced.as_ref().filter(|_| is_changed);
            let replaced = replaced.filter(|_| place(node).is_some());
            replaced.or_else(|| self.boxes.of(node)).cloned()
        };
        Some(inputs.iter().map(last).collect())
    }

    /// Whether a node reads the values that it read before, although not all of its numbers are the
    /// same.
    pub(super) fn reads_again(&self, at: u32, bits: &[u64], values: &[Option<Data>]) -> bool {
        self.inputs_of(at).iter().zip(bits).zip(values).all(|((input, bits), held)| {
            let node = &self.nodes[*input as usize];
            let is_same = |now: &Data| held.as_ref().is_some_and(|held| held.same(now));
            node.value == *bits || self.boxes.of(node).is_some_and(is_same)
        })
    }
}
