//! Evaluators: they run plans and know neither documents nor the node library.

mod buffers;
mod frame;
mod lanes;
pub mod lazy;
mod shape;
mod store;

pub use lazy::Lazy;
