//! Dependencies output by output.
//!
//! A node that uses a group stands for the nodes in it: an output depends only on the inputs that
//! lead to it. So a cycle through the node is a real one only if the nodes in the group take part
//! in it. The same holds for a node whose type declares which output needs which input. Such a node
//! has several *parts* here: one for each output, and one for the whole node.

mod above;
mod bdd;
mod cases;
mod computed;
mod equal;
mod formulas;
mod in_cases;
mod inline;
mod line;
mod logic;
mod relays;
mod search;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_base::Type;
use millstream_node::{NodeDef, Registry, Settings, Signature, SocketType};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::model::{Document, GroupDef, Input, Link, Named, Node, NodeKind};
use crate::order::{Conditional, Cycle, Order, components, sorted};
use crate::references::{Reference, reference_of, references};
pub(crate) use cases::arm_of;
use cases::is_switch;
use equal::Alike;
use formulas::choosing;
use in_cases::InCases;
pub(crate) use in_cases::MAX_NESTED;
pub(crate) use inline::with_groups_inlined;
use relays::Relays;
pub(crate) use relays::{BodyParts, Firsts};

/// An order of the nodes of a body in which a node with parts may occur several times.
#[derive(Debug)]
pub(crate) struct FineOrder {
    /// The positions of the nodes. At each occurrence of a node, those of its outputs that are
    /// needed before its next occurrence depend only on earlier nodes; at its last occurrence all
    /// of its sources are earlier. The nodes of a conditional cycle are adjacent.
    pub(crate) order: Vec<u32>,
    /// The cycles of nodes, each of which depends on the next one.
    pub(crate) cycles: Vec<Cycle>,
    /// The cycles that switches break.
    pub(crate) conditional: Vec<Conditional>,
}

/// The inputs on which each output of a group depends, as rows of bits.
struct Reach {
    n_words: usize,
    bits: Vec<u64>,
}

impl Reach {
    fn row(&self, at: usize) -> &[u64] {
        &self.bits[at * self.n_words..(at + 1) * self.n_words]
    }
}

/// A node whose outputs depend on only some of its inputs.
enum Divided<'g> {
    /// A node that uses a group.
    Group(&'g GroupDef, &'g Reach),
    /// A node whose type declares which output needs which input.
    Type(Cow<'g, Signature>),
}

impl Divided<'_> {
    fn n_outputs(&self) -> usize {
        match self {
            Self::Group(group, _) => group.outputs.len(),
            Self::Type(signature) => signature.outputs.len(),
        }
    }

    fn output(&self, name: &str) -> Option<usize> {
        match self {
            Self::Group(group, _) => group.outputs.get_index_of(name),
            Self::Type(signature) => signature.output(name),
        }
    }

    /// The sources of a node that lead to an output.
    fn sources_of<'n>(&self, node: &'n Node, output: usize) -> SmallVec<[&'n Input; 8]> {
        match self {
            Self::Group(group, reach) => {
                let inputs = bits(reach.row(output)).filter_map(|at| group.inputs.get_index(at));
                inputs.filter_map(|(name, _)| node.inputs.get(name)).collect()
            }
            Self::Type(signature) => {
                let needed = signature.needed_by(output).into_iter();
                needed.filter_map(|at| node.inputs.get(&signature.inputs[at].name)).collect()
            }
        }
    }
}

/// The sockets of a node of a type; `None` if its settings are wrong.
fn signature_of<'r>(
    registry: &Registry,
    def: &'r NodeDef,
    node: &Node,
) -> Option<Cow<'r, Signature>> {
    match def.fixed_signature() {
        Some(signature) => Some(Cow::Borrowed(signature)),
        None => read_settings(registry, def, node).map(|(_, signature)| signature),
    }
}

/// The settings and sockets of a node of a type; `None` if the settings are wrong.
pub(crate) fn read_settings<'r>(
    registry: &Registry,
    def: &'r NodeDef,
    node: &Node,
) -> Option<(Settings, Cow<'r, Signature>)> {
    let given = node.set.iter().map(|(name, setting)| (&**name, &setting.json));
    let type_named = |name: &str| registry.type_named(name);
    let settings = Settings::read(&def.settings, given, &type_named).ok()?;
    let signature = def.signature(&settings).ok()?;
    Some((settings, signature))
}

