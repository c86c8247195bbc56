//! What a bake tells about its frames, with the frame and the view: nodes that failed, values that do
//! not fit a file, and repeats that did not settle.

use std::collections::BTreeMap;

use millstream::twice::Unsettled;
use millstream::{Answer, NodeFailure, NodePath, RequestAxis};
use serde_json::{Value as Json, json};

use super::manifest;
use crate::gaps::Lack;
use crate::outcome::{self, Stop, in_flags, warn};
use crate::run::report_nodes;
use crate::tables::{Coordinates, add_position};
use crate::terminal::eprint;
use crate::unsettled;

/// The number of failed frames that are reported individually.
const MAX_REPORTED: usize = 3;

/// The failures and warnings of one view.
pub(super) struct Told<'t> {
    /// The name of the view, if it has one.
    view: Option<&'t str>,
    n_failed: usize,
    failures: Vec<Json>,
    /// The repeats that did not settle, each with its number of rounds by frame.
    unsettled: Vec<(NodePath, BTreeMap<i64, u32>)>,
}

/// The failures and warnings of a bake, for programs.
#[derive(Default)]
pub(super) struct Reports {
    pub(super) failures: Vec<Json>,
    pub(super) warnings: Vec<Json>,
}

/// The element that a place names, as [`Told::place`] wrote it.
fn cell_of(place: &Json) -> Vec<(&'static str, usize)> {
    let mut cell = Vec::new();
    for axis in RequestAxis::ALL.iter().map(|axis| axis.name()).chain(["item"]) {
        let positions = match &place[axis] {
            Json::Array(all) => &all[..],
            one => std::slice::from_ref(one),
        };
        let positions = positions.iter().filter_map(Json::as_u64);
        cell.extend(positions.map(|position| (axis, position as usize)));
    }
    cell
}

impl<'t> Told<'t> {
    pub(super) fn new(view: Option<&'t str>) -> Self {
        Self { view, n_failed: 0, failures: Vec::new(), unsettled: Vec::new() }
    }

    /// A frame as the place of something, for people.
    fn at(&self, frame: i64) -> String {
        match self.view {
            Some(view) => format!("at frame {frame}, view {view}"),
            None => format!("at frame {frame}"),
        }
    }

