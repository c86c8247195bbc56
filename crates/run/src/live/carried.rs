//! Replaces a graph by a smaller one that does the same: after many edits most nodes may be removed
//! ones, and a graph without these takes over the values, so that nothing runs.
//!
//! Each node receives the value of its original, the values that the original read if they are
//! held, and whether it must run. Stamps do not change, so that held values can be compared. The
//! demand is computed when nodes are observed.

use millstream_node::Data;
use rustc_hash::{FxHashMap, FxHashSet};

use super::node::Flags;
use super::special::Special;
use super::{LiveGraph, NodeNumber};

/// The value of a source in the new graph.
enum Own {
    Bits(u64),
    Boxed(Data),
}

impl LiveGraph {
    /// Takes over the values of a graph that is no longer used; `places` maps its nodes to those of
    /// this graph. In this graph nothing is observed yet, and no link was changed. Its sources keep
    /// their values.
    pub fn carry_on(&mut self, before: &mut Self, places: &FxHashMap<NodeNumber, NodeNumber>) {
        before.take_back();
        before.update_demand();
        before.link_new();
        before.mark_pending();
        // The first wave of this graph counts as done.
        self.wave = self.wave.max(1);
        self.boxes.stamps_follow(&before.boxes);
        // The stamps of sources that have no original must not be those of other nodes there.
        for node in self.nodes.iter_mut().filter(|node| node.is_source()) {
            if self.boxes.has_place(node) {
                node.value = self.boxes.stamp();
            }
        }
        self.within.limits = before.within.limits.clone();
        self.n_runs = before.n_runs;
        let to: FxHashMap<u32, u32> = places.iter().map(|(old, new)| (old.0, new.0)).collect();
        let mut pairs: Vec<(u32, u32)> = to.iter().map(|(old, new)| (*new, *old)).collect();
        pairs.sort_unstable();
        let mut done: FxHashSet<u32> = FxHashSet::default();
        let mut own: Vec<(u32, Own)> = Vec::new();
        for (new, old) in pairs {
            if !self.is_alike(new, before, old) {
                continue;
            }
            let read = before.inputs_of(old).iter().zip(self.inputs_of(new));
            let mut read = read.map(|(old, new)| to.get(old) == Some(new) && done.contains(new));
            if !read.all(|is_known| is_known) {
                continue;
            }
            done.insert(new);
            if self.nodes[new as usize].is_source() {
                let node = &self.nodes[new as usize];
                let value = self.boxes.of(node).map(|value| Own::Boxed(value.clone()));
                own.push((new, value.unwrap_or(Own::Bits(node.value))));
            }
            self.take_over(new, before, old);
        }
        for (source, value) in own {
            match value {
                Own::Bits(bits) => self.set_bits(source, bits),
                Own::Boxed(data) => self.set_data(NodeNumber(source), &data),
            }
        }
    }

    /// Whether a node does the same as a node of another graph.
    fn is_alike(&self, at: u32, other: &Self, of: u32) -> bool {
        let (a, b) = (&self.nodes[at as usize], &other.nodes[of as usize]);
        let kind = |flags: Flags| flags.0 & (Flags::SPECIAL | Flags::CONSTANT | Flags::FOLD);
        if kind(a.flags) != kind(b.flags)
            || a.flags.lane() != b.flags.lane()
            || a.is_source() != b.is_source()
            || self.inputs_of(at).len() != other.inputs_of(of).len()
        {
            return false;
        }
        let (is_boxed, was_boxed) = (self.boxes.has_place(a), other.boxes.has_place(b));
        if a.is_source() {
            let ty = |data: Option<&Data>| data.map(Data::ty);
            return is_boxed == was_boxed && ty(self.boxes.of(a)) == ty(other.boxes.of(b));
        }
        match (self.special_at(at), other.special_at(of)) {
            (None, None) => {
                let is_fold = a.flags.has(Flags::FOLD);
                let is_same = is_fold
                    || self.codes.iter().any(|(key, code)| {
                        *code == a.code && other.codes.get(key) == Some(&b.code)
                    });
                is_same
                    && !is_fold
                    && (!a.flags.has(Flags::CONSTANT) || a.constant() == b.constant())
            }
            (Some(Special::Call(a)), Some(Special::Call(b))) => a.instance.does_same(&b.instance),
            (Some(Special::Choice(a)), Some(Special::Choice(b))) => {
                is_boxed == was_boxed
                    && a.is_select() == b.is_select()
                    && a.pick().is_some()
                    && b.pick().is_some()
            }
            (Some(Special::Form(a)), Some(Special::Form(b))) => a.form == b.form,
            (Some(Special::Output(_)), Some(Special::Output(_))) => is_boxed == was_boxed,
            (None | Some(_), _) => false,
        }
    }

    /// Takes over the state of a node of another graph that does the same.
    fn take_over(&mut self, at: u32, before: &mut Self, of: u32) {
        const KEPT: u16 = Flags::NEW | Flags::CAREFUL | Flags::MIXED | Flags::PARKED;
        let old = before.nodes[of as usize];
        let waits = before.dirty.has(before.order.position(of)) && !old.is_source();
        let is_lost = (waits || old.flags.has(Flags::PARKED)) && !before.is_held(of);
        let node = &mut self.nodes[at as usize];
        node.value = old.value;
        node.flags.clear(KEPT);
        node.flags.set(old.flags.0 & KEPT);
        if waits {
            node.flags.set(Flags::PARKED);
        }
        if before.overtaken.contains(&of) || is_lost && !old.flags.has(Flags::NEW) {
            node.flags.set(Flags::CAREFUL);
            self.overtaken.insert(at);
        }
        let counts = self.counts_bytes(at);
        self.boxes.take_over(&self.nodes[at as usize], &before.boxes, &old, counts);
        self.held.extend(before.held.remove(&of).map(|held| (at, held)));
        self.held_values.extend(before.held_values.remove(&of).map(|held| (at, held)));
        self.failed.extend(before.failed.remove(&of).map(|failed| (at, failed)));
        if old.is_source() || !old.flags.has(Flags::SPECIAL) {
            return;
        }
        let index = self.nodes[at as usize].inputs[0] as usize;
        match (&mut self.specials[index], &mut before.specials[old.inputs[0] as usize]) {
            (Special::Call(new), Special::Call(old)) => new.take_over(old),
            (Special::Choice(new), Special::Choice(old)) => new.take_over(old),
            (Special::Choice(_) | Special::Form(_) | Special::Call(_) | Special::Output(_), _) => {}
        }
    }
}
