//! Voronoi Texture: the nearest of random points, one in each cell.

use millstream_base::{Lane, Type};
use millstream_form::Val;
use millstream_node::{NodeDef, Registry, Settings};
use millstream_nodes::kit::{dot, form_by_settings};

use super::super::hash::{hash, unit};
use super::super::{held, least};
use super::{coordinates, dimensioned, mixed, octaves, placed, scaled};

pub(super) fn register(registry: &mut Registry) {
    registry.register(voronoi());
    registry.register(edge());
    registry.register(radius());
}

const FEATURES: &[(&str, &str)] = &[
    ("f1", "the nearest point"),
    ("f2", "the second nearest point"),
    ("smooth_f1", "the nearest points, blended smoothly"),
];

const METRICS: &[(&str, &str)] = &[
    ("euclidean", "the length of the difference"),
    ("manhattan", "the sum of the differences along the axes"),
    ("chebychev", "the greatest difference along an axis"),
    ("minkowski", "the root of the sum of powers, by the input `exponent`"),
];

const SOURCE: &str = "Worley, \"A Cellular Texture Basis Function\", 1996; hash: Jarzynski and \
                      Olano, \"Hash Functions for GPU Rendering\", 2020";

/// The inputs after the position.
const INPUTS: [(&str, f64, &str); 7] = [
    ("scale", 5.0, "factor of the position"),
    ("randomness", 1.0, "randomness of the points: 0 is a regular grid, 1 anywhere in their cells"),
    ("detail", 0.0, "number of octaves after the first, up to 15; a fraction adds a part of one"),
    ("roughness", 0.5, "amplitude of an octave relative to the previous one"),
    ("lacunarity", 2.0, "frequency of an octave relative to the previous one"),
    ("smoothness", 1.0, "smoothness of the blending, 0 to 1"),
    ("exponent", 0.5, "exponent of the metric `minkowski`"),
];

fn with_inputs(def: NodeDef, n: usize) -> NodeDef {
    INPUTS[..n].iter().fold(placed(def), |def, (name, default, about)| {
        def.input_or(*name, Type::F32, *default, *about)
    })
}

fn normalized(def: NodeDef) -> NodeDef {
    def.flag("normalize", false, "divide distances by the longest possible one")
}

fn voronoi() -> NodeDef {
    let def = NodeDef::new(
        "blender.voronoi",
        "The nearest of scattered points, like Blender's Voronoi Texture",
    )
    .details("Each cell contains one point. The distances and colors of several octaves are added.")
    .source(SOURCE);
    let def = octaves(dimensioned(def))
        .choice("feature", FEATURES, "f1", "point to measure to")
        .choice("metric", METRICS, "euclidean", "metric of distances");
    with_inputs(normalized(def), INPUTS.len())
        .output("distance", Type::F32, "distance to the point, in cells")
        .output("color", Type::COLOR, "random color of its cell")
        .output("position", Type::VEC3, "position of the point; 0 along missing dimensions")
        .output(
            "w",
            Type::F32,
            "coordinate of the point in one dimension, or its fourth coordinate",
        )
        .kernel(form_by_settings(outputs))
}

fn edge() -> NodeDef {
    let def = NodeDef::new(
        "blender.voronoi_edge",
        "The distance to the border between cells of scattered points",
    )
    .details("The points are those of `blender.voronoi`.")
    .source(SOURCE);
    with_inputs(normalized(octaves(dimensioned(def))), 5)
        .output("value", Type::F32, "distance in cells")
        .kernel(form_by_settings(|settings, x| vec![vec![edge_of_octaves(settings, x)]]))
}

fn radius() -> NodeDef {
    let def = NodeDef::new(
        "blender.voronoi_radius",
        "The radius of the sphere in a cell of scattered points",
    )
    .details("Half of the distance from the nearest point to the point nearest to it.")
    .source(SOURCE);
    with_inputs(dimensioned(def), 2).output("value", Type::F32, "radius in cells").kernel(
        form_by_settings(|settings, x| {
            let place = Place::new(settings, x, x[2][0]);
            vec![vec![place.radius()]]
        }),
    )
}

/// A position among cells, each of which contains a point.
struct Place<'b> {
    /// The cell of the position.
    cell: Vec<Val<'b>>,
    /// The origin of the cell. Distant cells share a hash, but have different origins.
    floors: Vec<Val<'b>>,
    /// The position relative to the origin of the cell.
    local: Vec<Val<'b>>,
    randomness: Val<'b>,
}

