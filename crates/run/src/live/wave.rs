//! Waves: changes travel from the sources that were set to the nodes that are observed.

use std::time::Instant;

use smallvec::SmallVec;

use super::look::Quick;
use super::node::{Flags, Node, canonical};
use super::special::Special;
use super::{Demand, LiveGraph};

impl LiveGraph {
    /// Sets the bits of a source.
    #[inline]
    pub(super) fn set_bits(&mut self, source: u32, bits: u64) {
        let node = &mut self.nodes[source as usize];
        assert!(node.is_source() && !node.is_gone(), "only sources that exist are set");
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

    /// Marks the users of sources that were set since the last wave, except of sources that
    /// returned to their old values.
    #[inline]
    pub(super) fn mark_pending(&mut self) {
        let mut next = 0;
        while let Some(&(source, old)) = self.pending.get(next) {
            next += 1;
            let node = &mut self.nodes[source as usize];
            node.inputs[1] = 0;
            if node.value != old {
                if self.boxes.hold_all {
                    self.boxes.note_change(source, &self.nodes[source as usize]);
                }
                self.mark_users(source, old);
            }
        }
        self.pending.clear();
        if next > 0 && !self.boxes.before.is_empty() {
            self.boxes.before.clear();
        }
    }

    /// Updates everything that is observed.
    #[inline]
    pub fn settle(&mut self) {
        if self.has_set_aside() {
            self.take_back();
        }
        self.run_wave();
    }

    /// Runs the nodes that are dirty and demanded.
    #[inline(always)]
    pub(super) fn run_wave(&mut self) {
        let is_settled = self.dirty.is_known_empty()
            && self.pending.is_empty()
            && self.changed_demand.is_empty()
            && !self.has_new_links()
            && !self.has_retracted
            && self.stopped.is_none();
        if !is_settled {
            self.run_next_wave();
        }
    }

    #[inline(always)]
    fn run_next_wave(&mut self) {
        self.update_demand();
        if let Some(times) = &mut self.times {
            times.last = Instant::now();
        }
        if self.has_new_links() || self.wave == 0 {
            self.run_first();
        } else {
            self.mark_pending();
            self.run_in_order::<false>();
        }
        self.cursor = 0;
        self.wave += 1;
        if self.stopped.is_some() {
            self.note_overtaken();
        }
        if self.has_retracted && self.stopped.is_none() {
            self.assert_all();
        }
    }

    /// Does the work of [`run_wave`](Self::run_wave) while the users of some nodes are unknown.
    #[cold]
    fn run_first(&mut self) {
        // Before the first wave nothing has run. So all demanded nodes are dirty already, and no
        // node that changes must mark its users.
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

    /// Runs dirty nodes until none is left, or the wave is stopped.
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

    /// Runs the dirty nodes at 64 neighboring positions; `PLAIN` says that nodes are in the order
    /// in which they were made.
    ///
    /// The dirty bits of the word stay in a register, so that a chain need not wait for memory.
    #[inline]
    fn run_word<const PLAIN: bool, const FIRST: bool>(&mut self, word: usize) {
        let is_watched = self.journal.is_some();
        let mut bits = self.dirty.take_word(word);
        if !FIRST && self.sweeps.is_hot(word) && !is_watched && self.sweep(word, bits) {
            return;
        }
        let n_runs = self.n_runs;
        while bits != 0 {
            let position = word << 6 | bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let at = if PLAIN { position } else { self.order.node_at(position) };
            let node = &self.nodes[at];
            let flags = node.flags;
            let is_plain = flags.is_plain() || flags.is_guarded_and_plain() && self.is_open(at);
            let quick = if is_watched {
                Quick::No
            } else if is_plain {
                Quick::Value(self.computed(node))
            } else {
                self.quick_choice(at)
            };
            let value = match quick {
                Quick::Value(value) => value,
                Quick::Same => continue,
                Quick::No | Quick::Failed(_) => {
                    self.dirty.lend_word(word, bits);
                    self.cursor = position;
                    match quick {
                        Quick::Failed(failure) => self.choice_failed(at, failure),
                        _ => self.look_at(at),
                    }
                    bits = self.dirty.take_lent_word(word);
                    if std::mem::take(&mut self.is_rewound) {
                        return self.dirty.put_word(word, bits);
                    }
                    continue;
                }
            };
            self.n_runs += 1;
            let node = &mut self.nodes[at];
            if value != node.value || flags.has(Flags::NEW) {
                let value = canonical(flags, value);
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
                let users = self.users.of(&self.nodes[at]).iter();
                let positions = users
                    .map(|user| if PLAIN { *user as usize } else { self.order.position(*user) });
                let elsewhere = positions.filter(|position| {
                    let is_here = position >> 6 == word;
                    bits |= if is_here { 1 << (position & 63) } else { 0 };
                    !is_here
                });
                self.dirty.mark_all(elsewhere);
            }
        }
        if !FIRST {
            self.note_runs(word, self.n_runs - n_runs);
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

    /// Stores the value that a node computed.
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
        debug_assert!(!self.has_new_links(), "users are linked before a wave marks them");
        if self.nodes[at as usize].flags.has(Flags::MIXED) {
            self.hold_users(at, old);
        }
        let users = self.users.of(&self.nodes[at as usize]).iter();
        self.dirty.mark_all(users.map(|user| self.order.position(*user)));
    }

    /// Marks a node to be visited, before or after the position that the wave has reached.
    pub(super) fn mark(&mut self, at: u32) {
        let position = self.order.position(at);
        self.is_rewound |= position < self.cursor;
        self.dirty.mark(position);
    }

    /// Visits a dirty node that is special, careful, or not certainly demanded.
    pub(super) fn look_at(&mut self, at: usize) {
        if self.nodes[at].is_source() {
            return;
        }
        if !self.nodes[at].flags.has(Flags::LIVE) {
            match self.demand_of(at) {
                Demand::Now => {}
                Demand::NotNow => return,
            }
        }
        let n_runs = self.n_runs;
        self.run_demanded(at);
        if let Some(times) = &mut self.times
            && self.n_runs > n_runs
        {
            let now = Instant::now();
            let took = now - std::mem::replace(&mut times.last, now);
            *times.by_node.entry(at as u32).or_default() += took;
        }
    }

    /// Runs a dirty node that is demanded, if it must run.
    #[inline]
    fn run_demanded(&mut self, at: usize) {
        let node = &self.nodes[at];
        let (flags, index) = (node.flags, node.inputs[0] as usize);
        let is_special = flags.has(Flags::SPECIAL);
        if is_special && matches!(self.specials[index], Special::Choice(_)) {
            return self.look_at_choice(at, index);
        }
        if flags.has(Flags::CAREFUL) && !self.has_to_run(at) {
            return;
        }
        self.run_telling(at, |graph| {
            if is_special {
                graph.run_special(at, index);
            } else {
                let value = graph.computed(&graph.nodes[at]);
                graph.ran(at);
                graph.change(at, value);
            }
        });
    }

    /// Counts a run of a node.
    #[inline]
    pub(super) fn ran(&mut self, at: usize) {
        self.n_runs += 1;
        if let Some(journal) = &mut self.journal {
            journal.push(at as u32);
        }
    }

    /// Counts a run of a node for `n` elements.
    pub(super) fn ran_for(&mut self, at: usize, n: usize) {
        self.ran(at);
        if self.journal.is_some() {
            // A run without a note is for one element.
            *self.elements.entry(at as u32).or_default() += n as i64 - 1;
        }
    }

    fn run_special(&mut self, at: usize, index: usize) {
        let nodes = &self.nodes;
        match &mut self.specials[index] {
            Special::Choice(_) => self.look_at_choice(at, index),
            Special::Call(_) => self.run_call(at, index),
            Special::Output(_) => self.pass_output_on(at, index),
            Special::Form(whole) => {
                let params: SmallVec<[u64; 8]> =
                    whole.inputs.iter().map(|input| nodes[*input as usize].value).collect();
                let mut result = [0];
                whole.form.run_scalar(&params, &mut result, &mut self.boxes.scratch.registers);
                self.ran(at);
                self.change(at, result[0]);
            }
        }
    }
}
