//! The demand that follows from links: which nodes are live, and under which conditions other nodes
//! are demanded.
//!
//! Changed links and newly observed nodes are collected, and the resulting demand is computed
//! before the next wave, users before the nodes that they read: so each node is decided once,
//! however much has changed.

use std::collections::BinaryHeap;

use millstream_base::id::Id;
use smallvec::SmallVec;

use super::LiveGraph;
use super::choice::Guards;
use super::demand::{BlockId, Blocks, Condition};
use super::node::{Flags, NONE};
use super::special::Special;

/// How a node is demanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// By no node.
    Never,
    /// For all choices of arms.
    Always,
    /// If the block is open.
    If(BlockId),
}

/// If fewer than one in this many nodes changed, following their links is faster than a sweep over
/// all positions.
const FEW_OF: usize = 64;

impl LiveGraph {
    fn block_of_arm(&mut self, choice: u32, arm: u32) -> BlockId {
        let block = self.demands.block(Condition::Arm { choice, arm });
        let index = self.nodes[choice as usize].inputs[0] as usize;
        if let Special::Choice(choice) = &mut self.specials[index] {
            let n_arms = choice.arms().len();
            let guards = choice.guards.get_or_insert_with(|| Box::new(Guards::new(n_arms)));
            guards.blocks[arm as usize] = block.index() as u32;
        }
        block
    }

    /// The stored demand for a node.
    pub(super) fn asked(&self, at: u32) -> Asked {
        let flags = self.nodes[at as usize].flags;
        if flags.has(Flags::LIVE) {
            Asked::Always
        } else if flags.has(Flags::GUARDED) {
            Asked::If(self.demands.of[at as usize])
        } else {
            Asked::Never
        }
    }

    /// The demand for a node that follows from its users.
    pub(super) fn asked_by_users(&mut self, at: u32) -> Asked {
        if self.nodes[at as usize].flags.has(Flags::OBSERVED) {
            return Asked::Always;
        }
        self.link_new();
        let node = &self.nodes[at as usize];
        let mut ways = Blocks::new();
        let mut arms: SmallVec<[(u32, u32); 4]> = SmallVec::new();
        let mut before = NONE;
        for &user in self.users.of(node) {
            let asked = self.asked(user);
            if asked == Asked::Never || user == before {
                continue;
            }
            before = user;
            if let Some(choice) = self.choice_at(user)
                && choice.selector() != at
            {
                let arms_here = choice.arms().iter().enumerate().filter(|(_, arm)| **arm == at);
                arms.extend(arms_here.map(|(i, _)| (user, i as u32)));
                continue;
            }
            match asked {
                Asked::Always => return Asked::Always,
                Asked::If(block) => ways.push(block),
                Asked::Never => {}
            }
        }
        for (choice, arm) in arms {
            ways.push(self.block_of_arm(choice, arm));
        }
        ways.sort_unstable();
        ways.dedup();
        match ways[..] {
            [] => Asked::Never,
            [way] => Asked::If(way),
            _ => Asked::If(self.demands.block(Condition::Any(ways.as_slice().into()))),
        }
    }

    /// Records that the users of a node changed, or whether it is observed.
    pub(super) fn refresh_demand(&mut self, at: u32) {
        self.changed_demand.push(at);
    }

    /// Computes the demand that follows from the recorded changes.
    #[inline(always)]
    pub(super) fn update_demand(&mut self) {
        if !self.changed_demand.is_empty() {
            self.update_changed_demand();
        }
    }

