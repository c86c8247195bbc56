//! Receives the results of a bake: writes the files of each frame, and then its line in the manifest.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use millstream_bake::{Bake, BakeError, Cache, Fate, Key, Part};
use millstream_io::held;

use super::content::publish;
use super::manifest::{Manifest, Record};
use super::saves::{Saves, Shown};
use super::sheet::Sheet;
use super::told::Told;
use super::{Args, cache};
use crate::interrupt;
use crate::outcome::{Exit, Stop};
use crate::progress::Progress;
use crate::request::refused;

/// The number of frames by outcome.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) ran: usize,
    pub(super) reused: usize,
    pub(super) failed: usize,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.ran += other.ran;
        self.reused += other.reused;
        self.failed += other.failed;
    }
}

/// Receives the results of a bake frame by frame.
pub(super) struct Taking<'t> {
    pub(super) folder: &'t Path,
    pub(super) bake: &'t Bake<'t>,
    pub(super) fps: f64,
    pub(super) shown: &'t Shown,
    pub(super) saves: Saves,
    pub(super) sheet: Option<Sheet>,
    pub(super) manifest: Manifest,
    pub(super) progress: Progress,
    pub(super) tally: Tally,
    /// The frames that were computed before their turn, by position, and the time they took.
    pub(super) ahead: BTreeMap<usize, Duration>,
    pub(super) told: Told<'t>,
}

/// Runs a bake. The results are returned even if it stopped early.
pub(super) fn run<'t>(
    args: &Args,
    bake: &Bake<'_>,
    cache: &mut Cache,
    taking: Taking<'t>,
) -> (Taking<'t>, Result<(), Stop>) {
    let mut evaluator = args.evaluator.evaluator(args.threads);
    let evaluator = &mut *evaluator;
    let taking = RefCell::new(taking);
    let mut each = |part: Part| taking.borrow_mut().take(&part);
    let is_resumable = taking.borrow().saves.need_all() && cache.limit() > 0;
    let done = if bake.is_cheap() && taking.borrow().saves.are_tables() {
        bake.run_blocks(evaluator, &mut each)
    } else {
        let mut is_wanted =
            |position: usize, key: Option<Key>| taking.borrow_mut().is_wanted(position, key);
        // Files of all frames start over with the first frame. What a stopped bake left to do is
        // computed before, so that it goes on even if each call is stopped early.
        let mut ahead = |part: Part| taking.borrow_mut().take_ahead(&part);
        if is_resumable {
            bake.run_resumed(cache, evaluator, &mut ahead, (&mut is_wanted, &mut each))
        } else {
            bake.run(cache, evaluator, &mut is_wanted, &mut each)
        }
    };
    let done = done.map_err(|error| match error {
        BakeError::Caller(stop) => stop,
        BakeError::Eval(error) => {
            cache::report_problems(cache);
            refused(&error)
        }
    });
    (taking.into_inner(), done)
}

impl Taking<'_> {
    /// Whether the frame at this position has to be written.
    fn is_wanted(&mut self, position: usize, key: Option<Key>) -> bool {
        let frame = self.bake.frames()[position];
        if self.saves.need_all() || self.sheet.as_ref().is_some_and(|sheet| sheet.shows(position)) {
            return true;
        }
        let is_wanted = !self.manifest.is_finished(self.folder, frame, key);
        if !is_wanted {
            self.told.unsettled(frame, self.manifest.unsettled_of(frame));
            self.told.failed_before(self.manifest.failures_of(frame));
            self.progress.rows(position as u64 + 1);
        }
        is_wanted
    }

    /// Notes a frame that was computed and stored before its turn.
    fn take_ahead(&mut self, part: &Part) -> Result<(), Stop> {
        self.ahead.insert(part.positions.start, part.took);
        self.progress.rows(self.ahead.len() as u64);
        interrupt::go_on(&interrupt::until(None))
    }

    fn take(&mut self, part: &Part) -> Result<(), Stop> {
        let ahead = self.ahead.remove(&part.positions.start);
        let frames = &self.bake.frames()[part.positions.clone()];
        let n = frames.len();
        // A failure in an earlier tick leaves values, which only depend on it.
        let has_failed = part.answer.failures.iter().any(|failure| failure.replayed.is_none())
            || part.answer.outputs.iter().any(|output| output.value.is_none());
        let mut record = Record {
            frames: (frames[0], frames[n - 1]),
            key: part.key.map(|key| key.to_string()),
            files: Vec::new(),
            took: part.took / n as u32 + ahead.unwrap_or_default(),
            fate: "failed".into(),
            unsettled: Vec::new(),
            failures: Vec::new(),
        };
        let has_misfit = self.write(part, frames, &mut record)?;
        self.told.unsettled(frames[0], &part.unsettled);
        record.unsettled.clone_from(&part.unsettled);
        let is_new = part.fate == Fate::Ran || ahead.is_some();
        let counted = match (has_failed || has_misfit, is_new) {
            (true, _) => &mut self.tally.failed,
            (false, true) => &mut self.tally.ran,
            (false, false) => &mut self.tally.reused,
        };
        *counted += n;
        if !has_failed && !has_misfit {
            record.fate = if is_new { "ran" } else { "reused" }.into();
        }
        self.manifest.add(record)?;
        self.progress.rows(part.positions.end as u64);
        interrupt::go_on(&interrupt::until(None))
    }

    /// Writes the files of frames, and notes them in the record. A file of which an output has no
    /// value leaves the frame out. Values that do not fit a file are failures of the frame if the
    /// file is for this frame alone; returns whether there are any.
    fn write(&mut self, part: &Part, frames: &[i64], record: &mut Record) -> Result<bool, Stop> {
        let mut has_misfit = false;
        let is_kept = frames.len() == 1
            && !self.saves.need_all()
            && self.manifest.is_finished(self.folder, frames[0], part.key);
        if is_kept {
            record.files = self.manifest.files_of(frames[0]);
            record.failures = self.told.failed(frames[0], &part.answer, &[]);
        } else {
            let shown = (self.shown, self.fps);
            let (pushed, complete) =
                held(|| self.saves.push(self.folder, &part.answer, frames, shown));
            let pushed = pushed?;
            publish(complete, &mut self.manifest)?;
            record.files = pushed.files.into_iter().map(|name| (name, None)).collect();
            record.failures = self.told.failed(frames[0], &part.answer, &pushed.left_out);
            for misfit in pushed.of_frame {
                has_misfit = true;
                record.failures.extend(self.told.misfit(frames[0], misfit));
            }
            let mut problems = Vec::new();
            for misfit in pushed.given_up {
                problems.extend(self.told.given_up(frames[0], misfit));
            }
            if self.saves.are_given_up() && self.sheet.is_none() {
                return Err(Stop::reported(Exit::Failed, problems).misfit());
            }
        }
        if let Some(sheet) = &mut self.sheet
            && let Some(image) = self.shown.image(&part.answer)
        {
            sheet.push(part.positions.start, &image);
        }
        Ok(has_misfit)
    }
}
