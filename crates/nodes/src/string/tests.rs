//! Strings of all kinds: empty, with several bytes per character, too long.

use std::sync::Arc;

use millstream_base::map::Map;
use millstream_base::{Limits, Mask, Type, Value};
use proptest::prelude::*;
use serde_json::json;

use crate::cells::testing::{call, instance, list, many, one, text, value_of};

fn on(name: &str, texts: &[&str]) -> String {
    text(name, &json!({}), texts.iter().map(|text| Value::from(*text)).collect())
}

#[test]
fn texts_are_joined_and_cut() {
    assert_eq!(on("string.concat", &["a", "", "bc"]), r#""abc""#);
    assert_eq!(on("string.concat", &[]), r#""""#);
    assert_eq!(on("string.trim", &[" \t a b\n", ""]), r#""a b""#);
    assert_eq!(on("string.upper", &["straße"]), r#""STRASSE""#);
    assert_eq!(on("string.lower", &["ÄB"]), r#""äb""#);
    assert_eq!(on("string.replace", &["banana", "an", "AN!"]), r#""bAN!AN!a""#);
    assert_eq!(on("string.replace", &["abc", "", "x"]), r#""abc""#);
    assert_eq!(on("string.replace", &["aaa", "aa", ""]), r#""a""#);
}

#[test]
fn texts_are_reversed_padded_and_counted() {
    assert_eq!(on("string.reverse", &["aäb"]), r#""bäa""#);
    assert_eq!(on("string.title", &["hello WORLD, it's x1y"]), r#""Hello World, It's X1y""#);
    // Expected value from Python's `str.title`.
    let title = on("string.title", &["ǆep ßa ᾳδ ᾷ გია ŉa"]);
    assert_eq!(title, "\"ǅep Ssa ᾼδ \u{391}\u{342}\u{345} გია \u{2bc}Na\"");
    let ascii = json!({"letters": "ascii"});
    assert_eq!(text("string.upper", &ascii, vec!["äb".into()]), r#""äB""#);
    let trimmed = |set, characters: &str| {
        text("string.trim", &set, vec![" xyhixy ".into(), characters.into()])
    };
    assert_eq!(trimmed(json!({}), ""), r#""xyhixy""#);
    assert_eq!(trimmed(json!({}), "xy"), r#""hi""#);
    assert_eq!(trimmed(json!({"white_space": false}), "xy"), r#"" xyhixy ""#);
    assert_eq!(trimmed(json!({"side": "start"}), "x"), r#""yhixy ""#);
    assert_eq!(trimmed(json!({"side": "end"}), "y"), r#"" xyhix""#);
    let padded = |side: &str, length: i32, fill: &str| {
        let args = vec!["ä1".into(), Value::I32(length), fill.into()];
        text("string.pad", &json!({ "side": side }), args)
    };
    assert_eq!(padded("start", 5, "."), r#""...ä1""#);
    assert_eq!(padded("end", 5, "-+"), r#""ä1-+-""#);
    assert_eq!(padded("both", 5, "."), r#"".ä1..""#);
    assert_eq!(padded("both", 1, "."), r#""ä1""#);
    assert_eq!(padded("start", 9, ""), r#""ä1""#);
    assert_eq!(on("string.count", &["aaaa", "aa"]), "2");
    assert_eq!(on("string.count", &["aaaa", ""]), "0");
    assert_eq!(on("string.find_last", &["äbäb", "äb"]), "2");
    assert_eq!(on("string.find_last", &["ab", "x"]), "-1");
    assert_eq!(on("string.find_last", &["ab", ""]), "2");
    assert_eq!(on("string.order", &["b", "ab"]), "1");
    assert_eq!(on("string.order", &["a", "ab"]), "-1");
    assert_eq!(on("string.order", &["ä", "ä"]), "0");
}

#[test]
fn integers_are_written_in_any_base() {
    let written = |number: i32, base: i32, digits: i32| {
        let args = vec![Value::I32(number), Value::I32(base), Value::I32(digits)];
        text("string.from_integer", &json!({}), args)
    };
    assert_eq!(written(255, 16, 0), r#""ff""#);
    assert_eq!(written(-255, 16, 6), r#""-000ff""#);
    assert_eq!(written(0, 2, 3), r#""000""#);
    assert_eq!(written(i32::MIN, 10, 0), r#""-2147483648""#);
    assert_eq!(written(7, 1, 0), r#""""#);
    assert_eq!(written(1, 10, i32::MAX).len(), 102);
}

/// The result of `string.format` for 42, -3.16228 and a string.
fn formatted(format: &str) -> String {
    let set = json!({"names": ["n", "x", "t"]});
    let instance = instance("string.format", &set, &[Type::I32, Type::F32, Type::STRING], &[]);
    let args = [
        one(Value::from(format)),
        one(Value::I32(42)),
        one(Value::F32(-3.16228)),
        one(Value::from("héy")),
    ];
    match call(&instance, args.into(), &Mask::full(1), 1, &Limits::default()) {
        Ok(data) => data.get(0).to_string(),
        Err(failure) => failure.message,
    }
}

#[test]
fn values_are_written_into_texts() {
    for (format, expected) in [
        ("{}, {} and {}", "42, -3.16228 and héy"),
        ("{n}{{{2}}}{0}", "42{héy}42"),
        ("{n:5}|{n:<5}|{n:^6}|{n:05}", "   42|42   |  42  |00042"),
        ("{n:+}|{n: }|{n:x}|{n:#>6X}|{n:b}|{n:o}", "+42| 42|2a|####2A|101010|52"),
        (
            "{x:.2f}|{x:9.3f}|{x:09.3f}|{x:e}|{x:.1E}",
            "-3.16|   -3.162|-0003.162|-3.162280e+00|-3.2E+00",
        ),
        ("{t:.2}|{t:5}|{t:>5s}|{t:é^5}", "hé|héy  |  héy|éhéyé"),
        ("", ""),
    ] {
        assert_eq!(formatted(format), format!("{expected:?}"), "{format}");
    }
    for (format, message) in [
        ("{nobody}", "there is no value `nobody`"),
        ("{9}", "there is no value `9`"),
        ("{}{}{}{}", "there are more `{}` than values (3)"),
        ("a { b", "`{` is not closed"),
        ("a } b", "`}` has no matching `{`"),
        ("{n:.2}", "an integer has no decimals to round; `.` and digits are for floats"),
        ("{x:d}", "a float cannot be written as `d`"),
        ("{t:+}", "a string cannot be written with a sign or zeros in front"),
        ("{n:9999}", "`:9999` is not a valid format"),
        ("{n:dd}", "`:dd` is not a valid format"),
        ("{n:ß", "`{` is not closed"),
    ] {
        assert_eq!(formatted(format), message, "{format}");
    }
}

#[test]
fn positions_count_characters() {
    let part = |start, count| {
        let args = vec!["äbcdé".into(), Value::I32(start), Value::I32(count)];
        text("string.slice", &json!({}), args)
    };
    assert_eq!(part(0, 2), r#""äb""#);
    assert_eq!(part(4, 9), r#""é""#);
    assert_eq!(part(-2, 3), r#""ä""#);
    assert_eq!(part(9, 2), r#""""#);
    assert_eq!(part(2, -1), r#""""#);
    assert_eq!(part(i32::MAX, i32::MAX), r#""""#);
    assert_eq!(on("string.length", &["äbcdé"]), "5");
    assert_eq!(on("string.find", &["äbcdé", "c"]), "2");
    assert_eq!(on("string.find", &["äbcdé", "x"]), "-1");
    assert_eq!(on("string.find", &["ä", ""]), "0");
}

#[test]
fn texts_are_compared_character_by_character() {
    assert_eq!(on("string.contains", &["abc", "bc"]), "true");
    assert_eq!(on("string.starts_with", &["abc", "bc"]), "false");
    assert_eq!(on("string.ends_with", &["abc", "bc"]), "true");
    assert_eq!(on("string.equal", &["a", "A"]), "false");
    assert_eq!(on("string.equal", &["", ""]), "true");
}

#[test]
fn numbers_are_read_and_written() {
    assert_eq!(on("string.to_number", &[" -1.5e3 "]), "-1500.0");
    assert_eq!(on("string.to_number", &["-inf"]), "\"-inf\"");
    assert_eq!(on("string.to_number", &["1,5"]), "\"1,5\" is not a number");
    let lenient = json!({"otherwise": "nan"});
    assert_eq!(text("string.to_number", &lenient, vec!["one".into()]), "\"nan\"");
    let written = |number: Value, decimals| {
        let set = json!({});
        text("string.from_number", &set, vec![number, Value::I32(decimals)])
    };
    assert_eq!(written(Value::F32(0.1), -1), r#""0.1""#);
    assert_eq!(written(Value::F64(2.0 / 3.0), 2), r#""0.67""#);
    assert_eq!(written(Value::F64(1e21), -1), r#""1000000000000000000000""#);
    assert_eq!(written(Value::I64(-7), 3), r#""-7""#);
    assert_eq!(written(Value::F32(f32::NAN), 3), r#""nan""#);
    assert_eq!(written(Value::F32(f32::NEG_INFINITY), -1), r#""-inf""#);
    assert_eq!(written(Value::F64(0.5), i32::MAX).len(), 2 + 2 + 100);
}

#[test]
fn texts_are_split_and_joined() {
    let split = |text: &str, separator: &str| on("string.split", &[text, separator]);
    assert_eq!(split("a,b,,c", ","), r#"["a", "b", "", "c"]"#);
    assert_eq!(split("", ","), r#"[""]"#);
    assert_eq!(split("äb", ""), r#"["ä", "b"]"#);
    assert_eq!(split("", ""), "[]");
    let join = |parts: &[&str], separator: &str| {
        let parts: Vec<Arc<str>> = parts.iter().map(|part| Arc::from(*part)).collect();
        text("string.join", &json!({}), vec![list(parts), separator.into()])
    };
    assert_eq!(join(&["a", "b", ""], "--"), r#""a--b--""#);
    assert_eq!(join(&[], "--"), r#""""#);
}

#[test]
fn texts_that_would_be_too_long_are_not_built() {
    let limits = Limits { list_length: 10, bytes: 25, ..Limits::default() };
    let node = instance("string.repeat", &json!({}), &[], &[]);
    let repeated = |counts: Vec<i32>, mask: &Mask| {
        let n = counts.len();
        call(&node, vec![one("abc"), many(counts)], mask, n, &limits)
    };
    assert!(repeated(vec![3, 1], &Mask::full(2)).is_ok());
    let failure = repeated(vec![1, i32::MAX, 4], &Mask::full(3)).expect_err("too long");
    assert_eq!(failure.element, Some(1));
    assert_eq!(failure.message, "6442450941 bytes in one string, the limit is 10");
    let third = Mask::from_indices(vec![0, 2]).expect("ascending");
    assert_eq!(repeated(vec![1, i32::MAX, 4], &third).expect_err("too long").element, Some(2));
    let failure = repeated(vec![3, 3, 3], &Mask::full(3)).expect_err("together too long");
    assert_eq!(failure.message, "27 bytes in the strings of one column, the limit is 25");

    let node = instance("string.replace", &json!({}), &[], &[]);
    let given = vec![one("aaaa"), one("a"), one("bbb")];
    let failure = call(&node, given, &Mask::full(1), 1, &limits).expect_err("too long");
    assert_eq!(failure.message, "12 bytes in one string, the limit is 10");
    let node = instance("string.split", &json!({}), &[], &[]);
    let given = vec![one("aaaaaaaaaaaa"), one("")];
    let failure = call(&node, given, &Mask::full(1), 1, &limits).expect_err("too many");
    assert_eq!(failure.message, "12 items in one list, the limit is 10");
}

#[test]
fn columns_of_texts_are_read_through_maps() {
    let node = instance("string.concat", &json!({}), &[], &[2]);
    let texts: Vec<Arc<str>> = ["a", "b"].map(Arc::from).to_vec();
    let (stretched, mut tiled) = (many(texts.clone()), many(texts));
    let stretched = (stretched.0, Map::Stretch(2));
    tiled.1 = Map::Tile(2);
    let given = vec![stretched, tiled];
    let data = call(&node, given, &Mask::full(4), 4, &Limits::default()).expect("joined");
    let all: Vec<String> = (0..4).map(|i| data.get(i).to_string()).collect();
    assert_eq!(all, [r#""aa""#, r#""ab""#, r#""ba""#, r#""bb""#]);
}

proptest! {
    #[test]
    fn any_format_is_read(format in r"[{}a-z0-9:.<>^+ é]{0,20}") {
        formatted(&format);
    }

    #[test]
    fn numbers_read_back(bits: u64) {
        let number = f64::from_bits(bits);
        let args = vec![Value::F64(number), Value::I32(-1)];
        let text = value_of("string.from_number", &json!({}), Type::F64, args).expect("written");
        let back = value_of("string.to_number", &json!({}), Type::F64, vec![text]).expect("read");
        let back = back.get::<f64>().expect("f64");
        prop_assert!(back.to_bits() == bits || back.is_nan() && number.is_nan());
    }

    #[test]
    fn joining_undoes_splitting(text in "[ab,;]{0,12}", separator in "[,;]{1,2}") {
        let set = json!({});
        let args = vec![text.as_str().into(), separator.as_str().into()];
        let parts = value_of("string.split", &set, Type::F32, args).expect("split");
        let args = vec![parts, separator.as_str().into()];
        let back = value_of("string.join", &set, Type::F32, args).expect("joined");
        prop_assert_eq!(back.get::<Arc<str>>().expect("text"), Arc::from(text));
    }

    #[test]
    fn slices_are_those_of_the_characters(text in "[aä€𝄞]{0,8}", start in -3_i32..10, count in -2_i32..10) {
        let args = vec![text.as_str().into(), Value::I32(start), Value::I32(count)];
        let cut = value_of("string.slice", &json!({}), Type::F32, args).expect("cut");
        let wanted: String = (0..).zip(text.chars())
            .filter(|(i, _)| (start..start + count).contains(i))
            .map(|(_, c)| c)
            .collect();
        prop_assert_eq!(cut.get::<Arc<str>>().expect("text"), Arc::from(wanted));
    }
}
