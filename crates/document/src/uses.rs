//! Reading the documents that a document uses, and the documents that those use.
//!
//! Documents are read breadth first, each once. Then cycles among them are reported, and hashes are
//! compared with locks, inner documents first. A document that cannot be used is reported once, and
//! the nodes that use it are wrong. Nothing recurses.

mod error;
mod lock;

use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::diagnostics::{Diagnostic, Diagnostics};
use millstream_base::{Limits, Place, Span, UsedFile};
use millstream_node::Registry;

pub use error::UseError;

use crate::cursor::Cursor;
use crate::formula_calls::{callers, expand_calls};
use crate::library::{Library, LibraryError, path_problem};
use crate::load::Loaded;
use crate::model::{
    Document, Entry, FORMAT_VERSION, Lock, Named, UseDef, Used, UsedDocument, UsedDocuments,
};
use crate::order::{Order, sorted};
use crate::problems::shortened;
use crate::upgrade::{NodeUpgrade, upgrade_nodes};

/// The index of the top document among the files.
const TOP: usize = 0;

/// Reads the documents that a document uses, directly and through others, unless that was already
/// done. Then replaces calls of groups in formulas by nodes, and copies the groups that the nodes
/// need, from these documents and from those that define node types. `check` reports the problems.
pub fn read_used(
    document: &mut Document,
    registry: &Registry,
    library: Option<&dyn Library>,
    upgrades: &[NodeUpgrade],
    limits: &Limits,
) {
    read_used_as_written(document, registry, library, upgrades, limits);
    let callers = callers(document, registry);
    if expand_calls(document, registry, &callers) {
        document.take_used_groups(registry);
    }
}

/// As [`read_used`], but formulas stay as written, for an [`Editor`](crate::Editor).
pub fn read_used_as_written(
    document: &mut Document,
    registry: &Registry,
    library: Option<&dyn Library>,
    upgrades: &[NodeUpgrade],
    limits: &Limits,
) {
    let uses_none = document.uses.is_empty() && document.lock.is_empty();
    if !uses_none && document.used.0.is_none() {
        let files = Files::read(document, Some(registry), library, upgrades, limits);
        document.used = Used(Some(Arc::new(files.finish())));
    }
    document.take_used_groups(registry);
}

/// The current locks of the documents that a document uses.
///
/// # Errors
/// The problems that prevent one of them from being read.
pub fn locks(
    document: &Document,
    library: Option<&dyn Library>,
    limits: &Limits,
) -> Result<Named<Lock>, Diagnostics> {
    let mut unlocked = document.clone();
    unlocked.lock = Named::new();
    let mut files = Files::read(&unlocked, None, library, &[], limits);
    if files.problems.has_errors() {
        return Err(files.problems);
    }
    files.hash_all();
    let mut lock: Named<Lock> = Named::new();
    for (name, used) in &files.list[TOP].uses {
        let used = &files.list[used.expect("all documents were read")];
        let hash = used.hash.as_deref().expect("there is no cycle").into();
        lock.insert(Arc::clone(name), Lock { format: used.format, hash, ..Lock::default() });
    }
    Ok(lock)
}

/// The JSON text of a document with its lock section replaced by this one.
pub fn with_lock(text: &str, lock: &Named<Lock>) -> String {
    let mut cursor = Cursor::new(text);
    cursor.enter();
    let mut after = 0;
    let mut place = None;
    while let Some(key) = cursor.next_key() {
        let value = cursor.skip();
        match key.text.as_deref() {
            Some("lock") => place = Some(value),
            Some("use") => after = value.end,
            _ => {}
        }
    }
    let lines = lock.iter().map(|(name, lock)| {
        let key = serde_json::Value::from(&**name);
        format!("    {key}: {{ \"format\": {}, \"hash\": \"{}\" }}", lock.format, lock.hash)
    });
    let lines: Vec<String> = lines.collect();
    let written =
        if lines.is_empty() { "{}".to_owned() } else { format!("{{\n{}\n  }}", lines.join(",\n")) };
    match place {
        Some(place) => format!("{}{written}{}", &text[..place.start], &text[place.end..]),
        None => format!("{},\n  \"lock\": {written}{}", &text[..after], &text[after..]),
    }
}

