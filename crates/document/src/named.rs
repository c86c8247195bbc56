//! Named values in the order in which they are written, for edits at any position.
//!
//! Each value has a *slot*, a number that stays the same as long as the value exists, whatever its
//! name and neighbors; editors keep their own data in tables by slot. Slots are linked in order.
//! Finding, renaming, inserting before another value and removing take constant time. Looking up a
//! position is free until a value is inserted in the middle or removed; after that, the first query
//! for a position counts all values.

use std::borrow::Borrow;
use std::hash::{BuildHasher, RandomState};
use std::ops::{Index, IndexMut};
use std::sync::{Arc, OnceLock};

use millstream_base::ahead::read_ahead;
use millstream_base::pages::reserve_in_huge_pages;
use serde::{Serialize, Serializer};
use smallvec::SmallVec;

use crate::name_table::{NameTable, is_same};

/// No slot.
const NONE: u32 = u32::MAX;

/// Named values in order.
#[derive(Clone)]
pub struct Named<T> {
    slots: Vec<Slot<T>>,
    /// The slots of names.
    table: NameTable,
    hasher: NameHasher,
    first: u32,
    last: u32,
    /// Slots that can be reused.
    free: Vec<u32>,
    /// Slots of values that were removed while [reuse is deferred](Self::defer_reuse), the most
    /// recent one last.
    removed: Vec<u32>,
    reuse: Reuse,
    /// Whether slots equal positions: in order and without gaps.
    is_tidy: bool,
    /// The order, if slots differ from positions and a position was queried.
    order: OnceLock<Box<Order>>,
}

/// Hashes names; seeded, because names come from untrusted documents.
#[derive(Clone, Debug, Default)]
pub struct NameHasher(RandomState);

impl NameHasher {
    /// The hash of a name.
    pub fn hash(&self, name: &str) -> u32 {
        self.0.hash_one(name) as u32
    }
}

/// The policy for slots of removed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reuse {
    /// New values reuse them.
    Immediate,
    /// They are not reused for now.
    Deferred,
    /// Values removed before return to their slots.
    Restoring,
}

#[derive(Clone)]
struct Slot<T> {
    before: u32,
    after: u32,
    thing: Option<(Arc<str>, T)>,
}

#[derive(Clone)]
struct Order {
    /// Slots in order.
    slots: Vec<u32>,
    /// The position of each slot.
    positions: Vec<u32>,
}

impl<T> Named<T> {
    /// An empty list.
    pub fn new() -> Self {
        Self::with_hasher(NameHasher::default())
    }

    /// An empty list that hashes names like another list, for [`append`](Self::append).
    pub fn with_hasher(hasher: NameHasher) -> Self {
        Self {
            slots: Vec::new(),
            table: NameTable::new(),
            hasher,
            first: NONE,
            last: NONE,
            free: Vec::new(),
            removed: Vec::new(),
            reuse: Reuse::Immediate,
            is_tidy: true,
            order: OnceLock::new(),
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The hash of a name, for [`slot_with`](Self::slot_with) and [`append`](Self::append).
    pub(crate) fn hash(&self, name: &str) -> u32 {
        self.hasher.hash(name)
    }

    /// The slot of the value called `name`.
    pub fn slot_of(&self, name: &str) -> Option<u32> {
        self.slot_with(self.hash(name), name)
    }

    /// The slot of the value called `name`, whose hash is known.
    pub fn slot_with(&self, hash: u32, name: &str) -> Option<u32> {
        self.table.find(hash, |slot| is_same(self.name_at(slot), name))
    }

    fn name_at(&self, slot: u32) -> &str {
        self.at(slot).expect("slots in the table have values").0
    }

    /// The stored names, where a value with the name exists. Each step of the lookup is done for
    /// all names in a short loop, so that the memory accesses overlap.
    pub(crate) fn shared_names(&self, names: &[&str]) -> Vec<Arc<str>> {
        type Block<T> = SmallVec<[T; 64]>;
        let mut shared = Vec::with_capacity(names.len());
        for names in names.chunks(64) {
            let hashes: Block<u32> = names.iter().map(|name| self.hash(name)).collect();
            let slots: Block<_> =
                hashes.iter().map(|hash| self.table.find(*hash, |_| true)).collect();
            let stored = slots.iter().map(|slot| Some(self.at((*slot)?)?.0));
            let stored: Block<Option<&Arc<str>>> = stored.collect();
            let pairs = stored.iter().zip(names);
            let is_it = pairs.map(|(stored, name)| stored.is_some_and(|it| **it == **name));
            let is_it: Block<bool> = is_it.collect();
            for ((name, stored), is_it) in names.iter().zip(stored).zip(is_it) {
                // Another name may have the same hash.
                let other = || self.get_key_value(name).map(|(stored, _)| stored);
                let stored = stored.filter(|_| is_it).or_else(other);
                shared.push(stored.map_or_else(|| Arc::from(*name), Arc::clone));
            }
        }
        shared
    }

    /// Reserves capacity for `n` more values.
    pub fn reserve(&mut self, n: usize) {
        reserve_in_huge_pages(&mut self.slots, n);
        self.table.reserve(n);
    }

    /// Reads the places of names with these hashes ahead of looking them up or adding them.
    pub fn read_ahead(&self, hashes: impl Iterator<Item = u32>) {
        read_ahead(hashes.map(|hash| self.table.read_ahead(hash)));
    }

    /// The name and the value in a slot.
    pub fn at(&self, slot: u32) -> Option<(&Arc<str>, &T)> {
        let (name, thing) = self.slots.get(slot as usize)?.thing.as_ref()?;
        Some((name, thing))
    }

    /// The value in a slot, mutable.
    pub fn at_mut(&mut self, slot: u32) -> Option<&mut T> {
        let (_, thing) = self.slots.get_mut(slot as usize)?.thing.as_mut()?;
        Some(thing)
    }

    /// The length that tables indexed by slot need.
    pub fn n_slots(&self) -> usize {
        self.slots.len()
    }

    /// The name of the value after that in `slot`.
    pub fn name_after(&self, slot: u32) -> Option<&Arc<str>> {
        let after = self.slots.get(slot as usize)?.after;
        self.at(after).map(|(name, _)| name)
    }

    /// The value called `name`.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.get_key_value(name).map(|(_, thing)| thing)
    }

    /// The value called `name`, mutable.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.slot_of(name).and_then(|slot| self.at_mut(slot))
    }

