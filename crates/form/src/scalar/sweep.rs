//! Straight code over 256 registers for sweeps of live graphs, whose lines hand results to each
//! other directly.
//!
//! In a chain, storing a result and loading it again takes longer than most operations. So each
//! line gets the last two results as arguments as well, in registers of the processor,
//! and reads operands from there where it can. Results are stored all the same. This holds for
//! arithmetic on floats of one width, which is that of most lines of the code.

use std::marker::PhantomData;

use millstream_base::Lane;

use crate::arithmetic::FloatLane;
use crate::interpret::only_value;
use crate::meaning::{Visit, VisitArithmetic, apply, arithmetic};
use crate::op::Op;
use crate::storage::Stored;

/// The registers of the code.
pub type SweepRegisters = [u64; 256];

/// One operation on [`SweepRegisters`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepLine {
    op: Op,
    of: Lane,
    to: Lane,
    out: u32,
    args: [u32; 3],
}

impl SweepLine {
    /// The operation on these registers; unused `args` are ignored.
    ///
    /// # Panics
    /// If the operation is a constant or a parameter, which compute nothing.
    pub fn new(op: Op, of: Lane, to: Lane, out: u32, args: [u32; 3]) -> Self {
        let computes = !matches!(op, Op::Const(_) | Op::Param(_));
        assert!(computes, "constants and parameters are no lines");
        Self { op, of, to, out, args }
    }
}

/// Straight code over [`SweepRegisters`].
#[derive(Debug)]
pub struct SweepCode(Lines);

#[derive(Debug)]
enum Lines {
    F32(Box<[ReadyLine<f32>]>),
    F64(Box<[ReadyLine<f64>]>),
}

impl SweepCode {
    /// The code of these lines, of which each reads registers that were written before.
    ///
    /// # Panics
    /// If an operation does not take its lanes, or a register is not below 256.
    pub fn new(lines: &[SweepLine]) -> Self {
        let n_of = |lane: Lane| lines.iter().filter(|line| line.to == lane).count();
        if n_of(Lane::F32) > n_of(Lane::F64) {
            Self(Lines::F32(ready_lines(lines)))
        } else {
            Self(Lines::F64(ready_lines(lines)))
        }
    }

    /// Runs the lines one after the other. A NaN that they compute is canonical.
    #[inline]
    pub fn run(&self, regs: &mut SweepRegisters) {
        match &self.0 {
            Lines::F32(lines) => run(lines, regs),
            Lines::F64(lines) => run(lines, regs),
        }
    }

    /// Bytes of the lines.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Lines::F32(lines) => size_of_val(&**lines),
            Lines::F64(lines) => size_of_val(&**lines),
        }
    }
}

/// Runs lines, eight in each round: with a call of its own for each of them, the processor predicts
/// the functions of lines that come in a pattern.
fn run<A: FloatLane>(lines: &[ReadyLine<A>], regs: &mut SweepRegisters) {
    let mut results = (A::default(), A::default());
    let mut run = |line: &ReadyLine<A>| {
        results = (line.run)(results.0, results.1, &line.places, regs);
    };
    let (rounds, rest) = lines.as_chunks();
    for [a, b, c, d, e, f, g, h] in rounds {
        run(a);
        run(b);
        run(c);
        run(d);
        run(e);
        run(f);
        run(g);
        run(h);
    }
    rest.iter().for_each(run);
}

/// A line with the function that runs it.
#[derive(Clone, Copy, Debug)]
struct ReadyLine<A> {
    run: Run<A>,
    places: Places,
}

/// The registers of a line.
#[derive(Clone, Copy, Debug)]
struct Places {
    out: u8,
    args: [u8; 3],
}

/// Runs a line: takes the last result and the one before, and returns these as they are afterwards.
type Run<A> = fn(A, A, &Places, &mut SweepRegisters) -> (A, A);

impl Places {
    #[inline(always)]
    fn get<T: Stored>(self, regs: &SweepRegisters, i: usize) -> T {
        T::from_bits(regs[self.args[i] as usize])
    }

    #[inline(always)]
    fn set<T: Stored>(self, regs: &mut SweepRegisters, value: T) {
        regs[self.out as usize] = canonical_nan(T::LANE, value.to_bits());
    }
}

/// The bits of a value, with the canonical NaN for any NaN. The comparison is one of integers,
/// because the compiler takes all NaNs for the same when it knows which operation computed one.
#[inline(always)]
fn canonical_nan(lane: Lane, bits: u64) -> u64 {
    match lane {
        Lane::F32 if bits & 0x7fff_ffff > 0x7f80_0000 => u64::from(f32::NAN.to_bits()),
        Lane::F64 if bits & (u64::MAX >> 1) > 0x7ff0_0000_0000_0000 => f64::NAN.to_bits(),
        Lane::Bool | Lane::I32 | Lane::I64 | Lane::F32 | Lane::F64 => bits,
    }
}

