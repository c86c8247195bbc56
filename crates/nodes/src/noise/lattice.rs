//! Cells of size 1, and the hashes of their corners.
//!
//! A corner is hashed from its integer coordinates: each is multiplied by an odd constant of its
//! axis and added to a word of the seed, and all are combined by exclusive or. A number is drawn by
//! one multiplication of the hash, of which the upper bits are used. Carries of sums and products
//! break up the structure that exclusive or leaves between neighbors, and the words of the seed
//! avoid the point about which products are symmetric. Tests compare the statistics of the numbers
//! with those of independent ones.

use millstream_base::Lane;
use millstream_form::Val;

/// Odd numbers near 2^32 / g^(k + 1), where g is the root of g^5 = g + 1: steps without a common
/// period.
const AXES: [i32; 4] = [
    0xdb4f_0b91_u32.cast_signed(),
    0xbbe0_5633_u32.cast_signed(),
    0xa0f2_ec75_u32.cast_signed(),
    0x89e1_8285_u32.cast_signed(),
];

/// The factors of a hash for each of the numbers drawn from it: fractional bits of the square roots
/// of 2, 3, 11 and 17.
const DRAWS: [i32; 4] = [0x6a09_e667, 0xbb67_ae85_u32.cast_signed(), 0x510e_527f, 0x1f83_d9ab];

/// 2^-31, which scales a drawn number to -1 to 1.
pub(super) const DRAWN: f64 = 1.0 / 2_147_483_648.0;

/// A position along one axis.
pub(super) struct Axis<'b> {
    /// The hashed coordinate of the lower side of the cell.
    pub low: Val<'b>,
    /// The hashed coordinate of the upper side.
    pub high: Val<'b>,
    /// The offset of the position from the lower side, 0 to 1.
    pub rest: Val<'b>,
}

impl<'b> Axis<'b> {
    /// The hashed coordinate of a side, and the offset of the position from it.
    pub(super) fn side(&self, upper: bool) -> (Val<'b>, Val<'b>) {
        if upper { (self.high, self.rest - 1.0) } else { (self.low, self.rest) }
    }
}

/// The cell of a position. With a period (cells until the corners repeat) coordinates are taken
/// modulo the period.
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
                let period = round_period(period[i]);
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

/// A period rounded to a whole number of cells.
pub(super) fn round_period(period: Val<'_>) -> Val<'_> {
    period.round().max(1.0)
}

/// A whole number modulo another, at least 0.
pub(super) fn wrapped<'b>(x: Val<'b>, period: Val<'b>) -> Val<'b> {
    x - (x / period).floor() * period
}

/// The hashed form of an integer coordinate along an axis.
pub(super) fn coordinate<'b>(whole: Val<'b>, axis: usize, words: &[Val<'b>]) -> Val<'b> {
    whole.convert(Lane::I32) * AXES[axis] + words[axis]
}

/// The hashed coordinate `n_cells` cells farther along an axis.
pub(super) fn further(coordinate: Val<'_>, axis: usize, n_cells: i32) -> Val<'_> {
    coordinate + AXES[axis].wrapping_mul(n_cells)
}

/// The hash of a corner from its hashed coordinates.
pub(super) fn corner<'b>(coordinates: impl IntoIterator<Item = Val<'b>>) -> Val<'b> {
    let mut coordinates = coordinates.into_iter();
    let first = coordinates.next().expect("space has dimensions");
    match coordinates.next() {
        // In one dimension nothing else breaks the even steps.
        None => shuffled(first),
        Some(second) => coordinates.fold(first ^ second, |hash, next| hash ^ next),
    }
}

/// Mixes all bits of a word.
pub(super) fn shuffled(word: Val<'_>) -> Val<'_> {
    let word = (word ^ word.ushr(16)) * 0x7feb_352d;
    word ^ word.ushr(15)
}

/// The `k`th number of a corner, of magnitude up to 2^31.
pub(super) fn draw(hash: Val<'_>, k: usize) -> Val<'_> {
    (hash * DRAWS[k]).convert(Lane::F32)
}

/// A number of a corner from 0 to below 1, independent of the drawn ones.
pub(super) fn unit(hash: Val<'_>) -> Val<'_> {
    shuffled(hash).ushr(8).convert(Lane::F32) * (1.0 / 16_777_216.0)
}

/// A curve from 0 to 1 whose first and second derivatives are 0 at both ends.
pub(super) fn fade(t: Val<'_>) -> Val<'_> {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

/// Blends the values of the corners of a cell, along the first axis, then the next. Bit `i` of the
/// index of a corner says whether it is on the upper side of axis `i`.
pub(super) fn blended<'b>(axes: &[Axis<'b>], corner: impl Fn(usize) -> Val<'b>) -> Val<'b> {
    let mut values: Vec<Val<'b>> = (0..1 << axes.len()).map(corner).collect();
    for axis in axes {
        let t = fade(axis.rest);
        let blend = |pair: &[Val<'b>]| pair[0] + t * (pair[1] - pair[0]);
        values = values.chunks_exact(2).map(blend).collect();
    }
    values[0]
}

/// The dot product of the gradient of a corner and the offset from it.
pub(super) fn sloped<'b>(hash: Val<'b>, way: impl Iterator<Item = Val<'b>>) -> Val<'b> {
    let products = way.enumerate().map(|(k, way)| draw(hash, k) * way);
    products.reduce(|sum, product| sum + product).expect("space has dimensions")
}
