//! Recovery from a statement with an error: finds the next statement, and keeps what is known.

use std::borrow::Cow;

use millstream_base::Span;

use super::hidden::{Hidden, Scan};
use super::{Opened, Parser, not_closed};
use crate::error::Problem;
use crate::token::{Kind, Symbol, Token};
use crate::tree::{ExprId, ExprKind, What};

impl<'t> Parser<'t> {
    /// Reports a problem, keeps the known part of the statement, and continues with the next one.
    pub(super) fn recover(&mut self, start: usize, problem: Problem, head: What<'t>) {
        let indent = indentation(self.text, start);
        let mut resume = line_end(self.text, problem.start.max(start));
        let line = line_start(self.text, problem.start.min(self.text.len()));
        let mut problem = problem;
        if let Some(opened) = self.opened.last().copied()
            && line > start
            && indentation(self.text, problem.start) <= indent
            && !matches!(self.text.as_bytes().get(problem.start), Some(b')' | b']'))
        {
            // The next statement starts before the bracket is closed.
            problem = not_closed(opened);
            resume = line;
        }
        self.report(problem);
        self.opened.clear();
        self.depth = 0;
        self.is_in_list = false;
        self.args.clear();
        self.pieces.clear();
        self.sources.clear();
        let mut head = head;
        let opens = matches!(head, What::Group(_)) || self.header.is_some();
        // Lines with more indentation belong to the statement, if it starts its line.
        if self.text[line_start(self.text, start)..start].trim().is_empty() {
            resume = self.skipped(start, resume, opens);
        }
        let lost = &self.text[start..resume.min(self.text.len())];
        self.note_hidden(lost);
        if lost.trim_end().ends_with('{') {
            head = self.lost_block(head);
        }
        if matches!(head, What::Group(_) | What::Block { .. }) {
            let close = Symbol::CloseBlock.text();
            self.blocks.push(Opened { at: start, open: Symbol::OpenBlock.text(), close });
        }
        self.lexer.at = resume.min(self.text.len());
        self.last_end = self.lexer.at.max(start);
        self.token = Token { kind: Kind::Line, start: self.lexer.at, end: self.lexer.at };
        match head {
            What::End => self.tree.n_lost += 1,
            What::Node { name, .. } => {
                let value = self.nothing(start);
                self.item(What::Node { name, value }, start, false, true);
            }
            What::Block { name, group } => {
                self.tree.groups[group as usize].zone = Some(self.nothing(start));
                self.item(What::Block { name, group }, start, false, true);
            }
            head => self.item(head, start, false, true),
        }
    }

    /// Notes what statements may define that start inside one that could not be read.
    fn note_hidden(&mut self, lost: &'t str) {
        let item = self.tree.items.len();
        let mut scan = Scan::of(lost);
        while let Some(hidden) = scan.next() {
            match hidden {
                Hidden::Name(name) => self.tree.hidden.push((item, name)),
                Hidden::Time => self.tree.hides_time = true,
                Hidden::Statement => self.tree.hides_statements = true,
            }
        }
    }

    /// The expression of a node that could not be read.
    fn nothing(&mut self, start: usize) -> ExprId {
        self.tree.add(ExprKind::Literal(Cow::Borrowed("null")), Span::new(start, start))
    }

    /// The position after the lines that continue a statement with an error.
    fn skipped(&self, start: usize, from: usize, opens: bool) -> usize {
        let indent = indentation(self.text, start);
        let mut resume = from.min(self.text.len());
        loop {
            let rest = &self.text[resume..];
            let ends_with_block = self.text[start..resume].trim_end().ends_with('{');
            if rest.is_empty() || (opens && ends_with_block) {
                return resume;
            }
            let next = &rest[..rest.find('\n').unwrap_or(rest.len())];
            let is_more = next.trim().is_empty() || indentation(self.text, resume) > indent;
            let closes = next.trim_start().starts_with([')', ']']);
            if !is_more && !closes {
                return resume;
            }
            resume = line_end(self.text, resume);
        }
    }
}

/// The start of the line that holds a place.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// The start of the line after a place.
fn line_end(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    text.as_bytes()[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |n| at + n + 1)
}

/// The blank bytes at the start of the line that holds a place.
fn indentation(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let line = &text[line_start(text, at)..];
    line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}
