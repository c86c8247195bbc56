//! Tasks: a step in a context with the demanded cells.

use std::rc::Rc;

use millstream_base::Mask;
use millstream_ir::InputId;
use millstream_ir::answer::EvalError;
use millstream_ir::graph::ConstId;
use millstream_ir::plan::StepId;
use millstream_node::Data;

use crate::frame::FrameId;
use crate::shape::{AxisId, ShapeId, TooManyCells};
use crate::store::SlotId;

/// The demanded cells of a step.
#[derive(Clone, Debug)]
pub(crate) enum Demand {
    /// All cells, for any shape of the step.
    Full,
    /// Some cells.
    Part(Rc<Cells>),
}

/// The cells under a mask over a shape.
#[derive(Debug)]
pub(crate) struct Cells {
    pub(crate) shape: ShapeId,
    pub(crate) mask: Mask,
}

impl Demand {
    pub(crate) fn part(shape: ShapeId, mask: Mask) -> Self {
        Self::Part(Rc::new(Cells { shape, mask }))
    }

    pub(crate) fn is_part(&self) -> bool {
        match self {
            Self::Full => false,
            Self::Part(_) => true,
        }
    }
}

/// A demanded step.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) step: StepId,
    pub(crate) frame: FrameId,
    pub(crate) slot: SlotId,
    /// How far the walk has advanced the task.
    pub(crate) phase: u8,
    /// How far the mode of the walk has advanced the task, in its own numbering.
    pub(crate) turn: u8,
    pub(crate) demand: Demand,
}

/// The result of advancing a task.
pub(crate) enum Progress {
    /// It has its result, or failed.
    Done,
    /// It is not done: if it pushed tasks for inputs, these are on top of it now.
    Waiting,
}

/// Intermediate results of a task with scopes or arms, for its run.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// The demand on each input with a scope.
    pub(super) bodies: Vec<Body>,
    /// For each arm of a choice the cells that take it, over the shape.
    pub(super) arms: Vec<(ShapeId, Mask)>,
}

/// An input with a scope, ready to be evaluated.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) input: u16,
    /// The context of the linked step.
    pub(super) frame: FrameId,
    /// The axis to gather.
    pub(super) gather: Option<Gather>,
    /// The demand on the linked step; `None` if the axis has no cells.
    pub(super) demand: Option<Demand>,
}

/// The axis along which an input is gathered into lists.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gather {
    /// One cell: there is no axis.
    One,
    /// The cells of this axis.
    Along(AxisId),
    /// The axis has no cells, so the lists are empty and nothing is evaluated.
    Nothing,
}

impl Gather {
    /// The axis, if there is one.
    pub(crate) fn axis(self) -> Option<AxisId> {
        match self {
            Self::Along(axis) => Some(axis),
            Self::One | Self::Nothing => None,
        }
    }
}

/// Lists that were gathered for the step that runs.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(super) data: Data,
    pub(super) shape: ShapeId,
    /// The axis along which they were gathered.
    pub(crate) gather: Option<Gather>,
    /// The place of the items, if there are any.
    pub(crate) body: Option<Place>,
}

/// The place of an operand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Const(ConstId),
    Input(InputId),
    Slot(SlotId, u32),
    /// Lists that were gathered for the step that runs.
    Gathered(usize),
}

/// Why an evaluation ends, or a step has no result.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The whole evaluation ends.
    All(EvalError),
    /// A step has more cells than allowed, in this shape if that is known.
    Cells(Option<ShapeId>),
    /// State is read in an unlimited number of contexts, so the axes of a step cannot be found.
    Endless,
}

impl From<TooManyCells> for Stop {
    fn from(TooManyCells(shape): TooManyCells) -> Self {
        Self::Cells(Some(shape))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_small() {
        assert_eq!(size_of::<Task>(), 24);
    }
}
