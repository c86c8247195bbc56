//! Repeats that end at their maximum before they are stable are known after an evaluation.

use millstream_base::{Column, Value};
use millstream_ir::Request;
use millstream_ir::repeat::{Rounds, take_unsettled};
use millstream_ir::request::{Given, RequestAxis};
use serde_json::{Value as Json, json};

use crate::repeat::{evaluators, expression, plan};

/// What every evaluator leaves to report, on one value and on a column of values.
fn check(body: &Json, set: &Json, count: i32, expected: &[(&str, u32)]) {
    let ty = &body["inputs"]["x"]["type"];
    let document = json!({
        "millstream": 2,
        "inputs": {"x": {"type": ty}},
        "outputs": {"x": {"type": ty, "from": "loop.x"}},
        "nodes": {
            "loop": {"type": "repeat", "group": "body", "set": set,
                     "in": {"x": {"input": "x"}, "count": count}},
        },
        "groups": {"body": body},
    });
    let plan = plan(&document);
    let mut requests = vec![Request::new().set("x", 100.0_f32)];
    requests.push(Request::new().column("x", vec![2.0_f32, 100.0, 3.0]));
    if ty != "f32" {
        requests = vec![Request::new().set("x", Value::List(Column::from_vec(vec![1.0_f32, 2.0])))];
    }
    for request in requests {
        for mut evaluator in evaluators() {
            evaluator.evaluate(&plan, &request).expect("the request fits");
            let found = take_unsettled(&plan);
            let found: Vec<(&str, u32)> =
                found.iter().map(|(path, all)| (path.as_str(), all[&None])).collect();
            assert_eq!(found, expected, "{}", evaluator.name());
            assert!(take_unsettled(&plan).is_empty(), "it is told once");
        }
    }
}

/// x becomes x / 2 + 1.
fn halving() -> Json {
    json!({
        "inputs": {"x": {"type": "f32"}},
        "outputs": {"x": {"type": "f32", "from": "next.value"}},
        "nodes": {"next": expression("x / 2 + 1", &[("x", "x")])},
    })
}

#[test]
fn a_repeat_that_runs_into_its_maximum_is_told() {
    let stable = json!({"until": "stable"});
    check(&halving(), &stable, 5, &[("loop", 5)]);
    check(&halving(), &stable, 200, &[]);
    check(&halving(), &stable, 0, &[]);
    let near = json!({"until": "stable", "tolerance": 50});
    check(&halving(), &near, 5, &[]);
    // It ended because it was told to.
    let mut told = halving();
    told["outputs"]["more"] = json!({"type": "bool", "from": "more.value"});
    told["nodes"]["more"] =
        json!({"type": "compare.greater", "in": {"a": {"from": "next.value"}, "b": 60}});
    check(&told, &json!({"until": "stable", "while": "more"}), 5, &[]);
    // A maximum is no sign of trouble where nothing is to become stable.
    check(&halving(), &json!({}), 5, &[]);
}

#[test]
fn bodies_that_are_no_forms_are_told_too() {
    let body = json!({
        "inputs": {"x": {"type": "list<f32>"}},
        "outputs": {"x": {"type": "list<f32>", "from": "turned.value"}},
        "nodes": {"turned": {"type": "list.reverse", "in": {"list": {"input": "x"}}}},
    });
    check(&body, &json!({"until": "stable"}), 5, &[("loop", 5)]);
}

#[test]
fn a_repeat_of_constants_is_told_although_it_could_be_folded() {
    let document = json!({
        "millstream": 2,
        "outputs": {"x": {"type": "f32", "from": "loop.x"}},
        "nodes": {
            "loop": {"type": "repeat", "group": "body", "set": {"until": "stable"},
                     "in": {"x": 100, "count": 4}},
        },
        "groups": {"body": halving()},
    });
    let plan = plan(&document);
    for mut evaluator in evaluators() {
        evaluator.evaluate(&plan, &Request::new()).expect("the request fits");
        let found = take_unsettled(&plan);
        assert_eq!(found.len(), 1, "{}", evaluator.name());
        assert_eq!((found[0].0.as_str(), &found[0].1), ("loop", &Rounds::from([(None, 4)])));
    }
}

#[test]
fn the_moments_of_repeats_that_do_not_settle_are_known() {
    let lists = json!({
        "inputs": {"x": {"type": "list<f32>"}},
        "outputs": {"x": {"type": "list<f32>", "from": "turned.value"}},
        "nodes": {"turned": {"type": "list.reverse", "in": {"list": {"input": "x"}}}},
    });
    for (body, ty) in [(halving(), "f32"), (lists, "list<f32>")] {
        let document = json!({
            "millstream": 2,
            "inputs": {"x": {"type": ty}, "n": {"type": "i32"}},
            "outputs": {"x": {"type": ty, "from": "loop.x"}},
            "nodes": {
                "loop": {"type": "repeat", "group": "body", "set": {"until": "stable"},
                         "in": {"x": {"input": "x"}, "count": {"input": "n"}}},
            },
            "groups": {"body": body},
        });
        let plan = plan(&document);
        let request = |x: Given| {
            let counts = Column::from_vec(vec![0_i32, 4, 0, 6]);
            let n = Given::Along(RequestAxis::Time, counts);
            Request::new().frames(vec![0, 1, 2, 3]).given("n", n).given("x", x)
        };
        let requests = match ty {
            "f32" => vec![
                request(Given::One(100.0_f32.into())),
                request(Given::Along(RequestAxis::Index, vec![2.0_f32, 100.0, 3.0].into())),
            ],
            _ => vec![request(Given::One(Value::List(Column::from_vec(vec![1.0_f32, 2.0]))))],
        };
        for request in requests {
            for mut evaluator in evaluators() {
                evaluator.evaluate(&plan, &request).expect("the request fits");
                let expected = Rounds::from([(Some(1), 4), (Some(3), 6)]);
                let found = take_unsettled(&plan);
                assert_eq!(found[0].1, expected, "{}", evaluator.name());
            }
        }
    }
}
