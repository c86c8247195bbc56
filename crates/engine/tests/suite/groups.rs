//! Grouping and ungrouping preserve the meaning of a document: in generated documents, whose groups
//! get other types at their borders and literals as arguments, every value keeps its bits.

use std::sync::Arc;

use millstream::session::{Ask, Session};
use millstream::{Edit, Engine, LogDetail, Request};
use millstream_base::{Column, Limits, Type};
use millstream_document::{Document, Editor, NodeKind, save};
use millstream_ir::answer::{Answer, Series};
use millstream_node::Data;
use millstream_node::convert::convertible;
use millstream_testkit::agreement::difference;
use millstream_testkit::generate::cases;
use millstream_testkit::generate::document::document_of;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value as Json, json};

/// The random choices of an edit; names are picked among those that exist.
#[derive(Clone, Debug)]
struct Act {
    kind: u8,
    picks: [Index; 4],
}

fn act() -> impl Strategy<Value = Act> {
    (0_u8..10, any::<[Index; 4]>()).prop_map(|(kind, picks)| Act { kind, picks })
}

fn edit(json: Json) -> Edit {
    serde_json::from_value(json).expect("an edit")
}

fn names<'a>(names: impl Iterator<Item = &'a Arc<str>>) -> Vec<String> {
    names.map(ToString::to_string).collect()
}

/// A value of each type that can be written as a literal.
fn literal(ty: &str, pick: usize) -> Option<Json> {
    let number = [json!(0.1), json!(-0.0), json!(16_777_217), json!(3), json!("nan")];
    let whole = [json!(16_777_217), json!(-3), json!(0)];
    Some(match ty {
        "bool" => json!(pick.is_multiple_of(2)),
        "i32" => whole[pick % whole.len()].clone(),
        "i64" => [json!(9_007_199_254_740_993_i64), json!(5)][pick % 2].clone(),
        "f32" | "f64" => number[pick % number.len()].clone(),
        "vec2" => json!([0.1, 2]),
        "vec3" => json!([1, 2, 0.3]),
        "vec4" | "color" => json!([1, 2, 3, 0.25]),
        "string" => json!("text"),
        "list<f32>" => [json!([]), json!([1, 0.1])][pick % 2].clone(),
        _ => return None,
    })
}

impl Act {
    /// The edit, and whether it preserves the meaning of the document.
    fn edit(&self, document: &Document) -> Option<(Edit, bool)> {
        let [p, q, r, s] = self.picks;
        let groups = names(document.groups.keys());
        let within = (!groups.is_empty() && self.kind.is_multiple_of(2)).then(|| p.get(&groups));
        let nodes = match within {
            Some(group) => &document.groups[group.as_str()].nodes,
            None => &document.nodes,
        };
        let all = names(nodes.keys());
        let users: Vec<(&Arc<str>, &Arc<str>)> = (nodes.iter())
            .filter_map(|(name, node)| match &node.kind {
                NodeKind::Group(group) => Some((name, group)),
                NodeKind::Type(_) | NodeKind::Zone(..) | NodeKind::Closure(_) => None,
            })
            .collect();
        let (mut json, keeps) = match self.kind {
            0..=2 if !all.is_empty() => {
                let mut some = vec![q.get(&all), r.get(&all), s.get(&all)];
                some.truncate(1 + p.index(3));
                let fresh = format!("g{}", document.groups.len() + q.index(3));
                (json!({ "edit": "group", "nodes": some, "name": fresh }), true)
            }
            3..=6 if !users.is_empty() => {
                (json!({ "edit": "ungroup", "node": q.get(&users).0 }), true)
            }
            7 if !users.is_empty() => {
                let (user, group) = q.get(&users);
                let inputs = &document.groups[&***group].inputs;
                let input = if inputs.is_empty() { return None } else { r.index(inputs.len()) };
                let (input, def) = inputs.iter().nth(input)?;
                let to = literal(&def.ty, s.index(5))?;
                (
                    json!({ "edit": "set_input", "node": user, "input": input, "to": { "value": to } }),
                    false,
                )
            }
            8 if !groups.is_empty() => {
                let group = q.get(&groups);
                let inputs = &document.groups[group.as_str()].inputs;
                let input = if inputs.is_empty() { return None } else { r.index(inputs.len()) };
                let (name, def) = inputs.iter().nth(input)?;
                let ty = other_type(&def.ty, s)?;
                let mut def = json!({ "type": ty });
                if let Some(default) = literal(&ty, s.index(5)) {
                    def["default"] = default;
                }
                let json =
                    json!({ "edit": "change_input", "within": group, "name": name, "def": def });
                return Some((edit(json), false));
            }
            9 if !groups.is_empty() => {
                let group = q.get(&groups);
                let outputs = &document.groups[group.as_str()].outputs;
                let output = if outputs.is_empty() { return None } else { r.index(outputs.len()) };
                let (name, def) = outputs.iter().nth(output)?;
                let ty = other_type(&def.ty, s)?;
                let mut changed = serde_json::to_value(def).expect("definitions are JSON");
                changed["type"] = json!(ty);
                let json = json!({ "edit": "change_output", "within": group, "name": name, "def": changed });
                return Some((edit(json), false));
            }
            _ => return None,
        };
        if let Some(group) = within {
            json["within"] = json!(group);
        }
        Some((edit(json), keeps))
    }
}

