//! Where nodes may keep state: in one context per tick.
//!
//! What a node keeps belongs to the node and the element of the request. A node that a scope
//! evaluates in a context other than that of the request, and that needs what differs there, would be
//! reached with two contexts in one tick. Such documents are refused here. A node that does not
//! need what a scope changes has one context all the same.

use millstream_base::diagnostics::Diagnostics;
use millstream_base::id::SideTable;
use millstream_base::path::Place;
use millstream_base::{FeatureSet, NeedTable};
use millstream_ir::states::is_state;
use millstream_ir::{Graph, NodeId, Op};
use millstream_kernel::ScopeRule;

use crate::analyses::Needs;

/// A node keeps state where it cannot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("the node keeps state, and `{by}` evaluates it in another {feature} as well")]
#[diagnostic(
    code(state::two_contexts),
    help("keep state outside of `{by}`: a node has one state per tick and element of the request")
)]
struct TwoContexts {
    /// The node whose socket changes the context.
    by: String,
    /// What it changes.
    feature: String,
}

/// Refuses graphs in which a node that keeps state is evaluated in several contexts. `order` lists
/// each node behind all it reads from.
pub(crate) fn check(graph: &Graph, order: &[NodeId], needs: &Needs) -> Result<(), Diagnostics> {
    let keeps = |id: NodeId| {
        graph.inputs_of(id).iter().any(|link| match graph.op(link.node) {
            Op::Input(input) => is_state(&graph.inputs()[input].name),
            Op::Gone | Op::Const(_) | Op::Call(_) => false,
        })
    };
    if !graph.inputs().as_slice().iter().any(|input| is_state(&input.name)) {
        return Ok(());
    }
    let mut changed = SideTable::new(graph.n_ids(), FeatureSet::NONE);
    let mut by: SideTable<NodeId, Option<NodeId>> = SideTable::new(graph.n_ids(), None);
    for id in order.iter().rev() {
        let Some(instance) = graph.instance_of(*id) else { continue };
        for (link, slot) in graph.inputs_of(*id).iter().zip(&instance.inputs) {
            let own = slot
                .scope
                .iter()
                .fold(FeatureSet::NONE, |all, rule| all.union(changed_by(rule, &needs.flow.table)));
            let who = if own.is_empty() { by[*id] } else { Some(*id) };
            let inside = changed[*id].union(own);
            changed[link.node] = changed[link.node].union(inside);
            by[link.node] = by[link.node].or(who.filter(|_| !inside.is_empty()));
        }
    }
    let mut problems = Diagnostics::new();
    for id in order.iter().filter(|id| keeps(**id)) {
        let both = needs.of[*id].intersect(changed[*id]);
        let (Some(need), Some(by)) = (needs.flow.table.of(both).next(), by[*id]) else { continue };
        let path = |id: NodeId| graph.paths.get(graph.node(id).path);
        let by = path(by).to_string();
        let error = TwoContexts { by, feature: need.feature.to_string() };
        problems.report(Place::at(path(*id)), &error);
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// The needs that mean something else inside a socket with this rule. Along an axis of the request
/// they mean what the request says.
fn changed_by(rule: &ScopeRule, table: &NeedTable) -> FeatureSet {
    match rule {
        ScopeRule::Along { .. } => FeatureSet::NONE,
        ScopeRule::Inject { feature, .. }
        | ScopeRule::Each { feature, .. }
        | ScopeRule::Modify { feature, .. } => {
            let bits = table.iter().enumerate().filter(|(_, need)| need.feature == *feature);
            bits.fold(FeatureSet::NONE, |all, (bit, _)| all.union(FeatureSet::bit(bit as u32)))
        }
    }
}
