//! Switches whose selectors are equal.

use millstream::session::Session;
use millstream::{Engine, Request};
use serde_json::{Value as Json, json};

use super::{document, edit, either_way, error, from, input, math, run};

/// [`either_way`] with these nodes besides, `c` and `d` in place of the selector.
fn by(more: &Json) -> Json {
    let mut nodes = either_way();
    for (name, node) in more.as_object().expect("nodes") {
        nodes[name] = node.clone();
    }
    nodes["s1"]["in"]["condition"] = from("c");
    nodes["s2"]["in"]["condition"] = from("d");
    document(&nodes, &["p", "q"])
}

fn call(name: &str, inputs: &Json) -> Json {
    json!({ "type": "group", "group": name, "in": inputs })
}

fn formula(text: &str, inputs: &Json) -> Json {
    json!({ "type": "math.expression", "set": { "text": text }, "in": inputs })
}

#[test]
fn switches_with_equal_selectors_break_a_cycle_together() {
    let above = |limit: f32, of: &str| json!({ "type": "compare.greater", "in": { "a": from(of), "b": limit } });
    let mut nodes = either_way();
    for (name, value) in [
        ("u", math("add", &input("x"), 1.0)),
        ("v", math("add", &input("x"), 1.0)),
        ("c", above(5.0, "u")),
        ("d", above(5.0, "v")),
    ] {
        nodes[name] = value;
    }
    nodes["s1"]["in"]["condition"] = from("c");
    nodes["s2"]["in"]["condition"] = from("d");
    let equal = document(&nodes, &["p", "q"]);
    for (x, p, q) in [(3.0_f32, 4.0, 40.0), (5.0, 51.0, 50.0)] {
        let request = Request::new().set("x", x);
        assert_eq!((run(&equal, &request, "p"), run(&equal, &request, "q")), (vec![p], vec![q]));
    }
    let mut session =
        Session::open(&Engine::new(), equal.to_string().as_bytes()).expect("it opens");
    let other = json!({ "edit": "set_input", "node": "v", "input": "b", "to": 2 });
    let refused = edit(&mut session, other).expect_err("the selectors differ");
    assert!(refused.contains("would form a cycle when `c.value` is"), "{refused}");
    nodes["v"]["in"]["b"] = json!(2);
    let different = error(&document(&nodes, &["p", "q"]));
    assert!(different.contains("form a cycle when `c.value` is"), "{different}");
}

/// Groups that compare `v` with a limit; the first two do the same.
fn groups() -> Json {
    let group = |v: &str, limit: &str, node: &str, sign: f32| {
        let mut nodes = json!({});
        nodes[node] = json!({ "type": "compare.greater",
            "in": { "a": input(v), "b": from("scaled") } });
        nodes["scaled"] = math("multiply", &input(limit), sign);
        json!({ "inputs": { v: { "type": "f32" }, limit: { "type": "f32", "default": 4 } },
            "outputs": { "value": { "type": "bool", "from": format!("{node}.value") } },
            "nodes": nodes })
    };
    json!({ "above": group("v", "limit", "n", 1.0), "over": group("w", "most", "m", 1.0),
        "under": group("v", "limit", "n", -1.0) })
}

