//! Independently known values, edge cases, and laws that hold up to rounding.

use std::sync::Arc;

use millstream_base::{Quat, Type, Value, Vec2, Vec3};
use millstream_node::{Instance, Kernel, Settings};
use proptest::prelude::*;
use serde_json::json;

fn instance(name: &str, generic: Type, set: &serde_json::Value) -> Result<Instance, String> {
    let registry = crate::registry();
    let def = Arc::clone(registry.get(name).unwrap_or_else(|| panic!("no {name}")));
    let given = set.as_object().expect("an object").iter().map(|(key, json)| (key.as_str(), json));
    let settings = Settings::read(&def.settings, given, &|name| registry.type_named(name));
    let settings = settings.map_err(|errors| errors[0].to_string())?;
    let signature = def.signature(&settings).map_err(|error| error.to_string())?.into_owned();
    let generics = vec![generic; signature.generics.len()];
    let arities = vec![1; signature.inputs.len()];
    def.instantiate(settings, generics, &arities).map_err(|error| error.to_string())
}

/// The outputs of a node whose generic inputs have the type of the first argument.
fn outputs(name: &str, set: &serde_json::Value, args: &[Value]) -> Vec<Value> {
    let generic = args.first().map_or(Type::F32, Value::ty);
    let instance = instance(name, generic, set).expect("fits");
    let Kernel::Form(form) = &instance.kernel else { panic!("{name} is a form") };
    let types: Vec<Type> = args.iter().map(Value::ty).collect();
    let wanted: Vec<Type> = instance.inputs.iter().map(|input| input.ty).collect();
    assert_eq!(types, wanted, "arguments of {name}");
    let params: Vec<u64> = args.iter().flat_map(|arg| (0..16).map_while(|i| arg.lane(i))).collect();
    let mut results = vec![0; form.results.len()];
    form.run_scalar(&params, &mut results, &mut Vec::new());
    let mut results = &results[..];
    let mut outputs = Vec::new();
    for slot in &instance.outputs {
        let (_, n) = slot.ty.lanes().expect("made of lanes");
        let (lanes, rest) = results.split_at(n as usize);
        outputs.push(Value::from_lanes(slot.ty, lanes).expect("as many lanes"));
        results = rest;
    }
    outputs
}

fn run(name: &str, args: &[Value]) -> Value {
    outputs(name, &json!({}), args).swap_remove(0)
}

fn text(name: &str, args: &[Value]) -> String {
    run(name, args).to_string()
}

fn v2(x: f32, y: f32) -> Value {
    Vec2([x, y]).into()
}

fn v3(x: f32, y: f32, z: f32) -> Value {
    Vec3([x, y, z]).into()
}

fn q(w: f32, x: f32, y: f32, z: f32) -> Value {
    Quat([w, x, y, z]).into()
}

