//! Known colors, and conversions that are inverses of each other.

use millstream_base::{Color, Type, Value};
use millstream_node::Kernel;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::cells::testing::{instance, try_instance};

fn run(name: &str, set: &Json, args: &[Value]) -> Value {
    let node = instance(name, set, &[], &[]);
    let Kernel::Form(form) = node.kernel else { panic!("{name} is a form") };
    let params: Vec<u64> = args.iter().flat_map(|arg| (0..16).map_while(|i| arg.lane(i))).collect();
    assert_eq!(params.len(), form.params.len(), "arguments of {name}");
    let mut results = vec![0; form.results.len()];
    form.run_scalar(&params, &mut results, &mut Vec::new());
    Value::from_lanes(node.outputs[0].ty, &results).expect("as many lanes")
}

fn color(r: f32, g: f32, b: f32) -> Value {
    Color([r, g, b, 0.5]).into()
}

fn channels(value: &Value) -> [f32; 4] {
    value.get::<Color>().expect("a color").0
}

#[track_caller]
fn near(value: &Value, wanted: [f32; 3], tolerance: f32) {
    let found = channels(value);
    let apart = found.iter().zip(&wanted).fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()));
    assert!(apart <= tolerance, "{found:?} instead of {wanted:?}");
}

fn convert(from: &str, to: &str, c: [f32; 3]) -> Value {
    let [a, b, c] = c;
    run("color.convert", &json!({"from": from, "to": to}), &[color(a, b, c)])
}

#[test]
fn colors_near_black_and_white_have_a_saturation() {
    near(&convert("linear", "hsl", [3e-9, 1e-9, 1e-9]), [0.0, 0.5, 2e-9], 1e-6);
    near(&convert("linear", "hsl", [1.0, 1.0, 1.0]), [0.0, 0.0, 1.0], 0.0);
    // Without a saturation the distance of the channels from their mean is 0.
    near(&convert("linear", "hsl", [1.0, -1.0, 0.0]), [11.0 / 12.0, 0.0, 0.0], 1e-6);
    for dark in [1e-6_f32, 1e-8, 1e-20, 1e-44] {
        let there = convert("linear", "hsl", [dark, 0.0, dark]);
        near(&there, [5.0 / 6.0, 1.0, 0.0], 1e-6);
        let [h, s, l, _] = channels(&there);
        near(&convert("hsl", "linear", [h, s, l]), [dark, 0.0, dark], dark);
    }
}

#[test]
fn known_colors_have_their_coordinates() {
    // Coordinates of the sRGB primaries as published with the definitions of the color spaces.
    let red = [1.0, 0.0, 0.0];
    for (to, wanted, tolerance) in [
        ("srgb", [1.0, 0.0, 0.0], 1e-6),
        ("hsv", [0.0, 1.0, 1.0], 1e-6),
        ("hsl", [0.0, 1.0, 0.5], 1e-6),
        ("xyz", [0.4124, 0.2126, 0.0193], 1e-4),
        ("lab", [53.24, 80.09, 67.20], 2e-2),
        ("lch", [53.24, 104.55, 39.999 / 360.0], 2e-2),
        ("oklab", [0.62796, 0.22486, 0.12585], 1e-4),
        ("oklch", [0.62796, 0.25768, 29.234 / 360.0], 1e-4),
    ] {
        near(&convert("linear", to, red), wanted, tolerance);
    }
    near(&convert("linear", "oklab", [0.0, 0.0, 1.0]), [0.45201, -0.03246, -0.31153], 1e-4);
    near(&convert("linear", "lab", [0.0, 1.0, 0.0]), [87.73, -86.18, 83.18], 2e-2);
    near(&convert("linear", "lab", [1.0; 3]), [100.0, 0.0, 0.0], 1e-3);
    near(&convert("linear", "oklab", [1.0; 3]), [1.0, 0.0, 0.0], 1e-4);
    near(&convert("linear", "xyz", [1.0; 3]), [0.95046, 1.0, 1.08906], 1e-4);
    near(&convert("srgb", "srgb_hsl", [0.75, 0.25, 0.25]), [0.0, 0.5, 0.5], 1e-6);
    near(&convert("srgb_hsv", "srgb", [0.5, 0.5, 0.8]), [0.4, 0.8, 0.8], 1e-6);
    near(&convert("hsv", "linear", [1.0 / 3.0, 1.0, 1.0]), [0.0, 1.0, 0.0], 1e-6);
    near(&convert("hsl", "linear", [-1.0 / 3.0, 1.0, 0.5]), [0.0, 0.0, 1.0], 1e-6);
    assert_eq!(channels(&convert("linear", "oklab", red))[3], 0.5, "alpha does not change");
}

