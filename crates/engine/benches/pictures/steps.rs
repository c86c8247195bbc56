//! Images that change step by step, as documents and as hand-written loops: a step reads what the
//! previous step wrote.

use millstream_base::num;
use millstream_base::width::Width;

use crate::by_hand::Size;

/// Steps of each picture.
pub(crate) const STEPS: usize = 16;

pub(crate) const REACTION: &str = r#"
p = context.position()
start = image.from_field(vec3(1, sin(p.x * 0.05) * sin(p.y * 0.07) > 0.6 ? 0.5 : 0, 0))
liquid = repeat react(state: start, feed: 0.037, kill: 0.06, count: 16)
output picture: image = liquid.state

group react(state: image, feed: f32, kill: f32) -> state: image = next {
  around = image.convolve(
    state,
    weights = [0.05, 0.2, 0.05, 0.2, -1, 0.2, 0.05, 0.2, 0.05],
    normalize = false,
    outside = "wrap",
  )
  p = context.position()
  now = image.sample(state, p, filter = "nearest")
  spread = image.sample(around, p, filter = "nearest")
  reaction = now.x * now.y * now.y
  a = now.x + spread.x - reaction + feed * (1 - now.x)
  b = now.y + 0.5 * spread.y + reaction - (feed + kill) * now.y
  next = image.from_field(vec3(a, b, 0))
}
"#;

pub(crate) const LIFE: &str = r#"
p = context.position()
start = image.from_field(sin(p.x * p.y) > 0.4 ? 1.0 : 0.0)
life = repeat generation(cells: start, count: 16)
output picture: image = life.cells

group generation(cells: image) -> cells: image = next {
  around = image.convolve(
    cells,
    weights = [1, 1, 1, 1, 0, 1, 1, 1, 1],
    normalize = false,
    outside = "wrap",
  )
  p = context.position()
  now = image.sample(cells, p, filter = "nearest")
  n = image.sample(around, p, filter = "nearest")
  lives = n.x > 2.5 && n.x < 3.5 || now.x > 0.5 && n.x > 1.5 && n.x < 2.5
  next = image.from_field(lives ? 1.0 : 0.0)
}
"#;

pub(crate) const DRIFT: &str = r#"
p = context.position()
start = image.from_field(sin(p.x * 0.05) * sin(p.y * 0.07))
smoke = repeat drift(density: start, count: 16)
output picture: image = smoke.density

group drift(density: image) -> density: image = next {
  p = context.position()
  from = image.sample(density, p + vec3(-3, 2, 0), filter = "nearest", outside = "wrap")
  here = image.sample(density, p, filter = "nearest")
  next = image.from_field(0.3 * here.x + 0.69 * from.x)
}
"#;

/// The rows below, at and above each row of a plane that continues at its edges.
fn rows(plane: &[f32], width: usize, y: usize) -> [&[f32]; 3] {
    let height = plane.len() / width;
    [(y + height - 1) % height, y, (y + 1) % height].map(|y| &plane[y * width..][..width])
}

/// Computes each pixel of a row from the nine pixels around it, those of a row side by side.
#[inline(always)]
fn for_each_pixel(out: &mut [f32], rows: [&[f32]; 3], of: impl Fn([[f32; 3]; 3]) -> f32) {
    let n = out.len();
    let rows = rows.map(|row| &row[..n]);
    for x in 1..n - 1 {
        out[x] = of(rows.map(|row| [row[x - 1], row[x], row[x + 1]]));
    }
    for x in [0, n - 1] {
        out[x] = of(rows.map(|row| [row[(x + n - 1) % n], row[x], row[(x + 1) % n]]));
    }
}

fn start(size: Size, of: impl Fn(f32, f32) -> f32) -> Vec<f32> {
    let [width, height] = size;
    let pixels = (0..width * height).map(|i| (i % width, i / width));
    pixels.map(|(x, y)| of(x as f32 + 0.5, y as f32 + 0.5)).collect()
}

