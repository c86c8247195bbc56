//! Ticks of generated documents with stateful nodes, inside of scopes and outside.
//!
//! Each document is played for some frames with changing inputs. At each frame the evaluator has to
//! agree with the model on the outputs, the failed nodes, and the new state of each node for each
//! element; then the tick is committed on both sides. At the end, earlier states are reached again
//! from checkpoints.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use millstream_base::same::Same;
use millstream_base::{Limits, Value};
use millstream_compile::{Options, Phase, compile};
use millstream_ir::answer::Answer;
use millstream_ir::checkpoints::Checkpoints;
use millstream_ir::element_states::Table;
use millstream_ir::states::{StateParts, States};
use millstream_ir::{Evaluator, LogDetail, Plan, Request};
use millstream_node::Data;
use serde_json::{Value as Json, json};

use super::check::{elements, failures, selects};
use super::compare::difference;
use crate::generate::REGISTRY;
use crate::naive::{Expected, Kept, Model, Program, Refusal, World};

const FRAMES: i64 = 6;

/// A deterministic random number generator.
pub(super) struct Dice(u64);

impl Dice {
    /// A generator with this seed.
    pub(super) fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..8 {
            dice.below(2);
        }
        dice
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }
}

/// Plays generated documents with these seeds.
///
/// # Panics
/// If the evaluator disagrees with the model, or the model refuses most of the documents.
pub fn ticks_suite(evaluator: &mut dyn Evaluator, seeds: std::ops::Range<u64>) {
    let n = seeds.end - seeds.start;
    let (mut n_played, mut n_keeping) = (0, 0);
    for seed in seeds {
        let mut dice = Dice::new(seed);
        let document = document(&mut dice);
        let requests: Vec<Request> = (0..FRAMES).map(|frame| request(frame, &mut dice)).collect();
        match played(evaluator, &document, &requests) {
            Ok(Some(keeps)) => {
                n_played += 1;
                n_keeping += u64::from(keeps);
            }
            Ok(None) => {}
            Err(problem) => {
                panic!("{}, seed {seed}: {problem}\n{document:#}", evaluator.name())
            }
        }
    }
    assert!(n_played * 2 > n, "the model refuses most: only {n_played} of {n} were played");
    assert!(n_keeping * 8 > n, "few have state inside scopes: {n_keeping} of {n}");
}

/// Plays the documents that once failed (`tests/ticks`).
///
/// # Panics
/// If one cannot be read, or the evaluator disagrees.
pub fn ticks_fixtures(evaluator: &mut dyn Evaluator) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ticks");
    let mut n_played = 0;
    for entry in fs::read_dir(&folder).expect("the folder exists") {
        let path = entry.expect("the folder can be read").path();
        let text = fs::read_to_string(&path).expect("it is text");
        let fixture: Json = serde_json::from_str(&text).expect("it is JSON");
        let all = fixture["requests"].as_array().expect("it has requests");
        let requests: Vec<Request> =
            all.iter().zip(0..).map(|(json, frame)| read_request(json, frame)).collect();
        match played(evaluator, &fixture["document"], &requests) {
            Ok(Some(_)) => n_played += 1,
            Ok(None) => panic!("{}: it cannot be played", path.display()),
            Err(problem) => panic!("{}: {} {problem}", path.display(), evaluator.name()),
        }
    }
    assert!(n_played > 0);
}

/// Reads a request of a fixture: perhaps a number of elements, and numbers of type `f32`, one for
/// all elements or a list with one for each.
fn read_request(json: &Json, frame: i64) -> Request {
    let mut request = Request::new().frame(frame);
    let number = |json: &Json| json.as_f64().expect("it is a number") as f32;
    for (name, given) in json.as_object().expect("a request is an object") {
        request = match given {
            Json::Array(all) => request.column(name, all.iter().map(number).collect::<Vec<_>>()),
            count if name == "count" => request.count(count.as_u64().expect("a count") as usize),
            one => request.set(name, number(one)),
        };
    }
    request
}

