//! Parts of texts by what stands around them, words, and other ways to look at a text.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::{Default, NodeDef, Registry, SettingKind, SettingValue};

use super::{built, of_one, of_two, on_texts, with_text};
use crate::cells::{Cells, ListCells, function};

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

fn chosen(text: &str) -> SettingValue {
    SettingValue::Text(text.into())
}

const CUTS: &[(&str, &str)] = &[
    ("before_first", "what stands before the first one"),
    ("after_first", "what stands after the first one"),
    ("before_last", "what stands before the last one"),
    ("after_last", "what stands after the last one"),
];

fn cut() -> NodeDef {
    let texts = &[("text", ""), ("separator", "where the text is cut")];
    on_texts("string.cut", "The part of a text on one side of a separator", texts)
        .details("A text without the separator, or an empty separator, gives the whole text.")
        .setting("part", SettingKind::Choice(CUTS), Some(chosen("before_first")), "which part")
        .output("value", Type::STRING, "")
        .kernel(|parts| {
            let part = parts.settings.text("part").to_owned();
            Ok(of_two(move |text, separator| {
                let found = match &*part {
                    _ if separator.is_empty() => None,
                    "after_first" => text.split_once(separator).map(|(_, after)| after),
                    "before_last" => text.rsplit_once(separator).map(|(before, _)| before),
                    "after_last" => text.rsplit_once(separator).map(|(_, after)| after),
                    _ => text.split_once(separator).map(|(before, _)| before),
                };
                Arc::<str>::from(found.unwrap_or(text))
            }))
        })
}

fn between() -> NodeDef {
    let texts = &[("text", ""), ("start", "what stands before"), ("end", "what stands behind")];
    on_texts("string.between", "The part of a text between two others", texts)
        .details(
            "Behind the first `start`, up to the first `end` behind that. Empty if one of them is not there; an \
             empty start is the start of the text, an empty end its end.",
        )
        .output("value", Type::STRING, "")
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = Cells::<Arc<str>>::new(call);
                cells.fill(call, |i| {
                    Ok(with_text(call, 0, i, |text| {
                        with_text(call, 1, i, |start| {
                            with_text(call, 2, i, |end| enclosed(text, start, end).into())
                        })
                    }))
                })?;
                cells.put(call);
                Ok(())
            }))
        })
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
    let texts = &[("text", ""), ("part", "what is taken off, once")];
    on_texts("string.without", "A text without a beginning or an ending", texts)
        .details("A text that does not start or end so stays. `string.trim` takes single characters off.")
        .setting("side", SettingKind::Choice(ENDS), Some(chosen("start")), "where")
        .output("value", Type::STRING, "")
        .kernel(|parts| {
            let at_start = parts.settings.text("side") == "start";
            Ok(of_two(move |text, part| {
                let rest = if at_start { text.strip_prefix(part) } else { text.strip_suffix(part) };
                Arc::<str>::from(rest.unwrap_or(text))
            }))
        })
}

fn insert() -> NodeDef {
    on_texts("string.insert", "A text with another put into it", &[("text", ""), ("part", "what is put in")])
        .details("In front of the character of that number; 0 and below: in front of all, the length and above: behind all.")
        .input("at", Type::I32, "number of a character, from 0")
        .or_number(0.0)
        .output("value", Type::STRING, "")
        .kernel(|_| {
            Ok(function(|call| {
                built(
                    call,
                    |call, i| with_text(call, 0, i, str::len) + with_text(call, 1, i, str::len),
                    |call, i, out| {
                        let at = call.input::<i32>(2).get(i).max(0) as usize;
                        with_text(call, 0, i, |text| {
                            let byte = text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
                            out.push_str(&text[..byte]);
                            with_text(call, 1, i, |part| out.push_str(part));
                            out.push_str(&text[byte..]);
                        });
                    },
                )
            }))
        })
}

fn texts() -> Type {
    Type::STRING.list().expect("lists of texts exist")
}

fn words() -> NodeDef {
    on_texts("string.words", "The words of a text", &[("text", "")])
        .details("What stands between white space; none for a text without anything else.")
        .output("value", texts(), "in order")
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = ListCells::<Arc<str>>::new(call);
                let count =
                    |i: usize| with_text(call, 0, i, |text| text.split_whitespace().count());
                cells.fill(call, count, |i, words| {
                    with_text(call, 0, i, |text| {
                        words.extend(text.split_whitespace().map(Arc::from));
                    });
                    Ok(())
                })?;
                cells.put(call)
            }))
        })
}

fn lines() -> NodeDef {
    on_texts("string.lines", "The lines of a text", &[("text", "")])
        .details(
            "Lines end at a line feed, with or without a carriage return before it, or with the text; an empty \
             text has none.",
        )
        .output("value", texts(), "in order, without their ends")
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = ListCells::<Arc<str>>::new(call);
                let count = |i: usize| with_text(call, 0, i, |text| text.lines().count());
                cells.fill(call, count, |i, lines| {
                    with_text(call, 0, i, |text| lines.extend(text.lines().map(Arc::from)));
                    Ok(())
                })?;
                cells.put(call)
            }))
        })
}

fn codes() -> NodeDef {
    on_texts("string.codes", "The numbers of the characters of a text", &[("text", "")])
        .details("By Unicode: 65 for `A`, 228 for `ä`.")
        .output("value", Type::I32.list().expect("lists of numbers exist"), "0 to 1114111 each")
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = ListCells::<i32>::new(call);
                let count = |i: usize| with_text(call, 0, i, |text| text.chars().count());
                cells.fill(call, count, |i, codes| {
                    with_text(call, 0, i, |text| {
                        codes.extend(text.chars().map(|c| u32::from(c) as i32));
                    });
                    Ok(())
                })?;
                cells.put(call)
            }))
        })
}

fn from_codes() -> NodeDef {
    NodeDef::new("string.from_codes", "The text of characters with these numbers")
        .details("By Unicode; what is no number of a character becomes U+FFFD.")
        .input("codes", Type::I32.list().expect("lists of numbers exist"), "the numbers in order")
        .or(Default::Zero)
        .output("value", Type::STRING, "")
        .kernel(|_| {
            Ok(function(|call| {
                built(
                    call,
                    // No character has more than four bytes.
                    |call, i| call.lists(0).n_items(i).saturating_mul(4),
                    |call, i, out| {
                        let codes = call.lists(0).slice::<i32>(i).expect("the items are numbers");
                        let character = |code: &i32| {
                            u32::try_from(*code).ok().and_then(char::from_u32).unwrap_or('\u{fffd}')
                        };
                        out.extend(codes.iter().map(character));
                    },
                )
            }))
        })
}

const CASES: &[(&str, &str)] = &[
    ("snake", "`big_red_box`"),
    ("kebab", "`big-red-box`"),
    ("camel", "`bigRedBox`"),
    ("pascal", "`BigRedBox`"),
    ("constant", "`BIG_RED_BOX`"),
];

fn case() -> NodeDef {
    on_texts("string.case", "A name in another way of writing", &[("text", "")])
        .details(
            "Words end at anything but letters and digits, where a capital follows a small letter or a digit, and \
             before the last of several capitals if a small letter follows it.",
        )
        .setting("style", SettingKind::Choice(CASES), Some(chosen("snake")), "how it is written")
        .output("value", Type::STRING, "")
        .kernel(|parts| {
            let style = parts.settings.text("style").to_owned();
            Ok(of_one(move |text| Arc::<str>::from(styled(text, &style))))
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
