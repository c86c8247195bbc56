//! Replace two nodes by one that equals them bit for bit.
//!
//! Requires: types equal along links, every node reachable. Establishes: no node reads a source with
//! which its type declares a composition; every node is reachable. It runs after scopes are resolved,
//! which links readers of a feature to the node that gives its value: so an image that is sampled
//! where the pixel lies becomes an image that is read pixel by pixel. Cost: a visit of each node.

use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_ir::{Graph, NodeId, Source, walk};
use millstream_node::{Composition, Instance};

use super::replaced::Replaced;
use super::{Changed, PassContext};

/// Replace compositions.
///
/// # Errors
/// If the graph has a cycle, or the compilation was cancelled.
pub fn compose(graph: &mut Graph, cx: &PassContext<'_>) -> Result<Changed, Diagnostics> {
    if !graph.any_instance(|instance| !instance.def.compositions.is_empty()) {
        return Ok(Changed::No);
    }
    let mut replaced = Replaced::new();
    for id in crate::order(graph)? {
        cx.check_cancelled()?;
        replaced.rewrite(graph, id);
        if let Some(source) = composed(graph, id) {
            replaced.by_source(graph, id, source);
        }
    }
    let changed = Changed::when(!replaced.is_empty());
    replaced.finish(graph);
    if changed == Changed::Yes {
        let reached = walk::reachable_from_outputs(graph);
        graph.retain(|id| reached[id]);
    }
    Ok(changed)
}

/// The node that a node and one of its sources are together.
fn composed(graph: &mut Graph, id: NodeId) -> Option<Source> {
    let instance = graph.instance_of(id)?;
    if instance.has_scopes() {
        return None;
    }
    let links = graph.inputs_of(id);
    let (composition, inner) = instance.def.compositions.iter().find_map(|composition| {
        let source = *links.get(composition.input)?;
        let inner = graph.instance_of(source.node)?;
        let fits = source.output == 0 && Arc::ptr_eq(&inner.def, &composition.of);
        let fits = fits && !inner.has_scopes() && (composition.holds)(&instance.settings);
        fits.then_some((composition, source.node))
    })?;
    let both = both(instance, composition)?;
    let mut inputs = links.to_vec();
    inputs.remove(composition.input);
    inputs.extend_from_slice(graph.inputs_of(inner));
    if inputs.len() != both.inputs.len() {
        return None;
    }
    let path = graph.node(id).path;
    let both = graph.intern_instance(&Arc::new(both));
    Some(Source::first(graph.add_call(both, &inputs, path)))
}

fn both(instance: &Instance, composition: &Composition) -> Option<Instance> {
    let n = composition.both.fixed_signature()?.inputs.len();
    composition.both.instantiate(instance.settings.clone(), Vec::new(), &vec![1; n]).ok()
}
