//! Packs: files of consecutive entries.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{CacheProblem, Reason};
use crate::key::Key;

const ENDING: &str = "pack";

/// The first bytes of an entry.
const MARK: [u8; 4] = *b"mill";

/// Mark, key, length, and a checksum of these.
const HEADER: usize = 4 + 16 + 8 + 4;

/// The size of the checksum before the bytes.
pub(super) const CHECK: usize = 16;

/// The number of bytes that a result takes in a pack.
pub(super) fn length_of(bytes: &[u8]) -> u64 {
    (HEADER + CHECK + bytes.len()) as u64
}

/// The number of bytes read at once while scanning for entries.
const AHEAD: usize = 1 << 16;

/// A pack to read.
pub(super) struct Pack {
    path: PathBuf,
    file: File,
    /// The number of bytes scanned so far.
    scanned: u64,
    is_touched: bool,
    is_damaged: bool,
    /// Whether it was told that an entry has changed.
    pub(super) is_told: bool,
}

/// A result of scanning a pack.
pub(super) enum Found {
    /// An entry; `at` is the position of its checksum.
    Entry { key: Key, at: u64, length: u64 },
    /// Damage, and the position from which nothing can be used any more.
    Problem { problem: CacheProblem, cut: Option<u64> },
}

/// The packs in a directory.
pub(super) fn paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        let path = entry.path();
        // What a link leads to is not of this cache.
        if path.extension() == Some(OsStr::new(ENDING)) && !entry.file_type()?.is_symlink() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Whether a file has a name that [`OpenPack::create`] gives.
fn is_own(path: &Path) -> bool {
    let numbers = path.file_stem().and_then(OsStr::to_str).unwrap_or_default().split('-');
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    numbers.clone().count() == 3 && numbers.clone().all(is_number)
}

/// Removes a pack unless a process is writing it; returns whether it is gone.
///
/// # Errors
/// If it cannot be removed.
pub(super) fn remove(path: &Path) -> io::Result<bool> {
    if is_in_use(path) {
        return Ok(false);
    }
    match std::fs::remove_file(path) {
        // Another process removed it.
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(true),
    }
}

/// Whether a process is writing a pack.
pub(super) fn is_in_use(path: &Path) -> bool {
    let file = OpenOptions::new().read(true).open(path);
    // The lock ends with the file. On systems without locks, a removed pack merely has to be
    // computed again.
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn check_of(bytes: &[u8]) -> [u8; CHECK] {
    let mut check = [0; CHECK];
    check.copy_from_slice(&blake3::hash(bytes).as_bytes()[..CHECK]);
    check
}

/// Whether bytes match the checksum before them.
pub(super) fn is_intact(bytes: &[u8]) -> bool {
    bytes.len() >= CHECK && check_of(&bytes[CHECK..]) == bytes[..CHECK]
}

fn header(key: Key, length: u64) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&MARK);
    header[4..20].copy_from_slice(&key.0);
    header[20..28].copy_from_slice(&length.to_le_bytes());
    let check = blake3::hash(&header[..28]);
    header[28..].copy_from_slice(&check.as_bytes()[..4]);
    header
}

/// Key and length of a header, if it is valid.
fn of_header(bytes: &[u8; HEADER]) -> Option<(Key, u64)> {
    let mut key = Key([0; 16]);
    key.0.copy_from_slice(&bytes[4..20]);
    let length = u64::from_le_bytes(bytes[20..28].try_into().expect("these are 8 bytes"));
    (header(key, length) == *bytes).then_some((key, length))
}

