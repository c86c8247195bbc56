//! The body of a node that runs a group round by round, compiled as a plan of its own.
//!
//! The plan reads no context. Its inputs are those of the group, then the context that the group
//! needs from around the node (*captures*), then the number of the round. The inputs of the node
//! are those of the group, the count unless it is one of them, and the captures. So the node is a
//! function over columns for every evaluator, and the rounds of an element do not depend on other
//! elements.

use std::sync::Arc;

use millstream_base::Need;
use millstream_base::id::Id;
use millstream_node::{Instance, Kernel};

use crate::graph::Graph;
use crate::plan::{Plan, StepOp};

/// The body of a repeat.
///
/// A round computes the outputs from the carried values; each carried output becomes the input of
/// the same name. An element continues while its output `go` is true, its number of rounds is below
/// its count, and, with `until_stable`, the last round changed a carried value. Without any round
/// the outputs are the given values, and `go` is true unless it is carried too.
#[derive(Debug)]
pub struct RepeatBody {
    /// Name of the group.
    pub group: Arc<str>,
    /// The group as authored, without captures.
    pub graph: Graph,
    /// The plan of one round.
    pub plan: Plan,
    /// Number of inputs of the group.
    pub n_inputs: usize,
    /// The input of the node with the number of rounds: one of the group's, or the next one.
    pub count: usize,
    /// The context that the group needs, except for the number of the round.
    pub captures: Vec<Need>,
    /// For each output of the plan, the input that receives it in the next round.
    pub carries: Vec<Option<usize>>,
    /// The output that tells whether to continue.
    pub go: Option<usize>,
    /// Whether the repeat ends when a round changes no carried value.
    pub until_stable: bool,
}

impl RepeatBody {
    /// The body of an instance, if it is a repeat.
    pub fn of(instance: &Instance) -> Option<&Self> {
        match &instance.kernel {
            Kernel::Function(function) => function.body()?.downcast_ref(),
            Kernel::Form(_)
            | Kernel::Read { .. }
            | Kernel::Pass
            | Kernel::Choose
            | Kernel::ReadState(_) => None,
        }
    }

    /// The input of the node that gives an input of the plan its first value; `None` for the number
    /// of the round.
    pub fn given_by(&self, input: usize) -> Option<usize> {
        let n_own = usize::from(self.count == self.n_inputs);
        if input < self.n_inputs {
            Some(input)
        } else if input < self.n_inputs + self.captures.len() {
            Some(input + n_own)
        } else {
            None
        }
    }

    /// The input of the plan with the number of the round.
    pub fn round(&self) -> usize {
        self.n_inputs + self.captures.len()
    }

    /// Whether elements may end before their count.
    pub fn ends_early(&self) -> bool {
        self.go.is_some() || self.until_stable
    }

    /// The outputs that each round has to compute for the wanted ones, ascending.
    pub fn outputs_for(&self, wanted: &[usize]) -> Vec<usize> {
        let mut is_in = vec![false; self.carries.len()];
        let mut ahead: Vec<usize> = wanted.to_vec();
        ahead.extend(self.go);
        if self.until_stable {
            ahead.extend((0..self.carries.len()).filter(|k| self.carries[*k].is_some()));
        }
        while let Some(output) = ahead.pop() {
            if std::mem::replace(&mut is_in[output], true) {
                continue;
            }
            let behind = self.plan.steps_upstream(&[output]);
            for (_, step) in self.plan.steps.iter().filter(|(id, _)| behind[*id]) {
                if let StepOp::Input(input) = step.op {
                    let input = input.index();
                    ahead.extend((0..is_in.len()).filter(|k| self.carries[*k] == Some(input)));
                }
            }
        }
        (0..is_in.len()).filter(|k| is_in[*k]).collect()
    }
}
