//! The results that the incremental evaluator stores: answers are the same as without, and nothing
//! runs needlessly.

use std::collections::BTreeSet;
use std::time::Duration;

use millstream_base::{Column, Type, Value};
use millstream_ir::answer::{Answer, Fate, RunReason, SkipReason};
use millstream_ir::request::{Given, RequestAxis};
use millstream_ir::{Evaluator, LogDetail, Plan, Request, StepId, StepOp};
use millstream_node::{Kernel, NodeDef, Registry};
use millstream_run::incremental::Equality;
use millstream_run::{Incremental, Lazy};
use millstream_testkit::agreement::difference;
use millstream_testkit::generate::request::RequestSketch;
use millstream_testkit::generate::{Case, REGISTRY, cases_with_more};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::lazy::plan_with;

/// Runs of the steps that compute something themselves.
fn runs(plan: &Plan, answer: &Answer) -> u64 {
    let computes = |step: StepId| match plan.steps[step].op {
        StepOp::Const(_) | StepOp::Input(_) => false,
        StepOp::Call(instance) => {
            matches!(plan.instances[instance].kernel, Kernel::Form(_) | Kernel::Function(_))
        }
    };
    let counted = plan.steps.iter().filter(|(step, _)| computes(*step));
    counted.map(|(step, _)| answer.log.entry(step).map_or(0, |entry| u64::from(entry.runs))).sum()
}

fn failed(answer: &Answer) -> BTreeSet<String> {
    answer.failures.iter().map(ToString::to_string).collect()
}

/// Evaluates with both; returns how often steps ran in each.
pub(crate) fn compare(
    evaluator: &mut Incremental,
    plan: &Plan,
    request: &Request,
) -> Result<[u64; 2], String> {
    let request = request.clone().with_log(LogDetail::Counts);
    let expected = Lazy.evaluate(plan, &request).map_err(|error| error.to_string())?;
    let answer = evaluator.evaluate(plan, &request).map_err(|error| error.to_string())?;
    for (expected_output, output) in expected.outputs.iter().zip(&answer.outputs) {
        match (&expected_output.value, &output.value) {
            (Some(a), Some(b)) => {
                let (a, b) = (expected.full_column(a), answer.full_column(b));
                if let Some(difference) = difference(&a, &b) {
                    return Err(format!("output `{}`: {difference}", output.name));
                }
            }
            (None, None) => {}
            (a, b) => return Err(format!("output `{}`: {a:?}, but {b:?}", output.name)),
        }
    }
    if failed(&expected) != failed(&answer) {
        return Err(format!("{:?} fail, but {:?}", failed(&expected), failed(&answer)));
    }
    Ok([runs(plan, &expected), runs(plan, &answer)])
}

