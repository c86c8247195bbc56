//! `millstream fmt`: formats documents, and converts between JSON and the text form.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use millstream::document::{format_text, is_text, save, to_text};
use millstream::{Engine, Error};
use serde_json::{Value as Json, json};

use crate::document::{Text, read, shown};
use crate::format::Format;
use crate::library::engine;
use crate::limits::limits;
use crate::outcome::{Exit, Stop, report};
use crate::piped;
use crate::save::write_complete;
use crate::terminal::{eprint, visible};

const EXAMPLES: &str = "\
Examples:
  millstream fmt my.mill
  millstream fmt --check examples/*.mill
  millstream fmt my.mill.json -o my.mill
  millstream fmt my.mill -o my.mill.json
  millstream fmt my.mill.json --to text --stdout
  cat my.mill | millstream fmt -

A document is formatted in place and keeps its form, unless -o or --to say otherwise. The name of \
an output file determines its form: text for .mill, else JSON. Both forms hold the same, comments \
included. The exit code is 1 if a document cannot be read, or if --check found one that would \
change.";

/// Format documents, or convert them between JSON and the text form
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The documents, - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Write the document to this file instead, - for standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "stdout")]
    output: Option<PathBuf>,
    /// Write to standard output, as for a document from standard input
    #[arg(long, conflicts_with = "check")]
    stdout: bool,
    /// The form to write, if different from that of the file
    #[arg(long, value_enum, value_name = "FORM")]
    to: Option<Form>,
    /// Write nothing; name the files that would change
    #[arg(long)]
    check: bool,
    /// Change a limit, such as nodes=1000; a wrong name lists all of them
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// The format of the report
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// The form of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// For tools
    Json,
    /// For people
    Text,
}

impl Form {
    fn of(bytes: &[u8]) -> Self {
        if is_text(bytes) { Self::Text } else { Self::Json }
    }

    /// The form that a file name implies.
    fn of_name(path: &Path) -> Self {
        if path.extension().is_some_and(|ending| ending == "mill") {
            Self::Text
        } else {
            Self::Json
        }
    }
}

/// Formats and converts the documents.
pub(crate) fn fmt(args: &Args) -> Result<Exit, Stop> {
    refuse_contradictions(args)?;
    let engine = engine(limits(&args.limits)?);
    let mut exit = Exit::Done;
    let mut list = Vec::new();
    for path in &args.files {
        let done = one(args, &engine, path);
        let (is_changed, problems) = match done {
            Ok(is_changed) => (is_changed, Vec::new()),
            Err(stop) => {
                exit = report(&stop);
                (false, stop.problems())
            }
        };
        if is_changed && args.check {
            exit = Exit::Wrong;
        }
        list.push(json!({
            "file": piped::name_of(path),
            "changed": is_changed,
            "problems": problems,
        }));
    }
    if args.format == Format::Json {
        writeln!(std::io::stdout().lock(), "{:#}", Json::from(list))?;
    }
    Ok(exit)
}

fn refuse_contradictions(args: &Args) -> Result<(), Stop> {
    let refuse = |text: &str, help: &str| Err(Stop::new(Exit::Usage, text, Some(help.into())));
    let is_stdout = args.stdout || args.output.as_deref().is_some_and(piped::is_piped);
    if args.files.len() > 1 && args.output.is_some() {
        return refuse("-o takes one document", "leave out -o, or convert one by one");
    }
    if is_stdout && args.format == Format::Json && !args.check {
        let text = "the document and --format json would both go to standard output";
        return refuse(text, "leave out one of them");
    }
    let changes_form = args.to.is_some() && args.output.is_none();
    if changes_form && !is_stdout && !args.files.iter().all(|path| piped::is_piped(path)) {
        return refuse(
            "--to would change the form of a file but not its name",
            "name the new file with -o",
        );
    }
    Ok(())
}

/// Formats one document, and returns whether it changes.
fn one(args: &Args, engine: &Engine, path: &Path) -> Result<bool, Stop> {
    let text = read(path, engine.limits().document_bytes)?;
    let from = Form::of(&text.bytes);
    let named = args.output.as_deref().filter(|output| !piped::is_piped(output));
    let to = args.to.or(named.map(Form::of_name)).unwrap_or(from);
    let written = written(engine, &text, from, to)?;
    let is_piped = piped::is_piped(path) && named.is_none();
    let target = named.unwrap_or(path);
    if args.check {
        let old = if named.is_some() { std::fs::read(target).ok() } else { Some(text.bytes) };
        let is_changed = old.is_none_or(|old| old != written.as_bytes());
        if is_changed {
            eprint(&format!("{} would change\n", visible(&piped::name_of(target))));
        }
        return Ok(is_changed);
    }
    let is_changed = text.bytes != written.as_bytes();
    if args.stdout || is_piped || (args.output.is_some() && named.is_none()) {
        std::io::stdout().lock().write_all(written.as_bytes())?;
    } else if is_changed || named.is_some() {
        write_complete(target, written.as_bytes())?;
        if args.format == Format::Text {
            eprint(&format!("wrote {}\n", visible(&piped::name_of(target))));
        }
    }
    Ok(is_changed)
}

/// The document in the given form.
fn written(engine: &Engine, text: &Text, from: Form, to: Form) -> Result<String, Stop> {
    let wrong = |problems| shown(text, Error::Document(problems));
    if (from, to) == (Form::Text, Form::Text) {
        return format_text(&text.bytes, engine.limits()).map_err(wrong);
    }
    let (document, problems) = engine.read(&text.bytes);
    let Some(document) = document.filter(|_| !problems.has_errors()) else {
        return Err(wrong(problems));
    };
    if to == Form::Json {
        return Ok(save(&document));
    }
    let written = to_text(&document, engine.registry());
    let (again, problems) = engine.read(written.as_bytes());
    if again.as_ref() == Some(&document) && !problems.has_errors() {
        return Ok(written);
    }
    let help = Some(
        "keep it as JSON, and please report this document: every document should convert"
            .to_owned(),
    );
    Err(Stop::new(
        Exit::Failed,
        "the text form of this document would not read back the same",
        help,
    ))
}
