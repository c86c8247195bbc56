//! Scripts of random edits: each edit can be undone exactly, refused edits leave no trace, and the
//! index equals that of a new editor for the document.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_base::Limits;
use millstream_base::diagnostics::Diagnostics;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value as Json, json};

use super::index::{BodyKey, ById, ROOT, User};
use super::{Edit, EditKind, Editor};
use crate::model::Named;
use crate::properties::{FORMAT_0, HERON, MANY_PARTS, document, json_value};
use crate::test_registry::registry;
use crate::{Document, check, load, open, save};

const NODE_TYPES: [&str; 8] = [
    "math.add",
    "math.sum",
    "math.sqrt",
    "data.two",
    "list.first",
    "state.last",
    "text.length",
    "math.lost",
];

/// The random choices of an edit; names are picked among the existing ones.
#[derive(Clone, Debug)]
struct Sketch {
    kind: u8,
    group: Option<Index>,
    picks: [Index; 4],
    nonsense: u8,
    json: Json,
}

fn sketch() -> impl Strategy<Value = Sketch> {
    (
        0_u8..26,
        prop::option::weighted(0.4, any::<Index>()),
        any::<[Index; 4]>(),
        0_u8..40,
        json_value(),
    )
        .prop_map(|(kind, group, picks, nonsense, json)| Sketch {
            kind,
            group,
            picks,
            nonsense,
            json,
        })
}

fn pick(names: &[String], index: Index, nonsense: bool) -> String {
    match names.len() {
        _ if nonsense => "no such".into(),
        0 => "none".into(),
        _ => index.get(names).clone(),
    }
}

impl Sketch {
    /// The edit for the current document.
    fn edit(&self, document: &Document) -> Edit {
        let [p, q, r, s] = self.picks;
        let strings = |names: Vec<&Arc<str>>| -> Vec<String> {
            names.into_iter().map(ToString::to_string).collect()
        };
        let groups = strings(document.groups.keys().collect());
        let group = self.group.filter(|_| !groups.is_empty()).map(|at| at.get(&groups).clone());
        let body = group.as_ref().and_then(|group| document.groups.get(group));
        let nodes = body.map_or(&document.nodes, |body| &body.nodes);
        let inputs = body.map_or(&document.inputs, |body| &body.inputs);
        let outputs = body.map_or(&document.outputs, |body| &body.outputs);
        let node_names = strings(nodes.keys().collect());
        let node = pick(&node_names, p, self.nonsense == 0);
        let other = pick(&node_names, q, self.nonsense == 1);
        let input = pick(&strings(inputs.keys().collect()), q, self.nonsense == 2);
        let output = pick(&strings(outputs.keys().collect()), q, self.nonsense == 3);
        let sockets = ["a", "b", "x", "values", "value", "list", "text"].map(str::to_owned);
        let socket = match nodes.get(&node).filter(|_| self.nonsense.is_multiple_of(2)) {
            Some(node) if !node.inputs.is_empty() => {
                pick(&strings(node.inputs.iter().map(|(name, _)| name).collect()), r, false)
            }
            _ => pick(&sockets, r, false),
        };
        let fresh = format!("new{}", r.index(5));
        let ty = NODE_TYPES[s.index(NODE_TYPES.len())];
        let link = json!({ "from": format!("{other}.{}", ["value", "number", "v"][s.index(3)]) });
        let source = match r.index(5) {
            0 => json!({ "input": input }),
            1 => json!({ "value": self.json }),
            2 => json!([link, { "value": 1 }, link]),
            _ => link.clone(),
        };
        let kind = match (groups.is_empty(), s.index(4)) {
            (false, 0) => json!({ "type": "group", "group": pick(&groups, q, false) }),
            _ => json!({ "type": ty }),
        };
        let some: Vec<&String> = node_names.iter().take(1 + r.index(3)).chain([&node]).collect();
        let mut json = match self.kind {
            0 | 1 => {
                let mut new = kind;
                new["in"] = json!({ socket: source });
                let mut nodes = vec![json!({ "name": fresh, "node": new })];
                if self.nonsense.is_multiple_of(3) {
                    nodes[0]["before"] = json!(node);
                    let read = json!({ "type": "math.sqrt", "in": { "x": { "from": format!("{fresh}.value") } } });
                    nodes.insert(0, json!({ "name": "reader", "node": read }));
                }
                json!({ "edit": "add_nodes", "nodes": nodes })
            }
            2 | 3 => json!({ "edit": "remove_nodes", "nodes": some }),
            4..=7 => json!({ "edit": "set_input", "node": node, "input": socket, "to": source }),
            8 => json!({ "edit": "set_input", "node": node, "input": socket }),
            9 => json!({ "edit": "set_setting", "node": node, "setting": "text", "to": self.json }),
            10 => json!({ "edit": "mute", "node": node, "muted": r.index(2) == 0 }),
            11 => {
                json!({ "edit": "rename_node", "node": node, "to": if self.nonsense < 5 { other } else { fresh } })
            }
            12 | 13 => json!({ "edit": "replace_type", "node": node, "kind": kind }),
            14 => {
                json!({ "edit": "add_input", "name": fresh, "def": { "type": "f32", "default": self.json } })
            }
            15 => json!({ "edit": "remove_input", "name": input }),
            16 => json!({ "edit": "rename_input", "name": input, "to": fresh }),
            17 => json!({ "edit": "rename_output", "name": output, "to": fresh }),
            18 => json!({ "edit": "remove_output", "name": output }),
            19 => json!({ "edit": "change_output", "name": output,
                "def": { "type": "f32", "from": format!("{other}.value") } }),
            20 | 21 => json!({ "edit": "group", "nodes": some, "name": fresh }),
            22 => json!({ "edit": "ungroup", "node": node }),
            24 | 25 => self.view_entry(&node),
            _ => {
                json!({ "edit": "rename_group", "name": group.clone().unwrap_or_default(), "to": fresh })
            }
        };
        if let Some(group) = group.filter(|_| self.kind < 23) {
            json["within"] = json!(group);
        }
        serde_json::from_value(json).expect("an edit")
    }
}

