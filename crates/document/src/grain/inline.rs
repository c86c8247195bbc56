//! Groups around switches, replaced by their nodes.
//!
//! The cases of a cycle are those of the nodes of one body. If a selector is computed in a group, or
//! by a group, the search sees only that the node uses the group. So if a cycle remains, the nodes
//! of such groups are added to the body. Nodes on the cycle, and nodes that these depend on, then
//! read the added nodes. A node that uses the group stays, for outputs and for readers after the
//! cycle; its nodes merge with the added ones. The node `w` in the group of `g` is added as `g/w`,
//! a name that no author can write.

use std::collections::VecDeque;
use std::sync::Arc;

use millstream_base::Type;
use millstream_base::id::Id;
use millstream_node::Registry;
use millstream_node::convert::CONVERT;
use millstream_node::interface::VALUE;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value as Json;

use super::{BodyParts, Grain, MAX_NESTED, breaks};
use crate::at::is_added;
use crate::checked::{BodyId, Checked, CheckedKind};
use crate::model::{
    Document, GroupDef, Input, InputValue, Link, Named, Node, NodeKind, OutputFrom, Setting,
};
use crate::order::{Cycle, components};
use crate::references::{Reference, each_source, references};

/// The maximum number of added nodes in a document.
const MAX_ADDED: usize = 1 << 12;

/// The document with the nodes of groups in place of the groups, where switches in them may break
/// cycles; `None` if some cycle certainly stays. `checked` tells the types of nodes outside of the
/// cycles.
pub(crate) fn with_groups_inlined(
    document: &Document,
    registry: &Registry,
    checked: &Checked,
) -> Option<Document> {
    // All numbers in a formula of format 1 may have one type, so nodes depend on their group.
    if document.format == 1 {
        return None;
    }
    let mut grain = Grain::new(document, registry);
    let mut made = document.clone();
    let (mut n_added, mut differs) = (0, false);
    let groups = document.groups.values().enumerate();
    let bodies = groups.map(|(at, group)| (Some(at), BodyParts::of_group(group)));
    let root = BodyParts { nodes: &document.nodes, inputs: &document.inputs };
    for (at, body) in bodies.chain([(None, root)]) {
        let uses_groups = |node: &Node| matches!(node.kind, NodeKind::Group(_));
        let is_of_format_1 = at.is_some_and(|at| document.groups[at].is_of_format_1);
        if is_of_format_1 || !body.nodes.values().any(uses_groups) {
            continue;
        }
        let id = at.map_or(checked.root, BodyId::from_index);
        let types = Types { document, checked };
        let Some(nodes) = grain.inlined((body, id), types, &mut n_added)? else { continue };
        differs = true;
        match at {
            Some(at) => made.groups[at].nodes = nodes,
            None => made.nodes = nodes,
        }
    }
    differs.then_some(made)
}

/// The types of the nodes of all bodies, as far as checking determined them.
#[derive(Clone, Copy)]
struct Types<'d> {
    document: &'d Document,
    checked: &'d Checked,
}

impl Types<'_> {
    /// The type of an output of a node of a body.
    fn of(self, id: BodyId, link: &Link) -> Option<Type> {
        let in_group = self.document.groups.get_index(id.index()).map(|(_, group)| &group.nodes);
        let nodes = in_group.filter(|_| id != self.checked.root).unwrap_or(&self.document.nodes);
        let kind = &self.checked.bodies[id].nodes.get(nodes.get_index_of(&link.node)?)?.kind;
        let named = |mut names: &mut dyn Iterator<Item = &Arc<str>>| {
            Iterator::position(&mut names, |name| *name == link.output)
        };
        let output = match kind {
            CheckedKind::Call(instance) => named(&mut instance.output_names.iter()),
            CheckedKind::Group(body) => {
                let outputs = self.checked.bodies[*body].outputs.iter();
                named(&mut outputs.map(|output| &output.name))
            }
            CheckedKind::Zone(zone) => named(&mut zone.outputs.iter().map(|(name, _)| name)),
            CheckedKind::Closure(_) => Some(0),
            CheckedKind::Muted(muted) => {
                named(&mut muted.outputs.iter().map(|output| &output.name))
            }
            CheckedKind::Wrong => None,
        };
        self.checked.output_type(kind, output? as u32)
    }
}

