//! When changes travel, callbacks, and retraction.

use millstream_form::Op;

use super::tests::chain;
use super::{LiveGraph, Propagation};

#[test]
fn callbacks_get_each_change_once_and_never_a_mixture() {
    use std::sync::{Arc, Mutex};
    for propagation in [Propagation::Push, Propagation::RetractAndAssert, Propagation::Mixed] {
        let mut graph = LiveGraph::new();
        graph.set_propagation(propagation);
        let x = graph.source(1.0);
        let (a, b) = (graph.binary_with(Op::Add, x, 1.0), graph.binary_with(Op::Add, x, 2.0));
        let difference = graph.binary(Op::Sub, b, a);
        let sum = graph.binary(Op::Add, a, b);
        let heard: Arc<Mutex<Vec<(char, f64)>>> = Arc::default();
        for (name, of) in [('d', difference), ('s', sum)] {
            let heard = Arc::clone(&heard);
            graph.subscribe(of, move |value| heard.lock().expect("no panic").push((name, value)));
        }
        graph.commit().expect("no callback panics");
        graph.set(x, 5.0);
        graph.set(x, 7.0);
        graph.commit().expect("no callback panics");
        graph.commit().expect("no callback panics");
        let heard = heard.lock().expect("no panic").clone();
        assert_eq!(heard, [('d', 1.0), ('s', 5.0), ('s', 17.0)]);
    }
}

#[test]
fn a_callback_that_panics_leaves_the_graph_usable() {
    let mut graph = LiveGraph::new();
    graph.set_propagation(Propagation::Push);
    let x = graph.source(1.0);
    let y = graph.binary_with(Op::Add, x, 1.0);
    graph.subscribe(y, |value| assert!(value < 3.0, "too much"));
    assert_eq!(graph.commit(), Ok(()));
    graph.set(x, 2.0);
    let failed = graph.commit().expect_err("the callback panics");
    assert_eq!(failed.to_string(), format!("the callback of g{} panicked: too much", y.number()));
    assert_eq!(graph.get(y), 3.0);
    assert_eq!(graph.commit(), Err(failed), "it was not told, so it is called again");
    graph.set(x, 0.0);
    assert_eq!(graph.commit(), Ok(()));
}

#[test]
fn what_is_not_pushed_waits_for_a_read() {
    let mut graph = LiveGraph::new();
    graph.set_propagation(Propagation::Mixed);
    let x = graph.source(1.0);
    let (pushed, pulled) = (chain(&mut graph, x, 10), chain(&mut graph, x, 100));
    graph.subscribe(pushed, |_| {});
    graph.observe(pulled);
    graph.commit().expect("no callback panics");
    assert_eq!(graph.n_runs(), 10);
    graph.set(x, 2.0);
    graph.commit().expect("no callback panics");
    assert_eq!(graph.n_runs(), 20);
    assert_eq!(graph.get(pulled), 102.0);
    assert_eq!(graph.n_runs(), 120);
}

#[test]
fn what_could_change_is_retracted_until_the_wave() {
    let mut graph = LiveGraph::new();
    let (x, y) = (graph.source(1.0), graph.source(1.0));
    let clamped = graph.binary_with(Op::Min, x, 1.0);
    let (of_x, of_y) = (chain(&mut graph, clamped, 5), chain(&mut graph, y, 5));
    graph.observe(of_x);
    graph.observe(of_y);
    graph.settle();
    let before = graph.n_runs();
    graph.set(x, 2.0);
    assert_eq!(graph.retract(), 6);
    assert!(graph.is_retracted(of_x) && !graph.is_retracted(of_y));
    graph.settle();
    assert!(!graph.is_retracted(of_x));
    assert_eq!(graph.n_runs(), before + 1);
}
