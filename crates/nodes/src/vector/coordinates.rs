//! Other coordinates of vectors, other norms, and reductions of components.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use super::{T, each, length, moderate, on_vectors, scaled};

pub(super) fn register(registry: &mut Registry) {
    registry.register(to_polar());
    registry.register(from_polar());
    registry.register(to_spherical());
    registry.register(from_spherical());
    registry.register(set_length());
    registry.register(clamp_length());
    registry.register(together("vector.sum", "The sum of the components", |a, b| a + b));
    registry.register(together("vector.minimum", "The least component", |a, b| a.min(b)));
    registry.register(together("vector.maximum", "The greatest component", |a, b| a.max(b)));
    registry.register(together("vector.product", "The product of the components", |a, b| a * b));
    registry.register(mean());
    registry.register(to_cylindrical());
    registry.register(from_cylindrical());
    registry.register(manhattan());
    registry.register(chebychev());
}

fn to_polar() -> NodeDef {
    NodeDef::new("vector.to_polar", "Converts a 2D vector to polar coordinates")
        .details(
            "The angle is measured counterclockwise from the x axis, from -pi to pi; it is 0 for a \
             vector of length 0. The error is at most 6e-7: absolute for the angle, relative for \
             the radius.",
        )
        .input_or("vector", Type::VEC2, 0.0, "")
        .output("radius", Type::F32, "length of the vector")
        .output("angle", Type::F32, "angle in radians")
        .form(|_, inputs| {
            let v = &inputs[0];
            vec![vec![v[0].hypot(v[1])], vec![v[1].atan2(v[0])]]
        })
}

fn from_polar() -> NodeDef {
    NodeDef::new("vector.from_polar", "A 2D vector from polar coordinates")
        .details("The error is at most 2e-7 times the radius, for angles up to 100.")
        .input_or(
            "radius",
            Type::F32,
            1.0,
            "length; a negative one points in the opposite direction",
        )
        .input_or("angle", Type::F32, 0.0, "angle in radians, counterclockwise from the x axis")
        .output("value", Type::VEC2, "")
        .form(|_, inputs| {
            let (radius, angle) = (inputs[0][0], inputs[1][0]);
            vec![vec![radius * angle.cos(), radius * angle.sin()]]
        })
}

fn to_spherical() -> NodeDef {
    NodeDef::new("vector.to_spherical", "Converts a vector to spherical coordinates")
        .details(
            "The azimuth is measured about z, counterclockwise from the x axis, from -pi to pi; \
             the elevation is the angle above the xy plane, from -pi/2 to pi/2. Both are 0 for a \
             vector of length 0. The error is at most 6e-7: absolute for the angles, relative for \
             the radius.",
        )
        .input_or("vector", Type::VEC3, 0.0, "")
        .output("radius", Type::F32, "length of the vector")
        .output("azimuth", Type::F32, "angle in radians")
        .output("elevation", Type::F32, "angle in radians")
        .form(|_, inputs| {
            let v = &inputs[0];
            let flat = v[0].hypot(v[1]);
            vec![vec![flat.hypot(v[2])], vec![v[1].atan2(v[0])], vec![v[2].atan2(flat)]]
        })
}

fn from_spherical() -> NodeDef {
    NodeDef::new("vector.from_spherical", "A vector from spherical coordinates")
        .details("The error is at most 3e-7 times the radius, for angles up to 100.")
        .input_or(
            "radius",
            Type::F32,
            1.0,
            "length; a negative one points in the opposite direction",
        )
        .input_or(
            "azimuth",
            Type::F32,
            0.0,
            "angle in radians about z, counterclockwise from the x axis",
        )
        .input_or("elevation", Type::F32, 0.0, "angle in radians above the xy plane")
        .output("value", Type::VEC3, "")
        .form(|_, inputs| {
            let [radius, azimuth, elevation] = [inputs[0][0], inputs[1][0], inputs[2][0]];
            let flat = radius * elevation.cos();
            vec![vec![flat * azimuth.cos(), flat * azimuth.sin(), radius * elevation.sin()]]
        })
}

fn set_length() -> NodeDef {
    on_vectors("vector.set_length", "Sets the length of a vector", &[("vector", "")])
        .details("A vector of length 0 does not change.")
        .input_or("length", Type::F32, 1.0, "new length; a negative one reverses the vector")
        .output("value", T, "")
        .form(|_, inputs| {
            let (vector, _) = moderate(&inputs[0]);
            let had = length(&vector);
            let factor = had.eq(0.0).select(1.0, inputs[1][0] / had);
            vec![scaled(&vector, factor)]
        })
}

