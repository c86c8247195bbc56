//! `millstream run`: evaluates a graph on data.
//!
//! A call loads and compiles the document, reads the data, evaluates, saves, and prints. An output
//! without a value takes no other with it: the others are saved, drawn and printed.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use millstream::evaluate::OutputAnswer;
use millstream::{Answer, Engine, Evaluator, Limits, LogDetail, NodeFailure, Program, Request};
use millstream_io::Budget;
use millstream_io::pictures::Depth;
use serde_json::Value as Json;

use crate::document::{Lost, Text, compile_for, read_until};
use crate::evaluators::EvaluatorName;
use crate::format::Format;
use crate::gaps::Lack;
use crate::given::{assignment, file_of, open};
use crate::library::{LibraryArgs, engine};
use crate::limits::limits;
use crate::outcome::{Exit, Stop, in_flags};
use crate::picture::{
    self, PictureTarget, program_of_fields, program_of_images, program_of_picture, refuse_elements,
};
use crate::place::{Target, refuse_source};
use crate::plot::{Plot, PlotArgs};
use crate::progress::Progress;
use crate::request::{Files, RequestArgs, refused};
use crate::stats::{Phase, Phases};
use crate::stream::{Source, Stream};
use crate::tables::Coordinates;
use crate::terminal::{self, eprint, visible};
use crate::{interrupt, mesh, number, save, show, stats, unsettled, watch};

const EXAMPLES: &str = "\
Examples:
  millstream run examples/triangle_area.mill
  millstream run examples/triangle_area.mill --in b=[2,0,0] --in c=[0,2,0]
  millstream run examples/triangle_area.mill --in a=@examples/data/triangles.csv \\
      --in b=@examples/data/triangles.csv --in c=@examples/data/triangles.csv --save areas.csv
  millstream run examples/echo.mill --time 0..4:0.05
  millstream run examples/echo.mill --frame 1..48 --format json
  millstream run examples/night_sky.mill --size 1920x1080 --save sky.png
  millstream run my.mill --count 1000 --plot my.svg --watch
  millstream run examples/echo.mill --time 0..4:0.05 --plot echo.svg

Values are JSON: 1.5, [1, 2, 3], true. Strings need no quotes. @FILE takes the column named after \
the input, or the only column, of a csv, tsv, json, jsonl, npy, parquet, arrow, obj, ply or glTF \
file; @FILE:COLUMN takes another. Columns x, y and z of a table, or p.x, p.y and p.z, form a vec3. \
With --save, tables may be larger than memory.

If the extension does not tell the format, write the format and a colon first; - is standard input \
or output: --in a=@csv:- --in b=@csv:-:COLUMN --in c=@jsonl:DATA.log --save csv:-. Standard input \
is read once, as a whole, for all inputs.

A missing value (an empty cell, null, a key that a row lacks) reads as NaN in a column of floats \
and as the empty string in a column of strings. In integer and boolean columns it is an error that \
names the row: read such a column into an input of type f64 (`list.fill`, `table.fill` and \
`table.drop_missing` replace or drop its NaNs), or fill it beforehand.";

/// The hint for a document without outputs.
pub(crate) fn name_outputs(program: &Program) -> String {
    let output = program.document().form.of(
        "\"outputs\": {\"out\": {\"type\": \"f32\", \"from\": \"node.value\"}}",
        "`output out: f32 = node`",
    );
    format!("declare what to compute: {output}")
}

