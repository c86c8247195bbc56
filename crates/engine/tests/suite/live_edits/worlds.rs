//! The documents from which random edits start, and the parts of such edits.

use serde_json::{Value as Json, json};

/// A document to edit, and the types and values that edits put into it.
pub(super) struct World {
    pub(super) start: String,
    /// The types of nodes that are added, or that replace others.
    pub(super) types: &'static [&'static str],
    /// Sockets that such nodes may have.
    pub(super) sockets: &'static [&'static str],
    /// A literal for any number.
    pub(super) literal: fn(i16) -> Json,
    /// Types for an output.
    pub(super) outputs: &'static [&'static str],
    /// Types for an input, with a default.
    pub(super) inputs: fn(usize, i16) -> (&'static str, Json),
    /// Whether the group that comes with it can also be run round by round.
    pub(super) has_rounds: bool,
    /// Groups of used documents that take `x` and give `v`.
    pub(super) used: &'static [&'static str],
    /// Formulas of inputs `a`, `b` and `x`, which may call groups.
    pub(super) formulas: &'static [&'static str],
}

impl World {
    /// A document of numbers; `picky` is the type of nodes that may fail.
    pub(super) fn of_numbers(picky: &'static str) -> Self {
        let types: &[&str] = match picky {
            "test.picky" => &[
                "math.add",
                "math.negate",
                "test.picky",
                "control.switch",
                "compare.less",
                "math.floor",
                "context.time",
                "custom.first_positive",
                "custom.select",
                "custom.two",
            ],
            _ => &[
                "math.add",
                "math.negate",
                "math.sqrt",
                "control.switch",
                "compare.less",
                "math.floor",
                "context.time",
            ],
        };
        Self {
            start: NUMBERS.replace("test.picky", picky),
            types,
            sockets: &["a", "b", "x", "condition", "false", "true", "v", "way"],
            literal: |number| json!(number),
            outputs: &["f32"],
            inputs: |i, number| match ["f32", "i32", "f64", "bool"][i % 4] {
                "bool" => ("bool", json!(true)),
                ty => (ty, json!(number)),
            },
            has_rounds: false,
            used: &[],
            formulas: &[],
        }
    }

    /// A document of numbers with groups that run round by round, nested and at other times.
    pub(super) fn of_rounds(picky: &'static str) -> Self {
        Self {
            start: ROUNDS.replace("test.picky", picky),
            has_rounds: true,
            ..Self::of_moments(picky)
        }
    }

    /// A document whose nodes have numbers as state, also in a group and in cycles.
    pub(super) fn of_states() -> Self {
        Self {
            start: STATES.into(),
            types: &[
                "math.add",
                "math.fraction",
                "test.picky",
                "control.switch",
                "compare.less",
                "context.time",
                "state.feedback",
                "state.delay",
                "state.counter",
                "state.hold",
                "state.smooth",
                "state.integrate",
                "state.damp",
                "custom.running",
                "custom.lazy_state",
            ],
            sockets: &["a", "b", "x", "condition", "false", "value", "initial", "when", "rate"],
            ..Self::of_numbers("test.picky")
        }
    }

    /// A document of numbers that depend on the time and are evaluated at other times, also in a
    /// group and nested.
    pub(super) fn of_moments(picky: &'static str) -> Self {
        let types: &[&str] = match picky {
            "test.picky" => MOMENT_TYPES,
            _ => &MOMENT_TYPES[1..],
        };
        Self {
            start: MOMENTS.replace("test.picky", picky),
            types,
            sockets: &[
                "a",
                "b",
                "x",
                "condition",
                "false",
                "value",
                "time",
                "by",
                "factor",
                "tick",
                "now",
                "from",
            ],
            ..Self::of_numbers(picky)
        }
    }

