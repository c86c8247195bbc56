//! Demand: which nodes must be up to date now.
//!
//! A node is *live* if a chain of links that are always read leads from it to an observed node. A
//! node that is read only through arms of choices is *guarded*: it belongs to a block, and the
//! condition of the block names those arms, or other blocks. All nodes with the same condition
//! share a block, so taking another arm touches no node.
//!
//! Within a wave, the block of an arm is *open* if the choice is demanded and takes the arm, and a
//! block with several ways is open if one of them is. Dirty nodes of a block that is not open sleep
//! in it. The block itself then sleeps at what it lacks: at its choice, or among the listeners of
//! the blocks that could open it. A block that opens wakes its nodes and its listeners. So each
//! block is decided once per wave, however deeply choices are nested, and sleepers cost nothing
//! until they are needed.
//!
//! An open block remains open for the rest of the wave, because it opens only once the selector of
//! its choice is *settled*: its value will not change in this wave. The selector is settled when
//! the wave visits the choice, since nodes are visited in order. It is also settled if it is clean
//! and the wave has passed it, unless a node on which it may depend was woken in the meantime.

use millstream_base::id::{Arena, Id};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::asked::Asked;
use super::node::{Flags, NONE};
use super::special::Special;
use super::{LiveGraph, NodeNumber};

millstream_base::define_id!(BlockId, "b", "Nodes that are demanded under the same condition.");

/// Whether a dirty node runs now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    Now,
    /// It is parked.
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
    /// The last wave in which the block was open.
    open: u64,
    /// Whether the block was found not to be open, and will be woken when that may change.
    is_asleep: bool,
    /// Dirty nodes to visit when the block opens; some may have been visited since.
    sleepers: Sleepers,
    /// The length of `sleepers` at which it is cleaned up.
    sleepers_limit: usize,
    /// The blocks to wake when this one opens, each with the number of the way that is this block.
    listeners: SmallVec<[(BlockId, u32); 2]>,
    /// For each way of this block, whether it is among the listeners there.
    listens: SmallVec<[bool; 8]>,
    /// Whether the block is among [`Demands::listed`].
    is_listed: bool,
}

/// The blocks of a graph, and the guarded nodes in them.
#[derive(Debug, Default)]
pub(super) struct Demands {
    blocks: Arena<BlockId, Block>,
    by_condition: FxHashMap<Condition, BlockId>,
    /// The block of each guarded node; as long as the last of them.
    pub(super) of: Vec<BlockId>,
    /// Blocks that fell asleep; some may be awake again.
    listed: Vec<BlockId>,
}

impl Demands {
    /// Bytes of the blocks and their tables.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.len() * size_of::<Block>()
            + self.by_condition.capacity() * (size_of::<(Condition, BlockId)>() + 1)
            + (self.of.capacity() + self.listed.capacity()) * size_of::<BlockId>()
    }

    /// The block of a condition.
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

    /// Whether a block is asleep.
    #[inline(always)]
    pub(super) fn is_asleep(&self, block: u32) -> bool {
        self.blocks[BlockId::from_index(block as usize)].is_asleep
    }

    /// Puts a block to sleep that is not open.
    fn put_to_sleep(&mut self, block: BlockId) {
        let it = &mut self.blocks[block];
        it.is_asleep = true;
        if !std::mem::replace(&mut it.is_listed, true) {
            self.listed.push(block);
        }
    }

    /// Wakes a block; returns whether it was asleep.
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

/// Parked nodes of a block, mostly few.
type Sleepers = SmallVec<[u32; 4]>;

/// Blocks that wait until a choice is visited.
pub(super) type Waiting = SmallVec<[BlockId; 2]>;

/// Blocks to decide; those that others depend on are on top.
type Stack = SmallVec<[BlockId; 16]>;

impl LiveGraph {
    /// Whether a dirty node that is not live runs now; if not, it is parked.
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
        // A parked node is among the sleepers already.
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

    /// Marks nodes that were parked.
    fn take_up(&mut self, nodes: Sleepers) {
        for at in nodes {
            let flags = &mut self.nodes[at as usize].flags;
            if flags.has(Flags::PARKED) {
                flags.clear(Flags::PARKED);
                self.mark(at);
            }
        }
    }

    /// Records that a wave has found the taken arms of a choice, and wakes those that sleep and the
    /// blocks that waited for it.
    pub(super) fn settle_choice(&mut self, index: usize) {
        let Special::Choice(choice) = &mut self.specials[index] else { return };
        let Some(mut guards) = choice.guards.take() else { return };
        guards.settled = self.wave + 1;
        let mut woken: Stack = guards.waiting.drain(..).collect();
        for (arm, block) in guards.blocks.iter().enumerate() {
            if *block != NONE && choice.takes(arm) {
                woken.push(BlockId::from_index(*block as usize));
            }
        }
        choice.guards = Some(guards);
        woken.retain(|block| self.demands.wake(*block));
        if !woken.is_empty() {
            self.decide(woken, false);
        }
    }