impl Sketch {
    /// Sets or removes an entry of the view.
    fn view_entry(&self, node: &str) -> Json {
        let first = self.picks[2].index(2);
        let keys = &["nodes", node, "at"][first..=1 + first];
        let mut json = json!({ "edit": "set_view_entry", "keys": keys });
        if self.picks[3].index(3) > 0 {
            json["to"] = json!(self.json.to_string());
        }
        json
    }
}

/// All visible state of an editor: the text, and the ids by position.
fn seen(editor: &Editor) -> (String, BTreeMap<String, u64>) {
    let document = editor.document();
    let mut ids = BTreeMap::new();
    for name in document.nodes.keys() {
        ids.insert(name.to_string(), editor.id_of(None, name).expect("nodes have ids"));
    }
    for (group, def) in &document.groups {
        for name in def.nodes.keys() {
            let id = editor.id_of(Some(group), name).expect("nodes have ids");
            ids.insert(format!("{group}/{name}"), id);
        }
    }
    (save(document), ids)
}

type Told = BTreeMap<String, Vec<String>>;

/// The readers in a body, by name.
fn users(editor: &Editor, body: BodyKey) -> [Told; 2] {
    let view = editor.view(body);
    let name = |user: &User| match user {
        User::Node(slot) => format!("node {}", view.nodes.at(*slot).expect("users exist").0),
        User::Output(slot) => {
            format!("output {}", view.outputs.at(*slot).expect("users exist").0)
        }
    };
    let index = editor.index(body);
    [&index.of_nodes, &index.of_inputs].map(|map| {
        map.iter()
            .map(|(read, users)| {
                let mut users: Vec<String> = users.iter().map(name).collect();
                users.sort();
                (read.to_string(), users)
            })
            .collect()
    })
}

