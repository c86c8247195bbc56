//! What has to move where a new link goes against an order in which each node stands behind what it
//! depends on.
//!
//! Two searches go in step: from the target along dependents, as far as they do not stand behind the
//! source, and from the source along what it depends on, as far as that does not stand before the
//! target. The first to end decides: its nodes move. So a link costs twice the smaller of both
//! regions, as two-way searches in the maintenance of topological orders do. A link that would close
//! a circle is found where the searches meet, which is soon, because each goes on from the node that
//! stands nearest to where the other began.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::RangeInclusive;

use smallvec::SmallVec;

/// Nodes in an order.
pub trait Ordered {
    /// Where a node stands.
    type Rank: Copy + Ord;

    /// Where a node stands: higher than all that it depends on, and no other node stands there.
    fn stands_at(&self, node: u32) -> Self::Rank;

    /// What depends on a node; some may come twice.
    fn leads_to(&self, node: u32) -> impl Iterator<Item = u32>;

    /// What a node depends on; some may come twice.
    fn depends_on(&self, node: u32) -> impl Iterator<Item = u32>;
}

/// Nodes that move.
#[derive(Debug, PartialEq, Eq)]
pub enum Moving {
    /// The target and what depends on it, to right behind the source.
    Behind(Vec<u32>),
    /// The source and what it depends on, to right before the target.
    Before(Vec<u32>),
}

/// Which search found each node, two bits a node; kept from search to search, and empty between them.
#[derive(Clone, Debug, Default)]
pub struct Marks(Vec<u64>);

/// Nodes of which the marks fill a word.
const MARKS: usize = 32;

impl Marks {
    /// Bytes that it holds.
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

    /// Takes away the marks of these nodes, and perhaps of others.
    fn clear(&mut self, found: &[Found]) {
        for found in found {
            self.0[found.node as usize / MARKS] = 0;
        }
    }
}

/// What has to move for `target` to depend on `source`, which stands behind it; in no order. Nodes
/// outside of `ranks` are where they should be.
///
/// # Errors
/// The way from `target` to `source` along dependents, both included, if there is one.
pub fn moving_for<O: Ordered>(
    nodes: &O,
    source: u32,
    target: u32,
    ranks: RangeInclusive<O::Rank>,
    marks: &mut Marks,
) -> Result<Moving, Vec<u32>> {
    if source == target {
        return Err(vec![source]);
    }
    // What stands last is nearest to the source, what stands first to the target.
    let mut behind = Search::new(1, |rank: O::Rank| rank);
    let mut before = Search::new(2, Reverse);
    behind.add(marks, target, 0, *ranks.start());
    before.add(marks, source, 0, *ranks.end());
    let moving = loop {
        // Nearly all the time goes into waiting for nodes that lie anywhere in memory. So both
        // searches ask for theirs before either looks at what came.
        let later = behind.next(|node| nodes.leads_to(node), |node| nodes.stands_at(node));
        let earlier = before.next(|node| nodes.depends_on(node), |node| nodes.stands_at(node));
        let Some(later) = later else { break Ok(Moving::Behind(behind.nodes())) };
        if let Some((from, met)) = behind.find(marks, later, &ranks) {
            break Err((from, before.entry_of(met)));
        }
        let Some(earlier) = earlier else { break Ok(Moving::Before(before.nodes())) };
        if let Some((from, met)) = before.find(marks, earlier, &ranks) {
            break Err((behind.entry_of(met), from));
        }
    };
    marks.clear(&behind.found);
    marks.clear(&before.found);
    moving.map_err(|(a, b)| {
        let mut way = behind.way_from(a);
        way.reverse();
        way.extend(before.way_from(b));
        way
    })
}

/// A node that was found, and which entry it was found from.
#[derive(Clone, Copy, Debug)]
struct Found {
    node: u32,
    from: u32,
}

/// A search over nodes, one node at a step.
struct Search<N, K> {
    mark: u64,
    /// Higher for what is to be looked at first.
    nearness: N,
    found: Vec<Found>,
    /// Entries from which it did not go on yet, by how near they are.
    open: BinaryHeap<(K, u32)>,
}

/// Nodes that a search comes to from one entry, with their ranks.
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

    /// Where the nearest node leads, if there is one left.
    fn next<R, I: Iterator<Item = u32>>(
        &mut self,
        linked: impl Fn(u32) -> I,
        rank: impl Fn(u32) -> R,
    ) -> Option<Next<R>> {
        let (_, from) = self.open.pop()?;
        let nodes = linked(self.found[from as usize].node).map(|node| (node, rank(node)));
        Some(Next { from, nodes: nodes.collect() })
    }

    /// Goes on to nodes with these ranks; if the other search found one of them, stops and gives the
    /// entry from which it came to that node.
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

    /// The entry of a node that was found.
    fn entry_of(&self, node: u32) -> u32 {
        let at = self.found.iter().position(|found| found.node == node);
        at.expect("what is marked was found") as u32
    }

    /// The way from an entry back to where the search began.
    fn way_from(&self, mut entry: u32) -> Vec<u32> {
        let mut way = Vec::new();
        loop {
            let found = self.found[entry as usize];
            way.push(found.node);
            if entry == 0 {
                return way;
            }
            entry = found.from;
        }
    }
}
