//! Programs on single values: blocks of straight-line code over one file of registers.
//!
//! Every lane of every value has a register. A block is a sequence of pieces: lines, which are
//! operations on registers, calls of other blocks, and choices. A block that several others call
//! runs once in each run of the program, and a block that no call or choice reaches does not run. A
//! [`ProgramWriter`] makes programs from forms. Programs are immutable; a run works in
//! [`Registers`].

mod coarse;
mod line;
mod straight;
#[cfg(test)]
mod tests;
mod writer;

use std::sync::Arc;

use crate::inst::Form;
use line::{Line, run_row};

pub use straight::{Straight, StraightWriter};
pub use writer::ProgramWriter;

/// The number of a block; block 0 always runs.
pub type Block = u32;

/// No block: the needed values exist already.
pub const NO_BLOCK: Block = u32::MAX;

/// Number of pieces between two calls of `look`.
const PIECES_AT_ONCE: u32 = 256;

/// A part of a block.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// A sequence of lines, from `first` to `end`.
    Lines { first: u32, end: u32 },
    /// A block that must run before the following pieces.
    Call { block: Block },
    /// A call of a form; its parameters are the registers in `params` from `first_param` on.
    Form { form: u32, first_param: u32, out: u32 },
    /// Copies `width` registers of the arm that a selector picks; the arms are in `arms`.
    Choose { selector: u32, first_arm: u32, n_arms: u16, out: u32, width: u8 },
    /// The end of a block.
    End,
}

/// An arm of a choice.
#[derive(Clone, Copy, Debug)]
pub struct Arm {
    /// The block that must run before the arm can be read.
    pub block: Block,
    /// The first register of its value.
    pub first: u32,
}

/// Blocks of lines over registers.
#[derive(Debug, Default)]
pub struct Program {
    lines: Vec<Line>,
    pieces: Vec<Piece>,
    arms: Vec<Arm>,
    /// The registers of parameters of called forms.
    params: Vec<u32>,
    forms: Vec<Arc<Form>>,
    /// The first piece of each block.
    blocks: Vec<u32>,
    /// The initial registers: zeros and constants.
    image: Vec<u64>,
}

/// The working memory of a run of a program.
#[derive(Debug)]
pub struct Registers {
    values: Vec<u64>,
    /// For each block the number of the last run in which it ran.
    ran: Vec<u32>,
    run: u32,
    /// The pieces at which blocks continue after the blocks that they called.
    back: Vec<u32>,
    params: Vec<u64>,
    scratch: Vec<u64>,
}

impl Registers {
    /// The bits in a register.
    #[inline]
    pub fn get(&self, register: u32) -> u64 {
        self.values[register as usize]
    }

    /// The bits in the registers from `first` on.
    #[inline]
    pub fn from(&self, first: u32) -> &[u64] {
        &self.values[first as usize..]
    }

    /// The bits in the registers from `first` on, mutable.
    #[inline]
    pub fn from_mut(&mut self, first: u32) -> &mut [u64] {
        &mut self.values[first as usize..]
    }

    /// Whether a block ran in the last run.
    pub fn ran(&self, block: Block) -> bool {
        self.ran[block as usize] == self.run
    }
}

impl Program {
    /// Registers for runs of this program.
    pub fn registers(&self) -> Registers {
        Registers {
            values: self.image.clone(),
            ran: vec![0; self.blocks.len()],
            run: 0,
            back: Vec::new(),
            params: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Number of lines in all blocks; a line computes one or more operations.
    pub fn n_lines(&self) -> usize {
        self.lines.len()
    }

    /// Runs block 0 and the blocks it needs. From time to time `look` receives the number of lines
    /// that have run, and may end the run.
    ///
    /// # Errors
    /// That of `look`.
    ///
    /// # Panics
    /// If the registers are those of another program.
    pub fn run<E>(
        &self,
        registers: &mut Registers,
        mut look: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let Registers { values, ran, run, back, params, scratch } = registers;
        *run = run.wrapping_add(1);
        if *run == 0 {
            ran.fill(0);
            *run = 1;
        }
        let now = *run;
        back.clear();
        ran[0] = now;
        let mut at = self.blocks[0] as usize;
        let (mut n_lines, mut until_look) = (0, 0);
        loop {
            if until_look == 0 {
                look(n_lines)?;
                until_look = PIECES_AT_ONCE;
            }
            until_look -= 1;
            // The block that must run before this piece, if any.
            let missing = match self.pieces[at] {
                Piece::Lines { first, end } => {
                    run_row(&self.lines[first as usize..end as usize], values);
                    n_lines += (end - first) as usize;
                    NO_BLOCK
                }
                Piece::Call { block } => block,
                Piece::Form { form, first_param, out } => {
                    let form = &self.forms[form as usize];
                    let from = &self.params[first_param as usize..][..form.params.len()];
                    params.clear();
                    params.extend(from.iter().map(|register| values[*register as usize]));
                    let results = &mut values[out as usize..][..form.results.len()];
                    form.run_scalar(params, results, scratch);
                    NO_BLOCK
                }
                Piece::Choose { selector, first_arm, n_arms, out, width } => {
                    // As an `i32`; a `bool` is 0 or 1.
                    let number = (values[selector as usize] as i32).max(0) as usize;
                    let picked = number.min(usize::from(n_arms) - 1);
                    let Arm { block, first } = self.arms[first_arm as usize + picked];
                    let is_there = block == NO_BLOCK || ran[block as usize] == now;
                    if is_there {
                        let (first, out) = (first as usize, out as usize);
                        if width == 1 {
                            values[out] = values[first];
                        } else {
                            values.copy_within(first..first + usize::from(width), out);
                        }
                    }
                    block
                }
                Piece::End => {
                    let Some(to) = back.pop() else { return look(n_lines) };
                    at = to as usize;
                    continue;
                }
            };
            if missing == NO_BLOCK || ran[missing as usize] == now {
                at += 1;
            } else {
                // The piece is repeated after the block has run.
                back.push(at as u32);
                ran[missing as usize] = now;
                at = self.blocks[missing as usize] as usize;
            }
        }
    }
}
