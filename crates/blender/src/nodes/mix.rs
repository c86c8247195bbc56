//! The Mix node: colors by all blend modes, vectors by a factor per component, rotations.

use millstream_base::{Lane, Type};
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry};
use millstream_nodes::kit::{dot, form_by_settings, lanewise_by_settings, quat_product};

use super::color::{hsv_to_rgb, rgb_to_hsv};
use super::{NUMBER_OR_VECTOR, T, held};

pub(super) fn register(registry: &mut Registry) {
    registry.register(mix());
    registry.register(mix_vector());
    registry.register(mix_rotation());
    registry.register(mix_color());
}

fn clamp_setting(def: NodeDef) -> NodeDef {
    def.flag("clamp_factor", true, "clamp the factor to 0 to 1")
}

fn mix() -> NodeDef {
    NodeDef::new("blender.mix", "Mixes numbers or vectors by one factor")
        .details("a * (1 - factor) + b * factor, with the factor clamped to 0 to 1; NaN stays NaN.")
        .generic("T", NUMBER_OR_VECTOR)
        .input_or("a", T, 0.0, "result at factor 0")
        .input_or("b", T, 0.0, "result at factor 1")
        .input_or("factor", Type::F32, 0.5, "weight of b")
        .output("value", T, "")
        .kernel(lanewise_by_settings(|_, _, x| {
            let factor = held(x[2], 0.0, 1.0);
            x[0] * (1.0 - factor) + x[1] * factor
        }))
}

fn mix_vector() -> NodeDef {
    let def = NodeDef::new("blender.mix_vector", "Mixes vectors by a factor for each component");
    clamp_setting(def)
        .details("a * (1 - factor) + b * factor, component by component.")
        .input_or("factor", Type::VEC3, 0.5, "weight of b")
        .input_or("a", Type::VEC3, 0.0, "result at factor 0")
        .input_or("b", Type::VEC3, 0.0, "result at factor 1")
        .output("value", Type::VEC3, "")
        .kernel(form_by_settings(|settings, x| {
            let clamp = settings.flag("clamp_factor");
            let mixed = |i: usize| {
                let factor = if clamp { held(x[0][i], 0.0, 1.0) } else { x[0][i] };
                x[1][i] * (1.0 - factor) + x[2][i] * factor
            };
            vec![(0..3).map(mixed).collect()]
        }))
}

fn mix_rotation() -> NodeDef {
    let def = NodeDef::new("blender.mix_rotation", "Interpolates between two rotations");
    clamp_setting(def)
        .details(
            "Along the shorter arc at constant speed: a (a^-1 b)^factor. The angle is computed \
             from its cosine, which is imprecise for nearly equal rotations. Factors outside 0 to \
             1 extrapolate. With `by_sines`, rotations are mixed linearly if the cosine of half \
             the angle between them is at least 0.9999; for a factor far outside 0 to 1, the \
             length of the result is then not 1.",
        )
        .source("K. Shoemake, Animating rotation with quaternion curves, 1985")
        .flag("by_sines", false, "like Blender up to 5.0: spherical interpolation")
        .input_or("factor", Type::F32, 0.5, "weight of b")
        .input_or("a", Type::QUAT, Default::Zero, "rotation at factor 0")
        .input_or("b", Type::QUAT, Default::Zero, "rotation at factor 1")
        .output("value", Type::QUAT, "")
        .kernel(form_by_settings(|settings, x| {
            let clamp = settings.flag("clamp_factor");
            let by_sines = settings.flag("by_sines");
            let factor = if clamp { held(x[0][0], 0.0, 1.0) } else { x[0][0] };
            let mixed = if by_sines { between } else { turned };
            vec![mixed(&x[1], &x[2], factor)]
        }))
}

