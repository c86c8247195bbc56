//! The document as a live graph, which answers at one moment, for one value or for columns.
//!
//! In each use of the group around it, every node that computes something has a node in a
//! [`LiveGraph`]; so has every literal, and every conversion between different types. An edit
//! touches only the nodes that it changes and their readers (see `follow`): a session of a million
//! nodes answers after an edit as fast as after a setting, and values that are still right remain.
//!
//! A node that is wrong has no live node, nor has a node that reads it. A use of a group exists
//! whatever is wrong in the group or at its inputs; the outputs that do not depend on errors have
//! values. A node that fails has no value until its inputs change or the document is edited. The
//! state of nodes comes from sources (see `stateful`). Nodes evaluated in other contexts are copied
//! (see `scoped`). Documents in which contexts change in other ways are evaluated with plans.

mod answer;
mod build;
mod carried;
mod elements;
mod follow;
mod look;
mod moved;
mod networks;
mod parts;
mod queue;
mod renew;
mod rounds;
mod scoped;
mod stateful;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod value_tests;
mod variables;

use std::collections::HashMap;
use std::sync::Arc;

pub(super) use answer::{Cells, Moment};
pub(super) use elements::Columns;
use millstream_base::{Feature, Limits, Type, Value};
use millstream_compile::lower::StatefulType;
use millstream_document::Muted;
use millstream_document::check::NodeChecker;
use millstream_document::edit::BodyKey;
use millstream_ir::request::{Given, RequestAxis};
use millstream_node::convert::convert_value;
use millstream_node::{Data, Instance, Registry};
use millstream_run::live::{LiveGraph, NodeNumber, Shown};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use networks::LiveNetwork;
use rounds::Way;
use scoped::Scoped;
use stateful::StatefulNode;
use variables::Variables;

/// A document as a live graph.
pub(super) struct Mirror {
    registry: Arc<Registry>,
    /// Limits of the size and depth of expanded groups.
    limits: Limits,
    graph: LiveGraph,
    /// The bodies of the document.
    bodies: FxHashMap<BodyKey, BodyState>,
    /// The uses of bodies; the first is that of the document itself.
    uses: Vec<Option<Use>>,
    /// Seeded, like every map whose keys are names in documents.
    inputs: HashMap<Arc<str>, RootInput>,
    outputs: HashMap<Arc<str>, RootOutput>,
    features: FxHashMap<Feature, NodeNumber>,
    /// The source of the number of elements, once a node reads it.
    n_elements: Option<NodeNumber>,
    conversions: FxHashMap<(Type, Type), Arc<Instance>>,
    /// Nodes with state, by the use of the body and the slot.
    stateful: FxHashMap<(u32, u32), StatefulNode>,
    /// Nodes whose types are networks, by the use of the body and the slot.
    networks: FxHashMap<(u32, u32), LiveNetwork>,
    /// Places (use of a body and slot) of stateful nodes that are wrong because their delayed input
    /// is, which may depend on them.
    unfed: FxHashSet<(u32, u32)>,
    /// The state of these nodes, by the names that plans give it.
    variables: Variables,
    /// Ticks per second, and the source of the seconds between ticks, once a node reads it.
    fps: f64,
    seconds_per_tick: Option<NodeNumber>,
    /// The sources of state.
    kept_sources: FxHashSet<NodeNumber>,
    /// The compiled zones of each group.
    zones: FxHashMap<BodyKey, Vec<Way>>,
    /// Whether the document has, or had, a node that runs its group many times.
    has_zones: bool,
    /// Nodes that evaluate their input in another context, with the copies for that context.
    scopes: FxHashMap<NodeNumber, Scoped>,
    /// Nodes that were linked again, and whose copies have not been updated yet.
    relinked: Vec<NodeNumber>,
    /// Number of nodes that are copies.
    n_copies: usize,
    /// The places of calls that may fail.
    places: FxHashMap<NodeNumber, PartPlace>,
    checker: NodeChecker,
    /// Literals, defaults and conversions that only one call reads.
    args: Bits,
    /// Those that belong to a port, which passes them on.
    ports: FxHashMap<NodeNumber, Port>,
    /// Nodes that are removed at the end of the edit.
    doomed: FxHashSet<NodeNumber>,
    observed: Observed,
    /// Nodes that were made or linked since they were last demanded, and whether the nodes that
    /// they replace had run.
    edited: FxHashMap<NodeNumber, bool>,
    /// The values of features at the last demand.
    shown: Shown,
    n_calls: usize,
    n_removed: usize,
}

/// The nodes that are observed.
#[derive(Default)]
struct Observed {
    /// In the order in which they were requested.
    in_order: Vec<NodeNumber>,
    all: FxHashSet<NodeNumber>,
    /// Whether some have been removed.
    is_torn: bool,
}

/// The current document cannot be live; it must be compiled.
#[derive(Debug)]
pub(super) struct NotLive;

/// A body, apart from its uses.
#[derive(Default)]
struct BodyState {
    /// The kind of the node in each slot.
    kinds: Vec<Kind>,
    /// Its id, which it keeps when it moves to another body.
    ids: Vec<u64>,
    uses: Vec<u32>,
}