    /// A document of numbers that uses groups of other documents, one of which is wrong.
    pub(super) fn of_used() -> Self {
        let picky = r#""group", "group": "lib/picky""#;
        let start = NUMBERS.replace(r#""test.picky""#, picky);
        let start = start.replace(r#""picky.value""#, r#""picky.v""#);
        let uses = r#""use": { "lib": "lib.mill.json", "deep": "lib/deep.mill.json" }, "groups""#;
        Self {
            start: start.replace(r#""groups""#, uses),
            used: &["lib/picky", "lib/square", "deep/half", "lib", "lib/wrong", "lib/none"],
            ..Self::of_numbers("test.picky")
        }
    }

    /// A document of vectors, texts and lists; some nodes may fail and some have several outputs.
    pub(super) fn of_values() -> Self {
        Self {
            start: VALUES.into(),
            types: &[
                "math.add",
                "math.negate",
                "test.picky",
                "control.switch",
                "vector.length",
                "vector.separate_vec3",
                "vector.combine_vec3",
                "test.ends",
                "list.get",
                "list.append",
                "string.from_number",
                "string.to_number",
                "string.concat",
                "compare.less",
                "context.time",
                "color.separate",
            ],
            sockets: &[
                "a",
                "b",
                "x",
                "y",
                "condition",
                "false",
                "true",
                "v",
                "vector",
                "list",
                "index",
                "item",
                "texts",
                "text",
                "number",
                "color",
            ],
            literal: |number| match number.rem_euclid(7) {
                0 => json!([number, 1, -2]),
                1 => json!(number.to_string()),
                2 => json!([number, 0]),
                3 => json!("no number"),
                4 => json!(number % 3),
                _ => json!(number),
            },
            outputs: &["f32", "vec3", "string", "list<f32>", "color", "list<vec3>"],
            inputs: |i, number| match ["f32", "vec3", "string", "list<f32>", "i32"][i % 5] {
                "vec3" => ("vec3", json!([number, 2, 0])),
                "string" => ("string", json!("12")),
                "list<f32>" => ("list<f32>", json!([number, 4])),
                ty => (ty, json!(number)),
            },
            has_rounds: false,
            used: &[],
            formulas: &[],
        }
    }
}

/// A type of node in generated documents: its sockets and outputs, each with a type.
type Shape = (&'static str, &'static [(&'static str, &'static str)], Outputs);

type Outputs = &'static [(&'static str, &'static str)];

const SHAPES: &[Shape] = &[
    ("math.add", &[("a", "vec3"), ("b", "vec3")], &[("value", "vec3")]),
    ("math.multiply", &[("a", "f32"), ("b", "f32")], &[("value", "f32")]),
    ("vector.length", &[("vector", "vec3")], &[("value", "f32")]),
    ("vector.separate_vec3", &[("vector", "vec3")], &[("x", "f32"), ("y", "f32"), ("z", "f32")]),
    ("vector.combine_vec3", &[("x", "f32"), ("y", "f32"), ("z", "f32")], &[("value", "vec3")]),
    ("test.picky", &[("x", "f32")], &[("value", "f32")]),
    ("test.ends", &[("list", "list<f32>")], &[("x", "f32"), ("z", "f32")]),
    ("list.append", &[("list", "list<f32>"), ("item", "f32")], &[("value", "list<f32>")]),
    ("list.get", &[("list", "list<f32>"), ("index", "i32")], &[("value", "f32")]),
    ("list.length", &[("list", "list<f32>")], &[("value", "i32")]),
    ("string.from_number", &[("number", "f32")], &[("value", "string")]),
    ("string.to_number", &[("text", "string")], &[("value", "f64")]),
    ("string.length", &[("text", "string")], &[("value", "i32")]),
    ("compare.less", &[("a", "f32"), ("b", "f32")], &[("value", "bool")]),
    ("twice", &[("x", "vec3")], &[("v", "vec3")]),
    ("context.time", &[], &[("value", "f64")]),
    ("time.shift", &[("value", "f32"), ("by", "f32")], &[("value", "f32")]),
    ("context.with_time", &[("value", "vec3"), ("time", "f32")], &[("value", "vec3")]),
    (SWITCH, &[("condition", "bool"), ("false", "f32"), ("true", "f32")], &[("value", "f32")]),
    (SWITCH, &[("condition", "bool"), ("false", "vec3"), ("true", "vec3")], &[("value", "vec3")]),
    (
        SWITCH,
        &[("condition", "bool"), ("false", "string"), ("true", "string")],
        &[("value", "string")],
    ),
    (
        SWITCH,
        &[("condition", "bool"), ("false", "list<f32>"), ("true", "list<f32>")],
        &[("value", "list<f32>")],
    ),
];

const SWITCH: &str = "control.switch";

const MOMENT_TYPES: &[&str] = &[
    "test.picky",
    "math.add",
    "math.negate",
    "control.switch",
    "compare.less",
    "context.time",
    "context.tick",
    "time.shift",
    "time.scale",
    "context.with_time",
    "context.with_tick",
    "custom.wave",
    "custom.moment",
];

/// Whether a type converts to another in sockets that take only the latter.
fn converts(from: &str, to: &str) -> bool {
    matches!(
        (from, to),
        ("f32", "vec3" | "list<f32>") | ("i32" | "f64", "f32") | ("bool", "f32" | "i32")
    )
}

/// Whether nodes of a type take any type.
fn is_generic(ty: &str) -> bool {
    [
        "math.",
        "list.",
        "time.",
        "context.",
        "compare.",
        "control.",
        "vector.length",
        "string.from_number",
    ]
    .iter()
    .any(|start| ty.starts_with(start))
}

/// A well-typed document of `n` nodes, whose last nodes are outputs.
pub(super) fn generated(mut seed: u64, n: usize) -> String {
    let mut below = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    let inputs = json!({ "x": { "type": "vec3", "default": [3, 0, -1] },
        "n": { "type": "f32", "default": 2 }, "t": { "type": "string", "default": "7" },
        "l": { "type": "list<f32>", "default": [1, 0] }, "i": { "type": "i32", "default": 1 },
        "b": { "type": "bool", "default": true } });
    let of_inputs = [
        ("x", "vec3"),
        ("n", "f32"),
        ("t", "string"),
        ("l", "list<f32>"),
        ("i", "i32"),
        ("b", "bool"),
    ];
    let mut given: Vec<(Json, &str)> =
        of_inputs.iter().map(|(name, ty)| (json!({ "input": name }), *ty)).collect();
    let mut nodes = serde_json::Map::new();
    for i in 0..n {
        let (ty, sockets, outputs) = SHAPES[below(SHAPES.len())];
        let mut links = serde_json::Map::new();
        let mut may_be_literal = !is_generic(ty);
        for (socket, wanted) in sockets {
            let fits = |from: &str| from == *wanted || !is_generic(ty) && converts(from, wanted);
            let all: Vec<&Json> =
                given.iter().filter(|(_, from)| fits(from)).map(|(link, _)| link).collect();
            let number = below(5);
            let source = if may_be_literal && below(6) == 0 {
                match *wanted {
                    "vec3" => json!([number, 1, -2]),
                    "string" => json!(number.to_string()),
                    "list<f32>" => json!([number, 4]),
                    "bool" => json!(number > 2),
                    _ => json!(number),
                }
            } else {
                // Later nodes are more frequent.
                all[all.len() - 1 - below(all.len().min(8))].clone()
            };
            links.insert((*socket).into(), source);
            may_be_literal |= *wanted != "bool";
        }
        let node = match ty {
            "twice" => json!({ "type": "group", "group": "twice", "in": links }),
            ty => json!({ "type": ty, "in": links }),
        };
        nodes.insert(format!("k{i}"), node);
        for (output, ty) in outputs {
            given.push((json!({ "from": format!("k{i}.{output}") }), *ty));
        }
    }
    let last = given.iter().rev().filter(|(link, _)| link.get("from").is_some());
    let outputs = ["y", "z", "w", "s"].into_iter().zip(last);
    let outputs: serde_json::Map<String, Json> = outputs
        .map(|(name, (link, ty))| (name.into(), json!({ "type": ty, "from": link["from"] })))
        .collect();
    let twice = json!({ "inputs": { "x": { "type": "vec3" } },
        "outputs": { "v": { "type": "vec3", "from": "s.value" } },
        "nodes": { "s": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "x" } } } } });
    let document = json!({ "millstream": 2, "inputs": inputs, "outputs": outputs, "nodes": nodes,
        "groups": { "twice": twice } });
    document.to_string()
}

