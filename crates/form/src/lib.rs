//! The kernel form: the one definition of every numeric element-wise node.
//!
//! A [`Form`] is a straight line of instructions over `bool i32 i64 f32 f64` lanes in which each
//! register is written once. It is total: no operands make it fail. Nodes write forms with a
//! [`FormBuilder`]. Three executions run them, with the same bits: the interpreter
//! ([`Form::run_scalar`]) for a single call, [`Program`]s for single values that are computed many
//! times, and [`run_columns`]. The operations themselves are the rows of one table (`table`), which
//! also says how to add one.

mod arithmetic;
mod build;
mod columns;
mod inst;
mod interpret;
mod lane_value;
mod meaning;
mod native;
mod op;
mod operators;
mod scalar;
mod simplify;
mod storage;
mod symmetry;
mod table;
mod text;
mod truncate;
mod verify;

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;

pub use build::{FormBuilder, Operand, Val};
pub use columns::{ColumnScratch, LaneInput, LaneOutput, Width, run_columns};
pub use inst::{Form, Inst, Reg};
pub use interpret::{FoldFunction, HeldOperand, OpFunction, eval_op, fold_function, op_function};
pub use lane_value::{LaneValue, canonical_bits};
pub use op::{Accuracy, Op};
pub use scalar::{
    Arm, Block, NO_BLOCK, Program, ProgramWriter, Registers, Straight, StraightWriter,
};
pub use storage::{LaneSlice, LaneSliceMut};
pub use text::FormTextError;
pub use verify::FormError;
