//! Columns of vertices and faces, and the line of every wrong statement.

use millstream_base::{Color, Column, Limits, Type, Vec3};

use crate::{
    Budget, ColumnChoice, Format, IoError, ReadOptions, Table, read_bytes, read_column_bytes,
};

const QUAD: &str = "# a quad\nmtllib a.mtl\no quad\n\
    v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 9 9 9\n\
    vt 0 0\nvt 1 \\\n1\nvn 0 0 1\n\
    f 1/1/1 2/2/1 3/2/1 4/1/1\nf -5//1 -4//1 -3//1\n";

fn read_text(text: &str, options: &ReadOptions) -> Result<Table, IoError> {
    read_bytes("t.obj", text.as_bytes(), Format::OBJ, options)
}

fn of(name: &str) -> Column {
    let mut options = ReadOptions::default();
    options.columns.insert(name.into(), None);
    read_text(QUAD, &options).expect("reads").column(name).expect("wanted").clone()
}

#[test]
fn vertices_keep_their_order_even_without_faces() {
    let table = read_text(QUAD, &ReadOptions::default()).expect("reads");
    assert_eq!(table.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["position"]);
    assert_eq!(table.n_rows(), 5);
    assert_eq!(table.column("position").expect("there").get(4).to_string(), "[9.0, 9.0, 9.0]");
}

#[test]
fn the_other_lists_of_the_file_are_separate_columns() {
    assert_eq!(format!("{:?}", of("face")), r#"list<i32>["[0, 1, 2, 3]", "[0, 1, 2]"]"#);
    assert_eq!(format!("{:?}", of("face_texcoord")), r#"list<i32>["[0, 1, 1, 0]", "[]"]"#);
    assert_eq!(format!("{:?}", of("texcoord")), r#"vec2["[0.0, 0.0]", "[1.0, 1.0]"]"#);
    assert_eq!(format!("{:?}", of("normal")), r#"vec3["[0.0, 0.0, 1.0]"]"#);
    let mut both = ReadOptions::default();
    both.columns.insert("face".into(), None);
    both.columns.insert("position".into(), None);
    assert!(matches!(read_text(QUAD, &both), Err(IoError::Lengths { .. })));
}

#[test]
fn positions_are_the_default_column() {
    let choice = ColumnChoice { column: None, otherwise: "p", ty: Some(Type::VEC3) };
    let limits = Limits::default();
    let column = read_column_bytes(
        "t.obj",
        QUAD.as_bytes(),
        Format::OBJ,
        choice,
        &limits,
        &Budget::default(),
    );
    assert_eq!(column.expect("reads").len(), 5);
}

#[test]
fn vertices_may_have_a_weight_and_a_color() {
    let text = "v 1 2 3 0.5 1 0 0\nv 4 5 6 1 0 1 0\n";
    let table = read_text(text, &ReadOptions::default()).expect("reads");
    let column = |name| format!("{:?}", table.column(name).expect("is there"));
    assert_eq!(column("position"), r#"vec3["[1.0, 2.0, 3.0]", "[4.0, 5.0, 6.0]"]"#);
    assert_eq!(column("color"), r#"color["[1.0, 0.0, 0.0, 1.0]", "[0.0, 1.0, 0.0, 1.0]"]"#);
    let table = read_text("v 1 2 3 0.5\nv 4 5 6 -2\n", &ReadOptions::default()).expect("reads");
    assert_eq!(table.column("position").expect("is there").len(), 2);
}

#[test]
fn bad_lines_are_named() {
    let message =
        |text: &str| read_text(text, &ReadOptions::default()).expect_err("is refused").to_string();
    assert_eq!(message("v 1 2\n"), {
        "`t.obj` line 1 is not valid obj: a vertex has 3 numbers, \
         4 with a weight, 6 with a color, or 7 with both"
    });
    assert_eq!(message("v 1 2 x\n"), "`t.obj` line 1 column `v`: `x` is not a valid f32");
    assert_eq!(
        message("v 1 2 3\nf 1 1 2\n"),
        "`t.obj` line 2 is not valid obj: a face uses `v` number 2, but the last is number 1"
    );
    assert_eq!(
        message("v 1 2 3\nf 1 0 1\n"),
        "`t.obj` line 2 is not valid obj: `0` is not an index of a `v`"
    );
    assert_eq!(message("hello\n"), "`t.obj` line 1 is not valid obj: `hello` is not a statement");
    assert!(matches!(
        read_bytes("t.obj", b"v 1 2 3\n\xff", Format::OBJ, &ReadOptions::default()),
        Err(IoError::Encoding { .. })
    ));
}

#[test]
fn only_opaque_colors_are_written() {
    let mut table = Table::new("t");
    table.insert("position", Column::from_vec(vec![Vec3([0.0; 3])])).expect("first");
    table.insert("color", Column::from_vec(vec![Color([1.0, 1.0, 1.0, 0.5])])).expect("second");
    let options = crate::WriteOptions::default();
    let error = crate::write_bytes(Format::OBJ, options, &table).expect_err("has alpha");
    assert!(matches!(error, IoError::CannotWrite { .. }));
}
