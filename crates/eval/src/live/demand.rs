//! Demand: which nodes somebody needs now.
//!
//! A node is *live* if a chain of links that are always read leads from it to something observed.
//! A node that is read through arms of choices only is *guarded*: it belongs to a block, and the
//! block says through which arms, or through which other blocks. All nodes that are demanded under
//! the same condition share a block, so taking another arm touches no node.
//!
//! Within a wave a block is demanded if one of its ways is open and every guard on it is settled:
//! it stands before the wave, or was looked at in it, and is not dirty. A dirty node whose guard is
//! not settled waits for that guard; one whose ways are closed is parked at the arms that would
//! open one.

use std::collections::BinaryHeap;

use millstream_base::id::{Arena, Id};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::LiveGraph;
use super::node::{Flags, NONE};
use super::special::{Choice, Special};

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
enum Condition {
    /// The choice is demanded and takes this arm.
    Arm { choice: u32, arm: u32 },
    /// One of these blocks is demanded.
    Any(Box<[BlockId]>),
}

/// What is known of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It is demanded.
    Open,
    /// It is not.
    Closed,
    /// A guard on the way is not settled.
    Unsettled,
}

#[derive(Debug)]
struct Block {
    condition: Condition,
    verdict: Verdict,
    /// The wave that the verdict is for, if guards were settled.
    wave: u64,
    /// The question that the verdict is for, if they were not.
    question: u64,
    /// Dirty nodes to look at when the arm is taken; some may have been looked at since.
    parked: Vec<u32>,
    /// Length of `parked` at which it is cleaned up.
    parked_limit: usize,
    /// It is among [`Demands::with_parked`].
    is_listed: bool,
}

/// Who is demanded when.
#[derive(Debug, Default)]
pub(super) struct Demands {
    blocks: Arena<BlockId, Block>,
    by_condition: FxHashMap<Condition, BlockId>,
    /// The block of each guarded node; as long as the last of them.
    of: Vec<BlockId>,
    /// Blocks where nodes are parked; some may be empty again.
    with_parked: Vec<BlockId>,
    question: u64,
}

/// What a node's users make of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Nobody does.
    Never,
    Always,
    If(BlockId),
}

impl Demands {
    fn block(&mut self, condition: Condition) -> BlockId {
        if let Some(known) = self.by_condition.get(&condition) {
            return *known;
        }
        let id = self.blocks.push(Block {
            condition: condition.clone(),
            verdict: Verdict::Closed,
            wave: 0,
            question: 0,
            parked: Vec::new(),
            parked_limit: 64,
            is_listed: false,
        });
        self.by_condition.insert(condition, id);
        id
    }
}

type Blocks = SmallVec<[BlockId; 4]>;

impl LiveGraph {
    /// Whether a dirty node that is not live runs now; if not, it is put where it will be found.
    pub(super) fn demand_of(&mut self, at: usize) -> Demand {
        if !self.nodes[at].flags.has(Flags::GUARDED) {
            self.nodes[at].flags.set(Flags::PARKED);
            return Demand::NotNow;
        }
        let block = self.demands.of[at];
        match self.verdict(block) {
            Verdict::Open => return Demand::Now,
            Verdict::Closed => {
                for closed in self.ways(block, Verdict::Closed) {
                    self.park(at as u32, closed);
                }
            }
            Verdict::Unsettled => {
                for unsettled in self.ways(block, Verdict::Unsettled) {
                    let Condition::Arm { choice, .. } = self.demands.blocks[unsettled].condition
                    else {
                        continue;
                    };
                    let guard = self.guard_of(choice);
                    let index = self.nodes[guard as usize].inputs[0] as usize;
                    if let Special::Guard(it) = &mut self.specials[index] {
                        it.waiting.push(at as u32);
                    }
                    self.mark(guard);
                }
            }
        }
        self.nodes[at].flags.set(Flags::PARKED);
        Demand::NotNow
    }

    fn park(&mut self, at: u32, id: BlockId) {
        let block = &mut self.demands.blocks[id];
        if !std::mem::replace(&mut block.is_listed, true) {
            self.demands.with_parked.push(id);
        }
        if block.parked.len() >= block.parked_limit {
            block.parked.sort_unstable();
            block.parked.dedup();
            let nodes = &self.nodes;
            block.parked.retain(|node| nodes[*node as usize].flags.has(Flags::PARKED));
            block.parked_limit = (2 * block.parked.len()).max(64);
        }
        block.parked.push(at);
    }

