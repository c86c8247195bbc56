//! A fixture for each invariant that violates it.

use std::sync::Arc;

use super::*;
use crate::graph::{GraphInput, GraphOutput};
use crate::{Paths, testing, text};
use expect_test::{Expect, expect};
use millstream_base::Value;

fn graph(text: &str) -> Graph {
    text::parse(text, &testing::registry()).expect("the fixture reads")
}

fn errors(graph: &Graph, stage: Stage, expected: &Expect) {
    let errors = verify(graph, stage).expect_err("the fixture breaks an invariant");
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    expected.assert_eq(&(errors.join("\n") + "\n"));
}

fn check(text: &str, stage: Stage, expected: &Expect) {
    errors(&graph(text), stage, expected);
}

const SOUND: &str = "
    n0 = input a: f32 = 1.0
    n1 = const 2.0
    n2 = math.add n0 n1
    output n2";

#[test]
fn a_sound_graph_passes() {
    assert_eq!(verify(&graph(SOUND), Stage::Converted), Ok(()));
}

#[test]
fn types_must_convert_before_conversions_and_be_equal_after() {
    let convertible = "n0 = const 2
        n1 = math.add<f64> n0 n0
        output n1";
    assert_eq!(verify(&graph(convertible), Stage::Lowered), Ok(()));
    check(
        convertible,
        Stage::Converted,
        &expect![[r#"
            input 0 of n1 takes an f64, but reads an i32 from n0
            input 1 of n1 takes an f64, but reads an i32 from n0
        "#]],
    );
    check(
        "n0 = const \"text\"\nn1 = vector.split n0\noutput value: string n1.x",
        Stage::Lowered,
        &expect![[r#"
            input 0 of n1 takes a vec3, but reads a string from n0
            output 0 of the graph takes a string, but reads an f32 from n1
        "#]],
    );
}

#[test]
fn a_cycle_is_found() {
    check(
        "n0 = math.add n1 n1\nn1 = math.add n0 n0\noutput n1",
        Stage::Converted,
        &expect![[r#"
            the nodes form a cycle: n1 -> n0 -> n1
        "#]],
    );
    check(
        "n0 = math.add n0 n0",
        Stage::Converted,
        &expect![[r#"
            the nodes form a cycle: n0 -> n0
        "#]],
    );
}

#[test]
fn links_lead_to_nodes_and_outputs_that_exist() {
    let mut removed = graph(SOUND);
    removed.remove(NodeId::from_index(1));
    errors(
        &removed,
        Stage::Converted,
        &expect![[r#"
            input 1 of n2 reads n1, which was removed
        "#]],
    );
    let mut beyond = graph(SOUND);
    beyond.inputs_of_mut(NodeId::from_index(2))[0] = Source::first(NodeId::from_index(9));
    beyond.outputs[0].source.output = 3;
    errors(
        &beyond,
        Stage::Converted,
        &expect![[r#"
            input 0 of n2 reads n9, which does not exist
            output 0 of the graph reads output 3 of n2, which has fewer
        "#]],
    );
}

#[test]
fn a_node_has_as_many_links_as_inputs_and_a_leaf_has_none() {
    let mut few = graph(SOUND);
    let instance = few.instances().ids().next().expect("one instance");
    few.add_call(instance, &[Source::first(NodeId::from_index(0))], Paths::root());
    errors(
        &few,
        Stage::Converted,
        &expect![[r"
            n3 has 1 links for 2 inputs
        "]],
    );
    let mut leaf = graph(SOUND);
    leaf.set_op(NodeId::from_index(2), Op::Const(ConstId::from_index(0)));
    errors(
        &leaf,
        Stage::Converted,
        &expect![[r#"
            n2 is a leaf but has 2 links
        "#]],
    );
}

#[test]
fn the_contents_of_nodes_exist() {
    let mut graph = graph(SOUND);
    let ids: Vec<NodeId> = graph.ids().collect();
    graph.set_op(ids[0], Op::Input(InputId::from_index(5)));
    graph.set_op(ids[1], Op::Const(ConstId::from_index(5)));
    graph.set_op(ids[2], Op::Call(InstanceId::from_index(5)));
    graph.set_path(ids[0], crate::PathId::from_index(7));
    errors(
        &graph,
        Stage::Lowered,
        &expect![[r#"
            n0 has a path that does not exist
            n0 is i5, which does not exist
            n1 is c5, which does not exist
            n2 calls f5, which does not exist
        "#]],
    );
}

#[test]
fn an_input_is_one_node_and_has_a_default_of_its_type() {
    let mut graph = graph(SOUND);
    let default = Some(Value::from("text"));
    graph.add_input(GraphInput { name: "b".into(), ty: Type::F32, default });
    graph.set_op(NodeId::from_index(1), Op::Input(InputId::from_index(0)));
    errors(
        &graph,
        Stage::Converted,
        &expect![[r#"
            i1 is an f32 and its default a string
            n1 and n0 are both i0
        "#]],
    );
}

#[test]
fn members_of_regions_are_element_wise() {
    check(
        "n0 = input a: f32 = 1.0
         n1 = math.scale n0 @r0
         n2 = math.add n1 n0 @r0
         output n2",
        Stage::Converted,
        &expect![[r#"
            n1 is in r0 but is neither a form nor a choice among lanes
        "#]],
    );
}

#[test]
fn regions_do_not_depend_on_each_other_cyclically() {
    let around = "n0 = input a: f32 = 1.0
         n1 = math.add n0 n0 @r0
         n2 = math.scale n1
         n3 = math.add n2 n1 @r0
         output n3";
    check(
        around,
        Stage::Converted,
        &expect![[r#"
            r0 cannot run as a whole: it depends on itself through n1
        "#]],
    );
    check(
        "n0 = input a: f32 = 1.0
         n1 = math.add n0 n0 @r0
         n2 = math.add n1 n0 @r1
         n3 = math.add n0 n0 @r1
         n4 = math.add n3 n0 @r0
         n5 = math.add n4 n2 @r2
         output n5",
        Stage::Converted,
        &expect![[r#"
            r0 cannot run as a whole: it depends on itself through n1
        "#]],
    );
    assert_eq!(verify(&graph(&around.replace("n1 @r0", "n1 @r1")), Stage::Converted), Ok(()));
}

#[test]
fn only_loops_have_marks_of_loops() {
    check(
        "n0 = input a: f32 = 1.0
         n1 = math.add n0 n0 @folded
         output n1",
        Stage::Converted,
        &expect![[r#"
            n1 is marked as a loop but is not one
        "#]],
    );
}

#[test]
fn outputs_are_links_too() {
    let mut graph = Graph::new();
    let source = Source::first(NodeId::from_index(0));
    graph.outputs.push(GraphOutput { name: Arc::from("value"), ty: Type::F32, source });
    errors(
        &graph,
        Stage::Converted,
        &expect![[r#"
            output 0 of the graph reads n0, which does not exist
        "#]],
    );
}
