//! Selects the nodes that are compared with their formulas in 64-bit floats, and their arguments.

use millstream_base::Type;
use serde_json::json;

use crate::wide::{Node, Random, Scale, check, node};

const F32: &[Type] = &[Type::F32];
const V3: &[Type] = &[Type::VEC3];

fn colors() -> Vec<Node> {
    /// Mostly near black.
    fn dark(r: &mut Random, _: usize) -> f64 {
        r.unit().powi(6)
    }
    vec![
        node("color.mix", Scale::One).each("space").on(dark),
        node("color.difference", Scale::Most).each("metric").on(dark),
        node("color.blend", Scale::Most).each("mode"),
        node("color.over", Scale::One),
        node("color.composite", Scale::Most).each("operator"),
        node("color.mix", Scale::One).each("space"),
        node("color.invert", Scale::One),
        node("color.desaturate", Scale::One),
        node("color.exposure", Scale::Most),
        node("color.premultiply", Scale::One),
        node("color.unpremultiply", Scale::Most),
        node("color.slope_offset_power", Scale::One),
        node("color.tone_map", Scale::Most)
            .each("curve")
            .on(|r, at| if at == 5 { 1.0 + 10.0 * r.unit() } else { r.unit() }),
        node("color.adapt", Scale::Most),
        node("color.difference", Scale::Most).each("metric"),
    ]
}

fn numbers() -> Vec<Node> {
    vec![
        node("math.smooth_minimum", Scale::Given).of(F32),
        node("math.smooth_maximum", Scale::Given).of(F32),
        node("mix.ease", Scale::One).of(F32).each("curve").with(json!({"direction": "in"})),
        node("mix.ease", Scale::One).of(F32).each("curve").with(json!({"direction": "out"})),
        node("mix.ease", Scale::One).of(F32).each("curve"),
        node("mix.ease", Scale::One).of(F32).each("curve").with(json!({"direction": "out_in"})),
    ]
}

fn distributions() -> Vec<Node> {
    /// A middle of 0 and a width of 1, or a minimum and an exponent.
    fn usual(_: &mut Random, at: usize) -> f64 {
        at as f64
    }
    fn ones(_: &mut Random, _: usize) -> f64 {
        1.0
    }
    vec![
        node("random.value", Scale::Given).on(|r, at| r.unit() * 100.0 - 99.0 + 99.0 * at as f64),
        node("random.normal", Scale::One).on(usual),
        node("random.log_normal", Scale::Most).on(usual),
        node("random.exponential", Scale::Most).on(ones),
        node("random.triangular", Scale::Given).on(usual),
        node("random.cauchy", Scale::Most).on(usual),
        node("random.weibull", Scale::Most).on(|_, at| 1.0 + 0.5 * at as f64),
        node("random.pareto", Scale::Most).on(|_, at| 1.0 + at as f64),
        node("random.laplace", Scale::Most).on(usual),
        node("random.logistic", Scale::Most).on(usual),
        node("random.direction", Scale::One),
        node("random.in_disk", Scale::One).on(ones),
        node("random.on_circle", Scale::One),
        node("random.in_ball", Scale::One).on(ones),
        node("random.in_triangle", Scale::Given),
        node("random.rotation", Scale::One),
        node("random.in_ring", Scale::One).on(|_, at| 0.5 + 0.5 * at as f64),
        node("random.in_cone", Scale::One),
    ]
}

fn noises() -> Vec<Node> {
    /// A position up to 100 cells from the origin; the scale and the inputs after it are 1.
    fn place(r: &mut Random, at: usize) -> f64 {
        if at < 3 { 200.0 * r.unit() - 100.0 } else { 1.0 }
    }
    fn rough(r: &mut Random, at: usize) -> f64 {
        // Lacunarity and roughness follow position, scale and seed.
        match at {
            0..3 => 20.0 * r.unit() - 10.0,
            5 => 2.0,
            6 => 0.5,
            _ => 1.0,
        }
    }
    vec![
        node("noise.value", Scale::One).of(V3).on(place),
        node("noise.perlin", Scale::One).of(V3).on(place),
        node("noise.simplex", Scale::One).of(V3).on(place),
        node("noise.slope", Scale::Most).of(V3).on(place),
        node("noise.curl", Scale::Most).of(V3).on(place),
        node("noise.cell", Scale::First).of(V3).on(place).each("feature"),
        node("noise.cell_edge", Scale::One).of(V3).on(place),
        node("noise.gabor", Scale::Most).of(V3).on(place),
        node("noise.fbm", Scale::Most).of(V3).on(rough).each("basis"),
        node("noise.turbulence", Scale::Most).of(V3).on(rough).each("basis"),
        node("noise.ridged", Scale::Most).of(V3).on(rough).each("basis"),
        node("noise.hybrid", Scale::Most).of(V3).on(rough).each("basis"),
        node("noise.multifractal", Scale::Most).of(V3).on(rough).each("basis"),
        node("noise.hetero_terrain", Scale::Most).of(V3).on(rough).each("basis"),
    ]
}

#[test]
fn nodes_are_as_close_to_their_formulas_as_the_manual_states() {
    check([colors(), numbers(), distributions(), noises()].into_iter().flatten());
}
