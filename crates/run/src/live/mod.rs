//! The live graph: single values that are kept, and changes that travel along links. Numbers lie in
//! the nodes; other values lie beside them, see `boxed`, and nodes may fail, see `failed`.
//!
//! *Order.* Nodes stand at positions such that each comes behind what it reads. A change marks the
//! positions of the node's users; a wave takes the lowest marked position until none is left. So a
//! node runs when all that it reads is settled: at most once a wave, and never on a mixture of old
//! and new values. Nothing recurses on the length of a chain.
//!
//! *Cutoff.* A node whose new value has the bits of the old one marks nobody.
//!
//! *Demand.* A wave runs what somebody observes. A node read only through arms of switches runs
//! only while one of these is taken, and not before the switch is known to be settled; otherwise it
//! is parked, dirty, where the arm will find it when it is taken. So a branch that is not taken is
//! neither computed nor forgotten. See `demand`.
//!
//! *Runs.* A node that is dirty has an input that changed since its last run, so it has to run: with
//! two exceptions, where what it read is held and compared. See `held`.
//!
//! *Editing.* A link may be changed at any time; positions change only where the order is hurt. See
//! `order`.

mod alike;
mod asked;
mod boxed;
mod build;
mod call;
mod carried;
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
mod node;
mod order;
mod program;
mod push;
mod recall;
mod shown;
mod special;
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
use std::time::Duration;

use millstream_base::Lane;
use millstream_base::pages::reserve_in_huge_pages;
use millstream_form::{FoldFunction, LaneValue, Op, OpFunction};
use millstream_ir::answer::EvalError;
use millstream_node::Failure;
use rustc_hash::{FxHashMap, FxHashSet};

use boxed::{Boxes, HeldValues};
use demand::{Demand, Demands};
use dirty::Dirty;
use failed::AllFailed;
use held::Held;
use node::{Flags, Node};
use order::Order;
use push::Pushed;
use special::Special;
use users::UserLists;

pub use build::Selector;
pub use edit::LiveError;
pub use failed::NoValue;
pub use program::{LiveProgram, NotNumbers};
pub use push::{CallbackPanic, Propagation};
pub use recall::Recall;
pub use shown::Shown;
pub use untyped::{NodeNumber, can_be_live, inputs_needed, lane_of_number, number_bits};
pub use within::Within;

/// A graph of single values that are kept up to date.
///
/// ```
/// use millstream_run::live::LiveGraph;
/// use millstream_form::Op;
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
    /// The inputs of nodes that fold, one behind the other.
    wide: Vec<u32>,
    users: UserLists,
    /// So many nodes, from the first, are known to what they read as users.
    n_linked: usize,
    /// Sources that were set since the last wave, with their value before.
    pending: Vec<(u32, u64)>,
    /// What nodes read at their last run, if that may be asked for.
    held: FxHashMap<u32, Held>,
    held_values: FxHashMap<u32, HeldValues>,
    /// Nodes that a wave which was ended did not come to: what they read at their last run is lost.
    overtaken: FxHashSet<u32>,
    dirty: Dirty,
    order: Order,
    specials: Vec<Special>,
    demands: Demands,
    /// Number of the wave.
    wave: u64,
    /// The position that the wave is at; everything before it is settled.
    cursor: usize,
    /// A position before that of the node that runs was marked.
    is_rewound: bool,
    /// Nodes that ran, over all waves.
    n_runs: u64,
    /// Nodes that ran, in order, if somebody wants to know.
    journal: Option<Vec<u32>>,
    propagation: Propagation,
    /// Positions of nodes that were retracted and not asserted again.
    retracted: Dirty,
    has_retracted: bool,
    pushed: Pushed,
    /// Values that are no numbers.
    boxes: Boxes,
    /// Nodes that have no value.
    failed: AllFailed,
    /// There were nodes that are more than operations on numbers.
    has_calls: bool,
    within: Within,
    /// Why the last wave was ended.
    stopped: Option<EvalError>,
    /// Results of calls besides the last.
    recall: Recall,
    /// How long nodes ran since the journal was started, if somebody wants to know.
    times: Option<FxHashMap<u32, Duration>>,
}

/// An operation, the lane of its operands and that of its result.
type CodeKey = (Op, Lane, Lane);

/// A node of a live graph whose value is a `T`. It belongs to the graph that made it: another graph
/// takes it for the node that has this number there. Nodes that were [removed](LiveGraph::remove)
/// have no value any more; nothing may be made to read them.
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

    /// Sets a source. Nothing is computed before somebody reads.
    ///
    /// # Panics
    /// If the node is not a source, or was removed.
    #[inline]
    pub fn set<T: LaneValue>(&mut self, source: Handle<T>, value: T) {
        self.set_bits(source.node, value.to_bits());
    }

    /// The value of a node. What it depends on is brought up to date first, and nothing else.
    ///
    /// Reading a node that is not observed costs a walk over all that it depends on; observe what is
    /// read again and again.
    ///
    /// # Panics
    /// If it has no value, because somebody's code panicked or it was removed; see
    /// [`try_get`](Self::try_get).
    #[inline]
    pub fn get<T: LaneValue>(&mut self, of: Handle<T>) -> T {
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
    /// If the node was removed, or it or something that it reads failed. It stays so until what failed
    /// reads something else, or [`try_failed_again`](Self::try_failed_again).
    pub fn try_get<T: LaneValue>(&mut self, of: Handle<T>) -> Result<T, NoValue> {
        if self.nodes[of.node as usize].is_gone() {
            let failure = Arc::new(Failure::whole("it was removed"));
            return Err(NoValue { failed: of.number(), failure });
        }
        self.take_back();
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

    /// Keeps a node up to date: from now on every wave runs what it depends on.
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

    /// Starts, or starts again, to write down which nodes run, and how long if that is wanted.
    pub fn start_journal(&mut self, is_timed: bool) {
        self.journal = Some(Vec::new());
        self.times = is_timed.then(FxHashMap::default);
    }

    /// How long a node ran since a timed journal was started.
    pub fn time_of(&self, node: NodeNumber) -> Duration {
        let times = self.times.as_ref();
        times.and_then(|times| times.get(&node.0)).copied().unwrap_or_default()
    }

    /// The numbers of the nodes that ran since the journal was started, in order.
    pub fn journal(&self) -> &[u32] {
        self.journal.as_deref().unwrap_or_default()
    }

    /// Number of nodes, sources and those that were removed included.
    pub fn len(&self) -> usize {
        self.nodes.len().saturating_sub(1)
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes room for so many nodes more, so that none of them costs a copy of all.
    #[inline]
    pub fn reserve(&mut self, n: usize) {
        reserve_in_huge_pages(&mut self.nodes, n);
    }

    /// Bytes that the graph holds, besides what closures and handles of other types do.
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
            + self.boxes.bytes()
    }
}