/// The kind of a node.
#[derive(Clone, Debug, Default)]
enum Kind {
    /// There is no node.
    #[default]
    None,
    /// The node, or one of its sources, is wrong.
    Wrong,
    Call(Arc<Instance>),
    /// A call with state.
    Stateful(Arc<StatefulType>),
    Group(BodyKey),
    Muted(Arc<Muted>),
}

impl Kind {
    /// The instance, if the node calls a node type.
    fn instance(&self) -> Option<&Arc<Instance>> {
        match self {
            Self::Call(instance) => Some(instance),
            Self::Stateful(of_type) => Some(&of_type.instance),
            Self::None | Self::Wrong | Self::Group(_) | Self::Muted(_) => None,
        }
    }
}

/// One use of a body.
struct Use {
    body: BodyKey,
    /// The use around it, and the slot of the node there; not for the document itself.
    outer: Option<(u32, u32)>,
    /// The inputs, converted to their stated types, `None` if wrong; the inputs of the document are
    /// in `Mirror::inputs`.
    inputs: HashMap<Arc<str>, Option<NodeNumber>>,
    /// The live node of the call in each slot.
    outs: Vec<Option<NodeNumber>>,
    /// The outputs of nodes that pass on the outputs of other nodes.
    many: FxHashMap<u32, Many>,
}

/// A node that uses a group or is muted.
#[derive(Default)]
struct Many {
    outs: Vec<Option<NodeNumber>>,
    child: Option<u32>,
}

/// An input of the document.
struct RootInput {
    ty: Type,
    default: Option<Value>,
    /// The shape of the value that is set, if one is.
    given: Option<Shape>,
    node: NodeNumber,
}

/// Whether data are one value or a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    One,
    Column,
}

impl Shape {
    fn of(data: &Data) -> Self {
        match data {
            Data::One(_) => Self::One,
            Data::Many(_) => Self::Column,
        }
    }
}

/// An output of the document.
struct RootOutput {
    ty: Type,
    /// `None` if it depends on something wrong.
    node: Option<NodeNumber>,
}

/// The use of a body, the slot there, and the name of the part if the node is a network.
type PartPlace = ((u32, u32), Option<Arc<str>>);

/// A place that passes values on.
type Port = (u32, Side);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// The inputs of this use of a body.
    In,
    /// The outputs of the node in this slot in this use.
    Out(u32),
    /// The outputs of the document.
    Outputs,
}

/// Owner of a node that is made for a single place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Call,
    Port(Port),
}

/// The outputs of the document.
const OUTPUTS: Owner = Owner::Port((0, Side::Outputs));

/// A value for an input of a node.
#[derive(Clone, Debug)]
enum Operand {
    Literal(Value),
    Node(NodeNumber, Type),
}

/// The operands of a node, `None` where they have no value.
type Operands = SmallVec<[Option<Operand>; 4]>;

/// A set of small numbers.
#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn set(&mut self, at: usize, is_in: bool) {
        if at >> 6 >= self.0.len() {
            self.0.resize((at >> 6) + 1, 0);
        }
        let bit = 1 << (at & 63);
        if is_in {
            self.0[at >> 6] |= bit;
        } else {
            self.0[at >> 6] &= !bit;
        }
    }

    fn has(&self, at: usize) -> bool {
        self.0.get(at >> 6).is_some_and(|bits| bits >> (at & 63) & 1 != 0)
    }
}

impl Mirror {
    /// Takes over the results stored in the previous mirror.
    pub(super) fn go_on_with_results_of(&mut self, before: &mut Self) {
        self.graph.put_results(before.graph.take_results());
    }

    /// Lets failed nodes run again when they are demanded, although their inputs have not changed.
    pub(super) fn try_failed_again(&mut self) {
        self.graph.try_failed_again();
    }

    /// Sets an input of the document, or resets it to its default.
    pub(super) fn set(&mut self, name: &str, given: Option<&Given>) {
        let Some(input) = self.inputs.get_mut(name) else { return };
        let given = given.and_then(|given| match given {
            Given::One(value) => convert_value(value, input.ty).map(Data::One),
            Given::Along(RequestAxis::Index, column) => (self.graph.holds_columns()
                && column.ty() == input.ty)
                .then(|| Data::Many(column.clone())),
            Given::Along(RequestAxis::Time | RequestAxis::View, _) => None,
        });
        input.given = given.as_ref().map(Shape::of);
        match &given {
            Some(Data::One(value)) => self.graph.set_value(input.node, value),
            Some(data) => self.graph.set_data(input.node, data),
            None => {
                if let Some(value) = &input.default {
                    self.graph.set_value(input.node, value);
                }
            }
        }
    }

    /// Sets one element of an input; false if the input is no column here.
    pub(super) fn set_element(&mut self, name: &str, element: usize, value: &Value) -> bool {
        let input = self.inputs.get(name).filter(|input| input.given == Some(Shape::Column));
        input.inspect(|input| self.graph.set_element(input.node, element, value)).is_some()
    }

    /// Whether inputs may be columns.
    pub(super) fn holds_columns(&self) -> bool {
        self.graph.holds_columns()
    }
}

impl RootInput {
    /// Whether there is neither a value nor a default.
    fn is_missing(&self) -> bool {
        self.given.is_none() && self.default.is_none()
    }
}