/// The sockets of a node whose type declares which output needs which input.
fn declared<'r>(registry: &'r Registry, node: &Node) -> Option<Cow<'r, Signature>> {
    let NodeKind::Type(ty) = &node.kind else { return None };
    let def = registry.get(ty).filter(|def| !node.muted && def.has_callback())?;
    let signature = signature_of(registry, def, node)?;
    signature.outputs.iter().any(|output| output.needs.is_some()).then_some(signature)
}

/// The position and the type of an output that does not need all inputs of its node. They are known
/// before the types of the inputs.
pub fn divided_output(registry: &Registry, node: &Node, name: &str) -> Option<(usize, Type)> {
    let signature = declared(registry, node)?;
    let at = signature.output(name)?;
    let output = &signature.outputs[at];
    match output.needs.map(|_| output.ty) {
        Some(SocketType::Exact(ty)) => Some((at, ty)),
        Some(SocketType::Generic(_) | SocketType::ListOf(_) | SocketType::Made) | None => None,
    }
}

/// Whether a cycle through a node may turn out to be none, output by output or case by case.
pub(crate) fn may_break_cycles(registry: &Registry, node: &Node) -> bool {
    may_be_divided(registry, node) || breaks(registry, node)
}

/// Whether a node is a switch, or a formula that chooses.
fn breaks(registry: &Registry, node: &Node) -> bool {
    is_switch(registry, node) || choosing(registry, node).is_some()
}

/// Whether the outputs of a node may depend on only some of its inputs.
fn may_be_divided(registry: &Registry, node: &Node) -> bool {
    match &node.kind {
        NodeKind::Group(_) => !node.muted,
        NodeKind::Type(_) => declared(registry, node).is_some(),
        NodeKind::Zone(..) | NodeKind::Closure(_) => false,
    }
}

/// The dependencies of the outputs of groups, determined on first use.
pub(crate) struct Grain<'d> {
    document: &'d Document,
    registry: &'d Registry,
    /// By position of the group; `None` while unknown, and for groups that contain themselves.
    reach: FxHashMap<usize, Option<Reach>>,
    /// The groups in cases of cycles, at positions after those of the document.
    in_cases: InCases,
    /// The groups that keep state, directly or in nested groups; `None` until first needed.
    stateful: Option<Arc<FxHashSet<Arc<str>>>>,
    /// Groups with nodes that evaluate an input in another context, once they are asked for.
    scoped: Option<FxHashSet<Arc<str>>>,
    /// The numbers of equal nodes and groups.
    alike: Alike,
    relays: Relays,
}

/// The parts of the nodes of a body. The first part of a node is the whole node.
struct Parts<'n> {
    nodes: &'n Named<Node>,
    /// The first part of each node; one entry past the end.
    first: Vec<u32>,
    /// The node of each part.
    node: Vec<u32>,
    /// The first dependency of each part; one entry past the end.
    first_dependency: Vec<u32>,
    /// The parts on which each part depends.
    dependencies: Vec<u32>,
}

impl Parts<'_> {
    fn sorted(&self) -> Order {
        let range = |part: u32| {
            let first = self.first_dependency[part as usize];
            (first, self.first_dependency[part as usize + 1])
        };
        let count = |part| range(part).1 - range(part).0;
        let nth = |part, k| Some(self.dependencies[(range(part).0 + k) as usize]);
        sorted(self.node.len(), count, nth)
    }

    fn dependencies_of(&self, part: u32) -> &[u32] {
        let first = self.first_dependency[part as usize] as usize;
        &self.dependencies[first..self.first_dependency[part as usize + 1] as usize]
    }

    /// The part that a link reads.
    fn source(&self, grain: &Grain<'_>, link: &Link) -> Option<u32> {
        let at = self.nodes.get_index_of(&link.node)?;
        let (first, n_parts) = (self.first[at], self.first[at + 1] - self.first[at]);
        if n_parts == 1 {
            return Some(first);
        }
        let (_, node) = self.nodes.get_index(at)?;
        Some(first + 1 + grain.divided(node)?.output(&link.output)? as u32)
    }
}

