//! The problems of used documents that affect the document that uses them.

use millstream_base::Span;
use millstream_base::diagnostics::Diagnostic;
use millstream_node::Registry;

use super::error::CheckError;
use crate::at::At;
use crate::model::{Document, Find};
use crate::problems::Problems;

/// Reports problems with used documents as a whole, and loading errors in groups that the document
/// needs.
pub(super) fn report(document: &Document, registry: &Registry, problems: &mut Problems) {
    if let Some(used) = &document.used.0 {
        used.problems.iter().for_each(|problem| problems.add(problem.clone()));
    } else {
        for (name, def) in &document.uses {
            let error = CheckError::UseNotRead { name: name.to_string() };
            problems.report(At::ROOT, def.spot.span(), &error);
        }
    }
    for (name, group) in document.groups.iter().filter(|(_, group)| group.file.is_some()) {
        problems.know_file(name, group.file.as_ref());
        let Find::Body(file, of) = document.elsewhere(registry).find(name) else { continue };
        let is_inside = |span: Span| match of {
            Some(_) => contains(group.spot.span(), span),
            None => !file.document.groups.values().any(|it| contains(it.spot.span(), span)),
        };
        let is_meant = |problem: &&Diagnostic| problem.place.span.is_some_and(is_inside);
        file.problems.iter().filter(is_meant).for_each(|problem| problems.add(problem.clone()));
    }
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
