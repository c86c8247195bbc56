//! The programs of the model: a graph or a plan as a list of nodes with links.

use std::sync::Arc;

use millstream_base::id::Id;
use millstream_base::{NodePath, Type, Value};
use millstream_ir::{Graph, Op, Plan, StepOp};
use millstream_node::Instance;

/// One output of one node, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// Position of the node: the index of its `NodeId` or `StepId`.
    pub node: usize,
    /// The number of the output.
    pub output: usize,
}

/// The content of a node.
#[derive(Clone, Debug)]
pub enum ProgramOp {
    /// A removed node.
    Gone,
    /// A constant.
    Const(Value),
    /// An input of the request, by position.
    Input(usize),
    /// A call.
    Call(Arc<Instance>),
}

/// One node.
#[derive(Clone, Debug)]
pub struct ProgramNode {
    /// The content.
    pub op: ProgramOp,
    /// The sources, in order of the instance's inputs.
    pub links: Vec<Link>,
    /// The path in the document.
    pub path: NodePath,
}

/// An output.
#[derive(Clone, Debug)]
pub struct ProgramOutput {
    /// The name.
    pub name: Arc<str>,
    /// The type of the value.
    pub ty: Type,
    /// The source.
    pub link: Link,
}

/// A graph or a plan.
#[derive(Clone, Debug)]
pub struct Program {
    /// The nodes; positions are those of the ids, so there may be gaps.
    pub nodes: Vec<ProgramNode>,
    /// The outputs.
    pub outputs: Vec<ProgramOutput>,
    /// The stateful nodes inside of scopes: the position of the reader, and the new state.
    pub state_writers: Vec<(usize, Vec<ProgramOutput>)>,
}

impl Program {
    /// The program of a graph with equal types along links. State is part of its outputs.
    pub fn of_graph(graph: &Graph) -> Self {
        let link = |source: &millstream_ir::Source| Link {
            node: source.node.index(),
            output: source.output as usize,
        };
        let node = |i: usize| {
            let id = millstream_ir::NodeId::from_index(i);
            let op = match graph.op(id) {
                Op::Gone => ProgramOp::Gone,
                Op::Const(constant) => {
                    ProgramOp::Const(graph.constants().values()[constant].clone())
                }
                Op::Input(input) => ProgramOp::Input(input.index()),
                Op::Call(instance) => ProgramOp::Call(Arc::clone(&graph.instances()[instance])),
            };
            let links = graph.inputs_of(id).iter().map(link).collect();
            ProgramNode { op, links, path: graph.paths.get(graph.node(id).path) }
        };
        let outputs = graph.outputs.iter().map(|output| ProgramOutput {
            name: Arc::clone(&output.name),
            ty: graph.type_of(output.source).unwrap_or(output.ty),
            link: link(&output.source),
        });
        let nodes = (0..graph.n_ids()).map(node).collect();
        Self { nodes, outputs: outputs.collect(), state_writers: Vec::new() }
    }

    /// The program of a plan.
    pub fn of_plan(plan: &Plan) -> Self {
        let link = |source: &millstream_ir::StepSource| Link {
            node: source.step.index(),
            output: source.output as usize,
        };
        let node = |step: &millstream_ir::Step| {
            let op = match step.op {
                StepOp::Const(constant) => ProgramOp::Const(plan.constants[constant].get(0)),
                StepOp::Input(input) => ProgramOp::Input(input.index()),
                StepOp::Call(instance) => ProgramOp::Call(Arc::clone(&plan.instances[instance])),
            };
            let links = plan.inputs_of(step).iter().map(link).collect();
            ProgramNode { op, links, path: plan.paths.get(step.path) }
        };
        let output = |output: &millstream_ir::plan::PlanOutput| ProgramOutput {
            name: Arc::clone(&output.name),
            ty: output.ty,
            link: link(&output.source),
        };
        let state_writers = plan
            .state_writers
            .iter()
            .map(|writer| (writer.reader.index(), writer.values.iter().map(output).collect()));
        Self {
            nodes: plan.steps.as_slice().iter().map(node).collect(),
            outputs: plan.outputs.iter().map(output).collect(),
            state_writers: state_writers.collect(),
        }
    }

    /// The outputs of a node that have readers.
    pub fn outputs_used(&self, node: usize) -> Vec<usize> {
        let links = self.nodes.iter().flat_map(|node| &node.links);
        let kept = self.state_writers.iter().flat_map(|(_, values)| values);
        let given = self.outputs.iter().chain(kept).map(|output| &output.link);
        let mut used: Vec<usize> =
            links.chain(given).filter(|link| link.node == node).map(|link| link.output).collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// The instance that a node calls, if it is a call.
    pub fn instance(&self, node: usize) -> Option<&Arc<Instance>> {
        match &self.nodes[node].op {
            ProgramOp::Call(instance) => Some(instance),
            ProgramOp::Gone | ProgramOp::Const(_) | ProgramOp::Input(_) => None,
        }
    }
}
