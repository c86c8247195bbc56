//! Prepared programs: a plan with the data of a request, to be run again and again.
//!
//! Everything that depends on names, types and axes is done once. What is left of a call is to
//! replace the data of some inputs and to run.

use std::sync::Arc;

use millstream_base::id::Id;
use millstream_base::{Column, Value};
use millstream_ir::answer::EvalError;
use millstream_ir::plan::Plan;
use millstream_ir::request::Request;
use millstream_kernel::form::LaneSliceMut;

use super::{Chunked, Workspace, extents, given};
use crate::fuse::{constant_lanes, width};
use crate::stages::{At, Axes, Origin, Stages, column_of, full_axes};

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
    params: Vec<u64>,
    results: Vec<u64>,
    registers: Vec<u64>,
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
        let Some(stages) = Self::regions(plan).stages(plan, &bound) else { return Ok(None) };
        let mut workspace = self.new_workspace();
        given(&stages, &bound, &mut workspace.given);
        let mut inputs = vec![None; plan.inputs.len()];
        for (k, (from, _)) in stages.given.iter().enumerate() {
            if let Origin::Input(input) = from {
                inputs[input.index()] = Some(k as u32);
            }
        }
        let (extents, all) = (extents(&bound), full_axes(&bound));
        Ok(Some(Prepared {
            plan: Arc::clone(plan),
            stages,
            workspace,
            extents,
            all,
            inputs,
            params: Vec::new(),
            results: Vec::new(),
            registers: Vec::new(),
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
        stages.run(self.extents, given, values, Some(outputs), (crew, buffers), &|| false);
        stages.fill_sinks(&self.plan, self.extents, given, values, outputs, self.all);
    }

    /// Runs on single values, without columns: `inputs` are the bits of the lanes of all inputs of
    /// the plan one behind the other, `outputs` those of the outputs asked for.
    ///
    /// # Panics
    /// If something varies along an axis, or there are too few lanes.
    pub fn run_lanes(&mut self, inputs: &[u64], outputs: &mut [u64]) {
        let stages = &self.stages;
        assert!(stages.given.iter().all(|(_, item)| item.axes == 0), "all data is single values");
        self.results.clear();
        if let [stage] = &stages.stages[..] {
            self.params.clear();
            let mut next = 0;
            let firsts = self.plan.inputs.as_slice().iter().map(|input| {
                let first = next;
                next += width(input.ty);
                first
            });
            let firsts: smallvec::SmallVec<[usize; 8]> = firsts.collect();
            for at in stage.inputs() {
                let At::Given(k) = at else { unreachable!("a first stage reads what is given") };
                let (from, item) = stages.given[*k as usize];
                match from {
                    Origin::Input(input) => {
                        let first = firsts[input.index()];
                        self.params.extend_from_slice(&inputs[first..first + width(item.ty)]);
                    }
                    Origin::Feature(_) => {
                        let value = self.workspace.given[*k as usize].get(0);
                        self.params.extend((0..width(item.ty)).filter_map(|i| value.lane(i)));
                    }
                }
            }
            let form = &stage.fused.form;
            self.results.resize(form.results.len(), 0);
            form.run_scalar(&self.params, &mut self.results, &mut self.registers);
        }
        let mut rest = outputs;
        for (at, item) in &stages.outputs {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(width(item.ty));
            rest = others;
            match at {
                At::Value(k) => {
                    let first = stages.stages[0].fused.first_results[*k as usize];
                    own.copy_from_slice(&self.results[first..first + own.len()]);
                }
                At::Given(k) => {
                    let first_of = |input: usize| -> usize {
                        let before = &self.plan.inputs.as_slice()[..input];
                        before.iter().map(|input| width(input.ty)).sum()
                    };
                    match stages.given[*k as usize].0 {
                        Origin::Input(input) => {
                            let first = first_of(input.index());
                            own.copy_from_slice(&inputs[first..first + own.len()]);
                        }
                        Origin::Feature(_) => copy_bits(&self.workspace.given[*k as usize], own),
                    }
                }
                At::Const(id) => copy_bits(&column_of(&self.plan.constants[*id]), own),
            }
        }
    }
}

fn copy_bits(column: &Column, to: &mut [u64]) {
    if let Some(bits) = constant_lanes(&column.get(0), to.len()) {
        to.copy_from_slice(&bits);
    }
}
