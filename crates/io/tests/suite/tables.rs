//! Tables of every type with any values.

use std::sync::Arc;

use millstream_base::ragged::Ragged;
use millstream_base::{Color, Column, Mat4, Quat, Type, Vec2, Vec3, Vec4};
use millstream_io::{Format, Table};
use proptest::prelude::*;

/// Any bits of a float, with special values more often.
pub(crate) fn any_f32() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => any::<u32>().prop_map(f32::from_bits),
        1 => prop_oneof![Just(-0.0), Just(f32::INFINITY), Just(f32::NAN), Just(f32::MIN_POSITIVE)],
        2 => (-1000..1000_i32).prop_map(|x| x as f32 / 8.0),
    ]
}

fn any_f64() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<u64>().prop_map(f64::from_bits),
        1 => prop_oneof![Just(-0.0), Just(f64::NEG_INFINITY), Just(f64::NAN)],
    ]
}

fn any_text() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![
        prop::collection::vec(any::<char>(), 0..6).prop_map(|chars| chars.into_iter().collect()),
        prop::sample::select(vec!["", "nan", "a,b", "\"", "\r\n", " 1 ", "true", "#", "=1"])
            .prop_map(str::to_owned),
    ]
    .prop_map(Arc::from)
}

fn lanes<const N: usize>() -> impl Strategy<Value = [f32; N]> {
    prop::collection::vec(any_f32(), N)
        .prop_map(|lanes| lanes.try_into().expect("as many as asked for"))
}

fn column_of<S>(value: S, n_rows: usize) -> BoxedStrategy<Column>
where
    S: Strategy + 'static,
    S::Value: millstream_base::ValueType,
{
    prop::collection::vec(value, n_rows).prop_map(Column::from_vec).boxed()
}

/// A column of this type.
pub(crate) fn column(ty: Type, n_rows: usize) -> BoxedStrategy<Column> {
    if let Some(element) = ty.element() {
        let lengths = prop::collection::vec(0..4_usize, n_rows);
        return lengths
            .prop_flat_map(move |lengths| {
                let mut offsets = vec![0];
                for length in lengths {
                    offsets.push(offsets.last().expect("never empty") + length);
                }
                let total = *offsets.last().expect("never empty");
                (Just(offsets), column(element, total))
            })
            .prop_map(|(offsets, values)| {
                Column::from_ragged(Ragged::new(offsets, values).expect("offsets fit"))
            })
            .boxed();
    }
    match ty.name() {
        "bool" => column_of(any::<bool>(), n_rows),
        "i32" => column_of(any::<i32>(), n_rows),
        "i64" => column_of(any::<i64>(), n_rows),
        "f32" => column_of(any_f32(), n_rows),
        "f64" => column_of(any_f64(), n_rows),
        "vec2" => column_of(lanes().prop_map(Vec2), n_rows),
        "vec3" => column_of(lanes().prop_map(Vec3), n_rows),
        "vec4" => column_of(lanes().prop_map(Vec4), n_rows),
        "quat" => column_of(lanes().prop_map(Quat), n_rows),
        "color" => column_of(lanes().prop_map(Color), n_rows),
        "mat4" => column_of(lanes().prop_map(Mat4), n_rows),
        "string" => column_of(any_text(), n_rows),
        name => panic!("no strategy for {name}"),
    }
}

/// The types that a format can hold.
pub(crate) fn types_of(format: Format) -> Vec<Type> {
    let built_in = Type::BUILT_IN.into_iter();
    match format.name() {
        "csv" | "tsv" => built_in.collect(),
        "json" | "jsonl" | "parquet" | "arrow" => {
            built_in.flat_map(|ty| [Some(ty), ty.list()]).flatten().collect()
        }
        "npy" => built_in.filter(|ty| *ty != Type::STRING).collect(),
        "ply" => built_in.filter(|ty| ![Type::STRING, Type::I64].contains(ty)).collect(),
        "obj" => vec![Type::VEC3],
        name => panic!("the types that {name} holds are to be listed here"),
    }
}

/// Names that formats may contain, including conventional ones.
fn name_of(format: Format, i: usize) -> String {
    match format.name() {
        "npy" => "value".into(),
        "obj" => ["position", "normal"][i].into(),
        _ => ["a", "position", "c_x", "normal", "color", "texcoord"][i].into(),
    }
}

/// A table that a format can hold.
pub(crate) fn table(format: Format) -> impl Strategy<Value = Table> {
    let n_columns = match format.name() {
        "npy" => 1..2_usize,
        "obj" => 1..3,
        _ => 1..5,
    };
    let types = prop::collection::vec(prop::sample::select(types_of(format)), n_columns);
    (types, 0..6_usize)
        .prop_flat_map(|(types, n_rows)| {
            types.into_iter().map(|ty| column(ty, n_rows)).collect::<Vec<_>>()
        })
        .prop_map(move |columns| {
            let mut table = Table::new("generated");
            for (i, column) in columns.into_iter().enumerate() {
                table.insert(&name_of(format, i), column).expect("one length");
            }
            table
        })
}

/// The formats that this build can write, except glTF, which holds only finite numbers and no empty
/// tables (it has its own tests).
pub(crate) fn written() -> Vec<Format> {
    let is_written = |format: &Format| format.is_built() && *format != Format::GLTF;
    Format::ALL.into_iter().filter(is_written).collect()
}

/// A triangle with its buffer embedded.
pub(crate) fn gltf() -> Vec<u8> {
    // Three positions, then three 16-bit indices.
    let data = "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAAAAABAAIA";
    format!(
        r#"{{"asset": {{"version": "2.0"}},
            "buffers": [{{"byteLength": 42, "uri": "data:application/octet-stream;base64,{data}"}}],
            "bufferViews": [
              {{"buffer": 0, "byteOffset": 0, "byteLength": 36}},
              {{"buffer": 0, "byteOffset": 36, "byteLength": 6}}],
            "accessors": [
              {{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
                "min": [0, 0, 0], "max": [1, 1, 0]}},
              {{"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"}}],
            "meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0}}, "indices": 1}}]}}]}}"#
    )
    .into_bytes()
}