    #[cold]
    fn update_changed_demand(&mut self) {
        let changed = std::mem::take(&mut self.changed_demand);
        // Users come before the nodes that they read.
        let queue = changed.into_iter().map(|at| (self.order.position(at), at));
        let mut queue: BinaryHeap<(usize, u32)> = queue.collect();
        let mut stack = Vec::new();
        let mut unsure = Vec::new();
        let mut before = NONE;
        while let Some((_, at)) = queue.pop() {
            if std::mem::replace(&mut before, at) == at || self.nodes[at as usize].is_source() {
                continue;
            }
            let (old, new) = (self.asked(at), self.asked_by_users(at));
            if old == new {
                continue;
            }
            self.ask(at, old, new);
            if new != Asked::Always {
                unsure.push(at);
                self.for_inputs(at, |graph, input, _| {
                    queue.push((graph.order.position(input), input));
                });
                continue;
            }
            // Everything that a live node always reads is live.
            stack.push(at);
            let mut n_found = 0;
            while let Some(at) = stack.pop() {
                n_found += 1;
                if n_found * FEW_OF > self.order.len() {
                    stack.push(at);
                    self.ask_for_many(std::mem::take(&mut stack), &mut queue);
                    break;
                }
                self.for_inputs(at, |graph, input, is_arm| {
                    if graph.nodes[input as usize].flags.has(Flags::LIVE) {
                    } else if is_arm {
                        queue.push((graph.order.position(input), input));
                    } else {
                        graph.ask(input, graph.asked(input), Asked::Always);
                        stack.push(input);
                    }
                });
            }
        }
        for at in unsure {
            self.for_inputs(at, |graph, input, _| {
                let asked = graph.asked(input);
                let is_source = graph.nodes[input as usize].is_source();
                if is_source || asked == Asked::Never || asked != graph.asked(at) {
                    graph.nodes[input as usize].flags.set(Flags::MIXED);
                }
            });
        }
    }

    /// Makes all nodes live that newly live nodes always read. This is a sweep over all positions,
    /// from the last to the first, with a bit for each node that is read. If links lead to a large
    /// part of the graph, that is much faster than following them through memory.
    fn ask_for_many(&mut self, of: Vec<u32>, queue: &mut BinaryHeap<(usize, u32)>) {
        let mut found = vec![0_u64; self.order.len().div_ceil(64)];
        let mut follow = |graph: &mut Self, found: &mut [u64], at: u32, below: usize| {
            graph.for_inputs(at, |graph, input, is_arm| {
                let position = graph.order.position(input);
                if is_arm {
                    queue.push((position, input));
                } else if position < below {
                    // The sweep will see whether the node is live already.
                    found[position >> 6] |= 1 << (position & 63);
                } else if !graph.nodes[input as usize].flags.has(Flags::LIVE) {
                    // A source, which has no place in the order.
                    graph.ask(input, graph.asked(input), Asked::Always);
                }
            });
        };
        for at in of {
            follow(self, &mut found, at, self.order.position(at));
        }
        for word in (0..found.len()).rev() {
            while let Some(bit) = found[word].checked_ilog2() {
                found[word] ^= 1 << bit;
                let position = word << 6 | bit as usize;
                let at = self.order.node_at(position) as u32;
                if !self.nodes[at as usize].flags.has(Flags::LIVE) {
                    self.ask(at, self.asked(at), Asked::Always);
                    follow(self, &mut found, at, position);
                }
            }
        }
    }

    /// Stores the demand for a node.
    pub(super) fn ask(&mut self, at: u32, old: Asked, new: Asked) {
        if old != Asked::Never && self.choice_at(at).is_some() {
            // Blocks below the choice listen to others that no longer lead to them.
            self.wake_all();
        }
        let flags = &mut self.nodes[at as usize].flags;
        flags.clear(Flags::LIVE | Flags::GUARDED);
        if matches!(old, Asked::If(_)) {
            // Users in the same block now have another condition.
            flags.set(Flags::MIXED);
        }
        match new {
            Asked::Never => return,
            Asked::Always => flags.set(Flags::LIVE),
            Asked::If(block) => {
                flags.set(Flags::GUARDED);
                if self.demands.of.len() <= at as usize {
                    self.demands.of.resize(self.nodes.len(), block);
                }
                self.demands.of[at as usize] = block;
            }
        }
        let flags = &mut self.nodes[at as usize].flags;
        if flags.has(Flags::NEW | Flags::PARKED) {
            flags.clear(Flags::PARKED);
            self.mark(at);
        }
    }

    /// Calls `f` for each input of a node, and with whether it is an arm, which is read only if
    /// taken.
    fn for_inputs(&mut self, at: u32, mut f: impl FnMut(&mut Self, u32, bool)) {
        let node = self.nodes[at as usize];
        if !node.flags.has(Flags::SPECIAL | Flags::FOLD) {
            for input in node.plain_inputs() {
                f(self, *input, false);
            }
            return;
        }
        let first_arm = if self.choice_at(at).is_some() { 1 } else { usize::MAX };
        let mut i = 0;
        while let Some(&input) = self.inputs_of(at).get(i) {
            let is_arm = i >= first_arm;
            f(self, input, is_arm);
            i += 1;
        }
    }
}
