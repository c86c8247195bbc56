//! The graph that passes work on: flat, typed, groups expanded.
//!
//! All links are in one pool, in which each node has a range for its inputs. Ids remain valid when
//! nodes are removed; a removed node becomes [`Op::Gone`].

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use millstream_base::id::{Arena, Id, SideTable};
use millstream_base::same::Same;
use millstream_base::{Type, Value, read_ahead};
use millstream_node::Instance;
use rustc_hash::{FxHashMap, FxHasher};

use crate::loops::LoopMark;
use crate::paths::{PathId, Paths};
use crate::region::InRegion;

pub use crate::ids::{ConstId, InputId, InstanceId, NodeId};

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Removed.
    Gone,
    /// A constant.
    Const(ConstId),
    /// An input of the graph.
    Input(InputId),
    /// A call of an instance.
    Call(InstanceId),
}

/// One output of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// The node.
    pub node: NodeId,
    /// Position of the output.
    pub output: u32,
}

impl Source {
    /// The first output of a node.
    pub fn first(node: NodeId) -> Self {
        Self { node, output: 0 }
    }
}

/// One node; its inputs are found through the graph.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The kind.
    pub op: Op,
    /// Its place in the document.
    pub path: PathId,
    first_link: u32,
    n_links: u32,
}

/// An input of the graph: a value that the caller sets.
#[derive(Clone, Debug)]
pub struct GraphInput {
    /// The name.
    pub name: Arc<str>,
    /// The type.
    pub ty: Type,
    /// The value if the caller sets none; `None` if the caller must set one.
    pub default: Option<Value>,
}

/// An output of the graph.
#[derive(Clone, Debug)]
pub struct GraphOutput {
    /// The name.
    pub name: Arc<str>,
    /// The type that the document states; the source's may differ until conversions are inserted.
    pub ty: Type,
    /// The source of the value.
    pub source: Source,
}

/// Constants, each bit pattern once.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    values: Arena<ConstId, Value>,
    by_bits: HashTable<ConstId>,
}

fn hash_of(value: &Value) -> u64 {
    let mut state = FxHasher::default();
    value.ty().hash(&mut state);
    value.feed(&mut state);
    state.finish()
}

impl Constants {
    /// The id of a constant; equal ones share it.
    pub fn intern(&mut self, value: Value) -> ConstId {
        let values = &self.values;
        let is_it = |id: &ConstId| values[*id].ty() == value.ty() && values[*id].same(&value);
        match self.by_bits.entry(hash_of(&value), is_it, |id| hash_of(&values[*id])) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(room) => {
                let id = self.values.push(value);
                room.insert(id);
                id
            }
        }
    }

    /// The values in order of their ids.
    pub fn values(&self) -> &Arena<ConstId, Value> {
        &self.values
    }

    /// The values alone.
    pub fn into_values(self) -> Arena<ConstId, Value> {
        self.values
    }
}

/// A flat graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Arena<NodeId, Node>,
    links: Vec<Source>,
    n_live: usize,
    instances: Arena<InstanceId, Arc<Instance>>,
    instance_ids: FxHashMap<usize, InstanceId>,
    constants: Constants,
    /// The node of each constant, for those that got one by [`Graph::add_const`].
    const_nodes: Vec<Option<NodeId>>,
    inputs: Arena<InputId, GraphInput>,
    /// The region of each node; shorter if later nodes have none.
    regions: Vec<Option<InRegion>>,
    /// The marks of loops, by the nodes that produce their lists.
    loops: FxHashMap<NodeId, LoopMark>,
    /// The outputs.
    pub outputs: Vec<GraphOutput>,
    /// The outputs for which a node has a state for each element of scopes, by its path. A node of
    /// which nothing is known has it for all outputs.
    pub scoped_by: FxHashMap<Arc<str>, Arc<[Arc<str>]>>,
    /// Places of the nodes in the document.
    pub paths: Paths,
}

impl Graph {
    /// A graph without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty graph with room for `n_nodes` nodes and `n_links` links.
    pub fn with_capacity(n_nodes: usize, n_links: usize) -> Self {
        Self {
            nodes: Arena::with_capacity(n_nodes),
            links: Vec::with_capacity(n_links),
            ..Self::default()
        }
    }

    /// Number of nodes, without removed ones.
    pub fn len(&self) -> usize {
        self.n_live
    }

    /// Whether there are no nodes besides removed ones.
    pub fn is_empty(&self) -> bool {
        self.n_live == 0
    }

    /// Number of calls.
    pub fn n_calls(&self) -> usize {
        self.ids().filter(|id| matches!(self.nodes[*id].op, Op::Call(_))).count()
    }

    /// Number of ids assigned so far, including those of removed nodes: the length of side tables.
    pub fn n_ids(&self) -> usize {
        self.nodes.len()
    }

