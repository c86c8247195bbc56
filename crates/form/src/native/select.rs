//! The vector instructions for each operation.

use iced_x86::{Code, IcedError};
use millstream_base::lane::Lane;
use millstream_base::num::Float;

use super::Target;
use super::allocate::{Value, Writer};
use super::constant;
use super::encode::{Place, Vector};
use crate::inst::{Inst, Reg};
use crate::op::Op;

/// A comparison of floats, by its number in the instruction: false with a NaN, except [`UNEQUAL`]
/// and [`UNORDERED`].
const EQUAL: (Vector, u32) = (Vector::Compare, 0x00);
const UNORDERED: (Vector, u32) = (Vector::Compare, 0x03);
const UNEQUAL: (Vector, u32) = (Vector::Compare, 0x04);
const ORDERED: (Vector, u32) = (Vector::Compare, 0x07);
const UNEQUAL_ORDERED: (Vector, u32) = (Vector::Compare, 0x0c);
const LESS: (Vector, u32) = (Vector::Compare, 0x11);
const LESS_OR_EQUAL: (Vector, u32) = (Vector::Compare, 0x12);
const GREATER_OR_EQUAL: (Vector, u32) = (Vector::Compare, 0x1d);
const GREATER: (Vector, u32) = (Vector::Compare, 0x1e);

/// `if a { b } else { c }`, as a table of the bits of `a`, `b` and `c`.
const IF_ELSE: u32 = 0xca;

/// How an operation is computed.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// One instruction of one operand.
    Unary(Vector),
    /// Rounding to an integer, in this way.
    Rounded(u32),
    /// One instruction of two operands.
    Binary(Vector),
    /// One instruction of the operand and a constant of these bits.
    With(Vector, u64),
    /// Two of these in sequence.
    WithBoth([(Vector, u64); 2]),
    /// A comparison of two floats.
    Truth((Vector, u32)),
    /// A comparison of two integers, by its number in wide vectors.
    TruthWhole(u32),
    /// Whether two truth values are equal.
    SameTruth,
    /// Whether a number is not zero.
    NotZero,
    /// A shift by the second operand modulo the width.
    Shifted(Vector),
    /// [`Op::Min`] or [`Op::Max`] of floats.
    Extreme(Vector),
    /// Several instructions; see [`Writer::compute`].
    Several,
}

const fn sign_bit(size: usize) -> u64 {
    if size == 8 { 1 << 63 } else { 1 << 31 }
}

/// 1 as a float.
fn one(size: usize) -> u64 {
    if size == 8 { 1_f64.to_bits() } else { u64::from(1_f32.to_bits()) }
}

fn infinity(size: usize) -> u64 {
    if size == 8 { f64::INFINITY.to_bits() } else { u64::from(f32::INFINITY.to_bits()) }
}

fn nan(size: usize) -> u64 {
    if size == 8 { <f64 as Float>::NAN.to_bits() } else { u64::from(<f32 as Float>::NAN.to_bits()) }
}

/// The first float that is too large for an integer of that width.
fn too_large(size: usize) -> u64 {
    if size == 8 { (2_f64.powi(63)).to_bits() } else { u64::from(2_f32.powi(31).to_bits()) }
}

/// The way to compute an operation on lanes of `size` bytes, if there is one.
fn way(inst: &Inst, size: usize) -> Option<Way> {
    match inst.of {
        Lane::F32 | Lane::F64 => float_way(inst, size),
        Lane::I32 | Lane::I64 => integer_way(inst, size),
        Lane::Bool => truth_way(inst, size),
    }
}

