//! The references of nodes and outputs.

use std::sync::Arc;

use crate::model::{Input, InputValue, Link, OutputDef, OutputFrom};

/// A reference to a name within a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference<'a> {
    /// An output of a node.
    Link(&'a Link),
    /// An input of the body.
    Input(&'a Arc<str>),
}

/// The references of a socket, one by one.
pub fn references(input: &Input) -> impl Iterator<Item = Reference<'_>> {
    input.sources().iter().filter_map(|source| match &source.value {
        InputValue::Link(link) => Some(Reference::Link(link)),
        InputValue::Input(name) => Some(Reference::Input(name)),
        InputValue::Literal(_) | InputValue::Several(_) => None,
    })
}

/// The reference of an output of a body.
pub fn reference_of(output: &OutputDef) -> Reference<'_> {
    match &output.from {
        OutputFrom::Link(link) => Reference::Link(link),
        OutputFrom::Input(name) => Reference::Input(name),
    }
}

/// The input with `change` applied to each source, which may remove the source; `None` if none is
/// left.
pub(crate) fn changed(
    input: &Input,
    mut change: impl FnMut(&Input) -> Option<Input>,
) -> Option<Input> {
    match &input.value {
        InputValue::Several(sources) => {
            let left: Vec<Input> = sources.iter().filter_map(change).collect();
            let value = InputValue::Several(left);
            let is_left = matches!(&value, InputValue::Several(left) if !left.is_empty());
            is_left.then_some(Input { value, spot: input.spot })
        }
        InputValue::Literal(_) | InputValue::Link(_) | InputValue::Input(_) => change(input),
    }
}

/// Applies `rename` to each link of an input.
pub(crate) fn relink(input: &mut Input, mut rename: impl FnMut(&mut Link)) {
    each_source(input, |source| {
        if let InputValue::Link(link) = &mut source.value {
            rename(link);
        }
    });
}

/// Applies `change` to each source of a socket.
pub(crate) fn each_source(input: &mut Input, mut change: impl FnMut(&mut Input)) {
    if let InputValue::Several(sources) = &mut input.value {
        sources.iter_mut().for_each(change);
    } else {
        change(input);
    }
}
