//! Color ramps.

use millstream_base::Type;
use millstream_form::{FormBuilder, Val};
use millstream_node::settings::SettingError;
use millstream_node::{NodeDef, Registry, SettingKind, SettingValue, Settings};

use super::color::{hsl_to_rgb, hsv_to_rgb, rgb_to_hsl, rgb_to_hsv};

pub(super) fn register(registry: &mut Registry) {
    registry.register(color_ramp());
}

const MODELS: &[(&str, &str)] = &[
    ("rgb", "channels"),
    ("hsv", "hue, saturation, value"),
    ("hsl", "hue, saturation, lightness"),
];

const INTERPOLATIONS: &[(&str, &str)] = &[
    ("linear", "a straight line"),
    ("constant", "the color of the previous stop"),
    ("ease", "eased at every stop"),
    ("cardinal", "a smooth curve through the stops"),
    ("b_spline", "a smoother curve near the stops"),
];

const HUES: &[(&str, &str)] = &[
    ("near", "the shorter way around the color wheel"),
    ("far", "the longer way around the color wheel"),
    ("cw", "up"),
    ("ccw", "down"),
];

fn color_ramp() -> NodeDef {
    NodeDef::new("blender.color_ramp", "A color gradient with stops")
        .details(
            "The stops are searched in the order in which they are listed. The first one at a \
             position after the factor ends the interval, and the one listed before it starts it. \
             Without such a stop, the color is that of the last one; up to the position of the \
             first stop, it is that of the first. The curves assume a copy of the first stop at 0 \
             and one of the last at 1. Hues are only mixed linearly; other interpolations mix \
             channels.",
        )
        .setting(
            "positions",
            SettingKind::Numbers,
            Some(SettingValue::Numbers(vec![0.0, 1.0])),
            "positions of the stops",
        )
        .setting(
            "colors",
            SettingKind::Numbers,
            Some(SettingValue::Numbers(vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0])),
            "red, green, blue and alpha of each stop",
        )
        .choice("model", MODELS, "rgb", "channels to mix")
        .choice("interpolation", INTERPOLATIONS, "linear", "interpolation between stops")
        .choice("hue", HUES, "near", "direction from hue to hue")
        .input_or("factor", Type::F32, 0.5, "position on the ramp")
        .output("value", Type::COLOR, "color at that position")
        .kernel(|parts| {
            let ramp = Ramp::read(parts.settings)?;
            Ok(parts.form(&|_, inputs| vec![ramp.color(inputs[0][0])]))
        })
}

struct Ramp {
    stops: Vec<(f32, [f32; 4])>,
    model: String,
    interpolation: String,
    hue: String,
}

impl Ramp {
    fn read(settings: &Settings) -> Result<Self, SettingError> {
        let (positions, colors) = (settings.numbers("positions"), settings.numbers("colors"));
        if positions.is_empty() || colors.len() != 4 * positions.len() {
            let message = format!(
                "{} numbers do not give {} colors; give 4 per stop",
                colors.len(),
                positions.len().max(1)
            );
            return Err(SettingError::refused("colors", message));
        }
        let stop = |(at, color): (&f64, &[f64])| {
            let channel = |i: usize| color[i] as f32;
            (*at as f32, std::array::from_fn(channel))
        };
        Ok(Self {
            stops: positions.iter().zip(colors.chunks_exact(4)).map(stop).collect(),
            model: settings.text("model").into(),
            interpolation: settings.text("interpolation").into(),
            hue: settings.text("hue").into(),
        })
    }

