//! Whether work is still wanted: one type for cancellation and deadlines.
//!
//! A [`Budget`] goes with a task to all its parts, on any thread. Work in many small steps asks
//! through a [`Poll`], which counts the steps, so that flag and clock are read only now and then.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The ends of a task from outside. The default is none.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// The flag that cancels the task once it is true.
    pub cancel: Option<Arc<AtomicBool>>,
    /// The time at which the task ends at the latest.
    pub deadline: Option<Instant>,
}

/// Why a task ended before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The flag was set.
    Cancelled,
    /// The deadline has passed.
    Deadline,
}

impl Budget {
    /// A budget that ends when the flag is set.
    pub fn until(cancel: &Arc<AtomicBool>) -> Self {
        Self { cancel: Some(Arc::clone(cancel)), deadline: None }
    }

    /// A budget that ends at the deadline, if there is one.
    pub fn by(deadline: Option<Instant>) -> Self {
        Self { cancel: None, deadline }
    }

    /// Why the task has ended, if it has. Reads the flag and, if there is a deadline, the clock.
    pub fn ended(&self) -> Option<Ended> {
        if self.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Some(Ended::Cancelled);
        }
        let is_late = self.deadline.is_some_and(|deadline| Instant::now() > deadline);
        is_late.then_some(Ended::Deadline)
    }

    /// Checks that the task has not ended.
    ///
    /// # Errors
    /// If it has.
    pub fn check(&self) -> Result<(), Ended> {
        self.ended().map_or(Ok(()), Err)
    }

    /// A counter for one part of the task.
    pub fn poll(&self) -> Poll {
        Poll { budget: self.clone(), left: Cell::new(Poll::UNITS) }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "was cancelled",
            Self::Deadline => "took longer than it may",
        })
    }
}

/// A [`Budget`] that is asked rarely: once for some thousand units of work.
///
/// Each thread has its own, as the count is not shared.
#[derive(Clone, Debug)]
pub struct Poll {
    budget: Budget,
    left: Cell<usize>,
}

impl Poll {
    /// Units of work, of some nanoseconds each, between two looks at the budget.
    pub const UNITS: usize = 1 << 13;

    /// Counts work that was done or is about to be: items moved, bytes read. Says whether it is
    /// time for [`look`](Self::look).
    #[inline]
    pub fn is_due(&self, units: usize) -> bool {
        match self.left.get().checked_sub(units) {
            Some(left) => {
                self.left.set(left);
                false
            }
            None => {
                self.left.set(Self::UNITS);
                true
            }
        }
    }

    /// Counts work and looks at the budget if it is time.
    ///
    /// # Errors
    /// If the task has ended.
    #[inline]
    pub fn work(&self, units: usize) -> Result<(), Ended> {
        if self.is_due(units) { self.look() } else { Ok(()) }
    }

    /// Looks at the budget.
    ///
    /// # Errors
    /// If the task has ended.
    #[cold]
    pub fn look(&self) -> Result<(), Ended> {
        self.budget.check()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_budget_ends_when_it_is_cancelled_or_late() {
        assert_eq!(Budget::default().ended(), None);
        let flag = Arc::new(AtomicBool::new(false));
        let budget = Budget::until(&flag);
        assert_eq!(budget.ended(), None);
        flag.store(true, Ordering::Relaxed);
        assert_eq!(budget.clone().ended(), Some(Ended::Cancelled));
        let past = Instant::now().checked_sub(Duration::from_millis(1));
        assert_eq!(Budget::by(past).ended(), Some(Ended::Deadline));
    }

    #[test]
    fn looks_are_as_far_apart_as_the_work_is_long() {
        let poll = Budget::until(&Arc::new(AtomicBool::new(true))).poll();
        let n_done = (0..10 * Poll::UNITS).take_while(|_| poll.work(1).is_ok()).count();
        assert_eq!(n_done, Poll::UNITS);
        assert!(poll.work(Poll::UNITS + 1).is_err(), "long work is looked at before it begins");
    }
}