fn ready_lines<A: FloatLane>(lines: &[SweepLine]) -> Box<[ReadyLine<A>]> {
    // The registers of the last result that is handed on, and of the one before.
    let mut handed = [None; 2];
    let place = |reg: u32| u8::try_from(reg).expect("the code has 256 registers");
    let ready_line = |line: &SweepLine| {
        let from = |arg: u32| match handed {
            [Some(last), _] if last == arg => LAST,
            [_, Some(before)] if before == arg => BEFORE,
            _ => STORED,
        };
        let is_arithmetic = line.of == A::LANE && line.to == A::LANE;
        let [a, b, _] = line.args;
        let handing = is_arithmetic.then(|| arithmetic::<A, _>(line.op, Handing(from(a), from(b))));
        let run = match handing.flatten() {
            Some(run) => {
                handed = [Some(line.out), handed[0].filter(|before| *before != line.out)];
                run
            }
            None => {
                handed = handed.map(|reg| reg.filter(|reg| *reg != line.out));
                apply(line.op, line.of, line.to, Storing(PhantomData))
            }
        };
        let n_args = line.op.arity();
        let args = std::array::from_fn(|i| if i < n_args { place(line.args[i]) } else { 0 });
        ReadyLine { run, places: Places { out: place(line.out), args } }
    };
    lines.iter().map(ready_line).collect()
}

/// An operand is read from its register.
const STORED: u8 = 0;
/// An operand is the last result.
const LAST: u8 = 1;
/// An operand is the result before the last.
const BEFORE: u8 = 2;

/// Makes functions that hand their results on, with operands that come from these places.
struct Handing(u8, u8);

impl<A: FloatLane> VisitArithmetic<A> for Handing {
    type Output = Run<A>;

    fn binary(self, f: impl Fn(A, A) -> A + Copy) -> Run<A> {
        match (self.0, self.1) {
            (LAST, LAST) => handing::<A, _, LAST, LAST>(f),
            (LAST, BEFORE) => handing::<A, _, LAST, BEFORE>(f),
            (LAST, _) => handing::<A, _, LAST, STORED>(f),
            (BEFORE, LAST) => handing::<A, _, BEFORE, LAST>(f),
            (BEFORE, _) => handing::<A, _, BEFORE, STORED>(f),
            (_, LAST) => handing::<A, _, STORED, LAST>(f),
            (_, BEFORE) => handing::<A, _, STORED, BEFORE>(f),
            (_, _) => handing::<A, _, STORED, STORED>(f),
        }
    }
}

fn handing<A: FloatLane, F: Fn(A, A) -> A + Copy, const X: u8, const Y: u8>(_held: F) -> Run<A> {
    |last, before, at, regs| {
        let f = only_value(PhantomData::<F>);
        let operand = |from: u8, i: usize| match from {
            LAST => last,
            BEFORE => before,
            _ => at.get(regs, i),
        };
        let result = f(operand(X, 0), operand(Y, 1));
        if A::nan(result) {
            return handing_nan(last, *at, regs);
        }
        regs[at.out as usize] = crate::LaneValue::to_bits(result);
        (result, last)
    }
}

#[cold]
#[inline(never)]
fn handing_nan<A: FloatLane>(last: A, at: Places, regs: &mut SweepRegisters) -> (A, A) {
    at.set(regs, A::NAN);
    (A::NAN, last)
}

/// Makes functions that only store their results.
struct Storing<A>(PhantomData<fn(A)>);

impl<A: FloatLane> Visit for Storing<A> {
    type Output = Run<A>;
    type Long = Self;

    fn long(self) -> Self {
        self
    }
    fn unary<T: Stored, R: Stored>(self, f: impl Fn(T) -> R + Copy) -> Run<A> {
        storing_unary(f)
    }
    fn binary<T: Stored, R: Stored>(self, f: impl Fn(T, T) -> R + Copy) -> Run<A> {
        storing_binary(f)
    }
    fn ternary<T: Stored>(self, f: impl Fn(T, T, T) -> T + Copy) -> Run<A> {
        storing_ternary(f)
    }
    fn select<T: Stored>(self, f: impl Fn(bool, T, T) -> T + Copy) -> Run<A> {
        storing_select(f)
    }
}

fn storing_unary<A, T: Stored, R: Stored, F: Fn(T) -> R + Copy>(_held: F) -> Run<A> {
    |last, before, at, regs| {
        let f = only_value(PhantomData::<F>);
        at.set(regs, f(at.get(regs, 0)));
        (last, before)
    }
}

fn storing_binary<A, T: Stored, R: Stored, F: Fn(T, T) -> R + Copy>(_held: F) -> Run<A> {
    |last, before, at, regs| {
        let f = only_value(PhantomData::<F>);
        at.set(regs, f(at.get(regs, 0), at.get(regs, 1)));
        (last, before)
    }
}

fn storing_ternary<A, T: Stored, F: Fn(T, T, T) -> T + Copy>(_held: F) -> Run<A> {
    |last, before, at, regs| {
        let f = only_value(PhantomData::<F>);
        at.set(regs, f(at.get(regs, 0), at.get(regs, 1), at.get(regs, 2)));
        (last, before)
    }
}

fn storing_select<A, T: Stored, F: Fn(bool, T, T) -> T + Copy>(_held: F) -> Run<A> {
    |last, before, at, regs| {
        let f = only_value(PhantomData::<F>);
        at.set(regs, f(at.get(regs, 0), at.get(regs, 1), at.get(regs, 2)));
        (last, before)
    }
}
