//! Rows and columns of matrices, camera matrices, transformation of normals.

use millstream_base::{Mat4, Type, Vec3, Vec4};
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use super::mat4::{affine, matrix_input};
use super::{Direction, cross, dot, each, length, moderate, normalized};
use crate::shape::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(combine());
    registry.register(separate());
    registry.register(mix());
    registry.register(transform_normal());
    registry.register(look_at());
    registry.register(perspective());
    registry.register(orthographic());
}

const LINES: &[(&str, &str)] = &[
    ("rows", "the vectors are rows, from top to bottom"),
    ("columns", "the vectors are columns, from left to right"),
];
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Adds the setting that selects between rows and columns.
pub(super) fn by_lines(def: NodeDef) -> NodeDef {
    def.choice("lines", LINES, "rows", "whether the vectors are rows or columns")
}

/// The index in a matrix of element `i` of a row or column.
fn at(columns: bool, line: usize, i: usize) -> usize {
    if columns { 4 * i + line } else { 4 * line + i }
}

fn combine() -> NodeDef {
    let def = by_lines(NodeDef::new("mat4.combine", "A matrix from its rows or columns"));
    let identity = Mat4::default().0;
    let line = |i: usize| Vec4([0, 1, 2, 3].map(|k| identity[4 * i + k]));
    (0..4)
        .fold(def, |def, i| def.input_or(NAMES[i], Type::VEC4, line(i), ""))
        .output("value", Type::MAT4, "")
        .kernel(form_by_settings(|settings, inputs| {
            let columns = settings.text("lines") == "columns";
            let mut matrix = vec![inputs[0][0]; 16];
            for (line, numbers) in inputs.iter().enumerate() {
                for (i, x) in numbers.iter().enumerate() {
                    matrix[at(columns, line, i)] = *x;
                }
            }
            vec![matrix]
        }))
}

fn separate() -> NodeDef {
    let def = by_lines(NodeDef::new("mat4.separate", "The rows or columns of a matrix"));
    NAMES
        .into_iter()
        .fold(matrix_input(def, "matrix", ""), |def, name| def.output(name, Type::VEC4, ""))
        .kernel(form_by_settings(|settings, inputs| {
            let columns = settings.text("lines") == "columns";
            let line = |line: usize| (0..4).map(|i| inputs[0][at(columns, line, i)]).collect();
            (0..4).map(line).collect()
        }))
}

fn mix() -> NodeDef {
    let def = NodeDef::new("mat4.mix", "Mixes two matrices element by element").details(
        "Mixed rotations also shrink; to interpolate rotations use `mat4.decompose`, `quat.slerp` \
         and `mat4.compose`.",
    );
    matrix_input(matrix_input(def, "a", "matrix at factor 0"), "b", "matrix at factor 1")
        .input_or(
            "factor",
            Type::F32,
            0.5,
            "position from a (0) to b (1); extrapolates beyond them",
        )
        .output("value", Type::MAT4, "")
        .form(|_, inputs| {
            vec![each(&inputs[0], &inputs[1], |a, b| crate::mix::mix(a, b, inputs[2][0]))]
        })
}

fn transform_normal() -> NodeDef {
    let def = NodeDef::new(
        "mat4.transform_normal",
        "Transforms the normal of a surface by a matrix",
    )
    .details(
        "The result has length 1 and is perpendicular to the transformed surface, on the same \
         side, also if the matrix scales unevenly. Zero if the matrix flattens the direction of \
         the normal, or if the normal has length 0.",
    );
    matrix_input(def, "matrix", "matrix that transforms the surface")
        .input_or("normal", Type::VEC3, Vec3([0.0, 0.0, 1.0]), "normal of any length")
        .output("value", Type::VEC3, "length 1")
        .form(|_, inputs| {
            let (m, (n, _)) = (&inputs[0], moderate(&inputs[1]));
            let row = |i: usize| vec![m[4 * i], m[4 * i + 1], m[4 * i + 2]];
            let rows = [row(0), row(1), row(2)];
            // The cofactors of the upper left part: its inverse transpose times the determinant.
            let cofactors =
                [cross(&rows[1], &rows[2]), cross(&rows[2], &rows[0]), cross(&rows[0], &rows[1])];
            let mirrored = dot(&cofactors[0], &rows[0]).lt(0.0);
            let turned = Direction::of(&cofactors.map(|c| dot(&c, &n))).unit;
            vec![turned.iter().map(|x| mirrored.select(-*x, *x)).collect()]
        })
}

