//! Cancellation of functions: tests at regular intervals whether a call is cancelled.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// Units of work, of some nanoseconds each, between two tests.
const UNITS: usize = 1 << 13;

/// The intended duration of a batch of items of unknown cost, and the maximal number of items in
/// it. Items may become slow at any time, and a batch is always finished.
const STRETCH: Duration = Duration::from_micros(50);
const MAX_STRETCH: usize = 1 << 10;

/// Counts work, and tests at intervals whether the call is cancelled; see
/// [`Call::pace`](crate::Call::pace).
#[derive(Clone)]
pub struct Pace<'a> {
    is_over: Option<&'a (dyn Fn() -> bool + Sync)>,
    /// The flag that cancels the call; reading it costs next to nothing.
    flag: Option<&'a AtomicBool>,
    left: usize,
}

impl<'a> Pace<'a> {
    pub(crate) fn new(
        is_over: Option<&'a (dyn Fn() -> bool + Sync)>,
        flag: Option<&'a AtomicBool>,
    ) -> Self {
        Self { is_over, flag, left: UNITS }
    }

    /// Counts work that was done or is about to be, in units of some nanoseconds such as items
    /// moved or bytes read. Tests for cancellation when enough has accumulated.
    ///
    /// # Errors
    /// If the call is cancelled; the evaluator knows the reason and reports that instead.
    #[inline]
    pub fn work(&mut self, units: usize) -> Result<(), Failure> {
        match self.left.checked_sub(units) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => self.look(),
        }
    }

    /// Tests for cancellation.
    ///
    /// # Errors
    /// As [`work`](Self::work).
    #[cold]
    pub fn look(&mut self) -> Result<(), Failure> {
        self.left = UNITS;
        if self.is_over.is_some_and(|is_over| is_over()) {
            return Err(Failure::whole("the evaluation was cancelled"));
        }
        Ok(())
    }

    /// Processes items of a given cost each, until the call is cancelled.
    ///
    /// # Errors
    /// As [`work`](Self::work), or the error of `each`.
    #[inline]
    pub fn over<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        units: usize,
        mut each: impl FnMut(T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for item in items {
            self.work(units)?;
            each(item)?;
        }
        Ok(())
    }

    /// Processes items of unknown cost. Checks the cancel flag between any two items, and other
    /// conditions, such as a deadline, between batches, whose size follows the time of the last
    /// one.
    ///
    /// # Errors
    /// As [`work`](Self::work).
    #[inline]
    pub fn one_by_one(
        &mut self,
        n_items: usize,
        mut each: impl FnMut(usize),
    ) -> Result<(), Failure> {
        let flag = self.flag;
        self.batches(n_items, |pace, stretch| {
            for i in stretch {
                each(i);
                if flag.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                    pace.look()?;
                }
            }
            Ok(())
        })
    }

    /// Processes items in batches. The first is one item; from then on the size of batches follows
    /// the time that the last one took.
    fn batches(
        &mut self,
        n_items: usize,
        mut each: impl FnMut(&mut Self, Range<usize>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (mut at, mut length) = (0, 1);
        while at < n_items {
            let stretch = at..n_items.min(at + length);
            at = stretch.end;
            let begin = Instant::now();
            each(self, stretch)?;
            let took = begin.elapsed();
            if took < STRETCH / 4 {
                length = (4 * length).min(MAX_STRETCH);
            } else if took > STRETCH {
                let fitting = length as f64 * (STRETCH.as_secs_f64() / took.as_secs_f64());
                length = (fitting as usize).max(1);
            }
            if at < n_items {
                self.look()?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Pace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pace").field("left", &self.left).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::{Pace, UNITS};

    #[test]
    fn tests_are_as_far_apart_as_the_work_is_long() {
        let looks = AtomicUsize::new(0);
        let is_over = || looks.fetch_add(1, Ordering::Relaxed) >= 2;
        let mut pace = Pace::new(Some(&is_over), None);
        let done = Cell::new(0);
        let ended = pace.over(0..10 * UNITS, 1, |_| {
            done.set(done.get() + 1);
            Ok(())
        });
        assert!(ended.is_err());
        assert_eq!(looks.load(Ordering::Relaxed), 3);
        assert!((3 * UNITS..3 * UNITS + 3).contains(&done.get()), "{}", done.get());
        assert!(pace.work(UNITS + 1).is_err(), "much work is tested for before it begins");
    }

    #[test]
    fn batches_cover_all_and_end_soon() {
        let mut at = 0;
        let mut pace = Pace::new(None, None);
        pace.batches(1_000_003, |_, stretch| {
            assert_eq!(stretch.start, at);
            at = stretch.end;
            Ok(())
        })
        .expect("nobody cancels it");
        assert_eq!(at, 1_000_003);
        let (looks, n) = (AtomicUsize::new(0), Cell::new(0));
        let is_over = || looks.fetch_add(1, Ordering::Relaxed) >= 2;
        let mut pace = Pace::new(Some(&is_over), None);
        let slow = |_| {
            n.set(n.get() + 1);
            std::thread::sleep(std::time::Duration::from_millis(1));
        };
        assert!(pace.one_by_one(1_000_000, slow).is_err());
        assert_eq!(n.get(), 3, "slow items are done one at a time");
    }

    #[test]
    fn a_flag_ends_the_work_between_two_items() {
        let (flag, n) = (AtomicBool::new(false), Cell::new(0));
        let is_over = || flag.load(Ordering::Relaxed);
        // Quick items make large batches.
        let raises = |i| {
            n.set(n.get() + 1);
            flag.store(i == 5000, Ordering::Relaxed);
        };
        assert!(Pace::new(Some(&is_over), Some(&flag)).one_by_one(1_000_000, raises).is_err());
        assert_eq!(n.get(), 5001);
        // A flag that is cleared in time cancels nothing.
        let (flag, done) = (AtomicBool::new(true), Cell::new(0));
        let is_over = || false;
        let counts = |_| done.set(done.get() + 1);
        Pace::new(Some(&is_over), Some(&flag)).one_by_one(100, counts).expect("it is not over");
        assert_eq!(done.get(), 100);
    }

    #[test]
    fn work_continues_if_nobody_cancels_it() {
        let mut pace = Pace::new(None, None);
        pace.over(0..10 * UNITS, UNITS, |_| Ok(())).expect("nobody cancels it");
    }
}
