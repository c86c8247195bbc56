//! Machine code against the scalar interpreter.

use proptest::prelude::*;

use super::super::ends::{LaneInput, LaneOutput};
use super::super::tests::check_agreement;
use super::super::{ColumnScratch, Plan, Width};
use super::*;
use crate::build::FormBuilder;
use crate::inst::Inst;
use crate::random::{Dice, all_singles, random_form, single};

/// A scratch that makes machine code at once.
fn hot(width: Width) -> ColumnScratch {
    ColumnScratch { hot: 0, ..ColumnScratch::with_width(width) }
}

/// The widths that there is code for; those of machines where tests run, at most two.
fn compiled_widths() -> Vec<Width> {
    Width::available().filter(|width| Target::new(*width, 4).is_some()).collect()
}

/// How many stretches a form with these lanes as columns has, and how many tasks.
fn n_stretches(form: &Form, width: Width) -> (usize, usize) {
    let columns: Vec<Vec<u64>> = form.params.iter().map(|_| vec![0; 8]).collect();
    let inputs: Vec<LaneInput<'_>> = form
        .params
        .iter()
        .zip(&columns)
        .map(|(lane, column)| match lane {
            Lane::Bool => LaneInput::each([false; 8].as_slice()),
            Lane::I32 => LaneInput::each(bytemuck::cast_slice::<u64, i32>(column)),
            Lane::I64 => LaneInput::each(bytemuck::cast_slice::<u64, i64>(column)),
            Lane::F32 => LaneInput::each(bytemuck::cast_slice::<u64, f32>(column)),
            Lane::F64 => LaneInput::each(bytemuck::cast_slice::<u64, f64>(column)),
        })
        .collect();
    let mut out = [0.0_f32; 8];
    let mut truths = [false; 8];
    let (mut integers, mut longs, mut doubles) = ([0_i32; 8], [0_i64; 8], [0.0_f64; 8]);
    let output = match form.result_lanes().next().unwrap() {
        Lane::Bool => LaneOutput::each(0, truths.as_mut_slice()),
        Lane::I32 => LaneOutput::each(0, integers.as_mut_slice()),
        Lane::I64 => LaneOutput::each(0, longs.as_mut_slice()),
        Lane::F32 => LaneOutput::each(0, out.as_mut_slice()),
        Lane::F64 => LaneOutput::each(0, doubles.as_mut_slice()),
    };
    let plan = Plan::new(form, &inputs, &[output], Some(width)).expect("code can be made here");
    let n_native = plan.tasks.iter().filter(|task| matches!(task, Task::Native { .. })).count();
    assert_eq!(n_native, plan.codes.len());
    let is_computed = |task: &&Task| match task {
        Task::One(reg) => !matches!(form.insts[*reg].op, Op::Param(_)),
        _ => true,
    };
    (n_native, plan.tasks.iter().filter(is_computed).count())
}

#[test]
fn operations_that_are_compiled_run_as_code() {
    for width in compiled_widths() {
        let mut n_compiled = 0;
        for (op, of, to) in all_singles() {
            let form = single(op, of, to);
            let is_compiled =
                lane_size(&Inst::new(op, of, to, &[Reg::from_index(0); 3][..op.arity()]), width, 4)
                    .is_some();
            let expected = usize::from(is_compiled);
            assert_eq!(n_stretches(&form, width), (expected, 1), "{form}");
            n_compiled += expected;
        }
        // Narrow vectors lack some operations on 64-bit integers.
        let expected = if width.vector_bytes() == 64 { 119 } else { 111 };
        assert_eq!(n_compiled, expected, "{}", width.name());
    }
}

#[test]
fn instructions_of_one_size_are_one_stretch_up_to_an_elementary_function() {
    for width in compiled_widths() {
        let b = FormBuilder::new();
        let (x, y) = (b.param(Lane::F32), b.param(Lane::F32));
        let a = (x * y + 1.0).sqrt();
        let c = (a - y).sin();
        let form = b.finish(&[(c * a).min(x)]);
        // A stretch, the sine with its operand, and another stretch.
        assert_eq!(n_stretches(&form, width), (2, 3), "{form}");
    }
}

#[test]
fn more_values_than_registers_go_to_memory() {
    let mut dice = Dice::new(7);
    for width in compiled_widths() {
        let mut scratch = hot(width);
        for lane in [Lane::F32, Lane::F64, Lane::I32] {
            let b = FormBuilder::new();
            let params: Vec<_> = (0..12).map(|_| b.param(lane)).collect();
            let mut products = Vec::new();
            for (i, x) in params.iter().enumerate() {
                products.extend(params[i..].iter().map(|y| *x * *y + *x));
            }
            // The first are read last.
            let sum = products.iter().rev().copied().reduce(|sum, x| sum - x).unwrap();
            let form = b.finish(&[sum, products[40]]);
            check_agreement(&form, &mut dice, 700, &mut scratch);
            check_agreement(&form, &mut dice, 5, &mut scratch);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn long_forms_give_the_scalar_bits_as_code(seed: u64, n in 60_usize..400, len in 1_usize..200) {
        let mut dice = Dice::new(seed);
        let form = random_form(&mut dice, n);
        for width in compiled_widths() {
            check_agreement(&form, &mut dice, len, &mut hot(width));
        }
    }
}
