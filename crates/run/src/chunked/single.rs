//! Prepared programs for a single cell: a program over registers.

use std::convert::Infallible;
use std::ops::Range;

use millstream_base::id::Id;
use millstream_base::{Lane, Value};
use millstream_form::{LaneSliceMut, LaneValue, Registers};
use millstream_ir::plan::Plan;
use millstream_ir::request::Bound;

use crate::fuse::width;
use crate::program::PlanProgram;

/// A program on single values with its registers.
#[derive(Debug)]
pub(super) struct Single {
    program: PlanProgram,
    registers: Registers,
    /// For each input of the plan the position of its lanes in a row of all inputs.
    inputs: Vec<Range<usize>>,
    /// Lanes that are copied from a row of all inputs into registers.
    copies: Vec<Run>,
    /// The row of values that were set, and whether the registers hold another.
    row: Vec<u64>,
    is_stale: bool,
    /// For each output its registers, and their position in a row of all outputs.
    outputs: Vec<Run>,
}

/// Lanes that are contiguous both in a row and in the registers.
#[derive(Clone, Copy, Debug)]
struct Run {
    at: usize,
    register: u32,
    n: usize,
}

impl Single {
    /// The program for the outputs of a request, with the provided data; `None` if a step does more
    /// than compute with numbers.
    pub(super) fn new(plan: &Plan, bound: &Bound) -> Option<Self> {
        let program = PlanProgram::of_values(plan, &bound.outputs)?;
        let mut registers = program.program.registers();
        program.give(&mut registers, bound);
        let mut registers_of = vec![None; plan.inputs.len()];
        for (input, first) in &program.inputs {
            registers_of[input.index()] = Some(*first);
        }
        let (mut inputs, mut row) = (Vec::with_capacity(plan.inputs.len()), Vec::new());
        for (input, first) in plan.inputs.as_slice().iter().zip(&registers_of) {
            let (n, at) = (width(input.ty), row.len());
            match first {
                Some(first) => row.extend_from_slice(&registers.from(*first)[..n]),
                None => row.resize(at + n, 0),
            }
            inputs.push(at..row.len());
        }
        let copies = runs(inputs.iter().map(Range::len).zip(registers_of));
        let mut at = 0;
        let outputs = program.outputs.iter().map(|(k, first)| {
            let n = width(plan.outputs[*k].ty);
            at += n;
            Run { at: at - n, register: *first, n }
        });
        let outputs = outputs.collect();
        Some(Self { program, registers, inputs, copies, row, is_stale: false, outputs })
    }

    /// Sets an input.
    #[inline]
    pub(super) fn give(&mut self, input: usize, value: &Value) {
        let row = &mut self.row[self.inputs[input].clone()];
        for (i, to) in row.iter_mut().enumerate() {
            *to = value.lane(i).expect("a value has the lanes of its type");
        }
        self.is_stale = true;
    }

    /// Runs with the values that were set.
    #[inline]
    pub(super) fn run(&mut self) {
        if std::mem::take(&mut self.is_stale) {
            copy(&self.copies, &self.row, &mut self.registers);
        }
        self.run_registers();
    }

    /// Runs with a row of the lanes of all inputs of the plan.
    ///
    /// # Panics
    /// If there are too few.
    #[inline]
    pub(super) fn run_lanes(&mut self, lanes: &[u64]) {
        copy(&self.copies, lanes, &mut self.registers);
        self.is_stale = true;
        self.run_registers();
    }

    #[inline]
    fn run_registers(&mut self) {
        let Ok(()) = self.program.program.run(&mut self.registers, |_| Ok::<_, Infallible>(()));
    }

    /// Writes the lanes of all outputs, one after the other.
    ///
    /// # Panics
    /// If the size is not exactly theirs.
    #[inline]
    pub(super) fn write_lanes(&self, to: &mut [u64]) {
        let n: usize = self.outputs.last().map_or(0, |last| last.at + last.n);
        assert_eq!(to.len(), n, "there is room for the lanes of all outputs");
        for Run { at, register, n } in &self.outputs {
            to[*at..][..*n].copy_from_slice(&self.registers.from(*register)[..*n]);
        }
    }

    /// The lanes of output `k`.
    #[inline]
    pub(super) fn lanes(&self, k: usize) -> &[u64] {
        let Run { register, n, .. } = self.outputs[k];
        &self.registers.from(register)[..n]
    }

    /// Writes output `k`.
    ///
    /// # Panics
    /// If the slice is shorter, or of another lane.
    pub(super) fn write(&self, k: usize, lane: Lane, to: &mut LaneSliceMut<'_>) {
        assert_eq!(to.lane(), lane, "an output is written as what it is");
        let bits = self.lanes(k);
        let n = bits.len();
        macro_rules! write {
            ($($name:ident),*) => {
                match to {
                    $(LaneSliceMut::$name(to) => {
                        let to = to[..n].iter_mut().zip(bits);
                        to.for_each(|(to, bits)| *to = LaneValue::from_bits(*bits));
                    })*
                }
            };
        }
        write!(Bool, I32, I64, F32, F64);
    }
}

#[inline]
fn copy(copies: &[Run], row: &[u64], registers: &mut Registers) {
    for Run { at, register, n } in copies {
        registers.from_mut(*register)[..*n].copy_from_slice(&row[*at..][..*n]);
    }
}

/// The lanes of a row that go into registers, with adjacent ones joined.
fn runs(row: impl Iterator<Item = (usize, Option<u32>)>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut at = 0;
    for (n, register) in row {
        if let Some(register) = register {
            match runs.last_mut() {
                Some(last)
                    if (last.at + last.n, last.register + last.n as u32) == (at, register) =>
                {
                    last.n += n;
                }
                _ => runs.push(Run { at, register, n }),
            }
        }
        at += n;
    }
    runs
}
