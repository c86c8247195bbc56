//! Shapes given by lists of points: polygons, polylines and curves.

use std::sync::Arc;

use millstream_base::{Type, Vec2, Vec3};
use millstream_node::{Call, Data, Failure, NodeDef, Registry};

use super::shape;
use crate::cells::{Cells, function};
use crate::shape::{choices, list_of};

pub(super) fn register(registry: &mut Registry) {
    registry.register(polygon());
    registry.register(curve());
}

choices! {
    /// The shape of a curve through points.
    enum Course {
        Lines = "lines": "straight from point to point",
        Smooth = "smooth": "a smooth curve through all points (Catmull-Rom)",
        Bezier = "bezier": "cubic Bezier pieces: a point, two handles, a point, two handles, ...",
    }
}

/// Line segments per piece of a curve.
const PIECES: usize = 24;

impl Course {
    /// The corners of the polyline that approximates the curve.
    fn corners(self, points: &[Vec2]) -> Vec<[f64; 2]> {
        let at = |i: usize| points[i].0.map(f64::from);
        let n = points.len();
        let mut corners: Vec<[f64; 2]> = Vec::new();
        let mut cubic = |p: [[f64; 2]; 4]| {
            for i in 0..PIECES {
                let t = i as f64 / PIECES as f64;
                let s = 1.0 - t;
                let weights = [s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t];
                let sum = |k: usize| (0..4).map(|j| weights[j] * p[j][k]).sum();
                corners.push([sum(0), sum(1)]);
            }
        };
        match self {
            Self::Lines => return (0..n).map(at).collect(),
            Self::Smooth => {
                for i in 0..n.saturating_sub(1) {
                    let [a, b] = [at(i), at(i + 1)];
                    let (before, after) = (at(i.saturating_sub(1)), at((i + 2).min(n - 1)));
                    let toward = |k: usize| a[k] + (b[k] - before[k]) / 6.0;
                    let from = |k: usize| b[k] - (after[k] - a[k]) / 6.0;
                    cubic([a, [toward(0), toward(1)], [from(0), from(1)], b]);
                }
            }
            Self::Bezier => {
                for i in (0..n.saturating_sub(3)).step_by(3) {
                    cubic([at(i), at(i + 1), at(i + 2), at(i + 3)]);
                }
            }
        }
        let last = match self {
            Self::Bezier => n.saturating_sub(1) / 3 * 3,
            Self::Lines | Self::Smooth => n.saturating_sub(1),
        };
        corners.extend((n > 0).then(|| at(last)));
        corners
    }
}

/// The squared distance from a segment between two corners.
fn square_from([px, py]: [f64; 2], a: [f64; 2], b: [f64; 2]) -> f64 {
    let (dx, dy, fx, fy) = (b[0] - a[0], b[1] - a[1], px - a[0], py - a[1]);
    let square = dx * dx + dy * dy;
    let t = if square > 0.0 { ((fx * dx + fy * dy) / square).clamp(0.0, 1.0) } else { 0.0 };
    let (x, y) = (fx - dx * t, fy - dy * t);
    x * x + y * y
}

/// The distance from a closed outline, negative where it winds around the point an odd number of
/// times.
fn from_outline(point: [f64; 2], corners: &[[f64; 2]]) -> f64 {
    let mut least = f64::INFINITY;
    let mut is_inside = false;
    let mut a = corners.last().copied().unwrap_or_default();
    for b in corners {
        least = least.min(square_from(point, a, *b));
        if (a[1] > point[1]) != (b[1] > point[1]) {
            let x = a[0] + (point[1] - a[1]) / (b[1] - a[1]) * (b[0] - a[0]);
            is_inside ^= point[0] < x;
        }
        a = *b;
    }
    if is_inside { -least.sqrt() } else { least.sqrt() }
}

/// The distance from an open line.
fn from_line(point: [f64; 2], corners: &[[f64; 2]]) -> f64 {
    let squares = match corners {
        [single] => square_from(point, *single, *single),
        _ => corners
            .windows(2)
            .map(|piece| square_from(point, piece[0], piece[1]))
            .fold(f64::INFINITY, f64::min),
    };
    squares.sqrt()
}

fn polygon() -> NodeDef {
    shape("sdf.polygon", "The distance from a polygon")
        .details(
            "The corners are listed in order, in either direction; the last one is joined to the \
             first. Where the outline crosses itself, regions that it winds around twice are \
             outside. Without corners, everything is infinitely far outside.",
        )
        .input("points", list_of(Type::VEC2), "the corners")
        .kernel(|_| Ok(function(|call| fill(call, Course::Lines, from_outline))))
}

fn curve() -> NodeDef {
    shape("sdf.curve", "The distance from a curve through points")
        .details(
            "Each curved piece is approximated by 24 straight ones. A Bezier curve of n pieces has \
             3 n + 1 points; surplus points are ignored.",
        )
        .choice("course", Course::ALL, "smooth", "shape of the curve")
        .input("points", list_of(Type::VEC2), "the points in order")
        .input_or("width", Type::F32, 0.0, "width of the line; its ends are round")
        .kernel(|parts| {
            let course = Course::named(parts.settings.text("course"));
            Ok(function(move |call| fill(call, course, from_line)))
        })
}

/// Sets the output to the distance of each position from its points, less half of the width if
/// there is one.
fn fill(
    call: &mut Call<'_>,
    course: Course,
    distance: impl Fn([f64; 2], &[[f64; 2]]) -> f64,
) -> Result<(), Failure> {
    let mut cells = Cells::<f32>::new(call);
    let (positions, lists) = (call.input::<Vec3>(0), call.lists(1));
    let corners = |i: usize| -> Arc<[[f64; 2]]> {
        course.corners(lists.slice::<Vec2>(i).unwrap_or_default()).into()
    };
    let shared = match call.argument(1).data() {
        Data::One(_) => Some(corners(0)),
        Data::Many(_) => None,
    };
    let widths = (call.n_inputs() > 2).then(|| call.input::<f32>(2));
    let mut pace = call.pace();
    cells.fill(call, |i| {
        let corners = shared.as_ref().map_or_else(|| corners(i), Arc::clone);
        pace.work(4 * corners.len())?;
        let Vec3([x, y, _]) = positions.get(i);
        let away = distance([x.into(), y.into()], &corners) as f32;
        Ok(widths.as_ref().map_or(away, |widths| away - widths.get(i) * 0.5))
    })?;
    cells.put(call);
    Ok(())
}
