//! The class of each node, including its inputs: how often its result can change.
//!
//! The class of a node itself travels along links: a graph input is user input, and the readers of
//! a stateful or device node share its class, whatever the context does. A dependency on the
//! context travels as a need rather than a class, and an injecting socket removes it: a clip that
//! reads `time` and is evaluated at a constant time is static. So a node is at least contextual if
//! and only if it has a need, and volatile if one of its needs is a clock.

use millstream_base::feature::Aspect;
use millstream_base::id::{Id, SideTable};
use millstream_base::{Feature, FeatureSet, NeedTable};
use millstream_ir::states::is_state;
use millstream_ir::{Graph, NodeId, Op};
use millstream_node::{Class, Instance, Kernel};

use super::Needs;

/// The class of an instance itself, regardless of its needs.
pub fn own_class(instance: &Instance) -> Class {
    match (&instance.kernel, instance.class) {
        // These read a need, or cross a socket that has one.
        (Kernel::Read { .. } | Kernel::Pass | Kernel::Choose, class)
            if class <= Class::Contextual =>
        {
            Class::Static
        }
        (Kernel::Read { .. }, Class::Volatile) => Class::Static,
        (_, class) => class,
    }
}

/// The classes of the nodes, where `order` is topological.
pub fn classes(graph: &Graph, order: &[NodeId], needs: &Needs) -> SideTable<NodeId, Class> {
    let own: Vec<Class> =
        graph.instances().as_slice().iter().map(|instance| own_class(instance)).collect();
    let clocks = clocks(&needs.flow.table);
    let mut travels = SideTable::new(graph.n_ids(), Class::Static);
    for id in order {
        travels[*id] = match graph.op(*id) {
            Op::Gone | Op::Const(_) => Class::Static,
            Op::Input(input) if is_state(&graph.inputs()[input].name) => Class::Stateful,
            Op::Input(_) => Class::UserInput,
            Op::Call(instance) => {
                let inputs = graph.inputs_of(*id).iter().map(|link| travels[link.node]);
                inputs.fold(own[instance.index()], Class::max)
            }
        };
    }
    let mut classes = travels;
    for id in order {
        classes[*id] = classes[*id].max(of_needs(needs.of[*id], clocks));
    }
    classes
}

/// The needs for values of a clock.
fn clocks(table: &NeedTable) -> FeatureSet {
    let mut clocks = FeatureSet::NONE;
    for (bit, need) in table.iter().enumerate() {
        if need.feature == Feature::RealTime && need.aspect == Aspect::Value {
            clocks = clocks.union(FeatureSet::bit(bit as u32));
        }
    }
    clocks
}

fn of_needs(needs: FeatureSet, clocks: FeatureSet) -> Class {
    if needs.is_empty() {
        Class::Static
    } else if needs.intersect(clocks).is_empty() {
        Class::Contextual
    } else {
        Class::Volatile
    }
}
