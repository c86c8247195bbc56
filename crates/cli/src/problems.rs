//! Problems of a document with their positions: as labelled source on a terminal, as single lines
//! elsewhere, or as JSON.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use millstream::{Diagnostic, Diagnostics, Severity, UsedFile};
use serde_json::{Value as Json, json};

use crate::outcome::in_flags;
use crate::terminal::{Style, visible, visible_lines};

/// Longer lines, in bytes, are not shown as labelled source.
const MAX_LINE: usize = 300;

/// Longer paths of nodes, in characters, are cut off.
const MAX_PATH: usize = 500;

/// Longer messages, in characters, are cut off.
const MAX_MESSAGE: usize = 2000;

/// A position for people: line and column, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineColumn {
    pub(crate) line: usize,
    /// In characters.
    pub(crate) column: usize,
}

/// The lines of a text, for lookup by byte position.
pub(crate) struct Lines<'a> {
    text: &'a [u8],
    starts: Vec<usize>,
    /// The last position that was looked up, and its column. Positions are looked up in ascending
    /// order, so a long line is read once.
    last: Cell<(usize, LineColumn)>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a [u8]) -> Self {
        let breaks = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(i, _)| i + 1)).collect();
        Self { text, starts, last: Cell::new((0, LineColumn { line: 1, column: 1 })) }
    }

    /// Line and column of a byte; those of the end for a byte beyond it.
    pub(crate) fn at(&self, byte: usize) -> LineColumn {
        let byte = byte.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= byte).max(1) - 1;
        let (last, found) = self.last.get();
        let start = self.starts[line];
        let is_before = found.line == line + 1 && last <= byte && self.starts_char(last);
        let (start, column) = if is_before { (last, found.column) } else { (start, 1) };
        let column = column + String::from_utf8_lossy(&self.text[start..byte]).chars().count();
        let found = LineColumn { line: line + 1, column };
        self.last.set((byte, found));
        found
    }

    /// Whether the byte does not continue a character.
    fn starts_char(&self, byte: usize) -> bool {
        self.text.get(byte).is_none_or(|byte| byte & 0b1100_0000 != 0b1000_0000)
    }

    fn length_of_line(&self, line: usize) -> usize {
        let start = self.starts[line - 1];
        self.starts.get(line).copied().unwrap_or(self.text.len()) - start
    }
}

/// All problems as text.
pub(crate) fn text(file: &str, source: &[u8], problems: &Diagnostics, style: Style) -> String {
    let own = Shown::of(file, source, style);
    let mut used: Option<(&UsedFile, Shown<'_>)> = None;
    let mut out = String::new();
    for problem in problems {
        let Some(file) = problem.place.file.as_deref() else {
            own.write(problem, &mut out);
            continue;
        };
        // The problems of each file stand together.
        let shown = match used.take() {
            Some((known, shown)) if known.name == file.name => shown,
            _ => Shown::of(&file.name, &file.text, style),
        };
        shown.write(problem, &mut out);
        used = Some((file, shown));
    }
    out
}

/// A text whose problems are shown.
struct Shown<'a> {
    file: &'a str,
    lines: Lines<'a>,
    handler: Option<Handler>,
}

impl<'a> Shown<'a> {
    fn of(file: &'a str, source: &'a [u8], style: Style) -> Self {
        // Source with control characters is not shown on a terminal.
        let is_harmless = |text: &&str| {
            let plain = text.replace("\r\n", "\n").replace('\t', " ");
            matches!(visible_lines(&plain), Cow::Borrowed(_))
        };
        let valid = std::str::from_utf8(source).ok();
        let valid = valid.filter(|_| style.is_terminal).filter(is_harmless);
        let handler = valid.map(|text| Handler {
            source: NamedSource::new(file, text.to_owned()),
            handler: GraphicalReportHandler::new_themed(if style.color {
                GraphicalTheme::unicode()
            } else {
                GraphicalTheme::unicode_nocolor()
            }),
        });
        Self { file, lines: Lines::of(source), handler }
    }

    fn write(&self, problem: &Diagnostic, out: &mut String) {
        let fits = problem.place.span.is_some_and(|span| {
            self.lines.length_of_line(self.lines.at(span.start as usize).line) <= MAX_LINE
        });
        match &self.handler {
            Some(handler) if fits => {
                handler.write(problem, out);
                out.push('\n');
            }
            Some(_) | None => out.push_str(&line(self.file, &self.lines, problem)),
        }
        if let Some(file) = &problem.place.file {
            out.push_str(&format!("  note: {}\n", visible(&file.road)));
        }
    }
}

