//! Tables checked against loops over rows.

use millstream_base::literal::from_json;
use millstream_base::{Column, Limits, Mask, Table, Type, Value, literal};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::cells::testing::{call, instance, list, one, try_instance};

fn table(json: &Json) -> Value {
    from_json(Type::of::<Table>(), json).expect("a table")
}

/// The output of a node as JSON, or the message of its failure.
fn given(name: &str, set: &Json, generics: &[Type], arities: &[u16], args: Vec<Value>) -> Json {
    let instance = instance(name, set, generics, arities);
    let args = args.into_iter().map(one).collect();
    match call(&instance, args, &Mask::full(1), 1, &Limits::default()) {
        Ok(data) => literal::to_plain_json(&data.get(0)),
        Err(failure) => json!(failure.message),
    }
}

fn on(name: &str, set: &Json, args: Vec<Value>) -> Json {
    given(name, set, &[], &[], args)
}

fn people() -> Value {
    table(&json!({"age": [30, 25, 30], "name": ["Ann", "Bob", "Cy"]}))
}

fn texts(items: &[&str]) -> Value {
    list(items.iter().map(|item| (*item).into()).collect::<Vec<std::sync::Arc<str>>>())
}

#[test]
fn tables_are_made_of_lists() {
    let set = json!({"names": ["a", "b"]});
    let (ints, words) = (list(vec![1_i32, 2]), texts(&["p", "q"]));
    let generics = &[Type::I32, Type::STRING];
    let columns = given("table.make", &set, generics, &[], vec![ints.clone(), words.clone()]);
    assert_eq!(columns, json!({"a": [1, 2], "b": ["p", "q"]}));
    let short = given("table.make", &set, generics, &[], vec![list(vec![1_i32]), words.clone()]);
    assert_eq!(short, "the columns `a` and `b` have different lengths: 1 and 2 rows");
    let set_column = |name: &str| {
        let args = vec![table(&json!({"a": [5, 6]})), name.into(), words.clone()];
        given("table.set", &json!({}), &[Type::STRING], &[], args)
    };
    assert_eq!(set_column("a"), json!({"a": ["p", "q"]}));
    assert_eq!(set_column("b"), json!({"a": [5, 6], "b": ["p", "q"]}));
}

#[test]
fn columns_are_read_in_the_requested_type() {
    let read = |ty: &str, name: &str| {
        on("table.column", &json!({ "type": ty }), vec![people(), name.into()])
    };
    assert_eq!(read("f64", "age"), json!([30.0, 25.0, 30.0]));
    assert_eq!(read("i64", "age"), json!([30, 25, 30]));
    assert_eq!(read("string", "name"), json!(["Ann", "Bob", "Cy"]));
    assert_eq!(read("i32", "age"), "the column `age` contains i64, not i32");
    assert_eq!(read("f64", "name"), "the column `name` contains string, not f64");
    assert_eq!(read("f64", "agee"), "the table has no column `agee`; did you mean `age`?");
    assert_eq!(read("f64", "x"), "the table has no column `x`; it has `age`, `name`");
    assert_eq!(on("table.names", &json!({}), vec![people()]), json!(["age", "name"]));
    assert_eq!(on("table.count", &json!({}), vec![people()]), 3);
    assert_eq!(on("table.has", &json!({}), vec![people(), "age".into()]), true);
    assert_eq!(
        on("table.has", &json!({}), vec![Value::from(Table::default()), "age".into()]),
        false
    );
}

#[test]
fn rows_are_chosen() {
    let keep = |keep: Vec<bool>| on("table.filter", &json!({}), vec![people(), list(keep)]);
    assert_eq!(keep(vec![true, false, true]), json!({"age": [30, 30], "name": ["Ann", "Cy"]}));
    assert_eq!(keep(vec![true]), "`keep` has 1 items for 3 rows");
    let part = |start: i32, count: i32| {
        let args = vec![people(), Value::I32(start), Value::I32(count)];
        on("table.slice", &json!({}), args)["name"].clone()
    };
    assert_eq!(part(1, 9), json!(["Bob", "Cy"]));
    assert_eq!(part(-1, 2), json!(["Ann"]));
    assert_eq!(part(i32::MAX, i32::MAX), json!([]));
    let picked = |rows: Vec<i32>| on("table.pick", &json!({}), vec![people(), list(rows)]);
    assert_eq!(picked(vec![2, 0, 2])["name"], json!(["Cy", "Ann", "Cy"]));
    assert_eq!(picked(vec![3]), "there is no row 3 in a table of 3 rows, numbered from 0");
}

#[test]
fn columns_are_chosen_and_renamed() {
    let selected = on("table.select", &json!({}), vec![people(), texts(&["name"])]);
    assert_eq!(selected, json!({"name": ["Ann", "Bob", "Cy"]}));
    let twice = on("table.select", &json!({}), vec![people(), texts(&["name", "name"])]);
    assert_eq!(twice, "two columns are named `name`");
    let dropped = on("table.drop", &json!({}), vec![people(), "name".into()]);
    assert_eq!(dropped, json!({"age": [30, 25, 30]}));
    let renamed = on("table.rename", &json!({}), vec![people(), "age".into(), "years".into()]);
    assert_eq!(renamed["years"], json!([30, 25, 30]));
    let clash = on("table.rename", &json!({}), vec![people(), "age".into(), "name".into()]);
    assert_eq!(clash, "two columns are named `name`");
}

