//! Lines: operations on registers as functions, each of which calls the function of the next line.
//!
//! A line calls the next one as its last action, so the compiler makes the call a jump. The
//! processor predicts such jumps individually, and the last results stay in machine registers;
//! otherwise a chain of operations would wait for each result to be written and read again. Results
//! are still written to the file, so that any later line can read them.
//!
//! Rows have at most [`ROW`] lines, which bounds the depth of calls if the compiler makes no jumps.

use std::marker::PhantomData;

use millstream_base::Lane;

use crate::interpret::only_value;
use crate::lane_value::LaneValue;
use crate::meaning::Visit;
use crate::storage::Stored;

/// One or more operations on registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) run: Run,
    pub(super) out: u32,
    pub(super) args: [u32; 3],
}

/// Runs a line and all lines after it. The numbers are the last two `f32`, the last two `f64`, and
/// the bits of the last other value computed by earlier lines, see [`Passed`].
pub(super) type Run = fn(&Line, &[Line], &mut [u64], f32, f32, f64, f64, u64);

/// Maximal number of lines in a row.
pub(super) const ROW: usize = 128;

/// Runs the lines of a row.
///
/// # Panics
/// If a line names a register that the file lacks.
#[inline]
pub(super) fn run_row(row: &[Line], regs: &mut [u64]) {
    debug_assert!(row.len() <= ROW, "rows are short");
    if let [line, rest @ ..] = row {
        (line.run)(line, rest, regs, 0.0, 0.0, 0.0, 0.0, 0);
    }
}

/// An operand in the file of registers.
pub(super) const STORED: u8 = 0;
/// An operand that is the last result of its lane; `bool`, `i32` and `i64` count as one lane.
pub(super) const LAST: u8 = 1;
/// An operand that is the result before the last of its lane; floats only.
pub(super) const BEFORE: u8 = 2;

/// The last results of lines, by lane, the newest first.
#[derive(Clone, Copy)]
struct Passed {
    f32s: [f32; 2],
    f64s: [f64; 2],
    other: u64,
}

impl Passed {
    #[inline(always)]
    fn get<A: Stored>(self, from: u8) -> A {
        let i = usize::from(from == BEFORE);
        A::from_bits(match A::LANE {
            Lane::F32 => LaneValue::to_bits(self.f32s[i]),
            Lane::F64 => LaneValue::to_bits(self.f64s[i]),
            Lane::Bool | Lane::I32 | Lane::I64 => self.other,
        })
    }

    /// The last results after one more of lane `lane`.
    #[inline(always)]
    fn after(mut self, lane: Lane, bits: u64) -> Self {
        match lane {
            Lane::F32 => self.f32s = [LaneValue::from_bits(bits), self.f32s[0]],
            Lane::F64 => self.f64s = [LaneValue::from_bits(bits), self.f64s[0]],
            Lane::Bool | Lane::I32 | Lane::I64 => self.other = bits,
        }
        self
    }
}

/// The operands of a line.
struct Operands<'r> {
    line: &'r Line,
    regs: &'r [u64],
    passed: Passed,
}

impl Operands<'_> {
    /// Operand `i`; `None` if there is no such register.
    #[inline(always)]
    fn get<A: Stored, const FROM: u8>(&self, i: usize) -> Option<A> {
        match FROM {
            STORED => self.regs.get(self.line.args[i] as usize).map(|bits| A::from_bits(*bits)),
            _ => Some(self.passed.get(FROM)),
        }
    }

    /// The values of three registers, the first of which is operand `i`.
    #[inline(always)]
    fn vector<A: Stored>(&self, i: usize) -> Option<[A; 3]> {
        let lanes = self.regs.get(self.line.args[i] as usize..)?.first_chunk::<3>()?;
        Some(lanes.map(A::from_bits))
    }
}