    /// Looks again at nodes that were put aside.
    fn take_up(&mut self, nodes: Vec<u32>) {
        for at in nodes {
            let flags = &mut self.nodes[at as usize].flags;
            if flags.has(Flags::PARKED) {
                flags.clear(Flags::PARKED);
                self.mark(at);
            }
        }
    }

    /// Stores what a guard takes; opens the arms that are new.
    pub(super) fn settle_guard(&mut self, at: usize, taken: u64, waiting: Vec<u32>) {
        self.take_up(waiting);
        let node = &mut self.nodes[at];
        node.flags.clear(Flags::NEW);
        let before = std::mem::replace(&mut node.value, taken);
        if before == taken {
            return;
        }
        let index = node.inputs[0] as usize;
        let Special::Guard(guard) = &self.specials[index] else { return };
        let choice = guard.choice;
        let newly = |arm: &usize| guard.arms.takes(taken, *arm) && !guard.arms.takes(before, *arm);
        let opened: Blocks = (0..guard.blocks.len())
            .filter(newly)
            .filter(|arm| guard.blocks[*arm] != NONE)
            .map(|arm| BlockId::from_index(guard.blocks[arm] as usize))
            .collect();
        self.mark(choice);
        for block in opened {
            let parked = std::mem::take(&mut self.demands.blocks[block].parked);
            self.take_up(parked);
        }
    }

    fn guard_of(&self, choice: u32) -> u32 {
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
        let node = &self.nodes[at as usize];
        if !node.flags.has(Flags::SPECIAL) || node.is_source() {
            return None;
        }
        match &self.specials[node.inputs[0] as usize] {
            Special::Choice(choice) => Some(choice),
            Special::Guard(_) | Special::Form(_) | Special::Call(_) | Special::Output(_) => None,
        }
    }

    /// Whether somebody demands a node, where all guards are settled.
    pub(super) fn is_demanded(&mut self, at: u32) -> bool {
        match self.asked(at) {
            Asked::Always => true,
            Asked::Never => false,
            Asked::If(block) => self.verdict(block) == Verdict::Open,
        }
    }

    /// Whether what a guard takes will not change in this wave.
    fn is_settled(&self, guard: u32) -> bool {
        let node = &self.nodes[guard as usize];
        let position = self.order.position(guard);
        if node.flags.has(Flags::PARKED | Flags::NEW) || self.dirty.contains(position) {
            return false;
        }
        let Special::Guard(it) = &self.specials[node.inputs[0] as usize] else { return false };
        position < self.cursor || it.settled == self.wave + 1
    }

    /// Whether a block is demanded.
    fn verdict(&mut self, block: BlockId) -> Verdict {
        let wave = self.wave + 1;
        if self.demands.blocks[block].wave == wave {
            return self.demands.blocks[block].verdict;
        }
        self.demands.question += 1;
        let question = self.demands.question;
        let mut stack: Blocks = SmallVec::from_slice(&[block]);
        while let Some(top) = stack.last().copied() {
            if self.known(top, wave, question).is_some() {
                stack.pop();
                continue;
            }
            let unknown =
                |graph: &Self, block: &BlockId| graph.known(*block, wave, question).is_none();
            let verdict = match &self.demands.blocks[top].condition {
                Condition::Any(ways) => {
                    let asked = stack.len();
                    stack.extend(ways.iter().copied().filter(|way| unknown(self, way)));
                    if stack.len() > asked {
                        continue;
                    }
                    let of = |way: &BlockId| self.known(*way, wave, question);
                    if ways.iter().any(|way| of(way) == Some(Verdict::Open)) {
                        Verdict::Open
                    } else if ways.iter().all(|way| of(way) == Some(Verdict::Closed)) {
                        Verdict::Closed
                    } else {
                        Verdict::Unsettled
                    }
                }
                &Condition::Arm { choice, arm } => {
                    let outer = match self.asked(choice) {
                        Asked::Always => Verdict::Open,
                        Asked::Never => Verdict::Closed,
                        Asked::If(outer) => match self.known(outer, wave, question) {
                            Some(verdict) => verdict,
                            None => {
                                stack.push(outer);
                                continue;
                            }
                        },
                    };
                    let guard = self.guard_of(choice);
                    match outer {
                        Verdict::Closed | Verdict::Unsettled => outer,
                        Verdict::Open if !self.is_settled(guard) => Verdict::Unsettled,
                        Verdict::Open => {
                            let taken = self.nodes[guard as usize].value;
                            let takes = self.takes(choice, taken, arm);
                            if takes { Verdict::Open } else { Verdict::Closed }
                        }
                    }
                }
            };
            let known = &mut self.demands.blocks[top];
            known.verdict = verdict;
            known.question = question;
            known.wave = if verdict == Verdict::Unsettled { 0 } else { wave };
            stack.pop();
        }
        self.demands.blocks[block].verdict
    }

