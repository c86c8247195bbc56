//! Every kind of problem that loading reports.

use expect_test::{Expect, expect};
use millstream_base::Limits;

use super::*;
use crate::save;
use crate::test_registry::rendered;

const HERON: &str = include_str!("../../tests/fixtures/heron.mill.json");
const FORMAT_0: &str = include_str!("../../tests/fixtures/format_0.mill.json");

fn check(text: &str, expected: &Expect) {
    let (_, problems) = load(text.as_bytes(), &Limits::default());
    expected.assert_eq(&rendered(text, &problems));
}

#[test]
fn a_formatted_document_saves_to_its_own_text() {
    let (document, problems) = load(HERON.as_bytes(), &Limits::default());
    assert!(problems.is_empty(), "{problems}");
    assert_eq!(save(&document.expect("no problems")), HERON);
}

#[test]
fn the_draft_format_is_upgraded() {
    let (document, problems) = load(FORMAT_0.as_bytes(), &Limits::default());
    assert!(problems.is_empty(), "{problems}");
    expect![[r#"
        {
          "millstream": 1,
          "name": "Draft",
          "fps": 30,
          "inputs": {
            "x": { "type": "f32" }
          },
          "outputs": {
            "y": { "type": "f32", "from": "twice.value" }
          },
          "nodes": {
            "twice": { "type": "group", "group": "double", "in": { "x": { "from": "more.value" } } },
            "more": { "type": "math.add", "in": { "b": 1, "a": { "input": "x" } } }
          },
          "groups": {
            "double": {
              "inputs": {
                "x": { "type": "f32" }
              },
              "outputs": {
                "value": { "type": "f32", "from": "sum.value" }
              },
              "nodes": {
                "sum": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "x" } } }
              }
            }
          },
          "view": { "zoom": 1.50 }
        }
    "#]]
    .assert_eq(&save(&document.expect("no problems")));
}

