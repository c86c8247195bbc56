//! Used documents: names, locks, and every possible problem.

use std::collections::HashMap;
use std::sync::Arc;

use expect_test::{Expect, expect};
use millstream_base::Limits;
use millstream_base::diagnostics::Diagnostics;

use super::{locks, read_used};
use crate::checked::Checked;
use crate::edit::{Edit, EditKind, Editor, NewNode};
use crate::library::Library;
use crate::model::{Document, Node, NodeKind};
use crate::test_registry::registry;
use crate::{load, open, save};

/// Files by path.
fn library(files: &[(&str, &str)]) -> impl Library + use<> {
    let own = |(path, text): &(&str, &str)| ((*path).to_owned(), text.as_bytes().to_vec());
    let files: HashMap<String, Vec<u8>> = files.iter().map(own).collect();
    move |path: &str| files.get(path).cloned().ok_or("there is no such file")
}

fn opened(text: &str, files: &[(&str, &str)]) -> (Option<(Document, Checked)>, Diagnostics) {
    open(text.as_bytes(), &registry(), Some(&library(files)), &[], &Limits::default())
}

#[expect(clippy::needless_pass_by_value, reason = "callers write the expectation in place")]
fn expect_problems(text: &str, files: &[(&str, &str)], expected: Expect) {
    let (_, problems) = opened(text, files);
    let counts = |code: &str| code != "used::not_locked" || problems.len() == 1;
    let meant = problems.iter().filter(|problem| counts(&problem.code));
    let lines = meant.map(|problem| format!("{}: {problem}\n", problem.code));
    expected.assert_eq(&lines.collect::<String>());
}

/// A document whose node `n` uses this group of `lib.json`.
fn using(group: &str, more: &str) -> String {
    format!(
        r#"{{ "millstream": 1,
        "outputs": {{ "y": {{ "type": "f32", "from": "n.value" }} }},
        "nodes": {{ "n": {{ "type": "group", "group": "{group}" }} }},
        "use": {{ "lib": "lib.json" }}{more} }}"#
    )
}

/// A document with a group `root` that computes the root of 4, as does the whole document.
const ROOTS: &str = r#"{ "millstream": 1,
    "outputs": { "value": { "type": "f32", "from": "r.value" } },
    "nodes": { "r": { "type": "math.sqrt", "in": { "x": 9 } } },
    "groups": { "root": {
        "outputs": { "value": { "type": "f32", "from": "r.value" } },
        "nodes": { "r": { "type": "math.sqrt", "in": { "x": 4 } } } } } }"#;

/// A document with a group `outer` that uses `inner/root`.
const OUTER: &str = r#"{ "millstream": 1, "use": { "inner": "sub/inner.json" },
    "groups": { "outer": {
        "outputs": { "value": { "type": "f32", "from": "g.value" } },
        "nodes": { "g": { "type": "group", "group": "inner/root" } } } } }"#;

fn groups(document: &Document) -> Vec<&str> {
    document.groups.keys().map(|name| &**name).collect()
}

#[test]
fn groups_and_whole_documents_are_used_by_name() {
    let (document, _) = opened(&using("lib/root", ""), &[("lib.json", ROOTS)]).0.expect("right");
    assert_eq!(groups(&document), ["lib/root"]);
    let (document, _) = opened(&using("lib", ""), &[("lib.json", ROOTS)]).0.expect("right");
    assert_eq!(groups(&document), ["lib"]);
}

#[test]
fn a_document_reached_through_several_uses_is_read_once() {
    let text = using("lib/outer", "").replace("\"lib\"", "\"own\": \"sub/inner.json\", \"lib\"");
    let files = [("lib.json", OUTER), ("sub/inner.json", ROOTS)];
    let (document, _) = opened(&text, &files).0.expect("right");
    assert_eq!(groups(&document), ["lib/outer", "own/root"]);
    // A long name leads to the same group.
    let (document, _) = opened(&using("lib/inner/root", ""), &files).0.expect("right");
    assert_eq!(groups(&document), ["lib/inner/root"]);
}

