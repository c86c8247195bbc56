//! What names mean in a body: its inputs, and the outputs of its nodes.

use std::sync::Arc;

use super::error::CheckError;
use super::face::{BodyDef, Face};
use super::links::{Given, Names};
use super::shapes::{NodeShape, Shapes};
use crate::at::At;
use crate::model::{Input, InputValue, Link};
use crate::problems::{Problems, listed, shortened};
use crate::spot::Spot;

/// The names of one body.
pub(super) struct BodyNames<'d, 'c> {
    pub(super) body: BodyDef<'d>,
    /// The face of the body itself.
    pub(super) face: &'c Face,
    pub(super) bodies: &'c [BodyDef<'d>],
    pub(super) shapes: &'c Shapes<'c>,
    /// Broken from now on for a node with too many sources.
    pub(super) node_shapes: &'c mut [NodeShape],
    /// Which inputs of the body something reads.
    pub(super) used_inputs: Vec<bool>,
    pub(super) recent: Recent,
}

/// The nodes met last, by the address of their name: loading lets links share the names of nodes,
/// so that most links find their node without a name being read.
pub(super) struct Recent(Vec<(usize, u32)>);

impl Recent {
    pub(super) fn for_nodes(n: usize) -> Self {
        const MOST: usize = 1 << 16;
        Self(vec![(0, 0); n.next_power_of_two().min(MOST)])
    }

    fn address(name: &Arc<str>) -> usize {
        Arc::as_ptr(name).cast::<u8>().addr()
    }

    fn slot(&self, address: usize) -> usize {
        // Allocations lie on multiples of 16; the names of nodes often follow each other.
        (address >> 4) & (self.0.len() - 1)
    }

    pub(super) fn put(&mut self, name: &Arc<str>, node: u32) {
        let address = Self::address(name);
        let slot = self.slot(address);
        self.0[slot] = (address, node);
    }

    fn get(&self, name: &Arc<str>) -> Option<usize> {
        let address = Self::address(name);
        let (known, node) = self.0[self.slot(address)];
        (known == address).then_some(node as usize)
    }
}

impl<'d> Names<'d> for BodyNames<'d, '_> {
    fn input(
        &mut self,
        name: &'d Arc<str>,
        spot: Spot,
        at: At<'_>,
        problems: &mut Problems,
    ) -> Given<'d> {
        if let Some(input) = self.body.inputs.get_index_of(name) {
            self.used_inputs[input] = true;
            return match self.face.inputs[input] {
                Some(_) => Given::Input(input as u32),
                None => Given::Broken,
            };
        }
        let whole = self.body.at().whole();
        let hint = if self.body.nodes.contains_key(name) {
            format!("a node is linked with {{ \"from\": \"{}.value\" }}", shortened(name))
        } else {
            let known = self.body.inputs.keys().map(|name| &**name);
            let all = || match listed(known.clone()) {
                names if names.is_empty() => format!("{whole} has no inputs"),
                names => format!("inputs: {names}"),
            };
            problems.suggest(name, known.clone(), all)
        };
        let error = CheckError::UnknownGraphInput { whole, name: shortened(name), hint };
        problems.report(at, spot.span(), &error);
        Given::Broken
    }

    fn link(
        &mut self,
        link: &'d Link,
        spot: Spot,
        at: At<'_>,
        problems: &mut Problems,
    ) -> Given<'d> {
        let known = self.recent.get(&link.node);
        let Some(node) = known.or_else(|| self.body.nodes.get_index_of(&link.node)) else {
            let hint = if self.body.inputs.contains_key(&link.node) {
                format!("an input is linked with {{ \"input\": \"{}\" }}", link.node)
            } else {
                let known = self.body.nodes.keys().map(|name| &**name);
                problems.suggest(&link.node, known, || "add the node or change the link".into())
            };
            let name = shortened(&link.node);
            let error = CheckError::UnknownNode { link: shortened(&link.to_string()), name, hint };
            problems.report(at, spot.span(), &error);
            return Given::Broken;
        };
        let output = match self.node_shapes[node] {
            NodeShape::Def(shape) => {
                let shape = self.shapes.get(shape);
                let output = shape.signature.output(&link.output);
                output.ok_or_else(|| {
                    let known = shape.signature.outputs.iter().map(|output| &*output.name);
                    (shape.def.name.to_string(), known.map(Arc::from).collect::<Vec<Arc<str>>>())
                })
            }
            NodeShape::Group(_) | NodeShape::Repeat(_) => {
                let group = match self.node_shapes[node] {
                    NodeShape::Repeat(repeat) => self.shapes.repeat(repeat).group,
                    NodeShape::Group(group) => group,
                    NodeShape::Def(_) | NodeShape::Broken => return Given::Broken,
                };
                let body = self.bodies[group as usize];
                let output = body.outputs.get_index_of(&link.output);
                output.ok_or_else(|| (body.name.to_owned(), body.outputs.keys().cloned().collect()))
            }
            NodeShape::Broken => return Given::Broken,
        };
        match output {
            Ok(output) => Given::Node { node: node as u32, output: output as u32 },
            Err((node_type, known)) => {
                let known = known.iter().map(|name| &**name);
                let all = || match listed(known.clone()) {
                    names if names.is_empty() => "it has no outputs".into(),
                    names => format!("outputs: {names}"),
                };
                let hint = problems.suggest(&link.output, known.clone(), all);
                let (link, name) = (shortened(&link.to_string()), shortened(&link.output));
                let error = CheckError::UnknownOutput { link, node_type, name, hint };
                problems.report(at, spot.span(), &error);
                Given::Broken
            }
        }
    }

    fn mark_used(&mut self, input: &Input) {
        match &input.value {
            InputValue::Input(name) => {
                if let Some(input) = self.body.inputs.get_index_of(name) {
                    self.used_inputs[input] = true;
                }
            }
            InputValue::Several(inputs) => inputs.iter().for_each(|input| self.mark_used(input)),
            InputValue::Literal(_) | InputValue::Link(_) => {}
        }
    }
}
