//! Checks one node alone, as if its sources were inputs of a document: for those who follow edits
//! and know the types of what is around.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::{Limits, Type, Value};
use millstream_node::{Instance, Registry};

use super::check;
use super::instances::passing;
use crate::checked::{Checked, CheckedKind, Muted, Source};
use crate::fields::Fields;
use crate::model::{Document, GroupDef, Input, InputDef, InputValue, Node, NodeKind};
use crate::references::{Reference, references};

/// A node that was checked alone.
#[derive(Clone, Debug)]
pub struct Alone {
    /// What it does.
    pub kind: AloneKind,
    /// What goes in, one for each input of the instance, of the group or of the muted node.
    pub sources: Vec<AloneSource>,
}

/// What a node does.
#[derive(Clone, Debug)]
pub enum AloneKind {
    /// Runs a node type.
    Call(Arc<Instance>),
    /// Stands for the nodes of its group.
    Group,
    /// Runs its group round by round; nothing else was looked at.
    Repeat,
    /// Passes inputs through.
    Muted(Arc<Muted>),
}

/// What goes into a slot of a node.
#[derive(Clone, Debug)]
pub enum AloneSource {
    /// A literal or a default, of the type of the slot.
    Literal(Value),
    /// What the node reads at this position, counted over all its sockets in order; the type
    /// converts to that of the slot.
    Read(usize),
    /// Something that is wrong, so that what depends on it has no meaning.
    Wrong,
}

