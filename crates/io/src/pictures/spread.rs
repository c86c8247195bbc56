//! Work that is spread over the cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, scope};

use crate::guard::caught;

/// Calls a function for each item, on as many threads as there are cores; `None` where it panics.
/// Results are in the order of the items.
pub(super) fn spread<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<Option<R>> {
    let n_threads = available_parallelism().map_or(1, usize::from).min(items.len());
    if n_threads < 2 {
        return items.iter().map(|item| caught(|| work(item))).collect();
    }
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(i) else { return done };
            done.push((i, caught(|| work(item))));
        }
    };
    let mut done = scope(|scope| {
        let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(some)).collect();
        let mut done = some();
        for other in others {
            done.extend(other.join().expect("panics of the work are caught"));
        }
        done
    });
    done.sort_unstable_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_panics_are_none() {
        let items: Vec<usize> = (0..100).collect();
        let results = spread(&items, |i| {
            assert!(i % 10 != 3 || !crate::is_decoding(), "caught");
            i * 2
        });
        for (i, result) in results.into_iter().enumerate() {
            assert_eq!(result, (i % 10 != 3).then_some(i * 2));
        }
    }
}
