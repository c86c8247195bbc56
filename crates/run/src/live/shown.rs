//! Runs of the nodes that read features of the context, for the log. In the graph these are
//! sources, which do not run; so the log compares their values with those at the last evaluation.

use millstream_ir::answer::{Fate, RunReason, SkipReason};
use rustc_hash::FxHashMap;

use super::{LiveGraph, NodeNumber};

/// The bits of features in the last evaluation that demanded them.
#[derive(Debug, Default)]
pub struct Shown(FxHashMap<NodeNumber, u64>);

impl Shown {
    /// The fate of a feature in an evaluation that was not [noted](Self::note) yet.
    pub fn fate(&self, graph: &LiveGraph, feature: NodeNumber, is_demanded: bool) -> Fate {
        match self.0.get(&feature) {
            _ if !is_demanded => Fate::Skipped(SkipReason::NotNeeded),
            None => Fate::Ran(RunReason::First),
            Some(shown) if *shown != graph.number(feature) => Fate::Ran(RunReason::FeatureChanged),
            Some(_) => Fate::Skipped(SkipReason::Cached),
        }
    }

    /// The same for a graph in which the nodes have other numbers.
    #[must_use]
    pub fn moved(&self, to: impl Fn(NodeNumber) -> Option<NodeNumber>) -> Self {
        Self(self.0.iter().filter_map(|(node, bits)| Some((to(*node)?, *bits))).collect())
    }

    /// Records that an evaluation demanded these features.
    pub fn note(&mut self, graph: &LiveGraph, features: impl IntoIterator<Item = NodeNumber>) {
        self.0.extend(features.into_iter().map(|feature| (feature, graph.number(feature))));
    }
}
