//! Evaluators: they run plans and know neither documents nor the node library.

pub mod auto;
mod buffers;
pub mod chunked;
mod costs;
mod frame;
mod fuse;
pub mod incremental;
mod kept;
mod lanes;
pub mod lazy;
pub mod list;
pub mod live;
pub mod parallel;
pub mod parts;
mod program;
pub mod repeat;
mod shape;
mod spread;
mod stages;
mod store;
pub mod ticks;
mod trials;
mod watch;

pub use auto::Auto;
pub use chunked::Chunked;
pub use incremental::Incremental;
pub use lazy::Lazy;
pub use list::List;
pub use parallel::Parallel;
pub use parts::Parts;
