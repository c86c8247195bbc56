//! Evaluators: they run plans and know neither documents nor the node library.

mod buffers;
pub mod chunked;
mod frame;
mod fuse;
mod lanes;
pub mod lazy;
mod shape;
mod spread;
mod stages;
mod store;

pub use chunked::Chunked;
pub use lazy::Lazy;
