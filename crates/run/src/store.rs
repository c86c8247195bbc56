//! The store of one evaluation: the results of each step in each restricted context.
//!
//! Nearly every step is evaluated in only one context, so each step has a slot of its own, and a
//! map holds the slots of further contexts.

use millstream_base::Mask;
use millstream_base::id::Id;
use millstream_base::pages::room_in_huge_pages;
use millstream_ir::plan::{Plan, Step, StepId};
use millstream_node::Data;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::frame::{FrameId, Frames};
use crate::shape::{ShapeId, Shapes};

millstream_base::define_id!(SlotId, "z", "Where a step's results in one context are stored.");

/// The state of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing is computed.
    Empty,
    /// The cells in the mask of the slot are computed; the shape is the one found before values.
    Partial,
    /// Everything is computed.
    Full,
    /// Nothing ever will be computed: the step, or one of its sources, failed for all cells.
    Failed,
    /// Everything was computed, and the last user has run.
    Released,
}

/// The outputs of a step.
#[derive(Clone, Debug)]
pub(crate) enum Outputs {
    None,
    One(Data),
    Several(Box<[Option<Data>]>),
}

impl Outputs {
    /// The results of a step, one entry for each of its outputs.
    pub(crate) fn new(all: Vec<Option<Data>>) -> Self {
        match <[Option<Data>; 1]>::try_from(all) {
            Ok([Some(data)]) => Self::One(data),
            Ok([None]) => Self::None,
            Err(several) => Self::Several(several.into()),
        }
    }
}

/// The context and the state of a slot, which are read most often.
#[derive(Clone, Copy, Debug)]
struct Head {
    /// [`Frames::nowhere`] until the step is demanded.
    frame: FrameId,
    state: State,
}

/// The parts of a slot that are rarely read.
#[derive(Clone, Debug)]
pub(crate) struct Rest {
    /// The shape of the outputs that are columns.
    pub(crate) shape: ShapeId,
    /// The number of links that will still read it; for steps that are read from several contexts
    /// more than can be counted down.
    pub(crate) uses_left: u32,
    /// The computed cells of a slot that is partly computed.
    pub(crate) done: Option<Box<Mask>>,
    /// Cells that are known to fail: a demand for one of them fails.
    pub(crate) bad: Option<Box<Bad>>,
}

/// Cells that fail. The shape may lack axes of the step; then all cells over those of the mask
/// fail.
#[derive(Clone, Debug)]
pub(crate) struct Bad {
    pub(crate) shape: ShapeId,
    pub(crate) cells: Mask,
}

impl Rest {
    fn new(step: &Step) -> Self {
        Self {
            shape: Shapes::scalar(),
            uses_left: if step.is_local { step.n_users } else { u32::MAX },
            done: None,
            bad: None,
        }
    }
}

/// All slots of one evaluation. The parts of a slot are stored separately, so that walking over
/// many steps touches little memory.
#[derive(Debug)]
pub(crate) struct Store {
    heads: Vec<Head>,
    outputs: Vec<Outputs>,
    rest: Vec<Rest>,
    further: FxHashMap<(StepId, FrameId), SlotId>,
}

impl Store {
    /// Room for each step of the plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let n = plan.steps.len();
        let mut heads = room_in_huge_pages(n);
        heads.resize(n, Head { frame: Frames::nowhere(), state: State::Empty });
        let mut outputs = room_in_huge_pages(n);
        outputs.resize(n, Outputs::None);
        let mut rest = room_in_huge_pages(n);
        rest.extend(plan.steps.as_slice().iter().map(Rest::new));
        Self { heads, outputs, rest, further: FxHashMap::default() }
    }

    /// The slot of a step in a context.
    #[inline]
    pub(crate) fn slot(&mut self, step: StepId, frame: FrameId, plan: &Plan) -> SlotId {
        let own = &mut self.heads[step.index()];
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
        let slot = SlotId::from_index(self.heads.len());
        self.heads.push(Head { frame, state: State::Empty });
        self.outputs.push(Outputs::None);
        self.rest.push(Rest::new(&plan.steps[step]));
        self.further.insert((step, frame), slot);
        slot
    }

    /// The slot of a step in a context, if it was demanded.
    #[inline]
    pub(crate) fn find(&self, step: StepId, frame: FrameId) -> Option<SlotId> {
        if self.heads[step.index()].frame == frame {
            return Some(SlotId::from_index(step.index()));
        }
        self.further.get(&(step, frame)).copied()
    }

    /// The state of a slot.
    #[inline]
    pub(crate) fn state(&self, slot: SlotId) -> State {
        self.heads[slot.index()].state
    }

    #[inline]
    pub(crate) fn set_state(&mut self, slot: SlotId, state: State) {
        self.heads[slot.index()].state = state;
    }

    /// Whether nothing is left to compute.
    #[inline]
    pub(crate) fn is_done(&self, slot: SlotId) -> bool {
        match self.state(slot) {
            State::Full | State::Failed | State::Released => true,
            State::Empty | State::Partial => false,
        }
    }

    /// Data and shape of an output that was computed.
    #[inline]
    pub(crate) fn output(&self, slot: SlotId, output: u32) -> (&Data, ShapeId) {
        let data = match &self.outputs[slot.index()] {
            Outputs::One(data) => data,
            Outputs::Several(all) => {
                all[output as usize].as_ref().expect("outputs with users are computed")
            }
            Outputs::None => panic!("a step is computed before it is read"),
        };
        match data {
            Data::One(_) => (data, Shapes::scalar()),
            Data::Many(_) => (data, self.rest[slot.index()].shape),
        }
    }

    pub(crate) fn outputs(&self, slot: SlotId) -> &Outputs {
        &self.outputs[slot.index()]
    }

    #[inline]
    pub(crate) fn outputs_mut(&mut self, slot: SlotId) -> &mut Outputs {
        &mut self.outputs[slot.index()]
    }

    /// Takes the results of all slots, in order of the steps.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Data> {
        self.outputs.iter_mut().flat_map(|outputs| {
            match std::mem::replace(outputs, Outputs::None) {
                Outputs::None => SmallVec::<[Data; 1]>::new(),
                Outputs::One(data) => smallvec![data],
                Outputs::Several(all) => all.into_iter().flatten().collect(),
            }
        })
    }

    /// Removes and returns the outputs.
    pub(crate) fn take_outputs(&mut self, slot: SlotId) -> Outputs {
        std::mem::replace(self.outputs_mut(slot), Outputs::None)
    }

    pub(crate) fn rest(&self, slot: SlotId) -> &Rest {
        &self.rest[slot.index()]
    }

    pub(crate) fn rest_mut(&mut self, slot: SlotId) -> &mut Rest {
        &mut self.rest[slot.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_small() {
        assert_eq!(size_of::<Head>(), 8);
        assert_eq!(size_of::<Outputs>(), 24);
        assert_eq!(size_of::<Rest>(), 24);
    }
}