    /// A frame as the place of something, for programs.
    fn place(&self, frame: i64, cell: &[(&'static str, usize)]) -> Json {
        let mut place = manifest::place(frame, self.view);
        for (axis, i) in cell {
            add_position(&mut place, axis, *i);
        }
        place.into()
    }

    /// Reports the failures of a frame that was left out of these files, and those in earlier ticks
    /// that it depends on. Returns them for the manifest.
    pub(super) fn failed(&mut self, frame: i64, answer: &Answer, files: &[String]) -> Vec<Json> {
        // The frame is told instead of its position along the time axis.
        let in_frame = |failure: &NodeFailure| {
            let cell = failure.cell.iter().filter(|(axis, _)| *axis != RequestAxis::Time.name());
            NodeFailure { cell: cell.copied().collect(), ..failure.clone() }
        };
        let failures: Vec<NodeFailure> = answer.failures.iter().map(in_frame).collect();
        let is_own = |failure: &&NodeFailure| failure.replayed.is_none();
        let mut own = failures.iter().filter(is_own).peekable();
        if (own.peek().is_some() || !files.is_empty()) && self.is_reported() {
            let of_view = self.view.map_or_else(String::new, |view| format!(" of view {view}"));
            let text = match files {
                [] => format!("a node fails in frame {frame}{of_view}:\n"),
                files => {
                    format!("frame {frame}{of_view} was not written to {}:\n", files.join(", "))
                }
            };
            eprint(&text);
            report_nodes(own, &Coordinates::default());
            for output in &answer.outputs {
                Lack::of(output, answer).report(&output.name);
            }
        }
        let mut all = Vec::with_capacity(failures.len());
        for failure in &failures {
            let told = json!({
                "path": failure.path.as_str(),
                "message": failure.message,
                "help": failure.help.as_deref().map(in_flags),
                "where": self.place(failure.replayed.unwrap_or(frame), &failure.cell),
            });
            // The next state of a node may fail as an output of the same frame does.
            if all.contains(&told) {
                continue;
            }
            let is_new = !self.failures.contains(&told);
            if is_new && failure.replayed.is_some() {
                report_nodes(std::iter::once(failure), &Coordinates::default());
            }
            self.failures.extend(is_new.then(|| told.clone()));
            all.push(told);
        }
        all
    }

    /// Reports the failures in earlier ticks that a frame depends on, if it was written before.
    pub(super) fn failed_before(&mut self, failures: &[Json]) {
        for told in failures.iter().filter(|told| !self.failures.contains(told)).collect::<Vec<_>>()
        {
            let text = |part: &str| told[part].as_str().unwrap_or_default();
            let place = &told["where"];
            let failure = NodeFailure {
                path: text("path").into(),
                message: text("message").into(),
                help: told["help"].as_str().map(str::to_owned),
                cell: cell_of(place),
                replayed: place["frame"].as_i64(),
            };
            report_nodes(std::iter::once(&failure), &Coordinates::default());
            self.failures.push(told.clone());
        }
    }

    /// Counts a failed frame; whether it is reported individually.
    fn is_reported(&mut self) -> bool {
        self.n_failed += 1;
        if self.n_failed == MAX_REPORTED + 1 {
            eprint("further failures are only counted\n");
        }
        self.n_failed <= MAX_REPORTED
    }

    /// Reports values of a frame that do not fit a file of this frame alone, and returns the report
    /// for the manifest.
    pub(super) fn misfit(&mut self, frame: i64, misfit: Stop) -> Vec<Json> {
        let reported = self.note(&self.place(frame, &[]), &misfit);
        if self.is_reported() {
            outcome::report(&self.stop(frame, misfit));
        }
        reported
    }

    /// Reports that a file of all frames was given up, because it cannot hold the values of this one.
    /// Returns the problems, for a bake that stops because of it.
    pub(super) fn given_up(&mut self, frame: i64, misfit: Stop) -> Vec<Json> {
        self.note(&self.place(frame, &[]), &misfit);
        let stop = self.stop(frame, misfit);
        outcome::report(&stop);
        stop.problems()
    }

    /// Notes the messages for programs.
    fn note(&mut self, place: &Json, misfit: &Stop) -> Vec<Json> {
        let noted = misfit.messages().iter().map(|message| {
            json!({
                "path": "",
                "message": message.text,
                "help": message.help.as_deref().map(in_flags),
                "where": place,
            })
        });
        let noted: Vec<Json> = noted.collect();
        self.failures.extend_from_slice(&noted);
        noted
    }

    /// The reason to stop, with the frame.
    fn stop(&self, frame: i64, misfit: Stop) -> Stop {
        misfit.into_failure().at(&format!(" ({})", self.at(frame)))
    }

    /// Reports a file that could not be completed.
    pub(super) fn unfinished(&mut self, misfit: &Stop) {
        let mut place = json!({});
        if let Some(view) = self.view {
            place["view"] = view.into();
        }
        self.note(&place, misfit);
        outcome::report(misfit);
    }

    /// Notes the repeats that did not settle in a frame; it may be called again for the same frame.
    pub(super) fn unsettled(&mut self, frame: i64, all: &[Unsettled]) {
        for one in all {
            let known = self.unsettled.iter().position(|(path, _)| *path == one.path);
            let at = known.unwrap_or_else(|| {
                self.unsettled.push((one.path.clone(), BTreeMap::new()));
                self.unsettled.len() - 1
            });
            let rounds = self.unsettled[at].1.entry(frame).or_default();
            *rounds = one.rounds.max(*rounds);
        }
    }

    /// Reports the repeats that did not settle, each once, and adds everything to the reports.
    pub(super) fn finish(&mut self, reports: &mut Reports) {
        for (path, frames) in &self.unsettled {
            let Some((&first, &rounds)) = frames.first_key_value() else { continue };
            // The message is that of the first frame.
            let one = Unsettled { path: path.clone(), rounds };
            let at = unsettled::place(&self.at(first), "frames", frames.values().copied());
            warn(&format!("{} ({at})", unsettled::text(&one)), Unsettled::HELP);
            let mut warning = unsettled::json(&one);
            warning["where"] = self.place(first, &[]);
            warning["frames"] = frames.len().into();
            reports.warnings.push(warning);
        }
        self.unsettled.clear();
        reports.failures.append(&mut self.failures);
    }
}
