//! Programs on single values: the forms of all stages as one straight line over registers.
//!
//! Constants lie in registers from the start, parameters are the registers of what is given, so that
//! a run is the computing operations alone.

use millstream_base::id::Id;
use millstream_base::{Column, Lane};
use millstream_form::{
    LaneSlice, LaneSliceMut, LaneValue, Line, Op, ReadyLine, ready_lines, run_lines,
};
use millstream_ir::plan::Plan;
use rustc_hash::FxHashSet;

use crate::fuse::width;
use crate::lanes::lane_slice;
use crate::stages::{At, Stages, column_of};

/// The stages of a plan for one cell.
#[derive(Debug)]
pub(super) struct Single {
    lines: Vec<ReadyLine>,
    registers: Vec<u64>,
    /// For what is given its first register.
    given: Vec<usize>,
    /// The registers of the lanes of all outputs, one behind the other.
    outputs: Vec<u32>,
    /// For each output where its own begin.
    first_outputs: Vec<usize>,
    /// Runs of lanes that go from a row of all inputs into registers.
    copies: Vec<Copy>,
}

/// Lanes that stand side by side in a row of inputs and in the registers.
#[derive(Clone, Copy, Debug)]
struct Copy {
    from: usize,
    to: usize,
    n: usize,
}

impl Single {
    /// The program of stages; `inputs` says of each input of the plan which of what is given it is.
    pub(super) fn new(plan: &Plan, stages: &Stages, inputs: &[Option<u32>]) -> Self {
        let mut registers = Vec::new();
        let mut given = Vec::with_capacity(stages.given.len());
        for (_, item) in &stages.given {
            given.push(registers.len());
            registers.resize(registers.len() + width(item.ty), 0);
        }
        let mut lines = Vec::new();
        let mut values: Vec<Vec<usize>> = Vec::with_capacity(stages.values.len());
        for stage in &stages.stages {
            let mut params = Vec::new();
            for at in stage.inputs() {
                match at {
                    At::Given(k) => {
                        let first = given[*k as usize];
                        params.extend(first..first + width(stages.given[*k as usize].1.ty));
                    }
                    At::Value(k) => params.extend_from_slice(&values[*k as usize]),
                    At::Const(_) => unreachable!("constants are part of the fused form"),
                }
            }
            let form = &stage.fused.form;
            let mut places: Vec<usize> = Vec::with_capacity(form.insts.len());
            for inst in form.insts.as_slice() {
                let place = match inst.op {
                    Op::Param(number) => params[number as usize],
                    Op::Const(bits) => {
                        registers.push(bits);
                        registers.len() - 1
                    }
                    op => {
                        let mut args = [0; 3];
                        for (arg, reg) in args.iter_mut().zip(inst.args()) {
                            *arg = places[reg.index()] as u32;
                        }
                        let out = registers.len();
                        registers.push(0);
                        lines.push(Line::new(op, inst.of, inst.lane, out as u32, args));
                        out
                    }
                };
                places.push(place);
            }
            let results = |k: usize| {
                let firsts = &stage.fused.first_results;
                form.results[firsts[k]..firsts[k + 1]].iter().map(|reg| places[reg.index()])
            };
            values.extend((0..stage.fused.outputs.len()).map(|k| results(k).collect()));
        }
        let (mut outputs, mut first_outputs) = (Vec::new(), Vec::new());
        for (at, item) in &stages.outputs {
            first_outputs.push(outputs.len());
            match at {
                At::Value(k) => outputs.extend(values[*k as usize].iter().map(|reg| *reg as u32)),
                At::Given(k) => {
                    let first = given[*k as usize];
                    outputs.extend((first..first + width(item.ty)).map(|reg| reg as u32));
                }
                At::Const(id) => {
                    let first = registers.len();
                    registers.extend(lanes_of(&column_of(&plan.constants[*id])));
                    outputs.extend((first..registers.len()).map(|reg| reg as u32));
                }
            }
        }
        let read: FxHashSet<u32> = outputs.iter().copied().collect();
        let mut ready = Vec::new();
        ready_lines(&lines, |reg| read.contains(&reg), &mut ready);
        let copies = copies(plan, inputs, &given);
        Self { lines: ready, registers, given, outputs, first_outputs, copies }
    }

    /// Sets what is given from the first entry of a column.
    pub(super) fn give(&mut self, k: usize, column: &Column) {
        for (register, bits) in self.registers[self.given[k]..].iter_mut().zip(lanes_of(column)) {
            *register = bits;
        }
    }

    /// Sets what is given from the lanes of all inputs of the plan.
    ///
    /// # Panics
    /// If there are too few.
    pub(super) fn give_lanes(&mut self, lanes: &[u64]) {
        for Copy { from, to, n } in &self.copies {
            self.registers[*to..][..*n].copy_from_slice(&lanes[*from..][..*n]);
        }
    }

    pub(super) fn run(&mut self) {
        run_lines(&self.lines, &mut self.registers);
    }

    /// Writes the lanes of all outputs, one behind the other.
    ///
    /// # Panics
    /// If there is not room for exactly these.
    pub(super) fn write_lanes(&self, to: &mut [u64]) {
        assert_eq!(to.len(), self.outputs.len(), "there is room for the lanes of all outputs");
        for (to, register) in to.iter_mut().zip(&self.outputs) {
            *to = self.registers[*register as usize];
        }
    }

    /// Writes output number `k`.
    ///
    /// # Panics
    /// If the slice is shorter, or of another lane.
    pub(super) fn write(&self, k: usize, lane: Lane, to: &mut LaneSliceMut<'_>) {
        assert_eq!(to.lane(), lane, "an output is written as what it is");
        let last = self.first_outputs.get(k + 1).copied().unwrap_or(self.outputs.len());
        let outputs = &self.outputs[self.first_outputs[k]..last];
        let bits = outputs.iter().map(|register| self.registers[*register as usize]);
        macro_rules! write {
            ($($name:ident),*) => {
                match to {
                    $(LaneSliceMut::$name(to) => {
                        let to = &mut to[..outputs.len()];
                        to.iter_mut().zip(bits).for_each(|(to, bits)| *to = LaneValue::from_bits(bits));
                    })*
                }
            };
        }
        write!(Bool, I32, I64, F32, F64);
    }
}

/// Where the lanes of all inputs of a plan go: those that are given, into the registers from there on.
fn copies(plan: &Plan, inputs: &[Option<u32>], given: &[usize]) -> Vec<Copy> {
    let mut copies: Vec<Copy> = Vec::new();
    let mut from = 0;
    for (input, k) in plan.inputs.as_slice().iter().zip(inputs) {
        let n = width(input.ty);
        if let Some(k) = k {
            let to = given[*k as usize];
            match copies.last_mut() {
                Some(last) if (last.from + last.n, last.to + last.n) == (from, to) => last.n += n,
                _ => copies.push(Copy { from, to, n }),
            }
        }
        from += n;
    }
    copies
}

/// The bits of the lanes of a column's first entry.
fn lanes_of(column: &Column) -> impl Iterator<Item = u64> {
    let (lanes, width) = lane_slice(column);
    (0..width).map(move |i| match lanes {
        LaneSlice::Bool(lanes) => lanes[i].to_bits(),
        LaneSlice::I32(lanes) => lanes[i].to_bits(),
        LaneSlice::I64(lanes) => lanes[i].to_bits(),
        LaneSlice::F32(lanes) => LaneValue::to_bits(lanes[i]),
        LaneSlice::F64(lanes) => LaneValue::to_bits(lanes[i]),
    })
}
