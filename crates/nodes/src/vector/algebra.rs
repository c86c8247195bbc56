//! Products, lengths and distances.

use millstream_base::Type;
use millstream_node::{NodeDef, Registry};

use super::{T, VECTORS, cross, dot, each, length, normalized, on_vectors, scaled};

pub(super) fn register(registry: &mut Registry) {
    registry.register(dot_product());
    registry.register(cross_product());
    registry.register(length_node());
    registry.register(length_squared());
    registry.register(distance());
    registry.register(distance_squared());
    registry.register(normalize());
    registry.register(scale());
}

/// The limits of nodes that compute with squares.
const RANGE: &str = "Components are squared: magnitudes above about 1e19 give infinity, lengths \
    below 1e-18 lose precision, and a vector whose components are all below about 1e-23 counts as \
    zero.";

const RANGE_OF_DIRECTIONS: &str = "Components are squared: magnitudes above about 1e19 give zero, \
    the direction of a vector shorter than 1e-18 loses precision, and a vector whose components \
    are all below about 1e-23 counts as zero.";

fn dot_product() -> NodeDef {
    on_vectors("vector.dot", "The dot product of two vectors", &[("a", ""), ("b", "")])
        .details(
            "The sum of the products of the components, added from first to last, which is the \
             product of both lengths and the cosine of the angle between the vectors. The error is \
             at most 3e-7 times the sum of the magnitudes of the products.",
        )
        .output("value", Type::F32, "dot product")
        .form(|_, inputs| vec![vec![dot(&inputs[0], &inputs[1])]])
}

fn cross_product() -> NodeDef {
    NodeDef::new("vector.cross", "The cross product of two vectors")
        .details(
            "Perpendicular to both vectors by the right-hand rule; its length is the area of the \
             parallelogram that they span. The error of each component is at most 2e-7 times the \
             product of both lengths.",
        )
        .input_or("a", Type::VEC3, 0.0, "")
        .input_or("b", Type::VEC3, 0.0, "")
        .output("value", Type::VEC3, "cross product")
        .form(|_, inputs| vec![cross(&inputs[0], &inputs[1]).to_vec()])
}

fn length_node() -> NodeDef {
    on_vectors("vector.length", "The length of a vector", &[("vector", "")])
        .details(format!("The relative error is at most 2e-7. {RANGE}"))
        .output("value", Type::F32, "Euclidean length, in the unit of the components")
        .form(|_, inputs| vec![vec![length(&inputs[0])]])
}

fn length_squared() -> NodeDef {
    on_vectors("vector.length_squared", "The squared length of a vector", &[("vector", "")])
        .details(
            "Cheaper than the length, and sufficient for comparing lengths. The relative error is \
             at most 3e-7.",
        )
        .output("value", Type::F32, "sum of the squares of the components")
        .form(|_, inputs| vec![vec![dot(&inputs[0], &inputs[0])]])
}

fn distance() -> NodeDef {
    on_vectors("vector.distance", "The distance between two points", &[("a", ""), ("b", "")])
        .details(format!("The relative error is at most 3e-7. {RANGE}"))
        .output("value", Type::F32, "Euclidean distance, in the unit of the components")
        .form(|_, inputs| {
            let offset = each(&inputs[0], &inputs[1], |a, b| a - b);
            vec![vec![length(&offset)]]
        })
}

fn distance_squared() -> NodeDef {
    on_vectors(
        "vector.distance_squared",
        "The squared distance between two points",
        &[("a", ""), ("b", "")],
    )
    .details("Cheaper than the distance, and sufficient for comparing distances.")
    .output("value", Type::F32, "sum of the squares of the differences")
    .form(|_, inputs| {
        let offset = each(&inputs[0], &inputs[1], |a, b| a - b);
        vec![vec![dot(&offset, &offset)]]
    })
}

fn normalize() -> NodeDef {
    on_vectors("vector.normalize", "Scales a vector to length 1", &[("vector", "")])
        .details(format!(
            "The vector divided by its length. A vector of length 0 gives zero, a vector with a \
             NaN component gives NaN. The error of each component is at most 3e-7. \
             {RANGE_OF_DIRECTIONS}"
        ))
        .output("value", T, "direction of length 1, or zero")
        .form(|_, inputs| vec![normalized(&inputs[0])])
}

fn scale() -> NodeDef {
    NodeDef::new("vector.scale", "Multiplies a vector by a number")
        .generic("T", VECTORS)
        .input_or("vector", T, 0.0, "")
        .input_or("factor", Type::F32, 1.0, "factor of each component")
        .output("value", T, "scaled vector")
        .form(|_, inputs| vec![scaled(&inputs[0], inputs[1][0])])
}
