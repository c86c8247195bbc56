//! The implicit conversions of the document format.

use std::sync::Arc;

use millstream_base::ragged::Ragged;
use millstream_base::{Column, Lane, Type, Value};

use crate::function::{Call, Data, Failure};
pub use crate::implicit::{convertible, narrows};
use crate::implicit::{lanes_convertible, widens};
use crate::node_def::NodeDef;
use crate::node_def::instance::{Instance, Kernel};
use crate::settings::{SettingError, SettingKind, Settings};
use crate::signature::{Among, Default, Generic, OutputSocket, Signature, Socket, SocketType};
use millstream_form::{Form, FormBuilder};

/// The name of the node type that converts, whose nodes the compiler inserts.
pub const CONVERT: &str = "convert";

/// The node type of implicit conversions: `convert{"to": "vec3"}`. Every registry has it.
pub fn node_type() -> NodeDef {
    NodeDef::new(CONVERT, "A value as another type")
        .details(
            "The compiler inserts it where a link joins two types of which the first converts \
             to the second: `bool` to `i32`, `i64`, `f32` and `f64` (0 or 1); `i32` to `i64`, `f32` \
             and `f64`; `i64` to `f64`; `f32` and `f64` to each other; `f32` and `i32` to vectors, by \
             repetition; `vec3` and `color` to each other (alpha is 1, or dropped); a value to a list \
             of it, and a number to a list of a wider type of number. A literal as the input has the \
             type of the result. Explicit conversions with a choice of rounding are nodes of their \
             own.\n\nThe sockets of a \
             generic type, such as `T`, take the first type in its list that holds all inputs linked \
             to them: it has no fewer bits per number than any of them, and fractions if any has. So \
             `f64` with `f32`, and `i64` with `f32`, make `f64`; `i32` with `f32` makes `f32`, in which \
             integers are exact up to 2^24; `f32` or `i32` with a vector makes the vector. Literals \
             adapt to what is linked.\n\nA link narrows, from `f64` to `f32` or from `color` to \
             `vec3`, only where no type that the socket takes is wide enough. `check` tells of it in a \
             note, unless this node says that it is meant. It also tells of an `i32` beyond 2^24 that \
             may become `f32`.",
        )
        .setting("to", SettingKind::Type, None, "the type of the result")
        .sockets_by_settings(|settings| {
            let to = settings.ty("to").ok_or_else(|| SettingError::refused("to", "is no type"))?;
            Ok(Signature {
                generics: vec![Generic { name: "T", among: Among::AnyOr(to) }],
                inputs: vec![Socket {
                    about: "what to convert".into(),
                    ..Socket::new("x", SocketType::Generic(0), Default::Required)
                }],
                outputs: vec![OutputSocket {
                    about: "the same as the other type".into(),
                    ..OutputSocket::new("value", SocketType::Exact(to))
                }],
            })
        })
        .kernel(|parts| {
            let (from, to) = (parts.generics[0], parts.outputs[0].ty);
            if from == to {
                return Ok(Kernel::Pass);
            }
            conversion(from, to).ok_or_else(|| {
                SettingError::refused("to", format!("{} is no {to}", from.with_article()))
            })
        })
}

/// The instance that converts `from` to `to`; `None` if there is no such conversion. `def` is the
/// [`node_type`] of a registry.
pub fn instance(def: &Arc<NodeDef>, from: Type, to: Type) -> Option<Instance> {
    let name = serde_json::Value::from(to.name());
    let settings = Settings::read(&def.settings, [("to", &name)], &|_| Some(to)).ok()?;
    def.instantiate(settings, vec![from], &[1]).ok()
}

/// The kernel that converts `from` to `to`; `None` if there is no such conversion.
pub fn conversion(from: Type, to: Type) -> Option<Kernel> {
    if lanes_convertible(from, to) {
        return Some(Kernel::Form(Arc::new(lanes_form(from, to))));
    }
    let item = to.element().filter(|item| *item == from || widens(from, to))?;
    let form = (item != from).then(|| lanes_form(from, item));
    let list = move |call: &mut Call<'_>| list_of_one(call, item, form.as_ref());
    Some(Kernel::Function(Arc::new(list)))
}

/// The form that converts lanes of `from` to those of `to`.
fn lanes_form(from: Type, to: Type) -> Form {
    let b = FormBuilder::new();
    let (from_lane, from_n) = from.lanes().expect("convertible types are made of lanes");
    let (to_lane, to_n) = to.lanes().expect("convertible types are made of lanes");
    let params: Vec<_> = (0..from_n).map(|_| b.param(from_lane)).collect();
    let results: Vec<_> = (0..to_n as usize)
        .map(|i| {
            if from_n == 1 {
                params[0].convert(to_lane)
            } else {
                // A vector becomes an opaque color; a color loses its alpha.
                params.get(i).copied().unwrap_or_else(|| b.constant(Lane::F32, 1.0))
            }
        })
        .collect();
    b.finish(&results)
}

