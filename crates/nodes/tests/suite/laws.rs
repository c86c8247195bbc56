//! The laws that node types state hold for every pattern of bits that is tried.

use millstream_base::{Lane, Type};
use millstream_kernel::form::{Form, canonical_bits};
use millstream_kernel::{Default, Law};

use crate::run::{all_generics, form, instance, lanes, settings};

const F32: [f32; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    1e-45,
    -1e-45,
    f32::EPSILON,
    8_388_607.5,
    16_777_217.0,
];
const INTEGERS: [i64; 16] = [
    0,
    1,
    -1,
    2,
    3,
    7,
    -8,
    31,
    32,
    64,
    255,
    i32::MAX as i64,
    i32::MIN as i64,
    i64::MAX,
    i64::MIN,
    1 << 52,
];

/// Values that matter, then random bits.
fn bits(lane: Lane) -> Vec<u64> {
    let mut bits: Vec<u64> = match lane {
        Lane::Bool => return vec![0, 1],
        Lane::I32 => INTEGERS.map(|x| u64::from(x as i32 as u32)).to_vec(),
        Lane::I64 => INTEGERS.map(|x| x as u64).to_vec(),
        Lane::F32 => {
            let mut all = F32.map(|x| u64::from(x.to_bits())).to_vec();
            // Other NaNs: negative, with payload, signalling.
            all.extend([0xffc0_0000, 0x7fc0_0001, 0x7f80_0001]);
            all
        }
        Lane::F64 => {
            let mut all = F32.map(|x| f64::from(x).to_bits()).to_vec();
            all.extend([f64::MAX.to_bits(), 1, 1 << 63 | 1, f64::EPSILON.to_bits()]);
            all.extend([0xfff8_0000_0000_0000, 0x7ff8_0000_0000_0001, 0x7ff0_0000_0000_0001]);
            all
        }
    };
    // A linear congruence: enough to vary bits, the same in every run.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..3000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let random = state ^ state >> 31;
        bits.push(if lane.size() == 4 { random >> 32 } else { random });
    }
    bits
}

fn run(form: &Form, params: &[u64]) -> Vec<u64> {
    let mut results = vec![0; form.results.len()];
    form.run_scalar(params, &mut results, &mut Vec::new());
    results
}

/// The lanes of `x` after applying the law's left side, to be equal to those of its right side.
fn sides(form: &Form, law: Law, ty: Type, x: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let constant = |c: f64| lanes(&[Default::Number(c).value(ty).expect("a number")]);
    let n = x.len();
    let first = |mut results: Vec<u64>| {
        results.truncate(n);
        results
    };
    match law {
        Law::RightNeutral(c) => (first(run(form, &[x, &constant(c)].concat())), x.to_vec()),
        Law::LeftNeutral(c) => (first(run(form, &[&constant(c), x].concat())), x.to_vec()),
        Law::SameInputs => (first(run(form, &[x, x].concat())), x.to_vec()),
        Law::Involution => (first(run(form, &first(run(form, x)))), x.to_vec()),
        Law::Projection => {
            let once = first(run(form, x));
            (first(run(form, &once)), once)
        }
    }
}

#[test]
fn laws_hold_for_every_type_and_bit_pattern() {
    let registry = millstream_nodes::registry();
    let mut checked = 0;
    for def in registry.iter().filter(|def| !def.laws.is_empty()) {
        let settings = settings(def, &serde_json::Map::new());
        for generics in all_generics(def, &settings) {
            let instance = instance(def, settings.clone(), generics);
            let name = format!("{instance:?}");
            let form = form(&instance).unwrap_or_else(|| panic!("{name} states laws of a form"));
            let ty = instance.outputs[0].ty;
            let (lane, n) = ty.lanes().expect("a form gives lanes");
            assert!(instance.inputs.iter().all(|slot| slot.ty == ty), "{name}: types of a law");
            let bits = bits(lane);
            for law in &def.laws {
                let unary = matches!(law, Law::Involution | Law::Projection);
                assert_eq!(instance.inputs.len(), if unary { 1 } else { 2 }, "{name}: {law:?}");
                for i in 0..bits.len() {
                    let x: Vec<u64> =
                        (0..n as usize).map(|k| bits[(i + 7 * k) % bits.len()]).collect();
                    let (left, right) = sides(form, *law, ty, &x);
                    let same =
                        |(a, b): (&u64, &u64)| canonical_bits(lane, *a) == canonical_bits(lane, *b);
                    assert!(left.iter().zip(&right).all(same), "{name}: {law:?} at {x:x?}");
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 100_000);
}
