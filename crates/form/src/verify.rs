//! Checks the invariants of forms that every execution relies on.

use millstream_base::id::Id;
use millstream_base::lane::Lane;
use thiserror::Error;

use crate::inst::{Form, Inst, Reg};
use crate::lane_value::canonical_bits;
use crate::op::Op;

/// The first invariant that a form violates.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormError {
    /// An operand is written by the same or a later instruction, or by none.
    #[error("{reg} uses {arg}, which is not written before it")]
    NotWritten {
        /// The instruction.
        reg: Reg,
        /// Its operand.
        arg: Reg,
    },
    /// The lane of an operand differs from that of the instruction.
    #[error("{reg} uses {arg} as {wanted}, but it is {found}")]
    OperandLane {
        /// The instruction.
        reg: Reg,
        /// Its operand.
        arg: Reg,
        /// The lane of the operand.
        found: Lane,
        /// The lane it should have.
        wanted: Lane,
    },
    /// The operation does not exist for these lanes.
    #[error("{reg}: `{op}` does not take {of} to {to}")]
    Lanes {
        /// The instruction.
        reg: Reg,
        /// The operation's word.
        op: &'static str,
        /// The lane of its operands.
        of: Lane,
        /// The lane of its result.
        to: Lane,
    },
    /// A constant has bits that its lane does not use, or a NaN that is not the canonical one.
    #[error("{reg} is a constant with bits that no {lane} has")]
    ConstantBits {
        /// The instruction.
        reg: Reg,
        /// Its lane.
        lane: Lane,
    },
    /// A parameter is out of order, or its lane differs from that in the list.
    #[error("{reg} is not parameter {number} of the form's list")]
    Param {
        /// The instruction.
        reg: Reg,
        /// The number it should have.
        number: usize,
    },
    /// Some parameters have no instruction.
    #[error("{found} of {listed} parameters have an instruction")]
    MissingParams {
        /// Number of parameters with an instruction.
        found: usize,
        /// Number of parameters in the list.
        listed: usize,
    },
    /// A result is written by no instruction.
    #[error("result {reg} is not written")]
    Result {
        /// The result.
        reg: Reg,
    },
}

impl Form {
    /// Checks that operands are written before they are used, that lanes fit operations, that the
    /// instructions have each parameter once and in order, and that results exist.
    ///
    /// # Errors
    /// The first violation.
    pub fn verify(&self) -> Result<(), FormError> {
        let mut n_params = 0;
        for (reg, inst) in self.insts.iter() {
            match inst.op {
                Op::Const(bits) => {
                    if bits != canonical_bits(inst.lane, bits) {
                        return Err(FormError::ConstantBits { reg, lane: inst.lane });
                    }
                }
                Op::Param(number) => {
                    let listed = self.params.get(n_params) == Some(&inst.lane);
                    if number as usize != n_params || !listed {
                        return Err(FormError::Param { reg, number: n_params });
                    }
                    n_params += 1;
                }
                _ => self.verify_operands(reg, inst)?,
            }
            let (of, to) = (inst.of, inst.lane);
            if !inst.op.fits(of, to) {
                return Err(FormError::Lanes { reg, op: inst.op.name(), of, to });
            }
        }
        if n_params != self.params.len() {
            return Err(FormError::MissingParams { found: n_params, listed: self.params.len() });
        }
        match self.results.iter().find(|reg| reg.index() >= self.insts.len()) {
            Some(&reg) => Err(FormError::Result { reg }),
            None => Ok(()),
        }
    }

    fn verify_operands(&self, reg: Reg, inst: &Inst) -> Result<(), FormError> {
        for (i, &arg) in inst.args().iter().enumerate() {
            if arg >= reg {
                return Err(FormError::NotWritten { reg, arg });
            }
            let (found, wanted) = (self.insts[arg].lane, inst.op.operand_lane(i, inst.of));
            if found != wanted {
                return Err(FormError::OperandLane { reg, arg, found, wanted });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use millstream_base::id::Arena;

    use super::*;

    fn reg(i: usize) -> Reg {
        Reg::from_index(i)
    }

    fn form(insts: &[Inst]) -> Form {
        let params = insts.iter().filter(|inst| matches!(inst.op, Op::Param(_)));
        let params = params.map(|inst| inst.lane).collect();
        let insts: Arena<Reg, Inst> = insts.iter().copied().collect();
        let results = vec![reg(insts.len() - 1)];
        Form { params, insts, results }
    }

    fn param(number: u32, lane: Lane) -> Inst {
        Inst::new(Op::Param(number), lane, lane, &[])
    }

    #[test]
    fn a_sound_form_passes() {
        let (f, i) = (Lane::F32, Lane::I32);
        let sound = form(&[param(0, f), Inst::new(Op::Convert, f, i, &[reg(0)])]);
        assert_eq!(sound.verify(), Ok(()));
    }

    #[test]
    fn operands_stand_before_their_use() {
        let add = Inst::new(Op::Add, Lane::F32, Lane::F32, &[reg(0), reg(1)]);
        let wrong = form(&[param(0, Lane::F32), add]);
        assert_eq!(wrong.verify(), Err(FormError::NotWritten { reg: reg(1), arg: reg(1) }));
    }

    #[test]
    fn lanes_fit_operations() {
        let (f, i) = (Lane::F32, Lane::I32);
        let wrong = form(&[param(0, i), Inst::new(Op::Sin, f, f, &[reg(0)])]);
        assert_eq!(wrong.verify().unwrap_err().to_string(), "%1 uses %0 as f32, but it is i32");
        let wrong = form(&[param(0, i), Inst::new(Op::Sin, i, i, &[reg(0)])]);
        assert_eq!(wrong.verify().unwrap_err().to_string(), "%1: `sin` does not take i32 to i32");
        let wrong = form(&[param(0, f), Inst::new(Op::Lt, f, f, &[reg(0), reg(0)])]);
        assert_eq!(wrong.verify().unwrap_err().to_string(), "%1: `lt` does not take f32 to f32");
    }

    #[test]
    fn parameters_stand_in_order() {
        let wrong = form(&[param(1, Lane::F32), param(0, Lane::F32)]);
        assert_eq!(wrong.verify(), Err(FormError::Param { reg: reg(0), number: 0 }));
        let mut wrong = form(&[param(0, Lane::F32)]);
        wrong.params.push(Lane::I32);
        assert_eq!(wrong.verify(), Err(FormError::MissingParams { found: 1, listed: 2 }));
    }

    #[test]
    fn constants_are_canonical_and_results_exist() {
        let nan = Op::Const(u64::from(f32::NAN.to_bits()) + 1);
        let wrong = form(&[Inst::new(nan, Lane::F32, Lane::F32, &[])]);
        assert_eq!(wrong.verify(), Err(FormError::ConstantBits { reg: reg(0), lane: Lane::F32 }));
        let mut wrong = form(&[param(0, Lane::F32)]);
        wrong.results.push(reg(1));
        assert_eq!(wrong.verify(), Err(FormError::Result { reg: reg(1) }));
    }
}
