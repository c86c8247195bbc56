//! Different representations of rotations agree with each other.

use millstream_base::{Mat4, Quat, Type, Value, Vec3};
use millstream_node::Kernel;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::cells::testing::instance;

fn outputs(name: &str, set: &Json, args: &[Value]) -> Vec<Value> {
    let node = instance(name, set, &[], &[]);
    let Kernel::Form(form) = node.kernel else { panic!("{name} is a form") };
    let params: Vec<u64> = args.iter().flat_map(|arg| (0..16).map_while(|i| arg.lane(i))).collect();
    assert_eq!(params.len(), form.params.len(), "arguments of {name}");
    let mut results = vec![0; form.results.len()];
    form.run_scalar(&params, &mut results, &mut Vec::new());
    let mut rest = &results[..];
    let one = |ty: Type| {
        let (_, n) = ty.lanes().expect("made of lanes");
        let (lanes, others) = rest.split_at(n as usize);
        rest = others;
        Value::from_lanes(ty, lanes).expect("as many lanes")
    };
    node.outputs.iter().map(|output| output.ty).map(one).collect()
}

fn run(name: &str, args: &[Value]) -> Value {
    outputs(name, &json!({}), args).swap_remove(0)
}

fn v3(x: [f32; 3]) -> Value {
    Vec3(x).into()
}

fn lanes(value: &Value) -> Vec<f32> {
    (0..16).map_while(|i| value.lane(i)).map(|bits| f32::from_bits(bits as u32)).collect()
}

fn apart(a: &Value, b: &Value) -> f32 {
    lanes(a).iter().zip(lanes(b)).fold(0.0, |most, (a, b)| most.max((a - b).abs()))
}

/// The difference between two rotations, up to the sign of the quaternions.
fn turned(a: &Value, b: &Value) -> f32 {
    lanes(&run("quat.angle", &[a.clone(), b.clone()]))[0]
}

fn rotated(quat: &Value, v: [f32; 3]) -> Value {
    run("quat.rotate", &[quat.clone(), v3(v)])
}

fn quat() -> impl Strategy<Value = Value> {
    proptest::array::uniform4(-1.0_f32..1.0)
        .prop_filter("has a length", |q| q.iter().map(|x| x * x).sum::<f32>() > 0.01)
        .prop_map(|q| run("quat.normalize", &[Quat(q).into()]))
}

fn vector() -> impl Strategy<Value = [f32; 3]> {
    proptest::array::uniform3(-2.0_f32..2.0)
        .prop_filter("has a length", |v| v.iter().map(|x| x * x).sum::<f32>() > 0.01)
}

fn direction(v: [f32; 3]) -> Value {
    let length = v.iter().map(|x| x * x).sum::<f32>().sqrt();
    v3(v.map(|x| x / length))
}

const ORDERS: [&str; 6] = ["xyz", "xzy", "yxz", "yzx", "zxy", "zyx"];

