//! Gathers: where a function reads items of lists at known positions, after a change of few items
//! only their readers run.
//!
//! Where the readers of an item follow from its position, as in a window, the function tells them.
//! Otherwise the readers of each item are stored. They are found when they are first needed, and
//! hold as long as the other inputs and the number of items stay the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use millstream_base::map::Map;
use millstream_base::{Column, Mask, Value};
use millstream_node::gather::{Gather, ItemsMade, ItemsRead};
use millstream_node::{Argument, Data, Failure, Kernel};
use smallvec::SmallVec;

use super::LiveGraph;
use super::call::Call;
use super::node::Flags;
use super::special::Special;
use crate::kernel::{Crew, looked_at};

/// Maximal size of all readers that a graph keeps, in bytes. Others are found again when they are
/// needed.
const MOST_BYTES: usize = 1 << 26;

/// Maximal number of readers of all items together.
const MOST_READERS: usize = 1 << 23;

/// Which elements of a result read each item of a list.
#[derive(Debug)]
pub(super) struct Readers {
    /// The input that is the list.
    list: usize,
    /// The stamps of the inputs other than the list.
    stamps: SmallVec<[u64; 4]>,
    /// The start of the readers of each item in `all`, and the end of the last.
    starts: Box<[u32]>,
    all: Box<[u32]>,
}

/// Readers that a graph keeps; when they are dropped, their bytes are no longer counted.
#[derive(Debug)]
pub(super) struct StoredReaders {
    readers: Arc<Readers>,
    total: Arc<AtomicUsize>,
}

impl Drop for StoredReaders {
    fn drop(&mut self) {
        self.total.fetch_sub(self.readers.bytes(), Ordering::Relaxed);
    }
}

impl StoredReaders {
    /// Keeps readers, if they fit beside those that are kept already.
    fn new(readers: Arc<Readers>, total: &Arc<AtomicUsize>) -> Option<Self> {
        let bytes = readers.bytes();
        if total.load(Ordering::Relaxed) + bytes > MOST_BYTES {
            return None;
        }
        total.fetch_add(bytes, Ordering::Relaxed);
        Some(Self { readers, total: Arc::clone(total) })
    }

    pub(super) fn bytes(&self) -> usize {
        self.readers.bytes()
    }
}

impl Call {
    /// How it reads the items of its list.
    pub(super) fn gather(&self) -> Option<Gather<'_>> {
        match &self.instance.kernel {
            Kernel::Function(function) => function.gather(),
            Kernel::Form(_)
            | Kernel::Pass
            | Kernel::Read { .. }
            | Kernel::Choose
            | Kernel::ReadState(_) => None,
        }
    }

    /// Keeps the readers of its list.
    pub(super) fn keep(&mut self, readers: Arc<Readers>, total: &Arc<AtomicUsize>) {
        let is_kept = |kept: &StoredReaders| Arc::ptr_eq(&kept.readers, &readers);
        if !self.readers.as_ref().is_some_and(is_kept) {
            self.readers = None;
            self.readers = StoredReaders::new(readers, total);
        }
    }

    /// Records the stamps of the inputs that it read. Other positions have other readers.
    pub(super) fn saw(&mut self, stamps: SmallVec<[u64; 4]>) {
        let is_right = |kept: &StoredReaders| {
            others_of(&stamps, kept.readers.list).eq(kept.readers.stamps.iter().copied())
        };
        if !self.readers.as_ref().is_none_or(is_right) {
            self.readers = None;
        }
        self.seen = stamps;
    }
}

/// The stamps of the inputs other than a list.
fn others_of(stamps: &[u64], list: usize) -> impl Iterator<Item = u64> {
    let others = stamps.iter().enumerate().filter(move |(input, _)| *input != list);
    others.map(|(_, stamp)| *stamp)
}

impl Readers {
    /// The readers of `n_items` items, from pairs of an element and an item.
    fn new(
        (list, stamps): (usize, SmallVec<[u64; 4]>),
        pairs: &[(u32, u32)],
        n_items: usize,
    ) -> Self {
        let mut starts = vec![0_u32; n_items + 1];
        for (_, item) in pairs {
            starts[*item as usize + 1] += 1;
        }
        for i in 0..n_items {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut all = vec![0; pairs.len()].into_boxed_slice();
        for (element, item) in pairs {
            let at = &mut next[*item as usize];
            all[*at as usize] = *element;
            *at += 1;
        }
        Self { list, stamps, starts: starts.into(), all }
    }

    /// The input that is the list.
    pub(super) fn list(&self) -> usize {
        self.list
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.starts) + size_of_val(&*self.all)
    }

