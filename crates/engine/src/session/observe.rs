//! Observed outputs: callbacks receive their values when they change.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use millstream_base::catch_panic;
use millstream_base::same::Same;
use millstream_base::{Budget, Limits};
use millstream_ir::answer::{OutputAnswer, Series};
use millstream_ir::{EvalError, Progress};

use super::{Ask, Session, SessionError};

/// Receives the value of an output when it has changed.
type Callback = Box<dyn FnMut(&OutputAnswer) + Send>;

/// An observer, for its removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObserverId(u64);

#[derive(Default)]
pub(super) struct Observers {
    all: Vec<Observer>,
    n_made: u64,
    last: Pushed,
    standing: Standing,
}

/// The budget of evaluations that no call requests: those that inform observers after a setting or
/// an edit.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// The limits of each evaluation; see [`Ask::limits`].
    pub limits: Limits,
    /// Maximal duration of each evaluation.
    pub time: Option<Duration>,
    /// Cancels an evaluation while true; none begins until it is false again.
    pub cancel: Option<Arc<AtomicBool>>,
    /// The receiver of progress, which may cancel the evaluation.
    pub progress: Option<Progress>,
}

struct Observer {
    id: ObserverId,
    output: String,
    /// The value that it last received.
    told: Option<OutputAnswer>,
    callback: Callback,
}

/// The result of the last notification of observers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Number of callbacks that were called.
    pub n_called: usize,
    /// Callbacks that panicked, with their messages; they are called again next time.
    pub panicked: Vec<(ObserverId, String)>,
    /// Outputs that have no value now, with the reasons. If the evaluation was cancelled, these are
    /// all outputs to report; they are reported next time.
    pub failed: Vec<(String, SessionError)>,
}

impl Session {
    /// Calls back with the value of an output, now and whenever it changes. The output need not
    /// exist yet.
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

    /// Sets the budget of later evaluations for observers. The next evaluation, or
    /// [`push`](Self::push), reports whatever one of them leaves unfinished.
    pub fn push_within(&mut self, standing: Standing) {
        self.observers.standing = standing;
    }

    /// Removes an observer; false if there is none.
    pub fn unobserve(&mut self, id: ObserverId) -> bool {
        let before = self.observers.all.len();
        self.observers.all.retain(|observer| observer.id != id);
        self.observers.all.len() < before
    }

    /// The result of the last notification of observers.
    pub fn pushed(&self) -> &Pushed {
        &self.observers.last
    }

    /// Evaluates all observed outputs together, and calls the observers whose output changed.
    /// Settings and edits do so by themselves; this is for evaluations that were cancelled.
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
                // An output whose evaluation was cancelled may have the value that was reported.
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

    /// The values of the observed outputs, ordered by name.
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
        // Outputs without a value must not prevent others from having theirs.
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

    /// Whether an output exists, and has a value as far as that is known without an evaluation.
    fn may_be_right(&self, output: &str) -> bool {
        self.document().outputs.contains_key(output)
            && self.mirror.as_ref().is_none_or(|mirror| mirror.is_right(output))
    }
}

/// Whether an evaluation was cancelled, so that another one may give a value.
fn is_end(error: &SessionError) -> bool {
    matches!(error, SessionError::Eval(EvalError::Cancelled | EvalError::Deadline))
}

fn is_same(a: &OutputAnswer, b: &OutputAnswer) -> bool {
    let series = |a: &Series, b: &Series| {
        a.axes == b.axes && a.data.ty() == b.data.ty() && a.data.same(&b.data)
    };
    a.ty == b.ty
        && match (&a.value, &b.value) {
            (Some(a), Some(b)) => series(a, b),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
}
