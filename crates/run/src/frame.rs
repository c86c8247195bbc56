//! Frames: contexts restricted to the needs of a step.
//!
//! A frame holds, for each need of a class, the value of the feature or the axis whose extent is
//! needed. Values are interned by their bits, frames by their values; so two calls with equal
//! restricted contexts share a frame, and a node evaluated in it once is evaluated for both.

use std::hash::{Hash, Hasher};

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

type Entries = SmallVec<[(u32, FeatId); 4]>;

/// The frames of one evaluation.
#[derive(Debug)]
pub(crate) struct Frames {
    feats: Arena<FeatId, Feat>,
    /// The ids of all values, with their hashes.
    known_feats: HashTable<(u64, FeatId)>,
    all: Arena<FrameId, Entries>,
    /// The ids of all frames, by the hashes of their entries.
    known_frames: HashTable<FrameId>,
    restricted: FxHashMap<(FrameId, NeedClassId), FrameId>,
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
            known_frames: HashTable::new(),
            restricted: FxHashMap::default(),
            positions: FxHashMap::default(),
            known: FxHashMap::default(),
        };
        frames.frame(Entries::new());
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
    pub(crate) fn frame(&mut self, entries: Entries) -> FrameId {
        let hash = hash_of_entries(&entries);
        if let Some(id) = self.known_frames.find(hash, |id| self.all[*id] == entries) {
            return *id;
        }
        let id = self.all.push(entries);
        self.known_frames.insert_unique(hash, id, |id| hash_of_entries(&self.all[*id]));
        id
    }

    /// The entry of a frame for a need.
    pub(crate) fn get(&self, frame: FrameId, bit: u32) -> Option<FeatId> {
        let entries = &self.all[frame];
        entries.iter().find(|(known, _)| *known == bit).map(|(_, feat)| *feat)
    }

    /// All entries of a frame.
    pub(crate) fn feats_of(&self, frame: FrameId) -> impl Iterator<Item = FeatId> + '_ {
        self.all[frame].iter().map(|(_, feat)| *feat)
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
        if let Some(home) = self.restricted.get(&(frame, class)) {
            return *home;
        }
        let needs = plan.need_classes[class];
        let all = &self.all[frame];
        let is_needed = |entry: &&(u32, FeatId)| needs.contains(FeatureSet::bit(entry.0));
        let home = if all.iter().all(|entry| is_needed(&entry)) {
            frame
        } else {
            let entries = all.iter().filter(is_needed).copied().collect();
            self.frame(entries)
        };
        self.restricted.insert((frame, class), home);
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

fn hash_of_entries(entries: &Entries) -> u64 {
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
