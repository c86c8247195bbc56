//! Tests that nodes are as accurate as the manual states, measured against 64-bit floats.
//!
//! The bound is read from the manual, where it is stated as `error ... at most N`; each case says
//! of which quantity the error is a multiple.

mod mixing;
mod sums;

use millstream_base::Type;
use millstream_node::Kernel;
use serde_json::json;

use crate::cells::testing::instance;

/// Arguments and results generated from a seed.
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, from: f64, to: f64) -> f32 {
        (from + (to - from) * self.unit()) as f32
    }

    /// Of either sign and with magnitudes from 2^-20 to 2^20.
    fn wide(&mut self) -> f32 {
        let size = self.between(-20.0, 20.0).exp2();
        if self.unit() < 0.5 { -size } else { size }
    }

    fn wides(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.wide()).collect()
    }

    /// Of length 1.
    fn quat(&mut self) -> Vec<f32> {
        loop {
            let q: Vec<f64> = (0..4).map(|_| 2.0 * self.unit() - 1.0).collect();
            let size = length(&q);
            if (0.1..1.0).contains(&size) {
                return q.iter().map(|x| (x / size) as f32).collect();
            }
        }
    }
}

fn length(a: &[f64]) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn cross(a: &[f64], b: &[f64]) -> Vec<f64> {
    [(1, 2), (2, 0), (0, 1)].map(|(i, j)| a[i] * b[j] - a[j] * b[i]).to_vec()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn sizes(a: &[f64]) -> Vec<f64> {
    a.iter().map(|x| x.abs()).collect()
}

fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let turned = cross(&a[1..], &b[1..]);
    let rest = (0..3).map(|i| a[0] * b[i + 1] + b[0] * a[i + 1] + turned[i]);
    std::iter::once(a[0] * b[0] - dot(&a[1..], &b[1..])).chain(rest).collect()
}

fn rotated(q: &[f64], v: &[f64]) -> Vec<f64> {
    let twice: Vec<f64> = cross(&q[1..], v).iter().map(|x| 2.0 * x).collect();
    let around = cross(&q[1..], &twice);
    (0..3).map(|i| v[i] + q[0] * twice[i] + around[i]).collect()
}

/// The columns are the images of the axes under a quaternion of length 1.
fn matrix(q: &[f64]) -> Vec<f64> {
    let mut m = vec![0.0; 16];
    for column in 0..3 {
        let axis: Vec<f64> = (0..3).map(|i| if i == column { 1.0 } else { 0.0 }).collect();
        for (row, x) in rotated(q, &axis).into_iter().enumerate() {
            m[4 * row + column] = x;
        }
    }
    m[15] = 1.0;
    m
}

/// The quaternion of a rotation matrix, up to its sign.
fn quat_of(m: &[f64]) -> Vec<f64> {
    // Each magnitude has a formula of its own; signs come from the sums across the diagonal.
    let at = |row: usize, column: usize| m[4 * row + column];
    let (a, b, c) = (at(0, 0), at(1, 1), at(2, 2));
    let size = |x: f64| x.max(0.0).sqrt() / 2.0;
    let q = [
        size(1.0 + a + b + c),
        size(1.0 + a - b - c),
        size(1.0 - a + b - c),
        size(1.0 - a - b + c),
    ];
    let greatest = (0..4).max_by(|i, j| q[*i].total_cmp(&q[*j])).expect("there are four");
    let w = [at(2, 1) - at(1, 2), at(0, 2) - at(2, 0), at(1, 0) - at(0, 1)];
    let (xy, xz, yz) = (at(0, 1) + at(1, 0), at(0, 2) + at(2, 0), at(1, 2) + at(2, 1));
    let rows = [
        [4.0 * q[0] * q[0], w[0], w[1], w[2]],
        [w[0], 4.0 * q[1] * q[1], xy, xz],
        [w[1], xy, 4.0 * q[2] * q[2], yz],
        [w[2], xz, yz, 4.0 * q[3] * q[3]],
    ];
    let found: Vec<f64> = rows[greatest].iter().map(|x| x / (4.0 * q[greatest])).collect();
    found.iter().map(|x| x / length(&found)).collect()
}

fn by_axis(axis: &[f64], angle: f64) -> Vec<f64> {
    let (sine, cosine) = (angle / 2.0).sin_cos();
    let size = length(axis);
    std::iter::once(cosine).chain(axis.iter().map(|x| x / size * sine)).collect()
}

fn opposite(q: &[f64]) -> Vec<f64> {
    q.iter().map(|x| -x).collect()
}

/// The exact results, and for each of them the unit of its error.
type Right = (Vec<f64>, Vec<f64>);

fn of_one(right: Vec<f64>) -> Right {
    let ones = vec![1.0; right.len()];
    (right, ones)
}

