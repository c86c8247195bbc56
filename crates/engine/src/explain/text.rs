//! An explanation as text: two lines per node.

use std::fmt::Write as _;
use std::time::Duration;

use millstream_base::diagnostics::counted;
use millstream_ir::answer::{LogEntry, Timing};

use super::{Body, Explanation, Fate, From, Node, Part, Region, Socket};

/// The explanation for a terminal, ending in a line break.
pub fn text(explanation: &Explanation) -> String {
    let mut out = String::new();
    if !explanation.name.is_empty() {
        line(&mut out, format_args!("{}", explanation.name));
    }
    let columns = match explanation.columns.as_slice() {
        [] => "no input".to_owned(),
        names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    };
    line(&mut out, format_args!("explained for requests that give columns for: {columns}"));
    line(&mut out, format_args!(""));
    for node in &explanation.nodes {
        describe(&mut out, explanation, node);
    }
    line(&mut out, format_args!(""));
    write_outputs(&mut out, explanation);
    write_chunks(&mut out, explanation);
    line(&mut out, format_args!("{}", summary(explanation)));
    out
}

/// The outputs, and the regions of several nodes.
fn write_outputs(out: &mut String, explanation: &Explanation) {
    for output in &explanation.outputs {
        let from = source(&explanation.nodes, &output.from);
        line(out, format_args!("output {}: {} = {from}", output.name, output.ty));
    }
    for (i, region) in explanation.regions.iter().enumerate() {
        if region.nodes.len() > 1 {
            let name = Region::name(i);
            let names = |nodes: &[usize]| some(explanation, nodes);
            let (nodes, stored) = (names(&region.nodes), names(&region.stored));
            line(out, format_args!("region {name} runs as one: {nodes}; stored: {stored}"));
        }
    }
}

/// The sets of nodes that the memo stores as one entry.
fn write_chunks(out: &mut String, explanation: &Explanation) {
    for chunk in &explanation.chunks {
        let root = explanation.nodes[chunk.root].label();
        let n = counted(chunk.nodes.len() as u64, "node");
        let whose =
            chunk.group.as_ref().map_or(String::new(), |group| format!("group {group} is "));
        line(out, format_args!("{whose}one entry of the memo: {n} up to {root}"));
    }
}

/// The labels of nodes, of many nodes only the first.
fn some(explanation: &Explanation, nodes: &[usize]) -> String {
    const SHOWN: usize = 12;
    let labels = nodes.iter().take(SHOWN).map(|node| explanation.nodes[*node].label());
    let mut labels: Vec<String> = labels.collect();
    if nodes.len() > SHOWN {
        labels.push(format!("{} more", nodes.len() - SHOWN));
    }
    labels.join(", ")
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("strings take all text");
}

fn describe(out: &mut String, explanation: &Explanation, node: &Node) {
    if node.is_input {
        let note = match node.fate {
            Fate::Unread => " (not read)",
            Fate::Kept
            | Fate::Constant(_)
            | Fate::SameAs(_)
            | Fate::Replaced(_)
            | Fate::Resolved(_)
            | Fate::As(_)
            | Fate::Scoped(_) => "",
        };
        line(out, format_args!("input {}: {}{}{note}", node.path, node.node_type, axes(node)));
        return;
    }
    let mut head = format!("{} = {}", node.label(), node.node_type);
    if !node.settings.is_empty() {
        let settings: Vec<String> =
            node.settings.iter().map(|(name, json)| format!("{name}: {json}")).collect();
        write!(head, "{{{}}}", settings.join(", ")).expect("strings take all text");
    }
    let sockets: Vec<String> =
        node.inputs.iter().map(|socket| socket_text(explanation, socket)).collect();
    line(out, format_args!("{head}({})", sockets.join(", ")));
    line(out, format_args!("    {}{}{}", node.class, axes(node), needs(node)));
    match &node.fate {
        Fate::Kept | Fate::Scoped(_) | Fate::As(_) => {
            let region = explanation.region_of(node).map(region_text).unwrap_or_default();
            let rounds = node.rounds.as_ref().map(|rounds| rounds.text(explanation));
            let rounds = rounds.map(|text| format!("; {text}")).unwrap_or_default();
            line(out, format_args!("    runs {}{region}{rounds}", node.runs));
            if let Fate::As(ty) = &node.fate {
                line(out, format_args!("    is done by a {ty}"));
            }
            if let Fate::Scoped(n) = node.fate {
                let nodes = if n == 1 { "node" } else { "nodes" };
                line(
                    out,
                    format_args!("    is read in other contexts only: {n} {nodes} of the plan"),
                );
            }
            if let Some(text) = run_text(node) {
                line(out, format_args!("    {text}"));
            }
            if let Some(body) = &node.body {
                write_body(out, body);
            }
        }
        Fate::Constant(values) => {
            let values: Vec<String> = values.iter().map(|value| shortened(value)).collect();
            line(out, format_args!("    is the constant {}", values.join(", ")));
        }
        Fate::SameAs(other) => {
            let other = explanation.nodes[*other].label();
            line(out, format_args!("    is merged into {other}, which does the same"));
        }
        Fate::Replaced(from) => {
            line(out, format_args!("    is replaced by {}", source(&explanation.nodes, from)));
        }
        Fate::Resolved(from) => {
            let source = source(&explanation.nodes, from);
            line(
                out,
                format_args!("    is replaced by a copy of {source} with the provided value"),
            );
            if let Some(text) = run_text(node) {
                line(out, format_args!("    the provided value {text}"));
            }
        }
        Fate::Unread => line(out, format_args!("    is dropped: nothing reads it any more")),
    }
}

