//! The kinds of propagation in live graphs: the same answers, at other times.

use std::collections::BTreeSet;

use millstream_base::{Column, Type, Vec3};
use millstream_ir::{EvalError, Evaluator, LogDetail, Plan, Request, Step, StepOp};
use millstream_run::Incremental;
use millstream_run::incremental::Equality;
use millstream_run::live::Propagation;
use millstream_testkit::generate::cases_with_more;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const FORMS: [Propagation; 4] =
    [Propagation::Pull, Propagation::Push, Propagation::RetractAndAssert, Propagation::Mixed];

fn form(propagation: Propagation) -> Incremental {
    Incremental::new().propagation(propagation)
}

/// Outputs `a`, of three steps, and `b`, of two others and one that both read.
fn two_outputs() -> Plan {
    super::lazy::plan(
        "n0 = input x: f32 = 1.0
        n1 = input y: f32 = 2.0
        n2 = math.sqrt n0
        n3 = math.sin n2
        n4 = math.add n3 n1
        n5 = math.cos n2
        n6 = math.floor n5
        output a n4
        output b n6",
    )
}

/// Runs since the last answer, and the bits of the outputs.
fn read(evaluator: &mut Incremental, plan: &Plan, request: &Request) -> (u64, Vec<u64>) {
    let request = request.clone().with_log(LogDetail::Counts);
    let answer = evaluator.evaluate(plan, &request).expect("it is answered");
    let bits = |output: &millstream_ir::answer::OutputAnswer| {
        let series = output.value.as_ref().expect("it has a value");
        answer.full_column(series).get(0).lane(0).expect("it is a number")
    };
    (answer.log.total_runs(), answer.outputs.iter().map(bits).collect())
}

#[test]
fn forms_differ_in_when_nodes_run() {
    let plan = two_outputs();
    let x = |x: f32| Request::new().set("x", x).with_log(LogDetail::Counts);
    let runs = FORMS.map(|propagation| {
        let mut evaluator = form(propagation);
        assert_eq!(read(&mut evaluator, &plan, &x(1.0)).0, 5);
        // Two changes, the first of which is not read, and a third that is read.
        for value in [4.0, 9.0] {
            evaluator.commit(&plan, &x(value)).expect("it fits");
        }
        let (n_runs, bits) = read(&mut evaluator, &plan, &x(16.0));
        let mut walked = Incremental::new().without_live_graph();
        assert_eq!(bits, read(&mut walked, &plan, &x(16.0)).1);
        assert_eq!(read(&mut evaluator, &plan, &x(16.0)).0, 0, "nothing changed");
        n_runs
    });
    // All five steps once; three times; as often; and the steps that only `b` reads only once.
    assert_eq!(runs, [5, 15, 15, 3 * 3 + 2]);
}

#[test]
fn a_change_that_is_taken_back_before_it_is_read_runs_nothing_if_pulled() {
    let plan = two_outputs();
    let x = |x: f32| Request::new().set("x", x).with_log(LogDetail::Counts);
    let runs = FORMS.map(|propagation| {
        let mut evaluator = form(propagation);
        read(&mut evaluator, &plan, &x(1.0));
        evaluator.commit(&plan, &x(4.0)).expect("it fits");
        read(&mut evaluator, &plan, &x(1.0)).0
    });
    assert_eq!(runs, [0, 10, 10, 6]);
}

#[test]
fn what_is_asked_for_may_change() {
    let plan = two_outputs();
    for propagation in FORMS {
        let mut evaluator = form(propagation);
        for (i, outputs) in
            [&["a"][..], &["b"], &["b", "a"], &["a", "b"], &["b"]].iter().enumerate()
        {
            let asked = |x: f32| {
                let request = Request::new().set("x", x).set("y", 0.5);
                outputs.iter().fold(request, |request, name| request.output(*name))
            };
            evaluator.commit(&plan, &asked(i as f32 * 3.0)).expect("it fits");
            let request = asked(i as f32);
            let expected = read(&mut Incremental::new().without_live_graph(), &plan, &request).1;
            assert_eq!(read(&mut evaluator, &plan, &request).1, expected, "{propagation:?} {i}");
        }
    }
}

fn unfit(evaluator: &mut Incremental, plan: &Plan, request: &Request) -> String {
    let refused = evaluator.evaluate(plan, request).expect_err("it cannot evaluate this");
    assert_eq!(evaluator.commit(plan, request), Err(refused.clone()));
    assert!(matches!(refused, EvalError::Unfit { .. }), "{refused}");
    refused.to_string()
}

