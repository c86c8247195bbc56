//! Documents with wrong parts: everything that does not depend on these has values, in live graphs
//! and plans.

use millstream::session::{Ask, Session, SessionError};
use millstream::{Edit, Engine};
use serde_json::{Value as Json, json};

/// A session of a document; if it has state plans answer, else a live graph.
fn session(mut document: Json, keeps_state: bool) -> Session {
    document["millstream"] = json!(2);
    if keeps_state {
        document["nodes"]["count"] = json!({ "type": "state.counter" });
        document["outputs"]["n"] = json!({ "type": "i32", "from": "count.value" });
    }
    let opened = Session::open(&Engine::new(), document.to_string().as_bytes());
    opened.unwrap_or_else(|error| panic!("{error}: {document}"))
}

fn edit(session: &mut Session, json: &Json) {
    let edit: Edit = serde_json::from_value(json.clone()).expect("an edit");
    session.edit(&edit).unwrap_or_else(|error| panic!("{error}: {json}"));
}

/// The value of an output, which the session and a new one agree on; `None` if it has none.
fn value(session: &mut Session, output: &str) -> Option<f32> {
    let told = |session: &mut Session| match session.value::<f32>(output) {
        Ok(value) => Some(value.expect("nothing fails")),
        Err(SessionError::Broken { .. }) => None,
        Err(error) => panic!("{error}"),
    };
    let text = millstream_document::save(session.document());
    let mut fresh = Session::open(&Engine::new(), text.as_bytes()).expect("what is saved loads");
    let (mine, its) = (told(session), told(&mut fresh));
    assert_eq!(mine, its, "{text}");
    fresh.settle();
    assert_eq!(mine, told(&mut fresh), "optimised: {text}");
    let problems = |session: &Session| session.problems().to_string();
    assert_eq!(problems(session), problems(&fresh), "{text}");
    mine
}

fn add(a: &Json, b: f32) -> Json {
    json!({ "type": "math.add", "in": { "a": a, "b": b } })
}

/// A document with one use of the group `g`, all of whose inputs come from `x`.
fn using(groups: &Json) -> Json {
    let inputs: serde_json::Map<String, Json> = (groups["g"]["inputs"].as_object())
        .expect("it has inputs")
        .keys()
        .map(|name| (name.clone(), json!({ "input": "x" })))
        .collect();
    let outputs: serde_json::Map<String, Json> = (groups["g"]["outputs"].as_object())
        .expect("it has outputs")
        .keys()
        .map(|name| (name.clone(), json!({ "type": "f32", "from": format!("k.{name}") })))
        .collect();
    json!({ "inputs": { "x": { "type": "f32", "default": 3 } }, "outputs": outputs,
        "nodes": { "k": { "type": "group", "group": "g", "in": inputs } }, "groups": groups })
}

