//! Matrices from rows and to rows, matrices of cameras, normals moved by a matrix.

use millstream_base::{Mat4, Type, Vec3, Vec4};
use millstream_form::Val;
use millstream_node::{NodeDef, Registry, SettingKind, SettingValue};

use super::mat4::{affine, matrix_input};
use super::{Direction, cross, dot, each, form_kernel, length, moderate, normalized};

pub(super) fn register(registry: &mut Registry) {
    registry.register(combine());
    registry.register(separate());
    registry.register(mix());
    registry.register(transform_normal());
    registry.register(look_at());
    registry.register(perspective());
    registry.register(orthographic());
}

const LINES: &[(&str, &str)] = &[("rows", "one above the other"), ("columns", "side by side")];
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Adds the setting that says which lines of numbers a matrix is made of.
pub(super) fn by_lines(def: NodeDef) -> NodeDef {
    let rows = Some(SettingValue::Text("rows".into()));
    def.setting("lines", SettingKind::Choice(LINES), rows, "what the vectors are")
}

/// The place in a matrix of number `i` of line `line`.
fn at(columns: bool, line: usize, i: usize) -> usize {
    if columns { 4 * i + line } else { 4 * line + i }
}

fn combine() -> NodeDef {
    let def = by_lines(NodeDef::new("mat4.combine", "A matrix from its rows or columns"));
    let identity = Mat4::default().0;
    let line = |i: usize| Vec4([0, 1, 2, 3].map(|k| identity[4 * i + k]));
    (0..4)
        .fold(def, |def, i| def.input(NAMES[i], Type::VEC4, "").or_value(line(i)))
        .output("value", Type::MAT4, "")
        .kernel(|parts| {
            let columns = parts.settings.text("lines") == "columns";
            Ok(form_kernel(parts, |inputs| {
                let mut matrix = vec![inputs[0][0]; 16];
                for (line, numbers) in inputs.iter().enumerate() {
                    for (i, x) in numbers.iter().enumerate() {
                        matrix[at(columns, line, i)] = *x;
                    }
                }
                vec![matrix]
            }))
        })
}

fn separate() -> NodeDef {
    let def = by_lines(NodeDef::new("mat4.separate", "The rows or columns of a matrix"));
    NAMES
        .into_iter()
        .fold(matrix_input(def, "matrix", ""), |def, name| def.output(name, Type::VEC4, ""))
        .kernel(|parts| {
            let columns = parts.settings.text("lines") == "columns";
            Ok(form_kernel(parts, |inputs| {
                let line = |line: usize| (0..4).map(|i| inputs[0][at(columns, line, i)]).collect();
                (0..4).map(line).collect()
            }))
        })
}

fn mix() -> NodeDef {
    let def = NodeDef::new("mat4.mix", "A matrix between two, number by number").details(
        "Rotations shrink on the way; for these use `mat4.decompose`, `quat.slerp` and `mat4.compose`.",
    );
    matrix_input(matrix_input(def, "a", "at factor 0"), "b", "at factor 1")
        .input("factor", Type::F32, "0 to 1; beyond them it goes on")
        .or_number(0.5)
        .output("value", Type::MAT4, "")
        .form(|_, inputs| {
            vec![each(&inputs[0], &inputs[1], |a, b| crate::mix::mix(a, b, inputs[2][0]))]
        })
}

fn transform_normal() -> NodeDef {
    let def = NodeDef::new("mat4.transform_normal", "The normal of a surface that a matrix moves").details(
        "At right angles to the moved surface, on the same side, of length 1, also where the matrix scales \
         unevenly. Zero where the matrix flattens what is along the normal, or the normal has length 0.",
    );
    matrix_input(def, "matrix", "what moves the surface")
        .input("normal", Type::VEC3, "of any length")
        .or_value(Vec3([0.0, 0.0, 1.0]))
        .output("value", Type::VEC3, "length 1")
        .form(|_, inputs| {
            let (m, (n, _)) = (&inputs[0], moderate(&inputs[1]));
            let row = |i: usize| vec![m[4 * i], m[4 * i + 1], m[4 * i + 2]];
            let rows = [row(0), row(1), row(2)];
            // The cofactors of the upper left part: the transposed inverse times the determinant.
            let cofactors =
                [cross(&rows[1], &rows[2]), cross(&rows[2], &rows[0]), cross(&rows[0], &rows[1])];
            let mirrored = dot(&cofactors[0], &rows[0]).lt(0.0);
            let turned = Direction::of(&cofactors.map(|c| dot(&c, &n))).unit;
            vec![turned.iter().map(|x| mirrored.select(-*x, *x)).collect()]
        })
}

fn look_at() -> NodeDef {
    NodeDef::new("mat4.look_at", "The matrix that takes the world to a camera's view")
        .details(
            "The camera is at the origin of the view and looks against z, with x to the right and y up. Where \
             up is parallel to the way to the target, or 0, another is chosen; at the target itself it looks \
             against z. `mat4.invert` gives the matrix that places the camera in the world.",
        )
        .input("eye", Type::VEC3, "where the camera is")
        .or_value(Vec3([0.0, 0.0, 1.0]))
        .input("target", Type::VEC3, "what it looks at")
        .or_number(0.0)
        .input("up", Type::VEC3, "what is up in the view, of any length")
        .or_value(Vec3([0.0, 1.0, 0.0]))
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
    def.input("near", Type::F32, "distance of what becomes -1 along z")
        .or_number(0.1)
        .input("far", Type::F32, "distance of what becomes 1 along z")
        .or_number(100.0)
        .output("value", Type::MAT4, "")
}

fn perspective() -> NodeDef {
    let def = NodeDef::new("mat4.perspective", "The matrix of a camera with perspective")
        .details(
            "What the camera of `mat4.look_at` sees becomes the cube from -1 to 1: x to the right, y up, z away \
             from the camera. For `mat4.project_point`. An angle of view of 0, or equal distances, divides by 0.",
        )
        .input("angle", Type::F32, "from the lower to the upper border of the view, in radians")
        .or_number(1.0)
        .input("aspect", Type::F32, "width over height")
        .or_number(1.0);
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
    let def = NodeDef::new("mat4.orthographic", "The matrix of a camera without perspective")
        .details(
            "What the camera of `mat4.look_at` sees becomes the cube from -1 to 1: x to the right, y up, z away \
             from the camera. A width or height of 0, or equal distances, divide by 0.",
        )
        .input("width", Type::F32, "of the view")
        .or_number(2.0)
        .input("height", Type::F32, "of the view")
        .or_number(2.0);
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
