//! Matrix algebra: sums, multiples, single elements, and products with vectors of four components.

use millstream_base::Type;
use millstream_node::{NodeDef, Registry};

use super::mat4::{matrix_input, row_times};
use super::{each, scaled};

pub(super) fn register(registry: &mut Registry) {
    registry.register(add());
    registry.register(subtract());
    registry.register(multiply_number());
    registry.register(element());
    registry.register(transform_vec4());
}

fn add() -> NodeDef {
    let def = NodeDef::new("mat4.add", "The sum of two matrices").details("Element by element.");
    matrix_input(matrix_input(def, "a", "first summand"), "b", "second summand")
        .output("value", Type::MAT4, "")
        .form(|_, inputs| vec![each(&inputs[0], &inputs[1], |a, b| a + b)])
}

fn subtract() -> NodeDef {
    let def = NodeDef::new("mat4.subtract", "The difference of two matrices")
        .details("Element by element.");
    matrix_input(matrix_input(def, "a", "minuend"), "b", "subtrahend")
        .output("value", Type::MAT4, "")
        .form(|_, inputs| vec![each(&inputs[0], &inputs[1], |a, b| a - b)])
}

fn multiply_number() -> NodeDef {
    let def = NodeDef::new("mat4.multiply_number", "Multiplies a matrix by a number").details(
        "Element by element, including the last row, so points transformed by `mat4.project_point` \
         do not change. To scale points use `mat4.scale`.",
    );
    matrix_input(def, "matrix", "")
        .input_or("factor", Type::F32, 1.0, "factor of each element")
        .output("value", Type::MAT4, "")
        .form(|_, inputs| vec![scaled(&inputs[0], inputs[1][0])])
}

fn element() -> NodeDef {
    let def = NodeDef::new("mat4.element", "One element of a matrix").details(
        "Rows are counted from the top, columns from the left, both from 0; an index outside 0 to \
         3 is clamped. The translation is in column 3.",
    );
    matrix_input(def, "matrix", "")
        .input_or("row", Type::I32, 0.0, "0 to 3")
        .input_or("column", Type::I32, 0.0, "0 to 3")
        .output("value", Type::F32, "")
        .form(|_, inputs| {
            let place = inputs[1][0].clamp(0, 3) * 4 + inputs[2][0].clamp(0, 3);
            let m = &inputs[0];
            vec![vec![(1..16).fold(m[0], |found, at| place.eq(at).select(m[at as usize], found))]]
        })
}

fn transform_vec4() -> NodeDef {
    let def = NodeDef::new(
        "mat4.transform_vec4",
        "Multiplies a matrix by a vector with four components",
    )
    .details(
        "The vector is a column vector: component i is the dot product of row i and the vector, \
         added from the left. The fourth component is 1 for a point and 0 for a direction. The \
         error of each component is at most 3e-7 times the sum of the magnitudes of the terms that \
         are added.",
    );
    matrix_input(def, "matrix", "")
        .input_or("vector", Type::VEC4, 0.0, "")
        .output("value", Type::VEC4, "")
        .form(|_, inputs| {
            vec![(0..4).map(|row| row_times(&inputs[0], row, |k| inputs[1][k])).collect()]
        })
}