proptest! {
    #[test]
    fn angles_give_the_rotation_in_every_order(q in quat()) {
        for order in ORDERS {
            let set = json!({"order": order});
            let angles = outputs("quat.to_euler", &set, std::slice::from_ref(&q)).swap_remove(0);
            let back = outputs("quat.from_euler", &set, &[angles]).swap_remove(0);
            prop_assert!(turned(&q, &back) < 1e-6, "{order}: {q} {back}");
        }
    }

    #[test]
    fn angles_at_gimbal_lock_give_the_rotation(a in -3.0_f32..3.0, b in -3.0_f32..3.0) {
        for (order, second) in ORDERS.into_iter().zip([1, 2, 0, 2, 0, 1]) {
            for quarter in [1.0, -1.0] {
                let mut angles = [a, b, a];
                angles[second] = quarter * std::f32::consts::FRAC_PI_2;
                let set = json!({"order": order});
                let q = outputs("quat.from_euler", &set, &[v3(angles)]).swap_remove(0);
                let found = outputs("quat.to_euler", &set, std::slice::from_ref(&q)).swap_remove(0);
                let last = usize::from(order.as_bytes()[2] - b'x');
                prop_assert_eq!((lanes(&found)[second], lanes(&found)[last]), (angles[second], 0.0));
                let back = outputs("quat.from_euler", &set, &[found]).swap_remove(0);
                prop_assert!(turned(&q, &back) < 1e-6, "{order}: {q} {back}");
            }
        }
    }

    #[test]
    fn angles_near_gimbal_lock_give_the_rotation(
        e in proptest::array::uniform3(-3.0_f32..3.0), exponent in -9.0_f32..0.5, quarter in prop::sample::select(vec![1.0_f32, -1.0])
    ) {
        for (order, second) in ORDERS.into_iter().zip([1, 2, 0, 2, 0, 1]) {
            let mut angles = e;
            angles[second] = quarter * (std::f32::consts::FRAC_PI_2 - 10_f32.powf(exponent));
            let set = json!({"order": order});
            let q = outputs("quat.from_euler", &set, &[v3(angles)]).swap_remove(0);
            let found = outputs("quat.to_euler", &set, std::slice::from_ref(&q)).swap_remove(0);
            prop_assert!(lanes(&found)[second].abs() <= std::f32::consts::FRAC_PI_2);
            let back = outputs("quat.from_euler", &set, &[found]).swap_remove(0);
            prop_assert!(turned(&q, &back) < 1e-6, "{order}: {q} {back}");
        }
    }

    #[test]
    fn orders_are_products_of_rotations(x in -3.0_f32..3.0, y in -3.0_f32..3.0, z in -3.0_f32..3.0) {
        for order in ORDERS {
            let turns = order.bytes().map(|letter| {
                let axis = usize::from(letter - b'x');
                let mut about = [0.0; 3];
                about[axis] = 1.0;
                run("quat.from_axis_angle", &[v3(about), [x, y, z][axis].into()])
            });
            let wanted = turns.reduce(|before, turn| run("quat.multiply", &[turn, before])).expect("three");
            let found =
                outputs("quat.from_euler", &json!({"order": order}), &[v3([x, y, z])]).swap_remove(0);
            prop_assert!(apart(&wanted, &found) < 1e-6, "{order}: {wanted} {found}");
        }
    }

    #[test]
    fn axis_and_angle_give_the_rotation(q in quat()) {
        let parts = outputs("quat.to_axis_angle", &json!({}), std::slice::from_ref(&q));
        let angle = lanes(&parts[1])[0];
        prop_assert!((0.0..=std::f32::consts::PI).contains(&angle));
        prop_assert!(turned(&q, &run("quat.from_axis_angle", &parts)) < 1e-3);
    }

    #[test]
    fn matrices_give_location_rotation_and_scale(q in quat(), offset in vector(), scale in 0.1_f32..3.0, mirror in any::<bool>()) {
        let sign = if mirror { -1.0 } else { 1.0 };
        let factors = v3([scale * sign, 2.0 * sign, 0.5 * sign]);
        let matrix = run("mat4.compose", &[v3(offset), q.clone(), factors.clone()]);
        let parts = outputs("mat4.decompose", &json!({}), std::slice::from_ref(&matrix));
        prop_assert!(apart(&parts[0], &v3(offset)) == 0.0);
        prop_assert!(turned(&parts[1], &q) < 2e-3, "{} {q}", parts[1]);
        prop_assert!(apart(&parts[2], &factors) < 1e-5, "{} {factors}", parts[2]);
        prop_assert!(turned(&run("quat.from_mat4", &[matrix]), &q) < 2e-3);
    }

    #[test]
    fn the_rotation_between_directions_maps_one_to_the_other(a in vector(), b in vector()) {
        let q = run("quat.between", &[v3(a), v3(b)]);
        let found = rotated(&q, lanes(&direction(a)).try_into().expect("three"));
        prop_assert!(apart(&found, &direction(b)) < 1e-4, "{found} {b:?}");
        let back = run("quat.between", &[v3(a), v3(a.map(|x| -x))]);
        let found = rotated(&back, lanes(&direction(a)).try_into().expect("three"));
        prop_assert!(apart(&found, &direction(a.map(|x| -x))) < 1e-4);
    }

    #[test]
    fn the_rotation_between_nearly_opposite_directions_maps_one_to_the_other(a in vector(), b in vector(), exponent in -9.0_f32..0.0) {
        let (a, b) = (lanes(&direction(a)), lanes(&direction(b)));
        let near: Vec<f32> = a.iter().zip(&b).map(|(a, b)| b * 10_f32.powf(exponent) - a).collect();
        let near: [f32; 3] = near.try_into().expect("three");
        let a: [f32; 3] = a.try_into().expect("three");
        let q = run("quat.between", &[v3(a), v3(near)]);
        let found = rotated(&q, a);
        prop_assert!(apart(&found, &direction(near)) < 1e-6, "{found} {near:?} by {q}");
        prop_assert!(lanes(&q)[0] >= 0.0, "{q}");
    }

    #[test]
    fn looking_maps_forward_to_the_direction_and_upward_close_to_up(d in vector(), up in vector()) {
        let names = ["x", "y", "z", "-x", "-y", "-z"];
        let unit = |at: usize| {
            let mut v = [0.0; 3];
            v[at % 3] = if at < 3 { 1.0 } else { -1.0 };
            v
        };
        for forward in 0..6 {
            for upward in (0..6).filter(|upward| upward % 3 != forward % 3) {
                let set = json!({"forward": names[forward], "upward": names[upward]});
                let q = outputs("quat.look_at", &set, &[v3(d), v3(up)]).swap_remove(0);
                prop_assert!(apart(&rotated(&q, unit(forward)), &direction(d)) < 1e-3);
                let up_there = lanes(&rotated(&q, unit(upward)));
                let towards: f32 = up_there.iter().zip(up).map(|(a, b)| a * b).sum();
                prop_assert!(towards > -1e-3, "{set}: {up_there:?} {up:?}");
            }
        }
    }

    #[test]
    fn swing_after_twist_is_the_rotation(q in quat(), axis in vector()) {
        let parts = outputs("quat.swing_twist", &json!({}), &[q.clone(), v3(axis)]);
        prop_assert!(turned(&run("quat.multiply", &parts), &q) < 2e-3);
        let along = lanes(&direction(axis)).try_into().expect("three");
        prop_assert!(apart(&rotated(&parts[1], along), &v3(along)) < 1e-4, "the twist keeps the axis");
        let swing = lanes(&parts[0]);
        let share: f32 = swing[1..].iter().zip(along).map(|(a, b)| a * b).sum();
        prop_assert!(share.abs() < 1e-4, "the swing is about a perpendicular axis: {share}");
    }

    #[test]
    fn scaled_angles_add_up(q in quat()) {
        let part = |factor: f32| run("quat.scale_angle", &[q.clone(), factor.into()]);
        let whole = run("quat.multiply", &[part(0.25), part(0.75)]);
        prop_assert!(turned(&whole, &q) < 2e-3);
        prop_assert!(turned(&part(-1.0), &run("quat.conjugate", std::slice::from_ref(&q))) < 2e-3);
        let half = run("quat.nlerp", &[Quat([1.0, 0.0, 0.0, 0.0]).into(), q.clone(), 0.5_f32.into()]);
        prop_assert!(turned(&part(0.5), &half) < 2e-3);
    }

    #[test]
    fn a_quaternion_times_its_inverse_is_one(q in proptest::array::uniform4(0.1_f32..4.0)) {
        let q = Value::from(Quat(q));
        let product = run("quat.multiply", &[q.clone(), run("quat.invert", &[q])]);
        prop_assert!(apart(&product, &Quat([1.0, 0.0, 0.0, 0.0]).into()) < 1e-5);
    }
}

