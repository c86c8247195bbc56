//! Ways to evaluate a plan, compared by the time they take.
//!
//! The best way depends on the plan, on the number of elements and on the load of the machine. So
//! each way that may be good is tried, and the best is used from then on. Estimates and single times
//! may be wrong, so every other way is tried again, the more rarely the longer it takes.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use millstream_base::{Footprint, ValueType};
use millstream_ir::request::Bound;
use millstream_node::Data;
use rustc_hash::FxHashMap;

/// The number of tries of each way before its time counts: the first makes lists and forms that
/// later ones reuse, and one of the next may make machine code. In long evaluations these do not
/// matter.
const TRIES: u32 = 3;

/// Minimal time of a long evaluation in seconds.
const LONG: f64 = 1e-3;

/// The time in seconds after which one try is enough. A shorter one may have been slow because of
/// what the first evaluations make.
const VERY_LONG: f64 = 2e-2;

/// Ways that are expected to take up to this many times as long as the best one are tried at once,
/// unless evaluations are long.
const PROMISING: f64 = 3.0;

/// In long evaluations, a way is tried as soon as its expected loss is at most one part in this many
/// of the time spent.
const LOSS: f64 = 20.0;

/// More cells than any evaluation computes.
const MOST_CELLS: f64 = 1e12;

/// A way that takes as long as the best one is tried again after this many evaluations; one that
/// takes `r` times as long after `r` times as many. So the tries of a way never take more than one
/// part in this many of the time.
const AGAIN: f64 = 64.0;

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

/// Similar requests: the same outputs for about as many cells and pixels.
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
    /// Roughly the shortest recent time in seconds, leaving out a first try that was short; infinite
    /// if there is no other.
    seconds: f64,
    /// The number of choices at its last try.
    last: u64,
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

/// The cells of a request; with a view, the pixels of all of them.
pub(crate) fn n_cells(bound: &Bound) -> usize {
    let views = bound.features.iter().flatten().filter_map(|given| {
        let view = match &given.data {
            Data::One(value) => Footprint::from_value(value),
            Data::Many(views) => Footprint::from_value(&views.iter().next()?),
        };
        view?.n_pixels()
    });
    views.fold(bound.n_cells(), usize::saturating_mul)
}

impl<const N: usize> Known<N> {
    /// The expected time of each way: measured, or else estimated. Estimates are scaled by the best
    /// way that has both, for the number of cells that its time suggests: requests show neither the
    /// items of lists nor the rounds of loops.
    fn forecasts(&self, cells: f64, expected: impl Fn(f64) -> [f64; N]) -> [f64; N] {
        let measured = |way: usize| self.ways[way].seconds;
        let tried = (0..N).filter(|way| self.is_tried(*way));
        let mut estimates = expected(cells);
        let Some(best) = tried.min_by(|a, b| measured(*a).total_cmp(&measured(*b))) else {
            return estimates;
        };
        let mut more = cells.max(1.0);
        while more < MOST_CELLS {
            more *= 4.0;
            let of_more = expected(more);
            if of_more[best] > measured(best) {
                break;
            }
            estimates = of_more;
        }
        let scale = measured(best) / estimates[best].max(f64::MIN_POSITIVE);
        let forecast =
            |way| if self.is_tried(way) { measured(way) } else { estimates[way] * scale };
        std::array::from_fn(forecast)
    }

    /// Whether the time of a way counts.
    fn is_tried(&self, way: usize) -> bool {
        let Seen { n, seconds, .. } = self.ways[way];
        n >= TRIES || (VERY_LONG..f64::INFINITY).contains(&seconds)
    }

    fn choose(&mut self, cells: f64, expected: impl Fn(f64) -> [f64; N]) -> Choice {
        self.n_choices += 1;
        let forecasts = self.forecasts(cells, expected);
        let mut order: [usize; N] = std::array::from_fn(|way| way);
        order.sort_by(|a, b| forecasts[*a].total_cmp(&forecasts[*b]));
        let best = forecasts[order[0]];
        let ratio = |way: usize| forecasts[way] / best.max(f64::MIN_POSITIVE);
        let n_choices = self.n_choices as f64;
        let is_promising = |way: &usize| {
            let limit = if best < LONG { PROMISING } else { 1.0 + n_choices / LOSS };
            let is_begun = self.ways[*way].n > 0;
            !self.is_tried(*way) && (is_begun || ratio(*way) <= limit)
        };
        let is_due = |way: &usize| {
            let Seen { n, last, .. } = self.ways[*way];
            // One try may have met another load of the machine.
            let is_doubtful = n > 0 && n < TRIES;
            let after = if is_doubtful { AGAIN / 2.0 } else { AGAIN * ratio(*way) };
            n_choices - last as f64 >= after
        };
        let other = order.iter().find(|way| is_promising(way));
        let other = other.or_else(|| order[1..].iter().find(|way| is_due(way)));
        let way = *other.unwrap_or(&order[0]);
        self.ways[way].last = self.n_choices;
        Choice { way, is_settled: other.is_none() && self.is_tried(way) }
    }
}

