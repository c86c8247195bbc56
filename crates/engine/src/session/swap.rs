//! How optimised plans come in after edits: a thread compiles, the session takes over.
//!
//! The session sends what is to be compiled with the number of the last edit. The thread compiles
//! only what came last. The session takes a result when it is about to evaluate, and only if
//! nothing was edited since. A replaced plan goes to the thread to be dropped there. So no
//! evaluation waits for a compile, none runs a plan of another document, and large plans are not
//! torn down between two frames. The end of a session does not wait either: the thread ends by
//! itself.
//!
//! The two sides are state machines without a clock, so that a test can go through all orders in
//! which they can act; the thread only calls one of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What the session sends.
pub(super) enum Job<F, I> {
    /// To be taken note of, in order.
    Feed(F),
    /// To be compiled.
    Make(u64, I),
    /// What is to be compiled is waited for.
    Hurry,
}

/// What the thread does with jobs.
pub(super) trait Work<F, I, O> {
    /// Takes note of something.
    fn feed(&mut self, what: F);
    /// Compiles.
    fn make(&mut self, what: I) -> O;
    /// For how long nothing is edited before something is compiled, if the last time took `last`.
    fn calm(&self, what: &I, last: Duration) -> Duration;
}

/// What came of a job.
pub(super) enum Outcome<O> {
    /// There was none.
    Idle,
    /// Something was taken note of.
    Fed,
    /// Something was compiled, for this edit.
    Made(u64, O),
}

/// The side of the thread: jobs that came and were not done.
pub(super) struct Worker<F, I> {
    /// What is to be taken note of.
    news: VecDeque<F>,
    /// What is to be compiled after all that, and for which edit.
    to_make: Option<(u64, I)>,
    /// What is to be compiled is waited for.
    is_hurried: bool,
}

impl<F, I> Worker<F, I> {
    pub(super) fn new() -> Self {
        Self { news: VecDeque::new(), to_make: None, is_hurried: false }
    }

    /// Takes a job; what was to be compiled before is not asked for any more.
    pub(super) fn accept(&mut self, job: Job<F, I>) {
        match job {
            Job::Feed(what) => self.news.push_back(what),
            Job::Make(number, what) => self.to_make = Some((number, what)),
            Job::Hurry => self.is_hurried = self.to_make.is_some(),
        }
    }

    /// What is to be compiled next, if nothing is to be taken note of before.
    fn to_make(&self) -> Option<&I> {
        self.to_make.as_ref().filter(|_| self.news.is_empty()).map(|(_, what)| what)
    }

    /// Does the next job. What was taken note of after the last job to compile is in what is
    /// compiled: then another such job is on its way, or it makes no difference.
    pub(super) fn step<O>(&mut self, work: &mut impl Work<F, I, O>) -> Outcome<O> {
        if let Some(what) = self.news.pop_front() {
            work.feed(what);
            return Outcome::Fed;
        }
        let Some((number, what)) = self.to_make.take() else { return Outcome::Idle };
        self.is_hurried = false;
        Outcome::Made(number, work.make(what))
    }
}

