//! Reading and compiling the document that a verb is about.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use millstream::deploy::is_binary;
use millstream::{Diagnostics, Engine, Error, Program, Severity};
use millstream_io::{Budget, IoError, Spot};

use crate::outcome::{Exit, Message, Stop};
use crate::piped;
use crate::problems::{self, Lines};
use crate::sources;
use crate::terminal::{self, tell, visible};

/// The text of a document with its name in messages.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) file: String,
    pub(crate) bytes: Vec<u8>,
}

/// Reads a document, from the standard input if the path is `-`.
pub(crate) fn read(path: &Path, limit: usize) -> Result<Text, Stop> {
    read_until(path, limit, &Budget::default())
}

/// As [`read`]; stops waiting for the standard input or a pipe at a deadline or on Ctrl-C.
pub(crate) fn read_until(path: &Path, limit: usize, until: &Budget) -> Result<Text, Stop> {
    let is_piped = piped::is_piped(path);
    sources::note(path);
    let file = piped::name_of(path);
    // One byte more than the limit, so that loading reports a document that is too large.
    let limit = (limit as u64).saturating_add(1);
    let done = if is_piped {
        piped::document(path, limit, until)
    } else {
        let mut bytes = Vec::new();
        let opened = File::open(path);
        opened.and_then(|file| file.take(limit).read_to_end(&mut bytes)).map(|_| bytes)
    };
    if is_piped && let Some(why) = until.ended() {
        let spot = Spot::file(&file);
        return Err(Stop::data(Exit::Failed, &IoError::Ended { spot, why }));
    }
    match done {
        Ok(bytes) => Ok(Text { file, bytes }),
        Err(error) => {
            let help = match error.kind() {
                ErrorKind::NotFound => Some("look at the path; - is the standard input"),
                ErrorKind::IsADirectory => Some("name a document in it"),
                _ => None,
            };
            let text = format!("cannot read `{file}`: {error}");
            Err(Stop::new(Exit::Wrong, text, help.map(str::to_owned)))
        }
    }
}

/// Loads a document, or the compact form of one that was deployed.
pub(crate) fn load(engine: &Engine, text: &Text) -> Result<Program, Error> {
    if is_binary(&text.bytes) { engine.load_binary(&text.bytes) } else { engine.load(&text.bytes) }
}

/// Compiles a document; its problems are shown on the standard error.
pub(crate) fn compile(engine: &Engine, text: &Text) -> Result<Program, Stop> {
    load(engine, text).map_err(|error| shown(text, error))
}

/// As [`compile`], for certain outputs: errors on which these do not depend are shown, and do not
/// matter.
pub(crate) fn compile_for(
    engine: &Engine,
    text: &Text,
    outputs: &[String],
) -> Result<Program, Stop> {
    let error = match load(engine, text) {
        Err(error @ Error::Document(_)) if !outputs.is_empty() => error,
        loaded => return loaded.map_err(|error| shown(text, error)),
    };
    let (program, problems) = engine.load_partly(&text.bytes);
    let has_all = |program: &Program| {
        outputs.iter().all(|name| program.outputs().iter().any(|it| *it.name == **name))
    };
    let Some(program) = program.filter(has_all) else { return Err(shown(text, error)) };
    tell(&rendered(text, &problems));
    let names: Vec<String> = outputs.iter().map(|name| format!("`{}`", visible(name))).collect();
    let (names, verb) = (names.join(", "), if names.len() == 1 { "does" } else { "do" });
    tell(&format!("{}: {names} {verb} not depend on these errors\n", text.file));
    Ok(program)
}

/// Shows the problems of a document.
pub(crate) fn shown(text: &Text, error: Error) -> Stop {
    match error {
        Error::Document(all) => {
            let mut problems = Diagnostics::new();
            // Only `check` tells what may be worth knowing about a document.
            let serious = all.into_iter().filter(|problem| problem.severity > Severity::Note);
            serious.for_each(|problem| problems.push(problem));
            tell(&rendered(text, &problems));
            let lines = Lines::of(&text.bytes);
            Stop::told(Exit::Wrong, problems.iter().map(|p| problems::json(&lines, p)).collect())
        }
        Error::Eval(error) => Stop::all(Exit::Failed, vec![Message::of(&error)]),
    }
}

fn rendered(text: &Text, problems: &Diagnostics) -> String {
    problems::text(&text.file, &text.bytes, problems, terminal::of_stderr())
}
