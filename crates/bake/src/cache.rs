//! The cache: results by key, in a directory.
//!
//! Results are stored in *packs*, files to which one process appends entries: a header with key,
//! length and checksum, then the bytes. Entries are not changed in place, so a killed process leaves
//! at most one unfinished entry at the end of a pack. Whoever finds it, or bytes that are not an
//! entry, tells so and cuts the pack off there, so it is told once. A process writes to its own
//! packs, on which it holds a lock, and reads those of all processes; so any number of processes
//! may use a cache at once. If the cache exceeds its limit, the least recently used packs are
//! removed.

mod pack;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustc_hash::FxHashMap;

use crate::key::{FORMAT, Key};
use pack::{Found, OpenPack, Pack};

/// The file that marks a directory as a cache, and names the version that wrote it.
const TAG: &str = "millstream-cache";

/// The start of the tag's only line, before the version.
const TAG_TEXT: &str = "Millstream cache, format ";

/// The maximum size of a pack, unless it contains a single larger entry.
const MAX_PACK: u64 = 256 << 20;

/// The limit of a cache spans at least this many packs, so that removing one removes only a part.
const PACKS: u64 = 16;

/// A problem with a cache. A bake continues without the parts that it cannot read or write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheProblem {
    /// The directory contains something else.
    Foreign(PathBuf),
    /// Another version, which is empty if it is unknown, wrote the cache.
    Version(PathBuf, String),
    /// The path is not that of a directory.
    NotDirectory(PathBuf),
    /// The directory cannot be read.
    Unreadable(PathBuf, Reason),
    /// Nothing more can be stored.
    Unwritable(PathBuf, String),
    /// A file cannot be removed.
    Unremovable(PathBuf, String),
    /// The file system is full.
    Full(PathBuf),
    /// A result of this many bytes is larger than the limit of the cache allows.
    TooSmall(PathBuf, u64),
    /// A pack contains bytes that are not entries.
    Damaged(PathBuf, u64),
    /// A pack ends within an entry.
    Cut(PathBuf),
    /// The bytes of entries in a pack have changed.
    Wrong(PathBuf),
    /// A pack cannot be read.
    UnreadablePack(PathBuf, Reason),
}

/// Why something cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    kind: io::ErrorKind,
    text: String,
}

impl Reason {
    fn of(error: &io::Error) -> Self {
        Self { kind: error.kind(), text: error.to_string() }
    }

    fn is_permission(&self) -> bool {
        self.kind == io::ErrorKind::PermissionDenied
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for CacheProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign(path) => {
                write!(
                    f,
                    "`{}` contains files and is not a cache; nothing is stored",
                    path.display()
                )
            }
            Self::Version(path, version) => write!(
                f,
                "the cache `{}` has {}, but this program uses format {FORMAT}; it is not used",
                path.display(),
                if version.is_empty() {
                    "an unknown format".to_owned()
                } else {
                    format!("format {version}")
                }
            ),
            Self::NotDirectory(path) => write!(
                f,
                "`{}` cannot be a cache because it is not a directory; nothing is stored",
                path.display()
            ),
            Self::Unreadable(path, why) => {
                write!(f, "the cache `{}` cannot be read: {why}; it is not used", path.display())
            }
            Self::Unwritable(path, why) => {
                write!(f, "nothing more is stored in the cache `{}`: {why}", path.display())
            }
            Self::Unremovable(path, why) => {
                write!(f, "`{}` cannot be removed: {why}", path.display())
            }
            Self::Full(path) => write!(
                f,
                "nothing more is stored in the cache `{}`: the file system is full",
                path.display()
            ),
            Self::TooSmall(path, bytes) => write!(
                f,
                "a result of {bytes} bytes does not fit in the cache `{}`, and is not stored",
                path.display()
            ),
            Self::Damaged(path, at) => write!(
                f,
                "`{}` is damaged at byte {at}; the results after it are computed again",
                path.display()
            ),
            Self::Cut(path) => {
                write!(f, "`{}` ends within a result, which is computed again", path.display())
            }
            Self::Wrong(path) => write!(
                f,
                "`{}` is damaged; the results that have changed are computed again",
                path.display()
            ),
            Self::UnreadablePack(path, why) => {
                write!(f, "`{}` cannot be read: {why}; its results are not used", path.display())
            }
        }
    }
}

