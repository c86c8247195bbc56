//! `millstream import`.

use std::path::Path;

use expect_test::expect;
use serde_json::{Value as Json, json};

use crate::{code, file, json as json_of, millstream, new_file, root, seen};

const MENUS: &str = "crates/cli/tests/data/blender_menus.json.gz";

/// A dump of these networks.
fn dump(name: &str, networks: &Json) -> String {
    file(name, &json!({ "blender": "5.0", "elements": 2, "networks": networks }).to_string())
}

/// A network of one node with two inputs, and what Blender would have computed.
fn network(group: &str, node: &Json, values: &Json) -> Json {
    json!({
        "group": group,
        "nodes": [node],
        "inputs": [
            { "type": "VALUE", "values": [3.0, -8.0] },
            { "type": "VALUE", "values": [0.0, 2.0] },
        ],
        "outputs": [{ "node": 0, "id": "Value", "type": "VALUE", "values": values }],
    })
}

fn math(operation: &str) -> Json {
    json!({
        "type": "ShaderNodeMath",
        "name": "Math",
        "props": { "operation": operation, "use_clamp": false },
        "inputs": [
            { "id": "Value", "type": "VALUE", "input": 0 },
            { "id": "Value_001", "type": "VALUE", "input": 1 },
        ],
        "outputs": [{ "id": "Value", "type": "VALUE" }],
    })
}

/// A dump of one network.
#[cfg(unix)]
pub(crate) fn one_network() -> String {
    let networks = [network("Sum", &math("ADD"), &json!([3, -6]))];
    json!({ "blender": "5.0", "elements": 2, "networks": networks }).to_string()
}

/// The networks with problems or differences. All elements of some outputs, such as hashes of
/// numbers, are sensitive.
fn wrong(networks: &[Json]) -> Vec<&Json> {
    let no_problem = |network: &Json| network["errors"] == json!([]);
    let is_right = |network: &Json| {
        network["ok"] == true || (no_problem(network) && network["compared"] == false)
    };
    networks.iter().filter(|network| !is_right(network)).collect()
}

#[test]
fn every_entry_of_blenders_menus_agrees() {
    let result = json_of(&["import", MENUS, "--verify", "--format", "json"]);
    let networks = result["networks"].as_array().expect("a list");
    assert!(networks.len() > 890);
    let wrong = wrong(networks);
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Hashes of numbers are sensitive everywhere, so there is nothing to compare.
    assert_eq!(code(&["import", MENUS, "--verify"]), Some(1));
}