/// Writes the result of a line and runs the lines after it.
#[inline(always)]
fn run<R: Stored>(
    line: &Line,
    rest: &[Line],
    regs: &mut [u64],
    passed: Passed,
    compute: impl FnOnce(&Operands<'_>) -> Option<R>,
) {
    let result = compute(&Operands { line, regs, passed });
    let (Some(result), Some(out)) = (result, regs.get_mut(line.out as usize)) else {
        return no_register();
    };
    let bits = result.to_bits();
    // A branch, because a select would lengthen every chain.
    if is_nan(result) {
        let Passed { f32s: [a, b], f64s: [c, d], other } = passed;
        return nan::<R>(line, rest, regs, a, b, c, d, other);
    }
    *out = bits;
    run_next(rest, regs, passed.after(R::LANE, bits));
}

#[inline(always)]
#[expect(clippy::eq_op, reason = "floats alone differ from themselves, and only NaN does")]
fn is_nan<R: Stored>(result: R) -> bool {
    R::LANE.is_float() && result != result
}

#[inline(always)]
fn run_next(rest: &[Line], regs: &mut [u64], passed: Passed) {
    if let [line, rest @ ..] = rest {
        let Passed { f32s: [a, b], f64s: [c, d], other } = passed;
        (line.run)(line, rest, regs, a, b, c, d, other);
    }
}

/// Continues after a line whose result is NaN, with the canonical NaN.
#[cold]
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "these are the arguments of lines")]
fn nan<R: Stored>(
    line: &Line,
    rest: &[Line],
    regs: &mut [u64],
    a: f32,
    b: f32,
    c: f64,
    d: f64,
    other: u64,
) {
    let bits = match R::LANE {
        Lane::F32 => LaneValue::to_bits(f32::NAN),
        _ => LaneValue::to_bits(f64::NAN),
    };
    regs[line.out as usize] = bits;
    let passed = Passed { f32s: [a, b], f64s: [c, d], other };
    run_next(rest, regs, passed.after(R::LANE, bits));
}

#[cold]
#[inline(never)]
fn no_register() {
    panic!("lines name registers of their own file");
}

/// The function of a line that computes this.
macro_rules! line {
    (|$operands:ident| $result:expr) => {
        |line, rest, regs, a, b, c, d, other| {
            let passed = Passed { f32s: [a, b], f64s: [c, d], other };
            run(line, rest, regs, passed, |$operands| Some($result));
        }
    };
}

/// Makes the function of a line with one or two operations. The operands come from these places if
/// there is such a function, and else from their registers.
pub(super) struct Operation(pub(super) [u8; 3]);

/// Makes the function of a line with an operation that takes so long that the places of its
/// operands do not matter.
pub(super) struct LongOperation;

fn unary<A: Stored, R: Stored, F: Fn(A) -> R + Copy, const X: u8>(_held: F) -> Run {
    line!(|operands| {
        let f = only_value(PhantomData::<F>);
        f(operands.get::<A, X>(0)?)
    })
}

fn binary<A, R, F, const X: u8, const Y: u8>(_held: F) -> Run
where
    A: Stored,
    R: Stored,
    F: Fn(A, A) -> R + Copy,
{
    line!(|operands| {
        let f = only_value(PhantomData::<F>);
        f(operands.get::<A, X>(0)?, operands.get::<A, Y>(1)?)
    })
}

/// As [`unary`] with `f`, which equals `usual` unless the operand is `rare`. A separate function
/// handles rare operands, so that this one contains no calls, which cost time even if they are not
/// made.
fn unary_or_rare<A, R, F, G, H, const X: u8>(_f: F, _usual: G, _rare: H) -> Run
where
    A: Stored,
    R: Stored,
    F: Fn(A) -> R + Copy,
    G: Fn(A) -> R + Copy,
    H: Fn(A) -> bool + Copy,
{
    |line, rest, regs, a, b, c, d, other| {
        let passed = Passed { f32s: [a, b], f64s: [c, d], other };
        let usual = only_value(PhantomData::<G>);
        let Some(x) = (Operands { line, regs, passed }).get::<A, X>(0) else {
            return no_register();
        };
        if only_value(PhantomData::<H>)(x) {
            let all = unary::<A, R, F, X>(only_value(PhantomData::<F>));
            return all(line, rest, regs, a, b, c, d, other);
        }
        run(line, rest, regs, passed, |_| Some(usual(x)));
    }
}

