//! `--stats`: the nodes that ran, how often, on how many elements, for how long, and why.

use std::fmt::Write as _;
use std::time::Duration;

use millstream::explain::{run_json, short};
use millstream::run_log::NodeRun;
use millstream::{Answer, NodePath, Program};
use serde_json::Value as Json;

/// The log as a table, with the time of the whole command below.
pub(crate) fn text(program: &Program, answer: &Answer, elapsed: Duration) -> String {
    let head = ["node", "type", "runs", "elements", "bytes", "time", "why"];
    let mut rows: Vec<[String; 7]> = vec![head.map(str::to_owned)];
    let (mut n_nodes, mut n_runs, mut n_elements, mut time) = (0, 0, 0, Duration::ZERO);
    for NodeRun { path, node_type, entry, failure } in program.runs(answer) {
        n_nodes += usize::from(entry.runs > 0);
        n_runs += u64::from(entry.runs);
        n_elements += entry.elements;
        time += entry.time;
        rows.push([
            if path == NodePath::root() { "(output)".into() } else { path.to_string() },
            node_type,
            entry.runs.to_string(),
            entry.elements.to_string(),
            entry.bytes.to_string(),
            short(entry.time),
            match failure {
                Some(_) if entry.fate.ran() => format!("{}; failed", entry.fate.why()),
                Some(_) | None => entry.fate.why().to_owned(),
            },
        ]);
    }
    let n_steps = rows.len() - 1;
    let widths: Vec<usize> =
        (0..7).map(|i| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Numbers are aligned to the right.
            let cell = if (2..6).contains(&i) {
                format!("{cell:>width$}")
            } else {
                format!("{cell:<width$}")
            };
            line.push_str(&cell);
            line.push_str("  ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    let (time, elapsed) = (short(time), short(elapsed));
    writeln!(
        out,
        "{n_nodes} of {n_steps} nodes ran, {n_runs} runs, {n_elements} elements, {time} in nodes, \
         {elapsed} in all"
    )
    .expect("strings take all text");
    out
}

/// The log for other programs; times in seconds.
pub(crate) fn json(program: &Program, answer: &Answer) -> Json {
    let entries = program.runs(answer).map(|NodeRun { path, node_type, entry, failure }| {
        let mut json = run_json(&entry, failure.as_deref());
        json["path"] = path.as_str().into();
        json["type"] = node_type.into();
        json
    });
    entries.collect()
}
