//! Segments of smooth curves, defined by four points or by two points and their slopes.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Among, NodeDef, Registry};

use crate::shape::T;

pub(super) fn register(registry: &mut Registry) {
    registry.register(piece(
        "curve.bezier",
        "A point on a cubic Bezier segment",
        "The segment starts at `a` toward `b` and arrives at `d` from `c`; it stays within the \
         convex hull of the four points. The error is at most 3e-6 times the sum of the magnitudes \
         of the four, for t from 0 to 1.",
        "P. Bézier; the polynomials of S. Bernstein, 1912",
        [
            ("a", "start point"),
            ("b", "handle of the start"),
            ("c", "handle of the end"),
            ("d", "end point"),
        ],
        [
            [1.0, -3.0, 3.0, -1.0],
            [0.0, 3.0, -6.0, 3.0],
            [0.0, 0.0, 3.0, -3.0],
            [0.0, 0.0, 0.0, 1.0],
        ],
    ));
    registry.register(piece(
        "curve.hermite",
        "A point on a cubic Hermite segment",
        "Segments that have the same slope where they meet join without a corner. The error is at \
         most 3e-6 times the sum of the magnitudes of the four, for t from 0 to 1.",
        "the cubic polynomials of C. Hermite",
        [
            ("a", "start point"),
            ("a_slope", "slope at the start, per unit of t"),
            ("b", "end point"),
            ("b_slope", "slope at the end, per unit of t"),
        ],
        [
            [1.0, 0.0, -3.0, 2.0],
            [0.0, 1.0, -2.0, 1.0],
            [0.0, 0.0, 3.0, -2.0],
            [0.0, 0.0, -1.0, 1.0],
        ],
    ));
    registry.register(piece(
        "curve.catmull_rom",
        "A point on a Catmull-Rom segment, which passes through its points",
        "The segment goes from `b` to `c`; its slopes there are half of c - a and half of d - b. \
         The next segment uses the next four points. The error is at most 3e-6 times the sum of \
         the magnitudes of the four, for t from 0 to 1.",
        "E. Catmull, R. Rom, A class of local interpolating splines, 1974",
        [
            ("a", "point before the start"),
            ("b", "start point"),
            ("c", "end point"),
            ("d", "point after the end"),
        ],
        [
            [0.0, -0.5, 1.0, -0.5],
            [1.0, 0.0, -2.5, 1.5],
            [0.0, 0.5, 2.0, -1.5],
            [0.0, 0.0, -0.5, 0.5],
        ],
    ));
    registry.register(piece(
        "curve.b_spline",
        "A point on a cubic B-spline segment, which passes near its points",
        "Smoother than `curve.catmull_rom`, with two continuous derivatives, but the curve does \
         not pass through the points. The next segment uses the next four points. The error is at \
         most 3e-6 times the sum of the magnitudes of the four, for t from 0 to 1.",
        "I. Schoenberg, 1946",
        [("a", "first point"), ("b", "second point"), ("c", "third point"), ("d", "fourth point")],
        [
            [1.0 / 6.0, -0.5, 0.5, -1.0 / 6.0],
            [4.0 / 6.0, 0.0, -1.0, 0.5],
            [1.0 / 6.0, 0.5, 0.5, -0.5],
            [0.0, 0.0, 0.0, 1.0 / 6.0],
        ],
    ));
}

/// Types of points.
const POINTS: Among = Among::These(&[Type::F32, Type::F64, Type::VEC2, Type::VEC3, Type::VEC4]);

/// The coefficients of 1, t, t^2 and t^3, for each of the four inputs.
type Basis = [[f64; 4]; 4];

/// The sum of the inputs, each multiplied by a polynomial in t.
fn weighted<'b>(inputs: &[Vec<Val<'b>>], weights: &[Val<'b>; 4]) -> Vec<Val<'b>> {
    let lane = |i: usize| {
        let terms = inputs.iter().zip(weights).map(|(point, weight)| point[i] * *weight);
        terms.reduce(|sum, term| sum + term).expect("there are four points")
    };
    (0..inputs[0].len()).map(lane).collect()
}

fn piece(
    name: &'static str,
    summary: &'static str,
    details: &'static str,
    source: &'static str,
    points: [(&'static str, &'static str); 4],
    basis: Basis,
) -> NodeDef {
    let def = NodeDef::new(name, summary).details(details).source(source).generic("T", POINTS);
    points
        .into_iter()
        .fold(def, |def, (name, about)| def.input_or(name, T, 0.0, about))
        .input_or(
            "t",
            Type::F32,
            0.5,
            "parameter: 0 at the start, 1 at the end; extrapolates beyond them",
        )
        .output("point", T, "")
        .output("slope", T, "derivative with respect to t")
        .form(move |_, inputs| {
            let t = inputs[4][0].convert(inputs[0][0].lane());
            let value = |c: [f64; 4]| ((t * c[3] + c[2]) * t + c[1]) * t + c[0];
            let slope = |c: [f64; 4]| (t * (3.0 * c[3]) + 2.0 * c[2]) * t + c[1];
            vec![
                weighted(&inputs[..4], &basis.map(value)),
                weighted(&inputs[..4], &basis.map(slope)),
            ]
        })
}
