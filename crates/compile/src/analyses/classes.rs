//! The class of each node, inputs included: how often its result can change.
//!
//! Two things make a class. What nodes are by themselves travels along links: a graph input is
//! user-input, a stateful or device node keeps its class downstream whatever the context does. What
//! is read from the context does not travel along links but as a need, which an injecting socket
//! takes away: a clip that reads `time` and is called with a constant time is static. So a node is
//! at least contextual if and only if a need is left, and volatile if the clock is among them.

use millstream_base::feature::Aspect;
use millstream_base::id::{Id, SideTable};
use millstream_base::{Feature, FeatureSet, NeedTable};
use millstream_ir::states::is_state;
use millstream_ir::{Graph, NodeId, Op};
use millstream_node::{Class, Instance, Kernel};

use super::Needs;

/// What an instance brings of its own, apart from what it reads of the context.
pub fn own_class(instance: &Instance) -> Class {
    match (&instance.kernel, instance.class) {
        // What these read is a need, or crosses a socket as one.
        (Kernel::Read { .. } | Kernel::Pass | Kernel::Choose, class)
            if class <= Class::Contextual =>
        {
            Class::Static
        }
        (Kernel::Read { .. }, Class::Volatile) => Class::Static,
        (_, class) => class,
    }
}

/// The classes of the nodes in `order`, which lists each behind all it reads from.
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

/// The needs whose value is a clock's.
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
