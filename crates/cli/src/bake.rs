//! `millstream bake`: renders many frames of a document into a directory, each computed once.
//!
//! A call loads and compiles the document, decides which files are saved, opens the manifest and
//! the cache, and then takes the frames from the bake one by one. A frame is left alone if its
//! files already exist and were written under its current key. Each file gets its final name only
//! once it is complete; its line in the manifest follows. Several views are checked together and
//! then baked one after another, each into a directory of its own.

mod cache;
mod content;
mod job;
mod manifest;
mod rows;
mod saves;
mod sheet;
mod table;
mod taking;
mod told;
mod views;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use millstream::diagnostics::counted;
use millstream::evaluate::OneByOne;
use millstream::{EvalError, Footprint};
use millstream_bake::{Bake, Cache};
use millstream_io::pictures::Depth;
use millstream_io::{Budget, held};
use serde_json::json;

use crate::document::read_until;
use crate::evaluators::EvaluatorName;
use crate::format::Format;
use crate::library::{LibraryArgs, engine};
use crate::limits::limits;
use crate::moments::{self, FrameNumbers};
use crate::outcome::{Exit, Stop, warn};
use crate::picture;
use crate::place::refuse_source;
use crate::progress::Progress;
use crate::request::refused;
use crate::terminal::{self, eprint, visible};
use crate::views::NamedView;
use crate::{number, watch};
use content::publish;
use job::{Job, job};
use manifest::Manifest;
use saves::{Finished, Outdated, Saves};
use sheet::Sheet;
use taking::{Taking, Tally};
use told::{Reports, Told};
use views::Place;

const EXAMPLES: &str = "\
Examples:
  millstream bake examples/echo.mill --frames 0..96 -o baked
  millstream bake examples/pond.mill --frames 0..48 --count 4 -o baked --save waves.parquet
  millstream bake my.mill --frames 1..250 --size 1280x720 -o baked --save out.####.png --sheet
  millstream bake my.mill --frames 1..250 --every 10 --size 320x180 -o draft --save draft.gif
  millstream bake my.mill --frames 1..250 -o baked --save mesh.####.ply --watch
  millstream bake my.mill --frames 1..250 -o baked --view left=640x480 --view right=640x480
  millstream bake --status -o baked
  millstream bake --clean -o baked

A name with # signs stands for one file per frame; the frame number replaces the signs. Any other \
table gets a column for the frame; gif, apng, png and webp without # are animations. Without \
--save, pictures are saved as frame.####.png, meshes as frame.####.ply, and anything else as \
frames.csv.

A bake that was stopped, even killed, resumes where it left off. Results are cached by graph, \
inputs and context: after a change to the document, an input or the frames, only the results that \
depend on the change are recomputed. DIR/manifest.jsonl records for each frame its key, its files, \
the time it took, and whether it ran or was reused.";

/// The number of removed files that are reported individually.
const MAX_REMOVED: usize = 5;

/// The default size of the cache.
const CACHE_BYTES: u64 = 8 << 30;

