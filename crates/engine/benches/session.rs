//! Sessions: the cost of edits and settings, including the value that follows from them.
//!
//! `cargo bench -p millstream --bench session`. The large graph is a tree of sums with 2^20 - 1
//! nodes; edits change its first level and the root is read.

use std::cell::Cell;
use std::sync::Arc;

use divan::{Bencher, black_box};
use millstream::document::{InputValue, Link, Node, NodeKind, OutputDef, OutputFrom};
use millstream::session::Session;
use millstream::{Document, Edit, Engine};

fn main() {
    divan::main();
}

/// Nodes of the first level.
const LEAVES: usize = 1 << 19;

fn sum(a: InputValue, b: InputValue) -> Node {
    let mut node = Node::new(NodeKind::Type("math.add".into()));
    node.inputs.insert("a", a.into());
    node.inputs.insert("b", b.into());
    node
}

fn link(name: &str) -> InputValue {
    InputValue::Link(Link::new(name, "value"))
}

/// A tree of sums over pairs of literals.
fn tree() -> Document {
    let mut document = Document::new("tree");
    let mut level: Vec<Arc<str>> = Vec::with_capacity(LEAVES);
    for i in 0..LEAVES {
        let name: Arc<str> = format!("leaf {i}").into();
        let literal = |x: f64| InputValue::Literal(Box::new(x.into()));
        document.nodes.insert(Arc::clone(&name), sum(literal(1.0), literal(i as f64 / 1024.0)));
        level.push(name);
    }
    let mut n = 0;
    while level.len() > 1 {
        let pairs = level.chunks(2);
        level = pairs
            .map(|pair| {
                n += 1;
                let name: Arc<str> = format!("sum {n}").into();
                document.nodes.insert(Arc::clone(&name), sum(link(&pair[0]), link(&pair[1])));
                name
            })
            .collect();
    }
    let from = OutputFrom::Link(Link::new(Arc::clone(&level[0]), "value"));
    document.outputs.insert("root".into(), OutputDef::new("f32", from));
    document
}

fn open(document: Document) -> Session {
    let mut session = Session::new(&Engine::new(), document);
    session.settle();
    assert!(root(&mut session).is_finite());
    session
}

/// Parts of the mixed document, of five nodes each.
const PARTS: usize = 16_667;

/// A document of 100,001 nodes: parts that measure a vector, convert the length to text and back,
/// and scale the vector, and a tree that adds the vectors.
fn mixed() -> Document {
    let mut document = Document::new("mixed");
    let mut add = |name: String, ty: &str, inputs: [(&str, InputValue); 2]| -> Arc<str> {
        let name: Arc<str> = name.into();
        let mut node = Node::new(NodeKind::Type(ty.into()));
        let [first, second] = inputs;
        for (socket, value) in [first, second] {
            if !socket.is_empty() {
                node.inputs.insert(socket, value.into());
            }
        }
        document.nodes.insert(Arc::clone(&name), node);
        name
    };
    let none = || ("", InputValue::Literal(Box::new(0.into())));
    let vector = |x: usize| InputValue::Literal(Box::new(vec![x as f64 / 64.0, 1.0, -2.0].into()));
    let mut level: Vec<Arc<str>> = Vec::with_capacity(PARTS);
    for i in 0..PARTS {
        let v = add(format!("v {i}"), "math.add", [("a", vector(i)), ("b", vector(7))]);
        let l = add(format!("l {i}"), "vector.length", [("vector", link(&v)), none()]);
        let s = add(format!("s {i}"), "string.from_number", [("number", link(&l)), none()]);
        let n = add(format!("n {i}"), "string.length", [("text", link(&s)), none()]);
        level.push(add(format!("w {i}"), "math.multiply", [("a", link(&v)), ("b", link(&n))]));
    }
    let mut n = 0;
    while level.len() > 1 {
        let pairs = level.chunks(2);
        level = pairs
            .map(|pair| match pair {
                [a, b] => {
                    n += 1;
                    add(format!("sum {n}"), "math.add", [("a", link(a)), ("b", link(b))])
                }
                alone => Arc::clone(&alone[0]),
            })
            .collect();
    }
    add("root".into(), "vector.length", [("vector", link(&level[0])), none()]);
    let from = OutputFrom::Link(Link::new("root", "value"));
    document.outputs.insert("root".into(), OutputDef::new("f32", from));
    document
}

/// A pseudorandom part of the mixed document.
fn pick_part(turn: &Cell<usize>) -> usize {
    turn.set(turn.get() + 1);
    turn.get().wrapping_mul(0x9e37_79b9_7f4a_7c15) % PARTS
}

