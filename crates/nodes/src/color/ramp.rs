//! Color gradients defined by stops.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::settings::SettingError;
use millstream_node::{NodeDef, Registry, SettingKind, SettingValue, Settings};

use super::spaces::Space;
use super::{three, with_alpha};

pub(super) fn register(registry: &mut Registry) {
    registry.register(ramp());
}

const INTERPOLATIONS: &[(&str, &str)] = &[
    ("linear", "a straight line"),
    ("constant", "the color of the previous stop"),
    ("ease", "eased at the stops"),
    ("cardinal", "a smooth curve through the stops (Catmull-Rom)"),
    ("b_spline", "a smoother curve that passes near the stops (B-spline)"),
];

const SPACES: &[(&str, &str)] = &[
    ("linear", "linear light"),
    ("srgb", "encoded as sRGB"),
    ("oklab", "perceptually even steps"),
    ("hsv", "hue, saturation and value"),
    ("hsl", "hue, saturation and lightness"),
    ("oklch", "perceptually even steps; lightness, chroma and hue"),
];

const HUES: &[(&str, &str)] = &[
    ("direct", "between the numbers, without wrapping at 1"),
    ("shortest", "the shorter way around the color wheel"),
    ("longest", "the longer way around the color wheel"),
    ("up", "from red to yellow to green"),
    ("down", "from red to magenta to blue"),
];

/// Stops are selected by a chain of choices, so their number is bounded.
const MAX_STOPS: usize = 64;

fn ramp() -> NodeDef {
    let numbers = |numbers: &[f64]| Some(SettingValue::Numbers(numbers.to_vec()));
    NodeDef::new("color.ramp", "A color gradient with stops")
        .details(
            "Before the first stop the color is that of the first stop, after the last stop that \
             of the last; NaN gives the first. Stops are sorted by position; where several stops \
             share a position, the color jumps. At a stop the color is exactly that of the stop, \
             except with `b_spline` and in color spaces that are not linear. Unless hues are mixed \
             directly, a gray stop takes the hue of the other stop. At most 64 stops.",
        )
        .source(
            "Catmull-Rom: E. Catmull, R. Rom, \"A class of local interpolating splines\", 1974; \
             the uniform cubic B-spline",
        )
        .setting("positions", SettingKind::Numbers, numbers(&[0.0, 1.0]), "positions of the stops")
        .setting(
            "colors",
            SettingKind::Numbers,
            numbers(&[0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
            "red, green, blue and alpha of each stop, in linear light",
        )
        .choice("interpolation", INTERPOLATIONS, "linear", "interpolation between stops")
        .choice("space", SPACES, "linear", "color space in which colors are mixed")
        .choice(
            "hue",
            HUES,
            "direct",
            "direction from hue to hue, if `interpolation` is linear or ease",
        )
        .input_or("factor", Type::F32, 0.5, "position on the ramp")
        .output("value", Type::COLOR, "")
        .kernel(|parts| {
            let stops = stops(parts.settings)?;
            let space = Space::named(parts.settings.text("space"));
            let interpolation = parts.settings.text("interpolation");
            let hue = match parts.settings.text("space") {
                "hsv" | "hsl" => Some(0),
                "oklch" => Some(2),
                _ => None,
            };
            let way = parts.settings.text("hue");
            let hue = hue.filter(|_| way != "direct").map(|lane| Hue { lane, way });
            Ok(parts.form(&|_, inputs| {
                let x = inputs[0][0];
                let stops = placed(&stops, space, x);
                let c = color_at(&stops, interpolation, hue, x);
                vec![with_alpha(space.to_linear(three(&c)), c[3])]
            }))
        })
}

/// Position and color of the stops, sorted by position.
fn stops(settings: &Settings) -> Result<Vec<(f64, [f64; 4])>, SettingError> {
    let (positions, colors) = (settings.numbers("positions"), settings.numbers("colors"));
    let n = positions.len();
    if !(1..=MAX_STOPS).contains(&n) {
        let message = format!("there are {n} stops, but 1 to {MAX_STOPS} are required");
        return Err(SettingError::refused("positions", message));
    }
    if colors.len() != 4 * n {
        let message = format!("{} numbers for {n} stops; give 4 for each stop", colors.len());
        return Err(SettingError::refused("colors", message));
    }
    let color = |c: &[f64]| [c[0], c[1], c[2], c[3]];
    let mut stops: Vec<(f64, [f64; 4])> =
        positions.iter().copied().zip(colors.chunks_exact(4).map(color)).collect();
    stops.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(stops)
}

/// A stop as constants of a form, with its color in the mixing space.
struct Stop<'b> {
    position: f32,
    color: Vec<Val<'b>>,
}

fn placed<'b>(stops: &[(f64, [f64; 4])], space: Space, x: Val<'b>) -> Vec<Stop<'b>> {
    let place = |(position, color): &(f64, [f64; 4])| {
        let color: Vec<Val<'b>> = color.iter().map(|c| x.like(*c)).collect();
        let mixed = space.of_linear(three(&color));
        Stop { position: *position as f32, color: with_alpha(mixed, color[3]) }
    };
    stops.iter().map(place).collect()
}

