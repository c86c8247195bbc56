//! Checks one body: shapes, links, order, types, outputs.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::{AHEAD, Type};
use millstream_node::Registry;
use millstream_node::convert::{convertible, narrows};
use millstream_node::group;
use rustc_hash::FxHashSet;

use super::closure::Calls;
use super::error::CheckError;
use super::face::{BodyDef, Face};
use super::groups::path;
use super::instances::Instances;
use super::links::{Given, Linker, Links, Names, socket_at};
use super::literals::Literals;
use super::mismatch::{describe_link, mismatch};
use super::names::{BodyNames, ByAddress};
use super::rounded::{Rounding, large_inputs};
use super::shapes::{KnownShapes, NodeShape, Shapes};
use super::types::{NodeDefs, Typed, Typing};
use crate::at::Part;
use crate::checked::{Body, BodyInput, BodyOutput, CheckedNode, Source};
use crate::formula_calls::text;
use crate::grain::{BodyParts, FineOrder, Grain};
use crate::model::{Document, InputValue, Node, NodeKind, OutputFrom};
use crate::order::{Cycle, sorted};
use crate::problems::Problems;
use crate::upgrade::Conversion;

/// Checks the bodies of a document, and holds the data that they share.
pub(super) struct Checker<'d, 'c> {
    bodies: &'c [BodyDef<'d>],
    faces: &'c [Face],
    shapes: Shapes<'d>,
    instances: Instances,
    grain: Grain<'d>,
    problems: &'c mut Problems,
    /// Whether loading could read everything. Otherwise it is unknown what is unused.
    pub(super) all_readable: bool,
    /// The groups that are made closures somewhere.
    closures: FxHashSet<&'d str>,
    /// The sources that need a conversion in a newer format, body by body.
    pub(super) conversions: Vec<Conversion>,
}

