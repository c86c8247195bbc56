//! Distances from many points to outlines of many line segments.
//!
//! Consecutive segments form groups, each with a bounding box. Points are handled in batches as
//! they come, usually along rows of pixels. For the bounding box of a batch, groups that cannot be
//! nearest to any point in it are discarded; then the batch is halved. The remaining segments are
//! measured against a few points at a time with SIMD. Every discarded segment is farther away than
//! a remaining one by more than rounding errors, so the distance of a point has the same bits
//! whatever the batch.

#[cfg(test)]
mod tests;

use std::ops::Range;

use millstream_base::width::Width;

/// Segments per group.
const GROUP: usize = 8;

/// Points that are measured together.
const LANES: usize = 16;

/// Points per batch, for which groups are selected first.
const BATCH: usize = 1024;

/// Bands for looking up segments by height.
const BANDS: usize = 256;

/// An upper bound of rounding errors, as a fraction of the distance and of the size of the
/// outlines.
const SLACK: f32 = 1e-4;

/// A line segment of an outline.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: [f32; 2],
    way: [f32; 2],
    /// The reciprocal of the square of the length, or 0.
    per_square: f32,
}

/// A bounding box: left, lower, right, upper.
type Bounds = [f32; 4];

/// Closed outlines with a winding number.
#[derive(Clone, Debug, Default)]
pub(super) struct Outlines {
    pieces: Vec<Piece>,
    bounds: Vec<Bounds>,
    /// The lower and the upper end.
    height: [f32; 2],
    /// The segments that reach into each band, and the start of each band.
    in_bands: Vec<u32>,
    bands: Vec<u32>,
    size: f32,
}

impl Outlines {
    /// Outlines with these corners, each closed from the last to the first.
    pub(super) fn new(contours: &[Vec<[f32; 2]>]) -> Self {
        let mut pieces = Vec::new();
        for corners in contours {
            let next = corners.iter().cycle().skip(1);
            for (from, to) in corners.iter().zip(next) {
                let way = [to[0] - from[0], to[1] - from[1]];
                let square = way[0] * way[0] + way[1] * way[1];
                let per_square = if square > 0.0 { 1.0 / square } else { 0.0 };
                pieces.push(Piece { from: *from, way, per_square });
            }
        }
        let bounds: Vec<Bounds> = pieces.chunks(GROUP).map(bounds_of).collect();
        let [left, lower, right, upper] = bounds.iter().copied().fold(NOWHERE, joined);
        let mut outlines = Self { pieces, bounds, height: [lower, upper], ..Self::default() };
        outlines.size = [left, lower, right, upper].map(f32::abs).into_iter().fold(0.0, f32::max);
        outlines.fill_bands();
        outlines
    }

    fn fill_bands(&mut self) {
        let mut bands: Vec<Vec<u32>> = vec![Vec::new(); BANDS];
        for (i, piece) in self.pieces.iter().enumerate() {
            let (a, b) = (piece.from[1], piece.from[1] + piece.way[1]);
            for band in &mut bands[self.band(a.min(b))..=self.band(a.max(b))] {
                band.push(i as u32);
            }
        }
        for band in bands {
            self.bands.push(self.in_bands.len() as u32);
            self.in_bands.extend(band);
        }
        self.bands.push(self.in_bands.len() as u32);
    }

    /// The band of a height.
    fn band(&self, y: f32) -> usize {
        let [lower, upper] = self.height;
        // A cast saturates.
        (((y - lower) / (upper - lower) * BANDS as f32) as usize).min(BANDS - 1)
    }

    /// How many pieces there are.
    pub(super) fn n_pieces(&self) -> usize {
        self.pieces.len()
    }

    /// The signed distance of each point, negative where outlines wind around it. Infinite without
    /// outlines; NaN if a coordinate is NaN.
    pub(super) fn measure(&self, points: &[[f32; 2]], distances: &mut [f32], work: &mut Work) {
        for (points, out) in points.chunks(BATCH).zip(distances.chunks_mut(BATCH)) {
            if self.pieces.is_empty() {
                out.fill(f32::INFINITY);
                continue;
            }
            work.near.clear();
            work.near.extend(0..self.bounds.len() as u32);
            self.divide(points, out, 0..self.bounds.len(), work);
        }
    }

    /// Measures points for which only some groups can be nearest.
    fn divide(&self, points: &[[f32; 2]], out: &mut [f32], groups: Range<usize>, work: &mut Work) {
        let around = points.iter().fold(NOWHERE, |all, &[x, y]| joined(all, [x, y, x, y]));
        let center = [(around[0] + around[2]) * 0.5, (around[1] + around[3]) * 0.5];
        let reach = length(center[0] - around[0], center[1] - around[1]);
        let n_before = work.near.len();
        // Keeps every group that can be nearest to any of the points.
        let mut nearest = f32::INFINITY;
        for at in groups.clone() {
            let group = work.near[at] as usize;
            let [x, y] = self.pieces[group * GROUP].from;
            let (dx, dy) = (center[0] - x, center[1] - y);
            nearest = nearest.min(dx * dx + dy * dy);
        }
        let nearest = nearest.sqrt();
        let most = (nearest + 2.0 * reach) * (1.0 + SLACK) + self.size * SLACK;
        let square = most * most;
        for at in groups {
            let group = work.near[at];
            let is_near = square_from_bounds(center, self.bounds[group as usize]) <= square;
            // Also taken if the comparison fails because a coordinate is NaN.
            if is_near || square.is_nan() {
                work.near.push(group);
            }
        }
        let groups = n_before..work.near.len();
        let is_wide = groups.len() > 8 && 4.0 * reach > nearest;
        if points.len() > LANES || points.len() > 1 && is_wide {
            let (half, other) = points.split_at(points.len() / 2);
            let (of_half, of_other) = out.split_at_mut(half.len());
            self.divide(half, of_half, groups.clone(), work);
            self.divide(other, of_other, groups, work);
        } else {
            self.measure_few(points, out, &work.near[groups], (reach, work.width));
        }
        work.near.truncate(n_before);
    }

