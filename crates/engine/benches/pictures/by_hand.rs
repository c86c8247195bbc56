//! The pictures of the documents, written by hand: loops over blocks of the pixels of a row, compiled
//! for the widest SIMD that the machine has, with the noise and the elementary functions of the node
//! library.

use millstream_base::num::{self, Float};
use millstream_base::width::Width;

/// Columns and rows.
pub(crate) type Size = [usize; 2];

/// Pixels that are computed in one loop.
pub(crate) const BLOCK: usize = 64;

/// A number for each pixel of a block.
pub(crate) type Numbers = [f32; BLOCK];

/// The pixels that a function computes block by block of each row: from the columns and the row it
/// makes the channels. It works channel by channel and block by block, since the compiler makes no
/// SIMD of loops that interleave or contain others.
#[inline(always)]
pub(crate) fn filled(
    [width, height]: Size,
    simd: Width,
    channels: impl Fn(&Numbers, f32, &mut [Numbers; 4]),
) -> Vec<[f32; 4]> {
    let mut pixels = vec![[0.0; 4]; width * height];
    simd.run(
        #[inline(always)]
        || {
            for (y, row) in pixels.chunks_exact_mut(width).enumerate() {
                let y = y as f32 + 0.5;
                for (block, out) in row.chunks_mut(BLOCK).enumerate() {
                    let mut x = [0.0; BLOCK];
                    for (i, x) in x.iter_mut().enumerate() {
                        *x = (block * BLOCK) as f32 + i as f32 + 0.5;
                    }
                    let mut made = [[0.0; BLOCK]; 4];
                    channels(&x, y, &mut made);
                    let [r, g, b, a] = &made;
                    for (i, out) in out.iter_mut().enumerate() {
                        *out = [r[i], g[i], b[i], a[i]];
                    }
                }
            }
        },
    );
    pixels
}

/// The pixels of a function of the position.
#[inline(always)]
fn filled_by_pixel(size: Size, simd: Width, pixel: impl Fn(f32, f32) -> [f32; 4]) -> Vec<[f32; 4]> {
    filled(
        size,
        simd,
        #[inline(always)]
        |x, y, [r, g, b, a]| {
            for i in 0..BLOCK {
                [r[i], g[i], b[i], a[i]] = pixel(x[i], y);
            }
        },
    )
}

/// 2^-31, which scales a drawn number to -1 to 1.
const DRAWN: f64 = 1.0 / 2_147_483_648.0;
const AXES: [i32; 3] =
    [0xdb4f_0b91_u32.cast_signed(), 0xbbe0_5633_u32.cast_signed(), 0xa0f2_ec75_u32.cast_signed()];
const DRAWS: [i32; 3] = [0x6a09_e667, 0xbb67_ae85_u32.cast_signed(), 0x510e_527f];