#[test]
fn outputs_of_a_group_that_do_not_depend_on_what_is_wrong_in_it_have_values() {
    let p = json!({ "input": "p" });
    let inputs = json!({ "p": { "type": "f32" } });
    let (good, bad) =
        (json!({ "type": "f32", "from": "a.value" }), json!({ "type": "f32", "from": "w.value" }));
    let sin = json!({ "type": "math.sin", "in": { "x": p } });
    let both = json!({ "g": { "inputs": inputs, "outputs": { "good": good, "bad": bad },
        "nodes": { "a": add(&p, 1.0), "w": sin,
            "s": { "type": "string.from_number", "in": { "number": p } } } } });
    let unread = json!({ "g": { "inputs": inputs, "outputs": { "good": good },
        "nodes": { "a": add(&p, 1.0), "w": sin } } });
    let nested = json!({
        "i": { "inputs": inputs, "outputs": { "o": bad }, "nodes": { "w": sin } },
        "g": { "inputs": inputs, "outputs": { "good": good, "bad": { "type": "f32", "from": "u.o" } },
            "nodes": { "a": add(&p, 1.0),
                "u": { "type": "group", "group": "i", "in": { "p": p } } } } });
    let set = |within: &str, to: Json| json!({ "edit": "set_input", "within": within, "node": "w", "input": "x", "to": to });
    let other_type = |within: &str| {
        json!({ "edit": "replace_type", "within": within, "node": "w",
            "kind": { "type": "vector.combine_vec3" } })
    };
    let cases = [
        (&both, set("g", json!({ "from": "s.value" }))),
        (&both, other_type("g")),
        (&unread, set("g", json!("text"))),
        (&nested, set("i", json!("text"))),
        (&nested, other_type("i")),
    ];
    for (groups, wrong) in cases {
        for keeps_state in [false, true] {
            let mut it = session(using(groups), keeps_state);
            let has_bad = groups["g"]["outputs"].get("bad").is_some();
            let right = has_bad.then(|| value(&mut it, "bad").expect("all is right"));
            edit(&mut it, &wrong);
            assert!(it.problems().has_errors());
            assert_eq!(value(&mut it, "good"), Some(4.0), "{wrong}");
            assert_eq!(it.probe("k/a.value").expect("it is right").ty, millstream::Type::F32);
            if has_bad {
                assert_eq!(value(&mut it, "bad"), None, "{wrong}");
            }
            // A second use, which is then enclosed in another group.
            let second = json!({ "edit": "add_nodes", "nodes": [{ "name": "k2", "node":
                { "type": "group", "group": "g", "in": { "p": { "from": "k.good" } } } }] });
            edit(&mut it, &second);
            let read = json!({ "edit": "change_output", "name": "good",
                "def": { "type": "f32", "from": "k2.good" } });
            edit(&mut it, &read);
            assert_eq!(value(&mut it, "good"), Some(5.0), "{wrong}");
            edit(&mut it, &json!({ "edit": "group", "nodes": ["k", "k2"], "name": "around" }));
            assert_eq!(value(&mut it, "good"), Some(5.0), "{wrong}");
            while it.undo() {}
            if let Some(right) = right {
                assert_eq!(value(&mut it, "bad"), Some(right), "{wrong}");
            }
        }
    }
}

#[test]
fn outputs_of_a_use_that_do_not_depend_on_what_is_wrong_at_one_of_its_sockets_have_values() {
    let (p, q) = (json!({ "input": "p" }), json!({ "input": "q" }));
    let inputs = json!({ "p": { "type": "f32" }, "q": { "type": "f32" } });
    let (good, bad) =
        (json!({ "type": "f32", "from": "a.value" }), json!({ "type": "f32", "from": "w.value" }));
    let groups = json!({
        "g": { "inputs": inputs, "outputs": { "good": { "type": "f32", "from": "i.good" },
                "bad": { "type": "f32", "from": "i.bad" } },
            "nodes": { "i": { "type": "group", "group": "h", "in": { "p": p, "q": q } } } },
        "h": { "inputs": inputs, "outputs": { "good": good, "bad": bad },
            "nodes": { "a": add(&p, 1.0), "w": add(&q, 2.0) } } });
    for keeps_state in [false, true] {
        let mut document = using(&groups);
        document["nodes"]["k2"] = document["nodes"]["k"].clone();
        document["outputs"]["whole"] = json!({ "type": "f32", "from": "k2.bad" });
        let mut it = session(document, keeps_state);
        assert_eq!(value(&mut it, "bad"), Some(5.0));
        let set = |to: Json| json!({ "edit": "set_input", "node": "k", "input": "q", "to": to });
        edit(&mut it, &set(json!("text")));
        assert_eq!(value(&mut it, "good"), Some(4.0));
        assert_eq!(value(&mut it, "bad"), None);
        assert_eq!(value(&mut it, "whole"), Some(5.0), "the other use is right");
        assert!(it.probe("k/i/w.value").is_err() && it.probe("k2/i/w.value").is_ok());
        edit(&mut it, &json!({ "edit": "mute", "node": "k", "muted": true }));
        assert_eq!(value(&mut it, "good"), None);
        edit(&mut it, &json!({ "edit": "mute", "node": "k", "muted": false }));
        edit(&mut it, &set(json!(7)));
        assert_eq!((value(&mut it, "good"), value(&mut it, "bad")), (Some(4.0), Some(9.0)));
    }
}

