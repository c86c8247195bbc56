//! Files under a temporary name next to their target, which they replace when complete.
//!
//! The file `out.csv` is written as `.out.csv.PID-N.part`. The writer holds a lock on it, which
//! ends with the process, however it ends. So a `.part` file that can be locked has no owner: the
//! next save of the same target removes it.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

const ENDING: &str = ".part";

/// A file under a temporary name, which is removed unless it is kept.
pub(crate) struct TemporaryFile {
    pub(crate) out: BufWriter<File>,
    path: PathBuf,
    /// The path that was asked for; `target` is where its links lead.
    asked: PathBuf,
    target: PathBuf,
    kept: bool,
}

impl TemporaryFile {
    /// Starts the file that will be at this path, after removing leftovers of earlier writers.
    pub(crate) fn beside(asked: &Path) -> io::Result<Self> {
        let target = &followed(asked)?;
        let replaced = std::fs::metadata(target).ok();
        let Some(name) = target.file_name() else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the path does not name a file",
            ));
        };
        if let Some(replaced) = &replaced {
            if replaced.is_dir() {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
            }
            if replaced.permissions().readonly() {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
            }
        }
        remove_leftovers(target, name);
        for attempt in 0..1000 {
            let mut hidden = prefix(name);
            hidden.push(format!("{}-{attempt}{ENDING}", std::process::id()));
            let path = target.with_file_name(hidden);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    if !is_mine(&file, &path) {
                        continue;
                    }
                    let out = BufWriter::with_capacity(1 << 16, file);
                    let (asked, target) = (asked.to_owned(), target.to_owned());
                    let temporary = Self { out, path, asked, target, kept: false };
                    if let Some(replaced) = &replaced {
                        temporary.out.get_ref().set_permissions(replaced.permissions())?;
                    }
                    return Ok(temporary);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many temporary files next to it"))
    }

    /// Completes the file and gives it its name, or holds it for a caller of [`held`].
    pub(crate) fn keep(mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        let complete = Complete(self);
        let not_held = HELD.with_borrow_mut(|held| match held {
            Some(held) => {
                held.push(complete);
                None
            }
            None => Some(complete),
        });
        not_held.map_or(Ok(()), Complete::name)
    }
}

thread_local! {
    /// The files that were completed in a call of [`held`].
    static HELD: RefCell<Option<Vec<Complete>>> = const { RefCell::new(None) };
}

/// A complete file that has no name yet; it is removed unless it gets its name.
pub struct Complete(TemporaryFile);

impl Complete {
    /// The path at which the file is now.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The path that the file will have.
    pub fn named(&self) -> &Path {
        &self.0.asked
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn name(mut self) -> io::Result<()> {
        std::fs::rename(&self.0.path, &self.0.target)?;
        self.0.kept = true;
        Ok(())
    }
}

/// Performs an action whose files do not get their names. They are returned in the order in which
/// they were completed, also if the action failed.
pub fn held<T>(action: impl FnOnce() -> T) -> (T, Vec<Complete>) {
    let outer = HELD.replace(Some(Vec::new()));
    let done = action();
    (done, HELD.replace(outer).unwrap_or_default())
}

/// Locks a file that was just created; `false` if another writer took it for a leftover meanwhile.
fn is_mine(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        // On systems without locks, nobody removes leftovers.
        Ok(()) | Err(TryLockError::Error(_)) => path.exists(),
        Err(TryLockError::WouldBlock) => false,
    }
}

/// The start of the temporary names for a target.
fn prefix(name: &OsStr) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    prefix
}

/// Removes the temporary files for a target whose writers are gone.
///
/// Files that cannot be listed, opened, locked or removed stay: they do no harm.
fn remove_leftovers(target: &Path, name: &OsStr) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = folder.unwrap_or(Path::new(".")).read_dir() else { return };
    let prefix = prefix(name);
    for entry in entries.flatten() {
        if !is_temporary(&entry.file_name(), &prefix)
            || !entry.file_type().is_ok_and(|kind| kind.is_file())
        {
            continue;
        }
        let path = entry.path();
        let file = OpenOptions::new().write(true).open(&path);
        if file.is_ok_and(|file| file.try_lock().is_ok() && is_at(&file, &path)) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// Whether a name is that of a temporary file: the prefix, two numbers and the ending.
fn is_temporary(name: &OsStr, prefix: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
    let numbers = bytes.and_then(|rest| rest.strip_suffix(ENDING.as_bytes()));
    let mut parts = numbers.unwrap_or_default().split(|byte| *byte == b'-');
    let mut is_number =
        || parts.next().is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit));
    is_number() && is_number() && parts.next().is_none()
}

/// Whether a path still leads to this file: another writer may have removed and recreated it.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let ids = |data: std::fs::Metadata| (data.dev(), data.ino());
    let (Ok(open), Ok(there)) = (file.metadata(), path.metadata()) else { return false };
    ids(open) == ids(there)
}

/// On other systems, open files are not replaced.
#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// The file that a link, or a chain of links, leads to; it need not exist.
fn followed(target: &Path) -> io::Result<PathBuf> {
    let mut target = target.to_owned();
    // The same maximum as in Linux.
    for _ in 0..40 {
        if !std::fs::symlink_metadata(&target).is_ok_and(|target| target.is_symlink()) {
            return Ok(target);
        }
        let next = std::fs::read_link(&target)?;
        target = target.parent().map_or(next.clone(), |directory| directory.join(&next));
    }
    Err(io::Error::other("its links form a cycle"))
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.kept {
            // An error cannot be reported in a drop, and a leftover temporary file does no harm.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_target_count_as_temporary() {
        let prefix = prefix(OsStr::new("a.csv"));
        for (name, is) in [
            (".a.csv.123-0.part", true),
            (".a.csv.123-0.part~", false),
            (".a.csv.123.part", false),
            (".a.csv.-0.part", false),
            (".a.csv.1-2-3.part", false),
            (".a.csv.old.1-2.part", false),
            (".b.csv.1-2.part", false),
            ("a.csv", false),
        ] {
            assert_eq!(is_temporary(OsStr::new(name), &prefix), is, "{name}");
        }
    }

    #[test]
    fn leftovers_are_removed_by_the_next_save_and_files_of_running_writers_stay() {
        let name = format!("millstream-io-{}-leftovers", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("makes a directory");
        let of = |name: &str| folder.join(name);
        for left in [".a.csv.1-0.part", ".b.csv.1-0.part", ".a.csv.x.part"] {
            std::fs::write(of(left), "left").expect("writes");
        }
        let target = of("a.csv");
        let living = TemporaryFile::beside(&target).expect("starts");
        let file = TemporaryFile::beside(&target).expect("starts beside it");
        let names = || {
            let entries = folder.read_dir().expect("lists the directory");
            let name = |entry: io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
            let mut names: Vec<_> = entries.map(name).collect();
            names.sort();
            names
        };
        let mine = |n: u32| OsString::from(format!(".a.csv.{}-{n}.part", std::process::id()));
        let mut expected = vec![mine(0), mine(1), ".a.csv.x.part".into(), ".b.csv.1-0.part".into()];
        expected.sort();
        assert_eq!(names(), expected);
        file.keep().expect("is renamed");
        drop(living);
        assert_eq!(names(), [".a.csv.x.part", ".b.csv.1-0.part", "a.csv"]);
        std::fs::remove_dir_all(&folder).expect("removes the directory");
    }
}
