//! `millstream bench`: evaluators side by side on one graph.
//!
//! Runs alternate, so that what else the machine does hits all alike. The bound is the time that
//! reading the columns given and writing the outputs would take at the bandwidth of a copy that is
//! measured between the runs.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use millstream::parts::kernel::Data;
use millstream::session::Session;
use millstream::{
    Answer, Column, Engine, EvalError, Given, Limits, LogDetail, Program, Request, Type, Value,
};
use serde_json::{Value as Json, json};

use crate::document::{compile, read};
use crate::edits;
use crate::evaluators::{AnyEvaluator, EvaluatorName};
use crate::format::Format;
use crate::given::{assignment, given};
use crate::limits::limits;
use crate::moments::{self, FrameNumbers, Times};
use crate::outcome::{Exit, Stop};
use crate::random::Random;
use crate::request::refused;

const EXAMPLES: &str = "\
Examples:
  millstream bench examples/triangle_area.mill.json --count 1000000
  millstream bench examples/triangle_area.mill.json --in a=@examples/data/triangles.csv \\
      --in b=@examples/data/triangles.csv --in c=@examples/data/triangles.csv --format json
  millstream bench examples/triangle_area.mill.json --one --evaluator lazy --evaluator list
  millstream bench --edits --nodes 100000 --seconds 10
  millstream bench --edits examples/tone_curve.mill.json

Inputs of numbers that are not given become columns of arbitrary values, the same every time:
floats from 0 to 1, integers from 0 to 99.";

/// Elements if neither a count nor a column says how many.
const DEFAULT_COUNT: usize = 1_000_000;

/// Nodes of the graph that is edited if nobody says how many.
const DEFAULT_NODES: usize = 100_000;

/// Every evaluator runs at least so often.
const MIN_ROUNDS: usize = 5;

/// Time evaluators side by side
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The document, - for the standard input; with --edits a random one if it is left out
    #[arg(required_unless_present = "edits")]
    graph: Option<PathBuf>,
    /// Play live editing: 60 frames a second, with and without a random edit in each
    #[arg(long, conflicts_with_all = ["evaluators", "threads", "outputs", "time", "frame", "one"])]
    edits: bool,
    /// Nodes of the random graph that is edited [default: 100000]
    #[arg(long, value_name = "N", requires = "edits", conflicts_with = "graph")]
    nodes: Option<usize>,
    /// What an input is, or a column of a file with a value per element
    #[arg(long = "in", value_name = "NAME=VALUE")]
    inputs: Vec<String>,
    /// Evaluate for this many elements [default: 1000000, or as many as columns have]
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    /// Evaluate for single values, without columns
    #[arg(long, conflicts_with = "count")]
    one: bool,
    /// Time this evaluator; may be given several times [default: all]
    #[arg(long = "evaluator", value_name = "NAME", value_enum)]
    evaluators: Vec<EvaluatorName>,
    /// Evaluate at a time in seconds, T, or at many, A..B:STEP
    #[arg(long, value_name = "T", value_parser = moments::times, allow_hyphen_values = true)]
    time: Option<Times>,
    /// Evaluate at a frame, N, or at many, A..B
    #[arg(long, value_name = "N", value_parser = moments::frames, allow_hyphen_values = true,
          conflicts_with = "time")]
    frame: Option<FrameNumbers>,
    /// Compute only this output; may be given several times
    #[arg(long = "out", value_name = "NAME")]
    outputs: Vec<String>,
    /// Change a limit, such as nodes=1000; a wrong name lists all of them
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// How many threads evaluators may use [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Go on measuring for about this time
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    seconds: f64,
    /// How results are written
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// An evaluator that takes part.
struct Contender {
    evaluator: AnyEvaluator,
    seconds: Vec<f64>,
    /// Runs of all nodes in one evaluation, none where results were kept.
    runs: u64,
}

impl Contender {
    fn new(name: EvaluatorName, threads: NonZeroUsize) -> Self {
        let evaluator = AnyEvaluator::new(name, Some(threads));
        Self { evaluator, seconds: Vec::new(), runs: 0 }
    }

    /// Those named, or all; the chunked one also on one thread.
    fn all(names: &[EvaluatorName], threads: NonZeroUsize) -> Vec<Self> {
        let names = if names.is_empty() { EvaluatorName::value_variants() } else { names };
        let mut contenders = Vec::new();
        for name in names {
            if matches!(name, EvaluatorName::Chunked) && threads > NonZeroUsize::MIN {
                contenders.push(Self::new(*name, NonZeroUsize::MIN));
            }
            contenders.push(Self::new(*name, threads));
        }
        contenders
    }

    /// Counts the runs of nodes in an evaluation like those before.
    fn count(&mut self, program: &Program, request: &Request) -> Result<(), EvalError> {
        let request = request.clone().with_log(LogDetail::Counts);
        let answer = program.run_with(self.evaluator.evaluator(), &request)?;
        self.runs = answer.log.total_runs();
        Ok(())
    }

