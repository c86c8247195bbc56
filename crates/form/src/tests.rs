//! The results of operations, and the forms that the builder makes of them.

use expect_test::expect;

use millstream_base::lane::Lane;

use crate::random::{Dice, all_singles, single};
use crate::*;

/// `op` on values of one lane; the result read as `R`.
fn run<A: LaneValue, R: LaneValue>(op: Op, args: &[A]) -> R {
    let mut bits = [0; 3];
    for (slot, arg) in bits.iter_mut().zip(args) {
        *slot = arg.to_bits();
    }
    R::from_bits(eval_op(op, A::LANE, R::LANE, bits))
}

fn same<A: LaneValue>(op: Op, args: &[A]) -> A {
    run(op, args)
}

#[test]
fn integer_arithmetic_wraps_and_is_total() {
    assert_eq!(same(Op::Add, &[i32::MAX, 1]), i32::MIN);
    assert_eq!(same(Op::Mul, &[i64::MIN, -1]), i64::MIN);
    assert_eq!(same(Op::Neg, &[i32::MIN]), i32::MIN);
    assert_eq!(same(Op::Abs, &[i64::MIN]), i64::MIN);
    for op in [Op::Div, Op::Rem, Op::RemEuclid] {
        assert_eq!(same(op, &[7_i32, 0]), 0);
        assert_eq!(same(op, &[i64::MIN, 0]), 0);
    }
    assert_eq!(same(Op::Div, &[i32::MIN, -1]), i32::MIN);
    assert_eq!(same(Op::Rem, &[i64::MIN, -1]), 0);
    assert_eq!(same(Op::RemEuclid, &[i32::MIN, -1]), 0);
    assert_eq!((same(Op::Div, &[-7, 2]), same(Op::Rem, &[-7, 2])), (-3, -1));
    assert_eq!((same(Op::RemEuclid, &[-7, 2]), same(Op::RemEuclid, &[-7, -3])), (1, 2));
    assert_eq!((same(Op::Sign, &[-7]), same(Op::Sign, &[0_i64])), (-1, 0));
}

#[test]
fn shift_counts_are_masked() {
    assert_eq!(same(Op::Shl, &[1_i32, 33]), 2);
    assert_eq!(same(Op::Shl, &[1_i64, 65]), 2);
    assert_eq!(same(Op::Shr, &[-8_i32, 1]), -4);
    assert_eq!(same(Op::Ushr, &[-1_i32, 28]), 15);
    assert_eq!(same(Op::Ushr, &[-1_i64, -1]), 1);
    assert_eq!(same(Op::LeadingZeros, &[0_i32]), 32);
    assert_eq!(same(Op::TrailingZeros, &[0_i64]), 64);
    assert_eq!(same(Op::CountOnes, &[-1_i64]), 64);
    assert_eq!((same(Op::Not, &[0_i32]), same(Op::Not, &[true])), (-1, false));
}

#[test]
fn conversions_saturate_extend_and_wrap() {
    let to_i32 = |x: f64| run::<f64, i32>(Op::Convert, &[x]);
    assert_eq!((to_i32(-2.9), to_i32(1e10), to_i32(f64::NAN)), (-2, i32::MAX, 0));
    assert_eq!(run::<f32, i64>(Op::Convert, &[f32::NEG_INFINITY]), i64::MIN);
    assert_eq!(run::<i64, i32>(Op::Convert, &[(1 << 32) + 5]), 5);
    assert_eq!(run::<i32, i64>(Op::Convert, &[-1]), -1);
    assert_eq!(run::<i64, f32>(Op::Convert, &[16_777_217]), 16_777_216.0);
    assert_eq!(run::<f64, f32>(Op::Convert, &[0.1]), 0.1);
    assert!(run::<f32, bool>(Op::Convert, &[f32::NAN]));
    assert!(!run::<f64, bool>(Op::Convert, &[-0.0]));
    assert_eq!(run::<bool, f64>(Op::Convert, &[true]), 1.0);
}

#[test]
fn readers_of_bits_see_one_nan() {
    let nans = [f32::NAN, -f32::NAN, f32::from_bits(0xFF80_0001)];
    for nan in nans {
        assert_eq!(run::<f32, i32>(Op::Bitcast, &[nan]), 0x7FC0_0000);
        assert_eq!(same(Op::Copysign, &[2.0_f32, nan]), 2.0);
    }
    assert_eq!(run::<f64, i64>(Op::Bitcast, &[-f64::NAN]), 0x7FF8_0000_0000_0000);
    assert_eq!(run::<i32, f32>(Op::Bitcast, &[0x3F80_0000]), 1.0);
    assert_eq!(run::<f64, i64>(Op::Bitcast, &[-0.0]), i64::MIN);
}