fn look_at() -> NodeDef {
    NodeDef::new("mat4.look_at", "The view matrix of a camera")
        .details(
            "Transforms the world to camera space: the camera is at the origin and looks along -z, \
             with x to the right and y up. If `up` is parallel to the viewing direction, or 0, \
             another direction is used; if eye and target coincide, the camera looks along -z. \
             `mat4.invert` gives the matrix that places the camera in the world.",
        )
        .input_or("eye", Type::VEC3, Vec3([0.0, 0.0, 1.0]), "position of the camera")
        .input_or("target", Type::VEC3, 0.0, "point at which the camera looks")
        .input_or(
            "up",
            Type::VEC3,
            Vec3([0.0, 1.0, 0.0]),
            "direction that is up in the view, of any length",
        )
        .output("value", Type::MAT4, "")
        .form(|_, inputs| {
            let (eye, up) = (&inputs[0], Direction::of(&inputs[2]).unit);
            let way = each(eye, &inputs[1], |e, t| e - t);
            let Direction { unit: back, is_none: here } = Direction::of(&way);
            let back: Vec<Val<'_>> =
                back.iter().zip([0.0, 0.0, 1.0]).map(|(x, z)| here.select(x.like(z), *x)).collect();
            let right = cross(&up, &back);
            let parallel = length(&right).lt(1e-6);
            let side = super::rotation::sideways(&back);
            let right = normalized(&each(&side, &right, |a, b| parallel.select(a, b)));
            let top = cross(&back, &right);
            let rows = [[right[0], right[1], right[2]], top, [back[0], back[1], back[2]]];
            vec![affine(&rows, &rows.map(|row| -dot(&row, eye)))]
        })
}

fn bounded(def: NodeDef) -> NodeDef {
    def.input_or("near", Type::F32, 0.1, "distance of the near plane, which becomes z = -1")
        .input_or("far", Type::F32, 100.0, "distance of the far plane, which becomes z = 1")
        .output("value", Type::MAT4, "")
}

fn perspective() -> NodeDef {
    let def = NodeDef::new("mat4.perspective", "A perspective projection matrix")
        .details(
            "Maps the view of the camera of `mat4.look_at` to the cube from -1 to 1: x to the \
             right, y up, z away from the camera. Apply it with `mat4.project_point`. An angle of \
             view of 0, or equal distances, cause a division by 0.",
        )
        .input_or("angle", Type::F32, 1.0, "vertical angle of view in radians")
        .input_or("aspect", Type::F32, 1.0, "width divided by height");
    bounded(def).form(|_, inputs| {
        let [angle, aspect, near, far] = [0, 1, 2, 3].map(|i| inputs[i][0]);
        let (zero, steep): (Val<'_>, Val<'_>) = (angle.like(0.0), 1.0 / (angle * 0.5).tan());
        let mut m = vec![zero; 16];
        m[0] = steep / aspect;
        m[5] = steep;
        m[10] = (far + near) / (near - far);
        m[11] = far * near * 2.0 / (near - far);
        m[14] = zero.like(-1.0);
        vec![m]
    })
}

fn orthographic() -> NodeDef {
    let def = NodeDef::new("mat4.orthographic", "An orthographic projection matrix")
        .details(
            "Maps the view of the camera of `mat4.look_at` to the cube from -1 to 1: x to the \
             right, y up, z away from the camera. A width or height of 0, or equal distances, \
             cause a division by 0.",
        )
        .input_or("width", Type::F32, 2.0, "width of the view")
        .input_or("height", Type::F32, 2.0, "height of the view");
    bounded(def).form(|_, inputs| {
        let [width, height, near, far] = [0, 1, 2, 3].map(|i| inputs[i][0]);
        let zero: Val<'_> = width.like(0.0);
        let rows = [
            [2.0 / width, zero, zero],
            [zero, 2.0 / height, zero],
            [zero, zero, 2.0 / (near - far)],
        ];
        vec![affine(&rows, &[zero, zero, (far + near) / (near - far)])]
    })
}
