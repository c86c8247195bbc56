//! Mix, Combine and Separate Color, Gamma, Color Ramp.

use serde_json::{Value as Json, json};

use super::super::dump::Release;
use super::super::error::ImportError;
use super::super::kind::Kind;
use super::super::node::NodeContext;

pub(super) fn mix(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let clamp = cx.flag("clamp_factor", true);
    let kind = match cx.text("data_type", "FLOAT") {
        "FLOAT" => Kind::Value,
        "VECTOR" => Kind::Vector,
        "RGBA" => Kind::Color,
        "ROTATION" => Kind::Rotation,
        _ => return Err(cx.unknown("data_type")),
    };
    let by_component = match cx.text("factor_mode", "UNIFORM") {
        "UNIFORM" => false,
        "NON_UNIFORM" => kind == Kind::Vector,
        _ => return Err(cx.unknown("factor_mode")),
    };
    let factor = cx.input("Factor", if by_component { Kind::Vector } else { Kind::Value })?;
    let inputs = vec![("a", cx.input("A", kind)?), ("b", cx.input("B", kind)?), ("factor", factor)];
    let factor_flag = ("clamp_factor", json!(clamp));
    let source = match kind {
        Kind::Color => {
            let blend = blend(cx)?;
            let result = ("clamp_result", json!(cx.flag("clamp_result", false)));
            let alpha = ("mix_alpha", json!(mixes_alpha(cx)));
            let set = [("blend", json!(blend)), factor_flag, result, alpha];
            cx.write("blender.mix_color", &set, inputs, kind)
        }
        Kind::Rotation => {
            let by_sines = ("by_sines", json!(cx.release < Release(5, 1)));
            cx.write("blender.mix_rotation", &[factor_flag, by_sines], inputs, kind)
        }
        _ if by_component => cx.write("blender.mix_vector", &[factor_flag], inputs, kind),
        _ if clamp => cx.write_generic("blender.mix", &[], inputs, (kind, kind)),
        _ => cx.write_generic("mix.mix", &[], inputs, (kind, kind)),
    };
    cx.give("Result", &source);
    Ok(())
}

/// From this release on the blend "mix" mixes alpha; before that, alpha came from the first color.
fn mixes_alpha(cx: &NodeContext<'_>) -> bool {
    cx.release >= Release(5, 1)
}

/// The blend mode under its name in `blender.mix_color`.
fn blend(cx: &NodeContext<'_>) -> Result<String, ImportError> {
    const BLENDS: [&str; 19] = [
        "MIX",
        "DARKEN",
        "MULTIPLY",
        "BURN",
        "LIGHTEN",
        "SCREEN",
        "DODGE",
        "ADD",
        "OVERLAY",
        "SOFT_LIGHT",
        "LINEAR_LIGHT",
        "DIFFERENCE",
        "EXCLUSION",
        "SUBTRACT",
        "DIVIDE",
        "HUE",
        "SATURATION",
        "COLOR",
        "VALUE",
    ];
    let blend = cx.text("blend_type", "MIX");
    match blend {
        "LIGHTEN" if cx.release < Release(4, 4) => Ok("lighten_part".into()),
        _ if BLENDS.contains(&blend) => Ok(blend.to_lowercase()),
        _ => Err(cx.unknown("blend_type")),
    }
}

/// The predecessor of the Mix node.
pub(super) fn mix_rgb(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let set = [
        ("blend", json!(blend(cx)?)),
        ("clamp_factor", json!(true)),
        ("clamp_result", json!(cx.flag("use_clamp", false))),
        ("mix_alpha", json!(mixes_alpha(cx))),
    ];
    let inputs = vec![
        ("factor", cx.input("Fac", Kind::Value)?),
        ("a", cx.input("Color1", Kind::Color)?),
        ("b", cx.input("Color2", Kind::Color)?),
    ];
    let source = cx.write("blender.mix_color", &set, inputs, Kind::Color);
    cx.give("Color", &source);
    Ok(())
}

pub(super) fn gamma(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let inputs = vec![
        ("color", cx.input("Color", Kind::Color)?),
        ("gamma", cx.input("Gamma", Kind::Value)?),
    ];
    let source = cx.write("blender.gamma", &[], inputs, Kind::Color);
    cx.give("Color", &source);
    Ok(())
}

pub(super) fn blackbody(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let inputs = vec![("temperature", cx.input("Temperature", Kind::Value)?)];
    let source = cx.write("blender.blackbody", &[], inputs, Kind::Color);
    cx.give("Color", &source);
    Ok(())
}

/// The node type, settings and socket names for a color model.
type Model = (bool, Vec<(&'static str, Json)>, [&'static str; 4]);

fn model(cx: &NodeContext<'_>) -> Result<Model, ImportError> {
    let by_hue = ["hue", "saturation", "brightness", "alpha"];
    Ok(match cx.text("mode", "RGB") {
        "RGB" => (true, vec![], ["red", "green", "blue", "alpha"]),
        "HSV" => (false, vec![("model", json!("hsv"))], by_hue),
        "HSL" => (false, vec![("model", json!("hsl"))], by_hue),
        _ => return Err(cx.unknown("mode")),
    })
}

const PARTS: [&str; 4] = ["Red", "Green", "Blue", "Alpha"];

pub(super) fn combine(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let (is_rgb, set, ours) = model(cx)?;
    let mut inputs = Vec::new();
    for (ours, theirs) in ours.into_iter().zip(PARTS) {
        inputs.push((ours, cx.input_or(theirs, Kind::Value, json!(1.0))?));
    }
    let ty = if is_rgb { "color.combine" } else { "blender.combine_color" };
    let source = cx.write(ty, &set, inputs, Kind::Color);
    cx.give("Color", &source);
    Ok(())
}

pub(super) fn separate(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let (is_rgb, set, ours) = model(cx)?;
    let color = cx.input("Color", Kind::Color)?;
    let ty = if is_rgb { "color.separate" } else { "blender.separate_color" };
    let name = cx.write_many(ty, &set, vec![("color", color)]);
    for (ours, theirs) in ours.into_iter().zip(PARTS) {
        cx.give_part(theirs, Kind::Value, &name, ours);
    }
    Ok(())
}

pub(super) fn ramp(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let unknown = |cx: &NodeContext<'_>| cx.unknown("color_ramp");
    let ramp = cx.node.props.get("color_ramp").ok_or_else(|| unknown(cx))?;
    let stops = ramp["stops"].as_array().ok_or_else(|| unknown(cx))?;
    let mut positions = Vec::new();
    let mut colors: Vec<Json> = Vec::new();
    for stop in stops {
        positions.push(stop["at"].clone());
        let color = stop["color"].as_array().filter(|color| color.len() == 4);
        colors.extend(color.ok_or_else(|| unknown(cx))?.iter().cloned());
    }
    let word =
        |key: &str, default: &str| json!(ramp[key].as_str().unwrap_or(default).to_lowercase());
    let set = [
        ("positions", json!(positions)),
        ("colors", json!(colors)),
        ("model", word("mode", "rgb")),
        ("interpolation", word("interpolation", "linear")),
        ("hue", word("hue_interpolation", "near")),
    ];
    let factor = cx.input("Fac", Kind::Value)?;
    let color = cx.write("blender.color_ramp", &set, vec![("factor", factor)], Kind::Color);
    if cx.has_output("Alpha") {
        let parts = cx.write_many("color.separate", &[], vec![("color", color.clone())]);
        cx.give_part("Alpha", Kind::Value, &parts, "alpha");
    }
    cx.give("Color", &color);
    Ok(())
}
