//! Combining and changing distances, and turning them into masks.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

pub(super) fn register(registry: &mut Registry) {
    registry.register(union());
    registry.register(intersection());
    registry.register(difference());
    registry.register(outline());
    registry.register(fill());
}

/// The smaller of two distances, blended where they differ by less than `radius`.
///
/// The polynomial of Quilez, "Smooth minimum", 2013, of degree 2.
fn smooth_min<'b>(a: Val<'b>, b: Val<'b>, radius: Val<'b>) -> Val<'b> {
    let h = (radius - (a - b).abs()).max(0.0);
    let blend = radius.gt(0.0).select(h * h / (radius * 4.0), 0.0);
    a.min(b) - blend
}

fn of_two(name: &'static str, summary: &'static str, a: &'static str, b: &'static str) -> NodeDef {
    NodeDef::new(name, summary)
        .details(
            "With a radius, corners where the shapes meet are rounded over that length. The result \
             is a lower bound of the distance, as for all combined distances.",
        )
        .source("I. Quilez, \"Smooth minimum\", 2013")
        .input("a", Type::F32, a)
        .input("b", Type::F32, b)
        .input_or("radius", Type::F32, 0.0, "length over which corners are rounded; 0 for none")
        .output("value", Type::F32, "signed distance")
}

fn union() -> NodeDef {
    of_two("sdf.union", "The union of two shapes", "one shape", "the other shape")
        .form(|_, x| vec![vec![smooth_min(x[0][0], x[1][0], x[2][0])]])
}

fn intersection() -> NodeDef {
    of_two("sdf.intersection", "The intersection of two shapes", "one shape", "the other shape")
        .form(|_, x| vec![vec![-smooth_min(-x[0][0], -x[1][0], x[2][0])]])
}

fn difference() -> NodeDef {
    of_two("sdf.difference", "One shape without another", "the shape", "shape to subtract")
        .form(|_, x| vec![vec![-smooth_min(-x[0][0], x[1][0], x[2][0])]])
}

fn outline() -> NodeDef {
    NodeDef::new("sdf.outline", "The outline of a shape as a line of a given width")
        .input("distance", Type::F32, "signed distance of the shape")
        .input_or("width", Type::F32, 1.0, "width of the line, half of which is inside")
        .output("value", Type::F32, "signed distance")
        .form(|_, x| vec![vec![x[0][0].abs() - x[1][0] * 0.5]])
}

fn fill() -> NodeDef {
    NodeDef::new("sdf.fill", "The coverage of a point by a shape: 1 inside, 0 outside")
        .details(
            "Falls from 1 to 0 over the softness, half of which is inside. A softness equal to the \
             size of a pixel (`footprint.pixel_size`) gives smooth edges without steps.",
        )
        .input("distance", Type::F32, "signed distance of the shape")
        .input_or("softness", Type::F32, 1.0, "width of the edge; 0 for a step")
        .output("value", Type::F32, "0 to 1")
        .form(|_, x| {
            let (distance, softness) = (x[0][0], x[1][0]);
            let soft = (-(distance / softness) + 0.5).clamp(0.0, 1.0);
            let hard = distance.le(0.0).select(distance.like(1.0), distance.like(0.0));
            vec![vec![softness.gt(0.0).select(soft, hard)]]
        })
}
