//! The order of nodes: each node has a position after those of the nodes that it reads.
//!
//! Nodes are made after their inputs, so at first the position is the number of the node. When a
//! node is linked to one that comes after it, nodes must move; `order_search` in the base crate
//! finds which. From then on there are gaps between positions, into which nodes are moved; if a gap
//! is too small, the nodes next to it make room.
//!
//! Sources never run, so their positions are irrelevant, and any node may read them.

use millstream_base::order_search::{Marks, Moving, Ordered, nodes_to_move};
use millstream_base::pages::{reserve_in_huge_pages, room_in_huge_pages};

use super::node::NONE;
use super::{LiveError, LiveGraph};

/// The position of each node.
#[derive(Debug, Default)]
pub(super) struct Order {
    n: usize,
    /// The position of each node; empty while it is the number of the node.
    positions: Vec<u32>,
    /// The node at each position, [`NONE`] in gaps.
    nodes: Vec<u32>,
    marks: Marks,
}

/// Positions per node once there are gaps.
const SPREAD: usize = 2;

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

    /// The node at a position that is not in a gap.
    #[inline(always)]
    pub(super) fn node_at(&self, position: usize) -> usize {
        if self.is_plain() { position } else { self.nodes[position] as usize }
    }

    /// The node at a position, if it is not in a gap.
    pub(super) fn node_if_any(&self, position: usize) -> Option<u32> {
        let node = self.node_at(position) as u32;
        (node != NONE).then_some(node)
    }

    /// Number of positions.
    pub(super) fn len(&self) -> usize {
        if self.is_plain() { self.n } else { self.nodes.len() }
    }

    /// Puts a new node after all others.
    #[inline]
    pub(super) fn push(&mut self) {
        if !self.is_plain() {
            reserve_in_huge_pages(&mut self.positions, 1);
            self.positions.push(self.nodes.len() as u32);
            reserve_in_huge_pages(&mut self.nodes, 1);
            self.nodes.push(self.n as u32);
        }
        self.n += 1;
    }

    /// Makes gaps, one of them of at least `front` before all nodes. Nodes that were lifted off
    /// their positions remain without one.
    fn spread(&mut self, front: usize) {
        let n_positions = front + SPREAD * self.n;
        let mut nodes = room_in_huge_pages(n_positions);
        nodes.resize(n_positions, NONE);
        let in_order: Vec<u32> = if self.is_plain() {
            (0..self.n as u32).collect()
        } else {
            self.nodes.iter().copied().filter(|node| *node != NONE).collect()
        };
        if self.is_plain() {
            self.positions = room_in_huge_pages(self.n);
        }
        self.positions.resize(self.n, 0);
        for (i, node) in in_order.into_iter().enumerate() {
            nodes[front + SPREAD * i] = node;
            self.positions[node as usize] = (front + SPREAD * i) as u32;
        }
        self.nodes = nodes;
    }

    /// Size of the order in bytes.
    pub(super) fn bytes(&self) -> usize {
        (self.positions.capacity() + self.nodes.capacity()) * size_of::<u32>() + self.marks.bytes()
    }

    fn place(&mut self, node: u32, position: usize) {
        self.positions[node as usize] = position as u32;
        self.nodes[position] = node;
    }

    /// Takes the nodes out of the smallest window that has room for `n` more, and returns them with
    /// the length of the window. The window begins at `start`, or ends there if `is_before`.
    fn window(&mut self, start: usize, is_before: bool, n: usize) -> Option<(usize, Vec<u32>)> {
        let (mut length, mut n_free) = (0, 0);
        while n_free < n {
            let at = if is_before { start.checked_sub(length)? } else { start + length };
            if at >= self.nodes.len() {
                self.nodes.resize(at + 1 + n, NONE);
            }
            n_free += usize::from(self.nodes[at] == NONE);
            length += 1;
        }
        let first = if is_before { start + 1 - length } else { start };
        let taken = self.nodes[first..first + length].iter_mut();
        let taken = taken.map(|node| std::mem::replace(node, NONE)).filter(|node| *node != NONE);
        Some((length, taken.collect()))
    }
}

impl Ordered for LiveGraph {
    type Rank = u32;

