//! Cell noise (Worley, Voronoi): distances to the nearest of scattered points.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry, Settings, Signature};

use super::lattice::{
    Axis, DRAWN, axes, coordinate, corner, draw, further, round_period, unit, wrapped,
};
use super::{ABOUT_FAR, edge, period, positioned, scaled, seed_words, tiling};
use crate::shape::{T, form_by_settings, sockets_of};

pub(super) fn register(registry: &mut Registry) {
    registry.register(cell());
    registry.register(edge::edge());
}

const FEATURES: &[(&str, &str)] = &[
    ("f1", "the nearest point"),
    ("f2", "the second nearest point"),
    ("smooth_f1", "the nearest points, blended smoothly; adds an input `smoothness`"),
];

const METRICS: &[(&str, &str)] = &[
    ("euclidean", "straight-line distance"),
    ("manhattan", "sum of the distances along the axes"),
    ("chebychev", "greatest distance along an axis"),
    ("minkowski", "generalized distance; adds an input `exponent`: 1 gives manhattan, 2 euclidean"),
];

/// The distance metric.
#[derive(Clone, Copy)]
enum Metric<'b> {
    Euclidean,
    Manhattan,
    Chebychev,
    Minkowski(Val<'b>),
}

impl<'b> Metric<'b> {
    fn of(settings: &Settings, exponent: Option<Val<'b>>) -> Self {
        match (settings.text("metric"), exponent) {
            ("manhattan", _) => Self::Manhattan,
            ("chebychev", _) => Self::Chebychev,
            ("minkowski", Some(exponent)) => Self::Minkowski(exponent),
            _ => Self::Euclidean,
        }
    }

