//! Demand: which nodes somebody needs now.
//!
//! A node is *live* if a chain of links that are always read leads from it to something observed.
//! A node that is read through arms of choices only is *guarded*: it belongs to a block, and the
//! block says through which arms, or through which other blocks. All nodes that are demanded under
//! the same condition share a block, so taking another arm touches no node.
//!
//! Within a wave a block is *open* if one of its ways is, and an arm is if its choice is demanded and
//! the guard, once it is settled, takes it. A dirty node of a block that is not open sleeps in it.
//! The block then stands at what it lacks: at the guard of its choice, or among the listeners of
//! the blocks that could open it, which stand somewhere themselves. Whatever opens wakes its nodes
//! and those who listen. So a block is decided once per wave, however deep choices are nested, and
//! what sleeps costs nothing until it is needed.
//!
//! A block that opened stays open for the wave: guards are settled when all that they read is. That
//! is so for a guard that was looked at in the wave, since nodes are looked at in order and what
//! opens wakes all that it needs at once. It is so too for one that the wave has passed and that is
//! clean, unless something was woken that it may read; then it is looked at once more.

use millstream_base::id::{Arena, Id};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::asked::Asked;
use super::node::{Flags, NONE};
use super::special::{Choice, Special};
use super::{LiveGraph, NodeNumber};

millstream_base::define_id!(BlockId, "b", "Nodes that are demanded under the same condition.");

/// Whether a dirty node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    Now,
    /// It was parked, or waits.
    NotNow,
}

/// When the nodes of a block are demanded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Condition {
    /// The choice is demanded and takes this arm.
    Arm { choice: u32, arm: u32 },
    /// One of these blocks is demanded.
    Any(Box<[BlockId]>),
}

#[derive(Debug)]
struct Block {
    condition: Condition,
    /// The last wave in which it was open.
    open: u64,
    /// It was found not to be open, and stands where it will be told when that may change.
    is_asleep: bool,
    /// Dirty nodes to look at when it opens; some may have been looked at since.
    sleepers: Sleepers,
    /// Length of `sleepers` at which it is cleaned up.
    sleepers_limit: usize,
    /// Who is told when it opens: blocks, and which of their ways it is.
    listeners: SmallVec<[(BlockId, u32); 2]>,
    /// For each of its own ways whether it is among the listeners there.
    listens: SmallVec<[bool; 8]>,
    /// It is among [`Demands::listed`].
    is_listed: bool,
}

/// Who is demanded when.
#[derive(Debug, Default)]
pub(super) struct Demands {
    blocks: Arena<BlockId, Block>,
    by_condition: FxHashMap<Condition, BlockId>,
    /// The block of each guarded node; as long as the last of them.
    pub(super) of: Vec<BlockId>,
    /// Blocks that were asleep; some may be awake again.
    listed: Vec<BlockId>,
}

impl Demands {
    /// Bytes of the blocks and of what finds them.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.len() * size_of::<Block>()
            + self.by_condition.capacity() * (size_of::<(Condition, BlockId)>() + 1)
            + (self.of.capacity() + self.listed.capacity()) * size_of::<BlockId>()
    }

    pub(super) fn block(&mut self, condition: Condition) -> BlockId {
        if let Some(known) = self.by_condition.get(&condition) {
            return *known;
        }
        let n_ways = match &condition {
            Condition::Arm { .. } => 1,
            Condition::Any(ways) => ways.len(),
        };
        let id = self.blocks.push(Block {
            condition: condition.clone(),
            open: 0,
            is_asleep: false,
            sleepers: Sleepers::new(),
            sleepers_limit: 64,
            listeners: SmallVec::new(),
            listens: SmallVec::from_elem(false, n_ways),
            is_listed: false,
        });
        self.by_condition.insert(condition, id);
        id
    }

    /// Puts a block that is not open where it will be told.
    fn put_to_sleep(&mut self, block: BlockId) {
        let it = &mut self.blocks[block];
        it.is_asleep = true;
        if !std::mem::replace(&mut it.is_listed, true) {
            self.listed.push(block);
        }
    }

    /// Wakes a block, if it sleeps.
    fn wake(&mut self, block: BlockId) -> bool {
        std::mem::take(&mut self.blocks[block].is_asleep)
    }

    /// Puts a block among the listeners of one of its ways.
    fn listen(&mut self, block: BlockId, way: usize, to: BlockId) {
        if !std::mem::replace(&mut self.blocks[block].listens[way], true) {
            self.blocks[to].listeners.push((block, way as u32));
        }
    }
}

pub(super) type Blocks = SmallVec<[BlockId; 4]>;

/// Nodes that sleep; mostly few do.
type Sleepers = SmallVec<[u32; 4]>;

/// Blocks that wait for a guard.
pub(super) type Waiting = SmallVec<[BlockId; 2]>;

/// Blocks to decide, those that others depend on last.
type Stack = SmallVec<[BlockId; 16]>;