/// Integer hashes of two to four words, computed with 31-bit integers.
fn pcg<'b>(words: &[Val<'b>]) -> Vec<Val<'b>> {
    let mut v: Vec<Val<'b>> = words.iter().map(|x| *x * 1_664_525 + 1_013_904_223).collect();
    let stir = |v: &mut Vec<Val<'b>>| match v.len() {
        2 => {
            v[0] = v[0] + v[1] * 1_664_525;
            v[1] = v[1] + v[0] * 1_664_525;
        }
        3 => {
            v[0] = v[0] + v[1] * v[2];
            v[1] = v[1] + v[2] * v[0];
            v[2] = v[2] + v[0] * v[1];
        }
        _ => {
            v[0] = v[0] + v[1] * v[3];
            v[1] = v[1] + v[2] * v[0];
            v[2] = v[2] + v[0] * v[1];
            v[3] = v[3] + v[1] * v[2];
        }
    };
    stir(&mut v);
    v = v.iter().map(|x| *x ^ x.shr(16)).collect();
    stir(&mut v);
    v.iter().map(|x| (*x & i32::MAX).convert(Lane::F32) * (1.0 / 2_147_483_647.0)).collect()
}

/// The position of the point in its cell, at full randomness.
fn random<'b>(cell: &[Val<'b>]) -> Vec<Val<'b>> {
    match cell {
        [x] => vec![unit(hash(&[x.bitcast()]))],
        _ => pcg(cell),
    }
}

/// A random color for a cell.
fn random_color<'b>(cell: &[Val<'b>]) -> Vec<Val<'b>> {
    match cell {
        [x] => {
            let more = |number: f32| unit(hash(&[x.bitcast(), x.like(number).bitcast()]));
            vec![unit(hash(&[x.bitcast()])), more(1.0), more(2.0)]
        }
        [x, y] => pcg(&[*x, *y, x.like(0)]),
        _ => pcg(cell)[..3].to_vec(),
    }
}

impl<'b> Place<'b> {
    /// Reads the first inputs, and scales the position.
    fn new(settings: &Settings, x: &[Vec<Val<'b>>], scale: Val<'b>) -> Self {
        let p = scaled(&coordinates(settings, &x[0], x[1][0]), scale);
        let floors: Vec<Val<'b>> = p.iter().map(|x| x.floor()).collect();
        Self {
            local: p.iter().zip(&floors).map(|(x, floor)| *x - *floor).collect(),
            // In one dimension, cells are counted in floats.
            cell: match &floors[..] {
                [floor] => vec![*floor],
                _ => floors.iter().map(|x| super::super::cast_to_i32(*x)).collect(),
            },
            randomness: held(x[3][0], 0.0, 1.0),
            floors,
        }
    }

    /// The offsets of the cells up to a distance, with the first dimension varying fastest.
    fn offsets(&self, reach: i32) -> impl Iterator<Item = Vec<i32>> + use<> {
        let (n, width) = (self.cell.len(), 2 * reach + 1);
        (0..width.pow(n as u32))
            .map(move |at| (0..n).map(|i| at / width.pow(i as u32) % width - reach).collect())
    }

    fn neighbor(&self, offset: &[i32]) -> Vec<Val<'b>> {
        self.cell.iter().zip(offset).map(|(cell, offset)| *cell + *offset).collect()
    }

