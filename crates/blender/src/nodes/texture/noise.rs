//! White Noise and Noise Texture.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry, Settings};

use super::super::hash::{hash, unit};
use super::super::held;
use super::perlin::{Kind, Octaves, distorted, random_offset};
use super::{coordinates, dimensioned, octaves, placed, scaled};
use millstream_nodes::kit::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(white());
    registry.register(noise());
    registry.register(noise_color());
}

fn white() -> NodeDef {
    let def =
        NodeDef::new("blender.white_noise", "A random number and a random color for a position")
            .details("Every bit of the position matters, so neither output is continuous.");
    placed(dimensioned(def))
        .output("value", Type::F32, "0 to 1")
        .output("color", Type::COLOR, "channels from 0 to 1, opaque")
        .kernel(form_by_settings(|settings, x| {
            let p = coordinates(settings, &x[0], x[1][0]);
            let color = random_color(&p);
            vec![vec![unit_of(&p)], color]
        }))
}

fn unit_of<'b>(p: &[Val<'b>]) -> Val<'b> {
    let words: Vec<Val<'b>> = p.iter().map(|x| x.bitcast()).collect();
    unit(hash(&words))
}

/// Three random numbers from 0 to 1 for a position, and an alpha of 1.
fn random_color<'b>(p: &[Val<'b>]) -> Vec<Val<'b>> {
    let with = |x: f32| p.iter().copied().chain([p[0].like(x)]).collect::<Vec<_>>();
    let [second, third] = match p {
        [x, y, z, w] => [vec![*z, *x, *w, *y], vec![*w, *z, *y, *x]],
        _ => [with(1.0), with(2.0)],
    };
    vec![unit_of(p), unit_of(&second), unit_of(&third), p[0].like(1.0)]
}

const KINDS: &[(&str, &str)] = &[
    ("fbm", "sum of the octaves"),
    ("multifractal", "product of the octaves"),
    ("ridged_multifractal", "octaves folded into ridges"),
    ("hybrid_multifractal", "octaves that are weaker in valleys"),
    ("hetero_terrain", "octaves that are stronger where the noise is high"),
];

fn kind(settings: &Settings) -> Kind {
    match settings.text("type") {
        "multifractal" => Kind::Multifractal,
        "ridged_multifractal" => Kind::Ridged,
        "hybrid_multifractal" => Kind::Hybrid,
        "hetero_terrain" => Kind::HeteroTerrain,
        _ => Kind::Fbm,
    }
}

const INPUTS: [(&str, f64, &str); 7] = [
    ("scale", 5.0, "factor of the position"),
    ("detail", 2.0, "number of octaves after the first, 0 to 15; a fraction adds a part of one"),
    ("roughness", 0.5, "amplitude of an octave relative to the previous one"),
    ("lacunarity", 2.0, "frequency of an octave relative to the previous one"),
    ("offset", 0.0, "number added to the noise, if the type uses it"),
    ("gain", 1.0, "influence of an octave on the next one, if the type uses it"),
    ("distortion", 0.0, "displacement of the position by noise"),
];

fn described(name: &'static str, about: &'static str) -> NodeDef {
    let def =
        NodeDef::new(name, about).details("Gradient noise; it repeats after 100000 cells.").source(
            "K. Perlin, Improving Noise, 2002; F. K. Musgrave in Ebert et al., Texturing and \
             Modeling",
        );
    let def = octaves(dimensioned(def))
        .choice("type", KINDS, "fbm", "combination of octaves")
        .flag("normalize", true, "normalize the sum of the octaves to 0 to 1");
    INPUTS.iter().fold(placed(def), |def, (name, default, about)| {
        def.input_or(*name, Type::F32, *default, *about)
    })
}

/// The position of the noise, and the parameters that combine octaves.
fn read<'b>(settings: &Settings, x: &[Vec<Val<'b>>]) -> (Vec<Val<'b>>, Octaves<'b>) {
    let number = |i: usize| x[2 + i][0];
    let roughness = number(2);
    let octaves = Octaves {
        kind: kind(settings),
        n: settings.integer("octaves").max(1) as usize,
        normalize: settings.flag("normalize"),
        detail: held(number(1), 0.0, 15.0),
        roughness: roughness.lt(0.0).select(0.0, roughness),
        lacunarity: number(3),
        offset: number(4),
        gain: number(5),
    };
    let position = scaled(&coordinates(settings, &x[0], x[1][0]), number(0));
    (distorted(&position, number(6)), octaves)
}

fn noise() -> NodeDef {
    described("blender.noise", "A number that varies over space, like Blender's Noise Texture")
        .output("value", Type::F32, "")
        .kernel(form_by_settings(|settings, x| {
            let (position, octaves) = read(settings, x);
            vec![vec![octaves.at(&position)]]
        }))
}

fn noise_color() -> NodeDef {
    described("blender.noise_color", "A color that varies over space, like Blender's Noise Texture")
        .output("value", Type::COLOR, "red is the result of `blender.noise`; opaque")
        .kernel(form_by_settings(|settings, x| {
            let (position, octaves) = read(settings, x);
            let n = position.len();
            let channel = |i: usize| {
                if i == 0 {
                    return octaves.at(&position);
                }
                // The distortion uses the seeds below these.
                let offset = random_offset(octaves.detail, (n + i - 1) as f32, n);
                let there: Vec<Val<'_>> =
                    position.iter().zip(offset).map(|(x, o)| *x + o).collect();
                octaves.at(&there)
            };
            vec![vec![channel(0), channel(1), channel(2), octaves.detail.like(1.0)]]
        }))
}
