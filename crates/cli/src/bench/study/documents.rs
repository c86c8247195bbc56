//! Studies on documents: the evaluators on single values and on columns, and the overhead of
//! `auto`.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use millstream::deploy::{Freeze, deploy};
use millstream::evaluate::{AnyEvaluator, EvalError};
use millstream::{Feature, Given, LogDetail, Program, Request, RequestAxis, Value};

use super::engine::evaluator;
use super::measure::Row;
use super::{Setting, Shown, Study};
use crate::bench::asked::{arbitrary, salted};
use crate::outcome::{Exit, Stop};
use crate::random::Random;
use crate::request::refused;
use crate::terminal::eprint;

/// The evaluators without memory between requests, among which `auto` chooses.
const PLAIN: [&str; 5] = ["lazy", "list", "chunked", "parallel", "auto"];

/// The minimum number of turns.
const TURNS: usize = 7;

/// The number of independent lists in the study of threads.
const LISTS: usize = 8;

/// All studies on documents.
pub(super) fn all(
    documents: &[(String, Program)],
    setting: &Setting<'_>,
) -> Result<Vec<Study>, Stop> {
    let mut studies = vec![elements(setting)?, threads(setting)?, classes(setting)?];
    if !documents.is_empty() {
        studies.push(given(documents, setting)?);
    }
    Ok(studies)
}

/// The number of hardware threads.
fn machine() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// An evaluator under test.
struct Contender {
    name: String,
    evaluator: AnyEvaluator,
    times: Vec<f64>,
    /// Node runs in the last evaluation.
    runs: f64,
}

impl Contender {
    fn new(name: &str, threads: usize) -> Self {
        let evaluator = evaluator(name, NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN));
        let name = if threads == 1 { name.into() } else { format!("{name}, {threads} threads") };
        Self { name, evaluator, times: Vec::new(), runs: 0.0 }
    }
}

/// Evaluates the requests of each turn with every evaluator, leaving out those that refuse them.
fn play(
    graph: &str,
    x: f64,
    program: &Program,
    names: &[(&str, usize)],
    seconds: f64,
    mut request: impl FnMut() -> Request,
) -> Result<Vec<Row>, Stop> {
    let mut field = Vec::new();
    // Untimed evaluations let `auto` get to know its candidates.
    let warm: Vec<Request> = (0..2 * PLAIN.len()).map(|_| request()).collect();
    for (name, threads) in names {
        let mut contender = Contender::new(name, *threads);
        let counted = warm[0].clone().with_log(LogDetail::Counts);
        match program.run_with(&mut *contender.evaluator, &counted) {
            Ok(answer) => contender.runs = answer.log.total_runs() as f64,
            Err(EvalError::Unfit { .. }) => continue,
            Err(error) => return Err(refused(&error)),
        }
        for request in &warm {
            let answer = program.run_with(&mut *contender.evaluator, request);
            contender.evaluator.give_back(answer.map_err(|error| refused(&error))?);
        }
        field.push(contender);
    }
    let until = Instant::now() + Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let mut turn = 0;
    while turn < TURNS || Instant::now() < until {
        let request = request();
        for contender in &mut field {
            let start = Instant::now();
            let answer = program.run_with(&mut *contender.evaluator, &request);
            let answer = answer.map_err(|error| refused(&error))?;
            contender.times.push(start.elapsed().as_secs_f64());
            contender.evaluator.give_back(answer);
        }
        turn += 1;
    }
    let rows = field.into_iter().map(|mut contender| {
        contender.times.sort_by(f64::total_cmp);
        Row {
            graph: graph.into(),
            x,
            strategy: contender.name,
            gave_up: false,
            runs: Some(contender.runs),
            glitches: 0.0,
            seconds: contender.times.get(contender.times.len() / 2).copied(),
        }
    });
    Ok(rows.collect())
}

/// A request with new numbers for all float inputs, single values or columns. Inputs that select an
/// arm keep their defaults.
fn numbers(program: &Program, count: Option<usize>, random: &mut Random) -> Request {
    let mut request = Request::new();
    for (input, n_arms) in program.inputs().iter().zip(program.arms()) {
        // Integers often count or select something.
        let is_float = input.ty.lanes().is_some_and(|(lane, _)| lane.is_float());
        if n_arms > 1 || !(is_float || input.default.is_none()) {
            continue;
        }
        let Some(column) = arbitrary(input.ty, count.unwrap_or(1), random) else { continue };
        let given = match count {
            Some(_) => Given::Along(RequestAxis::Index, column),
            None => Given::One(column.get(0)),
        };
        request = request.given(&*input.name, given);
    }
    match count {
        Some(n) => request.count(n),
        None => request,
    }
}

