//! The three forms, requested columns, and the position of every wrong value.

use millstream_base::Type;

use crate::{Format, IoError, ReadOptions, Table, read_bytes};

fn read_text(text: &str, options: &ReadOptions) -> Result<Table, IoError> {
    read_bytes("t.json", text.as_bytes(), Format::JSON, options)
}

fn columns(text: &str) -> Vec<String> {
    let table = read_text(text, &ReadOptions::default()).expect("reads");
    table.iter().map(|(name, column)| format!("{name} {column:?}")).collect()
}

fn message(text: &str, options: &ReadOptions) -> String {
    read_text(text, options).expect_err("is refused").to_string()
}

fn want(name: &str, ty: Type) -> ReadOptions {
    ReadOptions::default().with_column(name, ty)
}

#[test]
fn the_three_forms_are_read() {
    let rows = columns(r#"[{"a": 1, "p": [1, 2, 3]}, {"p": [4, 5, 6.5], "a": 2}]"#);
    let by_column = columns(r#"{"a": [1, 2], "p": [[1, 2, 3], [4, 5, 6.5]]}"#);
    assert_eq!(rows, [r#"a i32["1", "2"]"#, r#"p vec3["[1.0, 2.0, 3.0]", "[4.0, 5.0, 6.5]"]"#]);
    assert_eq!(rows, by_column);
    assert_eq!(columns(r#"["nan", 2]"#), [r#"value f64["\"nan\"", "2.0"]"#]);
    assert_eq!(columns("[[1], [2, 3]]"), [r#"value list<i32>["[1]", "[2, 3]"]"#]);
    assert_eq!(columns("[]"), Vec::<String>::new());
}

#[test]
fn nulls_in_vectors_and_lists_are_nans_or_empty_strings() {
    assert_eq!(
        columns(
            r#"[{"p": [1, null, 3], "l": [1.5, null], "t": [null]}, {"l": [], "t": ["a", "b"]}]"#
        ),
        [
            r#"p vec3["[1.0, \"nan\", 3.0]", "[\"nan\", \"nan\", \"nan\"]"]"#,
            r#"l list<f64>["[1.5, \"nan\"]", "[]"]"#,
            r#"t list<string>["[\"\"]", "[\"a\", \"b\"]"]"#,
        ]
    );
    let floats = Type::F32.list().expect("a list");
    let options = want("l", floats);
    assert_eq!(
        message(r#"[{"l": [1]}, {"l": null}]"#, &options),
        "`t.json` row 2 column `l` is null where list<f32> is needed"
    );
    let wholes = want("l", Type::I32.list().expect("a list"));
    assert_eq!(
        message(r#"[{"l": [1]}, {"l": [2, null]}]"#, &wholes),
        "`t.json` row 2 column `l` is null where list<i32> is needed"
    );
}

#[test]
fn keys_of_all_rows_are_columns() {
    assert_eq!(
        columns(r#"[{"a": 1}, {"b": "x", "a": 2}, {"c": true}]"#),
        [
            r#"a f64["1.0", "2.0", "\"nan\""]"#,
            r#"b string["\"\"", "\"x\"", "\"\""]"#,
            r#"c f64["\"nan\"", "\"nan\"", "1.0"]"#,
        ]
    );
    let table = read_text(r#"[{}, {"b": 2}]"#, &want("b", Type::F32)).expect("reads");
    assert_eq!(table.column("b").expect("is there").get(1).to_string(), "2.0");
    assert_eq!(
        message(r#"[{"a": 1}, {"b": 2}]"#, &want("b", Type::I32)),
        "`t.json` row 1 column `b` is null where i32 is needed"
    );
    // The text is short, but the values that its rows lack are not.
    let wide: Vec<String> = (0..2000).map(|i| format!("{{\"k{i}\": 1}}")).collect();
    let limits = millstream_base::Limits { bytes: 1 << 20, ..Default::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let found = read_text(&format!("[{}]", wide.join(",")), &options);
    assert!(matches!(found, Err(IoError::Limit { .. })));
}

#[test]
fn a_missing_key_is_null_and_null_is_nan_or_the_empty_string() {
    assert_eq!(
        columns(r#"[{"a": 1, "b": 2}, {"b": null}]"#),
        [r#"a f64["1.0", "\"nan\""]"#, r#"b f64["2.0", "\"nan\""]"#]
    );
    assert_eq!(
        columns(r#"[{"a": "x", "b": true}, {"b": false}, {}]"#),
        [r#"a string["\"x\"", "\"\"", "\"\""]"#, r#"b f64["1.0", "0.0", "\"nan\""]"#]
    );
    assert_eq!(
        message(r#"[{"a": 1}, {}]"#, &want("a", Type::I32)),
        "`t.json` row 2 column `a` is null where i32 is needed"
    );
}

#[test]
fn a_requested_column_is_read_alone_as_its_type() {
    let options = want("c", Type::COLOR);
    let table = read_text(r#"[{"x": {}, "c": [1, 0, 0]}, {"y": 1, "c": [0, 1, 0]}]"#, &options);
    let table = table.expect("reads");
    assert_eq!(table.n_columns(), 1);
    assert_eq!(table.column("c").expect("wanted").get(1).to_string(), "[0.0, 1.0, 0.0, 1.0]");
    let table = read_text("[]", &options).expect("reads");
    assert_eq!(table.column("c").expect("wanted").ty(), Type::COLOR);
}

#[test]
fn wrong_cells_are_named_by_row_and_column() {
    assert_eq!(
        message(r#"[{"a": 1}, {"a": "two"}]"#, &want("a", Type::F32)),
        "`t.json` row 2 column `a`: \"two\" is not a valid f32"
    );
    assert_eq!(
        message(r#"{"a": [1, 2], "b": [1]}"#, &ReadOptions::default()),
        "in `t.json` the column `a` has 2 rows, but `b` has 1"
    );
    assert_eq!(
        message(r#"[1, "a"]"#, &ReadOptions::default()),
        "`t.json` row 2 column `value` holds a value of a different kind than in the rows before, \
         which cannot be read"
    );
}

#[test]
fn objects_in_columns_are_reported_as_such() {
    assert_eq!(
        message(r#"[{"a": {"x": 1}}]"#, &ReadOptions::default()),
        "`t.json` row 1 column `a` holds a value of a kind that columns cannot hold, which cannot \
         be read"
    );
}

#[test]
fn syntax_errors_have_line_and_column() {
    assert_eq!(
        message("[1,\n 2,,]", &ReadOptions::default()),
        "`t.json` line 2 is not valid json: expected value at column 4"
    );
    let any = ReadOptions::default();
    for text in ["", "3", "[1] 2", "[{\"a\": 1}, 2]", "{\"a\": 1}", "nope"] {
        assert!(matches!(read_text(text, &any), Err(IoError::Syntax { .. })), "{text}");
    }
    let twice = r#"[{"a": 1, "a": 2}]"#;
    assert!(matches!(read_text(twice, &any), Err(IoError::DuplicateColumn { .. })));
    let twice = r#"{"a": [1], "a": [2]}"#;
    assert!(matches!(read_text(twice, &any), Err(IoError::DuplicateColumn { .. })));
}

#[test]
fn endless_brackets_do_not_overflow_the_stack() {
    let any = ReadOptions::default();
    assert!(matches!(read_text(&"[".repeat(100_000), &any), Err(IoError::Syntax { .. })));
    assert!(matches!(read_text(&"{\"a\":".repeat(100_000), &any), Err(IoError::Syntax { .. })));
}

#[test]
fn lines_are_rows_with_their_numbers_in_messages() {
    let read = |text: &str| {
        read_bytes("t.jsonl", text.as_bytes(), Format::JSON_LINES, &ReadOptions::default())
    };
    let columns = |text: &str| -> Vec<String> {
        let table = read(text).expect("reads");
        table.iter().map(|(name, column)| format!("{name} {column:?}")).collect()
    };
    let rows = "{\"a\": 1, \"b\": \"x\"}\r\n\n{\"b\": \"y\", \"a\": 2.5}";
    assert_eq!(columns(rows), [r#"a f64["1.0", "2.5"]"#, r#"b string["\"x\"", "\"y\""]"#]);
    assert_eq!(columns("1\n2\n"), [r#"value i32["1", "2"]"#]);
    assert_eq!(columns("\n\n"), Vec::<String>::new());
    let message = |text: &str| read(text).expect_err("is refused").to_string();
    let cut = message("{\"a\": 1}\n\n{\"a\": [1,\n2]}");
    assert!(cut.contains("`t.jsonl` line 3") && cut.contains("EOF"), "{cut}");
    let two = message("1\n2, 3\n");
    assert!(two.contains("`t.jsonl` line 2") && two.contains("column 2"), "{two}");
    let kinds = message("{\"a\": 1}\n{\"a\": \"x\"}");
    assert!(kinds.contains("`t.jsonl` row 2 column `a`"), "{kinds}");
}

#[test]
fn errors_in_rows_on_lines_have_line_numbers() {
    let text = b"{\"x\": \"a\"}\n{\"x\": \"\\ud800\"}\n";
    let error = read_bytes("t.jsonl", text, Format::JSON_LINES, &ReadOptions::default());
    let message = error.expect_err("half a character").to_string();
    assert!(message.starts_with("`t.jsonl` line 2 is not valid jsonl"), "{message}");
}
