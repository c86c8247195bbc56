//! The kernel form: the one definition of every numeric element-wise node.
//!
//! A [`Form`] is a straight line of instructions over `bool i32 i64 f32 f64` lanes in which each
//! register is written once. It is total: no operands make it fail. Nodes write theirs with a
//! [`FormBuilder`]; from it come the scalar interpreter ([`Form::run_scalar`]), the interpreter
//! over columns ([`run_columns`]) and whatever else computes the node.

mod build;
mod columns;
mod lane_value;
mod line;
mod meaning;
mod op;
mod operand;
#[cfg(test)]
mod random;
mod scalar;
mod simplify;
#[cfg(test)]
mod tests;
mod text;
mod truncate;
mod verify;

use millstream_base::define_id;
use millstream_base::id::Arena;
use millstream_base::lane::Lane;

pub use build::{FormBuilder, Val};
pub use columns::{
    ColumnScratch, LaneInput, LaneOutput, LaneSlice, LaneSliceMut, Width, run_columns,
};
pub use lane_value::{LaneValue, canonical_bits};
pub use line::{Block, BlockRegisters, Line, ReadyLine, ready_lines, run_lines};
pub use op::Op;
pub use operand::Operand;
pub use scalar::{FoldFunction, HeldOperand, OpFunction, eval_op, fold_function, op_function};
pub use text::FormTextError;
pub use verify::FormError;

define_id!(Reg, "%", "The register an instruction writes; prints as `%7`.");

/// One instruction; it writes the register of its own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// What is computed.
    pub op: Op,
    /// The lane of the operands (of the arms of a select); of a leaf its own.
    pub of: Lane,
    /// The lane of the result.
    pub lane: Lane,
    operands: [Reg; 3],
}

impl Inst {
    /// A constant of these bits, NaN made canonical.
    pub fn constant(lane: Lane, bits: u64) -> Self {
        Self::new(Op::Const(canonical_bits(lane, bits)), lane, lane, &[])
    }

    /// An instruction; nothing is checked before [`Form::verify`].
    ///
    /// # Panics
    /// If the number of operands is not that of the operation.
    pub fn new(op: Op, of: Lane, lane: Lane, args: &[Reg]) -> Self {
        use millstream_base::id::Id;
        assert_eq!(args.len(), op.arity(), "`{}` has its number of operands", op.name());
        let mut operands = [Reg::from_index(0); 3];
        operands[..args.len()].copy_from_slice(args);
        Self { op, of, lane, operands }
    }

    /// The operands.
    #[inline]
    pub fn args(&self) -> &[Reg] {
        &self.operands[..self.op.arity()]
    }

    /// The operands, to be changed.
    pub fn args_mut(&mut self) -> &mut [Reg] {
        &mut self.operands[..self.op.arity()]
    }
}

/// A straight line of instructions from parameters to results.
///
/// All forms that the builder and the parser make are verified; see [`Form::verify`] for what that
/// means. Everything that runs a form relies on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The lanes of the parameters.
    pub params: Vec<Lane>,
    /// The instructions in order.
    pub insts: Arena<Reg, Inst>,
    /// The registers handed back, in order; one may stand several times.
    pub results: Vec<Reg>,
}

impl Form {
    /// About how much work an element is over columns, see [`Op::cost`].
    pub fn cost(&self) -> usize {
        self.insts.iter().map(|(_, inst)| inst.op.cost()).sum()
    }

    /// The lanes of the results.
    pub fn result_lanes(&self) -> impl ExactSizeIterator<Item = Lane> + '_ {
        self.results.iter().map(|&reg| self.insts[reg].lane)
    }
}
