//! Documents of any size, as text.

use std::fmt::Write as _;

fn document(nodes: &str, last: usize) -> String {
    format!(
        r#"{{ "millstream": 2,
            "inputs": {{ "x": {{ "type": "f32", "default": 0.5 }} }},
            "outputs": {{ "y": {{ "type": "f32", "from": "n{last}.value" }} }},
            "nodes": {{ {nodes} }} }}"#
    )
}

/// A chain of `n` nodes, each reading the one before it.
pub(crate) fn chain(n: usize) -> String {
    let types = ["math.sin", "math.cos", "math.negate", "math.exp"];
    let mut nodes =
        String::from(r#""n0": { "type": "math.sin", "in": { "x": { "input": "x" } } }"#);
    for i in 1..n {
        let ty = types[i % 4];
        let x = format!(r#"{{ "from": "n{}.value" }}"#, i - 1);
        write!(nodes, r#", "n{i}": {{ "type": "{ty}", "in": {{ "x": {x} }} }}"#)
            .expect("writing to a string does not fail");
    }
    document(&nodes, n - 1)
}

/// `n` nodes, each reading the one before it and any other before it, or a number.
pub(crate) fn random(n: usize) -> String {
    let types = ["math.add", "math.multiply", "math.minimum", "math.atan2", "math.subtract"];
    let mut nodes =
        String::from(r#""n0": { "type": "math.sin", "in": { "x": { "input": "x" } } }"#);
    let mut state = 1_u64;
    let mut draw = |below: usize| {
        // The multiplier and the increment of Knuth's MMIX generator.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for i in 1..n {
        let ty = types[draw(5)];
        let (a, b) = if ty == "math.atan2" { ("y", "x") } else { ("a", "b") };
        let other = match draw(8) {
            0 => format!("{}.5", draw(100)),
            _ => format!(r#"{{ "from": "n{}.value" }}"#, draw(i)),
        };
        let before = format!(r#"{{ "from": "n{}.value" }}"#, i - 1);
        write!(
            nodes,
            r#", "n{i}": {{ "type": "{ty}", "in": {{ "{a}": {before}, "{b}": {other} }} }}"#
        )
        .expect("writing to a string does not fail");
    }
    document(&nodes, n - 1)
}
