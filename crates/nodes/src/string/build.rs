//! Strings built from other strings.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::{Call, NodeDef, Registry};

use super::{each_text, on_texts};
use crate::cells::function;
use crate::each::{Argument, Arguments, Text, Texts, each};

pub(super) fn register(registry: &mut Registry) {
    registry.register(concat());
    registry.register(repeat());
    registry.register(slice());
    registry.register(upper());
    registry.register(lower());
    registry.register(title());
    registry.register(trim());
    registry.register(reverse());
    registry.register(pad());
    registry.register(replace());
}

fn concat() -> NodeDef {
    NodeDef::new("string.concat", "Joins several strings into one")
        .input("texts", Type::STRING, "strings in order; none give an empty string")
        .multiple()
        .output("value", Type::STRING, "")
        .function(each_text::<AllTexts>(
            |(texts, i)| texts.iter().map(|text| Text::of(text, i).len()).sum(),
            |(texts, i), out| texts.iter().for_each(|text| out.push_str(Text::of(text, i))),
        ))
}

/// All inputs, as strings.
struct AllTexts;

impl Arguments for AllTexts {
    type Views<'c> = Vec<Texts<'c>>;
    type Of<'v> = (&'v [Texts<'v>], usize);

    fn views<'c>(call: &'c Call<'_>) -> Vec<Texts<'c>> {
        (0..call.n_inputs()).map(|input| Text::view(call, input)).collect()
    }

    fn of<'v>(views: &'v Vec<Texts<'_>>, i: usize) -> (&'v [Texts<'v>], usize) {
        (views, i)
    }
}

fn repeat() -> NodeDef {
    on_texts("string.repeat", "Repeats a string", &[("text", "")])
        .details("A count of 0 or less gives an empty string.")
        .input_or("count", Type::I32, 2.0, "number of repetitions")
        .output("value", Type::STRING, "")
        .function(each_text::<(Text, i32)>(
            |(text, count)| text.len().saturating_mul(count.max(0) as usize),
            |(text, count), out| {
                if !text.is_empty() {
                    (0..count).for_each(|_| out.push_str(text));
                }
            },
        ))
}

fn slice() -> NodeDef {
    on_texts("string.slice", "A part of a string by position", &[("text", "")])
        .details(
            "The characters from index `start` up to but not including `start + count`, as far as \
             they exist.",
        )
        .input_or("start", Type::I32, 0.0, "index of the first character, from 0")
        .input_or("count", Type::I32, 1.0, "number of characters")
        .output("value", Type::STRING, "")
        .function(each::<(Text, i32, i32), _>(|(text, start, count)| -> Arc<str> {
            let start = i64::from(start);
            part(text, start, start + i64::from(count).max(0)).into()
        }))
}

/// The characters with indices `start..end`, as far as they exist.
fn part(text: &str, start: i64, end: i64) -> &str {
    let byte = |character: i64| {
        let character = usize::try_from(character.max(0)).unwrap_or(usize::MAX);
        text.char_indices().nth(character).map_or(text.len(), |(byte, _)| byte)
    };
    &text[byte(start)..byte(end)]
}

const LETTERS: &[(&str, &str)] = &[
    ("all", "all letters, by the tables of Unicode; the number of characters may change"),
    ("ascii", "only the letters a to z"),
];

/// A node that changes the case of letters, with the setting that says which letters.
fn letters(def: NodeDef, all: fn(&str) -> String, ascii: fn(&str) -> String) -> NodeDef {
    def.details("Independent of the language.")
        .choice("letters", LETTERS, "all", "which letters are changed")
        .output("value", Type::STRING, "")
        .kernel(move |parts| {
            let change = if parts.settings.text("letters") == "ascii" { ascii } else { all };
            Ok(function(each::<(Text,), _>(move |(text,)| Arc::<str>::from(change(text)))))
        })
}

fn upper() -> NodeDef {
    let def = on_texts("string.upper", "A string in upper case", &[("text", "")]);
    letters(def, str::to_uppercase, str::to_ascii_uppercase)
}

fn lower() -> NodeDef {
    let def = on_texts("string.lower", "A string in lower case", &[("text", "")]);
    letters(def, str::to_lowercase, str::to_ascii_lowercase)
}

fn title() -> NodeDef {
    on_texts(
        "string.title",
        "A string in title case, with a capital at the start of each word",
        &[("text", "")],
    )
    .details(
        "A word consists of letters, digits and apostrophes that follow them; all letters but \
             the first are in lower case.",
    )
    .output("value", Type::STRING, "")
    .function(each::<(Text,), _>(|(text,)| Arc::<str>::from(titled(text))))
}

fn titled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_word = false;
    for c in text.chars() {
        if in_word {
            out.extend(c.to_lowercase());
        } else {
            push_title(&mut out, c);
        }
        in_word = c.is_alphanumeric() || (in_word && matches!(c, '\'' | '’'));
    }
    out
}