/// As [`binary`] with `f`, which equals `usual` unless the operands are `rare`, see
/// [`unary_or_rare`].
fn binary_or_rare<A, R, F, G, H, const X: u8, const Y: u8>(_f: F, _usual: G, _rare: H) -> Run
where
    A: Stored,
    R: Stored,
    F: Fn(A, A) -> R + Copy,
    G: Fn(A, A) -> R + Copy,
    H: Fn(A, A) -> bool + Copy,
{
    |line, rest, regs, a, b, c, d, other| {
        let passed = Passed { f32s: [a, b], f64s: [c, d], other };
        let usual = only_value(PhantomData::<G>);
        let operands = Operands { line, regs, passed };
        let (Some(x), Some(y)) = (operands.get::<A, X>(0), operands.get::<A, Y>(1)) else {
            return no_register();
        };
        if only_value(PhantomData::<H>)(x, y) {
            let all = binary::<A, R, F, X, Y>(only_value(PhantomData::<F>));
            return all(line, rest, regs, a, b, c, d, other);
        }
        run(line, rest, regs, passed, |_| Some(usual(x, y)));
    }
}

fn ternary<A, B, F, const X: u8, const Y: u8, const Z: u8>(_held: F) -> Run
where
    A: Stored,
    B: Stored,
    F: Fn(A, B, B) -> B + Copy,
{
    line!(|operands| {
        let f = only_value(PhantomData::<F>);
        f(operands.get::<A, X>(0)?, operands.get::<B, Y>(1)?, operands.get::<B, Z>(2)?)
    })
}

/// Whether operands of this type may be the result before the last.
fn is_float<A: Stored>() -> bool {
    A::LANE.is_float()
}

/// The function for operations with two operands that come from these places.
macro_rules! from_two {
    ($sources:expr, $function:ident<$a:ty $(, $t:ty)*>($($f:expr),*)) => {
        match ($sources[0], $sources[1]) {
            (LAST, LAST) => $function::<$a, $($t,)* LAST, LAST>($($f),*),
            (LAST, BEFORE) if is_float::<$a>() => $function::<$a, $($t,)* LAST, BEFORE>($($f),*),
            (LAST, _) => $function::<$a, $($t,)* LAST, STORED>($($f),*),
            (BEFORE, LAST) if is_float::<$a>() => $function::<$a, $($t,)* BEFORE, LAST>($($f),*),
            (_, LAST) => $function::<$a, $($t,)* STORED, LAST>($($f),*),
            (BEFORE, _) if is_float::<$a>() => $function::<$a, $($t,)* BEFORE, STORED>($($f),*),
            (_, BEFORE) if is_float::<$a>() => $function::<$a, $($t,)* STORED, BEFORE>($($f),*),
            _ => $function::<$a, $($t,)* STORED, STORED>($($f),*),
        }
    };
}

impl Visit for Operation {
    type Output = Run;
    type Long = LongOperation;

