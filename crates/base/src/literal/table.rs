//! Tables as JSON: objects of columns.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::value::column::Column;
use crate::value::table::Table;
use crate::value::types::Type;

impl Table {
    /// The table of a JSON object of columns of equal length, in order. Lists of booleans,
    /// integers, other numbers and strings become columns of `bool`, `i64`, `f64` and `string`;
    /// `{"type": "vec3", "values": [...]}` is a column of the named type.
    pub(crate) fn from_json(json: &Json) -> Option<Self> {
        let column = |json: &Json| match json {
            Json::Array(items) => plain_column(items),
            Json::Object(fields) if fields.len() == 2 => {
                let ty = Type::written(fields.get("type")?.as_str()?)?;
                column_of(ty, fields.get("values")?.as_array()?)
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => {
                None
            }
        };
        let columns = json.as_object()?.iter();
        let columns = columns.map(|(name, json)| Some((name.as_str().into(), column(json)?)));
        Self::new(columns.collect::<Option<Vec<_>>>()?).ok()
    }

    /// The table as a JSON object that reads back to the same columns. A column's type is written
    /// if the list alone would read back as another type.
    pub(crate) fn to_json(&self) -> Json {
        self.json_of(|column, items| match plain_column(&items) {
            Some(plain) if plain.ty() == column.ty() => Json::Array(items),
            Some(_) | None => {
                let fields = [("type", Json::from(column.ty().name())), ("values", items.into())];
                fields.map(|(name, json)| (name.to_owned(), json)).into_iter().collect()
            }
        })
    }

    /// The table as a JSON object of lists, without the types of its columns.
    pub(crate) fn to_plain_json(&self) -> Json {
        self.json_of(|_, items| Json::Array(items))
    }

    fn json_of(&self, written: impl Fn(&Column, Vec<Json>) -> Json) -> Json {
        let of = |(name, column): &(Arc<str>, Column)| {
            let items = column.iter().map(|value| super::to_json(&value)).collect();
            (name.to_string(), written(column, items))
        };
        Json::Object(self.columns().iter().map(of).collect())
    }
}

/// A column of the given type.
fn column_of(ty: Type, items: &[Json]) -> Option<Column> {
    let values = items.iter().map(|item| super::from_json(ty, item));
    ty.collect(&mut values.collect::<Result<Vec<_>, _>>().ok()?.into_iter())
}

/// A column from a list without a type.
fn plain_column(items: &[Json]) -> Option<Column> {
    // Numbers are integers if all are written as such: 2.0 is not.
    let are_whole = items.iter().all(|item| item.as_i64().is_some());
    let numbers = if are_whole { Type::I64 } else { Type::F64 };
    [Type::BOOL, numbers, Type::STRING].into_iter().find_map(|ty| column_of(ty, items))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::literal;
    use crate::same::Same;
    use crate::{Value, Vec3};

    fn table(json: &Json) -> Table {
        Table::from_json(json).expect("a table")
    }

    #[test]
    fn numbers_written_with_fractions_are_not_whole() {
        let json = json!({"q": [2.0, 3.0], "z": [-0.0, 1], "n": [2, 3]});
        let value = literal::from_json(Type::of::<Table>(), &json).expect("a literal");
        let table: Table = value.get().expect("a table");
        let types: Vec<Type> = table.columns().iter().map(|(_, column)| column.ty()).collect();
        assert_eq!(types, [Type::F64, Type::F64, Type::I64]);
        let back = literal::from_json(Type::of::<Table>(), &literal::to_json(&value));
        assert_eq!(back.expect("a literal").get::<Table>(), Some(table));
    }

    #[test]
    fn tables_are_equal_by_names_and_bits() {
        let a = json!({"x": [1, 2], "y": ["p", "q"]});
        let value = literal::from_json(Type::of::<Table>(), &a).expect("a literal");
        assert_eq!(value.to_string(), r#"{"x": [1, 2], "y": ["p", "q"]}"#);
        assert_eq!(literal::to_json(&value), a);
        assert!(value.same(&Value::from(table(&a))));
        assert!(!value.same(&Value::from(table(&json!({"y": ["p", "q"], "x": [1, 2.5]})))));
        assert!(!value.same(&Value::from(table(&json!({"x": [1, 2]})))));
    }

    #[test]
    fn literals_that_are_not_tables_are_refused() {
        for wrong in [
            json!([1]),
            json!({"x": 1}),
            json!({"x": [1, "a"]}),
            json!({"x": [1], "y": []}),
            json!({"x": {"type": "f32"}}),
            json!({"x": {"type": "table", "values": []}}),
            json!({"x": {"type": "nobody", "values": []}}),
            json!({"x": {"type": "f32", "values": ["a"]}}),
            json!({"x": {"type": "f32", "values": [], "more": 1}}),
            json!({"x": {"type": "list<list<list<list<list<f32>>>>>", "values": []}}),
        ] {
            assert_eq!(Table::from_json(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn columns_keep_their_order_and_types_as_text() {
        let lists = Column::from_vec(vec![1_i32, 2]);
        let lists = Type::I32.list().expect("lists").collect(&mut [Value::List(lists)].into_iter());
        let columns = [
            ("z", Column::from_vec(vec![Vec3([0.1, f32::NAN, -0.0])])),
            ("f", Column::from_vec(vec![0.1_f32])),
            ("whole", Column::from_vec(vec![2.0_f64])),
            ("b", Column::from_vec(vec![0.5_f64])),
            ("i", Column::from_vec(vec![7_i32])),
            ("long", Column::from_vec(vec![i64::MIN])),
            ("a", Column::from_vec(vec![true])),
            ("word", Column::from_vec::<Arc<str>>(vec!["nan".into()])),
            ("text", Column::from_vec::<Arc<str>>(vec!["a".into()])),
            ("list", lists.expect("a column of lists")),
        ];
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let table = Table::new(columns.map(|(name, column)| (name.into(), column)).into()).unwrap();
        let text = table.to_json().to_string();
        assert!(
            text.starts_with(r#"{"z":{"type":"vec3","values":[[0.1,"nan",-0.0]]},"f":{"#),
            "{text}"
        );
        assert!(
            text.contains(r#""b":[0.5],"#) && text.contains(r#""long":[-9223372036854775808]"#)
        );
        let back = self::table(&serde_json::from_str(&text).expect("it is JSON"));
        assert_eq!(back, table);
        let types = |table: &Table| table.columns().iter().map(|(_, c)| c.ty()).collect::<Vec<_>>();
        assert_eq!(types(&back), types(&table));
        assert!(back.columns().iter().map(|(name, _)| &**name).eq(names));
        let empty = Table::new(vec![("x".into(), Column::empty(Type::F32))]).unwrap();
        assert_eq!(types(&self::table(&empty.to_json())), [Type::F32]);
    }
}
