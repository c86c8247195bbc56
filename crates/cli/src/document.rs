//! Reading and compiling the document of a verb.

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
use crate::terminal::{self, eprint, visible};

/// The text of a document, with its name for messages.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) file: String,
    pub(crate) bytes: Vec<u8>,
}

/// Reads a document, from standard input if the path is `-`.
pub(crate) fn read(path: &Path, limit: usize) -> Result<Text, Stop> {
    read_until(path, limit, &Budget::default())
}

/// Like [`read`], but stops waiting for standard input or a pipe at a deadline or on Ctrl-C.
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
                ErrorKind::NotFound => Some("check the path; - stands for standard input"),
                ErrorKind::IsADirectory => Some("name a document inside it"),
                _ => None,
            };
            let text = format!("cannot read `{file}`: {error}");
            Err(Stop::new(Exit::Wrong, text, help.map(str::to_owned)))
        }
    }
}

/// Loads a document, or the compact form of a deployed one.
pub(crate) fn load(engine: &Engine, text: &Text) -> Result<Program, Error> {
    if is_binary(&text.bytes) { engine.load_binary(&text.bytes) } else { engine.load(&text.bytes) }
}

/// Compiles a document; its problems are printed to standard error.
pub(crate) fn compile(engine: &Engine, text: &Text) -> Result<Program, Stop> {
    load(engine, text).map_err(|error| shown(text, error))
}

/// Like [`compile`], for certain outputs only. Errors that these outputs do not depend on are
/// printed but not fatal.
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
    eprint(&rendered(text, &problems));
    let names: Vec<String> = outputs.iter().map(|name| format!("`{}`", visible(name))).collect();
    let (names, verb) = (names.join(", "), if names.len() == 1 { "does" } else { "do" });
    eprint(&format!("{}: {names} {verb} not depend on these errors\n", text.file));
    Ok(program)
}

/// Prints the problems of a document and returns the reason to stop.
pub(crate) fn shown(text: &Text, error: Error) -> Stop {
    match error {
        Error::Document(all) => {
            let mut problems = Diagnostics::new();
            // Notes are printed only by `check`.
            let serious = all.into_iter().filter(|problem| problem.severity > Severity::Note);
            serious.for_each(|problem| problems.push(problem));
            eprint(&rendered(text, &problems));
            let lines = Lines::of(&text.bytes);
            Stop::reported(
                Exit::Wrong,
                problems.iter().map(|p| problems::json(&lines, p)).collect(),
            )
        }
        Error::Eval(error) => Stop::all(Exit::Failed, vec![Message::of(&error)]),
    }
}

fn rendered(text: &Text, problems: &Diagnostics) -> String {
    problems::text(&text.file, &text.bytes, problems, terminal::of_stderr())
}
