//! Interpolation and points of curves.

use millstream_base::Type;

use super::{Case, Random, Right, case, dot, of, of_one, sizes};

const F32: &[Type] = &[Type::F32];

fn shape_and_x(r: &mut Random) -> Vec<f32> {
    vec![r.between(0.0, 1.0), r.between(0.1, 0.9)]
}

/// The clamped factor of the last number between the first two.
fn way(x: &[f64]) -> f64 {
    ((x[2] - x[0]) / (x[1] - x[0])).clamp(0.0, 1.0)
}

pub(super) fn mixes() -> Vec<Case> {
    vec![
        case(
            "mix.mix",
            &[Type::F32, Type::F32],
            |r| [r.wides(2), vec![r.between(-2.0, 3.0)]].concat(),
            |x| {
                let parts = [x[0] * (1.0 - x[2]), x[1] * x[2]];
                (vec![parts.iter().sum()], vec![sizes(&parts).iter().sum()])
            },
        ),
        case(
            "mix.inverse_mix",
            F32,
            |r| r.wides(3),
            |x| {
                let right = (x[2] - x[0]) / (x[1] - x[0]);
                of(vec![right], right.abs())
            },
        ),
        case(
            "mix.map_range",
            F32,
            |r| [vec![r.between(-1.0, 1.0), -0.9, 0.9], r.wides(2)].concat(),
            |x| {
                let f = way(&[x[1], x[2], x[0]]);
                of(vec![x[3] * (1.0 - f) + x[4] * f], x[3].abs() + x[4].abs())
            },
        ),
        case(
            "mix.smoothstep",
            F32,
            |r| r.wides(3),
            |x| of_one(vec![way(x) * way(x) * (3.0 - 2.0 * way(x))]),
        ),
        case(
            "mix.smootherstep",
            F32,
            |r| r.wides(3),
            |x| {
                let t = way(x);
                of_one(vec![t * t * t * (t * (t * 6.0 - 15.0) + 10.0)])
            },
        ),
        case("mix.bias", F32, shape_and_x, |x| {
            of_one(vec![x[0] / ((1.0 / x[1] - 2.0) * (1.0 - x[0]) + 1.0)])
        }),
        case("mix.gain", F32, shape_and_x, |x| {
            let bend = (1.0 / x[1] - 2.0) * (1.0 - 2.0 * x[0]);
            let low = x[0] / (bend + 1.0);
            of_one(vec![if x[0] < 0.5 { low } else { (bend - x[0]) / (bend - 1.0) }])
        }),
    ]
}

/// Four numbers, and t from 0 to 1.
fn points(r: &mut Random) -> Vec<f32> {
    [r.wides(4), vec![r.between(0.0, 1.0)]].concat()
}

/// The point and the slope, by the weights of both.
fn weighted(x: &[f64], point: [f64; 4], slope: [f64; 4]) -> Right {
    of(vec![dot(&x[..4], &point), dot(&x[..4], &slope)], sizes(&x[..4]).iter().sum())
}

pub(super) fn curves() -> Vec<Case> {
    vec![
        case("curve.bezier", F32, points, |x| {
            let (t, u) = (x[4], 1.0 - x[4]);
            let point = [u * u * u, 3.0 * t * u * u, 3.0 * t * t * u, t * t * t];
            let (first, last) = (3.0 * u * u, 3.0 * t * t);
            let middle = 6.0 * t * u;
            weighted(x, point, [-first, first - middle, middle - last, last])
        }),
        case("curve.hermite", F32, points, |x| {
            let (t, u) = (x[4], 1.0 - x[4]);
            let point = [(1.0 + 2.0 * t) * u * u, t * u * u, t * t * (3.0 - 2.0 * t), -t * t * u];
            let across = 6.0 * t * u;
            weighted(x, point, [-across, u * (1.0 - 3.0 * t), across, t * (3.0 * t - 2.0)])
        }),
        case("curve.catmull_rom", F32, points, |x| {
            let (t, u) = (x[4], 1.0 - x[4]);
            // The Hermite segment with the slopes of Catmull-Rom.
            let (from, to) = (t * u * u / 2.0, -t * t * u / 2.0);
            let (a, b) = ((1.0 + 2.0 * t) * u * u, t * t * (3.0 - 2.0 * t));
            let (left, right) = (u * (1.0 - 3.0 * t) / 2.0, t * (3.0 * t - 2.0) / 2.0);
            let across = 6.0 * t * u;
            weighted(
                x,
                [-from, a - to, b + from, to],
                [-left, -across - right, across + left, right],
            )
        }),
        case("curve.b_spline", F32, points, |x| {
            let (t, u) = (x[4], 1.0 - x[4]);
            let inner = |t: f64| (4.0 - 6.0 * t * t + 3.0 * t * t * t) / 6.0;
            let steep = |t: f64| 1.5 * t * t - 2.0 * t;
            weighted(
                x,
                [u * u * u / 6.0, inner(t), inner(u), t * t * t / 6.0],
                [-u * u / 2.0, steep(t), -steep(u), t * t / 2.0],
            )
        }),
    ]
}
