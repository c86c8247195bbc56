//! How a verb ends: exit codes, and the errors that end it early.

use std::io;

use millstream_io::IoError;

use crate::terminal;

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All was done.
    Done,
    /// A document or data is wrong.
    Wrong,
    /// The command line is wrong.
    Usage,
    /// An evaluation failed or exceeded its budget, or a result could not be written.
    Failed,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Wrong => 1,
            Self::Usage => 2,
            Self::Failed => 3,
        }
    }
}

/// One thing to tell the user.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) help: Option<String>,
}

/// Why a verb ended early.
#[derive(Debug)]
pub(crate) struct Stop {
    exit: Exit,
    messages: Vec<Message>,
}

impl Stop {
    /// Ends with this code and this message.
    pub(crate) fn new(exit: Exit, text: impl Into<String>, help: Option<String>) -> Self {
        Self { exit, messages: vec![Message { text: text.into(), help }] }
    }

    /// Ends with all of these messages.
    pub(crate) fn all(exit: Exit, messages: Vec<Message>) -> Self {
        Self { exit, messages }
    }

    /// Ends with this code; all there is to say was said.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self { exit, messages: Vec::new() }
    }

    /// Ends because a data file could not be read or written.
    pub(crate) fn data(exit: Exit, error: &IoError) -> Self {
        Self { exit, messages: vec![Message::of(error)] }
    }
}

impl Message {
    /// The texts of an error.
    pub(crate) fn of(error: &dyn miette::Diagnostic) -> Self {
        Self { text: error.to_string(), help: error.help().map(|help| help.to_string()) }
    }
}

/// Failing to write a result ends the verb; a reader that went away does so quietly.
impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::silent(Exit::Done);
        }
        Self::new(Exit::Failed, format!("cannot write the result: {error}"), None)
    }
}

impl From<serde_json::Error> for Stop {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}

/// A hint of the library in words of the command line.
pub(crate) fn in_flags(help: &str) -> String {
    help.replace(" in the limits", " with --limit")
}

/// Tells the user why a verb ended.
pub(crate) fn report(stop: &Stop) -> Exit {
    let style = terminal::of_stderr();
    for message in &stop.messages {
        eprintln!("{} {}", style.error("error:"), message.text);
        if let Some(help) = &message.help {
            eprintln!("  {} {}", style.help("help:"), in_flags(help));
        }
    }
    stop.exit
}
