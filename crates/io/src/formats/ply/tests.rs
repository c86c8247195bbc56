//! Properties combined to attributes, both encodings, and headers that claim too much.

use millstream_base::Type;

use crate::{Format, IoError, ReadOptions, Table, read_bytes};

const HEADER: &str = "ply\nformat ascii 1.0\ncomment made by hand\n\
    element vertex 2\nproperty float x\nproperty float y\nproperty float z\n\
    property uchar red\nproperty uchar green\nproperty uchar blue\nproperty int id\n\
    element face 1\nproperty list uchar int vertex_indices\nend_header\n";

fn read_text(text: &str, options: &ReadOptions) -> Result<Table, IoError> {
    read_bytes("t.ply", text.as_bytes(), Format::PLY, options)
}

fn message(text: &str) -> String {
    read_text(text, &ReadOptions::default()).expect_err("is refused").to_string()
}

#[test]
fn properties_are_combined_to_attributes() {
    let text = format!("{HEADER}0 .5 nan 255 0 0 7\n\n1 2 3 0 51 0 8\n3 0 1 1\n");
    let table = read_text(&text, &ReadOptions::default()).expect("reads");
    let columns: Vec<String> = table.iter().map(|(name, c)| format!("{name} {c:?}")).collect();
    assert_eq!(
        columns,
        [
            r#"position vec3["[0.0, 0.5, \"nan\"]", "[1.0, 2.0, 3.0]"]"#,
            r#"color color["[1.0, 0.0, 0.0, 1.0]", "[0.0, 0.2, 0.0, 1.0]"]"#,
            r#"id i32["7", "8"]"#,
        ]
    );
    let mut faces = ReadOptions::default();
    faces.columns.insert("face.vertex_indices".into(), None);
    let table = read_text(&text, &faces).expect("reads");
    let column = table.column("face.vertex_indices").expect("wanted");
    assert_eq!(format!("{column:?}"), r#"list<i32>["[0, 1, 1]"]"#);
}

#[test]
fn the_time_for_many_properties_is_linear() {
    let n = 30_000;
    let properties: Vec<String> = (0..n).map(|i| format!("property float p{i}\n")).collect();
    let properties = properties.concat();
    let text = format!("ply\nformat ascii 1.0\nelement vertex 1\n{properties}end_header\n");
    let started = std::time::Instant::now();
    let table = read_text(&format!("{text}{}\n", "1 ".repeat(n)), &ReadOptions::default());
    assert_eq!(table.expect("reads").iter().count(), n);
    // Comparing each name with all names took more than half a minute.
    assert!(started.elapsed().as_secs() < 8, "{:?}", started.elapsed());
}

#[test]
fn a_requested_type_converts() {
    let text = format!("{HEADER}0 0 0 255 0 0 7\n1 2 3 0 51 0 8\n3 0 1 1\n");
    let options = ReadOptions::default()
        .with_column("id", Type::F64)
        .with_column("color", Type::VEC3)
        .with_column("y", Type::I32);
    let table = read_text(&text, &options).expect("reads");
    assert_eq!(table.column("id").expect("wanted").as_slice::<f64>(), Some(&[7.0, 8.0][..]));
    assert_eq!(table.column("color").expect("wanted").get(1).to_string(), "[0.0, 0.2, 0.0]");
    assert_eq!(table.column("y").expect("wanted").as_slice::<i32>(), Some(&[0, 2][..]));
}

#[test]
fn big_endian_files_are_read() {
    let mut bytes = b"ply\nformat binary_big_endian 1.0\nelement point 1\n\
        property short a\nproperty list uchar float b\nend_header\n"
        .to_vec();
    bytes.extend((-2_i16).to_be_bytes());
    bytes.push(1);
    bytes.extend(0.5_f32.to_be_bytes());
    let table = read_bytes("t.ply", &bytes, Format::PLY, &ReadOptions::default()).expect("reads");
    let columns: Vec<String> = table.iter().map(|(name, c)| format!("{name} {c:?}")).collect();
    assert_eq!(columns, [r#"a i32["-2"]"#, r#"b list<f32>["[0.5]"]"#]);
}

#[test]
fn bad_files_have_named_errors() {
    assert_eq!(message("plx\n"), {
        "`t.ply` line 1 is not valid ply: it does not start with the line `ply`"
    });
    assert_eq!(
        message("ply\nformat ascii 1.0\n"),
        "`t.ply` is not valid ply: it ends inside the header; the line `end_header` is missing"
    );
    let twice = HEADER.replace("float y", "float x");
    assert_eq!(message(&twice), "`t.ply` line 6 column `x` occurs twice");
    let elements = HEADER.replace("end_header", "element vertex 1\nend_header");
    assert_eq!(message(&elements), "`t.ply` line 14 column `vertex` occurs twice");
    let more = format!("{HEADER}0 0 0 0 0 0 0\n0 0 0 0 0 0 0\n3 0 1 1\n\n9\n");
    assert_eq!(message(&more), "`t.ply` should hold the announced rows of data, but holds more");
    let cut = format!("{HEADER}0 0 0 0 0 0 0\n");
    assert_eq!(message(&cut), {
        "`t.ply` column `vertex` should hold 2 rows of data, but holds 1"
    });
    let wrong = format!("{HEADER}0 0 0 0 0 0 0\n0 a 0 0 0 0 0\n");
    assert_eq!(message(&wrong), "`t.ply` line 16 column `y`: `a` is not a valid f32");
    let long = format!("{HEADER}0 0 0 0 0 0 0 9\n");
    assert_eq!(message(&long), {
        "`t.ply` line 15 is not valid ply: `9` follows the last property"
    });
    assert!(matches!(
        read_text(
            &HEADER.replace("property int id", "property complex id"),
            &ReadOptions::default()
        ),
        Err(IoError::Syntax { .. })
    ));
}

#[test]
fn a_header_that_claims_too_much_allocates_nothing() {
    let many = HEADER.replace("vertex 2", "vertex 9000000000");
    assert!(message(&many).contains("more than 268435456 rows"));
    let some =
        HEADER.replace("vertex 2", "vertex 200000000").replace("ascii", "binary_little_endian");
    assert!(message(&some).contains("should hold 200000000 rows"));
    let nothing = "ply\nformat binary_little_endian 1.0\nelement a 200000000\nend_header\n";
    assert!(message(nothing).contains("an element without properties"));
    let list =
        "ply\nformat ascii 1.0\nelement a 1\nproperty list uint int b\nend_header\n4000000000 1\n";
    assert!(message(list).ends_with("the row ends before this number"));
}