/// A body to which the nodes of groups are added.
struct Inlining<'g, 'd> {
    grain: &'g mut Grain<'d>,
    types: Types<'d>,
    body: (BodyParts<'d>, BodyId),
    nodes: Named<Node>,
    /// The nodes of groups from which nodes come, by name: the body of the group, and their names
    /// there.
    from: FxHashMap<Arc<str>, (BodyId, Arc<str>)>,
    /// The sources of the outputs of replaced nodes.
    outputs: FxHashMap<Link, InputValue>,
    n_added: usize,
}

impl<'d> Grain<'d> {
    /// The nodes of a body with those of groups; `None` inside if there is nothing to add, and
    /// `None` if a cycle certainly stays.
    #[expect(clippy::option_option, reason = "the outer one is for use with `?`")]
    fn inlined(
        &mut self,
        (body, id): (BodyParts<'d>, BodyId),
        types: Types<'d>,
        n_added: &mut usize,
    ) -> Option<Option<Named<Node>>> {
        let found = self.order(body);
        if found.cycles.is_empty() {
            return Some(None);
        }
        let on_cycles = self.on_cycles(body.nodes, &found.cycles);
        let before = nodes_before(body.nodes, &on_cycles);
        let mut inlining = Inlining {
            grain: self,
            types,
            body: (body, id),
            nodes: body.nodes.clone(),
            from: FxHashMap::default(),
            outputs: FxHashMap::default(),
            n_added: *n_added,
        };
        let mut queue: VecDeque<(Arc<str>, bool, usize)> = VecDeque::new();
        for name in on_cycles.iter().chain(&before) {
            queue.push_back((Arc::clone(name), on_cycles.contains(name), 0));
        }
        while let Some((name, is_on_cycle, depth)) = queue.pop_front() {
            let node = inlining.nodes[&*name].clone();
            let inner = inlining.replace(&name, &node, (is_on_cycle, depth));
            queue.extend(inner.into_iter().map(|name| (name, is_on_cycle, depth + 1)));
        }
        if inlining.outputs.is_empty() {
            return Some(None);
        }
        inlining.relink(on_cycles.iter().chain(&before).cloned());
        let (nodes, n) = (inlining.nodes, inlining.n_added);
        *n_added = n;
        let left = self.order(BodyParts { nodes: &nodes, inputs: body.inputs });
        // The cycle is told in the words of its author if no switch takes part in it.
        (left.cycles.iter().all(|cycle| !cycle.why.is_empty())).then_some(Some(nodes))
    }

    /// The nodes that depend on each other like those of some cycles.
    fn on_cycles(&self, nodes: &Named<Node>, cycles: &[Cycle]) -> Vec<Arc<str>> {
        let whole = self.parts(nodes, |_| false);
        let component = components(&whole.sorted().order, |node| whole.dependencies_of(node));
        let cyclic: FxHashSet<u32> =
            cycles.iter().map(|cycle| component[cycle.nodes[0] as usize]).collect();
        let names = nodes.keys().zip(&component);
        names.filter(|(_, number)| cyclic.contains(number)).map(|it| Arc::clone(it.0)).collect()
    }

    /// Whether a switch in a group, or in a nested one, may break a cycle.
    fn has_breaking(&self, group: &GroupDef, depth: usize) -> bool {
        depth < MAX_NESTED
            && group.nodes.values().any(|node| {
                let inner = || match &node.kind {
                    NodeKind::Group(name) => self.document.groups.get(name),
                    NodeKind::Type(_) | NodeKind::Zone(..) | NodeKind::Closure(_) => None,
                };
                breaks(self.registry, node)
                    || inner().is_some_and(|inner| self.has_breaking(inner, depth + 1))
            })
    }
}

/// The nodes that others read, directly or through others, in the order of their discovery.
fn nodes_before(nodes: &Named<Node>, of: &[Arc<str>]) -> Vec<Arc<str>> {
    let mut seen: FxHashSet<Arc<str>> = of.iter().cloned().collect();
    let (mut found, mut stack) = (Vec::new(), of.to_vec());
    while let Some(name) = stack.pop() {
        let Some(node) = nodes.get(&name) else { continue };
        for reference in node.inputs.iter().flat_map(|(_, input)| references(input)) {
            if let Reference::Link(link) = reference
                && nodes.contains_key(&link.node)
                && seen.insert(Arc::clone(&link.node))
            {
                found.push(Arc::clone(&link.node));
                stack.push(Arc::clone(&link.node));
            }
        }
    }
    found
}

impl Inlining<'_, '_> {
    /// Adds the nodes of the group that a node uses, if they matter to cycles; returns their names.
    fn replace(
        &mut self,
        name: &Arc<str>,
        node: &Node,
        (is_on_cycle, depth): (bool, usize),
    ) -> Vec<Arc<str>> {
        let NodeKind::Group(group) = &node.kind else { return Vec::new() };
        let document = self.grain.document;
        let Some((at, def)) = document.groups.get_index_of(group).zip(document.groups.get(group))
        else {
            return Vec::new();
        };
        let selects = |ty: &str| ty == Type::BOOL.name() || ty == Type::I32.name();
        let matters = def.outputs.values().any(|output| selects(&output.ty))
            || is_on_cycle && self.grain.has_breaking(def, 0);
        let is_replaced = matters
            && !node.muted
            && !def.is_of_format_1
            && depth < MAX_NESTED
            && self.n_added + def.nodes.len() <= MAX_ADDED
            && !self.grain.stateful_groups().contains(group);
        let Some(inputs) = is_replaced.then(|| self.inputs_of(name, node, def)).flatten() else {
            return Vec::new();
        };
        let inside = |inner: &str| Arc::<str>::from(format!("{name}/{inner}"));
        let id = BodyId::from_index(at);
        let mut names = Vec::with_capacity(def.nodes.len());
        for (inner, written) in &def.nodes {
            let mut added = written.clone();
            if def.file.is_some() {
                added.spot = node.spot;
            }
            let sockets: Vec<Arc<str>> = added.inputs.iter().map(|it| Arc::clone(it.0)).collect();
            for socket in sockets {
                let input = added.inputs.get_mut(&socket).expect("it is an input");
                let is_right = lead_outside(input, &inside, &inputs);
                if def.file.is_some() {
                    each_source(input, |source| source.spot = node.spot);
                }
                if !is_right {
                    added.inputs.remove(&socket);
                }
            }
            self.from.insert(inside(inner), (id, Arc::clone(inner)));
            self.add(inside(inner), added);
            names.push(inside(inner));
        }
        for (output, made) in &def.outputs {
            let source = match &made.from {
                OutputFrom::Link(link) => {
                    let (node, output) = (inside(&link.node), Arc::clone(&link.output));
                    Some(InputValue::Link(Link { node, output }))
                }
                OutputFrom::Input(input) => inputs.get(input).cloned(),
            };
            let ty = self.grain.registry.type_named(&made.ty);
            if let Some((source, ty)) = source.zip(ty) {
                let label = format!("{name}/output {output}");
                let source = self.converted(label, source, ty);
                let link = Link { node: Arc::clone(name), output: Arc::clone(output) };
                self.outputs.insert(link, source);
            }
        }
        names
    }

