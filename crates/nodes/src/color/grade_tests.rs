//! Grading, differences and compositing, checked by known values and laws.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::cells::testing;

/// The output of a node with `f32` lanes.
fn run(name: &str, set: &Json, numbers: &[f32]) -> Vec<f32> {
    testing::numbers(name, set, &[], numbers)
}

#[track_caller]
fn near(found: &[f32], wanted: &[f32], tolerance: f32) {
    let apart = found.iter().zip(wanted).fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()));
    assert!(apart <= tolerance, "{found:?} instead of {wanted:?}");
}

fn convert(from: &str, to: &str, c: [f32; 3]) -> Vec<f32> {
    let set = json!({"from": from, "to": to});
    run("color.convert", &set, &[c[0], c[1], c[2], 1.0])[..3].to_vec()
}

#[test]
fn wide_spaces_have_their_published_coordinates() {
    let red = [1.0, 0.0, 0.0];
    // The matrices of CSS Color Module Level 4 and of the ACES documents.
    near(&convert("linear", "display_p3", red), &[0.82246, 0.03319, 0.01708], 2e-4);
    near(&convert("linear", "rec2020", red), &[0.62740, 0.06910, 0.01639], 2e-4);
    near(&convert("linear", "acescg", red), &[0.61310, 0.07020, 0.02062], 3e-4);
    near(&convert("linear", "xyy", red), &[0.64, 0.33, 0.2126], 1e-4);
    near(&convert("linear", "xyy", [0.0; 3]), &[0.3127, 0.3290, 0.0], 1e-6);
    near(&convert("linear", "luv", red), &[53.24, 175.01, 37.75], 5e-2);
    near(&convert("srgb", "ycbcr", red), &[0.2126, -0.11457, 0.5], 1e-4);
    for space in ["display_p3", "rec2020", "acescg"] {
        near(&convert("linear", space, [1.0; 3]), &[1.0; 3], 1e-5);
    }
    near(&convert("linear", "luv", [1.0; 3]), &[100.0, 0.0, 0.0], 2e-3);
}

#[test]
fn differences_are_those_of_the_published_pairs() {
    // From the table of Sharma et al., 2005: L*a*b* of both colors and their difference.
    for (a, b, wanted) in [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, -1.3802, -84.2814], [50.0, 0.0, -82.7485], 1.0),
        ([50.0, 0.0, 0.0], [50.0, -1.0, 2.0], 2.3669),
        ([50.0, 2.49, -0.001], [50.0, -2.49, 0.0009], 7.1792),
        ([50.0, 2.49, -0.001], [50.0, -2.49, 0.0011], 7.2195),
        ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
        ([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644),
        ([22.7233, 20.0904, -46.694], [23.0331, 14.973, -42.5619], 2.0373),
        ([2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514], 0.9082),
    ] {
        let [a, b] = [a, b].map(|lab| convert("lab", "linear", lab));
        let both = [a[0], a[1], a[2], 1.0, b[0], b[1], b[2], 0.0];
        near(&run("color.difference", &json!({}), &both), &[wanted], 2e-3);
    }
    let whites = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    near(&run("color.difference", &json!({"metric": "cie76"}), &whites), &[100.0], 1e-3);
    near(&run("color.difference", &json!({"metric": "oklab"}), &whites), &[1.0], 1e-3);
}

#[test]
fn differences_have_the_same_bits_with_exchanged_colors() {
    let mut state = 1_u32;
    let mut channel = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Coarse values, so that many hues are opposite or equal.
        (state >> 24) as f32 / 64.0 - 1.0
    };
    for metric in ["ciede2000", "cie76", "oklab"] {
        for _ in 0..4000 {
            let [a, b]: [[f32; 4]; 2] = [(); 2].map(|()| [(); 4].map(|()| channel()));
            let of = |a: [f32; 4], b: [f32; 4]| {
                let found =
                    run("color.difference", &json!({ "metric": metric }), &[a, b].concat())[0];
                if found.is_nan() { u32::MAX } else { found.to_bits() }
            };
            assert_eq!(of(a, b), of(b, a), "{metric}: {a:?} and {b:?}");
        }
    }
}

