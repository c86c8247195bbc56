//! `millstream check`: all problems of documents, and their interfaces.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use millstream::deploy::is_binary;
use millstream::diagnostics::counted;
use millstream::twice::{Twice, twice};
use millstream::values::to_json;
use millstream::{Diagnostics, Engine, Error, Place, Program, Severity};
use serde_json::{Value as Json, json};

use crate::document::{Text, load, read, shown};
use crate::format::Format;
use crate::library::{LibraryArgs, engine};
use crate::limits::limits;
use crate::outcome::{Exit, Stop, report};
use crate::piped;
use crate::problems::{self, Lines};
use crate::request::{Files, RequestArgs, refused};
use crate::save::write_complete;
use crate::terminal::{self, Style, visible};

const EXAMPLES: &str = "\
Examples:
  millstream check my.mill.json
  millstream check examples/*.mill
  millstream check my.mill.json --format json
  millstream check my.mill.json --update-lock
  millstream check my.mill.json --twice
  millstream check my.mill.json --twice --in x=@data.csv --frame 12

The exit code is 1 if any document has an error; warnings and notes do not count.";

/// The maximum number of characters of a default that is printed.
const MAX_DEFAULT: usize = 120;

/// Show all problems of documents, and their interface
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The documents, - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Run every node twice with equal inputs, and name the nodes whose results differ although
    /// their type is declared static or contextual
    #[arg(long)]
    twice: bool,
    /// First update the hashes of used documents in each document
    #[arg(long)]
    update_lock: bool,
    #[command(flatten)]
    given: RequestArgs,
    #[command(flatten)]
    library: LibraryArgs,
    /// Change a limit, such as nodes=1000; a wrong name lists all of them
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// The format of results
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// Checks the documents and prints the result.
pub(crate) fn check(args: &Args) -> Result<Exit, Stop> {
    let limits = limits(&args.limits)?;
    let engine = engine(limits.clone());
    if args.files.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        let help = Some("give - once".to_owned());
        return Err(Stop::new(Exit::Usage, "standard input can be read only once", help));
    }
    if !args.twice {
        args.given.refuse_without("--twice")?;
    }
    let style = terminal::of_stdout();
    let mut out = std::io::stdout().lock();
    let mut exit = Exit::Done;
    let mut list = Vec::new();
    for path in &args.files {
        let engine = args.library.with_documents(engine.clone(), path)?;
        let text = read(path, limits.document_bytes);
        let text = match text.and_then(|text| updated(args, &engine, path, text)) {
            Ok(text) => text,
            Err(stop) => {
                exit = report(&stop);
                list.push(json!({
                    "file": path.display().to_string(),
                    "ok": false,
                    "problems": stop.problems(),
                    "interface": null,
                }));
                continue;
            }
        };
        let (program, problems) = match load(&engine, &text) {
            Ok(program) => {
                let mut problems = program.warnings().clone();
                if args.twice {
                    let Twice { liars, failed, not_run, undeclared, unread, unsettled } =
                        run_twice(args, &engine, &text, &program)?;
                    if !liars.is_empty() || !undeclared.is_empty() {
                        exit = Exit::Wrong;
                    }
                    for liar in liars {
                        problems.report(Place::at(liar.path.clone()), &liar);
                    }
                    for undeclared in undeclared {
                        problems.report(Place::at(undeclared.path.clone()), &undeclared);
                    }
                    for unread in unread {
                        problems.report(Place::at(unread.path.clone()), &unread);
                    }
                    for failed in failed {
                        problems.report(Place::at(failed.path.clone()), &failed);
                    }
                    for unsettled in unsettled {
                        problems.report(Place::at(unsettled.path.clone()), &unsettled);
                    }
                    for not_run in not_run {
                        problems.report(Place::at(not_run.path.clone()), &not_run);
                    }
                }
                (Some(program), problems)
            }
            Err(Error::Document(problems)) => {
                exit = Exit::Wrong;
                (None, problems)
            }
            Err(Error::Eval(error)) => unreachable!("nothing is evaluated: {error}"),
        };
        match args.format {
            Format::Text => {
                out.write_all(as_text(&text, program.as_ref(), &problems, style).as_bytes())?;
            }
            Format::Json => list.push(as_json(&text, program.as_ref(), &problems)),
        }
    }
    if args.format == Format::Json {
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
    }
    Ok(exit)
}

/// Updates the lock section of the text first, if the flags say so.
fn updated(args: &Args, engine: &Engine, path: &Path, text: Text) -> Result<Text, Stop> {
    if !args.update_lock || is_binary(&text.bytes) {
        return Ok(text);
    }
    if piped::is_piped(path) {
        let help = Some("name a file".to_owned());
        return Err(Stop::new(
            Exit::Usage,
            "--update-lock changes a file, but this is a stream",
            help,
        ));
    }
    let locked = engine.locked(&text.bytes).map_err(|error| shown(&text, error))?.into_bytes();
    if locked != text.bytes {
        write_complete(path, &locked)?;
    }
    Ok(Text { bytes: locked, ..text })
}

/// Runs every node twice on the data from the flags.
fn run_twice(args: &Args, engine: &Engine, text: &Text, program: &Program) -> Result<Twice, Stop> {
    let request = args.given.request(program, &[], engine.limits().clone(), Files::Now, None)?;
    twice(engine, program.document(), &request).map_err(|error| match error {
        Error::Eval(error) => refused(&error),
        Error::Document(_) => shown(text, error),
    })
}

fn as_text(text: &Text, program: Option<&Program>, problems: &Diagnostics, style: Style) -> String {
    let mut out = problems::text(&text.file, &text.bytes, problems, style);
    let mut facts = Vec::new();
    for (severity, what) in
        [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")]
    {
        let n = problems.iter().filter(|problem| problem.severity == severity).count();
        if n > 0 {
            facts.push(counted(n as u64, what));
        }
    }
    if let Some(program) = program {
        facts.push(counted(program.document().n_nodes() as u64, "node"));
        facts.push(format!("{} in the plan", counted(program.plan().steps.len() as u64, "step")));
    }
    let verdict = if program.is_some() { "ok" } else { "wrong" };
    line(&mut out, format_args!("{}: {verdict}, {}", style.strong(&text.file), facts.join(", ")));
    if let Some(program) = program {
        interface(&mut out, program);
    }
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a string does not fail");
}

fn interface(out: &mut String, program: &Program) {
    let document = program.document();
    for input in program.inputs() {
        let def = document.inputs.get(&input.name);
        let mut text = format!("  input {}: {}", input.name, input.ty);
        match &input.default {
            Some(default) => text += &format!(" = {}", shortened(default.to_string())),
            None => text += ", required",
        }
        if let Some(def) = def {
            let min = def.min.map(|min| format!("from {min}"));
            let max = def.max.map(|max| format!("to {max}"));
            let range: Vec<String> = min.into_iter().chain(max).collect();
            if !range.is_empty() {
                text += &format!(", {}", range.join(" "));
            }
            text += &note(def.unit.as_deref(), def.about.as_deref());
        }
        line(out, format_args!("{}", visible(&text)));
    }
    for output in program.outputs() {
        let def = document.outputs.get(&output.name);
        let note =
            def.map_or_else(String::new, |def| note(def.unit.as_deref(), def.about.as_deref()));
        let text = format!("  output {}: {}{note}", output.name, output.ty);
        line(out, format_args!("{}", visible(&text)));
    }
    // Several state variables of a node may have the same reason.
    let mut shown = HashSet::new();
    for requirement in program.requirements() {
        let (asker, way) = (requirement.asker(), requirement.way_text());
        let text = format!("  needs {} for {asker}: {way}", requirement.need);
        if shown.insert(text.clone()) {
            line(out, format_args!("{}", visible(&text)));
        }
    }
}

/// The start of a text that is too long to print.
fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_DEFAULT) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn note(unit: Option<&str>, about: Option<&str>) -> String {
    match (about, unit) {
        (Some(about), Some(unit)) => format!("  ({about}, in {unit})"),
        (Some(about), None) => format!("  ({about})"),
        (None, Some(unit)) => format!("  (in {unit})"),
        (None, None) => String::new(),
    }
}

fn as_json(text: &Text, program: Option<&Program>, problems: &Diagnostics) -> Json {
    let lines = Lines::of(&text.bytes);
    let problems: Vec<Json> =
        problems.iter().map(|problem| problems::json(&lines, problem)).collect();
    json!({
        "file": text.file,
        "ok": program.is_some(),
        "problems": problems,
        "interface": program.map(interface_json),
    })
}

fn interface_json(program: &Program) -> Json {
    let document = program.document();
    let inputs = program.inputs().iter().map(|input| {
        let def = document.inputs.get(&input.name);
        json!({
            "name": &*input.name,
            "type": input.ty.name(),
            "default": input.default.as_ref().map(to_json),
            "min": def.and_then(|def| def.min),
            "max": def.and_then(|def| def.max),
            "unit": def.and_then(|def| def.unit.as_deref()),
            "about": def.and_then(|def| def.about.as_deref()),
        })
    });
    let outputs = program.outputs().iter().map(|output| {
        let def = document.outputs.get(&output.name);
        json!({
            "name": &*output.name,
            "type": output.ty.name(),
            "unit": def.and_then(|def| def.unit.as_deref()),
            "about": def.and_then(|def| def.about.as_deref()),
        })
    });
    let needs = program.requirements().into_iter().map(|requirement| {
        let need = requirement.need.to_string();
        json!({ "feature": need, "output": requirement.output, "way": requirement.way })
    });
    json!({
        "name": &*document.name,
        "inputs": inputs.collect::<Vec<_>>(),
        "outputs": outputs.collect::<Vec<_>>(),
        "needs": needs.collect::<Vec<_>>(),
    })
}
