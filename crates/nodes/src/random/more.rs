//! Further distributions, quasi-random points, random orders.

use std::f64::consts::PI;

use millstream_base::{Lane, Type, Vec3};
use millstream_form::Val;
use millstream_node::{Among, NodeDef, Registry};

use super::distributions::{above_zero, inverted};
use super::{SOURCE, STEP, Stream, draw, drawn, pcg4d, turn, unit};
use crate::shape::{T, sockets_of};
use crate::vector::Direction;

pub(super) fn register(registry: &mut Registry) {
    registry.register(pareto());
    registry.register(laplace());
    registry.register(logistic());
    registry.register(gumbel());
    registry.register(in_box());
    registry.register(in_ring());
    registry.register(in_cone());
    registry.register(even());
    registry.register(halton());
    registry.register(permutation());
}

fn pareto() -> NodeDef {
    inverted(
        "random.pareto",
        "A random number with the Pareto distribution, which has few huge values",
        "minimum * u^(-1 / shape), with u uniform from 0 to 1; used for wealth, sizes of cities \
         and files. There is no mean for shapes up to 1. The relative error is at most 2e-6 for \
         shapes of at least 1.",
        &[
            ("minimum", 1.0, "least number"),
            ("shape", 2.0, "shape, above 0; smaller shapes give more extreme values"),
        ],
        Stream::Pareto,
        |x, word| x[0] * above_zero(word).pow(-1.0 / x[1]),
    )
}

fn laplace() -> NodeDef {
    inverted(
        "random.laplace",
        "A random number with the Laplace distribution, which has a sharp peak",
        "On each side of the mean the distribution is that of `random.exponential`. The error is \
         at most 3e-7 times the scale, or times the distance from the mean if that is more, in \
         addition to the rounding of the sum.",
        &[("mean", 0.0, "mean, where the peak is"), ("scale", 1.0, "mean distance from the mean")],
        Stream::Laplace,
        |x, word| {
            // Steps of 2^-23 on either side, none of them 0.
            let side = unit(word) * 2.0 - 1.0;
            let rest: Val<'_> = 1.0 - side.abs() + STEP;
            x[0] - x[1] * side.sign() * rest.min(1.0).ln()
        },
    )
}

fn logistic() -> NodeDef {
    inverted(
        "random.logistic",
        "A random number with the logistic distribution",
        "mean + scale * ln(u / (1 - u)), with u uniform from 0 to 1; the tails are heavier than \
         those of `random.normal`. The error is at most 3e-7 times the scale, or times the \
         distance from the mean if that is more, in addition to the rounding of the sum.",
        &[
            ("mean", 0.0, ""),
            ("scale", 1.0, "scale; the standard deviation is scale * pi / sqrt(3)"),
        ],
        Stream::Logistic,
        |x, word| {
            // Both at the middle of a step, so that no step is lost at either end.
            let u = unit(word);
            let rest: Val<'_> = 1.0 - u;
            x[0] + x[1] * ((u + STEP * 0.5) / (rest - STEP * 0.5)).ln()
        },
    )
}

fn gumbel() -> NodeDef {
    inverted(
        "random.gumbel",
        "A random maximum of many values (Gumbel distribution)",
        "mode - scale * ln(-ln(u)), with u uniform from 0 to 1; used for extremes such as floods, \
         records and the maximum of a sample.",
        &[
            ("mode", 0.0, "most likely number"),
            ("scale", 1.0, "scale; the standard deviation is scale * pi / sqrt(6)"),
        ],
        Stream::Gumbel,
        |x, word| {
            let u = (unit(word) + STEP * 0.5).min(1.0 - STEP * 0.5);
            x[0] - x[1] * (-u.ln()).ln()
        },
    )
}

fn in_box() -> NodeDef {
    let def = NodeDef::new("random.in_box", "A random point in a rectangle or box")
        .generic("T", Among::These(&[Type::VEC2, Type::VEC3, Type::VEC4]))
        .details("Uniformly distributed; each component is drawn like `random.value`.")
        .input_or("min", T, 0.0, "lower bounds, inclusive")
        .input_or("max", T, 1.0, "upper bounds, exclusive");
    drawn(def).output("value", T, "point between min and max").form(|b, inputs| {
        let words = draw(b, inputs[2][0], inputs[3][0], Stream::InBox);
        let n = inputs[0].len();
        vec![(0..n).map(|i| super::between(inputs[0][i], inputs[1][i], unit(words[i]))).collect()]
    })
}