    /// A number that increases with the distance and is cheap to compare.
    fn measure(self, way: &[Val<'b>]) -> Val<'b> {
        let join = |f: &dyn Fn(Val<'b>) -> Val<'b>, op: fn(Val<'b>, Val<'b>) -> Val<'b>| {
            way.iter().map(|x| f(*x)).reduce(op).expect("space has dimensions")
        };
        match self {
            Self::Euclidean => join(&|x| x * x, |a, b| a + b),
            Self::Manhattan => join(&Val::abs, |a, b| a + b),
            Self::Chebychev => join(&Val::abs, Val::max),
            Self::Minkowski(exponent) => join(&|x| x.abs().pow(exponent), |a, b| a + b),
        }
    }

    /// The distance that belongs to a measure.
    fn distance(self, measure: Val<'b>) -> Val<'b> {
        match self {
            Self::Euclidean => measure.sqrt(),
            Self::Manhattan | Self::Chebychev => measure,
            Self::Minkowski(exponent) => measure.pow(1 / exponent),
        }
    }
}

/// The point of a cell near the position.
pub(super) struct Site<'b> {
    pub hash: Val<'b>,
    /// The vector from the position to the point.
    pub way: Vec<Val<'b>>,
}

/// The cell of a position and its neighbors: for each its hash, and the vector to its center.
pub(super) fn neighbors<'b>(
    p: &[Val<'b>],
    words: &[Val<'b>],
    period: Option<&[Val<'b>]>,
) -> Vec<Site<'b>> {
    let n = p.len();
    let axes = axes(p, words, None);
    // By axis, then for the cells below, at and above: the hashed coordinate and the offset to the
    // center of the cell.
    let side = |i: usize, axis: &Axis<'b>, step: i32| {
        let coordinate = match period {
            None if step == 0 => axis.low,
            None => further(axis.low, i, step),
            Some(period) => {
                let cell = p[i].floor() + f64::from(step);
                coordinate(wrapped(cell, round_period(period[i])), i, words)
            }
        };
        (coordinate, (f64::from(step) + 0.5) - axis.rest)
    };
    let sides: Vec<[(Val<'b>, Val<'b>); 3]> = axes
        .iter()
        .enumerate()
        .map(|(i, axis)| [-1, 0, 1].map(|step| side(i, axis, step)))
        .collect();
    let neighbor = |at: usize| {
        let side = |i: usize| sides[i][at / 3_usize.pow(i as u32) % 3];
        let hash = corner((0..n).map(|i| side(i).0));
        Site { hash, way: (0..n).map(|i| side(i).1).collect() }
    };
    (0..3_usize.pow(n as u32)).map(neighbor).collect()
}

/// The points of the cell of a position and of its neighbors.
pub(super) fn sites<'b>(
    p: &[Val<'b>],
    words: &[Val<'b>],
    randomness: Val<'b>,
    period: Option<&[Val<'b>]>,
) -> Vec<Site<'b>> {
    let jitter = randomness.clamp(0.0, 1.0) * (0.5 * DRAWN);
    let mut sites = neighbors(p, words, period);
    for Site { hash, way } in &mut sites {
        for (i, x) in way.iter_mut().enumerate() {
            *x = draw(*hash, i) * jitter + *x;
        }
    }
    sites
}

fn cell() -> NodeDef {
    let def = NodeDef::new(
        "noise.cell",
        "Cell noise: the distance to the nearest scattered point (Worley)",
    )
    .details(format!(
        "Each cell contains one point; with `randomness` 1 it is anywhere in its cell, with 0 \
             at the center. The distance is at least 0 and rarely above 1. It is continuous except \
             at the rare places where the nearest point is in neither the cell of the position nor \
             an adjacent one: only these cells are searched, so a distance above 0.5 may be too \
             large. With `smooth_f1` the value is -s ln(sum of e^(-d / s)) over the distances d to \
             these points, where s is a quarter of the smoothness: at most the distance to the \
             nearest point, and 0 or less where several points are very near. `position` is the \
             point found and `random` a number of its cell; with `smooth_f1` they are those of the \
             nearest point. If the scale is 0, the point is NaN. With a smoothness and an exponent \
             of 1 the error is at most 1e-6, except for the point. With `tile` the noise repeats \
             seamlessly after `period` cells along each axis. {ABOUT_FAR}"
    ))
    .source("Worley, \"A Cellular Texture Basis Function\", 1996")
    .choice("feature", FEATURES, "f1", "point to which the distance is measured")
    .choice("metric", METRICS, "euclidean", "metric of distances");
    tiling(def)
        .sockets_by_settings(|settings| Ok(sockets(settings)))
        .kernel(form_by_settings(outputs))
}

/// Adds the sockets and settings of all nodes with scattered points.
pub(super) fn scattered() -> NodeDef {
    positioned().input_or(
        "randomness",
        Type::F32,
        1.0,
        "randomness of the points: 0 is a regular grid, 1 anywhere in their cells",
    )
}

fn sockets(settings: &Settings) -> Signature {
    let mut def = scattered();
    if settings.text("feature") == "smooth_f1" {
        def = def.input_or("smoothness", Type::F32, 0.5, "smoothness of the blending, 0 to 1");
    }
    if settings.text("metric") == "minkowski" {
        def = def.input_or("exponent", Type::F32, 0.5, "exponent of the metric, above 0");
    }
    let def = period(def, settings.flag("tile"))
        .output("value", Type::F32, "distance in cells")
        .output("position", T, "position of the point")
        .output("random", Type::F32, "random number of the cell of the point, 0 to 1");
    sockets_of(&def)
}

/// One of the nearest points so far.
#[derive(Clone)]
struct Best<'b> {
    measure: Val<'b>,
    hash: Val<'b>,
    way: Vec<Val<'b>>,
}

impl<'b> Best<'b> {
    fn of(measure: Val<'b>, site: &Site<'b>) -> Self {
        Self { measure, hash: site.hash, way: site.way.clone() }
    }

    /// `this` if the condition is true, otherwise `other`.
    fn select(holds: Val<'b>, this: &Self, other: &Self) -> Self {
        let way = this.way.iter().zip(&other.way).map(|(a, b)| holds.select(*a, *b)).collect();
        Self {
            measure: holds.select(this.measure, other.measure),
            hash: holds.select(this.hash, other.hash),
            way,
        }
    }
}

fn outputs<'b>(settings: &Settings, inputs: &[Vec<Val<'b>>]) -> Vec<Vec<Val<'b>>> {
    let (scale, seed, randomness) = (inputs[1][0], inputs[2][0], inputs[3][0]);
    let mut more = inputs[4..].iter();
    let mut next = |wanted: bool| if wanted { more.next().cloned() } else { None };
    let smoothness = next(settings.text("feature") == "smooth_f1");
    let exponent = next(settings.text("metric") == "minkowski").map(|exponent| exponent[0]);
    let period = next(settings.flag("tile"));
    let metric = Metric::of(settings, exponent);
    let p = scaled(&inputs[0], scale);
    let sites = sites(&p, &seed_words(seed, 0), randomness, period.as_deref());
    let candidates: Vec<Best<'b>> =
        sites.iter().map(|site| Best::of(metric.measure(&site.way), site)).collect();
    let nearest = candidates.iter().skip(1).fold(candidates[0].clone(), |nearest, candidate| {
        Best::select(candidate.measure.lt(nearest.measure), candidate, &nearest)
    });
    let (found, distance) = match (settings.text("feature"), smoothness) {
        ("f2", _) => {
            let second = second(&candidates);
            let distance = metric.distance(second.measure);
            (second, distance)
        }
        (_, Some(smoothness)) => {
            let distances = candidates.iter().map(|site| metric.distance(site.measure));
            let least = metric.distance(nearest.measure);
            (nearest, softened(least, distances, smoothness[0]))
        }
        _ => {
            let distance = metric.distance(nearest.measure);
            (nearest, distance)
        }
    };
    let point = p.iter().zip(&found.way).map(|(x, way)| (*x + *way) / scale).collect();
    vec![vec![distance], point, vec![unit(found.hash)]]
}

fn second<'b>(candidates: &[Best<'b>]) -> Best<'b> {
    let (a, b) = (&candidates[0], &candidates[1]);
    let swapped = b.measure.lt(a.measure);
    let (mut first, mut second) = (Best::select(swapped, b, a), Best::select(swapped, a, b));
    for candidate in &candidates[2..] {
        let nearest = candidate.measure.lt(first.measure);
        let nearer = candidate.measure.lt(second.measure);
        second = Best::select(nearest, &first, &Best::select(nearer, candidate, &second));
        first = Best::select(nearest, candidate, &first);
    }
    second
}

/// The smooth minimum of distances, of which `least` is the least.
fn softened<'b>(
    least: Val<'b>,
    distances: impl Iterator<Item = Val<'b>>,
    smoothness: Val<'b>,
) -> Val<'b> {
    let s = smoothness.clamp(0.0, 1.0) * 0.25;
    let weights = distances.map(|distance| ((least - distance) / s).exp());
    let sum = weights.reduce(|sum, weight| sum + weight).expect("there are points");
    s.gt(0.0).select(least - s * sum.ln(), least)
}