#[test]
fn comparisons_with_nan_are_false_but_for_ne() {
    for op in [Op::Eq, Op::Lt, Op::Le, Op::Gt, Op::Ge] {
        assert!(!run::<f64, bool>(op, &[f64::NAN, f64::NAN]));
        assert!(!run::<f32, bool>(op, &[1.0, f32::NAN]));
    }
    assert!(run::<f32, bool>(Op::Ne, &[f32::NAN, f32::NAN]));
    assert!(run::<f32, bool>(Op::Eq, &[0.0, -0.0]));
    assert!(run::<bool, bool>(Op::Eq, &[false, false]));
    assert!(run::<i64, bool>(Op::Lt, &[-1, 0]));
    assert!(run::<f32, bool>(Op::IsNan, &[f32::NAN]));
    assert!(!run::<f64, bool>(Op::IsFinite, &[f64::INFINITY]));
}

#[test]
fn float_operations_are_those_of_base() {
    assert_eq!(same(Op::Min, &[f32::NAN, 1.0]), 1.0);
    assert_eq!(same(Op::Max, &[-0.0_f64, 0.0]).to_bits(), 0);
    assert_eq!(same(Op::Round, &[-2.5_f64]), -3.0);
    assert_eq!(same(Op::RoundEven, &[-2.5_f32]), -2.0);
    assert_eq!(same(Op::Fract, &[-0.25_f32]), 0.75);
    assert_eq!(same(Op::Fma, &[2.0_f64, 3.0, 4.0]), 10.0);
    assert_eq!(same(Op::Atan2, &[1.0_f64, 0.0]), std::f64::consts::FRAC_PI_2);
    assert_eq!(same(Op::Pow, &[2.0_f64, 10.0]), 1024.0);
    assert_eq!(same(Op::RemEuclid, &[-1.0_f32, 3.0]), 2.0);
}

/// Every row of the table, on all lanes that it has: the operation alone, the form, the program,
/// and columns of few and of many elements.
#[test]
fn every_operation_is_the_same_in_all_executions() {
    let mut dice = Dice::new(45);
    let n = 9;
    for (op, of, to) in all_singles() {
        let form = single(op, of, to);
        let lanes = form.params.clone();
        let elements: Vec<Vec<u64>> =
            (0..n).map(|_| lanes.iter().map(|lane| dice.value(*lane)).collect()).collect();
        let expected: Vec<u64> = elements
            .iter()
            .map(|args| {
                let mut bits = [0; 3];
                bits[..args.len()].copy_from_slice(args);
                canonical_bits(to, eval_op(op, of, to, bits))
            })
            .collect();
        let mut writer = ProgramWriter::default();
        let (first, out) = (writer.registers(3), writer.registers(1));
        let params: Vec<u32> = (first..first + lanes.len() as u32).collect();
        writer.begin();
        writer.form(&form, &params, &[out]);
        writer.end();
        let program = writer.finish();
        let mut registers = program.registers();
        for (args, expected) in elements.iter().zip(&expected) {
            let mut result = [0];
            form.run_scalar(args, &mut result, &mut Vec::new());
            assert_eq!(canonical_bits(to, result[0]), *expected, "{op:?} {of} as form");
            registers.from_mut(first)[..args.len()].copy_from_slice(args);
            program.run(&mut registers, |_| Ok::<_, ()>(())).expect("nobody ends the run");
            let found = canonical_bits(to, registers.get(out));
            assert_eq!(found, *expected, "{op:?} {of} as program");
        }
        for n in [1, n] {
            let found = over_columns(&form, &elements[..n], to);
            assert_eq!(found, expected[..n], "{op:?} {of} over {n} elements");
        }
    }
}

/// The canonical bits of a form's only result for each element.
fn over_columns(form: &Form, elements: &[Vec<u64>], to: Lane) -> Vec<u64> {
    fn lanes<T: LaneValue>(elements: &[Vec<u64>], k: usize) -> Vec<T> {
        elements.iter().map(|args| T::from_bits(args[k])).collect()
    }
    macro_rules! with_lanes {
        ($lane:expr, $type:ident => $run:expr) => {
            match $lane {
                Lane::Bool => {
                    type $type = bool;
                    $run
                }
                Lane::I32 => {
                    type $type = i32;
                    $run
                }
                Lane::I64 => {
                    type $type = i64;
                    $run
                }
                Lane::F32 => {
                    type $type = f32;
                    $run
                }
                Lane::F64 => {
                    type $type = f64;
                    $run
                }
            }
        };
    }
    let mut inputs = Vec::new();
    for (k, lane) in form.params.iter().enumerate() {
        with_lanes!(lane, T => {
            let lanes: &[T] = Vec::leak(lanes(elements, k));
            inputs.push(LaneInput::each(lanes));
        });
    }
    let mask = millstream_base::mask::Mask::full(elements.len());
    with_lanes!(to, T => {
        let mut results = vec![T::default(); elements.len()];
        let mut outputs = [LaneOutput::each(0, results.as_mut_slice())];
        run_columns(form, &inputs, &mut outputs, &mask, &mut ColumnScratch::default());
        results.iter().map(|x| canonical_bits(to, LaneValue::to_bits(*x))).collect()
    })
}

