//! Equality of instances: same node type, settings, types and numbers of sources.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use millstream_base::id::{Arena, Id};
use millstream_ir::graph::InstanceId;
use millstream_node::{Instance, SettingValue};
use rustc_hash::FxHasher;

/// The first equal instance of each instance, and whether it commutes.
pub(super) struct Canonical(Vec<(InstanceId, bool)>);

impl Canonical {
    pub(super) fn new(instances: &Arena<InstanceId, Arc<Instance>>) -> Self {
        let mut known: HashTable<(InstanceId, bool)> = HashTable::with_capacity(instances.len());
        let hash = |(id, _): &(InstanceId, bool)| hash_of(&instances[*id]);
        let first = |(id, instance): (InstanceId, &Arc<Instance>)| {
            let equal = |(other, _): &(InstanceId, bool)| instances[*other].does_same(instance);
            match known.entry(hash_of(instance), equal, hash) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(room) => *room.insert((id, instance.commutes())).get(),
            }
        };
        Self(instances.iter().map(first).collect())
    }

    #[inline]
    pub(super) fn of(&self, id: InstanceId) -> InstanceId {
        self.0[id.index()].0
    }

    /// Whether swapping the first two inputs of a node of the instance changes nothing.
    #[inline]
    pub(super) fn commutes(&self, id: InstanceId) -> bool {
        self.0[id.index()].1
    }
}

fn hash_of(instance: &Instance) -> u64 {
    let mut state = FxHasher::default();
    Arc::as_ptr(&instance.def).hash(&mut state);
    instance.generics.hash(&mut state);
    instance.inputs.len().hash(&mut state);
    for (name, value) in instance.settings.iter() {
        name.hash(&mut state);
        match value {
            SettingValue::Text(text) => text.hash(&mut state),
            SettingValue::Integer(x) => x.hash(&mut state),
            SettingValue::Number(x) => x.to_bits().hash(&mut state),
            SettingValue::Flag(x) => x.hash(&mut state),
            SettingValue::Type(ty) => ty.hash(&mut state),
            SettingValue::Texts(texts) => texts.hash(&mut state),
            SettingValue::Numbers(numbers) => {
                for x in numbers {
                    x.to_bits().hash(&mut state);
                }
            }
        }
    }
    state.finish()
}
