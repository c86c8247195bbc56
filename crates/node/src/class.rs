//! Determinism classes: how often the result of a node can change.

use std::fmt;

use millstream_base::Feature;

/// What a node's result depends on. A combination has the later of its classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Nothing but the inputs.
    #[default]
    Static,
    /// A value that the user sets.
    UserInput,
    /// A context feature such as time.
    Contextual,
    /// State from earlier ticks.
    Stateful,
    /// A clock or a device, sampled once per request.
    Volatile,
}

impl Class {
    /// The class of a node that reads a feature.
    pub const fn of_reading(feature: &Feature) -> Self {
        match feature {
            Feature::RealTime => Self::Volatile,
            Feature::Time
            | Feature::Tick
            | Feature::Footprint
            | Feature::Index
            | Feature::Position
            | Feature::Iteration
            | Feature::Vararg(..)
            | Feature::Custom(..) => Self::Contextual,
        }
    }

    /// The name in `explain`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::UserInput => "user-input",
            Self::Contextual => "contextual",
            Self::Stateful => "stateful",
            Self::Volatile => "volatile",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
