//! Texts split into lists of texts and joined again.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::{Call, Default, Failure, NodeDef, Registry};

use super::{built, on_texts, with_text};
use crate::cells::{ListCells, function};
use crate::shape::list_of;

pub(super) fn register(registry: &mut Registry) {
    registry.register(split());
    registry.register(join());
}

fn split() -> NodeDef {
    on_texts(
        "string.split",
        "Splits a text at a separator",
        &[("text", ""), ("separator", "text between parts")],
    )
    .converts()
    .details(
        "Adjacent separators, and separators at an end, have empty parts beside them. So an empty \
         text has one part, which is empty. An empty separator splits the text into its \
         characters.",
    )
    .output("value", list_of(Type::STRING), "parts in order")
    .kernel(|_| Ok(function(parts)))
}

/// Units of work of one part.
const PART: usize = 1 << 4;

fn parts(call: &mut Call<'_>) -> Result<(), Failure> {
    let mut cells = ListCells::<Arc<str>>::new(call);
    let (texts, separators) = (call.input::<Arc<str>>(0), call.input::<Arc<str>>(1));
    let n_parts = |i: usize| {
        texts.with(i, |text| {
            separators.with(i, |separator| match &**separator {
                "" => text.chars().count(),
                separator => text.matches(separator).count() + 1,
            })
        })
    };
    let mut pace = call.pace();
    cells.fill(call, n_parts, |i, parts| {
        texts.with(i, |text| {
            separators.with(i, |separator| match &**separator {
                "" => pace.over(text.chars(), PART, |c| {
                    parts.push(Arc::from(&*c.encode_utf8(&mut [0; 4])));
                    Ok(())
                }),
                separator => pace.over(text.split(separator), PART, |part| {
                    parts.push(Arc::from(part));
                    Ok(())
                }),
            })
        })
    })?;
    cells.put(call)
}

fn join() -> NodeDef {
    NodeDef::new("string.join", "Joins a list of texts with a separator")
        .converts()
        .input("list", list_of(Type::STRING), "texts in order")
        .input("separator", Type::STRING, "text between parts")
        .or(Default::Zero)
        .output("value", Type::STRING, "joined text; empty for an empty list")
        .kernel(|_| Ok(function(joined)))
}

fn joined(call: &mut Call<'_>) -> Result<(), Failure> {
    fn items<'c>(call: &'c Call<'_>, i: usize) -> &'c [Arc<str>] {
        call.lists(0).slice::<Arc<str>>(i).expect("the items have the signature's type")
    }
    built(
        call,
        |call, i| {
            let items = items(call, i);
            let separator = with_text(call, 1, i, str::len);
            let between = separator.saturating_mul(items.len().saturating_sub(1));
            items.iter().fold(between, |n, item| n.saturating_add(item.len()))
        },
        |call, i, out| {
            with_text(call, 1, i, |separator| {
                for (k, item) in items(call, i).iter().enumerate() {
                    if k > 0 {
                        out.push_str(separator);
                    }
                    out.push_str(item);
                }
            });
        },
    )
}
