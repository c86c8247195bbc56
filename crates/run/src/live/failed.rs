//! Nodes that have no value, because they failed or something that they read did.
//!
//! A node that fails keeps the value that it had, for nobody to see. Those who read it are looked at
//! before they run ([`Flags::CAREFUL`]): while something that they read has failed they have no
//! value either, and when it has one again they go on, without a run if it is the one that they
//! read. So graphs in which nothing fails pay nothing, and numbers stay numbers.
//!
//! A failure is kept like a value: the node runs again when it reads something else.

use std::sync::Arc;

use millstream_node::Failure;
use rustc_hash::FxHashMap;

use super::node::Flags;
use super::special::{NOTHING_TAKEN, Special};
use super::{LiveGraph, NodeNumber};

/// Why a node has no value.
#[derive(Debug)]
pub(super) struct Failed {
    /// Its last run failed.
    own: Option<Arc<Failure>>,
    /// Something that it reads now has no value.
    by_input: bool,
}

/// A node has no value.
#[derive(Clone, Debug, thiserror::Error, miette::Diagnostic)]
#[error("g{failed} failed: {failure}")]
#[diagnostic(
    code(live::no_value),
    help("set what it reads to something else, or call `try_failed_again`")
)]
pub struct NoValue {
    /// The number of the node that failed: this one, or one that it depends on.
    pub failed: usize,
    /// Why.
    pub failure: Arc<Failure>,
}

/// The nodes that have no value.
pub(super) type AllFailed = FxHashMap<u32, Failed>;

impl LiveGraph {
    /// Whether a careful node has to run; if something that it reads failed, so has it.
    pub(super) fn has_to_run(&mut self, at: usize) -> bool {
        let node = at as u32;
        let mut stays_careful = false;
        if !self.failed.is_empty() {
            if self.reads_failed(node) {
                self.fail_by_input(at);
                return false;
            }
            // An arm that is not taken may be taken later.
            stays_careful = self.reads_any_failed(node);
        }
        let differs = self.let_go(node);
        if stays_careful {
            self.nodes[at].flags.set(Flags::CAREFUL);
        }
        if !differs {
            self.go_on(node);
        }
        differs
    }

    /// Whether something that a node may read has no value.
    pub(super) fn reads_any_failed(&self, node: u32) -> bool {
        self.inputs_of(node).iter().any(|input| self.failed.contains_key(input))
    }

    /// Something that a node reads now and that has no value.
    fn failed_input(&self, node: u32) -> Option<u32> {
        let has_failed = |input: &u32| self.failed.contains_key(input);
        let Some(choice) = self.choice_at(node) else {
            return self.inputs_of(node).iter().copied().find(has_failed);
        };
        let (always, arms) = choice.inputs.split_at(choice.first_arm);
        let taken = self.nodes[choice.inputs[0] as usize].value;
        let arms = arms.iter().enumerate();
        let of_arms = arms.filter(|(k, _)| self.takes(node, taken, *k as u32)).map(|(_, arm)| *arm);
        always.iter().copied().find(has_failed).or_else(|| of_arms.into_iter().find(has_failed))
    }

    /// Whether something that a node reads now has no value.
    fn reads_failed(&self, node: u32) -> bool {
        self.reads_any_failed(node) && self.failed_input(node).is_some()
    }

    /// Why a node that is settled has no value, if it has none.
    pub(super) fn why_none(&self, mut node: u32) -> Option<NoValue> {
        loop {
            let failed = self.failed.get(&node)?;
            if let (false, Some(failure)) = (failed.by_input, &failed.own) {
                let failed = self.shown(&[node])[0];
                return Some(NoValue { failed, failure: Arc::clone(failure) });
            }
            node = self.failed_input(node)?;
        }
    }

    /// The numbers of nodes as they were given to who made them, without those that come twice in a
    /// row: what stands before a choice was made with it.
    pub(super) fn shown(&self, nodes: &[u32]) -> Vec<usize> {
        let number = |node: &u32| match self.special_at(*node) {
            Some(Special::Guard(guard)) => guard.choice as usize,
            Some(_) | None => *node as usize,
        };
        let mut numbers: Vec<usize> = nodes.iter().map(number).collect();
        numbers.dedup();
        numbers
    }

    /// A node has no value because of what it reads.
    fn fail_by_input(&mut self, at: usize) {
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
        if let Some(Special::Guard(_)) = self.special_at(node) {
            self.settle_guard(at, NOTHING_TAKEN);
        }
        if had_value {
            self.tell_of_failure(node);
        }
    }

    /// The run of a node failed.
    pub(super) fn fail(&mut self, at: usize, failure: Failure) {
        let node = at as u32;
        self.nodes[at].flags.clear(Flags::NEW);
        let failed = Failed { own: Some(Arc::new(failure)), by_input: false };
        self.failed.insert(node, failed);
    }

    /// What reads a node that has no value now is looked at.
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

    /// A node has again what its last run gave, a value or a failure of its own.
    fn go_on(&mut self, node: u32) {
        if let Some(failed) = self.failed.get_mut(&node) {
            failed.by_input = false;
            if failed.own.is_none() {
                self.failed.remove(&node);
                self.tell_of_value(node);
            }
        }
    }

    /// What reads a node that has a value again is looked at.
    pub(super) fn tell_of_value(&mut self, node: u32) {
        let value = self.nodes[node as usize].value;
        self.mark_users(node, value);
    }

    /// Whether it is not known, or not any more, what a node read at its last run.
    pub(super) fn has_lost_reading(&self, node: u32) -> bool {
        self.failed.get(&node).is_some_and(|failed| failed.by_input)
    }

    /// Lets nodes that failed run again when they are demanded, whatever they read.
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

    /// The nodes that failed themselves and are demanded, with why, when the graph is settled.
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
            Some((NodeNumber(self.shown(&[node.0])[0] as u32), failure))
        };
        demanded.into_iter().filter_map(why).collect()
    }

    /// Whether a node was not run because something that it reads has no value.
    pub fn lacks_input(&self, node: NodeNumber) -> bool {
        self.has_lost_reading(node.0)
    }

    /// Whether a node has no value, as far as it was looked at.
    pub fn has_failed(&self, node: NodeNumber) -> bool {
        self.failed.contains_key(&node.0)
    }

    /// Runs a special node or one that was looked at, and tells if it has a value now and had none, or
    /// the other way round.
    pub(super) fn run_telling(&mut self, at: usize, run: impl FnOnce(&mut Self)) {
        let had_failed = !self.failed.is_empty() && self.failed.remove(&(at as u32)).is_some();
        run(self);
        let has_failed = !self.failed.is_empty() && self.failed.contains_key(&(at as u32));
        match (had_failed, has_failed) {
            (true, false) if self.stopped.is_none() => self.tell_of_value(at as u32),
            (true, false) => {
                // It has still to run.
                let failed = Failed { own: None, by_input: true };
                self.failed.insert(at as u32, failed);
            }
            (false, true) => self.tell_of_failure(at as u32),
            (true, true) | (false, false) => {}
        }
    }
}
