//! Comments in documents: the entry `comments` of the view data.
//!
//! It is a list in the order of the document. An entry names the place of its comment:
//!
//! ```json
//! [
//!   { "before": [], "text": ["!/usr/bin/env -S millstream run"] },
//!   { "before": ["inputs", "a"], "text": ["one line", "and another"] },
//!   { "beside": ["groups", "product", "nodes", "p"], "text": "at the end of the line" },
//!   { "end": [], "text": ["after all statements"] }
//! ]
//! ```

use std::borrow::Cow;
use std::ops::Range;

use millstream_document::View;
use millstream_document::model::Document;
use serde_json::Value as Json;

use crate::error::TextError;
use crate::json::{key_and_value, parts, plain_string_end};
use crate::tree::{Item, Tree, What, Word, at};

/// The entry of the view data.
const COMMENTS: &str = "\"comments\"";

/// The place of a comment in the order of a document.
pub(crate) type Rank = (u8, u32, u8, u32, u8);

/// The statements about the document, with their keys.
const HEAD: [&str; 5] = ["$schema", "millstream", "name", "fps", "start_frame"];

/// A part of a document that may have comments, by its position among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The first line, if it starts with `#!`.
    Start,
    /// The statement with this key of [`HEAD`].
    Head(u32),
    Use(u32),
    Lock(u32),
    Input(u32),
    Node(u32),
    Output(u32),
    Group(u32),
    /// A node of the group at the first position.
    NodeOf(u32, u32),
    /// The end of a group.
    EndOf(u32),
    View,
    End,
}

impl Part {
    pub(crate) const SCHEMA: Self = Self::Head(0);
    pub(crate) const FORMAT: Self = Self::Head(1);
    pub(crate) const TITLE: Self = Self::Head(2);
    pub(crate) const FPS: Self = Self::Head(3);
    pub(crate) const START_FRAME: Self = Self::Head(4);

    /// A statement about the document.
    fn head(key: &str) -> Option<Self> {
        HEAD.iter().position(|known| *known == key).map(|at| Self::Head(at as u32))
    }

    /// The rank of a comment of the part.
    fn rank(self, kind: CommentKind) -> Rank {
        let (section, index, inside, inner) = match self {
            Self::Start => (0, 0, 0, 0),
            Self::Head(at) => (0, at + 1, 0, 0),
            Self::Use(at) => (1, at, 0, 0),
            Self::Lock(at) => (2, at, 0, 0),
            Self::Input(at) => (3, at, 0, 0),
            Self::Node(at) => (4, at, 0, 0),
            Self::Output(at) => (5, at, 0, 0),
            Self::Group(group) => (6, group, 0, 0),
            Self::NodeOf(group, at) => (6, group, 1, at),
            Self::EndOf(group) => (6, group, 2, 0),
            Self::View => (7, 0, 0, 0),
            Self::End => (8, 0, 0, 0),
        };
        (section, index, inside, inner, u8::from(kind == CommentKind::Beside))
    }
}

/// The place of a comment relative to its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommentKind {
    Before,
    Beside,
    /// After all statements of a block or of the text.
    End,
}

impl CommentKind {
    const ALL: [Self; 3] = [Self::Before, Self::Beside, Self::End];

    /// The start of the compact JSON of such a comment.
    fn start(self) -> &'static str {
        match self {
            Self::Before => "{\"before\":",
            Self::Beside => "{\"beside\":",
            Self::End => "{\"end\":",
        }
    }
}

/// A comment of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comment<'v> {
    pub(crate) kind: CommentKind,
    /// The keys that lead to its part.
    pub(crate) at: Vec<Word<'v>>,
    pub(crate) lines: Vec<Word<'v>>,
}

impl<'v> Comment<'v> {
    /// Reads a comment that is written as [`write()`] writes it, of valid JSON.
    fn read(text: &'v str) -> Option<Self> {
        let start = |kind: CommentKind| Some((kind, text.strip_prefix(kind.start())?));
        let (kind, rest) = CommentKind::ALL.into_iter().find_map(start)?;
        let (at, rest) = read_texts(rest)?;
        let rest = rest.strip_prefix(TEXT)?;
        let (lines, rest) = match kind {
            CommentKind::Beside => read_text(rest).map(|(line, rest)| (vec![line], rest))?,
            CommentKind::Before | CommentKind::End => read_texts(rest)?,
        };
        let is_line = |line: &Word<'_>| !line.contains('\n') && line.trim_end() == line;
        let fits = rest == "}" && !lines.is_empty() && lines.iter().all(is_line);
        fits.then_some(Self { kind, at, lines })
    }

    /// Whether it is the first line of a file that starts with `#!`.
    fn is_interpreter_line(&self) -> bool {
        self.kind == CommentKind::Before
            && matches!(&self.lines[..], [line] if line.starts_with('!'))
    }
}

/// What stands between the keys and the lines of a comment.
const TEXT: &str = ",\"text\":";

