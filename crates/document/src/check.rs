//! Checking: resolves every name and type of a document, and reports all problems.
//!
//! A check proceeds body by body, with groups before the root. First come the *faces* of all bodies
//! (the types of inputs and outputs), which need no nodes. Then, for each body, come the *shapes*
//! of its nodes (node type and settings), its *links*, their order, and in that order the *types*.
//! A broken part is reported once and marked. Its values get an unknown type, which later steps do
//! not report again.
//!
//! Cost: linear in nodes and links, apart from looking up names. Nothing recurses.

mod body;
mod calls;
mod choices;
mod closure;
mod condition;
mod copies;
mod error;
mod face;
mod features;
mod formula_hints;
mod groups;
mod instances;
mod links;
mod literals;
mod mismatch;
mod names;
mod narrow;
mod origin;
mod rounded;
mod settle;
mod shapes;
mod single;
mod spots;
mod types;
mod used;
mod values;
mod wrong;
mod zone;

use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::id::Arena;
use millstream_base::{Limits, Span};
use millstream_node::Registry;

pub use error::CheckError;
pub use single::{NodeChecker, SingleNode, SingleSource, zone_output};

use crate::at::{At, Part};
use crate::checked::Checked;
use crate::grain::with_groups_inlined;
use crate::library::Library;
use crate::load::{Loaded, load_to_check, name_problem};
use crate::model::{Document, Entry, FORMAT_VERSION};
use crate::problems::{Problems, shortened};
use crate::spot::Spot;
use crate::upgrade::{Conversion, NodeUpgrade, insert_conversions, upgrade_nodes};
use crate::uses::read_used;
use body::Checker;
use calls::resolve_calls;
use copies::add_copies;
use face::{BodyDef, Faces};
use features::{check_features, note_readers_of_time};
use groups::check_groups;
use wrong::mark;
use zone::check_states;

/// Checks a document; there is a result unless there are errors.
///
/// Parts that loading could not read are errors here too, so that a document is never compiled
/// without a part that its author wrote; [`open`] reports each such part once.
pub fn check(
    document: &Document,
    registry: &Registry,
    limits: &Limits,
) -> (Option<Checked>, Diagnostics) {
    let (checked, problems) = check_partly(document, registry, limits);
    // A used document may have errors in parts that nothing needs.
    (checked.filter(|checked| !checked.is_partial && !problems.has_errors()), problems)
}

/// Like [`check`], but if there are errors, the result marks the parts that have them. There is no
/// result if the document as a whole is wrong.
pub fn check_partly(
    document: &Document,
    registry: &Registry,
    limits: &Limits,
) -> (Option<Checked>, Diagnostics) {
    let mut problems = Problems::default();
    let (checked, _) = check_readable(document, registry, limits, true, &mut problems);
    (checked, problems.finish())
}

/// Whether the nodes form cycles that switches do not break.
pub(crate) fn has_cycles(document: &Document, registry: &Registry, limits: &Limits) -> bool {
    let mut problems = Problems::default();
    check_readable(document, registry, limits, false, &mut problems);
    problems.n_cycles() > 0
}

/// Loads, upgrades and checks a document together with those that it uses, and reports the problems
/// of all phases at once.
pub fn open(
    text: &[u8],
    registry: &Registry,
    library: Option<&dyn Library>,
    upgrades: &[NodeUpgrade],
    limits: &Limits,
) -> (Option<(Document, Checked)>, Diagnostics) {
    open_loaded(load_to_check(text, limits), registry, library, upgrades, limits)
}

/// Like [`open`], for a document that is already loaded.
pub fn open_loaded(
    loaded: Loaded,
    registry: &Registry,
    library: Option<&dyn Library>,
    upgrades: &[NodeUpgrade],
    limits: &Limits,
) -> (Option<(Document, Checked)>, Diagnostics) {
    let (opened, found) = open_partly(loaded, registry, library, upgrades, limits);
    (opened.filter(|(_, checked)| !checked.is_partial && !found.has_errors()), found)
}

