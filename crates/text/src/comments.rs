//! Comments in documents: the entry `comments` of the view data.
//!
//! It is a list in the order of the document. An entry names the place of its comment:
//!
//! ```json
//! [
//!   { "before": ["inputs", "a"], "text": ["one line", "and another"] },
//!   { "beside": ["groups", "product", "nodes", "p"], "text": "at the end of the line" },
//!   { "end": [], "text": ["after all statements"] }
//! ]
//! ```

use std::collections::HashMap;

use millstream_document::View;
use serde_json::Value as Json;

use crate::error::TextError;
use crate::json::{key_and_value, parts};
use crate::tree::{Item, Tree, What, Word};

/// The entry of the view data.
const COMMENTS: &str = "\"comments\"";

/// The place of a comment in the order of a document.
pub(crate) type Rank = (u8, u32, u8, u32, u8);

const BEFORE: u8 = 0;
const BESIDE: u8 = 1;

/// Ranks of the parts of a body.
const INPUTS: u8 = 3;
const NODES: u8 = 4;
const OUTPUTS: u8 = 5;
const GROUPS: u8 = 6;
const VIEW: u8 = 7;
const END: u8 = 8;

/// The statements about the document, with their keys.
const HEAD: [&str; 5] = ["$schema", "millstream", "name", "fps", "start_frame"];

/// A comment of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comment {
    pub(crate) kind: CommentKind,
    /// The keys that lead to its part.
    pub(crate) at: Vec<String>,
    pub(crate) lines: Vec<String>,
}

/// The place of a comment relative to its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommentKind {
    Before,
    Beside,
    /// After all statements of a block or of the text.
    End,
}

impl Comment {
    /// Writes the comment as compact JSON.
    fn write(&self, out: &mut String) {
        let key = match self.kind {
            CommentKind::Before => "{\"before\":",
            CommentKind::Beside => "{\"beside\":",
            CommentKind::End => "{\"end\":",
        };
        out.push_str(key);
        write_texts(&self.at, out);
        out.push_str(",\"text\":");
        match self.kind {
            CommentKind::Beside => write_text(&self.lines.concat(), out),
            CommentKind::Before | CommentKind::End => write_texts(&self.lines, out),
        }
        out.push('}');
    }

    /// Reads a comment in the form that [`text`](Self::text) writes.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let json: Json = serde_json::from_str(text).ok()?;
        let object = json.as_object()?;
        let (key, at) = object.iter().next()?;
        let kind = match &**key {
            "before" => CommentKind::Before,
            "beside" => CommentKind::Beside,
            "end" => CommentKind::End,
            _ => return None,
        };
        let texts = |json: &Json| -> Option<Vec<String>> {
            json.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let lines = match object.get("text")? {
            Json::String(text) if kind == CommentKind::Beside => vec![text.clone()],
            json => texts(json)?,
        };
        let comment = Self { kind, at: texts(at)?, lines };
        let is_line = |line: &String| {
            !line.contains('\n')
                && line.trim_end() == line
                && (!line.is_empty() || kind != CommentKind::Beside)
        };
        let fits = !comment.lines.is_empty() && comment.lines.iter().all(is_line);
        let mut written = String::with_capacity(text.len());
        comment.write(&mut written);
        (fits && written == text).then_some(comment)
    }
}

/// Writes a list of texts as compact JSON.
fn write_texts(texts: &[String], out: &mut String) {
    out.push('[');
    for (i, text) in texts.iter().enumerate() {
        out.push_str(if i > 0 { "," } else { "" });
        write_text(text, out);
    }
    out.push(']');
}

/// Writes a text as JSON.
fn write_text(text: &str, out: &mut String) {
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&Json::from(text).to_string());
    }
}