/// The dependencies and dependents of each node of a body, by name.
fn near(editor: &Editor, body: BodyKey) -> BTreeMap<String, [Vec<String>; 2]> {
    let (nodes, near) = (editor.nodes(body), &editor.index(body).order);
    let names = |slots: &[u32]| {
        let name = |slot: &u32| nodes.at(*slot).expect("it exists").0.to_string();
        let mut names: Vec<String> = slots.iter().map(name).collect();
        names.sort();
        names
    };
    let of = |slot| [names(near.sources(slot)), names(near.dependents(slot))];
    nodes.iter_slots().map(|(slot, name, _)| (name.to_string(), of(slot))).collect()
}

/// Checks that the editor's index equals that of a new editor for its document.
fn assert_sound(editor: &Editor) {
    let fresh = Editor::new(editor.document().clone(), Arc::new(registry()));
    let bodies = |editor: &Editor| -> Vec<BodyKey> {
        let groups = editor.document().groups.iter_slots().map(|(slot, ..)| slot);
        groups.chain([ROOT]).collect()
    };
    for (body, other) in bodies(editor).into_iter().zip(bodies(&fresh)) {
        assert_eq!(users(editor, body), users(&fresh, other));
        assert_eq!(near(editor, body), near(&fresh, other));
    }
    let uses = |editor: &Editor| -> Told {
        let name = |(body, slot): &(BodyKey, u32)| {
            let node = editor.nodes(*body).at(*slot).expect("uses exist").0;
            format!("{:?}/{node}", editor.group_name(*body))
        };
        editor
            .uses
            .iter()
            .map(|(group, uses)| {
                let mut uses: Vec<String> = uses.iter().map(name).collect();
                uses.sort();
                (group.to_string(), uses)
            })
            .collect()
    };
    assert_eq!(uses(editor), uses(&fresh));
    assert_eq!(editor.n_nodes, editor.document().n_nodes());
    assert_eq!(editor.by_id.len(), editor.n_nodes);
}

/// The problems without positions in the text, which an edited document no longer has.
fn messages(problems: &Diagnostics) -> Vec<String> {
    let mut messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
    messages.sort();
    messages
}

/// The contents of the slots of a document, which must not change without a reported change.
fn slots(editor: &Editor) -> (ById, Vec<(BodyKey, u32, String)>) {
    fn names<T>(body: BodyKey, named: &Named<T>) -> Vec<(BodyKey, u32, String)> {
        named.iter_slots().map(|(slot, name, _)| (body, slot, name.to_string())).collect()
    }
    let groups = &editor.document().groups;
    let bodies = groups.iter_slots().map(|(slot, ..)| slot).chain([ROOT]);
    let of_body = |body| {
        let view = editor.view(body);
        [names(body, view.inputs), names(body, view.outputs), names(body, view.nodes)].concat()
    };
    let all = names(ROOT, groups).into_iter().chain(bodies.flat_map(of_body)).collect();
    (editor.by_id.clone(), all)
}

/// Refuses a batch of valid edits because of its last one: nothing changes.
fn refuse_late(editor: &mut Editor, script: &[Sketch]) {
    let mut twin = Editor::with_ids(editor.document().clone(), Arc::new(registry()), &editor.ids());
    let mut edits: Vec<Edit> = Vec::new();
    for sketch in script {
        let edit = sketch.edit(twin.document());
        if twin.apply(&edit).is_ok() {
            edits.push(edit);
        }
    }
    edits.push(EditKind::RemoveGroup { name: "no such group".into() }.into());
    let before = (seen(editor), slots(editor));
    let batch = Edit::batch(edits);
    editor.apply(&batch).expect_err("its last edit does not fit");
    assert_eq!((seen(editor), slots(editor)), before, "{batch:?}");
    assert_sound(editor);
}