const SPACES: [&str; 11] =
    ["linear", "srgb", "hsv", "hsl", "srgb_hsv", "srgb_hsl", "xyz", "lab", "lch", "oklab", "oklch"];

proptest! {
    #[test]
    fn conversions_are_inverses_of_each_other(r in 0.0_f32..1.0, g in 0.0_f32..1.0, b in 0.0_f32..1.0) {
        for space in SPACES {
            let there = channels(&convert("linear", space, [r, g, b]));
            let back = channels(&convert(space, "linear", [there[0], there[1], there[2]]));
            for (found, wanted) in back.iter().zip([r, g, b]) {
                prop_assert!((found - wanted).abs() < 2e-5, "{space}: {back:?} {:?}", [r, g, b]);
            }
        }
    }

    #[test]
    fn hue_saturation_and_value_agree_with_their_definitions(r in 0.0_f32..1.0, g in 0.0_f32..1.0, b in 0.0_f32..1.0) {
        let [hue, saturation, value, _] = channels(&convert("linear", "hsv", [r, g, b]));
        prop_assert!((0.0..=1.0).contains(&hue) && (0.0..=1.0).contains(&saturation));
        prop_assert_eq!(value, r.max(g).max(b));
    }

    #[test]
    fn modes_stay_in_the_range(
        a in proptest::array::uniform3(0.0_f32..=1.0),
        b in proptest::array::uniform3(0.0_f32..=1.0),
    ) {
        for mode in [
            "darken", "multiply", "color_burn", "lighten", "screen", "color_dodge", "overlay",
            "soft_light", "hard_light", "vivid_light", "pin_light", "difference", "exclusion", "hue",
            "saturation", "color", "luminosity",
        ] {
            let c = channels(&blend(mode, a, b));
            prop_assert!(c.iter().all(|c| (-1e-5..=1.00001).contains(c)), "{mode}: {c:?}");
        }
        let luminance = |c: [f32; 4]| 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
        let of = |c: [f32; 3]| luminance([c[0], c[1], c[2], 0.0]);
        for (mode, wanted) in [("hue", of(a)), ("color", of(a)), ("luminosity", of(b))] {
            let found = luminance(channels(&blend(mode, a, b)));
            prop_assert!((found - wanted).abs() < 1e-4, "{mode}: {found} {wanted}");
        }
    }
}

fn blend(mode: &str, a: [f32; 3], b: [f32; 3]) -> Value {
    let (a, b) = (color(a[0], a[1], a[2]), color(b[0], b[1], b[2]));
    run("color.blend", &json!({"mode": mode}), &[a, b, 1.0_f32.into()])
}

#[test]
fn modes_follow_their_formulas() {
    for (mode, a, b, wanted) in [
        ("mix", 0.2, 0.6, 0.6),
        ("darken", 0.2, 0.6, 0.2),
        ("multiply", 0.2, 0.6, 0.12),
        ("color_burn", 0.6, 0.5, 0.2),
        ("color_burn", 0.2, 0.5, 0.0),
        ("color_burn", 1.0, 0.0, 1.0),
        ("color_burn", 0.5, 0.0, 0.0),
        ("linear_burn", 0.6, 0.5, 0.1),
        ("lighten", 0.2, 0.6, 0.6),
        ("screen", 0.2, 0.6, 0.68),
        ("color_dodge", 0.2, 0.6, 0.5),
        ("color_dodge", 0.0, 1.0, 0.0),
        ("color_dodge", 0.5, 1.0, 1.0),
        ("add", 0.6, 0.6, 1.2),
        ("overlay", 0.2, 0.6, 0.24),
        ("overlay", 0.8, 0.6, 0.84),
        ("hard_light", 0.2, 0.6, 0.36),
        ("hard_light", 0.2, 0.3, 0.12),
        ("soft_light", 0.36, 0.75, 0.48),
        ("soft_light", 0.36, 0.25, 0.2448),
        ("soft_light", 0.2, 1.0, 0.448),
        ("vivid_light", 0.8, 0.25, 0.6),
        ("vivid_light", 0.3, 0.75, 0.6),
        ("linear_light", 0.4, 0.6, 0.6),
        ("pin_light", 0.4, 0.1, 0.2),
        ("pin_light", 0.4, 0.9, 0.8),
        ("difference", 0.2, 0.6, 0.4),
        ("exclusion", 0.2, 0.6, 0.56),
        ("subtract", 0.2, 0.6, -0.4),
        ("divide", 0.3, 0.6, 0.5),
        ("divide", 0.3, 0.0, 0.3),
    ] {
        near(&blend(mode, [a; 3], [b; 3]), [wanted; 3], 1e-6);
    }
    near(&blend("color", [0.5; 3], [0.5, 0.5, 0.5]), [0.5; 3], 1e-6);
    near(&blend("saturation", [0.2, 0.4, 0.6], [0.3; 3]), [0.37192; 3], 1e-5);
}

