//! Stateful nodes inside loops and other scopes: a state for each element, by its coordinates.

use millstream::session::{Ask, Session};
use millstream::{Auto, Chunked, Engine, Incremental, List, Program, Request};
use millstream_ir::Evaluator;
use serde_json::{Value as Json, json};

/// A program of these nodes with ten frames per second; `y` is the output.
fn program(nodes: &Json, ty: &str) -> Program {
    let document = json!({ "millstream": 2, "fps": 10, "nodes": nodes,
        "inputs": { "n": { "type": "i32", "default": 3 }, "x": { "type": "f32", "default": 0 },
            "on": { "type": "bool", "default": true } },
        "outputs": { "y": { "type": ty, "from": "y.value" } } });
    Engine::new().load(document.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// The output at each frame, as text. All evaluators agree.
fn played(program: &Program, request: &Request) -> Vec<String> {
    let (mut incremental, mut parallel) = (Incremental::new(), List::parallel());
    let (mut chunked, mut auto, mut list) = (Chunked::default(), Auto::new(), List::new());
    let evaluators: [&mut dyn Evaluator; 5] =
        [&mut list, &mut chunked, &mut incremental, &mut parallel, &mut auto];
    let shown = |evaluator: &mut dyn Evaluator| -> Vec<String> {
        let answer = program.run_with(evaluator, request).expect("it runs");
        assert!(answer.failures.is_empty(), "{:?}", answer.failures);
        let series = answer.outputs[0].value.as_ref().expect("it has a value");
        answer.full_column(series).iter().map(|value| value.to_string()).collect()
    };
    let all = shown(&mut millstream_run::Lazy);
    for evaluator in evaluators {
        assert_eq!(shown(evaluator), all, "{}", evaluator.name());
    }
    assert_eq!(shown(&mut incremental), all, "a second time");
    all
}

fn frames(n: i64) -> Request {
    Request::new().frames((0..n).collect())
}

fn index() -> Json {
    json!({ "type": "context.index" })
}

fn loop_over(item: &str) -> Json {
    json!({ "type": "list.generate", "in": { "item": { "from": item }, "count": { "input": "n" } } })
}

#[test]
fn each_item_of_a_loop_has_a_state_of_its_own() {
    let nodes = json!({
        "i": index(),
        "rate": { "type": "convert.to_f32", "in": { "x": { "from": "i.value" } } },
        "sum": { "type": "state.integrate", "in": { "rate": { "from": "rate.value" } } },
        "y": loop_over("sum.value"),
    });
    let program = program(&nodes, "list<f32>");
    assert_eq!(
        played(&program, &frames(3)),
        ["[0.0, 0.0, 0.0]", "[0.0, 0.1, 0.2]", "[0.0, 0.2, 0.4]"]
    );
    // A single frame is played from the start.
    let alone = program.run(&Request::new().frame(2)).expect("it runs");
    let list = alone.outputs[0].value.as_ref().expect("a value").data.get(0).to_string();
    assert_eq!(list, "[0.0, 0.2, 0.4]");
}

#[test]
fn items_beyond_a_shorter_loop_start_anew_when_they_come_back() {
    let nodes = json!({
        "i": index(),
        "rate": { "type": "convert.to_f32", "in": { "x": { "from": "i.value" } } },
        "sum": { "type": "state.integrate", "in": { "rate": { "from": "rate.value" }, "initial": 1 } },
        "y": loop_over("sum.value"),
    });
    let program = program(&nodes, "list<f32>");
    let request = frames(5).per_time("n", vec![3, 3, 2, 3, 3]);
    assert_eq!(
        played(&program, &request),
        [
            "[1.0, 1.0, 1.0]",
            "[1.0, 1.1, 1.2]",
            "[1.0, 1.2]",
            "[1.0, 1.3000001, 1.0]",
            "[1.0, 1.4000001, 1.2]"
        ]
    );
    let request = frames(4).per_time("n", vec![2, 2, 0, 2]);
    assert_eq!(played(&program, &request), ["[1.0, 1.0]", "[1.0, 1.1]", "[]", "[1.0, 1.0]"]);
}

#[test]
fn states_inside_loops_go_on_only_where_they_are_called() {
    // Each item is counted only while the tick is less than the item.
    let nodes = json!({
        "i": index(),
        "tick": { "type": "context.tick" },
        "far": { "type": "compare.greater", "in": { "a": { "from": "i.value" }, "b": { "from": "tick.value" } } },
        "when": { "type": "compare.greater", "in": { "a": { "from": "i.value" }, "b": -1 } },
        "count": { "type": "state.counter", "in": { "when": { "from": "when.value" } } },
        "item": { "type": "control.switch", "in": { "condition": { "from": "far.value" },
            "false": -1, "true": { "from": "count.value" } } },
        "y": loop_over("item.value"),
    });
    let program = program(&nodes, "list<i32>");
    assert_eq!(played(&program, &frames(3)), ["[-1, 1, 1]", "[-1, -1, 2]", "[-1, -1, -1]"]);
    // The whole loop in an arm.
    let nodes = json!({
        "i": index(),
        "when": { "type": "compare.greater", "in": { "a": { "from": "i.value" }, "b": 0 } },
        "count": { "type": "state.counter", "in": { "when": { "from": "when.value" } } },
        "all": loop_over("count.value"),
        "none": { "type": "list.generate", "in": { "item": { "from": "i.value" }, "count": 0 } },
        "y": { "type": "control.switch", "in": { "condition": { "input": "on" },
            "false": { "from": "none.value" }, "true": { "from": "all.value" } } },
    });
    let program = self::program(&nodes, "list<i32>");
    let request = frames(4).per_time("on", vec![true, false, false, true]);
    assert_eq!(played(&program, &request), ["[0, 1, 1]", "[]", "[]", "[0, 2, 2]"]);
}

#[test]
fn feedback_and_delays_inside_loops_keep_what_each_item_was() {
    let nodes = json!({
        "i": index(),
        "f": { "type": "convert.to_f32", "in": { "x": { "from": "i.value" } } },
        "next": { "type": "math.add", "in": { "a": { "from": "last.value" }, "b": { "from": "f.value" } } },
        "last": { "type": "state.feedback", "in": { "value": { "from": "next.value" }, "initial": 10 } },
        "late": { "type": "state.delay", "set": { "ticks": 2 },
            "in": { "value": { "from": "next.value" }, "initial": { "from": "f.value" } } },
        "item": { "type": "math.add", "in": { "a": { "from": "next.value" }, "b": { "from": "late.value" } } },
        "y": loop_over("late.value"),
    });
    let late = program(&nodes, "list<f32>");
    // Only the state calls the delayed node.
    assert_eq!(
        played(&late, &frames(4)),
        ["[0.0, 1.0, 2.0]", "[0.0, 1.0, 2.0]", "[10.0, 11.0, 12.0]", "[10.0, 12.0, 14.0]"]
    );
}

#[test]
fn loops_inside_loops_and_elements_of_the_request_tell_states_apart() {
    let nodes = json!({
        "i": index(),
        "outer": { "type": "context.index", "set": { "level": 1 } },
        "product": { "type": "math.add", "in": { "a": { "from": "outer.value" }, "b": { "from": "i.value" } } },
        "f": { "type": "convert.to_f32", "in": { "x": { "from": "product.value" } } },
        "rate": { "type": "math.add", "in": { "a": { "from": "f.value" }, "b": { "input": "x" } } },
        "sum": { "type": "state.integrate", "in": { "rate": { "from": "rate.value" } } },
        "row": { "type": "list.generate", "in": { "item": { "from": "sum.value" }, "count": 2 } },
        "y": { "type": "list.generate", "in": { "item": { "from": "row.value" }, "count": 2 } },
    });
    let program = program(&nodes, "list<list<f32>>");
    let request = frames(2).column("x", vec![0.0_f32, 10.0]);
    assert_eq!(
        played(&program, &request),
        [
            "[[0.0, 0.0], [0.0, 0.0]]",
            "[[0.0, 0.0], [0.0, 0.0]]",
            "[[0.0, 0.1], [0.1, 0.2]]",
            "[[1.0, 1.1], [1.1, 1.2]]"
        ]
    );
}

#[test]
fn a_state_is_found_again_by_the_index_that_is_injected() {
    // The shown element changes; the state follows it.
    let nodes = json!({
        "i": index(),
        "f": { "type": "convert.to_f32", "in": { "x": { "from": "i.value" } } },
        "sum": { "type": "state.integrate", "in": { "rate": { "from": "f.value" } } },
        "y": { "type": "context.with_index", "in": { "value": { "from": "sum.value" }, "index": { "input": "n" } } },
    });
    let program = program(&nodes, "f32");
    let request = frames(5).per_time("n", vec![5, 5, 9, 5, 9]);
    assert_eq!(played(&program, &request), ["0.0", "0.5", "0.0", "1.0", "0.90000004"]);
}

#[test]
fn one_state_in_two_contexts_of_a_tick_is_an_error_that_keeps_nothing() {
    let nodes = json!({
        "now": { "type": "context.time" },
        "f": { "type": "convert.to_f32", "in": { "x": { "from": "now.value" } } },
        "sum": { "type": "state.integrate", "in": { "rate": { "from": "f.value" } } },
        "earlier": { "type": "time.shift", "in": { "value": { "from": "sum.value" }, "by": -1 } },
        "both": { "type": "math.add", "in": { "a": { "from": "earlier.value" }, "b": { "from": "sum.value" } } },
        "y": { "type": "control.switch", "in": { "condition": { "input": "on" },
            "false": { "from": "earlier.value" }, "true": { "from": "both.value" } } },
    });
    let program = program(&nodes, "f32");
    // In one context it is ordinary state.
    let request = frames(3).per_time("on", vec![false, false, false]);
    assert_eq!(played(&program, &request), ["0.0", "-0.1", "-0.19"]);
    let request = frames(3).per_time("on", vec![false, true, false]);
    let answer = program.run(&request).expect("it runs");
    let failures: Vec<String> = answer.failures.iter().map(ToString::to_string).collect();
    assert_eq!(
        failures,
        [
            "sum: one state is reached with two contexts in one tick: time is -0.9 and 0.1 (at time 1)"
        ]
    );
    // Neither context is the right one, so what reads the state has no value.
    assert!(answer.outputs[0].value.is_none());
    // The tick that failed committed no state.
    let text = "f = convert.to_f32(context.time())\nsum = state.integrate(f)\n\
        earlier = time.shift(sum, by: -0.1)\n\
        y = context.tick() == 1 ? earlier + sum : earlier\n\
        s = simulate(x: f32 = 0, y: f32 = y) -> x: f32 = next {\n  next = x + y + 1\n}\n\
        output y: f32 = y\noutput f: f32 = f\noutput s: f32 = s.x\n";
    let program = Engine::new().load(text.as_bytes()).expect("it compiles");
    for evaluator in
        [&mut millstream_run::Lazy as &mut dyn Evaluator, &mut List::new(), &mut Auto::new()]
    {
        for frame in 0..4 {
            let request = Request::new().frame(frame);
            let answer = program.run_with(evaluator, &request).expect("it runs");
            let has_value = |name: &str| answer.output(name).is_some_and(|it| it.value.is_some());
            let found = ["y", "f", "s"].map(has_value);
            assert_eq!(found, [frame != 1, true, frame != 1], "at frame {frame}");
            let all: Vec<Option<i64>> = answer.failures.iter().map(|it| it.replayed).collect();
            let expected = [vec![], vec![None], vec![Some(1)], vec![Some(1)]];
            assert_eq!(all, expected[frame as usize], "at frame {frame}");
        }
    }
}

#[test]
fn a_failure_beside_state_in_a_scope_is_none_of_outputs_that_do_not_depend_on_it() {
    let text = "input L: list<i32> = [1, 2, 3]\nt = convert.to_i32(context.tick())\n\
        a = list.sum(list.generate(\n  \
        state.feedback(value: t + context.index(), type = \"i32\"), count: 3))\n\
        item = list.get(L, index: t == 2 ? 9 : 0)\n\
        s = simulate(x: i32 = 0, z: i32 = item + a) -> x: i32 = y {\n  y = x + z\n}\n\
        output o: i32 = a\noutput p: i32 = s.x\noutput q: i32 = item + a\n";
    let program = Engine::new().load(text.as_bytes()).expect("it compiles");
    let all = |name: &str| frames(4).output(name);
    let values = ["0", "3", "6", "9"];
    assert_eq!(played(&program, &all("o")), values);
    // The simulation depends on it.
    for (request, at) in [
        (all("p"), vec![None]),
        (Request::new().frame(3).output("p"), vec![Some(2)]),
        (Request::new().frame(3).output("o"), vec![]),
        // The output failed in that frame too, but only there.
        (Request::new().frame(3).output("q"), vec![]),
    ] {
        let answer = program.run(&request).expect("it runs");
        let found: Vec<Option<i64>> = answer.failures.iter().map(|it| it.replayed).collect();
        assert_eq!(found, at, "{request:?}");
    }
}

#[test]
fn a_state_that_reads_itself_through_a_shift_fails_and_comes_to_an_end() {
    let nodes = json!({
        "now": { "type": "context.time" },
        "f": { "type": "convert.to_f32", "in": { "x": { "from": "now.value" } } },
        "sum": { "type": "math.add", "in": { "a": { "from": "y.value" }, "b": { "input": "x" } } },
        "earlier": { "type": "time.shift", "in": { "value": { "from": "sum.value" }, "by": -1 } },
        "y": { "type": "state.feedback", "in": { "value": { "from": "earlier.value" },
            "initial": { "from": "f.value" } } },
        "items": { "type": "list.generate", "in": { "item": { "from": "y.value" }, "count": 2 } },
        "total": { "type": "list.sum", "in": { "list": { "from": "items.value" } } },
        "last": { "type": "state.delay", "set": { "ticks": 1 }, "in": { "value": { "from": "total.value" } } },
    });
    let program = program(&nodes, "f32");
    for request in [frames(2), frames(2).column("x", vec![1.0_f32, 2.0])] {
        for evaluator in [&mut millstream_run::Lazy as &mut dyn Evaluator, &mut Incremental::new()]
        {
            let answer = program.run_with(evaluator, &request).expect("it comes to an end");
            let failures: Vec<String> = answer.failures.iter().map(ToString::to_string).collect();
            assert!(failures[0].contains("in an unlimited number of contexts"), "{failures:?}");
        }
    }
}

#[test]
fn a_long_row_of_states_in_a_loop_is_no_recursion() {
    let n = 3000;
    let mut nodes = json!({
        "i": index(),
        "d0": { "type": "math.add", "in": { "a": { "from": "i.value" }, "b": { "input": "x" } } },
        "y": loop_over(&format!("d{n}.value")),
    });
    for k in 1..=n {
        let before = format!("d{}.value", k - 1);
        nodes[format!("d{k}")] =
            json!({ "type": "state.delay", "in": { "value": { "from": before } } });
    }
    let program = program(&nodes, "list<f32>");
    let request = Request::new().frames(vec![0, 2]).column("x", vec![1.0_f32, 2.0]);
    let answer = program.run(&request).expect("it runs");
    assert!(answer.failures.is_empty());
}

#[test]
fn a_session_keeps_states_inside_loops_from_tick_to_tick_and_across_edits() {
    let document = json!({ "millstream": 2, "fps": 10,
        "inputs": { "n": { "type": "i32", "default": 3 } },
        "outputs": { "y": { "type": "list<f32>", "from": "all.value" } },
        "nodes": {
            "i": index(),
            "rate": { "type": "convert.to_f32", "in": { "x": { "from": "i.value" } } },
            "sum": { "type": "state.integrate", "in": { "rate": { "from": "rate.value" } } },
            "all": loop_over("sum.value"),
        } });
    let mut session =
        Session::open(&Engine::new(), document.to_string().as_bytes()).expect("it opens");
    let shown = |session: &mut Session| {
        let answer = session.get("y").expect("it runs");
        answer.value.as_ref().expect("it has a value").data.get(0).to_string()
    };
    for _ in 0..2 {
        session.tick(&Ask::all()).expect("it ticks");
    }
    assert_eq!(shown(&mut session), "[0.0, 0.2, 0.4]");
    assert_eq!(shown(&mut session), "[0.0, 0.2, 0.4]", "reading is no tick");
    session.settle();
    assert_eq!(shown(&mut session), "[0.0, 0.2, 0.4]", "the optimised plan goes on");
    let rename = json!({ "edit": "rename_node", "node": "sum", "to": "total" });
    session.edit(&serde_json::from_value(rename).expect("an edit")).expect("it fits");
    assert_eq!(shown(&mut session), "[0.0, 0.2, 0.4]", "the state follows its node");
    session.seek(4).expect("it plays on");
    assert_eq!(shown(&mut session), "[0.0, 0.4, 0.8]");
    session.seek(1).expect("it plays from the start");
    assert_eq!(shown(&mut session), "[0.0, 0.1, 0.2]");
}