/// The side of the session: what it runs, and after which edit it stands.
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

    /// Runs something, made on this side, for the last edit.
    pub(super) fn run(&mut self, running: O) {
        self.running = running;
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

/// What came of waiting for the thread.
pub(super) enum Waited<O> {
    Made(u64, O),
    NotYet,
    /// The thread is gone.
    Gone,
}

/// The thread, as the session holds it.
pub(super) struct Background<F, I, O> {
    jobs: Option<Sender<Job<F, I>>>,
    /// The jobs that the thread did not take up yet.
    n_waiting: Arc<AtomicUsize>,
    made: Receiver<(u64, O)>,
    thread: Option<JoinHandle<()>>,
}

impl<F: Send + 'static, I: Send + 'static, O: Send + 'static> Background<F, I, O> {
    /// Starts the thread.
    pub(super) fn new(mut work: impl Work<F, I, O> + Send + 'static) -> Self {
        let (jobs, inbox) = channel::<Job<F, I>>();
        let (outbox, made) = channel();
        let n_waiting = Arc::new(AtomicUsize::new(0));
        let inbox = Inbox { jobs: inbox, n_waiting: Arc::clone(&n_waiting) };
        let thread = std::thread::spawn(move || {
            let mut worker = Worker::new();
            let mut last = Duration::ZERO;
            while let Some(job) = inbox.wait() {
                worker.accept(job);
                loop {
                    // What came meanwhile may make what is to be done needless.
                    while let Ok(job) = inbox.try_next() {
                        worker.accept(job);
                    }
                    if let Some(what) = worker.to_make() {
                        let calm = work.calm(what, last);
                        if !calm.is_zero() && !wait_for_calm(&mut worker, &mut work, &inbox, calm) {
                            return;
                        }
                    }
                    let start = Instant::now();
                    match worker.step(&mut work) {
                        Outcome::Made(edit, made) => {
                            last = start.elapsed();
                            if outbox.send((edit, made)).is_err() {
                                return;
                            }
                        }
                        Outcome::Fed => {}
                        Outcome::Idle => break,
                    }
                }
            }
        });
        Self { jobs: Some(jobs), n_waiting, made, thread: Some(thread) }
    }

    /// Hands a job over that need not be done at once. A thread that is gone does nothing; then
    /// what runs keeps running.
    pub(super) fn send(&self, job: Job<F, I>) {
        let Some(jobs) = &self.jobs else { return };
        let n_before = self.n_waiting.fetch_add(1, Ordering::Relaxed);
        // The job is dropped here if the thread is gone.
        let _ = jobs.send(job);
        if n_before % WAKES_AT == WAKES_AT - 1 {
            self.wake();
        }
    }

    /// Whether so many jobs wait for the thread that it should not be told more than it must.
    pub(super) fn is_far_behind(&self) -> bool {
        self.n_waiting.load(Ordering::Relaxed) > FAR_BEHIND
    }

    /// Hands a job over, to be begun now unless it has to wait for calm.
    pub(super) fn send_now(&self, job: Job<F, I>) {
        self.send(job);
        self.wake();
    }

    /// What was compiled meanwhile.
    pub(super) fn take(&self) -> Option<(u64, O)> {
        // There is nothing yet, or the thread is gone: what runs keeps running.
        self.made.try_recv().ok()
    }

    /// Has what is to be compiled compiled now.
    pub(super) fn hurry(&self) {
        self.send_now(Job::Hurry);
    }

    /// Waits for something to be compiled; `None` if the thread is gone.
    pub(super) fn wait(&self) -> Option<(u64, O)> {
        self.made.recv().ok()
    }

    /// Waits so long.
    pub(super) fn wait_for(&self, time: Duration) -> Waited<O> {
        match self.made.recv_timeout(time) {
            Ok((edit, made)) => Waited::Made(edit, made),
            Err(RecvTimeoutError::Timeout) => Waited::NotYet,
            Err(RecvTimeoutError::Disconnected) => Waited::Gone,
        }
    }
}

impl<F, I, O> Background<F, I, O> {
    /// Wakes the thread, should it sleep.
    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

/// A thread that sleeps is woken when so many jobs more wait for it.
const WAKES_AT: usize = 1024;

/// So many jobs wait while something is compiled that takes long: tens of megabytes of edits.
const FAR_BEHIND: usize = 1 << 16;

/// A thread without jobs looks for one this often.
const DOZE: Duration = Duration::from_millis(50);

/// It does so until there was none for this long.
const DOZES_FOR: Duration = Duration::from_secs(10);

/// Where the thread gets its jobs.
struct Inbox<F, I> {
    jobs: Receiver<Job<F, I>>,
    n_waiting: Arc<AtomicUsize>,
}

impl<F, I> Inbox<F, I> {
    /// The next job, if there is one.
    fn try_next(&self) -> Result<Job<F, I>, TryRecvError> {
        let job = self.jobs.try_recv()?;
        self.n_waiting.fetch_sub(1, Ordering::Relaxed);
        Ok(job)
    }

