//! Changing links, and removing nodes.

use millstream_base::Lane;
use smallvec::SmallVec;

use super::asked::Asked;
use super::node::{Flags, GONE, NONE};
use super::special::Special;
use super::{Handle, LiveGraph, NodeNumber};

/// Why an edit of a live graph is refused. The graph is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum LiveError {
    /// The link would make a node depend on itself.
    #[error("the link would close a cycle: {}", .path.iter().map(|n| format!("g{n}")).collect::<Vec<_>>().join(" -> "))]
    #[diagnostic(
        code(live::cycle),
        help("read the value of the previous tick through a delay instead")
    )]
    Cycle {
        /// The numbers of the nodes on the path from the reader to the node that it would read.
        path: Vec<usize>,
    },
    /// There is no such node, or it was removed.
    #[error("there is no node g{node}")]
    #[diagnostic(code(live::no_node), help("it may have been removed"))]
    NoNode {
        /// The number of the call.
        node: usize,
    },
    /// There is no such input.
    #[error("g{node} has {n_inputs} inputs, so there is no input {input}")]
    #[diagnostic(code(live::no_input), help("inputs count from 0"))]
    NoInput {
        /// The node.
        node: usize,
        /// The input of the call.
        input: usize,
        /// The number of inputs of the node.
        n_inputs: usize,
    },
    /// The input takes another type.
    #[error("input {input} of g{node} takes {wanted}, not {found}")]
    #[diagnostic(code(live::wrong_type), help("convert it with a node first"))]
    WrongType {
        /// The node.
        node: usize,
        /// The input.
        input: usize,
        /// The type that it takes.
        wanted: Lane,
        /// The type of the new source.
        found: Lane,
    },
}

impl LiveGraph {
    /// Links an input of a node to another source. Inputs count from 0; those of a switch are the
    /// selector, then the arms. Returns the number of nodes that changed their place in the order.
    ///
    /// # Errors
    /// If the link would close a cycle, the node or the input does not exist, or the types differ.
    pub fn relink<T, A>(
        &mut self,
        node: Handle<T>,
        input: usize,
        source: Handle<A>,
    ) -> Result<usize, LiveError> {
        self.relink_number(NodeNumber(node.node), input, NodeNumber(source.node))
    }

    /// As [`relink`](Self::relink), for nodes whose types are known only at run time.
    ///
    /// # Errors
    /// As [`relink`](Self::relink).
    pub fn relink_number(
        &mut self,
        NodeNumber(node): NodeNumber,
        input: usize,
        NodeNumber(source): NodeNumber,
    ) -> Result<usize, LiveError> {
        for node in [node, source] {
            if !self.is_there(node) {
                return Err(LiveError::NoNode { node: node as usize });
            }
        }
        let inputs = self.inputs_of(node);
        let Some(&old) = inputs.get(input) else {
            let (node, n_inputs) = (node as usize, inputs.len());
            return Err(LiveError::NoInput { node, input, n_inputs });
        };
        let (wanted, found) = (self.lane_of(old), self.lane_of(source));
        if wanted != found {
            return Err(LiveError::WrongType { node: node as usize, input, wanted, found });
        }
        if old == source {
            return Ok(0);
        }
        self.link_new();
        let moved = self.put_before(source, node)?;
        self.hold(node, None);
        for node in [node, old, source] {
            self.forget_sweep(node);
        }
        self.inputs_mut(node)[input] = source;
        self.users.remove(&mut self.nodes[old as usize], node);
        self.users.add(&mut self.nodes[source as usize], node);
        if !self.nodes[node as usize].flags.has(Flags::LIVE) {
            self.nodes[source as usize].flags.set(Flags::MIXED);
        }
        if self.has_failed(NodeNumber(source)) {
            self.nodes[node as usize].flags.set(Flags::CAREFUL);
        }
        self.mark(node);
        self.refresh_demand(old);
        self.refresh_demand(source);
        self.retract_anew();
        Ok(moved)
    }

    /// The node that a node reads at an input, counted as in [`relink`](Self::relink); `None` if
    /// there is no such input.
    pub fn input_of(&self, NodeNumber(node): NodeNumber, input: usize) -> Option<NodeNumber> {
        self.inputs_of(node).get(input).map(|source| NodeNumber(*source))
    }

