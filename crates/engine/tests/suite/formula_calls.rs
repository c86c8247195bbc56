//! Formulas of JSON documents that call groups.

use millstream::deploy::{Freeze, deploy};
use millstream::session::{Ask, Session};
use millstream::{Engine, Request, Severity};
use serde_json::{Value as Json, json};

use crate::callbacks::numbers;

/// A document whose node `e` is this formula of `x`.
fn document(formula: &str) -> Json {
    json!({ "millstream": 2, "inputs": { "x": { "type": "f32", "default": 3 }, "z": { "type": "f32", "default": 0 } },
        "outputs": { "y": { "type": "f32", "from": "e.value" } },
        "nodes": { "e": { "type": "math.expression", "set": { "text": formula },
            "in": { "x": { "input": "x" }, "z": { "input": "z" } } } },
        "groups": {
            "more": {
                "inputs": { "a": { "type": "f32" }, "by": { "type": "f32", "default": 1 } },
                "outputs": { "value": { "type": "f32", "from": "n.value" } },
                "nodes": { "n": { "type": "math.expression", "set": { "text": "same(a) + by" },
                    "in": { "a": { "input": "a" }, "by": { "input": "by" } } } } },
            "pair": {
                "inputs": { "a": { "type": "f32" } },
                "outputs": { "first": { "type": "f32", "input": "a" },
                    "second": { "type": "f32", "from": "n.value" } },
                "nodes": { "n": { "type": "math.multiply", "in": { "a": { "input": "a" }, "b": 10 } } } },
            "same": {
                "inputs": { "a": { "type": "f32" } },
                "outputs": { "value": { "type": "f32", "input": "a" } } } } })
}

fn text_form(formula: &str) -> String {
    format!(
        "input x: f32 = 3\ninput z: f32 = 0\n\
         group more(a: f32, by: f32 = 1) -> value: f32 {{ value = same(a) + by }}\n\
         group pair(a: f32) -> (first: f32, second: f32) {{ first = a\nsecond = a * 10 }}\n\
         group same(a: f32) -> value: f32 {{ value = a }}\n\
         output y: f32 = {formula}\n"
    )
}

#[test]
fn calls_of_groups_in_formulas_become_nodes_in_both_forms() {
    let request = Request::new().column("x", vec![1.0_f32, 2.0]);
    for (formula, expected) in [
        ("more(x) + z", [2.0, 3.0]),
        ("more(x, 5) * 2 - z", [12.0, 14.0]),
        ("more(by: x + 1, a: same(more(x) * 2)) - x + z", [5.0, 7.0]),
        ("x > 1 ? more(x) : pair(2 * x + z).second", [20.0, 3.0]),
        ("more (x) + z", [2.0, 3.0]),
        ("pair(pi + z).first - pi + pair(x).second", [10.0, 20.0]),
    ] {
        for text in [document(formula).to_string(), text_form(formula)] {
            let y = numbers(&Engine::new(), &text, &request, "y");
            let near = y.iter().zip(expected).all(|(y, expected)| (y - expected).abs() < 1e-5);
            assert!(near, "{y:?} instead of {expected:?}: {text}");
        }
    }
}

#[test]
fn errors_in_calls_have_their_place_in_the_text() {
    let found = |formula: &str| {
        let text = document(formula).to_string();
        let error = Engine::new().load(text.as_bytes()).expect_err("it is wrong");
        let millstream::Error::Document(problems) = error else { panic!("{error}") };
        let places = problems.iter().map(|it| {
            let span = it.place.span.map(|span| span.start as usize..span.end as usize);
            let part = span.and_then(|span| text.get(span)).unwrap_or_default();
            format!("{}: {part}", it.message)
        });
        places.collect::<Vec<String>>()
    };
    let told = |formula: &str, expected: &str| {
        let found = found(formula);
        assert!(found.iter().any(|it| it.contains(expected)), "{formula}: {found:?}");
    };
    told("2 * x", "no input called `z`");
    told("2 * more(x, z, 2) - 1", "has only 2 inputs: 2");
    told("more(x) + nothing(x)", "there is no function called `nothing`: nothing");
    told("1 + same(2 + nothing(x))", "there is no function called `nothing`: nothing");
    told("pair(x + z)", "no output called `value`");
    told("more(x, by: 1, by: z)", "gives input `by` of `more` twice: z");
    told("more(x, a: z)", "gives input `a` of `more` twice: z");
}

