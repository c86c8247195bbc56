//! Graphs that hold columns: a value for each of a number of elements.
//!
//! In such a graph every node has a place for its data, one value or a column, and a call runs for
//! as many elements as the columns that it reads have. So whether a node varies with the elements
//! is found when it runs, and an edit that changes it costs no more than any other.
//!
//! If few elements of a column change, or few items of a list, they are recorded between the stamp
//! before and the stamp after. A call that has run for the stamp before runs for these elements
//! alone, and for those that read these items (see `readers`).

use std::sync::Arc;

use millstream_base::same::Same;
use millstream_base::{Column, Mask, Value};
use millstream_form::{Form, LaneValue};
use millstream_node::gather::Gather;
use millstream_node::instance::OutputSlot;
use millstream_node::{Data, Kernel};
use smallvec::SmallVec;

use super::call::{Call, Results, run_function};
use super::node::Flags;
use super::readers::Readers;
use super::special::Special;
use super::{LiveGraph, NodeNumber, number_bits};
use crate::buffers::Buffers;
use crate::differing::differing_elements;
use crate::kernel::Operand;
use crate::shape::CellMap;

/// Number of elements from which on a form may take so long that it must notice a cancellation.
const LONG: usize = 1 << 12;

/// The elements of a column, or the items of a list, that changed between two stamps of a node.
pub(super) struct Changed {
    from: u64,
    to: u64,
    /// In order.
    elements: Box<[u32]>,
}

impl Changed {
    /// The elements, if these two stamps are the ones between which they changed.
    pub(super) fn between(&self, from: u64, to: u64) -> Option<&[u32]> {
        (self.from == from && self.to == to).then_some(&self.elements)
    }
}

impl Changed {
    /// The change together with that of another element, which led to this stamp.
    fn and(self, element: u32, to: u64) -> Self {
        let mut elements = self.elements.into_vec();
        if let Err(at) = elements.binary_search(&element) {
            elements.insert(at, element);
        }
        Self { from: self.from, to, elements: elements.into() }
    }
}

/// The elements in which data differ, if both are columns, or both lists, and these are few.
pub(super) fn changed(old: Option<&Data>, new: &Data, (from, to): (u64, u64)) -> Option<Changed> {
    let elements = match (old?, new) {
        (Data::Many(old), Data::Many(new))
        | (Data::One(Value::List(old)), Data::One(Value::List(new))) => {
            differing_elements(old, new)?
        }
        (Data::One(_) | Data::Many(_), _) => return None,
    };
    Some(Changed { from, to, elements })
}

/// The arms, one bit each, that a selector takes for any element; without elements the first, whose
/// type the result has. `pick` returns the arm for the bits of an element.
pub(super) fn arms_taken(selector: &Data, pick: fn(u64, usize) -> usize, n_arms: usize) -> u64 {
    let all = (1 << n_arms) - 1;
    let mut taken = 0;
    for_each_bits(selector, |_, bits| {
        taken |= 1 << pick(bits, n_arms);
        taken != all
    });
    taken.max(1)
}

/// Calls a function with the bits of each element of a selector, until it returns false.
fn for_each_bits(selector: &Data, mut f: impl FnMut(usize, u64) -> bool) {
    match selector {
        Data::One(value) => {
            let bits = number_bits(value).expect("a selector is a number");
            f(0, bits);
        }
        Data::Many(column) => {
            if let Some(all) = column.as_slice::<bool>() {
                all.iter().enumerate().all(|(i, x)| f(i, x.to_bits()));
            } else if let Some(all) = column.as_slice::<i32>() {
                all.iter().enumerate().all(|(i, x)| f(i, x.to_bits()));
            }
        }
    }
}

