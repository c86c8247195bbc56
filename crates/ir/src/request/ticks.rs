//! Requests to plans that keep state from tick to tick.

use millstream_base::Feature;

use super::{Frames, Given, Request};
use crate::keeping::Tables;
use crate::plan::Plan;
use crate::states::is_state;

impl Request {
    /// Asks also for what nodes keep from one tick to the next; without any call of
    /// [`output`](Self::output) for all outputs too.
    pub fn with_states(mut self, plan: &Plan) -> Self {
        let names = plan.outputs.iter().map(|output| &output.name);
        let has_states = self.outputs.is_some();
        let wanted = names.filter(|name| !has_states || is_state(name));
        let wanted: Vec<String> = wanted.map(ToString::to_string).collect();
        self.outputs.get_or_insert_default().extend(wanted);
        self
    }

    /// Asks for what nodes keep from one tick to the next and nothing else.
    pub fn only_states(mut self, plan: &Plan) -> Self {
        self.outputs = Some(Vec::new());
        self.with_states(plan)
    }

    /// Gives what nodes keep for elements.
    pub fn with_kept(mut self, kept: Tables) -> Self {
        self.kept = kept;
        self
    }

    /// What nodes keep for elements.
    pub fn kept(&self) -> &Tables {
        &self.kept
    }

    /// The frames asked for, and whether they open the time axis; `None` without any.
    pub fn asked_frames(&self) -> Option<(Vec<i64>, bool)> {
        match &self.frames {
            None => None,
            Some(Frames::One(frame)) => Some((vec![*frame], false)),
            Some(Frames::Many(frames)) => Some((frames.clone(), true)),
        }
    }

    /// Whether a time is given that is no frame, or anything else than frames along the time axis.
    pub fn has_own_times(&self) -> bool {
        self.features.iter().any(|(feature, given)| {
            matches!(feature, Feature::Time | Feature::Tick) || matches!(given, Given::PerTime(_))
        })
    }

    /// Whether an input has a value per moment.
    pub fn varies_in_time(&self) -> bool {
        self.inputs.iter().any(|(_, given)| matches!(given, Given::PerTime(_)))
    }

    /// The same request for one frame; `position` is its place along the time axis, for inputs that
    /// have a value per moment.
    pub fn at_frame(&self, frame: i64, position: usize) -> Self {
        let mut request = self.clone();
        request.frames = Some(Frames::One(frame));
        for (_, given) in &mut request.inputs {
            if let Given::PerTime(column) = given
                && position < column.len()
            {
                *given = Given::One(column.get(position));
            }
        }
        request
    }
}
