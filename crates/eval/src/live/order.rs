//! The order of nodes: positions such that each node comes behind what it reads.
//!
//! Nodes are made behind what they read, so at first the position is the number of the node. When a
//! link is made from a node that stands behind its reader, the nodes between the two that the reader
//! leads to and those that lead to the source change places among themselves (Pearce and Kelly, "A
//! dynamic topological sort algorithm for directed acyclic graphs", 2006). Sources are read from
//! anywhere: they never run, so their positions mean nothing.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{LiveError, LiveGraph};

/// Where each node stands.
#[derive(Debug, Default)]
pub(super) struct Order {
    n: usize,
    /// Position of each node; empty as long as that is its number.
    positions: Vec<u32>,
    /// The node at each position.
    nodes: Vec<u32>,
}

impl Order {
    /// Whether each node's position is its number.
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        self.positions.is_empty()
    }

    #[inline(always)]
    pub(super) fn position(&self, node: u32) -> usize {
        if self.is_plain() { node as usize } else { self.positions[node as usize] as usize }
    }

    #[inline(always)]
    pub(super) fn node_at(&self, position: usize) -> usize {
        if self.is_plain() { position } else { self.nodes[position] as usize }
    }

    /// Puts a new node behind all others.
    #[inline]
    pub(super) fn push(&mut self) {
        if !self.is_plain() {
            self.positions.push(self.n as u32);
            self.nodes.push(self.n as u32);
        }
        self.n += 1;
    }

    fn place(&mut self, node: u32, position: u32) {
        self.positions[node as usize] = position;
        self.nodes[position as usize] = node;
    }

    fn spell_out(&mut self) {
        if self.is_plain() {
            self.positions = (0..self.n as u32).collect();
            self.nodes = (0..self.n as u32).collect();
        }
    }
}

impl LiveGraph {
    /// Changes positions so that `source` stands before `reader`; answers how many nodes moved.
    ///
    /// # Errors
    /// If `reader` leads to `source`: the nodes on the way, reader first.
    pub(super) fn put_before(&mut self, source: u32, reader: u32) -> Result<usize, LiveError> {
        let is_source = self.nodes[source as usize].is_source();
        let (low, high) = (self.order.position(reader), self.order.position(source));
        if is_source || high < low {
            return Ok(0);
        }
        let behind = self.led_to(reader, source, high)?;
        let before = self.leading_to(source, low);
        self.order.spell_out();
        let moved: Vec<u32> = before.into_iter().chain(behind).collect();
        let mut positions: Vec<u32> =
            moved.iter().map(|node| self.order.position(*node) as u32).collect();
        positions.sort_unstable();
        let is_dirty: Vec<bool> =
            moved.iter().map(|node| self.dirty.contains(self.order.position(*node))).collect();
        for position in &positions {
            self.dirty.unmark(*position as usize);
        }
        for ((node, position), is_dirty) in moved.iter().zip(positions).zip(is_dirty) {
            self.order.place(*node, position);
            if is_dirty {
                self.dirty.mark(position as usize);
            }
        }
        Ok(moved.len())
    }

    /// The nodes up to a position that `reader` leads to, itself included, in order.
    fn led_to(&self, reader: u32, source: u32, high: usize) -> Result<Vec<u32>, LiveError> {
        let mut from: FxHashMap<u32, u32> = FxHashMap::default();
        from.insert(reader, reader);
        let mut found = vec![reader];
        let mut next = 0;
        while let Some(at) = found.get(next).copied() {
            next += 1;
            if at == source {
                let mut path = vec![at as usize];
                let mut at = at;
                while at != reader {
                    at = from[&at];
                    path.push(at as usize);
                }
                path.reverse();
                return Err(LiveError::Cycle { path });
            }
            for &user in self.users.of(&self.nodes[at as usize]) {
                if self.order.position(user) <= high && !from.contains_key(&user) {
                    from.insert(user, at);
                    found.push(user);
                }
            }
        }
        found.sort_unstable_by_key(|node| self.order.position(*node));
        Ok(found)
    }

    /// The nodes from a position on that lead to `source`, itself included, in order.
    fn leading_to(&self, source: u32, low: usize) -> Vec<u32> {
        let mut seen = FxHashSet::from_iter([source]);
        let mut found = vec![source];
        let mut next = 0;
        while let Some(at) = found.get(next).copied() {
            next += 1;
            for &input in self.inputs_of(at) {
                let is_source = self.nodes[input as usize].is_source();
                if !is_source && self.order.position(input) >= low && seen.insert(input) {
                    found.push(input);
                }
            }
        }
        found.sort_unstable_by_key(|node| self.order.position(*node));
        found
    }
}
