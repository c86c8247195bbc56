//! Switches that take the same arm in all cases.

use millstream::session::Session;
use millstream::{Engine, Request};
use serde_json::{Value as Json, json};

use super::{document, edit, error, from, input, math, run, switch, value};

/// `b` is one more than `a`, whose other arm is `b`.
fn looped(a: &Json, groups: &Json) -> Json {
    let nodes = json!({ "a": a, "b": math("add", &from("a"), 1.0) });
    let mut document = document(&nodes, &["a", "b"]);
    document["groups"] = groups.clone();
    document
}

/// A group of the inputs `s`, `no` and `yes`, whose output is that of this node.
fn group(s: &Json, node: &Json) -> Json {
    json!({
        "inputs": { "s": s, "no": { "type": "f32" }, "yes": { "type": "f32" } },
        "outputs": { "value": { "type": "f32", "from": "pick.value" } },
        "nodes": { "pick": node } })
}

#[test]
fn an_arm_that_a_literal_never_takes_closes_no_cycle() {
    let request = Request::new();
    let of = |selector: Json| {
        document(
            &json!({ "a": switch(&selector, &json!(3), &from("b")),
                "b": math("add", &from("a"), 1.0) }),
            &["a", "b"],
        )
    };
    assert_eq!(run(&of(json!(false)), &request, "b"), [4.0]);
    let closed = error(&of(json!(true)));
    assert!(closed.contains("the nodes form a cycle: `a` -> `b` -> `a`"), "{closed}");
    let mut chosen = of(json!(false));
    chosen["nodes"]["a"] = json!({ "type": "control.choose",
        "in": { "index": 7, "items": [from("b"), input("x")] } });
    assert_eq!(run(&chosen, &request, "b"), [4.0]);
    // The selector of a switch in a group is given to the node that uses it.
    let mut grouped = of(json!(false));
    grouped["nodes"]["a"] = json!({ "type": "group", "group": "pick",
        "in": { "s": false, "no": 3, "yes": from("b") } });
    grouped["groups"] = json!({ "pick": {
        "inputs": { "s": { "type": "bool" }, "no": { "type": "f32" }, "yes": { "type": "f32" } },
        "outputs": { "value": { "type": "f32", "from": "pick.value" } },
        "nodes": { "pick": switch(&input("s"), &input("no"), &input("yes")) } } });
    assert_eq!(run(&grouped, &request, "b"), [4.0]);
    grouped["nodes"]["a"]["in"]["s"] = json!(true);
    assert!(error(&grouped).contains("the nodes form a cycle: `a` -> `b` -> `a`"));
}

#[test]
fn a_selector_that_is_constant_in_a_group_breaks_cycles() {
    let bool = json!({ "type": "bool" });
    let inside = |s: &Json| switch(s, &input("no"), &input("yes"));
    let by_default = |s: bool| json!({ "type": "bool", "default": s });
    let call = |name: &str| json!({ "type": "group", "group": name, "in": { "s": input("s"), "no": 3, "yes": from("b") } });
    let nested = |s: &Json| {
        json!({ "type": "group", "group": "pick",
            "in": { "s": s, "no": input("no"), "yes": input("yes") } })
    };
    let documents = |s: bool| {
        let mut left_out = call("pick");
        left_out["in"].as_object_mut().expect("inputs").remove("s");
        let mut inner = nested(&json!(s));
        inner["in"].as_object_mut().expect("inputs").remove("s");
        let pick = group(&by_default(s), &inside(&input("s")));
        [
            looped(&call("pick"), &json!({ "pick": group(&bool, &inside(&json!(s))) })),
            looped(&left_out, &json!({ "pick": pick })),
            looped(
                &call("outer"),
                &json!({ "outer": group(&bool, &nested(&json!(s))), "pick": pick }),
            ),
            looped(&call("outer"), &json!({ "outer": group(&bool, &inner), "pick": pick })),
        ]
    };
    for document in documents(false) {
        assert_eq!(run(&document, &Request::new().set("s", true), "b"), [4.0], "{document}");
    }
    for document in documents(true) {
        let error = error(&document);
        assert!(error.contains("the nodes form a cycle: `a` -> `b` -> `a`"), "{error}: {document}");
    }
    // Edits in the group that close the cycle are refused.
    let [document, ..] = documents(false);
    let mut session =
        Session::open(&Engine::new(), document.to_string().as_bytes()).expect("it opens");
    let to = json!({ "edit": "set_input", "within": "pick", "node": "pick", "input": "condition", "to": true });
    let refused = edit(&mut session, to).expect_err("a cycle");
    assert!(refused.contains("form a cycle"), "{refused}");
    assert_eq!(value(&mut session, "b"), 4.0);
}

