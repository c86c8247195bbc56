//! Gradient noise on a lattice, with gradients chosen by hash, and its sums over octaves.

use millstream_base::Lane;
use millstream_form::Val;

use super::super::hash::{hash, unit};
use super::super::held;
use super::{mixed, scaled};

/// Factors that scale the noise of one to four dimensions to about -1 to 1.
const SCALES: [f64; 4] = [0.25, 0.6616, 0.982, 0.8344];

/// The number with its sign changed if a bit of the hash is set.
fn flipped<'b>(x: Val<'b>, hash: Val<'b>, bit: i32) -> Val<'b> {
    let sign = hash.shl(31 - bit) & i32::MIN;
    (x.bitcast() ^ sign).bitcast()
}

/// The contribution of a corner: the product of its gradient and the offset to it.
fn slope<'b>(hash: Val<'b>, way: &[Val<'b>]) -> Val<'b> {
    match way {
        [x] => flipped((hash & 7).convert(Lane::F32) + 1.0, hash, 3) * *x,
        [x, y] => {
            let near = (hash & 7).lt(4);
            let (u, v) = (near.select(*x, *y), near.select(*y, *x) * 2.0);
            flipped(u, hash, 0) + flipped(v, hash, 1)
        }
        [x, y, z] => {
            let h = hash & 15;
            let u = h.lt(8).select(*x, *y);
            let v = h.lt(4).select(*y, (h.eq(12) | h.eq(14)).select(*x, *z));
            flipped(u, hash, 0) + flipped(v, hash, 1)
        }
        [x, y, z, w] => {
            let h = hash & 31;
            let u = h.lt(24).select(*x, *y);
            let v = h.lt(16).select(*y, *z);
            let s = h.lt(8).select(*z, *w);
            flipped(u, hash, 0) + flipped(v, hash, 1) + flipped(s, hash, 2)
        }
        _ => unreachable!("noise has one to four dimensions"),
    }
}

/// Eases from 0 to 1 with zero first and second derivatives at both ends. The constants, and the
/// operations with them, are in double precision.
fn eased(t: Val<'_>) -> Val<'_> {
    let wide = t.convert(Lane::F64);
    let slope = wide * (wide * 6.0 - 15.0) + 10.0;
    ((t * t * t).convert(Lane::F64) * slope).convert(Lane::F32)
}

/// Interpolation between two numbers; the first is added in double precision.
fn mixed_in_double<'b>(a: Val<'b>, b: Val<'b>, t: Val<'b>) -> Val<'b> {
    let rest: Val<'b> = 1.0 - t.convert(Lane::F64);
    (rest * a.convert(Lane::F64) + (b * t).convert(Lane::F64)).convert(Lane::F32)
}

/// The noise at a position, about -1 to 1; it repeats after 100000 cells.
pub(super) fn signed<'b>(position: &[Val<'b>]) -> Val<'b> {
    let n = position.len();
    let (mut cells, mut ways) = (Vec::new(), Vec::new());
    for x in position {
        // Large positions have no fraction, so the noise there is taken between lattice points.
        let far: Val<'b> = x.abs().ge(1e6).select(x.like(0.5), 0.0);
        let x = *x % 100_000.0 + far;
        let floor = x.floor();
        cells.push(floor.convert(Lane::I32));
        ways.push(x - floor);
    }
    let corners = (0..1_usize << n).map(|corner| {
        let is_upper = |i: usize| corner >> i & 1;
        let words: Vec<Val<'b>> = (0..n).map(|i| cells[i] + is_upper(i) as i32).collect();
        let way: Vec<Val<'b>> = (0..n).map(|i| ways[i] - is_upper(i) as f32).collect();
        slope(hash(&words), &way)
    });
    let mut values: Vec<Val<'b>> = corners.collect();
    for (axis, t) in ways.into_iter().enumerate() {
        let eased = eased(t);
        // Only in the plane, the last factor is in double precision.
        let join = if (n, axis) == (2, 1) { mixed_in_double } else { mixed };
        values = values.chunks(2).map(|pair| join(pair[0], pair[1], eased)).collect();
    }
    values[0] * SCALES[n - 1]
}

/// The combination of octaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Fbm,
    Multifractal,
    Ridged,
    Hybrid,
    HeteroTerrain,
}

/// The parameters that combine octaves.
#[derive(Clone, Copy)]
pub(super) struct Octaves<'b> {
    pub(super) kind: Kind,
    /// The maximum number of octaves.
    pub(super) n: usize,
    /// Whether a sum is normalized to 0 to 1.
    pub(super) normalize: bool,
    pub(super) detail: Val<'b>,
    pub(super) roughness: Val<'b>,
    pub(super) lacunarity: Val<'b>,
    pub(super) offset: Val<'b>,
    pub(super) gain: Val<'b>,
}

/// The weight of an octave: full, the fraction of the detail, or none.
struct Share<'b> {
    full: Val<'b>,
    part: Val<'b>,
    rest: Val<'b>,
}

