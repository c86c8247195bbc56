//! The manifest of a bake: one line of JSON for the bake, then one for each frame.
//!
//! The files of a frame are listed before they get their names, and each finished frame is appended
//! in a single write. So a bake that is killed loses at most the line it was writing, and several
//! bakes may append at the same time. The last line about a frame counts. A bake that ends while no
//! other is running rewrites the file with one line per frame, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use millstream::twice::Unsettled;
use millstream_bake::Key;
use millstream_io::write_file;
use serde_json::{Map, Value as Json, json};

use super::content::{Content, Histories, Listed, add, entry};
use crate::outcome::{Exit, Stop};

/// The file name of the manifest.
pub(super) const NAME: &str = "manifest.jsonl";

/// The lock file that each bake of a directory holds.
const LOCK: &str = ".manifest.lock";

/// The outcome of a frame, or of several that were computed together.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// The first and the last frame.
    pub(super) frames: (i64, i64),
    pub(super) key: Option<String>,
    /// The files, each with its content if it holds only this frame.
    pub(super) files: Vec<(String, Option<Content>)>,
    /// The time per frame.
    pub(super) took: Duration,
    pub(super) fate: String,
    /// The repeats that did not settle.
    pub(super) unsettled: Vec<Unsettled>,
    /// The reasons why files are missing.
    pub(super) failures: Vec<Json>,
}

/// What the first line says about the bake.
pub(super) struct Header<'h> {
    pub(super) document: &'h str,
    pub(super) fps: f64,
    /// The name of the view, if it has one.
    pub(super) view: Option<&'h str>,
}

pub(super) struct Manifest {
    path: PathBuf,
    file: File,
    lock: File,
    /// A description of how values become files.
    description: String,
    header: Json,
    view: Option<String>,
    known: Known,
    /// The histories of the files when the manifest was opened.
    histories: Histories,
    /// The records of this bake.
    done: Vec<Record>,
    /// The files that this bake wrote.
    written: Listed,
}

impl Record {
    fn json(&self, description: &str, view: Option<&str>) -> Json {
        let (first, last) = self.frames;
        let place = place(first, view);
        let frames = if first == last { json!(first) } else { json!([first, last]) };
        let files = self.files.iter().map(|(name, content)| entry(name, content.as_ref()));
        let mut line = json!({
            if_one("frame", "frames", first == last): frames,
            "key": self.key,
            "files": files.collect::<Vec<_>>(),
            "ms": self.took.as_nanos() as f64 / 1e6,
            "fate": self.fate,
            "as": description,
        });
        if !self.unsettled.is_empty() {
            let warning = |it: &Unsettled| {
                let (path, message) = (it.path.as_str(), it.message());
                json!({ "path": path, "message": message, "rounds": it.rounds, "where": place })
            };
            line["warnings"] = self.unsettled.iter().map(warning).collect();
        }
        if !self.failures.is_empty() {
            line["failures"] = self.failures.clone().into();
        }
        line
    }

    /// Parses a line about a frame into its record and description.
    fn of(line: &Json) -> Option<(Self, String)> {
        let frame = line["frame"].as_i64()?;
        let files = line["files"]
            .as_array()?
            .iter()
            .map(|file| Some((file["name"].as_str()?.to_owned(), Content::of_entry(file))));
        let record = Self {
            frames: (frame, frame),
            key: line["key"].as_str().map(str::to_owned),
            files: files.collect::<Option<Vec<_>>>()?,
            took: Duration::from_secs_f64(line["ms"].as_f64()?.max(0.0) / 1e3),
            fate: line["fate"].as_str()?.to_owned(),
            unsettled: unsettled(&line["warnings"]),
            failures: line["failures"].as_array().cloned().unwrap_or_default(),
        };
        Some((record, line["as"].as_str()?.to_owned()))
    }

    /// Whether the frame did not fail and each of its files has the recorded content.
    fn is_there(&self, folder: &Path, histories: &Histories) -> bool {
        self.fate != "failed" && self.holds(folder, histories)
    }

    /// Whether each file that holds only this frame has the recorded content.
    fn holds(&self, folder: &Path, histories: &Histories) -> bool {
        self.files.iter().all(|(name, content)| {
            content.as_ref().is_none_or(|it| histories.holds(folder, name, it))
        })
    }
}

