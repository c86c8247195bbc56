//! Groups inside groups: none may contain itself, and the limits of depth and size hold.

use millstream_base::Limits;

use rustc_hash::FxHashSet;

use super::error::CheckError;
use super::face::BodyDef;
use crate::at::{At, Part};
use crate::model::Document;
use crate::order::sorted;
use crate::problems::Problems;

/// The number of names shown of a long path.
const MAX_SHOWN: usize = 16;

/// The groups that a body uses.
struct Uses {
    /// Each group once: its position, the number of uses, and the first node that uses it.
    groups: Vec<(u32, u64, u32)>,
    n_calls: u64,
}

/// The maximum number of rounds of leaving out wrong nodes; after that, the document as a whole is
/// wrong.
const MAX_ROUNDS: usize = 16;

/// A node, by the position of its body and its own position.
type NodeAt = (usize, u32);

/// Checks how groups use each other, and returns which groups are used. If the document exceeds the
/// limits even without the reported nodes, further nodes are marked as wrong. Cost: linear in
/// nodes.
pub(super) fn check_groups(
    document: &Document,
    bodies: &[BodyDef<'_>],
    limits: &Limits,
    problems: &mut Problems,
) -> Vec<bool> {
    let mut used = vec![false; bodies.len()];
    let mut wrong: FxHashSet<NodeAt> = FxHashSet::default();
    for round in 0..MAX_ROUNDS {
        let mut marks = vec![u32::MAX; bodies.len()];
        let uses: Vec<Uses> = (bodies.iter().enumerate())
            .map(|(i, body)| uses_of(document, body, &mut marks, |at| wrong.contains(&(i, at))))
            .collect();
        if round == 0 {
            for (group, _, _) in uses.iter().flat_map(|uses| &uses.groups) {
                used[*group as usize] = true;
            }
        }
        if round == 0 {
            let found = check_uses(bodies, &uses, limits, problems);
            wrong.extend(found);
        } else {
            let cut = excess(bodies.len(), &uses, limits);
            for (i, body) in bodies.iter().enumerate() {
                for (at, (name, node)) in body.nodes.iter().enumerate() {
                    let group = node.kind.group().and_then(|it| document.groups.get_index_of(it));
                    if group.is_some_and(|group| cut.contains(&(i, group as u32))) {
                        problems.note_wrong(body.at().part(Part::Node(name)));
                        wrong.insert((i, at as u32));
                    }
                }
            }
            if cut.is_empty() {
                return used;
            }
        }
        if wrong.is_empty() {
            return used;
        }
    }
    problems.note_wrong(At::ROOT);
    used
}

/// The uses of groups that must be left out, each as body and group: of groups that contain
/// themselves, that are nested too deeply, or that make the document too large.
fn excess(n_bodies: usize, uses: &[Uses], limits: &Limits) -> FxHashSet<(usize, u32)> {
    let n_groups = |body: u32| uses[body as usize].groups.len() as u32;
    let group = |body: u32, k: u32| Some(uses[body as usize].groups[k as usize].0);
    let order = sorted(n_bodies, n_groups, group);
    let mut cut = FxHashSet::default();
    for cycle in &order.cycles {
        cut.insert((cycle[0] as usize, *cycle.get(1).unwrap_or(&cycle[0])));
    }
    if !cut.is_empty() {
        return cut;
    }
    let (depth, size) = measured(uses, &order.order);
    for (body, uses) in uses.iter().enumerate() {
        let deep = uses.groups.iter().filter(|it| depth[it.0 as usize] >= limits.group_depth);
        cut.extend(deep.map(|(group, ..)| (body, *group)));
    }
    let (root, limit) = (n_bodies - 1, limits.expanded_nodes as u64);
    let of_group = |(group, n, _): &(u32, u64, u32)| size[*group as usize].saturating_mul(*n);
    let mut largest: Vec<&(u32, u64, u32)> = uses[root].groups.iter().collect();
    largest.sort_by_key(|it| of_group(it));
    let mut left = uses[root].n_calls;
    for used in largest {
        left = left.saturating_add(of_group(used));
        if left > limit {
            cut.insert((root, used.0));
        }
    }
    cut
}

/// Reports problems with how groups use each other, and returns the offending nodes.
fn check_uses(
    bodies: &[BodyDef<'_>],
    uses: &[Uses],
    limits: &Limits,
    problems: &mut Problems,
) -> Vec<NodeAt> {
    let n_groups = |body: u32| uses[body as usize].groups.len() as u32;
    let group = |body: u32, k: u32| Some(uses[body as usize].groups[k as usize].0);
    let order = sorted(bodies.len(), n_groups, group);
    let mut report = |at: Option<NodeAt>, error: &CheckError| {
        report_at(bodies, at, error, problems);
        at
    };
    if order.cycles.is_empty() {
        return check_limits(bodies, uses, &order.order, limits, &mut report);
    }
    let mut found = Vec::new();
    for cycle in &order.cycles {
        let names = cycle.iter().chain(cycle.first()).map(|group| bodies[*group as usize].name);
        let path = path(names, cycle.len() + 1, " contains ");
        let next = cycle.get(1).unwrap_or(&cycle[0]);
        let by = uses[cycle[0] as usize].groups.iter().find(|(group, _, _)| group == next);
        if let Some((_, _, node)) = by {
            let at = Some((cycle[0] as usize, *node));
            found.extend(report(at, &CheckError::RecursiveGroup { path }));
        }
    }
    found
}

/// The groups that a body uses. `marks` holds the position of the entry of each group; a position
/// is valid if the entry there is for that group.
fn uses_of(
    document: &Document,
    body: &BodyDef<'_>,
    marks: &mut [u32],
    is_wrong: impl Fn(u32) -> bool,
) -> Uses {
    let mut uses = Uses { groups: Vec::new(), n_calls: 0 };
    for (i, node) in body.nodes.values().enumerate() {
        if node.kind.group().is_some() && is_wrong(i as u32) {
            continue;
        }
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

/// For each body, the nesting depth of groups and the number of calls in it.
fn measured(uses: &[Uses], order: &[u32]) -> (Vec<usize>, Vec<u64>) {
    let mut depth = vec![0_usize; uses.len()];
    let mut size = vec![0_u64; uses.len()];
    for body in order {
        let body = *body as usize;
        size[body] = uses[body].n_calls;
        for (group, n, _) in &uses[body].groups {
            let group = *group as usize;
            depth[body] = depth[body].max(depth[group] + 1);
            size[body] = size[body].saturating_add(size[group].saturating_mul(*n));
        }
    }
    (depth, size)
}

fn check_limits(
    bodies: &[BodyDef<'_>],
    uses: &[Uses],
    order: &[u32],
    limits: &Limits,
    report: &mut impl FnMut(Option<NodeAt>, &CheckError) -> Option<NodeAt>,
) -> Vec<NodeAt> {
    let mut found = Vec::new();
    let (depth, size) = measured(uses, order);
    let root = bodies.len() - 1;
    let deepest = (0..bodies.len()).rev().max_by_key(|body| depth[*body]).unwrap_or(root);
    if depth[deepest] > limits.group_depth {
        let (at, error) = too_deep(bodies, uses, &depth, deepest, limits.group_depth);
        found.extend(report(at, &error));
    }
    if size[root] > limits.expanded_nodes as u64 {
        let (at, error) = too_large(uses, &size, limits.expanded_nodes);
        found.extend(report(at, &error));
    }
    found
}

/// The node that leads one group deeper than the limit.
fn too_deep(
    bodies: &[BodyDef<'_>],
    uses: &[Uses],
    depth: &[usize],
    deepest: usize,
    limit: usize,
) -> (Option<NodeAt>, CheckError) {
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
    (place, CheckError::GroupDepth { depth: depth[deepest], limit, path })
}

/// The node that adds most to the innermost body that exceeds the limit by itself.
fn too_large(uses: &[Uses], size: &[u64], limit: usize) -> (Option<NodeAt>, CheckError) {
    let root = uses.len() - 1;
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
    (place, CheckError::ExpandedNodes { n, limit })
}

/// Reports an error at a node, or else at the document.
fn report_at(
    bodies: &[BodyDef<'_>],
    place: Option<NodeAt>,
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

/// The names joined by arrows; only the first ones if there are many.
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