/// The beginning of a text that is longer than this number of characters.
fn brief(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}

/// Formats a problem on one line, and its help on another.
fn line(file: &str, lines: &Lines<'_>, problem: &Diagnostic) -> String {
    let mut out = file.to_owned();
    if let Some(span) = problem.place.span {
        let LineColumn { line, column } = lines.at(span.start as usize);
        out.push_str(&format!(":{line}:{column}"));
    }
    let severity = severity(problem.severity);
    out.push_str(&format!(": {severity}[{}]: ", problem.code));
    if !problem.place.path.as_str().is_empty() {
        out.push_str(&format!("{}: ", visible(&brief(problem.place.path.as_str(), MAX_PATH))));
    }
    out.push_str(&visible(&brief(&problem.message, MAX_MESSAGE)));
    out.push('\n');
    if let Some(help) = &problem.help {
        out.push_str(&format!("  help: {}\n", visible(&in_flags(help))));
    }
    out
}

/// A problem for programs.
pub(crate) fn json(lines: &Lines<'_>, problem: &Diagnostic) -> Json {
    let used = problem.place.file.as_deref();
    let of_used = used.map(|file| Lines::of(&file.text));
    let lines = of_used.as_ref().unwrap_or(lines);
    let span = problem.place.span.map(|span| {
        let LineColumn { line, column } = lines.at(span.start as usize);
        json!({ "start": span.start, "end": span.end, "line": line, "column": column })
    });
    let mut json = json!({
        "severity": severity(problem.severity),
        "code": problem.code,
        "path": problem.place.path.as_str(),
        "message": problem.message,
        "help": problem.help.as_deref().map(in_flags),
        "span": span,
    });
    if let Some(file) = used {
        json["file"] = (&*file.name).into();
        json["road"] = (&*file.road).into();
    }
    json
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

struct Handler {
    source: NamedSource<String>,
    handler: GraphicalReportHandler,
}

impl Handler {
    fn write(&self, problem: &Diagnostic, out: &mut String) {
        let labelled = Labelled { problem, source: &self.source };
        // Writing to a string does not fail.
        let _ = self.handler.render_report(out, &labelled);
    }
}

/// A problem in the form that miette renders.
#[derive(Debug)]
struct Labelled<'a> {
    problem: &'a Diagnostic,
    source: &'a NamedSource<String>,
}

impl fmt::Display for Labelled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.problem.place.path.as_str().is_empty() {
            write!(f, "{}: ", visible(self.problem.place.path.as_str()))?;
        }
        f.write_str(&visible(&self.problem.message))
    }
}

impl std::error::Error for Labelled<'_> {}

impl miette::Diagnostic for Labelled<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.problem.code))
    }
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.problem.severity {
            Severity::Note => miette::Severity::Advice,
            Severity::Warning => miette::Severity::Warning,
            Severity::Error => miette::Severity::Error,
        })
    }
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = in_flags(self.problem.help.as_ref()?);
        Some(Box::new(visible(&help).into_owned()))
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.problem.place.span.map(|_| self.source as &dyn SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.problem.place.span?;
        let label = LabeledSpan::new(None, span.start as usize, span.len());
        Some(Box::new(std::iter::once(label)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_1() {
        let lines = Lines::of("a\nüb\n".as_bytes());
        assert_eq!(lines.at(0), LineColumn { line: 1, column: 1 });
        assert_eq!(lines.at(4), LineColumn { line: 2, column: 2 });
        assert_eq!(lines.at(99), LineColumn { line: 3, column: 1 });
    }

    #[test]
    fn positions_do_not_depend_on_those_that_were_looked_up_before() {
        let text = "aü\u{1f600}b\n\u{fc}x\nüü".as_bytes();
        let broken = [text, b"\xf0\x9fz\xff"].concat();
        for text in [text, &broken] {
            let all = Lines::of(text);
            for first in 0..=text.len() {
                for second in 0..=text.len() {
                    all.at(first);
                    assert_eq!(all.at(second), Lines::of(text).at(second), "{first} {second}");
                }
            }
        }
    }
}