    fn color<'b>(&self, x: Val<'b>) -> Vec<Val<'b>> {
        let b = x.builder();
        let n = self.stops.len();
        let (first, first_color) = self.stops[0];
        if n == 1 {
            return constants(b, &first_color);
        }
        let is_curve =
            matches!(&*self.interpolation, "cardinal" | "b_spline") && self.model == "rgb";
        let choose = |holds: Val<'b>, new: Vec<Val<'b>>, old: Vec<Val<'b>>| -> Vec<Val<'b>> {
            new.iter().zip(old).map(|(new, old)| holds.select(*new, old)).collect()
        };
        let mut result =
            if is_curve { self.curve(x, n) } else { constants(b, &self.stops[n - 1].1) };
        // The first stop that fits decides, so the loop goes backward.
        for a in (usize::from(!is_curve)..n).rev() {
            let here = if is_curve { self.curve(x, a) } else { self.between(x, a) };
            result = choose(x.lt(self.stops[a].0), here, result);
        }
        if is_curve { result } else { choose(x.le(first), constants(b, &first_color), result) }
    }

    /// The color between stop `a - 1` and stop `a`.
    fn between<'b>(&self, x: Val<'b>, a: usize) -> Vec<Val<'b>> {
        let b = x.builder();
        let ((left, from), (right, to)) = (self.stops[a - 1], self.stops[a]);
        let t = share(x, left, right);
        let t = match &*self.interpolation {
            "constant" if self.model == "rgb" => t.like(0.0),
            "ease" if self.model == "rgb" => t * t * (3.0 - t * 2.0),
            _ => t,
        };
        let (a, c) = (constants(b, &from), constants(b, &to));
        let line = |a: Val<'b>, c: Val<'b>| a * (1.0 - t) + c * t;
        let alpha = line(a[3], c[3]);
        let solid = |to_solid: fn(&[Val<'b>]) -> [Val<'b>; 3],
                     to_rgb: fn(Val<'b>, Val<'b>, Val<'b>) -> [Val<'b>; 3]| {
            let (a, c) = (to_solid(&a), to_solid(&c));
            let rgb = to_rgb(self.hue_between(t, a[0], c[0]), line(a[1], c[1]), line(a[2], c[2]));
            vec![rgb[0], rgb[1], rgb[2], alpha]
        };
        match &*self.model {
            "hsv" => solid(rgb_to_hsv, hsv_to_rgb),
            "hsl" => solid(rgb_to_hsl, hsl_to_rgb),
            _ => a.iter().zip(&c).map(|(a, c)| line(*a, *c)).collect(),
        }
    }

    fn hue_between<'b>(&self, t: Val<'b>, from: Val<'b>, to: Val<'b>) -> Val<'b> {
        let d = to - from;
        let up = d.lt(0.0);
        let down = d.gt(0.0);
        // Which of the two hues is raised by a full turn.
        let never = t.builder().constant_bool(false);
        let (raise_from, raise_to) = match &*self.hue {
            "near" => (d.gt(0.5), d.lt(-0.5)),
            "far" => (down & d.lt(0.5), (up | d.eq(0.0)) & d.gt(-0.5)),
            "cw" => (never, up),
            _ => (down, never),
        };
        let from = raise_from.select(from + 1.0, from);
        let to = raise_to.select(to + 1.0, to);
        let hue = from * (1.0 - t) + to * t;
        hue - hue.floor()
    }

    /// The curve between stop `a - 1` and stop `a`, with a copy of the first stop at 0 before it
    /// and a copy of the last at 1 after it.
    fn curve<'b>(&self, x: Val<'b>, a: usize) -> Vec<Val<'b>> {
        let last = self.stops.len() - 1;
        let stop = |i: isize| &self.stops[i.clamp(0, last as isize) as usize];
        let i = a as isize;
        let left = if a == 0 { 0.0 } else { stop(i - 1).0 };
        let right = if a > last { 1.0 } else { stop(i).0 };
        let t = if left == right {
            x.like(if a == 0 { 1.0 } else { 0.0 })
        } else {
            share(x, left, right).clamp(0.0, 1.0)
        };
        let colors = [i - 2, i - 1, i, i + 1].map(|i| constants(x.builder(), &stop(i).1));
        let weights = if self.interpolation == "cardinal" { cardinal(t) } else { b_spline(t) };
        (0..4)
            .map(|channel| {
                let terms = (0..4).map(|k| weights[k] * colors[k][channel]);
                let sum = terms.reduce(|a, b| a + b).expect("there are four");
                sum.clamp(0.0, 1.0)
            })
            .collect()
    }
}

/// The fraction of the distance from one position to another at `x`; 0 if they are equal.
fn share(x: Val<'_>, from: f32, to: f32) -> Val<'_> {
    let width = to - from;
    if width == 0.0 { x.like(0.0) } else { (x - from) / width }
}

fn constants<'b>(b: &'b FormBuilder, color: &[f32; 4]) -> Vec<Val<'b>> {
    color.iter().map(|x| b.constant_f32(*x)).collect()
}

fn cardinal(t: Val<'_>) -> [Val<'_>; 4] {
    let (t2, t3, f) = (t * t, t * t * t, 0.71);
    [
        t3 * -f + t2 * (2.0 * f) - t * f,
        t3 * (2.0 - f) + t2 * (f - 3.0) + 1.0,
        t3 * (f - 2.0) + t2 * (3.0 - 2.0 * f) + t * f,
        t3 * f - t2 * f,
    ]
}

fn b_spline(t: Val<'_>) -> [Val<'_>; 4] {
    let (t2, t3) = (t * t, t * t * t);
    [
        t3 * -0.166_666_66 + t2 * 0.5 - t * 0.5 + 0.166_666_66,
        t3 * 0.5 - t2 + 0.666_666_66,
        t3 * -0.5 + t2 * 0.5 + t * 0.5 + 0.166_666_66,
        t3 * 0.166_666_66,
    ]
}
