//! Work spread over the cores.
//!
//! The threads of one call take items from a queue under a lock, which is held only while taking.

use std::sync::{Mutex, PoisonError};
use std::thread::{available_parallelism, scope};

use crate::guard::caught;

/// Calls a function with each item, on as many threads as there are cores; `None` for items for
/// which it panics. Results are in the order of the items.
pub(super) fn spread<T: Send, R: Send>(
    items: Vec<T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<Option<R>> {
    let n_threads = available_parallelism().map_or(1, usize::from).min(items.len());
    if n_threads < 2 {
        return items.into_iter().map(|item| caught(|| work(item))).collect();
    }
    let queue = Mutex::new(items.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let some = || {
        let mut done = Vec::new();
        while let Some((i, item)) = next() {
            done.push((i, caught(|| work(item))));
        }
        done
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
        let outer = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !crate::is_decoding() {
                outer(info);
            }
        }));
        let results = spread((0..100).collect(), |i: usize| {
            assert!(i % 10 != 3, "one of ten panics");
            i * 2
        });
        for (i, result) in results.into_iter().enumerate() {
            assert_eq!(result, (i % 10 != 3).then_some(i * 2));
        }
    }
}