#[test]
fn what_is_muted_passes_on_whatever_is_wrong_in_its_group() {
    let p = json!({ "input": "p" });
    let groups = json!({ "g": { "inputs": { "p": { "type": "f32" } },
        "outputs": { "good": { "type": "f32", "from": "a.value" } },
        "nodes": { "a": add(&p, 1.0) } } });
    for keeps_state in [false, true] {
        let mut it = session(using(&groups), keeps_state);
        edit(&mut it, &json!({ "edit": "mute", "node": "k", "muted": true }));
        assert_eq!(value(&mut it, "good"), Some(3.0));
        let wrong =
            json!({ "edit": "set_input", "within": "g", "node": "a", "input": "b", "to": "text" });
        edit(&mut it, &wrong);
        assert_eq!(value(&mut it, "good"), Some(3.0));
        edit(&mut it, &json!({ "edit": "mute", "node": "k", "muted": false }));
        assert_eq!(value(&mut it, "good"), None);
    }
}

/// A right output and a wrong one, which comes from a node `b` that adds.
fn two_outputs(nodes: &[(&str, Json)], groups: &Json) -> Json {
    let x = json!({ "input": "x" });
    let mut document = json!({ "inputs": { "x": { "type": "f32", "default": 3 } },
        "outputs": { "good": { "type": "f32", "from": "a.value" },
            "bad": { "type": "f32", "from": "b.value" } },
        "nodes": { "a": add(&x, 1.0), "b": add(&x, 2.0) }, "groups": groups });
    for (name, node) in nodes {
        document["nodes"][*name] = node.clone();
    }
    document
}

/// Checks that `good` has its value and `bad` has none.
fn only_good(it: &mut Session) {
    assert!(value(it, "good").is_some_and(|value| value == 4.0), "{}", it.problems());
    assert_eq!(value(it, "bad"), None);
    assert!(it.problems().has_errors());
    it.probe("a.value").expect("it is right");
    it.settle();
    assert_eq!(value(it, "good"), Some(4.0));
}

#[test]
fn a_document_that_is_wrong_when_it_is_opened_is_live() {
    let nobody = json!({ "type": "math.add", "in": { "a": { "from": "nobody.value" }, "b": 1 } });
    let mut it = session(two_outputs(&[("b", nobody)], &json!({})), false);
    only_good(&mut it);
    let live = |it: &mut Session, output: &str| {
        let evaluated = it.eval(&Ask::output(output)).expect("it is right");
        assert!(evaluated.plan().is_none(), "a live graph answers");
        evaluated.answer.value::<f32>(output)
    };
    assert_eq!(live(&mut it, "good"), Some(4.0));
    let mended = json!({ "edit": "set_input", "node": "b", "input": "a", "to": { "input": "x" } });
    edit(&mut it, &mended);
    assert_eq!((live(&mut it, "good"), live(&mut it, "bad")), (Some(4.0), Some(4.0)));
    assert!(it.undo());
    only_good(&mut it);
}

