//! Resolve scopes: nodes evaluated with another value of a feature become copies that read this
//! value.
//!
//! Requires: types equal along links, every node reachable. Establishes: every node is reachable,
//! and no node only passes its input on with another value of a feature. Exceptions are scopes that
//! gather axes, contain needs for outer levels or extents, contain stateful nodes, contain a repeat
//! that needs the feature, or would require too many copies. Evaluators then see values instead of
//! contexts: regions fuse across scopes, constants fold, and plans of single numbers are live
//! graphs. Cost: a walk over the nodes in scopes.

use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::feature::Aspect;
use millstream_base::id::Id;
use millstream_base::{FeatureSet, Type};
use millstream_form::Form;
use millstream_ir::graph::InstanceId;
use millstream_ir::need_map::Fate;
use millstream_ir::{Graph, NodeId, Op, Source, walk};
use millstream_node::repeat::CAPTURE;
use millstream_node::settings::Settings;
use millstream_node::{Instance, Kernel, Registry, ScopeRule};
use rustc_hash::{FxHashMap, FxHashSet};

use super::replaced::Replaced;
use super::{Changed, PassContext};
use crate::analyses::NeedFlow;

/// The maximum number of copies, unless the graph has more nodes than this.
const MAX_COPIES: usize = 1 << 12;

/// The maximum number of visits per node of the graph, and per possible copy.
const LOOKS_PER_NODE: usize = 8;

/// The node types that replace modifiers.
const MODIFIERS: [&str; 2] = ["math.add", "math.multiply"];

/// Replace nodes that scopes evaluate in other contexts by copies that read the injected values.
///
/// # Errors
/// If the graph has a cycle, or the compilation was cancelled.
pub fn resolve_scopes(graph: &mut Graph, cx: &PassContext<'_>) -> Result<Changed, Diagnostics> {
    if !graph.any_instance(is_resolvable) {
        return Ok(Changed::No);
    }
    let order = crate::order(graph)?;
    let n_nodes = graph.len();
    let n_free = cx.limits.expanded_nodes.saturating_sub(graph.n_calls());
    let mut resolver = Resolver {
        registry: cx.registry,
        flow: NeedFlow::default(),
        needs: vec![FeatureSet::NONE; graph.n_ids()],
        copies_left: n_nodes.max(MAX_COPIES).min(n_free),
        looks_left: LOOKS_PER_NODE * (n_nodes + MAX_COPIES),
        modifiers: Vec::new(),
        replaced: Replaced::new(),
    };
    let n_ids = graph.n_ids();
    let mut is_complete = true;
    for id in order {
        cx.check_cancelled()?;
        resolver.replaced.rewrite(graph, id);
        // Other passes report too many needs.
        is_complete = is_complete && resolver.pass(graph, id).is_some();
    }
    let changed = Changed::when(!resolver.replaced.is_empty());
    resolver.replaced.finish(graph);
    if graph.n_ids() > n_ids || changed == Changed::Yes {
        let reached = walk::reachable_from_outputs(graph);
        graph.retain(|id| reached[id]);
    }
    Ok(changed)
}

/// Whether an instance only passes its input on with other values of features.
fn is_resolvable(instance: &Instance) -> bool {
    let changes =
        |rule: &ScopeRule| matches!(rule, ScopeRule::Inject { .. } | ScopeRule::Modify { .. });
    matches!(instance.kernel, Kernel::Pass)
        && instance.has_scopes()
        && instance.inputs.iter().flat_map(|slot| &slot.scope).all(changes)
        && instance.inputs.iter().skip(1).all(|slot| slot.scope.is_empty())
}

struct Resolver<'r> {
    registry: &'r Registry,
    flow: NeedFlow,
    /// The needs of the nodes visited or made.
    needs: Vec<FeatureSet>,
    copies_left: usize,
    looks_left: usize,
    /// The instances that replace modifiers, by form.
    modifiers: Vec<(Arc<Form>, Option<InstanceId>)>,
    replaced: Replaced,
}

/// A need provided by a rule of a scope.
struct Provided {
    bit: u32,
    rule: usize,
}