/// The comments of a tree with their ranks, in the order of the document.
fn comments_of(tree: &Tree<'_>) -> Vec<(Rank, Comment)> {
    let mut found = Vec::new();
    // The groups around the statement: name, position, and number of nodes so far.
    let mut open: Vec<(&Word<'_>, u32, u32)> = Vec::new();
    let (mut n_uses, mut n_locks, mut n_inputs, mut n_outputs, mut n_groups) = (0, 0, 0, 0, 0);
    let mut n_nodes = 0_u32;
    let count = |n: &mut u32| {
        *n += 1;
        *n - 1
    };
    if tree.comments.is_empty() {
        return found;
    }
    for item in &tree.items {
        let mut outer = open.last().map(|(name, at, _)| (*name, *at));
        let mut rank = (GROUPS, outer.map_or(0, |(_, at)| at), 0, 0);
        // The last one or two keys, after those of the group.
        let keys: [&str; 2] = match &item.what {
            What::Input(input) => {
                rank = (INPUTS, count(&mut n_inputs), 0, 0);
                ["inputs", &tree.inputs[*input as usize].name]
            }
            What::Output(output) => {
                rank = (OUTPUTS, count(&mut n_outputs), 0, 0);
                ["outputs", &tree.outputs[*output as usize].name]
            }
            What::Node { name, .. } | What::Block { name, .. } => {
                match open.last_mut() {
                    Some((_, _, n_inside)) => (rank.2, rank.3) = (1, count(n_inside)),
                    None => rank = (NODES, count(&mut n_nodes), 0, 0),
                }
                if let What::Block { group, .. } = item.what {
                    let name = &tree.groups[group as usize].name;
                    open.push((name, count(&mut n_groups), 0));
                }
                ["nodes", name]
            }
            What::Use(line) => {
                rank = (1, count(&mut n_uses), 0, 0);
                ["use", &line.name]
            }
            What::Lock(line) => {
                rank = (2, count(&mut n_locks), 0, 0);
                ["lock", &line.name]
            }
            What::Group(line) => {
                let name = &tree.groups[*line as usize].name;
                open.push((name, count(&mut n_groups), 0));
                outer = None;
                rank = (GROUPS, n_groups - 1, 0, 0);
                ["groups", name]
            }
            What::Close => {
                rank.2 = 2;
                open.pop();
                ["", ""]
            }
            What::View(_) => {
                rank = (VIEW, 0, 0, 0);
                ["view", ""]
            }
            What::End => {
                rank = (END, 0, 0, 0);
                outer = None;
                ["", ""]
            }
            head => {
                let key = head_key(head);
                rank = (0, key as u32, 0, 0);
                [HEAD[key], ""]
            }
        };
        if !item.before.is_empty() || item.has_beside {
            let outer = outer.map(|(name, _)| &**name);
            add(tree, item, rank, keys_of(item, outer, keys), &mut found);
        }
    }
    found.sort_by_key(|(rank, _)| *rank);
    found
}

/// The keys that lead to a part, with those of the group around it.
fn keys_of(item: &Item<'_>, group: Option<&str>, [kind, name]: [&str; 2]) -> Vec<String> {
    let outer = group.map(|group| ["groups", group]);
    let inner = [kind, name].into_iter().filter(|_| !kind.is_empty());
    let has_name = !matches!(item.what, What::View(_)) && !HEAD.contains(&kind);
    let inner = inner.take(if has_name { 2 } else { 1 });
    outer.iter().flatten().copied().chain(inner).map(str::to_owned).collect()
}

/// The position of a statement's key.
fn head_key(what: &What<'_>) -> usize {
    match what {
        What::Schema(_) => 0,
        What::Title(_) => 2,
        What::Fps(_) => 3,
        What::StartFrame(_) => 4,
        _ => 1,
    }
}

fn add<'t>(
    tree: &Tree<'t>,
    item: &Item<'t>,
    (section, index, part, inner): (u8, u32, u8, u32),
    keys: Vec<String>,
    found: &mut Vec<(Rank, Comment)>,
) {
    let mut lines: Vec<String> = tree.before(item).iter().map(ToString::to_string).collect();
    let mut beside = tree.beside(item).map(ToString::to_string);
    let kind = match item.what {
        What::Close | What::End => CommentKind::End,
        _ => CommentKind::Before,
    };
    if kind == CommentKind::End {
        lines.extend(beside.take());
    }
    if !lines.is_empty() {
        let comment = Comment { kind, at: keys.clone(), lines };
        found.push(((section, index, part, inner, BEFORE), comment));
    }
    if let Some(beside) = beside {
        let comment = Comment { kind: CommentKind::Beside, at: keys, lines: vec![beside] };
        found.push(((section, index, part, inner, BESIDE), comment));
    }
}

/// The view data of a text with the comments of its tree.
///
/// # Errors
/// If the view has no room for comments, or is not JSON.
pub(crate) fn view_with(tree: &Tree<'_>, view: Option<&str>) -> Result<View, TextError> {
    let refused = |message| TextError::Syntax { message, hint: None };
    let comments = comments_of(tree);
    if comments.is_empty() {
        return view.map_or(Ok(View::default()), |view| View::from_text(view).map_err(refused));
    }
    let mut new = String::new();
    for (i, (_, comment)) in comments.iter().enumerate() {
        new.push_str(if i > 0 { "," } else { "" });
        comment.write(&mut new);
    }
    let compact = match view {
        None => return Ok(View::from_compact_text(format!("{{{COMMENTS}:[{new}]}}"))),
        Some(view) => View::from_text(view).map_err(refused)?,
    };
    let text = compact.text().unwrap_or("{}");
    let entries = parts(text).filter(|_| text.starts_with('{')).ok_or(TextError::NoRoom)?;
    let known = entries.iter().rposition(|entry| key_and_value(entry).0 == COMMENTS);
    let mut entries: Vec<String> = entries.into_iter().map(str::to_owned).collect();
    match known {
        Some(known) => {
            let list = key_and_value(&entries[known]).1;
            let items = list.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
            let items = items.ok_or(TextError::NoRoom)?;
            let comma = if items.is_empty() { "" } else { "," };
            entries[known] = format!("{COMMENTS}:[{items}{comma}{new}]");
        }
        None => entries.push(format!("{COMMENTS}:[{new}]")),
    }
    View::from_text(&format!("{{{}}}", entries.join(","))).map_err(refused)
}

