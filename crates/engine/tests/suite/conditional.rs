//! Cycles of nodes that switches break for all values of their selectors.

mod constant;
mod equal;
mod generated;
mod in_groups;
mod related;

use millstream::session::{Ask, Session};
use millstream::{Edit, Engine, LogDetail, Request};
use serde_json::{Value as Json, json};

use crate::callbacks::numbers;

fn input(name: &str) -> Json {
    json!({ "input": name })
}

fn from(node: &str) -> Json {
    json!({ "from": format!("{node}.value") })
}

fn switch(condition: &Json, no: &Json, yes: &Json) -> Json {
    json!({ "type": "control.switch", "in": { "condition": condition, "false": no, "true": yes } })
}

fn math(op: &str, a: &Json, b: f32) -> Json {
    json!({ "type": format!("math.{op}"), "in": { "a": a, "b": b } })
}

/// A document of these nodes; each output `n` is the value of the node of this name.
fn document(nodes: &Json, outputs: &[&str]) -> Json {
    let output = |name: &&str| {
        ((*name).to_owned(), json!({ "type": "f32", "from": format!("{name}.value") }))
    };
    let outputs: serde_json::Map<String, Json> = outputs.iter().map(output).collect();
    json!({ "millstream": 2,
        "inputs": { "s": { "type": "bool", "default": false }, "k": { "type": "i32", "default": 0 },
            "x": { "type": "f32", "default": 3 }, "y": { "type": "f32", "default": 5 } },
        "nodes": nodes, "outputs": outputs })
}

/// `p = x + 1`, `q = 10 p`; or if `s` is true the other way round, `q = 10 y`, `p = q + 1`.
fn either_way() -> Json {
    let s = input("s");
    json!({
        "s1": switch(&s, &input("x"), &from("q")),
        "p": math("add", &from("s1"), 1.0),
        "s2": switch(&s, &from("p"), &input("y")),
        "q": math("multiply", &from("s2"), 10.0) })
}

fn run(document: &Json, request: &Request, output: &str) -> Vec<f32> {
    numbers(&Engine::new(), &document.to_string(), request, output)
}

fn error(document: &Json) -> String {
    Engine::new().load(document.to_string().as_bytes()).expect_err("it is wrong").to_string()
}

fn edit(session: &mut Session, json: Json) -> Result<(), String> {
    let edit: Edit = serde_json::from_value(json).expect("an edit");
    session.edit(&edit).map_err(|error| error.to_string())
}

fn value(session: &mut Session, output: &str) -> f32 {
    session.value(output).expect("it runs").expect("it has a value")
}

#[test]
fn each_arm_of_the_switches_breaks_the_cycle() {
    let document = document(&either_way(), &["p", "q"]);
    for (s, p, q) in [(false, 4.0, 40.0), (true, 51.0, 50.0)] {
        let request = Request::new().set("s", s);
        assert_eq!(run(&document, &request, "p"), [p], "{s}");
        assert_eq!(run(&document, &request, "q"), [q], "{s}");
    }
}