    /// The value called `name`, with the stored name.
    pub fn get_key_value(&self, name: &str) -> Option<(&Arc<str>, &T)> {
        self.slot_of(name).and_then(|slot| self.at(slot))
    }

    /// Whether the name is taken.
    pub fn contains_key(&self, name: &str) -> bool {
        self.slot_of(name).is_some()
    }

    /// The position of the value called `name`.
    pub fn get_index_of(&self, name: &str) -> Option<usize> {
        let slot = self.slot_of(name)? as usize;
        Some(if self.is_tidy { slot } else { self.order().positions[slot] as usize })
    }

    /// The name and the value at a position.
    pub fn get_index(&self, position: usize) -> Option<(&Arc<str>, &T)> {
        self.at(self.slot_at(position)?)
    }

    fn slot_at(&self, position: usize) -> Option<u32> {
        if self.is_tidy {
            (position < self.slots.len()).then_some(position as u32)
        } else {
            self.order().slots.get(position).copied()
        }
    }

    fn order(&self) -> &Order {
        self.order.get_or_init(|| {
            let mut order = Order {
                slots: Vec::with_capacity(self.len()),
                positions: vec![NONE; self.slots.len()],
            };
            let mut slot = self.first;
            while slot != NONE {
                order.positions[slot as usize] = order.slots.len() as u32;
                order.slots.push(slot);
                slot = self.slots[slot as usize].after;
            }
            Box::new(order)
        })
    }

    fn order_changed(&mut self) {
        if self.order.get().is_some() {
            self.order = OnceLock::new();
        }
    }

    /// Sets the value called `name` and returns the previous one; a new name is appended.
    pub fn insert(&mut self, name: Arc<str>, thing: T) -> Option<T> {
        self.insert_full(name, thing).1
    }

    /// Like [`insert`](Self::insert), and returns the position as well.
    pub fn insert_full(&mut self, name: Arc<str>, thing: T) -> (usize, Option<T>) {
        if let Some(slot) = self.slot_of(&name) {
            let position = if self.is_tidy { slot } else { self.order().positions[slot as usize] };
            let old = self.at_mut(slot).map(|old| std::mem::replace(old, thing));
            return (position as usize, old);
        }
        self.append(self.hash(&name), name, thing);
        (self.len() - 1, None)
    }

    /// Inserts a value before the one called `before`, or last, and returns its slot. If the name
    /// is taken or `before` does not exist, nothing changes and the result is `None`.
    pub fn insert_before(&mut self, name: Arc<str>, thing: T, before: Option<&str>) -> Option<u32> {
        let after = match before {
            Some(before) => self.slot_of(before)?,
            None => NONE,
        };
        let hash = self.hash(&name);
        match self.slot_with(hash, &name) {
            Some(_) => None,
            None => Some(self.insert_new(hash, name, thing, after)),
        }
    }

    /// Appends a value whose name is not taken and has this hash.
    pub fn append(&mut self, hash: u32, name: Arc<str>, thing: T) {
        debug_assert!(self.slot_with(hash, &name).is_none(), "the name is new");
        self.insert_new(hash, name, thing, NONE);
    }

