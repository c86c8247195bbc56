//! Tiles against the scalar interpreter, over all steps and layouts.

use millstream_base::mask::Mask;

use super::*;
use crate::build::{FormBuilder, Val};
use crate::columns::{ColumnScratch, FEW, run_columns};
use crate::lane_value::{LaneValue, canonical_bits};
use crate::random::Dice;
use millstream_base::map::Map;

const N: usize = 5 * TILE + 7;

/// A form and the lanes of a stored value of each input, 0 for one that is the same for all.
struct Case {
    form: Form,
    strides: Vec<usize>,
}

fn case(strides: &[usize], make: impl for<'b> FnOnce(&[Val<'b>]) -> Vec<Val<'b>>) -> Case {
    let b = FormBuilder::new();
    let n_params: usize = strides.iter().map(|stride| (*stride).max(1)).sum();
    let params: Vec<Val<'_>> = (0..n_params).map(|_| b.param(Lane::F32)).collect();
    Case { form: b.finish(&make(&params)), strides: strides.to_vec() }
}

fn cases() -> Vec<Case> {
    let mut cases = vec![
        case(&[1, 1], |p| vec![p[0] + p[1], p[0] - p[1], p[0] * p[1], p[0] / p[1]]),
        case(&[1], |p| vec![-p[0], p[0].abs(), p[0].sqrt()]),
        case(&[1, 1, 1], |p| vec![p[0] + p[2] * (p[1] - p[0])]),
        case(&[2, 2], |p| vec![p[0] * p[2] + p[1] * p[3]]),
        case(&[3, 3], |p| vec![p[0] * p[3] + p[1] * p[4] + p[2] * p[5]]),
        case(&[4, 0], |p| vec![p[3] * p[4], p[0] + p[1]]),
        case(&[3], |p| vec![(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt()]),
        case(&[3], |p| vec![p[0] * p[0] + p[1] * p[1] + p[2] * p[2]]),
        case(&[3, 0, 0], |p| vec![p[0] * p[3], p[1] * p[3] + p[4], p[2] - p[4]]),
        case(&[1], |p| {
            let [x, mut sum] = [p[0], p[0]];
            for i in 0..8 {
                sum = sum * x + (f64::from(i) - 3.5);
            }
            vec![sum]
        }),
    ];
    for root in [false, true] {
        cases.push(case(&[3, 3], |p| {
            let [x, y, z] = [0, 1, 2].map(|i| p[i] - p[i + 3]);
            let square = x * x + y * y + z * z;
            vec![if root { square.sqrt() } else { square }]
        }));
    }
    let ops = [Op::Add, Op::Sub, Op::Mul];
    for (inner, outer) in ops.into_iter().flat_map(|inner| ops.map(|outer| (inner, outer))) {
        for second in [false, true] {
            cases.push(case(&[1, 1, 1], |p| {
                let first = p[0].binary(inner, p[1]);
                let (a, b) = if second { (p[2], first) } else { (first, p[2]) };
                vec![a.binary(outer, b)]
            }));
        }
    }
    cases
}

/// Runs a case with its results apart or beside each other.
fn check(case: &Case, beside: bool, width: Width, dice: &mut Dice) {
    let Case { form, strides } = case;
    let stores: Vec<Vec<f32>> = strides
        .iter()
        .map(|stride| {
            let n = stride * N + usize::from(*stride == 0);
            (0..n).map(|_| LaneValue::from_bits(dice.value(Lane::F32))).collect()
        })
        .collect();
    let inputs: Vec<LaneInput<'_>> = strides
        .iter()
        .zip(&stores)
        .flat_map(|(&stride, store)| {
            (0..stride.max(1)).map(move |offset| LaneInput::Lanes {
                lanes: store.as_slice().into(),
                offset,
                stride: stride.max(1),
                map: if stride == 0 { Map::Single } else { Map::Each },
            })
        })
        .collect();
    let n_results = form.results.len();
    let mut together = vec![0.0_f32; N * n_results];
    let mut apart = vec![vec![0.0_f32; N]; n_results];
    let mut outputs: Vec<LaneOutput<'_>> = if beside {
        vec![LaneOutput::vector(0, n_results, together.as_mut_slice())]
    } else {
        let lanes = apart.iter_mut().enumerate();
        lanes.map(|(result, lanes)| LaneOutput::each(result, lanes.as_mut_slice())).collect()
    };
    let plan = Plan::new(form, &inputs, &outputs, None).unwrap();
    assert!(Tiles::new(form, &plan).is_some(), "{form} is computed in tiles");
    let mut scratch = ColumnScratch { far: FEW, ..ColumnScratch::with_width(width) };
    let mask = Mask::range(3..N - 1);
    run_columns(form, &inputs, &mut outputs, &mask, &mut scratch);
    let (mut results, mut registers) = (vec![0; n_results], Vec::new());
    for i in 0..N {
        let params: Vec<u64> = strides
            .iter()
            .zip(&stores)
            .flat_map(|(&stride, store)| {
                (0..stride.max(1)).map(move |j| LaneValue::to_bits(store[i * stride + j]))
            })
            .collect();
        form.run_scalar(&params, &mut results, &mut registers);
        for (result, bits) in results.iter().enumerate() {
            let found = if beside { together[i * n_results + result] } else { apart[result][i] };
            let wanted = if mask.contains(i) { *bits } else { 0 };
            assert_eq!(
                canonical_bits(Lane::F32, LaneValue::to_bits(found)),
                canonical_bits(Lane::F32, wanted),
                "result {result} of element {i}, {} lanes, of\n{form}",
                width.name()
            );
        }
    }
}

#[test]
fn every_step_gives_the_scalar_bits_at_every_width() {
    let mut dice = Dice::new(21);
    for case in cases() {
        for width in Width::available() {
            check(&case, false, width, &mut dice);
            check(&case, true, width, &mut dice);
        }
    }
}

#[test]
fn costly_forms_and_other_lanes_are_left_to_jobs() {
    let b = FormBuilder::new();
    let (x, i) = (b.param(Lane::F32), b.param(Lane::I32));
    let forms = [
        b.finish(&[x.sin()]),
        b.finish(&[i + 1]),
        b.finish(&[x + i.convert(Lane::F32)]),
        b.finish(&[(0..40).fold(x, |sum, k| (sum * x).sqrt() - f64::from(k))]),
    ];
    let (lanes, counts) = ([1.0_f32; 8], [1_i32; 8]);
    for form in forms {
        let inputs = [LaneInput::each(lanes.as_slice()), LaneInput::each(counts.as_slice())];
        let (mut reals, mut whole) = ([0.0_f32; 8], [0_i32; 8]);
        let is_real = form.result_lanes().next() == Some(Lane::F32);
        let output = if is_real {
            LaneOutput::each(0, reals.as_mut_slice())
        } else {
            LaneOutput::each(0, whole.as_mut_slice())
        };
        let plan = Plan::new(&form, &inputs, &[output], None).unwrap();
        assert!(Tiles::new(&form, &plan).is_none(), "{form}");
    }
}
