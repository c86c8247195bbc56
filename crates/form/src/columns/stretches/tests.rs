//! Machine code against the scalar interpreter.

use proptest::prelude::*;

use super::super::ends::{LaneInput, LaneOutput};
use super::super::tests::{Owned, check_agreement};
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
    let columns: Vec<Owned> = form.params.iter().map(|lane| Owned::new(*lane, &[0; 8])).collect();
    let inputs: Vec<LaneInput<'_>> =
        columns.iter().map(|column| LaneInput::each(column.view())).collect();
    let mut out = Owned::new(form.result_lanes().next().unwrap(), &[0; 8]);
    let output = LaneOutput::each(0, out.view_mut());
    let plan =
        Plan::new(form, &inputs, &[output], Some(width), true).expect("code can be made here");
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

/// Vectors of 2 to 4 lanes are read and written as they are stored, at any length.
#[test]
fn stored_vectors_are_read_and_written_in_place() {
    for width in compiled_widths() {
        for (stride, n) in
            (2..=4).flat_map(|stride| [1, 5, 16, 33, 1000, 5000].map(|n| (stride, n)))
        {
            let b = FormBuilder::new();
            let (lanes, s) =
                ((0..stride).map(|_| b.param(Lane::F32)).collect::<Vec<_>>(), b.param(Lane::F32));
            let mut results: Vec<_> = lanes.iter().map(|lane| *lane * s - lanes[0]).collect();
            // One lane is the same for all elements.
            results[stride - 1] = s + 1.0;
            let form = b.finish(&results);
            let stored: Vec<f32> = (0..n * stride).map(|i| i as f32 * 0.5 - 7.0).collect();
            let lane = |offset| LaneInput::Lanes {
                lanes: stored.as_slice().into(),
                offset,
                stride,
                map: millstream_base::map::Map::Each,
            };
            let inputs: Vec<LaneInput<'_>> =
                (0..stride).map(lane).chain([LaneInput::single([3.0_f32].as_slice())]).collect();
            let mut out = vec![0.0_f32; n * stride];
            let mut outputs = [LaneOutput::vector(0, stride, out.as_mut_slice())];
            let plan = Plan::new(&form, &inputs, &outputs, Some(width), true).unwrap();
            let in_place = width.vector_bytes() == 64;
            let reads_in_place = |home: &Home| matches!(home.place.direct, Direct::Strided(_));
            assert_eq!(plan.joined[0], in_place);
            assert_eq!(plan.homes.iter().any(reads_in_place), in_place);
            let mask = millstream_base::mask::Mask::full(n);
            super::super::run_columns(&form, &inputs, &mut outputs, &mask, &mut hot(width));
            for (i, element) in out.chunks(stride).enumerate() {
                let vector = &stored[i * stride..][..stride];
                let expected = (0..stride)
                    .map(|k| if k == stride - 1 { 4.0 } else { vector[k] * 3.0 - vector[0] });
                assert!(element.iter().copied().eq(expected), "{element:?} {i} of {n}");
            }
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
