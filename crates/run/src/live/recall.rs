//! A memo of results of expensive calls, for values that recur, edits that are undone, and
//! what-ifs.
//!
//! The value of a node is its last result. The memo has earlier results, by instance and by the
//! values that the call read, so a node that is removed and made again finds them too. It stores
//! results of calls that took long enough, and within its budget of bytes those that took longest
//! per byte.

use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use millstream_base::Limits;
use millstream_base::same::Same;
use millstream_node::{Class, Data, Instance};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::LiveGraph;
use super::call::Results;

/// Minimal and maximal number of stored results of one instance.
const PER_INSTANCE: [u128; 2] = [64, 4096];

/// Above this number, instances without a result in the memo are forgotten.
const MOST_INSTANCES: usize = 4096;

/// The values that a call read.
pub(super) type Read = SmallVec<[Data; 4]>;

/// A memo of results of calls.
#[derive(Default)]
pub struct Recall {
    /// The shortest time of a call whose result is stored; nothing is stored without one.
    worth: Option<Duration>,
    /// Limits the size in bytes of results and the values from which they were computed.
    budget: usize,
    bytes: usize,
    /// The results, by the address of the node type.
    by_type: FxHashMap<usize, Vec<Shelf>>,
    n_shelves: usize,
}

/// The results of one instance that was expensive at least once.
struct Shelf {
    instance: Arc<Instance>,
    /// The time of the shortest run; the machine may have interrupted others.
    shortest: Duration,
    /// The results, the most recently used last.
    all: Vec<Made>,
}

impl Shelf {
    /// Maximal number of stored results: one for each microsecond that a run takes, so that
    /// searching them takes a small part of a run.
    fn most(&self) -> usize {
        let [least, most] = PER_INSTANCE;
        self.shortest.as_micros().clamp(least, most) as usize
    }
}

/// One result.
struct Made {
    read: Read,
    limits: Limits,
    results: Results,
    cost: Duration,
    bytes: usize,
}

impl Made {
    fn worth(&self) -> f64 {
        self.cost.as_secs_f64() / self.bytes as f64
    }
}

fn address(instance: &Instance) -> usize {
    Arc::as_ptr(&instance.def) as usize
}

/// Whether two instances do the same.
fn are_alike(a: &Arc<Instance>, b: &Arc<Instance>) -> bool {
    Arc::ptr_eq(a, b)
        || Arc::ptr_eq(&a.def, &b.def)
            && a.settings == b.settings
            && a.generics == b.generics
            && a.inputs.len() == b.inputs.len()
            && a.inputs.iter().zip(&b.inputs).all(|(a, b)| a.ty == b.ty)
            && a.outputs.iter().map(|output| output.ty).eq(b.outputs.iter().map(|output| output.ty))
}

impl Recall {
    /// The results of an instance for these values, if all wanted ones are known.
    pub(super) fn find(
        &mut self,
        instance: &Arc<Instance>,
        read: &[Data],
        wanted: &[bool],
        limits: &Limits,
    ) -> Option<Results> {
        let shelves = self.by_type.get_mut(&address(instance))?;
        let all = &mut shelves.iter_mut().find(|shelf| are_alike(&shelf.instance, instance))?.all;
        let at = all.iter().rposition(|made| {
            let has_all =
                made.results.iter().zip(wanted).all(|(of, is_wanted)| !is_wanted || of.is_some());
            has_all && made.limits == *limits && made.read.iter().zip(read).all(|(a, b)| a.same(b))
        })?;
        all[at..].rotate_left(1);
        let made = all.last()?;
        let results = made.results.iter().zip(wanted);
        Some(results.map(|(of, is_wanted)| of.clone().filter(|_| *is_wanted)).collect())
    }

    /// Records the time of a run of an instance, and stores the results if it was long enough.
    pub(super) fn note(
        &mut self,
        instance: &Arc<Instance>,
        read: Read,
        results: &Results,
        limits: &Limits,
        cost: Duration,
    ) {
        let Some(worth) = self.worth else { return };
        let is_long = cost >= worth;
        if (!is_long && self.is_empty()) || instance.class >= Class::Stateful {
            return;
        }
        if is_long && self.n_shelves >= MOST_INSTANCES {
            self.by_type.values_mut().for_each(|all| all.retain(|shelf| !shelf.all.is_empty()));
            self.by_type.retain(|_, shelves| !shelves.is_empty());
            self.n_shelves = self.by_type.values().map(Vec::len).sum();
        }
        let shelves = match self.by_type.entry(address(instance)) {
            Entry::Occupied(shelves) => shelves.into_mut(),
            Entry::Vacant(_) if !is_long => return,
            Entry::Vacant(free) => free.insert(Vec::new()),
        };
        let known = shelves.iter().position(|shelf| are_alike(&shelf.instance, instance));
        let at = match known {
            Some(at) => at,
            None if !is_long => return,
            None => {
                let instance = Arc::clone(instance);
                shelves.push(Shelf { instance, shortest: cost, all: Vec::new() });
                self.n_shelves += 1;
                shelves.len() - 1
            }
        };
        let shelf = &mut shelves[at];
        shelf.shortest = shelf.shortest.min(cost);
        if shelf.shortest < worth {
            self.bytes -= shelf.all.drain(..).map(|made| made.bytes).sum::<usize>();
            return;
        }
        let bytes = read.iter().map(Data::bytes).sum::<usize>()
            + results.iter().flatten().map(Data::bytes).sum::<usize>()
            + size_of::<Made>();
        if bytes > self.budget {
            return;
        }
        if shelf.all.len() >= shelf.most() {
            self.bytes -= shelf.all.remove(0).bytes;
        }
        let (limits, results) = (limits.clone(), results.clone());
        shelf.all.push(Made { read, limits, results, cost, bytes });
        self.bytes += bytes;
        while self.bytes > self.budget {
            self.drop_one();
        }
    }

    /// Drops the result that took the least time per byte.
    fn drop_one(&mut self) {
        let shelves = self.by_type.values_mut().flatten();
        let all = shelves.filter_map(|shelf| {
            let worths = shelf.all.iter().map(Made::worth).enumerate();
            let (at, worth) = worths.min_by(|a, b| a.1.total_cmp(&b.1))?;
            Some((shelf, at, worth))
        });
        if let Some((shelf, at, _)) = all.min_by(|a, b| a.2.total_cmp(&b.2)) {
            self.bytes -= shelf.all.remove(at).bytes;
        }
    }

    /// Whether nothing is stored.
    pub(super) fn is_empty(&self) -> bool {
        self.by_type.is_empty()
    }
}

impl LiveGraph {
    /// Stores earlier results of calls that take at least `worth`, within a budget of bytes.
    pub fn keep_results(&mut self, worth: Duration, budget: usize) {
        (self.recall.worth, self.recall.budget) = (Some(worth), budget);
    }

    /// Removes and returns the memo of results, for another graph.
    pub fn take_results(&mut self) -> Recall {
        std::mem::take(&mut self.recall)
    }

    /// Takes over the memo of another graph.
    pub fn put_results(&mut self, kept: Recall) {
        self.recall = kept;
    }
}
