//! Compiling documents: time per node and peak of allocated bytes.
//!
//! `cargo bench -p millstream-compile`. Divan counts allocations too; "max alloc" is the peak in
//! addition to the document, which is already loaded.

#[path = "common/heron.rs"]
mod heron;
#[path = "common/large.rs"]
mod large;

use divan::{AllocProfiler, Bencher};
use millstream_base::Limits;
use millstream_compile::{Options, PASSES, PassContext, compile, lower, schedule};
use millstream_document::{Document, check, load};
use millstream_node::Registry;

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

const SIZES: [usize; 2] = [10_000, 1_000_000];

fn loaded(text: &str) -> Document {
    let (document, problems) = load(text.as_bytes(), &Limits::default());
    assert!(!problems.has_errors(), "{problems}");
    document.expect("a document without errors is there")
}

fn checked(document: &Document, registry: &Registry) -> millstream_document::Checked {
    let (checked, problems) = check(document, registry, &Limits::default());
    assert!(!problems.has_errors(), "{problems}");
    checked.expect("a document without errors is there")
}

/// From the loaded document to the plan.
fn whole(bencher: Bencher<'_, '_>, document: &Document) {
    let registry = millstream_nodes::registry();
    bencher.bench_local(|| {
        let checked = checked(document, &registry);
        compile(&checked, &registry, &Options::default()).expect("compiles")
    });
}

#[divan::bench]
fn heron(bencher: Bencher<'_, '_>) {
    whole(bencher, &loaded(heron::HERON));
}

#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn chain(bencher: Bencher<'_, '_>, n: usize) {
    whole(bencher, &loaded(&large::chain(n)));
}

#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn random(bencher: Bencher<'_, '_>, n: usize) {
    whole(bencher, &loaded(&large::random(n)));
}

/// The phases for the random graph of a million nodes, one by one.
mod phases {
    use super::{Bencher, Limits, PASSES, PassContext, checked, large, loaded, lower, schedule};

    const N: usize = 1_000_000;

    #[divan::bench(sample_count = 3, sample_size = 1)]
    fn a_check(bencher: Bencher<'_, '_>) {
        let registry = millstream_nodes::registry();
        let document = loaded(&large::random(N));
        bencher.bench_local(|| checked(&document, &registry));
    }

    #[divan::bench(sample_count = 3, sample_size = 1)]
    fn b_lower(bencher: Bencher<'_, '_>) {
        let registry = millstream_nodes::registry();
        let checked = checked(&loaded(&large::random(N)), &registry);
        bencher.bench_local(|| lower::lower(&checked, &registry, &Limits::default()));
    }

    #[divan::bench(args = PASSES.iter().map(|pass| pass.phase.name()), sample_count = 3, sample_size = 1)]
    fn c_pass(bencher: Bencher<'_, '_>, name: &str) {
        let registry = millstream_nodes::registry();
        let limits = Limits::default();
        let cx = PassContext::new(&registry, &limits);
        let checked = checked(&loaded(&large::random(N)), &registry);
        let mut graph = lower::lower(&checked, &registry, &limits).expect("within the limits");
        let at = PASSES.iter().position(|pass| pass.phase.name() == name).expect("a known name");
        for pass in &PASSES[..at] {
            (pass.run)(&mut graph, &cx).expect("passes do not fail on checked documents");
        }
        bencher
            .with_inputs(|| graph.clone())
            .bench_local_values(|mut graph| (PASSES[at].run)(&mut graph, &cx).map(|_| graph));
    }

    #[divan::bench(sample_count = 3, sample_size = 1)]
    fn d_schedule(bencher: Bencher<'_, '_>) {
        let registry = millstream_nodes::registry();
        let limits = Limits::default();
        let checked = checked(&loaded(&large::random(N)), &registry);
        let graph = lower::lower(&checked, &registry, &limits).expect("within the limits");
        bencher
            .with_inputs(|| graph.clone())
            .bench_local_values(|graph| schedule::schedule(graph, 24.0));
    }
}
