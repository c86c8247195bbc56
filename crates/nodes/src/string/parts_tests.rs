//! Parts of strings, patterns, distances and orders.

use std::sync::Arc;

use millstream_base::{Limits, Mask, Type, Value};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::cells::testing::{call, instance, list, one, text};

fn with(name: &str, set: &Json, texts: &[&str]) -> String {
    text(name, set, texts.iter().map(|text| Value::from(*text)).collect())
}

fn on(name: &str, texts: &[&str]) -> String {
    with(name, &json!({}), texts)
}

/// The string, as values are printed.
fn shown(text: &str) -> String {
    Value::from(text).to_string()
}

#[test]
fn texts_are_cut_at_separators() {
    let cut = |part: &str, text: &str, separator: &str| {
        with("string.cut", &json!({ "part": part }), &[text, separator])
    };
    assert_eq!(cut("before_first", "a.b.c", "."), shown("a"));
    assert_eq!(cut("after_first", "a.b.c", "."), shown("b.c"));
    assert_eq!(cut("before_last", "a.b.c", "."), shown("a.b"));
    assert_eq!(cut("after_last", "a.b.c", "."), shown("c"));
    for part in ["before_first", "after_first", "before_last", "after_last"] {
        assert_eq!(cut(part, "abc", "."), shown("abc"));
        assert_eq!(cut(part, "abc", ""), shown("abc"));
        assert_eq!(cut(part, "", "."), shown(""));
    }
    assert_eq!(on("string.between", &["f(x) + (y)", "(", ")"]), shown("x"));
    assert_eq!(on("string.between", &["f(x", "(", ")"]), shown(""));
    assert_eq!(on("string.between", &["f(x", "(", ""]), shown("x"));
    assert_eq!(on("string.between", &["f(x", "", "("]), shown("f"));
    assert_eq!(on("string.without", &["prefix", "pre"]), shown("fix"));
    assert_eq!(on("string.without", &["prefix", "fix"]), shown("prefix"));
    assert_eq!(with("string.without", &json!({"side": "end"}), &["äöö", "ö"]), shown("äö"));
    let insert =
        |at: i32| text("string.insert", &json!({}), vec!["aö".into(), "--".into(), Value::I32(at)]);
    assert_eq!(
        [insert(-3), insert(1), insert(2), insert(99)],
        ["--aö", "a--ö", "aö--", "aö--"].map(shown)
    );
}