#[test]
fn a_choice_without_an_index_takes_its_first_item() {
    let choose = |items: [Json; 2]| json!({ "type": "control.choose", "in": { "items": items } });
    let document = looped(&choose([input("x"), from("b")]), &json!({}));
    assert_eq!(run(&document, &Request::new(), "b"), [4.0]);
    let error = error(&looped(&choose([from("b"), input("x")]), &json!({})));
    assert!(error.contains("the nodes form a cycle: `a` -> `b` -> `a`"), "{error}");
}

#[test]
fn a_muted_switch_closes_only_cycles_through_its_first_arm() {
    let muted = |no: Json, yes: Json| {
        let mut node = switch(&input("s"), &no, &yes);
        node["muted"] = json!(true);
        node
    };
    let document = looped(&muted(input("x"), from("b")), &json!({}));
    assert_eq!(run(&document, &Request::new().set("s", true), "b"), [4.0]);
    let in_group = group(&json!({ "type": "bool" }), &muted(input("no"), input("yes")));
    let call = json!({ "type": "group", "group": "pick",
        "in": { "s": true, "no": input("x"), "yes": from("b") } });
    let grouped = looped(&call, &json!({ "pick": in_group }));
    assert_eq!(run(&grouped, &Request::new(), "b"), [4.0]);
    let error = error(&looped(&muted(from("b"), input("x")), &json!({})));
    assert!(error.contains("the nodes form a cycle: `a` -> `b` -> `a`"), "{error}");
    let mut session =
        Session::open(&Engine::new(), document.to_string().as_bytes()).expect("it opens");
    let unmute = json!({ "edit": "mute", "node": "a", "muted": false });
    let refused = edit(&mut session, unmute).expect_err("a cycle");
    assert!(refused.contains("would form a cycle when input `s` is true"), "{refused}");
    assert_eq!(value(&mut session, "b"), 4.0);
}

#[test]
fn a_constant_switch_breaks_cycles_through_other_contexts_but_not_through_state() {
    let request = Request::new();
    let of = |inner: Json| {
        document(
            &json!({ "a": switch(&json!(false), &json!(3), &from("inner")), "inner": inner }),
            &["a"],
        )
    };
    let scopes = [
        json!({ "type": "context.with_time", "in": { "value": from("a"), "time": 1 } }),
        json!({ "type": "time.shift", "in": { "value": from("a"), "by": 1 } }),
        json!({ "type": "reduce.sum", "in": { "value": from("a") } }),
    ];
    for scope in scopes {
        assert_eq!(run(&of(scope), &request, "a"), [3.0]);
    }
    let muted = |inner: Json| {
        let mut document = of(inner);
        document["nodes"]["a"]["in"]["condition"] = input("s");
        document["nodes"]["a"]["muted"] = json!(true);
        document
    };
    let shifted = json!({ "type": "time.shift", "in": { "value": from("a"), "by": 1 } });
    assert_eq!(run(&muted(shifted), &request, "a"), [3.0]);
    let sum = json!({ "type": "state.integrate", "in": { "rate": from("a") } });
    for document in [of(sum.clone()), muted(sum)] {
        let closed = error(&document);
        assert!(closed.contains("`inner` keeps state"), "{closed}");
    }
}

#[test]
fn a_selector_that_is_constant_through_nodes_breaks_cycles() {
    let not = |of: &Json| json!({ "type": "boolean.not", "in": { "x": of } });
    let pass = |of: &Json| json!({ "type": "control.pass", "in": { "value": of } });
    let text = |text: &str| json!({ "type": "math.expression", "set": { "text": text } });
    let mut muted = not(&json!(false));
    muted["muted"] = json!(true);
    let of = |c: &Json, n: &Json| {
        document(
            &json!({ "c": c, "n": n, "a": switch(&from("c"), &json!(3), &from("b")),
                "b": math("add", &from("a"), 1.0) }),
            &["a", "b"],
        )
    };
    let n = from("n");
    for (c, n) in [
        (pass(&json!(false)), text("1")),
        (not(&json!(true)), text("1")),
        (muted, text("1")),
        (text("false"), text("1")),
        (text("!true"), text("1")),
        (not(&n), pass(&json!(true))),
        (pass(&n), not(&json!(true))),
    ] {
        assert_eq!(run(&of(&c, &n), &Request::new(), "b"), [4.0], "{c}");
    }
    for c in [pass(&json!(true)), not(&json!(false)), text("!false")] {
        let closed = error(&of(&c, &text("1")));
        assert!(closed.contains("the nodes form a cycle: `a` -> `b` -> `a`"), "{closed}");
    }
    // An index that a truth value selects.
    let mut chosen = of(&pass(&json!(true)), &text("1"));
    chosen["nodes"]["a"] = json!({ "type": "control.choose",
        "in": { "index": from("c"), "items": [from("b"), input("x")] } });
    assert_eq!(run(&chosen, &Request::new(), "b"), [4.0]);
}