/// A document of some nodes that read each other.
pub(super) fn document(dice: &mut Dice) -> Json {
    let n = 4 + dice.below(9);
    let mut nodes = serde_json::Map::new();
    let mut numbers: Vec<Json> = vec![json!({ "input": "x" }), json!({ "from": "i.value" })];
    nodes.insert("i".into(), json!({ "type": "context.index" }));
    let all_later: Vec<String> = (0..n).map(|k| format!("n{k}")).collect();
    for (k, name) in all_later.iter().enumerate() {
        let pick = |dice: &mut Dice| {
            let recent = numbers.len().saturating_sub(1 + dice.below(3));
            let any = dice.below(numbers.len());
            numbers[if dice.below(2) == 0 { recent.min(numbers.len() - 1) } else { any }].clone()
        };
        let (a, b) = (pick(dice), pick(dice));
        let later = json!({ "from": format!("n{}.value", k + dice.below(n - k)) });
        let count = match dice.below(4) {
            0 => json!({ "input": "k" }),
            1 => json!(2),
            2 => json!({ "from": "i.value" }),
            _ => json!({ "from": "some.value" }),
        };
        let node = match dice.below(20) {
            0 => json!({ "type": "context.index", "set": { "level": dice.below(2) } }),
            1 => json!({ "type": "context.time" }),
            2 | 3 => json!({ "type": "math.add", "in": { "a": a, "b": b } }),
            4 => json!({ "type": "control.switch", "in": { "condition": { "input": "on" },
                "false": a, "true": b } }),
            5 => json!({ "type": "control.switch", "in": { "condition": { "from": "few.value" },
                "false": a, "true": b } }),
            6 | 7 => json!({ "type": "state.integrate", "in": { "rate": a, "initial": b } }),
            8 => json!({ "type": "state.hold",
                "in": { "value": a, "when": { "from": "few.value" } } }),
            9 => json!({ "type": "state.delay", "set": { "ticks": 1 + dice.below(2) },
                "in": { "value": a, "initial": b } }),
            10 => json!({ "type": "state.feedback", "in": { "value": later, "initial": a } }),
            11..=13 => {
                let list = json!({ "type": "list.generate", "in": { "item": a, "count": count } });
                summed(&mut nodes, name, list)
            }
            14 => json!({ "type": "context.with_index",
                "in": { "value": a, "index": { "input": "k" } } }),
            15 => json!({ "type": "time.shift", "in": { "value": a, "by": -1 } }),
            16 => json!({ "type": "custom.running", "in": { "value": a } }),
            17 => json!({ "type": "custom.first_positive", "in": { "a": a, "b": b, "c": 1 } }),
            18 => {
                let when = json!({ "from": "few.value" });
                let list =
                    json!({ "type": "custom.lazy_state", "in": { "value": a, "when": when } });
                summed(&mut nodes, name, list)
            }
            _ => json!({ "type": "reduce.sum", "in": { "value": a } }),
        };
        let is_f32 = |ty: &str| !matches!(ty, "context.index" | "context.time");
        let ty = node["type"].as_str().unwrap_or_default().to_owned();
        if is_f32(&ty) {
            nodes.insert(name.clone(), node);
        } else {
            nodes.insert(format!("{name}r"), node);
            let from = json!({ "from": format!("{name}r.value") });
            nodes.insert(name.clone(), json!({ "type": "convert.to_f32", "in": { "x": from } }));
        }
        numbers.push(json!({ "from": format!("{name}.value") }));
    }
    nodes.insert(
        "whole".into(),
        json!({ "type": "convert.to_i32", "in": { "x": { "input": "x" } } }),
    );
    nodes.insert(
        "some".into(),
        json!({ "type": "integer.modulo",
        "in": { "a": { "from": "whole.value" }, "b": 3 } }),
    );
    let few = numbers[dice.below(numbers.len())].clone();
    nodes.insert("few".into(), json!({ "type": "compare.greater", "in": { "a": few, "b": 1 } }));
    let other = dice.below(n);
    let outputs = outputs(&nodes, n, other);
    json!({ "millstream": 2, "fps": 10,
        "inputs": { "x": { "type": "f32", "default": 0.5 }, "k": { "type": "i32", "default": 2 },
            "on": { "type": "bool", "default": true } },
        "outputs": outputs,
        "nodes": nodes })
}

