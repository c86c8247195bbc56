//! The invariants of every graph between passes.
//!
//! Passes, analyses and the schedule rely on these invariants without checking. The verifier checks
//! them after each pass in tests and debug builds, and for graphs that were written by hand.

use millstream_base::Type;
use millstream_base::id::{Id, SideTable};
use millstream_node::convert::convertible;
use rustc_hash::FxHashMap;

use crate::graph::{ConstId, Graph, InputId, InstanceId, NodeId, Op, Source};
use crate::loops::is_loop;
use crate::region::{InRegion, RegionId};
use crate::walk::{self, Cycle};

/// The stage of compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The types of links convert to those of their sockets.
    Lowered,
    /// The types of links equal those of their sockets.
    Converted,
}

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// A node calls an instance that the graph lacks.
    #[error("{node} calls {instance}, which does not exist")]
    NoInstance {
        /// The node.
        node: NodeId,
        /// The instance.
        instance: InstanceId,
    },
    /// A node is a constant that the graph lacks.
    #[error("{node} is {constant}, which does not exist")]
    NoConstant {
        /// The node.
        node: NodeId,
        /// The constant.
        constant: ConstId,
    },
    /// A node is an input that the graph lacks.
    #[error("{node} is {input}, which does not exist")]
    NoInput {
        /// The node.
        node: NodeId,
        /// The input.
        input: InputId,
    },
    /// Two nodes are the same input.
    #[error("{node} and {other} are both {input}")]
    InputTwice {
        /// The later node.
        node: NodeId,
        /// The earlier node.
        other: NodeId,
        /// The input.
        input: InputId,
    },
    /// The default of an input is of another type.
    #[error("{input} is {} and its default {}", ty.with_article(), default.with_article())]
    DefaultType {
        /// The input.
        input: InputId,
        /// The type of the input.
        ty: Type,
        /// The type of the default.
        default: Type,
    },
    /// A node has a path that the graph lacks.
    #[error("{node} has a path that does not exist")]
    NoPath {
        /// The node.
        node: NodeId,
    },
    /// A constant or an input has links.
    #[error("{node} is a leaf but has {n_links} links")]
    LeafWithLinks {
        /// The node.
        node: NodeId,
        /// Number of its links.
        n_links: usize,
    },
    /// The number of links of a node differs from the number of inputs of its instance.
    #[error("{node} has {n_links} links for {n_inputs} inputs")]
    Arity {
        /// The node.
        node: NodeId,
        /// Number of its links.
        n_links: usize,
        /// Number of inputs of its instance.
        n_inputs: usize,
    },
    /// A link leads to an id that was never used.
    #[error("{reader} reads {source}, which does not exist", source = .link.node)]
    OutOfRange {
        /// The reader.
        reader: Reader,
        /// The link.
        link: Source,
    },
    /// A link leads to a node that was removed.
    #[error("{reader} reads {source}, which was removed", source = .link.node)]
    LinkToGone {
        /// The reader.
        reader: Reader,
        /// The link.
        link: Source,
    },
    /// A link leads to an output that the node lacks.
    #[error("{reader} reads output {} of {}, which has fewer", .link.output, .link.node)]
    NoOutput {
        /// The reader.
        reader: Reader,
        /// The link.
        link: Source,
    },
    /// The types at both ends of a link differ, or do not convert before conversions are inserted.
    #[error(
        "{reader} takes {}, but reads {} from {}",
        to.with_article(), from.with_article(), .link.node
    )]
    Types {
        /// The reader.
        reader: Reader,
        /// The link.
        link: Source,
        /// The type of the source.
        from: Type,
        /// The type of the socket.
        to: Type,
    },
    /// A node that is not a loop has the mark of one.
    #[error("{node} is marked as a loop but is not one")]
    NotALoop {
        /// The node.
        node: NodeId,
    },
    /// A node in a region is not element-wise in its own context.
    #[error("{node} is in {region} but is neither a form nor a choice among lanes")]
    NotElementWise {
        /// The node.
        node: NodeId,
        /// The region.
        region: RegionId,
    },
    /// Regions depend on each other, or a path leads out of a region and back.
    #[error("{region} cannot run as a whole: it depends on itself through {node}")]
    CycleOfRegions {
        /// One of the regions.
        region: RegionId,
        /// One of its nodes.
        node: NodeId,
    },
    /// Nodes form a cycle.
    #[error("the nodes form a cycle: {0}")]
    Cycle(Cycle),
}

