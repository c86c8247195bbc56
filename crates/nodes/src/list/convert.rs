//! Lists of numbers of another type.

use millstream_base::{Lane, Type, ValueType};
use millstream_form::LaneValue;
use millstream_node::function::SharedFunction;
use millstream_node::{
    Among, Call, Failure, Kernel, NodeDef, Registry, SettingKind, SettingValue, Settings, Signature,
};
use std::sync::Arc;

use super::{LIST, slice};
use crate::cells::ListCells;

pub(super) fn register(registry: &mut Registry) {
    registry.register(convert());
}

/// What can be converted.
const SCALARS: Among = Among::These(&[Type::BOOL, Type::I32, Type::I64, Type::F32, Type::F64]);

fn convert() -> NodeDef {
    let choices = SettingKind::Choice(&[
        ("bool", "whether the number is other than zero; NaN is"),
        ("i32", "cut towards zero; what is too large becomes the nearest that fits, NaN 0"),
        ("i64", "cut towards zero; what is too large becomes the nearest that fits, NaN 0"),
        ("f32", "the nearest number"),
        ("f64", "the nearest number"),
    ]);
    NodeDef::new("list.convert", "A list with its numbers in another type")
        .converts()
        .details(
            "Single numbers convert by themselves where a link needs it, lists of them do not. From \
             `i64` to `i32` the upper bits are dropped.",
        )
        .setting("to", choices, Some(SettingValue::Text("f32".into())), "the type of the new items")
        .sockets_by_settings(|settings| {
            let to = Type::of_lane(to(settings)).list().expect("lists of numbers exist");
            let sockets = NodeDef::new("", "")
                .generic("T", SCALARS)
                .input("list", LIST, "what is converted")
                .output("value", to, "as long as the list");
            Ok(sockets.fixed_signature().map_or_else(Signature::default, Clone::clone))
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
    Arc::new(move |call: &mut Call<'_>| -> Result<(), Failure> {
        let mut cells = ListCells::<R>::new(call);
        let lists = call.lists(0);
        cells.fill(
            call,
            |i| lists.n_items(i),
            |i, items| {
                items.extend(slice::<T>(&lists, i).iter().map(|x| item(*x)));
                Ok(())
            },
        )?;
        cells.put(call)
    })
}
