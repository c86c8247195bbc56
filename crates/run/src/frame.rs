//! Frames: contexts restricted to the needs of a step.
//!
//! A frame holds, for each need of a class, the value of the feature or the axis whose extent is
//! needed. Values are interned by their bits, frames by their values; so two calls with equal
//! restricted contexts share a frame, and a node evaluated in it once is evaluated for both.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use hashbrown::HashTable;
use millstream_base::id::{Arena, Id};
use millstream_base::same::Same;
use millstream_base::{Column, FeatureSet, Mask, Type, define_id};
use millstream_ir::plan::{NeedClassId, Plan};
use millstream_node::Data;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::shape::{AxisId, Extent, ShapeId, Shapes};

define_id!(FrameId, "x", "One restricted context of an evaluation.");
define_id!(FeatId, "v", "One value of a feature, or one axis, in an evaluation.");

/// The entry of a frame for one need.
#[derive(Clone, Debug)]
pub(crate) enum Feat {
    /// A value, or a column with an entry per cell of the shape.
    Value(Data, ShapeId),
    /// The position along an axis, counted from 0.
    Position(AxisId),
    /// The axis that the injector of the feature opened; `None` if it opened none.
    Axis(Option<AxisId>),
    /// Not known yet, but it varies along this shape: used to find shapes before values.
    Symbolic(ShapeId),
}

/// A need, as its bit, and what stands for it.
type Entry = (u32, FeatId);

/// The place of a frame's entries, and of its row of restrictions if it has one.
#[derive(Debug)]
struct Frame {
    first: usize,
    len: u32,
    row: u32,
}

impl Frame {
    /// It has not been restricted yet.
    const NO_ROW: u32 = u32::MAX;

    fn entries(&self) -> Range<usize> {
        self.first..self.first + self.len as usize
    }
}

/// Restrictions to this many classes are remembered. Plans rarely have more, and a longer row
/// would cost every frame more memory than working a restriction out again costs time.
const REMEMBERED: usize = 64;

/// The number of classes to which restrictions are remembered, which is the length of a row.
fn n_remembered(plan: &Plan) -> usize {
    plan.need_classes.len().min(REMEMBERED)
}

/// The frames of one evaluation.
#[derive(Debug)]
pub(crate) struct Frames {
    feats: Arena<FeatId, Feat>,
    /// The ids of all values, with their hashes.
    known_feats: HashTable<(u64, FeatId)>,
    all: Arena<FrameId, Frame>,
    /// The entries of all frames, one frame after another.
    entries: Vec<Entry>,
    /// The ids of all frames, by the hashes of their entries.
    known_frames: HashTable<FrameId>,
    /// Frames restricted to the first classes: a row for each frame that has been restricted.
    restricted: Vec<FrameId>,
    positions: FxHashMap<AxisId, Column>,
    /// The known cells of columns of which not all are; recorded if results are stored.
    known: FxHashMap<FeatId, Mask>,
}

impl Frames {
    /// Only the empty frame.
    pub(crate) fn new() -> Self {
        let mut frames = Self {
            feats: Arena::new(),
            known_feats: HashTable::new(),
            all: Arena::new(),
            entries: Vec::new(),
            known_frames: HashTable::new(),
            restricted: Vec::new(),
            positions: FxHashMap::default(),
            known: FxHashMap::default(),
        };
        frames.frame(SmallVec::new());
        frames
    }

    /// The empty frame.
    pub(crate) fn empty() -> FrameId {
        FrameId::from_index(0)
    }

    /// No frame: that of a step that is not demanded.
    pub(crate) fn nowhere() -> FrameId {
        FrameId::from_index(u32::MAX as usize)
    }

