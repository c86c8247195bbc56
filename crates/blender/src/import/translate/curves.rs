//! Float Curve, Vector Curves, RGB Curves.

use serde_json::{Value as Json, json};

use super::super::error::ImportError;
use super::super::kind::Kind;
use super::super::node::NodeContext;
use super::super::writer::Source;
use super::logic::switched;

/// A curve on a number: settings of `blender.float_curve`.
struct Curve {
    set: Vec<(&'static str, Json)>,
}

/// The first `n` curves of a node, with the setting for their extension.
fn curves(cx: &NodeContext<'_>, n: usize) -> Result<Vec<Curve>, ImportError> {
    let unknown = || cx.unknown("mapping");
    let mapping = cx.node.props.get("mapping").ok_or_else(unknown)?;
    let all = mapping["curves"].as_array().filter(|all| all.len() >= n).ok_or_else(unknown)?;
    let extend = match mapping["extend"].as_str().unwrap_or("EXTRAPOLATED") {
        "EXTRAPOLATED" => true,
        "HORIZONTAL" => false,
        _ => return Err(unknown()),
    };
    let clip = mapping["clip"].as_array().filter(|clip| clip.len() == 4);
    // Results of Vector Curves and RGB Curves are never clipped.
    let is_number = cx.node.ty == "ShaderNodeFloatCurve";
    let uses_clip = is_number && mapping["use_clip"].as_bool().unwrap_or(true);
    all.iter()
        .take(n)
        .map(|curve| {
            // A curve is a list of points, or an object that has one.
            let points = curve["points"].as_array().or(curve.as_array()).ok_or_else(unknown)?;
            let (mut numbers, mut handles) = (Vec::new(), Vec::new());
            for point in points {
                let at = point["at"].as_array().or(point["location"].as_array());
                numbers.extend(at.filter(|at| at.len() == 2).ok_or_else(unknown)?.iter().cloned());
                let handle = point["handle"].as_str().or(point["handle_type"].as_str());
                handles.push(handle.unwrap_or("AUTO").to_lowercase());
            }
            let mut set = vec![
                ("points", json!(numbers)),
                ("handles", json!(handles)),
                ("extend", json!(extend)),
            ];
            if let Some(clip) = clip {
                set.push(("table", json!([clip[0], clip[2]])));
                if uses_clip {
                    set.push(("clip", json!([clip[1], clip[3]])));
                }
            }
            Ok(Curve { set })
        })
        .collect()
}

impl Curve {
    fn of(&self, cx: &mut NodeContext<'_>, x: Source) -> Source {
        cx.write("blender.float_curve", &self.set, vec![("x", x)], Kind::Value)
    }
}

/// Mixes a value with the result of the curves. A constant factor of one gives the result, whatever
/// the value.
fn mixed(cx: &mut NodeContext<'_>, factor: Source, from: Source, to: Source) -> Source {
    if matches!(&factor, Source::Literal(_, json) if json.as_f64() == Some(1.0)) {
        return to;
    }
    let kind = from.kind();
    let inputs = vec![("a", from), ("b", to.clone()), ("factor", factor.clone())];
    let mixed = cx.write_generic("mix.mix", &[("clamp", json!(false))], inputs, (kind, kind));
    if factor.is_literal() {
        return mixed;
    }
    let one = Source::Literal(Kind::Value, json!(1.0));
    let is_one = cx.write("compare.equal", &[], vec![("a", factor), ("b", one)], Kind::Boolean);
    switched(cx, is_one, vec![("false", mixed), ("true", to)], kind)
}

pub(super) fn float(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let curve = curves(cx, 1)?.remove(0);
    let x = cx.input("Value", Kind::Value)?;
    let factor = cx.input("Factor", Kind::Value)?;
    let y = curve.of(cx, x.clone());
    let source = mixed(cx, factor, x, y);
    cx.give("Value", &source);
    Ok(())
}

pub(super) fn vector(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let curves = curves(cx, 3)?;
    let vector = cx.input("Vector", Kind::Vector)?;
    let factor = cx.input("Fac", Kind::Value)?;
    let parts = cx.write_many("vector.separate_vec3", &[], vec![("vector", vector.clone())]);
    let mut inputs = Vec::new();
    for (name, curve) in ["x", "y", "z"].into_iter().zip(&curves) {
        let part = NodeContext::part(Kind::Value, &parts, name);
        inputs.push((name, curve.of(cx, part)));
    }
    let of_curves = cx.write("vector.combine_vec3", &[], inputs, Kind::Vector);
    let source = mixed(cx, factor, vector, of_curves);
    cx.give("Vector", &source);
    Ok(())
}

pub(super) fn color(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    // The tone of the mapping is for images: geometry nodes ignore it.
    let curves = curves(cx, 4)?;
    let color = cx.input("Color", Kind::Color)?;
    let factor = cx.input("Fac", Kind::Value)?;
    let parts = cx.write_many("color.separate", &[], vec![("color", color)]);
    let mut inputs = Vec::new();
    for (i, name) in ["red", "green", "blue"].into_iter().enumerate() {
        let x = NodeContext::part(Kind::Value, &parts, name);
        let of_all = curves[3].of(cx, x.clone());
        let of_curves = curves[i].of(cx, of_all);
        inputs.push((name, mixed(cx, factor.clone(), x, of_curves)));
    }
    // The result is opaque, whatever the alpha of the color.
    let source = cx.write("color.combine", &[], inputs, Kind::Color);
    cx.give("Color", &source);
    Ok(())
}
