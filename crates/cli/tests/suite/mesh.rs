//! `--save` to obj, ply and glTF: the names that viewers know, and faces.

use crate::{code, file, json, millstream, new_file, seen};

/// The standard error output and the saved file.
fn saved(name: &str, args: &[&str]) -> (String, Vec<u8>) {
    let path = new_file(name);
    let shown = path.display().to_string();
    let output = millstream(&[&["run"], args, &["--save", &shown]].concat());
    let told = String::from_utf8(output.stderr).expect("messages are UTF-8");
    (told.replace(&shown, "FILE"), std::fs::read(&path).unwrap_or_default())
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("it is text")
}

/// A sphere whose outputs have names that the author chose.
fn sphere() -> String {
    file(
        "sphere.mill",
        "ball = mesh.sphere(segments: 8, rings: 4)\n\
         output Vertices: list<vec3> = ball.points\n\
         output n: list<vec3> = ball.normals\n\
         output uv: list<vec2> = ball.texcoords\n\
         output triangles: list<i32> = ball.faces\n",
    )
}

#[test]
fn meshes_have_faces_and_the_names_that_viewers_know() {
    let (told, obj) = saved("sphere.obj", &[&sphere()]);
    assert_eq!(told, "saved 45 rows and 48 faces to FILE\n");
    let obj = text(obj);
    for (start, n) in [("v ", 45), ("vn ", 45), ("vt ", 45), ("f ", 48)] {
        assert_eq!(obj.lines().filter(|line| line.starts_with(start)).count(), n, "{start}");
    }
    let (_, ply) = saved("sphere.ply", &[&sphere()]);
    let head = String::from_utf8_lossy(&ply).split("end_header").next().unwrap_or("").to_owned();
    for line in ["float x", "float ny", "float s", "list uchar int vertex_indices"] {
        assert!(head.contains(&format!("property {line}\n")), "{head}");
    }
    let (told, glb) = saved("sphere.glb", &[&sphere()]);
    assert_eq!(told, "saved 45 rows and 48 faces to FILE\n");
    assert!(glb.starts_with(b"glTF"));
    let (_, gltf) = saved("sphere.gltf", &[&sphere()]);
    let gltf = text(gltf);
    for name in ["POSITION", "NORMAL", "TEXCOORD_0", "\"indices\""] {
        assert!(gltf.contains(name), "{gltf}");
    }
}

#[test]
fn a_saved_mesh_reads_back() {
    let graph = file(
        "read_mesh.mill",
        "input position: vec3\ninput indices: list<i32>\n\
         points = list.collect(position)\n\
         output normal: list<vec3> = mesh.normals(points, indices)\n",
    );
    for name in ["back.glb", "back.gltf"] {
        saved(name, &[&sphere()]);
        let shown = new_file("other").with_file_name(name).display().to_string();
        let (position, indices) =
            (format!("position=@{shown}"), format!("indices=@{shown}:indices"));
        let ran = json(&["run", &graph, "--in", &position, "--in", &indices, "--format", "json"]);
        let normals = ran["outputs"]["normal"]["value"].as_array().expect("a list");
        assert_eq!(normals.len(), 45, "{name}");
    }
}

#[test]
fn elements_become_vertices_and_types_decide_where_names_do_not() {
    let graph = file(
        "moved.mill",
        "input position: vec3\ninput tint: color = [1, 0.5, 0, 1]\n\
         output place: vec3 = position * 2\noutput shade: color = tint\noutput heat: f32 = position.x\n",
    );
    let given = "position=@examples/data/torus.obj";
    let (_, ply) = saved("moved.ply", &[&graph, "--in", given]);
    let head = String::from_utf8_lossy(&ply).split("end_header").next().unwrap_or("").to_owned();
    for line in ["float x", "float red", "float alpha", "float heat"] {
        assert!(head.contains(&format!("property {line}\n")), "{head}");
    }
    let (_, obj) = saved("moved.obj", &[&graph, "--in", given, "--out", "place", "--out", "shade"]);
    assert!(text(obj).lines().next().is_some_and(|line| line.ends_with(" 1.0 0.5 0.0")));
    // Other formats keep the names of the outputs.
    let (_, csv) = saved("moved.csv", &[&graph, "--in", given]);
    assert!(text(csv).starts_with("place.x,place.y,place.z,shade.r"));
}

#[test]
fn polygons_have_sizes() {
    let graph = |sizes: &str| {
        file(
            "polygons.mill",
            &format!(
                "i = context.index()\n\
                 output points: list<vec3> = list.generate(vector.combine_vec3(x: i, y: i * i), count: 5)\n\
                 output faces: list<i32> = list.convert(list.range(count: 5), to = \"i32\")\n\
                 output face_sizes: list<i32> = list.convert(list.range({sizes}), to = \"i32\")\n"
            ),
        )
    };
    let (told, obj) = saved("pentagon.obj", &[&graph("start: 5, count: 1")]);
    assert_eq!(told, "saved 5 rows and 1 face to FILE\n");
    assert!(text(obj).ends_with("f 1 2 3 4 5\n"));
    for (sizes, problem) in [
        ("start: 4, count: 1", "4 corners, but 5 are given"),
        ("start: 3, step: -1, count: 2", "has 2 corners"),
    ] {
        let (told, obj) = saved("wrong.obj", &[&graph(sizes)]);
        assert!(told.contains(problem) && obj.is_empty(), "{told}");
    }
    let (told, _) =
        saved("wrong.obj", &[&graph("start: 5, count: 1"), "--out", "points", "--out", "faces"]);
    assert!(told.contains("cannot be divided into triangles"), "{told}");
    assert_eq!(code(&["run", &graph("start: 5, count: 1"), "--save", "gltf:-"]), Some(2));
}

#[test]
fn an_invalid_corner_leaves_no_file() {
    let graph = file(
        "beyond.mill",
        "ball = mesh.sphere(segments: 3, rings: 2)\n\
         output points: list<vec3> = list.slice(ball.points, count: 5)\n\
         output faces: list<i32> = ball.faces\n",
    );
    let (told, glb) = saved("beyond.glb", &[&graph]);
    assert!(told.contains("has a corner at vertex") && glb.is_empty(), "{told}");
    assert!(told.contains("FILE`: the faces do not fit the vertices"), "{told}");
    assert!(seen(&["run", &graph]).contains("points"));
}