#[test]
fn what_cannot_be_planned_takes_only_what_depends_on_it() {
    let x = json!({ "input": "x" });
    let link =
        |to: &str| json!({ "edit": "set_input", "node": "b", "input": "a", "to": { "from": to } });
    // A reduction over the elements around a repeat.
    let groups = json!({
        "rounds": { "inputs": { "x": { "type": "f32" } },
            "outputs": { "x": { "type": "f32", "from": "m.value" } },
            "nodes": { "m": { "type": "math.add", "in": { "a": x, "b": 2 } } } },
        "outer": { "inputs": { "x": { "type": "f32" } },
            "outputs": { "x": { "type": "f32", "from": "r.x" } },
            "nodes": { "r": { "type": "repeat", "group": "rounds", "in": { "x": x, "count": 2 } } } } });
    for node in [
        json!({ "type": "repeat", "group": "rounds", "in": { "x": x, "count": 2 } }),
        json!({ "type": "group", "group": "outer", "in": { "x": x } }),
    ] {
        let document = two_outputs(&[("r", node)], &groups);
        let mut it = session(document, false);
        edit(&mut it, &link("r.x"));
        assert_eq!((value(&mut it, "good"), value(&mut it, "bad")), (Some(4.0), Some(9.0)));
        let replaced = json!({ "edit": "replace_type", "within": "rounds", "node": "m",
            "kind": { "type": "reduce.sum" } });
        edit(&mut it, &replaced);
        let to = json!({ "edit": "set_input", "within": "rounds", "node": "m", "input": "value", "to": x });
        edit(&mut it, &to);
        only_good(&mut it);
        let told = it.problems().to_string();
        assert!(told.contains("r: the group `rounds` that it runs needs the extent"), "{told}");
        assert!(it.undo() && it.undo());
        assert_eq!(value(&mut it, "bad"), Some(9.0));
    }
    // Features with one name and two types.
    let feature = |name: &str, ty: &str| json!({ "type": "context.feature", "set": { "name": name, "type": ty } });
    let one = ("f", feature("m", "f32"));
    let mut it = session(two_outputs(&[one, ("g", feature("k", "f32"))], &json!({})), true);
    let replaced = json!({ "edit": "set_setting", "node": "g", "setting": "name", "to": "m" });
    edit(&mut it, &replaced);
    edit(&mut it, &json!({ "edit": "set_setting", "node": "g", "setting": "type", "to": "i32" }));
    edit(&mut it, &link("g.value"));
    only_good(&mut it);
}

#[test]
fn more_features_than_there_may_be_take_what_reads_them() {
    let mut it = session(two_outputs(&[], &json!({})), false);
    let mut nodes = Vec::new();
    for i in 0..70 {
        let read =
            json!({ "type": "context.feature", "set": { "name": format!("w{i}"), "type": "f32" } });
        nodes.push(json!({ "name": format!("q{i}"), "node": read }));
        let before = if i == 0 { json!(0) } else { json!({ "from": format!("s{}.value", i - 1) }) };
        let sum = json!({ "type": "math.add", "in": { "a": { "from": format!("q{i}.value") }, "b": before } });
        nodes.push(json!({ "name": format!("s{i}"), "node": sum }));
    }
    edit(&mut it, &json!({ "edit": "add_nodes", "nodes": nodes }));
    // Nothing demands them, so they do not matter.
    assert_eq!((value(&mut it, "good"), value(&mut it, "bad")), (Some(4.0), Some(5.0)));
    assert!(!it.problems().has_errors());
    let to =
        json!({ "edit": "set_input", "node": "b", "input": "a", "to": { "from": "s69.value" } });
    edit(&mut it, &to);
    only_good(&mut it);
    let told = it.problems().to_string();
    assert!(told.contains(": the graph uses more than 64 different pairs"), "{told}");
}

#[test]
fn a_group_that_grows_too_large_takes_what_depends_on_it() {
    let x = json!({ "input": "x" });
    let mut groups = json!({ "g0": { "inputs": { "x": { "type": "f32" } },
        "outputs": { "v": { "type": "f32", "from": "m.value" } }, "nodes": { "m": add(&x, 1.0) } } });
    for i in 1..9 {
        let nodes: serde_json::Map<String, Json> = (0..10)
            .map(|k| {
                let from =
                    if k == 0 { x.clone() } else { json!({ "from": format!("m{}.v", k - 1) }) };
                let node =
                    json!({ "type": "group", "group": format!("g{}", i - 1), "in": { "x": from } });
                (format!("m{k}"), node)
            })
            .collect();
        groups[format!("g{i}")] = json!({ "inputs": { "x": { "type": "f32" } },
            "outputs": { "v": { "type": "f32", "from": "m9.v" } }, "nodes": nodes });
    }
    let mut it = session(two_outputs(&[], &groups), false);
    let big = json!({ "edit": "add_nodes", "nodes": [{ "name": "big",
        "node": { "type": "group", "group": "g8", "in": { "x": x } } }] });
    edit(&mut it, &big);
    let to = json!({ "edit": "set_input", "node": "b", "input": "a", "to": { "from": "big.v" } });
    edit(&mut it, &to);
    only_good(&mut it);
}