/// The last node, another one, and all that no node reads: what nothing reads has no state.
fn outputs(nodes: &serde_json::Map<String, Json>, n: usize, other: usize) -> Json {
    let text = Json::Object(nodes.clone()).to_string();
    let output = |k: usize| json!({ "type": "f32", "from": format!("n{k}.value") });
    let mut outputs = serde_json::Map::new();
    outputs.insert("y".into(), output(n - 1));
    outputs.insert("z".into(), output(other));
    for k in (0..n).filter(|k| !text.contains(&format!("\"n{k}.value\""))) {
        outputs.insert(format!("w{k}"), output(k));
    }
    outputs.into()
}

/// Adds a node with a list; returns the node with the sum of its items.
fn summed(nodes: &mut serde_json::Map<String, Json>, name: &str, list: Json) -> Json {
    let from = format!("{name}l.value");
    nodes.insert(format!("{name}l"), list);
    json!({ "type": "list.sum", "in": { "list": { "from": from } } })
}

/// Plays a document with an evaluator. Returns `None` if the model makes no statement, else whether
/// nodes inside of scopes have state.
fn played(
    evaluator: &mut dyn Evaluator,
    document: &Json,
    requests: &[Request],
) -> Result<Option<bool>, String> {
    let limits = Limits::default();
    let text = document.to_string();
    let (opened, _) = millstream_document::open(text.as_bytes(), &REGISTRY, None, &[], &limits);
    let Some((_, checked)) = opened else { return Ok(None) };
    let mut keeps = false;
    for after in [Some(Phase::Conversions), None] {
        let options = Options { after, ..Options::default() };
        let plan = compile(&checked, &REGISTRY, &options).map_err(|error| error.to_string())?;
        keeps |= !plan.state_writers.is_empty();
        let mut states = States::new();
        let mut kept = vec![Kept::default(); plan.state_writers.len()];
        let mut history = vec![states.clone()];
        for request in requests {
            let request = request.clone().with_log(LogDetail::Counts);
            let request = states.given_to(&plan, request.with_states(&plan));
            let Ok(bound) = request.bind(&plan) else { return Ok(None) };
            let mut world = World::of(&bound, &plan);
            world.kept.clone_from(&kept);
            let expected = Model::new(&Program::of_plan(&plan), &world).evaluate();
            let Ok(expected) = expected else {
                // The evaluator must terminate even where the model would take too long.
                if let (Err(Refusal::TooLong(_)), "lazy") = (&expected, evaluator.name()) {
                    let answer = evaluator.evaluate(&plan, &request);
                    answer.map_err(|error| format!("no answer: {error}"))?;
                }
                return Ok(None);
            };
            let mut answer = evaluator
                .evaluate(&plan, &request)
                .map_err(|error| format!("no answer: {error}"))?;
            let place = format!("at frame {} of {}", states.n_ticks(), plan.steps.len());
            agrees(&expected, (&plan, &request), &answer, evaluator)
                .map_err(|problem| format!("{place} steps: {problem}"))?;
            // A node whose state fails keeps it.
            let all = expected.kept.into_iter().zip(&kept);
            let next = |(called, before): (Option<Kept>, &Kept)| {
                called.map_or_else(|| before.clone(), |called| before.committed(&called))
            };
            kept = all.map(next).collect();
            states.commit(&mut answer);
            history.push(states.clone());
        }
        rewound(evaluator, &plan, requests, &history)?;
    }
    Ok(Some(keeps))
}

/// Goes back to earlier states of a game from checkpoints, with the space for two of them.
/// `history` holds the states before and after each tick.
fn rewound(
    evaluator: &mut dyn Evaluator,
    plan: &Plan,
    requests: &[Request],
    history: &[States],
) -> Result<(), String> {
    let most = history.iter().map(States::bytes).max().unwrap_or_default();
    let mut checkpoints = Checkpoints::new(2 * most);
    for states in history {
        checkpoints.add(states);
    }
    for n_ticks in [requests.len() - 1, requests.len() / 2] {
        let mut states = checkpoints.at_most(n_ticks as u64).cloned().unwrap_or_default();
        for request in &requests[states.n_ticks() as usize..n_ticks] {
            let request = states.given_to(plan, request.clone().with_states(plan));
            let answer = evaluator.evaluate(plan, &request);
            let mut answer = answer.map_err(|error| format!("no answer again: {error}"))?;
            states.commit(&mut answer);
        }
        let (found, expected) = (described(&states), described(&history[n_ticks]));
        if found != expected {
            return Err(format!("rewound to tick {n_ticks}:\n{found}expected\n{expected}"));
        }
    }
    Ok(())
}