    /// Evaluates once; what becomes of the answer is not counted.
    fn run(&mut self, program: &Program, request: &Request) -> Result<Seen, EvalError> {
        let start = Instant::now();
        let answer = program.run_with(self.evaluator.evaluator(), request)?;
        self.seconds.push(start.elapsed().as_secs_f64());
        let seen = Seen::of(&answer);
        self.evaluator.give_back(answer);
        Ok(seen)
    }
}

/// What of an answer says how much was done.
struct Seen {
    n_elements: usize,
    bytes: usize,
    failure: Option<String>,
}

impl Seen {
    fn of(answer: &Answer) -> Self {
        let series = answer.outputs.iter().filter_map(|output| output.value.as_ref());
        let failure = answer.failures.first().map(ToString::to_string);
        Self {
            n_elements: answer.n_cells(),
            bytes: series.map(|series| bytes_of(&series.data)).sum(),
            failure,
        }
    }
}

/// Bytes that go through memory for data: those of a column, none for a single value.
fn bytes_of(data: &Data) -> usize {
    match data {
        Data::One(_) => 0,
        Data::Many(column) => column.len() * column.ty().size(),
    }
}

/// Times and shows.
pub(crate) fn bench(args: &Args) -> Result<Exit, Stop> {
    let limits = limits(&args.limits)?;
    let engine = Engine::new().with_limits(limits.clone());
    if args.edits {
        return play(args, &engine, &limits);
    }
    // The flags that make it needless were handled.
    let graph = args.graph.as_deref().unwrap_or(Path::new("-"));
    let text = read(graph, limits.document_bytes)?;
    let program = compile(&engine, &text)?;
    let request = request(args, &program, limits)?;
    let bound = request.bind(program.plan()).map_err(|e| refused(&EvalError::Request(e)))?;
    let bytes_in: usize = bound.inputs.iter().map(|data| bytes_of(&data.data)).sum();
    let machine = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = args.threads.unwrap_or_else(machine);
    let mut contenders = Contender::all(&args.evaluators, threads);
    let mut copies = [1, threads.get()].map(Copying::new);
    let until = Instant::now() + Duration::try_from_secs_f64(args.seconds).unwrap_or_default();
    let (mut seen, mut round) = (None, 0);
    while round <= MIN_ROUNDS || Instant::now() < until {
        for contender in &mut contenders {
            seen = Some(contender.run(&program, &request).map_err(|error| refused(&error))?);
        }
        copies.iter_mut().for_each(Copying::run);
        round += 1;
        if round == 1 {
            // The first run makes what later ones find.
            for contender in &mut contenders {
                contender.seconds.clear();
            }
        }
    }
    let seen = seen.expect("every evaluator ran");
    if let Some(failure) = seen.failure {
        return Err(Stop::new(Exit::Failed, failure, None));
    }
    for contender in &mut contenders {
        contender.count(&program, &request).map_err(|error| refused(&error))?;
    }
    let bytes = bytes_in + seen.bytes;
    let rows = contenders.into_iter().map(|contender| {
        let copy = if contender.evaluator.n_threads() == 1 { &copies[0] } else { &copies[1] };
        Row::new(&contender, seen.n_elements, bytes, bytes as f64 / copy.bytes_per_second())
    });
    let rows: Vec<Row> = rows.collect();
    match args.format {
        Format::Json => {
            let rows: Vec<Json> = rows.iter().map(Row::json).collect();
            println!("{}", json!({ "results": rows }));
        }
        Format::Text => {
            println!("{} elements, {bytes} bytes of columns read and written", seen.n_elements);
            println!(
                "evaluator  threads    median ms       min ms  ns/element   times bound       runs"
            );
            rows.iter().for_each(Row::print);
        }
    }
    Ok(Exit::Done)
}

/// Plays live editing.
fn play(args: &Args, engine: &Engine, limits: &Limits) -> Result<Exit, Stop> {
    let document = match &args.graph {
        Some(graph) => {
            let text = read(graph, limits.document_bytes)?;
            compile(engine, &text)?.document().clone()
        }
        None => edits::random_graph(args.nodes.unwrap_or(DEFAULT_NODES)),
    };
    let mut session = Session::new(engine, document);
    for text in &args.inputs {
        let at = assignment("--in", text)?;
        let def = session.document().inputs.get(at.name);
        let ty = def.and_then(|def| engine.registry().type_named(&def.ty));
        // What is no input is refused below, with the names there are.
        let given = given(at, ty.unwrap_or(Type::F32), limits)?;
        session.set_all([(at.name, given)]).map_err(|error| edits::refused(&error))?;
    }
    session.set_count(args.count);
    edits::play(session, args.seconds, args.format.is_json())
}