const STATES: &str = r#"{ "millstream": 2,
    "inputs": { "x": { "type": "f32", "default": 3 } },
    "outputs": { "y": { "type": "f32", "from": "soft.value" }, "z": { "type": "f32", "from": "use.v" },
        "w": { "type": "f32", "from": "picky.value" }, "n": { "type": "i32", "from": "count.value" },
        "f": { "type": "f32", "from": "fallen.value" } },
    "nodes": {
        "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "from": "last.value" } } },
        "last": { "type": "state.feedback", "in": { "value": { "from": "a.value" }, "initial": 1 } },
        "late": { "type": "state.delay", "set": { "ticks": 2 }, "in": { "value": { "from": "a.value" } } },
        "time": { "type": "context.time" },
        "less": { "type": "compare.less", "in": { "a": { "from": "time.value" }, "b": 0.1 } },
        "count": { "type": "state.counter", "in": { "when": { "from": "less.value" } } },
        "hold": { "type": "state.hold", "in": { "value": { "from": "a.value" }, "when": { "from": "less.value" } } },
        "soft": { "type": "state.smooth", "in": { "value": { "from": "hold.value" } } },
        "use": { "type": "group", "group": "twice", "in": { "x": { "from": "late.value" } } },
        "other": { "type": "group", "group": "twice", "in": { "x": { "from": "use.v" } } },
        "picky": { "type": "test.picky", "in": { "x": { "from": "other.v" } } },
        "fall": { "type": "simulate", "group": "step",
            "in": { "v": { "from": "other.v" }, "by": { "input": "x" }, "substeps": 2 } },
        "fallen": { "type": "math.add", "in": { "a": { "from": "fall.v" }, "b": { "from": "picky.value" } } }
    },
    "groups": { "step": {
        "inputs": { "v": { "type": "f32" }, "by": { "type": "f32" } },
        "outputs": { "v": { "type": "f32", "from": "s.value" } },
        "nodes": {
            "t": { "type": "context.time" },
            "late": { "type": "math.add", "in": { "a": { "input": "by" }, "b": { "from": "t.value" } } },
            "s": { "type": "math.add", "in": { "a": { "input": "v" }, "b": { "from": "late.value" } } } } },
      "twice": {
        "inputs": { "x": { "type": "f32" } },
        "outputs": { "v": { "type": "f32", "from": "s.value" } },
        "nodes": {
            "s": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "from": "mem.value" } } },
            "half": { "type": "math.multiply", "in": { "a": { "from": "s.value" }, "b": 0.5 } },
            "mem": { "type": "state.feedback", "in": { "value": { "from": "half.value" } } } } } } }"#;