/// Heron's formula, and a polynomial of degree 16.
fn formulas() -> [(&'static str, String); 2] {
    let heron = r#"{"millstream": 2,
        "inputs": {"a": {"type": "vec3"}, "b": {"type": "vec3"}, "c": {"type": "vec3"}},
        "outputs": {"y": {"type": "f32", "from": "area.value"}},
        "nodes": {
          "ab": {"type": "vector.distance", "in": {"a": {"input": "a"}, "b": {"input": "b"}}},
          "ac": {"type": "vector.distance", "in": {"a": {"input": "a"}, "b": {"input": "c"}}},
          "bc": {"type": "vector.distance", "in": {"a": {"input": "b"}, "b": {"input": "c"}}},
          "s": {"type": "math.expression", "set": {"text": "(x + y + z) / 2"},
                "in": {"x": {"from": "ab.value"}, "y": {"from": "ac.value"}, "z": {"from": "bc.value"}}},
          "area": {"type": "math.expression", "set": {"text": "sqrt(s * (s - x) * (s - y) * (s - z))"},
                "in": {"s": {"from": "s.value"}, "x": {"from": "ab.value"}, "y": {"from": "ac.value"},
                       "z": {"from": "bc.value"}}}}}"#;
    let mut horner = String::from("1");
    for k in 0..16 {
        horner = format!("({horner}) * x + 0.{k}");
    }
    let horner = format!(
        r#"{{"millstream": 2, "inputs": {{"x": {{"type": "f32"}}}},
            "outputs": {{"y": {{"type": "f32", "from": "p.value"}}}},
            "nodes": {{"p": {{"type": "math.expression", "set": {{"text": "{horner}"}},
                             "in": {{"x": {{"input": "x"}}}}}}}}}}"#
    );
    [("Heron's formula", heron.into()), ("polynomial of degree 16", horner)]
}

fn load(setting: &Setting<'_>, text: &str) -> Result<Program, Stop> {
    let program = setting.engine.load(text.as_bytes());
    program.map_err(|error| Stop::new(Exit::Failed, error.to_string(), None))
}

/// Varies the number of elements.
fn elements(setting: &Setting<'_>) -> Result<Study, Stop> {
    let mut rows = Vec::new();
    for (name, text) in formulas() {
        let program = load(setting, &text)?;
        let mut random = salted(3);
        for n in [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000] {
            let names = PLAIN.map(|name| (name, 1));
            let play = play(name, n as f64, &program, &names, setting.seconds, || {
                numbers(&program, Some(n), &mut random)
            });
            rows.extend(
                play?.into_iter().map(|row| Row {
                    seconds: row.seconds.map(|seconds| seconds / n as f64),
                    ..row
                }),
            );
        }
    }
    let title = "Formulas over columns, one thread: time per element";
    Ok(Study { name: "elements", title, x: "elements", rows, chart: Some(Shown::Time) })
}

