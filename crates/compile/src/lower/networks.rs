//! The parts of networks, in the place of the nodes that they stand for.

use std::convert::Infallible;
use std::sync::Arc;

use millstream_base::Value;
use millstream_document::CheckedNode;
use millstream_ir::{PathId, Source};
use millstream_node::{Instance, NetworkParts, Part};

use super::{Became, Frame, Lowering};

/// The parts of a node in the graph of a plan.
struct GraphParts<'l, 'a> {
    lowering: &'l mut Lowering<'a>,
    path: PathId,
}

impl NetworkParts for GraphParts<'_, '_> {
    type Value = Source;
    type Error = Infallible;

    fn constant(&mut self, value: &Value) -> Source {
        Source::first(self.lowering.graph.add_const(value.clone()))
    }

    fn call(&mut self, part: &Part, inputs: &[Source]) -> Result<Source, Infallible> {
        let graph = &mut self.lowering.graph;
        let path = graph.paths.child(self.path, Arc::clone(&part.name));
        let id = graph.intern_instance(&part.instance);
        Ok(Source::first(graph.add_call(id, inputs, path)))
    }

    fn output(&mut self, call: &Source, _: &Part, output: usize) -> Source {
        Source { node: call.node, output: output as u32 }
    }
}

impl<'a> Lowering<'a> {
    /// Puts the parts of a network in the place of a node. What goes in and comes out is converted
    /// to the types of the instance.
    pub(super) fn splice(
        &mut self,
        frame: &mut Frame<'a>,
        node: &CheckedNode,
        instance: &Instance,
    ) -> Became {
        let network = instance.network.as_ref().expect("the node is one of a network");
        let path = self.graph.paths.child(frame.path, Arc::clone(&node.name));
        let mut inputs = Vec::with_capacity(instance.inputs.len());
        for (source, slot) in frame.body.sources_of(node).iter().zip(&instance.inputs) {
            let source = frame.source(&self.literals, *source);
            inputs.push(self.converted(source, slot.ty, path));
        }
        let Ok(outputs) = network.make(&inputs, &mut GraphParts { lowering: self, path });
        for (source, slot) in outputs.into_iter().zip(&instance.outputs) {
            let source = self.converted(source, slot.ty, path);
            frame.pool.push(source);
        }
        frame.pooled(instance.outputs.len())
    }
}
