//! Ticks of a session, and the state of its nodes.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use millstream_ir::states::{States, nodes_of};
use millstream_ir::{Answer, Done, EvalError, Plan, Watch};
use millstream_run::ticks::reach;

use super::ask::For;
use super::failed::FailedTicks;
use super::moves::Moves;
use super::{Ask, Evaluated, Session, SessionError};

impl Session {
    /// The current frame.
    pub fn frame(&self) -> i64 {
        self.settings.frame.unwrap_or(self.document().start_frame)
    }

    /// Evaluates the frame, commits the next state of all nodes, and moves to the next frame. Returns
    /// the outputs at the frame that was evaluated. The state is that of a request for all outputs,
    /// whatever `ask` requests. State whose next value fails stays as it is, element by element;
    /// from then on, answers that depend on it tell the failure with its frame.
    ///
    /// # Errors
    /// If `ask` has what-ifs, a time or another
    /// frame; at the last possible frame; and as [`eval`](Self::eval). Then the session is
    /// unchanged.
    pub fn tick(&mut self, ask: &Ask) -> Result<Evaluated, SessionError> {
        let frame = self.frame();
        let refused = |what: String, hint| Err(SessionError::NoTick { what, hint });
        if let Some((name, _)) = ask.what_if.first() {
            let what = format!("input `{name}` has another value in this evaluation only");
            return refused(what, "set the input, or use `eval`, which changes no state");
        }
        if ask.time.is_some() || ask.frame.is_some_and(|asked| asked != frame) {
            let what = format!("the request is for another moment than frame {frame}");
            return refused(what, "go there with `seek`, or use `eval`, which changes no state");
        }
        let Some(next) = frame.checked_add(1) else {
            return refused(format!("frame {frame} is the last one"), "go to another with `seek`");
        };
        let ask = Ask { frame: Some(frame), ..ask.clone() };
        let keeps = self.mirror.as_ref().is_none_or(|mirror| mirror.keeps());
        let evaluated = if keeps { self.eval_and_commit(&ask)? } else { self.eval(&ask)? };
        self.checkpoint(next);
        self.settings.frame = Some(next);
        self.settings.time = None;
        self.changed();
        Ok(evaluated)
    }

    /// Evaluates, and commits the next state.
    fn eval_and_commit(&mut self, ask: &Ask) -> Result<Evaluated, SessionError> {
        self.check_outputs(ask)?;
        if let Some(answer) = self.eval_mirror(ask, For::Tick) {
            let mut evaluated = answer?;
            self.tell_failed(ask, &mut evaluated.answer)?;
            return Ok(evaluated);
        }
        let plan = self.newest_plan("the document")?;
        let request = |it: &Self, plan: &Plan| Ok(it.request(plan, ask)?.with_whole_tick(plan));
        let (mut answer, plan) = self.answer(plan, request)?;
        let before = self.failed.clone();
        self.commit(&plan, ask, &mut answer)?;
        self.keep_asked(&plan, ask, &mut answer)?;
        let now = std::mem::replace(&mut self.failed, before);
        let told = self.tell_failed(ask, &mut answer);
        self.failed = now;
        told?;
        Ok(Evaluated::by_plan(answer, plan))
    }

    /// Takes the outputs out of an answer that were evaluated only because state advances where they
    /// read it, and their failures.
    fn keep_asked(&self, plan: &Plan, ask: &Ask, answer: &mut Answer) -> Result<(), SessionError> {
        if ask.outputs.is_empty() || answer.outputs.len() == ask.outputs.len() {
            return Ok(());
        }
        answer.outputs.truncate(ask.outputs.len());
        let request = self.request(plan, ask)?;
        let (reads, _) = request.state_reads(plan);
        reads.keep_failures(answer, &request.steps_in(plan), &vec![true; reads.nodes.len()]);
        Ok(())
    }

