//! Checks a single node, given the types of its sources, for callers that follow edits and know
//! these types.
//!
//! The node is checked like a node of a body, except that its sources lie outside. Shapes and
//! instances are cached, so a node like an earlier one is found by its pattern.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_node::Registry;
use millstream_node::signature::Widths;

use super::face::{BodyDef, Faces};
use super::instances::Instances;
use super::links::{Given, Linker, Links, Names};
use super::literals::Literals;
use super::shapes::{KnownShapes, NodeShape, Shapes};
use super::types::{NodeDefs, Typed, Typing};
use crate::at::{At, Part};
use crate::checked::{CheckedKind, Source};
use crate::model::{Document, Input, Link, Node, NodeKind};
use crate::problems::Problems;
use crate::references::Reference;
use crate::spot::Spot;
use crate::wrong::WrongPart;

/// The number of shapes and instances at which the cache is cleared.
const MAX_CACHED: usize = 1024;

/// A node that was checked by itself. `P` is the caller's type for sources outside.
#[derive(Clone, Debug)]
pub struct SingleNode<P> {
    /// Its kind; the body of a group or repeat is that of the group that the node names.
    pub kind: CheckedKind,
    /// Its sources, one for each input of the instance, of the group or of the muted node.
    pub sources: Vec<SingleSource<P>>,
}

/// The source of a slot.
#[derive(Clone, Debug)]
pub enum SingleSource<P> {
    /// A literal or a default, of the type of the slot.
    Literal(Value),
    /// A source outside, with its type, which converts to that of the slot; `None` if the type is
    /// unknown.
    Read(Option<(Type, P)>),
    /// A wrong source. Only a node that stands for its group can have one.
    Wrong,
}

/// Checks nodes one at a time.
#[derive(Default)]
pub struct NodeChecker {
    shapes: KnownShapes,
    instances: Instances,
}