fn of(right: Vec<f64>, scale: f64) -> Right {
    let scales = vec![scale; right.len()];
    (right, scales)
}

struct Case {
    name: &'static str,
    generics: &'static [Type],
    arguments: fn(&mut Random) -> Vec<f32>,
    right: fn(&[f64]) -> Right,
    /// Whether the negated result is the same rotation.
    either: bool,
}

fn case(
    name: &'static str,
    generics: &'static [Type],
    arguments: fn(&mut Random) -> Vec<f32>,
    right: fn(&[f64]) -> Right,
) -> Case {
    Case { name, generics, arguments, right, either: false }
}

fn vectors() -> Vec<Case> {
    const V4: &[Type] = &[Type::VEC4];
    vec![
        case(
            "vector.dot",
            V4,
            |r| r.wides(8),
            |x| (vec![dot(&x[..4], &x[4..])], vec![dot(&sizes(&x[..4]), &sizes(&x[4..]))]),
        ),
        case(
            "vector.cross",
            &[],
            |r| r.wides(6),
            |x| of(cross(&x[..3], &x[3..]), length(&x[..3]) * length(&x[3..])),
        ),
        case("vector.length", V4, |r| r.wides(4), |x| of(vec![length(x)], length(x))),
        case(
            "vector.distance",
            V4,
            |r| r.wides(8),
            |x| {
                let way: Vec<f64> = (0..4).map(|i| x[i] - x[i + 4]).collect();
                of(vec![length(&way)], length(&way))
            },
        ),
        case(
            "vector.normalize",
            V4,
            |r| r.wides(4),
            |x| of_one(x.iter().map(|a| a / length(x)).collect()),
        ),
        case(
            "vector.rotate",
            &[],
            |r| [r.wides(6), vec![r.between(-100.0, 100.0)]].concat(),
            |x| of(rotated(&by_axis(&x[3..6], x[6]), &x[..3]), length(&x[..3])),
        ),
    ]
}

/// The length of a 2D vector and its angle.
fn polar(x: f64, y: f64) -> (f64, f64) {
    (x.hypot(y), y.atan2(x))
}

fn radius_and_angles(r: &mut Random) -> Vec<f32> {
    vec![r.wide(), r.between(-100.0, 100.0), r.between(-100.0, 100.0)]
}

fn coordinates() -> Vec<Case> {
    vec![
        case(
            "vector.to_polar",
            &[],
            |r| r.wides(2),
            |v| {
                let (radius, angle) = polar(v[0], v[1]);
                (vec![radius, angle], vec![radius, 1.0])
            },
        ),
        case(
            "vector.from_polar",
            &[],
            |r| radius_and_angles(r)[..2].to_vec(),
            |x| of(vec![x[0] * x[1].cos(), x[0] * x[1].sin()], x[0].abs()),
        ),
        case(
            "vector.to_spherical",
            &[],
            |r| r.wides(3),
            |v| {
                let (flat, azimuth) = polar(v[0], v[1]);
                let (radius, elevation) = polar(flat, v[2]);
                (vec![radius, azimuth, elevation], vec![radius, 1.0, 1.0])
            },
        ),
        case("vector.from_spherical", &[], radius_and_angles, |x| {
            let flat = x[0] * x[2].cos();
            of(vec![flat * x[1].cos(), flat * x[1].sin(), x[0] * x[2].sin()], x[0].abs())
        }),
        case(
            "vector.to_cylindrical",
            &[],
            |r| r.wides(3),
            |v| {
                let (radius, azimuth) = polar(v[0], v[1]);
                (vec![radius, azimuth, v[2]], vec![radius, 1.0, 1.0])
            },
        ),
        case("vector.from_cylindrical", &[], radius_and_angles, |x| {
            of(vec![x[0] * x[1].cos(), x[0] * x[1].sin(), x[2]], x[0].abs())
        }),
    ]
}

fn more_vectors() -> Vec<Case> {
    const V4: &[Type] = &[Type::VEC4];
    const V3: &[Type] = &[Type::VEC3];
    vec![
        case("vector.length_squared", V4, |r| r.wides(4), |x| of(vec![dot(x, x)], dot(x, x))),
        case(
            "vector.mean",
            V4,
            |r| r.wides(4),
            |x| {
                let mean = |x: &[f64]| x.iter().sum::<f64>() / 4.0;
                of(vec![mean(x)], mean(&sizes(x)))
            },
        ),
        case(
            "vector.manhattan_distance",
            V4,
            |r| r.wides(8),
            |x| {
                let sum: f64 = (0..4).map(|i| (x[i] - x[i + 4]).abs()).sum();
                of(vec![sum], sum)
            },
        ),
        case(
            "vector.angle",
            V3,
            |r| r.wides(6),
            |x| {
                let turned = length(&cross(&x[..3], &x[3..]));
                of_one(vec![turned.atan2(dot(&x[..3], &x[3..]))])
            },
        ),
        case(
            "vector.reflect",
            V3,
            |r| r.wides(6),
            |x| {
                let (v, n) = x.split_at(3);
                let twice = 2.0 * dot(v, n) / dot(n, n);
                of((0..3).map(|i| v[i] - twice * n[i]).collect(), length(v))
            },
        ),
    ]
}

