//! Ways to evaluate a plan, compared by the time they take.
//!
//! The best way depends on the plan, on the number of elements and on the load of the machine. So
//! each way that may be good is tried, and the best is used from then on. Estimates and single times
//! may be wrong, so every other way is tried again, the more rarely the longer it takes. The time of
//! the way in use follows the median, so that it is left if most of its evaluations become slow.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use millstream_base::{Footprint, ValueType};
use millstream_ir::request::{Bound, LogDetail, Request};
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

/// The time in seconds below which a way is tried several times in a row, since it is slow as long as
/// the caches hold the data of another.
const BRIEF: f64 = 5e-5;

/// The factors by which the known time of a way grows at most: in an evaluation with the best way,
/// and in a try of another one.
const GROWTH: f64 = 1.05;
const GROWTH_IN_TRY: f64 = 1.25;

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

/// Similar requests: the same outputs for about as many cells and pixels, with the same log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    outputs: Box<[usize]>,
    magnitude: u32,
    log: LogDetail,
}

/// Maximal number of kinds of requests per plan.
const KEPT: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Known<const N: usize> {
    ways: [Seen; N],
    n_choices: u64,
    /// Including those for which nothing was chosen.
    n_evaluations: u64,
    /// The way to try next, and how often.
    again: (usize, u32),
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    n: u32,
    /// Roughly the median of recent times in seconds while it is the best way, otherwise the
    /// shortest, leaving out a first try that was short; infinite if there is no other.
    seconds: f64,
    /// The number of choices at its last try.
    last: u64,
}

impl Key {
    pub(crate) fn of(request: &Request, bound: &Bound) -> Self {
        let (outputs, log) = (bound.outputs.as_slice().into(), request.log);
        Self { outputs, magnitude: magnitude(bound), log }
    }

    /// Whether a request is of this kind.
    #[inline]
    pub(crate) fn is_of(&self, request: &Request, bound: &Bound) -> bool {
        self.log == request.log
            && self.magnitude == magnitude(bound)
            && *self.outputs == *bound.outputs
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
    /// items of lists nor the rounds of loops. A short time may just as well be overhead, so then
    /// the estimates for the cells of the request are scaled too, and the better one counts.
    fn forecasts(&self, cells: f64, expected: impl Fn(f64) -> [f64; N]) -> [f64; N] {
        let measured = |way: usize| self.ways[way].seconds;
        let tried = (0..N).filter(|way| self.is_tried(*way));
        let of_request = expected(cells);
        let Some(best) = tried.min_by(|a, b| measured(*a).total_cmp(&measured(*b))) else {
            return of_request;
        };
        let mut of_cells = of_request;
        let mut more = cells.max(1.0);
        while more < MOST_CELLS {
            more *= 4.0;
            let of_more = expected(more);
            if of_more[best] > measured(best) {
                break;
            }
            of_cells = of_more;
        }
        let scaled = |estimates: &[f64; N], way: usize| match estimates[best] {
            of_best if of_best.is_finite() => {
                estimates[way] * (measured(best) / of_best.max(f64::MIN_POSITIVE))
            }
            _ => estimates[way],
        };
        let estimate = |way| {
            let of_cells = scaled(&of_cells, way);
            if measured(best) < LONG { of_cells.min(scaled(&of_request, way)) } else { of_cells }
        };
        std::array::from_fn(|way| if self.is_tried(way) { measured(way) } else { estimate(way) })
    }

    /// Whether the time of a way counts.
    fn is_tried(&self, way: usize) -> bool {
        let Seen { n, seconds, .. } = self.ways[way];
        n >= TRIES || (VERY_LONG..f64::INFINITY).contains(&seconds)
    }

    fn choose(&mut self, cells: f64, expected: impl Fn(f64) -> [f64; N]) -> Choice {
        self.n_choices += 1;
        let choice = match &mut self.again {
            (_, 0) => self.best_or_other(&self.forecasts(cells, expected)),
            (way, n_more) => {
                *n_more -= 1;
                Choice { way: *way, is_settled: false }
            }
        };
        self.ways[choice.way].last = self.n_choices;
        choice
    }

    /// The best way, or another one that should be tried.
    fn best_or_other(&mut self, forecasts: &[f64; N]) -> Choice {
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
        let in_a_row = if best < BRIEF { TRIES } else { 1 };
        let is_due = |way: &usize| match self.ways[*way] {
            // The estimate may be wrong, so all evaluations since the first count.
            Seen { n: 0, .. } => self.n_evaluations as f64 >= AGAIN * ratio(*way),
            // One try may have met another load of the machine.
            Seen { n, last, .. } if n < TRIES => n_choices - last as f64 >= AGAIN / 2.0,
            Seen { last, .. } => {
                n_choices - last as f64 >= AGAIN * ratio(*way) * f64::from(in_a_row)
            }
        };
        if let Some(way) = order.iter().find(|way| is_promising(way)) {
            return Choice { way: *way, is_settled: false };
        }
        if let Some(way) = order[1..].iter().find(|way| is_due(way)) {
            self.again = (*way, in_a_row - 1);
            return Choice { way: *way, is_settled: false };
        }
        Choice { way: order[0], is_settled: self.is_tried(order[0]) }
    }

    fn note(&mut self, Choice { way, is_settled }: Choice, took: f64, n_untimed: u32) {
        self.n_evaluations += 1 + u64::from(n_untimed);
        let Seen { n, seconds, .. } = &mut self.ways[way];
        *n = n.saturating_add(1);
        if *n == 1 && took < VERY_LONG {
            return;
        }
        // A time of zero would never grow.
        let took = took.max(1e-9);
        *seconds = match *n {
            ..=TRIES => took.min(*seconds),
            _ if is_settled => took.clamp(*seconds / GROWTH, *seconds * GROWTH),
            _ => took.min(*seconds * GROWTH_IN_TRY),
        };
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
        let ways = [Seen { n: 0, seconds: f64::INFINITY, last: 0 }; N];
        let nothing = Known { ways, n_choices: 0, n_evaluations: 0, again: (0, 0) };
        known.entry(key.clone()).or_insert(nothing).choose(cells, expected)
    }

    /// Whether requests of this kind are new: no way can have been tried often enough.
    pub(crate) fn is_new(&self, key: &Key) -> bool {
        let known = self.by_request.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).is_none_or(|known| known.n_choices < u64::from(TRIES))
    }