    fn known(&self, block: BlockId, wave: u64, question: u64) -> Option<Verdict> {
        let block = &self.demands.blocks[block];
        (block.wave == wave || block.question == question).then_some(block.verdict)
    }

    /// The arms nearest to what is observed that make a block closed, or unsettled.
    fn ways(&self, block: BlockId, why: Verdict) -> Blocks {
        let mut found = Blocks::new();
        let mut seen: SmallVec<[BlockId; 8]> = SmallVec::from_slice(&[block]);
        let mut next = 0;
        while let Some(at) = seen.get(next).copied() {
            next += 1;
            let further: Blocks = match &self.demands.blocks[at].condition {
                Condition::Any(ways) => ways.iter().copied().collect(),
                Condition::Arm { choice, .. } => match self.asked(*choice) {
                    Asked::If(outer) => SmallVec::from_slice(&[outer]),
                    Asked::Always | Asked::Never => Blocks::new(),
                },
            };
            let is_any = matches!(self.demands.blocks[at].condition, Condition::Any(_));
            let mut has_further = false;
            for way in further {
                if self.demands.blocks[way].verdict == why {
                    has_further = true;
                    if !seen.contains(&way) {
                        seen.push(way);
                    }
                }
            }
            if !is_any && !has_further {
                found.push(at);
            }
        }
        found
    }

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

    /// Whether a guarded node is known to be demanded in this wave.
    #[inline(always)]
    pub(super) fn is_open(&self, at: usize) -> bool {
        let block = &self.demands.blocks[self.demands.of[at]];
        block.wave == self.wave + 1 && block.verdict == Verdict::Open
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

    /// What is stored of the demand for a node.
    fn asked(&self, at: u32) -> Asked {
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
    fn asked_by_users(&mut self, at: u32) -> Asked {
        let node = &self.nodes[at as usize];
        if node.flags.has(Flags::OBSERVED) {
            return Asked::Always;
        }
        let mut ways = Blocks::new();
        let mut arms: SmallVec<[(u32, u32); 4]> = SmallVec::new();
        let mut before = NONE;
        for &user in self.users.of(node) {
            let asked = self.asked(user);
            if asked == Asked::Never || user == before {
                continue;
            }
            before = user;
            let it = &self.nodes[user as usize];
            if it.flags.has(Flags::SPECIAL)
                && let Special::Choice(choice) = &self.specials[it.inputs[0] as usize]
            {
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

    /// Finds anew who is demanded, beginning with a node whose users changed.
    pub(super) fn refresh_demand(&mut self, at: u32) {
        // Users before what they read.
        let mut queue = BinaryHeap::from([(self.order.position(at), at)]);
        let mut stack = Vec::new();
        let mut unsure = Vec::new();
        while let Some((_, at)) = queue.pop() {
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
            while let Some(at) = stack.pop() {
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

    /// Stores the demand for a node.
    fn ask(&mut self, at: u32, old: Asked, new: Asked) {
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
        if old != Asked::Never && self.choice_at(at).is_some() {
            // What stands below is parked at arms that are not on its way any more.
            for block in std::mem::take(&mut self.demands.with_parked) {
                let block = &mut self.demands.blocks[block];
                block.is_listed = false;
                let parked = std::mem::take(&mut block.parked);
                self.take_up(parked);
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
        let mut first_arm = usize::MAX;
        if node.is_source() {
            return;
        }
        if node.flags.has(Flags::SPECIAL)
            && let Special::Choice(choice) = &self.specials[node.inputs[0] as usize]
        {
            first_arm = choice.first_arm;
        }
        let mut i = 0;
        while let Some(&input) = self.inputs_of(at).get(i) {
            let is_arm = i >= first_arm;
            f(self, input, is_arm);
            i += 1;
        }
    }
}
