//! The passes, each on the text of graphs.

use super::meaning::Meaning;
use super::*;
use expect_test::{Expect, expect};
use millstream_base::Value;
use millstream_base::id::Id;
use millstream_ir::graph::InputId;
use millstream_ir::text;
use millstream_ir::verify::{Stage, verify};
use proptest::prelude::*;

type Run = fn(&mut Graph, &PassContext<'_>) -> Result<Changed, Diagnostics>;

fn stage_before(pass: Run) -> Stage {
    if std::ptr::fn_addr_eq(pass, conversions as Run) { Stage::Lowered } else { Stage::Converted }
}

/// Runs a pass on the text: the graph is valid before and after, and a second run changes nothing.
pub(super) fn check(pass: Run, before: &str, expected: &Expect) {
    let registry = millstream_nodes::registry();
    let mut graph = text::parse(before, &registry).unwrap_or_else(|errors| panic!("{errors}"));
    run_twice(pass, &mut graph, &registry);
    expected.assert_eq(&text::print_with_paths(&graph));
}

fn run_twice(pass: Run, graph: &mut Graph, registry: &Registry) {
    let limits = Limits::default();
    let cx = PassContext::new(registry, &limits);
    assert_eq!(verify(graph, stage_before(pass)), Ok(()), "before the pass");
    let before = text::print_with_paths(graph);
    let changed = pass(graph, &cx).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(verify(graph, Stage::Converted), Ok(()), "after the pass");
    let after = text::print_with_paths(graph);
    assert_eq!(changed, Changed::when(before != after));
    assert_eq!(pass(graph, &cx), Ok(Changed::No));
    assert_eq!(text::print_with_paths(graph), after);
}

#[test]
fn conversions_are_shared_and_constants_convert_in_place() {
    check(
        conversions,
        "n0 = input x: f32 = 0.0
         n1 = const 2
         n2 = math.add<vec3> n0 n1 # a
         n3 = math.add<vec3> n0 n2 # b
         output n3
         output f: f64 n0
         output l: list<f32> n0",
        &expect![[r#"
            n0 = input x: f32 = 0.0
            n1 = const 2
            n2 = math.add n4 n5  # a
            n3 = math.add n4 n2  # b
            n4 = convert{"to": "vec3"} n0  # a
            n5 = const vec3 [2.0, 2.0, 2.0]
            n6 = convert{"to": "f64"} n0
            n7 = convert{"to": "list<f32>"} n0
            output value n3
            output f n6
            output l n7
        "#]],
    );
}

#[test]
fn equal_types_are_not_converted() {
    check(
        conversions,
        "n0 = const 2.0\nn1 = math.add n0 n0\noutput n1",
        &expect![[r"
        n0 = const 2.0
        n1 = math.add n0 n0
        output n1
    "]],
    );
}

#[test]
fn constants_fold_as_far_as_they_reach() {
    check(
        fold_constants,
        "n0 = const 2.0
         n1 = math.add n0 n0 # sum
         n2 = math.multiply n1 n1
         n3 = input x: f32 = 0.0
         n4 = math.add n2 n3
         output n4",
        &expect![[r"
            n0 = const 2.0
            n1 = const 4.0  # sum
            n2 = const 16.0
            n3 = input x: f32 = 0.0
            n4 = math.add n2 n3
            output n4
        "]],
    );
}

#[test]
fn several_outputs_fold_into_several_constants() {
    check(
        fold_constants,
        "n0 = const vec3 [1, 2, 1]
         n1 = vector.separate_vec3 n0
         n2 = math.add n1.x n1.y
         output a n2
         output b n1.z",
        &expect![[r"
            n0 = const vec3 [1.0, 2.0, 1.0]
            n2 = const 3.0
            n3 = const 1.0
            n4 = const 2.0
            output a n2
            output b n3
        "]],
    );
}

#[test]
fn nodes_that_read_the_context_or_fail_do_not_fold() {
    check(
        fold_constants,
        "n0 = context.time
         n1 = const f64 2
         n2 = math.add n0 n1
         n3 = context.with_time n2 n1
         n4 = const list<f32> [1, 2]
         n5 = const 7
         n6 = list.get n4 n5
         output a n3
         output b n6",
        &expect![[r"
            n0 = context.time
            n1 = const f64 2.0
            n2 = math.add n0 n1
            n3 = context.with_time n2 n1
            n4 = const list<f32> [1.0, 2.0]
            n5 = const 7
            n6 = list.get n4 n5
            output a n3
            output b n6
        "]],
    );
}

#[test]
fn swapped_inputs_merge_if_no_bit_changes() {
    check(
        merge_duplicates,
        "n0 = input x: f32 = 0.0
         n1 = input y: f32 = 0.0
         n2 = math.add n0 n1 # sum
         n3 = math.add n1 n0 # sum again
         n4 = math.subtract n0 n1
         n5 = math.subtract n1 n0
         n6 = math.minimum n2 n4
         n7 = math.minimum n4 n3
         n8 = math.multiply_add n6 n5 n7
         n9 = math.multiply_add n5 n7 n6
         n10 = compare.equal n8 n9
         output n10",
        &expect![[r#"
            n0 = input x: f32 = 0.0
            n1 = input y: f32 = 0.0
            n2 = math.add n0 n1  # sum
            n4 = math.subtract n0 n1
            n5 = math.subtract n1 n0
            n6 = math.minimum n2 n4
            n8 = math.multiply_add n6 n5 n6
            n10 = compare.equal n8 n8
            output n10
        "#]],
    );
}

#[test]
fn nodes_that_become_equal_merge_too() {
    check(
        merge_duplicates,
        r#"n0 = input x: f32 = 0.0
         n1 = math.sin n0 # a
         n2 = math.sin n0 # group/a
         n3 = math.wave{"shape": "sawtooth"} n1
         n4 = math.wave{"shape": "sawtooth"} n2
         n5 = math.wave n2
         n6 = math.add n3 n4
         n7 = math.add n6 n5
         output n7"#,
        &expect![[r#"
            n0 = input x: f32 = 0.0
            n1 = math.sin n0  # a
            n3 = math.wave{"shape": "sawtooth"} n1
            n5 = math.wave n1
            n6 = math.add n3 n3
            n7 = math.add n6 n5
            output n7
        "#]],
    );
}

#[test]
fn a_node_without_readers_replaces_nothing() {
    check(
        merge_duplicates,
        "n0 = input x: f32 = 0.0
         n1 = math.sin n0 # unused
         n2 = math.sin n0 # used
         n3 = math.sin n0 # again
         n4 = math.add n2 n3
         output n4",
        &expect![[r#"
            n0 = input x: f32 = 0.0
            n1 = math.sin n0  # unused
            n2 = math.sin n0  # used
            n4 = math.add n2 n2
            output n4
        "#]],
    );
}

#[test]
fn outputs_of_merged_nodes_keep_their_place() {
    check(
        merge_duplicates,
        "n0 = input v: vec3 = [0, 0, 0]
         n1 = vector.separate_vec3 n0
         n2 = vector.separate_vec3 n0
         n3 = const 1.0
         n4 = const 1.0
         n5 = math.add n2.y n4
         output a n5
         output b n2.z
         output c n3
         output d n1.x",
        &expect![[r"
            n0 = input v: vec3 = [0.0, 0.0, 0.0]
            n1 = vector.separate_vec3 n0
            n3 = const 1.0
            n5 = math.add n1.y n3
            output a n5
            output b n1.z
            output c n3
            output d n1.x
        "]],
    );
}

#[test]
fn zeros_of_opposite_sign_are_two_constants() {
    check(
        merge_duplicates,
        "n0 = const 0.0
         n1 = const -0.0
         n2 = const f32 \"nan\"
         n3 = const f32 \"nan\"
         n4 = math.add n0 n1
         n5 = math.add n2 n3
         output a n4
         output b n5",
        &expect![[r#"
            n0 = const 0.0
            n1 = const -0.0
            n2 = const f32 "nan"
            n4 = math.add n0 n1
            n5 = math.add n2 n2
            output a n4
            output b n5
        "#]],
    );
}

#[test]
fn neutral_constants_are_removed_only_if_bits_are_equal() {
    check(
        simplify,
        "n0 = input x: f32 = 0.0
         n1 = const 0.0
         n2 = const -0.0
         n3 = math.add n0 n1
         n4 = math.add n0 n2
         n5 = const 1.0
         n6 = math.multiply n5 n4
         n7 = math.subtract n6 n1
         output a n3
         output b n7",
        &expect![[r"
            n0 = input x: f32 = 0.0
            n1 = const 0.0
            n2 = const -0.0
            n3 = math.add n0 n1
            n5 = const 1.0
            output a n3
            output b n0
        "]],
    );
}

#[test]
fn laws_apply_to_pairs_and_repetitions() {
    check(
        simplify,
        "n0 = input x: f32 = 0.0
         n1 = math.negate n0
         n2 = math.negate n1
         n3 = math.absolute n2
         n4 = math.absolute n3
         n5 = math.minimum n4 n4
         output n5",
        &expect![[r"
            n0 = input x: f32 = 0.0
            n1 = math.negate n0
            n3 = math.absolute n0
            output n3
        "]],
    );
}

#[test]
fn a_switch_with_a_constant_selector_is_its_arm_and_its_readers_fold() {
    check(
        simplify,
        "n0 = const true
         n1 = const 2.0
         n2 = input x: f32 = 0.0
         n3 = control.switch n0 n2 n1
         n4 = compare.less n3 n1
         n5 = control.switch n4 n2 n3
         n6 = const -7
         n7 = control.choose n6 [n5 n1]
         n8 = input i: i32 = 0
         n9 = control.choose n8 [n7 n7]
         n10 = math.sin n9
         n11 = math.sin n2
         n12 = math.add n10 n11
         output n12",
        &expect![[r"
            n0 = const true
            n1 = const 2.0
            n2 = input x: f32 = 0.0
            n4 = const false
            n6 = const -7
            n8 = input i: i32 = 0
            n10 = math.sin n2
            n12 = math.add n10 n10
            output n12
        "]],
    );
}

#[test]
fn a_switch_between_equal_arms_remains_if_its_selector_can_fail() {
    check(
        simplify,
        "n0 = input items: list<i32> = []
         n1 = input i: i32 = 0
         n2 = list.get n0 n1
         n3 = input x: f32 = 0.0
         n4 = control.choose n2 [n3 n3]
         n5 = control.choose n1 [n3 n3]
         output n4
         output other n5",
        &expect![[r#"
            n0 = input items: list<i32> = []
            n1 = input i: i32 = 0
            n2 = list.get n0 n1
            n3 = input x: f32 = 0.0
            n4 = control.choose n2 [n3 n3]
            output value n4
            output other n3
        "#]],
    );
}

#[test]
fn new_constants_keep_folding_without_a_changed_link() {
    check(
        simplify,
        "n0 = const true
         n1 = const 1.0
         n2 = control.switch n0 n1 n1
         n3 = math.negate n2
         n4 = math.add n3 n1
         n5 = math.sqrt n4
         output n5",
        &expect![[r"
            n0 = const true
            n1 = const 1.0
            n3 = const -1.0
            n4 = const 0.0
            output n4
        "]],
    );
}

#[test]
fn pass_through_nodes_are_removed() {
    check(
        simplify,
        "n0 = input x: f32 = 0.0
         n1 = control.pass n0
         n2 = control.pass n1
         output n2",
        &expect![[r"
            n0 = input x: f32 = 0.0
            output n0
        "]],
    );
}

#[test]
fn unused_constants_are_removed() {
    check(
        prune,
        "n0 = const 2.0
         n1 = const 3.0
         n2 = math.add n0 n0
         n3 = input unread: f32 = 1.0
         output n2",
        &expect![[r"
            n0 = const 2.0
            n2 = math.add n0 n0
            input unread: f32 = 1.0
            output n2
        "]],
    );
}

#[test]
fn scopes_without_effect_are_removed() {
    check(
        nullify,
        "n0 = input x: f32 = 0.0
         n1 = const f64 1
         n2 = time.shift n0 n1 # shifted
         n3 = context.time # now
         n4 = time.shift n3 n1 # later
         n5 = context.with_time n4 n1 # frozen
         n6 = time.shift n5 n1 # pointless
         n7 = context.index
         n8 = context.with_time n7 n3
         n9 = context.with_index n8 n7
         output a n2
         output b n6
         output c n9",
        &expect![[r"
            n0 = input x: f32 = 0.0
            n1 = const f64 1.0
            n3 = context.time  # now
            n4 = time.shift n3 n1  # later
            n5 = context.with_time n4 n1  # frozen
            n7 = context.index
            n9 = context.with_index n7 n7
            output a n0
            output b n5
            output c n9
        "]],
    );
}

#[test]
fn an_outer_level_reads_the_injector_that_it_crosses() {
    check(
        nullify,
        r#"n0 = context.index{"level": 1}
         n1 = const 3
         n2 = context.with_index n0 n1
         n3 = context.with_index n2 n1
         output n3"#,
        &expect![[r#"
            n0 = context.index{"level": 1}
            n1 = const 3
            n2 = context.with_index n0 n1
            n3 = context.with_index n2 n1
            output n3
        "#]],
    );
}

#[test]
fn a_scope_without_a_reader_is_removed_with_its_arguments() {
    check(
        nullify,
        "n0 = context.time
         n1 = context.index
         n2 = time.shift n1 n0
         n3 = context.with_index n2 n4
         n4 = const 1
         n5 = time.shift n3 n0
         output n5",
        &expect![[r"
            n1 = context.index
            n3 = context.with_index n1 n4
            n4 = const 1
            output n3
        "]],
    );
}

/// Random graphs of numbers, switches and scopes.
pub(super) fn graph_text() -> impl Strategy<Value = String> {
    let line = (0..14_u8, any::<[u16; 3]>());
    proptest::collection::vec(line, 1..40).prop_map(|lines| {
        let mut text = String::from(
            "n0 = input x: f32 = 0.5\nn1 = const 1.0\nn2 = const -0.0\nn3 = const true\n\
             n4 = const f64 2\nn5 = input b: bool = false\nn6 = context.time\n",
        );
        let (mut floats, mut bools) = (vec![0, 1, 2], vec![3, 5]);
        for (i, (kind, picks)) in lines.into_iter().enumerate() {
            let id = i + 7;
            let f = |k: usize| floats[picks[k] as usize % floats.len()];
            let b = bools[picks[2] as usize % bools.len()];
            let (what, is_float) = match kind {
                0 => (format!("math.add n{} n{}", f(0), f(1)), true),
                1 => (format!("math.multiply n{} n{}", f(0), f(1)), true),
                2 => (format!("math.negate n{}", f(0)), true),
                3 => (format!("control.switch n{b} n{} n{}", f(0), f(1)), true),
                4 => (format!("compare.less n{} n{}", f(0), f(1)), false),
                5 => (format!("boolean.not n{b}"), false),
                6 => (format!("time.shift n{} n4", f(0)), true),
                7 => (format!("context.with_time n{} n6", f(0)), true),
                8 => (format!("convert{{\"to\": \"f32\"}} n{b}"), true),
                9 => ("convert{\"to\": \"f32\"} n6".into(), true),
                10 => (format!("control.pass n{}", f(0)), true),
                11 => (format!("math.subtract n{} n{}", f(0), f(1)), true),
                12 => (format!("math.minimum n{} n{}", f(0), f(1)), true),
                _ => (format!("math.absolute n{}", f(0)), true),
            };
            text.push_str(&format!("n{id} = {what}\n"));
            if is_float { &mut floats } else { &mut bools }.push(id);
        }
        text + &format!(
            "output a n{}\noutput b n{}\n",
            floats[floats.len() - 1],
            bools[bools.len() - 1]
        )
    })
}

proptest! {
    #[test]
    fn every_pass_leaves_a_valid_graph_and_no_work_for_a_second_run(text in graph_text()) {
        let registry = millstream_nodes::registry();
        let mut graph = text::parse(&text, &registry).map_err(|errors| {
            TestCaseError::fail(errors.to_string())
        })?;
        for pass in PASSES {
            run_twice(pass.run, &mut graph, &registry);
        }
        // After the last pass, no pass finds anything to change.
        let limits = Limits::default();
        let cx = PassContext::new(&registry, &limits);
        for pass in PASSES {
            prop_assert_eq!((pass.run)(&mut graph, &cx), Ok(Changed::No), "{:?}", pass.phase);
        }
    }

    #[test]
    fn every_pass_keeps_the_bits_of_all_outputs(text in graph_text(), x: u32, b: bool) {
        let registry = millstream_nodes::registry();
        let mut graph = text::parse(&text, &registry).map_err(|errors| {
            TestCaseError::fail(errors.to_string())
        })?;
        let limits = Limits::default();
        let cx = PassContext::new(&registry, &limits);
        conversions(&mut graph, &cx).expect("the types convert");
        let inputs = |id: InputId| match id.index() {
            0 => Value::F32(f32::from_bits(x)),
            _ => Value::Bool(b),
        };
        for time in [0.0, 1.5, f64::NAN] {
            let expected = Meaning::new(&graph, &inputs).outputs(time);
            let mut passed = graph.clone();
            for pass in PASSES {
                (pass.run)(&mut passed, &cx).expect("no cycle, few needs");
                let found = Meaning::new(&passed, &inputs).outputs(time);
                prop_assert_eq!(&found, &expected, "{:?} at {}", pass.phase, time);
            }
        }
    }
}