/// The value of the formula in JSON at `x` = 3 and `z` = 0, after a change of the document.
fn value(formula: &str, change: impl Fn(&mut Json)) -> f32 {
    let mut document = document(formula);
    change(&mut document);
    let program = Engine::new().load(document.to_string().as_bytes()).expect("it loads");
    program.run(&Request::new()).expect("it runs").value("y").expect("it has a value")
}

#[test]
fn a_muted_formula_with_calls_passes_on_its_first_input() {
    let muted = |document: &mut Json| document["nodes"]["e"]["muted"] = json!(true);
    for (formula, expected) in [
        ("more(x) + z", 3.0),
        ("more(z) + x", 0.0),
        ("more(2, by: x) + z", 3.0),
        ("more(2 * more(1)) * x + z", 3.0),
    ] {
        assert_eq!(value(formula, muted), expected, "{formula}");
    }
}

#[test]
fn functions_go_before_groups_and_values_have_components() {
    let with = |document: &mut Json| {
        let output = json!({ "value": { "type": "vec3", "from": "n.value" } });
        let inputs = json!({ "a": { "type": "f32" } });
        let n = json!({ "type": "math.expression", "set": { "text": "vec3(1, a, 2)" },
            "in": { "a": { "input": "a" } } });
        document["groups"]["max"] = json!({ "inputs": inputs, "outputs": output,
            "nodes": { "n": n } });
        document["groups"]["vector"] = document["groups"]["max"].clone();
    };
    assert_eq!(value("max(x, 7) + z", with), 7.0);
    assert_eq!(value("vector(x + 1).y + z", with), 4.0);
    assert_eq!(value("vector(x).value.y + z", with), 3.0);
}

#[test]
fn calls_nest_deeply() {
    let nested = format!("{}x{} + z", "same(".repeat(150), ")".repeat(150));
    assert_eq!(value(&nested, |_| ()), 3.0);
}

/// A session of a document, with the edit that this JSON is.
fn edited(session: &mut Session, edit: Json) {
    let edit = serde_json::from_value(edit).expect("an edit");
    session.edit(&edit).unwrap_or_else(|error| panic!("{error}: {edit:?}"));
}

fn y(session: &mut Session) -> Option<f32> {
    session.value::<f32>("y").expect("it runs")
}

/// The formula in the saved document of a session, which has the value of the session.
fn saved(session: &mut Session) -> String {
    let saved = millstream_document::save(session.document());
    let program = Engine::new().load(saved.as_bytes()).expect("it loads");
    assert_eq!(program.run(&Request::new()).expect("it runs").value::<f32>("y"), y(session));
    let saved: Json = serde_json::from_str(&saved).expect("it is JSON");
    assert_eq!(saved["nodes"].as_object().expect("nodes").len(), 1, "{saved}");
    saved["nodes"]["e"]["set"]["text"].as_str().expect("a formula").to_owned()
}

#[test]
fn an_edit_may_bring_a_formula_that_calls_groups() {
    let text = document("x + z").to_string();
    let mut session = Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
    let before = millstream_document::save(session.document());
    let set =
        |text: &str| json!({ "edit": "set_setting", "node": "e", "setting": "text", "to": text });
    let formulas =
        [("more(x, by: 2) + z", 5.0), ("same(more(x)) * 2 - z", 8.0), ("pair(x + z).second", 30.0)];
    for (formula, expected) in formulas {
        edited(&mut session, set(formula));
        assert_eq!(y(&mut session), Some(expected), "{formula}");
        assert_eq!(saved(&mut session), formula);
    }
    // An edit of another part leaves the nodes of the call as they are.
    session.set("x", 1.0_f32).expect("it fits");
    assert_eq!(y(&mut session), Some(10.0));
    for expected in [4.0, 3.0, 1.0] {
        assert!(session.undo());
        assert_eq!(y(&mut session), Some(expected));
    }
    assert_eq!(millstream_document::save(session.document()), before);
    assert!(session.redo());
    assert_eq!(y(&mut session), Some(3.0));
    let removed = session.edit(&serde_json::from_value(set("more(w)")).expect("an edit"));
    removed.expect("the structure is right");
    assert_eq!(session.value::<f32>("y").ok().flatten(), None);
}

