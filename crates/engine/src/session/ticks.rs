//! Ticks of a session, and what its nodes keep.

use std::collections::HashMap;

use millstream_ir::states::{States, nodes_of};

use super::moves::Moves;
use super::{Ask, Evaluated, Session, SessionError};

impl Session {
    /// The frame that is evaluated.
    pub fn frame(&self) -> i64 {
        self.settings.frame.unwrap_or(self.document().start_frame)
    }

    /// Evaluates the frame, commits what its nodes keep, all or nothing, and goes on to the next
    /// frame. Gives what is asked, at the frame that was evaluated.
    ///
    /// # Errors
    /// If a node failed whose state would be committed, and as [`eval`](Self::eval); the session is
    /// as it was then.
    pub fn tick(&mut self, ask: &Ask) -> Result<Evaluated, SessionError> {
        let frame = self.frame();
        let ask = Ask { frame: Some(frame), time: None, what_if: Vec::new(), ..ask.clone() };
        // What has a mirror keeps nothing.
        let evaluated = match self.mirror {
            Some(_) => self.eval(&ask)?,
            None => self.eval_and_commit(&ask)?,
        };
        self.settings.frame = Some(frame + 1);
        self.settings.time = None;
        self.changed();
        Ok(evaluated)
    }

    /// Evaluates, and commits what nodes keep.
    fn eval_and_commit(&mut self, ask: &Ask) -> Result<Evaluated, SessionError> {
        let plan = self.newest_plan("the document")?;
        let request = self.request(&plan, ask).with_states(&plan);
        let mut answer = self.live.answer(&plan, &request)?;
        let mut states = self.states.clone();
        if !states.commit(&mut answer) {
            return Err(SessionError::Tick(answer.failures));
        }
        self.states = states;
        Ok(Evaluated::by_plan(answer, plan))
    }

    /// Goes to a frame. Going on by ticks keeps what nodes keep; going elsewhere starts anew, and
    /// plays the ticks from the document's start frame on.
    ///
    /// # Errors
    /// As [`tick`](Self::tick); the session is as it was then. Frames before the start are refused
    /// where nodes keep something.
    pub fn seek(&mut self, frame: i64) -> Result<(), SessionError> {
        let keeps = self.mirror.is_none() && self.plan().is_some_and(|plan| plan.has_states());
        if !keeps || frame == self.frame() {
            self.settings.frame = Some(frame);
            self.settings.time = None;
            self.changed();
            return Ok(());
        }
        let start = self.document().start_frame;
        let limits = self.engine.limits().clone();
        if frame < start || frame.abs_diff(start) > limits.repeat_count as u64 {
            let what = format!("frame {frame} is too far from frame {start}, where state starts");
            let hint = "go to another frame, or raise `repeat_count` in the limits";
            let error = millstream_ir::request::RequestError::Ticks { what, hint };
            return Err(millstream_ir::EvalError::Request(vec![error]).into());
        }
        let before = (self.states.clone(), self.settings.clone());
        let (mut states, first) = if frame > self.frame() {
            (self.states.clone(), self.frame())
        } else {
            (States::new(), start)
        };
        let plan = self.newest_plan("the document")?;
        for at in first..frame {
            self.states = states;
            let ask = Ask { frame: Some(at), ..Ask::default() };
            let request = self.request(&plan, &ask);
            // Nodes inside scopes keep on only where something asks for them.
            let request = if plan.keepers.is_empty() {
                request.only_states(&plan)
            } else {
                request.with_states(&plan)
            };
            let result = self.live.answer(&plan, &request);
            states = self.states.clone();
            let failed = match result {
                Ok(mut answer) => {
                    let is_whole = states.commit(&mut answer);
                    (!is_whole).then_some(SessionError::Tick(answer.failures))
                }
                Err(error) => Some(error.into()),
            };
            if let Some(error) = failed {
                (self.states, self.settings) = before;
                return Err(error);
            }
        }
        self.states = states;
        self.settings.frame = Some(frame);
        self.settings.time = None;
        self.changed();
        Ok(())
    }

    /// Lets what nodes keep start anew, at the document's start frame.
    pub fn restart(&mut self) {
        self.states = States::new();
        self.settings.frame = None;
        self.settings.time = None;
        self.changed();
    }

    /// Lets what nodes keep follow them to their new paths. A node that keeps something else now
    /// starts anew.
    pub(super) fn move_states(&mut self, moves: Option<&Moves>) {
        let Some(plan) = self.plans.running().filter(|_| !self.states.is_empty()) else { return };
        let now = nodes_of(plan);
        let moved: HashMap<String, String> = (self.states.nodes().into_iter())
            .filter_map(|(path, variables)| {
                let to = moves.map_or(Some(path), |moves| moves.get(path).map(String::as_str))?;
                let keeps_same = now.get(to).is_some_and(|now| *now == variables);
                keeps_same.then(|| (path.to_owned(), to.to_owned()))
            })
            .collect();
        self.states = self.states.renamed(|path| moved.get(path).cloned());
    }
}
