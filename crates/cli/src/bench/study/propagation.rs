//! Strategies that keep values between reads and propagate changes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::graph::{Graph, Id};
use super::strategy::{Change, NoRead, Strategy, Values};

/// Marks all nodes that depend on the nodes on the stack, and calls `on_marked` for each newly
/// marked one.
fn mark(
    stack: &mut Vec<Id>,
    users: &[Vec<Id>],
    is_marked: &mut [bool],
    mut on_marked: impl FnMut(Id),
) {
    while let Some(id) = stack.pop() {
        for user in &users[id as usize] {
            if !std::mem::replace(&mut is_marked[*user as usize], true) {
                stack.push(*user);
                on_marked(*user);
            }
        }
    }
}

/// Calls `visit` for each marked node that the output needs, inputs first, and unmarks it.
fn for_marked(
    values: &mut Values,
    is_marked: &mut [bool],
    mut visit: impl FnMut(&mut Values, Id) -> Result<(), NoRead>,
) -> Result<(), NoRead> {
    let mut stack = vec![(values.graph.output(), 0)];
    while let Some((id, position)) = stack.last_mut() {
        let at = *id as usize;
        let input = is_marked[at].then(|| values.needed(*id, *position)).flatten();
        if let Some(input) = input {
            *position += 1;
            if is_marked[input as usize] {
                stack.push((input, 0));
            }
            continue;
        }
        let id = *id;
        stack.pop();
        if std::mem::take(&mut is_marked[at]) {
            visit(values, id)?;
        }
    }
    Ok(())
}

/// A change first retracts all dependent values, which are then computed again.
pub(super) struct Retraction {
    values: Values,
    users: Vec<Vec<Id>>,
    is_retracted: Vec<bool>,
    /// Whether values are asserted immediately rather than when read.
    is_eager: bool,
}

impl Retraction {
    pub(super) fn new(graph: &Graph, is_eager: bool) -> Self {
        let is_retracted = vec![false; graph.len()];
        Self { values: Values::settled(graph), users: graph.users(), is_retracted, is_eager }
    }
}

impl Strategy for Retraction {
    fn name(&self) -> String {
        let when = if self.is_eager { "at once" } else { "when read" };
        format!("retract, assert {when}")
    }

    fn read(&mut self, changes: &[Change]) -> Result<f64, NoRead> {
        self.values.start_reading();
        let mut stack = Vec::new();
        let mut retracted = Vec::new();
        for change in changes {
            for (source, value) in change {
                if self.values.set(*source, *value) {
                    stack.push(*source);
                }
            }
            mark(&mut stack, &self.users, &mut self.is_retracted, |id| retracted.push(id));
            if self.is_eager {
                // Ids are a topological order.
                retracted.sort_unstable();
                for id in retracted.drain(..) {
                    self.is_retracted[id as usize] = false;
                    self.values.run(id)?;
                }
            }
        }
        for_marked(&mut self.values, &mut self.is_retracted, |values, id| {
            values.run(id).map(drop)
        })?;
        Ok(self.values.output())
    }

    fn runs(&self) -> Option<u64> {
        Some(self.values.runs)
    }
}

/// The order in which reached nodes run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The readers of a changed node run immediately, and then theirs.
    DepthFirst,
    /// The readers go to the end of the queue.
    BreadthFirst,
    /// As breadth first, but a node already in the queue is not added again.
    BreadthFirstOnce,
    /// The node of lowest rank runs next, so that it runs after all of its inputs.
    Topological,
}

/// The queue of nodes that a change has reached and that have not run yet.
struct Line {
    order: Order,
    line: VecDeque<Id>,
    by_rank: BinaryHeap<Reverse<Id>>,
    /// The nodes that must not be queued again.
    waits: Vec<bool>,
}

impl Line {
    /// Queues the readers of a node.
    fn put(&mut self, readers: &[Id]) {
        match self.order {
            // The last one pushed runs first, so pushing in reverse keeps the order of readers.
            Order::DepthFirst => self.line.extend(readers.iter().rev()),
            Order::BreadthFirst => self.line.extend(readers),
            Order::BreadthFirstOnce => {
                for reader in readers {
                    if !std::mem::replace(&mut self.waits[*reader as usize], true) {
                        self.line.push_back(*reader);
                    }
                }
            }
            // Ids are a topological order.
            Order::Topological => {
                for reader in readers {
                    if !std::mem::replace(&mut self.waits[*reader as usize], true) {
                        self.by_rank.push(Reverse(*reader));
                    }
                }
            }
        }
    }