/// A frame as the place of something, for programs.
pub(super) fn place(frame: i64, view: Option<&str>) -> Map<String, Json> {
    let mut place = Map::from_iter([("frame".to_owned(), frame.into())]);
    place.extend(view.map(|view| ("view".to_owned(), view.into())));
    place
}

/// Parses the warnings of a line; those of another form are skipped.
fn unsettled(warnings: &Json) -> Vec<Unsettled> {
    let one = |warning: &Json| {
        let rounds = u32::try_from(warning["rounds"].as_u64()?).ok()?;
        Some(Unsettled { path: warning["path"].as_str()?.into(), rounds })
    };
    warnings.as_array().into_iter().flatten().filter_map(one).collect()
}

/// The next step if the manifest cannot be used.
const HELP: &str = "make the directory and this file writable, with space left on the disk, or give \
                    another directory with -o DIR; finished files remain";

fn unwritable(path: &Path, error: &std::io::Error) -> Stop {
    let text = format!("cannot write `{}`: {error}", path.display());
    Stop::new(Exit::Failed, text, Some(HELP.into()))
}

fn opened(path: &Path) -> Result<File, Stop> {
    let file = OpenOptions::new().create(true).append(true).read(true).open(path);
    file.map_err(|error| unwritable(path, &error))
}

fn if_one(one: &'static str, many: &'static str, is_one: bool) -> &'static str {
    if is_one { one } else { many }
}

/// Reads the lines of a manifest without those that were cut off; none if there is no manifest.
fn lines(path: &Path) -> Result<Vec<Json>, Stop> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let text = format!("cannot read `{}`: {error}", path.display());
            return Err(Stop::new(Exit::Failed, text, Some(HELP.into())));
        }
    };
    let lines = text.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

/// Whether the last line of a file was cut off.
fn is_cut_off(file: &mut File) -> bool {
    let mut last = [0];
    let is_read = file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last));
    is_read.is_ok() && last != *b"\n"
}

/// The last record of each frame, with the description under which it was written.
type Known = BTreeMap<i64, (Record, String)>;

/// Reads the records of a manifest, and the histories of their files.
fn read(path: &Path) -> Result<(Known, Histories), Stop> {
    let (mut known, mut histories) = (Known::new(), Histories::default());
    for line in lines(path)? {
        for file in line["writing"].as_array().into_iter().flatten() {
            if let Some((name, content)) = file["name"].as_str().zip(Content::of_entry(file)) {
                histories.will_write(name, content);
            }
        }
        if let Some((record, description)) = Record::of(&line) {
            for (name, content) in &record.files {
                if let Some(content) = content {
                    histories.recorded(name, content);
                }
            }
            known.insert(record.frames.0, (record, description));
        }
    }
    Ok((known, histories))
}

/// The entries of files, one for each content that a file may have.
fn entries(files: &Listed) -> Json {
    let all = files.iter().flat_map(|(name, all)| all.iter().map(|it| entry(name, Some(it))));
    all.collect()
}

/// All files that the manifest of a directory lists, or that a bake was about to write.
pub(super) fn listed(folder: &Path) -> Result<Listed, Stop> {
    let lines = lines(&folder.join(NAME))?;
    let lists = lines.iter().flat_map(|line| [&line["files"], &line["writing"]]);
    let mut listed = Listed::new();
    for file in lists.filter_map(Json::as_array).flatten() {
        if let Some(name) = file["name"].as_str() {
            add(&mut listed, name, Content::of_entry(file));
        }
    }
    Ok(listed)
}

/// The number of frames in a manifest, and of those whose files exist.
pub(super) fn count(folder: &Path) -> Result<(u64, u64), Stop> {
    let path = folder.join(NAME);
    let (known, histories) = read(&path)?;
    let is_there = |(record, _): &&(Record, String)| record.is_there(folder, &histories);
    let finished = known.values().filter(is_there).count() as u64;
    // One line may cover several frames that were computed together.
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let several = text.lines().filter_map(|line| {
        let line: Json = serde_json::from_str(line).ok()?;
        let (first, last) = (line["frames"][0].as_i64()?, line["frames"][1].as_i64()?);
        let every = line["every"].as_u64().unwrap_or(1).max(1);
        let is_done = line["fate"] != "failed";
        Some((last.abs_diff(first) / every + 1, is_done))
    });
    let (mut all, mut done) = (known.len() as u64, finished);
    for (n, is_done) in several {
        all += n;
        done += if is_done { n } else { 0 };
    }
    Ok((all, done))
}