    /// The next job; `None` if the session is gone.
    ///
    /// Waking a thread can take the one that does it longer than an edit. So for a while the thread
    /// looks now and then, and is not woken by the first of some edits; then it sleeps until it is.
    fn wait(&self) -> Option<Job<F, I>> {
        let end = Instant::now() + DOZES_FOR;
        while Instant::now() < end {
            match self.try_next() {
                Ok(job) => return Some(job),
                Err(TryRecvError::Empty) => std::thread::park_timeout(DOZE),
                Err(TryRecvError::Disconnected) => return None,
            }
        }
        let job = self.jobs.recv().ok()?;
        self.n_waiting.fetch_sub(1, Ordering::Relaxed);
        Some(job)
    }
}

/// Waits until nothing is to be compiled that was not before for so long, or somebody is in a
/// hurry: while somebody edits all the time, results would come too late to be of use, and take
/// time from the frames. What there is to be taken note of is, now and then. False if the session
/// is gone.
///
/// The thread sleeps without listening, so that those who send need not wake it.
fn wait_for_calm<F, I, O>(
    worker: &mut Worker<F, I>,
    work: &mut impl Work<F, I, O>,
    inbox: &Inbox<F, I>,
    calm: Duration,
) -> bool {
    let mut end = Instant::now() + calm;
    loop {
        let mut is_edited = false;
        loop {
            match inbox.try_next() {
                Ok(job) => {
                    is_edited |= matches!(job, Job::Make(..));
                    worker.accept(job);
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
        while worker.to_make().is_none() {
            worker.step(work);
        }
        let now = Instant::now();
        if is_edited {
            end = now + calm;
        }
        if worker.is_hurried || now >= end {
            return true;
        }
        std::thread::park_timeout(end - now);
    }
}

impl<F, I, O> Drop for Background<F, I, O> {
    fn drop(&mut self) {
        // The thread ends when it finds that nobody sends any more. It may be in the middle of
        // something that takes long, which nobody waits for.
        self.jobs = None;
        self.wake();
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

    /// Drops what it is fed, and compiles.
    struct Compiles<M>(M);

    impl<F, I, O, M: FnMut(I) -> O> Work<F, I, O> for Compiles<M> {
        fn feed(&mut self, what: F) {
            drop(what);
        }

        fn make(&mut self, what: I) -> O {
            self.0(what)
        }

        fn calm(&self, _: &I, last: Duration) -> Duration {
            last
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
        let mut worker: Worker<Plan, u64> = Worker::new();
        let (mut sent, mut made) = (VecDeque::new(), VecDeque::new());
        let mut n_made = 1;
        let mut act = |act: Act| -> bool {
            let acted = match act {
                Act::Edit if current.edit() < n_edits => {
                    n_made += 1;
                    let old = current.edited(plan(current.edit() + 1));
                    sent.push_back(Job::Feed(old));
                    sent.push_back(Job::Make(current.edit(), current.edit()));
                    true
                }
                Act::Edit => false,
                Act::Poll => match made.pop_front() {
                    Some((edit, optimised)) => {
                        sent.push_back(Job::Feed(current.offer(edit, optimised)));
                        true
                    }
                    None => false,
                },
                Act::Receive => sent.pop_front().map(|job| worker.accept(job)).is_some(),
                Act::Work => {
                    log.borrow_mut().by_worker = true;
                    let result = worker.step(&mut Compiles(|edit| {
                        n_made += 1;
                        plan(edit)
                    }));
                    log.borrow_mut().by_worker = false;
                    match result {
                        Outcome::Made(edit, plan) => {
                            made.push_back((edit, plan));
                            true
                        }
                        Outcome::Fed => true,
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

    /// Doubles what it is given, once nothing came for an hour.
    struct Patient;

    impl Work<u64, u64, u64> for Patient {
        fn feed(&mut self, _: u64) {}

        fn make(&mut self, what: u64) -> u64 {
            what * 2
        }

        fn calm(&self, _: &u64, _: Duration) -> Duration {
            Duration::from_hours(1)
        }
    }

    #[test]
    fn a_thread_that_waits_can_be_hurried_and_ends_at_once() {
        let mut background: Background<u64, u64, u64> = Background::new(Patient);
        for edit in 1..=100 {
            background.send(Job::Feed(edit));
            background.send(Job::Make(edit, edit));
        }
        background.hurry();
        assert_eq!(background.wait(), Some((100, 200)));
        background.send(Job::Make(101, 1));
        // Waiting for an hour, or about to.
        assert_eq!(background.take(), None);
        ends(&mut background.thread.take(), background);
    }

    /// Waits for the end of a thread of which nothing is wanted any more.
    fn ends<T>(thread: &mut Option<JoinHandle<()>>, held: T) {
        let thread = thread.take().expect("it runs");
        let waker = thread.thread().clone();
        drop(held);
        waker.unpark();
        thread.join().expect("it ends");
    }

    #[test]
    fn the_thread_compiles_and_ends() {
        let mut background: Background<u64, u64, u64> = Background::new(Compiles(|x| x * 2));
        background.send(Job::Make(1, 21));
        assert_eq!(background.wait(), Some((1, 42)));
        background.send(Job::Feed(42));
        assert_eq!(background.take(), None);
        background.send(Job::Make(2, 4));
        background.hurry();
        assert_eq!(background.wait(), Some((2, 8)));
        ends(&mut background.thread.take(), background);
    }
}
