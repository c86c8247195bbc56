//! Places in a document: the path of a node, and a byte range of the source text.
//!
//! A place may lie in a document that the checked one uses; it then names that file.

use std::fmt;
use std::sync::Arc;

/// A byte range of a document's source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of bytes `start..end`; positions beyond 4 GiB saturate.
    pub fn new(start: usize, end: usize) -> Self {
        let clip = |x| u32::try_from(x).unwrap_or(u32::MAX);
        Self { start: clip(start), end: clip(end) }
    }

    /// Whether the span is empty, as for parts built in code.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Number of bytes.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// The path of a node for display: the names of its groups and its own, joined by `/`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodePath(Arc<str>);

impl NodePath {
    /// The path with this text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The path of `name` inside this group.
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self::new(name) } else { Self::new(format!("{}/{name}", self.0)) }
    }

    /// The document itself, above all nodes.
    pub fn root() -> Self {
        Self::new("")
    }

    /// The text, names joined by `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl From<&str> for NodePath {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// A document that another one uses, with its text, for places inside it.
#[derive(Clone, PartialEq, Eq)]
pub struct UsedFile {
    /// Its name in messages.
    pub name: Arc<str>,
    /// The chain of uses from the outermost document to this one: `a.mill.json uses
    /// lib/b.mill.json`.
    pub road: Arc<str>,
    /// Its text.
    pub text: Arc<[u8]>,
}

impl UsedFile {
    /// The line number of a byte, from 1.
    pub fn line_of(&self, byte: u32) -> usize {
        let before = &self.text[..self.text.len().min(byte as usize)];
        before.split(|byte| *byte == b'\n').count()
    }
}

impl fmt::Debug for UsedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.name)
    }
}

/// A place in a document: a node, and a byte range if there is source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path of the node or, with a suffix `.name`, of one of its sockets; empty for the whole
    /// document.
    pub path: NodePath,
    /// The byte range, if the document has source text.
    pub span: Option<Span>,
    /// The file of the byte range; `None` for the checked document itself.
    pub file: Option<Arc<UsedFile>>,
}

impl Place {
    /// The place with this path and no byte range.
    pub fn at(path: impl Into<NodePath>) -> Self {
        Self { path: path.into(), span: None, file: None }
    }

    /// The place with this path and byte range; an empty span counts as none.
    pub fn with_span(path: impl Into<NodePath>, span: Span) -> Self {
        Self { path: path.into(), span: (!span.is_empty()).then_some(span), file: None }
    }

    /// The place in this file. A file without text leaves it without a byte range.
    pub fn in_file(self, file: Option<Arc<UsedFile>>) -> Self {
        let has_text = file.as_ref().is_none_or(|file| !file.text.is_empty());
        Self { span: self.span.filter(|_| has_text), file, ..self }
    }
}
