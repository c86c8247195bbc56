//! Things by name in the order in which they are written, for edits at any place.
//!
//! Each thing has a *slot*, a number that stays while the thing is there, whatever its name and
//! neighbours; so editors keep what they know of things in tables by slot. Slots are linked in
//! order. Finding, renaming, inserting before another thing and removing cost the same whatever
//! the number of things. Positions cost nothing until something is put in the middle or taken out;
//! then the first question for one counts all things.

use std::borrow::Borrow;
use std::hash::{BuildHasher, RandomState};
use std::ops::{Index, IndexMut};
use std::sync::{Arc, OnceLock};

use hashbrown::HashTable;
use serde::{Serialize, Serializer};

/// No slot.
const NONE: u32 = u32::MAX;

/// Things by name, in order.
#[derive(Clone)]
pub struct Named<T> {
    slots: Vec<Slot<T>>,
    /// Part of the hash of each name, and its slot.
    table: HashTable<(u32, u32)>,
    /// Seeded, because names come from documents that nobody vouches for.
    hasher: RandomState,
    first: u32,
    last: u32,
    /// Slots to be used again.
    free: Vec<u32>,
    /// Slots of what was removed while [slots are kept](Self::keep_slots), the last one last.
    kept: Vec<u32>,
    keeping: Keeping,
    /// Whether slots lie without gaps in order, so that they are positions.
    is_tidy: bool,
    /// The order, where slots are not positions and somebody asked.
    order: OnceLock<Box<Order>>,
}

/// What becomes of the slots of what is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeping {
    /// What is put in next has them.
    Off,
    /// They are kept until later.
    Kept,
    /// What was removed while they were kept comes back to them.
    Back,
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