/// Independent nodes on one thread and on all hardware threads.
fn threads(setting: &Setting<'_>) -> Result<Study, Stop> {
    let node = |k: usize| {
        format!(
            r#""n{k}": {{"type": "list.sort", "in": {{"list": {{"input": "x{k}"}}}}}},
               "m{k}": {{"type": "list.mean", "in": {{"list": {{"from": "n{k}.value"}}}}}}"#
        )
    };
    let input = |k: usize| format!(r#""x{k}": {{"type": "list<f32>"}}"#);
    let output = |k: usize| format!(r#""y{k}": {{"type": "f32", "from": "m{k}.value"}}"#);
    let all = |part: &dyn Fn(usize) -> String| (0..LISTS).map(part).collect::<Vec<_>>().join(", ");
    let text = format!(
        r#"{{"millstream": 2, "inputs": {{{}}}, "outputs": {{{}}}, "nodes": {{{}}}}}"#,
        all(&input),
        all(&output),
        all(&node)
    );
    let program = load(setting, &text)?;
    let mut rows = Vec::new();
    let mut random = salted(5);
    for n in [10, 100, 1_000, 10_000, 100_000] {
        let names = [("lazy", 1), ("list", 1), ("parallel", machine()), ("auto", machine())];
        let request = || {
            (0..LISTS).fold(Request::new(), |request, k| {
                let column = arbitrary(millstream::Type::F32, n, &mut random);
                let column = column.expect("floats are numbers");
                request.given(format!("x{k}"), Given::One(Value::List(column)))
            })
        };
        rows.extend(play("eight lists", n as f64, &program, &names, setting.seconds, request)?);
    }
    let title = "Eight lists, sorted independently: time of an evaluation by the length of a list";
    Ok(Study { name: "threads", title, x: "length of each list", rows, chart: Some(Shown::Time) })
}

/// A patch with three parts of 100 nodes: a constant one, one that depends on an input that people
/// set, and one that depends on the time.
fn patch() -> String {
    let mut nodes = Vec::new();
    for (part, start) in [
        ("c", r#"{"value": 1.5}"#),
        ("u", r#"{"input": "knob"}"#),
        ("t", r#"{"from": "time.value"}"#),
    ] {
        for k in 0..100 {
            let from = match k {
                0 => start.to_owned(),
                _ => format!(r#"{{"from": "{part}{}.value"}}"#, k - 1),
            };
            let ty = if k % 2 == 0 { "math.sin" } else { "math.add" };
            let socket = if k % 2 == 0 { "x" } else { "a" };
            let other = if k % 2 == 0 { "" } else { r#", "b": 0.25"# };
            nodes.push(format!(
                r#""{part}{k}": {{"type": "{ty}", "in": {{"{socket}": {from}{other}}}}}"#
            ));
        }
    }
    nodes.push(r#""time": {"type": "context.time"}"#.into());
    nodes.push(
        r#""cu": {"type": "math.add", "in": {"a": {"from": "c99.value"}, "b": {"from": "u99.value"}}}"#
            .into(),
    );
    nodes.push(
        r#""all": {"type": "math.add", "in": {"a": {"from": "cu.value"}, "b": {"from": "t99.value"}}}"#
            .into(),
    );
    format!(
        r#"{{"millstream": 2, "inputs": {{"knob": {{"type": "f64", "default": 0.5}}}},
            "outputs": {{"y": {{"type": "f64", "from": "all.value"}}}},
            "nodes": {{{}}}}}"#,
        nodes.join(", ")
    )
}

/// Varies how many frames pass between two turns of the knob.
fn classes(setting: &Setting<'_>) -> Result<Study, Stop> {
    let program = load(setting, &patch())?;
    let freeze = Freeze::default();
    let deployed = deploy(setting.engine, program.document(), &freeze)
        .map_err(|error| Stop::new(Exit::Failed, error.to_string(), None))?;
    let deployed = setting.engine.load_binary(&deployed.to_bytes());
    let deployed = deployed.map_err(|error| Stop::new(Exit::Failed, error.to_string(), None))?;
    let mut rows = Vec::new();
    for every in [1_i64, 10, 100] {
        let mut frame = 0;
        let mut next = || {
            frame += 1;
            let knob = (frame / every) as f64 * 0.01;
            Request::new().set("knob", knob).frame(frame)
        };
        let names = [("lazy", 1), ("list", 1), ("incremental", 1), ("auto", 1)];
        let x = every as f64;
        let mut at = play("patch", x, &program, &names, setting.seconds, &mut next)?;
        let mut frame = 0;
        at.extend(play("patch, deployed", x, &deployed, &names, setting.seconds, || {
            frame += 1;
            Request::new().frame(frame)
        })?);
        // The runs of a frame depend on which frame it is; these are the mean over a hundred.
        for row in &mut at {
            let is_deployed = row.graph != "patch";
            let program = if is_deployed { &deployed } else { &program };
            let mut evaluator = evaluator(&row.strategy, NonZeroUsize::MIN);
            let mut runs = 0;
            for k in 0..=100 {
                let request = if is_deployed { Request::new().frame(k) } else { next() };
                let request = request.with_log(LogDetail::Counts);
                let answer = program.run_with(&mut *evaluator, &request);
                let answer = answer.map_err(|error| refused(&error))?;
                // The first frame runs everything.
                runs += if k > 0 { answer.log.total_runs() } else { 0 };
                evaluator.give_back(answer);
            }
            row.runs = Some(runs as f64 / 100.0);
        }
        rows.extend(at);
    }
    let title =
        "A patch of 300 nodes: a third constant, a third below a knob, a third below the time";
    Ok(Study { name: "classes", title, x: "frames per turn of the knob", rows, chart: None })
}

/// The given documents, on single values and on columns.
fn given(documents: &[(String, Program)], setting: &Setting<'_>) -> Result<Study, Stop> {
    let mut rows = Vec::new();
    for (name, program) in documents {
        let reads = |feature: &Feature| program.needs().any(|need| need.feature == *feature);
        let known = [Feature::Time, Feature::Tick, Feature::Index];
        if let Some(need) = program.needs().find(|need| !known.contains(&need.feature)) {
            let feature = &need.feature;
            eprint(&format!("{name} is left out: it needs {feature}\n"));
            continue;
        }
        let mut inputs = program.inputs().iter();
        if let Some(input) =
            inputs.find(|input| input.default.is_none() && input.ty.lanes().is_none())
        {
            let (input, ty) = (&input.name, input.ty);
            eprint(&format!("{name} is left out: its input `{input}` takes {ty}\n"));
            continue;
        }
        let is_timed = reads(&Feature::Time) || reads(&Feature::Tick);
        for count in [None, Some(1_000), Some(100_000)] {
            // The index needs elements.
            if count.is_none() && reads(&Feature::Index) {
                continue;
            }
            let mut random = salted(7);
            let mut frame = 0;
            let mut names: Vec<(&str, usize)> = PLAIN.map(|name| (name, 1)).to_vec();
            if count.is_none() {
                names.push(("incremental", 1));
            }
            let x = count.unwrap_or(1) as f64;
            rows.extend(play(name, x, program, &names, setting.seconds, || {
                frame += 1;
                let request = numbers(program, count, &mut random);
                if is_timed { request.frame(frame) } else { request }
            })?);
        }
    }
    let title = "Documents, one thread: time of an evaluation, every number new each time";
    Ok(Study { name: "documents", title, x: "elements", rows, chart: None })
}