/// Like [`open_loaded`], but if there are errors, the result marks the parts that have them. There
/// is no result if the document as a whole is wrong.
pub fn open_partly(
    loaded: Loaded,
    registry: &Registry,
    library: Option<&dyn Library>,
    upgrades: &[NodeUpgrade],
    limits: &Limits,
) -> (Option<(Document, Checked)>, Diagnostics) {
    let Loaded { document, problems: mut found, .. } = loaded;
    let Some(mut document) = document else { return (None, found) };
    upgrade_nodes(&mut document, upgrades);
    read_used(&mut document, registry, library, upgrades, limits);
    let mut problems = Problems::default();
    let (mut checked, conversions) =
        check_readable(&document, registry, limits, false, &mut problems);
    if insert_conversions(&mut document, &conversions) > 0 {
        problems = Problems::default();
        (checked, _) = check_readable(&document, registry, limits, false, &mut problems);
    }
    if found.has_errors() {
        // Errors of loading are reported once, and mark their parts as well.
        (checked, _) = check_partly(&document, registry, limits);
    }
    found.append(problems.finish());
    found.sort_by_place();
    let is_known = !document.unread.has(Entry::Statements);
    (checked.filter(|_| is_known).map(|checked| (document, checked)), found)
}

/// Upgrades a document of format 1, whose nodes have the versions of the registry, to format 2.
/// Returns the number of sources that a new node converts.
///
/// Names, their order and view data stay the same; each new node is inserted before one of its
/// readers.
pub fn upgrade_widths(document: &mut Document, registry: &Registry) -> usize {
    if document.format >= FORMAT_VERSION {
        return 0;
    }
    let mut problems = Problems::silent();
    let bodies = bodies_of(document);
    let mut faces = Faces::new(registry);
    let faces: Vec<_> = bodies.iter().map(|body| faces.of(body, &mut problems)).collect();
    let mut checker = Checker::new(document, registry, &bodies, &faces, &mut problems);
    for body in 0..bodies.len() {
        checker.body(body);
    }
    let conversions = checker.conversions;
    insert_conversions(document, &conversions)
}

/// Groups in order, then the root.
fn bodies_of(document: &Document) -> Vec<BodyDef<'_>> {
    let groups = document.groups.iter().map(|(name, group)| {
        let mut def = BodyDef::group(name, group);
        if group.file.is_none() {
            def.widths = document.widths();
        }
        def
    });
    groups.chain([BodyDef::root(document)]).collect()
}

/// Checks the readable parts, and marks the parts with errors as wrong. `reports_wrong` says
/// whether errors of loading are reported again. Also finds the sources that a document of format 1
/// converts but format 2 does not. If cycles are left, switches in groups may break them: then the
/// groups are replaced by their nodes.
fn check_readable(
    document: &Document,
    registry: &Registry,
    limits: &Limits,
    reports_wrong: bool,
    problems: &mut Problems,
) -> (Option<Checked>, Vec<Conversion>) {
    let both = (document, document);
    let (checked, conversions) = check_once(both, registry, limits, reports_wrong, problems);
    if problems.n_cycles() > 0
        && let Some(checked) = &checked
        && let Some(inlined) = with_groups_inlined(document, registry, checked)
    {
        *problems = Problems::after(problems);
        let both = (&inlined, document);
        return check_once(both, registry, limits, reports_wrong, problems);
    }
    (checked, conversions)
}