/// Plays a script; every edit can be undone, by itself and with all others.
fn play(start: Document, script: &[Sketch]) {
    let mut editor = Editor::new(start, Arc::new(registry()));
    let first = seen(&editor);
    let mut inverses = Vec::new();
    // A second editor that receives all edits from the middle on.
    let mut twin = None;
    for (i, sketch) in script.iter().enumerate() {
        if i == script.len() / 2 {
            let (copy, ids) = (editor.document().clone(), editor.ids());
            twin = Some(Editor::with_ids(copy, Arc::new(registry()), &ids));
        }
        refuse_late(&mut editor, &script[i..script.len().min(i + 5)]);
        let (before, held) = (seen(&editor), slots(&editor));
        let edit = sketch.edit(editor.document());
        match editor.apply(&edit) {
            Err(refused) => {
                assert!(!refused.message.is_empty());
                assert_eq!(seen(&editor), before, "{edit:?}");
                assert_eq!(slots(&editor), held, "no follower hears of {edit:?}");
            }
            Ok(done) => {
                let after = seen(&editor);
                let undone = editor.revert(&done.inverse).expect("inverses apply");
                assert_eq!(seen(&editor), before, "{edit:?}");
                assert_sound(&editor);
                let done = editor.revert(&undone.inverse).expect("inverses apply");
                assert_eq!(seen(&editor), after, "{edit:?}");
                let text = serde_json::to_string(&done.inverse).expect("edits are JSON");
                let read: Edit = serde_json::from_str(&text).expect("edits read what they write");
                assert_eq!(read, done.inverse);
                inverses.push(read);
                if let Some(twin) = &mut twin {
                    twin.apply(&edit).expect("a twin takes the same edits");
                    assert_eq!(seen(twin), after, "{edit:?}");
                }
            }
        }
        assert_sound(&editor);
    }
    let text = save(editor.document());
    let (_, problems) = check(editor.document(), &registry(), &Limits::default());
    let (again, loaded) = load(text.as_bytes(), &Limits::default());
    if loaded.is_empty() {
        let (_, fresh) = check(&again.expect("it was read"), &registry(), &Limits::default());
        assert_eq!(messages(&problems), messages(&fresh));
    }
    while let Some(inverse) = inverses.pop() {
        editor.revert(&inverse).expect("inverses apply");
        if let Some(twin) = &mut twin {
            twin.revert(&inverse).expect("inverses are those of a twin");
            assert_eq!(seen(twin), seen(&editor));
        }
    }
    assert_eq!(seen(&editor), first);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scripts_on_good_documents_take_back(
        start in select(vec![HERON, FORMAT_0, MANY_PARTS]),
        script in vec(sketch(), 1..14),
    ) {
        let (opened, _) = open(start.as_bytes(), &registry(), None, &[], &Limits::default());
        play(opened.expect("the document is good").0, &script);
    }

    #[test]
    fn scripts_on_any_document_take_back(start in document(), script in vec(sketch(), 1..8)) {
        play(start, &script);
    }

    /// A document without cycles never gets one.
    #[test]
    fn no_script_closes_a_cycle(script in vec(sketch(), 1..20)) {
        let (opened, _) = open(HERON.as_bytes(), &registry(), None, &[], &Limits::default());
        let mut editor = Editor::new(opened.expect("the document is good").0, Arc::new(registry()));
        for sketch in script {
            // Refused edits do not matter here.
            let _ = editor.apply(&sketch.edit(editor.document()));
            let (_, problems) = check(editor.document(), &registry(), &Limits::default());
            for problem in &problems {
                let structural = ["check::cycle", "check::unknown_node", "check::unknown_group",
                    "check::unknown_graph_input", "check::recursive_group", "check::bad_name"];
                prop_assert!(!structural.contains(&problem.code.as_str()), "{}", problem);
            }
        }
    }
}