    fn long(self) -> LongOperation {
        LongOperation
    }
    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) -> Run {
        match self.0[0] {
            LAST => unary::<A, R, _, LAST>(f),
            BEFORE if is_float::<A>() => unary::<A, R, _, BEFORE>(f),
            _ => unary::<A, R, _, STORED>(f),
        }
    }
    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) -> Run {
        from_two!(self.0, binary < A, R, _ > (f))
    }
    fn binary_or_single<A: Stored>(
        self,
        f: impl Fn(A, A) -> A + Copy,
        usual: impl Fn(A, A) -> A + Copy,
        rare: impl Fn(A, A) -> bool + Copy,
    ) -> Run {
        from_two!(self.0, binary_or_rare < A, A, _, _, _ > (f, usual, rare))
    }
    fn binary_with_rare<A: Stored, R: Stored>(
        self,
        f: impl Fn(A, A) -> R + Copy,
        usual: impl Fn(A, A) -> R + Copy,
        rare: impl Fn(A, A) -> bool + Copy,
    ) -> Run {
        binary_or_rare::<A, R, _, _, _, STORED, STORED>(f, usual, rare)
    }
    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) -> Run {
        match self.0 {
            [LAST, LAST, _] => ternary::<A, A, _, LAST, LAST, STORED>(f),
            [LAST, _, _] => ternary::<A, A, _, LAST, STORED, STORED>(f),
            [_, LAST, _] => ternary::<A, A, _, STORED, LAST, STORED>(f),
            [_, _, LAST] => ternary::<A, A, _, STORED, STORED, LAST>(f),
            [BEFORE, _, _] => ternary::<A, A, _, BEFORE, STORED, STORED>(f),
            [_, BEFORE, _] => ternary::<A, A, _, STORED, BEFORE, STORED>(f),
            [_, _, BEFORE] => ternary::<A, A, _, STORED, STORED, BEFORE>(f),
            _ => ternary::<A, A, _, STORED, STORED, STORED>(f),
        }
    }
    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) -> Run {
        match self.0 {
            [LAST, LAST, _] if is_float::<A>() => ternary::<_, A, _, LAST, LAST, STORED>(f),
            [LAST, _, LAST] if is_float::<A>() => ternary::<_, A, _, LAST, STORED, LAST>(f),
            [LAST, _, _] => ternary::<_, A, _, LAST, STORED, STORED>(f),
            [_, LAST, _] => ternary::<_, A, _, STORED, LAST, STORED>(f),
            [_, _, LAST] => ternary::<_, A, _, STORED, STORED, LAST>(f),
            _ => ternary::<_, A, _, STORED, STORED, STORED>(f),
        }
    }
}

impl Visit for LongOperation {
    type Output = Run;
    type Long = Self;

    fn long(self) -> Self {
        self
    }
    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) -> Run {
        unary::<A, R, _, STORED>(f)
    }
    fn unary_with_rare<A: Stored, R: Stored>(
        self,
        f: impl Fn(A) -> R + Copy,
        usual: impl Fn(A) -> R + Copy,
        rare: impl Fn(A) -> bool + Copy,
    ) -> Run {
        unary_or_rare::<A, R, _, _, _, STORED>(f, usual, rare)
    }
    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) -> Run {
        binary::<A, R, _, STORED, STORED>(f)
    }
    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) -> Run {
        ternary::<A, A, _, STORED, STORED, STORED>(f)
    }
    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) -> Run {
        ternary::<_, A, _, STORED, STORED, STORED>(f)
    }
}

/// The function of a line that computes `f` for two 3-vectors, whose first registers are its
/// operands.
pub(super) fn of_vectors<A, F>(_held: F) -> Run
where
    A: Stored,
    F: Fn([A; 3], [A; 3]) -> A + Copy,
{
    line!(|operands| {
        let f = only_value(PhantomData::<F>);
        f(operands.vector(0)?, operands.vector(1)?)
    })
}

/// The function of a line that picks one of several registers of a lane. Its operands are the
/// selector, the first of the registers that hold the numbers of the candidates, and the number of
/// candidates.
pub(super) fn pick(lane: Lane, selector: u8) -> Run {
    match lane {
        Lane::Bool => pick_of::<bool>(selector),
        Lane::I32 => pick_of::<i32>(selector),
        Lane::I64 => pick_of::<i64>(selector),
        Lane::F32 => pick_of::<f32>(selector),
        Lane::F64 => pick_of::<f64>(selector),
    }
}

fn pick_of<R: Stored>(selector: u8) -> Run {
    match selector {
        LAST => pick_by::<R, LAST>(),
        _ => pick_by::<R, STORED>(),
    }
}

fn pick_by<R: Stored, const FROM: u8>() -> Run {
    line!(|operands| {
        let [_, first, n] = operands.line.args;
        let number = operands.get::<i32, FROM>(0)?.max(0) as u32;
        let from = *operands.regs.get((first + number.min(n - 1)) as usize)?;
        R::from_bits(*operands.regs.get(from as usize)?)
    })
}
