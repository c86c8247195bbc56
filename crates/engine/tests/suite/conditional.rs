//! Cycles of nodes that switches break, whatever their selectors give.

use std::collections::{BTreeMap, BTreeSet};

use millstream::session::{Ask, Session};
use millstream::{Edit, Engine, LogDetail, Request};
use proptest::prelude::*;
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

/// `p = x + 1`, `q = 10 p`; or with `s` the other way round, `q = 10 y`, `p = q + 1`.
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
    // With `s`, `p` does not vary, and is one element.
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
fn nodes_that_keep_state_cannot_be_copied() {
    let mut nodes = either_way();
    nodes["q"] = json!({ "type": "state.smooth", "in": { "value": from("s2") } });
    let error = error(&document(&nodes, &["p", "q"]));
    assert!(error.contains("that switches cannot break, as `q` keeps state"), "{error}");
}

#[test]
fn choices_of_several_arms_and_several_selectors_have_a_case_for_each() {
    // By `k` the first of `a`, `b` and `c` has the value of `x`, and each next one adds 1; with `s`
    // the last one doubles.
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

/// Nodes of which each adds the one before or the one after, as a selector of its own says.
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
fn a_cycle_has_a_limited_number_of_cases() {
    assert_eq!(run(&chain(6), &Request::new(), "q1"), [5.0]);
    let error = error(&chain(7));
    assert!(error.contains("that switches break only in more than 64 cases"), "{error}");
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
    // A literal adapts to what is linked to the other arm, also where that is the cycle.
    assert_eq!(result(&json!(2), &input("x")), 1.5);
    assert_eq!(result(&input("k"), &input("k")), 0.0);
    // An integer that meets a number in the other case is no integer.
    assert_eq!(result(&input("k"), &input("x")), 0.5);
    assert_eq!(result(&json!(2), &json!(4)), 1.5);
}

#[test]
fn cycles_in_groups_and_through_them_are_broken() {
    let expected = [(false, 4.0, 40.0), (true, 51.0, 50.0)];
    let face = json!({ "s": { "type": "bool" }, "x": { "type": "f32" }, "y": { "type": "f32" } });
    let out = |name: &str| json!({ "type": "f32", "from": format!("{name}.value") });
    let all = json!({ "s": input("s"), "x": input("x"), "y": input("y") });
    // The whole cycle in a group, in a group, and in a node that runs it round by round.
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
    refused(
        &mut session,
        json!({ "edit": "mute", "node": "s1", "muted": true }),
        "would form a cycle",
    );
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

/// The source of a socket of a generated node.
#[derive(Clone, Copy, Debug)]
enum Source {
    X,
    Y,
    Number(u8),
    Node(usize),
}

#[derive(Clone, Debug)]
enum Made {
    Add(Source, Source),
    Half(Source),
    /// By one of the selectors `s`, `k` and `t`, which is `x < y`.
    Switch(u8, Vec<Source>),
}

fn made(n: usize) -> impl Strategy<Value = Vec<Made>> {
    let source = move || {
        prop_oneof![
            1 => Just(Source::X),
            1 => Just(Source::Y),
            1 => (0_u8..9).prop_map(Source::Number),
            6 => (0..n).prop_map(Source::Node),
        ]
    };
    let node = prop_oneof![
        (source(), source()).prop_map(|(a, b)| Made::Add(a, b)),
        source().prop_map(Made::Half),
        (0_u8..3, prop::collection::vec(source(), 3)).prop_map(|(by, mut arms)| {
            arms.truncate(if by == 1 { 3 } else { 2 });
            Made::Switch(by, arms)
        }),
        (0_u8..3, prop::collection::vec(source(), 3)).prop_map(|(by, mut arms)| {
            arms.truncate(if by == 1 { 3 } else { 2 });
            Made::Switch(by, arms)
        }),
    ];
    // Random links hardly ever leave all cycles broken. So in most graphs one selector has an order
    // of the nodes for each of its arms: an arm reads what is earlier in its order, and all else
    // what is earlier in each of them.
    let orders = prop::collection::vec(prop::collection::vec(any::<u16>(), n), 3);
    let all = (prop::collection::vec(node, n), orders, 0_u8..3, prop::bool::weighted(0.75));
    all.prop_map(move |(nodes, orders, main, is_ordered)| {
        let reads = |i: usize, arm: Option<usize>, source: Source| {
            let is_earlier = |order: &Vec<u16>, j: usize| (order[j], j) < (order[i], i);
            match (source, arm) {
                _ if !is_ordered => source,
                (Source::Node(j), Some(arm)) if is_earlier(&orders[arm], j) => source,
                (Source::Node(j), None) if orders.iter().all(|it| is_earlier(it, j)) => source,
                (Source::Node(_), _) => Source::X,
                _ => source,
            }
        };
        let ordered = |(i, node)| match node {
            Made::Add(a, b) => Made::Add(reads(i, None, a), reads(i, None, b)),
            Made::Half(a) => Made::Half(reads(i, None, a)),
            Made::Switch(by, arms) => {
                let arms = arms.into_iter().enumerate();
                let arms = arms.map(|(k, arm)| reads(i, (by == main).then_some(k), arm));
                Made::Switch(by, arms.collect())
            }
        };
        nodes.into_iter().enumerate().map(ordered).collect()
    })
}

impl Source {
    fn json(self) -> Json {
        match self {
            Self::X => input("x"),
            Self::Y => input("y"),
            Self::Number(n) => json!(f32::from(n) + 0.5),
            Self::Node(i) => from(&format!("n{i}")),
        }
    }
}

impl Made {
    fn json(&self) -> Json {
        match self {
            Self::Add(a, b) => {
                json!({ "type": "math.add", "in": { "a": a.json(), "b": b.json() } })
            }
            Self::Half(a) => math("multiply", &a.json(), 0.5),
            Self::Switch(1, arms) => {
                let item = |arm: &Source| match arm.json() {
                    Json::Number(number) => json!({ "value": number }),
                    source => source,
                };
                let items: Vec<Json> = arms.iter().map(item).collect();
                json!({ "type": "control.choose", "in": { "index": input("k"), "items": items } })
            }
            Self::Switch(by, arms) => {
                let by = if *by == 0 { input("s") } else { from("t") };
                switch(&by, &arms[0].json(), &arms[1].json())
            }
        }
    }

    /// What it reads in a case.
    fn reads(&self, (s, k, t): (bool, usize, bool)) -> Vec<Source> {
        match self {
            Self::Add(a, b) => vec![*a, *b],
            Self::Half(a) => vec![*a],
            Self::Switch(0, arms) => vec![arms[usize::from(s)]],
            Self::Switch(1, arms) => vec![arms[k]],
            Self::Switch(_, arms) => vec![arms[usize::from(t)]],
        }
    }
}

/// The values of all nodes; `None` if some form a cycle.
fn model(nodes: &[Made], (x, y): (f32, f32), case: (bool, usize, bool)) -> Option<Vec<f32>> {
    let mut known: BTreeMap<usize, f32> = BTreeMap::new();
    while known.len() < nodes.len() {
        let n_before = known.len();
        for (i, node) in nodes.iter().enumerate() {
            let value = |source: Source| match source {
                Source::X => Some(x),
                Source::Y => Some(y),
                Source::Number(n) => Some(f32::from(n) + 0.5),
                Source::Node(i) => known.get(&i).copied(),
            };
            let read: Option<Vec<f32>> = node.reads(case).into_iter().map(value).collect();
            let Some(read) = read else { continue };
            let made = match node {
                Made::Add(..) => read[0] + read[1],
                Made::Half(_) => read[0] * 0.5,
                Made::Switch(..) => read[0],
            };
            known.insert(i, made);
        }
        if known.len() == n_before {
            return None;
        }
    }
    Some(known.into_values().collect())
}

fn cases() -> impl Iterator<Item = (bool, usize, bool)> {
    let of_s = |s| (0..3).flat_map(move |k| [false, true].map(|t| (s, k, t)));
    [false, true].into_iter().flat_map(of_s)
}

/// Whether nodes form a cycle if all arms count.
fn is_cyclic(nodes: &[Made]) -> bool {
    let mut left: BTreeSet<usize> = (0..nodes.len()).collect();
    loop {
        let waits = |i: &usize| {
            let all = cases().flat_map(|case| nodes[*i].reads(case));
            all.into_iter().any(|it| matches!(it, Source::Node(j) if left.contains(&j)))
        };
        let next: BTreeSet<usize> = left.iter().copied().filter(waits).collect();
        if next.len() == left.len() {
            return !left.is_empty();
        }
        left = next;
    }
}

fn generated(nodes: &[Made]) -> Json {
    let names: Vec<String> = (0..nodes.len()).map(|i| format!("n{i}")).collect();
    let mut json: serde_json::Map<String, Json> =
        names.iter().cloned().zip(nodes.iter().map(Made::json)).collect();
    json.insert(
        "t".into(),
        json!({ "type": "compare.less", "in": { "a": input("x"), "b": input("y") } }),
    );
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    document(&Json::Object(json), &names)
}

/// Checks a document against the model; says whether it has a conditional cycle.
fn check(nodes: &[Made]) -> bool {
    let document = generated(nodes);
    let is_right = cases().all(|case| model(nodes, (0.0, 0.0), case).is_some());
    let loaded = Engine::new().load(document.to_string().as_bytes());
    if !is_right {
        let error = loaded.expect_err("there is a cycle").to_string();
        assert!(error.contains("form a cycle"), "{error}: {document}");
        return false;
    }
    loaded.unwrap_or_else(|error| panic!("{error}: {document}"));
    let all: Vec<(bool, usize, bool)> = cases().collect();
    let xs: Vec<f32> = (0..all.len()).map(|i| i as f32 + 1.0).collect();
    let ys: Vec<f32> =
        xs.iter().zip(&all).map(|(x, (.., t))| if *t { x + 2.0 } else { x - 2.0 }).collect();
    let request = Request::new()
        .column("x", xs.clone())
        .column("y", ys.clone())
        .column("s", all.iter().map(|case| case.0).collect::<Vec<_>>())
        .column("k", all.iter().map(|case| case.1 as i32).collect::<Vec<_>>());
    for i in 0..nodes.len() {
        let expected: Vec<f32> = (0..all.len())
            .map(|at| model(nodes, (xs[at], ys[at]), all[at]).expect("there is no cycle")[i])
            .collect();
        assert_eq!(run(&document, &request, &format!("n{i}")), expected, "n{i} of {document}");
        let at = i % all.len();
        let one = Request::new().set("x", xs[at]).set("y", ys[at]);
        let one = one.set("s", all[at].0).set("k", all[at].1 as i32);
        assert_eq!(run(&document, &one, &format!("n{i}")), [expected[at]], "n{i} of {document}");
    }
    is_cyclic(nodes)
}

/// Links the nodes one by one: each edit is taken if the document that results is right.
fn link(nodes: &[Made]) {
    let engine = Engine::new();
    let empty: Vec<Made> = nodes
        .iter()
        .map(|node| match node {
            Made::Add(..) => Made::Add(Source::X, Source::Y),
            Made::Half(_) => Made::Half(Source::X),
            Made::Switch(by, arms) => Made::Switch(*by, vec![Source::X; arms.len()]),
        })
        .collect();
    let (mut now, start) = (empty.clone(), generated(&empty).to_string());
    let mut session = Session::open(&engine, start.as_bytes()).expect("it opens");
    let before = millstream_document::save(session.document());
    let mut n_edits = 0;
    for (i, node) in nodes.iter().enumerate() {
        let mut next = now.clone();
        next[i] = node.clone();
        let is_right = cases().all(|case| model(&next, (0.0, 0.0), case).is_some());
        let inputs = node.json()["in"].clone();
        let edits: Vec<Json> = inputs
            .as_object()
            .expect("sockets")
            .iter()
            .map(|(socket, to)| json!({ "edit": "set_input", "node": format!("n{i}"), "input": socket, "to": to }))
            .collect();
        let made = edit(&mut session, json!({ "edit": "batch", "edits": edits }));
        assert_eq!(made.is_ok(), is_right, "{made:?}: {}", generated(&next));
        if is_right {
            now = next;
            n_edits += 1;
        }
        let expected = model(&now, (3.0, 5.0), (false, 0, true)).expect("there is no cycle");
        for (i, expected) in expected.iter().enumerate() {
            assert_eq!(value(&mut session, &format!("n{i}")), *expected, "{}", generated(&now));
        }
    }
    // Any nodes may be grouped, and groups of them.
    let mut names: Vec<String> = (0..nodes.len()).map(|i| format!("n{i}")).collect();
    while names.len() > 1 {
        let pair: Vec<String> = names.drain(..2).collect();
        let name = format!("g{n_edits}");
        let made = json!({ "edit": "group", "nodes": pair, "name": name });
        let text = millstream_document::save(session.document());
        edit(&mut session, made).unwrap_or_else(|error| panic!("{error}: {pair:?} of {text}"));
        (n_edits, names) = (n_edits + 1, [names, vec![name]].concat());
        let text = millstream_document::save(session.document());
        engine.load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
        let expected = model(&now, (3.0, 5.0), (false, 0, true)).expect("there is no cycle");
        for (i, expected) in expected.iter().enumerate() {
            assert_eq!(value(&mut session, &format!("n{i}")), *expected, "n{i} of {text}");
        }
    }
    for _ in 0..n_edits {
        assert!(session.undo());
    }
    assert_eq!(millstream_document::save(session.document()), before);
    assert_eq!(
        value(&mut session, "n0"),
        model(&empty, (3.0, 5.0), (false, 0, true)).expect("none")[0]
    );
}

#[test]
fn generated_cycles_have_the_values_of_a_model() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 150,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let n_conditional = std::cell::Cell::new(0);
    let result = runner.run(&made(6), |nodes| {
        n_conditional.set(n_conditional.get() + usize::from(check(&nodes)));
        link(&nodes);
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(n_conditional.get() >= 10, "only {} have conditional cycles", n_conditional.get());
}
