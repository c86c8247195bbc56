//! The plans of a session: a plain one behind each edit, an optimised one when it is ready.

use std::sync::Arc;

use millstream_base::Limits;
use millstream_base::diagnostics::Diagnostics;
use millstream_compile::{Options, Phase, compile};
use millstream_document::Checked;
use millstream_ir::Plan;
use millstream_kernel::Registry;

use super::swap::{Background, Current, Job};
use crate::engine::Engine;

/// What the thread is given to compile.
type Source = Option<Arc<Checked>>;
/// What it gives back, and gets to drop.
type Made = Option<Arc<Plan>>;

/// The plans of a session.
pub(super) struct Plans {
    registry: Arc<Registry>,
    limits: Limits,
    current: Current<Made>,
    background: Background<Source, Made>,
}

impl Plans {
    pub(super) fn new(engine: &Engine) -> Self {
        let (registry, limits) = (engine.shared_registry(), engine.limits().clone());
        let background = {
            let (registry, limits) = (Arc::clone(&registry), limits.clone());
            // Problems were told when the plain plan was made; both have the same.
            Background::new(move |checked: Source| {
                let checked = checked?;
                plan(&checked, &registry, &limits, None).ok().map(Arc::new)
            })
        };
        Self { registry, limits, current: Current::new(None), background }
    }

    pub(super) fn running(&self) -> Option<&Arc<Plan>> {
        self.current.running().as_ref()
    }

    pub(super) fn is_optimised(&self) -> bool {
        self.current.is_optimised()
    }

    /// Makes the plain plan of an edited document, and has the optimised one made.
    ///
    /// # Errors
    /// Why there is no plan; nothing runs then.
    pub(super) fn edited(&mut self, checked: Option<&Arc<Checked>>) -> Result<(), Diagnostics> {
        let plain = checked.map(|checked| {
            plan(checked, &self.registry, &self.limits, Some(Phase::Conversions)).map(Arc::new)
        });
        let (plain, result) = match plain {
            Some(Ok(plan)) => (Some(plan), Ok(())),
            Some(Err(problems)) => (None, Err(problems)),
            None => (None, Ok(())),
        };
        let source = plain.is_some().then(|| checked.map(Arc::clone)).flatten();
        let old = self.current.edited(plain);
        self.background.send(Job::Drop(old));
        self.background.send(Job::Make(self.current.edit(), source));
        result
    }

    /// Takes the optimised plan over if it is ready; says whether it did.
    pub(super) fn poll(&mut self) -> bool {
        let mut swapped = false;
        while let Some((edit, made)) = self.background.take() {
            swapped |= self.offer(edit, made);
        }
        swapped
    }

    /// Waits for the optimised plan and takes it over; says whether it did.
    pub(super) fn wait(&mut self) -> bool {
        let mut swapped = false;
        while !self.current.is_optimised() {
            let Some((edit, made)) = self.background.wait() else { break };
            swapped |= self.offer(edit, made);
        }
        swapped
    }

    fn offer(&mut self, edit: u64, made: Made) -> bool {
        let was_optimised = self.current.is_optimised();
        let old = self.current.offer(edit, made);
        self.background.send(Job::Drop(old));
        self.current.is_optimised() && !was_optimised
    }

    /// The plain plan of a document that is only asked once.
    ///
    /// # Errors
    /// Why there is no plan.
    pub(super) fn plain(&self, checked: &Checked) -> Result<Plan, Diagnostics> {
        plan(checked, &self.registry, &self.limits, Some(Phase::Conversions))
    }
}

fn plan(
    checked: &Checked,
    registry: &Registry,
    limits: &Limits,
    after: Option<Phase>,
) -> Result<Plan, Diagnostics> {
    compile(checked, registry, &Options { limits: limits.clone(), after, available: None })
}