#[test]
fn grading_has_known_values() {
    let levels = |c: f32, numbers: [f32; 5]| {
        run("color.levels", &json!({}), &[&[c, c, c, 0.5], &numbers[..]].concat())
    };
    near(&levels(0.5, [0.25, 0.75, 1.0, 0.0, 1.0]), &[0.5, 0.5, 0.5, 0.5], 1e-6);
    near(&levels(0.25, [0.0, 1.0, 2.0, 1.0, 3.0]), &[2.0, 2.0, 2.0, 0.5], 1e-6);
    near(&levels(9.0, [0.0, 1.0, 1.0, 0.1, 0.9]), &[0.9, 0.9, 0.9, 0.5], 1e-6);
    near(&levels(0.3, [0.3, 0.3, 1.0, 0.0, 1.0]), &[1.0, 1.0, 1.0, 0.5], 0.0);
    let posterized = |c: f32, n: f32| run("color.posterize", &json!({}), &[c, 0.0, 1.0, 0.5, n])[0];
    assert_eq!([0.0, 0.3, 0.6, 1.0, -0.3].map(|c| posterized(c, 3.9)), [0.0, 0.0, 0.5, 1.0, -0.5]);
    assert_eq!(posterized(0.7, f32::NAN), 1.0);
    let graded = run(
        "color.slope_offset_power",
        &json!({}),
        &[0.5, 0.5, 0.5, 0.5, 1., 2., 1., 1., 0., 0., -9., 1., 2., 1., 1., 1., 1.],
    );
    near(&graded, &[0.25, 1.0, 0.0, 0.5], 1e-6);
    for (curve, low, high) in [
        ("reinhard", 0.0, 1.0),
        ("filmic", 0.0, 1.0),
        ("exponential", 0.0, 0.981_684_4),
        ("luminance", 0.0, 1.0),
    ] {
        let toned =
            |c: f32| run("color.tone_map", &json!({"curve": curve}), &[c, c, c, 0.5, 0.0, 4.0])[0];
        near(&[toned(0.0), toned(4.0), toned(-3.0)], &[low, high, low], 1e-5);
        assert!(toned(0.5) > 0.1 && toned(0.5) < toned(1.0), "{curve}");
    }
    let aces =
        |c: f32| run("color.tone_map", &json!({"curve": "aces"}), &[c, c, c, 0.5, 1.0, 4.0])[0];
    near(&[aces(0.0), aces(0.5), aces(1e4)], &[0.0, 2.54 / 3.16, 1.0], 1e-5);
}

#[test]
fn light_is_adapted_to() {
    let adapt = |c: [f32; 4], from: [f32; 4], to: [f32; 4]| {
        run("color.adapt", &json!({}), &[c, from, to].concat())
    };
    let (warm, white) = ([0.9, 0.7, 0.4, 1.0], [1.0; 4]);
    let found = adapt(warm, warm, white);
    let light = 0.2126 * 0.9 + 0.7152 * 0.7 + 0.0722 * 0.4;
    near(&found, &[light, light, light, 1.0], 1e-5);
    near(&adapt([0.1, 0.5, 0.3, 0.2], warm, warm), &[0.1, 0.5, 0.3, 0.2], 1e-6);
    let there = adapt([0.1, 0.5, 0.3, 0.2], white, warm);
    near(&adapt([there[0], there[1], there[2], 0.2], warm, white), &[0.1, 0.5, 0.3, 0.2], 1e-5);
}

