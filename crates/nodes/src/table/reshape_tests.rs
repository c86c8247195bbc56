//! Tables reshaped, and reshaped back.

use millstream_base::literal::from_json;
use millstream_base::{Limits, Mask, Table, Type, Value, literal};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::cells::testing::{call, instance, one};

fn table(json: &Json) -> Value {
    from_json(Type::of::<Table>(), json).expect("a table")
}

/// The output of a node as JSON, or the message of its failure.
fn given(name: &str, set: &Json, arities: &[u16], args: Vec<Value>, limits: &Limits) -> Json {
    let instance = instance(name, set, &[], arities);
    let args = args.into_iter().map(one).collect();
    match call(&instance, args, &Mask::full(1), 1, limits) {
        Ok(data) => literal::to_plain_json(&data.get(0)),
        Err(failure) => json!(failure.message),
    }
}

fn on(name: &str, set: &Json, args: Vec<Value>) -> Json {
    given(name, set, &[], args, &Limits::default())
}

#[test]
fn columns_are_put_side_by_side() {
    let beside = |tables: &[Json]| {
        let args: Vec<Value> = tables.iter().map(table).collect();
        given("table.beside", &json!({}), &[args.len() as u16], args, &Limits::default())
    };
    let (a, b) = (json!({"x": [1, 2]}), json!({"x": [3, 4], "y": ["p", "q"]}));
    assert_eq!(
        beside(&[a.clone(), b.clone()]),
        json!({"x": [1, 2], "x_2": [3, 4], "y": ["p", "q"]})
    );
    assert_eq!(
        beside(&[a.clone(), a.clone(), json!({}), a.clone()]),
        json!({"x": [1, 2], "x_2": [1, 2], "x_3": [1, 2]})
    );
    assert_eq!(beside(&[]), json!({}));
    assert_eq!(beside(&[a, json!({"z": [1]})]), "cannot put a table of 1 row beside one of 2");
}

#[test]
fn columns_become_rows_and_rows_columns() {
    let wide = json!({"id": [1, 2], "a": [0.5, 1.5], "b": [2.5, 3.5]});
    let melt = |columns: &[&str]| {
        let args = vec![table(&wide), "name".into(), "value".into()];
        on("table.melt", &json!({ "columns": columns }), args)
    };
    let long =
        json!({"id": [1, 1, 2, 2], "name": ["a", "b", "a", "b"], "value": [0.5, 2.5, 1.5, 3.5]});
    assert_eq!(melt(&["a", "b"]), long);
    assert_eq!(melt(&["a", "id"]), "the column `a` contains f64, but `id` contains i64");
    assert_eq!(melt(&["aa"]), "the table has no column `aa`; did you mean `a`?");
    assert_eq!(melt(&[]), "the setting `columns` names no columns");
    let pivot = |table_of: &Json, by: &str, names: &str| {
        on(
            "table.pivot",
            &json!({}),
            vec![table(table_of), by.into(), names.into(), "value".into()],
        )
    };
    assert_eq!(pivot(&long, "id", "name"), wide);
    let some = json!({"k": ["x", "y", "x"], "name": ["p", "k", "p"], "value": [1, 2, 3]});
    assert_eq!(pivot(&some, "k", "name"), json!({"k": ["x", "y"], "p": [3, 0], "k_2": [0, 2]}));
    assert_eq!(pivot(&long, "name", "id"), "the column `id` contains i64, not string");
    let small = Limits { list_length: 3, ..Limits::default() };
    let args = vec![table(&long), "id".into(), "name".into(), "value".into()];
    let refused = given("table.pivot", &json!({}), &[], args, &small);
    assert_eq!(refused, "4 cells in one table, the limit is 3 (`list_length`)");
    let args = vec![table(&wide), "name".into(), "value".into()];
    let refused = given("table.melt", &json!({"columns": ["a", "b"]}), &[], args, &small);
    assert_eq!(refused, "4 rows in one table, the limit is 3");
}

#[test]
fn columns_are_summarized() {
    let people = json!({"age": [30, 20, 40, 30], "name": ["A", "B", "C", "D"], "x": [1.5, "nan", -0.5, "nan"]});
    let found = on("table.summary", &json!({}), vec![table(&people)]);
    let wanted = json!({
        "name": ["age", "x"],
        "count": [4, 2],
        "mean": [30.0, 0.5],
        "deviation": [50.0_f64.sqrt(), 1.0],
        "minimum": [20.0, -0.5],
        "median": [30.0, 0.5],
        "maximum": [40.0, 1.5],
    });
    assert_eq!(found, wanted);
    let none = on("table.summary", &json!({}), vec![table(&json!({"x": ["nan", "nan"]}))]);
    assert_eq!(
        (&none["count"], &none["mean"], &none["median"]),
        (&json!([0]), &json!(["nan"]), &json!(["nan"]))
    );
    let empty = on("table.summary", &json!({}), vec![Table::default().into()]);
    assert_eq!(empty["name"], json!([]));
}

proptest! {
    #[test]
    fn pivoting_undoes_melting(rows in proptest::collection::vec(proptest::array::uniform3(-9_i32..9), 1..8)) {
        let column = |k: usize| rows.iter().map(|row| row[k]).collect::<Vec<_>>();
        let ids: Vec<usize> = (0..rows.len()).collect();
        let wide = json!({"id": ids, "a": column(0), "b": column(1), "c": column(2)});
        let set = json!({"columns": ["a", "b", "c"]});
        let long = on("table.melt", &set, vec![table(&wide), "which".into(), "number".into()]);
        let args = vec![table(&long), "id".into(), "which".into(), "number".into()];
        prop_assert_eq!(on("table.pivot", &json!({}), args), wide);
    }
}

