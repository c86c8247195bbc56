//! Random numbers that depend on seed and inputs only, by kernel form where possible.
//!
//! There is no state: a number is a hash of its inputs. The generator is PCG4D of M. Jarzynski and
//! M. Olano, "Hash Functions for GPU Rendering", Journal of Computer Graphics Techniques 9(3),
//! 2020, with one more shift at the end: it maps four words to four words that are practically
//! independent. The input words are the id, the seed, a number of the node type, so that different
//! nodes with the same id and seed draw different numbers, and a counter.

mod distributions;
mod divided;
mod hash;
mod more;
#[cfg(test)]
mod more_tests;
mod rejection;
mod shaped;
#[cfg(test)]
mod tests;

use millstream_base::{Lane, Type, Vec3};
use millstream_form::{Form, FormBuilder, Val};
use millstream_node::{Default, NodeDef, Registry};

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    registry.register(value());
    registry.register(integer());
    registry.register(boolean());
    registry.register(vector());
    registry.register(direction());
    registry.register(normal());
    registry.register(hash::hash());
    distributions::register(registry);
    more::register(registry);
    rejection::register(registry);
    shaped::register(registry);
    divided::register(registry);
}

pub(crate) const SOURCE: &str = "PCG4D: M. Jarzynski, M. Olano, Hash Functions for GPU Rendering, \
                                 Journal of Computer Graphics Techniques 9(3), 2020";

/// Numbers of the node types, which must never change because results depend on them.
#[derive(Clone, Copy)]
#[repr(i32)]
pub(crate) enum Stream {
    Value = 1,
    Integer = 2,
    Boolean = 3,
    Vector = 4,
    Direction = 5,
    Normal = 6,
    Hash = 7,
    Noise = 8,
    Exponential = 9,
    Triangular = 10,
    LogNormal = 11,
    Cauchy = 12,
    Weibull = 13,
    Geometric = 14,
    InDisk = 15,
    OnCircle = 16,
    InBall = 17,
    InTriangle = 18,
    Rotation = 19,
    Shuffle = 20,
    Poisson = 21,
    Binomial = 22,
    Gamma = 23,
    Beta = 24,
    Weighted = 25,
    Pareto = 26,
    Laplace = 27,
    Logistic = 28,
    Gumbel = 29,
    InBox = 30,
    InRing = 31,
    InCone = 32,
    Even = 33,
    Halton = 34,
    Permutation = 35,
    StudentT = 36,
    VonMises = 37,
    NegativeBinomial = 38,
    TruncatedNormal = 39,
    Hypergeometric = 40,
    Multinomial = 41,
    Dirichlet = 42,
}

/// Hashes four words to four words.
pub(crate) fn pcg4d<'b>(words: [Val<'b>; 4]) -> [Val<'b>; 4] {
    let mut v = words.map(|word| word * 1_664_525 + 1_013_904_223);
    let mix = |v: &mut [Val<'b>; 4]| {
        v[0] = v[0] + v[1] * v[3];
        v[1] = v[1] + v[2] * v[0];
        v[2] = v[2] + v[0] * v[1];
        v[3] = v[3] + v[1] * v[2];
    };
    mix(&mut v);
    v = v.map(|word| word ^ word.ushr(16));
    mix(&mut v);
    // Not in the paper: products carry upward only, so the low bits need information from the high
    // ones.
    v.map(|word| word ^ word.ushr(16))
}

/// Four words drawn for an id and a seed.
fn draw<'b>(b: &'b FormBuilder, id: Val<'b>, seed: Val<'b>, stream: Stream) -> [Val<'b>; 4] {
    pcg4d([id, seed, b.constant_i32(stream as i32), b.constant_i32(0)])
}

/// Two words for the index of an item and a seed, which serve as keys for a random order.
pub(crate) fn shuffled_key() -> Form {
    let b = FormBuilder::new();
    let [id, seed] = b.params([Lane::I32; 2]);
    b.finish(&draw(&b, id, seed, Stream::Shuffle)[..2])
}

/// 2^-24; an `f32` has 24 bits of precision.
const STEP: f32 = 1.0 / 16_777_216.0;

/// An `f32` from 0 to below 1, in steps of 2^-24.
pub(crate) fn unit(word: Val<'_>) -> Val<'_> {
    word.ushr(8).convert(Lane::F32) * STEP
}

/// A number between two bounds, the second excluded unless they are equal.
fn between<'b>(min: Val<'b>, max: Val<'b>, unit: Val<'b>) -> Val<'b> {
    let number = min + (max - min) * unit;
    // The product may round up to the excluded bound if the range is small compared with its
    // bounds.
    let too_far = min.lt(max).and(number.ge(max));
    too_far.select(min, number)
}

/// Adds the inputs that select the number to draw, common to the family.
fn drawn(def: NodeDef) -> NodeDef {
    def.source(SOURCE)
        .input_or(
            "id",
            Type::I32,
            0.0,
            "index of the number; link `context.index` to draw one per element",
        )
        .input_or("seed", Type::I32, 0.0, "random seed; different seeds give independent numbers")
}