    /// Whether a node with this number exists and was not removed.
    fn is_there(&self, node: u32) -> bool {
        self.nodes.get(node as usize).is_some_and(|node| !node.is_gone())
    }

    /// Removes a node that is neither read nor observed, and the nodes of its outputs. Returns
    /// false, and changes nothing, if it is read or observed or does not exist. Numbers of removed
    /// nodes are not used again.
    pub fn remove(&mut self, node: impl Into<NodeNumber>) -> bool {
        self.remove_number(node.into())
    }

    fn remove_number(&mut self, NodeNumber(node): NodeNumber) -> bool {
        if !self.is_there(node) {
            return false;
        }
        self.take_back();
        self.link_new();
        // The nodes of its outputs read a call, and are removed with it.
        let outputs = self.outputs_of(node);
        let it = self.nodes[node as usize];
        if it.flags.has(Flags::OBSERVED)
            || self.users.of(&it).len() > outputs.len()
            || outputs.iter().any(|output| self.is_read(*output))
        {
            return false;
        }
        for output in outputs {
            self.remove_number(NodeNumber(output));
        }
        let it = self.nodes[node as usize];
        let position = self.order.position(node);
        if self.dirty.has(position) {
            self.dirty.unmark(position);
        }
        self.forget_held(node);
        self.failed.remove(&node);
        self.empty_box(node);
        self.nodes[node as usize].flags.clear(Flags::CAREFUL | Flags::PARKED);
        if it.is_source() {
            self.pending.retain(|(source, _)| *source != node);
            self.nodes[node as usize].inputs[1] = 0;
            self.nodes[node as usize].code = GONE;
            return true;
        }
        self.forget_sweep(node);
        let inputs: SmallVec<[u32; 8]> = self.inputs_of(node).into();
        for input in &inputs {
            self.forget_sweep(*input);
            self.users.remove(&mut self.nodes[*input as usize], node);
        }
        // The demand for the node may still be stored.
        self.ask(node, self.asked(node), Asked::Never);
        let it = &mut self.nodes[node as usize];
        it.code = GONE;
        if it.flags.has(Flags::SPECIAL) {
            match &mut self.specials[it.inputs[0] as usize] {
                Special::Choice(choice) => choice.clear(),
                Special::Form(form) => form.inputs = Box::default(),
                Special::Call(call) => call.clear(),
                Special::Output(output) => output.of = [0],
            }
        } else {
            it.flags.clear(Flags::FOLD | Flags::CONSTANT);
            it.flags.set(Flags::SPECIAL);
            it.inputs = [NONE, 0, 0];
        }
        for input in inputs {
            self.refresh_demand(input);
        }
        self.retract_anew();
        true
    }

    /// Retracts again after links changed, because other nodes can be reached now.
    fn retract_anew(&mut self) {
        if self.has_retracted {
            self.assert_all();
            self.retract();
        }
    }

    fn lane_of(&self, node: u32) -> Lane {
        self.nodes[node as usize].flags.lane()
    }

    /// The behavior of a node that is neither a source nor a plain function.
    pub(super) fn special_at(&self, node: u32) -> Option<&Special> {
        let node = &self.nodes[node as usize];
        let is_special = node.flags.has(Flags::SPECIAL) && !node.is_source();
        is_special.then(|| &self.specials[node.inputs[0] as usize])
    }

    /// The inputs of a node, in order.
    pub(super) fn inputs_of(&self, node: u32) -> &[u32] {
        let node = &self.nodes[node as usize];
        if node.is_source() {
            &[]
        } else if node.flags.has(Flags::SPECIAL) {
            self.specials[node.inputs[0] as usize].inputs()
        } else if node.flags.has(Flags::FOLD) {
            &self.wide[node.inputs[0] as usize..][..node.inputs[1] as usize]
        } else {
            node.plain_inputs()
        }
    }

    fn inputs_mut(&mut self, node: u32) -> &mut [u32] {
        let node = &mut self.nodes[node as usize];
        if node.flags.has(Flags::SPECIAL) {
            self.specials[node.inputs[0] as usize].inputs_mut()
        } else if node.flags.has(Flags::FOLD) {
            &mut self.wide[node.inputs[0] as usize..][..node.inputs[1] as usize]
        } else {
            let n = node.flags.arity();
            &mut node.inputs[..n]
        }
    }
}
