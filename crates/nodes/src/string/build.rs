//! Texts built from other texts.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::{Call, NodeDef, Registry};

use super::{built, of_one, of_two, on_texts, with_text};
use crate::cells::{Cells, function};

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
    NodeDef::new("string.concat", "Joins several texts into one")
        .input("texts", Type::STRING, "texts in order; none give an empty text")
        .multiple()
        .output("value", Type::STRING, "")
        .kernel(|parts| {
            let n = parts.inputs.len();
            Ok(function(move |call| {
                built(
                    call,
                    |call, i| (0..n).map(|input| with_text(call, input, i, str::len)).sum(),
                    |call, i, out| {
                        for input in 0..n {
                            with_text(call, input, i, |text| out.push_str(text));
                        }
                    },
                )
            }))
        })
}

fn repeat() -> NodeDef {
    on_texts("string.repeat", "Repeats a text", &[("text", "")])
        .details("A count of 0 or less gives an empty text.")
        .input("count", Type::I32, "number of repetitions")
        .or_number(2.0)
        .output("value", Type::STRING, "")
        .kernel(|_| {
            Ok(function(|call| {
                let times = |call: &Call<'_>, i: usize| call.input::<i32>(1).get(i).max(0) as usize;
                built(
                    call,
                    |call, i| with_text(call, 0, i, str::len).saturating_mul(times(call, i)),
                    |call, i, out| {
                        with_text(call, 0, i, |text| {
                            if !text.is_empty() {
                                (0..times(call, i)).for_each(|_| out.push_str(text));
                            }
                        });
                    },
                )
            }))
        })
}

fn slice() -> NodeDef {
    on_texts("string.slice", "A part of a text by position", &[("text", "")])
        .details(
            "The characters from index `start` up to but not including `start + count`, as far as \
             they exist.",
        )
        .input("start", Type::I32, "index of the first character, from 0")
        .or_number(0.0)
        .input("count", Type::I32, "number of characters")
        .or_number(1.0)
        .output("value", Type::STRING, "")
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = Cells::<Arc<str>>::new(call);
                let texts = call.input::<Arc<str>>(0);
                let (starts, counts) = (call.input::<i32>(1), call.input::<i32>(2));
                cells.fill(call, |i| {
                    let start = i64::from(starts.get(i));
                    let end = start + i64::from(counts.get(i)).max(0);
                    Ok(texts.with(i, |text| part(text, start, end).into()))
                })?;
                cells.put(call);
                Ok(())
            }))
        })
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
fn letters(
    def: NodeDef,
    all: impl Fn(&str) -> String + Clone + Send + Sync + 'static,
    ascii: impl Fn(&str) -> String + Clone + Send + Sync + 'static,
) -> NodeDef {
    def.details("Independent of the language.")
        .choice("letters", LETTERS, "all", "which letters are changed")
        .output("value", Type::STRING, "")
        .kernel(move |parts| {
            let (all, ascii) = (all.clone(), ascii.clone());
            Ok(if parts.settings.text("letters") == "ascii" {
                of_one(move |text| Arc::<str>::from(ascii(text)))
            } else {
                of_one(move |text| Arc::<str>::from(all(text)))
            })
        })
}

fn upper() -> NodeDef {
    let def = on_texts("string.upper", "A text in upper case", &[("text", "")]);
    letters(def, str::to_uppercase, str::to_ascii_uppercase)
}

fn lower() -> NodeDef {
    let def = on_texts("string.lower", "A text in lower case", &[("text", "")]);
    letters(def, str::to_lowercase, str::to_ascii_lowercase)
}

fn title() -> NodeDef {
    on_texts(
        "string.title",
        "A text in title case, with a capital at the start of each word",
        &[("text", "")],
    )
    .details(
        "A word consists of letters, digits and apostrophes that follow them; all letters but \
             the first are in lower case.",
    )
    .output("value", Type::STRING, "")
    .kernel(|_| Ok(of_one(|text| Arc::<str>::from(titled(text)))))
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
    side(on_texts("string.trim", "Removes white space around a text", texts), "both")
        .flag("white_space", true, "remove white space")
        .output("value", Type::STRING, "")
        .kernel(|parts| {
            let (side, white) =
                (parts.settings.text("side").to_owned(), parts.settings.flag("white_space"));
            Ok(of_two(move |text, characters| {
                let goes = |c: char| (white && c.is_whitespace()) || characters.contains(c);
                Arc::<str>::from(match &*side {
                    "start" => text.trim_start_matches(goes),
                    "end" => text.trim_end_matches(goes),
                    _ => text.trim_matches(goes),
                })
            }))
        })
}

fn reverse() -> NodeDef {
    on_texts("string.reverse", "Reverses a text", &[("text", "")])
        .details(
            "Characters are reversed one by one, so an accent that is a separate character moves \
             to another letter.",
        )
        .output("value", Type::STRING, "")
        .kernel(|_| Ok(of_one(|text| Arc::<str>::from(text.chars().rev().collect::<String>()))))
}

fn pad() -> NodeDef {
    let def = on_texts("string.pad", "Pads a text to a length", &[("text", "")])
        .details(
            "A text that is long enough does not change. With `both`, an odd character goes to the \
             end. The fill is repeated and cut as needed; an empty fill adds nothing.",
        )
        .input("length", Type::I32, "least number of characters")
        .or_number(8.0)
        .input("fill", Type::STRING, "text to pad with")
        .or_value(Arc::<str>::from(" "));
    side(def, "start").output("value", Type::STRING, "").kernel(|parts| {
        let side = parts.settings.text("side").to_owned();
        Ok(function(move |call| {
            let missing = |call: &Call<'_>, i: usize| {
                let wanted = call.input::<i32>(1).get(i).max(0) as usize;
                let is_empty = with_text(call, 2, i, str::is_empty);
                let has = with_text(call, 0, i, |text| text.chars().count());
                if is_empty { 0 } else { wanted.saturating_sub(has) }
            };
            built(
                call,
                // No character has more than four bytes.
                |call, i| with_text(call, 0, i, str::len).saturating_add(4 * missing(call, i)),
                |call, i, out| {
                    let n = missing(call, i);
                    let before = match &*side {
                        "start" => n,
                        "end" => 0,
                        _ => n / 2,
                    };
                    with_text(call, 2, i, |fill| {
                        out.extend(fill.chars().cycle().take(before));
                        with_text(call, 0, i, |text| out.push_str(text));
                        out.extend(fill.chars().cycle().take(n - before));
                    });
                },
            )
        }))
    })
}

fn replace() -> NodeDef {
    on_texts(
        "string.replace",
        "Replaces every occurrence of a part of a text",
        &[("text", ""), ("part", "part to replace"), ("by", "replacement")],
    )
    .details("Occurrences are found from the left and do not overlap. An empty part never occurs.")
    .output("value", Type::STRING, "")
    .kernel(|_| {
        Ok(function(|call| {
            built(
                call,
                |call, i| {
                    with_text(call, 0, i, |text| {
                        with_text(call, 1, i, |part| {
                            let n = if part.is_empty() { 0 } else { text.matches(part).count() };
                            let by = with_text(call, 2, i, str::len);
                            (text.len() - n * part.len()).saturating_add(n.saturating_mul(by))
                        })
                    })
                },
                |call, i, out| {
                    with_text(call, 0, i, |text| {
                        with_text(call, 1, i, |part| {
                            with_text(call, 2, i, |by| replaced(text, part, by, out));
                        });
                    });
                },
            )
        }))
    })
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
