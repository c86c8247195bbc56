//! `millstream bench`: evaluators side by side on one graph.
//!
//! The request is repeated (`still`), its inputs change (`played`), or the graph is edited
//! (`crate::edits`).

mod asked;
mod changes;
mod contender;
mod played;
mod still;
mod study;

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use millstream::evaluate::Need;
use millstream::session::Session;
use millstream::{Engine, Feature, Footprint, Given, Limits, Request, RequestAxis, Type};
use millstream_io::Budget;

use crate::document::{compile, read};
use crate::edits;
use crate::evaluators::EvaluatorName;
use crate::format::Format;
use crate::given::{assignment, given};
use crate::library::{LibraryArgs, engine};
use crate::limits::limits;
use crate::moments::{self, FrameNumbers, Times};
use crate::number;
use crate::outcome::{Exit, Stop};
use crate::picture::program_of_fields;
use crate::request::{ViewFlag, features, unknown};
use crate::run::name_outputs;
use crate::views::view;
use asked::Asked;
use changes::{Changes, Kind};
use contender::Field;

const EXAMPLES: &str = "\
Examples:
  millstream bench examples/triangle_area.mill --count 1000000
  millstream bench examples/triangle_area.mill --in a=@examples/data/triangles.csv \\
      --in b=@examples/data/triangles.csv --in c=@examples/data/triangles.csv --format json
  millstream bench examples/triangle_area.mill --one --evaluator lazy --evaluator list
  millstream bench examples/tone_curve.mill --count 100000 --changes
  millstream bench examples/square_wave.mill --one --changes=one --per-read 8
  millstream bench examples/night_sky.mill --size 960x540
  millstream bench --edits --nodes 100000 --seconds 10
  millstream bench --edits examples/tone_curve.mill
  millstream bench --study results examples/*.mill

Numeric and boolean inputs that are not given become columns of arbitrary values, the same every \
time: floats from 0 to 1, integers from 0 to 99. With --changes, inputs that select an arm keep \
their default instead, or false or 0 without one. The changes are the same every time and for \
every evaluator, and the results are compared.";

/// The default number of elements for an edited document that reads the index.
const DEFAULT_EDITED: usize = 1000;

/// The default number of nodes of the random graph.
const DEFAULT_NODES: usize = 100_000;

/// Time evaluators side by side
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The document, - for standard input; with --edits a random one by default
    #[arg(value_name = "GRAPH", required_unless_present_any = ["edits", "study"])]
    graphs: Vec<PathBuf>,
    /// Compare strategies on families of graphs and on all given documents; writes tables and
    /// charts to this directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["edits", "evaluators", "outputs", "time",
          "frame", "one", "changes", "per_read", "inputs", "count", "size", "features", "nodes",
          "threads", "format"])]
    study: Option<PathBuf>,
    /// Simulate live editing: frames with and without a random edit in each
    #[arg(long, conflicts_with_all = ["evaluators", "threads", "outputs", "time", "frame", "one",
          "changes", "per_read"])]
    edits: bool,
    /// Change inputs between evaluations: every kind of change in turn, or only one kind
    #[arg(long, value_name = "KIND", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "all")]
    changes: Option<Kind>,
    /// With --changes: the number of changes between two evaluations
    #[arg(long, value_name = "N", default_value = "1", requires = "changes",
          value_parser = number::positive, allow_negative_numbers = true)]
    per_read: NonZeroUsize,
    /// With --edits: frames a second; a frame that takes longer than its share is missed
    #[arg(long, value_name = "HZ", default_value = "60", requires = "edits",
          value_parser = number::positive, allow_negative_numbers = true)]
    rate: NonZeroUsize,
    /// The number of nodes of the random graph to edit [default: 100000]
    #[arg(long, value_name = "N", requires = "edits", conflicts_with = "graphs",
          value_parser = number::positive, allow_negative_numbers = true)]
    nodes: Option<NonZeroUsize>,
    /// The value of an input, or a column of a file with one value per element
    #[arg(long = "in", value_name = "NAME=VALUE")]
    inputs: Vec<String>,
    /// Evaluate for this many elements [default: the length of the given columns, else 1000000;
    /// with --edits 1000 if a node reads the index]
    #[arg(long, value_name = "N", value_parser = number::count, allow_negative_numbers = true)]
    count: Option<usize>,
    /// Evaluate single values instead of columns; the default with --size
    #[arg(long, conflicts_with = "count")]
    one: bool,
    /// Time this evaluator; may be given several times [default: all]
    #[arg(long = "evaluator", value_name = "NAME", value_enum)]
    evaluators: Vec<EvaluatorName>,
    /// Evaluate at a time in seconds, T, or at several, A..B:STEP
    #[arg(long, value_name = "T", value_parser = moments::times, allow_hyphen_values = true)]
    time: Option<Times>,
    /// Evaluate at a frame, N, or at several, A..B
    #[arg(long, value_name = "N", value_parser = moments::frames, allow_hyphen_values = true,
          conflicts_with = "time")]
    frame: Option<FrameNumbers>,
    /// Evaluate pictures of this many pixels
    #[arg(long, value_name = "WxH", value_parser = view)]
    size: Option<Footprint>,
    /// The value of a custom context feature
    #[arg(long = "feature", value_name = "NAME=VALUE")]
    features: Vec<String>,
    /// Compute only this output; may be given several times
    #[arg(long = "out", value_name = "NAME")]
    outputs: Vec<String>,
    #[command(flatten)]
    library: LibraryArgs,
    /// Change a limit, such as nodes=1000; a wrong name lists all of them
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// The maximum number of threads of an evaluator [default: all]
    #[arg(long, value_name = "N", value_parser = number::positive, allow_negative_numbers = true)]
    threads: Option<NonZeroUsize>,
    /// Measure for about this long; 0 for the minimum number of rounds
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = number::seconds,
          allow_negative_numbers = true)]
    seconds: f64,
    /// The format of results
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// Runs the benchmark and prints the results.
pub(crate) fn bench(args: &Args) -> Result<Exit, Stop> {
    let limits = limits(&args.limits)?;
    if let Some(dir) = &args.study {
        return study(args, dir, &limits);
    }
    // Clap requires a graph except with the flags handled above.
    let graph = match &args.graphs[..] {
        [] => Path::new("-"),
        [graph] => graph,
        [_, other, ..] => {
            let text = format!(
                "only one document can be timed at a time, and {} is a second one",
                other.display()
            );
            let help = "--study DIR takes several".to_owned();
            return Err(Stop::new(Exit::Usage, text, Some(help)));
        }
    };
    let engine = args.library.with_documents(engine(limits.clone()), graph)?;
    if args.edits {
        return play(args, &engine, &limits);
    }
    let text = read(graph, limits.document_bytes)?;
    let mut program = compile(&engine, &text)?;
    if args.size.is_some() {
        let fields = (&*args.outputs, None, true);
        program = program_of_fields(&engine, &text, program, fields)?;
    }
    if program.outputs().is_empty() {
        let text = "the document has no outputs, so there is nothing to time";
        return Err(Stop::new(Exit::Wrong, text, Some(name_outputs(&program))));
    }
    let machine = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = args.threads.unwrap_or_else(machine);
    let asked = Asked::new(args, &program, limits)?;
    if let Some(kind) = args.changes {
        let changes = Changes::new(kind, &program, asked)?;
        let field = Field::of(&args.evaluators, threads, &program, &changes.request())?;
        return played::play(field, changes, args.per_read.get(), args.seconds, args.format);
    }
    let request = asked.request(&program);
    let field = Field::of(&args.evaluators, threads, &program, &request)?;
    let play = still::Play { program: &program, request: &request, bytes_in: asked.bytes() };
    still::time(field, &play, threads, args.seconds, args.format)
}

/// Runs `--study`.
fn study(args: &Args, dir: &Path, limits: &Limits) -> Result<Exit, Stop> {
    let mut documents = Vec::with_capacity(args.graphs.len());
    for graph in &args.graphs {
        let engine = args.library.with_documents(engine(limits.clone()), graph)?;
        let name = graph.file_name().unwrap_or(graph.as_os_str()).to_string_lossy();
        documents
            .push((name.into_owned(), compile(&engine, &read(graph, limits.document_bytes)?)?));
    }
    study::study(&engine(limits.clone()), &documents, dir, args.seconds)
}

/// Runs `--edits`.
fn play(args: &Args, engine: &Engine, limits: &Limits) -> Result<Exit, Stop> {
    let until = Budget::default();
    let mut count = args.count;
    let mut session = match args.graphs.first() {
        Some(graph) => {
            let text = read(graph, limits.document_bytes)?;
            let program = compile(engine, &text)?;
            let mut session = Session::new(engine, program.document().clone());
            let given = features(
                &program,
                (&Request::new(), &args.features),
                ViewFlag::size(args.size.as_ref()),
                limits,
                &until,
            )?;
            for (feature, given) in given {
                session.set_feature(feature, given);
            }
            let is_index = |need: &Need| need.level == 0 && need.feature == Feature::Index;
            if count.is_none() && program.needs().any(is_index) {
                count = Some(DEFAULT_EDITED);
            }
            session
        }
        None => {
            let n = args.nodes.map_or(DEFAULT_NODES, NonZeroUsize::get);
            for (name, limit) in
                [("nodes", limits.nodes), ("expanded_nodes", limits.expanded_nodes)]
            {
                if n > limit {
                    let text = format!("the graph would have {n} nodes; the limit is {limit}");
                    let help = Some(format!("raise it with --limit {name}={n}"));
                    return Err(Stop::new(Exit::Failed, text, help));
                }
            }
            let mut session = Session::new(engine, edits::random_graph(n));
            if let Some(count) = args.count {
                for (name, given) in edits::random_columns(count) {
                    session.set_all([(&*name, given)]).map_err(|error| edits::refused(&error))?;
                }
            }
            session
        }
    };
    let mut names = HashSet::new();
    for text in &args.inputs {
        let at = assignment("--in", text)?;
        let document = session.document();
        let Some(def) = document.inputs.get(at.name) else {
            let known = document.inputs.keys().map(|name| &**name);
            return Err(Stop::all(Exit::Usage, vec![unknown("there is no input", at.name, known)]));
        };
        let ty = engine.registry().type_named(&def.ty).unwrap_or(Type::F32);
        let given = given(at, ty, limits, &until)?;
        if !names.insert(at.name) {
            let text = format!("`{}` is given twice", at.name);
            return Err(Stop::new(Exit::Usage, text, Some("give it once".into())));
        }
        if let Given::Along(RequestAxis::Index, _) = given
            && args.count.is_none()
        {
            // The column determines the number of elements.
            count = None;
        }
        session.set_all([(at.name, given)]).map_err(|error| edits::refused(&error))?;
    }
    session.set_count(count);
    edits::play(session, args.rate.get(), args.seconds, args.format.is_json())
}
