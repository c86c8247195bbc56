//! Mark the element-wise regions, which evaluators may run as one form chunk by chunk, and the
//! loops that run as one form with the node that folds their list.
//!
//! Requires: types equal along links, every node reachable. Establishes: each form and each choice
//! among lanes has the mark of its region, see [`regions`], and each loop has a mark, see
//! [`loops`]. Nodes and links are unchanged. Cost: the analysis of needs and a few walks over nodes
//! and links.

use millstream_base::diagnostics::Diagnostics;
use millstream_base::id::Id;
use millstream_ir::{Graph, NodeId};

use super::{Changed, PassContext};
use crate::analyses::{loops, needs, regions};
use crate::schedule::too_many;

/// Mark the members of regions, and loops.
///
/// # Errors
/// If the graph has a cycle or more than 64 different needs.
pub fn fuse(graph: &mut Graph, _cx: &PassContext<'_>) -> Result<Changed, Diagnostics> {
    let order = crate::order(graph)?;
    let needs = needs(graph, &order).map_err(|excess| too_many(graph, &excess))?;
    let regions = regions(graph, &order, &needs);
    let is_new = graph.ids().any(|id| graph.region_of(id) != regions[id.index()]);
    if is_new {
        graph.set_regions(regions);
    }
    let loops = loops(graph, &order, &needs);
    let is_known = |id: &NodeId| graph.loop_of(*id) == loops.get(id).copied();
    let has_loops = graph.has_loops() || !loops.is_empty();
    let has_new_loops = has_loops && !order.iter().all(is_known);
    if has_new_loops {
        graph.set_loops(loops);
    }
    Ok(Changed::when(is_new || has_new_loops))
}
