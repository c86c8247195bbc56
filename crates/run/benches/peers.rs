//! Graphs compared with loops as one would write them by hand in C++, compiled in the same run.
//!
//! `cargo bench -p millstream-run --bench peers [-- ELEMENTS GRAPHS]` prints for each graph the
//! medians of interleaved runs and the ratio of ours to `g++ -O3 -march=native`, on one core, into
//! an output that was written before. Times are processor times of the thread, so that other load
//! on a shared machine counts less. Without a `g++` it prints only our times. Then: a call on one
//! element and on 1000 of a prepared program, a new output, two threads (wall-clock time), and the
//! memory of a run.

#[path = "shared/compiled.rs"]
mod compiled;
#[path = "shared/loops.rs"]
mod loops;
#[path = "shared/planned.rs"]
mod planned;
#[path = "shared/timing.rs"]
mod timing;

use std::num::NonZeroUsize;
use std::process::Command;
use std::sync::Arc;

use millstream_base::{Column, Vec3};
use millstream_ir::{Evaluator, Plan, Request};
use millstream_run::Chunked;
use millstream_testkit::graphs::HERON;

use loops::Loops;
use planned::planned;
use timing::{median, passed, seconds};

const ROUNDS: usize = 11;

/// The last is compared with the same task as most programs implement it, which gives other
/// numbers.
const GRAPHS: [(&str, Graph); 5] = [
    ("heron", heron),
    ("horner", horner),
    ("wave", wave),
    ("fbm", fbm),
    ("classic", |n| Workload { name: "classic", ..fbm(n) }),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == MEMORY) {
        return memory(&args[1..]);
    }
    let given = std::env::args().skip(1).find_map(|arg| arg.parse().ok());
    // `-- --test` checks that the benchmark runs, not how fast.
    let is_smoke_run = std::env::args().any(|arg| arg == "--test");
    let n: usize = given.unwrap_or(if is_smoke_run { 10_000 } else { 10_000_000 });
    let mut loops = Loops::compile("peers/loops.cpp");
    println!("{n} elements, one core, warm output; medians of {ROUNDS} interleaved runs");
    println!("{:8} {:>12} {:>12} {:>8}", "graph", "ours ms", "C++ ms", "ratio");
    let is_wanted = |name: &str| {
        let names = std::env::args().skip(1);
        let names: Vec<String> =
            names.filter(|arg| GRAPHS.iter().any(|graph| graph.0 == *arg)).collect();
        names.is_empty() || names.iter().any(|wanted| wanted == name)
    };
    for (name, graph) in GRAPHS {
        if is_wanted(name) {
            side_by_side(&graph(n), n, loops.as_mut());
        }
    }
    println!();
    for (name, graph) in GRAPHS {
        if is_wanted(name) && name != "classic" {
            details(graph, n);
        }
    }
}

/// Makes a graph with data of this number of elements.
type Graph = fn(usize) -> Workload;

/// A graph with its data.
struct Workload {
    name: &'static str,
    plan: Arc<Plan>,
    request: Request,
    n_nodes: usize,
}

fn workload(name: &'static str, text: &str, request: Request) -> Workload {
    let (plan, n_nodes) = planned(text);
    Workload { name, plan, request, n_nodes }
}

/// The same numbers as in `loops.cpp`.
fn at(salt: u32, i: u32) -> f32 {
    let mut h = i.wrapping_add(1).wrapping_mul(0x9e37_79b1) ^ salt.wrapping_mul(0x85eb_ca77);
    h ^= h >> 16;
    h = h.wrapping_mul(0x7feb_352d);
    h ^= h >> 15;
    (h >> 8) as f32 / 16_777_216.0
}

fn points(salt: u32, n: usize, scale: f32) -> Column {
    let value = |k: u32| at(salt, k) * scale;
    (0..n as u32).map(|i| Vec3([value(3 * i), value(3 * i + 1), value(3 * i + 2)])).collect()
}

fn heron(n: usize) -> Workload {
    let request = Request::new()
        .column("a", points(0, n, 1.0))
        .column("b", points(1, n, 1.0))
        .column("c", points(2, n, 1.0));
    workload("heron", HERON, request)
}

