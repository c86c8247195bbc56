//! Parts of strings found by their surroundings, words, and other views of a string.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::{Default, NodeDef, Registry};

use super::{each_text, on_texts};
use crate::cells::function;
use crate::each::{Items, Text, each, each_list};
use crate::shape::list_of;

pub(super) fn register(registry: &mut Registry) {
    registry.register(cut());
    registry.register(between());
    registry.register(without());
    registry.register(insert());
    registry.register(words());
    registry.register(lines());
    registry.register(codes());
    registry.register(from_codes());
    registry.register(case());
}

const CUTS: &[(&str, &str)] = &[
    ("before_first", "the part before the first separator"),
    ("after_first", "the part after the first separator"),
    ("before_last", "the part before the last separator"),
    ("after_last", "the part after the last separator"),
];

fn cut() -> NodeDef {
    let texts = &[("text", ""), ("separator", "text at which to cut")];
    on_texts("string.cut", "The part of a string before or after a separator", texts)
        .details(
            "If the string does not contain the separator, or the separator is empty, the result \
             is the whole string.",
        )
        .choice("part", CUTS, "before_first", "part to return")
        .output("value", Type::STRING, "")
        .kernel(|parts| {
            let part = parts.settings.text("part").to_owned();
            Ok(function(each::<(Text, Text), _>(move |(text, separator)| {
                let found = match &*part {
                    _ if separator.is_empty() => None,
                    "after_first" => text.split_once(separator).map(|(_, after)| after),
                    "before_last" => text.rsplit_once(separator).map(|(before, _)| before),
                    "after_last" => text.rsplit_once(separator).map(|(_, after)| after),
                    _ => text.split_once(separator).map(|(before, _)| before),
                };
                Arc::<str>::from(found.unwrap_or(text))
            })))
        })
}

fn between() -> NodeDef {
    let texts = &[("text", ""), ("start", "text before the part"), ("end", "text after the part")];
    on_texts("string.between", "The part of a string between two markers", texts)
        .details(
            "The part after the first `start`, up to the next `end`. Empty if one of them is \
             missing. An empty `start` means the start of the string, an empty `end` its end.",
        )
        .output("value", Type::STRING, "")
        .function(each::<(Text, Text, Text), _>(|(text, start, end)| -> Arc<str> {
            enclosed(text, start, end).into()
        }))
}

fn enclosed<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    let Some((_, rest)) = text.split_once(start) else { return "" };
    if end.is_empty() {
        return rest;
    }
    rest.split_once(end).map_or("", |(part, _)| part)
}

const ENDS: &[(&str, &str)] = &[("start", "at the start"), ("end", "at the end")];

fn without() -> NodeDef {
    let texts = &[("text", ""), ("part", "prefix or suffix to remove, once")];
    on_texts("string.without", "Removes a prefix or suffix from a string", texts)
        .details(
            "A string without that prefix or suffix does not change. `string.trim` removes single \
             characters.",
        )
        .choice("side", ENDS, "start", "where")
        .output("value", Type::STRING, "")
        .kernel(|parts| {
            let at_start = parts.settings.text("side") == "start";
            Ok(function(each::<(Text, Text), _>(move |(text, part)| {
                let rest = if at_start { text.strip_prefix(part) } else { text.strip_suffix(part) };
                Arc::<str>::from(rest.unwrap_or(text))
            })))
        })
}

fn insert() -> NodeDef {
    on_texts(
        "string.insert",
        "Inserts a string into another",
        &[("text", ""), ("part", "text to insert")],
    )
    .details(
        "The string is inserted before the character with that index: at the start for 0 or \
             less, at the end for the length or more.",
    )
    .input_or("at", Type::I32, 0.0, "index of a character, from 0")
    .output("value", Type::STRING, "")
    .function(each_text::<(Text, Text, i32)>(
        |(text, part, _)| text.len() + part.len(),
        |(text, part, at), out| {
            let at = at.max(0) as usize;
            let byte = text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
            out.push_str(&text[..byte]);
            out.push_str(part);
            out.push_str(&text[byte..]);
        },
    ))
}