/// `a` followed by a power of the rotation from `a` to `b`.
fn turned<'b>(a: &[Val<'b>], b: &[Val<'b>], t: Val<'b>) -> Vec<Val<'b>> {
    let way = quat_product(&[a[0], -a[1], -a[2], -a[3]], b);
    // The shorter of the two arcs.
    let far = way[0].lt(0.0);
    let way: Vec<Val<'b>> = way.iter().map(|x| far.select(-*x, *x)).collect();
    let half = held(way[0], -1.0, 1.0).acos() * t;
    let squared = dot(&way[1..], &way[1..]);
    let (turns, scale) = (squared.gt(1e-35), half.sin() / squared.sqrt());
    let mut power = vec![half.cos()];
    power.extend(way[1..].iter().map(|x| turns.select(*x * scale, 0.0)));
    quat_product(a, &power)
}

/// Spherical interpolation; linear if the two are nearly equal.
fn between<'b>(a: &[Val<'b>], b: &[Val<'b>], t: Val<'b>) -> Vec<Val<'b>> {
    let cosine = dot(a, b);
    // The shorter of the two arcs.
    let far = cosine.lt(0.0);
    let cosine = cosine.abs();
    let (angle, rest): (Val<'b>, Val<'b>) =
        (cosine.convert(Lane::F64).acos().convert(Lane::F32), 1.0 - t);
    let sine = angle.sin();
    let bent = cosine.lt(1.0 - 1e-4_f32);
    let of_a = bent.select((rest * angle).sin() / sine, rest);
    let of_b = bent.select((t * angle).sin() / sine, t);
    a.iter().zip(b).map(|(a, b)| of_a * far.select(-*a, *a) + of_b * *b).collect()
}

const BLENDS: &[(&str, &str)] = &[
    ("mix", "from a to b"),
    ("darken", "the darker of both in each channel"),
    ("multiply", "the product"),
    ("burn", "a darkened by b"),
    ("lighten", "the lighter of both in each channel"),
    (
        "lighten_part",
        "the lighter of a and factor * b in each channel; `lighten` before Blender 4.4",
    ),
    ("screen", "the complement of the product of the complements"),
    ("dodge", "a lightened by b"),
    ("add", "the sum"),
    ("overlay", "multiply or screen, by a"),
    ("soft_light", "like overlay, softer"),
    ("linear_light", "add or subtract, by b"),
    ("difference", "the distance"),
    ("exclusion", "like difference, softer"),
    ("subtract", "a without b"),
    ("divide", "the quotient; a where b is 0"),
    ("hue", "the hue of b"),
    ("saturation", "the saturation of b"),
    ("color", "hue and saturation of b"),
    ("value", "the value of b"),
];

fn mix_color() -> NodeDef {
    let def = NodeDef::new("blender.mix_color", "Blends two colors");
    clamp_setting(def)
        .details(
            "The factor is the strength of the effect. The result has the alpha of `a`; since 5.1, \
             Blender treats alpha as with `mix_alpha`. The error is at most 2e-6, or 2e-6 times \
             the greatest channel if that is more than 1, for channels from 0 to 1.",
        )
        .choice("blend", BLENDS, "mix", "blend mode")
        .flag("clamp_result", false, "clamp the channels to 0 to 1")
        .flag("mix_alpha", false, "mix alpha too in mode `mix`, and clamp it with `clamp_result`")
        .input_or("factor", Type::F32, 0.5, "strength of the effect")
        .input_or("a", Type::COLOR, Default::Zero, "first color")
        .input_or("b", Type::COLOR, Default::Zero, "second color")
        .output("value", Type::COLOR, "")
        .kernel(form_by_settings(|settings, x| {
            let blend = settings.text("blend").to_owned();
            let clamp_factor = settings.flag("clamp_factor");
            let mix_alpha = settings.flag("mix_alpha");
            let clamp_result = settings.flag("clamp_result");
            let factor = if clamp_factor { held(x[0][0], 0.0, 1.0) } else { x[0][0] };
            let mut result = blended(&blend, factor, &x[1][..3], &x[2][..3]);
            let mut alpha = x[1][3];
            if mix_alpha && blend == "mix" {
                alpha = channel("mix", factor, alpha, x[2][3]);
            }
            if clamp_result {
                result = result.iter().map(|x| held(*x, 0.0, 1.0)).collect();
                alpha = if mix_alpha { held(alpha, 0.0, 1.0) } else { alpha };
            }
            result.push(alpha);
            vec![result]
        }))
}

