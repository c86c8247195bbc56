//! Reading and compiling the document of a verb.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use millstream::deploy::is_binary;
use millstream::values::Type;
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

/// The program of certain outputs, and those of them that it lacks because of errors.
pub(crate) struct Compiled {
    pub(crate) program: Program,
    pub(crate) lost: Vec<Lost>,
}

/// A requested output that depends on an error of the document, or is not in it.
pub(crate) struct Lost {
    pub(crate) name: String,
    /// The type, if the document declares the output.
    pub(crate) ty: Option<Type>,
}

impl Compiled {
    /// The requested outputs that the program has.
    pub(crate) fn rest_of(&self, outputs: &[String]) -> Vec<String> {
        let is_lost = |name: &String| self.lost.iter().any(|lost| lost.name == *name);
        outputs.iter().filter(|name| !is_lost(name)).cloned().collect()
    }
}

/// Like [`compile`], for certain outputs only. Errors are printed but not fatal, unless all of
/// these outputs depend on them.
pub(crate) fn compile_for(
    engine: &Engine,
    text: &Text,
    outputs: &[String],
) -> Result<Compiled, Stop> {
    let error = match load(engine, text) {
        Err(error @ Error::Document(_)) if !outputs.is_empty() => error,
        loaded => {
            let mut program = loaded.map_err(|error| shown(text, error))?;
            if !outputs.is_empty() {
                program = engine.only_outputs(program, outputs);
            }
            return Ok(Compiled { program, lost: Vec::new() });
        }
    };
    let (Some(program), problems) = engine.load_partly(&text.bytes) else {
        return Err(shown(text, error));
    };
    let is_there = |name: &String| program.outputs().iter().any(|it| *it.name == **name);
    let (there, lost): (Vec<&String>, Vec<&String>) = outputs.iter().partition(|it| is_there(it));
    if there.is_empty() {
        return Err(shown(text, error));
    }
    eprint(&rendered(text, &problems));
    let declared = |name: &str| program.document().outputs.get(name);
    let ty_of = |name: &str| engine.registry().type_named(&declared(name)?.ty);
    let (lost, unknown): (Vec<&String>, Vec<&String>) =
        lost.into_iter().partition(|name| declared(name).is_some());
    for (names, one, several) in [
        (&there, "does not depend on these errors", "do not depend on these errors"),
        (&lost, "depends on them and has no value", "depend on them and have no values"),
        (&unknown, "is not among the outputs", "are not among the outputs"),
    ] {
        let listed: Vec<String> = names.iter().map(|name| format!("`{}`", visible(name))).collect();
        let verb = if names.len() == 1 { one } else { several };
        if !names.is_empty() {
            eprint(&format!("{}: {} {verb}\n", text.file, listed.join(", ")));
        }
    }
    let lost = lost.into_iter().chain(unknown);
    let lost = lost.map(|name| Lost { name: name.clone(), ty: ty_of(name) }).collect();
    Ok(Compiled { program, lost })
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
