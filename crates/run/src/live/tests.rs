//! Random graphs with random changes, compared with a model that computes everything from scratch
//! and determines by itself which nodes must run: the demanded ones that read other values than at
//! their last run.

use std::collections::HashMap;

use millstream_form::Op;

use super::{Handle, LiveError, LiveGraph, NodeNumber, Propagation};

#[derive(Clone, Copy, Debug)]
enum Kind {
    Source(f64),
    Binary(Op),
    WithConstant(Op, f64),
    Fold,
    /// Converts to the integer that picks an arm.
    Convert,
    Switch,
    /// A switch whose selector is a float.
    FloatSwitch,
    Dynamic,
    Identity,
    Removed,
}

#[derive(Clone, Debug)]
struct ModelNode {
    kind: Kind,
    inputs: Vec<usize>,
    number: u32,
    /// The values that the node read at its last run.
    last: Option<Vec<u64>>,
}

/// The number of random graphs per test: `PROPTEST_CASES`, or `default`.
pub(super) fn cases(default: u64) -> u64 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

#[derive(Default)]
struct Model {
    graph: LiveGraph,
    nodes: Vec<ModelNode>,
    observed: Vec<usize>,
}

fn apply(op: Op, a: f64, b: f64) -> f64 {
    match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Max => a.max(b),
        Op::Min => a.min(b),
        _ => unreachable!("the model has no `{}`", op.name()),
    }
}

fn wanted(first: f64, n: usize) -> u64 {
    first as i64 as u64 & ((1 << n) - 1)
}

fn sum(first: f64, others: impl Iterator<Item = f64>) -> f64 {
    others.fold(first, |sum, x| sum + x)
}

/// The values of an evaluation, and the numbers of the nodes that must run for them.
#[derive(Default)]
struct Asked {
    values: HashMap<usize, f64>,
    runs: Vec<u32>,
}

impl Model {
    fn handle(&self, at: usize) -> Handle<f64> {
        Handle::new(self.nodes[at].number)
    }

    fn push(&mut self, kind: Kind, inputs: Vec<usize>, number: u32) {
        self.nodes.push(ModelNode { kind, inputs, number, last: None });
    }

    fn source(&mut self, value: f64) {
        let handle = self.graph.source(value);
        self.push(Kind::Source(value), Vec::new(), handle.node);
    }

    /// A node of numbers near the end.
    fn near_end(&self, rng: &mut Rng) -> usize {
        loop {
            let n = self.nodes.len();
            let at = n - 1 - rng.below(n.min(14));
            if !matches!(self.nodes[at].kind, Kind::Convert | Kind::Removed) {
                return at;
            }
        }
    }

    fn random_node(&mut self, rng: &mut Rng, is_plain: bool) {
        let mut inputs: Vec<usize> = (0..4).map(|_| self.near_end(rng)).collect();
        let at: Vec<Handle<f64>> = inputs.iter().map(|input| self.handle(*input)).collect();
        let op = [Op::Add, Op::Sub, Op::Max, Op::Min][rng.below(4)];
        match rng.below(if is_plain { 6 } else { 10 }) {
            0..3 => {
                let handle = self.graph.binary(op, at[0], at[1]);
                inputs.truncate(2);
                self.push(Kind::Binary(op), inputs, handle.node);
            }
            3 => {
                let handle = self.graph.binary_with(op, at[0], 2.0);
                inputs.truncate(1);
                self.push(Kind::WithConstant(op, 2.0), inputs, handle.node);
            }
            4 => {
                let handle = self.graph.fold(Op::Add, &at);
                self.push(Kind::Fold, inputs, handle.node);
            }
            5 => {
                let handle = self.graph.identity(at[0]);
                inputs.truncate(1);
                self.push(Kind::Identity, inputs, handle.node);
            }
            6 => {
                let n = inputs.len() - 1;
                let handle = self.graph.dynamic(
                    at[0],
                    &at[1..],
                    move |first| wanted(first, n),
                    |first: f64, taken| sum(first, taken),
                );
                self.push(Kind::Dynamic, inputs, handle.node);
            }
            7 => {
                let handle = self.graph.switch(at[0], &at[1..]);
                self.push(Kind::FloatSwitch, inputs, handle.node);
            }
            _ => {
                let number: Handle<i32> = self.graph.convert(at[0]);
                self.push(Kind::Convert, vec![inputs[0]], number.node);
                inputs[0] = self.nodes.len() - 1;
                let handle = self.graph.switch(number, &at[1..]);
                self.push(Kind::Switch, inputs, handle.node);
            }
        }
    }

