//! Upgrades of node types, which the owner of the node library provides.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Document, InputValue, Link, Named, Node, NodeKind, OutputDef, OutputFrom};

/// An upgrade of nodes from one version of a node type to the next.
#[derive(Clone, Copy, Debug)]
pub struct NodeUpgrade {
    /// The node type, by its name in the old version.
    pub node_type: &'static str,
    /// The old version; the new one is one higher.
    pub from: u32,
    /// Changes sockets and settings, and perhaps the type. The version is raised afterwards.
    pub apply: fn(&mut Node),
    /// The old and the new names of renamed outputs.
    pub outputs: &'static [(&'static str, &'static str)],
}

/// Upgrades all nodes as far as the upgrades reach; returns the number of changed nodes.
///
/// ```
/// use millstream_base::Limits;
/// use millstream_document::{NodeUpgrade, load, upgrade_nodes};
/// const SOCKETS_HAVE_WORDS: NodeUpgrade = NodeUpgrade {
///     node_type: "math.divide",
///     from: 1,
///     apply: |node| {
///         node.inputs.rename("a", "dividend");
///         node.inputs.rename("b", "divisor");
///     },
///     outputs: &[("value", "quotient")],
/// };
/// let text = br#"{ "millstream": 2,
///     "outputs": { "x": { "type": "f32", "from": "d.value" } },
///     "nodes": { "d": { "type": "math.divide", "in": { "a": 1, "b": 2 } } } }"#;
/// let (document, _) = load(text, &Limits::default());
/// let mut document = document.expect("it is well formed");
/// assert_eq!(upgrade_nodes(&mut document, &[SOCKETS_HAVE_WORDS]), 1);
/// assert!(document.nodes["d"].inputs.get("divisor").is_some());
/// ```
pub fn upgrade_nodes(document: &mut Document, upgrades: &[NodeUpgrade]) -> usize {
    if upgrades.is_empty() {
        return 0;
    }
    let known: FxHashMap<(&str, u32), &NodeUpgrade> =
        upgrades.iter().map(|upgrade| ((upgrade.node_type, upgrade.from), upgrade)).collect();
    let mut n_changed = upgrade_body(&mut document.nodes, &mut document.outputs, &known);
    for group in document.groups.values_mut() {
        n_changed += upgrade_body(&mut group.nodes, &mut group.outputs, &known);
    }
    n_changed
}

type Known<'a> = FxHashMap<(&'a str, u32), &'a NodeUpgrade>;

fn upgrade_body(
    nodes: &mut Named<Node>,
    outputs: &mut Named<OutputDef>,
    known: &Known<'_>,
) -> usize {
    let mut n_changed = 0;
    let mut renamed = Renamed::new();
    for (name, node) in nodes.iter_mut() {
        let before = node.version;
        // Each round raises the version, so there are at most as many rounds as upgrades.
        while let Some(upgrade) = next_upgrade(node, known) {
            (upgrade.apply)(node);
            node.version = upgrade.from + 1;
            if !upgrade.outputs.is_empty() {
                renamed.entry(Arc::clone(name)).or_default().extend(upgrade.outputs);
            }
        }
        n_changed += usize::from(node.version != before);
    }
    if renamed.is_empty() {
        return n_changed;
    }
    rename_outputs(nodes, outputs, &renamed);
    n_changed
}

fn next_upgrade(node: &Node, known: &Known<'_>) -> Option<NodeUpgrade> {
    match &node.kind {
        NodeKind::Type(ty) => known.get(&(&**ty, node.version)).copied().copied(),
        NodeKind::Group(_) | NodeKind::Zone(..) | NodeKind::Closure(_) => None,
    }
}

/// The old and the new names of renamed outputs, in order, by node.
type Renamed = HashMap<Arc<str>, Vec<(&'static str, &'static str)>>;

/// Updates the links to renamed outputs.
fn rename_outputs(nodes: &mut Named<Node>, outputs: &mut Named<OutputDef>, renamed: &Renamed) {
    let rename = |link: &mut Link| {
        for (old, new) in renamed.get(&link.node).into_iter().flatten() {
            if *link.output == **old {
                link.output = (*new).into();
            }
        }
    };
    for node in nodes.values_mut() {
        for input in node.inputs.values_mut() {
            match &mut input.value {
                InputValue::Link(link) => rename(link),
                InputValue::Several(sources) => {
                    for source in sources {
                        if let InputValue::Link(link) = &mut source.value {
                            rename(link);
                        }
                    }
                }
                InputValue::Literal(_) | InputValue::Input(_) => {}
            }
        }
    }
    for output in outputs.values_mut() {
        if let OutputFrom::Link(link) = &mut output.from {
            rename(link);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Input, InputValue};
    use serde_json::Value as Json;

    const ROUNDING: [NodeUpgrade; 2] = [
        NodeUpgrade {
            node_type: "old.round",
            from: 1,
            apply: |node| {
                node.kind = NodeKind::Type("math.round".into());
                node.inputs.rename("x", "number");
            },
            outputs: &[("y", "rounded")],
        },
        NodeUpgrade {
            node_type: "math.round",
            from: 2,
            apply: |node| {
                node.set.insert("mode", Json::from("even").into());
            },
            outputs: &[("rounded", "value")],
        },
    ];

    #[test]
    fn upgrades_follow_each_other_and_links_follow_outputs() {
        let mut document = Document::new("");
        let mut old = Node::new(NodeKind::Type("old.round".into()));
        old.inputs.insert("x", Input::from(InputValue::Literal(Json::from(1).into())));
        let mut user = Node::new(NodeKind::Type("math.add".into()));
        user.inputs.insert("a", Input::from(InputValue::Link(Link::new("r", "y"))));
        document.nodes.insert("r".into(), old);
        document.nodes.insert("u".into(), user);
        let from = OutputFrom::Link(Link::new("r", "y"));
        document.outputs.insert("o".into(), OutputDef::new("f32", from));
        assert_eq!(upgrade_nodes(&mut document, &ROUNDING), 1);
        let node = &document.nodes["r"];
        assert_eq!(node.kind, NodeKind::Type("math.round".into()));
        assert_eq!(node.version, 3);
        assert!(node.inputs.get("number").is_some());
        assert!(node.set.get("mode").is_some());
        let link = InputValue::Link(Link::new("r", "value"));
        assert_eq!(document.nodes["u"].inputs.get("a"), Some(&Input::from(link)));
        assert_eq!(document.outputs["o"].from, OutputFrom::Link(Link::new("r", "value")));
    }
}
