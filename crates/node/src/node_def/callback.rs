//! Callbacks: Rust closures that compute one element at a time through a context object.
//!
//! A node type with a callback becomes a network of ordinary nodes, so evaluators, passes and live
//! graphs know no callbacks. Its parts are nodes that read the declared features, nodes that
//! evaluate inputs in a changed context, choices that skip lazy inputs where the callback does not
//! ask for them, and one function that runs the callback (see `assemble`). A callback that needs
//! none of these is that function alone.
//!
//! Lazy inputs are computed in rounds. In each round the callback runs from its start with the
//! inputs that it asked for so far. When it asks for another one, that element of the input is
//! computed, and the next round begins.

mod assemble;
mod buffers;
mod context;
mod parts;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use millstream_base::{Need, Type};

pub(crate) use assemble::{Assembly, Shared, assemble};
use buffers::Buffers;
pub use context::CallbackContext;

use crate::failure::Failure;
use crate::function::{Call, Function};
use crate::node_def::instance::{Instance, Kernel};
use crate::node_def::{Run, Select};
use crate::settings::Settings;

/// Units of work per element, whatever the callback does.
const PER_ELEMENT: usize = 1 << 6;

/// The bit of [`Spec::asked`] that is set if the callback needs no further input.
const IS_DONE: i32 = 1 << 30;

/// The bit that is set if the selector failed.
const HAS_FAILED: i32 = 1 << 29;

/// Maximal number of lazy inputs of a node with a selector, and of one without.
const MOST_LAZY: usize = 29;
const MOST_ROUNDS: usize = 8;

/// Why a callback ends before it has computed its outputs: an input is not computed yet, or the
/// callback failed. Return it with `?`.
#[derive(Clone, Debug)]
pub struct Stop(pub(crate) Reason);

#[derive(Clone, Debug)]
pub(crate) enum Reason {
    /// The callback asked for a lazy input that is not computed yet.
    Pending,
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self(Reason::Failed(failure))
    }
}

/// The closures of a node type.
#[derive(Clone)]
pub(crate) struct Callback {
    pub(crate) run: Arc<Run>,
    /// Names the lazy inputs that the callback will read.
    pub(crate) select: Option<Arc<Select>>,
}

/// An input of a node, as its callback sees it.
#[derive(Debug)]
struct SpecInput {
    name: Arc<str>,
    /// Its first slot in the call, and the number of its slots.
    first: usize,
    n: usize,
    /// Its bit among the lazy inputs.
    lazy: Option<u32>,
    /// Whether the call has its value; otherwise no output of the call needs it.
    is_needed: bool,
    takes_several: bool,
}

/// An output of a call.
#[derive(Debug)]
struct SpecOutput {
    name: Arc<str>,
    ty: Type,
    /// The slot of the mutable input of the same name, whose buffer it takes over.
    edits: Option<usize>,
}

/// A variable that keeps its value from tick to tick.
#[derive(Debug)]
struct SpecState {
    name: Arc<str>,
    /// The slot of its value, and the output with its next value.
    slot: usize,
    output: usize,
}

/// The slots and outputs of the call that runs a callback.
struct Spec {
    node_type: Arc<str>,
    settings: Settings,
    callback: Callback,
    inputs: Vec<SpecInput>,
    /// The declared parts of the context, each with its slot.
    reads: Vec<(Need, usize)>,
    /// The slot with the lazy inputs that were asked for, as bits.
    asked: Option<usize>,
    state: Vec<SpecState>,
    /// The slot that tells whether there is state, and that of the seconds between ticks.
    started: Option<(usize, usize)>,
    outputs: Vec<SpecOutput>,
    /// The outputs of the node that other calls compute.
    elsewhere: Vec<Arc<str>>,
}

impl Spec {
    fn input(&self, name: &str) -> Option<&SpecInput> {
        self.inputs.iter().find(|input| &*input.name == name)
    }
}

/// Which declared features the runs have read.
#[derive(Debug, Default)]
struct Usage {
    /// A bit for each declared feature that was read, and one that any run sets.
    read: AtomicU64,
    undeclared: Mutex<Vec<Need>>,
}

const HAS_RUN: u64 = 1 << 63;

/// Maximal number of declared parts of the context; no graph has more than 64.
const MOST_READS: usize = 63;