fn value() -> NodeDef {
    let def = NodeDef::new("random.value", "A uniformly distributed random number")
        .details(
            "Uniform from `min` up to but not including `max`, in 2^24 steps; `min` if both are \
             equal. The width of the range must be finite. Never NaN unless a bound is. The error \
             is at most 3e-7 times the greatest magnitude of the bounds; numbers from 0 to 1 are \
             exact.",
        )
        .input_or("min", Type::F32, 0.0, "lower bound, inclusive")
        .input_or("max", Type::F32, 1.0, "upper bound, exclusive");
    drawn(def).output("value", Type::F32, "number from min to max").form(|b, inputs| {
        let [word, ..] = draw(b, inputs[2][0], inputs[3][0], Stream::Value);
        vec![vec![between(inputs[0][0], inputs[1][0], unit(word))]]
    })
}

fn integer() -> NodeDef {
    let def = NodeDef::new("random.integer", "A uniformly distributed random integer")
        .details(
            "From `min` to `max`, both inclusive; the bounds may be swapped. Probabilities differ \
             by at most one in 2^32.",
        )
        .input_or("min", Type::I32, 0.0, "first bound, inclusive")
        .input_or("max", Type::I32, 100.0, "second bound, inclusive");
    drawn(def).output("value", Type::I32, "integer from min to max").form(|b, inputs| {
        let [word, ..] = draw(b, inputs[2][0], inputs[3][0], Stream::Integer);
        let [word, a, c] = [word, inputs[0][0], inputs[1][0]].map(|x| x.convert(Lane::I64));
        let (min, max) = (a.min(c), a.max(c));
        // The upper half of the unsigned product word * count is below count.
        let offset = ((word & 0xffff_ffff_i64) * (max - min + 1)).ushr(32);
        vec![vec![(min + offset).convert(Lane::I32)]]
    })
}

fn boolean() -> NodeDef {
    let def = NodeDef::new("random.boolean", "A random boolean with a given probability")
        .details("Never true for a probability of 0 or less, always true for 1 or more.")
        .input_or("probability", Type::F32, 0.5, "probability of true, 0 to 1");
    drawn(def).output("value", Type::BOOL, "").form(|b, inputs| {
        let [word, ..] = draw(b, inputs[1][0], inputs[2][0], Stream::Boolean);
        vec![vec![unit(word).lt(inputs[0][0])]]
    })
}

fn vector() -> NodeDef {
    let def = NodeDef::new("random.vector", "A uniformly distributed random vector")
        .details("Each component is drawn like `random.value`, independent of the others.")
        .input_or("min", Type::VEC3, Default::Zero, "lower bounds, inclusive")
        .input_or("max", Type::VEC3, Vec3([1.0; 3]), "upper bounds, exclusive");
    drawn(def).output("value", Type::VEC3, "vector in the box between min and max").form(
        |b, inputs| {
            let words = draw(b, inputs[2][0], inputs[3][0], Stream::Vector);
            let lane = |i: usize| between(inputs[0][i], inputs[1][i], unit(words[i]));
            vec![(0..3).map(lane).collect()]
        },
    )
}

/// An angle from 0 to a full turn.
fn turn(word: Val<'_>) -> Val<'_> {
    unit(word) * std::f32::consts::TAU
}

fn direction() -> NodeDef {
    let def = NodeDef::new("random.direction", "A random direction in space")
        .details("Uniformly distributed over the sphere. The error is at most 1e-6.");
    drawn(def).output("value", Type::VEC3, "length 1").form(|b, inputs| {
        let [height, angle, ..] = draw(b, inputs[0][0], inputs[1][0], Stream::Direction);
        let z = unit(height) * 2.0 - 1.0;
        let squared: Val<'_> = 1.0 - z * z;
        let radius = squared.max(0.0).sqrt();
        let angle = turn(angle);
        vec![vec![angle.cos() * radius, angle.sin() * radius, z]]
    })
}

fn normal() -> NodeDef {
    let def = NodeDef::new("random.normal", "A normally distributed random number")
        .details(
            "The 2^24 steps limit the distance from the mean to 5.8 standard deviations. The error \
             is at most 3e-6 standard deviations, in addition to the rounding of the sum.",
        )
        .input_or("mean", Type::F32, 0.0, "")
        .input_or("deviation", Type::F32, 1.0, "standard deviation");
    drawn(def)
        .source(format!("G. Box, M. Muller, 1958, applied to two numbers of {SOURCE}"))
        .output("value", Type::F32, "")
        .form(|b, inputs| {
            let [size, angle, ..] = draw(b, inputs[2][0], inputs[3][0], Stream::Normal);
            // From one step to 1, so that the logarithm is finite.
            let size = (unit(size) + STEP).ln() * -2.0;
            vec![vec![inputs[0][0] + inputs[1][0] * (size.sqrt() * turn(angle).cos())]]
        })
}