#[test]
fn only_needed_groups_are_copied() {
    let group = |k: usize| {
        let next = format!(r#"{{ "g": {{ "type": "group", "group": "g{}" }} }}"#, k + 1);
        let nodes = if k.is_multiple_of(100) { next } else { "{}".to_owned() };
        format!(r#""g{k}": {{ "nodes": {nodes} }}"#)
    };
    let all: Vec<String> = (0..1000).map(group).collect();
    let large = format!(r#"{{ "millstream": 1, "groups": {{ {} }} }}"#, all.join(","));
    let text = r#"{ "millstream": 1, "use": { "lib": "lib.json" },
        "nodes": { "n": { "type": "group", "group": "lib/g100" } } }"#;
    let (document, _) = opened(text, &[("lib.json", &large)]).0.expect("right");
    assert_eq!(groups(&document), ["lib/g100", "lib/g101"]);
}

#[test]
fn saving_writes_the_use_and_not_the_groups() {
    let text = using("lib/root", r#", "lock": { "lib": { "format": 1, "hash": "x" } }"#);
    let (mut document, _) = load(text.as_bytes(), &Limits::default());
    let document = document.as_mut().expect("it loads");
    read_used(
        document,
        &registry(),
        Some(&library(&[("lib.json", ROOTS)])),
        &[],
        &Limits::default(),
    );
    expect![[r#"
        {
          "millstream": 1,
          "outputs": {
            "y": { "type": "f32", "from": "n.value" }
          },
          "nodes": {
            "n": { "type": "group", "group": "lib/root" }
          },
          "use": {
            "lib": "lib.json"
          },
          "lock": {
            "lib": { "format": 1, "hash": "x" }
          }
        }
    "#]]
    .assert_eq(&save(document));
}

#[test]
fn missing_documents_are_reported_with_a_position() {
    let problems = expect![[r#"
        used::missing: `lib.json` cannot be read: there is no such file (check the path, which is relative to the document that uses it)
    "#]];
    expect_problems(&using("lib/root", ""), &[], problems);
    let problems = expect![[r#"
        used::missing: lib.json:1: lib: `sub/inner.json` cannot be read: there is no such file (check the path, which is relative to the document that uses it)
    "#]];
    expect_problems(&using("lib/outer", ""), &[("lib.json", OUTER)], problems);
    let (_, problems) =
        open(using("lib/root", "").as_bytes(), &registry(), None, &[], &Limits::default());
    let problem = problems.iter().next().expect("there is one");
    assert_eq!(problem.code, "used::no_library");
    assert!(problem.place.span.is_some());
}

#[test]
fn paths_that_lead_outside_are_refused() {
    let at = |path: &str| using("lib/root", "").replace("lib.json", path);
    expect_problems(
        &at("/etc/passwd"),
        &[],
        expect![[r#"
            used::bad_path: the path `/etc/passwd` is absolute (write it relative to the document that uses it: "lib/noise.mill.json")
        "#]],
    );
    expect_problems(
        &at("lib/../../x.json"),
        &[("x.json", ROOTS)],
        expect![[r#"
            used::missing: `lib/../../x.json` leads out of the library (use a path with fewer `..`)
        "#]],
    );
}

#[test]
fn cycles_between_documents_are_reported_with_their_files() {
    let back = OUTER.replace("sub/inner.json", "other.json");
    let files = [("lib.json", &*back), ("other.json", &back.replace("other.json", "lib.json"))];
    expect_problems(
        &using("lib/outer", ""),
        &files,
        expect![[r#"
            used::cycle: lib.json:1: lib: documents use each other in a cycle: lib.json uses other.json uses lib.json (remove one of these uses, or move what both need to a third document)
        "#]],
    );
    let own = OUTER.replace("sub/inner.json", "lib.json");
    let (_, problems) = opened(&using("lib/outer", ""), &[("lib.json", &own)]);
    assert!(problems.to_string().contains("cycle: lib.json uses lib.json"), "{problems}");
    // This is how a closure names the top document.
    let top = OUTER.replace("sub/inner.json", "the document");
    let (_, problems) = opened(&using("lib/outer", ""), &[("lib.json", &top)]);
    assert!(
        problems.to_string().contains("cycle: the document uses lib.json uses the document"),
        "{problems}"
    );
}

#[test]
fn a_newer_format_is_reported_with_the_file() {
    expect_problems(
        &using("lib/root", ""),
        &[("lib.json", &ROOTS.replace("\"millstream\": 1", "\n\"millstream\": 999"))],
        expect![[r#"
            load::newer_version: lib.json:2: lib: the document has format 999; this build reads formats up to 2 (open it with a newer release of millstream)
        "#]],
    );
}

#[test]
fn problems_in_used_groups_have_their_file_and_line() {
    let wrong =
        ROOTS.replace("\"math.sqrt\", \"in\": { \"x\": 4", "\n\"math.sqr\", \"in\": { \"x\": 4");
    expect_problems(
        &using("lib/root", ""),
        &[("lib.json", &wrong)],
        expect![[r#"
            check::unknown_node_type: lib.json:6: lib/root/r: there is no node type called `math.sqr` (did you mean `math.sqrt`?)
        "#]],
    );
    let unreadable = ROOTS.replace("\"x\": 4", "\"x\": { \"form\": 4 }");
    expect_problems(
        &using("lib/root", ""),
        &[("lib.json", &unreadable)],
        expect![[r#"
            load::unknown_key: lib.json:6: lib/root/r.x: the source has no entry called `form` (did you mean `from`?)
        "#]],
    );
    // Errors in unused parts do no harm.
    assert!(opened(&using("lib", ""), &[("lib.json", &unreadable)]).0.is_some());
}

#[test]
fn unknown_groups_are_reported_with_the_existing_names() {
    expect_problems(
        &using("lib/rot", ""),
        &[("lib.json", ROOTS)],
        expect![[r#"
            check::unknown_group: n: there is no group called `lib/rot` (did you mean `lib/root`?)
        "#]],
    );
    expect_problems(
        &using("bil/zzz", ""),
        &[("lib.json", ROOTS)],
        expect![[r#"
            check::unknown_group: n: there is no group called `bil/zzz` (name the document that holds it: "use": { "noise": "lib/noise.mill.json" })
        "#]],
    );
}

#[test]
fn a_use_and_a_group_cannot_share_a_name() {
    let text = using("lib/root", r#", "groups": { "lib": {} }"#);
    let (_, problems) = opened(&text, &[("lib.json", ROOTS)]);
    assert_eq!(problems.iter().filter(|it| it.code == "used::name_taken").count(), 1);
}

#[test]
fn limits_apply_to_used_documents() {
    let chain = |k: usize| {
        let next = format!("{}.json", k + 1);
        (format!("{k}.json"), format!(r#"{{ "millstream": 1, "use": {{ "a": "{next}" }} }}"#))
    };
    let files: Vec<(String, String)> = (0..100).map(chain).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (&**a, &**b)).collect();
    let text = using("lib", "").replace("lib.json", "0.json");
    let (_, problems) = opened(&text, &files);
    assert!(problems.to_string().contains("more than 64 deep"), "{problems}");
    let limits = Limits { used_documents: 3, ..Limits::default() };
    let (_, problems) = open(text.as_bytes(), &registry(), Some(&library(&files)), &[], &limits);
    assert!(problems.to_string().contains("more than 3 documents"), "{problems}");
    let limits = Limits { document_bytes: text.len(), ..Limits::default() };
    let (_, problems) = open(text.as_bytes(), &registry(), Some(&library(&files)), &[], &limits);
    assert!(problems.to_string().contains("bytes"), "{problems}");
}

fn with_lock(text: &str, files: &[(&str, &str)]) -> String {
    let (document, _) = load(text.as_bytes(), &Limits::default());
    let document = document.expect("it loads");
    let lock = locks(&document, Some(&library(files)), &Limits::default());
    super::with_lock(text, &lock.expect("all can be read"))
}

#[test]
fn a_used_document_that_changed_since_it_was_locked_is_refused() {
    let files = [("lib.json", OUTER), ("sub/inner.json", ROOTS)];
    let text = using("lib/outer", "");
    expect_problems(
        &text,
        &files,
        expect![[r#"
            used::not_locked: `lib.json`, used as `lib`, is not locked, so changes to it go unnoticed (`millstream check --update-lock the document` locks it)
        "#]],
    );
    let text = with_lock(&text, &files);
    expect_problems(&text, &files, expect![""]);
    assert_eq!(with_lock(&text, &files), text);
    // Layout and views do not matter.
    let view = ROOTS.replace("\"groups\"", "\n\n\"view\": { \"a\": 1 }, \"groups\"");
    expect_problems(&text, &[files[0], ("sub/inner.json", &view)], expect![""]);
    // The content of an inner document does.
    let other = ROOTS.replace('4', "5");
    let changed = [files[0], ("sub/inner.json", &*other)];
    expect_problems(
        &text,
        &changed,
        expect![[r#"
            used::changed: `lib.json`, or a document that it uses, has changed since it was locked as `lib` (review the change; `millstream check --update-lock the document` locks the document as it is now)
        "#]],
    );
    let again = with_lock(&text, &changed);
    expect_problems(&again, &changed, expect![""]);
    // The innermost lock reports the change.
    let outer = with_lock(OUTER, &[("sub/inner.json", ROOTS)]);
    let text = with_lock(&text, &[("lib.json", &outer), files[1]]);
    let (_, problems) = opened(&text, &[("lib.json", &outer), changed[1]]);
    let codes: Vec<&str> = problems.iter().map(|it| &*it.code).collect();
    assert_eq!(codes, ["used::changed"]);
    assert!(problems.to_string().contains("`sub/inner.json` has changed"), "{problems}");
}

#[test]
fn a_lock_of_an_unused_document_is_a_warning() {
    let text = using("lib", r#", "lock": { "bil": { "format": 1, "hash": "x" } }"#);
    let (opened, problems) = opened(&text, &[("lib.json", ROOTS)]);
    assert!(opened.is_some());
    assert!(problems.iter().any(|it| it.code == "used::unused_lock"), "{problems}");
}

fn editor(text: &str, files: &[(&str, &str)]) -> Editor {
    let (document, _) = opened(text, files).0.expect("right");
    Editor::new(document, Arc::new(registry()))
}

#[test]
fn groups_of_used_documents_are_added_by_the_first_use_and_removed_by_undo() {
    let files = [("lib.json", OUTER), ("sub/inner.json", ROOTS)];
    let text = using("lib/outer", "").replace(
        "{ \"n\": { \"type\": \"group\", \"group\": \"lib/outer\" } }",
        "{ \"n\": { \"type\": \"math.sqrt\", \"in\": { \"x\": 4 } } }",
    );
    let mut editor = editor(&text, &files);
    assert!(groups(editor.document()).is_empty());
    let node = Node::new(NodeKind::Group("lib/outer".into()));
    let add: Edit = EditKind::AddNodes { nodes: vec![NewNode::new("m", node)] }.into();
    let done = editor.apply(&add).expect("the group is there");
    assert_eq!(groups(editor.document()), ["lib/outer", "lib/inner/root"]);
    let done = editor.revert(&done.inverse).expect("it was applied");
    assert!(groups(editor.document()).is_empty());
    editor.revert(&done.inverse).expect("it was undone");
    assert_eq!(groups(editor.document()), ["lib/outer", "lib/inner/root"]);
    // They are removed with the last use, and added with the type of a node.
    let remove = EditKind::RemoveNodes { nodes: vec!["m".into()] };
    let done = editor.apply(&remove.into()).expect("nothing reads it");
    assert!(groups(editor.document()).is_empty());
    editor.revert(&done.inverse).expect("it was applied");
    assert_eq!(groups(editor.document()), ["lib/outer", "lib/inner/root"]);
    let kind = NodeKind::Group("lib/inner".into());
    editor.apply(&EditKind::ReplaceType { node: "n".into(), kind }.into()).expect("it is there");
    assert!(editor.document().groups.contains_key("lib/inner"));
}

#[test]
fn groups_of_used_documents_cannot_be_edited() {
    let mut editor = editor(&using("lib/root", ""), &[("lib.json", ROOTS)]);
    let within = EditKind::Mute { node: "r".into(), muted: true }.within(Some("lib/root".into()));
    let error = editor.apply(&within).expect_err("it is of another document");
    expect!["lib/root: group `lib/root` is part of `lib.json`, which the document uses (change that file, or ungroup the node to get a copy of the group's nodes)"]
    .assert_eq(&error.to_string());
    for refused in [
        EditKind::RenameGroup { name: "lib/root".into(), to: "own".into() },
        EditKind::RemoveGroup { name: "lib/root".into() },
    ] {
        let error = editor.apply(&refused.into()).expect_err("it is of another document");
        assert_eq!(error.code, "edit::of_used_document");
    }
    let add =
        EditKind::AddGroup { name: "lib".into(), def: Box::default(), before: None, ids: None };
    assert_eq!(editor.apply(&add.into()).expect_err("a use").code, "edit::name_taken");
    // A copy of its nodes belongs to the document itself.
    let before = save(editor.document());
    let done = editor.apply(&EditKind::Ungroup { node: "n".into() }.into()).expect("it can be");
    assert_eq!(editor.document().nodes.keys().map(|it| &**it).collect::<Vec<_>>(), ["r"]);
    editor.revert(&done.inverse).expect("it was applied");
    assert_eq!(save(editor.document()), before);
    let error = editor.apply(&within).expect_err("it is of another document again");
    assert_eq!(error.code, "edit::of_used_document");
}

#[test]
fn groups_of_a_library_may_be_unused() {
    let (opened, problems) = opened(OUTER, &[("sub/inner.json", ROOTS)]);
    assert!(opened.is_some());
    assert!(!problems.iter().any(|it| it.code == "check::unused_group"), "{problems}");
}
