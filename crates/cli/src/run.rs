//! `millstream run`: evaluates a graph on data.
//!
//! A call proceeds as: load and compile the document, read what is given, evaluate, save, show.
//! Nothing is saved unless every output that was asked for has a value.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use millstream::parts::base::diagnostics::did_you_mean;
use millstream::{
    Answer, Engine, EvalError, Feature, Given, Limits, LogDetail, Program, Request, RequestError,
    Value,
};

use crate::document::{compile, read};
use crate::evaluators::{AnyEvaluator, EvaluatorName};
use crate::given::{assignment, file_of, given, open};
use crate::limits::limits;
use crate::moments::{self, FrameNumbers, Times};
use crate::outcome::{Exit, Message, Stop, in_flags};
use crate::progress::Progress;
use crate::show::{self, Moments};
use crate::stream::{self, Source, Stream};
use crate::terminal::{self, tell, visible};
use crate::{range, save, stats};

const EXAMPLES: &str = "\
Examples:
  millstream run examples/triangle_area.mill.json
  millstream run examples/triangle_area.mill.json --in b=[2,0,0] --in c=[0,2,0]
  millstream run examples/triangle_area.mill.json --in a=@examples/data/triangles.csv \\
      --in b=@examples/data/triangles.csv --in c=@examples/data/triangles.csv --save areas.csv
  millstream run examples/echo.mill.json --time 0..4:0.05
  millstream run examples/echo.mill.json --frame 1..48 --format json

Values are JSON: 1.5, [1, 2, 3], true. Text needs no quotes. @FILE takes the column that is called
like the input, or the only one, of a csv, json, jsonl, npy, parquet, arrow, obj, ply or glTF file;
@FILE:COLUMN takes another. Columns x, y and z of a table, or p.x, p.y and p.z, make a vec3. With
--save, tables may be larger than memory.";

/// Evaluate a graph
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The document, - for the standard input
    graph: PathBuf,
    /// What an input is, or a column of a file with a value per element
    #[arg(long = "in", value_name = "NAME=VALUE")]
    inputs: Vec<String>,
    /// Evaluate for this many elements
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    count: Option<usize>,
    /// Evaluate at a time in seconds, T, or at many, A..B:STEP
    #[arg(long, value_name = "T", value_parser = moments::times, allow_hyphen_values = true)]
    time: Option<Times>,
    /// Evaluate at a frame, N, or at many, A..B
    #[arg(long, value_name = "N", value_parser = moments::frames, allow_hyphen_values = true,
          conflicts_with = "time")]
    frame: Option<FrameNumbers>,
    /// What a context feature of the document's own is
    #[arg(long = "feature", value_name = "NAME=VALUE")]
    features: Vec<String>,
    /// Compute only this output; may be given several times
    #[arg(long = "out", value_name = "NAME")]
    outputs: Vec<String>,
    /// Write the outputs as columns of a csv, json, jsonl, npy, parquet, arrow, obj or ply file
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// With --save: rows that are read, evaluated and written at once, where the graph allows it
    #[arg(long, value_name = "ROWS", default_value_t = 1 << 16,
          value_parser = clap::value_parser!(u32).range(1..))]
    block: u32,
    /// Which evaluator runs the graph; all give the same bits
    #[arg(long, value_enum, default_value = "lazy")]
    evaluator: EvaluatorName,
    /// How many threads the evaluator may use [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Show what ran, how often, on how many elements, and why
    #[arg(long)]
    stats: bool,
    /// Change a limit, such as nodes=1000; a wrong name lists all of them
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// Give up after this time
    #[arg(long, value_name = "SECONDS", value_parser = deadline,
          allow_hyphen_values = true)]
    deadline: Option<Duration>,
    /// How results are written
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people: values, tables and plots
    Text,
    /// For programs: every value, reading back to the same bits
    Json,
}

impl Args {
    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }
}

fn deadline(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("`{text}` is no number of seconds"))
}

/// Evaluates and shows.
pub(crate) fn run(args: &Args) -> Result<Exit, Stop> {
    let started = Instant::now();
    let limits = limits(&args.limits)?;
    let engine = Engine::new().with_limits(limits.clone());
    let text = read(&args.graph, limits.document_bytes)?;
    let program = compile(&engine, &text)?;
    if let Some(path) = &args.save {
        save::allowed(path, &sources(args))?;
    }
    let evaluator = AnyEvaluator::new(args.evaluator, args.threads);
    let evaluator = evaluator.evaluator();
    if let Some(path) = &args.save
        && let Some((sources, outputs)) = in_blocks(args, &program, &limits)?
    {
        let given = request(args, &program, limits, started, Files::Later)?;
        let n_block = args.block as usize;
        let program = &program;
        let stream = Stream { program, evaluator, request: given, outputs, sources, n_block };
        return stream.run(path);
    }
    let request = request(args, &program, limits, started, Files::Now)?;
    let progress = Progress::start(None);
    let answer = program.run_with(evaluator, &request).map_err(|error| refused(&error))?;
    drop(progress);
    let moments = moments_of(args, program.plan().fps);
    report_failures(&answer);
    let failed = answer.outputs.iter().any(|output| output.value.is_none());
    match &args.save {
        Some(path) if !failed => save::save_answer(path, &answer, moments.as_ref())?,
        Some(path) => {
            tell(&format!("{} is not written, because an output has no value\n", path.display()));
        }
        None => {}
    }
    match args.format {
        Format::Json => show::json(&answer, moments.as_ref(), args.stats.then_some(&program))?,
        Format::Text => {
            // What is saved need not be printed as well.
            if args.save.is_none() || failed {
                show::text(&answer, moments.as_ref(), terminal::of_stdout())?;
            }
            if args.stats {
                tell(&stats::text(&program, &answer, started.elapsed()));
            }
        }
    }
    Ok(if answer.failures.is_empty() && !failed { Exit::Done } else { Exit::Failed })
}

