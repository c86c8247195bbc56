//! Counts what is read against the limits and the budget of the caller.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use millstream_base::budget::Poll;
use millstream_base::{Budget, Limits};

use crate::error::{IoError, Spot};

/// Bytes read between two checks of the budget.
const PIECE: u64 = 1 << 20;

/// The rows and bytes that one file may hold, and the budget for reading it.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    rows: usize,
    bytes: usize,
    poll: Poll,
}

impl Meter {
    pub(crate) fn new(limits: &Limits, budget: &Budget) -> Self {
        Self { rows: limits.list_length, bytes: limits.bytes, poll: budget.poll() }
    }

    /// Checks the budget, whatever was counted.
    pub(crate) fn look(&self, spot: impl FnOnce() -> Spot) -> Result<(), IoError> {
        self.poll.look().map_err(|why| IoError::Ended { spot: spot(), why })
    }

    /// Counts units of work of a few nanoseconds each, and checks the budget from time to time.
    #[inline]
    pub(crate) fn work(&self, units: usize, spot: impl FnOnce() -> Spot) -> Result<(), IoError> {
        if self.poll.is_due(units) { self.look(spot) } else { Ok(()) }
    }

    /// The maximum number of bytes in memory.
    pub(crate) fn n_bytes(&self) -> usize {
        self.bytes
    }

    /// Checks a number of rows, actual or announced.
    pub(crate) fn check_rows(
        &self,
        n_rows: usize,
        spot: impl FnOnce() -> Spot,
    ) -> Result<(), IoError> {
        self.check_length(n_rows, "rows", spot)
    }

    /// Checks a number of elements in one list.
    pub(crate) fn check_list(
        &self,
        length: usize,
        spot: impl FnOnce() -> Spot,
    ) -> Result<(), IoError> {
        self.check_length(length, "elements in a list", spot)
    }

    fn check_length(
        &self,
        length: usize,
        what: &'static str,
        spot: impl FnOnce() -> Spot,
    ) -> Result<(), IoError> {
        if length <= self.rows {
            return Ok(());
        }
        Err(IoError::Limit { spot: spot(), what, most: self.rows, limit: &Limits::LIST_LENGTH })
    }

    /// Checks a number of bytes.
    pub(crate) fn check_bytes(
        &self,
        bytes: usize,
        spot: impl FnOnce() -> Spot,
    ) -> Result<(), IoError> {
        let most = self.n_bytes();
        if bytes <= most {
            return Ok(());
        }
        Err(IoError::Limit { spot: spot(), what: "bytes", most, limit: &Limits::BYTES })
    }

    /// The bytes of a file, called `name` in messages; at most the limit is read.
    pub(crate) fn read_file(&self, path: &Path, name: &str) -> Result<Vec<u8>, IoError> {
        let file = File::open(path).map_err(IoError::reading(name))?;
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        self.read_all(file, usize::try_from(length).unwrap_or(usize::MAX), name)
    }

    /// The bytes of a source, called `name` in messages, with their probable number; at most the
    /// limit is read.
    pub(crate) fn read_all(
        &self,
        mut source: impl Read,
        probable: usize,
        name: &str,
    ) -> Result<Vec<u8>, IoError> {
        let mut bytes = Vec::with_capacity(probable.min(self.n_bytes()).min(1 << 30) + 1);
        loop {
            self.look(|| Spot::file(name))?;
            let read = (&mut source).take(PIECE).read_to_end(&mut bytes);
            let n = read.map_err(IoError::reading(name))?;
            self.check_bytes(bytes.len(), || Spot::file(name))?;
            if n == 0 {
                return Ok(bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use millstream_base::Ended;

    use super::*;

    #[test]
    fn an_endless_source_is_read_until_the_deadline() {
        let deadline = Instant::now().checked_add(Duration::from_millis(20));
        let budget = Budget::by(deadline);
        let read = Meter::new(&Limits::default(), &budget).read_all(SlowZeros, 0, "zeros");
        assert!(matches!(read, Err(IoError::Ended { why: Ended::Deadline, .. })));
    }

    struct SlowZeros;

    impl Read for SlowZeros {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            std::thread::sleep(Duration::from_micros(100));
            bytes.fill(0);
            Ok(bytes.len())
        }
    }
}
