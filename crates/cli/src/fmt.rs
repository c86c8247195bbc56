//! `millstream fmt`: lays documents out, and converts between JSON and the text form.

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
use crate::terminal::{tell, visible};

const EXAMPLES: &str = "\
Examples:
  millstream fmt my.mill
  millstream fmt --check examples/*.mill
  millstream fmt my.mill.json -o my.mill
  millstream fmt my.mill -o my.mill.json
  millstream fmt my.mill.json --to text --stdout
  cat my.mill | millstream fmt -

A document is laid out in its own form and place, unless -o or --to say otherwise; the form of an output
file follows from its name: text for .mill, else JSON. Both forms hold the same, comments included. The
exit code is 1 if a document cannot be read, or --check found one that would change.";

/// Lay documents out, or convert them between JSON and the text form
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The documents, - for the standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Write the document to this file instead, - for the standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "stdout")]
    output: Option<PathBuf>,
    /// Write to the standard output, as for a document from the standard input
    #[arg(long)]
    stdout: bool,
    /// The form to write, if it is not that of the file
    #[arg(long, value_enum, value_name = "FORM")]
    to: Option<Form>,
    /// Write nothing; name the files that would change
    #[arg(long)]
    check: bool,
    /// Change a limit, such as nodes=1000; a wrong name lists all of them
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// How the report is written
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

    /// The form that the name of a file stands for.
    fn of_name(path: &Path) -> Self {
        if path.extension().is_some_and(|ending| ending == "mill") {
            Self::Text
        } else {
            Self::Json
        }
    }
}

/// Lays out and converts.
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
        let text = "the document and --format json would both go to the standard output";
        return refuse(text, "leave out one of them");
    }
    let changes_form = args.to.is_some() && args.output.is_none();
    if changes_form && !is_stdout && !args.files.iter().all(|path| piped::is_piped(path)) {
        return refuse(
            "--to would change what is in a file, not its name",
            "name the new file with -o",
        );
    }
    Ok(())
}

/// Lays out one document; returns whether something changes.
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
            tell(&format!("{} would change\n", visible(&piped::name_of(target))));
        }
        return Ok(is_changed);
    }
    let is_changed = text.bytes != written.as_bytes();
    if args.stdout || is_piped || (args.output.is_some() && named.is_none()) {
        std::io::stdout().lock().write_all(written.as_bytes())?;
    } else if is_changed || named.is_some() {
        write_complete(target, written.as_bytes())?;
        if args.format == Format::Text {
            tell(&format!("wrote {}\n", visible(&piped::name_of(target))));
        }
    }
    Ok(is_changed)
}

/// The document in a form.
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
    let help = Some("keep it as JSON, and report this document: each should convert".to_owned());
    Err(Stop::new(
        Exit::Failed,
        "the text form of this document would not read back as it is",
        help,
    ))
}
