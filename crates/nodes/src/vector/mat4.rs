//! 4 by 4 matrices, stored row by row and applied to column vectors.

use millstream_base::{Lane, Mat4, Type};
use millstream_form::Val;
use millstream_node::{Default, Law, NodeDef, Registry};

pub(super) fn register(registry: &mut Registry) {
    registry.register(identity());
    registry.register(translation());
    registry.register(scale());
    registry.register(shear());
    registry.register(rotation());
    registry.register(compose());
    registry.register(multiply());
    registry.register(transpose());
    registry.register(determinant());
    registry.register(invert());
    registry.register(transform_point());
    registry.register(transform_direction());
    registry.register(project_point());
}

pub(super) fn matrix_input(def: NodeDef, name: &'static str, about: &'static str) -> NodeDef {
    def.input_or(name, Type::MAT4, Default::Zero, about)
}

/// The rows of the rotation matrix of a quaternion of length 1.
pub(crate) fn rotation_rows<'b>(q: &[Val<'b>]) -> [[Val<'b>; 3]; 3] {
    let (w, x, y, z) = (q[0], q[1], q[2], q[3]);
    let twice = |a: Val<'b>, b: Val<'b>| a * b * 2.0;
    [
        [1.0 - (twice(y, y) + twice(z, z)), twice(x, y) - twice(z, w), twice(x, z) + twice(y, w)],
        [twice(x, y) + twice(z, w), 1.0 - (twice(x, x) + twice(z, z)), twice(y, z) - twice(x, w)],
        [twice(x, z) - twice(y, w), twice(y, z) + twice(x, w), 1.0 - (twice(x, x) + twice(y, y))],
    ]
}

/// The matrix with these three rows above 0 0 0 1.
pub fn affine<'b>(rows: &[[Val<'b>; 3]; 3], offset: &[Val<'b>]) -> Vec<Val<'b>> {
    let mut matrix = Vec::with_capacity(16);
    for (row, offset) in rows.iter().zip(offset) {
        matrix.extend(row);
        matrix.push(*offset);
    }
    let (zero, one) = (offset[0].like(0.0), offset[0].like(1.0));
    matrix.extend([zero, zero, zero, one]);
    matrix
}

/// The rows of a diagonal matrix.
fn diagonal<'b>(d: &[Val<'b>]) -> [[Val<'b>; 3]; 3] {
    let zero = d[0].like(0.0);
    [[d[0], zero, zero], [zero, d[1], zero], [zero, zero, d[2]]]
}

fn identity() -> NodeDef {
    NodeDef::new("mat4.identity", "The identity matrix")
        .output("value", Type::MAT4, "matrix with ones on the diagonal")
        .form(|b, _| vec![Mat4::default().0.iter().map(|x| b.constant_f32(*x)).collect()])
}

fn translation() -> NodeDef {
    NodeDef::new("mat4.translation", "A translation matrix")
        .input_or("offset", Type::VEC3, 0.0, "translation of points")
        .output("value", Type::MAT4, "")
        .form(|b, inputs| {
            let one = b.constant_f32(1.0);
            vec![affine(&diagonal(&[one, one, one]), &inputs[0])]
        })
}

fn scale() -> NodeDef {
    NodeDef::new("mat4.scale", "A matrix that scales along the axes")
        .input_or("factors", Type::VEC3, 1.0, "scale along each axis")
        .output("value", Type::MAT4, "")
        .form(|b, inputs| {
            let zero = b.constant_f32(0.0);
            vec![affine(&diagonal(&inputs[0]), &[zero, zero, zero])]
        })
}

fn shear() -> NodeDef {
    let def = NodeDef::new("mat4.shear", "A shear matrix").details(
        "Each input is the displacement of a point along its first axis per unit of its second: \
         `xy` adds xy times the y of a point to its x.",
    );
    ["xy", "xz", "yx", "yz", "zx", "zy"]
        .into_iter()
        .fold(def, |def, name| def.input_or(name, Type::F32, 0.0, ""))
        .output("value", Type::MAT4, "")
        .form(|b, x| {
            let (zero, one) = (b.constant_f32(0.0), b.constant_f32(1.0));
            let rows = [[one, x[0][0], x[1][0]], [x[2][0], one, x[3][0]], [x[4][0], x[5][0], one]];
            vec![affine(&rows, &[zero, zero, zero])]
        })
}

fn rotation() -> NodeDef {
    NodeDef::new("mat4.rotation", "A rotation matrix from a quaternion")
        .converts()
        .details("The quaternion must have length 1. The error of each element is at most 6e-7.")
        .input_or("quat", Type::QUAT, Default::Zero, "length 1")
        .output("value", Type::MAT4, "")
        .form(|b, inputs| {
            let zero = b.constant_f32(0.0);
            vec![affine(&rotation_rows(&inputs[0]), &[zero, zero, zero])]
        })
}

fn compose() -> NodeDef {
    NodeDef::new("mat4.compose", "A matrix from translation, rotation and scale")
        .details("Scales first, then rotates, then translates. The quaternion must have length 1.")
        .input_or("offset", Type::VEC3, 0.0, "translation, applied last")
        .input_or("quat", Type::QUAT, Default::Zero, "length 1")
        .input_or("factors", Type::VEC3, 1.0, "scale along each axis, applied first")
        .output("value", Type::MAT4, "")
        .form(|_, inputs| {
            let mut rows = rotation_rows(&inputs[1]);
            for row in &mut rows {
                for (x, factor) in row.iter_mut().zip(&inputs[2]) {
                    *x = *x * *factor;
                }
            }
            vec![affine(&rows, &inputs[0])]
        })
}

/// The sum of `a[row][k] * b[k]` over the four columns of a row of `a`.
pub(super) fn row_times<'b>(a: &[Val<'b>], row: usize, b: impl Fn(usize) -> Val<'b>) -> Val<'b> {
    let at = |k: usize| a[4 * row + k] * b(k);
    at(0) + at(1) + at(2) + at(3)
}

