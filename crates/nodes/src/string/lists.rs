//! Strings split into lists of strings and joined again.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::{Default, NodeDef, Registry};

use super::{each_text, on_texts};
use crate::each::{Items, Text, each_list};
use crate::shape::list_of;

pub(super) fn register(registry: &mut Registry) {
    registry.register(split());
    registry.register(join());
}

fn split() -> NodeDef {
    on_texts(
        "string.split",
        "Splits a string at a separator",
        &[("text", ""), ("separator", "text between parts")],
    )
    .converts()
    .details(
        "Adjacent separators, and separators at an end, have empty parts beside them. So an empty \
         string has one part, which is empty. An empty separator splits the string into its \
         characters.",
    )
    .output("value", list_of(Type::STRING), "parts in order")
    .function(each_list::<(Text, Text), Arc<str>>(
        |(text, separator)| match separator {
            "" => text.chars().count(),
            _ => text.matches(separator).count() + 1,
        },
        |element, (text, separator), parts| match separator {
            "" => element.pace.over(text.chars(), PART, |c| {
                parts.push(Arc::from(&*c.encode_utf8(&mut [0; 4])));
                Ok(())
            }),
            _ => element.pace.over(text.split(separator), PART, |part| {
                parts.push(Arc::from(part));
                Ok(())
            }),
        },
    ))
}

/// Units of work of one part.
const PART: usize = 1 << 4;

fn join() -> NodeDef {
    NodeDef::new("string.join", "Joins a list of strings with a separator")
        .converts()
        .input("list", list_of(Type::STRING), "strings in order")
        .input_or("separator", Type::STRING, Default::Zero, "text between parts")
        .output("value", Type::STRING, "joined text; empty for an empty list")
        .function(each_text::<(Items<Arc<str>>, Text)>(
            |(items, separator)| {
                let between = separator.len().saturating_mul(items.len().saturating_sub(1));
                items.iter().fold(between, |n, item| n.saturating_add(item.len()))
            },
            |(items, separator), out| {
                for (k, item) in items.iter().enumerate() {
                    if k > 0 {
                        out.push_str(separator);
                    }
                    out.push_str(item);
                }
            },
        ))
}
