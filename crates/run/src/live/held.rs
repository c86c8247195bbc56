//! The values that a node read at its last run, for nodes that may be dirty although they would
//! read the same values again.
//!
//! A node that is always demanded runs in the wave in which an input changes, so the input cannot
//! have returned to its old value by then. A node that is parked, or whose links were changed, may
//! find its inputs as they were at its last run. The values that such a node read are held from the
//! first change until it is demanded. If a wave is stopped, its dirty nodes may find other inputs
//! in the next wave; the values that the live ones read are lost, so these nodes run.

use smallvec::SmallVec;

use super::LiveGraph;
use super::node::Flags;
use super::special::Special;

/// The bits of the inputs, in order.
pub(super) type Held = SmallVec<[u64; 3]>;

impl LiveGraph {
    /// Holds the values that a node read at its last run. `changed` is the node that has just
    /// changed, with its previous value.
    pub(super) fn hold(&mut self, at: u32, changed: Option<(u32, u64)>) {
        let node = &self.nodes[at as usize];
        if node.flags.has(Flags::NEW) || self.is_held(at) {
            return;
        }
        if node.flags.has(Flags::SPECIAL) {
            match self.specials[node.inputs[0] as usize] {
                Special::Form(_) | Special::Call(_) => {}
                // These compare values themselves.
                Special::Choice(_) | Special::Output(_) => return,
            }
            if let Some(values) = self.values_read(at, changed.map(|(node, _)| node)) {
                self.held_values.insert(at, values);
            }
        }
        let held =
            self.inputs_of(at).iter().map(|input| self.last_value(*input, changed)).collect();
        self.held.insert(at, held);
        self.nodes[at as usize].flags.set(Flags::CAREFUL);
    }

    /// Whether the values that a node read at its last run are held, or lost.
    pub(super) fn is_held(&self, at: u32) -> bool {
        self.nodes[at as usize].flags.has(Flags::CAREFUL)
            && (self.held.contains_key(&at)
                || self.has_lost_reading(at)
                || self.overtaken.contains(&at))
    }

    /// The value that the users of a node saw.
    fn last_value(&self, at: u32, changed: Option<(u32, u64)>) -> u64 {
        let node = &self.nodes[at as usize];
        match changed {
            Some((changed, old)) if changed == at => old,
            _ if node.is_source() && node.inputs[1] != 0 => {
                let set = self.pending.iter().find(|(source, _)| *source == at);
                set.map_or(node.value, |(_, old)| *old)
            }
            _ => node.value,
        }
    }

    /// Holds the values that users of a changed node read, for those that may not run in this wave.
    pub(super) fn hold_users(&mut self, at: u32, old: u64) {
        let mut i = 0;
        while let Some(&user) = self.users_of(at).get(i) {
            i += 1;
            if !self.nodes[user as usize].flags.has(Flags::LIVE)
                && !self.are_asked_together(at, user)
            {
                self.hold(user, Some((at, old)));
            }
        }
    }

    /// Forgets the values that a node read; returns whether it would read others now.
    pub(super) fn let_go(&mut self, at: u32) -> bool {
        self.nodes[at as usize].flags.clear(Flags::CAREFUL);
        if !self.overtaken.is_empty() && self.overtaken.remove(&at) {
            return true;
        }
        let Some(held) = self.held.remove(&at) else { return true };
        let values = self.held_values.remove(&at);
        let now = self.inputs_of(at).iter().map(|input| self.nodes[*input as usize].value);
        let is_same = now.eq(held.iter().copied())
            || values.is_some_and(|values| self.reads_again(at, &held, &values));
        !is_same
    }

    /// Forgets the values that a node read, so that it runs when it is demanded.
    pub(super) fn forget_held(&mut self, at: u32) {
        self.overtaken.remove(&at);
        self.held.remove(&at);
        self.held_values.remove(&at);
    }
}