impl NodeChecker {
    /// Checks a node of a document. `find` returns the type of each value that the node reads,
    /// together with the caller's source for it. A missing type makes the node wrong, unless the
    /// value is used only in later ticks or the node stands for its group.
    ///
    /// Returns `None` if something is wrong with the node; checking the document tells why. The
    /// registry must be the same for all nodes.
    pub fn check<'n, P: Clone>(
        &mut self,
        registry: &Registry,
        document: &'n Document,
        (node, widths): (&'n Node, Widths),
        find: impl Fn(Reference<'n>) -> Option<(Type, P)>,
    ) -> Option<SingleNode<P>> {
        if node.spot.is_wrong() || node.inputs.iter().any(|(_, input)| input.spot.is_wrong()) {
            return None;
        }
        if self.shapes.len().max(self.instances.len()) > MAX_CACHED {
            *self = Self::default();
        }
        let mut shapes = Shapes::new(document, registry, std::mem::take(&mut self.shapes));
        let checked = single(&mut shapes, &mut self.instances, document, (node, widths), find);
        self.shapes = shapes.into_known();
        checked
    }
}

/// The position and the type of an output of a zone, whatever is wrong inside its group and at its
/// inputs: the interface of the group and the settings of the zone tell them.
pub fn zone_output(
    registry: &Registry,
    document: &Document,
    node: &Node,
    output: &str,
) -> Option<(usize, Type)> {
    let NodeKind::Zone(zone, group) = &node.kind else { return None };
    let body = BodyDef::group(group, document.groups.get(group)?);
    if body.spot.is_wrong() {
        return None;
    }
    let (mut problems, at) = (Problems::silent(), At::ROOT.part(Part::Node("")));
    let mut shapes = Shapes::new(document, registry, KnownShapes::default());
    let shape = shapes.zone_of_first(node, *zone, body, at, &mut problems);
    let NodeShape::Zone(zone) = shape else { return None };
    let face = Faces::new(registry).of(&body, &mut problems);
    shapes.zone(zone).output_named(&face, output)
}

fn single<'n, P: Clone>(
    shapes: &mut Shapes<'_>,
    instances: &mut Instances,
    document: &'n Document,
    (node, widths): (&'n Node, Widths),
    find: impl Fn(Reference<'n>) -> Option<(Type, P)>,
) -> Option<SingleNode<P>> {
    let mut problems = Problems::silent();
    let mut group = None;
    if let Some(name) = node.kind.group() {
        let body = BodyDef::group(name, document.groups.get(name)?);
        if body.spot.is_wrong() {
            return None;
        }
        // A problem inside the group is not a problem of the node.
        group = Some((body, Faces::new(shapes.registry()).of(&body, &mut Problems::silent())));
    }
    let (bodies, faces): (Vec<_>, Vec<_>) = group.into_iter().unzip();
    let at = At::ROOT.part(Part::Node(""));
    let shape = match &node.kind {
        NodeKind::Type(_) => shapes.of(node, at, &mut problems),
        NodeKind::Group(_) if shapes.has_group_settings(node, at, &mut problems) => {
            NodeShape::Group(0)
        }
        // A live graph does not follow closures.
        NodeKind::Group(_) | NodeKind::Closure(_) => NodeShape::Broken,
        NodeKind::Zone(zone, _) => shapes.zone_of_first(node, *zone, bodies[0], at, &mut problems),
    };
    let shapes = &*shapes;
    let mut linker = Linker {
        names: Outside { links: Vec::new(), inputs: Vec::new(), find },
        bodies: &bodies,
        faces: &faces,
        shapes,
        problems: &mut problems,
        slots: Vec::new(),
        delayed: Vec::new(),
        written: Vec::new(),
    };
    if shape == NodeShape::Broken || !linker.resolve(node, shape, at) {
        return None;
    }
    let Linker { names: Outside { links: linked, inputs, .. }, slots, delayed, .. } = linker;
    let first_slot = vec![0, slots.len() as u32];
    let links = Links { slots, first_slot, delayed };
    let mut number =
        |found: &Option<(Type, P)>| found.as_ref().map(|(ty, _)| instances.number(*ty));
    let input_types = inputs.iter().map(&mut number).collect();
    let nodes = linked.iter().map(|found| Typed::Outside(number(found)));
    let nodes = [Typed::Unknown].into_iter().chain(nodes).collect();
    let mut typing = Typing {
        at: At::ROOT,
        defs: NodeDefs::One(node),
        faces: &faces,
        input_types,
        shapes,
        node_shapes: &[shape],
        links: &links,
        nodes,
        instances,
        problems: &mut problems,
        partly: HashMap::new(),
        literals: Literals::default(),
        sources: vec![Source::Wrong; links.slots.len()],
        muted_groups: HashMap::new(),
        widths,
        conversions: &mut Vec::new(),
        settling: None,
        large_inputs: Vec::new(),
    };
    typing.visit(&[0], &[]);
    let kind = typing.kind(0, node.muted);
    let (mut sources, literals) = (typing.sources, typing.literals.into_values());
    for wrong in problems.take_parts() {
        *sources.get_mut(wrong_input(&wrong, &kind, &bodies)?)? = Source::Wrong;
    }
    if let CheckedKind::Wrong = kind {
        return None;
    }
    let sources = sources.into_iter().map(|source| match source {
        Source::Literal(i) => SingleSource::Literal(literals[i as usize].clone()),
        Source::Node { node, .. } => SingleSource::Read(linked[node as usize - 1].clone()),
        Source::Input(input) => SingleSource::Read(inputs[input as usize].clone()),
        Source::Wrong => SingleSource::Wrong,
    });
    let sources: Vec<SingleSource<P>> = sources.collect();
    let may_lack = matches!(kind, CheckedKind::Group(_));
    let lacks = sources.iter().any(|source| matches!(source, SingleSource::Wrong));
    (may_lack || !lacks).then_some(SingleNode { kind, sources })
}

/// The only input of a group that is wrong, if the node stands for the group.
fn wrong_input(wrong: &WrongPart, kind: &CheckedKind, bodies: &[BodyDef<'_>]) -> Option<usize> {
    match kind {
        CheckedKind::Group(_) => bodies.first()?.inputs.get_index_of(wrong.socket()?),
        CheckedKind::Call(_)
        | CheckedKind::Zone(_)
        | CheckedKind::Closure(_)
        | CheckedKind::Muted(_)
        | CheckedKind::Wrong => None,
    }
}

/// The sources outside that a node reads, as far as they are known. Each link refers to another
/// node placed after it.
struct Outside<F, P> {
    links: Vec<Option<(Type, P)>>,
    inputs: Vec<Option<(Type, P)>>,
    find: F,
}

impl<'n, P, F: Fn(Reference<'n>) -> Option<(Type, P)>> Names<'n> for Outside<F, P> {
    fn input(&mut self, name: &'n Arc<str>, _: Spot, _: At<'_>, _: &mut Problems) -> Given<'n> {
        self.inputs.push((self.find)(Reference::Input(name)));
        Given::Input(self.inputs.len() as u32 - 1)
    }