/// A type to which this one converts.
fn other_type(ty: &str, pick: Index) -> Option<String> {
    let from = Type::BUILT_IN.into_iter().find(|known| known.name() == ty)?;
    let to: Vec<Type> = Type::BUILT_IN
        .into_iter()
        .chain(from.list())
        .filter(|to| *to != from && convertible(from, *to))
        .collect();
    (!to.is_empty()).then(|| pick.get(&to).name().to_owned())
}

/// The answer; `None` if the document is wrong.
fn answer(engine: &Engine, document: &Document, request: &Request) -> Option<Answer> {
    let program = engine.compile(document.clone()).ok()?;
    program.run(request).ok()
}

/// How two values of an output differ, in any cell.
fn differ((of_a, a): (&Answer, &Series), (of_b, b): (&Answer, &Series)) -> Option<String> {
    // A long list is not repeated for each cell.
    match (&a.data, &b.data) {
        (Data::One(a), Data::One(b)) => difference(&Column::filled(a, 1), &Column::filled(b, 1)),
        (Data::Many(a_column), Data::Many(b_column)) if a.axes == b.axes => {
            difference(a_column, b_column)
        }
        _ => difference(&of_a.full_column(a), &of_b.full_column(b)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn generated_documents_mean_the_same_grouped_and_ungrouped(
        case in cases(14), script in vec(act(), 1..24),
    ) {
        // The edits turn counts into large numbers.
        let engine = Engine::new().with_limits(Limits { list_length: 1 << 14, ..Limits::default() });
        let text = document_of(&case.graph, None).to_string();
        let (document, _) = millstream_document::load(text.as_bytes(), &Limits::default());
        let document = document.expect("it loads");
        let start = save(&document);
        let request = case.request.request();
        let mut known = answer(&engine, &document, &request);
        let mut editor = Editor::new(document, Arc::new(millstream_nodes::registry()));
        let mut inverses = Vec::new();
        for act in script {
            let Some((edit, keeps)) = act.edit(editor.document()) else { continue };
            let before = save(editor.document());
            let Ok(done) = editor.apply(&edit) else {
                prop_assert_eq!(save(editor.document()), before);
                continue;
            };
            let after = save(editor.document());
            let again = editor.revert(&done.inverse).expect("inverses apply");
            prop_assert_eq!(save(editor.document()), before.as_str());
            let done = editor.revert(&again.inverse).expect("inverses apply");
            prop_assert_eq!(save(editor.document()), after.as_str());
            inverses.push(done.inverse);
            let now = answer(&engine, editor.document(), &request);
            if keeps && let Some(known) = &known {
                let Some(now) = &now else {
                    return Err(TestCaseError::fail(format!("wrong\n{edit:?}\n{before}\n{after}")));
                };
                for (a, b) in known.outputs.iter().zip(&now.outputs) {
                    let differ = match (&a.value, &b.value) {
                        (Some(a), Some(b)) => differ((known, a), (now, b)),
                        (None, None) => None,
                        _ => Some("one failed".to_owned()),
                    };
                    if let Some(differ) = differ {
                        let text = format!("{differ}\n{edit:?}\n{before}\n{after}");
                        return Err(TestCaseError::fail(text));
                    }
                }
            }
            known = now;
        }
        while let Some(inverse) = inverses.pop() {
            editor.revert(&inverse).expect("inverses apply");
        }
        prop_assert_eq!(save(editor.document()), start);
    }
}

/// A group with a border, whose middle node is between two others, beside a group that is used
/// twice.
fn text(strings: bool) -> String {
    let text = r#"{ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 3 }, "n": { "type": "i32", "default": 4 } },
        "outputs": { "y": { "type": "f32", "from": "sum.value" }, "z": { "type": "f64", "from": "two.v" } },
        "nodes": {
            "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 0.1 } },
            "b": { "type": "math.multiply", "in": { "a": { "from": "a.value" }, "b": { "input": "n" } } },
            "one": { "type": "group", "group": "twice", "in": { "x": { "from": "b.value" } } },
            "two": { "type": "group", "group": "outer", "in": { "x": { "from": "a.value" } } },
            "sum": { "type": "math.add", "in": { "a": { "from": "one.v" }, "b": { "from": "a.value" } } }
            MORE
        },
        "groups": {
            "twice": {
                "inputs": { "x": { "type": "f64" } },
                "outputs": { "v": { "type": "f32", "from": "s.value" } },
                "nodes": { "s": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "x" } } } } },
            "outer": {
                "inputs": { "x": { "type": "f32" } },
                "outputs": { "v": { "type": "f64", "from": "r.value" } },
                "nodes": {
                    "in": { "type": "group", "group": "twice", "in": { "x": { "input": "x" } } },
                    "r": { "type": "math.sqrt", "in": { "x": { "from": "in.v" } } } } }
        } }"#;
    let more = r#", "text": { "type": "string.from_number", "in": { "number": { "from": "sum.value" } } }"#;
    let text = text.replace("MORE", if strings { more } else { "" });
    if !strings {
        return text;
    }
    let output = r#""outputs": { "t": { "type": "string", "from": "text.value" }, "y""#;
    text.replace(r#""outputs": { "y""#, output)
}

