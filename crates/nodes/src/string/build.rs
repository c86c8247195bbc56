//! Texts out of other texts.

use millstream_base::Type;
use millstream_kernel::{NodeDef, Registry};
use std::sync::Arc;

use super::{built, of_one, on_texts, with_text};
use crate::cells::{Cells, function};

pub(super) fn register(registry: &mut Registry) {
    registry.register(concat());
    registry.register(repeat());
    registry.register(slice());
    registry.register(upper());
    registry.register(lower());
    registry.register(trim());
    registry.register(replace());
}

fn concat() -> NodeDef {
    NodeDef::new("string.concat", "Texts one behind the other")
        .input("texts", Type::STRING, "the texts in order; none give an empty text")
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
    on_texts("string.repeat", "A text several times over", &[("text", "")])
        .details("A count of 0 or less gives an empty text.")
        .input("count", Type::I32, "how many times")
        .or_number(2.0)
        .output("value", Type::STRING, "")
        .kernel(|_| {
            Ok(function(|call| {
                let times = |call: &millstream_kernel::Call<'_>, i: usize| {
                    call.input::<i32>(1).get(i).max(0) as usize
                };
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
    on_texts("string.slice", "A part of a text", &[("text", "")])
        .details(
            "The characters numbered from `start` up to but not including `start + count`, as far as \
             the text has them.",
        )
        .input("start", Type::I32, "number of the first character, from 0")
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

/// The characters numbered `start..end`, as far as there are some.
fn part(text: &str, start: i64, end: i64) -> &str {
    let byte = |character: i64| {
        let character = usize::try_from(character.max(0)).unwrap_or(usize::MAX);
        text.char_indices().nth(character).map_or(text.len(), |(byte, _)| byte)
    };
    &text[byte(start)..byte(end)]
}

fn upper() -> NodeDef {
    on_texts("string.upper", "A text in capitals", &[("text", "")])
        .details(
            "By the tables of Unicode, whatever the language; the number of characters may change.",
        )
        .output("value", Type::STRING, "")
        .kernel(|_| Ok(of_one(|text| Arc::<str>::from(text.to_uppercase()))))
}

fn lower() -> NodeDef {
    on_texts("string.lower", "A text in small letters", &[("text", "")])
        .details(
            "By the tables of Unicode, whatever the language; the number of characters may change.",
        )
        .output("value", Type::STRING, "")
        .kernel(|_| Ok(of_one(|text| Arc::<str>::from(text.to_lowercase()))))
}

fn trim() -> NodeDef {
    on_texts("string.trim", "A text without white space around it", &[("text", "")])
        .output("value", Type::STRING, "")
        .kernel(|_| Ok(of_one(|text| Arc::<str>::from(text.trim()))))
}

fn replace() -> NodeDef {
    on_texts(
        "string.replace",
        "A text with a part replaced wherever it occurs",
        &[("text", ""), ("part", "what is replaced"), ("by", "what stands there afterwards")],
    )
    .details(
        "Occurrences are found from the left and do not overlap. An empty part occurs nowhere.",
    )
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