/// The reader of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// The input at this position of a node.
    Input(NodeId, usize),
    /// The output of the graph at this position.
    Output(usize),
}

impl std::fmt::Display for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input(node, i) => write!(f, "input {i} of {node}"),
            Self::Output(i) => write!(f, "output {i} of the graph"),
        }
    }
}

/// Checks every invariant.
///
/// # Errors
/// Everything that does not hold.
pub fn verify(graph: &Graph, stage: Stage) -> Result<(), Vec<VerifyError>> {
    let mut verifier = Verifier {
        graph,
        stage,
        errors: Vec::new(),
        is_linked_well: true,
        node_of_input: SideTable::for_arena(graph.inputs(), None),
    };
    for (id, input) in graph.inputs().iter() {
        let (ty, default) = (input.ty, input.default.as_ref().map(millstream_base::Value::ty));
        if let Some(default) = default.filter(|default| *default != ty) {
            verifier.errors.push(VerifyError::DefaultType { input: id, ty, default });
        }
    }
    for id in graph.ids() {
        verifier.node(id);
    }
    for (i, output) in graph.outputs.iter().enumerate() {
        verifier.link(Reader::Output(i), output.source, output.ty);
    }
    if verifier.is_linked_well {
        match walk::order(graph) {
            Err(cycle) => verifier.errors.push(VerifyError::Cycle(cycle)),
            Ok(order) => {
                verifier.regions(&order);
                verifier.loops();
            }
        }
    }
    if verifier.errors.is_empty() { Ok(()) } else { Err(verifier.errors) }
}

struct Verifier<'a> {
    graph: &'a Graph,
    stage: Stage,
    errors: Vec<VerifyError>,
    /// Whether all links lead to existing ids, so that the graph can be walked.
    is_linked_well: bool,
    node_of_input: SideTable<InputId, Option<NodeId>>,
}

