//! The model on cases computed by hand.

use std::sync::Arc;

use millstream_base::{Feature, Type};
use millstream_ir::Request;
use millstream_node::{NodeDef, Registry, ScopeRule, SocketType};
use serde_json::json;

use super::*;
use crate::plans::plain_plan;
use crate::sketch::Sketch;

fn registry() -> Registry {
    millstream_nodes::registry()
}

fn expected(sketch: &Sketch<'_>, request: &Request) -> Expected {
    let plan = plain_plan(&sketch.graph).expect("few needs");
    let bound = request.bind(&plan).expect("fits");
    let world = World::of(&bound, &plan);
    let program = Program::of_graph(&sketch.graph);
    let with_memo = Model::new(&program, &world).evaluate().expect("small");
    let without = Model::new(&program, &world).without_memo().evaluate().expect("small");
    for (a, b) in with_memo.outputs.iter().zip(&without.outputs) {
        assert_eq!(format!("{a:?}"), format!("{b:?}"), "the memo changes nothing");
    }
    with_memo
}

/// The first output as text.
fn values(sketch: &Sketch<'_>, request: &Request) -> String {
    match &expected(sketch, request).outputs[0] {
        Ok(column) => column.iter().map(|v| v.to_string()).collect::<Vec<_>>().join(" "),
        Err(failed) => format!("failed: {failed:?}"),
    }
}

/// The bounds of a node.
fn elements(expected: &Expected, node: millstream_ir::Source) -> (usize, usize) {
    let elements = expected.elements[node.node.index()];
    (elements.least, elements.most)
}

#[test]
fn columns_lie_along_the_index_axis_and_zip() {
    let registry = registry();
    let mut s = Sketch::new(&registry);
    let (a, b) = (s.input("a", 1.0_f32), s.input("b", 2_i32));
    let sum = s.node("math.add", &[("a", a), ("b", b)]);
    s.output("sum", sum);
    let request = Request::new().column("a", vec![1.0_f32, 2.0]).column("b", vec![10_i32, 20]);
    assert_eq!(values(&s, &request), "11.0 22.0");
    assert_eq!(values(&s, &Request::new().column("a", vec![0.5_f32; 3])), "2.5 2.5 2.5");
    assert_eq!(values(&s, &Request::new()), "3.0");
}

#[test]
fn a_shift_changes_the_time_for_what_is_upstream() {
    let registry = registry();
    let mut s = Sketch::new(&registry);
    let time = s.node("context.time", &[]);
    let by = s.constant(0.5_f64);
    let later = s.node("time.shift", &[("value", time), ("by", by)]);
    let twice = s.node("time.shift", &[("value", later), ("by", by)]);
    let at = s.constant(10.0_f64);
    let fixed = s.node("context.with_time", &[("value", twice), ("time", at)]);
    let list =
        s.node("list.of", &[("items", time), ("items", later), ("items", twice), ("items", fixed)]);
    s.output("all", list);
    assert_eq!(values(&s, &Request::new().time(1.0)), "[1.0, 1.5, 2.0, 11.0]");
}

#[test]
fn levels_count_injectors_from_the_inside() {
    let registry = registry();
    let mut s = Sketch::new(&registry);
    let inner = s.node("context.index", &[]);
    let outer = s.node_with("context.index", &json!({"level": 1}), &[]);
    let ten = s.constant(10_i32);
    let tens = s.node("math.multiply", &[("a", outer), ("b", ten)]);
    let sum = s.node("math.add", &[("a", tens), ("b", inner)]);
    let row = s.node("list.generate", &[("count", inner), ("item", sum)]);
    let three = s.constant(3_i32);
    let rows = s.node("list.generate", &[("count", three), ("item", row)]);
    s.output("rows", rows);
    // The count of a row is evaluated outside of the row, where `index` is the number of the row.
    assert_eq!(values(&s, &Request::new()), "[[], [10], [20, 21]]");
}