/// The files that this call reads.
fn sources(args: &Args) -> Vec<&Path> {
    let given = args.inputs.iter().chain(&args.features);
    let data = given.filter_map(|text| file_of(text.split_once('=')?.1));
    std::iter::once(args.graph.as_path()).chain(data).collect()
}

fn moments_of(args: &Args, fps: f64) -> Option<Moments> {
    match (&args.time, &args.frame) {
        (Some(Times::Many(times)), _) => Some(Moments { seconds: times.clone(), frames: None }),
        (_, Some(FrameNumbers::Many(frames))) => {
            let seconds = frames.iter().map(|frame| *frame as f64 / fps).collect();
            Some(Moments { seconds, frames: Some(frames.clone()) })
        }
        (Some(Times::One(_)) | None, Some(FrameNumbers::One(_)) | None) => None,
    }
}

/// When the files of inputs are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Files {
    Now,
    /// Block by block, by somebody else.
    Later,
}

/// The columns and outputs of a run that goes block by block.
type InBlocks = (Vec<Source>, Vec<usize>);

/// What there is for a run that goes block by block, if it can: all files are read in blocks, and
/// outputs have a row per element and need not know all of them.
fn in_blocks(args: &Args, program: &Program, limits: &Limits) -> Result<Option<InBlocks>, Stop> {
    let plan = program.plan();
    let named = args.outputs.iter().map(|name| plan.output_named(name));
    let outputs: Option<Vec<usize>> = if args.outputs.is_empty() {
        Some((0..program.outputs().len()).collect())
    } else {
        named.collect()
    };
    let Some(outputs) = outputs else { return Ok(None) };
    let is_plain = args.count.is_none()
        && !args.stats
        && args.format == Format::Text
        && moments_of(args, plan.fps).is_none()
        && !args.features.iter().any(|text| text.contains("=@"));
    if !is_plain || !stream::is_local(program, &outputs) {
        return Ok(None);
    }
    let mut sources: Vec<Source> = Vec::new();
    for text in args.inputs.iter().filter(|text| text.contains("=@")) {
        let at = assignment("--in", text)?;
        let input = program.inputs().iter().find(|input| &*input.name == at.name);
        let is_twice = sources.iter().any(|source| source.input == at.name);
        let Some(input) = input.filter(|_| !is_twice) else { return Ok(None) };
        let Some(reader) = open(at, input.ty, limits)? else { return Ok(None) };
        sources.push(Source { input: at.name.to_owned(), reader });
    }
    Ok((!sources.is_empty()).then_some((sources, outputs)))
}

/// The request that the flags make; all wrong flags at once.
fn request(
    args: &Args,
    program: &Program,
    limits: Limits,
    started: Instant,
    files: Files,
) -> Result<Request, Stop> {
    let mut request = Request::new();
    let mut messages = Vec::new();
    let mut assigned = Vec::new();
    for text in &args.inputs {
        let at = assignment("--in", text)?;
        match program.inputs().iter().find(|input| &*input.name == at.name) {
            Some(input) => assigned.push((at, input.ty)),
            None => {
                let known = program.inputs().iter().map(|input| &*input.name);
                messages.push(unknown("there is no input", at.name, known));
            }
        }
    }
    for (i, name) in args.outputs.iter().enumerate() {
        if args.outputs[..i].contains(name) {
            continue;
        }
        let known = program.outputs().iter();
        if known.clone().all(|output| *output.name != **name) {
            let known = known.map(|output| &*output.name);
            messages.push(unknown("there is no output", name, known));
        }
        request = request.output(name);
    }
    if !messages.is_empty() {
        return Err(Stop::all(Exit::Usage, messages));
    }
    for (at, ty) in assigned {
        if files == Files::Later && at.value.starts_with('@') {
            continue;
        }
        let given = given(at, ty, &limits)?;
        range::warn(program, at.name, &given);
        request = match given {
            Given::One(value) => request.set(at.name, value),
            Given::PerIndex(column) => request.column(at.name, column),
            Given::PerTime(column) => request.per_time(at.name, column),
        };
    }
    request = features(args, program, request, &limits)?;
    if let Some(n) = args.count {
        request = request.count(n);
    }
    request = match (&args.time, &args.frame) {
        (Some(Times::One(time)), _) => request.time(*time),
        (Some(Times::Many(times)), _) => request.times(times.clone()),
        (None, Some(FrameNumbers::One(frame))) => request.frame(*frame),
        (None, Some(FrameNumbers::Many(frames))) => request.frames(frames.clone()),
        (None, None) => request,
    };
    request.deadline = args.deadline.and_then(|seconds| started.checked_add(seconds));
    let detail = if args.stats { LogDetail::Times } else { LogDetail::Off };
    Ok(request.with_limits(limits).with_log(detail))
}

