//! Gradient, Checker and Magic Texture.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry};
use millstream_nodes::kit::{dot, form_by_settings};

use super::super::held;
use super::scaled;

pub(super) fn register(registry: &mut Registry) {
    registry.register(gradient());
    registry.register(checker());
    registry.register(magic());
}

const GRADIENTS: &[(&str, &str)] = &[
    ("linear", "x"),
    ("quadratic", "the square of x above 0"),
    ("easing", "x, eased at both ends"),
    ("diagonal", "the mean of x and y"),
    ("radial", "the angle about the z axis"),
    ("quadratic_sphere", "the square of the distance to the unit sphere, inside of it"),
    ("spherical", "the distance to the unit sphere, inside of it"),
];

fn gradient() -> NodeDef {
    NodeDef::new("blender.gradient", "A gradient along a direction or from a center")
        .choice("type", GRADIENTS, "linear", "shape of the gradient")
        .flag("clamp", true, "clamp to 0 to 1, like Blender since 5.0")
        .input_or("vector", Type::VEC3, 0.0, "position")
        .output("value", Type::F32, "0 to 1")
        .kernel(form_by_settings(|settings, inputs| {
            let kind = settings.text("type").to_owned();
            let clamp = settings.flag("clamp");
            let v = &inputs[0];
            let (x, y) = (v[0], v[1]);
            let inside = || {
                let left: Val<'_> = 0.999_999 - dot(v, v).sqrt();
                above(left)
            };
            let value = match &*kind {
                "quadratic" => above(x) * above(x),
                "easing" => {
                    let t = held(x, 0.0, 1.0);
                    3.0 * (t * t) - 2.0 * (t * t) * t
                }
                "diagonal" => (x + y) * 0.5,
                "radial" => y.atan2(x) / std::f64::consts::TAU + 0.5,
                "quadratic_sphere" => inside() * inside(),
                "spherical" => inside(),
                _ => x,
            };
            vec![vec![if clamp { held(above(value), 0.0, 1.0) } else { value }]]
        }))
}

/// The number if it is above 0, else 0.
fn above(x: Val<'_>) -> Val<'_> {
    x.gt(0.0).select(x, 0.0)
}

/// Moves positions away from the borders of cells, where rounding would determine the cell.
pub(super) fn off_borders<'b>(p: &[Val<'b>]) -> Vec<Val<'b>> {
    p.iter().map(|x| (*x + 0.000_001) * 0.999_999).collect()
}

fn checker() -> NodeDef {
    NodeDef::new("blender.checker", "A checkerboard of two colors")
        .input_or("vector", Type::VEC3, 0.0, "position")
        .input_or("color1", Type::COLOR, Default::Zero, "color of every other cell")
        .input_or("color2", Type::COLOR, Default::Zero, "color of the other cells")
        .input_or("scale", Type::F32, 5.0, "cells per unit")
        .output("color", Type::COLOR, "")
        .output("factor", Type::F32, "1 in cells of the first color, else 0")
        .form(|_, x| {
            let p = off_borders(&scaled(&x[0], x[3][0]));
            let odd = |i: usize| (super::super::cast_to_i32(p[i].floor()).abs() % 2).ne(0);
            // Cells whose coordinates have an odd sum have the first color.
            let is_first = odd(0) ^ odd(1) ^ odd(2);
            let color = (0..4).map(|i| is_first.select(x[1][i], x[2][i])).collect();
            vec![color, vec![is_first.select(p[0].like(1.0), 0.0)]]
        })
}

fn magic() -> NodeDef {
    NodeDef::new("blender.magic", "Colors folded by sines, like Blender's Magic Texture")
        .integer("depth", (0, 10), 2, "number of folds")
        .input_or("vector", Type::VEC3, 0.0, "position")
        .input_or("scale", Type::F32, 5.0, "factor of the position")
        .input_or("distortion", Type::F32, 1.0, "strength of the folds")
        .output("color", Type::COLOR, "opaque")
        .output("factor", Type::F32, "mean of red, green and blue")
        .kernel(form_by_settings(|settings, inputs| {
            let depth = settings.integer("depth");
            let p = scaled(&inputs[0], inputs[1][0]);
            folded(depth, &p, inputs[2][0])
        }))
}

fn folded<'b>(depth: i64, p: &[Val<'b>], d: Val<'b>) -> Vec<Vec<Val<'b>>> {
    let mut x = ((p[0] + p[1] + p[2]) * 5.0).sin();
    let mut y = ((-p[0] + p[1] - p[2]) * 5.0).cos();
    let mut z = -((-p[0] - p[1] + p[2]) * 5.0).cos();
    if depth > 0 {
        (x, y, z) = (x * d, y * d, z * d);
        y = -(x - y + z).cos() * d;
    }
    if depth > 1 {
        x = (x - y - z).cos() * d;
    }
    if depth > 2 {
        z = (-x - y - z).sin() * d;
    }
    if depth > 3 {
        x = -(-x + y - z).cos() * d;
    }
    if depth > 4 {
        y = -(-x + y + z).sin() * d;
    }
    if depth > 5 {
        y = -(-x + y + z).cos() * d;
    }
    if depth > 6 {
        x = (x + y + z).cos() * d;
    }
    if depth > 7 {
        z = (x + y - z).sin() * d;
    }
    if depth > 8 {
        x = -(-x - y + z).cos() * d;
    }
    if depth > 9 {
        y = -(x - y + z).sin() * d;
    }
    let twice = d * 2.0;
    let none = d.eq(0.0);
    let channel = |v: Val<'b>| 0.5 - none.select(v, v / twice);
    let color = [channel(x), channel(y), channel(z)];
    let mean = (color[0] + color[1] + color[2]) / 3.0;
    vec![vec![color[0], color[1], color[2], d.like(1.0)], vec![mean]]
}