/// For each element the value of the arm that the selector takes. `arms` has the data of arms that
/// are taken for some element.
pub(super) fn selected<'d>(
    selector: &Column,
    pick: fn(u64, usize) -> usize,
    n_arms: usize,
    arm: impl Fn(usize) -> Option<&'d Data>,
    buffers: &mut Buffers,
) -> Option<Column> {
    let n = selector.len();
    let mut elements: Vec<Vec<u32>> = vec![Vec::new(); n_arms];
    let selector = Data::Many(selector.clone());
    for_each_bits(&selector, |i, bits| {
        elements[pick(bits, n_arms)].push(i as u32);
        true
    });
    let mut joined: Option<Column> = None;
    for (k, elements) in elements.into_iter().enumerate() {
        if elements.is_empty() {
            continue;
        }
        let data = arm(k)?;
        let column = joined.get_or_insert_with(|| buffers.column(data.ty(), n));
        let mask = Mask::from_indices(elements).expect("the indices are in order");
        overwrite(column, &mask, data, |i| i);
    }
    joined
}

/// Sets the masked elements of a column from data.
fn overwrite(column: &mut Column, mask: &Mask, from: &Data, entry: impl Fn(usize) -> usize) {
    match from {
        Data::One(value) => column.overwrite(mask, &Column::filled(value, 1), |_| 0),
        Data::Many(from) => column.overwrite(mask, from, entry),
    }
}

impl LiveGraph {
    /// Makes a graph without nodes hold columns: sources may be set to columns, all of one length.
    pub fn hold_columns(&mut self) {
        debug_assert!(self.is_empty(), "nodes that hold numbers alone cannot hold columns");
        self.boxes.hold_all = true;
    }

    /// Whether nodes may hold columns.
    pub fn holds_columns(&self) -> bool {
        self.boxes.hold_all
    }

    /// Sets one element of a source that holds a column. The change is recorded as it is, without
    /// comparing columns.
    ///
    /// # Panics
    /// If the node is not a source that holds a column of this type with that element.
    pub fn set_element(&mut self, NodeNumber(source): NodeNumber, element: usize, value: &Value) {
        let node = self.nodes[source as usize];
        let Some((place, Data::Many(column))) = self.boxes.take(&node) else {
            panic!("only elements of columns are set")
        };
        let new = Column::filled(value, 1);
        if column.same_at(element, &new, 0) {
            return self.boxes.put(source, place, Data::Many(column));
        }
        let mask = Mask::from_indices(vec![element as u32]).expect("there is one element");
        let mut column = column;
        let is_pending = node.inputs[1] != 0;
        // Readers that do not run in the next wave need the column as it was.
        if node.flags.has(Flags::MIXED) || is_pending && self.boxes.before.contains_key(&source) {
            self.boxes.put(source, place, Data::Many(column.clone()));
            column.overwrite(&mask, &new, |_| 0);
            return self.set_data(NodeNumber(source), &Data::Many(column));
        }
        column.overwrite(&mask, &new, |_| 0);
        self.boxes.put(source, place, Data::Many(column));
        let to = self.boxes.stamp();
        let known =
            self.boxes.changes.remove(&source).filter(|it| is_pending && it.to == node.value);
        let changed = match known {
            // Set since the last wave too.
            Some(known) => Some(known.and(element as u32, to)),
            None if is_pending => None,
            None => Some(Changed { from: node.value, to, elements: [element as u32].into() }),
        };
        self.boxes.record(source, changed);
        self.set_bits(source, to);
    }

    /// The number of elements for which a call runs; `None` if it reads no element of a column.
    pub(super) fn n_elements(&self, call: &Call) -> Option<usize> {
        let column = |input: &u32| match self.boxes.of(&self.nodes[*input as usize])? {
            Data::Many(column) => Some(column.len()),
            Data::One(_) => None,
        };
        if !self.boxes.hold_all {
            return None;
        }
        if !call.gathers() {
            return call.inputs.iter().find_map(column);
        }
        let mut inputs = call.inputs.iter().zip(&call.instance.inputs);
        inputs.find_map(|(input, slot)| if slot.gathers() { None } else { column(input) })
    }

    /// The values of all elements as a list.
    pub(super) fn gathered(&self, call: &Call, data: Data) -> Data {
        let n = || match call.inputs.last().map(|n| self.boxes.of(&self.nodes[*n as usize])) {
            Some(Some(Data::One(Value::I32(n)))) => usize::try_from(*n).unwrap_or_default(),
            _ => panic!("a call that gathers reads the number of elements"),
        };
        Data::One(Value::List(match data {
            Data::Many(column) => column,
            Data::One(value) => Column::filled(&value, n()),
        }))
    }

