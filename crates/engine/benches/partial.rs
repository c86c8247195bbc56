//! How much runs again when one part of the context or one input changes.
//!
//! `cargo bench -p millstream --bench partial`. Documents are evaluated at one element by
//! `incremental`, first as a whole, then after a change of only the time, the view, the index, the
//! position, or one input. The steps that ran are compared with the *minimum*: a step must run if
//! one of its inputs has other bits, which evaluating every step on its own before and after the
//! change shows. The last columns are the share of the steps that ran, and the share of the time of
//! a full evaluation (medians, interleaved).

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream::evaluate::{Data, EVALUATORS, Series};
use millstream::run_log::Fate;
use millstream::values::{Same, Value};
use millstream::{
    Answer, Engine, Evaluator, Feature, Footprint, Given, Lazy, LogDetail, Program, Request,
};
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_node::Kernel;

/// The five example documents.
const EXAMPLES: [&str; 5] = ["echo", "night_sky", "ripple", "terrain", "wood"];

/// Number of evaluations of which the median is printed.
const ROUNDS: usize = 41;

/// A value for everything that a document can read.
#[derive(Clone)]
struct Setting {
    time: f64,
    view: f32,
    index: i32,
    position: f32,
    inputs: Vec<(String, Value)>,
}

impl Setting {
    fn of(program: &Program) -> Self {
        let inputs = program.inputs().iter();
        let inputs = inputs.filter_map(|it| Some((it.name.to_string(), it.default.clone()?)));
        Self { time: 0.5, view: 1.0, index: 3, position: 100.5, inputs: inputs.collect() }
    }

    fn request(&self) -> Request {
        let mut view = Footprint::of_size(640, 480);
        (view.transform.0[0], view.transform.0[5]) = (self.view, self.view);
        let one = |value: Value| Given::One(value);
        let mut request = Request::new()
            .time(self.time)
            .view(view)
            .feature(Feature::Index, one(Value::I32(self.index)))
            .feature(
                Feature::Position,
                one(Value::Vec3([self.position, 0.7 * self.position, 0.0].into())),
            )
            .with_log(LogDetail::Counts);
        for (name, value) in &self.inputs {
            request = request.set(name, value.clone());
        }
        request
    }
}

/// A change of one thing, different in each round.
type Change = fn(&mut Setting, usize);

const CHANGES: [(&str, Change); 5] = [
    ("time", |it, round| it.time += 0.001 * round as f64),
    ("view", |it, round| it.view += 0.01 * round as f32),
    ("index", |it, round| it.index += round as i32),
    ("position", |it, round| it.position += 0.37 * round as f32),
    ("one input", |it, round| {
        if let Some((_, value)) = it.inputs.first_mut() {
            *value = moved(value, round);
        }
    }),
];

/// Another value of the type.
fn moved(value: &Value, round: usize) -> Value {
    match value {
        Value::F32(x) => Value::F32(x + 0.01 * round as f32),
        Value::F64(x) => Value::F64(x + 0.01 * round as f64),
        Value::I32(x) => Value::I32(x + round as i32),
        Value::Color(color) => {
            let mut color = *color;
            color.0[0] -= 0.01 * round as f32;
            Value::Color(color)
        }
        other => other.clone(),
    }
}

/// A graph in layers. Each node reads two nodes of the layer before; the first layer reads time,
/// view, index, position and four inputs.
fn layered(layers: usize, width: usize) -> String {
    let mut text = String::new();
    for i in 0..4 {
        writeln!(text, "input u{i}: f32 = {}", 0.1 * (i + 1) as f32).expect("a string");
    }
    let sources = [
        "convert.to_f32(context.time())",
        "footprint.pixel_size(context.footprint())",
        "convert.to_f32(context.index())",
        "vector.length(context.position())",
        "u0",
        "u1",
        "u2",
        "u3",
    ];
    let mut state = 12345_u64;
    let mut random = |n: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for j in 0..width {
        writeln!(text, "n0_{j} = math.add({}, {j})", sources[j % sources.len()]).expect("a string");
    }
    for i in 1..layers {
        for j in 0..width {
            let (a, b) = (random(width.min(8)), random(width.min(8)));
            let near = |step: usize| (j + step) % width;
            let node = ["math.add", "math.multiply", "math.maximum"][random(3)];
            writeln!(text, "n{i}_{j} = {node}(n{0}_{1}, n{0}_{2})", i - 1, near(a), near(b))
                .expect("a string");
        }
    }
    for j in 0..width {
        writeln!(text, "output o{j}: f32 = n{}_{j}", layers - 1).expect("a string");
    }
    text
}

fn incremental() -> Box<dyn Evaluator> {
    let row = EVALUATORS.iter().find(|row| row.name == "incremental").expect("it is there");
    row.settings[0]()
}

fn same(a: &Series, b: &Series) -> bool {
    match (&a.data, &b.data) {
        (Data::One(a), Data::One(b)) => a.same(b),
        (Data::Many(a), Data::Many(b)) => a.same(b),
        (Data::One(_), Data::Many(_)) | (Data::Many(_), Data::One(_)) => false,
    }
}