    /// Goes to a frame. Going forward plays the ticks from here; going back plays the ticks from
    /// the document's start frame with the present document and settings, or from a checkpoint on
    /// that way (see [`keep_checkpoints`](Self::keep_checkpoints)).
    ///
    /// # Errors
    /// As [`tick`](Self::tick). If nodes have state, frames before the start are refused, and those
    /// that take more ticks than the engine's limits allow. Then the session is unchanged.
    pub fn seek(&mut self, frame: i64) -> Result<(), SessionError> {
        let limits = self.engine.limits().clone();
        self.seek_within(frame, &Ask { limits, ..Ask::all() })
    }

    /// Goes to a frame as [`seek`](Self::seek). The limits, the budget and the progress of `ask`
    /// apply to all ticks together; its outputs are ignored.
    ///
    /// # Errors
    /// As [`seek`](Self::seek), if it was cancelled, or if `ask` has what-ifs or another moment.
    /// Then the session is unchanged.
    pub fn seek_within(&mut self, frame: i64, ask: &Ask) -> Result<(), SessionError> {
        if let Some((name, _)) = ask.what_if.first() {
            let what = format!("input `{name}` has another value in this evaluation only");
            return Err(SessionError::NoTick { what, hint: "set the input" });
        }
        if ask.time.is_some() || ask.frame.is_some_and(|asked| asked != frame) {
            let what = format!("the request is for another moment than frame {frame}");
            return Err(SessionError::NoTick { what, hint: "request no other moment" });
        }
        ask.budget.check().map_err(EvalError::from)?;
        let keeps = match &self.mirror {
            Some(mirror) => mirror.keeps(),
            None => self.plan().is_some_and(|plan| plan.has_states()),
        };
        let is_back = frame < self.frame();
        if !keeps && is_back {
            self.forget_aside();
        }
        if !keeps || frame == self.frame() {
            self.settings.frame = Some(frame);
            self.settings.time = None;
            self.changed();
            return Ok(());
        }
        let start = self.document().start_frame;
        reach(start, frame, &ask.limits).map_err(|error| EvalError::Request(vec![error]))?;
        let before = (self.states.clone(), self.is_replay(), self.failed.clone());
        let mut first = self.frame();
        if let Some((from, states)) = self.start_of_seek(frame) {
            first = from;
            self.keep(states);
            self.set_replay(true);
            self.failed.rewind(from);
        }
        if let Err(error) = self.play(first..frame, ask) {
            self.keep(before.0);
            self.set_replay(before.1);
            self.failed = before.2;
            return Err(error);
        }
        if is_back {
            self.forget_aside();
        }
        self.settings.frame = Some(frame);
        self.settings.time = None;
        self.changed();
        Ok(())
    }

    /// Plays ticks one after the other, computing only state.
    fn play(&mut self, frames: Range<i64>, ask: &Ask) -> Result<(), SessionError> {
        let (first, n_ticks) = (frames.start, frames.end.abs_diff(frames.start));
        let progress = ask.progress.as_ref();
        let watch = Watch::new(&ask.budget, progress, Done::totals(0, n_ticks));
        for frame in frames {
            let n_done = frame.abs_diff(first);
            watch.check(Done::of_ticks(n_done))?;
            let progress = progress.map(|progress| progress.of_tick(n_done, n_ticks));
            let (limits, budget) = (ask.limits.clone(), ask.budget.clone());
            let ask = Ask { frame: Some(frame), limits, budget, progress, ..Ask::default() };
            if let Some(answer) = self.eval_mirror(&ask, For::States) {
                answer?;
                self.checkpoint(frame + 1);
                continue;
            }
            let plan = self.newest_plan("the document")?;
            let request = self.request(&plan, &ask)?.only_outputs(&[]).with_whole_tick(&plan);
            let mut answer = self.live.answer(&plan, &request)?;
            self.commit(&plan, &ask, &mut answer)?;
            self.checkpoint(frame + 1);
        }
        Ok(())
    }

    /// Replaces the state of all nodes.
    pub(super) fn keep(&mut self, states: States) {
        self.states = states;
        if let Some(mirror) = &mut self.mirror {
            mirror.states_changed(&self.editor);
        }
    }

    /// Resets all state, at the document's start frame.
    pub fn restart(&mut self) {
        self.keep(States::new());
        self.set_replay(true);
        self.failed = FailedTicks::default();
        self.forget_aside();
        self.settings.frame = None;
        self.settings.time = None;
        self.changed();
    }