    fn next(&mut self) -> Option<Id> {
        let id = match self.order {
            Order::DepthFirst => self.line.pop_back(),
            Order::BreadthFirst | Order::BreadthFirstOnce => self.line.pop_front(),
            Order::Topological => self.by_rank.pop().map(|Reverse(id)| id),
        }?;
        self.waits[id as usize] = false;
        Some(id)
    }
}

/// Changes propagate from node to node and stop where a value stays the same.
pub(super) struct Propagation {
    values: Values,
    users: Vec<Vec<Id>>,
    line: Line,
    glitches: u64,
}

impl Propagation {
    pub(super) fn new(graph: &Graph, order: Order) -> Self {
        let waits = vec![false; graph.len()];
        let line = Line { order, line: VecDeque::new(), by_rank: BinaryHeap::new(), waits };
        Self { values: Values::settled(graph), users: graph.users(), line, glitches: 0 }
    }

    /// Propagates the queued changes.
    fn travel(&mut self) -> Result<(), NoRead> {
        let output = self.values.graph.output();
        let before = self.values.output();
        let mut n_outputs = 0_u64;
        while let Some(id) = self.line.next() {
            if self.values.run(id)? {
                n_outputs += u64::from(id == output);
                self.line.put(&self.users[id as usize]);
            }
        }
        let is_changed = before.to_bits() != self.values.output().to_bits();
        self.glitches += n_outputs - u64::from(is_changed);
        Ok(())
    }
}

impl Strategy for Propagation {
    fn name(&self) -> String {
        let name = match self.line.order {
            Order::DepthFirst => "change propagation, depth first",
            Order::BreadthFirst => "change propagation, breadth first",
            Order::BreadthFirstOnce => "breadth first, queued once",
            Order::Topological => "change propagation, by rank",
        };
        name.into()
    }

    fn read(&mut self, changes: &[Change]) -> Result<f64, NoRead> {
        self.values.start_reading();
        for change in changes {
            for (source, value) in change {
                if self.values.set(*source, *value) {
                    self.line.put(&self.users[*source as usize]);
                }
            }
            self.travel()?;
        }
        Ok(self.values.output())
    }

    fn runs(&self) -> Option<u64> {
        Some(self.values.runs)
    }

    fn glitches(&self) -> u64 {
        self.glitches
    }
}

/// Changes mark everything that depends on them as possibly out of date. A read then checks from
/// the output downwards, and a node runs only if an input really changed.
pub(super) struct MarkAndCheck {
    values: Values,
    users: Vec<Vec<Id>>,
    /// Whether something upstream of the node may have changed.
    is_marked: Vec<bool>,
    /// The reading in which the value last changed, and the one in which it was last checked.
    changed: Vec<u32>,
    checked: Vec<u32>,
    reading: u32,
}

impl MarkAndCheck {
    pub(super) fn new(graph: &Graph) -> Self {
        let n = graph.len();
        Self {
            values: Values::settled(graph),
            users: graph.users(),
            is_marked: vec![false; n],
            changed: vec![0; n],
            checked: vec![0; n],
            reading: 0,
        }
    }
}

impl Strategy for MarkAndCheck {
    fn name(&self) -> String {
        "mark, check when read".into()
    }

    fn read(&mut self, changes: &[Change]) -> Result<f64, NoRead> {
        let Self { values, users, is_marked, changed, checked, reading } = self;
        values.start_reading();
        *reading += 1;
        let mut stack = Vec::new();
        for (source, value) in changes.iter().flatten() {
            if values.set(*source, *value) {
                changed[*source as usize] = *reading;
                stack.push(*source);
            }
        }
        mark(&mut stack, users, is_marked, |_| ());
        for_marked(values, is_marked, |values, id| {
            let at = id as usize;
            let mut position = 0;
            let mut must_run = false;
            while let Some(input) = values.needed(id, position) {
                must_run |= changed[input as usize] > checked[at];
                position += 1;
            }
            checked[at] = *reading;
            if must_run && values.run(id)? {
                changed[at] = *reading;
            }
            Ok(())
        })?;
        Ok(values.output())
    }

    fn runs(&self) -> Option<u64> {
        Some(self.values.runs)
    }
}
