//! Arithmetic and elementary functions on numbers and vectors, lane by lane.
//!
//! Sockets are generic: `f32`, `f64` and vectors everywhere, `i32` and `i64` where integers make
//! sense.

mod arithmetic;
mod powers;
mod ranges;
mod safe;
mod special;
mod trigonometry;
mod wave;

use millstream_node::Registry;

pub(crate) use arithmetic::floored_modulo;
pub use arithmetic::safe_divide;

/// Adds the family.
pub fn register(registry: &mut Registry) {
    arithmetic::register(registry);
    ranges::register(registry);
    powers::register(registry);
    trigonometry::register(registry);
    safe::register(registry);
    special::register(registry);
    wave::register(registry);
}
