//! The live graph: values that are kept up to date by changes that travel along links. Numbers are
//! stored in the nodes, other values and columns beside them (see `boxed` and `columns`), and nodes
//! may fail (see `failed`).
//!
//! *Order.* Each node has a position after those of its inputs. A change marks the positions of the
//! users of a node; a wave takes the lowest marked position until none is left. So a node runs when
//! all its inputs are settled: at most once per wave, and never on a mixture of old and new values.
//! Nothing recurses along a chain.
//!
//! *Cutoff.* A node whose new value has the bits of the old one marks no users.
//!
//! *Demand.* A wave runs the nodes that observed nodes need. A node that is read only through arms
//! of switches runs only while one of these arms is taken, and not before the wave knows that it
//! is; otherwise the node is parked, dirty, until the arm is taken. So a branch that is not taken
//! is neither computed nor forgotten. See `demand`, `choice` and `look`.
//!
//! *Runs.* A dirty node has an input that changed since its last run, so it must run. In two cases
//! the input may have changed back, and then the values are compared. See `held`.
//!
//! *Speed.* If most of 64 neighboring nodes run in each wave, they run as straight-line code. See
//! `sweep`.
//!
//! *Editing.* A link may be changed at any time; positions change only if the order requires it.
//! See `order`.

mod alike;
mod asked;
mod boxed;
mod build;
mod call;
mod carried;
mod choice;
mod columns;
mod demand;
mod dirty;
mod edit;
#[cfg(test)]
mod edit_tests;
mod failed;
#[cfg(test)]
mod failed_tests;
mod held;
mod linked;
mod look;
mod node;
mod order;
mod partials;
#[cfg(test)]
mod partials_tests;
mod program;
mod push;
#[cfg(test)]
mod push_tests;
mod readers;
mod recall;
mod shown;
mod special;
mod sweep;
#[cfg(test)]
mod sweep_tests;
#[cfg(test)]
mod tests;
mod untyped;
mod users;
#[cfg(test)]
mod values_tests;
mod wave;
mod within;

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use millstream_base::Lane;
use millstream_base::pages::reserve_in_huge_pages;
use millstream_form::{FoldFunction, LaneValue, OpFunction};
use millstream_ir::answer::EvalError;
use millstream_node::Failure;
use millstream_node::unsettled::Rounds;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::buffers::Buffers;
use boxed::{Boxes, HeldValues};
use demand::{Demand, Demands};
use dirty::Dirty;
use failed::AllFailed;
use held::Held;
use node::{Flags, Node};
use order::Order;
use push::Pushed;
use special::Special;
use sweep::Sweeps;
use users::UserLists;

pub use choice::{Selector, Taken};
pub use edit::LiveError;
pub use failed::NoValue;
pub use program::{ColumnsError, LiveColumns, LiveProgram, NotNumbers};
pub use push::{CallbackPanic, Propagation};
pub use recall::Recall;
pub use shown::Shown;
pub use untyped::{
    NodeNumber, can_be_live, counts_elements, gathers_elements, lane_of_number, number_bits,
};
pub use within::Within;

pub use millstream_form::Op;

/// A graph of values that are kept up to date.
///
/// ```
/// use millstream_run::live::{LiveGraph, Op};
///
/// let mut graph = LiveGraph::new();
/// let x = graph.source(3.0_f64);
/// let y = graph.source(4.0);
/// let longest = graph.binary(Op::Max, x, y);
/// assert_eq!(graph.get(longest), 4.0);
/// graph.set(x, 5.0);
/// assert_eq!(graph.get(longest), 5.0);
/// ```
#[derive(Default)]
pub struct LiveGraph {
    nodes: Vec<Node>,
    functions: Vec<OpFunction>,
    /// The number of each function.
    codes: FxHashMap<CodeKey, u16>,
    last_code: Option<(CodeKey, u16)>,
    /// Functions of nodes that fold.
    folds: Vec<((Op, Lane), FoldFunction<Node>)>,
    /// The inputs of nodes that fold, one after the other.
    wide: Vec<u32>,
    users: UserLists,
    /// The number of nodes, from the first, that are already users of their inputs.
    n_linked: usize,
    /// Sources that were set since the last wave, with their previous values.
    pending: Vec<(u32, u64)>,
    /// The values that nodes read at their last run, if these may be needed.
    held: FxHashMap<u32, Held>,
    held_values: FxHashMap<u32, HeldValues>,
    /// Nodes that a stopped wave did not reach, and for which the values of their last run are
    /// lost.
    overtaken: FxHashSet<u32>,
    dirty: Dirty,
    order: Order,
    specials: Vec<Special>,
    sweeps: Sweeps,
    demands: Demands,
    /// Nodes whose demand may have changed since the last wave.
    changed_demand: Vec<u32>,
    /// The number of waves so far.
    wave: u64,
    /// The position that the wave has reached; everything before it is settled.
    cursor: usize,
    /// Whether a position before the cursor was marked, so that the wave must go back.
    is_rewound: bool,
    /// The number of node runs, over all waves.
    n_runs: u64,
    /// The nodes that ran, in order, if they are recorded.
    journal: Option<Vec<u32>>,
    /// For nodes in the journal that ran on columns, the number of elements beyond one per run.
    elements: FxHashMap<u32, i64>,
    /// Columns that are no longer needed.
    buffers: Buffers,
    propagation: Propagation,
    /// The positions of nodes that are retracted.
    retracted: Dirty,
    has_retracted: bool,
    pushed: Pushed,
    /// The values that are not numbers.
    boxes: Boxes,
    /// The nodes that have no value.
    failed: AllFailed,
    /// Whether some nodes are more than operations on numbers.
    has_calls: bool,
    within: Within,
    /// Bytes of the readers of lists that calls keep.
    bytes_of_readers: Arc<AtomicUsize>,
    /// The reason why the wave was stopped.
    stopped: Option<EvalError>,
    /// Earlier results of calls.
    recall: Recall,
    /// The repeats that did not settle in the last run of each node.
    unsettled: FxHashMap<u32, Rounds>,
    /// The times of nodes since the journal was started, if they are recorded.
    times: Option<Times>,
}

