//! Insert the implicit conversions of links.
//!
//! Requires: linked types convert. Establishes: types are equal along links and at outputs. All
//! readers of a source share one node per target type; constants convert in place. Cost: linear in
//! links.

use millstream_base::Type;
use millstream_base::diagnostics::Diagnostics;
use millstream_base::id::SideTable;
use millstream_ir::{Graph, NodeId, Op, PathId, Paths, Source};

use super::{Changed, PassContext, PassError};
use crate::converter::Converter;

/// Insert conversions; each has the path of the first node that needs it.
///
/// # Errors
/// If linked types do not convert, which never happens to a checked document.
pub fn conversions(graph: &mut Graph, cx: &PassContext<'_>) -> Result<Changed, Diagnostics> {
    let mut converter = Converter::new(cx.registry.conversion());
    let mut changed = Changed::No;
    let ids: Vec<NodeId> = differing(graph);
    for id in ids {
        let Op::Call(instance) = graph.op(id) else { continue };
        let path = graph.node(id).path;
        for i in 0..graph.inputs_of(id).len() {
            let to = graph.instances()[instance].inputs[i].ty;
            let source = graph.inputs_of(id)[i];
            if let Some(new) = converted(&mut converter, graph, source, to, path)? {
                graph.inputs_of_mut(id)[i] = new;
                changed = Changed::Yes;
            }
        }
    }
    for i in 0..graph.outputs.len() {
        let (source, to) = (graph.outputs[i].source, graph.outputs[i].ty);
        if let Some(new) = converted(&mut converter, graph, source, to, Paths::root())? {
            graph.outputs[i].source = new;
            changed = Changed::Yes;
        }
    }
    Ok(changed)
}

/// The nodes with a link whose type differs from that of the socket.
fn differing(graph: &Graph) -> Vec<NodeId> {
    // Links lead anywhere in memory, and a table of types fits into the caches where the nodes do
    // not.
    let mut types: SideTable<NodeId, Option<Type>> = SideTable::new(graph.n_ids(), None);
    for id in graph.ids() {
        types[id] = graph.type_of(Source::first(id));
    }
    let type_of = |link: &Source| match link.output {
        0 => types[link.node],
        _ => graph.type_of(*link),
    };
    let differs = |id: &NodeId| {
        graph.instance_of(*id).is_some_and(|instance| {
            let mut pairs = graph.inputs_of(*id).iter().zip(&instance.inputs);
            pairs.any(|(link, slot)| type_of(link) != Some(slot.ty))
        })
    };
    graph.ids().filter(differs).collect()
}

fn converted(
    converter: &mut Converter<'_>,
    graph: &mut Graph,
    source: Source,
    to: Type,
    path: PathId,
) -> Result<Option<Source>, Diagnostics> {
    match graph.type_of(source) {
        Some(from) if from == to => Ok(None),
        Some(from) => match converter.convert(graph, source, from, to, path) {
            Some(new) => Ok(Some(new)),
            None => {
                let error = PassError::NoConversion { from: from.name(), to: to.name() };
                Err(error.at(graph.paths.get(path)))
            }
        },
        None => Err(PassError::NoSource.at(graph.paths.get(path))),
    }
}