/// Evaluate a graph
#[derive(Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The document, - for standard input
    graph: PathBuf,
    #[command(flatten)]
    given: RequestArgs,
    /// Compute only this output; may be given several times. Errors in other parts of the document
    /// are printed; the exit code is 0 if the outputs named here have values, else 3
    #[arg(long = "out", value_name = "NAME")]
    outputs: Vec<String>,
    /// Write the outputs as columns of a csv, tsv, json, jsonl, npy, parquet, arrow, obj, ply or
    /// glTF file; FORMAT:FILE if the extension does not tell the format, FORMAT:- for standard
    /// output. Write an image, or a color at each pixel of the view, as a png, jpeg, exr, tiff or
    /// webp file; linear:FILE writes its integers as linear light
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// With --save of a picture: bits per channel, 8, 16, or 32 for floating point [default: usual
    /// for the format]
    #[arg(long, value_name = "BITS", value_parser = picture::depth, requires = "save")]
    depth: Option<Depth>,
    #[command(flatten)]
    plot: PlotArgs,
    /// With --save: the number of rows to read, evaluate and write at once, if the graph allows it
    #[arg(long, value_name = "ROWS", default_value_t = 1 << 16, requires = "save",
          value_parser = clap::value_parser!(u32).range(1..))]
    block: u32,
    /// The evaluator; all give the same bits
    #[arg(long, value_enum, default_value = "auto", conflicts_with = "watch")]
    evaluator: EvaluatorName,
    /// The maximum number of threads of the evaluator [default: all]
    #[arg(long, value_name = "N", value_parser = number::positive, allow_negative_numbers = true)]
    threads: Option<NonZeroUsize>,
    /// Show which nodes ran, how often, on how many elements, for how long, and why; and where the
    /// rest of the time went
    #[arg(long)]
    stats: bool,
    /// Evaluate again whenever the document, a document that it uses or a data file changes,
    /// running only the affected nodes and reporting them, until Ctrl-C
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    library: LibraryArgs,
    /// Change a limit, such as nodes=1000; a wrong name lists all of them
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// Give up after this time
    #[arg(long, value_name = "SECONDS", value_parser = deadline,
          allow_hyphen_values = true)]
    deadline: Option<Duration>,
    /// The format of results
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

fn deadline(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("`{text}` is not a number of seconds"))
}

/// Evaluates and prints the result.
pub(crate) fn run(args: &Args) -> Result<Exit, Stop> {
    if args.watch {
        return watch::watch(args);
    }
    once(args, &mut *args.evaluator.evaluator(args.threads), Instant::now())
}

/// Evaluates and prints once, with an evaluator that may hold earlier results.
pub(crate) fn once(
    args: &Args,
    evaluator: &mut dyn Evaluator,
    started: Instant,
) -> Result<Exit, Stop> {
    let limits = limits(&args.limits)?;
    let engine = args.library.with_documents(engine(limits.clone()), &args.graph)?;
    // While a document is only read or compiled, Ctrl-C ends the program immediately.
    let until = Budget::by(deadline_of(args, started));
    let text = read_until(&args.graph, limits.document_bytes, &until)?;
    let compiled = compile_for(&engine, &text, &args.outputs)?;
    let wanted = &args.outputs;
    let args = &Args { outputs: compiled.rest_of(wanted), ..args.clone() };
    let (program, lost) = (compiled.program, compiled.lost);
    let mut phases = Phases::from(started);
    phases.end(Phase::Load);
    let (target, plot) = check_targets(args)?;
    if let Some(target) = picture_target(args) {
        let has_view = args.given.has_view(&program);
        let asked = (&*args.outputs, args.given.flag_of_elements(), has_view);
        let (program, output) = program_of_picture(&engine, &text, program, asked)?;
        let outputs = [output];
        let request = request_of(args, &program, &outputs, limits, started, Files::Now)?;
        refuse_elements(&program, &outputs[0], &request, asked.1)?;
        let picture = (&target, &*outputs[0]);
        let at = args.given.coordinates(program.plan(), &request);
        let exit = save_picture(args, evaluator, (&program, request, &at), picture, phases)?;
        unsettled::report(&program, &at);
        return Ok(if lost.is_empty() { exit } else { Exit::Failed });
    }
    if let Some(target) = &target
        && lost.is_empty()
        && let Some(exit) = stream(args, evaluator, target, &program, (&limits, started))?
    {
        return Ok(exit);
    }
    let program = with_fields(args, &engine, &text, program)?;
    let mut request = request_of(args, &program, &args.outputs, limits, started, Files::Now)?;
    phases.end(Phase::Read);
    let at = args.given.coordinates(program.plan(), &request);
    match &target {
        Some(target) => check_columns(args, target, &program, (&request, &at))?,
        None => refuse_elements_of_plot(args, &program, &request)?,
    }
    let progress = Progress::start(None);
    request.progress = Some(progress.follow());
    let mut answer = program.run_with(evaluator, &request).map_err(|error| refused(&error))?;
    drop(progress);
    phases.end(Phase::Evaluate);
    report_failures(&answer, &at);
    add_lost(&mut answer, &lost, wanted);
    let warnings = unsettled::report(&program, &at);
    if args.watch && !args.stats {
        watch::report_runs(&program, &answer, started);
    }
    if answer.outputs.is_empty() {
        warn_of_no_outputs(&program);
    }
    if let Some(target) = &target {
        save::save_answer(target, &answer, &at, request.limits.cells())?;
    }
    if let Some(plot) = plot {
        plot.draw(&program, &request, args.given.only.as_ref(), &answer, &at)?;
    }
    show(args, (&program, &answer, &at), &warnings, phases)?;
    let failed = answer.outputs.iter().any(|output| output.value.is_none());
    let is_done = answer.failures.is_empty() && lost.is_empty() && !failed;
    Ok(if is_done { Exit::Done } else { Exit::Failed })
}

