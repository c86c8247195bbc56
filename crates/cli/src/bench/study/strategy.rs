//! The interface that strategies share.

use super::graph::{Graph, Id};

/// New values of sources, set together.
pub(super) type Change = Vec<(Id, f64)>;

/// The successive changes before a read.
pub(super) type Reading = Vec<Change>;

/// A way to keep the output of a graph up to date.
pub(super) trait Strategy {
    fn name(&self) -> String;

    /// Converts changes into the form that the strategy takes; untimed.
    fn prepare(&mut self, _changes: &[Change], _counts: bool) {}

    /// Applies the changes and returns the output.
    fn read(&mut self, changes: &[Change]) -> Result<f64, NoRead>;

    /// The node runs in the counted reads; `None` if the strategy does not count.
    fn runs(&self) -> Option<u64>;

    /// How often the output had a value that belongs to no state of the sources.
    fn glitches(&self) -> u64 {
        0
    }
}

/// The reason why a strategy has no output.
#[derive(Debug)]
pub(super) enum NoRead {
    /// More nodes ran than [`MAX_RUNS`], so it would take too long.
    TooManyRuns,
    /// The engine refused the request.
    Refused(String),
}

/// The maximum number of node runs between two reads.
pub(super) const MAX_RUNS: u64 = 30_000_000;

/// The values of a graph, with a count of node runs.
pub(super) struct Values {
    pub(super) graph: Graph,
    pub(super) all: Vec<f64>,
    pub(super) runs: u64,
    /// The run count at which to give up.
    end: u64,
}

impl Values {
    /// The values of sources before any node has run.
    pub(super) fn of(graph: &Graph) -> Self {
        let all = graph.initial().to_vec();
        Self { graph: graph.clone(), all, runs: 0, end: MAX_RUNS }
    }

    /// The values after every node has run once.
    pub(super) fn settled(graph: &Graph) -> Self {
        let mut values = Self::of(graph);
        for id in graph.ids() {
            values.all[id as usize] = graph.compute(id, &values.all);
        }
        values
    }

    pub(super) fn start_reading(&mut self) {
        self.end = self.runs + MAX_RUNS;
    }

    pub(super) fn output(&self) -> f64 {
        self.all[self.graph.output() as usize]
    }

    pub(super) fn set(&mut self, source: Id, value: f64) -> bool {
        let old = std::mem::replace(&mut self.all[source as usize], value);
        old.to_bits() != value.to_bits()
    }

    /// Runs a node, and returns whether its value changed.
    pub(super) fn run(&mut self, id: Id) -> Result<bool, NoRead> {
        if self.runs == self.end {
            return Err(NoRead::TooManyRuns);
        }
        self.runs += 1;
        let value = self.graph.compute(id, &self.all);
        Ok(self.set(id, value))
    }

    /// The input that a node needs next: for a switch the selector, and once it has a value, the
    /// arm it takes.
    pub(super) fn needed(&self, id: Id, position: usize) -> Option<Id> {
        let inputs = self.graph.inputs(id);
        match (inputs.len(), position) {
            (3, 1) => Some(self.graph.taken(id, &self.all)),
            (3, 2) => None,
            _ => inputs.get(position).copied(),
        }
    }
}