impl Manifest {
    /// Refuses a directory in which no manifest can be written.
    pub(super) fn check(folder: &Path) -> Result<(), Stop> {
        opened(&folder.join(LOCK)).and_then(|_| opened(&folder.join(NAME))).map(drop)
    }

    /// Opens the manifest of a directory.
    pub(super) fn open(
        folder: &Path,
        header: &Header<'_>,
        description: String,
    ) -> Result<Self, Stop> {
        let (path, lock) = (folder.join(NAME), folder.join(LOCK));
        let lock = opened(&lock)?;
        // On systems without file locks the file is never rewritten, only appended to.
        let _ = lock.lock_shared();
        let (known, histories) = read(&path)?;
        let mut file = opened(&path)?;
        let Header { document, fps, view } = header;
        let mut header = json!({ "millstream_bake": 1, "document": document, "fps": fps });
        if let Some(view) = view {
            header["view"] = (*view).into();
        }
        let end = if is_cut_off(&mut file) { "\n" } else { "" };
        let line = format!("{end}{header}\n");
        file.write_all(line.as_bytes()).map_err(|error| unwritable(&path, &error))?;
        let view = view.map(str::to_owned);
        let (done, written) = (Vec::new(), Listed::new());
        Ok(Self { path, file, lock, description, header, view, known, histories, done, written })
    }

    /// Whether the files of a frame exist and hold the values of this key.
    pub(super) fn is_finished(&self, folder: &Path, frame: i64, key: Option<Key>) -> bool {
        let (Some(key), Some((record, description))) = (key, self.known.get(&frame)) else {
            return false;
        };
        record.key.as_deref() == Some(&key.to_string())
            && *description == self.description
            && record.is_there(folder, &self.histories)
    }

    /// The files of a finished frame.
    pub(super) fn files_of(&self, frame: i64) -> Vec<(String, Option<Content>)> {
        self.known.get(&frame).map_or_else(Vec::new, |(record, _)| record.files.clone())
    }

    /// The repeats that did not settle in a finished frame.
    pub(super) fn unsettled_of(&self, frame: i64) -> &[Unsettled] {
        self.known.get(&frame).map_or(&[], |(record, _)| &record.unsettled)
    }

    /// The failures of a frame that was written nevertheless.
    pub(super) fn failures_of(&self, frame: i64) -> &[Json] {
        self.known.get(&frame).map_or(&[], |(record, _)| &record.failures)
    }

    /// Lists files that are about to get their names, each with its only content.
    pub(super) fn will_write(&mut self, files: Listed) -> Result<(), Stop> {
        if files.is_empty() {
            return Ok(());
        }
        let line = format!("{}\n", json!({ "writing": entries(&files) }));
        self.written.extend(files);
        self.file.write_all(line.as_bytes()).map_err(|error| unwritable(&self.path, &error))
    }

