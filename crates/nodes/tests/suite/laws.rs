//! The laws that node types state hold for every tested bit pattern.

use millstream_base::Type;
use millstream_form::{Form, canonical_bits};
use millstream_node::{Default, Law};

use crate::bits::bits;
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
