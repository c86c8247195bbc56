//! Textures.

use serde_json::{Value as Json, json};

use super::super::dump::Release;
use super::super::error::ImportError;
use super::super::kind::Kind;
use super::super::node::NodeContext;
use super::super::writer::Source;
use super::unknown_node;

pub(super) fn translate(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    match &*cx.node.ty {
        "ShaderNodeTexWhiteNoise" => white(cx),
        "ShaderNodeTexNoise" => noise(cx),
        "ShaderNodeTexVoronoi" => voronoi(cx),
        "ShaderNodeTexWave" => wave(cx),
        "ShaderNodeTexGradient" => gradient(cx),
        "ShaderNodeTexChecker" => checker(cx),
        "ShaderNodeTexMagic" => magic(cx),
        "ShaderNodeTexBrick" => brick(cx),
        "ShaderNodeTexGabor" => gabor(cx),
        "ShaderNodeRadialTiling" => radial_tiling(cx),
        _ => Err(unknown_node(cx)),
    }
}

/// Settings and inputs of a node being written.
type Parts<'n> = (Vec<(&'n str, Json)>, Vec<(&'n str, Source)>);

/// The position of the texture; the position of the element if nothing is linked.
fn vector(cx: &mut NodeContext<'_>) -> Result<Source, ImportError> {
    if cx.is_unlinked("Vector") {
        return Ok(cx.position());
    }
    cx.input("Vector", Kind::Vector)
}

/// The number of dimensions, and the coordinates in them.
fn placed(cx: &mut NodeContext<'_>, property: &str) -> Result<Parts<'static>, ImportError> {
    let dimensions = match cx.text(property, "3D") {
        "1D" => 1,
        "2D" => 2,
        "3D" => 3,
        "4D" => 4,
        _ => return Err(cx.unknown(property)),
    };
    let mut inputs = Vec::new();
    if dimensions > 1 {
        inputs.push(("vector", vector(cx)?));
    }
    if matches!(dimensions, 1 | 4) {
        inputs.push(("w", cx.input("W", Kind::Value)?));
    }
    Ok((vec![("dimensions", json!(dimensions))], inputs))
}

/// Adds numbers from the sockets that exist.
fn numbers<'n>(
    cx: &mut NodeContext<'_>,
    inputs: &mut Vec<(&'n str, Source)>,
    sockets: &[(&'n str, &str)],
) -> Result<(), ImportError> {
    for (ours, theirs) in sockets {
        if cx.has_input(theirs) {
            inputs.push((ours, cx.input(theirs, Kind::Value)?));
        }
    }
    Ok(())
}

/// The number of octaves for a detail; the maximum if the detail is unknown at import.
fn octaves(cx: &mut NodeContext<'_>) -> Result<Json, ImportError> {
    let detail = cx.input_or("Detail", Kind::Value, json!(0))?;
    let known = match &detail {
        Source::Literal(_, json) => json.as_f64(),
        Source::Input(..) | Source::Link(..) => None,
    };
    Ok(json!(known.map_or(16, |detail| detail.clamp(0.0, 15.0).ceil() as i64 + 1)))
}

/// The value of a property in lower case.
fn lower(cx: &NodeContext<'_>, property: &str, known: &[&str]) -> Result<Json, ImportError> {
    let value = cx.text(property, known[0]);
    if known.contains(&value) { Ok(json!(value.to_lowercase())) } else { Err(cx.unknown(property)) }
}

fn white(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let (set, inputs) = placed(cx, "noise_dimensions")?;
    let node = cx.write_many("blender.white_noise", &set, inputs);
    cx.give_part("Value", Kind::Value, &node, "value");
    cx.give_part("Color", Kind::Color, &node, "color");
    Ok(())
}

fn noise(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    const TYPES: [&str; 5] =
        ["FBM", "MULTIFRACTAL", "RIDGED_MULTIFRACTAL", "HYBRID_MULTIFRACTAL", "HETERO_TERRAIN"];
    let (mut set, mut inputs) = placed(cx, "noise_dimensions")?;
    set.push(("type", lower(cx, "noise_type", &TYPES)?));
    set.push(("normalize", json!(cx.flag("normalize", true))));
    set.push(("octaves", octaves(cx)?));
    let sockets = [
        ("scale", "Scale"),
        ("detail", "Detail"),
        ("roughness", "Roughness"),
        ("lacunarity", "Lacunarity"),
        ("offset", "Offset"),
        ("gain", "Gain"),
        ("distortion", "Distortion"),
    ];
    numbers(cx, &mut inputs, &sockets)?;
    let value = cx.write("blender.noise", &set, inputs.clone(), Kind::Value);
    cx.give("Fac", &value);
    let color = cx.write("blender.noise_color", &set, inputs, Kind::Color);
    cx.give("Color", &color);
    Ok(())
}

fn voronoi(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    const METRICS: [&str; 4] = ["EUCLIDEAN", "MANHATTAN", "CHEBYCHEV", "MINKOWSKI"];
    if cx.release < Release(5, 0) && cx.text("voronoi_dimensions", "3D") != "1D" {
        // The points in the cells were different before.
        return Err(cx.changed("Voronoi in two and more dimensions", "5.0"));
    }
    let (mut set, mut inputs) = placed(cx, "voronoi_dimensions")?;
    let mut sockets = vec![("scale", "Scale"), ("randomness", "Randomness")];
    let feature = cx.text("feature", "F1");
    if feature == "N_SPHERE_RADIUS" {
        numbers(cx, &mut inputs, &sockets)?;
        let radius = cx.write("blender.voronoi_radius", &set, inputs, Kind::Value);
        cx.give("Radius", &radius);
        return Ok(());
    }
    set.push(("octaves", octaves(cx)?));
    set.push(("normalize", json!(cx.flag("normalize", false))));
    sockets.extend([
        ("detail", "Detail"),
        ("roughness", "Roughness"),
        ("lacunarity", "Lacunarity"),
    ]);
    if feature == "DISTANCE_TO_EDGE" {
        numbers(cx, &mut inputs, &sockets)?;
        let edge = cx.write("blender.voronoi_edge", &set, inputs, Kind::Value);
        cx.give("Distance", &edge);
        return Ok(());
    }
    sockets.extend([("smoothness", "Smoothness"), ("exponent", "Exponent")]);
    numbers(cx, &mut inputs, &sockets)?;
    set.push(("feature", lower(cx, "feature", &["F1", "F2", "SMOOTH_F1"])?));
    set.push(("metric", lower(cx, "distance", &METRICS)?));
    let node = cx.write_many("blender.voronoi", &set, inputs);
    for (theirs, kind, ours) in [
        ("Distance", Kind::Value, "distance"),
        ("Color", Kind::Color, "color"),
        ("Position", Kind::Vector, "position"),
        ("W", Kind::Value, "w"),
    ] {
        cx.give_part(theirs, kind, &node, ours);
    }
    Ok(())
}

fn wave(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let shape = lower(cx, "wave_type", &["BANDS", "RINGS"])?;
    let direction = if shape == "bands" {
        lower(cx, "bands_direction", &["X", "Y", "Z", "DIAGONAL"])?
    } else {
        match lower(cx, "rings_direction", &["X", "Y", "Z", "SPHERICAL"])? {
            Json::String(text) if text == "spherical" => json!("diagonal"),
            other => other,
        }
    };
    let set = [
        ("type", shape),
        ("direction", direction),
        ("profile", lower(cx, "wave_profile", &["SIN", "SAW", "TRI"])?),
        ("octaves", octaves(cx)?),
    ];
    let mut inputs = vec![("vector", vector(cx)?)];
    let sockets = [
        ("scale", "Scale"),
        ("distortion", "Distortion"),
        ("detail", "Detail"),
        ("detail_scale", "Detail Scale"),
        ("detail_roughness", "Detail Roughness"),
        ("phase", "Phase Offset"),
    ];
    numbers(cx, &mut inputs, &sockets)?;
    let value = cx.write("blender.wave", &set, inputs, Kind::Value);
    gray(cx, &value)
}

/// Sets a number, and the same number as a gray color.
fn gray(cx: &mut NodeContext<'_>, value: &Source) -> Result<(), ImportError> {
    cx.give("Fac", value);
    let color = cx.as_kind(value.clone(), Kind::Color)?;
    cx.give("Color", &color);
    Ok(())
}

fn gradient(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    const TYPES: [&str; 7] =
        ["LINEAR", "QUADRATIC", "EASING", "DIAGONAL", "SPHERICAL", "QUADRATIC_SPHERE", "RADIAL"];
    // Before 5.0 the result was not clamped to 0 to 1.
    let clamp = ("clamp", json!(cx.release >= Release(5, 0)));
    let set = [("type", lower(cx, "gradient_type", &TYPES)?), clamp];
    let inputs = vec![("vector", vector(cx)?)];
    let value = cx.write("blender.gradient", &set, inputs, Kind::Value);
    gray(cx, &value)
}

fn checker(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let inputs = vec![
        ("vector", vector(cx)?),
        ("color1", cx.input("Color1", Kind::Color)?),
        ("color2", cx.input("Color2", Kind::Color)?),
        ("scale", cx.input("Scale", Kind::Value)?),
    ];
    let node = cx.write_many("blender.checker", &[], inputs);
    cx.give_part("Color", Kind::Color, &node, "color");
    cx.give_part("Fac", Kind::Value, &node, "factor");
    Ok(())
}

fn magic(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let depth = cx.node.props.get("turbulence_depth").map_or(Some(2), Json::as_i64);
    let depth = depth.ok_or_else(|| cx.unknown("turbulence_depth"))?;
    let mut inputs = vec![("vector", vector(cx)?)];
    numbers(cx, &mut inputs, &[("scale", "Scale"), ("distortion", "Distortion")])?;
    let node = cx.write_many("blender.magic", &[("depth", json!(depth))], inputs);
    cx.give_part("Color", Kind::Color, &node, "color");
    cx.give_part("Fac", Kind::Value, &node, "factor");
    Ok(())
}

fn brick(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let of = |name: &'static str, default: f64| {
        let value = cx.node.props.get(name).map_or(Some(default), Json::as_f64);
        value.map(|value| (name, value)).ok_or_else(|| cx.unknown(name))
    };
    let mut set = Vec::new();
    for (name, value) in [of("offset", 0.5)?, of("squash", 1.0)?] {
        set.push((name, json!(value)));
    }
    for (name, value) in [of("offset_frequency", 2.0)?, of("squash_frequency", 2.0)?] {
        set.push((name, json!(value as i64)));
    }
    let mut inputs = vec![("vector", vector(cx)?)];
    for (ours, theirs) in [("color1", "Color1"), ("color2", "Color2"), ("mortar", "Mortar")] {
        inputs.push((ours, cx.input(theirs, Kind::Color)?));
    }
    let sockets = [
        ("scale", "Scale"),
        ("mortar_size", "Mortar Size"),
        ("mortar_smooth", "Mortar Smooth"),
        ("bias", "Bias"),
        ("brick_width", "Brick Width"),
        ("row_height", "Row Height"),
    ];
    numbers(cx, &mut inputs, &sockets)?;
    let node = cx.write_many("blender.brick", &set, inputs);
    cx.give_part("Color", Kind::Color, &node, "color");
    cx.give_part("Fac", Kind::Value, &node, "factor");
    Ok(())
}

fn gabor(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let dimensions = match cx.text("gabor_type", "2D") {
        "2D" => 2,
        "3D" => 3,
        _ => return Err(cx.unknown("gabor_type")),
    };
    let mut inputs = vec![("vector", vector(cx)?)];
    let mut sockets =
        vec![("scale", "Scale"), ("frequency", "Frequency"), ("anisotropy", "Anisotropy")];
    if dimensions == 2 {
        sockets.push(("orientation_2d", "Orientation 2D"));
    } else {
        inputs.push(("orientation_3d", cx.input("Orientation 3D", Kind::Vector)?));
    }
    numbers(cx, &mut inputs, &sockets)?;
    let node = cx.write_many("blender.gabor", &[("dimensions", json!(dimensions))], inputs);
    cx.give_part("Value", Kind::Value, &node, "value");
    cx.give_part("Phase", Kind::Value, &node, "phase");
    cx.give_part("Intensity", Kind::Value, &node, "intensity");
    Ok(())
}

fn radial_tiling(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let mut inputs = vec![("vector", cx.input("Vector", Kind::Vector)?)];
    numbers(cx, &mut inputs, &[("sides", "Sides"), ("roundness", "Roundness")])?;
    let set = [("normalize", json!(cx.flag("normalize", false)))];
    let node = cx.write_many("blender.radial_tiling", &set, inputs);
    for (theirs, kind, ours) in [
        ("Segment Coordinates", Kind::Vector, "coordinates"),
        ("Segment ID", Kind::Value, "segment"),
        ("Segment Width", Kind::Value, "width"),
        ("Segment Rotation", Kind::Value, "rotation"),
    ] {
        cx.give_part(theirs, kind, &node, ours);
    }
    Ok(())
}
