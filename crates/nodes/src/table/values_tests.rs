//! Missing values filled in, columns converted to other types, and keys of several columns.

use std::sync::Arc;

use millstream_base::literal::from_json;
use millstream_base::{Column, Limits, Mask, Table, Type, Value, Vec2, literal};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::cells::testing::{call, instance, one, try_instance};

fn table(json: &Json) -> Value {
    from_json(Type::of::<Table>(), json).expect("a table")
}

fn given(name: &str, set: &Json, generics: &[Type], args: Vec<Value>) -> Json {
    let instance = instance(name, set, generics, &[]);
    let args = args.into_iter().map(one).collect();
    match call(&instance, args, &Mask::full(1), 1, &Limits::default()) {
        Ok(data) => literal::to_plain_json(&data.get(0)),
        Err(failure) => json!(failure.message),
    }
}

fn filled(column: &Json, how: &str, value: impl Into<Value>) -> Json {
    let value: Value = value.into();
    let generics = [value.ty()];
    let args = vec![table(&json!({ "x": column, "y": column })), "x".into(), value];
    let found = given("table.fill", &json!({ "how": how }), &generics, args);
    match found {
        Json::Object(columns) => {
            let mut wanted = column.clone();
            // Numbers of a column with NaN are floats.
            if let Some(items) = wanted.as_array_mut() {
                items.iter_mut().filter(|x| x.is_i64()).for_each(|x| *x = json!(x.as_f64()));
            }
            if column.as_array().is_some_and(|items| items.contains(&json!("nan"))) {
                assert_eq!(columns["y"], wanted, "other columns stay");
            }
            columns["x"].clone()
        }
        other => other,
    }
}

#[test]
fn missing_numbers_are_filled() {
    let x = json!(["nan", 1.0, "nan", "nan", 4.0, 10.0, "nan"]);
    assert_eq!(filled(&x, "value", -1.5), json!([-1.5, 1.0, -1.5, -1.5, 4.0, 10.0, -1.5]));
    assert_eq!(filled(&x, "before", 0.0), json!(["nan", 1.0, 1.0, 1.0, 4.0, 10.0, 10.0]));
    assert_eq!(filled(&x, "behind", 0.0), json!([1.0, 1.0, 4.0, 4.0, 4.0, 10.0, "nan"]));
    assert_eq!(filled(&x, "line", 0.0), json!(["nan", 1.0, 2.0, 3.0, 4.0, 10.0, "nan"]));
    assert_eq!(filled(&x, "mean", 0.0), json!([5.0, 1.0, 5.0, 5.0, 4.0, 10.0, 5.0]));
    assert_eq!(filled(&x, "median", 0.0), json!([4.0, 1.0, 4.0, 4.0, 4.0, 10.0, 4.0]));
    for how in ["before", "behind", "line", "mean", "median"] {
        assert_eq!(filled(&json!(["nan"]), how, 0.0), json!(["nan"]), "{how}");
        assert_eq!(filled(&json!([]), how, 0.0), json!([]), "{how}");
        assert_eq!(filled(&json!(["inf", 2.0]), how, 0.0), json!(["inf", 2.0]), "{how}");
    }
    assert_eq!(filled(&json!([1, 2]), "value", 7.0), json!([1, 2]));
    assert_eq!(filled(&json!([true]), "value", "a"), json!([true]));
    assert_eq!(
        filled(&x, "value", "a"),
        "the column `x` contains f64, which cannot be filled with a string"
    );
}

#[test]
fn missing_texts_are_filled() {
    let x = json!(["", "a", "", "b"]);
    assert_eq!(filled(&x, "value", "?"), json!(["?", "a", "?", "b"]));
    assert_eq!(filled(&x, "before", "?"), json!(["", "a", "a", "b"]));
    assert_eq!(filled(&x, "behind", 0.0), json!(["a", "a", "b", "b"]));
    assert_eq!(
        filled(&x, "value", 0.0),
        "the column `x` contains string, which cannot be filled with a number"
    );
    assert_eq!(
        filled(&x, "mean", 0.0),
        "the column `x` contains string, which can only be filled with a value or a neighbor"
    );
}

#[test]
fn components_of_vectors_are_filled_separately() {
    let points = vec![Vec2([1.0, f32::NAN]), Vec2([f32::NAN, 2.0]), Vec2([3.0, 4.0])];
    let table = Table::new(vec![("p".into(), Column::from_vec(points))]).expect("one column");
    let args = vec![Value::from(table), "p".into(), Value::F64(0.0)];
    let found = given("table.fill", &json!({"how": "line"}), &[Type::F64], args);
    assert_eq!(found, json!({"p": [[1.0, "nan"], [2.0, 2.0], [3.0, 4.0]]}));
}

