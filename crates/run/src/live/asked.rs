//! What somebody observes, and what is read for it: which nodes are live, and which conditions the
//! others are demanded under. Kept up to date as links change.

use std::collections::BinaryHeap;

use millstream_base::id::Id;
use smallvec::SmallVec;

use super::LiveGraph;
use super::demand::{BlockId, Blocks, Condition};
use super::node::{Flags, NONE};
use super::special::Special;

/// What a node's users make of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nobody does.
    Never,
    Always,
    If(BlockId),
}

/// One node in so many is few: to follow their links is sooner done than to look at all positions.
const FEW_OF: usize = 64;

impl LiveGraph {
    fn block_of_arm(&mut self, choice: u32, arm: u32) -> BlockId {
        let guard = self.guard_of(choice);
        let block = self.demands.block(Condition::Arm { choice, arm });
        let index = self.nodes[guard as usize].inputs[0] as usize;
        if let Special::Guard(guard) = &mut self.specials[index] {
            if guard.blocks.len() <= arm as usize {
                guard.blocks.resize(arm as usize + 1, NONE);
            }
            guard.blocks[arm as usize] = block.index() as u32;
        }
        block
    }

    /// What is stored of the demand for a node.
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

    /// What the users of a node make of it.
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
            if let Some(choice) = self.choice_at(user) {
                let (always, choices) = choice.inputs.split_at(choice.first_arm);
                if !always.contains(&at) {
                    let taken = choices.iter().enumerate().filter(|(_, arm)| **arm == at);
                    arms.extend(taken.map(|(i, _)| (user, i as u32)));
                    continue;
                }
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

    /// Finds anew who is demanded, beginning with a node whose users changed. For sources, which do
    /// not run, nobody wants to know.
    pub(super) fn refresh_demand(&mut self, at: u32) {
        // Users before what they read.
        let mut queue = BinaryHeap::from([(self.order.position(at), at)]);
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
            // Whatever is always read by what is live is live.
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

    /// Makes live whatever is always read by nodes that became live. A sweep over all positions,
    /// from the last to the first, that remembers what is read as bits: much sooner done than to
    /// follow the links through memory if they lead to a good part of the graph.
    fn ask_for_many(&mut self, of: Vec<u32>, queue: &mut BinaryHeap<(usize, u32)>) {
        let mut found = vec![0_u64; self.order.len().div_ceil(64)];
        let mut follow = |graph: &mut Self, found: &mut [u64], at: u32, below: usize| {
            graph.for_inputs(at, |graph, input, is_arm| {
                let position = graph.order.position(input);
                if is_arm {
                    queue.push((position, input));
                } else if position < below {
                    // Whether it is live already is seen when its turn comes.
                    found[position >> 6] |= 1 << (position & 63);
                } else if !graph.nodes[input as usize].flags.has(Flags::LIVE) {
                    // A source: their positions mean nothing.
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
    fn ask(&mut self, at: u32, old: Asked, new: Asked) {
        if old != Asked::Never && self.choice_at(at).is_some() {
            // What stands below listens to blocks that are not on its way any more.
            self.wake_all();
        }
        let flags = &mut self.nodes[at as usize].flags;
        flags.clear(Flags::LIVE | Flags::GUARDED);
        if matches!(old, Asked::If(_)) {
            // Users of the same block are demanded under another condition now.
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

    /// Calls `f` for each input of a node; says whether it is an arm, read only if taken.
    fn for_inputs(&mut self, at: u32, mut f: impl FnMut(&mut Self, u32, bool)) {
        let node = self.nodes[at as usize];
        if !node.flags.has(Flags::SPECIAL | Flags::FOLD) {
            for input in node.plain_inputs() {
                f(self, *input, false);
            }
            return;
        }
        let first_arm = self.choice_at(at).map_or(usize::MAX, |choice| choice.first_arm);
        let mut i = 0;
        while let Some(&input) = self.inputs_of(at).get(i) {
            let is_arm = i >= first_arm;
            f(self, input, is_arm);
            i += 1;
        }
    }
}
