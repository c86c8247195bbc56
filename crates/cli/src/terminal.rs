//! Output to a terminal or elsewhere; only terminals get colors and drawings.

use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _};

/// The style in which a stream is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Whether the stream is a terminal.
    pub(crate) is_terminal: bool,
    /// Whether colors are wanted.
    pub(crate) color: bool,
}

impl Style {
    fn of(is_terminal: bool) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { is_terminal, color: is_terminal && !unwanted && !dumb }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(crate) fn error(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    pub(crate) fn help(self, text: &str) -> String {
        self.paint("36", text)
    }

    pub(crate) fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn drawing(self, text: &str) -> String {
        self.paint("34", text)
    }
}

/// The style of standard output.
pub(crate) fn of_stdout() -> Style {
    Style::of(std::io::stdout().is_terminal())
}

/// The style of standard error.
pub(crate) fn of_stderr() -> Style {
    Style::of(std::io::stderr().is_terminal())
}

/// Writes a line to standard output.
///
/// # Errors
/// If the line cannot be written. If the reader of a pipe has gone, the error has no message.
pub(crate) fn print(line: &str) -> std::io::Result<()> {
    writeln!(std::io::stdout().lock(), "{line}")
}

/// Writes to standard error.
pub(crate) fn eprint(text: &str) {
    // There is nowhere to report that standard error failed.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Text from a document or file, made harmless to a terminal: control characters and characters
/// that change the writing direction become JSON escapes.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, controls)
}

/// Like [`visible`], for text of several lines.
pub(crate) fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && controls(c))
}

fn controls(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, is_wrong: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_wrong) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' if is_wrong(c) => out.push_str("\\n"),
            _ if is_wrong(c) => out.push_str(&format!("\\u{:04x}", c as u32)),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_control_characters_are_escaped() {
        assert_eq!(visible("\x1b[2J\nä\u{9b}\u{202e}"), "\\u001b[2J\\nä\\u009b\\u202e");
        assert_eq!(visible_lines("a\n\tb"), "a\n\\u0009b");
    }
}
