//! `millstream explain`: the dependencies and the fate of each node, and when it runs.

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use clap::ValueEnum;
use millstream::diagnostics::did_you_mean;
use millstream::explain::{
    Coloring, Explanation, Phase, dot, explain as explanation_of, explain_after, explain_run,
    graph_after, svg, text, write_json,
};
use millstream::{Engine, Error, Lazy, Limits, Program};
use serde_json::json;

use crate::document::{Text, compile, read, shown};
use crate::evaluators::EvaluatorName;
use crate::library::{LibraryArgs, engine};
use crate::limits::limits;
use crate::outcome::{Exit, Message, Stop};
use crate::picture::program_of_picture;
use crate::request::{Files, RequestArgs, refused};
use crate::run::report_failures;
use crate::terminal::visible_lines;
use crate::unsettled;

const EXAMPLES: &str = "\
Examples:
  millstream explain examples/triangle_area.mill
  millstream explain examples/triangle_area.mill --columns c
  millstream explain examples/triangle_area.mill --after merge-duplicates
  millstream explain examples/tone_curve.mill --after fuse --format svg > fused.svg
  millstream explain examples/triangle_area.mill --format svg > triangle.svg
  millstream explain examples/tone_curve.mill --run --count 256
  millstream explain examples/night_sky.mill --color context --format svg > sky.svg
  millstream explain examples/terrain.mill --run --size 640x360 --color time --format svg > heat.svg
  millstream explain my.mill.json --format dot | dot -Tpdf -o my.pdf

Passes: lower, conversions, fold-constants, merge-duplicates, simplify, prune, resolve-scopes, \
compose, nullify, fuse";

/// Show what each node depends on, what became of it, and when it runs
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The document, - for standard input
    file: PathBuf,
    /// Inputs that are columns with a value per element, separated by commas; `none` for none
    /// [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// Show the graph after this pass instead
    #[arg(long, value_name = "PASS", value_parser = phase, conflicts_with = "columns")]
    after: Option<Phase>,
    /// Evaluate, and show for each node whether it ran, why, on how many elements and for how long;
    /// with --size or --view, a value that depends on the position is computed at each pixel
    #[arg(long, conflicts_with_all = ["columns", "after"])]
    run: bool,
    #[command(flatten)]
    given: RequestArgs,
    /// With --run: compute only this output; may be given several times
    #[arg(long = "out", value_name = "NAME", requires = "run")]
    outputs: Vec<String>,
    /// With --run: the evaluator; all give the same bits [default: lazy]
    #[arg(long, value_enum, requires = "run", value_name = "NAME")]
    evaluator: Option<EvaluatorName>,
    /// What the colors of nodes show, with --format svg or dot; `runs` and `time` need --run
    #[arg(long, value_enum, default_value = "class", value_name = "WHAT")]
    color: Shade,
    #[command(flatten)]
    library: LibraryArgs,
    /// Change a limit, such as nodes=1000; a wrong name lists all of them
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// The format of results
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Shown,
}

/// The format of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shown {
    /// For people
    Text,
    /// For programs
    Json,
    /// For Graphviz
    Dot,
    /// A picture
    Svg,
}

/// The meaning of node colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shade {
    /// How often the result can change
    Class,
    /// The inputs and context features that it varies with
    Context,
    /// The number of elements it ran on
    Runs,
    /// Its share of the time
    Time,
}

impl Shade {
    fn coloring(self) -> Coloring {
        match self {
            Self::Class => Coloring::Class,
            Self::Context => Coloring::Context,
            Self::Runs => Coloring::Runs,
            Self::Time => Coloring::Time,
        }
    }
}

