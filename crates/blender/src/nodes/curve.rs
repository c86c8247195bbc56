//! Curves defined by points, tabulated like in Blender.
//!
//! Blender fits cubics through the points, samples each in 32 steps, and stores 257 values at even
//! distances, between which it interpolates linearly. A form cannot look up a table, so the node is
//! a function over columns.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::settings::SettingError;
use millstream_node::{NodeDef, Registry, SettingKind, SettingValue, Settings};
use millstream_nodes::kit::{Cells, function};

pub(super) fn register(registry: &mut Registry) {
    registry.register(float_curve());
}

/// Steps between two points.
const N_STEPS: usize = 32;
/// Intervals of the table.
const N_INTERVALS: usize = 256;
/// The maximum number of points of a curve.
const MAX_POINTS: usize = 1024;

fn float_curve() -> NodeDef {
    NodeDef::new(
        "blender.float_curve",
        "Maps a number by a curve that is tabulated like in Blender",
    )
    .details(
        "The handles of a point are one of: `auto`, parallel to the line between its \
             neighbors; `auto_clamped`, like `auto` but flat at peaks and without overshoot; \
             `vector`, straight toward the neighbors. The table spans all points, and at least the \
             range of `table`.",
    )
    .setting(
        "points",
        SettingKind::Numbers,
        Some(SettingValue::Numbers(vec![0.0, 0.0, 1.0, 1.0])),
        "x and y of each point, in the order of x",
    )
    .setting(
        "handles",
        SettingKind::Texts,
        Some(SettingValue::Texts(vec!["auto".into()])),
        "auto, auto_clamped or vector: one for all points or one per point",
    )
    .flag("extend", true, "extend the curve in straight lines")
    .setting(
        "table",
        SettingKind::Numbers,
        Some(SettingValue::Numbers(vec![0.0, 1.0])),
        "start and end of the table, unless points lie outside",
    )
    .setting(
        "clip",
        SettingKind::Numbers,
        Some(SettingValue::Numbers(vec![])),
        "minimum and maximum of the result; no limits if empty",
    )
    .input_or("x", Type::F32, 0.5, "position on the curve")
    .output("value", Type::F32, "")
    .kernel(|parts| {
        let curve = Table::read(parts.settings)?;
        Ok(function(move |call| {
            let mut cells = Cells::<f32>::new(call);
            let x = call.input::<f32>(0);
            cells.fill(call, |i| Ok(curve.at(x.get(i))))?;
            cells.put(call);
            Ok(())
        }))
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handle {
    Auto,
    Clamped,
    Vector,
}

type Point = [f32; 2];

/// A point with the ends of its handles.
#[derive(Clone, Copy, Debug)]
struct Knot {
    at: Point,
    left: Point,
    right: Point,
    handle: Handle,
}

/// The values of a curve at even distances.
#[derive(Clone, Debug)]
struct Table {
    start: f32,
    end: f32,
    values: Vec<f32>,
    /// The directions in which the curve is extended before its start and after its end.
    beyond: Option<[Point; 2]>,
    clip: Option<(f32, f32)>,
}

impl Table {
    fn read(settings: &Settings) -> Result<Self, SettingError> {
        let knots = knots(settings)?;
        let pair = |name: &str| {
            let numbers: Vec<f32> = settings.numbers(name).iter().map(|x| *x as f32).collect();
            match numbers[..] {
                [low, high] if low <= high => Ok(Some((low, high))),
                [] => Ok(None),
                _ => Err(SettingError::refused(name, "is not an ascending pair of numbers")),
            }
        };
        let (low, high) = pair("table")?.unwrap_or((0.0, 1.0));
        let start = knots.iter().fold(low, |least, knot| least.min(knot.at[0]));
        let end = knots.iter().fold(high, |most, knot| most.max(knot.at[0]));
        let beyond = settings.flag("extend").then(|| ends(&knots));
        let mut table = Self { start, end, values: Vec::new(), beyond, clip: pair("clip")? };
        let walked = walked(&knots);
        let mut next = 0;
        table.values = (0..=N_INTERVALS)
            .map(|i| {
                let x = start + (end - start) / N_INTERVALS as f32 * i as f32;
                table.on(&walked, x, &mut next)
            })
            .collect();
        Ok(table)
    }

    /// The height at `x` of the curve through the points. `next` is the first point that may come
    /// after `x`; it only increases from call to call. Points that go back in x are skipped.
    fn on(&self, points: &[Point], x: f32, next: &mut usize) -> f32 {
        let last = points.len() - 1;
        while *next < last && points[*next][0] <= x {
            *next += 1;
        }
        if *next > 0 && (*next < last || x < points[last][0]) {
            return between(points[*next - 1], points[*next], x);
        }
        // Exactly at an end, the curve is not extended, however steep it is.
        let ends = [points[0], points[last]];
        match ends.iter().find(|end| (x - end[0]).abs() <= 1e-6) {
            Some(end) => end[1],
            None => self.extended(x, ends[0], ends[1]),
        }
    }

    /// The curve outside its first and last point.
    fn extended(&self, x: f32, first: Point, last: Point) -> f32 {
        let is_before = x <= first[0];
        let from = if is_before { first } else { last };
        let Some(directions) = self.beyond else { return from[1] };
        let way = directions[usize::from(!is_before)];
        if way[0] == 0.0 {
            let far = if is_before { 1e4 } else { -1e4 };
            return from[1] + way[1] * far;
        }
        from[1] + way[1] * (x - from[0]) / way[0]
    }

    fn at(&self, x: f32) -> f32 {
        let steps = (x - self.start) * (1.0 / ((self.end - self.start) / N_INTERVALS as f32));
        let (first, last) = (self.values[0], self.values[N_INTERVALS]);
        let y = if (0.0..=N_INTERVALS as f32).contains(&steps) {
            let i = steps as usize;
            match self.values.get(i + 1) {
                Some(next) => {
                    let part = steps - i as f32;
                    (1.0 - part) * self.values[i] + part * next
                }
                None => last,
            }
        } else if x.is_nan() {
            first
        } else {
            self.extended(x, [self.start, first], [self.end, last])
        };
        self.clip.map_or(y, |(low, high)| y.max(low).min(high))
    }
}

fn knots(settings: &Settings) -> Result<Vec<Knot>, SettingError> {
    let numbers = settings.numbers("points");
    let n = numbers.len() / 2;
    if !numbers.len().is_multiple_of(2) || !(2..=MAX_POINTS).contains(&n) {
        let message =
            format!("{} numbers do not give x and y of 2 to {MAX_POINTS} points", numbers.len());
        return Err(SettingError::refused("points", message));
    }
    let handles = settings.texts("handles").iter().map(handle).collect::<Result<Vec<_>, _>>()?;
    if handles.len() != 1 && handles.len() != n {
        let message = format!("{} kinds of handles for {n} points", handles.len());
        return Err(SettingError::refused("handles", message));
    }
    let point = |i: usize| [numbers[2 * i] as f32, numbers[2 * i + 1] as f32];
    let knot = |i: usize| {
        let handle = if handles.len() == 1 { handles[0] } else { handles[i] };
        let (before, behind) = (i.checked_sub(1).map(point), (i + 1 < n).then(|| point(i + 1)));
        with_handles(before, point(i), behind, handle)
    };
    let mut knots: Vec<Knot> = (0..n).map(knot).collect();
    if n > 2 {
        turn_ends(&mut knots);
    }
    Ok(knots)
}

fn handle(kind: &Arc<str>) -> Result<Handle, SettingError> {
    match &**kind {
        "auto" => Ok(Handle::Auto),
        "auto_clamped" => Ok(Handle::Clamped),
        "vector" => Ok(Handle::Vector),
        other => {
            Err(SettingError::refused("handles", format!("`{other}` is not a kind of handle")))
        }
    }
}

fn minus(a: Point, b: Point) -> Point {
    [a[0] - b[0], a[1] - b[1]]
}

fn plus(a: Point, b: Point, factor: f32) -> Point {
    [a[0] + b[0] * factor, a[1] + b[1] * factor]
}

fn length(v: Point) -> f32 {
    (v[0] * v[0] + v[1] * v[1]).sqrt()
}

/// The length of the sum of two directions divided by the length of the handle along it.
const HANDLE_SHARE: f32 = 2.5614;

/// A point with handles that depend on its neighbors.
fn with_handles(before: Option<Point>, at: Point, behind: Option<Point>, handle: Handle) -> Knot {
    // At an end the missing neighbor is the other neighbor, mirrored.
    let mirrored = |other: Point| [2.0 * at[0] - other[0], 2.0 * at[1] - other[1]];
    let previous = before.or_else(|| behind.map(mirrored)).unwrap_or(at);
    let next = behind.or_else(|| before.map(mirrored)).unwrap_or(at);
    let (to_here, from_here) = (minus(at, previous), minus(next, at));
    let mut knot = Knot { at, left: at, right: at, handle };
    if handle == Handle::Vector {
        knot.left = plus(at, to_here, -1.0 / 3.0);
        knot.right = plus(at, from_here, 1.0 / 3.0);
        return knot;
    }
    let or_one = |x: f32| if x == 0.0 { 1.0 } else { x };
    let (left, right) = (or_one(length(to_here)), or_one(length(from_here)));
    let along =
        [from_here[0] / right + to_here[0] / left, from_here[1] / right + to_here[1] / left];
    let size = length(along) * HANDLE_SHARE;
    if size != 0.0 {
        knot.left = plus(at, along, -left / size);
        knot.right = plus(at, along, right / size);
        if let (Handle::Clamped, Some(before), Some(behind)) = (handle, before, behind) {
            clamp(&mut knot, before[1], behind[1]);
        }
    }
    knot
}

/// Levels the handles of a peak, and keeps others between their point and the next.
fn clamp(knot: &mut Knot, before: f32, behind: f32) {
    let y = knot.at[1];
    let (d_before, d_behind) = (before - y, behind - y);
    if (d_before <= 0.0 && d_behind <= 0.0) || (d_before >= 0.0 && d_behind >= 0.0) {
        knot.left[1] = y;
        knot.right[1] = y;
        return;
    }
    let kept = |handle: f32, other: f32, d: f32| {
        if d <= 0.0 { handle.max(other) } else { handle.min(other) }
    };
    knot.left[1] = kept(knot.left[1], before, d_before);
    knot.right[1] = kept(knot.right[1], behind, d_behind);
}

/// Points the handles of the first and last point at the nearest handle of the neighboring point.
fn turn_ends(knots: &mut [Knot]) {
    let last = knots.len() - 1;
    let turned = |end: &Knot, own: Point, mut target: Point, keep: fn(f32, f32) -> f32| {
        target[0] = keep(target[0], end.at[0]);
        let way = minus(target, end.at);
        let (size, wanted) = (length(way), length(minus(end.at, own)));
        (end.handle == Handle::Auto && size > f32::EPSILON)
            .then(|| (plus(end.at, way, wanted / size), plus(end.at, way, -wanted / size)))
    };
    if let Some((right, left)) = turned(&knots[0], knots[0].right, knots[1].left, f32::max) {
        (knots[0].right, knots[0].left) = (right, left);
    }
    let target = knots[last - 1].right;
    if let Some((left, right)) = turned(&knots[last], knots[last].left, target, f32::min) {
        (knots[last].left, knots[last].right) = (left, right);
    }
}

/// The directions in which the curve leaves its first and last point.
fn ends(knots: &[Knot]) -> [Point; 2] {
    let (first, last) = (&knots[0], &knots[knots.len() - 1]);
    let unit = |v: Point| {
        let size = length(v);
        if size > 0.0 { [v[0] / size, v[1] / size] } else { [0.0, 0.0] }
    };
    [unit(minus(first.left, first.at)), unit(minus(last.at, last.right))]
}

/// Points along the cubics between the knots.
fn walked(knots: &[Knot]) -> Vec<Point> {
    let mut points = Vec::with_capacity((knots.len() - 1) * N_STEPS);
    for pair in knots.windows(2) {
        let (a, b) = (pair[0].at, pair[1].at);
        // If the handles overlap in x, both are shortened by the same factor.
        let (mut right, mut left) = (minus(pair[0].right, a), minus(pair[1].left, b));
        let (most, reach) = (b[0] - a[0], right[0].abs() + left[0].abs());
        if reach > most && reach > 0.0 {
            (right, left) =
                (plus([0.0; 2], right, most / reach), plus([0.0; 2], left, most / reach));
        }
        let (right, left) = (plus(a, right, 1.0), plus(b, left, 1.0));
        let [x, y] = [0, 1].map(|k| steps([a[k], right[k], left[k], b[k]]));
        points.extend(x.into_iter().zip(y).map(|(x, y)| [x, y]));
    }
    points
}

/// A cubic at even parameters from 0 to 1, by forward differences.
fn steps(q: [f32; 4]) -> [f32; N_STEPS] {
    let n = (N_STEPS - 1) as f32;
    let first = 3.0 * (q[1] - q[0]) / n;
    let second = 3.0 * (q[0] - 2.0 * q[1] + q[2]) / (n * n);
    let third = (q[3] - q[0] + 3.0 * (q[1] - q[2])) / (n * n * n);
    let mut value = q[0];
    let (mut d1, mut d2, d3) = (first + second + third, 2.0 * second + 6.0 * third, 6.0 * third);
    std::array::from_fn(|_| {
        let here = value;
        value += d1;
        d1 += d2;
        d2 += d3;
        here
    })
}

/// The height of the line from one point to the next.
fn between(before: Point, next: Point, x: f32) -> f32 {
    let length = next[0] - before[0];
    let part = if length > f32::EPSILON { (next[0] - x) / length } else { 0.0 };
    part * before[1] + (1.0 - part) * next[1]
}
