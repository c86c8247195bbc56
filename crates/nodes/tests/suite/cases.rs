//! Cases written as lines: `family.name{settings} types: inputs = outputs`.
//!
//! Types are those of the generics, in order, separated by commas; values are literals without
//! blanks, with `nan`, `inf` and `-inf` bare. `=` compares bits, `~` allows some units in the last
//! place of an `f32` or `f64`.

use std::collections::BTreeSet;

use millstream_base::same::Same;
use millstream_base::{Type, Value, literal};
use millstream_node::Registry;
use serde_json::Value as Json;

use crate::run::{form, instance, run, settings};
use crate::{convert_cases, integer_cases, math_cases, mix_cases};

/// Runs the cases, one per line.
#[track_caller]
pub(crate) fn check(lines: &str) {
    let registry = millstream_nodes::registry();
    let wrong: Vec<String> = lines
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .filter_map(|line| check_line(&registry, line))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The problem with a case, if there is one.
fn check_line(registry: &Registry, line: &str) -> Option<String> {
    let (head, tail) = line.split_once(": ").expect("a colon after the types");
    let (node, types) = head.split_once(' ').unwrap_or((head, ""));
    let (name, set) = node.split_at(node.find('{').unwrap_or(node.len()));
    let set = if set.is_empty() { "{}" } else { set };
    let (inputs, exact, outputs) = match (tail.split_once(" = "), tail.split_once(" ~ ")) {
        (Some((inputs, outputs)), None) => (inputs, true, outputs),
        (None, Some((inputs, outputs))) => (inputs, false, outputs),
        _ => panic!("`{line}` has one `=` or `~`"),
    };
    let def = registry.get(name).unwrap_or_else(|| panic!("there is no {name}"));
    let settings = settings(def, &serde_json::from_str(set).expect("settings are JSON"));
    let named = |name: &str| Type::BUILT_IN.into_iter().find(|ty| ty.name() == name).unwrap();
    let generics = types.split(',').filter(|name| !name.is_empty()).map(named).collect();
    let instance = instance(def, settings, generics);
    let words: Vec<&str> = inputs.split_whitespace().collect();
    let words: Vec<&str> = if words == ["-"] { vec![] } else { words };
    assert_eq!(words.len(), instance.inputs.len(), "`{line}` gives every input");
    let inputs: Vec<Value> =
        words.iter().zip(&instance.inputs).map(|(word, slot)| read(slot.ty, word)).collect();
    let results = run(&instance, &inputs);
    let words: Vec<&str> = outputs.split_whitespace().collect();
    assert_eq!(words.len(), results.len(), "`{line}` gives every output");
    let fits = words.iter().zip(&results).all(|(word, result)| {
        let wanted = read(result.ty(), word);
        if exact { wanted.same(result) } else { near(&wanted, result) }
    });
    let shown: Vec<String> = results.iter().map(ToString::to_string).collect();
    (!fits).then(|| format!("{line}, but it is {}", shown.join(" ")))
}

fn read(ty: Type, word: &str) -> Value {
    let json = match word {
        "nan" | "inf" | "-inf" => Json::from(word),
        _ => serde_json::from_str(word).unwrap_or_else(|_| panic!("`{word}` is a literal")),
    };
    literal::from_json(ty, &json).unwrap_or_else(|error| panic!("{error}"))
}

fn near(wanted: &Value, result: &Value) -> bool {
    let (_, n) = wanted.ty().lanes().unwrap();
    (0..n as usize).all(|i| {
        let (a, b) = (wanted.lane(i).unwrap(), result.lane(i).unwrap());
        let single = |bits: u64| f64::from(f32::from_bits(bits as u32));
        let (a, b, tolerance) = if wanted.ty() == Type::F64 {
            (f64::from_bits(a), f64::from_bits(b), 1e-15)
        } else {
            (single(a), single(b), 3e-7)
        };
        (a - b).abs() <= tolerance * a.abs()
    })
}

#[test]
fn every_form_of_the_numeric_families_has_cases() {
    let mut covered = BTreeSet::new();
    let tables = [math_cases::ALL, integer_cases::ALL, convert_cases::ALL, mix_cases::ALL];
    for line in tables.iter().flat_map(|tables| tables.iter()).flat_map(|table| table.lines()) {
        covered.extend(line.split([' ', '{', ':']).find(|word| word.contains('.')));
    }
    let families = ["math", "integer", "boolean", "compare", "convert", "mix"];
    let registry = millstream_nodes::registry();
    let missing: Vec<&str> = registry
        .iter()
        .filter(|def| families.contains(&def.family()))
        .map(|def| &*def.name)
        .filter(|name| *name != "math.expression" && !covered.contains(name))
        .collect();
    assert_eq!(missing, [""; 0]);
    // These tables do not cover families whose nodes have no forms.
    let add = registry.get("math.add").unwrap();
    assert!(
        form(&instance(add, settings(add, &serde_json::Map::new()), vec![Type::F32])).is_some()
    );
}