    /// Inserts a value with a new name before the slot `after`, or last.
    fn insert_new(&mut self, hash: u32, name: Arc<str>, thing: T, after: u32) -> u32 {
        let before = if after == NONE { self.last } else { self.slots[after as usize].before };
        let new = Slot { before, after, thing: Some((name, thing)) };
        let restored = match self.reuse {
            Reuse::Restoring => self.removed.pop(),
            Reuse::Immediate | Reuse::Deferred => None,
        };
        let slot = if let Some(slot) = restored.or_else(|| self.free.pop()) {
            self.slots[slot as usize] = new;
            slot
        } else {
            self.slots.push(new);
            u32::try_from(self.slots.len() - 1).expect("limits keep nodes within 32 bits")
        };
        self.is_tidy &= after == NONE && slot as usize + 1 == self.slots.len();
        self.join(before, slot);
        self.join(slot, after);
        self.table.insert(hash, slot);
        self.order_changed();
        slot
    }

    /// Links two neighbors.
    fn join(&mut self, before: u32, after: u32) {
        match before {
            NONE => self.first = after,
            _ => self.slots[before as usize].after = after,
        }
        match after {
            NONE => self.last = before,
            _ => self.slots[after as usize].before = before,
        }
    }

    /// Removes the value called `name`; the others keep their order. The next insertion reuses its
    /// slot, so undoing changes in reverse order restores all slots.
    pub fn remove(&mut self, name: &str) -> Option<T> {
        let slot = self.slot_of(name)?;
        self.forget(slot);
        let Slot { before, after, .. } = self.slots[slot as usize];
        let (_, thing) = self.slots[slot as usize].thing.take()?;
        self.join(before, after);
        if self.reuse == Reuse::Deferred {
            self.is_tidy = false;
            self.removed.push(slot);
        } else if self.is_tidy && slot as usize + 1 == self.slots.len() {
            self.slots.pop();
        } else {
            self.is_tidy = false;
            self.free.push(slot);
        }
        self.order_changed();
        Some(thing)
    }

    /// Defers the reuse of removed slots until [`end_deferral`](Self::end_deferral).
    pub(crate) fn defer_reuse(&mut self) {
        self.reuse = Reuse::Deferred;
    }

    /// Starts undoing the changes since [`defer_reuse`](Self::defer_reuse) in reverse order, so
    /// that removed values return to their slots.
    pub(crate) fn restore_slots(&mut self) {
        self.reuse = Reuse::Restoring;
    }

    /// Ends [`defer_reuse`](Self::defer_reuse).
    pub(crate) fn end_deferral(&mut self) {
        self.reuse = Reuse::Immediate;
        self.free.append(&mut self.removed);
    }

    /// Removes the name of a slot from the table.
    fn forget(&mut self, slot: u32) {
        let hash = self.hash(self.name_at(slot));
        self.table.remove(hash, slot);
    }

    /// Renames the value called `from` to `to` in place. If there is none, or `to` is taken,
    /// nothing changes and the result is false.
    pub fn rename(&mut self, from: &str, to: impl Into<Arc<str>>) -> bool {
        let to = to.into();
        let Some(slot) = self.slot_of(from) else { return false };
        if self.contains_key(&to) {
            return false;
        }
        self.forget(slot);
        let hash = self.hash(&to);
        if let Some((name, _)) = &mut self.slots[slot as usize].thing {
            *name = to;
        }
        self.table.insert(hash, slot);
        true
    }

    /// The names and values in order.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { named: self, slot: self.first, n_left: self.len() }
    }

    /// The slots, names and values in order.
    pub fn iter_slots(&self) -> impl Iterator<Item = (u32, &Arc<str>, &T)> {
        let next = |slot: &u32| Some(self.slots[*slot as usize].after).filter(|next| *next != NONE);
        let slots = std::iter::successors(Some(self.first).filter(|slot| *slot != NONE), next);
        slots.filter_map(|slot| self.at(slot).map(|(name, thing)| (slot, name, thing)))
    }

    /// The values in order from a position on.
    pub(crate) fn values_from(&self, position: usize) -> impl Iterator<Item = &T> {
        let n_left = self.len().saturating_sub(position);
        let slot = self.slot_at(position).unwrap_or(NONE);
        Iter { named: self, slot, n_left }.map(|(_, thing)| thing)
    }

    /// The names in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Arc<str>> + Clone {
        self.iter().map(|(name, _)| name)
    }

    /// The values in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &T> + Clone {
        self.iter().map(|(_, thing)| thing)
    }

    /// The values in any order, mutable.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.iter_mut().map(|(_, thing)| thing)
    }

    /// The names and values in any order, the values mutable.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Arc<str>, &mut T)> {
        self.slots.iter_mut().filter_map(|slot| {
            let (name, thing) = slot.thing.as_mut()?;
            Some((&*name, thing))
        })
    }
}

