//! Regions, tested on the text of graphs.

use expect_test::{Expect, expect};
use millstream_base::Limits;
use millstream_ir::text;
use millstream_ir::verify::{Stage, verify};
use proptest::prelude::*;

use super::tests::{check as check_pass, graph_text};
use super::{PASSES, PassContext, fuse};

#[expect(clippy::needless_pass_by_value, reason = "callers write the expectation in place")]
fn check(before: &str, expected: Expect) {
    check_pass(fuse, before, &expected);
}

#[test]
fn connected_forms_are_one_region() {
    check(
        "n0 = input x: f32 = 0.0
         n1 = math.sqrt n0
         n2 = math.square n0
         n3 = math.add n1 n2
         n4 = math.negate n0
         output y n3
         output z n4",
        expect![[r#"
            n0 = input x: f32 = 0.0
            n1 = math.sqrt n0 @r0
            n2 = math.square n0 @r0
            n3 = math.add n1 n2 @r0
            n4 = math.negate n0 @r1
            output y n3
            output z n4
        "#]],
    );
}

#[test]
fn a_function_separates_its_inputs_from_its_readers() {
    check(
        "n0 = input x: f32 = 0.0
         n1 = math.sqrt n0
         n2 = reduce.sum n1
         n3 = math.square n1
         n4 = math.divide n3 n2
         output y n4",
        expect![[r#"
            n0 = input x: f32 = 0.0
            n1 = math.sqrt n0 @r0
            n2 = reduce.sum n1
            n3 = math.square n1 @r1
            n4 = math.divide n3 n2 @r1
            output y n4
        "#]],
    );
}

#[test]
fn a_node_joins_its_readers() {
    check(
        "n0 = input x: f32 = 0.0
         n1 = input items: list<f32> = [1.0, 2.0]
         n2 = math.square n0
         n3 = list.sum n1
         n4 = math.divide n2 n3
         output y n4",
        expect![[r#"
            n0 = input x: f32 = 0.0
            n1 = input items: list<f32> = [1.0, 2.0]
            n2 = math.square n0 @r0
            n3 = list.sum n1
            n4 = math.divide n2 n3 @r0
            output y n4
        "#]],
    );
}

#[test]
fn members_with_fewer_needs_join_only_outside_scopes() {
    check(
        "n0 = input x: f32 = 0.0
         n1 = context.index
         n2 = convert{\"to\": \"f32\"} n1
         n3 = math.square n0
         n4 = math.multiply n2 n3
         n5 = math.negate n0
         n6 = math.multiply n2 n5
         n7 = const 4
         n8 = list.generate n6 n7
         n9 = list.sum n8
         n10 = math.add n4 n9
         output y n10",
        expect![[r#"
            n0 = input x: f32 = 0.0
            n1 = context.index
            n2 = convert{"to": "f32"} n1 @r0
            n3 = math.square n0 @r1
            n4 = math.multiply n2 n3 @r1
            n5 = math.negate n0 @r2
            n6 = math.multiply n2 n5 @r0
            n7 = const 4
            n8 = list.generate n6 n7 @folded
            n9 = list.sum n8
            n10 = math.add n4 n9 @r1
            output y n10
        "#]],
    );
}

#[test]
fn choices_join_and_expensive_ones_only_if_the_selector_is_uniform() {
    check(
        "n0 = input x: f32 = 0.0
         n1 = const 0.5
         n2 = compare.less n0 n1
         n3 = math.sqrt n0
         n4 = math.square n0
         n5 = control.switch n2 n3 n4
         n6 = convert{\"to\": \"vec3\"} n5
         n7 = noise.cell_edge n6 n1 n11 n1
         n8 = noise.cell_edge n6 n0 n11 n1
         n9 = control.switch n2 n7 n8
         n10 = math.add n9 n5
         n11 = const 0
         output y n10",
        expect![[r#"
            n0 = input x: f32 = 0.0
            n1 = const 0.5
            n2 = compare.less n0 n1 @r0
            n3 = math.sqrt n0 @r0
            n4 = math.square n0 @r0
            n5 = control.switch n2 n3 n4 @r0
            n6 = convert{"to": "vec3"} n5 @r0
            n7 = noise.cell_edge n6 n1 n11 n1 @r0
            n8 = noise.cell_edge n6 n0 n11 n1 @r0
            n9 = control.switch n2 n7 n8 @r0?
            n10 = math.add n9 n5 @r0
            n11 = const 0
            output y n10
        "#]],
    );
}

#[test]
fn an_arm_that_reads_a_node_that_may_fail_is_not_selected_from() {
    check(
        "n0 = input x: f32 = 0.0
         n1 = input items: list<f32> = [1.0, 2.0]
         n2 = input i: i32 = 0
         n3 = list.get n1 n2
         n4 = const 0.0
         n5 = compare.less n0 n4
         n6 = math.square n3
         n7 = control.switch n5 n0 n6
         n8 = control.switch n5 n7 n4
         output y n8",
        expect![[r#"
            n0 = input x: f32 = 0.0
            n1 = input items: list<f32> = [1.0, 2.0]
            n2 = input i: i32 = 0
            n3 = list.get n1 n2
            n4 = const 0.0
            n5 = compare.less n0 n4 @r0
            n6 = math.square n3 @r0
            n7 = control.switch n5 n0 n6 @r0?
            n8 = control.switch n5 n7 n4 @r0?
            output y n8
        "#]],
    );
}

#[test]
fn an_arm_may_read_a_node_that_is_needed_anyway() {
    check(
        "n0 = input x: f32 = 0.0
         n1 = input items: list<f32> = [1.0, 2.0]
         n2 = input i: i32 = 0
         n3 = list.get n1 n2
         n4 = const 0.0
         n5 = compare.less n3 n4
         n6 = math.square n3
         n7 = control.switch n5 n0 n6
         output y n7
         output z n7",
        expect![[r#"
            n0 = input x: f32 = 0.0
            n1 = input items: list<f32> = [1.0, 2.0]
            n2 = input i: i32 = 0
            n3 = list.get n1 n2
            n4 = const 0.0
            n5 = compare.less n3 n4 @r0
            n6 = math.square n3 @r0
            n7 = control.switch n5 n0 n6 @r0
            output y n7
            output z n7
        "#]],
    );
    check(
        "n0 = input c: bool = true
         n1 = input items: list<f32> = [1.0, 2.0]
         n2 = input i: i32 = 0
         n3 = list.get n1 n2
         n4 = math.square n3
         n5 = math.negate n3
         n6 = control.switch n0 n4 n5
         output y n6",
        expect![[r#"
            n0 = input c: bool = true
            n1 = input items: list<f32> = [1.0, 2.0]
            n2 = input i: i32 = 0
            n3 = list.get n1 n2
            n4 = math.square n3 @r0
            n5 = math.negate n3 @r0
            n6 = control.switch n0 n4 n5 @r0
            output y n6
        "#]],
    );
}

proptest! {
    #[test]
    fn regions_of_compiled_graphs_can_run_as_a_whole(text in graph_text()) {
        let registry = millstream_nodes::registry();
        let mut graph = text::parse(&text, &registry).map_err(|errors| {
            TestCaseError::fail(errors.to_string())
        })?;
        let limits = Limits::default();
        let cx = PassContext::new(&registry, &limits);
        for pass in PASSES {
            (pass.run)(&mut graph, &cx).expect("no cycle, few needs");
        }
        prop_assert_eq!(verify(&graph, Stage::Converted), Ok(()));
        let printed = text::print_with_paths(&graph);
        let again = text::parse(&printed, &registry).expect("printed graphs read back");
        prop_assert_eq!(text::print_with_paths(&again), printed);
        // Every form and every choice has a region.
        for id in graph.ids() {
            let fits = graph.instance_of(id).is_some_and(|instance| {
                instance.plain_form().is_some() || instance.is_lane_choice()
            });
            prop_assert_eq!(graph.region_of(id).is_some(), fits);
        }
    }
}
