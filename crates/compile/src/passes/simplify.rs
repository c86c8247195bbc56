//! Replace nodes by simpler ones that are equal bit for bit.
//!
//! Requires: types equal along links. Establishes: no law of a node applies; no switch has a
//! constant selector, or equal arms together with a selector that cannot fail; and no node only
//! passes its input on. The same sweep folds new constants and merges new duplicates. Cost: a visit
//! of each node, and a sweep if anything can be simplified.

use millstream_base::diagnostics::Diagnostics;
use millstream_base::{AHEAD, Lane, Value};
use millstream_ir::{Graph, NodeId, Op, Source};
use millstream_node::{Instance, Kernel, Law};

use super::canonical::Canonical;
use super::sweep::{Rule, sweep};
use super::{Changed, PassContext};

/// Simplify.
///
/// # Errors
/// If the graph has a cycle.
pub fn simplify(graph: &mut Graph, cx: &PassContext<'_>) -> Result<Changed, Diagnostics> {
    let canonical = Canonical::new(graph.instances());
    let ids: Vec<NodeId> = graph.ids().collect();
    let can_be_simpler = |ids: &[NodeId]| {
        graph.read_inputs_ahead(ids);
        ids.iter().any(|id| simpler(graph, &canonical, *id).is_some())
    };
    if !ids.chunks(AHEAD).any(can_be_simpler) {
        return Ok(Changed::No);
    }
    sweep(graph, cx, &[Rule::Simplify, Rule::Fold, Rule::Merge])
}

/// An upstream source with the same value as a node.
#[inline]
pub(super) fn simpler(graph: &Graph, canonical: &Canonical, id: NodeId) -> Option<Source> {
    let instance = graph.instance_of(id)?;
    let has_rules = match instance.kernel {
        Kernel::Pass | Kernel::Choose => true,
        Kernel::Form(_) | Kernel::Function(_) => !instance.def.laws.is_empty(),
        Kernel::Read { .. } | Kernel::ReadState(_) => false,
    };
    if !has_rules || instance.has_scopes() || instance.outputs.len() != 1 {
        return None;
    }
    let links = graph.inputs_of(id);
    let source = match instance.kernel {
        Kernel::Pass => links.first().copied(),
        Kernel::Choose => chosen(graph, links),
        Kernel::Form(_) | Kernel::Function(_) => {
            let laws = &instance.def.laws;
            laws.iter().find_map(|law| by_law(graph, canonical, *law, instance, links))
        }
        Kernel::Read { .. } | Kernel::ReadState(_) => None,
    }?;
    // Laws ignore types, but the replacement of a node must have its type.
    (graph.type_of(source) == Some(instance.outputs[0].ty)).then_some(source)
}

/// The arm that a switch always selects.
fn chosen(graph: &Graph, links: &[Source]) -> Option<Source> {
    let (selector, arms) = links.split_first()?;
    let (first, others) = arms.split_first()?;
    if others.iter().all(|arm| arm == first) && cannot_fail(graph, *selector) {
        return Some(*first);
    }
    let at = match graph.constant_of(selector.node)? {
        Value::Bool(x) => usize::from(*x),
        Value::I32(x) => (*x).max(0) as usize,
        _ => return None,
    };
    Some(arms[at.min(arms.len() - 1)])
}

/// The maximum number of nodes visited to find out whether a selector may be dropped.
const MAX_EXAMINED: usize = 64;

/// Whether a source cannot fail, as far as a short search can tell. Such a source may be dropped,
/// whereas a demanded node that fails must be seen to fail.
fn cannot_fail(graph: &Graph, source: Source) -> bool {
    let mut seen = vec![source.node];
    let mut at = 0;
    while let Some(node) = seen.get(at).copied() {
        at += 1;
        if let Some(instance) = graph.instance_of(node) {
            match instance.kernel {
                Kernel::Form(_) | Kernel::Choose | Kernel::Read { .. } | Kernel::ReadState(_) => {}
                Kernel::Function(_) | Kernel::Pass => return false,
            }
        }
        for input in graph.inputs_of(node) {
            if !seen.contains(&input.node) {
                seen.push(input.node);
            }
        }
        if seen.len() > MAX_EXAMINED {
            return false;
        }
    }
    true
}

fn by_law(
    graph: &Graph,
    canonical: &Canonical,
    law: Law,
    instance: &Instance,
    links: &[Source],
) -> Option<Source> {
    match (law, links) {
        (Law::RightNeutral(c), [x, y]) => is_constant(graph, *y, c).then_some(*x),
        (Law::LeftNeutral(c), [x, y]) => is_constant(graph, *x, c).then_some(*y),
        (Law::SameInputs, [first, others @ ..]) if !others.is_empty() => {
            others.iter().all(|other| other == first).then_some(*first)
        }
        (Law::Involution, [x]) => {
            inner_of_same(graph, canonical, instance, *x).map(|inner| inner[0])
        }
        (Law::Projection, [x]) => inner_of_same(graph, canonical, instance, *x).map(|_| *x),
        (
            Law::RightNeutral(_)
            | Law::LeftNeutral(_)
            | Law::SameInputs
            | Law::Involution
            | Law::Projection,
            _,
        ) => None,
    }
}

/// The inputs of the node of `x`, if its instance is equal.
fn inner_of_same<'a>(
    graph: &'a Graph,
    canonical: &Canonical,
    instance: &Instance,
    x: Source,
) -> Option<&'a [Source]> {
    let Op::Call(inner) = graph.op(x.node) else { return None };
    let same = &graph.instances()[canonical.of(inner)];
    same.does_same(instance).then(|| graph.inputs_of(x.node))
}

/// Whether the source is constant and each lane has the bits of `c`.
fn is_constant(graph: &Graph, source: Source, c: f64) -> bool {
    let Some(value) = graph.constant_of(source.node) else { return false };
    let Some((lane, n)) = value.ty().lanes() else { return false };
    let bits = match lane {
        Lane::Bool => u64::from(c != 0.0),
        // A number that is not an integer is neutral for floats only.
        Lane::I32 if f64::from(c as i32) == c => u64::from(c as i32 as u32),
        Lane::I64 if (c as i64) as f64 == c => c as i64 as u64,
        Lane::I32 | Lane::I64 => return false,
        Lane::F32 => u64::from((c as f32).to_bits()),
        Lane::F64 => c.to_bits(),
    };
    (0..n as usize).all(|i| value.lane(i) == Some(bits))
}
