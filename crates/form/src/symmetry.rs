//! Whether a form has the same results for exchanged arguments.

use millstream_base::Lane;
use millstream_base::id::Id;

use crate::inst::{Form, Inst, Reg};
use crate::op::Op;

/// Maximal number of instructions in a form that is examined.
const MOST_INSTRUCTIONS: usize = 256;

/// The value of a register after the exchange of arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mirror {
    /// That of this register.
    Same(Reg),
    /// The negation of this register; if that is zero, zero with any sign.
    Negated(Reg),
}

impl Form {
    /// Whether exchanging the first `n` parameters with the next `n` changes no bit of a result, as
    /// far as commutative operations show it.
    pub fn commutes(&self, n: usize) -> bool {
        if self.insts.len() > MOST_INSTRUCTIONS {
            return false;
        }
        let mut mirrors: Vec<Option<Mirror>> = Vec::with_capacity(self.insts.len());
        for (_, inst) in self.insts.iter() {
            mirrors.push(self.mirror(*inst, n, &mirrors));
        }
        let is_same = |reg: Reg| mirrors[reg.index()] == Some(Mirror::Same(reg));
        self.results.iter().all(|result| is_same(*result))
    }

    fn mirror(&self, mut inst: Inst, n: usize, mirrors: &[Option<Mirror>]) -> Option<Mirror> {
        if let Op::Param(at) = inst.op {
            let n = n as u32;
            inst.op = Op::Param(match at {
                _ if at < n => at + n,
                _ if at < 2 * n => at - n,
                _ => at,
            });
        }
        let mut negated = [false; 3];
        for (arg, negated) in inst.args_mut().iter_mut().zip(&mut negated) {
            (*arg, *negated) = match mirrors[arg.index()]? {
                Mirror::Same(reg) => (reg, false),
                Mirror::Negated(reg) => (reg, true),
            };
        }
        let mut exchanged = inst;
        if inst.args().len() >= 2 {
            exchanged.args_mut().swap(0, 1);
        }
        let found = |wanted: Inst| self.insts.iter().find(|(_, it)| **it == wanted);
        let same = || {
            let exchanged = || inst.op.commutes().then(|| found(exchanged)).flatten();
            found(inst).or_else(exchanged).map(|(reg, _)| reg)
        };
        let is_square = || inst.args()[0] == inst.args()[1];
        match (inst.op, negated) {
            // b - a is -(a - b) unless both are +0.
            (Op::Sub, [false, false, _]) => {
                let same = same().map(Mirror::Same);
                same.or_else(|| found(exchanged).map(|(reg, _)| Mirror::Negated(reg)))
            }
            (_, [false, false, false]) => same().map(Mirror::Same),
            (Op::Abs, [true, ..]) => same().map(Mirror::Same),
            (Op::Mul, [true, true, _]) | (Op::Fma, [true, true, false]) if is_square() => {
                same().map(Mirror::Same)
            }
            (Op::Neg, [true, ..])
            | (Op::Mul, [true, false, _] | [false, true, _])
            | (Op::Div, [true, false, _])
                if inst.op != Op::Div || is_float(inst.lane) =>
            {
                same().map(Mirror::Negated)
            }
            _ => None,
        }
    }
}

fn is_float(lane: Lane) -> bool {
    matches!(lane, Lane::F32 | Lane::F64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FormBuilder, Val, canonical_bits, eval_op};

    /// Numbers of a lane for which different functions differ.
    fn numbers(lane: Lane) -> Vec<u64> {
        let whole = [0, 1, 2, 3, -1, -7, i64::MAX, i64::MIN, 1 << 31, 0x1234_5678];
        let floats = [0.0, -0.0, 1.0, -1.5, 0.1, 3e38, -1e-42, f64::INFINITY, -f64::INFINITY];
        let floats = floats.into_iter().chain([f64::NAN, f64::MAX, 1e-310]);
        match lane {
            Lane::Bool => vec![0, 1],
            Lane::I32 => whole.map(|x| u64::from(x as i32 as u32)).to_vec(),
            Lane::I64 => whole.map(|x| x as u64).to_vec(),
            Lane::F32 => floats.map(|x| u64::from((x as f32).to_bits())).collect(),
            Lane::F64 => floats.map(f64::to_bits).collect(),
        }
    }

    #[test]
    fn operations_commute_bit_for_bit_if_the_table_says_so() {
        for op in Op::COMPUTING.iter().copied().filter(|op| op.arity() >= 2) {
            let lanes = [Lane::Bool, Lane::I32, Lane::I64, Lane::F32, Lane::F64];
            let mut agrees = op != Op::Select;
            for of in lanes.into_iter().filter(|of| op.takes(*of)) {
                let Some(to) = op.result_lane(of) else { continue };
                let value = |a: u64, b: u64| {
                    let all = [a, b, numbers(of)[2 % numbers(of).len()]];
                    canonical_bits(to, eval_op(op, of, to, all))
                };
                let all = numbers(of);
                agrees &= all.iter().all(|a| all.iter().all(|b| value(*a, *b) == value(*b, *a)));
            }
            assert_eq!(op.commutes(), agrees, "{}", op.name());
        }
    }

    #[test]
    fn forms_commute_as_far_as_their_operations_do() {
        fn offset<'b>(x: &[Val<'b>]) -> Val<'b> {
            x[0] - x[1]
        }
        let form = |write: &dyn for<'b> Fn(&[Val<'b>]) -> Vec<Val<'b>>| {
            let b = FormBuilder::new();
            let x: Vec<Val<'_>> = (0..4).map(|_| b.param(Lane::F32)).collect();
            b.finish(&write(&x))
        };
        assert!(form(&|x| vec![x[0] + x[2], x[3].min(x[1])]).commutes(2));
        assert!(form(&|x| vec![x[0] * x[2] + x[1] * x[3]]).commutes(2));
        assert!(form(&|x| vec![x[0].fma(x[1], x[2])]).commutes(1));
        assert!(form(&|x| vec![(x[0] - x[1]).abs(), x[0].hypot(x[1])]).commutes(1));
        assert!(form(&|x| vec![(offset(x) * 3.0) * (offset(x) * 3.0) + 1.0]).commutes(1));
        // The sign of a zero differs.
        assert!(!form(&|x| vec![offset(x) * x[2] * (offset(x) * x[3])]).commutes(1));
        assert!(!form(&|x| vec![offset(x) * offset(x) * offset(x)]).commutes(1));
        assert!(!form(&|x| vec![offset(x)]).commutes(1));
        assert!(!form(&|x| vec![x[0] + x[3]]).commutes(2));
        assert!(!form(&|x| vec![x[0] + x[1] * x[2]]).commutes(1));
    }
}
