//! What has to move where a new link goes against an order in which each node stands behind what it
//! depends on.
//!
//! Two searches go in step: from the target along dependents, as far as they do not stand behind the
//! source, and from the source along what it depends on, as far as that does not stand before the
//! target. The first to end decides: its nodes move. So a link costs twice the smaller of both
//! regions, as two-way searches in the maintenance of topological orders do. A link that would close
//! a circle is found where the searches meet, which is soon, because each goes on from the node that
//! stands nearest to where the other began.

use std::collections::BinaryHeap;
use std::ops::RangeInclusive;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Nodes in an order.
pub trait Ordered {
    /// Where a node stands: higher than all that it depends on, and no other node stands there.
    fn stands_at(&self, node: u32) -> u128;

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

/// What has to move for `target` to depend on `source`, which stands behind it; in no order. Nodes
/// outside of `ranks` are where they should be.
///
/// # Errors
/// The way from `target` to `source` along dependents, both included, if there is one.
pub fn moving_for(
    nodes: &impl Ordered,
    source: u32,
    target: u32,
    ranks: RangeInclusive<u128>,
) -> Result<Moving, Vec<u32>> {
    if source == target {
        return Err(vec![source]);
    }
    let mut found = Found::default();
    // What stands last is nearest to the source, what stands first to the target.
    let mut behind = Search::new(true, |rank| rank);
    let mut before = Search::new(false, |rank: u128| !rank);
    behind.add(&mut found, target, target, 0);
    before.add(&mut found, source, source, 0);
    loop {
        // Nearly all the time goes into waiting for nodes that lie anywhere in memory. So both
        // searches ask for theirs before either looks at what came.
        let later = behind.next(|node| nodes.leads_to(node), |node| nodes.stands_at(node));
        let earlier = before.next(|node| nodes.depends_on(node), |node| nodes.stands_at(node));
        let Some(later) = later else { return Ok(Moving::Behind(behind.found)) };
        behind.find(&mut found, later, &ranks)?;
        let Some(earlier) = earlier else { return Ok(Moving::Before(before.found)) };
        before.find(&mut found, earlier, &ranks)?;
    }
}

/// From where each node was found, and whether by the search along dependents.
#[derive(Default)]
struct Found(FxHashMap<u32, (u32, bool)>);

impl Found {
    /// The way from a node back to where the search that found it began.
    fn way_from(&self, mut node: u32) -> Vec<u32> {
        let mut way = vec![node];
        while self.0[&node].0 != node {
            node = self.0[&node].0;
            way.push(node);
        }
        way
    }

    /// The way from the target to the source over a link from what one search found to what the
    /// other did.
    fn way_over(&self, behind: u32, before: u32) -> Vec<u32> {
        let mut way = self.way_from(behind);
        way.reverse();
        way.extend(self.way_from(before));
        way
    }
}

/// A search over nodes, one node at a step.
struct Search<N> {
    is_behind: bool,
    /// Higher for what is to be looked at first.
    nearness: N,
    found: Vec<u32>,
    /// Those from which it did not go on yet, by how near they are.
    open: BinaryHeap<(u128, u32)>,
}

/// Nodes that a search comes to from one node, with their ranks.
struct Next {
    from: u32,
    nodes: SmallVec<[(u32, u128); 8]>,
}

impl<N: Fn(u128) -> u128> Search<N> {
    fn new(is_behind: bool, nearness: N) -> Self {
        Self { is_behind, nearness, found: Vec::new(), open: BinaryHeap::new() }
    }

    fn add(&mut self, found: &mut Found, node: u32, from: u32, rank: u128) {
        found.0.insert(node, (from, self.is_behind));
        self.found.push(node);
        self.open.push(((self.nearness)(rank), node));
    }

    /// Where the nearest node leads, if there is one left.
    fn next<I: Iterator<Item = u32>>(
        &mut self,
        linked: impl Fn(u32) -> I,
        rank: impl Fn(u32) -> u128,
    ) -> Option<Next> {
        let (_, from) = self.open.pop()?;
        Some(Next { from, nodes: linked(from).map(|node| (node, rank(node))).collect() })
    }

    /// Goes on to nodes with these ranks.
    ///
    /// # Errors
    /// The way from the target to the source, if the other search found one of them.
    fn find(
        &mut self,
        found: &mut Found,
        next: Next,
        ranks: &RangeInclusive<u128>,
    ) -> Result<(), Vec<u32>> {
        for (node, rank) in next.nodes {
            if !ranks.contains(&rank) {
                continue;
            }
            match found.0.get(&node) {
                None => self.add(found, node, next.from, rank),
                Some((_, is_behind)) if *is_behind == self.is_behind => {}
                Some(_) if self.is_behind => return Err(found.way_over(next.from, node)),
                Some(_) => return Err(found.way_over(node, next.from)),
            }
        }
        Ok(())
    }
}