fn multiply() -> NodeDef {
    let def = NodeDef::new("mat4.multiply", "Multiplies two matrices").details(
        "The product a b, which applies `b` first, then `a`. The error of each element is at \
             most 3e-7 times the sum of the magnitudes of the four products that are added.",
    );
    let def = matrix_input(def, "a", "matrix applied second");
    matrix_input(def, "b", "matrix applied first").output("value", Type::MAT4, "").form(
        |_, inputs| {
            let (a, b) = (&inputs[0], &inputs[1]);
            vec![(0..16).map(|at| row_times(a, at / 4, |k| b[4 * k + at % 4])).collect()]
        },
    )
}

fn transpose() -> NodeDef {
    let def = NodeDef::new("mat4.transpose", "The transpose of a matrix").law(Law::Involution);
    matrix_input(def, "matrix", "")
        .output("value", Type::MAT4, "")
        .form(|_, inputs| vec![(0..16).map(|at| inputs[0][4 * (at % 4) + at / 4]).collect()])
}

/// The 2 by 2 determinants from which all larger ones are computed: six of the upper two rows, six
/// of the lower two, for the columns 01, 02, 03, 12, 13, 23.
struct Minors<'b> {
    upper: [Val<'b>; 6],
    lower: [Val<'b>; 6],
}

const PAIRS: [(usize, usize); 6] = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];

impl<'b> Minors<'b> {
    fn of(m: &[Val<'b>]) -> Self {
        let minor = |row: usize, (i, j): (usize, usize)| {
            let (top, bottom) = (4 * row, 4 * (row + 1));
            m[top + i] * m[bottom + j] - m[top + j] * m[bottom + i]
        };
        Self { upper: PAIRS.map(|pair| minor(0, pair)), lower: PAIRS.map(|pair| minor(2, pair)) }
    }

    /// Laplace expansion along the upper two rows.
    fn determinant(&self) -> Val<'b> {
        let (u, l) = (&self.upper, &self.lower);
        u[0] * l[5] - u[1] * l[4] + u[2] * l[3] + u[3] * l[2] - u[4] * l[1] + u[5] * l[0]
    }
}

fn determinant() -> NodeDef {
    let def = NodeDef::new("mat4.determinant", "The determinant of a matrix")
        .details(
            "The factor by which the matrix scales volume; negative if it mirrors, 0 if it is \
             singular.",
        )
        .source(
            "Laplace expansion along the last column, then the third, with the rounding of Eigen",
        );
    matrix_input(def, "matrix", "")
        .output("value", Type::F32, "determinant")
        .form(|_, inputs| vec![vec![by_columns(&inputs[0])]])
}

/// The determinant by expansion along the columns, from the first two to the last.
fn by_columns<'b>(m: &[Val<'b>]) -> Val<'b> {
    let at = |row: usize, column: usize| m[4 * row + column];
    let two = |i: usize, j: usize| at(i, 0) * at(j, 1) - at(j, 0) * at(i, 1);
    let three = |[i, j, k]: [usize; 3]| {
        at(i, 2) * two(j, k) + (at(k, 2) * two(i, j) - at(j, 2) * two(i, k))
    };
    let upper = at(1, 3) * three([0, 2, 3]) - at(0, 3) * three([1, 2, 3]);
    let lower = at(3, 3) * three([0, 1, 2]) - at(2, 3) * three([0, 1, 3]);
    upper + lower
}