/// Checks a node by the types of its sources. `group` is the group that it uses, if any.
///
/// `None` if something is wrong with the node, or the type of a source is not known; checking the
/// whole document tells why. Where a node stands for the nodes of its group, sources that are wrong
/// leave the others right.
pub fn check_alone(
    registry: &Registry,
    node: &Node,
    group: Option<&GroupDef>,
    type_of: impl Fn(Reference<'_>) -> Option<Type>,
) -> Option<Alone> {
    let whole = check_at_once(registry, node, group, &type_of);
    match (&node.kind, group) {
        (NodeKind::Group(_), Some(group)) if whole.is_none() && !node.muted => {
            check_by_sockets(registry, node, group, &type_of)
        }
        _ => whole,
    }
}

/// Checks what goes into each socket of a node that uses a group alone.
fn check_by_sockets(
    registry: &Registry,
    node: &Node,
    group: &GroupDef,
    type_of: &impl Fn(Reference<'_>) -> Option<Type>,
) -> Option<Alone> {
    if node.inputs.iter().any(|(socket, _)| !group.inputs.contains_key(socket)) {
        return None;
    }
    let bare = Node { inputs: Fields::default(), ..node.clone() };
    let mut alone = check_at_once(registry, &bare, Some(&GroupDef::default()), type_of)?;
    // What each socket reads, counted over all.
    let mut first_read: HashMap<&str, usize> = HashMap::new();
    let mut n_read = 0;
    for (socket, input) in node.inputs.iter() {
        first_read.insert(socket, n_read);
        n_read += references(input).count();
    }
    for (name, def) in &group.inputs {
        let mut only = bare.clone();
        if let Some(input) = node.inputs.get(name) {
            only.inputs.insert(Arc::clone(name), input.clone());
        }
        let mut face = GroupDef::default();
        face.inputs.insert(Arc::clone(name), def.clone());
        let source = check_at_once(registry, &only, Some(&face), type_of)
            .and_then(|it| it.sources.into_iter().next());
        alone.sources.push(match source {
            Some(AloneSource::Read(k)) => AloneSource::Read(first_read.get(&**name)? + k),
            Some(source) => source,
            None => AloneSource::Wrong,
        });
    }
    Some(alone)
}

fn check_at_once(
    registry: &Registry,
    node: &Node,
    group: Option<&GroupDef>,
    type_of: &impl Fn(Reference<'_>) -> Option<Type>,
) -> Option<Alone> {
    if let NodeKind::Repeat(_) = node.kind {
        return Some(Alone { kind: AloneKind::Repeat, sources: Vec::new() });
    }
    let (mut document, mut alone) = detached(node, type_of)?;
    // A muted node type decides by its types alone; a muted group by those it declares.
    let is_group = matches!(node.kind, NodeKind::Group(_));
    alone.muted = node.muted && !is_group;
    if let NodeKind::Group(name) = &node.kind {
        let face = GroupDef { inputs: group?.inputs.clone(), ..GroupDef::default() };
        document.groups.insert(Arc::clone(name), face);
    }
    document.nodes.insert("n".into(), alone);
    let (checked, _) = check(&document, registry, &Limits::default());
    let checked = checked?;
    let body = checked.root();
    let [made] = &body.nodes[..] else { return None };
    let kind = match &made.kind {
        CheckedKind::Call(instance) => AloneKind::Call(Arc::clone(instance)),
        CheckedKind::Muted(muted) => AloneKind::Muted(Arc::clone(muted)),
        CheckedKind::Group(body) if node.muted => {
            let inputs = checked.bodies[*body].inputs.iter().map(|input| input.ty).collect();
            let outputs = group?.outputs.iter();
            let outputs: Option<Vec<(Arc<str>, Type)>> = outputs
                .map(|(name, def)| Some((Arc::clone(name), registry.type_named(&def.ty)?)))
                .collect();
            AloneKind::Muted(Arc::new(passing(inputs, outputs?)))
        }
        CheckedKind::Group(_) => AloneKind::Group,
        CheckedKind::Repeat(_) => AloneKind::Repeat,
    };
    let sources = sources_of(&checked)?;
    Some(Alone { kind, sources })
}

/// Checks a node that runs a group round by round with this group, and all those inside it; gives the
/// document of this node alone, and what goes in.
///
/// `None` if something is wrong with the node or the groups, it is muted, or the type of a source is
/// not known.
pub fn check_repeat_alone(
    registry: &Registry,
    limits: &Limits,
    within: &Document,
    node: &Node,
    type_of: impl Fn(Reference<'_>) -> Option<Type>,
) -> Option<(Checked, Vec<AloneSource>)> {
    if node.muted {
        return None;
    }
    let (mut document, alone) = detached(node, &type_of)?;
    document.fps = within.fps;
    let mut wanted: Vec<&Arc<str>> = node.kind.group().into_iter().collect();
    while let Some(name) = wanted.pop() {
        if !document.groups.contains_key(name) {
            let group = within.groups.get(name)?;
            document.groups.insert(Arc::clone(name), group.clone());
            wanted.extend(group.nodes.values().filter_map(|node| node.kind.group()));
        }
    }
    document.nodes.insert("n".into(), alone);
    let (checked, problems) = check(&document, registry, limits);
    let checked = checked.filter(|_| !problems.has_errors())?;
    let sources = sources_of(&checked)?;
    Some((checked, sources))
}

/// What goes into the one node of a document, whose inputs are what it reads.
fn sources_of(checked: &Checked) -> Option<Vec<AloneSource>> {
    let body = checked.root();
    let [made] = &body.nodes[..] else { return None };
    let sources = body.sources_of(made).iter().map(|source| match source {
        Source::Literal(i) => Some(AloneSource::Literal(body.literals[*i as usize].clone())),
        Source::Input(i) => Some(AloneSource::Read(*i as usize)),
        Source::Node { .. } => None,
    });
    sources.collect()
}

/// A node that reads inputs of a document, of the types of what it reads, and that document without it.
fn detached(
    node: &Node,
    type_of: &impl Fn(Reference<'_>) -> Option<Type>,
) -> Option<(Document, Node)> {
    let mut document = Document::default();
    let mut alone = Node { muted: false, ..node.clone() };
    let mut n_read = 0;
    for (input, (_, original)) in alone.inputs.values_mut().zip(node.inputs.iter()) {
        let mut types = references(original).map(type_of);
        let mut change = |source: &mut Input| -> Option<()> {
            match &source.value {
                InputValue::Literal(_) => {}
                InputValue::Several(_) => return None,
                InputValue::Link(_) | InputValue::Input(_) => {
                    let name: Arc<str> = n_read.to_string().into();
                    let def = InputDef::new(types.next()??.name());
                    document.inputs.insert(Arc::clone(&name), def);
                    source.value = InputValue::Input(name);
                    n_read += 1;
                }
            }
            Some(())
        };
        match &mut input.value {
            InputValue::Several(sources) => sources.iter_mut().try_for_each(change)?,
            InputValue::Literal(_) | InputValue::Link(_) | InputValue::Input(_) => change(input)?,
        }
    }
    Some((document, alone))
}
