//! Lines, ready to be run, compute what forms do.

use millstream_base::id::Id;

use super::*;
use crate::random::{Dice, random_form};
use crate::{Form, FormBuilder, Val, eval_op};

/// The lines of a form whose parameters lie in registers from 0 on, the registers of its results,
/// and a file for it.
fn lines_of(form: &Form, params: &[u64]) -> (Vec<Line>, Vec<usize>, Vec<u64>) {
    let mut regs = params.to_vec();
    let (mut at, mut lines) = (Vec::new(), Vec::new());
    for inst in form.insts.as_slice() {
        if let Op::Param(number) = inst.op {
            at.push(number);
            continue;
        }
        let out = regs.len() as u32;
        if let Op::Const(bits) = inst.op {
            regs.push(bits);
        } else {
            let mut args = [0; 3];
            for (arg, reg) in args.iter_mut().zip(inst.args()) {
                *arg = at[reg.index()];
            }
            lines.push(Line::new(inst.op, inst.of, inst.lane, out, args));
            regs.push(0);
        }
        at.push(out);
    }
    (lines, form.results.iter().map(|reg| at[reg.index()] as usize).collect(), regs)
}

/// Runs a form as lines; gives its results and how many lines there were to run.
fn run(form: &Form, params: &[u64]) -> (Vec<u64>, usize) {
    let (lines, results, mut regs) = lines_of(form, params);
    let mut ready = Vec::new();
    ready_lines(&lines, |reg| results.contains(&(reg as usize)), &mut ready);
    run_lines(&ready, &mut regs);
    (results.iter().map(|reg| regs[*reg]).collect(), ready.len())
}

fn canonical(form: &Form, results: &[u64]) -> Vec<u64> {
    form.result_lanes()
        .zip(results)
        .map(|(lane, bits)| crate::canonical_bits(lane, *bits))
        .collect()
}

/// Runs a form as a block, if it has few enough registers.
fn run_block(form: &Form, params: &[u64]) -> Option<Vec<u64>> {
    let (lines, results, regs) = lines_of(form, params);
    let mut registers = [0; 256];
    registers.get_mut(..regs.len())?.copy_from_slice(&regs);
    Block::new(&lines).run(&mut registers);
    Some(results.iter().map(|reg| registers[*reg]).collect())
}

/// Checks that lines give the results of the form, and says how many there were to run.
fn check(form: &Form, params: &[u64]) -> usize {
    let mut expected = vec![0; form.results.len()];
    form.run_scalar(params, &mut expected, &mut Vec::new());
    let (results, n) = run(form, params);
    assert_eq!(canonical(form, &results), canonical(form, &expected), "{form}");
    if let Some(results) = run_block(form, params) {
        assert_eq!(results, canonical(form, &expected), "{form}");
    }
    n
}

#[test]
fn lines_compute_what_operations_do() {
    let mut regs = [1.5_f32.to_bits().into(), 0.25_f32.to_bits().into(), 0, 0];
    let lines = [
        Line::new(Op::Sub, Lane::F32, Lane::F32, 2, [0, 1, 0]),
        Line::new(Op::Lt, Lane::F32, Lane::Bool, 3, [1, 2, 0]),
    ];
    run_lines(&lines.map(|line| line.ready()), &mut regs);
    let difference = eval_op(Op::Sub, Lane::F32, Lane::F32, [regs[0], regs[1], 0]);
    assert_eq!(regs[2..], [difference, 1]);
    assert_eq!(size_of::<ReadyLine>(), 24);
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

/// Forms of sums, differences and products, of which most parts can be one with others.
#[test]
fn random_arithmetic_as_lines_is_the_form() {
    let mut dice = Dice::new(42);
    let (mut all, mut ready) = (0, 0);
    for round in 0..2000 {
        let lane = if round % 2 == 0 { Lane::F32 } else { Lane::F64 };
        let b = FormBuilder::new();
        let mut values: Vec<_> = (0..6).map(|_| b.param(lane)).collect();
        for _ in 0..12 {
            // What is new is read sooner than what is old, so that much is read once.
            let reach = values.len().min(8);
            let mut pick = || values[values.len() - 1 - dice.below(reach)];
            let (x, y) = (pick(), pick());
            let op = dice.pick(&[Op::Add, Op::Sub, Op::Mul, Op::Mul, Op::Sqrt]);
            values.push(if op == Op::Sqrt { x.sqrt() } else { x.binary(op, y) });
        }
        let form = b.finish(&values[values.len() - 2..]);
        let params: Vec<u64> = form.params.iter().map(|lane| dice.value(*lane)).collect();
        all += lines_of(&form, &params).0.len();
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
        // Registers in another order are no vector.
        assert_eq!(check(&b.finish(&[sum([0, 2, 1].map(|i| p[i] * q[i]))]), &params), 3);
        // What somebody else reads is written.
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