impl Usage {
    fn note(&self, bits: u64) {
        if self.read.load(Ordering::Relaxed) & bits != bits {
            self.read.fetch_or(bits, Ordering::Relaxed);
        }
    }

    fn note_undeclared(&self, need: Need) {
        let mut all = self.undeclared.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains(&need) {
            all.push(need);
        }
    }
}

/// The work of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Computes the outputs.
    Compute,
    /// Finds the lazy inputs that the callback asks for next. Its outputs are the set of all inputs
    /// asked for, as bits, and for each lazy input whether it is in that set.
    Ask,
}

/// The function that runs a callback.
pub struct CallbackFunction {
    spec: Spec,
    task: Task,
    usage: Usage,
}

impl CallbackFunction {
    /// The function of an instance, if it runs a callback.
    pub fn of(instance: &Instance) -> Option<&Self> {
        match &instance.kernel {
            Kernel::Function(function) => function.body()?.downcast_ref(),
            Kernel::Form(_)
            | Kernel::Read { .. }
            | Kernel::Pass
            | Kernel::Choose
            | Kernel::ReadState(_) => None,
        }
    }

    /// The name of the node type with the callback.
    pub fn node_type(&self) -> &str {
        &self.spec.node_type
    }

    /// The parts of the context that runs have read without a declaration.
    pub fn undeclared(&self) -> Vec<Need> {
        self.usage.undeclared.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The declared parts of the context, each with whether a run has read it; `None` if there was
    /// no run.
    pub fn declared(&self) -> Option<Vec<(&Need, bool)>> {
        let read = self.usage.read.load(Ordering::Relaxed);
        let reads = self.spec.reads.iter().enumerate();
        let with_use = reads.map(|(bit, (need, _))| (need, read >> bit & 1 != 0));
        (read & HAS_RUN != 0).then(|| with_use.collect())
    }

    /// Computes the outputs of the current element.
    fn compute(&self, cx: &mut CallbackContext<'_>) -> Result<(), Failure> {
        if cx.known & HAS_FAILED != 0 {
            self.selected(cx)?;
        }
        (self.spec.callback.run)(cx).map_err(|stop| cx.failure_of(stop))?;
        cx.finish_element()
    }

    /// The lazy inputs that are selected, as bits.
    fn selected(&self, cx: &mut CallbackContext<'_>) -> Result<i32, Failure> {
        let Some(select) = &self.spec.callback.select else { return Ok(0) };
        cx.is_selecting = true;
        let names = select(cx);
        cx.is_selecting = false;
        let names = names.map_err(|stop| cx.failure_of(stop))?;
        names.iter().try_fold(0, |bits, name| match self.spec.input(name).map(|it| it.lazy) {
            Some(Some(bit)) => Ok(bits | 1 << bit),
            Some(None) | None => Err(cx.no_lazy_input(name)),
        })
    }

    fn run(&self, cx: &mut CallbackContext<'_>, element: usize) -> Result<(), Failure> {
        cx.begin(element);
        match self.task {
            Task::Compute => self.compute(cx),
            Task::Ask if cx.known & IS_DONE != 0 => {
                cx.buffers.asks[cx.at] = cx.known;
                Ok(())
            }
            Task::Ask => {
                // A failure here occurs again when the outputs are computed.
                let asked = if self.spec.callback.select.is_some() {
                    self.selected(cx).unwrap_or(HAS_FAILED) | IS_DONE
                } else {
                    (self.spec.callback.run)(cx).ok();
                    cx.known | if cx.pending.get() == 0 { IS_DONE } else { cx.pending.get() }
                };
                cx.buffers.asks[cx.at] = asked;
                Ok(())
            }
        }
    }
}

impl Function for CallbackFunction {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        let (mask, mut pace) = (call.mask(), call.pace());
        let mut buffers = Buffers::new(&self.spec, self.task, call);
        let mut cx = CallbackContext::new(&self.spec, &self.usage, self.task, call, &mut buffers);
        if let Some(elements) = mask.bounds() {
            self.usage.note(HAS_RUN);
            if cx.buffers.is_uniform {
                self.run(&mut cx, elements.start)?;
            } else {
                for i in mask {
                    pace.work(PER_ELEMENT)?;
                    self.run(&mut cx, i)?;
                }
            }
        }
        drop(cx);
        buffers.put(call)
    }

    fn body(&self) -> Option<&(dyn Any + Send + Sync)> {
        Some(self)
    }
}
