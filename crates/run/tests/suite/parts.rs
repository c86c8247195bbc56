//! Results that are the same in all parts of a request are computed in one of them.

use std::collections::BTreeSet;

use millstream_base::Column;
use millstream_ir::answer::{Answer, Fate, RunReason};
use millstream_ir::request::{Given, RequestAxis};
use millstream_ir::states::States;
use millstream_ir::{Evaluator, LogDetail, Plan, Request};
use millstream_run::{Auto, Chunked, Incremental, Lazy, List, Parts, Varying, ticks};
use millstream_testkit::agreement::{difference, ticking_plans};

use crate::lazy::plan;

fn evaluators() -> [(&'static str, Box<dyn Evaluator>); 7] {
    [
        ("lazy", Box::new(Lazy)),
        ("list", Box::new(List::new())),
        ("list in the store", Box::new(List::new().without_registers())),
        ("chunked", Box::new(Chunked::new())),
        ("chunked by regions", Box::new(Chunked::new().without_stages())),
        ("parallel", Box::new(List::parallel())),
        ("auto", Box::new(Auto::new())),
    ]
}

/// The frames of a request one by one, by `lazy`, which then has no parts.
fn one_by_one(plan: &Plan, request: &Request) -> Option<Vec<Answer>> {
    let (frames, _) = request.asked_frames()?;
    let mut states = States::new();
    let mut answers = Vec::new();
    for (i, frame) in frames.into_iter().enumerate() {
        let (answer, next) =
            ticks::tick(&mut Lazy, plan, request.at_frame(frame, i), &states).ok()?;
        states = next;
        answers.push(answer);
    }
    Some(answers)
}

/// The entries of an output in all of these answers; `None` if it fails in one.
fn entries(answers: &[Answer], output: usize) -> Option<Column> {
    let columns = answers.iter().map(|answer| {
        let series = answer.outputs[output].value.as_ref()?;
        Some(answer.full_column(series))
    });
    let columns: Vec<Column> = columns.collect::<Option<_>>()?;
    Column::concat(answers[0].outputs[output].ty, &columns)
}

fn failed(answers: &[Answer]) -> BTreeSet<String> {
    let failures = answers.iter().flat_map(|answer| &answer.failures);
    failures.map(|failure| failure.path.to_string()).collect()
}

#[test]
fn ticks_agree_with_those_asked_for_one_by_one() {
    let mut evaluators = evaluators();
    let mut n_played = 0;
    for seed in 0..300 {
        for plan in ticking_plans(seed).into_iter().filter(Plan::has_states) {
            let on: Column = (0..6).map(|frame| seed >> frame & 1 == 1).collect();
            let mut request = Request::new().count(2).frames((0..6).collect());
            request = match seed % 3 {
                0 => request.set("x", 1.5_f32).per_time("on", on),
                1 => request.column("x", vec![0.5_f32, 3.25]).set("on", true),
                _ => request.column("x", vec![0.5_f32, 3.25]).per_time("on", on),
            };
            let request = request.set("k", (seed % 4) as i32).with_log(LogDetail::Counts);
            let Some(expected) = one_by_one(&plan, &request) else { continue };
            n_played += 1;
            for (name, evaluator) in &mut evaluators {
                let answer = ticks::evaluate(&mut **evaluator, &plan, &request);
                let answer = answer.expect("the same frames can be asked for one by one");
                for (i, output) in answer.outputs.iter().enumerate() {
                    let found = output.value.as_ref().map(|series| answer.full_column(series));
                    match (entries(&expected, i), found) {
                        (Some(wanted), Some(found)) => {
                            let differs = difference(&wanted, &found);
                            assert_eq!(differs, None, "{name}, seed {seed}, {}", output.name);
                        }
                        (wanted, found) => {
                            let both_fail = wanted.is_none() && found.is_none();
                            assert!(both_fail, "{name}, seed {seed}, {} fails in one", output.name);
                        }
                    }
                }
                let answer = [answer];
                assert_eq!(failed(&answer), failed(&expected), "{name}, seed {seed}");
                let n_runs: u64 = expected.iter().map(|answer| answer.log.total_runs()).sum();
                if *name == "lazy" {
                    assert!(answer[0].log.total_runs() <= n_runs, "seed {seed}");
                }
            }
        }
    }
    assert!(n_played > 300, "only {n_played} plans were played");
}

/// How often the steps with these numbers ran.
fn runs<const N: usize>(answer: &Answer, steps: [usize; N]) -> [u32; N] {
    steps.map(|step| answer.log.entries[step].runs)
}

#[test]
fn an_island_runs_in_one_tick() {
    // The sorted list depends on no tick; the second list is read only by an arm.
    let plan = plan(
        "n0 = input items: list<f32> = [3.0, 1.0, 2.0]
         n1 = input \"a.total\": f32 = 0.0
         n2 = input on: bool = false
         n3 = list.sort n0
         n4 = list.sum n3
         n5 = list.reverse n3
         n6 = list.maximum n5
         n7 = math.add n1 n4
         n8 = control.switch n2 n7 n6
         output y n8
         output \"a.total\" n7",
    );
    let on: Column = [false, false, true, true, false, true].into_iter().collect();
    let request = Request::new().per_time("on", on).frames((0..6).collect());
    let request = request.with_log(LogDetail::Counts);
    for (name, mut evaluator) in evaluators() {
        let answer = ticks::evaluate(&mut *evaluator, &plan, &request).expect("the request fits");
        let wanted = vec![6.0_f32, 12.0, 3.0, 3.0, 30.0, 3.0];
        assert_eq!(answer.column::<f32>("y"), Some(wanted), "{name}");
        assert_eq!(runs(&answer, [3, 4, 5, 6]), [1; 4], "{name}");
        // Nothing reads the state after the last tick.
        assert_eq!(runs(&answer, [7]), [5], "{name}");
        assert_eq!(answer.log.entries.len(), plan.steps.len(), "{name}");
    }
    // Nothing demands the second list.
    let never: Column = [false; 3].into_iter().collect();
    let request = Request::new().per_time("on", never).frames((0..3).collect());
    let request = request.with_log(LogDetail::Counts);
    let answer = ticks::evaluate(&mut Lazy, &plan, &request).expect("the request fits");
    assert_eq!(runs(&answer, [3, 5, 6]), [1, 0, 0]);
}

#[test]
fn the_log_of_one_frame_counts_the_ticks_before_it() {
    let plan = plan(
        "n0 = context.time
         n1 = convert.to_f32 n0
         n2 = input \"a.total\": f32 = 0.0
         n3 = math.add n1 n2
         output y n3
         output \"a.total\" n3",
    );
    let request = Request::new().with_log(LogDetail::Counts);
    let incremental = || ("incremental", Box::new(Incremental::new()) as Box<dyn Evaluator>);
    let pairs = evaluators().into_iter().zip(evaluators());
    for ((name, mut evaluator), (_, mut fresh)) in pairs.chain([(incremental(), incremental())]) {
        let one = ticks::evaluate(&mut *evaluator, &plan, &request.clone().frame(100));
        let one = one.expect("the request fits");
        assert_eq!(runs(&one, [0, 1, 3]), [101; 3], "{name}");
        let fates = [0, 1, 3].map(|step: usize| one.log.entries[step].fate);
        assert_eq!(fates, [Fate::Ran(RunReason::First); 3], "{name}");
        let all = ticks::evaluate(&mut *fresh, &plan, &request.clone().frames((0..101).collect()));
        let all = all.expect("the request fits");
        assert_eq!(one.log.total_runs(), all.log.total_runs(), "{name}");
    }
}

#[test]
fn what_does_not_depend_on_elements_runs_in_one_block() {
    let plan = plan(
        "n0 = input items: list<f32> = [3.0, 1.0, 2.0]
         n1 = input x: f32 = 0.0
         n2 = list.sort n0
         n3 = list.maximum n2
         n4 = math.multiply n1 n3
         output y n4",
    );
    for (name, mut evaluator) in evaluators() {
        let mut parts = None;
        let mut runs_of_sort = 0;
        for block in 0..3 {
            let x: Vec<f32> = (0..4).map(|i| (block * 4 + i) as f32).collect();
            let wanted: Vec<f32> = x.iter().map(|x| x * 3.0).collect();
            let request =
                Request::new().given("x", Given::Along(RequestAxis::Index, Column::from_vec(x)));
            let request = request.with_log(LogDetail::Counts);
            let new = || Parts::new(&*evaluator, &plan, &request, Varying::Elements);
            let parts = parts.get_or_insert_with(new);
            let answer =
                parts.evaluate(&mut *evaluator, request.clone()).expect("the request fits");
            assert_eq!(answer.outputs.len(), 1, "{name}");
            assert_eq!(answer.column::<f32>("y"), Some(wanted), "{name}");
            runs_of_sort += answer.log.entries[2].runs;
        }
        assert_eq!(runs_of_sort, 1, "{name}");
    }
}
