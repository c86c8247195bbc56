//! Questions about strings: length, search, comparison.

use millstream_base::Type;
use millstream_node::{NodeDef, Registry};

use super::on_texts;
use crate::each::{Text, each};

pub(super) fn register(registry: &mut Registry) {
    registry.register(length());
    registry.register(find());
    registry.register(find_last());
    registry.register(count_parts());
    registry.register(order());
    let text_and_part =
        &[("text", ""), ("part", "text to search for; an empty one is always found")];
    let mut test = |name, summary, test: fn(&str, &str) -> bool| {
        registry.register(
            on_texts(name, summary, text_and_part)
                .output("value", Type::BOOL, "")
                .function(each::<(Text, Text), _>(move |(text, part)| test(text, part))),
        );
    };
    test("string.contains", "Whether a string contains another", |text, part| text.contains(part));
    test("string.starts_with", "Whether a string starts with another", |text, part| {
        text.starts_with(part)
    });
    test("string.ends_with", "Whether a string ends with another", |text, part| {
        text.ends_with(part)
    });
    registry.register(equal());
}

fn count(text: &str) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX)
}

fn length() -> NodeDef {
    on_texts("string.length", "The number of characters of a string", &[("text", "")])
        .output("value", Type::I32, "number of characters")
        .function(each::<(Text,), _>(|(text,)| count(text)))
}

fn find() -> NodeDef {
    on_texts(
        "string.find",
        "The position of the first occurrence of a part in a string",
        &[("text", ""), ("part", "text to search for; an empty one is found at 0")],
    )
    .output("value", Type::I32, "index of its first character, from 0; -1 if there is none")
    .function(each::<(Text, Text), _>(|(text, part)| {
        text.find(part).map_or(-1, |byte| count(&text[..byte]))
    }))
}

fn find_last() -> NodeDef {
    on_texts(
        "string.find_last",
        "The position of the last occurrence of a part in a string",
        &[("text", ""), ("part", "text to search for; an empty one is found at the end")],
    )
    .output("value", Type::I32, "index of its first character, from 0; -1 if there is none")
    .function(each::<(Text, Text), _>(|(text, part)| {
        text.rfind(part).map_or(-1, |byte| count(&text[..byte]))
    }))
}

fn count_parts() -> NodeDef {
    on_texts(
        "string.count",
        "The number of occurrences of a part in a string",
        &[("text", ""), ("part", "text to count")],
    )
    .details("Occurrences are found from the left and do not overlap. An empty part never occurs.")
    .output("value", Type::I32, "")
    .function(each::<(Text, Text), _>(|(text, part)| {
        let n = if part.is_empty() { 0 } else { text.matches(part).count() };
        i32::try_from(n).unwrap_or(i32::MAX)
    }))
}

fn order() -> NodeDef {
    on_texts("string.order", "The order of two strings", &[("a", ""), ("b", "")])
        .details(
            "Strings are ordered by the code points of the first characters that differ; a prefix \
             comes before the longer string.",
        )
        .output("value", Type::I32, "-1: a comes first, 0: equal, 1: b comes first")
        .function(each::<(Text, Text), _>(|(a, b)| a.cmp(b) as i32))
}

fn equal() -> NodeDef {
    on_texts("string.equal", "Whether two strings are equal", &[("a", ""), ("b", "")])
        .details("Compared character by character: case and accents matter.")
        .output("value", Type::BOOL, "")
        .commutes()
        .function(each::<(Text, Text), _>(|(a, b)| a == b))
}
