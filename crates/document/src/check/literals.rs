//! The literals of one body, without duplicates.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use millstream_base::Value;
use millstream_base::same::Same;

/// The literals of one body; no two have the same type and bits.
#[derive(Default)]
pub(super) struct Literals {
    values: Vec<Value>,
    /// Hashed with a seed, because the values come from untrusted documents.
    known: HashMap<Key, u32>,
}

struct Key(Value);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.ty().hash(state);
        self.0.feed(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.ty() == other.0.ty() && self.0.same(&other.0)
    }
}
impl Eq for Key {}

impl Literals {
    /// The position of a value, which is added if it is new.
    pub(super) fn intern(&mut self, value: Value) -> u32 {
        let new = self.values.len() as u32;
        let values = &mut self.values;
        *self.known.entry(Key(value)).or_insert_with_key(|key| {
            values.push(key.0.clone());
            new
        })
    }

    /// The values by position.
    pub(super) fn into_values(mut self) -> Vec<Value> {
        self.values.shrink_to_fit();
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_differ_by_type_and_bits() {
        let mut literals = Literals::default();
        let values = [
            Value::F32(0.0),
            Value::F32(-0.0),
            Value::F64(0.0),
            Value::F32(0.0),
            Value::from("0"),
            Value::from("0"),
        ];
        let ids: Vec<u32> = values.into_iter().map(|value| literals.intern(value)).collect();
        assert_eq!(ids, [0, 1, 2, 0, 3, 3]);
        assert_eq!(literals.into_values().len(), 4);
    }
}
