//! Ungrouping where the border of the group has an effect.

use expect_test::expect;
use serde_json::json;

use super::tests::changes;

/// Conversions at the border of a group, and the types it gives to literals, become nodes; a
/// literal stays where it has the same meaning.
#[test]
fn ungrouping_preserves_the_types_of_the_border() {
    let text = r#"{ "millstream": 2,
        "inputs": { "i": { "type": "i32", "default": 1 } },
        "outputs": { "y": { "type": "f32", "from": "g.v" }, "k": { "type": "f64", "from": "g.k" } },
        "nodes": { "g": { "type": "group", "group": "sums", "in": { "x": { "input": "i" }, "root": 3, "k": 0.1 } } },
        "groups": { "sums": {
            "inputs": { "x": { "type": "f32" }, "k": { "type": "f64" }, "root": { "type": "f32" } },
            "outputs": { "v": { "type": "f32", "from": "s.value" }, "k": { "type": "f64", "input": "k" } },
            "nodes": {
                "r": { "type": "math.sqrt", "in": { "x": { "input": "root" } } },
                "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "from": "r.value" } } },
                "s": { "type": "math.add", "in": { "a": { "from": "a.value" }, "b": { "input": "k" } } } } } } }"#;
    changes(
        text,
        json!({ "edit": "ungroup", "node": "g" }),
        &expect![[r#"
            -    "y": { "type": "f32", "from": "g.v" },
            -    "k": { "type": "f64", "from": "g.k" }
            -    "g": { "type": "group", "group": "sums", "in": { "x": { "input": "i" }, "root": 3, "k": 0.1 } }
            -  "groups": {
            -    "sums": {
            -      "inputs": {
            -        "x": { "type": "f32" },
            -        "k": { "type": "f64" },
            -        "root": { "type": "f32" }
            -      },
            -      "outputs": {
            -        "v": { "type": "f32", "from": "s.value" },
            -        "k": { "type": "f64", "input": "k" }
            -      },
            -      "nodes": {
            -        "r": { "type": "math.sqrt", "in": { "x": { "input": "root" } } },
            -        "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "from": "r.value" } } },
            -        "s": { "type": "math.add", "in": { "a": { "from": "a.value" }, "b": { "input": "k" } } }
            -      }
            -    }
            +    "y": { "type": "f32", "from": "g_v.value" },
            +    "k": { "type": "f64", "from": "g_k.value" }
            +    "r": { "type": "math.sqrt", "in": { "x": 3 } },
            +    "g_x": { "type": "convert", "set": { "to": "f32" }, "in": { "x": { "input": "i" } } },
            +    "a": { "type": "math.add", "in": { "a": { "from": "g_x.value" }, "b": { "from": "r.value" } } },
            +    "g_k": { "type": "convert", "set": { "to": "f64" }, "in": { "x": 0.1 } },
            +    "s": { "type": "math.add", "in": { "a": { "from": "a.value" }, "b": { "from": "g_k.value" } } },
            +    "g_v": { "type": "convert", "set": { "to": "f32" }, "in": { "x": { "from": "s.value" } } }
        "#]],
    );
}
