//! Plans of single values as live graphs.
//!
//! A step of one operation becomes a node of that operation, a step with a longer form a node that
//! runs the form, and a choice a switch. Inputs and features of the request become sources.

use std::sync::Arc;

use millstream_base::feature::Aspect;
use millstream_base::id::SideTable;
use millstream_base::{Feature, Lane, Type, Value};
use millstream_form::LaneValue;
use millstream_ir::InputId;
use millstream_ir::plan::{Plan, Step, StepId, StepOp, StepSource};
use millstream_node::{Data, Instance, Kernel};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::untyped::{
    NOT_A_NUMBER, counts_elements, gathers_elements, lane_of_number, number_bits, result_lane,
};
use super::{Handle, LiveGraph, NodeNumber};

mod columns;

pub use columns::{ColumnsError, LiveColumns};

/// A plan as a live graph, with handles for its inputs, features and outputs.
///
/// The plan is not needed afterwards.
pub struct LiveProgram {
    graph: LiveGraph,
    holds: Holds,
    /// The node of each step; if the step has several outputs, the node that runs.
    nodes: SideTable<StepId, Option<NodeNumber>>,
    /// The source of each input that is read.
    inputs: SideTable<InputId, Option<NodeNumber>>,
    /// The source of each need of the plan that is read, by its bit.
    features: Vec<Option<NodeNumber>>,
    /// The source of the number of elements.
    n_elements: Option<NodeNumber>,
    /// The sources of features that are read.
    read_features: Vec<(Feature, NodeNumber)>,
    names: FxHashMap<Name, (NodeNumber, Lane)>,
}

/// The data that a program may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Numbers,
    /// Values of any type.
    Values,
    /// Values and columns.
    Columns,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    Input(Arc<str>),
    Output(Arc<str>),
    Feature(Feature),
}

/// The reason why a plan cannot be a live graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("{place}: {what}")]
#[diagnostic(code(live::not_numbers), help("evaluate it with `Incremental`, which takes any plan"))]
pub struct NotNumbers {
    /// The node, input or constant, in words.
    pub place: String,
    /// The property of it that a live graph does not support.
    pub what: &'static str,
}

/// A step in words.
fn place_of(plan: &Plan, step: &Step) -> String {
    match step.op {
        StepOp::Input(id) => format!("input `{}`", plan.inputs[id].name),
        StepOp::Const(constant) => format!("a constant of type {}", plan.constants[constant].ty()),
        StepOp::Call(_) => format!("`{}`", plan.paths.get(step.path)),
    }
}

impl LiveProgram {
    /// The plan as a live graph. Inputs have their defaults; features and inputs without a default
    /// are 0.
    ///
    /// # Errors
    /// If a step does not compute single numbers in the context of the request.
    pub fn new(plan: &Plan) -> Result<Self, NotNumbers> {
        Self::made(plan, Holds::Numbers)
    }

    /// The plan as a live graph of values of any type.
    ///
    /// # Errors
    /// If a step does not compute single values in the context of the request.
    pub(crate) fn of_values(plan: &Plan) -> Result<Self, NotNumbers> {
        Self::made(plan, Holds::Values)
    }

    fn made(plan: &Plan, holds: Holds) -> Result<Self, NotNumbers> {
        let mut live = Self {
            graph: LiveGraph::new(),
            holds,
            nodes: SideTable::for_arena(&plan.steps, None),
            inputs: SideTable::for_arena(&plan.inputs, None),
            features: vec![None; plan.needs.len()],
            n_elements: None,
            read_features: Vec::new(),
            names: FxHashMap::default(),
        };
        if holds == Holds::Columns {
            live.graph.hold_columns();
        }
        for (id, step) in plan.steps.iter() {
            let node = live
                .add(plan, step)
                .map_err(|what| NotNumbers { place: place_of(plan, step), what })?;
            live.nodes[id] = Some(node);
        }
        for output in &plan.outputs {
            if let (Some(node), Some(lane)) =
                (live.node_of(output.source), lane_of_number(output.ty))
            {
                live.names.insert(Name::Output(Arc::clone(&output.name)), (node, lane));
            }
        }
        Ok(live)
    }

