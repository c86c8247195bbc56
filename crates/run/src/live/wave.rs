//! Waves: changes travel from what was set to what is observed.

use std::time::Instant;

use millstream_base::same::Same;
use millstream_node::function::caught;
use smallvec::SmallVec;

use super::node::{Flags, Node, canonical};
use super::special::{ChoiceKind, NOTHING_TAKEN, Special};
use super::{Demand, LiveGraph};

impl LiveGraph {
    /// Sets the bits of a source.
    #[inline]
    pub(super) fn set_bits(&mut self, source: u32, bits: u64) {
        let node = &mut self.nodes[source as usize];
        assert!(node.is_source() && !node.is_gone(), "only sources are set that are there");
        if node.value == bits {
            return;
        }
        let bits = canonical(node.flags, bits);
        if node.value != bits {
            if std::mem::replace(&mut node.inputs[1], 1) == 0 {
                self.pending.push((source, node.value));
            }
            node.value = bits;
        }
    }

    /// Marks the users of what was set since the last wave. A source that is back at its old value
    /// was not set.
    #[inline]
    pub(super) fn mark_pending(&mut self) {
        let mut next = 0;
        while let Some(&(source, old)) = self.pending.get(next) {
            next += 1;
            let node = &mut self.nodes[source as usize];
            node.inputs[1] = 0;
            if node.value != old {
                self.mark_users(source, old);
            }
        }
        self.pending.clear();
        if next > 0 && !self.boxes.before.is_empty() {
            self.boxes.before.clear();
        }
    }

    /// Brings everything that is observed up to date.
    #[inline]
    pub fn settle(&mut self) {
        if self.has_set_aside() {
            self.take_back();
        }
        self.run_wave();
    }

    /// Runs what is dirty and demanded now.
    #[inline]
    pub(super) fn run_wave(&mut self) {
        if self.has_new_links() || self.wave == 0 {
            self.run_first();
        } else {
            self.mark_pending();
            self.run_in_order::<false>();
        }
        self.cursor = 0;
        self.wave += 1;
        if self.stopped.is_some() {
            self.run_dirty_anew();
        }
        if self.has_retracted && self.stopped.is_none() {
            self.assert_all();
        }
    }

    /// Runs what is dirty as [`run_wave`](Self::run_wave), while some users are not known.
    #[cold]
    fn run_first(&mut self) {
        // Before the first wave nothing has run; so whatever reads what runs now is marked, if it is
        // demanded at all, and nobody has to ask for users.
        let is_first = self.wave == 0
            && self.pending.is_empty()
            && self.specials.is_empty()
            && self.failed.is_empty()
            && self.held.is_empty()
            && self.journal.is_none();
        if is_first {
            self.run_in_order::<true>();
        } else {
            self.link_new();
            self.mark_pending();
            self.run_in_order::<false>();
        }
    }

    #[inline(always)]
    fn run_in_order<const FIRST: bool>(&mut self) {
        if self.order.is_plain() {
            self.run_words::<true, FIRST>();
        } else {
            self.run_words::<false, FIRST>();
        }
    }

    /// Runs what is dirty until nothing is, or nobody waits any more.
    #[inline(always)]
    fn run_words<const PLAIN: bool, const FIRST: bool>(&mut self) {
        let Some(mut word) = self.dirty.lowest_word() else { return };
        let mut next_look = self.within.next_look(self.n_runs);
        while self.stopped.is_none() {
            if self.n_runs >= next_look && self.is_stopped_between(&mut next_look) {
                return;
            }
            self.run_word::<PLAIN, FIRST>(word);
            let Some(next) = self.dirty.lowest_word() else { return };
            word = next;
        }
    }