impl<'d, 'c> Checker<'d, 'c> {
    pub(super) fn new(
        document: &'d Document,
        registry: &'d Registry,
        bodies: &'c [BodyDef<'d>],
        faces: &'c [Face],
        problems: &'c mut Problems,
    ) -> Self {
        Self {
            bodies,
            faces,
            shapes: Shapes::new(document, registry, KnownShapes::default()),
            instances: Instances::default(),
            grain: Grain::new(document, registry),
            problems,
            all_readable: true,
            closures: closures_in(bodies),
            conversions: Vec::new(),
        }
    }

    /// Checks one body.
    pub(super) fn body(&mut self, body: usize) -> Body {
        let (def, face) = (self.bodies[body], &self.faces[body]);
        let mut node_shapes = Vec::with_capacity(def.nodes.len());
        for (name, node) in def.nodes {
            let at = def.at().part(Part::Node(name));
            node_shapes.push(self.shapes.of(node, at, self.problems));
        }
        let calls = Calls { body: def, face, bodies: self.bodies, faces: self.faces };
        calls.find(&mut self.shapes, &mut node_shapes, self.problems);
        let (links, outputs, used_inputs) = self.links(def, face, &mut node_shapes);
        let n_slots = |node| links.of_node(node).len() as u32;
        let sorted = sorted(def.nodes.len(), n_slots, |node, k| links.dependency(node, k));
        let mut found =
            FineOrder { order: sorted.order, cycles: Vec::new(), conditional: Vec::new() };
        if !sorted.cycles.is_empty() {
            // The nodes inside the groups on these cycles may form none, or switches may break
            // them.
            let body = BodyParts { nodes: def.nodes, inputs: def.inputs };
            found = self.grain.order(body);
        }
        for cycle in &found.cycles {
            self.report_cycle(&def, cycle);
        }
        self.warn_unused(&def, face, &used_inputs);
        let input_types = face
            .inputs
            .iter()
            .map(|input| input.as_ref().map(|input| self.instances.number(input.ty)));
        let mut typing = Typing {
            at: def.at(),
            defs: NodeDefs::Body(def.nodes),
            faces: self.faces,
            input_types: input_types.collect(),
            shapes: &self.shapes,
            node_shapes: &node_shapes,
            links: &links,
            instances: &mut self.instances,
            problems: &mut *self.problems,
            nodes: vec![Typed::Unknown; def.nodes.len()],
            partly: HashMap::new(),
            literals: Literals::default(),
            sources: vec![Source::Wrong; links.slots.len()],
            muted_groups: HashMap::new(),
            widths: def.widths,
            conversions: &mut self.conversions,
            settling: None,
            large_inputs: large_inputs(face),
        };
        typing.visit(&found.order, &found.conditional);
        let outputs = checked_outputs(&mut typing, (def, face), &outputs);
        finished(typing, (def, face), outputs, found)
    }

    fn links(
        &mut self,
        def: BodyDef<'d>,
        face: &Face,
        node_shapes: &mut [NodeShape],
    ) -> (Links<'d>, Vec<Given<'d>>, Vec<bool>) {
        let names = BodyNames {
            body: def,
            face,
            bodies: self.bodies,
            shapes: &self.shapes,
            node_shapes,
            used_inputs: vec![false; def.inputs.len()],
            by_address: ByAddress::of(def.nodes),
        };
        let mut linker = Linker {
            names,
            bodies: self.bodies,
            faces: self.faces,
            shapes: &self.shapes,
            problems: &mut *self.problems,
            slots: Vec::with_capacity(def.nodes.len() * 2),
            delayed: Vec::new(),
            written: Vec::new(),
        };
        let mut outputs = Vec::with_capacity(def.outputs.len());
        for (name, output) in def.outputs {
            let at = def.at().part(Part::Output(name));
            outputs.push(match &output.from {
                _ if output.spot.is_unreadable() => Given::Broken,
                OutputFrom::Link(link) => {
                    linker.names.link(link, output.spot_of_source(), at, linker.problems)
                }
                OutputFrom::Input(name) => {
                    linker.names.input(name, output.spot_of_source(), at, linker.problems)
                }
            });
        }
        let mut first_slot = Vec::with_capacity(def.nodes.len() + 1);
        for (i, (name, node)) in def.nodes.iter().enumerate() {
            if i.is_multiple_of(AHEAD) {
                linker.names.read_links_ahead(def.nodes.values_from(i).take(AHEAD));
            }
            first_slot.push(linker.slots.len() as u32);
            let at = def.at().part(Part::Node(name));
            if !linker.resolve(node, linker.names.node_shapes[i], at) {
                linker.names.node_shapes[i] = NodeShape::Broken;
            }
        }
        first_slot.push(linker.slots.len() as u32);
        let links = Links { slots: linker.slots, first_slot, delayed: linker.delayed };
        (links, outputs, linker.names.used_inputs)
    }

    /// Reports a cycle of nodes, each of which depends on the next.
    fn report_cycle(&mut self, def: &BodyDef<'_>, cycle: &Cycle) {
        let Cycle { nodes: cycle, why, hint } = cycle;
        let node = |i: u32| def.nodes.get_index(i as usize).expect("nodes are counted");
        // Values flow from each node to the one before it, so the cycle is reported in reverse,
        // starting with the first of its nodes in the document.
        let first = cycle.iter().enumerate().min_by_key(|(_, node)| **node).map_or(0, |(i, _)| i);
        let n = cycle.len();
        let round = (0..=n).map(|k| &**node(cycle[(first + n - k % n) % n]).0);
        let path = path(round, n + 1, " -> ");
        let (name, broken) = node(cycle[first]);
        let feeds = node(cycle[(first + 1) % n]).0;
        let is_link = |value: &InputValue| match value {
            InputValue::Link(link) => link.node == *feeds,
            InputValue::Literal(_) | InputValue::Input(_) | InputValue::Several(_) => false,
        };
        let input = broken.inputs.iter().find_map(|(socket, input)| match &input.value {
            InputValue::Several(sources) => {
                let source = sources.iter().find(|source| is_link(&source.value))?;
                Some((socket, source))
            }
            value => is_link(value).then_some((socket, input)),
        });
        let at = def.at().part(Part::Node(name));
        let span = input.map_or(broken.spot, |(_, input)| input.spot).span();
        let at = input.map_or(at, |(socket, _)| socket_at(at, socket));
        let registry = self.shapes.registry();
        let chooses = |node: &Node| text(node, registry).is_some_and(|text| text.contains('?'));
        let hint = if let Some(hint) = *hint {
            hint
        } else if cycle.iter().any(|at| chooses(node(*at).1)) {
            "remove one of these links; `c ? a : b` breaks a cycle if `c` is a truth value, such as \
             `x > 1`, that depends on no node of the cycle; a condition that calls nodes or groups \
             needs a node of its own"
        } else {
            "remove one of these links"
        };
        self.problems.report_cycle(at, span, &CheckError::Cycle { hint, path, why: why.clone() });
    }

    /// Warns about inputs that nothing reads. An input of unknown type may be meant for something
    /// else.
    fn warn_unused(&mut self, def: &BodyDef<'_>, face: &Face, used_inputs: &[bool]) {
        if !self.all_readable {
            return;
        }
        let inputs = def.inputs.iter().zip(&face.inputs).zip(used_inputs);
        for (((name, input), typed), used) in inputs {
            // A value that a repeat carries needs an input, whether or not the rounds read it.
            let may_be_carried = def.is_group && def.outputs.contains_key(name);
            // A closure takes what its interface has.
            let is_closure = def.is_group && self.closures.contains(def.name);
            if !used && typed.is_some() && !may_be_carried && !is_closure {
                let warning = CheckError::UnusedInput { name: name.to_string() };
                self.problems.report(def.at().part(Part::Input(name)), input.spot.span(), &warning);
            }
        }
    }
}

