//! The meaning of names in a body: its inputs, and the outputs of its nodes.

use std::sync::Arc;

use millstream_base::pages::room_in_huge_pages;
use millstream_base::read_ahead;
use millstream_node::interface::{CLOSURE, VALUE};

use super::error::CheckError;
use super::face::{BodyDef, Face};
use super::links::{Given, Names};
use super::shapes::{NodeShape, Shapes};
use super::spots::{as_call, nested};
use crate::at::{At, Part};
use crate::formula_calls::text;
use crate::model::{Entry, Input, InputValue, Link, Named, Node};
use crate::problems::{Problems, listed, shortened};
use crate::spot::Spot;

/// The names of one body.
pub(super) struct BodyNames<'d, 'c> {
    pub(super) body: BodyDef<'d>,
    /// The face of the body itself.
    pub(super) face: &'c Face,
    pub(super) bodies: &'c [BodyDef<'d>],
    pub(super) shapes: &'c Shapes<'c>,
    /// Set to broken for a node with too many sources.
    pub(super) node_shapes: &'c mut [NodeShape],
    /// Whether something reads each input of the body.
    pub(super) used_inputs: Vec<bool>,
    pub(super) by_address: ByAddress,
}

/// The nodes of a body by the address of their name. Loading shares the names of nodes with the
/// links to them, so most links find their node without comparing strings.
pub(super) struct ByAddress {
    /// The distance of an address from the lowest one, in units of the alignment, and its node. At
    /// most half of the entries are in use; names too far away are left out.
    entries: Vec<(u32, u32)>,
    lowest: usize,
}

const FREE: u32 = u32::MAX;

impl ByAddress {
    pub(super) fn of(nodes: &Named<Node>) -> Self {
        let n = (2 * nodes.len()).next_power_of_two().max(2);
        let mut entries = room_in_huge_pages(n);
        entries.resize(n, (FREE, 0));
        let lowest = nodes.keys().map(Self::address).min().unwrap_or(0);
        let mut by_address = Self { entries, lowest };
        for (node, name) in nodes.keys().enumerate() {
            if let Some(distance) = by_address.distance(name) {
                let at = by_address.place(distance);
                by_address.entries[at] = (distance, node as u32);
            }
        }
        by_address
    }

    fn address(name: &Arc<str>) -> usize {
        Arc::as_ptr(name).cast::<u8>().addr()
    }

    fn distance(&self, name: &Arc<str>) -> Option<u32> {
        let bytes = Self::address(name).checked_sub(self.lowest)?;
        u32::try_from(bytes / align_of::<usize>()).ok().filter(|distance| *distance != FREE)
    }

    /// The entry of a distance, or the free entry for it.
    #[inline]
    fn place(&self, distance: u32) -> usize {
        let mixed = u64::from(distance).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut at = (mixed >> (u64::BITS - self.entries.len().trailing_zeros())) as usize;
        while ![FREE, distance].contains(&self.entries[at].0) {
            at = (at + 1) & (self.entries.len() - 1);
        }
        at
    }

    #[inline]
    fn get(&self, name: &Arc<str>) -> Option<usize> {
        let (known, node) = self.entries[self.place(self.distance(name)?)];
        (known != FREE).then_some(node as usize)
    }
}

impl BodyNames<'_, '_> {
    /// Prefetches the shapes of the nodes that some nodes are linked to. Otherwise, checking a
    /// large body spends most of its time waiting for memory.
    pub(super) fn read_links_ahead<'n>(&self, nodes: impl Iterator<Item = &'n Node>) {
        read_ahead(nodes.flat_map(|node| node.inputs.iter()).map(|(_, input)| {
            let InputValue::Link(link) = &input.value else { return None };
            self.by_address.get(&link.node).map(|node| self.node_shapes[node])
        }));
    }
}

impl BodyNames<'_, '_> {
    /// Whether a part is a node with a formula, or one of its sockets.
    fn is_formula(&self, at: At<'_>) -> bool {
        let (Part::Node(node) | Part::Socket(node, _)) = at.part else { return false };
        let node = self.body.nodes.get(node);
        node.is_some_and(|node| text(node, self.shapes.registry()).is_some())
    }
}

