//! The column interpreter against the scalar one, over all operations, layouts and masks.

use proptest::prelude::*;

use millstream_base::lane::Lane;
use millstream_base::mask::Mask;

use millstream_base::map::Map;

use super::plan::LONG_CHUNK;
use super::*;
use crate::build::{FormBuilder, Val};
use crate::lane_value::{LaneValue, canonical_bits};
use crate::op::Op;
use crate::random::{Dice, all_singles, random_form, single};
use crate::storage::{LaneSlice, LaneSliceMut};

/// Lanes that a test owns.
pub(super) enum Owned {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Owned {
    pub(super) fn new(lane: Lane, bits: &[u64]) -> Self {
        fn all<T: LaneValue>(bits: &[u64]) -> Vec<T> {
            bits.iter().map(|&bits| T::from_bits(bits)).collect()
        }
        match lane {
            Lane::Bool => Self::Bool(all(bits)),
            Lane::I32 => Self::I32(all(bits)),
            Lane::I64 => Self::I64(all(bits)),
            Lane::F32 => Self::F32(all(bits)),
            Lane::F64 => Self::F64(all(bits)),
        }
    }

    pub(super) fn view(&self) -> LaneSlice<'_> {
        match self {
            Self::Bool(lanes) => lanes.as_slice().into(),
            Self::I32(lanes) => lanes.as_slice().into(),
            Self::I64(lanes) => lanes.as_slice().into(),
            Self::F32(lanes) => lanes.as_slice().into(),
            Self::F64(lanes) => lanes.as_slice().into(),
        }
    }

    pub(super) fn view_mut(&mut self) -> LaneSliceMut<'_> {
        match self {
            Self::Bool(lanes) => lanes.as_mut_slice().into(),
            Self::I32(lanes) => lanes.as_mut_slice().into(),
            Self::I64(lanes) => lanes.as_mut_slice().into(),
            Self::F32(lanes) => lanes.as_mut_slice().into(),
            Self::F64(lanes) => lanes.as_mut_slice().into(),
        }
    }

    fn bits(&self, i: usize) -> u64 {
        match self {
            Self::Bool(lanes) => lanes[i].to_bits(),
            Self::I32(lanes) => lanes[i].to_bits(),
            Self::I64(lanes) => lanes[i].to_bits(),
            Self::F32(lanes) => canonical_bits(Lane::F32, LaneValue::to_bits(lanes[i])),
            Self::F64(lanes) => canonical_bits(Lane::F64, LaneValue::to_bits(lanes[i])),
        }
    }
}

/// A parameter's storage, layout and, by that, value for each element.
struct Source {
    lanes: Owned,
    offset: usize,
    stride: usize,
    kind: usize,
    n: usize,
    table: Vec<u32>,
}

impl Source {
    fn random(dice: &mut Dice, lane: Lane, len: usize) -> Self {
        let stride = 1 + dice.below(3) * dice.below(2);
        let (offset, n, kind) = (dice.below(stride), 1 + dice.below(7), dice.below(6));
        let bits: Vec<u64> = (0..len.max(8) * stride).map(|_| dice.value(lane)).collect();
        let table = (0..len).map(|_| dice.below(len) as u32).collect();
        Self { lanes: Owned::new(lane, &bits), offset, stride, kind, n, table }
    }

    fn input(&self) -> LaneInput<'_> {
        let map = match self.kind {
            0 => Map::Single,
            1 => Map::Tile(self.n),
            2 => Map::Stretch(self.n),
            3 => Map::Table(&self.table),
            _ => Map::Each,
        };
        let (lanes, offset, stride) = (self.lanes.view(), self.offset, self.stride);
        LaneInput::Lanes { lanes, offset, stride, map }
    }

    fn value(&self, i: usize) -> u64 {
        let stored = match self.kind {
            0 => 0,
            1 => i % self.n,
            2 => i / self.n,
            3 => self.table[i] as usize,
            _ => i,
        };
        self.lanes.bits(stored * self.stride + self.offset)
    }
}

/// Scratches of a width for columns within the caches, for those that are not, and for machine code.
fn scratches(width: Width) -> [ColumnScratch; 3] {
    [(FAR, usize::MAX), (FEW, usize::MAX), (FAR, 0)].map(|(far, hot)| ColumnScratch {
        far,
        hot,
        ..ColumnScratch::with_width(width)
    })
}