#[test]
fn a_reduction_runs_along_the_axis_of_its_level() {
    let registry = registry();
    let mut s = Sketch::new(&registry);
    let x = s.input("x", 1.0_f32);
    let index = s.node("context.index", &[]);
    let product = s.node("math.multiply", &[("a", x), ("b", index)]);
    let sum = s.node("reduce.sum", &[("value", product)]);
    s.output("sum", sum);
    // 5 * 0 + 6 * 1 + 7 * 2
    let request = Request::new().column("x", vec![5.0_f32, 6.0, 7.0]);
    assert_eq!(values(&s, &request), "20.0 20.0 20.0");
    // Without an axis there is one element, number 0.
    assert_eq!(
        values(&s, &Request::new().set("x", 5.0_f32).feature(Feature::Index, one(3))),
        "0.0"
    );
}

fn one(i: i32) -> millstream_ir::request::Given {
    millstream_ir::request::Given::One(i.into())
}

#[test]
fn an_injected_column_is_read_where_a_reduction_runs() {
    let registry = registry();
    let mut s = Sketch::new(&registry);
    let x = s.input("x", 0.0_f64);
    let time = s.node("context.time", &[]);
    let sum = s.node("reduce.sum", &[("value", time)]);
    let at = s.node("context.with_time", &[("value", sum), ("time", x)]);
    s.output("sum", at);
    let request = Request::new().column("x", vec![1.0_f64, 2.0, 4.0]);
    assert_eq!(values(&s, &request), "7.0 7.0 7.0");
}

#[test]
fn a_shifted_index_is_not_shifted_inside_a_reduction() {
    let registry = registry();
    let mut s = Sketch::new(&registry);
    let index = s.node("context.index", &[]);
    let sum = s.node("reduce.sum", &[("value", index)]);
    let both = s.node("math.add", &[("a", index), ("b", sum)]);
    let by = s.constant(100_i32);
    let shifted = s.node("context.shift_index", &[("value", both), ("by", by)]);
    s.output("shifted", shifted);
    assert_eq!(values(&s, &Request::new().count(3)), "103 104 105");
}

#[test]
fn an_element_computes_only_the_side_that_it_takes() {
    let registry = registry();
    let mut s = Sketch::new(&registry);
    let index = s.node("context.index", &[]);
    let two = s.constant(2_i32);
    let condition = s.node("compare.less", &[("a", index), ("b", two)]);
    let low = s.node("math.negate", &[("x", index)]);
    let high = s.node("math.square", &[("x", index)]);
    let switch =
        s.node("control.switch", &[("condition", condition), ("false", high), ("true", low)]);
    s.output("value", switch);
    assert_eq!(values(&s, &Request::new().count(5)), "0 -1 4 9 16");
    let expected = expected(&s, &Request::new().count(5));
    assert_eq!(elements(&expected, low), (2, 2));
    assert_eq!(elements(&expected, high), (3, 3));
    assert_eq!(elements(&expected, condition), (5, 5));
}

#[test]
fn a_ladder_of_shared_shifts_costs_one_more_run_than_it_has_shifts() {
    let registry = registry();
    let mut s = Sketch::new(&registry);
    let time = s.node("context.time", &[]);
    let base = s.node("math.square", &[("x", time)]);
    let by = s.constant(1.0_f64);
    let mut top = base;
    for _ in 0..8 {
        let shifted = s.node("time.shift", &[("value", top), ("by", by)]);
        top = s.node("math.add", &[("a", top), ("b", shifted)]);
    }
    s.output("top", top);
    let expected = expected(&s, &Request::new().time(0.0));
    assert_eq!(elements(&expected, base), (9, 9));
}

#[test]
fn a_node_is_counted_along_the_axes_it_has() {
    let registry = registry();
    let mut s = Sketch::new(&registry);
    let (x, y) = (s.input("x", 1.0_f32), s.input("y", 1.0_f32));
    let one = s.node("math.sqrt", &[("x", y)]);
    let many = s.node("math.add", &[("a", x), ("b", one)]);
    let time = s.node("context.time", &[]);
    let all = s.node("math.add", &[("a", many), ("b", time)]);
    s.output("all", all);
    let request = Request::new().column("x", vec![0.0_f32; 5]).times(vec![0.0, 1.0]);
    let expected = expected(&s, &request);
    assert_eq!(elements(&expected, one), (1, 1));
    assert_eq!(elements(&expected, many), (5, 5));
    assert_eq!(elements(&expected, all), (10, 10));
}

