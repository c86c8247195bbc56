//! The outputs of a call that runs a callback: values and lists that the callback sets, and the
//! buffers of mutable inputs that it edits.

use millstream_base::ragged::Ragged;
use millstream_base::{Column, Limits, Mask, Type, Value, ValueType};

use super::{Spec, Task};
use crate::failure::Failure;
use crate::function::{Call, Data};
use millstream_base::map::Map;

/// The outputs of a call. If every input is one value for all elements, there is a single entry for
/// all of them; otherwise there is an entry for each element.
pub(super) struct Buffers {
    pub(super) is_uniform: bool,
    pub(super) outputs: Vec<OutputBuffer>,
    task: Task,
    /// The lazy inputs asked for, as bits, if the task is to find them.
    pub(super) asks: Vec<i32>,
    n_lazy: u32,
    extent: usize,
}

/// One output.
pub(super) struct OutputBuffer {
    pub(super) is_wanted: bool,
    pub(super) entries: Entries,
    /// The entry that was set last.
    pub(super) set_at: Option<usize>,
}

/// The entries of an output.
pub(super) enum Entries {
    /// Not demanded.
    Ignored,
    /// One value per entry.
    Values(Column),
    /// One list per entry: the ends of the lists in `items`.
    Lists { offsets: Vec<usize>, items: Column },
    /// Values of any type, one by one.
    Any(Vec<Option<Value>>),
    /// The buffer of a mutable input.
    Edited(Edited),
}

/// The buffer of a mutable input.
pub(super) enum Edited {
    Values(Column),
    Lists { offsets: Vec<usize>, items: Column },
}

impl Edited {
    /// Takes the buffer out of a call, so that the input can no longer be read from there.
    fn take(call: &mut Call<'_>, slot: usize, is_uniform: bool) -> Self {
        let (map, extent) = (call.argument(slot).map(), call.extent());
        let n = if is_uniform { 1 } else { extent };
        let column = match call.take(slot) {
            Data::One(Value::List(items)) if is_uniform => {
                return Self::Lists { offsets: vec![0, items.len()], items };
            }
            Data::One(value) => Column::filled(&value, n),
            Data::Many(column) if map == Map::Each && column.len() == n => column,
            Data::Many(column) => column.gather((0..n).map(|i| map.entry(i))),
        };
        if column.ty().element().is_none() {
            return Self::Values(column);
        }
        let (offsets, items) = match column.try_into_ragged() {
            Ok(lists) => lists.into_parts(),
            Err(shared) => {
                let lists = shared.as_ragged().expect("a column of lists is ragged");
                (lists.offsets().to_vec(), lists.values().clone())
            }
        };
        Self::Lists { offsets, items }
    }

    /// The value of an entry.
    pub(super) fn get(&self, at: usize) -> Value {
        match self {
            Self::Values(column) => column.get(at),
            Self::Lists { offsets, items } => {
                Value::List(items.slice(offsets[at]..offsets[at + 1]))
            }
        }
    }
}

impl OutputBuffer {
    fn new(
        call: &mut Call<'_>,
        k: usize,
        ty: Type,
        edits: Option<usize>,
        is_uniform: bool,
    ) -> Self {
        let entries = if !call.wants(k) {
            Entries::Ignored
        } else if let Some(slot) = edits {
            Entries::Edited(Edited::take(call, slot, is_uniform))
        } else if let Some(element) = ty.element() {
            Entries::Lists { offsets: vec![0], items: Column::empty(element) }
        } else {
            let n = if is_uniform { 1 } else { call.extent() };
            let old = call.old_column(k).filter(|old| old.ty() == ty && old.len() == n);
            Entries::Values(old.unwrap_or_else(|| Column::filled(&ty.default_value(), n)))
        };
        Self { is_wanted: call.wants(k), entries, set_at: None }
    }

    /// Sets an entry; `None` if the output is of another type.
    pub(super) fn set<T: ValueType>(&mut self, at: usize, value: T) -> Option<()> {
        match &mut self.entries {
            Entries::Values(column) => column.make_mut::<T>()?[at] = value,
            Entries::Edited(Edited::Values(column)) => column.make_mut::<T>()?[at] = value,
            Entries::Any(all) => all[at] = Some(value.into_value()),
            Entries::Ignored => {}
            Entries::Lists { .. } | Entries::Edited(Edited::Lists { .. }) => return None,
        }
        self.set_at = Some(at);
        Some(())
    }

    /// Appends the list of an entry; `None` if the items are of another type.
    pub(super) fn set_list<T: ValueType>(
        &mut self,
        at: usize,
        list: impl IntoIterator<Item = T>,
    ) -> Option<usize> {
        self.set_at = Some(at);
        let (offsets, items) = match &mut self.entries {
            Entries::Lists { offsets, items } => (offsets, items),
            Entries::Any(all) => {
                let items = Column::from_vec(list.into_iter().collect());
                let n = items.len();
                all[at] = Some(Value::List(items));
                return Some(n);
            }
            Entries::Ignored => return Some(0),
            Entries::Values(_) | Entries::Edited(_) => return None,
        };
        let items = items.make_mut::<T>()?;
        let start = offsets[offsets.len() - 1];
        // A list that was set before is replaced; elements that are not demanded get none.
        let start = if offsets.len() == at + 2 { offsets[at] } else { start };
        items.truncate(start);
        offsets.truncate(at + 1);
        offsets.resize(at + 1, start);
        items.extend(list);
        offsets.push(items.len());
        Some(items.len() - start)
    }

