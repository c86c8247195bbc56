//! Outputs that are observed: callbacks get their values when they change.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use millstream_base::catch_panic;
use millstream_base::same::Same;
use millstream_base::{Budget, Limits};
use millstream_ir::answer::{OutputAnswer, Series};
use millstream_ir::{EvalError, Progress};
use millstream_node::Data;

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
    standing: Standing,
}

/// What evaluations may use that nobody asks for: those that tell observers when something is set
/// or edited.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// The limits of each evaluation; see [`Ask::limits`].
    pub limits: Limits,
    /// Each evaluation ends when it takes longer.
    pub time: Option<Duration>,
    /// Ends an evaluation when set to true by anybody; none begins until it is false again.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Called with the progress of an evaluation, which it may end.
    pub progress: Option<Progress>,
}

struct Observer {
    id: ObserverId,
    output: String,
    /// The value that it was given last.
    told: Option<OutputAnswer>,
    callback: Callback,
}

/// The result of the last call of the observers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Callbacks that were called.
    pub n_called: usize,
    /// Callbacks that panicked, with what they said; they are called again next time.
    pub panicked: Vec<(ObserverId, String)>,
    /// Outputs that have no value now, and why. Where the evaluation was ended that is all that
    /// were to be told; they are told next time.
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
        let at = self.observers.all.len();
        self.observers.all.push(Observer { id, output, told: None, callback });
        self.tell(at);
        id
    }

    /// What evaluations for observers may use from now on. What they did not come to is pushed by
    /// the next one, or by [`push`](Self::push).
    pub fn push_within(&mut self, standing: Standing) {
        self.observers.standing = standing;
    }

    /// Takes an observer away; false if it is not there.
    pub fn unobserve(&mut self, id: ObserverId) -> bool {
        let before = self.observers.all.len();
        self.observers.all.retain(|observer| observer.id != id);
        self.observers.all.len() < before
    }

    /// The result of the last call of the observers.
    pub fn pushed(&self) -> &Pushed {
        &self.observers.last
    }

    /// Evaluates what is observed, all outputs together, and tells those whose output changed. What
    /// sets or edits something does so by itself; this is for what was ended then.
    pub fn push(&mut self) {
        self.tell(0);
    }

    /// The same for the observers from this one on.
    fn tell(&mut self, first: usize) {
        if self.observers.all.len() <= first {
            return;
        }
        let mut pushed = Pushed::default();
        let answers = self.observed(first, &mut pushed.failed);
        let is_ended = pushed.failed.iter().any(|(_, error)| is_end(error));
        for observer in &mut self.observers.all[first..] {
            let at = answers.binary_search_by(|answer| (*answer.name).cmp(&observer.output));
            let Ok(at) = at else {
                // What was ended may have the value that was told.
                if !is_ended {
                    observer.told = None;
                }
                continue;
            };
            let answer = &answers[at];
            if observer.told.as_ref().is_some_and(|told| is_same(told, answer)) {
                continue;
            }
            observer.told = Some(answer.clone());
            pushed.n_called += 1;
            let callback = &mut observer.callback;
            if let Err(text) = catch_panic(|| callback(answer)) {
                observer.told = None;
                pushed.panicked.push((observer.id, text));
            }
        }
        for answer in answers {
            self.kept.insert(answer.name.to_string(), (self.stamp, answer));
        }
        self.observers.last = pushed;
    }

    /// The values of what is observed, in the order of names.
    fn observed(
        &mut self,
        first: usize,
        failed: &mut Vec<(String, SessionError)>,
    ) -> Vec<OutputAnswer> {
        let observers = &self.observers;
        let mut names: Vec<String> =
            observers.all[first..].iter().map(|observer| observer.output.clone()).collect();
        names.sort_unstable();
        names.dedup();
        let standing = &observers.standing;
        let mut ask = Ask {
            limits: standing.limits.clone(),
            budget: Budget {
                cancel: standing.cancel.clone(),
                deadline: standing.time.and_then(|time| Instant::now().checked_add(time)),
            },
            progress: standing.progress.clone(),
            ..Ask::default()
        };
        // One that has no value must not keep the others from theirs.
        let (right, mut alone): (Vec<String>, Vec<String>) =
            names.into_iter().partition(|name| self.may_be_right(name));
        let mut answers = Vec::new();
        if !right.is_empty() {
            ask.outputs = right;
            match self.eval(&ask) {
                Ok(evaluated) => answers = evaluated.answer.outputs,
                Err(error) if is_end(&error) => {
                    failed.extend(ask.outputs.drain(..).map(|name| (name, error.clone())));
                }
                Err(_) => alone.append(&mut ask.outputs),
            }
        }
        for name in alone {
            ask.outputs = vec![name];
            match self.eval(&ask) {
                Ok(evaluated) => answers.extend(evaluated.answer.outputs),
                Err(error) => failed.extend(ask.outputs.pop().map(|name| (name, error))),
            }
        }
        answers.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        answers
    }

    /// Whether an output is there, and has a value as far as that is known without an evaluation.
    fn may_be_right(&self, output: &str) -> bool {
        self.document().outputs.contains_key(output)
            && self.mirror.as_ref().is_none_or(|mirror| mirror.is_right(output))
    }
}

/// Whether an evaluation was ended, so that another one may give a value.
fn is_end(error: &SessionError) -> bool {
    matches!(error, SessionError::Eval(EvalError::Cancelled | EvalError::Deadline))
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
