//! `millstream nodes --from DIR`: the groups of the documents in a directory, as a node library.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use millstream::diagnostics::did_you_mean;
use millstream::document::{Document, Folder, InputDef, OutputDef};
use millstream::{Diagnostics, Engine, Error, Limits};
use serde_json::{Value as Json, json};

use crate::document::{Text, read, shown};
use crate::format::Format;
use crate::library::engine;
use crate::outcome::{Exit, Stop, report};
use crate::terminal::{self, visible};

use super::found;
use super::search::{Texts, search};

/// The file extensions of documents.
const ENDINGS: [&str; 2] = [".mill.json", ".mill"];

/// The maximum depth of nested directories to search.
const MAX_DEPTH: usize = 16;

/// A document in the directory.
struct Library {
    /// The path relative to the directory, with `/` between its parts.
    path: String,
    document: Document,
}

/// A group of a document, or a document as a whole.
struct Entry<'a> {
    library: &'a Library,
    /// The path of the document without its extension, and the group.
    name: String,
    group: Option<&'a str>,
    summary: &'a str,
    inputs: Vec<(&'a str, &'a InputDef)>,
    outputs: Vec<(&'a str, &'a OutputDef)>,
}

impl Library {
    fn stem(&self) -> &str {
        let mut stems = ENDINGS.iter().filter_map(|ending| self.path.strip_suffix(ending));
        stems.next().unwrap_or(&self.path)
    }

    /// The alias under which a document may use it.
    fn alias(&self) -> &str {
        self.stem().rsplit('/').next().unwrap_or_default()
    }

    fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let Document { name, inputs, outputs, .. } = &self.document;
        let whole = (!outputs.is_empty()).then(|| Entry {
            library: self,
            name: self.stem().to_owned(),
            group: None,
            summary: name,
            inputs: inputs.iter().map(|(name, def)| (&**name, def)).collect(),
            outputs: outputs.iter().map(|(name, def)| (&**name, def)).collect(),
        });
        let groups = self.document.groups.iter().map(|(name, def)| Entry {
            library: self,
            name: format!("{}/{name}", self.stem()),
            group: Some(name),
            summary: def.about.as_deref().unwrap_or(""),
            inputs: def.inputs.iter().map(|(name, def)| (&**name, def)).collect(),
            outputs: def.outputs.iter().map(|(name, def)| (&**name, def)).collect(),
        });
        whole.into_iter().chain(groups)
    }
}

/// Lists the groups in a directory, or shows one.
pub(super) fn from(
    folder: &Path,
    name: Option<&str>,
    words: Option<&[String]>,
    format: Format,
) -> Result<Exit, Stop> {
    let engine = engine(Limits::default());
    let mut exit = Exit::Done;
    let mut libraries = Vec::new();
    for path in documents(folder)? {
        match read(&folder.join(&path), engine.limits().document_bytes).and_then(|text| {
            let (document, mut problems) = engine.read(&text.bytes);
            problems.append(cycles(&engine, folder, &path, &text));
            document
                .filter(|_| !problems.has_errors())
                .ok_or_else(|| shown(&text, Error::Document(problems)))
        }) {
            Ok(document) => libraries.push(Library { path, document }),
            Err(stop) => exit = report(&stop),
        }
    }
    let all: Vec<Entry<'_>> = libraries.iter().flat_map(Library::entries).collect();
    let mut out = std::io::stdout().lock();
    let named = name.and_then(|name| all.iter().find(|entry| entry.name == name));
    if let Some(entry) = named.filter(|_| words.is_none()) {
        match format {
            Format::Text => out.write_all(visible_entry(entry).as_bytes())?,
            Format::Json => writeln!(out, "{:#}", as_json(entry))?,
        }
        return Ok(exit);
    }
    let is_meant = |entry: &&Entry<'_>| name.is_none_or(|name| entry.library.stem() == name);
    let mut meant: Vec<&Entry<'_>> = all.iter().filter(is_meant).collect();
    if let (Some(name), true) = (name, meant.is_empty()) {
        return Err(unknown(name, folder, &all));
    }
    if let Some(words) = words {
        let texts: Vec<Texts> = meant.iter().map(|entry| texts(entry)).collect();
        meant = search(words, &texts)?.into_iter().map(|i| meant[i]).collect();
        if format == Format::Text {
            let rows = meant.iter().map(|entry| (&*entry.name, entry.summary));
            out.write_all(found(rows).as_bytes())?;
            return Ok(exit);
        }
    }
    match format {
        Format::Text => out.write_all(list(&meant).as_bytes())?,
        Format::Json => {
            let list: Vec<Json> = meant.into_iter().map(as_json).collect();
            writeln!(out, "{:#}", Json::from(list))?;
        }
    }
    Ok(exit)
}

/// The problems of a document that uses itself through others: nothing can use it.
fn cycles(engine: &Engine, folder: &Path, path: &str, text: &Text) -> Diagnostics {
    let documents = Folder::of(folder.join(path)).allow(folder);
    let locked = engine.clone().with_documents(documents).locked(&text.bytes);
    let mut cycles = Diagnostics::new();
    if let Err(Error::Document(problems)) = locked {
        // Other problems of uses depend on where the library is; a cycle elsewhere has a file.
        let own = problems.into_iter().filter(|it| it.code == "used::cycle");
        own.filter(|it| it.place.file.is_none()).for_each(|it| cycles.push(it));
    }
    cycles
}

