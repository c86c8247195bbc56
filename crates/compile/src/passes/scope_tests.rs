//! Scopes that are resolved, and scopes that remain.

use expect_test::expect;
use millstream_base::Limits;
use millstream_ir::text;

use super::tests::check;
use super::{PassContext, resolve_scopes};

#[test]
fn nodes_in_a_scope_read_the_injected_value() {
    check(
        resolve_scopes,
        r#"n0 = input x: f32 = 0.0
           n1 = context.time
           n2 = convert{"to": "f32"} n1 # seconds
           n3 = math.sqrt n0 # still
           n4 = math.add n2 n3 # sum
           n5 = input t: f64 = 0.5
           n6 = context.with_time n4 n5 # then
           output now n4
           output then n6"#,
        &expect![[r#"
            n0 = input x: f32 = 0.0
            n1 = context.time
            n2 = convert{"to": "f32"} n1  # seconds
            n3 = math.sqrt n0  # still
            n4 = math.add n2 n3  # sum
            n5 = input t: f64 = 0.5
            n7 = convert{"to": "f32"} n5  # seconds
            n8 = math.add n7 n3  # sum
            output now n4
            output then n8
        "#]],
    );
}

#[test]
fn nested_scopes_and_shifts_are_sums() {
    check(
        resolve_scopes,
        r#"n0 = context.time
           n1 = const f64 1
           n2 = time.shift n0 n1 # later
           n3 = math.add n2 n0 # both
           n4 = context.with_time n3 n5 # frozen
           n5 = input t: f64 = 0.5
           n6 = time.shift n4 n1 # outside
           output n6"#,
        &expect![[r#"
            n1 = const f64 1.0
            n5 = input t: f64 = 0.5
            n8 = math.add n5 n1  # later
            n9 = math.add n8 n5  # both
            output n9
        "#]],
    );
}

#[test]
fn scopes_with_outer_levels_or_gathered_axes_remain() {
    check(
        resolve_scopes,
        r#"n0 = context.index{"level": 1}
           n1 = const 3
           n2 = context.with_index n0 n1
           n3 = context.index
           n4 = reduce.sum n3
           n5 = context.with_index n4 n1
           output a n2
           output b n5"#,
        &expect![[r#"
            n0 = context.index{"level": 1}
            n1 = const 3
            n2 = context.with_index n0 n1
            n3 = context.index
            n4 = reduce.sum n3
            n5 = context.with_index n4 n1
            output a n2
            output b n5
        "#]],
    );
}

#[test]
fn a_provided_value_may_be_read_in_another_scope() {
    check(
        resolve_scopes,
        r#"n0 = context.index{"level": 1}
           n1 = const 3
           n2 = context.with_index n0 n1
           n3 = context.index
           n4 = math.add n2 n3
           n5 = const 7
           n6 = context.with_index n4 n5
           output n6"#,
        &expect![[r#"
            n0 = context.index{"level": 1}
            n1 = const 3
            n2 = context.with_index n0 n1
            n3 = context.index
            n4 = math.add n2 n3
            n5 = const 7
            n6 = context.with_index n4 n5
            output n6
        "#]],
    );
}

#[test]
fn the_meaning_of_an_argument_in_another_scope_matters() {
    check(
        resolve_scopes,
        r#"n0 = context.time
           n1 = convert{"to": "f32"} n0
           n2 = reduce.sum n1
           n3 = context.index
           n4 = convert{"to": "f64"} n3
           n5 = context.with_time n2 n4 # the index is another one within the sum
           n6 = const f64 2
           n7 = context.with_time n2 n6 # two is two
           output a n5
           output b n7"#,
        &expect![[r#"
            n0 = context.time
            n1 = convert{"to": "f32"} n0
            n2 = reduce.sum n1
            n3 = context.index
            n4 = convert{"to": "f64"} n3
            n5 = context.with_time n2 n4  # the index is another one within the sum
            n6 = const f64 2.0
            n8 = convert{"to": "f32"} n6
            n9 = reduce.sum n8
            output a n5
            output b n9
        "#]],
    );
}

#[test]
fn graphs_at_most_double_in_size() {
    let mut graph = String::from("n0 = context.time\n");
    for i in 1..=5_000 {
        graph.push_str(&format!("n{i} = math.sin n{}\n", i - 1));
    }
    for (i, scope) in (5_001..5_007).step_by(2).enumerate() {
        graph.push_str(&format!("n{scope} = input t{i}: f64 = 0.0\n"));
        graph.push_str(&format!("n{} = context.with_time n5000 n{scope}\n", scope + 1));
    }
    graph.push_str("output a n5002\noutput b n5004\noutput c n5006\n");
    let registry = millstream_nodes::registry();
    let mut graph = text::parse(&graph, &registry).expect("it parses");
    let limits = Limits::default();
    resolve_scopes(&mut graph, &PassContext::new(&registry, &limits)).expect("no cycle");
    let found = text::print_with_paths(&graph);
    assert_eq!(found.matches("context.with_time").count(), 2, "one of three is resolved");
    assert_eq!(found.matches("math.sin").count(), 10_000);
}