    /// Runs the dirty nodes at 64 neighboring positions; `PLAIN` if nodes stand in the order they
    /// were made.
    ///
    /// What is dirty of the word is kept in a register, so that a chain does not wait for memory.
    #[inline]
    fn run_word<const PLAIN: bool, const FIRST: bool>(&mut self, word: usize) {
        let is_watched = self.journal.is_some();
        let mut bits = self.dirty.take_word(word);
        while bits != 0 {
            let position = word << 6 | bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let at = if PLAIN { position } else { self.order.node_at(position) };
            let node = &self.nodes[at];
            let flags = node.flags;
            let is_plain = flags.is_plain() || flags.is_guarded_and_plain() && self.is_open(at);
            if !is_plain || is_watched {
                self.dirty.put_word(word, bits);
                self.cursor = position;
                self.look_at(at);
                if std::mem::take(&mut self.is_rewound) {
                    return;
                }
                bits = self.dirty.take_word(word);
                continue;
            }
            self.n_runs += 1;
            let value = self.computed(node);
            if value != node.value || flags.has(Flags::NEW) {
                let value = canonical(flags, value);
                let node = &mut self.nodes[at];
                if node.value == value && !flags.has(Flags::NEW) {
                    continue;
                }
                node.flags.clear(Flags::NEW);
                let old = std::mem::replace(&mut node.value, value);
                if FIRST {
                    continue;
                }
                if flags.has(Flags::MIXED) {
                    self.hold_users(at as u32, old);
                }
                for &user in self.users.of(&self.nodes[at]) {
                    let position = if PLAIN { user as usize } else { self.order.position(user) };
                    if position >> 6 == word {
                        bits |= 1 << (position & 63);
                    } else {
                        self.dirty.mark(position);
                    }
                }
            }
        }
    }

    /// The value of a plain function.
    #[inline(always)]
    fn computed(&self, node: &Node) -> u64 {
        let value = |input: u32| self.nodes[input as usize].value;
        let [a, b, c] = node.inputs;
        if node.flags.has(Flags::FOLD | Flags::CONSTANT) {
            if node.flags.has(Flags::FOLD) {
                let inputs = &self.wide[a as usize..][..b as usize];
                return self.folds[node.code as usize].1(&self.nodes, inputs);
            }
            return self.functions[node.code as usize](value(a), node.constant(), 0);
        }
        let third = if node.flags.arity() == 3 { value(c) } else { 0 };
        self.functions[node.code as usize](value(a), value(b), third)
    }

    /// Gives a node the value it computed.
    pub(super) fn change(&mut self, at: usize, value: u64) {
        let node = &mut self.nodes[at];
        let value = canonical(node.flags, value);
        if node.value != value || node.flags.has(Flags::NEW) {
            node.flags.clear(Flags::NEW);
            let old = std::mem::replace(&mut node.value, value);
            self.mark_users(at as u32, old);
        }
    }

    /// Marks the users of a node whose value changed.
    #[inline]
    pub(super) fn mark_users(&mut self, at: u32, old: u64) {
        debug_assert!(!self.has_new_links(), "users are asked for when they are known");
        if self.nodes[at as usize].flags.has(Flags::MIXED) {
            self.hold_users(at, old);
        }
        for &user in self.users.of(&self.nodes[at as usize]) {
            self.dirty.mark(self.order.position(user));
        }
    }

    /// Marks a node to be looked at, wherever the wave is.
    pub(super) fn mark(&mut self, at: u32) {
        let position = self.order.position(at);
        self.is_rewound |= position < self.cursor;
        self.dirty.mark(position);
    }