/// Evaluate many frames into files; results of earlier bakes are reused
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Args {
    /// The document
    #[arg(required_unless_present_any = ["status", "clean"])]
    graph: Option<PathBuf>,
    /// The frames, A..B inclusive, or a single one
    #[arg(long, value_name = "A..B", value_parser = moments::frames, allow_hyphen_values = true,
          required_unless_present_any = ["status", "clean"])]
    frames: Option<FrameNumbers>,
    /// Bake only every Nth frame
    #[arg(long, value_name = "N", default_value = "1", value_parser = number::positive,
          allow_negative_numbers = true)]
    every: NonZeroUsize,
    /// The directory for the results, created if it does not exist
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// A file in the directory: pictures (png, jpeg, exr, tiff, webp), an animation (gif, apng,
    /// png, webp), a table (csv, tsv, json, jsonl, npy, parquet, arrow) or meshes (obj, ply, gltf);
    /// may be given several times
    #[arg(long = "save", value_name = "NAME")]
    saves: Vec<String>,
    /// Also write DIR/sheet.png, a contact sheet of up to 20 frames
    #[arg(long)]
    sheet: bool,
    /// The value of an input, or a column of a file with one value per element
    #[arg(long = "in", value_name = "NAME=VALUE")]
    inputs: Vec<String>,
    /// Evaluate for this many elements
    #[arg(long, value_name = "N", value_parser = number::count, allow_hyphen_values = true)]
    count: Option<usize>,
    /// Evaluate for a view of this many pixels
    #[arg(long, value_name = "WxH", value_parser = crate::views::view)]
    size: Option<Footprint>,
    /// Bake a named view, such as left=640x480, into DIR/NAME; may be given several times, and then
    /// --in INPUT@NAME=VALUE sets an input for one of them
    #[arg(long = "view", value_name = "NAME=WxH", value_parser = crate::views::named,
          conflicts_with = "size")]
    views: Vec<NamedView>,
    /// The value of a custom context feature
    #[arg(long = "feature", value_name = "NAME=VALUE")]
    features: Vec<String>,
    /// Compute only this output; may be given several times
    #[arg(long = "out", value_name = "NAME")]
    outputs: Vec<String>,
    /// Bits per channel of pictures: 8, 16, or 32 for floating point [default: usual for the
    /// format]
    #[arg(long, value_name = "BITS", value_parser = picture::depth)]
    depth: Option<Depth>,
    /// The directory of cached results, which several bakes may share [default: DIR/cache]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// The maximum size of the cache, such as 500M or 20G; the least recently used results are
    /// dropped first [default: 8G]
    #[arg(long, value_name = "BYTES", value_parser = cache::size)]
    cache_size: Option<u64>,
    /// Cache no results; write only the files
    #[arg(long, conflicts_with_all = ["cache", "cache_size"])]
    no_cache: bool,
    /// Show what the directory and its cache contain, and bake nothing
    #[arg(long, conflicts_with_all = ["clean", "watch"])]
    status: bool,
    /// Empty the cache, but keep the saved files
    #[arg(long, conflicts_with = "watch")]
    clean: bool,
    /// Bake again whenever the document, a document that it uses or a data file changes, until
    /// Ctrl-C
    #[arg(long)]
    watch: bool,
    /// The evaluator; all give the same bits
    #[arg(long, value_enum, default_value = "auto")]
    evaluator: EvaluatorName,
    /// The maximum number of threads of the evaluator [default: all]
    #[arg(long, value_name = "N", value_parser = number::positive, allow_negative_numbers = true)]
    threads: Option<NonZeroUsize>,
    #[command(flatten)]
    library: LibraryArgs,
    /// Change a limit, such as nodes=1000; a wrong name lists all of them
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// The format of the report
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

impl Args {
    /// The directory of the cache.
    fn cache(&self) -> PathBuf {
        self.cache.clone().unwrap_or_else(|| self.output.join("cache"))
    }

    /// The frames in ascending order.
    fn frames(&self) -> Vec<i64> {
        match &self.frames {
            Some(FrameNumbers::One(frame)) => vec![*frame],
            Some(FrameNumbers::Many(frames)) => {
                frames.iter().copied().step_by(self.every.get()).collect()
            }
            None => Vec::new(),
        }
    }

    /// The files that this call reads.
    fn sources(&self) -> Vec<&Path> {
        let given = self.inputs.iter().chain(&self.features);
        let data = given.filter_map(|text| crate::given::file_of(text.split_once('=')?.1));
        self.graph.as_deref().into_iter().chain(data).collect()
    }
}

/// Runs the verb: bakes, or shows or cleans the directory.
pub(crate) fn bake(args: &Args) -> Result<Exit, Stop> {
    if args.status {
        return cache::status(args.format, &args.output, &args.cache());
    }
    if args.clean {
        return cache::clean(args.format, &args.output, &args.cache());
    }
    let graph = args.graph.as_deref().expect("clap requires a graph here");
    if args.watch {
        watch::refuse_streams(graph, args.inputs.iter().chain(&args.features))?;
        return watch::until_ended(args.format.is_json(), || once(args, graph).map(drop));
    }
    once(args, graph)
}

