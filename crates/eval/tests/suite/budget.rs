//! Evaluations end when they may not go on, and refuse what exceeds the limits.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use millstream_base::Limits;
use millstream_eval::Lazy;
use millstream_ir::{EvalError, Evaluator, Request};
use millstream_kernel::{NodeDef, Registry};

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
    request.cancel = Some(Arc::new(AtomicBool::new(true)));
    assert_eq!(Lazy.evaluate(&plan(LONG), &request).err(), Some(EvalError::Cancelled));
}

#[test]
fn a_deadline_that_is_past_ends_the_evaluation() {
    let mut request = Request::new();
    request.deadline = Instant::now().checked_sub(Duration::from_secs(1));
    assert_eq!(Lazy.evaluate(&plan(LONG), &request).err(), Some(EvalError::Deadline));
}

#[test]
fn bytes_beyond_the_budget_are_refused() {
    let limits = Limits { bytes: 1000, ..Limits::default() };
    let plan = plan("n0 = context.index\nn1 = math.sin n0\noutput n1");
    let request = Request::new().count(1000).with_limits(limits);
    assert_eq!(Lazy.evaluate(&plan, &request).err(), Some(EvalError::Bytes { limit: 1000 }));
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
