//! The topological order of a body's nodes, maintained while links are added and removed.
//!
//! Each node has a rank higher than those of its dependencies. A new link between nodes with
//! correct ranks is free; otherwise some nodes move, see [`order_search`].
//!
//! [`order_search`]: millstream_base::order_search

use std::ops::{Index, IndexMut};

use millstream_base::order_search::{Marks, Moving, Ordered, nodes_to_move};
use millstream_base::pages::room_in_huge_pages;
use smallvec::SmallVec;

/// The rank of a node: a bucket that several nodes share, and a position within it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    place: u32,
    within: i64,
}

impl Rank {
    /// A number with the same order as ranks.
    fn number(self) -> u128 {
        // Flipping the sign bit sorts negative numbers before the others.
        let within = self.within as u64 ^ 1 << 63;
        u128::from(self.place) << 64 | u128::from(within)
    }
}

/// The nodes of a body by slot, with their dependencies, dependents and ranks. All ranks differ.
#[derive(Debug, Default)]
pub(super) struct Order {
    nodes: Blocks,
    /// Positions above and below all positions in use.
    above: i64,
    below: i64,
    marks: Marks,
}

/// The data of one node, in one cache line, because a search that reads its rank soon expands it.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Place {
    rank: Rank,
    /// One entry per link, as in `dependents`.
    sources: SmallVec<[u32; 4]>,
    dependents: SmallVec<[u32; 4]>,
}

/// The nodes, in blocks of doubling length. Growing never moves nodes, and large blocks use huge
/// pages, because a search accesses them at random.
#[derive(Debug, Default)]
struct Blocks(Vec<Vec<Place>>);

/// Number of nodes in the first block.
const FIRST: usize = 64;

impl Blocks {
    /// The block of a slot, and the position in it.
    #[inline]
    fn index_of(slot: u32) -> (usize, usize) {
        let block = (slot as usize / FIRST + 1).ilog2();
        (block as usize, slot as usize - FIRST * ((1 << block) - 1))
    }

    /// Makes room for a slot.
    fn grow(&mut self, slot: u32) {
        while self.0.len() <= Self::index_of(slot).0 {
            let n = FIRST << self.0.len();
            let mut block = room_in_huge_pages(n);
            block.resize_with(n, Place::default);
            self.0.push(block);
        }
    }

    fn get(&self, slot: u32) -> Option<&Place> {
        let (block, at) = Self::index_of(slot);
        self.0.get(block).map(|block| &block[at])
    }
}

impl Index<u32> for Blocks {
    type Output = Place;

    #[inline]
    fn index(&self, slot: u32) -> &Place {
        let (block, at) = Self::index_of(slot);
        &self.0[block][at]
    }
}

impl IndexMut<u32> for Blocks {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Place {
        let (block, at) = Self::index_of(slot);
        &mut self.0[block][at]
    }
}

impl Order {
    /// The slots of the nodes that a node depends on.
    pub(super) fn sources(&self, slot: u32) -> &[u32] {
        self.nodes.get(slot).map_or(&[], |node| &node.sources)
    }

    /// The slots of the nodes that depend on a node.
    pub(super) fn dependents(&self, slot: u32) -> &[u32] {
        self.nodes.get(slot).map_or(&[], |node| &node.dependents)
    }

    /// The rank of the node in a slot.
    pub(super) fn rank(&self, slot: u32) -> Rank {
        self.nodes[slot].rank
    }

    /// Sets the dependencies of a node without changing ranks.
    pub(super) fn set_sources(&mut self, slot: u32, sources: &[u32]) {
        self.nodes.grow(sources.iter().copied().fold(slot, u32::max));
        let old = std::mem::replace(&mut self.nodes[slot].sources, sources.into());
        for source in old {
            let dependents = &mut self.nodes[source].dependents;
            // The last link is most often the first to be removed.
            if let Some(at) = dependents.iter().rposition(|known| *known == slot) {
                dependents.swap_remove(at);
            }
        }
        for source in sources {
            self.nodes[*source].dependents.push(slot);
        }
    }

    /// Removes all links of a node.
    pub(super) fn remove(&mut self, slot: u32) {
        self.set_sources(slot, &[]);
        for dependent in std::mem::take(&mut self.nodes[slot].dependents) {
            self.nodes[dependent].sources.retain(|source| *source != slot);
        }
    }

    /// Assigns new ranks to all nodes, in this order.
    pub(super) fn rank_all(&mut self, order: &[u32]) {
        for (place, slot) in (1..).zip(order) {
            self.nodes[*slot].rank = Rank { place, within: 0 };
        }
        (self.above, self.below) = (1, -1);
    }