    fn add(&mut self, plan: &Plan, step: &Step) -> Result<NodeNumber, &'static str> {
        match step.op {
            StepOp::Const(constant) => {
                let data = &plan.constants[constant];
                self.source(data)
            }
            StepOp::Input(id) => {
                let input = &plan.inputs[id];
                let value = input.default.clone().unwrap_or_else(|| input.ty.default_value());
                let node = self.source(&Data::One(value))?;
                self.inputs[id] = Some(node);
                if let Some(lane) = lane_of_number(input.ty) {
                    self.names.insert(Name::Input(Arc::clone(&input.name)), (node, lane));
                }
                Ok(node)
            }
            StepOp::Call(instance) => self.call(plan, step, &plan.instances[instance]),
        }
    }

    fn source(&mut self, data: &Data) -> Result<NodeNumber, &'static str> {
        match data {
            Data::One(value) if self.holds != Holds::Numbers || number_bits(value).is_some() => {
                Ok(self.graph.source_of_value(value))
            }
            Data::One(_) => Err(NOT_A_NUMBER),
            Data::Many(column) if self.holds == Holds::Columns => {
                let node = self.graph.source_of_value(&column.ty().default_value());
                self.graph.set_data(node, data);
                Ok(node)
            }
            Data::Many(_) => Err("it has many elements"),
        }
    }

    /// The node of an output of a step.
    fn node_of(&self, source: StepSource) -> Option<NodeNumber> {
        self.graph.output(self.nodes[source.step]?, source.output as usize)
    }

    fn call(
        &mut self,
        plan: &Plan,
        step: &Step,
        instance: &Arc<Instance>,
    ) -> Result<NodeNumber, &'static str> {
        if self.holds == Holds::Columns && counts_elements(instance) {
            return Ok(self.n_elements());
        }
        if let Kernel::Read { feature, level: 0, aspect: Aspect::Value } = &instance.kernel {
            let to = result_lane(instance);
            let to = if self.holds == Holds::Columns { to.ok() } else { Some(to?) };
            let (feature, aspect) = (feature.clone(), Aspect::Value);
            let need = millstream_base::feature::Need { feature, level: 0, aspect };
            let bit = plan.needs.find(&need).expect("what a step reads is a need of the plan");
            if let Some(known) = self.features[bit as usize] {
                return Ok(known);
            }
            let node = self.source(&Data::One(need.feature.ty().default_value()))?;
            self.features[bit as usize] = Some(node);
            self.read_features.push((need.feature.clone(), node));
            if let Some(to) = to {
                self.names.insert(Name::Feature(need.feature), (node, to));
            }
            return Ok(node);
        }
        let links = plan.inputs_of(step);
        let needed = self.graph.inputs_needed(instance);
        let inputs = needed.iter().map(|i| self.node_of(links[*i as usize]));
        let inputs: Option<SmallVec<[NodeNumber; 4]>> = inputs.collect();
        let mut inputs = inputs.ok_or("an input has no node")?;
        match self.holds {
            Holds::Numbers => return self.graph.call_of_numbers(instance, &inputs),
            Holds::Columns if gathers_elements(instance) => inputs.push(self.n_elements()),
            Holds::Values | Holds::Columns => {}
        }
        self.graph.call(instance, &inputs)
    }

    /// The source of the number of elements.
    fn n_elements(&mut self) -> NodeNumber {
        *self.n_elements.get_or_insert_with(|| self.graph.source_of_value(&Value::I32(1)))
    }

    /// The source of a feature that the graph reads.
    fn feature_node(&self, feature: &Feature) -> Option<NodeNumber> {
        self.read_features.iter().find(|(known, _)| known == feature).map(|(_, node)| *node)
    }

    /// The graph, to set, read, observe and subscribe.
    pub fn graph(&mut self) -> &mut LiveGraph {
        &mut self.graph
    }

    /// The handle of an input, if it is read and its type is `T`.
    pub fn input<T: LaneValue>(&self, name: &str) -> Option<Handle<T>> {
        self.handle(&Name::Input(name.into()))
    }

    /// The handle of an output, if its type is `T`.
    pub fn output<T: LaneValue>(&self, name: &str) -> Option<Handle<T>> {
        self.handle(&Name::Output(name.into()))
    }

    /// The handle of a feature that the graph reads, such as the time, if its type is `T`.
    pub fn feature<T: LaneValue>(&self, feature: &Feature) -> Option<Handle<T>> {
        self.handle(&Name::Feature(feature.clone()))
    }

    fn handle<T: LaneValue>(&self, name: &Name) -> Option<Handle<T>> {
        let (node, lane) = self.names.get(name)?;
        (*lane == T::LANE).then(|| Handle::of(*node))
    }

    /// The node of a step.
    pub(crate) fn node(&self, step: StepId) -> NodeNumber {
        self.nodes[step].expect("each step has a node")
    }

    /// Sets inputs and features by their positions in the plan.
    pub(crate) fn set_all<'d>(
        &mut self,
        inputs: impl Iterator<Item = &'d Data>,
        features: impl Iterator<Item = Option<&'d Data>>,
    ) {
        let features = self.features.iter().zip(features);
        let features = features.filter_map(|(node, data)| Some(((*node)?, data?)));
        let inputs = self.inputs.as_slice().iter().zip(inputs);
        let inputs = inputs.filter_map(|(node, data)| Some(((*node)?, data)));
        for (node, data) in inputs.chain(features) {
            match data {
                Data::One(value) => self.graph.set_value(node, value),
                Data::Many(_) => unreachable!("a request of one cell gives single values"),
            }
        }
    }

    /// The node of an output of the plan.
    pub(crate) fn output_node(&self, source: StepSource) -> NodeNumber {
        self.node_of(source).expect("each output of a step has a node")
    }

    /// The value of an output that is observed and settled; `None` if it failed.
    pub(crate) fn value(&self, source: StepSource, ty: Type) -> Option<Value> {
        self.graph.value(self.output_node(source), ty)
    }

    /// The graph, for reading.
    pub(crate) fn graph_ref(&self) -> &LiveGraph {
        &self.graph
    }
}

impl std::fmt::Debug for LiveProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveProgram").field("nodes", &self.graph.len()).finish_non_exhaustive()
    }
}