    fn value(&mut self, at: usize, asked: &mut Asked) -> f64 {
        if let Some(value) = asked.values.get(&at) {
            return *value;
        }
        let ModelNode { kind, inputs, number, .. } = self.nodes[at].clone();
        let mut of = |i: usize| self.value(inputs[i], asked);
        let mut read = Vec::new();
        let value = match kind {
            Kind::Source(value) => value,
            Kind::Removed => unreachable!("nobody reads what was removed"),
            Kind::Binary(op) => {
                read.extend([of(0), of(1)]);
                apply(op, read[0], read[1])
            }
            Kind::WithConstant(op, constant) => {
                read.push(of(0));
                apply(op, read[0], constant)
            }
            Kind::Fold => {
                read.extend((0..4).map(of));
                sum(read[0], read[1..].iter().copied())
            }
            Kind::Convert => {
                read.push(of(0));
                f64::from(read[0] as i32)
            }
            Kind::Identity => {
                read.push(of(0));
                read[0]
            }
            Kind::Dynamic => {
                let first = of(0);
                let taken = wanted(first, 3);
                read.push(first);
                read.extend((0..3).filter(|i| taken >> i & 1 != 0).map(|i| of(i + 1)));
                sum(first, read[1..].iter().copied())
            }
            Kind::Switch | Kind::FloatSwitch => {
                let arm = of(0).trunc().clamp(0.0, 2.0);
                read.extend([arm, of(arm as usize + 1)]);
                read[1]
            }
        };
        let read: Vec<u64> = read.into_iter().map(f64::to_bits).collect();
        if !matches!(kind, Kind::Source(_)) && self.nodes[at].last.as_ref() != Some(&read) {
            self.nodes[at].last = Some(read);
            asked.runs.push(number);
        }
        asked.values.insert(at, value);
        value
    }

    /// Updates the graph, perhaps for one more node, and compares values and runs.
    fn compare(&mut self, more: Option<usize>) {
        let mut asked = Asked::default();
        self.graph.start_journal(false);
        self.graph.commit().expect("there are no callbacks");
        let before = self.graph.journal().to_vec();
        for at in self.observed.clone().into_iter().chain(more) {
            self.value(at, &mut asked);
        }
        self.graph.start_journal(false);
        for at in self.observed.clone().into_iter().chain(more) {
            let handle = self.handle(at);
            assert_eq!(self.graph.get(handle).to_bits(), asked.values[&at].to_bits());
        }
        let mut ran = [before, self.graph.journal().to_vec()].concat();
        ran.sort_unstable();
        asked.runs.sort_unstable();
        assert_eq!(ran, asked.runs);
    }

