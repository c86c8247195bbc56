//! Replaces nodes by the parts of their networks.
//!
//! A part with a wrong or not yet available input is left out. If the outputs of a node do not need
//! all of its inputs, the network may be entered several times, like a group.

use std::convert::Infallible;
use std::sync::Arc;

use millstream_base::Value;
use millstream_document::CheckedNode;
use millstream_ir::{PathId, Source};
use millstream_node::{Instance, NetworkParts, Part};

use super::{Became, Frame, Lowering};

/// The parts of a node, as nodes in the graph of a plan.
struct GraphParts<'l, 'a> {
    lowering: &'l mut Lowering<'a>,
    path: PathId,
    /// The parts that exist so far, and those created or left out now.
    before: std::vec::IntoIter<Source>,
    made: Vec<Source>,
}

impl NetworkParts for GraphParts<'_, '_> {
    type Value = Source;
    type Error = Infallible;

    fn constant(&mut self, value: &Value) -> Source {
        Source::first(self.lowering.graph.add_const(value.clone()))
    }

    fn call(&mut self, part: &Part, inputs: &[Source]) -> Result<Source, Infallible> {
        let before = self.before.next().filter(|before| !self.lowering.has_no_node(*before));
        let missing = inputs.iter().find(|input| self.lowering.has_no_node(**input)).copied();
        let source = match before.or(missing) {
            Some(known) => Source::first(known.node),
            None => self.add(part, inputs),
        };
        self.made.push(source);
        Ok(source)
    }

    fn output(&mut self, call: &Source, _: &Part, output: usize) -> Source {
        Source { node: call.node, output: output as u32 }
    }
}

impl GraphParts<'_, '_> {
    fn add(&mut self, part: &Part, inputs: &[Source]) -> Source {
        let graph = &mut self.lowering.graph;
        // The part that does the work of the node gets its path.
        let path = match &*part.name {
            "" => self.path,
            _ => graph.paths.child(self.path, Arc::clone(&part.name)),
        };
        let id = graph.intern_instance(&part.instance);
        Source::first(graph.add_call(id, inputs, path))
    }
}

impl<'a> Lowering<'a> {
    /// Replaces a node by the parts of its network. Inputs and outputs are converted to the types
    /// of the instance.
    pub(super) fn splice(
        &mut self,
        frame: &mut Frame<'a>,
        (position, node): (u32, &CheckedNode),
        instance: &Instance,
    ) -> Became {
        let network = instance.network.as_ref().expect("the node has a network");
        let path = self.graph.paths.child(frame.path, Arc::clone(&node.name));
        let mut inputs = Vec::with_capacity(instance.inputs.len());
        for (source, slot) in frame.body.sources_of(node).iter().zip(&instance.inputs) {
            let source = frame.source(*source);
            inputs.push(self.converted(source, slot.ty, path));
        }
        let before = frame.parts.remove(&position).unwrap_or_default().into_iter();
        let made = Vec::with_capacity(network.parts.len());
        let mut parts = GraphParts { lowering: self, path, before, made };
        let Ok(outputs) = network.make(&inputs, &mut parts);
        let made = parts.made;
        if inputs.iter().any(|input| self.pending == Some(input.node)) {
            frame.parts.insert(position, made);
        }
        for (source, slot) in outputs.into_iter().zip(&instance.outputs) {
            let source = self.converted(source, slot.ty, path);
            frame.pool.push(source);
        }
        frame.pooled(instance.outputs.len())
    }
}
