//! Topological order and cycles, without recursion.

use std::sync::Arc;

/// A topological order, and the cycles that prevent one.
pub(crate) struct Order {
    /// All things, each after those that it depends on, except around cycles.
    pub(crate) order: Vec<u32>,
    /// Cycles, each thing in at most one; each thing depends on the next, and the last on the
    /// first.
    pub(crate) cycles: Vec<Vec<u32>>,
}

/// Nodes that depend on each other, and the cases in which they do not.
#[derive(Clone, Debug)]
pub(crate) struct Conditional {
    /// The positions of the nodes in their body.
    pub(crate) nodes: Vec<u32>,
    /// The blocks in the order of evaluation: each comes after the blocks that it depends on.
    pub(crate) blocks: Vec<Block>,
    /// The conditions that formulas compute and that select cases.
    pub(crate) conditions: Vec<Condition>,
}

/// A condition that a formula computes from sources outside of the cycle.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// The node of the formula.
    pub(crate) node: u32,
    /// Its part of the text.
    pub(crate) text: Arc<str>,
}

/// Where a selector is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SelectorAt {
    /// A node, and the number of the input.
    Input { node: u32, input: u32 },
    /// The number of a condition.
    Condition(u32),
}

/// A part of the nodes of a conditional cycle.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// Nodes that have an order.
    Plain(Plain),
    /// Nodes that have an order once a selector is known.
    Split {
        /// The nodes.
        nodes: Vec<u32>,
        /// The selector.
        selector: SelectorAt,
        /// The type of a switch with this many arms.
        ty: Arc<str>,
        /// The blocks of the nodes, by arm; none for arms that are never selected.
        arms: Vec<Vec<Block>>,
    },
}

/// Nodes that have an order.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    /// The nodes, in an order like that of `FineOrder`.
    pub(crate) order: Vec<u32>,
    /// The switches with a known selector, and the arm that each takes.
    pub(crate) taken: Vec<(u32, u32)>,
    /// The inputs of formulas that are not read: the node and the number of the input.
    pub(crate) unread: Vec<(u32, u32)>,
    /// Inputs that select the arm of switches in a group: the node that uses the group, the number
    /// of the input, and the arm.
    pub(crate) groups: Vec<(u32, u32, u32)>,
}

impl Conditional {
    /// The nodes as they are computed, each in as many places as there are cases that differ in it.
    pub(crate) fn places(&self) -> Vec<u32> {
        fn add(blocks: &[Block], places: &mut Vec<u32>) {
            for block in blocks {
                match block {
                    Block::Plain(plain) => places.extend(&plain.order),
                    Block::Split { arms, .. } => arms.iter().for_each(|arm| add(arm, places)),
                }
            }
        }
        let mut places = Vec::new();
        add(&self.blocks, &mut places);
        places
    }
}

/// Nodes, each of which depends on the next one.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    pub(crate) nodes: Vec<u32>,
    /// The case in which the cycle exists, or why switches do not break it, as a clause after "the
    /// nodes form a cycle".
    pub(crate) why: String,
    /// The next step for the author, if switches nearly break it.
    pub(crate) hint: Option<&'static str>,
}

const NEW: u8 = 0;
const OPEN: u8 = 1;
const DONE: u8 = 2;

