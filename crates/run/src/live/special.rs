//! Nodes that are more than one operation on numbers.

use std::sync::Arc;

use millstream_form::Form;

use super::call::{Call, OneOutput};
use super::choice::Choice;
use super::readers::StoredReaders;

/// The behavior of such a node.
pub(super) enum Special {
    /// Reads only some of its inputs.
    Choice(Choice),
    /// Runs a form of several operations on numbers.
    Form(Whole),
    /// Runs an instance of a node type on values of any type.
    Call(Call),
    /// Passes on an output of a call.
    Output(OneOutput),
}

/// Runs a form with one result.
pub(super) struct Whole {
    pub(super) form: Arc<Form>,
    pub(super) inputs: Box<[u32]>,
}

impl Special {
    /// The inputs of the node, in order.
    #[inline]
    pub(super) fn inputs(&self) -> &[u32] {
        match self {
            Self::Choice(choice) => &choice.inputs,
            Self::Form(form) => &form.inputs,
            Self::Call(call) => &call.inputs,
            Self::Output(output) => &output.of,
        }
    }

    /// Size in bytes besides the node itself.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Choice(choice) => choice.bytes(),
            Self::Form(form) => size_of_val(&*form.inputs),
            Self::Call(call) => {
                size_of_val(&*call.inputs) + call.readers.as_ref().map_or(0, StoredReaders::bytes)
            }
            Self::Output(_) => 0,
        }
    }

    pub(super) fn inputs_mut(&mut self) -> &mut [u32] {
        match self {
            Self::Choice(choice) => &mut choice.inputs,
            Self::Form(form) => &mut form.inputs,
            Self::Call(call) => &mut call.inputs,
            Self::Output(output) => &mut output.of,
        }
    }
}
