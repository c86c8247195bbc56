//! Questions about texts: length, search, comparison.

use millstream_base::Type;
use millstream_node::{NodeDef, Registry};

use super::{of_one, of_two, on_texts};

pub(super) fn register(registry: &mut Registry) {
    registry.register(length());
    registry.register(find());
    registry.register(find_last());
    registry.register(count_parts());
    registry.register(order());
    let text_and_part =
        &[("text", ""), ("part", "text to search for; an empty one is always found")];
    for (name, summary, test) in [
        ("string.contains", "Whether a text contains another", contains as fn(&str, &str) -> bool),
        ("string.starts_with", "Whether a text starts with another", starts_with),
        ("string.ends_with", "Whether a text ends with another", ends_with),
    ] {
        registry.register(
            on_texts(name, summary, text_and_part)
                .output("value", Type::BOOL, "")
                .kernel(move |_| Ok(of_two(test))),
        );
    }
    registry.register(equal());
}

fn contains(text: &str, part: &str) -> bool {
    text.contains(part)
}

fn starts_with(text: &str, part: &str) -> bool {
    text.starts_with(part)
}

fn ends_with(text: &str, part: &str) -> bool {
    text.ends_with(part)
}

fn count(text: &str) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX)
}

fn length() -> NodeDef {
    on_texts("string.length", "The number of characters of a text", &[("text", "")])
        .output("value", Type::I32, "number of characters")
        .kernel(|_| Ok(of_one(count)))
}

fn find() -> NodeDef {
    on_texts(
        "string.find",
        "The position of the first occurrence of a part in a text",
        &[("text", ""), ("part", "text to search for; an empty one is found at 0")],
    )
    .output("value", Type::I32, "index of its first character, from 0; -1 if there is none")
    .kernel(|_| {
        Ok(of_two(|text: &str, part: &str| text.find(part).map_or(-1, |byte| count(&text[..byte]))))
    })
}

fn find_last() -> NodeDef {
    on_texts(
        "string.find_last",
        "The position of the last occurrence of a part in a text",
        &[("text", ""), ("part", "text to search for; an empty one is found at the end")],
    )
    .output("value", Type::I32, "index of its first character, from 0; -1 if there is none")
    .kernel(|_| {
        Ok(of_two(|text: &str, part: &str| {
            text.rfind(part).map_or(-1, |byte| count(&text[..byte]))
        }))
    })
}

fn count_parts() -> NodeDef {
    on_texts(
        "string.count",
        "The number of occurrences of a part in a text",
        &[("text", ""), ("part", "text to count")],
    )
    .details("Occurrences are found from the left and do not overlap. An empty part never occurs.")
    .output("value", Type::I32, "")
    .kernel(|_| {
        Ok(of_two(|text: &str, part: &str| {
            let n = if part.is_empty() { 0 } else { text.matches(part).count() };
            i32::try_from(n).unwrap_or(i32::MAX)
        }))
    })
}

fn order() -> NodeDef {
    on_texts("string.order", "The order of two texts", &[("a", ""), ("b", "")])
        .details(
            "Texts are ordered by the code points of the first characters that differ; a prefix \
             comes before the longer text.",
        )
        .output("value", Type::I32, "-1: a comes first, 0: equal, 1: b comes first")
        .kernel(|_| Ok(of_two(|a: &str, b: &str| a.cmp(b) as i32)))
}

fn equal() -> NodeDef {
    on_texts("string.equal", "Whether two texts are equal", &[("a", ""), ("b", "")])
        .details("Compared character by character: case and accents matter.")
        .output("value", Type::BOOL, "")
        .kernel(|_| Ok(of_two(|a: &str, b: &str| a == b)))
}
