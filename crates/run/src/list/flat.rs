//! A list as a program over registers, for plans that compute only with numbers and requests
//! without axes.
//!
//! A list without guards, rewritten whenever a selector flips, was measured and rejected: 1000
//! switches with 11,000 running nodes took 40 instead of 50 microseconds with constant selectors
//! and 57 instead of 51 with flipping ones, for twice the memory and a second way to run.

use std::sync::Arc;

use millstream_base::Value;
use millstream_base::id::Id;
use millstream_form::Registers;
use millstream_ir::answer::{
    Answer, EvalError, Fate, LogEntry, OutputAnswer, RunLog, RunReason, Series,
};
use millstream_ir::plan::Plan;
use millstream_ir::request::{Bound, LogDetail, Request};
use millstream_ir::{Done, Watch};
use millstream_node::Data;

use crate::blocks::Blocks;
use crate::fuse::width;
use crate::program::PlanProgram;

/// A list over registers.
#[derive(Debug)]
pub(crate) struct Flat {
    program: PlanProgram,
}

impl Flat {
    /// The program of a list; `None` if a step does more than compute with numbers.
    pub(super) fn new(plan: &Plan, blocks: &Blocks, outputs: &[usize]) -> Option<Self> {
        let program = PlanProgram::of_list(plan, blocks, outputs)?;
        Some(Self { program })
    }

    /// New registers, with the constants of the program.
    pub(super) fn registers(&self) -> Registers {
        self.program.program.registers()
    }

    pub(super) fn evaluate(
        &self,
        plan: &Plan,
        blocks: &Blocks,
        request: &Request,
        bound: &Bound,
        registers: &mut Registers,
    ) -> Result<Answer, EvalError> {
        self.program.give(registers, bound);
        let watch = Watch::of(plan, request, bound);
        let look = |n_lines| watch.check(Done::default().and(n_lines, 1));
        let ran = self.program.program.run(registers, look);
        ran.map(|()| self.answer(plan, blocks, request, registers))
    }

    fn answer(
        &self,
        plan: &Plan,
        blocks: &Blocks,
        request: &Request,
        registers: &Registers,
    ) -> Answer {
        let outputs = self.program.outputs.iter().map(|(position, first)| {
            let output = &plan.outputs[*position];
            let lanes = &registers.from(*first)[..width(output.ty)];
            let value = Value::from_lanes(output.ty, lanes);
            let data = Data::One(value.expect("a value has the lanes of its type"));
            OutputAnswer {
                name: Arc::clone(&output.name),
                ty: output.ty,
                value: Some(Series { data, axes: Vec::new() }),
                partial: None,
            }
        });
        let log = self.log(plan, blocks, request, registers);
        Answer::of_one_cell(outputs.collect(), Vec::new(), log)
    }

    fn log(
        &self,
        plan: &Plan,
        blocks: &Blocks,
        request: &Request,
        registers: &Registers,
    ) -> RunLog {
        if request.log == LogDetail::Off {
            return RunLog::default();
        }
        let ran = LogEntry {
            fate: Fate::Ran(RunReason::First),
            runs: 1,
            elements: 1,
            ..LogEntry::NOT_NEEDED
        };
        let mut entries = vec![LogEntry::NOT_NEEDED; plan.steps.len()];
        let first_steps = &self.program.first_steps;
        for (block, first) in first_steps.iter().enumerate() {
            if !registers.ran(block as u32) {
                continue;
            }
            let end = first_steps.get(block + 1).map_or(blocks.steps.len(), |end| *end as usize);
            for step in &blocks.steps[*first as usize..end] {
                entries[step.index()] = ran;
            }
        }
        RunLog::of(entries)
    }
}
