//! Random edits of documents whose formulas call groups. A saved document contains its formulas as
//! they were written.

use millstream::Document;
use serde_json::{Value as Json, json};

use super::worlds::{NUMBERS, World};
use super::{Sketch, play, play_faulty, play_many, scripts};

const W: &str = r#""w": { "type": "f32", "from": "f.value" }"#;

/// A document of numbers whose formulas call groups, also in a group, with state, and wrongly.
fn world() -> World {
    let nodes = r#""nodes": {
        "e": { "type": "math.expression", "set": { "text": "twice(a) + half(a + b, by: 3).rest" },
            "in": { "a": { "from": "a.value" }, "b": { "from": "picky.value" } } },
        "f": { "type": "math.expression", "set": { "text": "smooth(x) > 0 ? twice(x) : x" },
            "in": { "x": { "from": "e.value" } } },
        "a": {"#;
    let groups = r#""groups": {
        "smooth": { "inputs": { "v": { "type": "f32" } },
            "outputs": { "v": { "type": "f32", "from": "s.value" } },
            "nodes": { "s": { "type": "state.smooth", "in": { "value": { "input": "v" }, "half_life": 2 } } } },
        "half": { "inputs": { "v": { "type": "f32" }, "by": { "type": "f32", "default": 2 } },
            "outputs": { "rest": { "type": "f32", "from": "e.value" }, "v": { "type": "f32", "input": "v" } },
            "nodes": { "e": { "type": "math.expression", "set": { "text": "v - twice(v / by).v" },
                "in": { "v": { "input": "v" }, "by": { "input": "by" } } } } },
        "twice""#;
    let start = NUMBERS.replacen(
        r#""nodes": {
        "a": {"#,
        nodes,
        1,
    );
    let start = start.replace(r#""groups": { "twice""#, groups);
    World {
        start: start.replace(r#""w": { "type": "f32", "from": "picky.value" }"#, W),
        formulas: &[
            "twice(a)",
            "a + 1",
            "twice(half(x).rest) * twice(x).v",
            "smooth(a + b)",
            "half(x, by: 1)",
            "half(a, by: twice(b)).v",
            "nothing(x)",
            "twice(a, b)",
            "n1(a)",
        ],
        ..World::of_numbers("test.picky")
    }
}

impl Sketch {
    /// An edit of a formula, or of a group that formulas call.
    pub(super) fn of_formulas(
        &self,
        world: &World,
        document: &Document,
        fresh: &str,
    ) -> Option<Json> {
        if world.formulas.is_empty() {
            return None;
        }
        let formula = world.formulas[self.picks[2].index(world.formulas.len())];
        let names = |of_expression: bool| -> Vec<&str> {
            let nodes = document
                .nodes
                .iter()
                .filter(|(_, node)| !of_expression || node.set.get("text").is_some());
            nodes.map(|(name, _)| &**name).collect()
        };
        let (all, written) = (names(false), names(true));
        let other = self.picks[1].get(&all);
        let groups: Vec<&str> = document.groups.keys().map(|name| &**name).collect();
        match self.kind {
            5..=8 if !written.is_empty() => {
                let node = self.picks[0].get(&written);
                let to = Json::from(formula);
                Some(json!({ "edit": "set_setting", "node": node, "setting": "text", "to": to }))
            }
            9 if !written.is_empty() => {
                let node = self.picks[0].get(&written);
                let input = ["a", "b", "x"][self.number.rem_euclid(3) as usize];
                let to = json!({ "from": format!("{other}.value") });
                Some(json!({ "edit": "set_input", "node": node, "input": input, "to": to }))
            }
            11 => {
                let source = json!({ "from": format!("{other}.value") });
                let inputs = ["a", "b", "x"].into_iter().filter(|name| formula.contains(name));
                let inputs: serde_json::Map<String, Json> =
                    inputs.map(|name| (name.to_owned(), source.clone())).collect();
                let node =
                    json!({ "type": "math.expression", "set": { "text": formula }, "in": inputs });
                Some(json!({ "edit": "add_nodes", "nodes": [{ "name": fresh, "node": node }] }))
            }
            24 if !groups.is_empty() => {
                let name = self.picks[0].get(&groups);
                Some(json!({ "edit": "rename_group", "name": name, "to": fresh }))
            }
            25 if document.groups.contains_key("half") => {
                let [name, to] = if self.number % 2 == 0 { ["by", "over"] } else { ["over", "by"] };
                Some(json!({ "edit": "rename_input", "within": "half", "name": name, "to": to }))
            }
            26 if document.groups.contains_key("half") => {
                let [name, to] = if self.number % 2 == 0 { ["rest", "n1"] } else { ["n1", "rest"] };
                Some(json!({ "edit": "rename_output", "within": "half", "name": name, "to": to }))
            }
            _ => None,
        }
    }

    /// An edit that adds a group of a used document.
    pub(super) fn of_used(
        &self,
        world: &World,
        node: &str,
        fresh: &str,
        link: &Json,
    ) -> Option<Json> {
        let group = world.used.get(self.picks[2].index(world.used.len().max(1)))?;
        match self.kind {
            11 | 20 => {
                let of = if self.number % 3 == 0 { "repeat" } else { "group" };
                Some(json!({ "edit": "add_nodes", "nodes": [{ "name": fresh,
                    "node": { "type": of, "group": group, "in": { "x": link } } }] }))
            }
            14 if self.number % 2 == 0 => Some(json!({ "edit": "replace_type", "node": node,
                "kind": { "type": "group", "group": group } })),
            _ => None,
        }
    }
}

#[test]
fn a_session_with_formulas_that_call_groups_has_the_values_of_a_fresh_compile() {
    let world = world();
    play_many(&scripts(), |(script, settle, keeps)| play(&world, &script, settle, keeps));
    play_many(&scripts(), |(script, faults, keeps)| play_faulty(&world, &script, faults, keeps));
}

#[test]
fn formulas_call_groups_of_used_documents_in_sessions() {
    let start = World::of_used().start.replace(
        r#""nodes": {
        "a": {"#,
        r#""nodes": {
        "e": { "type": "math.expression", "set": { "text": "deep/half(a)" },
            "in": { "a": { "from": "a.value" } } },
        "a": {"#,
    );
    let world = World {
        start: start.replace(r#""from": "sum.value" }"#, r#""from": "e.value" }"#),
        formulas: &["lib/square(a) + b", "deep/half(x)", "lib/picky(a).v", "x + 1", "lib/none(a)"],
        ..World::of_used()
    };
    play_many(&scripts(), |(script, settle, keeps)| play(&world, &script, settle, keeps));
}
