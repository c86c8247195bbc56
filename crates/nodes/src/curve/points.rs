//! Conversion of points and handles to cubics.

use std::sync::Arc;

use millstream_node::settings::SettingError;

/// The cubic between two points, over a parameter from 0 to 1.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The x at parameter 0.
    pub start: f64,
    /// Its length in x; not 0.
    pub length: f64,
    /// Coefficients of y, constant first.
    pub y: [f64; 4],
    /// Coefficients of (x - start) / length, the linear one first.
    pub x: [f64; 3],
}

/// An end of the curve, with the slope beyond it.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub x: f64,
    pub y: f64,
    pub slope: f64,
}

/// A curve of at least one piece.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub pieces: Vec<Piece>,
    pub first: End,
    pub last: End,
    /// Whether x differs from the parameter.
    pub bends: bool,
}

/// Pieces are selected by a chain of choices, so their number is bounded.
const MAX_POINTS: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handle {
    Auto,
    Clamped,
    Vector,
    Free,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    x: f64,
    y: f64,
    handle: Handle,
    /// The left and the right handle, if they are free.
    free: [(f64, f64); 2],
}

impl Curve {
    /// The curve through the points of a setting.
    pub(super) fn new(
        name: &str,
        numbers: &[f64],
        kinds: &[Arc<str>],
        free: &[f64],
    ) -> Result<Self, SettingError> {
        let points = read(name, numbers, kinds, free)?;
        let bends = points.iter().any(|point| point.handle == Handle::Free);
        let n = points.len();
        let mut pieces: Vec<Piece> = (1..n).map(|i| piece(&points, i - 1)).collect();
        if pieces.is_empty() {
            let y = [points[0].y, 0.0, 0.0, 0.0];
            pieces.push(Piece { start: points[0].x, length: 1.0, y, x: [1.0, 0.0, 0.0] });
        }
        let end = |i: usize, slope: f64| End { x: points[i].x, y: points[i].y, slope };
        let (first, last) =
            (end(0, slope_at(&points, 0, 1)), end(n - 1, slope_at(&points, n - 1, 0)));
        Ok(Self { pieces, first, last, bends })
    }
}

fn read(
    name: &str,
    numbers: &[f64],
    kinds: &[Arc<str>],
    free: &[f64],
) -> Result<Vec<Point>, SettingError> {
    let n = numbers.len() / 2;
    if !numbers.len().is_multiple_of(2) {
        return Err(SettingError::refused(name, "the last point has an x but no y"));
    }
    if !(1..=MAX_POINTS).contains(&n) {
        let message = format!("there are {n} points, but 1 to {MAX_POINTS} are required");
        return Err(SettingError::refused(name, message));
    }
    let kinds: Vec<Handle> = kinds.iter().map(|kind| handle(kind)).collect::<Result<_, _>>()?;
    if kinds.len() != 1 && kinds.len() != n {
        let message = format!(
            "{} kinds of handles for {n} points; give one, or one for each point",
            kinds.len()
        );
        return Err(SettingError::refused("handles", message));
    }
    if kinds.contains(&Handle::Free) && free.len() != 4 * n {
        let message = format!("{} numbers for {n} points; give four for each point", free.len());
        return Err(SettingError::refused("free_handles", message));
    }
    let point = |i: usize| Point {
        x: numbers[2 * i],
        y: numbers[2 * i + 1],
        handle: if kinds.len() == 1 { kinds[0] } else { kinds[i] },
        free: match free.get(4 * i..4 * i + 4) {
            Some(free) => [(free[0], free[1]), (free[2], free[3])],
            None => [(0.0, 0.0); 2],
        },
    };
    let mut points: Vec<Point> = (0..n).map(point).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Ok(points)
}

fn handle(kind: &str) -> Result<Handle, SettingError> {
    match kind {
        "auto" => Ok(Handle::Auto),
        "clamped" => Ok(Handle::Clamped),
        "vector" => Ok(Handle::Vector),
        "free" => Ok(Handle::Free),
        other => {
            let message = format!("`{other}` is not a kind of handle");
            Err(SettingError::Refused {
                name: "handles".into(),
                message,
                range: None,
                hint: Some("write auto, clamped, vector or free".into()),
            })
        }
    }
}

/// The slope of the straight line between two points; 0 if they have the same x.
fn steepness(a: &Point, b: &Point) -> f64 {
    if b.x > a.x { (b.y - a.y) / (b.x - a.x) } else { 0.0 }
}

/// The slope at a point, on its left (0) or right (1) side.
fn slope_at(points: &[Point], i: usize, side: usize) -> f64 {
    let point = &points[i];
    let left = (i > 0).then(|| steepness(&points[i - 1], point));
    let right = points.get(i + 1).map(|next| steepness(point, next));
    let (near, other) = if side == 0 { (left, right) } else { (right, left) };
    let straight = near.or(other).unwrap_or(0.0);
    match point.handle {
        Handle::Vector => straight,
        Handle::Free => {
            let (x, y) = point.free[side];
            if x == point.x { straight } else { (y - point.y) / (x - point.x) }
        }
        Handle::Auto | Handle::Clamped => {
            let (Some(left), Some(right)) = (left, right) else { return straight };
            let across = steepness(&points[i - 1], &points[i + 1]);
            if point.handle == Handle::Auto {
                return across;
            }
            if left * right <= 0.0 {
                return 0.0;
            }
            let most = 3.0 * left.abs().min(right.abs());
            across.clamp(-most, most)
        }
    }
}

/// The left or right handle of a point, at most `length` away in x.
fn placed(points: &[Point], i: usize, side: usize, length: f64) -> (f64, f64) {
    let point = &points[i];
    let sign = if side == 0 { -1.0 } else { 1.0 };
    if point.handle != Handle::Free {
        let third = length / 3.0;
        return (point.x + sign * third, point.y + sign * third * slope_at(points, i, side));
    }
    let (x, y) = point.free[side];
    let way = (x - point.x) * sign;
    if way <= 0.0 {
        return (point.x, y);
    }
    // A handle that is too long is shortened, keeping its direction.
    let share = (length / way).min(1.0);
    (point.x + (x - point.x) * share, point.y + (y - point.y) * share)
}

fn piece(points: &[Point], i: usize) -> Piece {
    let (a, b) = (&points[i], &points[i + 1]);
    let length = b.x - a.x;
    if length <= 0.0 {
        return Piece { start: a.x, length: 1.0, y: [b.y, 0.0, 0.0, 0.0], x: [1.0, 0.0, 0.0] };
    }
    let (right, left) = (placed(points, i, 1, length), placed(points, i + 1, 0, length));
    let cubic = |p: [f64; 4]| {
        [
            p[0],
            3.0 * (p[1] - p[0]),
            3.0 * (p[0] - 2.0 * p[1] + p[2]),
            p[3] - p[0] + 3.0 * (p[1] - p[2]),
        ]
    };
    let x = cubic([0.0, (right.0 - a.x) / length, (left.0 - a.x) / length, 1.0]);
    Piece { start: a.x, length, y: cubic([a.y, right.1, left.1, b.y]), x: [x[1], x[2], x[3]] }
}
