//! Texts with damage: loading reports it, and outputs that do not depend on it have values.

use millstream::{Engine, Request, Severity};

const HALF: &[u8] = b"group half(x: f32) -> value: f32 {\n  value = x / 2\n}\n";

/// The values of `ok` and `bad`, and how many errors were reported.
fn values(text: &str) -> (Option<f32>, Option<f32>, usize) {
    let library = |_: &str| Ok::<_, &str>(HALF.to_vec());
    let engine = Engine::new().with_documents(library);
    assert!(engine.load(text.as_bytes()).is_err(), "{text}");
    // What lacks a part is not taken for a document.
    if let Some(document) = engine.read(text.as_bytes()).0 {
        assert!(engine.compile(document).is_err(), "{text}");
    }
    let (program, problems) = engine.load_partly(text.as_bytes());
    let n_errors = problems.iter().filter(|it| it.severity == Severity::Error).count();
    let Some(program) = program else { return (None, None, n_errors) };
    let answer = program.run(&Request::new()).expect("nothing fails");
    let value = |name: &str| {
        let has = program.outputs().iter().any(|it| *it.name == *name);
        has.then(|| answer.value::<f32>(name).expect("it has a value"))
    };
    (value("ok"), value("bad"), n_errors)
}

/// A JSON document with these entries, in which `bad` comes from the node `n`.
fn json(entries: &str, n: &str) -> String {
    format!(
        r#"{{ "millstream": 2, {entries},
            "nodes": {{ "k": {{ "type": "math.add", "in": {{ "a": 1, "b": 2 }} }}, "n": {n} }},
            "outputs": {{ "ok": {{ "type": "f32", "from": "k.value" }},
                "bad": {{ "type": "f32", "from": "n.value" }} }} }}"#
    )
}

