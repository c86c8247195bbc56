//! Forms of the library give the same bits over columns as for single elements.

use millstream_base::{Lane, Mask};
use millstream_form::{
    ColumnScratch, Form, LaneInput, LaneOutput, LaneValue, canonical_bits, run_columns,
};

use crate::bits::bits;
use crate::run::{all_generics, form, instance, settings};

/// Lanes of one type, stored as in a column.
enum Lanes {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Lanes {
    fn new(lane: Lane, bits: &[u64]) -> Self {
        fn all<T: LaneValue>(bits: &[u64]) -> Vec<T> {
            bits.iter().map(|bits| T::from_bits(*bits)).collect()
        }
        match lane {
            Lane::Bool => Self::Bool(all(bits)),
            Lane::I32 => Self::I32(all(bits)),
            Lane::I64 => Self::I64(all(bits)),
            Lane::F32 => Self::F32(all(bits)),
            Lane::F64 => Self::F64(all(bits)),
        }
    }

    fn input(&self) -> LaneInput<'_> {
        match self {
            Self::Bool(lanes) => LaneInput::each(lanes.as_slice()),
            Self::I32(lanes) => LaneInput::each(lanes.as_slice()),
            Self::I64(lanes) => LaneInput::each(lanes.as_slice()),
            Self::F32(lanes) => LaneInput::each(lanes.as_slice()),
            Self::F64(lanes) => LaneInput::each(lanes.as_slice()),
        }
    }

    fn output(&mut self, result: usize) -> LaneOutput<'_> {
        match self {
            Self::Bool(lanes) => LaneOutput::each(result, lanes.as_mut_slice()),
            Self::I32(lanes) => LaneOutput::each(result, lanes.as_mut_slice()),
            Self::I64(lanes) => LaneOutput::each(result, lanes.as_mut_slice()),
            Self::F32(lanes) => LaneOutput::each(result, lanes.as_mut_slice()),
            Self::F64(lanes) => LaneOutput::each(result, lanes.as_mut_slice()),
        }
    }

    fn bits(&self, i: usize) -> u64 {
        match self {
            Self::Bool(lanes) => lanes[i].to_bits(),
            Self::I32(lanes) => lanes[i].to_bits(),
            Self::I64(lanes) => lanes[i].to_bits(),
            Self::F32(lanes) => LaneValue::to_bits(lanes[i]),
            Self::F64(lanes) => LaneValue::to_bits(lanes[i]),
        }
    }
}

/// More than a chunk, and not a multiple of any SIMD width.
const N: usize = 1301;

fn check_form(name: &str, form: &Form) {
    let column = |(k, lane): (usize, &Lane)| {
        let bits = bits(*lane);
        // Different steps for each parameter, so that the special values are combined.
        let at = |i: usize| bits[(i / (1 + 23 * k) + i * k + 5 * k) % bits.len()];
        (0..N).map(at).collect::<Vec<u64>>()
    };
    let params: Vec<Vec<u64>> = form.params.iter().enumerate().map(column).collect();
    let inputs: Vec<Lanes> =
        form.params.iter().zip(&params).map(|(lane, bits)| Lanes::new(*lane, bits)).collect();
    let inputs: Vec<LaneInput<'_>> = inputs.iter().map(Lanes::input).collect();
    let lanes: Vec<Lane> = form.result_lanes().collect();
    let mut results: Vec<Lanes> = lanes.iter().map(|lane| Lanes::new(*lane, &[0; N])).collect();
    let mut outputs: Vec<LaneOutput<'_>> =
        results.iter_mut().enumerate().map(|(i, lanes)| lanes.output(i)).collect();
    run_columns(form, &inputs, &mut outputs, &Mask::range(0..N), &mut ColumnScratch::default());
    let mut single = vec![0; lanes.len()];
    let mut scratch = Vec::new();
    for i in 0..N {
        let element: Vec<u64> = params.iter().map(|bits| bits[i]).collect();
        form.run_scalar(&element, &mut single, &mut scratch);
        for ((lane, wanted), result) in lanes.iter().zip(&single).zip(&results) {
            let (wanted, found) =
                (canonical_bits(*lane, *wanted), canonical_bits(*lane, result.bits(i)));
            assert_eq!(wanted, found, "{name} at {element:x?}");
        }
    }
}

#[test]
fn columns_have_the_bits_of_single_elements() {
    let registry = crate::registry();
    for def in registry.iter() {
        let settings = settings(def, &serde_json::Map::new());
        for generics in all_generics(def, &settings) {
            let instance = instance(def, settings.clone(), generics);
            if let Some(form) = form(&instance) {
                check_form(&format!("{instance:?}"), form);
            }
        }
    }
}
