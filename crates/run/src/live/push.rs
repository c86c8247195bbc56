//! When changes travel: as soon as they are committed, or when a node is read.
//!
//! *Pull*: a commit computes nothing; the first read after it runs a wave. *Push*: a commit runs a
//! wave. *Mixed*: a commit runs a wave for nodes that are pushed; other observed nodes are set
//! aside until one is read. All run the same nodes, at different times.
//!
//! With *retract and assert*, a commit first retracts all nodes that can be reached from the
//! sources that were set, and then asserts each again in order, running it if an input changed.
//! This touches every node that could change and not only those that do, so it is slower. In
//! return, it is known at once which values may be invalid.

use millstream_base::catch_panic;
use millstream_form::LaneValue;
use rustc_hash::FxHashSet;

use super::node::Flags;
use super::{Handle, LiveGraph, NodeNumber};

/// When changes travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Propagation {
    /// When a node is read.
    #[default]
    Pull,
    /// At every commit, from change to change.
    Push,
    /// At every commit: nodes that may change are retracted, then asserted again.
    RetractAndAssert,
    /// At every commit for nodes that are pushed; when a node is read for all others.
    Mixed,
}

/// The nodes that are pushed at commits, and the other observed nodes.
#[derive(Default)]
pub(super) struct Pushed {
    subscriptions: Vec<Subscription>,
    /// Nodes that are pushed without a callback.
    nodes: FxHashSet<u32>,
    /// The nodes that are observed and not pushed, if these are known.
    others: Option<Vec<u32>>,
    /// Whether these are not observed until a node is read.
    are_set_aside: bool,
}

/// A callback for the value of a node.
struct Subscription {
    node: u32,
    /// The bits that the callback was last called with.
    last: Option<u64>,
    callback: Box<dyn FnMut(u64) + Send>,
}

/// A callback panicked. The graph is settled, and the other callbacks were called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the callback of g{node} panicked{message}")]
pub struct CallbackPanic {
    /// The number of the node.
    pub node: usize,
    /// The message of the panic, after a colon.
    message: String,
}

impl LiveGraph {
    /// Sets when changes travel.
    pub fn set_propagation(&mut self, propagation: Propagation) {
        self.take_back();
        self.propagation = propagation;
    }

    /// Observes a node, and calls back with its value at the next [commit](LiveGraph::commit) and
    /// at every commit that changes it.
    pub fn subscribe<T: LaneValue>(
        &mut self,
        of: Handle<T>,
        mut callback: impl FnMut(T) + Send + 'static,
    ) {
        self.observe(of);
        let callback = Box::new(move |bits| callback(T::from_bits(bits)));
        self.pushed.subscriptions.push(Subscription { node: of.node, last: None, callback });
    }

    /// Makes commits update an observed node under [`Propagation::Mixed`] although it has no
    /// callback, or ends that.
    pub fn push_number(&mut self, node: NodeNumber, is_pushed: bool) {
        self.take_back();
        self.pushed.others = None;
        if is_pushed {
            self.pushed.nodes.insert(node.0);
        } else {
            self.pushed.nodes.remove(&node.0);
        }
    }

    /// Commits the sources that were set. Unless changes are pulled, they travel now; then
    /// callbacks are called, each at most once, when the whole graph is settled.
    ///
    /// # Errors
    /// The first callback that panicked, if any did. The next commit calls such callbacks again.
    pub fn commit(&mut self) -> Result<(), CallbackPanic> {
        match self.propagation {
            Propagation::Pull => return Ok(()),
            Propagation::Push => self.settle(),
            Propagation::RetractAndAssert => {
                self.retract();
                self.settle();
            }
            Propagation::Mixed => self.settle_pushed(),
        }
        self.call_back()
    }

