//! Nodes with state: their results tick by tick, and where they may be used.

use millstream::{Chunked, Engine, Error, Evaluator, Incremental, Lazy, List, Program, Request};
use serde_json::{Value as Json, json};

/// A document of these nodes; the outputs are `y: f32` and `n: i32`, where they are linked.
fn program(nodes: &Json, more: &Json) -> Result<Program, Error> {
    let mut document = json!({ "millstream": 2, "fps": 10, "nodes": nodes });
    for (key, value) in more.as_object().expect("an object") {
        document[key] = value.clone();
    }
    Engine::new().load(document.to_string().as_bytes())
}

fn y(from: &str) -> Json {
    json!({ "outputs": { "y": { "type": "f32", "from": from } } })
}

fn played(program: &Program, frames: std::ops::Range<i64>) -> Vec<f32> {
    let request = Request::new().frames(frames.clone().collect());
    let answer = program.run(&request).expect("it runs");
    assert!(answer.failures.is_empty(), "{:?}", answer.failures);
    let all = answer.column::<f32>("y").expect("a column");
    // Each frame alone is played from the start, with the same result.
    for (frame, value) in frames.zip(&all) {
        let answer = program.run(&Request::new().frame(frame)).expect("it runs");
        assert_eq!(answer.value::<f32>("y").map(f32::to_bits), Some(value.to_bits()));
    }
    let answer = program.run_with(&mut Chunked::default(), &request).expect("it runs");
    assert_eq!(answer.column::<f32>("y").as_ref(), Some(&all));
    all
}

#[test]
fn a_circle_through_feedback_goes_on_from_tick_to_tick() {
    let nodes = json!({
        "next": { "type": "math.add", "in": { "a": { "from": "last.value" }, "b": 2 } },
        "last": { "type": "state.feedback", "in": { "value": { "from": "next.value" }, "initial": 1 } },
    });
    let program = program(&nodes, &y("next.value")).expect("it compiles");
    assert_eq!(played(&program, 0..5), [3.0, 5.0, 7.0, 9.0, 11.0]);
}