impl CacheProblem {
    /// The next step for the user.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Foreign(_) => "name an empty or new directory with --cache DIR",
            Self::Version(..) => {
                "empty it with `bake --clean`, or name another one with --cache DIR"
            }
            Self::NotDirectory(_) => "name a directory with --cache DIR",
            Self::Unreadable(_, why) if why.is_permission() => {
                "check its permissions, or name another one with --cache DIR"
            }
            Self::Unreadable(..) => "name another one with --cache DIR",
            Self::Unwritable(..) => {
                "finished frames are kept; name a writable directory with --cache DIR"
            }
            Self::Unremovable(..) => {
                "make the directory of the cache writable, or remove it by hand"
            }
            Self::Full(_) => "finished frames are kept; free some space, or lower --cache-size",
            Self::TooSmall(..) => "a result may take half of --cache-size; raise it",
            Self::Cut(_) => "a bake that was killed leaves such a file; otherwise check the disk",
            Self::Damaged(..) | Self::Wrong(..) => {
                "if this happens again, check the disk; `bake --clean` empties the cache"
            }
            Self::UnreadablePack(_, why) if why.is_permission() => "check its permissions",
            Self::UnreadablePack(..) => "check the disk, or remove the file by hand",
        }
    }
}

/// The contents of a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheStatus {
    /// Number of entries.
    pub entries: usize,
    /// Number of files that hold them.
    pub packs: usize,
    /// Size of these files.
    pub bytes: u64,
    /// Number of files that a process is writing.
    pub in_use: usize,
    /// The files that are damaged or cannot be read.
    pub problems: Vec<CacheProblem>,
}

/// The location of an entry.
#[derive(Clone, Copy)]
struct Place {
    pack: u32,
    at: u64,
    length: u64,
}

/// A cache on disk, or none.
pub struct Cache {
    /// The directory; `None` if it cannot be used.
    folder: Option<PathBuf>,
    /// The known packs; `None` for removed ones.
    packs: Vec<Option<Pack>>,
    /// The packs that could not be opened.
    unopened: Vec<PathBuf>,
    index: FxHashMap<Key, Place>,
    /// The pack that this process writes.
    open: Option<OpenPack>,
    may_write: bool,
    /// Whether a result that is too large was told.
    told_small: bool,
    limit: u64,
    problems: Vec<CacheProblem>,
}

impl Cache {
    /// No cache: nothing is found, and nothing is stored.
    pub fn none() -> Self {
        Self {
            folder: None,
            packs: Vec::new(),
            unopened: Vec::new(),
            index: FxHashMap::default(),
            open: None,
            may_write: false,
            told_small: false,
            limit: 0,
            problems: Vec::new(),
        }
    }

    /// The cache in a directory, which is created if it does not exist, with a size of at most
    /// `limit` bytes. Problems are not errors; [`take_problems`](Self::take_problems) returns them.
    pub fn open(folder: &Path, limit: u64) -> Self {
        let mut cache = Self { limit, ..Self::none() };
        match prepare(folder) {
            Err(problem) => cache.problems.push(problem),
            Ok(unwritable) => {
                cache.folder = Some(folder.to_owned());
                cache.may_write = unwritable.is_none();
                cache.problems.extend(unwritable);
                cache.refresh();
                cache.shrink(0);
            }
        }
        cache
    }

    /// The problems since the last call.
    pub fn take_problems(&mut self) -> Vec<CacheProblem> {
        std::mem::take(&mut self.problems)
    }

