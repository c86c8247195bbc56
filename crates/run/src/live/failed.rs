//! Nodes that have no value, because they failed or an input has no value.
//!
//! A node that fails keeps its old value, which no node sees. Its users become careful
//! ([`Flags::CAREFUL`]), so that they are checked before they run: while an input that they read
//! has no value, they have none either. When it has one again they continue, without a run if it is
//! the value that they read before. So failures cost nothing in graphs without any.
//!
//! A failure is stored like a value: the node runs again when it reads other values.

use std::sync::Arc;

use millstream_node::Failure;
use rustc_hash::FxHashMap;

use super::node::Flags;
use super::{LiveGraph, NodeNumber};

/// Why a node has no value.
#[derive(Debug)]
pub(super) struct Failed {
    /// The failure of the last run.
    own: Option<Arc<Failure>>,
    /// Whether an input that the node reads has no value.
    by_input: bool,
}

/// A node has no value.
#[derive(Clone, Debug, thiserror::Error, miette::Diagnostic)]
#[error("g{failed} failed: {failure}")]
#[diagnostic(
    code(live::no_value),
    help("set its inputs to other values, or call `try_failed_again`")
)]
pub struct NoValue {
    /// The number of the node that failed: this one, or one that it depends on.
    pub failed: usize,
    /// The reason.
    pub failure: Arc<Failure>,
}

/// The nodes that have no value.
pub(super) type AllFailed = FxHashMap<u32, Failed>;

impl LiveGraph {
    /// Whether a careful node must run. If an input has no value, the node has none either.
    pub(super) fn has_to_run(&mut self, at: usize) -> bool {
        let node = at as u32;
        if !self.failed.is_empty() && self.reads_any_failed(node) {
            self.fail_by_input(at);
            return false;
        }
        let differs = self.let_go(node);
        if !differs {
            self.go_on(node);
        }
        differs
    }

    /// Whether any input of a node has no value, including arms that are not taken.
    pub(super) fn reads_any_failed(&self, node: u32) -> bool {
        self.inputs_of(node).iter().any(|input| self.failed.contains_key(input))
    }

    /// An input that a node reads now and that has no value.
    pub(super) fn failed_input(&self, node: u32) -> Option<u32> {
        let has_failed = |input: &u32| self.failed.contains_key(input);
        let Some(choice) = self.choice_at(node) else {
            return self.inputs_of(node).iter().copied().find(has_failed);
        };
        let arms = choice.arms().iter().enumerate();
        let taken = arms.filter(|(arm, _)| choice.takes(*arm)).map(|(_, input)| *input);
        std::iter::once(choice.selector()).chain(taken).find(has_failed)
    }

    /// The reason why a node of a settled graph has no value, if it has none.
    pub(super) fn why_none(&self, mut node: u32) -> Option<NoValue> {
        loop {
            let failed = self.failed.get(&node)?;
            if let (false, Some(failure)) = (failed.by_input, &failed.own) {
                return Some(NoValue { failed: node as usize, failure: Arc::clone(failure) });
            }
            node = self.failed_input(node)?;
        }
    }

    /// Records that a node has no value because an input that it reads has none.
    pub(super) fn fail_by_input(&mut self, at: usize) {
        let node = at as u32;
        let had_value = match self.failed.get_mut(&node) {
            Some(failed) => {
                failed.by_input = true;
                false
            }
            None => {
                self.failed.insert(node, Failed { own: None, by_input: true });
                true
            }
        };
        if had_value {
            self.tell_of_failure(node);
        }
    }

    /// Records that the run of a node failed.
    pub(super) fn fail(&mut self, at: usize, failure: Failure) {
        let node = at as u32;
        self.nodes[at].flags.clear(Flags::NEW);
        let failed = Failed { own: Some(Arc::new(failure)), by_input: false };
        self.failed.insert(node, failed);
    }

    /// Marks the users of a node that has lost its value.
    pub(super) fn tell_of_failure(&mut self, node: u32) {
        let mut i = 0;
        while let Some(&user) = self.users_of(node).get(i) {
            i += 1;
            let is_settled = !self.dirty.contains(self.order.position(user))
                && !self.nodes[user as usize].flags.has(Flags::PARKED);
            if is_settled {
                self.hold(user, None);
            }
            self.nodes[user as usize].flags.set(Flags::CAREFUL);
            self.mark(user);
        }
    }

    /// Restores the result of the last run of a node, a value or a failure of its own.
    pub(super) fn go_on(&mut self, node: u32) {
        if let Some(failed) = self.failed.get_mut(&node) {
            failed.by_input = false;
            if failed.own.is_none() {
                self.failed.remove(&node);
                self.tell_of_value(node);
            }
        }
    }

    /// Marks the users of a node that has a value again.
    pub(super) fn tell_of_value(&mut self, node: u32) {
        let value = self.nodes[node as usize].value;
        self.mark_users(node, value);
    }

    /// Whether the values that a node read at its last run may be lost.
    pub(super) fn has_lost_reading(&self, node: u32) -> bool {
        self.failed.get(&node).is_some_and(|failed| failed.by_input)
    }

    /// Lets nodes that failed run again when they are demanded, even if they read the same values.
    pub fn try_failed_again(&mut self) {
        if self.failed.is_empty() {
            return;
        }
        let own = self.failed.iter().filter(|(_, failed)| failed.own.is_some());
        let mut nodes: Vec<u32> = own.map(|(node, _)| *node).collect();
        nodes.sort_unstable();
        for node in nodes {
            self.forget_held(node);
            self.nodes[node as usize].flags.set(Flags::NEW);
            self.mark(node);
        }
    }

    /// The demanded nodes of a settled graph that failed themselves, with the reasons.
    pub fn failures(&mut self) -> Vec<(NodeNumber, Arc<Failure>)> {
        if self.failed.is_empty() {
            return Vec::new();
        }
        let own = self.failed.iter().filter(|(_, failed)| !failed.by_input && failed.own.is_some());
        let mut own: Vec<NodeNumber> = own.map(|(node, _)| NodeNumber(*node)).collect();
        own.sort_unstable();
        let demanded = self.demanded(own);
        let why = |node: NodeNumber| {
            let failure = self.failed.get(&node.0)?.own.clone()?;
            Some((node, failure))
        };
        demanded.into_iter().filter_map(why).collect()
    }

    /// Whether a node did not run because an input has no value.
    pub fn lacks_input(&self, node: NodeNumber) -> bool {
        self.has_lost_reading(node.0)
    }

    /// Whether a node had no value at the last visit.
    pub fn has_failed(&self, node: NodeNumber) -> bool {
        self.failed.contains_key(&node.0)
    }

    /// Runs a node, and marks its users if it had a value before and has none now, or vice versa.
    pub(super) fn run_telling(&mut self, at: usize, run: impl FnOnce(&mut Self)) {
        let had_failed = !self.failed.is_empty() && self.failed.remove(&(at as u32)).is_some();
        run(self);
        let has_failed = !self.failed.is_empty() && self.failed.contains_key(&(at as u32));
        match (had_failed, has_failed) {
            (true, false) if self.stopped.is_none() => self.tell_of_value(at as u32),
            (true, false) => {
                // The wave was stopped before the node ran.
                let failed = Failed { own: None, by_input: true };
                self.failed.insert(at as u32, failed);
            }
            (false, true) => self.tell_of_failure(at as u32),
            (true, true) | (false, false) => {}
        }
    }
}
