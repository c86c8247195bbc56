//! The data of a request, for the model.

use millstream_base::{Feature, NodePath, Value};
use millstream_ir::request::BoundData;
use millstream_ir::{Bound, Plan};
use millstream_node::Data;

use super::state_writers::Kept;

/// The data and axes of a request.
#[derive(Clone, Debug)]
pub struct World {
    /// The data of each input of the graph.
    pub inputs: Vec<BoundData>,
    /// The features that the request provides.
    pub features: Vec<(Feature, BoundData)>,
    /// Extent of the time axis, if there is one.
    pub times: Option<usize>,
    /// Extent of the view axis, if there is one.
    pub views: Option<usize>,
    /// Extent of the index axis, if there is one.
    pub count: Option<usize>,
    /// Positions of the requested outputs.
    pub outputs: Vec<usize>,
    /// The state of the stateful nodes inside of scopes.
    pub kept: Vec<Kept>,
}

impl World {
    /// The data of a request that was bound to `plan`.
    pub fn of(bound: &Bound, plan: &Plan) -> Self {
        let features = plan.needs.iter().zip(&bound.features).filter_map(|(need, data)| {
            data.as_ref().map(|data| (need.feature.clone(), data.clone()))
        });
        Self {
            inputs: bound.inputs.clone(),
            features: features.collect(),
            times: bound.times,
            views: bound.views,
            count: bound.count,
            outputs: bound.outputs.clone(),
            kept: vec![Kept::default(); plan.state_writers.len()],
        }
    }

    /// The data of one run of the body of a zone: a value for each of its inputs.
    pub fn of_body(inputs: &[Value], outputs: &[usize]) -> Self {
        let one = |value: &Value| BoundData { data: Data::One(value.clone()), axis: None };
        Self {
            inputs: inputs.iter().map(one).collect(),
            features: Vec::new(),
            times: None,
            views: None,
            count: None,
            outputs: outputs.to_vec(),
            kept: Vec::new(),
        }
    }

    /// Number of moments, views and elements of the request; 1 without such an axis.
    pub fn extents(&self) -> [usize; 3] {
        [self.times, self.views, self.count].map(|extent| extent.unwrap_or(1))
    }
}

/// Why the model makes no statement about a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It takes too long.
    #[error("more than {0} evaluations of single nodes")]
    TooLong(usize),
    /// The links are too long a chain for recursion.
    #[error("more than {0} nodes deep")]
    TooDeep(usize),
    /// A value is larger than the model wants to copy about.
    #[error("a list of {0} items")]
    TooLarge(usize),
    /// It means nothing: an axis is gathered while the extent of an inner one differs along it.
    #[error("{0} gathers an axis on which the extent of an axis of its input depends")]
    NoMeaning(NodePath),
    /// A node reads a feature that is not provided.
    #[error("{0} reads {1}, which is not provided")]
    Missing(NodePath, String),
}