impl<'b> Octaves<'b> {
    fn share(&self, octave: usize) -> Share<'b> {
        let (whole, rest) = (self.detail.trunc(), self.detail - self.detail.floor());
        let (full, next) = (whole.ge(octave as f32), whole.eq(octave as f32 - 1.0));
        Share { full, part: next & rest.ne(0.0), rest }
    }

    /// The noise of all octaves at a position.
    pub(super) fn at(&self, position: &[Val<'b>]) -> Val<'b> {
        match self.kind {
            Kind::Fbm => self.fbm(position),
            Kind::Multifractal => self.multifractal(position),
            Kind::Ridged => self.ridged(position),
            Kind::Hybrid => self.hybrid(position),
            Kind::HeteroTerrain => self.hetero_terrain(position),
        }
    }

    /// The positions of the octaves, each finer than the previous one.
    fn positions(&self, position: &[Val<'b>]) -> impl Iterator<Item = Vec<Val<'b>>> + use<'b> {
        let lacunarity = self.lacunarity;
        let finer = move |p: &Vec<Val<'b>>| Some(scaled(p, lacunarity));
        std::iter::successors(Some(position.to_vec()), finer).take(self.n)
    }

    fn fbm(&self, position: &[Val<'b>]) -> Val<'b> {
        let (zero, one) = (self.detail.like(0.0), self.detail.like(1.0));
        let (mut sum, mut most, mut amplitude, mut scale) = (zero, zero, one, one);
        let given = |sum: Val<'b>, most: Val<'b>| {
            if self.normalize { sum * 0.5 / most + 0.5 } else { sum }
        };
        let mut partial = None;
        for octave in 0..self.n {
            let share = self.share(octave);
            let term = signed(&scaled(position, scale)) * amplitude;
            if octave > 0 {
                let both = mixed(given(sum, most), given(sum + term, most + amplitude), share.rest);
                let other = partial.unwrap_or(both);
                partial = Some(share.part.select(both, other));
            }
            sum = share.full.select(sum + term, sum);
            most = share.full.select(most + amplitude, most);
            amplitude = amplitude * self.roughness;
            scale = scale * self.lacunarity;
        }
        self.joined(given(sum, most), partial)
    }

    /// The sum of the full octaves, possibly with a part of one more.
    fn joined(&self, whole: Val<'b>, partial: Option<Val<'b>>) -> Val<'b> {
        let (whole_detail, rest) = (self.detail.trunc(), self.detail - self.detail.floor());
        let has_next = whole_detail.ge(0.0) & whole_detail.lt(self.n as f32 - 1.0);
        match partial {
            Some(partial) => (rest.ne(0.0) & has_next).select(partial, whole),
            None => whole,
        }
    }

    fn multifractal(&self, position: &[Val<'b>]) -> Val<'b> {
        let (mut value, mut power) = (self.detail.like(1.0), self.detail.like(1.0));
        for (octave, p) in self.positions(position).enumerate() {
            let share = self.share(octave);
            let noise = signed(&p);
            let full = value * (power * noise + 1.0);
            let part = value * (share.rest * power * noise + 1.0);
            value = share.full.select(full, share.part.select(part, value));
            power = power * self.roughness;
        }
        value
    }

    fn hetero_terrain(&self, position: &[Val<'b>]) -> Val<'b> {
        let mut positions = self.positions(position);
        let first = positions.next().expect("there is an octave");
        let (mut value, mut power) = (self.offset + signed(&first), self.roughness);
        for (octave, p) in (1..).zip(positions) {
            let share = self.share(octave);
            let step = (signed(&p) + self.offset) * power * value;
            let part = share.part.select(value + step * share.rest, value);
            value = share.full.select(value + step, part);
            power = power * self.roughness;
        }
        value
    }

    fn hybrid(&self, position: &[Val<'b>]) -> Val<'b> {
        let (zero, one) = (self.detail.like(0.0), self.detail.like(1.0));
        let (mut value, mut power, mut weight) = (zero, one, one);
        let mut goes_on = weight.gt(0.001);
        for (octave, p) in self.positions(position).enumerate() {
            let share = self.share(octave);
            let kept = weight.gt(1.0).select(1.0, weight);
            let signal = (signed(&p) + self.offset) * power;
            let (full, part) = (share.full & goes_on, share.part & goes_on);
            let step = kept * signal;
            value = full.select(value + step, part.select(value + share.rest * step, value));
            weight = full.select(kept * (self.gain * signal), weight);
            goes_on = goes_on & weight.gt(0.001);
            power = power * self.roughness;
        }
        value
    }

    fn ridged(&self, position: &[Val<'b>]) -> Val<'b> {
        let ridge = |p: &[Val<'b>]| {
            let height = self.offset - signed(p).abs();
            height * height
        };
        let mut positions = self.positions(position);
        let mut signal = ridge(&positions.next().expect("there is an octave"));
        let (mut value, mut power) = (signal, self.roughness);
        for (octave, p) in (1..).zip(positions) {
            let full = self.share(octave).full;
            signal = ridge(&p) * held(signal * self.gain, 0.0, 1.0);
            value = full.select(value + signal * power, value);
            power = power * self.roughness;
        }
        value
    }
}

/// A constant position in this number of dimensions, selected by a seed.
pub(super) fn random_offset(like: Val<'_>, seed: f32, n: usize) -> Vec<Val<'_>> {
    let bits = |x: f32| like.like(x).bitcast();
    let coordinate = |i: usize| {
        let words = if n == 1 { vec![bits(seed)] } else { vec![bits(seed), bits(i as f32)] };
        unit(hash(&words)) * 100.0 + 100.0
    };
    (0..n).map(coordinate).collect()
}

/// A position displaced by noise. If the strength is zero, the position stays; if that is known
/// beforehand, no noise is computed.
pub(super) fn distorted<'b>(position: &[Val<'b>], strength: Val<'b>) -> Vec<Val<'b>> {
    let n = position.len();
    let moves = strength.ne(0.0);
    let moved = |i: usize| {
        let offset = random_offset(strength, i as f32, n);
        let there: Vec<Val<'b>> = position.iter().zip(offset).map(|(x, o)| *x + o).collect();
        moves.select(position[i] + signed(&there) * strength, position[i])
    };
    (0..n).map(moved).collect()
}
