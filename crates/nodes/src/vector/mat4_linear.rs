//! The upper left 3 by 3 part of a matrix, which rotates, scales and shears but does not translate.
//! It serves as the 3 by 3 matrix type.

use millstream_base::{Type, Vec3};
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use super::mat4::{affine, matrix_input};
use super::mat4_parts::by_lines;
use super::{cross, dot, scaled};
use crate::shape::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(combine());
    registry.register(separate());
    registry.register(part());
    registry.register(determinant());
    registry.register(normal_matrix());
}

const NAMES: [&str; 3] = ["a", "b", "c"];

const PART: &str = "The upper left part of a matrix serves as a 3 by 3 matrix: `mat4.multiply` \
    multiplies two of them, `mat4.transform_direction` applies one to a vector, and \
    `mat4.transpose` and `mat4.invert` work as usual.";

/// The rows of the upper left part, and the same with rows and columns exchanged.
fn rows<'b>(m: &[Val<'b>]) -> [[Val<'b>; 3]; 3] {
    [0, 1, 2].map(|row| [0, 1, 2].map(|column| m[4 * row + column]))
}

fn exchanged<'b>(rows: &[[Val<'b>; 3]; 3]) -> [[Val<'b>; 3]; 3] {
    [0, 1, 2].map(|row| [0, 1, 2].map(|column| rows[column][row]))
}

fn unmoved<'b>(rows: &[[Val<'b>; 3]; 3]) -> Vec<Val<'b>> {
    let zero = rows[0][0].like(0.0);
    affine(rows, &[zero, zero, zero])
}

fn combine() -> NodeDef {
    let def = NodeDef::new("mat4.combine_3x3", "A 3 by 3 matrix from its rows or columns");
    let def = by_lines(
        def.details(format!("It does not translate: the last row and column are 0 0 0 1. {PART}")),
    );
    (0..3)
        .fold(def, |def, i| {
            let axis = [0, 1, 2].map(|k| if k == i { 1.0 } else { 0.0 });
            def.input_or(NAMES[i], Type::VEC3, Vec3(axis), "")
        })
        .output("value", Type::MAT4, "")
        .kernel(form_by_settings(|settings, inputs| {
            let columns = settings.text("lines") == "columns";
            let lines = [0, 1, 2].map(|i| [0, 1, 2].map(|k| inputs[i][k]));
            vec![unmoved(&if columns { exchanged(&lines) } else { lines })]
        }))
}

fn separate() -> NodeDef {
    let summary = "The rows or columns of the 3 by 3 part of a matrix";
    let def = by_lines(NodeDef::new("mat4.separate_3x3", summary)).details(
        "The columns are the images of the axes. The translation is the fourth column of \
         `mat4.separate`.",
    );
    NAMES
        .into_iter()
        .fold(matrix_input(def, "matrix", ""), |def, name| def.output(name, Type::VEC3, ""))
        .kernel(form_by_settings(|settings, inputs| {
            let columns = settings.text("lines") == "columns";
            let lines = rows(&inputs[0]);
            let lines = if columns { exchanged(&lines) } else { lines };
            lines.iter().map(|line| line.to_vec()).collect()
        }))
}

fn part() -> NodeDef {
    let summary = "The upper left 3 by 3 part of a matrix, without its translation";
    let def = NodeDef::new("mat4.part_3x3", summary).details(format!(
        "Rotation, scale and shear, with 0 0 0 1 as last row and column. `mat4.decompose` and \
         `mat4.svd` separate them. {PART}"
    ));
    matrix_input(def, "matrix", "")
        .output("value", Type::MAT4, "")
        .form(|_, inputs| vec![unmoved(&rows(&inputs[0]))])
}

/// The rows of the transposed adjugate, which are cross products of rows.
fn cofactors<'b>(rows: &[[Val<'b>; 3]; 3]) -> [[Val<'b>; 3]; 3] {
    [cross(&rows[1], &rows[2]), cross(&rows[2], &rows[0]), cross(&rows[0], &rows[1])]
}

fn determinant() -> NodeDef {
    let summary = "The determinant of the upper left 3 by 3 part of a matrix";
    let def = NodeDef::new("mat4.determinant_3x3", summary).details(
        "The factor by which the matrix scales volume; negative if it mirrors, 0 if it is \
         singular. The error is at most 3e-7 times the sum of the magnitudes of the six products \
         that are added.",
    );
    matrix_input(def, "matrix", "").output("value", Type::F32, "determinant").form(|_, inputs| {
        let rows = rows(&inputs[0]);
        vec![vec![dot(&rows[0], &cross(&rows[1], &rows[2]))]]
    })
}

/// If the greatest number is above this, or below its reciprocal, the numbers are scaled by
/// [`MOVED`].
const LARGE: f64 = (1_u64 << 30) as f64;
const MOVED: f64 = (1_u128 << 64) as f64;

/// Numbers of which three can be multiplied without overflow, and the power of two by which they
/// were scaled.
fn cubable<'b>(a: &[Val<'b>]) -> (Vec<Val<'b>>, Val<'b>) {
    let greatest = a.iter().map(|a| a.abs()).reduce(Val::max).expect("matrices have numbers");
    let factor = greatest.lt(1.0 / LARGE).select(greatest.like(MOVED), 1.0);
    let factor = greatest.gt(LARGE).select(1.0 / MOVED, factor);
    (scaled(a, factor), factor)
}

