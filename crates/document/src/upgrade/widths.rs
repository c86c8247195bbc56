//! The upgrade of format 1 to 2: a generic no longer takes a type that narrows its inputs.
//!
//! Under format 1, an `f64` and an `f32` gave an `f32`. Wherever that rule chose another type than
//! the new one, the upgrade inserts a `convert` node, so all results keep their bits.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use millstream_base::Type;
use millstream_node::convert::CONVERT;

use crate::free_name::FreeNames;
use crate::model::{
    Document, FORMAT_VERSION, Input, InputValue, Link, Named, Node, NodeKind, Setting,
};
use crate::references::{Reference, references};

/// A source that a document of format 1 converts, but format 2 does not unless told to.
#[derive(Clone, Debug)]
pub(crate) struct Conversion {
    /// The group of the node; empty outside groups.
    pub(crate) group: Arc<str>,
    pub(crate) node: Arc<str>,
    pub(crate) socket: Arc<str>,
    /// The position of the source in the socket.
    pub(crate) source: usize,
    pub(crate) to: Type,
}

/// Makes conversions, sorted by group, explicit, and raises the format.
pub(crate) fn insert_conversions(document: &mut Document, conversions: &[Conversion]) -> usize {
    document.format = FORMAT_VERSION;
    let mut n_inserted = 0;
    for of_body in conversions.chunk_by(|a, b| a.group == b.group) {
        let nodes = match &*of_body[0].group {
            "" => Some(&mut document.nodes),
            // Groups of used documents stay unchanged and keep the rule of their format.
            group => {
                let group = document.groups.get_mut(group);
                group.filter(|group| group.file.is_none()).map(|group| &mut group.nodes)
            }
        };
        if let Some(nodes) = nodes {
            insert_in(nodes, of_body);
            n_inserted += of_body.len();
        }
    }
    n_inserted
}

fn insert_in(nodes: &mut Named<Node>, conversions: &[Conversion]) {
    // A link to a missing node must not find a new one.
    let inputs = nodes.values().flat_map(|node| node.inputs.iter());
    let linked: HashSet<Arc<str>> = inputs
        .flat_map(|(_, input)| references(input))
        .filter_map(|reference| match reference {
            Reference::Link(link) => Some(Arc::clone(&link.node)),
            Reference::Input(_) => None,
        })
        .collect();
    let mut names = FreeNames::default();
    // The converting node for each source, which is written as a link or as the name of an input.
    let mut made: HashMap<(String, Type), Arc<str>> = HashMap::new();
    for conversion in conversions {
        let to = conversion.to;
        let from = source_of(nodes, conversion).clone();
        let (key, stem) = match &from.value {
            InputValue::Link(link) => (link.to_string(), &link.node),
            InputValue::Input(name) => (name.to_string(), name),
            InputValue::Literal(_) | InputValue::Several(_) => continue,
        };
        let stem = format!("{stem}_{to}");
        let name = made.entry((key, to)).or_insert_with(|| {
            let name = names.find(&stem, |name| nodes.contains_key(name) || linked.contains(name));
            let mut node = Node::new(NodeKind::Type(CONVERT.into()));
            node.set.insert("to", Setting::from(serde_json::Value::from(to.name())));
            node.spot = from.spot;
            node.inputs.insert("x", from);
            nodes.insert_before(Arc::clone(&name), node, Some(&conversion.node));
            name
        });
        let link = InputValue::Link(Link::new(Arc::clone(name), "value"));
        source_of(nodes, conversion).value = link;
    }
}

fn source_of<'n>(nodes: &'n mut Named<Node>, conversion: &Conversion) -> &'n mut Input {
    let Conversion { node, socket, source, .. } = conversion;
    let input = nodes.get_mut(node).and_then(|node| node.inputs.get_mut(socket));
    let input = input.expect("the source was checked");
    match input {
        Input { value: InputValue::Several(sources), .. } => &mut sources[*source],
        input => input,
    }
}
