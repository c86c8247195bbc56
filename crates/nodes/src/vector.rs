//! Vectors, rotations and matrices, all by kernel form.
//!
//! Component-wise operations (sums, minima, rounding) are in the math family, which takes vectors
//! as well.

mod algebra;
#[cfg(test)]
mod algebra_tests;
mod componentwise;
mod coordinates;
mod direction;
mod geometry;
#[cfg(test)]
mod geometry_tests;
#[cfg(test)]
mod length_tests;
pub(crate) mod mat4;
mod mat4_algebra;
mod mat4_linear;
mod mat4_parts;
mod parts;
pub(crate) mod quat;
mod rotation;
#[cfg(test)]
mod rotation_tests;
mod squad;
mod svd;
#[cfg(test)]
mod tests;

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Among, Default, NodeDef, Registry, SocketType};

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    algebra::register(registry);
    componentwise::register(registry);
    coordinates::register(registry);
    direction::register(registry);
    geometry::register(registry);
    mat4::register(registry);
    mat4_algebra::register(registry);
    mat4_parts::register(registry);
    mat4_linear::register(registry);
    svd::register(registry);
    parts::register(registry);
    quat::register(registry);
    rotation::register(registry);
    squad::register(registry);
}

/// Vectors with two to four components.
const VECTORS: Among = Among::These(&[Type::VEC2, Type::VEC3, Type::VEC4]);

/// The generic of a node that takes vectors with two to four components.
const T: SocketType = SocketType::Generic(0);

/// A node on vectors, whose inputs have the same type and are zero by default.
fn on_vectors(
    name: &'static str,
    summary: &'static str,
    inputs: &[(&'static str, &'static str)],
) -> NodeDef {
    let def = NodeDef::new(name, summary).generic("T", VECTORS);
    inputs.iter().fold(def, |def, (name, about)| def.input_or(*name, T, Default::Zero, *about))
}

/// The sum of the products of components, added from first to last.
pub fn dot<'b>(a: &[Val<'b>], b: &[Val<'b>]) -> Val<'b> {
    let products = a.iter().zip(b).map(|(a, b)| *a * *b);
    products.reduce(|sum, product| sum + product).expect("vectors have components")
}

/// The cross product of two vectors with three components.
pub fn cross<'b>(a: &[Val<'b>], b: &[Val<'b>]) -> [Val<'b>; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The Euclidean length.
pub fn length<'b>(a: &[Val<'b>]) -> Val<'b> {
    dot(a, a).sqrt()
}

/// Every component times a number.
fn scaled<'b>(a: &[Val<'b>], by: Val<'b>) -> Vec<Val<'b>> {
    a.iter().map(|a| *a * by).collect()
}

/// Applies `f` component by component.
fn each<'b>(a: &[Val<'b>], b: &[Val<'b>], f: impl Fn(Val<'b>, Val<'b>) -> Val<'b>) -> Vec<Val<'b>> {
    a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()
}

/// The vector of length 1 in the same direction; zeros for a vector of length 0.
fn normalized<'b>(a: &[Val<'b>]) -> Vec<Val<'b>> {
    let length = length(a);
    let none = length.eq(0.0);
    a.iter().map(|a| none.select(0.0, *a / length)).collect()
}

/// Larger components overflow when they are squared and added.
const HUGE: f64 = (1_u64 << 62) as f64;
/// The squares of smaller components lose bits.
const TINY: f64 = 1.0 / (1_u64 << 60) as f64;
/// The factor that makes huge components moderate.
const DOWN: f64 = 1.0 / (1_u128 << 70) as f64;
/// The factor that makes tiny components moderate.
const UP: f64 = (1_u128 << 100) as f64;

/// A vector whose components can be squared and added, and the power of two by which it was
/// multiplied: 1, without changing a bit, unless the greatest component is huge or tiny.
pub(crate) fn moderate<'b>(a: &[Val<'b>]) -> (Vec<Val<'b>>, Val<'b>) {
    let greatest = a.iter().map(|a| a.abs()).reduce(Val::max).expect("vectors have components");
    let factor = greatest.lt(TINY).select(greatest.like(UP), 1.0);
    let factor = greatest.gt(HUGE).select(DOWN, factor);
    (scaled(a, factor), factor)
}

/// The direction of a vector of any length.
pub(crate) struct Direction<'b> {
    /// The vector of length 1; zeros for a vector of length 0.
    pub(crate) unit: Vec<Val<'b>>,
    /// Whether the vector has length 0.
    pub(crate) is_none: Val<'b>,
}

impl<'b> Direction<'b> {
    pub(crate) fn of(a: &[Val<'b>]) -> Self {
        let (a, _) = moderate(a);
        Self { unit: normalized(&a), is_none: length(&a).eq(0.0) }
    }
}