    /// Sets an entry to a value of the type of the output.
    pub(super) fn set_value(&mut self, at: usize, value: Value, ty: Type, n: usize) -> Option<()> {
        if matches!(self.entries, Entries::Ignored) {
            self.set_at = Some(at);
            return Some(());
        }
        if value.ty() != ty {
            return None;
        }
        self.set_at = Some(at);
        match &mut self.entries {
            Entries::Values(column) | Entries::Edited(Edited::Values(column)) => {
                let one = Mask::range(at..at + 1);
                column.overwrite(&one, &Column::filled(&value, 1), |_| 0);
            }
            Entries::Any(all) => all[at] = Some(value),
            Entries::Lists { offsets, items } => {
                // Lists of any item type are stored one by one.
                let mut all = vec![None; n];
                for (i, pair) in offsets.windows(2).enumerate() {
                    all[i] = Some(Value::List(items.slice(pair[0]..pair[1])));
                }
                all[at] = Some(value);
                self.entries = Entries::Any(all);
            }
            Entries::Edited(Edited::Lists { .. }) | Entries::Ignored => return None,
        }
        Some(())
    }

    /// Whether the output consists of lists that are edited in place.
    pub(super) fn has_edited_lists(&self) -> bool {
        matches!(self.entries, Entries::Edited(Edited::Lists { .. }))
    }
}

impl Buffers {
    /// The buffers of a call; takes those of mutable inputs out of it.
    pub(super) fn new(spec: &Spec, task: Task, call: &mut Call<'_>) -> Self {
        let (is_uniform, extent) = (call.is_uniform(), call.extent());
        let n_lazy = spec.inputs.iter().filter(|input| input.lazy.is_some()).count() as u32;
        let n = if is_uniform { 1 } else { extent };
        match task {
            Task::Compute => {
                let outputs = spec.outputs.iter().enumerate();
                let outputs = outputs
                    .map(|(k, it)| OutputBuffer::new(call, k, it.ty, it.edits, is_uniform))
                    .collect();
                Self { is_uniform, outputs, task, asks: Vec::new(), n_lazy, extent }
            }
            Task::Ask => {
                // The outputs of this run are discarded.
                let outputs = spec.outputs.iter().map(|it| {
                    let edited = it.edits.map(|slot| Edited::take(call, slot, is_uniform));
                    let entries = edited.map_or(Entries::Ignored, Entries::Edited);
                    OutputBuffer { is_wanted: true, entries, set_at: None }
                });
                let outputs = outputs.collect();
                Self { is_uniform, outputs, task, asks: vec![0; n], n_lazy, extent }
            }
        }
    }

    /// The number of entries.
    pub(super) fn n_entries(&self) -> usize {
        if self.is_uniform { 1 } else { self.extent }
    }

    /// Sets the outputs of the call.
    pub(super) fn put(self, call: &mut Call<'_>) -> Result<(), Failure> {
        if self.task == Task::Ask {
            self.put_asks(call);
            return Ok(());
        }
        let (n, is_uniform) = (self.n_entries(), self.is_uniform);
        for (k, output) in self.outputs.into_iter().enumerate() {
            let column = match output.entries {
                Entries::Ignored => continue,
                Entries::Values(column) | Entries::Edited(Edited::Values(column)) => column,
                Entries::Edited(Edited::Lists { offsets, items }) => lists(offsets, items)?,
                Entries::Lists { mut offsets, items } => {
                    offsets.resize(n + 1, items.len());
                    lists(offsets, items)?
                }
                Entries::Any(all) => {
                    let ty = call_type(&all);
                    let fill = ty.map(Type::default_value);
                    let all = all.into_iter().map(|value| value.or_else(|| fill.clone()));
                    let values: Vec<Column> =
                        all.flatten().map(|value| Column::filled(&value, 1)).collect();
                    let column = ty.and_then(|ty| Column::concat(ty, &values));
                    column.expect("the values are of one type, and there is one")
                }
            };
            if is_uniform {
                call.set_one(k, column.get(0));
            } else {
                call.set(k, column);
            }
        }
        Ok(())
    }

    fn put_asks(self, call: &mut Call<'_>) {
        let wanted: Vec<u32> =
            (0..self.n_lazy).filter(|bit| call.wants(1 + *bit as usize)).collect();
        for bit in wanted {
            let k = 1 + bit as usize;
            let was_asked = |asked: &i32| asked >> bit & 1 != 0;
            match self.asks[..] {
                [asked] if self.is_uniform => call.set_one(k, was_asked(&asked)),
                _ => call.set(k, self.asks.iter().map(was_asked).collect::<Vec<bool>>()),
            }
        }
        match self.asks[..] {
            _ if !call.wants(0) => {}
            [asked] if self.is_uniform => call.set_one(0, asked),
            _ => call.set(0, self.asks),
        }
    }
}

fn call_type(all: &[Option<Value>]) -> Option<Type> {
    all.iter().flatten().next().map(Value::ty)
}

fn lists(offsets: Vec<usize>, items: Column) -> Result<Column, Failure> {
    let lists = Ragged::new(offsets, items);
    let lists = lists.ok_or_else(|| Failure::whole("lists are nested too deeply"))?;
    Ok(Column::from_ragged(lists))
}

/// Checks the number of items of a list, and of all lists of a column.
pub(super) fn check_items(n: usize, total: usize, limits: &Limits) -> Result<(), Failure> {
    let most = limits.list_length;
    if n > most {
        return Err(Failure::limit("items in one list", n, most, "list_length"));
    }
    if total > most {
        return Err(Failure::limit("items in the lists of one column", total, most, "list_length"));
    }
    Ok(())
}