#[test]
fn selectors_that_differ_only_in_how_they_are_written_are_equal() {
    let x = input("x");
    let greater = |b: Json| json!({ "type": "compare.greater", "in": { "a": x, "b": b } });
    let exchanged = json!({ "type": "compare.greater", "in": { "b": 4, "a": x } });
    let equal = [
        (greater(json!(4)), greater(json!(4.0))),
        (greater(json!(4)), exchanged),
        (
            json!({ "type": "compare.near", "in": { "a": x, "b": 5 } }),
            json!({ "type": "compare.near", "in": { "b": 5.0, "a": x, "tolerance": 1e-6 } }),
        ),
        (formula("a > 4", &json!({ "a": x })), formula(" b>4", &json!({ "b": x }))),
        (
            formula("a > b", &json!({ "a": x, "b": input("k") })),
            formula("u > v", &json!({ "v": input("k"), "u": x })),
        ),
        (call("above", &json!({ "v": x })), call("above", &json!({ "limit": 4.0, "v": x }))),
        (call("above", &json!({ "v": x })), call("over", &json!({ "w": x }))),
    ];
    let different = [
        (greater(json!(4)), greater(json!(4.5))),
        (formula("a > 4", &json!({ "a": x })), formula("a > 5", &json!({ "a": x }))),
        (
            formula("a > b", &json!({ "a": x, "b": input("y") })),
            formula("a > b", &json!({ "b": x, "a": input("y") })),
        ),
        (call("above", &json!({ "v": x })), call("above", &json!({ "v": x, "limit": 5 }))),
        (call("above", &json!({ "v": x })), call("under", &json!({ "v": x }))),
    ];
    let written = |c: &Json, d: &Json| {
        let mut document = by(&json!({ "c": c, "d": d }));
        document["groups"] = groups();
        document
    };
    for (c, d) in &equal {
        let document = written(c, d);
        for x in [3.0_f32, 5.0] {
            let request = Request::new().set("x", x);
            let (p, q) = (run(&document, &request, "p"), run(&document, &request, "q"));
            assert!((p[0] - x - 1.0).abs() < 1e-6 || p == [51.0], "{p:?}: {document}");
            assert!(q[0] == 10.0 * p[0] || q == [50.0], "{q:?}: {document}");
        }
    }
    for (c, d) in &different {
        let error = error(&written(c, d));
        // A selector that a group computes is told as the node in the group.
        let selector = if c["type"] == "group" { "c/n.value" } else { "c.value" };
        let expected = format!("form a cycle when `{selector}` is");
        assert!(error.contains(&expected), "{error}: {c} {d}");
    }
}

#[test]
fn an_edit_in_one_of_two_equal_groups_that_closes_a_cycle_is_refused() {
    let mut document = by(&json!({
        "c": call("above", &json!({ "v": input("x") })), "d": call("over", &json!({ "w": input("x") })) }));
    document["groups"] = groups();
    let mut session =
        Session::open(&Engine::new(), document.to_string().as_bytes()).expect("it opens");
    let other =
        json!({ "edit": "set_input", "within": "over", "node": "scaled", "input": "b", "to": 2 });
    let refused = edit(&mut session, other).expect_err("the selectors differ");
    assert!(refused.contains("would form a cycle when `c.value` is"), "{refused}");
    let default = json!({ "edit": "change_input", "within": "over", "name": "most",
        "def": { "type": "f32", "default": 5 } });
    let refused = edit(&mut session, default).expect_err("the selectors differ");
    assert!(refused.contains("would form a cycle when `c.value` is"), "{refused}");
}