/// The index of the hue among the coordinates of a color, and the direction of mixing.
#[derive(Clone, Copy)]
struct Hue<'s> {
    lane: usize,
    way: &'s str,
}

/// Colors of at most this saturation or chroma are gray.
const GRAY: f64 = 1e-4;

impl Hue<'_> {
    /// The hues of two colors, the second shifted by full turns so that linear mixing goes in the
    /// wanted direction.
    fn between<'b>(self, from: &mut [Val<'b>], to: &mut [Val<'b>]) {
        let (gray_from, gray_to) = (from[1].abs().le(GRAY), to[1].abs().le(GRAY));
        let (a, b) = (from[self.lane], to[self.lane]);
        let (a, b) = (gray_from.select(b, a), gray_to.select(a, b));
        let up = (b - a).fract();
        let down = up - 1.0;
        let none = up.eq(0.0);
        let way = match self.way {
            "shortest" => up.gt(0.5).select(down, up),
            "longest" => (up.le(0.5) & !none).select(down, up),
            "down" => none.select(up, down),
            _ => up,
        };
        (from[self.lane], to[self.lane]) = (a, a + way);
    }
}

fn color_at<'b>(
    stops: &[Stop<'b>],
    interpolation: &str,
    hue: Option<Hue<'_>>,
    x: Val<'b>,
) -> Vec<Val<'b>> {
    // For each piece: its start, the reciprocal of its length, and its coefficients or colors,
    // selected by the last stop at or before x.
    let last = stops.len() - 1;
    let color = |i: usize| stops[i].color.clone();
    let known = |i: usize| match interpolation {
        "constant" => color(i),
        "cardinal" | "b_spline" => {
            let around = [i.saturating_sub(1), i, (i + 1).min(last), (i + 2).min(last)].map(color);
            (0..4).flat_map(|k| cubic(interpolation, [0, 1, 2, 3].map(|j| around[j][k]))).collect()
        }
        _ => {
            let (mut from, mut to) = (color(i), color((i + 1).min(last)));
            if let Some(hue) = hue {
                hue.between(&mut from, &mut to);
            }
            [from, to].concat()
        }
    };
    let piece = |i: usize| {
        let length = stops[(i + 1).min(last)].position - stops[i].position;
        let mut piece =
            vec![x.like(stops[i].position), x.like(if length > 0.0 { length } else { 1.0 })];
        piece.extend(known(i));
        piece
    };
    let mut chosen = piece(0);
    for (i, stop) in stops.iter().enumerate().skip(1) {
        let behind = x.ge(stop.position);
        chosen = chosen.iter().zip(piece(i)).map(|(a, b)| behind.select(b, *a)).collect();
    }
    let t = ((x - chosen[0]) / chosen[1]).clamp(0.0, 1.0);
    let known = &chosen[2..];
    match interpolation {
        "constant" => known.to_vec(),
        "cardinal" | "b_spline" => {
            known.chunks_exact(4).map(|k| ((k[3] * t + k[2]) * t + k[1]) * t + k[0]).collect()
        }
        _ => {
            let t = if interpolation == "ease" { t * t * (3.0 - t * 2.0) } else { t };
            (0..4).map(|k| crate::mix::mix(known[k], known[4 + k], t)).collect()
        }
    }
}

/// The coefficients of the piece between the second and third of four numbers, constant first.
fn cubic<'b>(interpolation: &str, p: [Val<'b>; 4]) -> [Val<'b>; 4] {
    if interpolation == "b_spline" {
        return [
            (p[0] + p[1] * 4.0 + p[2]) / 6.0,
            (p[2] - p[0]) * 0.5,
            (p[0] - p[1] * 2.0 + p[2]) * 0.5,
            (p[3] - p[0] + (p[1] - p[2]) * 3.0) / 6.0,
        ];
    }
    [
        p[1],
        (p[2] - p[0]) * 0.5,
        p[0] - p[1] * 2.5 + p[2] * 2.0 - p[3] * 0.5,
        (p[3] - p[0] + (p[1] - p[2]) * 3.0) * 0.5,
    ]
}
