//! Patterns over positions: gradients, checkers, stripes.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use crate::sdf::point;

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    registry.register(linear());
    registry.register(radial());
    registry.register(angular());
    registry.register(checker());
    registry.register(stripes());
}

fn pattern(name: &'static str, summary: &'static str) -> NodeDef {
    NodeDef::new(name, summary)
        .input("position", Type::VEC3, "point of the scene; only x and y matter")
        .output("value", Type::F32, "0 to 1")
}

const BEYOND: &str = "Beyond its ends the gradient keeps the end values. `color.ramp` and \
                      `curve.float` turn it into colors and other curves.";

fn linear() -> NodeDef {
    let def = pattern("pattern.linear", "A gradient from one point to another").details(BEYOND);
    let def = point(def, "start", [0.0; 2], "where the value is 0");
    point(def, "end", [1.0, 0.0], "where the value is 1").form(|_, x| {
        let along = [x[2][0] - x[1][0], x[2][1] - x[1][1]];
        let from = [x[0][0] - x[1][0], x[0][1] - x[1][1]];
        let square = along[0] * along[0] + along[1] * along[1];
        let t = (from[0] * along[0] + from[1] * along[1]) / square;
        vec![vec![square.eq(0.0).select(0.0, t.clamp(0.0, 1.0))]]
    })
}

fn radial() -> NodeDef {
    let def = pattern("pattern.radial", "A gradient from a center outwards").details(BEYOND);
    point(def, "center", [0.0; 2], "where the value is 0")
        .input_or("radius", Type::F32, 1.0, "distance at which the value is 1")
        .form(|_, x| {
            let [dx, dy] = [x[0][0] - x[1][0], x[0][1] - x[1][1]];
            let away = (dx * dx + dy * dy).sqrt();
            let radius = x[2][0];
            vec![vec![radius.gt(0.0).select((away / radius).clamp(0.0, 1.0), 1.0)]]
        })
}

fn angular() -> NodeDef {
    let def = pattern("pattern.angular", "A gradient around a center, counterclockwise");
    point(def, "center", [0.0; 2], "the center")
        .input_or("start", Type::F32, 0.0, "angle in radians at which the value is 0")
        .form(|_, x| {
            let [dx, dy] = [x[0][0] - x[1][0], x[0][1] - x[1][1]];
            let turns = (dy.atan2(dx) - x[2][0]) * std::f64::consts::TAU.recip();
            vec![vec![turns - turns.floor()]]
        })
}

/// Whether the cell number of a position is odd, as 0 or 1.
fn is_odd(cells: Val<'_>) -> Val<'_> {
    let half = cells * 0.5;
    (half - half.floor()) * 2.0
}

fn checker() -> NodeDef {
    point(
        pattern("pattern.checker", "A checkerboard of zeros and ones"),
        "size",
        [1.0; 2],
        "width and height of a square",
    )
    .details(
        "The square whose lower left corner is at the origin is 0. Everything is 0 if a square has \
         no width or height.",
    )
    .form(|_, x| {
        let cell = |k: usize| (x[0][k] / x[1][k]).floor();
        let is_empty = (x[1][0] * x[1][1]).eq(0.0);
        vec![vec![is_empty.select(0.0, is_odd(cell(0) + cell(1)))]]
    })
}

fn stripes() -> NodeDef {
    pattern("pattern.stripes", "Stripes: a wave from 0 to 1 and back")
        .details("Everything is 0 if the width is 0.")
        .input_or("width", Type::F32, 1.0, "width of a stripe together with the gap next to it")
        .input_or("angle", Type::F32, 0.0, "direction across the stripes, in radians")
        .form(|_, x| {
            let angle = x[2][0];
            let across = x[0][0] * angle.cos() + x[0][1] * angle.sin();
            let turns = across / x[1][0] * std::f64::consts::TAU;
            vec![vec![x[1][0].eq(0.0).select(0.0, 0.5 - turns.cos() * 0.5)]]
        })
}
