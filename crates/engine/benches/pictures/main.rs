//! Procedural pictures of 1920x1080 pixels beside the same pictures written by hand, on one thread in
//! interleaved runs.
//!
//! `cargo bench -p millstream --bench pictures` prints nanoseconds per pixel and the ratio; words
//! after `--` select pictures by name. Where noise and elementary functions take most of the time,
//! documents may take 1.2 times as long as the loops, elsewhere 4 times. Images that change in 16
//! steps and read the pixels around them may take 1.5 times as long; figures are for all steps.

mod by_hand;
mod samples;
mod steps;
#[path = "../../../run/benches/shared/timing.rs"]
mod timing;

use std::num::NonZeroUsize;

use millstream::evaluate::{Chunked, Evaluator, Request};
use millstream::values::Image;
use millstream::{Engine, Footprint, Program};
use millstream_base::width::Width;

use by_hand::Size;
use timing::{median, seconds};

/// Name, document, loop, and the permitted ratio of the document's time to that of the loop.
type Picture = (&'static str, &'static str, fn(Size, Width) -> Vec<[f32; 4]>, f64);

const PICTURES: [Picture; 12] = [
    ("clouds", CLOUDS, by_hand::clouds, 1.2),
    ("marble", MARBLE, by_hand::marble, 1.2),
    ("plasma", PLASMA, by_hand::plasma, 1.2),
    ("shapes", SHAPES, by_hand::shapes, 4.0),
    ("blends", BLENDS, by_hand::blends, 4.0),
    ("gray", GRAY, by_hand::gray, 4.0),
    ("reaction", steps::REACTION, steps::reaction, 1.5),
    ("life", steps::LIFE, steps::life, 1.5),
    ("drift", steps::DRIFT, steps::drift, 4.0),
    ("warp", samples::WARP, samples::warp, 4.0),
    ("fringes", samples::FRINGES, samples::fringes, 4.0),
    ("turn", samples::TURN, samples::turn, 4.0),
];

const CLOUDS: &str = r#"
p = context.position()
n = noise.fbm(p, scale: 0.01, octaves = 5)
inside = sdf.fill(sdf.circle(p, center: [960, 540], radius: 400), softness: 2)
sky = color.combine(0.3 + 0.3 * n, 0.35 + 0.2 * n, 0.5)
lit = color.blend(sky, [0.9, 0.7, 0.5, 1], factor: n + 0.4, mode = "screen")
output picture: image = image.from_field(color.blend(lit, [0.6, 0.8, 0.95, 1], factor: inside, mode = "multiply"))
"#;

const MARBLE: &str = r#"
p = context.position()
flat = vec2(p.x, p.y)
w = noise.fbm(flat, scale: 0.004, seed: 5)
n = noise.turbulence(vec2(p.x + w * 90, p.y - w * 60), scale: 0.006, octaves = 6)
s = sin(p.x * 0.02 + n * 9)
light = exp(-2.5 * (s * s))
output picture: image = image.from_field(color.combine(0.9 * light, 0.85 * light, 0.8 * light + 0.05))
"#;

const PLASMA: &str = r#"
p = context.position()
a = sin(p.x * 0.013) + cos(p.y * 0.021)
x = p.x - 700
y = p.y - 500
away = sqrt(x * x + y * y)
b = sin(away * 0.03 + atan2(y, x) * 3) + a
output picture: image = image.from_field(
  color.combine(exp(-(b * b)), (0.5 + 0.5 * cos(b * 1.7)) ^ 2.2, ln(1 + away) * 0.1),
)
"#;

