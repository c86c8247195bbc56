//! Finds the groups that are written as the blocks of their zones.
//!
//! A group is one if only a zone uses it and gives all its inputs in order, and the group is at the
//! position among the document's groups where reading would put it. For a zone of the document
//! itself, the groups before it may be written above its statement.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use millstream_document::model::{
    Document, GroupDef, Input, InputDef, InputValue, Named, Node, NodeKind, OutputFrom,
};
use millstream_node::Zone;
use serde_json::Value as Json;

use super::own_groups;
use crate::comments::{Part, Placed};
use crate::tree::MAX_BLOCKS;

/// The groups that are written as blocks.
#[derive(Default)]
pub(super) struct Blocks<'d> {
    groups: HashSet<&'d str>,
    /// The blocks above whose statements other groups are written, with the number of groups that
    /// are written before the block.
    n_above: HashMap<&'d str, usize>,
}

impl<'d> Blocks<'d> {
    pub(super) fn of(document: &'d Document, placed: &Placed<'d>) -> Self {
        let own = |(at, (name, def)): (usize, (&'d Arc<str>, &'d GroupDef))| {
            let position = document.groups.get_index_of(name).expect("the group exists") as u32;
            (&**name, OwnGroup { at, position, def })
        };
        let all: Vec<(&str, OwnGroup<'d>)> = own_groups(document).enumerate().map(own).collect();
        let groups: HashMap<&str, OwnGroup<'d>> = all.iter().copied().collect();
        if groups.is_empty() {
            return Self::default();
        }
        let bodies = || {
            let of_groups = groups.values().map(|group| &group.def.nodes);
            std::iter::once(&document.nodes).chain(of_groups)
        };
        let mut n_uses: HashMap<&str, u32> = HashMap::new();
        let mut has_zone = false;
        for node in bodies().flat_map(Named::values) {
            if let NodeKind::Group(name) | NodeKind::Zone(_, name) = &node.kind {
                *n_uses.entry(name).or_default() += 1;
                has_zone |= matches!(node.kind, NodeKind::Zone(..));
            }
        }
        let of_zones = document.nodes.values().filter_map(|node| match &node.kind {
            NodeKind::Zone(_, name) => Some(&**name),
            _ => None,
        });
        let of_zones = of_zones.collect();
        let mut plan = Plan {
            all,
            groups,
            n_uses,
            of_zones,
            placed,
            n_written: 0,
            around: Vec::new(),
            blocks: Self::default(),
        };
        if has_zone {
            plan.body(&document.inputs, &document.nodes, true);
            plan.write_until(plan.all.len());
        }
        plan.blocks
    }

    pub(super) fn contains(&self, group: &str) -> bool {
        self.groups.contains(group)
    }

    /// The number of groups that are written before a block, if some are written above its
    /// statement for it.
    pub(super) fn n_above(&self, block: &str) -> Option<usize> {
        self.n_above.get(block).copied()
    }

    /// The group of a node that is written as its block.
    pub(super) fn of_node(&self, node: &'d Node) -> Option<(Zone, &'d Arc<str>)> {
        match &node.kind {
            NodeKind::Zone(zone, group) if self.contains(group) => Some((*zone, group)),
            _ => None,
        }
    }
}

/// A group that is written.
#[derive(Clone, Copy)]
struct OwnGroup<'d> {
    /// Its position among those.
    at: usize,
    /// Its position among all groups.
    position: u32,
    def: &'d GroupDef,
}

struct Plan<'d, 'p> {
    all: Vec<(&'d str, OwnGroup<'d>)>,
    groups: HashMap<&'d str, OwnGroup<'d>>,
    n_uses: HashMap<&'d str, u32>,
    /// The groups that zones of the document itself use.
    of_zones: HashSet<&'d str>,
    placed: &'p Placed<'d>,
    /// The number of groups that were written before.
    n_written: usize,
    /// The bodies around the current one.
    around: Vec<(&'d Named<InputDef>, &'d Named<Node>)>,
    blocks: Blocks<'d>,
}

