//! Pieces of smooth curves, by four points or by two and their slopes.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Among, NodeDef, Registry};

use crate::shape::T;

pub(super) fn register(registry: &mut Registry) {
    registry.register(piece(
        "curve.bezier",
        "A point of a curve between two points, with handles",
        "Starts at `a` towards `b` and arrives at `d` from `c`; it stays within the four. Cut into two by the same \
         points it is the construction of de Casteljau. Off by at most 3e-6 of \
         the sum of the sizes of the four, for t from 0 to 1.",
        "P. Bézier; the polynomials of S. Bernstein, 1912",
        [
            ("a", "where it starts"),
            ("b", "the handle of the start"),
            ("c", "the handle of the end"),
            ("d", "where it ends"),
        ],
        [[1.0, -3.0, 3.0, -1.0], [0.0, 3.0, -6.0, 3.0], [0.0, 0.0, 3.0, -3.0], [0.0, 0.0, 0.0, 1.0]],
    ));
    registry.register(piece(
        "curve.hermite",
        "A point of a curve between two points, with slopes",
        "Pieces with the same slope where they meet go on without a corner. Off by at most 3e-6 of \
         the sum of the sizes of the four, for t from 0 to 1.",
        "the cubic polynomials of C. Hermite",
        [
            ("a", "where it starts"),
            ("a_slope", "how fast it goes there, per unit of t"),
            ("b", "where it ends"),
            ("b_slope", "how fast it goes there"),
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
        "A point of a curve through points, by four of them",
        "Goes from `b` to `c`, with the slopes of the lines from `a` to `c` and from `b` to `d`, halved. The next \
         piece takes the next four points. Off by at most 3e-6 of \
         the sum of the sizes of the four, for t from 0 to 1.",
        "E. Catmull, R. Rom, A class of local interpolating splines, 1974",
        [
            ("a", "the point before"),
            ("b", "where it starts"),
            ("c", "where it ends"),
            ("d", "the point behind"),
        ],
        [[0.0, -0.5, 1.0, -0.5], [1.0, 0.0, -2.5, 1.5], [0.0, 0.5, 2.0, -1.5], [0.0, 0.0, -0.5, 0.5]],
    ));
    registry.register(piece(
        "curve.b_spline",
        "A point of a curve near points, by four of them",
        "Smoother than `curve.catmull_rom`, with two continuous derivatives, but it does not reach the points. The \
         next piece takes the next four points. Off by at most 3e-6 of \
         the sum of the sizes of the four, for t from 0 to 1.",
        "I. Schoenberg, 1946",
        [
            ("a", "the first point"),
            ("b", "the second"),
            ("c", "the third"),
            ("d", "the fourth"),
        ],
        [
            [1.0 / 6.0, -0.5, 0.5, -1.0 / 6.0],
            [4.0 / 6.0, 0.0, -1.0, 0.5],
            [1.0 / 6.0, 0.5, 0.5, -0.5],
            [0.0, 0.0, 0.0, 1.0 / 6.0],
        ],
    ));
}

/// What curves go through.
const POINTS: Among = Among::These(&[Type::F32, Type::F64, Type::VEC2, Type::VEC3, Type::VEC4]);

/// The coefficients of 1, t, t^2 and t^3, for each of the four inputs.
type Basis = [[f64; 4]; 4];

/// The sum of the inputs, each times a polynomial in t.
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
        .fold(def, |def, (name, about)| def.input(name, T, about).or_number(0.0))
        .input("t", Type::F32, "0 at the start, 1 at the end; beyond them it goes on")
        .or_number(0.5)
        .output("point", T, "")
        .output("slope", T, "how fast it goes there, per unit of t")
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