    /// The sources of the inputs of the group that a node uses, as values of their types; `None` if
    /// they cannot be written so.
    fn inputs_of(
        &mut self,
        name: &str,
        node: &Node,
        group: &GroupDef,
    ) -> Option<FxHashMap<Arc<str>, InputValue>> {
        let is_single = |(_, input): (_, &Input)| !matches!(input.value, InputValue::Several(_));
        if !node.inputs.iter().all(is_single) {
            return None;
        }
        let mut inputs = FxHashMap::default();
        for (input, def) in &group.inputs {
            let ty = self.grain.registry.type_named(&def.ty)?;
            let given = node.inputs.get(input).map(|given| given.value.clone());
            let default = || Some(InputValue::Literal(Box::new(def.default.clone()?)));
            let source = self.resolved(given.or_else(default)?);
            let source = self.converted(format!("{name}/input {input}"), source, ty);
            inputs.insert(Arc::clone(input), source);
        }
        Some(inputs)
    }

    /// A source as a value of a type, which a new node of this name gives if necessary.
    fn converted(&mut self, name: String, source: InputValue, ty: Type) -> InputValue {
        let is_one = match &source {
            InputValue::Literal(json) => ty == Type::BOOL && json.is_boolean(),
            InputValue::Input(_) | InputValue::Link(_) => self.type_of(&source) == Some(ty),
            InputValue::Several(_) => false,
        };
        if is_one {
            return source;
        }
        let mut node = Node::new(NodeKind::Type(CONVERT.into()));
        node.set.insert("to", Setting::from(Json::from(ty.name())));
        node.inputs.insert("x", Input::from(source));
        let node_name: Arc<str> = name.into();
        self.add(Arc::clone(&node_name), node);
        InputValue::Link(Link { node: node_name, output: VALUE.into() })
    }