fn float_way(inst: &Inst, size: usize) -> Option<Way> {
    let same_size = inst.lane.size() == size;
    Some(match inst.op {
        Op::Add => Way::Binary(Vector::Add),
        Op::Sub => Way::Binary(Vector::Sub),
        Op::Mul => Way::Binary(Vector::Mul),
        Op::Div => Way::Binary(Vector::Div),
        Op::Sqrt => Way::Unary(Vector::Sqrt),
        Op::Neg => Way::With(Vector::Xor, sign_bit(size)),
        Op::Abs => Way::With(Vector::And, !sign_bit(size)),
        Op::Floor => Way::Rounded(9),
        Op::Ceil => Way::Rounded(10),
        Op::Trunc => Way::Rounded(11),
        Op::RoundEven => Way::Rounded(8),
        Op::Min => Way::Extreme(Vector::Min),
        Op::Max => Way::Extreme(Vector::Max),
        Op::Eq => Way::Truth(EQUAL),
        Op::Ne => Way::Truth(UNEQUAL),
        Op::Lt => Way::Truth(LESS),
        Op::Le => Way::Truth(LESS_OR_EQUAL),
        Op::Gt => Way::Truth(GREATER),
        Op::Ge => Way::Truth(GREATER_OR_EQUAL),
        Op::Convert if inst.lane == Lane::Bool => Way::NotZero,
        Op::Convert if inst.lane.is_integer() && same_size => Way::Several,
        Op::Fract | Op::Sign | Op::Copysign | Op::Fma | Op::IsNan | Op::IsFinite => Way::Several,
        Op::Bitcast | Op::Select => Way::Several,
        _ => return None,
    })
}

fn integer_way(inst: &Inst, size: usize) -> Option<Way> {
    let minus_one = u64::MAX;
    Some(match inst.op {
        Op::Add => Way::Binary(Vector::AddWhole),
        Op::Sub => Way::Binary(Vector::SubWhole),
        Op::Mul => Way::Binary(Vector::MulWhole),
        Op::Min => Way::Binary(Vector::MinWhole),
        Op::Max => Way::Binary(Vector::MaxWhole),
        Op::And => Way::Binary(Vector::And),
        Op::Or => Way::Binary(Vector::Or),
        Op::Xor => Way::Binary(Vector::Xor),
        Op::Not => Way::With(Vector::Xor, minus_one),
        // The complement, minus -1.
        Op::Neg => Way::WithBoth([(Vector::Xor, minus_one), (Vector::SubWhole, minus_one)]),
        Op::Abs => Way::Unary(Vector::AbsWhole),
        Op::Sign => Way::WithBoth([(Vector::MaxWhole, minus_one), (Vector::MinWhole, 1)]),
        Op::Shl => Way::Shifted(Vector::ShiftLeft),
        Op::Shr => Way::Shifted(Vector::ShiftRight),
        Op::Ushr => Way::Shifted(Vector::ShiftRightZeros),
        Op::Eq => Way::TruthWhole(0),
        Op::Lt => Way::TruthWhole(1),
        Op::Le => Way::TruthWhole(2),
        Op::Ne => Way::TruthWhole(4),
        Op::Ge => Way::TruthWhole(5),
        Op::Gt => Way::TruthWhole(6),
        Op::Convert if inst.lane == Lane::Bool => Way::NotZero,
        Op::Convert if inst.lane.is_float() && inst.lane.size() == size => {
            Way::Unary(Vector::ToReal)
        }
        Op::Bitcast => Way::With(Vector::Or, 0),
        Op::Select => Way::Several,
        _ => return None,
    })
}

fn truth_way(inst: &Inst, size: usize) -> Option<Way> {
    Some(match inst.op {
        Op::And => Way::Binary(Vector::And),
        Op::Or => Way::Binary(Vector::Or),
        Op::Xor | Op::Ne => Way::Binary(Vector::Xor),
        Op::Eq => Way::SameTruth,
        Op::Not => Way::With(Vector::Xor, u64::MAX),
        Op::Convert if inst.lane.is_float() && inst.lane.size() == size => {
            Way::With(Vector::And, one(size))
        }
        Op::Convert if inst.lane.is_integer() && inst.lane.size() == size => {
            Way::With(Vector::And, 1)
        }
        Op::Select => Way::Several,
        _ => return None,
    })
}

/// Whether there is code for an instruction.
pub(super) fn is_compiled(inst: &Inst, target: Target) -> bool {
    let Some(way) = way(inst, target.size) else { return false };
    let exists = |vector: Vector| vector.code(target) != Code::INVALID;
    match way {
        Way::Unary(vector) | Way::Binary(vector) | Way::With(vector, _) | Way::Shifted(vector) => {
            exists(vector)
        }
        Way::WithBoth(both) => both.iter().all(|(vector, _)| exists(*vector)),
        Way::Several if inst.op == Op::Convert => exists(Vector::ToWhole),
        _ => true,
    }
}