    #[inline]
    fn rank_of(&self, node: u32) -> u32 {
        self.order.position(node) as u32
    }

    #[inline]
    fn dependents_of(&self, node: u32) -> impl Iterator<Item = u32> {
        self.users_of(node).iter().copied()
    }

    #[inline]
    fn dependencies_of(&self, node: u32) -> impl Iterator<Item = u32> {
        // Sources have no place in the order.
        let inputs = self.inputs_of(node).iter().copied();
        inputs.filter(|input| !self.nodes[*input as usize].is_source())
    }
}

impl LiveGraph {
    /// Changes positions so that `source` comes before `reader`; returns how many nodes moved.
    ///
    /// # Errors
    /// If `reader` leads to `source`: the nodes on the path, reader first.
    pub(super) fn put_before(&mut self, source: u32, reader: u32) -> Result<usize, LiveError> {
        let is_source = self.nodes[source as usize].is_source();
        let (low, high) = (self.order.position(reader), self.order.position(source));
        if is_source || high < low {
            return Ok(0);
        }
        let mut marks = std::mem::take(&mut self.order.marks);
        let moving = nodes_to_move(self, source, reader, low as u32..=high as u32, &mut marks);
        self.order.marks = marks;
        let moving = moving.map_err(|way| LiveError::Cycle {
            path: way.iter().map(|node| *node as usize).collect(),
        })?;
        let (mut moving, is_before) = match moving {
            Moving::After(nodes) => (nodes, false),
            Moving::Before(nodes) => (nodes, true),
        };
        moving.sort_unstable_by_key(|node| self.order.position(*node));
        Ok(self.move_next_to(&moving, if is_before { reader } else { source }, is_before))
    }

    /// Moves nodes, given in order, to just before or after another; returns the number of nodes
    /// that changed their positions.
    fn move_next_to(&mut self, moving: &[u32], to: u32, is_before: bool) -> usize {
        if self.order.is_plain() {
            self.spread(moving.len());
        }
        let mut is_dirty: Vec<u32> = Vec::new();
        for &node in moving {
            self.lift(node, &mut is_dirty);
        }
        let (start, window) = loop {
            let at = self.order.position(to);
            // There is no position before the first.
            let start = if is_before { at.checked_sub(1) } else { Some(at + 1) };
            let window = start.and_then(|start| self.order.window(start, is_before, moving.len()));
            match (start, window) {
                (Some(start), Some(window)) => break (start, window),
                _ => self.spread(moving.len()),
            }
        };
        let (length, others) = window;
        self.dirty.grow(self.order.len());
        for &node in &others {
            let position = self.order.position(node);
            if self.dirty.contains(position) {
                self.dirty.unmark(position);
                is_dirty.push(node);
            }
        }
        let in_order: Vec<u32> = if is_before {
            others.iter().chain(moving).copied().collect()
        } else {
            moving.iter().chain(&others).copied().collect()
        };
        let first = if is_before { start + 1 - length } else { start };
        for word in first >> 6..=(first + length - 1) >> 6 {
            self.sweeps.forget(word << 6);
        }
        for (i, &node) in in_order.iter().enumerate() {
            // The nodes are spread evenly over the window.
            self.order.place(node, first + i * length / in_order.len());
        }
        for node in is_dirty {
            self.dirty.mark(self.order.position(node));
        }
        in_order.len()
    }

    /// Takes a node off its position.
    fn lift(&mut self, node: u32, is_dirty: &mut Vec<u32>) {
        let position = self.order.position(node);
        if self.dirty.contains(position) {
            self.dirty.unmark(position);
            is_dirty.push(node);
        }
        self.order.nodes[position] = NONE;
        self.sweeps.forget(position);
    }

    /// Makes gaps between positions, one of them of at least `front` before all nodes.
    fn spread(&mut self, front: usize) {
        let dirty: Vec<u32> =
            self.dirty.all().into_iter().map(|at| self.order.node_at(at) as u32).collect();
        self.dirty.clear();
        self.sweeps.forget_all();
        self.order.spread(front);
        self.dirty.grow(self.order.len());
        for node in dirty {
            self.dirty.mark(self.order.position(node));
        }
    }
}
