//! Sessions over columns: a live graph against the optimised plan, when all elements change, when
//! one does, and after an edit.
//!
//! `cargo bench -p millstream --bench columns`. The document is a chain of 64 nodes, arithmetic with
//! a sine in eight, the sum of its elements, and each at the place of another; an argument is the
//! number of elements.

use std::cell::Cell;
use std::sync::Arc;

use divan::{Bencher, black_box};
use millstream::document::{
    Input, InputDef, InputValue, Link, Node, NodeKind, OutputDef, OutputFrom,
};
use millstream::session::Session;
use millstream::{Column, Document, Edit, Engine, Given, Incremental, RequestAxis};

fn main() {
    divan::main();
}

const COUNTS: [usize; 4] = [100, 1_000, 10_000, 100_000];

fn chain() -> Document {
    let mut document = Document::new("chain");
    document.inputs.insert("x".into(), InputDef::new("f32"));
    let mut last = InputValue::Input("x".into());
    for i in 0..64 {
        let ty = match i % 8 {
            7 => "math.sin",
            k if k % 2 == 0 => "math.multiply",
            _ => "math.add",
        };
        let mut node = Node::new(NodeKind::Type(ty.into()));
        if ty == "math.sin" {
            node.inputs.insert("x", Input::from(last));
        } else {
            node.inputs.insert("a", Input::from(last));
            let literal = InputValue::Literal(Box::new((0.5 + f64::from(i) / 64.0).into()));
            node.inputs.insert("b", Input::from(literal));
        }
        let name: Arc<str> = format!("n{i}").into();
        document.nodes.insert(Arc::clone(&name), node);
        last = InputValue::Link(Link::new(name, "value"));
    }
    let mut sum = Node::new(NodeKind::Type("reduce.sum".into()));
    sum.inputs.insert("value", Input::from(last));
    document.nodes.insert("sum".into(), sum);
    // Each element reads another one, which is seven times as far from the start, modulo the count.
    let mut all = Node::new(NodeKind::Type("list.collect".into()));
    all.inputs.insert("value", Input::from(InputValue::Link(Link::new("n63", "value"))));
    let index = Node::new(NodeKind::Type("context.index".into()));
    let mut place = Node::new(NodeKind::Type("math.multiply".into()));
    place.inputs.insert("a", Input::from(InputValue::Link(Link::new("index", "value"))));
    place.inputs.insert("b", Input::from(InputValue::Literal(Box::new(7.into()))));
    let mut gathered = Node::new(NodeKind::Type("list.get".into()));
    gathered.set.insert("outside", serde_json::Value::from("wrap").into());
    gathered.inputs.insert("list", Input::from(InputValue::Link(Link::new("all", "value"))));
    gathered.inputs.insert("index", Input::from(InputValue::Link(Link::new("place", "value"))));
    for (name, node) in [("all", all), ("index", index), ("place", place), ("gathered", gathered)] {
        document.nodes.insert(name.into(), node);
    }
    for (name, node) in [("y", "n63"), ("sum", "sum"), ("gathered", "gathered")] {
        let from = OutputFrom::Link(Link::new(node, "value"));
        document.outputs.insert(name.into(), OutputDef::new("f32", from));
    }
    document
}

fn column(n: usize, turn: usize) -> Given {
    let values: Vec<f32> = (0..n).map(|i| (i * 7 % 1000 + turn) as f32 / 1000.0).collect();
    Given::Along(RequestAxis::Index, Column::from_vec(values))
}

fn session(n: usize, is_live: bool) -> Session {
    let engine = Engine::new();
    let mut session = if is_live {
        Session::new(&engine, chain())
    } else {
        Session::with_evaluator(&engine, chain(), Incremental::new())
    };
    session.set_all([("x", column(n, 0))]).expect("it fits");
    session.settle();
    session.get("y").expect("it runs");
    session
}

/// Sets the input to the next column, and reads an output.
fn set_and_read(
    bencher: Bencher,
    (n, output): (usize, &str),
    is_live: bool,
    column: impl Fn(usize) -> Given,
) {
    let mut session = session(n, is_live);
    let turn = Cell::new(0);
    let next = || {
        turn.set(turn.get() + 1);
        column(turn.get())
    };
    bencher.with_inputs(next).bench_local_values(|given| {
        session.set_all([("x", given)]).expect("it fits");
        black_box(session.get(output).expect("it runs"));
    });
}

/// All elements differ from those of all columns before.
fn all_change(bencher: Bencher, n: usize, is_live: bool) {
    set_and_read(bencher, (n, "y"), is_live, |turn| column(n, turn));
}

#[divan::bench(args = COUNTS)]
fn all_elements_change_live(bencher: Bencher, n: usize) {
    all_change(bencher, n, true);
}

#[divan::bench(args = COUNTS)]
fn all_elements_change_by_plan(bencher: Bencher, n: usize) {
    all_change(bencher, n, false);
}

/// One element differs from that of all columns before.
fn one_changes(bencher: Bencher, (n, output): (usize, &str), is_live: bool) {
    let values: Vec<f32> = (0..n).map(|i| (i * 7 % 1000) as f32 / 1000.0).collect();
    set_and_read(bencher, (n, output), is_live, |turn| {
        let mut values = values.clone();
        values[n / 2] = turn as f32;
        Given::Along(RequestAxis::Index, Column::from_vec(values))
    });
}

#[divan::bench(args = COUNTS)]
fn one_element_changes_live(bencher: Bencher, n: usize) {
    one_changes(bencher, (n, "y"), true);
}

/// One element is set, without a column.
#[divan::bench(args = COUNTS)]
fn one_element_is_set_live(bencher: Bencher, n: usize) {
    let mut session = session(n, true);
    let turn = Cell::new(0);
    bencher.bench_local(|| {
        turn.set(turn.get() + 1);
        session.set_element("x", n / 2, turn.get() as f32).expect("it is there");
        black_box(session.get("y").expect("it runs"));
    });
}

#[divan::bench(args = COUNTS)]
fn one_element_changes_by_plan(bencher: Bencher, n: usize) {
    one_changes(bencher, (n, "y"), false);
}

#[divan::bench(args = COUNTS)]
fn sum_after_one_element_changes_live(bencher: Bencher, n: usize) {
    one_changes(bencher, (n, "sum"), true);
}

#[divan::bench(args = COUNTS)]
fn sum_after_one_element_changes_by_plan(bencher: Bencher, n: usize) {
    one_changes(bencher, (n, "sum"), false);
}

/// One element that a gather at known indices reads.
#[divan::bench(args = COUNTS)]
fn gather_after_one_element_changes_live(bencher: Bencher, n: usize) {
    one_changes(bencher, (n, "gathered"), true);
}

#[divan::bench(args = COUNTS)]
fn gather_after_one_element_changes_by_plan(bencher: Bencher, n: usize) {
    one_changes(bencher, (n, "gathered"), false);
}

fn after_an_edit(bencher: Bencher, n: usize, is_live: bool) {
    let mut session = session(n, is_live);
    let turn = Cell::new(0);
    bencher.bench_local(|| {
        turn.set(turn.get() + 1);
        session.edit(&Edit::literal("n32", "b", turn.get())).expect("it is valid");
        black_box(session.get("y").expect("it runs"));
    });
}

#[divan::bench(args = COUNTS)]
fn after_an_edit_live(bencher: Bencher, n: usize) {
    after_an_edit(bencher, n, true);
}

#[divan::bench(args = COUNTS)]
fn after_an_edit_by_plan(bencher: Bencher, n: usize) {
    after_an_edit(bencher, n, false);
}
