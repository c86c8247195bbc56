//! Pictures that sample an image at displaced positions, as documents and as hand-written loops.

use millstream_base::num;
use millstream_base::width::Width;

use crate::by_hand::{BLOCK, Numbers, Octaves, Size, filled, times};

pub(crate) const WARP: &str = r#"
p = context.position()
photo = image.from_field(vec3(sin(p.x * 0.05), sin(p.y * 0.07), sin(p.x * 0.011 + p.y * 0.013)))
flat = vec2(p.x, p.y)
x = noise.fbm(flat, scale: 0.004, seed: 5, octaves = 3)
y = noise.fbm(flat, scale: 0.004, seed: 6, octaves = 3)
q = p + vec3(x * 40, y * 40, 0)
output picture: image = image.from_field(image.sample(photo, q, outside = "extend"))
"#;

pub(crate) const FRINGES: &str = r#"
p = context.position()
photo = image.from_field(vec3(sin(p.x * 0.05), sin(p.y * 0.07), sin(p.x * 0.011 + p.y * 0.013)))
out = p - vec3(960, 540, 0)
red = image.sample(photo, p + out * 0.004, outside = "extend")
green = image.sample(photo, p + out * 0.001, outside = "extend")
blue = image.sample(photo, p - out * 0.003, outside = "extend")
output picture: image = image.from_field(color.combine(red.x, green.y, blue.z))
"#;

pub(crate) const TURN: &str = r#"
p = context.position()
photo = image.from_field(vec3(sin(p.x * 0.05), sin(p.y * 0.07), sin(p.x * 0.011 + p.y * 0.013)))
x = p.x - 960
y = p.y - 540
q = vec3(960 + 0.96 * x - 0.28 * y, 540 + 0.28 * x + 0.96 * y, 0)
output picture: image = image.from_field(
  image.sample(photo, q, filter = "cubic", outside = "mirror"),
)
"#;

/// The photo of all documents, in three channels.
fn photo(size: Size, simd: Width) -> Vec<[f32; 4]> {
    filled(
        size,
        simd,
        #[inline(always)]
        |x, y, [r, g, b, _]| {
            for i in 0..BLOCK {
                r[i] = num::sin(x[i] * 0.05);
                g[i] = num::sin(y * 0.07);
                b[i] = num::sin(x[i] * 0.011 + y * 0.013);
            }
        },
    )
}

/// The pixels around a point, `N` in each direction, that weights blend; `index` maps columns and
/// rows to those of the photo.
#[inline(always)]
fn blended<const N: usize>(
    photo: &[[f32; 4]],
    [width, height]: Size,
    [x, y]: [f32; 2],
    weights: impl Fn(f32) -> [f32; N],
    index: impl Fn(i32, usize) -> usize,
) -> [f32; 3] {
    let (x, y) = (x - 0.5, y - 0.5);
    let (left, lower) = (x.floor(), y.floor());
    let (of_x, of_y) = (weights(x - left), weights(y - lower));
    let before = N as i32 / 2 - 1;
    let columns: [usize; N] =
        std::array::from_fn(|i| index(left as i32 - before + i as i32, width));
    let mut sum = [0.0; 3];
    for (j, wy) in of_y.into_iter().enumerate() {
        let row = &photo[index(lower as i32 - before + j as i32, height) * width..][..width];
        let mut of_row = [0.0; 3];
        for (column, wx) in columns.iter().zip(of_x) {
            (0..3).for_each(|k| of_row[k] += wx * row[*column][k]);
        }
        (0..3).for_each(|k| sum[k] += wy * of_row[k]);
    }
    sum
}

#[inline(always)]
fn linear(photo: &[[f32; 4]], size: Size, point: [f32; 2]) -> [f32; 3] {
    let extend = |at: i32, n: usize| at.clamp(0, n as i32 - 1) as usize;
    blended(photo, size, point, |t| [1.0 - t, t], extend)
}

#[inline(always)]
fn cubic(photo: &[[f32; 4]], size: Size, point: [f32; 2]) -> [f32; 3] {
    let mirror = |at: i32, n: usize| {
        let n = n as i32;
        if (0..n).contains(&at) {
            return at as usize;
        }
        let at = at.rem_euclid(2 * n);
        at.min(2 * n - 1 - at) as usize
    };
    let weights = |t: f32| {
        let (t2, t3) = (t * t, t * t * t);
        [
            (-t3 + 2.0 * t2 - t) * 0.5,
            (3.0 * t3 - 5.0 * t2 + 2.0) * 0.5,
            (-3.0 * t3 + 4.0 * t2 + t) * 0.5,
            (t3 - t2) * 0.5,
        ]
    };
    blended(photo, size, point, weights, mirror)
}

pub(crate) fn warp(size: Size, simd: Width) -> Vec<[f32; 4]> {
    let photo = photo(size, simd);
    let (to_x, to_y) = (Octaves::<3>::new(5, 1.42), Octaves::<3>::new(6, 1.42));
    filled(
        size,
        simd,
        #[inline(always)]
        |x, y, [r, g, b, a]| {
            let place: [&Numbers; 2] = [&times(x, 0.004), &[y * 0.004; BLOCK]];
            let (of_x, of_y) = (to_x.in_plane(place, |x| x), to_y.in_plane(place, |x| x));
            for i in 0..BLOCK {
                let point = [x[i] + of_x[i] * 40.0, y + of_y[i] * 40.0];
                [r[i], g[i], b[i]] = linear(&photo, size, point);
                a[i] = 1.0;
            }
        },
    )
}

pub(crate) fn fringes(size: Size, simd: Width) -> Vec<[f32; 4]> {
    let photo = photo(size, simd);
    filled(
        size,
        simd,
        #[inline(always)]
        |x, y, [r, g, b, a]| {
            for i in 0..BLOCK {
                let out = [x[i] - 960.0, y - 540.0];
                let at = |scale: f32| [x[i] + out[0] * scale, y + out[1] * scale];
                r[i] = linear(&photo, size, at(0.004))[0];
                g[i] = linear(&photo, size, at(0.001))[1];
                b[i] = linear(&photo, size, at(-0.003))[2];
                a[i] = 1.0;
            }
        },
    )
}

pub(crate) fn turn(size: Size, simd: Width) -> Vec<[f32; 4]> {
    let photo = photo(size, simd);
    filled(
        size,
        simd,
        #[inline(always)]
        |x, y, [r, g, b, a]| {
            for i in 0..BLOCK {
                let (x, y) = (x[i] - 960.0, y - 540.0);
                let point = [960.0 + 0.96 * x - 0.28 * y, 540.0 + 0.28 * x + 0.96 * y];
                [r[i], g[i], b[i]] = cubic(&photo, size, point);
                a[i] = 1.0;
            }
        },
    )
}
