//! Expressions checked against Python 3.11's `re`, and refused expressions.

use millstream_base::map::Map;
use millstream_base::{Column, Limits, Mask, Value};
use millstream_node::{Argument, Data};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::expression::{LONGEST, MAX_WORK, SIZES};
use super::*;
use crate::cells::testing::{call, instance, one, try_instance};

fn on(name: &str, set: &Json, texts: &[&str]) -> String {
    limited(name, set, texts, &Limits::default())
}

fn limited(name: &str, set: &Json, texts: &[&str], limits: &Limits) -> String {
    let instance = instance(&format!("string.regex_{name}"), set, &[], &[]);
    let args = texts.iter().map(|text| one(Value::from(*text))).collect();
    match call(&instance, args, &Mask::full(1), 1, limits) {
        Ok(data) => data.get(0).to_string(),
        Err(failure) => failure.message,
    }
}

fn refused(name: &str, set: &Json) -> String {
    try_instance(&format!("string.regex_{name}"), set, &[], &[]).expect_err("is refused")
}

/// Expected values from `re.search`, `re.finditer`, `re.fullmatch` and `re.split`.
#[test]
fn matches_are_those_of_python() {
    let cases = [
        (r"\d+", "ab12cd345", 2, r#"["12"]"#, r#"["12", "345"]"#, false, r#"["ab", "cd", ""]"#),
        (
            r"(\w+)@(\w+)\.com",
            "mail jo@site.com, al@home.com",
            5,
            r#"["jo@site.com", "jo", "site"]"#,
            r#"["jo@site.com", "al@home.com"]"#,
            false,
            r#"["mail ", ", ", ""]"#,
        ),
        (
            r"\w+",
            "größe naïve Ωmega",
            0,
            r#"["größe"]"#,
            r#"["größe", "naïve", "Ωmega"]"#,
            false,
            r#"["", " ", " ", ""]"#,
        ),
        (
            r"(?i)straße",
            "STRASSE Straße",
            8,
            r#"["Straße"]"#,
            r#"["Straße"]"#,
            false,
            r#"["STRASSE ", ""]"#,
        ),
        (
            r"[,;]\s*",
            "a, b;c,,d",
            1,
            r#"[", "]"#,
            r#"[", ", ";", ",", ","]"#,
            false,
            r#"["a", "b", "c", "", "d"]"#,
        ),
        (
            r"^\s*(\d{4})-(\d{2})(?:-(\d{2}))?$",
            " 2024-05",
            0,
            r#"[" 2024-05", "2024", "05", ""]"#,
            r#"[" 2024-05"]"#,
            true,
            r#"["", ""]"#,
        ),
        ("a|b*?", "", 0, r#"[""]"#, r#"[""]"#, true, r#"["", ""]"#),
        ("(?m)^x", "x\nyx\nx", 0, r#"["x"]"#, r#"["x", "x"]"#, false, r#"["", "\nyx\n", ""]"#),
        ("z", "abc", -1, "[]", "[]", false, r#"["abc"]"#),
    ];
    for (pattern, text, at, groups, all, whole, parts) in cases {
        let set = json!({ "pattern": pattern });
        let parts = parts.replace('\n', "\\n");
        assert_eq!(on("find", &set, &[text]), at.to_string(), "{pattern}");
        assert_eq!(on("test", &set, &[text]), (at >= 0).to_string(), "{pattern}");
        assert_eq!(on("groups", &set, &[text]), groups, "{pattern}");
        assert_eq!(on("find_all", &set, &[text]), all, "{pattern}");
        assert_eq!(on("split", &set, &[text]), parts, "{pattern}");
        let set = json!({ "pattern": pattern, "whole": true });
        assert_eq!(on("test", &set, &[text]), whole.to_string(), "{pattern}");
    }
    assert_eq!(on("count", &json!({"pattern": r"\d"}), &["a1b22"]), "3");
    assert_eq!(on("find", &json!({"pattern": "B", "any_case": true}), &["äb"]), "1");
    let named = |group: &str| json!({"pattern": r"(?<y>\d+)/(\d+)", "group": group});
    for (group, expected) in [("y", r#"["24", "23"]"#), ("2", r#"["5", "12"]"#)] {
        assert_eq!(on("find_all", &named(group), &["24/5 23/12"]), expected);
    }
}

/// Expected values from `re.sub`.
#[test]
fn replacements_are_those_of_python() {
    for (pattern, with, text, expected) in [
        (r"(\w+) (\w+)", "$2 $1", "hello world foo bar", "world hello bar foo"),
        (r"\d", "<$0>", "a1b22", "a<1>b<2><2>"),
        (r"\s+", " ", " a  b\t\nc", " a b c"),
        ("x*", "-", "abc", "-a-b-c-"),
        ("(a)|b", "[$1]$$", "ab", "[a]$[]$"),
        ("ä", "$9${none}", "häh", "hh"),
    ] {
        let found = on("replace", &json!({ "pattern": pattern }), &[text, with]);
        assert_eq!(found, format!("\"{expected}\""), "{pattern}");
    }
    let set = json!({"pattern": r"(?P<y>\d+)/(?P<m>\d+)", "first_only": true});
    assert_eq!(on("replace", &set, &["2024/05 2023/12", "${m}-$y"]), r#""05-2024 2023/12""#);
    let first = json!({"first_only": true});
    assert_eq!(on("replace", &first, &["ab", "-", ""]), r#""-ab""#);
}

#[test]
fn wrong_and_hostile_expressions_are_refused() {
    for (pattern, problem) in [
        ("(a", "unclosed group"),
        ("a{2", "unclosed counted repetition"),
        (r"(?=a)", "look-around"),
        (r"(a)\1", "backreferences are not supported"),
        (r"(\w{500}){500}", "the expression is too large"),
        ("(((((x{100}){100}){100}){100}){100})", "the expression is too large"),
    ] {
        for name in ["test", "find", "count", "find_all", "groups", "replace", "split"] {
            let found = refused(name, &json!({ "pattern": pattern }));
            assert!(found.contains(problem), "{name} {pattern}: {found}");
        }
    }
    let deep = format!("{}a{}", "(".repeat(300), ")".repeat(300));
    assert!(refused("test", &json!({ "pattern": deep })).contains("nest"));
    let long = "a".repeat(LONGEST + 1);
    assert!(
        refused("test", &json!({ "pattern": long }))
            .contains("10001 bytes, but the limit is 10000")
    );
    let set = json!({"pattern": "(a)(?<b>c)", "group": "3"});
    assert!(refused("find_all", &set).contains("the expression has no group `3`"));
    assert!(refused("find_all", &json!({"pattern": "a", "group": "b"})).contains("no group `b`"));
}

#[test]
fn texts_that_are_too_long_fail() {
    let few = Limits { list_length: 10, ..Limits::default() };
    let all = json!({"pattern": "."});
    assert_eq!(
        limited("find_all", &all, &["01234567890"], &few),
        "the string has 11 bytes, but this expression can only search up to 10"
    );
    let set = json!({"pattern": "a"});
    let found = limited("replace", &set, &["aaaaa", "$0$0$0"], &few);
    assert!(
        found.starts_with("11 bytes in one string") || found.contains("bytes in one string"),
        "{found}"
    );
    let found = limited("split", &json!({}), &["0123456789", ""], &few);
    assert!(found.contains("items in one list"), "{found}");
    // An expression that takes more memory is limited to shorter strings.
    let set = json!({"pattern": r"\w{20}"});
    let large = instance("string.regex_test", &set, &[], &[]);
    let parts = KernelSpec {
        settings: &large.settings,
        generics: &[],
        inputs: &large.inputs,
        outputs: &large.outputs,
    };
    let large = Expressions::of(&parts).expect("it is valid").fixed.expect("it is a setting");
    assert!(large.n_bytes > SIZES[0], "{}", large.n_bytes);
    let text = "a".repeat(MAX_WORK / SIZES[4] + 1);
    let most = Limits::default();
    assert_eq!(large.check(&text, 0, &most).is_err(), text.len() > MAX_WORK / large.n_bytes);
}

/// The column of strings.
fn many(texts: &[&str]) -> Data {
    let texts: Vec<Arc<str>> = texts.iter().map(|text| Arc::from(*text)).collect();
    Data::Many(Column::from_vec(texts))
}

#[test]
fn each_element_may_have_its_own_expression() {
    let instance = instance("string.regex_find_all", &json!({"group": "1"}), &[], &[]);
    let limits = Limits::default();
    let run = |texts: &[&str], patterns: (Data, Map<'static>)| {
        let n = texts.len();
        call(&instance, vec![(many(texts), Map::Each), patterns], &Mask::full(n), n, &limits)
    };
    let own = |patterns: &[&str]| (many(patterns), Map::Each);
    let patterns = own(&[r"(\d)", r"([a-z])\d", r"(\d)"]);
    let found = run(&["a1b2", "a1b2", "x"], patterns).expect("they are valid");
    let found: Vec<String> = (0..3).map(|i| found.get(i).to_string()).collect();
    assert_eq!(found, [r#"["1", "2"]"#, r#"["a", "b"]"#, "[]"]);
    let found = run(&["a1", "b2"], one(Value::from("([a-z])"))).expect("it is valid");
    assert_eq!(found.get(1).to_string(), r#"["b"]"#);
    for (pattern, problem) in [
        ("(a", "the regular expression `(a`: unclosed group"),
        ("a", "the regular expression `a`: the expression has no group `1`"),
    ] {
        let failure = run(&["x", "y"], own(&["(a)", pattern])).expect_err("it is wrong");
        assert_eq!((failure.message.as_str(), failure.element), (problem, Some(1)));
    }
}

#[test]
fn expressions_are_compiled_once_and_the_cache_is_bounded() {
    let def = instance("string.regex_test", &json!({}), &[], &[]);
    let parts = KernelSpec {
        settings: &def.settings,
        generics: &[],
        inputs: &def.inputs,
        outputs: &def.outputs,
    };
    let all = Expressions::of(&parts).expect("they come from an input");
    let n = 6000;
    let texts = many(&vec!["x"; n]);
    let compiled = |patterns: Vec<String>| {
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let patterns = many(&patterns);
        let data = [texts.clone(), patterns];
        let mut arguments: Vec<Argument<'_>> =
            data.iter().map(|data| Argument::shared(data, Map::Each)).collect();
        let (mask, limits) = (Mask::full(n), Limits::default());
        let call = Call::new(&mask, n, &limits, &mut arguments, &mut []);
        let mut met = all.of_call();
        let mut at = |i| Arc::clone(&met.at(&call, i).expect("it is valid").pattern);
        (0..n).map(&mut at).collect::<Vec<_>>()
    };
    let few = compiled((0..n).map(|i| format!("a{}", i % 7)).collect());
    assert!((7..n).all(|i| Arc::ptr_eq(&few[i], &few[i % 7])));
    let again = compiled((0..n).map(|i| format!("a{}", i % 7)).collect());
    assert!(Arc::ptr_eq(&few[3], &again[3]), "expressions of an earlier call are cached");
    let many = compiled((0..n).map(|i| format!("b{i}")).collect());
    assert_eq!(many.len(), n);
    let again = compiled(vec!["a3".to_owned(); n]);
    assert!(!Arc::ptr_eq(&few[3], &again[3]), "the cache is bounded");
}

proptest! {
    #[test]
    fn parts_and_matches_make_the_text(
        text in "[ab,; äß]{0,20}",
        pattern in prop::sample::select(vec!["[,;]", "a+", "ä|ß", "b?", "", r"\s*,", "(a)(b)?"]),
    ) {
        let set = json!({});
        let list = |name: &str| -> Vec<String> {
            serde_json::from_str(&on(name, &set, &[&text, pattern])).expect("a list of strings")
        };
        let (parts, found) = (list("split"), list("find_all"));
        prop_assert_eq!(parts.len(), found.len() + 1);
        prop_assert_eq!(on("count", &set, &[&text, pattern]), found.len().to_string());
        let mut joined = parts[0].clone();
        for (found, part) in found.iter().zip(&parts[1..]) {
            joined += found;
            joined += part;
        }
        prop_assert_eq!(&joined, &text);
        let same: String =
            serde_json::from_str(&on("replace", &set, &[&text, "$0", pattern])).expect("a string");
        prop_assert_eq!(same, text);
    }
}

/// Classes of thousands of ranges are built before the size of the expression is known.
#[test]
fn hostile_expressions_are_refused_quickly() {
    for part in [r"(?i)\pL", r"[^\w]", r"(?i)[\pL--\p{Greek}]", r"(?i:[\w&&\pL])", "(?i)\u{10ffff}"]
    {
        let pattern = part.repeat(LONGEST / part.len());
        let start = std::time::Instant::now();
        let _ = try_instance("string.regex_test", &json!({ "pattern": pattern }), &[], &[]);
        let elapsed = start.elapsed();
        assert!(elapsed.as_secs() < 10, "{part}: {elapsed:?}");
    }
}
