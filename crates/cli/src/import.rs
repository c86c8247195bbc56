//! `millstream import`: documents from files of other programs.
//!
//! A call reads and unpacks the file. Then, for each network, it makes the document, writes it, and
//! compares its results with the recorded ones. A network that fails does not stop the others.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};

use millstream::Engine;
use millstream::diagnostics::counted;
use millstream_blender::{
    Dump, ImportError, Network, OutputDifference, import as translate, verify,
};
use serde_json::{Value as Json, json};

use crate::format::Format;
use crate::library::engine;
use crate::limits::limits;
use crate::outcome::{Exit, Message, Stop};
use crate::save::{not_written, write_complete, written};
use crate::terminal::{self, Style};

const EXAMPLES: &str = "\
Examples:
  millstream import networks.json.gz -o documents
  millstream import networks.json.gz -o documents --verify
  millstream import one_network.json -o network.mill
  millstream import networks.json.gz --verify --tolerance 1e-6 --format json

tools/blender_export.py, run inside Blender, writes such files: the function nodes of node groups, \
with inputs and the values that Blender computed. Each network becomes a document, in JSON if -o \
names a directory; a single network can also be written to FILE.mill, in the text form, or \
FILE.mill.json. The difference of two numbers is |d| / max(1, |reference|); elements marked as \
sensitive in the file are not compared. The exit code is 1 if a network cannot be imported, an \
output differs by more than the tolerance, or a network had nothing to compare.";

/// The maximum size of an unpacked file in bytes.
const LARGEST: u64 = 1 << 30;

/// Make documents from Blender's function networks
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A dump of networks, .json or .json.gz
    file: PathBuf,
    /// The directory for the documents, created if it does not exist; or the file, if there is only
    /// one document
    #[arg(short, long, value_name = "DIR|FILE", required_unless_present = "verify")]
    out: Option<PathBuf>,
    /// Evaluate each document on the recorded inputs, and show the largest difference per output
    #[arg(long)]
    verify: bool,
    /// The largest difference at which outputs still agree
    #[arg(long, value_name = "D", default_value = "1e-5", value_parser = tolerance)]
    tolerance: f64,
    /// Change a limit, such as nodes=1000; a wrong name lists all of them
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// The format of results
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number.filter(|x| *x >= 0.0).ok_or_else(|| format!("`{text}` is not a number of at least 0"))
}

/// The outcome for one network.
struct Outcome {
    name: String,
    group: String,
    nodes: usize,
    problems: Vec<Message>,
    differences: Option<Vec<OutputDifference>>,
}

impl Outcome {
    fn agrees(&self, tolerance: f64) -> bool {
        let outputs = self.differences.iter().flatten();
        self.problems.is_empty()
            && !self.is_not_compared()
            && outputs.clone().all(|output| output.difference <= tolerance)
    }

    /// Whether a comparison was requested but there was nothing to compare.
    fn is_not_compared(&self) -> bool {
        let all_sensitive =
            |outputs: &Vec<OutputDifference>| outputs.iter().all(|output| output.compared == 0);
        self.differences.as_ref().is_some_and(all_sensitive)
    }
}

/// Imports, writes and compares.
pub(crate) fn import(args: &Args) -> Result<Exit, Stop> {
    let engine = engine(limits(&args.limits)?);
    let text = unpacked(&args.file)?;
    let dump = Dump::read(&text).map_err(|error| {
        let what = format!("cannot import `{}`: {error}", args.file.display());
        let help = miette::Diagnostic::help(&error).map(|help| help.to_string());
        Stop::new(Exit::Wrong, what, help)
    })?;
    let target = target(args, dump.networks.len())?;
    let mut names = Names::default();
    let mut outcomes = Vec::with_capacity(dump.networks.len());
    for (number, network) in dump.networks.iter().enumerate() {
        outcomes.push(outcome(args, &engine, (&mut names, &target), (number, network))?);
    }
    let style = terminal::of_stdout();
    let mut out = std::io::stdout().lock();
    match args.format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &as_json(args, &outcomes))?;
            writeln!(out)?;
        }
        Format::Text => out.write_all(as_text(args, &outcomes, style).as_bytes())?,
    }
    if args.verify && outcomes.is_empty() {
        return Err(Stop::new(
            Exit::Wrong,
            "the dump holds no networks, so nothing was compared",
            None,
        ));
    }
    let all_agree = outcomes.iter().all(|outcome| outcome.agrees(args.tolerance));
    Ok(if all_agree { Exit::Done } else { Exit::Wrong })
}