#[test]
fn sorting_keeps_equal_rows_in_order_and_puts_nan_last() {
    let sorted = |by: &str, descending: bool, table: Value| {
        on("table.sort", &json!({ "descending": descending }), vec![table, by.into()])
    };
    assert_eq!(sorted("age", false, people())["name"], json!(["Bob", "Ann", "Cy"]));
    assert_eq!(sorted("age", true, people())["name"], json!(["Ann", "Cy", "Bob"]));
    assert_eq!(sorted("name", true, people())["name"], json!(["Cy", "Bob", "Ann"]));
    let several = |order: &[&str]| {
        let set = json!({"also": ["b", "c"], "also_order": order, "descending": true});
        let rows = json!({"a": [1, 2, 1, 2, 1], "b": ["x", "y", "x", "x", "w"], "c": [0.5, 1, 0.25, 2, 3],
                          "n": [0, 1, 2, 3, 4]});
        let rows = from_json(Type::of::<Table>(), &rows).expect("a table");
        on("table.sort", &set, vec![rows, "a".into()])["n"].clone()
    };
    assert_eq!(several(&[]), json!([1, 3, 0, 2, 4]));
    assert_eq!(several(&["ascending"]), json!([3, 1, 4, 2, 0]));
    assert_eq!(several(&["descending", "ascending"]), json!([1, 3, 2, 0, 4]));
    for (order, problem) in [
        (json!(["up"]), "`up` is neither ascending nor descending"),
        (
            json!(["ascending", "ascending"]),
            "2 directions for 1 columns; give one, or one for each column",
        ),
    ] {
        let set = json!({"also": ["b"], "also_order": order});
        let refused = try_instance("table.sort", &set, &[], &[]).expect_err("refused");
        assert!(refused.contains(problem), "{refused}");
    }
    let with_nan = || table(&json!({"x": ["nan", 2.5, -1.5, "nan"]}));
    for (descending, order) in [(false, [-1.5, 2.5]), (true, [2.5, -1.5])] {
        let x = sorted("x", descending, with_nan())["x"].clone();
        assert_eq!(x, json!([order[0], order[1], "nan", "nan"]));
    }
}

#[test]
fn tables_are_joined_by_a_key() {
    let left = || table(&json!({"k": [1, 2, 1, 3], "v": ["a", "b", "c", "d"]}));
    let right = || table(&json!({"k": [1, 1, 3], "v": [10, 11, 30]}));
    let joined =
        |rows: &str| on("table.join", &json!({ "rows": rows }), vec![left(), right(), "k".into()]);
    assert_eq!(
        joined("inner"),
        json!({"k": [1, 1, 1, 1, 3], "v": ["a", "a", "c", "c", "d"], "v_2": [10, 11, 10, 11, 30]})
    );
    assert_eq!(joined("left")["v_2"], json!([10, 11, 0, 10, 11, 30]));
    assert_eq!(joined("without"), json!({"k": [2], "v": ["b"]}));
    assert_eq!(joined("all"), joined("left"), "all rows of the right table have a match");
    let more = table(&json!({"k": [9, 3, 2, 9], "w": ["x", "y", "z", "u"]}));
    assert_eq!(
        on("table.join", &json!({"rows": "all"}), vec![left(), more, "k".into()]),
        json!({"k": [1, 2, 1, 3, 9, 9], "v": ["a", "b", "c", "d", "", ""], "w": ["", "z", "", "y", "x", "u"]})
    );
    let other = table(&json!({"k": ["1"]}));
    let wrong = on("table.join", &json!({}), vec![left(), other, "k".into()]);
    assert_eq!(
        wrong,
        "the column `k` contains i64 in the left table and string in the right; convert one of \
         them with `table.cast`"
    );
}

#[test]
fn tables_are_appended() {
    let stacked = |tables: Vec<Value>| {
        let arity = tables.len() as u16;
        given("table.append", &json!({}), &[], &[arity], tables)
    };
    let (a, b) =
        (|| table(&json!({"x": [1], "y": [true]})), table(&json!({"x": [2], "y": [false]})));
    assert_eq!(
        stacked(vec![a(), Value::from(Table::default()), b]),
        json!({"x": [1, 2], "y": [true, false]})
    );
    assert_eq!(stacked(vec![]), json!({}));
    let other = table(&json!({"x": ["t"], "y": [true]}));
    assert_eq!(
        stacked(vec![a(), other]),
        "the column `x` contains i64 in one table and string in another"
    );
    let narrow = table(&json!({"x": [1]}));
    assert_eq!(stacked(vec![a(), narrow]), "cannot append a table of 1 columns to one of 2");
}