#[test]
fn blending_keeps_alpha_and_clamps_if_set() {
    let (a, b) =
        (Value::from(Color([0.9, 0.2, 0.0, 0.25])), Value::from(Color([0.9, 0.0, 0.0, 0.75])));
    let blend = |set: Json, factor: f32| {
        channels(&run("color.blend", &set, &[a.clone(), b.clone(), factor.into()]))
    };
    assert_eq!(blend(json!({"mode": "add"}), 1.0)[3], 0.25);
    assert_eq!(blend(json!({"mode": "mix"}), 0.5)[3], 0.5);
    assert_eq!(blend(json!({"mode": "add", "clamp": true}), 1.0)[0], 1.0);
    assert_eq!(blend(json!({"mode": "add"}), 7.0), blend(json!({"mode": "add"}), 1.0));
    assert!(blend(json!({"mode": "add", "clamp_factor": false}), 2.0)[0] > 2.6);
    let over = channels(&run("color.over", &json!({}), &[a, b]));
    assert!((over[3] - 0.8125).abs() < 1e-6 && (over[0] - 0.9).abs() < 1e-6);
    let nothing = Value::from(Color([1.0, 1.0, 1.0, 0.0]));
    assert_eq!(channels(&run("color.over", &json!({}), &[nothing.clone(), nothing])), [0.0; 4]);
}

#[test]
fn corrections_follow_their_formulas() {
    let c = color(0.2, 0.4, 0.6);
    let adjust = |name: &str, args: &[f32]| {
        let mut all = vec![c.clone()];
        all.extend(args.iter().map(|x| Value::from(*x)));
        run(name, &json!({}), &all)
    };
    near(&adjust("color.hue_saturation", &[0.0, 1.0, 1.0]), [0.2, 0.4, 0.6], 1e-6);
    near(&adjust("color.hue_saturation", &[1.0 / 3.0, 1.0, 1.0]), [0.6, 0.2, 0.4], 1e-6);
    near(&adjust("color.hue_saturation", &[0.0, 0.0, 2.0]), [1.2; 3], 1e-6);
    near(&adjust("color.brightness_contrast", &[0.1, 2.0]), [0.0, 0.4, 0.8], 1e-6);
    near(&adjust("color.gamma", &[2.0]), [0.04, 0.16, 0.36], 1e-6);
    near(&adjust("color.exposure", &[1.0]), [0.4, 0.8, 1.2], 1e-6);
    near(&adjust("color.invert", &[1.0]), [0.8, 0.6, 0.4], 1e-6);
    near(&adjust("color.desaturate", &[1.0]), [0.37192; 3], 1e-6);
    let product = run("color.premultiply", &json!({}), std::slice::from_ref(&c));
    near(&product, [0.1, 0.2, 0.3], 1e-6);
    near(&run("color.unpremultiply", &json!({}), &[product]), [0.2, 0.4, 0.6], 1e-6);
}

#[test]
fn black_bodies_turn_from_red_to_blue_with_temperature() {
    let at = |kelvins: f32| channels(&run("color.blackbody", &json!({}), &[kelvins.into()]));
    let luminance = |c: [f32; 4]| 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
    let mut before = f32::INFINITY;
    for kelvins in [2000.0, 3000.0, 4000.0, 5000.0, 6500.0, 10000.0, 20000.0] {
        let c = at(kelvins);
        assert!((luminance(c) - 1.0).abs() < 2e-2, "{kelvins}: {c:?}");
        assert!(c[0] / c[2].max(1e-6) < before, "{kelvins}: {c:?}");
        before = c[0] / c[2].max(1e-6);
    }
    near(&run("color.blackbody", &json!({}), &[6500.0_f32.into()]), [1.0; 3], 0.06);
    assert_eq!(at(0.0), at(1667.0));
    for border in [2222.0, 4000.0] {
        let (a, b) = (at(border), at(border + 0.5));
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 0.02), "{a:?} {b:?}");
    }
}

#[test]
fn wavelengths_have_their_hues() {
    let at = |nm: f32| channels(&run("color.wavelength", &json!({}), &[nm.into()]));
    let greatest = |c: [f32; 4]| (0..3).max_by(|a, b| c[*a].total_cmp(&c[*b]));
    assert_eq!([650.0, 530.0, 450.0].map(|nm| greatest(at(nm))), [Some(0), Some(1), Some(2)]);
    assert!(at(300.0)[..3].iter().chain(&at(900.0)[..3]).all(|c| *c < 1e-3));
}

