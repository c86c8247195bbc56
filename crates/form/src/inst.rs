//! Instructions, and forms as straight lines of them.

use millstream_base::define_id;
use millstream_base::id::{Arena, Id};
use millstream_base::lane::Lane;

use crate::lane_value::canonical_bits;
use crate::op::Op;

define_id!(Reg, "%", "The register an instruction writes; prints as `%7`.");

/// One instruction, which writes the register of its own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// The operation.
    pub op: Op,
    /// The lane of the operands (of the arms of a select); for a leaf its own.
    pub of: Lane,
    /// The lane of the result.
    pub lane: Lane,
    pub(crate) operands: [Reg; 3],
}

impl Inst {
    /// A constant with these bits, with the canonical NaN.
    pub fn constant(lane: Lane, bits: u64) -> Self {
        Self::new(Op::Const(canonical_bits(lane, bits)), lane, lane, &[])
    }

    /// An instruction; nothing is checked before [`Form::verify`].
    ///
    /// # Panics
    /// If the number of operands is not that of the operation.
    pub fn new(op: Op, of: Lane, lane: Lane, args: &[Reg]) -> Self {
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

    /// The operands, mutable.
    pub fn args_mut(&mut self) -> &mut [Reg] {
        &mut self.operands[..self.op.arity()]
    }
}

/// A straight-line sequence of instructions from parameters to results.
///
/// The builder and the parser make only verified forms, see [`Form::verify`]; every execution
/// relies on that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The lanes of the parameters.
    pub params: Vec<Lane>,
    /// The instructions in order.
    pub insts: Arena<Reg, Inst>,
    /// The registers of the results, in order; one may occur several times.
    pub results: Vec<Reg>,
}

impl Form {
    /// Approximate work per element over columns, see [`Op::cost`].
    pub fn cost(&self) -> usize {
        self.insts.iter().map(|(_, inst)| inst.op.cost()).sum()
    }

    /// The lanes of the results.
    pub fn result_lanes(&self) -> impl ExactSizeIterator<Item = Lane> + '_ {
        self.results.iter().map(|&reg| self.insts[reg].lane)
    }
}
