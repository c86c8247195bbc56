//! The documents that others use, as files below directories that the caller allows.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use millstream_document::{Library, LibraryError};

/// A library of the files below directories.
///
/// A path of a used document is relative to the document that uses it, then to each directory in
/// turn. Files elsewhere are never read, neither through `..` nor through a symbolic link.
///
/// ```no_run
/// use millstream::Engine;
/// use millstream::document::Folder;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let path = "scenes/rig.mill.json";
/// let engine = Engine::new().with_documents(Folder::of(path).allow("library"));
/// let program = engine.load(&std::fs::read(path)?)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Folder {
    top: String,
    directories: Vec<PathBuf>,
}

impl Folder {
    /// The directory of a document, and those below it.
    pub fn of(document: impl AsRef<Path>) -> Self {
        let document = document.as_ref();
        let folder = Self::named(document.display().to_string());
        folder.allow(document.parent().unwrap_or(Path::new("")))
    }

    /// A folder without any directory, for a document that messages call by this name.
    pub fn named(top: impl Into<String>) -> Self {
        Self { top: top.into(), directories: Vec::new() }
    }

    /// Allows a directory and those below it.
    pub fn allow(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directories.push(normalized(&directory.into()));
        self
    }

    /// Whether the text of a path is below one of the directories.
    fn is_below(&self, path: &Path) -> bool {
        let absolute = |path: &Path| std::path::absolute(on_disk(path)).map(|it| normalized(&it));
        let Ok(path) = absolute(path) else { return false };
        self.directories.iter().any(|it| absolute(it).is_ok_and(|it| path.starts_with(it)))
    }

    /// Whether a file is below one of the directories, links followed.
    fn holds(&self, file: &Path) -> bool {
        let Ok(file) = file.canonicalize() else { return false };
        let holds = |it: &PathBuf| on_disk(it).canonicalize().is_ok_and(|it| file.starts_with(it));
        self.directories.iter().any(holds)
    }

    /// The files that a path in a document may mean, in the order in which they are looked for; that
    /// document was found earlier, `None` is the top document.
    pub fn candidates(&self, user: Option<&str>, path: &str) -> Vec<PathBuf> {
        let own = user.and_then(|user| Path::new(user).parent());
        let bases = own.into_iter().chain(self.directories.iter().map(PathBuf::as_path));
        bases.map(|base| normalized(&base.join(path))).filter(|it| self.is_below(it)).collect()
    }

    fn listed(&self) -> String {
        let names = self.directories.iter().map(|it| format!("`{}`", on_disk(it).display()));
        names.collect::<Vec<_>>().join(", ")
    }
}

impl Library for Folder {
    fn top(&self) -> &str {
        &self.top
    }

    fn find(&self, user: Option<&str>, path: &str) -> Result<String, LibraryError> {
        if self.directories.is_empty() {
            return Err(refusal("cannot be read: the document has no directory", ALLOW));
        }
        let candidates = self.candidates(user, path);
        let (is_inside, mut is_outside, mut is_other) = (!candidates.is_empty(), false, None);
        for candidate in candidates {
            if candidate.is_file() {
                if !self.holds(&candidate) {
                    is_outside = true;
                    continue;
                }
                let name = candidate.to_str().map(str::to_owned);
                return name.ok_or_else(|| {
                    refusal("is in a directory whose name is not text", "rename that directory")
                });
            } else if candidate.exists() && self.holds(&candidate) {
                is_other = Some(candidate.is_dir());
            }
        }
        if is_outside || !is_inside {
            let message = format!("leads out of the allowed directories: {}", self.listed());
            let hint = format!("move the file into one of them, or {ALLOW}");
            return Err(LibraryError { message, hint });
        }
        match is_other {
            Some(true) => {
                let hint = format!("name a document in it, such as `{path}/name.mill`");
                return Err(refusal("is a directory", &hint));
            }
            Some(false) => return Err(refusal("is not a file", "use a file")),
            None => {}
        }
        let own = user.and_then(|user| Path::new(user).parent());
        let own = own.map(|own| format!("`{}`, ", on_disk(own).display())).unwrap_or_default();
        let message = format!("is not there; looked in {own}{}", self.listed());
        Err(LibraryError { message, hint: format!("look at the path, or {ALLOW}") })
    }

    fn read(&self, name: &str, most_bytes: usize) -> Result<Vec<u8>, LibraryError> {
        let read = || {
            let mut bytes = Vec::new();
            File::open(name)?.take(most_bytes as u64).read_to_end(&mut bytes)?;
            std::io::Result::Ok(bytes)
        };
        let unreadable = |error| refusal(&format!("cannot be read: {error}"), "look at the file");
        match fs::metadata(name) {
            // A pipe or a device might never end.
            Ok(data) if !data.is_file() => Err(refusal("is not a file", "use a file")),
            Ok(_) => read().map_err(unreadable),
            Err(error) => Err(unreadable(error)),
        }
    }
}

/// The hint to allow a directory; the command line replaces it.
const ALLOW: &str = "allow the directory that holds it";

fn refusal(message: &str, hint: &str) -> LibraryError {
    LibraryError { message: message.into(), hint: hint.into() }
}

/// The path without `.`, and without `..` after a name.
fn normalized(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(out.components().next_back(), Some(Component::Normal(_))) =>
            {
                out.pop();
            }
            Component::ParentDir
            | Component::Normal(_)
            | Component::RootDir
            | Component::Prefix(_) => {
                out.push(component);
            }
        }
    }
    out
}

/// The path for the file system, in which the current directory has a name.
fn on_disk(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}
