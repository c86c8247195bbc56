//! Shapes in the plane as signed distances: negative inside, zero on the outline, positive outside.
//!
//! A distance is a field over positions, so shapes can be combined, distorted and repeated like any
//! numbers before `sdf.fill` turns them into a mask.

mod combine;
mod font;
mod nearest;
mod outlines;
mod text;

pub use font::Font;

use millstream_base::{Lane, Type, Vec2};
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry};

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    registry.register(circle());
    registry.register(rectangle());
    registry.register(segment());
    registry.register(regular());
    registry.register(star());
    registry.register(half_plane());
    combine::register(registry);
    outlines::register(registry);
    text::register(registry);
}

/// A node type with a position, of which only x and y matter, and the distance as its output.
fn shape(name: &'static str, summary: &'static str) -> NodeDef {
    NodeDef::new(name, summary)
        .input("position", Type::VEC3, "point of the scene; only x and y matter")
        .output("value", Type::F32, "signed distance, negative inside")
}

/// Adds an input for a point of the plane.
pub(crate) fn point(
    def: NodeDef,
    name: &'static str,
    at: [f32; 2],
    about: &'static str,
) -> NodeDef {
    def.input_or(name, Type::VEC2, Default::Value(Vec2(at).into()), about)
}

fn center(def: NodeDef) -> NodeDef {
    point(def, "center", [0.0; 2], "the center")
}

/// The position relative to the center; these are the first two inputs.
fn from_center<'b>(x: &[Vec<Val<'b>>]) -> [Val<'b>; 2] {
    [x[0][0] - x[1][0], x[0][1] - x[1][1]]
}

fn norm([x, y]: [Val<'_>; 2]) -> Val<'_> {
    (x * x + y * y).sqrt()
}

fn circle() -> NodeDef {
    center(shape("sdf.circle", "The distance from a circle"))
        .input_or("radius", Type::F32, 1.0, "")
        .form(|_, x| vec![vec![norm(from_center(x)) - x[2][0]]])
}

fn rectangle() -> NodeDef {
    let def = shape("sdf.box", "The distance from a rectangle with optionally round corners");
    let def = point(center(def), "size", [2.0; 2], "width and height");
    def.input_or("radius", Type::F32, 0.0, "radius of the corners")
        .details("The radius is limited to half of the shorter side.")
        .form(|_, x| {
            let half = [x[2][0].abs() * 0.5, x[2][1].abs() * 0.5];
            let radius = x[3][0].max(0.0).min(half[0].min(half[1]));
            let [px, py] = from_center(x).map(Val::abs);
            let (dx, dy) = (px - half[0] + radius, py - half[1] + radius);
            let outside = norm([dx.max(0.0), dy.max(0.0)]);
            vec![vec![outside + dx.max(dy).min(0.0) - radius]]
        })
}

fn segment() -> NodeDef {
    let def = shape("sdf.line", "The distance from a line between two points");
    let def = point(point(def, "a", [0.0; 2], "one end"), "b", [1.0, 0.0], "the other end");
    def.input_or("width", Type::F32, 0.0, "width of the line; its ends are round").form(|_, x| {
        let (p, a, b) = (&x[0], &x[1], &x[2]);
        let along = [b[0] - a[0], b[1] - a[1]];
        let from = [p[0] - a[0], p[1] - a[1]];
        let square = along[0] * along[0] + along[1] * along[1];
        let dot = from[0] * along[0] + from[1] * along[1];
        let t = square.eq(0.0).select(0.0, dot / square).clamp(0.0, 1.0);
        let away = norm([from[0] - along[0] * t, from[1] - along[1] * t]);
        vec![vec![away - x[3][0] * 0.5]]
    })
}

fn half_plane() -> NodeDef {
    let def = shape("sdf.half_plane", "The distance from a straight edge");
    let def = point(def, "point", [0.0; 2], "a point on the edge");
    def.input_or("angle", Type::F32, 0.0, "direction out of the half plane, in radians").form(
        |_, x| {
            let [px, py] = from_center(x);
            let angle = x[2][0];
            vec![vec![px * angle.cos() + py * angle.sin()]]
        },
    )
}

/// The position rotated into the sector around direction 0, out of this many sectors: its distances
/// along and across that direction.
fn in_sector<'b>([x, y]: [Val<'b>; 2], n: Val<'b>, rotation: Val<'b>) -> ([Val<'b>; 2], Val<'b>) {
    let sector = x.like(std::f64::consts::TAU) / n;
    let angle = y.atan2(x) - rotation;
    let within = angle - (angle / sector + 0.5).floor() * sector;
    let away = norm([x, y]);
    ([away * within.cos(), (away * within.sin()).abs()], sector * 0.5)
}

fn regular() -> NodeDef {
    center(shape("sdf.regular", "The distance from a regular polygon"))
        .details("Fewer than 3 sides count as 3.")
        .input_or("radius", Type::F32, 1.0, "distance of the corners from the center")
        .input_or("sides", Type::I32, 6.0, "number of sides")
        .input_or("rotation", Type::F32, 0.0, "angle of a corner in radians")
        .form(|_, x| {
            let n = x[3][0].max(3).convert(Lane::F32);
            let half = x[2][0].like(std::f64::consts::PI) / n;
            // A side is centered in each sector, so a corner is half a sector away.
            let ([along, across], _) = in_sector(from_center(x), n, x[4][0] + half);
            let (side, reach) = (x[2][0] * half.cos(), x[2][0] * half.sin());
            let out = norm([along - side, (across - reach).max(0.0)]);
            vec![vec![across.gt(reach).select(out, along - side)]]
        })
}

fn star() -> NodeDef {
    center(shape("sdf.star", "The distance from a star"))
        .details("Fewer than 2 points count as 2. The distance is that of the nearest edge.")
        .input_or("radius", Type::F32, 1.0, "distance of the points from the center")
        .input_or("inner_radius", Type::F32, 0.5, "distance of the corners between the points")
        .input_or("points", Type::I32, 5.0, "number of points")
        .input_or("rotation", Type::F32, 0.0, "angle of a point in radians")
        .form(|_, x| {
            let n = x[4][0].max(2).convert(Lane::F32);
            let ([along, across], half) = in_sector(from_center(x), n, x[5][0]);
            let (outer, inner) = (x[2][0], x[3][0]);
            // The edge goes from the point of the star to the corner at half a sector.
            let corner = [inner * half.cos(), inner * half.sin()];
            let edge = [corner[0] - outer, corner[1]];
            let from = [along - outer, across];
            let square = edge[0] * edge[0] + edge[1] * edge[1];
            let t = ((from[0] * edge[0] + from[1] * edge[1]) / square).clamp(0.0, 1.0);
            let away = norm([from[0] - edge[0] * t, from[1] - edge[1] * t]);
            let side = from[0] * edge[1] - from[1] * edge[0];
            vec![vec![side.gt(0.0).select(away, -away)]]
        })
}