impl<const N: usize> Trials<N> {
    /// The way to use for a request of this number of cells; `expected` estimates the time of each
    /// in seconds for a number of cells, which is infinite for ways that are excluded.
    pub(crate) fn choose(
        &self,
        key: &Key,
        cells: f64,
        expected: impl Fn(f64) -> [f64; N],
    ) -> Choice {
        let mut known = self.by_request.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT && !known.contains_key(key) {
            known.clear();
        }
        let nothing =
            Known { ways: [Seen { n: 0, seconds: f64::INFINITY, last: 0 }; N], n_choices: 0 };
        known.entry(key.clone()).or_insert(nothing).choose(cells, expected)
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
        seen.n = seen.n.saturating_add(1);
        if seen.n > 1 || took.as_secs_f64() >= VERY_LONG {
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
            let way = trials.choose(&key, 1.0, |_| expected).way;
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
    fn in_long_evaluations_tries_wait_until_their_loss_is_small() {
        let trials = Trials::default();
        let ways = play(&trials, [1e-1, 2e-1, 5e-1], [100_000, 150_000, 1], 78);
        assert_eq!(ways[..19], [0; 19], "a way that may take twice as long waits for 20 choices");
        assert_eq!(ways[19], 1);
        assert_eq!(ways[20..51], [0; 31], "one try is enough");
        assert_eq!(ways[51..78].iter().filter(|way| **way == 1).count(), 1, "it is tried again");
        let trials = Trials::default();
        let ways = play(&trials, [1e-1, 2e-1, f64::INFINITY], [100_000, 50_000, 1], 96);
        assert_eq!(ways[..19], [0; 19]);
        assert_eq!(ways[19..], [1; 77], "its time counts");
    }

    #[test]
    fn the_time_of_one_way_shows_how_much_there_is_to_do() {
        // The second way has a cost of its own, and is quick for many cells.
        let expected = |cells: f64| [1e-8 * cells, 1e-6 + 2e-9 * cells, f64::INFINITY];
        let key = Key { outputs: [0].into(), magnitude: 1 };
        for (nanoseconds, ways) in [(30_000_000, [0, 1, 1, 1, 1]), (12, [0; 5])] {
            let trials = Trials::<3>::default();
            for way in ways {
                assert_eq!(trials.choose(&key, 1.0, expected).way, way);
                let took = if way == 0 { nanoseconds } else { nanoseconds / 3 };
                trials.note(&key, way, Duration::from_nanos(took));
            }
        }
    }

    #[test]
    fn a_way_that_becomes_slow_is_left() {
        let trials = Trials::default();
        play(&trials, [1e-5; 3], [10, 12, 50], 40);
        let ways = play(&trials, [1e-5; 3], [100, 12, 50], 200);
        assert_eq!(ways[190..], [1; 10]);
    }

    #[test]
    fn a_way_that_was_slow_once_is_tried_again() {
        let trials = Trials::default();
        let key = Key { outputs: [0].into(), magnitude: 1 };
        trials.choose(&key, 1.0, |_| [1e-5, 2e-5, f64::INFINITY]);
        trials.note(&key, 0, Duration::from_millis(30));
        let ways = play(&trials, [1e-5, 2e-5, f64::INFINITY], [10, 40, 1], 200);
        assert_eq!(ways[100..], [0; 100]);
    }

    #[test]
    fn wrong_estimates_are_found_out() {
        let trials = Trials::default();
        let ways = play(&trials, [1e-5, 1e-4, f64::INFINITY], [10, 2, 1], 2000);
        assert_eq!(ways[1990..], [1; 10]);
        assert!(!ways.contains(&2), "excluded ways are never tried");
    }

    #[test]
    fn tries_take_little_time() {
        let trials = Trials::default();
        let takes = [10, 30, 400];
        let ways = play(&trials, [1e-5; 3], takes, 10_000);
        let total: u64 = ways.iter().map(|way| takes[*way]).sum();
        assert!(total < 104_000, "{total} of 100000 microseconds");
    }
}