impl<'d> Plan<'d, '_> {
    /// Writes groups that are no blocks, until this many groups are written.
    fn write_until(&mut self, n: usize) {
        let around = std::mem::take(&mut self.around);
        while self.n_written < n {
            let (_, group) = self.all[self.n_written];
            self.n_written += 1;
            self.body(&group.def.inputs, &group.def.nodes, false);
        }
        self.around = around;
    }

    /// Whether the groups before one can be written above its block: none could be the block of
    /// another zone of the document.
    fn fits_above(&self, group: OwnGroup<'d>) -> bool {
        let before = self.all.get(self.n_written..group.at);
        let may_be_block = |name: &str| self.of_zones.contains(name) && self.n_uses[name] == 1;
        before.is_some_and(|before| !before.iter().any(|(name, _)| may_be_block(name)))
    }

    /// Finds the blocks in a body, that of the document or of a group; each holds others.
    fn body(&mut self, inputs: &'d Named<InputDef>, nodes: &'d Named<Node>, is_document: bool) {
        if self.around.len() == MAX_BLOCKS {
            return;
        }
        self.around.push((inputs, nodes));
        for node in nodes.values() {
            let NodeKind::Zone(zone, name) = &node.kind else { continue };
            let Some(group) = self.groups.get(&**name).copied() else { continue };
            let is_next = group.at == self.n_written;
            let fits = (is_next || is_document && self.fits_above(group))
                && self.n_uses.get(&**name) == Some(&1)
                && node.version == 1
                && !name.is_empty()
                && gives_all(*zone, node, group.def)
                && !self.placed.has(Part::Group(group.position))
                && !self.links_around(group.def);
            if fits {
                if !is_next {
                    self.write_until(group.at);
                    self.blocks.n_above.insert(name, group.at);
                }
                self.n_written += 1;
                self.blocks.groups.insert(name);
                self.body(&group.def.inputs, &group.def.nodes, false);
            }
        }
        self.around.pop();
    }

    /// Whether a group has links to names that exist around it but not inside; a block has none.
    fn links_around(&self, group: &GroupDef) -> bool {
        let of_nodes = group.nodes.values().flat_map(|node| node.inputs.iter());
        let sources = of_nodes.flat_map(|(_, input)| input.sources());
        let of_nodes = sources.filter_map(|source| match &source.value {
            InputValue::Link(link) => Some(link),
            _ => None,
        });
        let of_outputs = group.outputs.values().filter_map(|output| match &output.from {
            OutputFrom::Link(link) => Some(link),
            OutputFrom::Input(_) => None,
        });
        let mut links = of_nodes.chain(of_outputs);
        links.any(|link| {
            let name = &*link.node;
            !group.nodes.contains_key(name)
                && self
                    .around
                    .iter()
                    .any(|(inputs, nodes)| inputs.contains_key(name) || nodes.contains_key(name))
        })
    }
}

/// Whether a node gives all inputs of its group in their order, and otherwise only those of the
/// zone.
fn gives_all(zone: Zone, node: &Node, group: &GroupDef) -> bool {
    let is_own = |name: &str| zone.own_inputs().iter().any(|own| own.name == name);
    let mut wanted = group.inputs.iter();
    let in_order = node.inputs.iter().all(|(name, _)| {
        if group.inputs.contains_key(name) {
            wanted.next().is_some_and(|(next, def)| *next == *name && def.default.is_none())
        } else {
            is_own(name)
        }
    });
    in_order && wanted.next().is_none()
}

/// The inputs with items, which the first setting of a zone names, if they are in the order of the
/// inputs.
pub(super) fn items<'d>(zone: Zone, node: &'d Node) -> Option<HashSet<&'d str>> {
    let (name, setting) = node.set.iter().next().filter(|_| zone == Zone::ForEach)?;
    let Json::Array(items) = &setting.json else { return None };
    if **name != *"items" || items.is_empty() {
        return None;
    }
    let mut inputs = node.inputs.iter();
    let found: Option<HashSet<&'d str>> = items
        .iter()
        .map(|item| {
            let found: Option<(&'d Arc<str>, &'d Input)> =
                inputs.find(|(name, _)| item.as_str() == Some(&***name));
            found.map(|(name, _)| &**name)
        })
        .collect();
    found
}