    /// The readers of an item.
    fn of(&self, item: u32) -> &[u32] {
        let item = item as usize;
        &self.all[self.starts[item] as usize..self.starts[item + 1] as usize]
    }

    /// The readers of these items.
    pub(super) fn of_all<'r>(&'r self, items: &'r [u32]) -> impl Iterator<Item = u32> + 'r {
        items.iter().flat_map(|item| self.of(*item)).copied()
    }

    fn n_items(&self) -> usize {
        self.starts.len() - 1
    }
}

impl LiveGraph {
    /// Calls a function with the inputs of a call.
    fn looked_at<T>(
        &self,
        (read, n): (&[Data], usize),
        look: impl FnOnce(&millstream_node::Call<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let (within, n_runs) = (&self.within, self.n_runs);
        let is_over = || within.over(n_runs).is_some();
        let crew: Crew<'_> = (1, &is_over, within.watch.as_ref().and_then(|watch| watch.flag()));
        let mask = Mask::full(n);
        let mut arguments: Vec<Argument<'_>> =
            read.iter().map(|data| Argument::shared(data, Map::Each)).collect();
        looked_at((&mask, n), &within.limits, crew, &mut arguments, look)
    }

    /// The readers of the items of a list that a call reads, if few items changed since the call
    /// last ran, or if the readers are known.
    pub(super) fn readers_for(
        &self,
        call: &Call,
        places: &dyn ItemsRead,
        (read, n): (&[Data], usize),
    ) -> Option<Arc<Readers>> {
        let list = places.list();
        let (Some(Data::One(Value::List(items))), false) = (read.get(list), call.gathers()) else {
            return None;
        };
        let now = self.stamps_of(call);
        let stamps: SmallVec<[u64; 4]> = others_of(&now, list).collect();
        if let Some(StoredReaders { readers: known, .. }) = &call.readers
            && known.stamps == stamps
            && known.n_items() == items.len()
        {
            return Some(Arc::clone(known));
        }
        let node = call.inputs.get(list)?;
        self.boxes.changes.get(node)?.between(*call.seen.get(list)?, now[list])?;
        let mut pairs = Vec::new();
        let mut visit = |element: usize, item: usize| {
            // One more than the maximum tells that there are too many.
            if pairs.len() <= MOST_READERS {
                pairs.push((element as u32, item as u32));
            }
        };
        self.looked_at((read, n), |call| places.items_read(call, &mut visit)).ok()?;
        let fits = pairs.len() <= MOST_READERS;
        fits.then(|| Arc::new(Readers::new((list, stamps), &pairs, items.len())))
    }

    /// Computes the items of a list that depend on inputs which changed since the call last ran, if
    /// the call computes its items one by one and few depend on them.
    pub(super) fn make_changed_items(&mut self, at: usize, index: usize) -> bool {
        let Special::Call(call) = &self.specials[index] else { return false };
        let Some(Gather::Items(made)) = call.gather() else { return false };
        let is_known = self.holds_columns()
            && call.seen.len() == call.inputs.len()
            && !self.nodes[at].flags.has(Flags::NEW);
        let Some((items, readers, new)) = is_known.then(|| self.made(at, call, made)).flatten()
        else {
            return false;
        };
        self.has_new_items((at, index), readers, &items, new);
        true
    }

    /// Changes the items of a call's list at these positions, which are in order. The call has then
    /// seen its inputs as they are.
    fn has_new_items(
        &mut self,
        (at, index): (usize, usize),
        readers: Option<Arc<Readers>>,
        places: &[u32],
        new: Column,
    ) {
        let Special::Call(call) = &self.specials[index] else { return };
        let stamps = self.stamps_of(call);
        let Special::Call(call) = &mut self.specials[index] else { return };
        if let Some(readers) = readers {
            call.keep(readers, &self.bytes_of_readers);
        }
        call.saw(stamps);
        self.ran(at);
        if !places.is_empty() {
            let mask = Mask::from_indices(places.to_vec()).expect("the positions are in order");
            self.change_some(at, &Data::Many(new), places, &mask);
        }
    }

    /// The positions of the items that must be computed again, the readers of the list that were
    /// found for that, and the items.
    fn made(
        &self,
        at: usize,
        call: &Call,
        made: &dyn ItemsMade,
    ) -> Option<(Vec<u32>, Option<Arc<Readers>>, Column)> {
        let Some(Data::One(Value::List(known))) = self.boxes.of(&self.nodes[at]) else {
            return None;
        };
        let read = self.read(call);
        if read.iter().any(|data| matches!(data, Data::Many(_))) {
            return None;
        }
        let most = known.len() / 2;
        let (mut items, mut readers) = (Vec::new(), None);
        let stamps = self.stamps_of(call);
        for (k, data) in read.iter().enumerate().filter(|(k, _)| stamps[*k] != call.seen[*k]) {
            let changed = self.boxes.changes.get(&call.inputs[k]);
            let changed = match changed.and_then(|it| it.between(call.seen[k], stamps[k])) {
                Some(changed) => changed,
                None if matches!(data, Data::One(Value::List(_))) => return None,
                None => &[0],
            };
            let is_told = self.looked_at((&read, 1), |call| {
                let mut visit = |range: std::ops::Range<usize>| {
                    // One more than the maximum tells that there are too many.
                    let left = (most + 1).saturating_sub(items.len());
                    items.extend(range.map(|item| item as u32).take(left));
                };
                let mut changed = changed.iter();
                Ok(changed.all(|item| made.readers_of(call, k, *item as usize, &mut visit)))
            });
            if !is_told.ok()? {
                let places = made.items_read().filter(|places| places.list() == k)?;
                let found = self.readers_for(call, places, (&read, 1))?;
                items.extend(found.of_all(changed));
                readers = Some(found);
            }
            if items.len() > most {
                return None;
            }
        }
        items.sort_unstable();
        items.dedup();
        let new = self.looked_at((&read, 1), |call| made.items_at(call, &items)).ok()?;
        Some((items, readers, new))
    }

    /// Copies the items that changed since a call last ran, if the call copies items of its list
    /// and only these changed.
    pub(super) fn copy_changed_items(&mut self, at: usize, index: usize) -> bool {
        let Special::Call(call) = &self.specials[index] else { return false };
        let Some(Gather::Copies(places)) = call.gather() else { return false };
        let is_known = self.holds_columns() && call.seen.len() == call.inputs.len();
        let copied = if is_known { self.copied(at, call, places) } else { None };
        let Some((readers, items, changed)) = copied else { return false };
        // Each item of the result is a copy of one.
        let mut copies: Vec<(u32, u32)> = Vec::new();
        for item in changed {
            copies.extend(readers.of(item).iter().map(|copy| (*copy, item)));
        }
        copies.sort_unstable();
        let (to, from): (Vec<u32>, Vec<u32>) = copies.into_iter().unzip();
        let new = items.gather(from.into_iter().map(|item| item as usize));
        self.has_new_items((at, index), Some(readers), &to, new);
        true
    }

    /// The readers and the items of the list that a call copies from, and which of them changed, if
    /// nothing else did.
    fn copied(
        &self,
        at: usize,
        call: &Call,
        places: &dyn ItemsRead,
    ) -> Option<(Arc<Readers>, Column, Box<[u32]>)> {
        let stamps = self.stamps_of(call);
        let ((now, others), (seen, others_seen)) =
            (stamps.split_first()?, call.seen.split_first()?);
        if self.nodes[at].flags.has(Flags::NEW) || others != others_seen {
            return None;
        }
        let changed = self.boxes.changes.get(&call.inputs[0])?.between(*seen, *now)?.into();
        let Some(Data::One(Value::List(_))) = self.boxes.of(&self.nodes[at]) else { return None };
        let read = self.read(call);
        let readers = self.readers_for(call, places, (&read, 1))?;
        let Some(Data::One(Value::List(items))) = read.into_iter().next() else { return None };
        Some((readers, items, changed))
    }

    /// The stamps of the inputs of a call.
    pub(super) fn stamps_of(&self, call: &Call) -> SmallVec<[u64; 4]> {
        call.inputs.iter().map(|input| self.nodes[*input as usize].value).collect()
    }
}