    /// Ids of the nodes in ascending order, without removed ones.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + '_ {
        self.nodes.iter().filter(|(_, node)| node.op != Op::Gone).map(|(id, _)| id)
    }

    /// One node.
    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    /// The kind of a node.
    #[inline]
    pub fn op(&self, id: NodeId) -> Op {
        self.nodes[id].op
    }

    /// The links of a node, in order of its instance's inputs.
    #[inline]
    pub fn inputs_of(&self, id: NodeId) -> &[Source] {
        let node = &self.nodes[id];
        &self.links[node.first_link as usize..][..node.n_links as usize]
    }

    /// Prefetches the sources of these nodes.
    pub fn read_inputs_ahead(&self, ids: &[NodeId]) {
        let links = ids.iter().flat_map(|id| self.inputs_of(*id));
        read_ahead(links.map(|link| self.nodes[link.node].op));
    }

    /// The links of a node for rewriting.
    #[inline]
    pub fn inputs_of_mut(&mut self, id: NodeId) -> &mut [Source] {
        let node = &self.nodes[id];
        &mut self.links[node.first_link as usize..][..node.n_links as usize]
    }

    /// The instance that a node calls; `None` unless it is a call.
    #[inline]
    pub fn instance_of(&self, id: NodeId) -> Option<&Arc<Instance>> {
        match self.nodes[id].op {
            Op::Call(instance) => Some(&self.instances[instance]),
            Op::Gone | Op::Const(_) | Op::Input(_) => None,
        }
    }

    /// The region that a call is part of, if regions were found.
    #[inline]
    pub fn region_of(&self, id: NodeId) -> Option<InRegion> {
        match self.nodes[id].op {
            Op::Call(_) => self.regions.get(id.index()).copied().flatten(),
            Op::Gone | Op::Const(_) | Op::Input(_) => None,
        }
    }

    /// Sets the region of each node, in order of ids.
    pub fn set_regions(&mut self, regions: Vec<Option<InRegion>>) {
        self.regions = regions;
    }

    /// The mark of a call that is a loop; `None` for other calls and before loops are analyzed.
    #[inline]
    pub fn loop_of(&self, id: NodeId) -> Option<LoopMark> {
        match self.nodes[id].op {
            Op::Call(_) => self.loops.get(&id).copied(),
            Op::Gone | Op::Const(_) | Op::Input(_) => None,
        }
    }

    /// Whether there are loops with marks.
    pub fn has_loops(&self) -> bool {
        !self.loops.is_empty()
    }

    /// Sets the marks of loops, by the nodes that produce their lists.
    pub fn set_loops(&mut self, loops: FxHashMap<NodeId, LoopMark>) {
        self.loops = loops;
    }

    /// The value of a constant node.
    pub fn constant_of(&self, id: NodeId) -> Option<&Value> {
        match self.nodes[id].op {
            Op::Const(constant) => Some(&self.constants.values[constant]),
            Op::Gone | Op::Input(_) | Op::Call(_) => None,
        }
    }

    /// The type of one output of a node; `None` if there is no such output.
    pub fn type_of(&self, source: Source) -> Option<Type> {
        match self.nodes.get(source.node)?.op {
            Op::Gone => None,
            Op::Const(id) if source.output == 0 => Some(self.constants.values[id].ty()),
            Op::Input(id) if source.output == 0 => Some(self.inputs[id].ty),
            Op::Const(_) | Op::Input(_) => None,
            Op::Call(id) => {
                self.instances[id].outputs.get(source.output as usize).map(|slot| slot.ty)
            }
        }
    }

    /// The instances, including those that no node calls any more.
    pub fn instances(&self) -> &Arena<InstanceId, Arc<Instance>> {
        &self.instances
    }

    /// Whether an instance of the graph has this property. Instances of removed nodes count.
    pub fn any_instance(&self, has: impl Fn(&Instance) -> bool) -> bool {
        self.instances.as_slice().iter().any(|instance| has(instance))
    }

    /// The constants, including those that no node holds any more.
    pub fn constants(&self) -> &Constants {
        &self.constants
    }

    /// The inputs in order of the document, including those that nothing reads.
    pub fn inputs(&self) -> &Arena<InputId, GraphInput> {
        &self.inputs
    }

    /// The id of an instance in this graph. Instances are compared by address.
    pub fn intern_instance(&mut self, instance: &Arc<Instance>) -> InstanceId {
        let address = Arc::as_ptr(instance) as usize;
        *self
            .instance_ids
            .entry(address)
            .or_insert_with(|| self.instances.push(Arc::clone(instance)))
    }

    /// The node of a constant, shared by equal constants.
    pub fn add_const(&mut self, value: Value) -> NodeId {
        let id = self.constants.intern(value);
        if let Some(Some(node)) = self.const_nodes.get(id.index())
            && self.nodes[*node].op == Op::Const(id)
        {
            return *node;
        }
        let node = self.push(Op::Const(id), &[], Paths::root());
        if self.const_nodes.len() <= id.index() {
            self.const_nodes.resize(id.index() + 1, None);
        }
        self.const_nodes[id.index()] = Some(node);
        node
    }

    /// Adds an input with its node.
    pub fn add_input(&mut self, input: GraphInput) -> NodeId {
        let id = self.add_unread_input(input);
        self.add_node_of_input(id)
    }

    /// Adds the node of an input that has none yet.
    pub fn add_node_of_input(&mut self, input: InputId) -> NodeId {
        self.push(Op::Input(input), &[], Paths::root())
    }

    /// Adds a call of an instance.
    pub fn add_call(&mut self, instance: InstanceId, inputs: &[Source], path: PathId) -> NodeId {
        self.push(Op::Call(instance), inputs, path)
    }

    /// Adds a constant as a node of its own, even if an equal one exists.
    pub fn add_own_const(&mut self, value: Value) -> NodeId {
        let id = self.constants.intern(value);
        self.push(Op::Const(id), &[], Paths::root())
    }

    /// Adds an input that no node reads.
    pub fn add_unread_input(&mut self, input: GraphInput) -> InputId {
        self.inputs.push(input)
    }

    /// Assigns an id without a node, so that ids of a printed graph keep their numbers.
    pub fn add_gap(&mut self) -> NodeId {
        let id = self.push(Op::Gone, &[], Paths::root());
        self.n_live -= 1;
        id
    }

    /// Sets a node's place in the document.
    pub fn set_path(&mut self, id: NodeId, path: PathId) {
        self.nodes[id].path = path;
    }

    /// Changes the kind of a node regardless of its links, to make graphs that the verifier must
    /// refuse.
    #[cfg(test)]
    pub(crate) fn set_op(&mut self, id: NodeId, op: Op) {
        self.nodes[id].op = op;
    }

    /// Number of links, including those of removed nodes.
    pub fn n_links(&self) -> usize {
        self.links.len()
    }

    fn push(&mut self, op: Op, inputs: &[Source], path: PathId) -> NodeId {
        let first_link = u32::try_from(self.links.len()).expect("limits keep links within 32 bits");
        self.links.extend_from_slice(inputs);
        self.n_live += 1;
        self.nodes.push(Node { op, path, first_link, n_links: inputs.len() as u32 })
    }

    /// Replaces a node by the constant `value` and drops its links.
    pub fn make_const(&mut self, id: NodeId, value: Value) {
        let constant = self.constants.intern(value);
        let node = &mut self.nodes[id];
        node.op = Op::Const(constant);
        node.n_links = 0;
    }

    /// Removes a node that no link leads to.
    pub fn remove(&mut self, id: NodeId) {
        let node = &mut self.nodes[id];
        if node.op != Op::Gone {
            node.op = Op::Gone;
            node.n_links = 0;
            self.n_live -= 1;
        }
    }

    /// Removes the nodes for which `keep` is false; ids and links of the others remain as they
    /// were.
    pub fn retain(&mut self, mut keep: impl FnMut(NodeId) -> bool) {
        for i in 0..self.nodes.len() {
            let id = NodeId::from_index(i);
            if self.nodes[id].op != Op::Gone && !keep(id) {
                self.nodes[id].op = Op::Gone;
                self.nodes[id].n_links = 0;
                self.n_live -= 1;
            }
        }
    }

    /// Removes inputs whose nodes are gone; the ids of later inputs move up.
    pub fn remove_inputs(&mut self, is_gone: impl Fn(&GraphInput) -> bool) {
        let inputs = std::mem::replace(&mut self.inputs, Arena::new());
        let mut moved = SideTable::new(inputs.len(), None);
        for (id, input) in inputs.iter().filter(|(_, input)| !is_gone(input)) {
            moved[id] = Some(self.inputs.push(input.clone()));
        }
        for i in 0..self.nodes.len() {
            let node = &mut self.nodes[NodeId::from_index(i)];
            if let Op::Input(id) = node.op {
                node.op = Op::Input(moved[id].expect("the nodes of removed inputs were removed"));
            }
        }
    }

    /// Takes the graph apart.
    pub fn into_parts(self) -> Parts {
        Parts {
            instances: self.instances,
            constants: self.constants.into_values(),
            inputs: self.inputs,
            outputs: self.outputs,
            paths: self.paths,
        }
    }
}

/// The parts of a graph that a plan takes over, without nodes and links.
#[derive(Debug)]
pub struct Parts {
    /// See [`Graph::instances`].
    pub instances: Arena<InstanceId, Arc<Instance>>,
    /// See [`Graph::constants`].
    pub constants: Arena<ConstId, Value>,
    /// See [`Graph::inputs`].
    pub inputs: Arena<InputId, GraphInput>,
    /// See [`Graph::outputs`].
    pub outputs: Vec<GraphOutput>,
    /// See [`Graph::paths`].
    pub paths: Paths,
}