const ROUNDS: &str = r#"{ "millstream": 2,
    "inputs": { "x": { "type": "f32", "default": 3 }, "n": { "type": "i32", "default": 2 } },
    "outputs": { "y": { "type": "f32", "from": "grow.v" }, "z": { "type": "f32", "from": "use.v" },
        "w": { "type": "f32", "from": "late.value" }, "o": { "type": "f32", "from": "around.v" },
        "e": { "type": "f32", "from": "each.v" } },
    "nodes": {
        "sum": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
        "picky": { "type": "test.picky", "in": { "x": { "from": "sum.value" } } },
        "grow": { "type": "repeat", "group": "twice", "in": { "x": { "from": "sum.value" }, "v": { "from": "picky.value" }, "count": { "input": "n" } } },
        "late": { "type": "time.shift", "in": { "value": { "from": "grow.v" }, "by": 4 } },
        "each": { "type": "for_each", "group": "twice", "set": { "items": ["x"] },
            "in": { "x": [1, 2, 3], "v": { "from": "picky.value" } } },
        "use": { "type": "group", "group": "twice", "in": { "x": { "from": "grow.v" }, "v": 2 } },
        "around": { "type": "repeat", "group": "outer", "in": { "v": { "from": "sum.value" }, "count": 2 } }
    },
    "groups": {
        "twice": {
            "inputs": { "x": { "type": "f32" }, "v": { "type": "f32", "default": 1 } },
            "outputs": { "v": { "type": "f32", "from": "s.value" } },
            "nodes": {
                "t": { "type": "context.time" },
                "late": { "type": "math.add", "in": { "a": { "input": "v" }, "b": { "from": "t.value" } } },
                "s": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "from": "late.value" } } } } },
        "outer": {
            "inputs": { "v": { "type": "f32" } },
            "outputs": { "v": { "type": "f32", "from": "r.v" } },
            "nodes": { "r": { "type": "repeat", "group": "twice", "in": { "x": 1, "v": { "input": "v" }, "count": 3 } } } } } }"#;