fn words() -> NodeDef {
    on_texts("string.words", "Splits a string into words", &[("text", "")])
        .details("Words are separated by white space. A string of white space alone has no words.")
        .output("value", list_of(Type::STRING), "words in order")
        .function(each_list::<(Text,), Arc<str>>(
            |(text,)| text.split_whitespace().count(),
            |_, (text,), words| {
                words.extend(text.split_whitespace().map(Arc::from));
                Ok(())
            },
        ))
}

fn lines() -> NodeDef {
    on_texts("string.lines", "Splits a string into lines", &[("text", "")])
        .details(
            "A line ends at a line feed, with or without a carriage return before it, or at the \
             end of the string. An empty string has no lines.",
        )
        .output("value", list_of(Type::STRING), "lines in order, without line ends")
        .function(each_list::<(Text,), Arc<str>>(
            |(text,)| text.lines().count(),
            |_, (text,), lines| {
                lines.extend(text.lines().map(Arc::from));
                Ok(())
            },
        ))
}

fn codes() -> NodeDef {
    on_texts("string.codes", "The Unicode code points of a string", &[("text", "")])
        .details("By Unicode: 65 for `A`, 228 for `ä`.")
        .output("value", list_of(Type::I32), "code points, 0 to 1114111 each")
        .function(each_list::<(Text,), i32>(
            |(text,)| text.chars().count(),
            |_, (text,), codes| {
                codes.extend(text.chars().map(|c| u32::from(c) as i32));
                Ok(())
            },
        ))
}

fn from_codes() -> NodeDef {
    NodeDef::new("string.from_codes", "A string from Unicode code points")
        .details("A number that is not the code point of a character becomes U+FFFD.")
        .input_or("codes", list_of(Type::I32), Default::Zero, "code points in order")
        .output("value", Type::STRING, "")
        .function(each_text::<(Items<i32>,)>(
            // No character takes more than four bytes.
            |(codes,)| codes.len().saturating_mul(4),
            |(codes,), out| {
                let character = |code: &i32| {
                    u32::try_from(*code).ok().and_then(char::from_u32).unwrap_or('\u{fffd}')
                };
                out.extend(codes.iter().map(character));
            },
        ))
}

const CASES: &[(&str, &str)] = &[
    ("snake", "`big_red_box`"),
    ("kebab", "`big-red-box`"),
    ("camel", "`bigRedBox`"),
    ("pascal", "`BigRedBox`"),
    ("constant", "`BIG_RED_BOX`"),
];

fn case() -> NodeDef {
    on_texts("string.case", "Converts a name to another case style", &[("text", "")])
        .details(
            "A word ends at any character other than a letter or digit, at a capital after a \
             lower-case letter or a digit, and before the last of several capitals if a lower-case \
             letter follows it.",
        )
        .choice("style", CASES, "snake", "case style of the result")
        .output("value", Type::STRING, "")
        .kernel(|parts| {
            let style = parts.settings.text("style").to_owned();
            Ok(function(each::<(Text,), _>(move |(text,)| Arc::<str>::from(styled(text, &style)))))
        })
}

/// The words of a name.
fn words_of_name(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for (i, c) in characters.iter().enumerate() {
        if !c.is_alphanumeric() {
            before = ' ';
            continue;
        }
        let small_follows = characters.get(i + 1).is_some_and(|next| next.is_lowercase());
        let starts = !before.is_alphanumeric()
            || (c.is_uppercase() && !before.is_uppercase())
            || (c.is_uppercase() && small_follows);
        match words.last_mut() {
            Some(word) if !starts => word.push(*c),
            _ => words.push(c.to_string()),
        }
        before = *c;
    }
    words
}

fn styled(text: &str, style: &str) -> String {
    let capital = |word: &str| {
        let mut characters = word.chars();
        let first: String = characters.next().into_iter().flat_map(char::to_uppercase).collect();
        first + &characters.as_str().to_lowercase()
    };
    let words = words_of_name(text);
    match style {
        "kebab" => words.join("-").to_lowercase(),
        "constant" => words.join("_").to_uppercase(),
        "pascal" => words.iter().map(|word| capital(word)).collect(),
        "camel" => {
            let later = words.iter().skip(1).map(|word| capital(word));
            words.iter().take(1).map(|word| word.to_lowercase()).chain(later).collect()
        }
        _ => words.join("_").to_lowercase(),
    }
}
