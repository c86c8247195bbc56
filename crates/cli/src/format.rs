//! The format of results: for people or for programs.

use clap::ValueEnum;

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs: numbers read back to the same bits
    Json,
}

impl Format {
    /// Whether results are for programs.
    pub(crate) fn is_json(self) -> bool {
        self == Self::Json
    }
}
