//! Zones of which some elements fail: the others have the values that they have alone, and the
//! failure is that of the lowest element, for all evaluators.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use millstream_base::ragged::Ragged;
use millstream_base::{Column, Limits, Mask, Type, Value};
use millstream_compile::{Options, compile};
use millstream_ir::answer::NodeFailure;
use millstream_ir::{Evaluator, Plan, Request};
use millstream_node::{Call, Failure, NodeDef, Registry};
use millstream_run::{Chunked, Lazy, partial};
use millstream_testkit::generate::REGISTRY;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::partial::{evaluators, known, same};

/// Zones over the inputs `i`, `m`, `xs`, `ys` and `table`.
const ZONES: &[&str] = &[
    "rounds = repeat(x: f32 = 0, w: f32 = 1, i: i32 = i, m: i32 = m,
  count: 3) -> (x: f32 = next, w: f32 = more) {
  round = context.iteration()
  at = m + round
  a = list.get([1.0, 2.0, 3.0, 4.0, 5.0], i)
  b = list.get([1.0, 2.0, 3.0, 4.0, 5.0], at)
  next = x * 0.5 + a
  more = w * b
}
output y: f32 = rounds.x
output z: f32 = rounds.w",
    "rounds = repeat(x: f32 = 0, i: i32 = i, m: i32 = m, count: 9,
  while = \"go\") -> (x: f32 = next, go: bool) {
  round = context.iteration()
  at = i + round
  a = list.get([1.0, 2.0, 3.0, 4.0, 5.0], at)
  next = x * 0.5 + a
  go = round < m
}
output y: f32 = rounds.x
output z: i32 = rounds.rounds",
    "rounds = repeat(x: i32 = i, table: list<i32> = table, count: m,
  until = \"stable\") -> x: i32 = next {
  next = list.get(table, x)
}
output y: i32 = rounds.x
output z: bool = rounds.settled",
    "twice = i * 2
rounds = repeat(x: f32 = 0, count: twice) -> x: f32 = next {
  next = x * 0.5 + 1
}
output y: f32 = rounds.x",
    "rounds = repeat(x: i32 = i, m: i32 = m, count: 99,
  while = \"go\") -> (x: i32 = next, go: bool) {
  next = x + 1
  go = next < m + 3
}
output y: i32 = rounds.x",
    "rounds = repeat(x: i32 = i, m: i32 = m, table: list<i32> = table,
  count: 99, while = \"go\") -> (x: i32 = next, go: bool) {
  next = list.get(table, x)
  go = next < m
}
output y: i32 = rounds.x",
    "rows = for_each(x: i32 of xs, i: i32 = i, table: list<i32> = table, s: i32 = 0) -> s: i32 = z {
  at = x + i
  item = list.get(table, at)
  z = s * 3 + item
}
output y: i32 = rows.s",
    "rows = for_each(x: i32 of xs, i: i32 = i, table: list<i32> = table) -> z: i32 {
  at = x + i
  z = list.get(table, at)
}
output y: list<i32> = rows.z",
    "rows = for_each(x: i32 of xs, y: i32 of ys, table: list<i32> = table) -> z: i32 {
  at = x + y
  z = list.get(table, at)
}
output y: list<i32> = rows.z",
    "rows = for_each(x: i32 of xs, y: i32 of ys) -> z: i32 {
  z = x + y
}
output y: list<i32> = rows.z",
    "rows = for_each(x: i32 of xs, i: i32 = i, table: list<i32> = table,
  where = \"keep\") -> (z: i32, keep: bool) {
  at = x + i
  z = list.get(table, at)
  keep = z < 3
}
output y: list<i32> = rows.z",
    "rows = for_each(x: i32 of xs, i: i32 = i, m: i32 = m, table: list<i32> = table,
  by = \"key\") -> (z: i32, key: i32) {
  z = list.get(table, x)
  at = m + x
  key = list.get(table, at)
}
output y: list<i32> = rows.z",
    "rows = for_each(x: i32 of xs, m: i32 = m, table: list<i32> = table, s: i32 = 0,
  while = \"go\") -> (s: i32 = z, all: i32 = z, go: bool) {
  at = x + m
  item = list.get(table, at)
  z = s + item
  go = z < 6
}
output y: list<i32> = rows.all
output z: i32 = rows.s",
    "rows = for_each(x: i32 of xs, i: i32 = i, m: i32 = m, table: list<i32> = table) -> z: i32 {
  rounds = repeat(x: i32 = x, i: i32 = i, table: list<i32> = table, count: m) -> x: i32 = next {
    at = x + i
    next = list.get(table, at)
  }
  z = rounds.x
}
output y: list<i32> = rows.z",
    "rounds = repeat(x: i32 = i, xs: list<i32> = xs, table: list<i32> = table,
  count: m) -> x: i32 = next {
  rows = for_each(x: i32 of xs, s: i32 = x, table: list<i32> = table) -> s: i32 = z {
    at = x + s
    z = list.get(table, at)
  }
  next = rows.s
}
output y: i32 = rounds.x",
];

