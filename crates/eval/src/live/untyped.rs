//! The graph without Rust types: for plans, whose types are known when they run.

use std::sync::Arc;

use millstream_base::Lane;
use millstream_kernel::form::{Form, Op};

use super::LiveGraph;
use super::node::{Flags, NONE, Node, canonical};
use super::special::{Arms, ChoiceKind, Special, Whole};

/// The number of a node of a live graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeNumber(pub(super) u32);

impl NodeNumber {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl LiveGraph {
    pub(crate) fn source_of(&mut self, lane: Lane, bits: u64) -> NodeNumber {
        let mut flags = Flags::new(0, lane);
        flags.clear(Flags::NEW);
        flags.set(Flags::SPECIAL);
        let (value, inputs) = (canonical(flags, bits), [NONE, 0, 0]);
        NodeNumber(self.push(Node { value, inputs, users: [NONE; 2], code: 0, flags }))
    }

    pub(crate) fn operation_of(
        &mut self,
        op: Op,
        of: Lane,
        to: Lane,
        operands: impl ExactSizeIterator<Item = u32>,
    ) -> NodeNumber {
        let mut inputs = [0; 3];
        let code = self.code(op, of, to);
        let flags = Flags::new(operands.len(), to);
        for (input, operand) in inputs.iter_mut().zip(operands) {
            *input = operand;
        }
        NodeNumber(self.linked(Node { value: 0, inputs, users: [NONE; 2], code, flags }))
    }

    /// A node that runs a form with one result.
    pub(crate) fn form(
        &mut self,
        form: &Arc<Form>,
        inputs: &[NodeNumber],
        lane: Lane,
    ) -> NodeNumber {
        let inputs = inputs.iter().map(|input| input.0).collect();
        let form = Whole { form: Arc::clone(form), inputs, registers: Vec::new() };
        NodeNumber(self.special(Special::Form(form), lane))
    }

    /// A node that gives an arm on: which, `pick` says by the selector and the number of arms.
    pub(crate) fn choice_of(
        &mut self,
        selector: u32,
        pick: fn(u64, usize) -> usize,
        arms: impl ExactSizeIterator<Item = u32>,
        lane: Lane,
    ) -> NodeNumber {
        let picks = Arms::One(arms.len(), pick);
        // The guard goes in front.
        let inputs = std::iter::once(0).chain(arms).collect();
        NodeNumber(self.choice(selector, picks, inputs, 1, ChoiceKind::Given, lane))
    }

    pub(crate) fn set_number(&mut self, source: NodeNumber, bits: u64) {
        self.set_bits(source.0, bits);
    }

    /// The bits of a node that is observed and settled.
    pub(crate) fn number(&self, node: NodeNumber) -> u64 {
        self.nodes[node.index()].value
    }

    pub(crate) fn observe_number(&mut self, node: NodeNumber, is_observed: bool) {
        self.set_observed(node.0, is_observed);
    }

    /// Whether somebody may ask for a node.
    pub(crate) fn is_live(&self, node: NodeNumber) -> bool {
        self.nodes[node.index()].flags.has(Flags::LIVE | Flags::GUARDED)
    }

    pub(crate) fn stop_journal(&mut self) {
        self.journal = None;
    }
}
