//! Makes a form shorter without changing a bit of its results.
//!
//! Rebuilding the form folds constants and merges duplicates; this file adds identities, each of
//! which holds for every operand, with all NaNs as one value. For floats they do not include `x +
//! 0` (which turns -0 into +0), `x * 0`, `x - x` and `x / x`.

use millstream_base::id::Id;
use millstream_base::lane::Lane;

use crate::build::{FormBuilder, Val};
use crate::inst::{Form, Inst};
use crate::lane_value::{LaneValue, canonical_bits};
use crate::op::Op;

impl Form {
    /// The same function in fewer instructions: constants folded, duplicates merged, bit-exact
    /// identities applied, dead instructions dropped. Parameters remain.
    pub fn simplify(&self) -> Self {
        let b = FormBuilder::new();
        let mut values: Vec<Val<'_>> = Vec::with_capacity(self.insts.len());
        for (_, inst) in self.insts.iter() {
            let value = match inst.op {
                Op::Const(bits) => b.constant_bits(inst.lane, bits),
                Op::Param(_) => b.param(inst.lane),
                _ => {
                    let mut inst = *inst;
                    for arg in inst.args_mut() {
                        *arg = values[arg.index()].reg();
                    }
                    identity(&b, &inst).unwrap_or_else(|| b.intern(inst))
                }
            };
            values.push(value);
        }
        let results: Vec<Val<'_>> = self.results.iter().map(|reg| values[reg.index()]).collect();
        b.finish(&results)
    }
}

/// The bits of a number in a lane that holds it.
fn bits_of(lane: Lane, value: f64) -> u64 {
    match lane {
        Lane::Bool => value.to_bool().to_bits(),
        Lane::I32 => value.to_i32().to_bits(),
        Lane::I64 => value.to_i64().to_bits(),
        Lane::F32 => LaneValue::to_bits(value.to_f32()),
        Lane::F64 => canonical_bits(Lane::F64, LaneValue::to_bits(value)),
    }
}

/// The earlier value that equals an instruction of `b`, if there is one.
fn identity<'b>(b: &'b FormBuilder, inst: &Inst) -> Option<Val<'b>> {
    let args = inst.args();
    let (first, last) = (b.value(args[0]), b.value(args[args.len() - 1]));
    let is = |arg: Val<'b>, value: f64| b.constant_value(arg) == Some(bits_of(inst.of, value));
    let inner = b.inst(first);
    let inner_arg = || b.value(inner.args()[0]);
    let exact = !inst.of.is_float();
    let twice = first.reg() == last.reg();
    match inst.op {
        Op::Mul | Op::Div if is(last, 1.0) => Some(first),
        Op::Mul if is(first, 1.0) => Some(last),
        Op::Div if !exact => reciprocal(b, last).map(|reciprocal| first * reciprocal),
        Op::Mul if exact && (is(first, 0.0) || is(last, 0.0)) => {
            Some(b.constant_bits(inst.lane, 0))
        }
        Op::Add if is(first, -0.0) => Some(last),
        Op::Add if is(last, -0.0) => Some(first),
        Op::Sub if is(last, 0.0) => Some(first),
        Op::Sub | Op::Xor if exact && twice => Some(b.constant_bits(inst.lane, 0)),
        Op::Min | Op::Max | Op::And | Op::Or if twice => Some(first),
        Op::Not | Op::Neg if inner.op == inst.op => Some(inner_arg()),
        Op::Abs if inner.op == Op::Abs => Some(first),
        op if is_rounding(op) && is_rounding(inner.op) => Some(first),
        Op::Bitcast if exact && inner.op == Op::Bitcast => Some(inner_arg()),
        Op::Convert => redundant_conversion(b, inst),
        Op::Select => select(b, inst),
        _ => None,
    }
}

/// The reciprocal of a constant, if multiplying by it rounds like dividing by the constant: for
/// powers of 2 if both are normal.
fn reciprocal<'b>(b: &'b FormBuilder, constant: Val<'b>) -> Option<Val<'b>> {
    let bits = b.constant_value(constant)?;
    let lane = constant.lane();
    let value = match lane {
        Lane::F32 => f64::from(f32::from_bits(bits as u32)),
        Lane::F64 => f64::from_bits(bits),
        Lane::Bool | Lane::I32 | Lane::I64 => return None,
    };
    let largest = if lane == Lane::F32 { 126 } else { 1022 };
    let is_power = value.to_bits() << 12 == 0;
    let exponent = (value.abs().to_bits() >> 52) as i32 - 1023;
    (is_power && exponent.abs() <= largest).then(|| b.constant(lane, 1.0 / value))
}

fn is_rounding(op: Op) -> bool {
    matches!(op, Op::Floor | Op::Ceil | Op::Trunc | Op::Round | Op::RoundEven)
}

/// Conversions to the same lane, and back from a lane that holds every value.
fn redundant_conversion<'b>(b: &'b FormBuilder, inst: &Inst) -> Option<Val<'b>> {
    let source = b.value(inst.args()[0]);
    if inst.of == inst.lane {
        return Some(source);
    }
    let inner = b.inst(source);
    let (from, through) = (inner.of, inst.of);
    let kept = matches!(
        (from, through),
        (Lane::Bool, _) | (Lane::I32, Lane::I64 | Lane::F64) | (Lane::F32, Lane::F64)
    );
    let back = inner.op == Op::Convert && from == inst.lane && kept;
    back.then(|| b.value(inner.args()[0]))
}