fn clamp_length() -> NodeDef {
    on_vectors("vector.clamp_length", "Clamps the length of a vector", &[("vector", "")])
        .details(
            "A vector of length 0 does not change. If the minimum is greater than the maximum, the \
             maximum takes precedence.",
        )
        .input_or("minimum", Type::F32, 0.0, "least length")
        .input_or("maximum", Type::F32, 1.0, "greatest length")
        .output("value", T, "")
        .form(|_, inputs| {
            let (vector, power) = moderate(&inputs[0]);
            let moderate = length(&vector);
            let had = moderate / power;
            let wanted = had.clamp(inputs[1][0], inputs[2][0]);
            let stays = moderate.eq(0.0).or(wanted.eq(had));
            let resized = scaled(&vector, wanted / moderate);
            vec![each(&inputs[0], &resized, |v, r| stays.select(v, r))]
        })
}

/// A node that reduces the components to one number.
fn together(
    name: &'static str,
    summary: &'static str,
    join: impl for<'b> Fn(Val<'b>, Val<'b>) -> Val<'b> + Send + Sync + 'static,
) -> NodeDef {
    on_vectors(name, summary, &[("vector", "")]).output("value", Type::F32, "").form(
        move |_, inputs| {
            let joined = inputs[0].iter().copied().reduce(&join);
            vec![vec![joined.expect("vectors have components")]]
        },
    )
}

fn ways<'b>(inputs: &[Vec<Val<'b>>]) -> impl Iterator<Item = Val<'b>> {
    each(&inputs[0], &inputs[1], |a, b| (a - b).abs()).into_iter()
}

fn manhattan() -> NodeDef {
    on_vectors(
        "vector.manhattan_distance",
        "The Manhattan distance between two points",
        &[("a", ""), ("b", "")],
    )
    .details("The relative error is at most 3e-7.")
    .output("value", Type::F32, "sum of the distances along the axes")
    .form(|_, inputs| vec![vec![ways(inputs).reduce(|a, b| a + b).expect("components")]])
}

fn chebychev() -> NodeDef {
    on_vectors(
        "vector.chebychev_distance",
        "The Chebyshev distance between two points",
        &[("a", ""), ("b", "")],
    )
    .output("value", Type::F32, "greatest of the distances along the axes")
    .form(|_, inputs| vec![vec![ways(inputs).reduce(Val::max).expect("components")]])
}

fn mean() -> NodeDef {
    on_vectors("vector.mean", "The mean of the components", &[("vector", "")])
        .details("The error is at most 3e-7 times the mean of the magnitudes of the components.")
        .output("value", Type::F32, "sum of the components divided by their number")
        .form(|_, inputs| {
            let sum = inputs[0].iter().copied().reduce(|a, b| a + b).expect("components");
            vec![vec![sum / inputs[0].len() as f32]]
        })
}

fn to_cylindrical() -> NodeDef {
    NodeDef::new("vector.to_cylindrical", "Converts a vector to cylindrical coordinates")
        .details(
            "The azimuth is measured about z, counterclockwise from the x axis, from -pi to pi; it \
             is 0 on the z axis. The error is at most 6e-7: absolute for the azimuth, relative for \
             the radius.",
        )
        .input_or("vector", Type::VEC3, 0.0, "")
        .output("radius", Type::F32, "distance from the z axis")
        .output("azimuth", Type::F32, "angle in radians")
        .output("height", Type::F32, "coordinate along z")
        .form(|_, inputs| {
            let v = &inputs[0];
            vec![vec![v[0].hypot(v[1])], vec![v[1].atan2(v[0])], vec![v[2]]]
        })
}

fn from_cylindrical() -> NodeDef {
    NodeDef::new("vector.from_cylindrical", "A vector from cylindrical coordinates")
        .details("The error is at most 2e-7 times the radius, for angles up to 100.")
        .input_or(
            "radius",
            Type::F32,
            1.0,
            "distance from the z axis; a negative one points in the opposite direction",
        )
        .input_or(
            "azimuth",
            Type::F32,
            0.0,
            "angle in radians about z, counterclockwise from the x axis",
        )
        .input_or("height", Type::F32, 0.0, "coordinate along z")
        .output("value", Type::VEC3, "")
        .form(|_, inputs| {
            let [radius, azimuth, height] = [inputs[0][0], inputs[1][0], inputs[2][0]];
            vec![vec![radius * azimuth.cos(), radius * azimuth.sin(), height]]
        })
}