/// Makes lists of one item each; `form` converts an item, unless its type stays.
fn list_of_one(call: &mut Call<'_>, item: Type, form: Option<&Form>) -> Result<(), Failure> {
    let converted = |value: &Value| match form {
        Some(form) => lanes_value(form, value, item).expect("the conversion exists"),
        None => value.clone(),
    };
    match call.argument(0).data() {
        Data::One(value) => {
            let list = Column::filled(&converted(value), 1);
            call.set_one(0, Value::List(list));
        }
        Data::Many(column) => {
            let map = call.argument(0).map();
            let mut entries = column.gather((0..call.extent()).map(|i| map.entry(i)));
            if form.is_some() {
                let made = item.collect(&mut entries.iter().map(|value| converted(&value)));
                entries = made.expect("the values have this type");
            }
            let lists = Ragged::even(call.extent(), entries);
            let lists = lists.ok_or_else(|| Failure::whole("lists are nested too deeply"))?;
            call.set(0, Column::from_ragged(lists));
        }
    }
    Ok(())
}

/// The value as another type; `None` if there is no such conversion.
pub fn convert_value(value: &Value, to: Type) -> Option<Value> {
    let from = value.ty();
    if from == to {
        return Some(value.clone());
    }
    if lanes_convertible(from, to) {
        return lanes_value(&lanes_form(from, to), value, to);
    }
    let item = to.element().filter(|item| *item == from || widens(from, to))?;
    Some(Value::List(Column::filled(&convert_value(value, item)?, 1)))
}

/// The value that a form makes of the lanes of another.
fn lanes_value(form: &Form, value: &Value, to: Type) -> Option<Value> {
    let (_, n_from) = value.ty().lanes()?;
    let (_, n_to) = to.lanes()?;
    let params: Option<Vec<u64>> = (0..n_from as usize).map(|i| value.lane(i)).collect();
    let mut results = vec![0; n_to as usize];
    form.run_scalar(&params?, &mut results, &mut Vec::new());
    Value::from_lanes(to, &results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_documented_conversions_exist() {
        let text = |from: Type| {
            let to = Type::BUILT_IN.into_iter().filter(|to| *to != from && convertible(from, *to));
            to.map(Type::name).collect::<Vec<_>>().join(" ")
        };
        let all: Vec<String> =
            Type::BUILT_IN.into_iter().map(|from| format!("{from}: {}", text(from))).collect();
        expect_test::expect![[r"
            bool: i32 i64 f32 f64
            i32: i64 f32 f64 vec2 vec3 vec4
            i64: f64
            f32: f64 vec2 vec3 vec4
            f64: f32
            vec2: 
            vec3: color
            vec4: 
            quat: 
            color: vec3
            mat4: 
            string: 
        "]]
        .assert_eq(&(all.join("\n") + "\n"));
    }

    #[test]
    fn conversions_that_narrow_have_fewer_bits_per_number_or_fewer_numbers() {
        let shape = |ty: Type| {
            let (lane, n) = ty.lanes()?;
            let bits = match lane {
                Lane::Bool => 1,
                Lane::I32 | Lane::F32 => 32,
                Lane::I64 | Lane::F64 => 64,
            };
            Some((bits, n))
        };
        for from in Type::BUILT_IN {
            for to in Type::BUILT_IN.into_iter().filter(|to| convertible(from, *to)) {
                let (Some((bits, n)), Some((to_bits, to_n))) = (shape(from), shape(to)) else {
                    assert!(!narrows(from, to), "{from} to {to}");
                    continue;
                };
                assert_eq!(narrows(from, to), bits > to_bits || n > to_n, "{from} to {to}");
            }
        }
    }

    #[test]
    fn the_inserted_node_has_an_instance_for_each_conversion_and_no_other() {
        let def = Arc::new(node_type());
        for from in Type::BUILT_IN {
            for to in Type::BUILT_IN {
                let instance = instance(&def, from, to);
                assert_eq!(instance.is_some(), convertible(from, to), "{from} to {to}");
            }
        }
    }

    #[test]
    fn constants_convert_like_columns() {
        let list = Type::F32.list().expect("one level");
        let converted = convert_value(&Value::F32(0.5), list).expect("a list of one");
        assert_eq!(converted.to_string(), "[0.5]");
        let widened = convert_value(&Value::I32(1), list).expect("a list of a wider number");
        assert_eq!(widened.to_string(), "[1.0]");
        assert!(convert_value(&Value::F64(1.0), list).is_none(), "it would narrow");
        let white = convert_value(&Value::Vec3([1.0; 3].into()), Type::COLOR).expect("opaque");
        assert_eq!(white.to_string(), "[1.0, 1.0, 1.0, 1.0]");
    }
}