impl Verifier<'_> {
    /// Checks that only loops have marks of loops.
    fn loops(&mut self) {
        for node in self.graph.ids().filter(|id| self.graph.loop_of(*id).is_some()) {
            if !self.graph.instance_of(node).is_some_and(|call| is_loop(call)) {
                self.errors.push(VerifyError::NotALoop { node });
            }
        }
    }

    /// Checks that regions have valid members and can run one after the other as a whole.
    fn regions(&mut self, order: &[NodeId]) {
        let graph = self.graph;
        let mut units: FxHashMap<RegionId, usize> = FxHashMap::default();
        for id in graph.ids() {
            let Some(InRegion { region, .. }) = graph.region_of(id) else { continue };
            let n_known = units.len();
            units.entry(region).or_insert(n_known);
            let fits = graph.instance_of(id).is_some_and(|instance| {
                instance.plain_form().is_some() || instance.is_lane_choice()
            });
            if !fits {
                self.errors.push(VerifyError::NotElementWise { node: id, region });
            }
        }
        let n_regions = units.len();
        if n_regions == 0 {
            return;
        }
        // A unit runs as a whole: a region, or a node outside of regions. Units whose dependencies
        // have run are removed; those that remain form cycles.
        let unit = |id: NodeId| match graph.region_of(id) {
            Some(mark) => units[&mark.region],
            None => n_regions + id.index(),
        };
        let n_units = n_regions + graph.n_ids();
        let mut waits_for = vec![0_u32; n_units];
        let mut links: Vec<(u32, u32)> = Vec::new();
        for id in order {
            for link in graph.inputs_of(*id) {
                let (from, to) = (unit(link.node), unit(*id));
                if from != to {
                    waits_for[to] += 1;
                    links.push((from as u32, to as u32));
                }
            }
        }
        links.sort_unstable();
        let mut ready: Vec<u32> =
            (0..n_units as u32).filter(|unit| waits_for[*unit as usize] == 0).collect();
        while let Some(from) = ready.pop() {
            let first = links.partition_point(|(unit, _)| *unit < from);
            for (_, to) in links[first..].iter().take_while(|(unit, _)| *unit == from) {
                waits_for[*to as usize] -= 1;
                if waits_for[*to as usize] == 0 {
                    ready.push(*to);
                }
            }
        }
        let waits = |id: &&NodeId| unit(**id) < n_regions && waits_for[unit(**id)] > 0;
        if let Some(node) = order.iter().find(waits)
            && let Some(InRegion { region, .. }) = graph.region_of(*node)
        {
            self.errors.push(VerifyError::CycleOfRegions { region, node: *node });
        }
    }

    fn node(&mut self, id: NodeId) {
        let graph = self.graph;
        if graph.node(id).path.index() >= graph.paths.len() {
            self.errors.push(VerifyError::NoPath { node: id });
        }
        let links = graph.inputs_of(id);
        let is_leaf = match graph.op(id) {
            Op::Gone => true,
            Op::Const(constant) => {
                if graph.constants().values().get(constant).is_none() {
                    self.errors.push(VerifyError::NoConstant { node: id, constant });
                }
                true
            }
            Op::Input(input) => {
                self.input(id, input);
                true
            }
            Op::Call(instance) => {
                self.call(id, instance);
                false
            }
        };
        if is_leaf && !links.is_empty() {
            self.errors.push(VerifyError::LeafWithLinks { node: id, n_links: links.len() });
        }
    }

    fn input(&mut self, node: NodeId, input: InputId) {
        if self.graph.inputs().get(input).is_none() {
            self.errors.push(VerifyError::NoInput { node, input });
        } else if let Some(other) = self.node_of_input[input].replace(node) {
            self.errors.push(VerifyError::InputTwice { node, other, input });
        }
    }

    fn call(&mut self, node: NodeId, instance: InstanceId) {
        let Some(called) = self.graph.instances().get(instance) else {
            self.errors.push(VerifyError::NoInstance { node, instance });
            // The links are not checked further, since they may lead anywhere.
            self.is_linked_well = false;
            return;
        };
        let links = self.graph.inputs_of(node);
        let (n_links, n_inputs) = (links.len(), called.inputs.len());
        if n_links != n_inputs {
            self.errors.push(VerifyError::Arity { node, n_links, n_inputs });
        }
        for (i, link) in links.iter().enumerate() {
            match called.inputs.get(i) {
                Some(slot) => self.link(Reader::Input(node, i), *link, slot.ty),
                None => self.is_linked_well &= link.node.index() < self.graph.n_ids(),
            }
        }
    }

    fn link(&mut self, reader: Reader, link: Source, to: Type) {
        if link.node.index() >= self.graph.n_ids() {
            self.is_linked_well = false;
            self.errors.push(VerifyError::OutOfRange { reader, link });
            return;
        }
        if self.graph.op(link.node) == Op::Gone {
            self.errors.push(VerifyError::LinkToGone { reader, link });
            return;
        }
        if !self.is_there(self.graph.op(link.node)) {
            // Reported for the node itself.
            return;
        }
        let Some(from) = self.graph.type_of(link) else {
            self.errors.push(VerifyError::NoOutput { reader, link });
            return;
        };
        let fits = match self.stage {
            Stage::Lowered => convertible(from, to),
            Stage::Converted => from == to,
        };
        if !fits {
            self.errors.push(VerifyError::Types { reader, link, from, to });
        }
    }

    fn is_there(&self, op: Op) -> bool {
        match op {
            Op::Gone => false,
            Op::Const(id) => self.graph.constants().values().get(id).is_some(),
            Op::Input(id) => self.graph.inputs().get(id).is_some(),
            Op::Call(id) => self.graph.instances().get(id).is_some(),
        }
    }
}

#[cfg(test)]
mod tests;
