//! The loops of an explanation: which of them are folded together with the node that reduces their
//! list, and why others are not.

use millstream_base::id::{Id, SideTable};
use millstream_compile::analyses::{Needs, folded_loops};
use millstream_ir::loops::{LoopMark, NotFolded};
use millstream_ir::{Graph, NodeId};

use super::Explanation;

/// The execution of the rounds of a loop. Nodes are positions in `Explanation::nodes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// All rounds are one form, together with the node that reduces the list.
    Folded {
        /// The node that reduces the list.
        into: usize,
        /// The nodes that run in each round, ascending.
        nodes: Vec<usize>,
    },
    /// All items are computed and form a list.
    Apart(NotFolded, Option<usize>),
}

impl Rounds {
    /// The execution of the rounds, as the end of a sentence.
    pub fn text(&self, explanation: &Explanation) -> String {
        let label = |node: &usize| explanation.nodes[*node].label();
        match self {
            Self::Folded { into, nodes } => {
                let nodes: Vec<String> = nodes.iter().map(label).collect();
                format!("folded into {}, all rounds of {} as one", label(into), nodes.join(", "))
            }
            Self::Apart(..) => format!("not folded: {}", self.why(explanation)),
        }
    }

    /// Why a loop is not folded; empty if it is.
    pub(super) fn why(&self, explanation: &Explanation) -> String {
        match self {
            Self::Folded { .. } => String::new(),
            Self::Apart(why, node) => {
                let node = node.map(|node| explanation.nodes[node].label());
                why.text().replace("{}", node.as_deref().unwrap_or("something"))
            }
        }
    }
}

/// The loops of the last graph, each with the position of the node whose output is the list.
pub(super) fn rounds(
    last: &Graph,
    needs: &Needs,
    order: &[NodeId],
    positions: &SideTable<NodeId, usize>,
) -> Vec<(usize, Rounds)> {
    let listed = |node: NodeId| {
        let position = positions.as_slice().get(node.index()).copied();
        position.filter(|position| *position != usize::MAX)
    };
    let mut rounds = Vec::new();
    for parts in folded_loops(last, order, needs) {
        let Some((list, into)) = listed(parts.list).zip(listed(parts.fold)) else { continue };
        let mut nodes: Vec<usize> = parts.members.iter().filter_map(|id| listed(*id)).collect();
        nodes.sort_unstable();
        rounds.push((list, Rounds::Folded { into, nodes }));
    }
    for id in order {
        if let Some(LoopMark::Apart(why, node)) = last.loop_of(*id) {
            rounds.extend(listed(*id).map(|at| (at, Rounds::Apart(why, node.and_then(listed)))));
        }
    }
    rounds
}