    /// Records the outcome of frames, with the content of the files that hold only one of them.
    pub(super) fn add(&mut self, mut record: Record) -> Result<(), Stop> {
        for (name, content) in &mut record.files {
            if let Some(written) = self.written.get(name).and_then(|all| all.first()) {
                *content = Some(written.clone());
            }
        }
        let line = format!("{}\n", record.json(&self.description, self.view.as_deref()));
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|error| unwritable(&self.path, &error))?;
        self.done.push(record);
        Ok(())
    }

    /// Rewrites the file with the lines of these frames in order, unless another bake is writing
    /// it: then it gets a further line about the bake. That line tells the files that were removed,
    /// and lists those that hold no single frame: the files of all frames, of which those with the
    /// names `completed` were completed, the contact sheet, and those of earlier bakes that still
    /// exist. So a later bake can remove them, apart from files that turned out to be `foreign`.
    ///
    /// Frames are dropped if another bake replaced their files since. Returns their number, which is
    /// 0 while another bake is writing.
    pub(super) fn finish(
        mut self,
        folder: &Path,
        (frames, every): (&[i64], usize),
        (completed, removed, foreign): (&[String], &[String], &[String]),
    ) -> Result<usize, Stop> {
        let is_alone = self.lock.unlock().is_ok() && self.lock.try_lock().is_ok();
        let n_replaced = if is_alone { self.drop_replaced(folder)? } else { 0 };
        let mut others = listed(folder)?;
        others.extend(std::mem::take(&mut self.written));
        others.retain(|name, _| folder.join(name).is_file() && !foreign.contains(name));
        let mut text = String::new();
        if is_alone {
            let of_frames;
            (text, of_frames) = self.lines_of(frames, every, completed);
            others.retain(|name, _| !of_frames.contains(name));
        }
        if !others.is_empty() {
            self.header["files"] = entries(&others);
        }
        if !removed.is_empty() {
            self.header["removed"] = removed.into();
        }
        let text = format!("{}\n{text}", self.header);
        let written = if is_alone {
            write_file(&self.path, text.as_bytes())
        } else {
            self.file.write_all(text.as_bytes())
        };
        written.map_err(|error| unwritable(&self.path, &error))?;
        Ok(n_replaced)
    }

    /// Drops the records of which a file has another content by now; returns the number of records
    /// of this bake among them.
    fn drop_replaced(&mut self, folder: &Path) -> Result<usize, Stop> {
        let (_, histories) = read(&self.path)?;
        self.known.retain(|_, (record, _)| record.holds(folder, &histories));
        let n_before = self.done.len();
        self.done.retain(|record| record.holds(folder, &histories));
        Ok(n_before - self.done.len())
    }

    /// The lines of these frames in order, and the names of the files that hold only one of them.
    fn lines_of(
        &mut self,
        frames: &[i64],
        every: usize,
        completed: &[String],
    ) -> (String, BTreeSet<String>) {
        let is_ours = |(_, description): &&mut (Record, String)| *description == self.description;
        let known = self.known.values_mut().filter(is_ours).map(|(record, _)| record);
        for record in self.done.iter_mut().chain(known) {
            record.files.retain(|(name, it)| it.is_some() || completed.contains(name));
        }
        self.done.sort_by_key(|record| record.frames.0);
        let mut text = String::new();
        let mut of_frames = BTreeSet::new();
        let mut add = |record: &Record| {
            let own = record.files.iter().filter(|(_, content)| content.is_some());
            of_frames.extend(own.map(|(name, _)| name.clone()));
        };
        let mut done = self.done.iter().peekable();
        for frame in frames {
            while done.peek().is_some_and(|record| record.frames.0 <= *frame) {
                let record = done.next().expect("the iterator was peeked");
                let mut line = record.json(&self.description, self.view.as_deref());
                if record.frames.0 < record.frames.1 {
                    line["every"] = every.into();
                }
                text += &format!("{line}\n");
                add(record);
            }
            let is_done = |record: &Record| (record.frames.0..=record.frames.1).contains(frame);
            let at = self.done.partition_point(|record| record.frames.0 <= *frame);
            let is_done = at.checked_sub(1).is_some_and(|at| is_done(&self.done[at]));
            if let Some((kept, description)) = self.known.get(frame).filter(|_| !is_done) {
                let took = Duration::ZERO;
                let kept = Record { took, fate: "reused".into(), ..kept.clone() };
                text += &format!("{}\n", kept.json(description, self.view.as_deref()));
                add(&kept);
            }
        }
        (text, of_frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bakes_that_are_stopped_leave_no_blank_lines() {
        let folder = std::env::temp_dir().join(format!("millstream-{}-blank", std::process::id()));
        std::fs::create_dir_all(&folder).expect("it can be made");
        let header = Header { document: "a.mill", fps: 24.0, view: None };
        let open = || Manifest::open(&folder, &header, String::new()).unwrap_or_else(|_| panic!());
        open();
        let mut cut_off = open();
        cut_off.file.write_all(b"{\"frame\":1,").expect("it can be written");
        drop(cut_off);
        open();
        let text = std::fs::read_to_string(folder.join(NAME)).expect("it is there");
        let lines: Vec<&str> = text.split('\n').collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(
            lines[..4].iter().all(|line| line.starts_with('{')) && lines[4].is_empty(),
            "{text}"
        );
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
}