    fn leads_to(&self, from: usize, to: usize) -> bool {
        let (mut seen, mut stack) = (vec![false; self.nodes.len()], vec![to]);
        while let Some(at) = stack.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                stack.extend(&self.nodes[at].inputs);
            }
        }
        seen[from]
    }

    fn step(&mut self, rng: &mut Rng) {
        match rng.below(11) {
            0..4 => {
                let at = rng.below(6);
                let value = rng.below(7) as f64 - 2.0;
                self.nodes[at].kind = Kind::Source(value);
                let handle = self.handle(at);
                self.graph.set(handle, value);
            }
            4 => {
                let at = self.near_end(rng);
                self.compare(Some(at));
            }
            5 => {
                if let Some(i) = self.observed.len().checked_sub(1) {
                    let at = self.observed.swap_remove(rng.below(i + 1));
                    self.graph.unobserve(self.handle(at));
                    self.graph.push_number(NodeNumber(self.nodes[at].number), false);
                }
            }
            6 => {
                let at = self.near_end(rng);
                if !self.observed.contains(&at) {
                    self.observed.push(at);
                    self.graph.observe(self.handle(at));
                    // With mixed propagation commits update it.
                    let is_pushed = rng.below(2) == 0;
                    self.graph.push_number(NodeNumber(self.nodes[at].number), is_pushed);
                }
            }
            7 => self.relink(rng),
            8 => self.remove(rng),
            _ => self.compare(None),
        }
    }

    fn relink(&mut self, rng: &mut Rng) {
        let node = rng.below(self.nodes.len());
        let ModelNode { kind, inputs, .. } = self.nodes[node].clone();
        if matches!(kind, Kind::Source(_) | Kind::Removed) {
            return;
        }
        let input = rng.below(inputs.len());
        if matches!(kind, Kind::Switch) && input == 0 {
            return;
        }
        let source = rng.below(self.nodes.len());
        if matches!(self.nodes[source].kind, Kind::Convert | Kind::Removed) {
            return;
        }
        let would_close = self.leads_to(node, source);
        match self.graph.relink(self.handle(node), input, self.handle(source)) {
            Ok(_) => {
                assert!(!would_close);
                self.nodes[node].inputs[input] = source;
                self.graph.check_order();
            }
            Err(LiveError::Cycle { .. }) => assert!(would_close),
            Err(other) => panic!("{other}"),
        }
    }
}

impl Model {
    fn remove(&mut self, rng: &mut Rng) {
        // The last node remains, so that there is always something to read.
        let at = rng.below(self.nodes.len() - 1);
        let kind = self.nodes[at].kind;
        if matches!(kind, Kind::Source(_) | Kind::Removed) {
            return;
        }
        let is_read = self.nodes.iter().any(|node| node.inputs.contains(&at));
        let stays = is_read || self.observed.contains(&at);
        assert_eq!(self.graph.remove(NodeNumber(self.nodes[at].number)), !stays);
        if !stays {
            self.nodes[at].kind = Kind::Removed;
            self.nodes[at].inputs.clear();
            self.graph.check_order();
        }
    }
}

impl LiveGraph {
    /// Checks that each node comes after its inputs, and has the position that the order says.
    fn check_order(&self) {
        for node in 1..self.nodes.len() as u32 {
            let position = self.order.position(node);
            assert_eq!(self.order.node_at(position), node as usize);
            for input in self.inputs_of(node) {
                let is_source = self.nodes[*input as usize].is_source();
                assert!(is_source || self.order.position(*input) < position);
            }
        }
    }
}