impl Shown {
    /// Whether results are for programs.
    pub(crate) fn is_json(self) -> bool {
        self == Self::Json
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

/// Explains the document and prints the result.
pub(crate) fn explain(args: &Args) -> Result<Exit, Stop> {
    let limits = limits(&args.limits)?;
    let engine = args.library.with_documents(engine(limits.clone()), &args.file)?;
    let source = read(&args.file, limits.document_bytes)?;
    let program = compile(&engine, &source)?;
    if !args.run {
        args.given.refuse_without("--run")?;
    }
    let coloring = args.color.coloring();
    let is_picture = matches!(args.format, Shown::Svg | Shown::Dot);
    if coloring != Coloring::default() && !is_picture {
        let text = "--color has no effect without a picture";
        return Err(Stop::new(Exit::Usage, text, Some("add --format svg".into())));
    }
    if coloring.is_of_run() && !args.run {
        let text = "these colors show an evaluation, but nothing is evaluated";
        return Err(Stop::new(Exit::Usage, text, Some("add --run".into())));
    }
    let mut out = std::io::stdout().lock();
    let shown = |error| shown(&source, error);
    if let (Some(phase), Shown::Text) = (args.after, args.format) {
        let graph = graph_after(&engine, program.document(), phase).map_err(shown)?;
        out.write_all(visible_lines(&graph).as_bytes())?;
        return Ok(Exit::Done);
    }
    let (explanation, exit) = if args.run {
        run(args, &engine, &source, program.clone(), limits)?
    } else if let Some(phase) = args.after {
        let explanation = explain_after(&engine, program.document(), phase);
        (explanation.map_err(shown)?, Exit::Done)
    } else {
        let columns = columns(args, &program)?;
        let explanation = explanation_of(&engine, program.document(), columns.as_deref());
        (explanation.map_err(shown)?, Exit::Done)
    };
    match args.format {
        Shown::Text => out.write_all(visible_lines(&text(&explanation)).as_bytes())?,
        Shown::Json => {
            let mut out = BufWriter::new(out);
            if let Some(phase) = args.after {
                let graph = graph_after(&engine, program.document(), phase).map_err(shown)?;
                write!(out, "{{\"after\": {}, \"graph\": {},", json!(phase.name()), json!(graph))?;
                write!(out, "\n\"explanation\": ")?;
                write_json(&explanation, &mut out)?;
                writeln!(out, "}}")?;
            } else {
                write_json(&explanation, &mut out)?;
            }
            out.flush()?;
        }
        Shown::Dot => out.write_all(dot(&explanation, coloring).as_bytes())?,
        Shown::Svg => {
            let picture = svg(&explanation, coloring)
                .map_err(|error| Stop::all(Exit::Failed, vec![Message::of(&error)]))?;
            out.write_all(picture.as_bytes())?;
        }
    }
    Ok(exit)
}

/// Evaluates, and explains the evaluation.
fn run(
    args: &Args,
    engine: &Engine,
    source: &Text,
    program: Program,
    limits: Limits,
) -> Result<(Explanation, Exit), Stop> {
    let (program, outputs) = if args.given.asks_for_picture(&program, &args.outputs) {
        let (program, output) =
            program_of_picture(engine, source, program, (&args.outputs, None, true))?;
        (program, vec![output])
    } else {
        (program, args.outputs.clone())
    };
    let request = args.given.request(&program, &outputs, limits, Files::Now, None)?;
    let evaluator = args.evaluator.map(|name| name.evaluator(None));
    let mut evaluator = evaluator.unwrap_or_else(|| Box::new(Lazy));
    let ran = explain_run(engine, &program, &mut *evaluator, &request);
    let (explanation, answer) = ran.map_err(|error| match error {
        Error::Eval(error) => refused(&error),
        Error::Document(_) => shown(source, error),
    })?;
    let at = args.given.coordinates(program.plan(), &request);
    report_failures(&answer, &at);
    unsettled::report(&program, &at);
    let exit = if answer.failures.is_empty() { Exit::Done } else { Exit::Failed };
    Ok((explanation, exit))
}

fn columns(args: &Args, program: &Program) -> Result<Option<Vec<String>>, Stop> {
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