    /// Runs a call for `n` elements, or for those alone whose inputs changed since it last ran.
    #[inline(never)]
    pub(super) fn run_call_on_columns(&mut self, at: usize, index: usize, n: usize) {
        let Special::Call(call) = &self.specials[index] else { return };
        let instance = Arc::clone(&call.instance);
        let wanted = self.outputs_wanted(call);
        let mut read = self.read(call);
        let stamps = self.stamps_of(call);
        let has_columns =
            || (0..wanted.len()).all(|k| !wanted[k] || self.has_column(at, call, k, n));
        let readers = match call.gather() {
            Some(Gather::Elements(places)) => self.readers_for(call, places, (&read, n)),
            Some(Gather::Copies(_) | Gather::Items(_)) | None => None,
        };
        let some = self.elements_to_run(at, call, (readers.as_deref(), n));
        let some = some.filter(|_| has_columns());
        if let Some(readers) = readers
            && let Special::Call(call) = &mut self.specials[index]
        {
            call.keep(readers, &self.bytes_of_readers);
        }
        if let (Some([]), Special::Call(call)) = (some.as_deref(), &mut self.specials[index]) {
            return call.saw(stamps);
        }
        if let Some(elements) = &some {
            for data in &mut read {
                if let Data::Many(column) = data {
                    *column = column.gather(elements.iter().map(|i| *i as usize));
                }
            }
        }
        let n_run = some.as_ref().map_or(n, Vec::len);
        let result = match &instance.kernel {
            Kernel::Form(form) => {
                Ok(self.run_form(form, &read, (&instance.outputs, &wanted), n_run))
            }
            Kernel::Function(function) if some.is_some() => {
                let within = &self.within;
                let (result, unsettled) =
                    run_function(&**function, (&read, n_run), &wanted, within, self.n_runs);
                self.note_unsettled(at, unsettled);
                result
            }
            Kernel::Function(function) => {
                self.called(at, (&instance, &**function), read, &wanted, n_run)
            }
            Kernel::Pass => Ok(read.into_iter().take(1).map(Some).collect()),
            Kernel::Read { .. } | Kernel::Choose | Kernel::ReadState(_) => {
                panic!("no call is made of these kernels")
            }
        };
        if (result.is_err() || n_run >= LONG) && self.is_stopped_at(at) {
            // A call that was interrupted did not fail, and its columns are incomplete.
            return;
        }
        self.ran_for(at, n_run);
        let Special::Call(call) = &mut self.specials[index] else { return };
        match (result, some) {
            (Err(failure), _) => {
                call.seen.clear();
                self.fail(at, failure);
            }
            (Ok(results), None) => {
                call.saw(stamps);
                self.give(at, index, results);
            }
            (Ok(results), Some(elements)) => {
                call.saw(stamps);
                self.give_some(at, index, results, &elements);
            }
        }
    }