    /// Records the time of a chosen way, which this number of further evaluations will use untimed.
    pub(crate) fn note(&self, key: &Key, choice: Choice, took: Duration, n_untimed: u32) {
        let mut known = self.by_request.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get_mut(key) {
            known.note(choice, took.as_secs_f64(), n_untimed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates `rounds` evaluations in which each way takes the time in `takes`.
    fn play(trials: &Trials<3>, expected: [f64; 3], takes: [u64; 3], rounds: usize) -> Vec<usize> {
        let round = |_| {
            let choice = trials.choose(&key(), 1.0, |_| expected);
            trials.note(&key(), choice, Duration::from_micros(takes[choice.way]), 0);
            choice.way
        };
        (0..rounds).map(round).collect()
    }

    /// The seconds that each of some evaluations takes, if `auto` keeps short choices as it does.
    /// `takes` tells the nanoseconds of an evaluation from its number, its way, and the number of
    /// evaluations that this way had.
    fn simulate<const N: usize>(
        expected: impl Fn(f64) -> [f64; N],
        takes: impl Fn(usize, usize, u32) -> f64,
        n: usize,
    ) -> Vec<f64> {
        let trials = Trials::<N>::default();
        let mut n_before = [0; N];
        let mut last = N;
        let mut all = Vec::with_capacity(n + 15);
        while all.len() < n {
            let choice = trials.choose(&key(), 1.0, &expected);
            let mut evaluate = || {
                // The caches hold the data of the way before.
                let cold = if choice.way == last { 0.0 } else { 1000.0 };
                last = choice.way;
                let took = cold + takes(all.len(), choice.way, n_before[choice.way]);
                n_before[choice.way] += 1;
                all.push(took * 1e-9);
                took
            };
            let took = evaluate();
            let n_untimed = if choice.is_settled && took < 50_000.0 { 15 } else { 0 };
            (0..n_untimed).for_each(|_| {
                evaluate();
            });
            trials.note(&key(), choice, Duration::from_nanos(took as u64), n_untimed);
        }
        all
    }

    #[test]
    fn overhead_is_not_taken_for_work() {
        // Two choices and three forms on one value: only overhead counts, which was estimated as much
        // too low. At first a list must also be made.
        let n_choices = std::cell::Cell::new(0);
        let expected = |cells: f64| {
            let columns = if cells > 1.0 { cells } else { 0.0 };
            n_choices.update(|n| n + u32::from(columns == 0.0));
            let make = if n_choices.get() <= 3 { 1000.0 } else { 0.0 };
            let walk = 175.0 + columns * 52.7;
            let list = make + if columns > 0.0 { 0.95 * walk } else { 40.0 };
            let chunked = 5.0 * make + 550.0 + columns * 0.4;
            [walk * 1e-9, list * 1e-9, chunked * 1e-9]
        };
        let takes = |at: usize, way: usize, _: u32| match way {
            // The first evaluations are slow.
            0 if at < 24 => 9000.0,
            _ => [2100.0, 440.0, 1950.0][way],
        };
        let all = simulate(expected, takes, 2000);
        let late: f64 = all[200..].iter().sum();
        assert!(late < 1.1 * 440e-9 * (all.len() - 200) as f64, "{late}");
    }

    #[test]
    fn a_wrong_estimate_or_first_time_is_never_final() {
        let mut state = 1_u64;
        let mut random = |from: f64, to: f64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            from * (to / from).powf((state >> 11) as f64 / (1_u64 << 53) as f64)
        };
        for case in 0..300 {
            let size = random(200.0, 300_000.0);
            let takes: [f64; 4] = std::array::from_fn(|_| size * random(1.0, 8.0));
            let fixed = takes.map(|took| took * 1e-9 * random(0.1, 10.0));
            let each = takes.map(|took| took * 1e-9 * random(1e-3, 10.0));
            let expected = |cells: f64| -> [f64; 4] {
                std::array::from_fn(|way| fixed[way] + each[way] * (cells - 1.0))
            };
            // First times are wrong: what is made takes time, and another program runs for a while.
            let other: [f64; 4] = std::array::from_fn(|_| random(1.0, 10.0));
            let takes_at = |at: usize, way: usize, before: u32| {
                let slow = if at < 30 { other[way] } else { 1.0 };
                takes[way] * slow + if before == 0 { 100_000.0 } else { 0.0 }
            };
            let all = simulate(expected, takes_at, 60_000);
            let best = takes.iter().copied().fold(f64::INFINITY, f64::min) * 1e-9;
            let late: f64 = all[40_000..].iter().sum();
            let ratio = late / (best * (all.len() - 40_000) as f64);
            assert!(ratio < 1.1, "case {case}: {ratio} times the best of {takes:?}");
        }
    }

    #[test]
    fn a_way_that_is_mostly_slow_is_left() {
        // Two threads, one of which waits for another program four times out of five.
        let takes = |at: usize, way: usize, _: u32| match way {
            0 if at < 200 || at.is_multiple_of(5) => 800_000.0,
            0 => 6_000_000.0,
            _ => 1_300_000.0,
        };
        let all = simulate(|_| [7e-4, 1.4e-3], takes, 1200);
        let late: f64 = all[300..].iter().sum();
        let mean = late / (all.len() - 300) as f64;
        assert!(mean < 1.3 * 1.3e-3, "{mean} seconds");
        assert!(all[150..200].iter().sum::<f64>() < 1.1 * 50.0 * 8e-4, "it is used before");
    }

    fn key() -> Key {
        Key { outputs: [0].into(), magnitude: 1, log: LogDetail::Off }
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
        for (nanoseconds, ways) in [(30_000_000, [0, 1, 1, 1, 1]), (12, [0; 5])] {
            let trials = Trials::<3>::default();
            for way in ways {
                let choice = trials.choose(&key(), 1.0, expected);
                assert_eq!(choice.way, way);
                let took = if way == 0 { nanoseconds } else { nanoseconds / 3 };
                trials.note(&key(), choice, Duration::from_nanos(took), 0);
            }
        }
    }

    #[test]
    fn a_way_that_becomes_slow_is_left() {
        let trials = Trials::default();
        play(&trials, [1e-5; 3], [10, 12, 50], 40);
        let ways = play(&trials, [1e-5; 3], [100, 12, 50], 200);
        let n_slow = ways[20..].iter().filter(|way| **way == 0).count();
        assert!(n_slow <= 3, "it is tried again {n_slow} times");
    }

    #[test]
    fn a_way_that_was_slow_once_is_tried_again() {
        let trials = Trials::default();
        let choice = trials.choose(&key(), 1.0, |_| [1e-5, 2e-5, f64::INFINITY]);
        trials.note(&key(), choice, Duration::from_millis(30), 0);
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