/// Sorts `0..n`. A thing has `count` slots, each of which may depend on another thing, as
/// `dependency` returns.
pub(crate) fn sorted(
    n: usize,
    count: impl Fn(u32) -> u32,
    dependency: impl Fn(u32, u32) -> Option<u32>,
) -> Order {
    // Most documents list each node after those that it depends on.
    let ascends = |thing: u32| (0..count(thing)).all(|k| dependency(thing, k) < Some(thing));
    if (0..n as u32).all(ascends) {
        return Order { order: (0..n as u32).collect(), cycles: Vec::new() };
    }
    let mut state = vec![NEW; n];
    let mut in_cycle: Vec<bool> = Vec::new();
    let mut found = Order { order: Vec::with_capacity(n), cycles: Vec::new() };
    let mut stack: Vec<(u32, u32)> = Vec::new();
    for root in 0..n as u32 {
        if state[root as usize] != NEW {
            continue;
        }
        state[root as usize] = OPEN;
        stack.push((root, 0));
        while let Some((thing, k)) = stack.last_mut() {
            let (at, place) = (*thing, *k);
            if place == count(at) {
                state[at as usize] = DONE;
                found.order.push(at);
                stack.pop();
                continue;
            }
            *k += 1;
            let Some(on) = dependency(at, place) else { continue };
            match state[on as usize] {
                NEW => {
                    state[on as usize] = OPEN;
                    stack.push((on, 0));
                }
                OPEN => {
                    in_cycle.resize(n, false);
                    // One cycle per thing keeps the report, and the work, linear.
                    if !in_cycle[on as usize] && !in_cycle[at as usize] {
                        found.cycles.push(closed_by(on, &stack, &mut in_cycle));
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// The `n` things of an order with repetitions, each at its last occurrence.
pub(crate) fn last_places(order: &[u32], n: usize) -> Vec<u32> {
    let mut is_placed = vec![false; n];
    let is_last = |thing: &u32| !std::mem::replace(&mut is_placed[*thing as usize], true);
    let mut last: Vec<u32> = order.iter().rev().copied().filter(is_last).collect();
    last.reverse();
    last
}

/// A component number for each thing, shared by things that depend on each other. `order` is that
/// of [`sorted`].
pub(crate) fn components<'d>(order: &[u32], dependencies: impl Fn(u32) -> &'d [u32]) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    // The dependents of each thing, grouped by counting sort.
    let mut first = vec![0_u32; order.len() + 1];
    for thing in order {
        for on in dependencies(*thing) {
            first[*on as usize + 1] += 1;
        }
    }
    for at in 0..order.len() {
        first[at + 1] += first[at];
    }
    let mut next = first.clone();
    let mut dependents = vec![0_u32; first[order.len()] as usize];
    for thing in order {
        for on in dependencies(*thing) {
            dependents[next[*on as usize] as usize] = *thing;
            next[*on as usize] += 1;
        }
    }
    let mut component = vec![NONE; order.len()];
    let mut stack = Vec::new();
    for (number, root) in (0..).zip(order.iter().rev()) {
        if component[*root as usize] != NONE {
            continue;
        }
        component[*root as usize] = number;
        stack.push(*root);
        while let Some(thing) = stack.pop() {
            let (from, to) = (first[thing as usize], first[thing as usize + 1]);
            for dependent in &dependents[from as usize..to as usize] {
                if component[*dependent as usize] == NONE {
                    component[*dependent as usize] = number;
                    stack.push(*dependent);
                }
            }
        }
    }
    component
}

/// The things on the stack from `on` to the top.
fn closed_by(on: u32, stack: &[(u32, u32)], in_cycle: &mut [bool]) -> Vec<u32> {
    let start = stack.iter().rposition(|(thing, _)| *thing == on).unwrap_or(0);
    let cycle: Vec<u32> = stack[start..].iter().map(|(thing, _)| *thing).collect();
    for thing in &cycle {
        in_cycle[*thing as usize] = true;
    }
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort(dependencies: &[&[u32]]) -> Order {
        let count = |thing: u32| dependencies[thing as usize].len() as u32;
        let dependency = |thing: u32, k: u32| Some(dependencies[thing as usize][k as usize]);
        sorted(dependencies.len(), count, dependency)
    }

    #[test]
    fn things_come_after_what_they_depend_on() {
        assert_eq!(sort(&[&[2], &[0], &[]]).order, [2, 0, 1]);
    }

    #[test]
    fn each_cycle_is_reported_once() {
        let order = sort(&[&[1], &[2], &[0, 1], &[3], &[0]]);
        assert_eq!(order.cycles, [vec![0, 1, 2], vec![3]]);
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let n = 1_000_000;
        let has_next = |thing: u32| u32::from((thing as usize) < n - 1);
        let order = sorted(n, has_next, |thing, _| Some(thing + 1));
        assert_eq!(order.order[0] as usize, n - 1);
    }
}