#[test]
fn textures_and_numbers_at_the_ends_of_the_range_agree() {
    // Edges: constants into sockets of other types, strings that become empty, equal rotations,
    // curves with steep ends and tones, ramps out of order, NaN colors, infinite scales. Corners:
    // nearly upright angles, nearly equal rotations, axes of any length, distant cells, removed
    // items, muted links. Alignments: half turns about a fixed axis. The others are operations that
    // older releases computed differently.
    for (name, n) in [
        ("blender_extremes", 190),
        ("blender_textures", 130),
        ("blender_edges", 300),
        ("blender_corners", 90),
        ("blender_alignments", 11),
        ("blender_4_2", 15),
        ("blender_4_4", 15),
        ("blender_4_5", 15),
    ] {
        let path = format!("crates/cli/tests/data/{name}.json.gz");
        let result = json_of(&["import", &path, "--verify", "--format", "json"]);
        let networks = result["networks"].as_array().expect("a list");
        assert!(networks.len() > n);
        let wrong = wrong(networks);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn a_linked_constant_is_not_a_missing_link() {
    let number = json!({
        "type": "FunctionNodeInputInt",
        "props": { "integer": 2 },
        "outputs": [{ "id": "Integer", "type": "INT" }],
    });
    let random = |id: Json| {
        json!({
            "type": "FunctionNodeRandomValue",
            "props": { "data_type": "FLOAT" },
            "inputs": [
                { "id": "Min_001", "type": "VALUE", "value": 0 },
                { "id": "Max_001", "type": "VALUE", "value": 1 },
                id,
                { "id": "Seed", "type": "INT", "value": 0 },
            ],
            "outputs": [{ "id": "Value_001", "type": "VALUE" }],
        })
    };
    let linked = random(json!({ "id": "ID", "type": "INT", "link": [0, "Integer"] }));
    let unlinked = random(json!({ "id": "ID", "type": "INT", "value": 0 }));
    let output = |node| json!({ "node": node, "id": "Value_001", "type": "VALUE" });
    let outputs = json!([output(1), output(2)]);
    let network = json!({ "group": "R", "nodes": [number, linked, unlinked], "outputs": outputs });
    let directory = new_file("linked");
    let out = directory.display().to_string();
    assert_eq!(code(&["import", &dump("r.json", &json!([network])), "-o", &out]), Some(0));
    let document = directory.join("r.mill.json").display().to_string();
    let result = json_of(&["run", &document, "--count", "2", "--format", "json"]);
    let [linked, unlinked] =
        ["random_value", "random_value_2"].map(|name| &result["outputs"][name]);
    assert!(linked["value"].is_number() && linked["axes"] == json!([]), "{result:#}");
    assert_eq!(unlinked["axes"].as_array().map(Vec::len), Some(1), "{result:#}");
}

#[test]
fn a_file_may_list_one_of_many_outputs() {
    let node = json!({
        "type": "ShaderNodeSeparateXYZ",
        "inputs": [{ "id": "Vector", "type": "VECTOR", "value": [1, 2, 3] }],
        "outputs": [{ "id": "Y", "type": "VALUE" }],
    });
    let outputs = json!([{ "node": 0, "id": "Y", "type": "VALUE", "values": [2, 2] }]);
    let network = json!({ "group": "Y", "nodes": [node], "outputs": outputs });
    assert_eq!(code(&["import", &dump("y.json", &json!([network])), "--verify"]), Some(0));
}

#[test]
fn a_texture_without_a_vector_reads_a_position_input() {
    let node = json!({
        "type": "ShaderNodeTexGradient",
        "props": { "gradient_type": "LINEAR" },
        "inputs": [{ "id": "Vector", "type": "VECTOR", "value": [0, 0, 0] }],
        "outputs": [{ "id": "Fac", "type": "VALUE" }],
    });
    let outputs = json!([{ "node": 0, "id": "Fac", "type": "VALUE", "values": [0] }]);
    let network = json!({ "group": "At", "nodes": [node], "outputs": outputs });
    let path = dump("at.json", &json!([network]));
    let directory = new_file("at");
    let out = directory.display().to_string();
    assert_eq!(code(&["import", &path, "-o", &out, "--verify"]), Some(0));
    let document = directory.join("at.mill.json").display().to_string();
    let result = json_of(&["run", &document, "--in", "position=[0.25,7,7]", "--format", "json"]);
    assert_eq!(result["outputs"]["tex_gradient"]["value"], 0.25, "{result:#}");
}

#[test]
fn operations_have_the_meaning_of_the_exporting_release() {
    let modulo = json!({
        "type": "ShaderNodeVectorMath",
        "props": { "operation": "MODULO" },
        "inputs": [
            { "id": "Vector", "type": "VECTOR", "value": [1, 2, 3] },
            { "id": "Vector_001", "type": "VECTOR", "value": [0, 2, 2] },
        ],
        "outputs": [{ "id": "Vector", "type": "VECTOR" }],
    });
    let mix = json!({
        "type": "ShaderNodeMix",
        "props": { "data_type": "RGBA", "blend_type": "MIX" },
        "inputs": [
            { "id": "Factor_Float", "type": "VALUE", "value": 0.5 },
            { "id": "A_Color", "type": "RGBA", "value": [1, 1, 1, 1] },
            { "id": "B_Color", "type": "RGBA", "value": [0, 0, 0, 0] },
        ],
        "outputs": [{ "id": "Result_Color", "type": "RGBA" }],
    });
    for (release, first, alpha) in
        [("5.0.1", json!("nan"), 1.0), ("5.1.2", json!("nan"), 0.5), ("5.2.3 LTS", json!(0), 0.5)]
    {
        let outputs = json!([
            { "node": 0, "id": "Vector", "type": "VECTOR", "values": [[first, 0, 1]] },
            { "node": 1, "id": "Result_Color", "type": "RGBA", "values": [[0.5, 0.5, 0.5, alpha]] },
        ]);
        let network = json!({ "group": "G", "nodes": [modulo, mix], "outputs": outputs });
        let content = json!({ "blender": release, "networks": [network] }).to_string();
        let path = file(&format!("release_{release}.json"), &content);
        assert_eq!(code(&["import", &path, "--verify"]), Some(0), "{release}");
    }
}

#[test]
fn networks_of_blenders_own_assets_agree() {
    let path = "../shared/oracle/blender_networks.json.gz";
    if !root().join(path).exists() {
        eprintln!("skipped: {path} is not there");
        return;
    }
    let result = json_of(&["import", path, "--verify", "--format", "json"]);
    let networks = result["networks"].as_array().expect("a list");
    assert_eq!(networks.len(), 22);
    assert!(networks.iter().all(|network| network["ok"] == true), "{result:#}");
}

#[test]
fn written_documents_are_valid() {
    let directory = new_file("imported");
    let networks = json!([
        network("My Group", &math("DIVIDE"), &json!([0.0, -4.0])),
        network("My Group", &math("POWER"), &json!([1.0, 64.0])),
    ]);
    let path = dump("two.json", &networks);
    let out = directory.display().to_string();
    assert_eq!(code(&["import", &path, "-o", &out]), Some(0));
    let first = directory.join("my_group.mill.json").display().to_string();
    let second = directory.join("my_group_2.mill.json").display().to_string();
    assert_eq!(code(&["check", &first, &second]), Some(0));
    expect![[r#"
        {
          "millstream": 2,
          "name": "My Group",
          "inputs": {
            "value": { "type": "f32", "default": 0.0 },
            "value_2": { "type": "f32", "default": 0.0 }
          },
          "outputs": {
            "power": { "type": "f32", "from": "power.value" }
          },
          "nodes": {
            "power": {
              "type": "blender.math",
              "set": { "operation": "power" },
              "in": { "a": { "input": "value" }, "b": { "input": "value_2" } }
            }
          }
        }
    "#]]
    .assert_eq(&std::fs::read_to_string(Path::new(&second)).expect("it was written"));
}

#[test]
fn differences_beyond_the_tolerance_are_shown_and_set_the_exit_code() {
    let networks = json!([network("Off", &math("ADD"), &json!([3.0, -6.06]))]);
    let path = dump("off.json", &networks);
    expect![[r"
        exit code 1
        off: Off, 1 node
          add  9.9e-3  differs: element 1
        1 of 1 networks imported, 0 agree to 1e-5
    "]]
    .assert_eq(&seen(&["import", &path, "--verify"]));
    assert_eq!(code(&["import", &path, "--verify", "--tolerance", "0.01"]), Some(0));
    let mut networks = networks;
    networks[0]["outputs"][0]["sensitive"] = json!([1]);
    let path = dump("sensitive.json", &networks);
    assert_eq!(code(&["import", &path, "--verify"]), Some(0));
}

#[test]
fn networks_that_cannot_be_imported_are_named_and_the_rest_continues() {
    let mut circle = network("Circle", &math("ADD"), &json!([1, 2]));
    circle["nodes"][0]["inputs"][0] =
        json!({ "id": "Value", "type": "VALUE", "link": [0, "Value"] });
    let mut unknown = math("ADD");
    unknown["type"] = "ShaderNodeTexSky".into();
    let networks = json!([
        network("Magic", &unknown, &json!([1, 2])),
        network("Odd", &math("ODD"), &json!([1, 2])),
        circle,
        { "group": "Broken", "nodes": 3 },
        network("Good", &math("ADD"), &json!([3, -6])),
    ]);
    let path = dump("odd.json", &networks);
    expect![[r#"
        exit code 1
        magic: Magic, 0 nodes
          error: `Math` (node 0): nodes of type `ShaderNodeTexSky` cannot be imported
            help: replace the node in Blender by math, vector, color or rotation nodes
        odd: Odd, 0 nodes
          error: `Math` (node 0): `operation` is "ODD", which cannot be imported
        circle: Circle, 0 nodes
          error: the links form a cycle through `Math` (node 0)
        network 3
          error: network 3 is not a network: invalid type: integer `3`, expected a sequence
            help: `tools/blender_export.py`, run inside Blender, writes such files
        good: Good, 1 node
          add  0.0e0
        1 of 5 networks imported, 1 agree to 1e-5
    "#]]
    .assert_eq(&seen(&["import", &path, "--verify"]));
}

#[test]
fn files_that_are_not_dumps_are_refused() {
    for (name, content) in [("no.json", "{"), ("list.json", "[]"), ("none.json", r#"{"a": 1}"#)] {
        let path = file(name, content);
        let output = millstream(&["import", &path, "--verify"]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        let text = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(text.contains("is not a dump of networks"), "{text}");
    }
    let packed = std::fs::read(root().join(MENUS)).expect("it is there");
    let path = new_file("cut.json.gz");
    std::fs::write(&path, &packed[..packed.len() / 2]).expect("the directory can be written");
    assert_eq!(code(&["import", &path.display().to_string(), "--verify"]), Some(1));
    assert_eq!(code(&["import", MENUS]), Some(2));
}

/// The lines of `import --verify` for a network of one Math node with this recorded output.
fn verified(name: &str, output: &Json) -> String {
    let mut network = network("N", &math("ADD"), &json!([]));
    network["outputs"][0] = output.clone();
    seen(&["import", &dump(name, &json!([network])), "--verify"])
}

#[test]
fn without_a_comparison_there_is_no_agreement() {
    let recorded = json!({ "node": 0, "id": "Value", "type": "VALUE", "values": [3, -6] });
    let mut sensitive = recorded.clone();
    sensitive["sensitive"] = json!([0, 1]);
    expect![[r#"
        exit code 1
        n: N, 1 node
          add  not compared  (0 of 2 compared)
          error: there was no recorded value to compare with a result of the document
        1 of 1 networks imported, 0 agree to 1e-5, 1 not compared
    "#]]
    .assert_eq(&verified("all_sensitive.json", &sensitive));
    assert_eq!(verified("compared.json", &recorded).lines().next(), Some("n: N, 1 node"));
    let nothing = seen(&["import", &dump("no_networks.json", &json!([])), "--verify"]);
    assert!(nothing.contains("exit code 1") && nothing.contains("holds no networks"), "{nothing}");
    let network = json!({ "group": "N", "nodes": [math("ADD")], "inputs": [
        { "type": "VALUE", "values": [] }, { "type": "VALUE", "values": [] },
    ] });
    let path = dump("no_outputs.json", &json!([network]));
    assert_eq!(code(&["import", &path, "--verify"]), Some(1));
}

#[test]
fn recorded_values_have_the_type_and_width_of_the_output() {
    for (name, ty, values, message) in [
        (
            "vector",
            "VECTOR",
            json!([[3, 1, 1], [-6, 1, 1]]),
            "vec3 is recorded, but the document gives f32",
        ),
        ("null", "VALUE", json!([3, null]), "element 1 is null, which is not of type value"),
        (
            "narrow",
            "VECTOR",
            json!([[3, 1], [-6, 1]]),
            "element 0 is [3,1], which is not of type vector",
        ),
        (
            "wide",
            "RGBA",
            json!([[3, 1, 1], [1, 1, 1]]),
            "element 0 is [3,1,1], which is not of type color",
        ),
    ] {
        let output = json!({ "node": 0, "id": "Value", "type": ty, "values": values });
        let shown = verified(&format!("recorded_{name}.json"), &output);
        assert!(shown.starts_with("exit code 1") && shown.contains(message), "{name}: {shown}");
    }
}

#[test]
fn settings_of_the_wrong_kind_are_refused() {
    for (property, value, shown) in [
        (
            "operation",
            json!(["MULTIPLY"]),
            r#"`operation` is ["MULTIPLY"], which cannot be imported"#,
        ),
        ("use_clamp", json!(1), "`use_clamp` is 1, which cannot be imported"),
    ] {
        let mut node = math("ADD");
        node["props"][property] = value;
        let path =
            dump(&format!("{property}.json"), &json!([network("N", &node, &json!([3, -6]))]));
        let text = seen(&["import", &path, "--verify"]);
        assert!(text.contains(shown), "{text}");
    }
}

#[test]
fn inputs_keep_their_names_from_the_file() {
    let mut network = network("Named", &math("ADD"), &json!([3, -6]));
    network["inputs"][0]["name"] = "Wave Height".into();
    network["inputs"][1]["name"] = "2nd".into();
    let directory = new_file("named");
    let out = directory.display().to_string();
    let path = dump("named.json", &json!([network]));
    assert_eq!(code(&["import", &path, "-o", &out, "--verify"]), Some(0));
    let document = directory.join("named.mill.json").display().to_string();
    let given = ["run", &document, "--in", "wave_height=2", "--in", "2nd=3", "--format", "json"];
    assert_eq!(json_of(&given)["outputs"]["add"]["value"], 5.0);
}

#[test]
fn cells_of_older_releases_are_refused() {
    let node = json!({
        "type": "ShaderNodeTexVoronoi",
        "props": { "voronoi_dimensions": "2D" },
        "outputs": [{ "id": "Distance", "type": "VALUE" }],
    });
    let network = json!({ "group": "V", "nodes": [node] });
    let content = json!({ "blender": "4.5.15 LTS", "networks": [network] }).to_string();
    let text = seen(&["import", &file("cells.json", &content), "--verify"]);
    let message = "Voronoi in two and more dimensions of Blender 4.5 cannot be imported because it changed in 5.0";
    assert!(text.contains(message), "{text}");
}

#[test]
fn one_network_is_written_in_the_text_form() {
    let one = dump("one_network", &json!([network("One", &math("ADD"), &json!([3.0, -6.0]))]));
    let written = new_file("one.mill").display().to_string();
    let result = json_of(&["import", &one, "-o", &written, "--verify", "--format", "json"]);
    assert_eq!(result["networks"][0]["ok"], true);
    let text = std::fs::read_to_string(&written).expect("it is written");
    assert!(text.contains("input ") && !text.starts_with('{'), "{text}");
    assert_eq!(code(&["check", &written]), Some(0));

    let two = json!([
        network("One", &math("ADD"), &json!([3.0, -6.0])),
        network("Two", &math("ADD"), &json!([3.0, -6.0])),
    ]);
    let two = dump("two_networks", &two);
    assert_eq!(code(&["import", &two, "-o", &new_file("two.mill").display().to_string()]), Some(2));
}
