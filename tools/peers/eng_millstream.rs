//! Live graphs in the harness of the peers: see `run.sh`.

use std::sync::atomic::Ordering;

use millstream_run::live::{Handle, LiveGraph, Op, Taken};

use crate::ops::{COUNT, Engine, Op1, Op2, count, dyn_drop};

pub struct E {
    graph: LiveGraph,
    /// Number of runs reported to the harness.
    n_told: u64,
}

type N = Handle<f64>;

/// The arms, out of `n`, that a dynamic node takes, given its selector.
fn wanted(selector: f64, n: usize) -> u64 {
    let all = (1_u64 << n) - 1;
    dyn_drop(selector, n).map_or(all, |dropped| all & !(1 << dropped))
}

impl Engine for E {
    type S = N;
    type N = N;
    type O = N;
    type L = N;

    fn new(_: usize) -> Self {
        Self { graph: LiveGraph::new(), n_told: 0 }
    }

    fn source(&mut self, value: f64) -> (N, N) {
        let source = self.graph.source(value);
        (source, source)
    }

    fn map1(&mut self, a: &N, op: Op1) -> N {
        match op {
            Op1::Id => self.graph.identity(*a),
            Op1::AddC(c) => self.graph.binary_with(Op::Add, *a, c),
            Op1::ClampMax(c) => self.graph.binary_with(Op::Min, *a, c),
        }
    }

    fn map2(&mut self, a: &N, b: &N, op: Op2) -> N {
        match op {
            Op2::Max => self.graph.binary(Op::Max, *a, *b),
            Op2::Sub => self.graph.binary(Op::Sub, *a, *b),
            Op2::Add => self.graph.binary(Op::Add, *a, *b),
            // Two nodes, and both are counted.
            Op2::Avg => {
                let sum = self.graph.binary(Op::Add, *a, *b);
                self.graph.binary_with(Op::Mul, sum, 0.5)
            }
        }
    }

    fn sum(&mut self, all: Vec<N>) -> N {
        match all[..] {
            [a, b] => self.graph.binary(Op::Add, a, b),
            _ => self.graph.sum(&all),
        }
    }

    fn dynsum(&mut self, all: Vec<N>) -> N {
        let n = all.len() - 1;
        let sum = |first, taken: Taken<'_, f64>| taken.fold(first, |sum, arm| sum + arm);
        self.graph.dynamic(all[0], &all[1..], move |first| wanted(first, n), sum)
    }

    fn switch(&mut self, selector: &N, a: &N, b: &N) -> N {
        self.graph.switch(*selector, &[*a, *b])
    }

    fn link2(&mut self, a: &N, b: &N) -> (N, N) {
        let node = self.graph.binary(Op::Add, *a, *b);
        (node, node)
    }

    fn relink(&mut self, node: &N, a: &N, b: &N) {
        self.graph.relink(*node, 0, *a).expect("leaves depend on nothing");
        self.graph.relink(*node, 1, *b).expect("leaves depend on nothing");
    }

    fn set(&mut self, source: &N, value: f64) {
        self.graph.set(*source, value);
    }

    fn observe(&mut self, node: &N) -> N {
        self.graph.observe(*node);
        *node
    }

    fn read(&mut self, node: &N) -> f64 {
        let value = self.graph.get(*node);
        let n_runs = self.graph.n_runs();
        COUNT.store(count() + n_runs - self.n_told, Ordering::Relaxed);
        self.n_told = n_runs;
        value
    }
}
