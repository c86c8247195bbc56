//! Documents with the meaning of generated graphs, as an author would write them.
//!
//! Conversions are left to the compiler. Constants become inputs with a default, since a literal
//! would adapt to its socket, while a link determines its type.

use millstream_base::id::Id;
use millstream_base::{Value, literal};
use millstream_ir::{Graph, NodeId, Op, Source};
use millstream_node::convert::CONVERT;
use serde_json::{Map, Value as Json, json};

/// The document of a graph; one of its nodes may be muted.
pub fn document_of(graph: &Graph, muted: Option<NodeId>) -> Json {
    let mut inputs = Map::new();
    let mut nodes = Map::new();
    for input in graph.inputs().as_slice() {
        let default = input.default.as_ref().map_or(Json::Null, literal);
        inputs.insert(input.name.to_string(), json!({"type": input.ty.name(), "default": default}));
    }
    for id in graph.ids() {
        if let Some(value) = graph.constant_of(id) {
            let input = json!({"type": value.ty().name(), "default": literal(value)});
            inputs.insert(constant_name(id), input);
        } else if let Some(instance) = graph.instance_of(id)
            && instance.name() != CONVERT
        {
            let mut node = node(graph, id);
            if muted == Some(id) {
                node["muted"] = true.into();
            }
            nodes.insert(node_name(graph, id), node);
        }
    }
    let outputs: Map<String, Json> =
        graph.outputs.iter().map(|output| output_of(graph, output)).collect();
    json!({"millstream": 2, "inputs": inputs, "outputs": outputs, "nodes": nodes})
}

/// Replaces each output of a node by its first input of the same type, as muting does.
///
/// # Panics
/// If the node is not a call.
pub fn mute(graph: &mut Graph, id: NodeId) {
    let instance = std::sync::Arc::clone(graph.instance_of(id).expect("calls can be muted"));
    let links = graph.inputs_of(id).to_vec();
    let mut passed = Vec::new();
    for output in &instance.outputs {
        let first = instance.inputs.iter().position(|slot| slot.ty == output.ty);
        passed.push(match first {
            Some(slot) => links[slot],
            None => Source::first(graph.add_const(output.ty.default_value())),
        });
    }
    let redirect = |source: &mut Source| {
        if source.node == id {
            *source = passed[source.output as usize];
        }
    };
    for reader in graph.ids().filter(|reader| *reader != id).collect::<Vec<_>>() {
        graph.inputs_of_mut(reader).iter_mut().for_each(redirect);
    }
    graph.outputs.iter_mut().for_each(|output| redirect(&mut output.source));
}

fn literal(value: &Value) -> Json {
    literal::to_json(value)
}

fn constant_name(id: NodeId) -> String {
    format!("constant{}", id.index())
}

fn node_name(graph: &Graph, id: NodeId) -> String {
    graph.paths.get(graph.node(id).path).as_str().replace('/', "_")
}

/// The notation of a source; conversions are skipped.
fn source(graph: &Graph, mut at: Source) -> Json {
    loop {
        match graph.op(at.node) {
            Op::Gone => panic!("links lead to existing nodes"),
            Op::Const(_) => return json!({"input": constant_name(at.node)}),
            Op::Input(input) => return json!({"input": &*graph.inputs()[input].name}),
            Op::Call(instance) => {
                let instance = &graph.instances()[instance];
                if instance.name() != CONVERT {
                    let output = &instance.output_names[at.output as usize];
                    return json!({"from": format!("{}.{output}", node_name(graph, at.node))});
                }
                at = graph.inputs_of(at.node)[0];
            }
        }
    }
}

fn node(graph: &Graph, id: NodeId) -> Json {
    let instance = graph.instance_of(id).expect("the caller found a call");
    let signature = instance.def.signature(&instance.settings).expect("there is an instance");
    let mut sockets: Map<String, Json> = Map::new();
    for (link, slot) in graph.inputs_of(id).iter().zip(&instance.inputs) {
        let socket = &signature.inputs[slot.socket as usize];
        let written = source(graph, *link);
        if socket.multiple {
            let all = sockets.entry(socket.name.to_string()).or_insert_with(|| json!([]));
            if let Json::Array(all) = all {
                all.push(written);
            }
        } else {
            sockets.insert(socket.name.to_string(), written);
        }
    }
    let set: Map<String, Json> =
        instance.settings.iter().map(|(key, value)| (key.to_string(), value.to_json())).collect();
    json!({"type": instance.name(), "set": set, "in": sockets})
}

fn output_of(graph: &Graph, output: &millstream_ir::GraphOutput) -> (String, Json) {
    let mut written = source(graph, output.source);
    written["type"] = graph.type_of(output.source).map_or("", |ty| ty.name()).into();
    (output.name.to_string(), written)
}