/// The time of waves, by node.
struct Times {
    by_node: FxHashMap<u32, Duration>,
    /// The end of the last run, or the start of the wave.
    last: Instant,
}

/// An operation, the lane of its operands and that of its result.
type CodeKey = (Op, Lane, Lane);

/// A node of a live graph whose value is a `T`. It belongs to the graph that made it; in another
/// graph it is the node of the same number. A node that was [removed](LiveGraph::remove) has no
/// value, and no node may read it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Handle<T> {
    node: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> Handle<T> {
    fn new(node: u32) -> Self {
        Self { node, of: PhantomData }
    }

    fn of(node: NodeNumber) -> Self {
        Self::new(node.0)
    }

    /// The number of the node.
    pub fn number(self) -> usize {
        self.node as usize
    }
}

impl LiveGraph {
    /// A graph without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a source. Nothing is computed before a node is read.
    ///
    /// # Panics
    /// If the node is not a source, or was removed.
    #[inline]
    pub fn set<T: LaneValue>(&mut self, source: Handle<T>, value: T) {
        self.set_bits(source.node, value.to_bits());
    }

    /// The value of a node. Observed nodes and the nodes that this one depends on are updated
    /// first.
    ///
    /// Reading a node that is not observed costs a walk over all its dependencies, so observe nodes
    /// that are read often.
    ///
    /// # Panics
    /// If the node has no value, because it failed or was removed; see [`try_get`](Self::try_get).
    #[inline]
    pub fn get<T: LaneValue>(&mut self, of: Handle<T>) -> T {
        self.update_demand();
        let node = &self.nodes[of.node as usize];
        if node.flags.has(Flags::LIVE) || node.is_source() && !node.is_gone() {
            self.run_wave();
            if self.failed.is_empty() {
                return T::from_bits(self.nodes[of.node as usize].value);
            }
        }
        self.try_get(of).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`get`](Self::get), for graphs in which nodes may fail.
    ///
    /// # Errors
    /// If the node was removed, or it or a node that it depends on failed. A failure remains until
    /// the failed node reads other values, or until [`try_failed_again`](Self::try_failed_again).
    pub fn try_get<T: LaneValue>(&mut self, of: Handle<T>) -> Result<T, NoValue> {
        if self.nodes[of.node as usize].is_gone() {
            let failure = Arc::new(Failure::whole("it was removed"));
            return Err(NoValue { failed: of.number(), failure });
        }
        self.take_back();
        self.update_demand();
        let is_observed = self.nodes[of.node as usize].flags.has(Flags::LIVE);
        if !is_observed {
            self.observe(of);
        }
        self.run_wave();
        let node = &self.nodes[of.node as usize];
        let value = self.why_none(of.node).map_or(Ok(T::from_bits(node.value)), Err);
        if !is_observed {
            self.unobserve(of);
        }
        value
    }

    /// Keeps a node up to date: from now on every wave runs the nodes that it depends on.
    pub fn observe<T>(&mut self, of: Handle<T>) {
        self.set_observed(of.node, true);
    }

    /// Ends [`LiveGraph::observe`].
    pub fn unobserve<T>(&mut self, of: Handle<T>) {
        self.set_observed(of.node, false);
    }

    /// Number of node runs so far.
    pub fn n_runs(&self) -> u64 {
        self.n_runs
    }

    /// Starts a new journal of the nodes that run, with their times if `is_timed`.
    pub fn start_journal(&mut self, is_timed: bool) {
        self.journal = Some(Vec::new());
        self.elements.clear();
        let new = || Times { by_node: FxHashMap::default(), last: Instant::now() };
        self.times = is_timed.then(new);
    }

    /// The share of a node in the time of waves since a timed journal was started: to find it, to
    /// run it and to mark its users.
    pub fn time_of(&self, node: NodeNumber) -> Duration {
        let times = self.times.as_ref();
        times.and_then(|times| times.by_node.get(&node.0)).copied().unwrap_or_default()
    }

    /// The numbers of the nodes that ran since the journal was started, in order.
    pub fn journal(&self) -> &[u32] {
        self.journal.as_deref().unwrap_or_default()
    }

    /// The number of elements for which a node ran since the journal was started; a run on single
    /// values counts as one.
    pub fn elements_of(&self, node: NodeNumber, n_runs: u32) -> u64 {
        let more = self.elements.get(&node.0).copied().unwrap_or_default();
        u64::try_from(i64::from(n_runs) + more).unwrap_or_default()
    }

    /// Number of nodes, including sources and removed nodes.
    pub fn len(&self) -> usize {
        self.nodes.len().saturating_sub(1)
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes room for `n` more nodes, so that adding them copies no nodes.
    #[inline]
    pub fn reserve(&mut self, n: usize) {
        reserve_in_huge_pages(&mut self.nodes, n);
    }

    /// Size of the graph in bytes, without the memory that closures have allocated.
    pub fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.wide.capacity() * size_of::<u32>()
            + self.users.bytes()
            + self.dirty.bytes()
            + self.retracted.bytes()
            + self.order.bytes()
            + self.specials.capacity() * size_of::<Special>()
            + self.specials.iter().map(Special::bytes).sum::<usize>()
            + self.demands.bytes()
            + self.sweeps.bytes()
            + self.boxes.bytes()
    }
}
