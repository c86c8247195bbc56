//! Ways to evaluate a plan, compared by the time they take.
//!
//! The best way depends on the plan, on the number of elements and on the load of the machine. So
//! each way that may be good is tried, the best is used from then on, and from time to time a way
//! that was nearly as good is tried again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use millstream_ir::request::Bound;
use rustc_hash::FxHashMap;

/// The number of tries of each way before its time counts: the first makes lists and forms that
/// later ones reuse. In long evaluations these do not matter.
const TRIES: u32 = 2;

/// Minimal time of a long evaluation in seconds.
const LONG: f64 = 1e-3;

/// The time in seconds after which one try is enough. A shorter one may have been slow because of
/// what the first evaluation makes, such as a list.
const VERY_LONG: f64 = 2e-2;

/// Ways that are expected to take this many times as long as the best one are not tried; in long
/// evaluations those beyond the second factor only from time to time.
const HOPELESS: f64 = 3.0;
const DOUBTFUL: f64 = 1.5;

/// The number of evaluations after which a way that was a little slower is tried again.
const AGAIN: u64 = 64;

/// The times of the ways to evaluate a plan, for each kind of request.
#[derive(Debug)]
pub(crate) struct Trials<const N: usize> {
    by_request: Mutex<FxHashMap<Key, Known<N>>>,
}

impl<const N: usize> Default for Trials<N> {
    fn default() -> Self {
        Self { by_request: Mutex::default() }
    }
}

/// The way to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) way: usize,
    /// Whether it is the best one, and all promising others were tried.
    pub(crate) is_settled: bool,
}

/// Similar requests: the same outputs for about as many cells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    outputs: Box<[usize]>,
    magnitude: u32,
}

/// Maximal number of kinds of requests per plan.
const KEPT: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Known<const N: usize> {
    ways: [Seen; N],
    n_choices: u64,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    n: u32,
    /// Roughly the shortest recent time, in seconds.
    seconds: f64,
}

impl Key {
    pub(crate) fn of(bound: &Bound) -> Self {
        Self { outputs: bound.outputs.as_slice().into(), magnitude: magnitude(bound) }
    }

    /// Whether a request is of this kind.
    #[inline]
    pub(crate) fn is_of(&self, bound: &Bound) -> bool {
        self.magnitude == magnitude(bound) && *self.outputs == *bound.outputs
    }
}

fn magnitude(bound: &Bound) -> u32 {
    usize::BITS - n_cells(bound).leading_zeros()
}

/// The cells of a request.
pub(crate) fn n_cells(bound: &Bound) -> usize {
    bound.n_cells()
}

impl<const N: usize> Known<N> {
    /// The expected time of a way: measured, or else estimated.
    fn forecast(&self, way: usize, expected: &[f64; N]) -> f64 {
        let Seen { n, seconds } = self.ways[way];
        if n >= TRIES { seconds } else { expected[way] }
    }

    fn choose(&mut self, expected: &[f64; N]) -> Choice {
        self.n_choices += 1;
        let mut order: [usize; N] = std::array::from_fn(|way| way);
        order.sort_by(|a, b| self.forecast(*a, expected).total_cmp(&self.forecast(*b, expected)));
        let best = self.forecast(order[0], expected);
        let is_tried = |way: usize| self.ways[way].n >= TRIES;
        // Estimated and measured times can be compared only through a way that has both.
        let scale =
            if is_tried(order[0]) { best / expected[order[0]].max(f64::MIN_POSITIVE) } else { 1.0 };
        let is_turn = self.n_choices.is_multiple_of(AGAIN);
        let limit = if best < LONG || is_turn { HOPELESS } else { DOUBTFUL };
        let may_be_good = |way: &usize| {
            !is_tried(*way) && expected[*way].is_finite() && expected[*way] * scale <= limit * best
        };
        if let Some(way) = order.iter().copied().find(may_be_good) {
            return Choice { way, is_settled: false };
        }
        let is_near = |way: usize| is_tried(way) && self.ways[way].seconds <= 1.5 * best;
        if N > 1 && is_turn && is_near(order[1]) {
            return Choice { way: order[1], is_settled: false };
        }
        Choice { way: order[0], is_settled: is_tried(order[0]) }
    }
}

impl<const N: usize> Trials<N> {
    /// The way to use; `expected` is the estimated time of each in seconds, infinite for ways that
    /// are excluded.
    pub(crate) fn choose(&self, key: &Key, expected: &[f64; N]) -> Choice {
        let mut known = self.by_request.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT && !known.contains_key(key) {
            known.clear();
        }
        let nothing = Known { ways: [Seen { n: 0, seconds: f64::INFINITY }; N], n_choices: 0 };
        known.entry(key.clone()).or_insert(nothing).choose(expected)
    }

    /// Whether requests of this kind are new: no way can have been tried often enough.
    pub(crate) fn is_new(&self, key: &Key) -> bool {
        let known = self.by_request.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).is_none_or(|known| known.n_choices < u64::from(TRIES))
    }

    /// Records the time of a way. The shortest time counts, and is forgotten slowly.
    pub(crate) fn note(&self, key: &Key, way: usize, took: Duration) {
        let mut known = self.by_request.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = known.get_mut(key) else { return };
        let seen = &mut known.ways[way];
        let is_long = took.as_secs_f64() >= VERY_LONG;
        seen.n = if is_long { seen.n.max(TRIES) } else { seen.n.saturating_add(1) };
        if seen.n >= TRIES {
            seen.seconds = took.as_secs_f64().min(seen.seconds * 1.05);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates `rounds` evaluations in which each way takes the time in `takes`.
    fn play(trials: &Trials<3>, expected: [f64; 3], takes: [u64; 3], rounds: usize) -> Vec<usize> {
        let key = Key { outputs: [0].into(), magnitude: 1 };
        let round = |_| {
            let way = trials.choose(&key, &expected).way;
            trials.note(&key, way, Duration::from_micros(takes[way]));
            way
        };
        (0..rounds).map(round).collect()
    }

    #[test]
    fn the_best_way_is_found_and_kept() {
        let trials = Trials::default();
        let ways = play(&trials, [1e-5, 2e-5, 2e-5], [30, 10, 50], 40);
        assert_eq!(ways[0], 0, "what is expected to be the best is tried first");
        assert_eq!(ways[10..], [1; 30], "what took least stays");
    }

    #[test]
    fn hopeless_ways_are_not_tried() {
        let trials = Trials::default();
        let ways = play(&trials, [1e-5, 1e-3, f64::INFINITY], [10, 1, 1], 200);
        assert_eq!(ways, [0; 200]);
    }

    #[test]
    fn ways_that_take_long_are_not_tried_for_nothing() {
        let trials = Trials::default();
        let ways = play(&trials, [1e-1, 2e-1, 5e-1], [100_000, 150_000, 1], 63);
        assert_eq!(ways, [0; 63], "the others will take longer");
        let ways = play(&trials, [1e-1, 2e-1, 5e-1], [100_000, 50_000, 1], 40);
        assert_eq!(ways[..2], [1, 1], "one try is enough, and its time counts");
        assert_eq!(ways[2..], [1; 38]);
    }

    #[test]
    fn a_way_that_becomes_slow_is_left() {
        let trials = Trials::default();
        play(&trials, [1e-5; 3], [10, 12, 50], 40);
        let ways = play(&trials, [1e-5; 3], [100, 12, 50], 200);
        assert_eq!(ways[190..], [1; 10]);
    }
}