    /// Updates the nodes that are pushed, and sets other observed nodes aside.
    fn settle_pushed(&mut self) {
        if self.pushed.subscriptions.is_empty() && self.pushed.nodes.is_empty() {
            return;
        }
        if !self.pushed.are_set_aside {
            let others =
                self.pushed.others.take().unwrap_or_else(|| self.observed_but_not_pushed());
            for node in &others {
                self.observe_or_not(*node, false);
            }
            self.pushed.are_set_aside = !others.is_empty();
            self.pushed.others = Some(others);
        }
        self.run_wave();
    }

    fn observed_but_not_pushed(&self) -> Vec<u32> {
        let subscriptions = self.pushed.subscriptions.iter().map(|known| known.node);
        let pushed: FxHashSet<u32> =
            subscriptions.chain(self.pushed.nodes.iter().copied()).collect();
        (0..self.nodes.len() as u32)
            .filter(|node| self.nodes[*node as usize].flags.has(Flags::OBSERVED))
            .filter(|node| !pushed.contains(node))
            .collect()
    }

    /// Whether observed nodes are set aside until a node is read.
    #[inline(always)]
    pub(super) fn has_set_aside(&self) -> bool {
        self.pushed.are_set_aside
    }

    /// Observes the nodes again that were set aside.
    pub(super) fn take_back(&mut self) {
        if std::mem::take(&mut self.pushed.are_set_aside)
            && let Some(others) = self.pushed.others.take()
        {
            for node in &others {
                self.observe_or_not(*node, true);
            }
            self.pushed.others = Some(others);
        }
    }

    pub(super) fn set_observed(&mut self, node: u32, is_observed: bool) {
        self.take_back();
        self.pushed.others = None;
        self.observe_or_not(node, is_observed);
    }

    fn observe_or_not(&mut self, node: u32, is_observed: bool) {
        let flags = &mut self.nodes[node as usize].flags;
        if is_observed {
            flags.set(Flags::OBSERVED);
        } else {
            flags.clear(Flags::OBSERVED);
        }
        self.refresh_demand(node);
    }

    fn call_back(&mut self) -> Result<(), CallbackPanic> {
        let mut failed = Ok(());
        for subscription in &mut self.pushed.subscriptions {
            let bits = self.nodes[subscription.node as usize].value;
            if subscription.last == Some(bits) {
                continue;
            }
            subscription.last = Some(bits);
            let Err(text) = catch_panic(|| (subscription.callback)(bits)) else { continue };
            // The next commit calls it again.
            subscription.last = None;
            if failed.is_ok() {
                let message = if text.is_empty() { text } else { format!(": {text}") };
                failed = Err(CallbackPanic { node: subscription.node as usize, message });
            }
        }
        failed
    }

    /// Retracts the nodes that may change because of sources that were set: until the next wave,
    /// [`LiveGraph::is_retracted`] is true for them. Returns their number.
    pub fn retract(&mut self) -> usize {
        self.update_demand();
        self.link_new();
        self.mark_pending();
        let mut retracted = std::mem::take(&mut self.retracted);
        retracted.grow(self.order.len());
        let mut reached: Vec<u32> = Vec::new();
        for position in self.dirty.all() {
            if !retracted.contains(position) {
                retracted.mark(position);
                reached.push(self.order.node_at(position) as u32);
            }
        }
        let mut next = 0;
        while let Some(node) = reached.get(next).copied() {
            next += 1;
            for &user in self.users_of(node) {
                let position = self.order.position(user);
                if !retracted.contains(position) {
                    retracted.mark(position);
                    reached.push(user);
                }
            }
        }
        self.retracted = retracted;
        self.has_retracted = true;
        reached.len()
    }

    /// Asserts all retracted nodes, after a wave in which they ran or did not have to.
    #[cold]
    pub(super) fn assert_all(&mut self) {
        self.retracted.clear();
        self.has_retracted = false;
    }

    /// Whether the value of a node may be invalid, because a source that it depends on was set.
    pub fn is_retracted<T>(&self, of: Handle<T>) -> bool {
        self.retracted.has(self.order.position(of.node))
    }
}
