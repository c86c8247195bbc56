//! Written meshes read back, as text and binary.

use std::sync::Arc;

use millstream_base::same::Same as _;
use millstream_base::{Color, Column, Type, Vec2, Vec3};

use crate::{
    Encoding, Faces, Format, IoError, ReadOptions, Table, WriteOptions, read_bytes, write_bytes,
};

fn square() -> Table {
    let mut table = Table::new("square");
    let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.1], [0.0, 1.0, -0.5]];
    let columns = [
        ("position", Column::from_vec(corners.map(Vec3).to_vec())),
        ("normal", Column::from_vec(vec![Vec3([0.0, 0.0, 1.0]); 4])),
        ("texcoord", Column::from_vec(corners.map(|c| Vec2([c[0], c[1]])).to_vec())),
        ("color", Column::from_vec(vec![Color([0.5, 0.25, 1.0, 1.0]); 4])),
        ("heat", Column::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0])),
    ];
    for (name, column) in columns {
        table.insert(name, column).expect("one length");
    }
    table
}

fn written(encoding: Encoding, faces: Option<Faces>) -> Vec<u8> {
    let options = WriteOptions { encoding, faces: faces.map(Arc::new), ..WriteOptions::default() };
    write_bytes(Format::GLTF, options, &square()).expect("it is a mesh")
}

fn read(bytes: &[u8], column: &str) -> Column {
    let all = ReadOptions::default();
    let one = |name: &str| ReadOptions::default().with_column(name, Type::I32);
    let options = if column == "indices" { one(column) } else { all };
    let table = read_bytes("square", bytes, Format::GLTF, &options).expect("it is valid");
    table.column(column).expect("it is there").clone()
}

#[test]
fn attributes_and_faces_read_back() {
    for encoding in [Encoding::Text, Encoding::Binary] {
        let faces = Faces::polygons(vec![0, 1, 2, 3], vec![4]).expect("a square");
        let bytes = written(encoding, Some(faces));
        assert_eq!(bytes.starts_with(b"glTF"), encoding == Encoding::Binary);
        for (name, column) in square().iter() {
            let name = if name == "heat" { "_heat" } else { name };
            assert!(read(&bytes, name).same(column), "{name}");
        }
        assert_eq!(read(&bytes, "indices").as_slice::<i32>(), Some(&[0, 1, 2, 0, 2, 3][..]));
    }
}

#[test]
fn without_faces_vertices_are_points() {
    let text = String::from_utf8(written(Encoding::Text, None)).expect("text");
    assert!(text.contains("\"mode\": 0") && !text.contains("\"indices\""), "{text}");
    let least = text.split_once("\"min\": [").expect("positions have bounds").1;
    let least: String = least.chars().take_while(|c| *c != ']').filter(|c| *c > ' ').collect();
    assert_eq!(least, "0.0,0.0,-0.5");
}

#[test]
fn colors_are_clamped_and_normals_have_length_1() {
    let mut table = Table::new("bright");
    let positions = vec![Vec3([0.0; 3]), Vec3([2.0; 3])];
    table.insert("position", Column::from_vec(positions)).expect("first");
    let colors = vec![Color([1.5, -0.25, 0.5, 1.0]), Color([0.0, 1.0, 1.25, 2.0])];
    table.insert("color", Column::from_vec(colors)).expect("one length");
    let normals = vec![Vec3([0.0, 3.0, -4.0]), Vec3([0.0; 3])];
    table.insert("normal", Column::from_vec(normals)).expect("one length");
    let bytes = write_bytes(Format::GLTF, WriteOptions::default(), &table).expect("it is a mesh");
    let normals = vec![Vec3([0.0, 0.6, -0.8]), Vec3([0.0; 3])];
    assert!(read(&bytes, "normal").same(&Column::from_vec(normals)));
    let expected = vec![Color([1.0, 0.0, 0.5, 1.0]), Color([0.0, 1.0, 1.0, 1.0])];
    assert!(read(&bytes, "color").same(&Column::from_vec(expected)));
    assert!(read(&bytes, "position").same(table.column("position").expect("it is there")));
}

