//! Nodes that are more than one operation on numbers.

use std::sync::Arc;

use millstream_form::Form;
use millstream_node::Failure;
use millstream_node::function::caught;

use super::call::{Call, OneOutput};
use super::demand::Waiting;

/// What such a node does.
pub(super) enum Special {
    /// Decides which inputs of a choice are demanded.
    Guard(Guard),
    /// Reads some of its inputs only.
    Choice(Choice),
    /// Runs a form of several operations.
    Form(Whole),
    /// Does what an instance does with values of any type.
    Call(Call),
    /// Gives an output of a call on.
    Output(OneOutput),
}

/// Stands before a choice and behind what it decides by. Its value says what is taken, so that the
/// choice is looked at when that changes.
pub(super) struct Guard {
    /// What it decides by.
    pub(super) selector: [u32; 1],
    /// The node that asks.
    pub(super) choice: u32,
    pub(super) arms: Arms,
    /// The block of each arm, [`NONE`] for those through which nothing is guarded; empty without any.
    pub(super) blocks: Vec<u32>,
    /// The wave in which it was last settled.
    pub(super) settled: u64,
    /// Blocks of its arms that wait for it to be settled.
    pub(super) waiting: Waiting,
}

/// How the bits of a selector become the arms that are taken.
pub(super) enum Arms {
    /// One of so many.
    One(usize, fn(u64, usize) -> usize),
    /// A set, one bit each.
    Set(Box<dyn Fn(u64) -> u64 + Send>),
}

/// What a guard's value is before it was ever computed: no arm.
pub(super) const NOTHING_TAKEN: u64 = u64::MAX;

impl Arms {
    /// What is taken.
    ///
    /// # Errors
    /// If it panics.
    #[inline]
    pub(super) fn taken(&self, selector: u64) -> Result<u64, Failure> {
        match self {
            Self::One(n, pick) => Ok(pick(selector, *n) as u64),
            // All 64 bits would be mistaken for nothing: no choice has more than 63 arms then.
            Self::Set(wanted) => Ok(caught(|| wanted(selector))? & (u64::MAX >> 1)),
        }
    }

    /// Whether an arm is among what is taken.
    #[inline]
    pub(super) fn takes(&self, taken: u64, arm: usize) -> bool {
        match self {
            Self::One(..) => taken == arm as u64,
            Self::Set(_) => taken != NOTHING_TAKEN && taken >> arm & 1 != 0,
        }
    }
}

/// Reads some of its inputs only.
pub(super) struct Choice {
    /// The guard; what is always read; the arms.
    pub(super) inputs: Box<[u32]>,
    /// Position of the first arm.
    pub(super) first_arm: usize,
    /// What was taken at the last run.
    pub(super) seen_taken: u64,
    pub(super) kind: ChoiceKind,
}

/// What a choice makes of the arms it takes.
pub(super) enum ChoiceKind {
    /// It gives the one arm on.
    Given,
    /// It computes something out of its first input and the arms.
    Computed {
        compute: Computing,
        /// The bits of the inputs at the last run, 0 for those that were not read.
        seen: Box<[u64]>,
    },
}

/// Computes out of the first input and the arms that are taken, in order.
pub(super) type Computing = Box<dyn FnMut(u64, &mut dyn Iterator<Item = u64>) -> u64 + Send>;

/// Runs a form with one result.
pub(super) struct Whole {
    pub(super) form: Arc<Form>,
    pub(super) inputs: Box<[u32]>,
    pub(super) registers: Vec<u64>,
}

impl Special {
    /// What the node reads, in order.
    #[inline]
    pub(super) fn inputs(&self) -> &[u32] {
        match self {
            Self::Guard(guard) => &guard.selector,
            Self::Choice(choice) => &choice.inputs,
            Self::Form(form) => &form.inputs,
            Self::Call(call) => &call.inputs,
            Self::Output(output) => &output.of,
        }
    }

    /// Bytes that it holds besides itself.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Guard(guard) => guard.blocks.capacity() * size_of::<u32>(),
            Self::Choice(choice) => {
                let seen = match &choice.kind {
                    ChoiceKind::Given => 0,
                    ChoiceKind::Computed { seen, .. } => size_of_val(&**seen),
                };
                size_of_val(&*choice.inputs) + seen
            }
            Self::Form(form) => {
                size_of_val(&*form.inputs) + form.registers.capacity() * size_of::<u64>()
            }
            Self::Call(call) => size_of_val(&*call.inputs),
            Self::Output(_) => 0,
        }
    }

    pub(super) fn inputs_mut(&mut self) -> &mut [u32] {
        match self {
            Self::Guard(guard) => &mut guard.selector,
            Self::Choice(choice) => &mut choice.inputs,
            Self::Form(form) => &mut form.inputs,
            Self::Call(call) => &mut call.inputs,
            Self::Output(output) => &mut output.of,
        }
    }
}
