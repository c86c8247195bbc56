//! The store of one evaluation: for each step and restricted context what was computed.
//!
//! Nearly every step is evaluated in one context only, so each step has a slot of its own and
//! further contexts find theirs through a map.

use millstream_base::Mask;
use millstream_base::id::Id;
use millstream_ir::plan::{Plan, Step, StepId};
use millstream_kernel::Data;
use rustc_hash::FxHashMap;

use crate::frame::{FrameId, Frames};
use crate::shape::{ShapeId, Shapes};

millstream_base::define_id!(SlotId, "z", "Where a step's results in one context are stored.");

/// How far a slot is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing is.
    Empty,
    /// The cells of the slot's mask are; the shape is the one found before values.
    Partial,
    /// Everything is.
    Full,
    /// The step, or one that it reads, failed.
    Failed,
    /// Everything was, and its last user has run.
    Released,
}

/// The outputs of a step.
#[derive(Clone, Debug)]
pub(crate) enum Outputs {
    None,
    One(Data),
    Several(Box<[Option<Data>]>),
}

/// The results of a step in one context.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// The context; [`Frames::nowhere`] until the step is asked for.
    frame: FrameId,
    pub(crate) state: State,
    /// The cells that are computed, of a slot that is computed in part.
    pub(crate) done: Option<Box<Mask>>,
    /// Shape of those outputs that are columns.
    pub(crate) shape: ShapeId,
    pub(crate) outputs: Outputs,
    /// Links that have not read it for the last time yet; of steps that are read from several
    /// contexts more than can be counted down.
    pub(crate) uses_left: u32,
}

impl Slot {
    fn new(frame: FrameId, step: &Step) -> Self {
        Self {
            frame,
            state: State::Empty,
            done: None,
            shape: Shapes::scalar(),
            outputs: Outputs::None,
            uses_left: if step.is_local { step.n_users } else { u32::MAX },
        }
    }

    /// Data and shape of an output that was computed.
    #[inline]
    pub(crate) fn output(&self, output: u32) -> (&Data, ShapeId) {
        let data = match &self.outputs {
            Outputs::One(data) => data,
            Outputs::Several(all) => {
                all[output as usize].as_ref().expect("outputs with users are computed")
            }
            Outputs::None => panic!("a step is computed before it is read"),
        };
        match data {
            Data::One(_) => (data, Shapes::scalar()),
            Data::Many(_) => (data, self.shape),
        }
    }

    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        match self.state {
            State::Full | State::Failed | State::Released => true,
            State::Empty | State::Partial => false,
        }
    }
}

/// All slots of one evaluation.
#[derive(Debug)]
pub(crate) struct Store {
    slots: Vec<Slot>,
    further: FxHashMap<(StepId, FrameId), SlotId>,
}

impl Store {
    /// Room for each step of the plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let slots = plan.steps.as_slice().iter().map(|step| Slot::new(Frames::nowhere(), step)).collect();
        Self { slots, further: FxHashMap::default() }
    }

    /// The slot of a step in a context.
    #[inline]
    pub(crate) fn slot(&mut self, step: StepId, frame: FrameId, plan: &Plan) -> SlotId {
        let own = &mut self.slots[step.index()];
        if own.frame == Frames::nowhere() {
            own.frame = frame;
        }
        if own.frame == frame {
            return SlotId::from_index(step.index());
        }
        self.further_slot(step, frame, plan)
    }

    /// The slot of a step that has its own slot in another context.
    #[cold]
    fn further_slot(&mut self, step: StepId, frame: FrameId, plan: &Plan) -> SlotId {
        if let Some(slot) = self.further.get(&(step, frame)) {
            return *slot;
        }
        let slot = SlotId::from_index(self.slots.len());
        self.slots.push(Slot::new(frame, &plan.steps[step]));
        self.further.insert((step, frame), slot);
        slot
    }

    /// The slot of a step in a context, if it was asked for.
    #[inline]
    pub(crate) fn find(&self, step: StepId, frame: FrameId) -> Option<SlotId> {
        if self.slots[step.index()].frame == frame {
            return Some(SlotId::from_index(step.index()));
        }
        self.further.get(&(step, frame)).copied()
    }

    #[inline]
    pub(crate) fn get(&self, slot: SlotId) -> &Slot {
        &self.slots[slot.index()]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: SlotId) -> &mut Slot {
        &mut self.slots[slot.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_seven_words() {
        assert!(size_of::<Slot>() <= 56, "{} bytes, {} of outputs", size_of::<Slot>(), size_of::<Outputs>());
    }
}
