//! Vector Math, Combine and Separate XYZ, Vector Rotate.

use serde_json::json;

use super::super::dump::Release;
use super::super::error::ImportError;
use super::super::kind::Kind;
use super::super::node::NodeContext;
use super::math::{Operation, by_component, written};

const SOCKETS: [&str; 3] = ["Vector", "Vector_001", "Vector_002"];

pub(super) fn math(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let name = cx.text("operation", "ADD");
    let of = |ty, sockets| Operation { ty, operation: None, sockets };
    let theirs =
        |name| Operation { ty: "blender.vector", operation: Some(name), sockets: &["a", "b"] };
    let (operation, result) = match name {
        "CROSS_PRODUCT" => (theirs("cross_product"), Kind::Vector),
        "PROJECT" => (theirs("project"), Kind::Vector),
        "REFLECT" => (theirs("reflect"), Kind::Vector),
        "FACEFORWARD" => {
            (of("vector.faceforward", &["vector", "incident", "reference"]), Kind::Vector)
        }
        "NORMALIZE" => (of("blender.normalize", &["vector"]), Kind::Vector),
        "DOT_PRODUCT" => (of("vector.dot", &["a", "b"]), Kind::Value),
        "DISTANCE" => (of("vector.distance", &["a", "b"]), Kind::Value),
        "LENGTH" => (of("vector.length", &["vector"]), Kind::Value),
        // From this release on, division by zero gives zero.
        "MODULO" if cx.release < Release(5, 2) => (of("math.modulo", &["a", "b"]), Kind::Vector),
        "SCALE" | "REFRACT" => return with_number(cx, name),
        _ => match by_component(name) {
            Some(operation) => (operation, Kind::Vector),
            None => return Err(cx.unknown("operation")),
        },
    };
    let source = written(cx, &operation, &SOCKETS, (Kind::Vector, result))?;
    cx.give(if result == Kind::Vector { "Vector" } else { "Value" }, &source);
    Ok(())
}

fn with_number(cx: &mut NodeContext<'_>, name: &str) -> Result<(), ImportError> {
    let vector = cx.input("Vector", Kind::Vector)?;
    let number = cx.input("Scale", Kind::Value)?;
    let kinds = (Kind::Vector, Kind::Vector);
    let source = if name == "SCALE" {
        cx.write_generic("vector.scale", &[], vec![("vector", vector), ("factor", number)], kinds)
    } else {
        let normal = cx.input("Vector_001", Kind::Vector)?;
        let inputs = vec![("a", vector), ("b", normal), ("c", number)];
        cx.write("blender.vector", &[("operation", json!("refract"))], inputs, Kind::Vector)
    };
    cx.give("Vector", &source);
    Ok(())
}

pub(super) fn combine(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let mut inputs = Vec::new();
    for (ours, theirs) in [("x", "X"), ("y", "Y"), ("z", "Z")] {
        inputs.push((ours, cx.input(theirs, Kind::Value)?));
    }
    let source = cx.write("vector.combine_vec3", &[], inputs, Kind::Vector);
    cx.give("Vector", &source);
    Ok(())
}

pub(super) fn separate(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let vector = cx.input("Vector", Kind::Vector)?;
    let name = cx.write_many("vector.separate_vec3", &[], vec![("vector", vector)]);
    for (ours, theirs) in [("x", "X"), ("y", "Y"), ("z", "Z")] {
        cx.give_part(theirs, Kind::Value, &name, ours);
    }
    Ok(())
}

pub(super) fn rotate(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let vector = cx.input("Vector", Kind::Vector)?;
    let center = cx.input("Center", Kind::Vector)?;
    let inverted = cx.flag("invert", false);
    let kinds = (Kind::Vector, Kind::Vector);
    let offset =
        cx.write_generic("math.subtract", &[], vec![("a", vector), ("b", center.clone())], kinds);
    let axis = match cx.text("rotation_type", "AXIS_ANGLE") {
        "AXIS_ANGLE" => Some(cx.input("Axis", Kind::Vector)?),
        "X_AXIS" => Some(NodeContext::literal(Kind::Vector, json!([1, 0, 0]))),
        "Y_AXIS" => Some(NodeContext::literal(Kind::Vector, json!([0, 1, 0]))),
        "Z_AXIS" => Some(NodeContext::literal(Kind::Vector, json!([0, 0, 1]))),
        "EULER_XYZ" => None,
        _ => return Err(cx.unknown("rotation_type")),
    };
    let turned = match axis {
        Some(axis) => {
            let mut angle = cx.input("Angle", Kind::Value)?;
            if inverted {
                angle = cx.write("math.negate", &[], vec![("x", angle)], Kind::Value);
            }
            let inputs = vec![("vector", offset), ("axis", axis), ("angle", angle)];
            cx.write("blender.rotate_about_axis", &[], inputs, Kind::Vector)
        }
        None => {
            let inputs = vec![("vector", offset), ("angles", cx.input("Rotation", Kind::Vector)?)];
            let set = [("invert", json!(inverted))];
            cx.write("blender.rotate_by_angles", &set, inputs, Kind::Vector)
        }
    };
    let source = cx.write_generic("math.add", &[], vec![("a", turned), ("b", center)], kinds);
    cx.give("Vector", &source);
    Ok(())
}
