//! Minimum and maximum, rounding, and folding of numbers into a range.

use millstream_base::Lane;
use millstream_form::Val;
use millstream_node::{Law, Registry};

use super::arithmetic::floored_modulo;
use crate::shape::{FLOATS, NUMBERS, of_one_type};

pub(super) fn register(registry: &mut Registry) {
    extremes(registry);
    roundings(registry);
    folds(registry);
}

/// The lesser of two numbers, smoothed by a cubic where they are less than `distance` apart.
pub(crate) fn smooth_minimum<'b>(a: Val<'b>, b: Val<'b>, distance: Val<'b>) -> Val<'b> {
    let near = (distance - (a - b).abs()).max(0) / distance;
    let rounded = a.min(b) - near * near * near * distance * (1.0 / 6.0);
    distance.gt(0).select(rounded, a.min(b))
}

/// The greater of two numbers, smoothed as in [`smooth_minimum`].
pub(crate) fn smooth_maximum<'b>(a: Val<'b>, b: Val<'b>, distance: Val<'b>) -> Val<'b> {
    -smooth_minimum(-a, -b, distance)
}

/// 1 from `edge` upwards, 0 below it and for NaN.
pub(crate) fn step<'b>(edge: Val<'b>, x: Val<'b>) -> Val<'b> {
    x.ge(edge).select(x.like(1), x.like(0))
}

/// The nearest number that is a whole number of increments away from `offset`.
pub(crate) fn snap<'b>(x: Val<'b>, increment: Val<'b>, offset: Val<'b>) -> Val<'b> {
    let snapped = ((x - offset) / increment).round() * increment + offset;
    increment.eq(0).select(x, snapped)
}

/// The number shifted into a range by a multiple of its width.
pub(crate) fn wrap<'b>(x: Val<'b>, minimum: Val<'b>, maximum: Val<'b>) -> Val<'b> {
    let (low, high) = (minimum.min(maximum), minimum.max(maximum));
    let inside = x.ge(low) & x.lt(high);
    let width = high - low;
    let wrapped = match x.lane() {
        // The difference of integers may leave the range of their type.
        Lane::I32 | Lane::I64 => {
            let off = floored_modulo(x, width) - floored_modulo(low, width);
            low + off.lt(0).select(off + width, off)
        }
        Lane::Bool | Lane::F32 | Lane::F64 => low + floored_modulo(x - low, width),
    };
    inside.select(x, low.eq(high).select(low, wrapped))
}

/// Rises from 0 to the magnitude of `scale` and falls again.
pub(crate) fn ping_pong<'b>(x: Val<'b>, scale: Val<'b>) -> Val<'b> {
    let scale = scale.abs();
    // Symmetric around zero. Twice the scale may be infinite; then nothing needs folding.
    let rest = x.abs().rem_euclid(scale + scale);
    let folded = rest.gt(scale).select(scale - (rest - scale), rest);
    scale.eq(0).select(0, folded)
}

fn extremes(registry: &mut Registry) {
    let ab = [("a", 0.0, "first number"), ("b", 0.0, "second number")];
    registry.register_all([
        of_one_type("math.minimum", "The lesser of two numbers", NUMBERS, &ab)
            .details(
                "A number is preferred to NaN; -0 is less than +0. For vectors, component by \
                 component.",
            )
            .source("minimumNumber of IEEE 754-2019, 9.6")
            .law(Law::SameInputs)
            .lanewise(|_, x| x[0].min(x[1])),
        of_one_type("math.maximum", "The greater of two numbers", NUMBERS, &ab)
            .details(
                "A number is preferred to NaN; +0 is greater than -0. For vectors, component by \
                 component.",
            )
            .source("maximumNumber of IEEE 754-2019, 9.6")
            .law(Law::SameInputs)
            .lanewise(|_, x| x[0].max(x[1])),
    ]);
    let near =
        [ab[0], ab[1], ("distance", 1.0, "smoothing range: it applies where |a - b| is less")];
    let source = "the cubic polynomial smooth minimum of Inigo Quilez, \"smooth minimum\"";
    registry.register_all([
        of_one_type(
            "math.smooth_minimum",
            "The lesser of two numbers with a smooth transition",
            FLOATS,
            &near,
        )
        .details(
            "With h = max(distance - |a - b|, 0) / distance the result is minimum(a, b) - h^3 \
                 * distance / 6. A distance of 0, below 0 or NaN gives the plain minimum. The \
                 error is at most 2e-7 times the largest magnitude of the three inputs.",
        )
        .source(source)
        .lanewise(|_, x| smooth_minimum(x[0], x[1], x[2])),
        of_one_type(
            "math.smooth_maximum",
            "The greater of two numbers with a smooth transition",
            FLOATS,
            &near,
        )
        .details(
            "With h = max(distance - |a - b|, 0) / distance the result is maximum(a, b) + h^3 \
                 * distance / 6. A distance of 0, below 0 or NaN gives the plain maximum. The \
                 error is at most 2e-7 times the largest magnitude of the three inputs.",
        )
        .source(source)
        .lanewise(|_, x| smooth_maximum(x[0], x[1], x[2])),
    ]);
}