#[test]
fn selectors_that_nodes_pass_on_or_negate_twice_are_equal() {
    let call = |ty: &str, socket: &str, of: &Json| json!({ "type": ty, "in": { socket: of } });
    let not = |of: &Json| call("boolean.not", "x", of);
    let pass = |of: &Json| call("control.pass", "value", of);
    let muted = |mut node: Json| {
        node["muted"] = json!(true);
        node
    };
    let (s, n) = (input("s"), from("n"));
    let above = json!({ "type": "compare.greater", "in": { "a": input("x"), "b": 4 } });
    let of = |text: &str, of: &Json| formula(text, &json!({ "a": of }));
    let by_s: fn(bool, f32) -> bool = |s, _| s;
    let by_not_s: fn(bool, f32) -> bool = |s, _| !s;
    let by_x: fn(bool, f32) -> bool = |_, x| x > 4.0;
    for (more, is_true) in [
        (json!({ "c": pass(&s), "d": not(&n), "n": not(&s) }), by_s),
        (json!({ "c": muted(not(&s)), "d": pass(&n), "n": pass(&s) }), by_s),
        (json!({ "c": of("!(!a)", &s), "d": of("a", &s) }), by_s),
        (json!({ "c": of("!a", &n), "d": pass(&s), "n": of("!a", &s) }), by_s),
        (json!({ "c": not(&s), "d": of("!a", &s) }), by_not_s),
        (json!({ "c": not(&n), "d": of("!!!a", &s), "n": pass(&s) }), by_not_s),
        (json!({ "c": above, "d": of("!!a", &n), "n": above }), by_x),
    ] {
        let document = by(&more);
        for (value, x) in [(false, 3.0_f32), (true, 3.0), (false, 5.0)] {
            let is_true = is_true(value, x);
            let request = Request::new().set("s", value).set("x", x);
            let expected = if is_true { (51.0, 50.0) } else { (x + 1.0, 10.0 * (x + 1.0)) };
            let found = (run(&document, &request, "p")[0], run(&document, &request, "q")[0]);
            assert_eq!(found, expected, "{document}");
        }
        // In a group, too.
        let text = document.to_string();
        let mut session = Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
        let nodes = ["s1", "p", "s2", "q"];
        edit(&mut session, json!({ "edit": "group", "nodes": nodes, "name": "all" }))
            .expect("fits");
        assert!(!session.problems().has_errors(), "{}", session.problems());
    }
    for (c, d) in [
        (pass(&s), not(&s)),
        (of("!a", &s), of("a", &s)),
        // A number that is not 0 is no index.
        (of("!(!a)", &input("k")), of("!(!(!a))", &input("k"))),
    ] {
        let error = error(&by(&json!({ "c": c, "d": d })));
        assert!(error.contains("form a cycle when"), "{error}");
    }
}

#[test]
fn selectors_that_are_negated_once_are_known_together() {
    let formulas = "h = !c\na = c ? b + 1 : 10\nb = h ? a + 1 : 20\n";
    let calls = "a = 1 + control.switch(c, 10, b)\nb = 2 + control.switch(flip(c), 18, a)\n";
    let groups = "a = one(c, 10, b)\nb = two(c, a, 20)\n";
    let shared = "input c: bool = true\noutput a: f32 = a\noutput b: f32 = b\n\
        group one(c: bool, no: f32, yes: f32) -> value: f32 {\n\
        h = !c\nk = flip(h)\nvalue = control.switch(k, no, yes) + 1\n}\n\
        group two(c: bool, no: f32, yes: f32) -> value: f32 {\n\
        n = flip(c)\nvalue = n ? no : yes * 10\n}\n\
        group flip(v: bool) -> value: bool {\nw = control.pass(v)\nvalue = !w\n}\n";
    for (nodes, is_true, is_false) in [
        (formulas, (21.0, 20.0), (10.0, 11.0)),
        (calls, (21.0, 20.0), (11.0, 13.0)),
        (groups, (201.0, 200.0), (11.0, 11.0)),
    ] {
        let text = format!("{nodes}{shared}");
        for (c, expected) in [(true, is_true), (false, is_false)] {
            let program = Engine::new().load(text.as_bytes());
            let program = program.unwrap_or_else(|error| panic!("{error}: {text}"));
            let answer = program.run(&Request::new().set("c", c)).expect("it runs");
            let found = (answer.value::<f32>("a"), answer.value::<f32>("b"));
            assert_eq!(found, (Some(expected.0), Some(expected.1)), "{c}: {text}");
        }
        // In a group of their own, the nodes still know that one selector negates the other.
        let mut session = Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
        let all = json!({ "edit": "group", "nodes": ["a", "b"], "name": "all" });
        edit(&mut session, all).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(super::value(&mut session, "a"), is_true.0, "{text}");
        assert!(session.undo());
    }
    let cycle = formulas.replace("h ?", "c ?");
    let error = Engine::new().load(format!("{cycle}{shared}").as_bytes()).expect_err("a cycle");
    let told = "the nodes form a cycle when input `c` is true: `a` -> `b` -> `a`";
    assert!(error.to_string().contains(told), "{error}");
}