/// The bits of states.
fn described(states: &States) -> String {
    let parts = StateParts::from(states);
    let mut text = format!("{:?} elements\n", parts.count);
    for (name, data) in &parts.values {
        let values: Vec<Value> = match data {
            Data::One(value) => vec![value.clone()],
            Data::Many(column) => column.iter().collect(),
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name}: {}", line(&values));
    }
    for (node, table) in &parts.tables {
        let _ = writeln!(text, "{node}:\n{}", shown(table));
    }
    text
}

/// The plans of a generated stateful document, plain and optimized; none if it is invalid.
///
/// # Panics
/// If a valid document does not compile.
pub fn ticking_plans(seed: u64) -> Vec<Plan> {
    let text = document(&mut Dice::new(seed)).to_string();
    let (opened, _) =
        millstream_document::open(text.as_bytes(), &REGISTRY, None, &[], &Limits::default());
    let Some((_, checked)) = opened else { return Vec::new() };
    let plans = [Some(Phase::Conversions), None].map(|after| {
        let options = Options { after, ..Options::default() };
        compile(&checked, &REGISTRY, &options).expect("a document without problems compiles")
    });
    plans.into()
}

fn request(frame: i64, dice: &mut Dice) -> Request {
    let request = Request::new().count(2).frame(frame);
    let request = request.set("k", dice.below(4) as i32).set("on", dice.below(3) > 0);
    match dice.below(3) {
        0 => request.set("x", dice.below(5) as f32),
        _ => request.column("x", vec![dice.below(5) as f32, dice.below(5) as f32 + 0.25]),
    }
}

fn agrees(
    expected: &Expected,
    (plan, request): (&Plan, &Request),
    answer: &Answer,
    evaluator: &mut dyn Evaluator,
) -> Result<(), String> {
    for (expected, output) in expected.outputs.iter().zip(&answer.outputs) {
        let differs = match (expected, &output.value) {
            (Ok(column), Some(series)) => difference(column, &answer.full_column(series)),
            (Err(_), None) => None,
            (Ok(_), None) => Some("it has no value".into()),
            (Err(_), Some(_)) => Some("it should fail".into()),
        };
        if let Some(difference) = differs {
            return Err(format!("output `{}`: {difference}", output.name));
        }
    }
    failures(expected, plan, answer)?;
    // Cached results are not computed again. Evaluators that select among arms leave plans with
    // state writers to others.
    let selects = selects(evaluator) && !plan.state_writers.is_empty();
    if !evaluator.caches_results() && !selects {
        elements(expected, (plan, request), answer, evaluator)?;
    }
    let writers = plan.state_writers.iter().zip(&expected.kept);
    let failed = writers.filter(|(_, kept)| kept.is_none()).map(|(writer, _)| &writer.node);
    if !failed.clone().eq(&answer.calls.failed) {
        let (found, expected) = (&answer.calls.failed, failed.collect::<Vec<_>>());
        return Err(format!("the new state of {found:?} failed, expected that of {expected:?}"));
    }
    for called in &answer.calls.all {
        let at = plan.state_writers.iter().position(|writer| writer.node == called.node);
        let at = at.ok_or_else(|| format!("`{}` has no state", called.node))?;
        let Some(expected) = &expected.kept[at] else { continue };
        let found = called.table.as_ref().map(shown).unwrap_or_default();
        let mut wanted = String::new();
        for (key, values) in &expected.elements {
            // Writing to a string does not fail.
            let _ = writeln!(wanted, "{key:?}: {}", line(values));
        }
        if found != wanted {
            return Err(format!("`{}` has the state\n{found}expected\n{wanted}", called.node));
        }
    }
    Ok(())
}

pub(super) fn shown(table: &Table) -> String {
    let mut text = String::new();
    for row in 0..table.n_rows() {
        let values: Vec<Value> = table.values.iter().map(|(_, column)| column.get(row)).collect();
        let _ = writeln!(text, "{:?}: {}", table.key(row), line(&values));
    }
    text
}

/// The bits of values.
fn line(values: &[Value]) -> String {
    let zero = |value: &Value| value.same(&Value::F32(-0.0));
    let one = |value: &Value| if zero(value) { "-0.0".to_owned() } else { value.to_string() };
    values.iter().map(one).collect::<Vec<_>>().join(" ")
}
