//! Prepared programs: a plan with the data of a request, for many runs.
//!
//! Names, types and axes are resolved once. A call only replaces the data of some inputs and runs:
//! over registers if there is one cell, else over columns as stages.

use std::sync::Arc;

use millstream_base::id::Id;
use millstream_base::{Column, Value};
use millstream_form::LaneSliceMut;
use millstream_ir::answer::EvalError;
use millstream_ir::plan::{Plan, StepOp};
use millstream_ir::request::{Bound, Request};
use millstream_node::Kernel;

use super::single::Single;
use super::{Chunked, Regions, Workspace, extents, given};
use crate::fuse::width;
use crate::lanes::lane_slice_mut;
use crate::program::is_plain;
use crate::stages::{Axes, Extents, Origin, Stages, Tools, full_axes, n_cells};

/// A plan with the data of a request.
#[derive(Debug)]
pub struct Prepared {
    plan: Arc<Plan>,
    /// The requested outputs, by position in the plan.
    outputs: Vec<usize>,
    way: Way,
}

/// How a prepared plan runs.
#[derive(Debug)]
enum Way {
    /// There is one cell.
    Single(Box<Single>),
    Columns(Box<Columns>),
}

/// A plan as stages, with their data.
#[derive(Debug)]
struct Columns {
    stages: Arc<Stages>,
    workspace: Workspace,
    extents: Extents,
    all: Axes,
    /// For each input of the plan its place among the given data.
    inputs: Vec<Option<u32>>,
}

/// Why a plan cannot be prepared for a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum PrepareError {
    /// The request does not fit the plan.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Request(#[from] EvalError),
    /// The request opens an axis without elements.
    #[error("the request has no elements")]
    #[diagnostic(
        code(prepare::no_elements),
        help("prepare with data of the length that runs will have")
    )]
    NoElements,
    /// The request asks for some elements only.
    #[error("the request asks for some of the elements")]
    #[diagnostic(code(prepare::elements), help("prepare for all, or give data of these only"))]
    SomeElements,
    /// A step is not made of numbers.
    #[error("{place} {why}")]
    #[diagnostic(code(prepare::not_numbers), help("evaluate such programs with `run`"))]
    NotNumbers {
        /// The node, input or constant, in words.
        place: String,
        /// What prevents it from being prepared.
        why: &'static str,
    },
}

impl Chunked {
    /// Prepares a plan for runs with data like that of the request.
    ///
    /// # Errors
    /// If the request does not fit the plan, or the outputs depend on anything but numbers.
    pub fn prepare(&self, plan: &Arc<Plan>, request: &Request) -> Result<Prepared, PrepareError> {
        let bound = request.bind(plan).map_err(EvalError::Request)?;
        if bound.has_no_cells() {
            return Err(PrepareError::NoElements);
        }
        if bound.is_for_some() {
            return Err(PrepareError::SomeElements);
        }
        let too_many = |error| EvalError::Request(vec![error]);
        bound.check_cells(&request.limits).map_err(too_many)?;
        let single = if bound.n_cells() == 1 { Single::new(plan, &bound) } else { None };
        let way = match single {
            Some(single) => Way::Single(Box::new(single)),
            None => Way::Columns(Box::new(self.columns(plan, &bound)?)),
        };
        Ok(Prepared { plan: Arc::clone(plan), outputs: bound.outputs, way })
    }

    fn columns(&self, plan: &Plan, bound: &Bound) -> Result<Columns, PrepareError> {
        let Some(stages) = Regions::of(plan).stages(plan, bound) else {
            return Err(obstacle(plan, bound));
        };
        let mut workspace = self.new_workspace();
        given(&stages, bound, &mut workspace.given);
        let mut inputs = vec![None; plan.inputs.len()];
        for (k, (from, _)) in stages.given.iter().enumerate() {
            if let Origin::Input(input) = from {
                inputs[input.index()] = Some(k as u32);
            }
        }
        let (extents, all) = (extents(bound), full_axes(bound));
        Ok(Columns { stages, workspace, extents, all, inputs })
    }
}

/// The first step that cannot be part of a prepared plan.
fn obstacle(plan: &Plan, bound: &Bound) -> PrepareError {
    let behind = plan.steps_upstream(&bound.outputs);
    let (mut place, mut why) = ("the plan".to_owned(), "has too many instructions");
    for (_, step) in plan.steps.iter().filter(|(id, _)| behind[*id]) {
        let (found, reason) = match step.op {
            StepOp::Call(id) => {
                let instance = &plan.instances[id];
                let reason = match &instance.kernel {
                    Kernel::Function(_) | Kernel::ReadState(_) => {
                        "is not computed by arithmetic alone"
                    }
                    _ if instance.has_scopes() => "evaluates an input in another context",
                    _ if !is_plain(instance) => "has a value that is not made of numbers",
                    Kernel::Choose if !instance.is_lane_choice() => "chooses among no values",
                    Kernel::Choose => "chooses for each element among arms that are expensive",
                    Kernel::Read { .. } => "reads a feature of another level or its extent",
                    Kernel::Form(_) | Kernel::Pass => continue,
                };
                (format!("`{}`", plan.paths.get(step.path)), reason)
            }
            StepOp::Input(id) if plan.inputs[id].ty.lanes().is_none() => {
                (format!("input `{}`", plan.inputs[id].name), "is not made of numbers")
            }
            StepOp::Const(_) | StepOp::Input(_) => continue,
        };
        (place, why) = (found, reason);
        break;
    }
    PrepareError::NotNumbers { place, why }
}

