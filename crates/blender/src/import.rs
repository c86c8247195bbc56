//! Import of function networks written by `tools/blender_export.py`.
//!
//! A node becomes one of Millstream's own nodes if that computes the same, and a node of the family
//! `blender` otherwise. Where implicit conversions differ from Millstream's, they are written as
//! nodes.

mod convert;
mod dump;
mod error;
mod kind;
mod mute;
mod node;
mod translate;
mod verify;
mod writer;

use std::collections::HashMap;

use millstream_document::{Document, InputDef, OutputDef};

pub use dump::{Dump, Network};
pub use error::ImportError;
pub use verify::{OutputDifference, VerifyError, verify};

use dump::{Feed, Node};
use kind::Kind;
use node::NodeContext;
use writer::{Source, Writer};

/// A network converted to a document.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The document.
    pub document: Document,
    /// The names of its inputs, in the order of the network.
    pub inputs: Vec<String>,
    /// The names of its outputs, in the order of the network.
    pub outputs: Vec<String>,
}

/// The document that computes the same as the network.
///
/// # Errors
/// Every node that has no translation, or the first part of the network that is meaningless.
pub fn import(network: &Network) -> Result<Imported, Vec<ImportError>> {
    let order = in_order(network).map_err(|error| vec![error])?;
    let mut writer = Writer::new(&network.group);
    let mut inputs = Vec::with_capacity(network.inputs.len());
    for (number, input) in network.inputs.iter().enumerate() {
        let kind = Kind::of_socket(&input.kind)
            .ok_or_else(|| vec![ImportError::input(number, &input.kind)])?;
        let mut def = InputDef::new(kind.ty().name());
        def.default = Some(kind.zero());
        let given = input.name.as_deref().unwrap_or("");
        inputs.push(writer.input(given, kind, def));
    }
    let mut results: Results = HashMap::new();
    let mut errors = Vec::new();
    for at in order {
        if let Err(error) = translate_node(network, at, &inputs, &mut results, &mut writer) {
            // Problems that merely follow from others are not reported.
            if !matches!(error, ImportError::NoValue { .. }) || errors.is_empty() {
                errors.push(error);
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut outputs = Vec::with_capacity(network.outputs.len());
    for output in &network.outputs {
        let found = network.nodes.get(output.node).and_then(|node| {
            let source = results.get(&(output.node, output.id.clone()))?;
            Some((node, source.clone()))
        });
        let Some((node, source)) = found else {
            return Err(vec![ImportError::Output { node: output.node, id: output.id.clone() }]);
        };
        let from = writer.linked(source);
        let name = writer.output_name(&node.title(), &output.id, node.outputs.len());
        let def = OutputDef::new(from.kind().ty().name(), from.as_output());
        writer.output(&name, def);
        outputs.push(name);
    }
    let inputs = inputs.iter().map(Source::text).collect();
    Ok(Imported { document: writer.finish(), inputs, outputs })
}

/// The sources of the outputs of nodes, by node and identifier.
type Results = HashMap<(usize, String), Source>;

fn translate_node(
    network: &Network,
    at: usize,
    inputs: &[Source],
    results: &mut Results,
    writer: &mut Writer,
) -> Result<(), ImportError> {
    let node = &network.nodes[at];
    if node.is_decoration() {
        return Ok(());
    }
    if node.ty == "NodeGroupInput" {
        give_inputs(network, at, inputs, results);
        return Ok(());
    }
    let mut sources = Vec::with_capacity(node.inputs.len());
    for socket in &node.inputs {
        let kind = Kind::of_socket(&socket.kind);
        let source = match &socket.feed {
            Feed::Value(json) => match kind {
                Some(kind) => Some(Source::Literal(kind, kind.literal(node, at, socket, json)?)),
                None => None,
            },
            Feed::Input(number) => {
                Some(inputs.get(*number).cloned().ok_or_else(|| ImportError::NoInput {
                    node: node.label(at),
                    number: *number,
                })?)
            }
            Feed::Link(from, id) => Some(linked(network, (*from, id), results, node, at)?),
        };
        let wanted = match (source, kind) {
            // Sockets for lists are named after the item type.
            (Some(source), Some(Kind::String)) if source.kind() == Kind::Strings => Some(source),
            (Some(source), Some(kind)) => Some(convert::to_kind(writer, source, kind, node, at)?),
            _ => None,
        };
        sources.push(wanted);
    }
    writer.begin(node);
    let mut cx = NodeContext::new(node, network.release, at, sources, writer);
    if node.mute {
        mute::pass(&mut cx)?;
    } else {
        let translated = translate::translate(&mut cx);
        if let Some(error) = cx.wrong() {
            return Err(error);
        }
        translated?;
    }
    for (id, source) in cx.into_outputs() {
        results.insert((at, id), source);
    }
    Ok(())
}

/// Connects the outputs of a group input to the inputs of the network, by name or else by number.
fn give_inputs(network: &Network, at: usize, inputs: &[Source], results: &mut Results) {
    for (number, output) in network.nodes[at].outputs.iter().enumerate() {
        let named = |input: &dump::NetworkInput| input.name.as_ref() == Some(&output.id);
        let number = network.inputs.iter().position(named).unwrap_or(number);
        if let Some(source) = inputs.get(number) {
            results.insert((at, output.id.clone()), source.clone());
        }
    }
}

fn linked(
    network: &Network,
    (from, id): (usize, &str),
    results: &Results,
    node: &Node,
    at: usize,
) -> Result<Source, ImportError> {
    if let Some(source) = results.get(&(from, id.to_owned())) {
        return Ok(source.clone());
    }
    let has_socket =
        network.nodes.get(from).is_some_and(|node| node.outputs.iter().any(|o| o.id == *id));
    let (node, id) = (node.label(at), id.to_owned());
    Err(if has_socket {
        ImportError::NoValue { node, from, id }
    } else {
        ImportError::NoOutput { node, from, id }
    })
}

/// The nodes in topological order.
fn in_order(network: &Network) -> Result<Vec<usize>, ImportError> {
    let n = network.nodes.len();
    let mut waits_for = vec![0_usize; n];
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (at, node) in network.nodes.iter().enumerate() {
        for socket in &node.inputs {
            if let Feed::Link(from, id) = &socket.feed {
                let Some(users) = users.get_mut(*from) else {
                    let (node, from) = (node.label(at), *from);
                    return Err(ImportError::NoOutput { node, from, id: id.clone() });
                };
                users.push(at);
                waits_for[at] += 1;
            }
        }
    }
    let mut ready: std::collections::VecDeque<usize> =
        (0..n).filter(|at| waits_for[*at] == 0).collect();
    let mut order = Vec::with_capacity(n);
    while let Some(at) = ready.pop_front() {
        order.push(at);
        for &user in &users[at] {
            waits_for[user] -= 1;
            if waits_for[user] == 0 {
                ready.push_back(user);
            }
        }
    }
    match (0..n).find(|at| waits_for[*at] > 0) {
        Some(at) => Err(ImportError::Cycle { node: network.nodes[at].label(at) }),
        None => Ok(order),
    }
}