impl<'d> Grain<'d> {
    pub(crate) fn new(document: &'d Document, registry: &'d Registry) -> Self {
        let in_cases = InCases::default();
        Self {
            document,
            registry,
            reach: FxHashMap::default(),
            in_cases,
            stateful: None,
            scoped: None,
            alike: Alike::default(),
            relays: Relays::default(),
        }
    }

    /// The order of the nodes of a body. Cost: linear in nodes and links; plus, for each group on a
    /// cycle, its outputs times its inputs; and for each cycle with switches, the cost of ordering
    /// it, per case and selector.
    pub(crate) fn order(&mut self, body: BodyParts<'_>) -> FineOrder {
        let nodes = body.nodes;
        let found = self.plain_order(nodes);
        let may_break =
            |node: &Node| breaks(self.registry, node) || matches!(node.kind, NodeKind::Group(_));
        if found.cycles.is_empty() || !nodes.values().any(may_break) {
            return found;
        }
        let whole = self.parts(nodes, |_| false);
        let component = components(&whole.sorted().order, |node| whole.dependencies_of(node));
        let mut on_cycles: BTreeMap<u32, (Vec<Cycle>, Vec<u32>)> = BTreeMap::new();
        for cycle in found.cycles {
            on_cycles.entry(component[cycle.nodes[0] as usize]).or_default().0.push(cycle);
        }
        for (node, number) in (0..).zip(&component) {
            if let Some((_, members)) = on_cycles.get_mut(number) {
                members.push(node);
            }
        }
        let (mut cycles, mut conditional) = (Vec::new(), Vec::new());
        for (real, members) in on_cycles.into_values() {
            match self.cases(body, &found.order, members) {
                Ok(found) => conditional.push(found),
                // The cycle exists without any case.
                Err(None) => cycles.extend(real),
                Err(Some(cycle)) => cycles.push(cycle),
            }
        }
        // The numbers of components descend if each comes after those that it depends on.
        let mut order = found.order;
        order.sort_by_key(|node| std::cmp::Reverse(component[*node as usize]));
        FineOrder { order, cycles, conditional }
    }

    /// Like [`Self::order`], with all cycles, whether or not switches break them.
    pub(crate) fn plain_order(&mut self, nodes: &Named<Node>) -> FineOrder {
        let whole = self.parts(nodes, |_| false);
        let order = whole.sorted();
        let divided = divided_on_cycles(&whole, &order, self.registry);
        let always = |nodes: Vec<u32>| Cycle { nodes, why: String::new(), hint: None };
        if !divided.iter().any(|is_divided| *is_divided) {
            let cycles = order.cycles.into_iter().map(always).collect();
            return FineOrder { order: order.order, cycles, conditional: Vec::new() };
        }
        let users = nodes.values().zip(&divided).filter(|(_, is_divided)| **is_divided);
        users.for_each(|(node, _)| self.find_reach(node));
        let parts = self.parts(nodes, |at| divided[at as usize]);
        let Order { order, cycles } = parts.sorted();
        let mut places: Vec<u32> = Vec::with_capacity(order.len());
        for part in order {
            let node = parts.node[part as usize];
            let reads_itself =
                || parts.dependencies_of(part).iter().any(|it| parts.node[*it as usize] == node);
            if places.last() != Some(&node) || reads_itself() {
                places.push(node);
            }
        }
        let cycles = cycles.into_iter().map(|cycle| {
            let mut cycle: Vec<u32> =
                cycle.into_iter().map(|part| parts.node[part as usize]).collect();
            cycle.dedup();
            always(cycle)
        });
        FineOrder { order: places, cycles: cycles.collect(), conditional: Vec::new() }
    }

