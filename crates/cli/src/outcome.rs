//! The end of a verb: exit codes, and the errors that stop it early.

use std::io::{self, Write as _};
use std::path::Path;

use millstream_io::pictures::{AnimationFormat, PictureFormat};
use millstream_io::{Ended, IoError};
use serde_json::{Value as Json, json};

use crate::terminal::{self, eprint, visible};

/// The exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was done.
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

    /// The error code of problems without one of their own.
    fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Wrong => "wrong",
            Self::Usage => "usage",
            Self::Failed => "failed",
        }
    }
}

/// A message for the user.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) help: Option<String>,
}

/// The reason why a verb stopped early.
#[derive(Debug)]
pub(crate) struct Stop {
    exit: Exit,
    messages: Vec<Message>,
    /// The problems that were already shown to people, for JSON output.
    reported: Vec<Json>,
    /// Whether values do not fit a file, so that others may still be written.
    is_misfit: bool,
}

impl Stop {
    /// Stops with this exit code and this message.
    pub(crate) fn new(exit: Exit, text: impl Into<String>, help: Option<String>) -> Self {
        Self::all(exit, vec![Message { text: text.into(), help }])
    }

    /// Stops with all of these messages.
    pub(crate) fn all(exit: Exit, messages: Vec<Message>) -> Self {
        Self { exit, messages, reported: Vec::new(), is_misfit: false }
    }

    /// Stops with this exit code after the reasons were shown to people; `reported` repeats them
    /// for programs.
    pub(crate) fn reported(exit: Exit, reported: Vec<Json>) -> Self {
        Self { exit, messages: Vec::new(), reported, is_misfit: false }
    }

    /// Stops with this exit code and no message, because nobody reads the output any more.
    fn silent(exit: Exit) -> Self {
        Self::all(exit, Vec::new())
    }

    /// Whether nobody reads the output any more.
    pub(crate) fn is_silent(&self) -> bool {
        self.exit == Exit::Done
    }

    /// The same stop, because values do not fit a file.
    pub(crate) fn misfit(self) -> Self {
        Self { is_misfit: true, ..self }
    }

    /// Whether values do not fit a file, so that others may still be written.
    pub(crate) fn is_misfit(&self) -> bool {
        self.is_misfit
    }

    /// The same stop with a place at the end of its messages.
    pub(crate) fn at(mut self, place: &str) -> Self {
        self.messages.iter_mut().for_each(|message| message.text += place);
        self
    }

    /// The same stop as a result that could not be written, rather than a wrong command line.
    pub(crate) fn into_failure(self) -> Self {
        Self { exit: Exit::Failed, ..self }
    }

    /// Stops because a data file could not be read or written.
    pub(crate) fn data(exit: Exit, error: &IoError) -> Self {
        let mut message = Message::of(error);
        let mut exit = exit;
        match error {
            IoError::UnknownFormat { file, known } => {
                let is_picture =
                    known.split(", ").any(|name| PictureFormat::from_name(name).is_some());
                let is_animation =
                    exit == Exit::Usage && AnimationFormat::of_path(Path::new(file)).is_some();
                message.help = Some(if is_animation {
                    "`millstream bake` writes animations of frames".into()
                } else if is_picture {
                    format!(
                        "give a file with one of the extensions {known}, or name the format before \
                         it: png:FILE"
                    )
                } else {
                    let pictures = "of a picture, such as png, jpeg, exr, tiff or webp";
                    format!("give a file with one of the extensions {known}, or one {pictures}")
                });
            }
            IoError::Ended { why, .. } => {
                exit = Exit::Failed;
                message.help = match why {
                    Ended::Cancelled => None,
                    Ended::Deadline => {
                        Some("allow more time with --deadline, or read less".to_owned())
                    }
                };
            }
            _ => {}
        }
        Self::all(exit, vec![message])
    }
}

impl Stop {
    /// The messages.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The reasons as JSON, in the format in which `check` writes the problems of a document.
    pub(crate) fn problems(&self) -> Vec<Json> {
        let messages = self.messages.iter().map(|message| {
            json!({
                "severity": "error",
                "code": self.exit.name(),
                "path": "",
                "message": message.text,
                "help": message.help.as_deref().map(in_flags),
                "span": null,
            })
        });
        self.reported.iter().cloned().chain(messages).collect()
    }
}

impl Message {
    /// The message and the help of an error.
    pub(crate) fn of(error: &dyn miette::Diagnostic) -> Self {
        Self { text: error.to_string(), help: error.help().map(|help| help.to_string()) }
    }
}

/// A result that cannot be written stops the verb, silently if the reader of a pipe has gone.
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

/// Rephrases a hint of the library in terms of command line flags.
pub(crate) fn in_flags(help: &str) -> String {
    let help = help.replace(" in the limits", " with --limit");
    help.replace("allow the directory that holds it", "give its directory with --lib")
}

/// Shows the user a warning, after which the verb continues.
pub(crate) fn warn(text: &str, help: &str) {
    let style = terminal::of_stderr();
    eprint(&format!("{} {}\n", style.strong("warning:"), visible(text)));
    eprint(&format!("  {} {}\n", style.help("help:"), visible(help)));
}

/// Shows the user why a verb stopped.
pub(crate) fn report(stop: &Stop) -> Exit {
    let style = terminal::of_stderr();
    for message in &stop.messages {
        eprint(&format!("{} {}\n", style.error("error:"), visible(&message.text)));
        if let Some(help) = &message.help {
            let help = in_flags(help);
            eprint(&format!("  {} {}\n", style.help("help:"), visible(&help)));
        }
    }
    stop.exit
}

/// Shows the user, and the program that reads standard output, why a verb stopped.
pub(crate) fn report_as_json(stop: &Stop) -> Exit {
    let problems = stop.problems();
    if !problems.is_empty() {
        let written = writeln!(io::stdout().lock(), "{}", json!({ "problems": problems }));
        // The exit code and standard error carry the same information.
        drop(written);
    }
    report(stop)
}
