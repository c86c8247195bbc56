//! Whether work is still wanted: one type for cancellation and deadlines.
//!
//! A [`Budget`] is passed to all parts of a task, on any thread. Work in many small steps checks it
//! through a [`Poll`], which counts the steps, so the flag and the clock are read only now and
//! then.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What may stop a task from outside. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// The flag that cancels the task once it is true.
    pub cancel: Option<Arc<AtomicBool>>,
    /// The time after which the task stops.
    pub deadline: Option<Instant>,
}

/// Why a task stopped before it finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The flag was set.
    Cancelled,
    /// The deadline has passed.
    Deadline,
}

impl Budget {
    /// A budget that ends once the flag is set.
    pub fn until(cancel: &Arc<AtomicBool>) -> Self {
        Self { cancel: Some(Arc::clone(cancel)), deadline: None }
    }

    /// A budget that ends at the deadline, if there is one.
    pub fn by(deadline: Option<Instant>) -> Self {
        Self { cancel: None, deadline }
    }

    /// Why the task must stop, if it must. Reads the flag and, if there is a deadline, the clock.
    pub fn ended(&self) -> Option<Ended> {
        if self.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Some(Ended::Cancelled);
        }
        let is_late = self.deadline.is_some_and(|deadline| Instant::now() > deadline);
        is_late.then_some(Ended::Deadline)
    }

    /// Checks that the task may go on.
    ///
    /// # Errors
    /// If it was cancelled or is past its deadline.
    pub fn check(&self) -> Result<(), Ended> {
        self.ended().map_or(Ok(()), Err)
    }

    /// A work counter for one part of the task.
    pub fn poll(&self) -> Poll {
        Poll { budget: self.clone(), left: Cell::new(Poll::UNITS) }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "was cancelled",
            Self::Deadline => "exceeded its deadline",
        })
    }
}

/// A [`Budget`] that is checked rarely: once per few thousand units of work.
///
/// Each thread has its own, since the counter is not shared.
#[derive(Clone, Debug)]
pub struct Poll {
    budget: Budget,
    left: Cell<usize>,
}

impl Poll {
    /// Units of work, of a few nanoseconds each, between two checks of the budget.
    pub const UNITS: usize = 1 << 13;

    /// Counts work that was done or is about to be: items moved, bytes read. Returns whether it is
    /// time to call [`look`](Self::look).
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

    /// Counts work, and checks the budget when enough has accumulated.
    ///
    /// # Errors
    /// If the task must stop.
    #[inline]
    pub fn work(&self, units: usize) -> Result<(), Ended> {
        if self.is_due(units) { self.look() } else { Ok(()) }
    }

    /// Checks the budget now.
    ///
    /// # Errors
    /// If the task must stop.
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
