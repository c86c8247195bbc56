//! How optimised plans come in behind edits: a thread compiles, the session takes over.
//!
//! The session sends what is to be compiled with the number of the edit behind which it stands. The
//! thread compiles only what came last. The session takes a result when it is about to evaluate,
//! and only if nothing was edited since. What is replaced goes to the thread to be dropped there. So
//! no evaluation waits for a compile, none runs a plan of another document, and large plans are not
//! torn down between two frames.
//!
//! The two sides are state machines without a clock, so that a test can go through all orders in
//! which they can act; the thread only calls one of them.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// What the session sends.
pub(super) enum Job<I, O> {
    /// To be compiled.
    Make(u64, I),
    /// To be dropped.
    Drop(O),
}

/// What came of a job.
pub(super) enum Outcome<O> {
    /// There was none.
    Idle,
    /// Something was dropped.
    Dropped,
    /// Something was compiled, for this edit.
    Made(u64, O),
}

/// The side of the thread: jobs that came and were not done.
pub(super) struct Worker<I, O> {
    jobs: VecDeque<Job<I, O>>,
}

impl<I, O> Worker<I, O> {
    pub(super) fn new() -> Self {
        Self { jobs: VecDeque::new() }
    }

    /// Takes a job; what was to be compiled before is not asked for any more.
    pub(super) fn accept(&mut self, job: Job<I, O>) {
        if let Job::Make(..) = job {
            self.jobs.retain(|job| !matches!(job, Job::Make(..)));
        }
        self.jobs.push_back(job);
    }

    /// Does the next job.
    pub(super) fn step(&mut self, make: impl FnOnce(I) -> O) -> Outcome<O> {
        match self.jobs.pop_front() {
            None => Outcome::Idle,
            Some(Job::Make(number, what)) => Outcome::Made(number, make(what)),
            Some(Job::Drop(old)) => {
                drop(old);
                Outcome::Dropped
            }
        }
    }
}

/// The side of the session: what it runs, and behind which edit it stands.
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

    /// Runs something else from an edit on; gives what ran before.
    pub(super) fn edited(&mut self, running: O) -> O {
        self.edit += 1;
        self.is_optimised = false;
        std::mem::replace(&mut self.running, running)
    }

    /// Takes over what was compiled, unless something was edited since; gives what is not needed
    /// any more.
    pub(super) fn offer(&mut self, edit: u64, made: O) -> O {
        if edit != self.edit || self.is_optimised {
            return made;
        }
        self.is_optimised = true;
        std::mem::replace(&mut self.running, made)
    }
}

/// The thread, as the session holds it.
pub(super) struct Background<I, O> {
    jobs: Option<Sender<Job<I, O>>>,
    made: Receiver<(u64, O)>,
    thread: Option<JoinHandle<()>>,
}

impl<I: Send + 'static, O: Send + 'static> Background<I, O> {
    /// Starts the thread.
    pub(super) fn new(make: impl Fn(I) -> O + Send + 'static) -> Self {
        let (jobs, inbox) = channel::<Job<I, O>>();
        let (outbox, made) = channel();
        let thread = std::thread::spawn(move || {
            let mut worker = Worker::new();
            while let Ok(job) = inbox.recv() {
                worker.accept(job);
                while {
                    // What came meanwhile may make what is to be done needless.
                    for job in inbox.try_iter() {
                        worker.accept(job);
                    }
                    match worker.step(&make) {
                        Outcome::Made(edit, made) => outbox.send((edit, made)).is_ok(),
                        Outcome::Dropped => true,
                        Outcome::Idle => false,
                    }
                } {}
            }
        });
        Self { jobs: Some(jobs), made, thread: Some(thread) }
    }

    /// Hands a job over. A thread that is gone does nothing; then what runs keeps running.
    pub(super) fn send(&self, job: Job<I, O>) {
        if let Some(jobs) = &self.jobs {
            // The job is dropped here if the thread is gone.
            let _ = jobs.send(job);
        }
    }

    /// What was compiled meanwhile.
    pub(super) fn take(&self) -> Option<(u64, O)> {
        // There is nothing yet, or the thread is gone: what runs keeps running.
        self.made.try_recv().ok()
    }

    /// Waits for something to be compiled; `None` if the thread is gone.
    pub(super) fn wait(&self) -> Option<(u64, O)> {
        self.made.recv().ok()
    }
}

impl<I, O> Drop for Background<I, O> {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing more to say.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::HashSet;
    use std::rc::Rc;

    use super::*;

    /// A plan that says when it is dropped, and by whom.
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

    /// What one of the two sides can do next.
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
        let mut worker: Worker<u64, Plan> = Worker::new();
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
                Act::Receive => sent.pop_front().map(|job| worker.accept(job)).is_some(),
                Act::Work => {
                    log.borrow_mut().by_worker = true;
                    let result = worker.step(|edit| {
                        n_made += 1;
                        plan(edit)
                    });
                    log.borrow_mut().by_worker = false;
                    match result {
                        Outcome::Made(edit, plan) => {
                            made.push_back((edit, plan));
                            true
                        }
                        Outcome::Dropped => true,
                        Outcome::Idle => false,
                    }
                }
            };
            assert_eq!(current.running().edit, current.edit(), "what runs is of this document");
            acted
        };
        for next in order {
            act(*next);
        }
        // From here on both go on until nothing is left.
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
            // Three edits are enough to be overtaken twice.
            if order.iter().filter(|act| **act == Act::Edit).count() <= 3
                && seen.insert(order.clone())
            {
                play(&order, 3);
            }
        }
        assert!(seen.len() > 30_000);
    }

    #[test]
    fn the_thread_compiles_and_ends() {
        let background: Background<u64, u64> = Background::new(|x| x * 2);
        background.send(Job::Make(1, 21));
        assert_eq!(background.wait(), Some((1, 42)));
        background.send(Job::Drop(42));
        assert_eq!(background.take(), None);
    }
}