impl Prepared {
    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The outputs that runs compute, by position in the plan.
    pub fn outputs(&self) -> &[usize] {
        &self.outputs
    }

    /// Number of cells of each output.
    pub fn n_cells(&self) -> usize {
        match &self.way {
            Way::Single(_) => 1,
            Way::Columns(columns) => n_cells(columns.all, columns.extents),
        }
    }

    /// Replaces the data of input `input`: by a column of equal length, or by a single value if
    /// there was one. An input that no output reads is ignored.
    ///
    /// # Panics
    /// If the data is of another type or length, or there is no such input.
    pub fn set_column(&mut self, input: usize, column: Column) {
        let ty = self.plan.inputs.as_slice()[input].ty;
        assert_eq!(ty, column.ty(), "the data of an input keeps its type");
        match &mut self.way {
            Way::Single(single) => {
                assert_eq!(column.len(), 1, "the data of an input keeps its length");
                single.give(input, &column.get(0));
            }
            Way::Columns(columns) => {
                let Some(k) = columns.inputs[input] else { return };
                let old = &mut columns.workspace.given[k as usize];
                assert_eq!(old.len(), column.len(), "the data of an input keeps its length");
                *old = column;
            }
        }
    }

    /// Replaces the data of an input that is a single value; see [`set_column`](Self::set_column).
    ///
    /// # Panics
    /// If the data is of another type, or the input is a column.
    pub fn set(&mut self, input: usize, value: &Value) {
        if let Way::Single(single) = &mut self.way {
            let ty = self.plan.inputs.as_slice()[input].ty;
            assert_eq!(ty, value.ty(), "the data of an input keeps its type");
            return single.give(input, value);
        }
        self.set_column(input, Column::filled(value, 1));
    }

    /// Runs, and writes each requested output into a buffer: the lanes of all cells, time
    /// outermost. A value that varies along fewer axes is repeated.
    ///
    /// # Panics
    /// If the number of buffers is wrong, or one is of another lane or too small.
    pub fn run(&mut self, outputs: &mut [LaneSliceMut<'_>]) {
        assert_eq!(outputs.len(), self.outputs.len(), "there is a buffer for each output");
        match &mut self.way {
            Way::Single(single) => {
                single.run();
                for (k, (position, to)) in self.outputs.iter().zip(outputs).enumerate() {
                    let lanes = self.plan.outputs[*position].ty.lanes();
                    let (lane, _) = lanes.expect("outputs of programs are made of lanes");
                    single.write(k, lane, to);
                }
            }
            Way::Columns(columns) => {
                let Columns { stages, workspace, extents, all, .. } = &mut **columns;
                let Workspace { crew, buffers, given, values } = workspace;
                let tools = Tools { crew, buffers, clock: None };
                stages.run(*extents, given, values, Some(outputs), tools, None);
                stages.fill_sinks(&self.plan, *extents, given, values, outputs, *all);
            }
        }
    }

    /// Runs, and writes each requested output into a column that has an entry for each cell.
    ///
    /// # Panics
    /// If the number of columns is wrong, or one is of another type or too short.
    pub fn run_to_columns(&mut self, outputs: &mut [Column]) {
        let mut outputs: Vec<LaneSliceMut<'_>> = outputs.iter_mut().map(lane_slice_mut).collect();
        self.run(&mut outputs);
    }

    /// Runs if all data is single values. `inputs` are the bits of the lanes of all inputs of the
    /// plan in sequence, `outputs` those of the requested outputs.
    ///
    /// # Panics
    /// If there is more than one cell, too few lanes of inputs, or a wrong number of lanes of
    /// outputs.
    #[inline]
    pub fn run_lanes(&mut self, inputs: &[u64], outputs: &mut [u64]) {
        let Way::Single(single) = &mut self.way else { panic!("all data is single values") };
        single.run_lanes(inputs);
        single.write_lanes(outputs);
    }

    /// Runs with the current data if all of it is single values.
    ///
    /// # Panics
    /// If there is more than one cell.
    #[inline]
    pub fn run_single(&mut self) {
        let Way::Single(single) = &mut self.way else { panic!("all data is single values") };
        single.run();
    }

    /// The value of requested output `k` after the last [`run_single`](Self::run_single).
    ///
    /// # Panics
    /// If there is more than one cell, or no such output.
    #[inline]
    pub fn value(&self, k: usize) -> Value {
        let Way::Single(single) = &self.way else { panic!("all data is single values") };
        let ty = self.plan.outputs[self.outputs[k]].ty;
        let value = Value::from_lanes(ty, &single.lanes(k)[..width(ty)]);
        value.expect("a value has the lanes of its type")
    }
}