const MOMENTS: &str = r#"{ "millstream": 2,
    "inputs": { "x": { "type": "f32", "default": 3 }, "n": { "type": "i32", "default": -2 } },
    "outputs": { "y": { "type": "f32", "from": "late.value" }, "z": { "type": "f32", "from": "use.v" },
        "w": { "type": "f32", "from": "then.value" }, "now": { "type": "f32", "from": "sum.value" } },
    "nodes": {
        "time": { "type": "context.time" },
        "still": { "type": "math.negate", "in": { "x": { "input": "x" } } },
        "sum": { "type": "math.add", "in": { "a": { "from": "time.value" }, "b": { "from": "still.value" } } },
        "picky": { "type": "test.picky", "in": { "x": { "from": "sum.value" } } },
        "less": { "type": "compare.less", "in": { "a": { "from": "sum.value" }, "b": { "input": "n" } } },
        "which": { "type": "control.switch", "in": { "condition": { "from": "less.value" },
            "false": { "from": "picky.value" }, "true": { "from": "use.v" } } },
        "late": { "type": "time.shift", "in": { "value": { "from": "which.value" }, "by": 4 } },
        "both": { "type": "math.add", "in": { "a": { "from": "late.value" }, "b": { "from": "sum.value" } } },
        "then": { "type": "context.with_time", "in": { "value": { "from": "both.value" }, "time": { "from": "sum.value" } } },
        "use": { "type": "group", "group": "twice", "in": { "x": { "from": "sum.value" } } }
    },
    "groups": { "twice": {
        "inputs": { "x": { "type": "f32" } },
        "outputs": { "v": { "type": "f32", "from": "s.value" } },
        "nodes": {
            "t": { "type": "context.time" },
            "p": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": { "from": "t.value" } } },
            "sooner": { "type": "time.shift", "in": { "value": { "from": "p.value" }, "by": -1.5 } },
            "s": { "type": "math.add", "in": { "a": { "from": "sooner.value" }, "b": { "input": "x" } } } } } } }"#;

/// A document that `World::of_used` uses; it uses `DEEP`.
pub(super) const LIBRARY: &str = r#"{ "millstream": 1, "use": { "deep": "lib/deep.mill.json" },
    "inputs": { "x": { "type": "f32", "default": 1 } },
    "outputs": { "v": { "type": "f32", "from": "n.value" } },
    "nodes": { "n": { "type": "math.negate", "in": { "x": { "input": "x" } } } },
    "groups": {
        "picky": {
            "inputs": { "x": { "type": "f32" } },
            "outputs": { "v": { "type": "f32", "from": "p.value" } },
            "nodes": { "p": { "type": "test.picky", "in": { "x": { "from": "h.v" } } },
                "h": { "type": "group", "group": "deep/half", "in": { "x": { "input": "x" } } } } },
        "square": {
            "inputs": { "x": { "type": "f32" } },
            "outputs": { "v": { "type": "f32", "from": "s.value" } },
            "nodes": { "s": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": { "from": "h.v" } } },
                "h": { "type": "group", "group": "picky", "in": { "x": { "input": "x" } } } } },
        "wrong": {
            "inputs": { "x": { "type": "f32" } },
            "outputs": { "v": { "type": "f32", "from": "s.value" } },
            "nodes": { "s": { "type": "test.none", "in": { "x": { "input": "x" } } } } } } }"#;

