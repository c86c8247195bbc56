//! Maintenance of a topological order: which nodes must move when a new link contradicts it.
//!
//! Two searches alternate: one from the target along dependents, up to the rank of the source, and
//! one from the source along dependencies, down to the rank of the target. The nodes of the search
//! that finishes first move, so a link costs twice the smaller of the two regions. If the link
//! would close a cycle, the searches meet, and they do so soon, because each expands the node
//! nearest to the start of the other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::RangeInclusive;

use smallvec::SmallVec;

/// Nodes in topological order.
pub trait Ordered {
    /// A position in the order.
    type Rank: Copy + Ord;

    /// The rank of a node: unique, and higher than those of its dependencies.
    fn rank_of(&self, node: u32) -> Self::Rank;

    /// The direct dependents of a node, perhaps with duplicates.
    fn dependents_of(&self, node: u32) -> impl Iterator<Item = u32>;

    /// The direct dependencies of a node, perhaps with duplicates.
    fn dependencies_of(&self, node: u32) -> impl Iterator<Item = u32>;
}

/// The nodes that must move, in no particular order, and their destination.
#[derive(Debug, PartialEq, Eq)]
pub enum Moving {
    /// The target and some of its dependents, to right after the source.
    After(Vec<u32>),
    /// The source and some of its dependencies, to right before the target.
    Before(Vec<u32>),
}

/// Which search found each node, as two bits per node; scratch memory, empty between searches.
#[derive(Clone, Debug, Default)]
pub struct Marks(Vec<u64>);

/// Number of nodes whose marks fill a word.
const MARKS: usize = 32;

impl Marks {
    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<u64>()
    }

    /// The mark of a node.
    #[inline]
    fn of(&self, node: u32) -> u64 {
        let word = self.0.get(node as usize / MARKS).copied().unwrap_or(0);
        word >> (node as usize % MARKS * 2) & 3
    }

    #[inline]
    fn set(&mut self, node: u32, mark: u64) {
        let word = node as usize / MARKS;
        if word >= self.0.len() {
            self.0.resize((word + 1).next_power_of_two(), 0);
        }
        self.0[word] |= mark << (node as usize % MARKS * 2);
    }

    /// Clears the marks of these nodes, and perhaps of others.
    fn clear(&mut self, found: &[Found]) {
        for found in found {
            self.0[found.node as usize / MARKS] = 0;
        }
    }
}

/// The nodes that must move for `target` to depend on `source`, which is currently after it. Nodes
/// with ranks outside `ranks` stay.
///
/// # Errors
/// If the link would close a cycle: the path from `target` to `source` along dependents.
pub fn nodes_to_move<O: Ordered>(
    nodes: &O,
    source: u32,
    target: u32,
    ranks: RangeInclusive<O::Rank>,
    marks: &mut Marks,
) -> Result<Moving, Vec<u32>> {
    if source == target {
        return Err(vec![source]);
    }
    // The last node is nearest to the source, the first one to the target.
    let mut after = Search::new(1, |rank: O::Rank| rank);
    let mut before = Search::new(2, Reverse);
    after.add(marks, target, 0, *ranks.start());
    before.add(marks, source, 0, *ranks.end());
    let moving = loop {
        // Nearly all the time is spent waiting for random memory accesses, so both searches request
        // their nodes before either reads the result.
        let later = after.next(|node| nodes.dependents_of(node), |node| nodes.rank_of(node));
        let earlier = before.next(|node| nodes.dependencies_of(node), |node| nodes.rank_of(node));
        let Some(later) = later else { break Ok(Moving::After(after.nodes())) };
        if let Some((from, met)) = after.find(marks, later, &ranks) {
            break Err((from, before.entry_of(met)));
        }
        let Some(earlier) = earlier else { break Ok(Moving::Before(before.nodes())) };
        if let Some((from, met)) = before.find(marks, earlier, &ranks) {
            break Err((after.entry_of(met), from));
        }
    };
    marks.clear(&after.found);
    marks.clear(&before.found);
    moving.map_err(|(a, b)| {
        let mut path = after.path_from(a);
        path.reverse();
        path.extend(before.path_from(b));
        path
    })
}

/// A found node, and the entry it was found from.
#[derive(Clone, Copy, Debug)]
struct Found {
    node: u32,
    from: u32,
}

/// A search that expands one node per step.
struct Search<N, K> {
    mark: u64,
    /// The priority of a rank; the highest is expanded first.
    nearness: N,
    found: Vec<Found>,
    /// The entries not yet expanded, by priority.
    open: BinaryHeap<(K, u32)>,
}

/// The neighbors of an expanded entry, with their ranks.
struct Next<R> {
    from: u32,
    nodes: SmallVec<[(u32, R); 8]>,
}

impl<N, K: Ord> Search<N, K> {
    fn new(mark: u64, nearness: N) -> Self {
        Self { mark, nearness, found: Vec::new(), open: BinaryHeap::new() }
    }

    fn add<R>(&mut self, marks: &mut Marks, node: u32, from: u32, rank: R)
    where
        N: Fn(R) -> K,
    {
        marks.set(node, self.mark);
        self.open.push(((self.nearness)(rank), self.found.len() as u32));
        self.found.push(Found { node, from });
    }

    /// Expands the nearest entry, if any is left.
    fn next<R, I: Iterator<Item = u32>>(
        &mut self,
        linked: impl Fn(u32) -> I,
        rank: impl Fn(u32) -> R,
    ) -> Option<Next<R>> {
        let (_, from) = self.open.pop()?;
        let nodes = linked(self.found[from as usize].node).map(|node| (node, rank(node)));
        Some(Next { from, nodes: nodes.collect() })
    }

    /// Adds the nodes with these ranks. Stops at a node that the other search found, and returns it
    /// with the entry that led to it.
    fn find<R: Copy + Ord>(
        &mut self,
        marks: &mut Marks,
        next: Next<R>,
        ranks: &RangeInclusive<R>,
    ) -> Option<(u32, u32)>
    where
        N: Fn(R) -> K,
    {
        for (node, rank) in next.nodes {
            if !ranks.contains(&rank) {
                continue;
            }
            match marks.of(node) {
                0 => self.add(marks, node, next.from, rank),
                mark if mark == self.mark => {}
                _ => return Some((next.from, node)),
            }
        }
        None
    }

    fn nodes(&self) -> Vec<u32> {
        self.found.iter().map(|found| found.node).collect()
    }

    /// The entry of a found node.
    fn entry_of(&self, node: u32) -> u32 {
        let at = self.found.iter().position(|found| found.node == node);
        at.expect("marked nodes were found") as u32
    }

    /// The path from an entry back to the start of the search.
    fn path_from(&self, mut entry: u32) -> Vec<u32> {
        let mut path = Vec::new();
        loop {
            let found = self.found[entry as usize];
            path.push(found.node);
            if entry == 0 {
                return path;
            }
            entry = found.from;
        }
    }
}
