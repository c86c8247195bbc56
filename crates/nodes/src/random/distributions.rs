//! Random numbers of other distributions, each by inversion of a distribution function.

use millstream_base::{Type, Vec3};
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use super::{SOURCE, STEP, Stream, draw, drawn, turn, unit};

pub(super) fn register(registry: &mut Registry) {
    registry.register(exponential());
    registry.register(triangular());
    registry.register(log_normal());
    registry.register(cauchy());
    registry.register(weibull());
    registry.register(geometric());
    registry.register(in_disk());
    registry.register(on_circle());
    registry.register(in_ball());
    registry.register(in_triangle());
    registry.register(rotation());
}

const INVERTED: &str =
    "It is computed from one number of 2^24 steps, which limits how extreme it can be.";

/// From one step to 1, so that the logarithm is finite.
pub(super) fn above_zero(word: Val<'_>) -> Val<'_> {
    unit(word) + STEP
}

/// A node that computes a number from one drawn word.
pub(super) fn inverted(
    name: &'static str,
    summary: &'static str,
    about: &'static str,
    inputs: &[(&'static str, f64, &'static str)],
    stream: Stream,
    make: impl for<'b> Fn(&[Val<'b>], Val<'b>) -> Val<'b> + Send + Sync + 'static,
) -> NodeDef {
    let n = inputs.len();
    let def = NodeDef::new(name, summary).details(format!("{about} {INVERTED}"));
    let def = inputs
        .iter()
        .fold(def, |def, (name, default, about)| def.input_or(*name, Type::F32, *default, *about));
    drawn(def).output("value", Type::F32, "").form(move |b, inputs| {
        let [word, ..] = draw(b, inputs[n][0], inputs[n + 1][0], stream);
        let numbers: Vec<Val<'_>> = inputs[..n].iter().map(|x| x[0]).collect();
        vec![vec![make(&numbers, word)]]
    })
}

fn exponential() -> NodeDef {
    inverted(
        "random.exponential",
        "An exponentially distributed random number (a waiting time)",
        "-ln(u) / rate, with u uniform from 0 to 1; never negative. The mean is 1 / rate. The \
         relative error is at most 3e-7.",
        &[("rate", 1.0, "mean number of events per unit of time")],
        Stream::Exponential,
        |x, word| -above_zero(word).ln() / x[0],
    )
}

fn triangular() -> NodeDef {
    inverted(
        "random.triangular",
        "A random number with a triangular distribution",
        "The density rises linearly from the minimum to the peak and falls linearly to the \
         maximum. The three must be in this order. The error is at most 4e-7 times the greatest of \
         their magnitudes.",
        &[
            ("min", 0.0, "least number"),
            ("peak", 0.5, "most likely number"),
            ("max", 1.0, "greatest number"),
        ],
        Stream::Triangular,
        |x, word| {
            let (min, peak, max) = (x[0], x[1], x[2]);
            let u = unit(word);
            let width = max - min;
            let rise = min + (u * width * (peak - min)).sqrt();
            let rest: Val<'_> = 1.0 - u;
            let fall = max - (rest * width * (max - peak)).sqrt();
            (u * width).lt(peak - min).select(rise, fall)
        },
    )
}

fn log_normal() -> NodeDef {
    let def = NodeDef::new(
        "random.log_normal",
        "A random number whose logarithm is normally distributed",
    )
    .details(
        "e raised to a number drawn like `random.normal`. The median is e^mean. The relative \
             error is at most 3e-6 for a mean of 0 and a deviation of 1.",
    )
    .input_or("mean", Type::F32, 0.0, "mean of the logarithm")
    .input_or("deviation", Type::F32, 1.0, "standard deviation of the logarithm");
    drawn(def)
        .source(format!("G. Box, M. Muller, 1958, applied to two numbers of {SOURCE}"))
        .output("value", Type::F32, "above 0")
        .form(|b, inputs| {
            let [size, angle, ..] = draw(b, inputs[2][0], inputs[3][0], Stream::LogNormal);
            let size = above_zero(size).ln() * -2.0;
            let normal = size.sqrt() * turn(angle).cos();
            vec![vec![(inputs[0][0] + inputs[1][0] * normal).exp()]]
        })
}

fn cauchy() -> NodeDef {
    inverted(
        "random.cauchy",
        "A random number with the Cauchy distribution, which has extreme outliers",
        "The median plus the scale times the tangent of a uniform angle from -pi/2 to pi/2. Half \
         of the numbers are within one scale of the median, and there is no mean. The error is at \
         most 5e-7 times the scale, or times the distance from the median if that is more, in \
         addition to the rounding of the sum.",
        &[
            ("median", 0.0, "median"),
            ("scale", 1.0, "distance from the median that half of the numbers do not exceed"),
        ],
        Stream::Cauchy,
        |x, word| {
            // Computed from the nearer end, where no step is lost, to the middle of a step.
            let u = unit(word);
            let rest: Val<'_> = 1.0 - u;
            let end = (u + STEP * 0.5).min(rest - STEP * 0.5);
            let way: Val<'_> = 1.0 / (end * std::f64::consts::PI).tan();
            x[0] + x[1] * way.copysign(u - 0.5)
        },
    )
}