/// A document that `LIBRARY` uses.
pub(super) const DEEP: &str = r#"{ "millstream": 1, "groups": { "half": {
    "inputs": { "x": { "type": "f32" } },
    "outputs": { "v": { "type": "f32", "from": "s.value" } },
    "nodes": { "s": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 0.5 } } } } } }"#;

pub(super) const NUMBERS: &str = r#"{ "millstream": 2,
    "inputs": { "x": { "type": "f32", "default": 3 }, "n": { "type": "i32", "default": -2 } },
    "outputs": { "y": { "type": "f32", "from": "sum.value" }, "z": { "type": "f32", "from": "use.v" },
        "w": { "type": "f32", "from": "picky.value" } },
    "nodes": {
        "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
        "neg": { "type": "math.negate", "in": { "x": { "from": "a.value" } } },
        "use": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } },
        "picky": { "type": "test.picky", "in": { "x": { "from": "use.v" } } },
        "less": { "type": "compare.less", "in": { "a": { "from": "neg.value" }, "b": { "input": "n" } } },
        "which": { "type": "control.switch", "in": { "condition": { "from": "less.value" },
            "false": { "from": "picky.value" }, "true": { "from": "neg.value" } } },
        "sum": { "type": "math.multiply", "in": { "a": { "from": "which.value" }, "b": { "from": "a.value" } } }
    },
    "groups": { "twice": {
        "inputs": { "x": { "type": "f32" } },
        "outputs": { "v": { "type": "f32", "from": "s.value" } },
        "nodes": { "s": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "x" } } } } } } }"#;

const VALUES: &str = r#"{ "millstream": 2,
    "inputs": { "x": { "type": "vec3", "default": [3, 0, -1] }, "n": { "type": "f32", "default": 2 },
        "t": { "type": "string", "default": "7" } },
    "outputs": { "y": { "type": "vec3", "from": "which.value" }, "z": { "type": "vec3", "from": "use.v" },
        "w": { "type": "list<f32>", "from": "items.value" }, "s": { "type": "string", "from": "text.value" },
        "c": { "type": "color", "from": "use.v" } },
    "nodes": {
        "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": [1, 2, 0.5] } },
        "apart": { "type": "vector.separate_vec3", "in": { "vector": { "from": "a.value" } } },
        "use": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } },
        "picky": { "type": "test.picky", "in": { "x": { "from": "apart.y" } } },
        "less": { "type": "compare.less", "in": { "a": { "from": "apart.x" }, "b": { "input": "n" } } },
        "which": { "type": "control.switch", "in": { "condition": { "from": "less.value" },
            "false": { "from": "use.v" }, "true": { "from": "joined.value" } } },
        "joined": { "type": "vector.combine_vec3", "in": { "x": { "from": "picky.value" },
            "y": { "from": "read.value" }, "z": { "input": "n" } } },
        "text": { "type": "string.from_number", "in": { "number": { "from": "picky.value" } } },
        "both": { "type": "string.concat", "in": { "texts": [{ "input": "t" }, { "from": "text.value" }] } },
        "read": { "type": "string.to_number", "in": { "text": { "from": "both.value" } } },
        "items": { "type": "list.append", "in": { "list": { "from": "apart.z" }, "item": { "from": "picky.value" } } },
        "ends": { "type": "test.ends", "in": { "list": { "from": "items.value" } } }
    },
    "groups": { "twice": {
        "inputs": { "x": { "type": "vec3" } },
        "outputs": { "v": { "type": "vec3", "from": "s.value" } },
        "nodes": { "s": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "x" } } } } } } }"#;
