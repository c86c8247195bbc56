//! Nodes that do the same as others, with other inputs.

use std::sync::Arc;

use smallvec::SmallVec;

use super::node::{Flags, NONE, Node};
use super::special::{Arms, ChoiceKind, Special};
use super::{LiveGraph, NodeNumber};

impl LiveGraph {
    /// A node that does the same as another one that an instance was made into, with other inputs, which
    /// are counted as for [`relink`](Self::relink). Each has the type of the one in its place.
    ///
    /// # Errors
    /// If the node is a source, an output of a call, or computes what only its maker knows.
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
            Special::Choice(choice) if matches!(choice.kind, ChoiceKind::Given) => {
                let Some(Special::Guard(guard)) = self.special_at(choice.inputs[0]) else {
                    return Err("it does not choose by one selector");
                };
                let Arms::One(_, pick) = guard.arms else { return Err("it takes several arms") };
                let is_boxed = self.boxes.has_place(&node);
                let arms = inputs[1..].iter().map(|arm| arm.0);
                let made = self.choice_of(inputs[0].0, pick, arms, lane);
                if is_boxed {
                    self.put_in_box(made.0, None);
                }
                Ok(made)
            }
            Special::Choice(_) | Special::Guard(_) => Err("only its maker knows what it computes"),
            Special::Output(_) => Err("it gives an output of a call on"),
        }
    }

    /// Which output of a call a node gives on; `None` for other nodes.
    pub fn position_of_output(&self, of: NodeNumber) -> Option<usize> {
        match self.special_at(of.0) {
            Some(Special::Output(output)) => Some(output.position as usize),
            Some(_) | None => None,
        }
    }

    /// The nodes that read a node, some of them more than once; of what decides for a choice that is the
    /// choice.
    pub fn readers_of(&mut self, of: NodeNumber) -> SmallVec<[NodeNumber; 4]> {
        self.link_new();
        let readers = self.users_of(of.0).iter();
        let reader = |reader: &u32| match self.special_at(*reader) {
            Some(Special::Guard(guard)) => NodeNumber(guard.choice),
            Some(_) | None => NodeNumber(*reader),
        };
        readers.map(reader).collect()
    }
}
