//! Curves defined by points: number to number, channel by channel for colors and vectors; and curve
//! segments whose points are inputs (`spline`).
//!
//! The points and handles of the former are settings, so they are constants of the form. Between
//! two points the curve is a cubic; `points` computes the cubics, and this file selects among them.

mod points;
mod spline;
#[cfg(test)]
mod spline_tests;
#[cfg(test)]
mod tests;

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry, SettingKind, SettingValue, Settings};
use millstream_node::{settings::Setting, settings::SettingError};

use points::{Curve, Piece};

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    registry.register(float());
    registry.register(vector());
    registry.register(rgb());
    spline::register(registry);
}

const HANDLES: &str = "Handles have one kind for all points or one for each point. `auto`: the \
    slope of the line from the previous to the next point. `clamped`: the same, but flat at peaks \
    and never so steep that the curve would overshoot. `vector`: straight toward the neighbors. \
    `free`: as given by `free_handles`, which contains four numbers for each point (x and y of the \
    left handle, x and y of the right one); free handles are limited to lie between their point \
    and the next in x. Points are sorted by x; where several points have the same x, the curve \
    jumps.";

const SOURCE: &str = "cubic Bezier curves with handles at thirds; clamped slopes by F. Fritsch, R. \
                      Carlson, \"Monotone piecewise cubic interpolation\", 1980";

const KINDS: &str = "auto, clamped, vector or free: one for all points or one for each";

fn setting(name: &'static str, value: SettingValue, about: &'static str) -> Setting {
    let kind = match value {
        SettingValue::Texts(_) => SettingKind::Texts,
        SettingValue::Flag(_) => SettingKind::Flag,
        SettingValue::Numbers(_)
        | SettingValue::Text(_)
        | SettingValue::Integer(_)
        | SettingValue::Number(_)
        | SettingValue::Type(_) => SettingKind::Numbers,
    };
    Setting { name, kind, default: Some(value), about }
}

/// A straight line from (0, 0) to (1, 1).
fn straight() -> SettingValue {
    SettingValue::Numbers(vec![0.0, 0.0, 1.0, 1.0])
}

/// The curves of a node with several: for each its setting, the settings of its handles, and its
/// description.
type Curves = &'static [[&'static str; 4]];

/// The handle settings of each individual curve.
fn own_handles(curves: Curves) -> impl Iterator<Item = Setting> {
    const KINDS: &str = "kinds of handles of that curve; those of `handles` if empty";
    const FREE: &str = "four numbers for each point of that curve, if a handle is free";
    curves.iter().flat_map(|[_, kinds, free, _]| {
        let kinds = setting(kinds, SettingValue::Texts(vec![]), KINDS);
        [kinds, setting(free, SettingValue::Numbers(vec![]), FREE)]
    })
}

/// One of several curves, see [`Curves`].
fn curve_of(settings: &Settings, [name, kinds, free, _]: [&str; 4]) -> Result<Curve, SettingError> {
    let own = settings.texts(kinds);
    let kinds = if own.is_empty() { settings.texts("handles") } else { own };
    Curve::new(name, settings.numbers(name), kinds, settings.numbers(free))
}

/// The settings of a node with one curve for each name.
fn settings(curves: impl Iterator<Item = (&'static str, &'static str)>) -> Vec<Setting> {
    let kinds = SettingValue::Texts(vec!["clamped".into()]);
    let mut all: Vec<Setting> =
        curves.map(|(name, about)| setting(name, straight(), about)).collect();
    all.push(setting("handles", kinds, KINDS));
    all.push(setting(
        "extend",
        SettingValue::Flag(false),
        "extend the curve in a straight line beyond its ends",
    ));
    all
}

/// The curve of a node with a single curve.
fn curve(settings: &Settings, name: &str) -> Result<Curve, SettingError> {
    Curve::new(
        name,
        settings.numbers(name),
        settings.texts("handles"),
        settings.numbers("free_handles"),
    )
}

/// The number between `x` (factor 0) and the value of the curve (factor 1).
fn mixed<'b>(x: Val<'b>, of_curve: Val<'b>, factor: Val<'b>) -> Val<'b> {
    crate::mix::mix(x, of_curve, factor)
}

fn float() -> NodeDef {
    let mut def = NodeDef::new("curve.float", "Maps a number by a curve")
        .details(format!(
            "{HANDLES} Beyond its ends the curve is horizontal, or straight with `extend`. At most \
             64 points."
        ))
        .source(SOURCE)
        .input_or("x", Type::F32, 0.5, "position on the curve")
        .input_or("factor", Type::F32, 1.0, "strength: 0 returns x, 1 the value of the curve")
        .output("value", Type::F32, "");
    def.settings = settings([("points", "x and y of each point")].into_iter());
    let free = SettingValue::Numbers(vec![]);
    def.settings.push(setting(
        "free_handles",
        free,
        "four numbers for each point, if a handle is free",
    ));
    def.kernel(|parts| {
        let curve = curve(parts.settings, "points")?;
        let extend = parts.settings.flag("extend");
        Ok(parts.form(&|_, inputs| {
            let x = inputs[0][0];
            vec![vec![mixed(x, at(&curve, extend, x), inputs[1][0])]]
        }))
    })
}

