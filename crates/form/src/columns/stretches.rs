//! Joins tasks to stretches that machine code computes, and runs it on chunks.
//!
//! Tasks go in phases. In each, first what there is code for, one stretch for each size of lanes,
//! then what the interpreter runs. What reads a result of the interpreter, or of a stretch of
//! another size, comes a phase later, so every stretch is as long as it can be.

use millstream_base::id::Id;
use millstream_base::lane::Lane;
use millstream_base::width::Width;
use smallvec::SmallVec;

use super::execute::{Chunk, Job, Machine};
use super::fuse::Task;
use super::layout::{Direct, Home};
use super::plan::Plan;
use crate::inst::{Form, Reg};
use crate::native::{Code, Line, Stretch, Target, lane_size};
use crate::op::Op;
use crate::storage::{AnyBuffer, LaneSlice, LaneSliceMut};

/// Who does a task; in the order within a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Brings a parameter into its buffer.
    Load,
    /// Code with lanes of so many bytes.
    Native(usize),
    /// The interpreter.
    Interpreted,
}

/// The tasks in order, those that there is code for joined.
pub(super) fn join(
    form: &Form,
    homes: &[Home],
    tasks: Vec<Task>,
    width: Width,
) -> (Vec<Task>, Vec<Stretch>) {
    let steps = steps(form, homes, &tasks, width);
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&task| steps[task]);
    let (mut joined, mut stretches) = (Vec::new(), Vec::<Stretch>::new());
    // The number of the stretch that computes a register, counted from 1.
    let mut stretch_of = vec![0; form.insts.len()];
    let mut last = None;
    for &task in &order {
        let reg = tasks[task].reg();
        match steps[task] {
            (phase, Kind::Native(size)) => {
                if last != Some((phase, size)) {
                    last = Some((phase, size));
                    joined.push(Task::Native { reg, number: stretches.len() as u32 });
                    stretches.push(Stretch { size, ..Stretch::default() });
                }
                stretch_of[reg.index()] = stretches.len();
                stretches.last_mut().expect("a stretch has begun").regs.push(reg);
            }
            _ => joined.push(tasks[task]),
        }
    }
    find_ends(form, homes, &joined, &mut stretches, &stretch_of);
    for task in &mut joined {
        if let Task::Native { reg, number } = task {
            *reg = stretches[*number as usize].outputs[0];
        }
    }
    (joined, stretches)
}

/// The phase and the kind of each task.
fn steps(form: &Form, homes: &[Home], tasks: &[Task], width: Width) -> Vec<(usize, Kind)> {
    let mut steps: Vec<(usize, Kind)> = Vec::with_capacity(tasks.len());
    let mut task_of = vec![0; form.insts.len()];
    for (number, task) in tasks.iter().enumerate() {
        let operands = task.operands(form, &[]).iter().filter(|reg| !homes[reg.index()].uniform);
        let before = || operands.clone().map(|reg| steps[task_of[reg.index()]]);
        let size_before = before().find_map(|(_, kind)| match kind {
            Kind::Native(size) => Some(size),
            Kind::Load | Kind::Interpreted => None,
        });
        let kind = match task {
            Task::One(reg) if matches!(form.insts[*reg].op, Op::Param(_)) => Kind::Load,
            Task::One(reg) => lane_size(&form.insts[*reg], width, size_before.unwrap_or(4))
                .map_or(Kind::Interpreted, Kind::Native),
            _ => Kind::Interpreted,
        };
        let phase = before().map(|(phase, other)| match (other, kind) {
            (Kind::Load, _) => 0,
            (_, Kind::Interpreted) => phase,
            _ if other == kind => phase,
            _ => phase + 1,
        });
        let phase = phase.max().unwrap_or(0);
        task_of[task.reg().index()] = number;
        steps.push((phase, kind));
    }
    // Parameters are loaded when they are first read.
    let mut first_read = vec![usize::MAX; tasks.len()];
    for (task, (phase, _)) in tasks.iter().zip(&steps) {
        for reg in task.operands(form, &[]).iter().filter(|reg| !homes[reg.index()].uniform) {
            let first = &mut first_read[task_of[reg.index()]];
            *first = (*first).min(*phase);
        }
    }
    for ((phase, kind), first) in steps.iter_mut().zip(first_read) {
        if *kind == Kind::Load && first != usize::MAX {
            *phase = first;
        }
    }
    steps
}

