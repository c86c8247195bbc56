//! An explanation in the language of Graphviz. Regions and groups are clusters, groups inside
//! regions; classes are colors.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use millstream_base::diagnostics::counted;

use super::coloring::{Coloring, Painter};
use super::text::{run_text, shortened, source, told_time};
use super::{Body, Explanation, Fate, From, Node, Output, Region, Rounds};

/// The explanation as a directed graph.
pub fn dot(explanation: &Explanation, coloring: Coloring) -> String {
    let mut out = String::from(
        "digraph {\n  rankdir=LR;\n  compound=true;\n  node [shape=box, style=\"filled,rounded\", \
         fontname=\"Helvetica\", fontsize=11];\n  edge [fontname=\"Helvetica\", fontsize=9, color=\"#6b7280\"];\n",
    );
    write_nodes(&mut out, explanation, "", coloring);
    out.push_str("}\n");
    out
}

/// Nodes, links and outputs; the ids of nodes begin with `prefix`. The body of a repeat is a
/// cluster of its own. The limit on the nesting of groups bounds the recursion.
fn write_nodes(out: &mut String, explanation: &Explanation, prefix: &str, coloring: Coloring) {
    let painter = Painter::new(explanation, coloring);
    let mut clusters = Cluster::default();
    for (i, node) in explanation.nodes.iter().enumerate() {
        match explanation.region_of(node) {
            Some((region, _)) => clusters.region(region).at(&node.path, i),
            None => clusters.at(&node.path, i),
        }
    }
    clusters.write(out, explanation, &painter, (prefix, prefix), 1);
    for (i, node) in explanation.nodes.iter().enumerate() {
        for socket in &node.inputs {
            if let From::Node { node: from, .. } = socket.from {
                let is_there = matches!(node.fate, Fate::Kept | Fate::Scoped(_) | Fate::As(_));
                let style = if is_there && !node.stood_still() { "" } else { ", style=dashed" };
                push(
                    out,
                    format_args!(
                        "  {prefix}n{from} -> {prefix}n{i} [label={}{style}];\n",
                        quoted(&socket.name)
                    ),
                );
            }
        }
    }
    for (i, output) in explanation.outputs.iter().enumerate() {
        write_output(out, explanation, (prefix, i), output);
    }
    for (i, node) in explanation.nodes.iter().enumerate() {
        if let Some(Body::Here(body)) = &node.body {
            let label = quoted(&format!("each round of {}", node.label()));
            let name = quoted(&format!("cluster {prefix}n{i}"));
            push(
                out,
                format_args!("  subgraph {name} {{\n  label={label}; style=\"rounded,dashed\";\n"),
            );
            write_nodes(out, body, &format!("{prefix}n{i}_"), coloring);
            out.push_str("  }\n");
        }
    }
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("strings take all text");
}

fn write_output(
    out: &mut String,
    explanation: &Explanation,
    (prefix, i): (&str, usize),
    output: &Output,
) {
    let label = match &output.from {
        From::Node { .. } => format!("{}\n{}", output.name, output.ty),
        From::Constant(_) => {
            format!("{} = {}", output.name, source(&explanation.nodes, &output.from))
        }
    };
    push(
        out,
        format_args!(
            "  {prefix}o{i} [label={}, shape=cds, fillcolor=\"#ffffff\"];\n",
            quoted(&label)
        ),
    );
    if let From::Node { node, .. } = output.from {
        push(out, format_args!("  {prefix}n{node} -> {prefix}o{i};\n"));
    }
}

/// The nodes of a group, and the groups inside it.
#[derive(Default)]
struct Cluster {
    nodes: Vec<usize>,
    inside: BTreeMap<String, Self>,
    /// By position.
    regions: BTreeMap<usize, Self>,
}

impl Cluster {
    fn region(&mut self, region: usize) -> &mut Self {
        self.regions.entry(region).or_default()
    }

    fn at(&mut self, path: &str, node: usize) {
        let mut cluster = self;
        if let Some((groups, _)) = path.rsplit_once('/') {
            for group in groups.split('/') {
                cluster = cluster.inside.entry(group.to_owned()).or_default();
            }
        }
        cluster.nodes.push(node);
    }