    /// A form for `n` elements.
    fn run_form(
        &mut self,
        form: &Form,
        read: &[Data],
        (types, wanted): (&[OutputSlot], &[bool]),
        n: usize,
    ) -> Results {
        let operands: SmallVec<[Operand<'_>; 4]> =
            read.iter().map(|data| Operand { data, map: CellMap::Each }).collect();
        let column = |(slot, is_wanted): (&OutputSlot, &bool)| {
            is_wanted.then(|| self.buffers.column(slot.ty, n))
        };
        let mut columns: SmallVec<[Option<Column>; 4]> =
            types.iter().zip(wanted).map(column).collect();
        let mut outputs: Vec<Option<&mut Column>> =
            columns.iter_mut().map(Option::as_mut).collect();
        let all = Mask::full(n);
        let (within, n_runs) = (&self.within, self.n_runs);
        let is_over = || n >= LONG && within.over(n_runs).is_some();
        self.boxes.scratch.form(form, &operands, (types, &mut outputs), &all, &is_over);
        drop(outputs);
        columns.into_iter().map(|column| column.map(Data::Many)).collect()
    }

    /// Whether an output of a call is known for `n` elements.
    fn has_column(&self, at: usize, call: &Call, output: usize, n: usize) -> bool {
        let known = match &call.outputs {
            None => self.boxes.of(&self.nodes[at]),
            Some(outputs) => outputs.values[output].as_ref(),
        };
        matches!(known, Some(Data::Many(column)) if column.len() == n)
    }

    /// Stores the results of a call for some elements.
    fn give_some(&mut self, at: usize, index: usize, results: Results, elements: &[u32]) {
        let mask = Mask::from_indices(elements.to_vec()).expect("the elements are in order");
        let Special::Call(call) = &mut self.specials[index] else { return };
        let Some(outputs) = &mut call.outputs else {
            let new = results.into_iter().flatten().next().expect("one output is always wanted");
            return self.change_some(at, &new, elements, &mask);
        };
        let mut all = Results::new();
        for (known, now) in outputs.values.iter().zip(results) {
            all.push(match (known, now) {
                (Some(Data::Many(known)), Some(now)) => {
                    let mut known = known.clone();
                    overwrite(&mut known, &mask, &now, |i| mask.rank(i));
                    Some(Data::Many(known))
                }
                (Some(_) | None, now) => now,
            });
        }
        self.give(at, index, all);
    }

    /// Changes some elements of the column of a node, or some items of its list.
    pub(super) fn change_some(&mut self, at: usize, new: &Data, elements: &[u32], mask: &Mask) {
        let (place, known) = self.boxes.take(&self.nodes[at]).expect("the call gave data");
        let (known, wrapped): (Column, fn(Column) -> Data) = match known {
            Data::Many(column) => (column, Data::Many),
            Data::One(Value::List(items)) => (items, |items| Data::One(Value::List(items))),
            Data::One(_) => panic!("the call gave a column or a list"),
        };
        let is_same = |k: usize, i: u32| match new {
            Data::One(value) => known.get(i as usize).same(value),
            Data::Many(column) => known.same_at(i as usize, column, k),
        };
        let differs = elements.iter().enumerate().filter(|(k, i)| !is_same(*k, **i));
        let differing: Box<[u32]> = differs.map(|(_, i)| *i).collect();
        if differing.is_empty() {
            return self.boxes.put(at as u32, place, wrapped(known));
        }
        // Only readers that may not run in this wave need the column as it was.
        let is_mixed = self.nodes[at].flags.has(Flags::MIXED);
        let before = is_mixed.then(|| wrapped(known.clone()));
        let mut column = known;
        overwrite(&mut column, mask, new, |i| mask.rank(i));
        self.boxes.put(at as u32, place, wrapped(column));
        self.boxes.replaced = before;
        let (from, to) = (self.nodes[at].value, self.boxes.stamp());
        self.boxes.record(at as u32, Some(Changed { from, to, elements: differing }));
        self.change(at, to);
        self.boxes.replaced = None;
    }

    /// The elements that a call must run for, if its last results hold for all others. `readers`
    /// are those of the items of a list that it reads.
    fn elements_to_run(
        &self,
        at: usize,
        call: &Call,
        (readers, n): (Option<&Readers>, usize),
    ) -> Option<Vec<u32>> {
        if call.gathers()
            || call.seen.len() != call.inputs.len()
            || self.nodes[at].flags.has(Flags::NEW)
        {
            return None;
        }
        let mut elements: Vec<u32> = Vec::new();
        let mut is_changed = false;
        for (k, (input, seen)) in call.inputs.iter().zip(&call.seen).enumerate() {
            let node = &self.nodes[*input as usize];
            if node.value == *seen {
                continue;
            }
            let changed = self.boxes.changes.get(input)?.between(*seen, node.value)?;
            match self.boxes.of(node)? {
                Data::Many(_) => elements.extend(changed),
                Data::One(_) => {
                    let readers = readers.filter(|readers| readers.list() == k)?;
                    elements.extend(readers.of_all(changed));
                }
            }
            is_changed = true;
        }
        elements.sort_unstable();
        elements.dedup();
        // One item may have many readers.
        (is_changed && elements.len() <= n / 2).then_some(elements)
    }
}
