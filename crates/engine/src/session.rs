//! Sessions: live documents, which are edited, set and queried.
//!
//! An edit changes the document at once, or is refused and changes nothing. At one moment, for one
//! value or for columns of elements, a live graph follows the edits and answers (see `mirror`). For
//! several moments and other changes of context a plan answers: first a plain one, made when it is
//! needed after an edit, then an optimised one, which a thread compiles and which replaces the plain
//! one before an evaluation (see `swap`). All give the same bits. If the document is wrong, outputs
//! that do not depend on the error still have values, and [`Session::problems`] has the errors.
//!
//! Nothing is computed on its own, except for observed outputs. An answer is stored until an edit,
//! a setting or a tick; after that the incremental evaluator runs only the nodes whose inputs have
//! changed.
//!
//! ```
//! use millstream::session::Session;
//! use millstream::{Edit, Engine};
//!
//! let text = r#"{ "millstream": 2,
//!   "inputs": { "x": { "type": "f32", "default": 2 } },
//!   "outputs": { "y": { "type": "f32", "from": "double.value" } },
//!   "nodes": { "double": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 2 } } } }"#;
//! let mut session = Session::open(&Engine::new(), text.as_bytes())?;
//! session.set("x", 5.0_f32)?;
//! assert_eq!(session.value::<f32>("y")?, Some(10.0));
//! session.edit(&Edit::literal("double", "b", 3))?;
//! assert_eq!(session.value::<f32>("y")?, Some(15.0));
//! session.undo();
//! assert_eq!(session.value::<f32>("y")?, Some(10.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ask;
mod back_off;
mod error;
mod failed;
mod live;
mod mirror;
mod moves;
mod observe;
mod plans;
mod probe;
mod rewind;
mod settings;
mod swap;
mod ticks;
mod written;

use std::any::Any;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::Value;
use millstream_base::diagnostics::{Diagnostic, Diagnostics, did_you_mean};
use millstream_base::same::Same;
use millstream_document::check::check_partly;
use millstream_document::edit::{Change, Copied, ROOT};
use millstream_document::{Checked, Document, Edit, EditKind, Editor, upgrade_nodes};
use millstream_ir::answer::OutputAnswer;
use millstream_ir::request::Given;
use millstream_ir::states::States;
use millstream_ir::{Done, EvalError, Evaluator, Plan, Request, Watch};
use millstream_run::Incremental;

use crate::engine::Engine;
use crate::error::Error;
use crate::sound::planned;

pub use ask::{Ask, Evaluated};
pub use error::SessionError;
pub use observe::{ObserverId, Pushed, Standing};

use back_off::BackOff;
use failed::FailedTicks;
use live::{Cached, Live, Uncached};
use mirror::{Columns, Mirror};
use moves::{Moves, Places, may_move};
use observe::Observers;
use plans::{Old, Plans};
use rewind::Rewind;
use settings::{Settings, fits, type_of};
use written::{Edited, Written};

/// A live document.
pub struct Session {
    engine: Engine,
    /// The document that is evaluated, in which nodes stand for calls of groups in formulas.
    editor: Editor,
    written: Written,
    /// The inverses of past edits, the most recent one last.
    undo: Vec<Step>,
    redo: Vec<Step>,
    /// The checked document, computed on the first use.
    whole: OnceCell<Whole>,
    plans: Plans,
    live: Box<dyn Live>,
    /// The live graph, which answers at one moment, for one value or for columns.
    mirror: Option<Box<Mirror>>,
    /// Whether the session may use a mirror.
    is_mirrored: bool,
    /// Maximal size in bytes of the values stored between evaluations.
    kept_bytes: usize,
    /// When to try a mirror again after one that stored too much.
    rest: BackOff,
    /// When to try a mirror of numbers again after a document could not be live.
    refused: BackOff,
    /// When to try a live graph that holds columns.
    columns: Columns,
    settings: Settings,
    states: States,
    /// The state of nodes that do not work at present, because they are muted or wrong.
    aside: States,
    rewind: Rewind,
    failed: FailedTicks,
    observers: Observers,
    /// Increases whenever a value may have changed.
    stamp: u64,
    /// Outputs computed so far, each with the stamp at that time.
    kept: HashMap<String, (u64, OutputAnswer)>,
}