fn gray(plane: &[f32]) -> Vec<[f32; 4]> {
    plane.iter().map(|x| [*x, 0.0, 0.0, 0.0]).collect()
}

pub(crate) fn reaction(size: Size, simd: Width) -> Vec<[f32; 4]> {
    let width = size[0];
    let spots = |x: f32, y: f32| num::sin(x * 0.05) * num::sin(y * 0.07);
    let mut a = vec![1.0; width * size[1]];
    let mut b = start(size, |x, y| if spots(x, y) > 0.6 { 0.5 } else { 0.0 });
    let (mut next_a, mut next_b) = (a.clone(), b.clone());
    let (feed, kill) = (0.037, 0.06);
    for _ in 0..STEPS {
        simd.run(
            #[inline(always)]
            || {
                let next = next_a.chunks_exact_mut(width).zip(next_b.chunks_exact_mut(width));
                for (y, (next_a, next_b)) in next.enumerate() {
                    let (of_a, of_b) = (rows(&a, width, y), rows(&b, width, y));
                    for_each_pixel(next_a, of_a, spread);
                    for_each_pixel(next_b, of_b, spread);
                    let (a, b) = (of_a[1], of_b[1]);
                    for x in 0..width {
                        let reaction = a[x] * b[x] * b[x];
                        next_a[x] = a[x] + next_a[x] - reaction + feed * (1.0 - a[x]);
                        next_b[x] = b[x] + 0.5 * next_b[x] + reaction - (feed + kill) * b[x];
                    }
                }
            },
        );
        std::mem::swap(&mut a, &mut next_a);
        std::mem::swap(&mut b, &mut next_b);
    }
    a.iter().zip(&b).map(|(a, b)| [*a, *b, 0.0, 0.0]).collect()
}

#[inline(always)]
fn spread([below, row, above]: [[f32; 3]; 3]) -> f32 {
    0.05 * (below[0] + below[2] + above[0] + above[2])
        + 0.2 * (below[1] + row[0] + row[2] + above[1])
        - row[1]
}

pub(crate) fn life(size: Size, simd: Width) -> Vec<[f32; 4]> {
    let mut cells = start(size, |x, y| if num::sin(x * y) > 0.4 { 1.0 } else { 0.0 });
    let mut next = cells.clone();
    for _ in 0..STEPS {
        simd.run(
            #[inline(always)]
            || {
                for (y, next) in next.chunks_exact_mut(size[0]).enumerate() {
                    for_each_pixel(
                        next,
                        rows(&cells, size[0], y),
                        #[inline(always)]
                        |[below, row, above]| {
                            let n = below[0] + below[1] + below[2] + row[0] + row[2];
                            let n = n + above[0] + above[1] + above[2];
                            let stays = row[1] > 0.5 && n > 1.5 && n < 2.5;
                            if n > 2.5 && n < 3.5 || stays { 1.0 } else { 0.0 }
                        },
                    );
                }
            },
        );
        std::mem::swap(&mut cells, &mut next);
    }
    gray(&cells)
}

pub(crate) fn drift(size: Size, simd: Width) -> Vec<[f32; 4]> {
    let [width, height] = size;
    let mut density = start(size, |x, y| num::sin(x * 0.05) * num::sin(y * 0.07));
    let mut next = density.clone();
    for _ in 0..STEPS {
        simd.run(
            #[inline(always)]
            || {
                for (y, next) in next.chunks_exact_mut(width).enumerate() {
                    let from = &density[(y + 2) % height * width..][..width];
                    let here = &density[y * width..][..width];
                    for x in 3..width {
                        next[x] = 0.3 * here[x] + 0.69 * from[x - 3];
                    }
                    for x in 0..3 {
                        next[x] = 0.3 * here[x] + 0.69 * from[x + width - 3];
                    }
                }
            },
        );
        std::mem::swap(&mut density, &mut next);
    }
    gray(&density)
}