/// An iterator over names and values in order.
pub struct Iter<'a, T> {
    named: &'a Named<T>,
    slot: u32,
    n_left: usize,
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = (&'a Arc<str>, &'a T);
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let slot = self.named.slots.get(self.slot as usize)?;
        self.slot = slot.after;
        self.n_left -= 1;
        slot.thing.as_ref().map(|(name, thing)| (name, thing))
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.n_left, Some(self.n_left))
    }
}
impl<T> ExactSizeIterator for Iter<'_, T> {}

impl<'a, T> IntoIterator for &'a Named<T> {
    type Item = (&'a Arc<str>, &'a T);
    type IntoIter = Iter<'a, T>;
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: PartialEq> PartialEq for Named<T> {
    /// Whether names and values are equal and in the same order.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Named<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<N: Into<Arc<str>>, T> FromIterator<(N, T)> for Named<T> {
    /// If several values share a name, the last one counts.
    fn from_iter<I: IntoIterator<Item = (N, T)>>(things: I) -> Self {
        let mut named = Self::new();
        for (name, thing) in things {
            named.insert(name.into(), thing);
        }
        named
    }
}

impl<T, Q: Borrow<str> + ?Sized> Index<&Q> for Named<T> {
    type Output = T;
    fn index(&self, name: &Q) -> &T {
        self.get(name.borrow()).expect("something has this name")
    }
}

impl<T> Index<usize> for Named<T> {
    type Output = T;
    fn index(&self, position: usize) -> &T {
        self.get_index(position).map(|(_, thing)| thing).expect("the position is counted")
    }
}

impl<T> IndexMut<usize> for Named<T> {
    fn index_mut(&mut self, position: usize) -> &mut T {
        let slot = self.slot_at(position).expect("the position is counted");
        self.at_mut(slot).expect("slots in order have things")
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Change {
        Insert(u8, u16),
        Before(u8, u8, u16),
        Remove(u8),
        Rename(u8, u8),
        Ask,
    }

    fn change() -> impl Strategy<Value = Change> {
        let name = 0..12_u8;
        prop_oneof![
            (name.clone(), any::<u16>()).prop_map(|(name, x)| Change::Insert(name, x)),
            (name.clone(), name.clone(), any::<u16>())
                .prop_map(|(name, before, x)| Change::Before(name, before, x)),
            name.clone().prop_map(Change::Remove),
            (name.clone(), name).prop_map(|(from, to)| Change::Rename(from, to)),
            Just(Change::Ask),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_is_a_map_in_order(changes in prop::collection::vec(change(), 0..60)) {
            let text = |name: u8| name.to_string();
            let mut map: IndexMap<String, u16> = IndexMap::new();
            let mut named: Named<u16> = Named::new();
            for change in changes {
                match change {
                    Change::Insert(name, x) => {
                        prop_assert_eq!(named.insert(text(name).into(), x), map.insert(text(name), x));
                    }
                    Change::Before(name, before, x) => {
                        let at = map.get_index_of(&text(before));
                        let fits = at.is_some() && !map.contains_key(&text(name));
                        let done = named.insert_before(text(name).into(), x, Some(&text(before)));
                        prop_assert_eq!(done.is_some(), fits);
                        if let (true, Some(at)) = (fits, at) {
                            map.shift_insert(at, text(name), x);
                        }
                    }
                    Change::Remove(name) => {
                        prop_assert_eq!(named.remove(&text(name)), map.shift_remove(&text(name)));
                    }
                    Change::Rename(from, to) => {
                        let slot = named.slot_of(&text(from));
                        let fits = slot.is_some() && !map.contains_key(&text(to));
                        prop_assert_eq!(named.rename(&text(from), text(to)), fits);
                        if let (true, Some(at)) = (fits, map.get_index_of(&text(from))) {
                            let (_, x) = map.shift_remove_index(at).expect("it exists");
                            map.shift_insert(at, text(to), x);
                            prop_assert_eq!(named.slot_of(&text(to)), slot);
                        }
                    }
                    Change::Ask => {
                        for (i, (name, x)) in map.iter().enumerate() {
                            prop_assert_eq!(named.get_index_of(name), Some(i));
                            prop_assert_eq!(named.get_index(i).map(|(n, x)| (&**n, x)), Some((name.as_str(), x)));
                        }
                    }
                }
                let all: Vec<(&str, u16)> = named.iter().map(|(name, x)| (&**name, *x)).collect();
                let wanted: Vec<(&str, u16)> = map.iter().map(|(name, x)| (&**name, *x)).collect();
                prop_assert_eq!(all, wanted);
                prop_assert_eq!(named.get_index(named.len()), None);
            }
        }
    }
}
