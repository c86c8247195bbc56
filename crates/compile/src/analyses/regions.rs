//! Finds the calls that may be fused: the element-wise regions of a graph.
//!
//! Forms and choices among lanes are *members*. Two linked members may be fused if they are
//! evaluated in the same context: they have the same needs, or neither is ever evaluated outside
//! the request's context. Every other link is a *barrier*: its source must be computed as a whole,
//! such as an input of a function over columns.
//!
//! Each node gets a level, such that a fused link stays within a level or leads up, and a barrier
//! always leads up. A region is a connected set within a level, so no path leads out of it and
//! back. Levels are as late as readers permit, so that a node joins its readers rather than its
//! inputs.

use millstream_base::id::{Id, SideTable};
use millstream_ir::region::{InRegion, RegionId};
use millstream_ir::{Graph, NodeId, Op};
use millstream_node::Instance;

use super::arms::expensive_choices;
use super::needs::Needs;

/// The maximum number of instructions in a region before simplification; larger regions are split.
const MAX_INSTRUCTIONS: usize = 4096;

/// The region of each node, by id, where `order` is topological. Cost: a few walks over nodes and
/// links.
pub fn regions(graph: &Graph, order: &[NodeId], needs: &Needs) -> Vec<Option<InRegion>> {
    let instances = graph.instances().as_slice();
    let sizes: Vec<Option<usize>> = instances.iter().map(|instance| size_of(instance)).collect();
    let mut finding = Finding { graph, needs, sizes, marks: SideTable::new(graph.n_ids(), 0) };
    finding.mark(order);
    let levels = finding.levels(order);
    let mut sets = finding.join(order, &levels);
    let mut regions = finding.number(order, &mut sets);
    for choice in expensive_choices(graph, order, &regions) {
        if let Some(mark) = &mut regions[choice.index()] {
            mark.only_uniform = true;
        }
    }
    regions
}

/// The number of instructions that a call adds to a region, if it can be a member of one.
fn size_of(instance: &Instance) -> Option<usize> {
    match instance.plain_form() {
        Some(form) => Some(form.insts.len()),
        None => instance.is_lane_choice().then(|| select_size(instance)),
    }
}

/// The number of instructions that select among the arms of a choice.
pub(super) fn select_size(choice: &Instance) -> usize {
    let lanes = |output: &millstream_node::instance::OutputSlot| {
        output.ty.lanes().map_or(0, |(_, n)| n as usize)
    };
    choice.inputs.len() * choice.outputs.iter().map(lanes).sum::<usize>()
}

struct Finding<'a> {
    graph: &'a Graph,
    needs: &'a Needs,
    /// By instance.
    sizes: Vec<Option<usize>>,
    /// [`MEMBER`] and [`ELSEWHERE`], by node.
    marks: SideTable<NodeId, u8>,
}

/// The node can be a member of a region.
const MEMBER: u8 = 1;
/// The node may be evaluated in a context other than the request's.
const ELSEWHERE: u8 = 2;

impl Finding<'_> {
    fn size(&self, id: NodeId) -> Option<usize> {
        match self.graph.op(id) {
            Op::Call(instance) => self.sizes[instance.index()],
            Op::Gone | Op::Const(_) | Op::Input(_) => None,
        }
    }

    fn mark(&mut self, order: &[NodeId]) {
        for id in order {
            self.marks[*id] = if self.size(*id).is_some() { MEMBER } else { 0 };
        }
        if !self.graph.any_instance(Instance::has_scopes) {
            return;
        }
        for id in order.iter().rev() {
            let Op::Call(instance) = self.graph.op(*id) else { continue };
            let maps = self.needs.flow.maps(instance);
            for (i, link) in self.graph.inputs_of(*id).iter().enumerate() {
                let has_scope = maps.get(i).is_some_and(Option::is_some);
                let elsewhere = if has_scope { ELSEWHERE } else { self.marks[*id] & ELSEWHERE };
                self.marks[link.node] |= elsewhere;
            }
        }
    }

    /// Whether a member may be fused with a node that it reads.
    fn is_fused(&self, reader: NodeId, read: NodeId) -> bool {
        let marks = [self.marks[reader], self.marks[read]];
        marks.iter().all(|marks| marks & MEMBER != 0)
            && (marks.iter().all(|marks| marks & ELSEWHERE == 0)
                || self.needs.of[reader] == self.needs.of[read])
    }

    fn levels(&self, order: &[NodeId]) -> Vec<u32> {
        let mut early = vec![0_u32; self.graph.n_ids()];
        for id in order {
            let step = |link: &millstream_ir::Source| {
                let barrier = u32::from(!self.is_fused(*id, link.node));
                early[link.node.index()] + barrier
            };
            early[id.index()] = self.graph.inputs_of(*id).iter().map(step).max().unwrap_or(0);
        }
        let mut late = vec![u32::MAX; self.graph.n_ids()];
        for id in order.iter().rev() {
            let level = match late[id.index()] {
                u32::MAX => early[id.index()],
                level => level,
            };
            late[id.index()] = level;
            for link in self.graph.inputs_of(*id) {
                let barrier = u32::from(!self.is_fused(*id, link.node));
                let read = &mut late[link.node.index()];
                *read = (*read).min(level - barrier);
            }
        }
        late
    }

    /// The connected sets within levels.
    fn join(&self, order: &[NodeId], levels: &[u32]) -> Sets {
        let mut sets = Sets::new(self.graph.n_ids());
        for id in order {
            for link in self.graph.inputs_of(*id) {
                let read = link.node.index();
                if levels[id.index()] == levels[read] && self.is_fused(*id, link.node) {
                    sets.join(id.index(), read);
                }
            }
        }
        sets
    }

    /// Numbers the regions by their first node. A region that is too large is split in topological
    /// order, so that each part reads only from earlier parts.
    fn number(&self, order: &[NodeId], sets: &mut Sets) -> Vec<Option<InRegion>> {
        let mut regions = vec![None; self.graph.n_ids()];
        // The last region of each set and its size, by the root of the set.
        let mut open: Vec<Option<(RegionId, u32)>> = vec![None; self.graph.n_ids()];
        let mut n_regions = 0;
        for id in order {
            let Some(size) = self.size(*id) else { continue };
            let open = &mut open[sets.find(id.index())];
            let (region, filled) = match *open {
                Some((region, filled)) if filled as usize + size <= MAX_INSTRUCTIONS => {
                    (region, filled)
                }
                Some(_) | None => {
                    n_regions += 1;
                    (RegionId::from_index(n_regions - 1), 0)
                }
            };
            *open = Some((region, filled + size as u32));
            regions[id.index()] = Some(InRegion { region, only_uniform: false });
        }
        regions
    }
}

/// A union-find structure.
struct Sets(Vec<u32>);

impl Sets {
    fn new(n: usize) -> Self {
        Self((0..n as u32).collect())
    }

    fn find(&mut self, mut at: usize) -> usize {
        while self.0[at] as usize != at {
            let above = self.0[self.0[at] as usize];
            self.0[at] = above;
            at = above as usize;
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        // The lower id becomes the root: ids mostly ascend along links, so paths stay short.
        self.0[a.max(b)] = a.min(b) as u32;
    }
}
