//! Rotations.

use serde_json::{Value as Json, json};

use super::super::error::ImportError;
use super::super::kind::Kind;
use super::super::node::NodeContext;
use super::super::writer::Source;
use super::unknown_node;

pub(super) fn translate(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let (source, role) = match &*cx.node.ty {
        "FunctionNodeRotateEuler" => (rotate_euler(cx)?, "Rotation"),
        "FunctionNodeRotateRotation" => (rotate_rotation(cx)?, "Rotation"),
        "FunctionNodeRotateVector" => {
            let inputs = vec![
                ("rotation", cx.input("Rotation", Kind::Rotation)?),
                ("vector", cx.input("Vector", Kind::Vector)?),
            ];
            (cx.write("blender.rotate_vector", &[], inputs, Kind::Vector), "Vector")
        }
        "FunctionNodeInvertRotation" => {
            let inputs = vec![("rotation", cx.input("Rotation", Kind::Rotation)?)];
            (cx.write("blender.invert_rotation", &[], inputs, Kind::Rotation), "Rotation")
        }
        "FunctionNodeAxisAngleToRotation" => (axis_angle(cx)?, "Rotation"),
        "FunctionNodeEulerToRotation" => {
            let angles = cx.input("Euler", Kind::Vector)?;
            (cx.as_kind(angles, Kind::Rotation)?, "Rotation")
        }
        "FunctionNodeRotationToEuler" => {
            let rotation = cx.input("Rotation", Kind::Rotation)?;
            (cx.as_kind(rotation, Kind::Vector)?, "Euler")
        }
        "FunctionNodeQuaternionToRotation" => {
            let mut inputs = Vec::new();
            for (ours, theirs) in [("w", "W"), ("x", "X"), ("y", "Y"), ("z", "Z")] {
                inputs.push((ours, cx.input(theirs, Kind::Value)?));
            }
            let ty = "blender.quaternion_to_rotation";
            (cx.write(ty, &[], inputs, Kind::Rotation), "Rotation")
        }
        "FunctionNodeRotationToQuaternion" => return to_quaternion(cx),
        "FunctionNodeRotationToAxisAngle" => return to_axis_angle(cx),
        "FunctionNodeAxesToRotation" => (from_axes(cx)?, "Rotation"),
        "FunctionNodeAlignRotationToVector" => {
            (align(cx, "blender.align_rotation", Kind::Rotation)?, "Rotation")
        }
        "FunctionNodeAlignEulerToVector" => {
            (align(cx, "blender.align_euler", Kind::Vector)?, "Rotation")
        }
        _ => return Err(unknown_node(cx)),
    };
    cx.give(role, &source);
    Ok(())
}

/// A rotation about an axis, from the sockets `Axis` and `Angle`.
fn axis_angle(cx: &mut NodeContext<'_>) -> Result<Source, ImportError> {
    let inputs =
        vec![("axis", cx.input("Axis", Kind::Vector)?), ("angle", cx.input("Angle", Kind::Value)?)];
    Ok(cx.write("blender.axis_angle_to_rotation", &[], inputs, Kind::Rotation))
}

/// One rotation followed by another: about fixed axes, or about the axes as the first has rotated
/// them.
fn product(cx: &mut NodeContext<'_>, first: Source, then: Source, is_local: bool) -> Source {
    let (a, b) = if is_local { (first, then) } else { (then, first) };
    cx.write("quat.multiply", &[], vec![("a", a), ("b", b)], Kind::Rotation)
}

fn rotate_euler(cx: &mut NodeContext<'_>) -> Result<Source, ImportError> {
    let ty = match cx.text("rotation_type", "EULER") {
        // Older versions have another name for this property.
        "EULER" => cx.text("type", "EULER"),
        ty => ty,
    };
    let space = match cx.text("space", "OBJECT") {
        "OBJECT" => "object",
        "LOCAL" => "local",
        _ => return Err(cx.unknown("space")),
    };
    let mut inputs = vec![("rotation", cx.input("Rotation", Kind::Vector)?)];
    let by = match ty {
        "EULER" => {
            inputs.push(("angles", cx.input("Rotate By", Kind::Vector)?));
            "euler"
        }
        "AXIS_ANGLE" => {
            inputs.push(("axis", cx.input("Axis", Kind::Vector)?));
            inputs.push(("angle", cx.input("Angle", Kind::Value)?));
            "axis_angle"
        }
        _ => return Err(cx.unknown("rotation_type")),
    };
    let set = [("by", json!(by)), ("space", json!(space))];
    Ok(cx.write("blender.rotate_euler", &set, inputs, Kind::Vector))
}

fn rotate_rotation(cx: &mut NodeContext<'_>) -> Result<Source, ImportError> {
    let first = cx.input("Rotation", Kind::Rotation)?;
    let then = cx.input("Rotate By", Kind::Rotation)?;
    let is_local = match cx.text("rotation_space", "GLOBAL") {
        "GLOBAL" => false,
        "LOCAL" => true,
        _ => return Err(cx.unknown("rotation_space")),
    };
    Ok(product(cx, first, then, is_local))
}

fn to_quaternion(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let rotation = cx.input("Rotation", Kind::Rotation)?;
    let name = cx.write_many("blender.rotation_to_quaternion", &[], vec![("rotation", rotation)]);
    for (ours, theirs) in [("w", "W"), ("x", "X"), ("y", "Y"), ("z", "Z")] {
        cx.give_part(theirs, Kind::Value, &name, ours);
    }
    Ok(())
}

fn to_axis_angle(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let rotation = cx.input("Rotation", Kind::Rotation)?;
    let name = cx.write_many("blender.rotation_to_axis_angle", &[], vec![("rotation", rotation)]);
    cx.give_part("Axis", Kind::Vector, &name, "axis");
    cx.give_part("Angle", Kind::Value, &name, "angle");
    Ok(())
}

/// The name of the axis in a property, as our nodes write it.
fn axis(cx: &NodeContext<'_>, property: &str, default: &str) -> Result<Json, ImportError> {
    let name = cx.text(property, default);
    match name {
        "X" | "Y" | "Z" | "AUTO" => Ok(json!(name.to_lowercase())),
        _ => Err(cx.unknown(property)),
    }
}

fn from_axes(cx: &mut NodeContext<'_>) -> Result<Source, ImportError> {
    let set = [
        ("primary_axis", axis(cx, "primary_axis", "Z")?),
        ("secondary_axis", axis(cx, "secondary_axis", "X")?),
    ];
    let inputs = vec![
        ("primary", cx.input("Primary Axis", Kind::Vector)?),
        ("secondary", cx.input("Secondary Axis", Kind::Vector)?),
    ];
    Ok(cx.write("blender.axes_to_rotation", &set, inputs, Kind::Rotation))
}

fn align(cx: &mut NodeContext<'_>, ty: &str, kind: Kind) -> Result<Source, ImportError> {
    let set = [("axis", axis(cx, "axis", "X")?), ("pivot", axis(cx, "pivot_axis", "AUTO")?)];
    let inputs = vec![
        ("rotation", cx.input("Rotation", kind)?),
        ("factor", cx.input("Factor", Kind::Value)?),
        ("vector", cx.input("Vector", Kind::Vector)?),
    ];
    Ok(cx.write(ty, &set, inputs, kind))
}
