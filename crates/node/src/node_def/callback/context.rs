//! The context object of a callback: all that it reads and returns for one element.

use std::cell::Cell;

use millstream_base::{Limits, Need, Type, Value, ValueType};

use super::buffers::{Buffers, Edited, Entries, check_items};
use super::{Reason, Spec, SpecInput, Stop, Task, Usage};
use crate::failure::Failure;
use crate::function::{Argument, Call, Data, Lists};
use crate::settings::Settings;

/// The inputs, outputs, state and context of one element, as a callback sees them.
///
/// Inputs, outputs and state are named as in the node type. Return errors with `?`: a failure
/// becomes that of the node, at this element. An unknown name or a Rust type that does not fit is a
/// failure too, with a message that says what fits.
pub struct CallbackContext<'c> {
    spec: &'c Spec,
    usage: &'c Usage,
    task: Task,
    arguments: Vec<&'c Argument<'c>>,
    limits: &'c Limits,
    pub(super) buffers: &'c mut Buffers,
    element: usize,
    /// The entry of the element in the buffers.
    pub(super) at: usize,
    /// The lazy inputs that are computed, as bits.
    pub(super) known: i32,
    /// The lazy inputs that this run asked for, and those among them that are not computed yet.
    asked: Cell<i32>,
    pub(super) pending: Cell<i32>,
    /// Whether the selector is running.
    pub(super) is_selecting: bool,
}

impl<'c> CallbackContext<'c> {
    pub(super) fn new<'a: 'c>(
        spec: &'c Spec,
        usage: &'c Usage,
        task: Task,
        call: &'c Call<'a>,
        buffers: &'c mut Buffers,
    ) -> Self {
        let arguments = (0..call.n_inputs()).map(|i| -> &'c Argument<'c> { call.argument(i) });
        Self {
            spec,
            usage,
            task,
            arguments: arguments.collect(),
            limits: call.limits(),
            buffers,
            element: 0,
            at: 0,
            known: 0,
            asked: Cell::new(0),
            pending: Cell::new(0),
            is_selecting: false,
        }
    }

    /// Moves on to another element.
    pub(super) fn begin(&mut self, element: usize) {
        (self.element, self.at) = (element, if self.buffers.is_uniform { 0 } else { element });
        self.known = match self.spec.asked {
            Some(slot) => self.read::<i32>(slot).expect("the compiler makes this input"),
            None => 0,
        };
        (self.asked, self.pending) = (Cell::new(0), Cell::new(0));
    }

    /// An input.
    ///
    /// If the input is lazy and not computed yet, this call ends the callback, which runs again
    /// from its start once the input is computed.
    ///
    /// # Errors
    /// If the input is still to be computed, was asked for before in this run, or is of another type.
    pub fn get<T: ValueType>(&self, name: &str) -> Result<T, Stop> {
        let input = self.one_source(name)?;
        self.require(input)?;
        self.typed(input, input.first)
    }