const INPUTS: &str = "input i: i32 = 0
input m: i32 = 0
input xs: list<i32> = []
input ys: list<i32> = []
input table: list<i32> = [1, 1, 1, 2, 5]
";

const LISTS: &[&[i32]] = &[&[], &[0], &[0, 1], &[3, 0], &[1, 2, 0], &[0, 0, 4], &[2]];

fn plan(text: &str, registry: &Registry) -> Plan {
    let limits = Limits::default();
    let loaded = millstream_text::load(text.as_bytes(), registry, &limits);
    let (opened, problems) = millstream_document::open_loaded(loaded, registry, None, &[], &limits);
    let (_, checked) = opened.unwrap_or_else(|| panic!("{text}\n{problems}"));
    compile(&checked, registry, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The inputs of an element: two numbers, and the numbers of two lists.
type Given = (i32, i32, usize, usize);

fn lists(all: impl Iterator<Item = usize>) -> Column {
    let (mut offsets, mut values) = (vec![0], Vec::new());
    for of in all {
        values.extend_from_slice(LISTS[of]);
        offsets.push(values.len());
    }
    Column::from_ragged(Ragged::new(offsets, values.into()).expect("they ascend"))
}

fn request(plan: &Plan, given: &[Given]) -> Request {
    let columns = [
        ("i", given.iter().map(|it| it.0).collect::<Vec<_>>().into()),
        ("m", given.iter().map(|it| it.1).collect::<Vec<_>>().into()),
        ("xs", lists(given.iter().map(|it| it.2))),
        ("ys", lists(given.iter().map(|it| it.3))),
    ];
    let limits = Limits { repeat_count: 4, ..Limits::default() };
    let is_read = |name: &str| plan.inputs.iter().any(|(_, input)| &*input.name == name);
    let read = columns.into_iter().filter(|(name, _)| is_read(name));
    read.fold(Request::new().with_limits(limits), |it, (name, column)| it.column(name, column))
}

/// The outputs of an element, and the nodes that failed.
type Alone = (Vec<Option<Value>>, Vec<NodeFailure>);

/// Evaluates one element alone.
fn alone(plan: &Plan, given: Given) -> Alone {
    let answer = Lazy.evaluate(plan, &request(plan, &[given])).expect("it fits");
    let outputs = answer.outputs.iter().map(|output| known(&answer, output).remove(0)).collect();
    (outputs, answer.failures)
}

/// The positions of a cell along its axes.
type Cell = Vec<(&'static str, usize)>;

/// Path, cell and message of each node that failed, sorted.
fn told<'f>(failures: impl Iterator<Item = &'f NodeFailure>) -> BTreeMap<String, (Cell, String)> {
    let of = |it: &NodeFailure| (it.path.to_string(), (it.cell.clone(), it.message.clone()));
    failures.map(of).collect()
}

/// Compares some elements with those evaluated alone, for all evaluators. Returns the number of
/// elements that fail.
fn check(plan: &Plan, given: &[Given], mask: Option<&Mask>) -> Result<usize, String> {
    let whole = Mask::full(given.len());
    let elements: Vec<usize> = mask.unwrap_or(&whole).iter().collect();
    let mut found: HashMap<Given, Alone> = HashMap::new();
    let mut failures: BTreeMap<String, NodeFailure> = BTreeMap::new();
    let mut expected = vec![Vec::new(); plan.outputs.len()];
    let mut n_failed = 0;
    for element in &elements {
        let of = given[*element];
        let (outputs, failed) = found.entry(of).or_insert_with(|| alone(plan, of));
        expected.iter_mut().zip(outputs).for_each(|(all, value)| all.push(value.clone()));
        n_failed += usize::from(!failed.is_empty());
        for failure in failed {
            let mut failure = failure.clone();
            if let Some(cell) = failure.cell.first_mut() {
                cell.1 = *element;
            }
            failures.entry(failure.path.to_string()).or_insert(failure);
        }
    }
    let failures = told(failures.values());
    let mut request = request(plan, given);
    if let Some(mask) = mask {
        request = request.mask(mask.clone());
    }
    for (name, mut evaluator) in evaluators() {
        let answer = evaluator.evaluate(plan, &request).map_err(|error| error.to_string())?;
        if told(answer.failures.iter()) != failures {
            return Err(format!("{name}: {:?} instead of {failures:?}", answer.failures));
        }
        let asked = request.clone().with_partial();
        let answer = partial::evaluate(&mut *evaluator, plan, &asked);
        let answer = answer.map_err(|error| error.to_string())?;
        if told(answer.failures.iter()) != failures {
            return Err(format!("{name}, in part: {:?}, not {failures:?}", answer.failures));
        }
        for (output, expected) in answer.outputs.iter().zip(&expected) {
            let found = known(&answer, output);
            if !same(&found, expected) {
                return Err(format!("{name}, {}: {found:?}, not {expected:?}", output.name));
            }
        }
    }
    Ok(n_failed)
}

#[test]
fn zones_give_each_element_what_it_has_alone() {
    let config = Config { failure_persistence: None, max_shrink_iters: 512, ..Config::default() };
    let mut runner = if std::env::var_os("PROPTEST_CASES").is_some() {
        TestRunner::new(config)
    } else {
        let config = Config { cases: 150, ..config };
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
    };
    let plans: Vec<Plan> =
        ZONES.iter().map(|zone| plan(&format!("{INPUTS}{zone}\n"), &REGISTRY)).collect();
    let n_failed: Vec<AtomicUsize> = ZONES.iter().map(|_| AtomicUsize::new(0)).collect();
    let one = (-1..4_i32, 0..4_i32, 0..LISTS.len(), 0..LISTS.len());
    let mild = (0..2_i32, 0..2_i32, 0..3_usize, 0..1_usize).prop_map(|(i, m, x, _)| (i, m, x, x));
    let element = prop_oneof![1 => one, 2 => mild];
    let all = prop_oneof![
        4 => vec(element.clone(), 1..6),
        4 => vec(element.clone(), 70),
        1 => vec(element, 2500),
    ];
    let cases = (0..ZONES.len(), all, proptest::option::weighted(0.3, 2..5_usize));
    let outcome = runner.run(&cases, |(zone, given, every)| {
        let of_mask = |every| Mask::from_predicate(&Mask::full(given.len()), |i| i % every != 0);
        let mask = every.map(of_mask).filter(|mask| !mask.is_empty());
        let checked = check(&plans[zone], &given, mask.as_ref());
        let n = checked
            .map_err(|problem| TestCaseError::fail(format!("{}\n{problem}", ZONES[zone])))?;
        n_failed[zone].fetch_add(n, Ordering::Relaxed);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    for (zone, n) in ZONES.iter().zip(n_failed) {
        assert!(n.into_inner() > 3, "few elements fail of {zone}");
    }
}

#[test]
fn a_zone_runs_a_few_times_however_many_elements_fail() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let picky = move |call: &mut Call<'_>| {
        counted.fetch_add(1, Ordering::Relaxed);
        let given = call.input::<i32>(0);
        if let Some(bad) = call.mask().iter().find(|i| given.get(*i) < 0) {
            return Err(Failure::at(bad, "it is negative"));
        }
        let all: Vec<i32> = (0..call.extent()).map(|i| given.get(i)).collect();
        call.set(0, all);
        Ok(())
    };
    let mut registry = millstream_nodes::registry();
    let def = NodeDef::new("my.picky", "Refuses negative numbers").input("x", Type::I32, "");
    registry.register(def.output("value", Type::I32, "").function(picky));
    // Each with its number of items.
    let zones = [
        (1, "a = repeat(x: i32 = i, count: 3) -> x: i32 = z {", "i32 = a.x"),
        (2, "a = for_each(n: i32 of xs, x: i32 = i) -> all: i32 = z {", "list<i32> = a.all"),
        (2, "a = for_each(n: i32 of xs, x: i32 = i, s: i32 = 0) -> s: i32 = z {", "i32 = a.s"),
    ];
    let n = 8000;
    let given: Vec<i32> = (0..n).map(|i| if i % 10 == 7 { -1 } else { i }).collect();
    for (n_items, zone, output) in zones {
        let text = format!(
            "input i: i32 = 0\ninput xs: list<i32> = [1, 2]
{zone}\n  z = my.picky(x)\n}}\noutput y: {output}\n"
        );
        let plan = plan(&text, &registry);
        let request = Request::new().column("i", given.clone()).with_partial();
        calls.store(0, Ordering::Relaxed);
        let answer = partial::evaluate(&mut Chunked::new(), &plan, &request).expect("it fits");
        let known = known(&answer, &answer.outputs[0]);
        let is_right = |(of, value): (&i32, &Option<Value>)| (*of < 0) == value.is_none();
        assert!(given.iter().zip(&known).all(is_right), "{zone}");
        // The function itself tells one failing element at a time, and runs about twice for each.
        let n_calls = calls.load(Ordering::Relaxed);
        assert!(n_calls < 3 * n_items * n as usize / 10, "{n_calls} calls: {zone}");
    }
}