    /// The id of a value or axis, which equal ones share; an axis also shares that of a column that
    /// counts the positions along it.
    pub(crate) fn feat(&mut self, feat: Feat, shapes: &mut Shapes) -> FeatId {
        let feat = self.canonical(feat, shapes);
        let hash = hash_of_feat(&feat);
        let is_it = |(known, id): &(u64, FeatId)| *known == hash && same(&self.feats[*id], &feat);
        if let Some((_, id)) = self.known_feats.find(hash, is_it) {
            return *id;
        }
        let id = self.feats.push(feat);
        self.known_feats.insert_unique(hash, (hash, id), |(hash, _)| *hash);
        id
    }

    /// The same for a column of which only these cells are known, if not all; the others are blank.
    pub(crate) fn feat_in_part(
        &mut self,
        feat: Feat,
        known: Option<Mask>,
        shapes: &mut Shapes,
    ) -> FeatId {
        let n_before = self.feats.len();
        let id = self.feat(feat, shapes);
        match known {
            Some(cells) if id.index() == n_before => {
                self.known.insert(id, cells);
            }
            Some(cells) => {
                if let Some(known) = self.known.get_mut(&id) {
                    *known = known.union(&cells);
                }
            }
            None => {
                self.known.remove(&id);
            }
        }
        id
    }

    /// The known cells of a column, if not all.
    pub(crate) fn known(&self, feat: FeatId) -> Option<&Mask> {
        self.known.get(&feat)
    }

    fn canonical(&mut self, feat: Feat, shapes: &mut Shapes) -> Feat {
        let Feat::Value(Data::Many(column), shape) = &feat else { return feat };
        let Some(axis) = shapes.axes_of(*shape).last().copied() else { return feat };
        if column.ty() != Type::I32 || shapes.along(axis) != *shape {
            return feat;
        }
        if self.positions(axis, shapes).same(column) { Feat::Position(axis) } else { feat }
    }

    /// The frame with these entries, given in order of their bits.
    pub(crate) fn frame(&mut self, entries: SmallVec<[Entry; 4]>) -> FrameId {
        let first = self.entries.len();
        self.entries.extend(entries);
        self.frame_from(first)
    }

    /// The frame with the entries from this one on; an equal one if there is one.
    fn frame_from(&mut self, first: usize) -> FrameId {
        let Self { entries, all, known_frames, .. } = self;
        let new = &entries[first..];
        let hash = hash_of_entries(new);
        if let Some(id) = known_frames.find(hash, |id| entries[all[*id].entries()] == *new) {
            let id = *id;
            entries.truncate(first);
            return id;
        }
        let id = all.push(Frame { first, len: new.len() as u32, row: Frame::NO_ROW });
        let hash_of = |id: &FrameId| hash_of_entries(&entries[all[*id].entries()]);
        known_frames.insert_unique(hash, id, hash_of);
        id
    }

    fn entries_of(&self, frame: FrameId) -> &[Entry] {
        &self.entries[self.all[frame].entries()]
    }

    /// The entry of a frame for a need.
    pub(crate) fn get(&self, frame: FrameId, bit: u32) -> Option<FeatId> {
        let entries = self.entries_of(frame);
        entries.iter().find(|(known, _)| *known == bit).map(|(_, feat)| *feat)
    }

