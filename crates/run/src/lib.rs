//! Evaluators: they run plans and know neither documents nor the node library.

mod blocks;
mod buffers;
pub mod choose;
pub mod chunked;
mod costs;
mod differing;
mod frame;
mod fuse;
pub mod incremental;
mod kernel;
mod lanes;
mod laps;
pub mod lazy;
pub mod list;
pub mod live;
mod one_op;
pub mod partial;
pub mod parts;
mod program;
pub mod repeat;
mod shape;
mod shares;
mod spread;
mod stages;
mod store;
pub mod ticks;
mod trials;
mod uses;
mod walk;

pub use choose::{AnyEvaluator, Auto, EVALUATORS, EvaluatorRow};
pub use chunked::Chunked;
pub use incremental::Incremental;
pub use lazy::Lazy;
pub use list::List;
pub use parts::{Parts, Varying, varying_steps};