fn in_ring() -> NodeDef {
    let def = NodeDef::new("random.in_ring", "A random point between two circles")
        .details(
            "Uniformly distributed over the area. The error is at most 1e-6 times the outer \
             radius.",
        )
        .input_or("inner", Type::F32, 0.5, "inner radius")
        .input_or("outer", Type::F32, 1.0, "outer radius");
    drawn(def).output("value", Type::VEC2, "").form(|b, inputs| {
        let [size, angle, ..] = draw(b, inputs[2][0], inputs[3][0], Stream::InRing);
        let (inner, outer) = (inputs[0][0] * inputs[0][0], inputs[1][0] * inputs[1][0]);
        let radius = (inner + (outer - inner) * unit(size)).max(0.0).sqrt();
        let angle = turn(angle);
        vec![vec![radius * angle.cos(), radius * angle.sin()]]
    })
}

fn in_cone() -> NodeDef {
    let def = NodeDef::new("random.in_cone", "A random direction within an angle of an axis")
        .details(
            "Uniformly distributed over the part of the sphere within `angle` of the axis: pi / 2 \
             gives a hemisphere, pi the whole sphere. If the axis has length 0, z is used. The \
             error is at most 1e-6.",
        )
        .input_or("axis", Type::VEC3, Vec3([0.0, 0.0, 1.0]), "axis of any length")
        .input_or(
            "angle",
            Type::F32,
            PI / 6.0,
            "greatest angle from the axis in radians, clamped to 0 to pi",
        );
    drawn(def).output("value", Type::VEC3, "length 1").form(|b, inputs| {
        let [height, angle, ..] = draw(b, inputs[2][0], inputs[3][0], Stream::InCone);
        let axis = Direction::of(&inputs[0]);
        let of_none = [0.0, 0.0, 1.0].map(|x| axis.is_none.builder().constant_f32(x));
        let n: [Val<'_>; 3] =
            std::array::from_fn(|i| axis.is_none.select(of_none[i], axis.unit[i]));
        // Two directions perpendicular to the axis, as in `vector.tangents`.
        let sign = n[2].like(1.0).copysign(n[2]);
        let a: Val<'_> = -1.0 / (sign + n[2]);
        let across = n[0] * n[1] * a;
        let tangent = [sign * n[0] * n[0] * a + 1.0, sign * across, -sign * n[0]];
        let bitangent = [across, sign + n[1] * n[1] * a, -n[1]];
        // The distance below the tip, so that narrow cones keep their precision.
        let half = (inputs[1][0].clamp(0.0, PI) * 0.5).sin();
        let below = unit(height) * (half * half * 2.0);
        let around = (below * (2.0 - below)).max(0.0).sqrt();
        let (turn, up): (Val<'_>, Val<'_>) = (turn(angle), 1.0 - below);
        let (x, y) = (around * turn.cos(), around * turn.sin());
        vec![(0..3).map(|i| tangent[i] * x + bitangent[i] * y + n[i] * up).collect()]
    })
}

/// Points in one to three dimensions.
const POINTS: &[(&str, &str)] =
    &[("f32", "numbers"), ("vec2", "points in a square"), ("vec3", "points in a cube")];

fn of_points(def: NodeDef) -> NodeDef {
    def.choice("type", POINTS, "vec2", "type of the points").sockets_by_settings(|settings| {
        let (ty, about) = match settings.text("type") {
            "f32" => (Type::F32, "number from 0 up to but not including 1"),
            "vec3" => (Type::VEC3, "point with components from 0 up to but not including 1"),
            _ => (Type::VEC2, "point with components from 0 up to but not including 1"),
        };
        let def = NodeDef::new("", "")
            .input_or(
                "index",
                Type::I32,
                0.0,
                "index of the point; link `context.index` for one per element",
            )
            .input_or(
                "seed",
                Type::I32,
                0.0,
                "random seed, which shifts all points, wrapping around at the ends",
            )
            .output("value", ty, about);
        Ok(sockets_of(&def))
    })
}

/// A word as a fraction of its range, without its last 8 bits.
fn moved<'b>(word: Val<'b>, by: Val<'b>) -> Val<'b> {
    unit(word + by)
}

fn even() -> NodeDef {
    // 2^32 divided by powers of the root of g^(d + 1) = g + 1.
    const STEPS: [&[u32]; 3] =
        [&[0x9e37_79b9], &[0xc13f_a9a9, 0x91e1_0da5], &[0xd1b5_4a33, 0xabc9_8388, 0x8cb9_2ba7]];
    let def = NodeDef::new("random.even", "Quasi-random points that cover a square or cube evenly")
        .details(
            "Each point lies in a gap left by the previous points, so the first n points cover the \
             square or cube more evenly than random points, for any n.",
        )
        .source(
            "M. Roberts, The Unreasonable Effectiveness of Quasirandom Sequences, 2018: the R \
             sequences",
        );
    of_points(def).kernel(|parts| {
        let n = parts.outputs[0].ty.lanes().map_or(1, |(_, n)| n as usize);
        Ok(parts.form(&|_, inputs| {
            let (index, seed) = (inputs[0][0], inputs[1][0]);
            let offsets = draw(seed.builder(), seed, seed.like(0), Stream::Even);
            let steps = STEPS[n - 1].iter().zip(offsets);
            vec![steps.map(|(step, by)| moved(index * step.cast_signed(), by)).collect()]
        }))
    })
}

/// The digits of an integer in a base, mirrored at the point, as a 32-bit word.
fn mirrored(index: Val<'_>, base: u32) -> Val<'_> {
    let mut rest = index.convert(Lane::I64) & 0xffff_ffff_i64;
    let mut reversed = rest.like(0);
    let (mut n_digits, mut power) = (0, 1_u64);
    while power * u64::from(base) <= 1 << 32 {
        power *= u64::from(base);
        n_digits += 1;
    }
    for _ in 0..n_digits {
        let next = rest / i64::from(base);
        reversed = reversed * i64::from(base) + (rest - next * i64::from(base));
        rest = next;
    }
    // The reversed number is below the power of the base, which is below 2^32; the result is its
    // fraction of 2^32.
    let scaled = reversed.convert(Lane::F64) * (4_294_967_296.0 / power as f64);
    scaled.convert(Lane::I64).convert(Lane::I32)
}

fn halton() -> NodeDef {
    let def = NodeDef::new("random.halton", "Quasi-random points of the Halton sequence")
        .details(
            "The digits of the index in base 2 for x, 3 for y and 5 for z, mirrored at the point. \
             For a power of the base, that many first points fall into as many equal intervals, \
             one into each.",
        )
        .source("J. Halton, Algorithm 247: Radical-inverse quasi-random point sequence, 1964");
    of_points(def).kernel(|parts| {
        let n = parts.outputs[0].ty.lanes().map_or(1, |(_, n)| n as usize);
        Ok(parts.form(&|_, inputs| {
            let (index, seed) = (inputs[0][0], inputs[1][0]);
            let offsets = draw(seed.builder(), seed, seed.like(0), Stream::Halton);
            // Seed 0 does not shift the points.
            let plain = seed.eq(0);
            let bases = [2, 3, 5].into_iter().zip(offsets).take(n);
            vec![
                bases.map(|(base, by)| moved(mirrored(index, base), plain.select(0, by))).collect(),
            ]
        }))
    })
}

/// Rounds of the shuffle: orders of a thousand elements show no trace of the index (tested).
const ROUNDS: i32 = 40;

fn permutation() -> NodeDef {
    let def = NodeDef::new(
        "random.permutation",
        "The position of an element in a random permutation",
    )
    .details(
        "For the indices from 0 to count - 1 each number from 0 to count - 1 occurs once. No \
             list is needed: every element is computed in the same time. An index outside the \
             range is taken modulo the count; a count below 1 gives 0. For more than about 12 \
             elements not all permutations occur.",
    )
    .input_or("index", Type::I32, 0.0, "index of the element")
    .input_or("count", Type::I32, 10.0, "number of elements")
    .input_or("seed", Type::I32, 0.0, "random seed that selects the permutation");
    def.source(format!(
        "V. Hoang, B. Morris, P. Rogaway, An Enciphering Scheme Based on a Card Shuffle, 2012, \
         with words of {SOURCE}"
    ))
    .output("value", Type::I32, "position from 0 to count - 1")
    .form(|b, inputs| {
        let (count, seed) = (inputs[1][0].max(1), inputs[2][0]);
        let wide = count.convert(Lane::I64);
        let mut at = inputs[0][0].rem_euclid(count);
        for round in 0..ROUNDS {
            let [share, word, ..] = pcg4d([
                seed,
                b.constant_i32(round),
                b.constant_i32(Stream::Permutation as i32),
                b.constant_i32(0),
            ]);
            // Numbers are in pairs; both stay, or both are swapped.
            let pivot =
                ((share.convert(Lane::I64) & 0xffff_ffff_i64) * wide).ushr(32).convert(Lane::I32);
            let partner = pivot - at;
            let partner = partner.lt(0).select(partner + count, partner);
            let hash = (at.max(partner) + word) * 0x7feb_352d;
            let hash = (hash ^ hash.ushr(15)) * 0x045d_9f3b;
            at = hash.lt(0).select(partner, at);
        }
        vec![vec![at]]
    })
}
