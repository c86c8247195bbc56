//! Which axes each node has, in symbols, for `explain`.
//!
//! The axes of a node are those of the features it needs and of the inputs it reads, as if it were
//! asked for by the request itself. A feature that stays needed brings its axis if the request
//! makes it one. A graph input with a column brings the request's element axis, until a reduction
//! runs along that: inside `d` injectors of `index` that is level `d`. Since one node can stand
//! inside different numbers of injectors, each carries a word whose bit `d` says whether the
//! element axis is there when `d` injectors are outside.

use millstream_base::feature::Aspect;
use millstream_base::id::SideTable;
use millstream_base::{Feature, FeatureSet};
use millstream_ir::{Graph, InputId, NodeId, Op};
use millstream_kernel::ScopeRule;

use super::Needs;

/// What the request gives many values for.
#[derive(Clone, Debug, Default)]
pub struct AxesOf<'a> {
    /// Inputs that are columns over the elements.
    pub columns: &'a [InputId],
    /// Features that are axes, at most 63: `index` for elements, `time` for frames...
    pub features: &'a [Feature],
}

/// The axes of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Axes {
    /// It differs from element to element of the request.
    pub elements: bool,
    /// Bit `i`: it differs along feature `i` of [`AxesOf::features`].
    pub features: u64,
}

impl Axes {
    /// Whether it is one value for the whole request.
    pub fn is_single(self) -> bool {
        !self.elements && self.features == 0
    }
}

/// The axes of the nodes in `order`, which lists each behind all it reads from.
pub fn axes(
    graph: &Graph,
    order: &[NodeId],
    needs: &Needs,
    of: &AxesOf<'_>,
) -> SideTable<NodeId, Axes> {
    let columns = column_words(graph, order, of.columns);
    let mut axes = SideTable::new(graph.n_ids(), Axes::default());
    for id in order {
        let features = feature_axes(needs, needs.of[*id], of.features);
        let over_index = of.features.iter().position(|feature| *feature == Feature::Index);
        let by_index = over_index.is_some_and(|i| features & (1 << i) != 0);
        axes[*id] = Axes { elements: columns[*id] & 1 != 0 || by_index, features };
    }
    axes
}

fn feature_axes(needs: &Needs, set: FeatureSet, features: &[Feature]) -> u64 {
    let mut axes = 0;
    for need in needs.flow.table.of(set) {
        let at = features.iter().take(63).position(|feature| *feature == need.feature);
        if let (Some(at), 0, Aspect::Value) = (at, need.level, need.aspect) {
            axes |= 1 << at;
        }
    }
    axes
}

/// For each node the word of the element axis; see the head of the file.
fn column_words(graph: &Graph, order: &[NodeId], columns: &[InputId]) -> SideTable<NodeId, u64> {
    let mut words = SideTable::new(graph.n_ids(), 0);
    for id in order {
        words[*id] = match graph.op(*id) {
            Op::Gone | Op::Const(_) => 0,
            Op::Input(input) if columns.contains(&input) => u64::MAX,
            Op::Input(_) => 0,
            Op::Call(instance) => {
                let slots = &graph.instances()[instance].inputs;
                let inputs = graph.inputs_of(*id).iter().zip(slots);
                inputs.fold(0, |all, (link, slot)| all | crossed(words[link.node], &slot.scope))
            }
        };
    }
    words
}

/// The word outside a socket with these rules.
fn crossed(mut word: u64, rules: &[ScopeRule]) -> u64 {
    for rule in rules.iter().filter(|rule| *rule.feature() == Feature::Index) {
        match rule {
            ScopeRule::Inject { .. } | ScopeRule::Each { .. } => {
                word = (word >> 1) | (word & 1 << 63);
            }
            ScopeRule::Along { level, .. } => word &= !(1 << (*level).min(63)),
            ScopeRule::Modify { .. } => {}
        }
    }
    word
}
