//! The data that flows along links (run-time types, values, columns and masks), and what the other
//! crates share: typed ids, context features, paths, diagnostics, limits and elementary functions.
//!
//! This crate knows nothing of nodes, graphs or documents.

pub mod ahead;
pub mod budget;
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
pub mod ramp;
pub mod same;
pub mod value;
pub mod vector;
pub mod virtual_array;
pub mod width;

pub use ahead::{AHEAD, read_ahead};
pub use budget::{Budget, Ended};
pub use feature::{Feature, FeatureSet, Need, NeedTable};
pub use footprint::Footprint;
pub use lane::Lane;
pub use limits::{Limit, Limits};
pub use mask::Mask;
pub use panic::catch_panic;
pub use path::{NodePath, Place, Span, UsedFile};
pub use value::column::Column;
pub use value::image::Image;
pub use value::table::Table;
pub use value::types::{Type, ValueType};
pub use value::{Value, column, derived, image, ragged, table, types};
pub use vector::{Color, Mat4, Quat, Vec2, Vec3, Vec4};