    /// Those of `nodes` that are demanded in a settled graph.
    pub fn demanded(&mut self, nodes: impl IntoIterator<Item = NodeNumber>) -> Vec<NodeNumber> {
        self.update_demand();
        // All positions are passed, so everything is settled.
        self.cursor = usize::MAX;
        let mut demanded: Vec<NodeNumber> = nodes.into_iter().collect();
        demanded.retain(|NodeNumber(node)| {
            // The demand for sources is not stored.
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

    /// Whether a choice takes an arm, if the wave knows it already; the module says what is
    /// settled. `is_passed_trusted` says that no node was woken.
    fn takes_surely(&self, choice: u32, arm: u32, is_passed_trusted: bool) -> Option<bool> {
        let it = self.choice_at(choice)?;
        if it.guards.as_ref().is_some_and(|guards| guards.settled == self.wave + 1) {
            return Some(it.takes(arm as usize));
        }
        let selector = it.selector();
        let selected = &self.nodes[selector as usize];
        let has_failed = !self.failed.is_empty() && self.failed.contains_key(&selector);
        if !selected.is_source() {
            let position = self.order.position(selector);
            // A node that never had a value because an input has none is settled, although it is
            // new.
            let unsettled = if has_failed { Flags::PARKED } else { Flags::PARKED | Flags::NEW };
            let is_settled = is_passed_trusted
                && position < self.cursor
                && !self.is_rewound
                && !selected.flags.has(unsettled)
                && !self.dirty.contains(position);
            if !is_settled {
                return None;
            }
        }
        if has_failed {
            return Some(false);
        }
        it.would_take(selected.value, arm as usize)
    }

    /// Whether a block is open in this wave.
    fn is_block_open(&mut self, block: BlockId) -> bool {
        let wave = self.wave + 1;
        let known = &self.demands.blocks[block];
        if known.open != wave && !known.is_asleep {
            self.decide(Stack::from_slice(&[block]), true);
        }
        self.demands.blocks[block].open == wave
    }

    /// Opens blocks or puts them to sleep, after the blocks that they depend on.
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
                        // The choice was demanded when the condition was made.
                        Asked::Never => false,
                        Asked::If(outer) => {
                            let outer_block = &self.demands.blocks[outer];
                            if outer_block.open != wave && !outer_block.is_asleep {
                                stack.push(outer);
                            }
                            outer_block.open == wave
                        }
                    };
                    is_asked && self.takes_or_waits(top, (choice, arm), is_passed_trusted)
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

    /// Whether a demanded choice takes an arm. If that is not known yet, the block of the arm waits
    /// until the choice is visited.
    fn takes_or_waits(
        &mut self,
        block: BlockId,
        (choice, arm): (u32, u32),
        is_passed_trusted: bool,
    ) -> bool {
        if let Some(takes) = self.takes_surely(choice, arm, is_passed_trusted) {
            return takes;
        }
        let index = self.nodes[choice as usize].inputs[0] as usize;
        if let Special::Choice(it) = &mut self.specials[index]
            && let Some(guards) = &mut it.guards
        {
            guards.waiting.push(block);
        }
        self.mark(choice);
        false
    }

    /// Makes a block listen to the blocks that could open it. Choices wake the blocks of their arms
    /// without listeners.
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

    /// Wakes all sleeping blocks, and marks their nodes.
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

    /// Whether the block of a guarded node is known to be open in this wave.
    #[inline(always)]
    pub(super) fn is_open(&self, at: usize) -> bool {
        self.is_known_open(self.demands.of[at])
    }

    /// Whether a block is known to be open in this wave.
    #[inline(always)]
    pub(super) fn is_known_open(&self, block: BlockId) -> bool {
        self.demands.blocks[block].open == self.wave + 1
    }

    /// Whether a node whose value has just changed and its user are certainly demanded together.
    /// Sources change whether or not they are demanded.
    #[inline]
    pub(super) fn are_asked_together(&self, changed: u32, user: u32) -> bool {
        let (node, user_flags) = (&self.nodes[changed as usize], self.nodes[user as usize].flags);
        node.flags.has(Flags::GUARDED)
            && user_flags.has(Flags::GUARDED)
            && !node.is_source()
            && self.demands.of[changed as usize] == self.demands.of[user as usize]
    }
}