/// The paths of the documents in a directory tree, in order.
fn documents(folder: &Path) -> Result<Vec<String>, Stop> {
    let mut found = Vec::new();
    let mut ahead = vec![(PathBuf::new(), 0)];
    while let Some((inner, depth)) = ahead.pop() {
        let entries = std::fs::read_dir(folder.join(&inner)).map_err(|error| {
            let path = folder.join(&inner);
            let text = format!("cannot read the directory `{}`: {error}", path.display());
            Stop::new(Exit::Wrong, text, Some("give the directory of a node library".into()))
        })?;
        for entry in entries {
            let entry = entry?;
            let path = inner.join(entry.file_name());
            // Links are not followed, so there can be no cycle.
            let kind = entry.file_type()?;
            if kind.is_dir() && depth < MAX_DEPTH {
                ahead.push((path, depth + 1));
            } else if kind.is_file() && is_document(&path) {
                let parts = path.iter().map(|part| part.to_string_lossy());
                found.push(parts.collect::<Vec<_>>().join("/"));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_document(path: &Path) -> bool {
    let path = path.to_string_lossy();
    ENDINGS.iter().any(|ending| path.ends_with(ending))
}

fn unknown(name: &str, folder: &Path, all: &[Entry<'_>]) -> Stop {
    let stems = all.iter().map(|entry| entry.library.stem());
    let help = match did_you_mean(name, all.iter().map(|entry| &*entry.name).chain(stems)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("`millstream nodes --from {}` lists all groups", folder.display()),
    };
    let text = format!("there is no group or document called `{name}` in {}", folder.display());
    Stop::new(Exit::Usage, text, Some(help))
}

fn list(entries: &[&Entry<'_>]) -> String {
    let style = terminal::of_stdout();
    let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    let mut path = "";
    for entry in entries {
        if entry.library.path != path {
            if !path.is_empty() {
                out.push('\n');
            }
            path = &entry.library.path;
            out += &style.strong(&visible(path));
            out.push('\n');
        }
        let line = format!("{:width$}  {}", entry.name, entry.summary);
        out += &format!("  {}\n", visible(line.trim_end()));
    }
    out
}

fn texts(entry: &Entry<'_>) -> Texts {
    Texts {
        name: entry.name.clone(),
        summary: entry.summary.to_owned(),
        manual: visible_entry(entry),
    }
}

fn visible_entry(entry: &Entry<'_>) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        writeln!(out, "{}", visible(text.trim_end())).expect("writing to a string does not fail");
    };
    let colon = if entry.summary.is_empty() { "" } else { ": " };
    line(format!("{}{colon}{}", entry.name, entry.summary));
    if !entry.inputs.is_empty() {
        line(String::new());
        line("  inputs".into());
    }
    for (name, def) in &entry.inputs {
        let default = def.default.as_ref().map(|default| format!(" = {default}"));
        let default = default.unwrap_or_else(|| ", required".into());
        let range =
            [def.min.map(|min| format!(" from {min}")), def.max.map(|max| format!(" to {max}"))];
        let range: String = range.into_iter().flatten().collect();
        let range = if range.is_empty() { range } else { format!(",{range}") };
        let about = about(def.about.as_deref(), def.unit.as_deref());
        line(format!("    {name}: {}{default}{range}{about}", def.ty));
    }
    line(String::new());
    line("  outputs".into());
    for (name, def) in &entry.outputs {
        let about = about(def.about.as_deref(), def.unit.as_deref());
        line(format!("    {name}: {}{about}", def.ty));
    }
    line(String::new());
    line("  in a document in the same directory, or with --lib".into());
    let path = Json::from(&*entry.library.path);
    line(format!("    use {} = {path}", in_text(entry.library.alias())));
    let parts: Vec<String> = group(entry).split('/').map(in_text).collect();
    let first = entry.inputs.first().map_or_else(String::new, |(name, _)| {
        let more = if entry.inputs.len() > 1 { ", ..." } else { "" };
        format!("{}: ...{more}", in_text(name))
    });
    line(format!("    name = {}({first})", parts.join("/")));
    line("  in JSON".into());
    line(format!("    \"use\": {}", uses(entry)));
    line(format!("    {{ \"type\": \"group\", \"group\": {} }}", Json::from(group(entry))));
    out
}

/// A name in the notation of the text form.
fn in_text(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || c == '_';
    let starts_plain = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if starts_plain && name.chars().all(is_plain) { name.to_owned() } else { format!("`{name}`") }
}

fn about(about: Option<&str>, unit: Option<&str>) -> String {
    match (about, unit) {
        (Some(about), Some(unit)) => format!("  {about}, in {unit}"),
        (Some(about), None) => format!("  {about}"),
        (None, Some(unit)) => format!("  in {unit}"),
        (None, None) => String::new(),
    }
}

fn uses(entry: &Entry<'_>) -> Json {
    json!({ entry.library.alias(): entry.library.path })
}

/// The name of the group in a document that uses it.
fn group(entry: &Entry<'_>) -> String {
    let alias = entry.library.alias();
    entry.group.map_or_else(|| alias.to_owned(), |group| format!("{alias}/{group}"))
}

/// A group for programs.
fn as_json(entry: &Entry<'_>) -> Json {
    let inputs = entry.inputs.iter().map(|(name, def)| {
        json!({
            "name": name,
            "type": &*def.ty,
            "required": def.default.is_none(),
            "default": def.default,
            "min": def.min,
            "max": def.max,
            "step": def.step,
            "unit": def.unit.as_deref(),
            "about": def.about.as_deref(),
        })
    });
    let outputs = entry.outputs.iter().map(|(name, def)| {
        json!({
            "name": name,
            "type": &*def.ty,
            "unit": def.unit.as_deref(),
            "about": def.about.as_deref(),
        })
    });
    json!({
        "name": entry.name,
        "file": entry.library.path,
        "use": uses(entry),
        "group": group(entry),
        "summary": entry.summary,
        "inputs": inputs.collect::<Vec<_>>(),
        "outputs": outputs.collect::<Vec<_>>(),
    })
}
