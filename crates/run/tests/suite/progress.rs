//! A receiver of progress learns how far an evaluation is, and may cancel it.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use millstream_ir::{Done, EvalError, Evaluator, Plan, Progress, Request};
use millstream_run::{Auto, Chunked, Incremental, Lazy, List};

use crate::lazy::plan;

/// A chain of `n_steps` steps, and a separate node that is not demanded.
fn chain(n_steps: usize) -> Plan {
    let mut text = String::from("n0 = input x: f32 = 1.0\nn1 = const 1.5\n");
    for i in 0..n_steps {
        let from = if i == 0 { 0 } else { i + 1 };
        writeln!(text, "n{} = math.add n{from} n1", i + 2).expect("strings take all text");
    }
    let last = n_steps + 1;
    writeln!(text, "n{} = math.sqrt n0", last + 1).expect("strings take all text");
    writeln!(text, "output end n{last}\noutput other n{}", last + 1).expect("text");
    plan(&text)
}

fn evaluators() -> Vec<Box<dyn Evaluator>> {
    let pieces = NonZeroUsize::new(1000).expect("it is not zero");
    vec![
        Box::new(Lazy),
        Box::new(List::new()),
        Box::new(List::new().without_registers()),
        Box::new(Chunked::new().pieces(pieces)),
        Box::new(Chunked::new().pieces(pieces).without_stages()),
        Box::new(Incremental::new().without_live_graph()),
        Box::new(Incremental::new()),
        Box::new(List::parallel()),
        Box::new(Auto::new()),
    ]
}

fn request(
    count: usize,
    tell: impl Fn(&Done) -> ControlFlow<()> + Send + Sync + 'static,
) -> Request {
    let mut request = Request::new().output("end");
    if count > 1 {
        request = request.column("x", vec![0.5_f32; count]);
    }
    request.progress = Some(Progress::new(tell).every(Duration::ZERO));
    request
}

#[test]
fn progress_grows_to_what_there_is_to_do() {
    for (n_steps, count) in [(100_000, 1), (1000, 5000)] {
        let plan = chain(n_steps);
        for mut evaluator in evaluators() {
            let told: Arc<Mutex<Vec<Done>>> = Arc::default();
            let to = Arc::clone(&told);
            let request = request(count, move |done| {
                to.lock().expect("nobody panics").push(*done);
                ControlFlow::Continue(())
            });
            evaluator.evaluate(&plan, &request).expect("it runs");
            let told = told.lock().expect("nobody panicked");
            let name = evaluator.name();
            assert!(told.len() > 1, "{name}, {count} elements: told {} times", told.len());
            for pair in told.windows(2) {
                assert!(pair[0].runs <= pair[1].runs, "{name}: {pair:?}");
                assert!(pair[0].elements <= pair[1].elements, "{name}: {pair:?}");
            }
            let last = told.last().expect("there are several");
            assert_eq!((last.steps, last.ticks), (n_steps as u64, 1), "{name}");
            assert!(last.runs > 0 && last.runs <= n_steps as u64, "{name}: {last:?}");
            assert!(last.elements <= (n_steps * count) as u64, "{name}: {last:?}");
        }
    }
}

#[test]
fn who_is_told_may_end_it() {
    let plan = chain(1000);
    for mut evaluator in evaluators() {
        for panics in [false, true] {
            let request = request(5000, move |done| {
                assert!(!panics, "at {done:?}");
                ControlFlow::Break(())
            });
            let ended = evaluator.evaluate(&plan, &request).err();
            assert_eq!(ended, Some(EvalError::Cancelled), "{}", evaluator.name());
        }
    }
}

#[test]
fn what_takes_less_than_the_interval_is_not_told() {
    let plan = plan("n0 = input x: f32 = 4.0\nn1 = math.sqrt n0\noutput end n1");
    let mut request = Request::new();
    let progress = Progress::new(|done| panic!("{done:?}")).every(Duration::from_hours(1));
    request.progress = Some(progress);
    let answer = Lazy.evaluate(&plan, &request).expect("nobody is told");
    assert_eq!(answer.value::<f32>("end"), Some(2.0));
}