/// The hash words of a seed and an octave.
fn words(seed: i32, octave: i32) -> [i32; 4] {
    const NOISE: i32 = 8;
    let mut v = [seed, octave, NOISE, 0]
        .map(|word: i32| word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    let mix = |v: &mut [i32; 4]| {
        v[0] = v[0].wrapping_add(v[1].wrapping_mul(v[3]));
        v[1] = v[1].wrapping_add(v[2].wrapping_mul(v[0]));
        v[2] = v[2].wrapping_add(v[0].wrapping_mul(v[1]));
        v[3] = v[3].wrapping_add(v[1].wrapping_mul(v[2]));
    };
    let folded = |word: i32| word ^ (word.cast_unsigned() >> 16).cast_signed();
    mix(&mut v);
    v = v.map(folded);
    mix(&mut v);
    v.map(folded)
}

/// Rounds to a whole number below 2^22, by an addition that leaves it in the low bits.
#[inline(always)]
fn whole(x: f32) -> i32 {
    const SHIFT: f32 = 12_582_912.0;
    (x + SHIFT).to_bits().wrapping_sub(SHIFT.to_bits()).cast_signed()
}

#[inline(always)]
fn lerp(a: f32, b: f32, t: f32) -> f32 {
    a + t * (b - a)
}

#[inline(always)]
fn fade(t: f32) -> f32 {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

/// The gradient at a corner.
#[inline(always)]
fn slope3([x, y, z]: [f32; 3], hash: i32) -> f32 {
    hash.wrapping_mul(DRAWS[0]) as f32 * x
        + hash.wrapping_mul(DRAWS[1]) as f32 * y
        + hash.wrapping_mul(DRAWS[2]) as f32 * z
}

/// The gradients at both ends of an edge along x, blended.
#[inline(always)]
fn edge3([x, y, z]: [f32; 3], cx: i32, rest: i32, t: f32) -> f32 {
    let next = cx.wrapping_add(AXES[0]);
    lerp(slope3([x, y, z], cx ^ rest), slope3([x - 1.0, y, z], next ^ rest), t)
}

/// Perlin noise in space, not scaled.
#[inline(always)]
fn perlin3([x, y, z]: [f32; 3], words: [i32; 4]) -> f32 {
    let (fx, fy, fz) = (x.floor(), y.floor(), z.floor());
    let (rx, ry, rz) = (x - fx, y - fy, z - fz);
    let cx = whole(fx).wrapping_mul(AXES[0]).wrapping_add(words[0]);
    let cy = whole(fy).wrapping_mul(AXES[1]).wrapping_add(words[1]);
    let cz = whole(fz).wrapping_mul(AXES[2]).wrapping_add(words[2]);
    let (dy, dz) = (cy.wrapping_add(AXES[1]), cz.wrapping_add(AXES[2]));
    let (t, ty) = (fade(rx), fade(ry));
    let a = edge3([rx, ry, rz], cx, cy ^ cz, t);
    let b = edge3([rx, ry - 1.0, rz], cx, dy ^ cz, t);
    let c = edge3([rx, ry, rz - 1.0], cx, cy ^ dz, t);
    let d = edge3([rx, ry - 1.0, rz - 1.0], cx, dy ^ dz, t);
    lerp(lerp(a, b, ty), lerp(c, d, ty), fade(rz))
}

#[inline(always)]
fn slope2([x, y]: [f32; 2], hash: i32) -> f32 {
    hash.wrapping_mul(DRAWS[0]) as f32 * x + hash.wrapping_mul(DRAWS[1]) as f32 * y
}

#[inline(always)]
fn edge2([x, y]: [f32; 2], cx: i32, cy: i32, t: f32) -> f32 {
    let next = cx.wrapping_add(AXES[0]);
    lerp(slope2([x, y], cx ^ cy), slope2([x - 1.0, y], next ^ cy), t)
}

/// Perlin noise in the plane, not scaled.
#[inline(always)]
fn perlin2([x, y]: [f32; 2], words: [i32; 4]) -> f32 {
    let (fx, fy) = (x.floor(), y.floor());
    let (rx, ry) = (x - fx, y - fy);
    let cx = whole(fx).wrapping_mul(AXES[0]).wrapping_add(words[0]);
    let cy = whole(fy).wrapping_mul(AXES[1]).wrapping_add(words[1]);
    let t = fade(rx);
    let below = edge2([rx, ry], cx, cy, t);
    lerp(below, edge2([rx, ry - 1.0], cx, cy.wrapping_add(AXES[1]), t), fade(ry))
}

/// The weights of octaves, which give their sum the range of a single octave.
fn weights<const N: usize>(scale: f64) -> [f32; N] {
    let amplitudes: [f32; N] = std::array::from_fn(|i| 0.5_f32.powi(i as i32));
    let total: f32 = amplitudes.iter().copied().reduce(|a, b| a + b).unwrap_or(1.0);
    amplitudes.map(|amplitude| amplitude * (scale * DRAWN) as f32 / total)
}

/// Octaves of noise in space or in the plane, with their weights.
pub(crate) struct Octaves<const N: usize> {
    words: [[i32; 4]; N],
    weights: [f32; N],
}

impl<const N: usize> Octaves<N> {
    pub(crate) fn new(seed: i32, scale: f64) -> Self {
        Self { words: std::array::from_fn(|i| words(seed, i as i32)), weights: weights(scale) }
    }

    /// The octaves at points of space.
    #[inline(always)]
    fn in_space(&self, p: [&Numbers; 3], shape: impl Fn(f32) -> f32) -> Numbers {
        let [x, y, z] = p;
        let (mut sum, mut scale) = ([0.0; BLOCK], 1.0);
        for (words, weight) in self.words.iter().zip(&self.weights) {
            for i in 0..BLOCK {
                let p = [x[i] * scale, y[i] * scale, z[i] * scale];
                sum[i] += shape(perlin3(p, *words)) * weight;
            }
            scale *= 2.0;
        }
        sum
    }

    /// The octaves at points of a plane.
    #[inline(always)]
    pub(crate) fn in_plane(&self, [x, y]: [&Numbers; 2], shape: impl Fn(f32) -> f32) -> Numbers {
        let (mut sum, mut scale) = ([0.0; BLOCK], 1.0);
        for (words, weight) in self.words.iter().zip(&self.weights) {
            for i in 0..BLOCK {
                sum[i] += shape(perlin2([x[i] * scale, y[i] * scale], *words)) * weight;
            }
            scale *= 2.0;
        }
        sum
    }
}

#[inline(always)]
fn mixed(a: f32, b: f32, factor: f32) -> f32 {
    a * (1.0 - factor) + b * factor
}

/// Three channels of two colors.
#[inline(always)]
fn each(a: [f32; 3], b: [f32; 3], f: impl Fn(f32, f32) -> f32) -> [f32; 3] {
    [f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2])]
}