/// The distance between two values: the largest difference of a lane.
fn apart(a: &Value, b: &Value) -> f32 {
    assert_eq!(a.ty(), b.ty());
    let lanes = |v: &Value| -> Vec<f32> {
        (0..16).map_while(|i| v.lane(i)).map(|bits| f32::from_bits(bits as u32)).collect()
    };
    lanes(a).iter().zip(lanes(b)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn products_and_lengths_are_those_of_the_textbook() {
    assert_eq!(text("vector.dot", &[v3(1.0, 2.0, 3.0), v3(4.0, -5.0, 6.0)]), "12.0");
    assert_eq!(text("vector.cross", &[v3(1.0, 0.0, 0.0), v3(0.0, 1.0, 0.0)]), "[0.0, 0.0, 1.0]");
    assert_eq!(text("vector.length", &[v2(3.0, -4.0)]), "5.0");
    assert_eq!(text("vector.length_squared", &[v2(3.0, -4.0)]), "25.0");
    assert_eq!(text("vector.distance", &[v3(1.0, 1.0, 1.0), v3(3.0, 4.0, 7.0)]), "7.0");
    assert_eq!(text("vector.distance_squared", &[v2(1.0, 1.0), v2(4.0, 5.0)]), "25.0");
    assert_eq!(text("vector.scale", &[v2(1.5, -2.0), Value::F32(2.0)]), "[3.0, -4.0]");
    assert_eq!(text("vector.perpendicular", &[v2(1.0, 2.0)]), "[-2.0, 1.0]");
}

#[test]
fn zero_has_no_direction() {
    assert_eq!(text("vector.normalize", &[v3(0.0, -0.0, 0.0)]), "[0.0, 0.0, 0.0]");
    assert_eq!(text("vector.normalize", &[v2(0.0, 5.0)]), "[0.0, 1.0]");
    assert_eq!(text("vector.normalize", &[v2(f32::NAN, 5.0)]), "[\"nan\", \"nan\"]");
    assert_eq!(text("vector.project", &[v2(1.0, 2.0), v2(0.0, 0.0)]), "[0.0, 0.0]");
    assert_eq!(text("vector.reject", &[v2(1.0, 2.0), v2(0.0, 0.0)]), "[1.0, 2.0]");
    assert_eq!(text("vector.angle", &[v2(1.0, 2.0), v2(0.0, 0.0)]), "0.0");
    let kept = text("vector.rotate", &[v3(1.0, 2.0, 3.0), v3(0.0, 0.0, 0.0), Value::F32(1.0)]);
    assert_eq!(kept, "[1.0, 2.0, 3.0]");
    assert_eq!(text("quat.normalize", &[q(0.0, 0.0, 0.0, 0.0)]), "[1.0, 0.0, 0.0, 0.0]");
    let none = text("quat.from_axis_angle", &[v3(0.0, 0.0, 0.0), Value::F32(1.0)]);
    assert_eq!(none, "[1.0, 0.0, 0.0, 0.0]");
}

#[test]
fn light_is_reflected_and_refracted() {
    let down = v2(1.0, -1.0);
    assert_eq!(text("vector.reflect", &[down.clone(), v2(0.0, 3.0)]), "[1.0, 1.0]");
    assert_eq!(text("vector.reflect", &[down, v2(0.0, 0.0)]), "[1.0, -1.0]");
    let (slant, up) = (v2(0.6, -0.8), v2(0.0, 1.0));
    let straight = text("vector.refract", &[slant.clone(), up.clone(), Value::F32(1.0)]);
    assert_eq!(straight, "[0.6, -0.8]");
    let bent = run("vector.refract", &[slant.clone(), up.clone(), Value::F32(0.5)]);
    assert!(apart(&bent, &v2(0.3, -0.953_939_2)) < 1e-6, "{bent}");
    assert_eq!(text("vector.refract", &[slant, up, Value::F32(2.0)]), "[0.0, 0.0]");
    let faced = |x: f32| text("vector.faceforward", &[v2(x, 0.0), v2(1.0, 0.0), v2(x, 0.0)]);
    assert_eq!((faced(-2.0), faced(2.0)), ("[-2.0, 0.0]".into(), "[-2.0, -0.0]".into()));
}

#[test]
fn angles_are_accurate_when_tiny() {
    let angle = |a: Value, b: Value| run("vector.angle", &[a, b]).get::<f32>().expect("f32");
    assert_eq!(angle(v2(1.0, 0.0), v2(0.0, 7.0)), std::f32::consts::FRAC_PI_2);
    assert_eq!(angle(v2(1.0, 0.0), v2(-2.0, 0.0)), std::f32::consts::PI);
    assert_eq!(angle(v2(1.0, 0.0), v2(1.0, 1e-6)), 1e-6);
}

#[test]
fn vectors_are_combined_and_separated() {
    let xyz = [1.0, 2.0, 3.0].map(Value::F32);
    assert_eq!(text("vector.combine_vec3", &xyz), "[1.0, 2.0, 3.0]");
    let parts = outputs("vector.separate_vec3", &json!({}), &[v3(1.0, 2.0, 3.0)]);
    assert_eq!(parts.iter().map(ToString::to_string).collect::<Vec<_>>(), ["1.0", "2.0", "3.0"]);
    let swizzled = |components: &str| {
        let set = json!({ "components": components });
        outputs("vector.swizzle", &set, &[v3(1.0, 2.0, 3.0)])[0].to_string()
    };
    assert_eq!(swizzled("zx"), "[3.0, 1.0]");
    assert_eq!(swizzled("y"), "2.0");
    assert_eq!(swizzled("xxzz"), "[1.0, 1.0, 3.0, 3.0]");
}

#[test]
fn a_swizzle_with_unknown_components_is_refused() {
    let error = |components: &str| {
        instance("vector.swizzle", Type::VEC3, &json!({ "components": components }))
            .expect_err("refused")
    };
    assert_eq!(error("xq"), "setting `components`: `q` is not a component");
    assert_eq!(error(""), "setting `components`: it names 0 components");
    assert_eq!(error("xyzxy"), "setting `components`: it names 5 components");
}

#[test]
fn colors_follow_the_standard() {
    let grey = |x: f32| -> Value { millstream_base::Color([x, x, x, 0.25]).into() };
    assert!((run("color.luminance", &[grey(1.0)]).get::<f32>().expect("f32") - 1.0).abs() < 1e-6);
    assert!(apart(&run("color.from_srgb", &[grey(0.5)]), &grey_with(0.214_041_14)) < 1e-6);
    assert!(apart(&run("color.to_srgb", &[grey(0.5)]), &grey_with(0.735_356_9)) < 1e-6);
    assert_eq!(text("color.to_srgb", &[grey(-1.0)]), "[-12.92, -12.92, -12.92, 0.25]");
    let parts = outputs("color.separate", &json!({}), &[grey(0.5)]);
    assert_eq!(parts[3].to_string(), "0.25");
}

fn grey_with(x: f32) -> Value {
    millstream_base::Color([x, x, x, 0.25]).into()
}

#[test]
fn matrices_of_any_scale_have_an_inverse() {
    for scale in [1e-30_f32, 1e-16, 1e-14, 1e13, 1e30] {
        let matrix = run("mat4.scale", &[v3(scale, 2.0 * scale, scale)]);
        let inverse = run("mat4.invert", &[matrix]);
        let millstream_base::Mat4(m) = inverse.get().expect("a matrix");
        for (at, factor) in [(0, 1.0), (5, 0.5), (10, 1.0)] {
            let wanted = factor / scale;
            assert!((m[at] - wanted).abs() <= 1e-6 * wanted, "{} {scale}", m[at]);
        }
        assert_eq!((m[1], m[15]), (0.0, 1.0));
    }
}

#[test]
fn a_singular_matrix_has_no_inverse() {
    let flat = run("mat4.scale", &[v3(1.0, 0.0, 2.0)]);
    assert_eq!(run("mat4.determinant", std::slice::from_ref(&flat)).to_string(), "0.0");
    assert_eq!(run("mat4.invert", &[flat]).to_string(), format!("[{}]", ["0.0"; 16].join(", ")));
}

#[test]
fn matrices_move_points_but_not_directions() {
    let factors = [0.5, 0.25, -1.0, 2.0, 3.0, -0.5].map(Value::F32);
    let slanted = run("mat4.shear", &factors);
    // x + y / 2 + z / 4, y - x + 2 z, z + 3 x - y / 2
    assert_eq!(text("mat4.transform_point", &[slanted, v3(1.0, 2.0, 4.0)]), "[3.0, 9.0, 6.0]");
    let by = run("mat4.translation", &[v3(1.0, 2.0, 3.0)]);
    let one = || v3(1.0, 1.0, 1.0);
    assert_eq!(text("mat4.transform_point", &[by.clone(), one()]), "[2.0, 3.0, 4.0]");
    assert_eq!(text("mat4.project_point", &[by.clone(), one()]), "[2.0, 3.0, 4.0]");
    assert_eq!(text("mat4.transform_direction", &[by, one()]), "[1.0, 1.0, 1.0]");
}

#[test]
fn a_quarter_turn_takes_x_to_y_however_it_is_written() {
    let quarter = Value::F32(std::f32::consts::FRAC_PI_2);
    let (x, y, z) = (v3(1.0, 0.0, 0.0), v3(0.0, 1.0, 0.0), v3(0.0, 0.0, 2.0));
    let quat = run("quat.from_axis_angle", &[z.clone(), quarter.clone()]);
    let euler = run("quat.from_euler", &[v3(0.0, 0.0, std::f32::consts::FRAC_PI_2)]);
    assert!(apart(&quat, &euler) < 1e-6);
    assert!(apart(&run("quat.rotate", &[quat.clone(), x.clone()]), &y) < 1e-6);
    assert!(apart(&run("vector.rotate", &[x.clone(), z, quarter]), &y) < 1e-6);
    let matrix = run("mat4.rotation", &[quat]);
    assert!(apart(&run("mat4.transform_point", &[matrix, x]), &y) < 1e-6);
}

#[test]
fn angles_rotate_about_x_before_z() {
    let half_pi = std::f32::consts::FRAC_PI_2;
    let quat = run("quat.from_euler", &[v3(half_pi, 0.0, half_pi)]);
    // The rotation about x maps y to z, which the rotation about z does not change.
    let turned = run("quat.rotate", &[quat, v3(0.0, 1.0, 0.0)]);
    assert!(apart(&turned, &v3(0.0, 0.0, 1.0)) < 1e-6, "{turned}");
}

#[test]
fn slerp_follows_the_shorter_arc_at_constant_speed() {
    let about_z = |angle: f32| run("quat.from_axis_angle", &[v3(0.0, 0.0, 1.0), Value::F32(angle)]);
    let between = |a: Value, b: Value, t: f32| run("quat.slerp", &[a, b, Value::F32(t)]);
    assert!(apart(&between(about_z(0.2), about_z(1.4), 0.25), &about_z(0.5)) < 1e-6);
    let opposite = q(-1.0, 0.0, 0.0, 0.0);
    assert!(apart(&between(about_z(0.0), opposite, 0.5), &about_z(0.0)) < 1e-6);
    assert!(apart(&between(about_z(1.0), about_z(1.0), 0.5), &about_z(1.0)) < 1e-6);
}

fn component() -> impl Strategy<Value = f32> {
    -8.0_f32..8.0
}

fn vectors() -> impl Strategy<Value = Value> {
    [component(), component(), component()].prop_map(|v| Vec3(v).into())
}

proptest! {
    #[test]
    fn an_inverse_undoes_its_matrix(m in proptest::array::uniform16(component())) {
        let matrix: Value = millstream_base::Mat4(m).into();
        let determinant = run("mat4.determinant", std::slice::from_ref(&matrix)).get::<f32>().expect("f32");
        prop_assume!(determinant.abs() > 50.0);
        let inverse = run("mat4.invert", std::slice::from_ref(&matrix));
        let product = run("mat4.multiply", &[matrix, inverse]);
        prop_assert!(apart(&product, &run("mat4.identity", &[])) < 1e-2, "{}", product);
    }

    #[test]
    fn a_product_applies_the_right_matrix_first(a in proptest::array::uniform16(component()), b in proptest::array::uniform16(component()), v in vectors()) {
        let affine = |mut m: [f32; 16]| -> Value {
            m[12..].copy_from_slice(&[0.0, 0.0, 0.0, 1.0]);
            millstream_base::Mat4(m).into()
        };
        let (a, b) = (affine(a), affine(b));
        let at_once = run("mat4.transform_point", &[run("mat4.multiply", &[a.clone(), b.clone()]), v.clone()]);
        let in_turn = run("mat4.transform_point", &[a, run("mat4.transform_point", &[b, v])]);
        prop_assert!(apart(&at_once, &in_turn) < 0.01);
    }

    #[test]
    fn rotations_keep_lengths_and_compose(axis in vectors(), angle in component(), other in vectors(), v in vectors()) {
        let length = |v: &Value| run("vector.length", std::slice::from_ref(v)).get::<f32>().expect("f32");
        prop_assume!(length(&axis) > 0.1 && length(&other) > 0.1);
        let a = run("quat.from_axis_angle", &[axis, Value::F32(angle)]);
        let b = run("quat.from_euler", &[other]);
        let both = run("quat.multiply", &[a.clone(), b.clone()]);
        let at_once = run("quat.rotate", &[both, v.clone()]);
        let in_turn = run("quat.rotate", &[a.clone(), run("quat.rotate", &[b, v.clone()])]);
        prop_assert!(apart(&at_once, &in_turn) < 1e-4);
        prop_assert!((length(&at_once) - length(&v)).abs() < 1e-4);
        let back = run("quat.multiply", &[run("quat.conjugate", std::slice::from_ref(&a)), a]);
        prop_assert!(apart(&back, &q(1.0, 0.0, 0.0, 0.0)) < 1e-5);
    }

    #[test]
    fn projection_and_rejection_add_up(a in vectors(), b in vectors()) {
        let along = run("vector.project", &[a.clone(), b.clone()]);
        let across = run("vector.reject", &[a.clone(), b.clone()]);
        let lanes = |v: &Value| v.get::<Vec3>().expect("vec3").0;
        let (along, across, a) = (lanes(&along), lanes(&across), lanes(&a));
        for i in 0..3 {
            prop_assert!((along[i] + across[i] - a[i]).abs() < 1e-4);
        }
        let dot = run("vector.dot", &[Vec3(across).into(), b]).get::<f32>().expect("f32");
        prop_assert!(dot.abs() < 1e-3);
    }

    #[test]
    fn the_transfer_curves_are_inverses_of_each_other(x in 0.0_f32..4.0) {
        let color: Value = millstream_base::Color([x, x, x, 1.0]).into();
        let back = run("color.to_srgb", &[run("color.from_srgb", std::slice::from_ref(&color))]);
        prop_assert!(apart(&back, &color) < 1e-5);
    }
}

#[test]
fn other_coordinates_convert_back() {
    let near = |a: &Value, b: &Value| assert!(apart(a, b) < 1e-5, "{a} {b}");
    for v in [v2(3.0, 4.0), v2(-1.0, 0.5), v2(0.0, -2.0), v2(0.0, 0.0)] {
        let polar = outputs("vector.to_polar", &json!({}), std::slice::from_ref(&v));
        near(&run("vector.from_polar", &polar), &v);
    }
    for v in [v3(1.0, 2.0, 3.0), v3(-1.0, -2.0, 0.5), v3(0.0, 0.0, -4.0), v3(0.0, 0.0, 0.0)] {
        let spherical = outputs("vector.to_spherical", &json!({}), std::slice::from_ref(&v));
        near(&run("vector.from_spherical", &spherical), &v);
    }
    let up = outputs("vector.to_spherical", &json!({}), &[v3(0.0, 0.0, 2.0)]);
    assert_eq!(up[0].to_string(), "2.0");
    assert!((up[2].get::<f32>().expect("f32") - std::f32::consts::FRAC_PI_2).abs() < 1e-6);
}

#[test]
fn lengths_are_set_and_clamped() {
    let set = |x: f32| text("vector.set_length", &[v2(3.0, 4.0), x.into()]);
    assert_eq!([set(10.0), set(-5.0)], ["[6.0, 8.0]", "[-3.0, -4.0]"]);
    assert_eq!(text("vector.set_length", &[v2(0.0, 0.0), 2.0_f32.into()]), "[0.0, 0.0]");
    let clamp =
        |low: f32, high: f32| text("vector.clamp_length", &[v2(3.0, 4.0), low.into(), high.into()]);
    assert_eq!(clamp(0.0, 10.0), "[3.0, 4.0]");
    assert_eq!(clamp(10.0, 20.0), "[6.0, 8.0]");
    assert_eq!(clamp(0.0, 2.5), "[1.5, 2.0]");
}

#[test]
fn components_are_reduced() {
    let v = || v3(3.0, -1.0, 0.5);
    let of = |name: &str| text(name, &[v()]);
    assert_eq!(["vector.sum", "vector.minimum", "vector.maximum"].map(of), ["2.5", "-1.0", "3.0"]);
    let far = |name: &str| text(name, &[v(), v3(1.0, 1.0, 1.0)]);
    assert_eq!(far("vector.manhattan_distance"), "4.5");
    assert_eq!(far("vector.chebychev_distance"), "2.0");
}