fn horner(n: usize) -> Workload {
    let coefficient = |k: usize| if k % 2 == 1 { -1.0 } else { 1.0 } * (k + 1) as f32 / 16.0;
    let mut text = format!("n0 = input x: f32 = 0.5\nn1 = const {:?}\n", coefficient(16));
    let mut sum = 1;
    for k in (0..16).rev() {
        let next = sum + 1;
        text += &format!("n{next} = const {:?}\n", coefficient(k));
        text += &format!("n{} = math.multiply n{sum} n0\n", next + 1);
        text += &format!("n{} = math.add n{} n{next}\n", next + 2, next + 1);
        sum = next + 2;
    }
    text += &format!("output y n{sum}\n");
    let column: Column = (0..n as u32).map(|i| at(0, i)).collect();
    workload("horner", &text, Request::new().column("x", column))
}

fn wave(n: usize) -> Workload {
    let text = "n0 = input p: vec3 = [0.0, 0.0, 0.0]
         n1 = vector.length n0
         n2 = const 6.0
         n3 = const -1.5
         n4 = math.multiply n1 n2
         n5 = math.add n4 n3
         n6 = math.sin n5
         n7 = const -0.75
         n8 = math.multiply n1 n7
         n9 = math.exp n8
         n10 = const 3.0
         n11 = const 0.25
         n12 = math.multiply n1 n10
         n13 = math.add n12 n11
         n14 = math.cos n13
         n15 = const 1.0
         n16 = math.add n1 n15
         n17 = math.ln n16
         n18 = math.multiply n6 n9
         n19 = math.multiply n14 n17
         n20 = math.add n18 n19
         output y n20";
    workload("wave", text, Request::new().column("p", points(0, n, 4.0)))
}

fn fbm(n: usize) -> Workload {
    let text = "n0 = input p: vec3 = [0.0, 0.0, 0.0]
         n1 = const 1.0
         n2 = const 0
         n3 = const 2.0
         n4 = const 0.5
         n5 = noise.fbm n0 n1 n2 n3 n4
         output y n5";
    workload("fbm", text, Request::new().column("p", points(0, n, 4.0)))
}

fn one_core() -> Chunked {
    Chunked::new().threads(NonZeroUsize::MIN)
}

fn side_by_side(work: &Workload, n: usize, mut loops: Option<&mut Loops>) {
    let mut out = vec![0.0_f32; n];
    let prepared = one_core().prepare(&work.plan, &work.request);
    let mut prepared = prepared.expect("the plan is made of numbers");
    let (mut ours, mut theirs, mut sum) = (Vec::new(), Vec::new(), f64::NAN);
    prepared.run(&mut [out.as_mut_slice().into()]);
    for _ in 0..ROUNDS {
        if let Some(loops) = loops.as_deref_mut() {
            let (time, result) = loops.run(work.name, n);
            theirs.push(time);
            sum = result;
        }
        // As in C++, the first of two runs brings the data into the caches again.
        prepared.run(&mut [out.as_mut_slice().into()]);
        ours.push(seconds(|| prepared.run(&mut [out.as_mut_slice().into()])));
    }
    let ours = median(ours);
    if loops.is_none() {
        return println!("{:8} {:12.2}", work.name, ours * 1e3);
    }
    let theirs = median(theirs);
    let own_sum: f64 = out.iter().map(|y| f64::from(*y)).sum();
    let is_near = (own_sum - sum).abs() <= 1e-4 * sum.abs() + 1e-6 * n as f64;
    assert!(is_near || work.name == "classic", "{own_sum} and {sum} are near each other");
    let (name, ratio) = (work.name, ours / theirs);
    println!("{name:8} {:12.2} {:12.2} {ratio:8.3}", ours * 1e3, theirs * 1e3);
}

/// Nanoseconds of a call on single values.
fn on_lanes(work: &Workload, calls: usize) -> f64 {
    let request = Request::new();
    let prepared = one_core().prepare(&work.plan, &request);
    let mut prepared = prepared.expect("the plan is made of numbers");
    let lanes = work
        .plan
        .inputs
        .as_slice()
        .iter()
        .map(|input| input.ty.lanes().map_or(0, |(_, n)| usize::from(n)));
    let inputs: Vec<u64> =
        (0..lanes.sum::<usize>()).map(|i| u64::from(at(0, i as u32).to_bits())).collect();
    let mut out = [0];
    let mut run = || {
        let all = seconds(|| {
            (0..calls).for_each(|_| prepared.run_lanes(divan::black_box(&inputs), &mut out));
        });
        all / calls as f64 * 1e9
    };
    median((0..ROUNDS).map(|_| run()).collect())
}

