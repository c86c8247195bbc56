//! Whether output goes to a person: colors and drawings depend on it.

use std::io::IsTerminal as _;

/// How a stream is written to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// A person reads along.
    pub(crate) is_terminal: bool,
    /// Colors are wanted.
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

/// The standard output.
pub(crate) fn of_stdout() -> Style {
    Style::of(std::io::stdout().is_terminal())
}

/// The standard error.
pub(crate) fn of_stderr() -> Style {
    Style::of(std::io::stderr().is_terminal())
}