    fn link(&mut self, link: &'n Link, _: Spot, _: At<'_>, _: &mut Problems) -> Given<'n> {
        self.links.push((self.find)(Reference::Link(link)));
        Given::Node { node: self.links.len() as u32, output: 0 }
    }

    fn mark_used(&mut self, _: &Input) {}
}

impl std::fmt::Debug for NodeChecker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeChecker").field("n_shapes", &self.shapes.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;
    use crate::model::InputValue;
    use crate::test_registry::registry;

    fn node(ty: &str, a: InputValue, b: InputValue) -> Node {
        let mut node = Node::new(NodeKind::Type(ty.into()));
        node.inputs.insert("a", a.into());
        node.inputs.insert("b", b.into());
        node
    }

    fn link(name: &str) -> InputValue {
        InputValue::Link(Link::new(name, "value"))
    }

    fn literal(json: &str) -> InputValue {
        InputValue::Literal(Box::new(serde_json::from_str::<Json>(json).expect("it is JSON")))
    }

    /// The literal of the second slot, printed so that different bits differ.
    fn second(checker: &mut NodeChecker, node: &Node, ty: Type) -> Option<String> {
        let document = Document::default();
        let checked =
            checker.check(&registry(), &document, (node, Widths::Kept), |_| Some((ty, ())))?;
        match &checked.sources[1] {
            SingleSource::Literal(value) => Some(format!("{value:?}")),
            SingleSource::Read(_) | SingleSource::Wrong => panic!("it is a literal"),
        }
    }

    #[test]
    fn equal_nodes_share_their_instance_and_different_ones_do_not() {
        let (registry, document) = (registry(), Document::default());
        let mut checker = NodeChecker::default();
        let mut instance = |node: &Node, ty: Type| {
            let checked =
                checker.check(&registry, &document, (node, Widths::Kept), |_| Some((ty, ())));
            match checked.expect("it is right").kind {
                CheckedKind::Call(instance) => instance,
                kind => panic!("it is a call, not {kind:?}"),
            }
        };
        let first = instance(&node("math.add", link("x"), link("y")), Type::F32);
        let alike = instance(&node("math.add", link("z"), link("x")), Type::F32);
        assert!(Arc::ptr_eq(&first, &alike));
        let wider = instance(&node("math.add", link("z"), link("x")), Type::F64);
        assert!(!wider.does_same(&first));
        let mut muted = node("math.add", link("x"), link("y"));
        muted.muted = true;
        let muted =
            checker.check(&registry, &document, (&muted, Widths::Kept), |_| Some((Type::F32, ())));
        assert!(matches!(muted.expect("it is right").kind, CheckedKind::Muted(_)));
    }

    #[test]
    fn literals_have_the_bits_and_type_that_a_new_checker_finds() {
        let mut checker = NodeChecker::default();
        let literals =
            ["0.0", "-0.0", "0", "1.5", "2", "\"two\"", "[1]", "3", "1e300", "null", "-0.0"];
        for json in literals {
            for first in [link("x"), literal("2")] {
                for ty in [Type::I32, Type::F32, Type::VEC3] {
                    let node = node("math.add", first.clone(), literal(json));
                    let found = second(&mut checker, &node, ty);
                    assert_eq!(found, second(&mut NodeChecker::default(), &node, ty), "{json}");
                }
            }
        }
    }

    #[test]
    fn wrong_sockets_and_unknown_types_make_a_node_wrong() {
        let (registry, document) = (registry(), Document::default());
        let mut checker = NodeChecker::default();
        let mut add = node("math.add", link("x"), link("y"));
        add.inputs.insert("c", link("z").into());
        for _ in 0..2 {
            assert!(
                checker
                    .check(&registry, &document, (&add, Widths::Kept), |_| Some((Type::F32, ())))
                    .is_none()
            );
        }
        add.inputs.remove("c");
        assert!(
            checker.check::<()>(&registry, &document, (&add, Widths::Kept), |_| None).is_none()
        );
        assert!(
            checker
                .check(&registry, &document, (&add, Widths::Kept), |_| Some((Type::F32, ())))
                .is_some()
        );
    }
}