fn details(graph: Graph, n: usize) {
    let Workload { name, plan, request, n_nodes } = graph(n);
    let many = |workload: &Workload, n: usize, calls: usize| {
        let prepared = one_core().prepare(&workload.plan, &workload.request);
        let mut prepared = prepared.expect("it is made of numbers");
        let mut out = vec![0.0_f32; n];
        let mut run =
            || seconds(|| (0..calls).for_each(|_| prepared.run(&mut [out.as_mut_slice().into()])));
        run();
        median((0..ROUNDS).map(|_| run()).collect()) / (calls * n) as f64 * 1e9
    };
    let one = on_lanes(&graph(1), 20_000);
    let few = many(&graph(1000), 1000, 500);
    let most = many(&graph(1_000_000), 1_000_000, 3);
    println!(
        "{name}: one element {one:.0} ns ({:.1} a node); 1000 elements {few:.3} ns each, \
         1000000 {most:.3} ({:.2} times)",
        one / n_nodes as f64,
        few / most
    );
    let mut evaluators =
        [1, 2].map(|n| Chunked::new().threads(NonZeroUsize::new(n).expect("it is not zero")));
    let mut out = vec![0.0_f32; n];
    let mut into_old = |evaluator: &mut Chunked| {
        let mut buffers = [millstream_run::chunked::OutputBuffer::from(out.as_mut_slice())];
        evaluator.evaluate_into(&plan, &request, &mut buffers).expect("the request fits");
    };
    let into_new = |evaluator: &mut Chunked| {
        drop(evaluator.evaluate(&plan, &request).expect("the request fits"));
    };
    let (mut warm, mut new, mut one, mut two) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        warm.push(seconds(|| into_old(&mut evaluators[0])));
        new.push(seconds(|| into_new(&mut evaluators[0])));
        one.push(passed(|| into_old(&mut evaluators[0])));
        two.push(passed(|| into_old(&mut evaluators[1])));
    }
    println!(
        "{name}: new output {:.2} times the warm one; two threads {:.2} times one",
        median(new) / median(warm),
        median(one) / median(two)
    );
    for n_threads in [1, 2] {
        // Another process, since this one holds memory that was used before.
        let own = std::env::current_exe().expect("this program has a path");
        let args = [MEMORY, name, &n.to_string(), &n_threads.to_string()];
        let output = Command::new(own).args(args).output().expect("this program starts");
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// Requests the memory of a single run: `memory GRAPH ELEMENTS THREADS`.
const MEMORY: &str = "memory";

/// Prints the memory that one evaluation takes in addition to its columns.
fn memory(args: &[String]) {
    let [name, n, n_threads] = args else { panic!("memory GRAPH ELEMENTS THREADS") };
    let graph = GRAPHS.iter().find(|graph| graph.0 == name).expect("the graph is known").1;
    let n = n.parse().expect("a number of elements");
    let n_threads = n_threads.parse().expect("a number of threads");
    let (work, mut out) = (graph(n), vec![1.0_f32; n]);
    let run = || {
        let mut evaluator = Chunked::new().threads(n_threads);
        let mut buffers = [out.as_mut_slice().into()];
        evaluator.evaluate_into(&work.plan, &work.request, &mut buffers).expect("the request fits");
    };
    if let Some(bytes) = grown(run) {
        println!("{name}: {:.2} MB besides the columns, threads: {n_threads}", bytes / 1e6);
    }
}

/// The maximal growth of the process in bytes while this runs; `None` if the system does not report
/// it.
fn grown(run: impl FnOnce()) -> Option<f64> {
    let bytes_of = |what: &str| {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find(|line| line.starts_with(what))?;
        Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? * 1024.0)
    };
    // Forgets the peak so far.
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    let before = bytes_of("VmRSS:")?;
    run();
    Some(bytes_of("VmHWM:")? - before)
}