impl Pack {
    /// Opens a pack to read it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let (path, file) = (path.to_owned(), File::open(path)?);
        let (is_touched, is_damaged, is_told) = (false, false, false);
        Ok(Self { path, file, scanned: 0, is_touched, is_damaged, is_told })
    }

    /// The pack that this process writes.
    pub(super) fn of(open: &OpenPack) -> io::Result<Self> {
        let (path, file) = (open.path.clone(), File::open(&open.path)?);
        let (is_touched, is_damaged, is_told) = (true, false, false);
        Ok(Self { path, file, scanned: 0, is_touched, is_damaged, is_told })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is(&self, open: &OpenPack) -> bool {
        self.path == open.path
    }

    pub(super) fn bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |data| data.len())
    }

    /// Marks the entries up to here as known.
    pub(super) fn skip_to(&mut self, length: u64) {
        self.scanned = length;
    }

    /// The entries added since the last call. An entry that a process may still be writing is left for
    /// the next call.
    pub(super) fn scan(&mut self) -> Vec<Found> {
        let mut found = Vec::new();
        let end = self.bytes();
        let (mut ahead, mut start) = (Vec::new(), self.scanned);
        while !self.is_damaged && self.scanned + (HEADER as u64) <= end {
            let at = self.scanned;
            if at < start || at + HEADER as u64 > start + ahead.len() as u64 {
                start = at;
                ahead.resize(AHEAD.min((end - at) as usize), 0);
                match self.read_at(start, &mut ahead) {
                    Ok(()) => {}
                    // It was cut off meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                    Err(error) => {
                        self.is_damaged = true;
                        let why = Reason::of(&error);
                        let problem = CacheProblem::UnreadablePack(self.path.clone(), why);
                        found.push(Found::Problem { problem, cut: None });
                        break;
                    }
                }
            }
            let header = &ahead[(at - start) as usize..][..HEADER];
            let entry = of_header(header.try_into().expect("it has the length of a header"));
            let Some((key, length)) = entry else {
                self.is_damaged = true;
                let problem = CacheProblem::Damaged(self.path.clone(), at);
                found.push(Found::Problem { problem, cut: Some(at) });
                break;
            };
            let at = at + HEADER as u64;
            let Some(next) = at.checked_add(CHECK as u64 + length).filter(|next| *next <= end)
            else {
                break;
            };
            found.push(Found::Entry { key, at, length });
            self.scanned = next;
        }
        if !self.is_damaged && self.scanned < end && self.is_abandoned(end) {
            self.is_damaged = true;
            let problem = CacheProblem::Cut(self.path.clone());
            found.push(Found::Problem { problem, cut: Some(self.scanned) });
        }
        found
    }

    /// Whether no process writes the pack, and its size is still this one.
    fn is_abandoned(&self, end: u64) -> bool {
        let file = File::open(&self.path);
        file.is_ok_and(|file| file.try_lock_shared().is_ok()) && self.bytes() == end
    }

    /// Removes what follows a position, so that it is not found again, unless a process is writing or
    /// the file comes from elsewhere.
    pub(super) fn cut_off(&self, at: u64) {
        if !is_own(&self.path) {
            return;
        }
        // Where nothing can be written, it is found again.
        let file = OpenOptions::new().write(true).open(&self.path);
        let _ = file.and_then(|file| match file.try_lock() {
            Ok(()) => file.set_len(at),
            Err(_) => Ok(()),
        });
    }

    /// The checksum and the bytes of an entry.
    pub(super) fn read(&mut self, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; CHECK + length as usize];
        self.read_at(at, &mut bytes)?;
        Ok(bytes)
    }

    fn read_at(&mut self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(bytes)
    }

    /// Marks the pack as used, once per process.
    pub(super) fn touch(&mut self) {
        if !std::mem::replace(&mut self.is_touched, true) {
            // If the cache is read-only, nothing is removed from it either.
            let file = OpenOptions::new().append(true).open(&self.path);
            let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
        }
    }
}

/// A pack that this process writes.
pub(super) struct OpenPack {
    path: PathBuf,
    /// Locked until the process ends or closes it.
    file: File,
    length: u64,
}

impl OpenPack {
    /// Starts a pack under a new name.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_millis());
        for attempt in 0..1000 {
            let name = format!("{now}-{}-{attempt}.{ENDING}", std::process::id());
            let path = folder.join(name);
            match OpenOptions::new().append(true).create_new(true).open(&path) {
                Ok(file) => {
                    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || !path.exists() {
                        // Another process is inspecting it, or took it for an old one.
                        continue;
                    }
                    return Ok(Self { path, file, length: 0 });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "there are too many packs"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Appends an entry, and returns the position of its checksum.
    pub(super) fn append(&mut self, key: Key, bytes: &[u8]) -> io::Result<u64> {
        let start = self.length;
        let head = [&header(key, bytes.len() as u64)[..], &check_of(bytes)].concat();
        self.file.write_all(&head)?;
        self.file.write_all(bytes)?;
        self.length += (head.len() + bytes.len()) as u64;
        Ok(start + HEADER as u64)
    }
}
