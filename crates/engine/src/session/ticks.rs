//! Ticks of a session, and what its nodes keep.

use std::collections::HashMap;

use millstream_ir::states::{States, nodes_of};

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

    /// The nodes that keep something: their ids, path, and what they keep.
    pub(super) fn keepers(&self) -> Vec<Keeper> {
        let nodes = self.states.nodes().into_iter();
        let keepers = nodes.filter_map(|(path, variables)| {
            let ids = self.editor.ids_of(path)?;
            let variables = variables.into_iter().map(str::to_owned).collect();
            Some(Keeper { ids, path: path.to_owned(), variables })
        });
        keepers.collect()
    }

    /// Lets what nodes keep follow them to their new paths: to the same ids, or, where a node was
    /// grouped or ungrouped, to the node with the same last id, if there is one of it. A node that
    /// keeps something else now starts anew.
    pub(super) fn move_states(&mut self, before: Vec<Keeper>) {
        let Some(plan) = self.plans.running().filter(|_| !before.is_empty()) else { return };
        let now = nodes_of(plan);
        let mut exact: HashMap<Vec<u64>, &str> = HashMap::new();
        for path in now.keys() {
            exact.extend(self.editor.ids_of(path).map(|ids| (ids, *path)));
        }
        let mut by_last: HashMap<u64, Vec<&str>> = HashMap::new();
        for (ids, path) in &exact {
            by_last.entry(last(ids)).or_default().push(path);
        }
        let mut n_before: HashMap<u64, usize> = HashMap::new();
        for keeper in &before {
            *n_before.entry(last(&keeper.ids)).or_default() += 1;
        }
        let mut moved: HashMap<String, String> = HashMap::new();
        for keeper in before {
            let same_last = by_last.get(&last(&keeper.ids)).map(Vec::as_slice);
            let to = match (exact.get(&keeper.ids), same_last) {
                (Some(to), _) => Some(*to),
                (None, Some([only])) if n_before[&last(&keeper.ids)] == 1 => Some(*only),
                (None, _) => None,
            };
            let to = to.filter(|to| now[to].iter().eq(keeper.variables.iter()));
            moved.extend(to.map(|to| (keeper.path, to.to_owned())));
        }
        self.states = self.states.renamed(|path| moved.get(path).cloned());
    }
}

/// A node that keeps something, before an edit.
pub(super) struct Keeper {
    ids: Vec<u64>,
    path: String,
    variables: Vec<String>,
}

fn last(ids: &[u64]) -> u64 {
    ids.last().copied().unwrap_or_default()
}
