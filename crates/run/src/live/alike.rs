//! Copies of nodes that read other inputs, and queries that copying needs.

use std::sync::Arc;

use smallvec::SmallVec;

use super::node::{Flags, NONE, Node};
use super::special::Special;
use super::{LiveGraph, NodeNumber};

impl LiveGraph {
    /// A node that does the same as the node of an instance, with other inputs of the same types.
    /// Inputs are counted as in [`relink`](Self::relink).
    ///
    /// # Errors
    /// If the node is a source, an output of a call, or was not made from an instance.
    pub fn alike(
        &mut self,
        of: NodeNumber,
        inputs: &[NodeNumber],
    ) -> Result<NodeNumber, &'static str> {
        let node = self.nodes[of.index()];
        let lane = node.flags.lane();
        if node.is_source() {
            return Err("it is set from outside");
        }
        if !node.flags.has(Flags::SPECIAL) {
            if node.flags.has(Flags::FOLD | Flags::CONSTANT) {
                return Err("its inputs are not all nodes");
            }
            let mut read = [0; 3];
            for (place, input) in read.iter_mut().zip(inputs) {
                *place = input.0;
            }
            let flags = Flags::new(inputs.len(), lane);
            let made = Node { value: 0, inputs: read, users: [NONE; 2], code: node.code, flags };
            return Ok(NodeNumber(self.linked(made)));
        }
        match &self.specials[node.inputs[0] as usize] {
            Special::Form(whole) => {
                let form = Arc::clone(&whole.form);
                Ok(self.form(&form, inputs, lane))
            }
            Special::Call(call) => {
                let instance = Arc::clone(&call.instance);
                Ok(self.call_of_values(&instance, inputs))
            }
            Special::Choice(choice) => {
                let Some(pick) = choice.pick() else { return Err("its functions are not known") };
                if choice.is_select() {
                    return self.select_of(pick, inputs);
                }
                let is_boxed = self.boxes.has_place(&node);
                let arms = inputs[1..].iter().map(|arm| arm.0);
                let made = self.switch_of(inputs[0].0, pick, arms, lane);
                if is_boxed {
                    self.put_in_box(made, None);
                }
                Ok(NodeNumber(made))
            }
            Special::Output(_) => Err("it passes on an output of a call"),
        }
    }

    /// The position of the output of a call that a node passes on; `None` for other nodes.
    pub fn position_of_output(&self, of: NodeNumber) -> Option<usize> {
        match self.special_at(of.0) {
            Some(Special::Output(output)) => Some(output.position as usize),
            Some(_) | None => None,
        }
    }

    /// The nodes that read a node, each as often as it does.
    pub fn readers_of(&mut self, of: NodeNumber) -> SmallVec<[NodeNumber; 4]> {
        self.link_new();
        self.users_of(of.0).iter().map(|reader| NodeNumber(*reader)).collect()
    }
}
