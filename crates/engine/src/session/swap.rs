//! How optimised plans replace plain ones after edits: a thread compiles, the session takes over.
//!
//! The session sends checked documents with the number of the last edit. The thread compiles only
//! the latest one. The session takes a plan when it is about to evaluate, and only if there was no
//! edit since. A replaced plan is sent to the thread, which drops it. So no evaluation waits for a
//! compilation, none runs a plan of another document, and large plans are not dropped between two
//! frames. The end of a session does not wait either: the thread ends by itself.
//!
//! Both sides are state machines without a clock, so that a test can try all orders in which they
//! act; the thread only drives one of them.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// A job for the thread.
pub(super) enum Job<D, I> {
    /// A value to drop.
    Drop(D),
    /// A document to compile, with the number of the last edit.
    Make(u64, I),
    /// The session waits for the plan of the last document.
    Hurry,
}

/// The thread's side: the document that waits for compilation.
pub(super) struct Worker<I> {
    /// The last document received, with the number of its edit.
    to_make: Option<(u64, I)>,
    /// Whether the session waits for its plan.
    is_hurried: bool,
}

impl<I> Worker<I> {
    pub(super) fn new() -> Self {
        Self { to_make: None, is_hurried: false }
    }

    /// Takes a job; a new document replaces a waiting one. Returns whether the job was a document.
    pub(super) fn accept<D>(&mut self, job: Job<D, I>) -> bool {
        let is_new = matches!(job, Job::Make(..));
        match job {
            Job::Drop(_) => {}
            Job::Make(number, what) => self.to_make = Some((number, what)),
            Job::Hurry => self.is_hurried = self.to_make.is_some(),
        }
        is_new
    }

    /// Compiles the waiting document, if there is one.
    pub(super) fn step<O>(&mut self, make: impl FnOnce(I) -> O) -> Option<(u64, O)> {
        let (number, what) = self.to_make.take()?;
        self.is_hurried = false;
        Some((number, make(what)))
    }
}

/// The session's side: the plan that it runs, and the number of the last edit.
pub(super) struct Current<O> {
    edit: u64,
    running: O,
    is_optimised: bool,
}

impl<O> Current<O> {
    pub(super) fn new(running: O) -> Self {
        Self { edit: 0, running, is_optimised: false }
    }

    pub(super) fn running(&self) -> &O {
        &self.running
    }

    pub(super) fn is_optimised(&self) -> bool {
        self.is_optimised
    }

    /// The number of the last edit.
    pub(super) fn edit(&self) -> u64 {
        self.edit
    }

    /// Runs another plan from an edit on; returns the previous one.
    pub(super) fn edited(&mut self, running: O) -> O {
        self.edit += 1;
        self.is_optimised = false;
        std::mem::replace(&mut self.running, running)
    }

    /// Runs a plan that was made on this side, for the last edit.
    pub(super) fn run(&mut self, running: O) {
        self.running = running;
    }

    /// Takes over a compiled plan, unless there was an edit since; returns the plan that is no
    /// longer needed.
    pub(super) fn offer(&mut self, edit: u64, made: O) -> O {
        if edit != self.edit || self.is_optimised {
            return made;
        }
        self.is_optimised = true;
        std::mem::replace(&mut self.running, made)
    }
}

/// The result of waiting for the thread.
pub(super) enum Waited<O> {
    Made(u64, O),
    NotYet,
    /// The thread is gone.
    Gone,
}

/// The thread, as seen by the session.
pub(super) struct Background<D, I, O> {
    jobs: Sender<Job<D, I>>,
    made: Receiver<(u64, O)>,
}

impl<D: Send + 'static, I: Send + 'static, O: Send + 'static> Background<D, I, O> {
    /// Starts the thread. It compiles a document if no other follows for as long as the last
    /// compilation took, at most for `longest_calm`.
    pub(super) fn new(
        longest_calm: Duration,
        mut make: impl FnMut(I) -> O + Send + 'static,
    ) -> Self {
        let (jobs, inbox) = channel::<Job<D, I>>();
        let (outbox, made) = channel();
        std::thread::spawn(move || {
            let mut worker = Worker::new();
            let mut calm = Duration::ZERO;
            while let Ok(job) = inbox.recv() {
                worker.accept(job);
                if worker.to_make.is_none() {
                    continue;
                }
                if !wait_for_calm(&mut worker, &inbox, calm) {
                    return;
                }
                let start = Instant::now();
                if let Some(made) = worker.step(&mut make)
                    && outbox.send(made).is_err()
                {
                    return;
                }
                calm = start.elapsed().min(longest_calm);
            }
        });
        Self { jobs, made }
    }

    /// Sends a job. If the thread is gone, nothing happens and the session keeps its plan.
    pub(super) fn send(&self, job: Job<D, I>) {
        // The job is dropped here if the thread is gone.
        let _ = self.jobs.send(job);
    }

    /// The plan that was compiled in the meantime, if there is one.
    pub(super) fn take(&self) -> Option<(u64, O)> {
        // If the thread is gone, the session keeps its plan.
        self.made.try_recv().ok()
    }

    /// Waits for at most this time.
    pub(super) fn wait_for(&self, time: Duration) -> Waited<O> {
        match self.made.recv_timeout(time) {
            Ok((edit, made)) => Waited::Made(edit, made),
            Err(RecvTimeoutError::Timeout) => Waited::NotYet,
            Err(RecvTimeoutError::Disconnected) => Waited::Gone,
        }
    }
}