fn random_mask(dice: &mut Dice, len: usize) -> Mask {
    match dice.below(5) {
        0 => Mask::full(len),
        1 => Mask::range(dice.below(len)..len),
        // A part without gaps of a mask with gaps, which may store its elements one by one.
        2 => {
            let start = len - 1 - dice.below(len.min(40));
            let with_gaps = Mask::from_predicate(&Mask::full(len), |i| i >= start || i % 3 == 0);
            with_gaps.within(start..len)
        }
        3 => Mask::from_predicate(&Mask::full(len), |_| dice.below(3) == 0),
        _ => Mask::from_predicate(&Mask::full(len), |i| i % 100 < 70 || dice.below(2) == 0),
    }
}

/// Runs a form both ways and compares, elements outside the mask included.
pub(super) fn check_agreement(
    form: &Form,
    dice: &mut Dice,
    len: usize,
    scratch: &mut ColumnScratch,
) {
    let sources: Vec<Source> =
        form.params.iter().map(|&lane| Source::random(dice, lane, len)).collect();
    let inputs: Vec<LaneInput<'_>> = sources.iter().map(Source::input).collect();
    let mask = random_mask(dice, len);
    let lanes: Vec<Lane> = form.result_lanes().collect();
    let wanted: Vec<usize> = (0..lanes.len()).filter(|_| dice.below(4) != 0).collect();
    let layouts: Vec<(usize, usize)> = wanted
        .iter()
        .map(|_| if dice.below(2) == 0 { (1, 0) } else { (3, dice.below(3)) })
        .collect();
    let mut stores: Vec<Owned> = wanted
        .iter()
        .zip(&layouts)
        .map(|(&result, (stride, _))| Owned::new(lanes[result], &vec![1; len * stride]))
        .collect();
    let mut outputs: Vec<LaneOutput<'_>> = stores
        .iter_mut()
        .zip(wanted.iter().zip(&layouts))
        .map(|(store, (&first, &(stride, offset)))| LaneOutput {
            lanes: store.view_mut(),
            first,
            width: 1,
            offset,
            stride,
        })
        .collect();
    run_columns(form, &inputs, &mut outputs, &mask, scratch);
    let (mut results, mut registers) = (vec![0; lanes.len()], Vec::new());
    for i in 0..len {
        let params: Vec<u64> = if mask.contains(i) {
            sources.iter().map(|source| source.value(i)).collect()
        } else {
            vec![0; sources.len()]
        };
        form.run_scalar(&params, &mut results, &mut registers);
        for ((store, &result), (stride, offset)) in stores.iter().zip(&wanted).zip(&layouts) {
            let expected =
                if mask.contains(i) { canonical_bits(lanes[result], results[result]) } else { 1 };
            let found = store.bits(i * stride + offset);
            assert_eq!(found, expected, "result {result} of element {i} of\n{form}");
        }
    }
}

#[test]
fn every_operation_gives_the_scalar_bits_at_every_width() {
    for width in Width::available() {
        let mut dice = Dice::new(1);
        let mut scratches = scratches(width);
        for (op, of, to) in all_singles() {
            for i in 0..6 {
                check_agreement(&single(op, of, to), &mut dice, 500, &mut scratches[i % 3]);
            }
        }
    }
}

/// A width of this machine.
fn any_width(dice: &mut Dice) -> Width {
    let widths: Vec<Width> = Width::available().collect();
    dice.pick(&widths)
}

/// Whether the operations are among those that forms have most often one after the other.
fn is_pair(inner: Op, outer: Op, lane: Lane) -> bool {
    let is_sum = |op: Op| matches!(op, Op::Add | Op::Sub | Op::Mul);
    let is_outer = |op: Op| is_sum(op) || matches!(op, Op::Xor | Op::And | Op::Or);
    if lane.is_float() {
        is_sum(inner) && is_sum(outer)
    } else {
        is_outer(outer) && (is_outer(inner) || matches!(inner, Op::Shl | Op::Ushr))
    }
}