fn select<'b>(b: &'b FormBuilder, inst: &Inst) -> Option<Val<'b>> {
    let [condition, yes, no] = [0, 1, 2].map(|i| b.value(inst.args()[i]));
    if yes.reg() == no.reg() {
        return Some(yes);
    }
    if let Some(bits) = b.constant_value(condition) {
        return Some(if bool::from_bits(bits) { yes } else { no });
    }
    let inner = b.inst(condition);
    let opposite = inner.op == Op::Not;
    let (condition, yes, no) =
        if opposite { (b.value(inner.args()[0]), no, yes) } else { (condition, yes, no) };
    match (inst.lane, b.constant_value(yes), b.constant_value(no)) {
        (Lane::Bool, Some(1), Some(0)) => Some(condition),
        (Lane::Bool, Some(0), Some(1)) => Some(!condition),
        _ => opposite.then(|| condition.select(yes, no)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: &Expect) {
        let form: Form = text.parse().unwrap();
        let simple = form.simplify();
        simple.verify().unwrap();
        assert_eq!(simple.simplify(), simple, "simplifying again changes nothing");
        expected.assert_eq(&simple.to_string());
    }

    #[test]
    fn multiplying_and_dividing_by_one_goes() {
        check(
            "%0 = param f32
             %1 = const f32 1.0
             %2 = mul f32 %0, %1
             %3 = mul f32 %1, %2
             %4 = div f32 %3, %1
             return %4",
            &expect![[r"
                %0 = param f32
                return %0
            "]],
        );
    }

    #[test]
    fn dividing_by_a_power_of_two_multiplies() {
        check(
            "%0 = param f32
             %1 = const f32 -4.0
             %2 = const f32 3.0
             %3 = const f32 1.7014118e38
             %4 = div f32 %0, %1
             %5 = div f32 %4, %2
             %6 = div f32 %5, %3
             return %6",
            &expect![[r"
                %0 = param f32
                %1 = const f32 3.0
                %2 = const f32 1.7014118e38
                %3 = const f32 -0.25
                %4 = mul f32 %0, %3
                %5 = div f32 %4, %1
                %6 = div f32 %5, %2
                return %6
            "]],
        );
    }

    #[test]
    fn only_the_exact_zero_goes() {
        check(
            "%0 = param f64
             %1 = const f64 0.0
             %2 = const f64 -0.0
             %3 = add f64 %0, %2
             %4 = sub f64 %0, %1
             %5 = add f64 %0, %1
             %6 = sub f64 %0, %2
             %7 = mul f64 %0, %1
             %8 = sub f64 %0, %0
             return %3, %4, %5, %6, %7, %8",
            &expect![[r"
                %0 = param f64
                %1 = const f64 0.0
                %2 = const f64 -0.0
                %3 = add f64 %0, %1
                %4 = sub f64 %0, %2
                %5 = mul f64 %0, %1
                %6 = sub f64 %0, %0
                return %0, %0, %3, %4, %5, %6
            "]],
        );
    }

    #[test]
    fn integer_zeros_go() {
        check(
            "%0 = param i32
             %1 = const i32 0
             %2 = add i32 %0, %1
             %3 = sub i32 %2, %1
             %4 = mul i32 %0, %1
             %5 = xor i32 %0, %0
             return %3, %4, %5",
            &expect![[r"
                %0 = param i32
                %1 = const i32 0
                return %0, %1, %1
            "]],
        );
    }

    #[test]
    fn pairs_cancel() {
        check(
            "%0 = param f32
             %1 = param bool
             %2 = neg f32 %0
             %3 = neg f32 %2
             %4 = not bool %1
             %5 = not bool %4
             %6 = min f32 %3, %0
             %7 = bitcast i32 %0
             %8 = bitcast f32 %7
             return %3, %5, %6, %8",
            &expect![[r"
                %0 = param f32
                %1 = param bool
                return %0, %1, %0, %0
            "]],
        );
    }

    #[test]
    fn casting_integers_through_floats_stays_because_nan_has_one_pattern() {
        check(
            "%0 = param i32
             %1 = bitcast f32 %0
             %2 = bitcast i32 %1
             return %2",
            &expect![[r"
                %0 = param i32
                %1 = bitcast f32 %0
                %2 = bitcast i32 %1
                return %2
            "]],
        );
    }

    #[test]
    fn selects_without_a_choice_go() {
        check(
            "%0 = param bool
             %1 = param f32
             %2 = param f32
             %3 = select f32 %0, %1, %1
             %4 = const bool false
             %5 = select f32 %4, %1, %2
             %6 = not bool %0
             %7 = select f32 %6, %1, %2
             %8 = const bool true
             %9 = select bool %6, %8, %4
             return %3, %5, %7, %9",
            &expect![[r"
                %0 = param bool
                %1 = param f32
                %2 = param f32
                %3 = not bool %0
                %4 = select f32 %0, %2, %1
                return %1, %2, %4, %3
            "]],
        );
    }

    #[test]
    fn conversions_back_from_a_wider_lane_go() {
        check(
            "%0 = param f32
             %1 = convert f64 %0
             %2 = convert f32 %1
             %3 = param i64
             %4 = convert f64 %3
             %5 = convert i64 %4
             return %2, %5",
            &expect![[r"
                %0 = param f32
                %1 = param i64
                %2 = convert f64 %1
                %3 = convert i64 %2
                return %0, %3
            "]],
        );
    }

    #[test]
    fn constants_fold_and_duplicates_merge() {
        check(
            "%0 = param f32
             %1 = const f32 2.0
             %2 = const f32 3.0
             %3 = mul f32 %1, %2
             %4 = add f32 %0, %3
             %5 = add f32 %0, %3
             %6 = mul f32 %4, %5
             %7 = sin f32 %0
             return %6",
            &expect![[r"
                %0 = param f32
                %1 = const f32 6.0
                %2 = add f32 %0, %1
                %3 = mul f32 %2, %2
                return %3
            "]],
        );
    }
}
