//! Failures are stored like any other result: a failed step does not run again until something that
//! it reads, or may use, is different.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream_base::{Column, Limits, Type, Value};
use millstream_ir::answer::{Fate, RunReason, SkipReason};
use millstream_ir::{Evaluator, LogDetail, Plan, Request};
use millstream_node::{Call, Class, Failure, NodeDef};
use millstream_run::{Incremental, Lazy};

use crate::lazy::{plan, plan_with};

const GET: &str = "n0 = input xs: list<f32>
    n1 = input i: i32
    n2 = list.get n0 n1
    n3 = math.negate n2
    output n3";

fn list(items: &[f32]) -> Value {
    Value::List(Column::from_vec(items.to_vec()))
}

fn at(i: i32) -> Request {
    Request::new().set("xs", list(&[1.0, 2.0])).set("i", i)
}

/// Evaluates, compares with `lazy`, and returns the fate of `list.get`, or else of the first node.
fn ask(evaluator: &mut Incremental, plan: &Plan, request: Request) -> Fate {
    let request = request.with_log(LogDetail::Counts);
    let answer = evaluator.evaluate(plan, &request).expect("it fits");
    let expected = Lazy.evaluate(plan, &request).expect("it fits");
    assert_eq!(answer.failures, expected.failures);
    let told = |value: &Option<_>| format!("{value:?}");
    assert_eq!(told(&answer.outputs[0].value), told(&expected.outputs[0].value));
    let call = plan.steps.iter().find(|(_, step)| step.n_links > 0).expect("there is one");
    answer.log.entry(call.0).expect("it is logged").fate
}

#[test]
fn what_failed_runs_again_when_its_inputs_change() {
    let (plan, mut evaluator) = (plan(GET), Incremental::new());
    assert_eq!(ask(&mut evaluator, &plan, at(7)), Fate::Ran(RunReason::First));
    assert_eq!(ask(&mut evaluator, &plan, at(7)), Fate::Skipped(SkipReason::Failed));
    assert_eq!(ask(&mut evaluator, &plan, at(8)), Fate::Ran(RunReason::InputChanged));
    assert_eq!(ask(&mut evaluator, &plan, at(7)), Fate::Skipped(SkipReason::Failed));
    assert_eq!(ask(&mut evaluator, &plan, at(1)), Fate::Ran(RunReason::InputChanged));
    assert_eq!(ask(&mut evaluator, &plan, at(8)), Fate::Skipped(SkipReason::Failed));
    assert_eq!(ask(&mut evaluator, &plan, at(1)), Fate::Skipped(SkipReason::Cached));
}

#[test]
fn the_element_that_failed_is_told_again() {
    let (plan, mut evaluator) = (plan(GET), Incremental::new());
    let some = |indices: &[i32]| {
        let indices = Column::from_vec(indices.to_vec());
        Request::new().set("xs", list(&[1.0, 2.0])).column("i", indices)
    };
    let bad = || some(&[0, 1, 5, 9]);
    assert_eq!(ask(&mut evaluator, &plan, bad()), Fate::Ran(RunReason::First));
    assert_eq!(ask(&mut evaluator, &plan, bad()), Fate::Skipped(SkipReason::Failed));
    let answer = evaluator.evaluate(&plan, &bad()).expect("it fits");
    assert_eq!(answer.failures[0].cell, [("index", 2)]);
    assert_eq!(ask(&mut evaluator, &plan, some(&[0, 1, 1, 0])), Fate::Ran(RunReason::InputChanged));
    // As many elements, but fewer of them along the requested axis.
    assert_eq!(ask(&mut evaluator, &plan, some(&[0, 1, 5])), Fate::Ran(RunReason::InputChanged));
}

#[test]
fn what_failed_for_a_limit_runs_when_the_limit_is_raised() {
    let plan = plan("n0 = input n: i32\nn1 = const 0.0\nn2 = list.range n1 n1 n0\noutput n2");
    let mut evaluator = Incremental::new();
    let mut ask = |list_length| {
        let limits = Limits { list_length, ..Limits::default() };
        let request = Request::new().set("n", 100).with_limits(limits);
        ask(&mut evaluator, &plan, request)
    };
    assert_eq!(ask(50), Fate::Ran(RunReason::First));
    assert_eq!(ask(50), Fate::Skipped(SkipReason::Failed));
    assert_eq!(ask(200), Fate::Ran(RunReason::InputChanged));
}

#[test]
fn what_is_volatile_is_tried_each_time() {
    for (class, expected) in [(Class::Static, 1), (Class::Volatile, 3)] {
        let calls = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&calls);
        let device = move |_: &mut Call<'_>| {
            counted.fetch_add(1, Ordering::Relaxed);
            Err(Failure::whole("it is off"))
        };
        let mut registry = millstream_nodes::registry();
        let def = NodeDef::new("my.device", "Reads a device").input("x", Type::F32, "");
        registry.register(def.output("value", Type::F32, "").function(device).class(class));
        let plan = plan_with(&registry, "n0 = input x: f32 = 1.0\nn1 = my.device n0\noutput n1");
        let mut evaluator = Incremental::new();
        for _ in 0..3 {
            let answer = evaluator.evaluate(&plan, &Request::new()).expect("it fits");
            assert_eq!(answer.failures[0].message, "it is off");
        }
        assert_eq!(calls.load(Ordering::Relaxed), expected, "{class}");
    }
}
