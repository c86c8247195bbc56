//! The regions of an explanation: their nodes, and the nodes that are read from outside.

use millstream_base::id::{Id, SideTable};
use millstream_ir::region::RegionId;
use millstream_ir::{Graph, NodeId};
use rustc_hash::FxHashMap;

/// Nodes that may run as one, chunk by chunk, without a column between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The positions of its nodes in `Explanation::nodes`, ascending.
    pub nodes: Vec<usize>,
    /// The nodes whose results are stored, because they are read outside the region.
    pub stored: Vec<usize>,
}

impl Region {
    /// The name of a region, by its position among the regions.
    pub fn name(position: usize) -> String {
        format!("r{position}")
    }
}

/// The part of a node in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It belongs to the region for every request.
    Whole,
    /// A choice: if the selector differs by element, all arms are computed and selected from.
    Selecting,
    /// A choice: it belongs to the region if its selector is the same for all elements.
    Uniform,
}

/// The regions of the last graph in the order of their first nodes, and for each id the position of
/// its region. `positions` are the positions of nodes in the explanation, `listed` is the inverse.
pub(super) fn regions(
    last: &Graph,
    listed: &[NodeId],
    positions: &SideTable<NodeId, usize>,
) -> (Vec<Region>, FxHashMap<RegionId, usize>) {
    let mut known: FxHashMap<RegionId, usize> = FxHashMap::default();
    let mut regions: Vec<Region> = Vec::new();
    for (at, id) in listed.iter().enumerate() {
        let Some(mark) = last.region_of(*id) else { continue };
        let region = *known.entry(mark.region).or_insert_with(|| {
            regions.push(Region { nodes: Vec::new(), stored: Vec::new() });
            regions.len() - 1
        });
        regions[region].nodes.push(at);
    }
    let mut is_stored = vec![false; last.n_ids()];
    for output in &last.outputs {
        is_stored[output.source.node.index()] = true;
    }
    for id in last.ids() {
        let own = last.region_of(id).map(|mark| mark.region);
        for link in last.inputs_of(id) {
            let read = last.region_of(link.node).map(|mark| mark.region);
            is_stored[link.node.index()] |= read != own;
        }
    }
    let left = listed.iter().filter(|id| is_stored[id.index()]);
    for (id, mark) in left.filter_map(|id| Some((id, last.region_of(*id)?))) {
        regions[known[&mark.region]].stored.push(positions[*id]);
    }
    (regions, known)
}
