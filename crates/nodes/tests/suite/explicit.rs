//! The nodes that messages suggest where types differ.

use expect_test::expect;
use millstream_base::Type;
use millstream_node::Registry;
use millstream_node::convert::convertible;
use millstream_node::explicit::explicit_conversions;

fn line(registry: &Registry, from: Type, to: Type) -> Option<String> {
    let nodes = explicit_conversions(registry, from, &[to], 2);
    let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    let misfit = !convertible(from, to);
    (misfit && !nodes.is_empty()).then(|| format!("{from} -> {to}: {}\n", nodes.join(", ")))
}

#[test]
fn messages_name_the_nodes_that_convert() {
    let registry = millstream_nodes::registry();
    let mut text = String::new();
    for from in Type::BUILT_IN {
        for to in Type::BUILT_IN {
            text.extend(line(&registry, from, to));
        }
    }
    let list = |ty: Type| ty.list().unwrap();
    let lists = [
        (list(Type::I32), list(Type::F32)),
        (list(Type::F64), list(Type::I64)),
        (list(Type::F32), Type::F32),
        (list(Type::STRING), Type::STRING),
        (list(list(Type::F32)), list(Type::F32)),
        (Type::STRING, list(Type::STRING)),
        (Type::of::<millstream_base::Table>(), list(Type::F64)),
        (Type::of::<millstream_base::Table>(), list(Type::STRING)),
        (Type::F64, list(Type::I32)),
        (Type::F64, list(Type::F32)),
    ];
    text.extend(lists.into_iter().filter_map(|(from, to)| line(&registry, from, to)));
    expect![[r#"
        bool -> vec2: `convert.to_f32`, `convert.to_i32`
        bool -> vec3: `convert.to_f32`, `convert.to_i32`
        bool -> vec4: `convert.to_f32`, `convert.to_i32`
        bool -> string: `string.from_number`
        i32 -> bool: `convert.to_bool`
        i32 -> quat: `quat.from_euler`
        i32 -> string: `string.from_number`
        i64 -> bool: `convert.to_bool`
        i64 -> i32: `convert.to_i32`
        i64 -> f32: `convert.to_f32`
        i64 -> vec2: `convert.to_f32`, `convert.to_i32`
        i64 -> vec3: `convert.to_f32`, `convert.to_i32`
        i64 -> vec4: `convert.to_f32`, `convert.to_i32`
        i64 -> string: `string.from_number`
        f32 -> bool: `convert.to_bool`
        f32 -> i32: `convert.to_i32`
        f32 -> i64: `convert.to_i64`
        f32 -> quat: `quat.from_euler`
        f32 -> string: `string.from_number`
        f64 -> bool: `convert.to_bool`
        f64 -> i32: `convert.to_i32`
        f64 -> i64: `convert.to_i64`
        f64 -> vec2: `convert.to_f32`, `convert.to_i32`
        f64 -> vec3: `convert.to_f32`, `convert.to_i32`
        f64 -> vec4: `convert.to_f32`, `convert.to_i32`
        f64 -> string: `string.from_number`
        vec2 -> f32: `vector.separate_vec2` and its output `x`
        vec2 -> f64: `vector.separate_vec2` and its output `x`
        vec3 -> f32: `vector.separate_vec3` and its output `x`
        vec3 -> f64: `vector.separate_vec3` and its output `x`
        vec3 -> quat: `quat.from_euler`
        vec4 -> f32: `vector.separate_vec4` and its output `x`
        vec4 -> f64: `vector.separate_vec4` and its output `x`
        quat -> vec3: `quat.to_euler`
        quat -> color: `quat.to_euler`
        quat -> mat4: `mat4.rotation`
        color -> f32: `color.luminance`, `color.separate` and its output `red`
        color -> f64: `color.luminance`, `color.separate` and its output `red`
        color -> quat: `quat.from_euler`
        mat4 -> quat: `quat.from_mat4`
        string -> f32: `string.to_number`
        string -> f64: `string.to_number`
        list<i32> -> list<f32>: `list.convert` with "to": "f32"
        list<f64> -> list<i64>: `list.convert` with "to": "i64"
        list<f32> -> f32: `list.get`
        list<string> -> string: `list.get`, `string.join`
        list<list<f32>> -> list<f32>: `list.flatten`, `list.get`
        table -> list<f64>: `table.column` with "type": "f64"
        table -> list<string>: `table.column` with "type": "string"
        f64 -> list<i32>: `convert.to_i32`, `list.convert` with "to": "i32"
        f64 -> list<f32>: `convert.to_f32`, `list.convert` with "to": "f32"
    "#]]
    .assert_eq(&text);
}
