//! The clock for the times in a log.

use std::time::{Duration, Instant};

use millstream_ir::answer::RunLog;

/// A clock that measures the time since it was last read.
#[derive(Debug)]
pub(crate) struct Laps {
    last: Instant,
    /// The time spent measuring members of regions.
    pub(crate) measuring: Duration,
    /// The time in which this thread only waited for others.
    waited: Duration,
    /// The time that other threads worked in the meantime.
    elsewhere: Duration,
}

impl Laps {
    pub(crate) fn start() -> Self {
        let (measuring, waited, elsewhere) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        Self { last: Instant::now(), measuring, waited, elsewhere }
    }

    /// The time since the clock was last read.
    #[inline]
    pub(crate) fn take(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.last, now)
    }

    /// Counts the time since the last reading as measuring.
    pub(crate) fn measured(&mut self) {
        let time = self.take();
        self.measuring += time;
    }

    /// Counts the time since the last reading as waiting.
    pub(crate) fn waited(&mut self) {
        let time = self.take();
        self.waited += time;
    }

    /// Adds the time that another thread worked on a step.
    pub(crate) fn worked_elsewhere(&mut self, time: Duration) {
        self.elsewhere += time;
    }

    /// Scales the times of steps, some of which ran on other threads, to the time that the
    /// evaluation took.
    pub(crate) fn scale(&self, log: &mut RunLog) {
        if self.elsewhere.is_zero() {
            return;
        }
        let work = log.time_in_steps();
        let wall = (work + self.waited).saturating_sub(self.elsewhere);
        let ratio = wall.as_secs_f64() / work.as_secs_f64().max(f64::MIN_POSITIVE);
        for entry in &mut log.entries {
            entry.time = entry.time.mul_f64(ratio);
        }
    }
}
