//! `millstream bake`: renders many frames of a document into a directory, each computed once.
//!
//! A call loads and compiles the document, decides which files are saved, opens the manifest and
//! the cache, and then takes the frames from the bake one by one. A frame is left alone if its
//! files already exist and were written under its current key. Each file gets its final name only
//! once it is complete; its line in the manifest follows. Several views are baked one after another,
//! each into a directory of its own.

mod cache;
mod manifest;
mod rows;
mod saves;
mod sheet;
mod table;
mod views;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use millstream::diagnostics::counted;
use millstream::evaluate::Data;
use millstream::values::{Image, Type, ValueType as _};
use millstream::{Answer, Footprint, LogDetail, Program, Request};
use millstream_bake::{Bake, BakeError, Cache, Fate, Part};
use millstream_io::Budget;
use millstream_io::pictures::Depth;
use serde_json::json;

use crate::document::{Text, compile_for, read_until};
use crate::evaluators::EvaluatorName;
use crate::format::Format;
use crate::library::{LibraryArgs, engine};
use crate::limits::limits;
use crate::moments::{self, FrameNumbers};
use crate::outcome::{Exit, Stop};
use crate::picture::{self, program_of_picture};
use crate::place::refuse_source;
use crate::progress::Progress;
use crate::request::{Files, RequestArgs, refused};
use crate::run::report_failures;
use crate::tables::Coordinates;
use crate::terminal::{self, eprint, visible};
use crate::views::NamedView;
use crate::{interrupt, number, unsettled, watch};
use manifest::{Manifest, Record};
use saves::{Saves, Shown, usual_names};
use sheet::Sheet;
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

A name with # signs stands for one file per frame; the frame number replaces the signs. Any other
table gets a column for the frame; gif, apng, png and webp without # are animations. Without --save,
pictures are saved as frame.####.png, meshes as frame.####.ply, and anything else as frames.csv.

A bake that was stopped, even killed, resumes where it left off. Results are cached by graph, inputs
and context: after a change to the document, an input or the frames, only the results that depend on
the change are recomputed. DIR/manifest.jsonl records for each frame its key, its files, the time it
took, and whether it ran or was reused.";

/// The default size of the cache.
const CACHE_BYTES: u64 = 8 << 30;

/// The number of failed frames that are reported individually.
const MAX_REPORTED: usize = 3;

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

/// A bake that is ready to run.
struct Job {
    program: Program,
    request: Request,
    saves: Saves,
    shown: Shown,
}

fn once(args: &Args, graph: &Path) -> Result<Exit, Stop> {
    let started = Instant::now();
    let places = views::places(args)?;
    let limits = limits(&args.limits)?;
    let engine = args.library.with_documents(engine(limits.clone()), graph)?;
    let text = read_until(graph, limits.document_bytes, &Budget::default())?;
    let mut baked = Baked::default();
    for place in &places {
        in_place(args, place, (&engine, &text), &limits, &mut baked)?;
    }
    report(args, &places, &baked, started.elapsed())?;
    Ok(if baked.tally.failed == 0 { Exit::Done } else { Exit::Failed })
}

/// The outcome of a call.
#[derive(Default)]
struct Baked {
    n_frames: usize,
    tally: Tally,
    /// The saved files by their names in the directory of the call.
    files: Vec<String>,
    problems: Vec<String>,
}

/// Bakes into one directory.
fn in_place(
    args: &Args,
    place: &Place<'_>,
    (engine, text): (&millstream::Engine, &Text),
    limits: &millstream::Limits,
    baked: &mut Baked,
) -> Result<(), Stop> {
    let folder = &place.folder;
    let frames = args.frames();
    let program = compile_for(engine, text, &args.outputs)?;
    let job = job(args, place, (engine, text), program, limits.clone())?;
    let Job { program, request, mut saves, shown } = job;
    let bake = Bake::new(program.plan(), request, frames);
    let bake = bake.map_err(|error| refused(&error))?;
    let fps = program.plan().fps;
    std::fs::create_dir_all(folder).map_err(|error| {
        let text = format!("cannot create the directory `{}`: {error}", folder.display());
        Stop::new(Exit::Failed, text, Some("give another one with -o DIR".into()))
    })?;
    for name in saves.fixed_names() {
        refuse_source(&folder.join(name), &args.sources())?;
    }
    let document = args.graph.as_ref().map_or_else(String::new, |it| it.display().to_string());
    let manifest = Manifest::open(folder, &document, fps, saves.description(&shown))?;
    let mut cache = if args.no_cache {
        Cache::none()
    } else {
        Cache::open(&args.cache(), args.cache_size.unwrap_or(CACHE_BYTES))
    };
    baked.problems.extend(cache::report_problems(&mut cache));
    let sheet = args.sheet.then(|| Sheet::new(bake.frames()));
    saves.start(folder, fps / args.every.get() as f64, bake.frames())?;
    let taking = Taking {
        folder,
        bake: &bake,
        fps,
        shown: &shown,
        saves,
        sheet,
        manifest,
        progress: Progress::of_frames(bake.frames().len() as u64),
        tally: Tally::default(),
        ahead: BTreeMap::new(),
    };
    let taking = run(args, &bake, &mut cache, taking)?;
    baked.problems.extend(cache::report_problems(&mut cache));
    drop(taking.progress);
    baked.problems.extend(unsettled::report(&program).iter().map(unsettled::text));
    let mut files = taking.saves.finish()?;
    if let Some(sheet) = taking.sheet {
        files.extend(sheet.write(folder)?);
    }
    taking.manifest.finish(bake.frames(), args.every.get())?;
    baked.n_frames += bake.frames().len();
    baked.tally.add(&taking.tally);
    baked.files.extend(files.iter().map(|file| place.name_of(file)));
    Ok(())
}