fn once(args: &Args, graph: &Path) -> Result<Exit, Stop> {
    let started = Instant::now();
    let places = views::places(args)?;
    let limits = limits(&args.limits)?;
    let engine = args.library.with_documents(engine(limits.clone()), graph)?;
    let text = read_until(graph, limits.document_bytes, &Budget::default())?;
    // Whatever can be refused in any of the views is refused before anything is computed.
    let (mut jobs, mut saves) = (Vec::new(), Vec::new());
    for place in &places {
        let (job, files) = job(args, place, (&engine, &text), &limits)?;
        jobs.push(job);
        saves.push(files);
    }
    let bake_of = |job| bake_of(args, job).map_err(|error| refused(&error));
    let bakes: Vec<Bake<'_>> = jobs.iter().map(bake_of).collect::<Result<_, _>>()?;
    for (place, saves) in places.iter().zip(&saves) {
        ready_folder(args, &place.folder, saves)?;
    }
    let mut cache = if args.no_cache {
        Cache::none()
    } else {
        Cache::open(&args.cache(), args.cache_size.unwrap_or(CACHE_BYTES))
    };
    let mut baked = Baked::default();
    baked.problems.extend(cache::report_problems(&mut cache));
    for (i, saves) in saves.into_iter().enumerate() {
        in_place(args, &places[i], (&jobs[i], &bakes[i], saves), &mut cache, &mut baked)?;
    }
    report(args, &places, &baked, started.elapsed())?;
    let is_whole = !jobs.iter().any(|job| job.is_partial);
    let is_done = is_whole && baked.tally.failed == 0 && baked.reports.failures.is_empty();
    Ok(if is_done { Exit::Done } else { Exit::Failed })
}

fn bake_of<'j>(args: &Args, job: &'j Job) -> Result<Bake<'j>, EvalError> {
    let plan = job.program.plan();
    if args.views.len() > 1 {
        let refused = job.request.refuse_along(plan, OneByOne::Views);
        refused.map_err(|error| EvalError::Request(vec![error]))?;
    }
    Bake::new(plan, job.request.clone(), args.frames())
}

/// Creates a directory, and refuses one that is not writable, or to overwrite the sources.
fn ready_folder(args: &Args, folder: &Path, saves: &Saves) -> Result<(), Stop> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let text = format!("cannot create the directory `{}`: {error}", folder.display());
        Stop::new(Exit::Failed, text, Some("give another one with -o DIR".into()))
    })?;
    for name in saves.fixed_names() {
        refuse_source(&folder.join(name), &args.sources())?;
    }
    Manifest::check(folder)
}

/// The outcome of a call.
#[derive(Default)]
struct Baked {
    n_frames: usize,
    tally: Tally,
    /// The saved files by their names in the directory of the call.
    files: Vec<String>,
    /// The files of earlier bakes that were removed, because this one has no values for them.
    removed: Vec<String>,
    /// The files for which this bake has no values, but which no bake wrote.
    foreign: Vec<String>,
    problems: Vec<String>,
    reports: Reports,
}

