//! Time of reading documents in the text form beside the same documents in JSON, per node; and of
//! writing and laying out.
//!
//! Run with `cargo bench --workspace --bench parse`.

use std::fmt::Write as _;
use std::sync::LazyLock;

use divan::Bencher;
use divan::counter::ItemsCount;
use millstream_base::Limits;
use millstream_document::{Document, load, save};
use millstream_node::Registry;
use millstream_text::{format, load_text, to_text};

fn main() {
    divan::main();
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(millstream_nodes::registry);

/// The kinds of documents: nodes of two inputs that link near and distant nodes, or formulas.
const KINDS: [(&str, u64); 5] = [
    ("calls", 13),
    ("calls", 10_000),
    ("calls", 1_000_000),
    ("formulas", 13),
    ("formulas", 10_000),
];

fn text((kind, n): (&str, u64)) -> String {
    let mut text = String::from("input x: f32\n\nnode0 = x\n");
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below.max(1)
    };
    for i in 1..n {
        let near = i - 1 - random(i.min(50));
        let other = random(i);
        let written = if kind == "calls" {
            let ty = ["add", "multiply", "maximum"][random(3) as usize];
            writeln!(text, "node{i} = {ty}(node{near}, node{other})")
        } else {
            writeln!(text, "node{i} = 2 * node{near} + sin(node{other}) / (1.5 - x)")
        };
        written.expect("strings take all text");
    }
    text
}

fn document(text: &str) -> Document {
    let loaded = load_text(text.as_bytes(), &REGISTRY, &Limits::default());
    assert!(loaded.problems.is_empty(), "{}", loaded.problems);
    loaded.document.expect("there are no problems")
}

#[divan::bench(args = KINDS.iter().copied(), max_time = 3)]
fn text_to_document(bencher: Bencher, kind: (&str, u64)) {
    let text = text(kind);
    bencher.counter(ItemsCount::new(kind.1)).bench_local(|| document(&text));
}

#[divan::bench(args = KINDS.iter().copied(), max_time = 3)]
fn json_to_document(bencher: Bencher, kind: (&str, u64)) {
    let json = save(&document(&text(kind)));
    bencher.counter(ItemsCount::new(kind.1)).bench_local(|| {
        let (document, problems) = load(json.as_bytes(), &Limits::default());
        assert!(problems.is_empty(), "{problems}");
        document
    });
}

#[divan::bench(args = KINDS.iter().copied(), max_time = 3)]
fn document_to_text(bencher: Bencher, kind: (&str, u64)) {
    let document = document(&text(kind));
    bencher.counter(ItemsCount::new(kind.1)).bench_local(|| to_text(&document, &REGISTRY));
}

#[divan::bench(args = KINDS.iter().copied(), max_time = 3)]
fn document_to_json(bencher: Bencher, kind: (&str, u64)) {
    let document = document(&text(kind));
    bencher.counter(ItemsCount::new(kind.1)).bench_local(|| save(&document));
}

#[divan::bench(args = KINDS.iter().copied(), max_time = 3)]
fn lay_out(bencher: Bencher, kind: (&str, u64)) {
    let text = text(kind);
    bencher
        .counter(ItemsCount::new(kind.1))
        .bench_local(|| format(text.as_bytes(), &Limits::default()));
}