    /// The maximum size of the cache in bytes; 0 if nothing can be stored.
    pub fn limit(&self) -> u64 {
        if self.may_write { self.limit } else { 0 }
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Whether a result is stored.
    pub fn contains(&self, key: Key) -> bool {
        self.index.contains_key(&key)
    }

    /// The bytes of a result.
    pub fn get(&mut self, key: Key) -> Option<Vec<u8>> {
        let place = *self.index.get(&key)?;
        let pack = self.packs[place.pack as usize].as_mut()?;
        let bytes = pack.read(place.at, place.length);
        match bytes {
            Ok(bytes) if pack::is_intact(&bytes) => {
                pack.touch();
                Some(bytes[pack::CHECK..].to_vec())
            }
            Ok(_) | Err(_) => {
                self.index.remove(&key);
                if !std::mem::replace(&mut pack.is_told, true) {
                    self.problems.push(CacheProblem::Wrong(pack.path().to_owned()));
                }
                None
            }
        }
    }

    /// Stores a result, unless it is already stored or nothing can be stored. Returns whether it is
    /// stored now.
    pub fn put(&mut self, key: Key, bytes: &[u8]) -> bool {
        if self.contains(key) {
            return true;
        }
        let Some(folder) = self.folder.clone().filter(|_| self.may_write) else { return false };
        if bytes.len() as u64 > self.limit / 2 {
            if !std::mem::replace(&mut self.told_small, true) {
                self.problems.push(CacheProblem::TooSmall(folder, bytes.len() as u64));
            }
            return false;
        }
        let (most, length) = ((self.limit / PACKS).min(MAX_PACK), pack::length_of(bytes));
        let has_room = |open: &OpenPack| open.length() + length <= most;
        if !self.open.as_ref().is_some_and(has_room) {
            self.open = None;
            self.shrink(most.max(length));
        }
        match self.append(&folder, key, bytes) {
            Ok(()) => true,
            Err(error) => {
                self.may_write = false;
                self.open = None;
                self.problems.push(match error.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        CacheProblem::Full(folder)
                    }
                    _ => CacheProblem::Unwritable(folder, error.to_string()),
                });
                false
            }
        }
    }

    fn append(&mut self, folder: &Path, key: Key, bytes: &[u8]) -> io::Result<()> {
        if self.open.is_none() {
            let open = OpenPack::create(folder)?;
            self.packs.push(Some(Pack::of(&open)?));
            self.open = Some(open);
        }
        let open = self.open.as_mut().expect("the pack was opened above");
        let at = open.append(key, bytes)?;
        let pack = self.packs.len() - 1;
        // Packs of other processes come before the one being written.
        let own = self.packs.iter().rposition(|it| it.as_ref().is_some_and(|it| it.is(open)));
        let place = Place { pack: own.unwrap_or(pack) as u32, at, length: bytes.len() as u64 };
        if let Some(Some(pack)) = self.packs.get_mut(place.pack as usize) {
            pack.skip_to(open.length());
        }
        self.index.insert(key, place);
        Ok(())
    }

    /// Looks for entries stored by other processes.
    pub fn refresh(&mut self) {
        let Some(folder) = &self.folder else { return };
        let paths = match pack::paths(folder) {
            Ok(paths) => paths,
            Err(error) => {
                self.problems.push(CacheProblem::Unreadable(folder.clone(), Reason::of(&error)));
                return;
            }
        };
        for path in paths {
            let is_known = |pack: &Option<Pack>| pack.as_ref().is_some_and(|it| it.path() == path);
            if self.packs.iter().any(is_known) || self.unopened.contains(&path) {
                continue;
            }
            match opened(&path) {
                Ok(pack) => self.packs.extend(pack.map(Some)),
                Err(problem) => {
                    self.problems.push(problem);
                    self.unopened.push(path);
                }
            }
        }
        for (number, pack) in self.packs.iter_mut().enumerate() {
            let Some(pack) = pack else { continue };
            for found in pack.scan() {
                match found {
                    Found::Entry { key, at, length } => {
                        let place = Place { pack: number as u32, at, length };
                        self.index.insert(key, place);
                    }
                    Found::Problem { problem, cut } => {
                        self.problems.push(problem);
                        if let Some(at) = cut {
                            pack.cut_off(at);
                        }
                    }
                }
            }
        }
    }

    /// Removes the least recently used packs until this many bytes fit within the limit.
    fn shrink(&mut self, room: u64) {
        let Some(folder) = self.folder.clone().filter(|_| self.may_write) else { return };
        // Packs that cannot be listed do no harm.
        let Ok(paths) = pack::paths(&folder) else { return };
        let sized = paths.into_iter().filter_map(|path| {
            let data = path.metadata().ok()?;
            Some((data.modified().unwrap_or(SystemTime::UNIX_EPOCH), data.len(), path))
        });
        let mut sized: Vec<(SystemTime, u64, PathBuf)> = sized.collect();
        sized.sort();
        let mut total: u64 = sized.iter().map(|(_, length, _)| length).sum();
        for (_, length, path) in sized {
            if total + room <= self.limit {
                break;
            }
            let is_open = self.open.as_ref().is_some_and(|open| open.path() == path);
            if is_open || !pack::remove(&path).unwrap_or(false) {
                continue;
            }
            total -= length;
            let is_at = |pack: &Option<Pack>| pack.as_ref().is_some_and(|it| it.path() == path);
            if let Some(at) = self.packs.iter().position(is_at) {
                self.packs[at] = None;
                self.index.retain(|_, place| place.pack as usize != at);
            }
        }
    }

    /// The contents of the cache in a directory.
    ///
    /// # Errors
    /// If it is not a cache, belongs to another version or is unreadable.
    pub fn status(folder: &Path) -> Result<CacheStatus, CacheProblem> {
        let unreadable =
            |error: io::Error| CacheProblem::Unreadable(folder.to_owned(), Reason::of(&error));
        if !folder.exists() {
            return Ok(CacheStatus::default());
        }
        check_tag(folder)?;
        let mut status = CacheStatus::default();
        for path in pack::paths(folder).map_err(unreadable)? {
            status.in_use += usize::from(pack::is_in_use(&path));
            let mut pack = match opened(&path) {
                Ok(Some(pack)) => pack,
                Ok(None) => continue,
                Err(problem) => {
                    status.problems.push(problem);
                    continue;
                }
            };
            status.packs += 1;
            status.bytes += pack.bytes();
            for found in pack.scan() {
                match found {
                    Found::Entry { .. } => status.entries += 1,
                    Found::Problem { problem, .. } => status.problems.push(problem),
                }
            }
        }
        Ok(status)
    }

    /// Empties the cache in a directory, whatever its version, except for packs that a process is
    /// writing. Returns how many bytes were removed, and how many packs remain.
    ///
    /// # Errors
    /// If it is not a cache, cannot be listed, or contains a file that cannot be removed. The others
    /// are removed.
    pub fn clean(folder: &Path) -> Result<(u64, usize), CacheProblem> {
        match check_tag(folder) {
            Ok(()) | Err(CacheProblem::Version(..)) => {}
            Err(problem) => return Err(problem),
        }
        let unreadable =
            |error: io::Error| CacheProblem::Unreadable(folder.to_owned(), Reason::of(&error));
        let (mut bytes, mut stay, mut problem) = (0, 0, None);
        let kept = |path: &Path, error: io::Error| {
            CacheProblem::Unremovable(path.to_owned(), error.to_string())
        };
        for path in pack::paths(folder).map_err(unreadable)? {
            let length = path.metadata().map_or(0, |data| data.len());
            match pack::remove(&path) {
                Ok(true) => bytes += length,
                Ok(false) => stay += 1,
                Err(error) => problem = problem.or_else(|| Some(kept(&path, error))),
            }
        }
        if let Some(problem) = problem {
            return Err(problem);
        }
        if stay == 0 {
            let tag = folder.join(TAG);
            std::fs::remove_file(&tag).map_err(|error| kept(&tag, error))?;
            // It may contain other files.
            let _ = std::fs::remove_dir(folder);
        }
        Ok((bytes, stay))
    }
}