#[test]
fn texts_become_lists_and_back() {
    assert_eq!(on("string.words", &["  a\tb\n cd "]), r#"["a", "b", "cd"]"#);
    assert_eq!(on("string.words", &[" \n"]), "[]");
    assert_eq!(on("string.lines", &["a\r\n\nb\n"]), r#"["a", "", "b"]"#);
    assert_eq!(on("string.lines", &[""]), "[]");
    assert_eq!(on("string.codes", &["Aä😀"]), "[65, 228, 128512]");
    let from = |codes: &[i32]| text("string.from_codes", &json!({}), vec![list(codes.to_vec())]);
    assert_eq!(from(&[65, 228, 128_512]), shown("Aä😀"));
    assert_eq!(from(&[-1, 0xd800, i32::MAX]), shown("\u{fffd}\u{fffd}\u{fffd}"));
    assert_eq!(from(&[]), shown(""));
}

#[test]
fn names_are_converted_between_case_styles() {
    for (style, wanted) in [
        ("snake", "big_red_box2_html_parser"),
        ("kebab", "big-red-box2-html-parser"),
        ("camel", "bigRedBox2HtmlParser"),
        ("pascal", "BigRedBox2HtmlParser"),
        ("constant", "BIG_RED_BOX2_HTML_PARSER"),
    ] {
        let set = json!({ "style": style });
        for name in ["BigRedBox2HTMLParser", "big red  box2 HTML-parser", wanted] {
            assert_eq!(with("string.case", &set, &[name]), shown(wanted), "{name}");
        }
        assert_eq!(with("string.case", &set, &[" -_ "]), shown(""));
    }
    assert_eq!(
        with("string.case", &json!({"style": "pascal"}), &["éclair ßig"]),
        shown("ÉclairSSig")
    );
}

#[test]
fn patterns_match_whole_strings() {
    for (pattern, fitting, others) in [
        ("*.txt", vec!["a.txt", ".txt"], vec!["a.txt2", "txt"]),
        ("a?c", vec!["abc", "aöc"], vec!["ac", "abbc", "Abc"]),
        ("*a*b*", vec!["ab", "xaxbx", "aab"], vec!["ba", ""]),
        ("", vec![""], vec!["x"]),
        ("***", vec!["", "anything"], vec![]),
        ("?*", vec!["x", "xy"], vec![""]),
    ] {
        for text in fitting {
            assert_eq!(on("string.matches", &[text, pattern]), "true", "{text} {pattern}");
        }
        for text in others {
            assert_eq!(on("string.matches", &[text, pattern]), "false", "{text} {pattern}");
        }
    }
    assert_eq!(with("string.matches", &json!({"any_case": true}), &["ÄBC", "äb?"]), "true");
    let node = instance("string.matches", &json!({}), &[] as &[Type], &[1, 1]);
    let limits = Limits { list_length: 100, ..Limits::default() };
    let long: Arc<str> = "a".repeat(20).into();
    let args = vec![one(Value::String(Arc::clone(&long))), one(Value::String(long))];
    let refused = call(&node, args, &Mask::full(1), 1, &limits).expect_err("too many pairs");
    assert!(refused.message.contains("400 pairs"), "{}", refused.message);
}

#[test]
fn distances_and_orders_are_known() {
    assert_eq!(on("string.distance", &["kitten", "sitting"]), "3");
    assert_eq!(on("string.distance", &["", "äöü"]), "3");
    assert_eq!(on("string.distance", &["same", "same"]), "0");
    let order = |a: &str, b: &str| on("string.natural_order", &[a, b]);
    for (a, b) in [
        ("file9", "file10"),
        ("a1b2", "a1b10"),
        ("a1", "a01"),
        ("a", "a1"),
        ("", "0"),
        ("1a", "1b"),
        ("x9", "y1"),
        ("99999999999999999999", "100000000000000000000"),
    ] {
        assert_eq!((order(a, b), order(b, a)), ("-1".into(), "1".into()), "{a} {b}");
        assert_eq!(order(a, a), "0");
    }
}

#[test]
fn integers_are_read_in_any_base() {
    let read = |otherwise: &str, text_of: &str, base: i32| {
        let args = vec![text_of.into(), Value::I32(base)];
        text("string.to_integer", &json!({ "otherwise": otherwise }), args)
    };
    assert_eq!(read("error", " -ff ", 16), "-255");
    assert_eq!(read("error", "+Zz", 36), "1295");
    assert_eq!(read("error", "9223372036854775807", 10), "9223372036854775807");
    assert_eq!(read("zero", "9223372036854775808", 10), "0");
    for (text, base) in [("9223372036854775808", 10), ("-8000000000000001", 16)] {
        let wanted = format!("\"{text}\" in base {base} does not fit into an i64");
        assert_eq!(read("error", text, base), wanted);
    }
    assert_eq!(read("error", "12", 2), "\"12\" is not a number in base 2");
    assert_eq!(read("error", "12", 99), "\"12\" is not a number in base 99");
    assert_eq!(read("zero", "", -3), "0");
}

proptest! {
    #[test]
    fn patterns_agree_with_trying_everything(text in "[ab]{0,7}", pattern in "[ab*?]{0,6}") {
        fn fits(text: &[u8], pattern: &[u8]) -> bool {
            match pattern.split_first() {
                None => text.is_empty(),
                Some((b'*', rest)) => (0..=text.len()).any(|n| fits(&text[n..], rest)),
                Some((c, rest)) => {
                    text.split_first().is_some_and(|(x, others)| (*c == b'?' || c == x) && fits(others, rest))
                }
            }
        }
        let wanted = fits(text.as_bytes(), pattern.as_bytes()).to_string();
        prop_assert_eq!(on("string.matches", &[&text, &pattern]), wanted);
    }

    #[test]
    fn distances_are_metric(a in "[abc]{0,6}", b in "[abc]{0,6}", c in "[abc]{0,6}") {
        let way = |a: &str, b: &str| on("string.distance", &[a, b]).parse::<i32>().expect("a number");
        prop_assert_eq!(way(&a, &b), way(&b, &a));
        prop_assert_eq!(on("string.equal", &[&a, &b]), on("string.equal", &[&b, &a]));
        prop_assert!(way(&a, &c) <= way(&a, &b) + way(&b, &c));
        prop_assert_eq!(way(&a, &b) == 0, a == b);
        prop_assert!(way(&a, &b) <= a.len().max(b.len()) as i32);
        prop_assert!(way(&a, &b) >= (a.len() as i32 - b.len() as i32).abs());
    }

    #[test]
    fn code_points_give_the_text_back(text_of in "\\PC*") {
        let codes: Vec<i32> = text_of.chars().map(|c| u32::from(c) as i32).collect();
        prop_assert_eq!(on("string.codes", &[&text_of]), list(codes.clone()).to_string());
        prop_assert_eq!(text("string.from_codes", &json!({}), vec![list(codes)]), shown(&text_of));
    }
}
