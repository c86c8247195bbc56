//! The checked-in JSON Schema accepts every document of the repository and rejects typical
//! mistakes.

use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::{Value as Json, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> Json {
    let text = std::fs::read_to_string(path).expect("the file can be read");
    serde_json::from_str(&text).expect("the file is JSON")
}

fn validator() -> Validator {
    let schema = read(&root().join("docs/document.schema.json"));
    jsonschema::meta::validate(&schema).expect("the schema is one by its own standard");
    jsonschema::validator_for(&schema).expect("the schema can be used")
}

#[test]
fn every_document_of_the_repository_is_valid() {
    let validator = validator();
    let mut n_documents = 0;
    for directory in ["crates/document/tests/fixtures"] {
        for entry in std::fs::read_dir(root().join(directory)).expect("the directory exists") {
            let path = entry.expect("the entry can be read").path();
            let is_document = path.to_string_lossy().ends_with(".mill.json");
            let document = if is_document { read(&path) } else { continue };
            if document["millstream"] == 2 {
                n_documents += 1;
                let errors: Vec<String> = validator
                    .iter_errors(&document)
                    .map(|error| format!("{}: {error}", error.instance_path()))
                    .collect();
                assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
            }
        }
    }
    assert!(n_documents >= 2, "only {n_documents} documents were found");
}

/// A document with every kind of part.
fn document() -> Json {
    json!({
        "millstream": 2,
        "name": "all parts",
        "fps": 25,
        "inputs": { "a": { "type": "f32", "default": 1, "min": 0, "max": 2, "unit": "m" } },
        "outputs": { "y": { "type": "f32", "from": "n.value" }, "z": { "type": "f32", "input": "a" } },
        "nodes": {
            "n": { "type": "math.add", "in": { "a": { "input": "a" }, "b": 2 }, "muted": true },
            "g": { "type": "group", "group": "half", "in": { "x": { "from": "n.value" } } },
            "l": { "type": "list.make", "in": { "items": [{ "from": "n.value" }, { "value": 1 }] } }
        },
        "groups": {
            "half": {
                "inputs": { "x": { "type": "f32" } },
                "outputs": { "value": { "type": "f32", "from": "m.value" } },
                "nodes": { "m": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 0.5 } } }
            }
        },
        "use": { "noise": "lib/noise.mill.json" },
        "lock": { "noise": { "format": 1, "hash": "sha256:0" } },
        "view": { "nodes": { "n": { "at": [1, 2] } }, "anything": null }
    })
}

#[test]
fn a_document_with_every_kind_of_part_is_valid() {
    assert!(validator().is_valid(&document()));
}

#[test]
fn mistakes_are_refused() {
    let validator = validator();
    let mistakes = [
        ("/millstream", json!(3)),
        ("/millstream", json!("1")),
        ("/fps", json!("25")),
        ("/nodse", json!({})),
        ("/name", json!(1)),
        ("/inputs/a/type", json!(null)),
        ("/inputs/a/min", json!("0")),
        ("/inputs/a/defualt", json!(1)),
        ("/inputs/a.b", json!({ "type": "f32" })),
        ("/inputs/a", json!("f32")),
        ("/outputs/y/from", json!("n")),
        ("/outputs/y/from", json!("n.value.x")),
        ("/outputs/y/input", json!("a")),
        ("/outputs/y", json!({ "type": "f32" })),
        ("/outputs/y", json!({ "from": "n.value" })),
        ("/nodes/n/in/a", json!({ "input": "a", "value": 1 })),
        ("/nodes/n/in/a", json!({ "form": "n.value" })),
        ("/nodes/n/in", json!([1, 2])),
        ("/nodes/n/muted", json!("yes")),
        ("/nodes/n/inputs", json!({})),
        ("/nodes/n", json!({ "in": {} })),
        ("/nodes/g", json!({ "type": "group" })),
        ("/nodes/n/group", json!("half")),
        ("/nodes/", json!({ "type": "math.add" })),
        ("/groups/half/nodes/m", json!("math.multiply")),
        ("/groups/half/groups", json!({})),
        ("/use/noise", json!("/lib/noise.mill.json")),
        ("/use/noise", json!({ "path": "lib/noise.mill.json" })),
        ("/use/a.b", json!("lib/noise.mill.json")),
        ("/lock/noise", json!("sha256:0")),
    ];
    for (place, value) in mistakes {
        let mut broken = document();
        let (parent, key) = place.rsplit_once('/').expect("a place is a pointer");
        let parent = broken.pointer_mut(parent).and_then(Json::as_object_mut);
        parent.expect("the place is in an object").insert(key.to_owned(), value.clone());
        assert!(!validator.is_valid(&broken), "{place} = {value} is accepted");
    }
    let mut without_version = document();
    without_version.as_object_mut().expect("an object").remove("millstream");
    assert!(!validator.is_valid(&without_version));
}