impl LiveGraph {
    /// Whether a dirty node that is not live runs now; if not, it is put where it will be found.
    pub(super) fn demand_of(&mut self, at: usize) -> Demand {
        let flags = self.nodes[at].flags;
        if !flags.has(Flags::GUARDED) {
            self.nodes[at].flags.set(Flags::PARKED);
            return Demand::NotNow;
        }
        let block = self.demands.of[at];
        if self.is_block_open(block) {
            self.nodes[at].flags.clear(Flags::PARKED);
            return Demand::Now;
        }
        // One that was parked is among the sleepers.
        if !flags.has(Flags::PARKED) {
            self.nodes[at].flags.set(Flags::PARKED);
            self.add_sleeper(block, at as u32);
        }
        Demand::NotNow
    }

    fn add_sleeper(&mut self, block: BlockId, at: u32) {
        let it = &mut self.demands.blocks[block];
        if it.sleepers.len() >= it.sleepers_limit {
            it.sleepers.sort_unstable();
            it.sleepers.dedup();
            let (nodes, of) = (&self.nodes, &self.demands.of);
            it.sleepers.retain(|node| {
                nodes[*node as usize].flags.has(Flags::PARKED) && of[*node as usize] == block
            });
            it.sleepers_limit = (2 * it.sleepers.len()).max(64);
        }
        it.sleepers.push(at);
    }

    /// Looks again at nodes that were put aside.
    fn take_up(&mut self, nodes: Sleepers) {
        for at in nodes {
            let flags = &mut self.nodes[at as usize].flags;
            if flags.has(Flags::PARKED) {
                flags.clear(Flags::PARKED);
                self.mark(at);
            }
        }
    }

    /// Stores what a guard takes; wakes the arms that are new and those that waited for it.
    pub(super) fn settle_guard(&mut self, at: usize, taken: u64) {
        let node = &mut self.nodes[at];
        let index = node.inputs[0] as usize;
        let Special::Guard(guard) = &mut self.specials[index] else { return };
        guard.settled = self.wave + 1;
        let mut woken = Stack::from_iter(std::mem::take(&mut guard.waiting));
        node.flags.clear(Flags::NEW);
        let before = std::mem::replace(&mut node.value, taken);
        if before != taken {
            let choice = guard.choice;
            let is_new =
                |arm: usize| guard.arms.takes(taken, arm) && !guard.arms.takes(before, arm);
            for (arm, block) in guard.blocks.iter().enumerate() {
                if *block != NONE && is_new(arm) {
                    let block = BlockId::from_index(*block as usize);
                    if self.demands.blocks[block].is_asleep {
                        woken.push(block);
                    }
                }
            }
            self.mark(choice);
        }
        woken.retain(|block| self.demands.wake(*block));
        if !woken.is_empty() {
            self.decide(woken, false);
        }
    }

    pub(super) fn guard_of(&self, choice: u32) -> u32 {
        self.specials[self.nodes[choice as usize].inputs[0] as usize].inputs()[0]
    }

    /// Whether a choice whose guard has the value `taken` takes an arm.
    pub(super) fn takes(&self, choice: u32, taken: u64, arm: u32) -> bool {
        let guard = self.guard_of(choice);
        match &self.specials[self.nodes[guard as usize].inputs[0] as usize] {
            Special::Guard(guard) => guard.arms.takes(taken, arm as usize),
            Special::Choice(_) | Special::Form(_) | Special::Call(_) | Special::Output(_) => false,
        }
    }

    /// The choice that a node is, if it is one.
    pub(super) fn choice_at(&self, at: u32) -> Option<&Choice> {
        match self.special_at(at)? {
            Special::Choice(choice) => Some(choice),
            Special::Guard(_) | Special::Form(_) | Special::Call(_) | Special::Output(_) => None,
        }
    }

    /// Of nodes of a settled graph those that somebody demands.
    pub fn demanded(&mut self, nodes: impl IntoIterator<Item = NodeNumber>) -> Vec<NodeNumber> {
        // Behind the last position everything is settled.
        self.cursor = usize::MAX;
        let mut demanded: Vec<NodeNumber> = nodes.into_iter().collect();
        demanded.retain(|NodeNumber(node)| {
            // Nobody else wants to know of sources.
            let is_source = self.nodes[*node as usize].is_source();
            match if is_source { self.asked_by_users(*node) } else { self.asked(*node) } {
                Asked::Always => true,
                Asked::Never => false,
                Asked::If(block) => self.is_block_open(block),
            }
        });
        (self.cursor, self.is_rewound) = (0, false);
        self.wave += 1;
        demanded
    }

    /// Whether what a guard takes will not change in this wave. Those that the wave has passed are
    /// trusted as long as nothing was woken.
    fn is_settled(&self, guard: u32, is_passed_trusted: bool) -> bool {
        let node = &self.nodes[guard as usize];
        let position = self.order.position(guard);
        if node.flags.has(Flags::PARKED | Flags::NEW) || self.dirty.contains(position) {
            return false;
        }
        let Special::Guard(it) = &self.specials[node.inputs[0] as usize] else { return false };
        it.settled == self.wave + 1
            || is_passed_trusted && position < self.cursor && !self.is_rewound
    }