fn cast(column: &Json, ty: &str, otherwise: &str) -> Json {
    let args = vec![table(&json!({ "x": column })), "x".into()];
    let found = given("table.cast", &json!({ "type": ty, "otherwise": otherwise }), &[], args);
    found.get("x").cloned().unwrap_or(found)
}

#[test]
fn columns_are_converted_to_other_types() {
    assert_eq!(cast(&json!([1.5, -2.7, 0.0]), "i32", "error"), json!([1, -2, 0]));
    assert_eq!(cast(&json!([1.5, 0.0, -0.0]), "bool", "error"), json!([true, false, false]));
    assert_eq!(cast(&json!([true, false]), "f64", "error"), json!([1.0, 0.0]));
    assert_eq!(
        cast(&json!([9_007_199_254_740_993_i64]), "i64", "error"),
        json!([9_007_199_254_740_993_i64])
    );
    assert_eq!(
        cast(&json!([9_007_199_254_740_993_i64]), "f64", "error"),
        json!([9_007_199_254_740_992.0])
    );
    assert_eq!(
        cast(&json!([1.5, "nan", "-inf", 1e21]), "string", "error"),
        json!(["1.5", "nan", "-inf", "1000000000000000000000"])
    );
    assert_eq!(cast(&json!([true, false]), "string", "error"), json!(["true", "false"]));
    assert_eq!(cast(&json!([7, -3]), "string", "error"), json!(["7", "-3"]));
    assert_eq!(
        cast(&json!([" 12 ", "-0012", "3.9", "TRUE"]), "i64", "error"),
        json!([12, -12, 3, 1])
    );
    assert_eq!(cast(&json!(["9223372036854775807"]), "i64", "error"), json!([i64::MAX]));
    assert_eq!(
        cast(&json!(["1e3", "inf", "nan", "False"]), "f64", "error"),
        json!([1000.0, "inf", "nan", 0.0])
    );
    assert_eq!(cast(&json!(["0.1"]), "f32", "error"), json!([0.1]));
    assert_eq!(cast(&json!(["true", "0", "2"]), "bool", "error"), json!([true, false, true]));
    assert_eq!(cast(&json!([]), "i32", "error"), json!([]));
}

#[test]
fn the_setting_decides_about_values_that_cannot_be_represented() {
    for (column, ty, message, missing) in [
        (
            json!([1.0, "nan"]),
            "i32",
            r#"row 1 of the column `x` is "nan", which is not a valid i32"#,
            json!([1, 0]),
        ),
        (
            json!([3_000_000_000_i64]),
            "i32",
            "row 0 of the column `x` is 3000000000, which is not a valid i32",
            json!([0]),
        ),
        (
            json!([9.3e18]),
            "i64",
            "row 0 of the column `x` is 9.3e+18, which is not a valid i64",
            json!([0]),
        ),
        (
            json!(["a1"]),
            "f64",
            r#"row 0 of the column `x` is "a1", which is not a valid f64"#,
            json!(["nan"]),
        ),
        (
            json!(["1e400"]),
            "f64",
            r#"row 0 of the column `x` is "1e400", which is not a valid f64"#,
            json!(["nan"]),
        ),
        (
            json!([1e39]),
            "f32",
            "row 0 of the column `x` is 1e+39, which is not a valid f32",
            json!(["nan"]),
        ),
        (
            json!([""]),
            "bool",
            r#"row 0 of the column `x` is "", which is not a valid bool"#,
            json!([false]),
        ),
        (
            json!(["inf"]),
            "i64",
            r#"row 0 of the column `x` is "inf", which is not a valid i64"#,
            json!([0]),
        ),
    ] {
        assert_eq!(cast(&column, ty, "error"), message, "{column} as {ty}");
        assert_eq!(cast(&column, ty, "missing"), missing, "{column} as {ty}");
    }
    let refused = try_instance("table.cast", &json!({"type": "vec3"}), &[], &[]);
    let refused = refused.expect_err("no such column");
    assert!(refused.contains("bool, i32, i64, f32, f64 or string"), "{refused}");
    let points = Table::new(vec![("p".into(), Column::from_vec(vec![Vec2([1.0, 2.0])]))]);
    let args = vec![Value::from(points.expect("one column")), "p".into()];
    let found = given("table.cast", &json!({"type": "f32"}), &[], args);
    assert_eq!(found, "the column `p` contains vec2, which cannot be converted to f32");
}

