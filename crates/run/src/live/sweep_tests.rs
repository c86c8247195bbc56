//! Sweeps give the same values and runs as waves that run nodes one by one.

use millstream_form::Op;

use super::tests::chain;
use super::{Handle, LiveGraph};

/// Reads a node, and counts the runs.
fn read(graph: &mut LiveGraph, node: Handle<f64>) -> (f64, u64) {
    let before = graph.n_runs();
    let value = graph.get(node);
    (value, graph.n_runs() - before)
}

/// Sets a source to several values, so that words are compiled.
fn warm_up(graph: &mut LiveGraph, source: Handle<f64>, end: Handle<f64>) {
    for i in 0..4 {
        graph.set(source, f64::from(i) - 100.0);
        graph.get(end);
    }
}

#[test]
fn a_chain_is_compiled_and_cut_off_where_nothing_changes() {
    let mut graph = LiveGraph::new();
    let (x, limit) = (graph.source(0.0), graph.source(1e9));
    let first = chain(&mut graph, x, 300);
    let limited = graph.binary(Op::Min, first, limit);
    let end = chain(&mut graph, limited, 300);
    graph.observe(end);
    warm_up(&mut graph, x, end);
    assert!(graph.sweeps.n_compiled() >= 9);
    graph.set(x, 1.0);
    assert_eq!(read(&mut graph, end), (601.0, 601));
    graph.set(limit, 100.0);
    assert_eq!(read(&mut graph, end), (400.0, 301));
    graph.set(x, 2.0);
    assert_eq!(read(&mut graph, end), (400.0, 301));
    graph.set(x, f64::NAN);
    assert_eq!(read(&mut graph, end), (400.0, 301));
    assert_eq!(graph.get(first).to_bits(), f64::NAN.to_bits());
    graph.set(x, f64::from_bits(f64::NAN.to_bits() | 1));
    assert_eq!(read(&mut graph, end), (400.0, 0));
    assert_eq!(read(&mut graph, end), (400.0, 0));
}

#[test]
fn links_that_change_are_compiled_again() {
    let mut graph = LiveGraph::new();
    let (x, y) = (graph.source(0.0), graph.source(1000.0));
    let middle = chain(&mut graph, x, 100);
    let end = chain(&mut graph, middle, 100);
    graph.observe(end);
    warm_up(&mut graph, x, end);
    graph.relink(middle, 0, y).expect("a source depends on nothing");
    assert_eq!(read(&mut graph, end), (1101.0, 101));
    graph.set(x, 5.0);
    assert_eq!(read(&mut graph, end), (1101.0, 0));
    warm_up(&mut graph, y, end);
    // A new user of a node in the middle of a word.
    let other = chain(&mut graph, middle, 3);
    graph.observe(other);
    graph.set(y, 7.0);
    assert_eq!(read(&mut graph, end), (108.0, 104));
    assert_eq!(read(&mut graph, other), (11.0, 0));
    // Nodes move to other words.
    let late = chain(&mut graph, y, 50);
    graph.relink(middle, 0, late).expect("it closes no cycle");
    assert_eq!(graph.get(end), 158.0);
    warm_up(&mut graph, y, end);
    graph.set(y, 8.0);
    assert_eq!(read(&mut graph, end), (159.0, 154));
}

#[test]
fn a_branch_is_compiled_while_it_is_taken() {
    let mut graph = LiveGraph::new();
    let (x, which) = (graph.source(0.0), graph.source(false));
    let arms = [chain(&mut graph, x, 200), chain(&mut graph, x, 100)];
    let end = graph.switch(which, &arms);
    graph.observe(end);
    warm_up(&mut graph, x, end);
    assert!(graph.sweeps.n_compiled() >= 2);
    graph.set(x, 1.0);
    assert_eq!(read(&mut graph, end), (201.0, 201));
    graph.set(which, true);
    assert_eq!(read(&mut graph, end), (101.0, 101));
    graph.set(x, 2.0);
    assert_eq!(read(&mut graph, end), (102.0, 101));
    graph.set(which, false);
    assert_eq!(read(&mut graph, end), (202.0, 201));
}

#[test]
fn operations_of_all_kinds_are_compiled() {
    let mut graph = LiveGraph::new();
    let x = graph.source(1.0_f32);
    let half = graph.source(0.5_f32);
    let mut last = x;
    for _ in 0..60 {
        let number: Handle<i32> = graph.convert(last);
        let odd = graph.source(1);
        let odd = graph.binary(Op::And, number, odd);
        let odd: Handle<f32> = graph.convert(odd);
        let sine = graph.unary(Op::Sin, last);
        let sum = graph.sum(&[odd, sine, half, last]);
        let mixed = graph.ternary(Op::Fma, sum, half, sine);
        last = graph.binary(Op::Div, mixed, half);
    }
    graph.observe(last);
    let mut values = [[0; 6]; 2];
    for round in &mut values {
        for (i, value) in round.iter_mut().enumerate() {
            graph.set(x, i as f32 * 0.37);
            *value = graph.get(last).to_bits();
        }
    }
    assert!(graph.sweeps.n_compiled() > 3);
    assert_eq!(values[0], values[1]);
    // A journal makes nodes run one by one.
    graph.start_journal(false);
    for (i, value) in values[0].into_iter().enumerate() {
        graph.set(x, i as f32 * 0.37);
        assert_eq!(graph.get(last).to_bits(), value);
    }
}
