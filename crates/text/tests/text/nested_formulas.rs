//! Calls inside formulas: documents are written with them wherever reading makes the same nodes.

use std::sync::Arc;

use millstream_document::model::{InputValue, Link, Named, Node};
use millstream_document::{Document, save};
use proptest::prelude::*;

use crate::{converted, document, formatted};

/// The groups that the texts call.
const GROUPS: &str = "
group soften(x: f32, by: f32 = 1) -> y: f32 {
  y = x / (1 + by * abs(x))
}

group split(x: f32) -> (low: f32, high: f32) {
  low = floor(x)
  high = x - low
}

group place(x: f32) -> value: vec2 {
  value = vec2(x, 2 * x)
}
";

/// The text of the document that these statements make.
fn written(statements: &str) -> String {
    let text = converted(&document(&format!("{statements}{GROUPS}")));
    text.strip_suffix(GROUPS).map(str::to_owned).unwrap_or(text)
}

#[test]
fn calls_in_formulas_are_written_in_them() {
    let texts = [
        "y = 2 * soften(x) + 1",
        "y = soften(x) + soften(x)",
        "y = soften(2 * soften(x) + 1, by: soften(x)) - soften(soften(x))",
        "y = split(x).low * split(x).high",
        "y = place(x).x + place(2 * place(x).y).y",
        "y = sin(soften(x)) + (soften(z) > 1 ? soften(1) : noise.perlin(vec3(soften(x))))",
        "y = (soften(x))",
        "y = (soften((soften((soften(x))))))",
        "y = sqrt((soften(x)))",
        "y = sqrt(2 * soften(x))",
        "y = list.concat([x, 2 * soften(x), -soften(z)])",
        "y = repeat soften(x, count: 3) * 2",
        "y = repeat soften(x, count: 3).y * 2",
        "y = 2 / muted soften(x)",
        "y = w/noise(x: 1).fine / w/noise(x: soften(x))",
        "y = 2 * round@2(x) + wave(x, kind = \"sine\")",
        "y = 1 + muted a.b@2(x: z).c",
        "y = 2 * soften(x) + b where b: z",
        "z2 = soften(x)\ny = 2 * soften(z2) + soften(x) * z2",
        "output o: f32 = 2 * soften(x)",
    ];
    for text in texts {
        let statements = format!("use w = \"w.mill\"\n\ninput x: f32\ninput z: f32\n\n{text}\n");
        assert_eq!(formatted(&statements), statements);
        assert_eq!(written(&statements), statements);
    }
}

#[test]
fn calls_that_reading_would_not_make_stay_apart() {
    let texts = [
        // Their names are not those of nested calls.
        "s = soften(x)\ny = 2 * s + 1",
        "y_2 = soften(x)\ny = 2 * y_2 + 1",
        "y_1 = soften(x)\nz_1 = soften(x)\ny = y_1 + z_1 * y_1",
        // They have several readers, or none.
        "y_1 = soften(x)\ny = 2 * y_1 + 1\nz = y_1 / 2",
        "y_1 = soften(x)\ny = 2 * y_1 + y_1",
        "y_1 = soften(x)\ny = 2 * y_1 + 1\noutput o: f32 = y_1",
        // Other nodes stand between them and the formula.
        "y_1 = soften(x)\nz = 2 * x\ny = 2 * y_1 + z",
        "y_2 = soften(x)\ny_1 = soften(z)\nz = 1 * x\ny = y_1 - y_2",
        // Comments.
        "# This one is important.\ny_1 = soften(x)\ny = 2 * y_1 + 1",
        "y_1 = soften(x) # So is this one.\ny = 2 * y_1 + 1",
        // Formulas contain them.
        "y_1 = sin(x)\ny = 2 * y_1",
        "y_1 = noise.perlin(vec3(x))\ny = 2 * y_1",
        "y_1 = 2 * x\ny = 2 * y_1",
        // The component would be an output.
        "y_1 = w/place(x: 1)\ny = 2 * y_1.value.x",
    ];
    for text in texts {
        let statements = format!("use w = \"w.mill\"\n\ninput x: f32\n\n{text}\n");
        let separate = converted(&document(&format!("{statements}{GROUPS}")));
        let line_of = |text: &str| text.matches("y_1 = ").count() + text.matches("y_2 = ").count();
        assert_eq!(line_of(&separate), line_of(text), "{text}\n{separate}");
    }
}

#[test]
fn the_first_calls_are_nested_if_the_others_cannot_be() {
    let first = "y_2 = soften(z)\ny = soften(x) - y_2";
    let statements = format!("input x: f32\ninput z: f32\n\n{first}\n");
    assert_eq!(written(&statements), statements);
}

