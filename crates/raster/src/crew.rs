//! Threads for the rows of an image, and the check for cancellation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use millstream_base::pages::in_huge_pages;
use millstream_base::width::Width;

/// Values computed between two checks for cancellation: well under a millisecond of work.
const UNITS: usize = 1 << 16;

/// The computation was cancelled; there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// Zeros for the channels of an image, in huge pages if they are many.
pub(crate) fn fresh(n: usize) -> Vec<f32> {
    let mut values = vec![0.0; n];
    in_huge_pages(&mut values);
    values
}

/// How a computation runs: on how many threads, and until when. Results do not depend on it.
#[derive(Clone, Copy)]
pub struct Crew<'a> {
    threads: usize,
    is_over: Option<&'a (dyn Fn() -> bool + Sync)>,
    width: Width,
    /// Numbers that nobody needs any more, whose memory becomes that of the result.
    old: Option<&'a Mutex<Vec<f32>>>,
}

impl<'a> Crew<'a> {
    /// At most this many threads, which stop soon after `is_over` returns true.
    pub fn new(threads: usize, is_over: Option<&'a (dyn Fn() -> bool + Sync)>) -> Self {
        Self { threads: threads.max(1), is_over, width: Width::widest(), old: None }
    }

    /// One thread without cancellation.
    pub fn alone() -> Self {
        Self::new(1, None)
    }

    /// The same, restricted to instructions that every machine has.
    pub fn at_baseline(self) -> Self {
        Self { width: Width::BASELINE, ..self }
    }

    /// The same with memory for the next result.
    pub fn with_memory(self, old: &'a Mutex<Vec<f32>>) -> Self {
        Self { old: Some(old), ..self }
    }

    /// Memory for `n` numbers; what they are does not matter.
    pub(crate) fn memory(&self, n: usize) -> Vec<f32> {
        let old = self
            .old
            .map(|old| std::mem::take(&mut *old.lock().unwrap_or_else(PoisonError::into_inner)));
        match old {
            Some(mut old) if old.capacity() >= n && old.capacity() / 2 <= n => {
                old.resize(n, 0.0);
                old
            }
            Some(_) | None => fresh(n),
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    pub(crate) fn width(&self) -> Width {
        self.width
    }

    /// A work counter that checks for cancellation.
    pub(crate) fn pace(&self) -> Pace<'a> {
        Pace { is_over: self.is_over, left: UNITS }
    }

    /// Runs a job for each item, on several threads if there are several items. Each thread creates
    /// one `room`, which its jobs share.
    pub(crate) fn each<I, R>(
        &self,
        items: Vec<I>,
        room: impl Fn() -> R + Sync,
        job: impl Fn(I, &mut R, &mut Pace<'_>) -> Result<(), Cancelled> + Sync,
    ) -> Result<(), Cancelled>
    where
        I: Send,
    {
        let threads = self.threads.min(items.len());
        if threads <= 1 {
            let (mut room, mut pace) = (room(), self.pace());
            return items.into_iter().try_for_each(|item| job(item, &mut room, &mut pace));
        }
        let (items, ended) = (Mutex::new(items.into_iter()), AtomicBool::new(false));
        let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            let (mut room, mut pace) = (room(), self.pace());
            while !ended.load(Ordering::Relaxed)
                && let Some(item) = next()
            {
                if job(item, &mut room, &mut pace).is_err() {
                    ended.store(true, Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        if ended.into_inner() { Err(Cancelled) } else { Ok(()) }
    }
}

impl Default for Crew<'_> {
    fn default() -> Self {
        Self::alone()
    }
}

impl std::fmt::Debug for Crew<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crew").field("threads", &self.threads).finish_non_exhaustive()
    }
}

/// Counts work, and checks for cancellation when enough has accumulated.
pub(crate) struct Pace<'a> {
    is_over: Option<&'a (dyn Fn() -> bool + Sync)>,
    left: usize,
}

impl Pace<'_> {
    /// Counts values that were computed or are about to be, of a few operations each.
    #[inline]
    pub(crate) fn work(&mut self, units: usize) -> Result<(), Cancelled> {
        match self.left.checked_sub(units) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => self.look(),
        }
    }

    #[cold]
    fn look(&mut self) -> Result<(), Cancelled> {
        self.left = UNITS;
        if self.is_over.is_some_and(|is_over| is_over()) { Err(Cancelled) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn every_item_is_done_once_on_any_number_of_threads() {
        for threads in [1, 2, 7] {
            let mut done = vec![0; 100];
            let items: Vec<&mut i32> = done.iter_mut().collect();
            let add = |item: &mut i32, room: &mut i32, _: &mut Pace<'_>| {
                *room += 1;
                *item += 1;
                Ok(())
            };
            assert_eq!(Crew::new(threads, None).each(items, || 0, add), Ok(()));
            assert_eq!(done, [1; 100]);
        }
    }

    #[test]
    fn a_cancel_ends_the_work_of_all_threads() {
        for threads in [1, 3] {
            let (looks, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let is_over = || looks.fetch_add(1, Ordering::Relaxed) >= 4;
            let crew = Crew::new(threads, Some(&is_over));
            let count = |_, (): &mut (), pace: &mut Pace<'_>| {
                done.fetch_add(1, Ordering::Relaxed);
                pace.work(UNITS + 1)
            };
            assert_eq!(crew.each((0..1000).collect(), || (), count), Err(Cancelled));
            assert!(done.load(Ordering::Relaxed) <= 4 + threads);
        }
    }
}