#[test]
fn formulas_follow_the_names_of_groups_and_their_sockets() {
    let text = document("more(same(x), by: more(a: z, by: 3)) + pair(x).second").to_string();
    let mut session = Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
    assert_eq!(y(&mut session), Some(36.0));
    let edits = [
        json!({ "edit": "rename_group", "name": "more", "to": "still_more" }),
        json!({ "edit": "rename_input", "within": "still_more", "name": "by", "to": "than" }),
        json!({ "edit": "rename_output", "within": "pair", "name": "second", "to": "other" }),
        json!({ "edit": "rename_node", "within": "still_more", "node": "n", "to": "m" }),
    ];
    for edit in edits {
        edited(&mut session, edit);
        assert_eq!(y(&mut session), Some(36.0));
    }
    let renamed = "still_more(same(x), than: still_more(a: z, than: 3)) + pair(x).other";
    assert_eq!(saved(&mut session), renamed);
    for edit in [
        json!({ "edit": "rename_group", "name": "still_more", "to": "still more" }),
        json!({ "edit": "rename_group", "name": "same", "to": "max" }),
        json!({ "edit": "remove_group", "name": "pair" }),
    ] {
        let edit = serde_json::from_value(edit).expect("an edit");
        session.edit(&edit).expect_err("a formula calls the group");
        assert_eq!(saved(&mut session), renamed);
    }
    while session.undo() {}
    let written = "more(same(x), by: more(a: z, by: 3)) + pair(x).second";
    assert_eq!(saved(&mut session), written);
}

#[test]
fn the_state_of_a_called_group_stays_when_its_formula_changes() {
    let mut text = document("count(x) + z");
    text["groups"]["count"] = json!({ "inputs": { "by": { "type": "f32" } },
        "outputs": { "value": { "type": "f32", "from": "s.value" } },
        "nodes": { "s": { "type": "state.integrate", "in": { "rate": { "input": "by" } } } } });
    text["fps"] = json!(1);
    let mut session = Session::open(&Engine::new(), text.to_string().as_bytes()).expect("it opens");
    for _ in 0..3 {
        session.tick(&Ask::all()).expect("it runs");
    }
    let before = y(&mut session).expect("it has a value");
    assert!(before > 0.0);
    edited(
        &mut session,
        json!({ "edit": "set_setting", "node": "e", "setting": "text",
        "to": "2 * count(x) + z" }),
    );
    assert_eq!(y(&mut session), Some(2.0 * before));
    edited(&mut session, json!({ "edit": "rename_node", "node": "e", "to": "f" }));
    assert_eq!(y(&mut session), Some(2.0 * before));
    assert!(session.undo() && session.undo());
    assert_eq!(y(&mut session), Some(before));
}

#[test]
fn a_formula_that_makes_a_group_contain_itself_is_reported_and_can_be_edited_on() {
    let text = json!({ "millstream": 2, "fps": 1,
        "inputs": { "x": { "type": "f32", "default": 1 } },
        "outputs": { "y": { "type": "f32", "from": "e.value" } },
        "nodes": {
            "e": { "type": "math.expression", "set": { "text": "more(x)" },
                "in": { "x": { "input": "x" } } },
            "d": { "type": "math.negate", "in": { "x": 1 } } },
        "groups": { "more": { "inputs": { "a": { "type": "f32" } },
            "outputs": { "value": { "type": "f32", "from": "n.value" } },
            "nodes": {
                "n": { "type": "state.integrate", "in": { "rate": { "input": "a" } } },
                "m": { "type": "math.expression", "set": { "text": "a + 1" },
                    "in": { "a": { "input": "a" } } } } } } });
    let mut session = Session::open(&Engine::new(), text.to_string().as_bytes()).expect("it opens");
    session.tick(&Ask::all()).expect("it runs");
    edited(
        &mut session,
        json!({ "edit": "set_setting", "within": "more", "node": "m", "setting": "text",
            "to": "more(a)" }),
    );
    let codes = |session: &mut Session| -> Vec<String> {
        session.problems().iter().map(|problem| problem.code.clone()).collect()
    };
    assert_eq!(codes(&mut session), ["check::recursive_group"]);
    // All places of the document are found again.
    edited(&mut session, json!({ "edit": "rename_node", "node": "d", "to": "k" }));
    assert!(session.undo() && session.undo());
    assert_eq!(codes(&mut session), [""; 0]);
}