/// Adds outputs without values to an answer, in the order in which outputs were requested.
fn add_lost(answer: &mut Answer, lost: &[Lost], wanted: &[String]) {
    let of_lost = |Lost { name, ty }: &Lost| {
        let (name, ty) = (name.as_str().into(), (*ty)?);
        Some(OutputAnswer { name, ty, value: None, partial: None })
    };
    answer.outputs.extend(lost.iter().filter_map(of_lost));
    if !lost.is_empty() {
        answer.outputs.sort_by_key(|output| wanted.iter().position(|it| **it == *output.name));
    }
}

/// Prints an answer and, if asked for, the run log.
fn show(
    args: &Args,
    (program, answer, at): (&Program, &Answer, &Coordinates),
    warnings: &[Json],
    mut phases: Phases,
) -> Result<(), Stop> {
    match args.format {
        Format::Json => {
            let logged = args.stats.then_some((program, phases));
            show::json(answer, at, warnings, logged)?;
        }
        Format::Text => {
            // Saved outputs are not printed as well.
            if args.save.is_none() {
                show::text(answer, at, terminal::of_stdout())?;
            }
            if args.stats {
                phases.end(Phase::Write);
                stats::print(program, answer, &mut phases);
            }
        }
    }
    Ok(())
}

/// Evaluates and saves block by block, if the graph and the files allow it. A file that has to note
/// at its start that rows lack values is started again when one does.
fn stream(
    args: &Args,
    evaluator: &mut dyn Evaluator,
    target: &Target,
    program: &Program,
    (limits, started): (&Limits, Instant),
) -> Result<Option<Exit>, Stop> {
    for has_gaps in [false, true] {
        let Some((sources, outputs)) = in_blocks(args, target, program, limits, started)? else {
            return Ok(None);
        };
        let limits = limits.clone();
        let request = request_of(args, program, &args.outputs, limits, started, Files::Later)?;
        let at = args.given.coordinates(program.plan(), &request);
        let n_block = args.block as usize;
        let stream = Stream { program, request, outputs, sources, n_block, has_gaps };
        if let Some(exit) = stream.run(&mut *evaluator, target)? {
            unsettled::report(program, &at);
            return Ok(Some(exit));
        }
    }
    Ok(None)
}

fn warn_of_no_outputs(program: &Program) {
    let style = terminal::of_stderr();
    let help = style.help("help:");
    let hint = name_outputs(program);
    eprint(&format!("the document has no outputs, so nothing was computed\n  {help} {hint}\n"));
}

/// Refuses outputs that the format cannot hold before they are computed, as far as their types tell.
fn check_columns(
    args: &Args,
    target: &Target,
    program: &Program,
    (request, at): (&Request, &Coordinates),
) -> Result<(), Stop> {
    let is_asked = |name: &str| args.outputs.is_empty() || args.outputs.iter().any(|it| it == name);
    let asked = program.outputs().iter().filter(|output| is_asked(&output.name));
    let outputs: Vec<_> = asked.map(|output| (&*output.name, output.ty)).collect();
    save::check(target, &outputs, (at, request.n_elements().is_some()))
}