#[test]
fn answers_do_not_depend_on_what_was_asked_before() {
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = if std::env::var_os("PROPTEST_CASES").is_some() {
        TestRunner::new(config)
    } else {
        let config = Config { cases: 150, ..config };
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
    };
    let outcome = runner.run(&cases_with_more(14, 4), |(case, more)| {
        let mut requests = vec![case.request.clone()];
        for request in more {
            requests.extend([request.clone(), request]);
        }
        requests.push(case.request.clone());
        in_order(&case, &requests).map_err(|problem| {
            let mut text = String::new();
            for request in &requests[1..] {
                text += &format!("# request: {request}\n");
            }
            TestCaseError::fail(format!("{problem}\n{text}{case}"))
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// Requests one after the other: each is answered as without stored results, with no more runs, and
/// with none if it is repeated at once.
fn in_order(case: &Case, requests: &[RequestSketch]) -> Result<(), String> {
    for mut evaluator in [Incremental::new(), Incremental::new().without_live_graph()] {
        let mut last = String::new();
        for (i, sketch) in requests.iter().enumerate() {
            let request = sketch.request();
            let was_just_asked = std::mem::replace(&mut last, sketch.to_string()) == last;
            let [lazy, kept] = match compare(&mut evaluator, &case.plain, &request) {
                Ok(runs) => runs,
                Err(problem) if problem.contains("list_length") => continue,
                Err(problem) => return Err(format!("request {i}: {problem}")),
            };
            if kept > lazy {
                return Err(format!("request {i}: {kept} runs, {lazy} without memory"));
            }
            if was_just_asked && kept > 0 {
                let answer = Lazy.evaluate(&case.plain, &request);
                if answer.is_ok_and(|answer| answer.failures.is_empty()) {
                    let name = evaluator.name();
                    return Err(format!("{name}: request {i} was just asked, and {kept} run"));
                }
            }
        }
    }
    Ok(())
}

/// Sequences of requests that once went wrong: the first line has the last request; those before it
/// precede the graph.
#[test]
fn what_once_went_wrong_stays_right() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sequences");
    let mut n_read = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        let text = std::fs::read_to_string(&path).expect("it is text");
        let case = Case::parse(&text, &REGISTRY).expect("it is a case");
        let others = text.lines().filter_map(|line| line.strip_prefix("# request:"));
        let requests: Result<Vec<_>, _> =
            others.map(|line| RequestSketch::parse(line, &case.graph)).collect();
        let requests = requests.expect("these are requests");
        in_order(&case, &requests)
            .unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
        n_read += 1;
    }
    assert!(n_read > 0);
}

fn plan(text: &str) -> Plan {
    super::lazy::plan(text)
}

/// Evaluates; returns the fates of the steps of each node type, and how often steps ran.
fn ask(evaluator: &mut Incremental, plan: &Plan, request: Request) -> (Vec<(String, Fate)>, u64) {
    let answer = evaluator.evaluate(plan, &request.with_log(LogDetail::Counts));
    let answer = answer.expect("it is answered");
    let mut fates = Vec::new();
    for (step, of) in plan.steps.iter() {
        if let StepOp::Call(instance) = of.op {
            let fate = answer.log.entry(step).expect("it is logged").fate;
            fates.push((plan.instances[instance].name().to_owned(), fate));
        }
    }
    (fates, runs(plan, &answer))
}

/// `time` varies by element in each of more contexts than values of it are remembered across
/// requests.
#[test]
fn all_contexts_of_a_request_are_known_when_it_is_asked_again() {
    let mut text = "n0 = context.index
        n1 = context.time
        n2 = convert{\"to\": \"f64\"} n0
        n3 = math.multiply n1 n1\n"
        .to_owned();
    let (mut sum, mut shift) = (3, 2);
    for _ in 0..20 {
        let next = shift.max(sum) + 1;
        text += &format!("n{next} = math.add n{shift} n2\n");
        text += &format!("n{} = time.shift n3 n{next}\n", next + 1);
        text += &format!("n{} = math.add n{sum} n{}\n", next + 2, next + 1);
        (shift, sum) = (next, next + 2);
    }
    let plan = plan(&format!("{text}output n{sum}"));
    let mut evaluator = Incremental::new();
    let request = || Request::new().count(5).time(0.5);
    let (_, n_runs) = ask(&mut evaluator, &plan, request());
    assert!(n_runs > 20, "{n_runs}");
    assert_eq!(ask(&mut evaluator, &plan, request()).1, 0);
}

const SHIFTED: &str = "n0 = input x: f64 = 1.0
    n1 = context.time
    n2 = math.floor n1
    n3 = math.add n2 n0
    n4 = math.sin n0
    n5 = math.multiply n3 n4
    output n5";

#[test]
fn the_log_says_why_steps_ran_and_why_not() {
    use Fate::{Ran, Skipped};
    for mut evaluator in [Incremental::new(), Incremental::new().without_live_graph()] {
        let plan = plan(SHIFTED);
        let of = |fates: &[(String, Fate)], name: &str| {
            let (_, fate) = fates.iter().find(|(known, _)| known == name).expect("it is there");
            *fate
        };
        let (fates, n_runs) = ask(&mut evaluator, &plan, Request::new().time(1.25));
        assert_eq!((of(&fates, "math.add"), n_runs), (Ran(RunReason::First), 4));
        assert_eq!(of(&fates, "context.time"), Ran(RunReason::First));
        // Another time with the same floor.
        let (fates, n_runs) = ask(&mut evaluator, &plan, Request::new().time(1.5));
        assert_eq!((of(&fates, "math.floor"), n_runs), (Ran(RunReason::InputChanged), 1));
        assert_eq!(of(&fates, "math.add"), Skipped(SkipReason::CutOff));
        assert_eq!(of(&fates, "context.time"), Ran(RunReason::FeatureChanged));
        assert_eq!(of(&fates, "math.sin"), Skipped(SkipReason::Cached));
        let (fates, n_runs) = ask(&mut evaluator, &plan, Request::new().time(2.5));
        assert_eq!((of(&fates, "math.multiply"), n_runs), (Ran(RunReason::InputChanged), 3));
        assert_eq!(of(&fates, "math.sin"), Skipped(SkipReason::Cached));
        let (fates, n_runs) = ask(&mut evaluator, &plan, Request::new().time(2.5).set("x", 1.0));
        assert_eq!((of(&fates, "context.time"), n_runs), (Skipped(SkipReason::Cached), 0));
    }
}

#[test]
fn an_arm_that_is_not_taken_is_not_needed() {
    use Fate::{Ran, Skipped};
    for mut evaluator in [Incremental::new(), Incremental::new().without_live_graph()] {
        let plan = plan(
            "n0 = input b: bool = true
            n1 = input x: f32 = 1.0
            n2 = math.add n1 n1
            n3 = math.sin n2
            n4 = control.switch n0 n2 n3
            output n4",
        );
        let fate_of_arm =
            |evaluator: &mut Incremental, request: Request| ask(evaluator, &plan, request).0[1].1;
        let evaluator = &mut evaluator;
        assert_eq!(fate_of_arm(evaluator, Request::new()), Ran(RunReason::First));
        let off = |x: f32| Request::new().set("b", false).set("x", x);
        assert_eq!(fate_of_arm(evaluator, off(1.0)), Skipped(SkipReason::NotNeeded));
        assert_eq!(fate_of_arm(evaluator, off(2.0)), Skipped(SkipReason::NotNeeded));
        // Runs without a log count.
        evaluator.evaluate(&plan, &Request::new().set("x", 2.0)).expect("it runs");
        assert_eq!(
            fate_of_arm(evaluator, Request::new().set("x", 2.0)),
            Skipped(SkipReason::Cached)
        );
        let other = Request::new().set("x", 3.0);
        assert_eq!(fate_of_arm(evaluator, other), Ran(RunReason::InputChanged));
    }
}

/// A sort of many numbers is worth storing, a sum with a number is not.
const SORTED: &str = "n0 = input x: list<f32>
    n1 = list.sort n0
    n2 = list.sum n1
    output n2";

fn numbers(seed: u64) -> Column {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as f32
    };
    (0..20_000).map(|_| next()).collect()
}

#[test]
fn values_that_come_back_hit_the_memo_within_its_budget() {
    let plan = plan(SORTED);
    let list = |seed| Request::new().set("x", Value::List(numbers(seed)));
    let mut evaluator = Incremental::new();
    // Whether the sum is stored as well depends on the speed of the machine.
    let fate_of_sort = |evaluator: &mut Incremental, seed| ask(evaluator, &plan, list(seed)).0[0].1;
    for seed in 0..4 {
        assert_eq!(ask(&mut evaluator, &plan, list(seed)).1, 2);
    }
    let kept = Fate::Skipped(SkipReason::Cached);
    for seed in [2, 0, 3, 1, 1] {
        assert_eq!(fate_of_sort(&mut evaluator, seed), kept, "list {seed} was there before");
    }
    // A sorted list takes 80 kB: two fit besides the one in use.
    let mut evaluator = Incremental::new().budget(250_000);
    for seed in 0..5 {
        fate_of_sort(&mut evaluator, seed);
    }
    assert!(evaluator.bytes() <= 250_000, "{} bytes", evaluator.bytes());
    assert_eq!(fate_of_sort(&mut evaluator, 4), kept);
    let reasons: Vec<Fate> = (0..5).map(|seed| fate_of_sort(&mut evaluator, seed)).collect();
    assert!(reasons.contains(&Fate::Ran(RunReason::Evicted)), "{reasons:?}");
}

/// Many results of expensive steps are stored: numbers, texts, moments.
#[test]
fn scrubbing_over_many_values_runs_nothing_twice() {
    let mut registry: Registry = millstream_nodes::registry();
    registry.register(NodeDef::from_closure("my.slow", "Slow", &["x"], |x: f32| {
        std::thread::sleep(Duration::from_millis(1));
        x + 1.0
    }));
    let plan = plan_with(
        &registry,
        "n0 = input x: f32 = 1.0
n1 = input decimals: i32 = 2
n2 = my.slow n0
n3 = string.from_number n2 n1
n4 = string.length n3
n5 = my.slow n2
output length n4
output again n5",
    );
    let mut evaluator = Incremental::new().without_live_graph();
    let mut slow_runs = |x: i32| {
        let request = Request::new().set("x", Value::from(x as f32));
        let answer = evaluator.evaluate(&plan, &request.with_log(LogDetail::Counts)).expect("runs");
        let is_slow = |step: &StepId| match plan.steps[*step].op {
            StepOp::Call(instance) => plan.instances[instance].name() == "my.slow",
            StepOp::Const(_) | StepOp::Input(_) => false,
        };
        let slow = plan.steps.ids().filter(is_slow);
        slow.map(|step| answer.log.entry(step).map_or(0, |entry| entry.runs)).sum::<u32>()
    };
    let first: u32 = (0..150).map(&mut slow_runs).sum();
    // A chain: each step reads the result of the one before.
    assert_eq!(first, 300);
    assert_eq!((0..150).chain((0..150).rev()).map(&mut slow_runs).sum::<u32>(), 0);
}

#[test]
fn a_larger_demand_computes_the_rest() {
    let text = "n0 = input x: f32 = 1.0
        n1 = input limit: i32 = 3
        n2 = context.index
        n3 = compare.less n2 n1
        n4 = convert.to_f32 n2
        n5 = math.sin n4
        n6 = control.switch n3 n0 n5
        output n6";
    let plan = plan(text);
    let mut evaluator = Incremental::new();
    let mut elements = |limit: i32| {
        let request = Request::new().count(10).set("limit", limit).with_log(LogDetail::Counts);
        let answer = evaluator.evaluate(&plan, &request).expect("it is answered");
        let sines = plan.steps.iter().find(|(_, step)| {
            matches!(step.op, StepOp::Call(id) if plan.instances[id].name() == "math.sin")
        });
        answer.log.entry(sines.expect("it is there").0).expect("it is logged").elements
    };
    assert_eq!(elements(6), 6);
    assert_eq!(elements(4), 0);
    assert_eq!(elements(8), 2);
    assert_eq!(elements(10), 2);
}

#[test]
fn a_live_program_is_set_and_read_by_handles() {
    use millstream_base::Feature;
    use millstream_run::live::LiveProgram;
    let mut program = LiveProgram::new(&plan(SHIFTED)).expect("it is all numbers");
    let x = program.input::<f64>("x").expect("it is read");
    assert!(program.input::<f32>("x").is_none() && program.input::<f64>("y").is_none());
    let time = program.feature::<f64>(&Feature::Time).expect("it is read");
    let name = plan(SHIFTED).outputs[0].name.to_string();
    let out = program.output::<f64>(&name).expect("it is there");
    let graph = program.graph();
    graph.set(x, 2.0);
    graph.set(time, 3.5);
    let expected = Request::new().time(3.5).set("x", 2.0);
    let expected = Lazy.evaluate(&plan(SHIFTED), &expected).expect("it fits");
    assert_eq!(Some(graph.get(out)), expected.value::<f64>(&name));
    let refused = LiveProgram::new(&plan(SORTED)).expect_err("lists are no numbers");
    assert!(refused.to_string().contains("number"), "{refused}");
}

#[test]
fn a_tolerance_compares_with_what_was_passed_on() {
    let text = "n0 = input x: f32 = 1.0
        n1 = math.multiply n0 n0
        n2 = math.sqrt n1
        output n2";
    let plan = plan(text);
    let mut evaluator = Incremental::new().equality(Type::F32, Equality::Within(0.5));
    let mut ask = |x: f32| {
        let (_, n_runs) = ask(&mut evaluator, &plan, Request::new().set("x", x));
        let answer = evaluator.evaluate(&plan, &Request::new().set("x", x)).expect("it fits");
        (answer.value::<f32>(&plan.outputs[0].name), n_runs)
    };
    assert_eq!(ask(1.0), (Some(1.0), 2));
    // 1.44 is within a half of 1, so the root does not run.
    assert_eq!(ask(1.2), (Some(1.0), 1));
    // Small steps add up to more than the tolerance.
    assert_eq!(ask(1.25), (Some(1.0), 2));
    assert_eq!(ask(1.6), (Some(1.6), 2));
}

#[test]
fn by_handle_a_new_list_counts_as_changed() {
    let plan = plan(SORTED);
    let list = || Request::new().set("x", Value::List(numbers(1)));
    for (equality, expected) in [(Equality::Exact, 0), (Equality::ByHandle, 0)] {
        let mut evaluator =
            Incremental::new().equality(Type::F32.list().expect("a list"), equality);
        ask(&mut evaluator, &plan, list());
        // Inputs are compared by their bits, since they come from outside.
        assert_eq!(ask(&mut evaluator, &plan, list()).1, expected);
    }
    // Two orders of the same numbers sort to equal lists.
    let mut reversed = numbers(1).as_slice::<f32>().expect("they are f32").to_vec();
    reversed.reverse();
    let reversed = Column::from_vec(reversed);
    let reversed = Request::new().set("x", Value::List(reversed));
    for (equality, n_runs) in [(Equality::Exact, 1), (Equality::ByHandle, 2)] {
        let mut evaluator =
            Incremental::new().equality(Type::F32.list().expect("a list"), equality);
        ask(&mut evaluator, &plan, list());
        assert_eq!(ask(&mut evaluator, &plan, reversed.clone()).1, n_runs, "{equality:?}");
    }
}

#[test]
fn what_is_still_right_is_kept_across_plans() {
    let sorted = |more: &str| {
        let text = format!("{SORTED_WITH_PATHS}{more}");
        plan(&text)
    };
    let list = || Request::new().set("x", Value::List(numbers(3)));
    let mut evaluator = Incremental::new();
    let of = |fates: &[(String, Fate)], name: &str| {
        let (_, fate) = fates.iter().find(|(known, _)| known == name).expect("it is there");
        *fate
    };
    let (fates, n_runs) = ask(&mut evaluator, &sorted("output n2\n"), list());
    assert_eq!((of(&fates, "list.sort"), n_runs), (Fate::Ran(RunReason::First), 2));
    // The same nodes in another plan, and one more.
    let more = "n3 = math.add n2 n2  # twice\noutput n3\n";
    let (fates, n_runs) = ask(&mut evaluator, &sorted(more), list());
    assert_eq!((of(&fates, "list.sort"), n_runs), (Fate::Skipped(SkipReason::Cached), 1));
    // The sum became a product.
    let text = SORTED_WITH_PATHS.replace("list.sum", "list.product") + "output n2\n";
    let (fates, n_runs) = ask(&mut evaluator, &plan(&text), list());
    assert_eq!((of(&fates, "list.product"), n_runs), (Fate::Ran(RunReason::Edited), 1));
}

const SORTED_WITH_PATHS: &str = "n0 = input x: list<f32>
    n1 = list.sort n0  # sort
    n2 = list.sum n1  # total
    ";

/// A step that is absent from a plan for a while has its column when it is present again.
#[test]
fn columns_wait_for_a_plan_that_has_their_step_again() {
    let with = "n0 = input x: f64 = 1.0
        n1 = context.index
        n2 = convert.to_f64 n1
        n3 = math.sin n2  # sine
        output n3";
    let without = "n0 = input x: f64 = 1.0
        output n0";
    let mut evaluator = Incremental::new();
    let mut n_runs = |text: &str| ask(&mut evaluator, &plan(text), Request::new().count(5)).1;
    assert_eq!([n_runs(with), n_runs(without), n_runs(with)], [2, 0, 0]);
}

/// Two results with the same cells and equal values there have one stamp. Later they get different
/// further cells, and a reader of one must not find a result made from the other.
#[test]
fn results_that_agree_in_part_go_their_own_ways() {
    let text = "n0 = input x: f64
        n1 = input taken: bool
        n2 = math.sqrt n0
        n3 = math.sin n2
        n4 = control.switch n1 n0 n3
        output n4";
    let plan = plan(text);
    let request = |x: [f64; 3], taken: [bool; 3]| {
        let x = Given::Along(RequestAxis::Index, Column::from_vec(x.to_vec()));
        let taken = Given::Along(RequestAxis::Index, Column::from_vec(taken.to_vec()));
        Request::new().given("x", x).given("taken", taken)
    };
    let (a, b, c) = ([1.0, 5.0, 2.0], [1.0, 7.0, 3.0], [1.0, 9.0, 4.0]);
    let (one, two, three) = ([true, false, false], [true, true, false], [true; 3]);
    // The first entry either owns its stamp or does not; two entries lend it.
    for script in [
        vec![(a, one), (b, two), (a, two)],
        vec![(a, one), (b, one), (b, two), (a, two), (b, three), (a, three)],
        vec![(a, one), (b, one), (a, two), (b, two), (c, one), (c, two), (a, three)],
        vec![(a, one), (b, two), (a, one), (c, two), (b, three), (c, three), (a, three)],
    ] {
        let mut evaluator = Incremental::new();
        for (i, (x, taken)) in script.into_iter().enumerate() {
            let found = compare(&mut evaluator, &plan, &request(x, taken));
            let [lazy, kept] = found.unwrap_or_else(|problem| panic!("request {i}: {problem}"));
            assert!(kept <= lazy);
        }
    }
}

/// Two chains of cheap nodes, each over an input, joined at the end; 32 nodes in all.
fn joined_chains(end: &str) -> Plan {
    let mut text = String::from("n0 = input x: f32 = 0.5\nn1 = input y: f32 = 0.25\n");
    for i in 2..33 {
        text += &format!("n{i} = math.sin n{}\n", i - 2);
    }
    plan(&format!("{text}n33 = math.add n31 n32\n{end}"))
}

/// The memo walk, with chunks and without.
fn with_and_without_chunks() -> [Incremental; 2] {
    let new = || Incremental::new().without_live_graph();
    [new(), new().chunks_from(usize::MAX)]
}

#[test]
fn a_chunk_that_was_there_before_does_not_run_and_is_told_so() {
    let plan = joined_chains("output n33");
    let columns = |x: f32| Request::new().column("x", vec![x, x + 1.0, x + 2.0]);
    for mut evaluator in with_and_without_chunks() {
        assert_eq!(ask(&mut evaluator, &plan, columns(1.0)).1, 32);
        assert_eq!(ask(&mut evaluator, &plan, columns(2.0)).1, 17, "what depends on x");
        let (fates, n_runs) = ask(&mut evaluator, &plan, columns(1.0));
        assert_eq!(n_runs, 0);
        assert_eq!(fates.len(), 32);
        let cached = Fate::Skipped(SkipReason::Cached);
        assert!(fates.iter().all(|(_, fate)| *fate == cached), "{fates:?}");
        let [ran, _] = compare(&mut evaluator, &plan, &columns(1.0)).expect("they agree");
        assert!(ran > 0, "the other evaluator keeps nothing");
    }
}

#[test]
fn members_of_a_chunk_stay_while_its_result_is_used() {
    let plan = joined_chains("output n33");
    let both = |x: f32, y: f32| Request::new().set("x", x).set("y", y);
    for mut evaluator in with_and_without_chunks() {
        let runs = [(1.0, 1.0), (2.0, 2.0), (1.0, 1.0), (3.0, 1.0), (1.0, 1.0), (1.0, 2.0)];
        let runs: Vec<u64> =
            runs.iter().map(|(x, y)| ask(&mut evaluator, &plan, both(*x, *y)).1).collect();
        // The chain over `x` ran for 1 in the evaluation before the last one.
        assert_eq!(runs[..5], [32, 32, 0, 17, 0]);
        assert!(runs[5] <= 17, "{runs:?}");
    }
}

#[test]
fn many_results_of_a_chunk_are_kept_if_it_takes_long() {
    let mut text = String::from("n0 = input x: f32 = 0.5\n");
    for i in 1..400 {
        text += &format!("n{i} = math.sin n{}\n", i - 1);
    }
    let plan = plan(&format!("{text}output n399"));
    let mut evaluator = Incremental::new().without_live_graph();
    let all = |evaluator: &mut Incremental| -> Vec<u64> {
        let request = |x| Request::new().set("x", x as f32);
        (0..20).map(|x| ask(evaluator, &plan, request(x)).1).collect()
    };
    assert_eq!(all(&mut evaluator), [399; 20]);
    assert_eq!(all(&mut evaluator), [0; 20], "single nodes are not worth so many entries");
}

#[test]
fn what_an_edit_changed_in_a_chunk_is_not_taken_for_the_same() {
    let before = joined_chains("output n33");
    let after = joined_chains("n34 = math.negate n33\noutput n34");
    let mut evaluator = Incremental::new().without_live_graph();
    for plan in [&before, &after, &before, &after] {
        compare(&mut evaluator, plan, &Request::new().set("x", 0.25_f32)).expect("they agree");
    }
}

#[test]
fn a_chunk_is_dropped_before_it_holds_too_many_bytes() {
    let plan = joined_chains("output n33");
    let mut evaluator = Incremental::new().without_live_graph().budget(1 << 16);
    for x in 0..40 {
        let request = Request::new().column("x", vec![x as f32; 100]);
        compare(&mut evaluator, &plan, &request).expect("they agree");
        assert!(evaluator.bytes() < 1 << 17, "{}", evaluator.bytes());
    }
}
