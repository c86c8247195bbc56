//! Documents lowered to graphs: groups, muted nodes, limits.

use std::time::{Duration, Instant};

use super::documents::{HERON, after, checked, doubling, registry};
use expect_test::expect;
use millstream_base::Limits;
use millstream_compile::{Options, Phase, compile, lower};

#[test]
fn groups_are_expanded_and_keep_their_paths() {
    expect![[r#"
        n0 = input a: vec3 = [0.0, 0.0, 0.0]
        n1 = input b: vec3 = [1.0, 0.0, 0.0]
        n2 = input c: vec3 = [0.0, 1.0, 0.0]
        n3 = vector.distance n0 n1  # ab
        n4 = vector.distance n0 n2  # ac
        n5 = vector.distance n1 n2  # bc
        n6 = const 2.0
        n7 = math.add n3 n4  # s/1
        n8 = math.add n7 n5  # s/2
        n9 = math.divide n8 n6  # s/3
        n10 = math.subtract n9 n3  # area2/p/1
        n11 = math.multiply n9 n10  # area2/p/2
        n12 = math.subtract n9 n4  # area2/p/3
        n13 = math.multiply n11 n12  # area2/p/4
        n14 = math.subtract n9 n5  # area2/p/5
        n15 = math.multiply n13 n14  # area2/p/6
        n16 = math.sqrt n15  # root
        output area n16
    "#]]
    .assert_eq(&after(Phase::Lower, HERON));
}

#[test]
fn borders_of_groups_and_muted_nodes_convert_values() {
    let document = r#"{ "millstream": 2,
      "inputs": { "x": { "type": "f64", "default": 1 }, "b": { "type": "bool", "default": true } },
      "outputs": { "y": { "type": "f64", "from": "g.out" }, "z": { "type": "f64", "from": "m.value" } },
      "nodes": {
        "g": { "type": "group", "group": "g", "in": { "in": { "input": "x" } } },
        "m": { "type": "math.add", "muted": true,
               "in": { "a": { "input": "b" }, "b": { "input": "x" } } }
      },
      "groups": { "g": {
        "inputs": { "in": { "type": "f32" } },
        "outputs": { "out": { "type": "f64", "from": "s.value" } },
        "nodes": { "s": { "type": "math.sin", "in": { "x": { "input": "in" } } } }
      } } }"#;
    expect![[r#"
        n0 = input x: f64 = 1.0
        n1 = input b: bool = true
        n2 = convert{"to": "f32"} n0  # g
        n3 = math.sin n2  # g/s
        n4 = convert{"to": "f64"} n3  # g
        n5 = convert{"to": "f64"} n1  # m
        output y n4
        output z n5
    "#]]
    .assert_eq(&after(Phase::Lower, document));
}

#[test]
fn equal_literals_are_one_constant() {
    let document = r#"{ "millstream": 2,
      "outputs": { "y": { "type": "f32", "from": "c.value" } },
      "nodes": {
        "a": { "type": "math.add", "in": { "a": 1, "b": 2 } },
        "b": { "type": "math.add", "in": { "a": 2.0, "b": 1 } },
        "c": { "type": "math.add", "in": { "a": { "from": "a.value" }, "b": { "from": "b.value" } } }
      } }"#;
    expect![[r"
        n0 = const 1.0
        n1 = const 2.0
        n2 = math.add n0 n1  # a
        n3 = math.add n1 n0  # b
        n4 = math.add n2 n3  # c
        output y n4
    "]]
    .assert_eq(&after(Phase::Lower, document));
    expect![[r"
        n4 = const 6.0  # c
        output y n4
    "]]
    .assert_eq(&after(Phase::Nullify, document));
}

#[test]
fn forty_nested_groups_each_used_twice_are_refused_immediately() {
    let checked = checked(&doubling(40));
    let start = Instant::now();
    let problems = compile(&checked, &registry(), &Options::default()).expect_err("2^40 nodes");
    assert!(start.elapsed() < Duration::from_millis(200), "{:?}", start.elapsed());
    expect!["one/one/one/one/one/one/one/one/one/one/one/one/one/one/one/one/one: expanding the groups takes 25165822 nodes, but the limit is 16000000 (use the group less often, or raise `expanded_nodes` in the limits if this is intended)"].assert_eq(&problems.to_string());
}

#[test]
fn the_limit_of_nodes_counts_uses_of_groups() {
    let checked = checked(&doubling(10));
    let limits = Limits { expanded_nodes: 3000, ..Limits::default() };
    assert!(lower::lower(&checked, &registry(), &limits).is_err_and(|problems| {
        problems.iter().all(|problem| problem.code == "lower::expanded_nodes")
    }));
    let limits = Limits { expanded_nodes: 4000, ..Limits::default() };
    assert!(lower::lower(&checked, &registry(), &limits).is_ok());
}

#[test]
fn the_limit_of_links_applies_to_few_nodes_with_many_links() {
    let outputs: Vec<String> =
        (0..60).map(|i| format!(r#""o{i}": {{ "type": "f32", "input": "x" }}"#)).collect();
    let nodes: Vec<String> = (0..64)
        .map(|i| {
            let link = r#"{ "input": "x" }"#;
            format!(r#""n{i}": {{ "type": "group", "group": "g", "in": {{ "x": {link} }} }}"#)
        })
        .collect();
    let input = r#""inputs": { "x": { "type": "f32", "default": 0 } }"#;
    let document = format!(
        r#"{{ "millstream": 2, {input},
            "outputs": {{ "y": {{ "type": "f32", "from": "n0.o0" }} }},
            "nodes": {{ {} }},
            "groups": {{ "g": {{ {input}, "outputs": {{ {} }} }} }} }}"#,
        nodes.join(", "),
        outputs.join(", ")
    );
    let checked = checked(&document);
    let limits = Limits { expanded_nodes: 200, ..Limits::default() };
    let problems = lower::lower(&checked, &registry(), &limits).expect_err("3905 links");
    assert!(problems.iter().all(|problem| problem.code == "lower::expanded_links"), "{problems}");
    assert!(lower::lower(&checked, &registry(), &Limits::default()).is_ok());
}
