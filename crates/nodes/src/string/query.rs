//! What a text is like.

use millstream_base::Type;
use millstream_node::{NodeDef, Registry};

use super::{of_one, of_two, on_texts};

pub(super) fn register(registry: &mut Registry) {
    registry.register(length());
    registry.register(find());
    registry.register(find_last());
    registry.register(count_parts());
    registry.register(order());
    let text_and_part = &[("text", ""), ("part", "what is looked for; empty, it is everywhere")];
    for (name, summary, test) in [
        ("string.contains", "Whether a text holds another", contains as fn(&str, &str) -> bool),
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
    on_texts("string.length", "How many characters a text has", &[("text", "")])
        .output("value", Type::I32, "number of characters")
        .kernel(|_| Ok(of_one(count)))
}

fn find() -> NodeDef {
    on_texts(
        "string.find",
        "Where a text holds another",
        &[("text", ""), ("part", "what is looked for; empty, it is at 0")],
    )
    .output("value", Type::I32, "number of the character where it starts first; -1 if nowhere")
    .kernel(|_| {
        Ok(of_two(|text: &str, part: &str| text.find(part).map_or(-1, |byte| count(&text[..byte]))))
    })
}

fn find_last() -> NodeDef {
    on_texts(
        "string.find_last",
        "Where a text holds another for the last time",
        &[("text", ""), ("part", "what is looked for; empty, it is at the end")],
    )
    .output("value", Type::I32, "number of the character where it starts last; -1 if nowhere")
    .kernel(|_| {
        Ok(of_two(|text: &str, part: &str| {
            text.rfind(part).map_or(-1, |byte| count(&text[..byte]))
        }))
    })
}

fn count_parts() -> NodeDef {
    on_texts(
        "string.count",
        "How often a text holds another",
        &[("text", ""), ("part", "what is counted")],
    )
    .details(
        "Occurrences are found from the left and do not overlap. An empty part occurs nowhere.",
    )
    .output("value", Type::I32, "")
    .kernel(|_| {
        Ok(of_two(|text: &str, part: &str| {
            let n = if part.is_empty() { 0 } else { text.matches(part).count() };
            i32::try_from(n).unwrap_or(i32::MAX)
        }))
    })
}

fn order() -> NodeDef {
    on_texts("string.order", "Which of two texts comes first", &[("a", ""), ("b", "")])
        .details("By the numbers of the first characters that differ; a text comes behind its beginnings.")
        .output("value", Type::I32, "-1: a comes first, 0: they are the same, 1: b comes first")
        .kernel(|_| Ok(of_two(|a: &str, b: &str| a.cmp(b) as i32)))
}

fn equal() -> NodeDef {
    on_texts("string.equal", "Whether two texts are the same", &[("a", ""), ("b", "")])
        .details("Character by character: capitals and accents count.")
        .output("value", Type::BOOL, "")
        .kernel(|_| Ok(of_two(|a: &str, b: &str| a == b)))
}