#[test]
fn problems_of_an_upgraded_document_refer_to_the_old_text() {
    let text = r#"{ "millstream": 0, "nodes": { "n": { "type": 3, "links": { "a": "b" } } } }"#;
    check(
        text,
        &expect![[r#"
            error load::wrong_kind at 3
                n: `type` is 3 (it must be a string in double quotes)
            error load::bad_link at "b"
                n.a: `b` is not an output of a node (name the output too: "b.value")
        "#]],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a flat table")]
fn text_that_is_not_json_is_explained() {
    for (text, expected) in [
        (
            "",
            expect![[r#"
            error load::empty at 
                the document is empty (the smallest document is { "millstream": 2, "nodes": {} } in JSON; in the text form write, for example, `output y: f32 = 1`)
        "#]],
        ),
        (
            " \n",
            expect![[r#"
            error load::empty at 
                the document is empty (the smallest document is { "millstream": 2, "nodes": {} } in JSON; in the text form write, for example, `output y: f32 = 1`)
        "#]],
        ),
        (
            "\u{feff}\n",
            expect![[r#"
            error load::empty at 
                the document is empty (the smallest document is { "millstream": 2, "nodes": {} } in JSON; in the text form write, for example, `output y: f32 = 1`)
        "#]],
        ),
        (
            "[1]",
            expect![[r#"
            error load::wrong_kind at [1]
                the document is a list (it must be an object: { "millstream": 2, ... })
        "#]],
        ),
        (
            "{",
            expect![[r#"
                error load::syntax at {
                    line 1, column 1: EOF while parsing an object (the `{` on line 1 has no `}`)
            "#]],
        ),
        (
            "{\n \"a\": [1,\n  {\"b\": 2",
            expect![[r#"
                error load::syntax at 2
                    line 3, column 9: EOF while parsing an object (3 brackets are still open; the innermost is the `{` on line 3)
            "#]],
        ),
        (
            "{ \"a\": \"b",
            expect![[r#"
                error load::syntax at b
                    line 1, column 9: EOF while parsing a string (the string that starts on line 1 has no closing quote)
            "#]],
        ),
        (
            "{ 'a': 1 }",
            expect![[r#"
                error load::syntax at '
                    line 1, column 3: key must be a string (strings and names are written in double quotes)
            "#]],
        ),
        (
            "{ a: 1 }",
            expect![[r#"
            error load::syntax at a
                line 1, column 3: key must be a string (names are written in double quotes)
        "#]],
        ),
        (
            "{ \"a\": 'x' }",
            expect![[r#"
                error load::syntax at '
                    line 1, column 8: expected value (strings and names are written in double quotes)
            "#]],
        ),
        (
            "{ \"a\": 1, }",
            expect![[r#"
            error load::syntax at }
                line 1, column 11: key must be a string (remove the comma before it)
        "#]],
        ),
        (
            "{ \"a\": 1 \"b\": 2 }",
            expect![[r#"
            error load::syntax at "
                line 1, column 10: expected `,` or `}` (a comma is missing before it)
        "#]],
        ),
        (
            "{ \"a\" 1 }",
            expect![[r#"
            error load::syntax at 1
                line 1, column 7: expected `:` (a colon is missing before it)
        "#]],
        ),
        (
            "{ \"a\": NaN }",
            expect![[r#"
            error load::syntax at N
                line 1, column 8: expected value (numbers that JSON lacks are written "nan", "inf" and "-inf")
        "#]],
        ),
        (
            "{ \"a\": True }",
            expect![[r#"
            error load::syntax at T
                line 1, column 8: expected value (write true and false in lower case)
        "#]],
        ),
        (
            "{ \"a\": 1 // one\n }",
            expect![[r#"
            error load::syntax at /
                line 1, column 10: expected `,` or `}` (JSON has no comments; use `about` or `view`)
        "#]],
        ),
        (
            "{ \"a\": 01 }",
            expect![[r#"
            error load::syntax at 1
                line 1, column 9: invalid number (numbers look like 1, -0.5 or 2e3)
        "#]],
        ),
        (
            "{ \"a\": \"\t\" }",
            expect![[r#"
                error load::syntax at "
                    line 1, column 8: control character (\u0000-\u001F) found while parsing a string (line breaks and tabs in strings are written \n and \t)
            "#]],
        ),
        (
            "{ \"a\": \"\\q\" }",
            expect![[r#"
                error load::syntax at q
                    line 1, column 10: invalid escape (a backslash in a string is written \\)
            "#]],
        ),
        (
            "{} {}",
            expect![[r#"
            error load::syntax at {
                line 1, column 4: trailing characters (a document is one JSON object; remove what follows it)
        "#]],
        ),
        (
            "\u{feff}{}",
            expect![[r#"
            error load::byte_order_mark at ﻿
                the text starts with a byte order mark (save the file as UTF-8 without byte order mark)
        "#]],
        ),
    ] {
        check(text, &expected);
    }
    let (document, problems) = load(b"{ \"a\": \"\xff\" }", &Limits::default());
    assert!(document.is_none());
    assert_eq!(problems.to_string(), "byte 8 is not UTF-8 (save the file as UTF-8)");
}

#[test]
fn versions_are_distinguished() {
    for (text, expected) in [
        (
            "{ \"nodes\": {} }",
            expect![[r#"
                error load::no_version at {
                    the document does not state its format (add `"millstream": 2` as its first entry)
            "#]],
        ),
        (
            "{ \"millstream\": 3 }",
            expect![[r#"
            error load::newer_version at 3
                the document has format 3; this build reads formats up to 2 (open it with a newer release of millstream)
        "#]],
        ),
        (
            "{ \"millstream\": 1e300 }",
            expect![[r#"
            error load::newer_version at 1e300
                the document has format 1e300; this build reads formats up to 2 (open it with a newer release of millstream)
        "#]],
        ),
        (
            "{ \"millstream\": \"1\" }",
            expect![[r#"
            error load::wrong_kind at "1"
                `millstream` is "1" (it must be the number of the format, 2)
        "#]],
        ),
        (
            "{ \"millstream\": 1.5 }",
            expect![[r#"
            error load::wrong_kind at 1.5
                `millstream` is 1.5 (it must be the number of the format, 2)
        "#]],
        ),
        (
            "{ \"millstream\": -1 }",
            expect![[r#"
            error load::wrong_kind at -1
                `millstream` is -1 (it must be the number of the format, 2)
        "#]],
        ),
        ("{ \"millstream\": 2 }", expect![[""]]),
    ] {
        check(text, &expected);
    }
}

#[test]
fn all_problems_are_reported_at_once() {
    let text = r#"{
      "millstream": 2,
      "nmae": "x",
      "fps": 0,
      "inputs": { "a.b": { "type": "f32" }, "": { "type": "f32" }, "c": { "default": 1 }, "d": 3 },
      "outputs": { "o": { "type": "f32" }, "p": { "type": "f32", "from": "n" , "input": "a" } },
      "nodes": {
        "n": { "type": "math.add", "in": { "a": { "from": "x" }, "a": 1, "b": { "form": "x.value" } } },
        "n": { "type": "math.add" },
        "m": { "type": "group" },
        "k": { "type": "math.add", "group": "g", "muted": "yes", "version": 0 },
        "j": { "in": { "a": [{ "from": "m.value" }, 1], "b": { "value": 1, "input": "c" } } },
        "i": { "type": "math.add", "in": [], "set": { "x": 1e999, "y": "\ud800", "x": 2 } }
      },
      "groups": { "g": { "nodes": [] , "inputs": { "bad/": { "type": "f32" } } } }
    }"#;
    check(
        text,
        &expect![[r#"
            error load::unknown_key at "nmae"
                the document has no entry called `nmae` (did you mean `name`?)
            error load::wrong_kind at 0
                `fps` is 0 (it must be a number above 0)
            error load::bad_name at "a.b"
                `a.b` cannot be the name of an input: it contains a `.` (names must not contain `.`, `/` or control characters, and have at most 200 characters)
            error load::bad_name at ""
                `` cannot be the name of an input: it is empty (names must not contain `.`, `/` or control characters, and have at most 200 characters)
            error load::missing_key at { "default": 1 }
                input `c` has no `type` (write the type of its value, such as "type": "f32")
            error load::wrong_kind at 3
                input `d` is 3 (it must be an object)
            error load::missing_key at { "type": "f32" }
                output `o` has no `from` (write "from": "node.output")
            error load::ambiguous_source at { "type": "f32", "from": "n" , "input": "a" }
                a source has exactly one of `from`, `input` and `value` (several sources are a list: [{ "from": "a.value" }, { "value": 1 }])
            error load::bad_link at "n"
                `n` is not an output of a node (name the output too: "n.value")
            error load::bad_link at "x"
                n.a: `x` is not an output of a node (name the output too: "x.value")
            error load::unknown_key at "form"
                n.b: the source has no entry called `form` (did you mean `from`?)
            error load::duplicate_key at "n"
                `nodes` has `n` twice (the first one counts; remove or rename the other)
            error load::missing_key at { "type": "group" }
                m: the node has no `group` (write the group's name: "group": "name")
            error load::unknown_key at "g"
                k: the node has no entry called `group` (only nodes of type `group` or `closure` and zones have it)
            error load::wrong_kind at "yes"
                k: `muted` is "yes" (it must be true or false)
            error load::wrong_kind at 0
                k: `version` is 0 (it must be a positive integer)
            error load::missing_key at { "in": { "a": [{ "from": "m.value" }, 1], "b": { "value": 1, "input": "c" } } }
                j: the node has no `type` (write the node type, such as "type": "math.add")
            error load::not_a_source at 1
                j.a: a number in a list of sources (in a list of sources a literal is written { "value": ... })
            error load::ambiguous_source at { "value": 1, "input": "c" }
                j.b: a source has exactly one of `from`, `input` and `value` (several sources are a list: [{ "from": "a.value" }, { "value": 1 }])
            error load::wrong_kind at []
                i: `in` is a list (it must be an object)
            error load::unreadable at 1e999
                i: setting `x`: number out of range (the largest number is 1.7976931348623157e308; write "inf" for infinity)
            error load::unreadable at "\ud800"
                i: setting `y`: unexpected end of hex escape (write the character itself, or its UTF-16 code as \uXXXX)
            error load::wrong_kind at []
                g: `nodes` is a list (it must be an object)
            error load::bad_name at "bad/"
                g: `bad/` cannot be the name of an input: it contains a `/` (names must not contain `.`, `/` or control characters, and have at most 200 characters)
        "#]],
    );
}

#[test]
fn deep_nesting_and_noise_are_refused_without_recursion() {
    for open in ["[", "{\"a\":", "{\"millstream\":2,\"view\":["] {
        let text = open.repeat(100_000);
        let (document, problems) = load(text.as_bytes(), &Limits::default());
        assert!(document.is_none() && problems.len() == 1);
    }
    let brackets = "[".repeat(100_000) + &"]".repeat(100_000);
    for at in ["\"view\"", "\"nodes\"", "\"x\"", "\"fps\""] {
        let text = format!("{{\"millstream\": 2, {at}: {brackets}}}");
        load(text.as_bytes(), &Limits::default());
        load(text.replace(": 1", ": 0").as_bytes(), &Limits::default());
    }
    let text = format!(
        "{{\"millstream\": 2, \"nodes\": {{\"n\": {{\"type\": \"t\", \"in\": {{\"a\": \
         {brackets}}}}}}}}}"
    );
    let (document, problems) = load(text.as_bytes(), &Limits::default());
    assert!(document.is_some());
    assert_eq!(
        problems.to_string(),
        "n.a: the literal: it nests deeper than 127 levels (no type needs values nested so deeply; \
         see the type)"
    );
    let mut state = 1_u32;
    let noise: Vec<u8> = (0..20_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect();
    assert!(load(&noise, &Limits::default()).0.is_none());
}

#[test]
fn limits_are_enforced() {
    let limits = Limits { nodes: 2, document_bytes: 1000, ..Limits::default() };
    let three = r#"{"millstream": 2, "nodes": {"a": {"type": "t"}, "b": {"type": "t"}},
        "groups": {"g": {"nodes": {"c": {"type": "t"}, "d": {"type": "t"}}}}}"#;
    let (document, problems) = load(three.as_bytes(), &limits);
    assert!(document.is_none());
    let expected =
        "g/c: the document has more than 2 nodes (raise `nodes` in the limits if this is intended)";
    assert_eq!(problems.to_string(), expected);
    let (document, problems) = load(&[b' '; 1001], &limits);
    assert!(document.is_none());
    let expected = "the document has more than 1000 bytes (raise `document_bytes` in the limits if this is intended)";
    assert_eq!(problems.to_string(), expected);
}

#[test]
fn problems_beyond_a_thousand_are_counted() {
    let nodes: Vec<String> = (0..5000).map(|i| format!("\"n{i}\": {{\"tpe\": 1}}")).collect();
    let text = format!("{{\"millstream\": 2, \"nodes\": {{{}}}}}", nodes.join(","));
    let (_, problems) = load(text.as_bytes(), &Limits::default());
    let last = problems.iter().last().map(|problem| problem.message.as_str());
    assert_eq!(last, Some("4000 more problems"));
}

#[test]
fn repeated_keys_among_many_are_found() {
    let sockets: Vec<String> = (0..100).map(|i| format!("\"s{}\": 1", i % 99)).collect();
    let text = format!(
        "{{\"millstream\": 2, \"nodes\": {{\"n\": {{\"type\": \"t\", \"in\": {{{}}}}}}}}}",
        sockets.join(",")
    );
    let (_, problems) = load(text.as_bytes(), &Limits::default());
    assert_eq!(
        problems.to_string(),
        "n: `in` has `s0` twice (the first one counts; remove or rename the other)"
    );
}

#[test]
fn a_text_that_ends_too_early_is_marked_at_a_whole_character() {
    for text in ["{\"\u{e4}", "{\"a\": 1,\n", "\u{1f600}", "{\"a\": \"\u{1f600}"] {
        let (_, problems) = load(text.as_bytes(), &Limits::default());
        let span = problems.iter().next().and_then(|problem| problem.place.span).expect("a place");
        assert!(text.get(span.start as usize..span.end as usize).is_some_and(|t| !t.is_empty()));
    }
}