#[test]
fn several_columns_are_one_key() {
    let t = || {
        table(&json!({
            "city": ["A", "A", "B", "A", "B"], "year": [1, 2, 1, 1, 1], "x": [1.5, 2.5, 3.5, 4.5, 5.5],
        }))
    };
    let set = json!({"also": ["year"], "columns": ["x"], "how": ["sum"]});
    assert_eq!(
        given("table.group", &set, &[], vec![t(), "city".into()]),
        json!({"city": ["A", "A", "B"], "year": [1, 2, 1], "x_sum": [6.0, 2.5, 9.0]})
    );
    let first = given("table.unique", &json!({"also": ["year"]}), &[], vec![t(), "city".into()]);
    assert_eq!(first["x"], json!([1.5, 2.5, 3.5]));
    let twice = given("table.group", &json!({"also": ["city"]}), &[], vec![t(), "city".into()]);
    assert_eq!(twice, "two columns are named `city`");
    let absent = given("table.unique", &json!({"also": ["yaer"]}), &[], vec![t(), "city".into()]);
    assert_eq!(absent, "the table has no column `yaer`; did you mean `year`?");
    let other = || table(&json!({"city": ["B", "A", "C"], "year": [1, 2, 1], "y": [30, 20, 90]}));
    let joined = |rows: &str| {
        let args = vec![t(), other(), "city".into()];
        given("table.join", &json!({"rows": rows, "also": ["year"]}), &[], args)
    };
    assert_eq!(
        joined("inner"),
        json!({"city": ["A", "B", "B"], "year": [2, 1, 1], "x": [2.5, 3.5, 5.5], "y": [20, 30, 30]})
    );
    assert_eq!(
        joined("all"),
        json!({
            "city": ["A", "A", "B", "A", "B", "C"], "year": [1, 2, 1, 1, 1, 1],
            "x": [1.5, 2.5, 3.5, 4.5, 5.5, 0.0], "y": [0, 20, 30, 0, 30, 90],
        })
    );
    assert_eq!(joined("without"), json!({"city": ["A", "A"], "year": [1, 1], "x": [1.5, 4.5]}));
    let wrong = table(&json!({"city": ["A"], "year": ["1"]}));
    let wrong =
        given("table.join", &json!({"also": ["year"]}), &[], vec![t(), wrong, "city".into()]);
    assert_eq!(
        wrong,
        "the column `year` contains i64 in the left table and string in the right; convert one of \
         them with `table.cast`"
    );
}

proptest! {
    #[test]
    fn keys_of_two_columns_are_keys_of_pairs(
        rows in prop::collection::vec((0_i64..3, 0_i64..3, -5_i64..5), 0..14),
        other in prop::collection::vec((0_i64..3, 0_i64..3, -5_i64..5), 0..8),
    ) {
        let of = |rows: &[(i64, i64, i64)], value: &str| {
            let columns: Vec<(Arc<str>, Column)> = vec![
                ("a".into(), Column::from_vec(rows.iter().map(|r| r.0).collect())),
                ("b".into(), Column::from_vec(rows.iter().map(|r| r.1).collect())),
                (value.into(), Column::from_vec(rows.iter().map(|r| r.2).collect())),
            ];
            Value::from(Table::new(columns).expect("one length"))
        };
        let args = vec![of(&rows, "v"), of(&other, "w"), "a".into()];
        let joined = given("table.join", &json!({"also": ["b"]}), &[], args);
        let mut wanted = Vec::new();
        for row in &rows {
            let partners = other.iter().filter(|o| (o.0, o.1) == (row.0, row.1));
            wanted.extend(partners.map(|o| (row.2, o.2)));
        }
        let (v, w): (Vec<i64>, Vec<i64>) = wanted.into_iter().unzip();
        prop_assert_eq!((&joined["v"], &joined["w"]), (&json!(v), &json!(w)));

        let set = json!({"also": ["b"], "columns": ["v"]});
        let grouped = given("table.group", &set, &[], vec![of(&rows, "v"), "a".into()]);
        let mut keys: Vec<(i64, i64)> = Vec::new();
        for row in &rows {
            if !keys.contains(&(row.0, row.1)) {
                keys.push((row.0, row.1));
            }
        }
        let sum = |key: &(i64, i64)| -> i64 {
            rows.iter().filter(|row| (row.0, row.1) == *key).map(|row| row.2).sum()
        };
        let sums: Vec<i64> = keys.iter().map(sum).collect();
        prop_assert_eq!(&grouped["v_sum"], &json!(sums));
    }
}
