//! Programs compute the same as forms, and run only the blocks that are needed.

use std::convert::Infallible;

use millstream_base::Lane;
use millstream_base::id::Id;

use super::*;
use crate::build::{FormBuilder, Val};
use crate::lane_value::LaneValue;
use crate::op::Op;
use crate::random::{Dice, random_form};

/// Runs a form as a program; returns its results and the number of lines.
fn run(form: &Form, params: &[u64]) -> (Vec<u64>, usize) {
    let mut writer = ProgramWriter::default();
    let first = writer.filled(params.iter().copied());
    let out = writer.registers(form.results.len());
    let places: Vec<u32> = (first..first + params.len() as u32).collect();
    let results: Vec<u32> = (out..out + form.results.len() as u32).collect();
    writer.begin();
    writer.form(form, &places, &results);
    writer.end();
    let program = writer.finish();
    let mut registers = program.registers();
    let Ok(()) = program.run(&mut registers, |_| Ok::<_, Infallible>(()));
    (registers.from(out)[..results.len()].to_vec(), program.n_lines())
}

fn canonical(form: &Form, results: &[u64]) -> Vec<u64> {
    form.result_lanes()
        .zip(results)
        .map(|(lane, bits)| crate::lane_value::canonical_bits(lane, *bits))
        .collect()
}

/// Runs a form as straight-line code with one line per instruction.
fn run_straight(form: &Form, params: &[u64]) -> Vec<u64> {
    let mut registers = vec![0; form.insts.len()];
    let mut writer = StraightWriter::default();
    for (reg, inst) in form.insts.iter() {
        match inst.op {
            Op::Param(number) => registers[reg.index()] = params[number as usize],
            Op::Const(bits) => registers[reg.index()] = bits,
            op => {
                let args: Vec<u32> = inst.args().iter().map(|arg| arg.index() as u32).collect();
                writer.operation((op, inst.of, inst.lane), &args, reg.index() as u32);
            }
        }
    }
    writer.finish().run(&mut registers);
    form.results.iter().map(|reg| registers[reg.index()]).collect()
}

/// Checks that lines give the results of the form; returns their number.
fn check(form: &Form, params: &[u64]) -> usize {
    let mut expected = vec![0; form.results.len()];
    form.run_scalar(params, &mut expected, &mut Vec::new());
    let (results, n) = run(form, params);
    let expected = canonical(form, &expected);
    assert_eq!(results, expected, "{form}");
    assert_eq!(run_straight(form, params), expected, "{form}");
    n
}

/// The number of computing operations of a form.
fn n_operations(form: &Form) -> usize {
    form.insts.iter().filter(|(_, inst)| inst.op.arity() > 0).count()
}

#[test]
fn lines_are_small() {
    assert_eq!(size_of::<Line>(), 24);
}

#[test]
fn random_forms_as_lines_are_the_forms() {
    let mut dice = Dice::new(41);
    for _ in 0..2000 {
        let n = 1 + dice.below(40);
        let form = random_form(&mut dice, n);
        let params: Vec<u64> = form.params.iter().map(|lane| dice.value(*lane)).collect();
        check(&form, &params);
    }
}

/// Forms of sums, differences and products, most of which can share lines.
#[test]
fn random_arithmetic_as_lines_is_the_form() {
    let mut dice = Dice::new(42);
    let (mut all, mut ready) = (0, 0);
    for round in 0..2000 {
        let lane = if round % 2 == 0 { Lane::F32 } else { Lane::F64 };
        let b = FormBuilder::new();
        let mut values: Vec<_> = (0..6).map(|_| b.param(lane)).collect();
        for _ in 0..12 {
            // Recent values are read more often than old ones, so that many values are read only
            // once.
            let reach = values.len().min(8);
            let mut pick = || values[values.len() - 1 - dice.below(reach)];
            let (x, y) = (pick(), pick());
            let op = dice.pick(&[Op::Add, Op::Sub, Op::Mul, Op::Mul, Op::Sqrt]);
            values.push(if op == Op::Sqrt { x.sqrt() } else { x.binary(op, y) });
        }
        let form = b.finish(&values[values.len() - 2..]);
        let params: Vec<u64> = form.params.iter().map(|lane| dice.value(*lane)).collect();
        all += n_operations(&form);
        ready += check(&form, &params);
    }
    assert!(ready * 10 < all * 8, "{ready} lines run of {all}");
}

