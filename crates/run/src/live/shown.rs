//! What those who read features of the context were last shown: the graph holds features as sources,
//! whose runs are counted here, for the log.

use millstream_ir::answer::{Fate, RunReason, SkipReason};
use rustc_hash::FxHashMap;

use super::{LiveGraph, NodeNumber};

/// The bits of features when they were last demanded.
#[derive(Debug, Default)]
pub struct Shown(FxHashMap<NodeNumber, u64>);

impl Shown {
    /// What becomes of a feature in an evaluation that was not [noted](Self::note) yet.
    pub fn fate(&self, graph: &LiveGraph, feature: NodeNumber, is_demanded: bool) -> Fate {
        match self.0.get(&feature) {
            _ if !is_demanded => Fate::Skipped(SkipReason::NotNeeded),
            None => Fate::Ran(RunReason::First),
            Some(shown) if *shown != graph.number(feature) => Fate::Ran(RunReason::FeatureChanged),
            Some(_) => Fate::Skipped(SkipReason::Cached),
        }
    }

    /// The same for nodes that have other numbers now.
    #[must_use]
    pub fn moved(&self, to: impl Fn(NodeNumber) -> Option<NodeNumber>) -> Self {
        Self(self.0.iter().filter_map(|(node, bits)| Some((to(*node)?, *bits))).collect())
    }

    /// These features were demanded.
    pub fn note(&mut self, graph: &LiveGraph, features: impl IntoIterator<Item = NodeNumber>) {
        self.0.extend(features.into_iter().map(|feature| (feature, graph.number(feature))));
    }
}