#[inline(always)]
fn screen(a: f32, b: f32) -> f32 {
    1.0 - (1.0 - a) * (1.0 - b)
}

#[inline(always)]
fn hard_light(a: f32, b: f32) -> f32 {
    if b <= 0.5 { a * (b * 2.0) } else { screen(a, b * 2.0 - 1.0) }
}

#[inline(always)]
fn clamped(x: f32) -> f32 {
    x.clamp(0.0, 1.0)
}

#[inline(always)]
fn filling(distance: f32, softness: f32) -> f32 {
    clamped(0.5 - distance / softness)
}

#[inline(always)]
fn norm(x: f32, y: f32) -> f32 {
    (x * x + y * y).sqrt()
}

#[inline(always)]
fn smooth_min(a: f32, b: f32, radius: f32) -> f32 {
    let h = (radius - (a - b).abs()).max(0.0);
    a.min(b) - h * h / (radius * 4.0)
}

#[inline(always)]
fn rectangle(px: f32, py: f32, size: [f32; 2], radius: f32) -> f32 {
    let (dx, dy) = (px.abs() - size[0] * 0.5 + radius, py.abs() - size[1] * 0.5 + radius);
    norm(dx.max(0.0), dy.max(0.0)) + dx.max(dy).min(0.0) - radius
}

#[inline(always)]
fn segment(px: f32, py: f32, a: [f32; 2], b: [f32; 2], width: f32) -> f32 {
    let along = [b[0] - a[0], b[1] - a[1]];
    let from = [px - a[0], py - a[1]];
    let square = along[0] * along[0] + along[1] * along[1];
    let t = clamped((from[0] * along[0] + from[1] * along[1]) / square);
    norm(from[0] - along[0] * t, from[1] - along[1] * t) - width * 0.5
}

#[inline(always)]
pub(crate) fn times(x: &Numbers, factor: f32) -> Numbers {
    let mut product = *x;
    for x in &mut product {
        *x *= factor;
    }
    product
}

pub(crate) fn clouds(size: Size, simd: Width) -> Vec<[f32; 4]> {
    let octaves = Octaves::<5>::new(0, 1.31);
    let z = std::hint::black_box(0.0_f32);
    filled(
        size,
        simd,
        #[inline(always)]
        move |x, y, [r, g, b, a]| {
            let place = [&times(x, 0.01), &[y * 0.01; BLOCK], &[z * 0.01; BLOCK]];
            let noise = octaves.in_space(place, |x| x);
            for i in 0..BLOCK {
                let n = noise[i];
                let inside = filling(norm(x[i] - 960.0, y - 540.0) - 400.0, 2.0);
                let sky = [0.3 + 0.3 * n, 0.35 + 0.2 * n, 0.5];
                let factor = clamped(n + 0.4);
                let lit = each(sky, [0.9, 0.7, 0.5], |a, b| mixed(a, screen(a, b), factor));
                let factor = clamped(inside);
                let cut = each(lit, [0.6, 0.8, 0.95], |a, b| mixed(a, a * b, factor));
                [r[i], g[i], b[i], a[i]] = [cut[0], cut[1], cut[2], 1.0];
            }
        },
    )
}

