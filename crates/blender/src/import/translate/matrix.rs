//! Matrices and transforms.

use serde_json::json;

use super::super::error::ImportError;
use super::super::kind::Kind;
use super::super::node::NodeContext;
use super::super::writer::Source;
use super::unknown_node;

pub(super) fn translate(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    match &*cx.node.ty {
        "FunctionNodeCombineMatrix" => combine(cx),
        "FunctionNodeSeparateMatrix" => separate(cx),
        "FunctionNodeCombineTransform" => {
            let translation = cx.input("Translation", Kind::Vector)?;
            let rotation = cx.input("Rotation", Kind::Rotation)?;
            let is_constant = cx.is_constant(&translation) && cx.is_constant(&rotation);
            let set = if is_constant { vec![("constant", json!(true))] } else { vec![] };
            let inputs = vec![
                ("translation", translation),
                ("rotation", rotation),
                ("scale", cx.input("Scale", Kind::Vector)?),
            ];
            let source = cx.write("blender.combine_transform", &set, inputs, Kind::Matrix);
            cx.give("Transform", &source);
            Ok(())
        }
        "FunctionNodeSeparateTransform" => {
            let matrix = cx.input("Transform", Kind::Matrix)?;
            let name = cx.write_many("blender.separate_transform", &[], vec![("matrix", matrix)]);
            for (ours, theirs, kind) in [
                ("translation", "Translation", Kind::Vector),
                ("rotation", "Rotation", Kind::Rotation),
                ("scale", "Scale", Kind::Vector),
            ] {
                cx.give_part(theirs, kind, &name, ours);
            }
            Ok(())
        }
        "FunctionNodeMatrixMultiply" => {
            let inputs = vec![
                ("a", cx.input("Matrix", Kind::Matrix)?),
                ("b", cx.input("Matrix_001", Kind::Matrix)?),
            ];
            give(cx, "mat4.multiply", inputs, "Matrix", Kind::Matrix);
            Ok(())
        }
        "FunctionNodeTransposeMatrix" => {
            let inputs = vec![("matrix", cx.input("Matrix", Kind::Matrix)?)];
            give(cx, "mat4.transpose", inputs, "Matrix", Kind::Matrix);
            Ok(())
        }
        "FunctionNodeMatrixDeterminant" => {
            let inputs = vec![("matrix", cx.input("Matrix", Kind::Matrix)?)];
            give(cx, "mat4.determinant", inputs, "Determinant", Kind::Value);
            Ok(())
        }
        "FunctionNodeInvertMatrix" => invert(cx),
        "FunctionNodeMatrixSVD" => {
            let matrix = cx.input("Matrix", Kind::Matrix)?;
            let name = cx.write_many("mat4.svd", &[], vec![("matrix", matrix)]);
            for (ours, theirs, kind) in
                [("u", "U", Kind::Matrix), ("factors", "S", Kind::Vector), ("v", "V", Kind::Matrix)]
            {
                cx.give_part(theirs, kind, &name, ours);
            }
            Ok(())
        }
        "FunctionNodeTransformPoint" => point(cx, "mat4.transform_point", "Vector", "point"),
        "FunctionNodeTransformDirection" => {
            point(cx, "mat4.transform_direction", "Direction", "direction")
        }
        "FunctionNodeProjectPoint" => point(cx, "blender.project_point", "Vector", "point"),
        _ => Err(unknown_node(cx)),
    }
}

fn give(cx: &mut NodeContext<'_>, ty: &str, inputs: Vec<(&str, Source)>, role: &str, kind: Kind) {
    let source = cx.write(ty, &[], inputs, kind);
    cx.give(role, &source);
}

fn point(
    cx: &mut NodeContext<'_>,
    ty: &str,
    socket: &str,
    name: &'static str,
) -> Result<(), ImportError> {
    let inputs = vec![
        ("matrix", cx.input("Transform", Kind::Matrix)?),
        (name, cx.input(socket, Kind::Vector)?),
    ];
    give(cx, ty, inputs, socket, Kind::Vector);
    Ok(())
}

/// Names of the elements, column by column: Blender's and ours.
fn elements() -> impl Iterator<Item = (String, String)> {
    let all = (1..=4).flat_map(|column| (1..=4).map(move |row| (column, row)));
    all.map(|(c, r)| (format!("Column {c} Row {r}"), format!("column_{c}_row_{r}")))
}

fn combine(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let names: Vec<(String, String)> = elements().collect();
    let mut inputs = Vec::new();
    for (theirs, ours) in &names {
        inputs.push((&**ours, cx.input(theirs, Kind::Value)?));
    }
    give(cx, "blender.combine_matrix", inputs, "Matrix", Kind::Matrix);
    Ok(())
}

fn separate(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let matrix = cx.input("Matrix", Kind::Matrix)?;
    let name = cx.write_many("blender.separate_matrix", &[], vec![("matrix", matrix)]);
    for (theirs, ours) in elements() {
        cx.give_part(&theirs, Kind::Value, &name, &ours);
    }
    Ok(())
}

fn invert(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let matrix = cx.input("Matrix", Kind::Matrix)?;
    let inputs = vec![("matrix", matrix.clone())];
    let determinant = cx.write("mat4.determinant", &[], inputs, Kind::Value);
    let inputs = vec![("determinant", determinant)];
    let is_invertible = cx.write("blender.is_invertible", &[], inputs, Kind::Boolean);
    let inverse = cx.write("mat4.invert", &[], vec![("matrix", matrix)], Kind::Matrix);
    let one = NodeContext::literal(Kind::Matrix, Kind::Matrix.zero());
    let arms = vec![("condition", is_invertible.clone()), ("false", one), ("true", inverse)];
    give(cx, "control.switch", arms, "Matrix", Kind::Matrix);
    cx.give_exactly("Invertible", is_invertible);
    Ok(())
}
