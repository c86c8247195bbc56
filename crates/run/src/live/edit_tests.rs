//! Invalid edits, and the size of a graph.

use millstream_form::Op;

use super::{Handle, LiveError, LiveGraph, NodeNumber};

fn number<T>(of: Handle<T>) -> NodeNumber {
    NodeNumber(of.number() as u32)
}

#[test]
fn what_is_not_there_is_neither_removed_nor_linked() {
    let mut graph = LiveGraph::new();
    let (s, a, b) = (graph.source(true), graph.source(1.0), graph.source(2.0));
    let chosen = graph.switch(s, &[a, b]);
    let end = graph.binary_with(Op::Add, chosen, 1.0);
    let other = graph.binary_with(Op::Add, a, 2.0);
    assert_eq!(graph.get(end), 3.0);
    assert!(!graph.remove(number(chosen)), "somebody reads it");
    for node in [number(end), number(chosen), number(s)] {
        assert!(graph.remove(node));
        assert!(!graph.remove(node), "it is not there any more");
    }
    assert!(!graph.remove(NodeNumber(99)));
    let missing = |node| Err(LiveError::NoNode { node });
    assert_eq!(graph.relink(other, 0, end), missing(end.number()));
    assert_eq!(graph.relink(end, 0, other), missing(end.number()));
    assert_eq!(graph.relink_number(number(other), 0, NodeNumber(99)), missing(99));
    assert_eq!(graph.get(other), 3.0);
    let removed = graph.try_get(end).expect_err("it was removed");
    assert_eq!(removed.to_string(), format!("g{} failed: it was removed", end.number()));
    assert!(graph.remove(other));
}

#[test]
#[should_panic = "only sources that exist are set"]
fn what_was_removed_is_not_set() {
    let mut graph = LiveGraph::new();
    let a = graph.source(1.0);
    assert!(graph.remove(a));
    graph.set(a, 2.0);
}

#[test]
fn a_cycle_is_told_in_nodes_that_were_made() {
    let mut graph = LiveGraph::new();
    let (s, a, b) = (graph.source(1_i32), graph.source(1.0), graph.source(2.0));
    let chosen = graph.switch(s, &[a, b]);
    let whole = graph.convert::<f64, i32>(chosen);
    let path = vec![chosen.number(), whole.number()];
    assert_eq!(graph.relink(chosen, 0, whole), Err(LiveError::Cycle { path }));
}

/// The size that the graph reports is close to what the allocator provided.
#[test]
fn switches_count_what_they_hold() {
    const N: usize = 10_000;
    let mut graph = LiveGraph::new();
    let (s, a, b) = (graph.source(true), graph.source(1.0), graph.source(2.0));
    let plain = graph.bytes();
    for _ in 0..N {
        let chosen = graph.switch(s, &[a, b]);
        graph.observe(chosen);
    }
    let each = (graph.bytes() - plain) / N;
    assert!((200..800).contains(&each), "{each} bytes");
}
