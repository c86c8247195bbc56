//! `--stats`: which nodes ran, how often, on how many elements, for how long and why, and where the
//! rest of the command's time went.

use std::time::{Duration, Instant};

use millstream::explain::{run_json, short, told_time};
use millstream::run_log::{NodeRun, RunLog, Timing};
use millstream::{Answer, Program};
use serde_json::{Value as Json, json};

use crate::terminal::eprint;

/// The phases of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Loading and compiling the document.
    Load,
    /// Reading the data.
    Read,
    /// Evaluating, and reporting progress meanwhile.
    Evaluate,
    /// Printing and saving the answer.
    Write,
    /// Printing the log.
    Report,
}

/// The time of the command, split by phase.
pub(crate) struct Phases {
    last: Instant,
    times: [Duration; 5],
}

impl Phases {
    /// Starts timing at the start of the command.
    pub(crate) fn from(started: Instant) -> Self {
        Self { last: started, times: [Duration::ZERO; 5] }
    }

    /// Attributes the time since the last phase to this one.
    pub(crate) fn end(&mut self, phase: Phase) {
        let now = Instant::now();
        self.times[phase as usize] += now - std::mem::replace(&mut self.last, now);
    }

    /// The parts of the command's time, with names for programs and for people.
    fn parts(&self, log: &RunLog) -> [(&'static str, &'static str, Duration); 8] {
        let of = |phase: Phase| self.times[phase as usize];
        let (nodes, measuring) = (log.time_in_steps(), log.measuring);
        let around = log.time.saturating_sub(nodes);
        let watching = of(Phase::Evaluate).saturating_sub(log.time + measuring);
        [
            ("load", "to load and compile", of(Phase::Load)),
            ("read", "to read data", of(Phase::Read)),
            ("nodes", "in nodes", nodes),
            ("around", "around nodes", around),
            ("measure", "to measure shares", measuring),
            ("watch", "to report progress", watching),
            ("write", "to write", of(Phase::Write)),
            ("report", "to print this log", of(Phase::Report)),
        ]
    }
}

/// Prints the log as a table, followed by the time of the whole command so far.
pub(crate) fn print(program: &Program, answer: &Answer, phases: &mut Phases) {
    let head = ["node", "type", "runs", "elements", "bytes", "time", "why"];
    let mut rows: Vec<[String; 7]> = vec![head.map(str::to_owned)];
    let (mut n_nodes, mut n_runs, mut n_elements, mut timing) = (0, 0, 0, Timing::Clock);
    for run in program.runs(answer) {
        let label = if run.label().is_empty() { "(output)" } else { run.label() }.to_owned();
        let NodeRun { node_type, entry, failure, .. } = run;
        n_nodes += usize::from(entry.runs > 0);
        n_runs += u64::from(entry.runs);
        n_elements += entry.elements;
        timing = timing.max(entry.timing);
        rows.push([
            label,
            node_type,
            entry.runs.to_string(),
            entry.elements.to_string(),
            entry.bytes.to_string(),
            told_time(&entry),
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
            // Numbers are right-aligned.
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
    eprint(&out);
    phases.end(Phase::Report);
    let parts = phases.parts(&answer.log);
    let shown = parts.iter().filter(|(name, _, time)| !time.is_zero() || *name == "nodes");
    let shown: Vec<String> =
        shown.map(|(_, what, time)| format!("{} {what}", short(*time))).collect();
    let all: Duration = parts.iter().map(|(_, _, time)| *time).sum();
    let mut out = format!(
        "{n_nodes} of {n_steps} nodes ran, {n_runs} runs, {n_elements} elements\n{} = {} in all\n",
        shown.join(" + "),
        short(all)
    );
    if timing == Timing::Share {
        out.push_str(
            "~ marks a share of the time of nodes that ran fused, in proportion to the time of \
             each alone on a sample of the elements\n",
        );
    }
    eprint(&out);
}

/// The log for programs; times in seconds.
pub(crate) fn json(program: &Program, answer: &Answer) -> Json {
    let entries = program.runs(answer).map(|run| {
        let NodeRun { path, conversion, node_type, entry, failure } = run;
        let mut json = run_json(&entry, failure.as_deref());
        json["path"] = path.as_str().into();
        if let Some(label) = conversion {
            json["label"] = label.into();
        }
        json["type"] = node_type.into();
        json
    });
    entries.collect()
}

/// The parts of the command's time so far, in seconds.
pub(crate) fn seconds_json(answer: &Answer, phases: &Phases) -> Json {
    let parts = phases.parts(&answer.log);
    let all: Duration = parts.iter().map(|(_, _, time)| *time).sum();
    let mut json: serde_json::Map<String, Json> =
        parts.iter().map(|(name, _, time)| ((*name).into(), time.as_secs_f64().into())).collect();
    json.insert("all".into(), json!(all.as_secs_f64()));
    Json::Object(json)
}
