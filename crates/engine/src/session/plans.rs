//! The plans of a session: a plain one after each edit, an optimised one when it is ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use millstream_base::Limits;
use millstream_base::diagnostics::Diagnostics;
use millstream_compile::{Folded, Options, Phase, compile};
use millstream_document::check::check_partly;
use millstream_document::edit::Ids;
use millstream_document::{Checked, Document, Edit, Editor};
use millstream_ir::{EvalError, Plan};
use millstream_node::Registry;

use super::sound::planned;
use super::swap::{Background, Current, Job, Waited, Work};
use crate::engine::Engine;

/// The document that the thread compiles.
enum Source {
    Nothing,
    Checked(Arc<Checked>),
    /// The document as the thread has it.
    Copy,
}

/// News for the thread.
enum News {
    Dropped(#[expect(dead_code, reason = "it is only dropped")] Old),
    /// The document, as it is now, with the ids of its nodes.
    Document(Box<(Document, Ids)>),
    /// Edits are not told any more.
    Leave,
    /// It was edited; whether the edit was taken back or made again.
    Edited(Box<Edit>, bool),
}

/// A value that the thread drops.
pub(super) enum Old {
    Plan(#[expect(dead_code, reason = "it is only dropped")] Made),
    Checked(#[expect(dead_code, reason = "it is only dropped")] Arc<Checked>),
}

/// The plan that the thread made; `None` if the document has none.
type Made = Option<Arc<Plan>>;

/// The copy of the document that the thread has did not follow an edit.
struct OutOfStep;

/// The thread's side.
struct Compiler {
    registry: Arc<Registry>,
    limits: Limits,
    folded: Arc<Folded>,
    stop: Arc<AtomicBool>,
    copy: Option<Editor>,
}

impl Compiler {
    fn compiled(&self, checked: &Checked) -> Result<Plan, Diagnostics> {
        let options = options(&self.limits, &self.folded, None);
        let options = Options { stop: Some(Arc::clone(&self.stop)), ..options };
        compile(checked, &self.registry, &options)
    }
}

impl Drop for Plans {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Work<News, Source, Result<Made, OutOfStep>> for Compiler {
    fn feed(&mut self, news: News) {
        match news {
            News::Dropped(_) => {}
            News::Document(copy) => {
                let (document, ids) = *copy;
                let editor = Editor::with_ids(document, Arc::clone(&self.registry), &ids);
                self.copy = Some(editor.with_limits(self.limits.clone()));
            }
            News::Leave => self.copy = None,
            News::Edited(edit, is_back) => {
                let Some(copy) = &mut self.copy else { return };
                let result = if is_back { copy.revert(&edit) } else { copy.apply(&edit) };
                if result.is_err() {
                    self.copy = None;
                }
            }
        }
    }

    fn make(&mut self, source: Source) -> Result<Made, OutOfStep> {
        let checked = match source {
            Source::Nothing => None,
            Source::Checked(checked) => Some(checked),
            Source::Copy => {
                let document = self.copy.as_ref().ok_or(OutOfStep)?.document();
                let (checked, _) = check_partly(document, &self.registry, &self.limits);
                let Some(checked) = checked else { return Ok(None) };
                let (made, _) = planned(Arc::new(checked), |checked| self.compiled(checked));
                return Ok(made.map(|(_, plan)| Arc::new(plan)));
            }
        };
        let compiled = |checked| planned(checked, |checked| self.compiled(checked)).0;
        Ok(checked.and_then(compiled).map(|(_, plan)| Arc::new(plan)))
    }

    fn calm(&self, source: &Source, last: Duration) -> Duration {
        let least = match source {
            Source::Nothing | Source::Checked(_) => Duration::ZERO,
            Source::Copy => SHORTEST_CALM,
        };
        last.clamp(least, LONGEST_CALM)
    }
}

/// The least time without edits before a live document is compiled: longer than some frames take,
/// so that nothing is compiled between them.
const SHORTEST_CALM: Duration = Duration::from_millis(100);

/// The longest time without edits that is waited for before compiling.
const LONGEST_CALM: Duration = Duration::from_millis(250);

/// Time between two looks at whether a plan is still waited for.
const LOOK: Duration = Duration::from_millis(2);

/// The plans of a session.
pub(super) struct Plans {
    registry: Arc<Registry>,
    limits: Limits,
    /// Results of functions for constants, shared with the thread.
    folded: Arc<Folded>,
    /// Set to end the compilation in the thread.
    stop: Arc<AtomicBool>,
    current: Current<Made>,
    /// Whether a plan of the document as it is now was made, or tried.
    is_made: bool,
    /// The thread has a copy of the document, and is told its edits.
    is_told: bool,
    background: Background<News, Source, Result<Made, OutOfStep>>,
}

impl Plans {
    pub(super) fn new(engine: &Engine) -> Self {
        let (registry, limits) = (engine.shared_registry(), engine.limits().clone());
        let folded = Arc::new(Folded::default());
        let stop = Arc::new(AtomicBool::new(false));
        let compiler = Compiler {
            registry: Arc::clone(&registry),
            limits: limits.clone(),
            folded: Arc::clone(&folded),
            stop: Arc::clone(&stop),
            copy: None,
        };
        let (current, background) = (Current::new(None), Background::new(compiler));
        let (is_made, is_told) = (false, false);
        Self { registry, limits, folded, stop, current, is_made, is_told, background }
    }

    pub(super) fn running(&self) -> Option<&Arc<Plan>> {
        self.current.running().as_ref()
    }

    pub(super) fn is_optimised(&self) -> bool {
        self.current.is_optimised()
    }

    /// Whether a plan of the document as it is now was made, or tried.
    pub(super) fn is_made(&self) -> bool {
        self.is_made
    }

    /// The document was edited, and the edit is not told.
    pub(super) fn edited(&mut self) {
        self.outdated();
        if std::mem::take(&mut self.is_told) {
            self.background.send(Job::Feed(News::Leave));
        }
    }

    /// Has the optimised plan made of the part of the document of which the plain one was made.
    pub(super) fn optimise(&mut self, checked: Option<&Arc<Checked>>) {
        let source =
            checked.map_or(Source::Nothing, |checked| Source::Checked(Arc::clone(checked)));
        self.background.send_now(Job::Make(self.current.edit(), source));
    }

    /// Has the optimised plan made of a document whose edits will be told.
    pub(super) fn opened(&mut self, editor: &Editor, checked: &Arc<Checked>) {
        self.outdated();
        self.hand_over(editor);
        let source = Source::Checked(Arc::clone(checked));
        self.background.send_now(Job::Make(self.current.edit(), source));
    }

    fn hand_over(&mut self, editor: &Editor) {
        let copy = Box::new((editor.document().clone(), editor.ids()));
        self.background.send(Job::Feed(News::Document(copy)));
        self.is_told = true;
    }

    /// Has the optimised plan made after an edit of a document that was [opened](Self::opened).
    pub(super) fn told(&mut self, edit: &Edit, is_back: bool) {
        self.outdated();
        self.noted(edit, is_back);
        // A thread that has no copy any more says so, and is given one.
        self.background.send(Job::Make(self.current.edit(), Source::Copy));
    }

    /// An edit was made that no plan depends on.
    pub(super) fn noted(&mut self, edit: &Edit, is_back: bool) {
        if self.is_told && self.background.is_far_behind() {
            self.is_told = false;
            self.background.send(Job::Feed(News::Leave));
        }
        if self.is_told {
            self.background.send(Job::Feed(News::Edited(Box::new(edit.clone()), is_back)));
        }
    }

    /// Marks the running plan as that of an earlier document.
    fn outdated(&mut self) {
        let old = self.current.edited(None);
        self.is_made = false;
        if old.is_some() {
            self.dropped(Old::Plan(old));
        }
    }

    /// Has something dropped by the thread.
    pub(super) fn dropped(&self, old: Old) {
        self.background.send(Job::Feed(News::Dropped(old)));
    }

    /// Runs the plain plan of the document as it is now, if it has one.
    pub(super) fn run(&mut self, plan: Option<Plan>) {
        self.is_made = true;
        if let Some(plan) = plan {
            self.current.run(Some(Arc::new(plan)));
        }
    }

    /// Takes the optimised plan over if it is ready; says whether it did.
    pub(super) fn poll(&mut self, editor: &Editor) -> bool {
        let mut swapped = false;
        while let Some((edit, made)) = self.background.take() {
            swapped |= self.offer(edit, made, editor);
        }
        swapped
    }

    /// Waits for the optimised plan and takes it over; says whether it did.
    pub(super) fn wait(&mut self, editor: &Editor) -> bool {
        let mut swapped = false;
        while !self.current.is_optimised() {
            self.background.hurry();
            let Some((edit, made)) = self.background.wait() else { break };
            swapped |= self.offer(edit, made, editor);
        }
        swapped
    }

    /// As [`wait`](Self::wait), until `look` fails; compiling goes on after that.
    ///
    /// # Errors
    /// The error of `look`.
    pub(super) fn wait_while(
        &mut self,
        editor: &Editor,
        look: impl Fn() -> Result<(), EvalError>,
    ) -> Result<bool, EvalError> {
        let mut swapped = false;
        while !self.current.is_optimised() {
            self.background.hurry();
            let made = loop {
                look()?;
                match self.background.wait_for(LOOK) {
                    Waited::Made(edit, made) => break Some((edit, made)),
                    Waited::NotYet => {}
                    Waited::Gone => break None,
                }
            };
            let Some((edit, made)) = made else { break };
            swapped |= self.offer(edit, made, editor);
        }
        Ok(swapped)
    }

    fn offer(&mut self, edit: u64, made: Result<Made, OutOfStep>, editor: &Editor) -> bool {
        let Ok(made) = made else {
            // What is made for a later edit is lost too.
            if edit == self.current.edit() {
                self.hand_over(editor);
                self.background.send(Job::Make(edit, Source::Copy));
            }
            return false;
        };
        let was_optimised = self.current.is_optimised();
        let old = self.current.offer(edit, made);
        self.dropped(Old::Plan(old));
        let swapped = self.current.is_optimised() && !was_optimised;
        self.is_made |= swapped;
        swapped
    }

    /// The optimised plan of a document, made at once.
    ///
    /// # Errors
    /// Why there is no plan.
    pub(super) fn optimised(&self, checked: &Checked) -> Result<Plan, Diagnostics> {
        self.plan(checked, None)
    }

    /// The plain plan of a document; if there is none, the optimised one, in which nodes that
    /// nobody reads are left out.
    ///
    /// # Errors
    /// Why there is no plan.
    pub(super) fn plain(&self, checked: &Checked) -> Result<Plan, Diagnostics> {
        let plain = self.plan(checked, Some(Phase::Conversions));
        plain.or_else(|problems| self.plan(checked, None).map_err(|_| problems))
    }

    fn plan(&self, checked: &Checked, after: Option<Phase>) -> Result<Plan, Diagnostics> {
        compile(checked, &self.registry, &options(&self.limits, &self.folded, after))
    }
}

fn options(limits: &Limits, folded: &Arc<Folded>, after: Option<Phase>) -> Options {
    let folded = Some(Arc::clone(folded));
    Options { limits: limits.clone(), after, folded, ..Options::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_does_not_follow_is_replaced() {
        let engine = Engine::new();
        let text = r#"{ "millstream": 1, "outputs": { "y": { "type": "f64", "from": "a.value" } },
            "nodes": { "a": { "type": "math.sin", "in": { "x": 1.0 } } } }"#;
        let (document, _) = millstream_document::load(text.as_bytes(), engine.limits());
        let mut editor = Editor::new(document.expect("it loads"), engine.shared_registry());
        let mut plans = Plans::new(&engine);
        let (checked, _) =
            millstream_document::check(editor.document(), engine.registry(), engine.limits());
        plans.opened(&editor, &Arc::new(checked.expect("it is right")));
        let rename = |from: &str, to: &str| Edit::RenameNode {
            within: None,
            node: from.into(),
            to: to.into(),
        };
        editor.apply(&rename("a", "b")).expect("it fits");
        // The thread was not told of that.
        let edit = rename("b", "c");
        editor.apply(&edit).expect("it fits");
        plans.told(&edit, false);
        assert!(plans.wait(&editor) && plans.is_optimised());
        assert!(plans.running().is_some());
        let edit = rename("c", "d");
        editor.apply(&edit).expect("it fits");
        plans.told(&edit, false);
        assert!(plans.wait(&editor), "the new copy follows");
    }
}
