//! Color ramps.

use millstream_base::Type;
use millstream_kernel::form::{FormBuilder, Val};
use millstream_kernel::settings::SettingError;
use millstream_kernel::{NodeDef, Registry, SettingKind, SettingValue, Settings};

use super::color::{hsl_to_rgb, hsv_to_rgb, rgb_to_hsl, rgb_to_hsv};
use crate::vector::form_kernel;

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
    ("constant", "the color of the stop before"),
    ("ease", "eased at every stop"),
    ("cardinal", "a smooth curve through the stops"),
    ("b_spline", "a smoother curve near the stops"),
];

const HUES: &[(&str, &str)] = &[
    ("near", "the shorter way around"),
    ("far", "the longer way around"),
    ("cw", "up"),
    ("ccw", "down"),
];

fn color_ramp() -> NodeDef {
    let setting = |value: &str| Some(SettingValue::Text(value.into()));
    NodeDef::new("blender.color_ramp", "A color on the way through many")
        .details(
            "The stops are in order. Outside them the color is that of the nearest stop. Between hues \
             only linear mixing is known; other interpolations mix channels.",
        )
        .setting(
            "positions",
            SettingKind::Numbers,
            Some(SettingValue::Numbers(vec![0.0, 1.0])),
            "where the stops are",
        )
        .setting(
            "colors",
            SettingKind::Numbers,
            Some(SettingValue::Numbers(vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0])),
            "red, green, blue and alpha of each stop",
        )
        .setting("model", SettingKind::Choice(MODELS), setting("rgb"), "what is mixed")
        .setting(
            "interpolation",
            SettingKind::Choice(INTERPOLATIONS),
            setting("linear"),
            "the way between stops",
        )
        .setting("hue", SettingKind::Choice(HUES), setting("near"), "the way between hues")
        .input("factor", Type::F32, "where on the ramp")
        .or_number(0.5)
        .output("value", Type::COLOR, "the color there")
        .kernel(|parts| {
            let ramp = Ramp::read(parts.settings)?;
            Ok(form_kernel(parts, move |inputs| vec![ramp.color(inputs[0][0])]))
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
                "{} numbers are no {} colors of four",
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
        let mixes_channels = self.model == "rgb";
        let is_curve = matches!(&*self.interpolation, "cardinal" | "b_spline") && mixes_channels;
        let mut result =
            if is_curve { self.spline(x.like(0.0), 0) } else { constants(b, &self.stops[0].1) };
        for i in 0..n {
            let (at, color) = self.stops[i];
            // NaN passes all stops.
            let passed = if i == 0 { !x.le(at) } else { !x.lt(at) };
            let here = match self.stops.get(i + 1) {
                None if is_curve => self.spline(x, i),
                None => constants(b, &color),
                Some((next, to)) => {
                    let width = next - at;
                    let t = if width == 0.0 { x.like(0.0) } else { (x - at) / width };
                    if is_curve { self.spline(t, i) } else { self.between(t, &color, to) }
                }
            };
            result = result.iter().zip(here).map(|(old, new)| passed.select(new, *old)).collect();
        }
        result
    }

    fn between<'b>(&self, t: Val<'b>, from: &[f32; 4], to: &[f32; 4]) -> Vec<Val<'b>> {
        let b = t.builder();
        let t = match &*self.interpolation {
            "constant" if self.model == "rgb" => t.like(0.0),
            "ease" if self.model == "rgb" => t * t * (3.0 - t * 2.0),
            _ => t,
        };
        let (a, c) = (constants(b, from), constants(b, to));
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
        // Which of the two hues goes once more around.
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

    /// The curve behind stop `i`, at `t` of the way to the next.
    fn spline<'b>(&self, t: Val<'b>, i: usize) -> Vec<Val<'b>> {
        let b = t.builder();
        let last = self.stops.len() - 1;
        let stop = |i: isize| constants(b, &self.stops[i.clamp(0, last as isize) as usize].1);
        let i = i as isize;
        let colors = [stop(i - 1), stop(i), stop(i + 1), stop(i + 2)];
        let t = if i == last as isize { t.like(0.0) } else { t };
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
