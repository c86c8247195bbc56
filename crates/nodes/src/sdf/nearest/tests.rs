//! Distances compared with a plain search.

use proptest::prelude::*;

use super::{Outlines, Piece, Work};

/// The distance by a search over all segments.
fn plainly(outlines: &Outlines, [x, y]: [f32; 2]) -> f32 {
    let mut square = f32::INFINITY;
    let mut winds = 0;
    for &Piece { from, way, per_square } in &outlines.pieces {
        let (fx, fy) = (x - from[0], y - from[1]);
        let t = ((fx * way[0] + fy * way[1]) * per_square).clamp(0.0, 1.0);
        let (ax, ay) = (fx - way[0] * t, fy - way[1] * t);
        square = square.min(ax * ax + ay * ay);
        let (a, b) = (from[1], from[1] + way[1]);
        if (a > y) != (b > y) && from[0] + (y - a) / way[1] * way[0] > x {
            winds += if b > a { 1 } else { -1 };
        }
    }
    if winds == 0 { square.sqrt() } else { -square.sqrt() }
}

/// A ring of `n` corners.
fn ring(center: [f32; 2], radius: f32, n: usize) -> Vec<[f32; 2]> {
    let corner = |i: usize| {
        let (sin, cos) = (i as f32 / n as f32 * std::f32::consts::TAU).sin_cos();
        [center[0] + cos * radius, center[1] + sin * radius]
    };
    (0..n).map(corner).collect()
}

fn measured(outlines: &Outlines, points: &[[f32; 2]]) -> Vec<f32> {
    let mut distances = vec![0.0; points.len()];
    outlines.measure(points, &mut distances, &mut Work::default());
    distances
}

fn outlines() -> Outlines {
    let mut hole = ring([1.0, 1.0], 0.3, 40);
    hole.reverse();
    let contours =
        [ring([1.0, 1.0], 0.8, 90), hole, ring([3.0, 0.5], 0.5, 7), ring([3.3, 0.6], 0.4, 200)];
    Outlines::new(&contours)
}

#[test]
fn rows_of_pixels_have_the_bits_of_a_plain_search() {
    let outlines = outlines();
    let points: Vec<[f32; 2]> = (0..90)
        .flat_map(|y| (0..211).map(move |x| [x as f32 * 0.023, y as f32 * 0.03 - 0.4]))
        .collect();
    let distances = measured(&outlines, &points);
    for (point, distance) in points.iter().zip(distances) {
        assert_eq!(distance.to_bits(), plainly(&outlines, *point).to_bits(), "at {point:?}");
    }
}

#[test]
fn regions_wound_around_twice_are_inside_and_holes_are_outside() {
    let distances = measured(&outlines(), &[[1.0, 1.0], [3.2, 0.55], [1.0, 1.6], [9.0, 9.0]]);
    let is_inside: Vec<bool> = distances.iter().map(|distance| *distance < 0.0).collect();
    assert_eq!(is_inside, [false, true, true, false]);
}

#[test]
fn empty_outlines_are_infinitely_far_and_nan_gives_nan() {
    let nothing = Outlines::new(&[]);
    assert_eq!(measured(&nothing, &[[0.0, 0.0]]), [f32::INFINITY]);
    let distances = measured(&outlines(), &[[f32::NAN, 0.0], [1.0, 1.9], [f32::INFINITY, 0.0]]);
    assert!(distances[0].is_nan());
    assert!((distances[1] - 0.1).abs() < 1e-3, "{distances:?}");
    assert!(distances[2].is_infinite() || distances[2].is_nan(), "{distances:?}");
}

proptest! {
    #[test]
    fn scattered_points_have_the_bits_of_a_plain_search(
        points in prop::collection::vec([-3.0..6.0_f32, -3.0..4.0_f32], 1..300),
    ) {
        let outlines = outlines();
        let distances = measured(&outlines, &points);
        for (point, distance) in points.iter().zip(distances) {
            prop_assert_eq!(distance.to_bits(), plainly(&outlines, *point).to_bits());
        }
    }
}