#[test]
fn ramps_pass_through_their_stops() {
    let stops = json!([0.25, 0.5, 1.0]);
    let colors = json!([0, 0, 0, 1, 0.5, 1, 0, 0, 1, 1, 1, 0.5]);
    let set = |interpolation: &str| json!({"positions": stops, "colors": colors, "interpolation": interpolation});
    let at = |interpolation: &str, x: f32| {
        channels(&run("color.ramp", &set(interpolation), &[x.into()]))
    };
    for interpolation in ["linear", "constant", "ease", "cardinal"] {
        assert_eq!(at(interpolation, 0.25), [0.0, 0.0, 0.0, 1.0], "{interpolation}");
        assert_eq!(at(interpolation, 0.5), [0.5, 1.0, 0.0, 0.0], "{interpolation}");
        for x in [1.0, 2.0, f32::INFINITY] {
            assert_eq!(at(interpolation, x), [1.0, 1.0, 1.0, 0.5], "{interpolation}");
        }
        for x in [0.0, -5.0, f32::NAN] {
            assert_eq!(at(interpolation, x), [0.0, 0.0, 0.0, 1.0], "{interpolation}");
        }
    }
    assert_eq!(at("linear", 0.375), [0.25, 0.5, 0.0, 0.5]);
    assert_eq!(at("constant", 0.499), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(at("ease", 0.3125)[1], 0.15625);
    assert_eq!(at("cardinal", 0.75), [0.78125, 1.0625, 0.5, 0.1875]);
    let b_spline = at("b_spline", 0.5);
    assert!((b_spline[1] - 5.0 / 6.0).abs() < 1e-6, "{b_spline:?}");
    for edge in [0.5, 0.999_999] {
        for interpolation in ["linear", "ease", "cardinal", "b_spline"] {
            let (a, b) = (at(interpolation, edge - 1e-6), at(interpolation, edge + 1e-6));
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4), "{interpolation}");
        }
    }
}

#[test]
fn hues_are_mixed_in_the_set_direction() {
    // Red to blue: hues 0 and 2/3.
    let middle = |space: &str, way: &str| {
        let colors = [1, 0, 0, 1, 0, 0, 1, 1];
        let set = json!({"positions": [0, 1], "colors": colors, "space": space, "hue": way});
        channels(&run("color.ramp", &set, &[0.5_f32.into()]))
    };
    let (green, magenta) = ([0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0]);
    for space in ["hsv", "hsl"] {
        for (way, expected) in [
            ("direct", green),
            ("up", green),
            ("longest", green),
            ("shortest", magenta),
            ("down", magenta),
        ] {
            for (found, expected) in middle(space, way).iter().zip(expected) {
                assert!((found - expected).abs() < 1e-5, "{space} {way}: {found}, not {expected}");
            }
        }
    }
    let oklch = middle("oklch", "shortest");
    assert!(oklch[0] > 0.3 && oklch[2] > 0.3 && oklch[1] < 0.1, "{oklch:?}");
    // A gray stop has no hue of its own: black to blue stays blue.
    let set = json!({
        "positions": [0, 1], "colors": [0, 0, 0, 1, 0, 0, 1, 1], "space": "hsv", "hue": "shortest",
    });
    let blue = channels(&run("color.ramp", &set, &[0.5_f32.into()]));
    assert!(blue[2] > 0.4 && (blue[0] - blue[1]).abs() < 1e-6, "{blue:?}");
}

#[test]
fn ramps_mix_in_the_set_color_space() {
    let at = |space: &str| {
        let set = json!({"space": space});
        channels(&run("color.ramp", &set, &[0.5_f32.into()]))[0]
    };
    assert_eq!(at("linear"), 0.5);
    assert!((at("srgb") - 0.214_041).abs() < 1e-5);
    assert!((at("oklab") - 0.125).abs() < 1e-4);
    assert!((at("hsv") - 0.5).abs() < 1e-6);
}

#[test]
fn invalid_stops_are_refused() {
    let refused = |set: Json| try_instance("color.ramp", &set, &[], &[]).expect_err("refused");
    assert_eq!(
        refused(json!({"positions": []})),
        "setting `positions`: there are 0 stops, but 1 to 64 are required"
    );
    assert_eq!(
        refused(json!({"positions": [0, 1, 2]})),
        "setting `colors`: 8 numbers for 3 stops; give 4 for each stop"
    );
    let jump = json!({"positions": [0.5, 0.5], "interpolation": "linear"});
    let at = |x: f32| channels(&run("color.ramp", &jump, &[x.into()]))[0];
    assert_eq!((at(0.499), at(0.5)), (0.0, 1.0));
    assert_eq!(Type::COLOR, run("color.ramp", &jump, &[0.0_f32.into()]).ty());
}
