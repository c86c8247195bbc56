//! The laws that node types state hold for every tested bit pattern.

use millstream_base::Type;
use millstream_form::{Form, canonical_bits};
use millstream_node::{Default, Law};

use crate::bits::bits;
use crate::library::all_settings;
use crate::run::{all_generics, form, instance, lanes, settings};

fn run(form: &Form, params: &[u64]) -> Vec<u64> {
    let mut results = vec![0; form.results.len()];
    form.run_scalar(params, &mut results, &mut Vec::new());
    results
}

/// The lanes of both sides of a law, applied to `x`; they must be equal.
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
    let registry = crate::registry();
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

/// Node types whose forms agree on the tested numbers although they do not show that they commute:
/// loops, long forms, and noise, whose results are rarely numbers here.
const NOT_SHOWN: &[&str] = &[
    "mix.clamp",
    "noise.fbm",
    "noise.hetero_terrain",
    "noise.hybrid",
    "noise.multifractal",
    "noise.ridged",
    "noise.turbulence",
    "quat.angle",
];

/// Whether a form gives the same bits if its first two inputs, of `n` lanes each, are exchanged; for
/// some numbers, among them unusual ones.
fn agrees_exchanged(form: &Form, n: usize) -> bool {
    let all: Vec<Vec<u64>> = form.params.iter().map(|lane| bits(*lane)).collect();
    let mut state = 1_u64;
    let mut any = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let lanes: Vec<_> = form.results.iter().map(|reg| form.insts[*reg].lane).collect();
    (0..400).all(|_| {
        let x: Vec<u64> = all.iter().map(|bits| bits[any(bits.len())]).collect();
        let mut y = x.clone();
        (0..n).for_each(|k| y.swap(k, n + k));
        let canonical = |results: Vec<u64>| -> Vec<u64> {
            lanes.iter().zip(results).map(|(lane, bits)| canonical_bits(*lane, bits)).collect()
        };
        canonical(run(form, &x)) == canonical(run(form, &y))
    })
}

#[test]
fn nodes_merge_with_exchanged_inputs_exactly_if_that_changes_no_bit() {
    let registry = crate::registry();
    let (mut wrong, mut commuting) = (Vec::new(), Vec::new());
    for def in registry.iter() {
        for settings in all_settings(def) {
            let n_sockets = def.signature(&settings).unwrap().inputs.len();
            for generics in all_generics(def, &settings) {
                let made = def.instantiate(settings.clone(), generics, &vec![1; n_sockets]);
                let Ok(instance) = made else { continue };
                let (Some(form), [a, b, ..]) = (form(&instance), &instance.inputs[..]) else {
                    continue;
                };
                let Some((_, n)) = a.ty.lanes().filter(|_| a.ty == b.ty) else { continue };
                let agrees = agrees_exchanged(form, n as usize);
                let is_known = NOT_SHOWN.contains(&&*def.name) && agrees;
                if agrees {
                    commuting.push(def.name.to_string());
                }
                if instance.commutes() != agrees && !is_known {
                    wrong.push(format!("{instance:?}: agrees {agrees}"));
                }
            }
        }
    }
    let functions = registry.iter().filter(|def| def.commutes).map(|def| &*def.name);
    let declared = [
        "color.difference",
        "integer.gcd",
        "integer.lcm",
        "list.correlation",
        "list.covariance",
        "list.dot",
        "string.distance",
        "string.equal",
    ];
    assert_eq!(functions.collect::<Vec<_>>(), declared);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    commuting.dedup();
    for name in ["vector.distance", "math.hypot", "math.maximum", "integer.xor", "vector.dot"] {
        assert!(commuting.iter().any(|it| it == name), "{name}: {commuting:?}");
    }
}
