//! Links between types that do not convert, with a suggestion for a node that converts them.

use millstream_base::Type;
use millstream_node::Registry;
use millstream_node::convert::convertible;
use millstream_node::explicit::explicit_conversions;

use super::error::CheckError;
use crate::model::{Form, InputValue};

/// The maximum number of nodes that a message names.
const MAX_NAMED: usize = 3;

/// The error for a value of type `from` linked to a socket that takes only `to`, or one of several
/// types.
pub(super) fn mismatch(
    (registry, form): (&Registry, Form),
    source_name: String,
    from: Type,
    to: &[Type],
    target: String,
) -> CheckError {
    let explicit = explicit_conversions(registry, from, to, MAX_NAMED);
    let implicit: Vec<String> = Type::BUILT_IN
        .into_iter()
        .filter(|other| to.iter().any(|to| convertible(*other, *to)))
        .map(|other| format!("`{other}`"))
        .collect();
    let takes = takes(to);
    let hint = if !explicit.is_empty() {
        let named: Vec<String> = explicit
            .iter()
            .map(|explicit| form.of(explicit.to_string(), format!("{explicit:#}")))
            .collect();
        format!("insert a node that converts: {}", named.join(", or "))
    } else if implicit.len() > 1 {
        format!("types that convert to it: {}", implicit.join(", "))
    } else {
        format!("link something of type {takes}")
    };
    CheckError::TypeMismatch { source_name, from, target, takes, hint }
}

fn takes(to: &[Type]) -> String {
    match to {
        [only] => only.with_article(),
        _ => {
            let names: Vec<&str> = to.iter().map(|ty| ty.name()).collect();
            format!("one of {}", names.join(", "))
        }
    }
}

/// The name of a source in messages.
pub(super) fn describe(value: &InputValue) -> String {
    match value {
        InputValue::Link(link) => format!("`{link}`"),
        InputValue::Input(name) => format!("input `{name}`"),
        InputValue::Literal(_) | InputValue::Several(_) => "the literal".into(),
    }
}
