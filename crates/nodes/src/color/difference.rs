//! Color differences, and mixing in other color spaces.

use std::f64::consts::{PI, TAU};

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use super::spaces::Space;
use super::{Three, color_input, each, three, with_alpha};
use crate::mix::mix;
use crate::shape::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(difference());
    registry.register(mixed());
}

const METRICS: &[(&str, &str)] = &[
    ("ciede2000", "CIEDE2000: about 1 is just noticeable"),
    ("cie76", "the distance in L*a*b*: about 2.3 is just noticeable"),
    ("oklab", "the distance in Oklab: about 0.02 is just noticeable"),
];

fn difference() -> NodeDef {
    let def = NodeDef::new("color.difference", "The perceptual difference between two colors")
        .details(
            "0 for equal colors; alpha is ignored. For channels from 0 to 1 the error is less than \
             1e-4, except near black and gray, where hue is ill-defined: there it is at most 5e-3, \
             or 5e-3 times the difference if that is more than 1.",
        )
        .source(
            "G. Sharma et al., The CIEDE2000 Color-Difference Formula: Implementation Notes, 2005; \
             CIE 15",
        )
        .choice("metric", METRICS, "ciede2000", "metric of the difference")
        .commutes();
    color_input(color_input(def, "a", ""), "b", "").output("value", Type::F32, "at least 0").kernel(
        form_by_settings(|settings, x| {
            let metric = settings.text("metric");
            let of = |space: Space| [0, 1].map(|i| space.of_linear(three(&x[i])));
            vec![vec![match metric {
                "cie76" => distance(of(Space::Lab)),
                "oklab" => distance(of(Space::Oklab)),
                _ => ciede2000(of(Space::Lab)),
            }]]
        }),
    )
}

fn distance([a, b]: [Three<'_>; 2]) -> Val<'_> {
    let [l, a, b] = each(a, b, |a, b| a - b);
    (l * l + a * a + b * b).sqrt()
}

/// The hue, 0 to a full turn; 0 for gray.
fn hue<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    let hue = b.atan2(a);
    hue.lt(0.0).select(hue + TAU, hue)
}

/// The square root of x^7 / (x^7 + 25^7).
fn of_seventh_power(x: Val<'_>) -> Val<'_> {
    let x = x / 25.0;
    let seventh = x * x * x * (x * x * x) * x;
    (seventh / (seventh + 1.0)).sqrt()
}

fn ciede2000([[l1, a1, b1], [l2, a2, b2]]: [Three<'_>; 2]) -> Val<'_> {
    let stretch = (1.0 - of_seventh_power((a1.hypot(b1) + a2.hypot(b2)) * 0.5)) * 0.5 + 1.0;
    let (a1, a2) = (a1 * stretch, a2 * stretch);
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let (h1, h2) = (hue(a1, b1), hue(a2, b2));
    let no_hue = (c1 * c2).eq(0.0);
    let turn = h2 - h1;
    let turn = turn.gt(PI).select(turn - TAU, turn.lt(-PI).select(turn + TAU, turn));
    let by_hue = (c1 * c2).sqrt() * (no_hue.select(0.0, turn) * 0.5).sin() * 2.0;
    let sum = h1 + h2;
    let far = (h1 - h2).abs().gt(PI);
    let around = sum.lt(TAU).select(sum + TAU, sum - TAU);
    let middle = no_hue.select(sum, far.select(around, sum) * 0.5);
    let (light, chroma) = ((l1 + l2) * 0.5, (c1 + c2) * 0.5);
    let degrees = |x: f64| x.to_radians();
    let t = 1.0 - (middle - degrees(30.0)).cos() * 0.17
        + (middle * 2.0).cos() * 0.24
        + (middle * 3.0 + degrees(6.0)).cos() * 0.32
        - (middle * 4.0 - degrees(63.0)).cos() * 0.20;
    let from_blue = (middle - degrees(275.0)) / degrees(25.0);
    let bend = (-(from_blue * from_blue)).exp() * degrees(60.0);
    let offset = light - 50.0;
    let squared = offset * offset;
    let of_light = (l2 - l1) / (squared * 0.015 / (squared + 20.0).sqrt() + 1.0);
    let of_chroma = (c2 - c1) / (chroma * 0.045 + 1.0);
    let of_hue = by_hue / (chroma * t * 0.015 + 1.0);
    let together = -(bend.sin() * of_seventh_power(chroma) * 2.0);
    let all = of_light * of_light
        + of_chroma * of_chroma
        + of_hue * of_hue
        + together * of_chroma * of_hue;
    all.max(0.0).sqrt()
}

const WAYS: &[(&str, &str)] = &[
    ("shorter", "the shorter way around the color wheel"),
    ("longer", "the longer way around the color wheel"),
    ("increasing", "toward larger hues"),
    ("decreasing", "toward smaller hues"),
];

/// The index of the channel that is a hue, if the space has one.
fn hue_of(space: Space) -> Option<usize> {
    match space {
        Space::Hsv | Space::Hsl | Space::SrgbHsv | Space::SrgbHsl => Some(0),
        Space::Lch | Space::Oklch => Some(2),
        Space::Linear
        | Space::Srgb
        | Space::Xyz
        | Space::Xyy
        | Space::Lab
        | Space::Luv
        | Space::Oklab
        | Space::DisplayP3
        | Space::Rec2020
        | Space::Acescg
        | Space::Ycbcr => None,
    }
}

/// The hue equivalent to `b` that is approached from `a` in the given direction.
fn turned<'b>(way: &str, a: Val<'b>, b: Val<'b>) -> Val<'b> {
    let up = (b - a).fract();
    let down: Val<'b> = up - 1.0;
    let way = match way {
        "longer" => (up.gt(0.0) & up.lt(0.5)).select(down, up),
        "increasing" => up,
        "decreasing" => up.eq(0.0).select(up, down),
        _ => up.gt(0.5).select(down, up),
    };
    a + way
}

fn mixed() -> NodeDef {
    let def = NodeDef::new("color.mix", "Mixes two colors in a chosen color space")
        .details(
            "Alpha is mixed linearly. In color spaces with a hue, gray takes the hue of the other \
             color. For channels from 0 to 1 the error is less than 5e-5, except near black in \
             color spaces with a hue, where it is at most 5e-4.",
        )
        .source("CSS Color Module Level 4, section 12")
        .choice("space", Space::ALL, "oklab", "color space in which the colors are mixed")
        .choice("hue", WAYS, "shorter", "direction from hue to hue");
    color_input(color_input(def, "a", "color at factor 0"), "b", "color at factor 1")
        .input_or(
            "factor",
            Type::F32,
            0.5,
            "position from a (0) to b (1); extrapolates beyond them",
        )
        .output("value", Type::COLOR, "")
        .kernel(form_by_settings(|settings, x| {
            let space = Space::named(settings.text("space"));
            let way = settings.text("hue");
            let factor = x[2][0];
            let [mut a, mut b] = [0, 1].map(|i| space.of_linear(three(&x[i])));
            if let Some(hue) = hue_of(space) {
                // Gray except for rounding.
                let [a_grey, b_grey] = [a, b].map(|c| c[1].abs().lt(1e-4));
                let (of_a, of_b) = (a[hue], b[hue]);
                a[hue] = a_grey.select(of_b, of_a);
                b[hue] = b_grey.select(of_a, of_b);
                b[hue] = turned(way, a[hue], b[hue]);
            }
            let channels = space.to_linear(each(a, b, |a, b| mix(a, b, factor)));
            vec![with_alpha(channels, mix(x[0][3], x[1][3], factor))]
        }))
}
