//! Groups inside groups: none may contain itself, and the limits of depth and size hold.

use millstream_base::Limits;

use super::error::CheckError;
use super::face::BodyDef;
use super::order::sorted;
use crate::at::{At, Part};
use crate::model::Document;
use crate::problems::Problems;

/// Names shown of a long path.
const MAX_SHOWN: usize = 16;

/// Which groups a body uses.
struct Uses {
    /// Each group once, with how often it is used and the first node that does.
    groups: Vec<(u32, u64, u32)>,
    n_calls: u64,
}

/// Checks how groups use each other; returns which groups are used. Cost: linear in nodes.
pub(super) fn check_groups(
    document: &Document,
    bodies: &[BodyDef<'_>],
    limits: &Limits,
    problems: &mut Problems,
) -> Vec<bool> {
    let mut marks = vec![u32::MAX; bodies.len()];
    let uses: Vec<Uses> = bodies.iter().map(|body| uses_of(document, body, &mut marks)).collect();
    let mut used = vec![false; bodies.len()];
    for (group, _, _) in uses.iter().flat_map(|uses| &uses.groups) {
        used[*group as usize] = true;
    }
    let n_groups = |body: u32| uses[body as usize].groups.len() as u32;
    let group = |body: u32, k: u32| Some(uses[body as usize].groups[k as usize].0);
    let order = sorted(bodies.len(), n_groups, group);
    if order.cycles.is_empty() {
        check_limits(bodies, &uses, &order.order, limits, problems);
    }
    for cycle in &order.cycles {
        let names = cycle.iter().chain(cycle.first()).map(|group| bodies[*group as usize].name);
        let path = path(names, cycle.len() + 1, " contains ");
        let first = bodies[cycle[0] as usize];
        let next = cycle.get(1).unwrap_or(&cycle[0]);
        let by = uses[cycle[0] as usize].groups.iter().find(|(group, _, _)| group == next);
        let node = by.and_then(|(_, _, node)| first.nodes.get_index(*node as usize));
        if let Some((name, node)) = node {
            let at = first.at().part(Part::Node(name));
            let error = CheckError::RecursiveGroup { path };
            problems.report(at, node.spot.span(), &error);
        }
    }
    used
}

/// `marks` has for each group the position of its entry, valid if the entry is of that group.
fn uses_of(document: &Document, body: &BodyDef<'_>, marks: &mut [u32]) -> Uses {
    let mut uses = Uses { groups: Vec::new(), n_calls: 0 };
    for (i, node) in body.nodes.values().enumerate() {
        let group = node.kind.group().and_then(|name| document.groups.get_index_of(name));
        let Some(group) = group else {
            uses.n_calls += 1;
            continue;
        };
        let at = marks[group] as usize;
        match uses.groups.get_mut(at).filter(|(known, _, _)| *known as usize == group) {
            Some((_, n, _)) => *n += 1,
            None => {
                marks[group] = uses.groups.len() as u32;
                uses.groups.push((group as u32, 1, i as u32));
            }
        }
    }
    uses
}

fn check_limits(
    bodies: &[BodyDef<'_>],
    uses: &[Uses],
    order: &[u32],
    limits: &Limits,
    problems: &mut Problems,
) {
    let mut depth = vec![0_usize; bodies.len()];
    let mut size = vec![0_u64; bodies.len()];
    for body in order {
        let body = *body as usize;
        size[body] = uses[body].n_calls;
        for (group, n, _) in &uses[body].groups {
            let group = *group as usize;
            depth[body] = depth[body].max(depth[group] + 1);
            size[body] = size[body].saturating_add(size[group].saturating_mul(*n));
        }
    }
    let root = bodies.len() - 1;
    let deepest = (0..bodies.len()).rev().max_by_key(|body| depth[*body]).unwrap_or(root);
    if depth[deepest] > limits.group_depth {
        report_depth(bodies, uses, &depth, deepest, limits.group_depth, problems);
    }
    if size[root] > limits.expanded_nodes as u64 {
        report_size(bodies, uses, &size, limits.expanded_nodes, problems);
    }
}

/// Reports the node that leads one group deeper than the limit.
fn report_depth(
    bodies: &[BodyDef<'_>],
    uses: &[Uses],
    depth: &[usize],
    deepest: usize,
    limit: usize,
    problems: &mut Problems,
) {
    let mut names = Vec::new();
    let mut place = None;
    let mut body = deepest;
    for level in 0..depth[deepest] {
        let inside = uses[body].groups.iter().find(|g| depth[g.0 as usize] + 1 == depth[body]);
        let Some((group, _, node)) = inside else { break };
        if level <= limit {
            place = Some((body, *node));
        }
        body = *group as usize;
        if names.len() < MAX_SHOWN {
            names.push(bodies[body].name);
        } else if level > limit {
            break;
        }
    }
    let path = path(names.into_iter(), depth[deepest], " contains ");
    report_at(
        bodies,
        place,
        &CheckError::GroupDepth { depth: depth[deepest], limit, path },
        problems,
    );
}

/// Reports the node that adds most to the innermost body that alone exceeds the limit.
fn report_size(
    bodies: &[BodyDef<'_>],
    uses: &[Uses],
    size: &[u64],
    limit: usize,
    problems: &mut Problems,
) {
    let root = bodies.len() - 1;
    let mut place = None;
    let mut body = root;
    loop {
        let part = |(group, n, _): &(u32, u64, u32)| size[*group as usize].saturating_mul(*n);
        let Some(most) = uses[body].groups.iter().max_by_key(|used| part(used)) else { break };
        place = Some((body, most.2));
        let group = most.0 as usize;
        if size[group] <= limit as u64 {
            break;
        }
        body = group;
    }
    let n = match size[root] {
        u64::MAX => "more than 18446744073709551614".into(),
        n => n.to_string(),
    };
    report_at(bodies, place, &CheckError::ExpandedNodes { n, limit }, problems);
}

/// Reports an error at a node, given by body and position, or else at the document.
fn report_at(
    bodies: &[BodyDef<'_>],
    place: Option<(usize, u32)>,
    error: &CheckError,
    problems: &mut Problems,
) {
    let node = place.and_then(|(body, node)| {
        let body = &bodies[body];
        body.nodes.get_index(node as usize).map(|(name, node)| (body, name, node))
    });
    match node {
        Some((body, name, node)) => {
            let at = body.at().part(Part::Node(name));
            problems.report(at, node.spot.span(), error);
        }
        None => problems.report(At::ROOT, bodies[bodies.len() - 1].spot.span(), error),
    }
}

/// The names in a row, only the first ones if there are many.
pub(super) fn path<'a>(
    names: impl Iterator<Item = &'a str>,
    n_names: usize,
    between: &str,
) -> String {
    let shown: Vec<String> = names.take(MAX_SHOWN).map(|name| format!("`{name}`")).collect();
    let rest = n_names.saturating_sub(shown.len());
    let mut text = shown.join(between);
    if rest > 0 {
        text += &format!("{between}{rest} more");
    }
    text
}