/// Opens a pack; `None` if it was removed meanwhile.
fn opened(path: &Path) -> Result<Option<Pack>, CacheProblem> {
    match Pack::open(path) {
        Ok(pack) => Ok(Some(pack)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CacheProblem::UnreadablePack(path.to_owned(), Reason::of(&error))),
    }
}

/// Turns a directory into a cache; returns the reason why it cannot be written, if there is one.
fn prepare(folder: &Path) -> Result<Option<CacheProblem>, CacheProblem> {
    let unwritable =
        |error: &io::Error| Some(CacheProblem::Unwritable(folder.to_owned(), error.to_string()));
    match check_tag(folder) {
        Ok(()) => return Ok(None),
        Err(CacheProblem::Foreign(_)) => {}
        Err(problem) => return Err(problem),
    }
    if let Err(error) = std::fs::create_dir_all(folder) {
        return Ok(unwritable(&error));
    }
    let mut entries = folder
        .read_dir()
        .map_err(|error| CacheProblem::Unreadable(folder.to_owned(), Reason::of(&error)))?;
    if entries.next().is_some() {
        // Another process may just have created it.
        return check_tag(folder).map(|()| None);
    }
    let text = format!("{TAG_TEXT}{FORMAT}{}\n", endian());
    match std::fs::write(folder.join(TAG), text) {
        Ok(()) => Ok(None),
        Err(error) => Ok(unwritable(&error)),
    }
}

/// The byte order, which is part of the version.
const fn endian() -> &'static str {
    if cfg!(target_endian = "little") { "" } else { " (big-endian)" }
}

/// Checks that a directory is a cache of this version.
fn check_tag(folder: &Path) -> Result<(), CacheProblem> {
    let text = match std::fs::read_to_string(folder.join(TAG)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(CacheProblem::Foreign(folder.to_owned()));
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(CacheProblem::NotDirectory(folder.to_owned()));
        }
        Err(error) => {
            return Err(CacheProblem::Unreadable(folder.to_owned(), Reason::of(&error)));
        }
    };
    let version = text.trim().strip_prefix(TAG_TEXT);
    match version {
        Some(version) if version == format!("{FORMAT}{}", endian()) => Ok(()),
        Some(version) => Err(CacheProblem::Version(folder.to_owned(), version.to_owned())),
        // Its creator is about to write the tag, or was killed: this process takes over an empty
        // tag.
        None if text.is_empty() => {
            let text = format!("{TAG_TEXT}{FORMAT}{}\n", endian());
            std::fs::write(folder.join(TAG), text)
                .map_err(|error| CacheProblem::Unwritable(folder.to_owned(), error.to_string()))
        }
        None => Err(CacheProblem::Version(folder.to_owned(), String::new())),
    }
}

#[cfg(test)]
mod tests;