/// The adjugate: the inverse times the determinant.
fn adjugate<'b>(m: &[Val<'b>], minors: &Minors<'b>) -> Vec<Val<'b>> {
    // Cofactors of the upper rows are computed from minors of the lower rows, and vice versa.
    let cofactor = |row: usize, column: usize| {
        let (other, minors) = match row {
            0 => (1, &minors.lower),
            1 => (0, &minors.lower),
            2 => (3, &minors.upper),
            _ => (2, &minors.upper),
        };
        let rest: Vec<usize> = (0..4).filter(|c| *c != column).collect();
        let minor = |i: usize, j: usize| {
            let at = PAIRS.iter().position(|pair| *pair == (i, j));
            minors[at.expect("all ascending pairs are listed")]
        };
        let m = |c: usize| m[4 * other + c];
        let [i, j, k] = [rest[0], rest[1], rest[2]];
        let three = m(i) * minor(j, k) - m(j) * minor(i, k) + m(k) * minor(i, j);
        if (row + column).is_multiple_of(2) { three } else { -three }
    };
    (0..16).map(|at| cofactor(at % 4, at / 4)).collect()
}

fn invert() -> NodeDef {
    let def = NodeDef::new("mat4.invert", "The inverse of a matrix")
        .details(
            "A matrix with determinant 0 has no inverse and gives zeros. An almost singular matrix \
             gives large numbers that are mostly rounding errors.",
        )
        .source("Cramer's rule");
    matrix_input(def, "matrix", "").output("value", Type::MAT4, "inverse, or zeros").form(
        |_, inputs| {
            // Products of four `f32` may be out of the range of `f32`.
            let matrix: Vec<Val<'_>> = inputs[0].iter().map(|x| x.convert(Lane::F64)).collect();
            let minors = Minors::of(&matrix);
            let determinant = minors.determinant();
            let singular = determinant.eq(0.0);
            let inverse = adjugate(&matrix, &minors);
            let divided = |x| singular.select(0.0, x / determinant).convert(Lane::F32);
            vec![inverse.into_iter().map(divided).collect()]
        },
    )
}

/// The first rows of the matrix times (x, y, z, last).
fn applied<'b>(matrix: &[Val<'b>], vector: &[Val<'b>], last: f32, n_rows: usize) -> Vec<Val<'b>> {
    let last = vector[0].like(last);
    (0..n_rows).map(|row| row_times(matrix, row, |k| *vector.get(k).unwrap_or(&last))).collect()
}

fn transform_point() -> NodeDef {
    let def = NodeDef::new("mat4.transform_point", "Transforms a point by a matrix").details(
        "For matrices whose last row is 0 0 0 1; `mat4.project_point` takes any matrix. The \
             error of each component is at most 3e-7 times the sum of the magnitudes of the terms \
             that are added.",
    );
    matrix_input(def, "matrix", "")
        .input_or("point", Type::VEC3, 0.0, "")
        .output("value", Type::VEC3, "transformed point")
        .form(|_, inputs| vec![applied(&inputs[0], &inputs[1], 1.0, 3)])
}

fn transform_direction() -> NodeDef {
    let def = NodeDef::new("mat4.transform_direction", "Transforms a direction by a matrix").details(
        "The translation of the matrix is ignored. Normals of surfaces need the inverse transpose \
         if the matrix scales unevenly, see `mat4.transform_normal`. The error of each component \
         is at most 3e-7 times the sum of the magnitudes of the terms that are added.",
    );
    matrix_input(def, "matrix", "")
        .input_or("direction", Type::VEC3, 0.0, "")
        .output("value", Type::VEC3, "transformed direction; its length may change")
        .form(|_, inputs| {
            let (m, v) = (&inputs[0], &inputs[1]);
            let row = |r: usize| m[4 * r] * v[0] + m[4 * r + 1] * v[1] + m[4 * r + 2] * v[2];
            vec![(0..3).map(row).collect()]
        })
}

fn project_point() -> NodeDef {
    let def = NodeDef::new("mat4.project_point", "Transforms a point by a projective matrix")
        .details(
            "Divides by the fourth coordinate, as projections require; if that is 0, the result is \
         infinite or NaN.",
        );
    matrix_input(def, "matrix", "")
        .input_or("point", Type::VEC3, 0.0, "")
        .output("value", Type::VEC3, "projected point")
        .form(|_, inputs| {
            let p = applied(&inputs[0], &inputs[1], 1.0, 4);
            vec![p[..3].iter().map(|x| *x / p[3]).collect()]
        })
}