#[test]
fn more_than_single_values_is_refused_and_nothing_else_takes_its_place() {
    let plan = two_outputs();
    let mut push = form(Propagation::Push);
    let many = "incremental-push cannot evaluate this: it supports only single values; ";
    let told = |what: &str| format!("{many}{what}");
    let column = Request::new().column("x", Column::from_vec(vec![1.0_f32, 2.0]));
    let elements = told("the request has many elements or moments");
    assert_eq!(unfit(&mut push, &plan, &column), elements);
    assert_eq!(unfit(&mut push, &plan, &Request::new().count(3)), elements);
    let looped = super::lazy::plan(
        "n0 = input k: i32 = 3\nn1 = context.index\nn2 = list.generate n1 n0\noutput n2",
    );
    let refused = unfit(&mut push, &looped, &Request::new());
    assert!(refused.starts_with(many), "{refused}");
    assert!(refused.ends_with("it changes the context of an input"), "{refused}");
    let mut tolerant = form(Propagation::Pull).equality(Type::F32, Equality::Within(0.1));
    let why =
        "incremental-pull cannot evaluate this: it compares bits, but another equality is set";
    assert_eq!(unfit(&mut tolerant, &plan, &Request::new()), why);
    // The plan may be evaluated again for requests that fit.
    assert_eq!(read(&mut push, &plan, &Request::new()).0, 5);
}

/// How often functions may run once more with mixed propagation: it computes the outputs that
/// pushed nodes want, and others of the same function when they are read.
fn runs_for_more(plan: &Plan, propagation: Propagation) -> u64 {
    if propagation != Propagation::Mixed {
        return 0;
    }
    let later = |step: &Step| match step.op {
        StepOp::Call(instance) => plan.instances[instance].outputs.len().saturating_sub(1),
        StepOp::Const(_) | StepOp::Input(_) => 0,
    };
    plan.steps.iter().map(|(_, step)| later(step) as u64).sum()
}

#[test]
fn forms_agree_on_generated_graphs() {
    let config = Config { failure_persistence: None, cases: 200, ..Config::default() };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let compared = std::cell::Cell::new(0);
    let outcome = runner.run(&cases_with_more(14, 4), |(case, more)| {
        for propagation in FORMS {
            let mut evaluator = form(propagation);
            for request in std::iter::once(&case.request).chain(&more) {
                let request = request.request();
                match super::incremental::compare(&mut evaluator, &case.plain, &request) {
                    Ok([lazy, kept]) => {
                        let most = lazy + runs_for_more(&case.plain, propagation);
                        assert!(kept <= most, "{kept} runs, {lazy} without memory");
                        compared.set(compared.get() + 1);
                    }
                    Err(problem) if problem.contains("cannot evaluate this") => {}
                    Err(problem) if problem.contains("list_length") => {}
                    Err(problem) => panic!("{propagation:?}: {problem}"),
                }
            }
        }
        Ok(())
    });
    outcome.expect("no case is refused");
    assert!(compared.get() > 200, "only {} requests are of single values", compared.get());
}

/// Vectors, text and lists travel as numbers do; failures are reported, and evaluation continues.
#[test]
fn values_of_any_type_travel() {
    let plan = super::lazy::plan(
        "n0 = input v: vec3 = [3, 4, 0]
        n1 = input i: i32 = 0
        n2 = vector.length n0
        n3 = vector.scale n0 n2
        n4 = vector.separate_vec3 n3
        n5 = list.of [n4.x n4.y n2]
        n6 = list.get n5 n1
        n7 = math.sqrt n6
        output a n7
        output b n3",
    );
    let ask = |v: [f32; 3], i: i32| Request::new().set("v", Vec3(v)).set("i", i);
    for propagation in FORMS {
        let mut evaluator = form(propagation);
        for (v, i) in [
            ([3.0, 4.0, 0.0], 0),
            ([3.0, 4.0, 0.0], 2),
            ([4.0, 3.0, 0.0], 2),
            ([4.0, 3.0, 0.0], 9),
            ([0.0, 1.0, 0.0], 9),
            ([0.0, 1.0, 0.0], 1),
        ] {
            let request = ask(v, i);
            evaluator.commit(&plan, &request).expect("it fits");
            let [_, n_runs] = super::incremental::compare(&mut evaluator, &plan, &request)
                .unwrap_or_else(|problem| panic!("{propagation:?} {v:?} {i}: {problem}"));
            assert!(n_runs <= 6, "{propagation:?}: {n_runs} runs");
        }
    }
}

#[test]
fn names_tell_forms_apart() {
    let names: BTreeSet<&str> = FORMS.iter().map(|propagation| form(*propagation).name()).collect();
    let all = ["incremental-mixed", "incremental-pull", "incremental-push", "incremental-retract"];
    assert_eq!(names, BTreeSet::from(all));
    assert_eq!(Incremental::new().without_live_graph().name(), "incremental-walk");
}
