//! Time per node of reading documents in the text form compared with the same documents in JSON,
//! and of writing and formatting them.
//!
//! Run with `cargo bench -p millstream-text`. Both forms are measured in turn, and each number is
//! the best of several rounds; words after `--` select shapes, and numbers replace the sizes.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use millstream_base::Limits;
use millstream_document::{Document, load, save};
use millstream_node::Registry;
use millstream_text::{format, load_text, to_text};

/// The shapes of documents.
const SHAPES: [&str; 7] = ["calls", "named", "nested", "formulas", "groups", "comments", "outputs"];

/// Pseudorandom numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }
}

/// A document of about this many nodes, which link near and distant ones.
fn text(shape: &str, n: u64) -> String {
    let mut text = String::from("input x: f32\n\nnode0 = x\n");
    let mut random = Random(7);
    let per_statement = match shape {
        "nested" => 3,
        "groups" => 11,
        _ => 1,
    };
    for i in 1..n / per_statement {
        let near = i - 1 - random.below(i.min(50));
        let other = random.below(i);
        let ty = ["add", "multiply", "maximum"][random.below(3) as usize];
        let written = match shape {
            "calls" => writeln!(text, "node{i} = {ty}(node{near}, node{other})"),
            "named" => writeln!(text, "node{i} = math.{ty}(a: node{near}, b: {other}.5)"),
            "nested" => writeln!(text, "node{i} = {ty}(node{near}, {ty}(sqrt(node{other}), 2))"),
            "formulas" => {
                writeln!(text, "node{i} = 2 * node{near} + sin(node{other}) / (1.5 - x)")
            }
            "groups" => group(&mut text, i, near, other),
            "comments" => writeln!(
                text,
                "# about node {i}\nnode{i} = {ty}(node{near}, node{other})  # beside {other}"
            ),
            _ => writeln!(
                text,
                "node{i} = {ty}(node{near}, node{other})\noutput out{i}: f32 = node{i} in m"
            ),
        };
        written.expect("strings take all text");
    }
    text
}

/// A group of ten nodes, and a node that uses it.
fn group(text: &mut String, i: u64, near: u64, other: u64) -> std::fmt::Result {
    writeln!(text, "node{i} = group{i}(a: node{near}, b: node{other})\n")?;
    writeln!(text, "group group{i}(a: f32 = 1, b: f32 from 0 to 2) -> value: f32 {{")?;
    writeln!(text, "  n0 = add(a, b)")?;
    for k in 1..9 {
        writeln!(text, "  n{k} = multiply(n{}, a)", k - 1)?;
    }
    writeln!(text, "  value = add(n8, b)\n}}\n")
}

/// The time of one call; its result is dropped outside of the measurement.
fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let result = std::hint::black_box(work());
    let elapsed = start.elapsed();
    drop(result);
    elapsed
}

/// The shortest times of reading text and JSON, writing text and JSON, and formatting.
fn shortest(text: &str, json: &str, registry: &Registry, n_rounds: usize) -> [Duration; 5] {
    let limits = Limits::default();
    let document = document(text, registry);
    let mut best = [Duration::MAX; 5];
    for _ in 0..n_rounds {
        let round = [
            time(|| load_text(text.as_bytes(), registry, &limits)),
            time(|| load(json.as_bytes(), &limits)),
            time(|| to_text(&document, registry)),
            time(|| save(&document)),
            time(|| format(text.as_bytes(), &limits)),
        ];
        for (best, elapsed) in best.iter_mut().zip(round) {
            *best = elapsed.min(*best);
        }
    }
    best
}

fn document(text: &str, registry: &Registry) -> Document {
    let loaded = load_text(text.as_bytes(), registry, &Limits::default());
    assert!(loaded.problems.is_empty(), "{}", loaded.problems);
    loaded.document.expect("there are no problems")
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let (sizes, shapes): (Vec<String>, Vec<String>) =
        asked.into_iter().partition(|asked| asked.parse::<u64>().is_ok());
    let is_asked = |shape: &str| shapes.is_empty() || shapes.iter().any(|it| it == shape);
    let registry = millstream_nodes::registry();
    println!(
        "nanoseconds per node    read text  read JSON   text/JSON  write text write JSON  lay out"
    );
    for shape in SHAPES {
        if !is_asked(shape) {
            continue;
        }
        // A smoke run reads each text once.
        let is_smoke = std::env::args().any(|arg| arg == "--test");
        let given: Vec<u64> = sizes.iter().filter_map(|size| size.parse().ok()).collect();
        let sizes = match &given[..] {
            [] if is_smoke => &[13][..],
            [] => &[13, 10_000, 1_000_000],
            given => given,
        };
        for n in sizes.iter().copied() {
            let n_rounds = if is_smoke { 1 } else { (500_000 / n).clamp(3, 20_000) as usize };
            let text = text(shape, n);
            let document = document(&text, &registry);
            let json = save(&document);
            assert!(load(json.as_bytes(), &Limits::default()).0.as_ref() == Some(&document));
            let n_nodes = document.n_nodes();
            drop(document);
            let times = shortest(&text, &json, &registry, n_rounds);
            let [read, read_json, write, write_json, lay_out] =
                times.map(|time| time.as_nanos() as f64 / n_nodes as f64);
            println!(
                "{shape:10} {n_nodes:9} {read:11.0} {read_json:10.0} {:11.2} {write:11.0} {write_json:10.0} {lay_out:8.0}",
                read / read_json
            );
        }
    }
}