const COMPONENTS: Curves = &[
    [
        "x_points",
        "x_handles",
        "x_free",
        "x and y of each point of the curve for the first component",
    ],
    ["y_points", "y_handles", "y_free", "the same for the second component"],
    ["z_points", "z_handles", "z_free", "the same for the third component"],
];

const CHANNELS: Curves = &[
    ["all", "all_handles", "all_free", "x and y of each point of the curve for all channels"],
    ["red", "red_handles", "red_free", "the same for red"],
    ["green", "green_handles", "green_free", "the same for green"],
    ["blue", "blue_handles", "blue_free", "the same for blue"],
];

fn vector() -> NodeDef {
    let mut def = NodeDef::new("curve.vector", "Maps each component of a vector by a curve")
        .details(format!(
            "{HANDLES} Here each curve has its own free handles. Beyond its ends a curve is \
             horizontal, or straight with `extend`."
        ))
        .source(SOURCE)
        .input_or("vector", Type::VEC3, 0.5, "positions on the curves")
        .input_or(
            "factor",
            Type::F32,
            1.0,
            "strength: 0 returns the vector, 1 the values of the curves",
        )
        .output("value", Type::VEC3, "");
    def.settings = settings(COMPONENTS.iter().map(|[name, _, _, about]| (*name, *about)));
    def.settings.extend(own_handles(COMPONENTS));
    def.kernel(|parts| {
        let of = |i: usize| curve_of(parts.settings, COMPONENTS[i]);
        let curves = [of(0)?, of(1)?, of(2)?];
        let extend = parts.settings.flag("extend");
        Ok(parts.form(&|_, inputs| {
            let component =
                |i: usize| mixed(inputs[0][i], at(&curves[i], extend, inputs[0][i]), inputs[1][0]);
            vec![(0..3).map(component).collect()]
        }))
    })
}

fn rgb() -> NodeDef {
    let mut def = NodeDef::new("curve.rgb", "Maps the channels of a color by curves")
        .details(format!(
            "The curve `all` is applied to each channel first, then the curve of that channel; \
             alpha does not change. {HANDLES} Here each curve has its own free handles. Beyond its \
             ends a curve is horizontal, or straight with `extend`."
        ))
        .source(SOURCE)
        .input_or("color", Type::COLOR, Default::Zero, "")
        .input_or(
            "factor",
            Type::F32,
            1.0,
            "strength: 0 returns the color, 1 the values of the curves",
        )
        .output("value", Type::COLOR, "");
    def.settings = settings(CHANNELS.iter().map(|[name, _, _, about]| (*name, *about)));
    def.settings.extend(own_handles(CHANNELS));
    def.kernel(|parts| {
        let of = |i: usize| curve_of(parts.settings, CHANNELS[i]);
        let (all, channels) = (of(0)?, [of(1)?, of(2)?, of(3)?]);
        let extend = parts.settings.flag("extend");
        Ok(parts.form(&|_, inputs| {
            let (color, factor) = (&inputs[0], inputs[1][0]);
            let channel = |i: usize| {
                let of_all = at(&all, extend, color[i]);
                mixed(color[i], at(&channels[i], extend, of_all), factor)
            };
            vec![vec![channel(0), channel(1), channel(2), color[3]]]
        }))
    })
}

/// The y of a curve at `x`.
fn at<'b>(curve: &Curve, extend: bool, x: Val<'b>) -> Val<'b> {
    let constants = |piece: &Piece| -> Vec<Val<'b>> {
        let mut numbers = vec![piece.start, piece.length];
        numbers.extend(piece.y);
        if curve.bends {
            numbers.extend(piece.x);
        }
        numbers.iter().map(|number| x.like(*number as f32)).collect()
    };
    let mut chosen = constants(&curve.pieces[0]);
    for piece in &curve.pieces[1..] {
        let behind = x.ge(piece.start as f32);
        chosen = chosen.iter().zip(constants(piece)).map(|(a, b)| behind.select(b, *a)).collect();
    }
    let way = ((x - chosen[0]) / chosen[1]).clamp(0.0, 1.0);
    let t = if curve.bends { parameter(&chosen[6..], way) } else { way };
    let y = &chosen[2..6];
    let y = ((y[3] * t + y[2]) * t + y[1]) * t + y[0];
    let (first, last) = (&curve.first, &curve.last);
    let beyond = |x: Val<'b>, end: &points::End| {
        let slope = if extend { end.slope } else { 0.0 };
        (x - end.x as f32) * slope as f32 + end.y as f32
    };
    let y = x.ge(last.x as f32).select(beyond(x, last), y);
    let before = if extend { beyond(x, first) } else { x.like(first.y as f32) };
    x.gt(first.x as f32).select(y, before)
}

/// The parameter at which a cubic that rises from 0 at 0 to 1 at 1 has a value; `x` are its
/// coefficients, the linear one first. Bisection finds the parameter to its last bit, however flat
/// the cubic is.
fn parameter<'b>(x: &[Val<'b>], value: Val<'b>) -> Val<'b> {
    let mut t = value.like(0.5);
    let mut step = 0.25;
    for _ in 0..24 {
        let below = (((x[2] * t + x[1]) * t + x[0]) * t).lt(value);
        t = t + below.select(t.like(step), t.like(-step));
        step *= 0.5;
    }
    t
}