/// Compiles the program and determines the request and the files to save.
fn job(
    args: &Args,
    place: &Place<'_>,
    (engine, text): (&millstream::Engine, &Text),
    program: Program,
    limits: millstream::Limits,
) -> Result<Job, Stop> {
    let named = |name: &str| args.outputs.is_empty() || args.outputs.iter().any(|it| it == name);
    if program.outputs().is_empty() {
        let text = "the document has no outputs, so there is nothing to bake";
        return Err(Stop::new(Exit::Wrong, text, Some(crate::run::name_outputs(&program))));
    }
    let mut names = args.saves.clone();
    let are_usual = names.is_empty();
    if are_usual {
        names.extend(usual_names(&program, named, (place.has_view(), args.sheet)));
    }
    if args.sheet && names.iter().any(|name| name == sheet::NAME) {
        let text = format!("`{}` is the contact sheet of --sheet", sheet::NAME);
        return Err(Stop::new(Exit::Usage, text, Some("save under another name".into())));
    }
    let saves = Saves::of(&names, args.frames().len(), args.depth)?;
    if args.depth.is_some() && !saves.has_pictures() {
        let (text, help) = if saves.has_animations() {
            let help = "leave it out, or save pictures, such as out.####.png";
            ("--depth has no effect: animations have 8 bits per channel", help)
        } else {
            ("--depth has no effect: no file is a picture", "leave it out")
        };
        return Err(Stop::new(Exit::Usage, text, Some(help.into())));
    }
    let (program, picture) = if saves.has_pictures() || saves.has_animations() || args.sheet {
        let (program, name) = program_of_picture(engine, text, program, &args.outputs)?;
        (program, Some(name))
    } else {
        (program, None)
    };
    let outputs: Vec<String> = match &picture {
        Some(name) if !saves.has_tables() => vec![name.clone()],
        Some(_) | None if args.outputs.is_empty() => {
            program.outputs().iter().map(|output| output.name.to_string()).collect()
        }
        Some(_) | None => args.outputs.clone(),
    };
    if saves.has_tables() {
        refuse_hidden_images(&program, &outputs, picture.as_deref())?;
    }
    let given = RequestArgs {
        inputs: place.inputs.clone(),
        count: args.count,
        only: None,
        time: None,
        frame: None,
        size: place.size(&program, are_usual).cloned(),
        views: Vec::new(),
        reduce: 1,
        features: args.features.clone(),
    };
    let request = given.request(&program, &outputs, limits, Files::Now, None)?;
    let request = request.with_log(LogDetail::Off);
    Ok(Job { program, request, saves, shown: Shown { picture } })
}

/// Refuses images that no file would hold.
fn refuse_hidden_images(
    program: &Program,
    outputs: &[String],
    picture: Option<&str>,
) -> Result<(), Stop> {
    let is_asked = |name: &str| outputs.iter().any(|it| it == name);
    let is_hidden = |name: &str| is_asked(name) && picture != Some(name);
    let mut images = program.outputs().iter().filter(|output| output.ty == Type::of::<Image>());
    let Some(image) = images.find(|output| is_hidden(&output.name)) else { return Ok(()) };
    let text = format!("a table cannot hold the output `{}`, an image", visible(&image.name));
    let help = if picture.is_some() {
        "a bake saves one picture per frame; choose outputs with --out"
    } else {
        "add --save frame.####.png, or choose other outputs with --out"
    };
    Err(Stop::new(Exit::Usage, text, Some(help.into())))
}

/// The number of frames by outcome.
#[derive(Default)]
struct Tally {
    ran: usize,
    reused: usize,
    failed: usize,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.ran += other.ran;
        self.reused += other.reused;
        self.failed += other.failed;
    }
}

/// Receives the results of a bake frame by frame.
struct Taking<'t> {
    folder: &'t Path,
    bake: &'t Bake<'t>,
    fps: f64,
    shown: &'t Shown,
    saves: Saves,
    sheet: Option<Sheet>,
    manifest: Manifest,
    progress: Progress,
    tally: Tally,
    /// The frames that were computed before their turn, by position, and the time they took.
    ahead: BTreeMap<usize, Duration>,
}

