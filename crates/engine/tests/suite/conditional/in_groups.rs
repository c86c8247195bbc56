//! Cycles whose selectors are computed in groups, or by groups.

use millstream::session::Session;
use millstream::{Engine, Request};

use super::{edit, value};
use crate::callbacks::numbers;
use serde_json::json;

fn refused(text: &str) -> String {
    Engine::new().load(text.as_bytes()).expect_err("it is wrong").to_string()
}

/// `p = x + 1`, `q = 10 p` unless `x > 1`, and then `q = 10 y`, `p = q + 1`.
const IN_GROUPS: &str = "input x: f32 = 3\ninput y: f32 = 5\n\
    g = one(x: x, limit: 1, a: h.y, b: x)\nh = two(x: x, a: y, b: g.y)\n\
    output p: f32 = g.y\noutput q: f32 = h.y\n\
    group one(x: f32, limit: f32, a: f32, b: f32) -> y: f32 {\n\
    s = compare.greater(x, limit)\nw = control.switch(s, b, a)\ny = w + 1\n}\n\
    group two(x: f32, a: f32, b: f32) -> y: f32 {\n  y = (x <= 1 ? b : a) * 10\n}\n";

const BY_GROUPS: &str = "input x: f32 = 3\ninput y: f32 = 5\n\
    c = big(x)\np = control.switch(c.y, x, q) + 1\nd = small(x)\n\
    q = control.switch(d.y, y, p) * 10\noutput p: f32 = p\noutput q: f32 = q\n\
    group big(x: f32) -> y: bool {\n  y = x > 1\n}\n\
    group small(x: f32) -> y: bool {\n  t = big(x)\n  y = !t.y\n}\n";

/// One group, of which two nodes receive opposite selectors through nested groups.
const NESTED: &str = "input x: f32 = 3\ninput y: f32 = 5\nm = ring(x, y)\n\
    output p: f32 = m.p\noutput q: f32 = m.q\n\
    group ring(x: f32, y: f32) -> (p: f32, q: f32) {\n\
    c = above(x)\ng = arm(s: c.y, a: x, b: h.y)\nh = arm(s: 1 >= x, a: y, b: g.y)\n\
    p = g.y + 1\nq = h.y\n}\n\
    group above(x: f32) -> y: bool {\n  y = 1 < x\n}\n\
    group arm(s: bool, a: f32, b: f32) -> y: f32 {\n  i = inner(!s, a, b)\n  y = i.y\n}\n\
    group inner(s: bool, a: f32, b: f32) -> y: f32 {\n\
    t = s == false\n  y = control.switch(t, a, b)\n}\n";

#[test]
fn selectors_in_groups_by_groups_and_in_nested_groups_break_cycles() {
    let engine = Engine::new();
    let xs = vec![3.0_f32, 0.5, 1.0, f32::NEG_INFINITY];
    let request = Request::new().column("x", xs);
    let inf = f32::NEG_INFINITY;
    for text in [IN_GROUPS, BY_GROUPS] {
        assert_eq!(numbers(&engine, text, &request, "p"), [51.0, 1.5, 2.0, inf], "{text}");
        assert_eq!(numbers(&engine, text, &request, "q"), [50.0, 15.0, 20.0, inf], "{text}");
    }
    assert_eq!(numbers(&engine, NESTED, &request, "p"), [6.0, 1.5, 2.0, inf]);
    assert_eq!(numbers(&engine, NESTED, &request, "q"), [5.0, 0.5, 1.0, inf]);
}

#[test]
fn a_cycle_that_stays_is_told_by_its_path_and_the_selectors_in_the_groups() {
    let error = refused(&IN_GROUPS.replace("x <= 1", "x < 2"));
    let expected = "the nodes form a cycle when `g/s.value` is true and `x < 2` of `h/y` is true";
    assert!(error.contains(expected), "{error}");
    assert!(error.contains("`g/w` -> `g/y` -> `h/y` -> `g/w`"), "{error}");
    // Without a switch, the author's nodes are named.
    let error = refused(
        &IN_GROUPS.replace("(x <= 1 ? b : a)", "(a + b)").replace("(s, b, a)", "(s, a, a)"),
    );
    assert!(error.contains("the nodes form a cycle"), "{error}");
}

#[test]
fn groups_that_convert_their_inputs_differently_are_not_related() {
    // In `one`, 16777217 is 16777216.
    let text = "input i: i32 = 0\ng = one(i, h.y)\nh = two(i, g.y)\noutput y: f32 = g.y\n\
        group one(i: f32, a: f32) -> y: f32 {\n  y = i > 16777216 ? 1 : a\n}\n\
        group two(i: i32, a: f32) -> y: f32 {\n  y = i > 16777216 ? a : 2\n}\n";
    assert!(refused(text).contains("form a cycle"));
    let engine = Engine::new();
    let text = text.replace("i: f32", "i: i32");
    for (i, expected) in [(16_777_216, 2.0), (16_777_217, 1.0)] {
        assert_eq!(numbers(&engine, &text, &Request::new().set("i", i), "y"), [expected]);
    }
}

#[test]
fn sessions_take_edits_that_close_cycles_between_groups() {
    for text in [IN_GROUPS, BY_GROUPS, NESTED] {
        let mut session = Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
        for (x, p) in [(0.5_f32, 1.5), (3.0, if text == NESTED { 6.0 } else { 51.0 })] {
            session.set("x", x).expect("it is an input");
            assert_eq!(value(&mut session, "p"), p, "{text}");
        }
    }
    let mut session = Session::open(&Engine::new(), IN_GROUPS.as_bytes()).expect("it opens");
    let link = |from: &str| json!({ "edit": "set_input", "node": "g", "input": "a", "to": { "from": from } });
    let cut = json!({ "edit": "set_input", "node": "g", "input": "a", "to": 7 });
    edit(&mut session, cut).expect("it is right");
    assert_eq!(value(&mut session, "p"), 8.0);
    edit(&mut session, link("h.y")).expect("switches break the cycle");
    assert_eq!(value(&mut session, "p"), 51.0);
    let closed = edit(&mut session, link("g.y")).expect_err("a cycle");
    assert!(closed.contains("form a cycle"), "{closed}");
    assert_eq!(value(&mut session, "p"), 51.0);
}

#[test]
fn a_wrong_node_elsewhere_leaves_such_cycles_their_values() {
    let text = format!("{IN_GROUPS}output wrong: f32 = nothing\n");
    let mut session = Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
    assert_eq!(value(&mut session, "p"), 51.0);
}
