//! Evaluators: they run plans and know neither documents nor the node library.

mod buffers;
pub mod chunked;
mod frame;
mod fuse;
pub mod incremental;
mod kept;
mod lanes;
pub mod lazy;
pub mod list;
pub mod live;
mod pages;
mod shape;
mod spread;
mod stages;
mod store;

pub use chunked::Chunked;
pub use incremental::Incremental;
pub use lazy::Lazy;
pub use list::List;