pub(crate) fn marble(size: Size, simd: Width) -> Vec<[f32; 4]> {
    let (warp, veins) = (Octaves::<3>::new(5, 1.42), Octaves::<6>::new(0, 1.42));
    filled(
        size,
        simd,
        #[inline(always)]
        move |x, y, [r, g, b, a]| {
            let w = warp.in_plane([&times(x, 0.004), &[y * 0.004; BLOCK]], |x| x);
            let (mut px, mut py) = ([0.0; BLOCK], [0.0; BLOCK]);
            for i in 0..BLOCK {
                (px[i], py[i]) = ((x[i] + w[i] * 90.0) * 0.006, (y - w[i] * 60.0) * 0.006);
            }
            let n = veins.in_plane([&px, &py], f32::abs);
            for i in 0..BLOCK {
                let s = f32::sin_usual(x[i] * 0.02 + n[i] * 9.0);
                let light = num::exp(-2.5 * (s * s));
                [r[i], g[i], b[i], a[i]] = [0.9 * light, 0.85 * light, 0.8 * light + 0.05, 1.0];
            }
        },
    )
}

pub(crate) fn plasma(size: Size, simd: Width) -> Vec<[f32; 4]> {
    filled_by_pixel(
        size,
        simd,
        #[inline(always)]
        |x, y| {
            let a = f32::sin_usual(x * 0.013) + f32::cos_usual(y * 0.021);
            let away = norm(x - 700.0, y - 500.0);
            let angle = num::atan2(y - 500.0, x - 700.0);
            let b = f32::sin_usual(away * 0.03 + angle * 3.0) + a;
            let r = num::exp(-(b * b));
            let g = num::pow(0.5 + 0.5 * f32::cos_usual(b * 1.7), 2.2);
            let blue = num::ln(1.0 + away) * 0.1;
            [r, g, blue, 1.0]
        },
    )
}

pub(crate) fn shapes(size: Size, simd: Width) -> Vec<[f32; 4]> {
    filled_by_pixel(
        size,
        simd,
        #[inline(always)]
        |x, y| {
            let disc = norm(x - 700.0, y - 560.0) - 240.0;
            let hole = norm(x - 760.0, y - 600.0) - 90.0;
            let plate = rectangle(x - 1180.0, y - 500.0, [520.0, 300.0], 40.0);
            let bar = segment(x, y, [300.0, 200.0], [1600.0, 860.0], 36.0);
            let body = smooth_min(disc, plate, 80.0);
            let body = (-hole).max(body);
            let all = smooth_min(body, bar, 30.0);
            let ring = (disc.abs() - 12.0).min(plate.abs() - 6.0);
            let (fill, line) = (filling(all, 1.5), filling(ring, 1.5));
            let ground = each([0.05, 0.08, 0.12], [0.8, 0.3, 0.1], |a, b| mixed(a, b, fill));
            let [r, g, b] = each(ground, [0.95, 0.9, 0.7], |a, b| mixed(a, b, line));
            [r, g, b, 1.0]
        },
    )
}

pub(crate) fn blends(size: Size, simd: Width) -> Vec<[f32; 4]> {
    filled_by_pixel(
        size,
        simd,
        #[inline(always)]
        |x, y| {
            let (u, v) = (x / 1920.0, y / 1080.0);
            let a = [u, v, 1.0 - u * v];
            let b = [u * u, 1.0 - v, u * v];
            let c = [v * v, u, 1.0 - u];
            let d = each(a, b, |a, b| mixed(a, screen(a, b), 0.7));
            let e = each(d, c, |a, b| mixed(a, hard_light(b, a), v));
            let f = each(e, a, |a, b| mixed(a, (a - b).abs(), 0.3));
            let [r, g, b] = each(f, b, |a, b| mixed(a, a + b - a * b * 2.0, u));
            [r, g, b, 1.0]
        },
    )
}

pub(crate) fn gray(size: Size, simd: Width) -> Vec<[f32; 4]> {
    filled_by_pixel(
        size,
        simd,
        #[inline(always)]
        |x, y| {
            let (u, v) = (x / 1920.0 - 0.5, y / 1080.0 - 0.5);
            let value = (u * u + v * v) * (1.0 - u * v) + u * 0.25;
            [value, value, value, 1.0]
        },
    )
}
