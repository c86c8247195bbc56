//! Stateful nodes inside scopes: their state is read by element.
//!
//! Lowering splits stateful nodes, so that their state comes in as inputs of the graph and goes out
//! as outputs. That suffices for a node with one context per tick. A node that a scope evaluates in
//! another context, and that needs the changed features, has a state for each element of the
//! surrounding scopes: a reader ([`kept`]) replaces its inputs. The reader has the needs of the
//! next state, so both are evaluated in the same contexts. A node that needs nothing that a scope
//! changes still has one context.
//!
//! The next state may depend on nodes that read the state. So needs, and the features that scopes
//! change, are propagated to a fixed point.
//!
//! Scopes count only where an output leads through them. Which outputs do is recorded for each such
//! node ([`Graph::scoped_by`]): for a request without these outputs, the node has one context.

use std::collections::VecDeque;
use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::feature::TooManyNeeds;
use millstream_base::id::SideTable;
use millstream_base::{FeatureSet, Need, NeedTable, Type};
use millstream_ir::states::is_state;
use millstream_ir::{Graph, NodeId, Op, Paths, Source};
use millstream_node::state::STARTED;
use millstream_node::{Registry, ScopeRule, element_state};
use rustc_hash::FxHashMap;

use crate::analyses::{Excess, NeedFlow, users};
use crate::schedule::too_many;

/// A stateful node as lowering left it.
#[derive(Default)]
pub(crate) struct StateNode {
    /// The nodes through which its state comes in, with their names.
    pub(crate) inputs: Vec<(Arc<str>, NodeId)>,
    /// The nodes that compute its next state.
    pub(crate) next: Vec<NodeId>,
    /// The outputs for which it has a state for each element of the surrounding scopes.
    scoped_by: Vec<Arc<str>>,
}

/// Gives nodes that scopes evaluate in several contexts a state for each element.
///
/// # Errors
/// If the graph uses too many features and levels.
pub(crate) fn resolve(graph: &mut Graph, registry: &Registry) -> Result<(), Diagnostics> {
    let changes = |rule: &ScopeRule| !matches!(rule, ScopeRule::Along { .. });
    let has_scopes = graph
        .instances()
        .as_slice()
        .iter()
        .any(|instance| instance.inputs.iter().any(|slot| slot.scope.iter().any(changes)));
    if !has_scopes || !graph.inputs().as_slice().iter().any(|input| is_state(&input.name)) {
        return Ok(());
    }
    let mut stateful = state_nodes(graph);
    let (flow, needs) = needs(graph, &stateful).map_err(|excess| too_many(graph, &excess))?;
    let inputs_of =
        places(graph, &stateful, |it| it.inputs.iter().map(|(_, node)| *node).collect());
    for output in graph.outputs.iter().filter(|output| !is_state(&output.name)) {
        let root = output.source.node;
        let changed = changed(graph, (&stateful, &inputs_of), &flow.table, root);
        for it in &mut stateful {
            let mut inputs = it.inputs.iter();
            if inputs.any(|(_, node)| !needs[*node].intersect(changed[*node]).is_empty()) {
                it.scoped_by.push(Arc::clone(&output.name));
            }
        }
    }
    stateful.retain(|it| !it.scoped_by.is_empty());
    if !stateful.is_empty() {
        read_by_element(graph, registry, &stateful, |node| {
            flow.table.of(needs[node]).cloned().collect()
        });
    }
    Ok(())
}

/// The stateful nodes.
pub(crate) fn state_nodes(graph: &Graph) -> Vec<StateNode> {
    let mut stateful: Vec<StateNode> = Vec::new();
    let mut by_path: FxHashMap<&str, usize> = FxHashMap::default();
    for id in graph.ids() {
        let Op::Input(input) = graph.op(id) else { continue };
        let Some((path, name)) = graph.inputs()[input].name.rsplit_once('.') else { continue };
        let at = *by_path.entry(path).or_insert_with(|| {
            stateful.push(StateNode::default());
            stateful.len() - 1
        });
        stateful[at].inputs.push((name.into(), id));
    }
    for output in &graph.outputs {
        let Some((path, _)) = output.name.rsplit_once('.') else { continue };
        if let Some(at) = by_path.get(path) {
            stateful[*at].next.push(output.source.node);
        }
    }
    stateful
}

