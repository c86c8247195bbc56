//! What every other crate stands on: typed ids, run-time types, values, columns, masks, context
//! features and diagnostics.
//!
//! The crate knows nothing of nodes, graphs or documents. It holds the data that flows along links
//! and the words in which the rest of the engine speaks about it.

pub mod budget;
pub mod column;
pub mod diagnostics;
pub mod feature;
pub mod footprint;
pub mod id;
pub mod lane;
pub mod limits;
pub mod literal;
pub mod map;
pub mod mask;
pub mod num;
pub mod order_search;
pub mod pages;
mod panic;
pub mod path;
pub mod ragged;
pub mod same;
pub mod table;
pub mod types;
pub mod value;
pub mod vector;
pub mod virtual_array;

pub use budget::{Budget, Ended};
pub use column::Column;
pub use feature::{Feature, FeatureSet, Need, NeedTable};
pub use footprint::Footprint;
pub use lane::Lane;
pub use limits::{Limit, Limits};
pub use mask::Mask;
pub use panic::unwound;
pub use path::{NodePath, Place, Span};
pub use table::Table;
pub use types::{Type, ValueType};
pub use value::Value;
pub use vector::{Color, Mat4, Quat, Vec2, Vec3, Vec4};