fn normal_matrix() -> NodeDef {
    let def =
        NodeDef::new("mat4.normal_matrix", "The matrix that transforms the normals of a surface")
            .details(
                "The inverse transpose of the upper left 3 by 3 part, with 0 0 0 1 as last row and \
             column. With `mat4.transform_direction` it keeps normals perpendicular to surfaces \
             but does not keep their lengths; `mat4.transform_normal` does both for one normal. \
             Zeros if the part is singular.",
            )
            .source("Cramer's rule");
    matrix_input(def, "matrix", "matrix that transforms the surface")
        .output("value", Type::MAT4, "inverse transpose, or zeros")
        .form(|_, inputs| {
            let numbers: Vec<Val<'_>> = rows(&inputs[0]).into_iter().flatten().collect();
            let (m, factor) = cubable(&numbers);
            let rows = [0, 1, 2].map(|row| [0, 1, 2].map(|column| m[3 * row + column]));
            let cofactors = cofactors(&rows);
            let determinant = dot(&rows[0], &cofactors[0]);
            let flat = determinant.eq(0.0);
            vec![unmoved(
                &cofactors.map(|row| row.map(|x| flat.select(0.0, x / determinant * factor))),
            )]
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::cells::testing::numbers;

    const ROWS: [f32; 9] = [2.0, 0.0, 1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 4.0];

    fn run(name: &str, lines: &str, arguments: &[f32]) -> Vec<f32> {
        numbers(name, &json!({ "lines": lines }), &[], arguments)
    }

    fn of(name: &str, arguments: &[f32]) -> Vec<f32> {
        numbers(name, &json!({}), &[], arguments)
    }

    /// The elements of a matrix that translates by 5, 6, 7.
    fn moving(rows: &[f32; 9]) -> Vec<f32> {
        let [a, b, c, d, e, f, g, h, i] = *rows;
        vec![a, b, c, 5.0, d, e, f, 6.0, g, h, i, 7.0, 0.0, 0.0, 0.0, 1.0]
    }

    #[test]
    fn matrices_are_combined_from_three_vectors_and_separated() {
        let still =
            [2.0, 0.0, 1.0, 0.0, 1.0, 3.0, 2.0, 0.0, 1.0, 1.0, 4.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        assert_eq!(run("mat4.combine_3x3", "rows", &ROWS), still);
        assert_eq!(of("mat4.part_3x3", &moving(&ROWS)), still);
        assert_eq!(run("mat4.separate_3x3", "rows", &moving(&ROWS)), ROWS);
        let columns = run("mat4.separate_3x3", "columns", &moving(&ROWS));
        assert_eq!(columns, [2.0, 1.0, 1.0, 0.0, 3.0, 1.0, 1.0, 2.0, 4.0]);
        assert_eq!(run("mat4.combine_3x3", "columns", &columns), still);
        assert_eq!(of("mat4.determinant_3x3", &moving(&ROWS)), [18.0]);
    }

    #[test]
    fn normals_are_transformed_by_the_inverse_transpose() {
        let scaled = |x: f32| moving(&[x, 0.0, 0.0, 0.0, 2.0 * x, 0.0, 0.0, 0.0, -4.0 * x]);
        for size in [1.0, 1e-24, 1e24] {
            let found = of("mat4.normal_matrix", &scaled(size));
            let right = [1.0, 0.5, -0.25].map(|x| x / size);
            for (found, right) in [found[0], found[5], found[10]].into_iter().zip(right) {
                assert!((found - right).abs() <= 4e-7 * right.abs(), "{found} {right}");
            }
            assert_eq!((found[1], found[3], found[15]), (0.0, 0.0, 1.0));
        }
        assert_eq!(of("mat4.normal_matrix", &scaled(0.0))[..12], [0.0; 12]);
        let normal = of("mat4.normal_matrix", &moving(&ROWS));
        for (i, j) in [(0, 0), (0, 1), (1, 2), (2, 0), (2, 2)] {
            let sum: f32 = (0..3).map(|k| normal[4 * k + i] * ROWS[3 * k + j]).sum();
            assert!((sum - if i == j { 1.0 } else { 0.0 }).abs() < 1e-6, "{i} {j}: {sum}");
        }
    }
}
