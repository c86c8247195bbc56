//! Values: types, single values, columns and tables, and values as JSON.
//!
//! A [`Type`] is a handle that compares by identity; [`value_type!`](crate::value_type) makes one
//! of a Rust type. A [`Value`] is one value of any type. A [`Column`] holds many values of one type
//! and a [`Table`] columns of one length. Copies of columns and tables share memory. Documents
//! write values as JSON literals, which [`from_json`] reads and [`to_json`] writes.
//!
//! [`Same`] compares bits, as the engine does when it decides whether a value has changed: NaN is
//! the same as NaN, and 0 is not the same as -0.
//!
//! ```
//! use millstream::values::{Column, Same, Type, Value, from_json, to_json};
//!
//! let value = from_json(Type::VEC3, &serde_json::json!([1, 2, 3]))?;
//! assert_eq!((value.ty(), to_json(&value)), (Type::VEC3, serde_json::json!([1.0, 2.0, 3.0])));
//!
//! let column = Column::from(vec![1.0_f32, f32::NAN]);
//! assert!(column.same(&column.clone()));
//! assert_eq!(column.as_slice::<f32>().map(|numbers| numbers[0]), Some(1.0));
//! assert!(Value::F32(f32::NAN).same(&Value::F32(f32::NAN)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use millstream_base::literal::{LiteralError, from_json, to_json, to_plain_json};
pub use millstream_base::same::Same;
pub use millstream_base::types::Kind;
pub use millstream_base::{
    Color, Column, Footprint, Image, Lane, Mask, Mat4, Quat, Table, Type, Value, ValueType, Vec2,
    Vec3, Vec4,
};
pub use millstream_nodes::sdf::Font;
