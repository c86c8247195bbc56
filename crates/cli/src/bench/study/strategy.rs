//! What strategies have in common.

use super::graph::{Graph, Id};

/// New values of sources, which are set together.
pub(super) type Change = Vec<(Id, f64)>;

/// The changes before a read, one after the other.
pub(super) type Reading = Vec<Change>;

/// A way to keep the output of a graph up to date.
pub(super) trait Strategy {
    fn name(&self) -> String;

    /// Prepares to take over these changes, in the form that it takes them in. Not timed.
    fn prepare(&mut self, _changes: &[Change], _counts: bool) {}

    /// Takes over the changes, and gives the output.
    fn read(&mut self, changes: &[Change]) -> Result<f64, NoRead>;

    /// The nodes that ran in the reads whose runs were counted; `None` if it does not count.
    fn runs(&self) -> Option<u64>;

    /// How often the output had a value that was not that of any state of the sources.
    fn glitches(&self) -> u64 {
        0
    }
}

/// Why a strategy gives no output.
#[derive(Debug)]
pub(super) enum NoRead {
    /// It would take too long: more nodes ran than [`MOST_RUNS`].
    TooManyRuns,
    /// The engine refused.
    Refused(String),
}

/// The most runs of nodes from one read to the next.
pub(super) const MOST_RUNS: u64 = 30_000_000;

/// The values of a graph, and the nodes that ran.
pub(super) struct Values {
    pub(super) graph: Graph,
    pub(super) all: Vec<f64>,
    pub(super) runs: u64,
    /// The number of runs that are too many.
    end: u64,
}

impl Values {
    /// The values of sources; no node has run.
    pub(super) fn of(graph: &Graph) -> Self {
        let all = graph.initial().to_vec();
        Self { graph: graph.clone(), all, runs: 0, end: MOST_RUNS }
    }

    /// The values after each node ran once.
    pub(super) fn settled(graph: &Graph) -> Self {
        let mut values = Self::of(graph);
        for id in graph.ids() {
            values.all[id as usize] = graph.compute(id, &values.all);
        }
        values
    }

    pub(super) fn start_reading(&mut self) {
        self.end = self.runs + MOST_RUNS;
    }

    pub(super) fn output(&self) -> f64 {
        self.all[self.graph.output() as usize]
    }

    pub(super) fn set(&mut self, source: Id, value: f64) -> bool {
        let old = std::mem::replace(&mut self.all[source as usize], value);
        old.to_bits() != value.to_bits()
    }

    /// Runs a node; tells whether its value changed.
    pub(super) fn run(&mut self, id: Id) -> Result<bool, NoRead> {
        if self.runs == self.end {
            return Err(NoRead::TooManyRuns);
        }
        self.runs += 1;
        let value = self.graph.compute(id, &self.all);
        Ok(self.set(id, value))
    }

    /// The inputs of a node that it needs now: of a switch the selector and the arm that is taken.
    /// That of a switch is known when its selector has its value.
    pub(super) fn needed(&self, id: Id, position: usize) -> Option<Id> {
        let inputs = self.graph.inputs(id);
        match (inputs.len(), position) {
            (3, 1) => Some(self.graph.taken(id, &self.all)),
            (3, 2) => None,
            _ => inputs.get(position).copied(),
        }
    }
}
