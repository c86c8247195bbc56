//! Matrices from elements and back, and the parts of a transform.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry};
use millstream_nodes::kit::dot;

use super::rotation::{euler_of, quat_of_euler};

pub(super) fn register(registry: &mut Registry) {
    registry.register(combine());
    registry.register(separate());
    registry.register(decompose());
    registry.register(is_invertible());
    registry.register(project_point());
    registry.register(to_rotation());
}

/// The names of the elements, column by column, and their positions in a matrix stored by rows.
fn elements() -> impl Iterator<Item = (String, usize)> {
    let all = (1..=4).flat_map(|column| (1..=4).map(move |row| (column, row)));
    all.map(|(c, r)| (format!("column_{c}_row_{r}"), 4 * (r - 1) + c - 1))
}

fn combine() -> NodeDef {
    let def = NodeDef::new("blender.combine_matrix", "A matrix from its elements");
    elements()
        .fold(def, |def, (name, at)| {
            let on_diagonal = if at % 5 == 0 { 1.0 } else { 0.0 };
            def.input_or(name, Type::F32, on_diagonal, "")
        })
        .output("value", Type::MAT4, "")
        .form(|_, x| vec![(0..16).map(|at| x[4 * (at % 4) + at / 4][0]).collect()])
}

fn separate() -> NodeDef {
    let def = NodeDef::new("blender.separate_matrix", "The elements of a matrix").input_or(
        "matrix",
        Type::MAT4,
        Default::Zero,
        "",
    );
    elements()
        .fold(def, |def, (name, _)| def.output(name, Type::F32, ""))
        .form(|_, inputs| elements().map(|(_, at)| vec![inputs[0][at]]).collect())
}

/// The columns of the upper left 3 by 3 part.
fn columns<'b>(m: &[Val<'b>]) -> [Vec<Val<'b>>; 3] {
    std::array::from_fn(|column| (0..3).map(|row| m[4 * row + column]).collect())
}

/// The rotation of a matrix, computed from the Euler angles of its normalized columns, and the
/// lengths of these columns.
fn rotation_and_scale<'b>(m: &[Val<'b>]) -> (Vec<Val<'b>>, [Val<'b>; 3]) {
    let columns = columns(m);
    let lengths: [Val<'b>; 3] = std::array::from_fn(|i| dot(&columns[i], &columns[i]).sqrt());
    let directions = columns.map(|column| super::normalized(&column));
    let rows = std::array::from_fn(|row| std::array::from_fn(|column| directions[column][row]));
    (quat_of_euler(&euler_of(&rows, 16.0 * f32::EPSILON)), lengths)
}

fn decompose() -> NodeDef {
    NodeDef::new("blender.separate_transform", "The translation, rotation and scale of a matrix")
        .details(
            "The scale is not negative, and the rotation is computed from the Euler angles of the \
             matrix as if it did not mirror. Shear is lost.",
        )
        .input_or("matrix", Type::MAT4, Default::Zero, "")
        .output("translation", Type::VEC3, "translation, applied last")
        .output("rotation", Type::QUAT, "length 1")
        .output("scale", Type::VEC3, "scale along each axis")
        .form(|_, inputs| {
            let m = &inputs[0];
            let (rotation, lengths) = rotation_and_scale(m);
            vec![vec![m[3], m[7], m[11]], rotation, lengths.to_vec()]
        })
}

fn to_rotation() -> NodeDef {
    NodeDef::new("blender.matrix_to_rotation", "The rotation of a matrix")
        .details("Blender's conversion from a matrix to a rotation.")
        .input_or("matrix", Type::MAT4, Default::Zero, "")
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| vec![rotation_and_scale(&inputs[0]).0])
}

fn project_point() -> NodeDef {
    NodeDef::new("blender.project_point", "Transforms a point by a projective matrix")
        .details("Divides by the magnitude of the fourth coordinate.")
        .input_or("matrix", Type::MAT4, Default::Zero, "")
        .input_or("point", Type::VEC3, 0.0, "")
        .output("value", Type::VEC3, "projected point")
        .form(|_, x| {
            let (m, p) = (&x[0], &x[1]);
            let row = |r: usize| {
                m[4 * r] * p[0] + m[4 * r + 1] * p[1] + m[4 * r + 2] * p[2] + m[4 * r + 3]
            };
            let depth = row(3).abs();
            vec![(0..3).map(|r| row(r) / depth).collect()]
        })
}

fn is_invertible() -> NodeDef {
    NodeDef::new("blender.is_invertible", "Whether a determinant is not zero")
        .details("False if it is 0 or NaN.")
        .input_or("determinant", Type::F32, 1.0, "")
        .output("value", Type::BOOL, "")
        .form(|_, inputs| vec![vec![inputs[0][0].abs().gt(0.0)]])
}
