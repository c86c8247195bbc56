//! Writes programs: registers, and block by block the code that fills them.

use std::sync::Arc;

use millstream_base::Lane;
use millstream_base::id::Id;
use rustc_hash::FxHashMap;

use super::coarse::write_lines;
use super::line::ROW;
use super::straight::StraightWriter;
use super::{Arm, Block, NO_BLOCK, Piece, Program};
use crate::inst::Form;
use crate::op::Op;

/// Writes a [`Program`], one block after the other.
///
/// ```
/// # use millstream_form::{FormBuilder, LaneValue, ProgramWriter};
/// # use millstream_base::Lane;
/// let b = FormBuilder::new();
/// let x = b.param(Lane::F32);
/// let form = b.finish(&[x * x + 1.0]);
/// let mut writer = ProgramWriter::default();
/// let (x, y) = (writer.registers(1), writer.registers(1));
/// writer.begin();
/// writer.form(&form, &[x], &[y]);
/// writer.end();
/// let program = writer.finish();
/// let mut registers = program.registers();
/// registers.from_mut(x)[0] = LaneValue::to_bits(3.0_f32);
/// program.run(&mut registers, |_| Ok::<_, ()>(())).expect("nobody ends the run");
/// assert_eq!(registers.get(y), LaneValue::to_bits(10.0_f32));
/// ```
#[derive(Debug, Default)]
pub struct ProgramWriter {
    program: Program,
    /// The registers of constants, by their bits.
    constants: FxHashMap<u64, u32>,
    /// Registers of values that are read only within one form.
    temporaries: Vec<u32>,
    code: StraightWriter,
    /// Number of lines that belong to a piece.
    n_in_pieces: usize,
}

impl ProgramWriter {
    /// The first of `n` new registers.
    pub fn registers(&mut self, n: usize) -> u32 {
        let first = self.program.image.len() as u32;
        self.program.image.resize(self.program.image.len() + n, 0);
        first
    }

    /// The first of new registers that hold these bits until they are overwritten.
    pub fn filled(&mut self, bits: impl IntoIterator<Item = u64>) -> u32 {
        let first = self.program.image.len() as u32;
        self.program.image.extend(bits);
        first
    }

    /// A register that holds these bits and is never overwritten.
    pub fn constant(&mut self, bits: u64) -> u32 {
        if let Some(register) = self.constants.get(&bits) {
            return *register;
        }
        let register = self.filled([bits]);
        self.constants.insert(bits, register);
        register
    }

    /// Begins the next block and returns its number.
    pub fn begin(&mut self) -> Block {
        self.program.blocks.push(self.program.pieces.len() as u32);
        self.program.blocks.len() as u32 - 1
    }

    /// Ends the block.
    pub fn end(&mut self) {
        self.push(Piece::End);
    }

    /// Makes the rest of the block run after another block.
    pub fn call(&mut self, block: Block) {
        self.push(Piece::Call { block });
    }

    /// Copies `width` registers of a lane to `out` from the arm that a selector picks: a `bool`
    /// picks the first or the second, an `i32` the arm of that number, or else the nearest.
    pub fn choose(&mut self, selector: u32, arms: &[Arm], lane: Lane, (out, width): (u32, u8)) {
        let n_arms = arms.len() as u16;
        if arms.iter().all(|arm| arm.block == NO_BLOCK) {
            for k in 0..u32::from(width) {
                let first = self.filled(arms.iter().map(|arm| u64::from(arm.first + k)));
                self.code.pick(selector, (first, u32::from(n_arms)), out + k, lane);
            }
            return;
        }
        let first_arm = self.program.arms.len() as u32;
        self.program.arms.extend_from_slice(arms);
        self.push(Piece::Choose { selector, first_arm, n_arms, out, width });
    }

    /// Copies a value of this lane to another register.
    pub fn copy(&mut self, from: u32, to: u32, lane: Lane) {
        self.code.copy(lane, from, to);
    }

    /// Calls a form without writing it out, which saves time now but costs time in each run.
    /// `params` are the registers of its parameters; the results go to the registers from `out` on.
    pub fn call_form(&mut self, form: &Arc<Form>, params: &[u32], out: u32) {
        let first_param = self.program.params.len() as u32;
        self.program.params.extend_from_slice(params);
        self.program.forms.push(Arc::clone(form));
        let form = self.program.forms.len() as u32 - 1;
        self.push(Piece::Form { form, first_param, out });
    }

    /// Writes a form out as lines. `params` are the registers of its parameters, `results` are
    /// registers for its results only.
    ///
    /// # Panics
    /// If there are fewer registers than parameters or results.
    pub fn form(&mut self, form: &Form, params: &[u32], results: &[u32]) {
        const NOWHERE: u32 = u32::MAX;
        let mut at = vec![NOWHERE; form.insts.len()];
        for (result, register) in form.results.iter().zip(results).rev() {
            at[result.index()] = *register;
        }
        let mut n_temporary = 0;
        for (reg, inst) in form.insts.iter() {
            let at = &mut at[reg.index()];
            match inst.op {
                Op::Const(bits) => *at = self.constant(bits),
                Op::Param(number) => *at = params[number as usize],
                _ if *at == NOWHERE => {
                    *at = self.temporary(n_temporary);
                    n_temporary += 1;
                }
                _ => {}
            }
        }
        write_lines(form, &at, &mut self.code);
        // Results that are parameters or constants, or that occur twice.
        for (result, to) in form.results.iter().zip(results) {
            let from = at[result.index()];
            if from != *to {
                self.copy(from, *to, form.insts[*result].lane);
            }
        }
    }

    /// The program.
    ///
    /// # Panics
    /// If there is no block.
    pub fn finish(mut self) -> Program {
        assert!(!self.program.blocks.is_empty(), "a program has a block");
        self.program.lines = self.code.lines;
        self.program
    }

    /// Appends a piece after the lines written so far.
    fn push(&mut self, piece: Piece) {
        let n_lines = self.code.lines.len();
        for first in (self.n_in_pieces..n_lines).step_by(ROW) {
            let end = n_lines.min(first + ROW);
            self.program.pieces.push(Piece::Lines { first: first as u32, end: end as u32 });
        }
        self.n_in_pieces = n_lines;
        self.code.end_row();
        self.program.pieces.push(piece);
    }

    fn temporary(&mut self, k: usize) -> u32 {
        if k == self.temporaries.len() {
            let register = self.registers(1);
            self.temporaries.push(register);
        }
        self.temporaries[k]
    }
}
