//! Cases of the mix family.

use crate::cases::check;

/// All tables, for the test that no node is forgotten.
pub(crate) const ALL: &[&str] = &[MIX, MAP_RANGE, SHAPES, EASE];

const MIX: &str = "
    mix.mix f32,f32: 2 6 0.25 = 3
    mix.mix f32,f32: 2 6 1 = 6
    mix.mix f32,f32: 0.1 0.7 0 = 0.1
    mix.mix f32,f32: 2 6 1.5 = 8
    mix.mix f32,f32: 2 inf 0 = nan
    mix.mix f64,f64: 2 6 0.25 = 3
    mix.mix f64,f32: 2 6 0.25 = 3
    mix.mix vec3,f32: [0,1,2] [4,5,6] 0.5 = [2,3,4]
    mix.mix vec2,f64: [0,1] [4,5] 0.25 = [1,2]
    mix.mix{\"clamp\":true} f32,f32: 2 6 1.5 = 6
    mix.mix{\"clamp\":true} f32,f32: 2 6 nan = 2
    mix.clamp f32: 5 0 1 = 1
    mix.clamp f32: -5 0 1 = 0
    mix.clamp f32: 0.5 0 1 = 0.5
    mix.clamp f32: nan 0 1 = 0
    mix.clamp f32: 5 1 0 = 0
    mix.clamp i32: 5 -2 2 = 2
    mix.clamp vec2: [5,-5] [0,0] [1,1] = [1,0]
    mix.clamp{\"order\":\"range\"} f32: 5 1 0 = 1
    mix.clamp{\"order\":\"range\"} i64: -5 1 -2 = -2
    mix.clamp{\"order\":\"range\"} f32: 6 -1 nan = 6
    mix.clamp{\"order\":\"range\"} f32: -8 nan 0.5 = -8
    mix.inverse_mix f32: 2 6 3 = 0.25
    mix.inverse_mix f32: 2 6 10 = 2
    mix.inverse_mix f32: 2 2 5 = 0
    mix.inverse_mix f64: 6 2 3 = 0.75
";

const MAP_RANGE: &str = "
    mix.map_range f32: 5 0 10 100 200 = 150
    mix.map_range f32: 15 0 10 100 200 = 200
    mix.map_range f32: -5 0 10 100 200 = 100
    mix.map_range f32: 5 3 3 100 200 = 100
    mix.map_range f32: 2 10 0 0 1 = 0.8
    mix.map_range vec2: [5,1] [0,0] [10,2] [0,0] [1,1] = [0.5,0.5]
    mix.map_range{\"clamp\":false} f32: 15 0 10 100 200 = 250
    mix.map_range{\"interpolation\":\"stepped\"} f32: 0.3 0 1 0 1 4 = 0.25
    mix.map_range{\"interpolation\":\"stepped\"} f32: 0.99 0 1 0 1 4 = 1
    mix.map_range{\"interpolation\":\"stepped\"} f32: 1 0 1 0 1 4 = 1
    mix.map_range{\"interpolation\":\"stepped\"} f32: 0.6 0 1 0 1 0 = 1
    mix.map_range{\"interpolation\":\"smoothstep\"} f32: 0.25 0 1 0 1 = 0.15625
    mix.map_range{\"interpolation\":\"smoothstep\"} f32: 7 0 1 10 20 = 20
    mix.map_range{\"interpolation\":\"smootherstep\"} f64: 0.25 0 1 0 1 = 0.103515625
";

const SHAPES: &str = "
    mix.smoothstep f32: 0 1 0.25 = 0.15625
    mix.smoothstep f32: 0 2 1 = 0.5
    mix.smoothstep f32: 0 1 -1 = 0
    mix.smoothstep f32: 0 1 2 = 1
    mix.smoothstep f32: 1 1 0.5 = 0
    mix.smoothstep f32: 1 1 1 = 1
    mix.smoothstep f32: 1 0 0.25 = 0.84375
    mix.smootherstep f64: 0 1 0.25 = 0.103515625
    mix.smootherstep f32: 0 1 9 = 1
    mix.smootherstep f32: 1 1 1 = 1
    mix.bias f32: 0.5 0.5 = 0.5
    mix.bias f32: 0.5 0.25 = 0.25
    mix.bias f32: 1 0.3 = 1
    mix.bias f32: 0 0.3 = 0
    mix.gain f32: 0.5 0.75 = 0.5
    mix.gain f32: 0.25 0.75 ~ 0.375
    mix.gain f32: 0.75 0.75 ~ 0.625
    mix.gain f32: 0 0.3 = 0
    mix.gain f32: 1 0.3 = 1
";

#[test]
fn mixing_has_known_values() {
    check(MIX);
}

#[test]
fn ranges_map_to_known_values() {
    check(MAP_RANGE);
}

#[test]
fn shapes_have_known_values() {
    check(SHAPES);
}

const EASE: &str = "
    mix.ease f32: 0.25 = 0.0625
    mix.ease f32: 0.75 = 0.9375
    mix.ease f32: nan = 0
    mix.ease f32: -3 = 0
    mix.ease f64: inf = 1
    mix.ease{\"curve\":\"sine\",\"direction\":\"in\"} f64: 0.5 ~ 0.2928932188134524
    mix.ease{\"curve\":\"quadratic\",\"direction\":\"in\"} f32: 0.5 = 0.25
    mix.ease{\"curve\":\"quartic\",\"direction\":\"in\"} f32: 0.5 = 0.0625
    mix.ease{\"curve\":\"quintic\",\"direction\":\"out\"} f32: 0.5 = 0.96875
    mix.ease{\"curve\":\"exponential\",\"direction\":\"in\"} f64: 0.5 ~ 0.030303030303030304
    mix.ease{\"curve\":\"circular\",\"direction\":\"in\"} f64: 0.6 ~ 0.2
    mix.ease{\"curve\":\"back\",\"direction\":\"in\"} f64: 0.5 ~ -0.0876975
    mix.ease{\"curve\":\"bounce\",\"direction\":\"out\"} f64: 0.5 ~ 0.765625
    mix.ease{\"curve\":\"cubic\",\"direction\":\"out_in\"} f32: 0.25 = 0.4375
    mix.ease vec2: [0.25,0.75] = [0.0625,0.9375]
";

#[test]
fn easing_has_known_values() {
    check(EASE);
}

const CURVES: [&str; 10] = [
    "sine",
    "quadratic",
    "cubic",
    "quartic",
    "quintic",
    "exponential",
    "circular",
    "back",
    "elastic",
    "bounce",
];

/// The value of an easing.
fn eased(curve: &str, direction: &str, x: f64) -> f64 {
    let registry = millstream_nodes::registry();
    let def = registry.get("mix.ease").unwrap();
    let set = serde_json::json!({"curve": curve, "direction": direction});
    let settings = crate::run::settings(def, set.as_object().unwrap());
    let instance = crate::run::instance(def, settings, vec![millstream_base::Type::F64]);
    crate::run::run(&instance, &[millstream_base::Value::F64(x)])[0].get().unwrap()
}

#[test]
fn easing_goes_from_zero_to_one_and_its_directions_are_mirrored() {
    for curve in CURVES {
        for direction in ["in", "out", "in_out", "out_in"] {
            assert_eq!(
                (eased(curve, direction, 0.0), eased(curve, direction, 1.0)),
                (0.0, 1.0),
                "{curve}"
            );
            let mut before = 0.0;
            for i in 0..=500 {
                let x = f64::from(i) / 500.0;
                let y = eased(curve, direction, x);
                // No jumps, and no descent unless the curve has one.
                assert!((y - before).abs() < 0.1, "{curve} {direction} at {x}");
                assert!(
                    y >= before || ["back", "elastic", "bounce"].contains(&curve),
                    "{curve} {direction} at {x}"
                );
                before = y;
            }
        }
        for i in 0..=20 {
            let x = f64::from(i) / 20.0;
            let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{curve} at {x}: {a} {b}");
            near(eased(curve, "out", x), 1.0 - eased(curve, "in", 1.0 - x));
            near(eased(curve, "in_out", x / 2.0), eased(curve, "in", x) / 2.0);
            near(eased(curve, "in_out", 0.5 + x / 2.0), 0.5 + eased(curve, "out", x) / 2.0);
            near(eased(curve, "out_in", x / 2.0), eased(curve, "out", x) / 2.0);
        }
    }
}