/// A file that was read.
struct File {
    /// Its name in the library.
    name: Arc<str>,
    /// Its text and its name in messages; the top document has neither.
    file: Option<Arc<UsedFile>>,
    prefix: Arc<str>,
    road: Arc<str>,
    depth: usize,
    /// The document, unless it cannot be used.
    document: Option<Document>,
    /// Problems with its parts.
    problems: Diagnostics,
    /// The files that it uses.
    uses: Vec<(Arc<str>, Option<usize>)>,
    lock: Named<Lock>,
    /// The version of the format that the file states.
    format: u32,
    /// The document as JSON, if the text of the file has another form.
    json: Option<String>,
    hash: Option<String>,
}

/// All files of a document.
struct Files<'a> {
    /// The node types whose formulas may call groups.
    registry: Option<&'a Registry>,
    library: Option<&'a dyn Library>,
    upgrades: &'a [NodeUpgrade],
    limits: &'a Limits,
    list: Vec<File>,
    by_name: HashMap<Arc<str>, usize>,
    n_bytes: usize,
    problems: Diagnostics,
}

impl<'a> Files<'a> {
    /// Reads the documents, and reports unreadable ones, cycles, and changes since they were
    /// locked.
    fn read(
        document: &Document,
        registry: Option<&'a Registry>,
        library: Option<&'a dyn Library>,
        upgrades: &'a [NodeUpgrade],
        limits: &'a Limits,
    ) -> Self {
        let name: Arc<str> = library.map_or("the document", |library| library.top()).into();
        let mut files = Self {
            registry,
            library,
            upgrades,
            limits,
            by_name: HashMap::from([(Arc::clone(&name), TOP)]),
            list: vec![File {
                road: Arc::clone(&name),
                name,
                file: None,
                prefix: Arc::from(""),
                depth: 0,
                document: None,
                problems: Diagnostics::new(),
                uses: Vec::new(),
                lock: document.lock.clone(),
                format: 0,
                json: None,
                hash: None,
            }],
            n_bytes: 0,
            problems: Diagnostics::new(),
        };
        files.read_uses(TOP, document);
        let mut at = TOP + 1;
        while at < files.list.len() {
            if let Some(document) = files.list[at].document.take() {
                files.read_uses(at, &document);
                files.list[at].document = Some(document);
            }
            at += 1;
        }
        let order = files.without_cycles(document);
        files.check_locks(document, &order);
        files
    }

    fn report(&mut self, user: usize, span: Span, error: &UseError) {
        let user = &self.list[user];
        let place = Place::with_span(&*user.prefix, span).in_file(user.file.clone());
        self.problems.push(Diagnostic::new(place, error));
    }

    fn read_uses(&mut self, user: usize, document: &Document) {
        for (name, def) in &document.uses {
            let lock = document.lock.get(name);
            let found = if def.spot.is_unreadable()
                || lock.is_some_and(|lock| lock.spot.is_unreadable())
                || document.unread.has(Entry::Locks)
            {
                // Loading reported the use or its lock, without which its content is unknown.
                Ok(None)
            } else if document.groups.contains_key(name) {
                Err(UseError::NameTaken { name: name.to_string() })
            } else {
                self.read_one(user, name, def)
            };
            let used = match found {
                // A document that cannot be used was reported when it was read.
                Ok(used) => used.filter(|used| {
                    *used == TOP || self.list[*used].document.is_some() || *used == user
                }),
                Err(error) => {
                    self.report(user, def.spot.span(), &error);
                    None
                }
            };
            self.list[user].uses.push((Arc::clone(name), used));
        }
    }