/// The value of every output of every step, each on its own.
fn values(plan: &Plan, request: &Request) -> Vec<(StepSource, Series)> {
    let sources = plan.steps.iter().filter(|(_, step)| matches!(step.op, StepOp::Call(_)));
    let sources: Vec<(StepSource, Arc<str>)> = sources
        .flat_map(|(step, it)| {
            let StepOp::Call(instance) = it.op else { unreachable!("calls are left") };
            let n = plan.instances[instance].outputs.len() as u32;
            (0..n).map(move |output| {
                (StepSource { step, output }, format!("/{step}.{output}").into())
            })
        })
        .collect();
    let all = plan.spliced(&[], &sources);
    let request =
        sources.iter().fold(request.clone(), |request, (_, name)| request.output(&**name));
    let answer = Lazy.evaluate(&all, &request).expect("every step runs at one element");
    let named = sources.iter().zip(&answer.outputs);
    named.filter_map(|((source, _), output)| Some((*source, output.value.clone()?))).collect()
}

/// The number of steps that read something with other bits: the least that must run.
fn minimum(program: &Program, before: &Setting, after: &Setting) -> usize {
    let plan = program.plan();
    let (old, new) = (values(plan, &before.request()), values(plan, &after.request()));
    let pairs = || old.iter().zip(&new);
    let changed =
        |source: StepSource| pairs().any(|((known, a), (_, b))| *known == source && !same(a, b));
    let input = |step: StepId| match plan.steps[step].op {
        StepOp::Input(input) => {
            let name = &*plan.inputs[input].name;
            let of = |it: &Setting| it.inputs.iter().find(|(known, _)| known == name).cloned();
            match (of(before), of(after)) {
                (Some((_, a)), Some((_, b))) => !a.same(&b),
                _ => false,
            }
        }
        StepOp::Const(_) | StepOp::Call(_) => false,
    };
    let demanded = plan.steps_upstream(&(0..plan.outputs.len()).collect::<Vec<_>>());
    let must = plan.steps.iter().filter(|(id, step)| {
        let StepOp::Call(instance) = step.op else { return false };
        // A step that reads a feature is a source: it returns a value of the request.
        let reads = matches!(plan.instances[instance].kernel, Kernel::Read { .. });
        let links = plan.inputs_of(step).iter();
        let mut links = links.map(|link| StepSource { step: link.step, output: link.output });
        demanded[*id] && !reads && links.any(|source| changed(source) || input(source.step))
    });
    must.count()
}

/// The number of steps that ran, without those that read features.
fn n_ran(plan: &Plan, answer: &Answer) -> usize {
    let ran = plan.steps.iter().filter(|(id, step)| {
        let StepOp::Call(instance) = step.op else { return false };
        let reads = matches!(plan.instances[instance].kernel, Kernel::Read { .. });
        !reads && answer.log.entry(*id).is_some_and(|entry| matches!(entry.fate, Fate::Ran(_)))
    });
    ran.count()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn measure(name: &str, program: &Program, rounds: usize) {
    let plan = program.plan();
    let start = Setting::of(program);
    let mut evaluator = incremental();
    let run = |setting: &Setting, evaluator: &mut dyn Evaluator| {
        let request = setting.request();
        let begin = Instant::now();
        let answer = program.run_with(evaluator, &request).expect("it runs");
        (answer, begin.elapsed())
    };
    let (whole, _) = run(&start, &mut *evaluator);
    let all = n_ran(plan, &whole);
    for (what, change) in CHANGES {
        let (mut part, mut full) = (Vec::new(), Vec::new());
        let mut counts = (0, 0);
        let mut last = start.clone();
        for round in 1..=rounds {
            run(&last, &mut *evaluator);
            let mut next = start.clone();
            change(&mut next, round);
            part.push(run(&next, &mut *evaluator).1);
            full.push(run(&next, &mut *incremental()).1);
            if round == 1 {
                // A new evaluator, as cheap steps do not keep results of earlier rounds.
                let mut evaluator = incremental();
                run(&last, &mut *evaluator);
                let (answer, _) = run(&next, &mut *evaluator);
                counts = (n_ran(plan, &answer), minimum(program, &last, &next));
            }
            last = next;
        }
        let (ran, least) = counts;
        let (part, full) = (median(part), median(full));
        println!(
            "{name:<10} {what:<10} {all:>6} {ran:>6} {least:>6} {:>8.1} % {:>8.1} %",
            100.0 * ran as f64 / all as f64,
            100.0 * part.as_secs_f64() / full.as_secs_f64()
        );
        assert!(ran <= least, "{name}: {ran} steps ran after a change of {what}, {least} had to");
    }
}

fn main() {
    let rounds = if std::env::args().any(|arg| arg == "--test") { 1 } else { ROUNDS };
    let engine = Engine::new();
    println!("document   change      steps    ran  least    steps      time");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for name in EXAMPLES {
        let text = std::fs::read(examples.join(name).with_extension("mill")).expect("it is there");
        measure(name, &engine.load(&text).expect("examples are right"), rounds);
    }
    let text = layered(20, 50);
    measure("layered", &engine.load(text.as_bytes()).expect("it is right"), rounds);
}
