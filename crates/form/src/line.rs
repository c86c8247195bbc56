//! Straight code over one file of registers: the operations of many forms behind one another.
//!
//! A form numbers its own registers; a [`Line`] names those of the whole file, so that what one
//! form gives another reads without a copy. What the operations mean is said in `meaning` alone.
//! Before they run, lines are made ready: [`ready_lines`] finds the function of each, or of several as
//! one, so that a run of a line is one call.

mod block;
mod coarse;

use std::marker::PhantomData;

use millstream_base::Lane;

use super::columns::Stored;
use super::meaning::{Visit, apply};
use super::op::Op;
use super::scalar::only_value;

pub use block::{Block, BlockRegisters};
pub use coarse::ready_lines;

/// One operation on registers of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    op: Op,
    of: Lane,
    to: Lane,
    out: u32,
    args: [u32; 3],
}

impl Line {
    /// The operation on these registers; unused `args` are ignored.
    ///
    /// # Panics
    /// If the operation is a constant or a parameter, which compute nothing.
    pub fn new(op: Op, of: Lane, to: Lane, out: u32, args: [u32; 3]) -> Self {
        let computes = !matches!(op, Op::Const(_) | Op::Param(_));
        assert!(computes, "constants and parameters are no lines");
        Self { op, of, to, out, args }
    }

    /// The registers that are read.
    fn args(&self) -> &[u32] {
        &self.args[..self.op.arity()]
    }

    /// The line as it stands, to be run.
    ///
    /// # Panics
    /// If the operation does not take the lanes.
    pub fn ready(&self) -> ReadyLine {
        let places = Places { out: self.out, args: self.args };
        ReadyLine { run: apply(self.op, self.of, self.to, AsRun), places }
    }
}

/// A line with the function that runs it.
#[derive(Clone, Copy, Debug)]
pub struct ReadyLine {
    run: Run,
    places: Places,
}

/// Reads the operands and writes the result.
type Run = fn(&Places, &mut [u64]);

/// The registers of a line.
#[derive(Clone, Copy, Debug)]
struct Places {
    out: u32,
    args: [u32; 3],
}

impl Places {
    #[inline(always)]
    fn get<A: Stored>(&self, regs: &[u64], i: usize) -> A {
        A::from_bits(regs[self.args[i] as usize])
    }

    /// The values of three registers, of which operand number `i` is the first.
    #[inline(always)]
    fn vector<A: Stored>(&self, regs: &[u64], i: usize) -> [A; 3] {
        let first = self.args[i] as usize;
        let [x, y, z] = *regs[first..].first_chunk().expect("a vector has three registers");
        [x, y, z].map(A::from_bits)
    }

    #[inline(always)]
    fn set<A: Stored>(&self, regs: &mut [u64], value: A) {
        regs[self.out as usize] = value.to_bits();
    }
}

/// Runs lines one after the other.
///
/// # Panics
/// If a line names a register that the file lacks.
pub fn run_lines(lines: &[ReadyLine], regs: &mut [u64]) {
    for line in lines {
        (line.run)(&line.places, regs);
    }
}

/// Makes the function that runs an operation.
struct AsRun;

fn unary<A: Stored, R: Stored, F: Fn(A) -> R + Copy>(_held: F) -> Run {
    |at, regs| {
        let f = only_value(PhantomData::<F>);
        at.set(regs, f(at.get(regs, 0)));
    }
}

fn binary<A: Stored, R: Stored, F: Fn(A, A) -> R + Copy>(_held: F) -> Run {
    |at, regs| {
        let f = only_value(PhantomData::<F>);
        at.set(regs, f(at.get(regs, 0), at.get(regs, 1)));
    }
}

fn ternary<A: Stored, F: Fn(A, A, A) -> A + Copy>(_held: F) -> Run {
    |at, regs| {
        let f = only_value(PhantomData::<F>);
        at.set(regs, f(at.get(regs, 0), at.get(regs, 1), at.get(regs, 2)));
    }
}

fn select<A: Stored, F: Fn(bool, A, A) -> A + Copy>(_held: F) -> Run {
    |at, regs| {
        let f = only_value(PhantomData::<F>);
        at.set(regs, f(at.get(regs, 0), at.get(regs, 1), at.get(regs, 2)));
    }
}

impl Visit for AsRun {
    type Output = Run;

    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) -> Run {
        unary(f)
    }
    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) -> Run {
        binary(f)
    }
    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) -> Run {
        ternary(f)
    }
    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) -> Run {
        select(f)
    }
}

#[cfg(test)]
mod tests;