fn checked_outputs(
    typing: &mut Typing<'_, '_>,
    (def, face): (BodyDef<'_>, &Face),
    given: &[Given<'_>],
) -> Vec<BodyOutput> {
    let mut outputs = Vec::with_capacity(given.len());
    for (i, ((name, output), given)) in def.outputs.iter().zip(given).enumerate() {
        let source = match *given {
            Given::Input(input) => Source::Input(input),
            Given::Node { node, output } => Source::Node { node, output },
            Given::Literal(_) | Given::Default | Given::Broken => Source::Wrong,
        };
        let to = face.outputs[i];
        if let (Some(from), Some(to)) = (typing.given_type(*given), to) {
            let at = def.at().part(Part::Output(name));
            let registry = typing.shapes.registry();
            let source_name = || match &output.from {
                OutputFrom::Link(link) => {
                    describe_link(link, output.source_spot, Some(def.nodes), registry)
                }
                OutputFrom::Input(name) => format!("input `{name}`"),
            };
            if !convertible(from, to) {
                let form = typing.shapes.form();
                let error = mismatch((registry, form), source_name(), from, &[to], at.whole());
                typing.problems.report(at, output.spot.span(), &error);
            } else if narrows(from, to) && typing.problems.takes_note() {
                let (source_name, target) = (source_name(), at.whole());
                let form = typing.shapes.form();
                let note = CheckError::Narrowed { form, source_name, from, target, to };
                typing.problems.note(at, output.spot.span(), &note);
            } else if typing.may_be_rounded(*given, from, to) && typing.problems.takes_note() {
                let target = format!("output `{name}`");
                let note = Rounding::Input { source_name: source_name(), target };
                typing.problems.note(at, output.spot.span(), &note);
            }
        }
        outputs.push(BodyOutput {
            name: Arc::clone(name),
            ty: to.unwrap_or(Type::BOOL),
            source: if to.is_some() { source } else { Source::Wrong },
            unit: output.unit.clone(),
            about: output.about.clone(),
            span: output.spot.span(),
        });
    }
    outputs
}

/// The groups that nodes of these bodies make closures of.
fn closures_in<'d>(bodies: &[BodyDef<'d>]) -> FxHashSet<&'d str> {
    let nodes = bodies.iter().flat_map(|body| body.nodes.values());
    let groups = nodes.filter_map(|node| match &node.kind {
        NodeKind::Closure(group) => Some(&**group),
        NodeKind::Type(_) | NodeKind::Group(_) | NodeKind::Zone(..) => None,
    });
    groups.collect()
}

/// Whether a node stores the results of its group as one entry of the memo.
fn is_whole(node: &Node) -> bool {
    let text = |name: &str| node.set.get(name).and_then(|setting| setting.json.as_str());
    matches!(node.kind, NodeKind::Group(_)) && group::is_whole(text)
}

fn finished(
    mut typing: Typing<'_, '_>,
    (def, face): (BodyDef<'_>, &Face),
    outputs: Vec<BodyOutput>,
    found: FineOrder,
) -> Body {
    let mut nodes = Vec::with_capacity(def.nodes.len());
    for (i, (name, node)) in def.nodes.iter().enumerate() {
        let slots = typing.links.of_node(i as u32);
        nodes.push(CheckedNode {
            name: Arc::clone(name),
            kind: typing.kind(i as u32, node.muted),
            span: node.spot.span(),
            first_source: slots.start as u32,
            n_sources: slots.len() as u32,
        });
    }
    let wholes = (0..).zip(def.nodes.values()).filter(|(_, node)| is_whole(node));
    let inputs = def.inputs.iter().zip(&face.inputs);
    let inputs = inputs.map(|((name, def), input)| {
        input.clone().unwrap_or_else(|| BodyInput {
            name: Arc::clone(name),
            ty: Type::BOOL,
            default: None,
            min: None,
            max: None,
            step: None,
            unit: None,
            about: None,
            span: def.spot.span(),
            is_wrong: true,
        })
    });
    Body {
        name: Arc::from(def.name),
        inputs: inputs.collect(),
        outputs,
        n_written: nodes.len(),
        nodes,
        sources: typing.sources,
        literals: typing.literals.into_values(),
        order: found.order,
        conditional: found.conditional,
        wholes: wholes.map(|(i, _)| i).collect(),
        is_wrong: false,
        file: def.file.cloned(),
    }
}
