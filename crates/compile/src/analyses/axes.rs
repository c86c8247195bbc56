//! The axes of each node in symbolic form, for `explain`.
//!
//! The axes of a node are those of the features and inputs that it reads, as if the request asked
//! for the node itself. A feature contributes its axis if the request opens one, and a graph input
//! with a column contributes the element axis, up to a reduction along that axis. Inside `d`
//! injectors of the feature, the axis is at level `d`. A node can be inside different numbers of
//! injectors, so each node has a word in which bit `d` tells whether it has the axis inside `d`
//! injectors.

use millstream_base::Feature;
use millstream_base::feature::Aspect;
use millstream_base::id::SideTable;
use millstream_ir::{Graph, InputId, NodeId, Op};
use millstream_node::{Kernel, ScopeRule};

/// The axes that a request opens.
#[derive(Clone, Debug, Default)]
pub struct AxesOf<'a> {
    /// The inputs that are columns over the elements.
    pub columns: &'a [InputId],
    /// The features that are axes, at most 63: `index` for elements, `time` for frames, and so on.
    pub features: &'a [Feature],
}

/// The axes of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Axes {
    /// Whether the node varies from element to element of the request.
    pub elements: bool,
    /// Bit `i` tells whether the node varies along feature `i` of [`AxesOf::features`].
    pub features: u64,
}

impl Axes {
    /// Whether the node has one value for the whole request.
    pub fn is_single(self) -> bool {
        !self.elements && self.features == 0
    }
}

/// The axes of the nodes, where `order` is topological.
pub fn axes(graph: &Graph, order: &[NodeId], of: &AxesOf<'_>) -> SideTable<NodeId, Axes> {
    let mut axes = SideTable::new(graph.n_ids(), Axes::default());
    for (i, feature) in of.features.iter().take(63).enumerate() {
        let words = words(graph, order, feature, |op| read_of(graph, op, feature));
        for id in order {
            axes[*id].features |= (words[*id] & 1) << i;
        }
    }
    let columns = words(graph, order, &Feature::Index, |op| match op {
        Op::Input(input) if of.columns.contains(&input) => u64::MAX,
        Op::Gone | Op::Const(_) | Op::Input(_) | Op::Call(_) => 0,
    });
    let by_index = of.features.iter().take(63).position(|feature| *feature == Feature::Index);
    for id in order {
        let reads_index = by_index.is_some_and(|i| axes[*id].features & (1 << i) != 0);
        axes[*id].elements = columns[*id] & 1 != 0 || reads_index;
    }
    axes
}

/// The word of a node that reads a feature from the context.
fn read_of(graph: &Graph, op: Op, of: &Feature) -> u64 {
    let Op::Call(instance) = op else { return 0 };
    match &graph.instances()[instance].kernel {
        Kernel::Read { feature, level: level @ 0..64, aspect: Aspect::Value } if feature == of => {
            1 << level
        }
        Kernel::Read { .. }
        | Kernel::Form(_)
        | Kernel::Function(_)
        | Kernel::Pass
        | Kernel::Choose => 0,
        Kernel::ReadState(needs) => {
            let values = needs.iter().filter(|need| need.feature == *of && need.level < 64);
            let values = values.filter(|need| need.aspect == Aspect::Value);
            values.fold(0, |word, need| word | 1 << need.level)
        }
    }
}

/// The word of each node for the axis of a feature, given each node's word without its inputs; see
/// the file header.
fn words(
    graph: &Graph,
    order: &[NodeId],
    feature: &Feature,
    own: impl Fn(Op) -> u64,
) -> SideTable<NodeId, u64> {
    let mut words = SideTable::new(graph.n_ids(), 0);
    for id in order {
        let mut word = own(graph.op(*id));
        if let Op::Call(instance) = graph.op(*id) {
            let slots = &graph.instances()[instance].inputs;
            for (link, slot) in graph.inputs_of(*id).iter().zip(slots) {
                word |= crossed(words[link.node], &slot.scope, feature);
            }
        }
        words[*id] = word;
    }
    words
}

/// The word outside a socket with these rules.
fn crossed(mut word: u64, rules: &[ScopeRule], of: &Feature) -> u64 {
    for rule in rules {
        match rule {
            ScopeRule::Inject { feature, .. } | ScopeRule::Each { feature, .. }
                if feature == of =>
            {
                word = (word >> 1) | (word & 1 << 63);
            }
            ScopeRule::Along { feature, level } if share_axis(feature, of) => {
                word &= !(1 << (*level).min(63));
            }
            ScopeRule::Inject { .. }
            | ScopeRule::Each { .. }
            | ScopeRule::Modify { .. }
            | ScopeRule::Along { .. } => {}
        }
    }
    word
}

/// Whether a request opens one axis for both features.
fn share_axis(a: &Feature, b: &Feature) -> bool {
    let is_moment = |feature: &Feature| matches!(feature, Feature::Time | Feature::Tick);
    a == b || is_moment(a) && is_moment(b)
}
