//! Generated documents with cycles, against a model that knows the arms of each case.

use std::collections::{BTreeMap, BTreeSet};

use millstream::session::Session;
use millstream::{Engine, Request};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{document, edit, from, input, math, run, switch, value};

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
    /// By one of the selectors `s`, `k` and `t`, which is `x < y`, or by `u` and `v`, which equal
    /// `t`.
    Switch(u8, Vec<Source>),
    /// A formula that chooses by one of the selectors of truth values, and in its second arm by
    /// another one.
    Formula([u8; 2], [Source; 3]),
    /// A switch by a selector of truth values that is negated, passed on, or read in a group or a
    /// formula, in one of several ways.
    Other(u8, u8, [Source; 2]),
    /// A switch that takes one of its two arms in all cases, written in one of several ways.
    Constant(u8, usize, [Source; 2]),
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
    let by = || prop_oneof![Just(0_u8), 2_u8..5];
    let node = prop_oneof![
        1 => (source(), source()).prop_map(|(a, b)| Made::Add(a, b)),
        1 => source().prop_map(Made::Half),
        4 => (0_u8..5, prop::collection::vec(source(), 3))
            .prop_map(|(by, arms)| Made::Switch(by, arms)),
        3 => ([by(), by()], [source(), source(), source()])
            .prop_map(|(by, arms)| Made::Formula(by, arms)),
        3 => (0_u8..6, by(), [source(), source()])
            .prop_map(|(form, by, arms)| Made::Other(form, by, arms)),
        1 => (0_u8..10, 0..2_usize, [source(), source()])
            .prop_map(|(form, arm, arms)| Made::Constant(form, if form < 2 { 0 } else { arm }, arms)),
    ];
    // Random links hardly ever leave all cycles broken. So in most graphs one selector has an order
    // of the nodes for each of its arms: an arm reads nodes that are earlier in its order, and
    // everything else reads nodes that are earlier in every order.
    let orders = prop::collection::vec(prop::collection::vec(any::<u16>(), n), 3);
    let all = (prop::collection::vec(node, n), orders, 0_u8..3, prop::bool::weighted(0.75));
    all.prop_map(move |(nodes, orders, main, is_ordered)| {
        let reads = |i: usize, arm: Option<usize>, source: Source| {
            let Source::Node(at) = source else { return source };
            let is_earlier = |order: &Vec<u16>, j: usize| (order[j], j) < (order[i], i);
            let all: Vec<usize> = match arm {
                _ if !is_ordered => return source,
                Some(arm) => (0..n).filter(|j| is_earlier(&orders[arm], *j)).collect(),
                None => {
                    (0..n).filter(|j| orders.iter().all(|order| is_earlier(order, *j))).collect()
                }
            };
            if all.is_empty() { Source::X } else { Source::Node(all[at % all.len()]) }
        };
        let ordered = |(i, node)| match node {
            Made::Add(a, b) => Made::Add(reads(i, None, a), reads(i, None, b)),
            Made::Half(a) => Made::Half(reads(i, None, a)),
            Made::Switch(by, arms) => {
                // Most switches have the main selector, or one that equals it.
                let by = match main {
                    _ if !is_ordered => by,
                    2 => by.max(2),
                    _ if by < 4 => main,
                    _ => by,
                };
                let is_main = by == main || main == 2 && by > 2;
                let arms = arms.into_iter().take(if by == 1 { 3 } else { 2 }).enumerate();
                let arms = arms.map(|(k, arm)| reads(i, is_main.then_some(k), arm));
                Made::Switch(by, arms.collect())
            }
            Made::Formula(by, arms) => {
                let is_main = |by: u8| by == main || main == 2 && by > 2;
                let case = |k: usize| match k {
                    0 => is_main(by[0]).then_some(0),
                    _ if is_main(by[0]) => Some(1),
                    _ => is_main(by[1]).then_some(k - 1),
                };
                let reads = |k: usize| reads(i, case(k), arms[k]);
                Made::Formula(by, [reads(0), reads(1), reads(2)])
            }
            Made::Other(form, by, arms) => {
                let by = if is_ordered && main == 0 { 0 } else { by };
                let is_main = by == main || main == 2 && by > 2;
                let reads = |k: usize| reads(i, is_main.then_some(k), arms[k]);
                Made::Other(form, by, [reads(0), reads(1)])
            }
            Made::Constant(form, arm, mut arms) => {
                // The other arm may read any node.
                arms[arm] = reads(i, None, arms[arm]);
                Made::Constant(form, arm, arms)
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
            Self::Switch(by, arms) => switch(&selector(*by), &arms[0].json(), &arms[1].json()),
            Self::Formula([by, inner], arms) => {
                let [no, yes_no, yes_yes] = arms.map(Source::json);
                json!({ "type": "math.expression", "set": { "text": "c ? (!d ? p : q) : o" },
                    "in": { "c": selector(*by), "d": selector(*inner),
                        "o": no, "p": yes_no, "q": yes_yes } })
            }
            Self::Other(form, by, arms) => other(*form, *by, &arms.map(Source::json)),
            Self::Constant(form, arm, arms) => constant(*form, *arm, &arms.map(Source::json)),
        }
    }

    /// The sources that it reads in a case.
    fn reads(&self, (s, k, t): (bool, usize, bool)) -> Vec<Source> {
        match self {
            Self::Add(a, b) => vec![*a, *b],
            Self::Half(a) => vec![*a],
            Self::Switch(0, arms) => vec![arms[usize::from(s)]],
            Self::Switch(1, arms) => vec![arms[k]],
            Self::Switch(_, arms) => vec![arms[usize::from(t)]],
            Self::Formula(by, arms) => {
                let [outer, inner] = by.map(|by| usize::from(if by == 0 { s } else { t }));
                vec![arms[outer * (1 + inner)]]
            }
            Self::Other(_, by, arms) => vec![arms[usize::from(if *by == 0 { s } else { t })]],
            Self::Constant(_, arm, arms) => vec![arms[*arm]],
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
                Made::Switch(..) | Made::Formula(..) | Made::Other(..) | Made::Constant(..) => {
                    read[0]
                }
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
    let less = |text: &str, x: &str, y: &str| {
        let mut inputs = json!({});
        (inputs[y], inputs[x]) = (input("y"), input("x"));
        json!({ "type": "math.expression", "set": { "text": text }, "in": inputs })
    };
    json.insert("t".into(), less("a < b", "a", "b"));
    json.insert("u".into(), less("p < q", "p", "q"));
    json.insert("v".into(), less("q < p", "q", "p"));
    let not = |x: &str| json!({ "type": "boolean.not", "in": { "x": from(x) } });
    let flip = |c: &Json| json!({ "type": "group", "group": "flip", "in": { "c": c } });
    for (name, selector) in [("s", input("s")), ("t", from("t"))] {
        json.insert(
            format!("not_{name}"),
            json!({ "type": "boolean.not", "in": { "x": selector } }),
        );
        json.insert(format!("flipped_{name}"), flip(&selector));
        json.insert(format!("same_{name}"), flip(&from(&format!("flipped_{name}"))));
    }
    json.insert("true".into(), less("true", "", ""));
    json["true"]["in"] = json!({});
    json.insert("never".into(), not("true"));
    json.insert("always".into(), not("never"));
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let mut document = document(&Json::Object(json), &names);
    document["groups"] = groups();
    document
}

/// The selector of this number.
fn selector(by: u8) -> Json {
    if by == 0 { input("s") } else { from(["t", "u", "v"][by as usize - 2]) }
}

/// A switch by a selector, written in one of several ways.
fn other(form: u8, by: u8, [no, yes]: &[Json; 2]) -> Json {
    let changed = |how: &str| from(&format!("{how}_{}", if by == 0 { "s" } else { "t" }));
    let formula = |text: &str, c: &Json| {
        json!({ "type": "math.expression", "set": { "text": text },
            "in": { "c": c, "no": no, "yes": yes } })
    };
    let call = |c: &Json, no: &Json, yes: &Json| json!({ "type": "group", "group": "other", "in": { "c": c, "no": no, "yes": yes } });
    match form {
        0 => switch(&changed("not"), yes, no),
        1 => formula("1.0 * control.switch(c, no, true: yes)", &selector(by)),
        2 => formula("c ? no : yes", &changed("flipped")),
        3 => call(&selector(by), no, yes),
        4 => call(&changed("not"), yes, no),
        _ => switch(&changed("same"), no, yes),
    }
}

/// A switch that takes this arm in all cases.
fn constant(form: u8, arm: usize, arms: &[Json; 2]) -> Json {
    let [no, yes] = arms;
    let call =
        |name: &str| json!({ "type": "group", "group": name, "in": { "no": no, "yes": yes } });
    match form {
        0 => {
            let item =
                |arm: &Json| if arm.is_number() { json!({ "value": arm }) } else { arm.clone() };
            json!({ "type": "control.choose", "in": { "items": [item(no), item(yes)] } })
        }
        1 => {
            let mut muted = switch(&input("s"), no, yes);
            muted["muted"] = json!(true);
            muted
        }
        2 => switch(&json!(arm == 1), no, yes),
        3 => call(["first", "second"][arm]),
        4 => call(["first by default", "second by default"][arm]),
        5..=8 => {
            let formula = |text: &str, mut inputs: Json| {
                (inputs["no"], inputs["yes"]) = (no.clone(), yes.clone());
                json!({ "type": "math.expression", "set": { "text": text }, "in": inputs })
            };
            match form {
                5 => formula(["false ? yes : no", "!false ? yes : no"][arm], json!({})),
                6 => formula("c ? yes : no", json!({ "c": arm == 1 })),
                7 => formula("c ? yes : no", json!({ "c": from(["never", "always"][arm]) })),
                _ => switch(&from(["never", "always"][arm]), no, yes),
            }
        }
        _ => {
            let mut given = call("first by default");
            given["in"]["s"] = json!(arm == 1);
            given
        }
    }
}

/// Groups that pass on the first or the second of their inputs, one that negates, and one with a
/// switch by a selector that is negated twice.
fn groups() -> Json {
    let not =
        |of: Json| json!({ "type": "math.expression", "set": { "text": "!a" }, "in": { "a": of } });
    let mut groups = json!({
        "flip": { "inputs": { "c": { "type": "bool" } },
            "outputs": { "value": { "type": "bool", "from": "n.value" } },
            "nodes": { "p": { "type": "control.pass", "in": { "value": input("c") } },
                "n": not(from("p")) } },
        "other": { "inputs": { "c": { "type": "bool" }, "no": { "type": "f32" },
                "yes": { "type": "f32" } },
            "outputs": { "value": { "type": "f32", "from": "n.value" } },
            "nodes": { "flipped": { "type": "group", "group": "flip", "in": { "c": input("c") } },
                "n": switch(&from("flipped"), &input("yes"), &input("no")) } } });
    let face = json!({ "no": { "type": "f32" }, "yes": { "type": "f32" } });
    for (name, s) in [("first", false), ("second", true)] {
        let mut with_s = face.clone();
        with_s["s"] = json!({ "type": "bool", "default": s });
        let by_default = format!("{name} by default");
        let outputs = json!({ "value": { "type": "f32", "from": "n.value" } });
        groups[&by_default] = json!({ "inputs": with_s, "outputs": outputs,
            "nodes": { "n": switch(&input("s"), &input("no"), &input("yes")) } });
        let inner = json!({ "type": "group", "group": by_default,
            "in": { "no": input("no"), "yes": input("yes") } });
        groups[name] = json!({ "inputs": face, "outputs": outputs, "nodes": { "n": inner } });
    }
    groups
}

/// Checks a document against the model; returns whether it has a conditional cycle.
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

/// Links the nodes one by one; an edit is accepted if the resulting document is right.
fn link(nodes: &[Made]) {
    let engine = Engine::new();
    let empty: Vec<Made> = nodes
        .iter()
        .map(|node| match node {
            Made::Add(..) => Made::Add(Source::X, Source::Y),
            Made::Half(_) => Made::Half(Source::X),
            Made::Switch(by, arms) => Made::Switch(*by, vec![Source::X; arms.len()]),
            Made::Formula(by, _) => Made::Formula(*by, [Source::X; 3]),
            Made::Other(form, by, _) => Made::Other(*form, *by, [Source::X; 2]),
            Made::Constant(form, arm, _) => Made::Constant(*form, *arm, [Source::X; 2]),
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
    // Any nodes may be grouped, including groups.
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
        cases: 300,
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