#[test]
fn what_goes_into_a_node_is_seen_where_another_input_of_it_is_wrong() {
    let group = json!({ "g": { "inputs": { "p": { "type": "f32" } },
        "outputs": { "o": { "type": "f32", "from": "w.value" } },
        "nodes": { "w": { "type": "math.add", "in": { "a": { "input": "p" }, "b": "text" } } } } });
    let wrong = |a: Json| json!({ "type": "math.add", "in": { "a": a, "b": "text" } });
    let k = json!({ "type": "group", "group": "g", "in": { "p": { "from": "a.value" } } });
    let nodes = [
        ("b", wrong(json!({ "from": "a.value" }))),
        ("c", wrong(json!({ "input": "x" }))),
        ("d", wrong(json!({ "from": "b.value" }))),
        ("k", k),
    ];
    let mut fresh = session(two_outputs(&nodes, &group), false);
    // The other one was right before.
    let mut mended = nodes.clone();
    for (_, node) in &mut mended[..3] {
        node["in"]["b"] = json!(1);
    }
    let mut right = group.clone();
    right["g"]["nodes"]["w"]["in"]["b"] = json!(1);
    let mut edited = session(two_outputs(&mended, &right), false);
    for name in ["b", "c", "d"] {
        edit(
            &mut edited,
            &json!({ "edit": "set_input", "node": name, "input": "b", "to": "text" }),
        );
    }
    edit(
        &mut edited,
        &json!({ "edit": "set_input", "within": "g", "node": "w", "input": "b", "to": "text" }),
    );
    for it in [&mut fresh, &mut edited] {
        let mut seen = |path: &str| {
            let value = it.probe(path).ok()?.value?;
            value.data.get(0).to_string().parse::<f32>().ok()
        };
        assert_eq!(seen("b.a"), Some(4.0));
        assert_eq!(seen("c.a"), Some(3.0));
        assert_eq!(seen("k.p"), Some(4.0));
        assert_eq!(seen("k/w.a"), Some(4.0));
        for path in ["b.value", "b.b", "d.a", "k.o", "k/w.value", "k/w.b"] {
            assert_eq!(seen(path), None, "{path}");
        }
    }
}

#[test]
fn moments_that_nothing_asks_for_may_fail_and_need_what_is_not_there() {
    let number = json!({ "type": "string.to_number", "in": { "text": { "input": "t" } } });
    let shifted = |of: &str| json!({ "type": "time.shift", "in": { "value": { "from": of }, "by": { "from": "late.value" } } });
    let document = json!({ "millstream": 2,
        "inputs": { "t": { "type": "string", "default": "none" },
                    "x": { "type": "f64", "default": 2 } },
        "outputs": { "still": { "type": "f64", "from": "still.value" },
                     "moved": { "type": "f64", "from": "moved.value" },
                     "wrong": { "type": "f64", "from": "wrong.value" } },
        "nodes": { "late": number,
            "sum": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1.5 } },
            "time": { "type": "context.time" },
            "still": shifted("sum.value"), "moved": shifted("time.value"),
            "wrong": { "type": "math.add", "in": { "a": { "from": "nobody.value" }, "b": 1 } } } });
    for is_wrong in [false, true] {
        let mut document = document.clone();
        if !is_wrong {
            document["nodes"]["wrong"]["in"]["a"] = json!(1);
        }
        let opened = Session::open(&Engine::new(), document.to_string().as_bytes());
        let mut it = opened.unwrap_or_else(|error| panic!("{error}"));
        for settled in [false, true] {
            if settled {
                it.settle();
            }
            assert_eq!(it.value::<f64>("still").expect("it has a meaning"), Some(3.5));
            let ask = Ask { frame: Some(3), ..Ask::output("still") };
            let answer = it.eval(&ask).expect("it runs").answer;
            assert_eq!(answer.value::<f64>("still"), Some(3.5));
            assert!(answer.failures.is_empty(), "{:?}", answer.failures);
            let answer = it.eval(&Ask::output("moved")).expect("it runs").answer;
            let told: Vec<String> = answer.failures.iter().map(ToString::to_string).collect();
            assert!(told.len() == 1 && told[0].starts_with("late: "), "{told:?}");
        }
    }
}