/// Waits until no document comes for this time, or the session waits for its plan: during steady
/// edits a plan would come too late to be of use, and take time from the frames. Returns false if
/// the session is gone.
fn wait_for_calm<D, I>(
    worker: &mut Worker<I>,
    inbox: &Receiver<Job<D, I>>,
    calm: Duration,
) -> bool {
    let mut end = Instant::now() + calm;
    while !worker.is_hurried {
        match inbox.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(job) => {
                if worker.accept(job) {
                    end = Instant::now() + calm;
                }
            }
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::{HashSet, VecDeque};
    use std::rc::Rc;

    use super::*;

    /// A plan that records when it is dropped, and by which side.
    struct Plan {
        edit: u64,
        log: Rc<RefCell<Log>>,
    }

    #[derive(Default)]
    struct Log {
        by_worker: bool,
        dropped_by_worker: usize,
        dropped_by_session: usize,
    }

    impl Drop for Plan {
        fn drop(&mut self) {
            let mut log = self.log.borrow_mut();
            if log.by_worker {
                log.dropped_by_worker += 1;
            } else {
                log.dropped_by_session += 1;
            }
        }
    }

    /// The next act of one of the two sides.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Act {
        Edit,
        Poll,
        Receive,
        Work,
    }

    /// Plays one order of acts, until all edits are made and nothing is left to do.
    fn play(order: &[Act], n_edits: u64) {
        let log = Rc::new(RefCell::new(Log::default()));
        let plan = |edit: u64| Plan { edit, log: Rc::clone(&log) };
        let mut current = Current::new(plan(0));
        let mut worker: Worker<u64> = Worker::new();
        let (mut sent, mut made) = (VecDeque::new(), VecDeque::new());
        let mut n_made = 1;
        let mut act = |act: Act| -> bool {
            let acted = match act {
                Act::Edit if current.edit() < n_edits => {
                    n_made += 1;
                    let old = current.edited(plan(current.edit() + 1));
                    sent.push_back(Job::Drop(old));
                    sent.push_back(Job::Make(current.edit(), current.edit()));
                    true
                }
                Act::Edit => false,
                Act::Poll => match made.pop_front() {
                    Some((edit, optimised)) => {
                        sent.push_back(Job::Drop(current.offer(edit, optimised)));
                        true
                    }
                    None => false,
                },
                Act::Receive => {
                    log.borrow_mut().by_worker = true;
                    let received = sent.pop_front().map(|job| worker.accept(job)).is_some();
                    log.borrow_mut().by_worker = false;
                    received
                }
                Act::Work => {
                    let optimised = worker.step(|edit| {
                        n_made += 1;
                        plan(edit)
                    });
                    let acted = optimised.is_some();
                    made.extend(optimised);
                    acted
                }
            };
            assert_eq!(current.running().edit, current.edit(), "what runs is of this document");
            acted
        };
        for next in order {
            act(*next);
        }
        // From here on both sides act until nothing is left.
        while act(Act::Edit) {}
        while [Act::Receive, Act::Work, Act::Poll].into_iter().any(&mut act) {}
        assert!(current.is_optimised());
        assert_eq!(current.running().edit, n_edits);
        let log = log.borrow();
        assert_eq!(log.dropped_by_session, 0, "{order:?}");
        assert_eq!(log.dropped_by_worker, n_made - 1, "all but what runs are gone");
    }

    #[test]
    fn all_orders_of_acts_end_with_the_last_document_optimised() {
        const ACTS: [Act; 4] = [Act::Edit, Act::Poll, Act::Receive, Act::Work];
        let mut seen: HashSet<Vec<Act>> = HashSet::new();
        for n in 0..4_usize.pow(8) {
            let order: Vec<Act> = (0..8).map(|i| ACTS[n >> (2 * i) & 3]).collect();
            // Three edits suffice to be overtaken twice.
            if order.iter().filter(|act| **act == Act::Edit).count() <= 3
                && seen.insert(order.clone())
            {
                play(&order, 3);
            }
        }
        assert!(seen.len() > 30_000);
    }

    #[test]
    fn a_thread_that_waits_can_be_hurried_and_ends_at_once() {
        const HOUR: Duration = Duration::from_hours(1);
        let (hurried, end) = (HOUR, Instant::now());
        let mut worker: Worker<u64> = Worker::new();
        let (jobs, inbox) = channel::<Job<u64, u64>>();
        for edit in 1..=100 {
            jobs.send(Job::Make(edit, edit)).expect("the inbox is there");
        }
        jobs.send(Job::Hurry).expect("the inbox is there");
        assert!(wait_for_calm(&mut worker, &inbox, hurried));
        assert_eq!(worker.step(|what| what * 2), Some((100, 200)));
        drop(jobs);
        assert!(!wait_for_calm(&mut worker, &inbox, HOUR), "the session is gone");
        assert!(end.elapsed() < HOUR);
    }

    #[test]
    fn the_thread_compiles_and_ends() {
        let background: Background<u64, u64, u64> = Background::new(Duration::ZERO, |x| x * 2);
        let made = |background: &Background<u64, u64, u64>| loop {
            match background.wait_for(Duration::from_millis(1)) {
                Waited::Made(edit, made) => break (edit, made),
                Waited::NotYet => {}
                Waited::Gone => panic!("it is there"),
            }
        };
        background.send(Job::Make(1, 21));
        assert_eq!(made(&background), (1, 42));
        background.send(Job::Drop(42));
        assert_eq!(background.take(), None);
        background.send(Job::Make(2, 4));
        background.send(Job::Hurry);
        assert_eq!(made(&background), (2, 8));
        let Background { jobs, made } = background;
        drop(jobs);
        assert!(made.recv().is_err(), "it ends");
    }
}