/// A worklist that holds each node at most once.
struct Waiting {
    nodes: VecDeque<NodeId>,
    waits: SideTable<NodeId, bool>,
}

impl Waiting {
    fn new(graph: &Graph, nodes: impl Iterator<Item = NodeId>) -> Self {
        let nodes: VecDeque<NodeId> = nodes.collect();
        let mut waits = SideTable::new(graph.n_ids(), false);
        for node in &nodes {
            waits[*node] = true;
        }
        Self { nodes, waits }
    }

    fn next(&mut self) -> Option<NodeId> {
        let node = self.nodes.pop_front()?;
        self.waits[node] = false;
        Some(node)
    }

    fn add(&mut self, node: NodeId) {
        if !std::mem::replace(&mut self.waits[node], true) {
            self.nodes.push_back(node);
        }
    }
}

/// For each node, the positions of the stateful nodes that it belongs to.
pub(crate) fn places<'k>(
    graph: &Graph,
    stateful: &'k [StateNode],
    of: impl Fn(&'k StateNode) -> Vec<NodeId>,
) -> SideTable<NodeId, Vec<u32>> {
    let mut places = SideTable::new(graph.n_ids(), Vec::new());
    for (i, it) in stateful.iter().enumerate() {
        for node in of(it) {
            if places[node].last() != Some(&(i as u32)) {
                places[node].push(i as u32);
            }
        }
    }
    places
}

/// The needs of each node; the needs of state are those of its next value.
fn needs(
    graph: &Graph,
    stateful: &[StateNode],
) -> Result<(NeedFlow, SideTable<NodeId, FeatureSet>), Excess> {
    let mut flow = NeedFlow::default();
    let mut of = SideTable::new(graph.n_ids(), FeatureSet::NONE);
    let users = users(graph);
    let next_of = places(graph, stateful, |it| it.next.clone());
    let mut waiting = Waiting::new(graph, graph.ids());
    let (mut grow, mut excess) = (Vec::new(), Vec::new());
    while let Some(id) = waiting.next() {
        let Op::Call(instance) = graph.op(id) else { continue };
        let inside = graph.inputs_of(id).iter().map(|link| of[link.node]);
        match flow.needs_of_call(graph.instances(), instance, inside) {
            Ok(needs) => grow.push((id, needs)),
            Err(TooManyNeeds) => excess.push(id),
        }
        while let Some((node, more)) = grow.pop() {
            let grown = of[node].union(more);
            if grown == of[node] {
                continue;
            }
            of[node] = grown;
            users.of(node).iter().for_each(|user| waiting.add(*user));
            for it in &next_of[node] {
                let inputs = stateful[*it as usize].inputs.iter();
                grow.extend(inputs.map(|(_, input)| (*input, grown)));
            }
        }
    }
    if excess.is_empty() { Ok((flow, of)) } else { Err(Excess(excess)) }
}

/// For each node, the needs that some scope changes between it and an output, directly or through
/// state.
fn changed(
    graph: &Graph,
    (stateful, inputs_of): (&[StateNode], &SideTable<NodeId, Vec<u32>>),
    table: &NeedTable,
    output: NodeId,
) -> SideTable<NodeId, FeatureSet> {
    let mut changed = SideTable::new(graph.n_ids(), FeatureSet::NONE);
    let mut is_read = SideTable::new(graph.n_ids(), false);
    let mut waiting = Waiting::new(graph, std::iter::once(output));
    while let Some(id) = waiting.next() {
        let here = changed[id];
        is_read[id] = true;
        let mut reach = |waiting: &mut Waiting, node: NodeId, more: FeatureSet| {
            let grown = changed[node].union(more);
            if grown != changed[node] || !is_read[node] {
                changed[node] = grown;
                waiting.add(node);
            }
        };
        if let Some(instance) = graph.instance_of(id) {
            for (link, slot) in graph.inputs_of(id).iter().zip(&instance.inputs) {
                let rules = slot.scope.iter();
                let inside = rules.fold(here, |all, rule| all.union(changed_by(rule, table)));
                reach(&mut waiting, link.node, inside);
            }
        }
        for it in &inputs_of[id] {
            for next in &stateful[*it as usize].next {
                reach(&mut waiting, *next, here);
            }
        }
    }
    changed
}