/// The comparison that an instruction makes, if wide vectors compare so.
pub(super) fn comparison(inst: &Inst, target: Target) -> Option<(Vector, u32)> {
    match way(inst, target.size)? {
        Way::Truth(comparison) => Some(comparison),
        Way::TruthWhole(how) => Some((Vector::CompareWhole, how)),
        _ => None,
    }
}

impl Writer<'_> {
    /// Writes the instructions that compute a register of the form as `out`.
    pub(super) fn compute(&mut self, reg: Reg, out: Value) -> Result<(), IcedError> {
        let inst = self.form.insts[reg];
        let size = self.assembler.target.size;
        if inst.op == Op::Select && self.is_fused(inst.args()[0]) {
            return self.select_by(inst.args(), out);
        }
        let mut args = [0; 3];
        for (value, &arg) in args.iter_mut().zip(inst.args()) {
            *value = self.value(arg);
        }
        let args = &args[..inst.args().len()];
        match way(&inst, size).expect("what is compiled was asked for") {
            Way::Unary(vector) => {
                let a = self.place(args[0])?;
                self.read(args);
                let out = self.result(out)?;
                self.assembler.unary(vector, out, a)
            }
            Way::Rounded(how) => {
                let a = self.place(args[0])?;
                self.read(args);
                let out = self.result(out)?;
                self.assembler.round(how, out, a)
            }
            Way::Binary(vector) => self.binary(vector, &inst, args, out),
            Way::With(vector, bits) => self.with(&[(vector, bits)], args, out),
            Way::WithBoth(both) => self.with(&both, args, out),
            Way::Truth(comparison) => {
                let (out, a, b) = self.out_of_two([args[0], args[1]], out)?;
                self.assembler.truth(comparison, out, a, b)
            }
            Way::TruthWhole(how) => self.truth_whole(how, args, out),
            Way::SameTruth => {
                let (out, a, b) = self.out_of_two([args[0], args[1]], out)?;
                let ones = self.ones();
                self.assembler.binary(Vector::Xor, out, a, b)?;
                self.assembler.binary(Vector::Xor, out, out, ones)
            }
            Way::NotZero => self.not_zero(inst.of.is_float(), args, out),
            Way::Shifted(vector) => self.shifted(vector, &inst, args, out),
            Way::Extreme(vector) => self.extreme(vector, &inst, args, out),
            Way::Several => self.several(&inst, args, out),
        }
    }

    /// A register for the result of one instruction, and those of its operand.
    fn out_of_one(&mut self, a: Value, out: Value) -> Result<(u8, u8), IcedError> {
        let register = self.register(a)?;
        self.read(&[a]);
        Ok((self.result(out)?, register))
    }

    /// A register for the result of one instruction, that of its first operand, and the place of
    /// its second.
    fn out_of_two(&mut self, [a, b]: [Value; 2], out: Value) -> Result<(u8, u8, Place), IcedError> {
        let (register, place) = (self.register(a)?, self.place(b)?);
        self.read(&[a, b]);
        Ok((self.result(out)?, register, place))
    }

    fn binary(
        &mut self,
        vector: Vector,
        inst: &Inst,
        args: &[Value],
        out: Value,
    ) -> Result<(), IcedError> {
        // The operand in memory goes second.
        let swaps = inst.op.commutes() && !self.is_held(args[0]) && self.is_held(args[1]);
        let args = if swaps { [args[1], args[0]] } else { [args[0], args[1]] };
        let (out, a, b) = self.out_of_two(args, out)?;
        self.assembler.binary(vector, out, a, b)
    }

    fn with(
        &mut self,
        constants: &[(Vector, u64)],
        args: &[Value],
        out: Value,
    ) -> Result<(), IcedError> {
        let (out, mut a) = self.out_of_one(args[0], out)?;
        for &(vector, bits) in constants {
            let bits = self.bits(bits);
            self.assembler.binary(vector, out, a, bits)?;
            a = out;
        }
        Ok(())
    }

    fn truth_whole(&mut self, how: u32, args: &[Value], out: Value) -> Result<(), IcedError> {
        if self.assembler.target.wide {
            let (out, a, b) = self.out_of_two([args[0], args[1]], out)?;
            return self.assembler.truth((Vector::CompareWhole, how), out, a, b);
        }
        // Narrow vectors support only equal and greater.
        let (vector, swaps, negates) = match how {
            0 => (Vector::Equal, false, false),
            1 => (Vector::Greater, true, false),
            2 => (Vector::Greater, false, true),
            4 => (Vector::Equal, false, true),
            5 => (Vector::Greater, true, true),
            _ => (Vector::Greater, false, false),
        };
        let args = if swaps { [args[1], args[0]] } else { [args[0], args[1]] };
        let (out, a, b) = self.out_of_two(args, out)?;
        self.assembler.binary(vector, out, a, b)?;
        if negates {
            let ones = self.ones();
            self.assembler.binary(Vector::Xor, out, out, ones)?;
        }
        Ok(())
    }

    fn not_zero(&mut self, is_float: bool, args: &[Value], out: Value) -> Result<(), IcedError> {
        let zero = self.bits(0);
        let (out, a) = self.out_of_one(args[0], out)?;
        if is_float {
            return self.assembler.truth(UNEQUAL, out, a, zero);
        }
        if self.assembler.target.wide {
            return self.assembler.truth((Vector::CompareWhole, 4), out, a, zero);
        }
        self.assembler.binary(Vector::Equal, out, a, zero)?;
        let ones = self.ones();
        self.assembler.binary(Vector::Xor, out, out, ones)
    }

    fn shifted(
        &mut self,
        vector: Vector,
        inst: &Inst,
        args: &[Value],
        out: Value,
    ) -> Result<(), IcedError> {
        let n_bits = self.assembler.target.size as u64 * 8;
        let a = self.register(args[0])?;
        if let Some(by) = constant(self.form, inst, 1) {
            self.read(args);
            let out = self.result(out)?;
            return self.assembler.shift(vector, out, a, (by % n_bits) as u32);
        }
        let (by, modulus) = (self.register(args[1])?, self.bits(n_bits - 1));
        let n = self.temporary()?;
        self.assembler.binary(Vector::And, n, by, modulus)?;
        self.read(args);
        let out = self.result(out)?;
        self.assembler.binary(vector, out, a, Place::Register(n))?;
        self.release(n);
        Ok(())
    }

    /// The lesser or greater of two floats.
    fn extreme(
        &mut self,
        vector: Vector,
        inst: &Inst,
        args: &[Value],
        out: Value,
    ) -> Result<(), IcedError> {
        let size = self.assembler.target.size;
        let is_min = vector == Vector::Min;
        // The instruction returns its second operand if one is NaN or both are zero.
        let is_right = |bits: Option<u64>| {
            bits.is_some_and(|bits| {
                let is_nan = bits & !sign_bit(size) > infinity(size);
                let wrong_zero = if is_min { 0 } else { sign_bit(size) };
                !is_nan && bits != wrong_zero
            })
        };
        let order = [[0, 1], [1, 0]]
            .into_iter()
            .find(|[_, second]| is_right(constant(self.form, inst, *second)));
        if let Some([first, second]) = order {
            let (out, a, b) = self.out_of_two([args[first], args[second]], out)?;
            return self.assembler.binary(vector, out, a, b);
        }
        let (a, b) = (self.register(args[0])?, self.register(args[1])?);
        let out = self.result(out)?;
        let [zero, mask] = [self.temporary()?, self.temporary()?];
        let [a_place, b_place] = [a, b].map(Place::Register);
        self.assembler.binary(vector, out, b, a_place)?;
        let joined = if is_min { Vector::Or } else { Vector::And };
        self.assembler.binary(joined, zero, a, b_place)?;
        self.assembler.choose(EQUAL, (a, b_place), (out, Place::Register(zero), out), mask)?;
        self.assembler.choose(UNORDERED, (a, a_place), (out, b_place, out), mask)?;
        self.read(args);
        self.release(zero);
        self.release(mask);
        Ok(())
    }

    fn several(&mut self, inst: &Inst, args: &[Value], out: Value) -> Result<(), IcedError> {
        match inst.op {
            Op::Select => self.select(args, out),
            Op::Fma => {
                let (b, c) = (self.register(args[1])?, self.place(args[2])?);
                // The operands must outlive the result, which begins as the first.
                let a = self.register(args[0])?;
                let out = self.result(out)?;
                self.assembler.unary(Vector::Load, out, Place::Register(a))?;
                self.assembler.binary(Vector::Fma, out, b, c)?;
                self.read(args);
                Ok(())
            }
            Op::Fract => {
                let a = self.register(args[0])?;
                let out = self.result(out)?;
                self.assembler.round(9, out, Place::Register(a))?;
                self.assembler.binary(Vector::Sub, out, a, Place::Register(out))?;
                self.read(args);
                Ok(())
            }
            Op::IsNan => {
                let (out, a) = self.out_of_one(args[0], out)?;
                self.assembler.truth(UNORDERED, out, a, Place::Register(a))
            }
            Op::IsFinite => {
                let size = self.assembler.target.size;
                let (abs, infinity) = (self.bits(!sign_bit(size)), self.bits(infinity(size)));
                let (out, a) = self.out_of_one(args[0], out)?;
                self.assembler.binary(Vector::And, out, a, abs)?;
                self.assembler.truth(LESS, out, out, infinity)
            }
            _ => self.several_with_temporary(inst.op, args, out),
        }
    }

    fn select(&mut self, args: &[Value], out: Value) -> Result<(), IcedError> {
        if self.assembler.target.wide {
            let (yes, no) = (self.register(args[1])?, self.place(args[2])?);
            let out = self.result_from(out, args[0])?;
            self.assembler.logic(IF_ELSE, out, yes, no)?;
            self.read(args);
            return Ok(());
        }
        let condition = self.register(args[0])?;
        let (yes, no) = (self.place(args[1])?, self.register(args[2])?);
        self.read(args);
        let out = self.result(out)?;
        self.assembler.blend(out, condition, yes, no)
    }

    /// Selects by a comparison that is made here.
    fn select_by(&mut self, args: &[Reg], out: Value) -> Result<(), IcedError> {
        let condition = self.form.insts[args[0]];
        let comparison =
            comparison(&condition, self.assembler.target).expect("comparisons are fused");
        let [a, b, yes, no] =
            [condition.args()[0], condition.args()[1], args[1], args[2]].map(|reg| self.value(reg));
        let (compared, no_register) = ((self.register(a)?, self.place(b)?), self.register(no)?);
        let yes_place = self.place(yes)?;
        self.read(&[a, b, yes, no]);
        let out = self.result(out)?;
        self.assembler.choose(comparison, compared, (out, yes_place, no_register), out)
    }

    fn several_with_temporary(
        &mut self,
        op: Op,
        args: &[Value],
        out: Value,
    ) -> Result<(), IcedError> {
        let size = self.assembler.target.size;
        let a = self.register(args[0])?;
        let b = if args.len() > 1 { self.register(args[1])? } else { a };
        let out = self.result(out)?;
        let temporary = self.temporary()?;
        let [a_place, b_place] = [a, b].map(Place::Register);
        let (sign, abs) = (self.bits(sign_bit(size)), self.bits(!sign_bit(size)));
        match op {
            // The instruction makes the least integer of values that do not fit; its complement is
            // the greatest.
            Op::Convert => {
                let limit = self.bits(too_large(size));
                self.assembler.truncate(ORDERED, (a, a_place), out, temporary)?;
                self.assembler.complement_if(GREATER_OR_EQUAL, (a, limit), out, temporary)?;
            }
            Op::Bitcast => {
                let nan = self.bits(nan(size));
                self.assembler.choose(UNORDERED, (a, a_place), (out, nan, a), temporary)?;
            }
            Op::Sign => {
                let one = self.bits(one(size));
                let zero = self.bits(0);
                self.assembler.binary(Vector::And, out, a, sign)?;
                self.assembler.binary(Vector::Or, out, out, one)?;
                let yes = Place::Register(out);
                self.assembler.choose(UNEQUAL_ORDERED, (a, zero), (out, yes, a), temporary)?;
            }
            _ => {
                // The sign, unless the value is NaN.
                self.assembler.keep_if(ORDERED, (b, b_place), (out, b), out)?;
                self.assembler.binary(Vector::And, out, out, sign)?;
                self.assembler.binary(Vector::And, temporary, a, abs)?;
                self.assembler.binary(Vector::Or, out, out, Place::Register(temporary))?;
            }
        }
        self.read(args);
        self.release(temporary);
        Ok(())
    }
}
