//! Missing items of a list: NaN among floats, the empty string among strings.

use std::sync::Arc;

use millstream_base::{Column, Type, ValueType};
use millstream_node::{Among, Call, Failure, NodeDef, Registry, SocketType};

use super::LIST;
use crate::cells::{ListCells, function, items};
use crate::missing::{Filling, Given, filled, is_missing};

pub(super) fn register(registry: &mut Registry) {
    registry.register(fill());
    registry.register(drop_missing());
}

fn fill() -> NodeDef {
    NodeDef::new("list.fill", "Fills in the missing items of a list")
        .details(
            "A float that is NaN and a string that is empty count as missing. A missing item \
             without a neighbor on the requested side stays missing. A mean is summed from the \
             first item to the last. Strings can be filled with a value, or from the previous or \
             the next item.",
        )
        .choice("how", Filling::ALL, "value", "how missing items are replaced")
        .generic("T", Among::These(&[Type::F32, Type::F64, Type::STRING]))
        .input("list", LIST, "")
        .input_or("value", SocketType::Generic(0), 0.0, "replacement of missing items")
        .output("value", LIST, "list with missing items filled in")
        .kernel(|parts| {
            let (how, ty) = (Filling::named(parts.settings.text("how")), parts.generics[0]);
            Ok(if ty == Type::STRING {
                function(move |call| filled_lists(call, how, Given::Text))
            } else if ty == Type::F32 {
                function(move |call| filled_lists(call, how, |x: f32| Given::Number(x.into())))
            } else {
                function(move |call| filled_lists(call, how, Given::Number))
            })
        })
}

fn filled_lists<T: ValueType>(
    call: &mut Call<'_>,
    how: Filling,
    given: impl Fn(T) -> Given,
) -> Result<(), Failure> {
    let mut cells = ListCells::<T>::new(call);
    let (lists, values) = (call.lists(0), call.input::<T>(1));
    cells.fill(
        call,
        |i| lists.n_items(i),
        |i, out| {
            let list = lists.list(i);
            let full = filled(&list, how, &given(values.get(i)));
            let full = full.map_err(|problem| {
                Failure::at(i, format!("the list contains {}, which {problem}", list.ty()))
            })?;
            out.extend_from_slice(full.as_slice().expect("filling keeps the type"));
            Ok(())
        },
    )?;
    cells.put(call)
}

/// Types with a value that stands for a missing item.
const SOMETIMES: Among = Among::These(&[
    Type::F32,
    Type::F64,
    Type::VEC2,
    Type::VEC3,
    Type::VEC4,
    Type::QUAT,
    Type::COLOR,
    Type::MAT4,
    Type::STRING,
]);

fn drop_missing() -> NodeDef {
    NodeDef::new("list.drop_missing", "Removes the missing items of a list")
        .details("Missing items are NaN, vectors with a component that is NaN, and empty strings.")
        .generic("T", SOMETIMES)
        .input("list", LIST, "")
        .output("value", LIST, "")
        .kernel(|_| {
            Ok(function(|call| {
                let source = items(call, 0);
                let is_there = is_there(&source);
                let mut cells = ListCells::<usize>::new(call);
                let lists = call.lists(0);
                cells.fill(
                    call,
                    |i| lists.n_items(i),
                    |i, places| {
                        places.extend(lists.parts(i).1.filter(|place| is_there(*place)));
                        Ok(())
                    },
                )?;
                cells.put_from(call, &source)
            }))
        })
}

/// Returns whether each item of a column is present.
fn is_there(column: &Column) -> Box<dyn Fn(usize) -> bool + '_> {
    if let Some(items) = column.as_slice::<f32>() {
        return Box::new(|i| !items[i].is_nan());
    }
    if let Some(items) = column.as_slice::<Arc<str>>() {
        return Box::new(|i| !items[i].is_empty());
    }
    Box::new(|i| !is_missing(column, i))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cells::testing::{list, value};
    use millstream_base::{Value, Vec2};

    fn shown(name: &str, how: &str, args: Vec<Value>) -> String {
        let set = if how.is_empty() { json!({}) } else { json!({ "how": how }) };
        value(name, &set, args).expect("runs").to_string()
    }

    #[test]
    fn gaps_are_filled() {
        let gaps = || list(vec![f32::NAN, 1.0, f32::NAN, 4.0, f32::NAN]);
        for (how, expected) in [
            ("value", "[9.0, 1.0, 9.0, 4.0, 9.0]"),
            ("before", "[\"nan\", 1.0, 1.0, 4.0, 4.0]"),
            ("behind", "[1.0, 1.0, 4.0, 4.0, \"nan\"]"),
            ("line", "[\"nan\", 1.0, 2.5, 4.0, \"nan\"]"),
            ("mean", "[2.5, 1.0, 2.5, 4.0, 2.5]"),
        ] {
            assert_eq!(shown("list.fill", how, vec![gaps(), Value::F32(9.0)]), expected, "{how}");
        }
        let texts = || list(vec![Arc::<str>::from("a"), "".into()]);
        assert_eq!(shown("list.fill", "value", vec![texts(), "b".into()]), r#"["a", "b"]"#);
        assert_eq!(shown("list.fill", "before", vec![texts(), "b".into()]), r#"["a", "a"]"#);
        let refused = value("list.fill", &json!({"how": "mean"}), vec![texts(), "b".into()]);
        assert_eq!(
            refused.expect_err("no mean").message,
            "the list contains string, which can only be filled with a value or a neighbor"
        );
    }

    #[test]
    fn missing_items_are_dropped() {
        let dropped = |items: Value| shown("list.drop_missing", "", vec![items]);
        assert_eq!(dropped(list(vec![f32::NAN, 1.0, f32::NAN])), "[1.0]");
        assert_eq!(dropped(list(vec![1.0, f64::INFINITY, f64::NAN])), r#"[1.0, "inf"]"#);
        let pairs = vec![Vec2([1.0, f32::NAN]), Vec2([1.0, 2.0])];
        assert_eq!(dropped(list(pairs)), "[[1.0, 2.0]]");
        let texts = vec![Arc::<str>::from(""), "b".into()];
        assert_eq!(dropped(list(texts)), r#"["b"]"#);
        assert_eq!(dropped(list(Vec::<f64>::new())), "[]");
    }
}