/// The needs that a socket with this rule changes. Along an axis of the request, a need keeps the
/// meaning that the request gives it.
fn changed_by(rule: &ScopeRule, table: &NeedTable) -> FeatureSet {
    match rule {
        ScopeRule::Along { .. } => FeatureSet::NONE,
        ScopeRule::Inject { feature, .. }
        | ScopeRule::Each { feature, .. }
        | ScopeRule::Modify { feature, .. } => {
            let bits = table.iter().enumerate().filter(|(_, need)| need.feature == *feature);
            bits.fold(FeatureSet::NONE, |all, (bit, _)| all.union(FeatureSet::bit(bit as u32)))
        }
    }
}

/// Replaces the state of these nodes by readers.
fn read_by_element(
    graph: &mut Graph,
    registry: &Registry,
    stateful: &[StateNode],
    needs_of: impl Fn(NodeId) -> Vec<Need>,
) {
    let mut readers: FxHashMap<NodeId, Source> = FxHashMap::default();
    let mut gone: Vec<Arc<str>> = Vec::new();
    for it in stateful {
        let Some((_, first)) = it.inputs.first() else { continue };
        let name_of = |graph: &Graph, node: NodeId| match graph.op(node) {
            Op::Input(input) => Arc::clone(&graph.inputs()[input].name),
            Op::Gone | Op::Const(_) | Op::Call(_) => panic!("state comes in as inputs"),
        };
        let name = name_of(graph, *first);
        let (path, _) = name.rsplit_once('.').expect("names of state contain a dot");
        let is_value = |(name, _): &&(Arc<str>, NodeId)| **name != *STARTED;
        let values: Vec<(Arc<str>, Type)> = it
            .inputs
            .iter()
            .filter(is_value)
            .map(|(name, node)| {
                let ty = graph.type_of(Source::first(*node)).expect("an input has a type");
                (Arc::clone(name), ty)
            })
            .collect();
        let instance =
            element_state::instance(registry.element_state(), path, &values, &needs_of(*first));
        let instance = graph.intern_instance(&Arc::new(instance));
        let names = path.split('/');
        let place = names.fold(Paths::root(), |outer, name| graph.paths.child(outer, name.into()));
        let node = graph.add_call(instance, &[], place);
        graph.scoped_by.insert(path.into(), it.scoped_by.as_slice().into());
        let mut output = 0;
        for (name, input) in &it.inputs {
            let at = if **name == *STARTED {
                0
            } else {
                output += 1;
                output
            };
            readers.insert(*input, Source { node, output: at });
            gone.push(name_of(graph, *input));
        }
    }
    for id in graph.ids().collect::<Vec<_>>() {
        for link in graph.inputs_of_mut(id) {
            if let Some(reader) = readers.get(&link.node) {
                *link = *reader;
            }
        }
    }
    for output in &mut graph.outputs {
        if let Some(reader) = readers.get(&output.source.node) {
            output.source = *reader;
        }
    }
    let gone: rustc_hash::FxHashSet<Arc<str>> = gone.into_iter().collect();
    graph.outputs.retain(|output| {
        !(gone.contains(&output.name) && output.name.ends_with(&format!(".{STARTED}")))
    });
    for input in readers.keys() {
        graph.remove(*input);
    }
    graph.remove_inputs(|input| gone.contains(&input.name));
}
