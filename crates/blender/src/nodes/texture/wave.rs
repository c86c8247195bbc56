//! Wave Texture.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry, Settings};
use millstream_nodes::kit::{dot, form_by_settings};

use super::super::least;
use super::pattern::off_borders;
use super::perlin::{Kind, Octaves};
use super::{octaves, scaled};

pub(super) fn register(registry: &mut Registry) {
    registry.register(wave());
}

const SHAPES: &[(&str, &str)] =
    &[("bands", "along a direction"), ("rings", "away from an axis or a point")];

const DIRECTIONS: &[(&str, &str)] = &[
    ("x", "along or about the x axis"),
    ("y", "along or about the y axis"),
    ("z", "along or about the z axis"),
    ("diagonal", "along all axes, or about the origin"),
];

const PROFILES: &[(&str, &str)] = &[
    ("sin", "a sine"),
    ("saw", "rises, then drops at once"),
    ("tri", "rises and falls in straight lines"),
];

const INPUTS: [(&str, f64, &str); 6] = [
    ("scale", 5.0, "factor of the position"),
    ("distortion", 0.0, "displacement of the waves by noise"),
    ("detail", 2.0, "number of octaves of the noise after the first, up to 15; NaN below 0"),
    ("detail_scale", 1.0, "factor of the position for the noise"),
    ("detail_roughness", 0.5, "amplitude of an octave of the noise relative to the previous one"),
    ("phase", 0.0, "phase of the wave, in radians"),
];

fn wave() -> NodeDef {
    let def = NodeDef::new("blender.wave", "Waves in bands or rings, like Blender's Wave Texture");
    let def = octaves(def)
        .choice("type", SHAPES, "bands", "shape of the waves")
        .choice("direction", DIRECTIONS, "x", "direction or axis")
        .choice("profile", PROFILES, "sin", "profile of a wave")
        .input_or("vector", Type::VEC3, 0.0, "position");
    INPUTS
        .iter()
        .fold(def, |def, (name, default, about)| def.input_or(*name, Type::F32, *default, *about))
        .output("value", Type::F32, "0 to 1")
        .kernel(form_by_settings(|settings, inputs| vec![vec![height(settings, inputs)]]))
}

fn height<'b>(settings: &Settings, inputs: &[Vec<Val<'b>>]) -> Val<'b> {
    let number = |i: usize| inputs[1 + i][0];
    let p = off_borders(&scaled(&inputs[0], number(0)));
    let direction = settings.text("direction");
    let axis = ["x", "y", "z"].iter().position(|axis| *axis == direction);
    let way = match (settings.text("type"), axis) {
        ("rings", axis) => {
            let across: Vec<Val<'b>> = (0..3).filter(|i| Some(*i) != axis).map(|i| p[i]).collect();
            dot(&across, &across).sqrt() * 20.0
        }
        (_, Some(axis)) => p[axis] * 20.0,
        (_, None) => (p[0] + p[1] + p[2]) * 10.0,
    };
    let way = way + number(5);
    let noise = Octaves {
        kind: Kind::Fbm,
        n: settings.integer("octaves").max(1) as usize,
        normalize: true,
        detail: least(number(2), way.like(15.0)),
        roughness: number(4),
        lacunarity: way.like(2.0),
        offset: way.like(0.0),
        gain: way.like(0.0),
    };
    let moved = way + number(1) * (noise.at(&scaled(&p, number(3))) * 2.0 - 1.0);
    let way = number(1).ne(0.0).select(moved, way);
    let turns = way / std::f64::consts::TAU;
    match settings.text("profile") {
        "saw" => turns - turns.floor(),
        "tri" => (turns - (turns + 0.5).floor()).abs() * 2.0,
        _ => (way - std::f64::consts::FRAC_PI_2).sin() * 0.5 + 0.5,
    }
}
