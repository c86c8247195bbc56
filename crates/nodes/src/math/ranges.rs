//! Lesser and greater, rounding, and numbers folded into a range.

use millstream_form::Val;
use millstream_node::{Law, Registry};

use super::arithmetic::floored_modulo;
use crate::shape::{FLOATS, NUMBERS, of_one_type};

pub(super) fn register(registry: &mut Registry) {
    extremes(registry);
    roundings(registry);
    folds(registry);
}

/// The lesser of two, rounded off by a cubic where they are less than `distance` apart.
pub(crate) fn smooth_minimum<'b>(a: Val<'b>, b: Val<'b>, distance: Val<'b>) -> Val<'b> {
    let near = (distance - (a - b).abs()).max(0) / distance;
    let rounded = a.min(b) - near * near * near * distance * (1.0 / 6.0);
    distance.gt(0).select(rounded, a.min(b))
}

/// The greater of two, rounded off as in [`smooth_minimum`].
pub(crate) fn smooth_maximum<'b>(a: Val<'b>, b: Val<'b>, distance: Val<'b>) -> Val<'b> {
    -smooth_minimum(-a, -b, distance)
}

/// 1 from `edge` upwards, 0 below it and for NaN.
pub(crate) fn step<'b>(edge: Val<'b>, x: Val<'b>) -> Val<'b> {
    x.ge(edge).select(x.like(1), x.like(0))
}

/// The nearest of the numbers that are whole increments away from `offset`.
pub(crate) fn snap<'b>(x: Val<'b>, increment: Val<'b>, offset: Val<'b>) -> Val<'b> {
    let snapped = ((x - offset) / increment).round() * increment + offset;
    increment.eq(0).select(x, snapped)
}

/// The number brought between two bounds by whole steps of their distance.
pub(crate) fn wrap<'b>(x: Val<'b>, minimum: Val<'b>, maximum: Val<'b>) -> Val<'b> {
    let (low, high) = (minimum.min(maximum), minimum.max(maximum));
    let inside = x.ge(low) & x.lt(high);
    let wrapped = low + floored_modulo(x - low, high - low);
    inside.select(x, low.eq(high).select(low, wrapped))
}

/// Goes up from 0 to the magnitude of `scale` and down again.
pub(crate) fn ping_pong<'b>(x: Val<'b>, scale: Val<'b>) -> Val<'b> {
    let scale = scale.abs();
    // The same on both sides of zero. Twice the scale may be infinite, where nothing is to be folded.
    let rest = x.abs().rem_euclid(scale + scale);
    let folded = rest.gt(scale).select(scale - (rest - scale), rest);
    scale.eq(0).select(0, folded)
}

fn extremes(registry: &mut Registry) {
    let ab = [("a", 0.0, "the one number"), ("b", 0.0, "the other")];
    registry.register(
        of_one_type("math.minimum", "The lesser of two", NUMBERS, &ab)
            .details("A NaN gives way to a number; -0 is less than +0. Vectors: each component.")
            .source("minimumNumber of IEEE 754-2019, 9.6")
            .law(Law::SameInputs)
            .lanewise(|_, x| x[0].min(x[1])),
    );
    registry.register(
        of_one_type("math.maximum", "The greater of two", NUMBERS, &ab)
            .details("A NaN gives way to a number; +0 is greater than -0. Vectors: each component.")
            .source("maximumNumber of IEEE 754-2019, 9.6")
            .law(Law::SameInputs)
            .lanewise(|_, x| x[0].max(x[1])),
    );
    let near = [ab[0], ab[1], ("distance", 1.0, "where rounding off begins: |a - b| below this")];
    let source = "the cubic polynomial smooth minimum of Inigo Quilez, \"smooth minimum\"";
    registry.register(
        of_one_type("math.smooth_minimum", "The lesser of two, rounded off", FLOATS, &near)
            .details(
                "With h = max(distance - |a - b|, 0) / distance: minimum(a, b) - h^3 * distance / 6. \
                 A distance of 0 or below, or NaN, gives the plain minimum. Off by at most 2e-7 of the \
                 greatest of the sizes of the three.",
            )
            .source(source)
            .lanewise(|_, x| smooth_minimum(x[0], x[1], x[2])),
    );
    registry.register(
        of_one_type("math.smooth_maximum", "The greater of two, rounded off", FLOATS, &near)
            .details(
                "With h = max(distance - |a - b|, 0) / distance: maximum(a, b) + h^3 * distance / 6. \
                 A distance of 0 or below, or NaN, gives the plain maximum. Off by at most 2e-7 of the \
                 greatest of the sizes of the three.",
            )
            .source(source)
            .lanewise(|_, x| smooth_maximum(x[0], x[1], x[2])),
    );
}

