//! Values of every built-in type, the simple ones first.

use std::sync::Arc;

use millstream_base::types::Kind;
use millstream_base::{Column, Lane, Type, Value};

const F64S: [f64; 16] = [
    0.0,
    1.0,
    2.0,
    -1.0,
    0.5,
    -0.0,
    3.25,
    -7.5,
    0.1,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    1e-310,
    1e30,
    -1e-40,
    1e300,
];
const I64S: [i64; 12] = [0, 1, 2, 3, -1, 4, 7, -5, 100, i32::MAX as i64, i32::MIN as i64, i64::MAX];
const TEXTS: [&str; 6] = ["", "a", "stream", "1.5", "a b a", "\u{e9}t\u{e9}"];

/// Value `i` of a type, for any number `i`.
pub fn value(ty: Type, i: usize) -> Value {
    match ty.kind() {
        Kind::Lanes(lane, n) => {
            let lanes: Vec<u64> = (0..n as usize).map(|k| lane_bits(lane, i + 5 * k)).collect();
            Value::from_lanes(ty, &lanes).expect("there are as many lanes as the type has")
        }
        Kind::String => Value::String(TEXTS[i % TEXTS.len()].into()),
        Kind::List(element) => Value::List(column(element, i % 5, i / 5)),
        Kind::Opaque => ty.default_value(),
    }
}

fn lane_bits(lane: Lane, i: usize) -> u64 {
    match lane {
        Lane::Bool => (i % 2) as u64,
        Lane::I32 => u64::from(I64S[i % (I64S.len() - 1)] as i32 as u32),
        Lane::I64 => I64S[i % I64S.len()] as u64,
        Lane::F32 => u64::from((F64S[i % (F64S.len() - 1)] as f32).to_bits()),
        Lane::F64 => F64S[i % F64S.len()].to_bits(),
    }
}

/// A column of `n` values; different seeds give different columns.
pub fn column(ty: Type, n: usize, seed: usize) -> Column {
    let stride = 1 + seed % 3;
    ty.collect(&mut (0..n).map(|i| value(ty, seed + i * stride))).expect("values of one type")
}

/// Types of graph inputs, the simple ones first.
pub fn input_types() -> Vec<Type> {
    let list = |ty: Type| ty.list().expect("one level of lists");
    vec![
        Type::F32,
        Type::I32,
        Type::BOOL,
        Type::F64,
        Type::VEC3,
        Type::I64,
        Type::STRING,
        list(Type::F32),
        list(Type::I32),
        Type::COLOR,
        Type::VEC2,
        list(list(Type::F32)),
    ]
}

/// Formulas for `math.expression`.
pub const FORMULAS: [&str; 9] = [
    "x",
    "x + 1",
    "x * y - z",
    "x < y ? x : y",
    "max(x, y) / (1 + abs(z))",
    "x % 3 == 0 ? y : x + y",
    "vec3(x, y, 2).zyx * y",
    "dot(vec2(x, y), vec2(2, y)) > z ? 1 : z / 2",
    "x == y || !(x < z)",
];

/// The names and types of features that the document declares.
pub fn own_features() -> [(Arc<str>, Type); 2] {
    [("wind".into(), Type::F32), ("sun".into(), Type::I32)]
}
