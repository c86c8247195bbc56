//! Which instances are equal: the same node type, settings, types and number of sources.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use millstream_base::id::{Arena, Id};
use millstream_ir::graph::InstanceId;
use millstream_kernel::{Instance, SettingValue, Settings};
use rustc_hash::FxHasher;

/// For each instance the first that is equal to it.
pub(super) struct Canonical(Vec<InstanceId>);

impl Canonical {
    pub(super) fn new(instances: &Arena<InstanceId, Arc<Instance>>) -> Self {
        let mut known: HashTable<InstanceId> = HashTable::with_capacity(instances.len());
        let hash = |id: &InstanceId| hash_of(&instances[*id]);
        let first = |(id, instance): (InstanceId, &Arc<Instance>)| {
            let equal = |other: &InstanceId| is_equal(&instances[*other], instance);
            match known.entry(hash(&id), equal, hash) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(room) => {
                    room.insert(id);
                    id
                }
            }
        };
        Self(instances.iter().map(first).collect())
    }

    #[inline]
    pub(super) fn of(&self, id: InstanceId) -> InstanceId {
        self.0[id.index()]
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

pub(super) fn is_equal(a: &Instance, b: &Instance) -> bool {
    let sockets = |i: &Instance| i.inputs.iter().map(|slot| slot.socket).collect::<Vec<_>>();
    Arc::ptr_eq(&a.def, &b.def)
        && a.generics == b.generics
        && same_settings(&a.settings, &b.settings)
        && a.inputs.len() == b.inputs.len()
        && sockets(a) == sockets(b)
}

/// Equality of bits: `-0.0` as a setting is not `0.0`.
fn same_settings(a: &Settings, b: &Settings) -> bool {
    a.iter().count() == b.iter().count()
        && a.iter().zip(b.iter()).all(|((name_a, value_a), (name_b, value_b))| {
            name_a == name_b
                && match (value_a, value_b) {
                    (SettingValue::Number(x), SettingValue::Number(y)) => {
                        x.to_bits() == y.to_bits()
                    }
                    (SettingValue::Numbers(x), SettingValue::Numbers(y)) => {
                        x.iter().map(|x| x.to_bits()).eq(y.iter().map(|y| y.to_bits()))
                    }
                    (x, y) => x == y,
                }
        })
}