    /// Finds a document, and reads it if it is new.
    fn read_one(
        &mut self,
        user: usize,
        name: &Arc<str>,
        def: &UseDef,
    ) -> Result<Option<usize>, UseError> {
        let path = shortened(&def.path);
        if let Some((reason, hint)) = path_problem(&def.path) {
            return Err(UseError::BadPath { path, reason, hint });
        }
        let Some(library) = self.library else {
            return Err(UseError::NoLibrary { name: name.to_string(), path });
        };
        let missing = |LibraryError { message, hint }| UseError::Missing {
            path: path.clone(),
            message,
            hint,
        };
        let by = (user != TOP).then(|| &*self.list[user].name);
        let file = library.find(by, &def.path).map_err(missing)?;
        if let Some(known) = self.by_name.get(&*file) {
            return Ok(Some(*known));
        }
        let outer = &self.list[user];
        let road: Arc<str> = format!("{} uses {file}", outer.road).into();
        let limits = self.limits;
        if self.list.len() > limits.used_documents {
            return Err(UseError::TooMany { limit: limits.used_documents });
        }
        if outer.depth >= limits.group_depth {
            let road = road.to_string();
            return Err(UseError::TooDeep { limit: limits.group_depth, road });
        }
        let left = limits.document_bytes - self.n_bytes;
        let text = library.read(&file, left.saturating_add(1)).map_err(missing)?;
        if text.len() > left {
            return Err(UseError::TooLarge { limit: limits.document_bytes });
        }
        self.n_bytes += text.len();
        let prefix = match &*outer.prefix {
            "" => Arc::clone(name),
            outer => format!("{outer}/{name}").into(),
        };
        let depth = outer.depth + 1;
        let Loaded { document, is_wrong, format, problems, json } = library.load(&text, limits);
        let file: Arc<str> = file.into();
        let read = UsedFile { name: Arc::clone(&file), road: Arc::clone(&road), text: text.into() };
        let read = Arc::new(read);
        let problems = placed(problems, &prefix, &read);
        let is_whole = |read: &Document| !is_wrong && !read.unread.has(Entry::Statements);
        let mut document = document.filter(is_whole);
        let lock = document.as_ref().map(|document| document.lock.clone()).unwrap_or_default();
        let problems = match &mut document {
            Some(document) => {
                upgrade_nodes(document, self.upgrades);
                if let Some(registry) = self.registry {
                    let callers = callers(document, registry);
                    expand_calls(document, registry, &callers);
                }
                problems
            }
            None => {
                self.problems.append(problems);
                Diagnostics::new()
            }
        };
        let at = self.list.len();
        self.by_name.insert(Arc::clone(&file), at);
        self.list.push(File {
            name: file,
            file: Some(read),
            prefix,
            road,
            depth,
            document,
            problems,
            uses: Vec::new(),
            lock,
            format,
            json,
            hash: None,
        });
        Ok(Some(at))
    }

    /// The files, each after those that it uses, and cycles.
    fn sorted(&self) -> Order {
        let uses = |file: u32| &self.list[file as usize].uses;
        let nth = |file: u32, k: u32| uses(file)[k as usize].1.map(|used| used as u32);
        sorted(self.list.len(), |file| uses(file).len() as u32, nth)
    }

    /// The files, each after those that it uses. Cycles are reported and broken.
    fn without_cycles(&mut self, top: &Document) -> Vec<u32> {
        loop {
            let order = self.sorted();
            if order.cycles.is_empty() {
                return order.order;
            }
            for mut cycle in order.cycles {
                // Starting at the outermost document.
                let outermost = (0..cycle.len()).min_by_key(|k| cycle[*k]).unwrap_or(0);
                cycle.rotate_left(outermost);
                let (first, next) = (cycle[0] as usize, cycle[1 % cycle.len()] as usize);
                let names = cycle.iter().chain([&cycle[0]]);
                let names: Vec<&str> = names.map(|file| &*self.list[*file as usize].name).collect();
                let error = UseError::Cycle { road: names.join(" uses ") };
                for k in 0..self.list[first].uses.len() {
                    if self.list[first].uses[k].1 != Some(next) {
                        continue;
                    }
                    self.list[first].uses[k].1 = None;
                    let name = Arc::clone(&self.list[first].uses[k].0);
                    let span = self.span_of(first, top, &name);
                    self.report(first, span, &error);
                }
            }
        }
    }

    /// The span of a use in a file.
    fn span_of(&self, file: usize, top: &Document, name: &str) -> Span {
        let document = if file == TOP { Some(top) } else { self.list[file].document.as_ref() };
        let def = document.and_then(|document| document.uses.get(name));
        def.map_or_else(Span::default, |def| def.spot.span())
    }