/// The request that the flags make, with a column for each input that is not given.
fn request(args: &Args, program: &Program, limits: Limits) -> Result<Request, Stop> {
    let mut request = Request::new();
    let mut count = args.count;
    let mut is_given = vec![false; program.inputs().len()];
    for text in &args.inputs {
        let at = assignment("--in", text)?;
        let known = program.inputs().iter().position(|input| &*input.name == at.name);
        let Some(known) = known else {
            // The plan refuses it, with the names there are.
            request = request.set(at.name, 0.0_f32);
            continue;
        };
        is_given[known] = true;
        request = match given(at, program.inputs()[known].ty, &limits)? {
            Given::One(value) => request.set(at.name, value),
            Given::PerIndex(column) => {
                count.get_or_insert(column.len());
                request.column(at.name, column)
            }
            Given::PerTime(column) => request.per_time(at.name, column),
        };
    }
    for name in &args.outputs {
        request = request.output(name);
    }
    request = match (&args.time, &args.frame) {
        (Some(Times::One(time)), _) => request.time(*time),
        (Some(Times::Many(times)), _) => request.times(times.clone()),
        (None, Some(FrameNumbers::One(frame))) => request.frame(*frame),
        (None, Some(FrameNumbers::Many(frames))) => request.frames(frames.clone()),
        (None, None) => request,
    };
    if args.one {
        return Ok(request.with_limits(limits));
    }
    let n = count.unwrap_or(DEFAULT_COUNT);
    request = request.count(n);
    if n <= limits.list_length {
        let inputs = program.inputs().iter().zip(is_given).enumerate();
        for (k, (input, _)) in inputs.filter(|(_, (_, given))| !given) {
            if let Some(column) = arbitrary(input.ty, n, k as u64) {
                request = request.column(&*input.name, column);
            }
        }
    }
    Ok(request.with_limits(limits))
}

/// Values that look random, for types made of numbers.
fn arbitrary(ty: Type, n: usize, salt: u64) -> Option<Column> {
    use millstream::parts::base::Lane;
    let (lane, width) = ty.lanes()?;
    let mut random = Random(salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    let mut bits = || {
        let x = random.bits() >> 40;
        let unit = x as f32 / 16_777_216.0;
        match lane {
            Lane::Bool => x & 1,
            Lane::I32 | Lane::I64 => x % 100,
            Lane::F32 => u64::from(unit.to_bits()),
            Lane::F64 => f64::from(unit).to_bits(),
        }
    };
    let mut lanes = vec![0; width as usize];
    let mut values = (0..n).map(|_| {
        lanes.fill_with(&mut bits);
        Value::from_lanes(ty, &lanes).expect("the lanes are those of the type")
    });
    ty.collect(&mut values)
}

/// A copy of memory, timed.
struct Copying {
    parts: Vec<(Vec<u64>, Vec<u64>)>,
    seconds: Vec<f64>,
}

/// Numbers that are copied: more than caches hold.
const COPIED: usize = 1 << 23;

impl Copying {
    fn new(n_threads: usize) -> Self {
        let part = || (vec![1; COPIED / n_threads], vec![0; COPIED / n_threads]);
        Self { parts: (0..n_threads).map(|_| part()).collect(), seconds: Vec::new() }
    }

    fn run(&mut self) {
        let start = Instant::now();
        let (own, others) = self.parts.split_at_mut(1);
        std::thread::scope(|scope| {
            for (from, to) in others {
                scope.spawn(|| to.copy_from_slice(from));
            }
            let (from, to) = &mut own[0];
            to.copy_from_slice(from);
        });
        self.seconds.push(start.elapsed().as_secs_f64());
    }

    /// Bytes read and written together.
    fn bytes_per_second(&self) -> f64 {
        let copied: usize = self.parts.iter().map(|(from, _)| size_of_val(&from[..])).sum();
        2.0 * copied as f64 / median(&self.seconds)
    }
}

fn median(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// What is told of one evaluator.
struct Row {
    evaluator: &'static str,
    threads: usize,
    runs: u64,
    elements: usize,
    median_s: f64,
    min_s: f64,
    bytes_moved: usize,
    bound_s: f64,
}

impl Row {
    fn new(contender: &Contender, elements: usize, bytes_moved: usize, bound_s: f64) -> Self {
        Self {
            evaluator: contender.evaluator.evaluator().name(),
            threads: contender.evaluator.n_threads(),
            runs: contender.runs,
            elements,
            median_s: median(&contender.seconds),
            min_s: contender.seconds.iter().copied().fold(f64::INFINITY, f64::min),
            bytes_moved,
            bound_s,
        }
    }

    fn ns_per_element(&self) -> f64 {
        self.median_s * 1e9 / self.elements.max(1) as f64
    }

    fn json(&self) -> Json {
        json!({
            "evaluator": self.evaluator,
            "threads": self.threads,
            "elements": self.elements,
            "median_s": self.median_s,
            "min_s": self.min_s,
            "ns_per_element": self.ns_per_element(),
            "bytes_moved": self.bytes_moved,
            "bound_s": self.bound_s,
            "runs": self.runs,
        })
    }

    fn print(&self) {
        let Self { evaluator, threads, median_s, min_s, bound_s, runs, .. } = self;
        let (median, min) = (median_s * 1e3, min_s * 1e3);
        let (each, times) = (self.ns_per_element(), median_s / bound_s);
        println!(
            "{evaluator:9} {threads:8} {median:12.4} {min:12.4} {each:11.3} {times:13.2} {runs:10}"
        );
    }
}
