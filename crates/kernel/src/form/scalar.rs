//! Runs a form on one element.

use millstream_base::Lane;

use super::columns::Stored;
use super::lane_value::LaneValue;
use super::meaning::{Visit, apply};
use super::op::Op;
use super::{Form, Inst};
use millstream_base::id::Id;

/// Calls the function of an operation on the bits of its operands.
#[derive(Clone, Copy)]
struct OnBits([u64; 3]);

impl Visit for OnBits {
    type Output = u64;

    #[inline]
    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) -> u64 {
        f(A::from_bits(self.0[0])).to_bits()
    }
    #[inline]
    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) -> u64 {
        f(A::from_bits(self.0[0]), A::from_bits(self.0[1])).to_bits()
    }
    #[inline]
    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) -> u64 {
        let [a, b, c] = self.0.map(A::from_bits);
        f(a, b, c).to_bits()
    }
    #[inline]
    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) -> u64 {
        let [c, a, b] = self.0;
        f(bool::from_bits(c), A::from_bits(a), A::from_bits(b)).to_bits()
    }
}

/// The result of one operation on the bits of its operands; the unused ones are ignored.
///
/// # Panics
/// If the operation does not take these lanes, or is a constant or parameter.
pub fn eval_op(op: Op, of: Lane, to: Lane, args: [u64; 3]) -> u64 {
    apply(op, of, to, OnBits(args))
}

impl Form {
    /// Computes the results for one element.
    ///
    /// Values are bits, see [`LaneValue::to_bits`]. Nothing is allocated once `scratch` has grown
    /// to the length of the form.
    ///
    /// # Panics
    /// If there are fewer `params` or `results` than the form has.
    pub fn run_scalar(&self, params: &[u64], results: &mut [u64], scratch: &mut Vec<u64>) {
        assert!(params.len() >= self.params.len(), "a value is given for each parameter");
        assert!(results.len() >= self.results.len(), "there is room for each result");
        let insts = self.insts.as_slice();
        scratch.resize(insts.len(), 0);
        let regs = scratch.as_mut_slice();
        for (i, inst) in insts.iter().enumerate() {
            regs[i] = step(inst, params, regs);
        }
        for (result, reg) in results.iter_mut().zip(&self.results) {
            *result = regs[reg.index()];
        }
    }
}

#[inline]
fn step(inst: &Inst, params: &[u64], regs: &[u64]) -> u64 {
    match inst.op {
        Op::Const(bits) => bits,
        Op::Param(i) => params[i as usize],
        op => {
            let [a, b, c] = inst.operands;
            let args = [regs[a.index()], regs[b.index()], regs[c.index()]];
            apply(op, inst.of, inst.lane, OnBits(args))
        }
    }
}