/// The comments at the end of a view that have a place, by keys and place, and the rest of the
/// view.
#[derive(Default)]
pub(crate) struct Placed {
    before: HashMap<Vec<String>, Vec<String>>,
    beside: HashMap<Vec<String>, String>,
    end: HashMap<Vec<String>, Vec<String>>,
    /// The rest of the view.
    pub(crate) rest: Option<String>,
}

impl Placed {
    /// Splits a view; `rank` returns the rank of the part at these keys, if it exists.
    pub(crate) fn of(view: &View, rank: impl Fn(&Comment) -> Option<Rank>) -> Self {
        let mut placed = Self { rest: view.text().map(str::to_owned), ..Self::default() };
        let Some(text) = view.text().filter(|text| text.starts_with('{')) else { return placed };
        let entries = parts(text).unwrap_or_default();
        let Some((last, others)) = entries.split_last() else { return placed };
        let (key, list) = key_and_value(last);
        let is_twice = others.iter().any(|entry| key_and_value(entry).0 == COMMENTS);
        if key != COMMENTS || !list.starts_with('[') || is_twice {
            return placed;
        }
        let items = parts(list).unwrap_or_default();
        let mut next = (u8::MAX, 0, 0, 0, 0);
        let mut n_left = items.len();
        while let Some(item) = n_left.checked_sub(1).map(|i| items[i]) {
            let Some(comment) = Comment::read(item) else { break };
            let Some(rank) = rank(&comment).filter(|rank| *rank < next) else { break };
            next = rank;
            n_left -= 1;
            placed.add(comment);
        }
        if n_left == items.len() {
            return placed;
        }
        let mut rest: Vec<String> = others.iter().map(ToString::to_string).collect();
        if n_left > 0 {
            rest.push(format!("{COMMENTS}:[{}]", items[..n_left].join(",")));
        }
        placed.rest = (!rest.is_empty()).then(|| format!("{{{}}}", rest.join(",")));
        placed
    }

    fn add(&mut self, comment: Comment) {
        let Comment { kind, at, lines } = comment;
        match kind {
            CommentKind::Before => drop(self.before.insert(at, lines)),
            CommentKind::Beside => drop(self.beside.insert(at, lines.concat())),
            CommentKind::End => drop(self.end.insert(at, lines)),
        }
    }

    /// Whether the part at these keys has comments.
    pub(crate) fn has(&self, keys: &[&str]) -> bool {
        if self.before.is_empty() && self.beside.is_empty() {
            return false;
        }
        let keys = owned(keys);
        self.before.contains_key(&keys) || self.beside.contains_key(&keys)
    }

    /// Removes and returns the comments of a part: those before it and the one beside it.
    pub(crate) fn take(&mut self, keys: &[&str]) -> (Vec<String>, Option<String>) {
        if self.before.is_empty() && self.beside.is_empty() {
            return (Vec::new(), None);
        }
        let keys = owned(keys);
        (self.before.remove(&keys).unwrap_or_default(), self.beside.remove(&keys))
    }

    /// Removes and returns the comments at the end of a block.
    pub(crate) fn take_end(&mut self, keys: &[&str]) -> Vec<String> {
        self.end.remove(&owned(keys)).unwrap_or_default()
    }
}

fn owned(keys: &[&str]) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

/// The rank of a part of a document, by the keys that lead to it.
pub(crate) fn rank_of(document: &millstream_document::Document, comment: &Comment) -> Option<Rank> {
    let keys: Vec<&str> = comment.at.iter().map(String::as_str).collect();
    let place = u8::from(comment.kind == CommentKind::Beside);
    let is_end = comment.kind == CommentKind::End;
    let at = |position: Option<usize>| position.map(|position| position as u32);
    let group = |name: &str| {
        let group = document.groups.get(name).filter(|group| group.file.is_none())?;
        Some((document.groups.get_index_of(name)? as u32, group))
    };
    let (section, index, part, inner) = match keys[..] {
        [] if is_end => (END, 0, 0, 0),
        ["groups", name] if is_end => (GROUPS, group(name)?.0, 2, 0),
        _ if is_end => return None,
        ["groups", name] => (GROUPS, group(name)?.0, 0, 0),
        ["groups", name, "nodes", node] => {
            let (i, group) = group(name)?;
            (GROUPS, i, 1, at(group.nodes.get_index_of(node))?)
        }
        ["use", name] => (1, at(document.uses.get_index_of(name))?, 0, 0),
        ["lock", name] => (2, at(document.lock.get_index_of(name))?, 0, 0),
        ["inputs", name] => (INPUTS, at(document.inputs.get_index_of(name))?, 0, 0),
        ["nodes", name] => (NODES, at(document.nodes.get_index_of(name))?, 0, 0),
        ["outputs", name] => (OUTPUTS, at(document.outputs.get_index_of(name))?, 0, 0),
        ["view"] => (VIEW, 0, 0, 0),
        [key] => {
            let key = HEAD.iter().position(|known| *known == key)?;
            if key == 0 && document.schema.is_none() {
                return None;
            }
            (0, key as u32, 0, 0)
        }
        _ => return None,
    };
    Some((section, index, part, inner, place))
}