const SHAPES: &str = r#"
p = context.position()
disc = sdf.circle(p, center: [700, 560], radius: 240)
hole = sdf.circle(p, center: [760, 600], radius: 90)
plate = sdf.box(p, center: [1180, 500], size: [520, 300], radius: 40)
bar = sdf.line(p, a: [300, 200], b: [1600, 860], width: 36)
body = sdf.difference(sdf.union(disc, plate, radius: 80), hole)
all = sdf.union(body, bar, radius: 30)
ring = sdf.union(sdf.outline(disc, width: 24), sdf.outline(plate, width: 12))
ground = color.blend([0.05, 0.08, 0.12, 1], [0.8, 0.3, 0.1, 1], factor: sdf.fill(all, softness: 1.5))
output picture: image = image.from_field(
  color.blend(ground, [0.95, 0.9, 0.7, 1], factor: sdf.fill(ring, softness: 1.5)),
)
"#;

const BLENDS: &str = r#"
p = context.position()
u = p.x / 1920
v = p.y / 1080
a = color.combine(u, v, 1 - u * v)
b = color.combine(u * u, 1 - v, u * v)
c = color.combine(v * v, u, 1 - u)
d = color.blend(a, b, factor: 0.7, mode = "screen")
e = color.blend(d, c, factor: v, mode = "overlay")
f = color.blend(e, a, factor: 0.3, mode = "difference")
output picture: image = image.from_field(color.blend(f, b, factor: u, mode = "exclusion"))
"#;

const GRAY: &str = r#"
p = context.position()
u = p.x / 1920 - 0.5
v = p.y / 1080 - 0.5
value = (u * u + v * v) * (1 - u * v) + u * 0.25
output picture: image = image.from_field(color.combine(value, value, value))
"#;

fn main() {
    // `-- --test` checks that the benchmark runs, not how fast.
    let is_smoke_run = std::env::args().any(|arg| arg == "--test");
    let (size, rounds) = if is_smoke_run { ([192, 108], 1) } else { ([1920, 1080], 15) };
    let asked: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    println!("{} by {} pixels, medians of {rounds}, {}", size[0], size[1], Width::widest().name());
    println!("{:10} {:>9} {:>9} {:>6} {:>8}", "picture", "ns/pixel", "by hand", "ratio", "at most");
    for picture in PICTURES {
        if asked.is_empty() || asked.iter().any(|name| name == picture.0) {
            side_by_side(picture, size, rounds);
        }
    }
}

fn side_by_side((name, text, by_hand, most): Picture, size: Size, rounds: usize) {
    let engine = Engine::new();
    let program = engine.load(text.as_bytes()).expect("the document is right");
    let mut chunked = Chunked::new().threads(NonZeroUsize::MIN);
    let view = Footprint::of_size(size[0] as i32, size[1] as i32);
    let request = Request::new().view(view);
    compare(name, &image(&program, &mut chunked, &request), &by_hand(size, Width::widest()));
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let mut answer = None;
        times[0].push(seconds(|| answer = Some(image(&program, &mut chunked, &request))));
        drop(answer);
        let mut pixels = Vec::new();
        times[1].push(seconds(|| pixels = by_hand(size, Width::widest())));
        drop(std::hint::black_box(pixels));
    }
    let n = (size[0] * size[1]) as f64;
    let [document, hand] = times.map(|times| median(times) / n * 1e9);
    let ratio = document / hand;
    println!("{name:10} {document:9.2} {hand:9.2} {ratio:6.2} {most:8.1}");
}

fn image(program: &Program, evaluator: &mut dyn Evaluator, request: &Request) -> Image {
    let answer = program.run_with(evaluator, request).expect("the request fits");
    answer.value("picture").expect("the picture is there")
}

/// Checks that the document and the loop make the same picture; channels that the image lacks are
/// ignored.
fn compare(name: &str, image: &Image, by_hand: &[[f32; 4]]) {
    let n = image.width();
    let pixels = image.channels().chunks_exact(image.n_channels());
    for (i, (a, b)) in pixels.zip(by_hand).enumerate() {
        let is_near = a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-5 * a.abs().max(1.0));
        assert!(is_near, "{name} at {} {}: {a:?} and by hand {b:?}", i % n, i / n);
    }
}
