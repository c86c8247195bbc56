//! The plans of a session: a plain one, made for an answer, and an optimised one when it is ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use millstream_base::Limits;
use millstream_base::diagnostics::Diagnostics;
use millstream_compile::{Folded, Options, Phase, compile};
use millstream_document::Checked;
use millstream_ir::{EvalError, Plan};
use millstream_node::Registry;

use super::swap::{Background, Current, Job, Waited};
use crate::engine::Engine;
use crate::sound::planned;

/// A value that the thread drops.
pub(super) enum Old {
    Plan(#[expect(dead_code, reason = "it is only dropped")] Made),
    Checked(#[expect(dead_code, reason = "it is only dropped")] Arc<Checked>),
}

/// The plan that the thread made; `None` if the document has none.
type Made = Option<Arc<Plan>>;

/// Maximal time without edits to wait for before compiling.
const LONGEST_CALM: Duration = Duration::from_millis(250);

/// Time between two checks whether a plan is still wanted.
const LOOK: Duration = Duration::from_millis(2);

/// The plans of a session.
pub(super) struct Plans {
    registry: Arc<Registry>,
    limits: Limits,
    /// Results of functions for constants, shared with the thread.
    folded: Arc<Folded>,
    /// Set to cancel the compilation in the thread.
    stop: Arc<AtomicBool>,
    current: Current<Made>,
    /// Whether a plan of the current document was made, or tried.
    is_made: bool,
    /// Whether the thread received the current document.
    is_sent: bool,
    background: Background<Old, Option<Arc<Checked>>, Made>,
}

impl Plans {
    pub(super) fn new(engine: &Engine) -> Self {
        let (registry, limits) = (engine.shared_registry(), engine.limits().clone());
        let folded = Arc::new(Folded::default());
        let stop = Arc::new(AtomicBool::new(false));
        let options = Options { stop: Some(Arc::clone(&stop)), ..options(&limits, &folded, None) };
        let of_thread = Arc::clone(&registry);
        let make = move |checked: Option<Arc<Checked>>| {
            let plan = |checked: &Checked| compile(checked, &of_thread, &options);
            let (_, plan) = planned(checked?, plan).0?;
            Some(Arc::new(plan))
        };
        let (current, background) = (Current::new(None), Background::new(LONGEST_CALM, make));
        let (is_made, is_sent) = (false, false);
        Self { registry, limits, folded, stop, current, is_made, is_sent, background }
    }

    pub(super) fn running(&self) -> Option<&Arc<Plan>> {
        self.current.running().as_ref()
    }

    pub(super) fn is_optimised(&self) -> bool {
        self.current.is_optimised()
    }

    /// Whether a plan of the current document was made, or tried.
    pub(super) fn is_made(&self) -> bool {
        self.is_made
    }

    /// Records an edit: the running plan now belongs to an earlier document.
    pub(super) fn edited(&mut self) {
        let old = self.current.edited(None);
        (self.is_made, self.is_sent) = (false, false);
        if old.is_some() {
            self.dropped(Old::Plan(old));
        }
    }

    /// Starts making the optimised plan of the document, or of the part that has a plain plan,
    /// unless that has begun.
    pub(super) fn optimise(&mut self, checked: Option<&Arc<Checked>>) {
        if !std::mem::replace(&mut self.is_sent, true) {
            self.background.send(Job::Make(self.current.edit(), checked.cloned()));
        }
    }

    /// Whether the optimised plan is made, or being made.
    pub(super) fn is_sent(&self) -> bool {
        self.is_sent
    }

    /// Lets the thread drop a value.
    pub(super) fn dropped(&self, old: Old) {
        self.background.send(Job::Drop(old));
    }

    /// Runs the plain plan of the current document, if it has one.
    pub(super) fn run(&mut self, plan: Option<Plan>) {
        self.is_made = true;
        if let Some(plan) = plan {
            self.current.run(Some(Arc::new(plan)));
        }
    }

    /// Takes over the optimised plan if it is ready; returns whether it did.
    pub(super) fn poll(&mut self) -> bool {
        let mut swapped = false;
        while let Some((edit, made)) = self.background.take() {
            swapped |= self.offer(edit, made);
        }
        swapped
    }

    /// Waits for the optimised plan, which is being made, and takes it over; returns whether it
    /// did.
    pub(super) fn wait(&mut self) -> bool {
        self.wait_while(|| Ok(())).unwrap_or_default()
    }

    /// As [`wait`](Self::wait), until `look` fails; compiling continues afterwards.
    ///
    /// # Errors
    /// The error of `look`.
    pub(super) fn wait_while(
        &mut self,
        look: impl Fn() -> Result<(), EvalError>,
    ) -> Result<bool, EvalError> {
        let mut swapped = false;
        while !self.current.is_optimised() {
            self.background.send(Job::Hurry);
            let made = loop {
                look()?;
                match self.background.wait_for(LOOK) {
                    Waited::Made(edit, made) => break Some((edit, made)),
                    Waited::NotYet => {}
                    Waited::Gone => break None,
                }
            };
            let Some((edit, made)) = made else { break };
            swapped |= self.offer(edit, made);
        }
        Ok(swapped)
    }

    fn offer(&mut self, edit: u64, made: Made) -> bool {
        let was_optimised = self.current.is_optimised();
        let old = self.current.offer(edit, made);
        self.dropped(Old::Plan(old));
        let swapped = self.current.is_optimised() && !was_optimised;
        self.is_made |= swapped;
        swapped
    }

    /// The optimised plan of a document, made on this thread.
    ///
    /// # Errors
    /// Why there is no plan.
    pub(super) fn optimised(&self, checked: &Checked) -> Result<Plan, Diagnostics> {
        self.plan(checked, None)
    }

    /// The plain plan of a document; if there is none, the optimised one, which lacks nodes that
    /// nothing reads.
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

impl Drop for Plans {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
