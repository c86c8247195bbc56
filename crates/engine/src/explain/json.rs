//! An explanation as JSON.

use std::io::{self, Write};

use millstream_ir::answer::LogEntry;
use serde_json::{Value as Json, json};

use super::{Body, Chunk, Explanation, Fate, From, Node, Output, Part, Region, Rounds, Socket};

/// Writes the explanation as JSON, one line per node.
///
/// # Errors
/// If writing fails.
pub fn write_json(explanation: &Explanation, out: &mut impl Write) -> io::Result<()> {
    let outputs = explanation.outputs.iter().map(|output| output_json(explanation, output));
    let nodes = explanation.nodes.iter().map(|node| node_json(explanation, node));
    writeln!(out, "{{\"name\": {},", json!(explanation.name))?;
    writeln!(out, "\"columns\": {},", json!(explanation.columns))?;
    write!(out, "\"nodes\": [")?;
    write_lines(nodes, out)?;
    write!(out, "],\n\"outputs\": [")?;
    write_lines(outputs, out)?;
    write!(out, "],\n\"regions\": [")?;
    let regions = explanation.regions.iter().enumerate();
    write_lines(regions.map(|(i, region)| region_json(explanation, i, region)), out)?;
    write!(out, "],\n\"chunks\": [")?;
    write_lines(explanation.chunks.iter().map(|chunk| chunk_json(explanation, chunk)), out)?;
    writeln!(out, "]}}")
}

/// The body of a repeat. The limit on the nesting of groups bounds the recursion.
fn explanation_json(explanation: &Explanation) -> Json {
    let nodes = explanation.nodes.iter().map(|node| node_json(explanation, node));
    let outputs = explanation.outputs.iter().map(|output| output_json(explanation, output));
    let regions = explanation.regions.iter().enumerate();
    let regions = regions.map(|(i, region)| region_json(explanation, i, region));
    json!({
        "name": explanation.name,
        "columns": explanation.columns,
        "nodes": nodes.collect::<Vec<_>>(),
        "outputs": outputs.collect::<Vec<_>>(),
        "regions": regions.collect::<Vec<_>>(),
    })
}

fn output_json(explanation: &Explanation, output: &Output) -> Json {
    json!({
        "name": output.name,
        "type": output.ty.name(),
        "from": source(explanation, &output.from),
    })
}

fn chunk_json(explanation: &Explanation, chunk: &Chunk) -> Json {
    let label = |node: &usize| explanation.nodes[*node].label();
    json!({
        "nodes": chunk.nodes.iter().map(label).collect::<Vec<_>>(),
        "root": label(&chunk.root),
        "group": chunk.group,
    })
}

fn region_json(explanation: &Explanation, position: usize, region: &Region) -> Json {
    let labels = |nodes: &[usize]| -> Vec<String> {
        nodes.iter().map(|node| explanation.nodes[*node].label()).collect()
    };
    json!({
        "name": Region::name(position),
        "nodes": labels(&region.nodes),
        "stored": labels(&region.stored),
    })
}

fn write_lines(items: impl Iterator<Item = Json>, out: &mut impl Write) -> io::Result<()> {
    for (i, item) in items.enumerate() {
        write!(out, "{}{item}", if i > 0 { ",\n  " } else { "\n  " })?;
    }
    Ok(())
}