    /// Whether a block is known to be open in this wave, or was found to be now.
    fn is_block_open(&mut self, block: BlockId) -> bool {
        let wave = self.wave + 1;
        let known = &self.demands.blocks[block];
        if known.open != wave && !known.is_asleep {
            self.decide(Stack::from_slice(&[block]), true);
        }
        self.demands.blocks[block].open == wave
    }

    /// Opens blocks, or puts them to sleep, and so all on which that depends.
    fn decide(&mut self, mut stack: Stack, mut is_passed_trusted: bool) {
        let wave = self.wave + 1;
        while let Some(top) = stack.last().copied() {
            let block = &self.demands.blocks[top];
            if block.is_asleep || block.open == wave {
                stack.pop();
                continue;
            }
            let n_asked = stack.len();
            let is_open = match &block.condition {
                Condition::Any(ways) => {
                    let blocks = &self.demands.blocks;
                    let is_open = ways.iter().any(|way| blocks[*way].open == wave);
                    if !is_open {
                        stack.extend(ways.iter().copied().filter(|way| !blocks[*way].is_asleep));
                    }
                    is_open
                }
                &Condition::Arm { choice, arm } => {
                    let is_asked = match self.asked(choice) {
                        Asked::Always => true,
                        // Conditions of choices that nobody demands are not made.
                        Asked::Never => false,
                        Asked::If(outer) => {
                            let outer_block = &self.demands.blocks[outer];
                            if outer_block.open != wave && !outer_block.is_asleep {
                                stack.push(outer);
                            }
                            outer_block.open == wave
                        }
                    };
                    is_asked && self.takes_for_sure(top, choice, arm, is_passed_trusted)
                }
            };
            if stack.len() > n_asked {
                continue;
            }
            stack.pop();
            if !is_open {
                self.listen_to_ways(top);
                self.demands.put_to_sleep(top);
                continue;
            }
            let block = &mut self.demands.blocks[top];
            block.open = wave;
            let sleepers = std::mem::take(&mut block.sleepers);
            let listeners = std::mem::take(&mut block.listeners);
            is_passed_trusted &= sleepers.is_empty() && listeners.is_empty();
            self.take_up(sleepers);
            for (listener, way) in listeners {
                self.demands.blocks[listener].listens[way as usize] = false;
                if self.demands.wake(listener) {
                    stack.push(listener);
                }
            }
        }
    }

    /// Whether a choice that is demanded takes an arm. If that is not settled, the block of the arm
    /// waits for the guard.
    fn takes_for_sure(
        &mut self,
        block: BlockId,
        choice: u32,
        arm: u32,
        is_passed_trusted: bool,
    ) -> bool {
        let guard = self.guard_of(choice);
        if self.is_settled(guard, is_passed_trusted) {
            return self.takes(choice, self.nodes[guard as usize].value, arm);
        }
        let index = self.nodes[guard as usize].inputs[0] as usize;
        if let Special::Guard(it) = &mut self.specials[index] {
            it.waiting.push(block);
        }
        self.mark(guard);
        false
    }

    /// Has a block told when one of those opens that could open it. Guards tell the blocks of their
    /// arms anyway.
    fn listen_to_ways(&mut self, block: BlockId) {
        let wave = self.wave + 1;
        match &self.demands.blocks[block].condition {
            Condition::Any(ways) => {
                let ways: Blocks = ways.iter().copied().collect();
                for (i, way) in ways.into_iter().enumerate() {
                    self.demands.listen(block, i, way);
                }
            }
            Condition::Arm { choice, .. } => {
                if let Asked::If(outer) = self.asked(*choice)
                    && self.demands.blocks[outer].open != wave
                {
                    self.demands.listen(block, 0, outer);
                }
            }
        }
    }

    /// Wakes all blocks and nodes that sleep.
    pub(super) fn wake_all(&mut self) {
        let listed = std::mem::take(&mut self.demands.listed);
        for block in &listed {
            let block = &mut self.demands.blocks[*block];
            (block.is_listed, block.is_asleep) = (false, false);
            block.listens.fill(false);
        }
        for block in listed {
            let block = &mut self.demands.blocks[block];
            block.listeners.clear();
            let sleepers = std::mem::take(&mut block.sleepers);
            self.take_up(sleepers);
        }
    }

    /// Whether a guarded node is known to be demanded in this wave.
    #[inline(always)]
    pub(super) fn is_open(&self, at: usize) -> bool {
        let block = &self.demands.blocks[self.demands.of[at]];
        block.open == self.wave + 1
    }

    /// Whether a node whose value just changed and its user are surely demanded together. A source
    /// changes whether or not it is demanded.
    #[inline]
    pub(super) fn are_asked_together(&self, changed: u32, user: u32) -> bool {
        let (node, user_flags) = (&self.nodes[changed as usize], self.nodes[user as usize].flags);
        node.flags.has(Flags::GUARDED)
            && user_flags.has(Flags::GUARDED)
            && !node.is_source()
            && self.demands.of[changed as usize] == self.demands.of[user as usize]
    }
}