/// Checks a document, which may have nodes that its author has not written.
fn check_once(
    (document, written): (&Document, &Document),
    registry: &Registry,
    limits: &Limits,
    reports_wrong: bool,
    problems: &mut Problems,
) -> (Option<Checked>, Vec<Conversion>) {
    let n_nodes = document.n_nodes();
    if n_nodes > limits.nodes {
        let error = CheckError::TooManyNodes { n: n_nodes, limit: limits.nodes };
        problems.report(At::ROOT, Span::default(), &error);
        return (None, Vec::new());
    }
    if !document.fps.is_finite() || document.fps <= 0.0 {
        let error = CheckError::BadFps { fps: document.fps.to_string() };
        problems.report(At::ROOT, Span::default(), &error);
    }
    used::report(document, registry, problems);
    let mut all_readable = document.unread.is_empty();
    for body in &bodies_of(written) {
        all_readable &= check_parts(body, reports_wrong, problems);
    }
    let bodies = bodies_of(document);
    let mut faces = Faces::new(registry);
    let faces: Vec<_> = bodies.iter().map(|body| faces.of(body, problems)).collect();
    let used = check_groups(document, &bodies, limits, problems);
    let mut checker = Checker::new(document, registry, &bodies, &faces, problems);
    checker.all_readable = all_readable;
    let checked: Arena<_, _> = (0..bodies.len()).map(|body| checker.body(body)).collect();
    let conversions = checker.conversions;
    // A document that has only groups is a library for other documents.
    let is_library = document.nodes.is_empty() && document.outputs.is_empty();
    if all_readable && !is_library {
        for ((name, group), used) in document.groups.iter().zip(used) {
            if !used && group.file.is_none() {
                let warning = CheckError::UnusedGroup { name: name.to_string() };
                problems.report(At::group(name), group.spot.span(), &warning);
            }
        }
    }
    let root = checked.ids().next_back().expect("the root is a body");
    let mut checked = Checked {
        bodies: checked,
        root,
        name: Arc::clone(&document.name),
        fps: document.fps,
        start_frame: document.start_frame,
        is_partial: false,
        has_closures: false,
    };
    if document.unread.has(Entry::Time) {
        note_readers_of_time(&checked.bodies, problems);
    }
    let mut is_right = mark(&mut checked, document, &bodies, &problems.take_parts());
    if checked.is_partial {
        problems.be_silent();
    }
    check_features(&checked.bodies, problems);
    check_states(&checked.bodies, problems);
    is_right &= mark(&mut checked, document, &bodies, &problems.take_parts());
    add_copies(&mut checked, registry);
    // Calls and closures that depend on wrong parts are known to, so the errors of others are right.
    problems.speak();
    resolve_calls(&mut checked, registry, limits, problems);
    (is_right.then_some(checked), conversions)
}

/// Checks the names of parts built in code (loading has checked those of text), and reports the
/// parts with loading errors if `reports_wrong`. Returns whether loading could read all parts.
fn check_parts(body: &BodyDef<'_>, reports_wrong: bool, problems: &mut Problems) -> bool {
    let at = body.at();
    let mut all_readable = true;
    let mut check = |what: &'static str, name: &str, spot: Spot, at: At<'_>| {
        all_readable &= !spot.is_unreadable();
        if spot.is_wrong() {
            if body.file.is_some() {
                // Loading errors are reported with the group.
                problems.note_wrong(at);
            } else if reports_wrong {
                let error = CheckError::Unreadable { what: at.whole() };
                problems.report(at, spot.span(), &error);
            }
        }
        if spot.span().is_empty()
            && body.file.is_none()
            && let Some(reason) = name_problem(name)
        {
            let error = CheckError::BadName { what, name: shortened(name), reason };
            problems.report(at, Span::default(), &error);
        }
    };
    if body.is_group {
        check("a group", body.name, body.spot, at);
    }
    for (name, def) in body.inputs {
        check("an input", name, def.spot, at.part(Part::Input(name)));
    }
    for (name, def) in body.outputs {
        check("an output", name, def.spot, at.part(Part::Output(name)));
    }
    // Nodes that stand for parts of formulas have names that no author can write.
    for (name, node) in body.nodes.iter().filter(|(_, node)| node.part().is_none()) {
        check("a node", name, node.spot, at.part(Part::Node(name)));
    }
    all_readable
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod widths_tests;
