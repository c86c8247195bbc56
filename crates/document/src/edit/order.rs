//! Keeps the nodes of a body in order while links come and go.
//!
//! Each node has a rank higher than those of all it depends on. A new link between nodes whose
//! ranks are right costs nothing. Otherwise two searches go in step: from the target along
//! dependents, as far as they do not stand behind the source, and from the source along what it
//! depends on, as far as that does not stand before the target. The first to end decides: its nodes
//! move right behind the source, or right before the target. So a link costs twice the smaller of
//! both regions. A link that would close a circle is found where the searches meet, which is soon,
//! because each goes on from the node that stands nearest to where the other began.

use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Where a node stands: a place, which nodes share, and an order within it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    place: u64,
    within: i64,
}

/// The nodes of a body by slot: what each depends on, what depends on it, and its rank. No two ranks
/// are the same.
#[derive(Debug, Default)]
pub(super) struct Order {
    nodes: Vec<Ordered>,
    /// Higher than all orders within places, and lower.
    above: i64,
    below: i64,
}

/// What is known of one node. A search that looks at its rank goes on from it soon: so all of it
/// lies together.
#[derive(Debug, Default)]
struct Ordered {
    rank: Rank,
    /// A node that is read twice comes twice, in both.
    sources: SmallVec<[u32; 4]>,
    dependents: SmallVec<[u32; 4]>,
}

impl Order {
    /// The slots of the nodes that a node depends on.
    pub(super) fn sources(&self, slot: u32) -> &[u32] {
        self.nodes.get(slot as usize).map_or(&[], |node| &node.sources)
    }

    /// The slots of the nodes that depend on a node.
    pub(super) fn dependents(&self, slot: u32) -> &[u32] {
        self.nodes.get(slot as usize).map_or(&[], |node| &node.dependents)
    }

    /// Where the node in a slot stands.
    pub(super) fn rank(&self, slot: u32) -> Rank {
        self.nodes[slot as usize].rank
    }

    /// A node depends on these now. The ranks are as before.
    pub(super) fn set_sources(&mut self, slot: u32, sources: &[u32]) {
        let n = sources.iter().chain([&slot]).copied().max().unwrap_or(slot) as usize + 1;
        if n > self.nodes.len() {
            self.nodes.resize_with(n, Ordered::default);
        }
        let old = std::mem::replace(&mut self.nodes[slot as usize].sources, sources.into());
        for source in old {
            let dependents = &mut self.nodes[source as usize].dependents;
            // What was linked last is most often unlinked first.
            if let Some(at) = dependents.iter().rposition(|known| *known == slot) {
                dependents.swap_remove(at);
            }
        }
        for source in sources {
            self.nodes[*source as usize].dependents.push(slot);
        }
    }

    /// A node went: it depends on nothing, and nothing on it.
    pub(super) fn remove(&mut self, slot: u32) {
        self.set_sources(slot, &[]);
        for dependent in std::mem::take(&mut self.nodes[slot as usize].dependents) {
            self.nodes[dependent as usize].sources.retain(|source| *source != slot);
        }
    }

    /// Ranks the nodes anew, all of them, in this order.
    pub(super) fn rank_all(&mut self, order: &[u32]) {
        for (place, slot) in (1..).zip(order) {
            self.nodes[*slot as usize].rank = Rank { place, within: 0 };
        }
        (self.above, self.below) = (1, -1);
    }

    /// Ranks a new node right behind what it depends on.
    pub(super) fn add(&mut self, slot: u32, sources: &[u32]) {
        let n = self.nodes.len().max(slot as usize + 1);
        self.nodes.resize_with(n, Ordered::default);
        let place = sources.iter().map(|slot| self.rank(*slot).place).max();
        let rank = Rank { place: place.unwrap_or(0), within: self.above };
        self.nodes[slot as usize].rank = rank;
        self.above += 1;
    }