fn run<'t>(
    args: &Args,
    bake: &Bake<'_>,
    cache: &mut Cache,
    taking: Taking<'t>,
) -> Result<Taking<'t>, Stop> {
    let mut evaluator = args.evaluator.evaluator(args.threads);
    let evaluator = &mut *evaluator;
    let taking = RefCell::new(taking);
    let mut each = |part: Part| taking.borrow_mut().take(&part);
    let is_resumable = taking.borrow().saves.need_all() && cache.limit() > 0;
    let done = if bake.is_cheap() && taking.borrow().saves.are_tables() {
        bake.run_blocks(evaluator, &mut each)
    } else {
        let mut is_wanted = |position: usize, key: Option<millstream_bake::Key>| {
            taking.borrow_mut().is_wanted(position, key)
        };
        // Files of all frames start over with the first frame. What a stopped bake left to do is
        // computed before, so that it goes on even if each call is stopped early.
        let mut ahead = |part: Part| taking.borrow_mut().take_ahead(&part);
        if is_resumable {
            bake.run_resumed(cache, evaluator, &mut ahead, (&mut is_wanted, &mut each))
        } else {
            bake.run(cache, evaluator, &mut is_wanted, &mut each)
        }
    };
    match done {
        Ok(()) => Ok(taking.into_inner()),
        Err(BakeError::Caller(stop)) => Err(stop),
        Err(BakeError::Eval(error)) => {
            cache::report_problems(cache);
            Err(refused(&error))
        }
    }
}

impl Taking<'_> {
    /// Whether the frame at this position has to be written.
    fn is_wanted(&mut self, position: usize, key: Option<millstream_bake::Key>) -> bool {
        let frame = self.bake.frames()[position];
        if self.saves.need_all() || self.sheet.as_ref().is_some_and(|sheet| sheet.shows(position)) {
            return true;
        }
        let is_wanted = !self.manifest.is_finished(self.folder, frame, key);
        if !is_wanted {
            self.progress.rows(position as u64 + 1);
        }
        is_wanted
    }

    /// Notes a frame that was computed and stored before its turn.
    fn take_ahead(&mut self, part: &Part) -> Result<(), Stop> {
        self.ahead.insert(part.positions.start, part.took);
        self.progress.rows(self.ahead.len() as u64);
        interrupt::go_on(&interrupt::until(None))
    }

    fn take(&mut self, part: &Part) -> Result<(), Stop> {
        let ahead = self.ahead.remove(&part.positions.start);
        let frames = &self.bake.frames()[part.positions.clone()];
        let n = frames.len();
        let has_failed = !part.answer.failures.is_empty()
            || part.answer.outputs.iter().any(|output| output.value.is_none());
        let (fate, files) = if has_failed {
            self.report_failure(&part.answer, frames);
            self.saves.skip()?;
            self.tally.failed += n;
            ("failed", Vec::new())
        } else {
            let is_kept = n == 1
                && !self.saves.need_all()
                && self.manifest.is_finished(self.folder, frames[0], part.key);
            let files = if is_kept {
                self.manifest.files_of(frames[0])
            } else {
                self.saves.push(self.folder, &part.answer, frames, (self.shown, self.fps))?
            };
            if let Some(sheet) = &mut self.sheet
                && let Some(image) = self.shown.image(&part.answer)
            {
                sheet.push(part.positions.start, &image);
            }
            let is_new = part.fate == Fate::Ran || ahead.is_some();
            *(if is_new { &mut self.tally.ran } else { &mut self.tally.reused }) += n;
            (if is_new { "ran" } else { "reused" }, files)
        };
        self.manifest.add(Record {
            frames: (frames[0], frames[n - 1]),
            key: part.key.map(|key| key.to_string()),
            files,
            took: part.took / n as u32 + ahead.unwrap_or_default(),
            fate: fate.into(),
        })?;
        self.progress.rows(part.positions.end as u64);
        interrupt::go_on(&interrupt::until(None))
    }

    fn report_failure(&mut self, answer: &Answer, frames: &[i64]) {
        if self.tally.failed == MAX_REPORTED {
            eprint("further failures are only counted\n");
        }
        if self.tally.failed >= MAX_REPORTED {
            return;
        }
        eprint(&format!("frame {} was not written:\n", frames[0]));
        report_failures(answer, &Coordinates::default());
    }
}

impl Shown {
    /// The picture in an answer.
    fn image(&self, answer: &Answer) -> Option<Image> {
        let series = answer.output(self.picture.as_ref()?)?.value.as_ref()?;
        match &series.data {
            Data::One(value) => Image::from_value(value),
            Data::Many(_) => None,
        }
    }
}

fn report(args: &Args, places: &[Place<'_>], baked: &Baked, time: Duration) -> Result<(), Stop> {
    let Baked { n_frames: n, tally, files, problems } = baked;
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
            "manifests": places.iter().map(manifest).collect::<Vec<_>>(),
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
    for file in files {
        eprint(&format!("saved {}\n", visible(&args.output.join(file).display().to_string())));
    }
    Ok(())
}