/// Writes a comment as compact JSON.
fn write<'k>(
    kind: CommentKind,
    keys: impl Iterator<Item = &'k str>,
    lines: &[Word<'_>],
    out: &mut String,
) {
    out.push_str(kind.start());
    write_texts(keys, out);
    out.push_str(TEXT);
    match (kind, lines) {
        (CommentKind::Beside, [line]) => write_text(line, out),
        _ => write_texts(lines.iter().map(|line| &**line), out),
    }
    out.push('}');
}

/// Writes a list of texts as compact JSON.
fn write_texts<'k>(texts: impl Iterator<Item = &'k str>, out: &mut String) {
    out.push('[');
    for (i, text) in texts.enumerate() {
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

/// The texts of a list that [`write_texts`] wrote, and what follows it.
fn read_texts(list: &str) -> Option<(Vec<Word<'_>>, &str)> {
    let mut rest = list.strip_prefix('[')?;
    let mut texts = Vec::new();
    if let Some(rest) = rest.strip_prefix(']') {
        return Some((texts, rest));
    }
    loop {
        let (text, after) = read_text(rest)?;
        texts.push(text);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Some((texts, after.strip_prefix(']')?)),
        }
    }
}

/// The text that [`write_text`] wrote, and what follows it.
fn read_text(quoted: &str) -> Option<(Word<'_>, &str)> {
    if !quoted.starts_with('"') {
        return None;
    }
    let (json, rest) = quoted.split_at(plain_string_end(quoted.as_bytes(), 0));
    let inside = json.get(1..json.len() - 1)?;
    if !inside.contains('\\') {
        return Some((Cow::Borrowed(inside), rest));
    }
    let text: String = serde_json::from_str(json).ok()?;
    let mut written = String::with_capacity(json.len());
    write_text(&text, &mut written);
    (written == json).then_some((Cow::Owned(text), rest))
}

/// The group around a part, its list (empty for none), and its name there.
type Keys<'a> = (Option<&'a str>, &'static str, Option<&'a str>);

/// A comment of a tree.
struct Found<'a> {
    rank: Rank,
    kind: CommentKind,
    keys: Keys<'a>,
    /// Positions of lines in the tree.
    lines: Range<u32>,
}

/// The comments of a tree in the order of the document.
fn comments_of<'a>(tree: &'a Tree<'_>) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    if tree.comments.is_empty() {
        return found;
    }
    // The groups around the statement: name, position, and number of nodes so far.
    let mut open: Vec<(&str, u32, u32)> = Vec::new();
    let (mut n_uses, mut n_locks, mut n_inputs, mut n_outputs, mut n_groups) = (0, 0, 0, 0, 0);
    let mut n_nodes = 0_u32;
    let count = |n: &mut u32| {
        *n += 1;
        *n - 1
    };
    for item in &tree.items {
        let group = open.last().map(|(name, ..)| *name);
        // The last key or two, after those of the group.
        let (part, group, list, name): (Part, Option<&str>, &str, Option<&str>) = match &item.what {
            What::Input(input) => {
                let name = &tree.inputs[*input as usize].name;
                (Part::Input(count(&mut n_inputs)), group, "inputs", Some(name))
            }
            What::Output(output) => {
                let name = &tree.outputs[*output as usize].name;
                (Part::Output(count(&mut n_outputs)), group, "outputs", Some(name))
            }
            What::Node { name, .. } | What::Block { name, .. } => {
                let part = match open.last_mut() {
                    Some((_, at, n_inside)) => Part::NodeOf(*at, count(n_inside)),
                    None => Part::Node(count(&mut n_nodes)),
                };
                if let What::Block { group, .. } = item.what {
                    let name = &tree.groups[group as usize].name;
                    open.push((name, count(&mut n_groups), 0));
                }
                (part, group, "nodes", Some(name))
            }
            What::Use(line) => (Part::Use(count(&mut n_uses)), group, "use", Some(&line.name)),
            What::Lock(line) => (Part::Lock(count(&mut n_locks)), group, "lock", Some(&line.name)),
            What::Group(line) => {
                let (name, at) = (&tree.groups[*line as usize].name, count(&mut n_groups));
                open.push((name, at, 0));
                (Part::Group(at), None, "groups", Some(name))
            }
            What::Close => {
                let at = open.pop().map_or(0, |(_, at, _)| at);
                (Part::EndOf(at), group, "", None)
            }
            What::View(_) => (Part::View, group, "view", None),
            What::Start => (Part::Start, None, "", None),
            What::End => (Part::End, None, "", None),
            What::Unread(_) => continue,
            What::Schema(_) => (Part::SCHEMA, group, HEAD[0], None),
            What::Format(_) => (Part::FORMAT, group, HEAD[1], None),
            What::Title(_) => (Part::TITLE, group, HEAD[2], None),
            What::Fps(_) => (Part::FPS, group, HEAD[3], None),
            What::StartFrame(_) => (Part::START_FRAME, group, HEAD[4], None),
        };
        let keys = (group, list, name);
        add(item, part, keys, &mut found);
    }
    // Statements may stand in another order than the parts that they make.
    if !found.is_sorted_by_key(|comment| comment.rank) {
        found.sort_by_key(|comment| comment.rank);
    }
    found
}