/// Appends a letter in title case by the Unicode Character Database, which differs from upper case
/// where one character stands for two letters.
fn push_title(out: &mut String, c: char) {
    match c {
        'Ǆ'..='ǆ' => out.push('ǅ'),
        'Ǉ'..='ǉ' => out.push('ǈ'),
        'Ǌ'..='ǌ' => out.push('ǋ'),
        'Ǳ'..='ǳ' => out.push('ǲ'),
        // Georgian has no title case: its letters stay as they are.
        '\u{10d0}'..='\u{10ff}' => out.push(c),
        // The Greek iota subscript stays subscript.
        '\u{1f80}'..='\u{1faf}' => out.extend(char::from_u32(u32::from(c) | 8)),
        '\u{1fb3}' | '\u{1fbc}' => out.push('\u{1fbc}'),
        '\u{1fc3}' | '\u{1fcc}' => out.push('\u{1fcc}'),
        '\u{1ff3}' | '\u{1ffc}' => out.push('\u{1ffc}'),
        '\u{1fb2}'..='\u{1ff7}' => {
            out.extend(c.to_uppercase().map(|c| if c == 'Ι' { '\u{345}' } else { c }));
        }
        'ŉ' => out.extend(c.to_uppercase()),
        _ => {
            let mut capitals = c.to_uppercase();
            out.extend(capitals.next());
            out.extend(capitals.flat_map(char::to_lowercase));
        }
    }
}

const SIDES: &[(&str, &str)] =
    &[("both", "at both ends"), ("start", "at the start"), ("end", "at the end")];

fn side(def: NodeDef, default: &'static str) -> NodeDef {
    def.choice("side", SIDES, default, "ends to change")
}

fn trim() -> NodeDef {
    let texts = &[("text", ""), ("characters", "further characters to remove")];
    side(on_texts("string.trim", "Removes white space around a string", texts), "both")
        .flag("white_space", true, "remove white space")
        .output("value", Type::STRING, "")
        .kernel(|parts| {
            let (side, white) =
                (parts.settings.text("side").to_owned(), parts.settings.flag("white_space"));
            Ok(function(each::<(Text, Text), _>(move |(text, characters)| {
                let goes = |c: char| (white && c.is_whitespace()) || characters.contains(c);
                Arc::<str>::from(match &*side {
                    "start" => text.trim_start_matches(goes),
                    "end" => text.trim_end_matches(goes),
                    _ => text.trim_matches(goes),
                })
            })))
        })
}

fn reverse() -> NodeDef {
    on_texts("string.reverse", "Reverses a string", &[("text", "")])
        .details(
            "Characters are reversed one by one, so an accent that is a separate character moves \
             to another letter.",
        )
        .output("value", Type::STRING, "")
        .function(each::<(Text,), _>(|(text,)| {
            Arc::<str>::from(text.chars().rev().collect::<String>())
        }))
}

fn pad() -> NodeDef {
    let def = on_texts("string.pad", "Pads a string to a length", &[("text", "")])
        .details(
            "A string that is long enough does not change. With `both`, an odd character goes to \
             the end. The fill is repeated and cut as needed; an empty fill adds nothing.",
        )
        .input_or("length", Type::I32, 8.0, "least number of characters")
        .input_or("fill", Type::STRING, " ", "text to pad with");
    side(def, "start").output("value", Type::STRING, "").kernel(|parts| {
        let side = parts.settings.text("side").to_owned();
        // The number of characters to add.
        let missing = |text: &str, length: i32, fill: &str| match fill {
            "" => 0,
            _ => (length.max(0) as usize).saturating_sub(text.chars().count()),
        };
        Ok(function(each_text::<(Text, i32, Text)>(
            // No character has more than four bytes.
            move |(text, length, fill)| text.len().saturating_add(4 * missing(text, length, fill)),
            move |(text, length, fill), out| {
                let n = missing(text, length, fill);
                let before = match &*side {
                    "start" => n,
                    "end" => 0,
                    _ => n / 2,
                };
                out.extend(fill.chars().cycle().take(before));
                out.push_str(text);
                out.extend(fill.chars().cycle().take(n - before));
            },
        )))
    })
}

fn replace() -> NodeDef {
    on_texts(
        "string.replace",
        "Replaces every occurrence of a part of a string",
        &[("text", ""), ("part", "part to replace"), ("by", "replacement")],
    )
    .details("Occurrences are found from the left and do not overlap. An empty part never occurs.")
    .output("value", Type::STRING, "")
    .function(each_text::<(Text, Text, Text)>(
        |(text, part, by)| {
            let n = if part.is_empty() { 0 } else { text.matches(part).count() };
            (text.len() - n * part.len()).saturating_add(n.saturating_mul(by.len()))
        },
        |(text, part, by), out| replaced(text, part, by, out),
    ))
}

fn replaced(text: &str, part: &str, by: &str, out: &mut String) {
    if part.is_empty() {
        out.push_str(text);
        return;
    }
    for (i, rest) in text.split(part).enumerate() {
        if i > 0 {
            out.push_str(by);
        }
        out.push_str(rest);
    }
}