    /// Whether nodes have state, or had before they stopped working.
    pub(super) fn has_states(&self) -> bool {
        !self.states.is_empty() || !self.aside.is_empty()
    }

    /// Drops the state set aside for nodes that are gone or do not work, since it belongs to
    /// another time.
    fn forget_aside(&mut self) {
        self.aside = States::new();
        for step in self.undo.iter_mut().chain(&mut self.redo) {
            step.removed.states = States::new();
        }
    }

    /// Lets state follow nodes to their new paths, and restores the state in `back`. The state of
    /// nodes that exist but do not work is set aside for as long as it would fit them. Returns the
    /// state of removed nodes.
    pub(super) fn move_states(&mut self, moves: Option<&Moves>, back: States) -> States {
        let gone = self.mirror.as_mut().and_then(|mirror| mirror.take_gone_states());
        if !self.has_states() && back.is_empty() {
            return States::new();
        }
        if let (Some(gone), None) = (gone, moves) {
            return self.move_states_of(&gone, back);
        }
        let place = |path: &str| -> Option<String> {
            let to = moves.map_or(Some(path), |moves| moves.get(path).map(String::as_str))?;
            self.editor.ids_of(to).map(|_| to.to_owned())
        };
        let gone = |path: &str| place(path).is_none().then(|| path.to_owned());
        let mut removed = self.states.renamed(gone);
        removed.extend(&self.aside.renamed(gone));
        let (kept, _) = self.settled([self.states.renamed(place), self.aside.renamed(place), back]);
        self.keep(kept);
        removed
    }

    /// As [`Self::move_states`], if no path changed and only the nodes at these paths were removed.
    fn move_states_of(&mut self, gone: &[Arc<str>], back: States) -> States {
        let aside = std::mem::take(&mut self.aside);
        if gone.is_empty() && aside.is_empty() && back.is_empty() {
            return States::new();
        }
        let others = aside.nodes().into_keys().chain(back.nodes().into_keys());
        let paths: HashSet<&str> = gone.iter().map(|path| &**path).chain(others).collect();
        let states = self.states.take(paths);
        let is_there = |path: &str| self.editor.ids_of(path).is_some();
        let place = |path: &str| is_there(path).then(|| path.to_owned());
        let gone = |path: &str| (!is_there(path)).then(|| path.to_owned());
        let mut removed = states.renamed(gone);
        removed.extend(&aside.renamed(gone));
        let (kept, paths) = self.settled([states.renamed(place), aside.renamed(place), back]);
        if let Some(mirror) = &mut self.mirror {
            mirror.states_changed_at(&self.editor, paths.iter().map(String::as_str));
        }
        self.states.extend(&kept);
        removed
    }

    /// The state of nodes from now on, with their paths: of several candidates the first that fits.
    /// The rest is set aside.
    fn settled(&mut self, [first, others @ ..]: [States; 3]) -> (States, HashSet<String>) {
        let mut paths = HashSet::new();
        let (mut kept, mut aside) = (first.renamed(|_| None), States::new());
        for states in [first].into_iter().chain(others) {
            let works = self.working(&states);
            kept.extend(&states.renamed(|path| works.contains(path).then(|| path.to_owned())));
            aside.extend(&states.renamed(|path| (!works.contains(path)).then(|| path.to_owned())));
            paths.extend(works);
        }
        self.aside = aside;
        (kept, paths)
    }

    /// The paths of nodes whose state has these names.
    fn working(&self, states: &States) -> HashSet<String> {
        // If a mirror answers there need be no plan, and without either no node has state.
        let now = self.plans.running().filter(|_| self.mirror.is_none());
        let now = now.map(|plan| nodes_of(plan)).unwrap_or_default();
        let works = states.nodes().into_iter().filter(|(path, variables)| match &self.mirror {
            Some(mirror) => mirror.keeps_at(&self.editor, path, variables),
            None => now.get(path).is_some_and(|now| now == variables),
        });
        works.map(|(path, _)| path.to_owned()).collect()
    }
}
