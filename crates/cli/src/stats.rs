//! `--stats`: what ran, how often, on how many elements, for how long, and why.

use std::fmt::Write as _;
use std::time::Duration;

use millstream::parts::ir::answer::{Fate, LogEntry, RunReason, SkipReason};
use millstream::parts::ir::{Step, StepOp};
use millstream::{Answer, Program};
use serde_json::{Value as Json, json};

/// The steps that call a node, with their entries in the log.
fn calls<'a>(
    program: &'a Program,
    answer: &'a Answer,
) -> impl Iterator<Item = (&'a Step, &'a str, &'a LogEntry)> {
    let plan = program.plan();
    plan.steps.iter().filter_map(move |(id, step)| match step.op {
        StepOp::Call(instance) => {
            Some((step, plan.instances[instance].name(), answer.log.entry(id)?))
        }
        StepOp::Const(_) | StepOp::Input(_) => None,
    })
}

fn why(fate: Fate) -> &'static str {
    match fate {
        Fate::Ran(RunReason::First) => "first time",
        Fate::Ran(RunReason::InputChanged) => "an input changed",
        Fate::Ran(RunReason::FeatureChanged) => "a feature changed",
        Fate::Ran(RunReason::Evicted) => "was evicted",
        Fate::Ran(RunReason::Edited) => "was edited",
        Fate::Skipped(SkipReason::NotNeeded) => "not needed",
        Fate::Skipped(SkipReason::Cached) => "cached",
        Fate::Skipped(SkipReason::CutOff) => "cut off",
        Fate::Skipped(SkipReason::InputFailed) => "an input failed",
    }
}

/// The log as a table, the time of the whole command below it.
pub(crate) fn text(program: &Program, answer: &Answer, elapsed: Duration) -> String {
    let plan = program.plan();
    let head = ["node", "type", "runs", "elements", "bytes", "time", "why"];
    let mut rows: Vec<[String; 7]> = vec![head.map(str::to_owned)];
    let (mut n_nodes, mut n_runs, mut n_elements, mut time) = (0, 0, 0, Duration::ZERO);
    for (step, node_type, entry) in calls(program, answer) {
        n_nodes += usize::from(entry.runs > 0);
        n_runs += u64::from(entry.runs);
        n_elements += entry.elements;
        time += entry.time;
        rows.push([
            plan.paths.get(step.path).to_string(),
            node_type.to_owned(),
            entry.runs.to_string(),
            entry.elements.to_string(),
            entry.bytes.to_string(),
            short(entry.time),
            why(entry.fate).to_owned(),
        ]);
    }
    let n_steps = rows.len() - 1;
    let widths: Vec<usize> =
        (0..7).map(|i| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Numbers stand to the right.
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

fn short(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1e-3 {
        format!("{:.1} us", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{seconds:.3} s")
    }
}

/// The log for other programs; times in seconds.
pub(crate) fn json(program: &Program, answer: &Answer) -> Json {
    let entries = calls(program, answer).map(|(step, node_type, entry)| {
        json!({
            "path": program.plan().paths.get(step.path).as_str(),
            "type": node_type,
            "runs": entry.runs,
            "elements": entry.elements,
            "bytes": entry.bytes,
            "seconds": entry.time.as_secs_f64(),
            "why": why(entry.fate),
        })
    });
    entries.collect()
}
