//! Straight-line code: lines that run one after the other, and their writer.

use millstream_base::Lane;
use smallvec::SmallVec;

use super::line::{BEFORE, LAST, Line, Operation, ROW, Run, STORED, pick, run_row};
use crate::meaning::{apply, apply_pair};
use crate::op::Op;

/// Operations on the registers of a file, one after the other.
///
/// ```
/// # use millstream_form::{LaneValue, Op, StraightWriter};
/// # use millstream_base::Lane;
/// let mut writer = StraightWriter::default();
/// writer.operation((Op::Mul, Lane::F32, Lane::F32), &[0, 0], 1);
/// writer.operation((Op::Add, Lane::F32, Lane::F32), &[1, 0], 1);
/// let code = writer.finish();
/// let mut registers = [LaneValue::to_bits(3.0_f32), 0];
/// code.run(&mut registers);
/// assert_eq!(registers[1], LaneValue::to_bits(12.0_f32));
/// ```
#[derive(Debug)]
pub struct Straight(Box<[Line]>);

impl Straight {
    /// Runs the operations. NaN results are canonical.
    ///
    /// # Panics
    /// If an operation names a register that the file lacks.
    #[inline]
    pub fn run(&self, registers: &mut [u64]) {
        for row in self.0.chunks(ROW) {
            run_row(row, registers);
        }
    }

    /// Size of the code in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

/// Writes [`Straight`] code.
#[derive(Debug, Default)]
pub struct StraightWriter {
    pub(super) lines: Vec<Line>,
    /// Number of lines before the current row.
    n_before: usize,
    passed: Passed,
}

/// The registers whose values lines pass on, by lane, the newest first; see [`LAST`].
#[derive(Clone, Copy, Debug, Default)]
struct Passed([[Option<u32>; 2]; 3]);

impl Passed {
    fn kind(lane: Lane) -> usize {
        match lane {
            Lane::F32 => 0,
            Lane::F64 => 1,
            Lane::Bool | Lane::I32 | Lane::I64 => 2,
        }
    }

    /// The place of a register that holds a value of this lane.
    fn find(&self, lane: Lane, register: u32) -> u8 {
        match self.0[Self::kind(lane)] {
            [Some(last), _] if last == register => LAST,
            [_, Some(before)] if before == register && lane.is_float() => BEFORE,
            _ => STORED,
        }
    }

    /// Records that a line writes a result of this lane.
    fn write(&mut self, lane: Lane, register: u32) {
        for known in self.0.as_flattened_mut() {
            *known = known.filter(|known| *known != register);
        }
        let own = &mut self.0[Self::kind(lane)];
        *own = [Some(register), own[0]];
    }
}

impl StraightWriter {
    /// Appends an operation with the lanes of its operands and of its result. `args` are the
    /// registers of its operands, `out` is that of its result.
    ///
    /// # Panics
    /// If the operation does not take the lanes or has another number of operands.
    pub fn operation(&mut self, (op, of, to): (Op, Lane, Lane), args: &[u32], out: u32) {
        assert_eq!(args.len(), op.arity(), "`{}` has its number of operands", op.name());
        let lanes: SmallVec<[Lane; 3]> = (0..args.len()).map(|i| op.operand_lane(i, of)).collect();
        let run = apply(op, of, to, Operation(self.sources(&lanes, args)));
        self.push(run, args, (out, to));
    }

    /// Appends two operations on floats as one line, see [`apply_pair`].
    pub(super) fn pair(
        &mut self,
        [inner, outer]: [Op; 2],
        second: bool,
        of: Lane,
        args: &[u32],
        out: u32,
    ) {
        let sources = self.sources(&[of; 3], args);
        self.push(apply_pair(inner, outer, second, of, Operation(sources)), args, (out, of));
    }

    /// Appends a copy of a value of this lane.
    pub(super) fn copy(&mut self, lane: Lane, from: u32, out: u32) {
        self.operation((Op::Convert, lane, lane), &[from], out);
    }

    /// Appends a choice among `n` registers of a lane, whose numbers are in the registers from
    /// `first` on.
    pub(super) fn pick(&mut self, selector: u32, (first, n): (u32, u32), out: u32, lane: Lane) {
        let [from, ..] = self.sources(&[Lane::I32], &[selector]);
        self.push(pick(lane, from), &[selector, first, n], (out, lane));
    }

    /// Appends a line with this function.
    pub(super) fn push(&mut self, run: Run, args: &[u32], (out, lane): (u32, Lane)) {
        let mut line = Line { run, out, args: [0; 3] };
        line.args[..args.len()].copy_from_slice(args);
        self.lines.push(line);
        self.passed.write(lane, out);
        if self.lines.len() - self.n_before == ROW {
            self.end_row();
        }
    }

    /// Ends the row of lines that pass results to each other.
    pub(super) fn end_row(&mut self) {
        (self.n_before, self.passed) = (self.lines.len(), Passed::default());
    }

    fn sources(&self, lanes: &[Lane], args: &[u32]) -> [u8; 3] {
        let mut sources = [STORED; 3];
        for ((source, lane), arg) in sources.iter_mut().zip(lanes).zip(args) {
            *source = self.passed.find(*lane, *arg);
        }
        sources
    }

    /// The code.
    pub fn finish(self) -> Straight {
        Straight(self.lines.into())
    }
}