    /// All entries of a frame.
    pub(crate) fn feats_of(&self, frame: FrameId) -> impl Iterator<Item = FeatId> + '_ {
        self.entries_of(frame).iter().map(|(_, feat)| *feat)
    }

    pub(crate) fn value(&self, feat: FeatId) -> &Feat {
        &self.feats[feat]
    }

    /// The frame with only the entries that a class needs.
    #[inline]
    pub(crate) fn restrict(&mut self, frame: FrameId, class: NeedClassId, plan: &Plan) -> FrameId {
        if class.index() == 0 || frame == Self::empty() {
            return Self::empty();
        }
        let row = self.all[frame].row;
        let n_remembered = n_remembered(plan);
        if row != Frame::NO_ROW && class.index() < n_remembered {
            let home = self.restricted[row as usize * n_remembered + class.index()];
            if home != Self::nowhere() {
                return home;
            }
        }
        self.restrict_anew(frame, class, plan)
    }

    /// The same, worked out from the entries; remembered if the class is one of the first.
    fn restrict_anew(&mut self, frame: FrameId, class: NeedClassId, plan: &Plan) -> FrameId {
        let needs = plan.need_classes[class];
        let (first, of) = (self.entries.len(), self.all[frame].entries());
        let is_needed = |entry: &Entry| needs.contains(FeatureSet::bit(entry.0));
        let home = if self.entries[of.clone()].iter().all(is_needed) {
            frame
        } else {
            for i in of {
                let entry = self.entries[i];
                if is_needed(&entry) {
                    self.entries.push(entry);
                }
            }
            self.frame_from(first)
        };
        let n_remembered = n_remembered(plan);
        if class.index() < n_remembered {
            let row = &mut self.all[frame].row;
            if *row == Frame::NO_ROW {
                *row = (self.restricted.len() / n_remembered) as u32;
                let n_all = self.restricted.len() + n_remembered;
                self.restricted.resize(n_all, Self::nowhere());
            }
            self.restricted[*row as usize * n_remembered + class.index()] = home;
        }
        home
    }

    /// The positions along an axis as a column over the axis and its parents.
    pub(crate) fn positions(&mut self, axis: AxisId, shapes: &Shapes) -> Column {
        if let Some(column) = self.positions.get(&axis) {
            return column.clone();
        }
        let column: Column = match shapes.extent(axis) {
            Extent::Even(n) => Column::range(0..*n as i32),
            Extent::Ragged { counts, .. } => {
                counts.iter().flat_map(|count| 0..*count as i32).collect()
            }
            Extent::Symbolic { .. } => panic!("positions are read along axes of known extent"),
        };
        self.positions.insert(axis, column.clone());
        column
    }
}

fn hash_of_entries(entries: &[Entry]) -> u64 {
    let mut state = FxHasher::default();
    for (bit, feat) in entries {
        state.write_u64(u64::from(*bit) << 32 | feat.index() as u64);
    }
    state.finish()
}

fn hash_of_feat(feat: &Feat) -> u64 {
    let mut state = FxHasher::default();
    feed(feat, &mut state);
    state.finish()
}

fn same(a: &Feat, b: &Feat) -> bool {
    match (a, b) {
        (Feat::Value(a, a_shape), Feat::Value(b, b_shape)) => {
            a_shape == b_shape
                && match (a, b) {
                    (Data::One(a), Data::One(b)) => a.same(b),
                    (Data::Many(a), Data::Many(b)) => a.same(b),
                    (Data::One(_), Data::Many(_)) | (Data::Many(_), Data::One(_)) => false,
                }
        }
        (Feat::Position(a), Feat::Position(b)) => a == b,
        (Feat::Axis(a), Feat::Axis(b)) => a == b,
        (Feat::Symbolic(a), Feat::Symbolic(b)) => a == b,
        (Feat::Value(..) | Feat::Position(_) | Feat::Axis(_) | Feat::Symbolic(_), _) => false,
    }
}

/// Number of elements of a long column that are hashed.
const FED: usize = 64;

/// Hashes some elements of a column. Columns with equal hashes are compared, which is rare, whereas
/// hashing millions of elements may take longer than computing them.
fn feed_some(column: &Column, state: &mut FxHasher) {
    let n = column.len();
    state.write_usize(n);
    for i in (0..n).step_by(n.div_ceil(FED).max(1)) {
        column.feed_at(i, state);
    }
}

fn feed(feat: &Feat, state: &mut FxHasher) {
    std::mem::discriminant(feat).hash(state);
    match feat {
        Feat::Value(data, shape) => {
            shape.hash(state);
            match data {
                Data::One(value) => value.feed(state),
                Data::Many(column) => feed_some(column, state),
            }
        }
        Feat::Position(axis) => axis.hash(state),
        Feat::Axis(axis) => axis.hash(state),
        Feat::Symbolic(shape) => shape.hash(state),
    }
}