#[test]
fn selectors_may_differ_from_element_to_element_and_each_element_is_computed_once() {
    let document = document(&either_way(), &["p", "q"]);
    let request = Request::new()
        .column("s", vec![false, true, true, false, true])
        .column("x", vec![1.0_f32, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(run(&document, &request, "p"), [2.0, 51.0, 51.0, 5.0, 51.0]);
    assert_eq!(run(&document, &request, "q"), [20.0, 50.0, 50.0, 50.0, 50.0]);
    let program = Engine::new().load(document.to_string().as_bytes()).expect("it compiles");
    let request = request.with_log(LogDetail::Counts);
    let answer = program.run_with(&mut millstream::Lazy, &request).expect("it runs");
    let elements = |node: &str| -> u64 {
        let runs = program.runs(&answer);
        let copies = [format!("{node}/0"), format!("{node}/1")];
        let of_node = runs.filter(|run| copies.iter().any(|copy| run.path.as_str() == copy));
        of_node.map(|run| run.entry.elements).sum()
    };
    // If `s` is true, `p` does not vary, and is one element.
    assert_eq!((elements("p"), elements("q")), (3, 3));
}

#[test]
fn what_closes_a_cycle_in_a_case_is_told_with_the_case() {
    let mut nodes = either_way();
    nodes["s2"]["in"]["true"] = from("p");
    let error = error(&document(&nodes, &["p", "q"]));
    let expected =
        "the nodes form a cycle when input `s` is true: `s1` -> `p` -> `s2` -> `q` -> `s1`";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_selector_that_depends_on_the_cycle_breaks_none() {
    let mut nodes = either_way();
    nodes["t"] = json!({ "type": "compare.less", "in": { "a": from("q"), "b": 7 } });
    nodes["s1"]["in"]["condition"] = from("t");
    nodes["s2"]["in"]["condition"] = from("t");
    let error = error(&document(&nodes, &["p", "q"]));
    assert!(error.contains("the nodes form a cycle: `s1` -> `p` -> `s2` -> `q`"), "{error}");
}

#[test]
fn calls_of_closures_give_selectors() {
    let text = "input x: f32\n\
                f = closure positive()\n\
                k = call(f, x: x)\n\
                s = control.switch(k.y, 1.0, t)\n\
                t = control.switch(k.y, s, 2.0)\n\
                output s: f32 = s\n\
                group positive(x: f32) -> y: bool {\n  y = x > 0\n}\n";
    let engine = Engine::new();
    for (x, expected) in [(1.0, 2.0), (-1.0, 1.0)] {
        let request = Request::new().set("x", x);
        assert_eq!(numbers(&engine, text, &request, "s"), [expected], "{x}");
    }
}

#[test]
fn nodes_that_keep_state_cannot_be_copied() {
    let mut nodes = either_way();
    nodes["q"] = json!({ "type": "state.smooth", "in": { "value": from("s2") } });
    let error = error(&document(&nodes, &["p", "q"]));
    assert!(error.contains("that switches cannot break, as `q` keeps state"), "{error}");
}

#[test]
fn nodes_that_evaluate_the_cycle_in_another_context_cannot_be_copied() {
    // The selector may have another value there.
    let refused = |nodes: &Json, groups: &Json| {
        let mut document = document(nodes, &["p", "q"]);
        document["groups"] = groups.clone();
        error(&document)
    };
    let scopes = [
        json!({ "type": "time.shift", "in": { "value": from("s2"), "by": -1 } }),
        json!({ "type": "reduce.sum", "in": { "value": from("s2") } }),
        json!({ "type": "math.expression", "set": { "text": "time.shift(v, -1) * 2" },
            "in": { "v": from("s2") } }),
        json!({ "type": "group", "group": "late", "in": { "v": from("s2") } }),
    ];
    let groups = json!({ "late": {
        "inputs": { "v": { "type": "f32" } },
        "outputs": { "value": { "type": "f32", "from": "t.value" } },
        "nodes": { "t": { "type": "time.shift", "in": { "value": { "input": "v" }, "by": 2 } } } } });
    for scope in scopes {
        let mut nodes = either_way();
        nodes["q"] = scope;
        let error = refused(&nodes, &groups);
        assert!(error.contains("as `q` evaluates a part of it in another context"), "{error}");
    }
    // An input outside of the cycle may be evaluated in another context.
    let mut nodes = either_way();
    nodes["late"] = json!({ "type": "time.shift", "in": { "value": input("x"), "by": from("q") } });
    nodes["before"] = json!({ "type": "time.shift", "in": { "value": input("x"), "by": 1 } });
    nodes["p"]["in"]["b"] = from("before");
    assert_eq!(run(&document(&nodes, &["late"]), &Request::new(), "late"), [3.0]);
    // The same holds for a call in a formula.
    let mut nodes = either_way();
    nodes["p"] = json!({ "type": "math.expression", "set": { "text": "time.shift(x, -1) + v" },
        "in": { "x": input("x"), "v": from("s1") } });
    assert_eq!(run(&document(&nodes, &["p", "q"]), &Request::new(), "q"), [60.0]);
}

#[test]
fn choices_of_several_arms_and_several_selectors_have_a_case_for_each() {
    // `k` selects which of `a`, `b` and `c` has the value of `x`; each next one adds 1, and if `s`
    // is true the last one doubles.
    let choose = |items: [Json; 3]| json!({ "type": "control.choose", "in": { "index": input("k"), "items": items } });
    let nodes = json!({
        "ia": choose([input("x"), from("c"), from("c")]),
        "a": math("add", &from("ia"), 1.0),
        "ib": choose([from("a"), input("x"), from("a")]),
        "b": math("add", &from("ib"), 10.0),
        "ic": choose([from("b"), from("b"), input("x")]),
        "c": switch(&input("s"), &from("ic"), &from("d")),
        "d": math("multiply", &from("ic"), 2.0) });
    let document = document(&nodes, &["a", "b", "c", "d"]);
    for (k, s, a, b, c) in [
        (0, false, 4.0, 14.0, 14.0),
        (0, true, 4.0, 14.0, 28.0),
        (1, false, 14.0, 13.0, 13.0),
        (1, true, 27.0, 13.0, 26.0),
        (2, false, 4.0, 14.0, 3.0),
        (9, true, 7.0, 17.0, 6.0),
        (-3, true, 4.0, 14.0, 28.0),
    ] {
        let request = Request::new().set("k", k).set("s", s);
        for (name, value) in [("a", a), ("b", b), ("c", c)] {
            assert_eq!(run(&document, &request, name), [value], "{name}, {k}, {s}");
        }
    }
    let request = Request::new().column("k", vec![2, 0, 1]).column("s", vec![true, false, true]);
    assert_eq!(run(&document, &request, "a"), [7.0, 4.0, 27.0]);
    assert_eq!(run(&document, &request, "d"), [6.0, 28.0, 26.0]);
}

/// Nodes that each add to the node before or the node after, as a selector of their own says.
fn chain(n: usize) -> Json {
    let mut nodes = serde_json::Map::new();
    let mut inputs = serde_json::Map::new();
    for i in 0..n {
        let s = input(&format!("s{i}"));
        inputs.insert(format!("s{i}"), json!({ "type": "bool", "default": i % 2 == 0 }));
        nodes.insert(format!("up{i}"), switch(&s, &json!(1), &from(&format!("q{i}"))));
        nodes.insert(format!("down{i}"), switch(&s, &from(&format!("q{}", i + 1)), &json!(2)));
    }
    for i in 0..=n {
        let up = if i == 0 { json!(0) } else { from(&format!("up{}", i - 1)) };
        let down = if i == n { json!(0) } else { from(&format!("down{i}")) };
        nodes.insert(format!("q{i}"), json!({ "type": "math.add", "in": { "a": up, "b": down } }));
    }
    let mut document = document(&Json::Object(nodes), &["q0", "q1"]);
    document["inputs"] = Json::Object(inputs);
    document
}

#[test]
fn nodes_that_different_selectors_order_have_cases_of_their_own() {
    let request = Request::new();
    assert_eq!(run(&chain(6), &request, "q1"), [5.0]);
    // Together the selectors have 2^24 cases.
    let long = chain(24);
    assert_eq!(run(&long, &request, "q1"), [5.0]);
    for (s1, expected) in [(true, 3.0), (false, 4.0)] {
        let request = Request::new().set("s1", s1).set("s3", false).set("s4", true);
        let q0 = run(&long, &request.clone().set("s0", false), "q0")[0];
        assert_eq!(q0, expected, "{s1}");
    }
}

#[test]
fn one_selector_among_many_breaks_a_cycle() {
    let load =
        |text: &str| Engine::new().load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let inputs = |n: usize| {
        let inputs = (0..n).map(|i| format!("input s{i}: bool = true\n"));
        format!("input x: f64 = 2\n{}", inputs.collect::<String>())
    };
    // The first selector opens the ring at one of two places.
    let mut ring = inputs(60);
    for i in 0..60 {
        let next = if i < 59 { format!("r{}", i + 1) } else { "z".into() };
        ring += &format!("r{i} = s{i} ? {next} + {i} : x * {i}\n");
    }
    ring += "z = s0 ? x : r0 + 1\noutput z: f64 = z\noutput o: f64 = r0\n";
    let program = load(&ring);
    let value = |request: &Request, name| {
        program.run(request).expect("it runs").value::<f64>(name).expect("a value")
    };
    assert_eq!(value(&Request::new(), "o"), 2.0 + f64::from(59 * 60 / 2));
    let request = Request::new().set("s0", false).set("s3", false);
    assert_eq!([value(&request, "z"), value(&request, "o")], [1.0, 0.0]);
    // The first selector says whether each node reads the one before or the one after.
    let mut chain = inputs(40);
    for i in 0..100_u32 {
        let before = i.checked_sub(1).map_or("x".into(), |at| format!("n{at}"));
        let after = if i < 99 { format!("n{}", i + 1) } else { "x".into() };
        let s = 1 + i % 39;
        let [before, after] = [before, after].map(|it| match i % 2 {
            0 => it,
            _ => format!("(s{s} ? {it} : x)"),
        });
        chain += &format!("n{i} = s0 ? {before} * 0.5 + 1 : {after} * 0.25 + {i}\n");
    }
    chain += "output a: f64 = n0\noutput b: f64 = n99\n";
    let program = load(&chain);
    let value = |request: &Request, name| {
        program.run(request).expect("it runs").value::<f64>(name).expect("a value")
    };
    assert_eq!(value(&Request::new(), "b"), 2.0);
    let expected = (0..100).rev().fold(2.0, |after, i| after * 0.25 + f64::from(i));
    assert_eq!(value(&Request::new().set("s0", false), "a"), expected);
}

#[test]
fn a_search_for_cases_that_takes_too_long_is_given_up() {
    // Two selectors that are equal, with far more terms than bits.
    let pairs = |at: &mut dyn Iterator<Item = usize>| {
        at.map(|i| format!("a{i} && b{i}")).collect::<Vec<_>>().join(" || ")
    };
    let all = (0..20).map(|i| format!("a{i}")).collect::<Vec<_>>().join(" || ");
    let inputs = (0..20).map(|i| format!("input a{i}: bool = true\ninput b{i}: bool = true\n"));
    let inputs = inputs.collect::<Vec<_>>().concat();
    let of = |c: &str, d: &str| {
        format!(
            "{inputs}c = {c}\nd = {d}\np = c ? q + 1 : 3.0\nq = d ? 5.0 : p * 2\noutput q: f32 = q\n"
        )
    };
    let [up, down] = [pairs(&mut (0..20)), pairs(&mut (0..20).rev())];
    let [c, d] = [format!("({all}) && ({up})"), format!("({all}) && ({down})")];
    let text = of(&c, &d);
    let error = Engine::new().load(text.as_bytes()).expect_err("too large").to_string();
    let told = "the nodes form a cycle, and it was given up to find out whether switches break it";
    assert!(error.contains(told), "{error}");
    assert!(error.contains("let fewer selectors decide"), "{error}");
    // One selector for both switches needs no such proof.
    assert!(Engine::new().load(of(&c, "c").as_bytes()).is_ok());
}

#[test]
fn types_are_those_of_all_arms_round_the_cycle() {
    let s = input("s");
    let nodes = |first: &Json, last: &Json| {
        json!({
            "s1": switch(&s, first, &from("n2")),
            "n1": json!({ "type": "math.add", "in": { "a": from("s1"), "b": 1 } }),
            "s2": switch(&s, &from("n1"), last),
            "n2": json!({ "type": "math.divide", "in": { "a": from("s2"), "b": 2 } }) })
    };
    let result = |first: &Json, last: &Json| {
        let mut document = document(&nodes(first, last), &["n2"]);
        document["outputs"]["n2"]["type"] = json!("f64");
        let program = Engine::new().load(document.to_string().as_bytes());
        let program = program.unwrap_or_else(|error| panic!("{error}"));
        let answer = program.run(&Request::new()).expect("it runs");
        answer.value::<f64>("n2").expect("a value")
    };
    // A literal adapts to the source of the other arm, even if that is in the cycle.
    assert_eq!(result(&json!(2), &input("x")), 1.5);
    assert_eq!(result(&input("k"), &input("k")), 0.0);
    // An integer that meets a float in the other case becomes a float.
    assert_eq!(result(&input("k"), &input("x")), 0.5);
    assert_eq!(result(&json!(2), &json!(4)), 1.5);
}

#[test]
fn cycles_in_groups_and_through_them_are_broken() {
    let expected = [(false, 4.0, 40.0), (true, 51.0, 50.0)];
    let face = json!({ "s": { "type": "bool" }, "x": { "type": "f32" }, "y": { "type": "f32" } });
    let out = |name: &str| json!({ "type": "f32", "from": format!("{name}.value") });
    let all = json!({ "s": input("s"), "x": input("x"), "y": input("y") });
    // The whole cycle in a group, in nested groups, and in a node that runs it round by round.
    let mut inside = document(&json!({ "g": { "type": "group", "group": "g", "in": all } }), &[]);
    inside["outputs"] =
        json!({ "p": { "type": "f32", "from": "g.p" }, "q": { "type": "f32", "from": "g.q" } });
    inside["groups"] = json!({ "g": { "inputs": face, "nodes": either_way(),
        "outputs": { "p": out("p"), "q": out("q") } } });
    let mut rounds = inside.clone();
    rounds["groups"]["g"]["outputs"] = json!({ "x": out("p") });
    rounds["outputs"] = json!({ "x": { "type": "f32", "from": "g.x" } });
    rounds["nodes"]["g"]["type"] = json!("repeat");
    rounds["nodes"]["g"]["in"]["count"] = json!(2);
    assert_eq!(run(&rounds, &Request::new(), "x"), [5.0]);
    assert_eq!(run(&rounds, &Request::new().set("s", true), "x"), [51.0]);
    // The node between the switches in a group, which is copied.
    let mut through = document(&either_way(), &["p", "q"]);
    through["nodes"]["p"] = json!({ "type": "group", "group": "more", "in": { "a": from("s1") } });
    through["nodes"]["q"]["in"]["a"] = from("s2");
    through["groups"] = json!({ "more": { "inputs": { "a": { "type": "f32" } },
        "outputs": { "value": out("n") }, "nodes": { "n": math("add", &input("a"), 1.0) } } });
    for document in [inside, through] {
        for (s, p, q) in expected {
            let request = Request::new().set("s", s);
            assert_eq!(run(&document, &request, "p"), [p], "{document}");
            assert_eq!(run(&document, &request, "q"), [q], "{document}");
        }
    }
}

#[test]
fn nodes_on_a_conditional_cycle_may_be_grouped() {
    let text = document(&either_way(), &["p", "q"]).to_string();
    let mut session = Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
    let group =
        |nodes: [&str; 2], name: &str| json!({ "edit": "group", "nodes": nodes, "name": name });
    let edits = [
        group(["s1", "p"], "one"),
        group(["s2", "q"], "other"),
        group(["one", "other"], "both"),
        json!({ "edit": "ungroup", "node": "both" }),
        group(["one", "one"], "outer"),
        json!({ "edit": "ungroup", "node": "other" }),
    ];
    for made in &edits {
        edit(&mut session, made.clone()).unwrap_or_else(|error| panic!("{error}: {made}"));
        let text = millstream_document::save(session.document());
        for (s, p, q) in [(false, 4.0, 40.0), (true, 51.0, 50.0)] {
            session.set("s", s).expect("it is an input");
            assert_eq!((value(&mut session, "p"), value(&mut session, "q")), (p, q), "{text}");
            let request = Request::new().column("s", vec![s, !s]);
            assert_eq!(numbers(&Engine::new(), &text, &request, "p")[0], p, "{text}");
        }
    }
    // Without the switch, the group closes the cycle.
    let set = json!({ "edit": "set_input", "within": "one", "node": "s1", "input": "condition", "to": true });
    let error = edit(&mut session, set).expect_err("a cycle");
    assert!(error.contains("form a cycle"), "{error}");
    for _ in &edits {
        assert!(session.undo());
    }
    assert_eq!(value(&mut session, "p"), 51.0);
}

#[test]
fn edits_that_close_conditional_cycles_are_taken_and_those_that_close_others_are_not() {
    let text = document(&either_way(), &["p", "q"]);
    let mut start = text.clone();
    start["nodes"]["s1"]["in"]["true"] = json!(0);
    let mut session =
        Session::open(&Engine::new(), start.to_string().as_bytes()).expect("it opens");
    let evaluated = session.eval(&Ask::all()).expect("it runs");
    assert!(evaluated.plan().is_none(), "a live graph answers");
    let set = |node: &str, socket: &str, to: Json| json!({ "edit": "set_input", "node": node, "input": socket, "to": to });
    edit(&mut session, set("s1", "true", from("q"))).expect("switches break it");
    for s in [false, true] {
        session.set("s", s).expect("it is an input");
        assert_eq!(value(&mut session, "p"), if s { 51.0 } else { 4.0 });
        assert_eq!(value(&mut session, "q"), if s { 50.0 } else { 40.0 });
    }
    let refused = |session: &mut Session, json: Json, why: &str| {
        let before = millstream_document::save(session.document());
        let error = edit(session, json).expect_err("a cycle");
        assert!(error.contains(why), "{error}");
        assert_eq!(millstream_document::save(session.document()), before);
    };
    let when = "would form a cycle when input `s` is true: `";
    refused(&mut session, set("s2", "true", from("p")), when);
    refused(&mut session, set("s1", "condition", json!(true)), "would form a cycle when ");
    refused(&mut session, json!({ "edit": "mute", "node": "s2", "muted": true }), when);
    edit(&mut session, set("p", "b", json!(2))).expect("it fits");
    assert_eq!(value(&mut session, "p"), 52.0);
    edit(&mut session, json!({ "edit": "rename_node", "node": "s2", "to": "t" })).expect("it fits");
    assert_eq!(value(&mut session, "p"), 52.0);
    session.settle();
    assert_eq!(value(&mut session, "q"), 50.0);
    assert!(session.undo() && session.undo() && session.undo());
    assert_eq!(value(&mut session, "p"), 1.0, "the arm is 0 again");
    assert!(session.redo() && session.redo());
    assert_eq!(value(&mut session, "p"), 52.0);
}

#[test]
fn a_wrong_node_on_the_cycle_leaves_the_rest_its_values() {
    let mut nodes = either_way();
    nodes["p"]["in"]["b"] = json!("text");
    nodes["r"] = math("add", &input("x"), 1.0);
    let document = document(&nodes, &["p", "q", "r"]);
    let mut session =
        Session::open(&Engine::new(), document.to_string().as_bytes()).expect("it opens");
    assert_eq!(value(&mut session, "r"), 4.0);
    assert!(session.value::<f32>("q").is_err());
    edit(&mut session, json!({ "edit": "set_input", "node": "p", "input": "b", "to": 1 }))
        .expect("it fits");
    assert_eq!(value(&mut session, "q"), 40.0);
}

#[test]
fn nodes_on_the_cycle_are_probed_as_they_are_written() {
    let text = document(&either_way(), &["p"]).to_string();
    let mut session = Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
    let mut probed = |s: bool, path: &str| {
        session.set("s", s).expect("it is an input");
        let answer = session.probe(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let value = answer.value.as_ref().map(|series| format!("{:?}", series.data));
        value.expect("a value")
    };
    assert_eq!(probed(true, "q.value"), "One(f32(50.0))");
    assert_eq!(probed(false, "s2.value"), "One(f32(4.0))");
    assert_eq!(probed(true, "s1.true"), "One(f32(50.0))");
}

#[test]
fn both_forms_of_a_document_hold_conditional_cycles() {
    let engine = Engine::new();
    let text = document(&either_way(), &["p", "q"]).to_string();
    let program = engine.load(text.as_bytes()).expect("it compiles");
    let mill = millstream::document::to_text(program.document(), engine.registry());
    let again = engine.load(mill.as_bytes()).unwrap_or_else(|error| panic!("{error}: {mill}"));
    assert_eq!(
        millstream_document::save(again.document()),
        millstream_document::save(program.document()),
        "{mill}"
    );
    let answer = again.run(&Request::new().set("s", true)).expect("it runs");
    assert_eq!(answer.value::<f32>("p"), Some(51.0));
}
