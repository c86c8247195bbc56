//! The data of a request, for callers that complete or describe it.

use millstream_base::{Feature, FeatureSet, Mask};

use super::{Given, Request, RequestAxis};
use crate::plan::Plan;

impl Request {
    /// Requests all outputs, instead of those requested so far.
    pub fn all_outputs(mut self) -> Self {
        self.outputs = None;
        self
    }

    /// Requests this output in addition to the requested outputs of a plan.
    pub fn additional_output(self, plan: &Plan, name: impl Into<String>) -> Self {
        self.and_outputs(plan, &[name.into()])
    }

    /// The needs of the requested outputs of a plan, and of the state that they depend on.
    pub fn needs_in(&self, plan: &Plan) -> FeatureSet {
        let (reads, depends) = self.state_reads(plan);
        let nodes = (0..depends.len()).filter(|node| depends[*node]);
        let steps = nodes.flat_map(|node| reads.steps_of(node)).chain(self.steps_in(plan));
        steps.fold(FeatureSet::NONE, |all, step| all.union(plan.needs_of(&plan.steps[step])))
    }

    /// The data for an input.
    pub fn of_input(&self, name: &str) -> Option<&Given> {
        self.inputs.iter().find(|(known, _)| known == name).map(|(_, given)| given)
    }

    /// The data for a feature, apart from frames.
    pub fn of_feature(&self, feature: &Feature) -> Option<&Given> {
        self.features.iter().find(|(known, _)| known == feature).map(|(_, given)| given)
    }

    /// Whether an input is given.
    pub fn gives_input(&self, name: &str) -> bool {
        self.inputs.iter().any(|(known, _)| known == name)
    }

    /// Whether a feature is given, or follows from the frames or the count.
    pub fn gives(&self, feature: &Feature) -> bool {
        let follows = match feature {
            Feature::Time | Feature::Tick => self.frames.is_some(),
            Feature::Index => self.n_elements().is_some(),
            Feature::RealTime
            | Feature::Footprint
            | Feature::Position
            | Feature::Iteration
            | Feature::Vararg(..)
            | Feature::Custom(..) => false,
        };
        follows || self.features.iter().any(|(known, _)| known == feature)
    }

    /// The needs of a plan whose values differ from element to element.
    pub fn needs_by_element(&self, plan: &Plan) -> FeatureSet {
        let mut found = FeatureSet::NONE;
        for (bit, need) in plan.needs.iter().enumerate() {
            let given = self.of_feature(&need.feature);
            if need.feature == Feature::Index
                || matches!(given, Some(Given::Along(RequestAxis::Index, _)))
            {
                found = found.union(FeatureSet::bit(bit as u32));
            }
        }
        found
    }

    /// The inputs that have a value per element.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        let columns = self
            .inputs
            .iter()
            .filter(|(_, given)| matches!(given, Given::Along(RequestAxis::Index, _)));
        columns.map(|(name, _)| name.as_str())
    }

    /// The elements asked for, if not all are.
    pub fn asked_elements(&self) -> Option<&Mask> {
        self.elements.as_ref()
    }

    /// The number of elements, as far as the request alone determines it.
    pub fn n_elements(&self) -> Option<usize> {
        let given = self.inputs.iter().map(|(_, given)| given);
        let mut given = given.chain(self.features.iter().map(|(_, given)| given));
        self.count.or_else(|| {
            given.find_map(|given| match given {
                Given::Along(RequestAxis::Index, column) => Some(column.len()),
                Given::One(_) | Given::Along(RequestAxis::View | RequestAxis::Time, _) => None,
            })
        })
    }
}