/// An edit that can be undone.
struct Step {
    inverse: Edit,
    removed: Removed,
}

/// Values that an edit removed from a session, for the case that it is undone.
#[derive(Debug, Default)]
struct Removed {
    /// The values of removed inputs by their names, in the order in which they were removed.
    inputs: Vec<(String, Given)>,
    /// The state of removed nodes.
    states: States,
    /// The copies of nodes that came with the original edit.
    copies: Vec<Copied>,
}

/// The result of checking a document.
struct Whole {
    problems: Diagnostics,
    /// The document with its wrong parts marked; `None` if it is wrong as a whole.
    checked: Option<Arc<Checked>>,
}

/// Codes of errors that an edit elsewhere may fix without a change of the node.
const NOT_LIVE: [&str; 8] = [
    "document::more_problems",
    "check::unreadable",
    "check::bad_name",
    "check::recursive_group",
    "check::group_depth",
    "check::expanded_nodes",
    "check::cycle",
    "check::feature_type",
];

impl Whole {
    /// The document, if a live graph can follow its edits.
    fn live(&self) -> Option<&Arc<Checked>> {
        let follows = |problem: &Diagnostic| !NOT_LIVE.iter().any(|code| problem.code == *code);
        let checked = self.checked.as_ref().filter(|_| self.problems.iter().all(follows));
        checked.filter(|checked| !checked.has_copies() && !checked.has_closures)
    }
}

/// Maximal size in bytes of the values in a mirror, which stores all of them.
const KEPT_BYTES: usize = 1 << 30;

/// Maximal number of edits until a mirror is tried again after it stored too much.
const MOST_RESTED: u32 = 1 << 10;

/// Maximal number of nodes in a document whose values follow nodes to other paths.
const MOST_FOLLOWED: usize = 100_000;

impl Session {
    /// A session for the text of a document.
    ///
    /// # Errors
    /// Why the text is not a document. A document that can be read but is wrong can be opened and
    /// corrected; see [`problems`](Self::problems).
    pub fn open(engine: &Engine, text: &[u8]) -> Result<Self, Error> {
        let (document, problems) = engine.read(text);
        match document {
            Some(mut document) if !problems.has_errors() => {
                upgrade_nodes(&mut document, engine.upgrades());
                Ok(Self::new(engine, document))
            }
            Some(_) | None => Err(Error::Document(problems)),
        }
    }

    /// A session for a document.
    pub fn new(engine: &Engine, document: Document) -> Self {
        Self::made(engine, document, Box::new(Cached(Incremental::new())), true)
    }

