//! Until when somebody waits for what is read.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Until when reading goes on; looked at between blocks of what is read. The default is to the end.
#[derive(Clone, Debug, Default)]
pub struct Until {
    /// Ends reading once it is true.
    pub cancel: Option<Arc<AtomicBool>>,
    /// When reading ends at the latest.
    pub deadline: Option<Instant>,
}

/// Why nobody waits any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Somebody cancelled.
    Cancelled,
    /// The time is over.
    Deadline,
}

impl Until {
    /// Why nobody waits any more, if so.
    pub fn ended(&self) -> Option<Ended> {
        if self.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Some(Ended::Cancelled);
        }
        let is_late = self.deadline.is_some_and(|deadline| Instant::now() > deadline);
        is_late.then_some(Ended::Deadline)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use millstream_base::Limits;

    use super::*;
    use crate::builder::Budget;
    use crate::error::IoError;

    #[test]
    fn what_never_ends_is_read_until_the_deadline() {
        let deadline = Instant::now().checked_add(Duration::from_millis(20));
        let budget = Budget::new(&Limits::default(), &Until { cancel: None, deadline });
        let read = budget.read_all(SlowZeros, 0, "zeros");
        assert!(matches!(read, Err(IoError::Ended { why: Ended::Deadline, .. })));
    }

    struct SlowZeros;

    impl std::io::Read for SlowZeros {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            std::thread::sleep(Duration::from_micros(100));
            bytes.fill(0);
            Ok(bytes.len())
        }
    }
}