    /// An input of any type.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_value(&self, name: &str) -> Result<Value, Stop> {
        let input = self.one_source(name)?;
        self.require(input)?;
        Ok(self.value_in(input.first))
    }

    /// An input that is a list.
    ///
    /// # Errors
    /// As [`get`](Self::get), or if the input is mutable: [`edit_list`](Self::edit_list) reads that.
    pub fn list<T: ValueType>(&self, name: &str) -> Result<&'c [T], Stop> {
        let input = self.one_source(name)?;
        self.require(input)?;
        if self.edited(input.first).is_some() {
            let message = format!("{} reads the mutable input `{name}` as a list", self.of_type());
            return Err(self.stop(message, "read it with `edit_list`"));
        }
        self.list_in(input.first).ok_or_else(|| {
            let ty = self.arguments[input.first].data().ty();
            self.wrong_type("reads input", name, list_name::<T>(), ty)
        })
    }

    /// The number of sources of an input that takes several.
    ///
    /// # Errors
    /// If there is no such input.
    pub fn n_sources(&self, name: &str) -> Result<usize, Stop> {
        Ok(self.input(name)?.n)
    }

    /// Source `i` of an input that takes several.
    ///
    /// # Errors
    /// If there is no such source, or it is of another type.
    pub fn nth<T: ValueType>(&self, name: &str, i: usize) -> Result<T, Stop> {
        let (input, slot) = self.source(name, i)?;
        self.typed(input, slot)
    }

    /// Source `i` of any type of an input that takes several.
    ///
    /// # Errors
    /// If there is no such source.
    pub fn nth_value(&self, name: &str, i: usize) -> Result<Value, Stop> {
        Ok(self.value_in(self.source(name, i)?.1))
    }

    /// A part of the context that the node type declares with
    /// [`reads`](crate::NodeDef::reads): the value of a feature, such as `Feature::Time`, or any
    /// other [`Need`].
    ///
    /// # Errors
    /// If the node type does not declare it, or it is of another type.
    pub fn feature<T: ValueType>(&self, need: impl Into<Need>) -> Result<T, Stop> {
        let need = need.into();
        let declared = self.spec.reads.iter().enumerate().find(|(_, (known, _))| *known == need);
        let Some((bit, (_, slot))) = declared else {
            let message =
                format!("{} reads the feature `{need}`, which it does not declare", self.of_type());
            self.usage.note_undeclared(need);
            return Err(self.stop(message, "declare it with `reads` in the node type"));
        };
        self.usage.note(1 << bit);
        let ty = self.arguments[*slot].data().ty();
        let name = need.to_string();
        self.read(*slot)
            .ok_or_else(|| self.wrong_type("reads the feature", &name, T::ty().name(), ty))
    }

    /// The settings of the node.
    pub fn settings(&self) -> &'c Settings {
        &self.spec.settings
    }

    /// The value of a variable after the last tick; `None` in the first tick.
    ///
    /// # Errors
    /// If there is no such variable, or it is of another type.
    pub fn state<T: ValueType>(&self, name: &str) -> Result<Option<T>, Stop> {
        let slot = self.variable(name)?.0;
        if !self.is_started() {
            return Ok(None);
        }
        let ty = self.arguments[slot].data().ty();
        let kept = self.read(slot);
        kept.map(Some).ok_or_else(|| self.wrong_type("reads state", name, T::ty().name(), ty))
    }

    /// The list in a variable after the last tick; `None` in the first tick.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    pub fn state_list<T: ValueType>(&self, name: &str) -> Result<Option<&'c [T]>, Stop> {
        let slot = self.variable(name)?.0;
        if !self.is_started() {
            return Ok(None);
        }
        self.list_in(slot).map(Some).ok_or_else(|| {
            self.wrong_type("reads state", name, list_name::<T>(), self.arguments[slot].data().ty())
        })
    }

    /// The seconds between ticks, for a node with state.
    ///
    /// # Errors
    /// If the node has no state.
    pub fn seconds_per_tick(&self) -> Result<f64, Stop> {
        let seconds = self.spec.started.and_then(|(_, seconds)| self.read(seconds));
        seconds.ok_or_else(|| {
            let message = format!("{} keeps no state, so it has no ticks", self.of_type());
            self.stop(message, "declare state with `keeps` in the node type")
        })
    }

    /// Sets a variable for the next tick. A variable that is not set keeps its value.
    ///
    /// # Errors
    /// If there is no such variable, or it is of another type.
    pub fn keep<T: ValueType>(&mut self, name: &str, value: T) -> Result<(), Stop> {
        let output = self.variable(name)?.1;
        self.put("keeps", name, output, value)
    }

    /// Sets a list variable for the next tick.
    ///
    /// # Errors
    /// As [`keep`](Self::keep), or if the list is longer than the limits allow.
    pub fn keep_list<T: ValueType>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
    ) -> Result<(), Stop> {
        let output = self.variable(name)?.1;
        self.put_list("keeps", name, output, items)
    }

    /// Whether an output is demanded; others need not be computed.
    pub fn wants(&self, output: &str) -> bool {
        let at = self.spec.outputs.iter().position(|it| &*it.name == output);
        at.is_some_and(|at| self.buffers.outputs[at].is_wanted)
    }

    /// Sets an output.
    ///
    /// # Errors
    /// If there is no such output, or it is of another type.
    pub fn set<T: ValueType>(&mut self, output: &str, value: T) -> Result<(), Stop> {
        match self.output(output)? {
            Some(at) => self.put("gives output", output, at, value),
            None => Ok(()),
        }
    }

    /// Sets an output of any type.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn set_value(&mut self, output: &str, value: Value) -> Result<(), Stop> {
        let Some(k) = self.output(output)? else { return Ok(()) };
        let (ty, given) = (self.spec.outputs[k].ty, value.ty());
        let (at, n) = (self.at, self.buffers.n_entries());
        let set = self.buffers.outputs[k].set_value(at, value, ty, n);
        set.ok_or_else(|| self.not_set("gives output", (output, k), given.name()))
    }

    /// Sets an output that is a list.
    ///
    /// # Errors
    /// As [`set`](Self::set), or if the list is longer than the limits allow.
    pub fn set_list<T: ValueType>(
        &mut self,
        output: &str,
        items: impl IntoIterator<Item = T>,
    ) -> Result<(), Stop> {
        match self.output(output)? {
            Some(k) => self.put_list("gives output", output, k, items),
            None => Ok(()),
        }
    }

    fn put_list<T: ValueType>(
        &mut self,
        does: &str,
        name: &str,
        k: usize,
        items: impl IntoIterator<Item = T>,
    ) -> Result<(), Stop> {
        // One item more than allowed shows that there are too many.
        let items = items.into_iter().take(self.limits.list_length.saturating_add(1));
        let Some(n) = self.buffers.outputs[k].set_list(self.at, items) else {
            return Err(self.not_set(does, (name, k), list_name::<T>()));
        };
        let total = match &self.buffers.outputs[k].entries {
            Entries::Lists { items, .. } => items.len(),
            Entries::Ignored | Entries::Values(_) | Entries::Any(_) | Entries::Edited(_) => n,
        };
        check_items(n, total, self.limits).map_err(Stop::from)
    }

    /// A mutable input, whose buffer the output of the same name takes over.
    ///
    /// # Errors
    /// If the input is not mutable, is of another type, or the output is not read.
    pub fn edit<T: ValueType>(&mut self, name: &str) -> Result<&mut T, Stop> {
        let (k, at) = (self.editable(name)?, self.at);
        let found = matches!(
            &self.buffers.outputs[k].entries,
            Entries::Edited(Edited::Values(column)) if column.as_slice::<T>().is_some()
        );
        if !found {
            let ty = self.spec.outputs[k].ty;
            return Err(self.wrong_type("edits input", name, T::ty().name(), ty));
        }
        let Entries::Edited(Edited::Values(column)) = &mut self.buffers.outputs[k].entries else {
            unreachable!("the buffer was found")
        };
        Ok(&mut column.make_mut::<T>().expect("its type was checked")[at])
    }

    /// The items of a mutable input that is a list, whose buffer the output of the same name takes
    /// over.
    ///
    /// # Errors
    /// As [`edit`](Self::edit).
    pub fn edit_list<T: ValueType>(&mut self, name: &str) -> Result<&mut [T], Stop> {
        let (k, at) = (self.editable(name)?, self.at);
        let found = matches!(
            &self.buffers.outputs[k].entries,
            Entries::Edited(Edited::Lists { items, .. }) if items.as_slice::<T>().is_some()
        );
        if !found {
            let ty = self.spec.outputs[k].ty;
            return Err(self.wrong_type("edits input", name, list_name::<T>(), ty));
        }
        let Entries::Edited(Edited::Lists { offsets, items }) =
            &mut self.buffers.outputs[k].entries
        else {
            unreachable!("the buffer was found")
        };
        let items = items.make_mut::<T>().expect("its type was checked");
        Ok(&mut items[offsets[at]..offsets[at + 1]])
    }

    /// The limits of the evaluation.
    pub fn limits(&self) -> &'c Limits {
        self.limits
    }

    /// A failure of the node at this element, to be returned as an error.
    pub fn failure(&self, message: impl Into<String>) -> Stop {
        Failure::at(self.element, message).into()
    }

    fn of_type(&self) -> String {
        format!("`{}`", self.spec.node_type)
    }

    fn stop(&self, message: String, help: &str) -> Stop {
        Failure::at(self.element, message).with_help(help).into()
    }

    fn wrong_type(&self, does: &str, name: &str, given: &str, ty: Type) -> Stop {
        let message = format!("{} {does} `{name}` as {given}, but it is {ty}", self.of_type());
        self.stop(message, "the type in Rust must be that of the socket")
    }

    /// The error for an output or a variable that cannot be set.
    fn not_set(&self, does: &str, (name, k): (&str, usize), given: &str) -> Stop {
        if self.buffers.outputs[k].has_edited_lists() {
            let message = format!("{} sets `{name}`, a list that it edits", self.of_type());
            return self.stop(message, "edit the items in place, or let the input not be mutable");
        }
        self.wrong_type(does, name, given, self.spec.outputs[k].ty)
    }

    /// The failure of the node when its callback ended early.
    pub(super) fn failure_of(&self, stop: Stop) -> Failure {
        match stop.0 {
            Reason::Failed(failure) => {
                Failure { element: failure.element.or(Some(self.element)), ..failure }
            }
            Reason::Pending => Failure::at(
                self.element,
                format!(
                    "{} asks for lazy inputs that it did not ask for when it ran before",
                    self.of_type()
                ),
            )
            .with_help("a callback must ask for the same inputs whenever it reads the same values"),
        }
    }

    /// The failure of a selector that names no lazy input.
    pub(super) fn no_lazy_input(&self, name: &str) -> Failure {
        let lazy = self.spec.inputs.iter().filter(|input| input.lazy.is_some());
        let lazy: Vec<String> = lazy.map(|input| format!("`{}`", input.name)).collect();
        let message =
            format!("the selector of {} names `{name}`, which is not a lazy input", self.of_type());
        Failure::at(self.element, message).with_help(format!("lazy inputs: {}", lazy.join(", ")))
    }

    fn input(&self, name: &str) -> Result<&'c SpecInput, Stop> {
        let Some(input) = self.spec.input(name) else {
            let known: Vec<&str> = self.spec.inputs.iter().map(|input| &*input.name).collect();
            let message = format!("{} has no input called `{name}`", self.of_type());
            return Err(self.stop(message, &format!("inputs: {}", known.join(", "))));
        };
        if !input.is_needed {
            let outputs: Vec<String> =
                self.spec.outputs.iter().map(|output| format!("`{}`", output.name)).collect();
            let message = format!(
                "{} reads input `{name}` for the output {}, which does not declare that it needs it",
                self.of_type(),
                outputs.join(" and ")
            );
            return Err(self.stop(message, "name the input in `needs`, or ask `wants` first"));
        }
        Ok(input)
    }

    fn one_source(&self, name: &str) -> Result<&'c SpecInput, Stop> {
        let input = self.input(name)?;
        if input.takes_several {
            let message = format!("input `{name}` of {} takes several sources", self.of_type());
            return Err(self.stop(message, "read them with `nth`"));
        }
        Ok(input)
    }

    /// Source `i` of an input, with its slot.
    fn source(&self, name: &str, i: usize) -> Result<(&'c SpecInput, usize), Stop> {
        let input = self.input(name)?;
        if i >= input.n {
            let message = format!("input `{name}` of {} has no source {i}", self.of_type());
            return Err(self.stop(message, &format!("it has {}", input.n)));
        }
        Ok((input, input.first + i))
    }

    /// Asks for a lazy input.
    fn require(&self, input: &SpecInput) -> Result<(), Stop> {
        let Some(bit) = input.lazy else { return Ok(()) };
        let (bit, name) = (1 << bit, &input.name);
        if self.is_selecting {
            let message =
                format!("the selector of {} reads the lazy input `{name}`", self.of_type());
            return Err(self.stop(message, "a selector reads inputs that are not lazy"));
        }
        if self.asked.replace(self.asked.get() | bit) & bit != 0 {
            let message = format!("{} asks for the lazy input `{name}` twice", self.of_type());
            return Err(self.stop(message, "ask once, and keep the value in a variable"));
        }
        if self.known & bit != 0 {
            return Ok(());
        }
        if self.spec.callback.select.is_some() {
            let message = format!(
                "{} reads the lazy input `{name}`, which its selector did not name",
                self.of_type()
            );
            return Err(self.stop(message, "let the selector name all that the callback reads"));
        }
        self.pending.set(self.pending.get() | bit);
        Err(Stop(Reason::Pending))
    }

    fn edited(&self, slot: usize) -> Option<&Edited> {
        let k = self.spec.outputs.iter().position(|output| output.edits == Some(slot))?;
        match &self.buffers.outputs[k].entries {
            Entries::Edited(edited) => Some(edited),
            Entries::Ignored | Entries::Values(_) | Entries::Lists { .. } | Entries::Any(_) => None,
        }
    }

    fn value_in(&self, slot: usize) -> Value {
        match self.edited(slot) {
            Some(edited) => edited.get(self.at),
            None => self.arguments[slot].value(self.element),
        }
    }

    fn typed<T: ValueType>(&self, input: &SpecInput, slot: usize) -> Result<T, Stop> {
        let read = match self.edited(slot) {
            Some(edited) => T::from_value(&edited.get(self.at)),
            None => self.read(slot),
        };
        read.ok_or_else(|| {
            let ty = self.value_in(slot).ty();
            self.wrong_type("reads input", &input.name, T::ty().name(), ty)
        })
    }

    /// Whether there is state.
    fn is_started(&self) -> bool {
        self.spec.started.and_then(|(started, _)| self.read(started)) == Some(true)
    }

    /// The list of the element in a slot whose buffer was not taken.
    fn list_in<T: ValueType>(&self, slot: usize) -> Option<&'c [T]> {
        let argument = self.arguments[slot];
        argument.data().ty().element()?;
        Lists::of(argument).slice(self.element)
    }

    /// The value of the element in a slot whose buffer was not taken.
    fn read<T: ValueType>(&self, slot: usize) -> Option<T> {
        let argument = self.arguments[slot];
        match argument.data() {
            Data::One(value) => T::from_value(value),
            Data::Many(column) => {
                column.as_slice::<T>().map(|all| all[argument.map().entry(self.element)].clone())
            }
        }
    }

    /// The slot of a variable, and the output with its next value.
    fn variable(&self, name: &str) -> Result<(usize, usize), Stop> {
        let found = self.spec.state.iter().find(|variable| &*variable.name == name);
        found.map(|variable| (variable.slot, variable.output)).ok_or_else(|| {
            let known: Vec<&str> = self.spec.state.iter().map(|it| &*it.name).collect();
            let message = format!("{} keeps no state called `{name}`", self.of_type());
            match known[..] {
                [] => self.stop(message, "declare it with `keeps` in the node type"),
                _ => self.stop(message, &format!("state: {}", known.join(", "))),
            }
        })
    }

    /// The position of an output; `None` if another call computes it.
    fn output(&self, name: &str) -> Result<Option<usize>, Stop> {
        let own = self.spec.outputs.len() - self.spec.state.len();
        let known = || self.spec.outputs[..own].iter().map(|output| &output.name);
        if let Some(k) = known().position(|known| **known == *name) {
            return Ok(Some(k));
        }
        if self.spec.elsewhere.iter().any(|known| **known == *name) {
            return Ok(None);
        }
        let known: Vec<&str> = known().chain(&self.spec.elsewhere).map(|name| &**name).collect();
        let message = format!("{} has no output called `{name}`", self.of_type());
        Err(self.stop(message, &format!("outputs: {}", known.join(", "))))
    }

    fn put<T: ValueType>(
        &mut self,
        does: &str,
        name: &str,
        k: usize,
        value: T,
    ) -> Result<(), Stop> {
        let (at, ty) = (self.at, self.spec.outputs[k].ty);
        let set = self.buffers.outputs[k].set(at, value);
        set.ok_or_else(|| self.wrong_type(does, name, T::ty().name(), ty))
    }

    /// The output that takes over a mutable input.
    fn editable(&self, name: &str) -> Result<usize, Stop> {
        let input = self.one_source(name)?;
        self.require(input)?;
        let k = self.spec.outputs.iter().position(|output| output.edits == Some(input.first));
        let k = k.ok_or_else(|| {
            let message = format!("{} edits the input `{name}`", self.of_type());
            let help = "declare it as `mutable`, and give the output that takes it over its name";
            self.stop(message, help)
        })?;
        if matches!(self.buffers.outputs[k].entries, Entries::Ignored) && self.task == Task::Compute
        {
            let message = format!("{} edits `{name}`, which nobody reads", self.of_type());
            return Err(self.stop(message, "ask `wants` first"));
        }
        Ok(k)
    }

    /// Checks that all outputs are set; variables that are not set keep their values.
    pub(super) fn finish_element(&mut self) -> Result<(), Failure> {
        for k in 0..self.spec.outputs.len() {
            let output = &self.buffers.outputs[k];
            let is_edited = matches!(output.entries, Entries::Edited(_));
            if !output.is_wanted || is_edited || output.set_at == Some(self.at) {
                continue;
            }
            let (name, ty) = (&self.spec.outputs[k].name, self.spec.outputs[k].ty);
            let Some(kept) = self.spec.state.iter().find(|variable| variable.output == k) else {
                let message = format!("{} gives no value for its output `{name}`", self.of_type());
                let help = "set every output for which `wants` is true, whatever the inputs";
                return Err(Failure::at(self.element, message).with_help(help));
            };
            let value = self.arguments[kept.slot].value(self.element);
            let (at, n) = (self.at, self.buffers.n_entries());
            let set = self.buffers.outputs[k].set_value(at, value, ty, n);
            set.expect("a variable has one type");
        }
        Ok(())
    }
}

/// The name of the type of lists of a Rust type.
fn list_name<T: ValueType>() -> &'static str {
    T::ty().list().map_or("a list", |ty| ty.name())
}

impl std::fmt::Debug for CallbackContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let node_type = &self.spec.node_type;
        f.debug_struct("CallbackContext").field("node_type", node_type).finish_non_exhaustive()
    }
}