    /// A session that evaluates with this evaluator, never with a live graph; all give the same
    /// bits. An [`Incremental`] evaluator keeps its budget and its equality of values; its stored
    /// results follow nodes through edits.
    pub fn with_evaluator<E: Evaluator + Send + 'static>(
        engine: &Engine,
        document: Document,
        evaluator: E,
    ) -> Self {
        // An evaluator that stores values must learn the new paths of nodes.
        let evaluator: Box<dyn Any> = Box::new(evaluator);
        let live: Box<dyn Live> = match evaluator.downcast::<Incremental>() {
            Ok(incremental) => Box::new(Cached(*incremental)),
            Err(other) => match other.downcast::<E>() {
                Ok(evaluator) => Box::new(Uncached(*evaluator)),
                Err(_) => unreachable!("it is what it was"),
            },
        };
        Self::made(engine, document, live, false)
    }

    fn made(engine: &Engine, document: Document, live: Box<dyn Live>, is_mirrored: bool) -> Self {
        let document = engine.with_used_as_written(document);
        let editor = Editor::new(document, engine.shared_registry());
        let (written, editor) = Written::of(editor.with_limits(engine.limits().clone()));
        let mut session = Self {
            plans: Plans::new(engine),
            engine: engine.clone(),
            editor,
            written,
            undo: Vec::new(),
            redo: Vec::new(),
            whole: OnceCell::new(),
            live,
            mirror: None,
            is_mirrored,
            kept_bytes: KEPT_BYTES,
            rest: BackOff::default(),
            refused: BackOff::default(),
            columns: Columns::default(),
            settings: Settings::default(),
            states: States::new(),
            aside: States::new(),
            rewind: Rewind::new(),
            failed: FailedTicks::default(),
            observers: Observers::default(),
            stamp: 0,
            kept: HashMap::new(),
        };
        session.compile();
        session
    }

    /// The errors and warnings of the current document.
    pub fn problems(&self) -> &Diagnostics {
        &self.whole().problems
    }

    /// The checked document; it is checked on the first use after an edit.
    fn whole(&self) -> &Whole {
        self.whole.get_or_init(|| {
            let (registry, limits) = (self.engine.registry(), self.engine.limits());
            let (checked, problems) = check_partly(self.editor.document(), registry, limits);
            Whole { problems: in_order(problems), checked: checked.map(Arc::new) }
        })
    }

    /// The plan that runs when plans answer; `None` if no part of the document is right, or no plan
    /// was needed after the last edit.
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        self.plans.running()
    }

    /// Whether the optimised plan of the document runs, not the plain one that precedes it.
    pub fn is_optimised(&self) -> bool {
        self.plans.is_optimised()
    }

    /// Waits until the optimised plan of the document runs.
    pub fn settle(&mut self) {
        if !self.plans.is_sent() {
            let checked = self.whole().checked.clone();
            self.plans.optimise(checked.as_ref());
        }
        if self.plans.wait()
            && let Some(plan) = self.plans.running()
        {
            self.live.replaced(plan);
        }
    }

    /// Waits for the optimised plan as long as the request may take; compiling continues
    /// afterwards.
    fn settle_while(&mut self, request: &Request) -> Result<(), EvalError> {
        let progress = request.progress.as_ref();
        let watch = Watch::new(&request.budget, progress, Done::totals(0, 1));
        if self.plans.wait_while(|| watch.check(Done::default()))?
            && let Some(plan) = self.plans.running()
        {
            self.live.replaced(plan);
        }
        Ok(())
    }

    /// Limits the size in bytes of the values stored between evaluations, a gibibyte by default. If
    /// they would exceed it, plans answer, which store less and run more.
    pub fn keep_at_most(&mut self, bytes: usize) {
        self.kept_bytes = bytes;
        self.rest = BackOff::default();
    }

    /// Changes the document.
    ///
    /// # Errors
    /// Why the edit is invalid; then the session is unchanged.
    pub fn edit(&mut self, edit: &Edit) -> Result<(), SessionError> {
        let places = self.places(edit);
        let edited = self.change(edit, false).map_err(SessionError::Edit)?;
        let removed = self.edited(edit, &edited, None, places);
        self.undo.push(Step { inverse: edited.done.inverse, removed });
        self.redo.clear();
        Ok(())
    }

    /// Undoes the last edit; false if there is none.
    pub fn undo(&mut self) -> bool {
        let Some(step) = self.undo.pop() else { return false };
        let again = self.revert(step);
        self.redo.push(again);
        true
    }

    /// Repeats the edit that was undone last; false if there is none.
    pub fn redo(&mut self) -> bool {
        let Some(step) = self.redo.pop() else { return false };
        let again = self.revert(step);
        self.undo.push(again);
        true
    }

    fn revert(&mut self, step: Step) -> Step {
        let Step { inverse, removed } = step;
        let places = self.places(&inverse);
        let edited = self.change(&inverse, true).expect("the edits since then were taken back");
        let removed = self.edited(&inverse, &edited, Some(removed), places);
        Step { inverse: edited.done.inverse, removed }
    }

    /// The places of all nodes before an edit that may move some, if anything is stored by path.
    fn places(&self, edit: &Edit) -> Option<Places> {
        let is_kept = self.has_states() || self.live.keeps() || !self.failed.is_empty();
        let may_move = may_move(edit) || self.written.is_made_again(edit);
        if is_kept && may_move { self.places_now() } else { None }
    }

    fn places_now(&self) -> Option<Places> {
        // Recomputing the values may take less time than walking over all nodes.
        let all = self.engine.limits().expanded_nodes;
        let most = if self.has_states() { all } else { MOST_FOLLOWED };
        Places::of(&self.editor, most)
    }

    /// Updates everything that follows the document. `places` are the places of nodes before the
    /// edit; `back` holds the values that an undone edit restores. Returns the removed values.
    fn edited(
        &mut self,
        edit: &Edit,
        Edited { done, can_be_followed }: &Edited,
        back: Option<Removed>,
        places: Option<Places>,
    ) -> Removed {
        if let EditKind::SetView { .. } | EditKind::SetViewEntry { .. } = edit.change {
            return Removed::default();
        }
        let back = back.unwrap_or_else(|| {
            let copies = done.copies.clone();
            Removed { copies, ..Removed::default() }
        });
        let inputs = self.settings.follow(edit, back.inputs);
        let moves: Option<Moves> =
            places.and_then(|before| Some(before.moves_to(self.places_now()?, &back.copies)));
        if let Some(moves) = &moves {
            self.live.moved(moves);
            self.failed.follow(moves);
        }
        self.rest.edited();
        self.refused.edited();
        self.columns.edited();
        let (editor, changes) = (&self.editor, &done.changes);
        let follows = self.mirror.as_mut().filter(|_| *can_be_followed);
        let followed = follows.map(|mirror| mirror.follow(editor, changes, &back.copies));
        if let Some(mirror) = self.mirror.as_mut().filter(|_| may_move(edit)) {
            mirror.paths_changed();
        }
        if let Some(Ok(())) = followed {
            self.forget_whole();
            self.plans.edited();
            if done.changes.contains(&Change::Inputs { body: ROOT }) {
                self.set_mirror();
            }
            self.renew_worn_mirror();
        } else {
            self.compile();
        }
        let states = self.move_states(moves.as_ref(), back.states);
        self.forget_checkpoints();
        self.changed();
        Removed { inputs, states, copies: back.copies }
    }

    fn forget_whole(&mut self) {
        if let Some(Whole { checked: Some(checked), .. }) = self.whole.take() {
            self.plans.dropped(Old::Checked(checked));
        }
    }

    /// Checks the document and makes a mirror, or a plain plan if there can be no mirror, and
    /// starts making the optimised plan.
    fn compile(&mut self) {
        self.forget_whole();
        self.plans.edited();
        let mut before = self.mirror.take();
        let may_be_live = self.is_mirrored && self.rest.is_due();
        if let Some(checked) = self.whole().live().filter(|_| may_be_live).cloned() {
            self.mirror = self.new_mirror(&checked);
            if let Some(mirror) = &mut self.mirror {
                if let Some(before) = &mut before {
                    mirror.go_on_with_results_of(before);
                }
                self.set_mirror();
                self.plans.optimise(Some(&checked));
                return;
            }
        }
        self.make_plan();
    }

    /// Lets plans answer for a number of edits that grows each time, since all values together need
    /// too many bytes.
    fn without_mirror(&mut self) {
        self.mirror = None;
        self.rest.tried(false, MOST_RESTED);
        self.compile();
    }

    /// Makes the plain plan of the right part of the current document.
    fn make_plan(&mut self) {
        self.whole();
        let Some(Whole { problems, checked }) = self.whole.take() else { return };
        let mut told = problems;
        let planned = checked.and_then(|checked| {
            let (planned, problems) = planned(checked, |checked| self.plans.plain(checked));
            told.append(problems);
            planned
        });
        let (checked, plan) = planned.unzip();
        self.plans.run(plan);
        self.plans.optimise(checked.as_ref());
        self.whole = OnceCell::from(Whole { problems: in_order(told), checked });
        if let Some(plan) = self.plans.running() {
            self.live.replaced(plan);
        }
    }

    /// Sets the inputs of the mirror.
    fn set_mirror(&mut self) {
        let Some(mirror) = &mut self.mirror else { return };
        for name in self.editor.document().inputs.keys() {
            mirror.set(name, self.settings.inputs.get(&**name));
        }
    }

    /// Sets an input to one value.
    ///
    /// # Errors
    /// If there is no such input, or the value is of another type.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> Result<(), SessionError> {
        self.set_all([(name, Given::One(value.into()))])
    }

    /// Sets several inputs at once: observers see all changes together. If all have these values
    /// already, this is [`try_failed_again`](Self::try_failed_again).
    ///
    /// # Errors
    /// If one of them cannot be set; then none is.
    pub fn set_all<'n>(
        &mut self,
        values: impl IntoIterator<Item = (&'n str, Given)>,
    ) -> Result<(), SessionError> {
        let values: Vec<(&str, Given)> = values.into_iter().collect();
        for (name, given) in &values {
            self.check_given(name, given)?;
        }
        let is_known =
            |(name, given): &(&str, Given)| match (given, self.settings.inputs.get(*name)) {
                (Given::One(new), Some(Given::One(old))) => new.same(old),
                _ => false,
            };
        if values.iter().all(is_known) {
            self.try_failed_again();
        } else if values.iter().any(|(name, given)| self.state_depends_on(name, Some(given))) {
            self.forget_checkpoints();
        }
        for (name, given) in values {
            if let Some(mirror) = &mut self.mirror {
                mirror.set(name, Some(&given));
            }
            match self.settings.inputs.get_mut(name) {
                Some(known) => *known = given,
                None => {
                    self.settings.inputs.insert(name.into(), given);
                }
            }
        }
        self.changed();
        Ok(())
    }

    /// Lets failed nodes run again when they are demanded, although their inputs have not changed:
    /// a missing file may exist now, or a callback may have panicked only once.
    pub fn try_failed_again(&mut self) {
        if let Some(mirror) = &mut self.mirror {
            mirror.try_failed_again();
        }
        self.live.try_failed_again();
        if !self.failed.is_empty() {
            // Playing the ticks again may give other states.
            self.forget_checkpoints();
        }
        self.stamp += 1;
    }

    fn check_given(&self, name: &str, given: &Given) -> Result<(), SessionError> {
        let document = self.editor.document();
        let Some(def) = document.inputs.get(name) else {
            let known = document.inputs.keys().map(|name| &**name);
            let hint = match did_you_mean(name, known.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let known: Vec<&str> = known.take(12).collect();
                    format!("inputs: {}", known.join(", "))
                }
            };
            return Err(SessionError::UnknownInput { name: name.into(), hint });
        };
        match self.engine.registry().type_named(&def.ty) {
            Some(wanted) if !fits(given, wanted) => {
                let found = type_of(given);
                Err(SessionError::WrongType { name: name.into(), wanted, found })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Values may have changed: kept answers are void, and observers are called.
    fn changed(&mut self) {
        self.stamp += 1;
        self.push();
    }
}

/// The problems sorted by path, without places in a text, which do not apply to an edited document.
fn in_order(problems: Diagnostics) -> Diagnostics {
    let mut all: Vec<Diagnostic> = problems.into_iter().collect();
    for problem in all.iter_mut().filter(|problem| problem.place.file.is_none()) {
        problem.place.span = None;
    }
    let key = |it: &Diagnostic| {
        let path = it.place.path.as_str().to_owned();
        (path, it.code.clone(), it.message.clone(), it.help.clone())
    };
    all.sort_by_cached_key(key);
    let mut left = Diagnostics::new();
    for problem in all {
        left.push(problem);
    }
    left
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("document", &self.document().name)
            .field("n_edits", &self.undo.len())
            .field("has_mirror", &self.mirror.is_some())
            .finish_non_exhaustive()
    }
}