#[test]
fn mixing_goes_around_the_wheel() {
    let mixed = |space: &str, hue: &str, factor: f32| {
        let set = json!({"space": space, "hue": hue});
        run("color.mix", &set, &[1., 0., 0., 1., 0., 1., 0., 0., factor])
    };
    near(&mixed("linear", "shorter", 0.25), &[0.75, 0.25, 0.0, 0.75], 1e-6);
    near(&mixed("hsv", "shorter", 0.5), &[1.0, 1.0, 0.0, 0.5], 1e-5);
    near(&mixed("hsv", "increasing", 0.5), &[1.0, 1.0, 0.0, 0.5], 1e-5);
    near(&mixed("hsv", "longer", 0.5), &[0.0, 0.0, 1.0, 0.5], 1e-5);
    near(&mixed("hsv", "decreasing", 0.5), &[0.0, 0.0, 1.0, 0.5], 1e-5);
    let with_grey =
        run("color.mix", &json!({"space": "hsv"}), &[0.5, 0.5, 0.5, 1., 0., 1., 0., 1., 0.5]);
    near(&with_grey, &[0.375, 0.75, 0.375, 1.0], 1e-5);
}

const OPERATORS: [(&str, [bool; 3]); 12] = [
    // What is visible where only a, only b, or both cover: a or b.
    ("over", [true, true, true]),
    ("under", [true, true, true]),
    ("in", [false, false, true]),
    ("out", [true, false, false]),
    ("atop", [false, true, true]),
    ("xor", [true, true, false]),
    ("masked", [false, false, true]),
    ("erased", [false, true, false]),
    ("below_atop", [true, false, true]),
    ("a", [true, false, true]),
    ("b", [false, true, true]),
    ("clear", [false, false, false]),
];

proptest! {
    #[test]
    fn compositing_covers_what_its_operator_states(
        c in proptest::array::uniform8(0.0_f32..1.0),
    ) {
        let (a, b) = (c[3], c[7]);
        let places = [a * (1.0 - b), b * (1.0 - a), a * b];
        for (operator, shown) in OPERATORS {
            let found = run("color.composite", &json!({"operator": operator}), &c);
            let cover: f32 = places.iter().zip(shown).map(|(x, shown)| if shown { *x } else { 0.0 }).sum();
            prop_assert!((found[3] - cover).abs() < 1e-6, "{operator}");
            // Where both cover, one of them is fully visible.
            let a_in_front = ["over", "in", "atop", "a"].contains(&operator);
            let of_a = if shown[0] { places[0] } else { 0.0 } + if shown[2] && a_in_front { places[2] } else { 0.0 };
            let light = c[0] * of_a + c[4] * (cover - of_a);
            prop_assert!((found[0] * found[3] - light).abs() < 1e-5, "{operator}");
        }
        let plus = run("color.composite", &json!({"operator": "plus"}), &c);
        prop_assert!((plus[3] - (a + b).min(1.0)).abs() < 1e-6);
        let over = run("color.over", &json!({}), &[&c[4..], &c[..4]].concat());
        near(&run("color.composite", &json!({}), &c), &over, 1e-5);
    }

    #[test]
    fn conversions_to_wide_spaces_are_invertible(r in 0.0_f32..1.0, g in 0.0_f32..1.0, b in 0.0_f32..1.0) {
        for space in ["xyy", "luv", "display_p3", "rec2020", "acescg", "ycbcr"] {
            let there = convert("linear", space, [r, g, b]);
            let back = convert(space, "linear", [there[0], there[1], there[2]]);
            near(&back, &[r, g, b], 3e-5);
        }
    }

    #[test]
    fn differences_grow_with_distance(c in proptest::array::uniform3(0.0_f32..1.0), d in 0.0_f32..0.3) {
        let of = |metric: &str, d: f32| {
            let other = [c[0] + d, c[1] + d, c[2] + d, 1.0];
            run("color.difference", &json!({"metric": metric}), &[&[c[0], c[1], c[2], 1.0], &other[..]].concat())[0]
        };
        for metric in ["ciede2000", "cie76", "oklab"] {
            prop_assert!(of(metric, 0.0) == 0.0 && of(metric, d) <= of(metric, d + 0.3));
        }
    }
}
