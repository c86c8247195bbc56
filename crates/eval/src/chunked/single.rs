//! Programs on single values: the forms of all stages as one straight line over registers.
//!
//! Constants lie in registers from the start, parameters are the registers of what is given, so that
//! a run is the computing operations alone.

use millstream_base::id::Id;
use millstream_base::{Column, Lane};
use millstream_ir::plan::Plan;
use millstream_kernel::form::{LaneSlice, LaneSliceMut, LaneValue, Line, Op, run_lines};

use crate::fuse::width;
use crate::lanes::lane_slice;
use crate::stages::{At, Stages, column_of};

/// The stages of a plan for one cell.
#[derive(Debug)]
pub(super) struct Single {
    lines: Vec<Line>,
    registers: Vec<u64>,
    /// For what is given its first register.
    given: Vec<usize>,
    /// For each output the registers of its lanes.
    outputs: Vec<Vec<usize>>,
}

impl Single {
    pub(super) fn new(plan: &Plan, stages: &Stages) -> Self {
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
        let mut outputs = Vec::with_capacity(stages.outputs.len());
        for (at, item) in &stages.outputs {
            outputs.push(match at {
                At::Value(k) => values[*k as usize].clone(),
                At::Given(k) => {
                    let first = given[*k as usize];
                    (first..first + width(item.ty)).collect()
                }
                At::Const(id) => {
                    let first = registers.len();
                    registers.extend(lanes_of(&column_of(&plan.constants[*id])));
                    (first..registers.len()).collect()
                }
            });
        }
        Self { lines, registers, given, outputs }
    }

    /// Sets what is given from the first entry of a column.
    pub(super) fn give(&mut self, k: usize, column: &Column) {
        for (register, bits) in self.registers[self.given[k]..].iter_mut().zip(lanes_of(column)) {
            *register = bits;
        }
    }

    /// Sets what is given.
    pub(super) fn give_lanes(&mut self, k: usize, lanes: &[u64]) {
        let first = self.given[k];
        self.registers[first..first + lanes.len()].copy_from_slice(lanes);
    }

    pub(super) fn run(&mut self) {
        run_lines(&self.lines, &mut self.registers);
    }

    /// The bits of the lanes of all outputs, one behind the other.
    pub(super) fn results(&self) -> impl Iterator<Item = u64> {
        self.outputs.iter().flatten().map(|register| self.registers[*register])
    }

    /// Writes output number `k`.
    ///
    /// # Panics
    /// If the slice is shorter, or of another lane.
    pub(super) fn write(&self, k: usize, lane: Lane, to: &mut LaneSliceMut<'_>) {
        assert_eq!(to.lane(), lane, "an output is written as what it is");
        let bits = self.outputs[k].iter().map(|register| self.registers[*register]);
        macro_rules! write {
            ($($name:ident),*) => {
                match to {
                    $(LaneSliceMut::$name(to) => {
                        let to = &mut to[..self.outputs[k].len()];
                        to.iter_mut().zip(bits).for_each(|(to, bits)| *to = LaneValue::from_bits(bits));
                    })*
                }
            };
        }
        write!(Bool, I32, I64, F32, F64);
    }
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
