//! The files that a command reads: the document, the documents that it uses, and data. `run
//! --watch` waits for any of them to change, and caches columns of unchanged files.

use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use millstream::Given;
use millstream::document::{Folder, Library, LibraryError};

/// Identifies the content of a file by its time, length and, where available, inode number. Saving
/// a file by renaming another one gives it a new number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    number: u64,
}

impl Stamp {
    /// The stamp of a file; `None` if it does not exist.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let data = path.metadata().ok()?;
        let modified = data.modified().ok();
        Some(Self { modified, length: data.len(), number: number(&data) })
    }
}

#[cfg(unix)]
fn number(data: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(data)
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> u64 {
    0
}

/// The files that were read, each with its stamp before reading.
#[derive(Default)]
struct Sources {
    files: BTreeMap<PathBuf, (Option<Stamp>, u64)>,
    /// The number of the current evaluation.
    round: u64,
    /// Cached columns by what was requested, with the stamps of their files.
    columns: Option<HashMap<String, (Stamp, Given)>>,
}

static SOURCES: Mutex<Option<Sources>> = Mutex::new(None);

fn with<T>(f: impl FnOnce(&mut Sources) -> T) -> T {
    let mut sources: MutexGuard<'_, _> = SOURCES.lock().unwrap_or_else(PoisonError::into_inner);
    f(sources.get_or_insert_default())
}

/// Notes that a file is about to be read, or was looked for.
pub(crate) fn note(path: &Path) {
    let stamp = Stamp::of(path);
    with(|sources| sources.files.insert(path.to_owned(), (stamp, sources.round)));
}

/// From now on, columns are cached.
pub(crate) fn keep_columns() {
    with(|sources| sources.columns = Some(HashMap::new()));
}

/// The data that `read` gets from a file, from the cache if the file has not changed since.
pub(crate) fn column<E>(
    path: &Path,
    asked: impl FnOnce() -> String,
    read: impl FnOnce() -> Result<Given, E>,
) -> Result<Given, E> {
    note(path);
    let (true, Some(stamp)) = (with(|sources| sources.columns.is_some()), Stamp::of(path)) else {
        return read();
    };
    let asked = asked();
    let known = with(|sources| sources.columns.as_ref()?.get(&asked).cloned());
    if let Some((_, given)) = known.filter(|(then, _)| *then == stamp) {
        return Ok(given);
    }
    let given = read()?;
    with(|sources| {
        let columns = sources.columns.as_mut()?;
        columns.insert(asked, (stamp, given.clone()))
    });
    Ok(given)
}

/// Begins another evaluation.
pub(crate) fn begin() {
    with(|sources| {
        sources.round += 1;
        for (path, (stamp, _)) in &mut sources.files {
            *stamp = Stamp::of(path);
        }
    });
}

/// The evaluation has read everything it needs: other files no longer matter.
pub(crate) fn are_complete() {
    with(|sources| {
        let round = sources.round;
        sources.files.retain(|_, (_, read)| *read == round);
    });
}

/// The number of watched files that exist.
pub(crate) fn count() -> usize {
    with(|sources| sources.files.values().filter(|(stamp, _)| stamp.is_some()).count())
}

/// The files that changed since they were read, with their current stamps.
pub(crate) fn changed() -> Vec<(PathBuf, Option<Stamp>)> {
    let files = with(|sources| sources.files.clone());
    let now = files.into_iter().map(|(path, (then, _))| (Stamp::of(&path), path, then));
    now.filter(|(now, _, then)| now != then).map(|(now, path, _)| (path, now)).collect()
}

/// The documents of a directory, noted whenever one is looked for.
pub(crate) struct Noted(pub(crate) Folder);

impl Library for Noted {
    fn top(&self) -> &str {
        self.0.top()
    }

    fn find(&self, user: Option<&str>, path: &str) -> Result<String, LibraryError> {
        let found = self.0.find(user, path);
        // A file that comes first may appear later.
        for candidate in self.0.candidates(user, path) {
            note(&candidate);
            if found.as_ref().is_ok_and(|name| Path::new(name) == candidate) {
                break;
            }
        }
        found
    }

    fn read(&self, name: &str, most_bytes: usize) -> Result<Vec<u8>, LibraryError> {
        self.0.read(name, most_bytes)
    }
}