#[test]
fn distances_and_dot_products_are_one_line() {
    fn sum([x, y, z]: [Val<'_>; 3]) -> Val<'_> {
        x + y + z
    }
    for lane in [Lane::F32, Lane::F64] {
        let value = |k: i32| match lane {
            Lane::F32 => u64::from((k as f32 * 0.37 - 1.0).to_bits()),
            _ => (f64::from(k) * 0.37 - 1.0).to_bits(),
        };
        let params: Vec<u64> = (0..6).map(value).collect();
        let b = FormBuilder::new();
        let [p, q] = [(); 2].map(|()| [(); 3].map(|()| b.param(lane)));
        let squares = sum([0, 1, 2].map(|i| (p[i] - q[i]) * (p[i] - q[i])));
        let dot = sum([0, 1, 2].map(|i| p[i] * q[i]));
        let square = sum([0, 1, 2].map(|i| p[i] * p[i]));
        for result in [squares, squares.sqrt(), dot, dot.sqrt(), square, square.sqrt()] {
            assert_eq!(check(&b.finish(&[result]), &params), 1);
        }
        // The last sum of a product stays with it.
        assert_eq!(check(&b.finish(&[dot + p[0]]), &params), 2);
        // Registers in another order are not a vector.
        assert_eq!(check(&b.finish(&[sum([0, 2, 1].map(|i| p[i] * q[i]))]), &params), 3);
        // A value with other readers is written.
        assert_eq!(check(&b.finish(&[dot, p[0] * q[0]]), &params), 3);
    }
}

#[test]
fn a_product_of_differences_takes_one_line_a_factor() {
    let b = FormBuilder::new();
    let [s, x, y, z] = [(); 4].map(|()| b.param(Lane::F32));
    let form = b.finish(&[s * (s - x) * (s - y) * (s - z)]);
    let params = [3.0_f32, 1.0, 2.5, -0.5].map(|value| u64::from(value.to_bits()));
    assert_eq!(check(&form, &params), 3);
}

#[test]
fn chains_of_every_short_operation_pass_results_on() {
    let mut dice = Dice::new(43);
    for _ in 0..500 {
        let b = FormBuilder::new();
        let params: Vec<Val<'_>> = (0..3).map(|_| b.param(Lane::F32)).collect();
        let mut last = params[0];
        for _ in 0..20 {
            let other = dice.pick(&params);
            last = match dice.below(9) {
                0 => last.min(other),
                1 => other.max(last),
                2 => last / other,
                3 => other - last,
                4 => last * last,
                5 => other.lt(last).select(last, other),
                6 => other.gt(0.5).select(other, last),
                7 => last.abs().sqrt(),
                _ => last.fma(other, last),
            };
        }
        let form = b.finish(&[last]);
        let params: Vec<u64> = (0..3).map(|_| dice.value(Lane::F32)).collect();
        check(&form, &params);
    }
}

/// A program that adds 1 to a register in each block, with a choice between two of them.
#[test]
fn blocks_run_once_and_only_if_needed() {
    let b = FormBuilder::new();
    let x = b.param(Lane::I32);
    let next = b.finish(&[x + 1]);
    let mut writer = ProgramWriter::default();
    let (selector, x) = (writer.registers(1), writer.registers(1));
    let values: Vec<u32> = (0..4).map(|_| writer.registers(1)).collect();
    let out = writer.registers(1);
    writer.begin();
    writer.call(1);
    let arm = |block: Block, k: usize| Arm { block, first: values[k] };
    writer.choose(selector, &[arm(2, 1), arm(3, 2), arm(NO_BLOCK, 0)], Lane::I32, (out, 1));
    writer.end();
    for (k, from) in [(0, x), (1, values[0]), (2, values[0])] {
        writer.begin();
        // The blocks of the arms call the first block, which is running already.
        if k > 0 {
            writer.call(1);
        }
        writer.form(&next, &[from], &[values[k]]);
        writer.end();
    }
    let program = writer.finish();
    let mut registers = program.registers();
    registers.from_mut(x)[0] = 5;
    for (picked, result, ran) in
        [(0, 7, [true, true, false]), (1, 7, [true, false, true]), (9, 6, [true, false, false])]
    {
        registers.from_mut(selector)[0] = picked;
        let Ok(()) = program.run(&mut registers, |_| Ok::<_, Infallible>(()));
        assert_eq!(registers.get(out), result);
        assert_eq!([1, 2, 3].map(|block| registers.ran(block)), ran);
    }
    assert_eq!(program.run(&mut registers, |_| Err("late")), Err("late"));
}

#[test]
fn tables_are_lines() {
    let mut writer = ProgramWriter::default();
    let selector = writer.registers(1);
    let items = writer.filled([10, 11, 20, 21, 30, 31]);
    let out = writer.registers(2);
    writer.begin();
    let arm = |k: u32| Arm { block: NO_BLOCK, first: items + 2 * k };
    writer.choose(selector, &[arm(0), arm(1), arm(2)], Lane::I64, (out, 2));
    writer.end();
    let program = writer.finish();
    assert_eq!(program.n_lines(), 2);
    let mut registers = program.registers();
    for (picked, result) in [(0, 10), (1, 20), (2, 30), (3, 30), (-1, 10), (i32::MIN, 10)] {
        registers.from_mut(selector)[0] = LaneValue::to_bits(picked);
        let Ok(()) = program.run(&mut registers, |_| Ok::<_, Infallible>(()));
        assert_eq!(registers.from(out)[..2], [result, result + 1], "{picked}");
    }
}

#[test]
fn called_forms_give_the_same() {
    let mut dice = Dice::new(44);
    let form = Arc::new(random_form(&mut dice, 30));
    let params: Vec<u64> = form.params.iter().map(|lane| dice.value(*lane)).collect();
    let mut writer = ProgramWriter::default();
    let first = writer.filled(params.iter().copied());
    let out = writer.registers(form.results.len());
    writer.begin();
    let places: Vec<u32> = (first..first + params.len() as u32).collect();
    writer.call_form(&form, &places, out);
    writer.end();
    let program = writer.finish();
    let mut registers = program.registers();
    let Ok(()) = program.run(&mut registers, |_| Ok::<_, Infallible>(()));
    let mut expected = vec![0; form.results.len()];
    form.run_scalar(&params, &mut expected, &mut Vec::new());
    assert_eq!(registers.from(out)[..expected.len()], expected);
}