    fn measure_few(
        &self,
        points: &[[f32; 2]],
        out: &mut [f32],
        groups: &[u32],
        (reach, simd): (f32, Width),
    ) {
        let (mut x, mut y) = ([0.0; LANES], [0.0; LANES]);
        for (i, point) in points.iter().enumerate() {
            (x[i], y[i]) = (point[0], point[1]);
        }
        let mut squares = [f32::INFINITY; LANES];
        simd.run(
            #[inline(always)]
            || {
                for group in groups {
                    let first = *group as usize * GROUP;
                    let last = (first + GROUP).min(self.pieces.len());
                    for piece in &self.pieces[first..last] {
                        nearer(&mut squares, &x, &y, piece);
                    }
                }
            },
        );
        let squares = &squares[..points.len()];
        let wide = 2.0 * reach * (1.0 + SLACK) + self.size * SLACK;
        let mut inside = [false; LANES];
        if squares[0] > wide * wide {
            // No outline passes between these points.
            inside = [self.winds_around(points[0]); LANES];
        } else if points.iter().all(|point| point[1] == points[0][1]) {
            self.find_inside(&mut inside, &x, points[0][1]);
        } else {
            for (inside, point) in inside.iter_mut().zip(points) {
                *inside = self.winds_around(*point);
            }
        }
        for (i, (out, point)) in out.iter_mut().zip(points).enumerate() {
            let distance = squares[i].sqrt();
            let is_number = !(point[0].is_nan() || point[1].is_nan());
            let signed = if inside[i] { -distance } else { distance };
            *out = if is_number { signed } else { f32::NAN };
        }
    }

    /// The segments at a height; none outside the outlines.
    fn at_height(&self, y: f32) -> &[u32] {
        let [lower, upper] = self.height;
        if !(lower..=upper).contains(&y) {
            return &[];
        }
        let band = self.band(y);
        &self.in_bands[self.bands[band] as usize..self.bands[band + 1] as usize]
    }

    /// The position at which a segment crosses a height, and how often it winds around the points
    /// to its left.
    fn crossing(&self, piece: u32, y: f32) -> Option<(f32, i32)> {
        let Piece { from, way, .. } = self.pieces[piece as usize];
        let (a, b) = (from[1], from[1] + way[1]);
        if (a > y) == (b > y) {
            return None;
        }
        Some((from[0] + (y - a) / way[1] * way[0], if b > a { 1 } else { -1 }))
    }

    fn winds_around(&self, [x, y]: [f32; 2]) -> bool {
        let crossings = self.at_height(y).iter().filter_map(|piece| self.crossing(*piece, y));
        crossings.filter(|crossing| crossing.0 > x).map(|crossing| crossing.1).sum::<i32>() != 0
    }

    /// Determines which points at one height the outlines wind around.
    fn find_inside(&self, inside: &mut [bool; LANES], x: &[f32; LANES], y: f32) {
        let mut winds = [0; LANES];
        for (at, turn) in self.at_height(y).iter().filter_map(|piece| self.crossing(*piece, y)) {
            for (wind, x) in winds.iter_mut().zip(x) {
                *wind += if at > *x { turn } else { 0 };
            }
        }
        *inside = winds.map(|wind| wind != 0);
    }
}

/// Scratch memory for the groups that can be nearest.
#[derive(Debug, Default)]
pub(super) struct Work {
    near: Vec<u32>,
    width: Width,
}

/// Lowers the squared distances to those from a segment.
#[inline(always)]
fn nearer(squares: &mut [f32; LANES], x: &[f32; LANES], y: &[f32; LANES], piece: &Piece) {
    let [dx, dy] = piece.way;
    for ((nearest, x), y) in squares.iter_mut().zip(x).zip(y) {
        let (fx, fy) = (x - piece.from[0], y - piece.from[1]);
        let t = (fx * dx + fy * dy) * piece.per_square;
        // NaN counts as 0.
        let t = if t > 0.0 { t } else { 0.0 };
        let t = if t < 1.0 { t } else { 1.0 };
        let (ax, ay) = (fx - dx * t, fy - dy * t);
        let square = ax * ax + ay * ay;
        *nearest = if square < *nearest { square } else { *nearest };
    }
}

/// An empty bounding box.
const NOWHERE: Bounds = [f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];

fn joined(a: Bounds, b: Bounds) -> Bounds {
    [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]
}

fn bounds_of(pieces: &[Piece]) -> Bounds {
    pieces.iter().fold(NOWHERE, |bounds, piece| {
        let ([x, y], [dx, dy]) = (piece.from, piece.way);
        joined(joined(bounds, [x, y, x, y]), [x + dx, y + dy, x + dx, y + dy])
    })
}

fn length(x: f32, y: f32) -> f32 {
    (x * x + y * y).sqrt()
}

fn square_from_bounds([x, y]: [f32; 2], [left, lower, right, upper]: Bounds) -> f32 {
    let dx = (left - x).max(x - right).max(0.0);
    let dy = (lower - y).max(y - upper).max(0.0);
    dx * dx + dy * dy
}