fn spread(part: u32) -> u64 {
    u64::from(part).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl<T> Named<T> {
    /// No things.
    pub fn new() -> Self {
        Self {
            slots: Vec::new(),
            table: HashTable::new(),
            hasher: RandomState::new(),
            first: NONE,
            last: NONE,
            free: Vec::new(),
            kept: Vec::new(),
            keeping: Keeping::Off,
            is_tidy: true,
            order: OnceLock::new(),
        }
    }

    /// Number of things.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    fn hash(&self, name: &str) -> u32 {
        self.hasher.hash_one(name) as u32
    }

    /// The slot of the thing called `name`.
    pub fn slot_of(&self, name: &str) -> Option<u32> {
        let hash = self.hash(name);
        let is_it = |(known, slot): &(u32, u32)| *known == hash && self.name_at(*slot) == name;
        self.table.find(spread(hash), is_it).map(|(_, slot)| *slot)
    }

    fn name_at(&self, slot: u32) -> &str {
        self.at(slot).expect("the table holds slots with things").0
    }

    /// Name and thing in a slot.
    pub fn at(&self, slot: u32) -> Option<(&Arc<str>, &T)> {
        let (name, thing) = self.slots.get(slot as usize)?.thing.as_ref()?;
        Some((name, thing))
    }

    /// The thing in a slot, to change it.
    pub fn at_mut(&mut self, slot: u32) -> Option<&mut T> {
        let (_, thing) = self.slots.get_mut(slot as usize)?.thing.as_mut()?;
        Some(thing)
    }

    /// One past the highest slot in use: the length of tables by slot.
    pub fn n_slots(&self) -> usize {
        self.slots.len()
    }

    /// The name of the thing behind that in `slot`.
    pub fn name_after(&self, slot: u32) -> Option<&Arc<str>> {
        let after = self.slots.get(slot as usize)?.after;
        self.at(after).map(|(name, _)| name)
    }

    /// The thing called `name`.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.get_key_value(name).map(|(_, thing)| thing)
    }

    /// The thing called `name`, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.slot_of(name).and_then(|slot| self.at_mut(slot))
    }

    /// The thing called `name` with the name as it is stored.
    pub fn get_key_value(&self, name: &str) -> Option<(&Arc<str>, &T)> {
        self.slot_of(name).and_then(|slot| self.at(slot))
    }

    /// Whether something has this name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.slot_of(name).is_some()
    }

    /// The position of the thing called `name`.
    pub fn get_index_of(&self, name: &str) -> Option<usize> {
        let slot = self.slot_of(name)? as usize;
        Some(if self.is_tidy { slot } else { self.order().positions[slot] as usize })
    }

    /// Name and thing at a position.
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

    /// Sets the thing called `name` and returns what had the name before; a new name goes last.
    pub fn insert(&mut self, name: Arc<str>, thing: T) -> Option<T> {
        self.insert_full(name, thing).1
    }

    /// As [`insert`](Self::insert); also gives the position.
    pub fn insert_full(&mut self, name: Arc<str>, thing: T) -> (usize, Option<T>) {
        if let Some(slot) = self.slot_of(&name) {
            let position = if self.is_tidy { slot } else { self.order().positions[slot as usize] };
            let old = self.at_mut(slot).map(|old| std::mem::replace(old, thing));
            return (position as usize, old);
        }
        self.insert_new(name, thing, NONE);
        (self.len() - 1, None)
    }

    /// Puts a thing before the one called `before`, or last, and gives its slot; `None`, and nothing
    /// changes, if the name is taken or `before` is not there.
    pub fn insert_before(&mut self, name: Arc<str>, thing: T, before: Option<&str>) -> Option<u32> {
        let after = match before {
            Some(before) => self.slot_of(before)?,
            None => NONE,
        };
        if self.contains_key(&name) {
            return None;
        }
        Some(self.insert_new(name, thing, after))
    }

    /// Puts a thing with a new name before the slot `after`, or last.
    fn insert_new(&mut self, name: Arc<str>, thing: T, after: u32) -> u32 {
        let before = if after == NONE { self.last } else { self.slots[after as usize].before };
        let hash = self.hash(&name);
        let new = Slot { before, after, thing: Some((name, thing)) };
        let again = match self.keeping {
            Keeping::Back => self.kept.pop(),
            Keeping::Off | Keeping::Kept => None,
        };
        let slot = if let Some(slot) = again.or_else(|| self.free.pop()) {
            self.slots[slot as usize] = new;
            slot
        } else {
            self.slots.push(new);
            u32::try_from(self.slots.len() - 1).expect("limits keep nodes within 32 bits")
        };
        self.is_tidy &= after == NONE && slot as usize + 1 == self.slots.len();
        self.tie(before, slot);
        self.tie(slot, after);
        self.table.insert_unique(spread(hash), (hash, slot), |(hash, _)| spread(*hash));
        self.order_changed();
        slot
    }

    /// Lets `after` follow `before`.
    fn tie(&mut self, before: u32, after: u32) {
        match before {
            NONE => self.first = after,
            _ => self.slots[before as usize].after = after,
        }
        match after {
            NONE => self.last = before,
            _ => self.slots[after as usize].before = before,
        }
    }

    /// Removes the thing called `name`; the others keep their order. What is put in next has its
    /// slot, so that taking changes back, the last one first, brings all to the slots they had.
    pub fn remove(&mut self, name: &str) -> Option<T> {
        let slot = self.slot_of(name)?;
        self.forget(slot);
        let Slot { before, after, .. } = self.slots[slot as usize];
        let (_, thing) = self.slots[slot as usize].thing.take()?;
        self.tie(before, after);
        if self.keeping == Keeping::Kept {
            self.is_tidy = false;
            self.kept.push(slot);
        } else if self.is_tidy && slot as usize + 1 == self.slots.len() {
            self.slots.pop();
        } else {
            self.is_tidy = false;
            self.free.push(slot);
        }
        self.order_changed();
        Some(thing)
    }

    /// From now on no slot of what is removed is used again, until [`release_slots`].
    ///
    /// [`release_slots`]: Self::release_slots
    pub(crate) fn keep_slots(&mut self) {
        self.keeping = Keeping::Kept;
    }

    /// What happened since [`keep_slots`](Self::keep_slots) is taken back from now on, the last
    /// change first: what comes back has the slot it had.
    pub(crate) fn bring_back_slots(&mut self) {
        self.keeping = Keeping::Back;
    }

    /// Ends [`keep_slots`](Self::keep_slots).
    pub(crate) fn release_slots(&mut self) {
        self.keeping = Keeping::Off;
        self.free.append(&mut self.kept);
    }

    /// Takes a slot's name out of the table.
    fn forget(&mut self, slot: u32) {
        let hash = self.hash(self.name_at(slot));
        if let Ok(entry) = self.table.find_entry(spread(hash), |(_, known)| *known == slot) {
            entry.remove();
        }
    }

    /// Gives the thing called `from` the name `to`, in its place; false, and nothing changes, if
    /// there is none or `to` is taken.
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
        self.table.insert_unique(spread(hash), (hash, slot), |(hash, _)| spread(*hash));
        true
    }

    /// The names with what they stand for, in order.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { named: self, slot: self.first, n_left: self.len() }
    }

    /// The names with what they stand for and their slots, in order.
    pub fn iter_slots(&self) -> impl Iterator<Item = (u32, &Arc<str>, &T)> {
        let next = |slot: &u32| Some(self.slots[*slot as usize].after).filter(|next| *next != NONE);
        let slots = std::iter::successors(Some(self.first).filter(|slot| *slot != NONE), next);
        slots.filter_map(|slot| self.at(slot).map(|(name, thing)| (slot, name, thing)))
    }

    /// The names in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Arc<str>> + Clone {
        self.iter().map(|(name, _)| name)
    }

    /// The things in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &T> + Clone {
        self.iter().map(|(_, thing)| thing)
    }

    /// The things, to change them, in any order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.iter_mut().map(|(_, thing)| thing)
    }

    /// The names with the things, to change them, in any order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Arc<str>, &mut T)> {
        self.slots.iter_mut().filter_map(|slot| {
            let (name, thing) = slot.thing.as_mut()?;
            Some((&*name, thing))
        })
    }
}

/// Goes over things in order.
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
    /// The same names for equal things, in the same order.
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
    /// Of things with the same name the last counts.
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
                            let (_, x) = map.shift_remove_index(at).expect("it is there");
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
