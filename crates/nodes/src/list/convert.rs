//! Conversion of lists of numbers to another type.

use millstream_base::{Lane, Type, ValueType};
use millstream_form::LaneValue;
use millstream_node::function::SharedFunction;
use millstream_node::{Among, Kernel, NodeDef, Registry, Settings};
use std::sync::Arc;

use super::LIST;
use crate::each::{Items, each_list};
use crate::shape::{list_of, sockets_of};

pub(super) fn register(registry: &mut Registry) {
    registry.register(convert());
}

/// Types that can be converted.
const SCALARS: Among = Among::These(&[Type::BOOL, Type::I32, Type::I64, Type::F32, Type::F64]);

fn convert() -> NodeDef {
    const TYPES: &[(&str, &str)] = &[
        ("bool", "whether the number is not zero; true for NaN"),
        ("i32", "truncated toward zero and clamped to the range of the type; NaN becomes 0"),
        ("i64", "truncated toward zero and clamped to the range of the type; NaN becomes 0"),
        ("f32", "rounded to the nearest `f32`"),
        ("f64", "rounded to the nearest `f64`"),
    ];
    NodeDef::new("list.convert", "Converts the numbers of a list to another type")
        .converts()
        .details(
            "Single numbers are converted implicitly where a link needs it; lists of numbers are \
             not. From `i64` to `i32` the upper bits are dropped.",
        )
        .choice("to", TYPES, "f32", "type of the new items")
        .sockets_by_settings(|settings| {
            let to = list_of(Type::of_lane(to(settings)));
            let sockets = NodeDef::new("", "")
                .generic("T", SCALARS)
                .input("list", LIST, "numbers to convert")
                .output("value", to, "converted numbers");
            Ok(sockets_of(&sockets))
        })
        .kernel(|parts| {
            let (from, _) = parts.generics[0].lanes().expect("the socket takes lists of numbers");
            Ok(Kernel::Function(conversion(from, to(parts.settings))))
        })
}

fn to(settings: &Settings) -> Lane {
    Lane::from_name(settings.text("to")).unwrap_or(Lane::F32)
}

fn conversion(from: Lane, to: Lane) -> SharedFunction {
    match from {
        Lane::Bool => conversion_from::<bool>(to),
        Lane::I32 => conversion_from::<i32>(to),
        Lane::I64 => conversion_from::<i64>(to),
        Lane::F32 => conversion_from::<f32>(to),
        Lane::F64 => conversion_from::<f64>(to),
    }
}

fn conversion_from<T: ValueType + LaneValue>(to: Lane) -> SharedFunction {
    match to {
        Lane::Bool => converted(T::to_bool),
        Lane::I32 => converted(T::to_i32),
        Lane::I64 => converted(T::to_i64),
        Lane::F32 => converted(T::to_f32),
        Lane::F64 => converted(T::to_f64),
    }
}

fn converted<T: ValueType + Copy, R: ValueType>(item: fn(T) -> R) -> SharedFunction {
    Arc::new(each_list::<(Items<T>,), R>(
        |(items,)| items.len(),
        move |_, (items,), converted| {
            converted.extend(items.iter().map(|x| item(*x)));
            Ok(())
        },
    ))
}