#[test]
fn failed_nodes_are_named_and_the_others_have_values() {
    let registry = registry();
    let mut s = Sketch::new(&registry);
    let one = s.constant(1.0_f32);
    let list = s.node("list.of", &[("items", one)]);
    let index = s.node("context.index", &[]);
    let item = s.node("list.get", &[("list", list), ("index", index)]);
    let twice = s.node("math.add", &[("a", item), ("b", item)]);
    s.output("bad", twice);
    s.output("good", index);
    let expected = expected(&s, &Request::new().count(2));
    let failed = Failed::from([item.node.index()]);
    assert_eq!(expected.outputs[0].as_ref().expect_err("out of the list"), &failed);
    assert_eq!(expected.outputs[1].as_ref().expect("good").len(), 2);
    assert_eq!(expected.failed, failed);
}

#[test]
fn nothing_is_evaluated_for_no_elements() {
    let registry = registry();
    let mut s = Sketch::new(&registry);
    let index = s.node("context.index", &[]);
    let square = s.node("math.square", &[("x", index)]);
    s.output("squares", square);
    let expected = expected(&s, &Request::new().count(0));
    assert_eq!(elements(&expected, square), (0, 0));
    assert!(expected.outputs[0].as_ref().expect("an empty column").is_empty());
}

/// A node that gathers its source for `count` rounds, as `iteration`.
fn rounds() -> Arc<NodeDef> {
    let def = NodeDef::new("test.rounds", "")
        .generic("T", millstream_node::Among::Any)
        .input("item", SocketType::Generic(0), "")
        .scope(ScopeRule::Each { feature: Feature::Iteration, count: 1 })
        .input("count", Type::I32, "")
        .output("value", SocketType::ListOf(0), "")
        .function(|call: &mut millstream_node::Call<'_>| {
            let list = call.argument(0).value(0);
            call.set_one(0, list);
            Ok(())
        });
    Arc::new(def)
}

#[test]
fn loops_over_different_features_do_not_hide_each_other() {
    let registry = registry();
    let mut s = Sketch::new(&registry);
    let (index, round) = (s.node("context.index", &[]), s.node("context.iteration", &[]));
    let ten = s.constant(10_i32);
    let tens = s.node("math.multiply", &[("a", index), ("b", ten)]);
    let sum = s.node("math.add", &[("a", tens), ("b", round)]);
    let two = s.constant(2_i32);
    let inner = s.node_of(&rounds(), &json!({}), &[("item", sum), ("count", two)]).expect("fits");
    let outer = s.node("list.generate", &[("item", inner), ("count", two)]);
    s.output("all", outer);
    assert_eq!(values(&s, &Request::new()), "[[0, 1], [10, 11]]");
}

#[test]
fn gathering_an_axis_on_which_an_inner_extent_depends_is_refused() {
    let registry = registry();
    let mut s = Sketch::new(&registry);
    let index = s.node("context.index", &[]);
    let sum = s.node_with("reduce.sum", &json!({"level": 1}), &[("value", index)]);
    let rows = s.node("list.generate", &[("item", sum), ("count", index)]);
    s.output("rows", rows);
    let plan = plain_plan(&s.graph).expect("few needs");
    let bound = Request::new().count(3).bind(&plan).expect("fits");
    let world = World::of(&bound, &plan);
    let refusal = Model::new(&Program::of_graph(&s.graph), &world).evaluate().expect_err("refused");
    assert!(matches!(refusal, Refusal::NoMeaning(_)), "{refusal}");
}

#[test]
fn a_modifier_may_vary_along_an_axis() {
    let registry = registry();
    let mut s = Sketch::new(&registry);
    let time = s.node("context.time", &[]);
    let index = s.node("context.index", &[]);
    let shifted = s.node("time.shift", &[("value", time), ("by", index)]);
    let sum = s.node("reduce.sum", &[("value", shifted)]);
    s.output("sum", sum);
    // 10 + 11 + 12, then 20 + 21 + 22
    let request = Request::new().count(3).times(vec![10.0, 20.0]);
    assert_eq!(values(&s, &request), "33.0 33.0 33.0 63.0 63.0 63.0");
}