    /// The parts of the nodes of a body, some of which are divided.
    fn parts<'n>(&self, nodes: &'n Named<Node>, is_divided: impl Fn(u32) -> bool) -> Parts<'n> {
        let mut parts = Parts {
            nodes,
            first: Vec::with_capacity(nodes.len() + 1),
            node: Vec::with_capacity(nodes.len()),
            first_dependency: Vec::with_capacity(nodes.len() + 1),
            dependencies: Vec::with_capacity(nodes.len() * 2),
        };
        for (at, node) in nodes.values().enumerate() {
            parts.first.push(parts.node.len() as u32);
            let divided = is_divided(at as u32).then(|| self.divided(node)).flatten();
            let n_outputs = divided.map_or(0, |divided| divided.n_outputs());
            parts.node.extend(std::iter::repeat_n(at as u32, n_outputs + 1));
        }
        parts.first.push(parts.node.len() as u32);
        for (at, node) in nodes.values().enumerate() {
            for part in 0..parts.first[at + 1] - parts.first[at] {
                parts.first_dependency.push(parts.dependencies.len() as u32);
                for reference in self.sources_of(node, part).into_iter().flat_map(references) {
                    if let Reference::Link(link) = reference
                        && let Some(source) = parts.source(self, link)
                    {
                        parts.dependencies.push(source);
                    }
                }
            }
        }
        parts.first_dependency.push(parts.dependencies.len() as u32);
        parts
    }

    /// The sources that a part of a node depends on: for part 0 those of all sockets, for part k
    /// those that lead to output k - 1.
    fn sources_of<'n>(&self, node: &'n Node, part: u32) -> SmallVec<[&'n Input; 8]> {
        let Some(output) = part.checked_sub(1) else {
            let delayed = delayed(self.registry, node);
            let now = node.inputs.iter().filter(|(name, _)| delayed != Some(&***name));
            return now.map(|(_, input)| input).collect();
        };
        let divided = self.divided(node);
        divided.map(|it| it.sources_of(node, output as usize)).unwrap_or_default()
    }

    /// How the outputs of a node depend on its inputs, if that differs between outputs.
    fn divided(&self, node: &Node) -> Option<Divided<'_>> {
        if let Some(at) = self.group_of(node) {
            return Some(Divided::Group(self.group(at)?, self.reach.get(&at)?.as_ref()?));
        }
        declared(self.registry, node).map(Divided::Type)
    }

    /// The position of the group that a node stands for.
    fn group_of(&self, node: &Node) -> Option<usize> {
        match &node.kind {
            NodeKind::Group(group) if !node.muted => {
                let in_document = self.document.groups.get_index_of(group);
                let n = self.document.groups.len();
                in_document.or_else(|| Some(n + self.in_cases.position(group)?))
            }
            NodeKind::Group(_) | NodeKind::Zone(..) | NodeKind::Closure(_) | NodeKind::Type(_) => {
                None
            }
        }
    }

    /// The group at a position.
    fn group(&self, at: usize) -> Option<&GroupDef> {
        match at.checked_sub(self.document.groups.len()) {
            None => self.document.groups.get_index(at).map(|(_, group)| group),
            Some(at) => self.in_cases.group(at),
        }
    }

    /// The number of an input of a group.
    fn input_of(&self, group: &str, input: &str) -> Option<usize> {
        let node = Node::new(NodeKind::Group(group.into()));
        self.group(self.group_of(&node)?)?.inputs.get_index_of(input)
    }

    /// Determines how the outputs of the group that a node uses depend on its inputs, inner groups
    /// first.
    fn find_reach(&mut self, node: &Node) {
        let mut stack: Vec<usize> = self.group_of(node).into_iter().collect();
        while let Some(at) = stack.last().copied() {
            let Some(def) = self.group(at) else { return };
            if !self.reach.contains_key(&at) {
                let inner = def.nodes.values().filter_map(|node| self.group_of(node));
                let unknown: Vec<usize> =
                    inner.filter(|group| !self.reach.contains_key(group) && *group != at).collect();
                self.reach.insert(at, None);
                if !unknown.is_empty() {
                    stack.extend(unknown);
                    continue;
                }
            }
            stack.pop();
            if self.reach[&at].is_none()
                && let Some(def) = self.group(at)
            {
                let found = self.reach_in(def);
                self.reach.insert(at, Some(found));
            }
        }
    }

    /// How the outputs of a group depend on its inputs.
    fn reach_in(&self, group: &GroupDef) -> Reach {
        let parts = self.parts(&group.nodes, |_| true);
        let n_words = group.inputs.len().div_ceil(64);
        let mut of_parts = vec![0_u64; parts.node.len() * n_words];
        let mut row = vec![0_u64; n_words];
        let Order { mut order, cycles } = parts.sorted();
        // Parts on a cycle, which switches may break, depend on the same inputs.
        let mut row_of: Vec<u32> = (0..parts.node.len() as u32).collect();
        if !cycles.is_empty() {
            row_of = components(&order, |part| parts.dependencies_of(part));
            order.sort_by_key(|part| std::cmp::Reverse(row_of[*part as usize]));
        }
        for part in order {
            let to = row_of[part as usize] as usize * n_words;
            row.copy_from_slice(&of_parts[to..to + n_words]);
            for source in parts.dependencies_of(part) {
                let from = row_of[*source as usize] as usize * n_words;
                let source = &of_parts[from..from + n_words];
                row.iter_mut().zip(source).for_each(|(bits, more)| *bits |= more);
            }
            let at = parts.node[part as usize];
            let (_, node) = group.nodes.get_index(at as usize).expect("parts are of nodes");
            let sources = self.sources_of(node, part - parts.first[at as usize]);
            for reference in sources.into_iter().flat_map(references) {
                if let Reference::Input(name) = reference {
                    set_input(&mut row, &group.inputs, name);
                }
            }
            of_parts[to..to + n_words].copy_from_slice(&row);
        }
        let mut reach = Reach { n_words, bits: vec![0; group.outputs.len() * n_words] };
        for (at, output) in group.outputs.values().enumerate() {
            let row = &mut reach.bits[at * n_words..][..n_words];
            match reference_of(output) {
                Reference::Input(name) => set_input(row, &group.inputs, name),
                Reference::Link(link) => {
                    if let Some(part) = parts.source(self, link) {
                        let from = row_of[part as usize] as usize * n_words;
                        row.copy_from_slice(&of_parts[from..from + n_words]);
                    }
                }
            }
        }
        reach
    }
}