fn rotations() -> Vec<Case> {
    let mut cases = vec![
        case(
            "quat.from_axis_angle",
            &[],
            |r| [r.wides(3), vec![r.between(-100.0, 100.0)]].concat(),
            |x| of_one(by_axis(&x[..3], x[3])),
        ),
        case(
            "quat.from_euler",
            &[],
            |r| (0..3).map(|_| r.between(-10.0, 10.0)).collect(),
            |x| {
                let about = [0, 1, 2].map(|i| {
                    let axis = [0, 1, 2].map(|k| if k == i { 1.0 } else { 0.0 });
                    by_axis(&axis, x[i])
                });
                of_one(product(&about[2], &product(&about[1], &about[0])))
            },
        ),
        case(
            "quat.multiply",
            &[],
            |r| r.wides(8),
            |x| of(product(&x[..4], &x[4..]), length(&x[..4]) * length(&x[4..])),
        ),
        case(
            "quat.normalize",
            &[],
            |r| r.wides(4),
            |x| of_one(x.iter().map(|a| a / length(x)).collect()),
        ),
        case(
            "quat.rotate",
            &[],
            |r| [r.quat(), r.wides(3)].concat(),
            |x| of(rotated(&x[..4], &x[4..]), length(&x[4..])),
        ),
        case(
            "quat.slerp",
            &[],
            |r| [r.quat(), r.quat(), vec![r.between(0.0, 1.0)]].concat(),
            |x| {
                let (a, b, t) = (&x[..4], &x[4..8], x[8]);
                let b = if dot(a, b) < 0.0 { opposite(b) } else { b.to_vec() };
                let angle = (dot(a, &b) / (length(a) * length(&b))).min(1.0).acos();
                let mixed = |i: usize| a[i] * ((1.0 - t) * angle).sin() + b[i] * (t * angle).sin();
                let mixed: Vec<f64> = (0..4).map(mixed).collect();
                of_one(mixed.iter().map(|x| x / length(&mixed)).collect())
            },
        ),
        case(
            "quat.angle",
            &[],
            |r| [r.quat(), r.quat()].concat(),
            |x| {
                let way = product(&x[4..], &[x[0], -x[1], -x[2], -x[3]]);
                of_one(vec![2.0 * length(&way[1..]).atan2(way[0].abs())])
            },
        ),
        case("mat4.rotation", &[], Random::quat, |x| of_one(matrix(x))),
    ];
    cases.push(Case {
        either: true,
        ..case(
            "quat.from_mat4",
            &[],
            |r| {
                let q: Vec<f64> = r.quat().into_iter().map(f64::from).collect();
                let size = length(&q);
                let unit: Vec<f64> = q.iter().map(|x| x / size).collect();
                matrix(&unit).into_iter().map(|x| x as f32).collect()
            },
            |m| of_one(quat_of(m)),
        )
    });
    cases
}

fn matrices() -> Vec<Case> {
    vec![
        case(
            "mat4.multiply",
            &[],
            |r| r.wides(32),
            |x| {
                let (a, b) = x.split_at(16);
                let all = |a: &[f64], b: &[f64]| -> Vec<f64> {
                    let one =
                        |at: usize| (0..4).map(|k| a[at / 4 * 4 + k] * b[4 * k + at % 4]).sum();
                    (0..16).map(one).collect()
                };
                (all(a, b), all(&sizes(a), &sizes(b)))
            },
        ),
        case(
            "mat4.transform_point",
            &[],
            |r| r.wides(19),
            |x| {
                let all = |x: &[f64]| -> Vec<f64> {
                    (0..3)
                        .map(|row| dot(&x[4 * row..4 * row + 3], &x[16..]) + x[4 * row + 3])
                        .collect()
                };
                (all(x), all(&sizes(x)))
            },
        ),
        case(
            "mat4.transform_direction",
            &[],
            |r| r.wides(19),
            |x| {
                let all = |x: &[f64]| -> Vec<f64> {
                    (0..3).map(|row| dot(&x[4 * row..4 * row + 3], &x[16..])).collect()
                };
                (all(x), all(&sizes(x)))
            },
        ),
        case(
            "mat4.transform_vec4",
            &[],
            |r| r.wides(20),
            |x| {
                let all = |x: &[f64]| -> Vec<f64> {
                    (0..4).map(|row| dot(&x[4 * row..4 * row + 4], &x[16..])).collect()
                };
                (all(x), all(&sizes(x)))
            },
        ),
        case(
            "mat4.determinant_3x3",
            &[],
            |r| r.wides(16),
            |m| {
                let rows = [&m[..3], &m[4..7], &m[8..11]];
                let s = rows.map(sizes);
                let across = |i: usize, j: usize| s[1][i] * s[2][j] + s[1][j] * s[2][i];
                let scale =
                    s[0][0] * across(1, 2) + s[0][1] * across(2, 0) + s[0][2] * across(0, 1);
                (vec![dot(rows[0], &cross(rows[1], rows[2]))], vec![scale])
            },
        ),
    ]
}