/// The destination of documents.
enum Target<'a> {
    Nowhere,
    Directory(&'a Path),
    /// The file for the only document.
    File(&'a Path),
}

/// Determines the destination of `n` documents, and creates the directory.
fn target(args: &Args, n: usize) -> Result<Target<'_>, Stop> {
    let Some(path) = &args.out else { return Ok(Target::Nowhere) };
    let name = path.to_string_lossy();
    let is_file = [".mill", ".mill.json"].iter().any(|ending| name.ends_with(ending));
    if !is_file || path.is_dir() {
        std::fs::create_dir_all(path).map_err(|error| not_written(path, &error))?;
        return Ok(Target::Directory(path));
    }
    if n == 1 {
        return Ok(Target::File(path));
    }
    let what = format!("`{}` holds one document, but there are {n} networks", path.display());
    Err(Stop::new(Exit::Usage, what, Some("name a directory: -o DIR".into())))
}

/// The content of the file, decompressed if necessary.
fn unpacked(path: &Path) -> Result<Vec<u8>, Stop> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.starts_with(&[0x1f, 0x8b]) {
            let mut text = Vec::new();
            let unpacker = flate2::read::MultiGzDecoder::new(&*bytes);
            unpacker.take(LARGEST + 1).read_to_end(&mut text)?;
            return Ok(text);
        }
        Ok(bytes)
    };
    let wrong = |why: String| {
        Stop::new(Exit::Wrong, format!("cannot read `{}`: {why}", path.display()), None)
    };
    let text = read().map_err(|error| wrong(error.to_string()))?;
    if text.len() as u64 > LARGEST {
        return Err(wrong(format!("it has more than {LARGEST} bytes")));
    }
    Ok(text)
}

