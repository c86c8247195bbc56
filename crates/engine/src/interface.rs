//! Queries about the interface of a program: which context its requests must provide, and which
//! values its inputs and outputs allow.

use millstream_base::feature::Aspect;
use millstream_base::{Feature, Need, Type};
use millstream_compile::available::missing;
use millstream_ir::StepOp;
use millstream_ir::states::{asker, is_state};
use millstream_ir::trace::{path_text, paths_of};
use millstream_node::Kernel;

use crate::program::Program;

/// A context feature that requests must provide, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The feature, with its level and aspect.
    pub need: Need,
    /// The output that depends on the feature. The state of a node is called `node.variable`.
    pub output: String,
    /// The paths of the nodes from the output to the node that reads the feature, on a shortest
    /// path.
    pub way: Vec<String>,
}

impl Requirement {
    /// The output, or the node whose state depends on the feature, in words.
    pub fn asker(&self) -> String {
        if is_state(&self.output) { asker(&self.output) } else { format!("output {}", self.output) }
    }

    /// The path as text; the middle of a long one is left out.
    pub fn way_text(&self) -> String {
        path_text(self.way.clone(), "")
    }
}

impl Program {
    /// The context features that requests must provide, output by output.
    pub fn requirements(&self) -> Vec<Requirement> {
        let plan = self.plan();
        let ways = missing(plan, &|_| false).into_iter().map(|way| Requirement {
            need: way.need,
            output: plan.outputs[way.output].name.to_string(),
            way: paths_of(plan, &way.steps),
        });
        ways.collect()
    }

    /// Whether each of these outputs, given by position, can be computed block by block of
    /// elements: none depends on the number of elements, or on the context of a scope around the
    /// request.
    pub fn is_local(&self, outputs: &[usize]) -> bool {
        let plan = self.plan();
        outputs.iter().all(|output| {
            let step = &plan.steps[plan.outputs[*output].source.step];
            plan.needs.of(plan.needs_of(step)).all(|need| match need.aspect {
                Aspect::Value => need.level == 0,
                Aspect::Extent => need.feature != Feature::Index && need.level == 0,
            })
        })
    }

    /// The number of arms that each input chooses among: two for a boolean, the number of arms of
    /// the first switch that a whole number selects by, and zero for any other input.
    pub fn arms(&self) -> Vec<u64> {
        let (plan, inputs) = (self.plan(), self.inputs());
        let of_type = |ty: Type| if ty == Type::BOOL { 2 } else { 0 };
        let mut arms: Vec<u64> = inputs.iter().map(|input| of_type(input.ty)).collect();
        for (_, step) in plan.steps.iter() {
            let StepOp::Call(instance) = step.op else { continue };
            let instance = &plan.instances[instance];
            if !matches!(instance.kernel, Kernel::Choose) || instance.inputs[0].ty != Type::I32 {
                continue;
            }
            let links = plan.inputs_of(step);
            let StepOp::Input(id) = plan.steps[links[0].step].op else { continue };
            let known = inputs.iter().position(|input| input.name == plan.inputs[id].name);
            if let Some(k) = known
                && arms[k] == 0
            {
                arms[k] = links.len() as u64 - 1;
            }
        }
        arms
    }
}
