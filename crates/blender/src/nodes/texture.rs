//! Blender's textures: noise, cells, waves and patterns as functions of a position.

mod brick;
mod gabor;
mod noise;
mod pattern;
mod perlin;
mod radial;
mod voronoi;
mod wave;

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry, Settings};

pub(super) fn register(registry: &mut Registry) {
    noise::register(registry);
    voronoi::register(registry);
    wave::register(registry);
    pattern::register(registry);
    brick::register(registry);
    gabor::register(registry);
    radial::register(registry);
}

/// Adds the inputs for a position: a vector and, for one or four dimensions, a number.
fn placed(def: NodeDef) -> NodeDef {
    def.input_or("vector", Type::VEC3, 0.0, "position; in two dimensions, only x and y matter")
        .input_or("w", Type::F32, 0.0, "coordinate in one dimension, or the fourth coordinate")
}

/// Adds the setting for the number of dimensions.
fn dimensioned(def: NodeDef) -> NodeDef {
    def.integer(
        "dimensions",
        (1, 4),
        3,
        "1: along w, 2: x and y, 3: the vector, 4: the vector and w",
    )
}

/// The coordinates of the dimensions that the settings name.
fn coordinates<'b>(settings: &Settings, vector: &[Val<'b>], w: Val<'b>) -> Vec<Val<'b>> {
    match settings.integer("dimensions") {
        1 => vec![w],
        2 => vector[..2].to_vec(),
        4 => vector.iter().copied().chain([w]).collect(),
        _ => vector.to_vec(),
    }
}

fn scaled<'b>(v: &[Val<'b>], by: Val<'b>) -> Vec<Val<'b>> {
    v.iter().map(|x| *x * by).collect()
}

/// Linear interpolation between two numbers.
fn mixed<'b>(a: Val<'b>, b: Val<'b>, t: Val<'b>) -> Val<'b> {
    a * (1.0 - t) + b * t
}

/// Adds the setting for the maximum number of octaves, because forms have no loops.
fn octaves(def: NodeDef) -> NodeDef {
    def.integer(
        "octaves",
        (1, 16),
        3,
        "maximum number of octaves; the detail requires one more than its integer part, and \
         another one for a fraction",
    )
}