#[test]
fn a_muted_node_passes_on_what_has_a_value_whatever_its_other_inputs_read() {
    let (x, last) = (json!({ "input": "x" }), json!({ "from": "last.value" }));
    let muted = |kind: Json, inputs: Json| {
        let mut node = kind;
        (node["in"], node["muted"]) = (inputs, json!(true));
        node
    };
    let group = json!({ "type": "group", "group": "g" });
    let output = |from: &str| json!({ "type": "f32", "from": from });
    let document = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 3 } },
        "outputs": { "call": output("call.value"), "use": output("use.v"),
            "back": output("back.value"), "wrong": output("wrong.value"),
            "typed": output("typed.v"), "zone": output("zone.v") },
        "nodes": {
            "bad": add(&json!("text"), 1.0),
            "unfed": { "type": "math.sqrt", "in": { "x": { "from": "bad.value" } } },
            "last": { "type": "state.feedback", "in": { "value": { "from": "unfed.value" }, "initial": 1 } },
            "call": muted(json!({ "type": "math.add" }), json!({ "a": x, "b": last })),
            "use": muted(group.clone(), json!({ "x": x, "w": { "from": "last.value" } })),
            "typed": muted(group, json!({ "x": x, "w": { "from": "bad.value" } })),
            "zone": muted(json!({ "type": "repeat", "group": "round" }),
                json!({ "v": x, "w": { "from": "bad.value" }, "count": 2 })),
            "back": muted(json!({ "type": "math.add" }), json!({ "a": last, "b": x })),
            "wrong": muted(json!({ "type": "math.add" }), json!({ "a": x, "b": { "from": "bad.value" } })) },
        "groups": { "g": {
            "inputs": { "x": { "type": "f32" }, "w": { "type": "f32" } },
            "outputs": { "v": { "type": "f32", "input": "x" } },
            "nodes": { "n": { "type": "state.counter" } } },
          "round": {
            "inputs": { "v": { "type": "f32" }, "w": { "type": "f32" } },
            "outputs": { "v": { "type": "f32", "from": "sum.value" } },
            "nodes": { "sum": { "type": "math.add",
                "in": { "a": { "input": "v" }, "b": { "input": "w" } } } } } } });
    let text = document.to_string();
    let (loaded, _) = millstream_document::load(text.as_bytes(), Engine::new().limits());
    let planned =
        Session::with_evaluator(&Engine::new(), loaded.expect("it can be read"), millstream::Lazy);
    let live = Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
    for mut session in [live, planned] {
        assert_eq!(value(&mut session, "call"), Some(3.0));
        assert_eq!(value(&mut session, "use"), Some(3.0));
        // The interface of a group tells its types whatever its inputs read.
        assert_eq!(value(&mut session, "typed"), Some(3.0));
        assert_eq!(value(&mut session, "zone"), Some(3.0));
        assert_eq!(value(&mut session, "back"), None);
        assert_eq!(value(&mut session, "wrong"), None);
        let mute = json!({ "edit": "mute", "node": "call", "muted": false });
        edit(&mut session, &mute);
        assert_eq!(value(&mut session, "call"), None);
        assert!(session.undo());
        assert_eq!(value(&mut session, "call"), Some(3.0));
    }
}

