//! The node library of the command line: Millstream's own node types and those of the features.

use millstream::{Engine, Limits};

/// An engine with the whole library.
pub(crate) fn engine(limits: Limits) -> Engine {
    let engine = Engine::new().with_limits(limits);
    #[cfg(feature = "blender")]
    let engine = engine.with_library(millstream_blender::register);
    engine
}