/// The body of a repeat, indented. The limit on the nesting of groups bounds the recursion.
fn write_body(out: &mut String, body: &Body) {
    let explanation = match body {
        Body::As(other) => return line(out, format_args!("    each round is that of {other}")),
        Body::Here(explanation) => explanation,
    };
    let mut inside = String::new();
    for node in &explanation.nodes {
        describe(&mut inside, explanation, node);
    }
    write_outputs(&mut inside, explanation);
    line(out, format_args!("    each round:"));
    for text in inside.lines() {
        line(out, format_args!("        {text}"));
    }
}

fn region_text((region, part): (usize, Part)) -> String {
    let name = Region::name(region);
    match part {
        Part::Whole => format!("; in region {name}"),
        Part::Selecting => format!("; in region {name}, selecting where elements differ"),
        Part::Uniform => format!("; in region {name} if all elements take one arm"),
    }
}

/// The log entry of a node in the explained evaluation, as a sentence.
pub(super) fn run_text(node: &Node) -> Option<String> {
    let entry = node.run.as_ref()?;
    let why = entry.fate.why();
    if !entry.fate.ran() {
        let failure = node.failure.as_ref().map(|failure| format!(": {failure}"));
        return Some(format!("did not run: {why}{}", failure.unwrap_or_default()));
    }
    let failure = node.failure.as_ref().map(|failure| format!("; failed: {failure}"));
    Some(format!(
        "ran {} on {}, {}, {}: {why}{}",
        counted(entry.runs.into(), "time"),
        counted(entry.elements, "element"),
        counted(entry.bytes, "byte"),
        told_time(entry),
        failure.unwrap_or_default(),
    ))
}

/// A time in the unit in which it has the fewest digits.
pub fn short(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1e-3 {
        format!("{:.1} us", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{seconds:.3} s")
    }
}

/// The time in the entry of a step, as [`short`]; shares of the time of a region begin with `~`.
pub fn told_time(entry: &LogEntry) -> String {
    match entry.timing {
        Timing::Clock => short(entry.time),
        Timing::Share => format!("~{}", short(entry.time)),
    }
}

fn axes(node: &Node) -> String {
    if node.axes.is_empty() {
        String::new()
    } else {
        format!(", along {}", node.axes.join(" and "))
    }
}

fn needs(node: &Node) -> String {
    if node.needs.is_empty() { String::new() } else { format!(", needs {}", node.needs.join(", ")) }
}

fn socket_text(explanation: &Explanation, socket: &Socket) -> String {
    let mut text = format!("{}: {}", socket.name, source(&explanation.nodes, &socket.from));
    if let Some(scope) = &socket.scope {
        let effect = if scope.has_effect { "" } else { ", without effect" };
        write!(text, " [{}{effect}]", scope.change).expect("strings take all text");
    }
    text
}

/// A source as documents write it.
pub(super) fn source(nodes: &[Node], from: &From) -> String {
    match from {
        From::Constant(value) => shortened(value),
        From::Node { node, output } => {
            let node = &nodes[*node];
            match node.outputs.get(*output) {
                Some(_) if node.is_input => format!("input {}", node.path),
                Some((name, _)) if node.outputs.len() > 1 => format!("{}.{name}", node.label()),
                Some(_) | None => node.label(),
            }
        }
    }
}

/// A value in at most 40 characters.
pub(super) fn shortened(value: &str) -> String {
    if value.chars().count() <= 40 {
        return value.to_owned();
    }
    format!("{}...", value.chars().take(37).collect::<String>())
}

/// The number of nodes, by their fate.
pub(super) fn summary(explanation: &Explanation) -> String {
    let nodes = || explanation.nodes.iter().filter(|node| !node.is_input);
    let count = |is: fn(&Fate) -> bool| nodes().filter(|node| is(&node.fate)).count();
    let parts = [
        (count(|fate| matches!(fate, Fate::Kept | Fate::As(_))), "in the plan"),
        (count(|fate| matches!(fate, Fate::Scoped(_))), "in the plan for other contexts"),
        (count(|fate| matches!(fate, Fate::Constant(_))), "constant"),
        (count(|fate| matches!(fate, Fate::SameAs(_))), "merged"),
        (count(|fate| matches!(fate, Fate::Replaced(_) | Fate::Resolved(_))), "simplified away"),
        (count(|fate| matches!(fate, Fate::Unread)), "dropped"),
    ];
    let parts = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let n = nodes().count();
    let logged = nodes().filter_map(|node| node.run);
    let n_ran = logged.clone().filter(|entry| entry.fate.ran()).count();
    let n_runs: u64 = logged.clone().map(|entry| u64::from(entry.runs)).sum();
    let time: Duration = logged.clone().map(|entry| entry.time).sum();
    let ran = match logged.count() {
        0 => String::new(),
        _ => format!("; {n_ran} ran, {}, {} in nodes", counted(n_runs, "run"), short(time)),
    };
    let parts: Vec<String> = parts.collect();
    let parts = if parts.is_empty() { "none".into() } else { parts.join(", ") };
    format!("{}: {parts}{ran}", counted(n as u64, "node"))
}
