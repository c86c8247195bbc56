//! Rewinding: the checkpoints of a session, and which of them a seek starts from.
//!
//! A seek to an earlier frame means playing all ticks from the start frame, with the document and
//! the settings of now. A checkpoint is the state after some of these ticks. So checkpoints are
//! taken only while the state is the one that playing from the start would give. An edit or a setting
//! drops them all, except for an input on which no state depends.

use millstream_ir::checkpoints::Checkpoints;
use millstream_ir::plan::{Plan, StepId, StepOp};
use millstream_ir::request::Given;
use millstream_ir::states::{States, is_state};

use super::Session;

/// The bytes of checkpoints, by default.
const CHECKPOINT_BYTES: usize = 1 << 28;

/// The checkpoints of a session.
#[derive(Debug)]
pub(super) struct Rewind {
    checkpoints: Checkpoints,
    /// Whether playing all ticks from the start would give the present state.
    is_replay: bool,
}

impl Rewind {
    /// No checkpoints, before the first tick.
    pub(super) fn new() -> Self {
        Self { checkpoints: Checkpoints::new(CHECKPOINT_BYTES), is_replay: true }
    }
}

impl Session {
    /// Sets how many bytes of state may be kept for rewinding, 256 MiB by default. The fewer there
    /// are, the more ticks a [`seek`](Self::seek) back plays again; with 0, it plays all of them.
    pub fn keep_checkpoints(&mut self, bytes: usize) {
        self.rewind.checkpoints.keep_at_most(bytes);
    }

    /// Whether playing all ticks from the start would give the present state.
    pub(super) fn is_replay(&self) -> bool {
        self.rewind.is_replay
    }

    /// Says whether playing all ticks from the start gives the present state.
    pub(super) fn set_replay(&mut self, is_replay: bool) {
        self.rewind.is_replay = is_replay;
    }

    /// Whether the next state of some node may depend on an input, which gets another value or, without
    /// one, its default. The number of values of a column is that of the elements, so it concerns all
    /// state.
    pub(super) fn state_depends_on(&mut self, input: &str, given: Option<&Given>) -> bool {
        let is_column = |given: Option<&Given>| matches!(given, Some(Given::Along(..)));
        let was_column = is_column(self.settings.inputs.get(input));
        // Without checkpoints there is nothing to keep, and no reason to look.
        if is_column(given) || was_column || self.rewind.checkpoints.is_empty() {
            return true;
        }
        match (&mut self.mirror, self.plans.running()) {
            (Some(mirror), _) => mirror.state_depends_on(&self.editor, input),
            (None, Some(plan)) => state_depends_on(plan, input),
            (None, None) => true,
        }
    }

    /// The document or a setting changed: the ticks played so far would now give other states.
    pub(super) fn forget_checkpoints(&mut self) {
        self.rewind.checkpoints.clear();
        let is_at_start = self.frame() == self.document().start_frame;
        self.rewind.is_replay = is_at_start && self.states.is_empty() && self.states.n_ticks() == 0;
    }

    /// Takes a checkpoint of the state before a frame, if it is due.
    pub(super) fn checkpoint(&mut self, frame: i64) {
        let n_ticks = frame.abs_diff(self.document().start_frame);
        if self.rewind.is_replay && n_ticks == self.states.n_ticks() {
            self.rewind.checkpoints.add(&self.states);
        }
    }

    /// The state that a seek to this frame starts from, with its frame: the nearest checkpoint, or
    /// the start. `None` if it starts from the present state, which is nearer.
    pub(super) fn start_of_seek(&self, frame: i64) -> Option<(i64, States)> {
        let start = self.document().start_frame;
        let (is_back, now) = (frame < self.frame(), self.frame());
        if !is_back && !self.rewind.is_replay {
            return None;
        }
        let states = self.rewind.checkpoints.at_most(frame.abs_diff(start));
        let from = states.map_or(start, |states| start.saturating_add_unsigned(states.n_ticks()));
        (is_back || from > now).then(|| (from, states.cloned().unwrap_or_default()))
    }
}

/// Whether the next state of some node depends on an input.
fn state_depends_on(plan: &Plan, input: &str) -> bool {
    let Some(input) = plan.input_named(input) else { return false };
    let hoisted = plan.outputs.iter().filter(|output| is_state(&output.name));
    let inside = plan.state_writers.iter().flat_map(|writer| &writer.values);
    let asked = plan.outputs.iter().filter(|_| !plan.state_writers.is_empty());
    let steps: Vec<StepId> =
        hoisted.chain(inside).chain(asked).map(|output| output.source.step).collect();
    let above = plan.steps_upstream_of(steps.into_iter());
    plan.steps
        .iter()
        .any(|(id, step)| above[id] && matches!(step.op, StepOp::Input(read) if read == input))
}
