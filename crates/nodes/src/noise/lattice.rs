//! Cells of size 1, and the hash of their corners.
//!
//! A corner is hashed from its whole coordinates: each times an odd constant of its axis plus a
//! word of the seed, all joined by exclusive or. A number is drawn by one multiplication of that,
//! of which the upper bits count. Sums and products carry where exclusive or does not, so that what
//! neighbors have in common does not survive; the words of the seed keep away the point about which
//! products are symmetric. Tests hold the numbers against what independent ones would show.

use millstream_base::Lane;
use millstream_form::Val;

/// Odd numbers next to 2^32 / g^(k + 1), with g the root of g^5 = g + 1: steps that share no rhythm.
const AXES: [i32; 4] = [
    0xdb4f_0b91_u32.cast_signed(),
    0xbbe0_5633_u32.cast_signed(),
    0xa0f2_ec75_u32.cast_signed(),
    0x89e1_8285_u32.cast_signed(),
];

/// What a hash is multiplied by for each of the numbers drawn from it: bits of the square roots of
/// 2, 3, 11 and 17 behind the point.
const DRAWS: [i32; 4] = [0x6a09_e667, 0xbb67_ae85_u32.cast_signed(), 0x510e_527f, 0x1f83_d9ab];

/// 2 to the power of -31, which brings a drawn number to -1 to 1.
pub(super) const DRAWN: f64 = 1.0 / 2_147_483_648.0;

/// A position along one axis.
pub(super) struct Axis<'b> {
    /// The hashed coordinate of the cell's lower side.
    pub low: Val<'b>,
    /// That of its upper side.
    pub high: Val<'b>,
    /// How far the position is past the lower side, 0 to 1.
    pub rest: Val<'b>,
}

impl<'b> Axis<'b> {
    /// The hashed coordinate, and how far the position is past it.
    pub(super) fn side(&self, upper: bool) -> (Val<'b>, Val<'b>) {
        if upper { (self.high, self.rest - 1.0) } else { (self.low, self.rest) }
    }
}

/// The cell of a position. With a period (cells until the corners repeat) coordinates are taken
/// modulo it.
pub(super) fn axes<'b>(
    p: &[Val<'b>],
    words: &[Val<'b>],
    period: Option<&[Val<'b>]>,
) -> Vec<Axis<'b>> {
    let axis = |i: usize| {
        let floor = p[i].floor();
        let rest = p[i] - floor;
        let (low, high) = match period {
            None => {
                let low = coordinate(floor, i, words);
                (low, low + AXES[i])
            }
            Some(period) => {
                let period = whole(period[i]);
                let wrapped = wrapped(floor, period);
                let next = wrapped + 1.0;
                let next = next.ge(period).select(0.0, next);
                (coordinate(wrapped, i, words), coordinate(next, i, words))
            }
        };
        Axis { low, high, rest }
    };
    (0..p.len()).map(axis).collect()
}

/// A number of cells.
pub(super) fn whole(period: Val<'_>) -> Val<'_> {
    period.round().max(1.0)
}

/// A whole number modulo another, at least 0.
pub(super) fn wrapped<'b>(x: Val<'b>, period: Val<'b>) -> Val<'b> {
    x - (x / period).floor() * period
}

/// The hashed form of a whole coordinate along an axis.
pub(super) fn coordinate<'b>(whole: Val<'b>, axis: usize, words: &[Val<'b>]) -> Val<'b> {
    whole.convert(Lane::I32) * AXES[axis] + words[axis]
}

/// The hashed coordinate some cells further along an axis.
pub(super) fn further(coordinate: Val<'_>, axis: usize, n_cells: i32) -> Val<'_> {
    coordinate + AXES[axis].wrapping_mul(n_cells)
}

/// The hash of a corner from its hashed coordinates.
pub(super) fn corner<'b>(coordinates: impl IntoIterator<Item = Val<'b>>) -> Val<'b> {
    let mut coordinates = coordinates.into_iter();
    let first = coordinates.next().expect("space has dimensions");
    match coordinates.next() {
        // Along a line nothing would break the even steps.
        None => shuffled(first),
        Some(second) => coordinates.fold(first ^ second, |hash, next| hash ^ next),
    }
}

/// All bits of a word mixed with one another.
pub(super) fn shuffled(word: Val<'_>) -> Val<'_> {
    let word = (word ^ word.ushr(16)) * 0x7feb_352d;
    word ^ word.ushr(15)
}

/// The number `k` of a corner, up to 2^31 in size.
pub(super) fn draw(hash: Val<'_>, k: usize) -> Val<'_> {
    (hash * DRAWS[k]).convert(Lane::F32)
}

/// A number of a corner from 0 up to but not including 1, independent of those drawn.
pub(super) fn unit(hash: Val<'_>) -> Val<'_> {
    shuffled(hash).ushr(8).convert(Lane::F32) * (1.0 / 16_777_216.0)
}

/// From 0 to 1 with two derivatives of 0 at both.
pub(super) fn fade(t: Val<'_>) -> Val<'_> {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

/// What the corners of a cell say, blended: along the first axis, then the next. Bit `i` of a
/// corner's number says whether it is on the upper side of axis `i`.
pub(super) fn blended<'b>(axes: &[Axis<'b>], corner: impl Fn(usize) -> Val<'b>) -> Val<'b> {
    let mut values: Vec<Val<'b>> = (0..1 << axes.len()).map(corner).collect();
    for axis in axes {
        let t = fade(axis.rest);
        let blend = |pair: &[Val<'b>]| pair[0] + t * (pair[1] - pair[0]);
        values = values.chunks_exact(2).map(blend).collect();
    }
    values[0]
}

/// The slope of a corner times the way from it.
pub(super) fn sloped<'b>(hash: Val<'b>, way: impl Iterator<Item = Val<'b>>) -> Val<'b> {
    let products = way.enumerate().map(|(k, way)| draw(hash, k) * way);
    products.reduce(|sum, product| sum + product).expect("space has dimensions")
}