/// Refuses elements if images are plotted and no requested output differs between elements.
fn refuse_elements_of_plot(args: &Args, program: &Program, request: &Request) -> Result<(), Stop> {
    let flag = args.given.flag_of_elements().filter(|_| args.plot.plot.is_some());
    match picture::image_without_elements(program, &args.outputs) {
        Some(image) => refuse_elements(program, image, request, flag),
        None => Ok(()),
    }
}

/// The program; if its outputs are not saved, images are placed on the view, and if they are plotted,
/// fields over a view are images.
fn with_fields(
    args: &Args,
    engine: &Engine,
    text: &Text,
    program: Program,
) -> Result<Program, Stop> {
    if args.save.is_some() {
        return Ok(program);
    }
    let program = if args.given.has_view(&program) {
        program_of_images(engine, text, program, &args.outputs)?
    } else {
        program
    };
    if args.plot.plot.is_none() || !args.given.asks_for_pixels(&program, &args.outputs) {
        return Ok(program);
    }
    let given = &args.given;
    let elements = (given.flag_of_elements(), given.has_elements(&program));
    program_of_fields(engine, text, program, (&args.outputs, elements.0, elements.1))
}

/// The picture that `--save` names, if it names one.
fn picture_target(args: &Args) -> Option<PictureTarget> {
    args.save.as_ref().and_then(|path| PictureTarget::of(path, args.depth))
}

/// Evaluates the output shown by a picture, and writes it.
fn save_picture(
    args: &Args,
    evaluator: &mut dyn Evaluator,
    (program, mut request, at): (&Program, Request, &Coordinates),
    (target, output): (&PictureTarget, &str),
    mut phases: Phases,
) -> Result<Exit, Stop> {
    let is_one = !at.has_outer_axes() && args.given.count.is_none() && !args.stats && !args.watch;
    if is_one {
        let output = (output, at.number(0));
        if let Some(exit) = target.in_strips(program, evaluator, &request, output)? {
            return Ok(exit);
        }
    }
    let n_elements = request.n_elements();
    let progress = Progress::start(None);
    request.progress = Some(progress.follow());
    phases.end(Phase::Read);
    let started = Instant::now();
    let answer = program.run_with(evaluator, &request).map_err(|error| refused(&error))?;
    drop(progress);
    phases.end(Phase::Evaluate);
    report_failures(&answer, at);
    if args.watch && !args.stats {
        watch::report_runs(program, &answer, started);
    }
    let is_written = target.save(&answer, output, (at, n_elements))?;
    if args.stats {
        phases.end(Phase::Write);
        stats::print(program, &answer, &mut phases);
    }
    let is_done = is_written && answer.failures.is_empty();
    Ok(if is_done { Exit::Done } else { Exit::Failed })
}

/// The files to write, none of which may be among the files read.
pub(crate) fn check_targets(args: &Args) -> Result<(Option<Target>, Option<Plot<'_>>), Stop> {
    let sources = sources(args);
    let picture = picture_target(args);
    let is_picture = picture.is_some();
    if args.depth.is_some() && !is_picture {
        let text = "--depth has no effect because the file is not a picture";
        return Err(Stop::new(Exit::Usage, text, Some("leave it out".into())));
    }
    if is_picture && (args.format == Format::Json || args.plot.plot.is_some()) {
        let text = "--plot and --format json cannot be combined with saving a picture";
        return Err(Stop::new(Exit::Usage, text, Some("run once for each".into())));
    }
    if let Some(picture) = &picture {
        refuse_source(picture.path(), &sources)?;
    }
    let table = args.save.as_ref().filter(|_| !is_picture);
    let table = table.map(|path| args.given.name_of_table(path)).transpose()?;
    let target = table.map(|path| Target::of(&path, &sources)).transpose()?;
    if args.format == Format::Json && target.as_ref().is_some_and(Target::is_stdout) {
        let text = "--save and --format json would both write to standard output";
        return Err(Stop::new(Exit::Usage, text, Some("leave out one of them".into())));
    }
    Ok((target, args.plot.plot(&sources)?))
}

impl Args {
    /// The path of the document.
    pub(crate) fn graph(&self) -> &Path {
        &self.graph
    }