impl<'d> Names<'d> for BodyNames<'d, '_> {
    fn input(
        &mut self,
        name: &'d Arc<str>,
        spot: Spot,
        at: At<'_>,
        problems: &mut Problems,
    ) -> Given<'d> {
        if let Some(input) = self.body.inputs.get_index_of(name) {
            self.used_inputs[input] = true;
            return match self.face.inputs[input] {
                Some(_) => Given::Input(input as u32),
                None => Given::Broken,
            };
        }
        if self.body.lacks(Entry::Inputs) {
            problems.note_wrong(at);
            return Given::Broken;
        }
        let whole = self.body.at().whole();
        let hint = if self.body.nodes.contains_key(name) {
            let name = shortened(name);
            let json = format!("{{ \"from\": \"{name}.value\" }}");
            let written = self.shapes.form().of(json, format!("`node {name}.value`"));
            format!("write a link to a node as {written}")
        } else {
            let known = self.body.inputs.keys().map(|name| &**name);
            let all = || match listed(known.clone()) {
                names if names.is_empty() => format!("{whole} has no inputs"),
                names => format!("inputs: {names}"),
            };
            problems.suggest(name, known.clone(), all)
        };
        let error = CheckError::UnknownGraphInput { whole, name: shortened(name), hint };
        problems.report(at, spot.span(), &error);
        Given::Broken
    }

    fn link(
        &mut self,
        link: &'d Link,
        spot: Spot,
        at: At<'_>,
        problems: &mut Problems,
    ) -> Given<'d> {
        let known = self.by_address.get(&link.node);
        let Some(node) = known.or_else(|| self.body.nodes.get_index_of(&link.node)) else {
            if self.body.lacks(Entry::Nodes) {
                problems.note_wrong(at);
                return Given::Broken;
            }
            let hint = if self.body.inputs.contains_key(&link.node) {
                let json = format!("{{ \"input\": \"{}\" }}", link.node);
                let written = self.shapes.form().of(json, format!("`input {}`", link.node));
                format!("write a link to an input as {written}")
            } else {
                let written = self.body.nodes.iter().filter(|(_, node)| node.part().is_none());
                let known = written.map(|(name, _)| &**name);
                problems.suggest(&link.node, known, || "add the node or change the link".into())
            };
            let name = shortened(&link.node);
            let error = CheckError::UnknownNode { link: shortened(&link.to_string()), name, hint };
            problems.report(at, spot.span(), &error);
            return Given::Broken;
        };
        let output = match self.node_shapes[node] {
            NodeShape::Def(shape) => {
                let shape = self.shapes.get(shape);
                let output = shape.signature.output(&link.output);
                output.ok_or_else(|| {
                    let known = shape.signature.outputs.iter().map(|output| &*output.name);
                    (shape.def.name.to_string(), known.map(Arc::from).collect::<Vec<Arc<str>>>())
                })
            }
            NodeShape::Group(group) => {
                let body = self.bodies[group as usize];
                let output = body.outputs.get_index_of(&link.output);
                output.ok_or_else(|| (body.name.to_owned(), body.outputs.keys().cloned().collect()))
            }
            NodeShape::Zone(zone) => {
                let shape = self.shapes.zone(zone);
                let body = self.bodies[shape.group as usize];
                let zone = shape.course.mode.zone();
                let own = zone.outputs_after(|name| body.outputs.contains_key(name));
                let own = own.map(|told| told.name().into());
                let known: Vec<Arc<str>> = body.outputs.keys().cloned().chain(own).collect();
                let output = known.iter().position(|name| *name == link.output);
                output.ok_or_else(|| (body.name.to_owned(), known))
            }
            NodeShape::Closure(_) if *link.output == *VALUE => Ok(0),
            NodeShape::Closure(_) => Err((CLOSURE.to_owned(), vec![VALUE.into()])),
            NodeShape::Call | NodeShape::Broken => return Given::Broken,
        };
        match output {
            Ok(output) => Given::Node { node: node as u32, output: output as u32 },
            Err((node_type, known)) => {
                let known = known.iter().map(|name| &**name);
                let all = || match listed(known.clone()) {
                    names if names.is_empty() => "it has no outputs".into(),
                    names => format!("outputs: {names}"),
                };
                let hint = problems.suggest(&link.output, known.clone(), all);
                let name = shortened(&link.output);
                let registry = self.shapes.registry();
                let (link, at) = match nested(link, spot, self.body.nodes) {
                    // Nobody wrote the letters that stand for calls in formulas.
                    Some(node) if self.is_formula(at) => (as_call(node, registry), at.of_node()),
                    Some(node) => (as_call(node, registry), at),
                    None => (shortened(&link.to_string()), at),
                };
                let error = CheckError::UnknownOutput { link, node_type, name, hint };
                problems.report(at, spot.span(), &error);
                Given::Broken
            }
        }
    }

    fn mark_used(&mut self, input: &Input) {
        match &input.value {
            InputValue::Input(name) => {
                if let Some(input) = self.body.inputs.get_index_of(name) {
                    self.used_inputs[input] = true;
                }
            }
            InputValue::Several(inputs) => inputs.iter().for_each(|input| self.mark_used(input)),
            InputValue::Literal(_) | InputValue::Link(_) => {}
        }
    }
}