#[test]
fn a_deployed_document_has_names_for_the_nodes_of_calls() {
    let text = document("more(x, by: same(x + 1)) + more(x)").to_string();
    let text = text.replace(r#","z":{"input":"z"}"#, "");
    let engine = Engine::new();
    let program = engine.load(text.as_bytes()).expect("it loads");
    let freeze = Freeze { keep: vec!["x".into()], ..Freeze::default() };
    let deployed = deploy(&engine, program.document(), &freeze).expect("it deploys");
    let saved = millstream_document::save(&deployed.document);
    let again = engine.load(saved.as_bytes()).unwrap_or_else(|error| panic!("{error}: {saved}"));
    assert_eq!(again.run(&Request::new()).expect("it runs").value::<f32>("y"), Some(11.0));
}

/// Two sessions of a document whose node `e` adds `z` to the sum of `x` over time: as a formula that
/// calls a group, and with a node `g` that uses it.
fn counting() -> [Session; 2] {
    let mut written = document("count(x) + z");
    written["fps"] = json!(1);
    written["groups"] = json!({ "count": { "inputs": { "by": { "type": "f32" } },
        "outputs": { "value": { "type": "f32", "from": "s.value" } },
        "nodes": { "s": { "type": "state.integrate", "in": { "rate": { "input": "by" } } } } } });
    let mut explicit = written.clone();
    explicit["nodes"] = json!({
        "g": { "type": "group", "group": "count", "in": { "by": { "input": "x" } } },
        "e": { "type": "math.expression", "set": { "text": "g + z" },
            "in": { "g": { "from": "g.value" }, "z": { "input": "z" } } } });
    [written, explicit].map(|document| {
        Session::open(&Engine::new(), document.to_string().as_bytes()).expect("it opens")
    })
}

#[test]
fn the_state_of_calls_follows_edits_like_that_of_nodes_that_use_groups() {
    let mute = |nodes: &[&str], muted: bool| {
        let edits =
            nodes.iter().map(|node| json!({ "edit": "mute", "node": node, "muted": muted }));
        json!({ "edit": "batch", "edits": edits.collect::<Vec<Json>>() })
    };
    let both = |edit: Json| [edit.clone(), edit];
    let rename = |from: &str, to: &str| json!({ "edit": "rename_group", "name": from, "to": to });
    let edits = [
        both(rename("count", "tally")),
        both(json!({ "edit": "rename_input", "within": "tally", "name": "by", "to": "rate" })),
        [mute(&["e"], true), mute(&["e", "g"], true)],
        [mute(&["e"], false), mute(&["e", "g"], false)],
        both(json!({ "edit": "change_input", "within": "tally", "name": "rate",
            "def": { "type": "f32", "default": 2 } })),
        [&["e"][..], &["g", "e"]]
            .map(|nodes| json!({ "edit": "group", "nodes": nodes, "name": "inner", "node": "i" })),
        both(rename("tally", "more")),
        [&["e"][..], &["g", "e"]].map(|nodes| {
            json!({ "edit": "group", "within": "inner", "nodes": nodes, "name": "deep", "node": "d" })
        }),
        both(json!({ "edit": "add_nodes", "nodes": [{ "name": "j",
            "node": { "type": "group", "group": "inner",
                "in": { "x": { "input": "x" }, "z": { "input": "z" } } } }] })),
        both(json!({ "edit": "ungroup", "node": "i" })),
        both(json!({ "edit": "ungroup", "node": "d" })),
        both(json!({ "edit": "rename_output", "within": "more", "name": "value", "to": "sum" })),
        both(json!({ "edit": "rename_node", "within": "more", "node": "s", "to": "t" })),
    ];
    let mut sessions = counting();
    let mut seen = Vec::new();
    let mut check = |sessions: &mut [Session; 2], edit: &str, ticks: bool| {
        let values = sessions.each_mut().map(|session| {
            if ticks {
                session.tick(&Ask::all()).expect("it runs");
            }
            assert!(session.problems().is_empty(), "{edit}: {}", session.problems());
            y(session).expect("it has a value")
        });
        assert_eq!(values[0].to_bits(), values[1].to_bits(), "{values:?} after {edit}");
        seen.push(values[0]);
    };
    check(&mut sessions, "opening", true);
    check(&mut sessions, "a tick", true);
    for edit in &edits {
        for (session, edit) in sessions.iter_mut().zip(edit) {
            edited(session, edit.clone());
        }
        check(&mut sessions, &edit[0].to_string(), false);
        check(&mut sessions, &edit[0].to_string(), true);
    }
    for edit in edits.iter().rev() {
        assert!(sessions.each_mut().map(Session::undo) == [true; 2]);
        check(&mut sessions, &format!("undoing {}", edit[0]), true);
    }
    // It has counted all the time, except while it was muted and passed on `x`.
    assert!(seen.iter().filter(|value| **value != 3.0).is_sorted(), "{seen:?}");
    let n_muted = seen.iter().skip(1).filter(|value| **value == 3.0).count();
    assert_eq!(n_muted, 3, "{seen:?}");
}

#[test]
fn formulas_that_call_groups_can_be_grouped_and_ungrouped() {
    let mut text = document("vector(x + 1).y + cut(x) + z");
    text["nodes"]["v"] = json!({ "type": "math.expression", "set": { "text": "vector(u)" },
        "in": { "u": { "from": "e.value" } } });
    text["nodes"]["w"] = json!({ "type": "math.expression", "set": { "text": "v.x + v.y" },
        "in": { "v": { "from": "v.value" } } });
    text["nodes"]["k"] = json!({ "type": "group", "group": "cut", "in": { "a": 7.75 } });
    text["outputs"] = json!({ "y": { "type": "f32", "from": "w.value" },
        "k": { "type": "f32", "from": "k.value" } });
    let f32s = json!({ "a": { "type": "f32" } });
    text["groups"]["vector"] = json!({ "inputs": f32s,
        "outputs": { "value": { "type": "vec3", "from": "n.value" } },
        "nodes": { "n": { "type": "math.expression", "set": { "text": "vec3(1, a, 2)" },
            "in": { "a": { "input": "a" } } } } });
    // The output narrows what the formula gives.
    text["groups"]["cut"] = json!({ "inputs": f32s,
        "outputs": { "value": { "type": "f32", "from": "n.value" } },
        "nodes": { "n": { "type": "math.expression", "set": { "text": "same(a) * tenth" },
            "in": { "a": { "input": "a" }, "tenth": { "from": "t.value" } } },
            "t": { "type": "convert", "set": { "to": "f64" }, "in": { "x": 0.1 } } } });
    let mut session = Session::open(&Engine::new(), text.to_string().as_bytes()).expect("it opens");
    let k = |session: &mut Session| session.value::<f32>("k").expect("it runs");
    let (first, first_k) = (y(&mut session), k(&mut session));
    assert_eq!(first_k, Some(0.775));
    for edit in [
        json!({ "edit": "group", "nodes": ["e"], "name": "inner" }),
        json!({ "edit": "group", "nodes": ["v"], "name": "other" }),
        json!({ "edit": "group", "nodes": ["inner", "other"], "name": "all" }),
        json!({ "edit": "ungroup", "within": "all", "node": "inner" }),
        json!({ "edit": "ungroup", "node": "all" }),
        // Formulas call the group, so it stays.
        json!({ "edit": "ungroup", "node": "k" }),
        json!({ "edit": "ungroup", "node": "other" }),
        json!({ "edit": "rename_input", "within": "vector", "name": "a", "to": "b" }),
        json!({ "edit": "change_input", "within": "vector", "name": "b",
            "def": { "type": "f64", "default": 2 } }),
        json!({ "edit": "add_nodes", "nodes": [{ "name": "copy", "node": text["nodes"]["e"] }] }),
        json!({ "edit": "group", "nodes": ["copy", "e"], "name": "again" }),
    ] {
        edited(&mut session, edit.clone());
        assert!(!session.problems().has_errors(), "{edit}: {}", session.problems());
        assert_eq!((y(&mut session), k(&mut session)), (first, first_k), "{edit}");
    }
    let types = |session: &Session, group: &str| -> Vec<String> {
        let group = &session.document().groups[group];
        let outputs = group.outputs.values().map(|output| output.ty.to_string());
        outputs.collect()
    };
    assert_eq!(types(&session, "again"), ["f32"]);
    while session.undo() {
        assert_eq!((y(&mut session), k(&mut session)), (first, first_k));
    }
    edited(&mut session, json!({ "edit": "group", "nodes": ["v"], "name": "other" }));
    assert_eq!(types(&session, "other"), ["vec3"]);
}

#[test]
fn errors_name_only_what_an_author_wrote() {
    let found = |formula: &str, change: &dyn Fn(&mut Json)| {
        let mut document = document(formula);
        change(&mut document);
        let error = Engine::new().load(document.to_string().as_bytes()).expect_err("it is wrong");
        let millstream::Error::Document(problems) = error else { panic!("{error}") };
        // Besides, there are warnings about groups that nothing uses.
        let all = problems.iter().filter(|it| it.severity == Severity::Error);
        all.map(|it| format!("{}; {}", it.message, it.help.as_deref().unwrap_or_default()))
            .collect::<Vec<String>>()
    };
    let same = |_: &mut Json| ();
    assert_eq!(
        found("more(x) + 1", &same),
        ["`math.expression` has no input called `z`; inputs: `x`"]
    );
    let told = found("more(x * u) + pair(w).second", &same);
    let hint = "`math.expression` has no input called `z`; inputs: `x`, `u`, `w`";
    assert!(told.iter().any(|it| it == hint), "{told:?}");
    // The inputs that a call lacks may be meant for it.
    for formula in ["more() + 1", "more(by: 2)", "2 * same(more())"] {
        let found = found(formula, &same);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("input `a` of `more` is missing"), "{found:?}");
    }
    let of_missing = |document: &mut Json| document["outputs"]["y"]["from"] = json!("e2.value");
    let hint = &found("more(x) + z", &of_missing)[0];
    assert!(hint.ends_with("did you mean `e`?"), "{hint}");
}