    /// The assignments to inputs and features, each `NAME=VALUE`.
    pub(crate) fn assignments(&self) -> impl Iterator<Item = &String> {
        self.given.inputs.iter().chain(&self.given.features)
    }
}

/// The deadline of the verb.
fn deadline_of(args: &Args, started: Instant) -> Option<Instant> {
    args.deadline.and_then(|seconds| started.checked_add(seconds))
}

/// The request of the flags for these outputs.
fn request_of(
    args: &Args,
    program: &Program,
    outputs: &[String],
    limits: Limits,
    started: Instant,
    files: Files,
) -> Result<Request, Stop> {
    let deadline = deadline_of(args, started);
    let request = args.given.request(program, outputs, limits, files, deadline)?;
    let detail = match (args.stats, args.watch) {
        (true, _) => LogDetail::Times,
        (false, true) => LogDetail::Counts,
        (false, false) => LogDetail::Off,
    };
    Ok(request.with_log(detail).with_partial())
}

/// The files that this call reads.
fn sources(args: &Args) -> Vec<&Path> {
    let data = args.assignments().filter_map(|text| file_of(text.split_once('=')?.1));
    std::iter::once(args.graph.as_path()).chain(data).collect()
}

/// The columns and outputs of a run block by block.
type InBlocks = (Vec<Source>, Vec<usize>);

/// The columns and outputs for a run block by block. This is possible if all files can be read in
/// blocks, and every output has a row per element and does not depend on all elements.
fn in_blocks(
    args: &Args,
    target: &Target,
    program: &Program,
    limits: &Limits,
    started: Instant,
) -> Result<Option<InBlocks>, Stop> {
    let plan = program.plan();
    let named = args.outputs.iter().map(|name| plan.output_named(name));
    let outputs: Option<Vec<usize>> = if args.outputs.is_empty() {
        Some((0..program.outputs().len()).collect())
    } else {
        named.collect()
    };
    let Some(outputs) = outputs else { return Ok(None) };
    let is_plain = args.given.count.is_none()
        && args.given.only.is_none()
        && !args.stats
        && !args.watch
        && args.plot.plot.is_none()
        && args.format == Format::Text
        && !args.given.coordinates(plan, &Request::new()).has_outer_axes()
        && !args.given.features.iter().any(|text| text.contains("=@"));
    if !is_plain || !program.is_local(&outputs) {
        return Ok(None);
    }
    // Faces are not rows.
    let has_faces = |output: &usize| {
        let output = &plan.outputs[*output];
        mesh::is_of_faces(&output.name, output.ty)
    };
    if target.is_mesh() && outputs.iter().any(has_faces) {
        return Ok(None);
    }
    let until = interrupt::until(deadline_of(args, started));
    let mut sources: Vec<Source> = Vec::new();
    for text in args.given.inputs.iter().filter(|text| text.contains("=@")) {
        let at = assignment("--in", text)?;
        let input = program.inputs().iter().find(|input| &*input.name == at.name);
        let is_twice = sources.iter().any(|source| source.input == at.name);
        let Some(input) = input.filter(|_| !is_twice) else { return Ok(None) };
        let Some(reader) = open(at, input.ty, limits, &until)? else { return Ok(None) };
        sources.push(Source { input: at.name.to_owned(), reader });
    }
    Ok((!sources.is_empty()).then_some((sources, outputs)))
}

pub(crate) fn report_failures(answer: &Answer, at: &Coordinates) {
    report_nodes(answer.failures.iter(), at);
    for output in answer.outputs.iter().filter(|output| output.value.is_none()) {
        Lack::of(output, answer).report(&output.name);
    }
}

/// Reports nodes that failed.
pub(crate) fn report_nodes<'f>(failures: impl Iterator<Item = &'f NodeFailure>, at: &Coordinates) {
    let style = terminal::of_stderr();
    for failure in failures {
        let text = format!("{}: {}", failure.path, failure.why_at(at.in_words(&failure.cell)));
        eprint(&format!("{} {}\n", style.error("error:"), visible(&text)));
        if let Some(help) = &failure.help {
            let help = in_flags(help);
            eprint(&format!("  {} {}\n", style.help("help:"), visible(&help)));
        }
    }
}