fn roundings(registry: &mut Registry) {
    let x = [("x", 0.0, "number to round")];
    let kept = "Infinities and NaN do not change; a zero has the sign of x.";
    registry.register_all([
        of_one_type("math.floor", "The greatest whole number that is at most x", FLOATS, &x)
            .details(kept)
            .law(Law::Projection)
            .lanewise(|_, x| x[0].floor()),
        of_one_type("math.ceil", "The least whole number that is at least x", FLOATS, &x)
            .details(kept)
            .law(Law::Projection)
            .lanewise(|_, x| x[0].ceil()),
        of_one_type("math.round", "The nearest whole number, ties away from zero", FLOATS, &x)
            .details(kept)
            .law(Law::Projection)
            .lanewise(|_, x| x[0].round()),
        of_one_type("math.round_even", "The nearest whole number, ties to even", FLOATS, &x)
            .details(kept)
            .law(Law::Projection)
            .lanewise(|_, x| x[0].round_even()),
        of_one_type("math.truncate", "The whole part of x, rounded toward zero", FLOATS, &x)
            .details(kept)
            .law(Law::Projection)
            .lanewise(|_, x| x[0].trunc()),
        of_one_type("math.fraction", "x - floor(x)", FLOATS, &x)
            .details(
                "From 0 up to 1, for negative numbers too: for -0.25 it is 0.75. For a tiny \
                 negative number it rounds to 1 itself. Infinities give NaN.",
            )
            .lanewise(|_, x| x[0].fract()),
    ]);
}

fn folds(registry: &mut Registry) {
    registry.register_all([
        of_one_type(
            "math.step",
            "A step: 0 below the edge, 1 from the edge on",
            NUMBERS,
            &[("edge", 0.0, "least x with result 1"), ("x", 0.0, "number")],
        )
        .details("NaN gives 0.")
        .lanewise(|_, x| step(x[0], x[1])),
        of_one_type(
            "math.snap",
            "Rounds x to the nearest multiple of an increment",
            FLOATS,
            &[
                ("x", 0.0, "number to snap"),
                ("increment", 1.0, "distance between snap points"),
                ("offset", 0.0, "position of one snap point"),
            ],
        )
        .details(
            "round((x - offset) / increment) * increment + offset; ties are rounded away from the \
             offset. With an increment of 0, x does not change.",
        )
        .lanewise(|_, x| snap(x[0], x[1], x[2])),
        of_one_type(
            "math.wrap",
            "Wraps x into a range",
            NUMBERS,
            &[
                ("x", 0.0, "number to wrap"),
                ("minimum", 0.0, "lower bound, inclusive"),
                ("maximum", 1.0, "upper bound, exclusive"),
            ],
        )
        .details(
            "A number in the range does not change; any other is shifted by a multiple of the \
             width of the range. Bounds in the wrong order are swapped; equal bounds give the \
             bound. A float just below the minimum may round to the maximum itself. Integer bounds \
             must be closer to each other than half the range of the type. Infinities give NaN, \
             and so do float bounds whose distance is infinite.",
        )
        .lanewise(|_, x| wrap(x[0], x[1], x[2])),
        of_one_type(
            "math.ping_pong",
            "Folds x back and forth between 0 and a scale",
            FLOATS,
            &[("x", 0.0, "number to fold"), ("scale", 1.0, "distance between turning points")],
        )
        .details(
            "A triangle wave: 0 at x = 0, |scale| at x = |scale|, 0 again at twice that, and \
             symmetric for negative x. A scale of 0 gives 0, an infinite x gives NaN.",
        )
        .lanewise(|_, x| ping_pong(x[0], x[1])),
    ]);
}
