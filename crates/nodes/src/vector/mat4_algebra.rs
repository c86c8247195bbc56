//! Matrices as numbers: sums, multiples, single elements, and products with vectors of four.

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
    let def = NodeDef::new("mat4.add", "The sum of two matrices").details("Number by number.");
    matrix_input(matrix_input(def, "a", "the first summand"), "b", "the second summand")
        .output("value", Type::MAT4, "")
        .form(|_, inputs| vec![each(&inputs[0], &inputs[1], |a, b| a + b)])
}

fn subtract() -> NodeDef {
    let def =
        NodeDef::new("mat4.subtract", "One matrix minus another").details("Number by number.");
    matrix_input(matrix_input(def, "a", "what is taken from"), "b", "what is taken away")
        .output("value", Type::MAT4, "")
        .form(|_, inputs| vec![each(&inputs[0], &inputs[1], |a, b| a - b)])
}

fn multiply_number() -> NodeDef {
    let def = NodeDef::new("mat4.multiply_number", "A matrix times a number").details(
        "Number by number, the last row too: points that `mat4.project_point` moves stay where they were. \
         What `mat4.scale` makes scales them.",
    );
    matrix_input(def, "matrix", "")
        .input("factor", Type::F32, "what each number is multiplied by")
        .or_number(1.0)
        .output("value", Type::MAT4, "")
        .form(|_, inputs| vec![scaled(&inputs[0], inputs[1][0])])
}

fn element() -> NodeDef {
    let def = NodeDef::new("mat4.element", "One number of a matrix").details(
        "Rows are counted from the top, columns from the left, both from 0; a number outside 0 to 3 means the \
         nearest in it. What a matrix adds to points stands in column 3.",
    );
    matrix_input(def, "matrix", "")
        .input("row", Type::I32, "0 to 3")
        .or_number(0.0)
        .input("column", Type::I32, "0 to 3")
        .or_number(0.0)
        .output("value", Type::F32, "")
        .form(|_, inputs| {
            let place = inputs[1][0].clamp(0, 3) * 4 + inputs[2][0].clamp(0, 3);
            let m = &inputs[0];
            vec![vec![(1..16).fold(m[0], |found, at| place.eq(at).select(m[at as usize], found))]]
        })
}

fn transform_vec4() -> NodeDef {
    let def = NodeDef::new("mat4.transform_vec4", "A matrix times a vector of four").details(
        "The vector is a column: component i is the sum of row i times the vector, added from the left. A point \
         has 1 as its fourth component, a direction 0. Off by at most 3e-7 of the sum of the sizes of what a component is \
         the sum of.",
    );
    matrix_input(def, "matrix", "")
        .input("vector", Type::VEC4, "")
        .or_number(0.0)
        .output("value", Type::VEC4, "")
        .form(|_, inputs| {
            vec![(0..4).map(|row| row_times(&inputs[0], row, |k| inputs[1][k])).collect()]
        })
}
