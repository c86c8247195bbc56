//! The body of a zone, a node that runs a group many times, compiled as a plan of its own.
//!
//! The plan reads no context. Its inputs are the inputs of the group, the context that the group
//! needs from around the node (*captures*), and the number of the round or the position of the
//! item. The inputs of the node are those of the group, its own, and the captures. Thus the node is
//! a function over columns for every evaluator, and the runs of an element do not depend on other
//! elements.

use std::sync::Arc;

use millstream_base::id::Id;
use millstream_base::{Need, Type};
use millstream_node::zone::{Course, Mode, Told, Tolerance};
use millstream_node::{Instance, Kernel};

use crate::graph::Graph;
use crate::plan::{Plan, StepOp};

/// The body of a zone.
///
/// A run computes the outputs from the carried values; each carried output becomes the input of the
/// same name. In a repeat an element continues while its output `go` is true, its number of rounds is
/// below its count, and, if it ends when it is stable, the last round changed a carried value.
/// Without any round the outputs are the given values, and `go` is true unless it is carried too.
/// Over items an element continues while `go` is true and there are items.
#[derive(Debug)]
pub struct ZoneBody {
    /// Name of the group.
    pub group: Arc<str>,
    /// The group as authored, without captures.
    pub graph: Graph,
    /// The plan of one run.
    pub plan: Plan,
    /// Number of inputs of the group.
    pub n_inputs: usize,
    /// Number of inputs of the node before the captures.
    pub n_outer: usize,
    /// The context that the group needs, except for the number of the run.
    pub captures: Vec<Need>,
    /// How it runs.
    pub course: Course,
    /// The meaning of the node's outputs that follow those of the group.
    pub told: Vec<Told>,
    /// Whether it, or a repeat inside, may end before it is stable.
    pub may_be_unsettled: bool,
}

/// The tolerance of a repeat that ends when it is stable.
fn tolerance(course: &Course) -> Option<f64> {
    match &course.mode {
        Mode::Rounds { stable, .. } => stable.map(Tolerance::get),
        Mode::Items { .. } | Mode::Ticks { .. } => None,
    }
}

/// Whether a repeat with this body, or one inside, may end before it is stable.
pub fn body_may_be_unsettled(course: &Course, plan: &Plan) -> bool {
    tolerance(course).is_some() || may_be_unsettled(plan)
}

/// Whether a plan has repeats that may end before they are stable.
pub fn may_be_unsettled(plan: &Plan) -> bool {
    let mut bodies = plan.instances.iter().filter_map(|(_, instance)| ZoneBody::of(instance));
    bodies.any(|body| body.may_be_unsettled)
}

impl ZoneBody {
    /// The body of an instance, if it is a zone.
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

    /// The input of the node from which an input of the plan takes its first value; `None` for the
    /// number of the run.
    pub fn given_by(&self, input: usize) -> Option<usize> {
        if input < self.n_inputs {
            Some(input)
        } else if input < self.n_inputs + self.captures.len() {
            Some(input - self.n_inputs + self.n_outer)
        } else {
            None
        }
    }

    /// The input of the plan that receives the number of the run.
    pub fn round(&self) -> usize {
        self.n_inputs + self.captures.len()
    }

    /// The input that receives an output in the next run.
    pub fn carry(&self, output: usize) -> Option<usize> {
        self.course.carries[output]
    }

    /// The output that tells whether to continue.
    pub fn go(&self) -> Option<usize> {
        self.course.go
    }

    /// Whether something is carried from run to run.
    pub fn carries(&self) -> bool {
        self.course.carries.iter().any(Option::is_some)
    }

    /// Number of outputs of the group.
    pub fn n_outputs(&self) -> usize {
        self.course.carries.len()
    }

    /// The type of an output of the node.
    pub fn outer_type(&self, output: usize) -> Type {
        match self.told.get(output.wrapping_sub(self.n_outputs())) {
            Some(told) => told.ty(),
            None => {
                let ty = self.course.outer_output(output, self.plan.outputs[output].ty);
                ty.expect("the types were checked")
            }
        }
    }

    /// The tolerance within which a round counts as unchanged and is the last; `None` if an
    /// unchanged round does not end the loop.
    pub fn stable(&self) -> Option<f64> {
        tolerance(&self.course)
    }

    /// Whether elements may end before their count.
    pub fn ends_early(&self) -> bool {
        self.course.go.is_some() || self.stable().is_some()
    }

    /// The outputs that each run must compute to obtain the wanted ones, ascending.
    pub fn outputs_for(&self, wanted: &[usize]) -> Vec<usize> {
        let carries = &self.course.carries;
        let mut is_in = vec![false; carries.len()];
        let mut ahead: Vec<usize> = wanted.iter().copied().filter(|k| *k < carries.len()).collect();
        ahead.extend(self.course.go);
        if self.stable().is_some() {
            ahead.extend((0..carries.len()).filter(|k| carries[*k].is_some()));
        }
        if let Mode::Items { keep, by, .. } = self.course.mode
            && wanted.iter().any(|k| self.course.collects(*k))
        {
            ahead.extend(keep.into_iter().chain(by));
        }
        while let Some(output) = ahead.pop() {
            if std::mem::replace(&mut is_in[output], true) {
                continue;
            }
            let behind = self.plan.steps_upstream(&[output]);
            for (_, step) in self.plan.steps.iter().filter(|(id, _)| behind[*id]) {
                if let StepOp::Input(input) = step.op {
                    let input = input.index();
                    ahead.extend((0..is_in.len()).filter(|k| carries[*k] == Some(input)));
                }
            }
        }
        (0..is_in.len()).filter(|k| is_in[*k]).collect()
    }
}
