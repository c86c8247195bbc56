//! Evaluation into the caller's memory.

use std::sync::Arc;

use millstream_base::map::Map;
use millstream_base::{Lane, Type};
use millstream_form::LaneSliceMut;
use millstream_ir::Watch;
use millstream_ir::answer::{EvalError, Evaluator, NodeFailure, RunLog};
use millstream_ir::plan::Plan;
use millstream_ir::request::Request;
use millstream_node::Data;

use super::{Chunked, Workspace, extents, given, log};
use crate::fuse::width;
use crate::lanes::reborrow;
use crate::stages::{StageClock, Tools, column_of, copy_into, full_axes};

/// The memory of an output: the lanes of its cells, time outermost, one cell after the other.
#[derive(Debug)]
pub struct OutputBuffer<'a> {
    /// Room for exactly the cells of the request.
    pub lanes: LaneSliceMut<'a>,
}

impl<'a, L: Into<LaneSliceMut<'a>>> From<L> for OutputBuffer<'a> {
    fn from(lanes: L) -> Self {
        Self { lanes: lanes.into() }
    }
}

/// The result of writing outputs into the caller's memory.
#[derive(Debug)]
pub struct Written {
    /// For each requested output whether it was written; it is not if a node failed.
    pub written: Vec<bool>,
    /// The failures of nodes, without failures that follow from them.
    pub failures: Vec<NodeFailure>,
    /// The steps that ran, if the request asked for a log.
    pub log: RunLog,
}

/// A buffer does not fit its output.
fn misfit(name: &Arc<str>, ty: Type, found: (Lane, usize), n_cells: usize) -> Option<String> {
    let (lane, width) = ty.lanes()?;
    let wanted = n_cells * usize::from(width);
    (found != (lane, wanted)).then(|| {
        let (found, n) = found;
        format!("the buffer of `{name}` holds {n} {found}, but {wanted} {lane} are written")
    })
}

fn lanes_of(buffer: &LaneSliceMut<'_>) -> (Lane, usize) {
    let n = match buffer {
        LaneSliceMut::Bool(lanes) => lanes.len(),
        LaneSliceMut::I32(lanes) => lanes.len(),
        LaneSliceMut::I64(lanes) => lanes.len(),
        LaneSliceMut::F32(lanes) => lanes.len(),
        LaneSliceMut::F64(lanes) => lanes.len(),
    };
    (buffer.lane(), n)
}

impl Chunked {
    /// Evaluates the outputs of the request into the caller's memory, one buffer for each output.
    /// An output that varies along fewer axes than the request is repeated.
    ///
    /// # Errors
    /// If the request does not fit the plan or has too many cells, or the evaluation was cancelled.
    ///
    /// # Panics
    /// If the number of buffers is wrong, or one does not have the lane and size of its output.
    pub fn evaluate_into(
        &mut self,
        plan: &Plan,
        request: &Request,
        buffers: &mut [OutputBuffer<'_>],
    ) -> Result<Written, EvalError> {
        let bound = request.bind(plan).map_err(EvalError::Request)?;
        if bound.is_for_some() {
            let why = "it writes all elements, but the request is for some".into();
            return Err(EvalError::Unfit { evaluator: self.name(), why });
        }
        let too_many = |error| EvalError::Request(vec![error]);
        bound.check_cells(&request.limits).map_err(too_many)?;
        let extents = extents(&bound);
        let n_cells = bound.n_cells();
        assert_eq!(buffers.len(), bound.outputs.len(), "there is a buffer for each output");
        for (position, buffer) in bound.outputs.iter().zip(&*buffers) {
            let output = &plan.outputs[*position];
            assert!(output.ty.lanes().is_some(), "`{}` is not made of lanes", output.name);
            let misfit = misfit(&output.name, output.ty, lanes_of(&buffer.lanes), n_cells);
            if let Some(misfit) = misfit {
                panic!("{misfit}");
            }
        }
        let Some(stages) = self.stages(plan, request, &bound) else {
            return self.evaluate_and_copy(plan, request, buffers);
        };
        let limit = request.limits.bytes;
        if stages.bytes(extents, true) > limit {
            return Err(EvalError::Bytes { limit });
        }
        let mut workspace = self.workspace();
        let Workspace { crew, buffers: free, given: columns, values } = &mut workspace;
        given(&stages, &bound, columns);
        let watch = Watch::of(plan, request, &bound);
        let mut sinks: Vec<LaneSliceMut<'_>> =
            buffers.iter_mut().map(|buffer| reborrow(&mut buffer.lanes)).collect();
        let watching = Some(&watch);
        let mut clock = StageClock::of(request);
        let tools = Tools { crew, buffers: free, clock: clock.as_mut() };
        let ran = stages.run(extents, columns, values, Some(&mut sinks), tools, watching);
        let ended = watch.ended(ran);
        if ended.is_none() {
            stages.fill_sinks(plan, extents, columns, values, &mut sinks, full_axes(&bound));
        }
        let mut log = log(plan, request, &stages, extents);
        if let Some(clock) = clock.filter(|_| ended.is_none()) {
            clock.tell(&mut log, (plan, &stages), extents, columns, values);
        }
        columns.clear();
        for column in values.drain(..).flatten() {
            free.give(column);
        }
        self.workspace = Some(workspace);
        if let Some(error) = ended {
            return Err(error);
        }
        let written = vec![true; buffers.len()];
        Ok(Written { written, failures: Vec::new(), log })
    }

    fn evaluate_and_copy(
        &mut self,
        plan: &Plan,
        request: &Request,
        buffers: &mut [OutputBuffer<'_>],
    ) -> Result<Written, EvalError> {
        let mut answer = self.evaluate(plan, request)?;
        let n_cells = answer.n_cells();
        let mut written = Vec::with_capacity(buffers.len());
        for (output, buffer) in answer.outputs.iter().zip(buffers) {
            written.push(output.value.is_some());
            let Some(series) = &output.value else { continue };
            if width(output.ty) == 0 || n_cells == 0 {
                continue;
            }
            let (column, map) = match &series.data {
                Data::One(_) => (column_of(&series.data), Map::Single),
                Data::Many(_) => (answer.full_column(series), Map::Each),
            };
            copy_into(&column, map, &mut buffer.lanes, n_cells);
        }
        let failures = std::mem::take(&mut answer.failures);
        let log = std::mem::take(&mut answer.log);
        self.give_back(answer);
        Ok(Written { written, failures, log })
    }
}