fn roundings(registry: &mut Registry) {
    let x = [("x", 0.0, "the number")];
    let kept = "Infinities and NaN stay; the sign of zero is that of x.";
    registry.register(
        of_one_type("math.floor", "The largest whole number not above x", FLOATS, &x)
            .details(kept)
            .law(Law::Projection)
            .lanewise(|_, x| x[0].floor()),
    );
    registry.register(
        of_one_type("math.ceil", "The smallest whole number not below x", FLOATS, &x)
            .details(kept)
            .law(Law::Projection)
            .lanewise(|_, x| x[0].ceil()),
    );
    registry.register(
        of_one_type("math.round", "The nearest whole number, halves away from zero", FLOATS, &x)
            .details(kept)
            .law(Law::Projection)
            .lanewise(|_, x| x[0].round()),
    );
    registry.register(
        of_one_type("math.round_even", "The nearest whole number, halves to even", FLOATS, &x)
            .details(kept)
            .law(Law::Projection)
            .lanewise(|_, x| x[0].round_even()),
    );
    registry.register(
        of_one_type("math.truncate", "The whole part of x, towards zero", FLOATS, &x)
            .details(kept)
            .law(Law::Projection)
            .lanewise(|_, x| x[0].trunc()),
    );
    registry.register(
        of_one_type("math.fraction", "x - floor(x)", FLOATS, &x)
            .details(
                "From 0 up to 1, also below zero: of -0.25 it is 0.75. A tiny negative number \
                 rounds to 1 itself. Infinities give NaN.",
            )
            .lanewise(|_, x| x[0].fract()),
    );
}

fn folds(registry: &mut Registry) {
    registry.register(
        of_one_type(
            "math.step",
            "0 below the edge, 1 from there on",
            NUMBERS,
            &[("edge", 0.0, "where 1 begins"), ("x", 0.0, "the number")],
        )
        .details("NaN gives 0.")
        .lanewise(|_, x| step(x[0], x[1])),
    );
    registry.register(
        of_one_type(
            "math.snap",
            "The nearest multiple of an increment",
            FLOATS,
            &[
                ("x", 0.0, "the number"),
                ("increment", 1.0, "distance of neighbours"),
                ("offset", 0.0, "one of the numbers to snap to"),
            ],
        )
        .details(
            "round((x - offset) / increment) * increment + offset; halves go away from the offset. \
             An increment of 0 leaves x as it is.",
        )
        .lanewise(|_, x| snap(x[0], x[1], x[2])),
    );
    registry.register(
        of_one_type(
            "math.wrap",
            "x brought into a range by whole steps",
            NUMBERS,
            &[
                ("x", 0.0, "the number"),
                ("minimum", 0.0, "belongs to the range"),
                ("maximum", 1.0, "the first number past the range"),
            ],
        )
        .details(
            "A number in the range stays. Bounds in the wrong order are swapped; equal bounds give \
             the bound. Rounding may give the maximum itself for a float just below the minimum. \
             Integer bounds must be less than half the integers apart. Infinities give NaN, and so do floats \
             so far apart that their distance is infinite.",
        )
        .lanewise(|_, x| wrap(x[0], x[1], x[2])),
    );
    registry.register(
        of_one_type(
            "math.ping_pong",
            "Goes up to the scale and down to 0, again and again",
            FLOATS,
            &[("x", 0.0, "the number"), ("scale", 1.0, "the turning point")],
        )
        .details(
            "A triangle wave: 0 at 0, the magnitude of the scale there, 0 at twice that, the same \
             below zero. A scale of 0 gives 0, an infinite x NaN.",
        )
        .lanewise(|_, x| ping_pong(x[0], x[1])),
    );
}
