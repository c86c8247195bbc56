//! Inferred and requested types, and the position of every wrong cell.

use millstream_base::{Limits, Type};

use crate::{Format, IoError, ReadOptions, Table, read_bytes};

fn read_text(text: &str, options: &ReadOptions) -> Result<Table, IoError> {
    read_bytes("t.csv", text.as_bytes(), Format::CSV, options)
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
fn only_the_file_has_a_byte_order_mark() {
    // The mark of the file is dropped; a cell that starts with such a character keeps it.
    assert_eq!(
        columns("\u{feff}a\n\u{feff}x\n\u{feff}\n"),
        ["a string[\"\\\"\\u{feff}x\\\"\", \"\\\"\\u{feff}\\\"\"]"]
    );
}

#[test]
fn types_are_inferred_and_vectors_combined() {
    assert_eq!(
        columns("id,name,p.x,p.y,ok,w\n1,a,0.5,1,true,\n-2,\"b, c\",inf,2,false,3\n"),
        [
            r#"id i32["1", "-2"]"#,
            r#"name string["\"a\"", "\"b, c\""]"#,
            r#"p vec2["[0.5, 1.0]", "[\"inf\", 2.0]"]"#,
            r#"ok bool["true", "false"]"#,
            r#"w f64["\"nan\"", "3.0"]"#,
        ]
    );
}

#[test]
fn spaces_a_byte_order_mark_and_crlf_are_accepted() {
    assert_eq!(columns("\u{feff}a, b\r\n1, 2.5\r\n"), [r#"a i32["1"]"#, r#"b f64["2.5"]"#]);
}

#[test]
fn leading_zeros_are_kept_unless_a_number_is_requested() {
    let text = "zip,x,ok\n0012,0.5,true\n12345,10,\n,-0.25,false\n";
    assert_eq!(
        columns(text),
        [
            r#"zip string["\"0012\"", "\"12345\"", "\"\""]"#,
            r#"x f64["0.5", "10.0", "-0.25"]"#,
            r#"ok f64["1.0", "\"nan\"", "0.0"]"#,
        ]
    );
    let n = read_text(text, &want("zip", Type::F32)).expect("reads");
    assert_eq!(n.column("zip").expect("wanted").get(0).to_string(), "12.0");
}

#[test]
fn a_requested_type_converts() {
    let p = read_text("p_z,p_x,p_y\n3,1,2\n", &want("p", Type::VEC3)).expect("reads");
    assert_eq!(p.column("p").expect("wanted").get(0).to_string(), "[1.0, 2.0, 3.0]");
    let c = read_text("c.r,c.g,c.b\n1,0,0\n", &want("c", Type::COLOR)).expect("reads");
    assert_eq!(c.column("c").expect("wanted").get(0).to_string(), "[1.0, 0.0, 0.0, 1.0]");
    let n = read_text("n\n3.0\ntrue\n", &want("n", Type::I32)).expect("reads");
    assert_eq!(n.column("n").expect("wanted").as_slice::<i32>(), Some(&[3, 1][..]));
}

#[test]
fn a_wrong_cell_is_named_by_line_and_column() {
    assert_eq!(
        message("a,b\n1,2\n1,two\n", &want("b", Type::F32)),
        "`t.csv` line 3 column `b`: `two` is not a valid f32"
    );
    assert_eq!(
        message("b\n99999999999\n", &want("b", Type::I32)),
        "`t.csv` line 2 column `b`: `99999999999` does not fit i32"
    );
    assert_eq!(
        message("a,b\n,1\n", &want("a", Type::I32)),
        "`t.csv` line 2 column `a` is empty where i32 is needed"
    );
    assert_eq!(message("a,b\n1,2\n3\n", &want("a", Type::I32)), {
        "`t.csv` line 3 has 1 cell, but the first line has 2"
    });
}

#[test]
fn line_numbers_include_blank_lines_and_those_inside_quotes() {
    assert_eq!(
        message("a,b\n\"x\ny\",1\n\nz,two\n", &want("b", Type::F32)),
        "`t.csv` line 5 column `b`: `two` is not a valid f32"
    );
    assert_eq!(
        message("\r\na\r\n\r\n1\r\n\r\ntwo\r\n", &want("a", Type::F32)),
        "`t.csv` line 6 column `a`: `two` is not a valid f32"
    );
}

#[test]
fn another_separator_is_reported() {
    let help = |text: &str, ty| {
        let (name, _) = text.split_once('\n').expect("lines");
        let error = read_text(text, &want(name, ty)).expect_err("is refused");
        miette::Diagnostic::help(&error).expect("helps").to_string()
    };
    assert_eq!(
        help("x;k\n1;2\n", Type::F64),
        "f64 is written as a number; csv files have commas between cells, but this one seems to \
         have semicolons"
    );
    assert!(help("x\tk\n1\t2\n", Type::F64).ends_with("have tabs; read the file as tsv"));
    assert_eq!(help("x\n1;2\n", Type::F64), "f64 is written as a number");
}

#[test]
fn an_unclosed_quote_is_refused() {
    let any = ReadOptions::default();
    let refused = |line: u32| {
        format!(
            "`t.csv` line {line} is not valid csv: a cell starts with a quote but does not end \
             with one"
        )
    };
    for (text, line) in [
        ("x\n\"ab\n2\n3\n", 2),
        ("x,y\n1,\"5", 2),
        ("x,y\n1,\"a\"\"", 2),
        ("\n\n\"x\n1\n", 3),
        ("x,y\n\"a\nb\",\"c\nd\n", 3),
        ("x\n1\n\"", 3),
    ] {
        assert_eq!(message(text, &any), refused(line), "{text:?}");
    }
    let right = [
        "x\n\"a\"",
        "x\n\"a\"\"\"",
        "x\na\"b",
        "x\na\"\"b\n",
        "x\n \"a\n",
        "x,y\n\"\",\"\"",
        "x\n\"a\"b\"\n",
    ];
    for text in right {
        assert_eq!(read_text(text, &any).expect("reads").n_rows(), 1, "{text:?}");
    }
}

#[test]
fn bad_tables_have_named_errors() {
    let any = ReadOptions::default();
    assert!(matches!(read_text("", &any), Err(IoError::Syntax { .. })));
    assert!(matches!(read_text("1,2\n3,4\n", &any), Err(IoError::Content { .. })));
    assert!(matches!(read_text("a,a\n3,4\n", &any), Err(IoError::DuplicateColumn { .. })));
    assert!(matches!(
        read_text("a\n1\n", &want("b", Type::F32)),
        Err(IoError::MissingColumn { .. })
    ));
    assert!(matches!(read_text("p\n1\n", &want("p", Type::VEC3)), Err(IoError::OtherType { .. })));
    let bytes = b"a,b\n1,\xff\n";
    let error = read_bytes("t.csv", bytes, Format::CSV, &any).expect_err("no UTF-8");
    assert_eq!(error.to_string(), "`t.csv` line 2 column `b` is not valid UTF-8");
}

#[test]
fn more_rows_or_bytes_than_allowed_are_refused() {
    let limits = Limits { list_length: 2, ..Limits::default() };
    let options = ReadOptions { limits, ..want("a", Type::F32) };
    assert!(matches!(read_text("a\n1\n2\n3\n", &options), Err(IoError::Limit { .. })));
    let limits = Limits { bytes: 8, ..Limits::default() };
    let options = ReadOptions { limits, ..want("a", Type::F32) };
    assert!(matches!(read_text("a\n1\n2\n3\n", &options), Err(IoError::Limit { .. })));
}

#[test]
fn tsv_files_have_tabs_between_cells() {
    let any = ReadOptions::default();
    let read = |text: &str| read_bytes("t.tsv", text.as_bytes(), Format::TSV, &any);
    let table = read("id\tname\tp.x\tp.y\n1\ta, b\t0.5\t1\n-2\t\"c\td\"\t\t2\n").expect("reads");
    let columns: Vec<String> =
        table.iter().map(|(name, column)| format!("{name} {column:?}")).collect();
    assert_eq!(
        columns,
        [
            r#"id i32["1", "-2"]"#,
            r#"name string["\"a, b\"", "\"c\\td\""]"#,
            r#"p vec2["[0.5, 1.0]", "[\"nan\", 2.0]"]"#,
        ]
    );
    let bytes = crate::write_bytes(Format::TSV, crate::WriteOptions::default(), &table);
    assert_eq!(
        String::from_utf8(bytes.expect("writes")).expect("text"),
        "id\tname\tp.x\tp.y\n1\ta, b\t0.5\t1.0\n-2\t\"c\td\"\tnan\t2.0\n"
    );
    assert_eq!(
        read("a\tb\n1\t\"2\n").expect_err("not closed").to_string(),
        "`t.tsv` line 2 is not valid tsv: a cell starts with a quote but does not end with one"
    );
    assert_eq!(
        read("a\tb\n1,2\n").expect_err("one cell").to_string(),
        "`t.tsv` line 2 has 1 cell, but the first line has 2"
    );
}
