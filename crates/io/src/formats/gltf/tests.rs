//! Attributes of all forms, and documents that claim more than their buffers hold.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use millstream_base::{Limits, Type, Vec3};

use crate::{Format, IoError, ReadOptions, read, read_bytes};

/// A mesh of two vertices; `more` are further attributes, whose accessors start at number 1.
fn document(buffer: &[u8], uri: Option<&str>, views: &str, accessors: &str, more: &str) -> String {
    let data = base64::engine::general_purpose::STANDARD.encode(buffer);
    let embedded = format!("data:application/octet-stream;base64,{data}");
    let (uri, n) = (uri.unwrap_or(&embedded), buffer.len());
    format!(
        r#"{{"asset": {{"version": "2.0"}}, "buffers": [{{"byteLength": {n}, "uri": "{uri}"}}],
            "bufferViews": [{{"buffer": 0, "byteOffset": 0, "byteLength": 24}}{views}],
            "accessors": [{{"bufferView": 0, "componentType": 5126, "count": 2, "type": "VEC3",
                            "min": [0, 0, 0], "max": [9, 9, 9]}}{accessors}],
            "meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0{more}}}}}]}},
                       {{"primitives": [{{"attributes": {{"POSITION": 0{more}}}}}]}}]}}"#
    )
}

