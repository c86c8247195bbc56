//! Determinism classes: how often the result of a node can change.

use std::fmt;

/// How a node's result depends on the world. Later ones win when they meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The same inputs give the same outputs, always.
    #[default]
    Static,
    /// Changes when somebody sets a value.
    UserInput,
    /// Reads a context feature such as time.
    Contextual,
    /// Keeps something from one tick to the next.
    Stateful,
    /// Reads a clock or a device; sampled once per request.
    Volatile,
}

impl Class {
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