    /// Runs a dirty node that is special or not surely demanded.
    pub(super) fn look_at(&mut self, at: usize) {
        if self.nodes[at].is_source() {
            return;
        }
        let flags = self.nodes[at].flags;
        if !flags.has(Flags::LIVE) {
            match self.demand_of(at) {
                Demand::Now => {}
                Demand::NotNow => return,
            }
        }
        if flags.has(Flags::CAREFUL) && !self.has_to_run(at) {
            return;
        }
        let started = self.times.is_some().then(Instant::now);
        let n_runs = self.n_runs;
        self.run_telling(at, |graph| {
            if flags.has(Flags::SPECIAL) {
                graph.run_special(at);
            } else {
                let value = graph.computed(&graph.nodes[at]);
                graph.ran(at);
                graph.change(at, value);
            }
        });
        if let (Some(started), Some(times)) = (started, &mut self.times)
            && self.n_runs > n_runs
        {
            *times.entry(at as u32).or_default() += started.elapsed();
        }
    }

    /// Notes that a node ran.
    #[inline]
    pub(super) fn ran(&mut self, at: usize) {
        self.n_runs += 1;
        if let Some(journal) = &mut self.journal {
            journal.push(at as u32);
        }
    }

    /// Gives on an arm whose value is no number.
    #[inline(never)]
    fn give_arm(&mut self, at: usize, arm: u32, is_other: bool) {
        let Some(value) = self.boxes.of(&self.nodes[arm as usize]) else { return };
        let now = self.boxes.of(&self.nodes[at]);
        if is_other || now.is_none_or(|now| !now.same(value)) {
            let value = value.clone();
            self.ran(at);
            self.change_value(at, value);
        }
    }

    fn run_special(&mut self, at: usize) {
        let index = self.nodes[at].inputs[0] as usize;
        let nodes = &self.nodes;
        match &mut self.specials[index] {
            Special::Guard(guard) => {
                match guard.arms.taken(nodes[guard.selector[0] as usize].value) {
                    Ok(taken) => self.settle_guard(at, taken),
                    Err(failure) => {
                        self.fail(at, failure);
                        self.settle_guard(at, NOTHING_TAKEN);
                    }
                }
            }
            Special::Call(_) => self.run_call(at, index),
            Special::Output(_) => self.give_output(at, index),
            Special::Form(whole) => {
                let params: SmallVec<[u64; 8]> =
                    whole.inputs.iter().map(|input| nodes[*input as usize].value).collect();
                let mut result = [0];
                whole.form.run_scalar(&params, &mut result, &mut whole.registers);
                self.ran(at);
                self.change(at, result[0]);
            }
            Special::Choice(choice) => {
                let [guard, ..] = *choice.inputs else { return };
                let taken = nodes[guard as usize].value;
                let is_new = nodes[at].flags.has(Flags::NEW);
                let result = match &mut choice.kind {
                    ChoiceKind::Given => {
                        let arm = choice.inputs[choice.first_arm + taken as usize];
                        let toggled = std::mem::replace(&mut choice.seen_taken, taken) != taken;
                        if nodes[at].inputs[2] != 0 {
                            return self.give_arm(at, arm, toggled || is_new);
                        }
                        let value = nodes[arm as usize].value;
                        (toggled || is_new || value != nodes[at].value).then_some(Ok(value))
                    }
                    ChoiceKind::Computed { compute, seen } => {
                        let arms = &choice.inputs[choice.first_arm..];
                        let first = nodes[choice.inputs[1] as usize].value;
                        let mut differs = is_new || choice.seen_taken != taken || seen[0] != first;
                        choice.seen_taken = taken;
                        seen[0] = first;
                        for (i, (arm, seen)) in arms.iter().zip(&mut seen[1..]).enumerate() {
                            if taken >> i & 1 != 0 {
                                let value = nodes[*arm as usize].value;
                                differs |= std::mem::replace(seen, value) != value;
                            }
                        }
                        differs.then(|| {
                            let taken = (0..arms.len()).filter(|i| taken >> i & 1 != 0);
                            caught(|| compute(first, &mut taken.map(|i| seen[i + 1])))
                        })
                    }
                };
                if let Some(result) = result {
                    self.ran(at);
                    match result {
                        Ok(value) => self.change(at, value),
                        Err(failure) => self.fail(at, failure),
                    }
                }
            }
        }
    }
}
