//! Evaluations end when they are cancelled, and refuse what exceeds the limits.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use millstream_base::{Column, Limits};
use millstream_ir::request::RequestError;
use millstream_ir::{EvalError, Evaluator, Plan, Progress, Request};
use millstream_node::{NodeDef, Registry};
use millstream_run::{Auto, Chunked, Incremental, Lazy, List};

use crate::lazy::{plan, plan_with};

/// A loop of many rounds, each of which is cheap.
const LONG: &str = "n0 = context.index
    n1 = const 20000000
    n2 = math.sin n0
    n3 = list.generate n2 n1
    n4 = list.sum n3
    output n4";

#[test]
fn a_cancelled_evaluation_ends() {
    let mut request = Request::new();
    request.budget.cancel = Some(Arc::new(AtomicBool::new(true)));
    assert_eq!(Lazy.evaluate(&plan(LONG), &request).err(), Some(EvalError::Cancelled));
}

#[test]
fn a_deadline_that_is_past_ends_the_evaluation() {
    let mut request = Request::new();
    request.budget.deadline = Instant::now().checked_sub(Duration::from_secs(1));
    assert_eq!(Lazy.evaluate(&plan(LONG), &request).err(), Some(EvalError::Deadline));
}

#[test]
fn bytes_beyond_the_budget_are_refused() {
    let limits = |bytes| Limits { bytes, ..Limits::default() };
    let sines = plan("n0 = input x: f64 = 0.0\nn1 = math.sin n0\noutput n1");
    // Gigabytes, which are not allocated.
    let of_index = plan("n0 = context.index\nn1 = math.sin n0\noutput n1");
    for evaluator in
        [&mut Lazy as &mut dyn Evaluator, &mut Chunked::new(), &mut List::new(), &mut Auto::new()]
    {
        let request = |n: usize| Request::new().column("x", Column::from_vec(vec![0.5_f64; n]));
        let found = evaluator.evaluate(&sines, &request(1000).with_limits(limits(1000)));
        assert_eq!(found.err(), Some(EvalError::Bytes { limit: 1000 }));
        let counted = Request::new().count(200_000_000).with_limits(limits(1 << 20));
        let found = evaluator.evaluate(&of_index, &counted);
        let error = RequestError::TooManyBytes { bytes: 800_000_000, limit: 1 << 20 };
        assert_eq!(found.err(), Some(EvalError::Request(vec![error])));
    }
}

#[test]
fn there_are_no_more_elements_than_index_can_count() {
    let limits = Limits { list_length: usize::MAX, bytes: usize::MAX, ..Limits::default() };
    let plan = plan("n0 = context.index\noutput n0");
    let request = Request::new().count(3_000_000_000).with_limits(limits);
    let error = RequestError::TooManyCells { cells: 3_000_000_000, limit: i32::MAX as usize };
    assert_eq!(Lazy.evaluate(&plan, &request).err(), Some(EvalError::Request(vec![error])));
}

#[test]
fn loops_longer_than_allowed_fail_on_their_node() {
    let limits = Limits { list_length: 1000, ..Limits::default() };
    let answer = Lazy.evaluate(&plan(LONG), &Request::new().with_limits(limits));
    let answer = answer.expect("the request fits");
    assert!(answer.outputs[0].value.is_none());
    let failure = &answer.failures[0];
    assert_eq!(failure.message, "more than 1000 cells");
    assert!(failure.help.as_deref().is_some_and(|help| help.contains("list_length")));
}

#[test]
fn a_node_that_panics_fails_alone() {
    let mut registry: Registry = millstream_nodes::registry();
    registry.register(NodeDef::from_closure("my.broken", "Panics", &["x"], |x: f32| {
        assert!(x < 0.0, "x is {x}");
        x
    }));
    let plan = plan_with(
        &registry,
        "n0 = input x: f32 = 1.0
         n1 = my.broken n0
         n2 = math.negate n0
         output bad n1
         output good n2",
    );
    let answer = Lazy.evaluate(&plan, &Request::new()).expect("the request fits");
    assert_eq!(answer.value::<f32>("bad"), None);
    assert_eq!(answer.value::<f32>("good"), Some(-1.0));
    assert_eq!(answer.failures[0].message, "the node type panicked: x is 1");
}

fn evaluators() -> Vec<Box<dyn Evaluator>> {
    vec![
        Box::new(Lazy),
        Box::new(List::new()),
        Box::new(List::new().without_registers()),
        Box::new(Chunked::new()),
        Box::new(Incremental::new()),
        Box::new(Incremental::new().without_live_graph()),
        Box::new(List::parallel()),
        Box::new(Auto::new()),
    ]
}

/// A chain of 20 nodes that each have a side effect and return their input.
fn chain_of(each: impl Fn() + Send + Sync + 'static) -> Plan {
    let mut registry: Registry = millstream_nodes::registry();
    registry.register(NodeDef::from_closure("my.slow", "Slow", &["x"], move |x: f32| {
        each();
        x
    }));
    let mut text = String::from("n0 = input x: f32 = 1.0\n");
    for i in 0..20 {
        writeln!(text, "n{} = my.slow n{i}", i + 1).expect("strings take all text");
    }
    plan_with(&registry, &(text + "output end n20"))
}