/// Adds the comments of a statement.
fn add<'a>(item: &Item<'_>, part: Part, keys: Keys<'a>, found: &mut Vec<Found<'a>>) {
    let Range { start, end } = item.before;
    let beside = end..end + u32::from(item.has_beside);
    let (kind, before) = match item.what {
        What::Close | What::End => (CommentKind::End, start..beside.end),
        _ => (CommentKind::Before, start..end),
    };
    if !before.is_empty() {
        found.push(Found { rank: part.rank(kind), kind, keys, lines: before });
    }
    if !beside.is_empty() && kind == CommentKind::Before {
        let kind = CommentKind::Beside;
        found.push(Found { rank: part.rank(kind), kind, keys, lines: beside });
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
    let mut new = String::with_capacity(64 * comments.len());
    for (i, comment) in comments.iter().enumerate() {
        new.push_str(if i > 0 { "," } else { "" });
        let Found { kind, keys: (group, list, name), lines, .. } = comment;
        let group = group.map(|group| ["groups", group]);
        let list = Some(*list).filter(|list| !list.is_empty());
        let keys = group.into_iter().flatten().chain(list).chain(*name);
        write(*kind, keys, &tree.comments[at(lines)], &mut new);
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

/// The comments that a view ends with, each of which has a place; and the rest of the view.
#[derive(Default)]
pub(crate) struct Placed<'v> {
    /// In the order of the document; each with the positions of its lines.
    comments: Vec<(Rank, Range<usize>)>,
    lines: Vec<Word<'v>>,
    /// The rest of the view.
    pub(crate) rest: Option<Word<'v>>,
}

impl<'v> Placed<'v> {
    /// Splits a view; `rank` gives the rank of the part at these keys, if there is one.
    pub(crate) fn of(view: &'v View, rank: impl Fn(&Comment<'_>) -> Option<Rank>) -> Self {
        let mut placed = Self { rest: view.text().map(Cow::Borrowed), ..Self::default() };
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
            let first = placed.lines.len();
            placed.lines.extend(comment.lines);
            placed.comments.push((rank, first..placed.lines.len()));
        }
        placed.comments.reverse();
        if n_left == items.len() {
            return placed;
        }
        let mut rest: Vec<String> = others.iter().map(ToString::to_string).collect();
        if n_left > 0 {
            rest.push(format!("{COMMENTS}:[{}]", items[..n_left].join(",")));
        }
        placed.rest = (!rest.is_empty()).then(|| format!("{{{}}}", rest.join(",")).into());
        placed
    }

    /// Whether a part has comments before or beside it.
    pub(crate) fn has(&self, part: Part) -> bool {
        [CommentKind::Before, CommentKind::Beside]
            .into_iter()
            .any(|kind| !self.of_part(part, kind).is_empty())
    }

    /// The lines of a comment of a part; none if there is no such comment.
    pub(crate) fn of_part(&self, part: Part, kind: CommentKind) -> &[Word<'v>] {
        if self.comments.is_empty() {
            return &[];
        }
        let found = self.comments.binary_search_by_key(&part.rank(kind), |comment| comment.0);
        found.map_or(&[], |at| &self.lines[self.comments[at].1.clone()])
    }
}

/// The rank of a comment, if a document has the part that its keys lead to.
pub(crate) fn rank_of(document: &Document, comment: &Comment<'_>) -> Option<Rank> {
    let keys: Vec<&str> = comment.at.iter().map(|key| &**key).collect();
    let is_end = comment.kind == CommentKind::End;
    let at = |position: Option<usize>| position.map(|position| position as u32);
    let group = |name: &str| {
        let group = document.groups.get(name).filter(|group| group.file.is_none())?;
        Some((document.groups.get_index_of(name)? as u32, group))
    };
    let part = match keys[..] {
        [] if is_end => Part::End,
        [] if comment.is_interpreter_line() => Part::Start,
        ["groups", name] if is_end => Part::EndOf(group(name)?.0),
        _ if is_end => return None,
        ["groups", name] => Part::Group(group(name)?.0),
        ["groups", name, "nodes", node] => {
            let (i, group) = group(name)?;
            Part::NodeOf(i, at(group.nodes.get_index_of(node))?)
        }
        ["use", name] => Part::Use(at(document.uses.get_index_of(name))?),
        ["lock", name] => Part::Lock(at(document.lock.get_index_of(name))?),
        ["inputs", name] => Part::Input(at(document.inputs.get_index_of(name))?),
        ["nodes", name] => Part::Node(at(document.nodes.get_index_of(name))?),
        ["outputs", name] => Part::Output(at(document.outputs.get_index_of(name))?),
        ["view"] => Part::View,
        ["$schema"] if document.schema.is_none() => return None,
        [key] => Part::head(key)?,
        _ => return None,
    };
    Some(part.rank(comment.kind))
}
