//! Edits one by one: their changes, refusals and inverses.

use std::sync::Arc;

use expect_test::{Expect, expect};
use millstream_base::Limits;
use serde_json::json;

use super::{Edit, Editor};
use crate::test_registry::registry;
use crate::{check, load, save};

const SUMS: &str = r#"{ "millstream": 2,
    "inputs": { "x": { "type": "f32", "default": 2 }, "i": { "type": "i32", "default": 1 } },
    "outputs": { "y": { "type": "f32", "from": "c.value" }, "z": { "type": "f32", "input": "x" } },
    "nodes": {
        "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
        "b": { "type": "math.sum", "in": { "values": [{ "from": "a.value" }, { "value": 2 }, { "from": "a.value" }] } },
        "c": { "type": "math.add", "in": { "a": { "from": "b.value" }, "b": { "from": "g.v" } } },
        "g": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } }
    },
    "groups": { "twice": {
        "inputs": { "x": { "type": "f32", "default": 1 } },
        "outputs": { "v": { "type": "f32", "from": "s.value" } },
        "nodes": { "s": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "x" } } } } } } }"#;

fn editor(text: &str) -> Editor {
    let (document, problems) = load(text.as_bytes(), &Limits::default());
    assert!(problems.is_empty(), "{problems}");
    Editor::new(document.expect("there are no problems"), Arc::new(registry()))
}

fn edit(json: serde_json::Value) -> Edit {
    let edit: Edit = serde_json::from_value(json).expect("an edit");
    let text = serde_json::to_string(&edit).expect("edits are JSON");
    let again: Edit = serde_json::from_str(&text).expect("edits read what they write");
    assert_eq!(again, edit);
    edit
}

/// Checks the lines that an edit changes, and that undo and redo give the same documents.
pub(super) fn changes(text: &str, json: serde_json::Value, expected: &Expect) {
    let mut editor = editor(text);
    let before = save(editor.document());
    let done = match editor.apply(&edit(json)) {
        Ok(done) => done,
        Err(refused) => {
            assert_eq!(save(editor.document()), before);
            expected.assert_eq(&format!("{refused}\n"));
            return;
        }
    };
    let after = save(editor.document());
    let mut lines = String::new();
    for line in before.lines().filter(|line| !after.lines().any(|other| other == *line)) {
        lines += &format!("-{line}\n");
    }
    for line in after.lines().filter(|line| !before.lines().any(|other| other == *line)) {
        lines += &format!("+{line}\n");
    }
    expected.assert_eq(&lines);
    let undone = editor.revert(&done.inverse).expect("an inverse applies");
    assert_eq!(save(editor.document()), before);
    editor.revert(&undone.inverse).expect("an inverse applies");
    assert_eq!(save(editor.document()), after);
    let (checked, problems) = check(editor.document(), &registry(), &Limits::default());
    assert_eq!(checked.is_some(), !problems.has_errors(), "{problems}");
}