fn outcome(
    args: &Args,
    engine: &Engine,
    (names, target): (&mut Names, &Target<'_>),
    (number, network): (usize, &Result<Network, ImportError>),
) -> Result<Outcome, Stop> {
    let wrong = |name: String, group: String, errors: &[ImportError]| {
        let problems = errors.iter().map(|error| Message::of(error)).collect();
        Outcome { name, group, nodes: 0, problems, differences: None }
    };
    let network = match network {
        Ok(network) => network,
        Err(error) => {
            return Ok(wrong(
                format!("network {number}"),
                String::new(),
                std::slice::from_ref(error),
            ));
        }
    };
    let name = names.free(&network.group);
    let imported = match translate(network) {
        Ok(imported) => imported,
        Err(errors) => return Ok(wrong(name, network.group.clone(), &errors)),
    };
    let path = match target {
        Target::Nowhere => None,
        Target::Directory(directory) => Some(directory.join(format!("{name}.mill.json"))),
        Target::File(path) => Some(path.to_path_buf()),
    };
    if let Some(path) = path {
        let document = written(&path, &imported.document, engine.registry());
        write_complete(&path, document.as_bytes())?;
    }
    let mut outcome = Outcome {
        name,
        group: network.group.clone(),
        nodes: network.n_nodes(),
        problems: Vec::new(),
        differences: None,
    };
    if args.verify {
        match verify(engine, network, &imported) {
            Ok(differences) => outcome.differences = Some(differences),
            Err(error) => {
                outcome.problems.push(Message { text: error.to_string(), help: None });
            }
        }
    }
    Ok(outcome)
}

/// File names, each used once.
#[derive(Default)]
struct Names(HashMap<String, u32>);

impl Names {
    /// The group name in lower-case letters, digits and underscores, with a number if that name is
    /// taken.
    fn free(&mut self, group: &str) -> String {
        let mut name = String::new();
        for c in group.chars() {
            if c.is_alphanumeric() {
                name.extend(c.to_lowercase());
            } else if !name.is_empty() && !name.ends_with('_') {
                name.push('_');
            }
        }
        let name = name.trim_end_matches('_');
        let name = if name.is_empty() { "network" } else { name };
        loop {
            let n = self.0.entry(name.to_owned()).or_insert(0);
            *n += 1;
            let free = if *n == 1 { name.to_owned() } else { format!("{name}_{n}") };
            if free == name || !self.0.contains_key(&free) {
                self.0.entry(free.clone()).or_insert(1);
                return free;
            }
        }
    }
}

fn as_text(args: &Args, outcomes: &[Outcome], style: Style) -> String {
    let mut out = String::new();
    for outcome in outcomes {
        if outcome.group.is_empty() {
            out += &outcome.name;
        } else {
            let group = terminal::visible(&outcome.group);
            let nodes = counted(outcome.nodes as u64, "node");
            out += &format!("{}: {group}, {nodes}", outcome.name);
        }
        out.push('\n');
        for problem in &outcome.problems {
            let text = terminal::visible(&problem.text);
            out += &format!("  {} {text}\n", style.error("error:"));
            if let Some(help) = &problem.help {
                out += &format!("    {} {help}\n", style.help("help:"));
            }
        }
        let outputs = outcome.differences.as_deref().unwrap_or_default();
        let width = outputs.iter().map(|output| output.output.len()).max().unwrap_or(0);
        for output in outputs {
            let name = &output.output;
            if output.compared == 0 {
                out += &format!("  {name:width$}  not compared");
            } else {
                out += &format!("  {name:width$}  {:.1e}", output.difference);
            }
            if output.sensitive > 0 {
                out += &format!(
                    "  ({} of {} compared)",
                    output.compared,
                    output.compared + output.sensitive
                );
            }
            if output.difference > args.tolerance {
                out += &format!("  {} element {}", style.error("differs:"), output.element);
            }
            out.push('\n');
        }
        if outcome.is_not_compared() {
            let text = "there was no recorded value to compare with a result of the document";
            out += &format!("  {} {text}\n", style.error("error:"));
        }
    }
    let n_wrong = outcomes.iter().filter(|outcome| !outcome.problems.is_empty()).count();
    let n_agree = outcomes.iter().filter(|outcome| outcome.agrees(args.tolerance)).count();
    out += &format!("{} of {} networks imported", outcomes.len() - n_wrong, outcomes.len());
    if args.verify {
        out += &format!(", {n_agree} agree to {:e}", args.tolerance);
        let n_not = outcomes.iter().filter(|outcome| outcome.is_not_compared()).count();
        if n_not > 0 {
            out += &format!(", {n_not} not compared");
        }
    }
    out.push('\n');
    out
}

fn as_json(args: &Args, outcomes: &[Outcome]) -> Json {
    let finite = |x: f64| if x.is_finite() { json!(x) } else { json!("inf") };
    let network = |outcome: &Outcome| {
        let outputs = outcome.differences.as_ref().map(|outputs| {
            let one = |output: &OutputDifference| {
                json!({
                    "name": output.output,
                    "difference": finite(output.difference),
                    "element": output.element,
                    "compared": output.compared,
                    "sensitive": output.sensitive,
                })
            };
            outputs.iter().map(one).collect::<Vec<_>>()
        });
        json!({
            "name": outcome.name,
            "group": outcome.group,
            "nodes": outcome.nodes,
            "errors": outcome.problems.iter().map(|problem| &problem.text).collect::<Vec<_>>(),
            "outputs": outputs,
            "compared": args.verify && outcome.differences.is_some() && !outcome.is_not_compared(),
            "ok": outcome.agrees(args.tolerance),
        })
    };
    json!({
        "tolerance": args.tolerance,
        "networks": outcomes.iter().map(network).collect::<Vec<_>>(),
    })
}