#[test]
fn a_muted_zone_stays_wrong_where_a_wrong_zone_gives_another_type() {
    let document = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 3 } },
        "outputs": { "y": { "type": "f32", "from": "around.v" } },
        "nodes": {
            "first": { "type": "repeat", "group": "round", "in": { "v": { "input": "x" }, "count": 1 } },
            "around": { "type": "repeat", "group": "round", "muted": true,
                "in": { "v": { "input": "x" }, "count": { "from": "first.v" } } } },
        "groups": { "round": {
            "inputs": { "v": { "type": "f32" } },
            "outputs": { "v": { "type": "f32", "from": "s.value" } },
            "nodes": { "s": { "type": "math.add", "in": { "a": { "input": "v" }, "b": 1 } } } } } });
    let mut live = session(document, false);
    assert_eq!(value(&mut live, "y"), None);
    let edit_of =
        json!({ "edit": "set_input", "within": "round", "node": "s", "input": "b", "to": "text" });
    edit(&mut live, &edit_of);
    assert_eq!(value(&mut live, "y"), None);
    assert!(live.undo());
    assert_eq!(value(&mut live, "y"), None);
}

#[test]
fn a_muted_node_without_an_interface_is_wrong_where_it_reads_a_wrong_zone() {
    let document = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 3 } },
        "outputs": { "y": { "type": "f32", "from": "sum.value" } },
        "nodes": {
            "around": { "type": "repeat", "group": "round", "in": { "v": 1, "count": 2 } },
            "sum": { "type": "math.add", "muted": true,
                "in": { "a": { "input": "x" }, "b": { "from": "around.v" } } } },
        "groups": { "round": {
            "inputs": { "v": { "type": "f32" } },
            "outputs": { "v": { "type": "f32", "from": "s.value" } },
            "nodes": { "s": { "type": "math.add", "in": { "a": { "input": "v" }, "b": 1 } } } } } });
    let mut live = session(document, false);
    assert_eq!(value(&mut live, "y"), Some(3.0));
    let count = json!({ "edit": "set_input", "node": "around", "input": "count", "to": "text" });
    edit(&mut live, &count);
    assert_eq!(value(&mut live, "y"), None);
    // It is looked at again for another reason.
    let last = json!({ "edit": "set_input", "node": "sum", "input": "a", "to": 5 });
    edit(&mut live, &last);
    assert_eq!(value(&mut live, "y"), None);
    assert!(live.undo() && live.undo());
    assert_eq!(value(&mut live, "y"), Some(3.0));
}

#[test]
fn a_muted_node_that_reads_what_depends_on_a_wrong_group_has_the_types_of_a_fresh_check() {
    let sum = |a: Json| json!({ "type": "math.add", "in": { "a": a, "b": 1 } });
    let document = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 3 } },
        "outputs": { "zone": { "type": "f32", "from": "zone.v" },
            "convert": { "type": "f32", "from": "convert.value" },
            "call": { "type": "f32", "from": "call.value" } },
        "nodes": {
            "first": { "type": "repeat", "group": "round", "in": { "v": { "input": "x" }, "count": 1 } },
            "after": sum(json!({ "from": "first.v" })),
            "zone": { "type": "repeat", "group": "round", "muted": true,
                "in": { "v": { "input": "x" }, "count": { "from": "after.value" } } },
            "convert": { "type": "convert", "set": { "to": "f32" }, "muted": true,
                "in": { "x": { "from": "after.value" } } },
            "call": { "type": "math.add", "muted": true,
                "in": { "a": { "input": "x" }, "b": { "from": "after.value" } } } },
        "groups": { "round": {
            "inputs": { "v": { "type": "f32" } },
            "outputs": { "v": { "type": "f32", "from": "s.value" } },
            "nodes": { "s": sum(json!({ "input": "v" })) } } } });
    let mut live = session(document, false);
    let all = |live: &mut Session| ["zone", "convert", "call"].map(|output| value(live, output));
    assert_eq!(all(&mut live), [None, Some(5.0), Some(3.0)]);
    let wrong =
        json!({ "edit": "set_input", "within": "round", "node": "s", "input": "b", "to": "text" });
    edit(&mut live, &wrong);
    assert_eq!(all(&mut live), [None, None, Some(3.0)]);
    edit(&mut live, &json!({ "edit": "set_input", "node": "after", "input": "b", "to": 2 }));
    assert_eq!(all(&mut live), [None, None, Some(3.0)]);
    assert!(live.undo() && live.undo());
    assert_eq!(all(&mut live), [None, Some(5.0), Some(3.0)]);
}
