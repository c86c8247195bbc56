//! Instances of node types, shared by nodes that agree in type, settings and types.
//!
//! The *pattern* of a node is its shape together with the type linked to each slot. A node with a
//! known pattern gets the instance of the earlier node without looking at any type.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault};
use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_node::Instance;
use millstream_node::node_def::InstanceError;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use super::shapes::Shape;
use crate::checked::{Muted, MutedOutput, Passes};

/// The shape, then for each slot the number of the linked type, or 0. The slots of a socket that
/// takes several sources are preceded by their count.
pub(super) type Pattern = SmallVec<[u32; 8]>;

/// The number of a type in patterns, from 1.
pub(super) type TypeNumber = u32;

/// All instances of a document.
#[derive(Default)]
pub(super) struct Instances {
    types: Vec<Type>,
    numbers: FxHashMap<Type, TypeNumber>,
    entries: Vec<Entry>,
    /// Hashed with a seed, like everything filled from documents.
    by_pattern: HashMap<Pattern, Known>,
    /// The most recent patterns, with a fast hash.
    recent: Vec<(Pattern, Known)>,
    /// By shape, generics and arities.
    by_types: HashMap<Pattern, u32>,
}

/// The instance of the nodes with one pattern.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    /// The position of the instance.
    pub(super) entry: u32,
    /// Whether any of their links narrows, or may round integers.
    pub(super) narrows: bool,
}

/// An instance, with the data needed to check its nodes.
pub(super) struct Entry {
    pub(super) instance: Arc<Instance>,
    /// The types of the outputs.
    pub(super) outputs: SmallVec<[TypeNumber; 2]>,
    /// The default of each socket.
    pub(super) defaults: Vec<Option<Value>>,
    muted: Option<Arc<Muted>>,
}

impl Instances {
    /// The number of a type.
    pub(super) fn number(&mut self, ty: Type) -> TypeNumber {
        let types = &mut self.types;
        *self.numbers.entry(ty).or_insert_with(|| {
            types.push(ty);
            types.len() as TypeNumber
        })
    }

    pub(super) fn ty(&self, number: TypeNumber) -> Type {
        self.types[number as usize - 1]
    }

    pub(super) fn entry(&self, entry: u32) -> &Entry {
        &self.entries[entry as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len() + self.by_pattern.len() + self.types.len()
    }

    /// The instance of nodes with this pattern, if there is one already.
    pub(super) fn with_pattern(&mut self, pattern: &[u32]) -> Option<Known> {
        const N_RECENT: usize = 256;
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(pattern);
        let at = hash as usize % N_RECENT;
        match self.recent.get(at) {
            Some((pattern_there, known)) if **pattern_there == *pattern => return Some(*known),
            Some(_) => {}
            None => self.recent.resize_with(N_RECENT, Default::default),
        }
        let known = self.by_pattern.get(pattern).copied()?;
        self.recent[at] = (pattern.into(), known);
        Some(known)
    }

    /// Stores the instance of nodes with this pattern.
    pub(super) fn remember(&mut self, pattern: Pattern, known: Known) {
        self.by_pattern.insert(pattern, known);
    }

    /// The instance of a shape for these types and numbers of sources.
    pub(super) fn make(
        &mut self,
        shape_id: u32,
        shape: &Shape,
        generics: Vec<Type>,
        arities: &[u16],
    ) -> Result<u32, InstanceError> {
        let mut key = Pattern::new();
        key.push(shape_id);
        key.extend(generics.iter().map(|ty| self.number(*ty)));
        key.extend(arities.iter().map(|arity| u32::from(*arity)));
        if let Some(entry) = self.by_types.get(&key) {
            return Ok(*entry);
        }
        let mut defaults = Vec::with_capacity(shape.signature.inputs.len());
        for socket in &shape.signature.inputs {
            defaults.push(socket.default.value(socket.ty.resolve(&generics)?));
        }
        let Shape { def, settings, signature } = shape;
        let instance = def.instantiate_as(signature, settings.clone(), generics, arities)?;
        let outputs = instance.outputs.iter().map(|slot| self.number(slot.ty)).collect();
        let entry = self.entries.len() as u32;
        self.entries.push(Entry { instance: Arc::new(instance), outputs, defaults, muted: None });
        self.by_types.insert(key, entry);
        Ok(entry)
    }

    /// The behavior of nodes of this instance when they are muted.
    pub(super) fn muted(&mut self, entry: u32) -> Arc<Muted> {
        let Entry { instance, muted, .. } = &mut self.entries[entry as usize];
        let made = muted.get_or_insert_with(|| {
            let inputs = instance.inputs.iter().map(|slot| slot.ty).collect();
            let types = instance.outputs.iter().map(|slot| slot.ty);
            Arc::new(passing(inputs, instance.output_names.iter().cloned().zip(types)))
        });
        Arc::clone(made)
    }
}

/// Passes to each output the first input of its type.
pub(super) fn passing(
    inputs: Vec<Type>,
    outputs: impl IntoIterator<Item = (Arc<str>, Type)>,
) -> Muted {
    let outputs = outputs
        .into_iter()
        .map(|(name, ty)| {
            let source = inputs.iter().position(|input| *input == ty);
            let passes = match source {
                Some(slot) => Passes::Source(slot as u32),
                None => Passes::Default(ty.default_value()),
            };
            MutedOutput { name, ty, passes }
        })
        .collect();
    Muted { inputs, outputs }
}