    /// The point of a neighboring cell, relative to the cell of the position.
    fn point(&self, cell: &[Val<'b>], offset: &[i32]) -> Vec<Val<'b>> {
        let random = random(cell);
        random.iter().zip(offset).map(|(x, offset)| *x * self.randomness + *offset as f32).collect()
    }

    /// The vector from the position to a point.
    fn way(&self, point: &[Val<'b>]) -> Vec<Val<'b>> {
        point.iter().zip(&self.local).map(|(point, local)| *point - *local).collect()
    }

    /// The two nearest cells with their points and measures, nearest first.
    fn nearest(&self, measure: impl Fn(&[Val<'b>]) -> Val<'b>) -> [Found<'b>; 2] {
        let far = Found {
            measure: self.randomness.like(f32::MAX),
            cell: self.cell.clone(),
            point: vec![self.randomness.like(0.0); self.cell.len()],
        };
        let mut found = [far.clone(), far];
        for offset in self.offsets(1) {
            let cell = self.neighbor(&offset);
            let point = self.point(&cell, &offset);
            let here = Found { measure: measure(&self.way(&point)), cell, point };
            let is_first = here.measure.lt(found[0].measure);
            let is_second = here.measure.lt(found[1].measure);
            let second = Found::select(is_second, &here, &found[1]);
            found[1] = Found::select(is_first, &found[0], &second);
            found[0] = Found::select(is_first, &here, &found[0]);
        }
        found
    }

    fn edge(&self) -> Val<'b> {
        let [nearest, _] = self.nearest(|way| dot(way, way));
        let to_nearest = self.way(&nearest.point);
        let mut shortest = self.randomness.like(f32::MAX);
        for offset in self.offsets(1) {
            let way = self.way(&self.point(&self.neighbor(&offset), &offset));
            let across: Vec<Val<'b>> =
                way.iter().zip(&to_nearest).map(|(way, nearest)| *way - *nearest).collect();
            let middle: Vec<Val<'b>> =
                way.iter().zip(&to_nearest).map(|(way, nearest)| (*nearest + *way) * 0.5).collect();
            let squared = dot(&across, &across);
            let distance = dot(&middle, &across) / squared.sqrt();
            let counts = squared.gt(0.0001) & distance.lt(shortest);
            shortest = counts.select(distance, shortest);
        }
        shortest
    }

    /// In one dimension, only the adjacent cells are searched.
    fn edge_on_line(&self) -> Val<'b> {
        let point = |offset: i32| self.point(&self.neighbor(&[offset]), &[offset])[0];
        let [low, middle, high] = [point(-1), point(0), point(1)];
        let to = |other: Val<'b>| ((middle + other) * 0.5 - self.local[0]).abs();
        let (left, right) = (to(low), to(high));
        left.lt(right).select(left, right)
    }

    fn radius(&self) -> Val<'b> {
        let [nearest, _] = self.nearest(|way| dot(way, way));
        let start = random(&nearest.cell);
        let mut shortest = self.randomness.like(f32::MAX);
        for offset in self.offsets(1).filter(|offset| offset.iter().any(|x| *x != 0)) {
            let cell: Vec<Val<'b>> =
                nearest.cell.iter().zip(&offset).map(|(cell, offset)| *cell + *offset).collect();
            let point = random(&cell);
            let way = (0..start.len())
                .map(|i| (point[i] - start[i]) * self.randomness + offset[i] as f32)
                .collect::<Vec<_>>();
            let squared = dot(&way, &way);
            shortest = squared.lt(shortest).select(squared, shortest);
        }
        // If no point has a distance, as for NaN, there is no sphere.
        shortest.lt(f32::MAX).select(shortest.sqrt() * 0.5, shortest.like(0.0))
    }
}

/// A cell with its point and a measure of the distance to the point.
#[derive(Clone)]
struct Found<'b> {
    measure: Val<'b>,
    cell: Vec<Val<'b>>,
    point: Vec<Val<'b>>,
}

impl<'b> Found<'b> {
    /// This cell where the condition holds, else the other.
    fn select(holds: Val<'b>, this: &Self, other: &Self) -> Self {
        let each = |a: &[Val<'b>], b: &[Val<'b>]| -> Vec<Val<'b>> {
            a.iter().zip(b).map(|(a, b)| holds.select(*a, *b)).collect()
        };
        Self {
            measure: holds.select(this.measure, other.measure),
            cell: each(&this.cell, &other.cell),
            point: each(&this.point, &other.point),
        }
    }
}

/// A number that increases with the distance.
fn measure<'b>(metric: &str, way: &[Val<'b>], exponent: Val<'b>) -> Val<'b> {
    let sum = |f: &dyn Fn(Val<'b>) -> Val<'b>| {
        way.iter().map(|x| f(*x)).reduce(|a, b| a + b).expect("space has dimensions")
    };
    match metric {
        "manhattan" => sum(&Val::abs),
        "chebychev" => {
            let each = way.iter().map(|x| x.abs());
            each.reduce(|a, b| a.lt(b).select(b, a)).expect("space has dimensions")
        }
        // The power alone decreases if the exponent is negative.
        "minkowski" => sum(&|x| x.abs().pow(exponent)).pow(1.0 / exponent),
        _ => dot(way, way),
    }
}

/// The distance of a measure.
fn distance<'b>(metric: &str, measure: Val<'b>) -> Val<'b> {
    match metric {
        "manhattan" | "chebychev" | "minkowski" => measure,
        _ => measure.sqrt(),
    }
}