/// The text form accepts the words in the table, and an operation fits the lanes for which it has a
/// meaning.
#[test]
fn every_operation_that_fits_has_a_meaning() {
    for (op, of, to) in all_singles() {
        eval_op(op, of, to, [1, 1, 1]);
        let form = single(op, of, to);
        assert_eq!(form.verify(), Ok(()));
        assert_eq!(form.to_string().parse(), Ok(form), "it reads back");
    }
}

#[test]
fn equal_instructions_are_one() {
    let b = FormBuilder::new();
    let x = b.param(Lane::F32);
    assert_eq!((x * 2.0 + 1.0).reg(), (x * 2.0 + 1.0).reg());
    assert_eq!(b.constant_f32(f32::NAN).reg(), b.constant_f32(-f32::NAN).reg());
    assert_ne!(b.constant_f32(0.0).reg(), b.constant_f32(-0.0).reg());
    assert_ne!(b.constant_i32(1).reg(), b.constant_i64(1).reg());
}

#[test]
fn constants_fold_and_dead_instructions_go() {
    let b = FormBuilder::new();
    let [x, unused] = b.params([Lane::F32, Lane::I64]);
    let _ = unused * 3 + 1;
    let four = b.constant_f32(2.0) * 2.0;
    assert_eq!(b.constant_value(four), Some(u64::from(4.0_f32.to_bits())));
    let form = b.finish(&[1.0 - x * four.sqrt()]);
    expect![[r"
        %0 = param f32
        %1 = param i64
        %2 = const f32 2.0
        %3 = mul f32 %0, %2
        %4 = const f32 1.0
        %5 = sub f32 %4, %3
        return %5
    "]]
    .assert_eq(&form.to_string());
}

#[test]
fn a_form_is_written_into_another() {
    let square = {
        let b = FormBuilder::new();
        let x = b.param(Lane::F64);
        b.finish(&[x * x])
    };
    let b = FormBuilder::new();
    let [x, y] = b.params([Lane::F64; 2]);
    let sum = square.inline(&b, &[x])[0] + square.inline(&b, &[y])[0];
    let nine = square.inline(&b, &[b.constant_f64(3.0)])[0];
    expect![[r"
        %0 = param f64
        %1 = param f64
        %2 = mul f64 %0, %0
        %3 = mul f64 %1, %1
        %4 = add f64 %2, %3
        %5 = const f64 9.0
        return %4, %5
    "]]
    .assert_eq(&b.finish(&[sum, nine]).to_string());
}

#[test]
#[should_panic(expected = "operand 0 of `add` is f32 instead of f64")]
fn operands_of_different_lanes_are_refused() {
    let b = FormBuilder::new();
    let _ = b.param(Lane::F32) + b.param(Lane::F64);
}

#[test]
#[should_panic(expected = "`sin` does not take i32")]
fn an_operation_on_a_lane_it_lacks_is_refused() {
    FormBuilder::new().param(Lane::I32).sin();
}

#[test]
#[should_panic(expected = "0.5 does not fit i32")]
fn a_constant_that_does_not_fit_is_refused() {
    let _ = FormBuilder::new().param(Lane::I32) * 0.5;
}

struct Held(u64);

impl HeldOperand for Held {
    fn bits(&self) -> u64 {
        self.0
    }
}

#[test]
fn functions_of_operations_are_the_operations() {
    let values = [0_u64, 1, 0x3fc0_0000, 0x4000_0000_0000_0000, 0xffff_fff0];
    let mut n_tried = 0;
    for (op, of, to) in all_singles() {
        let function = op_function(op, of, to);
        for (a, b) in values.into_iter().flat_map(|a| values.map(|b| (a, b))) {
            n_tried += 1;
            let [a, b] = [canonical_bits(op.operand_lane(0, of), a), canonical_bits(of, b)];
            let c = canonical_bits(of, values[2]);
            let (found, wanted) = (function(a, b, c), eval_op(op, of, to, [a, b, c]));
            assert_eq!(canonical_bits(to, found), canonical_bits(to, wanted), "{op:?} {of}");
        }
        if of == to && op.arity() == 2 {
            let values = values.map(|bits| canonical_bits(of, bits));
            let fold = fold_function::<Held>(op, of);
            let step = |a, b| eval_op(op, of, of, [a, b, 0]);
            let wanted = step(step(values[3], values[0]), values[1]);
            let found = fold(&values.map(Held), &[3, 0, 1]);
            assert_eq!(canonical_bits(of, found), canonical_bits(of, wanted), "{op:?} {of}");
        }
    }
    assert!(n_tried > 4_000, "{n_tried} calls");
}
