//! The node types: operations that Blender's function nodes define differently from Millstream's.
//!
//! Imported documents use Millstream's own nodes wherever those compute the same. Each node here
//! repeats the steps of Blender's formula in single precision, so that results agree to rounding.
//! Where Blender relies on undefined behavior of C++, the nodes do what x86-64 processors do.

mod align;
mod blackbody;
mod color;
mod compare;
mod curve;
mod hash;
mod integer;
mod matrix;
mod mix;
mod numbers;
mod ramp;
mod range;
mod rotation;
mod text;
mod texture;
mod turn;
mod value;

#[cfg(test)]
mod testing;

use millstream_base::{Lane, Type};
use millstream_form::{Operand, Val};
use millstream_node::{Among, Registry, SocketType};
use millstream_nodes::kit::dot;

/// Adds the node types to a registry.
pub fn register(registry: &mut Registry) {
    value::register(registry);
    numbers::register(registry);
    integer::register(registry);
    compare::register(registry);
    range::register(registry);
    mix::register(registry);
    color::register(registry);
    ramp::register(registry);
    blackbody::register(registry);
    curve::register(registry);
    rotation::register(registry);
    align::register(registry);
    turn::register(registry);
    matrix::register(registry);
    hash::register(registry);
    text::register(registry);
    texture::register(registry);
}

/// The generic of a node that has one.
const T: SocketType = SocketType::Generic(0);

/// A number or a vector, computed component by component.
const NUMBER_OR_VECTOR: Among = Among::These(&[Type::F32, Type::VEC3]);

/// The lesser of two numbers, or the first if one is NaN, like C++'s `min`.
fn least<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    b.lt(a).select(b, a)
}

/// The greater of two numbers, or the first if one is NaN, like C++'s `max`.
fn greatest<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    a.lt(b).select(b, a)
}

/// A number clamped to two bounds; unlike [`Val::clamp`] it passes NaN on, like C++'s `clamp`.
fn held<'b>(x: Val<'b>, low: impl Operand<'b>, high: impl Operand<'b>) -> Val<'b> {
    x.lt(low).select(low, x.gt(high).select(high, x))
}

/// Blender's gray value of a color.
fn luminance<'b>(color: &[Val<'b>]) -> Val<'b> {
    color[0] * 0.2126 + color[1] * 0.7152 + color[2] * 0.0722
}

/// The largest squared length of a vector that counts as zero.
const SHORTEST_SQUARED: f32 = 1e-35;

/// The direction of a vector; zero if its squared length is at most 1e-35.
fn normalized<'b>(v: &[Val<'b>]) -> Vec<Val<'b>> {
    let squared = dot(v, v);
    let (long, length) = (squared.gt(SHORTEST_SQUARED), squared.sqrt());
    v.iter().map(|x| long.select(*x / length, 0.0)).collect()
}

/// Like [`normalized`], but multiplies by the reciprocal of the length, which rounds differently.
fn normalized_by_reciprocal<'b>(v: &[Val<'b>]) -> Vec<Val<'b>> {
    let squared = dot(v, v);
    let (long, scale) = (squared.gt(SHORTEST_SQUARED), 1.0 / squared.sqrt());
    v.iter().map(|x| long.select(*x * scale, 0.0)).collect()
}

/// The cross product, computed in double precision and rounded once.
fn cross_in_double<'b>(a: &[Val<'b>], b: &[Val<'b>]) -> Vec<Val<'b>> {
    let wide = |v: &[Val<'b>]| v.iter().map(|x| x.convert(Lane::F64)).collect::<Vec<_>>();
    let (a, b) = (wide(a), wide(b));
    let part = |i: usize, k: usize| (a[i] * b[k] - a[k] * b[i]).convert(Lane::F32);
    vec![part(1, 2), part(2, 0), part(0, 1)]
}

/// Whether all components are zero.
fn is_zero<'b>(v: &[Val<'b>]) -> Val<'b> {
    v.iter().map(|x| x.eq(0.0)).reduce(|a, b| a & b).expect("vectors have components")
}

/// The angle between two vectors of length 1, computed from the chord.
fn angle_of_directions<'b>(a: &[Val<'b>], b: &[Val<'b>]) -> Val<'b> {
    let pi = std::f64::consts::PI;
    let half = |chord: Vec<Val<'b>>| held(dot(&chord, &chord).sqrt() / 2.0, -1.0, 1.0).asin() * 2.0;
    let near = half(a.iter().zip(b).map(|(a, b)| *a - *b).collect());
    let far = half(a.iter().zip(b).map(|(a, b)| *a + *b).collect());
    dot(a, b).ge(0.0).select(near, pi - far)
}

/// The angle between two vectors, see [`angle_of_directions`].
fn angle<'b>(a: &[Val<'b>], b: &[Val<'b>]) -> Val<'b> {
    angle_of_directions(&normalized_by_reciprocal(a), &normalized_by_reciprocal(b))
}

/// A float cast to `i32` as by processors: truncated, or the least integer if it does not fit.
fn cast_to_i32(x: Val<'_>) -> Val<'_> {
    let fits = x.ge(-2_147_483_648.0) & x.lt(2_147_483_648.0);
    let least = x.builder().constant_i32(i32::MIN);
    fits.select(x.convert(Lane::I32), least)
}