/// Finds what stretches read from others and write for them.
fn find_ends(
    form: &Form,
    homes: &[Home],
    tasks: &[Task],
    stretches: &mut [Stretch],
    stretch_of: &[usize],
) {
    let mut is_read = vec![false; form.insts.len()];
    for task in tasks {
        for operand in task.operands(form, stretches) {
            is_read[operand.index()] = true;
        }
    }
    for (i, stretch) in stretches.iter_mut().enumerate() {
        let mut is_input = std::collections::HashSet::new();
        for reg in &stretch.regs {
            for &arg in form.insts[*reg].args() {
                let is_outside = stretch_of[arg.index()] != i + 1 && !homes[arg.index()].uniform;
                if is_outside && is_input.insert(arg) {
                    is_read[arg.index()] = true;
                    stretch.inputs.push(arg);
                }
            }
        }
    }
    for stretch in stretches {
        let is_output = |reg: &&Reg| is_read[reg.index()] || homes[reg.index()].wanted;
        stretch.outputs = stretch.regs.iter().filter(is_output).copied().collect();
    }
}

/// The code of stretches; `None` if the machine allows none.
pub(super) fn codes(
    form: &Form,
    homes: &[Home],
    stretches: &[Stretch],
    width: Width,
) -> Option<Vec<Code>> {
    let code = |stretch: &Stretch| {
        let target = Target::new(width, stretch.size)?;
        Code::new(form, stretch, target, |reg| homes[reg.index()].uniform)
    };
    stretches.iter().map(code).collect()
}

/// Fills the tables of a plan's code.
pub(super) fn fill_tables(plan: &Plan, tables: &mut Vec<Vec<Line>>) {
    tables.resize_with(plan.codes.len(), Vec::new);
    for (code, table) in plan.codes.iter().zip(tables) {
        code.fill_table(table, |reg| plan.values[reg.index()]);
    }
}

/// An array that code writes.
enum Output<'a> {
    /// A buffer, by its number.
    Buffer(usize, AnyBuffer),
    /// An output of the call, by its number.
    Direct(usize, LaneSliceMut<'a>),
}

/// Runs the code of a stretch on a chunk.
pub(super) fn run(machine: &mut Machine<'_, '_>, job: &Job, chunk: &Chunk<'_>) {
    let Task::Native { number, .. } = job.task else { unreachable!("there is code for the task") };
    let number = number as usize;
    let plan = machine.plan;
    let stretch = &plan.stretches[number];
    let mut table = std::mem::take(&mut machine.tables[number]);
    let mut taken: SmallVec<[Output<'_>; 8]> = SmallVec::new();
    for &reg in &stretch.outputs {
        let place = plan.homes[reg.index()].place;
        taken.push(match (chunk, place.direct) {
            (Chunk::Range(_), Direct::Output(number)) => {
                Output::Direct(number as usize, machine.outputs[number as usize].lanes.take())
            }
            _ => {
                let (lane, slot) = (machine.form.insts[reg].lane, place.slot as usize);
                Output::Buffer(slot, machine.pools.take_out(lane, slot))
            }
        });
    }
    {
        let inputs: SmallVec<[LaneSlice<'_>; 16]> =
            stretch.inputs.iter().map(|reg| machine.array(*reg, chunk)).collect();
        let mut outputs: SmallVec<[LaneSliceMut<'_>; 8]> = SmallVec::new();
        for output in &mut taken {
            outputs.push(match (output, chunk) {
                (Output::Direct(number, lanes), Chunk::Range(range)) => {
                    let offset = machine.outputs[*number].offset;
                    lanes.part(range.start + offset..range.end + offset)
                }
                (Output::Direct(..), Chunk::Indices(_)) => unreachable!("a buffer was taken"),
                (Output::Buffer(_, buffer), _) => buffer.first_mut(chunk.len()),
            });
        }
        plan.codes[number].run(&inputs, &mut outputs, &mut table, chunk.len());
    }
    for output in taken {
        match output {
            Output::Buffer(slot, buffer) => machine.pools.put_back(slot, buffer),
            Output::Direct(number, lanes) => machine.outputs[number].lanes = lanes,
        }
    }
    machine.tables[number] = table;
}

impl Machine<'_, '_> {
    /// The values of a register, one for each element of the chunk.
    fn array(&self, reg: Reg, chunk: &Chunk<'_>) -> LaneSlice<'_> {
        let place = self.plan.homes[reg.index()].place;
        match self.form.insts[reg].lane {
            Lane::Bool => LaneSlice::Bool(self.slice(place, chunk)),
            Lane::I32 => LaneSlice::I32(self.slice(place, chunk)),
            Lane::I64 => LaneSlice::I64(self.slice(place, chunk)),
            Lane::F32 => LaneSlice::F32(self.slice(place, chunk)),
            Lane::F64 => LaneSlice::F64(self.slice(place, chunk)),
        }
    }
}

#[cfg(test)]
mod tests;
