//! Context features, the needs of nodes for them, and sets of needs as 64 bits.
//!
//! A *need* is `(feature, level, aspect)`. Level 0 is the nearest injector seen from the output,
//! level 1 the next one outside it. The aspect is the feature's value, or the extent of the axis
//! that its injector opened. A graph uses at most 64 different needs, so a set of needs is a `u64`.

use std::fmt;
use std::sync::Arc;

use crate::footprint::Footprint;
use crate::value::types::Type;

/// A quantity of the context that a node can depend on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// Scene time in seconds, `f64`.
    Time,
    /// Wall-clock time in seconds, `f64`; sampled once per request.
    RealTime,
    /// Frame number, `i64`.
    Tick,
    /// The requested view, a [`Footprint`].
    Footprint,
    /// Index of the element, `i32` from 0.
    Index,
    /// Position of the element, `vec3`.
    Position,
    /// Index of a repeat's iteration, `i32` from 0.
    Iteration,
    /// An argument of a closure, by name, with the type declared in the document.
    Vararg(Arc<str>, Type),
    /// A feature defined by the document or the embedding program.
    Custom(Arc<str>, Type),
}

impl Feature {
    /// The features that need no declaration.
    pub const BUILT_IN: [Self; 7] = [
        Self::Time,
        Self::RealTime,
        Self::Tick,
        Self::Footprint,
        Self::Index,
        Self::Position,
        Self::Iteration,
    ];

    /// The built-in feature with this name.
    pub fn built_in(name: &str) -> Option<Self> {
        Self::BUILT_IN.into_iter().find(|feature| feature.name() == name)
    }

    /// Whether it needs no declaration, and its name is not free to choose.
    pub fn is_built_in(&self) -> bool {
        Self::BUILT_IN.contains(self)
    }

    /// The name in documents and messages.
    pub fn name(&self) -> &str {
        match self {
            Self::Time => "time",
            Self::RealTime => "real_time",
            Self::Tick => "tick",
            Self::Footprint => "footprint",
            Self::Index => "index",
            Self::Position => "position",
            Self::Iteration => "iteration",
            Self::Vararg(name, _) | Self::Custom(name, _) => name,
        }
    }

    /// The type of the feature's value.
    pub fn ty(&self) -> Type {
        match self {
            Self::Time | Self::RealTime => Type::F64,
            Self::Tick => Type::I64,
            Self::Index | Self::Iteration => Type::I32,
            Self::Footprint => Type::of::<Footprint>(),
            Self::Position => Type::VEC3,
            Self::Vararg(_, ty) | Self::Custom(_, ty) => *ty,
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which aspect of a feature is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aspect {
    /// The value.
    Value,
    /// The extent of the axis that the feature's injector, or the request, opened.
    Extent,
}

/// A dependency of a node on its context.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Need {
    /// The feature.
    pub feature: Feature,
    /// 0 for the nearest injector, 1 for the next one outside it, and so on.
    pub level: u32,
    /// The value of the feature, or the extent of its axis.
    pub aspect: Aspect,
}

impl Need {
    /// The value of a feature at a level.
    pub fn at(feature: Feature, level: u32) -> Self {
        Self { feature, level, aspect: Aspect::Value }
    }

    /// The extent of the axis of a feature at a level, an `i32`.
    pub fn extent(feature: Feature, level: u32) -> Self {
        Self { feature, level, aspect: Aspect::Extent }
    }

    /// The type of the needed value.
    pub fn ty(&self) -> Type {
        match self.aspect {
            Aspect::Value => self.feature.ty(),
            Aspect::Extent => Type::I32,
        }
    }
}

/// The value of the feature at level 0.
impl From<Feature> for Need {
    fn from(feature: Feature) -> Self {
        Self::at(feature, 0)
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.aspect {
            Aspect::Value => {}
            Aspect::Extent => f.write_str("extent of ")?,
        }
        write!(f, "{}", self.feature)?;
        if self.level > 0 {
            write!(f, " (level {})", self.level)?;
        }
        Ok(())
    }
}

/// A set of needs: bit `i` stands for entry `i` of the graph's [`NeedTable`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeatureSet(pub u64);

impl FeatureSet {
    /// No needs.
    pub const NONE: Self = Self(0);

    /// The set with a single need.
    pub const fn bit(index: u32) -> Self {
        Self(1 << index)
    }
    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The needs in either set.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// The needs in both sets.
    pub const fn intersect(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    /// The needs in this set but not in the other.
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// Whether `other` is a subset of this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// Number of needs.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }
    /// The bits that are set, ascending.
    pub fn bits(self) -> impl Iterator<Item = u32> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                bit
            })
        })
    }
}

/// The error for a graph with more than 64 different needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("the graph uses more than 64 different pairs of feature and level")]
#[diagnostic(
    code(features::too_many),
    help("use fewer custom features, or nest injectors less deeply")
)]
pub struct TooManyNeeds;

/// The needs that occur in a graph, with their bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeedTable {
    needs: Vec<Need>,
}

impl NeedTable {
    /// The bit of a need; a new need gets the next free bit.
    ///
    /// # Errors
    /// If all 64 bits are taken.
    pub fn intern(&mut self, need: &Need) -> Result<u32, TooManyNeeds> {
        if let Some(bit) = self.find(need) {
            return Ok(bit);
        }
        if self.needs.len() == 64 {
            return Err(TooManyNeeds);
        }
        self.needs.push(need.clone());
        Ok(self.needs.len() as u32 - 1)
    }

    /// The bit of a need, if the table has it.
    pub fn find(&self, need: &Need) -> Option<u32> {
        self.needs.iter().position(|known| known == need).map(|bit| bit as u32)
    }

    /// The need of a bit.
    pub fn need(&self, bit: u32) -> &Need {
        &self.needs[bit as usize]
    }

    /// All needs, in order of their bits.
    pub fn iter(&self) -> std::slice::Iter<'_, Need> {
        self.needs.iter()
    }

    /// Number of needs.
    pub fn len(&self) -> usize {
        self.needs.len()
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// The needs of a set, in order of their bits.
    pub fn of(&self, set: FeatureSet) -> impl Iterator<Item = &Need> {
        set.bits().map(|bit| self.need(bit))
    }
}

impl<'a> IntoIterator for &'a NeedTable {
    type Item = &'a Need;
    type IntoIter = std::slice::Iter<'a, Need>;
    fn into_iter(self) -> Self::IntoIter {
        self.needs.iter()
    }
}