#[test]
fn exactly_the_nodes_run_that_have_to() {
    use Propagation::{Mixed, Pull, Push, RetractAndAssert};
    for seed in 1..cases(2000) {
        let mut rng = Rng(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let mut model = Model::default();
        let propagation = [Pull, Pull, Push, RetractAndAssert, Mixed][seed as usize % 5];
        model.graph.set_propagation(propagation);
        for i in 0..6 {
            model.source(f64::from(i));
        }
        // Words of plain nodes are compiled, see `sweep`.
        let n_plain = if seed % 3 == 0 { rng.below(250) } else { 0 };
        for i in 0..rng.below(40) + 3 + n_plain {
            model.random_node(&mut rng, i < n_plain);
        }
        for _ in 0..60 {
            model.step(&mut rng);
        }
        model.compare(None);
    }
}

/// A chain of `n` nodes, each of which adds one to the node before.
pub(super) fn chain(graph: &mut LiveGraph, from: Handle<f64>, n: usize) -> Handle<f64> {
    (0..n).fold(from, |last, _| graph.binary_with(Op::Add, last, 1.0))
}

#[test]
fn the_classic_counts() {
    let mut graph = LiveGraph::new();
    let (x, y, z) = (graph.source(3.0), graph.source(4.0), graph.source(2.0));
    let mut p = graph.binary(Op::Max, x, y);
    for _ in 0..10_000 {
        let less = graph.binary(Op::Sub, p, z);
        p = graph.binary(Op::Max, p, less);
    }
    graph.observe(p);
    let runs = |graph: &mut LiveGraph, value: f64| {
        let before = graph.n_runs();
        assert_eq!(graph.get(p), value);
        graph.n_runs() - before
    };
    assert_eq!(runs(&mut graph, 4.0), 20_001);
    graph.set(x, 2.0);
    assert_eq!(runs(&mut graph, 4.0), 1);
    graph.set(y, 8.0);
    assert_eq!(runs(&mut graph, 8.0), 20_001);
    assert_eq!(runs(&mut graph, 8.0), 0);
}

#[test]
fn an_untaken_branch_neither_runs_nor_forgets() {
    let mut graph = LiveGraph::new();
    let (x, which) = (graph.source(1.0), graph.source(false));
    let arms = [chain(&mut graph, x, 1000), chain(&mut graph, x, 500)];
    let out = graph.switch(which, &arms);
    graph.observe(out);
    let runs = |graph: &mut LiveGraph, value: f64| {
        let before = graph.n_runs();
        assert_eq!(graph.get(out), value);
        graph.n_runs() - before
    };
    assert_eq!(runs(&mut graph, 1001.0), 1001);
    graph.set(which, true);
    assert_eq!(runs(&mut graph, 501.0), 501);
    graph.set(which, false);
    assert_eq!(runs(&mut graph, 1001.0), 1);
    graph.set(x, 2.0);
    graph.set(which, true);
    assert_eq!(runs(&mut graph, 502.0), 501);
    graph.set(which, false);
    graph.set(x, 1.0);
    assert_eq!(runs(&mut graph, 1001.0), 1);
}

/// Each switch passes on the value of the previous one, or one more. If read only by switches, each
/// is guarded by all after it.
#[test]
fn switches_after_switches_are_decided_once() {
    const N: usize = 20_000;
    let mut graph = LiveGraph::new();
    let first = graph.source(0.0);
    let selectors: Vec<Handle<bool>> = (0..N).map(|i| graph.source(i % 2 == 0)).collect();
    let out = selectors.iter().fold(first, |last, selector| {
        let more = graph.binary_with(Op::Add, last, 1.0);
        graph.switch(*selector, &[last, more])
    });
    graph.observe(out);
    let runs = |graph: &mut LiveGraph, value: usize| {
        let before = graph.n_runs();
        assert_eq!(graph.get(out), value as f64);
        (graph.n_runs() - before) as usize
    };
    // Every switch, and every second sum.
    assert_eq!(runs(&mut graph, N / 2), N + N / 2);
    graph.set(selectors[N - 1], true);
    assert_eq!(runs(&mut graph, N / 2 + 1), 2);
    graph.set(first, 5.0);
    assert_eq!(runs(&mut graph, N / 2 + 6), N + N / 2 + 1);
    for selector in &selectors {
        graph.set(*selector, false);
    }
    assert_eq!(runs(&mut graph, 5), N);
    graph.set(selectors[0], true);
    assert_eq!(runs(&mut graph, 6), N);
}

/// Switches in arms of switches: only those on the path to the taken arm run.
#[test]
fn switches_within_switches_wait_for_those_outside() {
    const N: usize = 20_000;
    let mut graph = LiveGraph::new();
    let first = graph.source(0.0);
    let outer: Vec<Handle<bool>> = (0..N).map(|_| graph.source(true)).collect();
    let out = outer.iter().rev().fold(first, |inner, selector| {
        let other = graph.binary_with(Op::Add, first, 7.0);
        graph.switch(*selector, &[other, inner])
    });
    graph.observe(out);
    let runs = |graph: &mut LiveGraph, value: f64| {
        let before = graph.n_runs();
        assert_eq!(graph.get(out), value);
        (graph.n_runs() - before) as usize
    };
    assert_eq!(runs(&mut graph, 0.0), N);
    graph.set(outer[2], false);
    assert_eq!(runs(&mut graph, 7.0), 4);
    graph.set(first, 1.0);
    assert_eq!(runs(&mut graph, 8.0), 4);
    graph.set(outer[2], true);
    assert_eq!(runs(&mut graph, 1.0), N);
    graph.set(outer[2], false);
    assert_eq!(runs(&mut graph, 8.0), 3);
}

#[test]
fn a_nan_is_equal_to_itself_and_zeros_differ() {
    let mut graph = LiveGraph::new();
    let x = graph.source(f64::NAN);
    let y = graph.binary_with(Op::Mul, x, 2.0);
    let z = graph.binary_with(Op::Add, y, 1.0);
    graph.observe(z);
    assert!(graph.get(z).is_nan());
    let before = graph.n_runs();
    graph.set(x, f64::from_bits(f64::NAN.to_bits() | 1));
    assert!(graph.get(z).is_nan());
    assert_eq!(graph.n_runs(), before);
    graph.set(x, 0.0);
    graph.get(z);
    let before = graph.n_runs();
    graph.set(x, -0.0);
    graph.get(z);
    assert_eq!(graph.n_runs(), before + 2);
}

#[test]
fn a_cycle_is_refused_with_its_path() {
    let mut graph = LiveGraph::new();
    let x = graph.source(1.0);
    let a = graph.binary_with(Op::Add, x, 1.0);
    let b = graph.binary_with(Op::Add, a, 1.0);
    let c = graph.binary_with(Op::Add, b, 1.0);
    let path = vec![a.number(), b.number(), c.number()];
    assert_eq!(graph.relink(a, 0, c), Err(LiveError::Cycle { path }));
    assert_eq!(graph.get(c), 4.0);
    let no_input = LiveError::NoInput { node: a.number(), input: 1, n_inputs: 1 };
    assert_eq!(graph.relink(a, 1, c), Err(no_input));
}

#[test]
fn ten_million_nodes_need_no_stack() {
    let n = if cfg!(debug_assertions) { 300_000 } else { 10_000_000 };
    let mut graph = LiveGraph::new();
    let x = graph.source(0.0);
    let end = chain(&mut graph, x, n);
    graph.observe(end);
    assert_eq!(graph.get(end), n as f64);
    graph.set(x, 1.0);
    assert_eq!(graph.get(end), n as f64 + 1.0);
}

#[test]
fn a_link_moves_the_smaller_side_only() {
    let mut graph = LiveGraph::new();
    let x = graph.source(0.0);
    let first = graph.binary(Op::Add, x, x);
    let end = chain(&mut graph, first, 10_000);
    let other = chain(&mut graph, x, 10_000);
    graph.observe(end);
    assert_eq!(graph.get(end), 10_000.0);
    // One chain leads to `other`, and `first` leads to another of the same length.
    let moved = graph.relink(first, 1, other).expect("it closes no cycle");
    assert!(moved <= 30_000, "{moved} nodes moved");
    assert_eq!(graph.get(end), 20_000.0);
    let small = chain(&mut graph, x, 3);
    let moved = graph.relink(first, 1, small).expect("it closes no cycle");
    assert!(moved <= 16, "{moved} nodes moved");
    assert_eq!(graph.get(end), 10_003.0);
    graph.check_order();
}
