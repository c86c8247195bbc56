//! Lines: operations on registers as functions that are ready to be called.
//!
//! A chain of operations waits for each result to be written and read again. So a line also passes
//! its result on in a processor register, and there are variants of the short `f32` operations that
//! take one operand from there.

use std::marker::PhantomData;

use millstream_base::Lane;

use crate::interpret::only_value;
use crate::meaning::Visit;
use crate::storage::Stored;

/// Reads the operands and writes the result. The last `f32` that was computed comes in, and that of
/// this line, if its result is one, goes out.
pub(super) type Run = fn(&Places, &mut [u64], f32) -> f32;

/// An operation on registers, or several as one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) run: Run,
    pub(super) places: Places,
}

/// The registers of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    pub(super) out: u32,
    pub(super) args: [u32; 3],
}

/// No operand is the last `f32`.
pub(super) const NONE: usize = 3;

/// Both operands of two are.
pub(super) const BOTH: usize = 4;

impl Places {
    /// Operand number `I`, which is the last `f32` if `LAST` has this number.
    #[inline(always)]
    fn get<A: Stored, const I: usize, const LAST: usize>(&self, regs: &[u64], last: f32) -> A {
        if I == LAST || LAST == BOTH {
            A::from_bits(u64::from(last.to_bits()))
        } else {
            A::from_bits(regs[self.args[I] as usize])
        }
    }

    /// The values of three registers, of which operand number `i` is the first.
    #[inline(always)]
    pub(super) fn vector<A: Stored>(&self, regs: &[u64], i: usize) -> [A; 3] {
        let first = self.args[i] as usize;
        let [x, y, z] = *regs[first..].first_chunk().expect("a vector has three registers");
        [x, y, z].map(A::from_bits)
    }

    /// Writes the result, and gives the last `f32` after it.
    #[inline(always)]
    pub(super) fn set<A: Stored>(&self, regs: &mut [u64], value: A, last: f32) -> f32 {
        let bits = value.to_bits();
        regs[self.out as usize] = bits;
        if A::LANE == Lane::F32 { f32::from_bits(bits as u32) } else { last }
    }
}

/// Runs lines one after the other.
///
/// # Panics
/// If a line names a register that the file lacks.
pub(super) fn run_lines(lines: &[Line], regs: &mut [u64]) {
    let mut last = 0.0;
    for line in lines {
        last = (line.run)(&line.places, regs, last);
    }
}

/// Makes the function that runs a short operation; the operand of this number is the last `f32`.
pub(super) struct Short(pub(super) usize);

/// Makes the function that runs an operation whose operands are all read from registers.
pub(super) struct Long;

fn unary<A: Stored, R: Stored, F: Fn(A) -> R + Copy, const LAST: usize>(_held: F) -> Run {
    |at, regs, last| {
        let f = only_value(PhantomData::<F>);
        at.set(regs, f(at.get::<A, 0, LAST>(regs, last)), last)
    }
}

fn binary<A: Stored, R: Stored, F: Fn(A, A) -> R + Copy, const LAST: usize>(_held: F) -> Run {
    |at, regs, last| {
        let f = only_value(PhantomData::<F>);
        let (a, b) = (at.get::<A, 0, LAST>(regs, last), at.get::<A, 1, LAST>(regs, last));
        at.set(regs, f(a, b), last)
    }
}

fn ternary<A, B, F, const LAST: usize>(_held: F) -> Run
where
    A: Stored,
    B: Stored,
    F: Fn(A, B, B) -> B + Copy,
{
    |at, regs, last| {
        let f = only_value(PhantomData::<F>);
        let a = at.get::<A, 0, LAST>(regs, last);
        let (b, c) = (at.get::<B, 1, LAST>(regs, last), at.get::<B, 2, LAST>(regs, last));
        at.set(regs, f(a, b, c), last)
    }
}

impl Visit for Short {
    type Output = Run;
    type Long = Long;

    fn long(self) -> Long {
        Long
    }
    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) -> Run {
        match self.0 {
            0 => unary::<A, R, _, 0>(f),
            _ => unary::<A, R, _, NONE>(f),
        }
    }
    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) -> Run {
        match self.0 {
            0 => binary::<A, R, _, 0>(f),
            1 => binary::<A, R, _, 1>(f),
            BOTH => binary::<A, R, _, BOTH>(f),
            _ => binary::<A, R, _, NONE>(f),
        }
    }
    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) -> Run {
        match self.0 {
            0 => ternary::<A, A, _, 0>(f),
            1 => ternary::<A, A, _, 1>(f),
            2 => ternary::<A, A, _, 2>(f),
            _ => ternary::<A, A, _, NONE>(f),
        }
    }
    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) -> Run {
        match self.0 {
            1 => ternary::<bool, A, _, 1>(f),
            2 => ternary::<bool, A, _, 2>(f),
            _ => ternary::<bool, A, _, NONE>(f),
        }
    }
}

impl Visit for Long {
    type Output = Run;
    type Long = Self;

    fn long(self) -> Self {
        self
    }
    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) -> Run {
        unary::<A, R, _, NONE>(f)
    }
    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) -> Run {
        binary::<A, R, _, NONE>(f)
    }
    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) -> Run {
        ternary::<A, A, _, NONE>(f)
    }
    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) -> Run {
        ternary::<bool, A, _, NONE>(f)
    }
}