fn positions() -> Vec<u8> {
    [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn columns(text: &str, options: &ReadOptions) -> Result<Vec<String>, IoError> {
    let table = read_bytes("t.gltf", text.as_bytes(), Format::GLTF, options)?;
    Ok(table.iter().map(|(name, column)| format!("{name} {column:?}")).collect())
}

#[test]
fn elements_that_overlap_are_refused() {
    let mut buffer = positions();
    buffer.extend(positions());
    let text = |stride: u32| {
        document(
            &buffer,
            None,
            &format!(
                r#", {{"buffer": 0, "byteOffset": 24, "byteLength": 24, "byteStride": {stride}}}"#
            ),
            r#", {"bufferView": 1, "componentType": 5126, "count": 2, "type": "VEC3"}"#,
            r#", "NORMAL": 1"#,
        )
    };
    assert!(columns(&text(12), &ReadOptions::default()).is_ok());
    for stride in [4, 8] {
        let refused = columns(&text(stride), &ReadOptions::default()).expect_err("they overlap");
        let reason = format!("`normal` has elements of 12 bytes every {stride} bytes");
        assert!(refused.to_string().contains(&reason), "{refused}");
    }
}

#[test]
fn vertices_of_all_meshes_are_concatenated() {
    let mut buffer = positions();
    buffer.extend([255, 0, 51, 0, 0, 255, 0, 0]);
    buffer.extend([1, 2, 3, 4, 5, 6, 7, 8]);
    let text = document(
        &buffer,
        None,
        r#", {"buffer": 0, "byteOffset": 24, "byteLength": 8, "byteStride": 4},
             {"buffer": 0, "byteOffset": 32, "byteLength": 8}"#,
        r#", {"bufferView": 1, "componentType": 5121, "count": 2, "type": "VEC3", "normalized": true},
             {"bufferView": 2, "componentType": 5121, "count": 2, "type": "VEC4"}"#,
        r#", "COLOR_0": 1, "JOINTS_0": 2"#,
    );
    let of = |name: &str, column: &str| format!("{name} {column}");
    let all = columns(&text, &ReadOptions::default()).expect("reads");
    let p = r#""[1.0, 2.0, 3.0]", "[4.0, 5.0, 6.0]""#;
    let c = r#""[1.0, 0.0, 0.2, 1.0]", "[0.0, 1.0, 0.0, 1.0]""#;
    let j = r#""[1, 2, 3, 4]", "[5, 6, 7, 8]""#;
    assert_eq!(
        all,
        [
            of("position", &format!("vec3[{p}, {p}]")),
            of("color", &format!("color[{c}, {c}]")),
            of("joints", &format!("list<i32>[{j}, {j}]")),
            of("mesh", r#"i32["0", "0", "1", "1"]"#),
            of("primitive", r#"i32["0", "0", "0", "0"]"#),
        ]
    );
    let options = ReadOptions::default().with_column("indices", Type::I32);
    let indices = columns(&text, &options).expect("reads");
    assert_eq!(indices, [r#"indices i32["0", "1", "2", "3"]"#]);
    let colors = ReadOptions::default().with_column("color", Type::VEC3);
    assert!(columns(&text, &colors).is_ok());
}

#[test]
fn application_specific_attributes_are_columns() {
    let mut buffer = positions();
    buffer.extend([20.5_f32, 21.5, 1.0, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()));
    buffer.extend([7_u16, 9].iter().flat_map(|x| x.to_le_bytes()));
    let views = r#", {"buffer": 0, "byteOffset": 24, "byteLength": 8},
                     {"buffer": 0, "byteOffset": 32, "byteLength": 16},
                     {"buffer": 0, "byteOffset": 48, "byteLength": 4}"#;
    let accessors = r#", {"bufferView": 1, "componentType": 5126, "count": 2, "type": "SCALAR"},
                         {"bufferView": 2, "componentType": 5126, "count": 2, "type": "VEC2"},
                         {"bufferView": 3, "componentType": 5123, "count": 2, "type": "SCALAR"}"#;
    let more = r#", "_TEMPERATURE": 1, "_flow": 2, "_ID": 3"#;
    let text = document(&buffer, None, views, accessors, more);
    let all = columns(&text, &ReadOptions::default()).expect("reads");
    let expected = [
        r#"_ID i32["7", "9", "7", "9"]"#,
        r#"_TEMPERATURE f32["20.5", "21.5", "20.5", "21.5"]"#,
        r#"_flow vec2["[1.0, 2.0]", "[3.0, 4.0]", "[1.0, 2.0]", "[3.0, 4.0]"]"#,
    ];
    assert_eq!(all[1..4], expected);
}

#[test]
fn a_sparse_accessor_replaces_some_elements() {
    let mut buffer = positions();
    buffer.extend([1, 0, 0, 0]);
    buffer.extend([7.0_f32, 8.0, 9.0].iter().flat_map(|x| x.to_le_bytes()));
    let views = r#", {"buffer": 0, "byteOffset": 24, "byteLength": 1},
                     {"buffer": 0, "byteOffset": 28, "byteLength": 12}"#;
    let sparse = |count| {
        format!(
            r#", {{"bufferView": 0, "componentType": 5126, "count": 2, "type": "VEC3",
                   "sparse": {{"count": {count},
                     "indices": {{"bufferView": 1, "componentType": 5121}},
                     "values": {{"bufferView": 2}}}}}}"#
        )
    };
    let options = ReadOptions::default().with_column("normal", Type::VEC3);
    let text = document(&buffer, None, views, &sparse(1), r#", "NORMAL": 1"#);
    let n = r#""[1.0, 2.0, 3.0]", "[7.0, 8.0, 9.0]""#;
    assert_eq!(columns(&text, &options).expect("reads"), [format!("normal vec3[{n}, {n}]")]);
    let text = document(&buffer, None, views, &sparse(2), r#", "NORMAL": 1"#);
    assert!(matches!(columns(&text, &options), Err(IoError::Length { .. })));
}

#[test]
fn more_than_the_buffer_holds_is_refused() {
    let short = document(&positions()[..20], None, "", "", "");
    assert!(matches!(columns(&short, &ReadOptions::default()), Err(IoError::Length { .. })));
    let many = document(&positions(), None, "", "", "").replace("\"count\": 2", "\"count\": 99999");
    assert!(matches!(columns(&many, &ReadOptions::default()), Err(IoError::Length { .. })));
    let huge = many.replace("99999", "99999999999999999");
    let limits = Limits { list_length: 1000, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    assert!(matches!(columns(&huge, &options), Err(IoError::Limit { .. })));
    assert!(matches!(columns("{\"asset\"", &ReadOptions::default()), Err(IoError::Syntax { .. })));
}

#[test]
fn elements_without_bytes_are_counted_before_they_are_built() {
    // A mesh of zeros, as many as the file says, except for the first vertex.
    let zeros = |count: usize| {
        let data = base64::engine::general_purpose::STANDARD.encode([0; 16]);
        format!(
            r#"{{"asset": {{"version": "2.0"}},
                "buffers": [{{"byteLength": 16, "uri": "data:application/octet-stream;base64,{data}"}}],
                "bufferViews": [{{"buffer": 0, "byteLength": 1}},
                                {{"buffer": 0, "byteOffset": 4, "byteLength": 12}}],
                "accessors": [{{"componentType": 5126, "count": {count}, "type": "VEC3",
                  "sparse": {{"count": 1, "indices": {{"bufferView": 0, "componentType": 5121}},
                              "values": {{"bufferView": 1}}}}}}],
                "meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0}}}}]}}]}}"#
        )
    };
    let all = ReadOptions::default();
    assert_eq!(columns(&zeros(1), &all).expect("reads")[0], r#"position vec3["[0.0, 0.0, 0.0]"]"#);
    let many = zeros(100_000_000);
    for (name, ty) in [("position", Type::VEC3), ("mesh", Type::I32), ("indices", Type::I32)] {
        let error = columns(&many, &ReadOptions::default().with_column(name, ty));
        let text = error.expect_err("is refused").to_string();
        assert_eq!(
            text,
            "`t.gltf` column `position` holds 100000000 elements without bytes, which is more than \
             the bytes of the file, which cannot be read"
        );
    }
    let limits = Limits { bytes: 1000, ..Limits::default() };
    let few = ReadOptions { limits, ..ReadOptions::default() };
    assert!(matches!(columns(&zeros(90), &few), Err(IoError::Limit { what: "bytes", .. })));
}

#[test]
fn attributes_may_be_small_integers() {
    // Two vectors of three for each component type, at strides of 4 or 8 bytes.
    let mut buffer = Vec::new();
    for x in [-32768_i16, 32767, 0, 0, 16384, -1, 5, 0] {
        buffer.extend(x.to_le_bytes());
    }
    buffer.extend([127, 0x80, 0, 0, 0, 64, 255, 0]);
    buffer.extend([0, 255, 51, 102]);
    let text = |kinds: [(u32, bool); 3]| {
        let [p, n, t] = kinds;
        format!(
            r#"{{"asset": {{"version": "2.0"}}, "extensionsUsed": ["KHR_mesh_quantization"],
                "extensionsRequired": ["KHR_mesh_quantization"],
                "buffers": [{{"byteLength": 28, "uri": "data:application/octet-stream;base64,{}"}}],
                "bufferViews": [{{"buffer": 0, "byteLength": 16, "byteStride": 8}},
                                {{"buffer": 0, "byteOffset": 16, "byteLength": 8, "byteStride": 4}},
                                {{"buffer": 0, "byteOffset": 24, "byteLength": 4}}],
                "accessors": [
                  {{"bufferView": 0, "componentType": {}, "normalized": {}, "count": 2, "type": "VEC3"}},
                  {{"bufferView": 1, "componentType": {}, "normalized": {}, "count": 2, "type": "VEC3"}},
                  {{"bufferView": 2, "componentType": {}, "normalized": {}, "count": 2, "type": "VEC2"}}],
                "meshes": [{{"primitives": [{{"attributes":
                  {{"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2}}}}]}}]}}"#,
            base64::engine::general_purpose::STANDARD.encode(&buffer),
            p.0,
            p.1,
            n.0,
            n.1,
            t.0,
            t.1
        )
    };
    let all = ReadOptions::default();
    // c / 32767 and c / 127, not below -1; c / 255; or the integer unchanged.
    let read = columns(&text([(5122, true), (5120, true), (5121, true)]), &all).expect("reads");
    assert_eq!(
        read[..3],
        [
            r#"position vec3["[-1.0, 1.0, 0.0]", "[0.50001526, -0.00003051851, 0.00015259255]"]"#,
            r#"normal vec3["[1.0, -1.0, 0.0]", "[0.0, 0.503937, -0.007874016]"]"#,
            r#"texcoord vec2["[0.0, 1.0]", "[0.2, 0.4]"]"#,
        ]
    );
    let read = columns(&text([(5123, false), (5120, true), (5120, false)]), &all).expect("reads");
    assert_eq!(
        (&*read[0], &*read[2]),
        (
            r#"position vec3["[32768.0, 32767.0, 0.0]", "[16384.0, 65535.0, 5.0]"]"#,
            r#"texcoord vec2["[0.0, -1.0]", "[51.0, 102.0]"]"#
        )
    );
    let refused = columns(&text([(5122, true), (5121, true), (5121, true)]), &all);
    assert!(matches!(refused, Err(IoError::Unsupported { .. })), "{refused:?}");
    let refused = columns(&text([(5122, true), (5120, false), (5121, true)]), &all);
    assert!(matches!(refused, Err(IoError::Unsupported { .. })), "{refused:?}");
}

#[test]
fn external_buffers_are_read_only_from_the_directory_of_the_document() {
    let directory = std::env::temp_dir().join(format!("millstream-gltf-{}", std::process::id()));
    std::fs::create_dir_all(directory.join("inner")).expect("makes a directory");
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(directory.join(name), bytes).expect("writes");
    };
    write("inner/my data.bin", &positions());
    write("outside.bin", &positions());
    let at = |uri: &str| {
        let text = document(&positions(), Some(uri), "", "", "");
        write("inner/t.gltf", text.as_bytes());
        let path: PathBuf = directory.join("inner/t.gltf");
        read(&path, None, &ReadOptions::default())
    };
    let table = at("my%20data.bin").expect("reads");
    let first = table.column("position").expect("there").as_slice::<Vec3>().map(|p| p[0]);
    assert_eq!(first, Some(Vec3([1.0, 2.0, 3.0])));
    assert!(matches!(at("../outside.bin"), Err(IoError::Unsupported { .. })));
    assert!(matches!(at("none.bin"), Err(IoError::Read { .. })));
    #[cfg(unix)]
    {
        let link = directory.join("inner/link.bin");
        std::os::unix::fs::symlink(directory.join("outside.bin"), link).expect("links");
        assert!(matches!(at("link.bin"), Err(IoError::Unsupported { .. })));
    }
    std::fs::remove_dir_all(&directory).expect("removes the directory");
}

/// Meshes that are not part of the repository; their tests report if they are missing.
fn asset(name: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("MILLSTREAM_ASSETS").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3);
    let directory = directory.or_else(|| beside.map(|work| work.join("shared/assets")))?;
    let path = directory.join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not there", path.display());
    None
}

#[test]
fn the_fox_has_its_vertices() {
    let Some(path) = asset("Fox.glb") else { return };
    let table = read(&path, None, &ReadOptions::default()).expect("reads");
    assert_eq!(table.n_rows(), 1728);
    let names: Vec<&str> = table.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["position", "texcoord", "joints", "weights", "mesh", "primitive"]);
    let weights = table.column("weights").expect("there").as_f32_lanes().expect("floats");
    assert!(weights.chunks_exact(4).all(|w| (w.iter().sum::<f32>() - 1.0).abs() < 1e-2));
}

#[test]
fn a_skinned_strip_with_embedded_buffers_is_read() {
    let Some(path) = asset("SimpleSkin.gltf") else { return };
    let table = read(&path, None, &ReadOptions::default()).expect("reads");
    assert_eq!((table.n_rows(), table.n_columns()), (10, 5));
    let options = ReadOptions::default().with_column("indices", Type::I32);
    assert_eq!(read(&path, None, &options).expect("reads").n_rows(), 24);
}

#[test]
fn positions_without_bounds_are_read() {
    let text = document(&positions(), None, "", "", "");
    let bare = text.replace(
        r#", "type": "VEC3",
                            "min": [0, 0, 0], "max": [9, 9, 9]"#,
        r#", "type": "VEC3""#,
    );
    assert_ne!(bare, text);
    let options = ReadOptions::default();
    assert_eq!(columns(&bare, &options).expect("reads"), columns(&text, &options).expect("reads"));
}
