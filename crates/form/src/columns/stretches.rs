//! Joins tasks to stretches that machine code computes, and runs it on chunks.
//!
//! Tasks go in phases. In each, first what there is code for, one stretch for each size of lanes,
//! then what the interpreter runs. What reads a result of the interpreter, or of a stretch of
//! another size, comes a phase later, so every stretch is as long as it can be.

use std::collections::HashSet;

use millstream_base::id::Id;
use millstream_base::lane::Lane;
use millstream_base::width::Width;
use smallvec::SmallVec;

use super::ends::{LaneInput, LaneOutput};
use super::execute::{Chunk, Job, Machine};
use super::fuse::Task;
use super::layout::{Direct, Home, Source};
use super::plan::Plan;
use crate::inst::{Form, Reg};
use crate::native::{Ahead, Code, Joined, Line, Stretch, Strided, Target, lane_size};
use crate::op::Op;
use crate::storage::{AnyBuffer, LaneSlice, LaneSliceMut};

/// Instructions of a stretch that takes long enough to fetch memory meanwhile.
const LONG: usize = 64;

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

impl Plan {
    /// Joins the tasks that there is code for. If it `joins` lanes, vectors are read and written as
    /// they are stored.
    pub(super) fn join(&mut self, form: &Form, width: Width, joins: bool) {
        let tasks = std::mem::take(&mut self.tasks);
        let steps = steps(form, &self.homes, &tasks, width);
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        order.sort_by_key(|&task| steps[task]);
        // The number of the stretch that computes a register, counted from 1.
        let mut stretch_of = vec![0; form.insts.len()];
        let mut last = None;
        for &task in &order {
            let reg = tasks[task].reg();
            let (phase, Kind::Native(size)) = steps[task] else {
                self.tasks.push(tasks[task]);
                continue;
            };
            if last != Some((phase, size)) {
                last = Some((phase, size));
                self.tasks.push(Task::Native { reg, number: self.stretches.len() as u32 });
                self.stretches.push(Stretch { size, ..Stretch::default() });
            }
            stretch_of[reg.index()] = self.stretches.len();
            self.stretches.last_mut().expect("a stretch has begun").regs.push(reg);
        }
        if joins {
            self.join_outputs(form, &stretch_of);
            self.find_strided(form, &stretch_of);
        }
        self.find_ends(form, &stretch_of);
        self.find_ahead(form, &stretch_of);
    }

    /// Finds outputs of several lanes that one stretch computes.
    fn join_outputs(&mut self, form: &Form, stretch_of: &[usize]) {
        for (output, sink) in self.sinks.iter().enumerate() {
            let regs = &form.results[sink.first..sink.first + sink.width];
            let mut stretches = regs
                .iter()
                .filter(|reg| !self.homes[reg.index()].uniform)
                .map(|reg| stretch_of[reg.index()]);
            let Some(stretch @ 1..) = stretches.next() else { continue };
            let is_joined = sink.is_interleaved()
                && is_joinable(form, regs[0])
                && stretches.all(|other| other == stretch);
            if is_joined {
                self.joined[output] = true;
                self.stretches[stretch - 1].joined.push(Joined { output, regs: regs.to_vec() });
            }
        }
    }

    /// Finds parameters that only code reads, out of stored values of several lanes.
    fn find_strided(&mut self, form: &Form, stretch_of: &[usize]) {
        let mut is_read_elsewhere = vec![false; form.insts.len()];
        for task in &self.tasks {
            for operand in task.operands(form, &self.stretches) {
                is_read_elsewhere[operand.index()] = true;
            }
        }
        for (reg, inst) in form.insts.iter().filter(|(reg, _)| stretch_of[reg.index()] > 0) {
            // What lanes of other sizes are computed from is read out of a buffer.
            for arg in inst.args() {
                let size = self.stretches[stretch_of[reg.index()] - 1].size;
                is_read_elsewhere[arg.index()] |= size != form.insts[*arg].lane.size();
            }
        }
        for (reg, inst) in form.insts.iter() {
            let home = &mut self.homes[reg.index()];
            if let Op::Param(number) = inst.op
                && let Source::Strided { stride: 2..=4, .. } = self.sources[number as usize]
                && is_joinable(form, reg)
                && !is_read_elsewhere[reg.index()]
                && !home.wanted
            {
                home.place.direct = Direct::Strided(number);
            }
        }
    }

    /// Finds what stretches read from others and write for them.
    fn find_ends(&mut self, form: &Form, stretch_of: &[usize]) {
        let mut is_read = vec![false; form.insts.len()];
        for task in &self.tasks {
            for operand in task.operands(form, &self.stretches) {
                is_read[operand.index()] = true;
            }
        }
        for (sink, joined) in self.sinks.iter().zip(&self.joined) {
            for reg in &form.results[sink.first..sink.first + sink.width] {
                is_read[reg.index()] |= !joined;
            }
        }
        for (i, stretch) in self.stretches.iter_mut().enumerate() {
            let mut is_input = HashSet::new();
            for reg in &stretch.regs {
                for &arg in form.insts[*reg].args() {
                    let is_outside = stretch_of[arg.index()] != i + 1;
                    if is_outside && !self.homes[arg.index()].uniform && is_input.insert(arg) {
                        is_read[arg.index()] = true;
                        stretch.inputs.push(arg);
                    }
                }
            }
        }
        for stretch in &mut self.stretches {
            let is_output = |reg: &&Reg| is_read[reg.index()];
            stretch.outputs = stretch.regs.iter().filter(is_output).copied().collect();
        }
    }