fn weibull() -> NodeDef {
    inverted(
        "random.weibull",
        "A random time to failure (Weibull distribution)",
        "scale * (-ln(u))^(1 / shape), with u uniform from 0 to 1. Shape 1 is \
         `random.exponential`; smaller shapes favor early failures, larger ones late failures. For \
         shapes of at least 1 the error is at most 2e-6 times the scale, or times the number if \
         that is more.",
        &[
            ("scale", 1.0, "number that 63 percent of the results are below"),
            ("shape", 1.5, "shape of the distribution, above 0"),
        ],
        Stream::Weibull,
        |x, word| x[0] * (-above_zero(word).ln()).pow(1 / x[1]),
    )
}

fn geometric() -> NodeDef {
    let def = NodeDef::new("random.geometric", "The number of failures before the first success")
        .details(format!(
            "floor(ln(u) / ln(1 - probability)), with u uniform from 0 to 1. 0 for a probability \
             of 1 or more, the greatest `i32` for 0 or less. {INVERTED}"
        ))
        .input_or("probability", Type::F32, 0.5, "probability of success of each trial");
    drawn(def).output("value", Type::I32, "number of failures").form(|b, inputs| {
        let [word, ..] = draw(b, inputs[1][0], inputs[2][0], Stream::Geometric);
        let p = inputs[0][0];
        let n = (above_zero(word).ln() / (-p).ln_1p()).floor();
        let n = p.ge(1.0).select(0.0, p.gt(0.0).select(n, f64::INFINITY));
        vec![vec![n.convert(millstream_base::Lane::I32)]]
    })
}

fn in_disk() -> NodeDef {
    let def = NodeDef::new("random.in_disk", "A random point in a disk")
        .details("Uniformly distributed over the area. The error is at most 1e-6 times the radius.")
        .input_or("radius", Type::F32, 1.0, "");
    drawn(def).output("value", Type::VEC2, "point within the radius of the origin").form(
        |b, inputs| {
            let [size, angle, ..] = draw(b, inputs[1][0], inputs[2][0], Stream::InDisk);
            let (radius, angle) = (unit(size).sqrt() * inputs[0][0], turn(angle));
            vec![vec![radius * angle.cos(), radius * angle.sin()]]
        },
    )
}

fn on_circle() -> NodeDef {
    let def = NodeDef::new("random.on_circle", "A random direction in the plane").details(
        "Uniformly distributed over the circle. For directions in space use \
             `random.direction`. The error is at most 1e-6.",
    );
    drawn(def).output("value", Type::VEC2, "length 1").form(|b, inputs| {
        let [word, ..] = draw(b, inputs[0][0], inputs[1][0], Stream::OnCircle);
        vec![vec![turn(word).cos(), turn(word).sin()]]
    })
}

fn in_ball() -> NodeDef {
    let def = NodeDef::new("random.in_ball", "A random point in a ball")
        .details(
            "Uniformly distributed over the volume; for points on the surface use \
             `random.direction`. The error is at most 1e-6 times the radius.",
        )
        .input_or("radius", Type::F32, 1.0, "");
    drawn(def).output("value", Type::VEC3, "point within the radius of the origin").form(
        |b, inputs| {
            let [size, height, angle, _] = draw(b, inputs[1][0], inputs[2][0], Stream::InBall);
            let z = unit(height) * 2.0 - 1.0;
            let squared: Val<'_> = 1.0 - z * z;
            let around = squared.max(0.0).sqrt();
            let radius = unit(size).cbrt() * inputs[0][0];
            let angle = turn(angle);
            let point = [angle.cos() * around, angle.sin() * around, z];
            vec![point.iter().map(|x| *x * radius).collect()]
        },
    )
}

fn in_triangle() -> NodeDef {
    let def = NodeDef::new("random.in_triangle", "A random point in a triangle")
        .details(
            "Uniformly distributed over the area. The error is at most 4e-7 times the greatest \
             coordinate of the corners.",
        )
        .input_or("a", Type::VEC3, 0.0, "a corner")
        .input_or("b", Type::VEC3, Vec3([1.0, 0.0, 0.0]), "a corner")
        .input_or("c", Type::VEC3, Vec3([0.0, 1.0, 0.0]), "a corner");
    drawn(def)
        .source(format!(
            "R. Osada et al., Shape Distributions, 2002, applied to two numbers of {SOURCE}"
        ))
        .output("value", Type::VEC3, "point in the triangle")
        .form(|b, inputs| {
            let [across, along, ..] = draw(b, inputs[3][0], inputs[4][0], Stream::InTriangle);
            let (root, along) = (unit(across).sqrt(), unit(along));
            let of_a: Val<'_> = 1.0 - root;
            let (of_b, of_c) = (root * (1.0 - along), root * along);
            let at = |i: usize| of_a * inputs[0][i] + of_b * inputs[1][i] + of_c * inputs[2][i];
            vec![(0..3).map(at).collect()]
        })
}

fn rotation() -> NodeDef {
    let def = NodeDef::new("random.rotation", "A random rotation")
        .details("Uniformly distributed over all rotations. The error is at most 1e-6.");
    drawn(def)
        .source(format!(
            "K. Shoemake, Uniform random rotations, 1992, applied to three numbers of {SOURCE}"
        ))
        .output("value", Type::QUAT, "length 1")
        .form(|b, inputs| {
            let [share, first, second, _] = draw(b, inputs[0][0], inputs[1][0], Stream::Rotation);
            let share = unit(share);
            let rest: Val<'_> = 1.0 - share;
            let (a, b) = (rest.sqrt(), share.sqrt());
            let (first, second) = (turn(first), turn(second));
            vec![vec![b * second.cos(), a * first.sin(), a * first.cos(), b * second.sin()]]
        })
}
