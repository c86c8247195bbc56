//! Outputs that are observed: callbacks get their values when they change.

use std::panic::{AssertUnwindSafe, catch_unwind};

use millstream_base::same::Same;
use millstream_ir::answer::{OutputAnswer, Series};
use millstream_kernel::Data;

use super::{Ask, Session, SessionError};

/// Gets the value of an output when it changed.
type Callback = Box<dyn FnMut(&OutputAnswer) + Send>;

/// An observer, to take it away again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObserverId(u64);

#[derive(Default)]
pub(super) struct Observers {
    all: Vec<Observer>,
    n_made: u64,
    last: Pushed,
}

struct Observer {
    id: ObserverId,
    output: String,
    /// What it was told last.
    told: Option<OutputAnswer>,
    callback: Callback,
}

/// What came of telling the observers last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Callbacks that were called.
    pub n_called: usize,
    /// Callbacks that panicked, with what they said; they are called again next time.
    pub panicked: Vec<(ObserverId, String)>,
    /// Outputs that have no value now, and why.
    pub failed: Vec<(String, SessionError)>,
}

impl Session {
    /// Calls back with the value of an output, now and whenever it changes. The output need not be
    /// there yet.
    pub fn observe(
        &mut self,
        output: impl Into<String>,
        callback: impl FnMut(&OutputAnswer) + Send + 'static,
    ) -> ObserverId {
        self.observers.n_made += 1;
        let id = ObserverId(self.observers.n_made);
        let (output, callback) = (output.into(), Box::new(callback));
        self.observers.all.push(Observer { id, output, told: None, callback });
        self.push();
        id
    }

    /// Takes an observer away; false if it is not there.
    pub fn unobserve(&mut self, id: ObserverId) -> bool {
        let before = self.observers.all.len();
        self.observers.all.retain(|observer| observer.id != id);
        self.observers.all.len() < before
    }

    /// What came of telling the observers last.
    pub fn pushed(&self) -> &Pushed {
        &self.observers.last
    }

    /// Evaluates what is observed, all outputs together, and tells those whose output changed.
    pub(super) fn push(&mut self) {
        if self.observers.all.is_empty() {
            return;
        }
        let mut pushed = Pushed::default();
        let mut answers = Vec::new();
        let mut names: Vec<String> =
            self.observers.all.iter().map(|observer| observer.output.clone()).collect();
        names.sort();
        names.dedup();
        let ask = Ask { outputs: names.clone(), ..Ask::default() };
        match self.eval(&ask) {
            Ok(evaluated) => answers = evaluated.answer.outputs,
            // One that has no value must not keep the others from theirs.
            Err(_) => {
                for name in names {
                    match self.eval(&Ask::output(&name)) {
                        Ok(evaluated) => answers.extend(evaluated.answer.outputs),
                        Err(error) => pushed.failed.push((name, error)),
                    }
                }
            }
        }
        for observer in &mut self.observers.all {
            let Some(answer) = answers.iter().find(|answer| *answer.name == *observer.output)
            else {
                observer.told = None;
                continue;
            };
            if observer.told.as_ref().is_some_and(|told| is_same(told, answer)) {
                continue;
            }
            observer.told = Some(answer.clone());
            pushed.n_called += 1;
            let callback = &mut observer.callback;
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| callback(answer))) {
                observer.told = None;
                let text = millstream_base::panic_text(&*panic);
                pushed.panicked.push((observer.id, text.unwrap_or_default()));
            }
        }
        for answer in answers {
            self.kept.insert(answer.name.to_string(), (self.stamp, answer));
        }
        self.observers.last = pushed;
    }
}

fn is_same(a: &OutputAnswer, b: &OutputAnswer) -> bool {
    let series = |a: &Series, b: &Series| {
        a.axes == b.axes
            && match (&a.data, &b.data) {
                (Data::One(a), Data::One(b)) => a.ty() == b.ty() && a.same(b),
                (Data::Many(a), Data::Many(b)) => a.ty() == b.ty() && a.same(b),
                (Data::One(_), Data::Many(_)) | (Data::Many(_), Data::One(_)) => false,
            }
    };
    a.ty == b.ty
        && match (&a.value, &b.value) {
            (Some(a), Some(b)) => series(a, b),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
}
