//! Prepared programs: a plan with the data of a request, to be run again and again.
//!
//! Everything that depends on names, types and axes is done once. What is left of a call is to
//! replace the data of some inputs and to run.

use std::sync::Arc;

use millstream_base::id::Id;
use millstream_base::{Column, Value};
use millstream_form::LaneSliceMut;
use millstream_ir::answer::EvalError;
use millstream_ir::plan::Plan;
use millstream_ir::request::Request;

use super::single::Single;
use super::{Chunked, Regions, Workspace, extents, given};
use crate::stages::{Axes, Origin, Stages, full_axes};

/// A plan of forms with the data of a request.
#[derive(Debug)]
pub struct Prepared {
    plan: Arc<Plan>,
    stages: Arc<Stages>,
    workspace: Workspace,
    extents: [usize; 2],
    all: Axes,
    /// For each input of the plan its place among what is given.
    inputs: Vec<Option<u32>>,
    /// The program where there is but one cell.
    single: Option<Single>,
    /// Whether its inputs are not those of the columns.
    single_is_stale: bool,
}

impl Chunked {
    /// Prepares a plan for runs with data like that of the request; `None` if the outputs read
    /// something that has no form.
    ///
    /// # Errors
    /// If the request does not fit the plan.
    pub fn prepare(
        &self,
        plan: &Arc<Plan>,
        request: &Request,
    ) -> Result<Option<Prepared>, EvalError> {
        let bound = request.bind(plan).map_err(EvalError::Request)?;
        if bound.times == Some(0) || bound.count == Some(0) {
            return Ok(None);
        }
        let Some(stages) = Regions::of(plan).stages(plan, &bound) else { return Ok(None) };
        let mut workspace = self.new_workspace();
        given(&stages, &bound, &mut workspace.given);
        let mut inputs = vec![None; plan.inputs.len()];
        for (k, (from, _)) in stages.given.iter().enumerate() {
            if let Origin::Input(input) = from {
                inputs[input.index()] = Some(k as u32);
            }
        }
        let (extents, all) = (extents(&bound), full_axes(&bound));
        let single = (extents == [1, 1]).then(|| {
            let mut single = Single::new(plan, &stages, &inputs);
            let columns = workspace.given.iter().enumerate();
            columns.for_each(|(k, column)| single.give(k, column));
            single
        });
        Ok(Some(Prepared {
            plan: Arc::clone(plan),
            stages,
            workspace,
            extents,
            all,
            inputs,
            single,
            single_is_stale: false,
        }))
    }
}

impl Prepared {
    /// Replaces the data of input number `input`: a column of as many values, or a single value
    /// where there was one. An input that no output reads is left as it is.
    ///
    /// # Panics
    /// If the data is of another type or length, or there is no such input.
    pub fn set_column(&mut self, input: usize, column: Column) {
        let Some(k) = self.inputs[input] else { return };
        let old = &mut self.workspace.given[k as usize];
        assert_eq!(old.ty(), column.ty(), "the data of an input keeps its type");
        assert_eq!(old.len(), column.len(), "the data of an input keeps its length");
        if let Some(single) = &mut self.single {
            single.give(k as usize, &column);
        }
        *old = column;
    }

    /// Replaces the data of an input that is a single value; see [`set_column`](Self::set_column).
    ///
    /// # Panics
    /// If the data is of another type, or the input is a column.
    pub fn set(&mut self, input: usize, value: &Value) {
        self.set_column(input, Column::filled(value, 1));
    }

    /// Runs, and writes each output asked for into a buffer: the lanes of all cells, time
    /// outermost. What varies along fewer axes is repeated.
    ///
    /// # Panics
    /// If there is not a buffer for each output, or one is of another lane or too small.
    pub fn run(&mut self, outputs: &mut [LaneSliceMut<'_>]) {
        let Workspace { crew, buffers, given, values } = &mut self.workspace;
        assert_eq!(outputs.len(), self.stages.outputs.len(), "there is a buffer for each output");
        let stages = &self.stages;
        if let Some(single) = &mut self.single {
            if std::mem::take(&mut self.single_is_stale) {
                given.iter().enumerate().for_each(|(k, column)| single.give(k, column));
            }
            single.run();
            for (k, ((_, item), to)) in stages.outputs.iter().zip(outputs).enumerate() {
                let (lane, _) = item.ty.lanes().expect("outputs of forms are made of lanes");
                single.write(k, lane, to);
            }
            return;
        }
        stages.run(self.extents, given, values, Some(outputs), (crew, buffers), None);
        stages.fill_sinks(&self.plan, self.extents, given, values, outputs, self.all);
    }

    /// Runs on single values, without columns: `inputs` are the bits of the lanes of all inputs of
    /// the plan one behind the other, `outputs` those of the outputs asked for.
    ///
    /// # Panics
    /// If there is more than one cell, there are too few lanes of inputs, or the outputs have more or
    /// fewer.
    pub fn run_lanes(&mut self, inputs: &[u64], outputs: &mut [u64]) {
        let single = self.single.as_mut().expect("all data is single values");
        self.single_is_stale = true;
        single.give_lanes(inputs);
        single.run();
        single.write_lanes(outputs);
    }
}
