//! Straight code over one file of registers: the operations of many forms behind one another.
//!
//! A form numbers its own registers; a [`Line`] names those of the whole file, so that what one
//! form gives another reads without a copy. What the operations mean is said in `meaning` alone.

use millstream_base::Lane;

use super::columns::Stored;
use super::meaning::{Visit, apply};
use super::op::Op;

/// One operation on registers of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Position in [`Op::COMPUTING`]: an `Op` is four times as large.
    op: u8,
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
        let op = Op::COMPUTING.iter().position(|known| *known == op);
        let op = op.expect("constants and parameters are no lines") as u8;
        Self { op, of, to, out, args }
    }
}

/// Loads the operands of a line and stores its result within the arm of each operation.
struct OnFile<'r> {
    line: &'r Line,
    regs: &'r mut [u64],
}

impl OnFile<'_> {
    #[inline(always)]
    fn get<A: Stored>(&self, i: usize) -> A {
        A::from_bits(self.regs[self.line.args[i] as usize])
    }

    #[inline(always)]
    fn set<A: Stored>(self, value: A) {
        self.regs[self.line.out as usize] = value.to_bits();
    }
}

impl Visit for OnFile<'_> {
    type Output = ();

    #[inline]
    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) {
        let result = f(self.get(0));
        self.set(result);
    }
    #[inline]
    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) {
        let result = f(self.get(0), self.get(1));
        self.set(result);
    }
    #[inline]
    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) {
        let result = f(self.get(0), self.get(1), self.get(2));
        self.set(result);
    }
    #[inline]
    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) {
        let result = f(self.get(0), self.get(1), self.get(2));
        self.set(result);
    }
}

/// Runs lines one after the other.
///
/// # Panics
/// If a line names a register that the file lacks, or its operation does not take its lanes.
pub fn run_lines(lines: &[Line], regs: &mut [u64]) {
    for line in lines {
        apply(Op::COMPUTING[usize::from(line.op)], line.of, line.to, OnFile { line, regs });
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FormBuilder, eval_op};
    use super::*;

    #[test]
    fn lines_compute_what_operations_do() {
        let mut regs = [1.5_f32.to_bits().into(), 0.25_f32.to_bits().into(), 0, 0];
        run_lines(
            &[
                Line::new(Op::Sub, Lane::F32, Lane::F32, 2, [0, 1, 0]),
                Line::new(Op::Lt, Lane::F32, Lane::Bool, 3, [1, 2, 0]),
            ],
            &mut regs,
        );
        let difference = eval_op(Op::Sub, Lane::F32, Lane::F32, [regs[0], regs[1], 0]);
        assert_eq!(regs[2..], [difference, 1]);
        assert_eq!(size_of::<Line>(), 20);
    }

    #[test]
    fn a_form_as_lines_is_the_form() {
        let b = FormBuilder::new();
        let (x, y) = (b.param(Lane::F64), b.param(Lane::F64));
        let form = b.finish(&[(x * y).sin().max(x)]);
        let params = [0.75_f64.to_bits(), (-2.0_f64).to_bits()];
        let mut expected = [0];
        form.run_scalar(&params, &mut expected, &mut Vec::new());
        let mut regs: Vec<u64> = params.to_vec();
        let mut at = Vec::new();
        let mut lines = Vec::new();
        for inst in form.insts.as_slice() {
            if let Op::Param(number) = inst.op {
                at.push(number);
                continue;
            }
            let mut args = [0; 3];
            for (arg, reg) in args.iter_mut().zip(inst.args()) {
                *arg = at[millstream_base::id::Id::index(*reg)];
            }
            at.push(regs.len() as u32);
            lines.push(Line::new(inst.op, inst.of, inst.lane, regs.len() as u32, args));
            regs.push(0);
        }
        run_lines(&lines, &mut regs);
        assert_eq!(regs.last(), expected.first());
    }
}