#[test]
fn between_two_nodes_that_may_be_slow_an_evaluation_ends() {
    let (flag, n_ran) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (raised, counted) = (Arc::clone(&flag), Arc::clone(&n_ran));
    let plan = chain_of(move || {
        if counted.fetch_add(1, Ordering::Relaxed) == 4 {
            raised.store(true, Ordering::Relaxed);
        }
    });
    for mut evaluator in evaluators() {
        let mut request = Request::new();
        request.budget.cancel = Some(Arc::clone(&flag));
        let ended = evaluator.evaluate(&plan, &request).err();
        assert_eq!(ended, Some(EvalError::Cancelled), "{}", evaluator.name());
        assert_eq!(n_ran.swap(0, Ordering::Relaxed), 5, "{}", evaluator.name());
        flag.store(false, Ordering::Relaxed);
        request.budget.cancel = None;
        request.progress = Some(
            Progress::new(|done| match done.runs {
                0..5 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            })
            .every(Duration::ZERO),
        );
        let ended = evaluator.evaluate(&plan, &request).err();
        assert_eq!(ended, Some(EvalError::Cancelled), "{}", evaluator.name());
        // The fifth run sets the flag, which is not checked there.
        let n_ran = n_ran.swap(0, Ordering::Relaxed);
        assert!(n_ran <= 6, "{}: {n_ran} runs", evaluator.name());
        flag.store(false, Ordering::Relaxed);
    }
}

#[test]
fn what_is_done_too_late_is_no_answer() {
    let plan = chain_of(|| std::thread::sleep(Duration::from_millis(1)));
    for after in [1, 12, 19] {
        for mut evaluator in evaluators() {
            let mut request = Request::new();
            request.budget.deadline = Some(Instant::now() + Duration::from_millis(after));
            let ended = evaluator.evaluate(&plan, &request).err();
            assert_eq!(ended, Some(EvalError::Deadline), "{}", evaluator.name());
        }
    }
}

#[test]
fn what_is_done_when_nobody_waits_any_more_is_no_answer() {
    let text = "n0 = input x: i32 = 3\nn1 = my.raise n0\noutput end n1";
    let (flag, n_ran) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (raised, counted) = (Arc::clone(&flag), Arc::clone(&n_ran));
    let mut registry: Registry = millstream_nodes::registry();
    registry.register(NodeDef::from_closure("my.raise", "Raises", &["x"], move |x: i32| {
        counted.fetch_add(1, Ordering::Relaxed);
        raised.store(true, Ordering::Relaxed);
        x
    }));
    // The last node that runs sets the flag: computed values are not returned.
    let plan = plan_with(&registry, text);
    for mut evaluator in evaluators() {
        let mut request = Request::new();
        request.budget.cancel = Some(Arc::clone(&flag));
        let ended = evaluator.evaluate(&plan, &request).err();
        assert_eq!(ended, Some(EvalError::Cancelled), "{}", evaluator.name());
        assert_eq!(n_ran.swap(0, Ordering::Relaxed), 1);
        flag.store(false, Ordering::Relaxed);
    }
}

/// The time for which an evaluation continues after its flag is set, in the best of a few tries,
/// since the machine may be busy.
fn latency(evaluator: &mut dyn Evaluator, plan: &Plan, request: &Request) -> Duration {
    let mut once = || {
        let flag = Arc::new(AtomicBool::new(false));
        let mut request = request.clone();
        request.budget.cancel = Some(Arc::clone(&flag));
        let raised = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            flag.store(true, Ordering::Relaxed);
            Instant::now()
        });
        let ended = evaluator.evaluate(plan, &request).err();
        let now = Instant::now();
        let raised = raised.join().expect("the flag is raised");
        match ended {
            // It ended before the flag was raised late.
            None => Duration::MAX,
            Some(EvalError::Cancelled) => now.saturating_duration_since(raised),
            Some(error) => panic!("{}: {error}", evaluator.name()),
        }
    };
    let mut least = once();
    for _ in 0..40 {
        if least < SOON {
            break;
        }
        least = least.min(once());
    }
    least
}

/// A cancellation must take effect within this time.
const SOON: Duration = Duration::from_millis(10);

#[test]
fn a_cancel_is_noticed_soon_between_the_elements_of_a_closure() {
    let mut registry: Registry = millstream_nodes::registry();
    // The first elements take no time, so that batches of them are large.
    let slow = |x: f32| {
        if x >= 2000.0 {
            std::thread::sleep(Duration::from_millis(2));
        }
        x
    };
    registry.register(NodeDef::from_closure("my.slow", "Slow", &["x"], slow));
    let plan = plan_with(&registry, "n0 = input x: f32 = 0.0\nn1 = my.slow n0\noutput end n1");
    let column: Vec<f32> = (0..3000).map(|x| x as f32).collect();
    let request = Request::new().column("x", column);
    for mut evaluator in evaluators() {
        let latency = latency(&mut *evaluator, &plan, &request);
        assert!(latency < SOON, "{}: {latency:?}", evaluator.name());
    }
}

#[test]
fn a_cancel_is_noticed_soon_between_the_closures_of_a_chain() {
    let plan = chain_of(|| std::thread::sleep(Duration::from_millis(4)));
    for mut evaluator in evaluators() {
        let latency = latency(&mut *evaluator, &plan, &Request::new());
        assert!(latency < SOON, "{}: {latency:?}", evaluator.name());
    }
}

#[test]
fn a_cancel_is_noticed_soon_within_a_long_form() {
    let mut text = String::from("n0 = input x: f32 = 0.0\n");
    for i in 0..400 {
        writeln!(text, "n{} = math.sin n{i}", i + 1).expect("strings take all text");
    }
    let plan = plan(&(text + "output end n400"));
    let request = Request::new().column("x", vec![0.5_f32; 4_000_000]);
    for mut evaluator in evaluators() {
        let latency = latency(&mut *evaluator, &plan, &request);
        assert!(latency < SOON, "{}: {latency:?}", evaluator.name());
    }
}
