//! Strategies that run a list of nodes in topological order; only the list is kept between reads.

use super::graph::{Graph, Id, Op};
use super::strategy::{Change, NoRead, Strategy, Values};

/// The treatment of arms that are not taken. Selectors are sources here, so they are known before
/// the list runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Arms {
    /// All arms run.
    Run,
    /// Each node has a guard: whether a node that runs reads it.
    Guarded,
    /// The list holds only the taken arms, and is rebuilt when a switch flips.
    Rewritten,
}

/// A flat list.
pub(super) struct List {
    values: Values,
    arms: Arms,
    list: Vec<Id>,
    /// Whether each node is needed, for guards.
    needed: Vec<bool>,
    is_stale: bool,
    /// Whether the list is rebuilt for each read, as after an edit.
    pub(super) is_made_each_time: bool,
}

impl List {
    pub(super) fn new(graph: &Graph, arms: Arms) -> Self {
        Self {
            values: Values::of(graph),
            arms,
            list: Vec::new(),
            needed: vec![false; graph.len()],
            is_stale: true,
            is_made_each_time: false,
        }
    }

    /// Builds the list by a depth-first walk from the output, so that it holds only reachable
    /// nodes.
    fn make(&mut self) {
        let Self { values, list, needed, .. } = self;
        list.clear();
        needed.fill(false);
        let inputs = |id: Id, position: usize| match self.arms {
            Arms::Run | Arms::Guarded => values.graph.inputs(id).get(position).copied(),
            Arms::Rewritten => values.needed(id, position),
        };
        let mut stack = vec![(values.graph.output(), 0)];
        while let Some((id, position)) = stack.last_mut() {
            if let Some(input) = inputs(*id, *position) {
                *position += 1;
                if !values.graph.is_source(input) && !needed[input as usize] {
                    needed[input as usize] = true;
                    stack.push((input, 0));
                }
                continue;
            }
            list.push(*id);
            stack.pop();
        }
    }
}

impl Strategy for List {
    fn name(&self) -> String {
        let name = match self.arms {
            Arms::Run => "list, no guards",
            Arms::Guarded => "list with guards",
            Arms::Rewritten => "list, rewritten",
        };
        if self.is_made_each_time { format!("{name}, rebuilt each time") } else { name.into() }
    }

    fn read(&mut self, changes: &[Change]) -> Result<f64, NoRead> {
        self.values.start_reading();
        for (source, value) in changes.iter().flatten() {
            let is_changed = self.values.set(*source, *value);
            let is_flip = is_changed && self.values.graph.op(*source) == Op::Selector;
            self.is_stale |= is_flip && self.arms == Arms::Rewritten;
        }
        if self.is_stale || self.is_made_each_time {
            self.make();
            self.is_stale = false;
        }
        let Self { values, list, needed, .. } = self;
        if self.arms == Arms::Guarded {
            needed.fill(false);
            needed[values.graph.output() as usize] = true;
            for id in list.iter().rev() {
                if needed[*id as usize] {
                    let mut position = 0;
                    while let Some(input) = values.needed(*id, position) {
                        needed[input as usize] = true;
                        position += 1;
                    }
                }
            }
        }
        for id in list.iter() {
            if self.arms != Arms::Guarded || needed[*id as usize] {
                values.run(*id)?;
            }
        }
        Ok(values.output())
    }

    fn runs(&self) -> Option<u64> {
        Some(self.values.runs)
    }
}
