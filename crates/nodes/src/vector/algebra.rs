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

/// What the squares under a root do at the ends of the range.
const RANGE: &str = "Computed from squares: components beyond about 1e19 in size give infinity, lengths \
                     below 1e-18 have fewer bits, and a vector whose components are all below about \
                     1e-23 counts as zero.";

const RANGE_OF_DIRECTIONS: &str = "Computed from squares: vectors with components beyond about 1e19 in size give zero, of those with \
     lengths below 1e-18 directions have fewer bits, and one whose components are all below about 1e-23 \
     counts as zero.";

fn dot_product() -> NodeDef {
    on_vectors("vector.dot", "The dot product of two vectors", &[("a", ""), ("b", "")])
        .details(
            "The sum of the products of components, added from the first to the last: the product of \
             both lengths and the cosine of the angle between them. Off by at most 3e-7 of the sum of the \
             sizes of the products.",
        )
        .output("value", Type::F32, "the dot product")
        .form(|_, inputs| vec![vec![dot(&inputs[0], &inputs[1])]])
}

fn cross_product() -> NodeDef {
    NodeDef::new("vector.cross", "The cross product of two vectors")
        .details(
            "Perpendicular to both, by the right-hand rule; its length is the area of the \
             parallelogram that they span. Off by at most 2e-7 of the product of both lengths, in each \
             component.",
        )
        .input("a", Type::VEC3, "")
        .or_number(0.0)
        .input("b", Type::VEC3, "")
        .or_number(0.0)
        .output("value", Type::VEC3, "the cross product")
        .form(|_, inputs| vec![cross(&inputs[0], &inputs[1]).to_vec()])
}

fn length_node() -> NodeDef {
    on_vectors("vector.length", "The length of a vector", &[("vector", "")])
        .details(format!("Off by at most 2e-7 of itself. {RANGE}"))
        .output("value", Type::F32, "the Euclidean length, in the unit of the components")
        .form(|_, inputs| vec![vec![length(&inputs[0])]])
}

fn length_squared() -> NodeDef {
    on_vectors("vector.length_squared", "The length of a vector, squared", &[("vector", "")])
        .details("Cheaper than the length, and enough for comparing lengths. Off by at most 3e-7 of itself.")
        .output("value", Type::F32, "the sum of the squares of the components")
        .form(|_, inputs| vec![vec![dot(&inputs[0], &inputs[0])]])
}

fn distance() -> NodeDef {
    on_vectors("vector.distance", "How far two points are apart", &[("a", ""), ("b", "")])
        .details(format!("Off by at most 3e-7 of itself. {RANGE}"))
        .output("value", Type::F32, "the Euclidean distance, in the unit of the components")
        .form(|_, inputs| {
            let offset = each(&inputs[0], &inputs[1], |a, b| a - b);
            vec![vec![length(&offset)]]
        })
}

fn distance_squared() -> NodeDef {
    on_vectors(
        "vector.distance_squared",
        "How far two points are apart, squared",
        &[("a", ""), ("b", "")],
    )
    .details("Cheaper than the distance, and enough for comparing distances.")
    .output("value", Type::F32, "the sum of the squares of the differences")
    .form(|_, inputs| {
        let offset = each(&inputs[0], &inputs[1], |a, b| a - b);
        vec![vec![dot(&offset, &offset)]]
    })
}

fn normalize() -> NodeDef {
    on_vectors("vector.normalize", "The direction of a vector", &[("vector", "")])
        .details(format!(
            "The vector divided by its length. A vector of length 0 gives zero, one with a NaN gives \
             NaN. Off by at most 3e-7 in each component. {RANGE_OF_DIRECTIONS}"
        ))
        .output("value", T, "length 1, or zero")
        .form(|_, inputs| vec![normalized(&inputs[0])])
}

fn scale() -> NodeDef {
    NodeDef::new("vector.scale", "A vector times a number")
        .generic("T", VECTORS)
        .input("vector", T, "")
        .or_number(0.0)
        .input("factor", Type::F32, "what each component is multiplied by")
        .or_number(1.0)
        .output("value", T, "the scaled vector")
        .form(|_, inputs| vec![scaled(&inputs[0], inputs[1][0])])
}
