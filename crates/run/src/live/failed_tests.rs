//! Nodes that fail, waves that are stopped, and budgets.

use std::ops::ControlFlow;
use std::time::Duration;

use millstream_base::{Budget, Limits, Type, Value};
use millstream_form::Op;
use millstream_ir::{Done, EvalError, Progress, Watch};

use super::values_tests::types;
use super::{Handle, LiveGraph, NodeNumber, Taken, Within};

/// A graph with a text that fails for 2, and nodes that read it.
struct Failing {
    graph: LiveGraph,
    x: NodeNumber,
    which: NodeNumber,
    text: NodeNumber,
    out: NodeNumber,
}

fn failing() -> Failing {
    let types = types();
    let mut graph = LiveGraph::new();
    let (x, which) = (graph.source_of_value(&1.0_f32.into()), graph.source_of_value(&true.into()));
    let safe = graph.source_of_value(&Value::from("safe"));
    let text = graph.call(&types.0["text"], &[x]).expect("live");
    let list = graph.call(&types.0["list"], &[text, text]).expect("live");
    let n = graph.call(&types.0["count"], &[list]).expect("live");
    let plain = graph.call(&types.0["plain"], &[n, x]).expect("live");
    let again = graph.call(&types.0["text"], &[plain]).expect("live");
    let out = graph.call(&types.0["choose string"], &[which, safe, again]).expect("live");
    graph.observe_number(out, true);
    Failing { graph, x, which, text, out }
}

impl Failing {
    /// The value of the output, and the number of nodes that ran for it.
    fn look(&mut self) -> (Option<String>, u64) {
        let before = self.graph.n_runs();
        self.graph.settle();
        let value = self.graph.value(self.out, Type::STRING);
        (value.map(|value| value.to_string()), self.graph.n_runs() - before)
    }
}

#[test]
fn a_failure_passes_numbers_and_is_kept_until_it_is_tried_again() {
    let mut failing = failing();
    let (x, which) = (failing.x, failing.which);
    // The number of items is 2, which the second text does not accept.
    assert_eq!(failing.look(), (None, 5));
    let failed = failing.graph.failures();
    assert_eq!(failed.len(), 1);
    assert!(failed[0].0 != failing.text && failed[0].1.message == "it is disliked");
    assert_eq!(failing.look(), (None, 0));
    failing.graph.set_value(x, &3.0_f32.into());
    assert_eq!(failing.look(), (Some("\"3\"".into()), 6));
    failing.graph.set_value(x, &2.0_f32.into());
    // The reader of the text has no value; the list does not run.
    assert_eq!(failing.look(), (None, 1));
    assert_eq!(failing.graph.failures()[0].0, failing.text);
    failing.graph.set_value(which, &false.into());
    assert_eq!(failing.look(), (Some("\"safe\"".into()), 1));
    assert!(failing.graph.failures().is_empty(), "nobody asks for what failed");
    failing.graph.set_value(x, &3.0_f32.into());
    assert_eq!(failing.look().1, 0);
    failing.graph.set_value(which, &true.into());
    // The list has its old value again, so only the text and the choice run.
    assert_eq!(failing.look(), (Some("\"3\"".into()), 2));
    failing.graph.set_value(x, &2.0_f32.into());
    assert_eq!(failing.look(), (None, 1));
    failing.graph.try_failed_again();
    assert_eq!(failing.look(), (None, 1));
    let limits = Limits { image_pixels: 1, ..Limits::default() };
    let liked = Within { limits, ..Within::default() };
    failing.graph.settle_within(liked).expect("nobody ends it");
    assert_eq!(failing.look(), (Some("\"2\"".into()), 0));
}

