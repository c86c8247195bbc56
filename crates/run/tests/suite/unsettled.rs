//! Repeats that end at their maximum before they are stable are known after an evaluation.

use std::collections::BTreeMap;

use millstream_base::{Column, Value};
use millstream_ir::Request;
use millstream_ir::request::{Given, RequestAxis};
use millstream_ir::unsettled::Mark;
use serde_json::{Value as Json, json};

use crate::repeat::{evaluators, expression, plan};

/// Numbers of rounds by path and moment.
type Rounds = BTreeMap<(String, Option<usize>), u32>;

/// The repeats that did not settle.
fn rounds(marks: &[Mark]) -> Rounds {
    let mut all = Rounds::new();
    for Mark { unsettled, moment, .. } in marks {
        let known = all.entry((unsettled.path.as_str().to_owned(), *moment)).or_default();
        *known = unsettled.rounds.max(*known);
    }
    all
}

fn of(expected: &[(&str, Option<usize>, u32)]) -> Rounds {
    expected.iter().map(|(path, moment, rounds)| ((path.to_string(), *moment), *rounds)).collect()
}

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
            let answer = evaluator.evaluate(&plan, &request).expect("the request fits");
            let expected: Vec<_> = expected.iter().map(|(path, n)| (*path, None, *n)).collect();
            assert_eq!(rounds(&answer.unsettled), of(&expected), "{}", evaluator.name());
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
        let answer = evaluator.evaluate(&plan, &Request::new()).expect("the request fits");
        assert_eq!(rounds(&answer.unsettled), of(&[("loop", None, 4)]), "{}", evaluator.name());
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
                let answer = evaluator.evaluate(&plan, &request).expect("the request fits");
                let expected = of(&[("loop", Some(1), 4), ("loop", Some(3), 6)]);
                assert_eq!(rounds(&answer.unsettled), expected, "{}", evaluator.name());
            }
        }
    }
}

/// Two calls of one group that ends when it is stable, and a loop over items around such calls.
#[test]
fn calls_of_one_group_are_told_apart() {
    let call = |count: &str| {
        json!({"type": "repeat", "group": "body", "set": {"until": "stable"},
               "in": {"x": {"input": "x"}, "count": {"input": count}}})
    };
    let each = json!({
        "inputs": {"x": {"type": "f32"}, "n": {"type": "i32"}},
        "outputs": {"y": {"type": "f32", "from": "inner.x"}},
        "nodes": {"inner": call("n")},
    });
    let loops = |xs: &str, n: &str| {
        json!({"type": "for_each", "group": "each", "set": {"items": ["x"]},
               "in": {"x": {"input": xs}, "n": {"input": n}}})
    };
    let document = json!({
        "millstream": 2,
        "inputs": {"x": {"type": "f32"}, "xs": {"type": "list<f32>"},
                   "few": {"type": "i32"}, "many": {"type": "i32"}, "some": {"type": "i32"}},
        "outputs": {"a": {"type": "f32", "from": "a.x"}, "b": {"type": "f32", "from": "b.x"},
                    "c": {"type": "list<f32>", "from": "c.y"},
                    "d": {"type": "list<f32>", "from": "d.y"}},
        "nodes": {"a": call("many"), "b": call("few"), "c": loops("xs", "many"),
                  "d": loops("xs", "some")},
        "groups": {"body": halving(), "each": each},
    });
    let plan = plan(&document);
    let xs = Value::List(Column::from_vec(vec![2.0_f32, 100.0, 50.0]));
    let request = Request::new().set("x", 100.0_f32).set("xs", xs).set("many", 500);
    let some = Given::Along(RequestAxis::Time, Column::from_vec(vec![500_i32, 6, 500, 7]));
    let several = request.clone().frames(vec![0, 1, 2, 3]).set("few", 4).given("some", some);
    for mut evaluator in evaluators() {
        let one = request.clone().set("few", 4).set("some", 6);
        let answer = evaluator.evaluate(&plan, &one).expect("the request fits");
        let expected = of(&[("b", None, 4), ("d/inner", None, 6)]);
        assert_eq!(rounds(&answer.unsettled), expected, "{}", evaluator.name());
        let answer = evaluator.evaluate(&plan, &several).expect("the request fits");
        let expected = of(&[("b", None, 4), ("d/inner", Some(1), 6), ("d/inner", Some(3), 7)]);
        assert_eq!(rounds(&answer.unsettled), expected, "{}", evaluator.name());
    }
}