#[test]
fn unsupported_columns_are_refused() {
    let refused = |name: &str, column: Column| -> String {
        let mut table = Table::new("t");
        table.insert("position", Column::from_vec(vec![Vec3([0.0; 3])])).expect("first");
        if name == "position" {
            table = Table::new("t");
        }
        table.insert(name, column).expect("one length");
        let error = write_bytes(Format::GLTF, WriteOptions::default(), &table);
        let error: IoError = error.expect_err("is refused");
        let help = miette::Diagnostic::help(&error).map(|help| help.to_string());
        format!("{error}: {}", help.unwrap_or_default())
    };
    let nan = refused("position", Column::from_vec(vec![Vec3([0.0, f32::NAN, 0.0])]));
    assert!(nan.contains("row 1 is not finite"), "{nan}");
    let none = refused("position", Column::empty(Type::VEC3));
    assert!(none.contains("a mesh without vertices"), "{none}");
    assert!(refused("n", Column::from_vec(vec![1_i32])).contains("convert it, or write to ply"));
    assert!(refused("normal", Column::from_vec(vec![1.0_f32])).contains("are vec3"));
    let flat = refused("position", Column::from_vec(vec![Vec2([0.0; 2])]));
    assert!(flat.contains("`position`"), "{flat}");
    let faces = Faces::triangles(vec![0, 1, 4]).expect("a triangle");
    let options = WriteOptions { faces: Some(Arc::new(faces)), ..WriteOptions::default() };
    for format in [Format::GLTF, Format::PLY, Format::OBJ] {
        let mut table = Table::new("t");
        table.insert("position", square().column("position").expect("there").clone()).expect("one");
        let error = write_bytes(format, options.clone(), &table).expect_err("no vertex 4");
        let help = miette::Diagnostic::help(&error).map(|help| help.to_string());
        let told = help.expect("a hint");
        assert_eq!(
            told,
            "face 0 (counted from 0) has a corner at vertex 4, but the vertices are 0 to 3"
        );
    }
    let error = write_bytes(Format::CSV, options, &square()).expect_err("no faces");
    assert!(error.to_string().contains("csv"), "{error}");
}

#[test]
fn faces_are_written_to_ply_and_obj() {
    let faces = Faces::polygons(vec![0, 1, 2, 3, 0, 2, 3], vec![4, 3]).expect("they fit");
    let faces = Some(Arc::new(faces));
    let mut table = square();
    for encoding in [Encoding::Text, Encoding::Binary] {
        let options = WriteOptions { encoding, faces: faces.clone(), ..WriteOptions::default() };
        let bytes = write_bytes(Format::PLY, options, &table).expect("a mesh");
        let name = "face.vertex_indices";
        let list = Type::I32.list().expect("a list");
        let options = ReadOptions::default().with_column(name, list);
        let read = read_bytes("m.ply", &bytes, Format::PLY, &options).expect("it is valid");
        let lists = read.column(name).expect("faces").iter().map(|face| face.to_string());
        assert_eq!(lists.collect::<Vec<_>>(), ["[0, 1, 2, 3]", "[0, 2, 3]"]);
        let head = String::from_utf8_lossy(&bytes);
        for property in ["float x", "float nx", "float red", "float s", "float heat"] {
            assert!(head.contains(&format!("property {property}\n")), "{property}");
        }
    }
    let columns = table.iter().filter(|(name, _)| *name != "heat");
    let columns: Vec<_> = columns.map(|(name, column)| (name.to_owned(), column.clone())).collect();
    table = Table::new("square");
    for (name, column) in columns {
        table.insert(&name, column).expect("one length");
    }
    let options = WriteOptions { faces, ..WriteOptions::default() };
    let text = write_bytes(Format::OBJ, options, &table).expect("a mesh");
    let text = String::from_utf8(text).expect("text");
    assert!(text.ends_with("f 1/1/1 2/2/2 3/3/3 4/4/4\nf 1/1/1 3/3/3 4/4/4\n"), "{text}");
}
