//! A document without what is lost of it.
//!
//! Each variant of a group becomes a group: the one that lacks nothing goes on under its name, others
//! get names of their own. Nodes keep theirs, so paths mean what they meant.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use millstream_base::Limits;
use millstream_base::literal::to_json;
use millstream_document::check::WrongPart;
use millstream_document::{
    Document, FreeNames, GroupDef, InputDef, Named, Node, NodeKind, OutputDef, OutputFrom,
    free_name,
};
use millstream_node::Registry;

use super::lost::{Body, Losses, Lost, Variant, passes_on};

/// What a group of the new document is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Made {
    Variant(Variant),
    /// What a muted node passes through that uses this group.
    Passing(Arc<str>),
}

/// A node that is kept, and the inputs of its group that it lacks.
type Kept<'d> = (&'d Arc<str>, &'d Node, BTreeSet<Arc<str>>);

/// The groups of the new document.
struct Making<'d> {
    document: &'d Document,
    registry: &'d Registry,
    losses: Losses<'d>,
    names: HashMap<Made, Arc<str>>,
    taken: HashSet<Arc<str>>,
    free: FreeNames,
    /// Groups that are used and not made yet.
    waiting: Vec<(Arc<str>, Made)>,
}

/// The document without these parts, and what depends on them. `None` if it is wrong as a whole, or
/// if there are more nodes than there may be then, as its groups are used in many ways.
pub(super) fn without(
    document: &Document,
    wrong: &[WrongPart],
    registry: &Registry,
    limits: &Limits,
) -> Option<Document> {
    let losses = Losses::of(document, wrong)?;
    let taken = document.groups.keys().cloned().collect();
    let (names, waiting) = (HashMap::new(), Vec::new());
    let free = FreeNames::default();
    let mut making = Making { document, registry, losses, names, taken, free, waiting };
    let root = Variant { group: None, without: BTreeSet::new() };
    let GroupDef { inputs, outputs, nodes, .. } = making.variant(&root)?;
    let mut n_nodes = nodes.len();
    let mut groups = Named::new();
    while let Some((name, made)) = making.waiting.pop() {
        let group = match made {
            Made::Variant(variant) => making.variant(&variant)?,
            Made::Passing(group) => making.passing(&group)?,
        };
        n_nodes += group.nodes.len();
        if n_nodes > limits.nodes {
            return None;
        }
        groups.insert(name, group);
    }
    let Document { schema, name, fps, start_frame, view, .. } = document;
    Some(Document {
        schema: schema.clone(),
        name: Arc::clone(name),
        fps: *fps,
        start_frame: *start_frame,
        inputs,
        outputs,
        nodes,
        groups,
        view: view.clone(),
    })
}

impl Making<'_> {
    fn name_of(&mut self, made: Made) -> Arc<str> {
        if let Some(known) = self.names.get(&made) {
            return Arc::clone(known);
        }
        let name = match &made {
            Made::Variant(Variant { group: Some(group), without }) if without.is_empty() => {
                Arc::clone(group)
            }
            Made::Variant(Variant { group, .. }) => self.free(group.as_deref().unwrap_or_default()),
            Made::Passing(group) => self.free(group),
        };
        self.names.insert(made.clone(), Arc::clone(&name));
        self.waiting.push((Arc::clone(&name), made));
        name
    }

    fn free(&mut self, group: &str) -> Arc<str> {
        let free = self.free.find(group, |name| self.taken.contains(name));
        self.taken.insert(Arc::clone(&free));
        free
    }

    /// What is left of a body.
    fn variant(&mut self, variant: &Variant) -> Option<GroupDef> {
        let Body { inputs, outputs, nodes } = self.losses.body(variant.group.as_deref())?;
        let lost = self.losses.of.get(variant)?;
        let kept = nodes.iter().filter(|(name, _)| !lost.nodes.contains(&***name));
        let kept: Vec<Kept<'_>> = kept
            .map(|(name, node)| (name, node, lost.uses.get(&**name).cloned().unwrap_or_default()))
            .collect();
        let left = GroupDef {
            inputs: left_of(inputs, &lost.inputs),
            outputs: left_of(outputs, &lost.outputs),
            ..GroupDef::default()
        };
        let nodes = kept.into_iter();
        let nodes = nodes.map(|(name, node, without)| (Arc::clone(name), self.node(node, without)));
        Some(GroupDef { nodes: nodes.collect(), ..left })
    }

    /// A node, which uses what is left of its group.
    fn node(&mut self, node: &Node, without: BTreeSet<Arc<str>>) -> Node {
        let mut node = node.clone();
        let Some(group) = node.kind.group().cloned() else { return node };
        if passes_on(&node) {
            node.kind = NodeKind::Group(self.name_of(Made::Passing(group)));
            return node;
        }
        let variant = Variant { group: Some(Arc::clone(&group)), without };
        let lost = self.losses.of.get(&variant).map(|lost: &Lost<'_>| &lost.inputs);
        let gone = node.inputs.iter().map(|(socket, _)| Arc::clone(socket));
        let gone: Vec<Arc<str>> =
            gone.filter(|socket| lost.is_some_and(|lost| lost.contains(&**socket))).collect();
        for socket in gone {
            node.inputs.remove(&socket);
        }
        let name = self.name_of(Made::Variant(variant));
        node.kind = match node.kind {
            NodeKind::Repeat(_) => NodeKind::Repeat(name),
            NodeKind::Group(_) | NodeKind::Type(_) => NodeKind::Group(name),
        };
        node
    }

    /// The group with nothing in it but what a muted node that uses it passes through: the first
    /// input of each output's type, or the default of the type.
    fn passing(&self, group: &str) -> Option<GroupDef> {
        let group = self.document.groups.get(group)?;
        let mut made = GroupDef { inputs: group.inputs.clone(), ..GroupDef::default() };
        for (name, def) in &group.outputs {
            // Who reads an output that is not there is found wrong then.
            let Some(ty) = self.registry.type_named(&def.ty) else { continue };
            let mut inputs = made.inputs.iter();
            let known = inputs.find(|(_, input)| self.registry.type_named(&input.ty) == Some(ty));
            let from = match known {
                Some((input, _)) => Arc::clone(input),
                None => {
                    let free: Arc<str> =
                        free_name("default", |name| made.inputs.contains_key(name)).into();
                    let default = Some(to_json(&ty.default_value()));
                    let input = InputDef { default, ..InputDef::new(Arc::clone(&def.ty)) };
                    made.inputs.insert(Arc::clone(&free), input);
                    free
                }
            };
            let def = OutputDef::new(Arc::clone(&def.ty), OutputFrom::Input(from));
            made.outputs.insert(Arc::clone(name), def);
        }
        Some(made)
    }
}

fn left_of<T: Clone>(all: &Named<T>, lost: &HashSet<&str>) -> Named<T> {
    let left = all.iter().filter(|(name, _)| !lost.contains(&***name));
    left.map(|(name, it)| (Arc::clone(name), it.clone())).collect()
}