/// The nodes that ran for all outputs, without conversions.
fn ran(session: &mut Session) -> Vec<String> {
    let ask = Ask::all().with_log(LogDetail::Counts);
    let runs = session.eval(&ask).expect("it runs").runs();
    let ran = runs.into_iter().filter(|run| run.entry.runs > 0 && run.node_type != "convert");
    ran.map(|run| run.path.to_string()).collect()
}

/// A live graph answers if there are only numbers, and plans if there is a text.
#[test]
fn what_moves_or_gets_another_name_does_not_run_again() {
    for strings in [false, true] {
        let engine = Engine::new();
        let mut session = Session::open(&engine, text(strings).as_bytes()).expect("it opens");
        assert!(!session.problems().has_errors(), "{}", session.problems());
        session.set("x", 5.0_f32).expect("fits");
        assert_eq!(ran(&mut session).len(), 6 + usize::from(strings));
        let before = session.value::<f64>("z").expect("it runs");
        let moves = [
            json!({ "edit": "group", "nodes": ["a", "b"], "name": "ab" }),
            json!({ "edit": "group", "nodes": ["ab", "one"], "name": "more" }),
            json!({ "edit": "group", "nodes": ["two"], "name": "alone" }),
            json!({ "edit": "rename_node", "node": "more", "to": "less" }),
            json!({ "edit": "rename_group", "name": "ab", "to": "ba" }),
            json!({ "edit": "rename_node", "within": "ba", "node": "a", "to": "first" }),
            json!({ "edit": "rename_input", "within": "more", "name": "x", "to": "y" }),
            json!({ "edit": "rename_output", "within": "ba", "name": "value", "to": "v" }),
            json!({ "edit": "rename_input", "name": "x", "to": "xx" }),
            json!({ "edit": "ungroup", "node": "less" }),
            json!({ "edit": "ungroup", "within": "alone", "node": "two" }),
            json!({ "edit": "ungroup", "node": "alone" }),
            json!({ "edit": "ungroup", "node": "ab" }),
        ];
        let n = moves.len();
        for json in moves {
            let text = json.to_string();
            session.edit(&edit(json)).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(ran(&mut session), Vec::<String>::new(), "{text}, strings: {strings}");
            assert_eq!(session.value::<f64>("z").expect("it runs"), before, "{text}");
        }
        session.settle();
        assert_eq!(ran(&mut session), Vec::<String>::new(), "strings: {strings}");
        for k in (0..n).rev() {
            assert!(session.undo());
            assert_eq!(ran(&mut session), Vec::<String>::new(), "undo of {k}, strings: {strings}");
        }
        for k in 0..n {
            assert!(session.redo());
            assert_eq!(ran(&mut session), Vec::<String>::new(), "redo of {k}, strings: {strings}");
        }
        // The value set for the input went with it, and still applies.
        session.set("xx", 6.0_f32).expect("fits");
        assert!(!ran(&mut session).is_empty());
    }
}
