//! The grammar for text editors knows the keywords of the text form.

use regex::Regex;
use serde_json::Value as Json;

/// All patterns of the grammar, with the name of the rule that holds them.
fn patterns(json: &Json, found: &mut Vec<(Regex, Json)>) {
    match json {
        Json::Object(entries) => {
            for key in ["match", "begin", "end"] {
                if let Some(pattern) = entries.get(key).and_then(Json::as_str) {
                    let regex = Regex::new(pattern).unwrap_or_else(|error| panic!("{error}"));
                    found.push((regex, json.clone()));
                }
            }
            entries.values().for_each(|inner| patterns(inner, found));
        }
        Json::Array(items) => items.iter().for_each(|item| patterns(item, found)),
        Json::String(_) | Json::Number(_) | Json::Bool(_) | Json::Null => {}
    }
}

/// The scope that the first matching rule assigns to a piece of a line.
fn scope(found: &[(Regex, Json)], line: &str, piece: &str) -> Option<String> {
    found.iter().find_map(|(regex, rule)| {
        let captures = regex.captures(line)?;
        let groups =
            captures.iter().enumerate().filter_map(|(i, it)| it.map(|it| (i, it.as_str())));
        let mut groups = groups.filter(|(_, text)| *text == piece);
        let (group, _) = groups.next()?;
        let name = match group {
            0 => rule.get("name"),
            group => rule.get("captures")?.get(group.to_string())?.get("name"),
        };
        name.and_then(Json::as_str).map(str::to_owned)
    })
}

#[test]
fn words_of_the_grammar_are_highlighted() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/mill.tmLanguage.json");
    let text = std::fs::read_to_string(path).expect("the grammar is there");
    let grammar: Json = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(grammar["scopeName"], "source.mill");
    let mut found = Vec::new();
    patterns(&grammar, &mut found);
    for (line, piece, wanted) in [
        ("input a: vec3 = [0, 0, 0]", "input", "keyword.other"),
        ("input `a b`: list<f32>", "list<f32>", "storage.type"),
        ("output area: f32 = sqrt(x) in m2", "area", "variable.parameter"),
        ("output area: f32 = sqrt(x) in m2", "in", "keyword.other"),
        ("input x: f32 = 1 from 0 to 2", "from", "keyword.other"),
        ("group product(s: f32) -> value: f32 {", "product", "entity.name.function"),
        ("  value = s * (s - x)", "value", "variable.other.definition"),
        ("use water = \"lib/water.mill\"", "use", "keyword.control.import"),
        ("lock water = 2 \"sha256:0\"", "water", "entity.name.namespace"),
        ("name \"title\"", "name", "keyword.other"),
        ("millstream 2", "millstream", "keyword.other"),
        ("view {", "view", "keyword.other"),
        ("fps 30", "fps", "keyword.other"),
        ("start_frame -2", "start_frame", "keyword.other"),
        ("schema \"x\"", "schema", "keyword.other"),
        ("x = repeat step(a)", "repeat", "keyword.control"),
        ("x = for_each step(a)", "for_each", "keyword.control"),
        ("x = simulate step(a)", "simulate", "keyword.control"),
        ("x = repeat(a: f32 = 1, count: 2) -> a: f32 {", "repeat", "keyword.control"),
        ("  code: list<i32> of codes,", "list<i32>", "storage.type"),
        ("  code: list<i32> of codes,", "of", "keyword.other"),
        ("  `at`: vec2 = [0, 0],", "vec2", "storage.type"),
        ("x = muted step(a)", "muted", "keyword.control"),
        ("x = f(several [1])", "several", "keyword.control"),
        ("x = a where a: 1", "where", "keyword.other"),
        ("x = noise.perlin(p, seed: 3)", "noise.perlin", "entity.name.function"),
        ("x = pi", "pi", "constant.language"),
        ("# a comment", "# a comment", "comment"),
    ] {
        let scope = scope(&found, line, piece);
        assert!(
            scope.as_deref().is_some_and(|it| it.starts_with(wanted)),
            "{line}: {piece} is {scope:?}"
        );
    }
}
