//! A small document, with a group.

/// The area of a triangle by its sides, with a group.
pub(crate) const HERON: &str = r#"{
  "millstream": 2,
  "inputs": {
    "a": { "type": "vec3", "default": [0, 0, 0] },
    "b": { "type": "vec3", "default": [1, 0, 0] },
    "c": { "type": "vec3", "default": [0, 1, 0] }
  },
  "outputs": { "area": { "type": "f32", "from": "root.value" } },
  "nodes": {
    "ab":   { "type": "vector.distance", "in": { "a": { "input": "a" }, "b": { "input": "b" } } },
    "ac":   { "type": "vector.distance", "in": { "a": { "input": "a" }, "b": { "input": "c" } } },
    "bc":   { "type": "vector.distance", "in": { "a": { "input": "b" }, "b": { "input": "c" } } },
    "s":    { "type": "math.expression", "set": { "text": "(x + y + z) / 2" },
              "in": { "x": { "from": "ab.value" }, "y": { "from": "ac.value" },
                      "z": { "from": "bc.value" } } },
    "area2":{ "type": "group", "group": "product",
              "in": { "s": { "from": "s.value" }, "x": { "from": "ab.value" },
                      "y": { "from": "ac.value" }, "z": { "from": "bc.value" } } },
    "root": { "type": "math.sqrt", "in": { "x": { "from": "area2.value" } } }
  },
  "groups": {
    "product": {
      "inputs": { "s": { "type": "f32" }, "x": { "type": "f32" }, "y": { "type": "f32" },
                  "z": { "type": "f32" } },
      "outputs": { "value": { "type": "f32", "from": "p.value" } },
      "nodes": {
        "p": { "type": "math.expression", "set": { "text": "s * (s - x) * (s - y) * (s - z)" },
               "in": { "s": { "input": "s" }, "x": { "input": "x" }, "y": { "input": "y" },
                       "z": { "input": "z" } } }
      }
    }
  }
}"#;