#[test]
fn a_damaged_entry_stops_only_what_depends_on_it() {
    let state = r#"{ "type": "math.add", "in": { "a": { "from": "t.value" } } },
        "t": { "type": "state.counter" }"#;
    let input = r#"{ "type": "math.add", "in": { "a": { "input": "x" } } }"#;
    let own = r#"{ "type": "group", "group": "g", "in": { "x": 1 } }"#;
    let used = r#"{ "type": "group", "group": "a/half", "in": { "x": 1 } }"#;
    let cases = [
        (r#""fps": "x""#, state),
        (r#""fps": 1, "fps": 2"#, state),
        (r#""start_frame": 0.5"#, state),
        (r#""inputs": 5"#, input),
        (r#""inputz": { "x": { "type": "f32" } }"#, input),
        (r#""groups": 5"#, own),
        (r#""groups": { "g": 5 }"#, own),
        (r#""groups": { "g": { "inputs": 5 } }"#, own),
        (r#""use": 5"#, used),
        (r#""use": { "a": 3 }"#, used),
        (r#""use": { "a": "a.mill" }, "lock": 5"#, used),
        (r#""use": { "a": "a.mill" }, "lock": { "a": 3 }"#, used),
    ];
    for (entries, n) in cases {
        let text = json(entries, n);
        assert_eq!(values(&text), (Some(3.0), None, 1), "{text}");
    }
}

#[test]
fn damage_that_nothing_depends_on_stops_no_output() {
    for entries in [r#""foo": 3"#, r#""something": 3"#, r#""name": 4"#, r#""$schema": 4"#] {
        let text = json(entries, r#"{ "type": "math.add", "in": { "a": 4 } }"#);
        let (ok, bad, n_errors) = values(&text);
        assert_eq!((ok, n_errors), (Some(3.0), 1), "{text}");
        assert!(bad.is_some(), "{text}");
    }
}

#[test]
fn an_entry_with_an_unknown_name_stops_what_it_may_be_meant_for() {
    let state = r#"{ "type": "math.add", "in": { "a": { "from": "t.value" } } },
        "t": { "type": "state.counter" }"#;
    let text = json(r#""frame_rate": 30"#, state);
    assert_eq!(values(&text), (Some(3.0), None, 1), "{text}");
}

#[test]
fn nothing_is_computed_of_a_document_without_a_format() {
    let text = json(r#""name": "n""#, r#"{ "type": "math.add" }"#);
    let text = text.replace(r#""millstream": 2, "#, "");
    assert_eq!(values(&text), (None, None, 1), "{text}");
}

#[test]
fn a_name_that_is_defined_twice_stops_what_depends_on_it() {
    let twice = [
        "n = 1 + 1\nn = 2 + 2\noutput bad: f32 = n",
        "input n: f32 = 1\ninput n: f32 = 2\noutput bad: f32 = n",
        "output bad: f32 = 1\noutput bad: f32 = 2",
        "output bad: f32 = g(x: 1)\ngroup g(x: f32) -> value: f32 {\n  value = x\n}\n\
         group g(x: f32) -> value: f32 {\n  value = x\n}",
        "output bad: f32 = g(x: 1)\ngroup g(x: f32) -> value: f32 {\n  n = x + 1\n  n = x\n  value = n\n}",
    ];
    for lines in twice {
        let text = format!("output ok: f32 = 1 + 2\n{lines}\n");
        assert_eq!(values(&text), (Some(3.0), None, 1), "{text}");
    }
    let add = r#"{ "type": "math.add" }"#;
    let text = json(r#""name": "n""#, &format!(r#"{add}, "n": {add}"#));
    assert_eq!(values(&text), (Some(3.0), None, 1), "{text}");
    let group = r#"{ "outputs": { "value": { "type": "f32", "from": "m.value" } },
        "nodes": { "m": { "type": "math.add" } } }"#;
    let groups = format!(r#""groups": {{ "g": {group}, "g": {group} }}"#);
    let text = json(&groups, r#"{ "type": "group", "group": "g" }"#);
    assert_eq!(values(&text), (Some(3.0), None, 1), "{text}");
}

#[test]
fn a_statement_of_unknown_kind_stops_what_it_may_define() {
    let cases = [
        // Nothing depends on these.
        ("foo bar\noutput bad: f32 = 3 + 4", true),
        ("foo bar = 3\noutput bad: f32 = 3 + 4", true),
        ("foo bar 3.5 \"x\"\noutput bad: f32 = 3 + 4", true),
        // It may be the source of these, or define it again.
        ("foo bar\noutput bad: f32 = foo", false),
        ("`foo bar` = 3 + 4\nfoo bar = 3\noutput bad: f32 = `foo bar`", false),
        ("n = 3 + 4\nn 3\noutput bad: f32 = n", false),
        ("inptu n: f32 = 3\noutput bad: f32 = n", false),
        ("output bad: f32 = 1\nouput bad: f32 = 2", false),
        ("frame_rate 30\noutput bad: f32 = state.counter()", false),
    ];
    for (lines, is_right) in cases {
        let text = format!("output ok: f32 = 1 + 2\n{lines}\n");
        let (ok, bad, n_errors) = values(&text);
        assert_eq!((ok, bad.is_some()), (Some(3.0), is_right), "{text}");
        assert!(n_errors > 0, "{text}");
    }
    // It may change what this word means anywhere.
    let lines = [
        "inptu e: f32 = 3",
        "let pi = 3",
        "e, d = 3",
        "node e = 4",
        "outptu e: f32 = 4",
        "output e f32 = 4",
        "grop sin(x: f32) -> value: f32 { value = x }",
        "groupsin(x: f32) -> value: f32 { value = x }",
    ];
    for line in lines {
        let text = format!("{line}\noutput ok: f32 = e * pi + sin(1)\n");
        assert_eq!(values(&text).0, None, "{text}");
    }
    assert_eq!(values("millstrem 1\noutput ok: f32 = 1 + 2\n").0, None);
}

#[test]
fn a_statement_of_unknown_kind_inside_a_group_stops_what_uses_the_group() {
    let lines = [
        "foo bar",
        "foo bar = 3",
        "inptu k: f32 = 3",
        "inptu x: f32",
        "inptu sin: f32",
        "let pi = 3",
        "x 3",
        "value 4",
        "input k: f32",
        "output value: f32 = 3",
        "3 = x",
        "3 + 4",
        "/ comment",
        "grop",
        "name \"n\"",
    ];
    for line in lines {
        for call in ["g(x: 1)", "h(x: 1)"] {
            let text = format!(
                "output ok: f32 = sin(1) * pi + good(x: 2) + state.counter()\noutput bad: f32 = {call}\n\
                 group g(x: f32) -> value: f32 {{\n  {line}\n  value = x + sin(pi)\n}}\n\
                 group h(x: f32) -> value: f32 {{\n  value = g(x: x)\n}}\n\
                 group good(x: f32) -> value: f32 {{\n  value = x\n}}\n"
            );
            let (ok, bad, n_errors) = values(&text);
            assert!(ok.is_some() && bad.is_none() && n_errors > 0, "{text}");
        }
        // The block of a zone is a group, also inside another one.
        let text = format!(
            "output ok: f32 = 1 + 2\nr = repeat(a: f32 = 1, count: 3) -> a: f32 {{\n  {line}\n  a = a + 1\n}}\n\
             output bad: f32 = r.a\n"
        );
        let (ok, bad, n_errors) = values(&text);
        assert!(ok == Some(3.0) && bad.is_none() && n_errors > 0, "{text}");
    }
    // A statement about the whole document has the same effect inside a group.
    let in_group = |line: &str, ok: &str| {
        let text = format!(
            "output ok: f32 = {ok}\ngroup g(x: f32) -> value: f32 {{\n  {line}\n  value = x\n}}\n"
        );
        values(&text).0.is_some()
    };
    assert!(in_group("fps 30", "1 + 2") && !in_group("fps 30", "state.counter()"));
    assert!(!in_group("millstream 1", "1 + 2"));
    // Where a group ends is not known.
    for line in ["grop h(x: f32) -> y: f32 {", "foo }", "foo {", "foo { bar }"] {
        assert!(!in_group(line, "1 + 2"), "{line}");
    }
}

#[test]
fn the_parts_of_a_group_that_do_not_depend_on_its_damage_have_values() {
    let group = r#""groups": { "g": {
        "outputs": { "value": { "type": "f32", "from": "n.value" }, "m": { "type": "f32", "from": "m.value" } },
        "nodes": { "n": { "type": "math.add", "in": { "a": 1 } }, "m": { "type": 5 } } } }"#;
    let (ok, value, n_errors) = values(&json(group, r#"{ "type": "group", "group": "g" }"#));
    assert_eq!((ok, value.is_some(), n_errors), (Some(3.0), true, 1));
}

#[test]
fn a_damaged_statement_stops_only_what_depends_on_it() {
    let cases = [
        ("use a =", "a/half(x: 1)"),
        ("use a = \"a.mill\"\nlock a = 2", "a/half(x: 1)"),
        ("use a = \"a.mill\"\nuse a = \"b.mill\"", "a/half(x: 1)"),
        ("fps x", "state.counter()"),
        ("fps 1\nfps 2", "state.counter()"),
        ("start_frame x", "state.counter()"),
    ];
    for (lines, bad) in cases {
        let text = format!("{lines}\nn = {bad}\noutput ok: f32 = 1 + 2\noutput bad: f32 = n\n");
        assert_eq!(values(&text), (Some(3.0), None, 1), "{text}");
    }
    let (ok, bad, n_errors) = values("name 4\noutput ok: f32 = 1 + 2\noutput bad: f32 = 3 + 4\n");
    assert_eq!((ok, bad, n_errors), (Some(3.0), Some(7.0), 1));
}

#[test]
fn long_names_and_many_assignments_in_a_broken_line_take_little_time_and_memory() {
    let name = "a".repeat(100_000);
    for line in [format!("x = 1 {name} = 2"), format!("x = 1 {}2", "a = ".repeat(50_000))] {
        let (ok, _, n_errors) = values(&format!("{line}\noutput ok: f32 = 1 + 2\n"));
        assert_eq!((ok, n_errors), (Some(3.0), 1));
    }
    // A name may have grown together with a long word before it.
    let text = format!("e5 = 2\nx = 1 {name}e5 = 2\noutput ok: f32 = e5\n");
    assert_eq!(values(&text).0, None);
}

#[test]
fn a_cycle_through_an_unknown_name_stops_only_what_is_on_it() {
    let text = "a = g(1)\nr = q / r\noutput ok: f32 = a\noutput bad: f32 = r\n\
        group g(v: f32) -> value: f32 {\n  value = v + 1\n}\n";
    let (ok, bad, _) = values(text);
    assert_eq!((ok, bad), (Some(2.0), None));
}

#[test]
fn a_statement_that_may_contain_another_stops_everything() {
    for lines in [
        "a = max(1,\ne = 3",
        "a = 1 input e: f32 = 3",
        "u = {\ninput e: f32 = 3",
        "input q: list<f32> = [1,\ne = 3",
        "i=put e: f32 = 3",
    ] {
        let text = format!("{lines}\noutput ok: f32 = e * 2\n");
        assert_eq!(values(&text).0, None, "{text}");
    }
    for lines in [
        "a = sin(1), fps 10",
        "a = sin(1) + fps 10",
        "a = afps 10",
        "input q: f32 = 1,fps 10",
        "view { \"a\":\nfps 30",
        "a = 1, start_frame 3",
    ] {
        let ends = "output ok: f32 = 3\noutput bad: f32 = context.time()\n";
        let (ok, bad, _) = values(&format!("{lines}\n{ends}"));
        assert_eq!((ok, bad), (Some(3.0), None), "{lines}");
    }
    for lines in [
        "a = 3, e = 5",
        "a = 2ae = 5",
        "a = 3 `e` = 5",
        "a = 3,group sin(x: f32) -> value: f32 {\n  value = x\n}",
        "a = 3 +group sin(x: f32) -> value: f32 {\n  value = x\n}",
        "fps 3, input e: f32 = 9",
        "fps 3, input e: f32",
        "view {}, input e: f32 = 9",
        "schema \"a\", e = 9",
        "e = 2\ngroup g(x: f32) -> value: f32 {\n  value = x\n}, input e: f32 = 4",
        "a = 1,output e: list<f32> = [1]",
    ] {
        let text = format!("{lines}\noutput ok: f32 = sin(e)\n");
        assert_eq!(values(&text).0, None, "{text}");
    }
    let group = "output ok: f32 = e * 2\ngroup g(x: f32) -> value: f32 {\n  value = x\ne = 3\n";
    assert!(Engine::new().load_partly(group.as_bytes()).0.is_none(), "it is not closed");
    // Lists of arguments, and what an expression refers to, are no statements.
    for line in
        ["a = noise.fbm(1, octaves = 3, scale: )", "a = 2 * input x +", "output b: f32 = (1"]
    {
        let (ok, _, n_errors) = values(&format!("output ok: f32 = 1 + 2\n{line}\n"));
        assert_eq!((ok, n_errors), (Some(3.0), 1), "{line}");
    }
}

#[test]
fn a_call_of_an_unknown_closure_is_reported() {
    for text in [
        "output ok: f32 = 1 + 2\na = call(nope, x: 3)\n",
        "output ok: f32 = 1 + 2\na = call([nope])\n",
    ] {
        let (ok, _, n_errors) = values(text);
        assert_eq!((ok, n_errors), (Some(3.0), 1), "{text}");
    }
    let told = Engine::new().load(b"output y: f32 = call(nope, x: 3)\n").expect_err("it is wrong");
    assert!(told.to_string().contains("no node called `nope`"), "{told}");
}

#[test]
fn a_lost_format_stops_everything() {
    let twice = json(r#""millstream": 1"#, r#"{ "type": "math.add" }"#);
    assert_eq!(values(&twice), (None, None, 1));
    assert_eq!(values("millstream 7\noutput ok: f32 = 1 + 2\n"), (None, None, 1));
}