/// Bakes into one directory.
fn in_place(
    args: &Args,
    place: &Place<'_>,
    (job, bake, mut saves): (&Job, &Bake<'_>, Saves),
    cache: &mut Cache,
    baked: &mut Baked,
) -> Result<(), Stop> {
    let folder = &place.folder;
    let fps = job.program.plan().fps;
    let document = args.graph.as_ref().map_or_else(String::new, |it| it.display().to_string());
    let header = manifest::Header { document: &document, fps, view: place.name };
    saves.supersede(manifest::listed(folder)?);
    let manifest = Manifest::open(folder, &header, saves.description(&job.shown))?;
    let sheet = args.sheet.then(|| Sheet::new(bake.frames()));
    saves.start(folder, fps / args.every.get() as f64, bake.frames())?;
    let taking = Taking {
        folder,
        bake,
        fps,
        shown: &job.shown,
        saves,
        sheet,
        manifest,
        progress: Progress::of_frames(bake.frames().len() as u64),
        tally: Tally::default(),
        ahead: BTreeMap::new(),
        told: Told::new(place.name),
    };
    let (mut taking, done) = taking::run(args, bake, cache, taking);
    baked.problems.extend(cache::report_problems(cache));
    drop(taking.progress);
    let mut told = taking.told;
    let is_given_up = done.as_ref().is_err_and(Stop::is_misfit);
    let done = match done {
        Err(stop) if !is_given_up => {
            told.finish(&mut baked.reports);
            return Err(match place.name {
                Some(view) => stop.at(&format!(" (at view {view})")),
                None => stop,
            });
        }
        // Other views are still to be baked, and a report for programs says where it was given up.
        Err(_) if args.views.len() > 1 || args.format.is_json() => Ok(()),
        done => done,
    };
    let (finished, complete) = held(|| taking.saves.finish(folder));
    let Finished { names: mut files, mut outdated, misfits } = finished?;
    publish(complete, &mut taking.manifest)?;
    for misfit in &misfits {
        told.unfinished(misfit);
    }
    told.finish(&mut baked.reports);
    if let Some(sheet) = taking.sheet {
        let (name, complete) = held(|| sheet.write(folder));
        match name? {
            Some(name) => files.push(name),
            None => outdated.remove(folder, sheet::NAME)?,
        }
        publish(complete, &mut taking.manifest)?;
    }
    let Outdated { removed, foreign, .. } = outdated;
    let told_files = (&*files, &*removed, &*foreign);
    let every = args.every.get();
    let n_replaced = taking.manifest.finish(folder, (bake.frames(), every), told_files)?;
    if n_replaced > 0 {
        let frames = counted(n_replaced as u64, "frame");
        let text = format!("{frames} of `{}` were replaced by another bake", folder.display());
        warn(&text, "it ran at the same time; bake again, or give each its own directory with -o");
        baked.problems.push(text);
    }
    done?;
    let Tally { ran, reused, failed } = taking.tally;
    // Nothing is left to be done for a view whose only file was given up.
    baked.n_frames += if is_given_up { ran + reused + failed } else { bake.frames().len() };
    baked.tally.add(&taking.tally);
    baked.files.extend(files.iter().map(|file| place.name_of(file)));
    baked.removed.extend(removed.iter().map(|file| place.name_of(file)));
    baked.foreign.extend(foreign.iter().map(|file| place.name_of(file)));
    Ok(())
}

fn report(args: &Args, places: &[Place<'_>], baked: &Baked, time: Duration) -> Result<(), Stop> {
    let Baked { n_frames: n, tally, files, removed, foreign, problems, reports } = baked;
    let kept = n - tally.ran - tally.reused - tally.failed;
    if args.format.is_json() {
        let manifest = |place: &Place<'_>| place.folder.join(manifest::NAME).display().to_string();
        let report = json!({
            "frames": n,
            "ran": tally.ran,
            "reused": tally.reused + kept,
            "failed": tally.failed,
            "seconds": time.as_secs_f64(),
            "files": files,
            "removed": removed,
            "kept": foreign,
            "manifests": places.iter().map(manifest).collect::<Vec<_>>(),
            "failures": reports.failures,
            "warnings": reports.warnings,
            "problems": problems,
        });
        terminal::print(&report.to_string())?;
        return Ok(());
    }
    let of_views = match args.views.len() {
        0 | 1 => String::new(),
        n => format!(" of {n} views"),
    };
    let failed =
        if tally.failed > 0 { format!(", {} failed", tally.failed) } else { String::new() };
    let rate = *n as f64 / time.as_secs_f64().max(1e-9);
    let text = format!(
        "baked {}{of_views} in {}: {} ran, {} reused{failed}; {rate:.1} frames/s\n",
        counted(*n as u64, "frame"),
        millstream::explain::short(time),
        tally.ran,
        tally.reused + kept,
    );
    eprint(&text);
    let path = |file: &String| visible(&args.output.join(file).display().to_string()).into_owned();
    for file in files {
        eprint(&format!("saved {}\n", path(file)));
    }
    for file in foreign {
        eprint(&format!("kept {}, which is not as a bake wrote it\n", path(file)));
    }
    for file in removed.iter().take(MAX_REMOVED) {
        eprint(&format!("removed {}, which had values of an earlier bake\n", path(file)));
    }
    if removed.len() > MAX_REMOVED {
        let n = removed.len() - MAX_REMOVED;
        eprint(&format!("removed {} more of an earlier bake\n", counted(n as u64, "file")));
    }
    Ok(())
}
