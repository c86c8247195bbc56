//! The part of a document that is right, where other parts are wrong.
//!
//! What checking finds wrong is left out, with all that depends on it (see `lost`); then what is left
//! is checked, as something may be wrong only without other things. So it is with what planning finds
//! wrong. The rest means what it means in the whole.

mod leave_out;
mod lost;

use std::sync::Arc;

use millstream_base::Limits;
use millstream_base::diagnostics::Diagnostics;
use millstream_document::check::{PartName, WrongPart, check_parts};
use millstream_document::{Checked, Document};
use millstream_node::Registry;

use leave_out::without;

/// Rounds of leaving parts out.
const MAX_ROUNDS: usize = 16;

/// A document, or what is right of it.
pub(super) struct Part {
    /// `None` if it is the whole document.
    document: Option<Box<Document>>,
    /// What it is checked to be.
    pub(super) checked: Arc<Checked>,
}

/// What is right of a document, if anything is, and all that is wrong with it.
pub(super) fn right_part(
    document: &Document,
    registry: &Registry,
    limits: &Limits,
) -> (Option<Part>, Diagnostics) {
    let (checked, problems, wrong) = check_parts(document, registry, limits);
    let part = match checked {
        Some(checked) => Some(Part { document: None, checked: Arc::new(checked) }),
        None => part_without(document, wrong, registry, limits),
    };
    (part, problems)
}

/// What is right of a document in which these parts are wrong.
fn part_without(
    document: &Document,
    mut wrong: Vec<WrongPart>,
    registry: &Registry,
    limits: &Limits,
) -> Option<Part> {
    let mut part = without(document, &wrong, registry, limits)?;
    for _ in 0..MAX_ROUNDS {
        let (checked, _, left) = check_parts(&part, registry, limits);
        if let Some(checked) = checked {
            return Some(Part { document: Some(Box::new(part)), checked: Arc::new(checked) });
        }
        wrong = left;
        part = without(&part, &wrong, registry, limits)?;
    }
    None
}

/// Plans a part of a document. Where that fails at nodes, these are left out with what depends on
/// them. Gives what could be planned in the end, and why the rest could not.
pub(super) fn planned<T>(
    document: &Document,
    mut part: Part,
    registry: &Registry,
    limits: &Limits,
    plan: impl Fn(&Checked) -> Result<T, Diagnostics>,
) -> (Option<(Part, T)>, Diagnostics) {
    let mut told = Diagnostics::new();
    for _ in 0..MAX_ROUNDS {
        let problems = match plan(&part.checked) {
            Ok(plan) => return (Some((part, plan)), told),
            Err(problems) => problems,
        };
        let planned = part.document.as_deref().unwrap_or(document);
        let wrong = problems.iter().map(|problem| node_at(planned, problem.place.path.as_str()));
        let wrong: Option<Vec<WrongPart>> = wrong.collect();
        told.append(problems);
        let left = wrong.and_then(|wrong| part_without(planned, wrong, registry, limits));
        let Some(left) = left else { break };
        part = left;
    }
    (None, told)
}

/// The node at a path, through the nodes that use groups.
fn node_at(document: &Document, path: &str) -> Option<WrongPart> {
    let (mut group, mut nodes) = (None, &document.nodes);
    let mut names = path.split('/').peekable();
    loop {
        let (name, node) = nodes.get_key_value(names.next()?)?;
        if names.peek().is_none() {
            return Some(WrongPart { group, part: PartName::Node(Arc::clone(name)) });
        }
        let inner = node.kind.group()?;
        nodes = &document.groups.get(inner)?.nodes;
        group = Some(Arc::clone(inner));
    }
}