    /// Puts `target` and what depends on it behind `source`.
    ///
    /// # Errors
    /// The way from `target` to `source` along dependents, both included, if there is one.
    pub(super) fn put_behind(&mut self, source: u32, target: u32) -> Result<(), Vec<u32>> {
        if source == target {
            return Err(vec![source]);
        }
        let rank = |slot: u32| self.rank(slot);
        if rank(source) < rank(target) {
            return Ok(());
        }
        let (low, high) = (rank(target).place, rank(source).place);
        let mut behind = Search::new(target);
        let mut before = Search::new(source);
        // What stands last is nearest to the source, what stands first to the target.
        let late = |slot: u32| (rank(slot).place, rank(slot).within);
        let early = |slot: u32| (!rank(slot).place, !rank(slot).within);
        let is_near = |slot: u32| (low..=high).contains(&rank(slot).place);
        loop {
            match behind.step(&before, |slot| self.dependents(slot), late, is_near) {
                Step::On => {}
                Step::Met(at) => return Err(circle(&behind, &before, at)),
                Step::Over => {
                    self.move_behind(behind.found, high);
                    return Ok(());
                }
            }
            match before.step(&behind, |slot| self.sources(slot), early, is_near) {
                Step::On => {}
                Step::Met(at) => return Err(circle(&behind, &before, at)),
                Step::Over => {
                    self.move_before(before.found, low);
                    return Ok(());
                }
            }
        }
    }

    /// Gives nodes the highest ranks of a place, in the order they have.
    fn move_behind(&mut self, mut slots: Vec<u32>, place: u64) {
        slots.sort_unstable_by_key(|slot| self.rank(*slot));
        for slot in slots {
            self.nodes[slot as usize].rank = Rank { place, within: self.above };
            self.above += 1;
        }
    }

    /// Gives nodes the lowest ranks of a place, in the order they have.
    fn move_before(&mut self, mut slots: Vec<u32>, place: u64) {
        slots.sort_unstable_by_key(|slot| self.rank(*slot));
        for slot in slots.into_iter().rev() {
            self.nodes[slot as usize].rank = Rank { place, within: self.below };
            self.below -= 1;
        }
    }
}

/// The way from where `behind` began, over a node that both found, to where `before` began.
fn circle(behind: &Search, before: &Search, at: u32) -> Vec<u32> {
    let mut way = behind.way_to(at);
    way.extend(before.way_to(at).into_iter().rev().skip(1));
    way
}

/// A search over nodes, one node at a step.
struct Search {
    found: Vec<u32>,
    /// From where each was found.
    from: FxHashMap<u32, u32>,
    /// Those from which it did not go on yet, with how near they are.
    open: BinaryHeap<((u64, i64), u32)>,
}

/// What came of a step.
enum Step {
    /// There is more to search.
    On,
    /// This node was found from both sides.
    Met(u32),
    /// Nothing is left.
    Over,
}

impl Search {
    fn new(start: u32) -> Self {
        let open = BinaryHeap::from([((0, 0), start)]);
        Self { found: vec![start], from: FxHashMap::from_iter([(start, start)]), open }
    }

    /// Goes on from the nearest node.
    fn step<'n>(
        &mut self,
        other: &Self,
        next: impl Fn(u32) -> &'n [u32],
        nearness: impl Fn(u32) -> (u64, i64),
        is_near: impl Fn(u32) -> bool,
    ) -> Step {
        let Some((_, node)) = self.open.pop() else { return Step::Over };
        for &next in next(node) {
            if is_near(next) && !self.from.contains_key(&next) {
                self.from.insert(next, node);
                if other.from.contains_key(&next) {
                    return Step::Met(next);
                }
                self.found.push(next);
                self.open.push((nearness(next), next));
            }
        }
        Step::On
    }

    /// The way from the start to a node that was found.
    fn way_to(&self, goal: u32) -> Vec<u32> {
        let mut way = vec![goal];
        let mut node = goal;
        while self.from[&node] != node {
            node = self.from[&node];
            way.push(node);
        }
        way.reverse();
        way
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether `to` can be reached from `from` along links (source, target).
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
        fn ranks_rise_along_links_and_circles_are_refused(
            wanted in prop::collection::vec((0..12_u32, 0..14_u32), 0..60),
        ) {
            let mut order = Order::default();
            (0..14).for_each(|node| order.add(node, &[]));
            order.rank_all(&(0..14).collect::<Vec<u32>>());
            let mut links: Vec<(u32, u32)> = Vec::new();
            for (source, target) in wanted {
                if target >= 12 {
                    // A node that comes again.
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
                match order.put_behind(source, target) {
                    Ok(()) => {
                        prop_assert!(!reaches(&links, target, source));
                        links.push((source, target));
                    }
                    Err(way) => {
                        prop_assert_eq!((way.first(), way.last()), (Some(&target), Some(&source)));
                        prop_assert!(way.windows(2).all(|step| links.contains(&(step[0], step[1]))));
                    }
                }
                prop_assert!(links.iter().all(|(a, b)| order.rank(*a) < order.rank(*b)));
            }
        }
    }
}