#[test]
fn wrong_calls_are_told_as_in_the_text_form() {
    let found = |text: String| {
        let error = Engine::new().load(text.as_bytes()).expect_err("it is wrong");
        let millstream::Error::Document(problems) = error else { panic!("{error}") };
        let errors = problems.iter().filter(|it| it.severity == Severity::Error);
        errors.cloned().collect::<Vec<_>>()
    };
    let z = r#","z":{"input":"z"}"#;
    let name = "name it too, as in `a: ...`, or move it to the front";
    for (formula, message, help) in [
        ("more(x, bye: 2)", "`more` has no input called `bye`", "did you mean `by`?"),
        ("mor(x) + 1", "there is no function called `mor`", "did you mean `more`?"),
        ("1 + more(mor(x))", "there is no function called `mor`", "did you mean `more`?"),
        ("more(by: 2, x)", "an argument without a name follows one with a name", name),
        ("same(x, by: \"a (\") + 1", "`same` has no input called `by`", "inputs: `a`"),
        ("more(x, by: [1, 2])", "[1,2] is not an f32", "an f32 is written as a number"),
        ("more(pair(x * 2))", "`pair(...)`: `pair` has no output called `value`", ""),
        (
            "more(x, by: vec2(x, 1))",
            "`vec2(x, 1)` gives a vec2, but input `by` of the group takes an f32",
            "",
        ),
        ("more()", "input `a` of `more` is missing", ""),
        ("1 + more(x", "this `(` is not closed", "add a `)`"),
        ("more(1e400)", "the number is too large", ""),
        ("more(x, by: [x, 1])", "this list is not a list of values", "such as `[1, 2]`"),
        ("more(x, by: \"\\q\")", "there is no such escape", "escapes are those of JSON"),
        ("more(x, by: [1, 2)", "this `[` is not closed", "add a `]`"),
        ("more(x, )", "an argument of `more` is missing here", "or remove the comma"),
        ("more(, x)", "an argument of `more` is missing here", "or remove the comma"),
        ("clamp(x: 1)", "arguments of functions have no names", ""),
        (
            "more(x) more(x, by: 2)",
            "an operator is missing between `more(...)` and `more(...)`",
            "a product is written `more(...) * more(...)`",
        ),
    ] {
        let json = document(formula).to_string().replace(z, "");
        let [error] = &found(json)[..] else {
            panic!("{formula}: {:?}", found(document(formula).to_string().replace(z, "")))
        };
        assert!(error.message.ends_with(message), "{formula}: {error}");
        assert!(error.help.as_deref().unwrap_or_default().contains(help), "{formula}: {error}");
        assert_eq!(error.place.path.as_str(), "e", "{formula}: {error}");
    }
    let nested = format!("{}x{}", "more(".repeat(210), ")".repeat(210));
    let told = found(document(&nested).to_string().replace(z, ""));
    assert!(told.iter().any(|it| it.message.ends_with("calls of `more` are nested too deeply")));
    assert!(told.iter().all(|it| !it.message.contains("no function")), "{told:?}");
    for formula in ["mor(x) + 1", "1 + more(mor(x))"] {
        let [error] = &found(text_form(formula))[..] else { panic!("{formula}") };
        assert_eq!(error.help.as_deref(), Some("did you mean `more`?"));
    }
}
