//! The part of a document that is right, where other parts are wrong.
//!
//! Nodes with problems go, and all that reads them, and the outputs that read those. The rest means
//! what it means in the whole.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use millstream_base::Limits;
use millstream_base::diagnostics::{Diagnostic, Diagnostics, Severity};
use millstream_base::literal::from_json;
use millstream_document::{
    Checked, Document, Input, InputDef, InputValue, Named, Node, OutputDef, OutputFrom, check,
};
use millstream_kernel::Registry;

/// Rounds of taking parts out; what is wrong only without other parts needs a second one.
const MAX_ROUNDS: usize = 4;

/// The part of a document that is right, and what it is checked to be. `None` if there is none.
pub(super) fn sound_part(
    document: &Document,
    problems: &Diagnostics,
    registry: &Registry,
    limits: &Limits,
) -> Option<Checked> {
    let mut part = document.clone();
    take_inputs_out(&mut part, registry);
    let mut problems = problems.clone();
    for _ in 0..MAX_ROUNDS {
        take_out(&mut part, &problems, registry, limits);
        let (checked, left) = check(&part, registry, limits);
        if checked.is_some() {
            return checked;
        }
        if tells_of_outputs_only(&left) {
            part.outputs = right_outputs(&part, registry, limits);
        }
        problems = left;
    }
    None
}

fn tells_of_outputs_only(problems: &Diagnostics) -> bool {
    let mut errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
    errors.all(|problem| problem.place.path.as_str().is_empty())
}

/// The outputs that are right, each tried alone: their problems do not say which they are about.
fn right_outputs(document: &Document, registry: &Registry, limits: &Limits) -> Named<OutputDef> {
    let mut alone = document.clone();
    let mut right = Named::new();
    for (name, output) in &document.outputs {
        alone.outputs = std::iter::once((Arc::clone(name), output.clone())).collect();
        if check(&alone, registry, limits).0.is_some() {
            right.insert(Arc::clone(name), output.clone());
        }
    }
    right
}

/// Takes inputs out whose type or default is wrong, and what reads them.
fn take_inputs_out(document: &mut Document, registry: &Registry) {
    let wrong = |def: &InputDef| {
        let ty = registry.type_named(&def.ty);
        ty.is_none_or(|ty| def.default.as_ref().is_some_and(|json| from_json(ty, json).is_err()))
    };
    let (wrong, right): (Vec<_>, Vec<_>) = document.inputs.iter().partition(|(_, def)| wrong(def));
    if wrong.is_empty() {
        return;
    }
    let wrong: HashSet<String> = wrong.into_iter().map(|(name, _)| name.to_string()).collect();
    let right = right.into_iter().map(|(name, def)| (Arc::clone(name), def.clone())).collect();
    let reads = |node: &Node| {
        let mut read = node.inputs.iter().flat_map(|(_, input)| sources(input));
        read.any(
            |source| matches!(&source.value, InputValue::Input(name) if wrong.contains(&**name)),
        )
    };
    let readers = document.nodes.iter().filter(|(_, node)| reads(node));
    let readers = readers.map(|(name, _)| name.to_string()).collect();
    document.inputs = right;
    take_nodes_out(document, readers);
}

/// Takes nodes with problems out, and what reads them.
fn take_out(document: &mut Document, problems: &Diagnostics, registry: &Registry, limits: &Limits) {
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
    let mut nodes: HashSet<String> = HashSet::new();
    let mut groups: HashSet<String> = HashSet::new();
    let of_groups = OnceCell::new();
    // A problem of a group as a whole has its name for a path; a node may have that too.
    let is_of_group = |problem: &Diagnostic, path: &str| {
        let of_groups = || of_groups.get_or_init(|| problems_of_groups(document, registry, limits));
        document.groups.contains_key(path)
            && (!document.nodes.contains_key(path) || of_groups().iter().any(|it| it == problem))
    };
    for problem in errors {
        let path = problem.place.path.as_str();
        match path.split_once('/') {
            Some((group, _)) => groups.insert(group.into()),
            None if is_of_group(problem, path) => groups.insert(path.into()),
            None => nodes.insert(path.split('.').next().unwrap_or_default().into()),
        };
    }
    // Groups that use wrong ones are wrong too.
    loop {
        let wrong = document.groups.iter().filter(|(name, group)| {
            !groups.contains(&***name) && group.nodes.values().any(|node| uses(node, &groups))
        });
        let wrong: Vec<String> = wrong.map(|(name, _)| name.to_string()).collect();
        if wrong.is_empty() {
            break;
        }
        groups.extend(wrong);
    }
    let using = document.nodes.iter().filter(|(_, node)| uses(node, &groups));
    nodes.extend(using.map(|(name, _)| name.to_string()));
    for group in &groups {
        document.groups.remove(group);
    }
    take_nodes_out(document, nodes);
}

/// What is wrong with groups, whoever uses them.
fn problems_of_groups(document: &Document, registry: &Registry, limits: &Limits) -> Diagnostics {
    let groups = Document { nodes: Named::new(), outputs: Named::new(), ..document.clone() };
    check(&groups, registry, limits).1
}

/// Takes nodes out, what reads them, and outputs that have no source then.
fn take_nodes_out(document: &mut Document, nodes: HashSet<String>) {
    let gone = downstream(&document.nodes, nodes);
    for name in &gone {
        document.nodes.remove(name);
    }
    let lost = |output: &OutputDef| match &output.from {
        OutputFrom::Link(link) => !document.nodes.contains_key(&link.node),
        OutputFrom::Input(name) => !document.inputs.contains_key(name),
    };
    document.outputs = document
        .outputs
        .iter()
        .filter(|(_, output)| !lost(output))
        .map(|(name, output)| (Arc::clone(name), output.clone()))
        .collect();
}

fn uses(node: &Node, groups: &HashSet<String>) -> bool {
    node.kind.group().is_some_and(|name| groups.contains(&**name))
}

/// These nodes and all that read them.
fn downstream(nodes: &Named<Node>, start: HashSet<String>) -> HashSet<String> {
    let mut users: HashMap<&str, Vec<&str>> = HashMap::new();
    for (name, node) in nodes {
        for (_, input) in node.inputs.iter() {
            for source in sources(input) {
                if let InputValue::Link(link) = &source.value {
                    users.entry(&link.node).or_default().push(name);
                }
            }
        }
    }
    let mut stack: Vec<String> = start.iter().cloned().collect();
    let mut gone = start;
    while let Some(name) = stack.pop() {
        for user in users.get(name.as_str()).into_iter().flatten() {
            if gone.insert((*user).to_owned()) {
                stack.push((*user).to_owned());
            }
        }
    }
    gone
}

fn sources(input: &Input) -> &[Input] {
    match &input.value {
        InputValue::Several(sources) => sources,
        InputValue::Literal(_) | InputValue::Link(_) | InputValue::Input(_) => {
            std::slice::from_ref(input)
        }
    }
}