impl Resolver<'_> {
    /// Resolves the scope of a node, or records its needs; `None` if there are too many.
    fn pass(&mut self, graph: &mut Graph, id: NodeId) -> Option<()> {
        let Op::Call(instance) = graph.op(id) else { return Some(()) };
        self.record_needs(graph, id, instance)?;
        if is_resolvable(&graph.instances()[instance])
            && let Some(source) = self.resolved(graph, id, instance)
        {
            self.replaced.by_source(graph, id, source);
        }
        Some(())
    }

    fn record_needs(&mut self, graph: &Graph, id: NodeId, instance: InstanceId) -> Option<()> {
        let inside = graph.inputs_of(id).iter().map(|link| self.needs[link.node.index()]);
        let needs = self.flow.needs_of_call(graph.instances(), instance, inside).ok()?;
        if self.needs.len() < graph.n_ids() {
            self.needs.resize(graph.n_ids(), FeatureSet::NONE);
        }
        self.needs[id.index()] = needs;
        Some(())
    }

    /// The result of a node that passes its first input on in another context, as a source in the
    /// node's own context; `None` if the node stays.
    fn resolved(
        &mut self,
        graph: &mut Graph,
        id: NodeId,
        instance_id: InstanceId,
    ) -> Option<Source> {
        let instance = Arc::clone(&graph.instances()[instance_id]);
        let link = *graph.inputs_of(id).first()?;
        let map = self.flow.map(instance_id, 0)?;
        let mut provided: Vec<Provided> = Vec::new();
        for bit in self.needs[link.node.index()].bits() {
            match map.fate(bit) {
                Fate::Same => {}
                Fate::Outer(_) => return None,
                Fate::Provided(rule) | Fate::Modified(rule, _) => {
                    let need = self.flow.table.need(bit);
                    if need.level != 0 || need.aspect != Aspect::Value {
                        return None;
                    }
                    provided.push(Provided { bit, rule: rule as usize });
                }
            }
        }
        if provided.is_empty() {
            // The scope has no effect; keeping it would prevent outer scopes from being resolved.
            return Some(link);
        }
        let bits = provided.iter().map(|it| FeatureSet::bit(it.bit));
        let bits = bits.fold(FeatureSet::NONE, FeatureSet::union);
        let cone = self.cone(graph, link.node, bits)?;
        // Arguments are evaluated outside the scope; inside other scopes they must keep their
        // meaning.
        let arguments = graph.inputs_of(id)[1..].iter();
        let around = arguments.map(|link| self.needs[link.node.index()]);
        let around = around.fold(bits, FeatureSet::union);
        if !self.means_the_same(graph, &cone, bits, around) {
            return None;
        }
        self.copies_left -= cone.len();
        let mut values: FxHashMap<u32, Source> = FxHashMap::default();
        for it in &provided {
            let read =
                cone.iter().copied().find(|node| self.read_bit(graph, *node) == Some(it.bit));
            let value = self.value(graph, id, &instance.inputs[0].scope[it.rule], read?)?;
            values.insert(it.bit, value);
        }
        let mut copies: FxHashMap<NodeId, Copy> = FxHashMap::default();
        for node in cone {
            if let Some(value) = self.read_bit(graph, node).and_then(|bit| values.get(&bit)) {
                copies.insert(node, Copy::Value(*value));
                continue;
            }
            let Op::Call(instance) = graph.op(node) else { return None };
            let links: Vec<Source> =
                graph.inputs_of(node).iter().map(|link| moved(*link, &copies)).collect();
            let copy = graph.add_call(instance, &links, graph.node(node).path);
            self.record_needs(graph, copy, instance)?;
            copies.insert(node, Copy::Node(copy));
        }
        Some(moved(link, &copies))
    }

    /// The nodes upstream of `from` that need any of `bits`, in topological order; `None` if there
    /// are too many.
    fn cone(&mut self, graph: &Graph, from: NodeId, bits: FeatureSet) -> Option<Vec<NodeId>> {
        let mut cone = Vec::new();
        let mut found = FxHashSet::from_iter([from]);
        let mut stack = vec![(from, 0)];
        while let Some((node, next)) = stack.last_mut() {
            let Some(link) = graph.inputs_of(*node).get(*next) else {
                cone.push(*node);
                stack.pop();
                if cone.len() > self.copies_left {
                    return None;
                }
                continue;
            };
            *next += 1;
            self.looks_left = self.looks_left.checked_sub(1)?;
            let is_in = !self.needs[link.node.index()].intersect(bits).is_empty();
            if is_in && found.insert(link.node) {
                stack.push((link.node, 0));
            }
        }
        Some(cone)
    }

    /// Whether copies of the nodes have the same meaning: none is stateful, and inner scopes change
    /// neither the provided features nor the inputs of the values.
    fn means_the_same(
        &mut self,
        graph: &Graph,
        cone: &[NodeId],
        bits: FeatureSet,
        around: FeatureSet,
    ) -> bool {
        for node in cone {
            let Op::Call(id) = graph.op(*node) else { return false };
            let instance = &graph.instances()[id];
            if matches!(instance.kernel, Kernel::ReadState(_)) || instance.def.state.is_some() {
                return false;
            }
            // In a document, the context of a repeat is not among its inputs.
            if instance.name() == CAPTURE {
                return false;
            }
            for (k, link) in graph.inputs_of(*node).iter().enumerate() {
                let Some(mut map) = self.flow.map(id, k).cloned() else { continue };
                let inside = self.needs[link.node.index()];
                // An outer level may be the provided one.
                let is_outer = |bit: u32| match map.fate(bit) {
                    Fate::Outer(outer) => bits.contains(FeatureSet::bit(outer)),
                    Fate::Same | Fate::Provided(_) | Fate::Modified(..) => false,
                };
                if inside.bits().any(is_outer) {
                    return false;
                }
                if inside.intersect(bits).is_empty() {
                    continue;
                }
                // This need may never have crossed the socket before.
                let added = map.add(around, &instance.inputs[k].scope, &mut self.flow.table);
                if added.is_err() || !map.is_transparent(around) {
                    return false;
                }
            }
        }
        true
    }

    /// The need that a node reads, if it does nothing else.
    fn read_bit(&self, graph: &Graph, node: NodeId) -> Option<u32> {
        let instance = graph.instance_of(node)?;
        match instance.kernel {
            Kernel::Read { .. } => self.needs[node.index()].bits().next(),
            Kernel::Form(_)
            | Kernel::Function(_)
            | Kernel::Pass
            | Kernel::Choose
            | Kernel::ReadState(_) => None,
        }
    }

    /// The value of a feature inside a rule of a socket; `read` reads it outside.
    fn value(
        &mut self,
        graph: &mut Graph,
        id: NodeId,
        rule: &ScopeRule,
        read: NodeId,
    ) -> Option<Source> {
        let links = graph.inputs_of(id);
        let (value, ty) = match rule {
            ScopeRule::Inject { feature, value } => (links[*value as usize], feature.ty()),
            ScopeRule::Modify { feature, form, args } => {
                let [arg] = args[..] else { return None };
                let operands = [Source::first(read), links[arg as usize]];
                let instance = self.modifier(graph, form, feature.ty())?;
                let types = operands.map(|operand| graph.type_of(operand));
                if types != [Some(feature.ty()); 2] {
                    return None;
                }
                let node = graph.add_call(instance, &operands, graph.node(id).path);
                self.record_needs(graph, node, instance)?;
                (Source::first(node), feature.ty())
            }
            ScopeRule::Each { .. } | ScopeRule::Along { .. } => return None,
        };
        (graph.type_of(value) == Some(ty)).then_some(value)
    }

    /// The instance of a node type that is equivalent to a modifier.
    fn modifier(&mut self, graph: &mut Graph, form: &Arc<Form>, ty: Type) -> Option<InstanceId> {
        if let Some((_, known)) = self.modifiers.iter().find(|(known, _)| known == form) {
            return *known;
        }
        let instances = MODIFIERS.iter().filter_map(|name| {
            let def = self.registry.get(name)?;
            def.instantiate(Settings::default(), vec![ty], &[1, 1]).ok()
        });
        let does = |instance: &Instance| {
            matches!(&instance.kernel, Kernel::Form(known) if known == form)
                && instance.outputs.len() == 1
        };
        let found = instances.into_iter().find(does);
        let id = found.map(|instance| graph.intern_instance(&Arc::new(instance)));
        self.modifiers.push((Arc::clone(form), id));
        id
    }
}

/// The replacement of a node inside a scope.
enum Copy {
    /// A copy with other inputs.
    Node(NodeId),
    /// The provided value, for a node that reads the feature.
    Value(Source),
}

/// The source of a link after copying.
fn moved(link: Source, copies: &FxHashMap<NodeId, Copy>) -> Source {
    match copies.get(&link.node) {
        Some(Copy::Node(node)) => Source { node: *node, output: link.output },
        Some(Copy::Value(value)) => *value,
        None => link,
    }
}