    /// Adds a node with a rank right after its dependencies.
    pub(super) fn add(&mut self, slot: u32, sources: &[u32]) {
        self.nodes.grow(slot);
        let place = sources.iter().map(|slot| self.rank(*slot).place).max();
        self.nodes[slot].rank = Rank { place: place.unwrap_or(0), within: self.above };
        self.above += 1;
    }

    /// Moves `target` and its dependents after `source`.
    ///
    /// # Errors
    /// If that would close a cycle: the path from `target` to `source` along dependents.
    pub(super) fn put_after(&mut self, source: u32, target: u32) -> Result<(), Vec<u32>> {
        if source == target {
            return Err(vec![source]);
        }
        if self.rank(source) < self.rank(target) {
            return Ok(());
        }
        let (low, high) = (self.rank(target).place, self.rank(source).place);
        let first = Rank { place: low, within: i64::MIN }.number();
        let last = Rank { place: high, within: i64::MAX }.number();
        let mut marks = std::mem::take(&mut self.marks);
        let moving = nodes_to_move(self, source, target, first..=last, &mut marks);
        self.marks = marks;
        match moving? {
            Moving::After(nodes) => self.move_after(nodes, high),
            Moving::Before(nodes) => self.move_before(nodes, low),
        }
        Ok(())
    }

    /// Gives nodes the highest ranks of a place, in their current order.
    fn move_after(&mut self, mut slots: Vec<u32>, place: u32) {
        slots.sort_unstable_by_key(|slot| self.rank(*slot));
        for slot in slots {
            self.nodes[slot].rank = Rank { place, within: self.above };
            self.above += 1;
        }
    }

    /// Gives nodes the lowest ranks of a place, in their current order.
    fn move_before(&mut self, mut slots: Vec<u32>, place: u32) {
        slots.sort_unstable_by_key(|slot| self.rank(*slot));
        for slot in slots.into_iter().rev() {
            self.nodes[slot].rank = Rank { place, within: self.below };
            self.below -= 1;
        }
    }
}

impl Ordered for Order {
    type Rank = u128;

    #[inline]
    fn rank_of(&self, node: u32) -> u128 {
        self.nodes[node].rank.number()
    }

    #[inline]
    fn dependents_of(&self, node: u32) -> impl Iterator<Item = u32> {
        self.nodes[node].dependents.iter().copied()
    }

    #[inline]
    fn dependencies_of(&self, node: u32) -> impl Iterator<Item = u32> {
        self.nodes[node].sources.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether a path leads from `from` to `to` along links (source, target).
    fn reaches(links: &[(u32, u32)], from: u32, to: u32) -> bool {
        let mut seen = vec![from];
        let mut at = 0;
        while let Some(node) = seen.get(at).copied() {
            at += 1;
            let next =
                links.iter().filter(|(source, _)| *source == node).map(|(_, target)| *target);
            let next: Vec<u32> = next.filter(|node| !seen.contains(node)).collect();
            seen.extend(next);
        }
        seen.contains(&to)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn ranks_rise_along_links_and_cycles_are_refused(
            wanted in prop::collection::vec((0..12_u32, 0..14_u32), 0..60),
        ) {
            let mut order = Order::default();
            (0..14).for_each(|node| order.add(node, &[]));
            order.rank_all(&(0..14).collect::<Vec<u32>>());
            let mut links: Vec<(u32, u32)> = Vec::new();
            for (source, target) in wanted {
                if target >= 12 {
                    // A node is removed and added again.
                    links.retain(|(a, b)| *a != source && *b != source);
                    order.remove(source);
                    order.add(source, &[]);
                    continue;
                }
                let into = |node: u32| {
                    let of_it = links.iter().filter(move |(_, to)| *to == node);
                    of_it.map(|(from, _)| *from).collect::<Vec<u32>>()
                };
                (0..12).for_each(|node| order.set_sources(node, &into(node)));
                match order.put_after(source, target) {
                    Ok(()) => {
                        prop_assert!(!reaches(&links, target, source));
                        links.push((source, target));
                    }
                    Err(path) => {
                        prop_assert_eq!((path.first(), path.last()), (Some(&target), Some(&source)));
                        prop_assert!(path.windows(2).all(|step| links.contains(&(step[0], step[1]))));
                    }
                }
                prop_assert!(links.iter().all(|(a, b)| order.rank(*a) < order.rank(*b)));
            }
        }
    }
}