#[test]
fn tables_with_too_many_cells_are_refused_before_they_are_made() {
    let limits = Limits { list_length: 100, ..Limits::default() };
    let rows = |n: usize| json!({"k": vec![1; n], "v": vec![2; n]});
    let join = |n: usize, kind: &str| {
        let args = vec![table(&rows(n)), table(&rows(n)), "k".into()];
        given("table.join", &json!({ "rows": kind }), &[], args, &limits)
    };
    for kind in ["inner", "left", "all"] {
        let joined = join(5, kind);
        assert_eq!(joined["v_2"].as_array().map(Vec::len), Some(25), "{joined}");
        let refused = "108 cells in one table, the limit is 100 (`list_length`)";
        assert_eq!(join(6, kind), refused, "{kind}");
        assert_eq!(join(11, kind), "121 rows in one table, the limit is 100", "{kind}");
    }
    assert_eq!(join(11, "without"), json!({"k": [], "v": []}));
    let wide: serde_json::Map<String, Json> =
        (0..12).map(|i| (format!("c{i:02}"), json!([1]))).collect();
    let melt = |n: usize| {
        let columns: Vec<String> = (0..n).map(|i| format!("c{i:02}")).collect();
        let args = vec![table(&json!(wide)), "name".into(), "value".into()];
        given("table.melt", &json!({ "columns": columns }), &[], args, &limits)
    };
    assert!(melt(12)["value"].is_array());
    assert_eq!(melt(10)["value"].as_array().map(Vec::len), Some(10));
    // Four rows would be 4 * (8 + 2) cells; nine are 9 * (3 + 2).
    assert!(melt(4)["value"].is_array());
    let tight = Limits { list_length: 39, ..Limits::default() };
    let args = vec![table(&json!(wide)), "name".into(), "value".into()];
    let set = json!({ "columns": ["c00", "c01", "c02", "c03"] });
    let refused = given("table.melt", &set, &[], args, &tight);
    assert_eq!(refused, "40 cells in one table, the limit is 39 (`list_length`)");
    let append = |n: usize| {
        let args = vec![table(&rows(n)), table(&rows(n))];
        given("table.append", &json!({}), &[2], args, &limits)
    };
    assert!(append(25)["k"].is_array());
    assert_eq!(append(26), "104 cells in one table, the limit is 100 (`list_length`)");
}

#[test]
fn rows_of_one_cell_are_combined() {
    let long = json!({"id": [1, 2, 1, 1], "day": ["a", "a", "a", "b"], "name": ["p", "p", "p", "q"],
                      "value": [1.5, 2.0, 4.0, 8.0]});
    let pivot = |set: &Json| {
        let args = vec![table(&long), "id".into(), "name".into(), "value".into()];
        on("table.pivot", set, args)
    };
    for (how, p, q) in [
        ("last", json!([4.0, 2.0]), json!([8.0, 0.0])),
        ("first", json!([1.5, 2.0]), json!([8.0, 0.0])),
        ("sum", json!([5.5, 2.0]), json!([8.0, 0.0])),
        ("mean", json!([2.75, 2.0]), json!([8.0, 0.0])),
        ("deviation", json!([1.25, 0.0]), json!([0.0, 0.0])),
        ("median", json!([2.75, 2.0]), json!([8.0, 0.0])),
        ("minimum", json!([1.5, 2.0]), json!([8.0, 0.0])),
        ("maximum", json!([4.0, 2.0]), json!([8.0, 0.0])),
        ("count", json!([2, 1]), json!([1, 0])),
    ] {
        let expected = json!({"id": [1, 2], "p": p, "q": q});
        assert_eq!(pivot(&json!({ "how": how })), expected, "{how}");
    }
    assert_eq!(pivot(&json!({"how": "only"})), "2 rows have `id` 1, `name` \"p\"");
    assert_eq!(
        pivot(&json!({"absent": "missing"})),
        json!({"id": [1, 2], "p": [4.0, 2.0], "q": [8.0, "nan"]})
    );
    assert_eq!(
        pivot(&json!({"also": ["day"], "how": "sum"})),
        json!({"id": [1, 2, 1], "day": ["a", "a", "b"], "p": [5.5, 2.0, 0.0], "q": [0.0, 0.0, 8.0]})
    );
    let texts = json!({"id": [1, 2], "name": ["p", "q"], "value": ["x", "y"]});
    let args = |table_of: &Json| vec![table(table_of), "id".into(), "name".into(), "value".into()];
    assert_eq!(
        on("table.pivot", &json!({"how": "mean"}), args(&texts)),
        "the column `value` contains string, not numbers"
    );
    let vectors = json!({"id": [1, 2], "name": ["p", "q"], "value": {"type": "vec3", "values": [[1, 2, 3], [4, 5, 6]]}});
    let found = on("table.pivot", &json!({"absent": "missing"}), args(&vectors));
    assert_eq!(found["p"][1], json!(["nan", "nan", "nan"]));
}

#[test]
fn rows_with_missing_values_are_dropped() {
    let gaps = json!({"x": [1.5, "nan", 2.5], "t": ["a", "b", ""], "n": [1, 2, 3]});
    let dropped = |columns: &[&str]| {
        on("table.drop_missing", &json!({ "columns": columns }), vec![table(&gaps)])
    };
    assert_eq!(dropped(&[]), json!({"x": [1.5], "t": ["a"], "n": [1]}));
    assert_eq!(dropped(&["x", "n"]), json!({"x": [1.5, 2.5], "t": ["a", ""], "n": [1, 3]}));
    assert_eq!(dropped(&["y"]), "the table has no column `y`; it has `x`, `t`, `n`");
}
