//! Building blocks of this library for other node libraries: kernels from forms and from functions
//! over columns, and the arithmetic that several nodes share.

pub use crate::cells::{Cells, function};
pub use crate::integer::{gcd, power as wrapping_power};
pub use crate::math::safe_divide;
pub use crate::mix::with_way;
pub use crate::shape::{form_by_settings, lanewise_by_settings, sockets_of};
pub use crate::string::with_text;
pub use crate::vector::mat4::affine;
pub use crate::vector::quat::product as quat_product;
pub use crate::vector::{cross, dot, length};
