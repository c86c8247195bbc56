//! Matrix algebra, products of quaternions, and spherical splines; expected values from numpy.

use millstream_base::{Mat4, Quat, Type, Value, Vec4};
use millstream_node::Kernel;
use serde_json::json;

use crate::cells::testing::instance;

fn run(name: &str, args: &[Value]) -> Vec<f32> {
    let node = instance(name, &json!({}), &[], &[]);
    let Kernel::Form(form) = node.kernel else { panic!("{name} is a form") };
    let params: Vec<u64> = args.iter().flat_map(|arg| (0..16).map_while(|i| arg.lane(i))).collect();
    assert_eq!(params.len(), form.params.len(), "arguments of {name}");
    let mut results = vec![0; form.results.len()];
    form.run_scalar(&params, &mut results, &mut Vec::new());
    results.iter().map(|bits| f32::from_bits(*bits as u32)).collect()
}

fn near(found: &[f32], wanted: &[f32]) {
    let apart = found.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(found.len() == wanted.len() && apart < 1e-6, "{found:?}, not {wanted:?}");
}

/// Elements 1 to 16.
fn counted() -> Mat4 {
    Mat4(std::array::from_fn(|i| i as f32 + 1.0))
}

#[test]
fn matrices_are_added_element_by_element() {
    let (a, b) = (Value::from(counted()), Value::from(Mat4([0.5; 16])));
    let of = |f: fn(f32) -> f32| (1..=16).map(|i| f(i as f32)).collect::<Vec<f32>>();
    assert_eq!(run("mat4.add", &[a.clone(), b.clone()]), of(|x| x + 0.5));
    assert_eq!(run("mat4.subtract", &[a.clone(), b]), of(|x| x - 0.5));
    assert_eq!(run("mat4.multiply_number", &[a.clone(), Value::F32(-2.0)]), of(|x| x * -2.0));
    assert!(run("mat4.multiply_number", &[a, Value::F32(f32::NAN)]).iter().all(|x| x.is_nan()));
}

#[test]
fn elements_are_counted_from_the_top_left() {
    let at = |row, column| {
        run("mat4.element", &[counted().into(), Value::I32(row), Value::I32(column)])[0]
    };
    for i in 0..16 {
        assert_eq!(at(i / 4, i % 4), i as f32 + 1.0);
    }
    assert_eq!(
        [at(-1, 2), at(9, 0), at(1, i32::MAX), at(i32::MIN, i32::MIN)],
        [3.0, 13.0, 8.0, 1.0]
    );
}

#[test]
fn a_matrix_times_a_vector_of_four_is_a_column() {
    let v = |x: [f32; 4]| Value::from(Vec4(x));
    let times = |x| run("mat4.transform_vec4", &[counted().into(), v(x)]);
    assert_eq!(times([1.0, -2.0, 0.5, 3.0]), [10.5, 20.5, 30.5, 40.5]);
    assert_eq!(times([0.0, 0.0, 0.0, 1.0]), [4.0, 8.0, 12.0, 16.0]);
    assert!(times([f32::INFINITY, 0.0, 0.0, f32::NEG_INFINITY]).iter().all(|x| x.is_nan()));
}

const WAY: [[f32; 4]; 4] = [
    [1.0, 0.0, 0.0, 0.0],
    [0.829_561_4, 0.311_085_5, -0.207_390_3, 0.414_780_7],
    [0.102_597_8, 0.923_380_5, 0.307_793_5, -0.205_195_7],
    [-0.562_544, 0.225_017_6, 0.787_561_5, 0.112_508_8],
];

fn quat(x: [f32; 4]) -> Value {
    Quat(x).into()
}

#[test]
fn quaternions_have_lengths_and_products() {
    near(&run("quat.dot", &[quat(WAY[1]), quat(WAY[2])]), &[0.223_416_9]);
    assert_eq!(run("quat.dot", &[quat([1.0, 2.0, 3.0, 4.0]), quat([5.0, 6.0, 7.0, 8.0])]), [70.0]);
    assert_eq!(run("quat.length", &[quat([2.0, -4.0, 5.0, 6.0])]), [9.0]);
    assert_eq!(run("quat.length", &[quat([0.0; 4])]), [0.0]);
    assert!(run("quat.length", &[quat([f32::NAN, 0.0, 0.0, 0.0])])[0].is_nan());
}

/// The controls of the two rotations in the middle.
fn controls() -> [[f32; 4]; 2] {
    let control = |i: usize| {
        let args = [quat(WAY[i - 1]), quat(WAY[i]), quat(WAY[i + 1])];
        run("quat.squad_control", &args).try_into().expect("four parts")
    };
    [control(1), control(2)]
}

#[test]
fn spherical_splines_agree_with_numpy() {
    let [a, b] = controls();
    near(&a, &[0.727_226_7, 0.070_895, -0.359_583_3, 0.580_357_7]);
    near(&b, &[0.014_278_8, 0.892_270_2, 0.177_599_2, -0.414_859_7]);
    let on = |flip: [f32; 3], t: f32| {
        let times = |q: [f32; 4], by: f32| quat(q.map(|x| x * by));
        let args = [quat(WAY[1]), times(a, flip[0]), times(b, flip[1]), times(WAY[2], flip[2])];
        run("quat.squad", &[&args[..], &[Value::F32(t)]].concat())
    };
    for (t, wanted) in [
        (0.0, WAY[1]),
        (0.25, [0.753_842_9, 0.544_991_9, -0.154_227_2, 0.333_044_6]),
        (0.5, [0.600_272_6, 0.787_316_9, -0.041_509_5, 0.134_469_3]),
        (0.9, [0.201_997_7, 0.933_431_3, 0.240_732_5, -0.173_063_1]),
        (1.0, WAY[2]),
    ] {
        near(&on([1.0; 3], t), &wanted);
        // A quaternion and its negative are the same rotation.
        near(&on([-1.0, 1.0, -1.0], t), &wanted);
        near(&on([1.0, -1.0, -1.0], t), &wanted);
    }
}

#[test]
fn a_constant_or_degenerate_spline_has_no_bends() {
    let still = run("quat.squad_control", &[quat(WAY[1]), quat(WAY[1]), quat(WAY[1])]);
    near(&still, &WAY[1]);
    let args = [quat(WAY[1]), quat(WAY[1]), quat(WAY[1]), quat(WAY[1]), Value::F32(0.3)];
    near(&run("quat.squad", &args), &WAY[1]);
    let nan = quat([f32::NAN; 4]);
    assert!(
        run("quat.squad_control", &[nan, quat(WAY[0]), quat(WAY[1])]).iter().any(|x| x.is_nan())
    );
    assert_eq!(instance("quat.squad", &json!({}), &[], &[]).outputs[0].ty, Type::QUAT);
}
