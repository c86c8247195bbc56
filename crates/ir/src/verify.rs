//! What holds for every graph between passes.
//!
//! Passes, analyses and the schedule rely on these invariants without looking. The verifier looks,
//! after each pass in tests and debug builds; what it finds is a mistake of ours or a graph that
//! somebody wrote by hand.

use millstream_base::Type;
use millstream_base::id::{Id, SideTable};
use millstream_kernel::convert::convertible;

use crate::graph::{ConstId, Graph, InputId, InstanceId, NodeId, Op, Source};
use crate::walk::{self, Cycle};

/// How far the graph has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Linked types convert to those of their sockets.
    Lowered,
    /// Linked types are those of their sockets.
    Converted,
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// A node calls an instance that the graph lacks.
    #[error("{node} calls {instance}, which is not there")]
    NoInstance {
        /// The node.
        node: NodeId,
        /// The instance.
        instance: InstanceId,
    },
    /// A node is a constant that the graph lacks.
    #[error("{node} is {constant}, which is not there")]
    NoConstant {
        /// The node.
        node: NodeId,
        /// The constant.
        constant: ConstId,
    },
    /// A node is an input that the graph lacks.
    #[error("{node} is {input}, which is not there")]
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
        /// The input's type.
        ty: Type,
        /// The default's.
        default: Type,
    },
    /// A node stands at a path that the graph lacks.
    #[error("{node} stands at a path that is not there")]
    NoPath {
        /// The node.
        node: NodeId,
    },
    /// A constant or an input has links.
    #[error("{node} is a leaf and has {n_links} links")]
    LeafWithLinks {
        /// The node.
        node: NodeId,
        /// Number of its links.
        n_links: usize,
    },
    /// A node has another number of links than its instance has inputs.
    #[error("{node} has {n_links} links for {n_inputs} inputs")]
    Arity {
        /// The node.
        node: NodeId,
        /// Number of its links.
        n_links: usize,
        /// Number of inputs of its instance.
        n_inputs: usize,
    },
    /// A link leads to an id that was never given out.
    #[error("{reader} reads {source}, which is not there", source = .link.node)]
    OutOfRange {
        /// Who reads.
        reader: Reader,
        /// The link.
        link: Source,
    },
    /// A link leads to a node that was removed.
    #[error("{reader} reads {source}, which is gone", source = .link.node)]
    LinkToGone {
        /// Who reads.
        reader: Reader,
        /// The link.
        link: Source,
    },
    /// A link leads to an output that the node lacks.
    #[error("{reader} reads output {} of {}, which has fewer", .link.output, .link.node)]
    NoOutput {
        /// Who reads.
        reader: Reader,
        /// The link.
        link: Source,
    },
    /// A link joins types that differ, or before conversions are inserted that do not convert.
    #[error(
        "{reader} wants {} and reads {} from {}",
        to.with_article(), from.with_article(), .link.node
    )]
    Types {
        /// Who reads.
        reader: Reader,
        /// The link.
        link: Source,
        /// The type of what is linked.
        from: Type,
        /// The type of the socket.
        to: Type,
    },
    /// Nodes read from each other in a circle.
    #[error("{} nodes form a cycle through {}", .nodes.len(), .nodes[0])]
    Cycle {
        /// The nodes, each reading from the next.
        nodes: Vec<NodeId>,
    },
}

/// Who reads a link.
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
    if verifier.is_linked_well
        && let Err(Cycle(nodes)) = walk::order(graph)
    {
        verifier.errors.push(VerifyError::Cycle { nodes });
    }
    if verifier.errors.is_empty() { Ok(()) } else { Err(verifier.errors) }
}

struct Verifier<'a> {
    graph: &'a Graph,
    stage: Stage,
    errors: Vec<VerifyError>,
    /// All links lead to ids that were given out, so that the graph can be walked.
    is_linked_well: bool,
    node_of_input: SideTable<InputId, Option<NodeId>>,
}

impl Verifier<'_> {
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
            // The links are looked at no further; they may lead anywhere.
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
            // Reported at the node itself.
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