    fn add(&mut self, name: Arc<str>, node: Node) {
        self.nodes.insert(name, node);
        self.n_added += 1;
    }

    /// The type of a source, if it is known before the types of the cycle are.
    fn type_of(&self, source: &InputValue) -> Option<Type> {
        let (body, id) = self.body;
        match source {
            InputValue::Input(name) => self.grain.registry.type_named(&body.inputs.get(name)?.ty),
            InputValue::Link(link) => match self.from.get(&link.node) {
                Some((id, node)) => {
                    let (node, output) = (Arc::clone(node), Arc::clone(&link.output));
                    self.types.of(*id, &Link { node, output })
                }
                None => self.types.of(id, link),
            },
            InputValue::Literal(_) | InputValue::Several(_) => None,
        }
    }

    /// The source that stands for the output of a replaced node.
    fn resolved(&self, mut source: InputValue) -> InputValue {
        for _ in 0..=self.outputs.len() {
            let InputValue::Link(link) = &source else { break };
            let Some(inner) = self.outputs.get(link) else { break };
            source = inner.clone();
        }
        source
    }

    /// Makes these nodes, and all added ones, read the added nodes.
    fn relink(&mut self, written: impl Iterator<Item = Arc<str>>) {
        let added = self.nodes.keys().filter(|name| is_added(name)).cloned();
        let names: Vec<Arc<str>> = added.chain(written).collect();
        for name in names {
            let mut inputs = self.nodes[&*name].inputs.clone();
            for input in inputs.values_mut() {
                each_source(input, |source| source.value = self.resolved(source.value.clone()));
            }
            self.nodes.get_mut(&name).expect("it is a node").inputs = inputs;
        }
    }
}

/// Makes a source in a group one outside of it; false if it has none there.
fn lead_outside(
    input: &mut Input,
    inside: &impl Fn(&str) -> Arc<str>,
    inputs: &FxHashMap<Arc<str>, InputValue>,
) -> bool {
    let mut is_right = true;
    each_source(input, |source| match &mut source.value {
        InputValue::Link(link) => link.node = inside(&link.node),
        InputValue::Input(name) => match inputs.get(name) {
            Some(given) => source.value = given.clone(),
            None => is_right = false,
        },
        InputValue::Literal(_) | InputValue::Several(_) => {}
    });
    is_right
}