fn blended<'b>(blend: &str, f: Val<'b>, a: &[Val<'b>], b: &[Val<'b>]) -> Vec<Val<'b>> {
    match blend {
        "hue" | "saturation" | "color" | "value" => by_hue(blend, f, a, b),
        _ => a.iter().zip(b).map(|(a, b)| channel(blend, f, *a, *b)).collect(),
    }
}

fn channel<'b>(blend: &str, f: Val<'b>, a: Val<'b>, b: Val<'b>) -> Val<'b> {
    let rest: Val<'b> = 1.0 - f;
    match blend {
        "add" => a + f * b,
        "multiply" => a * (rest + f * b),
        "screen" => 1.0 - (rest + f * (1.0 - b)) * (1.0 - a),
        "overlay" => a
            .lt(0.5)
            .select(a * (rest + f * 2.0 * b), 1.0 - (rest + f * 2.0 * (1.0 - b)) * (1.0 - a)),
        "subtract" => a - f * b,
        "divide" => b.eq(0.0).select(a, rest * a + f * a / b),
        "difference" => rest * a + f * (a - b).abs(),
        "exclusion" => (rest * a + f * (a + b - a * 2.0 * b)).max(0.0),
        "darken" => a.lt(b).select(a, b) * f + a * rest,
        "lighten" => a.gt(b).select(a, b) * f + a * rest,
        "lighten_part" => (f * b).gt(a).select(f * b, a),
        "dodge" => {
            let left: Val<'b> = 1.0 - f * b;
            let full = a / left;
            let lightened = (left.le(0.0) | full.gt(1.0)).select(1.0, full);
            a.eq(0.0).select(a, lightened)
        }
        "burn" => {
            let left = rest + f * b;
            let darkened: Val<'b> = 1.0 - (1.0 - a) / left;
            left.le(0.0).select(0.0, held(darkened, 0.0, 1.0))
        }
        "soft_light" => {
            let screen: Val<'b> = 1.0 - (1.0 - b) * (1.0 - a);
            rest * a + f * ((1.0 - a) * b * a + a * screen)
        }
        "linear_light" => b.gt(0.5).select(a + f * ((b - 0.5) * 2.0), a + f * (b * 2.0 - 1.0)),
        _ => rest * a + f * b,
    }
}

/// The blend modes that replace hue, saturation or value. Gray has no hue to replace.
fn by_hue<'b>(blend: &str, f: Val<'b>, a: &[Val<'b>], b: &[Val<'b>]) -> Vec<Val<'b>> {
    let rest: Val<'b> = 1.0 - f;
    let (of_a, of_b) = (rgb_to_hsv(a), rgb_to_hsv(b));
    let mixed = |to: [Val<'b>; 3], gray: Val<'b>| {
        let each = a.iter().zip(to).map(|(a, to)| gray.select(*a, rest * *a + f * to));
        each.collect::<Vec<_>>()
    };
    match blend {
        "hue" => mixed(hsv_to_rgb(of_b[0], of_a[1], of_a[2]), of_b[1].eq(0.0)),
        "color" => mixed(hsv_to_rgb(of_b[0], of_b[1], of_a[2]), of_b[1].eq(0.0)),
        "saturation" => {
            let to = hsv_to_rgb(of_a[0], rest * of_a[1] + f * of_b[1], of_a[2]);
            let gray = of_a[1].eq(0.0);
            a.iter().zip(to).map(|(a, to)| gray.select(*a, to)).collect()
        }
        _ => hsv_to_rgb(of_a[0], of_a[1], rest * of_a[2] + f * of_b[2]).to_vec(),
    }
}
