//! Documents of any size and of several shapes, as text.

use std::fmt::Write as _;

use super::large;

/// A shape: its name, and the text of a document with about this many nodes.
pub(crate) type Shape = (&'static str, fn(usize) -> String);

/// The shapes.
pub(crate) const SHAPES: [Shape; 7] = [
    ("chain", large::chain),
    ("random", large::random),
    ("tree", tree),
    ("groups", groups),
    ("names", names),
    ("wide", wide),
    ("pretty", pretty),
];

fn document(inputs: &str, last: &str, nodes: &str, groups: &str) -> String {
    format!(
        r#"{{ "millstream": 2, "inputs": {{ {inputs} }},
            "outputs": {{ "y": {{ "type": "f32", "from": "{last}.value" }} }},
            "nodes": {{ {nodes} }}, "groups": {{ {groups} }} }}"#
    )
}

const X: &str = r#""x": { "type": "f32", "default": 0.5 }"#;

fn push(parts: &mut String, part: std::fmt::Arguments<'_>) {
    if !parts.is_empty() {
        parts.push_str(", ");
    }
    parts.write_fmt(part).expect("writing to a string does not fail");
}

/// A binary tree of sums, root first.
fn tree(n: usize) -> String {
    let mut nodes = String::new();
    for i in 0..n {
        let source = |child: usize| {
            if child < n {
                format!(r#"{{ "from": "n{child}.value" }}"#)
            } else {
                r#"{ "input": "x" }"#.to_owned()
            }
        };
        let (a, b) = (source(2 * i + 1), source(2 * i + 2));
        push(
            &mut nodes,
            format_args!(r#""n{i}": {{ "type": "math.add", "in": {{ "a": {a}, "b": {b} }} }}"#),
        );
    }
    document(X, "n0", &nodes, "")
}

/// A chain of nodes that use groups of nine nodes, each group once.
fn groups(n: usize) -> String {
    let (mut nodes, mut groups) = (String::new(), String::new());
    let n = (n / 10).max(1);
    for g in 0..n {
        let source = match g {
            0 => r#"{ "input": "x" }"#.to_owned(),
            _ => format!(r#"{{ "from": "use{}.value" }}"#, g - 1),
        };
        push(
            &mut nodes,
            format_args!(
                r#""use{g}": {{ "type": "group", "group": "g{g}", "in": {{ "x": {source} }} }}"#
            ),
        );
        let mut inner =
            String::from(r#""a0": { "type": "math.sin", "in": { "x": { "input": "x" } } }"#);
        for i in 1..9 {
            let x = format!(r#"{{ "from": "a{}.value" }}"#, i - 1);
            push(
                &mut inner,
                format_args!(r#""a{i}": {{ "type": "math.cos", "in": {{ "x": {x} }} }}"#),
            );
        }
        push(
            &mut groups,
            format_args!(
                r#""g{g}": {{ "inputs": {{ {X} }}, "nodes": {{ {inner} }},
                    "outputs": {{ "value": {{ "type": "f32", "from": "a8.value" }} }} }}"#
            ),
        );
    }
    document(X, &format!("use{}", n - 1), &nodes, &groups)
}

/// Sums of random nodes with names of 80 bytes.
fn names(n: usize) -> String {
    let name = |i: usize| {
        format!("the name of a node that an importer made of a path/{i:030}").replace('/', " ")
    };
    let mut nodes = String::new();
    for i in 0..n {
        let source = |to: usize| match i {
            0 => "1.5".to_owned(),
            _ => format!(r#"{{ "from": "{}.value" }}"#, name(to)),
        };
        let (a, b) = (source(i.saturating_sub(1)), source((i * 7919) % i.max(1)));
        push(
            &mut nodes,
            format_args!(
                r#""{}": {{ "type": "math.add", "in": {{ "a": {a}, "b": {b} }} }}"#,
                name(i)
            ),
        );
    }
    document(X, &name(n - 1), &nodes, "")
}

/// Sums of an input each; every fourth node has an input of its own.
fn wide(n: usize) -> String {
    let (mut inputs, mut nodes) = (String::new(), String::new());
    let n_inputs = (n / 4).max(1);
    for i in 0..n_inputs {
        push(&mut inputs, format_args!(r#""in{i}": {{ "type": "f32", "default": {i} }}"#));
    }
    for i in 0..n {
        let a = match i {
            0 => "0.5".to_owned(),
            _ => format!(r#"{{ "from": "n{}.value" }}"#, i - 1),
        };
        let b = format!(r#"{{ "input": "in{}" }}"#, (i * 7919) % n_inputs);
        push(
            &mut nodes,
            format_args!(r#""n{i}": {{ "type": "math.add", "in": {{ "a": {a}, "b": {b} }} }}"#),
        );
    }
    document(&inputs, &format!("n{}", n - 1), &nodes, "")
}

/// A random graph with each value on a line of its own, as JSON formatters write it.
fn pretty(n: usize) -> String {
    let text = large::random(n);
    let (mut lines, mut depth, mut quoted) = (String::with_capacity(3 * text.len()), 0, false);
    for c in text.chars() {
        quoted ^= c == '"';
        match c {
            '{' if !quoted => {
                depth += 1;
                lines.push(c);
            }
            '}' if !quoted => {
                depth -= 1;
                lines.push('\n');
                lines.extend(std::iter::repeat_n(' ', 2 * depth));
                lines.push(c);
                continue;
            }
            ',' if !quoted => lines.push(c),
            ' ' | '\n' if !quoted => continue,
            _ => {
                lines.push(c);
                continue;
            }
        }
        lines.push('\n');
        lines.extend(std::iter::repeat_n(' ', 2 * depth));
    }
    lines
}