#[test]
fn conditions_that_formulas_compute_break_cycles() {
    let once = "a = t > 1 ? b * 2 : u\nb = (t > 1 ? u + 10 : a + 1) + 1\n";
    let negated = "a = !(t > 1 && u < 99) ? u : b * 2\nb = 1 + control.switch(t > 1 && u < 99, a + 1, u + 10)\n";
    let beside = "c = u < 99\na = c && t > 1 ? b * 2 : u\nb = 1 + (c && t > 1 ? u + 10 : a + 1)\n";
    // The condition reads an input that its arm reads too, and numbers without inputs.
    let shared = "a = t > 1 || 1 / 3 > 1 ? b * 2 : t + u\nb = (t > 1 || 1 / 3 > 1 ? u + 10 : a + 1 - t) + 1\n";
    let inner =
        "a = u > 99 ? b : (t > 1 ? b * 2 : u)\nb = (u > 99 ? 1.0 : (t > 1 ? u + 10 : a + 1)) + 1\n";
    let column = vec![3.0_f32, 0.0, 2.0, 1.0];
    for nodes in [once, negated, beside, shared, inner] {
        for ty in ["f32", "f64"] {
            let text = format!(
                "input t: f32 = 3\ninput u: {ty} = 5\n{nodes}\
                 output a: f32 = convert.to_f32(a)\noutput b: f32 = convert.to_f32(b)\n"
            );
            let engine = Engine::new();
            let request = Request::new().column("t", column.clone());
            let of = |output: &str| crate::callbacks::numbers(&engine, &text, &request, output);
            let add = |t: f32| if nodes == shared { t } else { 0.0 };
            let expected = |t: f32| if t > 1.0 { (32.0, 16.0) } else { (5.0 + add(t), 7.0) };
            let (a, b): (Vec<f32>, Vec<f32>) = column.iter().map(|t| expected(*t)).unzip();
            assert_eq!((of("a"), of("b")), (a, b), "{text}");
            let mut session = Session::open(&engine, text.as_bytes()).expect("it opens");
            assert_eq!(super::value(&mut session, "a"), 32.0, "{text}");
            session.set("t", 0.0_f32).expect("it fits");
            assert_eq!(super::value(&mut session, "b"), 7.0, "{text}");
        }
    }
    let error = |nodes: &str| {
        let text = format!("input t: f32 = 3\ninput u: f32 = 5\n{nodes}output a: f32 = a\n");
        Engine::new().load(text.as_bytes()).expect_err("there is a cycle").to_string()
    };
    let told = error("a = t > 1 ? b * 2 : u\nb = t > 1 ? a + 1 : u\n");
    assert!(told.contains("form a cycle when `t > 1` is true: `a` -> `b` -> `a`"), "{told}");
    let apart = error("a = t > 1 ? b * 2 : u\nb = t <= 2 ? a + 1 : u\n");
    assert!(apart.contains("when `t > 1` is true and `t <= 2` is true"), "{apart}");
    assert!(apart.contains("such as `!c` from `c`"), "{apart}");
    assert!(error(&once.replace("t > 1", "a > 1")).contains("form a cycle: `a` -> "));
}

#[test]
fn comparisons_in_different_types_are_not_related() {
    let of = |format: u32| {
        json!({ "millstream": format,
            "inputs": { "d": { "type": "f64", "default": 3 }, "s": { "type": "f32", "default": 2 } },
            "nodes": {
                "c": { "type": "compare.greater", "in": { "a": input("d"), "b": 16_777_216 } },
                "p": formula("d > 16777216 ? s : q",
                    &json!({ "d": input("d"), "s": input("s"), "q": from("q") })),
                "q": super::switch(&from("c"), &input("s"), &from("p")) },
            "outputs": { "q": { "type": "f64", "from": "q.value" } } })
    };
    assert!(Engine::new().load(of(2).to_string().as_bytes()).is_ok());
    // The formula compares in f32, in which 16777217 is 16777216.
    assert!(error(&of(1)).contains("form a cycle when"), "{}", error(&of(1)));
}