/// The socket of a node whose value is used in later ticks only.
pub fn delayed<'r>(registry: &'r Registry, node: &Node) -> Option<&'r str> {
    match &node.kind {
        NodeKind::Type(ty) if !node.muted => registry.get(ty)?.delayed,
        NodeKind::Type(_) | NodeKind::Group(_) | NodeKind::Zone(..) | NodeKind::Closure(_) => None,
    }
}

fn set_input<T>(row: &mut [u64], inputs: &Named<T>, name: &str) {
    if let Some(at) = inputs.get_index_of(name) {
        row[at / 64] |= 1 << (at % 64);
    }
}

/// The positions of the set bits.
fn bits(row: &[u64]) -> impl Iterator<Item = usize> {
    (0..row.len() * 64).filter(|at| row[at / 64] >> (at % 64) & 1 != 0)
}

/// For each node, whether it can be divided and lies on a cycle of nodes.
fn divided_on_cycles(whole: &Parts<'_>, order: &Order, registry: &Registry) -> Vec<bool> {
    let mut divided = vec![false; whole.node.len()];
    if order.cycles.is_empty() {
        return divided;
    }
    let component = components(&order.order, |node| whole.dependencies_of(node));
    let mut n_nodes = vec![0_u32; component.len()];
    for component in &component {
        n_nodes[*component as usize] += 1;
    }
    for (at, node) in whole.nodes.values().enumerate() {
        let reads_itself = || whole.dependencies_of(at as u32).contains(&(at as u32));
        let is_on_cycle = n_nodes[component[at] as usize] > 1 || reads_itself();
        divided[at] = is_on_cycle && may_be_divided(registry, node);
    }
    divided
}