/// The results of one octave.
struct Octave<'b> {
    distance: Val<'b>,
    color: Vec<Val<'b>>,
    position: Vec<Val<'b>>,
}

fn octave<'b>(settings: &Settings, x: &[Vec<Val<'b>>], scale: Val<'b>) -> Octave<'b> {
    let place = Place::new(settings, x, scale);
    // In one dimension, all metrics are the same.
    let metric = if place.cell.len() == 1 { "manhattan" } else { settings.text("metric") };
    let exponent = x[8][0];
    let moved = |point: &[Val<'b>]| -> Vec<Val<'b>> {
        point.iter().zip(&place.floors).map(|(x, floor)| *x + *floor).collect()
    };
    let of_points = |number: usize| {
        let found = place.nearest(|way| measure(metric, way, exponent));
        let found = &found[number];
        Octave {
            distance: distance(metric, found.measure),
            color: random_color(&found.cell),
            position: moved(&found.point),
        }
    };
    match settings.text("feature") {
        "f2" => of_points(1),
        "smooth_f1" => {
            let smoothness = held(x[7][0] * 0.5, 0.0, 0.5);
            let (blended, sharp) = (smooth(&place, metric, exponent, smoothness), of_points(0));
            let none = smoothness.eq(0.0);
            let pick = |a: &[Val<'b>], b: &[Val<'b>]| -> Vec<Val<'b>> {
                a.iter().zip(b).map(|(a, b)| none.select(*a, *b)).collect()
            };
            Octave {
                distance: none.select(sharp.distance, blended.distance),
                color: pick(&sharp.color, &blended.color),
                position: pick(&sharp.position, &moved(&blended.position)),
            }
        }
        _ => of_points(0),
    }
}

/// Blends points one after another.
fn smooth<'b>(
    place: &Place<'b>,
    metric: &str,
    exponent: Val<'b>,
    smoothness: Val<'b>,
) -> Octave<'b> {
    let mut so_far: Option<Octave<'b>> = None;
    for offset in place.offsets(2) {
        let cell = place.neighbor(&offset);
        let point = place.point(&cell, &offset);
        let way = distance(metric, measure(metric, &place.way(&point), exponent));
        let here = Octave { distance: way, color: random_color(&cell), position: point };
        let Some(old) = so_far else {
            so_far = Some(here);
            continue;
        };
        let t = held((old.distance - way) / smoothness * 0.5 + 0.5, 0.0, 1.0);
        let t = t * t * (3.0 - t * 2.0);
        let less = smoothness * t * (1.0 - t);
        let fewer = less / (smoothness * 3.0 + 1.0);
        let blend = |a: &[Val<'b>], b: &[Val<'b>]| -> Vec<Val<'b>> {
            a.iter().zip(b).map(|(a, b)| mixed(*a, *b, t) - fewer).collect()
        };
        so_far = Some(Octave {
            distance: mixed(old.distance, way, t) - less,
            color: blend(&old.color, &here.color),
            position: blend(&old.position, &here.position),
        });
    }
    so_far.expect("there are cells around")
}