#[test]
fn longer_delays_give_the_initial_value_first() {
    let nodes = json!({
        "tick": { "type": "context.tick" },
        "f": { "type": "convert.to_f32", "in": { "x": { "from": "tick.value" } } },
        "late": { "type": "state.delay", "set": { "ticks": 3 },
            "in": { "value": { "from": "f.value" }, "initial": -1 } },
    });
    let program = program(&nodes, &y("late.value")).expect("it compiles");
    assert_eq!(played(&program, 0..7), [-1.0, -1.0, -1.0, 0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn rates_come_together_over_time() {
    let nodes = json!({
        "sum": { "type": "state.integrate", "in": { "rate": 5, "initial": 1 } },
    });
    let program = program(&nodes, &y("sum.value")).expect("it compiles");
    assert_eq!(played(&program, 0..4), [1.0, 1.5, 2.0, 2.5]);
}

#[test]
fn followers_start_at_the_value_and_cover_half_the_way_in_a_half_life() {
    let nodes = json!({
        "tick": { "type": "context.tick" },
        "late": { "type": "compare.greater", "in": { "a": { "from": "tick.value" }, "b": 0 } },
        "goal": { "type": "control.switch",
            "in": { "condition": { "from": "late.value" }, "false": 0.0, "true": 8.0 } },
        "follow": { "type": "state.smooth", "in": { "value": { "from": "goal.value" }, "half_life": 0.1 } },
        "swing": { "type": "state.damp", "in": { "value": { "from": "goal.value" }, "time": 0.2 } },
    });
    let smooth = program(&nodes, &y("follow.value")).expect("it compiles");
    assert_eq!(played(&smooth, 0..5), [0.0, 4.0, 6.0, 7.0, 7.5]);
    let damp = program(&nodes, &y("swing.value")).expect("it compiles");
    let all = played(&damp, 0..30);
    assert_eq!(all[0], 0.0);
    // With w = 10 and dt = 0.1 the offset is -8 (1 + n) e^-n after n ticks.
    for n in 1..5_u8 {
        let expected = 8.0 - 8.0 * (1.0 + f64::from(n)) * (-f64::from(n)).exp();
        assert!((f64::from(all[n as usize]) - expected).abs() < 1e-5, "{n}: {all:?}");
    }
    assert!(all.windows(2).all(|pair| pair[0] <= pair[1] && pair[1] <= 8.0), "{all:?}");
}

#[test]
fn values_are_held_and_counted_whether_they_are_asked_for_or_not() {
    let nodes = json!({
        "tick": { "type": "context.tick" },
        "even": { "type": "integer.modulo", "in": { "a": { "from": "tick.value" }, "b": 2 } },
        "when": { "type": "compare.equal", "in": { "a": { "from": "even.value" }, "b": 0 } },
        "f": { "type": "convert.to_f32", "in": { "x": { "from": "tick.value" } } },
        "held": { "type": "state.hold", "in": { "value": { "from": "f.value" }, "when": { "from": "when.value" } } },
        "count": { "type": "state.counter", "in": { "when": { "from": "when.value" } } },
        "late": { "type": "compare.greater", "in": { "a": { "from": "tick.value" }, "b": 3 } },
        "shown": { "type": "control.switch", "in": { "condition": { "from": "late.value" },
            "false": -1.0, "true": { "from": "count.value" } } },
    });
    let held = program(&nodes, &y("held.value")).expect("it compiles");
    assert_eq!(played(&held, 0..6), [0.0, 0.0, 2.0, 2.0, 4.0, 4.0]);
    let shown = program(&nodes, &y("shown.value")).expect("it compiles");
    assert_eq!(played(&shown, 0..6), [-1.0, -1.0, -1.0, -1.0, 3.0, 3.0]);
}

#[test]
fn each_use_of_a_group_and_each_element_has_a_state_of_its_own() {
    let more = json!({
        "inputs": { "x": { "type": "f32", "default": 1 } },
        "outputs": { "y": { "type": "f32", "from": "both.value" } },
        "groups": { "sum": {
            "inputs": { "rate": { "type": "f32" } },
            "outputs": { "value": { "type": "f32", "from": "s.value" } },
            "nodes": { "s": { "type": "state.integrate", "in": { "rate": { "input": "rate" } } } } } },
    });
    let nodes = json!({
        "one": { "type": "group", "group": "sum", "in": { "rate": { "input": "x" } } },
        "ten": { "type": "group", "group": "sum", "in": { "rate": 10 } },
        "both": { "type": "math.add", "in": { "a": { "from": "one.value" }, "b": { "from": "ten.value" } } },
    });
    let program = program(&nodes, &more).expect("it compiles");
    let request = Request::new().column("x", vec![10.0_f32, 20.0, 30.0]).frames(vec![0, 2]);
    let answer = program.run(&request).expect("it runs");
    assert_eq!(answer.column::<f32>("y"), Some(vec![0.0, 0.0, 0.0, 4.0, 6.0, 8.0]));
    let request = Request::new().per_time("x", vec![10.0_f32, 20.0, 30.0]).frames(vec![0, 1, 2]);
    let answer = program.run(&request).expect("it runs");
    assert_eq!(answer.column::<f32>("y"), Some(vec![0.0, 2.0, 5.0]));
}

#[test]
fn a_node_that_does_not_need_what_a_scope_changes_has_one_state() {
    let nodes = json!({
        "follow": { "type": "state.integrate", "in": { "rate": 1 } },
        "earlier": { "type": "time.shift", "in": { "value": { "from": "follow.value" }, "by": -1 } },
    });
    let program = program(&nodes, &y("earlier.value")).expect("it compiles");
    assert_eq!(played(&program, 0..3), [0.0, 0.1, 0.2]);
}

#[test]
fn what_is_muted_keeps_nothing_and_closes_circles() {
    let nodes = json!({
        "next": { "type": "math.add", "in": { "a": { "from": "last.value" }, "b": 2 } },
        "last": { "type": "state.feedback", "in": { "value": { "from": "next.value" } }, "muted": true },
    });
    let Err(Error::Document(problems)) = program(&nodes, &y("next.value")) else {
        panic!("it is refused");
    };
    assert!(problems.iter().any(|problem| problem.code == "check::cycle"), "{problems}");
}

#[test]
fn a_value_of_another_type_is_refused_where_it_is_fed_back() {
    let nodes = json!({
        "last": { "type": "state.feedback", "in": { "value": { "from": "text.value" } } },
        "text": { "type": "string.from_number", "in": { "value": { "from": "last.value" } } },
    });
    let Err(Error::Document(problems)) = program(&nodes, &y("last.value")) else {
        panic!("it is refused");
    };
    assert!(
        problems.to_string().starts_with("last.value: `text.value` gives a string"),
        "{problems}"
    );
}

#[test]
fn times_that_are_no_ticks_are_refused() {
    let nodes = json!({ "sum": { "type": "state.integrate", "in": { "rate": 1 } } });
    let mut more = y("sum.value");
    more["start_frame"] = json!(5);
    let program = program(&nodes, &more).expect("it compiles");
    let refused = |request: &Request| program.run(request).expect_err("it is refused").to_string();
    assert_eq!(
        refused(&Request::new().time(0.55)),
        "the document keeps state from tick to tick, and the requested time is not a frame"
    );
    assert_eq!(
        refused(&Request::new().frame(4)),
        "the document keeps state from tick to tick, and frame 4 is before frame 5, where it starts"
    );
    assert!(refused(&Request::new().frame(i64::MAX)).contains("ticks lie before frame"));
    let value = |request: &Request| program.run(request).expect("it runs").value::<f32>("y");
    assert_eq!(value(&Request::new().frame(7)), Some(0.2));
    // A time that is a frame up to rounding.
    assert_eq!(value(&Request::new().time(0.7)), Some(0.2));
    assert_eq!(value(&Request::new().time(0.1 * 7.0)), Some(0.2));
    let both = program.run(&Request::new().times(vec![0.5, 0.7])).expect("it runs");
    assert_eq!(both.column::<f32>("y"), Some(vec![0.0, 0.2]));
    assert!(refused(&Request::new().times(vec![0.5, 0.72])).contains("not a frame"));
    assert!(refused(&Request::new().time(f64::INFINITY)).contains("not a frame"));
    assert_eq!(program.inputs().len(), 0);
    let empty = program.run(&Request::new().frames(vec![])).expect("it runs");
    assert_eq!(empty.column::<f32>("y"), Some(vec![]));
}

#[test]
fn what_fails_in_several_frames_is_told_once_by_the_first_of_them() {
    let nodes = json!({
        "n": { "type": "state.counter", "in": { "start": -1 } },
        "often": { "type": "list.get", "in": { "list": [1.0, 2.0], "index": { "from": "n.value" } } },
        "always": { "type": "list.get", "in": { "list": [1.0, 2.0], "index": 9 } },
        "of_all": { "type": "list.get", "in": { "list": [1.0, 2.0], "index": { "from": "last.value" } } },
        "tick": { "type": "context.tick" },
        "last": { "type": "convert.to_i32", "in": { "x": { "from": "tick.value" } } },
    });
    let outputs = json!({
        "y": { "type": "f32", "from": "often.value" },
        "z": { "type": "f32", "from": "always.value" },
        "w": { "type": "f32", "from": "of_all.value" },
    });
    let program = program(&nodes, &json!({ "outputs": outputs })).expect("it compiles");
    let evaluators: [&mut dyn Evaluator; 4] =
        [&mut Lazy, &mut Chunked::default(), &mut List::parallel(), &mut Incremental::new()];
    for evaluator in evaluators {
        let request = Request::new().frames((0..5).collect());
        let answer = program.run_with(evaluator, &request).expect("it runs");
        let failures: Vec<(&str, &[(&str, usize)])> =
            answer.failures.iter().map(|it| (it.path.as_str(), &it.cell[..])).collect();
        let first = [("time", 2)];
        assert_eq!(failures, [("always", &[][..]), ("of_all", &first), ("often", &first[..])]);
    }
}

#[test]
fn a_tick_that_fails_holds_back_only_the_state_that_depends_on_it() {
    // The item fails in frame 3.
    let document = b"k = convert.to_i32(context.tick())\n\
        item = list.get(list.of(several [1, 2]), index: convert.to_i32(k == 3 ? 9 : 0))\n\
        sum = state.feedback(next, initial: 0)\nnext = sum + item\n\
        other = state.feedback(more, initial: 0)\nmore = other + sum\n\
        output sum: f64 = sum\noutput other: f64 = other\n\
        output n: i32 = state.counter()\noutput k: i32 = k\n";
    let program = Engine::new().load(document).expect("it compiles");
    let evaluators: [&mut dyn Evaluator; 4] =
        [&mut Lazy, &mut Chunked::default(), &mut List::parallel(), &mut Incremental::new()];
    for evaluator in evaluators {
        let mut told = |request: Request| {
            let answer = program.run_with(evaluator, &request).expect("it runs");
            let at = |it: &millstream::NodeFailure| (it.path.to_string(), it.replayed);
            (answer.failures.iter().map(at).collect::<Vec<_>>(), answer)
        };
        let failed = |replayed: Option<i64>| vec![("item".to_owned(), replayed)];
        let (failures, answer) = told(Request::new().frames((0..6).collect()));
        assert_eq!(failures, failed(None));
        assert_eq!(answer.column("sum"), Some(vec![0.0, 1.0, 2.0, 3.0, 3.0, 4.0]));
        assert_eq!(answer.column("other"), Some(vec![0.0, 0.0, 1.0, 3.0, 6.0, 9.0]));
        assert_eq!(answer.column("n"), Some(vec![1, 2, 3, 4, 5, 6]));
        for (output, replayed) in
            [("sum", failed(Some(3))), ("other", failed(Some(3))), ("n", vec![]), ("k", vec![])]
        {
            for request in [Request::new().frame(5), Request::new().frames(vec![5, 4])] {
                assert_eq!(told(request.output(output)).0, replayed, "{output}");
            }
            // The state after the only frame is not computed.
            assert_eq!(told(Request::new().frame(3).output(output)).0, [], "{output}");
        }
    }
}