#[test]
fn pairs_of_operations_give_the_scalar_bits_at_every_width() {
    let ops =
        [Op::Add, Op::Sub, Op::Mul, Op::Xor, Op::And, Op::Or, Op::Shl, Op::Ushr, Op::Shr, Op::Div];
    let mut n_pairs = 0;
    for width in Width::available() {
        let mut dice = Dice::new(2);
        let mut scratches = scratches(width);
        for lane in [Lane::I32, Lane::I64, Lane::F32, Lane::F64] {
            for (inner, outer) in ops.into_iter().flat_map(|op| ops.map(|outer| (op, outer))) {
                if !is_pair(inner, outer, lane) {
                    continue;
                }
                for second in [false, true] {
                    let b = FormBuilder::new();
                    let [x, y, z] = b.params([lane; 3]);
                    let first = b.emit(inner, lane, &[x, y]);
                    let args = if second { [z, first] } else { [first, z] };
                    let form = b.finish(&[b.emit(outer, lane, &args)]);
                    for scratch in &mut scratches {
                        check_agreement(&form, &mut dice, 400, scratch);
                    }
                    n_pairs += 1;
                }
            }
        }
    }
    // Of floats nine, of whole numbers six after eight.
    assert_eq!(n_pairs, Width::available().count() * 2 * (2 * 9 + 2 * 48));
}

#[test]
fn polynomials_give_the_scalar_bits_at_every_width() {
    for width in Width::available() {
        let mut dice = Dice::new(5);
        let mut scratches = scratches(width);
        for (lane, degree) in [(Lane::F32, 4), (Lane::F32, 11), (Lane::F64, 9), (Lane::F32, 3)] {
            let b = FormBuilder::new();
            let (x, y) = (b.param(lane), b.param(lane));
            let sum = (0..degree).fold(y, |sum, i| {
                let product = if i % 3 == 0 { x * sum } else { sum * x };
                if i % 2 == 0 { product + 0.1 * f64::from(i) } else { f64::from(i) + product }
            });
            for scratch in &mut scratches {
                check_agreement(&b.finish(&[sum, x * y]), &mut dice, 700, scratch);
            }
        }
    }
}