fn node_json(explanation: &Explanation, node: &Node) -> Json {
    let settings: serde_json::Map<String, Json> = node
        .settings
        .iter()
        .map(|(name, text)| {
            let value = serde_json::from_str(text).unwrap_or_else(|_| Json::from(text.as_str()));
            (name.clone(), value)
        })
        .collect();
    let run = node.run.as_ref().map(|run| run_json(run, node.failure.as_deref()));
    let outputs = node.outputs.iter().map(|(name, ty)| json!({ "name": name, "type": ty.name() }));
    let inputs = node.inputs.iter().map(|socket| socket_json(explanation, socket));
    let mut json = json!({
        "path": node.path,
        "input": node.is_input,
        "type": node.node_type,
        "settings": settings,
        "in": inputs.collect::<Vec<_>>(),
        "out": outputs.collect::<Vec<_>>(),
        "fate": fate_json(explanation, &node.fate),
        "class": node.class.name(),
        "needs": node.needs,
        "depends_on": node.depends_on,
        "axes": node.axes,
        "runs": node.runs,
    });
    if let Some(label) = &node.conversion {
        json["label"] = label.as_str().into();
    }
    if let Some((region, part)) = node.region {
        let part = match part {
            Part::Whole => "whole",
            Part::Selecting => "selecting",
            Part::Uniform => "uniform",
        };
        json["region"] = json!({ "name": Region::name(region), "part": part });
    }
    match &node.body {
        Some(Body::Here(body)) => json["body"] = explanation_json(body),
        Some(Body::As(other)) => json["body"] = json!({ "as": other }),
        None => {}
    }
    match &node.rounds {
        Some(Rounds::Folded { into, nodes }) => {
            let label = |node: &usize| explanation.nodes[*node].label();
            let nodes: Vec<String> = nodes.iter().map(label).collect();
            json["rounds"] = json!({ "folded_into": label(into), "nodes": nodes });
        }
        Some(apart @ Rounds::Apart(why, _)) => {
            json["rounds"] = json!({ "apart": why.name(), "why": apart.why(explanation) });
        }
        None => {}
    }
    if let Some(run) = run {
        json["run"] = run;
    }
    json
}

/// The log entry of a node, and the reason for its failure if it failed; times in seconds.
pub fn run_json(entry: &LogEntry, failure: Option<&str>) -> Json {
    json!({
        "ran": entry.fate.ran(),
        "why": entry.fate.why(),
        "runs": entry.runs,
        "elements": entry.elements,
        "bytes": entry.bytes,
        "seconds": entry.time.as_secs_f64(),
        "timed_by": entry.timing.name(),
        "failed": failure,
    })
}

fn socket_json(explanation: &Explanation, socket: &Socket) -> Json {
    let mut json = json!({
        "name": socket.name,
        "type": socket.ty.name(),
        "from": source(explanation, &socket.from),
    });
    if let Some(scope) = &socket.scope {
        json["scope"] = json!({ "change": scope.change, "has_effect": scope.has_effect });
    }
    json
}

fn fate_json(explanation: &Explanation, fate: &Fate) -> Json {
    match fate {
        Fate::Kept => json!({ "is": "kept" }),
        Fate::Constant(values) => {
            let values: Vec<Json> = values.iter().map(|text| value(text)).collect();
            json!({ "is": "constant", "values": values })
        }
        Fate::SameAs(other) => {
            json!({ "is": "merged", "into": explanation.nodes[*other].path })
        }
        Fate::Replaced(from) => json!({ "is": "replaced", "by": source(explanation, from) }),
        Fate::Resolved(from) => {
            json!({ "is": "resolved", "by": source(explanation, from) })
        }
        Fate::Scoped(n) => json!({ "is": "in other contexts", "nodes": n }),
        Fate::As(ty) => json!({ "is": "done by another node", "type": ty }),
        Fate::Unread => json!({ "is": "dropped" }),
    }
}

/// The value as JSON, or as text if it is opaque.
fn value(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|_| Json::from(text))
}

fn source(explanation: &Explanation, from: &From) -> Json {
    match from {
        From::Constant(text) => json!({ "value": value(text) }),
        From::Node { node, output } => {
            let node = &explanation.nodes[*node];
            if node.is_input {
                json!({ "input": node.path })
            } else {
                let output = node.outputs.get(*output).map_or("value", |(name, _)| name.as_str());
                json!({ "node": node.label(), "output": output })
            }
        }
    }
}
