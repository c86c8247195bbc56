//! Other coordinates of vectors, other lengths, and components together.

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
    NodeDef::new("vector.to_polar", "Distance and angle of a plane vector")
        .details("The angle is from -pi to pi, from the x axis against the clock; 0 for no length. Off by at most 6e-7: in radians, and of the radius.")
        .input("vector", Type::VEC2, "")
        .or_number(0.0)
        .output("radius", Type::F32, "the length")
        .output("angle", Type::F32, "angle in radians")
        .form(|_, inputs| {
            let v = &inputs[0];
            vec![vec![v[0].hypot(v[1])], vec![v[1].atan2(v[0])]]
        })
}

fn from_polar() -> NodeDef {
    NodeDef::new("vector.from_polar", "A plane vector from distance and angle")
        .details("Off by at most 2e-7 of the radius, for angles up to 100.")
        .input("radius", Type::F32, "the length; a negative one points the other way")
        .or_number(1.0)
        .input("angle", Type::F32, "in radians, from the x axis against the clock")
        .or_number(0.0)
        .output("value", Type::VEC2, "")
        .form(|_, inputs| {
            let (radius, angle) = (inputs[0][0], inputs[1][0]);
            vec![vec![radius * angle.cos(), radius * angle.sin()]]
        })
}

fn to_spherical() -> NodeDef {
    NodeDef::new("vector.to_spherical", "Distance, azimuth and elevation of a vector")
        .details(
            "The azimuth is from -pi to pi, about z from the x axis against the clock; the elevation is from \
             -pi/2 to pi/2 above the plane of x and y. Both are 0 for no length. Off by at most 6e-7: in radians, and of the radius.",
        )
        .input("vector", Type::VEC3, "")
        .or_number(0.0)
        .output("radius", Type::F32, "the length")
        .output("azimuth", Type::F32, "angle in radians")
        .output("elevation", Type::F32, "angle in radians")
        .form(|_, inputs| {
            let v = &inputs[0];
            let flat = v[0].hypot(v[1]);
            vec![vec![flat.hypot(v[2])], vec![v[1].atan2(v[0])], vec![v[2].atan2(flat)]]
        })
}

fn from_spherical() -> NodeDef {
    NodeDef::new("vector.from_spherical", "A vector from distance, azimuth and elevation")
        .details("Off by at most 3e-7 of the radius, for angles up to 100.")
        .input("radius", Type::F32, "the length; a negative one points the other way")
        .or_number(1.0)
        .input("azimuth", Type::F32, "in radians, about z from the x axis against the clock")
        .or_number(0.0)
        .input("elevation", Type::F32, "in radians, above the plane of x and y")
        .or_number(0.0)
        .output("value", Type::VEC3, "")
        .form(|_, inputs| {
            let [radius, azimuth, elevation] = [inputs[0][0], inputs[1][0], inputs[2][0]];
            let flat = radius * elevation.cos();
            vec![vec![flat * azimuth.cos(), flat * azimuth.sin(), radius * elevation.sin()]]
        })
}

fn set_length() -> NodeDef {
    on_vectors("vector.set_length", "A vector with another length", &[("vector", "")])
        .details("A vector of length 0 stays.")
        .input("length", Type::F32, "a negative one turns the vector round")
        .or_number(1.0)
        .output("value", T, "")
        .form(|_, inputs| {
            let (vector, _) = moderate(&inputs[0]);
            let had = length(&vector);
            let factor = had.eq(0.0).select(1.0, inputs[1][0] / had);
            vec![scaled(&vector, factor)]
        })
}

fn clamp_length() -> NodeDef {
    on_vectors("vector.clamp_length", "A vector with its length kept in a range", &[("vector", "")])
        .details(
            "A vector of length 0 stays. Where the bounds are in the wrong order the maximum wins.",
        )
        .input("minimum", Type::F32, "the least length")
        .or_number(0.0)
        .input("maximum", Type::F32, "the greatest length")
        .or_number(1.0)
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

/// A node that joins the components to a number.
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
        "How far two points are apart along the axes",
        &[("a", ""), ("b", "")],
    )
    .details("Off by at most 3e-7 of itself.")
    .output("value", Type::F32, "the sum of the ways along the axes")
    .form(|_, inputs| vec![vec![ways(inputs).reduce(|a, b| a + b).expect("components")]])
}

fn chebychev() -> NodeDef {
    on_vectors(
        "vector.chebychev_distance",
        "How far two points are apart along one axis",
        &[("a", ""), ("b", "")],
    )
    .output("value", Type::F32, "the longest of the ways along the axes")
    .form(|_, inputs| vec![vec![ways(inputs).reduce(Val::max).expect("components")]])
}

fn mean() -> NodeDef {
    on_vectors("vector.mean", "The mean of the components", &[("vector", "")])
        .details("Off by at most 3e-7 of the mean of the sizes of the components.")
        .output("value", Type::F32, "their sum over their number")
        .form(|_, inputs| {
            let sum = inputs[0].iter().copied().reduce(|a, b| a + b).expect("components");
            vec![vec![sum / inputs[0].len() as f32]]
        })
}

fn to_cylindrical() -> NodeDef {
    NodeDef::new("vector.to_cylindrical", "Distance from z, azimuth and height of a vector")
        .details("The azimuth is from -pi to pi, about z from the x axis against the clock; 0 on the z axis. Off by at most 6e-7: in radians, and of the radius.")
        .input("vector", Type::VEC3, "")
        .or_number(0.0)
        .output("radius", Type::F32, "distance from the z axis")
        .output("azimuth", Type::F32, "angle in radians")
        .output("height", Type::F32, "along z")
        .form(|_, inputs| {
            let v = &inputs[0];
            vec![vec![v[0].hypot(v[1])], vec![v[1].atan2(v[0])], vec![v[2]]]
        })
}

fn from_cylindrical() -> NodeDef {
    NodeDef::new("vector.from_cylindrical", "A vector from distance from z, azimuth and height")
        .details("Off by at most 2e-7 of the radius, for angles up to 100.")
        .input("radius", Type::F32, "distance from the z axis; a negative one points the other way")
        .or_number(1.0)
        .input("azimuth", Type::F32, "in radians, about z from the x axis against the clock")
        .or_number(0.0)
        .input("height", Type::F32, "along z")
        .or_number(0.0)
        .output("value", Type::VEC3, "")
        .form(|_, inputs| {
            let [radius, azimuth, height] = [inputs[0][0], inputs[1][0], inputs[2][0]];
            vec![vec![radius * azimuth.cos(), radius * azimuth.sin(), height]]
        })
}