fn outputs<'b>(settings: &Settings, x: &[Vec<Val<'b>>]) -> Vec<Vec<Val<'b>>> {
    let (scale, lacunarity) = (x[2][0], x[6][0]);
    let (zero, one) = (scale.like(0.0), scale.like(1.0));
    let detail = Detail::new(x);
    let lanes = |octave: &Octave<'b>| -> Vec<Val<'b>> {
        [octave.distance].iter().chain(&octave.color).chain(&octave.position).copied().collect()
    };
    let (mut amplitude, mut finer, mut most) = (one, one, zero);
    let mut sums = Vec::new();
    for number in 0..settings.integer("octaves").max(1) {
        let share = detail.share(number);
        let this = lanes(&octave(settings, x, scale * finer));
        sums.resize(this.len(), zero);
        for (i, (sum, this)) in sums.iter_mut().zip(this).enumerate() {
            let is_sum = i < 4;
            let with =
                if is_sum { *sum + this * amplitude } else { mixed(*sum, this / finer, amplitude) };
            *sum = share.of(*sum, with, this, mixed(*sum, with, detail.rest));
        }
        let with = most + amplitude;
        most = share.of(most, with, one, mixed(most, with, detail.rest));
        amplitude = amplitude * detail.roughness;
        finer = finer * lacunarity;
    }
    let n = sums.len() - 4;
    if settings.flag("normalize") {
        let farthest = farthest(settings, x, n);
        sums[0] = sums[0] / (most * farthest);
        for channel in &mut sums[1..4] {
            *channel = *channel / most;
        }
    }
    let none = scale.eq(0.0);
    let position: Vec<Val<'b>> = sums[4..].iter().map(|x| none.select(zero, *x / scale)).collect();
    let (vector, w) = match position[..] {
        [w] => (vec![zero; 3], w),
        [x, y] => (vec![x, y, zero], zero),
        [x, y, z, w] => (vec![x, y, z], w),
        _ => (position, zero),
    };
    vec![vec![sums[0]], vec![sums[1], sums[2], sums[3], one], vector, vec![w]]
}

/// The number of octaves that matter.
struct Detail<'b> {
    detail: Val<'b>,
    /// The fraction of the detail.
    rest: Val<'b>,
    roughness: Val<'b>,
}

/// The weight of an octave.
struct Share<'b> {
    /// The weight as the only octave.
    alone: Val<'b>,
    full: Val<'b>,
    part: Val<'b>,
}

impl<'b> Detail<'b> {
    fn new(x: &[Vec<Val<'b>>]) -> Self {
        let detail = least(x[4][0], x[4][0].like(15.0));
        Self { detail, rest: detail - detail.floor(), roughness: x[5][0] }
    }

    fn share(&self, number: i64) -> Share<'b> {
        let number = number as f32;
        let runs = self.detail.ceil().ge(number);
        let single = self.detail.eq(0.0) | self.roughness.eq(0.0);
        let alone = if number == 0.0 { runs & single } else { runs.like(false) };
        let full = runs & self.detail.ge(number) & !single;
        let part = runs & self.detail.lt(number) & self.rest.ne(0.0) & !single;
        Share { alone, full, part }
    }
}

impl<'b> Share<'b> {
    fn of(&self, old: Val<'b>, full: Val<'b>, alone: Val<'b>, part: Val<'b>) -> Val<'b> {
        self.alone.select(alone, self.full.select(full, self.part.select(part, old)))
    }
}

/// The longest possible distance.
fn farthest<'b>(settings: &Settings, x: &[Vec<Val<'b>>], n: usize) -> Val<'b> {
    let (metric, exponent) = (settings.text("metric"), x[8][0]);
    let corner = vec![held(x[3][0], 0.0, 1.0) * 0.5 + 0.5; n];
    let farthest = distance(metric, measure(metric, &corner, exponent));
    if settings.text("feature") == "f2" { farthest * 2.0 } else { farthest }
}

fn edge_of_octaves<'b>(settings: &Settings, x: &[Vec<Val<'b>>]) -> Val<'b> {
    let (scale, lacunarity) = (x[2][0], x[6][0]);
    let detail = Detail::new(x);
    let edge = |scale: Val<'b>| {
        let place = Place::new(settings, x, scale);
        if place.cell.len() == 1 { place.edge_on_line() } else { place.edge() }
    };
    let lesser = |a: Val<'b>, b: Val<'b>| b.lt(a).select(b, a);
    let farthest = held(x[3][0], 0.0, 1.0) * 0.5 + 0.5;
    let (mut result, mut most) = (scale.like(8.0), farthest);
    let (mut amplitude, mut finer) = (scale.like(1.0), scale.like(1.0));
    for number in 0..settings.integer("octaves").max(1) {
        let share = detail.share(number);
        let this = edge(scale * finer);
        let with = mixed(result, lesser(result, this / finer), amplitude);
        let partly = mixed(result, lesser(result, with), detail.rest);
        result = share.of(result, with, this, partly);
        let with = mixed(most, farthest / finer, amplitude);
        most = share.of(most, with, most, mixed(most, with, detail.rest));
        amplitude = amplitude * detail.roughness;
        finer = finer * lacunarity;
    }
    if settings.flag("normalize") { result / most } else { result }
}