#[divan::bench(sample_count = 500)]
fn relink_in_a_mixed_document_and_read(bencher: Bencher) {
    let mut session = open(mixed());
    let turn = Cell::new(0);
    bencher.bench_local(|| {
        let (reader, read) = (pick_part(&turn), pick_part(&turn));
        let from = Link::new(format!("v {read}"), "value");
        session.edit(&Edit::link(format!("w {reader}"), "a", from)).expect("it closes no cycle");
        black_box(root(&mut session))
    });
}

#[divan::bench(sample_count = 500)]
fn literal_in_a_mixed_document_and_read(bencher: Bencher) {
    let mut session = open(mixed());
    let turn = Cell::new(0);
    bencher.bench_local(|| {
        let (part, x) = (pick_part(&turn), turn.get() % 100);
        let to = serde_json::json!([x, 0.5, 3]);
        session.edit(&Edit::literal(format!("v {part}"), "b", to)).expect("it fits");
        black_box(root(&mut session))
    });
}

fn root(session: &mut Session) -> f32 {
    session.value::<f32>("root").expect("it runs").expect("a number")
}

/// Lets a pseudorandom node above the leaves read a pseudorandom leaf.
fn relink(session: &mut Session, turn: &Cell<usize>) {
    let (node, leaf) = pick(turn);
    let edit = Edit::link(node, "a", Link::new(format!("leaf {leaf}"), "value"));
    session.edit(&edit).expect("it closes no cycle");
}

fn pick(turn: &Cell<usize>) -> (Arc<str>, usize) {
    turn.set(turn.get() + 1);
    let spread = turn.get().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let above = 1 + (spread >> 20) % (LEAVES / 2);
    (format!("sum {above}").into(), (spread >> 42) % LEAVES)
}

#[divan::bench(sample_count = 2000)]
fn relink_in_a_million_nodes_and_read(bencher: Bencher) {
    let mut session = open(tree());
    let turn = Cell::new(0);
    bencher.bench_local(|| {
        relink(&mut session, &turn);
        black_box(root(&mut session))
    });
}

#[divan::bench(sample_count = 2000)]
fn literal_in_a_million_nodes_and_read(bencher: Bencher) {
    let mut session = open(tree());
    let turn = Cell::new(0);
    bencher.bench_local(|| {
        let (_, leaf) = pick(&turn);
        let edit = Edit::literal(format!("leaf {leaf}"), "a", (turn.get() % 100) as f64);
        session.edit(&edit).expect("it fits");
        black_box(root(&mut session))
    });
}

#[divan::bench(sample_count = 2000)]
fn relink_and_undo_in_a_million_nodes(bencher: Bencher) {
    let mut session = open(tree());
    let turn = Cell::new(0);
    bencher.bench_local(|| {
        relink(&mut session, &turn);
        session.undo();
        black_box(root(&mut session))
    });
}

const SMALL: &str = r#"{ "millstream": 2,
    "inputs": { "x": { "type": "f32", "default": 2 }, "y": { "type": "f32", "default": 3 } },
    "outputs": { "root": { "type": "f32", "from": "c.value" } },
    "nodes": {
        "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
        "b": { "type": "math.multiply", "in": { "a": { "from": "a.value" }, "b": { "input": "y" } } },
        "c": { "type": "math.maximum", "in": { "a": { "from": "b.value" }, "b": { "input": "x" } } } } }"#;

fn small() -> Session {
    Session::open(&Engine::new(), SMALL.as_bytes()).expect("it opens")
}

#[divan::bench]
fn set_by_name(bencher: Bencher) {
    let mut session = small();
    let turn = Cell::new(0.0_f32);
    bencher.bench_local(|| {
        turn.set(turn.get() + 1.0);
        session.set("x", turn.get()).expect("it fits");
    });
}

#[divan::bench]
fn set_by_name_and_read_three_nodes(bencher: Bencher) {
    let mut session = small();
    let turn = Cell::new(0.0_f32);
    bencher.bench_local(|| {
        turn.set(turn.get() + 1.0);
        session.set("x", turn.get()).expect("it fits");
        black_box(root(&mut session))
    });
}

#[divan::bench]
fn read_again(bencher: Bencher) {
    let mut session = small();
    bencher.bench_local(|| black_box(root(&mut session)));
}

#[divan::bench]
fn edit_a_literal_and_read_three_nodes(bencher: Bencher) {
    let mut session = small();
    let turn = Cell::new(0_u32);
    bencher.bench_local(|| {
        turn.set(turn.get() + 1);
        session.edit(&Edit::literal("a", "b", f64::from(turn.get() % 50))).expect("it fits");
        black_box(root(&mut session))
    });
}
