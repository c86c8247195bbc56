//! When changes travel: as soon as they are committed, or when somebody reads.
//!
//! *Pull*: a commit computes nothing; the first read after it runs a wave. *Push*: a commit runs a
//! wave. *Mixed*: a commit runs a wave for what is pushed, and what is observed but not pushed is
//! set aside until somebody reads it. All run the same nodes, at other times.
//!
//! A wave goes one of two ways. *Direct*: from change to change, as told in the module. *Retract and
//! assert*: first everything that could be reached from what was set is retracted, then it is
//! asserted again in order, by running it if an input changed. That touches all that could change
//! and not only what does, so it is slower; in exchange a value is known not to be valid from the
//! moment that it may not be.

use millstream_base::unwound;
use millstream_form::LaneValue;
use rustc_hash::FxHashSet;

use super::node::Flags;
use super::{Handle, LiveGraph, NodeNumber};

/// When changes travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Propagation {
    /// When somebody reads.
    #[default]
    Pull,
    /// At every commit, from change to change.
    Push,
    /// At every commit: what may change is retracted, then asserted again.
    RetractAndAssert,
    /// At every commit for what is pushed; when somebody reads for all else.
    Mixed,
}

/// What is pushed at commits, and what is observed besides.
#[derive(Default)]
pub(super) struct Pushed {
    subscriptions: Vec<Subscription>,
    /// Nodes that are pushed without a callback.
    nodes: FxHashSet<u32>,
    /// Nodes that are observed and not pushed, if that is known.
    others: Option<Vec<u32>>,
    /// They are not observed until somebody reads.
    are_set_aside: bool,
}

/// Something that is called with the bits of a node whose value changed.
struct Subscription {
    node: u32,
    /// The bits that it was last called with.
    last: Option<u64>,
    callback: Box<dyn FnMut(u64) + Send>,
}

/// A callback panicked; the graph and the other callbacks are as they should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the callback of g{node} panicked{message}")]
pub struct CallbackPanic {
    /// The number of the node.
    pub node: usize,
    /// What it said, behind a colon.
    message: String,
}

impl LiveGraph {
    /// Sets when changes travel.
    pub fn set_propagation(&mut self, propagation: Propagation) {
        self.take_back();
        self.propagation = propagation;
    }

    /// Calls back with the value of a node, now and at every commit that changed it; see
    /// [`LiveGraph::commit`]. Observes the node.
    pub fn subscribe<T: LaneValue>(
        &mut self,
        of: Handle<T>,
        mut callback: impl FnMut(T) + Send + 'static,
    ) {
        self.observe(of);
        let callback = Box::new(move |bits| callback(T::from_bits(bits)));
        self.pushed.subscriptions.push(Subscription { node: of.node, last: None, callback });
    }

    /// Lets commits bring an observed node up to date in the mixed form too, though nobody is called
    /// back, or ends that.
    pub fn push_number(&mut self, node: NodeNumber, is_pushed: bool) {
        self.take_back();
        self.pushed.others = None;
        if is_pushed {
            self.pushed.nodes.insert(node.0);
        } else {
            self.pushed.nodes.remove(&node.0);
        }
    }

    /// Ends what was set since the last commit: in all forms but pull, changes travel and callbacks
    /// are called, each at most once, when everything it could read is settled.
    ///
    /// # Errors
    /// If callbacks panicked: the first of them. They are called again by the next commit.
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

    /// Brings what is pushed up to date, and leaves the rest.
    fn settle_pushed(&mut self) {
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

    /// Whether what is observed and not pushed waits for somebody to read it.
    #[inline(always)]
    pub(super) fn has_set_aside(&self) -> bool {
        self.pushed.are_set_aside
    }

    /// Observes again what the mixed form set aside.
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
            let Err(text) = unwound(|| (subscription.callback)(bits)) else { continue };
            // It was not told.
            subscription.last = None;
            if failed.is_ok() {
                let message = if text.is_empty() { text } else { format!(": {text}") };
                failed = Err(CallbackPanic { node: subscription.node as usize, message });
            }
        }
        failed
    }

    /// Retracts what could change by what was set: until the next wave [`LiveGraph::is_retracted`]
    /// answers true for it. Answers how many nodes that are.
    pub fn retract(&mut self) -> usize {
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

    /// After a wave everything that was retracted is asserted, run or not.
    #[cold]
    pub(super) fn assert_all(&mut self) {
        self.retracted.clear();
        self.has_retracted = false;
    }

    /// Whether a node's value is not known to be valid, because something that it depends on was
    /// set and retracted since.
    pub fn is_retracted<T>(&self, of: Handle<T>) -> bool {
        self.retracted.has(self.order.position(of.node))
    }
}
