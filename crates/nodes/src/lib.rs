//! The node library: one module per family, all gathered in one [`Registry`].
//!
//! A node is a [`NodeDef`](millstream_kernel::NodeDef) with its manual entry beside it. Numeric
//! element-wise nodes are defined by a kernel form and nothing else; the others are functions over
//! columns. The crate knows neither compiler nor evaluators.

mod shape;

pub mod math;

use millstream_kernel::Registry;

/// A registry of all node types of the library.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    math::register(&mut registry);
    registry
}
