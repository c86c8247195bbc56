//! What reads along all moments or views of a request, where these are evaluated one by one.

use std::fmt;

use millstream_base::feature::Aspect;

use super::{Request, RequestAxis, RequestError};
use crate::plan::{Plan, StepId};
use crate::trace::reader_of;

/// Why the cells of an axis are evaluated one by one, so that nothing can read along the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneByOne {
    /// Results depend on state, which advances from moment to moment.
    Ticks,
    /// The frames of a bake.
    Frames,
    /// The views of a bake.
    Views,
}

impl OneByOne {
    /// The axis.
    pub fn axis(self) -> RequestAxis {
        match self {
            Self::Ticks | Self::Frames => RequestAxis::Time,
            Self::Views => RequestAxis::View,
        }
    }

    /// The cells, for messages.
    pub(super) fn cells(self) -> &'static str {
        match self {
            Self::Ticks => "moments",
            Self::Frames => "frames",
            Self::Views => "views",
        }
    }

    /// The next step for the author.
    pub(super) fn hint(self) -> &'static str {
        match self {
            Self::Ticks => "request other outputs, or one frame at a time",
            Self::Frames | Self::Views => {
                "bake the other outputs, and evaluate this one with `run`"
            }
        }
    }
}

impl fmt::Display for OneByOne {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ticks => "it depends on state, which advances from one moment to the next",
            Self::Frames => "a bake evaluates each frame by itself",
            Self::Views => "a bake evaluates each view by itself",
        })
    }
}

/// A request whose outputs are split into those that read along an axis and the others.
#[derive(Clone, Debug)]
pub struct Split {
    /// The request for the outputs that do.
    pub along: Request,
    /// The request for the others.
    pub others: Request,
    /// For each output of the whole request whether it does; its optional outputs are those of
    /// `others`.
    pub is_along: Vec<bool>,
}

impl Request {
    /// Refuses outputs that read along an axis whose cells are evaluated one by one, or that depend
    /// on state which does.
    ///
    /// # Errors
    /// The first of them, with the node that reads along the axis.
    pub fn refuse_along(&self, plan: &Plan, one_by_one: OneByOne) -> Result<(), RequestError> {
        self.refuse_state_along(plan, one_by_one)?;
        for output in self.required_in(plan) {
            refuse(plan, one_by_one, &plan.outputs[output].name, plan.outputs[output].source.step)?;
        }
        Ok(())
    }

    fn refuse_state_along(&self, plan: &Plan, one_by_one: OneByOne) -> Result<(), RequestError> {
        let (reads, depends) = self.state_reads(plan);
        for (node, _) in reads.nodes.iter().zip(depends).filter(|(_, depends)| *depends) {
            for (name, source) in reads.values_of(node) {
                refuse(plan, one_by_one, name, source.step)?;
            }
        }
        Ok(())
    }

    /// The request with the outputs apart that read along all its moments, as it is evaluated moment
    /// by moment; `None` if no output does. Optional outputs that do are left out.
    ///
    /// # Errors
    /// If such an output depends on state, or the others depend on state that reads along them.
    pub fn split_over_time(&self, plan: &Plan) -> Result<Option<Split>, RequestError> {
        self.refuse_state_along(plan, OneByOne::Ticks)?;
        let is_along = |name: &String| {
            let output = plan.output_named(name);
            output.is_some_and(|output| {
                bit_along(plan, plan.outputs[output].source.step, RequestAxis::Time).is_some()
            })
        };
        let all = || self.required_in(plan).into_iter().map(|at| plan.outputs[at].name.to_string());
        let names: Vec<String> = self.outputs.clone().unwrap_or_else(|| all().collect());
        let split: Vec<bool> = names.iter().map(is_along).collect();
        if !split.contains(&true) && !self.optional.iter().any(is_along) {
            return Ok(None);
        }
        let of = |wanted: bool| {
            let names = names.iter().zip(&split).filter(|(_, is_along)| **is_along == wanted);
            self.clone().only_outputs(&names.map(|(name, _)| name.clone()).collect::<Vec<_>>())
        };
        let (along, mut others) = (of(true), of(false));
        others.optional = self.optional.iter().filter(|name| !is_along(name)).cloned().collect();
        for output in along.required_in(plan).into_iter().filter(|at| plan.depends_on_state(&[*at]))
        {
            let output = &plan.outputs[output];
            refuse(plan, OneByOne::Ticks, &output.name, output.source.step)?;
        }
        Ok(Some(Split { along, others, is_along: split }))
    }
}

/// The need of a step for the number of cells of an axis of the request: it, or a step above it,
/// reads along the axis.
fn bit_along(plan: &Plan, step: StepId, axis: RequestAxis) -> Option<u32> {
    plan.needs_of(&plan.steps[step]).bits().find(|bit| {
        let need = plan.needs.need(*bit);
        need.aspect == Aspect::Extent && RequestAxis::of(need) == Some(axis)
    })
}

fn refuse(
    plan: &Plan,
    one_by_one: OneByOne,
    output: &str,
    step: StepId,
) -> Result<(), RequestError> {
    let Some(bit) = bit_along(plan, step, one_by_one.axis()) else { return Ok(()) };
    let path = plan.paths.get(plan.steps[reader_of(plan, step, bit)].path).to_string();
    Err(RequestError::AlongAxis { output: output.into(), path, one_by_one })
}
