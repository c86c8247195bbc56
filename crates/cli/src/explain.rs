//! `millstream explain`: what each node depends on, what became of it, and when it runs.

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use clap::ValueEnum;
use millstream::Engine;
use millstream::explain::{dot, explain as explanation_of, graph_after, svg, text, write_json};
use millstream::parts::base::diagnostics::did_you_mean;
use millstream::parts::compile::Phase;
use serde_json::json;

use crate::document::{compile, read, shown};
use crate::limits::limits;
use crate::outcome::{Exit, Message, Stop};
use crate::terminal::visible_lines;

const EXAMPLES: &str = "\
Examples:
  millstream explain examples/triangle_area.mill.json
  millstream explain examples/triangle_area.mill.json --columns c
  millstream explain examples/triangle_area.mill.json --after merge-duplicates
  millstream explain examples/triangle_area.mill.json --format svg > triangle.svg
  millstream explain my.mill.json --format dot | dot -Tpdf -o my.pdf

Passes: lower, conversions, fold-constants, merge-duplicates, simplify, prune, nullify";

/// Show what each node depends on, what became of it, and when it runs
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The document, - for the standard input
    file: PathBuf,
    /// Inputs that are columns, with a value per element; without, all are; `none` for none
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// Show the graph as it is after this pass instead
    #[arg(long, value_name = "PASS", value_parser = phase, conflicts_with = "columns")]
    after: Option<Phase>,
    /// Change a limit, such as nodes=1000; a wrong name lists all of them
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// How results are written
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
    /// For Graphviz
    Dot,
    /// A picture
    Svg,
}

impl Args {
    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }
}

fn phase(name: &str) -> Result<Phase, String> {
    Phase::named(name).ok_or_else(|| {
        let names = Phase::ALL.map(Phase::name);
        match did_you_mean(name, names) {
            Some(near) => format!("there is no such pass; did you mean `{near}`?"),
            None => format!("there is no such pass; passes: {}", names.join(", ")),
        }
    })
}

/// Explains and shows.
pub(crate) fn explain(args: &Args) -> Result<Exit, Stop> {
    let limits = limits(&args.limits)?;
    let engine = Engine::new().with_limits(limits.clone());
    let source = read(&args.file, limits.document_bytes)?;
    let program = compile(&engine, &source)?;
    let mut out = std::io::stdout().lock();
    if let Some(phase) = args.after {
        let graph = graph_after(&engine, program.document(), phase)
            .map_err(|error| shown(&source, error))?;
        match args.format {
            Format::Text => out.write_all(visible_lines(&graph).as_bytes())?,
            Format::Json => writeln!(out, "{}", json!({ "after": phase.name(), "graph": graph }))?,
            Format::Dot | Format::Svg => {
                let help = Some("leave out --after, or take text or json".to_owned());
                let text = "--after shows the graph as text, not as a picture";
                return Err(Stop::new(Exit::Usage, text, help));
            }
        }
        return Ok(Exit::Done);
    }
    let columns = columns(args, &program)?;
    let explanation = explanation_of(&engine, program.document(), columns.as_deref())
        .map_err(|error| shown(&source, error))?;
    match args.format {
        Format::Text => out.write_all(visible_lines(&text(&explanation)).as_bytes())?,
        Format::Json => {
            let mut out = BufWriter::new(out);
            write_json(&explanation, &mut out)?;
            out.flush()?;
        }
        Format::Dot => out.write_all(dot(&explanation).as_bytes())?,
        Format::Svg => {
            let picture = svg(&explanation)
                .map_err(|error| Stop::all(Exit::Failed, vec![Message::of(&error)]))?;
            out.write_all(picture.as_bytes())?;
        }
    }
    Ok(Exit::Done)
}

fn columns(args: &Args, program: &millstream::Program) -> Result<Option<Vec<String>>, Stop> {
    let Some(names) = &args.columns else { return Ok(None) };
    let known = program.inputs().iter().map(|input| &*input.name);
    if names.as_slice() == ["none"] && !known.clone().any(|name| name == "none") {
        return Ok(Some(Vec::new()));
    }
    let mut columns: Vec<String> = Vec::new();
    for name in names {
        if !known.clone().any(|known| known == name) {
            let help = match did_you_mean(name, known.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("inputs: {}", known.collect::<Vec<_>>().join(", ")),
            };
            let text = format!("there is no input called `{name}`");
            return Err(Stop::new(Exit::Usage, text, Some(help)));
        }
        if !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    Ok(Some(columns))
}
