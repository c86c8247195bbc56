//! When to try again what takes long and did not succeed.

/// The number of edits until something is tried again. It doubles with each failure in a row.
#[derive(Debug, Default)]
pub(super) struct BackOff {
    left: u32,
    last: u32,
}

impl BackOff {
    /// Whether to try now.
    pub(super) fn is_due(&self) -> bool {
        self.left == 0
    }

    /// Records an edit.
    pub(super) fn edited(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Records whether a try succeeded. After a failure, at most `most` edits must pass before the
    /// next one.
    pub(super) fn tried(&mut self, has_succeeded: bool, most: u32) {
        self.last = if has_succeeded { 0 } else { (2 * self.last).clamp(2, most) };
        self.left = self.last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of edits until the next try.
    fn wait(it: &mut BackOff) -> u32 {
        let mut n = 0;
        while !it.is_due() {
            it.edited();
            n += 1;
        }
        n
    }

    #[test]
    fn tries_become_rarer_until_one_succeeds() {
        let mut it = BackOff::default();
        assert_eq!(wait(&mut it), 0);
        let waits = [0; 5].map(|_| {
            it.tried(false, 16);
            wait(&mut it)
        });
        assert_eq!(waits, [2, 4, 8, 16, 16]);
        it.tried(true, 16);
        it.tried(false, 16);
        assert_eq!(wait(&mut it), 2);
    }
}
