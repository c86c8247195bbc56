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

/// Where a node stands: a place, which nodes share, and an order within it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    place: u64,
    within: i64,
}

/// The ranks of the nodes of a body, by slot. No two are the same.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    of: Vec<Rank>,
    /// Higher than all orders within places, and lower.
    above: i64,
    below: i64,
}

impl Ranks {
    /// Ranks for nodes in this order, of `n` slots.
    pub(super) fn in_order(n: usize, order: &[u32]) -> Self {
        let mut of = vec![Rank::default(); n];
        for (place, slot) in (1..).zip(order) {
            of[*slot as usize] = Rank { place, within: 0 };
        }
        Self { of, above: 1, below: -1 }
    }

    /// Where the node in a slot stands.
    pub(super) fn get(&self, slot: u32) -> Rank {
        self.of[slot as usize]
    }

    /// Ranks a new node right behind what it depends on.
    pub(super) fn add(&mut self, slot: u32, sources: &[u32]) {
        let n = self.of.len().max(slot as usize + 1);
        self.of.resize(n, Rank::default());
        let place = sources.iter().map(|slot| self.of[*slot as usize].place).max();
        self.of[slot as usize] = Rank { place: place.unwrap_or(0), within: self.above };
        self.above += 1;
    }

    /// Puts `target` and what depends on it behind `source`.
    ///
    /// # Errors
    /// The way from `target` to `source` along dependents, both included, if there is one.
    pub(super) fn put_behind<'n>(
        &mut self,
        source: u32,
        target: u32,
        dependents: impl Fn(u32) -> &'n [u32],
        sources: impl Fn(u32) -> &'n [u32],
    ) -> Result<(), Vec<u32>> {
        if source == target {
            return Err(vec![source]);
        }
        if self.of[source as usize] < self.of[target as usize] {
            return Ok(());
        }
        let low = self.of[target as usize].place;
        let high = self.of[source as usize].place;
        let mut behind = Search::new(target);
        let mut before = Search::new(source);
        let rank = |slot: u32| self.of[slot as usize];
        // What stands last is nearest to the source, what stands first to the target.
        let late = |slot: u32| (rank(slot).place, rank(slot).within);
        let early = |slot: u32| (!rank(slot).place, !rank(slot).within);
        let is_near = |slot: u32| (low..=high).contains(&rank(slot).place);
        loop {
            match behind.step(&before, &dependents, late, is_near) {
                Step::On => {}
                Step::Met(at) => return Err(circle(&behind, &before, at)),
                Step::Over => {
                    self.move_behind(behind.found, high);
                    return Ok(());
                }
            }
            match before.step(&behind, &sources, early, is_near) {
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
        slots.sort_unstable_by_key(|slot| self.of[*slot as usize]);
        for slot in slots {
            self.of[slot as usize] = Rank { place, within: self.above };
            self.above += 1;
        }
    }

    /// Gives nodes the lowest ranks of a place, in the order they have.
    fn move_before(&mut self, mut slots: Vec<u32>, place: u64) {
        slots.sort_unstable_by_key(|slot| self.of[*slot as usize]);
        for slot in slots.into_iter().rev() {
            self.of[slot as usize] = Rank { place, within: self.below };
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
            let mut ranks = Ranks::in_order(12, &(0..12).collect::<Vec<u32>>());
            let mut links: Vec<(u32, u32)> = Vec::new();
            for (source, target) in wanted {
                if target >= 12 {
                    // A node that comes again.
                    links.retain(|(a, b)| *a != source && *b != source);
                    ranks.add(source, &[]);
                    continue;
                }
                let mut near = super::super::index::Near::default();
                for node in 0..14 {
                    let into = links.iter().filter(|(_, to)| *to == node).map(|(from, _)| *from);
                    near.set(node, &into.collect::<Vec<u32>>());
                }
                let of = |node: u32| near.dependents(node);
                match ranks.put_behind(source, target, of, |node| near.sources(node)) {
                    Ok(()) => {
                        prop_assert!(!reaches(&links, target, source));
                        links.push((source, target));
                    }
                    Err(way) => {
                        prop_assert_eq!((way.first(), way.last()), (Some(&target), Some(&source)));
                        prop_assert!(way.windows(2).all(|step| links.contains(&(step[0], step[1]))));
                    }
                }
                prop_assert!(links.iter().all(|(a, b)| ranks.get(*a) < ranks.get(*b)));
            }
        }
    }
}