    /// Compares all locks with the documents, inner ones first. A document that has changed cannot
    /// be used; the documents that use it are not reported again.
    fn check_locks(&mut self, top: &Document, order: &[u32]) {
        if self.list.iter().any(|file| !file.lock.is_empty()) {
            self.hash_all();
        }
        let mut is_changed = vec![false; self.list.len()];
        for user in order.iter().map(|user| *user as usize) {
            for k in 0..self.list[user].uses.len() {
                let (name, used) = self.list[user].uses[k].clone();
                let Some(used) = used else {
                    is_changed[user] = true;
                    continue;
                };
                is_changed[user] |= is_changed[used];
                let Some(lock) = self.list[user].lock.get(&name).cloned() else {
                    if user == TOP && !is_changed[used] {
                        self.report_unlocked(&name, used, top);
                    }
                    continue;
                };
                let is_same = self.list[used].hash.as_deref() == Some(&*lock.hash)
                    && self.list[used].format == lock.format;
                if is_same || is_changed[used] {
                    continue;
                }
                is_changed[user] = true;
                if lock.format > FORMAT_VERSION {
                    let by = self.list[user].name.to_string();
                    let (name, format) = (name.to_string(), lock.format);
                    let error = UseError::BadLockFormat { name, format, user: by };
                    self.report(user, lock.spot.span(), &error);
                } else if lock::is_hash(&lock.hash) {
                    self.report_changed(user, (&name, used), &lock);
                } else {
                    let by = self.list[user].name.to_string();
                    let error = UseError::BadLock { name: name.to_string(), user: by };
                    self.report(user, lock.spot.span(), &error);
                }
                self.list[user].uses[k].1 = None;
            }
            if user == TOP && top.unread.has(Entry::Uses) {
                continue;
            }
            let unused: Vec<(Arc<str>, Lock)> = self.list[user]
                .lock
                .iter()
                .filter(|(_, lock)| !lock.spot.is_unreadable())
                .filter(|(name, _)| !self.list[user].uses.iter().any(|(known, _)| known == *name))
                .map(|(name, lock)| (Arc::clone(name), lock.clone()))
                .collect();
            for (name, lock) in unused {
                let by = self.list[user].name.to_string();
                let error = UseError::UnusedLock { name: name.to_string(), user: by };
                self.report(user, lock.spot.span(), &error);
            }
        }
    }

    fn report_unlocked(&mut self, name: &Arc<str>, used: usize, top: &Document) {
        let error = UseError::NotLocked {
            name: name.to_string(),
            file: self.list[used].name.to_string(),
            user: self.list[TOP].name.to_string(),
        };
        let span = self.span_of(TOP, top, name);
        self.report(TOP, span, &error);
    }

    fn report_changed(&mut self, user: usize, (name, used): (&Arc<str>, usize), lock: &Lock) {
        let used = &self.list[used];
        let format = match used.format {
            format if format == lock.format => String::new(),
            format => format!(" (it was in format {}, it is in {format})", lock.format),
        };
        let has_same_hash = used.hash.as_deref() == Some(&*lock.hash);
        let or_inner = if has_same_hash || used.uses.is_empty() {
            ""
        } else {
            ", or a document that it uses,"
        };
        let error = UseError::Changed {
            name: name.to_string(),
            file: used.name.to_string(),
            or_inner,
            format,
            user: self.list[user].name.to_string(),
        };
        self.report(user, lock.spot.span(), &error);
    }

    /// Hashes the files, each after those that it uses.
    fn hash_all(&mut self) {
        for at in self.sorted().order {
            let file = &self.list[at as usize];
            let (Some(_), Some(read)) = (&file.document, &file.file) else { continue };
            let inner = file.uses.iter().map(|(name, used)| {
                let hash = used.and_then(|used| self.list[used].hash.as_deref());
                (&**name, hash.unwrap_or_default())
            });
            let text = std::str::from_utf8(&read.text).expect("the text was loaded");
            let hash = lock::hash(file.json.as_deref().unwrap_or(text), inner);
            self.list[at as usize].hash = Some(hash);
        }
    }

    fn finish(self) -> UsedDocuments {
        // The top document is not among those that can be used.
        let number = |used: usize| (used as u32).checked_sub(TOP as u32 + 1);
        let numbered = |uses: Vec<(Arc<str>, Option<usize>)>| {
            uses.into_iter().map(|(name, used)| (name, used.and_then(number))).collect()
        };
        let mut list = self.list.into_iter();
        let top = list.next().expect("the document itself is the first file");
        let documents = list.map(|file| UsedDocument {
            file: file.file.expect("all files but the first were read"),
            prefix: file.prefix,
            document: file.document.unwrap_or_default(),
            names: numbered(file.uses),
            problems: file.problems,
        });
        UsedDocuments {
            documents: documents.collect(),
            names: numbered(top.uses),
            problems: self.problems,
        }
    }
}

/// The problems of a used document, attributed to the document that uses it.
fn placed(problems: Diagnostics, prefix: &str, file: &Arc<UsedFile>) -> Diagnostics {
    let mut all = Diagnostics::new();
    for mut problem in problems {
        let path = problem.place.path.as_str();
        let path = if path.is_empty() { prefix.to_owned() } else { format!("{prefix}/{path}") };
        problem.place.path = path.as_str().into();
        problem.place.file = Some(Arc::clone(file));
        all.push(problem);
    }
    all
}

#[cfg(test)]
mod tests;
