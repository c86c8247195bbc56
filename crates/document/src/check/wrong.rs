//! Marks the parts of a document in which errors were found.

use millstream_base::id::Id;
use millstream_node::StateSpec;

use super::face::BodyDef;
use crate::checked::{BodyId, Checked, CheckedKind, Source};
use crate::model::{Document, Node, NodeKind};
use crate::wrong::{PartName, WrongPart};

/// Marks these parts as wrong; false if the document as a whole is.
///
/// A node that stands for its group remains even if one of its sockets is wrong; any other node is
/// then wrong itself.
pub(super) fn mark(
    checked: &mut Checked,
    document: &Document,
    bodies: &[BodyDef<'_>],
    parts: &[WrongPart],
) -> bool {
    if parts.is_empty() {
        return true;
    }
    checked.is_partial = true;
    for WrongPart { group, part } in parts {
        let id = match document.groups.get_index_of(group) {
            Some(group) => BodyId::from_index(group),
            None => checked.root,
        };
        let def = &bodies[id.index()];
        match part {
            PartName::Whole if id == checked.root => return false,
            PartName::Whole => checked.bodies[id].is_wrong = true,
            PartName::Input(name) => {
                let Some(at) = def.inputs.get_index_of(name) else { continue };
                checked.bodies[id].inputs[at].is_wrong = true;
            }
            PartName::Output(name) => {
                let Some(at) = def.outputs.get_index_of(name) else { continue };
                checked.bodies[id].outputs[at].source = Source::Wrong;
            }
            PartName::Node(name) => {
                let Some(at) = def.nodes.get_index_of(name) else { continue };
                checked.bodies[id].nodes[at].kind = CheckedKind::Wrong;
            }
            PartName::Socket(name, socket) => {
                let Some(at) = def.nodes.get_index_of(name) else { continue };
                mark_socket(checked, bodies, (id, at), socket);
            }
        }
    }
    mark_muted(checked, document, bodies);
    mark_readers(checked, bodies);
    true
}

/// Marks nodes that read a wrong node of their body, because their types are unknown. Exceptions
/// are nodes that stand for their group, muted zones, nodes with outputs that need only some
/// inputs, and nodes that read the other one only in later ticks. So a muted node still passes one
/// input on if another one merely lacks a value.
fn mark_readers(checked: &mut Checked, bodies: &[BodyDef<'_>]) {
    let ids: Vec<BodyId> = checked.bodies.ids().collect();
    for id in ids {
        let body = &mut checked.bodies[id];
        for at in body.order.iter().map(|at| *at as usize) {
            let node = &body.nodes[at];
            let written = bodies[id.index()].nodes.get_index(at).map(|(_, node)| &node.kind);
            let n_delayed = match &node.kind {
                CheckedKind::Group(_) | CheckedKind::Wrong => continue,
                CheckedKind::Muted(_)
                    if matches!(written, Some(NodeKind::Group(_) | NodeKind::Zone(..))) =>
                {
                    continue;
                }
                CheckedKind::Zone(_) | CheckedKind::Closure(_) | CheckedKind::Muted(_) => 0,
                CheckedKind::Call(instance)
                    if instance.network.as_ref().is_some_and(|network| network.is_divided) =>
                {
                    continue;
                }
                CheckedKind::Call(instance) => {
                    let state = instance.def.state.as_ref();
                    usize::from(state.is_some_and(StateSpec::delays_first))
                }
            };
            let is_wrong = |source: &Source| match source {
                Source::Node { node, .. } => {
                    matches!(body.nodes[*node as usize].kind, CheckedKind::Wrong)
                }
                Source::Wrong => true,
                Source::Literal(_) | Source::Input(_) => false,
            };
            if body.sources_of(node).iter().skip(n_delayed).any(is_wrong) {
                body.nodes[at].kind = CheckedKind::Wrong;
            }
        }
    }
}

fn mark_socket(
    checked: &mut Checked,
    bodies: &[BodyDef<'_>],
    (id, at): (BodyId, usize),
    socket: &str,
) {
    let body = &mut checked.bodies[id];
    let node = &mut body.nodes[at];
    if let CheckedKind::Group(inner) = node.kind
        && let Some(socket) = bodies[inner.index()].inputs.get_index_of(socket)
    {
        body.sources[node.first_source as usize + socket] = Source::Wrong;
    } else {
        node.kind = CheckedKind::Wrong;
    }
}

/// A muted node passes its inputs on even if its group has errors, unless an input of the group or
/// the group as a whole is wrong.
fn mark_muted(checked: &mut Checked, document: &Document, bodies: &[BodyDef<'_>]) {
    let is_wrong = |name: &str| {
        let group = document.groups.get_index_of(name).map(BodyId::from_index);
        group.is_none_or(|group| {
            let body = &checked.bodies[group];
            body.is_wrong || body.inputs.iter().any(|input| input.is_wrong)
        })
    };
    let wrong_use = |node: &Node| match &node.kind {
        NodeKind::Group(group) => node.muted && is_wrong(group),
        NodeKind::Type(_) | NodeKind::Zone(..) | NodeKind::Closure(_) => false,
    };
    let mut wrong: Vec<(BodyId, usize)> = Vec::new();
    for (i, def) in bodies.iter().enumerate() {
        let nodes = def.nodes.values().enumerate().filter(|(_, node)| wrong_use(node));
        wrong.extend(nodes.map(|(at, _)| (BodyId::from_index(i), at)));
    }
    for (id, at) in wrong {
        checked.bodies[id].nodes[at].kind = CheckedKind::Wrong;
    }
}