#[test]
fn degenerate_inputs_give_the_identity() {
    let none = v3([0.0; 3]);
    let identity: Value = Quat([1.0, 0.0, 0.0, 0.0]).into();
    let x = v3([1.0, 0.0, 0.0]);
    assert_eq!(apart(&run("quat.between", &[none.clone(), x.clone()]), &identity), 0.0);
    assert_eq!(apart(&run("quat.look_at", &[none, x]), &identity), 0.0);
    let parts = outputs("quat.to_axis_angle", &json!({}), std::slice::from_ref(&identity));
    assert_eq!((lanes(&parts[0]), lanes(&parts[1])), (vec![0.0, 0.0, 1.0], vec![0.0]));
    let flat = Value::from(Mat4([0.0; 16]));
    assert_eq!(apart(&run("quat.from_mat4", &[flat]), &identity), 0.0);
    let zero = Value::from(Quat([0.0; 4]));
    assert_eq!(lanes(&run("quat.invert", &[zero])), [0.0; 4]);
}

#[test]
fn quaternions_are_combined_from_parts() {
    let q = run("quat.combine", &[1.0_f32.into(), 2.0_f32.into(), 3.0_f32.into(), 4.0_f32.into()]);
    assert_eq!(lanes(&q), [1.0, 2.0, 3.0, 4.0]);
    let parts = outputs("quat.separate", &json!({}), &[q]);
    assert_eq!(parts.iter().flat_map(lanes).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn if_forward_and_upward_are_the_same_axis_the_next_one_is_upward() {
    let look = |upward: &str| {
        let set = json!({"forward": "-y", "upward": upward});
        outputs("quat.look_at", &set, &[v3([1.0, 2.0, 3.0]), v3([0.0, 0.0, 1.0])]).swap_remove(0)
    };
    assert_eq!(apart(&look("y"), &look("z")), 0.0);
}
