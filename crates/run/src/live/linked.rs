//! New nodes become users of their inputs when users are first needed.
//!
//! The first evaluation of a new graph needs none, so a graph that is evaluated once has no lists
//! of users. For many new nodes at once, the users of each are counted first and then written in
//! order. This waits for memory and mispredicts branches far less often than adding users one by
//! one.

use std::ops::Range;

use millstream_base::pages::room_in_huge_pages;

use super::LiveGraph;
use super::node::{Flags, NONE};
use super::users::{SMALLEST, room_for};

/// Minimal number of new nodes whose users are counted first. Tests have few nodes.
const MANY: usize = if cfg!(test) { 3 } else { 512 };

impl LiveGraph {
    /// Whether there are nodes that are not users of their inputs yet.
    #[inline(always)]
    pub(super) fn has_new_links(&self) -> bool {
        self.n_linked < self.nodes.len()
    }

    /// Makes new nodes users of their inputs; must be called before users are needed.
    #[inline(always)]
    pub(super) fn link_new(&mut self) {
        if self.has_new_links() {
            self.link_all_new();
        }
    }

    /// The users of a node, each as often as it reads the node.
    #[inline(always)]
    pub(super) fn users_of(&self, node: u32) -> &[u32] {
        debug_assert!(!self.has_new_links(), "users are linked before they are asked for");
        self.users.of(&self.nodes[node as usize])
    }

    #[cold]
    fn link_all_new(&mut self) {
        let new = self.n_linked..self.nodes.len();
        self.n_linked = new.end;
        if self.sweeps.has_any() {
            self.forget_sweeps_of(new.clone());
        }
        if new.len() < MANY {
            for reader in new {
                let mut i = 0;
                while let Some(&input) = self.inputs_of(reader as u32).get(i) {
                    self.users.add(&mut self.nodes[input as usize], reader as u32);
                    i += 1;
                }
            }
        } else {
            self.link_many(new);
        }
    }

    /// Drops the code of words that new nodes belong to or read.
    fn forget_sweeps_of(&mut self, new: Range<usize>) {
        for reader in new {
            self.forget_sweep(reader as u32);
            let mut i = 0;
            while let Some(&input) = self.inputs_of(reader as u32).get(i) {
                self.forget_sweep(input);
                i += 1;
            }
        }
    }

    fn link_many(&mut self, new: Range<usize>) {
        // For each new node: how often it is read, then where its users begin, then where they end.
        let mut places: Vec<u32> = room_in_huge_pages(new.len());
        places.resize(new.len(), 0);
        for reader in new.clone() {
            self.for_links(reader, |graph, input| match input.checked_sub(new.start) {
                Some(at) => places[at] += 1,
                None => graph.users.add(&mut graph.nodes[input], reader as u32),
            });
        }
        let (mut n, mut n_listed) = (0, 0);
        for place in &mut places {
            n_listed += room_for(*place);
            n += std::mem::replace(place, n);
        }
        let mut users: Vec<u32> = room_in_huge_pages(n as usize + SMALLEST);
        users.resize(n as usize + SMALLEST, NONE);
        for reader in new.clone() {
            self.for_links(reader, |_, input| {
                if let Some(at) = input.checked_sub(new.start) {
                    users[places[at] as usize] = reader as u32;
                    places[at] += 1;
                }
            });
        }
        self.users.put(&mut self.nodes[new], &users, &places, n_listed);
    }

    #[inline(always)]
    fn for_links(&mut self, reader: usize, mut f: impl FnMut(&mut Self, usize)) {
        let node = &self.nodes[reader];
        if node.flags.has(Flags::SPECIAL | Flags::FOLD) {
            let mut i = 0;
            while let Some(&input) = self.inputs_of(reader as u32).get(i) {
                f(self, input as usize);
                i += 1;
            }
            return;
        }
        let (inputs, n) = (node.inputs, node.flags.arity());
        for input in inputs.into_iter().take(n) {
            f(self, input as usize);
        }
    }
}