    /// The limit on the nesting of groups bounds the recursion.
    fn write(
        &self,
        out: &mut String,
        explanation: &Explanation,
        painter: &Painter,
        (prefix, path): (&str, &str),
        depth: usize,
    ) {
        let indent = "  ".repeat(depth);
        for i in &self.nodes {
            push(
                out,
                format_args!(
                    "{indent}{prefix}n{i} [{}];\n",
                    attributes(explanation, painter, &explanation.nodes[*i])
                ),
            );
        }
        // Names of groups do not contain a dot.
        let regions = self.regions.iter().map(|(region, cluster)| {
            let name = Region::name(*region);
            (format!("{name}."), format!("region {name}"), cluster)
        });
        let groups =
            self.inside.iter().map(|(name, cluster)| (name.clone(), name.clone(), cluster));
        for (name, label, cluster) in regions.chain(groups) {
            let is_region = name.ends_with('.');
            let path = format!("{path}/{name}");
            let color = if is_region { "#2f9e8f" } else { "#9ca3af" };
            push(out, format_args!("{indent}subgraph {} {{\n", quoted(&format!("cluster{path}"))));
            push(
                out,
                format_args!(
                    "{indent}  label={}; style=\"rounded\"; color=\"{color}\"; fontname=\"Helvetica\"; fontsize=10;\n",
                    quoted(&label)
                ),
            );
            cluster.write(out, explanation, painter, (prefix, &path), depth + 1);
            push(out, format_args!("{indent}}}\n"));
        }
    }
}

fn attributes(explanation: &Explanation, painter: &Painter, node: &Node) -> String {
    let label = node.label();
    let name = label.rsplit('/').next().unwrap_or(&label);
    let mut label = format!("{name}\n{}", node.node_type);
    for socket in &node.inputs {
        if let From::Constant(value) = &socket.from {
            push(&mut label, format_args!("\n{}: {}", socket.name, shortened(value)));
        }
    }
    if let Some(entry) = node.run.filter(|entry| entry.fate.ran()) {
        push(
            &mut label,
            format_args!("\n{}, {}", counted(entry.runs.into(), "run"), told_time(&entry)),
        );
    }
    if let Some(failure) = &node.failure {
        push(&mut label, format_args!("\nfailed: {}", shortened(failure)));
    }
    if let Some(Rounds::Folded { into, .. }) = &node.rounds {
        push(&mut label, format_args!("\nfolded into {}", explanation.nodes[*into].label()));
    }
    let fate = match &node.fate {
        Fate::Kept | Fate::Scoped(_) | Fate::As(_) if node.stood_still() => {
            label.push_str("\ndid not run");
            ", fontcolor=\"#6b7280\""
        }
        Fate::Kept => "",
        Fate::As(ty) => {
            push(&mut label, format_args!("\nas {ty}"));
            ""
        }
        Fate::Scoped(_) => {
            label.push_str("\nin other contexts");
            ""
        }
        Fate::Constant(values) => {
            push(&mut label, format_args!("\n= {}", shortened(&values.join(", "))));
            ", style=\"filled,rounded,dashed\", fontcolor=\"#6b7280\""
        }
        Fate::SameAs(other) => {
            push(&mut label, format_args!("\nmerged into {}", explanation.nodes[*other].label()));
            ", style=\"filled,rounded,dashed\", fontcolor=\"#6b7280\""
        }
        Fate::Resolved(from) => {
            push(&mut label, format_args!("\nis {} with this", source(&explanation.nodes, from)));
            ", style=\"filled,rounded,dashed\", fontcolor=\"#6b7280\""
        }
        Fate::Replaced(from) => {
            push(&mut label, format_args!("\nis {}", source(&explanation.nodes, from)));
            ", style=\"filled,rounded,dashed\", fontcolor=\"#6b7280\""
        }
        Fate::Unread => {
            label.push_str("\ndropped");
            ", style=\"filled,rounded,dashed\", fontcolor=\"#6b7280\""
        }
    };
    let shape = if node.is_input { ", shape=cds" } else { "" };
    // Several colors stand side by side, in equal parts.
    let colors = painter.colors(node);
    let part = 1.0 / colors.len() as f64;
    let colors: Vec<String> = match &colors[..] {
        [one] => vec![(*one).to_owned()],
        several => several.iter().map(|color| format!("{color};{part:.3}")).collect(),
    };
    let color = colors.join(":");
    let mut tooltip = node.runs.clone();
    if let Some(rounds) = &node.rounds {
        push(&mut tooltip, format_args!("; {}", rounds.text(explanation)));
    }
    if let Some(text) = run_text(node) {
        push(&mut tooltip, format_args!("; {text}"));
    }
    format!(
        "label={}, tooltip={}, fillcolor=\"{color}\"{shape}{fate}",
        quoted(&label),
        quoted(&tooltip)
    )
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