#[test]
fn calls_are_nested_only_as_deep_as_the_parser_reads() {
    let mut deep = String::new();
    let name = |level: usize| format!("y{}", "_1_x".repeat(level));
    for level in (0..24).rev() {
        let (name, inner) = (name(level), name(level + 1));
        let source = if level == 23 { "x".to_owned() } else { inner };
        let muted = if level % 2 == 0 { "muted " } else { "" };
        deep += &format!("{name}_1 = {muted}soften({source})\n{name} = ((((2 * {name}_1))))\n");
    }
    let deep = converted(&document(&format!("input x: f32\n{deep}{GROUPS}")));
    let n_statements = deep.matches("\ny_1_x").count();
    assert!((1..5).contains(&n_statements), "{deep}");
}

/// Expressions whose calls become nodes.
fn expression() -> impl Strategy<Value = String> {
    const LEAVES: [&str; 6] = ["x", "z", "2", "a", "w/noise(x: 1).fine", "call(f, p: x).h"];
    let leaf = prop::sample::select(&LEAVES[..]).prop_map(str::to_owned);
    leaf.prop_recursive(5, 24, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            4 => two.clone().prop_map(|(a, b)| format!("({a} + {b})")),
            1 => two.prop_map(|(a, b)| format!("soften({a}, by: {b})")),
            2 => inner.clone().prop_map(|a| format!("soften({a})")),
            2 => inner.clone().prop_map(|a| format!("sin({a})")),
            1 => inner.clone().prop_map(|a| format!("split({a}).high")),
            1 => inner.clone().prop_map(|a| format!("place({a}).x")),
            1 => inner.clone().prop_map(|a| format!("muted w/noise(x: {a})")),
            1 => inner.clone().prop_map(|a| format!("wave({a}, kind = \"sine\")")),
            1 => inner.prop_map(|a| format!("repeat soften({a}, count: 3).y")),
        ]
    })
}

/// A change of a document that keeps it valid in form: two nodes trade places, a link leads to
/// another node or output, or a node gets the name of another one.
fn change(nodes: &mut Named<Node>, kind: u8, one: usize, other: usize) {
    if nodes.is_empty() {
        return;
    }
    let (one, other) = (one % nodes.len(), other % nodes.len());
    let name =
        |nodes: &Named<Node>, at: usize| Arc::clone(nodes.get_index(at).expect("it is there").0);
    let (from, to) = (name(nodes, one), name(nodes, other));
    let mut all: Vec<(Arc<str>, Node)> =
        nodes.iter().map(|(k, v)| (Arc::clone(k), v.clone())).collect();
    match kind {
        0 => all.swap(one, other),
        1 => (all[one].0, all[other].0) = (to, from),
        _ => {
            let node = &mut all[one].1;
            for (at, input) in node.inputs.values_mut().enumerate() {
                if at % 2 == usize::from(kind) % 2
                    && let InputValue::Link(link) = &mut input.value
                {
                    let output = if kind > 3 { "low" } else { "value" };
                    *link = if kind > 4 {
                        Link::new(Arc::clone(&link.node), output)
                    } else {
                        Link::new(Arc::clone(&to), output)
                    };
                }
            }
        }
    }
    *nodes = all.into_iter().collect();
}

fn of_expressions(expressions: &[String]) -> Document {
    let lines = expressions.iter().zip(["a", "b", "y"]);
    let lines: Vec<String> = lines.map(|(text, name)| format!("{name} = 1 + {text}\n")).collect();
    let lines = lines.concat();
    document(&format!(
        "use w = \"w.mill\"\ninput x: f32\ninput z: f32\ninput f: closure<p: f32 -> h: f32>\n{lines}{GROUPS}"
    ))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn formulas_with_calls_become_text_and_back(
        expressions in prop::collection::vec(expression(), 3),
        changes in prop::collection::vec((0..6_u8, any::<usize>(), any::<usize>()), 0..4),
    ) {
        let mut read = of_expressions(&expressions);
        let text = converted(&read);
        // All calls of groups are nested, since each has the name and the place of a nested call.
        let statements = text.split("\n\ngroup").next().unwrap_or_default();
        let n_nodes = statements.lines().filter(|line| line.contains(" = 1 + ")).count();
        let n_others = statements.lines().filter(|line| line.contains(" = ")).count() - n_nodes;
        // The other line names a used document.
        prop_assert_eq!((n_nodes, n_others), (3, 1), "{}", text);
        converted(&crate::from_json(&save(&read)));
        for (kind, one, other) in changes {
            change(&mut read.nodes, kind, one, other);
        }
        converted(&read);
    }
}