    /// Lets the longest stretch prefetch the outputs that are written after it, because a loop that
    /// does little but store waits for their memory.
    fn find_ahead(&mut self, form: &Form, stretch_of: &[usize]) {
        let lengths = self.stretches.iter().map(|stretch| stretch.regs.len()).enumerate();
        let Some((longest, LONG..)) = lengths.max_by_key(|(_, n)| *n) else { return };
        for (output, sink) in self.sinks.iter().enumerate() {
            let regs = &form.results[sink.first..sink.first + sink.width];
            let is_written_there = regs.iter().all(|reg| {
                let home = &self.homes[reg.index()];
                home.uniform || stretch_of[reg.index()] == longest + 1
            });
            if sink.stride == sink.width && !is_written_there {
                let n_bytes = sink.width * form.insts[regs[0]].lane.size();
                self.stretches[longest].ahead.push(Ahead { output, n_bytes });
            }
        }
    }

    /// The code of the stretches; `None` if the machine allows none.
    pub(super) fn codes(&self, form: &Form, width: Width) -> Option<Vec<Code>> {
        let is_uniform = |reg: Reg| self.homes[reg.index()].uniform;
        let code = |stretch: &Stretch| {
            let target = Target::new(width, stretch.size)?;
            Code::new(form, stretch, target, is_uniform, |reg| self.strided(reg))
        };
        self.stretches.iter().map(code).collect()
    }

    /// Where code reads a register, if it is a lane of stored values of several.
    fn strided(&self, reg: Reg) -> Option<Strided> {
        let Direct::Strided(number) = self.homes[reg.index()].place.direct else { return None };
        match self.sources[number as usize] {
            Source::Strided { stride, offset, .. } => Some(Strided { stride, offset }),
            Source::Single | Source::Each | Source::Other => None,
        }
    }
}

/// Whether code joins a register with others side by side.
fn is_joinable(form: &Form, reg: Reg) -> bool {
    matches!(form.insts[reg].lane, Lane::F32 | Lane::I32)
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
            (Chunk::Range(_), Direct::Output(number)) => machine.take_output(number as usize),
            _ => {
                let (lane, slot) = (machine.form.insts[reg].lane, place.slot as usize);
                Output::Buffer(slot, machine.pools.take_out(lane, slot))
            }
        });
    }
    for joined in &stretch.joined {
        taken.push(machine.take_output(joined.output));
    }
    {
        let inputs: SmallVec<[LaneSlice<'_>; 16]> =
            stretch.inputs.iter().map(|reg| machine.array(*reg, chunk)).collect();
        let mut outputs: SmallVec<[LaneSliceMut<'_>; 8]> = SmallVec::new();
        for output in &mut taken {
            outputs.push(match (output, chunk) {
                (Output::Direct(number, lanes), Chunk::Range(range)) => {
                    let LaneOutput { offset, stride, .. } = machine.outputs[*number];
                    lanes.part(range.start * stride + offset..range.end * stride + offset)
                }
                (Output::Direct(..), Chunk::Indices(_)) => unreachable!("a buffer was taken"),
                (Output::Buffer(_, buffer), _) => buffer.first_mut(chunk.len()),
            });
        }
        let start = |ahead: &Ahead| {
            let first = if let Chunk::Range(range) = chunk { range.start } else { 0 };
            let LaneOutput { lanes, offset, .. } = &machine.outputs[ahead.output];
            let before = first * ahead.n_bytes + offset * lanes.lane().size();
            lanes.bytes().as_ptr().wrapping_add(before)
        };
        let ahead: SmallVec<[*const u8; 4]> = stretch.ahead.iter().map(start).collect();
        plan.codes[number].run(&inputs, &mut outputs, &ahead, &mut table, chunk.len());
    }
    for output in taken {
        match output {
            Output::Buffer(slot, buffer) => machine.pools.put_back(slot, buffer),
            Output::Direct(number, lanes) => machine.outputs[number].lanes = lanes,
        }
    }
    machine.tables[number] = table;
}

impl<'a> Machine<'_, 'a> {
    fn take_output(&mut self, number: usize) -> Output<'a> {
        Output::Direct(number, self.outputs[number].lanes.take())
    }

    /// The values of a register, one for each element of the chunk; or stored values of several
    /// lanes of which it is one.
    fn array(&self, reg: Reg, chunk: &Chunk<'_>) -> LaneSlice<'_> {
        let place = self.plan.homes[reg.index()].place;
        if let (Direct::Strided(number), Chunk::Range(range)) = (place.direct, chunk)
            && let LaneInput::Lanes { lanes, stride, .. } = &self.inputs[number as usize]
        {
            return lanes.part(range.start * stride..range.end * stride);
        }
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