#[test]
fn groups_are_summarized_in_the_order_of_their_first_rows() {
    let t = || table(&json!({"k": ["b", "a", "b"], "x": [1.5, "nan", 2.0], "n": [1, 2, 3]}));
    let set = json!({
        "columns": ["x", "x", "x", "x", "n", "n", "k", "k"],
        "how": ["sum", "mean", "minimum", "maximum", "sum", "count", "first", "last"],
    });
    assert_eq!(
        on("table.group", &set, vec![t(), "k".into()]),
        json!({
            "k": ["b", "a"], "x_sum": [3.5, "nan"], "x_mean": [1.75, "nan"],
            "x_minimum": [1.5, "nan"], "x_maximum": [2.0, "nan"], "n_sum": [4, 2],
            "n_count": [2, 1], "k_first": ["b", "a"], "k_last": ["b", "a"],
        })
    );
    let set = json!({"columns": ["n", "n", "x"], "how": ["deviation", "median", "median"]});
    assert_eq!(
        on("table.group", &set, vec![t(), "k".into()]),
        json!({"k": ["b", "a"], "n_deviation": [1.0, 0.0], "n_median": [2.0, 2.0], "x_median": [1.75, "nan"]})
    );
    let wrong = on("table.group", &json!({"columns": ["k"]}), vec![t(), "n".into()]);
    assert_eq!(wrong, "the column `k` contains string, not numbers");
    assert_eq!(on("table.unique", &json!({}), vec![t(), "k".into()])["n"], json!([1, 2]));
}

#[test]
fn a_table_may_differ_from_element_to_element() {
    let instance = instance("table.column", &json!({"type": "i64"}), &[], &[]);
    let ty = Type::of::<Table>();
    let each = [json!({"x": [1, 2]}), json!({"x": [3]}), json!({"x": []})];
    let tables = ty.collect(&mut each.iter().map(table)).expect("tables");
    let args = vec![crate::cells::testing::many(tables), one(Value::from("x"))];
    let mask = Mask::from_indices(vec![0, 1]).expect("ascending");
    let data = call(&instance, args, &mask, 3, &Limits::default()).expect("both have the column");
    assert_eq!(data.get(0).to_string(), "[1, 2]");
    assert_eq!(data.get(1).to_string(), "[3]");
}

proptest! {
    #[test]
    fn filter_sort_join_and_group_agree_with_loops(
        rows in prop::collection::vec((0_i64..4, -5_i64..5), 0..12),
        other in prop::collection::vec((0_i64..4, -5_i64..5), 0..6),
    ) {
        let of = |rows: &[(i64, i64)]| {
            let columns = vec![
                ("k".into(), Column::from_vec(rows.iter().map(|r| r.0).collect())),
                ("v".into(), Column::from_vec(rows.iter().map(|r| r.1).collect())),
            ];
            Value::from(Table::new(columns).expect("one length"))
        };
        let keep: Vec<bool> = rows.iter().map(|row| row.1 > 0).collect();
        let kept: Vec<i64> = rows.iter().filter(|row| row.1 > 0).map(|row| row.1).collect();
        prop_assert_eq!(&on("table.filter", &json!({}), vec![of(&rows), list(keep)])["v"], &json!(kept));

        let mut sorted = rows.clone();
        sorted.sort_by_key(|row| row.1);
        let keys: Vec<i64> = sorted.iter().map(|row| row.0).collect();
        prop_assert_eq!(&on("table.sort", &json!({}), vec![of(&rows), "v".into()])["k"], &json!(keys));

        let mut joined = Vec::new();
        for row in &rows {
            joined.extend(other.iter().filter(|o| o.0 == row.0).map(|o| (row.1, o.1)));
        }
        let left: Vec<i64> = joined.iter().map(|pair| pair.0).collect();
        let right: Vec<i64> = joined.iter().map(|pair| pair.1).collect();
        let found = on("table.join", &json!({}), vec![of(&rows), of(&other), "k".into()]);
        prop_assert_eq!((&found["v"], &found["v_2"]), (&json!(left), &json!(right)));

        let mut keys: Vec<i64> = Vec::new();
        for row in &rows {
            if !keys.contains(&row.0) {
                keys.push(row.0);
            }
        }
        let of_key = |key: &i64| rows.iter().filter(|row| row.0 == *key).map(|row| row.1).collect::<Vec<_>>();
        let sums: Vec<i64> = keys.iter().map(|key| of_key(key).iter().sum()).collect();
        let greatest: Vec<i64> =
            keys.iter().map(|key| *of_key(key).iter().max().expect("a row")).collect();
        let set = json!({"columns": ["v", "v"], "how": ["sum", "maximum"]});
        let found = on("table.group", &set, vec![of(&rows), "k".into()]);
        prop_assert_eq!(&found["k"], &json!(keys));
        prop_assert_eq!((&found["v_sum"], &found["v_maximum"]), (&json!(sums), &json!(greatest)));
    }
}