fn colors() -> Vec<Case> {
    /// From dark to ten times white.
    fn color(r: &mut Random) -> Vec<f32> {
        let dark = r.between(-14.0, 3.3).exp2();
        (0..4).map(|_| r.between(0.0, 1.0) * dark).collect()
    }
    fn by_channel(x: &[f64], f: impl Fn(f64) -> f64) -> Right {
        let mut right: Vec<f64> = x[..3].iter().map(|x| f(*x)).collect();
        right.push(x[3]);
        let scales = sizes(&right);
        (right, scales)
    }
    vec![
        case("color.from_srgb", &[], color, |x| {
            let linear = |x: f64| {
                if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
            };
            by_channel(x, linear)
        }),
        case("color.to_srgb", &[], color, |x| {
            let encoded = |x: f64| {
                if x <= 0.003_130_8 { x * 12.92 } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 }
            };
            by_channel(x, encoded)
        }),
        case(
            "color.convert",
            &[],
            |r| (0..4).map(|_| r.between(0.0, 1.0)).collect(),
            |x| {
                // The matrices of B. Ottosson.
                let cones = [
                    [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
                    [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
                    [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
                ];
                let lab = [
                    [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
                    [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
                    [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
                ];
                let roots = cones.map(|row| dot(&row, &x[..3]).cbrt());
                of_one(lab.iter().map(|row| dot(row, &roots)).chain([x[3]]).collect())
            },
        ),
        case("color.luminance", &[], color, |x| {
            let right = dot(&x[..3], &[0.2126, 0.7152, 0.0722]);
            of(vec![right], right)
        }),
    ]
}

/// The bound stated in the manual.
fn stated(name: &str) -> f64 {
    let registry = crate::registry();
    let def = registry.get(name).unwrap_or_else(|| panic!("no {name}"));
    let details = &def.manual.details;
    let bound = details.split_once("error");
    let bound = bound.and_then(|(_, text)| text.split_once("at most "));
    let (_, stated) = bound.unwrap_or_else(|| panic!("{name} states no bound"));
    let number = stated.split_whitespace().next().expect("a number follows");
    number
        .trim_end_matches(['.', ':', ',', ';'])
        .parse()
        .unwrap_or_else(|_| panic!("{name}: {number}"))
}

#[test]
fn nodes_are_as_accurate_as_the_manual_states() {
    let mut wrong = Vec::new();
    let cases = [vectors(), more_vectors(), coordinates(), rotations(), matrices(), colors()];
    let more = [mixing::mixes(), mixing::curves()];
    for case in cases.into_iter().chain(more).flatten() {
        let (name, stated) = (case.name, stated(case.name));
        let node = instance(name, &json!({}), case.generics, &[]);
        let Kernel::Form(form) = node.kernel else { panic!("{name} is a form") };
        let (mut random, mut most, mut memory) = (Random(1), 0.0_f64, Vec::new());
        let mut results = vec![0; form.results.len()];
        for _ in 0..20_000 {
            let arguments = (case.arguments)(&mut random);
            assert_eq!(arguments.len(), form.params.len(), "arguments of {name}");
            let params: Vec<u64> = arguments.iter().map(|x| u64::from(x.to_bits())).collect();
            form.run_scalar(&params, &mut results, &mut memory);
            let found = results.iter().map(|bits| f64::from(f32::from_bits(*bits as u32)));
            let found: Vec<f64> = found.collect();
            let arguments: Vec<f64> = arguments.into_iter().map(f64::from).collect();
            let (right, scales) = (case.right)(&arguments);
            let right =
                if case.either && dot(&right, &found) < 0.0 { opposite(&right) } else { right };
            assert_eq!((right.len(), scales.len()), (found.len(), found.len()), "{name}");
            for ((found, right), scale) in found.iter().zip(&right).zip(&scales) {
                let off = (found - right).abs();
                assert!(off.is_finite(), "{name}: {found} for {right}");
                if off > 0.0 {
                    most = most.max(off / scale);
                }
            }
        }
        if most > stated {
            wrong.push(format!("{name}: the error is {most:e}, but {stated:e} is stated"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