/// Limits that end a wave after this many runs.
fn within(n_runs: u64, n_before: u64) -> Within {
    let receiver = move |done: &Done| {
        if done.runs < n_runs { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let progress = Progress::new(receiver).every(Duration::ZERO);
    let watch = Watch::new(&Budget::default(), Some(&progress), Done::default());
    Within::default().watched(watch, n_before)
}

#[test]
fn a_wave_that_was_ended_goes_on_later() {
    for n_runs in 0..8 {
        let mut failing = failing();
        failing.graph.set_value(failing.x, &3.0_f32.into());
        let within = within(n_runs, 0);
        let ended = failing.graph.settle_within(within);
        // Six nodes run, and the watch is checked once more at the end.
        assert_eq!(ended.is_err(), n_runs <= 6, "{n_runs}");
        failing.graph.set_value(failing.x, &5.0_f32.into());
        assert_eq!(failing.look().0, Some("\"5\"".into()));
    }
}

#[test]
fn values_have_a_budget() {
    let mut failing = failing();
    let within = Within { bytes: 8, ..Within::default() };
    failing.graph.set_value(failing.x, &3.0_f32.into());
    assert_eq!(failing.graph.settle_within(within), Err(EvalError::Bytes { limit: 8 }));
    failing.graph.settle_within(Within::default()).expect("there is room");
    assert_eq!(failing.look().0, Some("\"3\"".into()));
}

#[test]
fn waves_of_numbers_can_be_ended_and_go_on_later() {
    const N: u64 = 20_000;
    let mut graph = LiveGraph::new();
    let x = graph.source(0.0_f64);
    let end = (0..N).fold(x, |last, _| graph.binary_with(Op::Add, last, 1.0));
    graph.observe(end);
    for (round, n_runs) in [0, 1, 5_000, N, N + 1].into_iter().enumerate() {
        let value = round as f64 + 0.5;
        graph.set(x, value);
        let before = graph.n_runs();
        let ended = graph.settle_within(within(n_runs, before));
        let n_ran = graph.n_runs() - before;
        if n_runs > N {
            assert_eq!((ended, n_ran), (Ok(()), N));
        } else {
            assert_eq!(ended, Err(EvalError::Cancelled));
            assert!(n_ran < n_runs + 3000, "{n_ran} runs, {n_runs} were wanted");
        }
        assert_eq!(graph.get(end), value + N as f64);
        // Nodes that ran before the end do not run again.
        assert_eq!(graph.n_runs() - before, N);
    }
}

#[test]
fn a_callback_that_panics_leaves_no_value_and_nothing_wrong() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static BAD: AtomicU32 = AtomicU32::new(0);
    fn all(_: f64) -> u64 {
        assert!(BAD.load(Ordering::Relaxed) != 1, "bad wish");
        1
    }
    fn sum(first: f64, others: Taken<'_, f64>) -> f64 {
        assert!(BAD.load(Ordering::Relaxed) != 2, "bad sum");
        first + others.sum::<f64>()
    }
    for bad in [1, 2] {
        let bad_now = |bad| BAD.store(bad, Ordering::Relaxed);
        let mut graph = LiveGraph::new();
        let (a, b) = (graph.source(1.0), graph.source(2.0));
        let both = graph.dynamic(a, &[b], all, sum);
        let end = graph.binary_with(Op::Add, both, 1.0);
        graph.observe(end);
        bad_now(bad);
        for _ in 0..2 {
            let error = graph.try_get(end).expect_err("it panicked");
            assert_eq!(error.failed, both.number());
            assert!(error.failure.message.contains("bad "), "{error}");
            assert_eq!(graph.failures()[0].0.index(), both.number());
        }
        bad_now(0);
        assert!(graph.try_get(end).is_err(), "a failure is kept until something changes");
        graph.try_failed_again();
        assert_eq!(graph.try_get(end).ok(), Some(4.0));
        // The node has a value, fails with the next one, and continues.
        bad_now(bad);
        graph.set(a, 10.0);
        assert!(graph.try_get(end).is_err());
        bad_now(0);
        graph.set(a, 20.0);
        assert_eq!(graph.get(end), 23.0);
        assert!(graph.failures().is_empty());
    }
}

#[test]
#[should_panic(expected = "g2 failed: the node type panicked: no")]
fn a_read_of_what_has_no_value_panics() {
    let mut graph = LiveGraph::new();
    let a = graph.source(1.0);
    let arms: [Handle<f64>; 0] = [];
    let never: Handle<f64> = graph.dynamic(a, &arms, |_| 0, |_, _| panic!("no"));
    let end = graph.binary_with(Op::Add, never, 1.0);
    graph.get(end);
}