/// Distances and lengths of stored vectors, with and without root.
fn distances() -> [Form; 4] {
    [(false, false), (false, true), (true, false), (true, true)].map(|(apart, root)| {
        let b = FormBuilder::new();
        let from: [Val<'_>; 3] = b.params([Lane::F32; 3]);
        let to: [Val<'_>; 3] = b.params([Lane::F32; 3]);
        let [x, y, z] = [0, 1, 2].map(|i| if apart { from[i] - to[i] } else { from[i] });
        let square = x * x + y * y + z * z;
        b.finish(&[if root { square.sqrt() } else { square }])
    })
}

#[test]
fn distances_of_stored_vectors_give_the_scalar_bits_at_every_width() {
    let mut dice = Dice::new(3);
    let n = 2500;
    let mut vectors = || -> Vec<f32> {
        (0..3 * n).map(|_| LaneValue::from_bits(dice.value(Lane::F32))).collect()
    };
    let stores = [vectors(), vectors()];
    let inputs: Vec<LaneInput<'_>> = (0..6)
        .map(|i| LaneInput::Lanes {
            lanes: stores[i / 3].as_slice().into(),
            offset: i % 3,
            stride: 3,
            map: Map::Each,
        })
        .collect();
    let masks = [Mask::full(n), Mask::from_predicate(&Mask::full(n), |i| i % 7 == 1)];
    for mut scratch in Width::available().flat_map(scratches) {
        for (form, mask) in distances().iter().flat_map(|form| masks.iter().map(move |m| (form, m)))
        {
            let mut out = vec![0.0_f32; n];
            let mut outputs = [LaneOutput::each(0, out.as_mut_slice())];
            run_columns(form, &inputs, &mut outputs, mask, &mut scratch);
            for i in mask {
                let params: Vec<u64> =
                    (0..6).map(|j| LaneValue::to_bits(stores[j / 3][i * 3 + j % 3])).collect();
                let mut results = [0];
                form.run_scalar(&params, &mut results, &mut Vec::new());
                let bits = |x| canonical_bits(Lane::F32, x);
                assert_eq!(bits(LaneValue::to_bits(out[i])), bits(results[0]), "element {i}");
            }
        }
    }
}

#[test]
fn more_forms_than_plans_are_kept_come_again() {
    let mut dice = Dice::new(4);
    let mut scratch = ColumnScratch::default();
    let forms: Vec<Form> = (0..N_PLANS + 3).map(|_| random_form(&mut dice, 12)).collect();
    for form in forms.iter().chain(&forms) {
        for _ in 0..3 {
            check_agreement(form, &mut dice, 40, &mut scratch);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_forms_give_the_scalar_bits(seed: u64, n in 0_usize..60, len in 1_usize..300) {
        let mut dice = Dice::new(seed);
        let form = random_form(&mut dice, n);
        prop_assert_eq!(form.verify(), Ok(()));
        let width = any_width(&mut dice);
        for mut scratch in scratches(width) {
            check_agreement(&form, &mut dice, len, &mut scratch);
        }
    }

    #[test]
    fn few_elements_give_the_scalar_bits(seed: u64, n in 0_usize..30, len in 1_usize..8) {
        let mut dice = Dice::new(seed);
        let form = random_form(&mut dice, n);
        let width = any_width(&mut dice);
        check_agreement(&form, &mut dice, len, &mut ColumnScratch::with_width(width));
    }

    #[test]
    fn many_chunks_give_the_scalar_bits(seed: u64) {
        let mut dice = Dice::new(seed);
        let form = random_form(&mut dice, 6);
        let width = any_width(&mut dice);
        for mut scratch in scratches(width) {
            check_agreement(&form, &mut dice, 3 * LONG_CHUNK + 5, &mut scratch);
        }
    }

    #[test]
    fn random_forms_read_back_from_their_text(seed: u64, n in 0_usize..60) {
        let form = random_form(&mut Dice::new(seed), n);
        prop_assert_eq!(form.to_string().parse(), Ok(form));
    }

    #[test]
    fn simplifying_and_inlining_keep_every_bit(seed: u64, n in 0_usize..60) {
        let mut dice = Dice::new(seed);
        let form = random_form(&mut dice, n);
        let simple = form.simplify();
        prop_assert_eq!(simple.verify(), Ok(()));
        prop_assert_eq!(&simple.simplify(), &simple);
        let b = FormBuilder::new();
        let params: Vec<_> = form.params.iter().map(|&lane| b.param(lane)).collect();
        let inlined = b.finish(&form.inline(&b, &params));
        for _ in 0..20 {
            let params: Vec<u64> = form.params.iter().map(|&lane| dice.value(lane)).collect();
            let run = |form: &Form| {
                let mut results = vec![0; form.results.len()];
                form.run_scalar(&params, &mut results, &mut Vec::new());
                let lanes = form.result_lanes();
                lanes.zip(results).map(|(lane, bits)| canonical_bits(lane, bits)).collect::<Vec<_>>()
            };
            prop_assert_eq!(run(&simple), run(&form), "{}\nand\n{}", &form, &simple);
            prop_assert_eq!(run(&inlined), run(&form));
        }
    }
}

#[test]
fn vectors_are_read_and_written_interleaved() {
    let b = FormBuilder::new();
    let [x, y, z, s] = b.params([Lane::F32; 4]);
    let form = b.finish(&[x * s, y * s, z * s, x + y + z]);
    let vectors: Vec<f32> = (0..6000_u16).map(f32::from).collect();
    let lane = |offset| LaneInput::Lanes {
        lanes: vectors.as_slice().into(),
        offset,
        stride: 3,
        map: Map::Each,
    };
    let inputs = [lane(0), lane(1), lane(2), LaneInput::single([2.0_f32].as_slice())];
    let (mut scaled, mut sums) = (vec![0.0_f32; 6000], vec![0.0_f32; 2000]);
    let mut outputs =
        [LaneOutput::vector(0, 3, scaled.as_mut_slice()), LaneOutput::each(3, sums.as_mut_slice())];
    run_columns(&form, &inputs, &mut outputs, &Mask::full(2000), &mut ColumnScratch::default());
    assert!(scaled.iter().zip(&vectors).all(|(scaled, x)| *scaled == 2.0 * x));
    assert_eq!(sums[1999], 5997.0 + 5998.0 + 5999.0);
}

#[test]
fn ranges_count() {
    let b = FormBuilder::new();
    let (i, j) = (b.param(Lane::I32), b.param(Lane::I64));
    let form = b.finish(&[i, j * 2]);
    let inputs =
        [LaneInput::Range { start: 5, step: -1 }, LaneInput::Range { start: 1 << 40, step: 3 }];
    let (mut down, mut up) = (vec![0_i32; 50], vec![0_i64; 50]);
    let mut outputs =
        [LaneOutput::each(0, down.as_mut_slice()), LaneOutput::each(1, up.as_mut_slice())];
    let mask = Mask::from_predicate(&Mask::full(50), |i| i != 7);
    run_columns(&form, &inputs, &mut outputs, &mask, &mut ColumnScratch::default());
    assert_eq!((down[0], down[7], down[49]), (5, 0, -44));
    assert_eq!((up[1], up[7]), (2 * ((1 << 40) + 3), 0));
}

#[test]
fn results_that_nobody_wants_need_no_inputs() {
    let b = FormBuilder::new();
    let (x, y) = (b.param(Lane::F32), b.param(Lane::F32));
    let form = b.finish(&[x.sin(), y + 1.0]);
    let none: [f32; 0] = [];
    let inputs = [LaneInput::each(none.as_slice()), LaneInput::each([1.0_f32, 2.0].as_slice())];
    let mut out = [0.0_f32; 2];
    let mut outputs = [LaneOutput::each(1, out.as_mut_slice())];
    run_columns(&form, &inputs, &mut outputs, &Mask::full(2), &mut ColumnScratch::default());
    assert_eq!(out, [2.0, 3.0]);
}

#[test]
#[should_panic(expected = "an output has its result's lane")]
fn an_output_of_another_lane_is_refused() {
    let b = FormBuilder::new();
    let x = b.param(Lane::F32);
    let form = b.finish(&[x + 1.0]);
    let mut out = [0_i32; 1];
    let mut outputs = [LaneOutput::each(0, out.as_mut_slice())];
    let inputs = [LaneInput::each([1.0_f32].as_slice())];
    run_columns(&form, &inputs, &mut outputs, &Mask::full(1), &mut ColumnScratch::default());
}

/// Functions of scaled and shifted columns, rare angles among them, give the scalar bits.
#[test]
fn affine_arguments_give_the_scalar_bits_at_every_width() {
    use super::fuse::Task;
    let x: Vec<f32> = (0..3000).map(|i| (i as f32 - 1500.0) * 0.37).chain([3e7, 1e30]).collect();
    let parts: [fn(Val<'_>) -> Val<'_>; 4] =
        [|x| x * 6.0, |x| x + 0.25, |x| x * -0.75 + 2.0, |x| 0.5 + 1e6 * x];
    let functions: [fn(Val<'_>) -> Val<'_>; 4] =
        [|x| x.sin(), |x| x.cos(), |x| x.exp(), |x| x.ln()];
    for part in parts {
        for function in functions {
            let b = FormBuilder::new();
            let form = b.finish(&[function(part(b.param(Lane::F32)))]);
            let inputs = [LaneInput::each(x.as_slice())];
            let mut y = vec![0.0_f32; x.len()];
            for width in Width::available() {
                let mut outputs = [LaneOutput::each(0, y.as_mut_slice())];
                let plan = Plan::new(&form, &inputs, &outputs, None, true).unwrap();
                assert!(matches!(plan.tasks[..], [Task::One(_), Task::Affine { .. }]));
                let [mut scratch, ..] = scratches(width);
                run_columns(&form, &inputs, &mut outputs, &Mask::full(x.len()), &mut scratch);
                let mut result = [0];
                for (x, y) in x.iter().zip(&y) {
                    form.run_scalar(&[u64::from(x.to_bits())], &mut result, &mut Vec::new());
                    let found = canonical_bits(Lane::F32, u64::from(y.to_bits()));
                    assert_eq!(found, canonical_bits(Lane::F32, result[0]), "{x:?} {form}");
                }
            }
        }
    }
}