#[test]
fn links_and_literals_change_one_line() {
    changes(
        SUMS,
        json!({ "edit": "set_input", "node": "a", "input": "b", "to": { "input": "i" } }),
        &expect![[r#"
            -    "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
            +    "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "i" } } },
        "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "set_input", "node": "c", "input": "b" }),
        &expect![[r#"
        -    "c": { "type": "math.add", "in": { "a": { "from": "b.value" }, "b": { "from": "g.v" } } },
        +    "c": { "type": "math.add", "in": { "a": { "from": "b.value" } } },
    "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "set_input", "node": "b", "input": "values",
            "to": [{ "from": "g.v" }, { "value": 5 }] }),
        &expect![[r#"
            -    "b": {
            -      "type": "math.sum",
            -      "in": { "values": [{ "from": "a.value" }, { "value": 2 }, { "from": "a.value" }] }
            -    },
            +    "b": { "type": "math.sum", "in": { "values": [{ "from": "g.v" }, { "value": 5 }] } },
        "#]],
    );
}

#[test]
fn dangling_links_are_refused() {
    for (node, input, to) in [
        ("c", "b", json!({ "from": "h.v" })),
        ("c", "b", json!({ "from": "g.w" })),
        ("c", "b", json!({ "from": "a.values" })),
        ("c", "bb", json!({ "from": "g.v" })),
        ("d", "b", json!({ "from": "g.v" })),
        ("c", "b", json!({ "input": "y" })),
    ] {
        changes(
            SUMS,
            json!({ "edit": "set_input", "node": node, "input": input, "to": to }),
            match (node, input) {
                ("c", "bb") => &expect![[r#"
                    c: `math.add` has no input called `bb` (did you mean `b`?)
                "#]],
                ("d", _) => &expect![[r#"
                    d: there is no node called `d` (there is `a`, `b`, `c`, `g`)
                "#]],
                _ if to == json!({ "from": "h.v" }) => &expect![[r#"
                    c.b: there is no node called `h` (there is `a`, `b`, `c`, `g`)
                "#]],
                _ if to == json!({ "from": "g.w" }) => &expect![[r#"
                    c.b: `twice` has no output called `w` (there is `v`)
                "#]],
                _ if to == json!({ "input": "y" }) => &expect![[r#"
                    c.b: there is no input called `y` (there is `x`, `i`)
                "#]],
                _ => &expect![[r#"
                    c.b: `math.add` has no output called `values` (did you mean `value`?)
                "#]],
            },
        );
    }
}

#[test]
fn cycles_are_refused_with_their_path() {
    changes(
        SUMS,
        json!({ "edit": "set_input", "node": "a", "input": "b", "to": { "from": "c.value" } }),
        &expect![[r#"
            a: the nodes would form a cycle: `a` -> `b` -> `c` -> `a` (link something else, or insert a `state.feedback` node, which gives the value of the previous tick)
        "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "set_input", "node": "a", "input": "b", "to": { "from": "a.value" } }),
        &expect![[r#"
            a: the nodes would form a cycle: `a` -> `a` (link something else, or insert a `state.feedback` node, which gives the value of the previous tick)
        "#]],
    );
}

#[test]
fn a_feedback_node_may_close_a_cycle_until_it_is_muted() {
    let mut editor = editor(SUMS);
    let add = edit(json!({ "edit": "add_nodes", "nodes": [
        { "name": "last", "node": { "type": "state.last", "in": { "value": { "from": "c.value" } } } }] }));
    editor.apply(&add).expect("it is well formed");
    let link = edit(
        json!({ "edit": "set_input", "node": "a", "input": "b", "to": { "from": "last.value" } }),
    );
    editor.apply(&link).expect("the value is that of the tick before");
    let mute = edit(json!({ "edit": "mute", "node": "last", "muted": true }));
    let refused = editor.apply(&mute).expect_err("a cycle");
    assert_eq!(refused.code, "edit::cycle");
    assert!(!editor.document().nodes["last"].muted);
}

#[test]
fn removing_nodes_removes_their_links_and_can_be_undone() {
    changes(
        SUMS,
        json!({ "edit": "remove_nodes", "nodes": ["a", "g"] }),
        &expect![[r#"
        -    "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
        -    "b": {
        -      "type": "math.sum",
        -      "in": { "values": [{ "from": "a.value" }, { "value": 2 }, { "from": "a.value" }] }
        -    },
        -    "c": { "type": "math.add", "in": { "a": { "from": "b.value" }, "b": { "from": "g.v" } } },
        -    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } }
        +    "b": { "type": "math.sum", "in": { "values": [{ "value": 2 }] } },
        +    "c": { "type": "math.add", "in": { "a": { "from": "b.value" } } }
    "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "remove_nodes", "nodes": ["b", "c"] }),
        &expect![[r#"
            y: node `c` is used by output `y` (give the output another source or remove it first)
        "#]],
    );
}

#[test]
fn renames_are_followed() {
    changes(
        SUMS,
        json!({ "edit": "rename_node", "node": "a", "to": "first" }),
        &expect![[r#"
        -    "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
        -      "in": { "values": [{ "from": "a.value" }, { "value": 2 }, { "from": "a.value" }] }
        -    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } }
        +    "first": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
        +      "in": { "values": [{ "from": "first.value" }, { "value": 2 }, { "from": "first.value" }] }
        +    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "first.value" } } }
    "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "rename_node", "node": "a", "to": "g" }),
        &expect![[r#"
        a: there is a node called `g` already (`g_2` is free)
    "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "rename_node", "node": "a", "to": "g.v" }),
        &expect![[r#"
            a: `g.v` cannot be the name of a node: it contains a `.` (choose another name)
        "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "rename_input", "name": "x", "to": "size" }),
        &expect![[r#"
        -    "x": { "type": "f32", "default": 2 },
        -    "z": { "type": "f32", "input": "x" }
        -    "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
        +    "size": { "type": "f32", "default": 2 },
        +    "z": { "type": "f32", "input": "size" }
        +    "a": { "type": "math.add", "in": { "a": { "input": "size" }, "b": 1 } },
    "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "rename_input", "within": "twice", "name": "x", "to": "size" }),
        &expect![[r#"
            -    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } }
            -        "x": { "type": "f32", "default": 1 }
            -        "s": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "x" } } }
            +    "g": { "type": "group", "group": "twice", "in": { "size": { "from": "a.value" } } }
            +        "size": { "type": "f32", "default": 1 }
            +        "s": { "type": "math.add", "in": { "a": { "input": "size" }, "b": { "input": "size" } } }
        "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "rename_output", "within": "twice", "name": "v", "to": "sum" }),
        &expect![[r#"
            -    "c": { "type": "math.add", "in": { "a": { "from": "b.value" }, "b": { "from": "g.v" } } },
            -        "v": { "type": "f32", "from": "s.value" }
            +    "c": { "type": "math.add", "in": { "a": { "from": "b.value" }, "b": { "from": "g.sum" } } },
            +        "sum": { "type": "f32", "from": "s.value" }
        "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "rename_group", "name": "twice", "to": "double" }),
        &expect![[r#"
            -    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } }
            -    "twice": {
            +    "g": { "type": "group", "group": "double", "in": { "x": { "from": "a.value" } } }
            +    "double": {
        "#]],
    );
}

#[test]
fn a_new_type_keeps_matching_sockets_and_settings() {
    changes(
        SUMS,
        json!({ "edit": "replace_type", "node": "a", "kind": { "type": "data.two" } }),
        &expect![[r#"
            -    "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
            -      "in": { "values": [{ "from": "a.value" }, { "value": 2 }, { "from": "a.value" }] }
            -    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } }
            +    "a": { "type": "data.two" },
            +      "in": { "values": [{ "from": "a.number" }, { "value": 2 }, { "from": "a.number" }] }
            +    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "a.number" } } }
        "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "replace_type", "node": "a", "kind": { "type": "math.sqr" } }),
        &expect![[r#"
            a: there is no node type called `math.sqr` (did you mean `math.sqrt`?)
        "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "replace_type", "node": "a",
            "kind": { "type": "group", "group": "twice" } }),
        &expect![[r#"
            -    "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
            -      "in": { "values": [{ "from": "a.value" }, { "value": 2 }, { "from": "a.value" }] }
            -    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } }
            +    "a": { "type": "group", "group": "twice" },
            +      "in": { "values": [{ "from": "a.v" }, { "value": 2 }, { "from": "a.v" }] }
            +    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "a.v" } } }
        "#]],
    );
}

#[test]
fn nodes_are_grouped_and_ungrouped() {
    changes(
        SUMS,
        json!({ "edit": "group", "nodes": ["a", "b"], "name": "sums" }),
        &expect![[r#"
        -    "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
        -    "b": {
        -      "type": "math.sum",
        -      "in": { "values": [{ "from": "a.value" }, { "value": 2 }, { "from": "a.value" }] }
        -    "c": { "type": "math.add", "in": { "a": { "from": "b.value" }, "b": { "from": "g.v" } } },
        -    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } }
        +    "sums": { "type": "group", "group": "sums", "in": { "x": { "input": "x" } } },
        +    "c": { "type": "math.add", "in": { "a": { "from": "sums.b_value" }, "b": { "from": "g.v" } } },
        +    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "sums.value" } } }
        +    "sums": {
        +        "x": { "type": "f32" }
        +        "value": { "type": "f32", "from": "a.value" },
        +        "b_value": { "type": "f32", "from": "b.value" }
        +        "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
        +        "b": {
        +          "type": "math.sum",
        +          "in": { "values": [{ "from": "a.value" }, { "value": 2 }, { "from": "a.value" }] }
        +        }
    "#]],
    );
}

#[test]
fn nodes_can_be_grouped_with_others_between_them() {
    changes(
        SUMS,
        json!({ "edit": "group", "nodes": ["a", "c"], "name": "sums" }),
        &expect![[r#"
            -    "y": { "type": "f32", "from": "c.value" },
            -    "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
            -      "in": { "values": [{ "from": "a.value" }, { "value": 2 }, { "from": "a.value" }] }
            -    "c": { "type": "math.add", "in": { "a": { "from": "b.value" }, "b": { "from": "g.v" } } },
            -    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } }
            +    "y": { "type": "f32", "from": "sums.c_value" },
            +    "sums": {
            +      "type": "group",
            +      "group": "sums",
            +      "in": { "x": { "input": "x" }, "a": { "from": "b.value" }, "b": { "from": "g.v" } }
            +      "in": { "values": [{ "from": "sums.value" }, { "value": 2 }, { "from": "sums.value" }] }
            +    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "sums.value" } } }
            +    "sums": {
            +        "x": { "type": "f32" },
            +        "a": { "type": "f32" },
            +        "b": { "type": "f32" }
            +        "value": { "type": "f32", "from": "a.value" },
            +        "c_value": { "type": "f32", "from": "c.value" }
            +        "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
            +        "c": { "type": "math.add", "in": { "a": { "input": "a" }, "b": { "input": "b" } } }
        "#]],
    );
}

#[test]
fn group_names_are_checked_and_groups_are_dissolved() {
    changes(
        SUMS,
        json!({ "edit": "group", "nodes": ["c"], "name": "twice" }),
        &expect![[r#"
        twice: there is a group called `twice` already (`twice_2` is free)
    "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "ungroup", "node": "g" }),
        &expect![[r#"
        -    "c": { "type": "math.add", "in": { "a": { "from": "b.value" }, "b": { "from": "g.v" } } },
        -    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } }
        -  "groups": {
        -    "twice": {
        -      "inputs": {
        -        "x": { "type": "f32", "default": 1 }
        -      },
        -      "outputs": {
        -        "v": { "type": "f32", "from": "s.value" }
        -      },
        -      "nodes": {
        -        "s": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "x" } } }
        -      }
        -    }
        +    "c": { "type": "math.add", "in": { "a": { "from": "b.value" }, "b": { "from": "s.value" } } },
        +    "s": { "type": "math.add", "in": { "a": { "from": "a.value" }, "b": { "from": "a.value" } } }
    "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "ungroup", "node": "a" }),
        &expect![[r#"
            a: `a` is not a group (choose a node of type `group`)
        "#]],
    );
}

#[test]
fn uses_of_groups_follow_their_changes() {
    changes(
        SUMS,
        json!({ "edit": "remove_input", "within": "twice", "name": "x" }),
        &expect![[r#"
            -    "g": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } }
            -      "inputs": {
            -        "x": { "type": "f32", "default": 1 }
            -        "s": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "x" } } }
            +    "g": { "type": "group", "group": "twice" }
            +        "s": { "type": "math.add" }
        "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "remove_output", "within": "twice", "name": "v" }),
        &expect![[r#"
            -    "c": { "type": "math.add", "in": { "a": { "from": "b.value" }, "b": { "from": "g.v" } } },
            -      "outputs": {
            -        "v": { "type": "f32", "from": "s.value" }
            +    "c": { "type": "math.add", "in": { "a": { "from": "b.value" } } },
        "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "remove_group", "name": "twice" }),
        &expect![[r#"
            twice: group `twice` is used by node `g` (remove the nodes that use it first, or ungroup them)
        "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "add_nodes", "within": "twice", "nodes": [
            { "name": "self", "node": { "type": "group", "group": "twice" } }] }),
        &expect![[r#"
            twice/self: group `twice` would contain itself (use another group, or a copy of this one)
        "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "remove_input", "name": "x" }),
        &expect![[r#"
            z: input `x` is used by output `z` (give the output another source or remove it first)
        "#]],
    );
}

#[test]
fn a_batch_is_refused_as_a_whole() {
    changes(
        SUMS,
        json!({ "edit": "batch", "edits": [
            { "edit": "remove_output", "name": "y" },
            { "edit": "remove_nodes", "nodes": ["c", "b"] },
            { "edit": "add_nodes", "nodes": [{ "name": "c", "node": { "type": "math.sqrt" }, "before": "g" }] },
            { "edit": "set_input", "node": "c", "input": "x", "to": { "from": "b.value" } }] }),
        &expect![[r#"
            c.x: there is no node called `b` (there is `a`, `c`, `g`)
        "#]],
    );
    changes(
        SUMS,
        json!({ "edit": "batch", "edits": [
            { "edit": "set_head", "name": "Title", "fps": 30, "start_frame": 1 },
            { "edit": "set_view", "to": "{ \"zoom\": 1.50 }" },
            { "edit": "change_input", "name": "i", "def": { "type": "i32", "default": 3, "unit": "m" } }] }),
        &expect![[r#"
            -    "i": { "type": "i32", "default": 1 }
            -  }
            +  "name": "Title",
            +  "fps": 30,
            +  "start_frame": 1,
            +    "i": { "type": "i32", "default": 3, "unit": "m" }
            +  "view": { "zoom": 1.50 }
        "#]],
    );
}

#[test]
fn ids_outlive_names_and_groups() {
    let mut editor = editor(SUMS);
    let a = editor.id_of(None, "a").expect("it exists");
    let all = [
        json!({ "edit": "rename_node", "node": "a", "to": "first" }),
        json!({ "edit": "group", "nodes": ["first", "b"], "name": "sums" }),
        json!({ "edit": "rename_group", "name": "sums", "to": "adds" }),
    ];
    let mut inverses: Vec<Edit> =
        all.into_iter().map(|json| editor.apply(&edit(json)).expect("fits").inverse).collect();
    assert_eq!(editor.node_with_id(a), Some((Some("adds"), "first")));
    let user = editor.id_of(None, "sums").expect("it exists");
    assert_eq!(editor.ids_of("sums/first"), Some(vec![user, a]));
    let ungroup = edit(json!({ "edit": "ungroup", "node": "sums" }));
    inverses.push(editor.apply(&ungroup).expect("fits").inverse);
    assert_eq!(editor.node_with_id(a), Some((None, "first")));
    while let Some(inverse) = inverses.pop() {
        editor.revert(&inverse).expect("fits");
    }
    assert_eq!(editor.node_with_id(a), Some((None, "a")));
    assert_eq!(save(editor.document()), save(&self::editor(SUMS).into_document()));
}

#[test]
fn edits_of_groups_views_and_batches_are_refused_inside_a_group() {
    for change in [
        json!({ "edit": "rename_group", "within": "twice", "name": "twice", "to": "double" }),
        json!({ "edit": "batch", "within": "twice", "edits": [] }),
    ] {
        changes(
            SUMS,
            change,
            &expect![[r#"
                twice: groups, the view and the head belong to the document, not to a group (leave out `within`; in a batch, each edit has its own)
            "#]],
        );
    }
}

#[test]
fn invalid_edits_are_reported() {
    for (text, expected) in [
        (
            r#"{ "edit": "paint" }"#,
            expect![
                "unknown variant `paint`, expected one of `add_nodes`, `remove_nodes`, `set_input`, `set_setting`, `mute`, `rename_node`, `replace_type`, `set_type`, `add_input`, `remove_input`, `change_input`, `rename_input`, `add_output`, `remove_output`, `change_output`, `rename_output`, `add_group`, `remove_group`, `rename_group`, `group`, `ungroup`, `set_view`, `set_view_entry`, `set_head`, `batch` at line 1 column 19"
            ],
        ),
        (
            r#"{ "edit": "mute", "node": "a" }"#,
            expect!["missing field `muted` at line 1 column 31"],
        ),
        (
            r#"{ "edit": "mute", "node": "a", "muted": true, "group": "g" }"#,
            expect!["unknown field `group`, expected `node` or `muted` at line 1 column 60"],
        ),
        (
            r#"{ "edit": "set_input", "node": "a", "input": "b", "to": { "from": "c" } }"#,
            expect![[r#"`c` is not a link; links are written "node.output" at line 1 column 73"#]],
        ),
        (
            r#"{ "edit": "set_input", "node": "a", "input": "b", "to": { "from": "c.v", "value": 1 } }"#,
            expect!["a source has one of the keys `from`, `input` and `value` at line 1 column 87"],
        ),
    ] {
        let error = serde_json::from_str::<Edit>(text).expect_err("no edit");
        expected.assert_eq(&error.to_string());
    }
}

#[test]
fn editing_one_of_a_million_nodes_is_fast() {
    let n = 200_000;
    let mut b = crate::builder::Builder::new("long");
    let mut last = b.node("math.sqrt").named("n").arg("x", 1.0).value::<f32>();
    for _ in 1..n {
        last = b.node("math.sqrt").named("n").arg("x", last).value::<f32>();
    }
    b.output("y", last);
    let mut editor = Editor::new(b.finish(), Arc::new(registry()));
    let started = std::time::Instant::now();
    for i in 0..200 {
        let name = format!("n_{}", 1000 + i);
        let remove = edit(json!({ "edit": "remove_nodes", "nodes": [name] }));
        let done = editor.apply(&remove).expect("fits");
        editor.revert(&done.inverse).expect("fits");
    }
    // Visiting all nodes for each edit would take a hundred times as long.
    assert!(started.elapsed().as_secs_f64() < 0.5, "{:?}", started.elapsed());
}

#[test]
fn zeros_of_opposite_sign_are_different_values() {
    let text = SUMS.replace("\"b\": 1 }", "\"b\": 0.0 }");
    let to = json!({ "value": -0.0 });
    changes(
        &text,
        json!({ "edit": "set_input", "node": "a", "input": "b", "to": to }),
        &expect![[r#"
            -    "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 0.0 } },
            +    "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": -0.0 } },
        "#]],
    );
    let mut editor = editor(&text);
    let set = |to: f64| edit(json!({ "edit": "set_input", "node": "a", "input": "b", "to": to }));
    let n_changes =
        |editor: &mut Editor, to| editor.apply(&set(to)).expect("it fits").changes.len();
    assert_eq!(n_changes(&mut editor, 0.0), 0, "it is the same");
    assert_eq!(n_changes(&mut editor, -0.0), 1);
    assert_eq!(n_changes(&mut editor, -0.0), 0);
}