fn features(
    args: &Args,
    program: &Program,
    mut request: Request,
    limits: &Limits,
) -> Result<Request, Stop> {
    let needs = &program.plan().needs;
    for text in &args.features {
        let at = assignment("--feature", text)?;
        let flag = match at.name {
            "time" => Some("--time"),
            "tick" => Some("--frame"),
            "index" => Some("--count"),
            _ => None,
        };
        if let Some(flag) = flag {
            let help = Some(format!("give {flag}"));
            return Err(Stop::new(
                Exit::Usage,
                format!("`{}` has a flag of its own", at.name),
                help,
            ));
        }
        let named = needs.iter().map(|need| &need.feature).find(|f| f.name() == at.name);
        let Some(feature) = named else {
            let known = needs.iter().map(|need| need.feature.name());
            let message = unknown("the graph reads no feature", at.name, known);
            return Err(Stop::all(Exit::Usage, vec![message]));
        };
        request = request.feature(feature.clone(), given(at, feature.ty(), limits)?);
    }
    let is_given = args.features.iter().any(|text| text.starts_with("real_time="));
    if !is_given && needs.iter().any(|need| need.feature == Feature::RealTime) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64());
        request = request.feature(Feature::RealTime, Given::One(Value::F64(now)));
    }
    Ok(request)
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Message {
    let help = match did_you_mean(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let mut names: Vec<&str> = known.take(20).collect();
            names.dedup();
            if names.is_empty() {
                "the graph has none".into()
            } else {
                format!("there is {}", names.join(", "))
            }
        }
    };
    Message { text: format!("{what} called `{name}`"), help: Some(help) }
}

/// Why there is no answer, in words of the command line.
pub(crate) fn refused(error: &EvalError) -> Stop {
    match error {
        EvalError::Request(errors) => {
            let exit = errors.iter().map(exit_of).max_by_key(|exit| exit.code());
            Stop::all(exit.unwrap_or(Exit::Usage), errors.iter().map(message_of).collect())
        }
        EvalError::Deadline => {
            let help = Some("give it more with --deadline, or ask for less".to_owned());
            Stop::new(Exit::Failed, error.to_string(), help)
        }
        EvalError::Bytes { .. } => {
            let help = Some("raise it with --limit bytes=N, or ask for less".to_owned());
            Stop::new(Exit::Failed, error.to_string(), help)
        }
        _ => Stop::all(Exit::Failed, vec![Message::of(error)]),
    }
}

fn exit_of(error: &RequestError) -> Exit {
    match error {
        RequestError::Length { .. } => Exit::Wrong,
        RequestError::TooManyCells { .. } => Exit::Failed,
        _ => Exit::Usage,
    }
}

fn message_of(error: &RequestError) -> Message {
    let help = match error {
        RequestError::MissingFeature { need, hint, .. } => match need.as_str() {
            "time" => "give a time, --time 1.5 or --time 0..2:0.1, or a frame, --frame 12".into(),
            "tick" => "give a frame, --frame 12 or --frame 0..48".into(),
            "index" => {
                "give a number of elements, --count 100, or a column, --in NAME=@FILE".into()
            }
            name if !name.contains(' ') => format!("give it, --feature {name}=VALUE"),
            _ => hint.clone(),
        },
        RequestError::MissingInput { name, ty } => {
            format!("it is of type {ty}: give --in {name}=VALUE, or --in {name}=@FILE:COLUMN")
        }
        RequestError::TooManyCells { .. } => "raise it with --limit list_length=N".into(),
        _ => return Message::of(error),
    };
    Message { text: error.to_string(), help: Some(help) }
}

pub(crate) fn report_failures(answer: &Answer) {
    let style = terminal::of_stderr();
    for failure in &answer.failures {
        tell(&format!("{} {}\n", style.error("error:"), visible(&failure.to_string())));
        if let Some(help) = &failure.help {
            let help = in_flags(help);
            tell(&format!("  {} {}\n", style.help("help:"), visible(&help)));
        }
    }
    for output in answer.outputs.iter().filter(|output| output.value.is_none()) {
        tell(&format!("output `{}` has no value\n", visible(&output.name)));
    }
}
